//! The approvals by which a session let commits in, read from the loopx branch and judged by the
//! policy of the base. The one place where `verify`, pre-push and the server ask who said yes.

use super::Sessions;
use crate::core::failure::{Blocker, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::policy::Policy;
use crate::core::range_policy::{Claim, Commit, Finding, approvals};
use crate::flow::context::Context;
use crate::flow::sign;
use crate::store::{Lines, SignatureFiles};
use std::collections::BTreeSet;

/// Which commits are a session's own.
pub(super) struct Own {
    /// The branch is the session's.
    pub(super) bound: bool,
    /// What its verdict brings to the target, where it lands.
    pub(super) reviewed: Vec<Oid>,
}

/// Judges every approval that moved a session, as its operations have it; findings are put down to the
/// newest of the commits, which are those that were let in, by this session where it is `own`. `tips` are what is
/// on the target.
pub(super) fn judge(
    (ctx, policy): (&Context, &Policy),
    sessions: &Sessions<'_>,
    session: &SessionId,
    own: &Own,
    commits: &[Commit],
    tips: &[Oid],
) -> Result<Vec<Finding>> {
    let Some(newest) = commits.first() else {
        return Ok(Vec::new());
    };
    let (operations, signatures) = sessions.signed_operations(session)?;
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    let own = commits
        .iter()
        .filter(|commit| is_own(commit, session, own.bound))
        .map(|commit| &commit.id)
        .chain(&own.reviewed);
    let own: BTreeSet<Oid> = own.cloned().collect();
    let words = Words {
        session,
        operations: &operations,
        signatures: &signatures,
        commits: &Vec::from_iter(own),
    };
    let found = words.faults(ctx, policy, tips)?.into_iter();
    Ok(found.map(|blocker| Finding::of(newest, blocker)).collect())
}

/// What was said in a session, and the commits that are its own.
pub(in crate::flow) struct Words<'a> {
    pub(in crate::flow) session: &'a SessionId,
    pub(in crate::flow) operations: &'a [Operation],
    pub(in crate::flow) signatures: &'a SignatureFiles,
    pub(in crate::flow) commits: &'a [Oid],
}

impl Words<'_> {
    /// What the policy of a target finds wrong with the approvals that moved the session. A move that was made
    /// once more later is judged by what its gate asked then, as far as the target, whose tips these are, asked
    /// that once: whoever was let in honestly did no wrong when policy moved on.
    pub(in crate::flow) fn faults(
        &self,
        ctx: &Context,
        policy: &Policy,
        tips: &[Oid],
    ) -> Result<Vec<Blocker>> {
        let (repo, session) = (&ctx.repo, self.session);
        let state = crate::store::replay(repo, session, self.operations)?;
        let credentials = sign::behind(
            repo,
            policy,
            &state,
            self.operations,
            self.signatures,
            self.commits,
        )?;
        let all = approvals::used(session, self.operations, &Lines::of(repo))?;
        let mut found = approvals::void(session, &state, &all);
        found.extend(approvals::unknown(session, &state));
        found.extend(approvals::taken(session, &credentials));
        for used in all {
            let earlier = match used.superseded {
                true => earlier(ctx, policy, used.base.as_ref(), tips)?,
                false => None,
            };
            let policy = earlier.as_ref().unwrap_or(policy);
            found.extend(approvals::judge(
                policy,
                session,
                &used,
                &credentials,
                |files| repo.tree_id(files.iter().map(|(artifact, blob)| (artifact.path(), blob))),
            )?);
        }
        Ok(found)
    }
}

/// The policy of a base that the target has, with the keys that count now.
fn earlier(
    ctx: &Context,
    policy: &Policy,
    base: Option<&Oid>,
    tips: &[Oid],
) -> Result<Option<Policy>> {
    let Some(base) = base else {
        return Ok(None);
    };
    if !ctx.repo.contains(base)? {
        return Ok(None);
    }
    for tip in tips {
        if ctx.repo.is_ancestor(base, tip)? {
            let mut found = super::policy_at(ctx, Some(base))?;
            found.trust = policy.trust.clone();
            return Ok(Some(found));
        }
    }
    Ok(None)
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
