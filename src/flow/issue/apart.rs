//! Fields that clones wrote apart in the backlog: told wherever both come together, each with the command that settles it.

use super::{Names, sessions};
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_rules::issue::{Apart, Criterion, Issue, IssueId, TICKED, criterion_field};
use loopx_store::Snapshot;
use serde::Serialize;

/// An issue that clones wrote apart, or began apart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ApartIssue {
    pub issue: IssueId,
    pub short: String,
    /// The fields that somebody has to settle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The command that settles the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Hint>,
    /// The sessions that go on for it, where these are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionId>,
}

/// The fields of an issue that somebody has to settle: of two claims the earlier one counts.
fn fields(issue: &Issue) -> impl Iterator<Item = &Apart> {
    issue.apart.iter().filter(|apart| apart.field != "claim")
}

/// The command that settles the first field of an issue that people wrote apart, by the last of its values; `None` where no
/// single command does.
pub(crate) fn settle(issue: &Issue, short: &str) -> Option<Hint> {
    // A status holds the issue back: it goes first.
    let apart = issue.apart_in("status").or_else(|| fields(issue).next())?;
    let value = apart.values.last().map_or("", |one| one.value.as_str());
    Some(match apart.field.as_str() {
        "status" => match value {
            "resolved" => command!("issue resolve {short} --reason WHY"),
            "closed" => command!("issue close {short} --reason WHY"),
            "planned" => command!("issue edit {short} --status planned"),
            "queued" => command!("issue edit {short} --status queued"),
            _ => command!("issue edit {short} --status open"),
        },
        "due" if value == "none" => command!("issue edit {short} --no-due"),
        "defer" if value == "none" => command!("issue edit {short} --no-defer"),
        "estimate" if value == "none" => command!("issue edit {short} --no-estimate"),
        "milestone" if value == "none" => command!("issue edit {short} --no-milestone"),
        "assignee" if value == "none" => command!("issue edit {short} --no-assignee"),
        "title" | "kind" | "priority" | "due" | "defer" | "estimate" | "milestone" | "assignee" => {
            command!("issue edit {short} --{} {}", apart.field, shell_word(value))
        }
        "description" => command!("issue edit {short} -F FILE"),
        "parent" => command!("issue link {short} parent {value}"),
        field => return settle_criterion(issue, short, (field, value)),
    })
}

/// The command that settles a criterion: it holds, or it does not.
fn settle_criterion(issue: &Issue, short: &str, (field, value): (&str, &str)) -> Option<Hint> {
    let is_it = |one: &Criterion| field == criterion_field(&one.text);
    let number = issue.criteria.iter().position(is_it)? + 1;
    Some(match value {
        TICKED => command!("issue tick {short} {number}"),
        _ => command!("issue untick {short} {number}"),
    })
}

/// The issues of a state that clones wrote or began apart.
pub(in crate::flow) fn found(snapshot: &Snapshot<'_>) -> Result<Vec<ApartIssue>> {
    let all = super::all(snapshot)?;
    let names = Names::of_issues(&all);
    let twice = sessions::begun_twice(snapshot, &all.issues)?;
    let found = all.issues.iter().filter_map(|issue| {
        let short = names.short(&issue.id);
        let one = ApartIssue {
            issue: issue.id.clone(),
            short: short.to_owned(),
            fields: fields(issue).map(|apart| apart.field.clone()).collect(),
            settle: settle(issue, short),
            sessions: twice.get(&issue.id).cloned().unwrap_or_default(),
        };
        (!one.fields.is_empty() || !one.sessions.is_empty()).then_some(one)
    });
    Ok(found.collect())
}

/// The issues that somebody has to settle, in words.
pub(crate) fn listed(found: &[ApartIssue]) -> Option<String> {
    let open = found.iter().filter(|one| !one.fields.is_empty());
    let words: Vec<String> = open
        .map(|one| format!("{} ({})", one.short, one.fields.join(", ")))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The command that leads on: it settles the only one, or lists them.
pub(crate) fn way(found: &[ApartIssue]) -> Option<Hint> {
    let mut open = found.iter().filter(|one| !one.fields.is_empty());
    let first = open.next()?;
    let only = first.settle.clone().filter(|_| open.next().is_none());
    Some(only.unwrap_or_else(|| command!("issue list --apart")))
}

/// The issues of a state that clones made apart; none where the backlog is what it was. What cannot be read is for `fsck`.
pub(in crate::flow) fn since(ctx: &Context, before: Option<&Oid>, now: &Oid) -> Vec<ApartIssue> {
    let at = |tip: &Oid| Snapshot::at(&ctx.repo, tip.clone(), "the branch");
    let known = before.and_then(|before| at(before).ok());
    let looked = at(now).and_then(|now| {
        let is_same = match known {
            Some(known) => known.issues_tree()? == now.issues_tree()?,
            None => false,
        };
        if is_same { Ok(Vec::new()) } else { found(&now) }
    });
    looked.unwrap_or_default()
}
