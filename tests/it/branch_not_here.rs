//! A session whose branch is not here as a local branch (Q5): its delta is judged against the commits that are known of
//! that branch, and never against nothing.

use crate::support::{LOOPX, Output, Sandbox};
use std::path::Path;

const SPEC: &str = "specs/session/spec.md";

/// The specs of a domain with so many minutes.
fn spec(minutes: u32) -> String {
    format!(
        "# session\n\n## Purpose\nKeep people logged in between requests, and end before they become a risk.\n\n\
         ## Requirements\n\n{}",
        requirement(minutes)
    )
}

fn requirement(minutes: u32) -> String {
    format!(
        "### Requirement: Idle timeout\nThe system SHALL end a session idle for {minutes} minutes.\n\n\
         #### Scenario: Idle\n- **WHEN** idle {minutes} minutes\n- **THEN** it ends\n"
    )
}

fn brief(minutes: u32) -> String {
    format!(
        "# Fix it\n\n## Why\nBecause it is wrong here.\n\n## Checks\n- `test -f code.txt`\n\n\
         # Domain: session\n\n## MODIFIED Requirements\n\n{}",
        requirement(minutes)
    )
}

fn put(s: &Sandbox, dir: &Path, text: &str) -> Output {
    let call = s.call(LOOPX).cwd(dir);
    call.args(&["-s", "it", "put", "brief.md"])
        .stdin(text)
        .run()
}

/// A session on the branch `t`, which has a commit of its own, while `main` is checked out.
fn away() -> Sandbox {
    let s = Sandbox::new();
    s.write("code.txt", "code\n");
    s.commit_file(SPEC, &spec(30), "specs").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.loopx(&["start", "--quick", "--id", "it", "Fix it"]).ok();
    s
}

/// The delta is in order against the branch, and changes the requirement.
#[track_caller]
fn stands(s: &Sandbox, dir: &Path) {
    let call = |args: &[&str]| s.call(LOOPX).cwd(dir).args(&["-s", "it"]).args(args).run();
    let judged = call(&["change", "validate"]);
    assert_eq!(judged.code, Some(0), "{judged}");
    assert!(!judged.stdout.contains("conflict"), "{judged}");
    let refreshed = call(&["change", "refresh"]);
    assert_eq!(refreshed.code, Some(5), "nothing moved\n{refreshed}");
}

#[test]
fn q5_a_delta_of_a_deleted_branch_is_judged_against_its_last_known_commit() {
    let s = away();
    put(&s, s.path(), &brief(10)).ok();
    s.commit_file("code.txt", "more\n", "own").ok();
    let tip = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["branch", "--quiet", "-D", "t"]).ok();
    stands(&s, s.path());
    s.git(&["switch", "--quiet", "-c", "t", &tip]).ok();
    stands(&s, s.path());
}

#[test]
fn q5_a_delta_that_is_put_where_its_branch_is_not_here_gets_the_base_that_the_branch_has() {
    let s = away();
    s.commit_file("code.txt", "more\n", "own").ok();
    let tip = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["branch", "--quiet", "-D", "t"]).ok();
    put(&s, s.path(), &brief(10)).ok();
    stands(&s, s.path());
    s.git(&["switch", "--quiet", "-c", "t", &tip]).ok();
    stands(&s, s.path());
}

#[test]
fn q5_a_clone_that_has_only_the_remotes_branch_judges_against_that() {
    let s = away();
    // The branch itself has changed the spec.
    s.commit_file(SPEC, &spec(20), "own").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["clone", "--quiet", ".", "../clone"]).ok();
    let clone = s.root().join("clone");
    s.loopx_in(&clone, &["init"]).ok();
    put(&s, &clone, &brief(10)).ok();
    stands(&s, &clone);
    s.git_in(&clone, &["switch", "--quiet", "t"]).ok();
    stands(&s, &clone);
}

#[test]
fn x3_a_clone_that_fetched_nothing_since_asks_for_the_branch_and_begins_none() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "One").ok();
    s.loopx(&["init"]).ok();
    s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
        .ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["clone", "--quiet", "../remote.git", "../other"])
        .ok();
    let other = s.root().join("other");
    s.loopx_in(&other, &["init"]).ok();
    s.commit_file("more.txt", "more\n", "More").ok();
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.loopx(&["start", "--quick", "--id", "it", "Fix it"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.git(&["push", "--quiet", "origin", "main", "t"]).ok();
    s.loopx(&["sync", "origin"]).ok();
    s.loopx_in(&other, &["sync", "origin"]).ok();
    let next = s.loopx_in(&other, &["-s", "it", "next"]).line();
    assert_eq!(next, "git fetch origin t:t");
    let status = s.loopx_in(&other, &["--json", "-s", "it", "status"]).json();
    assert_eq!(
        status["advice"],
        "the branch t is not here, and neither is the commit that the session starts from"
    );
    s.call("sh").cwd(&other).args(&["-c", &next]).run().ok();
    let tip = s.git(&["rev-parse", "t"]).line();
    assert_eq!(s.git_in(&other, &["rev-parse", "t"]).line(), tip);
    let next = s.loopx_in(&other, &["-s", "it", "next"]).line();
    assert_eq!(next, "git switch t");
}
