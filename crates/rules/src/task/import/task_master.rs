//! Task Master's `tasks.json`: a list, or a list for each tag; each task may have subtasks.

use super::{
    Draft, Imported, KEPT_FOR_A_PERSON, NOT_DONE, Source, broken, check_of, invalid, no_check,
    put_theirs,
};
use crate::strict_json::strict;
use loopx_base::failure::Result;
use serde_json::{Map, Value, json};

/// Fields that become fields of a task; any other stays under its own name.
const READ: [&str; 7] = [
    "id",
    "title",
    "description",
    "dependencies",
    "testStrategy",
    "status",
    "subtasks",
];

/// The lists of a file, by tag.
fn lists(value: &Value) -> Vec<(&str, &Vec<Value>)> {
    if let Some(tasks) = value.get("tasks").and_then(Value::as_array) {
        return vec![("", tasks)];
    }
    let tags = value.as_object().into_iter().flatten();
    tags.filter_map(|(tag, list)| Some((tag.as_str(), list.get("tasks")?.as_array()?)))
        .filter(|(_, tasks)| !tasks.is_empty())
        .collect()
}

pub(super) fn is_one(value: &Value) -> bool {
    !lists(value).is_empty()
}

pub(super) fn tasks(source: &Source, found: &mut Imported) -> Result<()> {
    let value = strict(&source.text).map_err(|error| broken(source, &error))?;
    let lists = lists(&value);
    let is_alone = lists.len() < 2;
    for (tag, tasks) in lists {
        // Numbers begin anew in each tag.
        let before = if is_alone {
            String::new()
        } else {
            format!("{tag}.")
        };
        for task in tasks {
            let at = Place {
                before: &before,
                parent: None,
            };
            at.task(task, found).ok_or_else(|| {
                invalid(
                    source,
                    format!("a task of the tag `{tag}` has no `id`, or is no object"),
                )
            })?;
        }
    }
    Ok(())
}

/// Place of a task.
struct Place<'p> {
    before: &'p str,
    parent: Option<&'p str>,
}

impl Place<'_> {
    /// The id of another task, as one here names it: a subtask names its sisters by number alone.
    fn id(&self, value: &Value) -> Option<String> {
        let own = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => return None,
        };
        Some(match self.parent {
            Some(parent) if !own.contains('.') => format!("{parent}.{own}"),
            _ => format!("{}{own}", self.before),
        })
    }

    fn task(&self, value: &Value, found: &mut Imported) -> Option<()> {
        let task = value.as_object()?;
        let id = self.id(task.get("id")?)?;
        let mut draft = Draft::default();
        draft.put("id", &json!(id));
        for field in ["title", "description"] {
            draft.some(field, task.get(field));
        }
        draft.some("parent", self.parent.map(|parent| json!(parent)).as_ref());
        let needs = task.get("dependencies").and_then(Value::as_array);
        let needs: Vec<String> = needs
            .into_iter()
            .flatten()
            .filter_map(|one| self.id(one))
            .collect();
        draft.some("depends_on", Some(&json!(needs)));
        draft.put("convergence", &convergence(task, &id, found));
        match task.get("status").and_then(Value::as_str) {
            Some("done" | "completed") => found.remark(&id, NOT_DONE),
            Some("pending") | None => {}
            Some(other) => found.remark(&id, format!("its status `{other}` has no counterpart")),
        }
        for (field, value) in task {
            if !READ.contains(&field.as_str()) {
                put_theirs(&mut draft, found, (&id, task), (field, value));
            }
        }
        found.lines.push(draft.line());
        let below = Place {
            before: self.before,
            parent: Some(&id),
        };
        let subtasks = task.get("subtasks").and_then(Value::as_array);
        subtasks
            .into_iter()
            .flatten()
            .try_for_each(|one| below.task(one, found))
    }
}

fn convergence(task: &Map<String, Value>, id: &str, found: &mut Imported) -> Value {
    let title = task.get("title").cloned().unwrap_or_default();
    let strategy = task
        .get("testStrategy")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let check = match strategy.trim() {
        "" => no_check(),
        text => check_of(text),
    };
    if check == json!({"manual": strategy.trim()}) {
        found.remark(id, KEPT_FOR_A_PERSON);
    }
    json!({"criteria": [title], "verification": check})
}
