//! The operations of a delta on the tree of a base: which requirement goes, stays, changes or comes.
//!
//! What becomes of one block is the business of `blocks`; whether the result may be merged, of `apply`.

use super::blocks::{self, MOST_HINTS};
use super::check::is_placeholder;
use super::layout::Layout;
use super::lines::{Eol, same_content, with_eol};
use super::operation::{DomainDelta, Operation};
use super::tree::{self, Kind, Node};
use super::words::{self, OpKind, SectionWord};
use loopx_base::findings::Notes;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Puts the recorded versions of requirements, by folded name, into the base: a requirement that a version does not
/// have goes.
pub(crate) fn graft<'v, 't: 'v>(
    base: &mut Node<'t>,
    recorded: impl Iterator<Item = (String, &'v Node<'t>)>,
) {
    let places = |root: &Node<'t>| -> HashMap<String, (usize, usize)> {
        let mut found = HashMap::new();
        for (section, at, node) in root.requirements() {
            found.entry(node.key.to_string()).or_insert((section, at));
        }
        found
    };
    let mut sources: HashMap<*const Node<'t>, HashMap<String, (usize, usize)>> = HashMap::new();
    let known = places(base);
    let mut gone = HashSet::new();
    let mut new = Vec::new();
    for (name, from) in recorded {
        let source = sources.entry(from).or_insert_with(|| places(from));
        match (known.get(&name), source.get(&name)) {
            (Some(place), Some(there)) => {
                if let (Some(slot), Some(node)) = (base.at_mut(*place), from.at(*there)) {
                    let gap = slot.gap.clone();
                    *slot = node.clone();
                    slot.gap = gap;
                }
            }
            (Some(place), None) => {
                gone.insert(*place);
            }
            (None, Some(there)) => new.push((from, *there)),
            (None, None) => {}
        }
    }
    // From the end, so that the places before stay what they are.
    let mut gone = Vec::from_iter(gone);
    gone.sort_unstable_by(|one, other| other.cmp(one));
    for (section, at) in gone {
        if let Some(section) = base.children.get_mut(section) {
            section.children.remove(at);
        }
    }
    for (from, there) in new {
        insert_behind(base, from, there);
    }
}

/// Inserts a requirement of another version behind the requirement that it stands behind there.
fn insert_behind<'t>(base: &mut Node<'t>, from: &Node<'t>, (section, at): (usize, usize)) {
    let Some(mut node) = from.at((section, at)).cloned() else {
        return;
    };
    node.gap = Cow::Borrowed("");
    let before = from
        .children
        .get(section)
        .and_then(|s| s.children.get(..at))
        .and_then(|list| list.iter().rev().find(|n| n.kind == Kind::Requirement));
    let at = requirements_section(base, Eol::Lf, None);
    if let Some(section) = base.children.get_mut(at) {
        let place = before.and_then(|before| {
            section
                .children
                .iter()
                .position(|n| n.kind == Kind::Requirement && n.key == before.key)
        });
        let place = place.or_else(|| last_requirement(section));
        section.insert_after(place, node, "\n\n");
    }
}

/// Brings the texts of a tree in line with its parts.
pub(crate) fn refresh_sections(root: &mut Node<'_>) {
    for section in &mut root.children {
        if section.kind == Kind::Requirements {
            section.refresh();
        }
    }
    root.refresh();
}

/// Child behind which an addition goes: the last requirement, else whatever is there.
fn last_requirement(section: &Node<'_>) -> Option<usize> {
    section
        .children
        .iter()
        .rposition(|node| node.kind == Kind::Requirement)
        .or_else(|| section.children.len().checked_sub(1))
}

/// The purpose of a new domain whose delta gives none. The same for every change, so that the order of two
/// that begin one domain does not matter.
const PLACEHOLDER: &str = "TBD: say in a sentence or two what this domain is for.";
const PLACEHOLDER_ZH: &str = "TBD：请用一两句话说明这个领域的用途。";

