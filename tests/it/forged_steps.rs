//! Steps of tasks that nobody could have taken, put on the remote's branch by plain git: a word before its time or by
//! another person, work before what it waits for or before its stage. They do not count, the list says why, and what was
//! honest stays, whatever happened since.

use crate::forged::{do_and_show, forged, loopx, newest, status_of, world_of};
use crate::hostile_sync::send;
use crate::support::clones::Clones;
use crate::support::tasks::{checkpoint, task, with};
use serde_json::{Value, json};

/// Puts a record by Mallory on the remote's branch, and takes it in. Gives its id.
fn forge(all: &Clones, fields: Value) -> String {
    send(all, &forged(all, fields, &[]));
    all.sync(0).ok();
    newest(all).1
}

fn open_by_hand(all: &Clones, id: &str) {
    let judged = results(all);
    let body = json!({"task": id, "judged": judged});
    forge(all, json!({"kind": "opened", "reason": "x", "body": body}));
}

/// The results of all tasks, as an honest word names them.
fn results(all: &Clones) -> Value {
    let log = loopx(all, &["--json", "task", "log"]).json();
    let rows = log["happened"].as_array();
    let rows = rows.into_iter().flatten();
    let done = rows.filter(|row| row["step"] == "done");
    let named = done.map(|row| {
        (
            row["task"].as_str().unwrap_or("").to_owned(),
            row["op"].clone(),
        )
    });
    Value::Object(named.collect())
}

/// Takes and completes a task as a person does who looked at it.
fn complete_by_hand(all: &Clones, id: &str) {
    let claim = json!({"owner": "01m8dcrd665m7z1wm1h882j3ht", "seconds": 7200});
    let body = json!({"task": id, "claim": claim});
    let claim = forge(
        all,
        json!({"kind": "claimed", "weight": "holds", "body": body}),
    );
    let tree = all.git(0, &["rev-parse", "HEAD^{tree}"]).line();
    let done = json!({"manual": true, "tree": tree});
    let body = json!({"task": id, "claim": claim, "done": done});
    forge(
        all,
        json!({"kind": "completed", "reason": "looked", "body": body}),
    );
}

fn back_to_plan(all: &Clones) {
    loopx(all, &["plan", "--reason", "the list is wrong"]).ok();
    all.settle();
}

fn build(all: &Clones) {
    loopx(all, &["approve", "--enter", "--reason", "agreed"]).ok();
    all.settle();
}

fn waiting(task: Value, waits: &Value) -> Value {
    let mut task = task;
    task["waits"] = json!([waits]);
    task
}

