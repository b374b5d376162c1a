//! Team sessions of ccw: TLS (one state file), TLV4 (one `tasks.json`) and TC (roles of their own), validated in the
//! order of reference/knowledge-and-issues.md, S25: the first component that fails stops, and is named.

use super::ccw_session::{self, ACTIVE, ARCHIVES, PROJECT};
use super::json::{Object, at, machine_free, parse};
use super::messages::{self, WISDOM};
use super::{Fault, Files, Found, Taken, Tool, counted_remark, day, intent, no_counterpart, text};
use crate::artifact::Artifact;
use crate::role::lint;
use crate::task::import::{Draft, no_check};
use loopx_base::failure::Code;
use loopx_spec::Severity;
use serde_json::{Map, Value, json};
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
    /// Set when the tasks that follow wait for a person.
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
    let (mut lines, mut places) = (Vec::new(), Vec::new());
    for task in tasks {
        let checkpoint = task.checkpoint.then(|| task.checkpoint_line());
        for line in [Some(task.line(id, tasks)), checkpoint]
            .into_iter()
            .flatten()
        {
            lines.push(line);
            places.push(task.at.clone());
        }
    }
    taken.list(&lines, &places, faults);
    if !faults.is_empty() {
        // The list is the graph.
        faults.iter_mut().for_each(|fault| fault.code = ANALYSIS);
        return None;
    }
    progress(state, tasks, &mut taken);
    taken.title = request
        .trim()
        .lines()
        .next()
        .unwrap_or(id)
        .chars()
        .take(120)
        .collect();
    let text = intent(Tool::Ccw, request, &taken.folder);
    taken.artifacts.insert(Artifact::Intent, text);
    lost(state, tasks, &mut taken);
    wisdom(files, id, &mut taken, faults);
    messages(files, id, &mut taken, faults);
    Some(taken)
}

impl Task<'_> {
    /// The task as a line of the list. What waits for a task with a checkpoint behind it waits for the checkpoint.
    fn line(&self, session: &str, all: &[Task<'_>]) -> String {
        let gate = |on: &String| {
            let held = all.iter().any(|task| task.checkpoint && task.id == on);
            if held {
                format!("CHECKPOINT-{on}")
            } else {
                on.clone()
            }
        };
        let mut draft = Draft::default();
        draft.put("id", &json!(self.id));
        draft.put("title", &json!(self.title));
        draft.some("description", self.description.map(Value::from).as_ref());
        draft.some("role", self.role.map(Value::from).as_ref());
        let on: Vec<String> = self.on.iter().map(gate).collect();
        draft.some("depends_on", Some(&json!(on)));
        draft.some("revision_of", self.revision_of.map(Value::from).as_ref());
        draft.put(
            "convergence",
            &json!({"criteria": [], "verification": no_check()}),
        );
        draft.put("status", &json!(self.status));
        draft.put(
            "source",
            &json!({"tool": "ccw", "session_id": session, "original_id": self.id, "task": machine_free(&self.whole)}),
        );
        draft.line()
    }

    fn checkpoint_line(&self) -> String {
        let mut draft = Draft::default();
        draft.put("id", &json!(format!("CHECKPOINT-{}", self.id)));
        draft.put("title", &json!(format!("Go on after {}", self.id)));
        draft.put("kind", &json!("checkpoint"));
        draft.put("depends_on", &json!([self.id]));
        draft.line()
    }
}

/// Notes how far the session had come there, and when.
fn progress(state: Object<'_>, tasks: &[Task<'_>], taken: &mut Taken) {
    let done = tasks
        .iter()
        .filter(|task| task.status == "completed")
        .count();
    let status = state.text("status").unwrap_or("active");
    taken.stood = format!("{status}, {done} of {} tasks done", tasks.len());
    counted_remark(
        taken,
        state.file,
        done,
        tasks.len(),
        "tasks were called done there; here each is done when its check has passed, or is skipped with a reason",
    );
    taken.created = day(state.text("created_at").or(state.text("started_at")));
    if status == "completed" {
        let end = state.text("completed_at").or(state.text("updated_at"));
        taken.ended = Some(day(end));
    }
}

