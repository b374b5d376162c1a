//! Results as values: the blocks that peers end their texts with decide, complete, and are refused.

use crate::support::tasks::{DEMO, building, refuses, statuses, task, text, with};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

fn gate(id: &str, on: &[&str], gate: Value) -> Value {
    with(id, on, json!({ "kind": "decision", "gate": gate }))
}

/// A session in the build with A, which is taken, and a file of this content beside it.
fn taken(result: &str) -> Sandbox {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    s.loopx(&["take", "A"]).ok();
    s.write("result.md", result);
    s
}

/// A session in the build whose work A is done and whose gate is open, and a text for its verdict.
fn judged(of_gate: Value, more: &[Value], verdict: &str) -> Sandbox {
    let mend = task("mend", &[], Some(&["true"]));
    let mut rules = of_gate;
    rules["repair"] = json!([mend]);
    let mut list = vec![
        task("A", &[], Some(&["true"])),
        gate("GATE", &["A"], rules),
        task("B", &["GATE"], Some(&["true"])),
    ];
    list.extend_from_slice(more);
    let s = building(&list);
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "done"]).ok();
    s.write("verdict.md", verdict);
    s
}

fn decide(s: &Sandbox, args: &[&str]) -> Value {
    let call = s.call(LOOPX).args(&["--json", "task", "decide", "GATE"]);
    call.args(args).run().json()
}

const FROM: &[&str] = &["--from", "verdict.md"];

#[test]
fn a_verdict_that_names_goals_that_are_not_met_is_a_fix_and_the_repair_names_them() {
    let verdict = "---VERDICT---\nSTATUS: proceed\nUNMET=[G1, G2]\nREASON: audited\n---END---\n";
    let mut close = task("close", &[], Some(&["true"]));
    close["title"] = json!("Close {unmet}");
    let judge = gate("GATE", &["A"], json!({ "repair": [close] }));
    let s = building(&[task("A", &[], Some(&["true"])), judge]);
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "done"]).ok();
    s.write("verdict.md", verdict);
    let out = decide(&s, FROM);
    assert_eq!(out["verdict"], "fix", "{out:#}");
    assert_eq!(out["unmet"], json!(["G1", "G2"]));
    assert!(
        out["why"].to_string().contains("not met: G1, G2"),
        "{out:#}"
    );
    let log = s.loopx(&["log", "--decisions"]).ok();
    assert!(log.contains("not met: G1, G2"), "{log}");
    let card = s.loopx(&["take"]).ok();
    assert!(card.contains("Close G1, G2"), "{card}");
}

#[test]
fn a_gate_of_goals_holds_while_a_goal_that_does_not_wait_for_it_is_open() {
    let goal =
        |id: &str, on: &[&str]| with(id, on, json!({ "kind": "goal", "done_when": "it is fast" }));
    let goals = [goal("FAST", &[]), goal("LATER", &["B"])];
    let s = judged(json!({ "goals": true }), &goals, "");
    let out = decide(&s, &["--verdict", "proceed"]);
    assert_eq!(out["verdict"], "fix", "{out:#}");
    assert!(out["why"].to_string().contains("not met: FAST"), "{out:#}");
    s.loopx(&["take", "GATE.1.mend"]).ok();
    s.loopx(&["task", "done"]).ok();
    s.loopx(&[
        "task",
        "decide",
        "FAST",
        "--verdict",
        "proceed",
        "--evidence",
        "code.txt",
    ])
    .ok();
    s.loopx(&["task", "decide", "GATE.1", "--verdict", "proceed"])
        .ok();
    assert_eq!(statuses(&s)["GATE.1"], "completed");
}

#[test]
fn the_block_of_a_worker_completes_its_task_whole_or_in_part() {
    let s = taken(
        "text\n\nTASK_COMPLETE:\n- task_id: a\n- status: success\n- artifact: code.txt\n- summary: all of it\n",
    );
    let out = s
        .loopx(&["--json", "task", "done", "--from", "result.md"])
        .json();
    assert_eq!(out["completion"]["summary"], "all of it", "{out:#}");
    assert_eq!(out["completion"]["partial"], Value::Null);

    let s = taken("TASK_COMPLETE\ntask_id: A\nstatus: partial\nsummary: half");
    let out = s
        .loopx(&["--json", "task", "done", "--from", "result.md"])
        .json();
    assert_eq!(out["completion"]["partial"], "half", "{out:#}");
    // A text of any length is kept as a summary is.
    let long = "x".repeat(100_000);
    let result =
        format!("TASK_COMPLETE\ntask_id: A\nstatus: partial\nartifact: none\nsummary: {long}");
    let s = taken(&result);
    let out = s
        .loopx(&["--json", "task", "done", "--from", "result.md"])
        .json();
    assert_eq!(text(&out["completion"]["partial"]).len(), 500, "{out:#}");
    // Whoever types it knows better.
    let s = taken("TASK_COMPLETE\ntask_id: A\nstatus: success\nsummary: half");
    let args = [
        "--json",
        "task",
        "done",
        "--from",
        "result.md",
        "--summary",
        "whole",
    ];
    assert_eq!(s.loopx(&args).json()["completion"]["summary"], "whole");
}

