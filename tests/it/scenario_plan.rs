//! Stage scenarios, section D: the plan's consensus loop, its package and the change pack.

use crate::support::drive::{DELTA, Drive, SPEC, codes};
use serde_json::Value;

const APPROVE: [&str; 3] = ["approve", "--to", "build"];
const REQUIRED: &str = "approved_transition_required";

/// PLANNED with one artifact changed, reviewed as it is now.
fn planned_with(artifact: &str, from: &str, to: &str) -> Drive {
    let d = Drive::planning();
    d.change(artifact, from, to);
    d.review_plan();
    d
}

#[track_caller]
fn blocks(d: &Drive, blockers: &[&str]) {
    d.refuses(&APPROVE).is("plan_review_gate_blocked", blockers);
    assert_eq!(d.approval("build"), "not-requested");
}

fn iterate(d: &Drive, finding: &str) {
    d.does(&["plan", "--architect", "approve"]);
    d.does(&["plan", "--critic", "iterate", "--finding", finding]);
}

#[test]
fn s_041_the_critic_iterates_and_then_approves() {
    let d = Drive::planning();
    iterate(&d, "the steps are too big");
    blocks(&d, &["critic_verdict_iterate"]);
    d.does(&["plan"]);
    d.change(
        "development-plan.md",
        "1. Write it.",
        "1. Test it. 2. Write it.",
    );
    d.review_plan();
    assert_eq!(d.status()["rounds"]["plan_iteration"], 2);
    let state = d.state();
    let reviews = state["plan"]["reviews"].as_array().expect("reviews");
    let kept: Vec<(&Value, &str, &str)> = reviews
        .iter()
        .map(|r| {
            let text = |key: &str| r[key].as_str().expect("a word");
            (&r["iteration"], text("lane"), text("verdict"))
        })
        .collect();
    assert_eq!(
        kept,
        [
            (&1.into(), "architect", "approve"),
            (&1.into(), "critic", "iterate"),
            (&2.into(), "architect", "approve"),
            (&2.into(), "critic", "approve")
        ]
    );
    d.does(&APPROVE);
}

#[test]
fn s_041_the_critic_comes_after_the_architect() {
    let d = Drive::planning();
    d.refuses(&["plan", "--critic", "approve"])
        .is("architect_review_required", &[]);
    d.does(&["plan", "--architect", "approve"]);
    // What the architect saw has to be what the critic sees.
    d.change("plan.md", "One small step.", "One big step.");
    d.refuses(&["plan", "--critic", "approve"])
        .is("architect_review_required", &[]);
    assert_eq!(d.events().last().map(String::as_str), Some("plan_reviewed"));
}

#[test]
fn s_042_five_drafts_and_then_a_person_decides() {
    let d = Drive::planning();
    for draft in 1..=5 {
        iterate(&d, "no");
        assert_eq!(d.status()["rounds"]["plan_iteration"], draft);
        if draft < 5 {
            d.does(&["plan"]);
        }
    }
    let refusal = d
        .refuses(&["plan"])
        .is("plan_iterations_exhausted", &["critic_verdict_iterate"]);
    blocks(&d, &["critic_verdict_iterate"]);
    // The way on that it names works (W7).
    assert_eq!(
        refusal.help,
        "git loopx plan --more 5 --reason '5 drafts were not approved'"
    );
    assert_eq!(
        d.status()["next_action"],
        "git loopx plan --more 5 --reason '5 drafts were not approved'"
    );
    d.does(&["plan", "--more", "5", "--reason", "we know what to do now"]);
    d.does(&["plan"]);
    d.review_plan();
    d.does(&APPROVE);
}

#[test]
fn s_044_a_ready_plan_is_not_drafted_again() {
    let d = Drive::planned();
    let refusal = d.refuses(&["plan"]).is(REQUIRED, &[]);
    assert_eq!(refusal.help, "git loopx approve --to build");
    assert_eq!(d.status()["rounds"]["plan_iteration"], 1);
}

