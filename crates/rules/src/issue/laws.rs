//! Laws of the fold, over random histories of three people who hear of each other now and then.

mod apart;
mod impossible;

use super::compare::{Difference, What, compare};
use super::event::{Change, IssueEvent};
use super::solution::Proposal;
use super::then::{turns, until, up_to, walked};
use super::{Issue, IssueId, Read, Status, fold};
use crate::op::{Body, Operation};
use crate::record::Draft;
use crate::task::world::Condition;
use crate::words::Word;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, OpId, Person};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeMap;

const PEOPLE: usize = 3;

/// A blob id of bytes that no other bytes of a test have.
fn blob(bytes: &[u8]) -> Result<Oid> {
    let hash = |seed: u64| {
        bytes.iter().fold(seed, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    Oid::parse(&format!(
        "{:016x}{:016x}{:08x}",
        hash(0xcbf2_9ce4_8422_2325),
        hash(7),
        hash(11) & 0xffff_ffff
    ))
}

fn id() -> IssueId {
    IssueId::parse("lx-7k2m000000").expect("an id")
}

/// Knowledge of one person: the records that they have.
#[derive(Clone, Default)]
struct Knows {
    ops: Vec<Operation>,
}

impl Knows {
    fn newest(&self) -> Vec<OpId> {
        let named: Vec<&OpId> = self.ops.iter().flat_map(|op| &op.after).collect();
        let newest = self.ops.iter().filter(|op| !named.contains(&&op.op));
        newest.map(|op| op.op.clone()).collect()
    }

    /// Writes a record with a reason, which whoever ends an issue has to give.
    fn write(&mut self, who: usize, body: impl Into<Body>) {
        self.write_for(who, Some("as agreed"), body);
    }

    fn write_for(&mut self, who: usize, reason: Option<&str>, body: impl Into<Body>) {
        self.write_at(who, "2026-01-01T00:00:00Z", reason, body);
    }

    fn write_at(&mut self, who: usize, at: &str, reason: Option<&str>, body: impl Into<Body>) {
        let seq = self.ops.iter().map(|op| op.seq).max().unwrap_or(0) + 1;
        let draft = Draft {
            seq,
            after: self.newest(),
            entity: format!("issues/{}", id()),
            tx: format!("{who}-{seq}"),
            at: at.to_owned(),
            by: Person::parse(&format!("P{who} <p{who}@x>")),
            committer: None,
            reason: reason.map(str::to_owned),
            writes: BTreeMap::new(),
            others: BTreeMap::new(),
            body: body.into(),
        };
        self.ops.push(draft.seal(blob).expect("a record"));
    }

    fn hear(&mut self, other: &Knows) {
        for op in &other.ops {
            if !self.ops.iter().any(|one| one.op == op.op) {
                self.ops.push(op.clone());
            }
        }
    }

    fn read(&self) -> Read {
        fold(&id(), &self.ops).expect("an issue")
    }

    fn issue(&self) -> Issue {
        self.read().issue
    }
}

fn change(change: Change) -> IssueEvent {
    IssueEvent::Changed {
        changes: vec![change],
    }
}

/// A solution as an import brings it.
fn brought(name: &str) -> Proposal {
    Proposal {
        name: name.to_owned(),
        from: Some(super::Source {
            system: "ccw".to_owned(),
            id: name.to_owned(),
        }),
        ..Proposal::default()
    }
}

/// A step of a history: who writes what, or who hears of whom.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, Change),
    Hear(usize, usize),
}

fn merged(branch: String) -> Condition {
    let contains = "v1".to_owned();
    Condition::Commit { branch, contains }
}

fn any_change() -> impl Strategy<Value = Change> {
    let status = prop_oneof![
        Just(Status::Open),
        Just(Status::Planned),
        Just(Status::Closed)
    ];
    prop_oneof![
        "[ab]".prop_map(Change::Title),
        "[ab\n]{0,6}".prop_map(Change::Description),
        status.prop_map(Change::Status),
        (0_u8..5).prop_map(Change::Priority),
        "[xyz]".prop_map(Change::Label),
        "[xyz]".prop_map(Change::Unlabel),
        "[xy]".prop_map(|branch| Change::Until(merged(branch))),
        "[xy]".prop_map(|branch| Change::NotUntil(merged(branch))),
        "[cd]".prop_map(Change::Criterion),
        "[cd]".prop_map(Change::Tick),
        "[cd]".prop_map(Change::Untick),
        "[st]".prop_map(|name| Change::Solution(Box::new(Proposal {
            name,
            ..Proposal::default()
        }))),
        "[st]".prop_map(|name| Change::Solution(Box::new(brought(&name)))),
        Just(Change::Bind(None)),
        Just(Change::Retry {}),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..PEOPLE, any_change()).prop_map(|(who, change)| Step::Write(who, change)),
        1 => (0..PEOPLE, 0..PEOPLE).prop_map(|(who, of)| Step::Hear(who, of)),
    ]
}

