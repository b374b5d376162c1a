//! Hints where two people work: who mends what a review sent back, and the branch whose newest commits are not here.
//! And what `finish` shows and holds.

use crate::support::{LOOPX, Output, Sandbox};

/// Output of `next`, and its exit code.
fn next(s: &Sandbox) -> Output {
    s.loopx(&["next"])
}

/// A quick session of the sandbox's person, built and in review.
fn in_review() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("src/a", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "it"]).ok();
        s.commit_file("src/a", "two\n", "Two").ok();
        s.loopx(&["run", "--", "true"]).ok();
        s.loopx(&["approve"]).ok();
        s.loopx(&["review"]).ok();
        s
    })
}

/// Sends the work back with these findings.
fn sends_back(s: &Sandbox, findings: &[&str]) {
    let mut args = vec!["review", "--verdict", "changes", "--reason", "no"];
    for finding in findings {
        args.extend(["--finding", finding]);
    }
    s.loopx(&args).ok();
}

#[test]
fn a_reviewer_who_sends_work_back_is_not_led_into_the_build() {
    let s = in_review();
    let back = ["review", "--verdict", "changes", "--reason", "no"];
    let finding = ["--finding", "high: src/a:1: wrong"];
    grace(&s, &[&back[..], &finding].concat()).ok();
    let waits = grace(&s, &["next"]).fails_with(6);
    waits.says("the fix of what the review found");
    let command = next(&s).ok();
    assert_eq!(command.trim(), "git loopx approve --to build --enter");
}

#[test]
fn whoever_mended_waits_for_the_reviewer_who_sent_the_work_back() {
    let s = in_review();
    let back = ["review", "--verdict", "changes", "--reason", "no"];
    grace(
        &s,
        &[&back[..], &["--finding", "high: src/a:1: wrong"]].concat(),
    )
    .ok();
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    s.commit_file("src/a", "three\n", "Three").ok();
    let mut steps = Vec::new();
    while let Some(0) = next(&s).code {
        let step = next(&s).line();
        assert!(steps.len() < 9, "{steps:?}");
        s.call("sh").args(&["-c", &step]).run().ok();
        steps.push(step);
    }
    let is_alone = |step: &String| step.contains("finish") || step.contains("--verdict");
    assert!(!steps.iter().any(is_alone), "{steps:?}");
    next(&s).fails_with(6).says("waits for Grace");
    let theirs = grace(&s, &["next"]).ok();
    assert!(theirs.contains("review --verdict approve"), "{theirs}");
    grace(&s, &["review", "--verdict", "approve"]).ok();
    next(&s).ok();
}

/// A quick session on a branch that a remote has, with its sessions; and a clone of Bob's on that branch.
fn shared() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("src/a", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "it"]).ok();
        s.commit_file("src/a", "two\n", "Two").ok();
        s.git(&["clone", "--quiet", "--bare", ".", "../hub.git"])
            .ok();
        let hub = s.root().join("hub.git");
        let hub = hub.to_str().expect("UTF-8");
        s.git(&["remote", "add", "origin", hub]).ok();
        s.git(&["fetch", "--quiet"]).ok();
        s.git(&["branch", "--quiet", "--set-upstream-to=origin/work"])
            .ok();
        s.loopx(&["sync", "origin"]).ok();
        s.git(&["clone", "--quiet", "--branch", "work", hub, "../bob"])
            .ok();
        s
    })
}

/// A command of Bob's, in his clone.
fn bob(s: &Sandbox, program: &str, args: &[&str]) -> Output {
    let call = s.call(program).args(args).cwd(s.root().join("bob"));
    let call = call.env("GIT_AUTHOR_NAME", "Bob");
    let call = call.env("GIT_AUTHOR_EMAIL", "bob@example.org");
    let call = call.env("GIT_COMMITTER_NAME", "Bob");
    call.env("GIT_COMMITTER_EMAIL", "bob@example.org").run()
}

#[test]
fn an_archive_of_somebody_else_is_fetched_and_taken_in() {
    for has_more in [false, true] {
        let s = shared();
        bob(&s, LOOPX, &["sync", "origin"]).ok();
        bob(&s, LOOPX, &["run", "--", "true"]).ok();
        bob(&s, LOOPX, &["finish", "--yes"]).ok();
        bob(&s, LOOPX, &["sync", "origin"]).ok();
        if has_more {
            s.commit_file("src/b", "more\n", "More").ok();
        }
        s.loopx(&["sync", "origin"]).ok();
        next(&s).fails_with(6).says("git fetch origin");
        bob(&s, "git", &["push", "--quiet", "origin", "work"]).ok();
        s.git(&["fetch", "--quiet"]).ok();
        let merge = if has_more {
            "git merge origin/work"
        } else {
            "git merge --ff-only origin/work"
        };
        assert_eq!(next(&s).line(), merge);
        s.call("sh").args(&["-c", merge]).run().ok();
        let after = next(&s);
        assert!(!after.stdout.contains("merge"), "{after}");
        let pushed = after.stdout.trim() == "git push origin work";
        assert_eq!(pushed, has_more, "{after}");
    }
}

