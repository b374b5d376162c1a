//! `verify` and pre-push: what went past the hooks, and what trailers claim that is not so.

use crate::support::session::{advance, at, commit, start, started, tip};
use crate::support::{LOOPX, Output, Sandbox};

/// `code severity` of each finding of `verify`, newest commit first.
fn findings(s: &Sandbox, args: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut all = vec!["verify", "--json"];
    all.extend(args);
    let out = s.loopx(&all);
    let json = out.json();
    let found = json["findings"].as_array().expect("findings").iter();
    let words = found
        .map(|f| {
            let text = |key: &str| f[key].as_str().expect("text");
            assert!(!text("message").is_empty() && !text("help").is_empty());
            assert_eq!(text("commit").len(), 40);
            format!("{} {}", text("code"), text("severity"))
        })
        .collect();
    (out.code, words)
}

fn found(code: i32, words: &[&str]) -> (Option<i32>, Vec<String>) {
    (Some(code), words.iter().map(|w| (*w).to_owned()).collect())
}

/// Commits a file past every hook, with these words.
fn bypass(s: &Sandbox, path: &str, message: &str) {
    s.write(path, message);
    s.git(&["add", "--force", "--", path]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", message])
        .ok();
}

fn claim(session: &str, state: &str) -> String {
    format!("code\n\nLoopx-Session: {session}\nLoopx-State: {state}\n")
}

#[test]
fn what_the_hooks_let_pass_is_clean() {
    let s = at("build", "\"src/**\"", "");
    commit(&s, "src/a.rs", "inside").ok();
    commit(&s, "docs/a", "a document").ok();
    assert_eq!(findings(&s, &[]), found(0, &[]));
    commit(&s, "lib/a.rs", "outside").ok();
    assert_eq!(findings(&s, &[]), found(0, &["out_of_scope warning"]));
    let head = s.git(&["rev-parse", "--short=10", "HEAD"]).line();
    let out = s.loopx(&["verify"]);
    assert!(
        out.stdout
            .contains("warning out_of_scope: session demo: `lib/a.rs`: outside"),
        "{out}"
    );
    assert!(
        head.starts_with(out.stdout.split(' ').next().expect("a word")),
        "{out}"
    );
    let json = s.loopx(&["verify", "--json"]).json();
    assert_eq!(json["command"], "verify");
    assert_eq!(json["commits"], 3);
    assert_eq!(json["session"], "demo");
    assert_eq!(json["branch"], "demo");
    assert_eq!(json["findings"][0]["paths"][0], "lib/a.rs");
}

#[test]
fn edge_09_every_road_around_the_hooks_is_seen() {
    let s = started("");
    bypass(&s, "src/a.rs", "no-verify");
    s.write("src/b.rs", "b");
    s.git(&["add", "."]).ok();
    s.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "commit",
        "--quiet",
        "-m",
        "no hooks",
    ])
    .ok();
    s.write("src/c.rs", "c");
    s.git(&["add", "."]).ok();
    let tree = s.git(&["write-tree"]).line();
    let made = s
        .git(&["commit-tree", &tree, "-p", "HEAD", "-m", "plumbing"])
        .line();
    s.git(&["update-ref", "HEAD", &made]).ok();
    commit(&s, "docs/d", "a document").ok();
    let error = "commit_without_state error";
    assert_eq!(findings(&s, &[]), found(1, &[error, error, error]));
    // A document without trailers is nobody's business.
    bypass(&s, "docs/e", "no-verify");
    assert_eq!(findings(&s, &["HEAD~1..HEAD"]), found(0, &[]));
    // Once code has been allowed, it is a warning.
    advance(&s, "clarify", "build", "");
    let warning = "commit_without_state warning";
    assert_eq!(findings(&s, &[]), found(0, &[warning, warning, warning]));
}