/// The section of a spec's purpose, where that is a placeholder that this program wrote.
pub(crate) fn placeholder_section<'t>(spec: Option<&Layout<'t>>) -> Option<&'t str> {
    let layout = spec?;
    let mut sections = layout.sections.iter();
    let purpose = sections.find(|s| matches!(s.word, Some((SectionWord::Purpose, _))))?;
    let text = layout
        .slice(&(purpose.heading.end..purpose.range.end))
        .trim();
    [PLACEHOLDER, PLACEHOLDER_ZH]
        .contains(&text)
        .then(|| layout.slice(&purpose.range))
}

/// Key of a section: its kind and its folded name.
pub(crate) type SectionKey = (Kind, String);

/// The sections that stand before the requirements, the nearest first; `None` where there are none.
pub(crate) fn before_requirements(root: &Node<'_>) -> Option<Vec<SectionKey>> {
    let mut sections = root.children.iter();
    let at = sections.position(|c| c.kind == Kind::Requirements)?;
    let before = root.children.get(..at)?.iter().rev();
    Some(before.map(|c| (c.kind, c.key.to_string())).collect())
}

/// The place of the section of requirements. Where there is none it is made: behind the first of `behind`
/// that there is, where the target has it; else behind the purpose.
fn requirements_section(root: &mut Node<'_>, eol: Eol, behind: Option<&[SectionKey]>) -> usize {
    if let Some(at) = root
        .children
        .iter()
        .position(|c| c.kind == Kind::Requirements)
    {
        return at;
    }
    let find = |(kind, key): &SectionKey| {
        let mut sections = root.children.iter();
        sections.position(|c| c.kind == *kind && c.key == *key)
    };
    let place = match behind {
        Some(names) => names.iter().find_map(find),
        None => {
            let mut sections = root.children.iter();
            let purpose = sections.position(|c| c.kind == Kind::Purpose);
            purpose.or_else(|| root.children.len().checked_sub(1))
        }
    };
    let node = Node::new(Kind::Requirements, "Requirements", "## Requirements");
    root.insert_after(place, node, blocks::blank(eol));
    place.map_or(0, |at| at + 1)
}

/// Carries out the operations of one domain.
pub(crate) struct Hand<'d> {
    pub domain: &'d str,
    pub delta: &'d DomainDelta,
    /// The line ending of the spec.
    pub(crate) eol: Eol,
    /// Sections before the requirements of the target: see [`before_requirements`].
    pub behind: Option<&'d [SectionKey]>,
    pub notes: Notes<'d>,
}

/// Effect of the operations on one requirement of the base.
#[derive(Default)]
struct Fate<'d> {
    rename: Option<&'d str>,
    modify: Option<&'d Operation>,
    gone: bool,
}

/// The place of a requirement: section index, child index.
type Place = (usize, usize);

/// Places of the requirements of the base: the first of a name, the last of an id.
struct Index<'n> {
    by_name: HashMap<&'n str, Place>,
    by_id: HashMap<&'n str, Place>,
    /// Names as written, in the order of the requirements.
    names: Vec<&'n str>,
}

impl<'n> Index<'n> {
    fn of(root: &'n Node<'_>) -> Self {
        let mut index = Index {
            by_name: HashMap::new(),
            by_id: HashMap::new(),
            names: Vec::new(),
        };
        for (section, at, node) in root.requirements() {
            let place = (section, at);
            index.by_name.entry(&node.key).or_insert(place);
            if let Some(id) = node.id.as_deref() {
                index.by_id.insert(id, place);
            }
            index.names.push(&node.name);
        }
        index
    }

    fn named(&self, name: &str) -> Option<Place> {
        self.by_name.get(words::fold(name).as_str()).copied()
    }
}

/// Effects of the operations on the requirements of the base.
#[derive(Default)]
struct Fates<'d> {
    by_place: HashMap<Place, Fate<'d>>,
    /// The renamed ones by their new names, folded.
    new_names: HashMap<String, Place>,
    /// Places of the requirements whose old name may be taken.
    freed: HashSet<Place>,
}

