//! The `tasks.json` of Task Master: a list, or a list for each tag. A task may have subtasks, which become its parts.

use super::json::{self, Fields};
use super::text::section;
use super::{File, Format, Gather};
use crate::issue::Status;
use crate::issue::plain::{Plain, PlainLink};
use serde_json::{Map, Value};

/// The tag whose tasks are meant where nobody names one.
const MAIN: &str = "master";

/// Fields of which one tells a list of tasks from other lists.
const TELLING: [&str; 4] = ["dependencies", "subtasks", "testStrategy", "details"];

/// Tells whether tasks stand in a document as Task Master writes them.
pub(super) fn is_one(whole: &Value) -> bool {
    let Some(map) = whole.as_object() else {
        return false;
    };
    let own = map.get("tasks").into_iter();
    let tagged = map.values().filter_map(|list| list.get("tasks"));
    let mut tasks = own.chain(tagged).filter_map(Value::as_array).flatten();
    tasks.any(|task| {
        let has = |field: &str| task.get(field).is_some();
        has("title") && TELLING.into_iter().any(has)
    })
}

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    for file in files {
        match json::whole(file, g) {
            Some(Value::Array(tasks)) => list(&file.name, MAIN, tasks, g),
            Some(Value::Object(mut map)) if map.get("tasks").is_some_and(Value::is_array) => {
                tagged(&file.name, MAIN, &mut map, g);
            }
            Some(Value::Object(map)) => {
                for (tag, value) in map {
                    match value {
                        Value::Object(mut map) if map.contains_key("tasks") => {
                            tagged(&file.name, &tag, &mut map, g);
                        }
                        _ => g.remark(&file.name, format!("`{tag}` is no list of tasks")),
                    }
                }
            }
            Some(_) => g.fault(&file.name, "expected lists of tasks by tag"),
            None => {}
        }
    }
}

/// The tasks of a tag; what is said of the list itself is no issue's.
fn tagged(name: &str, tag: &str, map: &mut Map<String, Value>, g: &mut Gather<'_>) {
    let tasks = map.remove("tasks");
    let more: Vec<&str> = map.keys().map(String::as_str).collect();
    if !more.is_empty() {
        let more = more.join(", ");
        g.remark(
            name,
            format!("what is said of the list `{tag}` is not taken over: {more}"),
        );
    }
    match tasks {
        Some(Value::Array(tasks)) => list(name, tag, tasks, g),
        _ => g.fault(name, format!("expected a list in `tasks` of `{tag}`")),
    }
}

fn list(name: &str, tag: &str, tasks: Vec<Value>, g: &mut Gather<'_>) {
    let place = Place {
        tag,
        parent: None,
        sisters: Vec::new(),
    };
    for (at, task) in tasks.into_iter().enumerate() {
        let at = match tag {
            MAIN => format!("{name}[{at}]"),
            tag => format!("{name}: {tag}[{at}]"),
        };
        place.task(task, at, g);
    }
}

/// The place of a task among the others.
struct Place<'p> {
    tag: &'p str,
    parent: Option<&'p str>,
    /// The ids of the subtasks of this parent, as they name themselves.
    sisters: Vec<String>,
}

impl Place<'_> {
    /// The id of a task in the whole list. A subtask is named by its number alone among its sisters.
    fn whole(&self, id: &str) -> String {
        match self.parent {
            Some(parent) if !id.contains('.') => format!("{parent}.{id}"),
            _ => id.to_owned(),
        }
    }

    /// The key of a task of this tag: numbers begin anew in each.
    fn key(&self, id: &str) -> String {
        match self.tag {
            MAIN => id.to_owned(),
            tag => format!("{tag}/{id}"),
        }
    }

    fn task(&self, task: Value, at: String, g: &mut Gather<'_>) {
        let Some(mut fields) = Fields::of(task, at.clone(), g) else {
            return;
        };
        let Some(id) = fields.text("id", g) else {
            return g.fault(&at, "expected `id`, found none");
        };
        let id = self.whole(id.trim());
        let Some(mut plain) = g.begin(Format::TaskMaster, self.key(&id), &mut fields) else {
            return;
        };
        plain.description = fields.text("description", g).unwrap_or_default();
        section(&mut plain, "Details", fields.text("details", g));
        section(&mut plain, "Test strategy", fields.text("testStrategy", g));
        if let Some(word) = fields.text("status", g) {
            g.status(&at, &mut plain, &word, |_| None);
            if plain.status.is_some_and(Status::is_final) {
                plain.reason = Some(format!("{word} in Task Master"));
            }
        }
        if let Some(word) = fields.text("priority", g) {
            g.priority(&at, &mut plain, &word, 0);
        }
        if self.tag != MAIN {
            g.labels(&mut plain, vec![self.tag.to_owned()]);
        }
        let people: Vec<String> = fields.text("assignee", g).into_iter().collect();
        g.people(&mut plain, people);
        self.links(&mut plain, &mut fields, g);
        // The parent says it better.
        fields.map.remove("parentId");
        fields.map.remove("parentTaskId");
        let below = fields.list("subtasks", g);
        g.end(plain, fields);
        let own = |task: &Value| match task.get("id")? {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        };
        let place = Place {
            tag: self.tag,
            parent: Some(&id),
            sisters: below.iter().filter_map(own).collect(),
        };
        for (number, task) in below.into_iter().enumerate() {
            place.task(task, format!("{at}.subtasks[{number}]"), g);
        }
    }

    fn links(&self, plain: &mut Plain, fields: &mut Fields, g: &mut Gather<'_>) {
        plain.links.extend(self.parent.map(|parent| PlainLink {
            kind: "parent".to_owned(),
            to: self.key(parent),
        }));
        for other in fields.list("dependencies", g) {
            let other = match other {
                Value::Number(number) => number.to_string(),
                Value::String(text) => text.trim().to_owned(),
                _ => {
                    g.fault(&fields.at, "expected ids in `dependencies`");
                    continue;
                }
            };
            let is_sister = self.sisters.contains(&other);
            let to = if is_sister { self.whole(&other) } else { other };
            plain.links.push(PlainLink {
                kind: "blocked-by".to_owned(),
                to: self.key(&to),
            });
        }
    }
}
