//! `spec package`: the documents of a specification, checked, traced, and made into a delta and drafts.

use crate::support::tasks::{DEMO, planning_with, take, task, with};
use crate::support::{Sandbox, changes};
use serde_json::{Value, json};

const BRIEF: &str = "---
document: product-brief
dimensions: [product, risk, technical]
discussion_rounds: 1
confirmed: true
---
# Product brief

## Problem

People at shared machines stay signed in, and others go on in their name.

## Users

- Staff: share machines

## Goals

- GOAL-1: no session lives longer than ten idle minutes
- GOAL-2: everybody can tell who ended a session

## In scope

Sessions.

## Out of scope

Passwords.

## Constraints

None.

## Assumptions

Clocks agree.
";

const REQUIREMENTS: &str = "---
document: requirements
domain: demo
---
# Requirements

## Functional requirements

### REQ-001: Idle timeout
- Priority: must
- Goals: GOAL-1

The system SHALL end a session that is idle for ten minutes.

#### Acceptance criteria
- An idle session ends: GIVEN a session, WHEN nothing happens for ten minutes, THEN the session ends
- WHEN somebody types, THEN the clock begins anew

#### Edge cases
- A clock that goes back

### REQ-002: Signing out
- **Priority**: should
- **Goals**: GOAL-2

The system SHALL end a session on request, and write down who asked.

#### Acceptance criteria
- On request: WHEN a person signs out, THEN the session ends, AND a record names the person

### REQ-003: Badges
- Priority: wont
- Goals: GOAL-2

Sessions move with a badge.

## Quality requirements

### NFR-001: Answer time
- Priority: should
- Goals: GOAL-1

The system SHALL answer within 200 ms.
";

const ARCHITECTURE: &str = "---
document: architecture
---
# Architecture

## Structure

REQ-001 has its place in the clock.

## Decisions

### ADR-001: Keep sessions in the database
- Requirements: REQ-001

#### Context
Sessions end on every machine at once.

#### Options considered
- The database
- A cache

#### Decision
The database, because it is there.

#### Consequences
A request reads one row more.

## Risks

None.
";

const EPICS: &str = "---
document: epics
---
# Epics

## EPIC-001: Sessions end

### STORY-001: End idle sessions
- Requirements: REQ-001, REQ-002, NFR-001
";

const REPORT: &str = "---
document: readiness-report
verdict: pass
depth: 80
---
# Report

## Verdict

Good.
";

const ALL: [(&str, &str); 5] = [
    ("product-brief.md", BRIEF),
    ("requirements.md", REQUIREMENTS),
    ("architecture.md", ARCHITECTURE),
    ("epics.md", EPICS),
    ("readiness-report.md", REPORT),
];

/// A session that plans two tasks, and the package in a folder whose path has a space.
fn planned() -> Sandbox {
    let mut serving = task("A", &[], Some(&["true"]));
    serving["scenarios"] = json!([
        "demo/Idle timeout/An idle session ends",
        "demo/Idle timeout/Somebody types"
    ]);
    let s = planning_with(
        &[("specs/demo/spec.md", changes::ACCEPTED)],
        &[serving, task("DRAFT-002", &[], None)],
    );
    for (name, text) in ALL {
        s.write(format!("the package/{name}"), text);
    }
    s
}

fn ids(document: &Value) -> Vec<&str> {
    let found = document["findings"].as_array().expect("findings").iter();
    found.filter_map(|one| one["id"].as_str()).collect()
}

