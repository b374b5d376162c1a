//! Stage scenarios, section C: seven transitions, each approval used once, by a named person.

use crate::support::LOOPX;
use crate::support::drive::{Drive, RITA};

const REQUIRED: &str = "approved_transition_required";

#[test]
fn s_031_an_unknown_transition_is_refused() {
    for (d, to) in [
        (Drive::planned(), "review"),
        (Drive::planned(), "clarify"),
        (Drive::planned(), "plan"),
        (Drive::clarified(), "build"),
        (Drive::built(), "done"),
        (Drive::done(), "review"),
    ] {
        let stage = d.stage();
        d.refuses(&["approve", "--to", to])
            .is("invalid_transition", &[])
            .names(&format!("{stage}->{to}"));
    }
    // A word that is no stage is a usage error, and a document like every other failure.
    let d = Drive::planned();
    d.fails(2, &["approve", "--to", "shipped"])
        .is("command_line_invalid", &[])
        .names("`shipped`");
    d.loopx(&["approve", "--to"]).fails_with(2);
}

#[test]
fn s_031_the_stage_is_checked_before_the_transition() {
    let d = Drive::planned();
    d.refuses(&["approve", "--from", "clarify", "--to", "plan"])
        .is("approval_from_stage_mismatch", &[])
        .names("stage plan");
    d.refuses(&["approve", "--from", "clarify", "--to", "review"])
        .is("approval_from_stage_mismatch", &[]);
}

#[test]
fn s_032_an_approval_is_used_once() {
    let d = Drive::planned();
    d.refuses(&["plan"])
        .is(REQUIRED, &[])
        .names("clarify->plan");
    assert_eq!(d.status()["rounds"]["plan_iteration"], 1);
    assert_eq!(d.state()["approvals"]["plan"]["armed"], false);
}

#[test]
fn s_034_review_needs_its_approval() {
    let d = Drive::built();
    d.refuses(&["review"])
        .is(REQUIRED, &[REQUIRED])
        .names("build->review");
    d.refuses(&["review", "--verdict", "approve"])
        .is(REQUIRED, &[])
        .names("build->review");
    assert_eq!(d.stage(), "build");
}

#[test]
fn s_035_going_back_resets_what_lies_downstream() {
    let d = Drive::reviewing();
    d.send_back("plan");
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    assert_eq!(d.stage(), "plan");
    assert_eq!(d.approval("plan"), "approved");
    for key in ["build", "review", "complete"] {
        assert_eq!(d.approval(key), "not-requested", "{key}");
    }
    // What was reviewed before counts for nothing in the new run.
    d.refuses(&["approve", "--to", "build"]).is(
        "plan_review_gate_blocked",
        &["architect_review_incomplete", "critic_verdict_none"],
    );
    // The earlier run's documents and reviews are kept.
    assert_eq!(
        d.state()["plan"]["reviews"].as_array().map(Vec::len),
        Some(2)
    );
    assert!(d.artifact("plan.md").contains("One small step."));
}

#[test]
fn s_037_a_change_during_a_command_survives_it() {
    let d = Drive::building();
    // The run is in flight when another command changes the same session.
    let inner = format!("'{LOOPX}' build --delegate worker-a=active --reason meanwhile");
    d.does(&["run", "--kind", "test", "--", "sh", "-c", &inner]);
    assert_eq!(d.events()[d.events().len() - 2..], ["delegated", "ran"]);
    let state = d.state();
    assert_eq!(state["build"]["delegations"][0]["id"], "worker-a");
    assert_eq!(state["evidence"].as_array().map(Vec::len), Some(1));
    assert_eq!(state["conflicts"].as_array().map(Vec::len), Some(0));
}

#[test]
fn s_037_a_command_whose_ground_was_taken_away_is_judged_anew() {
    let d = Drive::building();
    // While the command runs, the session ends: what was decided on the old state is not written.
    let inner = format!("'{LOOPX}' abandon --reason meanwhile");
    let out = d.loopx(&["--json", "run", "--", "sh", "-c", &inner]);
    let out = out.fails_with(1);
    assert!(out.stderr.contains("session_abandoned"), "{out}");
    assert_eq!(d.events().last().map(String::as_str), Some("abandoned"));
}

