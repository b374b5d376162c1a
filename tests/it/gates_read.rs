//! Sections of documents that gates read, and rounds that their caps count.

use crate::support::LOOPX;
use crate::support::drive::{Drive, RECORD, SLICES, SPEC};
use serde_json::json;

#[test]
fn u5_a_slice_cannot_serve_a_scenario_that_is_nowhere() {
    let d = Drive::planning();
    d.edit(
        "change/slices.json",
        &SLICES.replace("end/Idle", "end/Idel"),
    );
    d.review_plan();
    d.refuses(&["approve", "--to", "build"])
        .is("plan_review_gate_blocked", &["vertical_slices_invalid"]);
    let said = d.status()["blockers"][0]["message"].clone();
    assert_eq!(
        said,
        "change/slices.json: slice VS-1 serves the scenario `demo/Idle sessions end/Idel`, which neither the \
         delta nor the specs have; there is `demo/Idle sessions end/Idle`"
    );
    // One that the specs have is none that is nowhere.
    let both = "end/Idle\", \"demo/Signing out/Sign out";
    d.edit("change/slices.json", &SLICES.replace("end/Idle", both));
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
}

#[test]
fn u10_open_questions_are_counted_from_their_boxes() {
    let d = Drive::started();
    let boxes = "\n## Open questions\n\n- [x] A-1: Who?\n- [ ] A-2: When `exactly`?\n\n```\n- [ ] code\n```\n\n<!--\n- [ ] no\n-->\n";
    d.edit("spec.md", &format!("{SPEC}{boxes}"));
    assert_eq!(d.blocked(&["clarify"]), ["unresolved_ambiguity"]);
    let said = d.status()["blockers"][0]["message"].clone();
    let said = said.as_str().expect("a message");
    assert!(
        said.ends_with("1 open question: A-2: When exactly?; unresolved_ambiguity_count says 0"),
        "{said}"
    );
    // The number may be left out.
    let spec = SPEC.replace("unresolved_ambiguity_count: 0\n", "");
    d.edit("spec.md", &format!("{spec}{boxes}"));
    assert_eq!(d.blocked(&["clarify"]), ["unresolved_ambiguity"]);
    d.edit(
        "spec.md",
        &format!("{spec}{}", boxes.replacen("[ ]", "[X]", 1)),
    );
    assert_eq!(d.does(&["clarify"])["ready"], true);
}

#[test]
fn u10_an_unknown_field_is_an_error_with_the_nearest_name() {
    let d = Drive::started();
    d.edit("spec.md", &SPEC.replace("current_round", "curent_round"));
    let refusal = d.refuses(&["save"]);
    assert!(
        format!("{refusal:?}").contains("front_matter_invalid"),
        "{refusal:#?}"
    );
    let out = d.loopx(&["save"]);
    out.says("spec.md:3: no field is named `curent_round`; there is `current_round`");
    d.edit(
        "spec.md",
        &SPEC.replace("---\n# Demo", "handoff_decision: blocked\n---\n# Demo"),
    );
    d.loopx(&["save"])
        .says("no field is named `handoff_decision`")
        .fails_with(1);
    d.edit(
        "spec.md",
        &SPEC.replace(
            "---\n# Demo",
            "schema_version: 1\nworkflow_id: demo\n---\n# Demo",
        ),
    );
    d.does(&["clarify"]);
}

#[test]
fn u11_a_build_that_changes_nothing_is_no_iteration() {
    let d = Drive::building();
    d.edit("execution-record.md", RECORD);
    for _ in 1..=12 {
        assert_eq!(d.blocked(&["build"]), ["lane_incomplete_execution"]);
    }
    assert_eq!(d.status()["rounds"]["build_iteration"], 1);
    d.commit_code("an end\n");
    assert_eq!(d.blocked(&["build"]), ["lane_incomplete_execution"]);
    assert_eq!(d.status()["rounds"]["build_iteration"], 2);
}

#[test]
fn u11_of_two_builds_at_once_both_enter_and_neither_ends_an_iteration() {
    let d = Drive::planned();
    d.does(&["approve", "--to", "build"]);
    let build = || d.call(LOOPX).args(&["--json", "build"]).run().json();
    let both = std::thread::scope(|scope| {
        let both = [scope.spawn(build), scope.spawn(build)];
        both.map(|one| one.join().expect("an end"))
    });
    for json in both {
        // The slower one may have been typed, as far as it can know, when the build stood already.
        let entered = json["transition"] == "plan->build";
        let is_there = json["ready"] != json!(true) && json["stage"] == "build";
        assert!(entered || is_there, "{json:#}");
    }
    assert_eq!(d.status()["rounds"]["build_iteration"], 1);
}

#[test]
fn u11_an_architect_who_asks_for_changes_reaches_the_cap() {
    let d = Drive::planning();
    for round in 1..=5 {
        d.change("plan.md", "# Plan", "# Plan\n\nAgain.");
        d.does(&["plan", "--architect", "iterate", "--finding", "no"]);
        assert_eq!(d.status()["rounds"]["plan_iteration"], round);
    }
    for verdict in ["iterate", "approve"] {
        d.refuses(&["plan", "--architect", verdict])
            .is("plan_iterations_exhausted", &[]);
    }
    assert_eq!(
        d.status()["next_action"],
        "git loopx plan --more 5 --reason '5 drafts were not approved'"
    );
    d.does(&["plan", "--more", "1", "--reason", "nearly there"]);
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
}

#[test]
fn k18_a_refusal_of_slices_says_each_fault_once() {
    let d = Drive::planning();
    let slice = |id: &str| {
        format!(
            r#"{{"id":"{id}","type":"AFK","behavior":"x","acceptance_criteria":["ten"],"verification":["true"]}}"#
        )
    };
    let both = format!("[{},{}]", slice("VS-1"), slice("VS-2"));
    d.edit("change/slices.json", &both);
    let out = d.loopx(&["save"]).fails_with(1);
    for id in ["VS-1", "VS-2"] {
        let told = format!("slice \"{id}\": unknown field `behavior`");
        let words: Vec<&str> = out.stderr.split_whitespace().collect();
        assert_eq!(words.join(" ").matches(&told).count(), 1, "{out}");
    }
    assert!(!out.stderr.contains(" at line "), "{out}");
}
