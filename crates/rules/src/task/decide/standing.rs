//! The state of a gate: what was decided about it, and whether the decision is about the work as it is now.

use super::expand::counting;
use super::judge::Judged;
use super::values::{Decision, Verdict};
use crate::session::{Stamped, State};
use crate::task::node::{Node, NodeKind, TaskId};
use crate::task::status::Status;
use loopx_base::id::OpId;
use std::collections::BTreeMap;

/// How a gate stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody decided, or what was judged was done anew since.
    Open,
    /// It goes on.
    Proceeds(Judged),
    /// A fix counts: another gate is decided in its place.
    Superseded(TaskId),
    /// A person decides.
    Escalated(Judged),
    /// A person opened it.
    Opened,
}

impl Standing {
    /// How far the node of the gate is.
    pub fn status(&self, node: &Node, state: &State) -> Status {
        match (self, state.task_status(&node.id)) {
            (Standing::Superseded(_), _) => Status::Superseded,
            (_, Status::Skipped) => Status::Skipped,
            (Standing::Proceeds(_) | Standing::Opened, _) => Status::Completed,
            (_, Status::Claimed) => Status::Claimed,
            _ => Status::Pending,
        }
    }
}

/// How the gate of a node stands; nothing for a node that has none.
pub fn standing(node: &Node, state: &State) -> Option<Standing> {
    let gate = node.gate.as_deref()?;
    if let Some(next) = &gate.superseded {
        return Some(Standing::Superseded(next.clone()));
    }
    let facts = state.task(&node.id);
    let opened = facts.and_then(|facts| facts.opened.as_ref());
    let is_now = |judged: &BTreeMap<TaskId, OpId>| is_now(&gate.judges, judged, state);
    if opened.is_some_and(|opened| is_now(&opened.value.judged)) {
        return Some(Standing::Opened);
    }
    // A goal that a person completed stays so.
    if node.kind == NodeKind::Goal && state.task_status(&node.id) == Status::Completed {
        return Some(Standing::Opened);
    }
    let Some((decision, judged)) = counting(node, state) else {
        return Some(Standing::Open);
    };
    Some(match judged.verdict {
        Verdict::Escalate => Standing::Escalated(judged),
        // A goal that was met is not asked for again.
        Verdict::Proceed if node.kind == NodeKind::Goal || is_now(&decision.value.judged) => {
            Standing::Proceeds(judged)
        }
        // The gate behind a fix was made from it.
        Verdict::Proceed | Verdict::Fix => Standing::Open,
    })
}

/// Whether the results that somebody judged are those of now.
fn is_now(judges: &[TaskId], judged: &BTreeMap<TaskId, OpId>, state: &State) -> bool {
    judges.iter().all(|id| {
        let is_redone = matches!(state.task_status(id), Status::Claimed | Status::Failed);
        !is_redone && result(state, id) == judged.get(id)
    })
}

/// The results of what a gate judges, as they are now.
pub fn results(node: &Node, state: &State) -> BTreeMap<TaskId, OpId> {
    let judges = node.gate.as_ref().map_or(&[][..], |gate| &gate.judges);
    let result = |id: &TaskId| Some((id.clone(), result(state, id)?.clone()));
    judges.iter().filter_map(result).collect()
}

/// The record that gave a node its result: of a gate the newest decision about it.
fn result<'s>(state: &'s State, id: &TaskId) -> Option<&'s OpId> {
    let facts = state.task(id)?;
    let opened = facts.opened.as_ref().map(|opened| &opened.op);
    let decided = facts.decisions.last().map(|decision| &decision.op);
    match facts.status {
        Status::Skipped => Some(&facts.last.op),
        Status::Completed => facts.completion.as_ref().map(|done| &done.op).or(opened),
        _ => decided,
    }
}

/// Decisions that do not count: another one that was made apart outweighs them, or their values are not those that
/// the rubric asks for.
pub fn outweighed<'s>(node: &Node, state: &'s State) -> Vec<&'s Stamped<Decision>> {
    let counts = counting(node, state).map(|(counts, _)| &counts.op);
    let all = state
        .task(&node.id)
        .map_or(&[][..], |facts| &facts.decisions);
    all.iter().filter(|one| Some(&one.op) != counts).collect()
}
