//! Records and files that no command writes, put on the remote's branch by plain git: nothing of them counts, in `sync`,
//! in the hook, in `fsck` and where tasks are judged; and what is said of them leads on.

use crate::hostile_sync::{blob, git, put_files, send};
use crate::support::LOOPX;
use crate::support::clones::Clones;
use crate::support::forge::record;
use crate::support::server::HOOK;
use crate::support::tasks::{DEMO, clones_building, refuses, task, text, with};
use serde_json::{Value, json};
use std::fs;

/// Two clones of a session in the build.
fn world() -> Clones {
    world_of(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
        task("M", &[], None),
        task("C", &["M"], None),
    ])
}

pub(crate) fn world_of(tasks: &[Value]) -> Clones {
    Clones::once(format!("{tasks:?}"), || {
        let all = clones_building(2, tasks);
        for at in 0..2 {
            all.git(at, &["config", "loopx.trust", "all"]).ok();
        }
        all
    })
}

/// The newest record of the session on the remote's branch, and its id.
pub(crate) fn newest(all: &Clones) -> (Value, String) {
    git(all, &["fetch", "--quiet", "origin"]).run().ok();
    let folder = format!("sessions/{DEMO}/ops");
    let args = ["ls-tree", "-r", "--name-only", "origin/loopx", &folder];
    let listed = git(all, &args).run().ok();
    let mut paths: Vec<&str> = listed
        .lines()
        .filter(|path| path.ends_with(".json"))
        .collect();
    paths.sort_unstable();
    let path = paths.last().expect("a record");
    let shown = git(all, &["show", &format!("origin/loopx:{path}")])
        .run()
        .ok();
    let id = path
        .rsplit('-')
        .next()
        .expect("an id")
        .trim_end_matches(".json");
    (
        serde_json::from_str(&shown).expect("a record"),
        id.to_owned(),
    )
}

/// The tree of the branch with one more record of these fields, and these files.
pub(crate) fn forged(all: &Clones, fields: Value, files: &[(&str, &[u8])]) -> String {
    let (last, id) = newest(all);
    let mut op = json!({
        "format": 2, "seq": last["seq"].as_u64().expect("a number") + 1, "after": [id],
        "entity": last["entity"], "tx": "01jzzzzzzzzzzzzzzzzzzzzzzz", "at": "2027-01-01T00:00:00Z",
        "by": {"name": "Mallory", "email": "m@example.org"}, "topic": "task", "weight": "opens", "needs": "0.5",
    });
    if let (Some(op), Value::Object(fields)) = (op.as_object_mut(), fields) {
        op.extend(fields);
    }
    let (name, bytes) = record(&op);
    let seq = op["seq"].as_u64().expect("a number");
    let path = format!("sessions/{DEMO}/ops/{seq:08}-{name}.json");
    let mut all_files: Vec<(&str, &[u8])> = vec![(&path, &bytes)];
    all_files.extend(files);
    put_files(all, &all_files)
}

/// Refused by the hook.
#[track_caller]
fn no_server_takes(all: &Clones, tree: &str, said: &str) {
    let hook = all.remote().join("hooks/pre-receive");
    all.s.script(&hook, HOOK);
    let args = ["commit-tree", tree, "-p", "origin/loopx", "-m", "x"];
    let commit = git(all, &args).run().line();
    let spec = format!("{commit}:refs/heads/loopx");
    let args = ["push", "--quiet", "--no-verify", "origin", &spec];
    git(all, &args)
        .run()
        .fails_with(1)
        .says("sessions_invalid")
        .says(said);
    fs::remove_file(&hook).expect("a hook");
}

pub(crate) fn loopx(all: &Clones, args: &[&str]) -> crate::support::Output {
    let own = [&["-s", DEMO], args].concat();
    all.loopx(0, &own)
}

pub(crate) fn status_of(all: &Clones, id: &str) -> String {
    let listed = loopx(all, &["--json", "task", "list"]).json();
    let mut rows = listed["tasks"].as_array().expect("tasks").iter();
    let row = rows.find(|row| row["task"] == id).expect("the task");
    text(&row["status"])
}