/// Names what a session there has and a session here has not.
fn lost(state: Object<'_>, tasks: &[Task<'_>], taken: &mut Taken) {
    for agents in ["active_agents", "active_workers"] {
        let all = match state.get(agents) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(fields)) => fields.len(),
            _ => 0,
        };
        counted_remark(
            taken,
            state.file,
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
    no_counterpart(taken, state, &fields);
    let judged = tasks.iter().filter(|task| {
        let has = |field: &str| task.whole.get(field).is_some_and(|value| !value.is_null());
        has("discuss_verdict") || has("supervision_verdict")
    });
    let judged = judged.count();
    counted_remark(
        taken,
        state.file,
        judged,
        tasks.len(),
        "tasks have a verdict, which counts for nothing here",
    );
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
    let numbered = all.iter().enumerate();
    let tasks: Vec<Task<'_>> = numbered
        .filter_map(|(number, value)| in_pipeline(value, number, &path, faults))
        .collect();
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

/// A task of a pipeline.
fn in_pipeline<'v>(
    value: &'v Value,
    number: usize,
    path: &'v str,
    faults: &mut Vec<Fault>,
) -> Option<Task<'v>> {
    let place = format!("pipeline[{number}]");
    let task = Object::of(value, path, &place, ANALYSIS, faults)?;
    let id = task.need("id", &place, faults);
    let role = task.need("owner", &place, faults);
    let status = task.need_word("status", &STATUS, &place, faults);
    let (id, role, status) = (id?, Some(role?), status?);
    let description = task.text("description");
    let title = description.and_then(|text| text.lines().next());
    Some(Task {
        id,
        title: title.unwrap_or(id),
        description,
        role,
        on: task.texts("blocked_by"),
        status,
        revision_of: task.text("revision_of"),
        checkpoint: task.get("is_checkpoint_after").and_then(Value::as_bool) == Some(true),
        whole: value.clone(),
        at: at(path, &place),
    })
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
    let mut tasks: Vec<Task<'_>> = all
        .iter()
        .filter_map(|(own, value)| in_wave(own, value, all, &path, faults))
        .collect();
    if !faults.is_empty() {
        return None;
    }
    for task in &tasks {
        let fields = Object::of(&task.whole, &path, "", ROLE, faults)?;
        fields.need("role", &format!("tasks.{}", task.id), faults);
    }
    if !faults.is_empty() {
        return None;
    }
    for task in &tasks {
        outcome(files, id, &path, task, faults);
    }
    if !faults.is_empty() {
        return None;
    }
    tasks.sort_by_key(|task| (wave(&task.whole), task.id));
    finish(files, id, state, request?, &tasks, faults)
}

fn wave(task: &Value) -> u64 {
    task.get("wave").and_then(Value::as_u64).unwrap_or(0)
}

/// A task of `tasks.json`. What it waits for is there, and is done in an earlier wave.
fn in_wave<'v>(
    id: &'v str,
    value: &'v Value,
    all: &Map<String, Value>,
    path: &'v str,
    faults: &mut Vec<Fault>,
) -> Option<Task<'v>> {
    let place = format!("tasks.{id}");
    let here = at(path, &place);
    let task = Object::of(value, path, &place, ANALYSIS, faults)?;
    let title = task.need("title", &place, faults);
    let status = task.need_word("status", &STATUS, &place, faults);
    let (title, status) = title.zip(status)?;
    let on = task.texts("deps");
    let mut wrong = |message: String| {
        faults.push(Fault {
            code: ANALYSIS,
            at: here.clone(),
            message,
        });
    };
    for other in on.iter().chain(&task.texts("context_from")) {
        if !all.contains_key(other) {
            wrong(format!("it names `{other}`, which does not exist"));
        }
    }
    let own = wave(value);
    for other in &on {
        if all.get(other).is_some_and(|other| wave(other) >= own) {
            wrong(format!(
                "expected a wave after that of `{other}`, found {own}"
            ));
        }
    }
    Some(Task {
        id,
        title,
        description: task.text("description"),
        role: task.text("role"),
        on,
        status,
        revision_of: None,
        checkpoint: false,
        whole: value.clone(),
        at: here,
    })
}

/// Requires of a task that is done what was found, and of a task that failed or was skipped why.
fn outcome(files: &Files, id: &str, path: &str, task: &Task<'_>, faults: &mut Vec<Fault>) {
    let Some(fields) = Object::of(&task.whole, path, "", SESSION, faults) else {
        return;
    };
    let place = format!("tasks.{}", task.id);
    match task.status {
        "completed" => {
            fields.need("findings", &place, faults);
            let discovery = format!(".team/{id}/discoveries/{}.json", task.id);
            document(files, &discovery, SESSION, faults);
        }
        "failed" | "skipped" => drop(fields.need("error", &place, faults)),
        _ => {}
    }
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
    let specs = role_specs(state, faults);
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
    role_files(files, id, &specs, faults);
    if !faults.is_empty() {
        return None;
    }
    let team = Team::of(state, analysis);
    let tasks: Vec<Task<'_>> = graph
        .iter()
        .map(|(own, value)| team.task(own, value))
        .collect();
    finish(files, id, state, request?, &tasks, faults)
}

