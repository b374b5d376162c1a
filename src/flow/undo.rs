//! `undo`: a new commit that restores the state before the last event. History is never rewritten.

use super::act::load_active;
use super::context::{Context, unknown};
use super::workcopy::WorkCopy;
use crate::core::artifact::Artifact;
use crate::core::failure::{Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::op::{Event, FORMAT, Operation};
use crate::core::replay::last_undoable;
use crate::core::session::{Ending, State};
use crate::store::{self, Decision, Snapshot};
use std::collections::BTreeMap;

/// What was taken back.
#[derive(Debug)]
pub struct Undone {
    pub id: SessionId,
    pub commit: Oid,
    pub state: State,
    /// The event's word, who did it and when.
    pub event: String,
    pub by: String,
    pub at: String,
    /// The event's number, and the artifacts that went back with it.
    pub seq: u64,
    pub artifacts: Vec<Artifact>,
}

/// Restores the state before the last event of the session.
pub fn undo(ctx: &Context, reason: Option<String>) -> Result<Undone> {
    let identity = ctx.repo.identity()?;
    let store = ctx.store()?;
    let lock = store.lock()?;
    let earlier = super::archive::finish(ctx, &store, &lock, &identity)?;
    let id = ctx.session_id(&store.snapshot()?)?;
    earlier.check(&id)?;
    let mut copy = WorkCopy::open(&ctx.repo, &id)?;
    let committed = store.update(&lock, &identity, |snapshot| {
        let session = snapshot.find(&id)?.ok_or_else(|| unknown(snapshot, &id))?;
        if let Some(Ending::Archived { .. }) = session.state.ending {
            load_active(snapshot, &id)?;
        }
        if let Some(copy) = &mut copy {
            // Edits that are not saved would be lost between two states: they go first.
            let policy = ctx.policy(&session.state)?;
            let edits = copy.collect(&session.state, policy.artifacts.max_bytes)?;
            if let Some((artifact, _)) = edits.writes.first_key_value() {
                return Err(Failure::refused(
                    "unsaved_edits",
                    format!("{artifact} has edits that are not saved"),
                )
                .help("git loopx save  (and then undo twice), or: git loopx checkout --force"));
            }
        }
        let mut operations = snapshot.operations(&session)?;
        let last = last_undoable(&operations)
            // An import is how a session started.
            .filter(|op| !matches!(op.event, Event::Started { .. } | Event::Imported { .. }))
            .cloned()
            .ok_or_else(|| {
                Failure::nothing(
                    "nothing_to_undo",
                    format!("session {id} has only been started"),
                )
                .help("git loopx abandon --reason WHY")
            })?;
        let seq = operations.iter().map(|op| op.seq).max().unwrap_or(0) + 1;
        let mut op = Operation {
            format: FORMAT,
            seq,
            op: super::act::new_op_id()?,
            after: session.state.newest(),
            at: identity.at.clone(),
            by: identity.author.clone(),
            committer: identity.committer.clone(),
            reason: reason.clone(),
            writes: BTreeMap::new(),
            bases: Vec::new(),
            claim: None,
            event: Event::Undone {
                undone: last.op.clone(),
            },
        };
        operations.push(op.clone());
        let state = store::replay(&ctx.repo, &id, &operations)?;
        // The writes tell a reader what moved; the fold gets there without them.
        op.writes = super::act::differences(&session.state.artifacts, &state.artifacts);
        let mut edits = store::Edits::default();
        edits.record(&ctx.repo, Some(&session), &op, &state)?;
        rebind(ctx, snapshot, &mut edits, &session.state, &state)?;
        let message = store::message(&id, &format!("undo {}", last.event.word()), &op, &state);
        Ok(Decision {
            edits,
            message,
            value: (state, last),
        })
    })?;
    let (state, last) = committed.value;
    if let Some(copy) = &mut copy {
        copy.publish(&state, &BTreeMap::new())?;
    }
    Ok(Undone {
        id,
        commit: committed.commit,
        state,
        event: last.event.word().to_owned(),
        by: last.by.to_string(),
        at: last.at.clone(),
        seq: last.seq,
        artifacts: last.writes.keys().copied().collect(),
    })
}

/// The records of bound branches, after a session's past was told anew.
pub(super) fn rebind(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    edits: &mut store::Edits,
    before: &State,
    after: &State,
) -> Result<()> {
    let id = &after.id;
    match (&before.branch, &after.branch) {
        (_, Some(branch))
            if after.is_active() && !before.is_active() && snapshot.bound_to(branch)?.is_none() =>
        {
            edits.bind(&ctx.repo, branch, id)?;
        }
        (Some(old), new) if Some(old) != new.as_ref() => {
            if snapshot.bound_to(old)?.as_ref() == Some(id) {
                edits.unbind(old);
            }
            if let Some(new) = new
                && snapshot.bound_to(new)?.is_none()
            {
                edits.bind(&ctx.repo, new, id)?;
            }
        }
        _ => {}
    }
    Ok(())
}
