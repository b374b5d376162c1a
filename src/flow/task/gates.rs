//! Reading decisions: how a gate stands, and all that was decided. Nothing here writes.

use super::{Plan, named};
use crate::flow::context::Context;
use crate::flow::transaction::{Facts, Needs, gather_here};
use loopx_base::failure::Result;
use loopx_base::id::{OpId, SessionId};
use loopx_rules::op::{Body, Operation};
use loopx_rules::session::{Stamped, State};
use loopx_rules::task::decide::{
    Confidence, Decision, Judged, Points, Severity, Standing, Verdict, counting, counts, is_close,
    misfit, outweighed, standing, wanted, weakest,
};
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::{Node, NodeKind, TaskId};
use loopx_rules::task::status::{Status, Step};
use serde::Serialize;
use std::collections::BTreeMap;

/// Gate of a task: how it is judged, and how it stands.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GateView {
    /// `open`, `proceed`, `fix`, `escalate` or `opened`.
    pub standing: &'static str,
    /// Set when the gate went on once, and what was judged is another one since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reopened: bool,
    /// Number of times that the gate was repaired; the cap says how often it may be.
    pub attempt: u32,
    pub cap: u32,
    pub at_cap: &'static str,
    pub judges: Vec<TaskId>,
    pub scale: Points,
    pub pass: Points,
    pub warn: Option<Points>,
    pub critical: u32,
    pub dimensions: Vec<DimensionView>,
    pub views: Vec<String>,
    /// The ways on, with the tasks that are not done then.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Vec<TaskId>>,
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Gate that is decided in place of this one.
    pub next: Option<TaskId>,
    /// Reasons for how the gate stands.
    pub why: Vec<String>,
    /// The words of who gave the verdict that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub notes: Vec<String>,
    /// Values that the gate asks for, in words.
    pub wanted: String,
    /// Decisions apart that do not count.
    pub beside: Vec<BesideView>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct DimensionView {
    pub name: String,
    pub weight: Points,
    pub minimum: Option<Points>,
}

/// A decision that another one outweighs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BesideView {
    pub op: OpId,
    pub by: String,
    pub verdict: Verdict,
}

/// Decision as a row of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DecisionRow {
    pub seq: u64,
    pub op: OpId,
    pub at: String,
    pub by: String,
    pub task: TaskId,
    /// Verdict as it was given; nothing where only scores were.
    pub given: Option<Verdict>,
    /// The word of the outcome that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Verdict that counts; nothing where the plan has the gate no more.
    pub verdict: Option<Verdict>,
    pub adjusted: bool,
    pub score: Option<Points>,
    pub severity: Option<Severity>,
    pub close_call: bool,
    /// Confidence of whoever judged.
    pub confidence: Option<Confidence>,
    pub weakest: Option<String>,
    /// Goals that are not met.
    pub unmet: Vec<String>,
    /// Findings that do not hold the work, and that it still owes.
    pub conditions: Vec<String>,
    pub parse_failed: bool,
    pub why: Vec<String>,
    pub reason: Option<String>,
    pub undone: bool,
}

/// Gate of a node, and how it stands; nothing where the node has none.
pub(super) fn gate(plan: &Plan<'_>, node: &Node) -> Option<GateView> {
    let gate = node.gate.as_deref()?;
    let (word, judged, next): (_, Option<Judged>, _) = match standing(node, plan.state)? {
        Standing::Open => ("open", None, None),
        Standing::Proceeds(judged) => ("proceed", Some(judged), None),
        Standing::Superseded(next) => ("fix", None, Some(next)),
        Standing::Escalated(judged) => ("escalate", Some(judged), None),
        Standing::Opened => ("opened", None, None),
    };
    let counts_now = counting(node, plan.state);
    let reopened = word == "open"
        && counts_now
            .as_ref()
            .is_some_and(|(_, judged)| judged.verdict == Verdict::Proceed);
    let (why, notes) = judged.map_or_else(Default::default, |one| (one.why, one.notes));
    let rubric = &gate.rubric;
    let beside = outweighed(node, plan.state).into_iter();
    Some(GateView {
        standing: word,
        reopened,
        attempt: gate.attempt,
        cap: gate.cap,
        at_cap: gate.at_cap.as_str(),
        judges: gate.judges.clone(),
        scale: rubric.scale,
        pass: rubric.pass,
        warn: rubric.warn,
        critical: rubric.critical,
        dimensions: rubric
            .dimensions
            .iter()
            .map(|one| DimensionView {
                name: one.name.clone(),
                weight: one.weight,
                minimum: one.minimum,
            })
            .collect(),
        views: gate.views.clone(),
        outcomes: gate
            .outcomes
            .iter()
            .map(|one| (one.word.clone(), one.falls.clone()))
            .collect(),
        is_final: gate.is_final,
        next,
        why,
        reason: counts_now.and_then(|(given, _)| given.reason.clone()),
        notes,
        wanted: wanted(gate, plan.state),
        beside: beside
            .map(|one| BesideView {
                op: one.op.clone(),
                by: one.signed.by.to_string(),
                verdict: counts(node.kind, gate, &one.value).verdict,
            })
            .collect(),
    })
}

