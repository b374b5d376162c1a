//! `undo` and `redo`: a new commit that restores an earlier state, or brings back what an undo took.
//! History is never rewritten; each command is one operation that names what it is about.

use super::act::{differences, load_active};
use super::context::{Context, unknown};
use super::opening::{Opening, operation};
use super::point;
use crate::core::artifact::Artifact;
use crate::core::counted;
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::{command, hint};
use crate::core::id::{Oid, OpId, SessionId};
use crate::core::op::{Event, Operation};
use crate::core::replay::{Redoable, WayBack, redoable, undoable, way_back};
use crate::core::session::{Ending, State};
use crate::store::{self, Decision, Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many events a subject names.
const NAMED: usize = 3;

/// How far to go back.
#[derive(Clone, Debug)]
pub enum Back {
    Events(usize),
    /// To the moment after this operation: its id, its number, or the commit that made it.
    To(String),
}

/// One event that was taken back, or brought back.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    pub op: OpId,
    /// The event's word, who did it and when.
    pub event: String,
    pub by: String,
    pub at: String,
    /// The event's number, and the artifacts that went with it.
    pub seq: u64,
    pub artifacts: Vec<Artifact>,
}

impl Moved {
    fn of(op: &Operation) -> Self {
        Moved {
            op: op.op.clone(),
            event: op.event.word().to_owned(),
            by: op.by.to_string(),
            at: op.at.clone(),
            seq: op.seq,
            artifacts: op.writes.keys().copied().collect(),
        }
    }
}

/// What an undo or a redo did.
#[derive(Debug)]
pub struct Told {
    pub id: SessionId,
    pub commit: Oid,
    pub state: State,
    /// In the order in which they went: newest first for an undo, oldest first for a redo.
    pub moved: Vec<Moved>,
}

/// Takes events of the session back, the newest first.
pub fn undo(ctx: &Context, back: &Back, reason: Option<String>) -> Result<Told> {
    tell(ctx, reason, "undo", |snapshot, session, operations| {
        let id = &session.state.id;
        let undone: Vec<&Operation> = match back {
            Back::Events(count) => {
                let mut all = undoable(operations);
                if all.is_empty() {
                    return Err(only_started(id));
                }
                if all.len() < *count {
                    return Err(too_many("undo", "take back", id, *count, all.len()));
                }
                all.truncate(*count);
                all
            }
            Back::To(point) => to(snapshot, session, operations, point)?,
        };
        let ids = undone.iter().map(|op| op.op.clone()).collect();
        let moved = undone.into_iter().map(Moved::of).collect();
        Ok((Event::Undone { undone: ids }, moved))
    })
}

/// Brings events back that were undone, the one that was undone last first, where nothing else has
/// happened since.
pub fn redo(ctx: &Context, count: usize, reason: Option<String>) -> Result<Told> {
    tell(ctx, reason, "redo", |_, session, operations| {
        let id = &session.state.id;
        let Redoable {
            operations: mut redone,
            since,
        } = redoable(operations);
        if redone.is_empty() {
            return Err(match since {
                None => Failure::nothing(
                    Code::NothingToRedo,
                    format!("nothing of session {id} is undone"),
                )
                .help(command!("log").session(&id)),
                Some(op) => Failure::refused(
                    Code::RedoOvertaken,
                    format!(
                        "`{}` of {} ({}) came after the undo: what was undone does not fit on it",
                        op.event.word(),
                        op.by,
                        op.at
                    ),
                )
                .help(hint![
                    command!("log").session(&id),
                    "  (shows what was undone; ",
                    command!("cat ARTIFACT --at NUMBER").session(&id),
                    " prints its text)"
                ]),
            });
        }
        if redone.len() < count {
            return Err(too_many("redo", "bring back", id, count, redone.len()));
        }
        redone.truncate(count);
        let ids = redone.iter().map(|op| op.op.clone()).collect();
        let moved = redone.into_iter().map(Moved::of).collect();
        Ok((Event::Redone { redone: ids }, moved))
    })
}

fn only_started(id: &SessionId) -> Failure {
    Failure::nothing(
        Code::NothingToUndo,
        format!("session {id} has only been started"),
    )
    .help(command!("abandon --reason WHY").session(&id))
}

fn too_many(command: &str, verb: &str, id: &SessionId, wanted: usize, there: usize) -> Failure {
    let events = counted(there, "event");
    Failure::refused(
        Code::EventsTooFew,
        format!("session {id} has {events} to {verb}, expected {wanted}"),
    )
    .help(match command {
        "undo" => command!("undo {there}").session(id),
        _ => command!("redo {there}").session(id),
    })
}

