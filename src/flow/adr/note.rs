//! A promotion that is under way: a note in the git dir, so that the next one can bring the worktree in
//! step where a run was killed behind its ref.

use crate::core::failure::Result;
use crate::core::id::Oid;
use crate::core::op;
use crate::flow::context::Context;
use crate::flow::{files, seat};
use crate::store::{Lock, Store};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a ref is about to move to, and which files are to follow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Note {
    format: u32,
    target_ref: String,
    new: Oid,
    paths: seat::Changes,
}

impl Note {
    pub(super) fn new(target_ref: String, new: Oid, paths: seat::Changes) -> Self {
        Note {
            format: 1,
            target_ref,
            new,
            paths,
        }
    }

    /// The worktree after the ref moved. Where the branch went on since, what stands there counts.
    fn follow(&self, ctx: &Context) -> Result<()> {
        if let Some(tip) = ctx.repo.find_ref(&self.target_ref)?
            && ctx.repo.is_ancestor(&self.new, &tip)?
            && let Some(worktree) = seat::of(ctx, &self.target_ref)?
        {
            seat::follow(ctx, &worktree, &tip, &self.paths, None)?;
        }
        Ok(())
    }
}

fn folder(ctx: &Context) -> PathBuf {
    ctx.repo.common_dir().join("loopx").join("landings")
}

/// Moves the ref, and lets its worktree follow. `false`: the branch moved meanwhile, decide again.
pub(super) fn moving(
    ctx: &Context,
    (store, lock): (&Store<'_>, &Lock),
    note: &Note,
    old: Option<&Oid>,
    why: &str,
) -> Result<bool> {
    let place = folder(ctx).join(format!("{}.json", note.new));
    // What a note names is there for whoever reads it.
    ctx.repo.keep(&note.new)?;
    files::write(&place, &op::to_json(note)?)?;
    let moved = store.move_code(lock, &note.target_ref, &note.new, old, why);
    if matches!(moved, Ok(true)) {
        // Where that fails, the note stays for the next promotion.
        note.follow(ctx)?;
    }
    files::remove(&place)?;
    moved
}

/// Brings in step what killed runs left behind their refs. Only a holder of the lock comes here.
pub(super) fn finish(ctx: &Context) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder(ctx)) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // A note that cannot be read was being written when its process died: nothing had happened yet.
        if let Some(bytes) = files::read(&path, u64::MAX)?
            && let Ok(note) = serde_json::from_slice::<Note>(&bytes)
            && note.follow(ctx).is_err()
        {
            // Its worktree cannot be written now: the next promotion tries again.
            continue;
        }
        files::remove(&path)?;
    }
    Ok(())
}
