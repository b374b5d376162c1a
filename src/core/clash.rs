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
use super::words::Word;
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
    match op.event()? {
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
    let flips = Flips::of(ops, cause, &out);
    let mut moves: Vec<(usize, Way)> = (0..ops.len())
        .filter(|at| fates[*at] == Fate::Counts)
        .filter_map(|at| Some((at, way(ops[at])?)))
        .collect();
    // A move that was decided on what another took back meanwhile, or without what another brought back.
    for (at, _) in &moves {
        if let Some(fate) = flips.held(*at, |_| true, "decided") {
            fates[*at] = fate;
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
        .filter_map(|at| match ops[at].event() {
            Some(Event::Bound { branch }) => Some((at, branch.as_str())),
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
        let clashes = |flip: &Flip| {
            let other = ops[flip.target];
            let brings_on = !flip.takes_back && way(other).is_some_and(|w| is_stopped(ops[at], w));
            brings_on || other.writes.keys().any(|a| writes(ops[at], *a))
        };
        if let Some(fate) = flips.held(at, clashes, "written") {
            fates[at] = fate;
            continue;
        }
        if let Some(claim) = ops[at].claim() {
            let with: Vec<usize> = (0..ops.len())
                .filter(|other| cause.apart(at, *other) && !out.contains(other))
                .filter(|other| {
                    ops[*other]
                        .claim()
                        .is_some_and(|other| other.owner != claim.owner)
                })
                .collect();
            if !with.is_empty() {
                fates[at] = held(ops, with, "claimed the build too");
                continue;
            }
        }
        if let Some(Event::Bound { branch }) = ops[at].event() {
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
        .map(|at| format!("`{}` of {}", ops[*at].word(), ops[*at].by.name))
        .collect();
    Fate::Held {
        why: format!("{} {did}", names.join(", ")),
        with,
    }
}

/// Whether an operation cannot hold beside a move that its writer did not know of.
fn is_stopped(op: &Operation, way: Way) -> bool {
    // What is said of other operations, or in passing, holds everywhere.
    let Some(event) = op.event() else {
        return false;
    };
    match event {
        // What a run showed of the code stays true in a session that somebody else ended meanwhile, and
        // moves nothing there. A failure that was not known at the end is a person's to look at.
        Event::Ran { evidence } if way == Way::End => {
            return !evidence.passed() || op.writes.keys().any(|artifact| !is_derived(*artifact));
        }
        _ if way == Way::End => return true,
        _ => {}
    }
    let Way::To { stage, is_rollback } = way else {
        return true;
    };
    let by_event = match event {
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
        | Event::Archived { .. } => false,
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
    !is_derived(artifact) && !op.is_about_others() && op.writes.contains_key(&artifact)
}

/// One word of one operation about another: that it is taken back, or that it counts again.
#[derive(Clone, Copy, Debug)]
struct Flip {
    at: usize,
    target: usize,
    takes_back: bool,
}

fn places<'o>(ops: &[&'o Operation]) -> BTreeMap<&'o OpId, usize> {
    let all = ops.iter().enumerate();
    all.map(|(at, op)| (&op.op, at)).collect()
}

/// What one operation says. Of what comes after it nobody can have said anything.
fn words(ops: &[&Operation], places: &BTreeMap<&OpId, usize>, at: usize) -> Vec<Flip> {
    let (ids, takes_back) = match ops[at].said() {
        Some(Word::Undone { undone }) => (undone, true),
        Some(Word::Redone { redone }) => (redone, false),
        _ => return Vec::new(),
    };
    ids.iter()
        .filter_map(|id| places.get(id).copied())
        .filter(|target| *target < at)
        .map(|target| Flip {
            at,
            target,
            takes_back,
        })
        .collect()
}

/// Whether the last words about an operation take it back. Where they were said apart and differ, it
/// stays back: who brought it back did not know that another had taken it back too.
fn is_back(words: &[Flip], cause: &Causality) -> bool {
    let speakers: Vec<usize> = words.iter().map(|flip| flip.at).collect();
    let last = cause.newest(&speakers);
    words
        .iter()
        .any(|flip| flip.takes_back && last.contains(&flip.at))
}

/// What is said of operations by those that count, by what it is said of.
struct Flips<'c> {
    ops: &'c [&'c Operation],
    cause: &'c Causality,
    said: BTreeMap<usize, Vec<Flip>>,
}

impl<'c> Flips<'c> {
    fn of(ops: &'c [&'c Operation], cause: &'c Causality, out: &BTreeSet<usize>) -> Self {
        let places = places(ops);
        let mut said: BTreeMap<usize, Vec<Flip>> = BTreeMap::new();
        for at in (0..ops.len()).filter(|at| !out.contains(at)) {
            for flip in words(ops, &places, at) {
                said.entry(flip.target).or_default().push(flip);
            }
        }
        Flips { ops, cause, said }
    }

    /// What becomes of an operation whose writer had seen another one that is back now, and was not for
    /// that writer, or the other way round; where `clashes` says that the two have to do with each other.
    fn held(&self, at: usize, clashes: impl Fn(&Flip) -> bool, how: &str) -> Option<Fate> {
        let cause = self.cause;
        let mut by: BTreeMap<bool, BTreeSet<usize>> = BTreeMap::new();
        for (target, words) in &self.said {
            if !cause.saw(at, *target) {
                continue;
            }
            let seen: Vec<Flip> = words
                .iter()
                .filter(|flip| flip.at == at || cause.saw(at, flip.at))
                .copied()
                .collect();
            let now = is_back(words, cause);
            if is_back(&seen, cause) == now {
                continue;
            }
            let apart = words
                .iter()
                .filter(|flip| flip.takes_back == now && cause.apart(flip.at, at) && clashes(flip));
            by.entry(now).or_default().extend(apart.map(|flip| flip.at));
        }
        let (took, brought) = (by.remove(&true), by.remove(&false));
        let took = took.filter(|by| !by.is_empty());
        let brought = brought.filter(|by| !by.is_empty());
        let did = match (&took, &brought) {
            (None, None) => return None,
            (Some(_), _) => format!("took back what it was {how} on"),
            (None, Some(_)) => format!("brought back what it was {how} without"),
        };
        let with = took.into_iter().chain(brought).flatten().collect();
        Some(held(self.ops, with, &did))
    }
}

