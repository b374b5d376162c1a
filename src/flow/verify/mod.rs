//! `verify`: every commit of a range judged again, from objects and refs alone. pre-push judges with
//! the same code.
//!
//! The loopx branch counts as it is here, and as it was fetched from the default remote.

mod account;
mod approvals;
mod branch;
mod claims;
mod facts;
mod issues;
mod landing;
mod moments;
mod range;
mod results;
mod scope;
mod sessions;
mod span;
mod strict;

pub(crate) use account::View;
pub(crate) use approvals::PersonRow;
pub(super) use approvals::Words;
pub(crate) use branch::{BranchRequest, verify_branch};
pub(super) use landing::Merger;
pub(super) use range::changed;
pub(crate) use range::judge;
pub(crate) use sessions::Sessions;
pub(crate) use span::Span;

use super::context::Context;
use super::{landed, upstream};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::CommitInfo;
use loopx_rules::policy::{FILE as POLICY_FILE, Policy};
use loopx_rules::range_rules::{Finding, Head, Severity};
use loopx_rules::session::{Ending, State};
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// Arguments of `verify`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub range: Option<String>,
    pub policy_from: Option<String>,
    pub branch: Option<String>,
    /// The branch that is going to take the range.
    pub onto: Option<String>,
    /// The session that is meant, before the session that the command line names.
    pub session: Option<SessionId>,
}

/// Commits that were judged, and findings about them.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Absent where the range begins with the first commit.
    pub base: Option<Oid>,
    pub head: Oid,
    pub branch: Option<String>,
    /// The session that the branch is bound to.
    pub session: Option<SessionId>,
    /// Merges are passed over.
    pub commits: usize,
    /// Landing that the newest commit is the result of, where that is asked.
    pub result: Option<Landing>,
    /// Account of what covers each commit, where the branch is protected.
    pub account: Option<View>,
    /// People whose word and work the sessions rest on, and whether a key shows that.
    pub people: Vec<PersonRow>,
    pub findings: Vec<Finding>,
}

/// A tree, held against what was reviewed.
#[derive(Debug, Serialize)]
pub(crate) struct Landing {
    pub sessions: Vec<SessionId>,
    pub tree: Oid,
    /// Paths that no verdict covers; absent where there is no approving verdict to compare with.
    pub differing: Option<Vec<String>>,
}

impl Landing {
    fn of(head: &Head) -> Self {
        Landing {
            sessions: head.sessions.iter().map(|state| state.id.clone()).collect(),
            tree: head.tree.clone(),
            differing: head.differing.clone(),
        }
    }

    fn account(newest: &CommitInfo, sessions: &[Rc<State>], missing: &[Finding]) -> Option<Self> {
        let differing: BTreeSet<&String> = missing.iter().flat_map(|one| &one.paths).collect();
        Some(Landing {
            sessions: sessions.iter().map(|state| state.id.clone()).collect(),
            tree: newest.tree.clone(),
            differing: Some(differing.into_iter().cloned().collect()),
        })
        .filter(|landing| !landing.sessions.is_empty())
    }
}

impl Report {
    /// A report of a range in which nothing is found yet.
    fn empty(span: Span, session: Option<SessionId>, commits: usize) -> Self {
        Report {
            base: span.base,
            head: span.head,
            branch: span.branch,
            session,
            commits,
            result: None,
            account: None,
            people: Vec::new(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

/// `verify`.
pub(crate) fn verify(ctx: &Context, request: &Request) -> Result<Report> {
    let repo = &ctx.repo;
    repo.compare_hashes();
    let sessions = Sessions::open(ctx)?;
    let policy_from = match &request.policy_from {
        Some(revision) => Some(span::one_commit(repo, revision)?),
        None => None,
    };
    let mut span = span::find(ctx, &sessions, request, policy_from.as_ref())?;
    let policy = policy_at(ctx, policy_from.as_ref().or(span.base.as_ref()))?;
    let onto = match &request.onto {
        Some(onto) => Some(onto.clone()),
        None => target_after_archive(ctx, &sessions, &span, &policy)?,
    };
    let branch = onto.as_deref().or(span.branch.as_deref());
    span.protected = branch.is_some_and(|branch| policy.protects(branch));
    if span.protected && onto.is_some() {
        span.branch = onto;
    }
    judge(ctx, &sessions, span, &policy)
}

/// The protected branch that is to take the result of an archived session which the range has: no session judges those
/// commits any more, and what the branch would refuse is no less wrong for that. Where the result has landed nothing is
/// left to take.
fn target_after_archive(
    ctx: &Context,
    sessions: &Sessions<'_>,
    span: &Span,
    policy: &Policy,
) -> Result<Option<String>> {
    let repo = &ctx.repo;
    let branch = span.branch.as_deref();
    if span.bound.is_some()
        || policy.gates.protected.is_empty()
        || branch.is_some_and(|branch| policy.protects(branch))
    {
        return Ok(None);
    }
    let is_archived = |state: &Rc<State>| matches!(state.ending, Some(Ending::Archived { .. }));
    let mut archived = sessions.finished()?;
    archived.retain(is_archived);
    match branch {
        Some(_) => archived.retain(|state| state.branch.as_deref() == branch),
        // A detached HEAD, an id and a branch of a remote name no branch here: the reviewed commits say whose it is.
        None if !archived.is_empty() => {
            let all: HashSet<Oid> = repo
                .range(&span.head, &span.hidden, usize::MAX)?
                .into_iter()
                .collect();
            let reviewed = |state: &Rc<State>| landing::approving(state)?.head.clone();
            archived.retain(|state| reviewed(state).is_some_and(|head| all.contains(&head)));
        }
        None => {}
    }
    for state in archived {
        let target = upstream::target(ctx, state.branch.as_deref(), policy)?;
        let Some(target) = target.filter(|target| policy.protects(&target.name)) else {
            continue;
        };
        let landed = landed::landed(ctx, &state, policy)?;
        if landed.is_none_or(|landed| landed.is_open()) {
            return Ok(Some(target.name));
        }
    }
    Ok(None)
}

/// The policy of a commit; the defaults where there is none.
pub(crate) fn policy_at(ctx: &Context, commit: Option<&Oid>) -> Result<Policy> {
    match commit {
        Some(commit) => ctx.policy_at(
            &ctx.repo.commit_info(commit)?.tree,
            &format!("{POLICY_FILE} at {}", commit.short()),
        ),
        None => Ok(Policy::default()),
    }
}
