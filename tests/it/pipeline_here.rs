//! The code that pipelines are read from: that of the session of the branch that is checked out, else the branch itself.

use crate::support::Sandbox;

fn words(s: &Sandbox, line: &str) -> crate::support::Output {
    s.loopx(&line.split(' ').collect::<Vec<_>>())
}

/// A session on the branch `work`, and a broken pipeline on `main` behind its base.
fn begun() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    words(&s, "init").ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    words(&s, "start --profile lite demo").ok();
    s
}

#[test]
fn n17_without_a_session_here_pipelines_are_those_of_the_code_that_is_checked_out() {
    let s = begun();
    s.git(&["switch", "--quiet", "-"]).ok();
    s.commit_file("loopx/pipelines/bad.toml", "title = 3\n", "Bad")
        .ok();
    for line in [
        "pipeline check",
        "pipeline check --strict",
        "pipeline check bad",
    ] {
        words(&s, line)
            .says("loopx/pipelines/bad.toml:1")
            .fails_with(1);
    }
    words(&s, "pipeline list").says("bad: ").ok();
    // Whoever names the session asks about its code.
    words(&s, "-s demo pipeline check").says("0 pipelines").ok();
}

#[test]
fn n17_pipelines_that_are_newer_than_the_session_are_named() {
    let s = begun();
    s.commit_file("loopx/pipelines/bad.toml", "title = 3\n", "Bad")
        .ok();
    for line in ["pipeline check", "pipeline list"] {
        words(&s, line)
            .says("loopx/pipelines/bad.toml: newer than session demo")
            .says("git loopx pipeline check loopx/pipelines/bad.toml")
            .ok();
    }
    let checked = words(&s, "pipeline check --json").json();
    assert_eq!(checked["newer"]["files"][0], "loopx/pipelines/bad.toml");
    words(&s, "pipeline check loopx/pipelines/bad.toml").fails_with(1);
}

#[test]
fn without_a_session_here_prompts_are_those_of_the_code_that_is_checked_out() {
    let s = begun();
    s.git(&["switch", "--quiet", "-"]).ok();
    s.commit_file("loopx/prompts/planner.md", "Ours.\n", "Prompt")
        .ok();
    words(&s, "agent prompt --check").says("loopx/prompts/planner.md");
    // Whoever names the session asks about its code.
    let of_session = words(&s, "-s demo agent prompt planner").ok();
    assert!(!of_session.contains("Ours."), "{of_session}");
}
