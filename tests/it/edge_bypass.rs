//! Edge cases 9 and 10 of the reference (hooks and gates, section 8): every road around the hooks is
//! found by `verify` on the range, and what a forge makes of a branch keeps its verdict.

use crate::support::Sandbox;
use crate::support::session::{advance, commit, started};

const PROTECTED: &str = "[gates]\nprotected = [\"main\"]\n";

/// `code` of each error of `verify`.
fn errors(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let mut all = vec!["verify", "--json"];
    all.extend(args);
    let out = s.loopx(&all);
    let json = out.json();
    let found = json["findings"]
        .as_array()
        .unwrap_or_else(|| panic!("{out}"))
        .iter();
    found
        .filter(|f| f["severity"] == "error")
        .map(|f| f["code"].as_str().expect("a code").to_owned())
        .collect()
}

#[test]
fn edge_09_no_road_around_the_hooks_is_missed() {
    let s = started("");
    let stage = |path: &str| {
        s.write(path, path);
        s.git(&["add", "."]).ok();
    };
    stage("src/1.rs");
    s.git(&["commit", "--quiet", "--no-verify", "-m", "1"]).ok();
    stage("src/2.rs");
    s.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "commit",
        "--quiet",
        "-m",
        "2",
    ])
    .ok();
    stage("src/3.rs");
    let off = s.call("git").args(&["commit", "--quiet", "-m", "3"]);
    off.env("LOOPX", "0").run().ok();
    stage("src/4.rs");
    let tree = s.git(&["write-tree"]).line();
    let made = s
        .git(&["commit-tree", &tree, "-p", "HEAD", "-m", "4"])
        .line();
    s.git(&["update-ref", "HEAD", &made]).ok();
    // libgit2 knows no hooks; nor does a forge's editor, which hands objects to the repository.
    let repo = git2::Repository::open(s.path()).expect("a repository");
    let parent = repo
        .head()
        .and_then(|head| head.peel_to_commit())
        .expect("a commit");
    let mut index = repo.index().expect("an index");
    s.write("src/5.rs", "5");
    index
        .add_path(std::path::Path::new("src/5.rs"))
        .expect("added");
    index.write().expect("written");
    let tree = index
        .write_tree()
        .and_then(|tree| repo.find_tree(tree))
        .expect("a tree");
    let who = git2::Signature::new("L", "l@example.org", &git2::Time::new(1_700_000_000, 0))
        .expect("somebody");
    repo.commit(Some("HEAD"), &who, &who, "5", &tree, &[&parent])
        .expect("a commit");
    let import = "commit refs/heads/demo\ncommitter W <w@example.org> 1700000000 +0000\ndata 1\n6\nfrom refs/heads/demo^0\nM 644 inline src/6.rs\ndata 1\n6\n";
    s.call("git")
        .args(&["fast-import", "--quiet"])
        .stdin(import)
        .run()
        .ok();
    s.git(&["reset", "--quiet", "--hard"]).ok();
    // A rewritten message that takes the link away, and a pick of something that never had one.
    commit(&s, "docs/a", "a document").ok();
    s.git(&["switch", "--quiet", "-c", "elsewhere", "main"])
        .ok();
    commit(&s, "src/7.rs", "free here").ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["cherry-pick", "elsewhere"]).ok();
    // Merged in, the same is no better.
    s.git(&["switch", "--quiet", "elsewhere"]).ok();
    commit(&s, "src/8.rs", "free here").ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "elsewhere"]).ok();
    let expected = vec!["commit_without_state"; 9];
    assert_eq!(errors(&s, &[]), expected);
    assert_eq!(errors(&s, &["main..demo"]), expected);
    // Detached, as in CI, the branch has to be named.
    s.git(&["switch", "--quiet", "--detach"]).ok();
    assert_eq!(errors(&s, &["main..HEAD", "--branch", "demo"]), expected);
}

/// A session that is done on `demo`, with `main` one commit further.
fn ready() -> Sandbox {
    Sandbox::once("", || {
        let s = started(PROTECTED);
        advance(&s, "clarify", "build", "");
        commit(&s, "src/a.rs", "code").ok();
        commit(&s, "src/b.rs", "more code").ok();
        advance(&s, "build", "done", "");
        s.git(&["switch", "--quiet", "main"]).ok();
        s.write("src/upstream.rs", "upstream\n");
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "upstream"]).ok();
        s.git(&["branch", "before"]).ok();
        s
    })
}