impl<'d> Fates<'d> {
    fn of(&mut self, place: Place) -> &mut Fate<'d> {
        self.by_place.entry(place).or_default()
    }

    /// The requirement of this name, where it keeps it.
    fn standing(&self, index: &Index<'_>, name: &str) -> Option<Place> {
        let place = index.named(name);
        place.filter(|place| !self.freed.contains(place))
    }
}

/// The additions that are not written yet.
#[derive(Default)]
struct Additions<'d> {
    /// Additions that name an anchor, by the name of the anchor.
    anchored: HashMap<String, Vec<&'d Operation>>,
    loose: Vec<&'d Operation>,
}

impl<'d> Additions<'d> {
    /// Writes additions, and behind each those that are anchored to it.
    fn put(&mut self, mut open: Vec<&'d Operation>, eol: Eol, out: &mut Vec<Node<'_>>) {
        open.reverse();
        while let Some(op) = open.pop() {
            for mut node in blocks::nodes(op, eol) {
                node.gap = Cow::Borrowed("");
                out.push(node);
            }
            if let Some(below) = self.anchored.remove(&words::fold(&op.name)) {
                open.extend(below.into_iter().rev());
            }
        }
    }

    fn put_loose(&mut self, eol: Eol, out: &mut Vec<Node<'_>>) {
        let loose = std::mem::take(&mut self.loose);
        self.put(loose, eol, out);
    }

    /// Takes out those whose anchor was not written, in the order of the delta.
    fn waiting(&mut self) -> Vec<&'d Operation> {
        let mut rest: Vec<&Operation> = self.anchored.drain().flat_map(|(_, ops)| ops).collect();
        rest.sort_by_key(|op| op.line);
        rest
    }
}

impl<'d> Hand<'d> {
    /// A spec that did not exist before.
    pub(crate) fn create(&mut self, root: &mut Node<'_>) {
        let rest = |op: &&Operation| op.kind != OpKind::Added;
        let needs = self.delta.operations.iter().filter(rest);
        if let Some(first) = needs.clone().next() {
            let count = needs.count();
            self.notes.error(
                "missing_domain",
                first.line,
                format!(
                    "there is no spec `{}`, and the delta changes {} of it: {} `{}` is the first",
                    self.domain,
                    loopx_base::counted(count, "requirement"),
                    first.kind.word(),
                    first.name
                ),
                "add them with `## ADDED Requirements`, or archive the change that adds the domain first",
            );
            return;
        }
        let blank = blocks::blank(self.eol);
        let chinese = self.delta.language == Some(words::Language::Chinese);
        let given = self.delta.purpose.as_ref().map(|p| p.text.as_str());
        let given = given.map(str::trim).filter(|text| !text.is_empty());
        if given.is_none() {
            self.notes.warn(
                "no_purpose",
                1,
                format!(
                    "the domain `{}` is new and has no purpose: a placeholder stands for it",
                    self.domain
                ),
                "add `## Purpose` to the delta",
            );
        }
        let purpose = given.unwrap_or(if chinese { PLACEHOLDER_ZH } else { PLACEHOLDER });
        let title = format!("{} Specification", self.domain);
        let mut head = Node::new(Kind::Section, title.clone(), format!("# {title}"));
        head.gap = Cow::Borrowed(blank);
        let heading = if chinese { "目的" } else { "Purpose" };
        let mut section = Node::new(Kind::Purpose, heading, format!("## {heading}"));
        section.head_gap = Cow::Borrowed(if self.eol == Eol::Crlf { "\r\n" } else { "\n" });
        section
            .children
            .push(Node::new(Kind::Body, "", with_eol(purpose, self.eol)));
        section.gap = Cow::Borrowed(blank);
        section.refresh();
        let heading = if chinese { "需求" } else { "Requirements" };
        let list = Node::new(Kind::Requirements, heading, format!("## {heading}"));
        root.children = vec![head, section, list];
        root.gap = Cow::Borrowed("\n");
        self.operate(root);
    }

