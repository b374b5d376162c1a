//! Newest whole copy of a record in history, from which a repair takes it.

use super::check::{check_archived, check_entry};
use super::loss::{Records, Unreadable};
use super::{Lines, Snapshot, fanout, layout};
use loopx_base::failure::{Code, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};

/// The newest whole folder of an archived session that has these operations, from history.
pub(super) fn archived_before(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    path: &str,
    needs: &Records,
) -> Result<Option<Oid>> {
    let mut bad = None;
    for commit in repo.range(snapshot.commit(), &[], usize::MAX)? {
        // The constant root holds nothing.
        let at = match Snapshot::at(repo, commit, path) {
            Err(failure) if failure.code == Code::BranchForeign => continue,
            at => at?,
        };
        let Some(folder) = at.folder_of(path)? else {
            continue;
        };
        let entry = folder.entry.clone();
        let tree = entry.id.clone();
        if bad.as_ref() == Some(&tree) {
            continue;
        }
        if check_archived(repo, &at, folder)?.is_none() && has_records(repo, &entry, needs)? {
            return Ok(Some(tree));
        }
        bad = Some(tree);
    }
    Ok(None)
}

/// History of a damaged session.
pub(super) struct History {
    /// Newest folder of the session that is whole.
    pub(super) whole: Option<Oid>,
    /// First commit after that folder.
    pub(super) since: Option<Oid>,
}

/// `needs` are operations that the folder has to have.
pub(super) fn history(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    id: &SessionId,
    needs: &Records,
) -> Result<History> {
    let lines = Lines::of(repo);
    let mut since = None;
    let mut bad = None;
    for commit in repo.range(snapshot.commit(), &[], usize::MAX)? {
        let tree = repo.commit_info(&commit)?.tree;
        if let Some(entry) = fanout::entry_at(repo, &tree, &layout::session(id))?
            && bad.as_ref() != Some(&entry.id)
        {
            if check_entry(&lines, id, &entry)?.is_none() && has_records(repo, &entry, needs)? {
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

/// Tells whether a folder has these operations as they were.
fn has_records(repo: &Repo, folder: &Entry, needs: &Records) -> Result<bool> {
    if needs.is_empty() {
        return Ok(true);
    }
    let has = Records::of(repo, Some(folder)).map_err(Unreadable::failure)?;
    Ok(needs.lost(repo, &has).is_empty())
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
