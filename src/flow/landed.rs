//! The landing of an archived session: whether its result is on the branch that it is meant for. Archived is not
//! landed. It is computed from commits whenever somebody asks, and never stored. Nothing is judged here: whether it may
//! land is the business of [`super::verify`].

use super::context::Context;
use super::upstream;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::policy::Policy;
use loopx_rules::session::{Ending, State};
use serde::Serialize;

/// The target of an archived session, and where it has the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Landed {
    pub target: String,
    /// The commit of the target that has the result; nothing where it is not there yet.
    pub commit: Option<Oid>,
}

/// So many commits of the target are looked at for a result that was squashed or rebased.
const LOOKED: usize = 1000;

/// Whether the result of a session is on its target. Nothing where it is not archived, changed nothing, or where this
/// clone does not know the target or the result.
pub(super) fn landed(ctx: &Context, state: &State, policy: &Policy) -> Result<Option<Landed>> {
    let Some(Ending::Archived {
        commit: Some(archive),
        ..
    }) = &state.ending
    else {
        return Ok(None);
    };
    let Some(target) = upstream::target(ctx, state.branch.as_deref(), policy)? else {
        return Ok(None);
    };
    if !ctx.repo.contains(archive)? {
        return Ok(None);
    }
    let mut commit = None;
    for tip in &target.tips {
        commit = found(&ctx.repo, archive, tip)?;
        if commit.is_some() {
            break;
        }
    }
    Ok(Some(Landed {
        target: target.name,
        commit,
    }))
}

/// The commit behind a tip that has what the commit of an archive changed: this commit itself, or the newest that has
/// the same content in each of its files, as after a squash, a rebase or a cherry-pick.
pub(super) fn found(repo: &Repo, archive: &Oid, tip: &Oid) -> Result<Option<Oid>> {
    if archive == tip || repo.is_ancestor(archive, tip)? {
        return Ok(Some(archive.clone()));
    }
    let made = repo.commit_info(archive)?;
    let before = match made.parents.first() {
        Some(parent) => Some(repo.commit_info(parent)?.tree),
        None => None,
    };
    let paths = repo.changed_paths(before.as_ref(), &made.tree)?;
    let mut entries = Vec::new();
    for path in paths {
        let entry = repo.entry_at(&made.tree, &path)?;
        entries.push((path, entry));
    }
    if entries.is_empty() {
        return Ok(None);
    }
    let base = repo.merge_base(archive, tip)?;
    let hidden: Vec<Oid> = base.into_iter().collect();
    for commit in repo.range(tip, &hidden, LOOKED)? {
        let tree = repo.commit_info(&commit)?.tree;
        let mut has_all = true;
        for (path, entry) in &entries {
            if repo.entry_at(&tree, path)? != *entry {
                has_all = false;
                break;
            }
        }
        if has_all {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}
