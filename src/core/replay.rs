//! Replaying operations: the one way from what happened to what is true.
//!
//! Total and deterministic: the same set of operations gives the same state, whatever the order in
//! which they arrived. What was undone is left out, unless its undo was undone too.

use super::failure::{Failure, Result};
use super::id::{OpId, SessionId};
use super::op::{Event, FORMAT, Operation};
use super::session::{BuildFacts, ClarifyFacts, PlanFacts, State, signed};
use super::stage::Stage;
use std::collections::{BTreeMap, BTreeSet};

/// The state that the first operation of a session makes.
pub fn begin(id: &SessionId, op: &Operation) -> Result<State> {
    let Event::Started {
        uid,
        title,
        profile,
        branch,
        base,
    } = &op.event
    else {
        return Err(Failure::internal(
            "operations_incomplete",
            format!(
                "session {id}: the first operation is `{}`, expected `start`",
                op.event.word()
            ),
        )
        .help("git loopx fsck --repair"));
    };
    let artifacts = op
        .writes
        .iter()
        .filter_map(|(artifact, write)| Some((*artifact, write.to.clone()?)))
        .collect();
    Ok(State {
        format: FORMAT,
        id: id.clone(),
        uid: uid.clone(),
        title: title.clone(),
        ops: None,
        seq: op.seq,
        last: op.op.clone(),
        started: signed(op),
        touched: signed(op),
        stage: Stage::Clarify,
        ending: None,
        profile: *profile,
        branch: branch.clone(),
        base: base.clone(),
        artifacts,
        approvals: BTreeMap::new(),
        last_transition: None,
        scope: Vec::new(),
        clarify: ClarifyFacts::default(),
        plan: PlanFacts::default(),
        build: BuildFacts::default(),
        verdict: None,
        evidence: Vec::new(),
        bases: Vec::new(),
        conflicts: Vec::new(),
    })
}

/// Replays operations in (seq, op) order. Undone ones are left out, unless their undo was undone too.
pub fn fold(id: &SessionId, ops: &[Operation]) -> Result<State> {
    walk(id, ops, |_, _| {})
}

/// The same, showing each operation that fits, with the state after it.
pub fn walk(
    id: &SessionId,
    ops: &[Operation],
    mut after: impl FnMut(&Operation, &State),
) -> Result<State> {
    let ops = in_order(ops);
    let undone = void(&ops);
    let first = ops.first().ok_or_else(|| {
        Failure::internal(
            "operations_missing",
            format!("session {id} has no operation"),
        )
        .help("git loopx fsck --repair")
    })?;
    let mut state = begin(id, first)?;
    for op in &ops[1..] {
        if undone.contains(&op.op) {
            continue;
        }
        let conflicts = state.conflicts.len();
        state.apply(op);
        if state.conflicts.len() == conflicts {
            after(op, &state);
        }
    }
    // What was undone still happened last.
    if let Some(last) = ops.last() {
        state.seq = last.seq;
        state.last = last.op.clone();
        state.touched = signed(last);
    }
    Ok(state)
}

/// Each operation once, by Lamport number, then by id.
pub fn in_order(ops: &[Operation]) -> Vec<&Operation> {
    let mut ops: Vec<&Operation> = ops.iter().collect();
    ops.sort_by(|a, b| (a.seq, &a.op).cmp(&(b.seq, &b.op)));
    let mut known = BTreeSet::new();
    ops.retain(|op| known.insert(&op.op));
    ops
}

/// The operations that no longer count.
pub fn undone(ops: &[Operation]) -> BTreeSet<OpId> {
    void(&in_order(ops))
}

/// Walked from the newest: an undo that was itself undone is void.
fn void(ops: &[&Operation]) -> BTreeSet<OpId> {
    let mut void = BTreeSet::new();
    for op in ops.iter().rev() {
        if let Event::Undone { undone } = &op.event
            && !void.contains(&op.op)
        {
            void.insert(undone.clone());
        }
    }
    void
}

/// The operation that `undo` would take back: the newest that still counts and is neither an undo nor a
/// note of the tool itself.
pub fn last_undoable(ops: &[Operation]) -> Option<&Operation> {
    let sorted = in_order(ops);
    let void = void(&sorted);
    sorted.into_iter().rev().find(|op| {
        !void.contains(&op.op) && !matches!(op.event, Event::Undone { .. }) && !op.event.is_note()
    })
}
