//! Places that a tester found where the program led nowhere or said what is not so: what git hides, what lies in the
//! middle of something of git's, a delta that moved between files, checks that nobody ran, what a landing is.

use crate::support::Sandbox;

/// A quick session in its build, with a brief whose checks are these lines.
fn quick(checks: &str) -> Sandbox {
    Sandbox::once(format!("{checks:?}"), || {
        let s = Sandbox::new();
        s.commit_file("src/a", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "it"]).ok();
        brief(&s, checks);
        s
    })
}

fn brief(s: &Sandbox, checks: &str) {
    let text = format!("# It\n\n## Why\n\nIt breaks.\n\n## Checks\n\n{checks}");
    s.write(".loopx/it/brief.md", text);
}

fn next(s: &Sandbox) -> String {
    s.loopx(&["next"]).line()
}

#[test]
fn no_run_is_recorded_for_a_tree_that_git_was_told_not_to_look_at() {
    for (hide, look) in [
        ("--assume-unchanged", "--no-assume-unchanged"),
        ("--skip-worktree", "--no-skip-worktree"),
    ] {
        let s = quick("- `grep -q two src/a`\n");
        s.git(&["update-index", hide, "src/a"]).ok();
        s.loopx(&["run", "--", "true"]).ok();
        s.write("src/a", "two\n");
        let led = s.loopx(&["run"]).fails_with(1);
        led.says("src/a differs from the committed file, and git was told not to look at the file")
            .says(&format!("git update-index {look} :/src/a"));
        s.git(&["update-index", look, "src/a"]).ok();
        s.git(&["commit", "--quiet", "-a", "-m", "Two"]).ok();
        s.loopx(&["run"]).ok();
    }
}

#[test]
fn the_checks_below_a_second_heading_are_run_too() {
    let s = quick("- `true`\n\n## Notes\n\nNone.\n\n## Checks\n\n- `false`\n");
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run"]).fails_with(1).says("check-2");
    let held = s.loopx(&["finish", "--yes"]).fails_with(1);
    held.says("check-2");
}

const DELTA: &str = "
# Domain: session

## ADDED Requirements

### Requirement: Idle timeout
The system SHALL end a session that has been idle for 10 minutes.

#### Scenario: Idle
- **WHEN** a session has had no request for 10 minutes
- **THEN** the session ends
";

#[test]
fn a_delta_that_was_changed_in_its_file_moves_back_into_the_brief_as_it_is() {
    let s = quick("- `true`\n");
    let text = s.read(".loopx/it/brief.md");
    s.write(".loopx/it/brief.md", format!("{text}{DELTA}"));
    s.loopx(&["profile", "lite"]).ok();
    let delta = s.read(".loopx/it/change/spec-delta.md");
    assert!(delta.contains("10 minutes"), "{delta}");
    s.write(
        ".loopx/it/change/spec-delta.md",
        delta.replace("10 minutes", "11 minutes"),
    );
    s.loopx(&["save"]).ok();
    s.loopx(&["profile", "quick", "--reason", "small"]).ok();
    let brief = s.read(".loopx/it/brief.md");
    assert!(
        brief.contains("11 minutes") && !brief.contains("10 minutes"),
        "{brief}"
    );
    // And forward again, from the brief.
    s.write(
        ".loopx/it/brief.md",
        brief.replace("11 minutes", "12 minutes"),
    );
    s.loopx(&["save"]).ok();
    s.loopx(&["profile", "lite"]).ok();
    let delta = s.loopx(&["cat", "change/spec-delta.md"]).ok();
    assert!(
        delta.contains("12 minutes") && !delta.contains("11 minutes"),
        "{delta}"
    );
}

