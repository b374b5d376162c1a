//! The backlog of Claude-Code-Workflow: `issues.jsonl`, beside it `issue-history.jsonl`, `solutions/<id>.jsonl` and the
//! queues. Solutions come as solutions of their issue; what else is said of them, and the place of an issue in a queue, is
//! kept with it as data.

use super::json::{self, Fields, inner};
use super::{File, Format, Gather, ways};
use crate::issue::plain::{Plain, PlainLink};
use crate::issue::{Made, Said, Status};
use crate::roadmap::{WAVE, label};
use serde_json::Value;
use std::collections::BTreeMap;

/// Number of issues of a queue that are named.
const SHOWN: usize = 10;

/// Files that lie beside the issues, by the id of the issue.
#[derive(Default)]
struct Beside {
    solutions: BTreeMap<String, Vec<Value>>,
    queue: BTreeMap<String, Vec<Value>>,
}

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    let mut beside = Beside::default();
    let mut issues = Vec::new();
    for file in files {
        let parts: Vec<&str> = file.name.rsplit('/').collect();
        match parts.as_slice() {
            [name, "solutions", ..] => {
                let id = name.trim_end_matches(".jsonl").to_owned();
                let found = json::objects(file, g).into_iter();
                let found = found.map(|fields| Value::Object(fields.map));
                beside.solutions.entry(id).or_default().extend(found);
            }
            [_, "queue" | "queues", ..] => queue(file, &mut beside, g),
            _ => issues.extend(json::objects(file, g)),
        }
    }
    for fields in issues {
        one(fields, &mut beside, g);
    }
    let strays: Vec<String> = beside.solutions.into_keys().collect();
    for id in strays {
        g.remark(
            &format!("solutions/{id}.jsonl"),
            "there is no such issue: its solutions are not taken over",
        );
    }
}

/// The items of a queue, each with the issue that it is of.
fn queue(file: &File, beside: &mut Beside, g: &mut Gather<'_>) {
    for fields in json::objects(file, g) {
        let mut order: Vec<String> = Vec::new();
        for list in ["solutions", "tasks", "queue", "items"] {
            let items = fields.map.get(list).and_then(Value::as_array);
            for item in items.into_iter().flatten() {
                if let Some(id) = inner(item, "issue_id") {
                    let queue = beside.queue.entry(id.to_owned()).or_default();
                    queue.push(item.clone());
                    order.push(id.to_owned());
                }
            }
        }
        order.dedup();
        if !order.is_empty() {
            let shown = order
                .iter()
                .take(SHOWN)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            let more = match order.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            g.remark(
                &fields.at,
                format!("the order of the queue there is kept as data, and computed anew here: {shown}{more}"),
            );
        }
    }
}

/// Reads one issue, without what lies beside it.
pub(super) fn alone(fields: Fields, g: &mut Gather<'_>) {
    one(fields, &mut Beside::default(), g);
}

fn one(mut fields: Fields, beside: &mut Beside, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let Some(id) = fields.text("id", g) else {
        return g.fault(&at, "expected `id`, found none");
    };
    let Some(mut plain) = g.begin(Format::Ccw, id.clone(), &mut fields) else {
        return;
    };
    plain.description = fields.text("context", g).unwrap_or_default();
    for (name, title) in [
        ("expected_behavior", "Expected"),
        ("actual_behavior", "Actual"),
    ] {
        super::text::section(&mut plain, title, fields.text(name, g));
    }
    if let Some(word) = fields.text("status", g) {
        g.status(&at, &mut plain, &word, |_| None);
        if plain.status.is_some_and(Status::is_final) {
            plain.reason = Some(format!("{word} in ccw"));
        }
    }
    if let Some(word) = fields.text("priority", g) {
        g.priority(&at, &mut plain, &word, 1);
    }
    let mut labels = fields.texts("labels", "name", g);
    labels.extend(fields.texts("tags", "name", g));
    g.labels(&mut plain, labels);
    let people: Vec<String> = fields.text("assignee", g).into_iter().collect();
    g.people(&mut plain, people);
    plain.created = fields.text("created_at", g).map(|at| Made {
        by: "unknown".to_owned(),
        at: Some(at),
    });
    for said in fields.list("feedback", g) {
        let Some(text) = inner(&said, "content") else {
            g.fault(&at, "expected a `content` in each of `feedback`");
            continue;
        };
        let kind = inner(&said, "type").unwrap_or("feedback");
        let stage = inner(&said, "stage").map(|stage| format!("{kind} at {stage}"));
        plain.comments.push(Said {
            at: inner(&said, "created_at").map(str::to_owned),
            by: "ccw".to_owned(),
            kind: match kind {
                "failure" | "rejection" => "risk".to_owned(),
                _ => "message".to_owned(),
            },
            text: format!("{}: {text}", stage.as_deref().unwrap_or(kind)),
        });
    }
    depends(&mut plain, &fields);
    if let Some(solutions) = beside.solutions.remove(&id) {
        ways::of_ccw(&mut plain, &mut fields, solutions, g);
    }
    if let Some(items) = beside.queue.remove(&id) {
        g.keep(&mut plain, "queue".to_owned(), Value::Array(items));
    }
    g.end(plain, fields);
}

/// The order and the wave of issues as a roadmap of ccw gives them. Its notes stay as they are.
fn depends(plain: &mut Plain, fields: &Fields) {
    let notes = fields.map.get("extended_context");
    let notes = notes.and_then(|context| context.get("notes"));
    let others = notes.and_then(|notes| notes.get("depends_on_issues"));
    for other in others.and_then(Value::as_array).into_iter().flatten() {
        if let Some(to) = other.as_str() {
            plain.links.push(PlainLink {
                kind: "blocked-by".to_owned(),
                to: to.to_owned(),
            });
        }
    }
    let wave = notes
        .and_then(|notes| notes.get("wave"))
        .and_then(Value::as_u64);
    let wave = wave.map(|wave| label(WAVE, wave));
    plain
        .labels
        .extend(wave.filter(|wave| !plain.labels.contains(wave)));
}