/// An edit of the list that was approved: the record, and the file.
fn forged_save(all: &Clones, fields: Value) -> String {
    let path = format!("sessions/{DEMO}/tasks.jsonl");
    newest(all);
    let shown = git(all, &["show", &format!("origin/loopx:{path}")])
        .run()
        .ok();
    let evil = shown.replace("[\"true\"]", "[\"sh\",\"-c\",\"echo owned\"]");
    assert_ne!(evil, shown);
    let from = git(all, &["rev-parse", &format!("origin/loopx:{path}")])
        .run()
        .line();
    let to = blob(all, evil.as_bytes());
    let mut op = json!({"topic": "session", "kind": "saved", "needs": "0.2", "files": {"tasks.jsonl": {"from": from, "to": to}}});
    if let (Some(op), Value::Object(fields)) = (op.as_object_mut(), fields) {
        op.extend(fields);
    }
    forged(all, op, &[(&path, evil.as_bytes())])
}

#[test]
fn an_edit_of_what_is_closed_is_kept_aside_whoever_wrote_it_and_whatever_it_is_called() {
    let claim = json!({"owner": "x", "seconds": 60});
    for (went_on, fields) in [
        (false, json!({})),
        (true, json!({})),
        (
            false,
            json!({"by": {"name": "Person 0", "email": "p0@example.org"}}),
        ),
        (
            false,
            json!({"topic": "log", "kind": "resolved", "body": {}}),
        ),
        (
            false,
            json!({"topic": "task", "kind": "claimed", "weight": "holds", "needs": "0.5", "body": {"task": "A", "claim": claim}}),
        ),
    ] {
        let all = world();
        if went_on {
            loopx(&all, &["run", "--", "true"]).ok();
        }
        let before = loopx(&all, &["cat", "tasks.jsonl"]).ok();
        let tree = forged_save(&all, fields.clone());
        no_server_takes(&all, &tree, DEMO);
        send(&all, &tree);
        all.sync(0).fails_with(3).says("conflict");
        assert_eq!(
            loopx(&all, &["cat", "tasks.jsonl"]).ok(),
            before,
            "{fields}"
        );
        loopx(&all, &["status"]).says("tasks.jsonl is closed in stage build");
        let ran = loopx(&all, &["run", "--task", "A"]);
        assert!(!ran.to_string().contains("owned"), "{ran}");
        loopx(&all, &["fsck", "--full"]).says("all whole").ok();
        // It leads on.
        let listed = loopx(&all, &["--json", "resolve"]).json();
        let op = text(&listed["operations"][0]["op"]);
        loopx(&all, &["resolve", "--drop", &op]).ok();
        all.settle();
        all.assert_agreed();
        assert_eq!(
            all.loopx(1, &["-s", DEMO, "cat", "tasks.jsonl"]).ok(),
            before
        );
    }
}

#[test]
fn a_word_without_a_reason_does_not_count() {
    let mut waiting = task("W", &[], None);
    waiting["waits"] = json!([{"person": "any"}]);
    let words = [
        ("skipped", "A", ""),
        ("opened", "C", " \t"),
        ("allowed", "W", ""),
    ];
    for (word, id, blank) in words {
        let all = world_of(&[
            task("A", &[], None),
            with("C", &["A"], json!({"kind": "checkpoint"})),
            with("W", &[], waiting.clone()),
        ]);
        for args in [["skip", "A"], ["open", "C"]] {
            let args = [&["task"], &args[..], &["--reason", blank]].concat();
            loopx(&all, &args).fails_with(2);
        }
        let record = json!({"kind": word, "reason": blank, "body": {"task": id}});
        send(&all, &forged(&all, record, &[]));
        all.sync(0).fails_with(3);
        assert_eq!(status_of(&all, id), "pending");
        loopx(&all, &["status"]).says(&format!("of {id} needs a reason, and has none"));
    }
}

/// Two tasks of which the second waits for a person's look at the first.
fn checkpoint() -> Clones {
    world_of(&[
        task("A", &[], Some(&["true"])),
        with("C", &["A"], json!({"kind": "checkpoint"})),
        task("B", &["C"], Some(&["true"])),
    ])
}

