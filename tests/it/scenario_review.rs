//! Stage scenarios, section F: a verdict on base..head by a named person, and the ways back.

use crate::support::drive::{Drive, RECORD, RITA, codes};
use serde_json::{Value, json};

const REQUIRE: &str = "[review]\nindependence = \"require\"\n";
const DONE: [&str; 3] = ["approve", "--to", "done"];
const REQUIRED: &str = "approved_transition_required";

/// Outcome of the review, and where it sends the session.
#[track_caller]
fn outcome(d: &Drive) -> (String, Value) {
    let status = d.status();
    let judgement = &status["review"]["judgement"];
    let word = judgement["outcome"].as_str().expect("an outcome");
    (word.to_owned(), judgement["target"].clone())
}

#[test]
fn s_091_changes_are_asked_for_in_build() {
    let d = Drive::reviewing();
    d.send_back("build");
    assert_eq!(outcome(&d), ("request-changes".into(), json!("build")));
    assert_eq!(d.approval("build"), "requested");
    assert_eq!(d.approval("complete"), "not-requested");
    assert_eq!(d.status()["next_action"], "git loopx approve --to build");
    let gate = d.gate("rollback");
    assert_eq!(gate["transition"], "review->build");
    assert_eq!(gate["ready"], true);
    d.refuses(&DONE)
        .is("review_not_approved", &["review_verdict_request-changes"]);
    d.does(&["approve", "--to", "build"]);
    assert_eq!(d.status()["next_action"], "git loopx build --from-review");
    // The peer takes any letter case; here a word is exact or an error (design 4.5).
    d.fails_as(2, |d| {
        d.verdict_by(RITA, &["--verdict", "approve", "--target", "build"])
    })
    .is("target_without_changes", &[]);
}

#[test]
fn s_092_without_a_target_the_changes_belong_to_build() {
    let d = Drive::reviewing();
    d.verdict(&["--verdict", "request-changes"]);
    assert_eq!(outcome(&d), ("request-changes".into(), json!("build")));
}

#[test]
fn s_094_going_back_to_clarify_keeps_the_text_and_earns_the_score_again() {
    let d = Drive::reviewing();
    d.send_back("clarify");
    d.does(&["approve", "--to", "clarify"]);
    d.does(&["clarify"]);
    assert_eq!(d.stage(), "clarify");
    let spec = d.artifact("spec.md");
    for kept in ["A session that is left alone ends.", "current_round: 3"] {
        assert!(spec.contains(kept), "{spec}");
    }
    for earned_again in [
        "ambiguity_score: 1.0",
        "non_goals_resolved: false",
        "decision_boundaries_resolved: false",
        "pressure_pass_complete: false",
        "unresolved_ambiguity_count: 1",
    ] {
        assert!(spec.contains(earned_again), "{spec}");
    }
    assert_eq!(d.approval("plan"), "not-requested");
    d.refuses(&["plan"]).is(REQUIRED, &[REQUIRED]);
    assert_eq!(
        codes(&d.status()["blockers"]),
        [
            "unresolved_ambiguity",
            "clarify_ambiguity_score_above_threshold",
            "clarify_non_goals_unresolved",
            "clarify_decision_boundaries_unresolved",
            "clarify_pressure_pass_incomplete"
        ]
    );
}

#[test]
fn s_095_only_the_target_of_the_review_can_be_gone_back_to() {
    for (target, wrong) in [
        ("plan", ["build", "clarify"]),
        ("build", ["plan", "clarify"]),
        ("clarify", ["build", "plan"]),
    ] {
        let d = Drive::reviewing();
        d.send_back(target);
        for to in wrong {
            let code = format!("review_{to}_fix_not_requested");
            d.refuses(&["approve", "--to", to]).is(&code, &[&code]);
        }
        d.does(&["approve", "--to", target]);
    }
    // Neither can anything be gone back to before a verdict, nor after an approval.
    for d in [Drive::reviewing(), Drive::reviewed()] {
        let code = "review_build_fix_not_requested";
        d.refuses(&["approve", "--to", "build"]).is(code, &[code]);
    }
}

#[test]
fn s_095_going_behind_build_needs_a_reason() {
    let d = Drive::reviewing();
    for target in ["plan", "clarify"] {
        d.fails_as(1, |d| {
            d.verdict_by(RITA, &["--verdict", "request-changes", "--target", target])
        })
        .is("rollback_rationale_required", &[]);
    }
}

#[test]
fn s_097_rework_needs_the_report() {
    let d = Drive::reviewing();
    d.send_back("build");
    // The report alone is no approval.
    d.refuses(&["build", "--from-review"])
        .is(REQUIRED, &[REQUIRED])
        .names("review->build");
    d.does(&["approve", "--to", "build"]);
    d.refuses(&["build"])
        .is(REQUIRED, &[REQUIRED])
        .names("plan->build");
    assert_eq!(
        d.does(&["build", "--from-review"])["transition"],
        "review->build"
    );
    assert_eq!(d.stage(), "build");
    assert_eq!(d.state()["build"]["rework"], true);
}

