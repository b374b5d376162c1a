//! From a delta to a new spec: apply the delta to the base it was written against, then merge the result
//! with the target three ways.
//!
//! [`plan_domain`] is the one verdict behind archive, validate, diff and overlap: what it finds is what
//! archive would refuse.

use super::blocks;
use super::check;
use super::delta::{DomainDelta, Operation};
use super::domain::check_domain;
use super::findings::{self, Finding, Notes};
use super::layout::Layout;
use super::lines::{Eol, LineMerge, same_content, with_eol};
use super::merge::{Conflict, MarkerNames, Tree, merge_trees};
use super::model;
use super::tree::{Kind, Node};
use super::words::{self, OpKind};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a delta was written against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// The spec as it was; absent when there was none.
    pub default: Option<String>,
    /// Requirements, by folded name, that were recorded from another version of the spec: its text.
    pub per_requirement: BTreeMap<String, String>,
    /// Renames that the target is known to have made since, old and new name.
    pub target_renames: Vec<(String, String)>,
}

/// What a caller decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions<'a> {
    /// The purpose of a new domain whose delta gives none.
    pub purpose: Option<&'a str>,
    /// The last requirement may go, and the spec with it.
    pub retire: bool,
    /// The label of the target in findings; the domain's path when empty.
    pub target_file: &'a str,
    pub markers: MarkerNames<'a>,
}

/// What is to be done to the spec of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "action", content = "text")]
pub enum Action {
    /// Nothing: the delta's effect is there already, or it must not be applied.
    Keep,
    Write(String),
    /// The last requirement is gone: delete the file.
    Retire,
}

/// The verdict on one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DomainOutcome {
    pub domain: String,
    pub action: Action,
    pub findings: Vec<Finding>,
    pub conflicts: Vec<Conflict>,
    /// The merged spec with markers around each conflict.
    pub rendered_conflict: Option<String>,
}

impl DomainOutcome {
    /// Whether the delta may be applied.
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty() && !findings::has_errors(&self.findings)
    }
}

