//! Tasks: taken by one, completed by what passed, and the gate of their stage. Rules of the graph and of merging have
//! their tests beside them; here the real program meets the session, the worktree and other processes.

use crate::support::clones::Clones;
use crate::support::store::{count, detached, tip};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;

const DELTA: &str =
    "---\nbehaviour: unchanged\nreason: \"only words change\"\n---\n\n# Nothing that users see\n";
const PLAN: &str =
    "---\nscope: []\n---\n# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n";

/// One line of `tasks.jsonl`. No command: a person looks.
fn task(id: &str, on: &[&str], cmd: Option<&[&str]>) -> Value {
    let verification = match cmd {
        Some(cmd) => json!({ "cmd": cmd }),
        None => json!({ "manual": "the page looks well" }),
    };
    json!({
        "id": id,
        "title": format!("Do {id}"),
        "depends_on": on,
        "convergence": { "criteria": ["it is there"], "verification": verification },
    })
}

/// Fills the plan of the session `demo` in a worktree, and enters the build.
fn build(s: &Sandbox, tasks: &[Value]) {
    let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
    s.write(".loopx/demo/plan.md", PLAN);
    s.write(".loopx/demo/change/spec-delta.md", DELTA);
    s.write(".loopx/demo/tasks.jsonl", lines.join("\n") + "\n");
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
}

/// A lite session on the branch `work` in the build.
fn building(tasks: &[Value]) -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", "demo"]).ok();
    build(&s, tasks);
    s
}

/// One that passes where `FILE` is there, one that waits for it, one that a person looks at.
fn three() -> Sandbox {
    building(&[
        task("T-1", &[], Some(&["test", "-f", "one.txt"])),
        task("T-2", &["t-1"], Some(&["true"])),
        task("T-3", &["T-1"], None),
    ])
}

