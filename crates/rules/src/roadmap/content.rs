//! The content of a roadmap that an approval is for: which issues, in which order and place, and when each is done. How far
//! the work on them is, and who has it, is no part of it.

use super::place::is_place;
use super::{Cut, Shape};
use crate::issue::Issue;
use serde_json::json;

/// The content as one text, the same wherever the same issues stand in the same places. `title` and `document` are the
/// title and the description of the roadmap.
pub fn content(title: &str, document: &str, cut: &Cut, shape: &Shape<'_>) -> String {
    let mut issues: Vec<&Issue> = shape.issues().collect();
    issues.sort_by(|one, other| one.id.cmp(&other.id));
    let issues: Vec<_> = issues.into_iter().map(place).collect();
    json!({ "title": title, "document": document, "cut": cut, "issues": issues }).to_string()
}

fn place(issue: &Issue) -> serde_json::Value {
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    let labels = issue.labels.iter().filter(|label| is_place(label)).cloned();
    let links = issue.links.iter().filter(|link| link.kind.orders());
    let links = links.map(|link| format!("{} {}", link.kind, link.to));
    let criteria = issue.criteria.iter().map(|one| one.text.clone());
    json!({
        "id": issue.id,
        "title": issue.title,
        "milestone": issue.milestone,
        "labels": sorted(labels.collect()),
        "links": sorted(links.collect()),
        "criteria": criteria.collect::<Vec<_>>(),
    })
}
