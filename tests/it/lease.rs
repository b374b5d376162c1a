//! A build belongs to a worktree: others wait, take it over visibly, and builds of two sessions run
//! side by side.

use crate::support::drive::{Drive, ID};
use crate::support::{Call, LOOPX, Output, session};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Long after every lease that begins in a test's first hours.
const LATER: &str = "1767312000 +0000";

/// A linked worktree on a branch of its own; the session is named to it.
fn other(d: &Drive) -> PathBuf {
    let dir = d.root().join("other");
    let path = dir.to_str().expect("UTF-8");
    d.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    dir
}

fn call<'a>(d: &'a Drive, dir: &Path, args: &[&str]) -> Call<'a> {
    d.call(LOOPX)
        .cwd(dir)
        .env("LOOPX_SESSION", ID)
        .args(&["--json"])
        .args(args)
}

#[must_use]
fn there(d: &Drive, dir: &Path, args: &[&str]) -> Output {
    call(d, dir, args).run()
}

#[must_use]
fn later(d: &Drive, dir: &Path, args: &[&str]) -> Output {
    call(d, dir, args)
        .env("GIT_COMMITTER_DATE", LATER)
        .env("GIT_AUTHOR_DATE", LATER)
        .run()
}

fn claims(d: &Drive) -> Vec<Value> {
    let log = d.does(&["log"]);
    let operations = log["operations"].as_array().expect("operations");
    operations
        .iter()
        .map(|op| op["body"]["claim"].clone())
        .filter(|claim| !claim.is_null())
        .collect()
}

#[test]
fn a_build_step_from_another_worktree_waits_and_writes_nothing() {
    let d = Drive::building();
    let other = other(&d);
    let steps: [&[&str]; 5] = [
        &["build"],
        &["build", "--report", "execution=complete"],
        &["build", "--report", "deslop=complete"],
        &["build", "--delegate", "worker=active"],
        &["run", "--", "touch", "it-ran"],
    ];
    for args in steps {
        d.fails_as(6, |d| there(d, &other, args))
            .is("build_held", &[])
            .names("Ada Author <ada@example.org>, worktree ")
            .names(" until 2026-01-01T02:00:");
    }
    assert!(!d.exists("../other/it-ran"), "the command was run");
}

#[test]
fn a_worktree_is_named_by_its_folder_and_one_of_another_clone_as_such() {
    let d = Drive::building();
    let other = other(&d);
    let reason = "it goes on there";
    let over = ["build", "--take-over", "--reason", reason];
    there(&d, &other, &over).ok();
    let log = |dir: &Path| {
        let call = d.call(LOOPX).cwd(dir).env("LOOPX_SESSION", ID);
        call.args(&["log"]).run().ok()
    };
    let here = log(d.path());
    assert!(here.contains("taken over from this worktree"), "{here}");
    let said = "taken over from Ada Author <ada@example.org>, worktree ../repo";
    assert!(log(&other).contains(said), "{}", log(&other));
    let refused = d.loopx(&["build"]).fails_with(6);
    let said = "(Ada Author <ada@example.org>, worktree ../other)";
    assert!(refused.stderr.contains(said), "{refused}");
    let remote = d.root().join("remote.git");
    let clone = d.root().join("clone");
    let (remote, path) = (
        remote.to_str().expect("UTF-8"),
        clone.to_str().expect("UTF-8"),
    );
    d.git(&["clone", "--quiet", "--bare", ".", remote]).ok();
    d.git(&["clone", "--quiet", remote, path]).ok();
    d.loopx_in(&clone, &["init"]).ok();
    let refused = d.loopx_in(&clone, &["-s", ID, "build"]).fails_with(6);
    let said = "(Ada Author <ada@example.org>, in no worktree of this clone)";
    assert!(refused.stderr.contains(said), "{refused}");
    let away = log(&clone);
    let said = "taken over from Ada Author <ada@example.org>, in no worktree of this clone";
    assert!(away.contains(said), "{away}");
}

#[test]
fn what_others_say_of_a_build_needs_no_claim() {
    let d = Drive::building();
    let other = other(&d);
    let steps: [&[&str]; 4] = [
        &["status"],
        &["build", "--report", "architect=complete"],
        &["build", "--waive", "VS-1", "--reason", "seen by eye"],
        &["build", "--more", "1", "--reason", "one more"],
    ];
    for args in steps {
        there(&d, &other, args).ok();
    }
    assert_eq!(claims(&d).len(), 1);
}

#[test]
fn somebody_who_works_alone_claims_once() {
    let d = Drive::reviewing();
    let claims = claims(&d);
    assert_eq!(claims.len(), 1, "{claims:#?}");
    let text = claims[0].to_string();
    assert!(!text.contains('/'), "a path in {text}");
    assert!(d.state()["build"]["claim"].is_null(), "the build is over");
}

