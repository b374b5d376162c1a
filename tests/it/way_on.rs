//! Ways on that are true: a branch for commits that none holds, an archive that stayed behind, a branch that is gone, a
//! task of somebody else, and a step that git or the program would refuse.

use crate::support::tasks::{DEMO, building, task};
use crate::support::{Call, LOOPX, Output, Sandbox};

/// A repository with code and the branch of sessions.
fn begun() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("src/a", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// A quick session that is built on what is checked out.
fn build(s: &Sandbox) {
    s.loopx(&["start", "--quick", "it"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run", "--", "true"]).ok();
}

fn on_branch() -> Sandbox {
    Sandbox::once("", || {
        let s = begun();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        build(&s);
        s
    })
}

/// A remote, and Bob's clone of it on this branch.
fn share(s: &Sandbox) {
    s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
        .ok();
    let remote = s.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8").to_owned();
    s.git(&["remote", "add", "origin", &remote]).ok();
    s.git(&["clone", "--quiet", "--branch", "work", &remote, "../bob"])
        .ok();
    sync(s);
}

fn sync(s: &Sandbox) {
    for _ in 0..2 {
        let synced = s.loopx(&["sync", "origin"]);
        assert!(matches!(synced.code, Some(0 | 3)), "{synced}");
        let synced = bobs(s, &["sync", "origin"]);
        assert!(matches!(synced.code, Some(0 | 3)), "{synced}");
    }
}

fn bob<'a>(s: &'a Sandbox, program: &str) -> Call<'a> {
    s.call(program)
        .cwd(s.root().join("bob"))
        .env("GIT_AUTHOR_NAME", "Bob")
        .env("GIT_AUTHOR_EMAIL", "bob@example.org")
        .env("GIT_COMMITTER_NAME", "Bob")
        .env("GIT_COMMITTER_EMAIL", "bob@example.org")
}

fn bobs(s: &Sandbox, args: &[&str]) -> Output {
    bob(s, LOOPX).args(args).run()
}

/// Types what `next` says; gives it.
fn follow(s: &Sandbox) -> String {
    let next = s.loopx(&["next"]).ok();
    let typed = s.call("sh").args(&["-c", next.trim()]);
    typed.env("GIT_EDITOR", "true").run().ok();
    next.trim().to_owned()
}

#[test]
fn commits_that_no_branch_holds_get_one_before_they_are_judged() {
    let s = begun();
    s.git(&["branch", "it"]).ok();
    s.git(&["checkout", "--quiet", "--detach"]).ok();
    build(&s);
    assert_eq!(follow(&s), "git switch -c it-2");
    assert_eq!(follow(&s), "git loopx finish --yes");
    s.git(&["merge-base", "--is-ancestor", "HEAD", "it-2"]).ok();
    s.loopx(&["status", "it"]).says("on it-2 as").ok();
}

#[test]
fn no_archive_leaves_code_behind_that_no_branch_holds() {
    let s = begun();
    s.git(&["checkout", "--quiet", "--detach"]).ok();
    build(&s);
    let main = s.git(&["rev-parse", "main"]).line();
    s.loopx(&["finish", "--yes", "--onto", "main"])
        .says("no branch holds its commit");
    let held = s.loopx(&["archive", "--onto", "main"]).fails_with(1);
    insta::assert_snapshot!(held.steady(), @"
    $ git-loopx archive --onto main
    --- stderr
    (session it, the only active one: no branch is bound to it)
    refused: main does not have the code that was reviewed, and no branch holds its commit 0000000000

    hint: git branch it 0000000000  (keeps it; or on main: git merge 0000000000)
    --- exit 1
    ");
    assert_eq!(s.git(&["rev-parse", "main"]).line(), main);
    // With its content on the target the code is there.
    let head = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "--squash", &head]).ok();
    s.git(&["commit", "--quiet", "-m", "Squashed"]).ok();
    s.git(&["checkout", "--quiet", "--detach"]).ok();
    let archived = s.loopx(&["archive", "it", "--onto", "main"]);
    assert!(!archived.stderr.contains("does not have"), "{archived}");
    archived.ok();
}

