//! The state of a session as it is stored in its folder: read from its files, and written to those that change. Which
//! files a state has is the core's business; this module finds and writes them.

use super::{Session, layout};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::session::{PARTS, State};
use std::collections::BTreeMap;

/// The state that a folder holds; nothing where there is none, or where other rules than this program's made it.
pub(super) fn state(repo: &Repo, folder: &Oid, label: &str) -> Result<Option<State>> {
    match repo.blob_at(folder, layout::STATE)? {
        Some(bytes) => read(repo, folder, &bytes, label),
        None => Ok(None),
    }
}

/// State that a folder holds, where the bytes of `state.json` are known.
pub(super) fn read(repo: &Repo, folder: &Oid, bytes: &[u8], label: &str) -> Result<Option<State>> {
    State::parse(bytes, label, || parts(repo, folder))
}

fn parts(repo: &Repo, folder: &Oid) -> Result<Vec<(String, Vec<u8>)>> {
    let Some(entry) = repo.entry_at(folder, PARTS)? else {
        return Ok(Vec::new());
    };
    if entry.kind != EntryKind::Tree {
        return Ok(Vec::new());
    }
    let files = repo.list_tree(&entry.id)?.into_iter();
    let blobs = files.filter(|(_, entry)| entry.kind == EntryKind::Blob);
    blobs
        .map(|(name, entry)| Ok((format!("{PARTS}/{name}"), repo.read_blob(&entry.id)?)))
        .collect()
}

/// Changes of a folder that store a state in it, where the folder has the files of the state `before`.
pub(super) fn entries(
    repo: &Repo,
    state: &mut State,
    before: Option<&Session>,
) -> Result<BTreeMap<String, Option<Entry>>> {
    let mut found = BTreeMap::new();
    let had = before
        .map(|session| session.state.parts())
        .unwrap_or_default();
    // What another program will read differently is left to it.
    if !state.is_understood() {
        found.extend(had.into_iter().map(|path| (path, None)));
        found.insert(layout::STATE.to_owned(), None);
        return Ok(found);
    }
    let before = match before.filter(|before| before.state.is_understood()) {
        // What another version wrote has other bytes.
        Some(session) if had.is_empty() || is_of_this_version(repo, session)? => {
            Some(&session.state)
        }
        _ => None,
    };
    let files = state.to_files(before)?;
    if before.is_none() {
        found.extend(had.into_iter().map(|path| (path, None)));
    }
    let write = |bytes: &[u8]| repo.write_blob(bytes).map(Entry::blob);
    found.insert(layout::STATE.to_owned(), Some(write(&files.head)?));
    for (path, bytes) in files.parts {
        found.insert(path, bytes.as_deref().map(write).transpose()?);
    }
    Ok(found)
}

/// Tells whether the files of a session's state are those in which this version stores it.
fn is_of_this_version(repo: &Repo, session: &Session) -> Result<bool> {
    let bytes = repo.blob_at(&session.tree, layout::STATE)?;
    Ok(bytes.is_some_and(|bytes| session.state.is_stored_in(&bytes)))
}
