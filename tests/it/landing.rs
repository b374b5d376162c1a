//! What a protected branch takes: the account of `docs/landing.md`, in pre-receive of a server and in
//! `verify` as CI runs it. Each attack is refused by both, its honest neighbour taken by both.

use crate::support::forge::forge_records;
use crate::support::keys::{key, public, use_key};
use crate::support::session::{advance, begin, start};
use crate::support::{Kept, Output, Sandbox};
use std::sync::OnceLock;

const HOOK: &str = "#!/bin/sh\nexec git-loopx hook pre-receive\n";
const PROTECTED: &str = "[gates]\nprotected = [\"main\"]\n";

/// A session that is done on `demo`: two commits, without trailers, as of somebody without hooks.
fn finished() -> Sandbox {
    static KEPT: OnceLock<Kept> = OnceLock::new();
    Sandbox::remake(KEPT.get_or_init(|| {
        let s = Sandbox::new();
        begin(&s, PROTECTED);
        build(&s);
        s.keep()
    }))
}

/// The same with a server that has the branch.
fn done() -> Sandbox {
    let s = finished();
    serve(&s);
    offer(&s, &["demo"]);
    s
}

/// Builds, reviews and finishes what `demo` is about.
fn build(s: &Sandbox) {
    advance(s, "clarify", "build", "");
    make(s, &[("src/a.rs", "one\n")], "code");
    make(
        s,
        &[("src/b.rs", "two\n"), ("src/old.rs", "new\n")],
        "more code",
    );
    advance(s, "build", "done", "");
}

/// A bare server with `main`, the loopx branch and the hook.
fn serve(s: &Sandbox) {
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
}

/// Commits files past every hook; an empty text takes one away.
fn make(s: &Sandbox, files: &[(&str, &str)], message: &str) -> String {
    for (path, text) in files {
        if text.is_empty() {
            s.git(&["rm", "--quiet", "--force", "--", path]).ok();
        } else {
            s.write(path, text);
            s.git(&["add", "--force", "--", path]).ok();
        }
    }
    s.git(&[
        "commit",
        "--quiet",
        "--no-verify",
        "--allow-empty",
        "-m",
        message,
    ])
    .ok();
    rev(s, "HEAD")
}

fn rev(s: &Sandbox, name: &str) -> String {
    s.git(&["rev-parse", name]).line()
}

/// Goes to a commit, on no branch.
fn at(s: &Sandbox, commit: &str) {
    s.git(&["switch", "--quiet", "--detach", commit]).ok();
}

fn push(s: &Sandbox, what: &[&str]) -> Output {
    let mut all = vec!["push", "--quiet", "--no-verify", "origin"];
    all.extend(what);
    s.git(&all)
}

/// `verify` as the README's CI runs it, for a pull request from a branch of this name.
fn ci(s: &Sandbox, commit: &str, branch: &str) -> Output {
    let range = format!("origin/main..{commit}");
    s.loopx(&[
        "verify",
        &range,
        "--policy-from=origin/main",
        "--onto=main",
        "--branch",
        branch,
    ])
}

#[track_caller]
fn lands(s: &Sandbox, commit: &str) {
    for branch in ["demo", "other"] {
        ci(s, commit, branch).ok();
    }
    push(s, &[&format!("{commit}:refs/heads/main"), "loopx"]).ok();
}

/// Puts the branches of sessions on the server, as a pull request does.
fn offer(s: &Sandbox, branches: &[&str]) {
    let mut all = vec!["loopx"];
    all.extend(branches);
    push(s, &all).ok();
}

/// The same, and everything is as before afterwards.
#[track_caller]
fn would_land(s: &Sandbox, commit: &str) {
    let before = rev(s, "origin/main");
    lands(s, commit);
    let remote = s.root().join("remote.git");
    s.git_in(&remote, &["update-ref", "refs/heads/main", &before])
        .ok();
    s.git(&["update-ref", "refs/remotes/origin/main", &before])
        .ok();
}

