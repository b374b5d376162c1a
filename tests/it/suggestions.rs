//! A suggested command works when it is typed (design 4, rule 6), also where `--session` named a session
//! that would not be meant without it.

use crate::support::store::READY;
use crate::support::{LOOPX, Output, Sandbox};
use std::path::Path;

/// Two sessions that no branch is bound to.
fn two_sessions() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.loopx(&["init"]).ok();
        for id in ["first", "second"] {
            s.loopx(&["start", "--no-branch", id]).ok();
        }
        s
    })
}

/// Types a suggested command.
fn typed(s: &Sandbox, suggestion: &str) -> Output {
    typed_in(s, s.path(), suggestion)
}

fn typed_in(s: &Sandbox, dir: &Path, suggestion: &str) -> Output {
    let words = suggestion.strip_prefix("git loopx ").expect("a command");
    let words: Vec<&str> = words.split(' ').collect();
    s.call(LOOPX)
        .cwd(dir)
        .args(&words)
        .env("GIT_EDITOR", "true")
        .run()
}

#[test]
fn what_is_suggested_names_the_session_that_had_to_be_named() {
    let s = two_sessions();
    let status = s.loopx(&["-s", "second", "--json", "status"]).json();
    let next = status["next_action"].as_str().expect("a command");
    assert_eq!(next, "git loopx -s second edit spec.md");
    assert_eq!(status["blockers"][0]["help"], next);
    let text = s.loopx(&["-v", "-s", "second", "status"]).ok();
    assert!(text.ends_with(&format!("next: {next}\n")), "{text}");
    assert!(text.contains(&format!("      {next}\n")), "{text}");
    let out = typed(&s, next);
    assert!(matches!(out.code, Some(0 | 5)), "{out}");
}

#[test]
fn a_refusal_names_it_too() {
    let s = two_sessions();
    let approve = ["-s", "second", "approve", "--to", "plan"];
    s.loopx(&approve)
        .fails_with(1)
        .says("hint: git loopx -s second edit spec.md");
    let json = [&approve[..], &["--json"]].concat();
    let error = s.loopx(&json).fails_with(1).error_json();
    assert_eq!(
        error["error"]["blockers"][0]["help"],
        "git loopx -s second edit spec.md"
    );
}

#[test]
fn each_suggestion_leads_on_to_the_next_stage() {
    let s = two_sessions();
    let put = ["-s", "second", "put", "spec.md"];
    s.call(LOOPX).args(&put).stdin(READY).run().ok();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let status = s.loopx(&["-s", "second", "--json", "status"]).json();
        let next = status["next_action"]
            .as_str()
            .expect("a command")
            .to_owned();
        typed(&s, &next).ok();
        seen.push(next);
    }
    let wanted = ["approve --enter", "edit plan.md"];
    assert_eq!(
        seen,
        wanted.map(|what| format!("git loopx -s second {what}"))
    );
}

#[test]
fn a_session_that_is_meant_anyway_is_not_named() {
    let s = two_sessions();
    s.loopx(&["use", "second"]).ok();
    let next = |args: &[&str]| s.loopx(args).json()["next_action"].clone();
    let named = next(&["-s", "second", "--json", "status"]);
    assert_eq!(named, "git loopx edit spec.md");
    let other = next(&["-s", "first", "--json", "status"]);
    assert_eq!(other, "git loopx -s first edit spec.md");
    let call = s.call(LOOPX).args(&["--json", "status"]);
    let from_environment = call.env("LOOPX_SESSION", "first").run().json();
    assert_eq!(from_environment["next_action"], "git loopx edit spec.md");
}

