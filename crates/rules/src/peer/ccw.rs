//! Team sessions of ccw: TLS (one state file), TLV4 (one `tasks.json`) and TC (roles of their own), validated in the
//! order of reference/knowledge-and-issues.md, S25: the first component that fails stops, and is named.

use super::ccw_session::{self, ACTIVE, ARCHIVES, PROJECT};
use super::json::{Object, at, machine_free, parse};
use super::messages::{self, WISDOM};
use super::{Fault, Files, Found, Taken, Tool, counted_remark, day, intent, text};
use crate::artifact::Artifact;
use crate::role::lint;
use crate::task::import::{Draft, no_check};
use loopx_base::failure::Code;
use loopx_spec::Severity;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const FOLDERS: [&str; 4] = [".team", ACTIVE, ARCHIVES, PROJECT];

const SESSION: Code = Code::ImportSessionInvalid;
const ANALYSIS: Code = Code::ImportAnalysisInvalid;
const ROLE: Code = Code::ImportRoleInvalid;

const STATUS: [&str; 6] = [
    "pending",
    "in_progress",
    "completed",
    "failed",
    "skipped",
    "timed_out",
];

pub(super) fn read(files: &Files, faults: &mut Vec<Fault>) -> Found {
    let mut found = Found::default();
    let mut used = BTreeSet::new();
    let ids: BTreeSet<&str> = files
        .keys()
        .filter_map(|path| path.strip_prefix(".team/")?.split_once('/'))
        .map(|(id, _)| id)
        .collect();
    for id in ids {
        let lower = id.to_ascii_lowercase();
        // What is wrong with one session says nothing of the next.
        let mut own = Vec::new();
        let taken = match lower.split('-').next() {
            Some("tls") => lifecycle(files, id, &mut own),
            Some("tlv4") => fourth(files, id, &mut own),
            Some("tc") => roles(files, id, &mut own),
            _ => None,
        };
        faults.extend(own);
        if let Some(taken) = taken {
            used.extend(taken.files.keys().cloned());
            found.sessions.push(taken);
        }
    }
    ccw_session::sessions(files, &mut found, &mut used, faults);
    ccw_session::project(files, &mut found, &mut used, faults);
    found.left = files
        .keys()
        .filter(|path| !used.contains(*path))
        .cloned()
        .collect();
    found
}

/// A task as all three forms have it.
struct Task<'v> {
    id: &'v str,
    title: &'v str,
    description: Option<&'v str>,
    role: Option<&'v str>,
    on: Vec<String>,
    status: &'v str,
    revision_of: Option<&'v str>,
    /// What follows waits for a person.
    checkpoint: bool,
    whole: Value,
    at: String,
}

/// A JSON file of a session: there, sound, an object.
fn document(files: &Files, path: &str, code: Code, faults: &mut Vec<Fault>) -> Option<Value> {
    if !files.contains_key(path) {
        faults.push(Fault {
            code,
            at: path.to_owned(),
            message: "expected the file, found none".to_owned(),
        });
        return None;
    }
    let value = parse(text(files, path, faults)?, path, code, faults)?;
    Object::of(&value, path, "", code, faults)?;
    Some(value)
}

fn begin(files: &Files, id: &str) -> Taken {
    let folder = format!(".team/{id}");
    let mut taken = Taken {
        folder: folder.clone(),
        name: id.to_owned(),
        ..Taken::default()
    };
    let in_folder = format!("{folder}/");
    for (path, bytes) in files
        .iter()
        .filter(|(path, _)| path.starts_with(&in_folder))
    {
        taken.keep(path, bytes);
    }
    taken
}

