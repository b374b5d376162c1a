//! Changes of the backlog since a moment: two folds of the same records, compared.

use super::then::Then;
use super::{Names, names};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId};
use loopx_base::shell_word;
use loopx_rules::issue::compare::{Difference, What, compare};
use loopx_rules::issue::{Issue, IssueId, Read, fold};
use loopx_rules::lease::seconds_of;
use loopx_rules::op::Operation;
use loopx_rules::when::Side;
use loopx_store::Snapshot;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};

/// The moment since which changes are told where nobody names one.
const SINCE: &str = "1d";

/// An issue that changed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Changed {
    pub issue: IssueId,
    pub short: String,
    pub title: String,
    pub what: What,
    /// People who changed the issue, in the order of what they did.
    pub by: Vec<String>,
    /// The time of the last change.
    pub at: String,
    pub differences: Vec<Difference>,
}

/// The changes since a moment, the largest things first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Diff {
    pub since: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub issues: Vec<Changed>,
    #[serde(skip)]
    pub names: Names,
}

/// The issues and the time that are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The issues; all of them where none is named.
    pub ids: Vec<String>,
    pub since: Option<String>,
    pub until: Option<String>,
}

/// An issue by its records.
type Log = (IssueId, Vec<Operation>);

/// The issues that changed.
pub(crate) fn diff(ctx: &Context, asked: &Asked) -> Result<Diff> {
    let snapshot = ctx.store()?.snapshot()?;
    let named = asked.ids.iter().map(|id| names::logged(&snapshot, id));
    let named = named.collect::<Result<Vec<Log>>>()?;
    let one = match named.as_slice() {
        [(id, ops)] => Some((id, ops.as_slice())),
        _ => None,
    };
    let since = asked.since.as_deref().unwrap_or(SINCE);
    let since = Then::of(ctx, &snapshot, (since, Side::Begin), one)?;
    let until = asked.until.as_deref();
    let until = until.map(|until| Then::of(ctx, &snapshot, (until, Side::End), one));
    let until = until.transpose()?;
    if let Some(until) = &until {
        require_order(ctx, asked, (&since, until))?;
    }
    let place = since.place(&snapshot)?;
    let logs = match &place {
        _ if !asked.ids.is_empty() => named,
        Some(place) => behind(&snapshot, place)?,
        None => lately(&snapshot, since.second)?,
    };
    let names = Names::of(&snapshot)?;
    let ends = (&since, place.as_ref(), until.as_ref());
    let mut found = changed(&snapshot, &logs, &names, ends)?;
    found.sort_by_cached_key(|one| (order(one.what), seconds_of(&one.at), one.issue.clone()));
    Ok(Diff {
        since: since.at(),
        until: until.as_ref().map(Then::at),
        issues: found,
        names,
    })
}

/// Refuses an end before the begin. Of two commits their order on the branch decides; a commit beside a time stands for
/// what it has, whatever clocks said.
fn require_order(ctx: &Context, asked: &Asked, (since, until): (&Then, &Then)) -> Result<()> {
    let is_before = match (&since.commit, &until.commit) {
        (Some(since), Some(until)) => since != until && ctx.repo.is_ancestor(until, since)?,
        (None, None) => until.second < since.second,
        _ => false,
    };
    if !is_before {
        return Ok(());
    }
    let (begin, end) = (asked.since.as_deref(), asked.until.as_deref());
    let (begin, end) = (begin.unwrap_or(SINCE), end.unwrap_or_default());
    let message = format!(
        "expected an end behind {}, with which it begins, found {}",
        since.named(begin),
        until.named(end)
    );
    let (begin, end) = (shell_word(begin), shell_word(end));
    let help = command!("issue diff --since {end} --until {begin}");
    Err(Failure::usage(Code::MomentUnknown, message).help(help))
}

/// The place of a kind of change: what is over comes first, as people tell it.
fn order(what: What) -> usize {
    let all = [
        What::Resolved,
        What::Closed,
        What::Reopened,
        What::Taken,
        What::GivenBack,
        What::Created,
        What::Changed,
        What::TakenBack,
    ];
    all.iter().position(|one| *one == what).unwrap_or(all.len())
}

