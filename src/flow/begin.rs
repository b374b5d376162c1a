//! The command that begins a session where HEAD is. None can begin on a branch that policy protects, and in a
//! repository without a commit the policy that lies in the worktree is the one to come.

use super::context::Context;
use super::files;
use super::verify::policy_at;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_rules::policy::{FILE, Policy};
use loopx_rules::setup;

/// The largest policy that is read.
const LARGEST: u64 = 1 << 20;

/// The command.
pub(crate) fn way(ctx: &Context) -> Result<Hint> {
    let start = command!("start \"Fix the timeout\"");
    let head = ctx.repo.head()?;
    let Some(branch) = head.branch else {
        return Ok(start);
    };
    // A policy that cannot be read is said by whoever judges by it.
    let protects = |policy: Result<Policy>| policy.is_ok_and(|policy| policy.protects(&branch));
    Ok(match &head.commit {
        Some(_) if protects(policy_at(ctx, head.commit.as_ref())) => match ctx.repo.work_dir() {
            Some(_) => hint!["git switch -c change, then: ", start],
            None => hint![
                "git branch change, then: ",
                command!("start --branch change \"Fix the timeout\"")
            ],
        },
        None if protects(to_come(ctx)) => setup::commit_of(&[FILE.to_owned()]),
        _ => start,
    })
}

/// The policy that the first commit brings.
pub(crate) fn to_come(ctx: &Context) -> Result<Policy> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(Policy::default());
    };
    match files::read(&files::inside(top, FILE)?, LARGEST)? {
        Some(text) => Policy::parse(&String::from_utf8_lossy(&text), FILE),
        None => Ok(Policy::default()),
    }
}
