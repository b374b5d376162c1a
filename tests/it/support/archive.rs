//! Sessions that are ready to be archived, several in one repository, each with a delta of its own; and
//! what may not change around an archive, as values to compare.

use super::changes::slices;
use super::drive::{RECORD, RITA, SPEC};
use super::kept::Kept;
use super::{LOOPX, Output, Sandbox};
use serde_json::Value;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The spec that most tests start from.
pub(crate) const DEMO: &str = "# demo Specification

## Purpose
Describe how the demo capability behaves for the people who use it.

## Requirements

### Requirement: Session timeout
The system SHALL end an idle session after 30 minutes.

#### Scenario: Idle
- **WHEN** a session is idle for 30 minutes
- **THEN** the session ends

### Requirement: Login
The system SHALL let a known user log in.

#### Scenario: Good password
- **WHEN** the password is right
- **THEN** the user is logged in
";

/// Path of that spec.
pub(crate) const DEMO_PATH: &str = "specs/demo/spec.md";

/// A delta that ends sessions after 10 minutes.
pub(crate) const SHORTEN: &str = "# Domain: demo

## MODIFIED Requirements

### Requirement: Session timeout
The system SHALL end an idle session after 10 minutes.

#### Scenario: Idle
- **WHEN** a session is idle for 30 minutes
- **THEN** the session ends
";

/// A delta that changes the same line in another way.
pub(crate) const REWORD: &str = "# Domain: demo

## MODIFIED Requirements

### Requirement: Session timeout
The system SHALL end an idle session after 30 minutes and SHALL write an audit record.

#### Scenario: Idle
- **WHEN** a session is idle for 30 minutes
- **THEN** the session ends
";

/// The session of [`Yard::ready`].
pub(crate) const ID: &str = "shorten";

/// The spec after [`SHORTEN`].
pub(crate) fn shortened() -> String {
    DEMO.replace("after 30 minutes.", "after 10 minutes.")
}

/// A delta that adds one requirement to the domain `demo`.
pub(crate) fn adds(name: &str) -> String {
    format!(
        "# Domain: demo\n\n## ADDED Requirements\n\n### Requirement: {name}\nThe system SHALL do {name}.\n\n\
         #### Scenario: {name}\n- **WHEN** it is asked for\n- **THEN** {name} is done\n"
    )
}

/// Surroundings of an archive: every ref, the index as bytes, every file of the worktree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) refs: String,
    index: Option<Vec<u8>>,
    files: Vec<(PathBuf, u32, Vec<u8>)>,
}

/// A repository with specs on `main`.
#[derive(Debug)]
pub(crate) struct Yard(Sandbox);

impl Deref for Yard {
    type Target = Sandbox;
    fn deref(&self) -> &Sandbox {
        &self.0
    }
}

impl Yard {
    /// A commit on `main` with the spec of `demo`, initialised, no session.
    pub(crate) fn new() -> Self {
        Self::with(&[(DEMO_PATH, DEMO)])
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::once(format!("{files:?}"), || {
            let s = Sandbox::new();
            s.write("src/app.txt", "nothing\n");
            for (path, text) in files {
                s.write(path, text);
            }
            s.git(&["add", "."]).ok();
            s.git(&["commit", "--quiet", "-m", "begin"]).ok();
            s.loopx(&["init"]).ok();
            Yard(s)
        })
    }

    /// A set-up that is made once per test run, as in [`Sandbox::once`].
    #[track_caller]
    pub(crate) fn once(of: impl Into<String>, make: impl FnOnce() -> Self) -> Self {
        Yard(Sandbox::once(of, || make().0))
    }

    pub(crate) fn remake(kept: &Kept) -> Self {
        Yard(Sandbox::remake(kept))
    }

    /// A yard with the session `shorten` done, its branch checked out, nothing archived.
    pub(crate) fn ready() -> Self {
        Self::once("", || {
            let yard = Self::new();
            yard.done(ID, SHORTEN);
            yard
        })
    }

    /// A yard with two sessions done whose branches started from the same commit; `main` is checked out.
    pub(crate) fn pair(first: (&str, &str), second: (&str, &str)) -> Self {
        let yard = Self::new();
        for (id, delta) in [first, second] {
            yard.done(id, delta);
            yard.git(&["switch", "--quiet", "main"]).ok();
        }
        yard
    }

    /// Takes a session with this delta to done, on a branch of its own from the present commit, which
    /// stays checked out.
    pub(crate) fn done(&self, id: &str, delta: &str) {
        self.git(&["switch", "--quiet", "--create", id]).ok();
        self.does(&["start", id]);
        self.planned(id, delta);
        self.built(id);
    }

