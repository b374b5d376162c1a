//! The moves of a session, as what lands is judged by them: a gate counts with what it asked for, and neither the name
//! of a profile nor the policy that the session chose to start from stands for that.

use crate::support::Sandbox;
use crate::support::forge::forge_records;
use crate::support::landing::{self, ci, push, rev, serve};
use std::cell::Cell;

const CAREFUL: &str = "[profiles.careful]\nextends = \"lite\"\nreviews = [\"critic\"]\n\
files = [\"plan.md\", \"change/spec-delta.md\", \"tasks.jsonl\", \"test-plan.md\"]\n";
const CARELESS: &str = "[profiles.careful]\nextends = \"lite\"\n";
const DEMAND: &str = "[profiles.demand]\n\"src/**\" = \"careful\"\n";
const SPEC: &str = "# Session\n\n## Purpose\n\nSessions of people.\n\n## Requirements\n\n### Requirement: Idle timeout\n\
The system SHALL end a session that is idle for 30 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
const PLAN: &str = "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n";
const TASK: &str = "{\"id\":\"TASK-001\",\"title\":\"Do it\",\"convergence\":{\"criteria\":[\"it is there\"],\
\"verification\":{\"cmd\":[\"true\"]}}}\n";

/// A repository whose `main` has a policy, on the branch `work`.
fn repository(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::new();
        s.write("src/timeout", "30\n");
        s.write("specs/session/spec.md", SPEC);
        s.write("loopx.toml", format!("{}{policy}", landing::PROTECTED));
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s
    })
}

/// A lite session whose plan was approved and that is in build, with its code.
fn built(s: &Sandbox) {
    built_as(s, "lite");
}

/// A session of such a profile, as far as that.
fn built_as(s: &Sandbox, profile: &str) {
    s.loopx(&["start", "--profile", profile, "--id", "it", "Shorter"])
        .ok();
    plan_and_build(s);
}

