//! Statistics of the backlog, or of a part of it.

use super::scope;
use super::scope::{Scope, Scoped};
use super::then::Then;
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_rules::issue::stats as rules;
use loopx_rules::issue::stats::{Course, Stats, Step};
use loopx_rules::when::Side;
use loopx_store::Snapshot;

/// Weeks that are told where nobody says since when.
const WEEKS: i64 = 8;
const WEEK: i64 = 7 * 86_400;

/// The questions beside the scope.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub since: Option<String>,
    pub step: Option<Step>,
    /// Days without a change after which an issue is stale.
    pub stale: u32,
}

impl Asked {
    /// The days that `issue list --stale` is asked for in the pages.
    pub(crate) const STALE: u32 = 30;
}

/// The statistics of a scope.
pub(crate) fn stats(ctx: &Context, scope: &Scope, asked: &Asked) -> Result<(Scoped, Stats)> {
    let snapshot = ctx.store()?.snapshot()?;
    let scoped = scope::of(ctx, &snapshot, scope)?;
    let found = of(ctx, &snapshot, &scoped, asked)?;
    Ok((scoped, found))
}

/// The statistics of issues that were gathered.
pub(super) fn of(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    scoped: &Scoped,
    asked: &Asked,
) -> Result<Stats> {
    let since = match &asked.since {
        Some(since) => Then::of(ctx, snapshot, (since, Side::Begin), None)?.second,
        None => scoped.now - (WEEKS - 1) * WEEK,
    };
    let turns = scope::courses(snapshot, scoped)?;
    let courses = scoped.shown.iter().zip(turns).map(|(at, turns)| Course {
        issue: &scoped.backlog.issues[*at],
        waits: &scoped.waits[*at],
        turns,
    });
    let courses: Vec<Course<'_>> = courses.collect();
    Ok(rules::stats(
        &courses,
        &rules::Asked {
            now: scoped.now,
            since,
            stale: asked.stale,
            step: asked.step,
        },
    ))
}
