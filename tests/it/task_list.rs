//! The list of tasks as a file: written by commands, judged, merged, taken over from other tools and closed with the
//! plan.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::store::ID;
use serde_json::Value;

const FILE: &str = ".loopx/t/tasks.jsonl";

/// A lite session in stage plan.
fn planning() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("src/a", "1\n", "code").ok();
        s.loopx(&["init"]).ok();
        s.loopx(&["start", "--profile", "lite", "t"]).ok();
        s
    })
}

fn words(s: &Sandbox, line: &str) -> crate::support::Output {
    s.loopx(&line.split(' ').collect::<Vec<_>>())
}

#[test]
fn tasks_are_written_by_commands_and_every_other_byte_stays() {
    let s = planning();
    let line = "{ \"id\":\"odd\", \"title\":\"T\",  \"x\": 1.50 }\n";
    s.write(FILE, line);
    words(
        &s,
        "task add One --criterion Always --depends-on odd --file src/a -- sh -c true",
    )
    .says("TASK-001 added")
    .ok();
    let one = r#"{"id":"TASK-001","title":"One","depends_on":["odd"],"files":["src/a"],"convergence":{"criteria":["Always"],"verification":{"cmd":["sh","-c","true"]}}}"#;
    assert_eq!(s.read(FILE), format!("{line}{one}\n"));
    words(&s, "task edit ODD --title Better --manual page").ok();
    let stands = s.read(FILE);
    let odd = line.replace("\"T\"", "\"Better\"").replace(
        "1.50",
        "1.50, \"convergence\": {\"verification\":{\"manual\":\"page\"}}",
    );
    assert_eq!(stands, format!("{odd}{one}\n"));
    words(&s, "task move TASK-001 --first").ok();
    assert!(s.read(FILE).starts_with(one));
    words(&s, "task move TASK-001 --first").fails_with(5);
    words(&s, "task edit TASK-001 --unset depends_on").ok();
    // What stands on the branch is what stands in the file.
    assert_eq!(words(&s, "cat tasks.jsonl").ok(), s.read(FILE));

    // A list that would be none is not written, and nothing else changes.
    let before = (s.read(FILE), s.git(&["rev-parse", "loopx"]).ok());
    for (line, code, said) in [
        (
            "task add Two --depends-on nobody",
            1,
            "which does not exist",
        ),
        ("task edit odd --depends-on odd", 1, "odd -> odd"),
        (
            "task edit odd --file ../x",
            1,
            "not inside the repository; expected a path from its top",
        ),
        ("task add Two --id ODD", 2, "taken on line 2"),
        ("task edit od --title x", 4, "task show odd"),
        ("task move odd --before od", 4, "no task `od`"),
        ("task move odd", 2, "--before ID"),
        ("task edit odd", 2, "expected the fields"),
        ("task edit odd --unset id", 2, "--unset"),
        ("task import nowhere.json", 4, "nowhere.json"),
    ] {
        words(&s, line).says(said).fails_with(code);
    }
    assert_eq!((s.read(FILE), s.git(&["rev-parse", "loopx"]).ok()), before);
    let table = words(&s, "task export --format markdown").ok();
    assert!(
        table.contains("| 1 | TASK-001 | One |") && table.contains("- Check: `sh -c true`"),
        "{table}"
    );
    assert_eq!(words(&s, "task export").ok(), s.read(FILE));
    assert_eq!(
        words(&s, "task export --json").json()["tasks"][1]["id"],
        "odd"
    );
}

#[test]
fn a_goal_what_is_read_and_the_words_of_a_skill_are_written_by_options() {
    let s = planning();
    words(&s, "task add Fast --kind goal --id G").ok();
    words(&s, "task check").says("expected what holds when the goal is met");
    words(&s, "task edit G --done-when p99<10ms").ok();
    let checked = words(&s, "task check").ok();
    assert!(!checked.contains("when the goal is met"), "{checked}");
    words(
        &s,
        "task add One --read ./docs/a.md --skill fix --args {phase}",
    )
    .ok();
    let goal = r#"{"id":"G","title":"Fast","kind":"goal","done_when":"p99<10ms"}"#;
    let one =
        r#"{"id":"TASK-001","title":"One","reads":["docs/a.md"],"skill":"fix","args":"{phase}"}"#;
    assert_eq!(s.read(FILE), format!("{goal}\n{one}\n"));
}

#[test]
fn a_list_is_judged_by_line_and_its_errors_hold_the_gate() {
    let s = planning();
    let task = |id: &str, criterion: &str, file: &str| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"T\",\"files\":[{{\"path\":\"{file}\",\"action\":\"modify\"}}],\"convergence\":{{\"criteria\":[\"{criterion}\"],\"verification\":{{\"cmd\":[\"true\"]}}}}}}\n"
        )
    };
    s.write(
        FILE,
        format!(
            "{}{}",
            task("A", "It works fine", "src/a"),
            task("B", "It is 1", "src/none")
        )
        .as_str(),
    );
    let out = words(&s, "task check --json").fails_with(1).json();
    let found: Vec<String> = out["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|one| format!("{} {}", one["line"], one["id"].as_str().unwrap_or("?")))
        .collect();
    assert_eq!(found, ["1 task_criterion_vague", "2 task_file_missing"]);
    words(&s, "task check")
        .says("tasks.jsonl:1: error task_criterion_vague: A: expected")
        .fails_with(1);
    let held = |s: &Sandbox| -> bool {
        let status = words(s, "status --json").json();
        let blockers = status["blockers"].as_array().cloned().unwrap_or_default();
        blockers
            .iter()
            .any(|one: &Value| one["code"] == "task_list_invalid")
    };
    assert!(held(&s));
    s.write(FILE, task("A", "It is 2", "src/none").as_str());
    words(&s, "task check").says("task_file_missing").ok();
    words(&s, "task check --strict").fails_with(1);
    assert!(!held(&s), "a warning holds no gate");
}

