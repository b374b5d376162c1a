//! The card that an agent begins with: of the task that it has, or of the next one that nobody has.

use super::Plan;
use super::take::next_ready;
use crate::flow::context::Context;
use crate::flow::lease;
use crate::flow::skills::Skills;
use crate::flow::transaction::{Needs, gather_here};
use loopx_base::failure::Result;
use loopx_rules::task::card::Card;
use loopx_rules::task::graph::Graph;
use loopx_rules::task::status::TaskFacts;
use loopx_store::{Session, Snapshot};

/// The card of the task that is taken here, else of what `take` would give; nothing where there is neither.
pub(in crate::flow) fn card_here(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    agent: Option<String>,
) -> Result<Option<Card>> {
    let facts = gather_here(ctx, snapshot, session, Needs::Code)?;
    let Ok(plan) = Plan::of(&facts) else {
        return Ok(None);
    };
    let graph = Graph::of(&plan.nodes);
    let owner = lease::owner(&ctx.repo, agent)?;
    let is_own = |at: &usize| {
        let holder = plan.facts(*at).and_then(TaskFacts::holder);
        holder.is_some_and(|claim| claim.value.is_of(&owner))
    };
    let skills = Skills::of(&ctx.repo);
    let own = (0..plan.nodes.len()).find(is_own);
    let at = own.or_else(|| next_ready(&facts, &plan, &graph, (ctx.now(), &skills)));
    Ok(at.map(|at| plan.card(ctx, &graph, at)))
}
