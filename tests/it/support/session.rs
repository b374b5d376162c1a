//! A session taken to a stage through the command line, on a branch of its own, with the hooks
//! installed.

use super::Sandbox;

/// The stages in the order in which [`advance`] goes through them.
const STAGES: [&str; 5] = ["clarify", "plan", "build", "review", "done"];

/// A spec that passes the gate of clarify.
pub(crate) const READY_SPEC: &str = "---\nunresolved_ambiguity_count: 0\ncurrent_round: 3\nambiguity_score: 0.1\n\
non_goals_resolved: true\ndecision_boundaries_resolved: true\npressure_pass_complete: true\n\
target_domains: [demo]\n---\n# Demo\n\n## Desired outcome\n\nx\n\n## Non-goals\n\nx\n\n\
## Decision boundaries\n\nx\n\n## Success criteria\n\nx\n\n## Execution inputs\n\n- src\n";
const DELTA: &str = "# Domain: demo\n\n## ADDED Requirements\n\n### Requirement: X\n\
The system SHALL x.\n\n#### Scenario: S\n- **WHEN** a\n- **THEN** b\n";
const SLICES: &str = r#"[{"id":"VS-1","type":"AFK","behaviour":"x","acceptance_criteria":["x"],"verification":["true"],"scenarios":["demo/X/S"]}]"#;

/// A repository with one commit on `main`, hooks, and the session `demo` on the branch `demo`.
pub(crate) fn started(policy: &str) -> Sandbox {
    started_in("repo", policy)
}

pub(crate) fn started_in(name: &str, policy: &str) -> Sandbox {
    Sandbox::once(format!("{name}\n{policy}"), || {
        let s = super::hooks::shims(name);
        begin(&s, policy);
        s.loopx(&["hooks", "install"]).ok();
        s
    })
}

/// Begins the session `demo` in an empty repository that is there, without hooks.
pub(crate) fn begin(s: &Sandbox, policy: &str) {
    s.write("loopx.toml", policy);
    s.write("src/old.rs", "old\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "first"]).ok();
    s.loopx(&["init"]).ok();
    start(s, "demo");
}

/// A new branch from here, with a session of the same name bound to it.
pub(crate) fn start(s: &Sandbox, id: &str) {
    s.git(&["switch", "--quiet", "-c", id]).ok();
    s.loopx(&["start", id]).ok();
}

/// A repository with the session `demo`, taken to a stage; `scope` is the plan's.
pub(crate) fn at(stage: &str, scope: &str, policy: &str) -> Sandbox {
    Sandbox::once(format!("{stage}\n{scope}\n{policy}"), || {
        let s = started(policy);
        advance(&s, "clarify", stage, scope);
        s
    })
}

/// Takes the session of the current branch from one stage to another.
pub(crate) fn advance(s: &Sandbox, from: &str, to: &str, scope: &str) {
    let id = s.loopx(&["status", "--json"]).json()["session"].clone();
    let id = id.as_str().expect("a session");
    let index = |stage: &str| STAGES.iter().position(|s| *s == stage).expect("a stage");
    for stage in &STAGES[index(from)..index(to)] {
        match *stage {
            "clarify" => {
                put(s, "spec.md", READY_SPEC);
                s.loopx(&["approve", "--to", "plan"]).ok();
                s.loopx(&["plan"]).ok();
            }
            "plan" => {
                let plan = format!(
                    "---\nscope: [{scope}]\nacceptance_criteria_testable: true\n\
                     verification_steps_resolved: true\n---\n# Plan\n\n## Approach\n\nx\n\n\
                     ## Acceptance criteria\n\n- x\n"
                );
                let files = [
                    ("plan.md", plan.as_str()),
                    ("architecture.md", "# A\n\n## Structure\n\nx\n"),
                    ("development-plan.md", "# D\n\n## Steps\n\n- x\n"),
                    ("test-plan.md", "# T\n\n## Verification\n\n- x\n"),
                    (
                        "change/proposal.md",
                        "# P\n\n## Why\n\nx\n\n## What changes\n\n- x\n",
                    ),
                    ("change/spec-delta.md", DELTA),
                    ("change/design.md", "# D\n\n## Decision\n\nx\n"),
                    ("change/tasks.md", "# T\n\n## Tasks\n\n- [ ] 1.1 x\n"),
                    ("change/slices.json", SLICES),
                ];
                for (artifact, text) in files {
                    s.write(format!(".loopx/{id}/{artifact}"), text);
                }
                s.loopx(&["save"]).ok();
                s.loopx(&["plan", "--architect", "approve"]).ok();
                s.loopx(&["plan", "--critic", "approve"]).ok();
                s.loopx(&["approve", "--to", "build"]).ok();
                s.loopx(&["build"]).ok();
            }
            "build" => {
                let record = "---\nplanned_scope: []\nimplemented_scope: []\n\
                              remaining_scope: []\ncompletion_claim: full\n---\n# E\n\n## Changes\n\nx\n";
                put(s, "execution-record.md", record);
                s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
                    .ok();
                s.loopx(&["run", "--task", "VS-1", "--trust"]).ok();
                let approved = s.loopx(&["approve", "--to", "review"]);
                // Where branches are protected, a build without code says why.
                if approved.stderr.contains("no file that differs") {
                    s.loopx(&["approve", "--to", "review", "--reason", "x"])
                        .ok();
                } else {
                    approved.ok();
                }
                s.loopx(&["review"]).ok();
            }
            _ => {
                // What was committed since the build has other evidence.
                s.loopx(&["run", "--task", "VS-1", "--trust"]).ok();
                s.loopx(&["review", "--verdict", "approve"]).ok();
                s.loopx(&["approve", "--to", "done"]).ok();
            }
        }
    }
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(status["stage"], to, "{status:#}");
}

pub(crate) fn put(s: &Sandbox, artifact: &str, text: &str) {
    s.call(super::LOOPX)
        .args(&["put", artifact])
        .stdin(text)
        .run()
        .ok();
}

/// Stages a file and commits it.
#[must_use = "a command that is expected to work: `.ok()`"]
pub(crate) fn commit(s: &Sandbox, path: &str, message: &str) -> super::Output {
    s.commit_file(path, &format!("{message}\n"), message)
}

/// The commit that the loopx branch is at.
pub(crate) fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "refs/heads/loopx"]).line()
}

/// The values of a trailer of HEAD, as git reads them.
pub(crate) fn trailer(s: &Sandbox, key: &str) -> String {
    let format = format!("--format=%(trailers:key={key},valueonly,separator=%x20)");
    s.git(&["log", "-1", &format]).line()
}