    /// Goes from a session that has been started to a plan that may be built.
    pub(crate) fn planned(&self, id: &str, delta: &str) {
        let domains: Vec<&str> = delta
            .lines()
            .filter_map(|line| line.strip_prefix("# Domain: "))
            .collect();
        let spec = SPEC.replace("[demo]", &format!("[{}]", domains.join(", ")));
        self.edit(id, "spec.md", &spec);
        self.does(&["clarify"]);
        self.does(&["approve", "--to", "plan"]);
        self.does(&["plan"]);
        self.fill(id, delta);
        self.does(&["plan", "--architect", "approve"]);
        self.does(&["plan", "--critic", "approve"]);
    }

    /// Asserts that a started session whose delta is this one cannot be approved for build, for this
    /// reason.
    #[track_caller]
    pub(crate) fn planned_blocked(&self, id: &str, delta: &str, code: &str) {
        let said = self.plan_refused(id, delta, "demo");
        assert!(said.contains(&format!("\"{code}\"")), "no {code} in {said}");
    }

    /// Asserts that a started session with this delta, whose spec names this domain, cannot be approved
    /// for build; gives all that was said on the way. Called again, it goes on from there.
    #[track_caller]
    pub(crate) fn plan_refused(&self, id: &str, delta: &str, domain: &str) -> String {
        self.edit(
            id,
            "spec.md",
            &SPEC.replace("[demo]", &format!("[{domain:?}]")),
        );
        let mut said = String::new();
        for args in [&["clarify"][..], &["approve", "--to", "plan"], &["plan"]] {
            said.push_str(&self.loopx(&[&["--json"], args].concat()).to_string());
        }
        self.fill(id, delta);
        for args in [
            &["save"][..],
            &["plan", "--architect", "approve"],
            &["plan", "--critic", "approve"],
        ] {
            said.push_str(&self.loopx(&[&["--json"], args].concat()).to_string());
        }
        let out = self.loopx(&["--json", "approve", "--to", "build"]);
        assert_eq!(out.code, Some(1), "{out}");
        said + &out.to_string()
    }

    /// Writes every document of the plan.
    pub(crate) fn fill(&self, id: &str, delta: &str) {
        for (artifact, text) in [
            (
                "plan.md",
                "---\nscope: []\nacceptance_criteria_testable: true\nverification_steps_resolved: true\n---\n\
                 # Plan\n\n## Approach\n\nOne step.\n\n## Acceptance criteria\n\n- It says so.\n",
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
                "# Proposal\n\n## Why\n\nSessions never end.\n\n## What changes\n\n- an end\n",
            ),
            (
                "change/design.md",
                "# Design\n\n## Decision\n\nA file holds the time.\n",
            ),
            (
                "change/tasks.md",
                "# Tasks\n\n## Tasks\n\n- [ ] 1.1 Write it\n",
            ),
            ("change/slices.json", &slices(delta)),
            ("change/spec-delta.md", delta),
        ] {
            self.edit(id, artifact, text);
        }
    }

    /// Goes from an approved plan to done, with one commit of code.
    pub(crate) fn built(&self, id: &str) {
        self.does(&["approve", "--to", "build"]);
        self.does(&["build"]);
        self.commit_file(&format!("src/{id}.txt"), "done\n", &format!("Do {id}"))
            .ok();
        self.edit(id, "execution-record.md", RECORD);
        self.does(&["run", "--task", "VS-1"]);
        self.does(&["build", "--report", "execution=complete"]);
        self.does(&["build"]);
        self.does(&["approve", "--to", "review"]);
        self.does(&["review"]);
        self.by_rita(&["review", "--verdict", "approve"]).ok();
        self.does(&["approve", "--to", "done"]);
    }

    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn by_rita(&self, args: &[&str]) -> Output {
        let (name, email) = RITA;
        self.call(LOOPX)
            .args(args)
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .run()
    }

    pub(crate) fn edit(&self, id: &str, artifact: &str, text: &str) {
        self.write(format!(".loopx/{id}/{artifact}"), text);
    }

    /// Runs a command that works; gives its document.
    #[track_caller]
    pub(crate) fn does(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        let out = self.loopx(&all);
        assert_eq!(out.code, Some(0), "{out}");
        out.json()
    }

