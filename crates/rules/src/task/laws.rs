//! Laws of tasks in clones that were apart: what is true is a function of the set of records, nothing that was done
//! is lost, and a merge completes nothing that nobody completed.

use super::decide::Decision;
use super::event::{Claim, Completion, TaskEvent};
use super::node::TaskId;
use super::status::{Status, Step};
use crate::op::{Body, Operation};
use crate::replay::{claims_beside, fold, redoable, undoable, unfit_claims};
use crate::replay_props::{id, op_id, operation, started};
use crate::session::{FOLD, State, TASK_FOLD};
use crate::words::Word;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use std::collections::BTreeSet;

const CLONES: usize = 3;

#[derive(Clone, Debug)]
enum Turn {
    Step(usize, Step),
    Fetch(usize),
}

fn turns() -> impl Strategy<Value = Vec<(usize, Turn)>> {
    let steps = [
        Step::Take,
        Step::Take,
        Step::Done,
        Step::Done,
        Step::Fail,
        Step::Retry,
        Step::Skip,
        Step::Release,
        Step::Decide,
        Step::Open,
    ];
    let turn = proptest::prop_oneof![
        8 => (0..2_usize, select(steps.to_vec())).prop_map(|(task, step)| Turn::Step(task, step)),
        1 => (0..CLONES).prop_map(Turn::Fetch),
    ];
    vec((0..CLONES, turn), 0..40)
}

fn task(n: usize) -> TaskId {
    TaskId::parse(&format!("T-{n}")).expect("an id")
}

fn state(ops: &[Operation]) -> State {
    fold(&id(), ops).expect("a state")
}

fn union(a: &[Operation], b: &[Operation]) -> Vec<Operation> {
    let mut all = a.to_vec();
    all.extend(b.iter().filter(|op| !a.contains(op)).cloned());
    all
}

/// Event that a clone records for a step from what it has; nothing where it may not take the step.
fn event(state: &State, clone: usize, task: TaskId, step: Step) -> Option<TaskEvent> {
    let is_free = match step {
        Step::Decide => true,
        Step::Open => state.task_status(&task) != Status::Completed,
        _ => false,
    };
    if !is_free {
        state.task_status(&task).after(step)?;
    }
    let holder = state.claim_of(&task).cloned();
    Some(match step {
        Step::Take => TaskEvent::Claimed {
            task,
            claim: Claim {
                owner: format!("worktree-{clone}"),
                agent: None,
                seconds: 60,
                over: holder,
                ..Claim::default()
            },
        },
        Step::Release => TaskEvent::Released {
            task,
            claim: holder?,
        },
        Step::Done => TaskEvent::Completed {
            task,
            claim: holder?,
            done: Completion::default(),
        },
        Step::Fail => TaskEvent::Failed {
            task,
            claim: holder?,
        },
        Step::Retry => TaskEvent::Retried { task, agent: None },
        Step::Skip => TaskEvent::Skipped { task },
        Step::Decide => TaskEvent::Decided {
            task,
            decision: Decision::default(),
        },
        // A word that a task may begin is one, too.
        Step::Open if clone == 0 => TaskEvent::Allowed {
            task,
            judged: std::collections::BTreeMap::new(),
            saw: std::collections::BTreeMap::new(),
        },
        Step::Open => TaskEvent::Opened {
            task,
            judged: std::collections::BTreeMap::new(),
            saw: std::collections::BTreeMap::new(),
            outcome: None,
        },
    })
}

