//! The records of tasks as they are stored: what others read is held here byte for byte.

use super::{Claim, Completion, TaskEvent};
use crate::op::Operation;
use crate::replay_props::{oid, op_id, operation};
use crate::task::decide::{Decision, Points, Verdict};
use crate::task::node::TaskId;
use serde_json::{Value, json};

fn task() -> TaskId {
    TaskId::parse("TASK-001").expect("an id")
}

fn stored(event: TaskEvent) -> (Operation, Value) {
    let mut op = operation(7, 9, event, None);
    op.format = 2;
    op.entity = Some("uid".into());
    op.tx = Some("tx".into());
    let bytes = op.to_bytes().expect("bytes");
    let read = Operation::parse(&bytes, "op", &oid(1)).expect("an operation");
    assert_eq!(read.body, op.body, "read as it was written");
    (read, serde_json::from_slice(&bytes).expect("JSON"))
}

#[test]
fn a_record_says_what_happened_what_it_weighs_and_what_it_needs() {
    let claim = op_id(3);
    let done = Completion {
        tree: Some(oid(2)),
        summary: Some("ten".into()),
        partial: Some("the rest".into()),
        caveats: vec!["only there".into()],
        ..Completion::default()
    };
    let table = [
        (
            TaskEvent::Claimed {
                task: task(),
                claim: Claim {
                    owner: "w".into(),
                    agent: Some("s1".into()),
                    seconds: 60,
                    over: Some(claim.clone()),
                    ..Claim::default()
                },
            },
            ("claimed", "holds"),
            json!({"task": "TASK-001", "claim": {"owner": "w", "agent": "s1", "seconds": 60, "over": claim}}),
        ),
        (
            TaskEvent::Released {
                task: task(),
                claim: claim.clone(),
            },
            ("released", "opens"),
            json!({"task": "TASK-001", "claim": claim}),
        ),
        (
            TaskEvent::Completed {
                task: task(),
                claim: claim.clone(),
                done,
            },
            ("completed", "opens"),
            json!({"task": "TASK-001", "claim": claim, "done": {
                "tree": oid(2), "summary": "ten", "partial": "the rest", "caveats": ["only there"],
            }}),
        ),
        (
            TaskEvent::Failed {
                task: task(),
                claim: claim.clone(),
            },
            ("failed", "holds"),
            json!({"task": "TASK-001", "claim": claim}),
        ),
        (
            TaskEvent::Retried {
                task: task(),
                agent: None,
            },
            ("retried", "opens"),
            json!({"task": "TASK-001"}),
        ),
        (
            TaskEvent::Skipped { task: task() },
            ("skipped", "opens"),
            json!({"task": "TASK-001"}),
        ),
        (
            TaskEvent::Decided {
                task: task(),
                decision: Decision {
                    verdict: Some(Verdict::Proceed),
                    score: Points::parse("8.50"),
                    scores: [("code".to_owned(), Points::whole(9))].into(),
                    judged: [(task(), op_id(3))].into(),
                    ..Decision::default()
                },
            },
            ("decided", "opens"),
            json!({"task": "TASK-001", "decision": {
                "verdict": "proceed", "score": "8.5", "scores": {"code": "9"}, "judged": {"TASK-001": op_id(3)},
            }}),
        ),
        (
            TaskEvent::Allowed {
                task: task(),
                judged: std::collections::BTreeMap::new(),
                saw: std::collections::BTreeMap::new(),
            },
            ("allowed", "opens"),
            json!({"task": "TASK-001"}),
        ),
        (
            TaskEvent::Opened {
                task: task(),
                judged: std::collections::BTreeMap::new(),
                saw: std::collections::BTreeMap::new(),
                outcome: None,
            },
            ("opened", "opens"),
            json!({"task": "TASK-001"}),
        ),
    ];
    for (event, (kind, weight), body) in table {
        let (_, json) = stored(event);
        assert_eq!(json["topic"], "task");
        assert_eq!(
            (&json["kind"], &json["weight"], &json["needs"]),
            (&json!(kind), &json!(weight), &json!("0.5"))
        );
        assert_eq!(json["body"], body, "{kind}");
    }
}

#[test]
fn a_task_that_is_no_id_is_a_damaged_record() {
    let (op, _) = stored(TaskEvent::Retried {
        task: task(),
        agent: None,
    });
    let text = String::from_utf8(op.to_bytes().expect("bytes")).expect("UTF-8");
    let bad = text.replace("TASK-001", "../x");
    let failure = Operation::parse(bad.as_bytes(), "op", &oid(1)).expect_err("damaged");
    assert!(
        failure.message.contains("expected the id of a task"),
        "{failure}"
    );
}

#[test]
fn a_record_that_weighs_less_than_its_kind_is_damaged() {
    let (op, document) = stored(TaskEvent::Skipped { task: task() });
    assert_eq!(document["weight"], "opens");
    let text = String::from_utf8(op.to_bytes().expect("bytes")).expect("text");
    let forged = text.replacen("\"weight\": \"opens\"", "\"weight\": \"note\"", 1);
    assert_ne!(forged, text);
    let said = Operation::parse(forged.as_bytes(), "op", &oid(1)).expect_err("refused");
    assert!(
        said.message.contains("its weight does not fit its kind"),
        "{}",
        said.message
    );
}