/// Makes the session of what all forms have.
fn finish(
    files: &Files,
    id: &str,
    state: Object<'_>,
    request: &str,
    tasks: &[Task<'_>],
    faults: &mut Vec<Fault>,
) -> Option<Taken> {
    let mut taken = begin(files, id);
    let path = state.file.to_owned();
    // What waits for a task with a checkpoint behind it waits for the checkpoint.
    let gate = |on: &String| {
        let held = tasks.iter().any(|task| task.checkpoint && task.id == on);
        if held {
            format!("CHECKPOINT-{on}")
        } else {
            on.clone()
        }
    };
    let mut lines = Vec::new();
    let mut places = Vec::new();
    for task in tasks {
        let mut draft = Draft::default();
        draft.put("id", &json!(task.id));
        draft.put("title", &json!(task.title));
        draft.some("description", task.description.map(Value::from).as_ref());
        draft.some("role", task.role.map(Value::from).as_ref());
        let on: Vec<String> = task.on.iter().map(gate).collect();
        draft.some("depends_on", Some(&json!(on)));
        draft.some("revision_of", task.revision_of.map(Value::from).as_ref());
        draft.put(
            "convergence",
            &json!({"criteria": [], "verification": no_check()}),
        );
        draft.put("status", &json!(task.status));
        draft.put(
            "source",
            &json!({"tool": "ccw", "session_id": id, "original_id": task.id, "task": machine_free(&task.whole)}),
        );
        lines.push(draft.line());
        places.push(task.at.clone());
        if task.checkpoint {
            let mut draft = Draft::default();
            draft.put("id", &json!(format!("CHECKPOINT-{}", task.id)));
            draft.put("title", &json!(format!("Go on after {}", task.id)));
            draft.put("kind", &json!("checkpoint"));
            draft.put("depends_on", &json!([task.id]));
            lines.push(draft.line());
            places.push(task.at.clone());
        }
    }
    taken.list(&lines, &places, faults);
    if !faults.is_empty() {
        // The list is the graph.
        faults.iter_mut().for_each(|fault| fault.code = ANALYSIS);
        return None;
    }
    let done = tasks
        .iter()
        .filter(|task| task.status == "completed")
        .count();
    let status = state.text("status").unwrap_or("active");
    taken.stood = format!("{status}, {done} of {} tasks done", tasks.len());
    counted_remark(
        &mut taken,
        &path,
        done,
        tasks.len(),
        "tasks were called done there; here each is done when its check has passed, or is skipped with a reason",
    );
    taken.created = day(state.text("created_at").or(state.text("started_at")));
    if status == "completed" {
        let end = state.text("completed_at").or(state.text("updated_at"));
        taken.ended = Some(day(end));
    }
    taken.title = request
        .trim()
        .lines()
        .next()
        .unwrap_or(id)
        .chars()
        .take(120)
        .collect();
    let text = intent(Tool::Ccw, request, &taken.folder, &[]);
    taken.artifacts.insert(Artifact::Intent, text);
    for agents in ["active_agents", "active_workers"] {
        let all = match state.get(agents) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(fields)) => fields.len(),
            _ => 0,
        };
        counted_remark(
            &mut taken,
            &path,
            all,
            all,
            "workers hold nothing here: take the task anew",
        );
    }
    let fields = [
        "revision_chains",
        "gc_loop_count",
        "gc_rounds",
        "checkpoints_hit",
        "supervision",
        "completed_waves",
        "completion_action",
    ];
    for field in fields {
        if let Some(value) = state.get(field) {
            taken.remark(
                at(&path, field),
                format!("{value} has no counterpart in a session, and is kept in imported/"),
            );
        }
    }
    let judged = tasks.iter().filter(|task| {
        let has = |field: &str| task.whole.get(field).is_some_and(|value| !value.is_null());
        has("discuss_verdict") || has("supervision_verdict")
    });
    let judged = judged.count();
    counted_remark(
        &mut taken,
        &path,
        judged,
        tasks.len(),
        "tasks have a verdict, which counts for nothing here",
    );
    wisdom(files, id, &mut taken, faults);
    messages(files, id, &mut taken, faults);
    Some(taken)
}

fn wisdom(files: &Files, id: &str, taken: &mut Taken, faults: &mut Vec<Fault>) {
    for (name, _) in WISDOM {
        let file = format!("{name}.md");
        let path = format!("{}/wisdom/{file}", taken.folder);
        let Some(text) = text(files, &path, faults) else {
            continue;
        };
        for one in messages::wisdom(text, id, &file) {
            taken.say(one.said);
        }
    }
}

/// The log of messages. A line that was torn says nothing of the others.
fn messages(files: &Files, id: &str, taken: &mut Taken, faults: &mut Vec<Fault>) {
    let path = format!("{}/.msg/messages.jsonl", taken.folder);
    let Some(text) = text(files, &path, faults) else {
        return;
    };
    let mut torn = Vec::new();
    for one in messages::messages(text, id, &path, &mut torn) {
        taken.say(one.said);
    }
    for fault in torn {
        let what = format!("{}; it is kept in imported/ alone", fault.message);
        taken.remark(fault.at, what);
    }
}

