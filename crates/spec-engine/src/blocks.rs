//! Blocks: one operation applied to one requirement. It gives the new block from the old one and the delta's text.
//!
//! Keeps the old bytes wherever the delta says the same, so that only what changed is touched.

use super::layout::Layout;
use super::lines::{Eol, same_content, to_lf, with_eol};
use super::model::{self, Scenario};
use super::operation::{Operation, ScenarioOperation};
use super::tree::{Kind, Node, read_item};
use super::words::{self, OpKind, StepWord};
use loopx_base::findings::Notes;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

/// Lookups of a nearest name are costly, and nobody reads the hundredth.
pub(crate) const MOST_HINTS: usize = 20;

/// The nodes of an operation's text: the requirement, and comments that came along.
pub(crate) fn nodes(op: &Operation, eol: Eol) -> Vec<Node<'static>> {
    // A block is read below a heading, as it was in the delta.
    let text = with_eol(&format!("## Requirements\n\n{}", op.text), eol);
    let layout = Layout::read(&text);
    layout
        .sections
        .iter()
        .flat_map(|section| &section.items)
        .map(|item| {
            let mut node = read_item(&layout, item).owned();
            node.gap = Cow::Borrowed(blank(eol));
            node.line = 0;
            node
        })
        .collect()
}

/// Tells whether a new text only spaces the old one otherwise. In code every blank counts.
fn unchanged(old: &str, new: &str) -> bool {
    if has_code(old) || has_code(new) {
        return to_lf(old).trim_end() == to_lf(new).trim_end();
    }
    same_content(old, new)
}

/// Tells whether a text has the mark of a fence, or four blanks in a row.
fn has_code(text: &str) -> bool {
    let (mut last, mut run) = (0, 0);
    text.bytes().any(|byte| {
        run = if byte == last { run + 1 } else { 1 };
        last = byte;
        matches!((byte, run), (b'`' | b'~', 3) | (b' ', 4))
    })
}

pub(crate) fn blank(eol: Eol) -> &'static str {
    match eol {
        Eol::Crlf => "\r\n\r\n",
        Eol::Lf | Eol::Mixed => "\n\n",
    }
}

/// Gives a node another name, in its heading and for look-up.
pub(crate) fn rename(node: &mut Node<'_>, name: &str) {
    let opened = node.opened().into_owned();
    *node = opened;
    let head = node.head.to_string();
    if let Some(at) = head.rfind(node.name.as_ref()) {
        let mut new = head.clone();
        new.replace_range(at..at + node.name.len(), name);
        node.head = Cow::Owned(new);
    }
    node.name = Cow::Owned(name.to_owned());
    node.key = Cow::Owned(words::fold(name));
    node.refresh();
}

/// The line ending of a block; that of the file where the block has none of its own.
fn eol_of(node: &Node<'_>, file: Eol) -> Eol {
    match Eol::of(&node.raw) {
        Some(Eol::Mixed) | None => file,
        Some(eol) => eol,
    }
}

/// Applies a modification to `old`, the block of the base (already renamed, if it is).
pub(crate) fn modify<'t>(
    old: &Node<'t>,
    op: &Operation,
    file: Eol,
    notes: &mut Notes<'_>,
) -> Node<'t> {
    let old = &old.opened();
    let eol = eol_of(old, file);
    let Some(new) = nodes(op, eol).into_iter().next() else {
        return (**old).clone();
    };
    let mut made = if op.patch {
        patch(old, &new, op, eol, notes)
    } else {
        replace(old, &new, op, notes)
    };
    made.refresh();
    then_dropped(old, op, notes);
    // The same words with other blank lines are no change.
    if unchanged(&made.raw, &old.raw) {
        return (**old).clone();
    }
    made
}