#[track_caller]
fn refused(s: &Sandbox, commit: &str, code: &str) {
    for branch in ["demo", "other"] {
        ci(s, commit, branch).fails_with(1).says(code);
    }
    push(s, &[&format!("{commit}:refs/heads/main"), "loopx"])
        .fails_with(1)
        .says(code)
        .says("pre-receive hook declined");
}

/// `main` one document further, as somebody without a session commits it.
fn beside(s: &Sandbox) -> String {
    at(s, "main");
    let beside = make(s, &[("README.md", "read me\n")], "a document");
    lands(s, &beside);
    beside
}

const PULL: &str = "Merge pull request #1 from ada/demo\n\nTen minutes";
const SQUASH: &str = "Ten minutes, with other words (#1)\n\n* code\n\n* more code\n\nCo-authored-by: Ada Author <ada@example.org>\n";

fn squash(s: &Sandbox, onto: &str, branch: &str, message: &str) -> String {
    at(s, onto);
    s.git(&["merge", "--quiet", "--squash", branch]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", message])
        .ok();
    rev(s, "HEAD")
}

fn merge(s: &Sandbox, onto: &str, branch: &str, message: &str) -> String {
    at(s, onto);
    s.git(&["merge", "--quiet", "--no-ff", "-m", message, branch])
        .ok();
    rev(s, "HEAD")
}

fn rebase(s: &Sandbox, onto: &str, branch: &str) -> String {
    at(s, branch);
    let call = s
        .call("git")
        .args(&["rebase", "--quiet", "--force-rebase", onto]);
    call.env("GIT_COMMITTER_NAME", "Forge")
        .env("GIT_COMMITTER_EMAIL", "noreply@forge.example")
        .run()
        .ok();
    rev(s, "HEAD")
}

/// Changes what HEAD has, under the same message.
fn amend(s: &Sandbox, path: &str, text: &str) -> String {
    s.write(path, text);
    s.git(&["add", "--", path]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "--amend", "--no-edit"])
        .ok();
    rev(s, "HEAD")
}

#[test]
fn a_reviewed_branch_lands_as_forges_land_it_and_not_with_a_byte_more() {
    let s = done();
    would_land(&s, "demo");
    let beside = beside(&s);
    for made in [
        merge(&s, &beside, "demo", PULL),
        squash(&s, &beside, "demo", SQUASH),
        rebase(&s, &beside, "demo"),
    ] {
        at(&s, &made);
        would_land(&s, &made);
        let evil = amend(&s, "src/a.rs", "one\nevil\n");
        for branch in ["demo", "other"] {
            ci(&s, &evil, branch).fails_with(1);
        }
        push(&s, &[&format!("{evil}:refs/heads/main")])
            .fails_with(1)
            .says("pre-receive hook declined");
    }
    // The button that takes the target into the branch; then any of the three.
    let update = merge(&s, "demo", &beside, "Merge branch 'main' into demo");
    would_land(&s, &update);
    let made = squash(&s, &beside, &update, SQUASH);
    would_land(&s, &made);
    // A squash that is merged by a commit of its own.
    let apart = squash(&s, "main", "demo", SQUASH);
    let made = merge(
        &s,
        &beside,
        &apart,
        "Merge branch 'demo' into 'main'\n\nSee merge request a/b!1",
    );
    would_land(&s, &made);
}

#[test]
fn a_merge_queue_lands_one_session_on_top_of_the_other() {
    let s = done();
    s.git(&["switch", "--quiet", "main"]).ok();
    start(&s, "second");
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/c.rs", "three\n")], "third");
    advance(&s, "build", "review", "");
    let first = squash(&s, "main", "demo", "one (#1)");
    let both = squash(&s, &first, "second", "two (#2)");
    let train = merge(&s, &first, "second", "Merge branch 'second' into 'main'");
    // The second is not reviewed yet.
    refused(&s, &both, "protected_without_session");
    s.git(&["switch", "--quiet", "second"]).ok();
    advance(&s, "review", "done", "");
    offer(&s, &["second"]);
    would_land(&s, &both);
    would_land(&s, &train);
}