fn plan_and_build(s: &Sandbox) {
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

/// Asserts the words with which a squash of a branch onto `main` is refused, by the server and by CI.
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
fn a_profile_that_the_target_does_not_have_excuses_from_no_setting() {
    let s = repository("[profiles.mine]\nextends = \"lite\"\n");
    built_as(&s, "mine");
    s.loopx(&["finish", "--yes"]).ok();
    policy_since(&s, "work", "[artifacts]\nlanguage = \"zh\"\n");
    is_refused(&s, "work", &["gate_too_light", "plan_artifact_not_chinese"]);
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
fn a_gate_that_an_older_policy_let_through_is_passed_again_as_the_refusal_says_and_lands() {
    let s = repository(CARELESS);
    built(&s);
    s.loopx(&["profile", "careful"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    policy_since(&s, "work", &format!("{CAREFUL}{DEMAND}"));
    is_refused(&s, "work", &["gate_too_light", "reopen", "rebase --onto"]);
    s.git(&["switch", "--quiet", "work"]).ok();
    s.loopx(&["reopen", "it", "--reason", "policy"]).ok();
    s.loopx(&["status"])
        .says("git merge main, then: git loopx rebase --onto")
        .ok();
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    s.loopx(&["rebase", "--onto", "main", "--reason", "policy"])
        .ok();
    s.loopx(&["status"])
        .says("make those moves again: git loopx -s it plan --reason")
        .ok();
    s.loopx(&["plan", "--reason", "no critic saw it"]).ok();
    s.write(
        ".loopx/it/test-plan.md",
        "# T\n\n## Verification\n\nA run.\n",
    );
    s.loopx(&["plan", "--critic", "approve"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    landing::offer(&s, &["work"]);
    s.git(&["switch", "--quiet", "-C", "landed", "main"]).ok();
    s.git(&["merge", "--quiet", "--squash", "work"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "squash"])
        .ok();
    ci(&s, &rev(&s, "landed"), "work").ok();
    push(&s, &["landed:refs/heads/main"]).ok();
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

const DELTA: &str = "# Domain: session\n\n## MODIFIED Requirements\n\n### Requirement: Idle timeout\n\
The system SHALL end a session that is idle for 10 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";

/// A quick session with a delta in its brief, and its code.
fn quick_with_delta(s: &Sandbox) {
    s.loopx(&["start", "--quick", "--id", "it", "Shorter"]).ok();
    let brief = format!("# It\n\n## Why\n\nToo long.\n\n## Checks\n\n- `true`\n\n{DELTA}");
    s.write(".loopx/it/brief.md", brief);
    s.write("src/timeout", "10\n");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "Ten minutes"])
        .ok();
    // A check of policy that the test writes may fail.
    drop(s.loopx(&["run"]));
}

#[test]
fn a_demand_of_specs_holds_the_gates_of_a_session_whose_archive_changes_them() {
    let s = repository("[profiles.demand]\n\"specs/**\" = \"lite\"\n");
    quick_with_delta(&s);
    let held = s.loopx(&["-v", "finish", "--yes"]).fails_with(1);
    held.says("profile_too_light")
        .says("git loopx profile lite");
}

#[test]
fn a_check_of_specs_is_asked_of_a_session_whose_archive_changes_them() {
    let check = "[checks.spec]\nrun = [\"false\"]\npaths = [\"specs/**\"]\n";
    let s = repository(check);
    quick_with_delta(&s);
    s.loopx(&["finish", "--yes"]).fails_with(1).says("spec");
    // A check that the target asks for since is asked of what lands.
    let s = repository("");
    quick_with_delta(&s);
    s.loopx(&["finish", "--yes"]).ok();
    policy_since(&s, "work", check);
    is_refused(&s, "work", &["evidence_unproven"]);
}

#[test]
fn a_scenario_that_nothing_proves_does_not_land_where_the_target_asks_for_proof() {
    let s = repository("[archive]\nevidence = \"off\"\n");
    s.loopx(&["start", "--profile", "lite", "--id", "it", "Shorter"])
        .ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.write(".loopx/it/tasks.jsonl", TASK);
    s.loopx(&["approve", "--enter"]).ok();
    s.write("src/timeout", "10\n");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "Ten minutes"])
        .ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    policy_since(&s, "work", "");
    s.git(&["switch", "--quiet", "-c", "landed", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-ff", "--no-edit", "work"])
        .ok();
    push(&s, &["landed:refs/heads/main"]).fails_with(1);
    ci(&s, &rev(&s, "landed"), "work").fails_with(1);
}

/// A session in the build on `work`, about `src`; the target refuses what lies outside of a plan.
fn built_where_scope_holds() -> Sandbox {
    let s = Sandbox::new();
    s.write("src/timeout", "30\n");
    s.write("other", "1\n");
    let policy = format!("{}out_of_scope = \"refuse\"\n", landing::PROTECTED);
    s.write("loopx.toml", policy);
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "first"]).ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    built(&s);
    s
}

#[test]
fn what_is_outside_of_the_scope_lands_as_one_commit_no_more_than_as_it_was_made() {
    let s = built_where_scope_holds();
    s.write("other", "2\n");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "Beside"])
        .ok();
    s.loopx(&["run"]).ok();
    let before = s.git(&["rev-parse", "loopx"]).line();
    s.loopx(&["finish", "--yes"])
        .fails_with(1)
        .says("`other`")
        .says("plan --reason");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), before);
    reviewed(&s);
    serve(&s);
    landing::offer(&s, &["work"]);
    push(&s, &["work:refs/heads/main"])
        .fails_with(1)
        .says("out_of_scope");
    is_refused(&s, "work", &["out_of_scope", "`other`"]);
}

/// A reviewed session on `work`, about `src`, and one of such a scope on top of it on `above`, which changes a file; the
/// target refuses what lies outside of a plan.
fn stacked(scope: &str, file: &str) -> Sandbox {
    let s = built_where_scope_holds();
    done(&s);
    s.git(&["switch", "--quiet", "-c", "above"]).ok();
    s.loopx(&["start", "--profile", "lite", "--id", "top", "Other"])
        .ok();
    s.write(".loopx/top/plan.md", PLAN.replace("src/**", scope));
    s.write(
        ".loopx/top/change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: only a number\n---\n",
    );
    s.write(".loopx/top/tasks.jsonl", TASK);
    s.loopx(&["approve", "--enter"]).ok();
    s.write(file, "2\n");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "Two"])
        .ok();
    s.loopx(&["run"]).ok();
    done(&s);
    serve(&s);
    // Their own names would be judged as the branches of these sessions.
    landing::offer(&s, &["work:refs/heads/one", "above:refs/heads/two"]);
    s
}

