//! Commits that cannot land are named before the archive, and the command that is named leads on (acceptance of issue 15: D19,
//! D20, D21).

use crate::support::Sandbox;
use crate::support::landing::{self, at, make, push, rev, serve};

fn repository() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.write("loopx.toml", landing::PROTECTED);
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// A session `t` in the build on its branch, with a commit that was made in stage plan.
fn early() -> Sandbox {
    let s = repository();
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.loopx(&["start", "--profile", "lite", "--id", "t", "Do t"])
        .ok();
    make(&s, &[("src/early", "1\n")], "early");
    s.write(".loopx/t/plan.md", "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n");
    s.write(
        ".loopx/t/change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: only a number\n---\n",
    );
    s.write(".loopx/t/tasks.jsonl", "{\"id\":\"TASK-001\",\"title\":\"Do it\",\"convergence\":{\"criteria\":[\"it is there\"],\"verification\":{\"cmd\":[\"true\"]}}}\n");
    s.loopx(&["approve", "--enter"]).ok();
    s
}

#[test]
fn d19_finish_shows_a_commit_that_no_state_allowed() {
    let s = early();
    s.loopx(&["run"]).ok();
    s.loopx(&["status"]).says("made in stage plan").ok();
    insta::assert_snapshot!(s.loopx(&["finish", "--yes"]).steady(), @"
    $ git-loopx finish --yes
    0000000000..0000000000
      src/early
    1 commit, 1 file, 1 check passed
    t: approved build->review, in stage review, self-reviewed, approved review->done, archived on t as 0000000000
    main does not have the change yet; on main, run: git merge t
    next: git switch main
    --- stderr
    warning: 0000000000: the commit has no trailer with a state of session t; it was made in stage plan: `src/early`: stage plan takes no code; git merge --squash t  (lands the reviewed result as one commit, on the target), or make the commit again in the build: git loopx -s t log
    --- exit 0
    ");
    // With the session its words are gone, and what the branch refuses is not.
    s.loopx(&["verify", "main..t", "--onto", "main"])
        .fails_with(1);
    s.loopx(&["verify", "main..t"]).fails_with(1);
}

#[test]
fn f24_edits_that_the_merge_would_overwrite_are_put_aside_first() {
    let s = Sandbox::new();
    s.commit_file("a.txt", "one\n", "first").ok();
    s.commit_file("b.txt", "one\n", "second").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.loopx(&["start", "--quick", "--id", "t", "Do t"]).ok();
    s.commit_file("a.txt", "two\n", "code").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    let next = || s.loopx(&["-s", "t", "next"]).ok();
    s.write("b.txt", "edited\n");
    assert!(next().contains("git merge t"), "{}", next());
    s.write("a.txt", "edited\n");
    let stash = next();
    assert!(stash.contains("git stash push"), "{stash}");
    assert!(stash.contains("a.txt"), "{stash}");
    assert!(!stash.contains("b.txt"), "{stash}");
    s.git(&["merge", "t"]).fails_with(1);
    s.git(&["stash", "push", "--quiet", "--", "a.txt"]).ok();
    assert!(next().contains("git merge t"), "{}", next());
    s.git(&["merge", "t"]).ok();
}

#[test]
fn d20_a_squash_without_its_reviewed_commits_names_their_push() {
    let s = repository();
    serve(&s);
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.loopx(&["start", "--quick", "--id", "t", "Do t"]).ok();
    make(&s, &[("src/a", "1\n")], "code");
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    at(&s, "main");
    s.git(&["merge", "--quiet", "--squash", "t"]).ok();
    let squash = make(&s, &[], "squash");
    push(&s, &["loopx"]).ok();
    let to = format!("{squash}:refs/heads/main");
    insta::assert_snapshot!(push(&s, &[&to]).steady(), @r#"
    $ git push --quiet --no-verify origin 0000000000000000000000000000000000000000:refs/heads/main
    --- stderr
    remote: refused: this push is refused, for 1 reason [protected_without_session]
    remote:   protected_without_session 0000000000 squash: `main` takes only results of sessions, and no session has this result; the commits that session t was reviewed with are not here: `src/a`
    remote:     git push origin t  (the reviewed commits), then push again, or: git loopx start "Fix the timeout"
    remote:
    remote: hint: git loopx verify  (and push the loopx branch, if the sessions are not there yet)
    To ../remote.git
     ! [remote rejected] 0000000000000000000000000000000000000000 -> main (pre-receive hook declined)
    error: failed to push some refs to '../remote.git'
    --- exit 1
    "#);
    push(&s, &["t"]).ok();
    push(&s, &[&to]).ok();
}

#[test]
fn d21_a_session_without_a_branch_is_reviewed_from_its_base() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--quick", "--no-branch", "--id", "q", "Do q"])
        .ok();
    s.commit_file("src/z", "z\n", "z").ok();
    s.loopx(&["-s", "q", "run", "--", "true"]).ok();
    insta::assert_snapshot!(s.loopx(&["-s", "q", "finish", "--yes"]).steady(), @r#"
    $ git-loopx -s q finish --yes
    0000000000..0000000000
      src/z
    1 commit, 1 file, 1 check passed
    q: approved build->review, in stage review, self-reviewed, approved review->done, archived on main as 0000000000
    next: git loopx start "Fix the timeout"
    --- exit 0
    "#);
}

#[test]
fn r17_status_judges_the_session_that_it_shows_whatever_is_checked_out() {
    let s = early();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.loopx(&["status"])
        .says("main is checked out here, and the session is on t")
        .says("made in stage plan")
        .ok();
    s.git(&["switch", "--quiet", "--detach", "main"]).ok();
    s.loopx(&["status"]).says("made in stage plan").ok();
}

#[test]
fn r18_status_judges_up_to_200_commits_and_verify_all() {
    let s = early();
    let many = |n: u32| {
        let each = format!(
            "i=0; while [ $i -lt {n} ]; do i=$((i+1)); git commit -q --no-verify --allow-empty -m more; done"
        );
        s.call("sh").args(&["-c", &each]).run().ok();
    };
    many(199);
    s.loopx(&["status"]).says("made in stage plan").ok();
    many(1);
    let status = s.loopx(&["status"]);
    assert!(!status.stderr.contains("made in stage plan"), "{status}");
    status.ok();
    s.loopx(&["verify"])
        .fails_with(1)
        .says("made in stage plan");
}

#[test]
fn r27_a_commit_that_cannot_land_is_found_by_every_name_of_the_range() {
    let s = early();
    serve(&s);
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let ranges = |s: &Sandbox, names: &[&str]| {
        for name in names {
            let judged = s.loopx(&["verify", &format!("main..{name}")]);
            judged.fails_with(1).says("commit_without_state");
        }
    };
    let head = rev(&s, "t");
    ranges(&s, &["t", "HEAD", &head]);
    at(&s, "t");
    ranges(&s, &["t", "HEAD", &head]);
    push(&s, &["loopx", "t"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    ranges(&s, &["t", "origin/t", &head]);
    s.git(&["branch", "--quiet", "-D", "t"]).ok();
    ranges(&s, &["origin/t", &head]);
}

#[test]
fn r28_a_branch_whose_result_has_landed_is_asked_nothing() {
    let s = early();
    serve(&s);
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    at(&s, "main");
    s.git(&["merge", "--quiet", "--squash", "t"]).ok();
    let squash = make(&s, &[], "squash");
    push(&s, &["loopx", "t"]).ok();
    push(&s, &[&format!("{squash}:refs/heads/main")]).ok();
    s.loopx(&["verify", "main..t"]).ok();
    s.git(&["branch", "--quiet", "--force", "main", &squash])
        .ok();
    s.loopx(&["verify", "main..t"]).ok();
    s.loopx(&["verify", "main..origin/t"]).ok();
    s.git(&["switch", "--quiet", "t"]).ok();
    s.loopx(&["verify", "main..HEAD"]).ok();
}
