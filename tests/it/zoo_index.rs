//! Indexes that libgit2 does not read, and worktrees in which not every file is checked out
//! (reference git-stores, section 6: 12, 13). The gate holds there, and evidence is about the whole tree.

use crate::support::Sandbox;
use crate::support::store::{ID, assert_whole, begin, operations, started};
use std::fs::File;
use std::time::{Duration, SystemTime};

fn repository() -> Sandbox {
    let s = Sandbox::once("", || {
        let s = Sandbox::new();
        for path in ["in/f", "out/side/f", "out/top"] {
            s.write(path, path);
        }
        s.git(&["add", "."]).ok();
        begin(&s);
        s
    });
    // The files are made again, and git takes none away that the index does not know to be clean.
    s.git(&["update-index", "--refresh"]).ok();
    s
}

/// The hook refuses what is staged, passes when nothing is, and a run records the tree that git writes.
#[track_caller]
fn holds(s: &Sandbox) {
    let hook = || s.loopx(&["hook", "pre-commit"]);
    let passed = hook();
    assert_eq!(passed.stderr, "", "{passed}");
    passed.ok();
    s.write("new.txt", "new\n");
    s.git(&["add", "new.txt"]).ok();
    hook().fails_with(1).says("`new.txt`: stage");
    s.loopx(&["run", "--", "true"]).ok();
    let log = s.loopx(&["--json", "log"]).json().to_string();
    let tree = s.git(&["write-tree"]).line();
    assert!(log.contains(&tree), "{tree} in {log}");
    // Announced is not staged.
    s.git(&["rm", "--quiet", "--cached", "new.txt"]).ok();
    s.git(&["add", "--intent-to-add", "new.txt"]).ok();
    hook().ok();
    s.git(&["reset", "--quiet"]).ok();
    hook().ok();
    assert_whole(s);
}

#[test]
fn a_split_index() {
    let s = repository();
    s.git(&["update-index", "--split-index"]).ok();
    holds(&s);
    let shared = std::fs::read_dir(s.path().join(".git")).expect("a folder");
    let shared = shared.flatten().filter(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("sharedindex.")
    });
    assert!(shared.count() > 0, "the index is split");
}

#[test]
fn a_sparse_index_and_a_sparse_checkout() {
    for index in ["--sparse-index", "--no-sparse-index"] {
        let s = repository();
        s.git(&["config", "advice.sparseIndexExpanded", "false"])
            .ok();
        s.git(&["sparse-checkout", "set", "--cone", index, "in"])
            .ok();
        assert!(!s.exists("out/top"));
        let listed = s.git(&["ls-files", "--sparse"]).ok();
        assert_eq!(listed.contains("out/\n"), index == "--sparse-index");
        holds(&s);
        // What stands where nothing was checked out is part of the code as well.
        s.write("out/side/more", "more");
        s.loopx(&["run", "--", "true"]).ok();
        let operations = operations(&s, ID);
        let last = &operations.last().expect("an operation")["body"];
        let tree = last["evidence"]["tree"].as_str().expect("a tree");
        let listed = s.git(&["ls-tree", "-r", "--name-only", tree]).ok();
        for path in ["out/side/more", "out/side/f", "out/top", "in/f"] {
            assert!(listed.contains(path), "{path} in {listed}");
        }
    }
}

#[test]
fn the_index_that_a_commit_names_is_the_one_that_is_judged() {
    let s = repository();
    s.git(&["update-index", "--split-index"]).ok();
    s.write("new.txt", "new\n");
    let other = s.root().join("other-index");
    std::fs::copy(s.path().join(".git/index"), &other).expect("a copy");
    s.call("git")
        .args(&["add", "new.txt"])
        .env("GIT_INDEX_FILE", &other)
        .run()
        .ok();
    s.loopx(&["hook", "pre-commit"]).ok();
    let hook = s.call(crate::support::LOOPX).args(&["hook", "pre-commit"]);
    hook.env("GIT_INDEX_FILE", &other)
        .run()
        .fails_with(1)
        .says("new.txt");
}

/// git takes a file for unchanged where size and time say so, unless it is as young as the index: the
/// copy of the index that evidence is made from must not look younger.
#[test]
fn an_edit_in_the_second_of_the_last_commit_is_part_of_the_code() {
    let s = started();
    s.git(&["config", "core.trustctime", "false"]).ok();
    s.git(&["config", "core.checkStat", "minimal"]).ok();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let date = |path: &str| {
        let file = File::options().append(true).open(s.path().join(path));
        file.expect("a file").set_modified(then).expect("a time");
    };
    s.write("code.txt", "one\n");
    date("code.txt");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "one"])
        .ok();
    date(".git/index");
    s.write("code.txt", "two\n");
    date("code.txt");
    let ran = s.loopx(&["--json", "run", "--", "true"]).json();
    let tree = ran["evidence"]["tree"].as_str().expect("a tree");
    let blob = format!("{tree}:code.txt");
    assert_eq!(s.git(&["cat-file", "blob", &blob]).ok(), "two\n");
}
