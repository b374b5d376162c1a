//! Code that one clone has and another one has not: it is fetched or waited for, and never taken for changed or gone.
//! And worktrees and branches that are no more where git noted them.

use crate::support::{Call, LOOPX, Output, Sandbox};
use std::fs;

/// A quick session on the branch `work` that is built, with its remote, and Bob's clone beside it. The newest code is
/// not pushed.
fn built() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("src/a", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
            .ok();
        let remote = s.root().join("remote.git");
        let remote = remote.to_str().expect("UTF-8").to_owned();
        s.git(&["remote", "add", "origin", &remote]).ok();
        s.git(&["fetch", "--quiet", "origin"]).ok();
        s.git(&["branch", "--quiet", "--set-upstream-to", "origin/work"])
            .ok();
        s.git(&["clone", "--quiet", "--branch", "work", &remote, "../bob"])
            .ok();
        s.loopx(&["start", "--quick", "it"]).ok();
        s.commit_file("src/a", "two\n", "Two").ok();
        s.loopx(&["run", "--", "true"]).ok();
        s
    })
}

/// Takes the session one stage further.
fn reviewed(s: &Sandbox) {
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
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

/// Syncs both clones, so that they have the same sessions.
fn synced(s: &Sandbox) {
    s.loopx(&["sync", "origin"]).ok();
    bobs(s, &["sync", "origin"]).ok();
}

fn forget(s: &Sandbox) {
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
}

/// Types what `next` says; gives it.
fn follow(s: &Sandbox) -> String {
    let next = s.loopx(&["next"]).ok();
    s.call("sh").args(&["-c", next.trim()]).run().ok();
    next.trim().to_owned()
}

#[test]
fn q26_a_clone_of_a_single_branch_is_led_to_the_branch_of_the_session() {
    let s = built();
    s.git(&["push", "--quiet", "origin", "work"]).ok();
    s.loopx(&["sync", "origin"]).ok();
    let (remote, dir) = (s.root().join("remote.git"), s.root().join("single"));
    let address = format!("file://{}", remote.display());
    let clone = ["clone", "--quiet", "--single-branch", "--branch", "main"];
    s.git(&[&clone[..], &[&address, "../single"]].concat()).ok();
    s.loopx_in(&dir, &["init"]).ok();
    let next = s.loopx_in(&dir, &["-s", "it", "next"]);
    let said = next.ok();
    assert_eq!(said.trim(), "git fetch origin work:work");
    s.call("sh").cwd(&dir).args(&["-c", &said]).run().ok();
    let tips = [s.path(), &dir].map(|dir| s.git_in(dir, &["rev-parse", "work"]).ok());
    assert_eq!(tips[0], tips[1]);
    s.loopx_in(&dir, &["-s", "it", "next"])
        .says("git switch work")
        .ok();
}

#[test]
fn q26_a_base_that_is_on_the_branch_alone_is_fetched_with_that_branch() {
    let s = built();
    s.loopx(&["-s", "it", "abandon"]).ok();
    s.git(&["switch", "--quiet", "-c", "later"]).ok();
    s.commit_file("src/b", "on it alone\n", "Its base").ok();
    s.loopx(&["start", "--quick", "--id", "late", "Later"]).ok();
    s.commit_file("src/b", "more\n", "More").ok();
    s.git(&["push", "--quiet", "origin", "later"]).ok();
    s.loopx(&["sync", "origin"]).ok();
    let (remote, dir) = (s.root().join("remote.git"), s.root().join("single"));
    let address = format!("file://{}", remote.display());
    let clone = ["clone", "--quiet", "--single-branch", "--branch", "main"];
    s.git(&[&clone[..], &[&address, "../single"]].concat()).ok();
    s.loopx_in(&dir, &["init"]).ok();
    let doctor = s.loopx_in(&dir, &["doctor"]).fails_with(1);
    assert!(!doctor.stdout.contains("COMMIT"), "{doctor}");
    assert!(!doctor.stdout.contains("git switch -c"), "{doctor}");
    let lead = "git fetch origin later:later";
    assert_eq!(doctor.stdout.matches(lead).count(), 2, "{doctor}");
    let said = s.loopx_in(&dir, &["-s", "late", "next"]).ok();
    assert_eq!(said.trim(), lead);
    s.call("sh").cwd(&dir).args(&["-c", &said]).run().ok();
    s.loopx_in(&dir, &["doctor"]).ok();
    s.loopx_in(&dir, &["-s", "late", "next"])
        .says("git switch later")
        .ok();
}

#[test]
fn reviewed_code_that_was_not_pushed_is_fetched_or_waited_for() {
    let s = built();
    reviewed(&s);
    s.loopx(&["approve", "--to", "done"]).ok();
    synced(&s);
    let led = bobs(&s, &["-s", "it", "next"]).fails_with(6);
    insta::assert_snapshot!(led.steady(), @"
    $ git-loopx -s it next
    --- stderr
    error: no command is next for session it: you have to do the next step yourself

    hint: the code that Ada Author reviewed is not here: tree 0000000000: origin may have it: git fetch origin  (else its builder has to push work; where it is gone for good: git loopx reopen --reason 'the reviewed code is gone')
    --- exit 6
    ");
    bobs(&s, &["-s", "it", "status"])
        .says("reviewed is not here")
        .ok();
    for command in [&["archive"][..], &["finish", "--yes"]] {
        let refused = bobs(&s, &[&["-s", "it"], command].concat()).fails_with(1);
        refused
            .says("reviewed is not here")
            .says("git fetch origin");
    }
    s.git(&["push", "--quiet", "origin", "work"]).ok();
    bob(&s, "git")
        .args(&["fetch", "--quiet", "origin"])
        .run()
        .ok();
    let merge = bobs(&s, &["next"]).ok();
    assert!(merge.starts_with("git merge --ff-only "), "{merge}");
    bob(&s, "sh").args(&["-c", merge.trim()]).run().ok();
    assert_eq!(bobs(&s, &["next"]).ok().trim(), "git loopx archive");
    bobs(&s, &["archive"]).ok();
}

#[test]
fn a_clone_that_is_behind_the_reviewed_code_does_not_call_it_changed() {
    let s = built();
    reviewed(&s);
    synced(&s);
    let status = bobs(&s, &["-s", "it", "status"]).ok();
    assert!(
        status.contains("reviewed is not in this repository"),
        "{status}"
    );
    assert!(!status.contains("changed since"), "{status}");
    s.git(&["push", "--quiet", "origin", "work"]).ok();
    bob(&s, "git")
        .args(&["fetch", "--quiet", "origin"])
        .run()
        .ok();
    let status = bobs(&s, &["-s", "it", "status"]).ok();
    assert!(
        status.contains("reviewed newer code than the code here"),
        "{status}"
    );
    assert!(!status.contains("changed since"), "{status}");
    // Whoever rewrote the code has nothing to fetch.
    s.commit_file("src/a", "three\n", "Three").ok();
    s.loopx(&["status"]).says("the code changed since").ok();
}

#[test]
fn reviewed_code_that_git_threw_away_is_built_and_reviewed_again() {
    let s = built();
    s.git(&["remote", "remove", "origin"]).ok();
    reviewed(&s);
    s.loopx(&["approve", "--to", "done"]).ok();
    s.write("src/a", "three\n");
    s.git(&["commit", "--quiet", "--all", "--amend", "-m", "Other"])
        .ok();
    forget(&s);
    s.loopx(&["archive"])
        .fails_with(1)
        .says("reviewed is not here");
    assert!(follow(&s).starts_with("git loopx reopen --reason"));
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn the_base_of_a_colleague_is_waited_for_and_moved_by_nobody_else() {
    let s = built();
    s.loopx(&["abandon"]).ok();
    s.loopx(&["start", "--quick", "other"]).ok();
    synced(&s);
    let waits = bobs(&s, &["-s", "other", "next"]).fails_with(6);
    insta::assert_snapshot!(waits.steady(), @"
    $ git-loopx -s other next
    --- stderr
    error: no command is next: session other waits for Ada Author <ada@example.org> (the push of the commit that it started from)

    hint: origin may have it: git fetch origin; where it is gone for good: git loopx rebase --onto 0000000000 --reason 'the commit that it started from is gone'
    --- exit 6
    ");
    s.git(&["push", "--quiet", "origin", "work"]).ok();
    bob(&s, "git")
        .args(&["fetch", "--quiet", "origin"])
        .run()
        .ok();
    let next = bobs(&s, &["-s", "other", "next"]);
    assert!(!next.stdout.contains("rebase"), "{next}");
    assert!(!next.stderr.contains("is gone"), "{next}");
}

#[test]
fn an_archive_whose_push_git_would_not_take_is_merged_first() {
    let s = built();
    bob(&s, "sh")
        .args(&[
            "-c",
            "echo b >b && git add b && git commit -qm b && git push -q",
        ])
        .run()
        .ok();
    s.git(&["fetch", "--quiet", "origin"]).ok();
    let done = s.loopx(&["finish", "--yes"]);
    insta::assert_snapshot!(done.steady(), @"
    $ git-loopx finish --yes
    0000000000..0000000000
      src/a
    1 commit, 1 file, 1 check passed
    it: approved build->review, in stage review, self-reviewed, approved review->done, archived on work as 0000000000
    origin/work has commits that work lacks; then: git push origin work
    next: git merge origin/work
    --- exit 0
    ");
    s.loopx(&["sync", "origin"]).ok();
    assert_eq!(follow(&s), "git merge origin/work");
    assert_eq!(follow(&s), "git push origin work");
    s.git(&["merge-base", "--is-ancestor", "work", "origin/work"])
        .ok();
    s.loopx(&["next"]).fails_with(5);
}

#[test]
fn a_linked_worktree_that_was_moved_works_and_the_doctor_names_it() {
    let s = built();
    s.git(&["worktree", "add", "--quiet", "-b", "else", "../linked"])
        .ok();
    let moved = s.root().join("moved");
    s.loopx_in(s.root().join("linked"), &["start", "--quick", "else"])
        .ok();
    s.loopx_in(s.root().join("linked"), &["doctor"])
        .says("the worktree is in the folder that git recorded");
    fs::rename(s.root().join("linked"), &moved).expect("moved");
    s.loopx_in(&moved, &["status"]).ok();
    fs::write(moved.join("src/a"), "else\n").expect("written");
    s.loopx_in(moved.join("src"), &["next"])
        .fails_with(6)
        .says("run the command that shows that the change works, behind `git loopx run --`");
    s.git_in(&moved, &["commit", "--quiet", "--all", "-m", "Else"])
        .ok();
    s.loopx_in(&moved, &["run", "--", "true"]).ok();
    insta::assert_snapshot!(s.loopx_in(&moved, &["doctor"]).steady(), @"
    $ git-loopx doctor
    ok      git        git version $GIT
    note    worktree   the worktree was moved: git recorded it at $ROOT/linked
                       -> git worktree repair
    ok      identity   Ada Author <ada@example.org>
    note    fsync      loopx.fsync is off: a power cut can take the newest steps away
                       -> git config loopx.fsync true
    ok      settings   every setting has a valid value
    ok      policy     every key of loopx.toml is known
    ok      signers    each key is for named people only
    ok      branch     `loopx` at 0000000000
    ok      shadow     refs/loopx/shadow/loopx at 0000000000
    ok      lock       nobody is writing
    ok      ref_locks  none
    ok      leftovers  none
    ok      landings   all finished
    ok      displaced  nothing was put aside
    ok      copies     every working copy belongs to a session
    ok      sessions   2 active, all whole
    ok      bases      each session starts from a commit that is here
    ok      bindings   the branch of each session is here
    note    hooks      not installed
                       -> git loopx hooks install
    ok      merge_drivers every merge driver that .gitattributes names is set up
    ok      old_roots  no root of loopx 0.x is there
    --- exit 0
    ");
    s.git_in(&moved, &["worktree", "repair"]).ok();
    s.loopx_in(&moved, &["doctor"])
        .says("the worktree is in the folder that git recorded");
    s.loopx_in(&moved, &["finish", "--yes"]).ok();
}

#[test]
fn a_worktree_whose_repository_was_moved_is_told_so_and_makes_no_new_one() {
    let s = built();
    s.git(&["worktree", "add", "--quiet", "-b", "else", "../linked"])
        .ok();
    let (linked, home) = (s.root().join("linked"), s.root().join("home2"));
    fs::rename(s.path(), &home).expect("moved");
    for args in [&["next"][..], &[]] {
        let lost = s.loopx_in(&linked, args).fails_with(4);
        assert!(!lost.stderr.contains("git init"), "{lost}");
        lost.says("which is not there").says("git worktree repair");
    }
    let path = linked.to_str().expect("UTF-8");
    s.git_in(&home, &["worktree", "repair", path]).ok();
    s.loopx_in(&linked, &["list"]).ok();
    fs::rename(&home, s.path()).expect("moved back");
}

#[test]
fn q12_where_a_worktree_is_missing_the_hint_adds_it_for_the_branch_of_the_session() {
    let s = built();
    s.git(&["clone", "--quiet", "--bare", ".", "../bare.git"])
        .ok();
    let bare = s.root().join("bare.git");
    let out = s.loopx_in(&bare, &["run", "--all"]);
    assert_ne!(out.code, Some(0), "{out}");
    out.says("git worktree add ../work work  (and there: ");
}
