//! Small things that real use found (acceptance of issue 15: D3, D10 to D13, D25, D27): each says what is so, and what
//! leads on.

use crate::support::drive::{Drive, ID};
use crate::support::keys::{BOB, by, by_key, everybody};
use crate::support::{LOOPX, Sandbox};
use std::os::unix::fs::symlink;

fn begun() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

#[test]
fn d3_a_hook_that_was_not_written_is_not_said_to_be() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    let hooks = s.path().join(".git/hooks");
    drop(std::fs::remove_dir_all(&hooks));
    s.write(".git/hooks", "in the way\n");
    let refused = s.loopx(&["hooks", "install"]);
    assert!(!refused.stdout.contains("write "), "{refused}");
    assert!(!refused.stderr.starts_with("write "), "{refused}");
    refused.fails_with(1).says("hooks install");
    std::fs::remove_file(&hooks).expect("a file");
    s.loopx(&["hooks", "install"]).says("pre-commit").ok();
}

#[test]
fn d10_a_second_import_says_only_what_is_new() {
    let s = begun();
    s.write("openspec/project.md", "# Project\n");
    s.write("openspec/notes/odd.txt", "odd\n");
    s.write(
        "openspec/specs/auth/spec.md",
        "# auth Specification\n\n## Purpose\n\nSigning in of people who have an account here.\n\n## Requirements\n\n### Requirement: Sign in\nThe system SHALL ask.\n\n#### Scenario: Ask\n- **WHEN** somebody comes\n- **THEN** it asks\n",
    );
    let first = s.loopx(&["import", "openspec"]);
    assert!(first.stdout.contains("openspec/notes/odd.txt"), "{first}");
    let second = s.loopx(&["import", "openspec"]);
    assert!(!second.stdout.contains("odd.txt"), "{second}");
    second
        .says("0 copied")
        .says("2 files that are neither spec nor change stay in place")
        .says("list --all")
        .ok();
}

#[test]
fn d11_a_link_in_the_place_of_a_hosts_file_hides_no_other_host() {
    let s = begun();
    s.write(".claude/x", "");
    symlink("/tmp/none.json", s.path().join(".claude/settings.json")).expect("a link");
    let status = s.loopx(&["agent", "status"]);
    assert!(status.stdout.contains("symbolic link"), "{status}");
    status.says("Codex").ok();
    s.loopx(&["agent", "install", "claude"])
        .fails_with(1)
        .says("in the place of the link")
        .says("git loopx agent install claude");
}

#[test]
fn d12_material_names_a_link_that_it_does_not_follow() {
    let s = begun();
    symlink("/tmp/none", s.path().join("AGENTS.md")).expect("a link");
    s.loopx(&["agent", "material"])
        .says("AGENTS.md is a symbolic link")
        .ok();
    // A link to a file that has the block is no news.
    std::fs::remove_file(s.path().join("AGENTS.md")).expect("a link");
    s.loopx(&["agent", "material"]).ok();
    symlink("AGENTS.md", s.path().join("CLAUDE.md")).expect("a link");
    let quiet = s.loopx(&["agent", "material"]);
    assert!(!quiet.stderr.contains("symbolic link"), "{quiet}");
    quiet.ok();
}

#[test]
fn d25_a_folder_with_a_blank_in_its_name_stands_in_the_line() {
    let s = begun();
    s.write(".githooks/pre-commit", "#!/bin/sh\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "hooks"]).ok();
    s.git(&["config", "core.hooksPath", ".githooks"]).ok();
    let program = s.root().join("my bin/git-loopx");
    s.write(&program, "");
    // Not by this process: a file that any of its children has open for writing cannot be run.
    let copy = program.to_str().expect("UTF-8");
    s.call("cp").args(&[LOOPX, copy]).run().ok();
    s.chmod(&program, 0o755);
    let call = s.call(&program).args(&["hooks", "install"]).run();
    call.fails_with(1)
        .says("my\\ bin git-loopx hook pre-commit");
}

#[test]
fn d27_a_list_that_a_merge_did_not_touch_is_not_put_down_to_it() {
    let d = Drive::planning();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["push", "--quiet", "--no-verify", "origin", "main", ID])
        .ok();
    d.loopx(&["sync", "origin"]).ok();
    let dir = d.root().join("clone");
    let path = dir.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "../remote.git", path]).ok();
    d.loopx_in(&dir, &["init"]).ok();
    let run = |at: &std::path::Path| {
        let call = d.call(LOOPX).cwd(at);
        call.args(&["-s", ID, "run", "--", "true"]).run()
    };
    run(d.path());
    run(&dir);
    let note = |at: &std::path::Path, text: &str| {
        d.loopx_in(at, &["-s", ID, "note", text]).ok();
    };
    note(d.path(), "one");
    note(&dir, "two");
    d.loopx(&["sync", "origin"]).ok();
    let synced = d.loopx_in(&dir, &["sync", "origin"]);
    assert!(synced.to_string().contains("merged"), "{synced}");
    assert!(!synced.to_string().contains("list of tasks"), "{synced}");
}

#[test]
fn d13_lines_that_nobody_committed_are_missed_in_a_linked_worktree_for_that() {
    let s = begun();
    s.write(".githooks/README", "hooks\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "hooks"]).ok();
    s.git(&["config", "core.hooksPath", ".githooks"]).ok();
    s.loopx(&["hooks", "install"]).fails_with(1);
    for (event, line) in [
        (
            "pre-commit",
            "git-loopx hook pre-commit \"$@\" || test $? -eq 127 || exit 1",
        ),
        (
            "commit-msg",
            "git-loopx hook commit-msg \"$@\" || test $? -eq 127 || exit 1",
        ),
        (
            "pre-push",
            "git-loopx hook pre-push \"$@\" || test $? -eq 127 || exit 1",
        ),
    ] {
        s.script(
            format!(".githooks/{event}"),
            &format!("#!/bin/sh\n{line}\n"),
        );
    }
    s.loopx(&["hooks", "install"]).ok();
    s.git(&["worktree", "add", "--quiet", "../linked"]).ok();
    let status = s.loopx(&["hooks", "status"]);
    let said = status.stdout.clone();
    assert!(
        !said.contains("deleted") && !said.contains("another program"),
        "{status}"
    );
    status.says("is not on the branch here").says("commit -m");
}

#[test]
fn r19_a_signed_request_for_changes_leads_to_the_key_that_is_listed() {
    let signers = everybody();
    let d = Drive::reviewing_with(&[
        ("loopx.toml", "[review]\nsigned = true\n"),
        ("loopx.signers", signers.as_str()),
    ]);
    let verdict = ["review", "--verdict", "request-changes", "--reason", "no"];
    let signed = [&verdict[..], &["--sign"]].concat();
    // Rita's key is not Bob's.
    by_key(&d, BOB, "rita", &signed)
        .fails_with(1)
        .says("user.signingKey")
        .says("signers check");
    by(&d, BOB, &verdict)
        .fails_with(1)
        .says("give the verdict again, with --sign");
    by(&d, BOB, &signed).ok();
}
