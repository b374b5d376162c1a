//! A backlog that is taken over again: what its program says otherwise than when it spoke last, by field. What somebody
//! changed here is not asked: where both wrote one field their records stand beside each other, as those of two clones.

use crate::issue::event::Change;
use crate::issue::solution::Way;
use crate::issue::{Issue, IssueId, Status, Texts, fold};
use crate::op::{Body, Operation};
use loopx_base::id::OpId;
use std::collections::BTreeSet;

/// The records by which the program spoke from which an issue was taken over: each says where the issue comes from. A
/// record that was taken back (`off`) is not among them: what it brought can come again.
pub fn spoken<'o>(ops: &'o [Operation], off: &BTreeSet<OpId>) -> Vec<&'o Operation> {
    let names_source = |op: &&Operation| match &op.body {
        Body::Issue(event) => {
            let mut changes = event.changes().iter();
            changes.any(|change| matches!(change, Change::Source(_)))
        }
        _ => false,
    };
    let counts = |op: &&Operation| !off.contains(&op.op);
    ops.iter().filter(names_source).filter(counts).collect()
}

/// The changes of the program since it spoke last; `now`: all that it says of the issue now.
pub fn since(id: &IssueId, spoken: &[&Operation], now: &[Change]) -> Vec<Change> {
    let ops: Vec<Operation> = spoken.iter().map(|op| (*op).clone()).collect();
    let Some(read) = fold(id, &ops) else {
        return Vec::new();
    };
    let (issue, texts) = (&read.issue, &read.texts);
    let comments = comments(texts);
    let mut changes: Vec<Change> = (now.iter())
        .filter_map(|change| begun(issue, change))
        .filter(|change| !was_said(issue, (texts, &comments), change))
        .collect();
    changes.extend(no_longer_said(issue, texts, now));
    changes
}

/// The solutions of the program that the issue has not: what was brought before is known by where it came from. None takes
/// the place of one that is bound here.
pub fn ways(id: &IssueId, ops: &[Operation], now: &[Way]) -> Vec<Way> {
    let Some(read) = fold(id, ops) else {
        return Vec::new();
    };
    let here = &read.texts.solutions;
    let known = |way: &Way| {
        let from = way.proposal.from.as_ref()?;
        here.iter()
            .find(|one| one.proposal.from.as_ref() == Some(from))
    };
    let mut places = Vec::new();
    let mut found: Vec<Way> = Vec::new();
    for (place, way) in now.iter().enumerate() {
        if way.proposal.from.is_none() || known(way).is_some() {
            continue;
        }
        let mut way = way.clone();
        way.bound &= read.issue.bound.is_none();
        if let Some(mended) = way.mends.take() {
            way.mends = places.iter().position(|one| *one == mended);
            way.proposal.mends = now.get(mended).and_then(known).map(|one| one.op.clone());
        }
        let name = way.proposal.name.clone();
        let names = here.iter().map(|one| &one.proposal.name);
        let names: BTreeSet<&String> = names
            .chain(found.iter().map(|one| &one.proposal.name))
            .collect();
        let others = (2..).map(|number| format!("{name}-{number}"));
        let mut free = std::iter::once(name.clone()).chain(others);
        if let Some(free) = free.find(|one| !names.contains(one)) {
            way.proposal.name = free;
        }
        places.push(place);
        found.push(way);
    }
    found
}

/// A change as it is brought. Where somebody is at the issue there, it is open again if it had ended; else nothing comes:
/// here a claim says that somebody is at it, or a session.
fn begun(issue: &Issue, change: &Change) -> Option<Change> {
    match change {
        Change::Status(Status::InProgress) if issue.status.is_final() => {
            Some(Change::Status(Status::Open))
        }
        Change::Status(Status::InProgress) => None,
        other => Some(other.clone()),
    }
}

/// The comments of an issue as their program says them: who, when, and what.
type Comments<'t> = BTreeSet<(&'t str, &'t str, &'t str)>;

fn comments(texts: &Texts) -> Comments<'_> {
    let all = texts.comments.iter();
    all.map(|one| {
        let (by, at) = one.origin();
        (by, at, one.text.as_str())
    })
    .collect()
}

/// Tells whether the program said a change before; what nobody brings a second time counts as said.
fn was_said(issue: &Issue, (texts, comments): (&Texts, &Comments<'_>), change: &Change) -> bool {
    let criterion = |text: &String| issue.criteria.iter().find(|one| one.text == *text);
    match change {
        Change::Title(title) => issue.title == *title,
        Change::Description(text) => texts.description == *text,
        Change::Kind(kind) => issue.kind == *kind,
        Change::Status(status) => issue.status == *status,
        Change::Priority(priority) => issue.priority == *priority,
        Change::Milestone(name) => issue.milestone == *name,
        Change::Due(day) => issue.due == *day,
        Change::Defer(day) => issue.defer == *day,
        Change::Estimate(minutes) => issue.estimate == *minutes,
        Change::Repeat(repeat) => issue.repeat.as_deref() == repeat.as_ref(),
        Change::Assignee(name) => issue.assignee == *name,
        Change::Label(label) => issue.labels.contains(label),
        Change::Criterion(text) => criterion(text).is_some(),
        Change::Tick(text) => criterion(text).is_some_and(|one| one.done),
        Change::Said(said) => {
            let at = said.at.as_deref().unwrap_or_default();
            comments.contains(&(said.by.as_str(), at, said.text.as_str()))
        }
        Change::Kept(kept) => texts.kept.get(&kept.name) == Some(&kept.value()),
        _ => true,
    }
}

/// Changes that take away what the program said before and says no longer.
fn no_longer_said(issue: &Issue, texts: &Texts, now: &[Change]) -> Vec<Change> {
    let says = |is_it: fn(&Change) -> bool| now.iter().any(is_it);
    let mut changes = Vec::new();
    let mut gone = |had: bool, is_it: fn(&Change) -> bool, none: Change| {
        if had && !says(is_it) {
            changes.push(none);
        }
    };
    gone(
        !texts.description.is_empty(),
        |one| matches!(one, Change::Description(_)),
        Change::Description(String::new()),
    );
    gone(
        issue.milestone.is_some(),
        |one| matches!(one, Change::Milestone(_)),
        Change::Milestone(None),
    );
    gone(
        issue.due.is_some(),
        |one| matches!(one, Change::Due(_)),
        Change::Due(None),
    );
    gone(
        issue.defer.is_some(),
        |one| matches!(one, Change::Defer(_)),
        Change::Defer(None),
    );
    gone(
        issue.estimate.is_some(),
        |one| matches!(one, Change::Estimate(_)),
        Change::Estimate(None),
    );
    gone(
        issue.assignee.is_some(),
        |one| matches!(one, Change::Assignee(_)),
        Change::Assignee(None),
    );
    let mut labels = BTreeSet::new();
    let mut criteria = BTreeSet::new();
    let mut ticks = BTreeSet::new();
    for change in now {
        match change {
            Change::Label(label) => drop(labels.insert(label)),
            Change::Criterion(text) => drop(criteria.insert(text)),
            Change::Tick(text) => drop(ticks.insert(text)),
            _ => {}
        }
    }
    let labels = issue.labels.iter().filter(|label| !labels.contains(label));
    changes.extend(labels.cloned().map(Change::Unlabel));
    for one in &issue.criteria {
        if !criteria.contains(&one.text) {
            changes.push(Change::DropCriterion(one.text.clone()));
        } else if one.done && !ticks.contains(&one.text) {
            changes.push(Change::Untick(one.text.clone()));
        }
    }
    changes
}
