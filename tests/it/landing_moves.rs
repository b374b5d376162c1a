//! The moves of a session, as what lands is judged by them: a gate counts with what it asked for, and neither the name
//! of a profile nor the policy that the session chose to start from stands for that.

use crate::support::Sandbox;
use crate::support::landing::{self, ci, push, rev, serve};

const CAREFUL: &str = "[profiles.careful]\nextends = \"lite\"\nreviews = [\"critic\"]\n\
files = [\"plan.md\", \"change/spec-delta.md\", \"tasks.jsonl\", \"test-plan.md\"]\n";
const CARELESS: &str = "[profiles.careful]\nextends = \"lite\"\n";
const DEMAND: &str = "[profiles.demand]\n\"src/**\" = \"careful\"\n";
const PLAN: &str = "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n";
const TASK: &str = "{\"id\":\"TASK-001\",\"title\":\"Do it\",\"convergence\":{\"criteria\":[\"it is there\"],\
\"verification\":{\"cmd\":[\"true\"]}}}\n";

/// A repository whose `main` has a policy, on the branch `work`.
fn repository(policy: &str) -> Sandbox {
    let s = Sandbox::new();
    s.write("src/timeout", "30\n");
    s.write("loopx.toml", format!("{}{policy}", landing::PROTECTED));
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "first"]).ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s
}

/// A lite session whose plan was approved and that is in build, with its code.
fn built(s: &Sandbox) {
    s.loopx(&["start", "--profile", "lite", "--id", "it", "Shorter"])
        .ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(
        ".loopx/it/change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: only a number\n---\n",
    );
    s.write(".loopx/it/tasks.jsonl", TASK);
    s.loopx(&["approve", "--enter"]).ok();
    s.write("src/timeout", "10\n");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "Ten minutes"])
        .ok();
    s.loopx(&["run"]).ok();
}

fn stage(s: &Sandbox) -> String {
    let status = s.loopx(&["status", "--json"]).json();
    status["stage"].as_str().unwrap_or_default().to_owned()
}

/// Gives `main` another policy, and a server what is there then.
fn policy_since(s: &Sandbox, branch: &str, policy: &str) {
    s.git(&["switch", "--quiet", "main"]).ok();
    let policy = format!("{}{policy}", landing::PROTECTED);
    s.commit_file("loopx.toml", &policy, "Policy").ok();
    s.git(&["switch", "--quiet", branch]).ok();
    serve(s);
    landing::offer(s, &[branch]);
}

/// What a squash of a branch onto `main` is refused for, by the server and by CI.
#[track_caller]
fn is_refused(s: &Sandbox, branch: &str, said: &[&str]) {
    s.git(&["switch", "--quiet", "-c", "landed", "main"]).ok();
    s.git(&["merge", "--quiet", "--squash", branch]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "squash"])
        .ok();
    let mut refused = push(s, &["landed:refs/heads/main"]).fails_with(1);
    let mut judged = ci(s, &rev(s, "landed"), branch).fails_with(1);
    for word in said {
        refused = refused.says(word);
        judged = judged.says(word);
    }
}

#[test]
fn a_session_that_is_lifted_goes_back_to_the_first_gate_that_asked_for_less() {
    for stage_then in ["build", "review"] {
        let s = repository(CAREFUL);
        built(&s);
        if stage_then == "review" {
            s.loopx(&["approve", "--enter"]).ok();
        }
        assert_eq!(stage(&s), stage_then);
        let lifted = s.loopx(&["profile", "careful", "--json"]).json();
        assert_eq!(lifted["stage"], "plan", "{lifted:#}");
        assert_eq!(stage(&s), "plan");
        let held = s.loopx(&["approve", "--to", "build"]).fails_with(1);
        held.says("critic");
    }
}

#[test]
fn a_lift_by_which_no_gate_asks_for_more_stays_where_it_is() {
    let s = repository(CARELESS);
    built(&s);
    let lifted = s.loopx(&["profile", "careful", "--json"]).json();
    assert_eq!(lifted["stage"], "build", "{lifted:#}");
}

#[test]
fn a_gate_counts_with_what_the_targets_profile_asks_for_and_not_by_its_name() {
    // By the policy that the session starts from, `careful` asks for no more than `lite` did.
    for profile in ["careful", "lite"] {
        let s = repository(CARELESS);
        built(&s);
        if profile == "careful" {
            s.loopx(&["profile", "careful"]).ok();
        }
        s.loopx(&["finish", "--yes"]).ok();
        policy_since(&s, "work", &format!("{CAREFUL}{DEMAND}"));
        let said: &[&str] = match profile {
            "careful" => &["gate_too_light", "no critic has judged this draft"],
            _ => &["profile_too_light"],
        };
        is_refused(&s, "work", said);
    }
}

#[test]
fn a_profile_of_the_program_that_the_base_redefines_is_judged_as_the_target_has_it() {
    let light = "[profiles.lite]\nextends = \"lite\"\n[profiles.lite.sections]\n\"plan.md\" = []\n";
    let s = repository(light);
    built(&s);
    s.loopx(&["finish", "--yes"]).ok();
    let more = "[profiles.lite.sections]\n\"plan.md\" = [\"Problem\", \"Rollback\"]\n";
    policy_since(&s, "work", more);
    is_refused(&s, "work", &["gate_too_light", "Rollback"]);
}

#[test]
fn what_the_target_asks_of_a_gate_is_asked_of_moves_that_an_older_policy_let_through() {
    for (policy, said) in [
        ("[build]\nregression = true\n", "regression_pending"),
        (
            "[artifacts]\nlanguage = \"zh\"\n",
            "plan_artifact_not_chinese",
        ),
    ] {
        let s = repository("");
        built(&s);
        s.loopx(&["finish", "--yes"]).ok();
        policy_since(&s, "work", policy);
        is_refused(&s, "work", &["gate_too_light", said]);
    }
    let lanes = "[build]\nlanes = [\"execution\", \"architect\", \"deslop\"]\n";
    let s = landing::finished();
    policy_since(&s, "demo", lanes);
    is_refused(&s, "demo", &["gate_too_light", "architect_pending"]);
}

#[test]
fn a_policy_that_moved_in_what_no_gate_asks_of_the_session_lets_it_land() {
    let s = landing::finished();
    policy_since(
        &s,
        "demo",
        "[build]\nlanes = []\n[profiles.own]\nextends = \"quick\"\n[backlog]\nwip = 3\n",
    );
    s.git(&["switch", "--quiet", "-c", "landed", "main"]).ok();
    s.git(&["merge", "--quiet", "--squash", "demo"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "squash"])
        .ok();
    push(&s, &["landed:refs/heads/main"]).ok();
}
