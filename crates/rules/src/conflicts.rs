//! Conflicts: which operations count where writers did not know of each other.
//!
//! Nobody wins by a clock or a number. Two that cannot both hold are both kept and neither counts;
//! where one of them closes a way and the other goes on, the closing one counts. What does not count is
//! named with what stands against it, holds every gate of its session, and stays until a person
//! settles it. All of this is a function of the set of operations, so that every clone says the same.
//!
//! What undo, redo and settling say is judged here, for they are about any operation. What an operation moves,
//! takes and is stopped by, its topic says.

use super::artifact::Artifact;
use super::causality::{Causality, Groups, Set};
use super::op::{Move, Operation};
use super::topic::Taken;
use super::words::Word;
use loopx_base::id::OpId;
use std::collections::{BTreeMap, BTreeSet};

/// Number of operations looked for that stand against one: where there are more, more are in the way
/// than anybody settles one by one, and naming all of them to each of them would be their square.
const LOOKED_FOR: usize = 100;

/// Numbers of these operations that a state names, and that the sentence about them names.
const KEPT: usize = 16;
const NAMED: usize = 5;

/// Fate of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Counts,
    /// Undone, or settled by a person as one that does not count.
    Out,
    /// The operation is held: others stand against it.
    Held {
        why: String,
        with: Vec<usize>,
    },
}

/// The fates of operations in replay order.
pub(super) fn fates(ops: &[&Operation], cause: &Causality) -> Vec<Fate> {
    let (out, disputed) = out(ops, cause);
    let mut fates: Vec<Fate> = (0..ops.len())
        .map(|at| {
            if out.contains(&at) {
                Fate::Out
            } else {
                Fate::Counts
            }
        })
        .collect();
    for (at, with) in disputed {
        let why = "two clones settled it in different ways at the same time".to_owned();
        fates[at] = Fate::Held { why, with };
    }
    if cause.is_line() {
        return fates;
    }
    let flips = Flips::of(ops, cause, &out);
    let mut moves: Vec<(usize, Move)> = (0..ops.len())
        .filter(|at| fates[*at] == Fate::Counts)
        .filter_map(|at| Some((at, ops[at].body.moves()?)))
        .collect();
    // A move that was decided on what another took back meanwhile, or without what another brought back.
    for (at, _) in &moves {
        if let Some(fate) = flips.held(*at, |_, _| true, "decided") {
            fates[*at] = fate;
        }
    }
    moves.retain(|(at, _)| fates[*at] == Fate::Counts);
    let others = Groups::of(cause, moves.iter().map(|(at, to)| (*to, *at)));
    for (at, to) in &moves {
        let with = others.apart(cause, *at, LOOKED_FOR, |other| to.meets(*other));
        if !with.is_empty() {
            fates[*at] = held(ops, with, "moved the session to a stage too");
        }
    }
    moves.retain(|(at, _)| fates[*at] == Fate::Counts);
    let mut taken = Vec::new();
    for at in (0..ops.len()).filter(|at| !out.contains(at)) {
        let takes = ops[at].body.takes().into_iter();
        let is_counting = fates[at] == Fate::Counts;
        let held = takes.filter(|taken| is_counting || taken.slot.outlasts);
        taken.extend(held.map(|taken| (taken, at)));
    }
    let others = Others {
        ops,
        cause,
        taken: Groups::of(cause, taken),
        moves: Groups::of(cause, moves.iter().map(|(at, to)| (*to, *at))),
        flips,
    };
    for (at, fate) in fates.iter_mut().enumerate() {
        if *fate == Fate::Counts
            && let Some(against) = others.against(at)
        {
            *fate = against;
        }
    }
    fates
}

/// Operations that may stand against another one.
struct Others<'c> {
    ops: &'c [&'c Operation],
    cause: &'c Causality,
    moves: Groups<Move>,
    flips: Flips<'c>,
    taken: Groups<Taken<'c>>,
}

impl Others<'_> {
    fn against(&self, at: usize) -> Option<Fate> {
        let Others { ops, cause, .. } = *self;
        let held = |with: Vec<usize>, did: &str| {
            let is_held = !with.is_empty();
            is_held.then(|| held(ops, with, did))
        };
        let moved = self
            .moves
            .apart(cause, at, LOOKED_FOR, |to| ops[at].is_stopped(*to));
        if let Some(fate) = held(moved, "moved the session meanwhile") {
            return Some(fate);
        }
        let clashes = |target: usize, takes_back: bool| {
            let other = ops[target];
            let moves = other.body.moves();
            let brings_on = !takes_back && moves.is_some_and(|to| ops[at].is_stopped(to));
            brings_on || other.writes.keys().any(|a| writes(ops[at], *a))
        };
        if let Some(fate) = self.flips.held(at, clashes, "written") {
            return Some(fate);
        }
        ops[at].body.takes().into_iter().find_map(|own| {
            let with = self.taken.apart(cause, at, LOOKED_FOR, |other| {
                other.slot == own.slot && other.value != own.value
            });
            held(with, own.slot.did)
        })
    }
}

