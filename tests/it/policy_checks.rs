//! `[checks]` of `loopx.toml`: commands that a session has to pass, whatever its own files name.

use crate::support::drive::Drive;
use crate::support::landing::{self, rev, serve};
use crate::support::{LOOPX, Output, Sandbox, keys};
use serde_json::Value;

const UNIT: &str = "[checks.unit]\nrun = [\"sh\", \"check.sh\"]\npaths = [\"src/**\"]\n";

/// A repository with code, a check of it and policy, on the branch `work`.
fn repository(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::new();
        s.write("src/timeout", "30\n");
        s.write("check.sh", "grep -q 10 src/timeout\n");
        s.write("loopx.toml", policy);
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s
    })
}

/// A repository with code, a check of it and policy, and a quick session.
fn quick(policy: &str) -> Sandbox {
    let s = repository(policy);
    s.loopx(&["start", "--quick", "it"]).ok();
    s
}

fn edit_code(s: &Sandbox) {
    s.commit_file("src/timeout", "10\n", "Ten minutes").ok();
}

fn status(s: &Sandbox) -> Value {
    s.loopx(&["status", "--json"]).json()
}

/// The line of the audit about a check.
fn audited(s: &Sandbox, id: &str) -> Value {
    let status = status(s);
    let mut lines = status["audit"].as_array().expect("an audit").iter();
    let line = lines.find(|line| line["id"] == id);
    line.cloned().unwrap_or_default()
}

fn blockers(out: &Output) -> String {
    out.error_json()["error"]["blockers"].to_string()
}

/// Takes the session to done, without its archive.
fn done(s: &Sandbox) {
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--to", "done"]).ok();
}

fn change_policy_of_main(s: &Sandbox, policy: &str) {
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("loopx.toml", policy);
    s.git(&["commit", "--quiet", "-am", "policy"]).ok();
    s.git(&["switch", "--quiet", "work"]).ok();
}

fn by<'s>(s: &'s Sandbox, name: &str) -> impl Fn(&[&str]) -> Output + 's {
    let email = format!("{name}@example.org");
    move |args| {
        let call = s.call(LOOPX).args(args);
        let call = call.env("GIT_AUTHOR_EMAIL", &email);
        call.env("GIT_COMMITTER_EMAIL", &email).run()
    }
}