/// Decides what `delta` makes of the spec of `domain`. `target` is the spec as it is now, if it is.
pub fn plan_domain(
    domain: &str,
    bases: &Bases,
    target: Option<&str>,
    delta: &DomainDelta,
    options: &PlanOptions<'_>,
    lines: &dyn LineMerge,
) -> DomainOutcome {
    let mut outcome = DomainOutcome {
        domain: domain.to_owned(),
        action: Action::Keep,
        findings: Vec::new(),
        conflicts: Vec::new(),
        rendered_conflict: None,
    };
    let path = format!("{domain}/spec.md");
    let file = if options.target_file.is_empty() {
        path.as_str()
    } else {
        options.target_file
    };
    let mut notes = Notes::new(&delta.file);
    if let Err(why) = check_domain(domain) {
        notes.error(
            "bad_domain",
            0,
            format!("`{domain}` cannot be a domain: {why}"),
            "name the folder of the spec below the folder of specs, as `auth/login`",
        );
    }
    let target_layout = target.map(Layout::read);
    if let Some(layout) = &target_layout {
        let spec = model::spec_of(layout, file);
        outcome.findings.extend(
            spec.findings
                .into_iter()
                .filter(|finding| check::STRUCTURAL.contains(&finding.id)),
        );
        if let (Some(theirs), Some(ours)) = (spec.language, delta.language)
            && theirs != ours
        {
            notes.error(
                "language_differs",
                1,
                "the headings of the delta are in another language than those of the spec",
                "use the header words of the spec: `## ADDED Requirements`, `### Requirement: NAME`",
            );
        }
    }
    let layouts: Vec<(String, Layout<'_>)> = bases
        .per_requirement
        .iter()
        .map(|(name, text)| (words::fold(name), Layout::read(text)))
        .collect();
    let base_layout = Layout::read(bases.default.as_deref().unwrap_or_default());
    let mut base = Tree::of(&base_layout);
    for (name, layout) in &layouts {
        graft(&mut base.root, name, &Node::read(layout));
    }
    let known = bases.default.is_some() || !layouts.is_empty();
    let eol_source = target.or(bases.default.as_deref()).unwrap_or_default();
    let eol = Eol::most(bases.default.as_deref().unwrap_or(eol_source));
    let mut ours = base.clone();
    let mut hand = Hand {
        domain,
        delta,
        eol,
        notes,
    };
    if known || target.is_some() {
        hand.apply(&mut ours.root, known);
    } else {
        hand.create(&mut ours.root, options.purpose);
    }
    outcome.findings.extend(hand.notes.list);
    if findings::has_errors(&outcome.findings) {
        findings::sort(&mut outcome.findings);
        return outcome;
    }
    let same_base = layouts.is_empty() && target == bases.default.as_deref();
    let text = if same_base {
        ours.root.refresh();
        ours.write()
    } else {
        let empty = Layout::read("");
        let theirs = Tree::of(target_layout.as_ref().unwrap_or(&empty));
        let renames: Vec<(String, String)> = bases
            .target_renames
            .iter()
            .map(|(from, to)| (words::fold(from), words::fold(to)))
            .collect();
        let merged = merge_trees(&base, &ours, &theirs, &renames, lines, options.markers);
        if !merged.conflicts.is_empty() {
            outcome.conflicts = merged.conflicts;
            for conflict in &mut outcome.conflicts {
                domain.clone_into(&mut conflict.domain);
            }
            outcome.rendered_conflict = Some(merged.text);
            findings::sort(&mut outcome.findings);
            return outcome;
        }
        merged.text
    };
    judge(&mut outcome, text, target, delta, options, file);
    findings::sort(&mut outcome.findings);
    outcome
}

/// What the merged spec has to satisfy before it is written.
fn judge(
    outcome: &mut DomainOutcome,
    text: String,
    target: Option<&str>,
    delta: &DomainDelta,
    options: &PlanOptions<'_>,
    file: &str,
) {
    if target == Some(text.as_str()) || target.is_none() && text.is_empty() {
        return;
    }
    let layout = Layout::read(&text);
    let spec = model::spec_of(&layout, file);
    let mut notes = Notes::new(&delta.file);
    let removes = delta.operations.iter().find(|o| o.kind == OpKind::Removed);
    if spec.requirements.is_empty()
        && let Some(op) = removes
    {
        let prose: Vec<&str> = layout
            .sections
            .iter()
            .filter(|s| s.level == 2 && s.word.is_none())
            .map(|s| layout.slice(&s.title))
            .collect();
        if !options.retire {
            notes.error(
                "last_requirement",
                op.line,
                "the last requirement of the domain would go",
                "to give the domain up, put `retire: true` into the front matter of the delta \
                 (`retire_capabilities: true` in .openspec.yaml)",
            );
        } else if !prose.is_empty() {
            notes.error(
                "retire_loses_text",
                op.line,
                format!("the spec also has the sections `{}`", prose.join("`, `")),
                "move them elsewhere first: the file goes with the domain",
            );
        } else {
            outcome.action = Action::Retire;
        }
        outcome.findings.extend(notes.list);
        return;
    }
    near_names(&spec, delta, &mut notes);
    outcome.findings.extend(notes.list);
    outcome.findings.extend(
        spec.findings
            .into_iter()
            .filter(|finding| check::STRUCTURAL.contains(&finding.id)),
    );
    if !findings::has_errors(&outcome.findings) {
        outcome.action = Action::Write(text);
    }
}

/// A new name that differs from another in case or marks only is a mistake more often than a name.
fn near_names(spec: &model::Spec, delta: &DomainDelta, notes: &mut Notes<'_>) {
    let mut loose: HashMap<String, Vec<&str>> = HashMap::new();
    for one in &spec.requirements {
        loose
            .entry(words::loose(&one.name))
            .or_default()
            .push(&one.name);
    }
    for op in &delta.operations {
        let new = match op.kind {
            OpKind::Added => op.name.as_str(),
            OpKind::Renamed => op.to.as_deref().unwrap_or_default(),
            _ => continue,
        };
        let key = words::fold(new);
        let others = loose.get(&words::loose(new)).map(Vec::as_slice);
        if let Some(other) = others
            .unwrap_or_default()
            .iter()
            .find(|other| words::fold(other) != key)
        {
            notes.error(
                "near_name",
                op.line,
                format!("`{new}` and the requirement `{other}` differ in case or marks only"),
                "modify that requirement, or choose a clearly different name",
            );
        }
    }
}

/// Puts the recorded version of one requirement into the base.
fn graft<'t>(base: &mut Node<'t>, name: &str, from: &Node<'t>) {
    let find = |root: &Node<'t>| {
        root.requirements()
            .find(|(_, _, node)| node.key == name)
            .map(|(section, at, node)| (section, at, node.clone()))
    };
    let source = find(from);
    match (find(base), source) {
        (Some((section, at, _)), Some((_, _, mut node))) => {
            if let Some(slot) = base
                .children
                .get_mut(section)
                .and_then(|s| s.children.get_mut(at))
            {
                node.gap = slot.gap.clone();
                *slot = node;
            }
        }
        (Some((section, at, _)), None) => {
            if let Some(section) = base.children.get_mut(section) {
                section.children.remove(at);
            }
        }
        (None, Some((section, at, mut node))) => {
            node.gap = Cow::Borrowed("");
            let before = from
                .children
                .get(section)
                .and_then(|s| s.children.get(..at))
                .and_then(|list| list.iter().rev().find(|n| n.kind == Kind::Requirement))
                .map(|n| n.key.clone());
            let at = requirements_section(base, Eol::Lf);
            if let Some(section) = base.children.get_mut(at) {
                let place = before.and_then(|key| {
                    section
                        .children
                        .iter()
                        .position(|n| n.kind == Kind::Requirement && n.key == key)
                });
                let place = place.or_else(|| last_requirement(section));
                section.insert_after(place, node, "\n\n");
            }
        }
        (None, None) => {}
    }
    refresh_sections(base);
}