fn play(steps: &[Step]) -> Vec<Knows> {
    let mut first = Knows::default();
    first.write(
        0,
        IssueEvent::Created {
            changes: vec![Change::Title("a".to_owned())],
        },
    );
    let mut people = vec![first; PEOPLE];
    for step in steps {
        match step {
            Step::Write(who, one) => people[*who].write(*who, change(one.clone())),
            Step::Hear(who, of) => {
                let other = people[*of].clone();
                people[*who].hear(&other);
            }
        }
    }
    people
}

proptest! {
    #[test]
    fn a_claim_that_a_remote_took_holds_beside_whatever_was_claimed_apart(
        steps in prop::collection::vec(any_step(), 0..12),
        before in prop::collection::vec((1..PEOPLE, any::<bool>()), 0..4),
        seconds in prop::collection::vec(0_u32..60, 4),
    ) {
        let people = play(&steps);
        let mut there = people[0].clone();
        let known = there.issue();
        // Whoever holds or ended it is no matter of two claims made apart.
        if !known.status.is_final() && known.claim.is_none() {
            there.write_at(0, "2026-01-01T00:00:30Z", None, claim_there("w0"));
            let mut all = there.clone();
            for ((who, twice), second) in before.into_iter().zip(seconds) {
                let mut apart = people[0].clone();
                let at = format!("2026-01-01T00:00:{second:02}Z");
                apart.write_at(who, &at, None, claim(&format!("w{who}"), None));
                if twice {
                    apart.write_at(who, &at, None, claim(&format!("w{who}"), None));
                }
                all.hear(&apart);
            }
            let issue = all.issue();
            prop_assert_eq!(holder(&issue), Some("w0"));
            all.ops.reverse();
            prop_assert_eq!(all.issue(), issue);
        }
    }

    #[test]
    fn whoever_hears_of_whom_in_whatever_order_ends_with_one_issue(
        steps in prop::collection::vec(any_step(), 0..24),
        order in Just((0..PEOPLE).collect::<Vec<_>>()).prop_shuffle(),
        turn in any::<bool>(),
    ) {
        let people = play(&steps);
        let mut one = Knows::default();
        let mut other = Knows::default();
        for who in 0..PEOPLE {
            one.hear(&people[who]);
            other.hear(&people[order[who]]);
        }
        if turn {
            other.ops.reverse();
        }
        prop_assert_eq!(one.read(), other.read());
    }

    #[test]
    fn what_somebody_writes_who_knows_everything_is_so(
        steps in prop::collection::vec(any_step(), 0..24),
        last in any_change(),
    ) {
        let people = play(&steps);
        let mut all = Knows::default();
        people.iter().for_each(|one| all.hear(one));
        all.write(0, change(last.clone()));
        let Read { issue, texts } = all.read();
        let is_apart = |field: &str| issue.apart_in(field).is_some();
        match last {
            Change::Title(title) => prop_assert!(issue.title == title && !is_apart("title")),
            Change::Description(text) => prop_assert!(texts.description == text && !is_apart("description")),
            Change::Status(status) => prop_assert!(issue.status == status && !is_apart("status")),
            Change::Priority(priority) => prop_assert!(issue.priority == priority && !is_apart("priority")),
            Change::Label(label) => prop_assert!(issue.labels.contains(&label)),
            Change::Unlabel(label) => prop_assert!(!issue.labels.contains(&label)),
            Change::Criterion(text) => prop_assert!(issue.criteria.iter().any(|one| one.text == text)),
            Change::Tick(text) => prop_assert!(issue.criteria.iter().all(|one| one.text != text || one.done)),
            Change::Untick(text) => prop_assert!(issue.criteria.iter().all(|one| one.text != text || !one.done)),
            _ => {}
        }
    }

    #[test]
    fn a_label_that_nobody_takes_away_is_never_lost(
        steps in prop::collection::vec(any_step(), 0..24),
    ) {
        let people = play(&steps);
        let mut all = Knows::default();
        people.iter().for_each(|one| all.hear(one));
        let puts = |wanted: &str| steps.iter().any(|step| matches!(step, Step::Write(_, Change::Label(label)) if label == wanted));
        let takes = |wanted: &str| steps.iter().any(|step| matches!(step, Step::Write(_, Change::Unlabel(label)) if label == wanted));
        for label in ["x", "y", "z"] {
            if puts(label) && !takes(label) {
                prop_assert!(all.issue().labels.iter().any(|one| one == label));
            }
        }
    }
}

