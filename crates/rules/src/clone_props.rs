//! Laws of many clones: histories that fork and come together at random. What is true is a function of
//! the set of operations, and no gate opens because two sets came together.

use super::artifact::Artifact;
use super::artifact_merge::{Joined, Joiner};
use super::gate::covered_files;
use super::op::{AnswerWord, Body, Event, Operation, Write};
use super::replay::{Redoable, WayBack, as_seen_by, redoable, replay, undoable, undone, way_back};
use super::replay_props::{event, id, oid, op_id, operation, started};
use super::session::{Side, State};
use super::words::Word;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, OpId};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::Index;
use std::collections::BTreeMap;

const CLONES: usize = 3;

/// Model of a merge of lines: some of its merges are clean.
struct Model;

impl Joiner for Model {
    fn join(&self, _: Artifact, base: Option<&Oid>, sides: &[Side]) -> Result<Joined> {
        let digits = sides
            .iter()
            .filter_map(|side| side.blob.as_ref())
            .chain(base)
            .filter_map(|blob| u8::from_str_radix(&blob.as_str()[..2], 16).ok());
        let sum = digits.fold(7_u8, |sum, n| sum.wrapping_mul(31).wrapping_add(n));
        Ok(Joined {
            blob: Some(oid(sum)),
            clean: sum.is_multiple_of(2),
        })
    }
}

fn state(ops: &[Operation]) -> State {
    replay(&id(), ops, &Model).expect("a state")
}

fn union(a: &[Operation], b: &[Operation]) -> Vec<Operation> {
    let mut all = a.to_vec();
    all.extend(b.iter().filter(|op| !a.contains(op)).cloned());
    all
}

/// Turn of one clone.
#[derive(Clone, Debug)]
enum Turn {
    Write {
        event: Box<Event>,
        artifact: Option<(u8, Option<u8>)>,
        /// Distance that the number jumps: clocks and counters are not to be trusted.
        jump: u64,
    },
    /// Number of steps that are undone.
    Undo(usize),
    /// Undo back to an operation that is there.
    UndoTo(Index),
    Redo(usize),
    Settle(Index, bool),
    Fetch(usize),
}

fn turns() -> impl Strategy<Value = Vec<(usize, Turn)>> {
    let artifact = proptest::option::of((0..4_u8, proptest::option::weighted(0.9, any::<u8>())));
    let jump = proptest::prop_oneof![9 => 1..3_u64, 1 => 1..500_000_u64];
    let turn = proptest::prop_oneof![
        12 => (event(), artifact, jump)
            .prop_map(|(event, artifact, jump)| Turn::Write { event: Box::new(event), artifact, jump }),
        2 => (1..4_usize).prop_map(Turn::Undo),
        1 => any::<Index>().prop_map(Turn::UndoTo),
        2 => (1..4_usize).prop_map(Turn::Redo),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(which, keep)| Turn::Settle(which, keep)),
        2 => (0..CLONES).prop_map(Turn::Fetch),
    ];
    vec((0..CLONES, turn), 0..40)
}

/// The way to a stage, so that not all forks happen in clarify.
fn begun(stages: usize) -> Vec<Operation> {
    use super::stage::Transition::{BuildToReview, ClarifyToPlan, PlanToBuild};
    let mut ops = vec![started()];
    for transition in [ClarifyToPlan, PlanToBuild, BuildToReview]
        .into_iter()
        .take(stages)
    {
        for event in [
            Event::Approved {
                transition,
                content: oid(1),
                files: BTreeMap::new(),
                code: None,
                completes: false,
                head: None,
                amends: None,
            },
            Event::Entered {
                transition,
                scope: Vec::new(),
                out_of_scope: Vec::new(),
                head: None,
            },
        ] {
            let last = ops.len() - 1;
            let mut op = operation(ops.len(), ops.len() as u64 + 1, event, None);
            op.after = vec![ops[last].op.clone()];
            ops.push(op);
        }
    }
    ops
}

fn names<'o>(ops: impl Iterator<Item = &'o &'o Operation>) -> Vec<OpId> {
    ops.map(|op| op.op.clone()).collect()
}

/// An approval names what its writer has.
fn honest(mut event: Event, before: &State, writes: &BTreeMap<Artifact, Write>) -> Event {
    if let Event::Approved {
        transition, files, ..
    } = &mut event
    {
        let mut state = before.clone();
        for (artifact, write) in writes {
            match &write.to {
                Some(blob) => state.artifacts.insert(*artifact, blob.clone()),
                None => state.artifacts.remove(artifact),
            };
        }
        *files = covered_files(&state, *transition);
    }
    event
}

