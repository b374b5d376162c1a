//! The three-way merge of a spec: per section, per requirement, per scenario, then by lines.
//!
//! Works on trees, whose blank space is merged apart from their text, so that what nobody touched stays
//! byte for byte. Symmetric: the sides swapped give the same text, or the same conflicts with their
//! sides swapped. Order is the business of `order`, identity that of `matching`.

use super::conflict::{Conflict, ConflictKind, MarkerNames, Merged};
use super::layout::Layout;
use super::lines::{Eol, LineMerge, merge_text, merge3, same_content, same_lines, with_eol};
use super::matching::{self, Renames};
use super::order::merge_order;
use super::tree::{Kind, Node};
use super::words;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Merges three versions of one spec. An absent version is the empty text.
pub fn merge_spec(
    base: &str,
    ours: &str,
    theirs: &str,
    lines: &dyn LineMerge,
    names: MarkerNames<'_>,
) -> Merged {
    let (b, o, t) = (Layout::read(base), Layout::read(ours), Layout::read(theirs));
    let (b, o, t) = (Tree::of(&b), Tree::of(&o), Tree::of(&t));
    let mut merger = Merger::of([&b, &o, &t], &[], lines, names);
    merger.written = Some(Vec::new());
    let merged = merger.run([&b, &o, &t]);
    if !merged.conflicts.is_empty() || merged.text == ours || merged.text == theirs {
        return merged;
    }
    let written = merger.written.take().unwrap_or_default();
    let disputed = disputed(&merged.text, &written, [&b, &o, &t]);
    if disputed.is_empty() {
        return merged;
    }
    let mut merger = Merger::of([&b, &o, &t], &[], lines, names);
    merger.disputed = disputed;
    merger.run([&b, &o, &t])
}

/// Key of a heading: its kind and its folded name.
type Named = (Kind, String);

/// Headings of both sides whose merge no reader would take as the sides meant it: headings that the text has and its
/// reader does not (a fence that one side opened takes in an addition of the other), and new names beside others that
/// differ in case or marks only.
fn disputed(text: &str, written: &[Named], sides: [&Tree<'_>; 3]) -> HashSet<Named> {
    let layout = Layout::read(text);
    let mut left: HashMap<Named, isize> = HashMap::new();
    for name in written {
        *left.entry(name.clone()).or_default() += 1;
    }
    each_heading(&Node::read(&layout), &mut |node| {
        *left.entry((node.kind, node.key.to_string())).or_default() -= 1;
    });
    let odd = left.into_iter().filter(|(_, count)| *count != 0);
    let mut found: HashSet<Named> = odd.map(|(name, _)| name).collect();
    let [base, ours, theirs] = sides.map(|tree| {
        let mut keys = HashSet::new();
        each_heading(&tree.root, &mut |node| {
            if node.kind == Kind::Requirement {
                keys.insert(node.key.to_string());
            }
        });
        keys
    });
    let mut alike: HashMap<String, Vec<&String>> = HashMap::new();
    for (kind, key) in written {
        if *kind == Kind::Requirement {
            alike.entry(words::loose(key)).or_default().push(key);
        }
    }
    for keys in alike.into_values() {
        for (at, one) in keys.iter().enumerate() {
            for other in keys.iter().skip(at + 1).filter(|other| *other != one) {
                let both = |side: &HashSet<String>| side.contains(*one) && side.contains(*other);
                if !both(&base) && !both(&ours) && !both(&theirs) {
                    found.extend([one, other].map(|key| (Kind::Requirement, (*key).clone())));
                }
            }
        }
    }
    found
}

/// Every node with a heading of its own, from the top.
fn each_heading(node: &Node<'_>, visit: &mut impl FnMut(&Node<'_>)) {
    let node = &node.opened();
    if !matches!(
        node.kind,
        Kind::Document | Kind::Body | Kind::Id | Kind::Note
    ) {
        visit(node);
    }
    for child in &node.children {
        each_heading(child, visit);
    }
}

/// A whole text as a tree.
#[derive(Clone, Debug)]
pub(crate) struct Tree<'t> {
    pub bom: bool,
    pub root: Node<'t>,
    /// The one line ending of the text, when it has one.
    pub(crate) eol: Option<Eol>,
}