    pub(crate) fn apply(&mut self, root: &mut Node<'_>, known: bool) {
        if let Some(purpose) = &self.delta.purpose {
            self.purpose(root, &purpose.text);
        }
        if !known {
            // The spec came into being after the delta: only its list is ours to add to.
            requirements_section(root, self.eol, self.behind);
        }
        self.operate(root);
    }

    fn purpose(&mut self, root: &mut Node<'_>, text: &str) {
        let blank = blocks::blank(self.eol);
        let at = match root.children.iter().position(|c| c.kind == Kind::Purpose) {
            Some(at) => at,
            None => {
                let before = root
                    .children
                    .iter()
                    .position(|c| c.kind == Kind::Requirements);
                let place = match before {
                    Some(at) => at.checked_sub(1),
                    None => root.children.len().checked_sub(1),
                };
                let node = Node::new(Kind::Purpose, "Purpose", "## Purpose");
                root.insert_after(place, node, blank);
                place.map_or(0, |at| at + 1)
            }
        };
        let text = with_eol(text, self.eol);
        let eol = self.eol.bytes();
        self.replaced(root.children.get(at), &text);
        if let Some(section) = root.children.get_mut(at) {
            match section.children.iter_mut().find(|c| c.kind == Kind::Body) {
                Some(body) if same_content(&body.raw, &text) => {}
                Some(body) => {
                    body.head = Cow::Owned(text);
                    body.refresh();
                }
                None => section.insert_after(None, Node::new(Kind::Body, "", text), eol),
            }
            section.refresh();
        }
    }

    /// Warns of a purpose that replaces one: in real deltas a purpose is that of the change more often than a new one
    /// of the domain.
    fn replaced(&mut self, section: Option<&Node<'_>>, new: &str) {
        let bodies = section.map_or(&[][..], |section| &section.children);
        let old = bodies.iter().find(|child| child.kind == Kind::Body);
        let Some(old) = old.map(|body| body.raw.as_ref()) else {
            return;
        };
        if is_placeholder(old) || same_content(old, new) {
            return;
        }
        let line = self.delta.purpose.as_ref().map_or(1, |p| p.span.line);
        let first = old.trim().lines().next().unwrap_or_default();
        self.notes.warn(
            "purpose_replaced",
            line,
            format!(
                "the purpose of the spec `{}` goes, and this one stands in its place: {first}",
                self.domain
            ),
            "leave `## Purpose` out of the delta, unless the domain is for something else from now on",
        );
    }

    fn operate(&mut self, root: &mut Node<'_>) {
        let index = Index::of(root);
        let mut fates = Fates::default();
        self.rename(&index, &mut fates);
        self.remove(&index, &mut fates);
        self.refuse_taken_names(&index, &fates);
        self.modify(&index, &mut fates);
        let added = self.additions(root, &index, &fates);
        self.rebuild(root, &fates);
        self.add(root, &added);
    }

    fn rename(&mut self, index: &Index<'_>, fates: &mut Fates<'d>) {
        for op in self.delta.of_kind(OpKind::Renamed) {
            let to = op.to.as_deref().unwrap_or_default();
            match index.named(&op.name) {
                Some(place) => {
                    fates.of(place).rename = Some(to);
                    fates.new_names.insert(words::fold(to), place);
                    fates.freed.insert(place);
                }
                None if index.named(to).is_some() => self.notes.warn(
                    "rename_done",
                    op.line,
                    format!(
                        "`{}` is not there and `{to}` is: the rename is done",
                        op.name
                    ),
                    "delete the entry, or record the base again",
                ),
                None => self.missing(op, &index.names),
            }
        }
    }