fn statuses(s: &Sandbox) -> BTreeMap<String, String> {
    let listed = s.loopx(&["task", "list", "--json"]).json();
    let rows = listed["tasks"].as_array().expect("tasks").iter();
    rows.map(|row| (text(&row["task"]), text(&row["status"])))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// Refused with this exit code and error code, and nothing was written.
#[track_caller]
fn refuses(s: &Sandbox, code: i32, word: &str, args: &[&str]) -> Value {
    let before = tip(s);
    let mut all = vec!["--json"];
    all.extend(args);
    let error = s.loopx(&all).fails_with(code).error_json()["error"].clone();
    assert_eq!(error["code"], word, "{args:?}: {error:#}");
    assert_eq!(tip(s), before, "{args:?}");
    error
}

#[test]
fn a_task_is_taken_once_completed_by_what_passed_and_its_word_goes_on() {
    let s = three();
    let card = s.loopx(&["take", "--peek", "--json"]).json();
    assert_eq!(
        (&card["claimed"], &card["card"]["task"]),
        (&json!(false), &json!("T-1"))
    );
    let taken = s.loopx(&["take", "--json"]).json();
    assert_eq!(taken["card"]["task"], "T-1");
    assert_eq!(taken["next_action"], "git loopx task done T-1");
    refuses(&s, 6, "task_held", &["take"]);
    refuses(&s, 6, "task_held", &["take", "T-1"]);
    let waits = refuses(&s, 1, "task_not_ready", &["take", "T-2"]);
    assert_eq!(waits["blockers"][0]["message"], "T-1 (claimed)");
    refuses(&s, 1, "task_step_invalid", &["task", "done", "T-2"]);
    refuses(&s, 4, "task_unknown", &["task", "show", "T-9"]);
    // Words complete nothing: the attempt is recorded, and the task stays as it is.
    let failed = s
        .loopx(&["--json", "task", "done"])
        .fails_with(1)
        .error_json();
    assert_eq!(failed["error"]["code"], "task_unverified");
    assert_eq!(statuses(&s)["T-1"], "claimed");
    refuses(
        &s,
        1,
        "task_unverified",
        &["task", "done", "--manual", "--reason", "it is"],
    );
    let long = "x".repeat(501);
    refuses(
        &s,
        2,
        "summary_too_long",
        &["task", "done", "--summary", &long],
    );
    s.write("one.txt", "1\n");
    let done = [
        "task",
        "done",
        "--json",
        "--summary",
        "a file",
        "--caveat",
        "empty",
    ];
    let done = s.loopx(&done).json();
    assert_eq!(
        (&done["task"], &done["has_run"]),
        (&json!("T-1"), &json!(true))
    );
    // What comes after knows it.
    s.loopx(&["take", "T-3"]).says("T-1: caveat: empty").ok();
    refuses(&s, 1, "task_unverified", &["task", "done"]);
    let look = ["task", "done", "--manual", "--reason", "looked"];
    let agent = s
        .call(LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["--json"])
        .args(&look)
        .run();
    assert_eq!(
        agent.fails_with(6).error_json()["error"]["code"],
        "agent_may_not"
    );
    s.loopx(&look).ok();
    // What passed on this code is not run again.
    s.loopx(&["run", "--task", "T-2"]).ok();
    assert_eq!(statuses(&s)["T-2"], "completed");
    refuses(&s, 5, "tasks_done", &["take"]);
    let log = s.loopx(&["task", "log", "--json"]).json();
    let steps: Vec<String> = log["happened"]
        .as_array()
        .expect("a log")
        .iter()
        .map(|one| format!("{} {}", text(&one["step"]), text(&one["task"])))
        .collect();
    assert_eq!(steps, ["take T-1", "done T-1", "take T-3", "done T-3"]);
    s.loopx(&["undo"]).ok();
    assert_eq!(statuses(&s)["T-3"], "claimed", "the claim stays");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn what_is_claimed_or_failed_holds_the_gate_and_a_run_alone_still_opens_it() {
    let s = building(&[
        task("T-1", &[], Some(&["true"])),
        task("T-2", &[], Some(&["true"])),
    ]);
    s.commit_file("code.txt", "two\n", "Second").ok();
    s.loopx(&["run"]).ok();
    let codes = |s: &Sandbox| -> Vec<String> {
        let status = s.loopx(&["status", "--json"]).json();
        let all = status["blockers"].as_array().expect("blockers").iter();
        all.map(|one| text(&one["code"])).collect()
    };
    assert_eq!(codes(&s), Vec::<String>::new(), "nobody takes anything");
    refuses(&s, 5, "tasks_done", &["take"]);
    // Proven is not claimed: somebody takes it all the same, by name, and has to end it.
    s.loopx(&["take", "T-2"]).ok();
    assert_eq!(codes(&s), ["tasks_open"]);
    let next = s.loopx(&["next", "--json"]).json();
    assert_eq!(next["next_action"], "git loopx task done T-2");
    s.loopx(&["task", "fail", "--reason", "no"]).ok();
    assert_eq!(codes(&s), ["tasks_open"]);
    refuses(&s, 1, "tasks_open", &["approve", "--to", "review"]);
    let next = s.loopx(&["next", "--json"]).json();
    assert_eq!(next["next_action"], "git loopx task retry T-2");
    s.loopx(&["task", "retry", "T-2"]).ok();
    assert_eq!(codes(&s), Vec::<String>::new());
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(status["tasks"], Value::Null);
}

#[test]
fn e1_a_task_that_failed_as_often_as_it_may_waits_for_a_person() {
    let s = building(&[
        task("T-1", &[], Some(&["true"])),
        task("T-2", &["T-1"], Some(&["true"])),
    ]);
    for attempt in 1..=3 {
        s.loopx(&["take", "T-1"]).ok();
        let failed = s
            .loopx(&["task", "fail", "--reason", "no", "--json"])
            .json();
        assert_eq!(failed["failures"], attempt);
        if attempt < 3 {
            s.loopx(&["task", "retry", "T-1"]).ok();
        }
    }
    let stalled = refuses(&s, 1, "tasks_stalled", &["take"]);
    let said: Vec<String> = stalled["blockers"]
        .as_array()
        .expect("chains")
        .iter()
        .map(|one| text(&one["message"]))
        .collect();
    assert_eq!(said, ["T-1 (failed)", "T-2 <- T-1 (failed)"]);
    refuses(&s, 1, "task_cap_reached", &["task", "retry", "T-1"]);
    let again = ["task", "retry", "T-1", "--reason", "the server is back"];
    let agent = s
        .call(LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["--json"])
        .args(&again)
        .run();
    assert_eq!(
        agent.fails_with(6).error_json()["error"]["code"],
        "agent_may_not"
    );
    s.loopx(&again).ok();
    refuses(&s, 2, "reason_required", &["task", "skip", "T-1"]);
    s.loopx(&["task", "skip", "T-1", "--reason", "not now"])
        .ok();
    let waits = refuses(&s, 1, "task_not_ready", &["take", "T-2"]);
    assert_eq!(waits["blockers"][0]["message"], "T-1 (skipped)");
}

#[test]
fn l6_a_task_whose_lease_is_over_goes_to_whoever_asks_and_the_one_before_cannot_end_it() {
    let s = building(&[task("T-1", &[], Some(&["true"]))]);
    let other = detached(&s, "other");
    let there = |args: &[&str], date: &str| {
        let call = s.call(LOOPX).cwd(&other).env("LOOPX_SESSION", "demo");
        let call = call
            .env("GIT_COMMITTER_DATE", date)
            .env("GIT_AUTHOR_DATE", date);
        call.args(&["--json"]).args(args).run()
    };
    let (soon, later) = ("1767225700 +0000", "1767312000 +0000");
    s.loopx(&["take"]).ok();
    for args in [
        &["take"][..],
        &["take", "T-1"],
        &["task", "done", "T-1"],
        &["task", "fail", "T-1", "--reason", "x"],
    ] {
        let held = there(args, soon).fails_with(6).error_json();
        assert_eq!(held["error"]["code"], "task_held", "{args:?}");
        let said = text(&held["error"]["message"]);
        assert!(
            said.contains("Ada Author <ada@example.org>, worktree "),
            "{said}"
        );
    }
    let over = there(&["take", "T-1", "--take-over"], soon)
        .fails_with(2)
        .error_json();
    assert_eq!(over["error"]["code"], "reason_required");
    let taken = there(&["take"], later).json();
    assert!(text(&taken["from"]).contains("worktree "), "{taken}");
    refuses(&s, 6, "task_held", &["task", "done", "T-1"]);
    // Back by force, which the record says; and there it is proven although the build is another worktree's.
    s.loopx(&["take", "T-1", "--take-over", "--reason", "mine"])
        .says("taken over from")
        .ok();
    there(
        &["take", "T-1", "--take-over", "--reason", "no, mine"],
        soon,
    )
    .ok();
    there(&["task", "done"], soon).ok();
    assert_eq!(statuses(&s)["T-1"], "completed");
}

#[test]
fn b3_of_many_processes_that_take_one_task_one_gets_it() {
    let rounds = count(2, 1000);
    let tasks: Vec<Value> = (0..rounds)
        .map(|n| {
            let before = format!("T-{}", n.max(1) - 1);
            let on: &[&str] = if n == 0 { &[] } else { &[&before] };
            task(&format!("T-{n}"), on, Some(&["true"]))
        })
        .collect();
    let s = building(&tasks);
    let folders: Vec<PathBuf> = (0..4).map(|at| detached(&s, &format!("w{at}"))).collect();
    for round in 0..rounds {
        let start = Barrier::new(8);
        let outcomes: Vec<(usize, Option<i32>, String)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|worker| {
                    let (s, dir, start) = (&s, &folders[worker % 4], &start);
                    scope.spawn(move || {
                        start.wait();
                        let call = s.call(LOOPX).cwd(dir).env("LOOPX_SESSION", "demo");
                        let out = call.args(&["take", "--json"]).run();
                        (worker, out.code, format!("{out}"))
                    })
                })
                .collect();
            workers
                .into_iter()
                .map(|one| one.join().expect("a worker"))
                .collect()
        });
        let winners: Vec<usize> = outcomes
            .iter()
            .filter(|one| one.1 == Some(0))
            .map(|one| one.0)
            .collect();
        assert_eq!(winners.len(), 1, "round {round}: {outcomes:?}");
        for (_, code, out) in outcomes.iter().filter(|one| one.1 != Some(0)) {
            assert_eq!(*code, Some(6), "round {round}: {out}");
            assert!(
                out.contains("task_held") && out.contains("worktree "),
                "{out}"
            );
        }
        let dir = &folders[winners[0] % 4];
        let done = s.call(LOOPX).cwd(dir).env("LOOPX_SESSION", "demo");
        done.args(&["task", "done"]).run().ok();
    }
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn b31_two_clones_that_did_one_task_apart_agree_on_whose_counts() {
    let all = Clones::sharing(2);
    all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    all.loopx(0, &["start", "--profile", "lite", "demo"]).ok();
    let write = |name: &str, text: &str| {
        std::fs::write(all.dir(0).join(".loopx/demo").join(name), text).expect("a file");
    };
    write("plan.md", PLAN);
    write("change/spec-delta.md", DELTA);
    write(
        "tasks.jsonl",
        &(task("T-1", &[], Some(&["true"])).to_string() + "\n"),
    );
    all.loopx(
        0,
        &["-s", "demo", "approve", "--enter", "--reason", "agreed"],
    )
    .ok();
    all.settle();
    for at in [0, 1] {
        all.git(at, &["checkout", "--quiet", "--detach"]).ok();
        all.loopx(at, &["-s", "demo", "take"]).ok();
        all.loopx(
            at,
            &[
                "-s",
                "demo",
                "task",
                "done",
                "--summary",
                &format!("by {at}"),
            ],
        )
        .ok();
    }
    all.settle();
    all.assert_agreed();
    let listed = all
        .loopx(0, &["-s", "demo", "--json", "task", "list"])
        .json();
    let row = &listed["tasks"][0];
    assert_eq!(row["status"], "completed");
    let beside: Vec<String> = row["beside"]
        .as_array()
        .expect("beside")
        .iter()
        .map(|one| text(&one["step"]))
        .collect();
    assert!(beside.contains(&"done".to_owned()), "{row:#}");
    // Whoever goes on has seen both.
    all.loopx(
        1,
        &[
            "-s",
            "demo",
            "task",
            "retry",
            "T-1",
            "--reason",
            "once more, together",
        ],
    )
    .ok();
    all.settle();
    let listed = all
        .loopx(0, &["-s", "demo", "--json", "task", "list"])
        .json();
    assert_eq!(listed["tasks"][0]["beside"], json!([]));
    all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
}