/// Findings by the target on what was made of the branch.
fn taken(s: &Sandbox) -> Vec<String> {
    errors(
        s,
        &["before..main", "--policy-from", "before", "--onto", "main"],
    )
}

#[test]
fn edge_10_a_squash_without_a_message_keeps_the_verdict() {
    let s = ready();
    s.git(&["merge", "--quiet", "--squash", "demo"]).ok();
    s.git(&["commit", "--quiet", "-m", "a title (#1)"]).ok();
    assert_eq!(taken(&s), [""; 0]);
    let json = s
        .loopx(&[
            "verify",
            "before..main",
            "--onto",
            "main",
            "--policy-from",
            "before",
            "--json",
        ])
        .json();
    assert_eq!(json["result"]["sessions"][0], "demo");
    assert_eq!(
        json["result"]["differing"].as_array().map(Vec::len),
        Some(0)
    );
    // One byte more, and it is nobody's.
    s.write("src/a.rs", "changed while it was squashed\n");
    s.git(&["commit", "--quiet", "--amend", "-a", "-m", "a title (#1)"])
        .ok();
    assert_eq!(taken(&s), ["protected_without_session"]);
}

#[test]
fn edge_10_a_rebase_by_the_forge_keeps_the_verdict() {
    let s = ready();
    s.git(&["switch", "--quiet", "-c", "rebased", "demo"]).ok();
    s.git(&["rebase", "--quiet", "main"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "--ff-only", "rebased"]).ok();
    assert_eq!(taken(&s), [""; 0]);
    s.write("src/b.rs", "changed while it was rebased\n");
    s.git(&[
        "commit",
        "--quiet",
        "--amend",
        "--no-verify",
        "-a",
        "--no-edit",
    ])
    .ok();
    assert_eq!(taken(&s), ["review_stale"]);
}

#[test]
fn edge_10_a_merge_and_a_merge_queue_keep_the_verdict() {
    let s = ready();
    s.git(&["merge", "--quiet", "--no-ff", "--no-edit", "demo"])
        .ok();
    assert_eq!(taken(&s), [""; 0]);
    // A second session lands in the same push, on top of the first.
    s.git(&["switch", "--quiet", "-c", "second", "before"]).ok();
    s.loopx(&["start", "second"]).ok();
    advance(&s, "clarify", "build", "");
    commit(&s, "src/c.rs", "code").ok();
    advance(&s, "build", "review", "");
    let squash = |s: &Sandbox| {
        s.git(&["switch", "--quiet", "main"]).ok();
        s.git(&["merge", "--quiet", "--squash", "second"]).ok();
        s.git(&["commit", "--quiet", "-m", "queued (#2)"]).ok();
    };
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["reset", "--quiet", "--hard", "before"]).ok();
    s.git(&["merge", "--quiet", "--squash", "demo"]).ok();
    s.git(&["commit", "--quiet", "-m", "queued (#1)"]).ok();
    squash(&s);
    // The second is not reviewed yet.
    assert_eq!(taken(&s), ["protected_without_session"]);
    s.git(&["switch", "--quiet", "second"]).ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--to", "done"]).ok();
    assert_eq!(taken(&s), [""; 0]);
}

#[test]
fn edge_10_the_pull_request_and_its_trial_merge_are_judged_alike() {
    let s = ready();
    s.git(&["switch", "--quiet", "-c", "trial", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-ff", "--no-edit", "demo"])
        .ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    let ci = |head: &str| {
        errors(
            &s,
            &[
                &format!("main..{head}"),
                "--policy-from",
                "main",
                "--branch",
                "demo",
                "--onto",
                "main",
            ],
        )
    };
    assert_eq!(ci("demo"), [""; 0]);
    assert_eq!(ci("trial"), [""; 0]);
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.write("src/late.rs", "late");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "late"])
        .ok();
    s.git(&["switch", "--quiet", "-C", "trial", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-ff", "--no-edit", "demo"])
        .ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    assert_eq!(ci("demo"), ["review_stale"]);
    assert_eq!(ci("trial"), ["review_stale"]);
}
