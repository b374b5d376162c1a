//! The limit of records for one entity: everybody who reads a session replays all of them, so that their number is what
//! a push can cost a server. They are counted by the names of their files, before any is read.

use super::fanout_folder::{self, Layout};
use super::loss::{Records, Unreadable};
use super::{Session, layout, sealed};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::{Event, Operation};
use std::collections::HashMap;

/// Number of records that an entity may have.
pub(super) const MOST: usize = 20_000;

/// Number of records that are kept for operations that end a session, or settle it.
const KEPT: usize = 100;

/// The code of the refusal.
const CODE: Code = Code::RecordsExhausted;

/// Counts records; a folder of `ops/` that it met before is not looked at again.
#[derive(Default)]
pub(super) struct Room {
    known: HashMap<Oid, usize>,
}

impl Room {
    /// The records of an entity's folder; where so many files fit, that many at most.
    fn count(&mut self, repo: &Repo, folder: &Entry, most: usize) -> Result<usize> {
        if folder.kind != EntryKind::Tree {
            return Ok(0);
        }
        if let Some(sealed) = sealed::of(repo, &folder.id)? {
            let sealed = repo.read_blob(&sealed.ops)?;
            let lines = sealed.split(|byte| *byte == b'\n');
            return Ok(lines.filter(|line| !line.is_empty()).count());
        }
        match repo.entry_at(&folder.id, layout::OPS)? {
            Some(ops) if ops.kind == EntryKind::Tree => self.below(repo, &ops.id, most),
            _ => Ok(0),
        }
    }

    fn below(&mut self, repo: &Repo, ops: &Oid, most: usize) -> Result<usize> {
        let Layout { flat, folders } = fanout_folder::layout(repo, Fanout::Operations, ops)?;
        let mut files = flat.len();
        for (_, folder) in &folders {
            files += match self.known.get(folder) {
                Some(known) => *known,
                None => {
                    let here = repo.tree_len(folder)?;
                    self.known.insert(folder.clone(), here);
                    here
                }
            };
        }
        if files <= most {
            return Ok(files);
        }
        // Signatures lie beside them.
        let records = Records::below(repo, ops).map_err(Unreadable::failure)?;
        Ok(records.len())
    }

    /// Counts the records in an entity's folder.
    pub(super) fn records(&mut self, repo: &Repo, folder: &Entry) -> Result<u64> {
        let count = self.count(repo, folder, usize::MAX)?;
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }

    /// Counts the records that an entity's folder has and another one has not, and the other way round, but for files
    /// that lie in one folder with those that differ.
    pub(super) fn differing(
        &mut self,
        repo: &Repo,
        one: &Entry,
        other: Option<&Entry>,
    ) -> Result<(u64, u64)> {
        let Some(other) = other else {
            return Ok((self.records(repo, one)?, 0));
        };
        if one == other {
            return Ok((0, 0));
        }
        let ops = |entry: &Entry| -> Result<Option<Layout>> {
            let ops = match entry.kind {
                EntryKind::Tree => repo.entry_at(&entry.id, layout::OPS)?,
                _ => None,
            };
            let ops = ops.filter(|ops| ops.kind == EntryKind::Tree);
            ops.map(|ops| fanout_folder::layout(repo, Fanout::Operations, &ops.id))
                .transpose()
        };
        let (Some(here), Some(there)) = (ops(one)?, ops(other)?) else {
            return Ok((self.records(repo, one)?, self.records(repo, other)?));
        };
        let count = |layout: &Layout, but: &Layout| -> Result<u64> {
            let mut count = layout.flat.len();
            for (name, folder) in &layout.folders {
                if !but.folders.contains(&(name.clone(), folder.clone())) {
                    count += repo.tree_len(folder)?;
                }
            }
            Ok(u64::try_from(count).unwrap_or(u64::MAX))
        };
        Ok((count(&here, &there)?, count(&there, &here)?))
    }

    /// Fault of an entity that has too many records.
    pub(super) fn excess(
        &mut self,
        repo: &Repo,
        entity: &str,
        folder: &Entry,
    ) -> Result<Option<String>> {
        let count = self.count(repo, folder, MOST)?;
        Ok((count > MOST).then(|| sentence(entity, count)))
    }
}

fn sentence(entity: &str, count: usize) -> String {
    format!("{entity} has {count} records, and {MOST} are the most that one may have")
}

/// Refuses what a clone would take over. Nothing is taken then, because a branch is taken as a whole: a tip
/// without what its parents have would have lost it.
pub(super) fn too_many(path: &str, count: usize) -> Failure {
    Failure::refused(CODE, format!("{}; nothing was taken over", sentence(path, count))).help(hint![format!("git log --all -- {path}  (shows who wrote them; the work here goes on, and travels with: "), command!("export SESSION"), ")"])
}

/// Refuses a record that a session has no room for. What ends it, or settles what holds it, always finds
/// some.
pub(super) fn require(repo: &Repo, session: Option<&Session>, op: &Operation) -> Result<()> {
    let Some(session) = session else {
        return Ok(());
    };
    let is_last = op.said().is_some()
        || matches!(
            op.event(),
            Some(Event::Abandoned | Event::Archived { .. } | Event::Unarchived { .. })
        );
    let most = if is_last { MOST } else { MOST - KEPT };
    let folder = Entry::tree(session.tree.clone());
    let count = Room::default().count(repo, &folder, most - 1)?;
    if count < most {
        return Ok(());
    }
    let id = &session.state.id;
    Err(Failure::refused(
        CODE,
        format!(
            "{}: the last {KEPT} are kept for the records that end it",
            sentence(&format!("session {id}"), count)
        ),
    )
    .help(hint![
        command!("abandon").session(id),
        "  (or archive it), then: ",
        command!("start \"FOLLOW-UP\"")
    ]))
}