/// Notes scenarios that lose their `Then`: a scenario that said what is observed has to say it still.
fn then_dropped(old: &Node<'_>, op: &Operation, notes: &mut Notes<'_>) {
    let observes = |one: &Scenario| one.steps.iter().any(|s| s.word == Some(StepWord::Then));
    let given = op.requirement.iter().flat_map(|new| &new.scenarios);
    let mut silent = given
        .filter(|new| !new.steps.is_empty() && !observes(new))
        .peekable();
    if silent.peek().is_none() {
        return;
    }
    let text = format!("## Requirements\n\n{}", old.raw);
    let layout = Layout::read(&text);
    let mut items = layout.sections.iter().flat_map(|section| &section.items);
    let Some(before) = items.find_map(|item| model::requirement(&layout, item)) else {
        return;
    };
    for new in silent {
        let mark = op.scenarios.iter().find(|mark| mark.line == new.span.line);
        let name = match mark {
            Some(mark) if mark.op == Some(OpKind::Renamed) => mark.name.as_str(),
            Some(mark) if mark.op == Some(OpKind::Modified) || mark.op.is_none() => {
                let key = words::fold(&mark.name);
                let renamed = op.scenarios.iter().find(|other| {
                    let to = other.to.as_deref().map(words::fold);
                    other.op == Some(OpKind::Renamed) && to.as_ref() == Some(&key)
                });
                renamed.map_or(mark.name.as_str(), |other| other.name.as_str())
            }
            _ => continue,
        };
        let key = words::fold(name);
        let was = before
            .scenarios
            .iter()
            .find(|s| words::fold(&s.name) == key);
        if was.is_some_and(observes) {
            notes.error(
                "then_dropped",
                new.span.line,
                format!("scenario `{name}` of `{}` loses its THEN step", op.name),
                "say what is observed: `- **THEN** ...`",
            );
        }
    }
}

/// The scenarios of a block by their folded names.
struct Scenarios<'n>(HashMap<&'n str, usize>);

impl<'n> Scenarios<'n> {
    fn of(node: &'n Node<'_>) -> Self {
        let mut map = HashMap::new();
        for (at, child) in node.children.iter().enumerate() {
            if child.kind == Kind::Scenario {
                map.entry(child.key.as_ref()).or_insert(at);
            }
        }
        Scenarios(map)
    }

    fn at(&self, name: &str) -> Option<usize> {
        self.0.get(words::fold(name).as_str()).copied()
    }
}

fn missing(old: &Node<'_>, name: &str, line: usize, notes: &mut Notes<'_>) {
    let names = old
        .children
        .iter()
        .filter(|child| child.kind == Kind::Scenario)
        .map(|child| child.name.as_ref());
    let near = (notes.errors() < MOST_HINTS)
        .then(|| words::nearest(name, names))
        .flatten();
    notes.error(
        "missing_scenario",
        line,
        format!("requirement `{}` has no scenario `{name}`", old.name),
        match near {
            Some(near) => format!("the nearest is `{near}`"),
            None => "write the name of a scenario that it has".to_owned(),
        },
    );
}

/// Replaces a block in full: scenarios that the new block does not have go, when the delta said so.
fn replace<'t>(
    old: &Node<'t>,
    new: &Node<'static>,
    op: &Operation,
    notes: &mut Notes<'_>,
) -> Node<'t> {
    let replacement = Replacement::of(old, op);
    let mut settled = replacement.removed(notes);
    let mut origins = Origins::of(old, replacement.renamed(notes));
    let mut made = old.clone();
    made.children = Vec::with_capacity(new.children.len());
    if new.id.is_some() {
        made.id = new.id.clone();
    } else {
        let ids = old.children.iter().filter(|child| child.kind == Kind::Id);
        made.children.extend(ids.cloned());
    }
    for child in &new.children {
        if child.kind == Kind::Scenario && !replacement.plain.contains(child.key.as_ref()) {
            continue;
        }
        let at = origins.take(child);
        let mut kept = match at.and_then(|at| old.children.get(at)) {
            Some(before) => refit(before, child),
            None => child.clone(),
        };
        if kept.gap.is_empty() {
            kept.gap = child.gap.clone();
        }
        settled.extend(at);
        made.children.push(kept);
    }
    replacement.dropped(&settled, notes);
    spread(&mut made);
    made
}

/// Full replacement of a block: its scenarios, held against those of the old block.
struct Replacement<'r, 't> {
    old: &'r Node<'t>,
    op: &'r Operation,
    scenarios: Scenarios<'r>,
    /// The folded names of the scenarios that are written without a mark.
    plain: HashSet<String>,
}