#[test]
fn an_archive_that_lands_before_its_code_says_so_until_the_code_is_there() {
    let s = on_branch();
    let done = s.loopx(&["finish", "--yes", "--onto", "main"]);
    insta::assert_snapshot!(done.steady(), @"
    $ git-loopx finish --yes --onto main
    0000000000..0000000000
      src/a
    1 commit, 1 file, 1 check passed
    it: approved build->review, in stage review, self-reviewed, approved review->done, archived on main as 0000000000
    main does not have the change yet; on main, run: git merge work
    next: git switch main
    --- stderr
    warning: main does not have the reviewed code yet; merge it too: git merge work
    --- exit 0
    ");
    s.loopx(&["status", "it"])
        .says("which does not have the code")
        .ok();
    assert_eq!(follow(&s), "git switch main");
    let next = s.loopx(&["-s", "it", "next"]).ok();
    assert_eq!(next.trim(), "git merge work");
    s.git(&["merge", "--quiet", "--no-edit", "work"]).ok();
    let status = s.loopx(&["status", "it"]).ok();
    assert!(!status.contains("does not have the code"), "{status}");
    s.loopx(&["-s", "it", "next"]).fails_with(5);
}

const SPEC: &str = "# Session\n\n## Requirements\n\n### Requirement: Idle\nA session SHALL end after 30 \
                    minutes.\n\n#### Scenario: Idle\n- **WHEN** it is idle\n- **THEN** it ends\n";

#[test]
fn the_merge_of_what_was_archived_is_named_on_its_target_until_it_is_done() {
    let s = on_branch();
    s.loopx(&["finish", "--yes"]).ok();
    assert_eq!(follow(&s), "git switch main");
    for args in [&["status"][..], &[]] {
        s.loopx(args).says("next: git merge work").ok();
    }
    s.loopx(&["list", "--all"])
        .says("archived, not on main")
        .ok();
    assert_eq!(follow(&s), "git merge work");
    s.loopx(&["next"]).fails_with(4);
    let all = s.loopx(&["list", "--all"]).ok();
    assert!(!all.contains("not on main"), "{all}");
}

/// A5: where the target is checked out in another worktree, the merge belongs there.
#[test]
fn a_landing_is_named_with_the_worktree_that_has_its_target() {
    let s = on_branch();
    s.git(&["worktree", "add", "--quiet", "../land", "main"])
        .ok();
    s.loopx(&["finish", "--yes"])
        .says("main does not have the change yet; in ");
    let next = s.loopx(&["next"]).fails_with(6);
    assert!(next.stderr.contains("git merge work"), "{next}");
    let there = s.root().join("land");
    s.git_in(&there, &["merge", "--quiet", "work"]).ok();
    s.loopx(&["next"]).fails_with(5);
}

#[test]
fn a_conflict_of_the_landing_is_named_where_it_stands_and_led_to_its_end() {
    for (how, on, other) in [
        ("merge", "main", "work"),
        ("rebase", "main", "work"),
        ("merge", "work", "main"),
    ] {
        for is_shared in [false, true] {
            let s = on_branch();
            if is_shared {
                share(&s);
            }
            s.loopx(&["finish", "--yes"]).ok();
            if is_shared {
                s.git(&["push", "--quiet", "origin", "work"]).ok();
                sync(&s);
            }
            s.git(&["switch", "--quiet", "main"]).ok();
            s.commit_file("src/a", "other\n", "Other").ok();
            s.git(&["switch", "--quiet", on]).ok();
            s.git(&[how, other]).fails_with(1);
            let named = format!("choose between the marked sides in src/a  (a {how} is under way)");
            for args in [&["status"][..], &[]] {
                let said = s.loopx(args).ok();
                assert!(
                    said.contains(&format!("a {how} is under way; both sides stand in src/a")),
                    "{said}"
                );
                s.loopx(args).says(&named).ok();
            }
            s.loopx(&["next"]).fails_with(6).says(&named);
            s.write("src/a", "both\n");
            assert_eq!(follow(&s), "git add -- src/a");
            assert_eq!(follow(&s), format!("git {how} --continue"));
            let next = s.loopx(&["next"]);
            assert!(!format!("{next}").contains("--continue"), "{next}");
        }
    }
}

#[test]
fn what_was_archived_is_merged_by_its_commit_where_no_branch_has_it() {
    for is_deleted in [true, false] {
        let s = on_branch();
        s.loopx(&["finish", "--yes"]).ok();
        let archive = s.git(&["rev-parse", "--short=10", "work"]).line();
        if is_deleted {
            s.git(&["switch", "--quiet", "main"]).ok();
            s.git(&["branch", "-D", "work"]).ok();
            s.loopx(&["status"])
                .says("the branch work is not here")
                .says(&format!("git branch work {archive}"))
                .ok();
        } else {
            s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
            s.loopx(&["status"])
                .says(&format!("work has it no more; it is in {archive}"))
                .ok();
            assert_eq!(follow(&s), "git switch main");
        }
        assert_eq!(follow(&s), format!("git merge {archive}"));
        s.loopx(&["next"]).fails_with(4);
        let all = s.loopx(&["list", "--all"]).ok();
        assert!(!all.contains("not on main"), "{all}");
    }
}

fn forget_moves(s: &Sandbox) {
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
}

#[test]
fn a_branch_that_is_gone_is_made_again_where_it_was_and_not_replaced_by_its_target() {
    for source in ["left", "recorded", "unknown"] {
        let s = on_branch();
        let tip = s.git(&["rev-parse", "--short=10", "work"]).line();
        if source == "recorded" {
            s.loopx(&["approve", "--to", "review"]).ok();
            s.loopx(&["review"]).ok();
        }
        s.git(&["switch", "--quiet", "main"]).ok();
        s.git(&["branch", "-D", "work"]).ok();
        if source != "left" {
            forget_moves(&s);
        }
        if source == "unknown" {
            s.git(&["gc", "--quiet", "--prune=now"]).ok();
            let base = s.git(&["rev-parse", "--short=10", "main"]).line();
            s.loopx(&["-s", "it", "status"])
                .says("the branch begins anew")
                .ok();
            assert_eq!(follow(&s), format!("git switch -c work {base}"));
            continue;
        }
        let back = format!("git switch -c work {tip}");
        for command in ["use", "status"] {
            let said = s.loopx(&[command, "it"]).says(&back);
            assert_eq!(said.code, Some(i32::from(command == "use")), "{said}");
        }
        assert_eq!(follow(&s), back);
        s.loopx(&["status"]).says("1 commit").ok();
    }
}

#[test]
fn the_landing_is_named_on_both_sides_once_a_remote_has_the_branch() {
    let s = on_branch();
    share(&s);
    s.loopx(&["finish", "--yes"]).ok();
    s.git(&["push", "--quiet", "origin", "work"]).ok();
    sync(&s);
    let told =
        "main does not have the change yet: open a pull request for work on origin, or run: ";
    for (branch, way) in [
        ("work", "git switch main  and there: git merge work"),
        ("main", "git merge work"),
    ] {
        s.git(&["switch", "--quiet", branch]).ok();
        let told = format!("{told}{way}");
        for args in [&["status"][..], &["next"], &[]] {
            let said = s.loopx(args);
            let said = format!("{}{}", said.stdout, said.stderr);
            let said: Vec<&str> = said.split_whitespace().collect();
            let told: Vec<&str> = told.split_whitespace().collect();
            assert!(said.join(" ").contains(&told.join(" ")), "{said:?}");
        }
        s.loopx(&["next"]).fails_with(5);
    }
    s.git(&["merge", "--quiet", "work"]).ok();
    s.loopx(&["status"]).fails_with(4);
}

#[test]
fn an_edit_that_a_switch_to_the_target_would_overwrite_is_put_aside_first() {
    let s = on_branch();
    s.loopx(&["finish", "--yes"]).ok();
    s.write("src/other", "new\n");
    assert_eq!(s.loopx(&["next"]).line(), "git switch main");
    s.write("src/a", "three\n");
    assert_eq!(
        follow(&s),
        "git stash push -m 'put aside for git loopx' -- src/a"
    );
    assert_eq!(follow(&s), "git switch main");
    std::fs::remove_file(s.path().join("src/other")).expect("removed");
    // It is named in the session, and brought back once that has landed.
    s.git(&["stash", "push", "--quiet", "--include-untracked"])
        .ok();
    s.loopx(&["status"])
        .says("edits stashed on work; to bring them back: git stash pop")
        .ok();
    assert_eq!(follow(&s), "git merge work");
    let nothing: [&str; 0] = [];
    insta::assert_snapshot!(s.loopx(&nothing).steady(), @"
    $ git-loopx
    no active session; 1 ended one: git loopx list --all
    edits that were put aside on work wait in the stash
    next: git stash pop
    --- exit 0
    ");
    s.loopx(&["next"]).fails_with(4).says("git stash pop");
    s.git(&["stash", "pop"]).ok();
    s.git(&["checkout", "--quiet", "--", "src/a"]).ok();
    s.loopx(&nothing).says("next: git loopx start").ok();
}

#[test]
fn a_stash_that_somebody_made_by_themselves_is_not_spoken_of() {
    let s = on_branch();
    s.write("src/a", "three\n");
    s.git(&["stash", "push", "--quiet", "-m", "mine"]).ok();
    let status = s.loopx(&["status"]).ok();
    assert!(!status.contains("stash"), "{status}");
}

#[test]
fn no_file_that_is_secret_by_its_name_is_led_into_a_commit() {
    let s = on_branch();
    s.write(".env", "SECRET=1\n");
    s.write("new/b", "b\n");
    s.write("new/tls/server.key", "k\n");
    let add = "git add -- new/ ':(top,exclude)new/tls/server.key'";
    s.loopx(&["finish", "--yes"]).fails_with(1).says(add);
    s.loopx(&["run", "--", "true"]).ok();
    let status = s.loopx(&["status"]).ok();
    let said: Vec<&str> = status.split_whitespace().collect();
    let left_out = "left out, because the name looks secret: .env, new/tls/server.key";
    assert!(said.join(" ").contains(left_out), "{status}");
    assert_eq!(follow(&s), add);
    assert_eq!(s.git(&["diff", "--cached", "--name-only"]).line(), "new/b");
    s.git(&["commit", "--quiet", "-m", "b"]).ok();
    let alone = "let git ignore .env, new/tls/: the name looks secret";
    for command in [&["finish", "--yes"][..], &["next"]] {
        let held = s.loopx(command).says(alone);
        assert!(!held.stderr.contains("git add"), "{held}");
    }
    s.write(".git/info/exclude", ".env\n*.key\n.loopx\n");
    s.loopx(&["run", "--", "true"]).ok();
    assert_eq!(s.loopx(&["next"]).line(), "git loopx finish --yes");
}

#[test]
fn a_session_of_a_detached_head_is_led_from_its_new_branch_to_the_target() {
    let s = begun();
    s.git(&["checkout", "--quiet", "--detach"]).ok();
    build(&s);
    for step in [
        "git switch -c it",
        "git loopx finish --yes",
        "git switch main",
        "git merge it",
    ] {
        assert_eq!(follow(&s), step);
    }
}

#[test]
fn code_whose_specs_were_written_by_hand_is_led_to_the_target() {
    let s = with_a_delta();
    let text = SPEC.replace("30 minutes", "10 minutes");
    s.commit_file("specs/session/spec.md", &text, "By hand")
        .ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert_eq!(follow(&s), "git switch main");
    assert_eq!(follow(&s), "git merge work");
}

/// A lite session whose delta changes a spec, built on the branch `work`.
fn with_a_delta() -> Sandbox {
    Sandbox::once("", || {
        let s = planned();
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        s.commit_file("src/a", "two\n", "Two").ok();
        s.loopx(&["run"]).ok();
        s
    })
}

/// The plan of that session.
fn planned() -> Sandbox {
    Sandbox::once("", || {
        let s = begun();
        s.commit_file("specs/session/spec.md", SPEC, "Spec").ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--profile", "lite", "it"]).ok();
        let (_, requirement) = SPEC.split_once("## Requirements\n").expect("requirements");
        let delta = format!("# Domain: session\n\n## MODIFIED Requirements\n{requirement}");
        let plan = "# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n";
        let mut one = task("A", &[], Some(&["true"]));
        one["scenarios"] = serde_json::json!(["session/Idle/Idle"]);
        for (name, text) in [
            ("plan.md", format!("---\nscope: []\n---\n{plan}")),
            (
                "change/spec-delta.md",
                delta.replace("30 minutes", "10 minutes"),
            ),
            ("tasks.jsonl", format!("{one}\n")),
        ] {
            s.write(format!(".loopx/it/{name}"), text);
        }
        s
    })
}

#[test]
fn an_archive_that_a_settled_conflict_left_on_a_branch_is_taken_out() {
    let s = with_a_delta();
    share(&s);
    s.loopx(&["finish", "--yes"]).ok();
    bobs(&s, &["-s", "it", "abandon"]).ok();
    sync(&s);
    let archive = s.git(&["rev-parse", "--short=10", "work"]).line();
    // Who said what stands before the names by which it is settled.
    let listed = s.loopx(&["-s", "it", "resolve"]).fails_with(3);
    insta::assert_snapshot!(listed.steady(), @"
    $ git-loopx -s it resolve
    does not count  abandon by Bob, 2026-01-01T00:00:20Z  (@6, 0000000000000000000000000000000000000000)
        `review` of Ada Author, `approve` of Ada Author, `archive` of Ada Author moved the session to a stage too
        against  build->review by Ada Author, 2026-01-01T00:00:19Z  (@7, 0000000000000000000000000000000000000000)
        against  approve review->done, content 0000000000 by Ada Author, 2026-01-01T00:00:19Z  (@9, 0000000000000000000000000000000000000000)
        against  archive by Ada Author, 2026-01-01T00:00:19Z  (@10, 0000000000000000000000000000000000000000)
        git loopx -s it resolve --keep 0000000000000000000000000000000000000000   or   --drop 0000000000000000000000000000000000000000
    does not count  build->review by Ada Author, 2026-01-01T00:00:19Z  (@7, 0000000000000000000000000000000000000000)
        `abandon` of Bob moved the session to a stage too
        against  abandon by Bob, 2026-01-01T00:00:20Z  (@6, 0000000000000000000000000000000000000000)
        git loopx -s it resolve --keep 0000000000000000000000000000000000000000   or   --drop 0000000000000000000000000000000000000000
    does not count  verdict approve by Ada Author, 2026-01-01T00:00:19Z  (@8, 0000000000000000000000000000000000000000)
        review-report.md is closed in stage build
        git loopx -s it resolve --drop 0000000000000000000000000000000000000000
    does not count  approve review->done, content 0000000000 by Ada Author, 2026-01-01T00:00:19Z  (@9, 0000000000000000000000000000000000000000)
        `abandon` of Bob moved the session to a stage too
        against  abandon by Bob, 2026-01-01T00:00:20Z  (@6, 0000000000000000000000000000000000000000)
        git loopx -s it resolve --keep 0000000000000000000000000000000000000000   or   --drop 0000000000000000000000000000000000000000
    does not count  archive by Ada Author, 2026-01-01T00:00:19Z  (@10, 0000000000000000000000000000000000000000)
        commit 0000000000 of work, which no remote is known to have
        `abandon` of Bob moved the session to a stage too
        against  abandon by Bob, 2026-01-01T00:00:20Z  (@6, 0000000000000000000000000000000000000000)
        git loopx -s it resolve --keep 0000000000000000000000000000000000000000   or   --drop 0000000000000000000000000000000000000000
    now: say which of two records counts:
         git loopx -s it resolve --keep 0000000000000000000000000000000000000000
         or: git loopx -s it resolve --keep 0000000000000000000000000000000000000000; to read them:
         git loopx -s it resolve
    --- exit 3
    ");
    let mut last = None;
    for _ in 0..9 {
        let found = s.loopx(&["-s", "it", "--json", "resolve"]).json();
        let open = found["operations"].as_array().expect("operations");
        let is_abandon = |one: &&serde_json::Value| one["event"] == "abandon";
        let Some(one) = open.iter().find(is_abandon).or(open.first()) else {
            break;
        };
        let way = if is_abandon(&one) { "--keep" } else { "--drop" };
        let op = one["op"].as_str().expect("an id");
        last = Some(s.loopx(&["-s", "it", "resolve", way, op]));
    }
    let revert = format!("git revert --no-edit {archive}");
    last.expect("a conflict").says(&revert).ok();
    let whole = s.loopx(&["status", "it"]).says(&revert);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx status it
    it  it                                                       lite, branch work, from 0000000000, new

      [x] plan -- [*] build -- [ ] review -- [ ] done

      abandoned  in stage build; everything is kept
      sessions   origin/loopx lacks 3 commits of this clone

    the session was abandoned, but work still has its archive commit 0000000000
    next: git revert --no-edit 0000000000
    --- exit 0
    ");
    assert_eq!(s.loopx(&["-s", "it", "next"]).ok().trim(), revert);
    s.call("sh").args(&["-c", &revert]).run().ok();
    s.loopx(&["-s", "it", "next"])
        .fails_with(5)
        .says("to undo that: git loopx -s it undo");
}

/// Only the archive that counts lands: whoever keeps one that the remote has not got merges the branches that went apart.
#[test]
fn z7_of_two_archives_of_one_session_each_is_named_and_the_branches_are_brought_together() {
    let s = with_a_delta();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--to", "done"]).ok();
    share(&s);
    s.git(&["fetch", "--quiet", "origin"]).ok();
    s.loopx(&["archive", "it"]).ok();
    s.git(&["push", "--quiet", "origin", "work"]).ok();
    bobs(&s, &["archive", "it"]).ok();
    sync(&s);
    let adas = s.git(&["rev-parse", "--short=10", "work"]).line();
    let git = |args: &[&str]| bob(&s, "git").args(args).run();
    let his = git(&["rev-parse", "--short=10", "work"]).line();
    assert_ne!(adas, his);
    bobs(&s, &["-s", "it", "resolve"])
        .fails_with(3)
        .says(&format!(
            "commit {adas} of work, which is not here: git fetch origin"
        ))
        .says(&format!(
            "commit {his} of work, which no remote is known to have"
        ));
    git(&["fetch", "--quiet", "origin"]).ok();
    let listed = bobs(&s, &["-s", "it", "resolve"]).fails_with(3);
    listed
        .says(&format!("commit {adas} of work, which is on origin/work"))
        .says(&format!(
            "commit {his} of work, which no remote is known to have"
        ));
    let found = bobs(&s, &["-s", "it", "--json", "resolve"]).json();
    let all = found["operations"].as_array().expect("operations");
    let is_his = |one: &&serde_json::Value| one["by"]["name"] == "Bob";
    let one = all.iter().find(is_his).expect("his archive");
    assert_eq!(one["archive"]["target"], "work");
    let op = one["op"].as_str().expect("an id");
    bobs(&s, &["-s", "it", "resolve", "--keep", op])
        .says("next: git merge origin/work")
        .ok();
    bobs(&s, &["sync", "origin"]).ok();
    s.loopx(&["sync", "origin"]).ok();
    s.loopx(&["-s", "it", "next"])
        .says("what was archived is not here: git fetch origin");
    for step in ["git merge origin/work", "git push origin work"] {
        let next = bobs(&s, &["-s", "it", "next"]).ok();
        assert_eq!(next.trim(), step);
        let typed = bob(&s, "sh").args(&["-c", step]);
        typed.env("GIT_EDITOR", "true").run().ok();
    }
    s.git(&["fetch", "--quiet", "origin"]).ok();
    assert_eq!(follow(&s), "git merge --ff-only origin/work");
}

#[test]
fn a_finished_session_whose_branch_is_gone_is_opened_on_one_of_its_name() {
    let s = on_branch();
    s.loopx(&["finish", "--yes"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "work"]).ok();
    s.git(&["branch", "--quiet", "--delete", "work"]).ok();
    let reopen = ["reopen", "it", "--reason", "again"];
    let gone = s.loopx(&reopen).fails_with(4);
    insta::assert_snapshot!(gone.steady(), @"
    $ git-loopx reopen it --reason again
    --- stderr
    error: there is no branch `work`, which session it was archived on

    hint: git switch -c work  (makes it again; then: git loopx -s it reopen --reason 'there is more to do')
    --- exit 4
    ");
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&reopen).ok();
    s.loopx(&["next"]).says("the session is open again");
}

#[test]
fn an_undo_of_a_reopening_names_the_command_that_opens_again() {
    let s = on_branch();
    s.loopx(&["finish", "--yes"]).ok();
    s.loopx(&["reopen", "--reason", "again"]).ok();
    let undone = s.loopx(&["undo"]);
    let said = format!("{}{}", undone.stdout, undone.stderr);
    undone.ok();
    assert!(!said.contains("git loopx redo"), "{said}");
    let command = said.split_once("to bring it back: ").expect("a way").1;
    let command = command.lines().next().expect("a line");
    s.call("sh").args(&["-c", command]).run().ok();
    s.loopx(&["status"]).says("build").ok();
}

#[test]
fn an_archive_that_stays_taken_back_is_named_with_the_way_to_finish_again() {
    let s = with_a_delta();
    s.loopx(&["finish", "--yes"]).ok();
    s.loopx(&["reopen", "--reason", "by mistake"]).ok();
    s.loopx(&["undo"]).ok();
    let reopen = "git loopx -s it reopen --reason 'its archive was taken back'";
    let whole = s.loopx(&["next"]).says(reopen);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx next
    --- stderr
    error: session it has ended: nothing is left to do

    hint: its archive was taken back, and the specs are as before it; to finish it again: git loopx -s it reopen --reason 'its archive was taken back'
    --- exit 5
    ");
    s.call("sh").args(&["-c", reopen]).run().ok();
    s.loopx(&["status"]).says("build").ok();
}

#[test]
fn z8_a_target_that_has_an_archive_which_was_taken_back_is_led_to_the_merge() {
    let s = with_a_delta();
    s.loopx(&["finish", "--yes"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "work"]).ok();
    s.loopx(&["archive", "--undo", "it"]).ok();
    let is_shorter = || s.read("specs/session/spec.md").contains("10 minutes");
    assert!(is_shorter());
    let told = "main still has the archive that was taken back";
    s.loopx(&["status", "it"])
        .says(told)
        .says("next: git merge work")
        .ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    s.loopx(&["status", "it"]).says(told).ok();
    assert_eq!(follow(&s), "git switch main");
    assert_eq!(follow(&s), "git merge work");
    assert!(!is_shorter());
    s.loopx(&["-s", "it", "next"])
        .fails_with(5)
        .says("its archive was taken back, and the specs are as before it");
}

#[test]
fn finish_asks_why_where_no_code_differs() {
    for ran in [false, true] {
        let s = begun();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "it"]).ok();
        if ran {
            s.loopx(&["run", "--", "true"]).ok();
        }
        let held = s.loopx(&["finish", "--yes"]);
        assert_eq!(held.code, Some(1), "{held}");
        if ran {
            held.says("found no file that differs")
                .says("write the code, and commit it; where no code changes: ")
                .says("git loopx finish --yes --reason ");
        }
        s.loopx(&["status"]).says("build").ok();
        if ran {
            let led = s.loopx(&["next"]).fails_with(6);
            led.says("no file differs from the commit where the review begins: write the code and commit it")
                .says("git loopx finish --yes --reason ");
        }
    }
    let s = begun();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes", "--reason", "only words"])
        .says("archived")
        .ok();
}

#[test]
fn a_finish_from_the_plan_stops_where_no_code_is_and_counts_no_check_before_it() {
    let s = planned();
    let held = s.loopx(&["finish", "--yes"]);
    let said = format!("{}{}", held.stdout, held.stderr);
    assert_eq!(held.code, Some(1), "{held}");
    assert!(!said.contains("0 of 1"), "{said}");
    s.loopx(&["status"]).says("build").ok();
}

/// Ada builds a session with one task, and Bob has a clone of it.
fn with_a_task() -> Sandbox {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    share(&s);
    bobs(&s, &["take", "--remote"]).ok();
    sync(&s);
    s
}

#[test]
fn whoever_has_a_task_goes_on_beside_the_build_of_another_one() {
    let s = with_a_task();
    bob(&s, "git")
        .args(&["config", "loopx.trust", "all"])
        .run()
        .ok();
    let next = bobs(&s, &["next"]);
    assert!(!next.stderr.contains("waits for Ada"), "{next}");
    next.says("write the code");
    bob(&s, "sh")
        .args(&["-c", "echo b >code.txt && git commit -qam b"])
        .run()
        .ok();
    let mut steps = Vec::new();
    for _ in 0..4 {
        let next = bobs(&s, &["next"]);
        let step = next.stdout.trim().to_owned();
        if step.is_empty() || step.contains("sync") {
            break;
        }
        bob(&s, "sh").args(&["-c", &step]).run().ok();
        steps.push(step);
    }
    assert!(
        steps.iter().any(|step| step == "git loopx task done A"),
        "{steps:?}"
    );
}

#[test]
fn a_gate_that_a_task_of_somebody_else_holds_does_not_lead_to_ending_it() {
    let s = with_a_task();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    for command in [&["finish", "--yes"][..], &["approve", "--to", "review"]] {
        let held = s.loopx(&[&["-s", DEMO], command].concat()).fails_with(1);
        assert!(!held.stderr.contains("task done"), "{held}");
        held.says("A is claimed (by Bob)")
            .says("git loopx take A --take-over --reason");
    }
}

#[test]
fn an_undo_takes_back_a_step_and_not_the_words_that_it_saved() {
    for step in ["abandon", "plan", "approve"] {
        let s = planned();
        if step != "approve" {
            s.loopx(&["checkout", "--force", "tasks.jsonl"]).ok();
        }
        s.loopx(&["save"]).ok();
        let file = ".loopx/it/plan.md";
        let written = format!("{}\nMore words.\n", s.read(file));
        s.write(file, &written);
        s.loopx(&[step]).ok();
        s.loopx(&["-s", "it", "undo"]).ok();
        assert_eq!(s.read(file), written, "{step}");
        for back in ["redo", "undo"] {
            s.loopx(&["-s", "it", back]).ok();
        }
        s.loopx(&["undo"]).says("took back `save`").ok();
        assert!(!s.read(file).contains("More words."), "{step}");
    }
}

#[test]
fn an_undo_with_no_session_names_the_issue_that_was_changed_last() {
    let s = begun();
    let made = s.loopx(&["issue", "create", "Broken", "--json"]).json();
    let id = made["issues"][0].as_str().expect("an id").to_owned();
    s.loopx(&["issue", "close", &id, "--reason", "it is gone"])
        .ok();
    let refused = s.loopx(&["undo"]).fails_with(4);
    let refused = refused.says("no session is active");
    refused.says(&format!("git loopx issue undo {id}"));
    s.loopx(&["issue", "undo", &id]).ok();
    // What somebody else did is nobody's own.
    let s = begun();
    s.loopx(&["issue", "create", "Broken"]).ok();
    s.git(&["config", "user.name", "Bob"]).ok();
    s.git(&["config", "user.email", "bob@example.org"]).ok();
    let other = s.call(LOOPX).args(&["undo"]);
    let other = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"]
        .into_iter()
        .fold(other, |call, name| call.env(name, "bob@example.org"));
    let refused = other.run().fails_with(4);
    assert!(!refused.stderr.contains("issue undo"), "{}", refused.stderr);
}

#[test]
fn an_approval_of_a_build_without_code_asks_for_a_reason_where_branches_are_protected() {
    let s = Sandbox::new();
    s.write("src/a", "one\n");
    s.write("loopx.toml", "[gates]\nprotected = [\"main\"]\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "First"]).ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    let before = s.git(&["rev-parse", "loopx"]).line();
    let refused = s.loopx(&["approve", "--to", "review"]).fails_with(1);
    let led = "git loopx approve --to review --reason 'no file has to change'";
    insta::assert_snapshot!(refused.says(led).steady(), @"
    $ git-loopx approve --to review
    --- stderr
    refused: expected a commit of code to review, found no file that differs from where the review begins

    hint: write the code, and commit it; where no code changes: git loopx approve --to review --reason 'no file has to change'
    --- exit 1
    ");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), before);
    s.loopx(&[
        "approve",
        "--to",
        "review",
        "--reason",
        "no file has to change",
    ])
    .ok();
}

#[test]
fn an_undo_behind_a_run_names_the_step_before_it_and_takes_nothing_back() {
    let s = with_a_delta();
    for command in [&["note", "it is slow"][..], &["run", "--task", "A"]] {
        s.loopx(command).ok();
        s.loopx(&["undo"])
            .fails_with(5)
            .says("undo never takes back a run or a note; the step before it is `build`")
            .says("git loopx -s it undo 1  (takes back `build`)");
        s.loopx(&["status"]).says("code").ok();
    }
    s.loopx(&["undo", "1"]).says("now in stage plan").ok();
}

#[test]
fn an_undo_of_a_binding_gives_the_branch_back_to_the_session_that_had_it() {
    let s = on_branch();
    s.git(&["switch", "--quiet", "-c", "other"]).ok();
    s.loopx(&["start", "--quick", "second"]).ok();
    let bound = |id: &str| {
        let status = s.loopx(&["-s", id, "status", "--json"]).json();
        status["branch"].as_str().map(str::to_owned)
    };
    let is_taken = |is_taken: bool| {
        let (it, second) = if is_taken {
            ("other", None)
        } else {
            ("work", Some("other".to_owned()))
        };
        assert_eq!(bound("it").as_deref(), Some(it));
        assert_eq!(bound("second"), second);
    };
    s.loopx(&["use", "it"]).ok();
    is_taken(true);
    s.loopx(&["undo"]).ok();
    is_taken(false);
    s.loopx(&["-s", "it", "redo"]).ok();
    is_taken(true);
    s.loopx(&["-s", "it", "undo"]).ok();
    is_taken(false);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_title_that_looks_like_an_option_stands_behind_the_end_of_options_in_a_hint() {
    let s = on_branch();
    let refused = s.loopx(&["start", "--", "-x"]).fails_with(1);
    refused.says("git loopx start --no-branch -- -x");
    s.loopx(&["start", "--no-branch", "--", "-x"]).ok();
}

#[test]
fn a_run_of_what_has_passed_names_the_step_that_next_names() {
    let s = on_branch();
    let next = s.loopx(&["next"]).line();
    s.loopx(&["run"])
        .fails_with(5)
        .says(&format!("hint: {next}"));
}

#[test]
fn status_names_files_from_the_folder_that_it_is_typed_in() {
    let s = on_branch();
    s.write("src/a", "three\n");
    let below = s.loopx_in(s.path().join("src"), &["status"]);
    below.says("1 file not committed: a\n").ok();
    s.loopx(&["status"]).says("not committed: src/a\n").ok();
}

#[test]
fn a_list_cuts_no_command_in_two() {
    let s = on_branch();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.loopx(&["start", "--no-branch", "--quick", "Second"]).ok();
    for columns in ["40", "60", "80"] {
        let listed = s.call(LOOPX).args(&["list"]).env("COLUMNS", columns).run();
        let listed = listed.says("git switch work").ok();
        assert!(!listed.contains(".."), "{listed}");
    }
}