#[test]
fn g1_g10_guarded_paths_land_only_with_a_review() {
    let s = done();
    lands(&s, "demo");
    let trailer = "touch up\n\nLoopx-Session: demo\n";
    for path in [
        "loopx.toml",
        "loopx.signers",
        ".mailmap",
        "specs/demo/spec.md",
        "docs/adr/0001-a.md",
        "AGENTS.md",
        ".github/workflows/ci.yml",
    ] {
        for message in ["touch up", trailer] {
            at(&s, "demo");
            let evil = make(&s, &[(path, "[gates]\n")], message);
            ci(&s, &evil, "other").fails_with(1);
            push(&s, &[&format!("{evil}:refs/heads/main")])
                .fails_with(1)
                .says("pre-receive hook declined");
        }
    }
    at(&s, "demo");
    let evil = make(&s, &[("loopx.toml", "[gates]\n")], "policy");
    refused(&s, &evil, "path_guarded");
    // Documents pass, and only as plain files: no folder of such a name, no link, nothing to execute.
    at(&s, "demo");
    let evil = make(&s, &[("src/lib.md/evil.sh", "evil\n")], trailer);
    refused(&s, &evil, "review_stale");
    at(&s, "demo");
    std::fs::create_dir_all(s.path().join("docs")).expect("a folder");
    std::os::unix::fs::symlink("/etc/passwd", s.path().join("docs/x")).expect("a link");
    s.git(&["add", "docs/x"]).ok();
    let evil = make(&s, &[], "a link");
    refused(&s, &evil, "protected_without_session");
    at(&s, "demo");
    s.write("docs/run.sh", "evil\n");
    s.chmod("docs/run.sh", 0o755);
    s.git(&["add", "docs/run.sh"]).ok();
    let evil = make(&s, &[], "a script");
    refused(&s, &evil, "protected_without_session");
    at(&s, "demo");
    let honest = make(
        &s,
        &[("docs/a.md", "x\n"), ("README.md", "x\n")],
        "documents",
    );
    would_land(&s, &honest);
}

#[test]
fn g2_g3_a_verdict_lands_once_and_only_where_it_merges() {
    let s = done();
    let reviewed = rev(&s, "demo^{tree}");
    let first = squash(&s, "main", "demo", "Ten minutes (#1)");
    lands(&s, &first);
    // Another session takes it back.
    s.git(&["switch", "--quiet", "--no-track", "-c", "main2", &first])
        .ok();
    start(&s, "second");
    advance(&s, "clarify", "build", "");
    let files = [
        ("src/a.rs", ""),
        ("src/b.rs", ""),
        ("src/old.rs", "old\n"),
        ("src/fix.rs", "x\n"),
    ];
    make(&s, &files, "take it back");
    advance(&s, "build", "done", "");
    let back = squash(&s, &first, "second", "Take it back (#2)");
    // A server that has not got the branch can hold nothing against it.
    push(&s, &[&format!("{back}:refs/heads/main"), "loopx"])
        .fails_with(1)
        .says("reviewed_commit_missing");
    offer(&s, &["second"]);
    lands(&s, &back);
    at(&s, &back);
    let again = make(
        &s,
        &[
            ("src/a.rs", "one\n"),
            ("src/b.rs", "two\n"),
            ("src/old.rs", "new\n"),
        ],
        "Ten minutes (#1)",
    );
    refused(&s, &again, "landed_already");
    let merged = merge(&s, &back, "demo", PULL);
    refused(&s, &merged, "landed_already");
    // The reviewed tree as it was, over what came since.
    let tree = s
        .git(&[
            "commit-tree",
            "-p",
            &back,
            "-m",
            "Ten minutes (#1)",
            &reviewed,
        ])
        .line();
    ci(&s, &tree, "other").fails_with(1);
    push(&s, &[&format!("{tree}:refs/heads/main")])
        .fails_with(1)
        .says("protected_without_session");
}

