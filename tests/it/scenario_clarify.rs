//! Stage scenarios, section B: the clarify gate reads the spec's front matter, strictly.

use crate::support::drive::{Drive, SPEC};

fn with(field: &str, value: &str) -> String {
    let line = SPEC
        .lines()
        .find(|line| line.starts_with(field))
        .unwrap_or_else(|| panic!("no {field}"));
    SPEC.replace(line, &format!("{field}: {value}"))
}

const APPROVE: [&str; 3] = ["approve", "--to", "plan"];

/// Approves clarify->plan with this spec in a session of its own.
fn approves(spec: &str) -> Drive {
    Drive::once(format!("{spec:?}"), || {
        let d = Drive::started();
        d.edit("spec.md", spec);
        d.does(&APPROVE);
        assert_eq!(d.approval("plan"), "approved");
        d
    })
}

#[track_caller]
fn blocks(spec: &str, blockers: &[&str]) {
    let d = Drive::started();
    d.edit("spec.md", spec);
    d.refuses(&APPROVE)
        .is("clarify_readiness_blocked", blockers);
    assert_eq!(d.approval("plan"), "not-requested");
}

#[test]
fn s_011_a_score_on_the_threshold_passes() {
    approves(&with("ambiguity_score", "0.2"));
}

#[test]
fn s_012_score_just_above_the_threshold_is_refused() {
    blocks(
        &with("ambiguity_score", "0.2000001"),
        &["clarify_ambiguity_score_above_threshold"],
    );
}

#[test]
fn s_014_round_zero_is_refused() {
    blocks(
        &with("current_round", "0"),
        &["clarify_current_round_required"],
    );
}

#[test]
fn s_015_the_last_round_is_allowed_and_one_more_is_not() {
    approves(&with("current_round", "15"));
    blocks(
        &with("current_round", "16"),
        &["clarify_max_rounds_exceeded"],
    );
    // The cap has a way on, by a named person with a reason (design 4.6).
    let d = Drive::started();
    d.edit("spec.md", &with("current_round", "16"));
    let refusal = d.refuses(&APPROVE);
    let more = "git loopx clarify --more 5 --reason ";
    assert!(refusal.help.starts_with(more), "{}", refusal.help);
    d.fails(2, &["clarify", "--more", "5"])
        .is("reason_required", &[]);
    d.does(&["clarify", "--more", "5", "--reason", "one answer is late"]);
    d.does(&APPROVE);
}

#[test]
fn s_017_what_is_not_settled_is_listed_in_order() {
    let spec = with("ambiguity_score", "0.4")
        .replace("non_goals_resolved: true", "non_goals_resolved: false")
        .replace(
            "decision_boundaries_resolved: true",
            "decision_boundaries_resolved: false",
        )
        .replace(
            "pressure_pass_complete: true",
            "pressure_pass_complete: false",
        );
    blocks(
        &spec,
        &[
            "clarify_ambiguity_score_above_threshold",
            "clarify_non_goals_unresolved",
            "clarify_decision_boundaries_unresolved",
            "clarify_pressure_pass_incomplete",
        ],
    );
}

#[test]
fn s_018_a_score_out_of_range_is_an_error_that_names_file_and_line() {
    // The peer reads it as the worst score; design 4.3 makes it an error, so that nothing is guessed.
    for score in ["-0.1", "1.5", "low"] {
        let d = Drive::started();
        d.edit("spec.md", &with("ambiguity_score", score));
        for command in [&APPROVE[..], &["save"], &["clarify"]] {
            d.refuses(command)
                .is(
                    "artifact_invalid",
                    &["clarify_ambiguity_score_above_threshold"],
                )
                .names(".loopx/demo/spec.md:4: ambiguity_score")
                .names(score);
        }
    }
}

#[test]
fn s_020_readiness_is_not_authority() {
    let d = Drive::clarified();
    let gate = d.gate("plan");
    assert_eq!(gate["ready"], true);
    assert_eq!(gate["authorized"], false);
    assert_eq!(claims(&d), ["clarify_ready_for_plan"]);
    d.refuses(&["plan"])
        .is(
            "approved_transition_required",
            &["approved_transition_required"],
        )
        .names("clarify->plan");
    assert_eq!(d.stage(), "clarify");
}

#[test]
fn s_021_authority_shows_after_the_approval_and_moves_nothing() {
    let d = Drive::clarified();
    d.does(&APPROVE);
    let gate = d.gate("plan");
    assert_eq!(gate["authorized"], true);
    assert_eq!(gate["approval"], "approved");
    assert_eq!(gate["approved_by"][0], "Ada Author <ada@example.org>");
    assert_eq!(claims(&d), ["clarify_ready_for_plan", "plan_authorized"]);
    assert_eq!(d.stage(), "clarify");
    assert_eq!(d.status()["next_action"], "git loopx plan");
}

fn claims(d: &Drive) -> Vec<String> {
    let status = d.status();
    let chain = status["evidence_chain"].as_array().expect("a chain").iter();
    chain
        .map(|claim| claim["claim"].as_str().expect("a claim").to_owned())
        .collect()
}

#[test]
fn s_023_criteria_that_are_not_testable_hold_the_plan() {
    let d = Drive::planning();
    d.change(
        "plan.md",
        "acceptance_criteria_testable: true",
        "acceptance_criteria_testable: false",
    );
    d.review_plan();
    d.refuses(&["approve", "--to", "build"]).is(
        "plan_review_gate_blocked",
        &["acceptance_criteria_unresolved"],
    );
}

#[test]
fn s_024_an_approval_goes_stale_when_the_spec_changes() {
    let d = Drive::clarified();
    d.does(&APPROVE);
    let spec = with("ambiguity_score", "0.95").replace(
        "decision_boundaries_resolved: true",
        "decision_boundaries_resolved: false",
    );
    d.edit("spec.md", &spec);
    d.refuses(&["plan"])
        .is("approval_stale", &["approval_stale"])
        .names("spec.md");
    // The same once the edit is saved, and readiness is gone with it.
    d.does(&["save"]);
    let gate = d.gate("plan");
    assert_eq!(gate["approval"], "stale");
    assert_eq!(gate["authorized"], false);
    assert_eq!(gate["ready"], false);
    d.refuses(&["plan"])
        .is("approval_stale", &["approval_stale"]);
    // Going back to what was approved makes the approval good again: it is about content.
    d.edit("spec.md", SPEC);
    d.does(&["plan"]);
    assert_eq!(d.stage(), "plan");
}

#[test]
fn a_section_that_is_empty_or_still_a_template_is_a_blocker() {
    for (from, to) in [
        ("Signing in stays as it is.", "<!-- later -->"),
        ("## Success criteria\n\nA test shows it.\n", ""),
    ] {
        let spec = SPEC.replace(from, to);
        assert_ne!(spec, SPEC);
        blocks(&spec, &["clarify_section_empty"]);
    }
}