/// Team C7.
#[test]
fn a_text_without_a_block_completes_in_part_with_a_warning() {
    for result in ["all is done", "STATUS: success"] {
        let s = taken(result);
        let out = s.loopx(&["task", "done", "--from", "result.md"]);
        assert_eq!(out.code, Some(0), "{result}: {}", out.stderr);
        assert!(
            out.stderr.contains("warning: the text has no"),
            "{result}: {}",
            out.stderr
        );
        let shown = s.loopx(&["--json", "task", "show", "A"]).json();
        assert!(
            shown.to_string().contains("no TASK_COMPLETE block"),
            "{shown:#}"
        );
    }
}

#[test]
fn a_result_of_another_task_or_of_a_failure_or_of_a_file_that_is_not_there_completes_nothing() {
    for (result, exit, code) in [
        ("", 2, "result_invalid"),
        (
            "TASK_COMPLETE\ntask_id: A\nstatus: fine",
            2,
            "result_invalid",
        ),
        ("TASK_COMPLETE\nstatus: success", 2, "result_invalid"),
        (
            "TASK_COMPLETE\ntask_id: A\nstatus: failed\n\nTASK_COMPLETE\ntask_id: A\nstatus: failed",
            2,
            "result_invalid",
        ),
        (
            "TASK_COMPLETE\ntask_id: B\nstatus: success",
            2,
            "result_invalid",
        ),
        (
            "TASK_COMPLETE\ntask_id: A\nstatus: failed\nsummary: no network",
            1,
            "result_invalid",
        ),
        (
            "TASK_COMPLETE\ntask_id: A\nstatus: success\nartifact: gone.md",
            1,
            "task_output_missing",
        ),
    ] {
        let s = taken(result);
        refuses(&s, exit, code, &["task", "done", "--from", "result.md"]);
        assert_eq!(statuses(&s)["A"], "claimed", "{result}");
    }
}

#[test]
fn the_view_of_coverage_is_left_out_where_the_request_is_no_list() {
    let s = judged(json!({ "views": ["product", "coverage"] }), &[], "");
    // What leads on asks for no more.
    let listed = s.loopx(&["--json", "task", "show", "GATE"]).json();
    assert!(!listed.to_string().contains("coverage=N"), "{listed:#}");
    let out = decide(&s, &["--rating", "product=4"]);
    assert_eq!(out["verdict"], "proceed", "{out:#}");
    assert!(
        out["notes"].to_string().contains("nobody rated coverage"),
        "{out:#}"
    );
    // Any other view is asked.
    let s = judged(json!({ "views": ["product", "risk"] }), &[], "");
    let args = ["task", "decide", "GATE", "--rating", "product=4"];
    refuses(&s, 2, "decision_values", &args);
}

#[test]
fn what_a_discussion_recommends_is_obeyed_or_cannot_be_read() {
    for (word, verdict) in [
        ("revise", "fix"),
        ("escalate", "escalate"),
        ("proceed-with-caution", "proceed"),
        ("maybe", "fix"),
    ] {
        let said = format!(
            "DISCUSS_RESULT\n- verdict: consensus_reached\n- average_rating: 3.9/5\n- recommendation: {word}\n"
        );
        let s = judged(json!({ "views": ["product"] }), &[], &said);
        let out = decide(&s, FROM);
        assert_eq!(out["verdict"], verdict, "{word}: {out:#}");
        assert_eq!(out["parse_failed"], word == "maybe", "{word}");
    }
}

