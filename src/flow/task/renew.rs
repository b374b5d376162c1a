//! A claim that is renewed while its check runs, so that nobody takes a task from whoever works on it.

use super::{Plan, claim_for, now, record};
use crate::flow::context::Context;
use crate::flow::lease;
use crate::flow::transaction::{Act, Needs};
use loopx_base::failure::{Code, Failure, Result};
use loopx_rules::lease::{MAX_LEASE, Owner, ends};
use loopx_rules::session::Stamped;
use loopx_rules::task::event::{Claim, TaskEvent};
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::TaskId;
use loopx_rules::task::status::TaskFacts;

/// Renews the claim of a task that is taken here, once half of its lease is gone. Writes nothing where there is
/// nothing to renew.
pub(in crate::flow) fn renew(ctx: &Context, task: &str) -> Result<()> {
    let snapshot = ctx.store()?.snapshot()?;
    let state = ctx.session_to_change(&snapshot)?.state;
    let owner = lease::owner(&ctx.repo, None)?;
    let facts = TaskId::parse(task).and_then(|id| state.task(&id));
    let holder = facts.and_then(TaskFacts::holder);
    if !holder.is_some_and(|claim| is_due(claim, &owner, ctx.repo.now())) {
        return Ok(());
    }
    let renewed = record(ctx, (Needs::Stage, false), |facts| {
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let at = plan.find(&graph, task)?;
        let holder = plan.facts(at).and_then(TaskFacts::holder);
        let Some(known) = holder.filter(|claim| is_due(claim, &owner, now(facts))) else {
            return Err(Failure::waiting(
                Code::TaskHeld,
                "the claim needs no renewal",
            ));
        };
        // A time that is bounded is not made longer.
        let node = &plan.nodes[at];
        if node.turn.is_some() {
            let why = "the claim has a time limit that no renewal extends";
            return Err(Failure::waiting(Code::TaskHeld, why));
        }
        let claim = Claim {
            request: known.value.request.clone(),
            head: known.value.head.clone(),
            reads: known.value.reads.clone(),
            ..claim_for(&owner, None, Some(known))
        };
        let task = plan.nodes[at].id.clone();
        let what = format!("renew the claim of {task}");
        Ok(Act::new(TaskEvent::Claimed { task, claim }, what, ()))
    });
    renewed.map(drop)
}

/// Tells whether a claim is of whoever asks, and half of its lease is gone.
fn is_due(claim: &Stamped<Claim>, owner: &Owner, now: i64) -> bool {
    let half = i64::from(claim.value.seconds.min(MAX_LEASE)) / 2;
    claim.value.is_of(owner) && ends(claim, claim.value.seconds).saturating_sub(half) <= now
}
