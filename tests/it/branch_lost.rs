//! The branch deleted, set back, replaced, renamed, rewritten, clobbered or edited by hand: noticed at
//! the next command, named in one sentence, and put right by one command (reference git-stores, 6, 11).

use crate::support::store::{ID, assert_nothing_lost, assert_whole, operations, put, started, tip};
use crate::support::{LOOPX, Sandbox};

/// A session with a few steps; gives the tip.
fn with_steps(n: usize) -> (Sandbox, String) {
    let s = started();
    for n in 0..n {
        put(&s, "spec.md", &format!("# Round {n}\n")).ok();
    }
    let tip = tip(&s);
    (s, tip)
}

/// Every command says the same, reading and writing, and changes nothing.
fn is_noticed(s: &Sandbox, exit: i32, code: &str) {
    let refs = s.git(&["for-each-ref"]).ok();
    for args in [
        &["status"][..],
        &["list"],
        &["log"],
        &["clarify"],
        &["run", "--", "true"],
    ] {
        let call = s.call(LOOPX).args(&["--json", "-s", ID]).args(args);
        let out = call.run().fails_with(exit);
        assert_eq!(out.error_json()["error"]["code"], code, "{args:?}\n{out}");
        let help = out.error_json()["error"]["help"].clone();
        let help = help.as_str().expect("a way on");
        assert!(help.starts_with("git loopx "), "{help}");
    }
    let out = s.loopx(&["--json", "doctor"]).fails_with(1);
    let checks = out.json()["checks"].clone();
    let branch = checks.as_array().expect("checks").iter();
    let branch: Vec<_> = branch.filter(|check| check["what"] == "branch").collect();
    assert_eq!(branch[0]["level"], "problem", "{out}");
    assert_eq!(s.git(&["for-each-ref"]).ok(), refs);
}

/// `doctor --recover` brings back what was known, and everything works again.
fn recovers(s: &Sandbox, known: &str, steps: usize) {
    s.loopx(&["doctor", "--recover"]).ok();
    assert_eq!(tip(s), known);
    assert_nothing_lost(s, ID, steps);
    assert_whole(s);
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    assert_nothing_lost(s, ID, steps + 1);
    s.loopx(&["--json", "doctor"]).ok();
    let again = s.loopx(&["doctor", "--recover"]).fails_with(5);
    again.says("is as this clone knew it");
}

#[test]
fn a_deleted_branch_comes_back() {
    let (s, known) = with_steps(3);
    s.git(&["branch", "-D", "loopx"]).ok();
    is_noticed(&s, 4, "branch_gone");
    recovers(&s, &known, 4);
    // `init` does it too.
    let known = tip(&s);
    s.git(&["update-ref", "-d", "refs/heads/loopx"]).ok();
    s.loopx(&["init"]).ok();
    assert_eq!(tip(&s), known);
}

#[test]
fn a_rewound_branch_comes_back() {
    let (s, known) = with_steps(3);
    s.git(&["update-ref", "refs/heads/loopx", "loopx~2"]).ok();
    is_noticed(&s, 3, "branch_rewound");
    recovers(&s, &known, 4);
}

#[test]
fn a_replaced_branch_comes_back_and_what_stood_there_is_kept() {
    let (s, known) = with_steps(3);
    let tree = s.git(&["rev-parse", "loopx~1^{tree}"]).line();
    let forced = s
        .git(&["commit-tree", &tree, "-p", "loopx~1", "-m", "forced"])
        .line();
    s.git(&["update-ref", "refs/heads/loopx", &forced]).ok();
    is_noticed(&s, 3, "branch_replaced");
    recovers(&s, &known, 4);
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
    let kept = s.git(&["rev-parse", "refs/loopx/displaced-1"]).line();
    assert_eq!(kept, forced);
}

