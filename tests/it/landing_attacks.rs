//! Attacks on a protected branch, by their numbers: refused by a server's pre-receive and by `verify` as CI
//! runs it, each with an honest neighbour that both take.

use crate::support::landing::{
    PROTECTED, PULL, SQUASH, at, ci, done, lands, make, merge, offer, push, refused, rev, serve,
    squash, would_land,
};
use crate::support::server::HOOK;
use crate::support::session::{advance, begin, start};
use crate::support::{LOOPX, Sandbox};

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
        let call = s
            .call(LOOPX)
            .args(&["review", "--verdict", "approve", "--reason", reason]);
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
fn g4b_independence_is_asked_of_everybody_whose_commits_land() {
    let s = Sandbox::new();
    begin(&s, PROTECTED);
    advance(&s, "clarify", "build", "");
    make_by(&s, "Bob", "src/wip.rs", "wip");
    make(&s, &[("src/a.rs", "one\n")], "code");
    advance(&s, "build", "review", "");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let call = s
        .call(LOOPX)
        .args(&["review", "--verdict", "approve"])
        .env("GIT_AUTHOR_NAME", "Bob")
        .env("GIT_AUTHOR_EMAIL", "bob@example.org")
        .env("GIT_COMMITTER_NAME", "Bob")
        .env("GIT_COMMITTER_EMAIL", "bob@example.org");
    call.run().ok();
    s.loopx(&["approve", "--to", "done"]).ok();
    serve(&s);
    offer(&s, &["demo"]);
    would_land(&s, "demo");
    // The target asks for more than the session's base did.
    s.git(&["switch", "--quiet", "main"]).ok();
    let policy = format!("{PROTECTED}[review]\nindependence = \"require\"\n");
    make(&s, &[("loopx.toml", &policy)], "policy");
    s.script("../remote.git/hooks/pre-receive", "#!/bin/sh\n");
    push(&s, &["main"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
    let made = squash(&s, "main", "demo", SQUASH);
    refused(&s, &made, "reviewer_not_independent");
    let made = merge(&s, "main", "demo", PULL);
    refused(&s, &made, "reviewer_not_independent");
}

#[test]
fn z2_a_verdict_that_was_taken_back_is_not_held_against_the_work_that_follows() {
    let s = Sandbox::new();
    let policy = format!("{PROTECTED}[review]\nindependence = \"require\"\n");
    begin(&s, &policy);
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/a.rs", "one\n")], "code");
    advance(&s, "build", "review", "");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let bob = |words: &[&str]| {
        let call = s.call(LOOPX).args(words).env("GIT_AUTHOR_NAME", "Bob");
        call.env("GIT_AUTHOR_EMAIL", "bob@example.org")
            .env("GIT_COMMITTER_NAME", "Bob")
            .env("GIT_COMMITTER_EMAIL", "bob@example.org")
            .run()
    };
    bob(&["review", "--verdict", "approve"]).ok();
    bob(&["approve", "--to", "done"]).ok();
    bob(&["archive"]).ok();
    serve(&s);
    s.git(&["switch", "--quiet", "demo"]).ok();
    push(&s, &["demo"]).ok();
    // Whoever archives and takes back by a command takes no part in the code.
    s.loopx(&["reopen", "demo", "--reason", "again"]).ok();
    make(&s, &[("src/a.rs", "two\n")], "more code");
    push(&s, &["demo", "loopx"]).ok();
    // Whoever gave the verdict that was taken back may help, and then judges no more.
    make_by(&s, "Bob", "src/helped.rs", "help");
    push(&s, &["demo"]).ok();
    s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
        .ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).ok();
    bob(&["review", "--verdict", "approve"])
        .fails_with(1)
        .says("author of the range");
    s.git(&["reset", "--quiet", "--hard", "HEAD^"]).ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    bob(&["review", "--verdict", "approve"]).ok();
    bob(&["approve", "--to", "done"]).ok();
    bob(&["archive"]).ok();
    s.git(&["push", "--quiet", "--force", "origin", "demo", "loopx"])
        .ok();
    lands(&s, "demo");
}

#[test]
fn z2_whoever_takes_a_taking_back_back_took_part() {
    let s = Sandbox::new();
    let policy = format!("{PROTECTED}[review]\nindependence = \"require\"\n");
    begin(&s, &policy);
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/a.rs", "one\n")], "code");
    let session = "Loopx-Session: demo";
    make_by(
        &s,
        "Bob",
        "src/evil.rs",
        &format!("More\n\n{session}\nLoopx-Event: archive"),
    );
    for word in ["Take back", "Once more"] {
        let undone = s.git(&["rev-parse", "HEAD"]).line();
        let tree = s.git(&["rev-parse", "HEAD^^{tree}"]).line();
        let message =
            format!("{word}\n\n{session}\nLoopx-Event: unarchive\nLoopx-Undoes: {undone}");
        let call = s.call("git");
        let call = call.args(&["commit-tree", &tree, "-p", "HEAD", "-m", &message]);
        let made = call
            .env("GIT_AUTHOR_NAME", "Bob")
            .env("GIT_AUTHOR_EMAIL", "bob@example.org")
            .env("GIT_COMMITTER_NAME", "Bob")
            .env("GIT_COMMITTER_EMAIL", "bob@example.org")
            .run()
            .line();
        s.git(&["reset", "--quiet", "--hard", &made]).ok();
    }
    assert!(s.path().join("src/evil.rs").exists());
    advance(&s, "build", "review", "");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let call = s.call(LOOPX).args(&["review", "--verdict", "approve"]);
    call.env("GIT_AUTHOR_NAME", "Bob")
        .env("GIT_AUTHOR_EMAIL", "bob@example.org")
        .env("GIT_COMMITTER_NAME", "Bob")
        .env("GIT_COMMITTER_EMAIL", "bob@example.org")
        .run()
        .fails_with(1)
        .says("author of the range");
}

#[test]
fn a_commit_that_needs_no_session_names_no_state_that_is_none() {
    let s = done();
    lands(&s, "demo");
    at(&s, "demo");
    let none = "1".repeat(40);
    let evil = make(
        &s,
        &[("docs/a.md", "x\n")],
        &format!("notes\n\nLoopx-Session: demo\nLoopx-State: {none}\n"),
    );
    refused(&s, &evil, "state_not_on_branch");
    at(&s, "demo");
    let honest = make(&s, &[("docs/a.md", "x\n")], "notes");
    would_land(&s, &honest);
}