impl<'t> Tree<'t> {
    pub(crate) fn of(layout: &Layout<'t>) -> Tree<'t> {
        Tree {
            bom: layout.bom > 0,
            root: Node::read(layout),
            eol: Eol::of(layout.text),
        }
    }

    /// A tree with shut requirements, for a delta, which touches few.
    pub(crate) fn skim(layout: &Layout<'t>) -> Tree<'t> {
        Tree {
            bom: layout.bom > 0,
            root: Node::skim(layout),
            eol: Eol::of(layout.text),
        }
    }

    pub(crate) fn write(&self) -> String {
        let mut out = String::with_capacity(self.root.raw.len() + 16);
        if self.bom {
            out.push('\u{feff}');
        }
        self.root.write(&mut out);
        out.push_str(&self.root.gap);
        out
    }
}

pub(crate) fn merge_trees(
    base: &Tree<'_>,
    ours: &Tree<'_>,
    theirs: &Tree<'_>,
    renames: &Renames,
    lines: &dyn LineMerge,
    names: MarkerNames<'_>,
) -> Merged {
    let sides = [base, ours, theirs];
    Merger::of(sides, renames, lines, names).run(sides)
}

struct Merger<'a> {
    lines: &'a dyn LineMerge,
    eol: Option<Eol>,
    names: MarkerNames<'a>,
    /// Renames of `theirs` that are stamped.
    renames: &'a Renames,
    out: String,
    conflicts: Vec<Conflict>,
    place: Place,
    /// The headings that were written, with those inside what was taken whole, where somebody asks.
    written: Option<Vec<Named>>,
    /// Headings that a person decides on, whatever else would come of them.
    disputed: HashSet<Named>,
}

/// Place of the merge in the document.
#[derive(Clone, Default)]
struct Place {
    section: String,
    requirement: Option<String>,
    scenario: Option<String>,
    line: usize,
}

/// Versions of a sibling: base, ours and theirs.
#[derive(Clone, Copy, Default)]
struct Three<'n, 't> {
    base: Option<&'n Node<'t>>,
    ours: Option<&'n Node<'t>>,
    theirs: Option<&'n Node<'t>>,
}

enum Fate {
    Gone,
    Keep,
    Merge,
    SpecConflict(ConflictKind),
}

impl<'n, 't> Three<'n, 't> {
    fn fate(&self) -> Fate {
        match (self.base, self.ours, self.theirs) {
            (Some(b), Some(o), Some(t)) => {
                if o.raw == t.raw || o.raw == b.raw || t.raw == b.raw {
                    Fate::Keep
                } else {
                    Fate::Merge
                }
            }
            (Some(b), Some(o), None) if same_content(&b.raw, &o.raw) => Fate::Gone,
            (Some(_), Some(_), None) => Fate::SpecConflict(ConflictKind::ModifyDelete),
            (Some(b), None, Some(t)) if same_content(&b.raw, &t.raw) => Fate::Gone,
            (Some(_), None, Some(_)) => Fate::SpecConflict(ConflictKind::DeleteModify),
            (_, None, None) => Fate::Gone,
            (None, Some(o), Some(t)) => {
                let list = matches!(
                    o.kind,
                    Kind::Document | Kind::Section | Kind::Purpose | Kind::Requirements
                );
                if same_lines(&o.raw, &t.raw) {
                    Fate::Keep
                } else if list {
                    Fate::Merge
                } else {
                    Fate::SpecConflict(ConflictKind::AddAdd)
                }
            }
            (None, _, _) => Fate::Keep,
        }
    }

    fn any(&self) -> Option<&'n Node<'t>> {
        self.theirs.or(self.ours).or(self.base)
    }

    /// Rank among neighbours that both sides put at one place; swapped sides give the same rank.
    fn rank(&self) -> String {
        let node = |x: Option<&Node<'t>>| x.map(|n| format!("{}\0{}", n.key, n.raw));
        let (o, t) = (node(self.ours), node(self.theirs));
        match (self.key(), o, t) {
            (Some(key), Some(o), Some(t)) => format!("{key}\0{}", o.min(t)),
            (_, Some(o), Some(t)) => o.min(t),
            (_, o, t) => o.or(t).unwrap_or_default(),
        }
    }

    /// The name after the merge, when the sides agree on one.
    fn key(&self) -> Option<&'n str> {
        let key = |node: Option<&'n Node<'t>>| node.map(|n| n.key.as_ref());
        let (b, o, t) = (key(self.base), key(self.ours), key(self.theirs));
        match (o, t) {
            (Some(o), Some(t)) if o == t || Some(t) == b => Some(o),
            (Some(o), Some(t)) if Some(o) == b => Some(t),
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        }
    }
}

