//! Points: a code commit and a state of the session under one name, and the way back to both.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::tasks::{building, clones_building, refuses, statuses, task, text};
use serde_json::Value;

/// A session in the build with two tasks; the first is done behind the point `before`.
fn gone_on() -> Sandbox {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    s.loopx(&["point", "add", "before", "--reason", "the move begins"])
        .says("the point before is")
        .ok();
    s.commit_file("code.txt", "two\n", "Second").ok();
    s.commit_file("more.txt", "more\n", "More").ok();
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "done"]).ok();
    s
}

fn head(s: &Sandbox) -> String {
    s.git(&["rev-parse", "HEAD"]).ok()
}

#[test]
fn s37_a_point_leads_back_to_code_and_state_and_loses_neither() {
    let s = gone_on();
    let before = head(&s);
    assert_eq!(statuses(&s)["A"], "completed");
    let went = s.loopx(&["point", "back", "before", "--json"]).json();
    assert_eq!(text(&went["from"]), before.trim());
    assert_eq!(s.read("code.txt"), "one\n");
    assert!(!s.path().join("more.txt").exists());
    assert_ne!(statuses(&s)["A"], "completed");
    // What was there stays below, and the record says what happened.
    assert_eq!(s.git(&["rev-parse", "HEAD~1"]).ok(), before);
    let said = s
        .git(&["log", "-1", "--format=%s%n%(trailers:key=Loopx-Point)"])
        .ok();
    assert!(
        said.contains("Go back to before") && said.contains("Loopx-Point: before"),
        "{said}"
    );
    s.loopx(&["log"]).says("went back to before").ok();
    s.loopx(&["point", "list"])
        .says("the code is as it was then")
        .ok();
    // Once more changes nothing of either.
    let again = s.loopx(&["point", "back", "before", "--json"]).json();
    assert_eq!(
        (&again["commit"], &again["undone"]),
        (&Value::Null, &serde_json::json!([]))
    );
    // And what was taken back is brought back.
    s.git(&["revert", "--no-edit", "HEAD"]).ok();
    s.loopx(&[
        "redo",
        &went["undone"].as_array().expect("words").len().to_string(),
    ])
    .ok();
    assert_eq!(s.read("code.txt"), "two\n");
    assert_eq!(statuses(&s)["A"], "completed");
}

#[test]
fn s37_each_point_leads_to_its_own_state_whatever_was_recorded_last() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
    ]);
    s.loopx(&["point", "add", "one"]).ok();
    s.loopx(&["point", "add", "two"]).ok();
    s.loopx(&["take", "A"]).ok();
    // Behind a claim, which no undo takes away.
    s.loopx(&["point", "add", "three"]).ok();
    s.loopx(&["task", "done", "A"]).ok();
    s.loopx(&["take", "B"]).ok();
    s.loopx(&["task", "fail", "B", "--reason", "flaky"]).ok();
    let went = s.loopx(&["point", "back", "three", "--json"]).json();
    assert_eq!(statuses(&s)["A"], "claimed");
    assert_ne!(statuses(&s)["B"], "failed");
    let forth = text(&went["forth"]);
    let count = forth.rsplit(' ').next().expect("a number");
    assert!(
        forth.starts_with("git loopx") && count.parse::<usize>().is_ok(),
        "{forth}"
    );
    s.loopx(&["redo", count]).ok();
    assert_eq!(statuses(&s)["A"], "completed");
    assert_eq!(statuses(&s)["B"], "failed");
    s.loopx(&["point", "back", "two"]).ok();
    assert_ne!(statuses(&s)["A"], "completed");
}

#[test]
fn s37_what_would_be_lost_is_refused_and_nothing_changes() {
    let s = gone_on();
    let commit = head(&s);
    s.write("code.txt", "three\n");
    refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
    refuses(&s, 1, "worktree_dirty", &["point", "add", "now"]);
    assert_eq!(s.read("code.txt"), "three\n");
    s.git(&["checkout", "--quiet", "code.txt"]).ok();
    // Of the code it does not know, too.
    s.write("stray.txt", "mine\n");
    refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
    std::fs::remove_file(s.path().join("stray.txt")).expect("it is there");
    refuses(&s, 1, "point_taken", &["point", "add", "before"]);
    refuses(&s, 2, "point_invalid", &["point", "add", "a b"]);
    let near = refuses(&s, 4, "point_unknown", &["point", "back", "befor"]);
    assert!(
        near["help"].to_string().contains("point back before"),
        "{near:#}"
    );
    // A hook that refuses the commit leaves both as they were.
    let stands = statuses(&s);
    s.git(&["config", "core.hooksPath", "hooks-of-mine"]).ok();
    s.write(
        "hooks-of-mine/pre-commit",
        "#!/bin/sh\necho not today >&2\nexit 1\n",
    );
    let hook = s.path().join("hooks-of-mine/pre-commit");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a mode");
    s.write(".git/info/exclude", "/hooks-of-mine/\n/.loopx/\n");
    s.loopx(&["point", "back", "before"])
        .says("was not committed")
        .says("not today")
        .fails_with(1);
    assert_eq!(head(&s), commit);
    assert_eq!(statuses(&s), stands);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    s.git(&["config", "--unset", "core.hooksPath"]).ok();
    // Where the branch has not got the commit, there is nothing to go back on.
    s.git(&["checkout", "--quiet", "--orphan", "other"]).ok();
    s.git(&["commit", "--quiet", "-m", "Anew"]).ok();
    s.git(&["branch", "--quiet", "--force", "work", "other"])
        .ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    refuses(&s, 1, "point_elsewhere", &["point", "back", "before"]);
}

#[test]
fn s37_a_point_of_one_clone_is_one_of_every_clone() {
    let all: Clones = clones_building(2, &[task("A", &[], Some(&["true"]))]);
    all.git(0, &["switch", "--quiet", "work"]).ok();
    all.loopx(0, &["point", "add", "start"]).ok();
    for at in [0, 1] {
        all.sync(at).ok();
    }
    let listed = all
        .loopx(1, &["-s", "demo", "--json", "point", "list"])
        .json();
    assert_eq!(listed["points"][0]["name"], "start");
    assert_eq!(listed["points"][0]["stage"], "build");
}