/// TLS: one state file with its pipeline.
fn lifecycle(files: &Files, id: &str, faults: &mut Vec<Fault>) -> Option<Taken> {
    let path = format!(".team/{id}/team-session.json");
    let value = document(files, &path, SESSION, faults)?;
    let state = Object::of(&value, &path, "", SESSION, faults)?;
    state.need("session_id", "", faults);
    state.need_word("status", &["active", "paused", "completed"], "", faults);
    state.need("mode", "", faults);
    let all = state.need_list("pipeline", "", faults);
    let all = all.filter(|_| faults.is_empty())?;
    let mut tasks = Vec::new();
    for (number, value) in all.iter().enumerate() {
        let place = format!("pipeline[{number}]");
        let Some(task) = Object::of(value, &path, &place, ANALYSIS, faults) else {
            continue;
        };
        let (Some(own), Some(owner), Some(status)) = (
            task.need("id", &place, faults),
            task.need("owner", &place, faults),
            task.need_word("status", &STATUS, &place, faults),
        ) else {
            continue;
        };
        tasks.push(Task {
            id: own,
            title: task
                .text("description")
                .and_then(|text| text.lines().next())
                .unwrap_or(own),
            description: task.text("description"),
            role: Some(owner),
            on: task.texts("blocked_by"),
            status,
            revision_of: task.text("revision_of"),
            checkpoint: task.get("is_checkpoint_after").and_then(Value::as_bool) == Some(true),
            whole: value.clone(),
            at: at(&path, &place),
        });
    }
    counted(state, "tasks_total", tasks.len(), faults);
    if !faults.is_empty() {
        return None;
    }
    let request = state
        .text("raw_input")
        .or(state.text("scope"))
        .unwrap_or(id);
    finish(files, id, state, request, &tasks, faults)
}

/// A number that says how many tasks there are.
fn counted(state: Object<'_>, field: &str, found: usize, faults: &mut Vec<Fault>) {
    let Some(said) = state.get(field).and_then(Value::as_u64) else {
        return;
    };
    if usize::try_from(said).ok() != Some(found) {
        faults.push(Fault {
            code: ANALYSIS,
            at: at(state.file, field),
            message: format!("expected {said} tasks, found {found}"),
        });
    }
}

/// TLV4: one `tasks.json`, with a discovery beside each task that is done.
fn fourth(files: &Files, id: &str, faults: &mut Vec<Fault>) -> Option<Taken> {
    let path = format!(".team/{id}/tasks.json");
    let value = document(files, &path, SESSION, faults)?;
    let state = Object::of(&value, &path, "", SESSION, faults)?;
    state.need("session_id", "", faults);
    let request = state.need("requirement", "", faults);
    let all = state.get("tasks").and_then(Value::as_object);
    if all.is_none() {
        faults.push(Fault {
            code: SESSION,
            at: path.clone(),
            message: "expected `tasks` as an object".to_owned(),
        });
    }
    let all = all.filter(|_| faults.is_empty())?;
    let mut tasks = Vec::new();
    let wave = |value: &Value| value.get("wave").and_then(Value::as_u64).unwrap_or(0);
    for (own, value) in all {
        let place = format!("tasks.{own}");
        let Some(task) = Object::of(value, &path, &place, ANALYSIS, faults) else {
            continue;
        };
        let (Some(title), Some(status)) = (
            task.need("title", &place, faults),
            task.need_word("status", &STATUS, &place, faults),
        ) else {
            continue;
        };
        let on = task.texts("deps");
        for other in on.iter().chain(&task.texts("context_from")) {
            if !all.contains_key(other) {
                let message = format!("it names `{other}`, which does not exist");
                faults.push(Fault {
                    code: ANALYSIS,
                    at: at(&path, &place),
                    message,
                });
            }
        }
        for other in &on {
            if all
                .get(other)
                .is_some_and(|other| wave(other) >= wave(value))
            {
                let message = format!(
                    "expected a wave after that of `{other}`, found {}",
                    wave(value)
                );
                faults.push(Fault {
                    code: ANALYSIS,
                    at: at(&path, &place),
                    message,
                });
            }
        }
        tasks.push(Task {
            id: own,
            title,
            description: task.text("description"),
            role: task.text("role"),
            on,
            status,
            revision_of: None,
            checkpoint: false,
            whole: value.clone(),
            at: at(&path, &place),
        });
    }
    if !faults.is_empty() {
        return None;
    }
    for task in &tasks {
        let task_of = Object::of(&task.whole, &path, "", ROLE, faults)?;
        let place = format!("tasks.{}", task.id);
        task_of.need("role", &place, faults);
    }
    if !faults.is_empty() {
        return None;
    }
    for task in &tasks {
        let task_of = Object::of(&task.whole, &path, "", SESSION, faults)?;
        let place = format!("tasks.{}", task.id);
        match task.status {
            "completed" => {
                task_of.need("findings", &place, faults);
                document(
                    files,
                    &format!(".team/{id}/discoveries/{}.json", task.id),
                    SESSION,
                    faults,
                );
            }
            "failed" | "skipped" => drop(task_of.need("error", &place, faults)),
            _ => {}
        }
    }
    if !faults.is_empty() {
        return None;
    }
    tasks.sort_by_key(|task| (wave(&task.whole), task.id));
    finish(files, id, state, request?, &tasks, faults)
}

