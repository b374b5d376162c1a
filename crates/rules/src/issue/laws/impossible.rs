//! Records that no command writes: they change nothing, or no more than an honest record would.

use super::{Knows, blob, change, claim, holder, id, play};
use crate::issue::event::{Change, IssueEvent};
use crate::issue::solution::{Action, Proposal, Scores, Touched};
use crate::issue::{Link, LinkKind, Status, fold};
use loopx_base::id::OpId;

#[test]
fn what_no_command_could_have_written_changes_nothing() {
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

#[test]
fn an_issue_ends_for_a_reason_alone() {
    for reason in [None, Some(" ")] {
        let mut ada = play(&[]).swap_remove(0);
        ada.write_for(0, reason, change(Change::Status(Status::Resolved)));
        assert_eq!(ada.issue().status, Status::Open);
        ada.write(0, change(Change::Status(Status::Resolved)));
        assert_eq!(ada.issue().status, Status::Resolved);
    }
}

#[test]
fn an_issue_is_in_progress_by_a_claim_or_a_session_alone() {
    let mut ada = play(&[]).swap_remove(0);
    ada.write(0, change(Change::Status(Status::InProgress)));
    assert_eq!(ada.issue().status, Status::Open);
    ada.write(0, claim("ada", None));
    assert_eq!(ada.issue().status, Status::InProgress);
}

#[test]
fn a_claim_that_names_nobody_does_not_take_over_from_whom_its_writer_knew() {
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
fn what_is_said_of_an_unknown_solution_changes_nothing() {
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
fn a_release_gives_back_the_claim_that_it_names_and_else_ones_own() {
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