/// Conditions that are not there, and the words for them.
fn conditions() -> [(Value, &'static str); 3] {
    [
        (
            json!({"time": "2030-01-01T00:00:00Z"}),
            "2030-01-01T00:00:00Z",
        ),
        (json!({"person": "Zoe"}), "the word of Zoe"),
        (json!({"evidence": "T"}), "a passing run of T"),
    ]
}

#[test]
fn a_checkpoint_is_not_open_before_what_it_waits_for_outside_of_the_list() {
    for (waits, words) in conditions() {
        let all = world_of(&[
            task("T", &[], Some(&["true"])),
            waiting(checkpoint("C", &[]), &waits),
            task("B", &["C"], Some(&["true"])),
        ]);
        open_by_hand(&all, "C");
        assert_eq!(status_of(&all, "C"), "pending", "{waits}");
        loopx(&all, &["task", "list"]).says(&format!(
            "does not count: by the present list, C still waited then for {words}"
        ));
        loopx(&all, &["take", "B"]).fails_with(1).says("C");
        loopx(&all, &["fsck"]).says("`open` of C by Mallory").ok();
    }
    // It leads on.
    let all = world_of(&[
        task("T", &[], Some(&["true"])),
        waiting(checkpoint("C", &[]), &json!({"evidence": "T"})),
    ]);
    open_by_hand(&all, "C");
    loopx(&all, &["run", "--task", "T"]).ok();
    assert_eq!(status_of(&all, "C"), "pending");
    loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
    assert_eq!(status_of(&all, "C"), "completed");
    // The same run once more takes no word away.
    loopx(&all, &["run", "--task", "T"]).ok();
    assert_eq!(status_of(&all, "C"), "completed");
}

#[test]
fn a_decision_is_neither_made_nor_opened_before_what_it_waits_for() {
    for (waits, words) in conditions() {
        let gate = with("G", &[], json!({"kind": "decision"}));
        let all = world_of(&[
            task("T", &[], Some(&["true"])),
            waiting(gate, &waits),
            task("B", &["G"], Some(&["true"])),
        ]);
        let decision = json!({"verdict": "proceed", "came_to": "proceed", "judged": {}});
        let body = json!({"task": "G", "decision": decision});
        forge(
            &all,
            json!({"kind": "decided", "reason": "x", "body": body}),
        );
        assert_eq!(status_of(&all, "G"), "pending", "{waits}");
        loopx(&all, &["task", "list"]).says(&format!(
            "by the present list, G still waited then for {words}"
        ));
        let decision = json!({"verdict": "escalate", "came_to": "escalate", "judged": {}});
        let body = json!({"task": "G", "decision": decision});
        forge(
            &all,
            json!({"kind": "decided", "reason": "x", "body": body}),
        );
        open_by_hand(&all, "G");
        assert_eq!(status_of(&all, "G"), "pending", "{waits}");
        loopx(&all, &["take", "B"]).fails_with(1).says("G");
    }
}

/// Done work is taken from nobody: what looks like a forged result may be one of a clone that saw less.
#[test]
fn work_that_was_done_before_what_it_waits_for_counts_and_is_named() {
    let mut conditions: Vec<(Value, &str)> = conditions().to_vec();
    conditions.push((json!({"person": "any"}), "a person's word"));
    for (waits, words) in conditions {
        let all = world_of(&[
            task("T", &[], Some(&["true"])),
            waiting(task("M", &[], None), &waits),
        ]);
        complete_by_hand(&all, "M");
        assert_eq!(status_of(&all, "M"), "completed", "{waits}");
        loopx(&all, &["fsck"])
            .says("`done` of M by Mallory")
            .says(&format!("still waited then for {words}"))
            .ok();
    }
    // It is done anew by whoever looks at it.
    let all = world_of(&[task("A", &[], Some(&["true"])), task("M", &["A"], None)]);
    complete_by_hand(&all, "M");
    loopx(&all, &["fsck"])
        .says("should be looked at")
        .says("task show M")
        .ok();
    do_and_show(&all, "A");
    loopx(&all, &["task", "retry", "M"]).ok();
    loopx(&all, &["take", "M"]).ok();
    loopx(&all, &["task", "done", "M", "--manual", "--reason", "seen"]).ok();
    let checked = loopx(&all, &["fsck"]);
    assert!(!checked.stderr.contains("of M"), "{}", checked.stderr);
}

/// A landing rests on reviews, words and runs, and not on the order of tasks: `fsck` alone names that, on a server too.
#[test]
fn work_that_was_begun_too_early_is_named_by_fsck_on_the_server_and_by_no_verify() {
    let all = world_of(&[task("A", &[], Some(&["true"])), task("M", &["A"], None)]);
    complete_by_hand(&all, "M");
    let there = |args: &[&str]| all.call(0).cwd(all.remote()).args(args).run();
    let verified = loopx(&all, &["verify", "main..work"]);
    assert_eq!(verified.code, Some(0), "{verified}");
    assert!(!format!("{verified}").contains("Mallory"), "{verified}");
    there(&["fsck"])
        .says("`done` of M by Mallory")
        .says("should be looked at")
        .ok();
}

/// 10: an attempt that nobody could have made takes others along where the list says so, and is named like other results.
#[test]
fn an_attempt_that_failed_before_its_turn_counts_and_is_named() {
    let all = world_of(&[
        task("A", &[], None),
        with(
            "B",
            &["A"],
            json!({"cap": 1, "on_failed": "skip", "convergence": task("B", &[], None)["convergence"]}),
        ),
        task("D", &["B"], None),
    ]);
    let claim = json!({"owner": "01m8dcrd665m7z1wm1h882j3ht", "seconds": 7200});
    let claim = forge(
        &all,
        json!({"kind": "claimed", "weight": "holds", "body": {"task": "B", "claim": claim}}),
    );
    let body = json!({"task": "B", "claim": claim});
    forge(
        &all,
        json!({"kind": "failed", "weight": "holds", "reason": "bad", "body": body}),
    );
    assert_eq!(status_of(&all, "B"), "failed");
    assert_eq!(status_of(&all, "D"), "skipped");
    let named = "`fail` of B by Mallory";
    let whole = loopx(&all, &["fsck"]).says(named);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx -s demo fsck
    1 active session, all whole (1 looked at, 0 known from before, 9 commits)
    next: git loopx -s demo task show B
    --- stderr
    warning: commit 0000000000 is about no session, and changes demo
    warning: commit 0000000000 is about no session, and changes demo
    warning: demo: `fail` of B by Mallory (@6) should be looked at: by the present list, B still waited then for A (skipped)
    --- exit 0
    ");
    // What leads on takes nothing of anybody, and an honest attempt that fails is not named.
    loopx(&all, &["task", "retry", "B", "--reason", "nobody tried"]).ok();
    assert_eq!(status_of(&all, "D"), "pending");
    loopx(&all, &["take", "A"]).ok();
    loopx(&all, &["task", "done", "A", "--manual", "--reason", "seen"]).ok();
    loopx(&all, &["take", "B"]).ok();
    loopx(&all, &["task", "fail", "B", "--reason", "it does not work"]).ok();
    let checked = loopx(&all, &["fsck"]);
    assert!(!checked.stderr.contains("of B"), "{}", checked.stderr);
}

/// 15: what the list calls failed is refused as failed, and the refusal leads on.
#[test]
fn a_step_that_a_record_without_weight_bars_is_refused_by_what_the_list_says() {
    let all = world_of(&[task("A", &[], Some(&["true"]))]);
    complete_by_hand(&all, "A");
    assert_eq!(status_of(&all, "A"), "failed");
    let skip = ["task", "skip", "A", "--reason", "nobody needs it"];
    loopx(&all, &skip)
        .fails_with(1)
        .says("A failed: its record of a completion does not count")
        .says("task retry A");
    loopx(&all, &["task", "retry", "A", "--reason", "nobody did it"]).ok();
    loopx(&all, &skip).ok();
    assert_eq!(status_of(&all, "A"), "skipped");
}

/// R1, R9: the build is undone and entered again, and a waiver is said anew. Nothing that was done is lost by it.
#[test]
fn r1_done_work_stays_done_where_the_build_is_entered_again_or_a_waiver_is_said_anew() {
    let all = world_of(&[
        task("A", &[], Some(&["false"])),
        task("B", &["A"], None),
        task("D", &["B"], None),
    ]);
    let waive = ["build", "--waive", "A", "--reason", "it is known"];
    loopx(&all, &waive).ok();
    for id in ["B", "D"] {
        loopx(&all, &["take", id]).ok();
        loopx(&all, &["task", "done", id, "--manual", "--reason", "seen"]).ok();
    }
    let statuses = || ["B", "D"].map(|id| status_of(&all, id));
    loopx(&all, &["build", "--waive", "A", "--reason", "still"]).ok();
    assert_eq!(statuses(), ["completed"; 2]);
    back_to_plan(&all);
    build(&all);
    assert_eq!(statuses(), ["completed"; 2]);
    loopx(&all, &["undo"]).ok();
    build(&all);
    assert_eq!(statuses(), ["completed"; 2]);
}

#[test]
fn no_step_counts_that_was_taken_before_its_stage() {
    let wait = json!({"person": "any"});
    let all = world_of(&[
        checkpoint("C", &[]),
        task("M", &[], None),
        waiting(task("W", &[], None), &wait),
        with("G", &[], json!({"kind": "decision"})),
        task("B", &["C", "M", "G"], Some(&["true"])),
    ]);
    back_to_plan(&all);
    open_by_hand(&all, "C");
    complete_by_hand(&all, "M");
    let allowed = json!({"kind": "allowed", "reason": "x", "body": {"task": "W"}});
    forge(&all, allowed);
    let decision = json!({"verdict": "proceed", "came_to": "proceed", "judged": {}});
    let body = json!({"task": "G", "decision": decision});
    forge(
        &all,
        json!({"kind": "decided", "reason": "x", "body": body}),
    );
    build(&all);
    let found = ["C", "M", "G"].map(|id| status_of(&all, id));
    assert_eq!(found, ["pending", "completed", "pending"]);
    loopx(&all, &["take", "W"])
        .fails_with(1)
        .says("a person's word");
    loopx(&all, &["task", "list"]).says("by the present list, C still waited then for stage build");
    loopx(&all, &["task", "decide", "G", "--verdict", "proceed"]).ok();
    loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
    let found = ["C", "M", "G"].map(|id| status_of(&all, id));
    assert_eq!(found, ["completed"; 3]);
}

#[test]
fn what_was_done_in_its_turn_stays_done_whatever_happens_before_it() {
    let all = world_of(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
        with("G", &["B"], json!({"kind": "decision"})),
        task("D", &["G"], None),
        waiting(task("W", &["D"], None), &json!({"person": "any"})),
        checkpoint("C", &["W"]),
    ]);
    do_and_show(&all, "A");
    do_and_show(&all, "B");
    loopx(&all, &["task", "decide", "G", "--verdict", "proceed"]).ok();
    let manual = |id: &str| {
        loopx(&all, &["take", id]).ok();
        loopx(&all, &["task", "done", id, "--manual", "--reason", "seen"]).ok();
    };
    manual("D");
    loopx(&all, &["task", "open", "W", "--reason", "go"]).ok();
    manual("W");
    loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
    let statuses = || ["B", "D", "W"].map(|id| status_of(&all, id));
    // It is done anew, and decided anew.
    loopx(&all, &["task", "retry", "A"]).ok();
    assert_eq!(statuses(), ["completed"; 3]);
    do_and_show(&all, "A");
    loopx(&all, &["task", "retry", "B"]).ok();
    do_and_show(&all, "B");
    assert_eq!(status_of(&all, "G"), "pending");
    assert_eq!(statuses(), ["completed"; 3]);
    let fix = ["task", "decide", "G", "--verdict", "fix", "--reason", "x"];
    loopx(&all, &fix).ok();
    assert_eq!(statuses(), ["completed"; 3]);
    // The session goes back, the list is another one, and comes again.
    back_to_plan(&all);
    assert_eq!(statuses(), ["completed"; 3]);
    build(&all);
    assert_eq!(statuses(), ["completed"; 3]);
    let list = loopx(&all, &["--json", "task", "list"]).json();
    let rows = list["tasks"].as_array().expect("tasks");
    assert!(rows.iter().all(|row| row["early"].is_null()), "{list:#}");
    all.settle();
    all.assert_agreed();
}

/// A task that a run alone completed has no record of its own that a word could name.
#[test]
fn a_word_before_the_run_that_completes_what_it_is_about_does_not_count() {
    let list = [
        task("A", &[], Some(&["true"])),
        checkpoint("C", &["A"]),
        task("B", &["C"], Some(&["true"])),
    ];
    let all = world_of(&list);
    open_by_hand(&all, "C");
    loopx(&all, &["run", "--task", "A"]).ok();
    assert_eq!(status_of(&all, "A"), "completed");
    assert_eq!(status_of(&all, "C"), "pending");
    loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
    assert_eq!(status_of(&all, "C"), "completed");
    // The same run once more, one that fails, and other code.
    loopx(&all, &["run", "--task", "A"]).ok();
    loopx(&all, &["run", "--", "true"]).ok();
    assert_eq!(status_of(&all, "C"), "completed");
}