    fn remove(&mut self, index: &Index<'_>, fates: &mut Fates<'d>) {
        for op in self.delta.of_kind(OpKind::Removed) {
            match index.named(&op.name) {
                Some(place) => {
                    fates.of(place).gone = true;
                    fates.freed.insert(place);
                }
                None => self.missing(op, &index.names),
            }
        }
    }

    /// A rename may take a name that the same delta frees, and no other.
    fn refuse_taken_names(&mut self, index: &Index<'_>, fates: &Fates<'d>) {
        for op in self.delta.of_kind(OpKind::Renamed) {
            let to = op.to.as_deref().unwrap_or_default();
            let is_other = words::fold(&op.name) != words::fold(to);
            let holder = index.named(to).filter(|place| !fates.freed.contains(place));
            if is_other && holder.is_some() && index.named(&op.name).is_some() {
                self.exists(op, to);
            }
        }
    }

    fn modify(&mut self, index: &Index<'_>, fates: &mut Fates<'d>) {
        for op in self.delta.of_kind(OpKind::Modified) {
            let id = op.requirement.as_ref().and_then(|r| r.id.as_deref());
            let place = id
                .and_then(|id| index.by_id.get(id).copied())
                .or_else(|| fates.new_names.get(&words::fold(&op.name)).copied())
                .or_else(|| fates.standing(index, &op.name));
            match place {
                Some(place) => fates.of(place).modify = Some(op),
                None => self.missing(op, &index.names),
            }
        }
    }