/// The steps that lead on from where a gate is.
pub(super) fn steps(plan: &Plan<'_>, at: usize) -> Option<Vec<Step>> {
    let node = &plan.nodes[at];
    if node.kind == NodeKind::Checkpoint {
        return Some(match plan.statuses[at] {
            Status::Pending => vec![Step::Open, Step::Skip],
            other => other.steps().collect(),
        });
    }
    Some(match standing(node, plan.state)? {
        Standing::Open => vec![Step::Decide, Step::Skip],
        Standing::Escalated(_) => vec![Step::Open, Step::Skip],
        Standing::Opened => vec![Step::Retry],
        Standing::Proceeds(_) | Standing::Superseded(_) => Vec::new(),
    })
}

/// Decisions about a gate, and about those in whose place it is decided.
pub(super) fn decided(facts: &Facts<'_>, plan: &Plan<'_>, node: &Node) -> Vec<DecisionRow> {
    let Some(gate) = node.gate.as_deref() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    let mut own = Some(node.id.clone());
    for attempt in (0..=gate.attempt).rev() {
        let at = own
            .as_ref()
            .and_then(|id| plan.nodes.iter().find(|node| node.id == *id));
        rows.extend(
            at.map(|node| rows_of(facts, node))
                .into_iter()
                .flatten()
                .rev(),
        );
        own = at.and_then(|node| before(node, attempt));
    }
    rows.reverse();
    rows
}

/// The gate in whose place this one is decided.
fn before(node: &Node, attempt: u32) -> Option<TaskId> {
    let (root, _) = node.id.as_str().rsplit_once('.')?;
    match attempt {
        0 => None,
        1 => TaskId::parse(root),
        more => TaskId::parse(&format!("{root}.{}", more - 1)),
    }
}

fn rows_of(facts: &Facts<'_>, node: &Node) -> Vec<DecisionRow> {
    let decisions = facts
        .state
        .task(&node.id)
        .map_or(&[][..], |facts| &facts.decisions);
    let row = |one: &Stamped<Decision>| {
        row(
            Envelope::of(one),
            &node.id,
            &one.value,
            (Some(node), &facts.state),
            false,
        )
    };
    decisions.iter().map(row).collect()
}

/// Decisions of the session that is meant, oldest first.
pub(crate) fn decisions(ctx: &Context) -> Result<(SessionId, Vec<DecisionRow>)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let operations = snapshot.operations(&session)?;
    let undone = loopx_rules::replay::undone(&operations);
    let facts = gather_here(ctx, &snapshot, &session, Needs::Stage)?;
    // A plan that cannot be read says nothing of what counts.
    let plan = Plan::of(&facts).ok();
    let graph = plan.as_ref().map(|plan| Graph::of(&plan.nodes));
    let row = |op: &Operation| {
        let Body::Task(TaskEvent::Decided { task, decision }) = &op.body else {
            return None;
        };
        let at = graph.as_ref().and_then(|graph| graph.find(task));
        let node = at.and_then(|at| Some(&plan.as_ref()?.nodes[at]));
        let envelope = Envelope {
            seq: op.seq,
            op: &op.op,
            at: &op.at,
            by: op.by.to_string(),
            reason: op.reason.as_ref(),
        };
        let is_undone = undone.contains(&op.op);
        Some(row(
            envelope,
            task,
            decision,
            (node, &facts.state),
            is_undone,
        ))
    };
    Ok((
        named(&facts.state),
        operations.iter().filter_map(row).collect(),
    ))
}

/// Frame of a decision: who decided, when and why.
struct Envelope<'o> {
    seq: u64,
    op: &'o OpId,
    at: &'o str,
    by: String,
    reason: Option<&'o String>,
}

impl<'o> Envelope<'o> {
    fn of<T>(one: &'o Stamped<T>) -> Self {
        Envelope {
            seq: one.seq,
            op: &one.op,
            at: &one.signed.at,
            by: one.signed.by.to_string(),
            reason: one.reason.as_ref(),
        }
    }
}

fn row(
    envelope: Envelope<'_>,
    task: &TaskId,
    decision: &Decision,
    (node, state): (Option<&Node>, &State),
    is_undone: bool,
) -> DecisionRow {
    let gate = node.and_then(|node| Some((node.kind, node.gate.as_deref()?)));
    let judged = gate.map(|(kind, gate)| {
        let judged = counts(kind, gate, decision);
        match misfit(gate, decision, state).filter(|_| judged.verdict == Verdict::Proceed) {
            // Nothing follows from values that the rubric does not ask for.
            Some(misfit) => Judged {
                severity: None,
                why: vec![format!("does not count: {misfit}")],
                ..judged
            },
            None => judged,
        }
    });
    let score = judged.as_ref().and_then(|one| one.score).or(decision.score);
    let is_close = gate
        .zip(score)
        .is_some_and(|((_, gate), score)| is_close(gate, score));
    DecisionRow {
        seq: envelope.seq,
        op: envelope.op.clone(),
        at: envelope.at.to_owned(),
        by: envelope.by,
        task: task.clone(),
        given: decision.verdict,
        outcome: decision.outcome.clone(),
        verdict: judged.as_ref().map(|one| one.verdict),
        adjusted: judged.as_ref().is_some_and(|one| one.adjusted),
        score,
        severity: judged.as_ref().and_then(|one| one.severity),
        close_call: is_close,
        confidence: decision.confidence,
        weakest: gate.map_or_else(
            || decision.weakest.clone(),
            |(_, gate)| weakest(gate, decision),
        ),
        unmet: decision.unmet.clone(),
        conditions: decision.conditions.clone(),
        parse_failed: decision.parse_failed,
        why: judged.map_or_else(Vec::new, |one| one.why),
        reason: envelope.reason.cloned(),
        undone: is_undone,
    }
}