#[test]
fn forged_trailers_are_caught() {
    let s = started("");
    let early = tip(&s);
    let clarify = early.clone();
    s.git(&["switch", "--quiet", "-c", "other"]).ok();
    s.loopx(&["start", "other"]).ok();
    advance(&s, "clarify", "build", "");
    let other = tip(&s);
    s.git(&["switch", "--quiet", "demo"]).ok();
    let base = s.git(&["rev-parse", "HEAD"]).line();
    let tree = s.git(&["rev-parse", "HEAD^{tree}"]).line();
    for (message, code) in [
        // A true state, that does not allow it.
        (claim("demo", &clarify), "stage_refuses_code"),
        (claim("demo", &other), "stage_refuses_code"),
        (claim("nobody", &clarify), "session_unknown"),
        (claim("../demo", &clarify), "session_unknown"),
        (claim("demo", &base), "state_not_on_branch"),
        (claim("demo", &tree), "state_not_on_branch"),
        (claim("demo", "HEAD"), "state_not_on_branch"),
        (claim("demo", &"1".repeat(40)), "state_not_on_branch"),
        (claim("demo", &"1".repeat(64)), "state_not_on_branch"),
        (claim("other", &clarify), "other_session"),
        // The state of a session that may build, on the branch of one that may not.
        (claim("other", &other), "other_session"),
        ("code\n\nLoopx-Session: demo\n".into(), "state_missing"),
        (
            format!("code\n\nLoopx-State: {clarify}\n"),
            "session_missing",
        ),
        (
            format!("{}Loopx-Session: other\n", claim("demo", &clarify)),
            "session_ambiguous",
        ),
    ] {
        bypass(&s, "src/a.rs", &message);
        let error = format!("{code} error");
        assert_eq!(findings(&s, &[]), found(1, &[&error]), "{message}");
        s.git(&["reset", "--quiet", "--hard", &base]).ok();
    }
    // On its own branch the session did not exist yet, or had ended.
    s.git(&["switch", "--quiet", "other"]).ok();
    bypass(&s, "src/a.rs", &claim("other", &clarify));
    assert_eq!(
        findings(&s, &[]),
        found(1, &["state_of_other_session error"])
    );
    s.git(&["reset", "--quiet", "--hard", &base]).ok();
    bypass(&s, "src/a.rs", &claim("other", &other));
    assert_eq!(findings(&s, &[]), found(0, &[]));
    s.loopx(&["abandon"]).ok();
    bypass(&s, "src/b.rs", &claim("other", &tip(&s)));
    assert_eq!(
        findings(&s, &["main..HEAD"]),
        found(1, &["session_ended error"])
    );
}

#[test]
fn the_policy_of_the_base_counts() {
    let s = at(
        "build",
        "\"src/**\"",
        "[gates]\nout_of_scope = \"refuse\"\n",
    );
    s.write("loopx.toml", "[gates]\nalways_allow = [\"**\"]\n");
    s.git(&["commit", "--quiet", "-am", "a friendlier policy"])
        .ok();
    bypass(&s, "lib/a.rs", &claim("demo", &tip(&s)));
    let refused = found(1, &["out_of_scope error"]);
    assert_eq!(findings(&s, &[]), refused);
    assert_eq!(findings(&s, &["main..HEAD"]), refused);
    assert_eq!(findings(&s, &["HEAD", "--policy-from", "main"]), refused);
    assert_eq!(
        findings(&s, &["HEAD~1..HEAD", "--policy-from", "main"]),
        refused
    );
    // From a base that has the new policy, it holds.
    assert_eq!(findings(&s, &["HEAD~1..HEAD"]), found(0, &[]));
}

#[test]
fn a_review_covers_a_tree() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    advance(&s, "build", "review", "");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    assert_eq!(findings(&s, &[]), found(0, &[]));
    commit(&s, "docs/a", "a document").ok();
    assert_eq!(findings(&s, &[]), found(0, &["review_stale warning"]));
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    s.loopx(&["approve", "--to", "done"]).ok();
    commit(&s, "docs/a", "a document").ok();
    assert_eq!(findings(&s, &[]), found(0, &[]));
    bypass(&s, "src/b.rs", "late");
    assert_eq!(
        findings(&s, &[]),
        found(1, &["commit_without_state error", "review_stale error"])
    );
}