#[test]
fn g2_a_conflict_that_is_resolved_on_the_forge_is_reviewed_again() {
    let s = done();
    s.git(&["switch", "--quiet", "main"]).ok();
    start(&s, "second");
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/old.rs", "other\n")], "the same line");
    advance(&s, "build", "done", "");
    lands(&s, "second");
    at(&s, "second");
    s.git(&["merge", "--quiet", "--no-commit", "demo"])
        .fails_with(1);
    s.write("src/old.rs", "both\n");
    s.git(&["add", "."]).ok();
    let resolved = make(&s, &[], PULL);
    refused(&s, &resolved, "landing_conflict");
    let one = s
        .git(&[
            "commit-tree",
            "-p",
            "second",
            "-m",
            "Ten minutes (#1)",
            &format!("{resolved}^{{tree}}"),
        ])
        .line();
    refused(&s, &one, "landing_conflict");
    // In the session, with a new review, it is as any other change.
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["reset", "--quiet", "--hard", "demo"]).ok();
    for args in [
        &["undo"][..],
        &["undo"],
        &[
            "review",
            "--verdict",
            "request-changes",
            "--target",
            "build",
            "--reason",
            "x",
        ],
        &["approve", "--to", "build", "--reason", "x"],
        &["build", "--from-review"],
    ] {
        s.loopx(args).ok();
    }
    s.git(&["merge", "--quiet", "--no-commit", "second"])
        .fails_with(1);
    s.write("src/old.rs", "both\n");
    s.git(&["add", "."]).ok();
    make(&s, &[], "take main in");
    for args in [
        &["build", "--report", "execution=complete", "--reason", "y"][..],
        &["run", "--task", "VS-1"],
        &["approve", "--to", "review"],
        &["review"],
        &["review", "--verdict", "approve"],
        &["approve", "--to", "done"],
    ] {
        s.loopx(args).ok();
    }
    lands(&s, "demo");
}

#[test]
fn g4_what_lies_below_a_sessions_start_is_reviewed_or_does_not_land() {
    let s = Sandbox::new();
    let policy = "[gates]\nprotected = [\"main\"]\n[review]\nindependence = \"require\"\n";
    begin(&s, policy);
    s.git(&["switch", "--quiet", "-c", "innocent", "main"]).ok();
    make_by(&s, "Bob", "src/wip.rs", "wip");
    let wip = rev(&s, "HEAD");
    s.git(&["switch", "--quiet", "-c", "hello"]).ok();
    s.loopx(&["start", "Hello"]).ok();
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/hello.rs", "hello\n")], "hello");
    advance(&s, "build", "review", "");
    serve(&s);
    let review = |who: &str, reason: &str| {
        let email = format!("{}@example.org", who.to_lowercase());
        let call = s.call(crate::support::LOOPX).args(&[
            "review",
            "--verdict",
            "approve",
            "--reason",
            reason,
        ]);
        call.env("GIT_AUTHOR_NAME", who)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_COMMITTER_NAME", who)
            .env("GIT_COMMITTER_EMAIL", &email)
            .run()
    };
    // Everything that would land is shown, and whoever made some of it is not independent (G4b).
    review("Bob", "x")
        .fails_with(1)
        .says("policy asks for an independent reviewer");
    // A reviewer who compares with something else was not shown it; whatever the pull request is called.
    s.git(&["branch", "elsewhere", &wip]).ok();
    s.git(&["config", "loopx.target", "elsewhere"]).ok();
    let done = |s: &Sandbox| s.loopx(&["approve", "--to", "done"]).ok();
    review("Rita", "x").ok();
    done(&s);
    refused(&s, "hello", "landing_not_shown");
    let one = squash(&s, "main", "hello", "hello (#1)");
    ci(&s, &one, "other").fails_with(1);
    push(&s, &[&format!("{one}:refs/heads/main")]).fails_with(1);
    // The honest review shows both commits.
    s.git(&["switch", "--quiet", "hello"]).ok();
    s.git(&["config", "--unset", "loopx.target"]).ok();
    s.loopx(&["undo"]).ok();
    review("Rita", "x").ok();
    done(&s);
    lands(&s, "hello");
}