#[test]
fn a_session_that_stands_on_another_one_lands_each_commit_in_the_scope_of_its_own_plan() {
    let s = stacked("other", "other");
    // Both at once, whatever the message says.
    landing::would_land(&s, "above");
    let pull = landing::merge(&s, "main", "above", "Both (#2)");
    landing::would_land(&s, &pull);
    for message in ["Both (#2)", "Other\n\nLoopx-Session: top"] {
        let both = landing::squash(&s, "main", "above", message);
        landing::would_land(&s, &both);
    }
    // One after the other.
    let below = landing::squash(&s, "main", "work", "Shorter (#1)");
    landing::lands(&s, &below);
    let above = landing::squash(&s, &below, "above", "Other (#2)");
    landing::lands(&s, &above);
}

#[test]
fn a_session_lends_its_scope_to_nothing_of_the_one_that_stands_on_it() {
    for (scope, file) in [("src/**", "other"), ("other", "src/timeout")] {
        let s = stacked(scope, file);
        let both = landing::squash(&s, "main", "above", "Both (#2)");
        landing::refused(&s, &both, "out_of_scope");
        landing::refused(&s, "above", "out_of_scope");
    }
}

/// Takes the session from the build to done without `finish`, and to the archive.
fn reviewed(s: &Sandbox) {
    done(s);
    s.loopx(&["archive"]).ok();
}

fn done(s: &Sandbox) {
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve"]).ok();
}

/// A commit from a time without a plan is held against the plan that its session has in the end, however it lands.
#[test]
fn what_was_made_before_the_plan_lies_in_the_scope_of_the_plan_too() {
    for by in ["the hook", "--no-verify"] {
        let s = Sandbox::new();
        s.write("src/timeout", "30\n");
        s.write("other", "1\n");
        let policy = format!("{}out_of_scope = \"refuse\"\n", landing::PROTECTED);
        s.write("loopx.toml", policy);
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "--id", "it", "Shorter"]).ok();
        s.write("other", "2\n");
        if by == "the hook" {
            s.loopx(&["hooks", "install"]).ok();
            s.git(&["commit", "--quiet", "-am", "Beside"]).ok();
        } else {
            s.git(&["commit", "--quiet", "--no-verify", "-am", "Beside"])
                .ok();
        }
        s.loopx(&["profile", "lite"]).ok();
        plan_and_build(&s);
        s.loopx(&["finish", "--yes"]).fails_with(1).says("`other`");
        reviewed(&s);
        serve(&s);
        landing::offer(&s, &["work"]);
        push(&s, &["work:refs/heads/main"])
            .fails_with(1)
            .says("out_of_scope");
        is_refused(&s, "work", &["out_of_scope", "`other`"]);
    }
}

