//! The landing of an archived session: whether its result is on the branch that it is meant for. Archived is not
//! landed. It is computed from commits whenever somebody asks, and never stored. Nothing is judged here: whether it may
//! land is the business of [`super::verify`].

use super::context::Context;
use super::upstream;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, Repo};
use loopx_rules::op::Event;
use loopx_rules::policy::Policy;
use loopx_rules::session::{Ending, State};
use serde::Serialize;
use std::collections::BTreeMap;

/// The target of an archived session, and where it has the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Landed {
    pub target: String,
    /// The commit of the target that has the result; nothing where it is not there yet.
    pub commit: Option<Oid>,
    /// Set when the archive went to the target before the reviewed code, which the target has not got.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_code: bool,
}

/// The number of commits of the target that are looked at for a result that was squashed or rebased.
const LOOKED: usize = 1000;

/// Looks for the result of a session on its target. Nothing where the session is not archived or changed nothing, or
/// where this clone does not know the target or the result.
pub(super) fn landed(ctx: &Context, state: &State, policy: &Policy) -> Result<Option<Landed>> {
    let Some(Ending::Archived {
        commit: archive,
        target: on,
        ..
    }) = &state.ending
    else {
        return Ok(None);
    };
    let Some(target) = upstream::target(ctx, state.branch.as_deref(), policy)? else {
        return Ok(None);
    };
    let Some(archive) = archive else {
        return of_code(&ctx.repo, state, target);
    };
    if !ctx.repo.contains(archive)? {
        return Ok(None);
    }
    // Where the reviewed code is not here, its archive is all that can be looked for.
    let code = reviewed(&ctx.repo, state)?;
    let mut commit = None;
    for tip in &target.tips {
        commit = commit.or(result(&ctx.repo, archive, code.as_ref(), tip)?);
    }
    // An archive on the session's own branch stands on its code; on another branch it may be ahead of it.
    let mut lacks_code = commit.is_none() && state.branch.as_ref() != Some(on);
    if lacks_code {
        for tip in &target.tips {
            commit = commit.or(found(&ctx.repo, archive, tip)?);
            lacks_code = lacks_code && has_code(&ctx.repo, state, Some(tip))? == Some(false);
        }
        lacks_code = lacks_code && commit.is_some();
    }
    Ok(Some(Landed {
        target: target.name,
        commit,
        lacks_code,
    }))
}

/// The landing of a session whose archive had nothing to change: that of its code.
fn of_code(repo: &Repo, state: &State, target: upstream::Target) -> Result<Option<Landed>> {
    let Some(code) = reviewed(repo, state)? else {
        return Ok(None);
    };
    let entries = code.entries(repo)?;
    if entries.is_empty() {
        return Ok(None);
    }
    let mut commit = None;
    for tip in &target.tips {
        if commit.is_none() {
            commit = if repo.is_ancestor(&code.head, tip)? {
                Some(code.head.clone())
            } else {
                with_all(repo, (&code.head, tip), &entries)?
            };
        }
    }
    Ok(Some(Landed {
        target: target.name,
        commit,
        lacks_code: false,
    }))
}

/// The target that still has an archive which was taken back on another branch, and the name to merge there: that branch,
/// else the commit.
pub(super) fn kept(
    ctx: &Context,
    state: &State,
    policy: &Policy,
) -> Result<Option<(String, String)>> {
    let repo = &ctx.repo;
    let Some(Ending::Archived {
        commit: Some(archive),
        taken_back: Some(back),
        ..
    }) = &state.ending
    else {
        return Ok(None);
    };
    if !repo.contains(archive)? || !repo.contains(&back.commit)? {
        return Ok(None);
    }
    let target = upstream::target(ctx, state.branch.as_deref(), policy)?;
    let Some(target) = target.filter(|target| target.name != back.target) else {
        return Ok(None);
    };
    let mut is_kept = false;
    for tip in &target.tips {
        is_kept = is_kept
            || !repo.is_ancestor(&back.commit, tip)?
                && found(repo, archive, tip)?.is_some()
                && !is_reverted(repo, archive, tip)?;
    }
    if !is_kept {
        return Ok(None);
    }
    let source = match repo.find_ref(&format!("refs/heads/{}", back.target))? {
        Some(tip) if repo.is_ancestor(&back.commit, &tip)? => back.target.clone(),
        _ => back.commit.short().to_owned(),
    };
    Ok(Some((target.name, source)))
}