#[test]
fn on_a_detached_head_no_branch_is_bound_that_is_not_there() {
    let s = two_sessions();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    let out = s.loopx(&["status"]).fails_with(2);
    assert!(
        out.stderr.contains("hint: git loopx -s first status"),
        "{out}"
    );
    assert!(!out.stderr.contains("use first"), "{out}");
    // A session that begins there has to be named.
    let started = s.loopx(&["--json", "start", "third"]).json();
    let next = started["next_action"].as_str().expect("a hint");
    assert!(
        next.starts_with("git loopx -s third edit spec.md"),
        "{next}"
    );
    let draft = s.loopx(&["--json", "adr", "new", "Keep it"]).json();
    let next = draft["next_action"].as_str().expect("a command");
    assert_eq!(
        next,
        "git loopx adr promote docs/adr/draft-keep-it.md --onto BRANCH"
    );
    s.git(&["branch", "--quiet", "here"]).ok();
    typed(&s, &next.replace("BRANCH", "here")).ok();
    // The branch of a session is gone.
    s.git(&["switch", "--quiet", "-c", "gone"]).ok();
    s.loopx(&["use", "first"]).ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    s.git(&["branch", "--quiet", "-D", "gone"]).ok();
    let status = s.loopx(&["-s", "first", "--json", "status"]).json();
    let tip = s.git(&["rev-parse", "--short=10", "HEAD"]).line();
    let next = status["next_action"].as_str().expect("a command");
    assert_eq!(next, format!("git switch -c gone {tip}"));
    s.call("sh").args(&["-c", next]).run().ok();
}

#[test]
fn in_a_bare_repository_a_worktree_is_added_before_an_artifact_is_edited() {
    let s = two_sessions();
    s.commit_file("code.txt", "code\n", "code").ok();
    let bare = s.root().join("bare.git");
    let path = bare.to_str().expect("UTF-8");
    s.git(&["clone", "--quiet", "--bare", ".", path]).ok();
    let status = s.loopx_in(&bare, &["-s", "second", "--json", "status"]);
    let status = status.json();
    let next = status["next_action"].as_str().expect("a command");
    let wanted = "git worktree add ../work  (and there: git loopx -s second edit spec.md)";
    assert_eq!(next, wanted);
    s.loopx_in(&bare, &["-s", "second", "status"])
        .says(&format!("next: {wanted}"))
        .ok();
    s.git_in(&bare, &["worktree", "add", "--quiet", "../work"])
        .ok();
    let edit = typed_in(
        &s,
        &s.root().join("work"),
        "git loopx -s second edit spec.md",
    );
    assert!(matches!(edit.code, Some(0 | 5)), "{edit}");
    let list = s.loopx_in(&bare, &["adr", "list"]).ok();
    assert!(!list.contains("adr new"), "{list}");
}

#[test]
fn an_edit_of_what_the_stage_closed_leads_to_the_checkout_and_no_command_runs_before() {
    let s = crate::support::session::at("build", "", "");
    s.loopx(&["checkout"]).ok();
    s.write(".loopx/demo/plan.md", "# Another plan\n");
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["next_action"], "git loopx checkout --force plan.md");
    s.loopx(&["run", "--", "touch", "ran"])
        .fails_with(1)
        .says("plan.md is closed in stage build");
    assert!(!s.exists("ran"), "an hour of tests would be lost");
    s.loopx(&["checkout", "--force", "plan.md"]).ok();
    s.loopx(&["run", "--", "touch", "ran"]).ok();
}

#[test]
fn a_review_of_nothing_and_a_name_that_is_taken_lead_to_commands_that_work() {
    let s = crate::support::session::at("build", "", "[gates]\nprotected = [\"main\"]\n");
    crate::support::session::advance(&s, "build", "review", "");
    s.loopx(&["undo"]).ok();
    s.loopx(&["review"])
        .says("git loopx review --verdict approve --reason 'no file differs'")
        .ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    let taken = s.loopx(&["--json", "start", "demo"]).fails_with(1);
    assert_eq!(
        taken.error_json()["error"]["help"],
        "git loopx -s demo status"
    );
    s.loopx(&["use", "demo"])
        .fails_with(2)
        .says("git switch demo");
}

#[test]
fn a_signed_review_of_nothing_is_asked_for_with_its_reason() {
    let policy = "[gates]\nprotected = [\"main\"]\n[review]\nsigned = true\n";
    let s = crate::support::session::at("review", "", policy);
    s.loopx(&["review", "--verdict", "approve"])
        .fails_with(1)
        .says("git loopx review --verdict approve --reason 'no file has to change' --sign");
    s.loopx(&["review", "--verdict", "approve", "--reason", "only words"])
        .fails_with(1)
        .says("git loopx review --verdict approve --reason 'only words' --sign");
}
