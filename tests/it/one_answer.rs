//! `git loopx`, `status` and `next` give one answer to "what do I do now", in every place where somebody may ask: before
//! the first session, in one, after its end, on another branch, in another worktree, without a name. What it leads to is
//! never refused.

use crate::support::tasks::{DEMO, building, task};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;
use std::path::Path;

/// Lead of one of the three: a command, else advice, else the hint of its refusal.
fn led(out: &Output) -> String {
    let (document, refused) = match out.code {
        Some(0) => (serde_json::from_str::<Value>(&out.stdout), false),
        _ => (serde_json::from_str::<Value>(&out.stderr), true),
    };
    let document = document.expect("one document");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if refused {
        return text(&document["error"]["help"]);
    }
    match text(&document["next_action"]) {
        none if none.is_empty() => text(&document["advice"]),
        next => next,
    }
}

/// Asks all three, and gives the one answer.
#[track_caller]
fn answer(s: &Sandbox, dir: &Path, env: &[(&str, &str)]) -> String {
    let ask = |words: &[&str]| {
        let call = s.call(LOOPX).cwd(dir).args(words);
        let call = env
            .iter()
            .fold(call, |call, (key, value)| call.env(key, value));
        call.run()
    };
    let [home, status, next] =
        [&["--json"][..], &["--json", "status"], &["--json", "next"]].map(|words| led(&ask(words)));
    assert_eq!(home, next, "`git loopx` and `next`");
    assert_eq!(status, next, "`status` and `next`");
    // What the text leads to is the same.
    for words in [&[][..], &["status"], &["next"]] {
        let out = ask(words);
        let said = format!("{}{}", out.stdout, out.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let lead = next.split("  or  ").next().unwrap_or_default();
        let lead = lead.split(", then: ").next().unwrap_or_default();
        assert!(
            said.contains(lead),
            "{words:?} does not say `{lead}`: {out}"
        );
    }
    next
}

/// A repository with one commit.
fn committed() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("code.txt", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// A session on a branch of its own that is ready to be finished.
fn quick(s: &Sandbox) {
    s.git(&["switch", "--quiet", "-c", "fix"]).ok();
    s.loopx(&["start", "--quick", "Fix it"]).ok();
    s.commit_file("code.txt", "two\n", "Fix").ok();
    s.loopx(&["run", "--", "true"]).ok();
}

#[test]
fn before_the_first_session_all_three_lead_to_it() {
    let s = Sandbox::empty("new");
    s.git(&["init", "--quiet"]).ok();
    assert_eq!(answer(&s, s.path(), &[]), "git loopx init");
    s.loopx(&["init"]).ok();
    assert!(answer(&s, s.path(), &[]).starts_with("git loopx start "));
}

#[test]
fn after_the_end_all_three_tell_what_is_left_of_it() {
    let s = committed();
    let remote = s.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8");
    s.git(&["init", "--quiet", "--bare", remote]).ok();
    s.git(&["remote", "add", "origin", remote]).ok();
    quick(&s);
    s.loopx(&["finish", "--yes"]).ok();
    // What is left of it is seen where it was worked on.
    assert_eq!(answer(&s, s.path(), &[]), "git push origin fix");
    s.loopx(&["status"]).says("archived  on fix").ok();
    s.git(&["push", "--quiet", "origin", "fix", "main"]).ok();
    assert_eq!(answer(&s, s.path(), &[]), "git loopx sync origin");
    s.loopx(&["sync", "origin"]).ok();
    let nothing: [&str; 0] = [];
    for branch in ["fix", "main"] {
        s.git(&["switch", "--quiet", branch]).ok();
        for args in [&["next"][..], &["status"], &nothing] {
            s.loopx(args).says("open a pull request for fix on origin");
        }
        s.loopx(&["next"]).fails_with(5);
    }
    // Landed.
    s.git(&["merge", "--quiet", "--ff-only", "fix"]).ok();
    s.git(&["switch", "--quiet", "fix"]).ok();
    assert!(answer(&s, s.path(), &[]).starts_with("git loopx start "));
    s.loopx(&["next"]).fails_with(5);
}

#[test]
fn after_it_was_abandoned_all_three_tell_how_to_take_that_back() {
    let s = committed();
    quick(&s);
    s.loopx(&["abandon", "--reason", "no"]).ok();
    let led = answer(&s, s.path(), &[]);
    assert!(led.ends_with("git loopx -s fix-it undo"), "{led}");
    s.loopx(&["-s", "fix-it", "undo"]).ok();
    assert_eq!(answer(&s, s.path(), &[]), "git loopx finish --yes");
}

#[test]
fn on_another_branch_and_in_other_worktrees_all_three_lead_to_the_session() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    // Its branch is checked out elsewhere.
    let beside = s.root().join("beside");
    let path = beside.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    let there = answer(&s, &beside, &[]);
    let top = s.path().to_str().expect("UTF-8");
    assert!(there.contains(top), "{there}");
    s.git_in(&beside, &["switch", "--quiet", "-c", "other"])
        .ok();
    assert_eq!(answer(&s, &beside, &[]), there);
    // It is checked out nowhere.
    s.git(&["switch", "--quiet", "main"]).ok();
    assert_eq!(answer(&s, s.path(), &[]), "git switch work");
    assert_eq!(answer(&s, &beside, &[]), "git switch work");
    s.git(&["switch", "--quiet", "--detach"]).ok();
    assert_eq!(answer(&s, s.path(), &[]), "git switch work");
    // In the worktree that has it, whoever asks is in it.
    s.git_in(&beside, &["switch", "--quiet", "work"]).ok();
    let here = answer(&s, &beside, &[]);
    assert!(!here.contains("switch"), "{here}");
    assert!(answer(&s, s.path(), &[]).contains(path));
    s.loopx_in(&beside, &[] as &[&str]).says(DEMO).ok();
}

#[test]
fn the_list_says_what_the_gate_of_each_session_lacks() {
    let s = committed();
    quick(&s);
    s.loopx(&["start", "--no-branch", "Other"]).ok();
    let listed = s.loopx(&["--json", "list"]).json();
    let missing = |at: usize| listed["sessions"][at]["missing"].as_u64();
    assert_eq!(missing(0), Some(0), "{listed:#}");
    let lacks = missing(1).expect("a number");
    let blockers = s.loopx(&["-s", "other", "--json", "status"]).json();
    assert_eq!(
        lacks,
        blockers["blockers"].as_array().expect("blockers").len() as u64
    );
    let said = s.loopx(&["list"]).ok();
    assert!(
        said.lines()
            .any(|line| line.contains("fix-it") && line.contains("ready")),
        "{said}"
    );
    let is_told = |line: &str| line.contains("other") && line.contains(&format!("  {lacks}  "));
    assert!(said.lines().any(is_told), "{said}");
}

#[test]
fn of_several_sessions_all_three_lead_to_the_branch_of_one() {
    let s = committed();
    for name in ["one", "two"] {
        s.git(&["switch", "--quiet", "-c", name, "main"]).ok();
        s.loopx(&["start", name]).ok();
    }
    s.git(&["switch", "--quiet", "main"]).ok();
    let led = answer(&s, s.path(), &[]);
    assert_eq!(led, "git switch one  or  git loopx -s one status");
    s.loopx(&["next"]).fails_with(2);
}

#[test]
fn somebody_without_a_name_is_told_to_give_one_in_every_place() {
    let env = [
        ("GIT_AUTHOR_NAME", ""),
        ("GIT_COMMITTER_NAME", ""),
        ("GIT_AUTHOR_EMAIL", ""),
        ("GIT_COMMITTER_EMAIL", ""),
    ];
    let name = "git config --global user.name";
    let s = Sandbox::empty("nobody");
    s.git(&["init", "--quiet"]).ok();
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "First"])
        .ok();
    assert!(answer(&s, s.path(), &env).contains(name));
    s.loopx(&["init"]).ok();
    assert!(answer(&s, s.path(), &env).contains(name));
    let list = env
        .iter()
        .fold(s.call(LOOPX).args(&["list"]), |call, (key, value)| {
            call.env(key, value)
        });
    list.run().says(name).ok();
    quick(&s);
    assert!(answer(&s, s.path(), &env).contains(name));
    s.git(&["switch", "--quiet", "--detach"]).ok();
    assert!(answer(&s, s.path(), &env).contains(name));
    s.git(&["switch", "--quiet", "fix"]).ok();
    s.loopx(&["abandon"]).ok();
    assert!(answer(&s, s.path(), &env).contains(name));
}

#[test]
fn a_session_that_was_lowered_to_quick_is_asked_for_nothing_that_lite_left() {
    let s = committed();
    s.git(&["switch", "--quiet", "-c", "fix"]).ok();
    s.loopx(&["start", "Fix it"]).ok();
    s.loopx(&["profile", "quick", "--reason", "it is small"])
        .ok();
    let said = s.loopx(&["status"]).ok();
    assert!(!said.contains("tasks.jsonl"), "{said}");
    s.commit_file("code.txt", "two\n", "Fix").ok();
    s.loopx(&["run", "--", "true"]).ok();
    assert_eq!(answer(&s, s.path(), &[]), "git loopx finish --yes");
    s.loopx(&["finish", "--yes"]).ok();
}