/// A role that a session names, and where its text is.
struct RoleSpec<'v> {
    name: &'v str,
    file: &'v str,
    at: String,
}

fn role_specs<'v>(state: Object<'v>, faults: &mut Vec<Fault>) -> Vec<RoleSpec<'v>> {
    let all = state.need_list("roles", "", faults).unwrap_or_default();
    if all.is_empty() && faults.is_empty() {
        faults.push(Fault {
            code: SESSION,
            at: at(state.file, "roles"),
            message: "expected a role, found none".to_owned(),
        });
    }
    let mut specs = Vec::new();
    for (number, value) in all.iter().enumerate() {
        let place = format!("roles[{number}]");
        let Some(role) = Object::of(value, state.file, &place, SESSION, faults) else {
            continue;
        };
        let name = role.need("name", &place, faults);
        role.need("prefix", &place, faults);
        let file = role.need("role_spec", &place, faults);
        specs.extend(name.zip(file).map(|(name, file)| RoleSpec {
            name,
            file,
            at: at(state.file, &place),
        }));
    }
    specs
}

/// Every role has its file, and the file is a sound role.
fn role_files(files: &Files, id: &str, specs: &[RoleSpec<'_>], faults: &mut Vec<Fault>) {
    let folder = format!(".team/{id}/role-specs");
    let in_folder = format!("{folder}/");
    if !files.keys().any(|path| path.starts_with(&in_folder)) {
        faults.push(Fault {
            code: ROLE,
            at: folder,
            message: "expected a file for each role, found none".to_owned(),
        });
        return;
    }
    let file_of = |spec: &RoleSpec<'_>| {
        let name = spec.file.rsplit(['/', '\\']).next();
        format!("{in_folder}{}", name.unwrap_or(spec.file))
    };
    for spec in specs {
        let file = file_of(spec);
        if !files.contains_key(&file) {
            faults.push(Fault {
                code: ROLE,
                at: spec.at.clone(),
                message: format!("expected the role `{}` in {file}, found no file", spec.name),
            });
        }
    }
    if !faults.is_empty() {
        return;
    }
    for spec in specs {
        let file = file_of(spec);
        let Some(text) = text(files, &file, faults) else {
            continue;
        };
        let found = lint(spec.name, &file, text);
        let errors = found
            .into_iter()
            .filter(|one| one.severity == Severity::Error);
        faults.extend(errors.map(|one| Fault {
            code: ROLE,
            at: format!("{file}:{}", one.line),
            message: one.message,
        }));
    }
}

/// Facts about the tasks of a team beside the graph.
struct Team<'v> {
    roles: &'v [Value],
    /// The tasks of the analysis, by id.
    listed: BTreeMap<&'v str, &'v Value>,
    ended: Vec<String>,
    /// The file of the analysis.
    file: &'v str,
}

impl<'v> Team<'v> {
    fn of(state: Object<'v>, analysis: Object<'v>) -> Self {
        let listed = analysis.list("tasks").iter();
        Team {
            roles: state.list("roles"),
            listed: listed
                .filter_map(|task| Some((task.get("id")?.as_str()?, task)))
                .collect(),
            ended: state.texts("completed_tasks"),
            file: analysis.file,
        }
    }

    /// A node of the graph as a task; who does it is said there, by the analysis, or by the prefix of its id.
    fn task(&self, own: &'v String, node: &'v Value) -> Task<'v> {
        let on = node.get("depends_on").unwrap_or(node).as_array();
        let on = on.map(Vec::as_slice).unwrap_or_default();
        let listed = self.listed.get(own.as_str()).copied();
        let of = |field: &str| listed.and_then(|task| task.get(field)?.as_str());
        let role = node.get("role").and_then(Value::as_str);
        let status = if self.ended.contains(own) {
            "completed"
        } else {
            "pending"
        };
        Task {
            id: own,
            title: of("subject").unwrap_or(own),
            description: None,
            role: role.or(of("owner")).or_else(|| self.role_by_prefix(own)),
            on: on
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            status,
            revision_of: None,
            checkpoint: false,
            whole: json!({"graph": node, "task": listed}),
            at: at(self.file, &format!("dependency_graph.{own}")),
        }
    }

    fn role_by_prefix(&self, task: &str) -> Option<&'v str> {
        let prefix = task.rsplit_once('-').map_or(task, |(prefix, _)| prefix);
        let is_it = |role: &&Value| role.get("prefix").and_then(Value::as_str) == Some(prefix);
        self.roles.iter().find(is_it)?.get("name")?.as_str()
    }
}
