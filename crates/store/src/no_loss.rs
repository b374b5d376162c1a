//! The last look at a repair before it is written: it may bring operations back, and takes none away.
//!
//! A file that is no operation by its own words is none that is lost. One under the same name is not lost: what
//! somebody changed is put right.

use super::loss::{Content, How, Lost, Records, Unreadable, operation_of};
use super::{Edits, Snapshot, fanout, layout};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_git::Repo;
use std::collections::BTreeSet;

/// Refuses edits that leave a session with fewer operations than it has, or take the session away.
pub(super) fn require_no_loss(repo: &Repo, snapshot: &Snapshot<'_>, edits: &Edits) -> Result<()> {
    let folders: BTreeSet<String> = edits
        .entries
        .keys()
        .filter_map(|path| folder(path))
        .collect();
    if folders.is_empty() {
        return Ok(());
    }
    let after = fanout::edit(repo, Some(snapshot.tree()), edits)?;
    for path in &folders {
        let had = fanout::entry_at(repo, snapshot.tree(), path)?;
        let had = Records::of(repo, had.as_ref()).map_err(Unreadable::failure)?;
        let mut lost = had.lost(repo, &records_at(repo, &after, path)?);
        // What went to another folder of the session is not lost.
        for other in folders.iter().filter(|other| is_of_same(other, path)) {
            let there = records_at(repo, &after, other)?;
            lost.retain(|one| one.how != How::Gone || !there.has_again(repo, one));
        }
        // A record that was copied from another session is none of this one's.
        let uid = had.files().find_map(|(name, blob)| {
            let op = operation_of(repo, name, blob)?;
            op.started_uid().map(str::to_owned)
        });
        let is_own = |lost: &Lost| match &lost.was {
            Content::File(blob) => operation_of(repo, &lost.name, blob)
                .and_then(|op| op.entity)
                .is_none_or(|entity| uid.as_ref().is_none_or(|uid| *uid == entity)),
            Content::Line(_) => true,
        };
        lost.retain(|lost| lost.how == How::Gone && lost.was_record(repo) && is_own(lost));
        if let Some(first) = lost.first() {
            let first = &first.name;
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

fn records_at(repo: &Repo, tree: &Oid, path: &str) -> Result<Records> {
    let entry = fanout::entry_at(repo, tree, path)?;
    Records::of(repo, entry.as_ref()).map_err(Unreadable::failure)
}

/// Tells whether two folders are of sessions of one name.
fn is_of_same(one: &str, other: &str) -> bool {
    one != other && one.rsplit('/').next() == other.rsplit('/').next()
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
