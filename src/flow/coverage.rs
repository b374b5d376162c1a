//! Scenario, slice, evidence: what `spec coverage` shows.

use super::act::{Facts, Needs, gather, texts_here};
use super::context::Context;
use super::delta;
use crate::core::artifact::Artifact;
use crate::core::coverage::{self, Covered};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::pack;
use crate::core::session::State;
use crate::core::spec::Delta;
use crate::core::stage::Stage;

/// The code tree that the approved review is about.
fn reviewed_tree(state: &State) -> Option<&Oid> {
    state.verdict.as_ref().map(|verdict| &verdict.value.tree)
}

/// What proves each scenario that the delta writes.
fn proofs(facts: &Facts<'_>, delta: &Delta, tree: Option<&Oid>) -> Vec<Covered> {
    let slices = pack::slices(facts.texts.get(&Artifact::Slices).map(String::as_str));
    let names = coverage::scenarios(delta);
    coverage::coverage(&names, &slices.unwrap_or_default(), &facts.state, tree)
}

/// Scenario, slice and evidence of the session that is meant: on the reviewed code once it is done, on
/// the present code before.
pub fn show(ctx: &Context) -> Result<(SessionId, Option<Oid>, Vec<Covered>)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let mut facts = gather(ctx, &snapshot, &session, None, Needs::Code, None)?;
    facts.texts = texts_here(ctx, &facts.state, &facts.policy)?;
    let tree = match facts.state.stage {
        Stage::Done => reviewed_tree(&facts.state).cloned(),
        _ => facts.code.as_ref().map(|code| code.tree.clone()),
    };
    let delta = delta::read(&facts.texts).map_or_else(Delta::default, |(delta, _)| delta);
    let covered = proofs(&facts, &delta, tree.as_ref());
    Ok((facts.state.id, tree, covered))
}
