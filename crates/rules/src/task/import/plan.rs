//! `tasks.jsonl` of other tools, and plans in two layers. Every field stays as it is written; what reads differently
//! here is put beside it.

use super::{Imported, KEPT_FOR_A_PERSON, NOT_DONE, Source, broken, check_of, invalid, invalid_at};
use crate::strict_json::{fault, strict};
use crate::task::file::{edit, lines as lines_of};
use loopx_base::failure::Result;
use serde_json::{Value, json};

/// Takes over lines with one task each.
pub(super) fn lines(source: &Source, found: &mut Imported) -> Result<()> {
    for (number, line) in lines_of(&source.text) {
        let line = ours(line.trim(), found)
            .map_err(|error| invalid_at(&format!("{}:{number}", source.path), error))?;
        found.lines.push(line);
    }
    Ok(())
}

/// A plan that names its tasks, and a file for each of them.
pub(super) fn folder(source: &Source, found: &mut Imported) -> Result<()> {
    let plan = strict(&source.text).map_err(|error| broken(source, &error))?;
    let ids = plan.get("task_ids").and_then(Value::as_array);
    let ids = ids.ok_or_else(|| invalid(source, "expected a list `task_ids`, found none"))?;
    let mut names: Vec<String> = Vec::new();
    for id in ids {
        let id = id
            .as_str()
            .ok_or_else(|| invalid(source, format!("expected ids in `task_ids`, found {id}")))?;
        names.push(format!("{id}.json"));
    }
    let beside = source.tasks.keys().filter(|name| !names.contains(name));
    let beside: Vec<String> = beside.cloned().collect();
    for name in &beside {
        found.remark(
            name.trim_end_matches(".json"),
            "`task_ids` does not name it; it stands behind the others",
        );
    }
    for name in names.iter().chain(&beside) {
        let text = source.tasks.get(name).ok_or_else(|| {
            invalid(
                source,
                format!("it names the task {name}, and .task/{name} is not there"),
            )
        })?;
        let line = on_one_line(text);
        let line = ours(&line, found)
            .map_err(|error| invalid(source, format!(".task/{name}: {error}")))?;
        found.lines.push(line);
    }
    let is_told = |(field, value): (&String, &Value)| {
        !matches!(field.as_str(), "task_ids" | "task_count" | "_metadata") && !value.is_null()
    };
    if plan.as_object().into_iter().flatten().any(is_told) {
        found.plan = Some(source.text.clone());
    }
    Ok(())
}

/// The text of a JSON value on one line: blanks between its parts go, and every other byte stays.
fn on_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in text.trim_start_matches('\u{feff}').chars() {
        if !in_string && c.is_ascii_whitespace() {
            continue;
        }
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        out.push(c);
    }
    out
}

/// A line with a check that is read here. Older names of fields stay, and what they say stands under the newer ones too.
fn ours(line: &str, found: &mut Imported) -> Result<String, String> {
    let task = strict(line)
        .map_err(|error| format!("expected a task as a JSON object, {}", fault(&error)))?;
    let id = task
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or("?")
        .to_owned();
    let said = task.get("convergence");
    let of = |field: &str| {
        said.and_then(|said| said.get(field))
            .filter(|value| !value.is_null())
    };
    let mut changes = Vec::new();
    let mut change = |field: &'static str, value: Value| {
        changes.push(edit::Change {
            field,
            value: Some(value),
        });
    };
    if let (None, Some(criteria)) = (
        of("criteria"),
        task.get("acceptance").filter(|one| one.is_array()),
    ) {
        change("convergence.criteria", criteria.clone());
    }
    let verification = of("verification")
        .or_else(|| task.get("verification"))
        .or_else(|| task.get("test"));
    let text = match verification {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(steps)) => {
            let steps: Vec<&str> = steps.iter().filter_map(Value::as_str).collect();
            Some(steps.join("; "))
        }
        _ => None,
    };
    if let Some(text) = text {
        let check = check_of(&text);
        if check == json!({"manual": text.trim()}) {
            found.remark(&id, KEPT_FOR_A_PERSON);
        }
        change("convergence.verification", check);
    }
    let status = task.get("_execution").unwrap_or(&task).get("status");
    if matches!(status.and_then(Value::as_str), Some("completed" | "done")) {
        found.remark(&id, NOT_DONE);
    }
    edit::with(line, &changes)
}
