//! The fields of a task: their names, and how a node is made of them.

use super::finding::found;
use super::row::{Fields, Row};
use super::{gate, waits};
use crate::lease::MAX_LEASE;
use crate::policy::is_inside;
use crate::stage::Stage;
use crate::task::node::{
    Accepted, Details, Edge, Node, NodeFile, NodeKind, OnComplete, OnFailed, Part, Risk, Shared,
    Skilled, TaskId, Turn, Verification, is_thing,
};
use loopx_spec::Finding;
use serde_json::Value;

/// Fields that this program reads.
pub(super) const OWN: [&str; 38] = [
    "id",
    "title",
    "description",
    "kind",
    "type",
    "priority",
    "effort",
    "points",
    "scope",
    "role",
    "stage",
    "depends_on",
    "waits",
    "parent",
    "files",
    "scenarios",
    "convergence",
    "reads",
    "skill",
    "args",
    "outputs",
    "exclusive",
    "parallel",
    "cap",
    "time_limit",
    "revision_of",
    "gate",
    "done_when",
    "pipeline",
    "phase",
    "round",
    "work_limit",
    "grace",
    "on_failed",
    "on_complete",
    "domain",
    "conflict_risk",
    "accepts",
];

/// Fields of other tools' lists. They stay, and mean nothing here.
const OF_PEERS: [&str; 27] = [
    "_execution",
    "acceptance",
    "code_skeleton",
    "complexity",
    "context_from",
    "evidence",
    "executor",
    "implementation",
    "inputs",
    "meta",
    "modification_points",
    "parallel_group",
    "rationale",
    "reference",
    "risk",
    "risks",
    "sizing",
    "source",
    "status",
    "status_history",
    "tags",
    "test",
    "updated_at",
    "created_at",
    "details",
    "complexityScore",
    "wave",
];

pub(super) const OF_CONVERGENCE: [&str; 3] = ["criteria", "verification", "definition_of_done"];
const OF_FILE: [&str; 9] = [
    "path",
    "action",
    "changes",
    "change",
    "conflict_risk",
    "target",
    "description",
    "line",
    "symbols",
];

/// The words of `stage`.
pub const STAGES: [&str; 5] = ["clarify", "plan", "build", "review", "done"];
pub(super) const PRIORITIES: [(&str, u32); 5] = [
    ("critical", 0),
    ("high", 1),
    ("medium", 2),
    ("low", 3),
    ("backlog", 4),
];

/// The words of `priority`, the first one first.
pub fn priorities() -> [&'static str; 5] {
    PRIORITIES.map(|(word, _)| word)
}

/// Tells whether a field of this name says something to the rules.
pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// The node that the fields of a line make; `None` where not even its id can be read.
pub(super) fn node(fields: &Fields, line: usize, findings: &mut Vec<Finding>) -> Option<Node> {
    let id = id(fields, line, findings)?;
    let mut row = Row {
        line,
        name: id.to_string(),
        found: findings,
    };
    let row = &mut row;
    let known: Vec<&str> = OWN.iter().chain(&OF_PEERS).copied().collect();
    row.names("", fields.0.iter().map(|(name, _)| name), &known);
    let title = row.text("title", fields.get("title")).unwrap_or_default();
    if title.trim().is_empty() && fields.get("title").is_none_or(serde_json::Value::is_string) {
        row.say("task_field_missing", "it has no title");
    }
    let (criteria, verification) = convergence(fields.get("convergence"), row);
    let kind = kind(fields.get("kind"), row);
    let stage = stage(fields.get("stage"), row);
    let depends_on = depends_on(fields.get("depends_on"), row);
    let (required, deferred) = reads(fields.get("reads"), row);
    row.count("points", fields.get("points"));
    let (gate, depends_on) = gate::of(fields.get("gate"), kind, stage, depends_on, row);
    let details = Details {
        description: row
            .text("description", fields.get("description"))
            .unwrap_or_default(),
        work: row.text("type", fields.get("type")),
        files: files(fields.get("files"), row),
        criteria,
        verification,
        done_when: row.text("done_when", fields.get("done_when")),
    };
    Some(Node {
        title,
        kind,
        priority: priority(fields.get("priority"), row),
        role: row.text("role", fields.get("role")),
        stage,
        depends_on,
        waits: waits::of(fields.get("waits"), row),
        parent: other("parent", fields.get("parent"), row),
        shared: shared(fields),
        scenarios: row.texts("scenarios", fields.get("scenarios")),
        reads: required,
        deferred,
        skill: skill(fields, row),
        outputs: paths("outputs", fields.get("outputs"), row),
        exclusive: things(fields.get("exclusive"), row),
        parallel: row.flag("parallel", fields.get("parallel")).unwrap_or(true),
        cap: row
            .count("cap", fields.get("cap"))
            .map_or(Node::CAP, |cap| u32::try_from(cap).unwrap_or(u32::MAX)),
        time_limit: row.count("time_limit", fields.get("time_limit")),
        turn: turn(fields, row),
        on_failed: row
            .word("on_failed", OnFailed::WORDS, fields.get("on_failed"))
            .and_then(|word| word.parse().ok())
            .unwrap_or(OnFailed::Hold),
        part: part(fields, row),
        revision_of: other("revision_of", fields.get("revision_of"), row),
        gate,
        line,
        details: details.into(),
        id,
    })
}

