//! The files of an archived session that an older program sealed: all its operations in one file, and the signatures about
//! them in another one. Both stand where the folder of operations would stand, and beside such a folder neither is
//! anything: whoever could put a file there would take away what is read instead of it.

use super::layout;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};

pub(super) struct Sealed {
    pub(super) ops: Oid,
    pub(super) signatures: Option<Oid>,
}

/// Sealed files of a session's folder; nothing where its operations are files of their own.
pub(super) fn of(repo: &Repo, folder: &Oid) -> Result<Option<Sealed>> {
    let names = [layout::OPS, layout::SEALED_OPS, layout::SEALED_SIGNATURES];
    let [ops, sealed, signatures] = repo.entries(folder, names)?;
    let blob = |entry: Option<Entry>| {
        let entry = entry.filter(|entry| entry.kind == EntryKind::Blob);
        entry.map(|entry| entry.id)
    };
    Ok(match (ops, blob(sealed)) {
        (None, Some(ops)) => Some(Sealed {
            ops,
            signatures: blob(signatures),
        }),
        _ => None,
    })
}