/// Tells whether an archived session may go on from this branch: the branch is its target and has not got the result,
/// or that it was taken back, or it has the archive of a session that was bound to no branch.
pub(super) fn is_due(ctx: &Context, state: &State, branch: &str) -> Result<bool> {
    let Some(Ending::Archived {
        target, taken_back, ..
    }) = &state.ending
    else {
        return Ok(false);
    };
    if taken_back.is_none() && state.branch.is_none() && target == branch {
        return Ok(true);
    }
    let (policy, _) = ctx.policy_if_there(state)?;
    if taken_back.is_some() {
        let kept = kept(ctx, state, &policy)?;
        return Ok(kept.is_some_and(|(target, _)| target == branch));
    }
    let landed = landed(ctx, state, &policy)?;
    Ok(landed.is_some_and(|landed| landed.target == branch && landed.is_open()))
}

impl Landed {
    /// Tells whether the target has not got all of the result.
    pub(crate) fn is_open(&self) -> bool {
        self.commit.is_none() || self.lacks_code
    }
}

/// The code that was approved: from which commit to which.
struct Reviewed {
    base: Option<Oid>,
    head: Oid,
}

impl Reviewed {
    /// The files that the code changed, as it left them.
    fn entries(&self, repo: &Repo) -> Result<Entries> {
        let before = match &self.base {
            Some(base) => Some(repo.commit_info(base)?.tree),
            None => None,
        };
        entries(repo, before.as_ref(), &repo.commit_info(&self.head)?.tree)
    }
}

/// The code of the verdict; nothing where no verdict names a commit, or a commit of it is not here.
fn reviewed(repo: &Repo, state: &State) -> Result<Option<Reviewed>> {
    let verdict = state.verdict.as_ref().map(|verdict| &verdict.value);
    let Some((verdict, head)) = verdict.and_then(|one| Some((one, one.head.clone()?))) else {
        return Ok(None);
    };
    let base = verdict.base.clone();
    for commit in base.iter().chain([&head]) {
        if !repo.contains(commit)? {
            return Ok(None);
        }
    }
    Ok(Some(Reviewed { base, head }))
}

/// The commit behind a tip that has a session's result: its archive, and the code that was reviewed.
fn result(repo: &Repo, archive: &Oid, code: Option<&Reviewed>, tip: &Oid) -> Result<Option<Oid>> {
    let Some(code) = code else {
        return found(repo, archive, tip);
    };
    if repo.is_ancestor(archive, tip)? && repo.is_ancestor(&code.head, tip)? {
        return Ok(Some(archive.clone()));
    }
    // What the archive changed as well stands as the archive left it.
    let mut all: BTreeMap<_, _> = code.entries(repo)?.into_iter().collect();
    all.extend(made_by(repo, archive)?);
    if all.is_empty() {
        return Ok(None);
    }
    let all: Entries = all.into_iter().collect();
    with_all(repo, (&code.head, tip), &all)
}

/// The commit behind a tip that has what the commit of an archive changed: this commit itself, or the newest that has
/// the same content in each of its files, as after a squash, a rebase or a cherry-pick.
pub(super) fn found(repo: &Repo, archive: &Oid, tip: &Oid) -> Result<Option<Oid>> {
    if repo.is_ancestor(archive, tip)? {
        return Ok(Some(archive.clone()));
    }
    let entries = made_by(repo, archive)?;
    if entries.is_empty() {
        return Ok(None);
    }
    with_all(repo, (archive, tip), &entries)
}