proptest! {
    #[test]
    fn the_records_up_to_one_are_what_its_writer_knew(
        steps in prop::collection::vec(any_step(), 0..24),
    ) {
        for one in 0..=steps.len() {
            let before = play(&steps[..one]);
            let mut all = Knows::default();
            play(&steps).iter().for_each(|person| all.hear(person));
            for person in before.iter().filter(|person| person.newest().len() == 1) {
                let last = person.newest().swap_remove(0);
                let known = up_to(&all.ops, &last).expect("a record");
                prop_assert_eq!(fold(&id(), &known), fold(&id(), &person.ops));
            }
        }
    }

    #[test]
    fn the_turns_of_an_issue_are_what_it_was_at_each_second(
        steps in prop::collection::vec((any_step(), 0..24_u32, 0..12_usize), 0..24),
    ) {
        let mut people = vec![play(&[]).swap_remove(0); PEOPLE];
        for (step, second, back) in &steps {
            // Clocks go as they like.
            let at = format!("2026-01-01T00:01:{second:02}Z");
            match step {
                Step::Write(who, one) => {
                    let person = &mut people[*who];
                    let known = person.ops.get(person.ops.len().wrapping_sub(1 + back));
                    match known.map(|op| op.op.clone()).filter(|_| *second > 16) {
                        Some(op) if second % 2 == 0 => {
                            person.write_at(*who, &at, None, Word::Undone { undone: vec![op] });
                        }
                        Some(op) => {
                            person.write_at(*who, &at, None, Word::Redone { redone: vec![op] });
                        }
                        None => person.write_at(*who, &at, Some("as agreed"), change(one.clone())),
                    }
                }
                Step::Hear(who, of) => {
                    let other = people[*of].clone();
                    people[*who].hear(&other);
                }
            }
        }
        let mut all = Knows::default();
        people.iter().for_each(|one| all.hear(one));
        let found = turns(&id(), &all.ops);
        let first = crate::lease::seconds_of("2026-01-01T00:00:59Z").expect("a time");
        for second in first..first + 26 {
            let was = fold(&id(), &until(&all.ops, second)).map(|read| read.issue.status);
            let turn = found.iter().rev().find(|turn| turn.second <= second);
            prop_assert_eq!(turn.and_then(|turn| turn.status), was);
        }
    }

    #[test]
    fn the_records_up_to_a_second_are_those_of_everybody_until_then(
        steps in prop::collection::vec(any_step(), 0..24),
        cut in 0..24_usize,
    ) {
        // Each step has a second of its own.
        let cut = cut.min(steps.len());
        let dated = |count: usize| {
            let mut people = vec![play(&[]).swap_remove(0); PEOPLE];
            for (at, step) in steps[..count].iter().enumerate() {
                match step {
                    Step::Write(who, one) => {
                        let second = format!("2026-01-01T00:01:{at:02}Z");
                        people[*who].write_at(*who, &second, Some("as agreed"), change(one.clone()));
                    }
                    Step::Hear(who, of) => {
                        let other = people[*of].clone();
                        people[*who].hear(&other);
                    }
                }
            }
            let mut all = Knows::default();
            people.iter().for_each(|one| all.hear(one));
            all
        };
        let second = crate::lease::seconds_of("2026-01-01T00:01:00Z").expect("a time");
        let second = second + i64::try_from(cut).expect("a number") - 1;
        let then = until(&dated(steps.len()).ops, second);
        prop_assert_eq!(fold(&id(), &then), fold(&id(), &dated(cut).ops));
    }
}

/// A clock that is behind puts no record before one that its writer knew.
#[test]
fn a_record_whose_writer_knew_a_later_one_is_later() {
    let mut ada = play(&[]).swap_remove(0);
    ada.write_at(0, "2026-01-03T00:00:00Z", None, change(Change::Priority(0)));
    ada.write_at(0, "2026-01-02T00:00:00Z", None, change(Change::Priority(4)));
    let second = |at: &str| crate::lease::seconds_of(at).expect("a time");
    let then = |at: &str| fold(&id(), &until(&ada.ops, second(at))).map(|read| read.issue.priority);
    assert_eq!(then("2026-01-02T12:00:00Z"), Some(super::PRIORITY));
    assert_eq!(then("2026-01-03T00:00:00Z"), Some(4));
    assert_eq!(then("2025-01-01T00:00:00Z"), None);
}

