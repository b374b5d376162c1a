//! Resources that only one task can have at a time, as locks that last as long as a claim, and what two tasks change at
//! once.

use crate::support::tasks::{building, refuses, statuses, take, task, with};
use serde_json::{Value, json};

fn work(id: &str, on: &[&str], more: Value) -> Value {
    let mut line = task(id, on, Some(&["true"]));
    if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
    line
}

#[test]
fn s37_two_tasks_that_are_taken_never_have_one_thing() {
    let lock = json!({ "exclusive": ["database"] });
    let s = building(&[
        work("A", &[], lock.clone()),
        work("B", &[], lock),
        work("C", &[], json!({})),
    ]);
    let free = s.loopx(&["task", "resources", "--json"]).json();
    assert_eq!(free["resources"][0]["wanted"], json!(["A", "B"]));
    assert_eq!(take(&s), "A");
    // Whoever names none gets another one, and whoever names it hears who has the lock.
    assert_eq!(take(&s), "C");
    let held = refuses(&s, 1, "task_not_ready", &["take", "B"]);
    let said = held["message"].as_str().expect("words");
    assert!(said.contains("has database with A until"), "{said}");
    let locks = s.loopx(&["task", "resources", "--json"]).json();
    assert_eq!(locks["resources"][0]["held"][0]["task"], "A");
    assert_eq!(locks["resources"][0]["held"][0]["alive"], true);
    assert_eq!(locks["resources"][0]["wanted"], json!(["B"]));
    s.loopx(&["task", "resources"])
        .says("database  A of this worktree, until")
        .says("wanted by B")
        .ok();
    // The lock goes with the task, whichever way that ends.
    s.loopx(&["task", "release", "A"]).ok();
    s.loopx(&["take", "B"]).ok();
    refuses(&s, 1, "task_not_ready", &["take", "A"]);
    // A lease that has ended gives both to whoever asks.
    let later = [
        ("GIT_COMMITTER_DATE", "1767312000 +0000"),
        ("GIT_AUTHOR_DATE", "1767312000 +0000"),
    ];
    let at = |args: &[&str]| {
        let mut call = s.call(crate::support::LOOPX).args(args);
        for (name, value) in later {
            call = call.env(name, value);
        }
        call.run()
    };
    at(&["take", "A"]).says("git loopx take B").fails_with(1);
    at(&["task", "resources"]).says("lease ended").ok();
    s.loopx(&["task", "done", "B"]).ok();
    s.loopx(&["task", "resources"]).says("database  free").ok();
}

#[test]
fn the_name_of_a_lock_is_compared_without_its_case_and_the_blanks_around_it() {
    let s = building(&[
        work("A", &[], json!({ "exclusive": ["db"] })),
        work("B", &[], json!({ "exclusive": ["DB "] })),
    ]);
    s.loopx(&["take", "A"]).ok();
    refuses(&s, 1, "task_not_ready", &["take", "B"]);
    let all = s.loopx(&["task", "resources", "--json"]).json();
    assert_eq!(
        all["resources"].as_array().map(Vec::len),
        Some(1),
        "{all:#}"
    );
}

#[test]
fn an_undo_gives_no_claim_back_where_another_task_has_the_lock() {
    for lock in [json!({ "exclusive": ["db"] }), json!({ "parallel": false })] {
        let s = building(&[work("A", &[], lock.clone()), work("B", &[], lock)]);
        s.loopx(&["take", "A"]).ok();
        s.loopx(&["task", "done", "A"]).ok();
        s.loopx(&["take", "B"]).ok();
        let error = refuses(
            &s,
            1,
            "operation_rests",
            &["undo", "1", "--reason", "too soon"],
        );
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|said| said.contains("A and B would both be claimed")),
            "{error:#}"
        );
        assert_eq!(
            error["help"],
            "when it is done, or let go: git loopx -s demo task show B"
        );
        s.loopx(&["task", "release", "B"]).ok();
        assert_eq!(statuses(&s)["A"], "completed");
    }
}

#[test]
fn s37_a_task_that_is_done_names_the_others_that_change_the_same_files() {
    let file = json!({ "files": ["code.txt"] });
    let s = building(&[
        work("A", &[], file.clone()),
        work("B", &[], file.clone()),
        work("C", &["A"], file.clone()),
        work("D", &[], file),
        with("E", &[], json!({ "kind": "checkpoint" })),
    ]);
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["take", "B"]).ok();
    s.write("code.txt", "two\n");
    let done = s.loopx(&["task", "done", "A", "--json"]).json();
    let overlaps = &done["files"]["overlaps"];
    let rows: Vec<String> = (overlaps.as_array().expect("overlaps").iter())
        .map(|one| format!("{} {} {}", one["task"], one["status"], one["at_once"]).replace('"', ""))
        .collect();
    assert_eq!(rows, ["B claimed true", "D pending false"], "C waits for A");
    s.loopx(&["task", "done", "B"])
        .says(
            "A (completed) changes the same files, and neither task waits for the other: code.txt",
        )
        .ok();
}