/// The newest commit of a branch beyond another commit that has all of these entries.
fn with_all(repo: &Repo, (beyond, tip): (&Oid, &Oid), entries: &Entries) -> Result<Option<Oid>> {
    let base = repo.merge_base(beyond, tip)?;
    let hidden: Vec<Oid> = base.into_iter().collect();
    for commit in repo.range(tip, &hidden, LOOKED)? {
        if has_all(repo, &commit, entries)? {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}

/// Paths, and the entry of each; none where nothing stands there.
type Entries = Vec<(String, Option<Entry>)>;

/// The entries that a commit changed, as it left them.
fn made_by(repo: &Repo, commit: &Oid) -> Result<Entries> {
    let made = repo.commit_info(commit)?;
    let before = match made.parents.first() {
        Some(parent) => Some(repo.commit_info(parent)?.tree),
        None => None,
    };
    entries(repo, before.as_ref(), &made.tree)
}

/// The entries of a tree at the paths that differ from an earlier one.
fn entries(repo: &Repo, before: Option<&Oid>, tree: &Oid) -> Result<Entries> {
    let paths = repo.changed_paths(before, tree)?.into_iter();
    paths
        .map(|path| Ok((repo.entry_at(tree, &path)?, path)))
        .map(|found| found.map(|(entry, path)| (path, entry)))
        .collect()
}

fn has_all(repo: &Repo, commit: &Oid, entries: &Entries) -> Result<bool> {
    let tree = repo.commit_info(commit)?.tree;
    for (path, entry) in entries {
        if repo.entry_at(&tree, path)? != *entry {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Tells whether a branch that has a commit has nothing of the commit's changes any more: as after a revert.
pub(super) fn is_reverted(repo: &Repo, commit: &Oid, tip: &Oid) -> Result<bool> {
    let tree = repo.commit_info(tip)?.tree;
    for (path, entry) in made_by(repo, commit)? {
        if repo.entry_at(&tree, &path)? == entry {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Tells whether some branch, here or of a remote as it was last seen, has a commit.
pub(super) fn is_held(repo: &Repo, commit: &Oid) -> Result<bool> {
    for folder in ["refs/heads/", "refs/remotes/"] {
        for (_, tip) in repo.refs_below(folder)? {
            if tip == *commit || repo.contains(&tip)? && repo.is_ancestor(commit, &tip)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Tells whether a branch has the code that was reviewed: it goes on from the reviewed commit, or had the same content
/// in each of its files once. Nothing where that code is not here.
pub(super) fn has_code(repo: &Repo, state: &State, tip: Option<&Oid>) -> Result<Option<bool>> {
    let Some(code) = reviewed(repo, state)? else {
        return Ok(None);
    };
    let Some(tip) = tip else {
        return Ok(Some(false));
    };
    if repo.is_ancestor(&code.head, tip)? {
        return Ok(Some(true));
    }
    let made = code.entries(repo)?;
    let found = with_all(repo, (&code.head, tip), &made)?;
    Ok(Some(made.is_empty() || found.is_some()))
}

/// Archive that a record names: its commit, its branch, and the branches of remotes that have it, as they were last
/// seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Made {
    pub commit: Oid,
    pub target: String,
    pub is_here: bool,
    pub remotes: Vec<String>,
    /// Remote that may have the commit, where it is not here.
    #[serde(skip)]
    pub fetch: Option<String>,
}

/// The archive of a record; nothing where the record is about something else, or no commit was made.
pub(super) fn made(repo: &Repo, event: Option<&Event>) -> Result<Option<Made>> {
    let Some(Event::Archived {
        commit: Some(commit),
        target,
        ..
    }) = event
    else {
        return Ok(None);
    };
    let is_here = repo.contains(commit)?;
    let mut remotes = Vec::new();
    for (name, tip) in repo.tracking_refs(target)? {
        if is_here && repo.contains(&tip)? && repo.is_ancestor(commit, &tip)? {
            let name = name.strip_prefix("refs/remotes/").unwrap_or(&name);
            remotes.push(name.to_owned());
        }
    }
    let fetch = if is_here {
        None
    } else {
        repo.default_remote(Some(target))?
    };
    Ok(Some(Made {
        commit: commit.clone(),
        target: target.clone(),
        is_here,
        remotes,
        fetch,
    }))
}
