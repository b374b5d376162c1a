//! Hints where a session changed its profile: the file that its check stands in, the stage that it goes on from, and
//! the profile that a path asks for.

use crate::support::{Output, Sandbox};

const PLAN: &str =
    "---\nscope: []\n---\n# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n";
const UNCHANGED: &str = "---\nbehaviour: unchanged\nreason: a refactoring\n---\n";
const TASK: &str = r#"{"id":"T-1","title":"T","convergence":{"criteria":["C"],"verification":{"cmd":["sh","check.sh"]}}}"#;

fn repository(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::new();
        s.write("src/a", "one\n");
        s.write("check.sh", "grep -q . src/a\n");
        s.write("loopx.toml", policy);
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "First"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s
    })
}

/// Output of `next`.
fn next(s: &Sandbox) -> String {
    s.loopx(&["next"]).ok().trim().to_owned()
}

fn types(s: &Sandbox, command: &str) -> Output {
    s.call("sh").args(&["-c", command]).run()
}

/// A quick session with code and a check, in review.
fn in_review(s: &Sandbox) {
    s.loopx(&["start", "--quick", "it"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["approve"]).ok();
    s.loopx(&["review"]).ok();
}

#[test]
fn a_review_that_finds_the_plan_wrong_leads_a_quick_session_to_one() {
    let s = repository("");
    in_review(&s);
    let back = [
        "review",
        "--verdict",
        "request-changes",
        "--target",
        "plan",
        "--reason",
        "x",
    ];
    s.loopx(&back).ok();
    let command = next(&s);
    assert!(
        command.starts_with("git loopx profile lite --reason "),
        "{command}"
    );
    types(&s, &command).ok();
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(
        (&status["profile"], &status["stage"]),
        (&"lite".into(), &"plan".into())
    );
    let brief = s.loopx(&["cat", "brief.md"]).ok();
    assert!(brief.contains("delta: change/spec-delta.md"), "{brief}");
    s.loopx(&["fsck", "--full"]).ok();
}

#[test]
fn a_session_in_review_gets_every_profile_that_there_is() {
    let s = repository("");
    in_review(&s);
    for (profile, stage) in [
        ("standard", "clarify"),
        ("lite", "plan"),
        ("quick", "build"),
    ] {
        s.loopx(&["profile", profile, "--reason", "x"]).ok();
        let status = s.loopx(&["--json", "status"]).json();
        assert_eq!(status["stage"], stage, "{status:#}");
        let name = format!("it-{profile}");
        s.git(&["switch", "--quiet", "-c", &name, "main"]).ok();
        s.loopx(&["start", "--quick", "--id", &name, "Another"])
            .ok();
        s.commit_file("src/a", &name, "Another").ok();
        s.loopx(&["run", "--", "sh", "check.sh"]).ok();
        s.loopx(&["approve"]).ok();
        s.loopx(&["review"]).ok();
        if profile == "lite" {
            lite_in_review(&s);
        }
    }
}

/// A lite session that went through its plan, in review.
fn lite_in_review(s: &Sandbox) {
    s.git(&["switch", "--quiet", "-c", "light", "main"]).ok();
    s.loopx(&["start", "--profile", "lite", "Light"]).ok();
    s.write(".loopx/light/plan.md", PLAN);
    s.write(".loopx/light/change/spec-delta.md", UNCHANGED);
    s.write(".loopx/light/tasks.jsonl", format!("{TASK}\n"));
    s.loopx(&["approve", "--enter"]).ok();
    s.commit_file("src/a", "light\n", "Light").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve"]).ok();
    s.loopx(&["review"]).ok();
}

#[test]
fn a_quick_session_that_becomes_a_lite_one_plans_its_check_and_arrives() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["profile", "lite"]).ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", UNCHANGED);
    // No check stands anywhere, and a list without a task is not written.
    assert_eq!(next(&s), "git loopx plan");
    types(&s, "git loopx plan").ok();
    assert_eq!(next(&s), "git loopx edit tasks.jsonl");
    s.write(".loopx/it/tasks.jsonl", format!("{TASK}\n"));
    assert_eq!(next(&s), "git loopx approve --enter");
    types(&s, &next(&s)).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    types(&s, &next(&s)).ok();
    assert_eq!(next(&s), "git loopx finish --yes");
    types(&s, &next(&s)).ok();
}

#[test]
fn a_check_of_the_brief_that_a_session_began_with_is_enough_for_its_plan() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["profile", "lite"]).ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", UNCHANGED);
    types(&s, &next(&s)).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    types(&s, &next(&s)).ok();
    assert_eq!(next(&s), "git loopx finish --yes");
}

