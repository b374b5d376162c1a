//! The range of a session's branch: its head, the target that it is compared with, and the commits between them.
//!
//! The target is, in this order: what `git config loopx.target` names; `gates.target` of the policy; the
//! branch that the bound one tracks; the default branch of the remote (`refs/remotes/<remote>/HEAD`); the
//! local `init.defaultBranch`, `main` or `master`; the one branch that the policy protects by its name; the one branch that
//! there is besides. A bound branch is never its own target, under
//! whichever remote: pushing it does not make it upstream. Without a target everything since the start
//! counts. A branch of that name at another remote, like a contributor's fork, is no target: whoever owns it says
//! what is there.
//!
//! What the target has is not the session's: it came by a merge or a rebase, and was judged when the
//! target took it. A commit that names the session stays in its range, also when the target has it.

use super::context::Context;
use super::{gone, verify};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::trailers;
use loopx_git::Repo;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use std::collections::HashSet;

/// The branch that a session's result goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub name: String,
    /// Tip of the branch here, and its tip when its remote was last fetched.
    pub tips: Vec<Oid>,
}

/// A session's own commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    /// The newest commit that the range builds on: what is compared, and whose policy counts.
    pub base: Option<Oid>,
    /// Newest first.
    pub commits: Vec<Oid>,
}

/// Finds the target of a branch.
pub(crate) fn target(
    ctx: &Context,
    branch: Option<&str>,
    policy: &Policy,
) -> Result<Option<Target>> {
    let repo = &ctx.repo;
    if let Some(name) = repo.config("loopx.target") {
        if branch == Some(name.as_str()) {
            return Ok(None);
        }
        let tips = match tips(repo, &name)? {
            tips if tips.is_empty() => vec![repo.resolve_commit(&name).map_err(|_| {
                Failure::usage(
                    Code::TargetUnknown,
                    format!(
                        "git config loopx.target names `{name}`, which is no branch or commit here"
                    ),
                )
                .help("git fetch, or: git config loopx.target BRANCH")
            })?],
            tips => tips,
        };
        return Ok(Some(Target { name, tips }));
    }
    let mut names: Vec<String> = policy.gates.target.clone().into_iter().collect();
    if let Some(tracked) = branch.and_then(|branch| repo.config(&format!("branch.{branch}.merge")))
    {
        names.extend(tracked.strip_prefix("refs/heads/").map(str::to_owned));
    }
    names.extend(of_project(ctx, branch)?);
    let is_name = |name: &&String| !name.contains(['*', '?', '[', '{']);
    if let [only] = policy
        .gates
        .protected
        .iter()
        .filter(is_name)
        .collect::<Vec<_>>()[..]
    {
        names.push(only.clone());
    }
    first_or_only(ctx, branch, names)
}

/// Target of a session. What is committed in a session without a branch is on the branch that is checked out, and no branch
/// is its own target.
pub(crate) fn target_of(ctx: &Context, state: &State, policy: &Policy) -> Result<Option<Target>> {
    match &state.branch {
        Some(branch) => target(ctx, Some(branch), policy),
        None => target(ctx, ctx.repo.head()?.branch.as_deref(), policy),
    }
}

/// The target that a branch has whatever its own policy says and whatever it tracks: whoever begins a branch chooses
/// both, and git has a branch track the one that it was begun from.
pub(crate) fn target_of_project(ctx: &Context, branch: Option<&str>) -> Result<Option<Target>> {
    let repo = &ctx.repo;
    if repo.config("loopx.target").is_some() {
        return target(ctx, branch, &Policy::default());
    }
    first_or_only(ctx, branch, of_project(ctx, branch)?)
}

/// The first of these branches that is here, else the one that there is.
fn first_or_only(
    ctx: &Context,
    branch: Option<&str>,
    names: Vec<String>,
) -> Result<Option<Target>> {
    match first(&ctx.repo, branch, names)? {
        None => first(
            &ctx.repo,
            branch,
            only_other(ctx, branch)?.into_iter().collect(),
        ),
        found => Ok(found),
    }
}

/// The first of these branches that is here, and is not the branch itself.
fn first(repo: &Repo, branch: Option<&str>, names: Vec<String>) -> Result<Option<Target>> {
    for name in names {
        if branch == Some(name.as_str()) {
            continue;
        }
        let tips = tips(repo, &name)?;
        if !tips.is_empty() {
            return Ok(Some(Target { name, tips }));
        }
    }
    Ok(None)
}

/// The names that the main branch of a project can have.
fn of_project(ctx: &Context, branch: Option<&str>) -> Result<Vec<String>> {
    let repo = &ctx.repo;
    let mut names = Vec::new();
    if let Some(remote) = remote(repo, branch)? {
        names.extend(repo.default_branch(&remote)?);
    }
    names.extend(repo.config("init.defaultbranch"));
    names.extend(["main", "master"].map(str::to_owned));
    Ok(names)
}