pub(crate) fn do_and_show(all: &Clones, id: &str) {
    loopx(all, &["take", id]).ok();
    loopx(all, &["task", "done", id]).ok();
}

#[test]
fn a_checkpoint_that_was_opened_before_there_was_something_to_see_is_not_open() {
    for judged in [json!({}), json!({"A": "1".repeat(40)})] {
        let all = checkpoint();
        let opened =
            json!({"kind": "opened", "reason": "x", "body": {"task": "C", "judged": judged}});
        send(&all, &forged(&all, opened, &[]));
        all.sync(0).ok();
        assert_eq!(status_of(&all, "C"), "pending", "{judged}");
        do_and_show(&all, "A");
        assert_eq!(status_of(&all, "C"), "pending", "{judged}");
        loopx(&all, &["take", "B"]).fails_with(1).says("C");
        // It leads on.
        loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
        do_and_show(&all, "B");
    }
}

#[test]
fn a_checkpoint_is_not_open_before_its_own_parts_are_done() {
    let mut part = task("A", &[], Some(&["true"]));
    part["parent"] = json!("C");
    let all = world_of(&[
        with("C", &[], json!({"kind": "checkpoint"})),
        part,
        task("B", &["C"], Some(&["true"])),
    ]);
    let opened = json!({"kind": "opened", "reason": "x", "body": {"task": "C"}});
    send(&all, &forged(&all, opened, &[]));
    all.sync(0).ok();
    assert_eq!(status_of(&all, "C"), "pending");
    loopx(&all, &["take", "B"]).fails_with(1).says("C");
}

#[test]
fn a_decision_is_not_open_before_the_tasks_that_it_waits_for_are_done() {
    let all = world_of(&[
        task("A", &[], Some(&["true"])),
        with("G", &["A"], json!({"kind": "decision"})),
        task("B", &["G"], None),
    ]);
    let tree = all.git(0, &["rev-parse", "HEAD^{tree}"]).line();
    let decision = json!({"came_to": "escalate", "judged": {}, "tree": tree});
    let decided =
        json!({"kind": "decided", "reason": "x", "body": {"task": "G", "decision": decision}});
    send(&all, &forged(&all, decided, &[]));
    all.sync(0).ok();
    let opened = json!({"kind": "opened", "reason": "x", "body": {"task": "G", "judged": {}}});
    send(&all, &forged(&all, opened, &[]));
    all.sync(0).ok();
    assert_eq!(status_of(&all, "G"), "pending");
    loopx(&all, &["take", "B"]).fails_with(1).says("G");
}

#[test]
fn a_person_is_asked_again_where_what_they_let_pass_is_done_anew() {
    let all = checkpoint();
    do_and_show(&all, "A");
    loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
    assert_eq!(status_of(&all, "C"), "completed");
    loopx(&all, &["task", "retry", "A"]).ok();
    assert_eq!(status_of(&all, "C"), "pending");
    do_and_show(&all, "A");
    assert_eq!(status_of(&all, "C"), "pending");
    loopx(&all, &["task", "list"]).says("has to look again");
    loopx(&all, &["take", "B"]).fails_with(1);
    loopx(&all, &["task", "open", "C", "--reason", "seen again"]).ok();
    do_and_show(&all, "B");
    // Who takes the retry back has the word of before.
    let all = checkpoint();
    do_and_show(&all, "A");
    loopx(&all, &["task", "open", "C", "--reason", "seen"]).ok();
    loopx(&all, &["task", "retry", "A"]).ok();
    loopx(&all, &["undo"]).ok();
    assert_eq!(status_of(&all, "C"), "completed");
}