    /// Archives a session by name, wherever HEAD is.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn archive(&self, id: &str, args: &[&str]) -> Output {
        let mut all = vec!["--json", "--session", id, "archive"];
        all.extend(args);
        self.loopx(&all)
    }

    /// An archive that fails with this exit code and this error, and changes nothing.
    #[track_caller]
    pub(crate) fn refused(&self, id: &str, args: &[&str], code: i32, error: &str) -> Value {
        let before = self.world();
        let out = self.archive(id, args).fails_with(code);
        let found = out.error_json();
        assert_eq!(found["error"]["code"], error, "{out}");
        let after = self.world();
        assert_eq!(after.refs, before.refs, "{out}");
        assert!(after == before, "the index or a file changed\n{out}");
        found
    }

    /// An archive that stops at a conflict, which changes nothing besides the files of the conflict.
    #[track_caller]
    pub(crate) fn conflict(&self, id: &str, args: &[&str]) -> Value {
        let before = self.world();
        let out = self.archive(id, args).fails_with(3);
        let found = out.error_json();
        assert_eq!(found["error"]["code"], "archive_conflict", "{out}");
        let mut after = self.world();
        let folder = Path::new(".loopx").join(id).join("conflicts");
        after.files.retain(|(path, ..)| !path.starts_with(&folder));
        assert!(after == before, "more than the conflict was written\n{out}");
        found
    }

    /// A conflict as it was written out.
    pub(crate) fn sides(&self, id: &str, domain: &str) -> String {
        self.read(format!(".loopx/{id}/conflicts/{domain}/spec.md"))
    }

    pub(crate) fn resolve(&self, id: &str, domain: &str, text: &str) {
        self.write(format!(".loopx/{id}/conflicts/{domain}/spec.md"), text);
    }

    pub(crate) fn world(&self) -> World {
        let mut files = self.snapshot(".");
        files.retain(|(path, ..)| !path.starts_with(".git"));
        World {
            refs: self.refs(),
            index: std::fs::read(self.path().join(".git/index")).ok(),
            files,
        }
    }

    /// Every ref and where it points.
    pub(crate) fn refs(&self) -> String {
        self.git(&["for-each-ref"]).ok()
    }

    #[track_caller]
    pub(crate) fn rev(&self, name: &str) -> String {
        self.git(&["rev-parse", name]).line()
    }

    /// A file as a branch has it.
    #[track_caller]
    pub(crate) fn at(&self, branch: &str, path: &str) -> String {
        self.git(&["show", &format!("{branch}:{path}")]).ok()
    }

    /// The archive commits of a session on a branch, newest first.
    pub(crate) fn archive_commits(&self, branch: &str, id: &str) -> Vec<String> {
        let format = "--format=%H %(trailers:key=Loopx-Event,valueonly,separator=%x2C) \
                      %(trailers:key=Loopx-Session,valueonly,separator=%x2C)";
        let log = self.git(&["log", format, branch]).ok();
        log.lines()
            .filter_map(|line| line.strip_suffix(&format!(" archive {id}")))
            .map(str::to_owned)
            .collect()
    }

    /// The folders of archived sessions on the loopx branch, and that each has one archive event.
    pub(crate) fn archived(&self) -> Vec<String> {
        let tree = self.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
        tree.lines()
            .filter_map(|path| path.strip_prefix("archive/")?.strip_suffix("/state.json"))
            .map(str::to_owned)
            .collect()
    }

    /// Asserts that one commit on the branch and one event say that the session is archived, that
    /// nothing is left of it among the active ones, and that both checks are content.
    #[track_caller]
    pub(crate) fn archived_once(&self, branch: &str, id: &str) {
        assert_eq!(self.archive_commits(branch, id).len(), 1, "on {branch}");
        let folders = self.archived();
        let mine = folders.iter().filter(|f| f.ends_with(&format!("/{id}")));
        assert_eq!(mine.count(), 1, "{folders:?}");
        let tree = self.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
        assert!(!tree.contains(&format!("sessions/{id}/")), "{tree}");
        assert_eq!(
            self.journal(),
            [""; 0].map(PathBuf::from),
            "a note was left"
        );
        self.sound();
    }

    /// Asserts that git and git loopx find nothing wrong.
    #[track_caller]
    pub(crate) fn sound(&self) {
        let out = self.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        assert!(out.code == Some(0) && out.stdout.is_empty(), "{out}");
        self.loopx(&["fsck"]).ok();
    }

    /// Asserts that nothing in the worktree differs from HEAD.
    #[track_caller]
    pub(crate) fn clean(&self) {
        let status = self.git(&["status", "--porcelain"]).ok();
        assert_eq!(status, "", "the worktree is not in step");
    }
}
