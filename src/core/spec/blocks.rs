//! What an operation makes of one requirement: the new block from the old one and the delta's text.
//!
//! Keeps the old bytes wherever the delta says the same, so that only what changed is touched.

use super::delta::Operation;
use super::findings::Notes;
use super::layout::Layout;
use super::lines::{Eol, same_content, with_eol};
use super::tree::{Kind, Node, read_item};
use super::words::{self, OpKind};
use std::borrow::Cow;

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

pub(crate) fn blank(eol: Eol) -> &'static str {
    match eol {
        Eol::Crlf => "\r\n\r\n",
        Eol::Lf | Eol::Mixed => "\n\n",
    }
}

/// Gives a node another name, in its heading and for look-up.
pub(crate) fn rename(node: &mut Node<'_>, name: &str) {
    let head = node.head.to_string();
    if let Some(at) = head.rfind(node.name.as_ref()) {
        let mut new = head.clone();
        new.replace_range(at..at + node.name.len(), name);
        node.head = Cow::Owned(new);
    }
    node.name = Cow::Owned(name.to_owned());
    node.key = words::fold(name);
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
    let eol = eol_of(old, file);
    let Some(new) = nodes(op, eol).into_iter().next() else {
        return old.clone();
    };
    let mut made = if op.patch {
        patch(old, &new, op, eol, notes)
    } else {
        replace(old, &new, op, notes)
    };
    made.explicit = true;
    made.refresh();
    // The same words with other blank lines are no change.
    if same_content(&made.raw, &old.raw) {
        return old.clone();
    }
    made
}

fn scenario_at(node: &Node<'_>, name: &str) -> Option<usize> {
    let key = words::fold(name);
    node.children
        .iter()
        .position(|child| child.kind == Kind::Scenario && child.key == key)
}

fn missing(old: &Node<'_>, name: &str, line: usize, notes: &mut Notes<'_>) {
    let near = words::nearest(
        name,
        old.children
            .iter()
            .filter(|child| child.kind == Kind::Scenario)
            .map(|child| child.name.as_ref()),
    );
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

/// Full replacement: what the new block does not have goes, when it was said so.
fn replace<'t>(
    old: &Node<'t>,
    new: &Node<'static>,
    op: &Operation,
    notes: &mut Notes<'_>,
) -> Node<'t> {
    let marks = |kind: OpKind| op.scenarios.iter().filter(move |s| s.op == Some(kind));
    let mut gone: Vec<usize> = Vec::new();
    // New name, folded, to the place in the old block.
    let mut renamed: Vec<(String, usize)> = Vec::new();
    for mark in marks(OpKind::Removed) {
        match scenario_at(old, &mark.name) {
            Some(at) => gone.push(at),
            None => missing(old, &mark.name, mark.line, notes),
        }
    }
    for mark in marks(OpKind::Renamed) {
        match scenario_at(old, &mark.name) {
            Some(at) => renamed.push((words::fold(mark.to.as_deref().unwrap_or_default()), at)),
            None => missing(old, &mark.name, mark.line, notes),
        }
    }
    let plain = |child: &Node<'_>| {
        op.scenarios
            .iter()
            .any(|s| s.op.is_none() && words::fold(&s.name) == child.key)
    };
    let mut made = old.clone();
    made.children = Vec::new();
    made.children.extend(
        old.children
            .iter()
            .enumerate()
            .filter(|(_, child)| child.kind == Kind::Id && new.id.is_none())
            .map(|(at, child)| origin(child.clone(), Some(at))),
    );
    if new.id.is_some() {
        made.id = new.id.clone();
    }
    let mut used: Vec<usize> = Vec::new();
    for child in &new.children {
        let marked = child.kind == Kind::Scenario && !plain(child);
        let text_of_rename = renamed.iter().any(|(to, _)| *to == child.key);
        if marked && !text_of_rename {
            continue;
        }
        let at = match renamed.iter().find(|(to, _)| *to == child.key) {
            Some((_, at)) if child.kind == Kind::Scenario => Some(*at),
            _ => old.children.iter().enumerate().position(|(at, c)| {
                c.kind == child.kind && c.key == child.key && !used.contains(&at)
            }),
        };
        let mut kept = match at.and_then(|at| old.children.get(at)) {
            Some(before) => refit(before, child),
            None => child.clone(),
        };
        if kept.gap.is_empty() {
            kept.gap = child.gap.clone();
        }
        used.extend(at);
        made.children.push(origin(kept, at));
    }
    for mark in marks(OpKind::Renamed) {
        let to = words::fold(mark.to.as_deref().unwrap_or_default());
        if !made
            .children
            .iter()
            .any(|c| c.kind == Kind::Scenario && c.key == to)
        {
            notes.error(
                "missing_scenario",
                mark.line,
                format!(
                    "the block has no scenario `{}`",
                    mark.to.as_deref().unwrap_or_default()
                ),
                "write the scenario under its new name beside the RENAMED mark",
            );
        }
    }
    for (at, child) in old.children.iter().enumerate() {
        if child.kind == Kind::Scenario && !used.contains(&at) && !gone.contains(&at) {
            notes.error(
                "scenario_dropped",
                op.line,
                format!(
                    "the new text of `{}` leaves out its scenario `{}`",
                    op.name, child.name
                ),
                format!(
                    "keep the scenario, or say so: `#### REMOVED Scenario: {0}`, or `#### RENAMED Scenario: {0} -> NEW`",
                    child.name
                ),
            );
        }
    }
    for at in gone {
        if used.contains(&at) {
            notes.error(
                "duplicate_operation",
                op.line,
                format!("a scenario of `{}` is both removed and written", op.name),
                "delete one of the two",
            );
        }
    }
    spread(&mut made);
    made
}