#[test]
fn a_word_that_a_task_may_begin_counts_for_what_its_giver_saw() {
    let mut waiting = task("W", &["A"], None);
    waiting["waits"] = json!([{"person": "any"}]);
    let list = [
        task("A", &[], Some(&["true"])),
        waiting,
        task("B", &["W"], None),
    ];
    for judged in [json!({}), json!({"A": "1".repeat(40)})] {
        let all = world_of(&list);
        let said =
            json!({"kind": "allowed", "reason": "x", "body": {"task": "W", "judged": judged}});
        send(&all, &forged(&all, said, &[]));
        all.sync(0).ok();
        do_and_show(&all, "A");
        loopx(&all, &["take", "W"])
            .fails_with(1)
            .says("a person's word");
        // It leads on, and counts until what was looked at is done anew.
        loopx(&all, &["task", "open", "W", "--reason", "seen"]).ok();
        loopx(&all, &["take", "W", "--peek"]).ok();
        loopx(&all, &["task", "retry", "A"]).ok();
        do_and_show(&all, "A");
        loopx(&all, &["take", "W"]).fails_with(1);
        loopx(&all, &["task", "open", "W", "--reason", "seen again"]).ok();
        loopx(&all, &["take", "W"]).ok();
    }
    // A program before 0.6 named no results: what was there before the word is what its giver saw.
    let all = world_of(&list);
    do_and_show(&all, "A");
    all.settle();
    let said = json!({"kind": "allowed", "reason": "x", "body": {"task": "W"}});
    send(&all, &forged(&all, said, &[]));
    all.sync(0).ok();
    loopx(&all, &["take", "W", "--peek"]).ok();
    loopx(&all, &["task", "retry", "A"]).ok();
    do_and_show(&all, "A");
    loopx(&all, &["take", "W"]).fails_with(1);
}

#[test]
fn a_person_is_asked_again_where_what_stands_further_up_is_done_anew() {
    let all = world_of(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
        with("C", &["B"], json!({"kind": "checkpoint"})),
        task("D", &["C"], Some(&["true"])),
        with("E", &["D"], json!({"kind": "checkpoint"})),
        task("F", &["E"], None),
    ]);
    let open = |id: &str| loopx(&all, &["task", "open", id, "--reason", "seen"]).ok();
    do_and_show(&all, "A");
    do_and_show(&all, "B");
    open("C");
    do_and_show(&all, "D");
    open("E");
    loopx(&all, &["take", "F", "--peek"]).ok();
    loopx(&all, &["task", "retry", "A"]).ok();
    assert_eq!(status_of(&all, "C"), "pending");
    do_and_show(&all, "A");
    assert_eq!(status_of(&all, "C"), "pending");
    loopx(&all, &["task", "list"]).says("has to look again");
    loopx(&all, &["take", "F"]).fails_with(1);
    // Who looked again at the first one looks at the second one, too.
    open("C");
    assert_eq!(status_of(&all, "E"), "pending");
    open("E");
    loopx(&all, &["take", "F", "--peek"]).ok();
}

#[test]
fn a_word_opens_no_gate_that_nobody_judged() {
    for kind in ["decision", "goal"] {
        let all = world_of(&[
            task("A", &[], Some(&["true"])),
            with("G", &["A"], json!({"kind": kind})),
            task("B", &["G"], None),
        ]);
        do_and_show(&all, "A");
        loopx(&all, &["task", "open", "G", "--reason", "x"]).fails_with(1);
        all.settle();
        let (_, done) = newest(&all);
        let opened =
            json!({"kind": "opened", "reason": "x", "body": {"task": "G", "judged": {"A": done}}});
        send(&all, &forged(&all, opened, &[]));
        all.sync(0).ok();
        assert_eq!(status_of(&all, "G"), "pending", "{kind}");
        assert_eq!(status_of(&all, "B"), "pending", "{kind}");
        let decide = [
            "task",
            "decide",
            "G",
            "--verdict",
            "escalate",
            "--reason",
            "x",
        ];
        loopx(&all, &decide).ok();
        loopx(&all, &["task", "open", "G", "--reason", "seen"]).ok();
        assert_eq!(status_of(&all, "G"), "completed", "{kind}");
    }
}

