//! Several sessions archived in one go: all or none, in the order in which they wait for each other.

use crate::support::archive::{DEMO, DEMO_PATH, REWORD, SHORTEN, World, Yard, adds, shortened};
use crate::support::{LOOPX, Output};
use serde_json::Value;
use std::time::Duration;

/// Makes `Session timeout` say more, without touching the line that [`SHORTEN`] changes.
const WARN: &str = "# Domain: demo

## MODIFIED Requirements

### Requirement: Session timeout

#### ADDED Scenario: Warned
- **WHEN** a session is about to end
- **THEN** its person is warned
";

fn after(ids: &str, delta: &str) -> String {
    format!("---\ndepends_on: [{ids}]\n---\n{delta}")
}

/// Sessions that are done, each on a branch of its own from the same commit; `main` is checked out.
fn yard(sessions: &[(&str, &str)]) -> Yard {
    Yard::once(format!("{sessions:?}"), || {
        let y = Yard::new();
        for (id, delta) in sessions {
            y.done(id, delta);
            y.git(&["switch", "--quiet", "main"]).ok();
        }
        y
    })
}

/// `one`, `two` and `three`, each waiting for the one before.
fn chain() -> Yard {
    yard(&[
        ("one", SHORTEN),
        ("two", &after("one", WARN)),
        ("three", &after("two", &adds("Lockout"))),
    ])
}

const CHAIN: [&str; 3] = ["one", "two", "three"];

fn archive(y: &Yard, args: &[&str]) -> Output {
    y.loopx(&[&["--json", "archive"], args].concat())
}

/// A refusal that changes nothing.
#[track_caller]
fn refused(y: &Yard, args: &[&str], code: i32, error: &str) -> Value {
    let before = y.world();
    let out = archive(y, args).fails_with(code);
    let found = out.error_json()["error"].take();
    assert_eq!(found["code"], error, "{out}");
    unchanged(y, &before, &out);
    found
}

#[track_caller]
fn unchanged(y: &Yard, before: &World, out: &Output) {
    let after = y.world();
    assert_eq!(after.refs, before.refs, "{out}");
    assert!(after == *before, "the index or a file changed\n{out}");
    assert!(y.journal().is_empty(), "a note was left");
}

fn ids(document: &Value) -> Vec<&str> {
    let sessions = document["sessions"].as_array().expect("sessions");
    sessions
        .iter()
        .map(|one| one["session"].as_str().expect("an id"))
        .collect()
}

fn subjects(y: &Yard, range: &str) -> Vec<String> {
    let log = y.git(&["log", "--reverse", "--format=%s", range]).ok();
    log.lines().map(str::to_owned).collect()
}

#[test]
fn who_is_waited_for_goes_first_with_one_commit_each_and_one_move_of_each_branch() {
    let y = chain();
    let (main, loopx) = (y.rev("main"), y.rev("loopx"));
    let moves = |branch: &str| y.git(&["reflog", branch]).ok().lines().count();
    let moved = (moves("main"), moves("loopx"));
    let out = archive(&y, &["three", "one", "two", "--onto", "main"]);
    let said = out.json();
    out.ok();
    assert_eq!(ids(&said), CHAIN);
    assert_eq!(said["target"], "main");
    assert_eq!(
        subjects(&y, &format!("{main}..main")),
        CHAIN.map(|id| format!("Archive {id}: {id}"))
    );
    assert_eq!(
        subjects(&y, &format!("{loopx}..loopx")),
        CHAIN.map(|id| format!("{id}: archive on main"))
    );
    assert_eq!((moves("main"), moves("loopx")), (moved.0 + 1, moved.1 + 1));
    let text = y.read(DEMO_PATH);
    assert!(text.contains("after 10 minutes.\n"), "{text}");
    assert!(text.contains("#### Scenario: Warned\n"), "{text}");
    for (id, one) in CHAIN
        .iter()
        .zip(said["sessions"].as_array().expect("a list"))
    {
        y.archived_once("main", id);
        assert_eq!(
            y.archive_commits("main", id),
            [one["commit"].as_str().expect("a commit")]
        );
        assert!(!y.exists(format!(".loopx/{id}")));
    }
    y.clean();
    refused(&y, &["one", "two", "--onto", "main"], 5, "archived_already");
}

