//! The check of a list as a plan: criteria that cannot be tested, words that say nothing, files that two tasks touch at
//! once.

use super::TaskFile;
use super::domain;
use super::fields::{self, FORMS, OF_CONVERGENCE, OWN};
use super::finding::found;
use super::row::{Fields, Row, misspelt};
use crate::task::conflict::{Kind, conflicts};
use crate::task::node::{Node, NodeFile, NodeKind, Risk, Verification};
use loopx_spec::Finding;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The criteria of one task.
const MAX_CRITERIA: usize = 5;
/// A criterion that is shorter and has a vague word says too little.
const SHORT: usize = 15;

/// The words of `type`. The type of the commit that completes a task follows from it.
pub const TYPES: [&str; 8] = [
    "feature",
    "enhancement",
    "fix",
    "refactor",
    "testing",
    "infrastructure",
    "docs",
    "chore",
];
/// The words of `effort`.
pub const EFFORTS: [&str; 3] = ["small", "medium", "large"];
const ACTIONS: [&str; 5] = ["create", "modify", "delete", "rename", "read"];

/// Words that praise and say nothing.
const VAGUE: [&str; 18] = [
    "work",
    "works",
    "working",
    "fine",
    "good",
    "well",
    "correct",
    "correctly",
    "properly",
    "ok",
    "okay",
    "done",
    "complete",
    "completed",
    "finished",
    "ready",
    "right",
    "nice",
];
/// Words that may stand among those that praise.
const FILLING: [&str; 20] = [
    "it",
    "all",
    "everything",
    "is",
    "are",
    "as",
    "expected",
    "should",
    "must",
    "the",
    "a",
    "and",
    "make",
    "sure",
    "that",
    "now",
    "this",
    "task",
    "code",
    "very",
];
/// Words that praise and say nothing, where words have no blanks between them.
const VAGUE_HAN: [&str; 8] = [
    "正常",
    "正确",
    "良好",
    "没问题",
    "可用",
    "完成",
    "没有问题",
    "好的",
];

/// Words of tools, which are none of a definition of done.
const TOOLS: [&str; 18] = [
    "compile", "compiles", "compiled", "build", "builds", "lint", "linter", "npm", "npx", "jest",
    "tsc", "eslint", "cargo", "clippy", "pytest", "make", "ci", "webpack",
];

/// Reason why a text cannot be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vague {
    /// Text that says nothing.
    Empty,
    /// Text with nothing but praise.
    Praise,
    /// Praise, and too few words to say of what.
    Short,
}

