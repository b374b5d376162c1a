//! Refs, trailers, records and files that somebody without a say puts where the program looks: another remote, a branch
//! that is no target, a commit of documents, the place of a working copy. None of them counts.

use crate::support::landing::{self, at, done, make, push, refused, rev, serve, would_land};
use crate::support::{LOOPX, Sandbox};
use serde_json::Value;

const CHECKS: &str = "[checks.unit]\nrun = [\"touch\", \"ran\"]\n";
const DELTA: &str = "# Domain: auth\n\n## ADDED Requirements\n\n### Requirement: Nobody\nThe system SHALL let nobody in.\n\n\
#### Scenario: In\n- **WHEN** anybody comes\n- **THEN** they stay out\n";

/// A repository with a protected `main` at a remote, on a branch of its own.
fn repository(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::new();
        s.write("src/timeout", "30\n");
        s.write("loopx.toml", format!("{}{policy}", landing::PROTECTED));
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        serve(&s);
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s
    })
}

/// A quick session with its brief, and its code.
fn built(s: &Sandbox, delta: &str) {
    s.loopx(&["start", "--quick", "--id", "it", "It"]).ok();
    let brief = format!("# It\n\n## Why\n\nIt is slow.\n\n## Checks\n\n- `true`\n\n{delta}");
    s.write(".loopx/it/brief.md", brief);
    make(s, &[("src/timeout", "10\n")], "Ten minutes");
    s.loopx(&["run"]).ok();
}

/// A quick session with its brief and its code, reviewed and approved, without its archive.
fn reviewed(s: &Sandbox, delta: &str) {
    built(s, delta);
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--to", "done"]).ok();
}

/// A commit on a branch of its own from `main`.
fn on(s: &Sandbox, branch: &str, files: &[(&str, &str)], message: &str) -> String {
    s.git(&["switch", "--quiet", "-c", branch, "main"]).ok();
    make(s, files, message)
}

#[test]
fn checks_of_another_remote_or_of_a_branch_that_is_tracked_are_agreed_to_first() {
    for tracked in [false, true] {
        let s = repository("");
        let policy = format!("{}{CHECKS}", landing::PROTECTED);
        let theirs = on(&s, "theirs", &[("loopx.toml", &policy)], "checks");
        if tracked {
            push(&s, &["theirs"]).ok();
            s.git(&[
                "switch",
                "--quiet",
                "-c",
                "mine",
                "--track",
                "origin/theirs",
            ])
            .ok();
        } else {
            s.git(&["remote", "add", "eve", "../eve.git"]).ok();
            s.git(&["update-ref", "refs/remotes/eve/main", &theirs])
                .ok();
            s.git(&["switch", "--quiet", "-c", "mine"]).ok();
        }
        s.loopx(&["start", "--quick", "--id", "it", "It"]).ok();
        for args in [&["run", "--task", "unit"][..], &["run"]] {
            s.loopx(args).fails_with(6).says("--trust");
            assert!(!s.path().join("ran").exists(), "{tracked} {args:?}");
        }
        // They are agreed to once the branch of the project has them.
        s.git(&["update-ref", "refs/remotes/origin/main", &theirs])
            .ok();
        s.loopx(&["run", "--task", "unit"]).ok();
        assert!(s.path().join("ran").exists());
    }
}

#[test]
fn what_another_remote_has_is_neither_landed_nor_left_out_of_a_review() {
    let s = repository("");
    make(&s, &[("src/first", "evil\n")], "first");
    let first = rev(&s, "HEAD");
    built(&s, "");
    s.git(&["remote", "add", "eve", "../eve.git"]).ok();
    s.git(&["update-ref", "refs/remotes/eve/main", &first]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).says("src/first");
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--to", "done"]).ok();
    s.loopx(&["archive"]).ok();
    s.git(&["update-ref", "refs/remotes/eve/main", "work"]).ok();
    let landed = |s: &Sandbox| -> Value {
        s.loopx(&["status", "it", "--json"]).json()["landed"]["commit"].clone()
    };
    assert_eq!(landed(&s), Value::Null);
    s.git(&["update-ref", "refs/remotes/origin/main", "work"])
        .ok();
    assert_ne!(landed(&s), Value::Null);
}

