//! Tasks that wait for the world: a time, a branch, a run, another session, a person. Each form holds by what is there
//! when somebody asks, and nothing is stored but what a person said.

use crate::support::keys::{ADA, everybody, key, use_key};
use crate::support::tasks::{
    DEMO, building, checkpoint, clones_building, planning, planning_with, refuses, row, statuses,
    statuses_in, take, task, text, with,
};
use crate::support::{Call, LOOPX, Sandbox};
use serde_json::{Value, json};

/// A task that waits for the world, with a check that passes at once.
fn waiting(id: &str, on: &[&str], waits: Value) -> Value {
    let mut task = task(id, on, Some(&["true"]));
    task["waits"] = waits;
    task
}

fn one(waits: Value) -> Sandbox {
    building(&[waiting("DEPLOY", &[], json!([waits]))])
}

/// Reason why the task is not ready, in the words of a refusal.
#[track_caller]
fn why(s: &Sandbox) -> String {
    let error = refuses(s, 1, "task_not_ready", &["take", "DEPLOY"]);
    text(&error["blockers"][0]["message"])
}

fn at<'a>(call: Call<'a>, time: &str) -> Call<'a> {
    call.env("GIT_AUTHOR_DATE", time)
        .env("GIT_COMMITTER_DATE", time)
}

#[test]
fn a_task_waits_until_its_time_has_come() {
    let s = one(json!({ "time": "2099-01-01T00:00:00Z" }));
    assert_eq!(why(&s), "2099-01-01T00:00:00Z");
    let stalled = refuses(&s, 1, "tasks_stalled", &["take"]);
    assert_eq!(
        stalled["blockers"][0]["message"],
        "DEPLOY (waits for 2099-01-01T00:00:00Z)"
    );
    let listed = row(&s, "DEPLOY");
    assert_eq!(
        (&listed["ready"], &listed["status"]),
        (&json!(false), &json!("pending"))
    );
    let wait = json!({ "for": "world", "time": "2099-01-01T00:00:00Z", "task": "DEPLOY", "why": "", "never": false });
    assert_eq!(listed["waits"], json!([wait]));
    s.loopx(&["task", "list"])
        .says("waits for 2099-01-01T00:00:00Z")
        .ok();
    s.loopx(&["task", "graph"])
        .says("waits for 2099-01-01T00:00:00Z")
        .ok();
    s.loopx(&["task", "show", "DEPLOY"])
        .says("waits   | 2099-01-01T00:00:00Z")
        .ok();
    s.loopx(&["next"])
        .fails_with(6)
        .says("DEPLOY waits for 2099-01-01T00:00:00Z");
    // The clock is that of whoever asks; a second earlier is too early.
    let peek = |time| at(s.call(LOOPX).args(&["take", "--peek", "--json"]), time).run();
    peek("@4070908799 +0000").fails_with(1);
    assert_eq!(peek("@4070908800 +0000").json()["card"]["task"], "DEPLOY");
    at(s.call(LOOPX).args(&["take"]), "@4070908800 +0000")
        .run()
        .ok();
    // A claim holds whatever the clock says to those who read it later.
    assert_eq!(statuses(&s)["DEPLOY"], "claimed");
    s.loopx(&["task", "done"]).ok();
}

/// A run that passed says nothing of what the task waits for, and the gate of the build does not pass it over.
#[test]
fn what_waits_is_not_done_by_a_run_that_passed() {
    let s = one(json!({ "time": "2099-01-01T00:00:00Z" }));
    s.commit_file("code.txt", "two\n", "Second").ok();
    s.loopx(&["run", "--task", "DEPLOY"]).ok();
    assert_eq!(statuses(&s)["DEPLOY"], "pending");
    let held = refuses(&s, 1, "build_review_gate_blocked", &["approve"]);
    let held = held["blockers"].as_array().expect("blockers").clone();
    assert!(
        held.iter().any(|one| one["code"] == "tasks_open"),
        "{held:#?}"
    );
}

#[test]
fn a_task_waits_for_a_commit_or_a_path_on_a_branch() {
    let s = one(json!({ "branch": "main", "contains": "topic" }));
    assert_eq!(why(&s), "topic on main: no commit here has this name");
    s.git(&["branch", "topic"]).ok();
    s.git(&["switch", "--quiet", "topic"]).ok();
    s.commit_file("src/x", "x\n", "A topic").ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    assert!(
        why(&s).starts_with("topic on main: the branch does not have it (since "),
        "{}",
        why(&s)
    );
    s.git(&["branch", "--force", "main", "topic"]).ok();
    assert_eq!(take(&s), "DEPLOY");

    let s = one(json!({ "branch": "origin/main", "path": "src/x" }));
    assert_eq!(
        why(&s),
        "src/x on origin/main: there is no such branch here"
    );
    let head = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["update-ref", "refs/remotes/origin/main", &head])
        .ok();
    assert!(why(&s).starts_with("src/x on origin/main: the branch does not have it"));
    s.commit_file("src/x", "x\n", "A path").ok();
    let head = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["update-ref", "refs/remotes/origin/main", &head])
        .ok();
    assert_eq!(take(&s), "DEPLOY");
}

