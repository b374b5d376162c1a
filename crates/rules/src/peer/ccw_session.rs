//! Workflow sessions of ccw (`active/<id>/workflow-session.json`, of five types, with a plan and a file for each task),
//! and what it knows of the project (`project-tech.json`): facts of the code, and an index of what was developed.
//!
//! Facts of the code are read from the tree here and are not taken over; what a person said of the architecture, and
//! each entry of the index, becomes a note of the journal.

use super::json::{Object, at, parse};
use super::{Fault, Files, Found, Remark, Taken, Tool, counted_remark, day, intent, text};
use crate::artifact::Artifact;
use crate::task::import::{Format, Source, import};
use loopx_base::failure::Code;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Folders of sessions: of those that go on, and of those that were archived.
pub(super) const ACTIVE: &str = "active";
pub(super) const ARCHIVES: &str = "archives";
/// File with what is known of the project.
pub(super) const PROJECT: &str = "project-tech.json";

const STATE: &str = "workflow-session.json";
const MARKER: &str = ".archiving";
const CODE: Code = Code::ImportSessionInvalid;

/// The types of sessions, and what each is here.
const TYPES: [(&str, &str); 5] = [
    ("workflow", "the stages of the profile standard"),
    ("review", "the stage review, and `review show`"),
    (
        "tdd",
        "the chain with `--param coverage=low`, which writes tests first",
    ),
    (
        "test",
        "the chain with `--param quality=full`, which tests the business too",
    ),
    (
        "docs",
        "the stages of the profile quick: specs stay as they are",
    ),
];

/// Reads the sessions below both folders.
pub(super) fn sessions(
    files: &Files,
    found: &mut Found,
    used: &mut BTreeSet<String>,
    faults: &mut Vec<Fault>,
) {
    let state = |path: &String| {
        let (folder, rest) = path.split_once('/')?;
        let (id, name) = rest.split_once('/')?;
        let is_one = [ACTIVE, ARCHIVES].contains(&folder) && name == STATE;
        is_one.then(|| (folder.to_owned(), id.to_owned()))
    };
    let all: BTreeSet<(String, String)> = files.keys().filter_map(state).collect();
    for (folder, id) in all {
        // What is wrong with one session says nothing of the next.
        let mut own = Vec::new();
        let taken = session(files, &folder, &id, &mut own);
        faults.extend(own);
        if let Some(taken) = taken {
            used.extend(taken.files.keys().cloned());
            found.sessions.push(taken);
        }
    }
}

fn session(files: &Files, root: &str, id: &str, faults: &mut Vec<Fault>) -> Option<Taken> {
    let path = format!("{root}/{id}/{STATE}");
    let value = parse(text(files, &path, faults)?, &path, CODE, faults)?;
    let state = Object::of(&value, &path, "", CODE, faults)?;
    let kind = kind(state, faults);
    if !faults.is_empty() {
        return None;
    }
    let mut taken = begin(files, format!("{root}/{id}"), id);
    taken.created = day(state.text("created_at").or(state.text("created")));
    taken.remarks.extend(counterpart(kind, &path));
    let marker = format!("{}/{MARKER}", taken.folder);
    if files.contains_key(&marker) {
        taken.remark(
            marker,
            "an archive was begun there and not ended: it goes on here",
        );
    }
    let request = ["description", "project", "title"];
    let request = request.iter().find_map(|field| state.text(field));
    let request = request.unwrap_or(id);
    let title = request.lines().next().unwrap_or(id);
    taken.title = title.chars().take(120).collect();
    let done = tasks(files, &mut taken, faults);
    if !faults.is_empty() {
        return None;
    }
    let status = state.text("status").unwrap_or("active");
    let kind = kind.unwrap_or("workflow");
    let all = taken.tasks;
    taken.stood = format!("{kind}, {status}, {done} of {all} tasks done");
    counted_remark(
        &mut taken,
        &path,
        done,
        all,
        "tasks were called done there; here each is done when its check has passed, or is skipped with a reason",
    );
    if root == ARCHIVES || matches!(status, "completed" | "archived") {
        let end = ["archived_at", "completed_at", "updated_at"];
        taken.ended = Some(day(end.iter().find_map(|field| state.text(field))));
    }
    strange_fields(state, &mut taken);
    let words = intent(Tool::Ccw, request, &taken.folder);
    taken.artifacts.insert(Artifact::Intent, words);
    Some(taken)
}

/// The type of a session, where it names one.
fn kind<'v>(state: Object<'v>, faults: &mut Vec<Fault>) -> Option<&'v str> {
    state.get("type")?;
    let words: Vec<&str> = TYPES.iter().map(|(word, _)| *word).collect();
    state.need_word("type", &words, "", faults)
}