#[test]
fn a_folder_is_checked_without_a_session_and_its_figures_are_computed() {
    let s = Sandbox::new();
    for (name, text) in ALL {
        s.write(format!("the package/{name}"), text);
    }
    let found = s.document(0, &["spec", "package", "check", "the package"]);
    assert_eq!(ids(&found), ["package_measure_missing"]);
    let figures = &found["quality"]["dimensions"];
    assert_eq!(figures["completeness"], 100);
    assert_eq!(figures["consistency"], 100);
    // Three requirements have nine links; one has no scenario.
    assert_eq!(figures["traceability"], 88);
    assert_eq!(
        (&figures["coverage"], &figures["depth"]),
        (&json!(100), &json!(80))
    );
    assert_eq!(found["quality"]["verdict"], "pass");
    s.document(1, &["spec", "package", "check", "the package", "--strict"]);
    // Nobody serves the second goal: coverage falls to 50, and the report is apart from the figures.
    s.write(
        "the package/requirements.md",
        REQUIREMENTS.replace("Goals**: GOAL-2", "Goals**: GOAL-1"),
    );
    let found = s.document(0, &["spec", "package", "check", "the package"]);
    assert_eq!(found["quality"]["dimensions"]["coverage"], 50);
    assert_eq!(found["quality"]["verdict"], "review");
    assert!(ids(&found).contains(&"package_verdict_apart"));
    assert!(ids(&found).contains(&"package_goal_unserved"));
    s.loopx(&["spec", "package", "check", "nowhere"])
        .fails_with(4);
}