#[test]
fn a_task_waits_for_a_run_on_the_code_as_it_is() {
    let s = building(&[
        task("TEST", &[], Some(&["true"])),
        waiting("DEPLOY", &[], json!([{ "evidence": "TEST" }])),
        waiting("TELL", &[], json!([{ "evidence": "soak" }])),
    ]);
    assert_eq!(why(&s), "a passing run of TEST: nobody ran it");
    s.loopx(&["run", "--task", "TEST"]).ok();
    s.loopx(&["take", "DEPLOY", "--peek"]).ok();
    s.write("code.txt", "other\n");
    assert!(why(&s).starts_with("a passing run of TEST: it ran on other code (since "));
    s.loopx(&["run", "--kind", "soak", "--", "false"])
        .fails_with(1);
    let error = refuses(&s, 1, "task_not_ready", &["take", "TELL"]);
    let said = text(&error["blockers"][0]["message"]);
    assert!(
        said.starts_with("a passing run of soak: it failed on this code"),
        "{said}"
    );
    s.loopx(&["run", "--kind", "soak", "--", "true"]).ok();
    s.loopx(&["take", "TELL"]).ok();
}

#[test]
fn a_run_by_a_role_is_one_that_its_key_signed() {
    let policy = format!("[approve.roles]\nci = [\"*{}*\"]\n", ADA.1);
    let files = [
        ("loopx.toml", policy.as_str()),
        ("loopx.signers", &everybody()),
    ];
    let tasks = [
        task("TEST", &[], Some(&["true"])),
        waiting("DEPLOY", &[], json!([{ "evidence": "TEST", "role": "ci" }])),
        waiting(
            "TELL",
            &[],
            json!([{ "evidence": "TEST", "role": "nobody" }]),
        ),
    ];
    let s = planning_with(&files, &tasks);
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    let error = refuses(&s, 1, "task_not_ready", &["take", "TELL"]);
    let said = text(&error["blockers"][0]["message"]);
    assert!(
        said.ends_with("policy has no such role in approve.roles"),
        "{said}"
    );
    assert_eq!(why(&s), "a passing run of TEST by ci: nobody ran it");
    // A run that nobody signed is nobody's.
    s.loopx(&["run", "--task", "TEST"]).ok();
    assert_eq!(why(&s), "a passing run of TEST by ci: nobody ran it");
    use_key(&s, key("bob"));
    s.loopx(&["run", "--sign", "--task", "TEST"]).ok();
    assert_eq!(why(&s), "a passing run of TEST by ci: nobody ran it");
    use_key(&s, key(ADA.2));
    s.loopx(&["run", "--sign", "--task", "TEST"]).ok();
    s.loopx(&["take", "DEPLOY"]).ok();
}

#[test]
fn a_task_waits_for_another_session_and_hears_when_that_never_comes() {
    let s = one(json!({ "session": "other", "stage": "review" }));
    assert_eq!(
        why(&s),
        "session other to be in stage review: there is no such session here"
    );
    s.git(&["switch", "--quiet", "-c", "elsewhere"]).ok();
    s.loopx(&["start", "--profile", "quick", "other"]).ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    let said = why(&s);
    assert!(
        said.starts_with("session other to be in stage review: it is in stage build (since "),
        "{said}"
    );
    let error = refuses(&s, 1, "task_not_ready", &["take", "DEPLOY"]);
    assert_eq!(error["help"], "git loopx status other");
    s.loopx(&["abandon", "other", "--reason", "no"]).ok();
    let said = why(&s);
    assert!(
        said.contains("it was abandoned, and will never be"),
        "{said}"
    );
    assert_eq!(row(&s, "DEPLOY")["waits"][0]["never"], true);
}

