//! The first step of a verdict that comes before the review is open.

use super::{
    Act, Context, Done, Facts, ReviewRequest, Reviewed, VerdictRequest, act, enter, judge,
};
use crate::flow::transaction::Needs;
use loopx_base::failure::Result;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::ReadSections;
use loopx_rules::stage::{Stage, Transition};

/// Opens the review for a verdict, where that is approved and not done yet. What the verdict would be refused for is
/// found before anything is written.
pub(super) fn for_verdict(
    ctx: &Context,
    verdict: &VerdictRequest,
    request: &ReviewRequest,
) -> Result<Option<Done<Reviewed>>> {
    let state = ctx.session_to_change(&ctx.store()?.snapshot()?)?.state;
    let is_armed = state.armed(Transition::BuildToReview).is_some();
    if state.stage != Stage::Build || !is_armed || !state.is_active() {
        return Ok(None);
    }
    let opening = ReviewRequest {
        verdict: None,
        reason: None,
        ..request.clone()
    };
    let opened = act(ctx, Needs::Code, |facts| {
        let opened = enter(ctx, facts, &opening)?;
        judge(ctx, &after(facts, &opened), verdict, request)?;
        Ok(opened)
    })?;
    Ok(Some(opened))
}

/// Facts that the verdict will find after the review was opened.
fn after<'a>(facts: &Facts<'a>, opened: &Act<Reviewed>) -> Facts<'a> {
    let mut after = facts.clone();
    after.state.stage = Stage::Review;
    after.state.verdict = None;
    after.read = ReadSections::default();
    if let Some(report) = opened.writes.get(&Artifact::ReviewReport) {
        after.texts.insert(Artifact::ReviewReport, report.clone());
    }
    after
}