fn id(fields: &Fields, line: usize, findings: &mut Vec<Finding>) -> Option<TaskId> {
    let (id, message) = match fields.get("id") {
        None => ("task_field_missing", "the task has no `id`".to_owned()),
        Some(Value::String(text)) => match TaskId::parse(text) {
            Some(id) => return Some(id),
            None => (
                "task_id_invalid",
                format!(
                    "expected an id of letters, digits, `-`, `_`, `.` (at most {}), found {text:?}",
                    TaskId::MAX
                ),
            ),
        },
        Some(other) => (
            "task_field_type",
            format!("expected `id` as a string, found {other}"),
        ),
    };
    findings.push(found(id, line, message));
    None
}

fn kind(value: Option<&Value>, row: &mut Row<'_>) -> NodeKind {
    let word = row.word("kind", NodeKind::WORDS, value);
    word.and_then(|word| word.parse().ok())
        .unwrap_or(NodeKind::Work)
}

fn stage(value: Option<&Value>, row: &mut Row<'_>) -> Stage {
    let word = row.word("stage", &STAGES, value);
    word.and_then(|word| word.parse().ok())
        .unwrap_or(Stage::Build)
}

/// Time for which somebody may have the node. A time to finish does not stand alone.
fn turn(fields: &Fields, row: &mut Row<'_>) -> Option<Turn> {
    let limit = row.count("work_limit", fields.get("work_limit"));
    let grace = row.count("grace", fields.get("grace"));
    if limit.is_none() && grace.is_some() {
        row.say("task_field_missing", "`grace` without `work_limit`");
    }
    let seconds = |count: u64| u32::try_from(count).ok().filter(|one| *one <= MAX_LEASE);
    let bounded = |field: &str, count: Option<u64>, row: &mut Row<'_>| {
        let known = count.and_then(seconds);
        if let (Some(count), None) = (count, known) {
            let most = format!("expected `{field}` of at most {MAX_LEASE}, found {count}");
            row.say("task_field_type", most);
        }
        known
    };
    let limit = bounded("work_limit", limit, row)?;
    let grace = bounded("grace", grace, row).unwrap_or(Turn::GRACE);
    Some(Turn { limit, grace })
}

/// Pipeline that made the node. A phase or a round without one is kept, and means nothing.
fn part(fields: &Fields, row: &mut Row<'_>) -> Option<Box<Part>> {
    let pipeline = row.text("pipeline", fields.get("pipeline"));
    let phase = row.text("phase", fields.get("phase"));
    let round = row.count("round", fields.get("round"));
    let on_complete = row.word("on_complete", OnComplete::WORDS, fields.get("on_complete"));
    let on_complete = on_complete.and_then(|word| word.parse().ok());
    pipeline.map(|pipeline| {
        Box::new(Part {
            pipeline,
            on_complete: on_complete.unwrap_or(OnComplete::Interactive),
            phase,
            round,
        })
    })
}

fn priority(value: Option<&Value>, row: &mut Row<'_>) -> u32 {
    match value {
        None => Node::PRIORITY,
        Some(Value::String(text)) => {
            let known = PRIORITIES.iter().find(|(word, _)| word == text);
            if known.is_none() {
                row.unknown_word("priority", &PRIORITIES.map(|(word, _)| word), text);
            }
            known.map_or(Node::PRIORITY, |(_, number)| *number)
        }
        Some(value) => match value.as_u64() {
            Some(number @ 0..=4) => u32::try_from(number).unwrap_or(Node::PRIORITY),
            _ => {
                row.say(
                    "task_word_unknown",
                    format!(
                        "expected `priority` as 0 (first) to 4, or {}, found {value}",
                        PRIORITIES.map(|(word, _)| word).join(", ")
                    ),
                );
                Node::PRIORITY
            }
        },
    }
}