#[test]
fn s_098_rework_takes_no_other_file_for_the_report() {
    let d = Drive::reviewing();
    d.send_back("build");
    d.does(&["approve", "--to", "build"]);
    let report = ".loopx/demo/review-report.md";
    d.refuses(&["build", "--from-review", "nowhere/review-report.md"])
        .is("build_from_review_artifact_missing", &[]);
    // A file of that name in a folder named like the session is not the report either.
    d.write(
        "tmp/demo/review-report.md",
        "# Review of demo\n\nall is well\n",
    );
    d.refuses(&["build", "--from-review", "tmp/demo/review-report.md"])
        .is("build_from_review_artifact_required", &[]);
    d.refuses(&["build", "--from-review", ".loopx/demo/spec.md"])
        .is("build_from_review_artifact_required", &[]);
    d.does(&["build", "--from-review", report]);
    assert_eq!(d.stage(), "build");
}

#[test]
fn s_100_independence_is_about_the_person() {
    let d = Drive::reviewing_under(REQUIRE);
    let approve = ["--verdict", "approve"];
    for who in [
        ("Ada Author", "ada@example.org"),
        ("ADA AUTHOR", "elsewhere@example.org"),
        ("Somebody Else", "Ada@Example.org"),
        ("Carl Committer", "carl@example.org"),
    ] {
        d.fails_as(1, |d| d.verdict_by(who, &approve))
            .is("reviewer_not_independent", &[]);
    }
    d.verdict(&approve);
    assert_eq!(d.status()["review"]["independent"], true);
    d.does(&DONE);
}

#[test]
fn s_100_aliases_and_co_authors_are_not_independent() {
    let d = Drive::building_under(REQUIRE);
    d.write(
        ".mailmap",
        "Ada Author <ada@example.org> <al@alias.example>\n",
    );
    d.git(&["add", ".mailmap"]).ok();
    let message = "Name people once\n\nCo-authored-by: Cora <cora@example.org>\n";
    d.git(&["commit", "--quiet", "-m", message]).ok();
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    for (who, role) in [
        (("Al", "al@alias.example"), "author of the range"),
        (("Cora", "cora@example.org"), "co-author of the range"),
    ] {
        d.fails_as(1, |d| d.verdict_by(who, &["--verdict", "approve"]))
            .is("reviewer_not_independent", &[])
            .names(role);
    }
}

#[test]
fn s_100_a_single_developer_can_work_and_every_view_says_so() {
    let d = Drive::reviewing();
    let reviewed = d.does(&["review", "--verdict", "approve"]);
    assert_eq!(reviewed["independent"], false);
    assert_eq!(d.status()["review"]["independent"], false);
    assert!(d.artifact("review-report.md").contains("- independent: no"));
    d.loopx(&["status"]).says("not independent: author").ok();
    d.does(&DONE);
}

#[test]
fn s_101_evidence_that_does_not_hold_sends_back_to_build() {
    let d = Drive::reviewing();
    d.change("execution-record.md", "The file holds the time.", "");
    // An approval is refused, not recorded as something else (first-minutes U1).
    let partial = "execution_record_partial";
    d.fails_as(1, |d| d.verdict_by(RITA, &["--verdict", "approve"]))
        .is(partial, &[partial]);
    d.verdict(&["--verdict", "request-changes", "--target", "build"]);
    assert_eq!(outcome(&d), ("request-changes".into(), json!("build")));
    d.refuses(&DONE)
        .is("review_not_approved", &["review_verdict_request-changes"]);
    d.does(&["approve", "--to", "build"]);
}

#[test]
fn s_103_the_scope_gate_has_a_closed_vocabulary() {
    let d = Drive::reviewed();
    let record = |planned: &str, implemented: &str, claim: &str| {
        RECORD
            .replace("planned_scope: []", &format!("planned_scope: [{planned}]"))
            .replace(
                "implemented_scope: []",
                &format!("implemented_scope: [{implemented}]"),
            )
            .replace(
                "completion_claim: full",
                &format!("completion_claim: {claim}"),
            )
    };
    for (text, blockers) in [
        (record("", "", "complete"), &[][..]),
        (record("", "", "workflow"), &[]),
        (record("", "", "all"), &[]),
        (record("", "", ""), &[]),
        (record("a", "b", "full"), &[]),
        (record("a, b", "b, a", "complete"), &[]),
        (
            record("a", "b", "complete"),
            &[
                "implemented_scope_mismatch",
                "review_verdict_request-changes",
            ],
        ),
        (
            record("", "", "mostly"),
            &["completion_claim_mostly", "review_verdict_request-changes"],
        ),
        (record("", "", "full"), &[]),
    ] {
        d.edit("execution-record.md", &text);
        d.verdict(&["--verdict", "approve"]);
        assert_eq!(codes(&d.gate("done")["blockers"]), blockers, "{text}");
        if !blockers.is_empty() {
            d.refuses(&DONE).is("review_done_scope_blocked", blockers);
        }
    }
}

