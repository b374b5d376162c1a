//! The branch of a session that is not here any more: the commit that it was at, as far as that is known, and what leads
//! back to it. A branch that has none of its commits does not take its place.

use super::context::Context;
use super::{naming, upstream};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_rules::next::Advised;
use loopx_rules::op::{Event, Operation};
use loopx_rules::replay::undone;
use loopx_rules::session::State;

/// The newest commit of the branch that is here: where HEAD left it last, else the newest that a record names. Nothing
/// where that is the one that the session began on.
pub(super) fn last_commit(ctx: &Context, state: &State) -> Result<Option<Oid>> {
    let Some(branch) = &state.branch else {
        return Ok(None);
    };
    let snapshot = ctx.store()?.snapshot()?;
    if snapshot.session(&state.id)?.is_none() {
        // It is being begun.
        return Ok(None);
    }
    let session = naming::load(&snapshot, &state.id)?;
    let operations = snapshot.operations(&session)?;
    let undone = undone(&operations);
    let counted = operations.iter().rev();
    let recorded = counted.filter(|op| !undone.contains(&op.op));
    let known = ctx.repo.left(branch).into_iter();
    for commit in known.chain(recorded.filter_map(head_of).cloned()) {
        if ctx.repo.contains(&commit)? {
            return Ok(Some(commit).filter(|commit| Some(commit) != state.base.as_ref()));
        }
    }
    Ok(None)
}

/// The commit that the branch was at, where an operation says so.
fn head_of(op: &Operation) -> Option<&Oid> {
    match op.event()? {
        Event::Entered { head, .. }
        | Event::Reprofiled { head, .. }
        | Event::Approved { head, .. } => head.as_ref(),
        Event::Reviewed { verdict } => verdict.head.as_ref(),
        _ => None,
    }
}

/// Tells whether a commit may be taken for the end of the branch: it has the newest known commit of the branch, or a
/// commit that neither the target has nor the session began on.
fn continues(ctx: &Context, state: &State, known: Option<&Oid>, tip: &Oid) -> Result<bool> {
    if let Some(known) = known
        && ctx.repo.is_ancestor(known, tip)?
    {
        return Ok(true);
    }
    let (policy, _) = ctx.policy_if_there(state)?;
    let target = upstream::target(ctx, state.branch.as_deref(), &policy)?;
    for target in target.map(|target| target.tips).into_iter().flatten() {
        if ctx.repo.is_ancestor(tip, &target)? {
            return Ok(false);
        }
    }
    Ok(state.base.as_ref() != Some(tip))
}

/// The step that leads to the commits of a branch that is not here: what somebody else did last may not be pushed yet.
pub(super) fn lead(ctx: &Context, state: &State, branch: &str) -> Result<Advised> {
    if last_commit(ctx, state)?.is_none()
        && let Some(fetch) = not_fetched(ctx, state, branch, true)?
    {
        return Ok(fetch);
    }
    if is_with_others(ctx, state, branch)? {
        let author = state.touched.by.to_string();
        return Ok(Advised::waits(author, format!("the push of {branch}")).advice(format!(
            "the branch {branch} is not in this clone: it was not pushed yet, or was renamed or deleted; if a remote has it: git fetch, then git switch {branch}"
        )));
    }
    way_back(ctx, state, branch)
}

/// Tells whether a branch that is not here may never have been: somebody else did the last thing, and no commit of the
/// branch is known.
pub(super) fn is_with_others(ctx: &Context, state: &State, branch: &str) -> Result<bool> {
    let me = ctx.reader().map(|reader| &reader.author);
    let somebody_else = me.is_none_or(|me| !me.is_same(&state.touched.by));
    let key = format!("branch.{branch}.remote");
    let is_elsewhere = ctx.repo.config(&key).is_none();
    Ok(somebody_else && is_elsewhere && last_commit(ctx, state)?.is_none())
}

