//! Tools that the tests of the store share: a session that has begun, and proofs that nothing was lost.

use super::{Call, LOOPX, Output, Sandbox};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The session that most tests are about.
pub(crate) const ID: &str = "auth-timeout";

/// A spec that passes the gate of clarify.
pub(crate) const READY: &str = "---
unresolved_ambiguity_count: 0
current_round: 3
ambiguity_score: 0.1
non_goals_resolved: true
decision_boundaries_resolved: true
pressure_pass_complete: true
target_domains: [auth]
---
# Auth timeout

## Desired outcome

An idle session ends.

## Non-goals

Signing in stays as it is.

## Decision boundaries

The builder chooses names.

## Success criteria

A test shows it.

## Execution inputs

- code.txt
";

/// The documents of a plan that passes its gate.
const PLAN: [(&str, &str); 9] = [
    (
        "plan.md",
        "---\nscope: []\nacceptance_criteria_testable: true\nverification_steps_resolved: true\n---\n\
         # Plan\n\n## Approach\n\nOne step.\n\n## Acceptance criteria\n\n- It ends.\n",
    ),
    (
        "architecture.md",
        "# Architecture\n\n## Structure\n\nOne file.\n",
    ),
    (
        "development-plan.md",
        "# Development plan\n\n## Steps\n\n1. Write it.\n",
    ),
    (
        "test-plan.md",
        "# Test plan\n\n## Verification\n\n`true` proves it.\n",
    ),
    (
        "change/proposal.md",
        "# Auth timeout\n\n## Why\n\nSessions never end.\n\n## What changes\n\n- auth: an end\n",
    ),
    (
        "change/spec-delta.md",
        "# Domain: auth\n\n## ADDED Requirements\n\n### Requirement: Idle sessions end\n\
         The system SHALL end a session that is idle.\n\n#### Scenario: Idle\n\
         - **WHEN** a session is idle\n- **THEN** it ends\n",
    ),
    (
        "change/design.md",
        "# Design\n\n## Decision\n\nA file holds the time.\n",
    ),
    (
        "change/tasks.md",
        "# Tasks\n\n## Tasks\n\n- [ ] 1.1 Write it\n",
    ),
    (
        "change/slices.json",
        r#"[{"id":"VS-1","type":"AFK","behaviour":"It ends","acceptance_criteria":["It ends"],"verification":["true"],"scenarios":["auth/Idle sessions end/Idle"]}]"#,
    ),
];

/// Long runs are asked for by LOOPX_STRESS=1; every other run takes the short count.
pub(crate) fn count(short: usize, long: usize) -> usize {
    match std::env::var_os("LOOPX_STRESS") {
        Some(value) if value == "1" => long,
        _ => short,
    }
}

/// Prints the result of a long run, for whoever asked for it.
#[expect(
    clippy::print_stderr,
    reason = "the counts of a stress run are its result"
)]
pub(crate) fn tell(counts: &str) {
    if count(0, 1) == 1 {
        eprintln!("{counts}");
    }
}

/// A repository with one commit, the loopx branch and the session [`ID`], bound to `main`.
pub(crate) fn started() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        begin(&s);
        s
    })
}

/// Begins the session [`ID`] in a repository that is there.
pub(crate) fn begin(s: &Sandbox) {
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "Auth timeout"]).ok();
}

/// The session with clarify->plan approved and not consumed.
pub(crate) fn plan_approved(s: &Sandbox) {
    put(s, "spec.md", READY).ok();
    s.loopx(&["clarify"]).ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
}

/// The session with plan->build approved and not consumed.
pub(crate) fn build_approved(s: &Sandbox) {
    plan_approved(s);
    s.loopx(&["plan"]).ok();
    for (artifact, text) in PLAN {
        s.write(format!(".loopx/{ID}/{artifact}"), text);
    }
    s.loopx(&["save"]).ok();
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    s.loopx(&["approve", "--to", "build"]).ok();
}

/// `put ARTIFACT -` with this text.
pub(crate) fn put(s: &Sandbox, artifact: &str, text: &str) -> Output {
    put_in(s, s.path(), artifact, text)
}

pub(crate) fn put_in(s: &Sandbox, dir: &Path, artifact: &str, text: &str) -> Output {
    s.call(LOOPX)
        .cwd(dir)
        .args(&["-s", ID, "--json", "put", artifact])
        .stdin(text)
        .run()
}

/// A linked worktree beside the repository, on a new branch of its name.
pub(crate) fn linked(s: &Sandbox, name: &str) -> PathBuf {
    let dir = s.root().join(name);
    let path = dir.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "-b", name, path])
        .ok();
    dir
}

