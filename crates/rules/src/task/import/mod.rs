//! Lists of tasks that other tools wrote, as lines of `tasks.jsonl`: whole or not at all. What has no counterpart here
//! is named, one remark each; what a field of ours cannot hold stays under its own name.
//!
//! Nothing that another tool calls done counts as done, and no sentence becomes a command.

mod json;
mod markdown;
mod plan;
mod task_master;

use super::file::Meaning;
use crate::strict_json::fault;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

vocabulary!(
    /// Form in which a list is written.
    Format {
        /// Lines with one task each.
        Jsonl = "jsonl",
        /// A list of vertical slices.
        Slices = "slices",
        /// A plan, and a folder `.task` beside it with a file for each task.
        Plan = "plan",
        /// Check boxes below numbered headings.
        OpenSpec = "openspec",
        /// Check boxes with ids and `[P]`.
        SpecKit = "spec-kit",
        /// File `tasks.json`, with subtasks.
        TaskMaster = "task-master",
    }
);

/// A list as it was found.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Name that people give the file.
    pub path: String,
    pub text: String,
    /// The files of a folder `.task` beside it, by their names.
    pub tasks: BTreeMap<String, String>,
    /// The keys of the ids that the list has already.
    pub taken: BTreeSet<String>,
}

impl Source {
    /// The next `TASK-NNN` behind the last that nobody has.
    fn free_id(&self, last: &mut usize) -> String {
        loop {
            *last += 1;
            let id = format!("TASK-{last:03}");
            if !self.taken.contains(&id.to_ascii_lowercase()) {
                return id;
            }
        }
    }
}

/// Remark about something that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The task, or nothing where it is about the list.
    pub task: String,
    pub message: String,
}

/// A list that was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub format: Format,
    pub lines: Vec<String>,
    pub remarks: Vec<Remark>,
    /// The text of a plan that says more than which tasks it has.
    pub plan: Option<String>,
}

/// A plan of a session with the text of a plan in two layers behind it, byte for byte between fences; nothing where it
/// stands there already.
pub fn with_plan(text: &str, plan: &str) -> Option<String> {
    if text.contains(plan) {
        return None;
    }
    let rows = plan.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(rows.max().unwrap_or(0).max(2) + 1);
    let ends = |text: &str| if text.ends_with('\n') { "" } else { "\n" };
    Some(format!(
        "{text}{}\n## plan.json\n\n{fence}json\n{plan}{}{fence}\n",
        ends(text),
        ends(plan)
    ))
}

impl Imported {
    fn new(format: Format) -> Self {
        Imported {
            format,
            lines: Vec::new(),
            remarks: Vec::new(),
            plan: None,
        }
    }

    fn remark(&mut self, task: &str, message: impl Into<String>) {
        self.remarks.push(Remark {
            task: task.to_owned(),
            message: message.into(),
        });
    }
}

/// Reads a list; its form is seen from its name and its content where nobody names it.
pub fn import(source: &Source, format: Option<Format>) -> Result<Imported> {
    let format = match format {
        Some(format) => format,
        None => detect(source)?,
    };
    let mut found = Imported::new(format);
    match format {
        Format::Jsonl => plan::lines(source, &mut found)?,
        Format::Plan => plan::folder(source, &mut found)?,
        Format::Slices => json::slices(source, &mut found)?,
        Format::TaskMaster => task_master::tasks(source, &mut found)?,
        Format::OpenSpec => markdown::openspec(source, &mut found),
        Format::SpecKit => markdown::spec_kit(source, &mut found),
    }
    if found.lines.is_empty() {
        return Err(Failure::refused(
            Code::TaskListEmpty,
            format!(
                "{}: expected tasks in the form `{format}`, found none",
                source.path
            ),
        ));
    }
    Ok(found)
}

