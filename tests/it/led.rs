//! Roads of strangers who typed what `next:` and `hint:` say, and of agents who got what others may not: each test is
//! one of their roads, with what they should have met on it.

use crate::support::tasks::{
    DEMO, building, checkpoint, next_of, refuses, statuses, take, task, text, with,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};

/// A command as it was printed.
fn types(s: &Sandbox, command: &str) -> Output {
    s.call("sh").args(&["-c", command]).run()
}

/// A command of an agent.
fn agent(s: &Sandbox, args: &[&str]) -> Output {
    let call = s.call(LOOPX).args(&["--json"]).args(args);
    call.env("CLAUDECODE", "1").run()
}

fn rubric(id: &str, on: &[&str]) -> Value {
    let dimensions =
        json!([{"name": "code", "weight": 1, "minimum": 6}, {"name": "tests", "weight": 1}]);
    with(
        id,
        on,
        json!({"kind": "decision", "gate": {"rubric": {"scale": 10, "dimensions": dimensions}}}),
    )
}

fn goal(id: &str, on: &[&str]) -> Value {
    with(
        id,
        on,
        json!({"kind": "goal", "done_when": "it takes a second", "gate": {"cap": 1, "repair": [task("r", &[], Some(&["true"]))]}}),
    )
}

/// A quick session whose code is committed, proven and approved for the review.
fn approved_for_review() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("code.txt", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "Fix it"]).ok();
        s.commit_file("code.txt", "two\n", "Two").ok();
        s.loopx(&["run", "--", "true"]).ok();
        s.loopx(&["approve"]).ok();
        s
    })
}

#[test]
fn what_a_review_sends_back_is_entered_by_the_command_that_next_names() {
    let s = approved_for_review();
    s.loopx(&[
        "review",
        "--verdict",
        "changes",
        "--finding",
        "high: code.txt:1: it is wrong",
    ])
    .ok();
    let command = next_of(&s, false);
    assert_eq!(command, "git loopx approve --to build --enter");
    types(&s, &command).ok();
    assert_eq!(s.loopx(&["--json", "status"]).json()["stage"], "build");
}

#[test]
fn finish_approves_anew_what_changed_since_somebody_approved_it() {
    let s = approved_for_review();
    s.commit_file("code.txt", "three\n", "Three").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"])
        .says("approved build->review, in stage review")
        .ok();
    assert_eq!(
        s.loopx(&["list", "--all", "--json"]).json()["sessions"][0]["stage"],
        "done"
    );
}

#[test]
fn a_scenario_whose_only_task_was_skipped_holds_no_archive() {
    let s = Sandbox::with_spec();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", DEMO]).ok();
    let delta = crate::support::changes::adding("Pears");
    let scenario = delta
        .lines()
        .find_map(|line| line.strip_prefix("#### Scenario: "))
        .expect("a scenario");
    let requirement = delta
        .lines()
        .find_map(|line| line.strip_prefix("### Requirement: "))
        .expect("a requirement");
    let list = with(
        "T-1",
        &[],
        json!({
            "scenarios": [format!("demo/{requirement}/{scenario}")],
            "convergence": {"criteria": ["pears are there"], "verification": {"cmd": ["true"]}},
        }),
    );
    s.write(format!(".loopx/{DEMO}/change/spec-delta.md"), &delta);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), format!("{list}\n"));
    s.write(
        format!(".loopx/{DEMO}/plan.md"),
        "---\nscope: []\n---\n# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n",
    );
    s.loopx(&["approve", "--enter"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["task", "skip", "T-1", "--reason", "later"]).ok();
    let covered = s.loopx(&["--json", "spec", "coverage"]).json();
    assert_eq!(covered["scenarios"][0]["proof"], "waived", "{covered:#}");
    s.loopx(&["finish", "--yes"]).ok();
    assert_eq!(
        s.loopx(&["--json", "status", DEMO]).json()["ending"]["how"],
        "archived"
    );
}