#[test]
fn a_rewritten_branch_comes_back() {
    let (s, known) = with_steps(3);
    s.call("git")
        .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
        .args(&[
            "filter-branch",
            "-f",
            "--msg-filter",
            "cat; echo more",
            "loopx",
        ])
        .run()
        .ok();
    assert_ne!(tip(&s), known);
    is_noticed(&s, 3, "branch_replaced");
    recovers(&s, &known, 4);
}

#[test]
fn a_renamed_branch_is_missed_and_found_under_its_name() {
    let (s, known) = with_steps(3);
    s.git(&["branch", "-m", "loopx", "other"]).ok();
    is_noticed(&s, 4, "branch_gone");
    s.git(&["config", "loopx.branch", "other"]).ok();
    s.loopx(&["-s", ID, "status"]).ok();
    assert_eq!(s.git(&["rev-parse", "other"]).line(), known);
}

#[test]
fn a_mirror_that_fetches_clobbers_nothing() {
    let s = started();
    let mirror = s.root().join("mirror");
    let path = mirror.to_str().expect("UTF-8");
    s.git(&[
        "clone",
        "--quiet",
        "--mirror",
        s.path().to_str().expect("UTF-8"),
        path,
    ])
    .ok();
    let in_mirror = |args: &[&str]| s.call("git").cwd(&mirror).args(args).run();
    let step = s.loopx_in(&mirror, &["start", "--no-branch", "Unpushed"]);
    step.ok();
    let known = in_mirror(&["rev-parse", "refs/heads/loopx"]).line();
    in_mirror(&["fetch", "--quiet", "origin"]).ok();
    assert_ne!(in_mirror(&["rev-parse", "refs/heads/loopx"]).line(), known);
    let out = s.loopx_in(&mirror, &["--json", "list"]);
    let code = out.error_json()["error"]["code"].clone();
    if code == "branch_rewound" {
        s.loopx_in(&mirror, &["doctor", "--recover"]).ok();
        assert_eq!(in_mirror(&["rev-parse", "refs/heads/loopx"]).line(), known);
    } else {
        panic!("{out}");
    }
}

/// A commit in a worktree that has the branch.
fn commit_by_hand(s: &Sandbox, file: &str, text: &str) -> String {
    let dir = s.root().join("by-hand");
    let path = dir.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", path, "loopx"]).ok();
    std::fs::write(dir.join(file), text).expect("a file");
    let git = |args: &[&str]| s.call("git").cwd(&dir).args(args).run();
    git(&["add", "."]).ok();
    git(&["commit", "--quiet", "-m", "by hand"]).ok();
    s.git(&["worktree", "remove", "--force", path]).ok();
    tip(s)
}

#[test]
fn a_commit_by_hand_is_noticed_and_taken_back_or_accepted() {
    for accept in [false, true] {
        let (s, _) = with_steps(2);
        let before = s.git(&["rev-parse", "loopx^{tree}"]).line();
        let hand = commit_by_hand(&s, "notes.txt", "a note\n");
        let out = s.loopx(&["--json", "-s", ID, "run", "--", "true"]);
        let error = out.fails_with(3).error_json();
        assert_eq!(error["error"]["code"], "branch_edited");
        assert_eq!(tip(&s), hand);
        s.loopx(&["doctor"]).fails_with(1).says("made by hand");
        if accept {
            s.loopx(&["doctor", "--accept"]).ok();
            assert_eq!(tip(&s), hand);
        } else {
            s.loopx(&["doctor", "--recover"]).ok();
            assert_eq!(s.git(&["rev-parse", "loopx^{tree}"]).line(), before);
            assert_eq!(s.git(&["rev-parse", "loopx~1"]).line(), hand);
        }
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        assert_eq!(operations(&s, ID).len(), 4);
        assert_whole(&s);
    }
}

#[test]
fn what_a_hand_damaged_is_not_accepted() {
    let (s, _) = with_steps(2);
    commit_by_hand(&s, &format!("sessions/{ID}/state.json"), "{}\n");
    let out = s.loopx(&["--json", "doctor", "--accept"]).fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "branch_damaged");
    s.loopx(&["fsck", "--repair"]).ok();
    assert_whole(&s);
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
}