#[test]
fn a_rating_that_is_none_does_not_count() {
    let all = world_of(&[
        task("A", &[], Some(&["true"])),
        with(
            "V",
            &["A"],
            json!({"kind": "decision", "gate": {"views": ["risk", "product"]}}),
        ),
        task("B", &["V"], None),
    ]);
    do_and_show(&all, "A");
    all.settle();
    for rating in [0, 6, 255] {
        let (_, done) = newest(&all);
        let decision = json!({"ratings": [{"view": "risk", "rating": rating}, {"view": "product", "rating": 3}], "judged": {"A": done}});
        let decided =
            json!({"kind": "decided", "reason": "x", "body": {"task": "V", "decision": decision}});
        send(&all, &forged(&all, decided, &[]));
        all.sync(0).ok();
        assert_ne!(status_of(&all, "V"), "completed", "{rating}");
    }
    // No card says what follows from it, and the log says what it is.
    let card = loopx(&all, &["task", "show", "B"]).ok();
    assert!(!card.contains("255"), "{card}");
    let log = loopx(&all, &["log", "--decisions", "--json"]).json();
    let last = log["decisions"].as_array().expect("decisions").last();
    let last = last.expect("the decision");
    assert_eq!(last["severity"], Value::Null, "{last:#}");
    let why = "does not count: expected ratings from 1 to 5, found 255 of `risk`";
    assert_eq!(last["why"], json!([why]), "{last:#}");
}

#[test]
fn a_record_that_does_not_say_what_it_comes_after_is_refused() {
    let all = world();
    let skip = json!({"kind": "skipped", "after": [], "reason": "x", "body": {"task": "A"}});
    let tree = forged(&all, skip, &[]);
    no_server_takes(&all, &tree, DEMO);
    send(&all, &tree);
    all.sync(0)
        .fails_with(1)
        .says("does not say what it comes after");
}

#[test]
fn work_that_a_command_proves_is_done_by_no_word() {
    let tree = "85aeaecd9fc2f6eb0528d194ad8f974196192e26";
    for done in [json!({"tree": tree, "manual": true}), json!({})] {
        let all = world();
        all.loopx(1, &["-s", DEMO, "take", "A"]).ok();
        all.sync(1).ok();
        let (_, claim) = newest(&all);
        let completed = json!({"kind": "completed", "reason": "x", "body": {"task": "A", "claim": claim, "done": done}});
        send(&all, &forged(&all, completed, &[]));
        all.sync(0).ok();
        assert_eq!(status_of(&all, "A"), "failed", "{done}");
        assert_eq!(status_of(&all, "B"), "pending");
        loopx(&all, &["task", "list"])
            .says("that record does not count")
            .says("waits for A");
        // It leads on.
        loopx(&all, &["task", "retry", "A"]).ok();
        loopx(&all, &["take", "A"]).ok();
        loopx(&all, &["task", "done", "A"]).ok();
        assert_eq!(status_of(&all, "A"), "completed");
    }
}

#[test]
fn work_is_opened_by_nobody() {
    let all = world();
    let opened = |id: &str| json!({"kind": "opened", "reason": "x", "body": {"task": id}});
    send(&all, &forged(&all, opened("M"), &[]));
    send(&all, &forged(&all, opened("A"), &[]));
    all.sync(0).ok();
    for id in ["A", "M"] {
        assert_eq!(status_of(&all, id), "failed", "{id}");
    }
    loopx(&all, &["task", "retry", "M"]).ok();
    loopx(&all, &["take", "M"]).ok();
    loopx(&all, &["task", "done", "M", "--manual", "--reason", "seen"]).ok();
    assert_eq!(status_of(&all, "M"), "completed");
}

