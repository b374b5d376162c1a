//! The `issues.jsonl` of Beads (`bd`, `br`).

use super::json::{self, Fields, inner};
use super::text::{criteria, section};
use super::{File, Format, Gather};
use crate::issue::plain::{Estimate, Plain, PlainLink};
use crate::issue::{Made, Said, Status};
use serde_json::Value;

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    json::each(files, g, one);
}

fn one(mut fields: Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let Some(id) = fields.text("id", g) else {
        return g.fault(&at, "expected `id`, found none");
    };
    let status = fields.text("status", g);
    if status.as_deref() == Some("tombstone") {
        return g.remark(&at, format!("`{id}` was deleted there: it is passed over"));
    }
    let Some(mut plain) = g.begin(Format::Beads, id, &mut fields) else {
        return;
    };
    plain.description = fields.text("description", g).unwrap_or_default();
    criteria(
        &mut plain,
        "Acceptance criteria",
        fields.text("acceptance_criteria", g),
    );
    section(&mut plain, "Design", fields.text("design", g));
    section(&mut plain, "Notes", fields.text("notes", g));
    if let Some(word) = status {
        // Beads closes what was done.
        g.status(&at, &mut plain, &word, |word| {
            (word == "closed").then_some(Status::Resolved)
        });
        if plain.status.is_some_and(Status::is_final) {
            let why = fields.text("close_reason", g);
            plain.reason = Some(why.unwrap_or_else(|| format!("{word} in beads")));
        }
    }
    if let Some(word) = fields.text("issue_type", g) {
        g.kind(&at, &mut plain, &word);
    }
    if let Some(word) = fields.text("priority", g) {
        g.priority(&at, &mut plain, &word, 0);
    }
    let labels = fields.texts("labels", "name", g);
    g.labels(&mut plain, labels);
    let people: Vec<String> = fields.text("assignee", g).into_iter().collect();
    g.people(&mut plain, people);
    let minutes = fields.text("estimated_minutes", g);
    match minutes.as_deref().map(str::parse::<u32>) {
        Some(Ok(minutes)) if minutes > 0 => plain.estimate = Some(Estimate::Minutes(minutes)),
        Some(Err(_)) => g.fault(&at, "expected a whole number in `estimated_minutes`"),
        _ => {}
    }
    let due = fields.text("due_at", g);
    plain.due = g.day(&at, "due_at", due);
    let defer = fields.text("defer_until", g);
    plain.defer = g.day(&at, "defer_until", defer);
    plain.created = fields.text("created_at", g).map(|at| Made {
        by: "unknown".to_owned(),
        at: Some(at),
    });
    if let (Some(by), Some(made)) = (fields.text("created_by", g), &mut plain.created) {
        made.by = by;
    }
    for comment in fields.list("comments", g) {
        match inner(&comment, "text") {
            Some(text) => plain.comments.push(Said {
                at: inner(&comment, "created_at").map(str::to_owned),
                by: inner(&comment, "author").unwrap_or("unknown").to_owned(),
                kind: crate::issue::taken::message(),
                text: text.to_owned(),
            }),
            None => g.fault(&at, "expected a `text` in each of `comments`"),
        }
    }
    links(&mut plain, &mut fields, g);
    g.end(plain, fields);
}

fn links(plain: &mut Plain, fields: &mut Fields, g: &mut Gather<'_>) {
    let mut rest = Vec::new();
    for edge in fields.list("dependencies", g) {
        let to = inner(&edge, "depends_on_id").or(inner(&edge, "id"));
        let kind = inner(&edge, "type").or(inner(&edge, "dep_type"));
        let kind = match kind.unwrap_or("blocks") {
            "blocks" => "blocked-by",
            "parent-child" => "parent",
            "conditional-blocks" => "if-failed",
            "waits-for" => "waits-for",
            "discovered-from" => "discovered-from",
            "duplicates" | "duplicate-of" => "duplicate-of",
            "related" | "relates-to" => "related",
            _ => {
                rest.push(edge);
                continue;
            }
        };
        match to {
            Some(to) => plain.links.push(PlainLink {
                kind: kind.to_owned(),
                to: to.to_owned(),
            }),
            None => g.fault(
                &fields.at,
                "expected `depends_on_id` in each of `dependencies`",
            ),
        }
    }
    if !rest.is_empty() {
        g.keep(plain, "dependencies".to_owned(), Value::Array(rest));
    }
}
