//! A session in the build whose work is a list of tasks.

use super::clones::Clones;
use super::store::tip;
use super::{Call, LOOPX, Output, Sandbox};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The session whose tasks they are.
pub(crate) const DEMO: &str = "demo";

const DELTA: &str =
    "---\nbehaviour: unchanged\nreason: \"only words change\"\n---\n\n# Nothing that users see\n";
const PLAN: &str =
    "---\nscope: []\n---\n# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n";

/// Line of `tasks.jsonl`, which waits for others. No command: a person looks.
pub(crate) fn task(id: &str, on: &[&str], cmd: Option<&[&str]>) -> Value {
    let verification = match cmd {
        Some(cmd) => json!({ "cmd": cmd }),
        None => json!({ "manual": "the page looks well" }),
    };
    let convergence = json!({ "criteria": ["it is there"], "verification": verification });
    with(id, on, json!({ "convergence": convergence }))
}

/// Checkpoint, which a person opens.
pub(crate) fn checkpoint(id: &str, on: &[&str]) -> Value {
    with(id, on, json!({ "kind": "checkpoint" }))
}

/// Task with these fields besides.
pub(crate) fn with(id: &str, on: &[&str], fields: Value) -> Value {
    let mut task = json!({ "id": id, "title": format!("Do {id}"), "depends_on": on });
    if let (Some(task), Value::Object(fields)) = (task.as_object_mut(), fields) {
        task.extend(fields);
    }
    task
}

/// The files of a plan whose work are these tasks.
fn plan(tasks: &[Value]) -> [(&'static str, String); 3] {
    let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
    [
        ("plan.md", PLAN.to_owned()),
        ("change/spec-delta.md", DELTA.to_owned()),
        ("tasks.jsonl", lines.join("\n") + "\n"),
    ]
}

/// A lite session [`DEMO`] on the branch `work`, in the build.
pub(crate) fn building(tasks: &[Value]) -> Sandbox {
    Sandbox::once(format!("{tasks:?}"), || {
        let s = planning(tasks);
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        s
    })
}

/// A lite session [`DEMO`] on the branch `work`, with nothing approved yet.
pub(crate) fn planning(tasks: &[Value]) -> Sandbox {
    planning_with(&[], tasks)
}

/// A lite session [`DEMO`] with nothing approved yet, where the code has these files, too.
pub(crate) fn planning_with(files: &[(&str, &str)], tasks: &[Value]) -> Sandbox {
    let s = Sandbox::once(format!("{files:?}"), || {
        let s = Sandbox::new();
        for (path, text) in files {
            s.commit_file(path, text, "Set up").ok();
        }
        s.commit_file("code.txt", "one\n", "First").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--profile", "lite", DEMO]).ok();
        s
    });
    fill(&s, tasks);
    s
}

/// Writes the files of a plan whose work are these tasks.
pub(crate) fn fill(s: &Sandbox, tasks: &[Value]) {
    for (name, text) in plan(tasks) {
        s.write(format!(".loopx/{DEMO}/{name}"), text);
    }
}

/// Clones of one bare repository that all have the session in the build. Nobody has a branch out: a claim asks for none.
pub(crate) fn clones_building(count: usize, tasks: &[Value]) -> Clones {
    let list = plan(tasks)[2].1.clone();
    let all = clones_building_with(count, |all| write_list(all, list));
    for at in 0..count {
        all.git(at, &["checkout", "--quiet", "--detach"]).ok();
    }
    all
}

/// Clones with the session in the build, and a list that `fill` makes in the first one, which has the branch out.
pub(crate) fn clones_building_with(count: usize, fill: impl FnOnce(&Clones)) -> Clones {
    let all = clones_beginning(count, fill);
    let enter = ["-s", DEMO, "approve", "--enter", "--reason", "agreed"];
    all.loopx(0, &enter).ok();
    all.settle();
    all
}

/// Clones of one bare repository that all have the session in the plan, with these tasks; nobody has its branch out.
pub(crate) fn clones_planning(count: usize, tasks: &[Value]) -> Clones {
    let list = plan(tasks)[2].1.clone();
    let all = clones_beginning(count, |all| write_list(all, list));
    all.loopx(0, &["-s", DEMO, "save"]).ok();
    all.settle();
    for at in 0..count {
        all.git(at, &["checkout", "--quiet", "--detach"]).ok();
    }
    all
}

fn write_list(all: &Clones, list: String) {
    let file = all.dir(0).join(".loopx").join(DEMO).join("tasks.jsonl");
    fs::write(file, list).expect("a file");
}

/// Clones of which the first has the session in the plan, with the list that `fill` makes, and its branch out.
fn clones_beginning(count: usize, fill: impl FnOnce(&Clones)) -> Clones {
    let all = Clones::apart(count);
    all.loopx(0, &["init"]).ok();
    all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    all.loopx(0, &["start", "--profile", "lite", DEMO]).ok();
    for (name, text) in plan(&[]) {
        let text = if name == "tasks.jsonl" { "" } else { &text };
        fs::write(all.dir(0).join(".loopx").join(DEMO).join(name), text).expect("a file");
    }
    fill(&all);
    all
}

/// A command on the session from another worktree.
pub(crate) fn there<'a>(s: &'a Sandbox, dir: &Path, args: &[&str]) -> Call<'a> {
    let call = s.call(LOOPX).cwd(dir).env("LOOPX_SESSION", DEMO);
    call.args(&["--json"]).args(args)
}

/// Status of each task.
pub(crate) fn statuses(s: &Sandbox) -> BTreeMap<String, String> {
    statuses_in(&s.loopx(&["task", "list", "--json"]))
}

/// Status of each task, by what `task list` said.
pub(crate) fn statuses_in(listed: &Output) -> BTreeMap<String, String> {
    let listed = listed.json();
    let rows = listed["tasks"].as_array().expect("tasks").iter();
    rows.map(|row| (text(&row["task"]), text(&row["status"])))
        .collect()
}

/// Row of a task in `task list`.
pub(crate) fn row(s: &Sandbox, id: &str) -> Value {
    let listed = s.loopx(&["task", "list", "--json"]).json();
    let rows = listed["tasks"].as_array().expect("tasks").clone();
    let mut rows = rows.into_iter();
    rows.find(|row| row["task"] == id).expect("the task")
}

/// Takes the next task; gives the task that its card names.
pub(crate) fn take(s: &Sandbox) -> String {
    text(&s.loopx(&["take", "--json"]).json()["card"]["task"])
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// Refused with this exit code and this error code, and nothing was written. Gives the error.
#[track_caller]
pub(crate) fn refuses(s: &Sandbox, exit: i32, code: &str, args: &[&str]) -> Value {
    let before = tip(s);
    let out = s.call(LOOPX).args(&["--json"]).args(args).run();
    let error = out.fails_with(exit).error_json()["error"].clone();
    assert_eq!(error["code"], code, "{args:?}: {error:#}");
    assert_eq!(tip(s), before, "{args:?}");
    error
}

/// The step that `next` names: the command, else what it says instead.
pub(crate) fn next_of(s: &Sandbox, agent: bool) -> String {
    let call = s.call(LOOPX).args(&["next", "--json"]);
    let call = if agent {
        call.env("CLAUDECODE", "1")
    } else {
        call
    };
    let out = call.run();
    if out.code == Some(0) {
        return text(&out.json()["next_action"]);
    }
    let error = out.error_json()["error"].clone();
    format!("{}; {}", text(&error["message"]), error["help"])
}
