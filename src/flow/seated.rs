//! Whether the branch that a session is bound to is the one that is checked out here.

use super::context::Context;
use super::upstream;
use crate::core::failure::{Code, Failure, Result};
use crate::core::session::State;

/// The bound branch must be what is checked out here, or tree and range speak of different things.
pub fn require_branch(ctx: &Context, state: &State) -> Result<()> {
    let here = ctx.repo.head()?.branch;
    if let Some(failure) = upstream::missing(ctx, state)? {
        return Err(failure);
    }
    match &state.branch {
        Some(bound) if here.as_ref() != Some(bound) => {
            let here = here.unwrap_or_else(|| "a detached HEAD".to_owned());
            Err(mismatch(ctx, state, bound, &here)?)
        }
        _ => Ok(()),
    }
}

/// No other branch may be checked out here: what is recorded about this tree would be another change's. A detached
/// HEAD passes, which is what CI has, and a bisection.
pub fn require_no_other(ctx: &Context, state: &State) -> Result<()> {
    let Some(bound) = &state.branch else {
        return Ok(());
    };
    match ctx.repo.head()?.branch {
        Some(here) if here != *bound => Err(mismatch(ctx, state, bound, &here)?),
        _ => Ok(()),
    }
}

fn mismatch(ctx: &Context, state: &State, bound: &str, here: &str) -> Result<Failure> {
    let id = &state.id;
    Ok(Failure::refused(
        Code::BranchMismatch,
        format!("session {id} is bound to {bound}, and {here} is checked out here"),
    )
    .help(ctx.to_branch(id, bound)?))
}