fn begin(files: &Files, folder: String, id: &str) -> Taken {
    let inside = format!("{folder}/");
    let mut taken = Taken {
        folder,
        name: id.to_owned(),
        ..Taken::default()
    };
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with(&inside)) {
        taken.keep(path, bytes);
    }
    taken
}

/// Names the counterpart that a session of this type has here.
fn counterpart(kind: Option<&str>, path: &str) -> Option<Remark> {
    let Some(kind) = kind else {
        return Some(Remark {
            at: path.to_owned(),
            message: "it names no type: it is taken as a workflow".to_owned(),
        });
    };
    let (_, here) = TYPES.iter().find(|(word, _)| *word == kind)?;
    Some(Remark {
        at: at(path, "type"),
        message: format!("`{kind}` has its counterpart in {here}"),
    })
}

/// Names the fields that nothing is made of.
fn strange_fields(state: Object<'_>, taken: &mut Taken) {
    let known = [
        "session_id",
        "type",
        "status",
        "description",
        "project",
        "title",
        "created_at",
        "created",
        "updated_at",
        "completed_at",
        "archived_at",
        "task_count",
        "progress",
    ];
    for (field, value) in state.fields {
        if !known.contains(&field.as_str()) && !value.is_null() {
            taken.remark(
                at(state.file, field),
                "it has no counterpart in a session, and is kept in imported/",
            );
        }
    }
}

/// The tasks of a session: those that its plan names first. Gives how many were called done.
fn tasks(files: &Files, taken: &mut Taken, faults: &mut Vec<Fault>) -> usize {
    let inside = format!("{}/.task/", taken.folder);
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut done = 0;
    let named = files
        .keys()
        .filter_map(|path| Some((path, path.strip_prefix(&inside)?)));
    let named: Vec<(&String, &str)> = named
        .filter(|(_, name)| name.ends_with(".json") && !name.contains('/'))
        .collect();
    for (path, name) in named {
        let Some(value) =
            text(files, path, faults).and_then(|text| parse(text, path, CODE, faults))
        else {
            continue;
        };
        let Some(task) = Object::of(&value, path, "", CODE, faults) else {
            continue;
        };
        if task.need("id", "", faults).is_none() {
            continue;
        }
        done += usize::from(matches!(task.text("status"), Some("completed" | "done")));
        found.insert(name.to_owned(), newer(&value).to_string());
    }
    if found.is_empty() || !faults.is_empty() {
        return done;
    }
    let plan = format!("{}/plan.json", taken.folder);
    let told = text(files, &plan, faults).filter(|text| {
        let read = serde_json::from_str::<Value>(text).ok();
        read.is_some_and(|plan| plan.get("task_ids").is_some())
    });
    let ids: Vec<&str> = found
        .keys()
        .filter_map(|name| name.strip_suffix(".json"))
        .collect();
    let source = Source {
        path: plan,
        text: told.map_or_else(|| json!({ "task_ids": ids }).to_string(), str::to_owned),
        tasks: found,
        ..Source::default()
    };
    match import(&source, Some(Format::Plan)) {
        Ok(read) => {
            for one in read.remarks {
                taken.remark(at(&source.path, &one.task), one.message);
            }
            let places: Vec<String> = read.lines.iter().map(|_| source.path.clone()).collect();
            taken.list(&read.lines, &places, faults);
        }
        Err(failure) => faults.push(Fault {
            code: Code::ImportInvalid,
            at: taken.folder.clone(),
            message: failure.message,
        }),
    }
    done
}

/// A task with what it waits for where newer ones have it.
fn newer(task: &Value) -> Value {
    let mut task = task.clone();
    let older = task
        .get("context")
        .and_then(|context| context.get("depends_on"))
        .cloned();
    if let (Some(fields), Some(older)) = (task.as_object_mut(), older)
        && !fields.contains_key("depends_on")
    {
        fields.insert("depends_on".to_owned(), older);
    }
    task
}

