//! The checks of the policy that a session has to pass: which of them its changes ask for, and whose words they are.
//! The rules are in [`loopx_rules::policy`] and [`loopx_rules::checks`]; here they meet commits and the worktree.

use super::context::Context;
use super::evidence::RunRequest;
use super::verify::Merger;
use super::{delta, policy_moved, sign, verify};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::checks::Check;
use loopx_rules::gate::CodeFacts;
use loopx_rules::policy::{Demand, Policy};
use loopx_rules::session::State;
use loopx_rules::texts::Texts;
use std::collections::BTreeSet;

/// The checks that the session's own commits ask for, or what is not committed yet.
pub(super) fn asked(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    (code, texts): (Option<&CodeFacts>, &Texts),
) -> Result<Vec<Check>> {
    if policy.checks.is_empty() {
        return Ok(Vec::new());
    }
    let mut paths = BTreeSet::new();
    if policy.asks_checks_by_path() {
        paths = changed(&ctx.repo, &sign::own_commits(ctx, policy, state)?)?;
        let open = code.into_iter().flat_map(|code| &code.uncommitted);
        paths.extend(open.map(|one| one.path.clone()));
        paths.extend(archived(policy, texts));
    }
    policy.checks_of(&Vec::from_iter(paths))
}

/// The profile that policy demands for what the session's own commits change, or for what is not committed yet, where
/// the session's is lighter.
pub(super) fn demanded(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    (code, texts): (Option<&CodeFacts>, &Texts),
) -> Result<Option<Demand>> {
    if policy.profiles.demand.is_empty() {
        return Ok(None);
    }
    // A profile that policy does not know holds every gate already.
    let Ok(profile) = policy.profiles.get(&state.profile) else {
        return Ok(None);
    };
    let mut paths = changed(&ctx.repo, &sign::own_commits(ctx, policy, state)?)?;
    let open = code.into_iter().flat_map(|code| &code.uncommitted);
    paths.extend(open.map(|one| one.path.clone()));
    paths.extend(archived(policy, texts));
    policy.demands(&profile, &Vec::from_iter(paths))
}

/// The specs that the archive of a session will change: they land as its commits do.
pub(super) fn archived(policy: &Policy, texts: &Texts) -> Vec<String> {
    let delta = delta::read(texts).map(|(delta, _)| delta);
    let domains = delta.into_iter().flat_map(|delta| delta.domains);
    let domains = domains.filter_map(|one| one.domain);
    domains
        .map(|domain| delta::spec_path(policy, &domain))
        .collect()
}

/// The paths that some commits change, each by itself.
pub(super) fn changed(repo: &Repo, commits: &[Oid]) -> Result<BTreeSet<String>> {
    let merger = Merger::new(repo);
    let mut found = BTreeSet::new();
    for commit in commits {
        found.extend(verify::changed(repo, &merger, &repo.commit_info(commit)?)?);
    }
    Ok(found)
}

/// Adds the checks of the target's policy that the policy of the session's base lacks, or has with other words: what
/// lands is judged by them.
pub(super) fn add_of_target(
    ctx: &Context,
    state: &State,
    request: &RunRequest,
    checks: &mut Vec<Check>,
) -> Result<()> {
    let is_known = |check: &Check| {
        Some(&check.id) == request.task.as_ref()
            && (request.argv.is_empty() || request.argv == check.argv)
    };
    if checks.iter().any(is_known) {
        return Ok(());
    }
    let target = policy_moved::of_target(ctx, state)?;
    let more = target.iter().flat_map(Policy::all_checks);
    let more: Vec<Check> = more.filter(|check| !checks.contains(check)).collect();
    checks.extend(more);
    Ok(())
}

/// Refuses a check of policy that the policy of the target does not have: a role's key runs nothing that a branch of
/// somebody brings.
pub(super) fn require_of(target: Option<&Policy>, check: &Check, state: &State) -> Result<()> {
    let (why, help) = match target {
        Some(target) if target.has_check_of(&check.argv) => return Ok(()),
        Some(_) => (
            "[checks] of its target has other words",
            command!("status").session(&state.id),
        ),
        None => (
            "the branch that its result goes to is not here to say whether it has these words",
            Hint::git("fetch"),
        ),
    };
    let message = format!(
        "session {}: {} stands in [checks] of its base, {why}, and a role runs nothing else",
        state.id, check.id
    );
    Err(Failure::refused(Code::CheckNotAgreed, message).help(help))
}

/// Leaves out the checks whose words the policy of the target has: whoever reviewed that policy agreed to them. The
/// policy of the base is not asked, since whoever starts a session chooses its base. Says, too, whether there is a
/// target.
pub(super) fn not_of_target<'c>(
    ctx: &Context,
    state: &State,
    mut checks: Vec<&'c Check>,
) -> Result<(Vec<&'c Check>, bool)> {
    if !checks.iter().any(|check| check.is_of_policy()) {
        return Ok((checks, false));
    }
    let target = policy_moved::of_target(ctx, state)?;
    if let Some(target) = &target {
        checks.retain(|check| !check.is_of_policy() || !target.has_check_of(&check.argv));
    }
    Ok((checks, target.is_some()))
}