impl<'r, 't> Replacement<'r, 't> {
    fn of(old: &'r Node<'t>, op: &'r Operation) -> Self {
        let plain = op.scenarios.iter().filter(|s| s.op.is_none());
        Replacement {
            old,
            op,
            scenarios: Scenarios::of(old),
            plain: plain.map(|s| words::fold(&s.name)).collect(),
        }
    }

    /// The places of the scenarios that are to go.
    fn removed(&self, notes: &mut Notes<'_>) -> HashSet<usize> {
        let mut gone = HashSet::new();
        for mark in marks(self.op, OpKind::Removed) {
            let Some(at) = self.scenarios.at(&mark.name) else {
                missing(self.old, &mark.name, mark.line, notes);
                continue;
            };
            gone.insert(at);
            if self.plain.contains(&words::fold(&mark.name)) {
                notes.error(
                    "duplicate_operation",
                    mark.line,
                    format!("scenario `{}` is both removed and written", mark.name),
                    "delete one of the two",
                );
            }
        }
        gone
    }

    /// The places of the scenarios that get another name, by the new one, folded.
    fn renamed(&self, notes: &mut Notes<'_>) -> HashMap<String, usize> {
        let mut renamed = HashMap::new();
        for mark in marks(self.op, OpKind::Renamed) {
            let to = mark.to.as_deref().unwrap_or_default();
            if !self.plain.contains(&words::fold(to)) {
                notes.error(
                    "missing_scenario",
                    mark.line,
                    format!("the block has no scenario `{to}`"),
                    "write the scenario under its new name beside the RENAMED mark",
                );
            }
            match self.scenarios.at(&mark.name) {
                Some(at) => {
                    renamed.insert(words::fold(to), at);
                }
                None => missing(self.old, &mark.name, mark.line, notes),
            }
        }
        renamed
    }

    /// Refuses to lose the scenarios that nothing was said of.
    fn dropped(&self, settled: &HashSet<usize>, notes: &mut Notes<'_>) {
        for (at, child) in self.old.children.iter().enumerate() {
            if child.kind != Kind::Scenario || settled.contains(&at) {
                continue;
            }
            notes.error(
                "scenario_dropped",
                self.op.line,
                format!(
                    "the new text of `{}` leaves out its scenario `{}`",
                    self.op.name, child.name
                ),
                format!(
                    "keep the scenario, or say so: `#### REMOVED Scenario: {0}`, or `#### RENAMED Scenario: {0} -> NEW`",
                    child.name
                ),
            );
        }
    }
}

/// Places in the old block from which the parts of a new block come.
struct Origins<'n> {
    /// The places of renamed scenarios, by the new name.
    renamed: HashMap<String, usize>,
    /// The places of everything else by kind and name, the first of a name first.
    known: HashMap<(Kind, &'n str), VecDeque<usize>>,
}

impl<'n> Origins<'n> {
    fn of(old: &'n Node<'_>, renamed: HashMap<String, usize>) -> Self {
        let moved: HashSet<usize> = renamed.values().copied().collect();
        let mut known: HashMap<(Kind, &str), VecDeque<usize>> = HashMap::new();
        for (at, child) in old.children.iter().enumerate() {
            let freed = child.kind == Kind::Scenario && moved.contains(&at);
            if !freed {
                let places = known.entry((child.kind, child.key.as_ref()));
                places.or_default().push_back(at);
            }
        }
        Origins { renamed, known }
    }

    /// Place that a part of `new` had before; a part without a name of its own is given out once.
    fn take(&mut self, new: &'n Node<'_>) -> Option<usize> {
        match self.renamed.get(new.key.as_ref()) {
            Some(at) if new.kind == Kind::Scenario => Some(*at),
            _ => self
                .known
                .get_mut(&(new.kind, new.key.as_ref()))
                .and_then(VecDeque::pop_front),
        }
    }
}

/// The operations of one kind on scenarios.
fn marks(op: &Operation, kind: OpKind) -> impl Iterator<Item = &ScenarioOperation> {
    op.scenarios.iter().filter(move |s| s.op == Some(kind))
}

