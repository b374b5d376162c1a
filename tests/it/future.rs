//! Programs of different age (A1): a branch on which a newer program has worked. Nothing of what this program
//! does not understand is ever lost or repaired away, and it stops nothing but what it touches (design 2).

use crate::support::clones::Clones;
use crate::support::drive::{self, Drive};
use crate::support::forge::{file_name, record};
use crate::support::store::{ID, READY, assert_whole, begin, put, started, tamper_all};
use crate::support::{Output, Sandbox};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Record that a newer program wrote: its kind, topic, weight and the version that it needs.
type Written = (&'static str, &'static str, &'static str, &'static str);

const TASK: Written = ("task", "task_claimed", "note", "0.9");
const GATE: Written = ("session", "board_asked", "holds", "0.9");

/// Adds a record as a newer program would, which leaves a state of its own. Gives the record's id.
fn newer(
    s: &Sandbox,
    id: &str,
    (topic, kind, weight, needs): Written,
    files: &[(&str, &str)],
) -> String {
    let log = s.loopx(&["-s", id, "--json", "log"]).json();
    let operations = log["operations"].as_array().expect("operations").clone();
    let last = operations.iter().max_by_key(|op| op["seq"].as_u64());
    let last = last.expect("an operation").clone();
    let uid = &operations[0]["entity"];
    let folder = format!("sessions/{id}");
    let mut edits = Vec::new();
    let mut written = serde_json::Map::new();
    for (path, text) in files {
        let blob = s.call("git").args(&["hash-object", "--stdin"]).stdin(*text);
        written.insert(
            (*path).to_owned(),
            json!({"from": null, "to": blob.run().line()}),
        );
        edits.push((format!("{folder}/{path}"), Some(text.as_bytes().to_vec())));
    }
    let op = json!({
        "format": 2, "seq": last["seq"].as_u64().expect("a number") + 1, "after": [last["op"]],
        "entity": uid, "tx": "01jzzzzzzzzzzzzzzzzzzzzzzz", "at": "2027-01-01T00:00:00Z",
        "by": {"name": "Fay Future", "email": "fay@example.org"},
        "topic": topic, "kind": kind, "files": written, "weight": weight, "needs": needs,
        "body": {"node": "N-1", "lease": 900},
    });
    let (name, bytes) = record(&op);
    edits.push((
        format!("{folder}/ops/{}", file_name(&op, &name)),
        Some(bytes),
    ));
    let state = json!({"format": 2, "fold": 99, "id": id, "more": "than this program knows"});
    let state = serde_json::to_vec(&state).expect("JSON");
    edits.push((format!("{folder}/state.json"), Some(state)));
    tamper_all(s, &edits);
    drop(s.loopx(&["doctor", "--accept"]));
    name
}

/// The records of a session with their blobs, wherever it lies.
fn records(s: &Sandbox, id: &str) -> BTreeSet<String> {
    let list = s.git(&["ls-tree", "-r", "loopx"]).ok();
    let lines = list
        .lines()
        .filter(|line| line.contains(&format!("/{id}/ops/")));
    let entry = |line: &str| {
        let (entry, path) = line.split_once('\t').expect("a path");
        let name = path.rsplit('/').next().expect("a name");
        format!("{} {name}", entry.rsplit(' ').next().expect("a blob"))
    };
    lines.map(entry).collect()
}

/// A session that a newer program worked on, and one beside it.
fn branch_of_the_future(written: Written) -> (Sandbox, String) {
    let s = started();
    put(&s, "spec.md", READY).ok();
    s.loopx(&["start", "other", "--no-branch"]).ok();
    let op = newer(&s, ID, written, &[("queue.jsonl", "{\"id\":\"N-1\"}\n")]);
    (s, op)
}

