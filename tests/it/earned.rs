//! Completion is earned: the time that a check has, what a task leaves and touches, and whose it stays meanwhile.

use crate::support::Sandbox;
use crate::support::shell::works;
use crate::support::tasks::{DEMO, building, planning, refuses, statuses, take, task, text};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// A task with fields besides.
fn also(mut task: Value, fields: Value) -> Value {
    if let (Some(task), Value::Object(fields)) = (task.as_object_mut(), fields) {
        task.extend(fields);
    }
    task
}

#[cfg(target_os = "linux")]
#[test]
fn a_check_is_ended_when_its_time_is_over_with_everything_that_it_started() {
    // One in the group of the check, one that left it, one whose parent has gone.
    let script = "sleep 300 & echo $! >> $PIDS; setsid sleep 300 & echo $! >> $PIDS; (setsid sleep 300 & echo $! >> $PIDS); sleep 300";
    let s = building(&[also(
        task("T-1", &[], Some(&["sh", "-c", script])),
        json!({"time_limit": 1}),
    )]);
    let pids = s.root().join("pids");
    assert_eq!(take(&s), "T-1");
    let began = Instant::now();
    let call = s.call(crate::support::LOOPX).env("PIDS", &pids);
    let ran = call.args(&["--json", "run", "--task", "T-1"]).run();
    let ran = ran.fails_with(1).json();
    assert_eq!(
        (&ran["evidence"]["limit"], &ran["evidence"]["exit"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(statuses(&s)["T-1"], "claimed", "a run alone fails nothing");
    let call = s.call(crate::support::LOOPX).env("PIDS", &pids);
    let done = call.args(&["--json", "task", "done"]).run();
    let error = done.fails_with(1).error_json()["error"].clone();
    assert_eq!(error["code"], "task_timed_out", "{error:#}");
    assert!(began.elapsed() < Duration::from_secs(60));
    let pids = fs::read_to_string(&pids).expect("the processes that the check started");
    assert_eq!(pids.lines().count(), 6, "{pids}");
    for pid in pids.lines() {
        assert!(!works(pid), "{pid} still works");
    }
    let shown = s.loopx(&["--json", "task", "show", "T-1"]).json();
    assert_eq!(
        (&shown["status"], &shown["failures"]),
        (&json!("failed"), &json!(1))
    );
    assert!(text(&shown["failure"]).contains("after 1 s"), "{shown:#}");
    let log = s.loopx(&["task", "log", "t-1"]).ok();
    assert_eq!(log.matches("run T-1").count(), 2, "{log}");
    refuses(&s, 4, "task_unknown", &["task", "log", "T-9"]);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_task_is_not_done_before_it_leaves_what_the_plan_says() {
    let s = building(&[also(
        task("T-1", &[], Some(&["true"])),
        json!({"outputs": ["docs/report.md", "plan.md", "kept.txt"]}),
    )]);
    assert_eq!(take(&s), "T-1");
    let error = refuses_done(&s);
    let named: Vec<String> = error["blockers"]
        .as_array()
        .expect("blockers")
        .iter()
        .map(|one| text(&one["message"]))
        .collect();
    assert_eq!(named.len(), 2, "{error:#}");
    assert!(named[0].starts_with("docs/report.md "), "{named:?}");
    assert_eq!(statuses(&s)["T-1"], "claimed");
    s.write("docs/report.md", "It passed.\n");
    // What git does not take is no file of the code.
    s.write(".git/info/exclude", "kept.txt\n.loopx/\n");
    s.write("kept.txt", "here alone\n");
    refuses_done(&s);
    let shown = s.loopx(&["task", "show", "T-1"]).ok();
    assert!(shown.contains("not there yet: kept.txt"), "{shown}");
    s.git(&["add", "--force", "kept.txt"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "Keep"])
        .ok();
    s.loopx(&["task", "done"]).ok();
    let shown = s.loopx(&["--json", "task", "show", "T-1"]).json();
    assert_eq!(
        shown["outputs"][0],
        json!({"path": "docs/report.md", "present": true, "declared": true, "changed": false, "apart": false})
    );
}

fn refuses_done(s: &Sandbox) -> Value {
    let out = s.loopx(&["--json", "task", "done"]).fails_with(1);
    let error = out.error_json()["error"].clone();
    assert_eq!(error["code"], "task_output_missing", "{error:#}");
    error
}

/// Chain B22.
#[test]
fn chain_b22_what_was_touched_and_what_changed_to_read_is_said_and_refuses_nothing() {
    let s = building(&[also(
        task("T-1", &[], Some(&["true"])),
        json!({
            "files": ["src/planned.txt", {"path": "src/left.txt", "action": "modify"}, {"path": "code.txt", "action": "read"}],
            "reads": {"required": ["guide.txt", "code.txt"], "deferred": ["later.txt"]},
        }),
    )]);
    s.commit_file("guide.txt", "one\n", "Guide").ok();
    assert_eq!(take(&s), "T-1");
    s.write("src/planned.txt", "1\n");
    s.commit_file("guide.txt", "two\n", "Another guide").ok();
    s.write("stray.txt", "1\n");
    let done = s.loopx(&["--json", "task", "done"]);
    let files = done.json()["files"].clone();
    assert_eq!(files["declared"], json!(["src/planned.txt"]));
    assert_eq!(files["undeclared"], json!(["guide.txt", "stray.txt"]));
    assert_eq!(files["untouched"], json!(["src/left.txt"]));
    assert_eq!(files["reads_changed"], json!(["guide.txt"]));
    assert!(done.stderr.contains("stray.txt"), "{done}");
    assert!(
        done.stderr.contains("documents that T-1 asks to read"),
        "{done}"
    );
    let shown = s.loopx(&["--json", "task", "show", "T-1"]).json();
    let kept = &shown["completion"]["value"];
    let kept = if kept.is_null() {
        &shown["completion"]
    } else {
        kept
    };
    assert_eq!(kept["files"].as_array().map(Vec::len), Some(3), "{shown:#}");
    assert_eq!(kept["reads_changed"], json!(["guide.txt"]));
}

/// Chain B27.
#[test]
fn chain_b27_a_request_that_is_repeated_gives_the_same_card() {
    let s = building(&[
        task("T-1", &[], Some(&["true"])),
        task("T-2", &[], Some(&["true"])),
    ]);
    let ask = ["--json", "take", "--request", "r-1"];
    let first = s.loopx(&ask).json();
    let tip = crate::support::store::tip(&s);
    let again = s.loopx(&ask).json();
    assert_eq!(crate::support::store::tip(&s), tip, "nothing is written");
    assert_eq!(
        (&first["claimed"], &again["claimed"]),
        (&json!(true), &json!(false))
    );
    for key in ["card", "until", "next", "next_action", "session"] {
        assert_eq!(first[key], again[key], "{key}");
    }
    s.loopx(&["--json", "take", "T-1", "--request", "r-1"]).ok();
    let args = ["take", "T-2", "--request", "r-1"];
    refuses(&s, 5, "request_repeated", &args);
    let other = s.loopx(&["--json", "take", "--request", "r-2"]).json();
    assert_eq!(other["card"]["task"], "T-2");
    // What is done is asked for no more: the name is free again.
    s.loopx(&["task", "done", "T-1"]).ok();
    s.loopx(&["task", "done", "T-2"]).ok();
    refuses(&s, 5, "tasks_done", &ask[1..]);
}

#[test]
fn a_claim_and_a_build_are_renewed_while_a_check_runs() {
    let s = building(&[task("T-1", &[], Some(&["sleep", "2"]))]);
    s.git(&["config", "loopx.lease", "6"]).ok();
    assert_eq!(take(&s), "T-1");
    // Each command takes a second of the sandbox's clock.
    for _ in 0..3 {
        s.loopx(&["status"]).ok();
    }
    s.loopx(&["task", "done"]).ok();
    let log = s.loopx(&["--json", "task", "log"]).json();
    let steps: Vec<String> = log["happened"]
        .as_array()
        .expect("a log")
        .iter()
        .map(|one| text(&one["step"]))
        .collect();
    assert_eq!(steps, ["take", "take", "run", "done"], "{log:#}");
    // The build's lease is renewed, too: it began when the session entered the build.
    let s = planning(&[task("T-1", &[], Some(&["sleep", "3"]))]);
    s.git(&["config", "loopx.lease", "8"]).ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    s.loopx(&["build"]).fails_with(1);
    assert_eq!(take(&s), "T-1");
    for _ in 0..4 {
        s.loopx(&["status"]).ok();
    }
    let renewed = |s: &Sandbox| {
        let log = s.git(&["log", "--format=%s", "loopx"]).ok();
        log.matches("renew the build's lease").count()
    };
    assert_eq!(renewed(&s), 0);
    s.loopx(&["task", "done"]).ok();
    assert_eq!(renewed(&s), 1);
    // What ends at once renews nothing.
    let s = building(&[task("T-1", &[], Some(&["true"]))]);
    s.git(&["config", "loopx.lease", "6"]).ok();
    assert_eq!(take(&s), "T-1");
    for _ in 0..3 {
        s.loopx(&["status"]).ok();
    }
    s.loopx(&["task", "done"]).ok();
    let log = s.loopx(&["--json", "task", "log"]).json();
    assert_eq!(log["happened"].as_array().map(Vec::len), Some(3), "{log:#}");
}

#[test]
fn what_a_person_looked_at_is_called_so_and_an_undone_stage_names_who_holds_on() {
    let s = building(&[task("T-1", &[], None), task("T-2", &[], Some(&["true"]))]);
    s.loopx(&["take", "T-1"]).ok();
    s.loopx(&["task", "done", "--manual", "--reason", "seen"])
        .ok();
    let status = s.loopx(&["status"]).ok();
    assert!(!status.contains("waived"), "{status}");
    assert!(status.contains("looked at by a person"), "{status}");
    s.loopx(&["take", "T-2"]).ok();
    let enter = s.loopx(&["--json", "log"]).json();
    let entered = enter["operations"].as_array().expect("operations").iter();
    let mut entered = entered.filter(|op| op["kind"] == "entered");
    let op = text(&entered.next_back().expect("a stage that was entered")["op"]);
    let out = s.loopx(&["undo", "--only", &op, "--reason", "too early"]);
    assert!(out.stdout.contains("T-2 stays taken"), "{DEMO}: {out}");
}
