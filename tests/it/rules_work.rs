//! The rules that work is done under: on the card of a task, in the record of its claim, at the start of an agent, and in
//! `status` where they are others by then.

use crate::support::Sandbox;
use crate::support::agent::{hook, stop_input};
use crate::support::tasks::{planning_with, take, task};
use serde_json::{Value, json};

const MUST: &str = "---\ntitle: Must\nreadMode: required\n---\n\n- Each error has a code\n";
const BUILD: &str =
    "---\ntitle: Build\ncategory: execution\napplies_to: [src/**]\n---\n\n- Log once\n";
const PLAN: &str = "---\ntitle: Plan\ncategory: planning\n---\n\n- Plan small\n";

/// A session in plan, whose two tasks touch different files.
fn planned() -> Sandbox {
    let file = |mut task: Value, path: &str| {
        task["files"] = json!([{ "path": path }]);
        task
    };
    planning_with(
        &[
            ("docs/rules/must.md", MUST),
            ("docs/rules/build.md", BUILD),
            ("docs/rules/plan.md", PLAN),
        ],
        &[
            file(task("A", &[], Some(&["true"])), "src/a.rs"),
            file(task("B", &[], Some(&["true"])), "web/b.ts"),
        ],
    )
}

fn built() -> Sandbox {
    Sandbox::once("", || {
        let s = planned();
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        s
    })
}

fn blob(s: &Sandbox, path: &str) -> String {
    s.git(&["hash-object", path]).line()
}

fn rules_of(s: &Sandbox, task: &str) -> Value {
    s.loopx(&["task", "show", task, "--json"]).json()["card"]["rules"].take()
}

#[test]
fn the_card_names_the_rules_that_apply_to_its_files_with_their_blob_ids() {
    let s = built();
    let named = |path: &str| json!({ "path": path, "blob": blob(&s, path) });
    let [must, build] = ["docs/rules/must.md", "docs/rules/build.md"].map(named);
    assert_eq!(rules_of(&s, "A"), json!([must, build]));
    assert_eq!(rules_of(&s, "B"), json!([must]));
    let id = &blob(&s, "docs/rules/must.md")[..10];
    s.loopx(&["take", "A"])
        .says(&format!("rules | docs/rules/must.md ({id})"))
        .ok();
    s.loopx(&["task", "show", "A", "--format", "prompt"])
        .says("git loopx rule load --stage build")
        .ok();
    // A person's own rules stand on his card, and in nobody's record.
    s.loopx(&["rule", "add", "--personal", "Short words"]).ok();
    assert_eq!(rules_of(&s, "B").as_array().map(Vec::len), Some(2));
    s.loopx(&["take", "B"]).ok();
    let log = s.git(&["log", "-p", "loopx"]).ok();
    assert!(
        log.contains("docs/rules/must.md") && !log.contains(".config"),
        "{log}"
    );
}

#[test]
fn a_claim_records_the_rules_and_task_done_says_which_changed() {
    let s = built();
    assert_eq!(take(&s), "A");
    s.write("docs/rules/must.md", format!("{MUST}- And a sentence\n"));
    s.git(&["commit", "--quiet", "-am", "Another rule"]).ok();
    let done = s.loopx(&["task", "done", "A", "--json"]).json();
    let text = done.to_string();
    assert!(
        text.contains("\"reads_changed\":[\"docs/rules/must.md\"]"),
        "{done:#}"
    );
}

#[test]
fn status_says_which_required_rules_are_others_than_when_the_session_began() {
    let s = built();
    let moved = || s.loopx(&["status", "--json"]).json()["rules_moved"].take();
    assert_eq!(moved(), Value::Null);
    // Nor do the line endings of a checkout.
    s.write("docs/rules/must.md", MUST.replace('\n', "\r\n"));
    assert_eq!(moved(), Value::Null);
    // What need not be read changes nothing.
    s.write("docs/rules/plan.md", "- Plan smaller\n");
    assert_eq!(moved(), Value::Null);
    s.write("docs/rules/must.md", format!("{MUST}- More\n"));
    s.write(
        "docs/rules/new.md",
        MUST.replace("title: Must", "title: New"),
    );
    assert_eq!(moved()["changed"], json!(["docs/rules/must.md"]));
    assert_eq!(moved()["added"], json!(["docs/rules/new.md"]));
    assert_eq!(moved()["help"], "git loopx rule load --stage build");
    s.loopx(&["status"])
        .says("required rules are others than when this session began (changed: docs/rules/must.md; new: docs/rules/new.md)")
        .ok();
    std::fs::remove_dir_all(s.path().join("docs/rules")).expect("a folder");
    assert_eq!(moved()["removed"], json!(["docs/rules/must.md"]));
}

#[test]
fn an_agent_hears_at_its_start_which_rules_apply() {
    let s = planned();
    let told = || {
        let mut input = stop_input("a", s.path());
        input["source"] = json!("startup");
        let said =
            hook(&s, "claude", "SessionStart", input.to_string().as_bytes()).expect("a word");
        let text = said["hookSpecificOutput"]["additionalContext"].clone();
        text.as_str().expect("a text").to_owned()
    };
    let text = told();
    assert!(
        text.contains("Rules that apply: docs/rules/must.md ("),
        "{text}"
    );
    assert!(
        text.contains("docs/rules/plan.md (") && !text.contains("docs/rules/build.md"),
        "{text}"
    );
    assert!(
        text.contains("`git loopx rule load --stage plan` prints them."),
        "{text}"
    );
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    let text = told();
    assert!(
        text.contains("| docs/rules/must.md (") && text.contains("docs/rules/build.md ("),
        "{text}"
    );
}
