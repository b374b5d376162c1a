//! The field `waits`: what a task waits for outside of the list, how it is written, and what can never come because it
//! waits for the task itself.

use super::TaskFile;
use super::fields;
use super::finding::found;
use super::row::{Fields, Row};
use crate::lease::seconds_of;
use crate::policy::is_inside;
use crate::task::node::{Node, TaskId};
use crate::task::world::{Condition, Reached, is_name};
use loopx_base::id::SessionId;
use loopx_spec::Finding;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The field as a line has it.
const FIELD: &str = "\"waits\"";
/// The fields of each form. The first one names it.
const FORMS: [&[&str]; 5] = [
    &["time"],
    &["branch", "contains", "path"],
    &["evidence", "role"],
    &["session", "stage"],
    &["person"],
];
const FORM: &str = r#"one of {"time":"2026-12-01T00:00:00Z"}, {"branch":"main","contains":"COMMIT"}, {"branch":"main","path":"PATH"}, {"evidence":"TASK","role":"ci"}, {"session":"ID","stage":"archived"}, {"person":"any"}"#;

/// The conditions of a task. What cannot be understood is said, and holds the list: a condition that is passed over
/// would let the task begin.
pub(super) fn of(value: Option<&Value>, row: &mut Row<'_>) -> Vec<Condition> {
    let Some(items) = row.items("waits", "a list of objects", value) else {
        return Vec::new();
    };
    let read = items.iter().filter_map(|item| match item {
        Value::Object(said) => condition(said, row),
        other => {
            row.wrong("waits", "a list of objects", other);
            None
        }
    });
    read.collect()
}

fn fault(row: &mut Row<'_>, what: impl std::fmt::Display) {
    row.say("task_wait_invalid", what);
}

fn condition(said: &Map<String, Value>, row: &mut Row<'_>) -> Option<Condition> {
    let Some(form) = FORMS.iter().find(|form| said.contains_key(form[0])) else {
        fault(
            row,
            format!("expected {FORM} in `waits`, found {}", names(said)),
        );
        return None;
    };
    if let Some(other) = said.keys().find(|name| !form.contains(&name.as_str())) {
        let near = loopx_base::nearest(other, form.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
        fault(
            row,
            format!(
                "the condition `{}` of `waits` has no field `{other}`{near}",
                form[0]
            ),
        );
        return None;
    }
    match form[0] {
        "time" => time(said, row),
        "branch" => branch(said, row),
        "evidence" => Some(Condition::Evidence {
            evidence: text(said, "evidence", row)?,
            role: if said.contains_key("role") {
                Some(text(said, "role", row)?)
            } else {
                None
            },
        }),
        "session" => session(said, row),
        _ => Some(Condition::Person {
            person: text(said, "person", row)?,
        }),
    }
}

fn names(said: &Map<String, Value>) -> String {
    let names: Vec<String> = said.keys().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "an empty object".to_owned()
    } else {
        names.join(", ")
    }
}

/// A text that says something.
fn text(said: &Map<String, Value>, field: &str, row: &mut Row<'_>) -> Option<String> {
    match said.get(field) {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Some(Value::String(_)) | None => {
            fault(row, format!("`waits.{field}` says nothing"));
            None
        }
        Some(other) => {
            row.wrong(&format!("waits.{field}"), "a string", other);
            None
        }
    }
}

fn time(said: &Map<String, Value>, row: &mut Row<'_>) -> Option<Condition> {
    let time = text(said, "time", row)?;
    if seconds_of(&time).is_none() {
        fault(
            row,
            format!("expected a time like 2026-12-01T00:00:00Z in `waits.time`, found `{time}`"),
        );
        return None;
    }
    Some(Condition::Time { time })
}

fn branch(said: &Map<String, Value>, row: &mut Row<'_>) -> Option<Condition> {
    let branch = text(said, "branch", row)?;
    if !is_name(&branch) {
        fault(
            row,
            format!("expected the name of a branch in `waits.branch`, found `{branch}`"),
        );
        return None;
    }
    match (said.contains_key("contains"), said.contains_key("path")) {
        (true, false) => {
            let contains = text(said, "contains", row)?;
            if is_name(&contains) {
                return Some(Condition::Commit { branch, contains });
            }
            fault(
                row,
                format!(
                    "expected a commit or the name of a ref in `waits.contains`, found `{contains}`"
                ),
            );
        }
        (false, true) => {
            let path = text(said, "path", row)?;
            // A folder may be named with a slash behind it.
            if is_inside(path.trim_end_matches('/')) {
                return Some(Condition::Path { branch, path });
            }
            row.say(
                "task_path_outside",
                format!("`waits.path` names `{path}`, which is not inside the repository"),
            );
        }
        _ => fault(
            row,
            format!(
                "expected `contains` or `path` beside `branch` in `waits`, found {}",
                names(said)
            ),
        ),
    }
    None
}