/// Operations on scenarios: what is not named stays.
fn patch<'t>(
    old: &Node<'t>,
    new: &Node<'static>,
    op: &Operation,
    eol: Eol,
    notes: &mut Notes<'_>,
) -> Node<'t> {
    let mut made = old.clone();
    for (at, child) in made.children.iter_mut().enumerate() {
        child.origin = Some(at);
    }
    let body = new.children.iter().find(|c| c.kind == Kind::Body);
    if let Some(body) = body {
        match made.children.iter_mut().find(|c| c.kind == Kind::Body) {
            Some(old) => {
                let (gap, origin) = (old.gap.clone(), old.origin);
                if !same_content(&old.raw, &body.raw) {
                    *old = body.clone();
                    (old.gap, old.origin) = (gap, origin);
                }
            }
            None => {
                let at = made.children.iter().position(|c| c.kind == Kind::Id);
                made.insert_after(at, body.clone(), blank(eol));
            }
        }
    }
    // Renames first and all at once, as between requirements.
    let mut renames: Vec<(usize, String)> = Vec::new();
    for mark in op
        .scenarios
        .iter()
        .filter(|s| s.op == Some(OpKind::Renamed))
    {
        match (scenario_at(old, &mark.name), &mark.to) {
            (Some(at), Some(to)) => renames.push((at, to.clone())),
            _ => missing(old, &mark.name, mark.line, notes),
        }
    }
    for (at, to) in renames {
        if let Some(child) = made
            .children
            .iter_mut()
            .find(|child| child.origin == Some(at))
        {
            rename(child, &to);
        }
    }
    let text = |name: &str, op: OpKind| {
        let key = words::fold(name);
        new.children.iter().find(move |child| {
            matches!(words::scenario(child.head.trim_start_matches(['#', ' '])),
                Some((Some(kind), name, _)) if kind == op && words::fold(renames_target(kind, name)) == key)
        })
    };
    for mark in &op.scenarios {
        match mark.op {
            Some(OpKind::Removed) => {
                // By its name before the delta: a rename may have given the name to another.
                match scenario_at(old, &mark.name) {
                    Some(at) => made.children.retain(|child| child.origin != Some(at)),
                    None => missing(old, &mark.name, mark.line, notes),
                }
            }
            Some(OpKind::Modified | OpKind::Renamed) => {
                let kind = mark.op.unwrap_or(OpKind::Modified);
                let name = mark.to.as_deref().unwrap_or(&mark.name);
                let Some(source) = text(name, kind) else {
                    continue;
                };
                if kind == OpKind::Renamed && source.children.is_empty() {
                    continue;
                }
                match scenario_at(&made, name).and_then(|at| made.children.get_mut(at)) {
                    Some(child) => {
                        let origin = child.origin;
                        *child = refit(child, source);
                        child.origin = origin;
                    }
                    None => missing(old, name, mark.line, notes),
                }
            }
            Some(OpKind::Added) => {
                if scenario_at(&made, &mark.name).is_some() {
                    notes.error(
                        "scenario_exists",
                        mark.line,
                        format!(
                            "requirement `{}` has a scenario `{}` already",
                            op.name, mark.name
                        ),
                        "write `#### MODIFIED Scenario: ...`, or choose another name",
                    );
                    continue;
                }
                let Some(source) = text(&mark.name, OpKind::Added) else {
                    continue;
                };
                let mut child = source.clone();
                child.head = Cow::Owned(plain_heading(&child.head));
                child.refresh();
                child.origin = None;
                child.gap = Cow::Borrowed("");
                let last = made
                    .children
                    .iter()
                    .rposition(|c| c.kind == Kind::Scenario)
                    .or_else(|| made.children.len().checked_sub(1));
                made.insert_after(last, child, blank(eol));
            }
            None => {}
        }
    }
    spread(&mut made);
    made
}

/// The new name in a mark.
fn renames_target(kind: OpKind, name: &str) -> &str {
    match kind {
        OpKind::Renamed => super::renames::arrow(name).map_or(name, |(_, to)| to),
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

fn origin<'t>(mut node: Node<'t>, at: Option<usize>) -> Node<'t> {
    node.origin = at;
    node
}

/// `old` with what `new` says differently: the heading stays as written when it names the same.
fn refit<'t>(old: &Node<'t>, new: &Node<'static>) -> Node<'t> {
    let mut made = old.clone();
    if old.key != new.key && new.kind == Kind::Scenario && words_are_plain(new) {
        rename(&mut made, &new.name);
    }
    if new.kind == Kind::Body || old.children.is_empty() || new.children.is_empty() {
        if !same_content(&made.raw, &new.raw) && words_are_plain(new) {
            let gap = made.gap.clone();
            made = new.clone();
            made.gap = gap;
        }
        return made;
    }
    let body = |node: &Node<'_>| node.children.iter().position(|c| c.kind == Kind::Body);
    if let (Some(at), Some(from)) = (body(&made), body(new))
        && let (Some(target), Some(source)) = (made.children.get_mut(at), new.children.get(from))
        && !same_content(&target.raw, &source.raw)
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

/// No child but the last may run into the next.
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
