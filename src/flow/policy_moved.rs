//! The policy of a session's target, where it is another than the policy of the commit that the session starts
//! from: what differs, and what the target would find wrong with the approvals that are there.
//!
//! The gates of a session ask by the policy of its base; what lands is judged by the target's. Whoever works under
//! a policy that has moved is told so here, before the push. Nothing is decided here, and nothing is written.

use super::context::Context;
use super::sign;
use super::upstream::{self, Target};
use super::verify::{Words, policy_at};
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::policy::Policy;
use loopx_rules::range_rules::approvals;
use loopx_rules::session::State;
use loopx_rules::stage::{Stage, Transition};
use loopx_store::{Session, Snapshot};
use serde::Serialize;

/// Differences between the target's policy and the policy that the gates of a session ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PolicyMoved {
    pub target: String,
    /// The commit of the target whose policy counts when the session lands.
    pub commit: Oid,
    /// Tables of `loopx.toml`, and files that `loopx.toml` names, that are others there.
    pub changed: Vec<String>,
    /// Blockers by the target's policy of the approvals and the verdict as they are now.
    pub missing: Vec<Blocker>,
    pub help: Hint,
}

impl PolicyMoved {
    /// A line for somebody who goes on under the old policy.
    pub(crate) fn message(&self) -> String {
        let (target, changed) = (&self.target, self.changed.join(", "));
        if changed.is_empty() {
            return format!(
                "this session passed gates under an older policy; the policy of {target}, which judges what lands, has changed since"
            );
        }
        format!(
            "the policy of {target} has changed since this session began ({changed}), and {target} judges what lands by its present policy"
        )
    }
}

/// Looks whether the policy of a session's target has moved; `policy` is the policy of its base.
pub(crate) fn of(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    policy: &Policy,
) -> Result<Option<PolicyMoved>> {
    let (repo, state) = (&ctx.repo, &session.state);
    // In clarify no gate was passed yet, and looking for the target costs git processes in some repositories.
    let passed = state.ending.is_none() && state.stage != Stage::Clarify;
    let Some(base) = state.base.as_ref().filter(|_| passed) else {
        return Ok(None);
    };
    let Some(target) = upstream::target(ctx, state.branch.as_deref(), policy)? else {
        return Ok(None);
    };
    let Some(commit) = newest(repo, &target)? else {
        return Ok(None);
    };
    // A session that took the policy of the target by a rebase made its earlier moves under another policy.
    let may_be_rebased = state.rebased;
    // What the session starts from may be ahead of what this clone knows of the target.
    if !repo.contains(base)? || !may_be_rebased && repo.is_ancestor(&commit, base)? {
        return Ok(None);
    }
    let now = policy_at(ctx, Some(&commit))?;
    let changed = changed(policy, &now);
    if changed.is_empty() && !may_be_rebased {
        return Ok(None);
    }
    let operations = snapshot.operations(session)?;
    let signatures = snapshot.signatures(session)?;
    let own = sign::own_commits(ctx, policy, state)?;
    let words = Words {
        session: &state.id,
        operations: &operations,
        signatures: &signatures,
        commits: &own,
        reviewed: None,
        strays: &[],
    };
    let mut missing = words.faults(ctx, &now, std::slice::from_ref(&commit))?;
    if changed.is_empty() && missing.is_empty() {
        return Ok(None);
    }
    let name = target.name;
    let help = if changed.is_empty() {
        hint![
            "make those moves again: ",
            approvals::pass_again(state, Transition::PlanToBuild)
        ]
    } else {
        hint![
            format!("git merge {name}, then: "),
            command!("rebase --onto {} --reason WHY", commit.short()),
            "  (then its gates use the new policy)"
        ]
    };
    // The way on is one for all of them.
    for one in &mut missing {
        if one.code == Code::GateTooLight {
            one.help = help.clone();
        }
    }
    Ok(Some(PolicyMoved {
        target: name,
        commit,
        changed,
        missing,
        help,
    }))
}

/// The policy of the branch that a session's result goes to, found without asking the session's own policy: whoever
/// starts a session chooses its base. Nothing where there is no such branch here.
pub(super) fn of_target(ctx: &Context, state: &State) -> Result<Option<Policy>> {
    let target = upstream::target_of_project(ctx, state.branch.as_deref())?;
    let commit = match target {
        Some(target) => newest(&ctx.repo, &target)?,
        None => None,
    };
    commit
        .map(|commit| policy_at(ctx, Some(&commit)))
        .transpose()
}

/// The tip of a target that has the others behind it.
fn newest(repo: &Repo, target: &Target) -> Result<Option<Oid>> {
    let mut newest: Option<&Oid> = None;
    for tip in &target.tips {
        if match newest {
            Some(known) => repo.is_ancestor(known, tip)?,
            None => true,
        } {
            newest = Some(tip);
        }
    }
    Ok(newest.cloned())
}

/// The names of what differs, in the order of the file.
fn changed(then: &Policy, now: &Policy) -> Vec<String> {
    let tables = |policy: &Policy| match serde_json::to_value(policy) {
        Ok(serde_json::Value::Object(tables)) => tables,
        _ => serde_json::Map::new(),
    };
    let (before, after) = (tables(then), tables(now));
    let named = after
        .iter()
        .filter(|(name, table)| before.get(*name) != Some(*table));
    let mut found: Vec<String> = named.map(|(name, _)| format!("[{name}]")).collect();
    let (a, b) = (&then.trust, &now.trust);
    let files = [
        (a.signers != b.signers, now.approve.signers.as_str()),
        (a.revoked != b.revoked, &now.approve.revoked),
        (a.mailmap != b.mailmap, ".mailmap"),
    ];
    found.extend(
        files
            .iter()
            .filter(|(differs, _)| *differs)
            .map(|(_, name)| (*name).to_owned()),
    );
    found
}

/// The move of the policy of a state that was just written, for a warning.
pub(crate) fn after(ctx: &Context, state: &State) -> Result<Option<PolicyMoved>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    match snapshot.find(&state.id)? {
        Some(session) => {
            let (policy, _) = ctx.policy_if_there(&session.state)?;
            of(ctx, &snapshot, &session, &policy)
        }
        None => Ok(None),
    }
}