#[test]
fn a_dry_run_of_several_shows_what_each_adds_and_writes_nothing() {
    let y = chain();
    let before = y.world();
    let out = archive(&y, &["three", "two", "one", "--onto", "main", "-n"]);
    unchanged(&y, &before, &out);
    let dry = out.json();
    out.ok();
    let real = archive(&y, &["one", "two", "three", "--onto", "main"]);
    let (real, _) = (real.json(), real.ok());
    assert_eq!(ids(&dry), ids(&real));
    for (dry, real) in [0, 1, 2].map(|at| (&dry["sessions"][at], &real["sessions"][at])) {
        assert_eq!(dry["files"], real["files"]);
        assert!(dry["commit"].is_null());
        let commit = real["commit"].as_str().expect("a commit");
        let patch = y.git(&["show", "--format=", commit]).ok();
        let lines = |text: &str| -> Vec<String> {
            let changed = |line: &&str| line.starts_with(['+', '-']);
            text.lines().filter(changed).map(str::to_owned).collect()
        };
        let shown = dry["files"][0]["diff"].as_str().expect("a diff");
        assert_eq!(lines(shown), lines(&patch));
    }
}

#[test]
fn a_conflict_in_the_third_leaves_the_first_two_unarchived_and_the_way_on_works() {
    let y = yard(&[
        ("one", &adds("Lockout")),
        ("two", SHORTEN),
        ("three", REWORD),
    ]);
    for dry in [&[][..], &["--dry-run"]] {
        let args = [&["one", "two", "three", "--onto", "main"], dry].concat();
        let failure = refused(&y, &args, 3, "archive_conflict");
        assert_eq!(failure["blockers"][0]["code"], "requirement_conflict");
        assert_eq!(
            failure["help"],
            "git loopx archive one two --onto main, then: git loopx archive three --onto main  \
             (writes both sides of the conflict to files)"
        );
    }
    assert_eq!(y.at("main", DEMO_PATH), DEMO);
    archive(&y, &["one", "two", "--onto", "main"]).ok();
    archive(&y, &["three", "--onto", "main"])
        .fails_with(3)
        .says("archive --continue");
    // A resolution that somebody has begun holds a later run of several.
    let sides = y.sides("three", "demo");
    assert!(sides.contains("<<<<<<<"), "{sides}");
    let resolved = y
        .read(DEMO_PATH)
        .replace("after 10 minutes.", "after 5 minutes.");
    y.resolve("three", "demo", &resolved);
    refused(&y, &["three", "--onto", "main"], 3, "archive_conflict");
    archive(&y, &["three", "--continue"]).ok();
    assert_eq!(y.read(DEMO_PATH), resolved);
    y.archived_once("main", "three");
}

#[test]
fn a_refusal_of_one_holds_all() {
    let y = Yard::new();
    y.git(&["switch", "--quiet", "--create", "other"]).ok();
    y.does(&["start", "other"]);
    for (id, delta) in [
        ("one", SHORTEN.to_owned()),
        ("two", after("other", &adds("Lockout"))),
    ] {
        y.git(&["switch", "--quiet", "main"]).ok();
        y.done(id, &delta);
    }
    let both = ["one", "two", "--onto", "main"];
    let failure = refused(&y, &both, 1, "archive_waits");
    assert_eq!(failure["blockers"][0]["code"], "dependency_open");
    let three = ["one", "two", "other", "--onto", "main"];
    refused(&y, &three, 1, "archive_requires_done_session");
    refused(
        &y,
        &["one", "nobody", "--onto", "main"],
        4,
        "session_unknown",
    );
    // A file in the way is one, too.
    y.git(&["switch", "--quiet", "main"]).ok();
    y.done("four", &adds("Signing out"));
    y.git(&["switch", "--quiet", "main"]).ok();
    y.write(DEMO_PATH, format!("{DEMO}\nmine\n"));
    refused(&y, &["one", "four", "--onto", "main"], 1, "spec_dirty");
}

