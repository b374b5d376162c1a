//! The state of a gate: what was decided about it, and whether the decision is about the work as it is now.

use super::expand::counting;
use super::judge::Judged;
use super::values::{Decision, Verdict};
use crate::session::{Stamped, State};
use crate::task::graph::Graph;
use crate::task::node::is_within;
use crate::task::node::{Node, NodeKind, TaskId};
use crate::task::status::{Opening, Status, TaskFacts};
use loopx_base::id::{Oid, OpId};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Standing of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Gate that nobody decided, or of which the judged work was done anew since.
    Open,
    /// Gate that lets the work go on.
    Proceeds(Judged),
    /// A fix counts: another gate is decided in its place.
    Superseded(TaskId),
    /// A person decides.
    Escalated(Judged),
    /// Gate that a person opened.
    Opened,
}

impl Standing {
    /// Status of the node of the gate.
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

/// Standing of the gate of a node; nothing for a node that has none.
pub fn standing(node: &Node, state: &State) -> Option<Standing> {
    let gate = node.gate.as_deref()?;
    if let Some(next) = &gate.superseded {
        return Some(Standing::Superseded(next.clone()));
    }
    let facts = state.task(&node.id);
    // A goal that a person completed, as work is completed, stays so.
    if node.kind == NodeKind::Goal && facts.is_some_and(is_done_by_hand) {
        return Some(Standing::Opened);
    }
    let Some((decision, judged)) = counting(node, state) else {
        return Some(Standing::Open);
    };
    // A goal that was met is not asked for again.
    let is_now = |judged: &BTreeMap<TaskId, OpId>, saw: &BTreeMap<String, Oid>| {
        node.kind == NodeKind::Goal
            || is_now(&gate.judges, judged, state) && is_unchanged(saw, state)
    };
    // A word opens what waits for one: no gate that nobody judged.
    let opened = facts.and_then(|facts| facts.opened.as_ref());
    let opened = opened.filter(|opened| opened.seq > decision.seq);
    Some(match judged.verdict {
        Verdict::Escalate
            if opened.is_some_and(|opened| is_now(&opened.value.judged, &opened.value.saw)) =>
        {
            Standing::Opened
        }
        Verdict::Escalate => Standing::Escalated(judged),
        Verdict::Proceed if is_now(&decision.value.judged, &decision.value.saw) => {
            Standing::Proceeds(judged)
        }
        // The gate behind a fix was made from it.
        Verdict::Proceed | Verdict::Fix => Standing::Open,
    })
}

/// Tells whether a person completed a node under a claim, and said why.
fn is_done_by_hand(facts: &TaskFacts) -> bool {
    let done = facts.completion.as_ref();
    let done = done.filter(|_| facts.status == Status::Completed && facts.opened.is_none());
    done.is_some_and(|done| done.value.manual && done.reason.is_some())
}

/// Tells whether a person let a checkpoint pass, and what they looked at was not done anew since.
fn is_passed(graph: &Graph<'_>, at: usize, state: &State) -> bool {
    let Some(facts) = state.task(&graph.nodes[at].id) else {
        return false;
    };
    match &facts.opened {
        Some(opened) => stands(graph, at, (&opened.value, opened.seq), state),
        None => {
            let nothing = Opening::default();
            is_done_by_hand(facts) && stands(graph, at, (&nothing, facts.last.seq), state)
        }
    }
}

/// The words that a node may begin that count: what was looked at was not done anew since.
pub fn allowed<'s>(
    graph: &Graph<'_>,
    at: usize,
    state: &'s State,
) -> impl Iterator<Item = &'s Stamped<Opening>> {
    let facts = state.task(&graph.nodes[at].id);
    let said = facts.map_or(&[][..], |facts| &facts.allowed).iter();
    said.filter(move |said| stands(graph, at, (&said.value, said.seq), state))
}

/// The status of each node that a verdict or a person's word completes, and nothing else; nothing for other nodes. The
/// graph of the nodes is made where a word asks for it.
pub fn statuses<'n>(
    nodes: &'n [Node],
    state: &State,
    graph: &OnceCell<Graph<'n>>,
) -> Vec<Option<Status>> {
    let status = |(at, node): (usize, &Node)| {
        if node.kind != NodeKind::Checkpoint {
            return Some(standing(node, state)?.status(node, state));
        }
        Some(match state.task_status(&node.id) {
            Status::Completed if !is_passed(graph.get_or_init(|| Graph::of(nodes)), at, state) => {
                Status::Pending
            }
            status => status,
        })
    };
    nodes.iter().enumerate().map(status).collect()
}