/// Carries out operations on scenarios: a scenario that is not named stays.
fn patch<'t>(
    old: &Node<'t>,
    new: &Node<'static>,
    op: &Operation,
    eol: Eol,
    notes: &mut Notes<'_>,
) -> Node<'t> {
    let mut patch = Patch::of(old, new, op);
    let gone = patch.free(notes);
    patch.rename(notes);
    patch.modify(notes);
    let mut at = 0;
    patch.made.children.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    if let Some(body) = new.children.iter().find(|c| c.kind == Kind::Body) {
        put_body(&mut patch.made, body, eol);
    }
    patch.add(eol, notes);
    let mut made = patch.made;
    spread(&mut made);
    made
}

/// A block whose scenarios are operated on.
struct Patch<'p, 't> {
    old: &'p Node<'t>,
    op: &'p Operation,
    before: Scenarios<'p>,
    /// Names after the delta, folded, to places in the old block: renames are simultaneous.
    names: HashMap<String, usize>,
    /// The new texts, by the operation and the name that it ends with.
    texts: HashMap<(OpKind, String), &'p Node<'static>>,
    made: Node<'t>,
}

impl<'p, 't> Patch<'p, 't> {
    fn of(old: &'p Node<'t>, new: &'p Node<'static>, op: &'p Operation) -> Self {
        let before = Scenarios::of(old);
        let names = before.0.iter().map(|(key, at)| ((*key).to_owned(), *at));
        let mut texts = HashMap::new();
        for child in &new.children {
            let title = child.head.trim_start_matches(['#', ' ']);
            if let Some((Some(kind), name, _)) = words::scenario(title) {
                texts.insert((kind, words::fold(renames_target(kind, name))), child);
            }
        }
        Patch {
            old,
            op,
            names: names.collect(),
            before,
            texts,
            made: old.clone(),
        }
    }

    /// Frees the names of scenarios that are renamed or removed, and gives the places of those that are to go.
    fn free(&mut self, notes: &mut Notes<'_>) -> HashSet<usize> {
        let mut gone = HashSet::new();
        for mark in marks(self.op, OpKind::Renamed).chain(marks(self.op, OpKind::Removed)) {
            match self.before.at(&mark.name) {
                Some(at) => {
                    self.names.remove(&words::fold(&mark.name));
                    if mark.op == Some(OpKind::Removed) {
                        gone.insert(at);
                    }
                }
                None => missing(self.old, &mark.name, mark.line, notes),
            }
        }
        gone
    }

    fn rename(&mut self, notes: &mut Notes<'_>) {
        for mark in marks(self.op, OpKind::Renamed) {
            let (Some(at), Some(to)) = (self.before.at(&mark.name), &mark.to) else {
                continue;
            };
            if self.names.insert(words::fold(to), at).is_some() {
                self.exists(to, mark.line, notes);
            }
            if let Some(child) = self.made.children.get_mut(at) {
                rename(child, to);
            }
        }
    }

    /// Gives scenarios their new text; one that is renamed may have one too.
    fn modify(&mut self, notes: &mut Notes<'_>) {
        for mark in marks(self.op, OpKind::Modified).chain(marks(self.op, OpKind::Renamed)) {
            let kind = mark.op.unwrap_or(OpKind::Modified);
            let name = mark.to.as_deref().unwrap_or(&mark.name);
            let key = words::fold(name);
            let Some(source) = self.texts.get(&(kind, key.clone())) else {
                continue;
            };
            let place = self.names.get(&key);
            match place.and_then(|at| self.made.children.get_mut(*at)) {
                Some(child) if !source.children.is_empty() => {
                    *child = refit(child, source);
                }
                Some(_) => {}
                None if kind == OpKind::Modified => missing(self.old, name, mark.line, notes),
                None => {}
            }
        }
    }