#[test]
fn a_check_is_wanted_where_a_path_of_it_changes_and_run_alone_runs_it() {
    let s = quick(UNIT);
    assert_eq!(audited(&s, "unit"), Value::Null);
    s.write("src/timeout", "10\n");
    let line = audited(&s, "unit");
    assert_eq!(
        (&line["proof"], &line["detail"], &line["source"]),
        (
            &"missing".into(),
            &"sh check.sh".into(),
            &"loopx.toml".into()
        )
    );
    s.git(&["commit", "-qam", "Ten"]).ok();
    let held = s.loopx(&["finish", "--yes", "--json"]).fails_with(1);
    assert!(blockers(&held).contains("unit has not run"), "{held}");
    assert_eq!(status(&s)["next_action"], "git loopx run --task unit");
    let ran = s.loopx(&["run", "--json"]).json();
    assert_eq!(ran["ran"][0]["task"], "unit", "{ran:#}");
    assert_eq!(audited(&s, "unit")["proof"], "passed");
    // The brief needs no check besides.
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_check_whose_paths_do_not_change_is_not_wanted_and_may_be_run_all_the_same() {
    let s = quick(UNIT);
    s.commit_file("docs/a.md", "words\n", "Words").ok();
    s.loopx(&["run", "--task", "unit"]).fails_with(1);
    s.loopx(&["run", "--task", "unti"])
        .fails_with(4)
        .says("run --task unit");
    assert_eq!(audited(&s, "unit"), Value::Null);
    let held = s.loopx(&["finish", "--yes", "--json"]).fails_with(1);
    assert!(blockers(&held).contains("brief_check_missing"), "{held}");
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_pass_is_stale_after_a_change_and_a_failure_holds() {
    let s = quick(UNIT);
    edit_code(&s);
    // Its words, typed at the top of the repository, are a run of it, and of the brief.
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    assert_eq!(audited(&s, "unit")["proof"], "passed");
    assert_eq!(audited(&s, "check-1")["proof"], "passed");
    s.commit_file("src/timeout", "20\n", "Twenty").ok();
    assert_eq!(audited(&s, "unit")["proof"], "stale");
    let held = s.loopx(&["finish", "--yes", "--json"]).fails_with(1);
    assert!(blockers(&held).contains("unit has to run again"), "{held}");
    let ran = s.loopx(&["run", "--json"]).fails_with(1).json();
    assert_eq!(ran["ran"].as_array().map(Vec::len), Some(1), "{ran:#}");
    s.loopx(&["status"]).says("unit failed").says("mend it");
    let held = s.loopx(&["finish", "--yes", "--json"]).fails_with(1);
    assert!(blockers(&held).contains("verification_failed"), "{held}");
    assert_eq!(status(&s)["stage"], "build");
}

#[test]
fn an_edit_of_the_policy_in_the_change_itself_takes_no_check_away() {
    let s = quick(&format!("{}{UNIT}", landing::PROTECTED));
    s.write("loopx.toml", "");
    s.git(&["add", "."]).ok();
    edit_code(&s);
    assert_eq!(audited(&s, "unit")["proof"], "missing");
    s.loopx(&["run", "--", "true"]).ok();
    let held = s.loopx(&["finish", "--yes", "--json"]).fails_with(1);
    assert!(blockers(&held).contains("unit has not run"), "{held}");
}

#[test]
fn one_run_serves_a_task_and_the_check_that_has_its_words() {
    let s = repository(UNIT);
    s.loopx(&["start", "--profile", "lite", "it"]).ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", UNCHANGED);
    let task = |words: &str, id: &str| {
        format!(
            r#"{{"id":"{id}","title":"T","convergence":{{"criteria":["C"],"verification":{{"cmd":{words}}}}}}}"#
        )
    };
    // A name of policy with other words would hide the check.
    s.write(".loopx/it/tasks.jsonl", task("[\"true\"]", "unit"));
    let held = s.loopx(&["approve", "--to", "build", "--json"]);
    let said = blockers(&held.fails_with(1));
    assert!(
        said.contains("check_name_taken")
            && said.contains("`true`")
            && said.contains("`sh check.sh`"),
        "{said}"
    );
    s.write(
        ".loopx/it/tasks.jsonl",
        task("[\"sh\",\"check.sh\"]", "T-1"),
    );
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    edit_code(&s);
    let ran = s.loopx(&["run", "--json"]).json();
    assert_eq!(ran["ran"].as_array().map(Vec::len), Some(1), "{ran:#}");
    for id in ["T-1", "unit"] {
        assert_eq!(audited(&s, id)["proof"], "passed", "{id}");
    }
    s.loopx(&["finish", "--yes"]).ok();
}

const PLAN: &str = "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n";
const UNCHANGED: &str = "---\nbehaviour: unchanged\nreason: the number stands in no spec\n---\n";

#[test]
fn the_policy_of_the_target_asks_at_the_landing_and_names_the_run_that_leads_on() {
    let s = quick(landing::PROTECTED);
    edit_code(&s);
    s.loopx(&["run", "--", "true"]).ok();
    done(&s);
    change_policy_of_main(&s, &format!("{}{UNIT}", landing::PROTECTED));
    serve(&s);
    landing::push(&s, &["work", "loopx"])
        .fails_with(1)
        .says("asks for unit");
    let landed = landing::merge(&s, "main", "work", landing::PULL);
    insta::assert_snapshot!(landing::ci(&s, &landed, "work").steady(), @"
    $ git-loopx verify origin/main..0000000000000000000000000000000000000000 --policy-from=origin/main --onto=main --branch work
    0000000000 warning commit_without_state: the commit has no trailer with the state of session it that allowed `src/timeout`
    0000000000 error evidence_unproven: session it: [checks] of loopx.toml asks for unit, and no run of it has passed on tree 0000000000 (sh check.sh)
    1 commit, 1 error
    next: git loopx -s it run --task unit -- sh check.sh
    --- exit 1
    ");
    landing::push(&s, &[&format!("{landed}:refs/heads/main"), "loopx"])
        .fails_with(1)
        .says("[checks] of loopx.toml asks for unit")
        .says("pre-receive hook declined");
    s.git(&["switch", "--quiet", "work"]).ok();
    s.loopx(&["run", "--task", "unit", "--", "sh", "check.sh"])
        .ok();
    landing::ci(&s, &landed, "work").ok();
    landing::push(&s, &[&format!("{landed}:refs/heads/main"), "loopx"]).ok();
}

#[test]
fn a_check_of_other_paths_lets_a_session_land() {
    let s = quick(landing::PROTECTED);
    edit_code(&s);
    s.loopx(&["run", "--", "true"]).ok();
    done(&s);
    let policy = "[checks.words]\nrun = [\"false\"]\npaths = [\"docs/**\"]\n";
    change_policy_of_main(&s, &format!("{}{policy}", landing::PROTECTED));
    serve(&s);
    landing::offer(&s, &["work"]);
    let landed = landing::merge(&s, "main", "work", landing::PULL);
    landing::ci(&s, &landed, "work").ok();
}

#[test]
fn a_named_person_waives_a_check_with_a_reason() {
    let s = quick(&format!("{}{UNIT}", landing::PROTECTED));
    s.commit_file("src/timeout", "20\n", "Twenty").ok();
    s.loopx(&["build", "--waive", "unit"]).fails_with(2);
    s.loopx(&["build", "--waive", "unti", "--reason", "x"])
        .fails_with(4)
        .says("unit");
    s.loopx(&["build", "--waive", "unit", "--reason", "20 for this week"])
        .ok();
    assert_eq!(audited(&s, "unit")["proof"], "waived");
    let out = s.loopx(&["finish", "--yes"]).ok();
    assert!(out.contains("1 waived"), "{out}");
    serve(&s);
    landing::lands(&s, &rev(&s, "work"));
}

#[test]
fn words_of_the_target_are_agreed_to_and_those_of_a_base_alone_are_not() {
    let s = repository(UNIT);
    let bob = by(&s, "bob");
    bob(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--task", "unit"]).ok();
    // A base that somebody made for it has words of theirs.
    s.git(&["switch", "--quiet", "-c", "own", "main"]).ok();
    s.write("loopx.toml", "[checks.unit]\nrun = [\"touch\", \"ran\"]\n");
    s.git(&["commit", "--quiet", "-am", "policy"]).ok();
    bob(&["start", "--quick", "other"]).ok();
    for args in [&["run", "--task", "unit"][..], &["run"]] {
        let out = s.loopx(&[&["--json"], args].concat()).fails_with(6);
        let error = out.error_json();
        assert_eq!(error["error"]["code"], "check_not_trusted", "{error:#}");
        assert!(
            error.to_string().contains("that of its target has not"),
            "{error:#}"
        );
        assert!(!s.path().join("ran").exists());
    }
    // Also whoever chose that base says so once.
    bob(&["run", "--task", "unit"]).fails_with(6);
    bob(&["run", "--task", "unit", "--trust"]).ok();
    assert!(s.path().join("ran").exists());
}

#[test]
fn without_a_target_whoever_began_the_session_agreed_to_its_policy() {
    let s = repository(UNIT);
    s.git(&["switch", "--quiet", "main"]).ok();
    by(&s, "bob")(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.git(&["branch", "--quiet", "-D", "work"]).ok();
    s.loopx(&["run", "--task", "unit"]).fails_with(6);
    by(&s, "bob")(&["run", "--task", "unit"]).ok();
}

#[test]
fn a_delta_in_a_brief_needs_a_check_besides_that_of_policy() {
    let s = quick(UNIT);
    edit_code(&s);
    let delta = "# Domain: session\n\n## ADDED Requirements\n\n### Requirement: Idle\nThe system SHALL end a session that is idle for 10 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
    let brief = format!("# It\n\n## Why\n\nX.\n\n{delta}");
    s.write(".loopx/it/brief.md", brief);
    s.loopx(&["run", "--task", "unit"]).ok();
    let held = s.loopx(&["finish", "--yes", "--json"]).fails_with(1);
    assert!(blockers(&held).contains("brief_check_missing"), "{held}");
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn the_key_of_a_role_runs_a_check_of_the_targets_policy_and_none_of_a_base_alone() {
    let policy = "[approve]\nroles = { ci = [\"*<ada@example.org>\"] }\n[evidence]\nby = [\"ci\"]\n[checks.unit]\nrun = [\"true\"]\n";
    let signers = keys::everybody();
    let d = Drive::planned_with(&[("loopx.toml", policy), ("loopx.signers", &signers)]);
    let run = ["run", "--task", "unit", "--sign"];
    // No plan has to be approved for it: whoever reviewed the policy agreed.
    keys::by(&d, keys::ADA, &run).ok();
    d.git(&["switch", "--quiet", "main"]).ok();
    let other = policy.replace("\"true\"", "\"false\"");
    d.commit_file("loopx.toml", &other, "other words").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    keys::by(&d, keys::ADA, &run)
        .fails_with(1)
        .says("[checks] of its target has other words");
}

#[test]
fn the_audit_says_which_check_the_policy_asks_for() {
    let s = quick(UNIT);
    edit_code(&s);
    let out = s.loopx(&["-v", "status"]);
    let told = out
        .stdout
        .lines()
        .any(|line| line.contains("unit") && line.ends_with("(of loopx.toml)"));
    assert!(told, "{out}");
}