/// Reason why a text says too little to be tested, if it does. Words count whole: `refined` is not `fine`.
pub fn vague(text: &str) -> Option<Vague> {
    let text = text.trim().to_lowercase();
    if text.is_empty() {
        return Some(Vague::Empty);
    }
    let words = words(&text);
    let is = |list: &[&str], word: &&str| list.contains(word);
    let has_praise = words.iter().any(|word| is(&VAGUE, word))
        || VAGUE_HAN.iter().any(|praise| text.contains(praise));
    if !has_praise {
        return None;
    }
    let is_filling = |word: &&str| is(&VAGUE, word) || is(&FILLING, word);
    if words.iter().all(is_filling) {
        Some(Vague::Praise)
    } else if text.chars().count() < SHORT {
        Some(Vague::Short)
    } else {
        None
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect()
}

/// Faults of the tasks as a plan, in the order of lines. `exists` says which files the code has; where nobody
/// can say, nothing is said of them.
pub fn check(file: &TaskFile, exists: Option<&dyn Fn(&str) -> bool>) -> Vec<Finding> {
    let mut findings = file.warnings.clone();
    for (at, node) in file.nodes.iter().enumerate() {
        let mut row = Row {
            line: node.line,
            name: node.id.to_string(),
            found: &mut findings,
        };
        words_of(file, at, &mut row);
        domain::check(file, node, &mut row);
        proof(node, &mut row);
        later(file, node, &mut row);
        repairs(node, &mut row);
        if let Some(exists) = exists {
            files(file, at, exists, &mut row);
        }
    }
    overlaps(file, &mut findings);
    between_domains(file, &mut findings);
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// A task that waits for work of a later stage: its own stage waits for it, and never ends.
fn later(file: &TaskFile, node: &Node, row: &mut Row<'_>) {
    let waits = node.depends_on.iter().map(|edge| &edge.on);
    let behind = waits.filter_map(|on| file.node(on));
    for other in behind.filter(|other| other.stage > node.stage) {
        let (id, stage, own) = (&other.id, other.stage, node.stage);
        let what = format!(
            "it waits for {id}, which belongs to stage {stage}, and stage {own} waits for it"
        );
        row.say("task_wait_circular", what);
    }
}

/// Fields with few words, and the definition of done.
fn words_of(file: &TaskFile, at: usize, row: &mut Row<'_>) {
    let Some(fields) = file.fields.get(at) else {
        return;
    };
    spelling("", fields.0.iter().map(|(name, _)| name), &OWN, row);
    let inner = fields.get("convergence").and_then(Value::as_object);
    let inner = inner.into_iter().flat_map(|said| said.keys());
    spelling("convergence.", inner, &OF_CONVERGENCE, row);
    row.word("type", &TYPES, fields.get("type"));
    row.word("effort", &EFFORTS, fields.get("effort"));
    let entries = fields.get("files").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        row.word("files.action", &ACTIONS, present(entry, "action"));
        row.word(
            "files.conflict_risk",
            Risk::WORDS,
            present(entry, "conflict_risk"),
        );
    }
    shared(fields, row);
    let done = fields
        .get("convergence")
        .and_then(|said| said.get("definition_of_done"));
    let done = done
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_lowercase();
    let tools: Vec<&str> = words(&done)
        .into_iter()
        .filter(|word| TOOLS.contains(word))
        .collect();
    if !tools.is_empty() {
        row.say(
            "task_done_technical",
            format!(
                "the definition of done speaks of `{}`; expected what somebody has from it",
                tools.join("`, `")
            ),
        );
    }
}

/// The domain, the risk, and the conflicts that somebody accepted.
fn shared(fields: &Fields, row: &mut Row<'_>) {
    row.text("domain", fields.get("domain"));
    row.word("conflict_risk", Risk::WORDS, fields.get("conflict_risk"));
    let expected = "a list of objects with `task`, `files` and `reason`";
    let accepts = row.items("accepts", expected, fields.get("accepts"));
    let odd = accepts.into_iter().flatten();
    if odd.filter(|one| fields::accepted(one).is_none()).count() > 0 {
        row.say(
            "task_field_type",
            format!("expected `accepts` as {expected}"),
        );
    }
}

/// Conflicts between the domains of a list. Cycles and ranges that meet are said where the list is read.
fn between_domains(file: &TaskFile, findings: &mut Vec<Finding>) {
    for conflict in conflicts(file) {
        let id = match conflict.kind {
            Kind::Strategy => "task_conflict_strategy",
            Kind::File if conflict.accepted.is_none() => "task_conflict_file",
            Kind::File | Kind::Cycle | Kind::Range | Kind::Twice => continue,
        };
        let mut said = found(id, conflict.line, conflict.words());
        said.fix = conflict.help;
        findings.push(said);
    }
}

/// A field that is known by another spelling: what was written there would count for nothing.
fn spelling<'n>(
    place: &str,
    names: impl Iterator<Item = &'n String>,
    known: &[&str],
    row: &mut Row<'_>,
) {
    for name in names {
        if let Some(meant) = misspelt(name, known) {
            // It was read as one that nobody knows.
            let (line, field) = (row.line, format!("`{place}{name}`"));
            row.found.retain(|one| {
                one.line != line || one.id != "task_field_unknown" || !one.message.contains(&field)
            });
            row.say(
                "task_field_misspelt",
                format!("expected the field `{place}{meant}`, found `{place}{name}`"),
            );
        }
    }
}

fn present<'v>(entry: &'v Value, field: &str) -> Option<&'v Value> {
    entry.get(field).filter(|value| !value.is_null())
}

/// Criteria and verification: what gates and runs rest on.
pub(super) fn proof(node: &Node, row: &mut Row<'_>) {
    // A decision takes values, a checkpoint a person's word, and a goal what its tasks prove.
    let is_work = node.kind == NodeKind::Work;
    match node.criteria.len() {
        0 if is_work => row.say(
            "task_criteria_missing",
            format!("expected 1 to {MAX_CRITERIA} criteria in `convergence.criteria`, found none"),
        ),
        n if n > MAX_CRITERIA => row.say(
            "task_criteria_many",
            format!("expected 1 to {MAX_CRITERIA} criteria in `convergence.criteria`, found {n}"),
        ),
        _ => {}
    }
    if node.kind == NodeKind::Goal && node.done_when.is_none() && node.criteria.is_empty() {
        row.say(
            "task_goal_open_ended",
            "expected what holds when the goal is met, in `done_when`, found nothing",
        );
    }
    for criterion in &node.criteria {
        if vague(criterion).is_some() {
            row.say(
                "task_criterion_vague",
                format!("expected a criterion that can be tested, found {criterion:?}"),
            );
        }
    }
    match &node.verification {
        None if is_work => row.say(
            "task_check_missing",
            format!("it has no check yet; expected `convergence.verification` as {FORMS}"),
        ),
        Some(Verification::Manual(what)) if vague(what).is_some() => row.say(
            "task_check_vague",
            format!("expected what a person has to look at, found {what:?}"),
        ),
        _ => {}
    }
}

