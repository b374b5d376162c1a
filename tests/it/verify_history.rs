//! Findings of `verify` by git's history alone: states that had been left when they were used, code that came after a
//! hand-over, and merges that bring what neither parent has.

use crate::support::Sandbox;
use crate::support::session::{advance, at, commit, started, tip};

/// `code severity` of each finding, newest commit first.
fn findings(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let mut all = vec!["verify", "--json"];
    all.extend(args);
    let out = s.loopx(&all);
    let json = out.json();
    let found = json["findings"].as_array().expect("findings").iter();
    let text = |f: &serde_json::Value, key: &str| f[key].as_str().expect("text").to_owned();
    found
        .map(|f| format!("{} {}", text(f, "code"), text(f, "severity")))
        .collect()
}

/// Commits a file past every hook, naming a state.
fn claim(s: &Sandbox, path: &str, state: &str) {
    let message = format!("code\n\nLoopx-Session: demo\nLoopx-State: {state}\n");
    s.write(path, path);
    s.git(&["add", "--force", "--", path]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", &message])
        .ok();
}

fn send_back(s: &Sandbox, target: &str) {
    s.loopx(&[
        "review",
        "--verdict",
        "request-changes",
        "--target",
        target,
        "--reason",
        "x",
    ])
    .ok();
    s.loopx(&["approve", "--to", target, "--reason", "x"]).ok();
}

#[test]
fn a_state_that_was_left_cannot_be_used_again() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    let old = tip(&s);
    // What was made in time is fine, wherever the session is by now.
    claim(&s, "src/b.rs", &old);
    advance(&s, "build", "review", "");
    assert_eq!(findings(&s, &[]), [""; 0]);
    // After the hand-over, after a verdict, and after the plan was opened again.
    claim(&s, "src/late.rs", &old);
    assert_eq!(findings(&s, &[]), ["state_replayed error"]);
    let out = s.loopx(&["verify"]).fails_with(1);
    out.says("which was left by #").says("`src/late.rs`");
    // Also where the range begins after the hand-over.
    assert_eq!(findings(&s, &["HEAD~1..HEAD"]), ["state_replayed error"]);
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    send_back(&s, "plan");
    s.loopx(&["plan"]).ok();
    claim(&s, "src/late.rs", &old);
    assert_eq!(findings(&s, &[]), ["state_replayed error"]);
    // Documents may be committed at any time, by any state.
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    claim(&s, "docs/late", &old);
    assert_eq!(findings(&s, &[]), [""; 0]);
}

#[test]
fn a_state_that_was_left_is_judged_by_the_build_that_came_after() {
    let policy = "[gates]\nout_of_scope = \"refuse\"\n";
    let s = at("build", "\"src/**\", \"lib/**\"", policy);
    commit(&s, "lib/a.rs", "code").ok();
    let old = tip(&s);
    advance(&s, "build", "review", "");
    send_back(&s, "plan");
    s.loopx(&["plan"]).ok();
    let plan = s.git(&["show", "loopx:sessions/demo/plan.md"]).ok();
    let plan = plan.replace(", \"lib/**\"", "");
    let put = s.call(crate::support::LOOPX).args(&["put", "plan.md"]);
    put.stdin(plan).run().ok();
    for args in [
        &["plan", "--architect", "approve"][..],
        &["plan", "--critic", "approve"],
        &["approve", "--to", "build"],
        &["build"],
    ] {
        s.loopx(args).ok();
    }
    // lib/ was in the scope of the first build only.
    claim(&s, "lib/b.rs", &old);
    assert_eq!(findings(&s, &[]), ["out_of_scope error"]);
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    claim(&s, "src/b.rs", &old);
    assert_eq!(findings(&s, &[]), [""; 0]);
}

#[test]
fn what_a_reviewer_approved_is_settled() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    let old = tip(&s);
    advance(&s, "build", "review", "");
    claim(&s, "src/late.rs", &old);
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    assert_eq!(findings(&s, &[]), [""; 0]);
}

#[test]
fn code_without_a_claim_after_the_hand_over_is_an_error() {
    let s = at("build", "", "");
    s.write("src/a.rs", "a");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "in build"])
        .ok();
    assert_eq!(findings(&s, &[]), ["commit_without_state warning"]);
    advance(&s, "build", "review", "");
    assert_eq!(findings(&s, &[]), ["commit_without_state warning"]);
    s.write("src/b.rs", "b");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "in review"])
        .ok();
    assert_eq!(
        findings(&s, &[]),
        ["commit_without_state error", "commit_without_state warning"]
    );
    // A rebase changes neither what is known nor what is said of the rest.
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    s.git(&[
        "commit",
        "--quiet",
        "--amend",
        "--no-verify",
        "-m",
        "other words",
    ])
    .ok();
    assert_eq!(findings(&s, &[]), ["commit_without_state warning"]);
}