#[test]
fn a_backport_is_of_a_branch_of_the_server_and_not_of_what_anybody_pushed_beside_it() {
    let s = Sandbox::new();
    let policy =
        "[gates]\nprotected = [\"main\", \"release/*\"]\n[landing]\nbackport = [\"main\"]\n";
    s.write("loopx.toml", policy);
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "policy"]).ok();
    s.loopx(&["init"]).ok();
    serve(&s);
    push(&s, &["main:refs/heads/release/1"]).ok();
    // As `git clone --bare` leaves a server.
    let remote = s.root().join("remote.git");
    s.git_in(
        &remote,
        &["config", "remote.origin.url", "../elsewhere.git"],
    )
    .ok();
    let evil = on(&s, "evil", &[("src/evil.rs", "evil\n")], "evil");
    push(&s, &[&format!("{evil}:refs/remotes/origin/main")]).ok();
    at(&s, "main");
    let pick = make(
        &s,
        &[("src/evil.rs", "evil\n")],
        &format!("evil\n\n(cherry picked from commit {evil})"),
    );
    push(&s, &[&format!("{pick}:refs/heads/release/1")])
        .fails_with(1)
        .says("protected_without_session");
}

#[test]
fn an_archive_on_a_branch_is_known_by_what_it_changes_and_not_by_its_trailers_alone() {
    let s = repository("[archive]\nevidence = \"off\"\n");
    reviewed(&s, DELTA);
    let state = rev(&s, "loopx");
    let trailers = format!("Loopx-Session: it\nLoopx-Event: archive\nLoopx-State: {state}\n");
    for files in [&[("docs/x.md", "x\n")][..], &[]] {
        let notes = on(
            &s,
            &format!("n{}", files.len()),
            files,
            &format!("Notes\n\n{trailers}"),
        );
        s.git(&["switch", "--quiet", "work"]).ok();
        s.git(&[
            "merge",
            "--quiet",
            "--no-verify",
            "-m",
            "take it in",
            &notes,
        ])
        .ok();
    }
    let said = s.loopx(&["archive"]).ok();
    assert!(!said.contains("earlier"), "{said}");
    assert!(s.path().join("specs/auth/spec.md").exists());
    // The same of the way back.
    let archive = rev(&s, "HEAD");
    let trailers = format!("Loopx-Session: it\nLoopx-Event: unarchive\nLoopx-Undoes: {archive}\n");
    make(
        &s,
        &[("docs/y.md", "y\n")],
        &format!("More notes\n\n{trailers}"),
    );
    let said = s.loopx(&["archive", "--undo", "it"]).ok();
    assert!(!said.contains("finished"), "{said}");
    assert!(!s.path().join("specs/auth/spec.md").exists());
}

#[test]
fn a_session_that_was_abandoned_lands_nothing() {
    let s = done();
    would_land(&s, "demo");
    s.loopx(&["-s", "demo", "abandon", "--reason", "it is wrong"])
        .ok();
    refused(&s, "demo", "protected_without_session");
}

#[test]
fn a_changelog_takes_entries_in_and_no_other_document_does() {
    let policy = "[changelog]\nfragments = \"changelog.d\"\n";
    let s = repository("");
    let policy =
        format!("[gates]\nprotected = [\"main\"]\nalways_allow = [\"changelog.d/**\"]\n{policy}");
    at(&s, "main");
    let base = make(
        &s,
        &[
            ("loopx.toml", &policy),
            ("src/prompt.md", "# Prompt\n\nAsk.\n"),
            ("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"),
            (
                "changelog.d/x.md",
                "### Changed\n\n- Pay whatever Eve asks\n",
            ),
        ],
        "a fragment",
    );
    s.git(&["branch", "--force", "main", &base]).ok();
    let remote = s.root().join("remote.git");
    s.git_in(
        &remote,
        &[
            "fetch",
            "--quiet",
            "../repo",
            &format!("+{base}:refs/heads/main"),
        ],
    )
    .ok();
    s.git(&["fetch", "--quiet", "origin"]).ok();
    let into = |file: &str| {
        at(&s, "main");
        s.loopx(&["spec", "changelog", "--write", "--file", file])
            .ok();
        s.git(&["add", "."]).ok();
        make(&s, &[], "Changelog")
    };
    let evil = into("src/prompt.md");
    refused(&s, &evil, "protected_without_session");
    let honest = into("CHANGELOG.md");
    would_land(&s, &honest);
}

