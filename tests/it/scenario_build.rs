//! Stage scenarios, section E: build's lanes, the delegation ledger, and the completion audit, which
//! believes nothing but commands that were run.

use crate::support::drive::{Drive, ID, RECORD, SLICES};
use serde_json::{Value, json};

const APPROVE: [&str; 3] = ["approve", "--to", "review"];

/// Every lane and the regression run are demanded.
const STRICT: &str =
    "[build]\nlanes = [\"execution\", \"architect\", \"deslop\"]\nregression = true\n";

/// Proof of an item of the audit.
#[track_caller]
fn proof(d: &Drive, id: &str) -> Value {
    let status = d.status();
    let items = status["audit"].as_array().expect("an audit");
    let item = items.iter().find(|item| item["id"] == id);
    item.unwrap_or_else(|| panic!("no {id} in {items:#?}"))["proof"].clone()
}

/// A session in build, where this program verifies the slice.
fn building(program: &str) -> Drive {
    Drive::once(format!("{program:?}"), || {
        let d = Drive::planning();
        d.edit("change/slices.json", &SLICES.replace("true", program));
        d.review_plan();
        d.does(&["approve", "--to", "build"]);
        d.does(&["build"]);
        d
    })
}

#[test]
fn s_070_a_happy_build_is_ready_for_review() {
    let d = Drive::building();
    d.commit_code("an end\n");
    d.prepare_build();
    let built = d.does(&["build"]);
    assert_eq!(built["ready"], true);
    assert_eq!(built["next_action"], "git loopx approve --to review");
    let status = d.status();
    assert_eq!(status["rounds"]["build_iteration"], 1);
    assert_eq!(status["rounds"]["build_max"], 10);
    assert_eq!(status["blockers"], json!([]));
    assert_eq!(d.gate("review")["ready"], true);
    assert_eq!(d.gate("review")["authorized"], false);
    assert_eq!(status["next_action"], "git loopx approve --to review");
    d.does(&APPROVE);
    d.does(&["review"]);
    assert_eq!(d.stage(), "review");
}

#[test]
fn s_072_everything_wrong_at_once_is_listed_in_order() {
    let d = building("false");
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=failed"]);
    d.does(&["build", "--report", "architect=failed"]);
    d.does(&["build", "--report", "deslop=failed"]);
    d.blocked_run(&["run", "--task", "VS-1"]);
    d.blocked_run(&["run", "--kind", "regression", "--", "false"]);
    let expected = [
        "lane_incomplete_execution",
        "verification_failed",
        "architect_reject",
        "deslop_failed",
        "regression_failed",
    ];
    assert_eq!(d.blocked(&["build"]), expected);
    assert_eq!(d.status()["rounds"]["build_iteration"], 1);
    d.refuses(&APPROVE)
        .is("build_review_gate_blocked", &expected);
}

#[test]
fn s_072_a_command_that_cannot_be_started_is_recorded_as_no_evidence() {
    let d = building("./is-not-there");
    let out = d.blocked_run(&["run", "--task", "VS-1"]);
    assert_eq!(out["evidence"]["exit"], Value::Null);
    assert!(out["not_started"].is_string(), "{out:#}");
    assert_eq!(
        d.blocked(&["build"]),
        [
            "execution_record_partial",
            "lane_incomplete_execution",
            "verification_failed"
        ]
    );
}

#[test]
fn s_073_a_blocked_build_can_be_run_again() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=failed"]);
    assert_eq!(d.blocked(&["build"]), ["lane_incomplete_execution"]);
    d.finish_build();
    assert_eq!(d.status()["rounds"]["build_iteration"], 2);
    d.does(&APPROVE);
}

#[test]
fn s_073_ten_iterations_and_then_a_person_decides() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    for round in 1..=10 {
        d.commit_code(&format!("{round}\n"));
        assert_eq!(d.blocked(&["build"]), ["lane_incomplete_execution"]);
    }
    d.commit_code("an end\n");
    assert_eq!(d.status()["rounds"]["build_iteration"], 10);
    let refusal = d
        .refuses(&["build"])
        .is("build_iterations_exhausted", &["lane_incomplete_execution"]);
    assert_eq!(
        refusal.help,
        "git loopx build --more 5 --reason 'it is not finished'"
    );
    d.does(&["build", "--more", "5", "--reason", "nearly there"]);
    d.finish_build();
    assert_eq!(d.status()["rounds"]["build_iteration"], 11);
}

#[test]
fn s_075_one_blocker_beside_a_complete_record_holds_the_gate() {
    let d = Drive::built();
    d.does(&["build", "--delegate", "x=active"]);
    d.refuses(&APPROVE).is(
        "build_review_gate_blocked",
        &["delegation_active_x", "completion_audit_blocked"],
    );
    // An incomplete record has a name of its own.
    let d = Drive::built();
    d.change("execution-record.md", "The file holds the time.", "");
    d.refuses(&APPROVE)
        .is("review_gate_blocked", &["execution_record_partial"]);
    let d = Drive::built();
    d.remove("execution-record.md");
    d.refuses(&APPROVE)
        .is("review_gate_blocked", &["execution_record_missing"]);
}

