//! GitLab's issues, as `glab issue list -F json` prints them.

use super::json::{self, Fields, inner};
use super::words::said_kind;
use super::{File, Format, Gather};
use crate::issue::plain::{Estimate, Plain};
use crate::issue::{Made, Status};

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    json::each(files, g, one);
}

/// The id of an issue: its project and number, where a reference or an address says the first.
fn id_of(number: &str, fields: &Fields) -> Option<String> {
    let references = fields.map.get("references");
    if let Some(full) = references.and_then(|all| inner(all, "full")) {
        return Some(full.to_owned());
    }
    let url = fields.map.get("web_url")?.as_str()?;
    let (_, path) = url.split_once("://")?.1.split_once('/')?;
    let (project, _) = path
        .split_once("/-/")
        .or_else(|| path.split_once("/issues/"))?;
    Some(format!("{project}#{number}"))
}

fn one(mut fields: Fields, g: &mut Gather<'_>) {
    let at = fields.at.clone();
    let Some(number) = fields.text("iid", g) else {
        return g.fault(&at, "expected `iid`, found none");
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return g.fault(&at, format!("expected a number, found `{number}`"));
    }
    let id = id_of(&number, &fields).unwrap_or_else(|| {
        g.remark(
            &at,
            "without `web_url` the number alone says which issue it is, whatever its project",
        );
        format!("#{number}")
    });
    let Some(mut plain) = g.begin(Format::Gitlab, id, &mut fields) else {
        return;
    };
    plain.description = fields.text("description", g).unwrap_or_default();
    if let Some(word) = fields.text("state", g) {
        // There is no reason: what is closed was done.
        g.status(&at, &mut plain, &word, |word| {
            (word == "closed").then_some(Status::Resolved)
        });
        if plain.status.is_some_and(Status::is_final) {
            plain.reason = Some(format!("{word} on GitLab"));
        }
    }
    let labels = fields.texts("labels", "name", g);
    let kind = fields.text("issue_type", g);
    // Every issue of GitLab is an issue.
    let kind = kind.filter(|word| word != "issue");
    if let Some(word) = kind.as_deref().or(said_kind(&labels)) {
        g.kind(&at, &mut plain, word);
    }
    g.labels(&mut plain, labels);
    people(&mut plain, &mut fields, g);
    if let Some(milestone) = fields.map.remove("milestone").filter(|one| !one.is_null()) {
        plain.milestone = inner(&milestone, "title").map(str::to_owned);
    }
    let due = fields.text("due_date", g);
    plain.due = g.day(&at, "due_date", due);
    let seconds = fields.map.get("time_stats");
    let seconds = seconds.and_then(|stats| stats.get("time_estimate")?.as_u64());
    let minutes = seconds.and_then(|seconds| u32::try_from(seconds / 60).ok());
    plain.estimate = minutes.filter(|one| *one > 0).map(Estimate::Minutes);
    let author = fields.map.remove("author");
    let author = author.as_ref().and_then(|one| inner(one, "username"));
    let made = fields.text("created_at", g);
    plain.created = (author.is_some() || made.is_some()).then(|| Made {
        by: author.unwrap_or("unknown").to_owned(),
        at: made,
    });
    g.end(plain, fields);
}

/// People who are to do the issue; older servers name one of them a second time.
fn people(plain: &mut Plain, fields: &mut Fields, g: &mut Gather<'_>) {
    let mut names = fields.texts("assignees", "username", g);
    let one = fields.map.remove("assignee");
    let one = one
        .as_ref()
        .and_then(|one| inner(one, "username").map(str::to_owned));
    let one = one.filter(|one| names.iter().all(|name| name != one));
    names.extend(one);
    g.people(plain, names);
}