/// The sets of operations that the clones end with. Each writes only what fits what it has.
fn played(stages: usize, turns: Vec<(usize, Turn)>) -> Vec<Vec<Operation>> {
    let first = begun(stages);
    let mut made = first.len();
    let mut clones = vec![first; CLONES];
    for (clone, turn) in turns {
        if let Turn::Fetch(other) = turn {
            clones[clone] = union(&clones[clone], &clones[other]);
            continue;
        }
        let before = state(&clones[clone]);
        let Some(Written { body, writes, jump }) = written(turn, &clones[clone], &before) else {
            continue;
        };
        let mut op = operation(made, before.seq + jump, body, None);
        op.after = before.newest();
        op.writes = writes;
        let mut after = before.clone();
        after.apply(&op);
        if after.conflicts.len() > before.conflicts.len() {
            continue;
        }
        made += 1;
        clones[clone].push(op);
    }
    clones
}

/// Record of a turn, before it has a name and a place.
struct Written {
    body: Body,
    writes: BTreeMap<Artifact, Write>,
    jump: u64,
}

impl Written {
    fn word(word: Word) -> Self {
        Written {
            body: word.into(),
            writes: BTreeMap::new(),
            jump: 1,
        }
    }

    /// An undo of some operations; nothing where there are none.
    fn undone(undone: Vec<OpId>) -> Option<Self> {
        (!undone.is_empty()).then(|| Written::word(Word::Undone { undone }))
    }
}

/// The record that a turn writes on what a clone has; nothing where nothing fits.
fn written(turn: Turn, ops: &[Operation], before: &State) -> Option<Written> {
    match turn {
        Turn::Fetch(_) => None,
        Turn::Undo(count) => Written::undone(names(undoable(ops).iter().take(count))),
        Turn::UndoTo(which) => match way_back(ops, &ops[which.index(ops.len())].op) {
            Some(WayBack::Undo(back)) => Written::undone(names(back.iter())),
            _ => None,
        },
        Turn::Redo(count) => {
            let Redoable { operations, .. } = redoable(ops);
            let redone = names(operations.iter().take(count));
            (!redone.is_empty()).then(|| Written::word(Word::Redone { redone }))
        }
        Turn::Settle(which, keeps) => {
            let conflicts = &before.conflicts;
            let conflict = conflicts.get(which.index(conflicts.len().max(1)))?;
            let (keep, drop) = if keeps {
                (vec![conflict.op.clone()], conflict.with.clone())
            } else {
                (Vec::new(), vec![conflict.op.clone()])
            };
            Some(Written::word(Word::Resolved { keep, drop }))
        }
        Turn::Write {
            event,
            artifact,
            jump,
        } => {
            let write = artifact.map(|(at, to)| {
                let artifact = Artifact::ALL[usize::from(at) + 1];
                let from = before.artifacts.get(&artifact).cloned();
                let to = to.map(oid);
                (artifact, Write { from, to })
            });
            let writes: BTreeMap<Artifact, Write> = write.into_iter().collect();
            Some(Written {
                body: honest(*event, before, &writes).into(),
                writes,
                jump,
            })
        }
    }
}

/// The state without what says only who wrote last.
fn facts(mut state: State) -> State {
    state.seq = 0;
    state.last = op_id(0);
    state.frontier = Vec::new();
    let first = state.started.clone();
    state.touched = first;
    state
}

/// An operation and all that its writer knew.
fn past(ops: &[Operation], of: &Operation) -> Vec<Operation> {
    let mut known: Vec<&Operation> = vec![of];
    let mut at = 0;
    while let Some(op) = known.get(at).copied() {
        for before in ops.iter().filter(|before| op.after.contains(&before.op)) {
            if !known.contains(&before) {
                known.push(before);
            }
        }
        at += 1;
    }
    known.into_iter().cloned().collect()
}