pub(super) fn named(field: &str, text: &str, row: &mut Row<'_>) -> Option<TaskId> {
    let id = TaskId::parse(text);
    if id.is_none() {
        row.say(
            "task_id_invalid",
            format!("expected an id in `{field}`, found {text:?}"),
        );
    }
    id
}

fn other(field: &str, value: Option<&Value>, row: &mut Row<'_>) -> Option<TaskId> {
    let text = row.text(field, value)?;
    named(field, &text, row)
}

/// Ids, or objects that say more of an edge: `{"id":"TASK-001","optional":true}`.
fn depends_on(value: Option<&Value>, row: &mut Row<'_>) -> Vec<Edge> {
    let expected = "a list of ids";
    let Some(items) = row.items("depends_on", expected, value) else {
        return Vec::new();
    };
    let mut edges = Vec::new();
    for item in items {
        let (text, optional) = match item {
            Value::String(text) => (Some(text.clone()), false),
            Value::Object(edge) => {
                row.names("depends_on.", edge.keys(), &["id", "optional"]);
                let optional = row.flag("depends_on.optional", edge.get("optional"));
                let text = row.text("depends_on.id", edge.get("id"));
                if !edge.contains_key("id") {
                    row.say("task_field_missing", "an edge of `depends_on` has no `id`");
                }
                (text, optional.unwrap_or(false))
            }
            other => {
                row.items("depends_on", expected, Some(other));
                (None, false)
            }
        };
        let on = text.and_then(|text| named("depends_on", &text, row));
        edges.extend(on.map(|on| Edge { on, optional }));
    }
    edges
}

fn files(value: Option<&Value>, row: &mut Row<'_>) -> Vec<NodeFile> {
    let expected = "a list of paths";
    let Some(items) = row.items("files", expected, value) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for item in items {
        let (path, action, risk) = match item {
            Value::String(path) => (Some(path.clone()), None, None),
            Value::Object(file) => {
                row.names("files.", file.keys(), &OF_FILE);
                let action = row.text("files.action", file.get("action"));
                if !file.contains_key("path") {
                    row.say("task_field_missing", "a file of `files` has no `path`");
                }
                let risk = file.get("conflict_risk").and_then(risk_of);
                (row.text("files.path", file.get("path")), action, risk)
            }
            other => {
                row.items("files", expected, Some(other));
                (None, None, None)
            }
        };
        let Some(path) = path else { continue };
        inside(&path, row);
        files.push(NodeFile { path, action, risk });
    }
    files
}

/// The risk that a value says; what is no word of it is said by [`super::check`].
fn risk_of(value: &Value) -> Option<Risk> {
    value.as_str()?.parse().ok()
}

/// The domain, the risk and the accepted conflicts. A list that was approved before they meant anything stays readable:
/// what is wrong with them is said by [`super::check`].
fn shared(fields: &Fields) -> Option<Box<Shared>> {
    let domain = fields.get("domain").and_then(Value::as_str);
    let accepts = fields.get("accepts").and_then(Value::as_array);
    let shared = Shared {
        domain: domain.map(str::to_owned),
        risk: fields.get("conflict_risk").and_then(risk_of),
        accepts: accepts.into_iter().flatten().filter_map(accepted).collect(),
    };
    (shared != Shared::default()).then(|| Box::new(shared))
}

/// A conflict that somebody accepted; nothing where it does not say which, in what, and why.
pub(super) fn accepted(value: &Value) -> Option<Accepted> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let files = value.get("files").and_then(Value::as_array)?;
    let files = files.iter().map(|file| file.as_str().map(str::to_owned));
    let reason = text("reason").filter(|reason| !reason.trim().is_empty())?;
    Some(Accepted {
        task: text("task").and_then(TaskId::parse)?,
        files: files.collect::<Option<_>>()?,
        reason: reason.to_owned(),
    })
}

/// Names of things that only one task can have.
fn things(value: Option<&Value>, row: &mut Row<'_>) -> Vec<String> {
    let names = row.texts("exclusive", value);
    for name in names.iter().filter(|name| !is_thing(name)) {
        row.say(
            "task_field_type",
            format!("expected `exclusive` as names without control characters, found {name:?}"),
        );
    }
    names
}

fn paths(field: &str, value: Option<&Value>, row: &mut Row<'_>) -> Vec<String> {
    let paths = row.texts(field, value);
    for path in &paths {
        inside(path, row);
    }
    paths
}

fn inside(path: &str, row: &mut Row<'_>) {
    if !is_inside(path) {
        row.say(
            "task_path_outside",
            format!(
                "it names `{path}`, which is not inside the repository; expected a path from its top, like src/main.rs"
            ),
        );
    }
}

