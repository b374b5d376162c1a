//! The board of the backlog.

use super::scope;
use super::scope::{Scope, Scoped};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_rules::issue::board::{Lane, LaneBy, lanes};
use loopx_rules::issue::needs::Rules;

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

/// The step that leads on from a board as it is now: the first card that can be taken, or what the first one lacks for it.
pub(crate) fn next(ctx: &Context, scoped: &Scoped, lanes: &[Lane]) -> Option<Hint> {
    if scoped.at.is_some() {
        return None;
    }
    let policy = super::view::policy(ctx);
    let me = ctx.reader().map(|reader| &reader.author);
    let issues = &scoped.backlog.issues;
    let watched = Watched::of_issues(&ctx.repo, issues, scoped.now);
    let rules = Rules::of(&policy, issues, (me, &watched.leases));
    let ready = lanes.iter().flat_map(|lane| &lane.columns[1]);
    let ready = ready.map(|at| &scoped.backlog.issues[*at]);
    let mut ready = ready.map(|issue| (issue, rules.lacking(issue)));
    let first = ready.clone().find(|(_, lacks)| lacks.is_empty());
    let (issue, lacks) = first.or_else(|| ready.next())?;
    let short = scoped.short(&issue.id);
    match lacks.first() {
        None => Some(command!("issue take {short}")),
        Some(lack) => lack.way(issue, &short),
    }
}
