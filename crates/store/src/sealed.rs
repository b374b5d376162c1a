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

impl Sealed {
    /// The files by their paths below the session's folder.
    pub(super) fn files(&self) -> impl Iterator<Item = (String, Oid)> {
        let signatures = self.signatures.iter();
        let signatures = signatures.map(|blob| (layout::SEALED_SIGNATURES, blob));
        let files = std::iter::once((layout::SEALED_OPS, &self.ops)).chain(signatures);
        files.map(|(path, blob)| (path.to_owned(), blob.clone()))
    }
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

#[cfg(test)]
mod tests {
    use crate::check::check_archived;
    use crate::{Snapshot, layout, replay, stray};
    use loopx_base::id::SessionId;
    use loopx_git::{Entry, Repo};
    use loopx_rules::op::Operation;
    use std::collections::BTreeMap;

    const STARTED: &str = r#"{"format":1,"seq":1,"op":"01arz3ndektsv4rrffq69g5fav","at":"2026-01-01T00:00:00Z","by":{"name":"Ada","email":"a@x"},"event":{"kind":"started","uid":"01arz3ndektsv4rrffq69g5fav","title":"One","profile":"standard","branch":null,"base":null}}"#;

    #[test]
    fn a_sealed_archive_has_what_its_records_name_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let repo = Repo::init_bare(dir.path()).expect("a repository");
        let id = SessionId::parse("one").expect("an id");
        let op = Operation::parse_sealed(STARTED.as_bytes(), "x").expect("an operation");
        let state = replay(&repo, &id, std::slice::from_ref(&op)).expect("a state");
        let folder = |files: &[(&str, &str)]| {
            let blob = |text: &str| repo.write_blob(text.as_bytes()).expect("a blob");
            let files = files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), blob(text)));
            let files = files.map(|(path, blob)| (path, Some(Entry::blob(blob))));
            repo.edit_tree(None, &files.collect()).expect("a tree")
        };
        let sealed = (layout::SEALED_OPS, STARTED);
        let signed = (layout::SEALED_SIGNATURES, "");
        let strays = |files: &[(&str, &str)]| {
            stray::all(&repo, &folder(files), &state, std::slice::from_ref(&op)).expect("readable")
        };
        assert_eq!(strays(&[sealed]), [""; 0]);
        assert_eq!(strays(&[sealed, signed]), [""; 0]);
        assert_eq!(strays(&[signed]), [layout::SEALED_SIGNATURES]);
        for path in ["evil.md", "imported/x.md", "logs/x.log"] {
            assert_eq!(strays(&[sealed, (path, "x")]), [path]);
            let format = repo.write_blob(b"1\n").expect("a blob");
            let lies = format!("archive/2026-01/{id}");
            let edits = BTreeMap::from([
                (layout::FORMAT_FILE.to_owned(), Some(Entry::blob(format))),
                (
                    lies.clone(),
                    Some(Entry::tree(folder(&[sealed, (path, "x")]))),
                ),
            ]);
            let tree = repo.edit_tree(None, &edits).expect("a tree");
            let commit = repo.write_constant_commit(&tree, "x\n").expect("a commit");
            let at = Snapshot::at(&repo, commit, "loopx").expect("a state");
            let there = at.folder_of(&lies).expect("readable").expect("a folder");
            let said = check_archived(&repo, &at, there).expect("a look");
            let said = said.expect("a fault");
            assert!(said.contains(path), "{said}");
        }
    }
}
