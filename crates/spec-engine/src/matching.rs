//! Pairs of siblings: those of a side with those of the base, by id, by name, and through renames.
//!
//! A rename that nobody recorded is found by its text: the same body under another name, or nearly the
//! same body when a name went and another came.

use super::lines::content_lines;
use super::tree::{Kind, Node};
use std::collections::HashMap;

/// A rename that is known: both names folded.
pub(crate) type Renames = [(String, String)];

/// Share of two bodies that has to be equal for a rename: six lines in ten.
const ALIKE: (usize, usize) = (6, 10);
/// Pairs of leftovers that are compared for likeness at most.
const MOST_PAIRS: usize = 2_500;

/// Pairs every child of `side` with the child of `base` that it was.
pub(crate) fn pair(base: &Node<'_>, side: &Node<'_>, renames: &Renames) -> Vec<Option<usize>> {
    let mut pairs = Pairs {
        base: &base.children,
        side: &side.children,
        to: vec![None; side.children.len()],
        taken: vec![false; base.children.len()],
    };
    pairs.by_recorded_rename(renames);
    pairs.by_id();
    let same = pairs.same_names();
    for (b, s) in &same {
        if pairs.raw(*b, true) == pairs.raw(*s, false) {
            pairs.take(*b, *s);
        }
    }
    pairs.by_body();
    pairs.crosswise(&same);
    for (b, s) in &same {
        pairs.take(*b, *s);
    }
    pairs.by_likeness();
    pairs.to
}