impl<'a> Merger<'a> {
    fn of(
        [base, ours, theirs]: [&Tree<'_>; 3],
        renames: &'a Renames,
        lines: &'a dyn LineMerge,
        names: MarkerNames<'a>,
    ) -> Self {
        Merger {
            lines,
            eol: match merge3(base.eol, ours.eol, theirs.eol) {
                Some(Eol::Mixed) => None,
                other => other,
            },
            names,
            renames,
            out: String::new(),
            conflicts: Vec::new(),
            place: Place::default(),
            written: None,
            disputed: HashSet::new(),
        }
    }

    fn run(&mut self, [base, ours, theirs]: [&Tree<'_>; 3]) -> Merged {
        if merge3(base.bom, ours.bom, theirs.bom) {
            self.out.push('\u{feff}');
        }
        let (b, o, t) = (&base.root, &ours.root, &theirs.root);
        self.merge(Some(b), o, t);
        let gap = merge_gap(Some(&b.gap), Some(&o.gap), Some(&t.gap)).unwrap_or_default();
        let gap = self.fit(gap, o.gap != t.gap);
        // A text that ended without a newline may now end with a marker.
        let ends_open = gap.is_empty() && self.out.ends_with('\n');
        if !ends_open {
            self.out.push_str(&gap);
        }
        Merged {
            text: std::mem::take(&mut self.out),
            conflicts: std::mem::take(&mut self.conflicts),
        }
    }

    /// Notes the headings of a node that is written as it is.
    fn wrote(&mut self, node: &Node<'_>) {
        if let Some(written) = &mut self.written {
            each_heading(node, &mut |node| {
                written.push((node.kind, node.key.to_string()));
            });
        }
    }

    /// Tells whether a person decides on this sibling, or on a heading in it that would be taken whole with it.
    fn is_disputed(&self, three: &Three<'_, '_>) -> bool {
        if self.disputed.is_empty() {
            return false;
        }
        let mut any = false;
        let fate = three.fate();
        let sides = [three.ours, three.theirs].into_iter().flatten();
        for side in sides {
            if matches!(fate, Fate::Merge) {
                any |= self.disputed.contains(&(side.kind, side.key.to_string()));
            } else {
                each_heading(side, &mut |node| {
                    any |= self.disputed.contains(&(node.kind, node.key.to_string()));
                });
            }
        }
        any
    }

    /// Merges a node that both sides have and writes it, without its gap.
    fn merge(&mut self, base: Option<&Node<'_>>, ours: &Node<'_>, theirs: &Node<'_>) {
        let (base, ours, theirs) = (base.map(Node::opened), ours.opened(), theirs.opened());
        let (base, ours, theirs) = (base.as_deref(), &*ours, &*theirs);
        let leaf = |node: &Node<'_>| node.children.is_empty();
        let bare = matches!(ours.kind, Kind::Body | Kind::Id) || ours.kind == Kind::Note;
        if bare && leaf(ours) && leaf(theirs) && base.is_none_or(leaf) {
            let b = base.map_or("", |node| node.raw.as_ref());
            let steps = self.place.scenario.is_some();
            match merge_text(b, &ours.raw, &theirs.raw, steps, self.eol, self.lines) {
                Some(text) => self.out.push_str(&text),
                None => {
                    let kind = if base.is_some() {
                        ConflictKind::ModifyModify
                    } else {
                        ConflictKind::AddAdd
                    };
                    self.fight(kind, b, &ours.raw, &theirs.raw);
                }
            }
            return;
        }
        self.head(base, ours, theirs);
        self.children(base, ours, theirs);
    }

    fn head(&mut self, base: Option<&Node<'_>>, ours: &Node<'_>, theirs: &Node<'_>) {
        let b = base.map(|node| node.head.as_ref());
        let (o, t) = (ours.head.as_ref(), theirs.head.as_ref());
        if o == t || Some(t) == b {
            self.out.push_str(o);
        } else if Some(o) == b {
            self.out.push_str(t);
        } else if ours.key == theirs.key {
            let text = o.min(t).to_owned();
            self.out.push_str(&text);
        } else if base.is_some_and(|b| b.key == ours.key) {
            self.out.push_str(t);
        } else if base.is_some_and(|b| b.key == theirs.key) {
            self.out.push_str(o);
        } else {
            self.fight(ConflictKind::RenameRename, b.unwrap_or_default(), o, t);
        }
    }

    fn children(&mut self, base: Option<&Node<'_>>, ours: &Node<'_>, theirs: &Node<'_>) {
        let siblings = self.siblings(base, ours, theirs);
        let parents = Three {
            base,
            ours: Some(ours),
            theirs: Some(theirs),
        };
        if let Some((first, _)) = siblings.first()
            && ours.kind != Kind::Document
        {
            let gap = self.gap_below(&parents, first);
            self.out.push_str(&gap);
        }
        for (nth, (child, clash)) in siblings.iter().enumerate() {
            self.child(child, clash.as_ref());
            if nth + 1 < siblings.len() {
                let gap = self.gap_behind(child, &parents);
                self.out.push_str(&gap);
            }
        }
    }

    /// The children of the three versions side by side, in the order of the merge. With each comes the one that it
    /// fights with for a name.
    fn siblings<'n, 't>(
        &self,
        base: Option<&'n Node<'t>>,
        ours: &'n Node<'t>,
        theirs: &'n Node<'t>,
    ) -> Vec<(Three<'n, 't>, Option<Three<'n, 't>>)> {
        let known: &Renames = if ours.kind == Kind::Requirements {
            self.renames
        } else {
            &[]
        };
        let empty = Node::new(ours.kind, "", "");
        let o = matching::pair(base.unwrap_or(&empty), ours, &[]);
        let t = matching::pair(base.unwrap_or(&empty), theirs, known);
        let before = base.map_or(&[][..], |base| &base.children);
        let mut list: Vec<Three<'_, '_>> = before
            .iter()
            .map(|node| Three {
                base: Some(node),
                ..Three::default()
            })
            .collect();
        let ours = admit(&mut list, &ours.children, &o, |three, node| {
            three.ours = Some(node);
        });
        let theirs = admit(&mut list, &theirs.children, &t, |three, node| {
            three.theirs = Some(node);
        });
        let mut alive: Vec<bool> = list
            .iter()
            .map(|three| !matches!(three.fate(), Fate::Gone))
            .collect();
        let clashes = clashes(&list, &mut alive);
        let order = merge_order(before.len(), &ours, &theirs, &alive, |id| {
            list.get(id).map(Three::rank).unwrap_or_default()
        });
        let at = |id: usize| list.get(id).copied();
        order
            .into_iter()
            .filter_map(|id| Some((at(id)?, clashes.get(&id).and_then(|other| at(*other)))))
            .collect()
    }

    /// The space between a heading and the first thing below it.
    fn gap_below<'s>(&self, parents: &Three<'s, '_>, first: &Three<'_, '_>) -> Cow<'s, str> {
        let gap = |node: Option<&'s Node<'_>>| {
            node.filter(|n| !n.children.is_empty())
                .map(|n| n.head_gap.as_ref())
        };
        let gap = merge_gap(gap(parents.base), gap(parents.ours), gap(parents.theirs));
        let node = first.any();
        let tight = node.is_some_and(|n| matches!(n.kind, Kind::Body | Kind::Id));
        gap.map_or_else(|| self.blank(!tight), |gap| self.fit(gap, false))
    }

    /// Space behind a child that another one follows. A version in which the child was the last has no say.
    fn gap_behind<'s>(&self, child: &Three<'s, '_>, parents: &Three<'_, '_>) -> Cow<'s, str> {
        let inner = |node: Option<&'s Node<'_>>, parent: Option<&Node<'_>>| {
            let last = parent.and_then(|parent| parent.children.last());
            let is_last = |node: &Node<'_>| last.is_some_and(|last| std::ptr::eq(last, node));
            node.filter(|node| !is_last(node))
                .map(|node| node.gap.as_ref())
        };
        let base = inner(child.base, parents.base);
        let ours = inner(child.ours, parents.ours);
        let theirs = inner(child.theirs, parents.theirs);
        let tight = child.any().is_some_and(|node| node.kind == Kind::Id);
        match merge_gap(base, ours, theirs) {
            Some(gap) => self.fit(gap, base.is_none()),
            None => self.blank(!tight),
        }
    }

    fn child(&mut self, three: &Three<'_, '_>, clash: Option<&Three<'_, '_>>) {
        let outside = self.place.clone();
        self.enter(three);
        match clash {
            Some(other) => self.fight_for_name(three, other),
            None if self.is_disputed(three) => {
                let kind = match three.base {
                    Some(_) => ConflictKind::ModifyModify,
                    None => ConflictKind::AddAdd,
                };
                self.fight_over(kind, three);
            }
            None => self.decided(three),
        }
        self.place = outside;
    }

    /// Moves the place to a child.
    fn enter(&mut self, three: &Three<'_, '_>) {
        // Lines are those of the target: of what it does not have, the nearest thing around it has one.
        if let Some(node) = three.theirs {
            self.place.line = node.line;
        }
        let Some(node) = three.any() else {
            return;
        };
        match node.kind {
            Kind::Section | Kind::Purpose | Kind::Requirements => {
                self.place.section = node.name.to_string();
            }
            Kind::Requirement => {
                let name = three.base.unwrap_or(node).name.to_string();
                self.place.requirement = Some(name);
            }
            Kind::Scenario => self.place.scenario = Some(node.name.to_string()),
            _ => {}
        }
    }

    /// Writes the result of three versions of a child.
    fn decided(&mut self, three: &Three<'_, '_>) {
        match (three.fate(), three.ours, three.theirs) {
            (Fate::Gone, _, _) => {}
            (Fate::Keep, Some(o), Some(t)) => self.keep(three.base, o, t),
            (Fate::Keep, o, t) => {
                if let Some(node) = o.or(t) {
                    self.wrote(node);
                    let text = self.fit(&node.raw, true);
                    self.out.push_str(&text);
                }
            }
            (Fate::Merge, Some(o), Some(t)) => {
                let key = three.key().unwrap_or(o.key.as_ref());
                if let Some(written) = &mut self.written
                    && !matches!(o.kind, Kind::Body | Kind::Id | Kind::Note)
                {
                    written.push((o.kind, key.to_owned()));
                }
                self.merge(three.base, o, t);
            }
            (Fate::Merge, _, _) => {}
            (Fate::SpecConflict(kind), _, _) => self.fight_over(kind, three),
        }
    }

    /// Writes the side that changed, where one did.
    fn keep(&mut self, base: Option<&Node<'_>>, ours: &Node<'_>, theirs: &Node<'_>) {
        let same = base.is_some_and(|base| base.raw == ours.raw);
        self.wrote(if same { theirs } else { ours });
        let (o, t) = (ours.raw.as_ref(), theirs.raw.as_ref());
        let text = if same || o == t {
            t
        } else if base.is_some() {
            o
        } else {
            // Added by both with different line endings.
            o.min(t)
        };
        let text = self.fit(text, base.is_none());
        self.out.push_str(&text);
    }

    /// Shows each side's bearer of a name that two different things would get.
    fn fight_for_name(&mut self, three: &Three<'_, '_>, other: &Three<'_, '_>) {
        let name = three.key().unwrap_or_default();
        let bearer = |x: Option<&Node<'_>>, y: Option<&Node<'_>>| {
            raw([x, y].into_iter().flatten().find(|node| node.key == name))
        };
        let ours = bearer(three.ours, other.ours);
        let theirs = bearer(three.theirs, other.theirs);
        self.fight(ConflictKind::AddAdd, "", &ours, &theirs);
    }

    fn fight_over(&mut self, kind: ConflictKind, three: &Three<'_, '_>) {
        let [base, ours, theirs] = [three.base, three.ours, three.theirs].map(raw);
        self.fight(kind, &base, &ours, &theirs);
    }

    /// Gives new text the line ending of the file, where the file has one.
    fn fit<'s>(&self, text: &'s str, new: bool) -> Cow<'s, str> {
        match self.eol {
            Some(eol) if new && Eol::of(text).is_some_and(|own| own != eol) => {
                Cow::Owned(with_eol(text, eol))
            }
            _ => Cow::Borrowed(text),
        }
    }

    fn blank(&self, line: bool) -> Cow<'static, str> {
        Cow::Borrowed(match (self.eol, line) {
            (Some(Eol::Crlf), true) => "\r\n\r\n",
            (Some(Eol::Crlf), false) => "\r\n",
            (_, true) => "\n\n",
            (_, false) => "\n",
        })
    }

    fn fight(&mut self, kind: ConflictKind, base: &str, ours: &str, theirs: &str) {
        let eol = self.eol.unwrap_or(Eol::Lf).bytes();
        let names = self.names;
        let parts = [
            ("<<<<<<<", names.ours, ours),
            ("|||||||", names.base, base),
            ("=======", "", theirs),
        ];
        for (mark, name, text) in parts {
            self.out.push_str(mark);
            if !name.is_empty() {
                self.out.push(' ');
                self.out.push_str(name);
            }
            self.out.push_str(eol);
            if !text.is_empty() {
                self.out.push_str(text);
                self.out.push_str(eol);
            }
        }
        self.out.push_str(">>>>>>> ");
        self.out.push_str(names.theirs);
        let Place {
            section,
            requirement,
            scenario,
            line,
        } = self.place.clone();
        self.conflicts.push(Conflict {
            domain: String::new(),
            requirement,
            scenario,
            section,
            kind,
            base: base.to_owned(),
            ours: ours.to_owned(),
            theirs: theirs.to_owned(),
            line,
        });
    }
}

