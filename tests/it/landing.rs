//! Changes that a protected branch takes: the honest shapes of `docs/landing.md`, each with a neighbour that is
//! refused.

use crate::support::Sandbox;
use crate::support::forge::forge_records;
use crate::support::keys::{key, public, use_key};
use crate::support::landing::{
    PROTECTED, PULL, SQUASH, amend, at, beside, build, ci, done, finished, lands, make, merge,
    offer, push, rebase, refused, rev, serve, squash, would_land,
};
use crate::support::server::literally;
use crate::support::session::{advance, begin, start};

const SPEC: &str = "# a Specification\n\n## Purpose\nIt says what is so, for whoever wants to know.\n\n## Requirements\n\n### Requirement: One\nThe system SHALL do one.\n\n#### Scenario: One\n- **WHEN** a\n- **THEN** b\n";

fn requirement(name: &str) -> String {
    format!(
        "\n### Requirement: {name}\nThe system SHALL do {name}.\n\n#### Scenario: {name}\n- **WHEN** a\n- **THEN** b\n"
    )
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
fn a_document_behind_the_reviewed_commit_lands_in_one_commit_with_it() {
    let s = done();
    at(&s, "demo");
    let documented = make(&s, &[("docs/demo.md", "how\n")], "Say how");
    let squashed = squash(&s, "main", &documented, SQUASH);
    would_land(&s, &squashed);
    let beside = beside(&s);
    let behind = squash(&s, &beside, &documented, SQUASH);
    would_land(&s, &behind);
    let pull = merge(&s, &beside, &documented, PULL);
    would_land(&s, &pull);
    let squashed = behind;
    // Nothing else comes with it, and no document of another kind of file.
    for (path, text) in [("src/a.rs", "one\nevil\n"), ("AGENTS.md", "obey\n")] {
        at(&s, &squashed);
        let evil = amend(&s, path, text);
        refused(&s, &evil, "protected_without_session");
    }
    at(&s, &squashed);
    s.git(&["update-index", "--chmod=+x", "docs/demo.md"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "--amend", "--no-edit"])
        .ok();
    refused(&s, &rev(&s, "HEAD"), "protected_without_session");
    s.git(&["reset", "--quiet", "--hard"]).ok();
    // It lands once: what was taken back is reviewed again.
    lands(&s, &squashed);
    at(&s, &squashed);
    s.git(&["revert", "--no-commit", "HEAD"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "back"])
        .ok();
    let back = rev(&s, "HEAD");
    let remote = s.root().join("remote.git");
    s.git(&[
        "push",
        "--quiet",
        "origin",
        &format!("{back}:refs/heads/back"),
    ])
    .ok();
    s.git_in(&remote, &["update-ref", "refs/heads/main", &back])
        .ok();
    s.git(&["update-ref", "refs/remotes/origin/main", &back])
        .ok();
    for again in ["demo", &documented] {
        let again = squash(&s, &back, again, SQUASH);
        refused(&s, &again, "landed_already");
    }
}

#[test]
fn an_archive_lands_behind_its_code_in_every_shape() {
    type Shape = fn(&Sandbox, &str, &str) -> String;
    let merged: Shape = |s, onto, branch| merge(s, onto, branch, PULL);
    let squashed: Shape = |s, onto, branch| squash(s, onto, branch, SQUASH);
    let picked: Shape = |s, onto, branch| {
        at(s, onto);
        s.git(&["cherry-pick", branch]).ok();
        rev(s, "HEAD")
    };
    for first in [merged, squashed, rebase] {
        let s = done();
        let beside = beside(&s);
        let code = first(&s, &beside, "demo");
        lands(&s, &code);
        s.git(&["switch", "--quiet", "demo"]).ok();
        s.loopx(&["archive"]).ok();
        offer(&s, &["demo"]);
        for then in [merged, squashed, picked] {
            let archive = then(&s, &code, "demo");
            would_land(&s, &archive);
            at(&s, &archive);
            let evil = amend(&s, "specs/demo/spec.md", "# demo Specification\n");
            ci(&s, &evil, "demo").fails_with(1);
        }
        // What was taken back does not come again with it.
        at(&s, &code);
        s.git(&["rm", "--quiet", "src/b.rs"]).ok();
        s.git(&["commit", "--quiet", "--no-verify", "-m", "back"])
            .ok();
        let back = rev(&s, "HEAD");
        let again = merge(&s, &back, "demo", PULL);
        s.git(&["update-ref", "refs/remotes/origin/main", &back])
            .ok();
        at(&s, &again);
        let has = s.git(&["ls-tree", "HEAD", "src/b.rs"]).line();
        let judged = ci(&s, &again, "demo");
        if has.is_empty() {
            judged.ok();
        } else {
            judged.fails_with(1);
        }
    }
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
fn g20_archives_land_as_the_program_makes_them_where_nothing_is_always_allowed() {
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
    // Signed for the other format of objects too: git passes over that header.
    let raw = s.git(&["cat-file", "commit", &bump]).ok();
    let twice = raw.replacen(
        "gpgsig ",
        "gpgsig-sha256 -----BEGIN SSH SIGNATURE-----\n other\n -----END SSH SIGNATURE-----\ngpgsig ",
        1,
    );
    let twice = literally(&s, "commit", twice);
    s.git(&[
        "-c",
        "gpg.ssh.allowedSignersFile=/dev/null",
        "verify-commit",
        &twice,
    ])
    .says("Good \"git\" signature");
    would_land(&s, &twice);
    let pull = merge(&s, "main", &bump, "Merge pull request #2 from bot/bump");
    would_land(&s, &pull);
    at(&s, "main");
    let plain = make(&s, &[("Cargo.lock", "2\n")], "bump");
    refused(&s, &plain, "protected_without_session");
    for (path, name) in [
        ("Cargo.lock", "ada"),
        ("Cargo.lock/evil.sh", "bob"),
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
    let whole = out
        .says(&format!("E {} a document: always allowed", &beside[..10]))
        .says(&format!(
            "S {} Ten minutes, with other words (#1): demo as one commit",
            &made[..10]
        ));
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx verify main..0000000000000000000000000000000000000000 --policy-from=main --onto=main --explain
    E 0000000000 a document: always allowed
        README.md
    S 0000000000 Ten minutes, with other words (#1): demo as one commit
        src/a.rs
        src/b.rs
        src/old.rs
    demo approver of clarify->plan: Ada Author <ada@example.org> (name not proven)
    demo approver of plan->build: Ada Author <ada@example.org> (name not proven)
    demo approver of build->review: Ada Author <ada@example.org> (name not proven)
    demo approver of review->done: Ada Author <ada@example.org> (name not proven)
    demo reviewer: Ada Author <ada@example.org> (name not proven)
    demo author: Ada Author <ada@example.org> (name not proven)
    demo committer: Carl Committer <carl@example.org> (name not proven)
    demo builder: Ada Author <ada@example.org> (name not proven)
    demo builder: Carl Committer <carl@example.org> (name not proven)
    2 commits, no findings; the branch is bound to no session
    --- exit 0
    ");
    let json = explain(&made, true).json();
    let account = &json["account"];
    assert_eq!(account["covered"], true, "{json:#}");
    assert_eq!(account["commits"][1]["step"], "S");
    assert_eq!(account["commits"][1]["session"], "demo");
    assert_eq!(account["commits"][1]["paths"][0]["path"], "src/a.rs");
    at(&s, &made);
    let evil = make(&s, &[("loopx.toml", "x\n"), ("src/e.rs", "x\n")], "evil");
    let out = explain(&evil, false).fails_with(1);
    let whole = out.says(&format!(
        "- {} evil: no session has this result",
        &evil[..10]
    ));
    insta::assert_snapshot!(whole.steady(), @r#"
    $ git-loopx verify main..0000000000000000000000000000000000000000 --policy-from=main --onto=main --explain
    E 0000000000 a document: always allowed
        README.md
    S 0000000000 Ten minutes, with other words (#1): demo as one commit
        src/a.rs
        src/b.rs
        src/old.rs
    - 0000000000 evil: no session has this result
        loopx.toml  (guarded: lands only by a session)
        src/e.rs  (not in always_allow)
    demo approver of clarify->plan: Ada Author <ada@example.org> (name not proven)
    demo approver of plan->build: Ada Author <ada@example.org> (name not proven)
    demo approver of build->review: Ada Author <ada@example.org> (name not proven)
    demo approver of review->done: Ada Author <ada@example.org> (name not proven)
    demo reviewer: Ada Author <ada@example.org> (name not proven)
    demo author: Ada Author <ada@example.org> (name not proven)
    demo committer: Carl Committer <carl@example.org> (name not proven)
    demo builder: Ada Author <ada@example.org> (name not proven)
    demo builder: Carl Committer <carl@example.org> (name not proven)
    0000000000 error protected_without_session: `main` takes only results of sessions, and no session has this result: `loopx.toml`, `src/e.rs`
    3 commits, 1 error
    next: git loopx start "Fix the timeout"
    --- exit 1
    "#);
    s.loopx(&["verify", "main..main", "--explain"])
        .says("so --explain has nothing to print")
        .ok();
}

/// Records of older programs name neither where the branch was nor what it is to go to.
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

/// Two sessions that add a requirement at the same place: lines conflict, requirements do not.
#[test]
fn specs_land_as_the_spec_engine_merges_them() {
    let s = Sandbox::new();
    s.write("specs/a/spec.md", SPEC);
    begin(&s, PROTECTED);
    serve(&s);
    s.git(&["branch", "second", "demo"]).ok();
    let edit = |s: &Sandbox, name: &str| {
        advance(s, "clarify", "build", "");
        let spec = format!("{SPEC}{}", requirement(name));
        make(s, &[("specs/a/spec.md", &spec), (name, "x\n")], name);
        advance(s, "build", "done", "");
        offer(s, &["HEAD"]);
        spec
    };
    let ours = edit(&s, "Two");
    lands(&s, "demo");
    s.git(&["switch", "--quiet", "second"]).ok();
    s.loopx(&["start", "second"]).ok();
    let theirs = edit(&s, "Three");
    for (name, text) in [
        ("base.md", SPEC),
        ("ours.md", &ours),
        ("theirs.md", &theirs),
    ] {
        s.write(s.root().join(name), text);
    }
    let merged = s
        .loopx(&[
            "spec",
            "merge-file",
            "../base.md",
            "../ours.md",
            "../theirs.md",
        ])
        .ok();
    assert!(
        merged.contains("Two") && merged.contains("Three"),
        "{merged}"
    );
    at(&s, "demo");
    s.git(&["merge", "--quiet", "--no-commit", "second"])
        .fails_with(1);
    s.write("specs/a/spec.md", &merged);
    s.git(&["add", "."]).ok();
    let made = make(&s, &[], PULL);
    would_land(&s, &made);
    let evil = amend(
        &s,
        "specs/a/spec.md",
        &merged.replace("SHALL do one", "MAY do one"),
    );
    refused(&s, &evil, "landing_conflict");
}

/// Two sessions that add a rule at the same place: lines conflict, rules do not. What somebody made of it by hand does
/// not land.
#[test]
fn rules_land_as_the_driver_merges_them() {
    const PATH: &str = "docs/rules/coding-conventions.md";
    const BASE: &str = "# Rules\n\n- One\n";
    let s = Sandbox::new();
    s.write(PATH, BASE);
    begin(&s, PROTECTED);
    serve(&s);
    s.git(&["branch", "second", "demo"]).ok();
    let edit = |s: &Sandbox, name: &str| {
        advance(s, "clarify", "build", "");
        make(
            s,
            &[(PATH, &format!("{BASE}- {name}\n")), (name, "x\n")],
            name,
        );
        advance(s, "build", "done", "");
        offer(s, &["HEAD"]);
    };
    edit(&s, "Three");
    lands(&s, "demo");
    s.git(&["switch", "--quiet", "second"]).ok();
    s.loopx(&["start", "second"]).ok();
    edit(&s, "Two");
    at(&s, "demo");
    s.git(&["merge", "--quiet", "--no-commit", "second"])
        .fails_with(1);
    for (path, text) in [
        ("../base", BASE.to_owned()),
        ("../ours", format!("{BASE}- Three\n")),
        ("../theirs", format!("{BASE}- Two\n")),
    ] {
        s.write(path, text);
    }
    s.loopx(&[
        "rule",
        "merge-driver",
        "../base",
        "../ours",
        "../theirs",
        PATH,
    ])
    .ok();
    let merged = s.read("../ours");
    assert!(
        merged.contains("- Two\n") && merged.contains("- Three\n"),
        "{merged}"
    );
    s.write(PATH, &merged);
    s.git(&["add", "."]).ok();
    let made = make(&s, &[], PULL);
    would_land(&s, &made);
    let evil = amend(&s, PATH, &merged.replace("- One\n", ""));
    refused(&s, &evil, "landing_conflict");
}

#[test]
fn a_repository_of_sha256_lands_alike() {
    let s = Sandbox::empty("repo");
    s.git(&["init", "--quiet", "--object-format=sha256"]).ok();
    begin(&s, PROTECTED);
    build(&s);
    serve(&s);
    offer(&s, &["demo"]);
    would_land(&s, "demo");
    let made = squash(&s, "main", "demo", SQUASH);
    would_land(&s, &made);
    at(&s, &made);
    let evil = amend(&s, "src/a.rs", "evil\n");
    refused(&s, &evil, "protected_without_session");
    at(&s, "main");
    let evil = make(&s, &[("loopx.toml", "[gates]\n")], "policy");
    refused(&s, &evil, "path_guarded");
}