/// The record of a discussion is an output of its gate: the gate is not decided without it, and it is stored with it.
#[test]
fn a_decision_leaves_its_outputs_like_any_task() {
    let mut judge = gate("GATE", &["A"], json!({ "views": ["product"] }));
    judge["outputs"] = json!(["tasks/GATE/record.md"]);
    let s = building(&[task("A", &[], Some(&["true"])), judge]);
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "done"]).ok();
    let args = ["task", "decide", "GATE", "--rating", "product=1"];
    let error = refuses(&s, 1, "task_output_missing", &args);
    assert!(
        text(&error["help"]).contains("task decide GATE"),
        "{error:#}"
    );
    let folder = format!(".loopx/{DEMO}/tasks");
    s.write(format!("{folder}/GATE/record.md"), "we spoke\n");
    let out = decide(&s, &["--rating", "product=1"]);
    assert_eq!(out["verdict"], "fix", "{out:#}");
    assert_eq!(s.loopx(&["cat", "tasks/GATE/record.md"]).ok(), "we spoke\n");
    // The next one has a record of its own.
    s.loopx(&["take", "GATE.1.A"]).ok();
    s.loopx(&["task", "done"]).ok();
    let args = ["task", "decide", "GATE.1", "--rating", "product=5"];
    refuses(&s, 1, "task_output_missing", &args);
    s.write(format!("{folder}/GATE.1/record.md"), "again\n");
    s.write(format!("{folder}/GATE.1/votes.md"), "nobody asked for it\n");
    s.loopx(&args).ok();
    let stored = s.loopx(&["cat", "tasks/GATE.1/votes.md"]).ok();
    assert_eq!(stored, "nobody asked for it\n");
}

#[test]
fn low_confidence_and_what_was_weakest_stand_in_the_log_of_decisions() {
    let verdict = "---VERDICT---\nSTATUS: proceed\nREASON: r\nCONFIDENCE: low\nWEAKEST_DIMENSION: tests\n---END---\n";
    let s = judged(json!({}), &[], verdict);
    decide(&s, FROM);
    let log = s.loopx(&["log", "--decisions"]).ok();
    assert!(log.contains("(low confidence)"), "{log}");
    let row = s.loopx(&["--json", "log", "--decisions"]).json()["decisions"][0].clone();
    assert_eq!(row["confidence"], "low", "{row:#}");
    assert_eq!(row["weakest"], "tests", "{row:#}");
}

#[test]
fn the_conditions_of_a_review_go_on_to_what_comes_after() {
    for (verdict, args) in [
        (
            "",
            &[
                "--verdict",
                "proceed",
                "--condition",
                "no lock in src/a.rs:3",
            ][..],
        ),
        (
            "---VERDICT---\nSTATUS: conditional\nREASON: no lock in src/a.rs:3\n---END---",
            FROM,
        ),
        (
            "---VERDICT---\nSTATUS: proceed\nCONDITIONS: no lock in src/a.rs:3\n---END---",
            FROM,
        ),
    ] {
        let s = judged(json!({}), &[], verdict);
        let out = decide(&s, args);
        assert_eq!(out["verdict"], "proceed", "{out:#}");
        assert!(
            out["notes"].to_string().contains("no lock in src/a.rs:3"),
            "{out:#}"
        );
        s.loopx(&["take", "B"]).ok();
        let card = s.loopx(&["task", "show", "B", "--full"]).ok();
        assert!(
            card.contains("GATE: caveat: condition: no lock in src/a.rs:3"),
            "{card}"
        );
    }
    // A condition that nobody names is none.
    let s = judged(
        json!({}),
        &[],
        "---VERDICT---\nSTATUS: conditional\n---END---",
    );
    assert_eq!(decide(&s, FROM)["parse_failed"], true);
    let s = judged(
        json!({}),
        &[],
        "---VERDICT---\nSTATUS: block\nREASON: data is lost\n---END---",
    );
    assert_eq!(decide(&s, FROM)["verdict"], "fix");
}

/// Reference 4.13: three equal sets of failures, and another round shows nothing new.
#[test]
fn three_rounds_with_the_same_score_for_the_same_reason_wait_for_a_person() {
    let rubric = json!({ "pass": 95, "dimensions": [{ "name": "pass-rate", "weight": 1 }] });
    let round = |s: &Sandbox, gate: &str, why: &str| {
        let args = [
            "--json",
            "task",
            "decide",
            gate,
            "--scores",
            "pass-rate=50",
            "--reason",
            why,
        ];
        let out = s.loopx(&args).json();
        if out["verdict"] == "fix" {
            s.loopx(&["take"]).ok();
            s.loopx(&["task", "done"]).ok();
        }
        out
    };
    let s = judged(json!({ "cap": 10, "rubric": rubric }), &[], "");
    let whys = [
        ("GATE", "login fails"),
        ("GATE.1", "logout fails"),
        ("GATE.2", "logout fails"),
    ];
    for (gate, why) in whys {
        assert_eq!(round(&s, gate, why)["verdict"], "fix", "{gate}");
    }
    let out = round(&s, "GATE.3", "logout fails");
    assert_eq!(out["verdict"], "escalate", "{out:#}");
    assert!(out["why"].to_string().contains("3 rounds"), "{out:#}");
}
