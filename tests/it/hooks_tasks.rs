//! Words of the commit hook about the files of tasks, where policy asks for it.

use crate::support::Sandbox;
use crate::support::session::commit;
use crate::support::tasks::{planning_with, task};
use serde_json::{Value, json};

fn filed(id: &str, files: Value) -> Value {
    let mut line = task(id, &[], Some(&["true"]));
    line["files"] = files;
    line
}

/// A build with a task for a folder, one for a file and one that names none, and hooks that hold to that.
fn building_under(word: &str) -> Sandbox {
    let policy = format!("[gates]\ntask_files = \"{word}\"\n");
    let s = planning_with(
        &[("loopx.toml", &policy)],
        &[
            filed("A", json!(["src/a"])),
            filed("B", json!(["src/b.rs"])),
            task("C", &[], Some(&["true"])),
        ],
    );
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    s.loopx(&["hooks", "install"]).ok();
    s
}

#[test]
fn team_g5_j8_a_commit_holds_to_the_files_of_the_tasks_that_are_taken_here() {
    let s = building_under("refuse");
    commit(&s, "lib.rs", "nobody has a task").ok();
    s.loopx(&["take", "A"]).ok();
    commit(&s, "src/a/x.rs", "its own").ok();
    commit(&s, "docs/a", "a document").ok();
    let before = s.git(&["rev-parse", "HEAD"]).ok();
    for (path, said, lead) in [
        (
            "src/b.rs",
            "`src/b.rs` is a file of B, and A does not name it",
            "git loopx task show B",
        ),
        (
            "src/c.rs",
            "A does not name `src/c.rs`",
            "git loopx amend --reason",
        ),
    ] {
        commit(&s, path, "not its own")
            .says(said)
            .says(lead)
            .says("--no-verify")
            .fails_with(1);
        assert_eq!(s.git(&["rev-parse", "HEAD"]).ok(), before, "{path}");
        s.git(&["rm", "--quiet", "--force", path]).ok();
    }
    // What the list names after an amendment is its own.
    let list = s.read(".loopx/demo/tasks.jsonl");
    let list = list.replace("[\"src/a\"]", "[\"src/a\",\"src/c.rs\"]");
    s.write(".loopx/demo/tasks.jsonl", list);
    s.loopx(&["amend", "--reason", "c belongs to it"]).ok();
    commit(&s, "src/c.rs", "named now").ok();
    // Where a task says nothing of its files nobody can tell.
    s.loopx(&["take", "C"]).ok();
    commit(&s, "src/d.rs", "whoever has C").ok();
}

#[test]
fn policy_says_whether_files_of_no_task_are_refused_warned_of_or_nobodys_business() {
    let s = building_under("warn");
    s.loopx(&["take", "A"]).ok();
    let out = commit(&s, "src/c.rs", "not its own");
    let said = "A does not name `src/c.rs`";
    assert_eq!(out.stderr.matches(said).count(), 1, "{out}");
    out.ok();
    let s = building_under("allow");
    s.loopx(&["take", "A"]).ok();
    let out = commit(&s, "src/c.rs", "not its own");
    assert!(!out.stderr.contains("src/c.rs"), "{out}");
    out.ok();
    let shown = s.loopx(&["config", "show"]).ok();
    assert!(shown.contains("gates.task_files = \"allow\""), "{shown}");
}