#[test]
fn a_list_of_tasks_that_no_amendment_could_take_is_checked_out_again() {
    for broken in [None, Some("no list\n")] {
        let s = repository("");
        lite_in_build(&s);
        let path = s.path().join(".loopx/light/tasks.jsonl");
        match broken {
            None => std::fs::remove_file(&path).expect("remove"),
            Some(text) => std::fs::write(&path, text).expect("write"),
        }
        assert_eq!(next(&s), "git loopx checkout --force tasks.jsonl");
        types(&s, &next(&s)).ok();
        assert!(!s.loopx(&["next"]).stdout.contains("checkout"));
    }
}

/// A lite session whose plan was approved.
fn lite_in_build(s: &Sandbox) {
    s.loopx(&["start", "--profile", "lite", "Light"]).ok();
    s.write(".loopx/light/plan.md", PLAN);
    s.write(".loopx/light/change/spec-delta.md", UNCHANGED);
    s.write(".loopx/light/tasks.jsonl", format!("{TASK}\n"));
    s.loopx(&["approve", "--enter"]).ok();
}

const DEMAND: &str = "[profiles.demand]\n\"src/payments/**\" = \"standard\"\n";

#[test]
fn a_path_that_demands_a_profile_holds_the_gate_and_next_says_which() {
    let s = repository(DEMAND);
    s.loopx(&["start", "--quick", "it"]).ok();
    s.commit_file("src/payments/a", "two\n", "Two").ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    let command = next(&s);
    assert_eq!(command, "git loopx profile standard");
    let said = s
        .loopx(&["finish", "--yes", "--json"])
        .fails_with(1)
        .error_json();
    let blockers = said["error"]["blockers"].to_string();
    assert!(blockers.contains("profile_too_light"), "{said:#}");
    types(&s, &command).ok();
    assert_eq!(s.loopx(&["--json", "status"]).json()["stage"], "clarify");
}

#[test]
fn a_policy_of_the_target_that_has_moved_is_taken_before_a_session_is_finished() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    assert_eq!(next(&s), "git loopx finish --yes");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file(
        "loopx.toml",
        "[review]\nindependence = \"require\"\n",
        "Policy",
    )
    .ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    assert_eq!(next(&s), "git merge main");
    types(&s, "git merge --quiet --no-edit main").ok();
    types(&s, &next(&s)).ok();
    let command = next(&s);
    assert!(command.starts_with("git loopx rebase --onto "), "{command}");
    types(&s, &command).ok();
    assert_eq!(next(&s), "git loopx approve --enter");
}

#[test]
fn a_hint_names_no_command_that_nobody_knows_to_be_one() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run"])
        .fails_with(2)
        .says("run the command that shows that the change works, behind `git loopx run --`");
    // Who alone can go on is no command that is next.
    let s = repository("[review]\nindependence = \"require\"\n");
    in_review_alone(&s);
    let said = s.loopx(&["finish", "--yes"]).fails_with(6);
    assert!(!said.stdout.contains("next: ask"), "{said}");
    said.says("now: ask somebody else to run: git loopx review --verdict approve");
}

/// A quick session with a check that has passed.
fn in_review_alone(s: &Sandbox) {
    s.loopx(&["start", "--quick", "it"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
}

#[test]
fn on_a_branch_without_a_commit_the_code_is_written_first() {
    let s = Sandbox::new();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    let said = s.loopx(&["next"]).fails_with(6);
    assert!(said.stderr.contains("write the code"), "{said}");
}

#[test]
fn where_git_has_no_editor_the_way_without_one_is_named() {
    let s = repository("");
    s.loopx(&["start", "--profile", "lite", "it"]).ok();
    let call = s.call(crate::support::LOOPX).args(&["edit", "plan.md"]);
    let call = call.env("TERM", "dumb").without_env("GIT_EDITOR");
    let said = call
        .without_env("VISUAL")
        .without_env("EDITOR")
        .run()
        .fails_with(1);
    insta::assert_snapshot!(said.steady(), @"
    $ git-loopx edit plan.md
    --- stderr
    refused: git has no editor for this terminal: neither GIT_EDITOR, core.editor, VISUAL nor EDITOR names one

    hint: write $ROOT/repo/.loopx/it/plan.md in another program, then: git loopx save  (git var GIT_EDITOR says which editor git takes)
    --- exit 1
    ");
}