#[test]
fn a_push_says_what_to_do_where_the_remote_has_moved() {
    let s = shared();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s.loopx(&["sync", "origin"]).ok();
    assert_eq!(next(&s).line(), "git push origin work");
    s.loopx(&["status"])
        .says("where git refuses the push: git fetch origin, and ask again")
        .ok();
}

#[test]
fn p8_what_a_server_asks_for_first_is_sent_before_the_code() {
    let s = shared();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).ok();
    let verdict = [
        "review",
        "--verdict",
        "request-changes",
        "--target",
        "build",
    ];
    let finding = ["--finding", "high: src/a:1: bad"];
    grace(&s, &[&verdict[..], &finding].concat()).ok();
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    s.commit_file("src/a", "mended\n", "Mend").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review", "--answer", "1", "fixed"]).ok();
    assert_eq!(next(&s).line(), "git loopx sync origin");
    s.loopx(&["sync", "origin"]).ok();
    assert_eq!(next(&s).line(), "git push origin work");
}

/// A command of somebody who took no part.
fn grace(s: &Sandbox, args: &[&str]) -> Output {
    let call = s.call(LOOPX).args(args);
    let call = call
        .env("GIT_AUTHOR_NAME", "Grace")
        .env("GIT_AUTHOR_EMAIL", "grace@example.org");
    let call = call.env("GIT_COMMITTER_NAME", "Grace");
    call.env("GIT_COMMITTER_EMAIL", "grace@example.org").run()
}

#[test]
fn a_branch_behind_its_upstream_is_brought_up_to_date_before_its_code_is_judged() {
    let s = in_review();
    let bare = s.root().join("bare.git");
    let bare = bare.to_str().expect("UTF-8");
    s.git(&["init", "--quiet", "--bare", bare]).ok();
    s.git(&["remote", "add", "origin", bare]).ok();
    s.commit_file("src/a", "three\n", "Three").ok();
    s.git(&["push", "--quiet", "--set-upstream", "origin", "work"])
        .ok();
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    assert_eq!(next(&s).ok().trim(), "git merge --ff-only origin/work");
    // What git would overwrite goes out of the way, and nothing else.
    s.write("src/other", "mine\n");
    assert_eq!(next(&s).ok().trim(), "git merge --ff-only origin/work");
    s.write("src/a", "mine\n");
    assert_eq!(
        next(&s).ok().trim(),
        "git stash push -m 'put aside for git loopx' -- src/a"
    );
    s.git(&["stash", "push", "--quiet", "--", "src/a"]).ok();
    std::fs::remove_file(s.path().join("src/other")).expect("a file");
    s.loopx(&["status"])
        .says("work is 1 commit behind origin/work");
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["behind"]["commits"], 1, "{status:#}");
    s.call("sh")
        .args(&["-c", next(&s).stdout.trim()])
        .run()
        .ok();
    assert!(!next(&s).stdout.contains("merge"));
}

#[test]
fn finish_goes_past_no_open_finding_of_any_severity() {
    let s = in_review();
    sends_back(&s, &["medium: LICENSE:1: why", "low: a nit"]);
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    s.commit_file("src/a", "three\n", "Three").ok();
    s.loopx(&["run"]).ok();
    let held = s.loopx(&["finish", "--yes"]).fails_with(1);
    insta::assert_snapshot!(held.steady(), @"
    $ git-loopx finish --yes
    --- stderr
    refused: 2 findings are not answered
      finding 1  medium: LICENSE:1: why  (Ada Author, review 1) is open
      finding 2  low: a nit  (Ada Author, review 1) is open
        git loopx review --answer 2 fixed

    hint: git loopx review --answer 1 fixed
    --- exit 1
    ");
    for number in ["1", "2"] {
        s.loopx(&["review", "--answer", number, "fixed"]).ok();
    }
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn finish_shows_the_range_and_each_file_that_it_approves() {
    let s = Sandbox::new();
    s.commit_file("src/a", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    let base = s.git(&["rev-parse", "--short=10", "HEAD"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    let head = s.git(&["rev-parse", "--short=10", "HEAD"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    let said = s.loopx(&["finish", "--yes"]);
    insta::assert_snapshot!(said.says(&format!("{}..{}", base.trim(), head.trim())).steady(), @"
    $ git-loopx finish --yes
    0000000000..0000000000
      src/a
    1 commit, 1 file, 1 check passed
    it: approved build->review, in stage review, self-reviewed, approved review->done, archived on work as 0000000000
    main does not have the change yet; on main, run: git merge work
    next: git switch main
    --- exit 0
    ");
}
