//! Tasks of Taskwarrior, as `task export` prints them.

use super::json::{self, Fields, inner};
use super::text::{moment, titled};
use super::{File, Format, Gather};
use crate::issue::plain::{Plain, PlainLink};
use crate::issue::{Made, Said, Status};
use crate::lease::{clock, seconds_of};
use serde_json::Value;
use std::collections::BTreeMap;

/// Fields that follow from the others and from the day on which somebody asks: they would be news each time.
const COMPUTED: [&str; 4] = ["id", "urgency", "mask", "imask"];

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    json::each(files, g, one);
}

fn one(mut fields: Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let Some(uuid) = fields.text("uuid", g) else {
        return g.fault(&at, "expected `uuid`, found none");
    };
    let status = fields.text("status", g);
    if status.as_deref() == Some("deleted") {
        return g.remark(
            &at,
            format!("`{uuid}` was deleted there: it is passed over"),
        );
    }
    // What is to be done is one text there.
    let Some(text) = fields.text("description", g) else {
        return g.fault(&at, "expected `description`, found none");
    };
    let (title, rest) = titled(&text);
    fields.map.insert("title".to_owned(), Value::String(title));
    let Some(mut plain) = g.begin(Format::Taskwarrior, uuid, &mut fields) else {
        return;
    };
    plain.description = rest;
    let is_begun = fields.map.contains_key("start");
    if let Some(word) = status {
        let own = |word: &str| match word {
            "pending" if is_begun => Some(Status::InProgress),
            // It waits for a day, which is taken over.
            "waiting" => Some(Status::Open),
            _ => None,
        };
        g.status(&at, &mut plain, &word, own);
        if plain.status.is_some_and(Status::is_final) {
            plain.reason = Some(format!("{word} in Taskwarrior"));
        }
    }
    if let Some(word) = fields.text("priority", g) {
        g.priority(&at, &mut plain, &word, 0);
    }
    let mut labels = fields.texts("tags", "name", g);
    let project = fields.text("project", g);
    labels.extend(project.map(|name| format!("project:{name}")));
    g.labels(&mut plain, labels);
    days(&mut plain, &mut fields, g);
    let entry = fields.text("entry", g);
    plain.created = entry.map(|text| Made {
        by: "unknown".to_owned(),
        at: time(&at, "entry", &text, g),
    });
    for said in fields.list("annotations", g) {
        let Some(text) = inner(&said, "description") else {
            g.fault(&at, "expected a `description` in each of `annotations`");
            continue;
        };
        let when = inner(&said, "entry");
        plain.comments.push(Said {
            at: when.and_then(|text| time(&at, "entry", text, g)),
            by: "unknown".to_owned(),
            kind: crate::issue::taken::message(),
            text: text.to_owned(),
        });
    }
    for to in depends(&mut fields, g) {
        plain.links.push(PlainLink {
            kind: "blocked-by".to_owned(),
            to,
        });
    }
    for name in COMPUTED {
        fields.map.remove(name);
    }
    g.end(plain, fields);
}

/// A time as RFC 3339; what is none is a fault.
fn time(at: &str, name: &str, text: &str, g: &mut Gather<'_>) -> Option<String> {
    let found = moment(text);
    if found.is_none() {
        let message = format!("expected a time like 20260102T090507Z in `{name}`, found `{text}`");
        g.fault(at, message);
    }
    found
}

/// Seconds of a quarter of an hour: no place is off Greenwich by a part of it.
const QUARTER: i64 = 15 * 60;
const DAY: i64 = 24 * 60 * 60;

/// The moments in files at which a day may begin east of Greenwich, each with that day. A day is written there as its first
/// moment, in UTC.
pub fn evenings(files: &[File]) -> BTreeMap<i64, String> {
    let words = files.iter().flat_map(|file| file.text.split('"'));
    let moments = words.filter(|word| word.len() == 16 && word.ends_with('Z'));
    let seconds = moments.filter_map(|word| seconds_of(&moment(word)?));
    // No place is ahead of Greenwich by more than fourteen hours.
    let is_late =
        |second: &i64| second.rem_euclid(DAY) >= 10 * 60 * 60 && second.rem_euclid(QUARTER) == 0;
    let late = seconds.filter(is_late);
    late.map(|second| (second, day_behind(second))).collect()
}

/// The day that follows on the one of a moment, in UTC.
fn day_behind(second: i64) -> String {
    clock(second.saturating_add(DAY)).chars().take(10).collect()
}

/// Day by which the issue is due, and the later of the days before which nobody begins.
fn days(plain: &mut Plain, fields: &mut Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let mut day = |name: &'static str, g: &mut Gather<'_>| {
        let text = fields.text(name, g)?;
        let text = moment(&text).unwrap_or(text);
        let second = seconds_of(&text);
        let begins = second.filter(|second| g.wishes.midnights.contains(second));
        g.day(&at, name, Some(begins.map_or(text, day_behind)))
    };
    plain.due = day("due", g);
    let wait = day("wait", g);
    plain.defer = wait.max(day("scheduled", g));
}

/// Tasks that the task waits for: a list, or as older programs write it a text.
fn depends(fields: &mut Fields, g: &mut Gather<'_>) -> Vec<String> {
    match fields.map.get("depends") {
        Some(Value::String(text)) => {
            let all = text.split(',').map(str::trim).filter(|one| !one.is_empty());
            let all = all.map(str::to_owned).collect();
            fields.map.remove("depends");
            all
        }
        _ => fields.texts("depends", "uuid", g),
    }
}