fn remote(repo: &Repo, branch: Option<&str>) -> Result<Option<String>> {
    match repo.project_remote()? {
        None => repo.default_remote(branch),
        found => Ok(found),
    }
}

/// The one branch that there is besides this one and that of the sessions: of the remote, which did not say which its
/// default one is, else here.
fn only_other(ctx: &Context, branch: Option<&str>) -> Result<Option<String>> {
    let repo = &ctx.repo;
    let folder = match remote(repo, branch)? {
        Some(remote) => format!("refs/remotes/{remote}/"),
        // Where a branch is gone another one may have its commits.
        None if is_gone(repo, branch)? => return Ok(None),
        None => "refs/heads/".to_owned(),
    };
    let store = ctx.store()?;
    let known = [Some("HEAD"), Some(store.branch()), branch];
    let mut names = repo.refs_below(&folder)?;
    names.retain(|(name, _)| !known.contains(&Some(&name[folder.len()..])));
    Ok(match names.as_slice() {
        [(only, _)] => Some(only[folder.len()..].to_owned()),
        _ => None,
    })
}

fn is_gone(repo: &Repo, branch: Option<&str>) -> Result<bool> {
    let own = branch.map(|branch| repo.find_ref(&format!("refs/heads/{branch}")));
    Ok(own.transpose()?.is_some_and(|own| own.is_none()))
}

/// Tips of a branch of the project: here, and where it was when its remote was last fetched.
pub(super) fn tips(repo: &Repo, name: &str) -> Result<Vec<Oid>> {
    let here = repo.find_ref(&format!("refs/heads/{name}"))?;
    let there = repo.project_ref(name)?.map(|(_, tip)| tip);
    let there = there.filter(|there| here.as_ref() != Some(there));
    Ok(here.into_iter().chain(there).collect())
}

/// The commits of `head` that are a session's own: since `start`, without what the target has.
pub(crate) fn own(
    repo: &Repo,
    start: Option<&Oid>,
    target: &[Oid],
    head: &Oid,
    session: Option<&SessionId>,
) -> Result<Own> {
    let start = match start {
        Some(start) if repo.contains(start)? => Some(start.clone()),
        _ => None,
    };
    let hidden: Vec<Oid> = start.iter().cloned().collect();
    let mut met = Vec::new();
    for tip in target {
        met.extend(repo.merge_base(tip, head)?);
    }
    let all = repo.range(head, &hidden, usize::MAX)?;
    let (commits, kept) = without_upstream(repo, all, head, hidden, target, session)?;
    // Once the target has commits of the session, what it has is no base to compare with.
    let base = if kept {
        None
    } else {
        newest(repo, &met, start.as_ref())?
    };
    let base = match (base, &start) {
        (None, Some(start)) => repo.merge_base(start, head)?.or(Some(start.clone())),
        (base, _) => base,
    };
    Ok(Own { base, commits })
}

/// Commits that a review covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The protected target, and where it is; all that the head has beyond it is shown.
    pub onto: Option<(String, Oid)>,
    pub own: Own,
}

/// The commits that a review of `head` covers. What is to land on a protected branch is shown in whole: also
/// what lies below the session's start, and the target does not have. Whether it is protected the target's policy says
/// as well: whoever starts a session chooses its base.
pub(crate) fn shown(
    ctx: &Context,
    state: &State,
    target: Option<Target>,
    policy: &Policy,
    head: &Oid,
) -> Result<Shown> {
    let repo = &ctx.repo;
    let target = target.unwrap_or(Target {
        name: String::new(),
        tips: Vec::new(),
    });
    let own = own(
        repo,
        state.base.as_ref(),
        &target.tips,
        head,
        Some(&state.id),
    )?;
    let mut is_protected = policy.protects(&target.name);
    for tip in target.tips.iter().filter(|_| !target.name.is_empty()) {
        // One that cannot be read may say so.
        is_protected = is_protected
            || match verify::policy_at(ctx, Some(tip)) {
                Ok(policy) => policy.protects(&target.name),
                Err(_) => true,
            };
    }
    if !is_protected {
        return Ok(Shown { onto: None, own });
    }
    let mut best: Option<(Vec<Oid>, Oid)> = None;
    for tip in target.tips {
        let beyond = repo.range(head, std::slice::from_ref(&tip), usize::MAX)?;
        if best
            .as_ref()
            .is_none_or(|(known, _)| beyond.len() < known.len())
        {
            best = Some((beyond, tip));
        }
    }
    let Some((mut commits, seen)) = best else {
        return Ok(Shown { onto: None, own });
    };
    let known: HashSet<&Oid> = own.commits.iter().collect();
    let own = if commits.iter().all(|commit| known.contains(commit)) {
        own
    } else {
        let base = repo.merge_base(&seen, head)?;
        let more = own.commits.into_iter();
        let more: Vec<Oid> = more.filter(|commit| !commits.contains(commit)).collect();
        commits.extend(more);
        Own { base, commits }
    };
    Ok(Shown {
        onto: Some((target.name, seen)),
        own,
    })
}

