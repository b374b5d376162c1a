//! Commits that cannot land are named before the archive, and the command that is named leads on (acceptance of issue 15: D19,
//! D20, D21).

use crate::support::Sandbox;
use crate::support::landing::{self, at, make, push, serve};

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

#[test]
fn d19_finish_shows_a_commit_that_no_state_allowed() {
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
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"])
        .says("made in stage plan")
        .says("git merge --squash t")
        .ok();
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
    push(&s, &[&to])
        .fails_with(1)
        .says("protected_without_session")
        .says("session t was reviewed with are not here")
        .says("git push origin t");
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
    s.loopx(&["-s", "q", "finish", "--yes"])
        .says("src/z")
        .says("1 commit, 1 file")
        .ok();
}