#[test]
fn lists_of_other_tools_are_taken_in_whole_or_not_at_all() {
    let s = planning();
    s.write("slices.json", r#"[{"id":"VS-1","type":"AFK","behavior":"B","acceptance_criteria":["C"],"verification_signal":"cmd: true"}]"#);
    s.write(
        "bad.json",
        r#"[{"id":"VS-2","behaviour":"B","blocked_by":["VS-9"]}]"#,
    );
    s.write("old/plan.json", r#"{"summary":"S","task_ids":["T-1"]}"#);
    s.write("old/.task/T-1.json", "{\n \"id\": \"T-1\", \"title\": \"T\", \"convergence\": {\"criteria\": [\"C\"], \"verification\": \"look\"}\n}\n");
    words(&s, "task import slices.json --dry-run")
        .says("\"VS-1\"")
        .ok();
    assert_eq!(words(&s, "cat tasks.jsonl").ok(), "");
    words(&s, "task import slices.json")
        .says("1 task taken in from slices")
        .ok();
    words(&s, "task import bad.json")
        .says("`VS-9`, which does not exist")
        .fails_with(1);
    words(&s, "task import slices.json")
        .says("stands there twice")
        .fails_with(1);
    let out = words(&s, "task import old/plan.json --json").json();
    assert_eq!(
        (out["tasks"].as_u64(), out["remarks"][0]["task"].as_str()),
        (Some(1), Some("T-1"))
    );
    assert_eq!(s.read(FILE).lines().count(), 2);
    words(&s, "task check").ok();
}

#[test]
fn a_list_that_was_approved_is_closed_and_the_way_on_is_named() {
    let s = planning();
    s.write(".loopx/t/plan.md", "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nP.\n\n## Approach\n\nA.\n\n## Scope\n\nS.\n\n## Risks\n\nNone.\n");
    s.write(
        ".loopx/t/change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: tidy\n---\n",
    );
    words(&s, "task add One --criterion Always -- true").ok();
    s.loopx(&["approve", "--enter"]).ok();
    insta::assert_snapshot!(words(&s, "task add Two").steady(), @"
    $ git-loopx task add Two
    --- stderr
    refused: tasks.jsonl is closed in stage build: this list was approved

    hint: edit the file below .loopx, then: git loopx amend --reason 'the list has to change'  or: git loopx plan --reason 'the plan has to change'  (goes back to the plan, where the list is open)
    --- exit 1
    ");
    s.loopx(&["plan", "--reason", "more to do"]).ok();
    words(&s, "task add Two --criterion Always -- true").ok();
}

#[test]
fn two_clones_that_change_different_tasks_merge_and_one_field_in_two_ways_is_named() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    all.loopx(
        0,
        &["start", "--no-branch", "--profile", "lite", "Auth timeout"],
    )
    .ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let row = |id: &str| format!("{{\"id\":\"{id}\",\"title\":\"T\"}}\n");
    let task = |at: usize, line: &str| {
        all.loopx(
            at,
            &[&["-s", ID], line.split(' ').collect::<Vec<_>>().as_slice()].concat(),
        )
    };
    all.put(0, "tasks.jsonl", &(row("A") + &row("B"))).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    task(0, "task edit A --title Here").ok();
    task(1, "task edit B --title There").ok();
    task(1, "task edit A --priority high").ok();
    all.sync(0).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    all.assert_agreed();
    assert_eq!(
        all.cat(0, "tasks.jsonl"),
        "{\"id\":\"A\",\"title\":\"Here\",\"priority\":\"high\"}\n{\"id\":\"B\",\"title\":\"There\"}\n"
    );
    task(0, "task edit A --title One").ok();
    task(1, "task edit A --title Other").ok();
    all.sync(0).ok();
    all.sync(1).fails_with(3);
    let shown = all.cat(1, "tasks.jsonl");
    assert!(
        shown.contains("(A: title)") && shown.matches("\"B\"").count() == 1,
        "{shown}"
    );
}

#[test]
fn the_page_about_pipelines_has_every_finding_with_its_weight() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/pipelines.md");
    let page = std::fs::read_to_string(path).expect("the page");
    for known in loopx_rules::pipeline::FINDINGS {
        let severity = known.severities[0].as_str();
        let row = format!("| `{}` | {severity} | {} |\n", known.id, known.meaning);
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn the_page_about_tasks_has_every_finding_with_its_weight() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tasks.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let of_plans = loopx_rules::outline::FINDINGS;
    for known in loopx_rules::task::file::FINDINGS.iter().chain(of_plans) {
        let severity = known.severities[0].as_str();
        let row = format!("| `{}` | {severity} | {} |\n", known.id, known.meaning);
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn a_scenario_that_no_task_names_is_said_before_the_plan_is_approved() {
    let s = planning();
    s.write(
        ".loopx/t/change/spec-delta.md",
        "# Domain: session\n\n## ADDED Requirements\n\n### Requirement: Log\n\nThe system SHALL log.\n\n#### Scenario: Out\n\n- WHEN it ends\n- THEN a line stands there\n",
    );
    words(&s, "task add One --criterion Always -- true").ok();
    words(&s, "task check")
        .says("task_scenario_unserved: no task names the scenario `session/Log/Out`")
        .ok();
    words(&s, "task check --strict").fails_with(1);
    words(&s, "task edit TASK-001 --scenario session/Log/Out").ok();
    words(&s, "task check --strict").ok();
}
