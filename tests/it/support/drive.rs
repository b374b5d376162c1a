//! A session taken through its stages by the real command line, to any point of the happy path.
//!
//! Points are reached once per test run; a test gets a repository of its own, made from that. Names of points are those of `stage-scenarios.md`: READY SPEC is [`Drive::clarified`].

use super::{Output, Sandbox};
use serde_json::Value;
use std::ops::Deref;

/// The session that every drive is about; the branch that it is bound to has the same name.
pub(crate) const ID: &str = "demo";

/// A person who wrote nothing of the change.
pub(crate) const RITA: (&str, &str) = ("Rita Reviewer", "rita@example.org");

pub(crate) const SPEC: &str = "---
unresolved_ambiguity_count: 0
current_round: 3
ambiguity_score: 0.1
non_goals_resolved: true
decision_boundaries_resolved: true
pressure_pass_complete: true
target_domains: [demo]
---
# Demo

## Desired outcome

A session that is left alone ends.

## Non-goals

Signing in stays as it is.

## Decision boundaries

The builder chooses names; the time needs an answer.

## Success criteria

A test shows it.

## Execution inputs

- src/demo.txt
";

const PLAN: &str = "---
scope: []
acceptance_criteria_testable: true
verification_steps_resolved: true
---
# Plan

## Approach

One small step.

## Acceptance criteria

- The file says so.
";

const ARCHITECTURE: &str = "# Architecture\n\n## Structure\n\nOne file.\n";
const DEVELOPMENT_PLAN: &str = "# Development plan\n\n## Steps\n\n1. Write it.\n";
const TEST_PLAN: &str = "# Test plan\n\n## Verification\n\n`true` proves it.\n";
const PROPOSAL: &str =
    "# Demo\n\n## Why\n\nSessions never end.\n\n## What changes\n\n- demo: an end\n";
const DESIGN: &str = "# Design\n\n## Decision\n\nA file holds the time.\n";
const TASKS: &str = "# Tasks\n\n## Tasks\n\n- [ ] 1.1 Write it\n";

/// Spec that the code branch already has in the domain of the change.
const ACCEPTED: &str = "# demo

## Purpose

Sessions of people.

## Requirements

### Requirement: Signing in
The system SHALL ask for a password.

#### Scenario: Known person
- **WHEN** a known person gives the password
- **THEN** a session begins

### Requirement: Signing out
The system SHALL end a session that its person ends.

#### Scenario: Sign out
- **WHEN** the person signs out
- **THEN** the session ends
";

pub(crate) const DELTA: &str = "# Domain: demo

## ADDED Requirements

### Requirement: Idle sessions end
The system SHALL end a session that is idle for 30 minutes.

#### Scenario: Idle
- **WHEN** a session is idle for 30 minutes
- **THEN** it ends
";

pub(crate) const SLICES: &str = r#"[
  {
    "id": "VS-1",
    "type": "AFK",
    "behaviour": "An idle session ends",
    "acceptance_criteria": ["It ends after 30 minutes"],
    "verification": ["true"],
    "scenarios": ["demo/Idle sessions end/Idle"]
  }
]
"#;

pub(crate) const RECORD: &str = "---
planned_scope: []
implemented_scope: []
remaining_scope: []
completion_claim: full
---
# Execution record

## Changes

The file holds the time.
";

/// The points of the happy path, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    Started,
    Clarified,
    Planning,
    Planned,
    Building,
    Built,
    Reviewing,
    Reviewed,
    Done,
}

const POINTS: [Point; 9] = [
    Point::Started,
    Point::Clarified,
    Point::Planning,
    Point::Planned,
    Point::Building,
    Point::Built,
    Point::Reviewing,
    Point::Reviewed,
    Point::Done,
];

/// A sandbox with the session in it.
#[derive(Debug)]
pub(crate) struct Drive(Sandbox);

impl Deref for Drive {
    type Target = Sandbox;
    fn deref(&self) -> &Sandbox {
        &self.0
    }
}

impl Drive {
    /// A repository with one commit on `main`, initialised, with the branch `demo` checked out and no
    /// session yet. `policy` is the text of `loopx.toml` on `main`.
    pub(crate) fn repository(policy: Option<&str>) -> Self {
        let policy = policy.map(|policy| ("loopx.toml", policy));
        Self::repository_in(policy.as_slice(), &[])
    }

    /// A repository with one commit on `main` that has these files, initialised, without a session.
    pub(crate) fn repository_with(files: &[(&str, &str)]) -> Self {
        Self::repository_in(files, &[])
    }

