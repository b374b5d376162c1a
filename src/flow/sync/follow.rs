//! Working copies after the branch took in what others wrote: what is unedited follows, what is edited
//! stays, and a session that has another name now keeps its files.

use super::super::context::Context;
use super::super::files;
use super::super::workcopy::{FOLDER, WorkCopy};
use crate::core::failure::Result;
use crate::core::id::SessionId;
use crate::store::{Renamed, Store};
use std::collections::BTreeMap;

/// Brings the working copies of this worktree in step.
pub(in super::super) fn follow<'r>(
    ctx: &Context,
    store: &Store<'_>,
    renamed: impl Iterator<Item = &'r Renamed>,
) -> Result<()> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(());
    };
    let bases = ctx.repo.git_dir().join("loopx");
    let mut moved = Vec::new();
    for one in renamed {
        let from = files::inside(top, &format!("{FOLDER}/{}", one.from))?;
        let to = files::inside(top, &format!("{FOLDER}/{}", one.to))?;
        // Whose files these are says the record beside them: it is moved first, and back never.
        let record = bases.join(format!("{}.json", one.from));
        if from.is_dir() && !to.exists() && record.is_file() {
            let there = bases.join(format!("{}.json", one.to));
            if std::fs::rename(&record, there).is_ok() {
                drop(std::fs::rename(&from, &to));
                moved.push(one.to.clone());
            }
        }
    }
    let snapshot = store.snapshot()?;
    let mut ids = moved;
    if let Ok(entries) = std::fs::read_dir(top.join(FOLDER)) {
        let names = entries.flatten().map(|entry| entry.file_name());
        ids.extend(names.filter_map(|name| SessionId::parse(&name.to_string_lossy()).ok()));
    }
    ids.sort();
    ids.dedup();
    for id in ids {
        // One that cannot be read is for `fsck`; the others follow.
        if let Ok(Some(session)) = snapshot.session(&id)
            && let Some(mut copy) = WorkCopy::open(&ctx.repo, &id)?
            && copy.exists()
        {
            copy.publish(&session.state, &BTreeMap::new())?;
        }
    }
    Ok(())
}