fn refresh_sections(root: &mut Node<'_>) {
    for section in &mut root.children {
        if section.kind == Kind::Requirements {
            section.refresh();
        }
    }
    root.refresh();
}

/// Behind which child an addition goes: the last requirement, else whatever is there.
fn last_requirement(section: &Node<'_>) -> Option<usize> {
    section
        .children
        .iter()
        .rposition(|node| node.kind == Kind::Requirement)
        .or_else(|| section.children.len().checked_sub(1))
}

/// The place of the section of requirements; made behind the purpose when there is none.
fn requirements_section(root: &mut Node<'_>, eol: Eol) -> usize {
    if let Some(at) = root
        .children
        .iter()
        .position(|c| c.kind == Kind::Requirements)
    {
        return at;
    }
    let place = root
        .children
        .iter()
        .position(|c| c.kind == Kind::Purpose)
        .or_else(|| root.children.len().checked_sub(1));
    let node = Node::new(Kind::Requirements, "Requirements", "## Requirements");
    root.insert_after(place, node, blocks::blank(eol));
    place.map_or(0, |at| at + 1)
}

struct Hand<'d> {
    domain: &'d str,
    delta: &'d DomainDelta,
    eol: Eol,
    notes: Notes<'d>,
}

/// What becomes of one requirement of the base.
#[derive(Default)]
struct Fate<'d> {
    rename: Option<&'d str>,
    modify: Option<&'d Operation>,
    gone: bool,
}

