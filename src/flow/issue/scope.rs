//! A part of the backlog as one looks at it whole: for boards, statistics and reports.

use super::then::Then;
use super::{Names, names, sessions, then, today};
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_rules::issue::filter::Filter;
use loopx_rules::issue::then::{Turn, turns};
use loopx_rules::issue::{Backlog, Issue, IssueId, Status, Wait};
use loopx_rules::when::Side;
use loopx_store::Snapshot;
use std::collections::{HashMap, HashSet};

/// The issues that are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// An issue that is meant with all its parts, and theirs.
    pub whole: Option<String>,
    pub filter: Filter,
    /// The moment of which the issues are to be.
    pub at: Option<String>,
}

/// Issues of a scope, beside all others.
pub(crate) struct Scoped {
    pub backlog: Backlog,
    pub waits: Vec<Vec<Wait>>,
    /// The places of the issues that are meant.
    pub shown: Vec<usize>,
    pub names: Names,
    /// The issue whose parts are meant.
    pub whole: Option<IssueId>,
    pub now: i64,
    /// The moment, where the issues are not of now.
    pub at: Option<String>,
    then: Option<Then>,
}

impl Scoped {
    pub(crate) fn day(&self) -> String {
        today(self.now)
    }

    pub(crate) fn short(&self, id: &IssueId) -> String {
        self.names.short(id).to_owned()
    }
}

/// The issues that are meant, with what they wait for.
pub(crate) fn of(ctx: &Context, snapshot: &Snapshot<'_>, scope: &Scope) -> Result<Scoped> {
    let (then, found) = match &scope.at {
        Some(at) => {
            let then = Then::of(ctx, snapshot, (at, Side::End), None)?;
            let found = then::all(snapshot, &then)?.0;
            (Some(then), found)
        }
        None => (None, super::all(snapshot)?),
    };
    let whole = scope.whole.as_ref();
    let whole = whole
        .map(|typed| names::resolve(snapshot, typed))
        .transpose()?;
    let names = Names::of_issues(&found);
    let backlog = Backlog::of(found.issues);
    let now = then.as_ref().map_or_else(|| ctx.now(), |then| then.second);
    let waits = backlog.waits(&today(now));
    let parts = whole.clone().map(|id| parts(&backlog, id));
    let is_meant = |at: &usize| {
        let issue = &backlog.issues[*at];
        parts.as_ref().is_none_or(|parts| parts.contains(&issue.id))
            && scope.filter.takes(issue, &waits[*at])
    };
    let shown = (0..backlog.issues.len()).filter(is_meant).collect();
    Ok(Scoped {
        shown,
        waits,
        names,
        whole,
        now,
        at: then.as_ref().map(Then::at),
        then,
        backlog,
    })
}

/// The parts of the issue that is meant, and theirs.
pub(super) fn parts_of(
    snapshot: &Snapshot<'_>,
    backlog: &Backlog,
    typed: &str,
) -> Result<HashSet<IssueId>> {
    let whole = names::resolve(snapshot, typed)?;
    Ok(parts(backlog, whole))
}

/// The parts of an issue, and theirs.
fn parts(backlog: &Backlog, whole: IssueId) -> HashSet<IssueId> {
    let of = backlog.parts();
    let mut left = vec![whole];
    let mut found = HashSet::new();
    while let Some(id) = left.pop() {
        for part in of.get(&id).into_iter().flatten() {
            if found.insert(part.id.clone()) {
                left.push(part.id.clone());
            }
        }
    }
    found
}

/// The turns of the issues that are meant, in their order.
pub(super) fn courses(snapshot: &Snapshot<'_>, scoped: &Scoped) -> Result<Vec<Vec<Turn>>> {
    let mut ended: HashMap<String, Option<i64>> = HashMap::new();
    let mut all = Vec::with_capacity(scoped.shown.len());
    let place = scoped.then.as_ref().map(|then| then.place(snapshot));
    let place = place.transpose()?.flatten();
    for at in &scoped.shown {
        let issue = &scoped.backlog.issues[*at];
        let ops = snapshot.issue_records(&issue.id)?.unwrap_or_default();
        let ops = match &scoped.then {
            Some(then) => then.records(place.as_ref(), &issue.id, &ops)?,
            None => ops,
        };
        let mut found = turns(&issue.id, &ops);
        let last = found.last().and_then(|turn| turn.status);
        // What an archive resolved, no record of the issue says.
        if issue.status == Status::Resolved && last != Some(Status::Resolved) {
            let second = archived(snapshot, issue, &mut ended)?;
            found.push(Turn {
                second: second.unwrap_or(scoped.now),
                status: Some(Status::Resolved),
            });
        }
        all.push(found);
    }
    Ok(all)
}

/// The second at which the last session of an issue ended.
fn archived(
    snapshot: &Snapshot<'_>,
    issue: &Issue,
    known: &mut HashMap<String, Option<i64>>,
) -> Result<Option<i64>> {
    let mut last = None;
    for one in &issue.sessions {
        let ended = match known.get(&one.uid) {
            Some(ended) => *ended,
            None => {
                let ended = sessions::ended_at(snapshot, &one.session)?;
                known.insert(one.uid.clone(), ended);
                ended
            }
        };
        last = last.max(ended);
    }
    Ok(last)
}

/// The issues that others wait for, each with who waits for it, by their places.
pub(super) fn edges(scoped: &Scoped) -> Vec<(usize, usize)> {
    let places = scoped.backlog.issues.iter().enumerate();
    let places: HashMap<&IssueId, usize> = places.map(|(at, issue)| (&issue.id, at)).collect();
    let mut found = Vec::new();
    for at in &scoped.shown {
        let waits = scoped.waits[*at].iter().filter_map(Wait::issue);
        found.extend(waits.filter_map(|id| Some((*places.get(id)?, *at))));
    }
    found
}
