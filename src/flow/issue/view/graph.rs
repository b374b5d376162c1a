//! The graph of the open issues: what can be done side by side, the longest chain, and the cycle that holds all up.

use super::{Asker, Row, row};
use crate::flow::context::Context;
use crate::flow::issue::{Names, all, today};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_rules::issue::{Backlog, IssueId, LinkKind};
use serde::Serialize;
use std::borrow::Cow;

/// The open issues as a graph.
#[derive(Debug, Serialize)]
pub(crate) struct GraphView {
    /// The issues that can be done side by side, wave after wave.
    pub waves: Vec<Vec<Row<'static>>>,
    /// The longest chain of what is left.
    pub critical_path: Vec<IssueId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Vec<IssueId>>,
    /// The number of issues that are open.
    pub open: usize,
    /// The command that ends the cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_action: Option<Hint>,
    #[serde(skip)]
    pub names: Names,
}

/// The link that ends a cycle where it is taken away: of an issue to the next one, or of the next one as a part of it.
pub(in crate::flow::issue) fn unlink(
    backlog: &Backlog,
    cycle: &[IssueId],
    names: &Names,
) -> Option<Hint> {
    let mut pairs = cycle.windows(2);
    let link = pairs.find_map(|pair| {
        let [one, next] = pair else { return None };
        let of = |id: &IssueId, to: &IssueId, is_it: fn(LinkKind) -> bool| {
            let links = backlog.find(id)?.links.iter();
            let mut links = links.filter(|link| link.to == *to && is_it(link.kind));
            Some((id.clone(), links.next()?.clone()))
        };
        let waits = of(one, next, |kind| kind.orders() && kind != LinkKind::Parent);
        waits.or_else(|| of(next, one, |kind| kind == LinkKind::Parent))
    });
    let (id, link) = link?;
    let (short, to) = (names.short(&id), names.short(&link.to));
    Some(match link.kind {
        LinkKind::Parent => command!("issue unlink {short} parent {to}"),
        LinkKind::WaitsFor => command!("issue unlink {short} waits-for {to}"),
        LinkKind::IfFailed => command!("issue unlink {short} if-failed {to}"),
        _ => command!("issue unlink {short} blocked-by {to}"),
    })
}

/// The open issues as a graph.
pub(crate) fn graph(ctx: &Context) -> Result<GraphView> {
    let snapshot = ctx.store()?.snapshot()?;
    let found = all(&snapshot)?;
    let names = Names::of_issues(&found);
    let backlog = Backlog::of(found.issues);
    let asker = Asker::of(ctx).watching(ctx, &backlog.issues);
    let asker = asker.beside(&backlog.issues);
    let asker = asker.with_parts(&backlog);
    let mut waits = backlog.waits(&today(asker.now));
    let waves = backlog.waves().into_iter().map(|wave| {
        let rows = wave.into_iter().map(|at| {
            row(
                &names,
                Cow::Owned(backlog.issues[at].clone()),
                Cow::Owned(std::mem::take(&mut waits[at])),
                &asker,
            )
        });
        rows.collect()
    });
    let waves = waves.collect();
    let path = backlog.critical_path().into_iter();
    let cycle = backlog.cycle();
    let open = backlog.issues.iter();
    Ok(GraphView {
        next_action: cycle
            .as_ref()
            .and_then(|cycle| unlink(&backlog, cycle, &names)),
        open: open.filter(|issue| !issue.status.is_final()).count(),
        waves,
        critical_path: path.map(|at| backlog.issues[at].id.clone()).collect(),
        cycle,
        names,
    })
}