#[test]
fn a_pattern_that_nothing_can_match_is_a_fault_of_the_policy_with_its_line() {
    for pattern in [
        "./src/pay/**",
        "!src/pay/**",
        "src//pay/**",
        " src/pay/**",
        "../w/src/**",
        "src\\\\pay\\\\**",
    ] {
        let s = repository("");
        let policy = format!(
            "{}[profiles.demand]\n\"{pattern}\" = \"standard\"\n",
            landing::PROTECTED
        );
        s.commit_file("loopx.toml", &policy, "Policy").ok();
        let refused = s.loopx(&["start", "--quick", "it"]).fails_with(2);
        refused
            .says("loopx.toml")
            .says(":4: ")
            .says("expected a path pattern");
    }
    for branch in ["refs/heads/main", "./main", "/main", "!main", " main"] {
        let s = repository("");
        let policy = format!("[gates]\nprotected = [\"{branch}\"]\n");
        s.commit_file("loopx.toml", &policy, "Policy").ok();
        let refused = s.loopx(&["start", "--quick", "it"]).fails_with(2);
        refused
            .says(":2: gates.protected: expected the name of a branch")
            .says(branch);
    }
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_a_file_is_refused_and_never_read() {
    let s = repository("");
    s.loopx(&["start", "--quick", "--id", "it", "Shorter"]).ok();
    let pipe = |path: &str| {
        std::fs::remove_file(s.path().join(path)).expect("a file");
        s.call("mkfifo").args(&[path]).run().ok();
    };
    pipe("src/timeout");
    let refused = s.loopx(&["status"]).fails_with(1);
    refused.says("src/timeout").says("git restore src/timeout");
    std::fs::remove_file(s.path().join("src/timeout")).expect("a pipe");
    s.git(&["restore", "src/timeout"]).ok();
    pipe("loopx.toml");
    s.loopx(&["config", "show"])
        .says("loopx.toml is not a file");
    std::fs::remove_file(s.path().join("loopx.toml")).expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", s.path().join("loopx.toml")).expect("a link");
    s.loopx(&["config", "show"])
        .says("loopx.toml is a symbolic link");
}

/// Takes the bases out of every record of the session, as a hand that writes one leaves them out.
fn without_bases(s: &Sandbox) {
    forge_records(s, "it", |op| {
        if let Some(body) = op["body"].as_object_mut() {
            body.remove("bases");
        }
    });
}

#[test]
fn a_spec_is_asked_of_the_session_whose_delta_changes_it_and_not_of_its_recorded_bases() {
    for (rule, code) in [
        (
            "[profiles.demand]\n\"specs/**\" = \"lite\"\n",
            "profile_too_light",
        ),
        (
            "[checks.spec]\nrun = [\"false\"]\npaths = [\"specs/**\"]\n",
            "evidence_unproven",
        ),
    ] {
        let s = repository("");
        quick_with_delta(&s);
        done(&s);
        without_bases(&s);
        s.git(&["switch", "--quiet", "main"]).ok();
        let policy = format!("{}{rule}", landing::PROTECTED);
        s.commit_file("loopx.toml", &policy, "Policy").ok();
        serve(&s);
        let made = landing::squash(&s, "main", "work", landing::SQUASH);
        ci(&s, &made, "work").fails_with(1).says(code);
        let main = format!("{made}:refs/heads/main");
        push(&s, &[&main, "loopx", "work"]).fails_with(1).says(code);
    }
}

#[test]
fn a_delta_without_a_recorded_base_is_archived_by_nobody() {
    let s = repository("[archive]\nevidence = \"off\"\n");
    quick_with_delta(&s);
    without_bases(&s);
    done(&s);
    let held = s.loopx(&["-v", "archive"]).fails_with(1);
    held.says("delta_without_base").says("change refresh");
}

#[test]
fn a_refresh_records_the_base_that_is_missing() {
    let s = repository("");
    s.loopx(&["start", "--profile", "lite", "--id", "it", "Shorter"])
        .ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.write(".loopx/it/tasks.jsonl", TASK);
    s.loopx(&["save"]).ok();
    without_bases(&s);
    s.loopx(&["change", "refresh"]).says("30 minutes").ok();
    let again = s.loopx(&["-v", "change", "refresh"]);
    drop(again.says("nothing_moved"));
}

#[test]
fn a_scope_that_no_approved_plan_had_opens_nothing_while_it_stood_either() {
    for (back, said) in [
        (
            &["plan", "--reason", "to be sure"][..],
            "(src/**), found **",
        ),
        // What stood in a build that was taken back counts for nothing.
        (&["undo", "1"][..], "`deploy.sh`"),
    ] {
        let s = repository("out_of_scope = \"refuse\"\n");
        built(&s);
        landing::make(&s, &[("deploy.sh", "evil\n")], "deploy");
        s.loopx(back).ok();
        if back[0] == "plan" {
            s.loopx(&["approve", "--enter"]).ok();
        } else {
            s.loopx(&["build"]).ok();
        }
        landing::make(&s, &[("src/more", "1\n")], "more");
        s.loopx(&["run"]).ok();
        done(&s);
        let first = Cell::new(true);
        forge_records(&s, "it", |op| {
            if op["body"]["scope"].is_array() && first.replace(false) {
                op["body"]["scope"] = serde_json::json!(["**"]);
            }
        });
        assert!(!first.get());
        serve(&s);
        let refused = push(&s, &["work:refs/heads/main", "loopx", "work"]).fails_with(1);
        refused.says(said);
    }
}
