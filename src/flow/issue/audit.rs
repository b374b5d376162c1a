//! `issue solution audit`: the solutions of issues against the code: what their sessions changed, and what is there.

use super::{require, solution};
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_rules::issue::solution as rules;
use loopx_rules::issue::solution::{Action, Audit, Ground, Solution, Verdict};
use loopx_rules::issue::{Issue, IssueId};
use loopx_store::Snapshot;
use serde::Serialize;

/// The reviews of an audit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// The worst of all.
    pub overall_verdict: Verdict,
    pub reviews: Vec<Review>,
}

/// The audit of a solution.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Review {
    pub issue: IssueId,
    pub solution: String,
    #[serde(flatten)]
    pub audit: Audit,
}

/// The work that the session of an issue did to the code.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub tip: Oid,
    pub files: Vec<String>,
}

/// The work of the newest session of an issue whose branch is there and has some; nothing where no session did
/// anything.
pub(super) fn work(ctx: &Context, snapshot: &Snapshot<'_>, issue: &Issue) -> Result<Option<Work>> {
    for one in issue.sessions.iter().rev() {
        let Some(session) = snapshot.find(&one.session)? else {
            continue;
        };
        let state = session.state;
        let (Some(branch), Some(base)) = (&state.branch, &state.base) else {
            continue;
        };
        let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{branch}"))? else {
            continue;
        };
        // Where the branch was rebased it is compared with what it has of the base.
        let from = ctx.repo.merge_base(base, &tip)?;
        let from = from.as_ref().unwrap_or(base);
        let tree = |commit: &Oid| ctx.repo.commit_info(commit).map(|info| info.tree);
        let files = ctx.repo.changed_paths(Some(&tree(from)?), &tree(&tip)?)?;
        if !files.is_empty() {
            return Ok(Some(Work { tip, files }));
        }
    }
    Ok(None)
}

/// The audit of a solution: values that somebody gave stand before those that are computed.
pub(super) fn judge(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    issue: &Issue,
    one: &Solution,
) -> Result<Review> {
    let audit = match &one.scored {
        Some(scored) => rules::given(scored),
        None => rules::audit(&one.proposal, &ground(ctx, snapshot, issue, one)?),
    };
    Ok(Review {
        issue: issue.id.clone(),
        solution: one.proposal.name.clone(),
        audit,
    })
}

fn ground(ctx: &Context, snapshot: &Snapshot<'_>, issue: &Issue, one: &Solution) -> Result<Ground> {
    let work = work(ctx, snapshot, issue)?;
    let head = ctx.repo.head()?.commit;
    let mut missing = Vec::new();
    if let Some(head) = head {
        let tree = ctx.repo.commit_info(&head)?.tree;
        for touched in one.proposal.touched() {
            let path = touched.path.trim_end_matches('/');
            if touched.action != Action::Create && ctx.repo.entry_at(&tree, path)?.is_none() {
                missing.push(touched.path);
            }
        }
    }
    Ok(Ground {
        changed: work.map(|work| work.files),
        missing,
    })
}

/// Audits the bound solutions of issues, or one that is named.
pub(crate) fn audit(ctx: &Context, typed: &[String], named: Option<&str>) -> Result<Report> {
    let snapshot = ctx.store()?.snapshot()?;
    let mut reviews = Vec::new();
    let mut unbound = Vec::new();
    for typed in typed {
        let read = require(&snapshot, typed)?;
        if named.is_none() && read.issue.bound.is_none() {
            unbound.push(read.issue.id);
            continue;
        }
        let one = solution::meant(&read, named)?;
        reviews.push(judge(ctx, &snapshot, &read.issue, one)?);
    }
    if !unbound.is_empty() {
        return Err(solution::unbound(&unbound.iter().collect::<Vec<_>>()));
    }
    let worst = reviews.iter().map(|review| review.audit.verdict).max();
    Ok(Report {
        overall_verdict: worst.unwrap_or(Verdict::Approved),
        reviews,
    })
}