#[test]
fn s_038_an_approval_names_who_when_why_and_what() {
    let d = Drive::clarified();
    let out = d.by(
        RITA,
        &["approve", "--to", "plan", "--reason", "it is clear to me"],
    );
    out.ok();
    let log = d.does(&["log"]);
    let operation = log["operations"].as_array().and_then(|all| all.last());
    let operation = operation.expect("an operation");
    assert_eq!(operation["by"]["name"], RITA.0);
    assert_eq!(operation["by"]["email"], RITA.1);
    assert_eq!(operation["reason"], "it is clear to me");
    assert!(
        operation["at"]
            .as_str()
            .is_some_and(|at| at.starts_with("2026-01-01T"))
    );
    let content = operation["body"]["content"].as_str().expect("a tree");
    let files = d.git(&["ls-tree", "-r", "--name-only", content]).ok();
    assert_eq!(files, "intent.md\nspec.md\n");
    // git's own log answers the same questions.
    let trailers = "%an%n%s%n%b";
    let text = d
        .git(&["log", "-1", &format!("--format={trailers}"), "loopx"])
        .ok();
    for line in [
        "Rita Reviewer",
        "demo: approve clarify -> plan",
        "it is clear to me",
        "Loopx-Transition: clarify->plan",
        &format!("Loopx-Content: {content}"),
    ] {
        assert!(text.contains(line), "expected `{line}` in\n{text}");
    }
    d.loopx(&["log"])
        .says("Rita Reviewer")
        .says("it is clear to me")
        .ok();
}

#[test]
fn s_038_policy_may_bar_an_agent_from_approving() {
    let d = Drive::clarified_under("[approve]\ndeny = [\"*bot*\"]\n");
    let bot = ("Build Bot", "build-bot@example.org");
    d.fails_as(1, |d| d.by(bot, &["--json", "approve", "--to", "plan"]))
        .is("approver_denied", &["approver_denied"])
        .names("Build Bot");
    assert_eq!(d.approval("plan"), "not-requested");
    d.does(&["approve", "--to", "plan"]);
}

#[test]
fn s_038_policy_may_ask_for_two_people() {
    let d = Drive::clarified_under("[approve]\nrequired = { \"clarify->plan\" = 2 }\n");
    d.does(&["approve", "--to", "plan"]);
    d.refuses(&["plan"])
        .is("approvals_missing", &["approvals_missing"])
        .names("1 of 2");
    // One person is one approval, however often it is given.
    d.fails(5, &["approve", "--to", "plan"])
        .is("approved_already", &[]);
    d.by(RITA, &["approve", "--to", "plan"]).ok();
    d.does(&["plan"]);
    assert_eq!(d.stage(), "plan");
}

#[test]
fn an_approval_opens_no_gate_that_closed_since() {
    // What the approval is about has not changed; what the gate looks at besides has.
    let d = Drive::built();
    d.does(&["approve", "--to", "review"]);
    d.does(&["build", "--delegate", "worker-a=active"]);
    let blockers = ["delegation_active_worker-a", "completion_audit_blocked"];
    d.refuses(&["review"])
        .is("build_review_gate_blocked", &blockers);
    assert_eq!(
        d.status()["next_action"],
        "git loopx build --delegate worker-a=complete"
    );
    d.does(&["build", "--delegate", "worker-a=complete"]);
    d.does(&["review"]);

    let d = Drive::planned();
    d.does(&["approve", "--to", "build"]);
    d.does(&[
        "plan",
        "--critic",
        "reject",
        "--finding",
        "on second thought",
    ]);
    d.refuses(&["build"])
        .is("plan_review_gate_blocked", &["critic_verdict_reject"]);

    let d = Drive::started();
    let spec = crate::support::drive::SPEC.replace("score: 0.1", "score: 0.2");
    d.edit("spec.md", &spec);
    d.does(&["approve", "--to", "plan"]);
    assert_eq!(d.blocked(&["clarify", "--deep"]).len(), 1);
    d.refuses(&["plan"]).is(
        "clarify_readiness_blocked",
        &["clarify_ambiguity_score_above_threshold"],
    );
}