fn is_open(state: &State) -> bool {
    state.conflicts.is_empty() && state.contested().next().is_none()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn clones_that_have_the_same_operations_say_the_same(stages in 0..4_usize, turns in turns()) {
        let c = played(stages, turns);
        let all = state(&union(&union(&c[0], &c[1]), &c[2]));
        prop_assert_eq!(&state(&union(&c[2], &union(&c[1], &c[0]))), &all);
        prop_assert_eq!(&state(&union(&union(&c[1], &c[2]), &c[0])), &all);
        let twice = union(&union(&c[0], &c[1]), &union(&c[1], &c[2]));
        prop_assert_eq!(&state(&twice), &all);
    }

    #[test]
    fn one_more_operation_gives_what_a_replay_of_all_gives(
        stages in 0..4_usize,
        turns in turns(),
        event in event(),
        artifact in proptest::option::of((0..4_u8, proptest::option::of(any::<u8>()))),
    ) {
        for mut ops in played(stages, turns) {
            let mut before = state(&ops);
            let mut op = operation(900, before.seq + 1, event.clone(), None);
            op.after = before.newest();
            if let Some((at, to)) = artifact {
                let artifact = Artifact::ALL[usize::from(at) + 1];
                let from = before.artifacts.get(&artifact).cloned();
                op.writes.insert(artifact, Write { from, to: to.map(oid) });
            }
            before.apply(&op);
            ops.push(op);
            let mut replayed = state(&ops);
            // A replay may meet earlier conflicts in another order than they came up.
            before.conflicts.sort_by(|a, b| a.op.cmp(&b.op));
            replayed.conflicts.sort_by(|a, b| a.op.cmp(&b.op));
            prop_assert_eq!(before, replayed);
        }
    }

    #[test]
    fn no_gate_opens_because_clones_came_together(stages in 0..4_usize, turns in turns()) {
        let c = played(stages, turns);
        let (a, b) = (state(&c[0]), state(&c[1]));
        let all = union(&c[0], &c[1]);
        let both = state(&all);
        if !is_open(&both) {
            return Ok(());
        }
        // Somebody stood there, with what he knew: what held a side may be taken back by the other.
        let reached = all.iter().map(|op| state(&past(&all, op)).stage).max();
        prop_assert!(Some(both.stage) <= reached);
        // Nothing counts that counted on neither side.
        let outs = [undone(&c[0]), undone(&c[1])];
        let counts = |op: &OpId| {
            let on = |side: usize| c[side].iter().any(|known| known.op == *op) && !outs[side].contains(op);
            on(0) || on(1)
        };
        for approval in both.approvals.values().filter(|approval| approval.armed) {
            prop_assert!(approval.by.iter().all(|by| counts(&by.op)), "{:?}", approval);
        }
        for run in both.evidence.iter().filter(|run| run.value.passed()) {
            prop_assert!(counts(&run.op), "{:?}", run);
        }
        if !is_open(&a) || !is_open(&b) {
            return Ok(());
        }
        // Where one took back more than the other brought back, it may be a stage in between.
        prop_assert!(both.stage <= a.stage.max(b.stage), "{:?}", both.stage);
        let out = undone(&all);
        for run in both.evidence.iter().filter(|run| run.value.passed()) {
            // Nobody had a failure of the same that this run did not know of, unless the other knew it
            // and took it back.
            let fails = |state: &State, ops: &[Operation]| {
                state.evidence.iter().any(|known| {
                    !known.value.passed()
                        && known.value.is_rerun_of(&run.value)
                        && known.seq >= run.seq
                        && !out.contains(&known.op)
                        && ops.iter().any(|op| op.op == known.op)
                })
            };
            prop_assert!(!fails(&a, &c[0]) && !fails(&b, &c[1]), "{:?}", run);
        }
        for finding in both.findings.iter().filter(|one| !one.value.is_open()) {
            // Nobody said that it stands, of which the one who closed it did not know.
            let stands = |state: &State, ops: &[Operation]| {
                let mut known = state.findings.iter().filter(|one| {
                    one.op == finding.op && one.value.nth == finding.value.nth
                });
                known.any(|one| one.value.answer.as_ref().is_some_and(|said| {
                    let closed = finding.value.answer.as_ref();
                    said.value.answer == AnswerWord::Open
                        && closed.is_some_and(|closed| said.seq >= closed.seq)
                        && !out.contains(&said.op)
                        && ops.iter().any(|op| op.op == said.op)
                }))
            };
            prop_assert!(!stands(&a, &c[0]) && !stands(&b, &c[1]), "{:?}", finding);
        }
        for (lane, report) in &both.build.lanes {
            let has = |state: &State| state.build.lanes.get(lane) == Some(report);
            prop_assert!(has(&a) || has(&b));
        }
        if let Some(verdict) = both.verdict.as_ref().filter(|verdict| verdict.value.is_approval()) {
            for side in [&a, &b] {
                let held = side.verdict.as_ref().is_some_and(|v| !v.value.is_approval() && v.seq >= verdict.seq);
                prop_assert!(!held);
            }
        }
    }

    #[test]
    fn nothing_is_dropped_and_every_loss_is_visible(stages in 0..4_usize, turns in turns()) {
        let c = played(stages, turns);
        let all = union(&union(&c[0], &c[1]), &c[2]);
        let state = state(&all);
        // Every artifact that somebody wrote last stands in it, or as a side of its join.
        for artifact in Artifact::ALL {
            let Some(join) = state.joins.get(&artifact) else { continue };
            for side in &join.sides {
                prop_assert!(all.iter().any(|op| op.op == side.op && op.writes.contains_key(&artifact)));
            }
            prop_assert!(join.sides.len() > 1);
        }
        for conflict in &state.conflicts {
            prop_assert!(all.iter().any(|op| op.op == conflict.op));
        }
    }

    /// T1: an approval may come to nothing by what others did apart, and its writer is never made a forger by it.
    #[test]
    fn t1_an_approval_that_is_void_was_none_for_whoever_gave_it(stages in 0..4_usize, turns in turns()) {
        let c = played(stages, turns);
        let all = union(&union(&c[0], &c[1]), &c[2]);
        for void in state(&all).void {
            let then = as_seen_by(&id(), &all, &void.op, &Model).expect("a state");
            prop_assert!(then.void.iter().all(|other| other.op != void.op), "{}", void.why);
        }
    }

    #[test]
    fn what_was_settled_the_same_way_twice_is_settled(stages in 0..4_usize, turns in turns(), which in any::<Index>()) {
        let c = played(stages, turns);
        let all = union(&union(&c[0], &c[1]), &c[2]);
        let before = state(&all);
        if before.conflicts.is_empty() {
            return Ok(());
        }
        let conflict = before.conflicts[which.index(before.conflicts.len())].op.clone();
        let settled = |n: usize| {
            let word = Word::Resolved { keep: Vec::new(), drop: vec![conflict.clone()] };
            let mut op = operation(n, before.seq + 1, word, None);
            op.after = before.newest();
            op
        };
        let one = union(&all, &[settled(900)]);
        let two = union(&one, &[settled(901)]);
        let is_gone = |state: &State| state.conflicts.iter().all(|c| c.op != conflict);
        prop_assert!(is_gone(&state(&one)) && is_gone(&state(&two)));
        prop_assert_eq!(facts(state(&one)), facts(state(&two)));
        // Settled in two ways, it is a conflict again.
        let mut kept = settled(902);
        kept.body = Word::Resolved { keep: vec![conflict.clone()], drop: Vec::new() }.into();
        let disputed = state(&union(&one, &[kept]));
        prop_assert!(disputed.conflicts.iter().any(|c| c.op == conflict));
    }
}