/// A linked worktree on no branch: a session of another branch may be worked on there, when it is named.
pub(crate) fn detached(s: &Sandbox, name: &str) -> PathBuf {
    let dir = s.root().join(name);
    let path = dir.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    dir
}

/// The commit of the loopx branch.
pub(crate) fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "refs/heads/loopx"]).line()
}

/// The operations of a session, oldest first.
pub(crate) fn operations(s: &Sandbox, id: &str) -> Vec<Value> {
    let log = s.loopx(&["-s", id, "--json", "log"]);
    let log = log.json();
    log["operations"].as_array().expect("operations").clone()
}

/// git and git loopx find nothing wrong, and the session has exactly this many operations: each number
/// once, and one commit for all that were made at once.
#[track_caller]
pub(crate) fn assert_nothing_lost(s: &Sandbox, id: &str, expected: usize) {
    let operations = operations(s, id);
    let numbers: BTreeSet<u64> = operations
        .iter()
        .map(|op| op["seq"].as_u64().expect("a number"))
        .collect();
    assert_eq!(operations.len(), expected, "operations of {id}");
    assert_eq!(numbers, (1..=expected as u64).collect(), "numbers of {id}");
    let commits = s.git(&[
        "log",
        "--format=%(trailers:key=Loopx-Session,valueonly,separator=%x2C)",
        "loopx",
    ]);
    let commits = commits.ok().lines().filter(|line| *line == id).count();
    let at_once: BTreeSet<Option<&str>> = operations.iter().map(|op| op["tx"].as_str()).collect();
    assert_eq!(commits, at_once.len(), "commits of {id}");
}

/// git and git loopx find nothing wrong. What nothing refers to is no damage.
#[track_caller]
pub(crate) fn assert_whole(s: &Sandbox) {
    let fsck = s.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    let said: Vec<&str> = fsck
        .stderr
        .lines()
        .chain(fsck.stdout.lines())
        .filter(|line| !line.starts_with("notice: "))
        .collect();
    assert!(said.is_empty() && fsck.code == Some(0), "{fsck}");
    s.loopx(&["fsck"]).says("all whole").ok();
}

/// State of everything that a refused command must leave as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Everything {
    refs: String,
    index: Option<Vec<u8>>,
    files: Vec<(PathBuf, u32, Vec<u8>)>,
    bases: Option<Vec<(PathBuf, u32, Vec<u8>)>>,
}

pub(crate) fn everything(s: &Sandbox) -> Everything {
    let mut files = s.snapshot(".");
    files.retain(|(path, ..)| !path.starts_with(".git"));
    Everything {
        refs: s.git(&["for-each-ref"]).ok(),
        index: s.exists(".git/index").then(|| s.bytes(".git/index")),
        bases: s.exists(".git/loopx").then(|| {
            let mut bases = s.snapshot(".git/loopx");
            bases.retain(|(path, ..)| path != Path::new("lock"));
            bases
        }),
        files,
    }
}

/// Commits a tree to the loopx branch in which one path is replaced, or removed: damage that looks like
/// a commit of git loopx.
pub(crate) fn tamper(s: &Sandbox, path: &str, text: Option<&[u8]>) {
    tamper_all(s, &[(path.to_owned(), text.map(<[u8]>::to_vec))]);
}

/// Commits a tree to the loopx branch in which several paths are replaced, or removed, in one commit.
pub(crate) fn tamper_all(s: &Sandbox, edits: &[(String, Option<Vec<u8>>)]) {
    let index = s.root().join("tampering-index");
    let git =
        |args: &[&str]| -> Call<'_> { s.call("git").args(args).env("GIT_INDEX_FILE", &index) };
    drop(std::fs::remove_file(&index));
    git(&["read-tree", "refs/heads/loopx"]).run().ok();
    for (path, text) in edits {
        git(&[
            "rm",
            "-r",
            "--cached",
            "--quiet",
            "--ignore-unmatch",
            "--",
            path,
        ])
        .run()
        .ok();
        if let Some(text) = text {
            let blob = git(&["hash-object", "-w", "--stdin"])
                .stdin(text.as_slice())
                .run()
                .line();
            let entry = format!("100644,{blob},{path}");
            git(&["update-index", "--add", "--cacheinfo", &entry])
                .run()
                .ok();
        }
    }
    let tree = git(&["write-tree"]).run().line();
    let commit = s
        .git(&[
            "commit-tree",
            &tree,
            "-p",
            "refs/heads/loopx",
            "-m",
            "tampered",
            "-m",
            "Loopx-Event: tampered",
        ])
        .line();
    s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
}

/// CRC-32 as in zip files.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 * (sum & 1))
        })
    })
}