/// What leads back to the moment after an operation.
fn to<'o>(
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &'o [Operation],
    point: &str,
) -> Result<Vec<&'o Operation>> {
    let id = &session.state.id;
    let target = point::find(snapshot, session, operations, point)?;
    match way_back(operations, &target.op) {
        Some(WayBack::Undo(back)) if !back.is_empty() => Ok(back),
        Some(WayBack::Gone(gone)) => Err(Failure::refused(
            Code::PointUndone,
            format!(
                "`{}` of {} (@{}) counted then, and was taken back since",
                gone.event.word(),
                gone.by,
                gone.seq
            ),
        )
        .help(command!("redo").session(&id))),
        _ => Err(Failure::nothing(
            Code::NothingToUndo,
            format!(
                "nothing that could be taken back came after `{}` (@{}) of session {id}",
                target.event.word(),
                target.seq
            ),
        )
        .help(command!("log").session(&id))),
    }
}

/// Tells the past of a session anew: one operation about others, and the state that follows.
fn tell(
    ctx: &Context,
    reason: Option<String>,
    word: &str,
    mut decide: impl FnMut(&Snapshot<'_>, &Session, &[Operation]) -> Result<(Event, Vec<Moved>)>,
) -> Result<Told> {
    let opening = Opening::of(ctx)?;
    let (id, mut copy) = opening.with_copy(ctx)?;
    let Opening {
        identity,
        store,
        lock,
        ..
    } = &opening;
    let committed = store.update(lock, identity, |snapshot| {
        let session = snapshot.find(&id)?.ok_or_else(|| unknown(snapshot, &id))?;
        if let Some(Ending::Archived { .. }) = session.state.ending {
            return Err(load_active(snapshot, &id)
                .err()
                .unwrap_or_else(|| unknown(snapshot, &id))
                .help(
                    command!("archive --undo {id}").note("(takes back what it made of the specs)"),
                ));
        }
        if let Some(copy) = &mut copy {
            // Edits that are not saved would be lost between two states: they go first.
            let policy = ctx.policy(&session.state)?;
            let edits = copy.collect(&session.state, policy.artifacts.max_bytes)?;
            if let Some((artifact, _)) = edits.writes.first_key_value() {
                return Err(Failure::refused(
                    Code::UnsavedEdits,
                    format!("{artifact} has edits that are not saved"),
                )
                .help(match word {
                    "undo" => {
                        hint![
                            command!("save"),
                            "  (and then undo twice), or: ",
                            command!("checkout --force")
                        ]
                    }
                    _ => command!("checkout --force")
                        .note("(puts the stored text there; what was there is kept)"),
                }));
            }
        }
        let mut operations = snapshot.operations(&session)?;
        let (event, moved) = decide(snapshot, &session, &operations)?;
        let mut op = operation(identity, Some(&session.state), event)?;
        op.reason.clone_from(&reason);
        operations.push(op.clone());
        let state = store::replay(&ctx.repo, &id, &operations)?;
        // The writes tell a reader what moved; the fold gets there without them.
        op.writes = differences(&session.state.artifacts, &state.artifacts);
        let mut edits = store::Edits::default();
        edits.record(&ctx.repo, Some(&session), &op, &state)?;
        rebind(ctx, snapshot, &mut edits, &session.state, &state)?;
        let message = store::message(&id, &subject(word, &moved), &op, &state);
        Ok(Decision {
            edits,
            message,
            value: (state, moved),
        })
    })?;
    let (state, moved) = committed.value;
    if let Some(copy) = &mut copy {
        copy.publish(&state, &BTreeMap::new())?;
    }
    Ok(Told {
        id,
        commit: committed.commit,
        state,
        moved,
    })
}

/// `undo save`, `undo 2 events: save, approve`.
fn subject(word: &str, moved: &[Moved]) -> String {
    let names: Vec<&str> = moved.iter().map(|one| one.event.as_str()).collect();
    match names.as_slice() {
        [only] => format!("{word} {only}"),
        many => {
            let shown = many.iter().take(NAMED).copied().collect::<Vec<_>>();
            let more = if many.len() > NAMED { ", ..." } else { "" };
            format!("{word} {} events: {}{more}", many.len(), shown.join(", "))
        }
    }
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
    // Only what can still change holds a branch.
    let held = |state: &State| state.branch.clone().filter(|_| state.is_active());
    let (old, new) = (held(before), held(after));
    if old == new {
        return Ok(());
    }
    if let Some(old) = old
        && snapshot.bound_to(&old)?.as_ref() == Some(id)
    {
        edits.unbind(&old);
    }
    if let Some(new) = new
        && snapshot.bound_to(&new)?.is_none()
    {
        edits.bind(&ctx.repo, &new, id)?;
    }
    Ok(())
}