#[test]
fn ranges_and_what_is_wrong_with_them() {
    let s = started("");
    bypass(&s, "src/a.rs", "code");
    let error = found(1, &["commit_without_state error"]);
    for args in [
        &["main..demo"][..],
        &["main.."],
        &["demo"],
        &["HEAD"],
        &["main..HEAD", "--branch", "refs/heads/demo"],
    ] {
        assert_eq!(findings(&s, args), error, "{args:?}");
    }
    s.git(&["switch", "--quiet", "--detach"]).ok();
    assert_eq!(findings(&s, &["main..HEAD"]), found(0, &[]));
    assert_eq!(findings(&s, &["main..HEAD", "--branch", "demo"]), error);
    s.git(&["switch", "--quiet", "main"]).ok();
    // By name, the session's own branch is judged wherever one is.
    assert_eq!(findings(&s, &["-s", "demo"]), error);
    assert_eq!(findings(&s, &["main..main"]), found(0, &[]));
    for (args, code) in [
        (&["verify", "a...b"][..], 2),
        (&["verify", ""], 2),
        (&["verify"], 2),
        (&["verify", "nothing..HEAD"], 4),
        (&["verify", "HEAD", "--policy-from", "nothing"], 4),
        (&["-s", "nobody", "verify"], 4),
    ] {
        s.loopx(args).fails_with(code);
    }
    s.git(&["update-ref", "-d", "refs/heads/loopx"]).ok();
    s.loopx(&["verify", "main..demo"])
        .fails_with(4)
        .says("init");
}

#[test]
fn a_clone_verifies_with_the_fetched_branch_and_says_when_it_is_shallow() {
    let s = started("");
    bypass(&s, "src/a.rs", "one");
    bypass(&s, "src/b.rs", "two");
    let url = format!("file://{}", s.path().display());
    let clone = |name: &str, args: &[&str]| {
        let dir = s.root().join(name);
        let mut all = vec!["clone", "--quiet", "--branch", "demo"];
        all.extend(args);
        all.extend([url.as_str(), dir.to_str().expect("UTF-8")]);
        s.git(&all).ok();
        dir
    };
    // No local loopx branch, as in CI.
    let full = clone("full", &[]);
    s.loopx_in(&full, &["verify", "origin/main..HEAD"])
        .fails_with(1)
        .says("2 commits, 2 errors");
    let shallow = clone("shallow", &["--depth", "1", "--no-single-branch"]);
    s.loopx_in(&shallow, &["verify", "demo"])
        .fails_with(4)
        .says("shallow");
    // A hook warns and lets the other side judge.
    s.loopx_in(&shallow, &["hooks", "install"]).ok();
    s.git_in(&shallow, &["branch", "loopx", "origin/loopx"])
        .ok();
    s.git_in(
        &shallow,
        &["branch", "-r", "-d", "origin/demo", "origin/main"],
    )
    .ok();
    s.git(&["init", "--quiet", "--bare", "../empty.git"]).ok();
    s.git_in(&shallow, &["push", "../empty.git", "demo"])
        .says("did not check `demo`");
}

/// The sandbox with a bare `remote` that has `main` and the loopx branch.
fn with_remote(s: &Sandbox) {
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
}

fn push(s: &Sandbox, args: &[&str]) -> Output {
    let mut all = vec!["push", "--quiet"];
    all.extend(args);
    s.git(&all)
}

#[test]
fn edge_08_every_line_of_a_push_is_judged() {
    let s = started("");
    with_remote(&s);
    s.git(&["branch", "free", "main"]).ok();
    commit(&s, "docs/a", "a document").ok();
    // A new branch, one that is up to date, nothing at all, a dry run.
    push(&s, &["origin", "demo"]).ok();
    push(&s, &["origin", "demo"]).ok();
    bypass(&s, "src/a.rs", "code");
    let refused = |args: &[&str]| {
        push(&s, args)
            .fails_with(1)
            .says("commit_without_state")
            .says("--no-verify");
    };
    refused(&["origin", "demo"]);
    refused(&["--dry-run", "origin", "demo"]);
    // Not the first line alone, nor only a branch under its own name.
    s.git(&["tag", "v1"]).ok();
    refused(&["origin", "free", "v1", "demo"]);
    refused(&["origin", "HEAD:refs/heads/renamed"]);
    refused(&["origin", "demo:renamed"]);
    refused(&["origin", "main~0:refs/heads/x", "HEAD~0:refs/heads/demo"]);
    refused(&["origin", "HEAD~0:refs/heads/x"]);
    // What is nobody's business: tags, deletes, branches of nobody, the loopx branch, --no-verify.
    push(&s, &["origin", "free", "v1", "loopx"]).ok();
    push(&s, &["origin", ":demo", ":v1"]).ok();
    // Forced over something that is not here.
    let tree = s.git(&["rev-parse", "main^{tree}"]).line();
    let remote = s.root().join("remote.git");
    let made = s
        .git_in(&remote, &["commit-tree", &tree, "-m", "theirs"])
        .line();
    s.git_in(&remote, &["update-ref", "refs/heads/demo", &made])
        .ok();
    refused(&["--force", "origin", "demo"]);
    push(&s, &["--no-verify", "--force", "origin", "demo"]).ok();
    // What the remote has is not judged again.
    commit(&s, "docs/b", "a document").ok();
    push(&s, &["origin", "demo"]).ok();
    let call = s.call("git").args(&["push", "--quiet", "origin", "demo:y"]);
    call.env("LOOPX", "0").run().ok();
}