/// The sets of records that the clones end with. Each writes only what fits what it has.
fn played(turns: Vec<(usize, Turn)>) -> Vec<Vec<Operation>> {
    let mut clones = vec![vec![started()]; CLONES];
    let mut made = 1;
    for (clone, turn) in turns {
        let (n, step) = match turn {
            Turn::Fetch(other) => {
                clones[clone] = union(&clones[clone], &clones[other]);
                continue;
            }
            Turn::Step(n, step) => (n, step),
        };
        let before = state(&clones[clone]);
        let Some(event) = event(&before, clone, task(n), step) else {
            continue;
        };
        let mut op = operation(made, before.seq + 1, event, None);
        op.format = 2;
        op.after = before.newest();
        // A skip without a reason does not count.
        op.reason = Some("for a reason".to_owned());
        let mut after = before.clone();
        after.apply(&op);
        assert_eq!(after.conflicts, before.conflicts, "it fits what is there");
        made += 1;
        clones[clone].push(op);
    }
    clones
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn clones_that_have_the_same_records_say_the_same_and_lose_nothing(turns in turns()) {
        let c = played(turns);
        let ops = union(&union(&c[0], &c[1]), &c[2]);
        let all = state(&ops);
        prop_assert_eq!(&state(&union(&c[2], &union(&c[1], &c[0]))), &all);
        prop_assert_eq!(&state(&union(&union(&c[1], &c[2]), &c[0])), &all);
        prop_assert_eq!(&state(&union(&ops, &c[1])), &all);
        prop_assert!(all.conflicts.is_empty(), "{:?}", all.conflicts);
        prop_assert_eq!(all.fold == TASK_FOLD, !all.tasks.is_empty());
        // Whatever was completed counts, or stands beside what counts, until somebody who could see it goes on.
        let retried = |id: &TaskId| ops.iter().any(|op| matches!(&op.body, Body::Task(TaskEvent::Retried { task, .. }) if task == id));
        for op in &ops {
            let Body::Task(TaskEvent::Completed { task, .. }) = &op.body else { continue };
            if retried(task) { continue }
            let facts = all.task(task).expect("facts");
            let counts = facts.completion.as_ref().is_some_and(|done| done.op == op.op);
            let stands_beside = facts.beside.iter().any(|aside| aside.op == op.op);
            prop_assert!(counts || stands_beside);
            prop_assert_eq!(facts.status, Status::Completed);
        }
        // A merge completes and skips nothing that nobody did.
        for facts in all.tasks.values() {
            let step = match facts.status {
                Status::Completed if facts.opened.is_some() => Step::Open,
                Status::Completed => Step::Done,
                Status::Skipped => Step::Skip,
                _ => continue,
            };
            let is_it = |op: &&Operation| matches!(&op.body, Body::Task(event) if event.task() == &facts.id && event.step() == step);
            prop_assert!(ops.iter().any(|op| is_it(&op)));
        }
    }

    #[test]
    fn an_undo_of_any_step_gives_the_state_before(turns in turns(), n in 0..2_usize, step in select(vec![Step::Take, Step::Done, Step::Fail, Step::Retry, Step::Skip, Step::Release, Step::Decide, Step::Open])) {
        let mut ops = played(turns).swap_remove(0);
        let before = state(&ops);
        let Some(event) = event(&before, 0, task(n), step) else { return Ok(()) };
        let made = CLONES * 50;
        let mut op = operation(made, before.seq + 1, event, None);
        op.after = before.newest();
        ops.push(op);
        let mut undo = operation(made + 1, before.seq + 2, Word::Undone { undone: vec![op_id(made)] }, None);
        undo.after = vec![op_id(made)];
        ops.push(undo);
        let undone = state(&ops);
        prop_assert_eq!(undone.tasks, before.tasks);
        prop_assert_eq!(undone.conflicts, before.conflicts);
        prop_assert_eq!(undone.fold, before.fold);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Work that was done is not stuck behind a claim, and what came back is what was there.
    #[test]
    fn undo_goes_down_to_the_beginning_and_redo_up_again(turns in turns()) {
        let mut ops = played(turns).swap_remove(0);
        let begun = state(&ops);
        let mut made = CLONES * 50;
        let mut steps = 0;
        while let Some(last) = undoable(&ops).first().map(|op| op.op.clone()) {
            let before = state(&ops);
            let mut undone = vec![last];
            let op = loop {
                let op = said(made, &before, Word::Undone { undone: undone.clone() });
                let after = state(&[ops.clone(), vec![op.clone()]].concat());
                let claims = unfit_claims(&before, &after, &ops);
                if claims.is_empty() {
                    prop_assert_eq!(&after.conflicts, &before.conflicts, "after {:?}", undone);
                    break op;
                }
                undone.extend(claims.into_iter().map(|op| op.op.clone()));
            };
            ops.push(op);
            made += 1;
            steps += 1;
        }
        for facts in state(&ops).tasks.values() {
            prop_assert!(matches!(facts.status, Status::Pending | Status::Claimed), "{facts:?}");
        }
        for _ in 0..steps {
            let before = state(&ops);
            let found = redoable(&ops).operations;
            let Some(first) = found.first() else { return Err(proptest::test_runner::TestCaseError::fail("nothing to redo")) };
            let with = claims_beside(&ops, &[first]);
            let redone = std::iter::once(*first).chain(with).map(|op| op.op.clone()).collect();
            let op = said(made, &before, Word::Redone { redone });
            ops.push(op);
            made += 1;
            prop_assert_eq!(&state(&ops).conflicts, &before.conflicts);
        }
        prop_assert_eq!(state(&ops).tasks, begun.tasks);
    }
}

fn said(made: usize, before: &State, word: Word) -> Operation {
    let mut op = operation(made, before.seq + 1, word, None);
    op.after = before.newest();
    op
}

/// Two clones that took one node apart, and what each did with it.
fn apart(steps: [&[Step]; 2]) -> State {
    let sets = recorded_apart(&steps);
    state(&union(&sets[1], &sets[0]))
}

/// Records of several clones that did these steps with one node, each apart from the others.
fn recorded_apart(steps: &[&[Step]]) -> Vec<Vec<Operation>> {
    let mut sets = vec![vec![started()]; steps.len()];
    let mut made = 1;
    for (clone, steps) in steps.iter().enumerate() {
        for step in *steps {
            let before = state(&sets[clone]);
            let event = event(&before, clone, task(0), *step).expect("a legal step");
            let mut op = operation(made, before.seq + 1, event, None);
            op.reason = Some("for a reason".to_owned());
            op.after = before.newest();
            sets[clone].push(op);
            made += 1;
        }
    }
    sets
}

/// Claims take no place from results: each result is named, however many clones had the node.
#[test]
fn results_that_were_made_apart_are_all_named_beside_many_claims() {
    use Step::{Done, Take};
    let done: &[Step] = &[Take, Done];
    let taken: &[Step] = &[Take];
    let all = recorded_apart(&[[taken; 20], [done; 20]].concat());
    let all = all.iter().fold(Vec::new(), |all, set| union(&all, set));
    let merged = state(&all);
    let facts = merged.task(&task(0)).expect("facts");
    assert_eq!(facts.status, Status::Completed);
    assert_eq!(facts.results_beside().count(), 19);
    assert!(facts.beside.len() < 40, "{}", facts.beside.len());
}

/// A claim that lost is named until whoever won, and saw it, has done the node.
#[test]
fn a_lost_claim_is_named_until_the_node_is_completed_by_somebody_who_saw_it() {
    use Step::{Done, Take};
    let sets = recorded_apart(&[&[Take], &[Take]]);
    let mut all = union(&sets[1], &sets[0]);
    let before = state(&all);
    let facts = before.task(&task(0)).expect("facts");
    assert_eq!((facts.status, facts.beside.len()), (Status::Claimed, 1));
    let done = event(&before, 0, task(0), Done).expect("a legal step");
    let mut op = operation(9, before.seq + 1, done, None);
    op.after = before.newest();
    all.push(op);
    let after = state(&all);
    let facts = after.task(&task(0)).expect("facts");
    assert_eq!((facts.status, facts.beside.len()), (Status::Completed, 0));
}

/// Steps of one clone, steps of the other, the status then, and the steps that stand beside it.
type Row<'r> = (&'r [Step], &'r [Step], Status, &'r [Step]);

