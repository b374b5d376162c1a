//! The note of what is under way: written before the target branch moves, gone when the sessions are
//! closed. Whoever writes next finishes what a kill left between.

use super::super::context::Context;
use super::super::files;
use super::super::seat;
use super::closing::{Closing, close};
use super::contest::forget_conflicts;
use super::plan::Aim;
use crate::core::failure::{Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::failpoint::reach;
use crate::git::Identity;
use crate::store::{Lock, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The format of a note.
pub(super) const FORMAT: u32 = 2;

/// What is under way, so that the next command can finish it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) format: u32,
    /// The session, or the first of them: the name of the note.
    pub(super) id: SessionId,
    pub(super) target: String,
    pub(super) old: Option<Oid>,
    /// Where the target branch goes.
    pub(super) new: Oid,
    /// Paths with the blobs that they had and have.
    pub(super) paths: seat::Changes,
    /// The sessions that are closed by it; none where an archive is taken back.
    pub(super) closes: Vec<Closing>,
}

impl Pending {
    /// The sessions that it is about.
    pub(super) fn ids(&self) -> Vec<SessionId> {
        match self.closes.as_slice() {
            [] => vec![self.id.clone()],
            closes => closes.iter().map(|one| one.id.clone()).collect(),
        }
    }
}

fn pending_dir(ctx: &Context) -> PathBuf {
    ctx.repo.common_dir().join("loopx").join("pending")
}

/// Notes down what is under way, moves the target branch and finishes. False: the branch moved, and
/// nothing is left behind.
pub(super) fn publish(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    aim: &Aim,
    pending: &Pending,
    why: &str,
) -> Result<bool> {
    // What a note names is there for whoever reads it.
    ctx.repo.keep(&pending.new)?;
    let note = pending_dir(ctx).join(format!("{}.json", pending.id));
    files::write(&note, &crate::core::op::to_json(pending)?)?;
    reach("archive-noted");
    match store.move_code(lock, &aim.target_ref, &pending.new, aim.tip.as_ref(), why) {
        Ok(true) => reach("target-moved"),
        Ok(false) => {
            files::remove(&note)?;
            return Ok(false);
        }
        Err(failure) => {
            files::remove(&note)?;
            return Err(failure);
        }
    }
    complete(ctx, store, lock, identity, pending)?;
    reach("sessions-closed");
    files::remove(&note)?;
    Ok(true)
}

/// What came of the archives that were under way.
#[derive(Debug, Default)]
pub struct Earlier {
    pub(super) finished: Vec<SessionId>,
    /// Archives that were being taken back, and on which branch.
    pub(super) undone: BTreeMap<SessionId, String>,
    failed: Vec<(Vec<SessionId>, Failure)>,
}

impl Earlier {
    /// The session that this run finished, where it is one.
    pub(super) fn only(&self) -> Option<&SessionId> {
        let mut all = self.finished.iter().chain(self.undone.keys());
        all.next().filter(|_| all.next().is_none())
    }

    /// Whether this session's could be finished. That of another is no reason to stop.
    pub fn check(&self, id: &SessionId) -> Result<()> {
        match self.failed.iter().find(|(failed, _)| failed.contains(id)) {
            Some((_, failure)) => Err(failure.clone()),
            None => Ok(()),
        }
    }
}

/// Finishes what earlier runs left between their two refs, before another command writes.
pub fn finish(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
) -> Result<Earlier> {
    let mut earlier = Earlier::default();
    let Ok(entries) = std::fs::read_dir(pending_dir(ctx)) else {
        return Ok(earlier);
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            // A note that never got its name: only a holder of the lock writes here.
            drop(files::remove(&path));
            continue;
        }
        let Some(bytes) = files::read(&path, u64::MAX)? else {
            continue;
        };
        // A note that cannot be read was being written when its process died: nothing had happened yet.
        if let Ok(pending) = serde_json::from_slice::<Pending>(&bytes) {
            match finish_one(ctx, store, lock, identity, &pending) {
                Ok(true) if pending.closes.is_empty() => {
                    earlier.undone.insert(pending.id, pending.target);
                }
                Ok(true) => earlier.finished.extend(pending.ids()),
                Ok(false) => {}
                Err(failure) => {
                    earlier.failed.push((pending.ids(), failure));
                    continue;
                }
            }
        }
        files::remove(&path)?;
    }
    Ok(earlier)
}

/// Says whether the target branch had moved, so that there was something to finish.
fn finish_one(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    pending: &Pending,
) -> Result<bool> {
    let target_ref = format!("refs/heads/{}", pending.target);
    let landed = match ctx.repo.find_ref(&target_ref)? {
        Some(tip) => ctx.repo.is_ancestor(&pending.new, &tip)?,
        None => false,
    };
    if landed {
        complete(ctx, store, lock, identity, pending)?;
    }
    Ok(landed)
}

/// After the target branch moved: its worktree, then the session.
pub(super) fn complete(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    pending: &Pending,
) -> Result<()> {
    let target_ref = format!("refs/heads/{}", pending.target);
    if let Some(worktree) = seat::of(ctx, &target_ref)?
        && let Some(tip) = ctx.repo.find_ref(&target_ref)?
    {
        let before = pending.old.as_ref().filter(|_| tip == pending.new);
        seat::follow(ctx, &worktree, &tip, &pending.paths, before)?;
    }
    reach("target-followed");
    if pending.closes.is_empty() {
        // Nobody is closed: the conflict that was settled is this one's.
        forget_conflicts(ctx, &pending.id)?;
    }
    close(ctx, store, lock, identity, &pending.target, &pending.closes)
}
