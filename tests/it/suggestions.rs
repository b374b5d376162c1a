//! A suggested command works when it is typed (design 4, rule 6), also where `--session` named a session
//! that would not be meant without it.

use crate::support::store::READY;
use crate::support::{LOOPX, Output, Sandbox};

/// Two sessions that no branch is bound to.
fn two_sessions() -> Sandbox {
    let s = Sandbox::new();
    s.loopx(&["init"]).ok();
    for id in ["first", "second"] {
        s.loopx(&["start", "--no-branch", id]).ok();
    }
    s
}

/// Types a suggested command.
fn typed(s: &Sandbox, suggestion: &str) -> Output {
    let words = suggestion.strip_prefix("git loopx ").expect("a command");
    let words: Vec<&str> = words.split(' ').collect();
    s.call(LOOPX).args(&words).env("GIT_EDITOR", "true").run()
}

#[test]
fn what_is_suggested_names_the_session_that_had_to_be_named() {
    let s = two_sessions();
    let status = s.loopx(&["-s", "second", "--json", "status"]).json();
    let next = status["next_action"].as_str().expect("a command");
    assert_eq!(next, "git loopx -s second edit spec.md");
    assert_eq!(status["blockers"][0]["help"], next);
    let text = s.loopx(&["-s", "second", "status"]).ok();
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
    for _ in 0..3 {
        let status = s.loopx(&["-s", "second", "--json", "status"]).json();
        let next = status["next_action"]
            .as_str()
            .expect("a command")
            .to_owned();
        typed(&s, &next).ok();
        seen.push(next);
    }
    let wanted = ["approve --to plan", "plan", "edit plan.md"];
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