#[test]
fn a_task_waits_for_the_word_of_a_person_and_undo_takes_it_back() {
    let s = building(&[
        waiting("ANY", &[], json!([{ "person": "any" }])),
        waiting("DEPLOY", &[], json!([{ "person": "rita@example.org" }])),
        waiting("BEHIND", &["ANY"], json!([{ "person": "any" }])),
        task("FREE", &["BEHIND"], Some(&["true"])),
    ]);
    s.loopx(&["next"])
        .fails_with(6)
        .says("git loopx task open ANY --reason");
    let error = refuses(&s, 1, "task_not_ready", &["take", "ANY"]);
    assert_eq!(error["blockers"][0]["message"], "a person's word");
    assert!(text(&error["help"]).starts_with("git loopx task open ANY --reason"));
    // No agent says it.
    let open = ["--json", "task", "open", "ANY", "--reason", "go"];
    let agent = s.call(LOOPX).env("CLAUDECODE", "1").args(&open).run();
    agent.fails_with(6);
    let done = s.loopx(&open).json();
    assert_eq!(
        (&done["task"], &done["status"], &done["begins"]),
        (&json!("ANY"), &json!("pending"), &json!(true))
    );
    refuses(
        &s,
        1,
        "task_step_invalid",
        &["task", "open", "ANY", "--reason", "again"],
    );
    // Who is named says it, and nobody else; and not before what comes first is done.
    let other = refuses(
        &s,
        6,
        "checkpoint_open",
        &["task", "open", "DEPLOY", "--reason", "go"],
    );
    let said = text(&other["message"]);
    assert!(
        said.starts_with("DEPLOY waits for the word of rita@example.org, and you are Ada"),
        "{said}"
    );
    refuses(
        &s,
        1,
        "task_not_ready",
        &["task", "open", "BEHIND", "--reason", "go"],
    );
    refuses(
        &s,
        1,
        "task_step_invalid",
        &["task", "open", "FREE", "--reason", "go"],
    );
    let rita = s
        .call(LOOPX)
        .env("GIT_AUTHOR_EMAIL", "Rita@example.org")
        .env("GIT_AUTHOR_NAME", "R");
    rita.args(&["task", "open", "DEPLOY", "--reason", "go"])
        .run()
        .ok();
    assert_eq!(row(&s, "DEPLOY")["ready"], true);
    assert_eq!(take(&s), "ANY");
    s.loopx(&["task", "release"]).ok();
    assert_eq!(row(&s, "ANY")["ready"], true);
    // It is taken back like any other word, by who gave it.
    let s = one(json!({ "person": "any" }));
    s.loopx(&["task", "open", "DEPLOY", "--reason", "go"]).ok();
    assert_eq!(row(&s, "DEPLOY")["ready"], true);
    s.call(LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["undo"])
        .run()
        .fails_with(6);
    s.loopx(&["undo"]).ok();
    assert_eq!(why(&s), "a person's word");
    s.loopx(&["redo"]).ok();
    assert_eq!(row(&s, "DEPLOY")["ready"], true);
}

#[test]
fn a_checkpoint_that_names_a_person_is_opened_by_that_one() {
    let mut gate = checkpoint("GO", &[]);
    gate["waits"] = json!([{ "person": "Rita" }, { "time": "2099-01-01T00:00:00Z" }]);
    let s = building(&[gate, task("B", &["GO"], Some(&["true"]))]);
    let open = ["task", "open", "GO", "--reason", "seen"];
    refuses(&s, 6, "checkpoint_open", &open);
    let rita = || s.call(LOOPX).env("GIT_AUTHOR_NAME", "Rita").args(&open);
    rita().run().fails_with(1);
    at(rita(), "@4070908800 +0000").run().ok();
    assert_eq!(statuses(&s)["GO"], "completed");
    assert_eq!(take(&s), "B");
}

/// Words of a person go with the records; everything else each clone sees for itself.
#[test]
fn two_clones_agree_on_a_word_and_each_looks_at_its_own_branches() {
    let all = clones_building(
        2,
        &[
            waiting("WORD", &[], json!([{ "person": "any" }])),
            waiting(
                "PATH",
                &[],
                json!([{ "branch": "there", "path": "code.txt" }]),
            ),
        ],
    );
    let of = |at: usize, args: &[&str]| {
        let call = all.call(at).env("LOOPX_SESSION", DEMO);
        call.args(&["--json"]).args(args).run()
    };
    // Both say it apart, and one of them takes the task.
    of(0, &["task", "open", "WORD", "--reason", "here"]).ok();
    of(1, &["task", "open", "WORD", "--reason", "there"]).ok();
    of(1, &["take", "WORD"]).ok();
    all.git(1, &["branch", "there"]).ok();
    all.settle();
    all.assert_agreed();
    for at in 0..2 {
        assert_eq!(statuses_in(&of(at, &["task", "list"]))["WORD"], "claimed");
    }
    of(0, &["take", "PATH"]).fails_with(1);
    of(1, &["take", "PATH"]).ok();
    // The claim counts where the branch is not, too.
    all.settle();
    all.assert_agreed();
    assert_eq!(statuses_in(&of(0, &["task", "list"]))["PATH"], "claimed");
}