impl<'d> Hand<'d> {
    /// A spec that did not exist before.
    fn create(&mut self, root: &mut Node<'_>, fallback: Option<&str>) {
        let blank = blocks::blank(self.eol);
        let chinese = self.delta.language == Some(words::Language::Chinese);
        let given = self.delta.purpose.as_ref().map(|p| p.text.as_str());
        let Some(purpose) = given.or(fallback).map(str::trim).filter(|p| !p.is_empty()) else {
            self.notes.error(
                "no_purpose",
                1,
                format!("the domain `{}` is new and has no purpose", self.domain),
                "add `## Purpose` to the delta",
            );
            return;
        };
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

    fn apply(&mut self, root: &mut Node<'_>, known: bool) {
        if let Some(purpose) = &self.delta.purpose {
            self.purpose(root, &purpose.text);
        }
        if !known {
            // The spec came into being after the delta: only its list is ours to add to.
            requirements_section(root, self.eol);
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

    fn operate(&mut self, root: &mut Node<'_>) {
        let places: Vec<(usize, usize, String, Option<String>)> = root
            .requirements()
            .map(|(s, at, n)| (s, at, n.key.clone(), n.id.as_deref().map(str::to_owned)))
            .collect();
        let names: Vec<String> = root
            .requirements()
            .map(|(_, _, n)| n.name.to_string())
            .collect();
        let mut by_name: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut by_id: HashMap<&str, (usize, usize)> = HashMap::new();
        for (section, at, key, id) in &places {
            by_name.entry(key).or_insert((*section, *at));
            if let Some(id) = id {
                by_id.insert(id, (*section, *at));
            }
        }
        let mut fates: HashMap<(usize, usize), Fate<'d>> = HashMap::new();
        let delta = self.delta;
        let of = |kind: OpKind| delta.operations.iter().filter(move |op| op.kind == kind);
        let mut new_names: HashMap<String, (usize, usize)> = HashMap::new();
        let mut freed: HashSet<(usize, usize)> = HashSet::new();
        for op in of(OpKind::Renamed) {
            let to = op.to.as_deref().unwrap_or_default();
            match by_name.get(words::fold(&op.name).as_str()) {
                Some(place) => {
                    fates.entry(*place).or_default().rename = Some(to);
                    new_names.insert(words::fold(to), *place);
                    freed.insert(*place);
                }
                None if by_name.contains_key(words::fold(to).as_str()) => self.notes.warn(
                    "rename_done",
                    op.line,
                    format!(
                        "`{}` is not there and `{to}` is: the rename is done",
                        op.name
                    ),
                    "delete the entry, or record the base again",
                ),
                None => self.missing(op, &names),
            }
        }
        for op in of(OpKind::Removed) {
            match by_name.get(words::fold(&op.name).as_str()) {
                Some(place) => {
                    fates.entry(*place).or_default().gone = true;
                    freed.insert(*place);
                }
                None => self.missing(op, &names),
            }
        }
        for op in of(OpKind::Renamed) {
            let to = op.to.as_deref().unwrap_or_default();
            let key = words::fold(to);
            let from = words::fold(&op.name);
            if let (Some(place), true) = (
                by_name.get(key.as_str()),
                by_name.contains_key(from.as_str()),
            ) && !freed.contains(place)
                && from != key
            {
                self.exists(op, to);
            }
        }
        for op in of(OpKind::Modified) {
            let key = words::fold(&op.name);
            let id = op.requirement.as_ref().and_then(|r| r.id.as_deref());
            let place = id
                .and_then(|id| by_id.get(id))
                .or_else(|| new_names.get(&key))
                .or_else(|| by_name.get(key.as_str()).filter(|p| !freed.contains(*p)));
            match place {
                Some(place) => fates.entry(*place).or_default().modify = Some(op),
                None => self.missing(op, &names),
            }
        }
        let mut added: Vec<&Operation> = Vec::new();
        for op in of(OpKind::Added) {
            let place = by_name.get(words::fold(&op.name).as_str());
            match place.filter(|place| !freed.contains(*place)) {
                Some((section, at)) => {
                    let old = root
                        .children
                        .get(*section)
                        .and_then(|s| s.children.get(*at));
                    let new = blocks::nodes(op, Eol::Lf);
                    let same = old
                        .zip(new.first())
                        .is_some_and(|(old, new)| same_content(below(&old.raw), below(&new.raw)));
                    if !same {
                        self.exists(op, &op.name);
                    }
                }
                None => added.push(op),
            }
        }
        self.rebuild(root, &fates);
        self.add(root, &added);
        refresh_sections(root);
    }

    fn rebuild(&mut self, root: &mut Node<'_>, fates: &HashMap<(usize, usize), Fate<'d>>) {
        let eol = self.eol;
        for (number, section) in root.children.iter_mut().enumerate() {
            if section.kind != Kind::Requirements {
                continue;
            }
            section.explicit = true;
            let mut kept = Vec::with_capacity(section.children.len());
            for (at, mut node) in std::mem::take(&mut section.children)
                .into_iter()
                .enumerate()
            {
                let fate = fates.get(&(number, at));
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
                node.origin = Some(at);
                kept.push(node);
            }
            section.children = kept;
        }
    }

    fn add(&mut self, root: &mut Node<'_>, added: &[&Operation]) {
        if added.is_empty() {
            return;
        }
        let blank = blocks::blank(self.eol);
        requirements_section(root, self.eol);
        for op in added {
            // The section that has the anchor; else the last one that has requirements.
            let anchor = op.after.as_deref().map(words::fold);
            let of_anchor = anchor.as_deref().and_then(|key| {
                root.requirements()
                    .find(|(_, _, n)| n.key == key)
                    .map(|(section, at, _)| (section, Some(at)))
            });
            if let (Some(name), None) = (&op.after, of_anchor) {
                self.notes.warn(
                    "missing_anchor",
                    op.line,
                    format!("there is no requirement `{name}` to stand after"),
                    "name one that there is; without it the requirement goes to the end",
                );
            }
            let (section, place) = of_anchor.unwrap_or_else(|| {
                let at = root
                    .requirements()
                    .map(|(section, _, _)| section)
                    .last()
                    .or_else(|| {
                        root.children
                            .iter()
                            .position(|c| c.kind == Kind::Requirements)
                    })
                    .unwrap_or(0);
                (at, root.children.get(at).and_then(last_requirement))
            });
            let Some(section) = root.children.get_mut(section) else {
                continue;
            };
            section.explicit = true;
            let mut place = place;
            for mut node in blocks::nodes(op, self.eol) {
                node.gap = Cow::Borrowed("");
                section.insert_after(place, node, blank);
                place = Some(place.map_or(0, |at| at + 1));
            }
        }
    }

    fn missing(&mut self, op: &Operation, names: &[String]) {
        let near = words::nearest(&op.name, names.iter().map(String::as_str));
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
