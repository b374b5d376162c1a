//! `verify`: every commit of a range judged again, from objects and refs alone. pre-push judges with
//! the same code.
//!
//! The loopx branch counts wherever it is known: the local one, and those that were fetched.

mod approvals;
mod claims;
mod range;
mod sessions;
mod span;

pub use range::{Judged, judge};
pub use sessions::Sessions;
pub use span::Span;

use super::context::Context;
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::policy::{FILE as POLICY_FILE, Policy};
use crate::core::range_policy::{Finding, Severity};
use serde::Serialize;

/// What was typed.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub range: Option<String>,
    pub policy_from: Option<String>,
    pub branch: Option<String>,
}

/// What was judged, and what was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Absent where the range begins with the first commit.
    pub base: Option<Oid>,
    pub head: Oid,
    pub branch: Option<String>,
    /// The session that the branch is bound to.
    pub session: Option<SessionId>,
    /// Merges are passed over.
    pub commits: usize,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

/// `verify`.
pub fn verify(ctx: &Context, request: &Request) -> Result<Report> {
    let repo = &ctx.repo;
    let sessions = Sessions::open(ctx)?;
    let policy_from = match &request.policy_from {
        Some(revision) => Some(repo.resolve_commit(revision)?),
        None => None,
    };
    let span = span::find(ctx, &sessions, request, policy_from.as_ref())?;
    let policy = policy_at(ctx, policy_from.as_ref().or(span.base.as_ref()))?;
    let judged = judge(repo, &sessions, span, &policy)?;
    Ok(judged.report)
}

/// The policy of a commit; the defaults where there is none.
pub fn policy_at(ctx: &Context, commit: Option<&Oid>) -> Result<Policy> {
    match commit {
        Some(commit) => ctx.policy_at(
            &ctx.repo.commit_info(commit)?.tree,
            &format!("{POLICY_FILE} at {}", commit.short()),
        ),
        None => Ok(Policy::default()),
    }
}