fn make_by(s: &Sandbox, who: &str, path: &str, message: &str) {
    s.write(path, path);
    s.git(&["add", "--", path]).ok();
    let email = format!("{}@example.org", who.to_lowercase());
    let call = s
        .call("git")
        .args(&["commit", "--quiet", "--no-verify", "-m", message]);
    call.env("GIT_AUTHOR_NAME", who)
        .env("GIT_AUTHOR_EMAIL", &email)
        .env("GIT_COMMITTER_NAME", who)
        .env("GIT_COMMITTER_EMAIL", &email)
        .run()
        .ok();
}

#[test]
fn g9_g18_every_commit_of_a_landing_is_judged_whatever_its_branch_is_called() {
    let s = done();
    let reviewed = rev(&s, "demo");
    s.git(&["switch", "--quiet", "demo"]).ok();
    make(&s, &[("src/evil.rs", "evil\n")], "evil");
    let back = make(&s, &[("src/evil.rs", "")], "take it back");
    assert_eq!(
        rev(&s, &format!("{back}^{{tree}}")),
        rev(&s, &format!("{reviewed}^{{tree}}"))
    );
    refused(&s, &back, "review_stale");
    s.git(&["reset", "--quiet", "--hard", &reviewed]).ok();
    would_land(&s, &reviewed);
    let landed = squash(&s, "main", "demo", SQUASH);
    at(&s, &landed);
    make(&s, &[("src/evil.rs", "evil\n")], "evil");
    make(&s, &[("src/evil.rs", "")], "take it back");
    let last = make(&s, &[], "nothing\n\nLoopx-Session: demo\n");
    refused(&s, &last, "protected_without_session");
    // A commit that changes nothing harms nobody.
    at(&s, &landed);
    let empty = make(&s, &[], "start the pipeline again");
    would_land(&s, &empty);
}

#[test]
fn g17_g21_a_missing_trailer_is_never_cheaper_than_a_wrong_one() {
    let policy = "[gates]\nprotected = [\"main\"]\nout_of_scope = \"refuse\"\n";
    let s = Sandbox::new();
    begin(&s, policy);
    serve(&s);
    let early = rev(&s, "demo");
    // In plan: a document may be committed, code may not.
    advance(&s, "clarify", "plan", "");
    make(&s, &[("src/early.rs", "x\n")], "code in plan");
    advance(&s, "plan", "build", "\"src/**\"");
    make(&s, &[("src/a.rs", "x\n")], "code in build");
    push(&s, &["demo", "loopx"])
        .fails_with(1)
        .says("it was made in stage plan");
    // Outside the scope.
    s.git(&["reset", "--quiet", "--hard", &early]).ok();
    make(&s, &[("src/a.rs", "x\n")], "code in build");
    let inside = rev(&s, "demo");
    make(&s, &[("deploy.sh", "x\n")], "outside");
    push(&s, &["demo", "loopx"])
        .fails_with(1)
        .says("out_of_scope");
    let outside = rev(&s, "demo");
    advance(&s, "build", "done", "");
    // What the session became later washes nothing.
    refused(&s, &outside, "out_of_scope");
    for _ in 0..2 {
        s.loopx(&["undo"]).ok();
    }
    s.git(&["reset", "--quiet", "--hard", &inside]).ok();
    advance(&s, "review", "done", "");
    lands(&s, "demo");
}

#[test]
fn g22_a_review_of_nothing_is_no_approval() {
    let s = Sandbox::new();
    begin(&s, PROTECTED);
    advance(&s, "clarify", "review", "");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let error = s
        .loopx(&["--json", "review", "--verdict", "approve"])
        .fails_with(1)
        .error_json();
    assert_eq!(error["error"]["code"], "review_empty", "{error:#}");
    // Whoever says why nothing changes is on record; code does not land by it.
    s.loopx(&[
        "review",
        "--verdict",
        "approve",
        "--reason",
        "the code does so already",
    ])
    .ok();
    s.loopx(&["approve", "--to", "done"]).ok();
    serve(&s);
    s.git(&["switch", "--quiet", "demo"]).ok();
    let evil = make(&s, &[("src/a.rs", "x\n")], "code");
    refused(&s, &evil, "protected_without_session");
    // Without `protected` nothing is asked.
    let s = Sandbox::new();
    begin(&s, "");
    advance(&s, "clarify", "done", "");
}

