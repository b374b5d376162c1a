//! The words around gates: what can be answered, and no answer; who is waited for, and why; and the way on where what is
//! judged was skipped.

use crate::support::tasks::{building, planning, refuses, task, text, with};
use crate::support::{Output, Sandbox};
use serde_json::{Value, json};

fn words(s: &Sandbox, line: &str) -> Output {
    s.loopx(&line.split(' ').collect::<Vec<_>>())
}

/// A task that is done, and a decision about it.
fn judging(gate: &Value) -> Sandbox {
    Sandbox::once(gate.to_string(), || {
        let s = building(&[
            task("A", &[], Some(&["true"])),
            with("G", &["A"], json!({ "kind": "decision", "gate": gate })),
        ]);
        words(&s, "take A").ok();
        words(&s, "task done").ok();
        s
    })
}

#[test]
fn n17_a_hint_says_what_can_be_answered_and_answers_nothing() {
    let s = judging(&json!({ "judges": ["A"] }));
    let ask =
        "git loopx task decide G --verdict VERDICT  (proceed; fix or escalate with --reason WHY)";
    words(&s, "next").says(ask).fails_with(6);
    words(&s, "take").says(ask).fails_with(6);
    words(&s, "take G").says(ask).ok();
    words(&s, "task show G")
        .says("passes  | by a verdict to proceed")
        .ok();
    for line in [
        "task show G",
        "task show G --json",
        "task show G --format prompt",
        "take G",
    ] {
        let said = words(&s, line).to_string();
        assert!(!said.contains("task decide G --verdict proceed"), "{said}");
    }
}

#[test]
fn n17_a_gate_of_views_says_how_it_passes_and_which_flags_there_are() {
    let s = judging(&json!({ "judges": ["A"], "views": ["risk", "product"] }));
    let shown = words(&s, "task show G").ok();
    assert!(!shown.contains("of 100"), "{shown}");
    let flags = "missing-requirement, critical-risk, high-risk";
    assert!(
        shown.contains(&format!(
            "passes  | with a mean from 2.5, and no flag ({flags})"
        )),
        "{shown}"
    );
    words(&s, "task decide G --rating product=2:missing")
        .says(flags)
        .fails_with(2);
}

#[test]
fn n17_a_gate_that_waits_for_a_person_says_why_and_leads_to_their_word() {
    let s = judging(&json!({ "judges": ["A"] }));
    words(&s, "task decide G --verdict escalate --reason unsure").ok();
    words(&s, "task show G")
        .says("waits for a person: unsure")
        .ok();
    let card = words(&s, "take G")
        .says("git loopx task open G --reason")
        .ok();
    assert!(!card.contains("task decide"), "{card}");
    let prompt = words(&s, "task show G --format prompt").ok();
    assert!(!prompt.contains("task decide"), "{prompt}");
    words(&s, "task open G --reason fine").ok();
}

/// A pipeline of which the task that is judged was skipped.
fn skipped() -> Sandbox {
    let of = |mut line: Value| {
        line["pipeline"] = json!("patch");
        line
    };
    let s = building(&[
        of(task("A", &[], Some(&["true"]))),
        of(task("V", &["A"], Some(&["true"]))),
        of(with(
            "G",
            &["V"],
            json!({ "kind": "decision", "gate": { "judges": ["V"] } }),
        )),
    ]);
    words(&s, "take A").ok();
    words(&s, "task done --partial later").ok();
    words(&s, "task skip V --reason later").ok();
    s.commit_file("code.txt", "two\n", "Change").ok();
    s
}

#[test]
fn n17_a_gate_behind_what_was_skipped_leads_to_what_can_be_done() {
    let s = skipped();
    let next = words(&s, "next").ok();
    assert_eq!(next.trim(), "git loopx task retry V");
    let retry = "git loopx task retry V";
    words(&s, "pipeline status").says(retry).fails_with(1);
    // An agent waits for who says it, and reads no half of a command in that.
    s.call("git-loopx")
        .args(&["next"])
        .env("CLAUDECODE", "1")
        .run()
        .says("(G waits for V, which was skipped)")
        .fails_with(6);
    let said = words(&s, "--json finish --yes").fails_with(1).to_string();
    assert!(
        said.contains(retry) && said.contains("task skip G") && !said.contains("task decide"),
        "{said}"
    );
}

#[test]
fn n17_status_counts_what_was_skipped_and_done_in_part_as_the_report_does() {
    let s = skipped();
    words(&s, "task skip G --reason later").ok();
    words(&s, "pipeline status")
        .says("Progress: 2/2 (100%), 1 of them in part, 1 of them skipped")
        .ok();
    let report = words(&s, "pipeline export -").ok();
    for line in [
        "- Tasks: 1 of 2 completed (50%)",
        "- 1 completed in part",
        "- 1 skipped",
    ] {
        assert!(report.lines().any(|one| one == line), "{line} in {report}");
    }
}