#[test]
fn s_076_cleaning_up_can_be_left_out() {
    let d = Drive::building_under(STRICT);
    d.prepare_build();
    d.does(&["build", "--report", "architect=complete"]);
    assert_eq!(
        d.blocked(&["build"]),
        ["deslop_pending", "regression_pending"]
    );
    let built = d.does(&["build", "--no-deslop"]);
    assert_eq!(built["ready"], true);
    d.does(&APPROVE);
}

#[test]
fn s_076_policy_demands_its_lanes_and_a_regression_run() {
    let d = Drive::building_under(STRICT);
    d.edit("execution-record.md", RECORD);
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(
        d.blocked(&["build"]),
        [
            "lane_incomplete_execution",
            "architect_pending",
            "deslop_pending",
            "regression_pending"
        ]
    );
    for lane in ["execution", "architect", "deslop"] {
        d.does(&["build", "--report", &format!("{lane}=complete")]);
    }
    d.does(&["run", "--kind", "regression", "--", "true"]);
    assert_eq!(d.does(&["build"])["ready"], true);
}

#[test]
fn s_078_an_unknown_delegation_status_is_pending_and_blocks() {
    let d = Drive::building();
    d.prepare_build();
    d.does(&[
        "build",
        "--delegate",
        "worker-a=in_progress",
        "--role",
        "tester",
    ]);
    assert_eq!(
        d.state()["build"]["delegations"],
        json!([{
            "id": "worker-a",
            "role": "tester",
            "status": "pending",
            "blocking": true,
            "summary": ""
        }])
    );
    assert_eq!(
        d.blocked(&["build"]),
        ["delegation_active_worker-a", "completion_audit_blocked"]
    );
}

#[test]
fn s_079_a_delegation_stays_open_until_it_is_closed() {
    for word in ["complete", "skipped"] {
        let d = Drive::building();
        d.prepare_build();
        d.does(&["build", "--delegate", "worker-a=active"]);
        let open = ["delegation_active_worker-a", "completion_audit_blocked"];
        assert_eq!(d.blocked(&["build"]), open);
        // The second iteration does not mention it.
        assert_eq!(d.blocked(&["build"]), open);
        for status in ["failed", "blocked"] {
            d.does(&["build", "--delegate", &format!("worker-a={status}")]);
            assert_eq!(d.blocked(&["build"]), open, "{status}");
        }
        d.does(&["build", "--delegate", &format!("worker-a={word}")]);
        assert_eq!(d.does(&["build"])["ready"], true);
    }
}

#[test]
fn s_079_a_delegation_that_does_not_block_holds_nothing() {
    let d = Drive::building();
    d.prepare_build();
    d.does(&["build", "--delegate", "worker-a=active", "--not-blocking"]);
    assert_eq!(d.does(&["build"])["ready"], true);
}

#[test]
fn s_081_nothing_verified_blocks_the_audit() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=complete"]);
    assert_eq!(d.blocked(&["build"]), ["completion_audit_blocked"]);
    assert_eq!(proof(&d, "VS-1"), "missing");
    assert_eq!(proof(&d, "verification"), "missing");
    let message = d.status()["blockers"][0]["message"].clone();
    let message = message.as_str().expect("a message");
    assert!(
        message.starts_with("checks without evidence for the present code: VS-1"),
        "{message}"
    );
}

#[test]
fn s_082_a_slice_needs_its_own_evidence() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=complete"]);
    // Something passed: that is not its verification, and nothing else is run under its name.
    d.does(&["run", "--", "echo", "fine"]);
    d.fails(2, &["run", "--task", "VS-1", "--", "echo", "fine"])
        .is("check_has_command", &[]);
    assert_eq!(d.blocked(&["build"]), ["completion_audit_blocked"]);
    assert_eq!(proof(&d, "VS-1"), "missing");
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(proof(&d, "VS-1"), "passed");
    assert_eq!(d.does(&["build"])["ready"], true);
    d.fails(4, &["run", "--task", "VS-2"])
        .is("slice_unknown", &[]);
}

#[test]
fn s_082_a_slice_can_be_waived_by_a_person_with_a_reason() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=complete"]);
    d.fails(2, &["build", "--waive", "VS-1"])
        .is("reason_required", &[]);
    d.fails(4, &["build", "--waive", "VS-9", "--reason", "x"])
        .is("slice_unknown", &[]);
    d.does(&["build", "--waive", "VS-1", "--reason", "seen by eye"]);
    assert_eq!(proof(&d, "VS-1"), "waived");
    assert_eq!(d.does(&["build"])["ready"], true);
    let waiver = d.state()["build"]["waivers"]["VS-1"].take();
    assert_eq!(waiver["reason"], "seen by eye");
    assert_eq!(waiver["by"]["name"], "Ada Author");
}