/// TC: roles of their own.
fn roles(files: &Files, id: &str, faults: &mut Vec<Fault>) -> Option<Taken> {
    let path = format!(".team/{id}/team-session.json");
    let value = document(files, &path, SESSION, faults)?;
    let state = Object::of(&value, &path, "", SESSION, faults)?;
    state.need("session_id", "", faults);
    let request = state.need("task_description", "", faults);
    state.need_word("status", &["active", "paused", "completed"], "", faults);
    state.need("team_name", "", faults);
    let all = state.need_list("roles", "", faults).unwrap_or_default();
    if all.is_empty() && faults.is_empty() {
        faults.push(Fault {
            code: SESSION,
            at: at(&path, "roles"),
            message: "expected a role, found none".to_owned(),
        });
    }
    let mut specs = Vec::new();
    for (number, value) in all.iter().enumerate() {
        let place = format!("roles[{number}]");
        let Some(role) = Object::of(value, &path, &place, SESSION, faults) else {
            continue;
        };
        let name = role.need("name", &place, faults);
        role.need("prefix", &place, faults);
        let spec = role.need("role_spec", &place, faults);
        specs.extend(
            name.zip(spec)
                .map(|(name, spec)| (name, spec, at(&path, &place))),
        );
    }
    if !faults.is_empty() {
        return None;
    }
    let analysis_at = format!(".team/{id}/task-analysis.json");
    let analysis_value = document(files, &analysis_at, ANALYSIS, faults)?;
    let analysis = Object::of(&analysis_value, &analysis_at, "", ANALYSIS, faults)?;
    analysis.need_list("capabilities", "", faults);
    analysis.need_list("roles", "", faults);
    let graph = analysis.get("dependency_graph").and_then(Value::as_object);
    if graph.is_none() {
        faults.push(Fault {
            code: ANALYSIS,
            at: analysis_at.clone(),
            message: "expected `dependency_graph` as an object".to_owned(),
        });
    }
    let graph = graph.filter(|_| faults.is_empty())?;
    let folder = format!(".team/{id}/role-specs");
    let in_folder = format!("{folder}/");
    if !files.keys().any(|path| path.starts_with(&in_folder)) {
        let message = "expected a file for each role, found none".to_owned();
        faults.push(Fault {
            code: ROLE,
            at: folder,
            message,
        });
        return None;
    }
    let file_of = |spec: &str| {
        format!(
            "{in_folder}{}",
            spec.rsplit(['/', '\\']).next().unwrap_or(spec)
        )
    };
    for (name, spec, place) in &specs {
        let file = file_of(spec);
        if !files.contains_key(&file) {
            let message = format!("expected the role `{name}` in {file}, found no file");
            faults.push(Fault {
                code: ROLE,
                at: place.clone(),
                message,
            });
        }
    }
    if !faults.is_empty() {
        return None;
    }
    for (name, spec, _) in &specs {
        let file = file_of(spec);
        let Some(text) = text(files, &file, faults) else {
            continue;
        };
        for one in lint(name, &file, text) {
            if one.severity == Severity::Error {
                let at = format!("{file}:{}", one.line);
                faults.push(Fault {
                    code: ROLE,
                    at,
                    message: one.message,
                });
            }
        }
    }
    if !faults.is_empty() {
        return None;
    }
    let ended = state.texts("completed_tasks");
    let listed: BTreeMap<&str, &Value> = analysis
        .list("tasks")
        .iter()
        .filter_map(|task| Some((task.get("id")?.as_str()?, task)))
        .collect();
    let mut tasks = Vec::new();
    for (own, value) in graph {
        let on = value.get("depends_on").unwrap_or(value).as_array();
        let on = on.map(Vec::as_slice).unwrap_or_default();
        let listed = listed.get(own.as_str());
        let of = |field: &str| listed.and_then(|task| task.get(field)?.as_str());
        let prefix = own
            .rsplit_once('-')
            .map_or(own.as_str(), |(prefix, _)| prefix);
        let by_prefix = all
            .iter()
            .find(|role| role.get("prefix").and_then(Value::as_str) == Some(prefix));
        let role = value.get("role").and_then(Value::as_str);
        let role = role
            .or(of("owner"))
            .or(by_prefix.and_then(|role| role.get("name")?.as_str()));
        tasks.push(Task {
            id: own,
            title: of("subject").unwrap_or(own),
            description: None,
            role,
            on: on
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            status: if ended.contains(own) {
                "completed"
            } else {
                "pending"
            },
            revision_of: None,
            checkpoint: false,
            whole: json!({"graph": value, "task": listed}),
            at: at(&analysis_at, &format!("dependency_graph.{own}")),
        });
    }
    finish(files, id, state, request?, &tasks, faults)
}
