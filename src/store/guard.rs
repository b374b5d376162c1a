//! The last look at a repair before it is written: it may bring operations back, and takes none away.
//!
//! A file that is no operation by its own words is none that is lost; one that cannot be read is taken for
//! what its name says.

use super::{Edits, Snapshot, layout, ops, shelves};
use crate::core::failure::{Code, Failure, Result};
use crate::core::id::Oid;
use crate::core::op::Operation;
use crate::core::signature::SUFFIX;
use crate::git::{EntryKind, Repo};
use std::collections::BTreeSet;

/// Refuses edits that leave a session with fewer operations than it has, or without the session.
pub(super) fn require_no_loss(repo: &Repo, snapshot: &Snapshot<'_>, edits: &Edits) -> Result<()> {
    let folders: BTreeSet<String> = edits
        .entries
        .keys()
        .filter_map(|path| folder(path))
        .collect();
    if folders.is_empty() {
        return Ok(());
    }
    let after = shelves::edit(repo, Some(snapshot.tree()), edits)?;
    for path in folders {
        let had = operations(repo, snapshot.tree(), &path)?;
        let has = operations(repo, &after, &path)?;
        let lost: Vec<&String> = had.difference(&has).collect();
        if let Some(first) = lost.first() {
            return Err(Failure::internal(
                Code::RepairLoses,
                format!(
                    "{path}: a repair would take {} of {} operations away, the first is {first}; nothing was changed",
                    lost.len(),
                    had.len()
                ),
            )
            .help(format!(
                "git log {} -- {path}  (and put back what a commit took away or changed)",
                snapshot.commit().short()
            )));
        }
    }
    Ok(())
}

/// The session's folder that a path is, or is in.
fn folder(path: &str) -> Option<String> {
    let depth = match path.split('/').next() {
        Some(layout::SESSIONS) => 2,
        Some(layout::ARCHIVE) => 3,
        _ => return None,
    };
    let parts: Vec<&str> = path.split('/').take(depth).collect();
    (parts.len() == depth).then(|| parts.join("/"))
}

/// The names of the operations in a folder, as far as its trees can be read.
fn operations(repo: &Repo, root: &Oid, path: &str) -> Result<BTreeSet<String>> {
    let Some(entry) = shelves::entry_at(repo, root, path)? else {
        return Ok(BTreeSet::new());
    };
    if entry.kind != EntryKind::Tree {
        return Ok(BTreeSet::new());
    }
    if let Some(sealed) = repo.entry_at(&entry.id, layout::SEALED_OPS)? {
        let sealed = repo.read_blob(&sealed.id)?;
        let lines = sealed.split(|byte| *byte == b'\n');
        let ops = lines.filter_map(|line| Operation::parse_sealed(line, path).ok());
        return Ok(ops.map(|op| op.file_name()).collect());
    }
    let ops = match repo.entry_at(&entry.id, layout::OPS)? {
        Some(ops) if ops.kind == EntryKind::Tree => ops.id,
        _ => return Ok(BTreeSet::new()),
    };
    let mut names = BTreeSet::new();
    let mut read = Vec::new();
    for held in ops::files(repo, &ops)? {
        if held.name.ends_with(SUFFIX) {
            continue;
        }
        match repo.read_blob(&held.entry.id) {
            Ok(bytes) => {
                let op = Operation::parse(&bytes, path, &held.entry.id);
                read.extend(op.ok().filter(|op| op.file_name() == held.name));
            }
            Err(_) => drop(names.insert(held.name)),
        }
    }
    // A record that was copied from another session is none of this one's.
    let uid = read.iter().find_map(Operation::started_uid);
    let is_own =
        |op: &&Operation| op.entity.is_none() || uid.is_none() || op.entity.as_deref() == uid;
    names.extend(read.iter().filter(is_own).map(Operation::file_name));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn a_path_is_about_the_session_that_it_is_in() {
        for (path, expected) in [
            ("sessions/one", Some("sessions/one")),
            ("sessions/one/ops/x.json", Some("sessions/one")),
            ("archive/2024-01/one", Some("archive/2024-01/one")),
            ("archive/2024-01", None),
            ("sessions", None),
            ("branches/main", None),
        ] {
            assert_eq!(folder(path).as_deref(), expected);
        }
    }
}
