//! The newest copy of a record in history that is whole: what a repair takes it from.

use super::check::{Missing, check_archived, check_entry};
use super::{Snapshot, layout, ops, shelves};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::git::{EntryKind, Repo};

/// The newest whole folder of an archived session, from history.
pub(super) fn archived_before(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    path: &str,
) -> Result<Option<Oid>> {
    let mut bad = None;
    for commit in repo.range(snapshot.commit(), &[], usize::MAX)? {
        let at = Snapshot::at(repo, commit, path)?;
        let Some(folder) = at.folder_of(path)? else {
            continue;
        };
        let tree = folder.entry.id.clone();
        if bad.as_ref() == Some(&tree) {
            continue;
        }
        if check_archived(repo, &at, folder)?.is_none() {
            return Ok(Some(tree));
        }
        bad = Some(tree);
    }
    Ok(None)
}

/// What history says of a damaged session.
pub(super) struct History {
    /// Its newest folder that is whole.
    pub(super) whole: Option<Oid>,
    /// The first commit after that one.
    pub(super) since: Option<Oid>,
}

/// `needs` are files of operations that the folder has to have.
pub(super) fn history(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    id: &SessionId,
    needs: &Missing,
) -> Result<History> {
    let mut since = None;
    let mut bad = None;
    for commit in repo.range(snapshot.commit(), &[], usize::MAX)? {
        let tree = repo.commit_info(&commit)?.tree;
        if let Some(entry) = shelves::entry_at(repo, &tree, &layout::session(id))?
            && bad.as_ref() != Some(&entry.id)
        {
            if check_entry(repo, id, &entry)?.is_none() && has_operations(repo, &entry.id, needs)? {
                return Ok(History {
                    whole: Some(entry.id),
                    since,
                });
            }
            bad = Some(entry.id);
        }
        since = Some(commit);
    }
    Ok(History { whole: None, since })
}

/// Whether a folder has these files of operations as they were.
fn has_operations(repo: &Repo, folder: &Oid, needs: &Missing) -> Result<bool> {
    for (name, blob) in needs {
        let there = ops::blob(repo, folder, name)?;
        let is_it = |there: Oid| blob.as_ref().is_none_or(|blob| there == *blob);
        if !there.is_some_and(is_it) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The newest folder at a path, from history.
pub(super) fn last_folder(repo: &Repo, snapshot: &Snapshot<'_>, path: &str) -> Result<Option<Oid>> {
    for commit in repo.range(snapshot.commit(), &[], usize::MAX)? {
        let tree = repo.commit_info(&commit)?.tree;
        if let Some(entry) = repo.entry_at(&tree, path)?
            && entry.kind == EntryKind::Tree
        {
            return Ok(Some(entry.id));
        }
    }
    Ok(None)
}
