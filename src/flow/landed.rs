//! The landing of an archived session: whether its result is on the branch that it is meant for. Archived is not
//! landed. It is computed from commits whenever somebody asks, and never stored. Nothing is judged here: whether it may
//! land is the business of [`super::verify`].

use super::context::Context;
use super::upstream;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, Repo};
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
    let Some(code) = reviewed(&ctx.repo, state)? else {
        return Ok(None);
    };
    let mut commit = None;
    for tip in &target.tips {
        commit = result(&ctx.repo, archive, code.as_ref(), tip)?;
        if commit.is_some() {
            break;
        }
    }
    Ok(Some(Landed {
        target: target.name,
        commit,
    }))
}

/// The code that was approved: from which commit to which.
struct Reviewed {
    base: Option<Oid>,
    head: Oid,
}

/// The code of the verdict: `Some(None)` where no verdict names a commit, nothing where a commit of it is not here.
fn reviewed(repo: &Repo, state: &State) -> Result<Option<Option<Reviewed>>> {
    let verdict = state.verdict.as_ref().map(|verdict| &verdict.value);
    let Some((verdict, head)) = verdict.and_then(|one| Some((one, one.head.clone()?))) else {
        return Ok(Some(None));
    };
    let base = verdict.base.clone();
    for commit in base.iter().chain([&head]) {
        if !repo.contains(commit)? {
            return Ok(None);
        }
    }
    Ok(Some(Some(Reviewed { base, head })))
}

/// The commit behind a tip that has a session's result: its archive, and the code that was reviewed.
fn result(repo: &Repo, archive: &Oid, code: Option<&Reviewed>, tip: &Oid) -> Result<Option<Oid>> {
    let Some(Reviewed { base, head }) = code else {
        return found(repo, archive, tip);
    };
    let is_within = |commit: &Oid| Ok(commit == tip || repo.is_ancestor(commit, tip)?);
    if is_within(archive)? && is_within(head)? {
        return Ok(Some(archive.clone()));
    }
    let mut entries = changed(repo, base.as_ref(), head)?;
    entries.extend(changed(repo, parent(repo, archive)?.as_ref(), archive)?);
    carrier(repo, &entries, head, tip)
}

/// The commit behind a tip that has what another commit changed: this commit itself, or the newest that has the same
/// content in each of its files, as after a squash, a rebase or a cherry-pick.
pub(super) fn found(repo: &Repo, commit: &Oid, tip: &Oid) -> Result<Option<Oid>> {
    if commit == tip || repo.is_ancestor(commit, tip)? {
        return Ok(Some(commit.clone()));
    }
    let entries = changed(repo, parent(repo, commit)?.as_ref(), commit)?;
    carrier(repo, &entries, commit, tip)
}

fn parent(repo: &Repo, commit: &Oid) -> Result<Option<Oid>> {
    let parents = repo.commit_info(commit)?.parents;
    Ok(parents.into_iter().next())
}

/// What stands in each file that differs between two commits; nothing stands in a file that went.
type Entries = BTreeMap<String, Option<Entry>>;

fn changed(repo: &Repo, base: Option<&Oid>, head: &Oid) -> Result<Entries> {
    let before = match base {
        Some(base) => Some(repo.commit_info(base)?.tree),
        None => None,
    };
    let tree = repo.commit_info(head)?.tree;
    let mut entries = Entries::new();
    for path in repo.changed_paths(before.as_ref(), &tree)? {
        let entry = repo.entry_at(&tree, &path)?;
        entries.insert(path, entry);
    }
    Ok(entries)
}

/// The newest commit behind a tip, since it left the line of `from`, that has these entries.
fn carrier(repo: &Repo, entries: &Entries, from: &Oid, tip: &Oid) -> Result<Option<Oid>> {
    if entries.is_empty() {
        return Ok(None);
    }
    let base = repo.merge_base(from, tip)?;
    let hidden: Vec<Oid> = base.into_iter().collect();
    for commit in repo.range(tip, &hidden, LOOKED)? {
        let tree = repo.commit_info(&commit)?.tree;
        let mut has_all = true;
        for (path, entry) in entries {
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