#[test]
fn archives_land_as_the_program_makes_them() {
    let s = Sandbox::new();
    let policy = "[gates]\nprotected = [\"main\"]\nalways_allow = []\n[changelog]\nfragments = \"changelog.d\"\n";
    begin(&s, policy);
    build(&s);
    serve(&s);
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.loopx(&["archive"]).ok();
    let archive = rev(&s, "demo");
    would_land(&s, &archive);
    let made = squash(&s, "main", "demo", "with its specs (#1)");
    would_land(&s, &made);
    // Another text under the same trailers is none.
    at(&s, "demo");
    let evil = amend(&s, "specs/demo/spec.md", "# demo Specification\n");
    refused(&s, &evil, "review_stale");
    lands(&s, &archive);
    // Its decision, from the candidate of the session; and the fragments, taken in by the changelog.
    s.git(&["switch", "--quiet", "-C", "main", "origin/main"])
        .ok();
    s.loopx(&["adr", "promote", "demo", "--onto", "main"]).ok();
    would_land(&s, "main");
    let promoted = rev(&s, "main");
    let record = s.git(&["diff", "--name-only", "HEAD~1", "HEAD"]).line();
    let evil = amend(&s, &record, "# 1. Anything\n");
    ci(&s, &evil, "other").fails_with(1);
    s.git(&["reset", "--quiet", "--hard", &promoted]).ok();
    lands(&s, "main");
    s.loopx(&["spec", "changelog", "--write"]).ok();
    s.git(&["add", "--all", "CHANGELOG.md", "changelog.d"]).ok();
    let made = make(&s, &[], "changelog");
    would_land(&s, &made);
    let evil = amend(&s, "CHANGELOG.md", "anything\n");
    ci(&s, &evil, "other").fails_with(1);
    // The changelog is no way into what is guarded.
    s.git(&["reset", "--quiet", "--hard", &promoted]).ok();
    s.loopx(&["spec", "changelog", "--write", "--file", "AGENTS.md"])
        .ok();
    s.git(&["add", "--all", "AGENTS.md", "changelog.d"]).ok();
    let evil = make(&s, &[], "changelog");
    ci(&s, &evil, "other").fails_with(1);
    // Taken back, and not with more than that.
    s.git(&["reset", "--quiet", "--hard", &promoted]).ok();
    s.loopx(&["archive", "--undo", "demo", "--onto", "main"])
        .ok();
    would_land(&s, "main");
    s.write("src/more.rs", "x\n");
    let evil = amend(&s, "src/more.rs", "x\n");
    ci(&s, &evil, "other").fails_with(1);
}

#[test]
fn an_exception_takes_commits_of_its_key_on_its_paths() {
    let s = Sandbox::new();
    let policy = format!(
        "{PROTECTED}[[landing.exception]]\npaths = [\"Cargo.lock\"]\nkey = \"{} bot\"\n",
        public("bob")
    );
    begin(&s, &policy);
    serve(&s);
    at(&s, "main");
    s.write("Cargo.lock", "2\n");
    s.git(&["add", "Cargo.lock"]).ok();
    let signed = |s: &Sandbox, name: &str| {
        use_key(s, key(name));
        s.git(&[
            "commit",
            "--quiet",
            "--no-verify",
            "--allow-empty",
            "-S",
            "-m",
            "bump",
        ])
        .ok();
        rev(s, "HEAD")
    };
    let bump = signed(&s, "bob");
    would_land(&s, &bump);
    let pull = merge(&s, "main", &bump, "Merge pull request #2 from bot/bump");
    would_land(&s, &pull);
    at(&s, "main");
    let plain = make(&s, &[("Cargo.lock", "2\n")], "bump");
    refused(&s, &plain, "protected_without_session");
    for (path, name) in [
        ("Cargo.lock", "ada"),
        ("src/a.rs", "bob"),
        ("loopx.toml", "bob"),
    ] {
        at(&s, "main");
        s.write(path, "evil\n");
        s.git(&["add", path]).ok();
        let evil = signed(&s, name);
        ci(&s, &evil, "other").fails_with(1);
        push(&s, &[&format!("{evil}:refs/heads/main")]).fails_with(1);
    }
}