    /// The additions that are not there yet.
    fn additions(
        &mut self,
        root: &Node<'_>,
        index: &Index<'_>,
        fates: &Fates<'d>,
    ) -> Vec<&'d Operation> {
        let mut added = Vec::new();
        for op in self.delta.of_kind(OpKind::Added) {
            let Some(place) = fates.standing(index, &op.name) else {
                added.push(op);
                continue;
            };
            let new = blocks::nodes(op, Eol::Lf);
            let same = root
                .at(place)
                .zip(new.first())
                .is_some_and(|(old, new)| same_content(below(&old.raw), below(&new.raw)));
            if !same {
                self.exists(op, &op.name);
            }
        }
        added
    }

    fn rebuild(&mut self, root: &mut Node<'_>, fates: &Fates<'d>) {
        let eol = self.eol;
        for (number, section) in root.children.iter_mut().enumerate() {
            if section.kind != Kind::Requirements {
                continue;
            }
            let mut kept = Vec::with_capacity(section.children.len());
            for (at, mut node) in std::mem::take(&mut section.children)
                .into_iter()
                .enumerate()
            {
                let fate = fates.by_place.get(&(number, at));
                if fate.is_some_and(|fate| fate.gone) {
                    continue;
                }
                if let Some(name) = fate.and_then(|fate| fate.rename) {
                    blocks::rename(&mut node, name);
                }
                if let Some(op) = fate.and_then(|fate| fate.modify) {
                    let gap = node.gap.clone();
                    node = blocks::modify(&node, op, eol, &mut self.notes);
                    node.gap = gap;
                }
                kept.push(node);
            }
            section.children = kept;
        }
    }

    /// Puts the additions in their places, in one pass over each section.
    fn add(&mut self, root: &mut Node<'_>, added: &[&'d Operation]) {
        if added.is_empty() {
            return;
        }
        let first = requirements_section(root, self.eol, self.behind);
        let last = root
            .requirements()
            .map(|(section, _, _)| section)
            .last()
            .unwrap_or(first);
        let mut open = self.places(root, added);
        for (number, section) in root.children.iter_mut().enumerate() {
            if section.kind == Kind::Requirements {
                self.fill(section, number == last, &mut open);
            }
        }
    }

    /// Parts the additions that name an anchor from the others; an addition can be the anchor of another.
    fn places(&mut self, root: &Node<'_>, added: &[&'d Operation]) -> Additions<'d> {
        let mut open = Additions::default();
        if added.iter().all(|op| op.after.is_none()) {
            open.loose.extend(added);
            return open;
        }
        let mut known: HashSet<String> = root
            .requirements()
            .map(|(_, _, n)| n.key.to_string())
            .collect();
        known.extend(added.iter().map(|op| words::fold(&op.name)));
        for op in added {
            match op.after.as_deref().map(words::fold) {
                Some(key) if known.contains(&key) => {
                    open.anchored.entry(key).or_default().push(op);
                }
                Some(_) => {
                    self.no_anchor(op);
                    open.loose.push(op);
                }
                None => open.loose.push(op),
            }
        }
        open
    }

    /// Puts into a section the additions that belong behind one of its requirements; into the last also the rest.
    fn fill(&mut self, section: &mut Node<'_>, is_last: bool, open: &mut Additions<'d>) {
        let blank = blocks::blank(self.eol);
        let mut gaps = section.children.iter().map(|child| child.gap.clone());
        let usual = gaps
            .rfind(|gap| tree::has_empty_line(gap))
            .unwrap_or(Cow::Borrowed(blank));
        let end = is_last.then(|| last_requirement(section)).flatten();
        let followed = section.children.len().saturating_sub(1);
        let mut out = Vec::with_capacity(section.children.len());
        // Nodes that still stand before what stood behind them: the space between is theirs.
        let mut settled = HashSet::new();
        for (at, node) in std::mem::take(&mut section.children)
            .into_iter()
            .enumerate()
        {
            let of_key = match node.kind {
                Kind::Requirement => open.anchored.remove(node.key.as_ref()),
                _ => None,
            };
            let before = out.len();
            out.push(node);
            if let Some(of_key) = of_key {
                open.put(of_key, self.eol, &mut out);
            }
            if end == Some(at) {
                open.put_loose(self.eol, &mut out);
            }
            if at < followed && out.len() == before + 1 {
                settled.insert(before);
            }
        }
        if is_last {
            open.put_loose(self.eol, &mut out);
            // Anchors that wait for each other.
            let rest = open.waiting();
            rest.iter().for_each(|op| self.no_anchor(op));
            open.put(rest, self.eol, &mut out);
        }
        let inner = out.len().saturating_sub(1);
        for (at, node) in out.iter_mut().take(inner).enumerate() {
            if !settled.contains(&at) && !node.gap.contains('\n') {
                node.gap = usual.clone();
            }
        }
        if !out.is_empty() && section.head_gap.is_empty() {
            section.head_gap = Cow::Borrowed(blank);
        }
        section.children = out;
    }

    fn no_anchor(&mut self, op: &Operation) {
        self.notes.warn(
            "missing_anchor",
            op.line,
            format!(
                "there is no requirement `{}` to stand after",
                op.after.as_deref().unwrap_or_default()
            ),
            "name one that there is; without it the requirement goes to the end",
        );
    }

    fn missing(&mut self, op: &Operation, names: &[&str]) {
        let near = (self.notes.errors() < MOST_HINTS)
            .then(|| words::nearest(&op.name, names.iter().copied()))
            .flatten();
        self.notes.error(
            "missing_requirement",
            op.line,
            format!(
                "{} names `{}`, which the spec `{}` it was written against does not have",
                op.kind.word(),
                op.name,
                self.domain
            ),
            match near {
                Some(near) => format!("the nearest is `{near}`"),
                None => {
                    "add it with `## ADDED Requirements`, or archive the change that adds it first"
                        .to_owned()
                }
            },
        );
    }

    fn exists(&mut self, op: &Operation, name: &str) {
        self.notes.error(
            "requirement_exists",
            op.line,
            format!(
                "the spec `{}` has a requirement `{name}` already",
                self.domain
            ),
            "put it below `## MODIFIED Requirements`, or choose another name",
        );
    }
}

/// A block without its first line.
fn below(raw: &str) -> &str {
    raw.split_once('\n').map_or("", |(_, rest)| rest)
}