struct Pairs<'n, 't> {
    base: &'n [Node<'t>],
    side: &'n [Node<'t>],
    to: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'n, 't> Pairs<'n, 't> {
    fn take(&mut self, b: usize, s: usize) {
        if let (Some(taken), Some(to)) = (self.taken.get_mut(b), self.to.get_mut(s))
            && !*taken
            && to.is_none()
        {
            *taken = true;
            *to = Some(b);
        }
    }

    fn raw(&self, index: usize, base: bool) -> Option<&str> {
        let list = if base { self.base } else { self.side };
        list.get(index).map(|node| node.raw.as_ref())
    }

    fn free_base(&self) -> impl Iterator<Item = (usize, &'n Node<'t>)> + use<'_, 'n, 't> {
        let taken = &self.taken;
        self.base
            .iter()
            .enumerate()
            .filter(move |(index, _)| taken.get(*index) == Some(&false))
    }

    fn free_side(&self) -> impl Iterator<Item = (usize, &'n Node<'t>)> + use<'_, 'n, 't> {
        let to = &self.to;
        self.side
            .iter()
            .enumerate()
            .filter(move |(index, _)| to.get(*index) == Some(&None))
    }

    fn by_recorded_rename(&mut self, renames: &Renames) {
        if renames.is_empty() {
            return;
        }
        let places = |list: &'n [Node<'_>]| -> HashMap<&'n str, usize> {
            let named = list.iter().enumerate().rev();
            let named = named.filter(|(_, node)| node.kind == Kind::Requirement);
            named.map(|(at, node)| (node.key.as_ref(), at)).collect()
        };
        let (base, side) = (places(self.base), places(self.side));
        for (from, to) in renames {
            if let (Some(b), Some(s)) = (base.get(from.as_str()), side.get(to.as_str())) {
                self.take(*b, *s);
            }
        }
    }

    fn by_id(&mut self) {
        let ids: HashMap<&str, usize> = self
            .base
            .iter()
            .enumerate()
            .filter_map(|(index, node)| Some((node.id.as_deref()?, index)))
            .collect();
        if ids.is_empty() {
            return;
        }
        for (index, node) in self.side.iter().enumerate() {
            if let Some(b) = node.id.as_deref().and_then(|id| ids.get(id)) {
                self.take(*b, index);
            }
        }
    }

    /// Pairs of one kind and name, the n-th with the n-th.
    fn same_names(&self) -> Vec<(usize, usize)> {
        let mut names: HashMap<(Kind, &str, usize), usize> = HashMap::new();
        let mut seen: HashMap<(Kind, &str), usize> = HashMap::new();
        for (index, node) in self.base.iter().enumerate() {
            let nth = seen.entry((node.kind, node.key.as_ref())).or_default();
            names.insert((node.kind, node.key.as_ref(), *nth), index);
            *nth += 1;
        }
        seen.clear();
        let mut same = Vec::new();
        for (index, node) in self.side.iter().enumerate() {
            let nth = seen.entry((node.kind, node.key.as_ref())).or_default();
            if let Some(b) = names.get(&(node.kind, node.key.as_ref(), *nth)) {
                same.push((*b, index));
            }
            *nth += 1;
        }
        same
    }

    fn by_body(&mut self) {
        let mut bodies: HashMap<(Kind, String), [Vec<usize>; 2]> = HashMap::new();
        for (index, node) in self.free_base() {
            if let Some(body) = body(node) {
                let entry = bodies.entry((node.kind, body)).or_default();
                entry[0].push(index);
            }
        }
        if bodies.is_empty() {
            return;
        }
        for (index, node) in self.free_side() {
            if let Some(body) = body(node) {
                let entry = bodies.entry((node.kind, body)).or_default();
                entry[1].push(index);
            }
        }
        let mut found: Vec<(usize, usize)> = bodies
            .into_values()
            .filter_map(|[b, s]| match (b.as_slice(), s.as_slice()) {
                ([b], [s]) => Some((*b, *s)),
                _ => None,
            })
            .collect();
        found.sort_unstable();
        for (b, s) in found {
            self.take(b, s);
        }
    }

    /// Names that were swapped while their texts changed too: nothing of a text is left below its name,
    /// and nearly all of it stands below another that had one before.
    fn crosswise(&mut self, same: &[(usize, usize)]) {
        let strangers = same.iter().filter(|(b, s)| {
            let (base, side) = (self.base.get(*b), self.side.get(*s));
            let free = self.taken.get(*b) == Some(&false) && self.to.get(*s) == Some(&None);
            free && base.zip(side).is_some_and(|(b, s)| {
                let (x, y) = (sorted_lines(b), sorted_lines(s));
                b.kind == Kind::Requirement && !x.is_empty() && !y.is_empty() && common(&x, &y) == 0
            })
        });
        let (b, s): (Vec<usize>, Vec<usize>) = strangers.copied().unzip();
        if b.len() > 1 {
            self.take_alike(&b, &s);
        }
    }

    fn by_likeness(&mut self) {
        let only = |(_, node): &(usize, &Node<'_>)| node.kind == Kind::Requirement;
        let base: Vec<usize> = self.free_base().filter(only).map(|(at, _)| at).collect();
        let side: Vec<usize> = self.free_side().filter(only).map(|(at, _)| at).collect();
        self.take_alike(&base, &side);
    }

    /// Pairs those whose bodies are nearly equal, the most alike first.
    fn take_alike(&mut self, base: &[usize], side: &[usize]) {
        let read = |list: &[Node<'_>], at: &[usize]| -> Vec<(usize, Vec<String>)> {
            let nodes = at.iter().filter_map(|at| Some((*at, list.get(*at)?)));
            nodes.map(|(at, node)| (at, sorted_lines(node))).collect()
        };
        if base.len() * side.len() > MOST_PAIRS {
            return;
        }
        let (base, side) = (read(self.base, base), read(self.side, side));
        let mut found = Vec::new();
        for (b, x) in &base {
            for (s, y) in &side {
                let (common, all) = (common(x, y) * 2, x.len() + y.len());
                if all > 0 && common * ALIKE.1 >= all * ALIKE.0 {
                    found.push((std::cmp::Reverse(common * 1_000 / all), *b, *s));
                }
            }
        }
        found.sort_unstable();
        for (_, b, s) in found {
            self.take(b, s);
        }
    }
}

/// Text below the heading, blank lines and id line aside; `None` for a node that cannot be renamed.
fn body(node: &Node<'_>) -> Option<String> {
    if !matches!(node.kind, Kind::Requirement | Kind::Scenario) {
        return None;
    }
    let node = node.opened();
    let mut text = String::new();
    for child in node.children.iter().filter(|child| child.kind != Kind::Id) {
        for line in content_lines(&child.raw) {
            text.push_str(line);
            text.push('\n');
        }
    }
    (!text.is_empty()).then_some(text)
}

fn sorted_lines(node: &Node<'_>) -> Vec<String> {
    let body = body(node).unwrap_or_default();
    let mut lines: Vec<String> = body.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Counts the lines that two sorted lists share.
fn common(a: &[String], b: &[String]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                (i, j, count) = (i + 1, j + 1, count + 1);
            }
        }
    }
    count
}
