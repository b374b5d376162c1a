//! Laws of the fold, over random histories of three people who hear of each other now and then.

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

/// A person who takes the beginning back knows nothing of what somebody else does with the issue meanwhile: it is there.
#[test]
fn a_beginning_is_taken_back_from_nobody_who_used_the_issue_apart() {
    use crate::words::Word;
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

#[test]
fn two_parents_of_clones_stand_apart() {
    use super::{Link, LinkKind};
    let link = |to: &str| {
        change(Change::Link(Link {
            kind: LinkKind::Parent,
            to: super::IssueId::parse(to).expect("an id"),
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
fn what_no_command_could_have_written_changes_nothing() {
    use super::solution::{Action, Scores, Touched};
    use super::{Link, LinkKind};
    let solution = |path: &str, task: &str| {
        Change::Solution(Box::new(Proposal {
            approach: "a".to_owned(),
            tasks: vec![serde_json::json!({ "id": task })],
            files: vec![Touched {
                path: path.to_owned(),
                action: Action::Modify,
            }],
            ..Proposal::default()
        }))
    };
    let created = || IssueEvent::Created {
        changes: vec![Change::Title("a".to_owned())],
    };
    let mut ada = Knows::default();
    ada.write(0, created());
    let forged = [
        Change::Title("a\n\u{1b}[31m".to_owned()),
        Change::Title("a".repeat(1 << 20)),
        Change::Kind("../x".to_owned()),
        Change::Priority(99),
        Change::Link(Link {
            kind: LinkKind::BlockedBy,
            to: id(),
        }),
        solution("/etc/passwd", "T-1"),
        solution("../../x", "T-1"),
        solution("code.txt", "../T-1"),
    ];
    ada.write(
        0,
        IssueEvent::Changed {
            changes: forged.to_vec(),
        },
    );
    let read = fold(&id(), &ada.ops).expect("an issue");
    let issue = &read.issue;
    assert_eq!((issue.title.as_str(), issue.kind.as_str()), ("a", "task"));
    assert_eq!(
        (issue.priority, issue.links.len(), issue.solutions),
        (2, 0, 0)
    );
    // A true solution, judged with more than there is.
    ada.write(
        0,
        IssueEvent::Solution {
            changes: vec![solution("code.txt", "T-1")],
        },
    );
    let of = ada.ops.last().expect("a record").op.clone();
    let scores = Scores {
        feasibility: 250,
        risk: 250,
        completeness: 250,
    };
    ada.write(
        0,
        IssueEvent::Solution {
            changes: vec![Change::Score {
                solution: of,
                scores: Some(scores),
            }],
        },
    );
    let read = fold(&id(), &ada.ops).expect("an issue");
    assert_eq!(read.texts.solutions.len(), 1);
    assert_eq!(read.texts.solutions[0].scored, None);
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

#[test]
fn e5_an_issue_ends_for_a_reason_alone() {
    for reason in [None, Some(" ")] {
        let mut ada = play(&[]).swap_remove(0);
        ada.write_for(0, reason, change(Change::Status(Status::Resolved)));
        assert_eq!(ada.issue().status, Status::Open);
        ada.write(0, change(Change::Status(Status::Resolved)));
        assert_eq!(ada.issue().status, Status::Resolved);
    }
}

#[test]
fn e5_an_issue_is_in_progress_by_a_claim_or_a_session_alone() {
    let mut ada = play(&[]).swap_remove(0);
    ada.write(0, change(Change::Status(Status::InProgress)));
    assert_eq!(ada.issue().status, Status::Open);
    ada.write(0, claim("ada", None));
    assert_eq!(ada.issue().status, Status::InProgress);
}

#[test]
fn e5_a_claim_that_names_nobody_does_not_take_over_from_whom_its_writer_knew() {
    let mut ada = play(&[]).swap_remove(0);
    ada.write(0, claim("ada", None));
    let before = ada.clone();
    ada.write(1, claim("bob", None));
    assert_eq!(holder(&ada.issue()), Some("ada"));
    assert!(ada.issue().apart_in("claim").is_some());
    // It is settled as two claims are that were made apart.
    ada.write(2, claim("eve", Some("ada")));
    assert_eq!(holder(&ada.issue()), Some("eve"));
    assert!(ada.issue().apart_in("claim").is_none());
    let mut renewed = before;
    renewed.write(0, claim("ada", None));
    assert!(renewed.issue().apart_in("claim").is_none());
}

#[test]
fn e5_what_is_said_of_an_unknown_solution_changes_nothing() {
    let unknown = OpId::parse(blob(b"nothing").expect("an id").as_str()).expect("an id");
    let mut ada = play(&[]).swap_remove(0);
    let before = ada.issue();
    for said in [
        Change::Bind(Some(unknown.clone())),
        Change::Fail(unknown.clone()),
        Change::Reject {
            solution: unknown,
            rejected: true,
        },
    ] {
        ada.write(0, change(said));
    }
    let after = ada.read();
    assert_eq!((after.issue.bound, after.texts.failures.len()), (None, 0));
    ada.write(0, claim("ada", None));
    ada.write(0, IssueEvent::Released { claim: None });
    assert_eq!(ada.issue().status, before.status);
}

#[test]
fn e5_a_release_gives_back_the_claim_that_it_names_and_else_ones_own() {
    let mut ada = play(&[]).swap_remove(0);
    ada.write(0, claim("ada", None));
    let held = ada.issue().claim.map(|claim| claim.op);
    let taken = ada.clone();
    // By somebody else, of another claim, and of none: what plain git can push.
    let older = ada.ops.first().map(|op| op.op.clone());
    for of in [None, older] {
        ada.write(1, IssueEvent::Released { claim: of });
        let issue = ada.issue();
        assert_eq!(holder(&issue), Some("ada"));
        assert_eq!(issue.status, Status::InProgress);
    }
    // By whoever has it, as older records say it; and by anybody who names the claim, as `release` does once its lease
    // is over.
    for (who, of) in [(0, None), (1, held)] {
        let mut given = taken.clone();
        given.write(who, IssueEvent::Released { claim: of });
        assert_eq!(holder(&given.issue()), None);
        assert_eq!(given.issue().status, Status::Open);
    }
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