/// Reads what is known of the project.
pub(super) fn project(
    files: &Files,
    found: &mut Found,
    used: &mut BTreeSet<String>,
    faults: &mut Vec<Fault>,
) {
    let value = text(files, PROJECT, faults).and_then(|text| parse(text, PROJECT, CODE, faults));
    let Some(value) = value else { return };
    let Some(whole) = Object::of(&value, PROJECT, "", CODE, faults) else {
        return;
    };
    used.insert(PROJECT.to_owned());
    let mut remark = |place: &str, message: &str| {
        found.remarks.push(Remark {
            at: at(PROJECT, place),
            message: message.to_owned(),
        });
    };
    for (field, value) in whole.fields {
        match field.as_str() {
            "overview" | "technology_analysis" => {
                facts(field, value, &mut found.journal, &mut remark)
            }
            "development_index" => index(value, &mut found.journal, faults),
            "features" => older(value, &mut found.journal),
            "project_name" | "name" => remark(field, "a repository has its own name"),
            "statistics" | "_metadata" => {
                remark(field, "it is computed here, and is not taken over")
            }
            _ => remark(field, "it has no counterpart here"),
        }
    }
}

/// The facts of the code: what the tree says itself is told, what a person said becomes notes.
fn facts(
    name: &str,
    value: &Value,
    journal: &mut Vec<String>,
    remark: &mut impl FnMut(&str, &str),
) {
    for (field, value) in value.as_object().into_iter().flatten() {
        let place = format!("{name}.{field}");
        match field.as_str() {
            "technology_stack" => remark(
                &place,
                "languages, tools and commands are read from the tree: `rule facts`",
            ),
            "architecture" => {
                let style = value.get("style").and_then(Value::as_str);
                add(journal, style.map(|style| format!("Architecture: {style}")));
                for pattern in texts(value.get("patterns")) {
                    add(journal, Some(format!("Architecture, a pattern: {pattern}")));
                }
            }
            "key_components" => {
                for one in texts(Some(value)) {
                    add(journal, Some(format!("Key component: {one}")));
                }
            }
            "description" => add(
                journal,
                value.as_str().map(|text| format!("Project: {text}")),
            ),
            _ => remark(&place, "it has no counterpart here"),
        }
    }
}

/// The texts of a list. Of an object its name, and what is said of it.
fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    let words = |one: &Value| {
        let field = |name: &str| {
            one.get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.trim().is_empty())
        };
        match (
            one.as_str(),
            field("name"),
            field("description").or(field("responsibility")),
        ) {
            (Some(text), _, _) => Some(text.to_owned()),
            (None, Some(name), Some(said)) => Some(format!("{name}: {said}")),
            (None, Some(name), None) => Some(name.to_owned()),
            _ => None,
        }
    };
    all.filter_map(words).collect()
}

/// The index of what was developed: one note for each entry, by its list.
fn index(value: &Value, journal: &mut Vec<String>, faults: &mut Vec<Fault>) {
    let Some(lists) = value.as_object() else {
        let message = "expected an object of lists, found another value".to_owned();
        return faults.push(Fault {
            code: CODE,
            at: at(PROJECT, "development_index"),
            message,
        });
    };
    for (list, entries) in lists {
        for (number, entry) in entries.as_array().into_iter().flatten().enumerate() {
            let place = format!("development_index.{list}[{number}]");
            let Some(entry) = Object::of(entry, PROJECT, &place, CODE, faults) else {
                continue;
            };
            let Some(title) = entry.need("title", &place, faults) else {
                continue;
            };
            add(journal, Some(said(list, title, entry)));
        }
    }
}

fn said(list: &str, title: &str, entry: Object<'_>) -> String {
    let mut text = format!("Developed, {list}: {}", title.trim());
    if let Some(part) = entry.text("sub_feature") {
        text.push_str(&format!(" / {}", part.trim()));
    }
    if let Some(day) = day(entry.text("date")) {
        text.push_str(&format!(" ({day})"));
    }
    if let Some(session) = entry.text("session_id") {
        text.push_str(&format!(", session {session}"));
    }
    if let Some(description) = entry.text("description") {
        text.push_str(&format!("\n\n{}", description.trim()));
    }
    text
}

/// The older form of the index.
fn older(value: &Value, journal: &mut Vec<String>) {
    for entry in value.as_array().into_iter().flatten() {
        let title = entry.get("title").and_then(Value::as_str);
        let date = entry
            .pointer("/timeline/implemented_at")
            .and_then(Value::as_str);
        let date = day(date).map(|day| format!(" ({day})")).unwrap_or_default();
        add(
            journal,
            title.map(|title| format!("Developed, feature: {}{date}", title.trim())),
        );
    }
}

/// Adds a note, each once.
fn add(journal: &mut Vec<String>, text: Option<String>) {
    const LONGEST: usize = 4000;
    let text = text.map(|text| text.chars().take(LONGEST).collect::<String>());
    if let Some(text) = text.filter(|text| !text.trim().is_empty() && !journal.contains(text)) {
        journal.push(text);
    }
}