#[test]
fn a_claim_is_renewed_by_the_steps_themselves_when_half_of_it_is_gone() {
    let d = Drive::planned();
    d.git(&["config", "loopx.lease", "8"]).ok();
    d.does(&["approve", "--to", "build"]);
    d.does(&["build"]);
    // Every command takes a second of the sandbox's clock.
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(claims(&d).len(), 1, "renewed at once");
    for _ in 0..4 {
        d.does(&["status"]);
    }
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(claims(&d).len(), 2, "not renewed");
    assert!(!d.events().contains(&"claimed".to_owned()));
}

#[test]
fn a_build_whose_lease_ended_is_taken_over_visibly() {
    let d = Drive::building();
    let other = other(&d);
    let before = d.events();
    later(&d, &other, &["build", "--delegate", "w=complete"]).ok();
    assert_eq!(d.events().len(), before.len() + 1, "one command, one event");
    let subject = d.git(&["log", "-1", "--format=%s", "loopx"]).line();
    assert_eq!(
        subject,
        "demo: delegation w: complete; takes the build over from Ada Author <ada@example.org>"
    );
    let out = call(&d, &other, &["status"]).run();
    let claim = out.json()["claim"].clone();
    assert_eq!(claim["here"], true);
    let from = claim["taken_from"].as_str().expect("a name");
    assert!(from.starts_with("Ada Author"), "{from}");
    d.call(LOOPX)
        .args(&["status"])
        .env("GIT_COMMITTER_DATE", LATER)
        .run()
        .says("taken over from this worktree after its lease")
        .ok();
    // Who lost it waits like anybody else.
    later(&d, d.path(), &["build"]).fails_with(6);
}

#[test]
fn taking_over_before_the_lease_ends_needs_a_word_and_a_reason() {
    let d = Drive::building();
    let other = other(&d);
    d.fails_as(2, |d| there(d, &other, &["build", "--take-over"]))
        .is("reason_required", &[]);
    d.fails(5, &["build", "--take-over", "--reason", "mine"])
        .is("build_is_yours", &[]);
    let out = there(
        &d,
        &other,
        &["build", "--take-over", "--reason", "Ada is ill"],
    );
    let done = out.json();
    out.ok();
    assert_eq!(done["claim"]["over"]["alive"], true, "{done:#}");
    assert_eq!(d.events().last().map(String::as_str), Some("claimed"));
    let status = d.loopx(&["status"]);
    status.says("before its lease ended").ok();
    d.fails(6, &["run", "--task", "VS-1"]).is("build_held", &[]);
    there(&d, &other, &["run", "--task", "VS-1"]).ok();
}

#[test]
fn undo_passes_over_a_claim_to_what_a_person_did() {
    let d = Drive::building();
    let other = other(&d);
    there(&d, &other, &["build", "--take-over", "--reason", "x"]).ok();
    d.does(&["undo"]);
    assert_eq!(d.stage(), "plan");
    let state = d.state();
    assert_eq!(state["conflicts"].as_array().map(Vec::len), Some(0));
    assert!(state["build"]["claim"].is_null(), "{state:#}");
    // Whoever enters it now has it.
    d.does(&["build"]);
    assert_eq!(d.status()["claim"]["here"], true);
}

#[test]
fn two_builds_run_side_by_side_in_two_worktrees() {
    let s = session::at("build", "", "");
    session::start(&s, "second");
    session::advance(&s, "clarify", "build", "");
    s.git(&["switch", "--quiet", "demo"]).ok();
    let other = s.root().join("other");
    let path = other.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", path, "second"]).ok();
    s.loopx_in(&other, &["run", "--task", "VS-1"]).fails_with(6);
    s.loopx_in(
        &other,
        &["build", "--take-over", "--reason", "it goes on here"],
    )
    .ok();
    for _ in 0..2 {
        s.loopx(&["run", "--task", "VS-1"]).ok();
        s.loopx_in(&other, &["run", "--task", "VS-1"]).ok();
    }
    for (dir, id) in [(s.path(), "demo"), (other.as_path(), "second")] {
        let status = s.loopx_in(dir, &["--json", "status"]).json();
        assert_eq!(status["session"], id);
        assert_eq!(status["claim"]["here"], true, "{status:#}");
    }
}

#[test]
fn a_lease_that_is_no_number_is_named() {
    let d = Drive::building();
    d.git(&["config", "loopx.lease", "two hours"]).ok();
    d.fails(2, &["build"])
        .is("lease_invalid", &[])
        .names("two hours");
}