#[test]
fn a1_what_is_not_known_is_kept_by_every_command() {
    for written in [
        TASK,
        GATE,
        ("session", "dreamt", "opens", "1.0"),
        ("weather", "rained", "note", "2.0"),
    ] {
        let (s, op) = branch_of_the_future(written);
        let before = records(&s, ID);
        let tasks = s
            .git(&["show", &format!("loopx:sessions/{ID}/queue.jsonl")])
            .ok();
        for args in [
            &["status"][..],
            &["list"],
            &["-s", ID, "show"],
            &["-s", ID, "log"],
            &["-s", ID, "cat", "spec.md"],
            &["fsck"],
            &["fsck", "--full"],
            &["fsck", "--repair"],
            &["doctor"],
            &["doctor", "--fix"],
            &["-s", "other", "status"],
            &["-s", "other", "run", "--", "true"],
            &["-s", ID, "run", "--", "true"],
            &["-s", ID, "undo"],
            &["-s", ID, "redo"],
            &["-s", ID, "note", "still here"],
            &["-s", "other", "abandon", "--reason", "enough"],
        ] {
            let out = s.loopx(args);
            assert_ne!(out.code, Some(70), "{out}");
            assert!(!out.stderr.contains("panicked"), "{out}");
        }
        s.loopx(&["-s", ID, "log"]).says(written.1).ok();
        assert!(before.is_subset(&records(&s, ID)), "{written:?}");
        assert!(records(&s, ID).iter().any(|record| record.contains(&op)));
        assert_eq!(
            s.git(&["show", &format!("loopx:sessions/{ID}/queue.jsonl")])
                .ok(),
            tasks
        );
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert_whole(&s);
    }
}

#[test]
fn a_record_that_is_not_known_holds_the_gates_of_its_session_unless_it_is_a_note() {
    let (s, op) = branch_of_the_future(GATE);
    let refused = s
        .loopx(&["-s", ID, "--json", "approve", "--to", "plan"])
        .fails_with(1);
    let error = refused.error_json();
    let blockers = error["error"]["blockers"]
        .as_array()
        .expect("blockers")
        .clone();
    let needs = |blocker: &Value| blocker["code"] == "newer_program_required";
    assert!(blockers.iter().any(needs), "{error:#}");
    assert!(refused.stderr.contains("needs git loopx 0.9"), "{refused}");
    // Nobody is held for good: it is taken back by its envelope, with a name and a reason.
    s.loopx(&["-s", ID, "undo", "--only", &op]).fails_with(2);
    s.loopx(&[
        "-s",
        ID,
        "undo",
        "--only",
        &op,
        "--reason",
        "we do not use that",
    ])
    .ok();
    s.loopx(&["-s", ID, "approve", "--to", "plan"]).ok();
    assert!(records(&s, ID).iter().any(|record| record.contains(&op)));
    let (s, _) = branch_of_the_future(TASK);
    s.loopx(&["-s", ID, "approve", "--to", "plan"]).ok();
}

/// A weight that this program has no word for is of a newer one, whatever the record says that it needs.
#[test]
fn a_known_record_of_an_unknown_weight_is_kept_and_holds() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let op = newer(&s, ID, ("note", "noted", "heavy", "0.2"), &[]);
    let refused = s.loopx(&["-s", ID, "--json", "approve", "--to", "plan"]);
    let error = refused.fails_with(1).error_json();
    let blockers = error["error"]["blockers"].as_array().expect("blockers");
    let needs = |blocker: &Value| blocker["code"] == "newer_program_required";
    assert!(blockers.iter().any(needs), "{error:#}");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    assert!(records(&s, ID).iter().any(|record| record.contains(&op)));
    let args = ["-s", ID, "undo", "--only", &op, "--reason", "no"];
    s.loopx(&args).ok();
    s.loopx(&["-s", ID, "approve", "--to", "plan"]).ok();
}

#[test]
fn the_state_is_left_to_programs_that_understand_the_session() {
    let (s, _) = branch_of_the_future(TASK);
    let state = format!("loopx:sessions/{ID}/state.json");
    assert!(s.git(&["show", &state]).ok().contains("99"));
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    s.git(&["cat-file", "-e", &state]).fails_with(128);
    assert_eq!(
        s.loopx(&["-s", ID, "--json", "status"]).json()["stage"],
        "clarify"
    );
    // What it understands whole it computes again and keeps.
    let own = "loopx:sessions/other/state.json";
    let own: Value = serde_json::from_str(&s.git(&["show", own]).ok()).expect("JSON");
    assert_eq!(own["fold"], 2);
}

