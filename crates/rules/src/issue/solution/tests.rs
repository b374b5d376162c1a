//! The arithmetic of the audit, and what a solution names.

use super::{Action, Ground, Proposal, Scores, Touched, Verdict, audit, covers};
use serde_json::json;

fn proposal(tasks: usize, files: &[&str]) -> Proposal {
    Proposal {
        approach: "so".to_owned(),
        tasks: (0..tasks)
            .map(|at| json!({ "id": format!("T{at}") }))
            .collect(),
        files: (files.iter())
            .map(|path| Touched {
                path: (*path).to_owned(),
                action: Action::Modify,
            })
            .collect(),
        ..Proposal::default()
    }
}

fn changed(paths: &[&str]) -> Ground {
    Ground {
        changed: Some(paths.iter().map(|path| (*path).to_owned()).collect()),
        missing: Vec::new(),
    }
}

/// S19: the values of the three dimensions, the total and the verdict.
#[test]
fn s19_the_arithmetic_of_the_audit() {
    let many: Vec<String> = (0..9).map(|at| format!("f{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let missing = |count: usize, ground: Ground| Ground {
        missing: vec!["x".to_owned(); count],
        ..ground
    };
    let cases = [
        (
            proposal(1, &["a"]),
            changed(&["a"]),
            [100, 90, 85],
            93,
            Verdict::Approved,
        ),
        (
            proposal(1, &["a"]),
            Ground::default(),
            [70, 90, 85],
            81,
            Verdict::Approved,
        ),
        (
            proposal(0, &["a"]),
            Ground::default(),
            [70, 90, 30],
            64,
            Verdict::Concerns,
        ),
        (
            proposal(1, &["a"]),
            changed(&["a", "b", "c"]),
            [70, 90, 85],
            81,
            Verdict::Approved,
        ),
        (
            proposal(11, &["a"]),
            changed(&["a"]),
            [100, 50, 85],
            81,
            Verdict::Approved,
        ),
        (
            proposal(11, &["a"]),
            changed(&many),
            [40, 50, 85],
            57,
            Verdict::Rejected,
        ),
        (
            proposal(1, &["a"]),
            missing(1, changed(&["a"])),
            [90, 90, 85],
            89,
            Verdict::Approved,
        ),
        // The second floor lifts nothing that lies below it.
        (
            proposal(1, &["a"]),
            missing(1, changed(&many)),
            [40, 90, 85],
            69,
            Verdict::Concerns,
        ),
        (
            proposal(1, &["a", "b"]),
            missing(1, changed(&["a"])),
            [100, 90, 85],
            93,
            Verdict::Approved,
        ),
    ];
    for (at, (proposal, ground, values, total, verdict)) in cases.into_iter().enumerate() {
        let found = audit(&proposal, &ground);
        let scores = [
            found.feasibility.score,
            found.risk.score,
            found.completeness.score,
        ];
        assert_eq!(
            (scores, found.total_score, found.verdict),
            (values, total, verdict),
            "case {at}"
        );
    }
}

#[test]
fn the_limits_of_the_verdicts() {
    let of = |value| {
        Scores {
            feasibility: value,
            risk: value,
            completeness: value,
        }
        .verdict()
    };
    assert_eq!(
        [59, 60, 79, 80].map(of),
        [
            Verdict::Rejected,
            Verdict::Concerns,
            Verdict::Concerns,
            Verdict::Approved
        ]
    );
}

#[test]
fn a_folder_covers_what_is_in_it() {
    assert!(covers("src/", "src/a/b.rs") && covers("a", "a"));
    assert!(!covers("src", "src/a") && !covers("src/a/", "src/ab"));
}

#[test]
fn tasks_of_two_lists_get_ids_apart() {
    let mut one = proposal(2, &[]);
    one.tasks[1]["depends_on"] = json!(["T0", { "id": "T0", "optional": true }]);
    let lines = one.lines("lx-1.");
    assert!(
        lines[1].contains("\"lx-1.T1\"") && lines[1].matches("\"lx-1.T0\"").count() == 2,
        "{lines:?}"
    );
}
