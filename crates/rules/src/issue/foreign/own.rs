//! JSON lines of this program, as `issue export` writes them.

use super::json::{self, Fields};
use super::{File, Gather, ways};
use crate::issue::IssueId;
use crate::issue::filter::minutes;
use crate::issue::plain::{Estimate, Plain};
use serde_json::Value;

const KNOWN: [&str; 22] = [
    "key",
    "id",
    "title",
    "description",
    "kind",
    "status",
    "reason",
    "priority",
    "labels",
    "milestone",
    "due",
    "defer",
    "until",
    "estimate",
    "repeat",
    "assignee",
    "criteria",
    "links",
    "source",
    "created",
    "place",
    "comments",
];

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    json::each(files, g, one);
}

fn one(mut fields: Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let kept = match fields.map.remove("kept") {
        Some(Value::Object(kept)) => kept,
        None | Some(Value::Null) => serde_json::Map::new(),
        Some(_) => return g.fault(&at, "expected an object in `kept`"),
    };
    let known: serde_json::Map<String, Value> = KNOWN
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fields.map.remove(*name)?)))
        .collect();
    let mut plain: Plain = match serde_json::from_value(Value::Object(known)) {
        Ok(plain) => plain,
        Err(error) => return g.fault(&at, format!("expected an issue: {error}")),
    };
    if plain.title.trim().is_empty() {
        return g.fault(&at, "expected `title`, found none");
    }
    if let Some(Estimate::Text(text)) = &plain.estimate
        && minutes(text).is_none()
    {
        return g.fault(
            &at,
            format!("expected a time like 90m, 4h or 2d, found `{text}`"),
        );
    }
    let Some(key) = plain
        .id
        .as_ref()
        .map(IssueId::to_string)
        .or(plain.key.take())
    else {
        return g.fault(&at, "expected `id`, found none");
    };
    let Some(key) = g.key(&at, key) else { return };
    plain.key = Some(key);
    plain.kept = kept.into_iter().collect();
    ways::exported(&at, &mut plain, g);
    g.end(plain, fields);
}