#[test]
fn s_104_a_blocked_architecture_outranks_the_code_review() {
    for (architecture, target) in [
        (&["--architecture", "block"][..], "plan"),
        (
            &["--architecture", "block", "--architecture-target", "plan"],
            "plan",
        ),
        (
            &[
                "--architecture",
                "block",
                "--architecture-target",
                "clarify",
            ],
            "clarify",
        ),
    ] {
        for word in ["request-changes", "approve"] {
            let d = Drive::reviewing();
            let mut args = vec!["--verdict", word, "--reason", "it turns the house around"];
            args.extend(architecture);
            d.verdict(&args);
            assert_eq!(outcome(&d), ("request-changes".into(), json!(target)));
            assert_eq!(d.approval("rollback"), "requested");
            assert_eq!(d.stage(), "review");
        }
    }
    let d = Drive::reviewing();
    d.verdict(&["--verdict", "approve", "--architecture", "warn"]);
    assert_eq!(outcome(&d), ("approve".into(), Value::Null));
}

#[test]
fn u7_the_execution_record_is_closed_by_the_verdict() {
    let d = Drive::reviewed();
    d.change(
        "execution-record.md",
        "The file holds the time.",
        "Nothing else.",
    );
    let refusal = d
        .refuses(&DONE)
        .is("review_not_approved", &["review_stale"]);
    assert_eq!(refusal.help, "git loopx review --verdict approve");
    d.does(&["save"]);
    let said = d.status()["blockers"][0]["message"].clone();
    assert_eq!(
        said,
        "changed since Rita Reviewer reviewed it: execution-record.md"
    );
    d.verdict(&["--verdict", "approve"]);
    d.does(&DONE);
}

#[test]
fn s_107_a_verdict_can_be_given_again_while_done_is_pending() {
    let d = Drive::reviewed();
    assert_eq!(d.approval("complete"), "requested");
    d.verdict(&["--verdict", "approve"]);
    assert_eq!(outcome(&d), ("approve".into(), Value::Null));
    assert_eq!(d.approval("complete"), "requested");
    assert_eq!(d.status()["next_action"], "git loopx approve --to done");
    // The later word counts.
    d.send_back("build");
    assert_eq!(d.approval("complete"), "not-requested");
    assert_eq!(d.approval("build"), "requested");
}

#[test]
fn s_109_local_files_are_no_part_of_a_review() {
    let d = Drive::built();
    d.does(&["approve", "--to", "review"]);
    d.write("secrets.env", "TOKEN=1\n");
    // An untracked file is a change of the code that was approved for review.
    d.refuses(&["review"])
        .is("approval_stale", &["approval_stale"])
        .names("the code");
    // An ignored file is nobody's business.
    d.write(".git/info/exclude", "/.loopx/\n*.env\n");
    let reviewed = d.does(&["review"]);
    assert_eq!(reviewed["files"], json!(["src/demo.txt"]));
}

#[test]
fn s_175_a_verdict_is_bound_to_the_code_that_was_looked_at() {
    let d = Drive::reviewed();
    d.commit_code("another end\n");
    d.refuses(&DONE)
        .is("review_not_approved", &["review_stale"]);
    assert_eq!(d.gate("done")["ready"], false);
    // The same content again is what was reviewed.
    d.commit_code("an end\n");
    d.does(&DONE);
    assert_eq!(d.stage(), "done");
}

#[test]
fn s_175_a_verdict_covers_uncommitted_work_only_where_asked() {
    let d = Drive::reviewing();
    d.write("src/demo.txt", "not committed\n");
    d.fails_as(1, |d| d.verdict_by(RITA, &["--verdict", "approve"]))
        .is("worktree_dirty", &[]);
}

#[test]
fn s_176_rework_needs_fresh_proof() {
    let d = Drive::reviewing();
    d.send_back("build");
    d.does(&["approve", "--to", "build"]);
    d.does(&["build", "--from-review"]);
    d.does(&["build", "--report", "execution=complete"]);
    // The code has not changed, so the old run is on the present tree; the verdict is younger.
    assert_eq!(d.blocked(&["build"]), ["completion_audit_blocked"]);
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(d.does(&["build"])["ready"], true);
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    // A new review: the old verdict is gone.
    assert_eq!(d.status()["review"], Value::Null);
    d.refuses(&DONE)
        .is("review_not_approved", &["review_verdict_none"]);
    d.verdict(&["--verdict", "approve"]);
    d.does(&DONE);
}

#[test]
fn s_178_committed_work_is_in_the_window_from_any_folder() {
    let d = Drive::built();
    assert_eq!(d.git(&["status", "--porcelain"]).ok(), "");
    let approve = ["--json", "approve", "--to", "review"];
    d.loopx_in("src", &approve).ok();
    let reviewed = d.loopx_in("src", &["--json", "review"]).json();
    assert_eq!(reviewed["files"], json!(["src/demo.txt"]));
    assert_eq!(reviewed["commits"][0]["subject"], "Give sessions an end");
    assert_eq!(reviewed["session"], "demo");
}