/// Takes out of `all` what the target has, but for commits that name the session; says whether there
/// are such.
pub(crate) fn without_upstream(
    repo: &Repo,
    all: Vec<Oid>,
    head: &Oid,
    mut hidden: Vec<Oid>,
    target: &[Oid],
    session: Option<&SessionId>,
) -> Result<(Vec<Oid>, bool)> {
    if target.is_empty() {
        return Ok((all, false));
    }
    hidden.extend(target.iter().cloned());
    let beyond: HashSet<Oid> = repo.range(head, &hidden, usize::MAX)?.into_iter().collect();
    let mut kept = false;
    let mut own = Vec::new();
    for id in all {
        if beyond.contains(&id) {
            own.push(id);
        } else if let Some(session) = session
            && names(repo, &id, session)?
        {
            kept = true;
            own.push(id);
        }
    }
    Ok((own, kept))
}

fn names(repo: &Repo, commit: &Oid, session: &SessionId) -> Result<bool> {
    let info = repo.commit_info(commit)?;
    let links = trailers::links(info.message.as_bytes(), b"#");
    Ok(links.sessions.iter().any(|name| name == session.as_str()))
}

/// The one of these commits that has all the others behind it; the start where there is none such.
fn newest(repo: &Repo, met: &[Oid], start: Option<&Oid>) -> Result<Option<Oid>> {
    let all = || met.iter().chain(start);
    for one in met {
        let mut newest = true;
        for other in all() {
            newest &= repo.is_ancestor(other, one)?;
        }
        if newest {
            return Ok(Some(one.clone()));
        }
    }
    // The session began on something that the target does not have.
    Ok(start.cloned().or_else(|| met.first().cloned()))
}

/// The commit that a session's branch is at; `None` where no branch is bound, or it has no commit yet.
pub(crate) fn bound_head(ctx: &Context, state: &State) -> Result<Option<Oid>> {
    let Some(branch) = &state.branch else {
        return Ok(None);
    };
    let tip = tip_here(&ctx.repo, branch)?;
    match &tip {
        None => missing(ctx, state)?.map_or(Ok(None), Err),
        Some(_) => Ok(tip),
    }
}

/// The commit that a branch is at here, else where a remote had it last.
pub(super) fn tip_here(repo: &Repo, branch: &str) -> Result<Option<Oid>> {
    if let Some(head) = repo.find_ref(&format!("refs/heads/{branch}"))? {
        return Ok(Some(head));
    }
    let tracked = repo.tracking_refs(branch)?;
    Ok(tracked.into_iter().map(|(_, tip)| tip).next())
}

/// Name of the branch that a name like `origin/main` is about.
pub(super) fn behind_remote(repo: &Repo, name: &str) -> Result<Option<String>> {
    if repo.find_ref(&format!("refs/remotes/{name}"))?.is_none() {
        return Ok(None);
    }
    let remotes = repo.remotes()?;
    let mut behind = remotes
        .iter()
        .filter_map(|remote| name.strip_prefix(&format!("{remote}/")));
    Ok(behind.next().map(str::to_owned))
}

/// The command that binds a session to another branch: to the one that is checked out, if one is.
pub(crate) fn rebind(ctx: &Context, id: &SessionId) -> Result<Hint> {
    Ok(match ctx.repo.head()?.branch {
        Some(_) if super::begin::is_protected(ctx)? => {
            hint![format!("git switch -c {id}, then: "), command!("use {id}")]
        }
        Some(_) => command!("use {id}"),
        None => command!("use {id} --branch {id}"),
    })
}

/// Tells whether the branch that a session is bound to was deleted or renamed.
pub(crate) fn is_missing(ctx: &Context, state: &State) -> Result<bool> {
    let (Some(branch), true) = (&state.branch, state.is_active()) else {
        return Ok(false);
    };
    let repo = &ctx.repo;
    let is_here = repo.head()?.branch.as_ref() == Some(branch)
        || repo.find_ref(&format!("refs/heads/{branch}"))?.is_some()
        || !repo.tracking_refs(branch)?.is_empty();
    Ok(!is_here)
}

/// Refusal where the branch that a session is bound to was deleted or renamed. The way back costs a look at all records.
pub(crate) fn missing(ctx: &Context, state: &State) -> Result<Option<Failure>> {
    let (Some(branch), true) = (&state.branch, is_missing(ctx, state)?) else {
        return Ok(None);
    };
    let id = &state.id;
    Ok(Some(
        Failure::refused(
            Code::BoundBranchMissing,
            format!(
                "session {id} is bound to the branch `{branch}`, which is not here: it was renamed or deleted"
            ),
        )
        .help(gone::way_back(ctx, state, branch)?.into_hint()),
    ))
}
