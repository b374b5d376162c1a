//! Sessions with deltas of their own, taken to a stage by the real command line.

use super::Sandbox;
use serde_json::Value;

pub(crate) const ACCEPTED: &str = "# demo

## Purpose

Sessions of people.

## Requirements

### Requirement: Signing in
The system SHALL ask for a password.

#### Scenario: Known person
- **WHEN** a known person gives the password
- **THEN** a session begins

### Requirement: Signing out
The system SHALL end a session on request.

#### Scenario: On request
- **WHEN** a person signs out
- **THEN** the session ends
";

const SPEC: &str = "---
unresolved_ambiguity_count: 0
current_round: 3
ambiguity_score: 0.1
non_goals_resolved: true
decision_boundaries_resolved: true
pressure_pass_complete: true
target_domains: [demo]
---
# Spec

## Desired outcome

It holds.

## Non-goals

None.

## Decision boundaries

None.

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

pub(crate) const RECORD: &str = "---
planned_scope: []
implemented_scope: []
remaining_scope: []
completion_claim: full
---
# Execution record

## Changes

The file says so.
";

/// Slice that serves every scenario of a delta.
pub(crate) fn slices(delta: &str) -> String {
    let (mut domain, mut requirement) = ("", "");
    let mut scenarios = Vec::new();
    for line in delta.lines() {
        if let Some(name) = line.strip_prefix("# Domain: ") {
            domain = name;
        } else if let Some(name) = line.strip_prefix("### Requirement: ") {
            requirement = name;
        } else if let Some((_, name)) = line.split_once("Scenario: ") {
            let name = name.split_once(" -> ").map_or(name, |(_, to)| to);
            scenarios.push(format!("{domain}/{requirement}/{name}"));
        }
    }
    serde_json::json!([{
        "id": "VS-1",
        "type": "AFK",
        "behaviour": "It holds",
        "acceptance_criteria": ["It is so"],
        "verification": ["true"],
        "scenarios": scenarios,
    }])
    .to_string()
}

/// A delta of the domain `demo` that replaces `Signing in`.
pub(crate) fn signing_in(text: &str) -> String {
    format!(
        "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Signing in\n{text}\n\n\
         #### Scenario: Known person\n- **WHEN** a known person gives the password\n- **THEN** a session begins\n"
    )
}

/// A delta of the domain `demo` that adds a requirement.
pub(crate) fn adding(name: &str) -> String {
    format!(
        "# Domain: demo\n\n## ADDED Requirements\n\n### Requirement: {name}\nThe system SHALL have it.\n\n\
         #### Scenario: Asked\n- **WHEN** somebody asks for {name}\n- **THEN** it is there\n"
    )
}

impl Sandbox {
    /// A repository with a spec on `main`, initialised.
    pub(crate) fn with_spec() -> Self {
        Sandbox::once("", || {
            let s = Sandbox::new();
            s.write("src/demo.txt", "nothing\n");
            s.write("specs/demo/spec.md", ACCEPTED);
            s.git(&["add", "."]).ok();
            s.git(&["commit", "--quiet", "-m", "begin"]).ok();
            s.loopx(&["init"]).ok();
            s
        })
    }

    /// A session in plan with this delta, bound to a new branch of its name, which is checked out.
    pub(crate) fn plan(&self, id: &str, delta: &str) {
        self.git(&["switch", "--quiet", "--create", id, "main"])
            .ok();
        self.plan_here(id, delta);
        self.loopx(&["save"]).ok();
    }

    /// A session in plan with this delta, bound to the branch that is checked out; nothing of the plan is saved.
    pub(crate) fn plan_here(&self, id: &str, delta: &str) {
        self.loopx(&["start", id]).ok();
        self.edit(id, "spec.md", SPEC);
        self.loopx(&["clarify"]).ok();
        self.loopx(&["approve", "--to", "plan"]).ok();
        self.loopx(&["plan"]).ok();
        for (artifact, text) in [
            ("plan.md", PLAN),
            (
                "architecture.md",
                "# Architecture\n\n## Structure\n\nOne file.\n",
            ),
            (
                "development-plan.md",
                "# Steps\n\n## Steps\n\n1. Write it.\n",
            ),
            (
                "test-plan.md",
                "# Test plan\n\n## Verification\n\n`true` proves it.\n",
            ),
            (
                "change/proposal.md",
                "# Why\n\n## Why\n\nIt is missing.\n\n## What changes\n\n- demo: more\n",
            ),
            ("change/spec-delta.md", delta),
            (
                "change/design.md",
                "# Design\n\n## Decision\n\nA file holds it.\n",
            ),
            (
                "change/tasks.md",
                "# Tasks\n\n## Tasks\n\n- [ ] 1.1 Write it\n",
            ),
            ("change/slices.json", &slices(delta)),
        ] {
            self.edit(id, artifact, text);
        }
    }

    /// Takes the session of the branch that is checked out from plan to done.
    pub(crate) fn finish(&self, id: &str) {
        self.finish_because(id, &[]);
    }

    /// A finish with a plan that serves not every scenario, and a reason for that.
    pub(crate) fn finish_unserved(&self, id: &str) {
        self.finish_because(id, &["--reason", "it is looked at by hand"]);
    }

    fn finish_because(&self, id: &str, reason: &[&str]) {
        self.loopx(&["plan", "--architect", "approve"]).ok();
        self.loopx(&["plan", "--critic", "approve"]).ok();
        self.loopx(&[&["approve", "--to", "build"], reason].concat())
            .ok();
        self.loopx(&["build"]).ok();
        self.commit_file("src/demo.txt", &format!("{id}\n"), "Write it")
            .ok();
        self.edit(id, "execution-record.md", RECORD);
        self.loopx(&["run", "--task", "VS-1"]).ok();
        self.loopx(&["build", "--report", "execution=complete"])
            .ok();
        self.loopx(&["build"]).ok();
        self.loopx(&["approve", "--to", "review"]).ok();
        self.loopx(&["review"]).ok();
        self.loopx(&["review", "--verdict", "approve"]).ok();
        self.loopx(&["approve", "--to", "done"]).ok();
    }

    /// Writes an artifact into a working copy.
    pub(crate) fn edit(&self, id: &str, artifact: &str, text: &str) {
        self.write(format!(".loopx/{id}/{artifact}"), text);
    }

    /// Changes the spec on the branch that is checked out, in one commit.
    pub(crate) fn spec_says(&self, from: &str, to: &str) {
        let text = self.read("specs/demo/spec.md");
        assert!(text.contains(from), "no `{from}` in\n{text}");
        let text = text.replace(from, to);
        self.commit_file("specs/demo/spec.md", &text, "Edit the spec")
            .ok();
    }

    /// Runs a command with `--json` that ends with this code; gives its document.
    #[track_caller]
    pub(crate) fn document(&self, code: i32, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        self.loopx(&all).fails_with(code).json()
    }

    /// Runs a command with `--json` that fails with this code; gives its error.
    #[track_caller]
    pub(crate) fn error(&self, code: i32, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        self.loopx(&all).fails_with(code).error_json()["error"].take()
    }
}