/// Tells whether the results that somebody judged are those of now.
fn is_now(judges: &[TaskId], judged: &BTreeMap<TaskId, OpId>, state: &State) -> bool {
    judges.iter().all(|id| {
        let is_redone = matches!(state.task_status(id), Status::Claimed | Status::Failed);
        !is_redone && result(state, id).map(|(op, _)| op) == judged.get(id)
    })
}

/// Tells whether a person's word stands: each result that it names is the one of now. A node of which the word names no
/// result had its own before the word, as the words of programs before 0.6 name none, and later ones none of what no
/// record completed.
fn stands(graph: &Graph<'_>, at: usize, (word, said): (&Opening, u64), state: &State) -> bool {
    if !is_unchanged(&word.saw, state) {
        return false;
    }
    looked_at(graph, at).into_iter().all(|id| {
        if word.judged.contains_key(id) {
            is_now(std::slice::from_ref(id), &word.judged, state)
        } else {
            result(state, id).is_none_or(|(_, seq)| seq < said)
        }
    })
}

/// Tells whether the files of tasks that somebody saw have the content of then.
fn is_unchanged(saw: &BTreeMap<String, Oid>, state: &State) -> bool {
    let mut saw = saw.iter();
    saw.all(|(path, blob)| state.output(path) == Some(blob))
}

/// The files of the tasks that a verdict, or the word of a person, is about, as they are now. A file that another task leaves too is
/// that one's to change.
pub fn files(graph: &Graph<'_>, at: usize, state: &State) -> BTreeMap<String, Oid> {
    let about: BTreeSet<String> = looked_at(graph, at).into_iter().map(TaskId::key).collect();
    let is_about = |node: &&Node| about.contains(&node.id.key());
    let (about, others): (Vec<&Node>, Vec<&Node>) = graph.nodes.iter().partition(is_about);
    let named: Vec<&String> = others.iter().flat_map(|node| &node.outputs).collect();
    let left = about.into_iter().flat_map(|node| {
        let own = state.outputs_of(node.id.as_str()).map(|(path, _)| path);
        own.chain(node.outputs.iter().map(String::as_str))
    });
    let left = left.filter(|path| !named.iter().any(|other| is_within(path, other)));
    let found = left.filter_map(|path| Some((path.to_owned(), state.output(path)?.clone())));
    found.collect()
}

/// The nodes whose results a verdict, or the word of a person, is about: what a gate judges, else everything before the
/// node, back to the checkpoints there.
fn looked_at<'n>(graph: &Graph<'n>, at: usize) -> Vec<&'n TaskId> {
    let nodes = graph.nodes;
    if let Some(gate) = &nodes[at].gate {
        return gate.judges.iter().collect();
    }
    let before = graph.back_to(at, |node| node.kind == NodeKind::Checkpoint);
    before.into_iter().map(|at| &nodes[at].id).collect()
}

/// The results that a verdict, or the word of a person, is about, as they are now.
pub fn results(graph: &Graph<'_>, at: usize, state: &State) -> BTreeMap<TaskId, OpId> {
    let result = |id: &TaskId| Some((id.clone(), result(state, id)?.0.clone()));
    let looked_at = looked_at(graph, at).into_iter();
    looked_at.filter_map(result).collect()
}

/// The record that gave a node its result, and its number: of a gate the newest decision about it.
fn result<'s>(state: &'s State, id: &TaskId) -> Option<(&'s OpId, u64)> {
    fn of<T>(one: &Stamped<T>) -> (&OpId, u64) {
        (&one.op, one.seq)
    }
    let facts = state.task(id)?;
    match facts.status {
        Status::Skipped => Some(of(&facts.last)),
        Status::Completed => facts
            .completion
            .as_ref()
            .map(of)
            .or(facts.opened.as_ref().map(of)),
        _ => facts.decisions.last().map(of),
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
