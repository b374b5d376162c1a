//! `spec coverage`: scenario, slice and evidence of a delta.

use crate::support::Sandbox;
use crate::support::changes::{adding, signing_in};
use crate::support::tasks::{DEMO, planning, take, task, with};
use serde_json::json;

#[test]
fn scenarios_without_proof_are_told_from_those_with_it() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Apples"));
    let found = s.document(1, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["scenario"], "demo/Apples/Asked");
    assert_eq!(found["scenarios"][0]["proof"], "missing");
    assert_eq!(found["complete"], false);
    let slices = s.read(".loopx/one/change/slices.json");
    s.edit(
        "one",
        "change/slices.json",
        &slices.replace("Apples/Asked", "Apples/Other"),
    );
    // Edits count before they are saved.
    let found = s.document(1, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["proof"], "unserved");
    s.loopx(&["spec", "coverage"])
        .fails_with(1)
        .says("demo/Apples/Asked");
}

#[test]
fn evidence_of_the_reviewed_code_is_proof_and_nothing_is_written() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in("The system SHALL ask for a key."));
    s.finish("one");
    let before = s.git(&["for-each-ref"]).ok();
    let found = s.document(0, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["slices"][0]["slice"], "VS-1");
    assert_eq!(found["scenarios"][0]["proof"], "passed");
    assert_eq!(found["complete"], true);
    // What comes after the review changes nothing of what was reviewed.
    s.commit_file("src/demo.txt", "later\n", "Go on").ok();
    s.document(0, &["spec", "coverage"]);
    s.git(&["reset", "--quiet", "--hard", "HEAD^"]).ok();
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
}

#[test]
fn evidence_of_other_code_is_stale() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Apples"));
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    s.loopx(&["approve", "--to", "build"]).ok();
    s.loopx(&["build"]).ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let found = s.document(0, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["proof"], "passed");
    s.commit_file("src/demo.txt", "more\n", "Write it").ok();
    let found = s.document(1, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["proof"], "stale");
}

/// Tasks that a decision inserted serve scenarios like tasks that were planned.
#[test]
fn the_scenarios_of_inserted_tasks_are_covered_by_them() {
    let mut mend = task("mend", &[], Some(&["true"]));
    mend["scenarios"] = json!(["demo/Apples/Asked"]);
    let gate = json!({ "kind": "decision", "gate": { "repair": [mend] } });
    let s = planning(&[task("A", &[], Some(&["true"])), with("GATE", &["A"], gate)]);
    s.write(
        format!(".loopx/{DEMO}/change/spec-delta.md"),
        adding("Apples"),
    );
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    let found = s.document(1, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["proof"], "unserved");
    s.loopx(&["task", "decide", "GATE", "--verdict", "fix"])
        .ok();
    let found = s.document(1, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["slices"][0]["slice"], "GATE.1.mend");
    assert_eq!(found["scenarios"][0]["proof"], "missing");
    assert_eq!(take(&s), "GATE.1.mend");
    s.loopx(&["task", "done"]).ok();
    let found = s.document(0, &["spec", "coverage"]);
    assert_eq!(found["scenarios"][0]["proof"], "passed");
}