#[test]
fn what_cannot_be_understood_or_never_comes_holds_the_list() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    let found = |tasks: &[Value]| -> Vec<String> {
        let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
        s.write(
            format!(".loopx/{DEMO}/tasks.jsonl"),
            lines.join("\n") + "\n",
        );
        let out = s.loopx(&["--json", "task", "check"]).fails_with(1).json();
        let found = out["findings"].as_array().expect("findings").iter();
        found.map(|one| text(&one["id"])).collect()
    };
    for odd in [
        json!({ "time": "tomorrow" }),
        json!({ "time": "2026-12-01" }),
        json!({}),
        json!({ "times": "2026-12-01T00:00:00Z" }),
        json!({ "branch": "main" }),
        json!({ "branch": "main", "path": "a", "contains": "b" }),
        json!({ "branch": "main..x", "path": "a" }),
        json!({ "branch": "main", "contains": "HEAD~1" }),
        json!({ "session": "No Id", "stage": "done" }),
        json!({ "session": "other" }),
        json!({ "person": " " }),
        json!({ "person": "any", "role": "ci" }),
    ] {
        let tasks = [waiting("A", &[], json!([odd]))];
        assert_eq!(found(&tasks), ["task_wait_invalid"], "{odd}");
    }
    let other = json!({ "session": "other", "stage": "archive" });
    assert_eq!(
        found(&[waiting("A", &[], json!([other]))]),
        ["task_word_unknown"]
    );
    let outside = json!({ "branch": "main", "path": "../x" });
    assert_eq!(
        found(&[waiting("A", &[], json!([outside]))]),
        ["task_path_outside"]
    );
    assert_eq!(
        found(&[waiting("A", &[], json!("noon"))]),
        ["task_field_type"]
    );
    let circular = [
        vec![waiting("A", &[], json!([{ "evidence": "A" }]))],
        vec![waiting(
            "A",
            &[],
            json!([{ "session": DEMO, "stage": "build" }]),
        )],
        // What comes behind it, or in a later stage, does not run first.
        vec![
            waiting("A", &[], json!([{ "evidence": "B" }])),
            task("B", &["A"], Some(&["true"])),
        ],
        vec![
            waiting("A", &[], json!([{ "evidence": "B" }])),
            waiting("B", &[], json!([{ "evidence": "a" }])),
        ],
        vec![
            with(
                "A",
                &[],
                json!({ "kind": "checkpoint", "stage": "plan", "waits": [{ "evidence": "B" }] }),
            ),
            task("B", &[], Some(&["true"])),
        ],
    ];
    for tasks in circular {
        let found = found(&tasks);
        assert!(
            !found.is_empty() && found.iter().all(|id| id == "task_wait_circular"),
            "{tasks:?}: {found:?}"
        );
    }
    refuses(&s, 1, "plan_review_gate_blocked", &["approve"]);
}

/// A task that somebody has is made to wait for nothing, by an amendment either.
#[test]
fn an_amendment_lets_nothing_wait_that_is_taken() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
    ]);
    assert_eq!(take(&s), "A");
    let amended = |waits: &str| {
        let list = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
        let (id, with) = (
            format!("\"id\":\"{waits}\""),
            "\"waits\":[{\"person\":\"any\"}]",
        );
        s.write("new.jsonl", list.replace(&id, &format!("{id},{with}")));
        s.loopx(&["--json", "amend", "new.jsonl", "--reason", "wait"])
    };
    let refused = amended("A").fails_with(1).error_json();
    assert_eq!(refused["error"]["code"], "amend_barred");
    amended("B").ok();
    let error = refuses(&s, 1, "task_not_ready", &["take", "B"]);
    assert_eq!(error["blockers"][0]["message"], "a person's word");
}

/// Tasks that a fix inserts wait as it stands in the template, for the tasks that were inserted with them.
#[test]
fn what_a_decision_inserts_waits_for_what_was_inserted_with_it() {
    let repair = [
        task("mend", &[], Some(&["true"])),
        waiting(
            "tell",
            &["mend"],
            json!([{ "evidence": "mend" }, { "branch": "main", "path": "code.txt" }]),
        ),
    ];
    let gate = json!({ "kind": "decision", "gate": { "repair": repair } });
    let s = building(&[task("A", &[], Some(&["true"])), with("GATE", &["A"], gate)]);
    assert_eq!(take(&s), "A");
    s.loopx(&["task", "done"]).ok();
    s.loopx(&["task", "decide", "GATE", "--verdict", "fix"])
        .ok();
    let waits = row(&s, "GATE.1.tell")["waits"].clone();
    assert_eq!(waits[1]["evidence"], "GATE.1.mend", "{waits:#}");
    assert_eq!(waits[1]["why"], "nobody ran it", "{waits:#}");
    assert_eq!(waits[2], Value::Null, "the path is there: {waits:#}");
    assert_eq!(take(&s), "GATE.1.mend");
    s.loopx(&["task", "done"]).ok();
    assert_eq!(take(&s), "GATE.1.tell");
}
