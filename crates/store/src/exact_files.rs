//! The files of a state as they are stored, byte for byte and mode by mode. A reader passes over a field that it does not
//! know; whoever checks a repository does not.
//!
//! A push is not judged by it: what another program adds to a file that is computed anyway is no reason to refuse its
//! records.

use super::check::{Mend, replay};
use super::folder::place;
use super::merge_session::settle_candidate;
use super::snapshot::Folder;
use super::{Lines, Snapshot, layout, sealed};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::session::State;

const FILE_MODE: &[u8] = b"100644";

/// First difference between the files of a session's state and what its operations give; `None` where another program
/// left the state to its readers, or where an earlier one wrote it.
pub(super) fn fault(repo: &Repo, id: &SessionId, folder: &Oid) -> Result<Option<String>> {
    let state = replay(&Lines::of(repo), id, folder)?.state;
    differing(repo, state, folder)
}

fn differing(repo: &Repo, mut state: State, folder: &Oid) -> Result<Option<String>> {
    // What another program will read differently is left to it.
    if !state.is_understood() {
        return Ok(None);
    }
    let Some(stored) = repo.blob_at(folder, layout::STATE)? else {
        return Ok(Some(format!("{} is not there", layout::STATE)));
    };
    if !state.is_stored_in(&stored) {
        return Ok(None);
    }
    let files = state.to_files(None)?;
    let parts = files.parts.into_iter();
    let parts = parts.filter_map(|(path, bytes)| Some((path, bytes?)));
    let wanted = std::iter::once((layout::STATE.to_owned(), files.head)).chain(parts);
    for (path, bytes) in wanted {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let tree = match parent {
            "" => Some(folder.clone()),
            parent => repo.entry_at(folder, parent)?.map(|entry| entry.id),
        };
        let entries = match &tree {
            Some(tree) => repo.raw_entries(tree)?,
            None => Vec::new(),
        };
        let entry = entries.iter().find(|one| one.name == name.as_bytes());
        let Some(entry) = entry else {
            return Ok(Some(format!("{path} is not there")));
        };
        if entry.mode != FILE_MODE {
            return Ok(Some(format!("{path} is no plain file")));
        }
        if entry.id != repo.hash_blob(&bytes)? {
            return Ok(Some(format!(
                "{path} differs from what its operations give"
            )));
        }
    }
    Ok(None)
}

/// Tells whether an archived session may be put at a path.
fn path_is_free(snapshot: &Snapshot<'_>, place: &str) -> Result<bool> {
    Ok(place.starts_with(layout::ARCHIVE) && snapshot.folder_of(place)?.is_none())
}

/// First difference of an archived session: its path from the one that its operations give, or the files of its state
/// from what its operations give.
pub(super) fn archived(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    folder: Folder,
) -> Result<Option<(String, Mend)>> {
    let path = folder.path.clone();
    let session = snapshot.load_folder(folder)?;
    let place = place(&session.state);
    if place != path && path_is_free(snapshot, &place)? {
        let what = format!("its operations put it into {place}");
        return Ok(Some((what, Mend::Move)));
    }
    // An older program sealed its records into one file, and left no state of this kind.
    if sealed::of(repo, &session.tree)?.is_some() {
        return Ok(None);
    }
    let mut state = replay(&Lines::of(repo), &session.state.id, &session.tree)?.state;
    let candidate = session.state.artifacts.get(&Artifact::AdrCandidate);
    settle_candidate(&mut state, candidate.cloned());
    state.ops.clone_from(&session.state.ops);
    let what = differing(repo, state, &session.tree)?;
    Ok(what.map(|what| (what, Mend::Rewrite)))
}