    /// A repository with these files on `main`, where `git init` got these options.
    fn repository_in(files: &[(&str, &str)], options: &[&str]) -> Self {
        Self::once(format!("{files:?}{options:?}"), || {
            let s = Sandbox::empty("repo");
            s.git(&[&["init", "--quiet", "--template="], options].concat())
                .ok();
            for (path, text) in files {
                s.write(path, text);
            }
            s.write("src/demo.txt", "nothing\n");
            s.write("specs/demo/spec.md", ACCEPTED);
            s.git(&["add", "."]).ok();
            s.git(&["commit", "--quiet", "-m", "begin"]).ok();
            s.git(&["switch", "--quiet", "--create", ID]).ok();
            s.loopx(&["init"]).ok();
            Drive(s)
        })
    }

    /// A set-up that is made once per test run, as in [`Sandbox::once`].
    #[track_caller]
    pub(crate) fn once(of: impl Into<String>, make: impl FnOnce() -> Self) -> Self {
        Drive(Sandbox::once(of, || make().0))
    }

    /// A session in clarify, with nothing but templates.
    pub(crate) fn started() -> Self {
        Self::at(Point::Started, &[], &[])
    }

    /// READY SPEC: saved and judged clear enough; nothing is approved.
    pub(crate) fn clarified() -> Self {
        Self::at(Point::Clarified, &[], &[])
    }

    /// A session in plan, with every document written, and nobody has reviewed them.
    pub(crate) fn planning() -> Self {
        Self::at(Point::Planning, &[], &[])
    }

    /// PLANNED: architect and critic approve; plan->build is not approved.
    pub(crate) fn planned() -> Self {
        Self::at(Point::Planned, &[], &[])
    }

    /// A session in build, with nothing done.
    pub(crate) fn building() -> Self {
        Self::at(Point::Building, &[], &[])
    }

    /// BUILT: code committed, evidence recorded, the audit passes; build->review is not approved.
    pub(crate) fn built() -> Self {
        Self::at(Point::Built, &[], &[])
    }

    /// A session in review, without a verdict.
    pub(crate) fn reviewing() -> Self {
        Self::at(Point::Reviewing, &[], &[])
    }

    /// REVIEWED: Rita approves; review->done is not approved.
    pub(crate) fn reviewed() -> Self {
        Self::at(Point::Reviewed, &[], &[])
    }

    pub(crate) fn done() -> Self {
        Self::at(Point::Done, &[], &[])
    }

    /// A session in plan as in `planning`, under a policy.
    pub(crate) fn planning_under(policy: &str) -> Self {
        Self::under(policy, Point::Planning)
    }

    pub(crate) fn planned_under(policy: &str) -> Self {
        Self::under(policy, Point::Planned)
    }

    pub(crate) fn building_under(policy: &str) -> Self {
        Self::under(policy, Point::Building)
    }

    pub(crate) fn reviewing_under(policy: &str) -> Self {
        Self::under(policy, Point::Reviewing)
    }

    pub(crate) fn clarified_under(policy: &str) -> Self {
        Self::under(policy, Point::Clarified)
    }

    /// A session in build, in a repository of another format.
    pub(crate) fn building_in(options: &[&str]) -> Self {
        Self::at(Point::Building, &[], options)
    }

    pub(crate) fn into_sandbox(self) -> Sandbox {
        self.0
    }

    /// A session at PLANNED, with these files on `main`.
    pub(crate) fn planned_with(files: &[(&str, &str)]) -> Self {
        Self::at(Point::Planned, files, &[])
    }

    /// A session at PLANNED, with these files on `main`, in a repository of another format.
    pub(crate) fn planned_in(files: &[(&str, &str)], options: &[&str]) -> Self {
        Self::at(Point::Planned, files, options)
    }

    pub(crate) fn reviewing_with(files: &[(&str, &str)]) -> Self {
        Self::at(Point::Reviewing, files, &[])
    }

    fn under(policy: &str, to: Point) -> Self {
        Self::at(to, &[("loopx.toml", policy)], &[])
    }

    /// A session at a point, with these files on `main`, in a repository of this format.
    fn at(point: Point, files: &[(&str, &str)], options: &[&str]) -> Self {
        let of = format!("{point:?}{files:?}{options:?}");
        Self::once(of, || {
            let at = POINTS.iter().position(|p| *p == point).expect("a point");
            let d = match at.checked_sub(1) {
                Some(before) => Self::at(POINTS[before], files, options),
                None => Self::repository_in(files, options),
            };
            d.step(point);
            d
        })
    }