fn detect(source: &Source) -> Result<Format> {
    let Source { path, text, .. } = source;
    let value = || serde_json::from_str::<Value>(text).ok();
    let found = match path.rsplit('.').next() {
        Some("jsonl") => Some(Format::Jsonl),
        Some("md") if markdown::is_spec_kit(text) => Some(Format::SpecKit),
        Some("md") => Some(Format::OpenSpec),
        _ => match value() {
            Some(Value::Array(_)) => Some(Format::Slices),
            Some(value) if value.get("task_ids").is_some() => Some(Format::Plan),
            Some(value) if value.get("slices").is_some() => Some(Format::Slices),
            Some(value) if task_master::is_one(&value) => Some(Format::TaskMaster),
            _ => None,
        },
    };
    found.ok_or_else(|| {
        Failure::usage(
            Code::ImportFormatUnknown,
            format!(
                "{path}: expected a list of tasks in one of the forms {}, found none of them",
                Format::WORDS.join(", ")
            ),
        )
        .help(command!("task import FILE --format jsonl"))
    })
}

/// A field of theirs that becomes none of a task: under its own name, or under another where ours of that name says
/// something else.
fn put_theirs(
    draft: &mut Draft,
    found: &mut Imported,
    (id, theirs): (&str, &Map<String, Value>),
    (name, value): (&str, &Value),
) {
    match super::file::meaning(name, value) {
        Meaning::Ours => draft.some(name, Some(value)),
        Meaning::Nothing => {
            draft.some(name, Some(value));
            found.remark(id, format!("`{name}` means nothing here, and stays"));
        }
        Meaning::Other => {
            let kept = theirs_as(theirs, name);
            draft.some(&kept, Some(value));
            let message = format!("`{name}` means something else here, and stays as `{kept}`");
            found.remark(id, message);
        }
    }
}

/// A name for a field of theirs that says something else here: no other of their fields has it.
fn theirs_as(theirs: &Map<String, Value>, name: &str) -> String {
    let mut kept = format!("from_{name}");
    while theirs.contains_key(&kept) {
        kept.insert_str(0, "from_");
    }
    kept
}

/// The refusal of a list that cannot be read.
fn invalid(source: &Source, message: impl std::fmt::Display) -> Failure {
    invalid_at(&source.path, message)
}

/// The refusal of a list for something at a place in it.
fn invalid_at(place: &str, message: impl std::fmt::Display) -> Failure {
    Failure::refused(
        Code::TaskListInvalid,
        format!("{place}: {message}; nothing was taken in"),
    )
}

/// The refusal of a list that is no JSON.
fn broken(source: &Source, error: &serde_json::Error) -> Failure {
    let place = format!("{}:{}:{}", source.path, error.line(), error.column());
    invalid_at(&place, format!("expected a list as JSON, {}", fault(error)))
}

/// A line in the making. Fields keep the order in which they are put.
#[derive(Default)]
pub(crate) struct Draft(Vec<String>);

impl Draft {
    pub(crate) fn put(&mut self, name: &str, value: &Value) {
        self.0.push(format!("{}:{value}", Value::from(name)));
    }

    /// Puts what says something.
    pub(crate) fn some(&mut self, name: &str, value: Option<&Value>) {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if let Some(value) = value.filter(|value| !is_empty(value)) {
            self.put(name, value);
        }
    }

    pub(crate) fn line(self) -> String {
        format!("{{{}}}", self.0.join(","))
    }
}

/// A check that somebody still has to write.
pub(crate) fn no_check() -> Value {
    json!({"cmd": []})
}

/// A verification from a sentence: its own form where it begins with one, otherwise something for a
/// person to look at.
fn check_of(text: &str) -> Value {
    match super::file::said(text) {
        Some(super::node::Verification::Cmd(argv)) => json!({"cmd": argv}),
        Some(super::node::Verification::Manual(what)) => json!({"manual": what}),
        None if text.trim().is_empty() => no_check(),
        None => json!({"manual": text.trim()}),
    }
}

const KEPT_FOR_A_PERSON: &str = "its verification is a sentence, which is kept for a person to look at; \
    `task edit ID -- CMD` makes a command of it";
const NOT_DONE: &str = "it is called done there; here it is done when its check has passed";

#[cfg(test)]
mod tests;