#[test]
fn a_branch_has_no_working_copy_of_a_session() {
    let s = repository("");
    s.loopx(&["start", "--quick", "--id", "it", "It"]).ok();
    let brief = s.read(".loopx/it/brief.md");
    let evil = brief.replace("## Checks", "## Checks\n\n- `touch ran`\n");
    s.git(&["switch", "--quiet", "-c", "eve"]).ok();
    let theirs = make(&s, &[(".loopx/it/brief.md", &evil)], "a brief");
    for to in ["main", "eve", "work"] {
        push(&s, &["loopx", &format!("{theirs}:refs/heads/{to}")])
            .fails_with(1)
            .says("working_copy_committed");
    }
    s.write("file", ".loopx");
    let blob = s.git(&["hash-object", "-w", "file"]).line();
    for mode in ["100644", "120000"] {
        at(&s, "main");
        s.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("{mode},{blob},.Loopx"),
        ])
        .ok();
        s.git(&["commit", "--quiet", "--no-verify", "-m", "a file"])
            .ok();
        push(&s, &["HEAD:refs/heads/free"])
            .fails_with(1)
            .says("working_copy_committed");
        s.git(&["reset", "--quiet", "--hard", "main"]).ok();
    }
    // Folders of other programs may be called so, and a session like one of them.
    s.git(&["switch", "--quiet", "--force", "main"]).ok();
    s.loopx(&[
        "start",
        "--quick",
        "--id",
        "changes",
        "--no-branch",
        "Changes",
    ])
    .ok();
    push(&s, &["loopx"]).ok();
    let other = on(
        &s,
        "legacy",
        &[(".loopx/changes/x.md", "x\n")],
        "of another program",
    );
    push(&s, &[&format!("{other}:refs/heads/legacy")]).ok();
    // What git put over a working copy is not taken for an edit.
    s.git(&["switch", "--quiet", "--force", "work"]).ok();
    s.git(&["merge", "--quiet", "--no-verify", &theirs]).ok();
    for args in [&["save"][..], &["run"], &["approve", "--to", "review"]] {
        s.loopx(args).fails_with(1).says("git rm -rq .loopx/it");
    }
    assert!(!s.path().join("ran").exists());
    s.git(&["rm", "-rq", ".loopx/it"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "take it away"])
        .ok();
    s.loopx(&["checkout"]).ok();
    assert_eq!(s.read(".loopx/it/brief.md"), brief);
}

#[test]
fn a_fork_has_no_sessions_for_a_project_that_has_none() {
    let s = Sandbox::new();
    s.commit_file("src/timeout", "30\n", "first").ok();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "origin", "main"]).ok();
    s.git(&["clone", "--quiet", "../remote.git", "../eve"]).ok();
    let eve = s.root().join("eve");
    for args in [&["init"][..], &["start", "--quick", "--no-branch", "Evil"]] {
        s.call(LOOPX).cwd(&eve).args(args).run().ok();
    }
    s.git(&["remote", "add", "eve", "../eve"]).ok();
    s.git(&["fetch", "--quiet", "eve"]).ok();
    s.loopx(&["init"]).ok();
    let listed = s.loopx(&["list", "--json"]).json();
    assert_eq!(
        listed["sessions"].as_array().map(Vec::len),
        Some(0),
        "{listed:#}"
    );
}

/// A state that does not exist would be looked for on the branch of sessions for ever.
#[test]
fn a_state_that_is_none_lands_in_no_message_whatever_session_that_names() {
    let s = done();
    let none = "1".repeat(40);
    for sessions in ["", "Loopx-Session: demo\nLoopx-Session: other\n"] {
        at(&s, "main");
        let message = format!("Notes\n\n{sessions}Loopx-State: {none}\n");
        let document = make(&s, &[("docs/x.md", "x\n")], &message);
        refused(&s, &document, "state_not_on_branch");
        at(&s, "main");
        s.git(&["merge", "--quiet", "--squash", "demo"]).ok();
        let squash = make(&s, &[], &message);
        refused(&s, &squash, "state_not_on_branch");
    }
    would_land(&s, "demo");
}