fn raw(node: Option<&Node<'_>>) -> String {
    node.map(|node| node.raw.to_string()).unwrap_or_default()
}

/// Enters a side's children; additions of the same kind and name are one. Gives the side's order.
fn admit<'n, 't>(
    list: &mut Vec<Three<'n, 't>>,
    children: &'n [Node<'t>],
    pairs: &[Option<usize>],
    set: impl Fn(&mut Three<'n, 't>, &'n Node<'t>),
) -> Vec<usize> {
    // The other side's additions, so that both sides' n-th of one name meet.
    let mut known: HashMap<(Kind, &str, usize), usize> = HashMap::new();
    let mut seen: HashMap<(Kind, &str), usize> = HashMap::new();
    for (id, three) in list.iter().enumerate() {
        if let (None, Some(node)) = (three.base, three.ours) {
            let nth = seen.entry((node.kind, node.key.as_ref())).or_default();
            known.insert((node.kind, node.key.as_ref(), *nth), id);
            *nth += 1;
        }
    }
    seen.clear();
    let mut order = Vec::with_capacity(children.len());
    for (index, node) in children.iter().enumerate() {
        let id = match pairs.get(index).copied().flatten() {
            Some(id) => id,
            None => {
                let nth = seen.entry((node.kind, node.key.as_ref())).or_default();
                let id = known.get(&(node.kind, node.key.as_ref(), *nth)).copied();
                *nth += 1;
                id.unwrap_or_else(|| {
                    list.push(Three::default());
                    list.len() - 1
                })
            }
        };
        if let Some(three) = list.get_mut(id) {
            set(three, node);
        }
        order.push(id);
    }
    order
}