#[test]
fn a_backport_is_a_clean_pick_of_what_a_protected_branch_has() {
    let s = Sandbox::new();
    let policy = "[gates]\nprotected = [\"main\", \"release\"]\n[landing]\nbackport = [\"main\"]\n";
    begin(&s, policy);
    build(&s);
    serve(&s);
    push(&s, &["main:refs/heads/release"]).ok();
    let release = |s: &Sandbox, commit: &str| push(s, &[&format!("{commit}:refs/heads/release")]);
    // The verdict is about main.
    release(&s, "demo")
        .fails_with(1)
        .says("landing_other_target");
    lands(&s, "demo");
    let pick = |s: &Sandbox| {
        at(s, "main");
        s.git(&["cherry-pick", "-x", "demo~1", "demo"]).ok();
        rev(s, "HEAD")
    };
    let picked = pick(&s);
    let evil = amend(&s, "src/b.rs", "evil\n");
    release(&s, &evil).fails_with(1);
    release(&s, &picked).ok();
    // What was taken back there does not come again by the same pick.
    let range = format!("origin/release..{picked}");
    s.loopx(&[
        "verify",
        &range,
        "--onto=release",
        "--policy-from=origin/release",
    ])
    .ok();
}

#[test]
fn verify_explains_what_covers_each_commit_and_path() {
    let s = done();
    let beside = beside(&s);
    let made = squash(&s, &beside, "demo", SQUASH);
    let explain = |commit: &str, json: bool| {
        let range = format!("main..{commit}");
        let mut args = vec![
            "verify",
            range.as_str(),
            "--policy-from=main",
            "--onto=main",
        ];
        args.push(if json { "--json" } else { "--explain" });
        s.loopx(&args)
    };
    let out = explain(&made, false);
    out.says(&format!("E {} a document: always allowed", &beside[..10]))
        .says("    README.md")
        .says(&format!(
            "S {} Ten minutes, with other words (#1): demo as one commit",
            &made[..10]
        ))
        .says("    src/a.rs")
        .ok();
    let json = explain(&made, true).json();
    let account = &json["account"];
    assert_eq!(account["covered"], true, "{json:#}");
    assert_eq!(account["commits"][1]["step"], "S");
    assert_eq!(account["commits"][1]["session"], "demo");
    assert_eq!(account["commits"][1]["paths"][0]["path"], "src/a.rs");
    at(&s, &made);
    let evil = make(&s, &[("loopx.toml", "x\n"), ("src/e.rs", "x\n")], "evil");
    let out = explain(&evil, false).fails_with(1);
    out.says(&format!(
        "- {} evil: this is the result of no session",
        &evil[..10]
    ))
    .says("    loopx.toml  (guarded: lands only by a session)")
    .says("    src/e.rs  (not in always_allow)");
    s.loopx(&["verify", "main..main", "--explain"])
        .says("nothing is accounted for")
        .ok();
}

/// They name neither where the branch was nor what it is to go to.
#[test]
fn sessions_of_older_programs_land_by_where_their_review_began() {
    let s = finished();
    forge_records(&s, "demo", |op| {
        if let Some(verdict) = op["body"]["verdict"].as_object_mut() {
            verdict.remove("onto");
            verdict.remove("seen");
        }
        if (op["kind"] == "entered" || op["kind"] == "approved")
            && let Some(body) = op["body"].as_object_mut()
        {
            body.remove("head");
        }
    });
    serve(&s);
    offer(&s, &["demo"]);
    would_land(&s, "demo");
    let made = squash(&s, "main", "demo", SQUASH);
    would_land(&s, &made);
    at(&s, &made);
    let evil = amend(&s, "src/a.rs", "evil\n");
    refused(&s, &evil, "protected_without_session");
}