/// Finds faults in the proof of what a fix inserts, which is work like every other.
fn repairs(node: &Node, row: &mut Row<'_>) {
    for inner in node.gate.iter().flat_map(|gate| &gate.repair) {
        let mut inside = Row {
            line: row.line,
            name: format!("{}, repair {}", row.name, inner.id),
            found: &mut *row.found,
        };
        proof(inner, &mut inside);
        repairs(inner, &mut inside);
    }
}

/// Files that are there, or not, against what is to be done to them.
fn files(file: &TaskFile, at: usize, exists: &dyn Fn(&str) -> bool, row: &mut Row<'_>) {
    let creates = |other: usize, path: &str| {
        let files = file.nodes.get(other).map_or(&[][..], |node| &node.files);
        files
            .iter()
            .any(|one| one.path == path && one.action.as_deref() == Some("create"))
    };
    let own = file.nodes.get(at).map_or(&[][..], |node| &node.files);
    for NodeFile { path, action, .. } in own {
        match action.as_deref() {
            Some("create") if exists(path) => row.say(
                "task_file_exists",
                format!("it creates `{path}`, which is there already"),
            ),
            Some("modify" | "delete" | "rename" | "read") if !exists(path) => {
                let is_made = file
                    .ancestors(at)
                    .into_iter()
                    .any(|other| creates(other, path));
                if !is_made {
                    row.say(
                        "task_file_missing",
                        format!("it changes `{path}`, which is not there, and no task before it creates it"),
                    );
                }
            }
            _ => {}
        }
    }
}

/// Tasks that touch one file, and could run at the same time.
fn overlaps(file: &TaskFile, findings: &mut Vec<Finding>) {
    let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, node) in file.nodes.iter().enumerate() {
        for NodeFile { path, action, .. } in &node.files {
            let touching = by_path.entry(path).or_default();
            if action.as_deref() != Some("read") && touching.last() != Some(&at) {
                touching.push(at);
            }
        }
    }
    by_path.retain(|_, touching| touching.len() > 1);
    if by_path.is_empty() {
        return;
    }
    let order = order(file);
    let mut said: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for (path, mut touching) in by_path {
        // Where each one comes before the next, all of them stand in a row.
        touching.sort_by_key(|at| order[*at]);
        for pair in touching.windows(2) {
            let [one, other] = [pair[0], pair[1]];
            if could_meet(file, one, other) {
                said.entry((one.min(other), one.max(other)))
                    .or_default()
                    .push(path);
            }
        }
    }
    for ((one, other), paths) in said {
        let [one, other] = [&file.nodes[one], &file.nodes[other]];
        let message = format!(
            "{} and {} (line {}) both touch `{}`, and could run side by side",
            other.id,
            one.id,
            one.line,
            paths.join("`, `")
        );
        findings.push(found("task_files_overlap", other.line, message));
    }
}

/// Tells whether nothing keeps two nodes, the first of which is earlier in the order, from running at once. Nodes of
/// two domains are a conflict of those.
fn could_meet(file: &TaskFile, one: usize, other: usize) -> bool {
    let [a, b] = [&file.nodes[one], &file.nodes[other]];
    let is_of_two_domains =
        a.domain().is_some() && b.domain().is_some() && a.domain() != b.domain();
    let is_apart = is_of_two_domains || !a.parallel || !b.parallel || a.shares(b).is_some();
    !is_apart && !file.ancestors(other).contains(&one)
}

/// The place of each node in an order in which every one stands behind those that it waits for, and otherwise as in
/// the file.
fn order(file: &TaskFile) -> Vec<usize> {
    let count = file.nodes.len();
    let before: Vec<Vec<usize>> = (0..count).map(|at| file.before(at).collect()).collect();
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, all) in before.iter().enumerate() {
        for one in all {
            after[*one].push(at);
        }
    }
    let mut free: BTreeSet<usize> = (0..count).filter(|at| waits[*at] == 0).collect();
    let mut order = vec![0; count];
    let mut place = 0;
    while let Some(at) = free.pop_first() {
        order[at] = place;
        place += 1;
        for next in &after[at] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                free.insert(*next);
            }
        }
    }
    order
}
