//! The board of the backlog.

use super::scope;
use super::scope::{Scope, Scoped};
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_rules::issue::board::{Lane, LaneBy, lanes};

/// The lanes of a scope.
pub(crate) fn board(
    ctx: &Context,
    scope: &Scope,
    by: Option<LaneBy>,
) -> Result<(Scoped, Vec<Lane>)> {
    let snapshot = ctx.store()?.snapshot()?;
    let scoped = scope::of(ctx, &snapshot, scope)?;
    let lanes = of(&scoped, by);
    Ok((scoped, lanes))
}

/// The lanes of issues that were gathered.
pub(super) fn of(scoped: &Scoped, by: Option<LaneBy>) -> Vec<Lane> {
    let shown = (scoped.shown.as_slice(), by);
    lanes(&scoped.backlog, &scoped.waits, shown, |id| scoped.short(id))
}