#[test]
fn s_045_the_next_draft_is_given_the_earlier_findings() {
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    assert_eq!(d.does(&["plan"])["history"], Value::Array(Vec::new()));
    d.fill_plan();
    d.does(&[
        "plan",
        "--architect",
        "approve",
        "--finding",
        "mind the clock",
    ]);
    d.does(&[
        "plan",
        "--critic",
        "iterate",
        "--finding",
        "the steps are too big",
    ]);
    let history = d.does(&["plan"])["history"].take();
    let told: Vec<(&str, &str)> = history
        .as_array()
        .expect("a history")
        .iter()
        .map(|r| {
            let lane = r["lane"].as_str().expect("a lane");
            (lane, r["findings"][0].as_str().expect("a finding"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("architect", "mind the clock"),
            ("critic", "the steps are too big")
        ]
    );
}

#[test]
fn s_047_execution_inputs_have_to_be_decided() {
    for inputs in ["", "- TBD\n", "- the file, which comes later\n", "- 待定\n"] {
        let d = Drive::started();
        d.edit("spec.md", &SPEC.replace("- src/demo.txt\n", inputs));
        // Clarify does not ask for them; the plan does.
        d.does(&["approve", "--to", "plan"]);
        d.does(&["plan"]);
        d.fill_plan();
        iterate(&d, "what does the work need?");
        blocks(
            &d,
            &["critic_verdict_iterate", "execution_inputs_unresolved"],
        );
    }
}

#[test]
fn s_048_a_missing_document_makes_the_package_incomplete() {
    let d = Drive::planned();
    d.remove("test-plan.md");
    d.refuses(&APPROVE).is(
        "plan_package_incomplete",
        &[
            "architect_review_incomplete",
            "critic_verdict_pending",
            "plan_package_partial",
            "missing_plan_artifact_testPlan",
        ],
    );
    // The branch still has it, and gives it back.
    d.does(&["checkout", "--force", "test-plan.md"]);
    d.does(&APPROVE);
}

#[test]
fn s_048_a_missing_change_artifact_is_named() {
    let d = Drive::planned();
    d.remove("change/design.md");
    let refusal = d.refuses(&APPROVE);
    assert_eq!(refusal.code, "plan_review_gate_blocked");
    assert!(
        refusal
            .blockers
            .contains(&"missing_change_artifact_design".to_owned()),
        "{refusal:?}"
    );
}

const ZH: &str = "[artifacts]\nlanguage = \"zh\"\n";

#[test]
fn s_050_a_language_policy_names_the_document_that_breaks_it() {
    let d = Drive::planning_under(ZH);
    let words = "会话闲置三十分钟之后必须结束。".repeat(4);
    for (artifact, from) in [
        ("plan.md", "One small step."),
        ("architecture.md", "One file."),
        ("test-plan.md", "`true` proves it."),
    ] {
        d.change(artifact, from, &words);
    }
    d.review_plan();
    blocks(&d, &["plan_artifact_not_chinese_developmentPlan"]);
    d.change("development-plan.md", "1. Write it.", &words);
    d.review_plan();
    d.does(&APPROVE);
}

#[test]
fn s_050_without_a_language_policy_any_language_passes() {
    let d = Drive::planned();
    d.does(&APPROVE);
    assert_eq!(d.approval("build"), "approved");
}

#[test]
fn s_053_a_delta_without_requirements_is_refused() {
    for delta in [
        "# Domain: demo\n\nnone\n",
        "# Domain: demo\n\n## ADDED Requirements\n",
    ] {
        let d = planned_with("change/spec-delta.md", DELTA, delta);
        blocks(&d, &["spec_delta_missing_requirements"]);
    }
}

#[test]
fn s_054_a_delta_that_only_removes_or_renames_passes() {
    for delta in [
        "# Domain: demo\n\n## REMOVED Requirements\n\n### Requirement: Signing in\n\n**Reason**: gone\n",
        "# Domain: demo\n\n## RENAMED Requirements\n\n- FROM: `### Requirement: Signing in`\n- TO: `### Requirement: Passwords`\n",
    ] {
        let d = Drive::planning();
        d.edit("change/spec-delta.md", delta);
        d.change(
            "change/slices.json",
            "Idle sessions end/Idle",
            "Signing in/Known person",
        );
        d.review_plan();
        d.does(&APPROVE);
    }
}

#[test]
fn s_056_a_requirement_without_a_scenario_is_refused() {
    let delta = DELTA.split("#### Scenario").next().expect("a beginning");
    let d = planned_with("change/spec-delta.md", DELTA, delta);
    let refusal = d.refuses(&APPROVE);
    assert_eq!(refusal.code, "plan_review_gate_blocked");
    assert_eq!(refusal.blockers.len(), 1, "{refusal:?}");
    assert!(refusal.blockers[0].contains("scenario"), "{refusal:?}");
}

#[test]
fn s_057_slices_that_are_missing_or_broken_are_refused() {
    let d = Drive::planning();
    d.edit("change/slices.json", "[ ]\n");
    // Nobody writes by hand what the program makes of the delta's scenarios.
    assert_eq!(d.does(&["status"])["next_action"], "git loopx plan");
    d.does(&["plan"]);
    let next = d.does(&["status"])["next_action"].clone();
    assert_eq!(next, "git loopx edit slices.json");
    d.edit("change/slices.json", "[]\n");
    d.review_plan();
    blocks(&d, &["vertical_slices_missing"]);
    // What cannot be read, or does not hold together, is not even saved.
    for (broken, names) in [
        ("{", "slices.json:1"),
        (
            r#"[{"id":"VS-1","type":"ROBOT","behaviour":"b","acceptance_criteria":["c"],"verification":["true"]}]"#,
            "ROBOT",
        ),
        (
            r#"[{"id":"VS-1","type":"AFK","behaviour":"","acceptance_criteria":["c"],"verification":["true"]}]"#,
            "no behaviour",
        ),
        (
            r#"[{"id":"VS-1","type":"HITL","behaviour":"b","acceptance_criteria":[],"verification":["true"]}]"#,
            "no acceptance criterion",
        ),
        (
            r#"[{"id":"VS-1","type":"AFK","behaviour":"b","acceptance_criteria":["c"],"verification":[]}]"#,
            "no verification command",
        ),
        (
            r#"[{"id":"VS-1","type":"AFK","behaviour":"b","acceptance_criteria":["c"],"verification":["true"],"files":["../x"]}]"#,
            "../x",
        ),
        (
            r#"[{"id":"A","type":"AFK","behaviour":"b","acceptance_criteria":["c"],"verification":["true"],"blocked_by":["B"]},
                {"id":"B","type":"AFK","behaviour":"b","acceptance_criteria":["c"],"verification":["true"],"blocked_by":["A"]}]"#,
            "A -> B -> A",
        ),
    ] {
        d.edit("change/slices.json", broken);
        for command in [&APPROVE[..], &["save"]] {
            d.refuses(command)
                .is("artifact_invalid", &["vertical_slices_invalid"])
                .names(names);
        }
    }
}

#[test]
fn s_059_the_artifact_graph_names_what_builds_on_what() {
    let d = Drive::planned();
    let graph = d.does(&["cat", "artifact-graph.json"]);
    let graph: Value = serde_json::from_str(graph["text"].as_str().expect("a text")).expect("JSON");
    let nodes = graph["nodes"].as_array().expect("nodes");
    let tasks = nodes
        .iter()
        .find(|node| node["artifact"] == "change/tasks.md")
        .expect("tasks");
    assert_eq!(
        tasks["depends_on"],
        serde_json::json!([
            "change/proposal.md",
            "change/spec-delta.md",
            "change/design.md"
        ])
    );
    assert!(
        nodes.iter().all(|node| node["status"] == "done"),
        "{graph:#}"
    );
    assert_eq!(graph["next_ready"], serde_json::json!([]));

    // A change of what something builds on makes it stale until it is written again.
    d.change("change/design.md", "A file holds", "Two files hold");
    d.does(&["save"]);
    assert_eq!(
        d.status()["stale_artifacts"],
        serde_json::json!(["change/tasks.md", "change/slices.json"])
    );
}

#[test]
fn s_060_no_plan_goes_around_clarify() {
    let d = Drive::started();
    // There is no direct plan at all: the clarify gate is judged on whatever spec is there.
    d.fails(2, &["plan", "--direct", ".loopx/demo/spec.md"])
        .is("command_line_invalid", &[])
        .names("--direct");
    d.edit("spec.md", "# A bare spec\n");
    d.refuses(&["plan"]).is(REQUIRED, &[REQUIRED]);
    let refusal = d.refuses(&["approve", "--to", "plan"]);
    assert_eq!(refusal.code, "clarify_readiness_blocked");
    assert_eq!(refusal.blockers.len(), 7, "{refusal:?}");
}

#[test]
fn s_062_an_approval_goes_stale_when_the_plan_changes() {
    for (artifact, from) in [
        ("plan.md", "One small step."),
        ("spec.md", "Signing in stays as it is."),
        ("change/tasks.md", "1.1 Write it"),
        ("change/slices.json", "An idle session ends"),
    ] {
        let d = Drive::planned();
        d.does(&APPROVE);
        d.change(artifact, from, "Something else");
        let refusal = d
            .refuses(&["build"])
            .is("approval_stale", &["approval_stale"])
            .names(artifact);
        assert_eq!(refusal.help, "git loopx plan --architect approve");
        d.does(&["save"]);
        assert_eq!(d.gate("build")["approval"], "stale", "{artifact}");
        assert_eq!(codes(&d.gate("build")["blockers"]).len(), 2);
    }
}
