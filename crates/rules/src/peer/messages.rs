//! The message logs and wisdom files of ccw, as notes: each line of `messages.jsonl` a message, each entry of
//! `wisdom/{learnings,decisions,conventions,issues}.md` a note of its kind.
//!
//! Every note says where it comes from, so that a second import finds what the first one brought.

use super::Fault;
use super::json::machine_free;
use crate::lease::seconds_of;
use crate::note::bus;
use crate::note::bus::message;
use crate::note::{NoteKind, NoteSource, Said};
use crate::strict_json::strict;
use loopx_base::failure::Code;
use serde_json::{Map, Value};

/// The append-only files of a team, and what their entries are here.
pub(super) const WISDOM: [(&str, NoteKind); 4] = [
    ("learnings", NoteKind::Learning),
    ("decisions", NoteKind::Decision),
    ("conventions", NoteKind::Convention),
    ("issues", NoteKind::Risk),
];

/// The name of a log of messages.
pub const MESSAGES: &str = "messages.jsonl";
/// The longest text of a note, in bytes.
const LONGEST: usize = 60 * 1024;

/// A note of another tool, and when it was made there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    pub said: Said,
    pub at: Option<String>,
}

/// The kind of the entries of a wisdom file, by the file's name.
pub fn wisdom_kind(file: &str) -> Option<NoteKind> {
    let stem = file.strip_suffix(".md")?;
    let known = WISDOM.iter().find(|(name, _)| *name == stem)?;
    Some(known.1)
}

fn source(team: &str, id: &str) -> Option<NoteSource> {
    Some(NoteSource {
        system: "ccw".to_owned(),
        id: format!("{team}/{id}"),
    })
}

/// The entries of a wisdom file. An entry goes on in lines that are indented.
pub fn wisdom(text: &str, team: &str, file: &str) -> Vec<Brought> {
    let kind = wisdom_kind(file).unwrap_or(NoteKind::Learning);
    let mut entries: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        if let Some(entry) = line.strip_prefix("- ") {
            entries.push(entry.trim().to_owned());
            is_open = true;
        } else if line.starts_with("  ") && !line.trim().is_empty() && is_open {
            if let Some(last) = entries.last_mut() {
                last.push('\n');
                last.push_str(line.trim());
            }
        } else {
            is_open = false;
        }
    }
    let entries = entries.into_iter().filter(|entry| !entry.is_empty());
    entries
        .map(|text| {
            let (day, role) = head(&text);
            let said = Said {
                from: role,
                source: source(team, &format!("wisdom/{file}")),
                ..Said::new(kind, text)
            };
            Brought { said, at: day }
        })
        .collect()
}

/// The day and the role of an entry `[date] [role] text`.
fn head(entry: &str) -> (Option<String>, Option<String>) {
    let bracket = |text: &str| {
        let (inner, rest) = text.strip_prefix('[')?.split_once(']')?;
        Some((inner.trim().to_owned(), rest.trim_start().to_owned()))
    };
    let Some((date, rest)) = bracket(entry) else {
        return (None, None);
    };
    let at = match date.len() {
        10 => format!("{date}T00:00:00Z"),
        _ => date,
    };
    let at = seconds_of(&at).map(|_| at);
    let role = bracket(&rest).and_then(|(role, _)| bus::name("a role", &role).ok());
    (at, role)
}

/// The messages of a log. `path` is how people name the file.
pub fn messages(text: &str, team: &str, path: &str, faults: &mut Vec<Fault>) -> Vec<Brought> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match one(line, team) {
            Ok(brought) => found.push(brought),
            Err(what) => faults.push(Fault {
                code: Code::ImportInvalid,
                at: format!("{path}:{}", number + 1),
                message: what,
            }),
        }
    }
    found
}

fn one(line: &str, team: &str) -> Result<Brought, String> {
    let value =
        strict(line).map_err(|error| format!("expected a message as JSON, found none: {error}"))?;
    let Value::Object(fields) = machine_free(&value) else {
        return Err("expected a message as an object".to_owned());
    };
    let text = |field: &str| {
        let text = fields.get(field).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    let need = |field: &str| text(field).ok_or_else(|| format!("expected `{field}` as a text"));
    let (id, from) = (need("id")?, need("from")?);
    let sort = text("type").unwrap_or("message");
    let summary = text("summary");
    if summary.is_some_and(|text| text.len() > LONGEST) {
        return Err(format!("expected a summary of at most {LONGEST} bytes"));
    }
    let made = message(from, sort, text("to"), summary);
    let mut said = made.map_err(|failure| failure.message)?;
    let mut data = match fields.get("data") {
        Some(Value::Object(data)) => data.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
    };
    let about = data.remove("ref").or_else(|| fields.get("ref").cloned());
    said.about = about.and_then(|about| about.as_str().map(str::to_owned));
    let task = data.get("task_id").and_then(Value::as_str);
    said.task = task.map(str::to_owned);
    if !data.is_empty() {
        let data = Value::Object(data).to_string();
        said.data = Some(bus::data(&data).map_err(|failure| failure.message)?);
    }
    said.source = source(team, id);
    let at = text("ts").filter(|at| seconds_of(at).is_some());
    Ok(Brought {
        said,
        at: at.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::{messages, wisdom};

    #[test]
    fn a_log_becomes_messages_and_a_torn_line_is_a_fault_with_its_number() {
        let log = concat!(
            r#"{"id":"MSG-001","ts":"2026-01-02T03:04:05.678Z","from":"planner","type":"plan_ready","ref":"plan.md"}"#,
            "\n\n",
            r#"{"id":"MSG-002","from":"tester","to":"all","summary":"[tester] red","data":{"task_id":"T-1","ref":"a.rs"}}"#,
            "\n",
            r#"{"id":"MSG-003","fr"#,
        );
        let mut faults = Vec::new();
        let found = messages(log, "TLS-a", "m", &mut faults);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].said.text,
            "[planner] plan_ready \u{2192} coordinator"
        );
        assert_eq!(found[0].said.about.as_deref(), Some("plan.md"));
        assert_eq!(found[0].at.as_deref(), Some("2026-01-02T03:04:05.678Z"));
        assert_eq!(found[1].said.task.as_deref(), Some("T-1"));
        assert_eq!(found[1].said.about.as_deref(), Some("a.rs"));
        let source = found[1].said.source.as_ref().expect("a source");
        assert_eq!(source.id, "TLS-a/MSG-002");
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].at, "m:4");
    }

    #[test]
    fn an_entry_of_wisdom_names_its_role() {
        let text =
            "# Learnings\n\n- [2026-01-02] [planner] Cache it\n  twice\n- plain\n\n  no entry\n";
        let found = wisdom(text, "TLS-a", "learnings.md");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].said.text, "[2026-01-02] [planner] Cache it\ntwice");
        assert_eq!(found[0].said.from.as_deref(), Some("planner"));
        assert_eq!(found[0].at.as_deref(), Some("2026-01-02T00:00:00Z"));
        assert_eq!(found[1].said.from, None);
    }
}
