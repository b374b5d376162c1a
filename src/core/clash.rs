//! Which operations count, where writers did not know of each other.
//!
//! Nobody wins by a clock or a number. Two that cannot both hold are both kept and neither counts;
//! where one of them closes a way and the other goes on, the closing one counts. What does not count is
//! named with what stands against it, holds every gate of its session, and stays until a person
//! settles it. All of this is a function of the set of operations, so that every clone says the same.

use super::artifact::Artifact;
use super::causality::Causality;
use super::id::OpId;
use super::op::{Event, Operation};
use super::stage::Stage;
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Counts,
    /// Undone, or settled by a person as one that does not count.
    Out,
    /// Something stands against it.
    Held {
        why: String,
        with: Vec<usize>,
    },
}

/// Where a move leads: a stage, or the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    To { stage: Stage, is_rollback: bool },
    End,
}

fn way(op: &Operation) -> Option<Way> {
    let to = |transition: super::stage::Transition| Way::To {
        stage: transition.to(),
        is_rollback: transition.is_rollback(),
    };
    match &op.event {
        Event::Entered { transition, .. } => Some(to(*transition)),
        Event::Approved {
            transition,
            completes: true,
            ..
        } => Some(to(*transition)),
        Event::Abandoned | Event::Archived { .. } => Some(Way::End),
        Event::Imported { ended: Some(_), .. } => Some(Way::End),
        _ => None,
    }
}

/// Whether an operation moves its session to another stage, or ends it.
pub(super) fn is_move(op: &Operation) -> bool {
    way(op).is_some()
}

/// The fates of operations in replay order.
pub(super) fn fates(ops: &[&Operation], cause: &Causality) -> Vec<Fate> {
    let (out, disputed) = out(ops, cause);
    let mut fates: Vec<Fate> = (0..ops.len())
        .map(|at| match out.contains(&at) {
            true => Fate::Out,
            false => Fate::Counts,
        })
        .collect();
    for (at, with) in disputed {
        let why = "it was settled in two ways at once".to_owned();
        fates[at] = Fate::Held { why, with };
    }
    if cause.is_line() {
        return fates;
    }
    let undos = undos(ops, &out);
    let mut moves: Vec<(usize, Way)> = (0..ops.len())
        .filter(|at| fates[*at] == Fate::Counts)
        .filter_map(|at| Some((at, way(ops[at])?)))
        .collect();
    // A move that was decided on what another took back meanwhile.
    for (at, _) in &moves {
        let with: Vec<usize> = undos
            .iter()
            .filter(|(undo, undone)| cause.apart(*undo, *at) && cause.saw(*at, *undone))
            .map(|(undo, _)| *undo)
            .collect();
        if !with.is_empty() {
            fates[*at] = held(ops, with, "took back what it was decided on");
        }
    }
    moves.retain(|(at, _)| fates[*at] == Fate::Counts);
    let apart = |at: usize| -> Vec<usize> {
        let others = moves.iter().map(|(other, _)| *other);
        others.filter(|other| cause.apart(at, *other)).collect()
    };
    let contested: Vec<(usize, Vec<usize>)> = moves
        .iter()
        .map(|(at, _)| (*at, apart(*at)))
        .filter(|(_, with)| !with.is_empty())
        .collect();
    for (at, with) in contested {
        fates[at] = held(ops, with, "moved the session too");
    }
    moves.retain(|(at, _)| fates[*at] == Fate::Counts);
    let bindings: Vec<(usize, &str)> = (0..ops.len())
        .filter(|at| fates[*at] == Fate::Counts)
        .filter_map(|at| match &ops[at].event {
            Event::Bound { branch } => Some((at, branch.as_str())),
            _ => None,
        })
        .collect();
    for at in 0..ops.len() {
        if fates[at] != Fate::Counts {
            continue;
        }
        let with: Vec<usize> = moves
            .iter()
            .filter(|(other, way)| cause.apart(at, *other) && is_stopped(ops[at], *way))
            .map(|(other, _)| *other)
            .collect();
        if !with.is_empty() {
            fates[at] = held(ops, with, "moved the session meanwhile");
            continue;
        }
        let with: Vec<usize> = undos
            .iter()
            .filter(|(undo, undone)| {
                cause.apart(*undo, at)
                    && cause.saw(at, *undone)
                    && ops[*undone].writes.keys().any(|a| writes(ops[at], *a))
            })
            .map(|(undo, _)| *undo)
            .collect();
        if !with.is_empty() {
            fates[at] = held(ops, with, "took back what it was written on");
            continue;
        }
        if let Some(claim) = &ops[at].claim {
            let with: Vec<usize> = (0..ops.len())
                .filter(|other| cause.apart(at, *other) && !out.contains(other))
                .filter(|other| {
                    ops[*other]
                        .claim
                        .as_ref()
                        .is_some_and(|c| c.owner != claim.owner)
                })
                .collect();
            if !with.is_empty() {
                fates[at] = held(ops, with, "claimed the build too");
                continue;
            }
        }
        if let Event::Bound { branch } = &ops[at].event {
            let with: Vec<usize> = bindings
                .iter()
                .filter(|(other, name)| cause.apart(at, *other) && name != branch)
                .map(|(other, _)| *other)
                .collect();
            if !with.is_empty() {
                fates[at] = held(ops, with, "bound the session to another branch");
            }
        }
    }
    fates
}

