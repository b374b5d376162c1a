//! The binding of a session against the branch that is checked out here.

use super::context::Context;
use super::upstream;
use loopx_base::failure::{Code, Failure, Result};
use loopx_rules::session::State;

/// The bound branch must be what is checked out here, or tree and range speak of different things.
pub(crate) fn require_branch(ctx: &Context, state: &State) -> Result<()> {
    let here = ctx.repo.head()?;
    if let Some(failure) = upstream::missing(ctx, state)? {
        return Err(failure);
    }
    match &state.branch {
        Some(bound) if here.branch.as_ref() != Some(bound) => {
            Err(mismatch(ctx, state, bound, &here.words())?)
        }
        _ => Ok(()),
    }
}

/// Requires that no other branch is checked out here: what is recorded about this tree would be another change's. A
/// detached HEAD passes, which is what CI has, and a bisection.
pub(crate) fn require_no_other(ctx: &Context, state: &State) -> Result<()> {
    let Some(bound) = &state.branch else {
        return Ok(());
    };
    let here = ctx.repo.head()?;
    let is_other = here.odd.is_some() || here.branch.as_ref().is_some_and(|here| here != bound);
    if is_other {
        return Err(mismatch(ctx, state, bound, &here.words())?);
    }
    Ok(())
}

/// Says what is wrong with a detached HEAD as the place where something is recorded: its commit is on no way to or from
/// the session's branch, so that it may be another change's. Nothing is said where the branch is not here.
pub(crate) fn stray(ctx: &Context, state: &State) -> Result<Option<String>> {
    let head = ctx.repo.head()?;
    let (Some(bound), None, Some(commit)) = (&state.branch, &head.branch, &head.commit) else {
        return Ok(None);
    };
    let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{bound}"))? else {
        return Ok(None);
    };
    let is_on = tip == *commit
        || ctx.repo.is_ancestor(commit, &tip)?
        || ctx.repo.is_ancestor(&tip, commit)?;
    let told = format!(
        "HEAD is detached at {}, which is not on {bound}: this is recorded for the code of that commit",
        commit.short()
    );
    Ok((!is_on).then_some(told))
}

fn mismatch(ctx: &Context, state: &State, bound: &str, here: &str) -> Result<Failure> {
    let id = &state.id;
    Ok(Failure::refused(
        Code::BranchMismatch,
        format!("session {id} is bound to {bound}, and {here} is checked out here"),
    )
    .help(ctx.to_branch(id, bound)?))
}