/// `main` with another commit, and a merge of it into `demo` whose tree somebody touched.
fn evil(s: &Sandbox, edit: impl Fn(&Sandbox)) {
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("src/upstream.rs", "upstream");
    s.write("src/old.rs", "newer\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "upstream"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "ours"])
        .ok();
    s.git(&["merge", "--quiet", "--no-commit", "main"]).ok();
    edit(s);
    s.git(&["add", "--all"]).ok();
    s.git(&["commit", "--quiet", "-m", "merge"]).ok();
}

#[test]
fn a_merge_that_adds_drops_or_changes_code_is_an_error_where_the_stage_takes_none() {
    let edits: [fn(&Sandbox); 3] = [
        |s| s.write("src/hidden.rs", "code"),
        |s| s.write("src/upstream.rs", "changed"),
        // As `merge -s ours` does: what upstream changed is taken back.
        |s| s.write("src/old.rs", "old\n"),
    ];
    for edit in edits {
        let s = started("");
        evil(&s, edit);
        assert_eq!(findings(&s, &[]), ["merge_changes_code error"]);
        assert_eq!(findings(&s, &["main..HEAD"]), ["merge_changes_code error"]);
    }
    let s = started("");
    evil(&s, |s| s.write("docs/x", "a document"));
    assert_eq!(findings(&s, &[]), [""; 0]);
    // The build takes it inside its scope; what was handed over with it stays fine.
    let s = at(
        "build",
        "\"src/**\"",
        "[gates]\nout_of_scope = \"refuse\"\n",
    );
    evil(&s, |s| s.write("src/more.rs", "code"));
    assert_eq!(findings(&s, &[]), [""; 0]);
    advance(&s, "build", "review", "");
    assert_eq!(findings(&s, &[]), [""; 0]);
    let s = at(
        "build",
        "\"lib/**\"",
        "[gates]\nout_of_scope = \"refuse\"\n",
    );
    evil(&s, |s| s.write("src/more.rs", "code"));
    assert_eq!(findings(&s, &[]), ["merge_changes_code error"]);
}

#[test]
fn a_merge_as_git_makes_it_is_never_held_against_anybody() {
    // A renamed folder: git moves what was added to it, libgit2 does not.
    let s = started("");
    for n in 0..4 {
        s.write(
            format!("src/m/{n}.rs"),
            format!("file {n}\nof the folder\n"),
        );
    }
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "files"])
        .ok();
    s.git(&["switch", "--quiet", "-C", "main"]).ok();
    s.git(&["mv", "src/m", "src/moved"]).ok();
    s.git(&["commit", "--quiet", "-m", "move"]).ok();
    s.git(&["switch", "--quiet", "-C", "demo", "HEAD~1"]).ok();
    s.write("src/m/added.rs", "added\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "add"])
        .ok();
    s.git(&[
        "-c",
        "merge.directoryRenames=true",
        "merge",
        "--quiet",
        "--no-edit",
        "main",
    ])
    .ok();
    assert!(s.exists("src/moved/added.rs"));
    let merges = |s: &Sandbox| {
        findings(s, &["main..HEAD"])
            .iter()
            .filter(|f| f.starts_with("merge"))
            .count()
    };
    assert_eq!(merges(&s), 0);
    // Nothing was written to find that out.
    let count = s.git(&["count-objects"]).line();
    s.loopx(&["verify", "main..HEAD"]).fails_with(1);
    assert_eq!(s.git(&["count-objects"]).line(), count);
    // A conflict somebody resolved, in a session that has built.
    let s = at("build", "", "");
    s.write("src/old.rs", "ours\n");
    s.git(&["commit", "--quiet", "-am", "ours"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("src/old.rs", "theirs\n");
    s.git(&["commit", "--quiet", "-am", "theirs"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["merge", "main"]).fails_with(1);
    s.write("src/old.rs", "both\n");
    s.git(&["commit", "--quiet", "-am", "merged"]).ok();
    assert_eq!(findings(&s, &[]), [""; 0]);
    advance(&s, "build", "review", "");
    assert_eq!(findings(&s, &[]), [""; 0]);
}

/// `loopx.sync linear` makes session commits again under other ids; commits of code name the first ones.
#[test]
fn what_a_linear_sync_made_again_still_allows_what_it_allowed() {
    let s = at("build", "src/**", "");
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "--no-verify", "origin", "main"])
        .ok();
    s.loopx(&["sync", "origin"]).ok();
    let other = s.root().join("other");
    let dir = other.to_str().expect("UTF-8");
    s.git(&["clone", "--quiet", "../remote.git", dir]).ok();
    s.loopx_in(&other, &["init"]).ok();
    // Both go on, and the other one is first.
    s.loopx_in(&other, &["start", "--no-branch", "Beside"]).ok();
    s.loopx_in(&other, &["sync", "origin"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    commit(&s, "src/a.rs", "code").ok();
    s.loopx(&["run", "--", "true"]).ok();
    commit(&s, "src/b.rs", "code").ok();
    let named = s
        .git(&[
            "log",
            "-1",
            "--format=%(trailers:key=Loopx-State,valueonly)",
        ])
        .line();
    s.git(&["config", "loopx.sync", "linear"]).ok();
    s.loopx(&["sync", "origin"]).says("replayed").ok();
    assert_ne!(s.git(&["rev-parse", "loopx"]).line(), named);
    s.loopx(&["verify", "main..HEAD"]).ok();
    // Where the first ones never were, too.
    s.git(&["push", "--quiet", "--no-verify", "origin", "demo"])
        .ok();
    s.git_in(&other, &["fetch", "--quiet"]).ok();
    s.loopx_in(&other, &["sync", "origin"]).ok();
    s.git_in(&other, &["cat-file", "-e", &named]).fails_with(1);
    s.loopx_in(&other, &["verify", "main..origin/demo"]).ok();
    // A name that nobody gave is refused as ever.
    let forged = format!(
        "x\n\nLoopx-Session: demo\nLoopx-State: {}\n",
        "1".repeat(40)
    );
    s.write("src/c.rs", "code");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", &forged])
        .ok();
    s.loopx(&["verify", "main..HEAD"])
        .fails_with(1)
        .says("no commit of the loopx branch");
    for dir in [s.path(), &other] {
        s.loopx_in(dir, &["fsck"]).says("all whole").ok();
    }
}