#[test]
fn a_profile_whose_files_name_no_check_is_proven_by_any_run() {
    let s = Sandbox::new();
    let policy =
        "[profiles.short]\nextends = \"lite\"\nfiles = [\"plan.md\", \"change/spec-delta.md\"]\n";
    s.commit_file("loopx.toml", policy, "Policy").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "short", "it"]).ok();
    let plan = "# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n";
    s.write(".loopx/it/plan.md", plan);
    let delta = "---\nbehaviour: unchanged\nreason: \"only words change\"\n---\n\n# Nothing\n";
    s.write(".loopx/it/change/spec-delta.md", delta);
    s.loopx(&["approve", "--enter"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run", "--", "true"]).ok();
    assert_eq!(next(&s), "git loopx finish --yes");
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_change_that_comes_to_nothing_is_led_to_a_reason() {
    let s = Sandbox::new();
    s.commit_file("loopx.toml", "[gates]\nprotected = [\"main\"]\n", "Policy")
        .ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    brief(&s, "- `true`\n");
    s.commit_file("src/a", "two\n", "Two").ok();
    s.git(&["revert", "--no-edit", "HEAD"]).ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["next"])
        .fails_with(6)
        .says("if no code has to change: git loopx finish --yes --reason");
    let refused = s.loopx(&["finish", "--yes"]).fails_with(1);
    refused.says("git loopx finish --yes --reason");
}

#[test]
fn what_was_abandoned_is_not_said_to_be_open() {
    let s = quick("- `true`\n");
    s.loopx(&["abandon", "--reason", "no"]).ok();
    let refused = s
        .loopx(&["-s", "it", "reopen", "--reason", "yes"])
        .fails_with(1);
    insta::assert_snapshot!(refused.steady(), @"
    $ git-loopx -s it reopen --reason yes
    --- stderr
    refused: session it was abandoned in stage build

    hint: git loopx -s it undo
    --- exit 1
    ");
}

#[test]
fn what_git_has_under_way_is_named_as_git_names_it() {
    let s = quick("- `true`\n");
    s.commit_file("src/a", "two\n", "Two").ok();
    let patch = s.git(&["format-patch", "--stdout", "-1"]).ok();
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    s.commit_file("src/a", "three\n", "Three").ok();
    s.write("../two.patch", patch);
    drop(s.git(&["am", "--quiet", "../two.patch"]));
    assert_eq!(next(&s), "git am --continue");
    s.git(&["am", "--abort"]).ok();
    // A pick of which nothing is left.
    s.commit_file("src/b", "b\n", "B").ok();
    drop(s.git(&["cherry-pick", "HEAD"]));
    assert_eq!(next(&s), "git cherry-pick --skip");
    s.git(&["cherry-pick", "--skip"]).ok();
    // Sides between which nobody chose are not committed.
    s.write("src/a", "mine\n");
    s.git(&["stash", "--quiet"]).ok();
    s.commit_file("src/a", "theirs\n", "Theirs").ok();
    drop(s.git(&["stash", "pop"]));
    s.loopx(&["next"])
        .says("choose between the marked sides in src/a")
        .fails_with(6);
    s.write("src/a", "both\n");
    assert_eq!(next(&s), "git add -- src/a");
    let refused = s.loopx(&["finish", "--yes"]).fails_with(1);
    refused.says("git status");
}

#[test]
fn no_step_commits_the_markers_of_a_conflict() {
    let s = quick("- `true`\n");
    s.commit_file("src/a", "mine\n", "Mine").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("src/a", "theirs\n", "Theirs").ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    s.git(&["merge", "--quiet", "main"]).fails_with(1);
    let left = s.loopx(&["next"]).fails_with(6);
    left.says("choose between the marked sides in src/a");
    s.loopx(&["status"]).says("both sides stand in src/a").ok();
    s.write("src/a", "both\n");
    let status = s.loopx(&["status"]).ok();
    assert!(!status.contains("both sides"), "{status}");
    assert_eq!(next(&s), "git add -- src/a");
    s.git(&["add", "src/a"]).ok();
    assert_eq!(next(&s), "git merge --continue");
}

#[test]
fn a_session_whose_code_was_squashed_is_on_its_target_and_specs_alone_are_no_landing() {
    let s = quick("- `true`\n");
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    let landed = |s: &Sandbox| s.loopx(&["--json", "-s", "it", "status"]).json()["landed"].clone();
    assert!(landed(&s)["commit"].is_null());
    s.commit_file("other", "o\n", "Other").ok();
    s.git(&["merge", "--squash", "--quiet", "work"]).ok();
    let message = ["commit", "--quiet", "-m", "It, squashed"];
    s.git(&message).ok();
    let head = s.git(&["rev-parse", "HEAD"]).line();
    assert_eq!(landed(&s)["commit"], head.as_str());
}

#[test]
fn a_session_goes_to_the_remote_before_its_code() {
    let s = quick("- `true`\n");
    let bare = s.root().join("bare.git");
    let bare = bare.to_str().expect("UTF-8");
    s.git(&["init", "--quiet", "--bare", bare]).ok();
    s.git(&["remote", "add", "origin", bare]).ok();
    s.git(&["push", "--quiet", "origin", "main"]).ok();
    s.loopx(&["sync"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"])
        .says("next: git loopx sync origin");
    s.loopx(&["sync", "origin"]).ok();
    assert_eq!(
        s.loopx(&["-s", "it", "next"]).line(),
        "git push origin work"
    );
}

#[test]
fn the_check_of_somebody_else_is_read_before_it_is_next() {
    let s = quick("- `sh -c 'echo hello'`\n");
    s.loopx(&["save"]).ok();
    s.commit_file("src/a", "two\n", "Two").ok();
    let by = |args: &[&str]| {
        let call = s.call(crate::support::LOOPX).args(args);
        let call = call.env("GIT_AUTHOR_NAME", "Grace");
        let call = call.env("GIT_AUTHOR_EMAIL", "grace@example.org");
        let call = call.env("GIT_COMMITTER_NAME", "Grace");
        call.env("GIT_COMMITTER_EMAIL", "grace@example.org").run()
    };
    let led = by(&["next"]).fails_with(6);
    insta::assert_snapshot!(led.steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next for session it: you have to do the next step yourself

    hint: nobody in this clone has allowed the check of check-1 to run; to read it: git loopx cat brief.md; to allow it and run it: git loopx run --task check-1 --trust
    --- exit 6
    ");
}
