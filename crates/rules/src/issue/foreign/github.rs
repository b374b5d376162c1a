//! GitHub's issues, as `gh issue list --json FIELDS` prints them.

use super::json::{self, Fields, inner};
use super::words::said_kind;
use super::{File, Format, Gather};
use crate::issue::plain::{Plain, PlainLink};
use crate::issue::{Made, Said, Status};
use serde_json::Value;

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    json::each(files, g, one);
}

/// The id of an issue: its repository and number, where a URL says the first.
fn id_of(number: &str, url: Option<&str>) -> String {
    let path = url.and_then(|url| url.split_once("://")?.1.split_once('/'));
    let mut parts = path.map(|(_, path)| path.split('/')).into_iter().flatten();
    match (parts.next(), parts.next()) {
        (Some(owner), Some(name)) => format!("{owner}/{name}#{number}"),
        _ => format!("#{number}"),
    }
}

fn one(mut fields: Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let Some(number) = fields.text("number", g) else {
        return g.fault(
            &at,
            "expected `number`, found none: ask gh for number,title,url,state,body",
        );
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return g.fault(&at, format!("expected a number, found `{number}`"));
    }
    let url = fields.text("url", g);
    if url.is_none() {
        g.remark(
            &at,
            "without `url` the number alone says which issue it is, whatever its repository",
        );
    }
    let id = id_of(&number, url.as_deref());
    let Some(mut plain) = g.begin(Format::Github, id, &mut fields) else {
        return;
    };
    if let Some(url) = url {
        plain.kept.insert("url".to_owned(), Value::String(url));
    }
    plain.description = fields.text("body", g).unwrap_or_default();
    state(&mut plain, &mut fields, g);
    let labels = fields.texts("labels", "name", g);
    let kind = fields.map.remove("issueType");
    let kind = kind.and_then(|kind| Some(inner(&kind, "name")?.to_owned()));
    if let Some(word) = kind.as_deref().or(said_kind(&labels)) {
        g.kind(&at, &mut plain, word);
    }
    g.labels(&mut plain, labels);
    let people = fields.texts("assignees", "login", g);
    g.people(&mut plain, people);
    if let Some(milestone) = fields.map.remove("milestone").filter(|one| !one.is_null()) {
        plain.milestone = inner(&milestone, "title").map(str::to_owned);
    }
    let author = fields.map.remove("author");
    let author = author.as_ref().and_then(|one| inner(one, "login"));
    let made = fields.text("createdAt", g);
    plain.created = (author.is_some() || made.is_some()).then(|| Made {
        by: author.unwrap_or("unknown").to_owned(),
        at: made,
    });
    for comment in fields.list("comments", g) {
        let by = comment.get("author").and_then(|one| inner(one, "login"));
        let Some(text) = inner(&comment, "body") else {
            continue;
        };
        plain.comments.push(Said {
            at: inner(&comment, "createdAt").map(str::to_owned),
            by: by.unwrap_or("unknown").to_owned(),
            kind: crate::issue::taken::message(),
            text: text.to_owned(),
        });
    }
    relations(&mut plain, &mut fields, &number, g);
    g.end(plain, fields);
}

/// Open, or why it is closed: done, or not wanted.
fn state(plain: &mut Plain, fields: &mut Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let state = fields.text("state", g);
    let why = fields.text("stateReason", g);
    fields.map.remove("closed");
    let Some(state) = state else { return };
    let word = match why.as_deref() {
        Some(why) if state.eq_ignore_ascii_case("closed") => format!("{state} {why}"),
        _ => state,
    };
    // A state without a reason is from before there were reasons: it was done.
    g.status(&at, plain, &word, |word| match word {
        "closed" | "closed_completed" => Some(Status::Resolved),
        "closed_not_planned" | "closed_duplicate" => Some(Status::Closed),
        _ => None,
    });
    if plain.status.is_some_and(Status::is_final) {
        plain.reason = Some(format!("{} on GitHub", word.to_lowercase()));
    }
}

/// Parents and blockers, where gh was asked for them.
fn relations(plain: &mut Plain, fields: &mut Fields, number: &str, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let other = |value: &Value| {
        let number = value.get("number")?.to_string();
        Some(id_of(&number, inner(value, "url")))
    };
    if let Some(parent) = fields.map.remove("parent").filter(|one| !one.is_null()) {
        match other(&parent) {
            Some(to) => plain.links.push(PlainLink {
                kind: "parent".to_owned(),
                to,
            }),
            None => g.fault(&at, format!("expected a number in the parent of #{number}")),
        }
    }
    let blockers = match fields.map.remove("blockedBy") {
        Some(Value::Object(mut one)) => one.remove("nodes"),
        other => other,
    };
    for blocker in blockers.iter().filter_map(Value::as_array).flatten() {
        match other(blocker) {
            Some(to) => plain.links.push(PlainLink {
                kind: "blocked-by".to_owned(),
                to,
            }),
            None => g.fault(&at, format!("expected a number in a blocker of #{number}")),
        }
    }
}