#[test]
fn the_turns_of_an_issue_say_how_far_it_was_and_since_when() {
    let mut ada = play(&[]).swap_remove(0);
    let mut write = |at: &str, one: Change| {
        let at = format!("2026-01-{at}T00:00:00Z");
        ada.write_at(0, &at, Some("as agreed"), change(one));
    };
    write("02", Change::Label("x".to_owned()));
    write("03", Change::Status(Status::Closed));
    write("04", Change::Status(Status::Open));
    write("05", Change::Status(Status::Planned));
    write("06", Change::Status(Status::Resolved));
    let found = turns(&id(), &ada.ops);
    let found = found.iter().map(|turn| {
        let day = crate::when::day_of(turn.second);
        (day[8..].to_owned(), turn.status)
    });
    let expected = [
        ("01", Status::Open),
        ("03", Status::Closed),
        ("04", Status::Open),
        ("05", Status::Planned),
        ("06", Status::Resolved),
    ];
    let expected = expected.map(|(day, status)| (day.to_owned(), Some(status)));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn each_record_of_one_line_is_folded_once_for_the_turns() {
    let mut ada = play(&[]).swap_remove(0);
    for at in 0..40 {
        let status = if at % 2 == 0 {
            Status::Closed
        } else {
            Status::Open
        };
        let second = format!("2026-01-02T00:00:{at:02}Z");
        ada.write_at(
            0,
            &second,
            Some("as agreed"),
            change(Change::Status(status)),
        );
    }
    let (found, folded) = walked(&id(), &ada.ops);
    assert_eq!((found.len(), folded), (41, ada.ops.len()));
}

#[test]
fn a_difference_names_what_is_another_now() {
    let ada = play(&[]).swap_remove(0);
    let mut bob = ada.clone();
    assert_eq!(compare(Some(&ada.read()), Some(&bob.read())), None);
    assert_eq!(
        compare(None, Some(&ada.read())),
        Some((What::Created, Vec::new()))
    );
    assert_eq!(
        compare(Some(&ada.read()), None),
        Some((What::TakenBack, Vec::new()))
    );
    bob.write(1, change(Change::Priority(0)));
    bob.write(1, change(Change::Criterion("it holds".to_owned())));
    bob.write(1, change(Change::Tick("it holds".to_owned())));
    bob.write(1, change(Change::Description("One\ntwo\n".to_owned())));
    bob.write(1, change(Change::Status(Status::Closed)));
    let (what, found) = compare(Some(&ada.read()), Some(&bob.read())).expect("differences");
    let words: Vec<String> = found.iter().map(Difference::words).collect();
    assert_eq!(what, What::Closed);
    assert_eq!(
        words,
        [
            "status open -> closed",
            "priority 2 -> 0",
            "reason none -> as agreed",
            "description",
            "criterion +it holds",
            "ticked +it holds",
        ]
    );
    let (what, found) = compare(Some(&bob.read()), Some(&ada.read())).expect("differences");
    assert_eq!(what, What::Reopened);
    assert!(found.iter().any(|one| one.words() == "criterion -it holds"));
}

#[test]
fn the_beginning_of_an_issue_can_be_taken_back() {
    use crate::words::Word;
    let mut ada = play(&[]).swap_remove(0);
    let first = ada.ops[0].op.clone();
    ada.write(
        0,
        Word::Undone {
            undone: vec![first.clone()],
        },
    );
    assert_eq!(fold(&id(), &ada.ops), None);
    ada.write(
        0,
        Word::Redone {
            redone: vec![first],
        },
    );
    assert_eq!(ada.issue().title, "a");
}

#[test]
fn a_comment_that_was_withdrawn_is_not_shown() {
    use crate::note::{Note, NoteKind, Said};
    let mut ada = play(&[]).swap_remove(0);
    ada.write(0, Note::Noted(Box::new(Said::new(NoteKind::Learning, "x"))));
    let note = ada.newest().swap_remove(0);
    assert_eq!(ada.issue().comments, 1);
    let text = "oops".to_owned();
    ada.write(0, Note::Withdrawn { note, text });
    assert_eq!(ada.issue().comments, 0);
    assert_eq!(ada.read().texts.comments, []);
}

/// The claim of somebody who asked the remote first.
fn claim_there(who: &str) -> IssueEvent {
    match claim(who, None) {
        IssueEvent::Claimed { claim, .. } => IssueEvent::Claimed { claim, there: true },
        other => other,
    }
}

fn claim(who: &str, over: Option<&str>) -> IssueEvent {
    use crate::lease::{Claim, Over};
    let by = Person::parse("P <p@x>");
    IssueEvent::Claimed {
        claim: Claim {
            owner: who.to_owned(),
            agent: None,
            seconds: 60,
            over: over.map(|owner| Over {
                owner: owner.to_owned(),
                agent: None,
                signed: crate::session::Signed {
                    by,
                    at: "2026-01-01T00:00:00Z".to_owned(),
                },
                alive: false,
            }),
        },
        there: false,
    }
}

fn holder(issue: &Issue) -> Option<&str> {
    (issue.claim.as_ref()).map(|claim| claim.value.owner.as_str())
}
