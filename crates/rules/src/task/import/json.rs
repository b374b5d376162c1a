//! `slices.json` of every age.

use super::{
    Draft, Imported, KEPT_FOR_A_PERSON, Source, broken, check_of, invalid, no_check, put_theirs,
    theirs_as,
};
use crate::strict_json::strict;
use loopx_base::failure::Result;
use serde_json::{Map, Value, json};

/// Fields that become fields of a task; any other stays under its own name.
const READ: [&str; 10] = [
    "id",
    "title",
    "behaviour",
    "behavior",
    "acceptance_criteria",
    "verification",
    "verification_signal",
    "scenarios",
    "blocked_by",
    "files",
];

pub(super) fn slices(source: &Source, found: &mut Imported) -> Result<()> {
    let value = strict(&source.text).map_err(|error| broken(source, &error))?;
    let list = value.get("slices").unwrap_or(&value).as_array();
    let list = list.ok_or_else(|| invalid(source, "expected a list of slices"))?;
    for (at, slice) in (1..).zip(list) {
        let fields = slice.as_object();
        let fields =
            fields.ok_or_else(|| invalid(source, format!("slice {at}: expected an object")))?;
        let line = one(fields, found)
            .ok_or_else(|| invalid(source, format!("slice {at}: expected an `id`, found none")))?;
        found.lines.push(line);
    }
    Ok(())
}

fn one(slice: &Map<String, Value>, found: &mut Imported) -> Option<String> {
    let id = slice.get("id")?.as_str()?;
    let text = |field: &str| slice.get(field).and_then(Value::as_str).unwrap_or_default();
    let behaviour = [text("behaviour"), text("behavior")].concat();
    let title = match text("title") {
        "" => behaviour.as_str(),
        title => title,
    };
    let mut draft = Draft::default();
    draft.put("id", &json!(id));
    draft.put("title", &json!(title));
    if behaviour != title {
        draft.some("description", Some(&json!(behaviour)));
    }
    draft.some("depends_on", slice.get("blocked_by"));
    draft.some("scenarios", slice.get("scenarios"));
    draft.some("files", slice.get("files"));
    let check = check(slice, id, found);
    let none = json!([]);
    let criteria = slice.get("acceptance_criteria").unwrap_or(&none);
    draft.put(
        "convergence",
        &json!({"criteria": criteria, "verification": check}),
    );
    for (field, value) in slice {
        if field == "type" && is_said(value, &check) {
            draft.some(&theirs_as(slice, field), Some(value));
        } else if !READ.contains(&field.as_str()) {
            put_theirs(&mut draft, found, (id, slice), (field, value));
        }
    }
    Some(draft.line())
}

/// Tells whether the form of the check says a type, too, or a remark speaks of it already: who completes the task.
fn is_said(kind: &Value, check: &Value) -> bool {
    match kind.as_str() {
        Some("AFK") => check.get("cmd").is_some(),
        Some("HITL") => true,
        _ => false,
    }
}

fn check(slice: &Map<String, Value>, id: &str, found: &mut Imported) -> Value {
    let said = slice.get("verification").filter(|value| !value.is_null());
    let is_for_a_person = slice.get("type").and_then(Value::as_str) == Some("HITL");
    match said.or_else(|| slice.get("verification_signal")) {
        Some(Value::Array(argv)) if !argv.is_empty() => {
            if is_for_a_person {
                found.remark(
                    id,
                    "it needs a person (HITL), and has a command; the command decides here",
                );
            }
            json!({"cmd": argv})
        }
        Some(Value::String(text)) => {
            let check = check_of(text);
            if check == json!({"manual": text.trim()}) {
                found.remark(id, KEPT_FOR_A_PERSON);
            }
            check
        }
        _ => no_check(),
    }
}
