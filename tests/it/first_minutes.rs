//! What somebody meets in the first minutes, at the edges of the way: in a bare clone, after the end, in another
//! worktree, with an editor that fails, as an agent. Each answer is true, and what it leads to works when it is typed.

use crate::support::Sandbox;
use crate::support::tasks::{DEMO, planning, task};
use serde_json::Value;

#[test]
fn a_word_that_no_task_can_have_is_refused_with_the_nearest() {
    let s = planning(&[]);
    let list = format!(".loopx/{DEMO}/tasks.jsonl");
    let before = s.read(&list);
    for (option, word, nearest) in [
        ("--type", "feture", "feature"),
        ("--kind", "wrk", "work"),
        ("--priority", "hihg", "high"),
        ("--effort", "smal", "small"),
        ("--stage", "biuld", "build"),
    ] {
        let out = s.loopx(&["task", "add", "One", option, word]).fails_with(2);
        let said = &out.stderr;
        assert!(said.contains(&format!("found `{word}`")), "{out}");
        assert!(said.contains(&format!("the nearest is {nearest}")), "{out}");
    }
    assert_eq!(s.read(&list), before);
    s.loopx(&["task", "add", "One", "--type", "fix"]).ok();
    s.loopx(&["task", "edit", "TASK-001", "--type", "feture"])
        .fails_with(2);
    s.loopx(&["task", "edit", "TASK-001", "--type", "docs"])
        .ok();
    assert!(s.read(&list).contains("\"type\":\"docs\""));
}

#[test]
fn what_a_task_waits_for_outside_is_changed_in_place() {
    let s = planning(&[]);
    let list = format!(".loopx/{DEMO}/tasks.jsonl");
    let own = |line: &str| -> Value { serde_json::from_str(line).expect("a line") };
    s.loopx(&["task", "add", "One", "--wait-person", "any"])
        .ok();
    let waits = |s: &Sandbox| own(s.read(&list).trim())["waits"].clone();
    assert_eq!(waits(&s), serde_json::json!([{"person": "any"}]));
    s.loopx(&[
        "task",
        "edit",
        "TASK-001",
        "--wait-time",
        "2026-12-01T00:00:00Z",
        "--wait-commit",
        "main:v1",
        "--wait-path",
        "main:docs/x.md",
        "--wait-evidence",
        "security:ci",
        "--wait-evidence",
        "smoke",
        "--wait-session",
        "docs:archived",
    ])
    .ok();
    let wanted = serde_json::json!([
        {"time": "2026-12-01T00:00:00Z"},
        {"branch": "main", "contains": "v1"},
        {"branch": "main", "path": "docs/x.md"},
        {"evidence": "security", "role": "ci"},
        {"evidence": "smoke"},
        {"session": "docs", "stage": "archived"},
    ]);
    assert_eq!(waits(&s), wanted);
    // What cannot be understood changes nothing.
    let before = s.read(&list);
    let edit = |option: &str, value: &str| s.loopx(&["task", "edit", "TASK-001", option, value]);
    edit("--wait-path", "main")
        .fails_with(2)
        .says("found `main`");
    edit("--wait-time", "tomorrow").fails_with(1);
    edit("--wait-session", "docs:soon").fails_with(1);
    assert_eq!(s.read(&list), before);
    edit("--unset", "waits").ok();
    assert_eq!(waits(&s), Value::Null);
}

#[test]
fn the_help_of_a_command_is_one_document() {
    let s = Sandbox::new();
    let help = s.loopx(&["help", "task", "add", "--json"]).json();
    assert_eq!(help["command"], "help");
    assert_eq!(help["name"], "task add");
    assert_eq!(help["schema"], 1);
    let usage = help["usage"].as_str().expect("usage");
    assert!(usage.starts_with("git loopx task add"), "{usage}");
    let options = help["options"].as_array().expect("options");
    let work = options.iter().find(|one| one["long"] == "--type");
    let words = work.expect("--type")["one_of"].as_array().expect("words");
    assert!(words.iter().any(|word| word == "feature"));
    let examples = help["examples"].as_array().expect("examples");
    assert!(examples.iter().all(|line| {
        line.as_str()
            .is_some_and(|line| line.starts_with("git loopx task add"))
    }));
    // The other way to ask, an alias, and a group.
    assert_eq!(s.loopx(&["task", "add", "--help", "--json"]).json(), help);
    assert_eq!(s.loopx(&["--json", "help", "ls"]).json()["name"], "list");
    let group = s.loopx(&["help", "--json", "adr"]).json();
    let parts = group["commands"].as_array().expect("commands");
    assert!(parts.iter().any(|part| part == "promote"));
    let out = s.loopx(&["help", "nothing", "--json"]).fails_with(2);
    assert_eq!(out.error_json()["error"]["code"], "command_line_invalid");
}

#[test]
fn tasks_that_wait_for_their_stage_are_not_stalled() {
    let s = planning(&[task("A", &[], None), task("B", &["A"], None)]);
    let out = s.loopx(&["task", "graph"]);
    assert!(!out.stderr.contains("no task is ready"), "{out}");
    assert_eq!(
        s.loopx(&["--json", "task", "graph"]).json()["stalled"],
        false
    );
    assert_eq!(
        s.loopx(&["--json", "task", "list"]).json()["stalled"],
        false
    );
}