    /// Puts the additions behind the last scenario.
    fn add(&mut self, eol: Eol, notes: &mut Notes<'_>) {
        for mark in marks(self.op, OpKind::Added) {
            let key = words::fold(&mark.name);
            if self.names.contains_key(&key) {
                self.exists(&mark.name, mark.line, notes);
                continue;
            }
            let Some(source) = self.texts.get(&(OpKind::Added, key)) else {
                continue;
            };
            let mut child = (*source).clone();
            child.head = Cow::Owned(plain_heading(&child.head));
            child.refresh();
            child.gap = Cow::Borrowed("");
            let children = &self.made.children;
            let last = children
                .iter()
                .rposition(|c| c.kind == Kind::Scenario)
                .or_else(|| children.len().checked_sub(1));
            self.made.insert_after(last, child, blank(eol));
        }
    }

    fn exists(&self, name: &str, line: usize, notes: &mut Notes<'_>) {
        notes.error(
            "scenario_exists",
            line,
            format!(
                "requirement `{}` has a scenario `{name}` already",
                self.op.name
            ),
            "write `#### MODIFIED Scenario: ...`, or choose another name",
        );
    }
}

/// Gives a requirement another text in front of its scenarios.
fn put_body<'t>(made: &mut Node<'t>, body: &Node<'t>, eol: Eol) {
    match made.children.iter_mut().find(|c| c.kind == Kind::Body) {
        Some(old) => {
            if !unchanged(&old.raw, &body.raw) {
                let gap = old.gap.clone();
                *old = body.clone();
                old.gap = gap;
            }
        }
        None => {
            let at = made.children.iter().position(|c| c.kind == Kind::Id);
            made.insert_after(at, body.clone(), blank(eol));
        }
    }
}

/// The new name in a mark.
fn renames_target(kind: OpKind, name: &str) -> &str {
    match kind {
        OpKind::Renamed => crate::renames::arrow(name).map_or(name, |(_, to)| to),
        _ => name,
    }
}

/// `#### ADDED Scenario: X` without the word of the operation.
fn plain_heading(head: &str) -> String {
    let title = head.trim_start_matches(['#', ' ']);
    let start = head.len() - title.len();
    let plain = title
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| {
            title
                .get(*at..)
                .is_some_and(|rest| matches!(words::scenario(rest), Some((None, _, _))))
        })
        .and_then(|at| title.get(at..))
        .unwrap_or(title);
    format!("{}{plain}", head.get(..start).unwrap_or_default())
}

/// Node of `old` with the content of `new`: the heading stays as written when it names the same.
fn refit<'t>(old: &Node<'t>, new: &Node<'static>) -> Node<'t> {
    let mut made = old.clone();
    if old.key != new.key && new.kind == Kind::Scenario && words_are_plain(new) {
        rename(&mut made, &new.name);
    }
    if new.kind == Kind::Body || old.children.is_empty() || new.children.is_empty() {
        if !unchanged(&made.raw, &new.raw) && words_are_plain(new) {
            let gap = made.gap.clone();
            made = new.clone();
            made.gap = gap;
        }
        return made;
    }
    let body = |node: &Node<'_>| node.children.iter().position(|c| c.kind == Kind::Body);
    if let (Some(at), Some(from)) = (body(&made), body(new))
        && let (Some(target), Some(source)) = (made.children.get_mut(at), new.children.get(from))
        && !unchanged(&target.raw, &source.raw)
    {
        let gap = target.gap.clone();
        *target = source.clone();
        target.gap = gap;
    }
    made.refresh();
    made
}

fn words_are_plain(node: &Node<'_>) -> bool {
    !matches!(
        words::scenario(node.head.trim_start_matches(['#', ' '])),
        Some((Some(_), _, _))
    )
}

/// Puts a blank line behind children: no child but the last may run into the next.
fn spread(node: &mut Node<'_>) {
    let last = node.children.len().saturating_sub(1);
    let blank = if node.raw.contains("\r\n") {
        "\r\n\r\n"
    } else {
        "\n\n"
    };
    for (at, child) in node.children.iter_mut().enumerate() {
        if at < last && !child.gap.contains('\n') {
            child.gap = Cow::Borrowed(blank);
        }
    }
    if !node.children.is_empty() && !node.head_gap.contains('\n') {
        node.head_gap = Cow::Borrowed(blank.get(..blank.len() / 2).unwrap_or("\n"));
    }
}
