//! Values that people wrote apart, each without knowing of the other.

use super::{Knows, brought, change, id, play};
use crate::issue::event::{Change, IssueEvent};
use crate::issue::solution::Proposal;
use crate::issue::{IssueId, Link, LinkKind, fold};
use crate::words::Word;

#[test]
fn two_who_write_one_value_apart_agree_and_two_values_stay_both() {
    let mut ada = play(&[]).swap_remove(0);
    let mut bob = ada.clone();
    for (one, other, apart) in [(1, 1, 0), (0, 3, 2)] {
        ada.write(0, change(Change::Priority(one)));
        bob.write(1, change(Change::Priority(other)));
        ada.hear(&bob);
        bob.hear(&ada);
        let found = ada.issue();
        assert_eq!(found, bob.issue());
        let values = found.apart_in("priority").map_or(0, |one| one.values.len());
        assert_eq!(values, apart);
    }
}

/// Ids of records are random: nobody can tell by them which value is shown.
#[test]
fn of_two_values_apart_the_later_date_is_shown_and_of_one_date_the_later_name() {
    let write = |knows: &mut Knows, who, at: &str, priority| {
        let at = format!("2026-01-01T{at}");
        knows.write_at(who, &at, None, change(Change::Priority(priority)));
    };
    for one in 0..3 {
        for other in 0..3 {
            for (ada_at, bob_at, shown) in [
                ("02:00:00Z", "01:00:00Z", one),
                ("01:00:00Z", "02:00:00Z", other),
                ("02:30:00Z", "03:00:00+01:00", one),
                ("01:00:00Z", "01:00:00Z", other),
            ] {
                let mut ada = play(&[]).swap_remove(0);
                let mut bob = ada.clone();
                write(&mut ada, 0, ada_at, one);
                // More records make a value no later.
                for label in ["x", "y"].into_iter().take(usize::from(other)) {
                    bob.write(1, change(Change::Label(label.to_owned())));
                }
                write(&mut bob, 1, bob_at, other);
                ada.hear(&bob);
                assert_eq!(
                    ada.issue().priority,
                    shown,
                    "{one} {other} {ada_at} {bob_at}"
                );
            }
        }
    }
}

#[test]
fn a_label_that_is_put_and_taken_away_apart_stays() {
    let mut ada = play(&[]).swap_remove(0);
    ada.write(0, change(Change::Label("x".to_owned())));
    let mut bob = ada.clone();
    ada.write(0, change(Change::Unlabel("x".to_owned())));
    bob.write(1, change(Change::Unlabel("x".to_owned())));
    bob.write(1, change(Change::Label("x".to_owned())));
    ada.hear(&bob);
    assert_eq!(ada.issue().labels, ["x"]);
}

/// A person who takes the beginning back knows nothing of what somebody else does with the issue meanwhile: it is there.
#[test]
fn a_beginning_is_taken_back_from_nobody_who_used_the_issue_apart() {
    let mut ada = play(&[]).swap_remove(0);
    let mut bob = ada.clone();
    let undone = vec![ada.ops[0].op.clone()];
    ada.write(0, Word::Undone { undone });
    bob.write(1, change(Change::Priority(0)));
    ada.hear(&bob);
    bob.hear(&ada);
    assert_eq!(ada.issue(), bob.issue());
    assert_eq!(ada.issue().priority, 0);
    // Whoever knows of that takes it back.
    let undone = vec![ada.ops[0].op.clone()];
    ada.write(0, Word::Undone { undone });
    assert_eq!(fold(&id(), &ada.ops), None);
}

/// Clones that take one issue over from elsewhere begin it each, and know nothing of each other.
#[test]
fn what_two_clones_took_over_with_other_values_stands_apart() {
    let taken_over = |priority| IssueEvent::Created {
        changes: vec![Change::Title("a".to_owned()), Change::Priority(priority)],
    };
    let (mut ada, mut bob) = (Knows::default(), Knows::default());
    ada.write(0, taken_over(3));
    bob.write(1, taken_over(4));
    ada.hear(&bob);
    let issue = ada.issue();
    let apart = issue.apart_in("priority").map_or(0, |one| one.values.len());
    assert_eq!(apart, 2);
    assert!(issue.apart_in("title").is_none());
}

#[test]
fn two_parents_of_clones_stand_apart() {
    let link = |to: &str| {
        change(Change::Link(Link {
            kind: LinkKind::Parent,
            to: IssueId::parse(to).expect("an id"),
        }))
    };
    let mut ada = play(&[]).swap_remove(0);
    let mut bob = ada.clone();
    ada.write(0, link("lx-7k2m000001"));
    assert!(ada.issue().apart_in("parent").is_none());
    bob.write(1, link("lx-7k2m000002"));
    ada.hear(&bob);
    let issue = ada.issue();
    let apart = issue.apart_in("parent").expect("two");
    let values: Vec<&str> = apart.values.iter().map(|one| one.value.as_str()).collect();
    assert_eq!(values, ["lx-7k2m000001", "lx-7k2m000002"]);
}

#[test]
fn a_solution_that_two_brought_apart_is_one_and_what_is_said_of_either_is_said_of_it() {
    let mut people = play(&[]);
    let proposes = |name: &str| IssueEvent::Solution {
        changes: vec![Change::Solution(Box::new(brought(name)))],
    };
    for (who, knows) in people.iter_mut().enumerate().take(2) {
        knows.write(who, proposes("s"));
        let op = knows.ops.last().expect("a record").op.clone();
        let changes = vec![Change::Bind(Some(op))];
        knows.write(who, IssueEvent::Solution { changes });
    }
    let (ada, bob) = (people[0].clone(), people[1].clone());
    let both = |first: &Knows, other: &Knows| {
        let mut knows = first.clone();
        knows.hear(other);
        knows
    };
    let mut all = both(&ada, &bob);
    let read = all.read();
    assert_eq!(read, both(&bob, &ada).read());
    assert_eq!(
        (read.issue.solutions, read.issue.apart_in("solution")),
        (1, None)
    );
    let bound = read.issue.bound.expect("a bound one");
    assert_eq!(
        (bound.name.as_str(), &bound.solution),
        ("s", &read.texts.solutions[0].op)
    );
    // The record of the other one names it, too.
    let own = bob.ops.iter().rev().nth(1).expect("a record").op.clone();
    let changes = vec![Change::Reject {
        solution: own,
        rejected: true,
    }];
    all.write(1, IssueEvent::Solution { changes });
    let read = all.read();
    assert!(read.texts.solutions[0].rejected.is_some() && read.issue.bound.is_none());
    // One with other words is another one, and one that nobody brought, too.
    all.write(0, proposes("t"));
    all.write(
        0,
        change(Change::Solution(Box::new(Proposal {
            from: None,
            ..brought("s")
        }))),
    );
    assert_eq!(all.read().issue.solutions, 3);
}