#[test]
fn what_is_not_known_travels_both_ways_and_merges() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    let before = all.operations(0);
    // The newer program works in the first clone.
    let s = &all.s;
    let git = |at: usize, args: &[&str]| all.git(at, args);
    let folder = format!("sessions/{ID}");
    let log = all.loopx(0, &["-s", ID, "--json", "log"]).json();
    let last = log["operations"]
        .as_array()
        .and_then(|all| all.last())
        .expect("one")
        .clone();
    let op = json!({
        "format": 3, "seq": last["seq"].as_u64().expect("a number") + 1, "after": [last["op"]],
        "entity": last["entity"], "tx": "x", "at": "2027-01-01T00:00:00Z",
        "by": {"name": "Fay", "email": "fay@example.org"},
        "topic": "task", "kind": "task_claimed", "weight": "note", "needs": "0.9", "body": {"node": "N-1"},
    });
    let (name, bytes) = record(&op);
    let index = s.root().join("future-index");
    let in_index = |args: &[&str]| -> Output {
        s.call("git")
            .cwd(all.dir(0))
            .args(args)
            .env("GIT_INDEX_FILE", &index)
            .run()
    };
    in_index(&["read-tree", "refs/heads/loopx"]).ok();
    let hash = s
        .call("git")
        .cwd(all.dir(0))
        .args(&["hash-object", "-w", "--stdin"])
        .stdin(bytes)
        .run();
    let path = format!("{folder}/ops/{}", file_name(&op, &name));
    in_index(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{},{path}", hash.line()),
    ])
    .ok();
    in_index(&["rm", "--cached", "--quiet", &format!("{folder}/state.json")]).ok();
    let tree = in_index(&["write-tree"]).line();
    let commit = git(
        0,
        &[
            "commit-tree",
            &tree,
            "-p",
            "loopx",
            "-m",
            "x: claim",
            "-m",
            "Loopx-Event: task_claimed",
        ],
    );
    git(0, &["update-ref", "refs/heads/loopx", &commit.line()]).ok();
    // Both go on, and meet.
    all.put_spec(1, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
    all.settle();
    all.assert_agreed();
    for at in [0, 1] {
        let now = all.operations(at);
        assert!(before.is_subset(&now));
        assert!(now.iter().any(|path| path.contains(&name)), "{now:?}");
        all.loopx(at, &["fsck", "--full"]).says("all whole").ok();
        assert!(all.cat(at, "spec.md").contains("ends soon"));
    }
}

#[test]
fn a_copied_record_is_refused_and_a_repair_takes_it_away() {
    // Under its own number and under another.
    for (number, says) in [
        ("00000002", "belongs to"),
        ("00000004", "holds the operation"),
    ] {
        let s = started();
        put(&s, "spec.md", READY).ok();
        s.loopx(&["start", "other", "--no-branch"]).ok();
        let folder = format!("sessions/{ID}/ops/");
        let list = s.git(&["ls-tree", "--name-only", "loopx", &folder]).ok();
        let saved = list.lines().last().expect("a record");
        let bytes = s.git(&["show", &format!("loopx:{saved}")]).ok();
        let copy = saved.replace(ID, "other").replace("00000002", number);
        tamper_all(
            &s,
            &[
                (copy, Some(bytes.into_bytes())),
                ("sessions/other/state.json".into(), None),
            ],
        );
        s.loopx(&["-s", "other", "status"])
            .says(says)
            .fails_with(70);
        s.loopx(&["fsck", "--repair"]).ok();
        s.loopx(&["-s", "other", "status"]).ok();
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert_whole(&s);
    }
}

/// A program that knows format 1 alone refuses a branch of format 2, and so can change nothing on it.
#[test]
fn the_first_record_of_format_2_makes_the_branch_one_of_format_2() {
    let s = Sandbox::new();
    begin(&s);
    tamper_all(&s, &[("format".to_owned(), Some(b"1\n".to_vec()))]);
    drop(s.loopx(&["doctor", "--accept"]));
    assert_eq!(s.git(&["show", "loopx:format"]).line(), "1");
    s.loopx(&["status"]).ok();
    put(&s, "spec.md", READY).ok();
    assert_eq!(s.git(&["show", "loopx:format"]).line(), "2");
}