#[test]
fn of_two_exits_neither_counts_until_one_is_kept() {
    use super::stage::{Stage, Transition};
    let first = begun(2);
    let last = first[first.len() - 1].clone();
    let next = |n: usize, body: Body, after: &OpId| {
        let mut op = operation(n, last.seq + n as u64 - 99, body, None);
        op.after = vec![after.clone()];
        op
    };
    let approve = next(
        100,
        Event::Approved {
            transition: Transition::BuildToReview,
            content: oid(1),
            files: BTreeMap::new(),
            code: None,
            completes: false,
            head: None,
            amends: None,
        }
        .into(),
        &last.op,
    );
    let enter = |n| {
        next(
            n,
            Event::Entered {
                transition: Transition::BuildToReview,
                scope: Vec::new(),
                out_of_scope: Vec::new(),
                head: None,
            }
            .into(),
            &approve.op,
        )
    };
    let mut ops = first;
    ops.push(approve.clone());
    let (a, b) = (enter(101), enter(102));
    ops.extend([a.clone(), b.clone()]);
    let both = state(&ops);
    assert_eq!(both.stage, Stage::Build);
    let named: Vec<&OpId> = both.conflicts.iter().map(|c| &c.op).collect();
    assert_eq!(named, [&a.op, &b.op]);
    let mut settle = next(
        103,
        Word::Resolved {
            keep: vec![a.op.clone()],
            drop: vec![b.op.clone()],
        }
        .into(),
        &b.op,
    );
    settle.after = both.newest();
    ops.push(settle);
    let settled = state(&ops);
    assert_eq!(settled.stage, Stage::Review);
    assert!(settled.conflicts.is_empty(), "{:?}", settled.conflicts);
}