fn session(said: &Map<String, Value>, row: &mut Row<'_>) -> Option<Condition> {
    let name = text(said, "session", row)?;
    let stage = text(said, "stage", row)?;
    let session = SessionId::parse(&name).ok();
    if session.is_none() {
        fault(
            row,
            format!("expected the id of a session in `waits.session`, found `{name}`"),
        );
    }
    let reached: Option<Reached> = stage.parse().ok();
    if reached.is_none() {
        row.unknown_word("waits.stage", Reached::WORDS, &stage);
    }
    Some(Condition::Session {
        session: session?,
        stage: reached?,
    })
}

/// Every condition of a list, those of what its gates insert among them. Lines without one are not read.
pub fn conditions(text: &str) -> BTreeSet<Condition> {
    fn take(node: Node, found: &mut BTreeSet<Condition>) {
        found.extend(node.waits);
        let inner = node.gate.into_iter().flat_map(|gate| gate.repair);
        inner.for_each(|node| take(node, found));
    }
    let mut all = BTreeSet::new();
    // In most lists nothing waits, and their lines are not looked at.
    if !text.contains(FIELD) {
        return all;
    }
    for (line, text) in super::lines(text).filter(|(_, text)| text.contains(FIELD)) {
        let read = serde_json::from_str::<Fields>(text).ok();
        let node = read.and_then(|read| fields::node(&read, line, &mut Vec::new()));
        node.into_iter().for_each(|node| take(node, &mut all));
    }
    all
}

/// Finds tasks that wait for themselves: for evidence that is only made once the task, or its stage, is done.
pub(super) fn wiring(file: &TaskFile, findings: &mut Vec<Finding>) {
    for (at, node) in file.nodes.iter().enumerate() {
        for condition in &node.waits {
            if let Some(why) = runs_late(file, at, condition) {
                findings.push(found(
                    "task_wait_circular",
                    node.line,
                    format!("{}: {why}", node.id),
                ));
            }
        }
    }
}

fn runs_late(file: &TaskFile, at: usize, condition: &Condition) -> Option<String> {
    let Condition::Evidence { evidence, .. } = condition else {
        return None;
    };
    let node = &file.nodes[at];
    let place = file.place(&TaskId::parse(evidence)?)?;
    let other = &file.nodes[place];
    if place == at {
        return Some(
            "it waits for a run of its own check, which is made once it begins".to_owned(),
        );
    }
    if waits_for(file, place, at) {
        let id = &other.id;
        return Some(format!("it waits for a run of {id}, and {id} waits for it"));
    }
    (other.stage > node.stage).then(|| {
        format!(
            "it holds stage {}, and waits for a run of {}, which begins in stage {}",
            node.stage, other.id, other.stage
        )
    })
}

/// Tells whether one node comes only after another one: by edges, and by runs that it waits for.
fn waits_for(file: &TaskFile, from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(at) = left.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            left.extend(file.before(at));
            let waits = file.nodes[at].waits.iter();
            left.extend(waits.filter_map(|one| match one {
                Condition::Evidence { evidence, .. } => file.place(&TaskId::parse(evidence)?),
                _ => None,
            }));
        }
    }
    false
}

/// Tasks that wait for the session that they are tasks of: it goes on only once they are done.
pub fn of_own_session(file: &TaskFile, session: &SessionId) -> Vec<Finding> {
    fn own(node: &Node, id: &SessionId) -> bool {
        let is_own =
            |one: &Condition| matches!(one, Condition::Session { session, .. } if session == id);
        let mut inner = node.gate.iter().flat_map(|gate| &gate.repair);
        node.waits.iter().any(is_own) || inner.any(|node| own(node, id))
    }
    let waiting = file.nodes.iter().filter(|node| own(node, session));
    let lines: BTreeMap<usize, &TaskId> = waiting.map(|node| (node.line, &node.id)).collect();
    let said = lines.into_iter().map(|(line, id)| {
        let message = format!("{id}: it waits for {session}, the session that it is a task of; `stage` says when it is done");
        found("task_wait_circular", line, message)
    });
    said.collect()
}
