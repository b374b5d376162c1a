//! The approvals by which a session let commits in, read from the loopx branch and judged by the
//! policy of the base. The one place where `verify`, pre-push and the server ask who said yes.

use super::Sessions;
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::policy::Policy;
use crate::core::range_policy::{Claim, Commit, Finding, approvals};
use crate::flow::sign;
use crate::git::Repo;
use crate::store::Lines;
use std::collections::BTreeSet;

/// Which commits are a session's own.
pub(super) struct Own {
    /// The branch is the session's.
    pub(super) bound: bool,
    /// What its verdict brings to the target, where it lands.
    pub(super) reviewed: Vec<Oid>,
}

/// Judges every approval that moved a session, as its operations have it; findings are put down to the
/// newest of the commits, which are those that were let in, by this session where it is `own`.
pub(super) fn judge(
    repo: &Repo,
    sessions: &Sessions<'_>,
    policy: &Policy,
    session: &SessionId,
    own: &Own,
    commits: &[Commit],
) -> Result<Vec<Finding>> {
    let Some(newest) = commits.first() else {
        return Ok(Vec::new());
    };
    let (operations, signatures) = sessions.signed_operations(session)?;
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    let state = crate::store::replay(repo, session, &operations)?;
    let own = commits
        .iter()
        .filter(|commit| is_own(commit, session, own.bound))
        .map(|commit| &commit.id)
        .chain(&own.reviewed);
    let own: BTreeSet<Oid> = own.cloned().collect();
    let own: Vec<Oid> = own.into_iter().collect();
    let credentials = sign::behind(repo, policy, &state, &operations, &signatures, &own)?;
    let mut found = Vec::new();
    let all = approvals::used(session, &operations, &Lines::of(repo))?;
    found.extend(approvals::void(session, newest, &state, &all));
    found.extend(approvals::unknown(session, newest, &state));
    found.extend(approvals::taken(session, newest, &credentials));
    for used in all {
        found.extend(approvals::judge(
            policy,
            session,
            newest,
            &used,
            &credentials,
            |files| repo.tree_id(files.iter().map(|(artifact, blob)| (artifact.path(), blob))),
        )?);
    }
    Ok(found)
}

/// Whether whoever made a commit took part in a session: it names the session, or nothing else on the
/// session's own branch. A merge counts where it brings something of its own.
fn is_own(commit: &Commit, session: &SessionId, bound: bool) -> bool {
    match &commit.claim {
        Claim::States(states) => states.iter().any(|state| state.id == *session),
        Claim::Session(state) => state.id == *session,
        Claim::Nothing | Claim::Fault(_) => {
            bound && (!commit.is_merge || !commit.paths.is_empty() || !commit.resolved.is_empty())
        }
    }
}