/// Required reading, and reading that may wait.
fn reads(value: Option<&Value>, row: &mut Row<'_>) -> (Vec<String>, Vec<String>) {
    match value {
        Some(Value::Object(reads)) => {
            row.names("reads.", reads.keys(), &["required", "deferred"]);
            let deferred = row.texts("reads.deferred", reads.get("deferred"));
            (row.texts("reads.required", reads.get("required")), deferred)
        }
        other => (row.texts("reads", other), Vec::new()),
    }
}

/// Skill by which the node is done. Words behind its name are the first of its arguments; what is neither a text nor a
/// list of texts is given to it as it is written.
fn skill(fields: &Fields, row: &mut Row<'_>) -> Option<Box<Skilled>> {
    let said = row.text("skill", fields.get("skill"))?;
    let (name, first) = crate::skill::named(&said);
    if name.is_empty() {
        return None;
    }
    let args = match fields.get("args") {
        None => String::new(),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Array(all)) if all.iter().all(Value::is_string) => {
            let words = all.iter().filter_map(Value::as_str);
            let words: Vec<String> = words.map(argument).collect();
            words.join(" ")
        }
        Some(other) => other.to_string(),
    };
    let args = format!("{first} {args}").trim().to_owned();
    Some(Box::new(Skilled {
        name: name.to_owned(),
        args,
    }))
}

/// A word of a list of arguments; one that has a placeholder stays as it is, to be filled in.
fn argument(word: &str) -> String {
    if word.contains('{') {
        word.to_owned()
    } else {
        loopx_base::shell_word(word)
    }
}

fn convergence(value: Option<&Value>, row: &mut Row<'_>) -> (Vec<String>, Option<Verification>) {
    match value {
        None => (Vec::new(), None),
        Some(Value::Object(said)) => {
            row.names("convergence.", said.keys(), &OF_CONVERGENCE);
            let done = "convergence.definition_of_done";
            row.text(done, said.get("definition_of_done"));
            let criteria = row.texts("convergence.criteria", said.get("criteria"));
            (criteria, verification(said.get("verification"), row))
        }
        Some(other) => {
            row.wrong(
                "convergence",
                "an object with `criteria` and `verification`",
                other,
            );
            (Vec::new(), None)
        }
    }
}

fn verification(value: Option<&Value>, row: &mut Row<'_>) -> Option<Verification> {
    let field = "convergence.verification";
    let said = match value? {
        Value::Null => return None,
        Value::Object(said) => said,
        Value::String(text) => return sentence(text, row),
        _ => {
            row.say("task_field_type", format!("expected `{field}` as {FORMS}"));
            return None;
        }
    };
    row.names("convergence.verification.", said.keys(), &["cmd", "manual"]);
    match (said.get("cmd"), said.get("manual")) {
        (Some(cmd), None) => {
            let argv = row.texts("convergence.verification.cmd", Some(cmd));
            let is_said = argv.first().is_some_and(|word| !word.trim().is_empty());
            is_said.then_some(Verification::Cmd(argv))
        }
        (None, Some(manual)) => {
            let what = row.text("convergence.verification.manual", Some(manual))?;
            (!what.trim().is_empty()).then_some(Verification::Manual(what))
        }
        (Some(_), Some(_)) => {
            row.say(
                "task_field_type",
                format!("`{field}` has both `cmd` and `manual`; expected one"),
            );
            None
        }
        (None, None) => None,
    }
}

/// Forms in which a check is written.
pub(super) const FORMS: &str = r#"{"cmd":["cargo","test"]} or {"manual":"what to look at"}"#;

/// A sentence says what it is with its first word; which command another one means is nobody's guess.
fn sentence(text: &str, row: &mut Row<'_>) -> Option<Verification> {
    match said(text) {
        Some(verification) => Some(verification),
        None => {
            row.say(
                "task_field_type",
                format!(
                    "expected `convergence.verification` as {FORMS}, found the sentence {text:?}"
                ),
            );
            None
        }
    }
}

/// Reads `cmd: WORD WORD` and `manual: WHAT`. A command that a shell would have to read is none.
pub fn said(text: &str) -> Option<Verification> {
    let (form, rest) = text.split_once(':')?;
    let rest = rest.trim();
    match form.trim() {
        _ if rest.is_empty() => None,
        "manual" => Some(Verification::Manual(rest.to_owned())),
        "cmd" if !rest.contains(['"', '\'', '`', '$', '|', '&', ';', '<', '>', '*', '\\', '(']) => {
            let words = rest.split_whitespace().map(str::to_owned);
            Some(Verification::Cmd(words.collect()))
        }
        _ => None,
    }
}
