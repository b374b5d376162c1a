//! Tasks of several roles: whoever asks for one role is told who can go on, and is done only where nothing more can come.

use crate::support::tasks::{building, with};
use crate::support::{Output, Sandbox};
use serde_json::{Value, json};

fn of(id: &str, role: &str, needs: &[&str]) -> Value {
    let check = json!({ "criteria": ["it is there"], "verification": { "cmd": ["true"] } });
    with(id, needs, json!({ "role": role, "convergence": check }))
}

fn take(s: &Sandbox, role: &str) -> Output {
    s.loopx(&["--json", "take", "--role", role])
}

fn code(out: &Output) -> String {
    out.error_json()["error"]["code"]
        .as_str()
        .expect("a code")
        .to_owned()
}

#[test]
fn n17_a_role_whose_tasks_come_later_waits_and_reads_who_can_go_on() {
    let s = building(&[
        of("PLAN", "planner", &[]),
        of("WRITE", "writer", &["PLAN"]),
        of("CHECK", "tester", &["WRITE"]),
    ]);
    let out = take(&s, "writer").fails_with(6);
    assert_eq!(code(&out), "task_of_role");
    s.loopx(&["take", "--role", "writer"])
        .says("PLAN is ready for planner")
        .says("git loopx take --role planner")
        .fails_with(6);
    // Whoever has it is named, in this worktree and in another one.
    take(&s, "planner").ok();
    let out = take(&s, "writer").fails_with(6);
    assert_eq!(code(&out), "task_held");
    s.loopx(&["take", "--role", "writer"])
        .says("PLAN is taken here already, and no other task is free for writer")
        .fails_with(6);
    s.git(&["worktree", "add", "--quiet", "--detach", "../other"])
        .ok();
    let other = s.root().join("other");
    let asks = |role: &str| s.loopx_in(&other, &["-s", "demo", "take", "--role", role]);
    asks("writer")
        .says("has PLAN")
        .says("task show PLAN")
        .fails_with(6);
    s.loopx(&["task", "done", "PLAN"]).ok();
    // Nothing more comes for a role whose tasks are over.
    let out = take(&s, "planner").fails_with(5);
    assert_eq!(code(&out), "tasks_done");
    take(&s, "writer").ok();
}

#[test]
fn n17_a_role_is_not_done_while_a_gate_may_make_more_for_it() {
    let repair = json!([of("MEND", "writer", &[])]);
    let gate = json!({ "judges": ["WRITE"], "repair": repair });
    let s = building(&[
        of("WRITE", "writer", &[]),
        of("CHECK", "tester", &["WRITE"]),
        with(
            "GATE",
            &["CHECK"],
            json!({ "kind": "decision", "gate": gate }),
        ),
    ]);
    take(&s, "writer").ok();
    s.loopx(&["task", "done", "WRITE"]).ok();
    let out = take(&s, "writer").fails_with(6);
    assert_eq!(code(&out), "task_of_role");
}