#[test]
fn a_task_that_is_retried_is_proven_by_a_younger_run() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    s.loopx(&["task", "retry", "A", "--reason", "the text is wrong"])
        .ok();
    assert_eq!(statuses(&s)["A"], "pending");
    let listed = s.loopx(&["--json", "task", "list"]).json();
    assert_eq!(listed["tasks"][0]["ready"], true);
    assert_eq!(listed["tasks"][1]["ready"], false);
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "release"]).ok();
    assert_eq!(
        statuses(&s)["A"],
        "pending",
        "giving it back proves nothing"
    );
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    assert_eq!(statuses(&s)["A"], "completed");
    // After a failure too.
    assert_eq!(take(&s), "B");
    s.loopx(&["run", "--task", "B"]).ok();
    s.loopx(&["task", "fail", "--reason", "the text is wrong"])
        .ok();
    s.loopx(&["task", "retry", "B"]).ok();
    assert_eq!(statuses(&s)["B"], "pending");
}

#[test]
fn a_gate_names_the_values_that_it_asks_for() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        rubric("R", &["A"]),
        with(
            "V",
            &["R"],
            json!({"kind": "decision", "gate": {"views": ["risk", "product"]}}),
        ),
        goal("G", &["V"]),
        task("U", &["G"], Some(&["true"])),
    ]);
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    let asks = "git loopx task decide R --scores code=N,tests=N  (N from 0 to 10)";
    let error = refuses(&s, 6, "decision_open", &["take"]);
    assert_eq!(error["help"], asks);
    // There is no command that works as it is: whoever judges has to say what.
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["next_action"], Value::Null, "{status:#}");
    assert!(text(&status["advice"]).contains(asks), "{status:#}");
    s.loopx(&["take", "R"]).ok();
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["next_action"], Value::Null);
    assert!(text(&status["advice"]).contains(asks), "{status:#}");
    refuses(
        &s,
        2,
        "decision_values",
        &["task", "decide", "R", "--scores", "code=1,code=9,tests=9"],
    );
    s.loopx(&["task", "decide", "R", "--scores", "code=8,tests=9"])
        .ok();
    let error = refuses(&s, 6, "decision_open", &["take"]);
    assert_eq!(
        error["help"],
        "git loopx task decide V --rating risk=N --rating product=N  (N from 1 to 5)"
    );
    let views = ["--rating", "risk=4:high-risk", "--rating", "product=4"];
    s.loopx(&[&["task", "decide", "V"][..], &views].concat())
        .says("severity high: risk 4 (high-risk), product 4")
        .ok();
    s.loopx(&["undo"]).ok();
    let views = ["--rating", "risk=5", "--rating", "product=4"];
    s.loopx(&[&["task", "decide", "V"][..], &views].concat())
        .ok();
    let error = refuses(&s, 6, "decision_open", &["take"]);
    assert_eq!(
        error["help"],
        "git loopx task decide G --verdict VERDICT --evidence REF  (proceed; fix or escalate with --reason WHY)"
    );
    let proceed = ["task", "decide", "G", "--verdict", "proceed"];
    refuses(&s, 2, "decision_values", &proceed);
}

#[test]
fn a_goal_is_not_shown_by_a_run_that_failed_and_by_no_folder() {
    let s = building(&[task("A", &[], Some(&["true"])), goal("G", &["A"])]);
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    s.commit_file("src/a", "a\n", "A").ok();
    s.loopx(&["run", "--", "false"]).fails_with(1);
    let log = s.loopx(&["--json", "log"]).json();
    let last = log["operations"].as_array().expect("operations").last();
    let run = format!("@{}", last.expect("an operation")["seq"]);
    s.loopx(&["run"]).ok();
    for shown in [run.as_str(), "src"] {
        let decide = [
            "--json",
            "task",
            "decide",
            "G",
            "--verdict",
            "proceed",
            "--evidence",
            shown,
        ];
        let out = s.loopx(&decide).json();
        assert_eq!(out["missing_evidence"], json!([shown]), "{out:#}");
        s.loopx(&["undo"]).ok();
    }
}

#[test]
fn next_leads_to_a_checkpoint_and_not_past_it() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        checkpoint("C", &["A"]),
        task("U", &["C"], Some(&["true"])),
    ]);
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["next_action"], Value::Null, "{status:#}");
    assert!(
        text(&status["advice"]).contains("git loopx task open C --reason"),
        "{status:#}"
    );
    let told = agent(&s, &["status"]).json();
    assert_eq!(told["waits"]["who"], "a person", "{told:#}");
}

