//! Stage scenarios, section A: names, defaults, and ids that are never reused silently.

use crate::support::drive::{Drive, SPEC, codes};

#[test]
fn s_001_a_name_is_folded_and_nothing_outside_is_touched() {
    let d = Drive::repository(None);
    let outside = |d: &Drive| {
        let mut files = d.snapshot(d.root());
        files.retain(|(path, ..)| !path.starts_with("repo"));
        files
    };
    let before = outside(&d);
    for (name, id) in [("My Flow", "my-flow"), ("../../etc/x", "etc-x")] {
        assert_eq!(d.does(&["start", "--no-branch", name])["session"], id);
        assert!(d.exists(format!(".loopx/{id}/spec.md")));
    }
    assert_eq!(outside(&d), before);
}

#[test]
fn s_002_a_name_without_a_usable_character_is_refused() {
    let d = Drive::repository(None);
    for name in ["", "  ", "---", "../.."] {
        d.fails(2, &["start", "--", name])
            .is("session_name_required", &[]);
    }
    // A device name would make a folder that Windows cannot check out.
    d.fails(2, &["start", "CON"]).is("session_id_reserved", &[]);
}

#[test]
fn s_004_a_fresh_session_has_the_defaults() {
    let d = Drive::started();
    let status = d.status();
    assert_eq!(status["stage"], "clarify");
    assert_eq!(status["profile"], "standard");
    assert_eq!(status["rounds"]["clarify_max"], 15);
    for key in ["plan", "build", "review", "rollback", "complete"] {
        assert_eq!(status["approvals"][key], "not-requested", "{key}");
    }
    let gates = status["gates"].as_array().expect("gates");
    assert!(gates.iter().all(|gate| gate["ready"] == false));
    assert!(gates.iter().all(|gate| gate["authorized"] == false));
    let spec = d.artifact("spec.md");
    for field in [
        "- [ ] A-1: ",
        "current_round: 0\n",
        "ambiguity_score: 1.0\n",
    ] {
        assert!(spec.contains(field), "{spec}");
    }
    // Every rule is unmet, in the reference's order; the eighth is ours: a template says nothing.
    assert_eq!(
        codes(&status["blockers"]),
        [
            "unresolved_ambiguity",
            "clarify_current_round_required",
            "clarify_ambiguity_score_above_threshold",
            "clarify_non_goals_unresolved",
            "clarify_decision_boundaries_unresolved",
            "clarify_pressure_pass_incomplete",
            "clarify_section_empty"
        ]
    );
}

#[test]
fn s_005_the_deep_profile_asks_for_less_ambiguity_and_allows_more_rounds() {
    let d = Drive::repository(None);
    d.does(&["start", "Demo", "--deep"]);
    assert_eq!(d.status()["profile"], "deep");
    assert_eq!(d.status()["rounds"]["clarify_max"], 25);
    let judged = |score: &str, round: &str| {
        let spec = SPEC
            .replace("ambiguity_score: 0.1", &format!("ambiguity_score: {score}"))
            .replace("current_round: 3", &format!("current_round: {round}"));
        d.edit("spec.md", &spec);
        d.loopx(&["clarify", "--json"]).json()
    };
    assert_eq!(judged("0.1", "25")["ready"], true);
    assert_eq!(
        codes(&judged("0.11", "26")["blockers"]),
        [
            "clarify_max_rounds_exceeded",
            "clarify_ambiguity_score_above_threshold"
        ]
    );
}

#[test]
fn s_007_an_unknown_session_is_refused_by_every_command() {
    let d = Drive::started();
    for command in [
        &["approve", "--to", "plan"][..],
        &["clarify"],
        &["plan"],
        &["build"],
        &["run", "--", "true"],
        &["review"],
        &["save"],
        &["undo"],
        &["abandon"],
        &["status"],
        &["show"],
        &["log"],
    ] {
        let mut args = vec!["--session", "nope"];
        args.extend(command);
        d.fails(4, &args).is("session_unknown", &[]).names("nope");
    }
    // A near miss is told the name that was meant.
    let refusal = d
        .fails(4, &["-s", "demos", "status"])
        .is("session_unknown", &[]);
    assert!(refusal.help.contains("`demo`"), "{refusal:?}");
}

#[test]
fn s_007_without_init_every_command_says_so() {
    let s = crate::support::Sandbox::new();
    for command in [&["status"][..], &["start", "x"], &["plan"], &["list"]] {
        let mut args = vec!["--json"];
        args.extend(command);
        let out = s.loopx(&args).fails_with(4);
        assert_eq!(out.error_json()["error"]["code"], "not_initialised");
        assert_eq!(out.error_json()["error"]["help"], "git loopx init");
    }
    assert_eq!(s.git(&["for-each-ref"]).ok(), "");
}

#[test]
fn s_008_starting_again_never_destroys() {
    let done = Drive::done();
    let events = done.events();
    done.refuses(&["start", "Demo"])
        .is("session_exists", &[])
        .names("stage done");
    done.refuses(&["clarify"]).is(
        "approved_transition_required",
        &["approved_transition_required"],
    );
    done.refuses(&["plan"]).is(
        "approved_transition_required",
        &["approved_transition_required"],
    );
    assert_eq!(done.events(), events);

    let abandoned = Drive::clarified();
    abandoned.does(&["abandon", "--reason", "not now"]);
    abandoned
        .refuses(&["start", "Demo"])
        .is("session_exists", &[])
        .names("abandoned");
    // The way on that the refusal names works.
    abandoned.does(&["-s", "demo", "undo"]);
    assert_eq!(abandoned.status()["stage"], "clarify");
    assert!(abandoned.artifact("spec.md").contains("current_round: 3"));
}