/// The command that asks a remote for a branch that this clone was never set up to fetch, as one of a single branch; or
/// did not fetch since the session began, where it has not the commit that the session starts from.
fn not_fetched(
    ctx: &Context,
    state: &State,
    branch: &str,
    has_base: bool,
) -> Result<Option<Advised>> {
    let own = format!("refs/heads/{branch}");
    let covers = |spec: &String| {
        let source = spec.trim_start_matches('+').split(':').next();
        let source = source.unwrap_or_default();
        match source.split_once('*') {
            Some((before, after)) => own.starts_with(before) && own.ends_with(after),
            None => source == own,
        }
    };
    for remote in ctx.repo.remotes()? {
        let specs = ctx.repo.config_all(&format!("remote.{remote}.fetch"))?;
        let is_asked = specs.iter().any(covers);
        if specs.is_empty() || is_asked && has_base {
            continue;
        }
        let (name, from) = (shell_word(branch), shell_word(&remote));
        let because = if is_asked {
            "neither is the commit that the session starts from".to_owned()
        } else {
            format!("this clone fetches other branches of {remote} only")
        };
        let mut why = format!("the branch {branch} is not here, and {because}");
        match &state.base {
            // Nothing begins anew without the commit that the session began on.
            Some(base) if !ctx.repo.contains(base)? => {}
            base => {
                let at = base.as_ref().map(|base| format!(" {}", base.short()));
                let at = at.unwrap_or_default();
                why.push_str(&format!(
                    "; where {remote} has no {branch}, it begins anew: git branch {name}{at}"
                ));
            }
        }
        let fetch = Hint::git(format!("fetch {from} {name}:{name}"));
        return Ok(Some(Advised::from(fetch).advice(why)));
    }
    Ok(None)
}

/// The command that asks a remote for the branch of a session, where this clone was never set up to fetch that branch:
/// what the session names may be on it.
pub(super) fn unfetched(ctx: &Context, state: &State) -> Result<Option<Advised>> {
    match &state.branch {
        Some(branch) if upstream::is_missing(ctx, state)? => not_fetched(ctx, state, branch, true),
        _ => Ok(None),
    }
}

/// The command that leads back to the commits of a branch that is not here.
pub(super) fn way_back(ctx: &Context, state: &State, branch: &str) -> Result<Advised> {
    let known = last_commit(ctx, state)?;
    let head = ctx.head()?;
    let goes_on = match &head.commit {
        Some(tip) => continues(ctx, state, known.as_ref(), tip)?,
        None => false,
    };
    let lost = format!("the branch {branch} is not here: not pushed yet, renamed or deleted");
    if let Some(here) = &head.branch {
        let is_known = known.as_ref().zip(head.commit.as_ref());
        let has_it = match is_known {
            Some((known, tip)) => ctx.repo.is_ancestor(known, tip)?,
            None => goes_on,
        };
        if has_it
            || ctx
                .repo
                .former_names(here)
                .iter()
                .any(|name| name == branch)
        {
            return Ok(
                Advised::from(upstream::rebind(ctx, &state.id)?).advice(format!(
                    "{lost}; {here} is checked out, and has its commits"
                )),
            );
        }
    }
    let has_base = match &state.base {
        Some(base) => ctx.repo.contains(base)?,
        None => true,
    };
    if known.is_none()
        && let Some(fetch) = not_fetched(ctx, state, branch, has_base)?
    {
        return Ok(fetch);
    }
    let (from, why) = match &known {
        Some(commit) => {
            let commit = commit.short();
            let why = format!("{lost}; {commit} is the last commit of it that is known");
            (format!(" {commit}"), why)
        }
        None if head.branch.is_none() && goes_on => (
            String::new(),
            format!("{lost}; the commit that is checked out may be its last one"),
        ),
        None => {
            let base = match &state.base {
                Some(base) if ctx.repo.contains(base)? => format!(" {}", base.short()),
                _ => String::new(),
            };
            let why = format!("{lost}, and no commit of it is known: the branch begins anew");
            (base, why)
        }
    };
    let make = match ctx.repo.work_dir() {
        Some(_) => "switch -c",
        None => "branch",
    };
    Ok(Advised::from(Hint::git(format!("{make} {}{from}", shell_word(branch)))).advice(why))
}

/// Refuses to bind a session to a branch in the place of one that is gone, where it has none of that one's commits.
pub(super) fn require_commits(ctx: &Context, state: &State, branch: &str) -> Result<()> {
    let (Some(bound), true) = (&state.branch, upstream::is_missing(ctx, state)?) else {
        return Ok(());
    };
    let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{branch}"))? else {
        return Ok(());
    };
    let Some(known) = last_commit(ctx, state)? else {
        return Ok(());
    };
    if continues(ctx, state, Some(&known), &tip)? {
        return Ok(());
    }
    Err(Failure::refused(
        Code::BoundBranchMissing,
        format!(
            "expected a branch with the commits of {bound}, which is not here: {branch} has no commit of its own, and not {}",
            known.short()
        ),
    )
    .help(way_back(ctx, state, bound)?.into_hint()))
}