/// What an undo took back and no redo brought back.
pub(super) fn taken_back(ops: &[&Operation], cause: &Causality) -> BTreeSet<usize> {
    let (out, _) = out(ops, cause);
    let flips = Flips::of(ops, cause, &out);
    let back = flips.said.into_iter();
    back.filter(|(_, words)| is_back(words, cause))
        .map(|(target, _)| target)
        .collect()
}

/// The same, each with the undos that hold it back.
pub(super) fn undos_of(ops: &[&Operation], cause: &Causality) -> Vec<(usize, Vec<usize>)> {
    let (out, _) = out(ops, cause);
    let flips = Flips::of(ops, cause, &out);
    let mut found = Vec::new();
    for (target, words) in flips.said {
        if !is_back(&words, cause) || ops[target].is_about_others() {
            continue;
        }
        let speakers: Vec<usize> = words.iter().map(|flip| flip.at).collect();
        found.push((target, cause.newest(&speakers)));
    }
    found
}

/// What was undone or settled away, and what was settled in two ways.
fn out(ops: &[&Operation], cause: &Causality) -> (BTreeSet<usize>, BTreeMap<usize, Vec<usize>>) {
    let places = places(ops);
    let void = void(ops, cause, &places, &BTreeSet::new());
    // What was said of each, by whom.
    let mut said: BTreeMap<usize, Vec<(usize, bool)>> = BTreeMap::new();
    for (at, op) in ops.iter().enumerate() {
        if let Some(Word::Resolved { keep, drop }) = op.said()
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
    let mut out = self::void(ops, cause, &places, &dropped);
    out.extend(dropped);
    disputed.retain(|place, _| !out.contains(place));
    (out, disputed)
}

/// Walked from the newest: what was said by an operation that was itself undone is void.
fn void(
    ops: &[&Operation],
    cause: &Causality,
    places: &BTreeMap<&OpId, usize>,
    without: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut void = BTreeSet::new();
    let mut said: BTreeMap<usize, Vec<Flip>> = BTreeMap::new();
    for at in (0..ops.len()).rev() {
        if said.remove(&at).is_some_and(|words| is_back(&words, cause)) {
            void.insert(at);
        } else if !without.contains(&at) {
            for flip in words(ops, places, at) {
                said.entry(flip.target).or_default().push(flip);
            }
        }
    }
    void
}