/// A branch that a hand marks as format 1 would again pass for one of which older programs know everything.
#[test]
fn a_branch_that_was_taken_back_to_format_1_is_found_and_mended() {
    let s = started();
    tamper_all(&s, &[("format".to_owned(), Some(b"1\n".to_vec()))]);
    s.loopx(&["fsck"])
        .says("format: says 1")
        .says("fsck --repair")
        .fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(s.git(&["show", "loopx:format"]).line(), "2");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_whole(&s);
}

#[test]
fn a_damaged_record_is_no_newer_one() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let list = s
        .git(&[
            "ls-tree",
            "--name-only",
            "loopx",
            &format!("sessions/{ID}/ops/"),
        ])
        .ok();
    let saved = list.lines().last().expect("a record").to_owned();
    let text = s.git(&["show", &format!("loopx:{saved}")]).ok();
    // Its name is the hash of other bytes.
    let other = text.replace("\"kind\": \"saved\"", "\"kind\": \"dreamt\"");
    assert_ne!(other, text);
    tamper_all(&s, &[(saved, Some(other.into_bytes()))]);
    drop(s.loopx(&["-s", ID, "log"]).fails_with(70));
    s.loopx(&["fsck"]).says("holds the operation").fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    s.loopx(&["-s", ID, "log"]).ok();
    assert_whole(&s);
}

/// A writer of the branch can write any record: a change by such a record after the last approval reaches no spec.
#[test]
fn a_text_that_was_changed_after_the_session_was_done_is_not_archived() {
    let text = "# Delta\n\n## Domain: demo\n\nNEVER\n";
    for written in [
        ("session", "saved", "opens", "0.2"),
        ("zork", "z", "note", "0.9"),
    ] {
        let d = Drive::done();
        d.loopx(&["archive", "--dry-run"]).ok();
        newer(&d, drive::ID, written, &[("change/spec-delta.md", text)]);
        d.loopx(&["archive"]).fails_with(1);
        let refused = d.loopx(&["--json", "archive"]).fails_with(1);
        let stands = |code: &str| refused.stderr.contains(code);
        assert!(
            stands("session_conflict") || stands("newer_program_required"),
            "{refused}"
        );
    }
    // A note changes no file.
    let d = Drive::done();
    newer(
        &d,
        drive::ID,
        ("note", "noted", "note", "0.2"),
        &[("change/spec-delta.md", text)],
    );
    d.loopx(&["archive"]).fails_with(70);
    d.loopx(&["fsck"]).fails_with(1);
}

/// An entity of a kind that this program does not know has records like any other: who damages one is found, and
/// nothing that is whole is taken away.
#[test]
fn the_records_of_an_entity_that_is_not_known_are_checked_too() {
    let s = started();
    let mut after = Vec::new();
    let mut edits = Vec::new();
    for seq in 1..=3 {
        let op = json!({
            "format": 2, "seq": seq, "after": after, "entity": "01board", "tx": "x",
            "at": "2027-01-01T00:00:00Z", "by": {"name": "Fay Future", "email": "fay@example.org"},
            "topic": "board", "kind": "edited", "weight": "note", "needs": "0.9", "body": {"seq": seq},
        });
        let (name, bytes) = record(&op);
        edits.push((
            format!("boards/b-1/ops/{}", file_name(&op, &name)),
            Some(bytes),
        ));
        after = vec![name];
    }
    let state = (
        "boards/b-1/state.json".to_owned(),
        Some(b"{\"fold\": 99}".to_vec()),
    );
    edits.push(state);
    tamper_all(&s, &edits);
    s.loopx(&["doctor", "--accept"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    let ops = || s.git(&["rev-parse", "loopx:boards/b-1/ops"]).line();
    let whole = ops();
    let (first, text) = edits[0].clone();
    let text = String::from_utf8(text.expect("a record")).expect("UTF-8");
    let other = text.replacen("01board", "02other", 1);
    for (what, damage) in [
        ("which is not there", None),
        ("holds the operation", Some(other.into_bytes())),
    ] {
        tamper_all(&s, &[(first.clone(), damage)]);
        s.loopx(&["fsck", "--full"]).fails_with(1).says(what);
        s.loopx(&["fsck", "--repair"]).ok();
        assert_eq!(ops(), whole, "{what}");
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
    }
}