#[test]
fn n17_paths_of_a_card_are_opened_from_the_folder_that_it_is_read_in() {
    let mut one = task("A", &[], Some(&["true"]));
    one["pipeline"] = json!("patch");
    one["outputs"] = json!(["tasks/A/a.md"]);
    one["files"] = json!(["src/a.rs"]);
    one["reads"] = json!(["tasks/B/b.md"]);
    let s = building(&[one]);
    let below = s.path().join("src/deep");
    std::fs::create_dir_all(&below).expect("a folder");
    let at = |line: &str| s.loopx_in(&below, &line.split(' ').collect::<Vec<_>>());
    insta::assert_snapshot!(at("take").steady(), @"
    $ git-loopx take
    A  Do A
      for     | demo
      until   | it is there
      proof   | true
      files   | ../a.rs
      outputs | ../../.loopx/demo/tasks/A/a.md
      read    | ../../.loopx/demo/tasks/B/b.md (not there)
    demo: A is yours for 2 hours more
    now: write ../../.loopx/demo/tasks/A/a.md, which A leaves, then: git loopx task done A
         or: git loopx task fail A --reason 'it does not pass'  or: git loopx task release A
    --- exit 0
    ");
    at("next")
        .says("write ../../.loopx/demo/tasks/A/a.md")
        .fails_with(6);
    words(&s, "next")
        .says("write .loopx/demo/tasks/A/a.md")
        .fails_with(6);
    s.write(".loopx/demo/tasks/A/a.md", "x\n");
    at("task done").ok();
}

#[test]
fn n17_a_skill_that_is_missing_leads_to_the_list_where_that_is_open() {
    let mut one = task("A", &[], Some(&["true"]));
    one["skill"] = json!("gone");
    let list = one.to_string();
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    words(&s, "init").ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    words(&s, "start --quick demo").ok();
    s.write(".loopx/demo/tasks.jsonl", format!("{list}\n"));
    let said = refuses(&s, 1, "skill_missing", &["take", "A"])["help"].to_string();
    assert!(
        said.contains("or name another skill: git loopx edit tasks.jsonl"),
        "{said}"
    );
    let s = building(&[task("B", &[], Some(&["true"]))]);
    let whole = s.read(".loopx/demo/tasks.jsonl");
    s.write(".loopx/demo/tasks.jsonl", format!("{whole}{list}\n"));
    words(&s, "amend --reason more").ok();
    let said = refuses(&s, 1, "skill_missing", &["take", "A"])["help"].to_string();
    assert!(said.contains("git loopx amend --reason"), "{said}");
}

#[test]
fn n17_a_pipeline_leaves_out_a_gate_and_a_checkpoint_of_what_it_extends() {
    let s = planning(&[]);
    let own = "title = \"Mine\"\nextends = \"full-lifecycle\"\nremove = [\"GATE-TEST\", \"CHECKPOINT-001\"]\n";
    s.git(&["switch", "--quiet", "--detach"]).ok();
    let whole = words(&s, "pipeline show full-lifecycle --graph").ok();
    s.commit_file("loopx/pipelines/mine.toml", own, "Mine").ok();
    let graph = words(&s, "pipeline show mine --graph").ok();
    let ids = |graph: &str| -> Vec<String> {
        let rows = graph.lines().filter(|row| !row.starts_with(' '));
        rows.filter_map(|row| Some(row.split_whitespace().nth(1)?.to_owned()))
            .collect()
    };
    let gone: Vec<String> = ids(&whole)
        .into_iter()
        .filter(|id| !ids(&graph).contains(id))
        .collect();
    assert_eq!(gone, ["CHECKPOINT-001", "GATE-TEST"]);
    words(&s, "pipeline check mine").ok();
}

#[test]
fn n17_who_executes_in_the_chain_reads_the_plan() {
    let s = planning(&[]);
    let plan = |start: &str| {
        let line = format!(
            "pipeline start chain --param check=true --param start={start} --dry-run --json"
        );
        let plan = words(&s, &line).json();
        let lines = plan["lines"].as_array().expect("lines").iter();
        let mut lines =
            lines.map(|line| serde_json::from_str::<Value>(&text(line)).expect("a line"));
        lines.find(|line| line["id"] == "execute").expect("execute")
    };
    assert_eq!(plan("plan")["reads"], json!(["tasks/plan/plan.md"]));
    assert_eq!(plan("execute")["reads"], Value::Null);
}