#[test]
fn next_writes_no_code_before_the_word_that_comes_first() {
    for first in [
        checkpoint("FIRST", &[]),
        with("FIRST", &[], json!({ "kind": "decision" })),
    ] {
        let s = building(&[first.clone(), task("U", &["FIRST"], Some(&["true"]))]);
        let word = match first["kind"].as_str() {
            Some("checkpoint") => "git loopx task open FIRST --reason",
            _ => "git loopx task decide FIRST --verdict",
        };
        s.loopx(&["next"]).fails_with(6).says(word);
        let status = s.loopx(&["status"]).says(word).ok();
        assert!(!status.contains("write the code"), "{status}");
    }
    // Where there is work, it comes first.
    let s = building(&[checkpoint("FIRST", &[]), task("U", &[], Some(&["true"]))]);
    s.loopx(&["next"]).says("write the code");
}

#[test]
fn a_waived_check_is_not_said_to_have_passed() {
    let s = building(&[task("M", &[], None)]);
    s.loopx(&["build", "--waive", "M", "--reason", "seen"]).ok();
    let said = s.loopx(&["task", "list"]).ok();
    assert!(said.contains("a person waived its check"), "{said}");
    assert!(!said.contains("passed"), "{said}");
}

#[test]
fn a_task_that_left_nothing_is_not_committed() {
    let s = building(&[with(
        "A",
        &[],
        json!({
            "files": ["src/a"], "outputs": ["src/missing"],
            "convergence": {"criteria": ["it is there"], "verification": {"cmd": ["true"]}},
        }),
    )]);
    assert_eq!(take(&s), "A");
    s.write("src/a", "a\n");
    let head = s.git(&["rev-parse", "HEAD"]).ok();
    s.loopx(&["task", "done", "--commit"]).fails_with(1);
    assert_eq!(s.git(&["rev-parse", "HEAD"]).ok(), head);
}

/// Refused as a person's word, with nothing written.
#[track_caller]
fn is_kept(s: &Sandbox, args: &[&str]) {
    let before = s.git(&["for-each-ref"]).ok();
    let out = agent(s, args).fails_with(6);
    assert_eq!(out.error_json()["error"]["code"], "agent_may_not", "{out}");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
}

#[test]
fn an_agent_brings_no_skipped_task_back_and_accepts_no_branch() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    s.loopx(&["task", "skip", "A", "--reason", "later"]).ok();
    is_kept(&s, &["task", "retry", "A"]);
    s.git(&["update-ref", "refs/heads/loopx", "loopx~1"]).ok();
    is_kept(&s, &["doctor", "--accept"]);
    s.loopx(&["doctor", "--accept"]).ok();
}

#[test]
fn an_agent_has_no_permission_that_it_brings_itself() {
    let begin = |allowed: &str| {
        let s = Sandbox::new();
        s.write("loopx.toml", allowed);
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "First"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        let own = "[approve]\nagents = [\"claude\"]\n";
        s.commit_file("loopx.toml", own, "Mine").ok();
        agent(&s, &["start", "--quick", "Mine"]).ok();
        s.commit_file("code.txt", "two\n", "Two").ok();
        agent(&s, &["run", "--", "true"]).ok();
        s
    };
    let s = begin("");
    is_kept(&s, &["approve"]);
    let told = agent(&s, &["status"]).json();
    assert_eq!(told["waits"]["who"], "a person", "{told:#}");
    // What the target lets agents do, they may.
    let s = begin("[approve]\nagents = [\"claude\", \"codex\"]\n");
    agent(&s, &["approve"]).ok();
}

#[test]
fn no_task_of_an_abandoned_session_is_ready() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    s.loopx(&["abandon", "--reason", "not wanted"]).ok();
    let listed = s.loopx(&["--json", "-s", DEMO, "task", "list"]).json();
    assert_eq!(listed["tasks"][0]["ready"], false, "{listed:#}");
    assert_eq!(listed["next_action"], Value::Null, "{listed:#}");
}

#[test]
fn status_names_the_first_of_several_findings_and_counts_the_others() {
    let s = crate::support::tasks::planning(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
    ]);
    let lines = "{\"id\":\"A\",\"title\":\"A\"}\n{\"id\":\"B\",\"title\":\"B\"}\n";
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), lines);
    let said = s.loopx(&["status"]).ok();
    assert!(said.contains(" more"), "{said}");
    assert!(!said.contains("^J"), "{said}");
}