fn held(ops: &[&Operation], mut with: Vec<usize>, did: &str) -> Fate {
    let names = with.iter().take(NAMED);
    let names: Vec<String> = names
        .map(|at| format!("`{}` of {}", ops[*at].word(), ops[*at].by.name))
        .collect();
    let more = match with.len().saturating_sub(NAMED) {
        0 => String::new(),
        more if with.len() < LOOKED_FOR => format!(" and {more} more"),
        more => format!(" and at least {more} more"),
    };
    with.truncate(KEPT);
    Fate::Held {
        why: format!("{}{more} {did}", names.join(", ")),
        with,
    }
}

fn writes(op: &Operation, artifact: Artifact) -> bool {
    !artifact.is_derived() && !op.is_about_others() && op.writes.contains_key(&artifact)
}

/// Word of one operation about another: that it is taken back, or that it counts again.
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

/// Lists what one operation says of others. Nobody can have said anything of an operation that comes later.
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

/// Tells whether the last words about an operation take it back. Where they were said apart and differ, the
/// operation stays back: who brought it back did not know that another had taken it back too.
fn is_back(words: &[Flip], cause: &Causality) -> bool {
    let speakers: Vec<usize> = words.iter().map(|flip| flip.at).collect();
    let last: BTreeSet<usize> = cause.newest(&speakers).into_iter().collect();
    words
        .iter()
        .any(|flip| flip.takes_back && last.contains(&flip.at))
}

/// Words about one operation, by the operations that count.
struct Words {
    flips: Vec<Flip>,
    /// Set when the operation is taken back now.
    is_back: bool,
    speakers: Set,
    /// Speakers of the words that decide whether the operation is taken back now.
    deciding: Set,
}

impl Words {
    fn of(flips: Vec<Flip>, cause: &Causality) -> Self {
        let is_back = is_back(&flips, cause);
        let deciding = flips.iter().filter(|flip| flip.takes_back == is_back);
        Words {
            is_back,
            speakers: Set::of(cause, flips.iter().map(|flip| flip.at)),
            deciding: Set::of(cause, deciding.map(|flip| flip.at)),
            flips,
        }
    }

    /// Tells whether the operation was taken back for the writer of another one.
    fn was_back(&self, cause: &Causality, at: usize) -> bool {
        let speakers = self.speakers.last_seen(cause, at);
        let last = cause.newest(&speakers);
        let takes_back = |at: &usize| {
            let first = self.flips.partition_point(|flip| flip.at < *at);
            let words = self.flips[first..].iter();
            words
                .take_while(|flip| flip.at == *at)
                .any(|flip| flip.takes_back)
        };
        last.iter().any(takes_back)
    }
}

/// Words about operations, by the operations that count; sorted by the operation that they are about.
struct Flips<'c> {
    ops: &'c [&'c Operation],
    cause: &'c Causality,
    said: BTreeMap<usize, Words>,
    /// Operations of which each speaker says something.
    targets: BTreeMap<usize, Vec<usize>>,
    speakers: Set,
    about: Set,
}