/// The issues with a record since a second, and those of sessions, which may have ended since.
fn lately(snapshot: &Snapshot<'_>, second: i64) -> Result<Vec<Log>> {
    let all = snapshot.issues()?;
    let is_late = |issue: &Issue| {
        !issue.sessions.is_empty() || seconds_of(&issue.changed.at).is_none_or(|at| at > second)
    };
    let ids = all.issues.into_iter().filter(is_late);
    let ids = ids.map(|issue| issue.id).chain(all.withdrawn);
    let logs = ids.map(|id| {
        let ops = snapshot.issue_records(&id)?.unwrap_or_default();
        Ok((id, ops))
    });
    logs.collect()
}

/// The issues with a record that the backlog of a commit has not, and those of sessions.
fn behind(snapshot: &Snapshot<'_>, place: &Snapshot<'_>) -> Result<Vec<Log>> {
    let had: HashSet<(IssueId, Oid)> = place.issue_folders()?.into_iter().collect();
    let has = snapshot.issue_folders()?.into_iter();
    let ids = has.filter(|one| !had.contains(one)).map(|(id, _)| id);
    let mut ids: BTreeSet<IssueId> = ids.collect();
    let with_sessions = snapshot.issues()?.issues.into_iter();
    let with_sessions = with_sessions.filter(|issue| !issue.sessions.is_empty());
    ids.extend(with_sessions.map(|issue| issue.id));
    let logs = ids.into_iter().map(|id| {
        let ops = snapshot.issue_records(&id)?.unwrap_or_default();
        Ok((id, ops))
    });
    logs.collect()
}

fn changed(
    snapshot: &Snapshot<'_>,
    logs: &[Log],
    names: &Names,
    (since, place, until): (&Then, Option<&Snapshot<'_>>, Option<&Then>),
) -> Result<Vec<Changed>> {
    let known = logs.iter().map(|(id, ops)| since.records(place, id, ops));
    let known: Vec<Vec<Operation>> = known.collect::<Result<_>>()?;
    let end = until.map(|until| until.place(snapshot)).transpose()?;
    let end = end.flatten();
    let later = logs.iter().map(|(id, ops)| match until {
        Some(until) => until.records(end.as_ref(), id, ops),
        None => Ok(ops.clone()),
    });
    let later: Vec<Vec<Operation>> = later.collect::<Result<_>>()?;
    let folded = |all: &[Vec<Operation>]| -> Vec<Option<Read>> {
        let pairs = logs.iter().zip(all);
        pairs.map(|((id, _), ops)| fold(id, ops)).collect()
    };
    let (mut before, mut now) = (folded(&known), folded(&later));
    settle(snapshot, &mut before, Some(since.second))?;
    settle(snapshot, &mut now, until.map(|until| until.second))?;
    let mut found = Vec::new();
    for (at, (id, _)) in logs.iter().enumerate() {
        let Some((what, differences)) = compare(before[at].as_ref(), now[at].as_ref()) else {
            continue;
        };
        let known: HashSet<&OpId> = known[at].iter().map(|op| &op.op).collect();
        let later = later[at].iter().filter(|op| !known.contains(&op.op));
        let later: Vec<&Operation> = later.collect();
        let read = now[at].as_ref().or(before[at].as_ref());
        found.push(Changed {
            issue: id.clone(),
            short: names.short(id).to_owned(),
            title: read.map_or_else(String::new, |read| read.issue.title.clone()),
            what,
            by: people(&later),
            at: later.last().map_or_else(|| since.at(), |op| op.at.clone()),
            differences,
        });
    }
    Ok(found)
}

/// The names of those who wrote records, each once.
fn people(ops: &[&Operation]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for op in ops {
        if !found.contains(&op.by.name) {
            found.push(op.by.name.clone());
        }
    }
    found
}

/// Puts in what had become of sessions at a second.
fn settle(snapshot: &Snapshot<'_>, reads: &mut [Option<Read>], second: Option<i64>) -> Result<()> {
    let mut with: Vec<&mut Read> = reads
        .iter_mut()
        .flatten()
        .filter(|read| !read.issue.sessions.is_empty())
        .collect();
    let mut issues: Vec<Issue> = with.iter().map(|read| read.issue.clone()).collect();
    super::sessions::settle_at(snapshot, &mut issues, second)?;
    for (read, issue) in with.iter_mut().zip(issues) {
        read.issue = issue;
    }
    Ok(())
}