#[test]
fn s_084_documents_that_are_gone_stop_the_build() {
    for (artifact, code) in [
        ("spec.md", "build_requires_approved_plan_artifacts"),
        (
            "change/spec-delta.md",
            "build_requires_approved_plan_artifacts",
        ),
        ("plan.md", "build_requires_workflow_plan_artifacts"),
        ("test-plan.md", "build_requires_workflow_plan_artifacts"),
    ] {
        let d = Drive::planned();
        d.does(&["approve", "--to", "build"]);
        d.remove(artifact);
        let refusal = d.refuses(&["build"]).is(code, &[]).names(artifact);
        assert_eq!(
            refusal.help,
            format!("git loopx checkout --force {artifact}")
        );
        d.does(&["checkout", "--force", artifact]);
        d.does(&["build"]);
    }
}

#[test]
fn s_085_an_unknown_word_of_a_lane_is_an_error() {
    let d = Drive::building();
    for report in [
        "execution=partial",
        "execution=Complete",
        "testing=complete",
    ] {
        d.fails(2, &["build", "--report", report])
            .is("word_unknown", &[]);
    }
    d.fails(2, &["build", "--report", "execution"])
        .is("pair_expected", &[]);
    assert_eq!(d.state()["build"]["lanes"], json!({}));
}

#[test]
fn s_087_evidence_is_checked_and_not_believed() {
    let d = Drive::building();
    d.commit_code("an end\n");
    d.edit(
        "execution-record.md",
        &format!(
            "{}\n## Execution evidence\n\n- cargo test: 120 passed, exit 0\n\n## Verification evidence\n",
            RECORD.replace(
                "completion_claim: full",
                "completion_claim: full\nevidence_manifest: [cargo-test-ok]"
            )
        ),
    );
    d.does(&["build", "--report", "execution=complete"]);
    assert_eq!(d.blocked(&["build"]), ["completion_audit_blocked"]);
    d.refuses(&APPROVE)
        .is("build_review_gate_blocked", &["completion_audit_blocked"]);
}

#[test]
fn s_087_evidence_for_other_code_is_stale() {
    let d = Drive::built();
    d.commit_code("another end\n");
    assert_eq!(proof(&d, "VS-1"), "stale");
    d.refuses(&APPROVE)
        .is("build_review_gate_blocked", &["completion_audit_blocked"]);
    // The same content, uncommitted or committed or back again, keeps its evidence.
    d.commit_code("an end\n");
    assert_eq!(proof(&d, "VS-1"), "passed");
    d.does(&APPROVE);
}

#[test]
fn s_087_a_command_that_changes_the_code_proves_nothing_of_it() {
    let d = Drive::planning();
    let slices = SLICES.replace(
        "[\"true\"]",
        "[\"sh\", \"-c\", \"echo more >>src/demo.txt\"]",
    );
    d.edit("change/slices.json", &slices);
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
    d.does(&["build"]);
    let ran = d.does(&["run", "--task", "VS-1"]);
    assert_eq!(ran["evidence"]["tree_kept"], false);
    assert_eq!(proof(&d, "VS-1"), "stale");
    // Nor of the code that it began with, once that is back: what passed was the changed one.
    d.git(&["restore", "src/demo.txt"]).ok();
    assert_eq!(proof(&d, "VS-1"), "stale");
    assert_eq!(proof(&d, "verification"), "stale");
}

#[test]
fn s_088_the_changed_files_are_those_of_every_iteration() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    d.commit_file("src/a.txt", "a\n", "Add a").ok();
    assert_eq!(d.blocked(&["build"]), ["lane_incomplete_execution"]);
    d.commit_file("src/b.txt", "b\n", "Add b").ok();
    d.finish_build();
    d.does(&APPROVE);
    let reviewed = d.does(&["review"]);
    let base = d.state()["base"].as_str().expect("a base").to_owned();
    let files = d.git(&["diff", "--name-only", &base, "HEAD"]).ok();
    assert_eq!(files, "src/a.txt\nsrc/b.txt\n");
    assert_eq!(reviewed["files"], json!(["src/a.txt", "src/b.txt"]));
    assert_eq!(reviewed["commits"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_verifies_a_task_runs_at_the_top_wherever_it_is_typed() {
    let d = building("sh\",\"check.sh");
    d.script("check.sh", "#!/bin/sh\nexit 1\n");
    let sub = format!(".loopx/{ID}");
    d.script(format!("{sub}/check.sh"), "#!/bin/sh\nexit 0\n");
    let run = ["run", "--task", "VS-1"];
    d.loopx_in(&sub, &run).fails_with(1);
    assert_ne!(
        d.loopx_in(&sub, &["run", "--", "sh", "check.sh"]).code,
        Some(1)
    );
    let evidence = d.state()["evidence"].clone();
    let exits: Vec<&Value> = evidence
        .as_array()
        .expect("evidence")
        .iter()
        .map(|one| &one["exit"])
        .collect();
    assert_eq!(exits, [&Value::from(1), &Value::from(0)], "{evidence:#}");
}
