//! Tasks: taken by one, completed by what passed, and the gate of their stage. Rules of the graph and of merging have
//! their tests beside them; here the real program meets the session, the worktree and other processes.

use crate::support::store::detached;
use crate::support::tasks::{building, clones_building, planning, refuses, statuses, task, text};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

/// Three tasks: the first passes where `FILE` is there, the second waits for it, a person looks at the third.
fn three() -> Sandbox {
    building(&[
        task("T-1", &[], Some(&["test", "-f", "one.txt"])),
        task("T-2", &["t-1"], Some(&["true"])),
        task("T-3", &["T-1"], None),
    ])
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
    let advice = taken["advice"].as_str().expect("advice");
    assert!(
        advice.ends_with("; then: git loopx task done T-1"),
        "{advice}"
    );
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
    let (ran, steps): (Vec<_>, Vec<_>) = steps.into_iter().partition(|one| one.starts_with("run"));
    assert_eq!(ran, ["run T-1", "run T-1", "run T-2"]);
    assert_eq!(steps, ["take T-1", "done T-1", "take T-3", "done T-3"]);
    s.loopx(&["undo", "1"]).ok();
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
    let review = ["approve", "--to", "review"];
    let held = refuses(&s, 1, "build_review_gate_blocked", &review);
    assert_eq!(held["blockers"][0]["code"], "tasks_open");
    let next = s.loopx(&["next", "--json"]).json();
    assert_eq!(next["next_action"], "git loopx task retry T-2");
    s.loopx(&["task", "retry", "T-2"]).ok();
    // What ran before it was to be done again proves nothing of it.
    assert_eq!(codes(&s), ["completion_audit_blocked"]);
    s.loopx(&["run"]).ok();
    assert_eq!(codes(&s), Vec::<String>::new());
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(status["tasks"], Value::Null);
}

