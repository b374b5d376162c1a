//! Indexes that libgit2 does not read, and worktrees in which not every file is checked out
//! (reference git-stores, section 6: 12, 13). The gate holds there, and evidence is about the whole tree.

use crate::support::Sandbox;
use crate::support::store::{ID, assert_whole, begin, operations};

fn repository() -> Sandbox {
    let s = Sandbox::new();
    for path in ["in/f", "out/side/f", "out/top"] {
        s.write(path, path);
    }
    s.git(&["add", "."]).ok();
    begin(&s);
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
    hook().fails_with(1).says("stage_refuses_code `new.txt`");
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
        let last = &operations.last().expect("an operation")["event"];
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