#[test]
fn commits_of_others_that_a_merge_brings_do_not_hold_a_push() {
    let s = started("");
    with_remote(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    commit(&s, "src/upstream.rs", "upstream").ok();
    push(&s, &["origin", "main"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    commit(&s, "docs/a", "a document").ok();
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    push(&s, &["origin", "demo"]).ok();
    assert_eq!(findings(&s, &["main..HEAD"]), found(0, &[]));
    assert_eq!(findings(&s, &[]), found(0, &[]));
}

#[test]
fn what_a_merge_commit_adds_itself_is_seen() {
    let s = started("");
    s.git(&["switch", "--quiet", "main"]).ok();
    commit(&s, "src/upstream.rs", "upstream").ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    commit(&s, "docs/a", "a document").ok();
    s.git(&["merge", "--quiet", "--no-commit", "main"]).ok();
    s.write("src/hidden.rs", "code");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "merge"]).ok();
    let error = "merge_changes_code error";
    assert_eq!(findings(&s, &["main..HEAD"]), found(1, &[error]));
    s.loopx(&["verify", "main..HEAD"])
        .fails_with(1)
        .says("1 commit, 1 error")
        .says("`src/hidden.rs`");
    advance(&s, "clarify", "build", "");
    assert_eq!(findings(&s, &["main..HEAD"]), found(0, &[]));
}

#[test]
fn a_protected_branch_takes_what_is_done_and_reviewed() {
    let s = started("[gates]\nprotected = [\"main\"]\n");
    with_remote(&s);
    let to_main = |what: &str| push(&s, &["origin", &format!("{what}:main")]);
    s.git(&["switch", "--quiet", "main"]).ok();
    commit(&s, "src/free.rs", "of nobody").ok();
    to_main("main")
        .fails_with(1)
        .says("protected_without_session");
    s.git(&["switch", "--quiet", "demo"]).ok();
    advance(&s, "clarify", "build", "");
    commit(&s, "src/a.rs", "code").ok();
    to_main("demo").fails_with(1).says("protected_not_done");
    advance(&s, "build", "done", "");
    s.git(&["switch", "--quiet", "-C", "main", "demo"]).ok();
    bypass(&s, "src/late.rs", "late");
    to_main("main").fails_with(1).says("review_stale");
    to_main("demo").ok();
    // Other branches are free.
    push(&s, &["origin", "main:elsewhere"]).ok();
}

#[test]
fn stacked_sessions_are_judged_each_by_its_own() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    start(&s, "second");
    commit(&s, "docs/b", "a document").ok();
    // From main the range has commits of both.
    assert_eq!(findings(&s, &["main..HEAD"]), found(0, &[]));
    assert_eq!(findings(&s, &[]), found(0, &[]));
}

#[test]
fn lines_that_git_would_not_write_pass() {
    let s = started("");
    for stdin in [
        &b""[..],
        b"\n",
        b"a b c\n",
        b"\xff\x00 x refs/heads/demo y\n",
        b"a b c d e\n",
    ] {
        let call = s.call(LOOPX).args(&["hook", "pre-push", "origin", "url"]);
        let out = call.stdin(stdin).run();
        assert_eq!(out.stderr, "", "{out}");
        out.ok();
    }
    let unknown = format!("refs/heads/demo {0} refs/heads/demo {0}\n", "1".repeat(40));
    let call = s.call(LOOPX).args(&["hook", "pre-push", "origin", "url"]);
    let out = call.stdin(unknown).run();
    out.says("did not check `demo`").ok();
}