#[test]
fn each_gate_of_the_table_has_its_severity() {
    let s = Sandbox::new();
    let brief = "---\ndocument: product-brief\n---\n# B\n\n## Problem\n\nToo short.\n";
    let requirements = "---\ndocument: requirements\n---\n# R\n\n## Functional requirements\n\n\
        ### REQ-1: One\n- Priority: high\n- Goals: GOAL-9\n\nIt works.\n\n\
        #### Acceptance criteria\n- it works when asked\n";
    s.write("p/product-brief.md", brief);
    s.write("p/requirements.md", requirements);
    let found = s.document(1, &["spec", "package", "check", "p"]);
    let of = |severity: &str| {
        let all = found["findings"].as_array().expect("findings").iter();
        let mut ids: Vec<&str> = all
            .filter(|one| one["severity"] == severity)
            .filter_map(|one| one["id"].as_str())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    assert_eq!(
        of("error"),
        [
            "package_criterion_invalid",
            "package_domain_invalid",
            "package_priority_unknown",
            "package_problem_short",
            "package_reference_unknown",
            "package_requirements_few",
            "package_statement_weak",
        ]
    );
    assert_eq!(
        of("warning"),
        [
            "package_assumption_missing",
            "package_document_expected",
            "package_exploration_narrow",
            "package_goal_missing",
            "package_priority_missing",
            "package_quality_missing",
            "package_scope_open",
            "package_user_missing",
        ]
    );
    assert_eq!(
        of("info"),
        [
            "package_constraint_missing",
            "package_document_later",
            "package_unconfirmed",
            "package_undiscussed",
        ]
    );
}

#[test]
fn a_package_with_an_error_writes_nothing() {
    let s = planned();
    s.write("the package/epics.md", EPICS.replace("REQ-002", "REQ-020"));
    let delta = s.read(".loopx/demo/change/spec-delta.md");
    let refs = s.git(&["for-each-ref"]).ok();
    let apply = ["spec", "package", "apply", "the package", "--replace"];
    let refused = s.error(1, &apply);
    assert_eq!(refused["code"], "package_invalid");
    assert_eq!(refused["blockers"][0]["code"], "package_reference_unknown");
    s.loopx(&apply)
        .fails_with(1)
        .says("STORY-001 names REQ-020, which is not there");
    assert_eq!(s.read(".loopx/demo/change/spec-delta.md"), delta);
    assert_eq!(s.git(&["for-each-ref"]).ok(), refs);
    assert!(!s.exists("docs"));
}

#[test]
fn apply_makes_the_delta_and_the_drafts_and_names_what_has_no_counterpart() {
    let s = planned();
    let apply = ["spec", "package", "apply", "the package"];
    // The session says already that nothing changes.
    let refused = s.error(1, &apply);
    assert_eq!(refused["code"], "package_delta_there");
    let replace = ["spec", "package", "apply", "the package", "--replace"];
    let before = s.git(&["for-each-ref"]).ok();
    let dry = s.document(0, &[&replace[..], &["--dry-run"]].concat());
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    assert!(!s.exists("docs"));
    let done = s.document(0, &replace);
    assert_eq!(done["delta"], dry["delta"]);
    assert_eq!(done["added"], json!(["REQ-001"]));
    // The spec has a requirement of this name.
    assert_eq!(done["modified"], json!(["REQ-002"]));
    let left: Vec<&str> = done["left_out"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(
        left,
        [
            "REQ-001",
            "REQ-003",
            "NFR-001",
            "STORY-001",
            "product-brief",
            "readiness-report"
        ]
    );
    let delta = s.read(".loopx/demo/change/spec-delta.md");
    assert!(delta.contains("### Requirement: Idle timeout\n<!-- id: demo.REQ-001 -->\nThe system"));
    assert!(delta.contains("#### Scenario: Somebody types\n- **WHEN** somebody types\n"));
    s.loopx(&["change", "validate"]).ok();
    let draft = s.read(done["drafts"][0]["path"].as_str().expect("a path"));
    for part in [
        "Serves REQ-001.",
        "- A cache",
        "because it is there.",
        "one row more",
    ] {
        assert!(draft.contains(part), "{part}: {draft}");
    }
    // The second run has nothing to add.
    let again = s.loopx(&["spec", "package", "apply", "the package"]);
    again.fails_with(5).says("has all of the package already");
}

#[test]
fn the_matrix_goes_from_the_requirement_to_the_evidence() {
    let s = planned();
    let matrix = ["spec", "package", "matrix", "the package"];
    let found = s.document(1, &matrix);
    assert_eq!(found["requirements"][0]["trace"], "unwritten");
    s.loopx(&["spec", "package", "apply", "the package", "--replace"])
        .ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    assert_eq!(take(&s), "A");
    let found = s.document(1, &matrix);
    assert_eq!(found["requirements"][0]["trace"], "open");
    s.loopx(&["task", "done"]).ok();
    let found = s.document(1, &matrix);
    let row = &found["requirements"][0];
    assert_eq!(
        (&row["trace"], &row["stories"][0]),
        (&json!("proven"), &json!("STORY-001"))
    );
    assert_eq!(row["scenarios"][0]["slices"][0]["slice"], "A");
    assert_eq!(row["scenarios"][0]["slices"][0]["proof"], "passed");
    assert_eq!(found["requirements"][1]["trace"], "open");
    assert_eq!(
        found["requirements"][1]["scenarios"][0]["proof"],
        "unserved"
    );
    assert_eq!(found["requirements"][2]["trace"], "left_out");
}

#[test]
fn documents_of_tasks_are_found_edits_among_them_and_two_of_one_name_are_refused() {
    let s = planned();
    s.loopx(&["spec", "package", "check"])
        .fails_with(4)
        .says("no task of the session left");
    s.loopx(&["save"]).ok();
    for (name, _) in ALL {
        let to = format!("tasks/DRAFT-002/{name}");
        s.loopx(&["put", &to, &format!("the package/{name}")]).ok();
    }
    let found = s.document(0, &["spec", "package", "check"]);
    assert_eq!(found["requirements"][3]["id"], "NFR-001");
    // What stands in the working copy counts before it is saved.
    s.write(
        ".loopx/demo/tasks/DRAFT-002/requirements.md",
        REQUIREMENTS.replace("REQ-002", "REQ-001"),
    );
    let found = s.document(1, &["spec", "package", "check"]);
    assert!(ids(&found).contains(&"package_id_repeated"));
    s.write(".loopx/demo/tasks/DRAFT-002/requirements.md", REQUIREMENTS);
    s.write(".loopx/demo/tasks/A/epics.md", EPICS);
    let found = s.document(1, &["spec", "package", "check"]);
    assert!(ids(&found).contains(&"package_document_repeated"));
    std::fs::remove_file(s.path().join(".loopx/demo/tasks/A/epics.md")).expect("remove");
    // In the build the delta is closed: the session that does the work takes the package from this one.
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    let refused = s.error(1, &["spec", "package", "apply", "--replace"]);
    assert_eq!(refused["code"], "artifact_locked");
    let help = refused["help"].to_string();
    assert!(help.contains("git loopx plan --reason"), "{help}");
    // Or it goes back for it itself.
    s.loopx(&["plan", "--reason", "there is a package"]).ok();
    s.loopx(&["spec", "package", "apply", "--replace"]).ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    let own = s.read(format!(".loopx/{DEMO}/change/spec-delta.md"));
    assert!(own.contains("demo.REQ-001"), "{own}");
    s.git(&["switch", "--quiet", "-c", "other"]).ok();
    s.loopx(&["start", "--profile", "lite", "other"]).ok();
    let apply = ["spec", "package", "apply", "--from", DEMO];
    let done = s.document(0, &apply);
    assert_eq!(done["session"], "other");
    assert!(
        s.read(".loopx/other/change/spec-delta.md")
            .contains("other.REQ-001")
    );
}

/// The items of the documents of [`ALL`] in files of their own.
fn in_folders() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (name, text) in ALL {
        let Some(document) = name
            .strip_suffix(".md")
            .filter(|name| matches!(*name, "requirements" | "architecture" | "epics"))
        else {
            files.push((name.to_owned(), text.to_owned()));
            continue;
        };
        let (mark, deeper) = if document == "epics" {
            ("## ", 1)
        } else {
            ("### ", 2)
        };
        let (mut index, mut items) = (String::new(), Vec::<(String, String)>::new());
        for line in text.lines() {
            let item = line
                .strip_prefix(mark)
                .and_then(|title| title.split_once(':'));
            if let Some((id, _)) = item {
                items.push((format!("{document}/{id}-item.md"), String::new()));
            } else if line.starts_with("## ") {
                index.push_str(&format!("{line}\n"));
                items.push((String::new(), String::new()));
                continue;
            }
            match items.last_mut() {
                Some((name, text)) if !name.is_empty() => {
                    let line = if line.starts_with('#') {
                        &line[deeper..]
                    } else {
                        line
                    };
                    text.push_str(&format!("{line}\n"));
                }
                _ => index.push_str(&format!("{line}\n")),
            }
        }
        files.push((format!("{document}/index.md"), index));
        files.extend(items.into_iter().filter(|(name, _)| !name.is_empty()));
    }
    files
}

#[test]
fn a_package_of_folders_comes_to_what_its_documents_come_to() {
    let s = planned();
    for (name, text) in in_folders() {
        s.write(format!("folders/{name}"), text);
    }
    let parts = [
        "requirements/REQ-001-item.md",
        "requirements/NFR-001-item.md",
        "architecture/ADR-001-item.md",
        "epics/EPIC-001-item.md",
    ];
    for part in parts {
        assert!(s.exists(format!("folders/{part}")), "{part}");
    }
    let whole = s.document(0, &["spec", "package", "check", "the package"]);
    let apart = s.document(0, &["spec", "package", "check", "folders"]);
    assert_eq!(apart["quality"], whole["quality"]);
    assert_eq!(ids(&apart), ids(&whole));
    assert_eq!(
        apart["findings"][0]["file"],
        "folders/requirements/NFR-001-item.md"
    );
    let made = |folder: &str| {
        let apply = ["spec", "package", "apply", folder, "--replace", "--dry-run"];
        s.document(0, &apply)
    };
    let (whole, apart) = (made("the package"), made("folders"));
    assert_eq!(sorted(&apart["added"]), sorted(&whole["added"]));
    assert_eq!(sorted(&apart["modified"]), sorted(&whole["modified"]));
    // As outputs of a task, too.
    s.loopx(&["save"]).ok();
    for (name, _) in in_folders() {
        let to = format!("tasks/DRAFT-002/{name}");
        s.loopx(&["put", &to, &format!("folders/{name}")]).ok();
    }
    let of_tasks = s.document(0, &["spec", "package", "check"]);
    assert_eq!(of_tasks["requirements"].as_array().map(Vec::len), Some(4));
    assert_eq!(ids(&of_tasks), ["package_measure_missing"]);
}

#[test]
fn no_link_leads_out_of_the_folder_of_a_package() {
    let s = planned();
    s.write("elsewhere.md", REQUIREMENTS);
    let to = s.path().join("the package/requirements.md");
    std::fs::remove_file(&to).expect("removed");
    std::os::unix::fs::symlink("../elsewhere.md", &to).expect("a link");
    let refused = s.error(1, &["spec", "package", "apply", "the package", "--replace"]);
    assert_eq!(refused["code"], "symlink_refused");
    assert!(
        !s.read(".loopx/demo/change/spec-delta.md")
            .contains("Idle timeout")
    );
}

fn sorted(list: &Value) -> Vec<String> {
    let mut all: Vec<String> = (list.as_array().into_iter().flatten())
        .map(ToString::to_string)
        .collect();
    all.sort();
    all
}

#[test]
fn the_figures_of_a_package_are_the_scores_of_its_gate() {
    let names = [
        "completeness",
        "consistency",
        "traceability",
        "depth",
        "coverage",
    ];
    let gate = |id: &str, scale: u32| {
        let dimensions: Vec<Value> = names.map(|name| json!({"name": name, "weight": 20})).into();
        let pass = scale * 8 / 10;
        let rubric = json!({"pass": pass, "scale": scale, "dimensions": dimensions});
        with(
            id,
            &["DRAFT-002"],
            json!({"kind": "decision", "gate": {"rubric": rubric}}),
        )
    };
    let s = planning_with(
        &[],
        &[
            task("DRAFT-002", &[], Some(&["true"])),
            gate("GATE", 100),
            gate("TEN", 10),
        ],
    );
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    assert_eq!(take(&s), "DRAFT-002");
    let decide = ["task", "decide", "GATE", "--figures"];
    let refused = s.error(4, &decide);
    assert_eq!(refused["code"], "package_missing");
    for (name, text) in ALL {
        s.write(format!("p/{name}"), text);
        let to = format!("tasks/DRAFT-002/{name}");
        s.loopx(&["put", &to, &format!("p/{name}")]).ok();
    }
    let wrong = REQUIREMENTS.replace("Priority: must", "Priority: urgent");
    s.write(".loopx/demo/tasks/DRAFT-002/requirements.md", wrong);
    let refused = s.error(1, &decide);
    assert_eq!(refused["code"], "package_invalid");
    s.write(".loopx/demo/tasks/DRAFT-002/requirements.md", REQUIREMENTS);
    s.loopx(&["task", "done"]).ok();
    let checked = s.document(0, &["spec", "package", "check"]);
    assert_eq!(checked["quality"]["dimensions"]["traceability"], 88);
    // The figures are of a hundred, and nobody says otherwise of what is computed.
    let refused = s.error(2, &["task", "decide", "TEN", "--figures"]);
    assert!(
        refused["message"].to_string().contains("a scale up to 10"),
        "{refused}"
    );
    let refused = s.error(
        2,
        &[&decide[..], &["--scores", "traceability=100"]].concat(),
    );
    assert!(
        refused["message"].to_string().contains("`traceability`"),
        "{refused}"
    );
    let decided = s.document(0, &decide);
    // 100, 100, 88, 80 and 100 in equal parts.
    assert_eq!(
        (&decided["verdict"], &decided["score"]),
        (&json!("proceed"), &json!("93.6"))
    );
}

#[test]
fn a_quick_session_has_no_place_for_a_package() {
    let s = planned();
    s.git(&["switch", "--quiet", "-c", "small"]).ok();
    s.loopx(&["start", "--profile", "quick", "small"]).ok();
    let refused = s.error(1, &["spec", "package", "apply", "the package"]);
    assert_eq!(refused["code"], "package_delta_elsewhere");
}

#[test]
fn a_new_document_of_a_task_begins_with_its_template() {
    let s = planned();
    s.loopx(&["save"]).ok();
    let printed = s
        .loopx(&["spec", "package", "template", "requirements"])
        .ok();
    assert!(printed.contains("document: requirements"));
    let path = "tasks/DRAFT-002/requirements.md";
    // An editor that writes nothing leaves no file, so that nothing passes for written.
    let call = s.call(crate::support::LOOPX).args(&["edit", path]);
    drop(call.env("GIT_EDITOR", "true").run());
    assert!(!s.exists(format!(".loopx/demo/{path}")));
    s.call(crate::support::LOOPX)
        .env("GIT_EDITOR", "echo more >>")
        .args(&["edit", path])
        .run()
        .ok();
    let text = s.read(format!(".loopx/demo/{path}"));
    assert_eq!(text, format!("{printed}more\n"));
}