    /// Goes from the point before to this one.
    fn step(&self, to: Point) {
        match to {
            Point::Started => self.does(&["start", "Demo"]),
            Point::Clarified => {
                self.edit("spec.md", SPEC);
                self.does(&["clarify"])
            }
            Point::Planning => {
                self.does(&["approve", "--to", "plan"]);
                self.does(&["plan"]);
                self.fill_plan();
                self.does(&["save"])
            }
            Point::Planned => self.review_plan(),
            Point::Building => {
                self.does(&["approve", "--to", "build"]);
                self.does(&["build"])
            }
            Point::Built => {
                self.commit_code("an end\n");
                self.finish_build()
            }
            Point::Reviewing => {
                self.does(&["approve", "--to", "review"]);
                self.does(&["review"])
            }
            Point::Reviewed => self.verdict(&["--verdict", "approve"]),
            Point::Done => self.does(&["approve", "--to", "done"]),
        };
    }

    /// Writes every document of the plan and the change pack; nothing is saved.
    pub(crate) fn fill_plan(&self) {
        for (artifact, text) in [
            ("plan.md", PLAN),
            ("architecture.md", ARCHITECTURE),
            ("development-plan.md", DEVELOPMENT_PLAN),
            ("test-plan.md", TEST_PLAN),
            ("change/proposal.md", PROPOSAL),
            ("change/spec-delta.md", DELTA),
            ("change/design.md", DESIGN),
            ("change/tasks.md", TASKS),
            ("change/slices.json", SLICES),
        ] {
            self.edit(artifact, text);
        }
    }

    /// Architect and critic approve.
    pub(crate) fn review_plan(&self) -> Value {
        self.does(&["plan", "--architect", "approve"]);
        self.does(&["plan", "--critic", "approve"])
    }

    /// Commits the one file of the change.
    pub(crate) fn commit_code(&self, text: &str) {
        self.commit_file("src/demo.txt", text, "Give sessions an end")
            .ok();
    }

    /// Does everything that a build owes on the present code, and its audit.
    pub(crate) fn finish_build(&self) -> Value {
        self.prepare_build();
        self.does(&["build"])
    }

    /// The record, the slice's evidence and the execution lane; no audit.
    pub(crate) fn prepare_build(&self) {
        self.edit("execution-record.md", RECORD);
        self.does(&["run", "--task", "VS-1"]);
        self.does(&["build", "--report", "execution=complete"]);
    }

    /// Rita's verdict.
    pub(crate) fn verdict(&self, args: &[&str]) -> Value {
        let out = self.verdict_by(RITA, args);
        let json = out.json();
        out.ok();
        json
    }

    #[must_use]
    pub(crate) fn verdict_by(&self, who: (&str, &str), args: &[&str]) -> Output {
        let mut all = vec!["--json", "review"];
        all.extend(args);
        self.by(who, &all)
    }

    /// Rita asks for changes in a stage.
    pub(crate) fn send_back(&self, target: &str) -> Value {
        self.verdict(&[
            "--verdict",
            "request-changes",
            "--target",
            target,
            "--reason",
            "it misses the point",
        ])
    }

    /// Runs a command as somebody.
    #[must_use]
    pub(crate) fn by(&self, (name, email): (&str, &str), args: &[&str]) -> Output {
        self.call(super::LOOPX)
            .args(args)
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .run()
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

    /// Runs a command that records what did not pass: exit 1 with a document, and one commit.
    #[track_caller]
    pub(crate) fn blocked_run(&self, args: &[&str]) -> Value {
        let before = self.tip();
        let mut all = vec!["--json"];
        all.extend(args);
        let out = self.loopx(&all).fails_with(1);
        assert_ne!(self.tip(), before, "nothing was recorded\n{out}");
        out.json()
    }

    /// Runs a command that records what did not pass; gives the blockers' codes.
    #[track_caller]
    pub(crate) fn blocked(&self, args: &[&str]) -> Vec<String> {
        codes(&self.blocked_run(args)["blockers"])
    }

    /// Runs a command that is refused with exit 1.
    #[track_caller]
    #[must_use = "a refusal is asserted with `.is(..)`"]
    pub(crate) fn refuses(&self, args: &[&str]) -> Refusal {
        self.fails(1, args)
    }

    /// Runs a command that fails with this exit code, and asserts that it wrote nothing: no session
    /// commit, no change of the worktree, no document on stdout.
    #[track_caller]
    #[must_use = "a refusal is asserted with `.is(..)`"]
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> Refusal {
        let mut all = vec!["--json"];
        all.extend(args);
        self.fails_as(code, |d| d.loopx(&all))
    }

    /// Asserts that a call fails with this exit code and wrote nothing, as `fails` does, for a call that is fitted out
    /// by the caller.
    #[track_caller]
    #[must_use = "a refusal is asserted with `.is(..)`"]
    pub(crate) fn fails_as(&self, code: i32, call: impl FnOnce(&Self) -> Output) -> Refusal {
        let before = (self.refs(), self.files());
        let out = call(self).fails_with(code);
        assert_eq!(out.stdout, "", "a failure printed a document\n{out}");
        assert!(
            (self.refs(), self.files()) == before,
            "a failure wrote\n{out}"
        );
        let error = out.error_json();
        let text = |key: &str| error["error"][key].as_str().unwrap_or_default().to_owned();
        Refusal {
            code: text("code"),
            message: text("message"),
            help: text("help"),
            blockers: codes(&error["error"]["blockers"]),
        }
    }

    /// Files and folders of the worktree, `.loopx` included.
    fn files(&self) -> Vec<(std::path::PathBuf, u32, Vec<u8>)> {
        let entries = std::fs::read_dir(self.path()).expect("a folder");
        let mut files = Vec::new();
        for entry in entries.map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() && !entry.ends_with(".git") {
                files.push((entry.clone(), 0, Vec::new()));
                files.extend(self.snapshot(&entry));
            } else if entry.is_file() {
                files.push((entry.clone(), 0, std::fs::read(&entry).expect("a file")));
            }
        }
        files.sort();
        files
    }