impl<'c> Flips<'c> {
    fn of(ops: &'c [&'c Operation], cause: &'c Causality, out: &BTreeSet<usize>) -> Self {
        let places = places(ops);
        let mut said: BTreeMap<usize, Vec<Flip>> = BTreeMap::new();
        let mut targets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in (0..ops.len()).filter(|at| !out.contains(at)) {
            for flip in words(ops, &places, at) {
                said.entry(flip.target).or_default().push(flip);
                targets.entry(at).or_default().push(flip.target);
            }
        }
        let said = said.into_iter();
        let said: BTreeMap<usize, Words> = said
            .map(|(target, flips)| (target, Words::of(flips, cause)))
            .collect();
        Flips {
            ops,
            cause,
            speakers: Set::of(cause, targets.keys().copied()),
            about: Set::of(cause, said.keys().copied()),
            said,
            targets,
        }
    }

    /// The operations of which something was said apart from one, and that its writer had seen.
    fn in_question(&self, at: usize) -> BTreeSet<usize> {
        let mut apart = Vec::new();
        self.speakers
            .add_apart(self.cause, at, LOOKED_FOR, &mut apart);
        if apart.len() < LOOKED_FOR {
            let targets = apart.iter().filter_map(|speaker| self.targets.get(speaker));
            let seen = targets
                .flatten()
                .filter(|target| self.cause.saw(at, **target));
            return seen.copied().collect();
        }
        // Many speak apart from it, so that it has not seen much.
        self.about.seen(self.cause, at).into_iter().collect()
    }

    /// Finds the fate of an operation whose writer had seen another one that is taken back now and was not for
    /// that writer, or the other way round; where `clashes` says that the two have to do with each other.
    fn held(&self, at: usize, clashes: impl Fn(usize, bool) -> bool, how: &str) -> Option<Fate> {
        let cause = self.cause;
        let mut by: BTreeMap<bool, Vec<usize>> = BTreeMap::new();
        for target in self.in_question(at) {
            let words = &self.said[&target];
            let now = words.is_back;
            let apart = by.entry(now).or_default();
            let is_one = apart.len() < LOOKED_FOR
                && clashes(target, now)
                && words.was_back(cause, at) != now;
            if is_one {
                words.deciding.add_apart(cause, at, LOOKED_FOR, apart);
            }
        }
        let mut said = |now: bool| {
            let mut by = by.remove(&now).unwrap_or_default();
            by.sort_unstable();
            by.dedup();
            by
        };
        let (mut took, brought) = (said(true), said(false));
        let did = match (took.is_empty(), brought.is_empty()) {
            (true, true) => return None,
            (false, _) => format!("took back an operation that this one was {how} on"),
            (true, false) => format!("brought back an operation that this one was {how} without"),
        };
        took.extend(brought);
        took.truncate(LOOKED_FOR);
        Some(held(self.ops, took, &did))
    }
}

/// Lists the operations that an undo took back and no redo brought back.
pub(super) fn taken_back(ops: &[&Operation], cause: &Causality) -> BTreeSet<usize> {
    let (out, _) = out(ops, cause);
    let flips = Flips::of(ops, cause, &out);
    let back = flips.said.into_iter();
    back.filter(|(_, words)| words.is_back)
        .map(|(target, _)| target)
        .collect()
}

/// Lists the operations that are taken back, each with the undos that hold it back.
pub(super) fn undos_of(ops: &[&Operation], cause: &Causality) -> Vec<(usize, Vec<usize>)> {
    let (out, _) = out(ops, cause);
    let flips = Flips::of(ops, cause, &out);
    let mut found = Vec::new();
    for (target, words) in flips.said {
        if !words.is_back || ops[target].is_about_others() {
            continue;
        }
        let speakers: Vec<usize> = words.flips.iter().map(|flip| flip.at).collect();
        found.push((target, cause.newest(&speakers)));
    }
    found
}

/// Lists the operations that were undone or settled away, and those that were settled in two ways.
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
        let last: BTreeSet<usize> = cause.newest(&speakers).into_iter().collect();
        let count = |drops| {
            words
                .iter()
                .filter(|w| last.contains(&w.0) && w.1 == drops)
                .count()
        };
        match (count(true), count(false)) {
            (0, _) => {}
            (_, 0) => drop(dropped.insert(place)),
            _ => drop(disputed.insert(place, last.into_iter().take(KEPT).collect())),
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

#[cfg(test)]
mod tests {
    use crate::op::{Event, Operation};
    use crate::replay::fold;
    use crate::replay_props::{id, operation, started};

    /// G19: many that stand against each other are held one by one, and each names a few.
    #[test]
    fn each_of_many_names_only_some_that_stand_against_it() {
        const MANY: usize = 3_000;
        let events: [fn(usize) -> Event; 4] = [
            |at| Event::Bound {
                branch: format!("branch-{at}"),
            },
            |at| Event::Bound {
                branch: format!("branch-{}", usize::from(at == 1)),
            },
            |_| Event::Abandoned,
            |_| Event::Saved,
        ];
        for (which, event) in events.into_iter().enumerate() {
            let mut ops: Vec<Operation> = vec![started()];
            for at in 1..=MANY {
                let mut op = operation(at, 2, event(at), None);
                op.after = vec![ops[0].op.clone()];
                ops.push(op);
            }
            let state = fold(&id(), &ops).expect("a state");
            let expected = match which {
                // Every third claims the build too, for one worktree or the other.
                3 => MANY / 3,
                _ => MANY,
            };
            assert_eq!(state.conflicts.len(), expected, "{which}");
            for conflict in &state.conflicts {
                let with = conflict.with.len();
                assert!((1..=super::KEPT).contains(&with), "{with}");
                assert!(conflict.why.len() < 200, "{}", conflict.why);
            }
            let why = &state.conflicts[MANY / 4].why;
            assert_eq!(why.contains("and at least 95 more"), which != 1, "{why}");
        }
    }
}
