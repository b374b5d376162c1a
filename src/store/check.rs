//! Checking and repairing sessions: the stored state against a replay of the operations, and every
//! object that a session names.

use super::{Edits, Snapshot, Store, layout};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::session::{State, fold};
use crate::git::{Entry, EntryKind, Repo};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is wrong with one session, and how it can be mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub session: String,
    pub what: String,
    pub mend: Mend,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mend {
    /// The operations are whole: compute the state from them again.
    Recompute,
    /// Take the folder from the last commit in which it was whole.
    Restore,
}

/// Checks every active session of a snapshot.
pub fn check(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    for (id, folder) in folders(repo, snapshot)? {
        if let Some((what, mend)) = check_folder(repo, &id, &folder)? {
            found.push(Damage {
                session: id.to_string(),
                what,
                mend,
            });
        }
    }
    Ok(found)
}

fn folders(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<Vec<(SessionId, Oid)>> {
    let Some(entry) = repo.entry_at(snapshot.tree(), layout::SESSIONS)? else {
        return Ok(Vec::new());
    };
    Ok(repo
        .list_tree(&entry.id)?
        .into_iter()
        .filter_map(|(name, entry)| Some((SessionId::parse(&name).ok()?, entry.id)))
        .collect())
}

fn read_operations(repo: &Repo, folder: &Oid) -> Result<(Oid, Vec<Operation>)> {
    let missing = || {
        crate::core::failure::Failure::internal(
            "operations_missing",
            "ops/ is not there".to_owned(),
        )
    };
    let entry = repo.entry_at(folder, layout::OPS)?.ok_or_else(missing)?;
    let mut ops = Vec::new();
    for (name, file) in repo.list_tree(&entry.id)? {
        if file.kind == EntryKind::Blob {
            ops.push(Operation::parse(
                &repo.read_blob(&file.id)?,
                &format!("{}/{name}", layout::OPS),
            )?);
        }
    }
    Ok((entry.id, ops))
}

/// The state that the operations of a folder give.
fn replay(repo: &Repo, id: &SessionId, folder: &Oid) -> Result<State> {
    let (ops_tree, ops) = read_operations(repo, folder)?;
    let mut state = fold(id, &ops)?;
    state.ops = Some(ops_tree);
    Ok(state)
}

fn check_folder(repo: &Repo, id: &SessionId, folder: &Oid) -> Result<Option<(String, Mend)>> {
    let replayed = match replay(repo, id, folder) {
        Ok(state) => state,
        Err(failure) => return Ok(Some((failure.message, Mend::Restore))),
    };
    let stored = repo
        .blob_at(folder, layout::STATE)?
        .map(|bytes| State::parse(&bytes, layout::STATE));
    match stored {
        None => {
            return Ok(Some((
                format!("{} is not there", layout::STATE),
                Mend::Recompute,
            )));
        }
        Some(Err(failure)) => return Ok(Some((failure.message, Mend::Recompute))),
        Some(Ok(state)) if state != replayed => {
            return Ok(Some((
                format!("{} differs from what its operations give", layout::STATE),
                Mend::Recompute,
            )));
        }
        Some(Ok(_)) => {}
    }
    for (artifact, blob) in &replayed.artifacts {
        let entry = repo
            .entry_at(folder, artifact.path())?
            .map(|entry| entry.id);
        if entry.as_ref() != Some(blob) {
            return Ok(Some((
                format!("{artifact} is not the blob that the operations name"),
                if repo.read_blob(blob).is_ok() {
                    Mend::Recompute
                } else {
                    Mend::Restore
                },
            )));
        }
        if let Err(failure) = repo.read_blob(blob) {
            return Ok(Some((failure.message, Mend::Restore)));
        }
    }
    Ok(None)
}

/// The edits that mend what was found.
pub fn mend(store: &Store<'_>, snapshot: &Snapshot<'_>, damages: &[Damage]) -> Result<Edits> {
    let repo = store.repo();
    let mut edits = Edits::default();
    for damage in damages {
        let id = SessionId::parse(&damage.session)?;
        match damage.mend {
            Mend::Recompute => {
                let folder = repo
                    .entry_at(snapshot.tree(), &layout::session(&id))?
                    .map(|entry| entry.id);
                let Some(folder) = folder else { continue };
                let state = replay(repo, &id, &folder)?;
                let mut inner = BTreeMap::new();
                inner.insert(
                    layout::STATE.to_owned(),
                    Some(Entry::blob(repo.write_blob(&state.to_bytes()?)?)),
                );
                for (artifact, blob) in &state.artifacts {
                    inner.insert(artifact.path().to_owned(), Some(Entry::blob(blob.clone())));
                }
                let tree = repo.edit_tree(Some(&folder), &inner)?;
                edits.replace_session(&id, Some(tree));
            }
            Mend::Restore => edits.replace_session(&id, last_whole(repo, snapshot, &id)?),
        }
    }
    Ok(edits)
}

/// The newest folder of a session that is whole, from history.
fn last_whole(repo: &Repo, snapshot: &Snapshot<'_>, id: &SessionId) -> Result<Option<Oid>> {
    let mut seen = None;
    for commit in repo.range(snapshot.commit(), &[], usize::MAX)? {
        let tree = repo.commit_info(&commit)?.tree;
        let Some(entry) = repo.entry_at(&tree, &layout::session(id))? else {
            continue;
        };
        if seen.as_ref() == Some(&entry.id) {
            continue;
        }
        if check_folder(repo, id, &entry.id)?.is_none() {
            return Ok(Some(entry.id));
        }
        seen = Some(entry.id);
    }
    Ok(None)
}