#[test]
fn a_gate_is_opened_by_the_values_of_its_rubric_alone() {
    let rubric = json!({"scale": 10, "dimensions": [{"name": "code", "weight": 1}], "pass": 8});
    for (says, decision) in [
        ("none", json!({"verdict": "proceed"})),
        ("other", json!({"scores": {"zork": "9"}})),
        (
            "empty",
            json!({"scores": {}, "verdict": "proceed", "score": "10"}),
        ),
        ("over", json!({"scores": {"code": "11"}})),
        ("twice", json!({"scores": {"code": "9", "zork": "9"}})),
    ] {
        let all = world_of(&[
            task("A", &[], None),
            with(
                "DEC",
                &["A"],
                json!({"kind": "decision", "gate": {"rubric": rubric}}),
            ),
            task("B", &["DEC"], None),
        ]);
        loopx(&all, &["take", "A"]).ok();
        loopx(&all, &["task", "done", "A", "--manual", "--reason", "seen"]).ok();
        all.sync(0).ok();
        let (_, done) = newest(&all);
        let mut decision = decision;
        decision["judged"] = json!({"A": done});
        let decided = json!({"kind": "decided", "body": {"task": "DEC", "decision": decision}});
        send(&all, &forged(&all, decided, &[]));
        all.sync(0).ok();
        assert_eq!(status_of(&all, "DEC"), "pending", "{says}");
        loopx(&all, &["task", "list"]).says("which does not count");
        // It leads on.
        loopx(&all, &["task", "decide", "DEC", "--scores", "code=9"]).ok();
        assert_eq!(status_of(&all, "DEC"), "completed", "{says}");
    }
}

#[test]
fn a_file_that_no_record_names_does_not_come_in() {
    for path in [
        "notes.txt",
        "logs/x.log",
        "change/design.md",
        "versions/plan.md/x",
    ] {
        let all = world();
        let path = format!("sessions/{DEMO}/{path}");
        newest(&all);
        let tree = put_files(&all, &[(&path, b"#!/bin/sh\n")]);
        no_server_takes(&all, &tree, "is named by no operation");
        send(&all, &tree);
        all.sync(0)
            .says("is named by no operation")
            .says("computed again")
            .ok();
        all.git(0, &["cat-file", "-e", &format!("loopx:{path}")])
            .fails_with(128);
        loopx(&all, &["fsck", "--full"]).says("all whole").ok();
        all.settle();
        all.assert_agreed();
    }
}

#[test]
fn a_name_or_a_mode_that_deceives_is_refused_and_found() {
    for (path, why) in [
        ("sessions/Demo/", "is a session's name in another spelling"),
        ("sessions/demo./", "is a session's name in another spelling"),
        ("sessions/\u{202e}demo/", "turns text round"),
        ("sessions/demo/hook.sh", "is executable"),
    ] {
        let all = world();
        newest(&all);
        let good = git(&all, &["rev-parse", "origin/loopx"]).run().line();
        git(&all, &["read-tree", "origin/loopx"]).run().ok();
        let folder = format!("--prefix={path}");
        let file = format!("100755,{},{path}", blob(&all, b"#!/bin/sh\n"));
        let add = if path.ends_with('/') {
            ["read-tree", &folder, "origin/loopx:sessions/demo"].to_vec()
        } else {
            ["update-index", "--add", "--cacheinfo", &file].to_vec()
        };
        git(&all, &add).run().ok();
        let tree = git(&all, &["write-tree"]).run().line();
        no_server_takes(&all, &tree, why);
        send(&all, &tree);
        let tip = all.git(0, &["rev-parse", "loopx"]).line();
        all.sync(0).fails_with(1).says(why);
        assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
        // By hand it comes in, and is found.
        all.git(0, &["update-ref", "refs/heads/loopx", "origin/loopx"])
            .ok();
        all.loopx(0, &["fsck", "--full"]).fails_with(1).says(why);
        all.git(0, &["update-ref", "refs/heads/loopx", &good]).ok();
    }
}

#[test]
fn r11_no_record_writes_what_readers_take_for_a_sealed_archive() {
    for path in ["ops.jsonl", "signatures.jsonl"] {
        let all = world();
        let blob = blob(&all, b"evil\n");
        let saved = json!({"topic": "session", "kind": "saved", "needs": "0.2", "files": {path: {"from": null, "to": blob}}});
        send(&all, &forged(&all, saved, &[]));
        all.sync(0)
            .fails_with(1)
            .says("is no path of a session's file");
        all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
    }
}