#[test]
fn sessions_of_different_branches_need_the_branch_to_be_said() {
    let y = yard(&[("one", SHORTEN), ("two", &adds("Lockout"))]);
    let failure = refused(&y, &["one", "two"], 1, "targets_differ");
    let message = failure["message"].as_str().expect("a message");
    assert!(message.contains("one on one; two on two"), "{message}");
    assert_eq!(failure["help"], "git loopx archive one two --onto one");
}

#[test]
fn sessions_that_wait_for_each_other_are_named_in_a_circle() {
    // No gate lets a circle through, but two clones may each close one half.
    let y = Yard::new();
    for id in CHAIN {
        y.git(&["switch", "--quiet", "--create", id, "main"]).ok();
        y.does(&["start", id]);
    }
    let other = Yard::remake(&y.keep());
    let build = |y: &Yard, id: &str, delta: &str| {
        y.git(&["switch", "--quiet", id]).ok();
        y.planned(id, delta);
        y.built(id);
        y.git(&["switch", "--quiet", "main"]).ok();
    };
    build(&y, "one", &after("three", SHORTEN));
    build(&y, "two", &after("one", &adds("Lockout")));
    build(&other, "three", &after("two", &adds("Signing out")));
    let path = other.path().to_str().expect("UTF-8").to_owned();
    y.git(&["remote", "add", "other", &path]).ok();
    y.git(&["fetch", "--quiet", "other", "three:three"]).ok();
    y.does(&["sync", "other"]);
    let failure = refused(
        &y,
        &["two", "one", "three", "--onto", "main"],
        1,
        "dependency_cycle",
    );
    assert_eq!(
        failure["message"],
        "the sessions wait for each other: two -> one -> three -> two"
    );
}

#[test]
fn two_sessions_that_touch_one_requirement_both_stand_whatever_order_they_are_given_in() {
    let kept = yard(&[("one", SHORTEN), ("two", WARN)]).keep();
    let texts = [["one", "two"], ["two", "one"]].map(|order| {
        let y = Yard::remake(&kept);
        archive(&y, &[order[0], order[1], "--onto", "main"]).ok();
        y.read(DEMO_PATH)
    });
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].contains("#### Scenario: Warned\n"), "{}", texts[0]);
    assert!(texts[0].contains("after 10 minutes.\n"), "{}", texts[0]);
}

#[test]
fn one_named_twice_is_one_and_a_continue_is_about_one() {
    let y = yard(&[("one", SHORTEN), ("two", &adds("Lockout"))]);
    for mode in ["--continue", "--abort"] {
        refused(&y, &["one", "two", mode], 2, "several_sessions");
    }
    y.loopx(&["archive", "one", "--undo", "two"]).fails_with(2);
    let out = archive(&y, &["one", "One", "--onto", "main"]);
    assert_eq!(out.json()["session"], "one");
    out.ok();
    assert_eq!(y.read(DEMO_PATH), shortened());
    // What an earlier run archived is refused by name, with the rest.
    let failure = refused(&y, &["one", "two", "--onto", "main"], 5, "archived_already");
    assert_eq!(failure["help"], "git loopx archive two");
}

#[test]
fn what_the_specs_say_already_is_closed_with_the_others_and_without_a_commit() {
    let y = yard(&[("one", SHORTEN), ("two", &adds("Lockout"))]);
    y.commit_file(DEMO_PATH, &shortened(), "By hand").ok();
    let out = archive(&y, &["one", "two", "--onto", "main"]);
    let said = out.json();
    out.ok();
    assert!(said["sessions"][0]["commit"].is_null(), "{said}");
    assert_eq!(subjects(&y, "main~1..main"), ["Archive two: two"]);
    assert_eq!(y.archived().len(), 2);
    y.clean();
}

