//! The beginning of a session where HEAD is: the facts of [`loopx_rules::next::begin`]. No session can begin on a
//! branch that policy protects; in a repository without a commit, the policy in the worktree will count.

use super::context::Context;
use super::files;
use super::issue::view::InHand;
use super::verify::policy_at;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::SessionId;
use loopx_rules::next;
use loopx_rules::next::{Advised, Ground, Wanted};
use loopx_rules::policy::{FILE, Policy};

/// The largest policy that is read.
pub(super) const LARGEST: u64 = 1 << 20;

/// The command that leads on for somebody who is in no session.
pub(crate) fn begin(ctx: &Context) -> Result<Advised> {
    begin_with(ctx, Wanted::Title(&title(ctx)))
}

fn begin_with(ctx: &Context, wanted: Wanted<'_>) -> Result<Advised> {
    let has_worktree = ctx.repo.work_dir().is_some();
    let (ground, unsigned) = (ground(ctx)?, ctx.unsigned());
    if let (Ground::Open, None, Some(failure)) = (ground, &unsigned, odd(ctx)?) {
        let rename = failure.help.unwrap_or_default();
        return Ok(Advised::from(rename).advice(failure.message));
    }
    Ok(next::begin(ground, unsigned, has_worktree, wanted))
}

/// The command that begins a change, once edits that somebody put aside on the way are brought back: that of the issue that
/// this worktree has in hand, where it has one.
pub(crate) fn lead(ctx: &Context) -> Result<Advised> {
    if let Some((branch, pop)) = super::next::put_aside(ctx)
        && ctx.repo.work_dir().is_some()
        && ctx.repo.sequence().is_none()
        && ctx.code_for(None)?.is_some_and(|code| !code.is_dirty)
    {
        let why = format!("edits that were put aside on {branch} wait in the stash");
        return Ok(Advised::from(pop).advice(why));
    }
    // What cannot be read of the backlog is for `fsck`.
    match super::issue::view::in_hand(ctx).ok().flatten() {
        Some(InHand {
            held: Some((why, way)),
            ..
        }) => Ok(Advised::from(way).advice(why)),
        Some(one) => begin_with(ctx, Wanted::Issue(&one.short)),
        None => begin(ctx),
    }
}

/// The refusal of a branch that no session can be bound to, where its name is no UTF-8.
pub(crate) fn odd(ctx: &Context) -> Result<Option<Failure>> {
    let head = ctx.head()?;
    let Some(name) = &head.odd else {
        return Ok(None);
    };
    let stem = SessionId::fold(&String::from_utf8_lossy(name));
    let stem = stem.map_or_else(|_| "change".to_owned(), |id| id.to_string());
    let free = free_branch(ctx, &stem)?;
    Ok(Some(
        Failure::refused(
            Code::BranchNotUtf8,
            format!(
                "expected a branch that a record can name, found {}",
                head.words()
            ),
        )
        .help(Hint::git(format!("branch -m {free}"))),
    ))
}

/// A name that no branch here has: this one, else with a number.
pub(super) fn free_branch(ctx: &Context, stem: &str) -> Result<String> {
    let numbered = (2..u16::MAX).map(|number| format!("{stem}-{number}"));
    for name in std::iter::once(stem.to_owned()).chain(numbered) {
        if ctx.repo.find_ref(&format!("refs/heads/{name}"))?.is_none() {
            return Ok(name);
        }
    }
    Ok(stem.to_owned())
}

/// A title for the hint that begins a session: no session here has it. Where nobody can tell, a title all the same: the
/// command that gives the hint is done.
pub(crate) fn title(ctx: &Context) -> String {
    let snapshot = || {
        let store = ctx.store().ok()?;
        store.tip().ok()??;
        store.snapshot().ok()
    };
    match snapshot() {
        // A session that cannot be looked up may be there.
        Some(snapshot) => next::title(|id| snapshot.has(id).unwrap_or(true)),
        None => next::title(|_| false),
    }
}

/// The command that begins a session, as a hint.
pub(crate) fn way(ctx: &Context) -> Result<Hint> {
    Ok(begin(ctx)?.into_hint())
}

/// The command that leads on where there is no repository.
pub(crate) fn outside() -> Advised {
    next::begin(Ground::NoRepository, None, true, Wanted::Title(""))
}

/// Tells whether no session can begin on, or be bound to, the branch that is checked out.
pub(crate) fn is_protected(ctx: &Context) -> Result<bool> {
    Ok(matches!(
        ground(ctx)?,
        Ground::Protected | Ground::ProtectedUnborn
    ))
}

fn ground(ctx: &Context) -> Result<Ground> {
    if ctx.store()?.tip()?.is_none() {
        return Ok(Ground::NotInitialised);
    }
    let head = ctx.repo.head()?;
    let Some(branch) = head.branch else {
        return Ok(Ground::Open);
    };
    // A policy that cannot be read is said by whoever judges by it.
    let protects = |policy: Result<Policy>| policy.is_ok_and(|policy| policy.protects(&branch));
    Ok(match &head.commit {
        Some(_) if protects(policy_at(ctx, head.commit.as_ref())) => Ground::Protected,
        None if protects(to_come(ctx)) => Ground::ProtectedUnborn,
        _ => Ground::Open,
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
