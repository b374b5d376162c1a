//! A backlog that is taken over again: what its program changed since is told, and brought where somebody asks for it.

use super::change::{check, shortened};
use super::undo::off;
use super::{Names, Step, apart, require_person, ways};
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_base::hint::Hint;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::foreign::{Finding, Item, later};
use loopx_rules::issue::solution::Way;
use loopx_rules::issue::{Issue, IssueId, Status, fold};
use loopx_rules::op::Operation;
use loopx_store::Snapshot;
use serde::Serialize;

/// An issue of which its program says something else than when it spoke last.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Differs {
    pub issue: IssueId,
    /// The place of the issue in the file.
    pub at: String,
    /// The differences, in words.
    pub changes: Vec<String>,
    /// Differences that stand beside what was written here, once they are brought: somebody has to settle them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<String>,
    /// The command that settles the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Hint>,
    #[serde(skip)]
    said: Vec<Change>,
    /// Solutions that came since.
    #[serde(skip)]
    ways: Vec<Way>,
    #[serde(skip)]
    reason: Option<String>,
}

/// News of an issue that is here: what its program says otherwise than before, where it does.
pub(super) fn differs(
    snapshot: &Snapshot<'_>,
    id: &IssueId,
    item: &Item,
) -> Result<Option<Differs>> {
    if item.plain.source.is_none() {
        return Ok(None);
    }
    let ops = snapshot.issue_records(id)?.unwrap_or_default();
    let said = later::since(id, &later::spoken(&ops, &off(&ops)), &item.plain.changes());
    let ways = later::ways(id, &ops, &item.plain.ways);
    if said.is_empty() && ways.is_empty() {
        return Ok(None);
    }
    let more = ways
        .iter()
        .map(|way| format!("solution +{}", way.proposal.name));
    Ok(Some(Differs {
        issue: id.clone(),
        at: item.at.clone(),
        changes: said.iter().map(Change::words).chain(more).collect(),
        ways,
        apart: Vec::new(),
        settle: None,
        reason: item.plain.reason.clone(),
        said,
    }))
}

/// Says of what was brought which of it stands beside what was written here.
pub(super) fn judged(snapshot: &Snapshot<'_>, names: &Names, all: &mut [Differs]) -> Result<()> {
    for one in all {
        let Some(read) = snapshot.issue(&one.issue)? else {
            continue;
        };
        let issue = read.issue;
        let is_apart = |words: &&String| {
            let field = words.split(' ').next().unwrap_or_default();
            issue.apart_in(field).is_some()
        };
        one.apart = one.changes.iter().filter(is_apart).cloned().collect();
        if !one.apart.is_empty() {
            one.settle = apart::settle(&issue, names.short(&one.issue));
        }
    }
    Ok(())
}

/// The title that its program gave an issue last, whatever somebody made of it here.
pub(super) fn spoken_title(snapshot: &Snapshot<'_>, id: &IssueId) -> Result<Option<String>> {
    let ops = snapshot.issue_records(id)?.unwrap_or_default();
    let issue = place(id, &later::spoken(&ops, &off(&ops)));
    Ok(issue.map(|(issue, _)| issue.title))
}

/// Refuses what no issue can have, each with its place.
pub(super) fn faults(ctx: &Context, all: &[Differs]) -> Vec<Finding> {
    let mut found = Vec::new();
    for one in all {
        for failure in one
            .said
            .iter()
            .filter_map(|change| check(ctx, change).err())
        {
            found.push(Finding {
                at: one.at.clone(),
                message: failure.message,
            });
        }
    }
    found
}

/// The records that bring what the program changed: each stands behind those by which the program spoke before, beside
/// what was done here since.
pub(super) fn steps(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    all: &[Differs],
    format: &str,
) -> Result<Vec<Step>> {
    let resolves = |one: &Differs| one.said.contains(&Change::Status(Status::Resolved));
    if all.iter().any(resolves) {
        require_person(ctx, "resolving an issue")?;
    }
    let mut steps = Vec::new();
    for one in all {
        let ops = snapshot.issue_records(&one.issue)?.unwrap_or_default();
        let spoken = later::spoken(&ops, &off(&ops));
        let Some((before, source)) = place(&one.issue, &spoken) else {
            continue;
        };
        let mut ways = ways::steps(&one.issue, &one.ways, usize::from(!one.said.is_empty()));
        if one.said.is_empty() {
            if let Some(first) = ways.first_mut() {
                first.before = Some(before);
            }
            steps.extend(ways);
            continue;
        }
        let mut changes = vec![source];
        changes.extend(one.said.iter().cloned());
        let ends = |change: &Change| matches!(change, Change::Status(status) if status.is_final());
        let ends = one.said.iter().any(ends);
        let why = || format!("{format} says so");
        steps.push(Step {
            id: one.issue.clone(),
            before: Some(before),
            body: IssueEvent::Changed { changes }.into(),
            reason: ends.then(|| one.reason.clone().unwrap_or_else(why)),
        });
        steps.extend(ways);
    }
    Ok(steps)
}

/// The words of what is brought, for the subject of the commit.
pub(super) fn words(all: &[Differs]) -> String {
    let words: Vec<String> = all.iter().flat_map(|one| one.changes.clone()).collect();
    shortened(&words)
}

/// The issue as its program left it, and where it comes from.
fn place(id: &IssueId, spoken: &[&Operation]) -> Option<(Issue, Change)> {
    let ops: Vec<Operation> = spoken.iter().map(|op| (*op).clone()).collect();
    let mut issue = fold(id, &ops)?.issue;
    let source = Change::Source(issue.source.clone()?);
    issue.newest = ops.iter().map(|op| op.op.clone()).collect();
    Some((issue, source))
}