/// Ends an archive of the chain between its two refs, by a death there.
fn half() -> (Yard, String) {
    let y = chain();
    let args = ["archive", "one", "two", "three", "--onto", "main"];
    let call = y.call(LOOPX).args(&args);
    let out = call.env("LOOPX_FAILPOINT", "target-followed").run();
    assert_eq!(out.code, None, "{out}");
    let note: Value = serde_json::from_str(&y.read(&y.journal()[0])).expect("a note");
    assert_eq!(note["new"], y.rev("main"));
    let tip = y.rev("main");
    (y, tip)
}

#[track_caller]
fn all_archived(y: &Yard) {
    for id in CHAIN {
        y.archived_once("main", id);
        assert!(!y.exists(format!(".loopx/{id}")), "{id}");
    }
}

#[test]
fn what_was_begun_for_several_is_finished_for_all_by_the_next_run() {
    for command in [
        &["archive", "one", "two", "three", "--onto", "main"][..],
        &["archive", "two"],
        &["start", "other", "--no-branch"],
    ] {
        let (y, tip) = half();
        let out = y.loopx(&[&["--json"], command].concat());
        if command[0] == "archive" {
            let said = out.json();
            assert_eq!(ids(&said).len(), command.len().min(4) - 1, "{said}");
            assert_eq!(said["sessions"][0]["finished_earlier"], true);
        }
        out.ok();
        assert_eq!(y.rev("main"), tip, "no second commit after {command:?}");
        all_archived(&y);
        y.clean();
    }
}

#[test]
fn a_kill_before_the_worktree_followed_or_before_the_branch_moved_is_mended() {
    // The branch had moved; index and file had not followed.
    let (y, tip) = half();
    y.git(&["read-tree", "--reset", "-u", "main~3"]).ok();
    assert_eq!(y.read(DEMO_PATH), DEMO);
    archive(&y, &["one", "two", "three", "--onto", "main"]).ok();
    assert_eq!(y.rev("main"), tip);
    all_archived(&y);
    y.clean();
    // The note was there, and the branch had not moved.
    let (y, tip) = half();
    y.git(&["reset", "--quiet", "--hard", "main~3"]).ok();
    archive(&y, &["one", "two", "three", "--onto", "main"]).ok();
    assert_ne!(y.rev("main"), tip, "made anew");
    all_archived(&y);
    y.clean();
    // The note is lost: the commits themselves tell.
    let (y, tip) = half();
    std::fs::remove_file(&y.journal()[0]).expect("the note");
    archive(&y, &["one", "two", "three", "--onto", "main"]).ok();
    assert_eq!(y.rev("main"), tip);
    all_archived(&y);
    y.clean();
}

#[test]
fn a_kill_at_any_moment_archives_all_or_none() {
    let kept = chain().keep();
    for round in 0..16_u64 {
        let y = Yard::remake(&kept);
        let args = ["archive", "one", "two", "three", "--onto", "main"];
        let mut child = y
            .call(LOOPX)
            .args(&args)
            .command()
            .spawn()
            .expect("a process");
        // The one wait that is no synchronisation: it chooses the moment of the kill.
        std::thread::sleep(Duration::from_millis(round * 4));
        child.kill().expect("a kill");
        child.wait().expect("an end");
        let commits = subjects(&y, "main").len();
        assert!(commits == 1 || commits == 4, "round {round}: {commits}");
        let closed = y.archived().len();
        assert!(closed == 0 || closed == 3, "round {round}: {closed}");
        // Killed in the middle of its move it leaves the ref's lock, which the next run knows as ours.
        let out = y.loopx(&args);
        assert!(matches!(out.code, Some(0 | 5)), "round {round}\n{out}");
        all_archived(&y);
        y.clean();
    }
}