#[test]
fn a_task_that_failed_as_often_as_it_may_waits_for_a_person() {
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
    let listed = s.loopx(&["task", "list", "--json"]).json();
    assert_eq!(
        (&listed["stalled"], &listed["done"]),
        (&json!(true), &json!(0)),
        "nothing ready is not the end"
    );
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
        &["task", "release", "T-1"],
        &["task", "skip", "T-1", "--reason", "x"],
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
fn b31_two_clones_that_did_one_task_apart_agree_on_whose_counts() {
    let all = clones_building(2, &[task("T-1", &[], Some(&["true"]))]);
    for at in [0, 1] {
        all.loopx(at, &["-s", "demo", "take"]).ok();
        all.loopx(
            at,
            &[
                "-s",
                "demo",
                "task",
                "done",
                "--trust",
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

#[test]
fn j7_a_task_is_committed_with_its_own_files_alone_and_a_refused_commit_completes_nothing() {
    let of = |id: &str, kind: &str, files: &[&str]| {
        let mut task = task(id, &[], Some(&["true"]));
        task["type"] = json!(kind);
        task["files"] = json!(files);
        task
    };
    let s = building(&[
        of("T-1", "fix", &["src", "gone.txt"]),
        of("T-2", "testing", &["src/a.txt"]),
        of("T-3", "feature", &[]),
        of("T-4", "feature", &["deep/new/x.txt"]),
    ]);
    s.write("src/a.txt", "a\n");
    s.write("other.txt", "not of it\n");
    s.loopx(&["take", "T-1"]).ok();
    s.script(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho nobody commits today >&2\nexit 1\n",
    );
    s.loopx(&["run", "--task", "T-1"]).ok();
    let refused = refuses(&s, 1, "task_not_committed", &["task", "done", "--commit"]);
    assert!(
        text(&refused["message"]).ends_with(": nobody commits today"),
        "{refused}"
    );
    assert_eq!(statuses(&s)["T-1"], "claimed");
    let as_before = s.git(&["status", "--porcelain"]).ok();
    assert_eq!(as_before, "?? other.txt\n?? src/\n");
    std::fs::remove_file(s.path().join(".git/hooks/pre-commit")).expect("a hook");
    let done = s.loopx(&["task", "done", "--commit", "--json"]).json();
    assert_eq!(done["code_commit"], s.git(&["rev-parse", "HEAD"]).line());
    let message = s.git(&["log", "-1", "--format=%B"]).ok();
    assert!(
        message.starts_with("fix: Do T-1\n") && message.contains("Loopx-Task: T-1"),
        "{message}"
    );
    assert_eq!(s.git(&["status", "--porcelain"]).line(), "?? other.txt");
    s.loopx(&["take", "T-2"]).ok();
    let done = s.loopx(&["task", "done", "--commit", "--json"]).json();
    assert_eq!(done["code_commit"], Value::Null, "nothing of it differs");
    s.loopx(&["take", "T-3"]).ok();
    s.loopx(&["run", "--task", "T-3"]).ok();
    refuses(&s, 1, "task_not_committed", &["task", "done", "--commit"]);
    s.loopx(&["task", "done"]).ok();
    // Of a folder that git does not know, only what the plan names.
    s.write("deep/new/x.txt", "x\n");
    s.write("deep/new/y.txt", "y\n");
    s.loopx(&["take", "T-4"]).ok();
    s.loopx(&["task", "done", "--commit"]).ok();
    let committed = s.git(&["show", "--format=", "--name-only", "HEAD"]).line();
    assert_eq!(committed, "deep/new/x.txt");
}

#[test]
fn a_task_is_not_taken_before_its_stage_also_where_the_list_is_not_saved_yet() {
    let s = planning(&[task("T-1", &[], Some(&["true"]))]);
    let waits = refuses(&s, 1, "task_not_ready", &["take", "T-1"]);
    assert_eq!(waits["blockers"][0]["message"], "stage build");
}

#[test]
fn an_agent_brings_no_word_of_a_task_back_and_takes_no_failed_attempt_away() {
    let s = three();
    let agent = |args: &[&str]| {
        let call = s.call(LOOPX).args(args);
        call.env("CLAUDECODE", "1").run()
    };
    s.loopx(&["task", "skip", "T-2", "--reason", "not now"])
        .ok();
    s.loopx(&["undo"]).ok();
    agent(&["redo"])
        .fails_with(6)
        .says("bringing back a record that needed a person");
    assert_eq!(statuses(&s)["T-2"], "pending");
    s.loopx(&["take", "T-1"]).ok();
    s.loopx(&["task", "fail", "--reason", "no"]).ok();
    agent(&["undo"]).fails_with(6);
    assert_eq!(statuses(&s)["T-1"], "failed");
    s.loopx(&["undo"]).ok();
    assert_eq!(statuses(&s)["T-1"], "claimed");
}

#[test]
fn an_agent_takes_back_its_own_retry_while_nothing_came_after_it() {
    let s = three();
    let agent = |args: &[&str]| {
        let call = s.call(LOOPX).args(args);
        call.env("CLAUDECODE", "1").run()
    };
    s.write("one.txt", "one\n");
    agent(&["take", "T-1"]).ok();
    agent(&["task", "done"]).ok();
    agent(&["task", "retry", "T-1"]).ok();
    agent(&["undo"]).ok();
    assert_eq!(statuses(&s)["T-1"], "completed");
    // That of a person stays, and so does one that something rests on.
    s.loopx(&["task", "retry", "T-1"]).ok();
    agent(&["undo"]).fails_with(6);
    s.loopx(&["undo"]).ok();
    agent(&["task", "retry", "T-1"]).ok();
    agent(&["take", "T-1"]).ok();
    agent(&["undo"]).fails_with(5);
    agent(&["undo", "1"]).fails_with(6);
}

#[test]
fn a_persons_word_on_a_task_holds_for_the_code_that_they_looked_at() {
    let s = building(&[task("T-1", &[], None)]);
    s.commit_file("code.txt", "two\n", "Second").ok();
    let taken = s.loopx(&["take", "--json"]).json();
    assert_eq!(
        taken["advice"],
        "no command checks T-1: look at the result yourself, and record what you saw: \
         git loopx task done T-1 --manual --reason 'it was looked at by hand'"
    );
    s.loopx(&["task", "done", "--manual", "--reason", "it reads well"])
        .ok();
    let list = s.loopx(&["task", "list"]).ok();
    assert!(!list.contains("proven again"), "{list}");
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--show"]).ok();
    s.commit_file("code.txt", "three\n", "Third").ok();
    s.loopx(&["run", "--", "true"]).ok();
    let list = s.loopx(&["task", "list"]).ok();
    assert!(list.contains("proven again"), "{list}");
    let held = refuses(
        &s,
        1,
        "build_review_gate_blocked",
        &["approve", "--to", "review"],
    );
    assert!(held["blockers"].to_string().contains("T-1"), "{held:#}");
    s.loopx(&["build", "--waive", "T-1", "--reason", "it still reads well"])
        .ok();
    s.loopx(&["approve", "--to", "review"]).ok();
}

/// The rule for a run holds for a task: another branch's code proves nothing, and on a detached HEAD it is said.
#[test]
fn a_task_is_done_on_the_code_of_its_session() {
    let s = building(&[
        task("T-1", &[], None),
        task("T-2", &[], Some(&["true"])),
        task("T-3", &[], Some(&["true"])),
    ]);
    for id in ["T-1", "T-2", "T-3"] {
        s.loopx(&["take", id]).ok();
    }
    s.commit_file("code.txt", "two\n", "Second").ok();
    let own = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["switch", "--quiet", "-c", "other", "HEAD~1"]).ok();
    s.commit_file("other.txt", "other\n", "Another change").ok();
    let manual = [
        "-s", "demo", "task", "done", "T-1", "--manual", "--reason", "seen",
    ];
    refuses(&s, 1, "branch_mismatch", &manual);
    let run = ["-s", "demo", "task", "done", "T-2"];
    refuses(&s, 1, "branch_mismatch", &run);
    let done = |at: &str, id: &str| {
        s.git(&["checkout", "--quiet", "--detach", at]).ok();
        let out = s.loopx(&["--json", "-s", "demo", "task", "done", id]);
        let json = out.json();
        (json["warning"].clone(), out.stderr.clone())
    };
    let (warning, stderr) = done("other", "T-2");
    assert!(text(&warning).contains("which is not on work"), "{warning}");
    assert!(stderr.contains("warning: HEAD is detached at"), "{stderr}");
    let (warning, stderr) = done(&own, "T-3");
    assert_eq!((warning, stderr.contains("warning:")), (Value::Null, false));
}