fn held(ops: &[&Operation], with: Vec<usize>, did: &str) -> Fate {
    let names: Vec<String> = with
        .iter()
        .map(|at| format!("`{}` of {}", ops[*at].event.word(), ops[*at].by.name))
        .collect();
    Fate::Held {
        why: format!("{} {did}", names.join(", ")),
        with,
    }
}

/// Whether an operation cannot hold beside a move that its writer did not know of.
fn is_stopped(op: &Operation, way: Way) -> bool {
    match &op.event {
        Event::Undone { .. } | Event::Resolved { .. } => return false,
        _ if way == Way::End => return true,
        _ => {}
    }
    let Way::To { stage, is_rollback } = way else {
        return true;
    };
    let by_event = match &op.event {
        Event::Clarified { .. }
        | Event::Approved { .. }
        | Event::Entered { .. }
        | Event::Drafted
        | Event::PlanReviewed { .. }
        | Event::LaneReported { .. }
        | Event::Delegated { .. }
        | Event::Audited { .. }
        | Event::Reviewed { .. }
        | Event::Imported { .. }
        | Event::Refreshed => true,
        // A failure that was not known when the way was opened; a run that did not know of the rework.
        Event::Ran { evidence } => is_rollback || !evidence.passed(),
        Event::Started { .. }
        | Event::Claimed
        | Event::Blocked { .. }
        | Event::Resumed
        | Event::Saved
        | Event::Bound { .. }
        | Event::Extended { .. }
        | Event::Waived { .. }
        | Event::Abandoned
        | Event::Archived { .. }
        | Event::Resolved { .. }
        | Event::Undone { .. } => false,
    };
    by_event
        || op
            .writes
            .keys()
            .any(|artifact| !is_derived(*artifact) && !artifact.is_open_at(stage))
}

/// What the tool writes by itself beside the edits of people.
pub(super) fn is_derived(artifact: Artifact) -> bool {
    matches!(artifact, Artifact::ArtifactGraph | Artifact::AdrCandidate)
}

fn writes(op: &Operation, artifact: Artifact) -> bool {
    !is_derived(artifact)
        && !matches!(op.event, Event::Undone { .. })
        && op.writes.contains_key(&artifact)
}

/// The undos that count, each with what it takes back.
fn undos(ops: &[&Operation], out: &BTreeSet<usize>) -> Vec<(usize, usize)> {
    let places: BTreeMap<&OpId, usize> = ops
        .iter()
        .enumerate()
        .map(|(at, op)| (&op.op, at))
        .collect();
    (0..ops.len())
        .filter(|at| !out.contains(at))
        .filter_map(|at| match &ops[at].event {
            Event::Undone { undone } => Some((at, *places.get(undone)?)),
            _ => None,
        })
        .collect()
}

/// What was undone or settled away, and what was settled in two ways.
fn out(ops: &[&Operation], cause: &Causality) -> (BTreeSet<usize>, BTreeMap<usize, Vec<usize>>) {
    let places: BTreeMap<&OpId, usize> = ops
        .iter()
        .enumerate()
        .map(|(at, op)| (&op.op, at))
        .collect();
    let void = void(ops, &places, &BTreeSet::new());
    // What was said of each, by whom.
    let mut said: BTreeMap<usize, Vec<(usize, bool)>> = BTreeMap::new();
    for (at, op) in ops.iter().enumerate() {
        if let Event::Resolved { keep, drop } = &op.event
            && !void.contains(&at)
        {
            for (ids, drops) in [(keep, false), (drop, true)] {
                for place in ids.iter().filter_map(|id| places.get(id)) {
                    said.entry(*place).or_default().push((at, drops));
                }
            }
        }
    }
    let mut dropped = BTreeSet::new();
    let mut disputed = BTreeMap::new();
    for (place, words) in said {
        let speakers: Vec<usize> = words.iter().map(|(at, _)| *at).collect();
        let last = cause.newest(&speakers);
        let count = |drops| {
            words
                .iter()
                .filter(|w| last.contains(&w.0) && w.1 == drops)
                .count()
        };
        match (count(true), count(false)) {
            (0, _) => {}
            (_, 0) => drop(dropped.insert(place)),
            _ => drop(disputed.insert(place, last)),
        }
    }
    // An undo that does not count takes nothing back. One that is in dispute does: it closes.
    let mut out = self::void(ops, &places, &dropped);
    out.extend(dropped);
    disputed.retain(|place, _| !out.contains(place));
    (out, disputed)
}

/// Walked from the newest: an undo that was itself undone is void.
fn void(
    ops: &[&Operation],
    places: &BTreeMap<&OpId, usize>,
    without: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut void = BTreeSet::new();
    for (at, op) in ops.iter().enumerate().rev() {
        if let Event::Undone { undone } = &op.event
            && !void.contains(&at)
            && !without.contains(&at)
            && let Some(place) = places.get(undone)
        {
            void.insert(*place);
        }
    }
    void
}