/// Finds different things that the merge would give one name: the first of them fights, the other is shown as its
/// counterpart.
fn clashes(list: &[Three<'_, '_>], alive: &mut [bool]) -> HashMap<usize, usize> {
    let mut names: HashMap<(Kind, &str), usize> = HashMap::new();
    let mut found = HashMap::new();
    for (id, three) in list.iter().enumerate() {
        let Some(node) = three.any() else { continue };
        if !matches!(node.kind, Kind::Requirement | Kind::Scenario) || alive.get(id) != Some(&true)
        {
            continue;
        }
        let Some(key) = three.key() else { continue };
        let Some(first) = names.get(&(node.kind, key)).copied() else {
            names.insert((node.kind, key), id);
            continue;
        };
        let other = list.get(first).copied().unwrap_or_default();
        let named = |x: Option<&Node<'_>>| x.is_some_and(|n| n.key == key);
        // A side that has the name twice had it before the merge.
        let before = named(three.ours) && named(other.ours)
            || named(three.theirs) && named(other.theirs)
            || named(three.base) && named(other.base);
        if !before && !found.contains_key(&first) {
            found.insert(first, id);
            if let Some(slot) = alive.get_mut(id) {
                *slot = false;
            }
        }
    }
    found
}

/// Merges the blank space behind something. A version that has nothing behind it has no say.
fn merge_gap<'s>(
    base: Option<&'s str>,
    ours: Option<&'s str>,
    theirs: Option<&'s str>,
) -> Option<&'s str> {
    let longer = |a: &'s str, b: &'s str| if (a.len(), a) >= (b.len(), b) { a } else { b };
    match (base, ours, theirs) {
        (_, Some(o), Some(t)) if o == t => Some(o),
        (Some(b), Some(o), Some(t)) if o == b => Some(t),
        (Some(b), Some(o), Some(t)) if t == b => Some(o),
        (_, Some(o), Some(t)) => Some(longer(o, t)),
        (_, Some(one), None) | (_, None, Some(one)) => Some(one),
        (base, None, None) => base,
    }
}
