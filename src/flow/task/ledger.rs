//! The ledger of the session that is meant: its list and its records, given to the rules. Nothing here writes.

use super::Plan;
use crate::flow::context::Context;
use crate::flow::task_list;
use crate::flow::transaction::{Needs, gather_here};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{OpId, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::issue::IssueId;
use loopx_rules::op::{Body, Operation};
use loopx_rules::replay::undone;
use loopx_rules::task::debt::{Debt, debt};
use loopx_rules::task::decide::outweighed;
use loopx_rules::task::file::read_anyway;
use loopx_rules::task::ledger::{Record, Sprint, ledger};
use std::collections::BTreeSet;

/// The sprints of a session. Refused where no pipeline made a task of it.
pub(crate) fn sprints(ctx: &Context) -> Result<(SessionId, Vec<Sprint>)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    // One looks back when all is done: the session that ended last on this branch is meant, too.
    let (session, _) = ctx.asked(&snapshot)?;
    let operations = snapshot.operations(&session)?;
    let undone = undone(&operations);
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    let plan = Plan::of(&facts)?;
    // Of several verdicts that were given apart one counts.
    let beside = plan
        .nodes
        .iter()
        .flat_map(|node| outweighed(node, plan.state));
    let beside: BTreeSet<&OpId> = beside.map(|one| &one.op).collect();
    let counting = operations
        .iter()
        .filter(|op| !undone.contains(&op.op) && !beside.contains(&op.op));
    let records: Vec<Record<'_>> = counting.filter_map(record).collect();
    let list = facts.texts.get(&Artifact::TaskList);
    let points = list.map(|text| read_anyway(text).points());
    let points = points.unwrap_or_default();
    let sprints = ledger(&plan.nodes, &plan.statuses, &records, &points);
    if sprints.is_empty() {
        let message = format!("no task of session {} comes from a pipeline", plan.state.id);
        let failure = Failure::not_found(Code::PipelineUnknown, message);
        return Err(failure.help(task_list::lead(plan.state)));
    }
    Ok((plan.state.id.clone(), sprints))
}

/// Work that the completed tasks of a session left undone.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub session: SessionId,
    /// The issue that the session was started for.
    pub issue: Option<IssueId>,
    pub debt: Vec<Debt>,
    /// Set when the session has to be named, for another one is meant here, or none.
    pub is_elsewhere: bool,
}

/// Work that the completed tasks of the session that is meant left undone, also of one that ended.
pub(crate) fn left_undone(ctx: &Context) -> Result<Left> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, is_here) = ctx.asked(&snapshot)?;
    let state = session.state;
    Ok(Left {
        debt: debt(&state),
        issue: state.issues.first().cloned(),
        session: state.id,
        is_elsewhere: !is_here,
    })
}

/// A record of a task; nothing of another topic.
fn record(op: &Operation) -> Option<Record<'_>> {
    match &op.body {
        Body::Task(event) => Some(Record {
            op: &op.op,
            seq: op.seq,
            at: &op.at,
            by: &op.by.name,
            reason: op.reason.as_deref(),
            event,
        }),
        _ => None,
    }
}
