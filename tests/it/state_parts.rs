//! A session with many tasks is stored in parts: a step writes what it changes, clones come to one tree, and what is
//! torn or put there by hand is found.

use crate::support::clones::Clones;
use crate::support::server::HOOK;
use crate::support::tasks::{DEMO, clones_building, task, text};
use serde_json::Value;
use std::fs;

/// More tasks than one file of a state holds.
const COUNT: usize = 68;

fn folder() -> String {
    format!("sessions/{DEMO}")
}

/// Two clones of a session of which each task was claimed once.
fn many() -> Clones {
    let tasks: Vec<Value> = (1..=COUNT)
        .map(|n| task(&format!("T-{n}"), &[], Some(&["true"])))
        .collect();
    let all = clones_building(2, &tasks);
    for _ in 0..COUNT {
        all.loopx(0, &["-s", DEMO, "-q", "take"]).ok();
    }
    all
}

fn stored(all: &Clones, at: usize) -> Vec<String> {
    let place = format!("loopx:{}", folder());
    let listed = all.git(at, &["ls-tree", "-r", "--name-only", &place]).ok();
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_session_with_many_tasks_is_stored_merged_mended_and_taken_back_in_parts() {
    let all = many();
    let parts = |at: usize| {
        let files = stored(&all, at).into_iter();
        files.filter(|file| file.starts_with("state/")).count()
    };
    assert!(parts(0) > 1, "{:?}", stored(&all, 0));
    // A step on one task changes its part and the head.
    all.loopx(0, &["-s", DEMO, "task", "release", "T-7"]).ok();
    let changed = all
        .git(0, &["diff", "--name-only", "loopx~1", "loopx"])
        .ok();
    let states = changed.lines().filter(|line| line.contains("/state"));
    assert_eq!(states.count(), 2, "{changed}");
    let out = all.loopx(0, &["--json", "-s", DEMO, "task", "list"]).json();
    let row = |id: &str| {
        let rows = out["tasks"].as_array().expect("tasks").iter();
        let row = rows
            .clone()
            .find(|row| row["task"] == id)
            .expect("the task");
        text(&row["status"])
    };
    assert_eq!(
        (row("T-7").as_str(), row("T-8").as_str()),
        ("pending", "claimed")
    );
    all.loopx(0, &["fsck"]).ok();

    // Clones that were apart come to one tree.
    all.settle();
    all.loopx(0, &["-s", DEMO, "task", "release", "T-8"]).ok();
    all.loopx(1, &["-s", DEMO, "take", "T-7"]).ok();
    all.settle();
    all.assert_agreed();
    assert_eq!(parts(0), parts(1));
    all.loopx(1, &["fsck"]).ok();

    // A server takes a step on parts, and none that somebody wrote by hand.
    all.s.script(all.remote().join("hooks/pre-receive"), HOOK);
    all.loopx(0, &["-s", DEMO, "task", "release", "T-9"]).ok();
    all.sync(0).ok();
    let mut file = stored(&all, 0).into_iter();
    let part = file.find(|file| file.starts_with("state/"));
    let path = format!("{}/{}", folder(), part.expect("a part"));
    let text = all.git(0, &["show", &format!("loopx:{path}")]).ok();
    let tip = all.git(0, &["rev-parse", "loopx"]).ok();
    let written = by_hand(&all, &path, Some(&text.replace("claimed", "skipped")));
    let pushed = all.git(0, &["push", "--no-verify", "origin", "loopx"]);
    assert_ne!(pushed.code, Some(0));
    assert!(
        pushed.stderr.contains("sessions_invalid"),
        "{}",
        pushed.stderr
    );
    assert_ne!(written, text);
    all.git(0, &["update-ref", "refs/heads/loopx", tip.trim()])
        .ok();

    // A part that went is computed anew.
    let whole = all
        .git(0, &["rev-parse", &format!("loopx:{}", folder())])
        .ok();
    by_hand(&all, &path, None);
    let found = all.loopx(0, &["fsck"]);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    all.loopx(0, &["fsck", "--repair"]).ok();
    let mended = all
        .git(0, &["rev-parse", &format!("loopx:{}", folder())])
        .ok();
    assert_eq!(mended, whole);
}

/// Moves the branch of the first clone to a commit that git alone made, with a file that has this text, or has gone.
fn by_hand(all: &Clones, path: &str, text: Option<&str>) -> String {
    let index = all.s.root().join("index-of-test");
    let git = |args: &[&str]| {
        let call = all.s.call("git").cwd(all.dir(0));
        call.env("GIT_INDEX_FILE", &index).args(args)
    };
    git(&["read-tree", "loopx"]).run().ok();
    let done = match text {
        None => git(&["rm", "-q", "--cached", path]).run().ok(),
        Some(text) => {
            let blob = git(&["hash-object", "-w", "--stdin"]).stdin(text);
            let entry = format!("100644,{},{path}", blob.run().line());
            git(&["update-index", "--cacheinfo", &entry]).run().ok();
            text.to_owned()
        }
    };
    let tree = git(&["write-tree"]).run().line();
    let commit = git(&["commit-tree", &tree, "-p", "loopx", "-m", "by hand"])
        .run()
        .line();
    git(&["update-ref", "refs/heads/loopx", &commit]).run().ok();
    fs::remove_file(index).expect("the index");
    done
}