#[test]
fn what_two_clones_did_apart_has_one_outcome_and_both_stay_visible() {
    use Step::{Done, Fail, Skip, Take};
    let table: [Row<'_>; 7] = [
        // The first of two claims, and the other beside it.
        (&[Take], &[Take], Status::Claimed, &[Take]),
        // Completed work outweighs the claim that came first.
        (&[Take], &[Take, Done], Status::Completed, &[Take]),
        (
            &[Take, Done],
            &[Take, Done],
            Status::Completed,
            &[Take, Done],
        ),
        (&[Take, Fail], &[Take, Done], Status::Completed, &[Fail]),
        (&[Take, Done], &[Skip], Status::Completed, &[Skip]),
        // A skip lets others go on, so that a claim outweighs it.
        (&[Skip], &[Take], Status::Claimed, &[Skip]),
        (&[Take], &[Skip], Status::Claimed, &[Skip]),
    ];
    for (one, other, status, beside) in table {
        let merged = apart([one, other]);
        let facts = merged.task(&task(0)).expect("facts");
        let mut found: Vec<Step> = facts.beside.iter().map(|aside| aside.value.step).collect();
        found.sort();
        assert_eq!(
            (facts.status, found.as_slice()),
            (status, beside),
            "{one:?} {other:?}"
        );
        assert!(merged.conflicts.is_empty());
        let both = [one, other].iter().all(|steps| steps.contains(&Done));
        assert_eq!(
            facts.results_beside().next().is_some(),
            both || one.contains(&Fail),
            "{one:?} {other:?}"
        );
    }
}

#[test]
fn a_session_without_tasks_has_the_state_that_it_had() {
    let state = state(&[started()]);
    assert!(state.tasks.is_empty() && state.fold <= FOLD);
    let bytes = String::from_utf8(state.to_bytes().expect("bytes")).expect("UTF-8");
    assert!(!bytes.contains("tasks"), "{bytes}");
}

#[test]
fn a_record_that_names_another_claim_is_a_conflict_of_the_session() {
    let mut ops = vec![started()];
    let mut push = |event: TaskEvent| {
        let at = ops.len();
        let mut op = operation(at, at as u64 + 1, event, None);
        op.after = vec![ops[at - 1].op.clone()];
        ops.push(op);
    };
    let claim = |over| Claim {
        owner: "w".into(),
        agent: None,
        seconds: 1,
        over,
        ..Claim::default()
    };
    push(TaskEvent::Claimed {
        task: task(0),
        claim: claim(None),
    });
    push(TaskEvent::Completed {
        task: task(0),
        claim: op_id(7),
        done: Completion::default(),
    });
    let merged = state(&ops);
    assert_eq!(merged.task_status(&task(0)), Status::Claimed);
    assert!(
        merged.conflicts[0]
            .why
            .contains("names a claim that does not count")
    );
    let ids: BTreeSet<_> = merged.tasks.keys().collect();
    assert_eq!(ids.len(), 1);
}