    /// Every ref and where it points.
    pub(crate) fn refs(&self) -> String {
        self.git(&["for-each-ref"]).ok()
    }

    /// The bytes of a file on the loopx branch.
    pub(crate) fn bytes_of(&self, path: &str) -> Vec<u8> {
        self.git(&["show", &format!("loopx:{path}")]).bytes
    }

    /// The commit of the loopx branch.
    pub(crate) fn tip(&self) -> String {
        self.git(&["rev-parse", "refs/heads/loopx"]).line()
    }

    /// Writes an artifact into the working copy. The next command saves it.
    pub(crate) fn edit(&self, artifact: &str, text: &str) {
        self.write(format!(".loopx/{ID}/{artifact}"), text);
    }

    /// Replaces a part of an artifact in the working copy.
    #[track_caller]
    pub(crate) fn change(&self, artifact: &str, from: &str, to: &str) {
        let text = self.artifact(artifact);
        assert!(text.contains(from), "no `{from}` in {artifact}:\n{text}");
        self.edit(artifact, &text.replace(from, to));
    }

    /// An artifact as the working copy has it.
    pub(crate) fn artifact(&self, artifact: &str) -> String {
        self.read(format!(".loopx/{ID}/{artifact}"))
    }

    pub(crate) fn remove(&self, artifact: &str) {
        std::fs::remove_file(self.path().join(format!(".loopx/{ID}/{artifact}"))).expect("a file");
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        self.does(&["status"])
    }

    /// The stored facts.
    #[track_caller]
    pub(crate) fn state(&self) -> Value {
        self.does(&["show"])["state"].take()
    }

    #[track_caller]
    pub(crate) fn stage(&self) -> String {
        let status = self.status();
        status["stage"].as_str().expect("a stage").to_owned()
    }

    /// The row of one gate: plan, build, review, done, rollback.
    #[track_caller]
    pub(crate) fn gate(&self, name: &str) -> Value {
        let status = self.status();
        let gates = status["gates"].as_array().expect("gates");
        let found = gates.iter().find(|gate| gate["gate"] == name);
        found
            .unwrap_or_else(|| panic!("no gate {name} in {status:#}"))
            .clone()
    }

    /// The word of one approval: plan, build, review, rollback, complete.
    #[track_caller]
    pub(crate) fn approval(&self, key: &str) -> String {
        let status = self.status();
        status["approvals"][key].as_str().expect(key).to_owned()
    }

    /// The kinds of the session's operations, oldest first.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<String> {
        let log = self.does(&["log"]);
        let operations = log["operations"].as_array().expect("operations").iter();
        operations
            .map(|op| op["kind"].as_str().expect("a kind").to_owned())
            .collect()
    }
}

/// Refusal of a command.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) blockers: Vec<String>,
}

impl Refusal {
    /// Asserts the error's code and its blockers, in their order.
    #[track_caller]
    pub(crate) fn is(self, code: &str, blockers: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert_eq!(self.blockers, blockers, "{self:#?}");
        self
    }

    /// Asserts that the message names something.
    #[track_caller]
    pub(crate) fn names(self, text: &str) -> Self {
        assert!(
            self.message.contains(text),
            "expected `{text}` in\n{self:#?}"
        );
        self
    }
}

/// The codes of a list of blockers.
#[track_caller]
pub(crate) fn codes(blockers: &Value) -> Vec<String> {
    let list = blockers.as_array().expect("a list of blockers").iter();
    list.map(|blocker| blocker["code"].as_str().expect("a code").to_owned())
        .collect()
}