#[test]
fn a_fresh_clone_of_a_branch_with_a_record_that_nobody_can_read_is_led_out() {
    for path in ["ops/1.json", "state.json"] {
        let mut all = world();
        all.loopx(0, &["-s", DEMO, "start", "--no-branch", "Mine"])
            .ok();
        all.sync(0).ok();
        let blob = blob(&all, b"{}");
        let saved = json!({"topic": "session", "kind": "saved", "needs": "0.2", "files": {path: {"from": null, "to": blob}}});
        send(&all, &forged(&all, saved, &[]));
        all.sync(0)
            .fails_with(1)
            .says("is no path of a session's file");
        let at = all.add("fresh", &[]);
        all.loopx(at, &["init"]).says("is damaged").ok();
        all.loopx(at, &["-s", "mine", "status"]).ok();
        all.loopx(at, &["-s", "mine", "run", "--", "true"]).ok();
        let status = all
            .loopx(at, &["-s", DEMO, "status"])
            .fails_with(70)
            .says("fsck --repair");
        drop(status);
        let said = all.loopx(at, &["fsck", "--repair"]).fails_with(70);
        let said = said.says("doctor --accept");
        let back = said.stderr.lines().find_map(|line| {
            let from = line.find("git update-ref ")?;
            line[from + 4..].split("  ").next()
        });
        let back: Vec<&str> = back.expect("a command").split(' ').collect();
        all.git(at, &back).ok();
        all.loopx(at, &["doctor", "--accept"]).ok();
        all.loopx(at, &["-s", DEMO, "status"]).ok();
        all.sync(at)
            .fails_with(1)
            .says("git push --force-with-lease");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_of_the_working_copy_that_is_a_link_is_refused_and_nothing_is_recorded() {
    let s = crate::support::tasks::planning(&[task("A", &[], None)]);
    s.loopx(&["save"]).ok();
    let folder = s.root().join("repo/.loopx").join(DEMO);
    fs::rename(folder.join("change"), s.root().join("kept")).expect("a folder");
    fs::create_dir(s.root().join("out")).expect("a folder");
    std::os::unix::fs::symlink("../../../out", folder.join("change")).expect("a link");
    for args in [&["save"][..], &["status"], &["checkout"]] {
        refuses(&s, 1, "symlink_refused", args);
    }
    s.loopx(&["doctor"])
        .fails_with(1)
        .says("is a symbolic link");
}

#[test]
fn what_is_no_file_is_said_with_what_leads_on() {
    let s = crate::support::tasks::planning(&[task("A", &[], None)]);
    s.loopx(&["save"]).ok();
    let path = s.root().join("repo/.loopx").join(DEMO).join("plan.md");
    fs::remove_file(&path).expect("a file");
    fs::create_dir(&path).expect("a folder");
    let error = refuses(&s, 1, "file_expected", &["save"]);
    assert!(
        error["help"].to_string().contains("move it away"),
        "{error:#}"
    );
    s.loopx(&["doctor"]).fails_with(1).says("is not a file");
    s.call(LOOPX)
        .args(&["verify", &"A".repeat(300)])
        .run()
        .fails_with(4);
}

/// A record of where a delta starts from, in a stage that has no more use for one.
#[test]
fn a_delta_that_is_closed_gets_no_new_base() {
    let all = world();
    let before = loopx(&all, &["cat", "change/spec-delta.md"]).ok();
    let commit = git(&all, &["rev-parse", "origin/main"]).run().line();
    let base = json!({"domain": "demo", "requirement": "", "commit": commit, "blob": null});
    for kind in ["refreshed", "saved"] {
        let op =
            json!({"topic": "session", "kind": kind, "needs": "0.2", "body": {"bases": [base]}});
        let tree = forged(&all, op, &[]);
        no_server_takes(&all, &tree, DEMO);
    }
    let op =
        json!({"topic": "session", "kind": "refreshed", "needs": "0.2", "body": {"bases": [base]}});
    send(&all, &forged(&all, op, &[]));
    all.sync(0).fails_with(3).says("conflict");
    loopx(&all, &["status"]).says("the delta is closed in stage build");
    assert_eq!(loopx(&all, &["cat", "change/spec-delta.md"]).ok(), before);
}
