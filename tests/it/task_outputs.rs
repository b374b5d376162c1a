//! Files that tasks leave in their session, below `tasks/<id>/`: stored with the completion and pinned by it, saved,
//! merged, undone, archived and carried away like artifacts.

use crate::support::store::tip;
use crate::support::tasks::{
    DEMO, building, checkpoint, clones_building, refuses, statuses, task, text, with,
};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

const REPORT: &str = "tasks/T-1/report.md";

/// A task that leaves a report, and one that reads it.
fn reported() -> Vec<Value> {
    let mut first = task("T-1", &[], Some(&["true"]));
    first["outputs"] = json!([REPORT]);
    let mut second = task("T-2", &["T-1"], Some(&["true"]));
    second["reads"] = json!([REPORT]);
    vec![first, second]
}

fn at(path: &str) -> String {
    format!(".loopx/{DEMO}/{path}")
}

fn shown(s: &Sandbox, task: &str) -> Value {
    s.loopx(&["--json", "task", "show", task]).json()
}

fn stored(s: &Sandbox, path: &str) -> String {
    s.git(&["show", &format!("loopx:sessions/{DEMO}/{path}")])
        .ok()
}

fn is_stored(s: &Sandbox, path: &str) -> bool {
    let all = s.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    all.lines()
        .any(|line| line == format!("sessions/{DEMO}/{path}"))
}

/// The check is run and recorded, and the task stays as it is.
fn missing(s: &Sandbox) -> Value {
    let out = s.loopx(&["--json", "task", "done"]).fails_with(1);
    let error = out.error_json()["error"].clone();
    assert_eq!(error["code"], "task_output_missing", "{error:#}");
    assert_eq!(statuses(s)["T-1"], "claimed");
    error
}

#[test]
fn what_a_task_leaves_is_stored_and_pinned_by_the_commit_that_completes_it() {
    let s = building(&reported());
    s.loopx(&["take", "T-1"]).ok();
    let error = missing(&s);
    assert_eq!(
        error["blockers"][0]["message"],
        format!("there is no .loopx/{DEMO}/{REPORT}")
    );
    s.write(at(REPORT), "It holds.\n");
    s.write(at("tasks/T-1/shots/a.png"), b"\x89PNG\0\xff");
    let before = tip(&s);
    let done = s.loopx(&["--json", "task", "done"]).json();
    // One commit has both.
    assert_eq!(s.git(&["rev-parse", "loopx^"]).line(), before);
    assert_eq!(stored(&s, REPORT), "It holds.\n");
    let blob = s
        .git(&["rev-parse", &format!("loopx:sessions/{DEMO}/{REPORT}")])
        .line();
    assert_eq!(done["completion"]["outputs"][REPORT], blob.as_str());
    assert_eq!(done["saved"], json!([REPORT, "tasks/T-1/shots/a.png"]));
    assert_eq!(s.loopx(&["cat", REPORT]).ok(), "It holds.\n");
    let view = shown(&s, "T-1");
    assert_eq!(view["outputs"][0]["pinned"], blob.as_str(), "{view:#}");
    assert_eq!(view["outputs"][1]["declared"], false, "{view:#}");
    let log = s.loopx(&["task", "log", "T-1"]).ok();
    assert!(log.contains(&format!("leaving {REPORT}")), "{log}");
    // Whoever comes after has to read it, with the content that it has then.
    let card = s.loopx(&["--json", "take", "T-2"]).json();
    assert!(card.to_string().contains(&blob), "{card:#}");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_file_that_changes_after_the_completion_is_said_and_undo_gives_the_state_before() {
    let s = building(&reported());
    s.loopx(&["take", "T-1"]).ok();
    s.loopx(&["run", "--task", "T-1"]).ok();
    s.write(at(REPORT), "It holds.\n");
    s.loopx(&["task", "done"]).ok();
    assert!(!s.loopx(&["task", "list"]).ok().contains("changed since"));
    s.write(at(REPORT), "It does not.\n");
    s.loopx(&["save"]).says(&format!("saved {REPORT}")).ok();
    let said = format!("{REPORT} changed since");
    s.loopx(&["task", "list"]).says(&said).ok();
    s.loopx(&["task", "show", "T-1"]).says(&said).ok();
    assert_eq!(shown(&s, "T-1")["outputs"][0]["changed"], true);
    s.loopx(&["undo"]).ok();
    assert_eq!(stored(&s, REPORT), "It holds.\n");
    assert_eq!(s.read(at(REPORT)), "It holds.\n");
    assert!(!s.loopx(&["task", "list"]).ok().contains("changed since"));
    s.loopx(&["undo"]).says(REPORT).ok();
    assert_eq!(statuses(&s)["T-1"], "claimed");
    assert!(!is_stored(&s, REPORT));
    assert!(!s.exists(at("tasks")));
    s.loopx(&["redo"]).ok();
    assert_eq!(stored(&s, REPORT), "It holds.\n");
    assert_eq!(s.read(at(REPORT)), "It holds.\n");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn files_of_tasks_are_edited_put_and_checked_out_like_artifacts() {
    let s = building(&reported());
    s.call(LOOPX)
        .args(&["put", REPORT])
        .stdin("one\n")
        .run()
        .says(&format!("saved {REPORT}"))
        .ok();
    assert_eq!(s.read(at(REPORT)), "one\n");
    s.write(at(REPORT), "two\n");
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["outputs"][REPORT], "modified", "{status:#}");
    s.loopx(&["status"]).says(REPORT).ok();
    s.loopx(&["diff"]).says("+two").ok();
    s.loopx(&["checkout", REPORT]).says("has edits").ok();
    s.loopx(&["checkout", "--force", REPORT])
        .says("git cat-file blob")
        .ok();
    assert_eq!(s.read(at(REPORT)), "one\n");
    let said = refuses(&s, 4, "artifact_missing", &["cat", "tasks/T-1/reprot.md"]);
    assert!(
        text(&said["help"]).contains(&format!("cat {REPORT}")),
        "{said:#}"
    );
    refuses(&s, 4, "task_unknown", &["edit", "tasks/T-9/x.md"]);
    refuses(&s, 4, "task_unknown", &["edit", "tasks/t-1/x.md"]);
    s.call(LOOPX)
        .args(&["edit", REPORT])
        .env("GIT_EDITOR", "echo three >>")
        .run()
        .ok();
    assert_eq!(stored(&s, REPORT), "one\nthree\n");
    // A file that is removed is removed, and what others need of it is history.
    std::fs::remove_file(s.path().join(at(REPORT))).expect("removed");
    s.loopx(&["save"]).ok();
    assert!(!is_stored(&s, REPORT));
    let seq = s.loopx(&["--json", "log"]).json();
    assert!(seq.to_string().contains(REPORT), "{seq:#}");
    // Nobody's folder is not saved, and said.
    s.write(at("tasks/T-9/x.md"), "x\n");
    s.write(at("tasks/T-1/.hidden"), "x\n");
    s.write(at("tasks/T-1/kept.md"), "x\n");
    s.loopx(&["save"]).says("not saved: tasks/T-9/x.md").ok();
    assert!(is_stored(&s, "tasks/T-1/kept.md"));
    assert!(!is_stored(&s, "tasks/T-1/.hidden"));
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_file_that_could_not_be_everywhere_is_refused_and_nothing_is_written() {
    for (name, code) in [
        ("tasks/T-1/a:b", "output_path_invalid"),
        ("tasks/T-1/con.md", "output_path_invalid"),
        ("tasks/T-1/d/e/f/g/h/i/j/k/l", "output_path_invalid"),
    ] {
        let s = building(&reported());
        s.write(at(name), "x\n");
        refuses(&s, 1, code, &["save"]);
        refuses(&s, 1, code, &["put", name, "code.txt"]);
    }
    let s = building(&reported());
    for name in [
        "tasks/T-1/../../plan.md",
        "tasks/.git/x",
        "tasks/T-1/.git/x",
        "tasks/T-1",
    ] {
        refuses(&s, 1, "output_path_invalid", &["put", name, "code.txt"]);
    }
    // A link leads nowhere: neither out of the folder, nor into it.
    std::fs::create_dir_all(s.path().join(at("tasks"))).expect("a folder");
    std::os::unix::fs::symlink("/etc", s.path().join(at("tasks/T-1"))).expect("a link");
    refuses(&s, 5, "nothing_to_save", &["save"]);
    refuses(&s, 1, "symlink_refused", &["put", REPORT, "code.txt"]);
    std::fs::remove_file(s.path().join(at("tasks/T-1"))).expect("removed");
    s.write(at("tasks/T-1/a.md"), "x\n");
    s.write(at("tasks/T-1/A.md"), "y\n");
    refuses(&s, 1, "output_path_invalid", &["save"]);
    std::fs::remove_file(s.path().join(at("tasks/T-1/A.md"))).expect("removed");
    s.write(at("tasks/T-1/big"), vec![b'x'; 1024 * 1024 + 1]);
    refuses(&s, 1, "artifact_too_large", &["save"]);
    std::fs::remove_file(s.path().join(at("tasks/T-1/big"))).expect("removed");
    for n in 0..100 {
        s.write(at(&format!("tasks/T-1/{n}")), "x\n");
    }
    refuses(&s, 1, "outputs_too_many", &["save"]);
    std::fs::remove_file(s.path().join(at("tasks/T-1/99"))).expect("removed");
    s.loopx(&["save"]).ok();
    // A folder in a file's place, in one save.
    std::fs::remove_file(s.path().join(at("tasks/T-1/1"))).expect("removed");
    s.write(at("tasks/T-1/1/deep"), "x\n");
    s.loopx(&["save"]).ok();
    assert!(is_stored(&s, "tasks/T-1/1/deep"));
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn files_of_clones_merge_and_one_that_both_wrote_waits_for_a_person() {
    let all = clones_building(2, &reported());
    let demo = ["-s", DEMO];
    let run = |clone: usize, args: &[&str]| all.loopx(clone, &[&demo[..], args].concat());
    let write = |clone: usize, path: &str, text: &str| {
        let file = all.dir(clone).join(".loopx").join(DEMO).join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    };
    for clone in [0, 1] {
        write(clone, &format!("tasks/T-1/by-{clone}.md"), "own\n");
        write(clone, REPORT, &format!("by {clone}\n"));
        run(clone, &["save"]).ok();
    }
    all.settle();
    all.assert_agreed();
    for clone in [0, 1] {
        assert_eq!(run(clone, &["cat", "tasks/T-1/by-0.md"]).ok(), "own\n");
        assert_eq!(run(clone, &["cat", "tasks/T-1/by-1.md"]).ok(), "own\n");
        let waits = run(clone, &["--json", "resolve"]).fails_with(3).json();
        assert_eq!(waits["files"][0]["path"], REPORT, "{waits:#}");
        assert_eq!(waits["files"][0]["sides"].as_array().map(Vec::len), Some(2));
        run(clone, &["task", "list"]).says("was written apart").ok();
    }
    let held = run(0, &["--json", "approve", "--to", "review"])
        .fails_with(1)
        .error_json();
    assert!(held.to_string().contains("session_conflict"), "{held:#}");
    run(0, &["take", "T-1"]).ok();
    run(0, &["--json", "task", "done", "--trust"]).fails_with(3);
    run(0, &["resolve", REPORT, "--side", "9"]).fails_with(2);
    run(0, &["resolve", REPORT, "--theirs"]).ok();
    assert_eq!(run(0, &["cat", REPORT]).ok(), "by 1\n");
    run(0, &["task", "done", "--trust"]).ok();
    all.settle();
    all.assert_agreed();
    assert_eq!(run(1, &["cat", REPORT]).ok(), "by 1\n");
    run(1, &["resolve"]).ok();
    run(1, &["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_file_that_is_edited_here_and_there_merges_by_lines_or_says_so() {
    let all = clones_building(2, &reported());
    let demo = ["-s", DEMO];
    let run = |clone: usize, args: &[&str]| all.loopx(clone, &[&demo[..], args].concat());
    let file = |clone: usize| all.dir(clone).join(".loopx").join(DEMO).join(REPORT);
    let write = |clone: usize, text: &str| {
        std::fs::create_dir_all(file(clone).parent().expect("a folder")).expect("a folder");
        std::fs::write(file(clone), text).expect("a file");
    };
    write(0, "a\nb\nc\nd\ne\n");
    run(0, &["save"]).ok();
    all.settle();
    run(1, &["checkout"]).ok();
    write(0, "A\nb\nc\nd\ne\n");
    run(0, &["save"]).ok();
    write(1, "a\nb\nc\nd\nE\n");
    all.settle();
    run(1, &["save"]).ok();
    assert_eq!(run(1, &["cat", REPORT]).ok(), "A\nb\nc\nd\nE\n");
    all.settle();
    write(0, "A\nb\nx\nd\nE\n");
    run(0, &["save"]).ok();
    write(1, "A\nb\ny\nd\nE\n");
    all.settle();
    run(1, &["save"]).fails_with(3);
    let marked = std::fs::read_to_string(file(1)).expect("a file");
    assert!(marked.contains("<<<<<<< here\ny\n"), "{marked}");
    run(1, &["save"]).fails_with(3);
    write(1, "A\nb\nz\nd\nE\n");
    run(1, &["save"]).ok();
    all.settle();
    all.assert_agreed();
    assert_eq!(run(0, &["cat", REPORT]).ok(), "A\nb\nz\nd\nE\n");
}

#[test]
fn files_of_tasks_travel_in_bundles_and_into_the_archive() {
    let s = building(&reported());
    s.loopx(&["take", "T-1"]).ok();
    s.write(at(REPORT), "It holds.\n");
    s.loopx(&["task", "done"]).ok();
    s.loopx(&["export", DEMO, "-o", "demo.bundle"]).ok();
    let there = s.root().join("there");
    std::fs::create_dir(&there).expect("a folder");
    s.git_in(&there, &["init", "--quiet"]).ok();
    s.loopx_in(&there, &["init"]).ok();
    let bundle = s.path().join("demo.bundle");
    s.loopx_in(&there, &["import", "bundle", &bundle.display().to_string()])
        .ok();
    assert_eq!(
        s.loopx_in(&there, &["-s", DEMO, "cat", REPORT]).ok(),
        "It holds.\n"
    );
    s.loopx_in(&there, &["fsck", "--full"])
        .says("all whole")
        .ok();
    std::fs::remove_file(bundle).expect("removed");
    // To the end.
    s.loopx(&["take", "T-2"]).ok();
    s.loopx(&["task", "done"]).ok();
    s.commit_file("code.txt", "two\n", "Second").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let all = s.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    let kept = all
        .lines()
        .find(|line| line.ends_with(REPORT))
        .unwrap_or_default();
    assert!(kept.starts_with("archive/"), "{all}");
    assert!(!s.exists(at(REPORT)));
    assert_eq!(s.loopx(&["-s", DEMO, "cat", REPORT]).ok(), "It holds.\n");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// A completion that another program wrote by hand cannot name what is not there.
#[test]
fn a_path_of_the_code_is_no_file_of_a_task() {
    let s = building(&[with(
        "T-1",
        &[],
        json!({
            "outputs": ["tasks/readme.md"],
            "convergence": {"criteria": ["it is there"], "verification": {"cmd": ["true"]}},
        }),
    )]);
    s.loopx(&["take"]).ok();
    missing(&s);
    s.write("tasks/readme.md", "code\n");
    let done = s.loopx(&["--json", "task", "done"]).json();
    assert_eq!(done["completion"]["outputs"], Value::Null, "{done:#}");
}

/// A word opens what was seen: files of tasks among it.
#[test]
fn a_person_is_asked_again_where_a_file_that_they_saw_is_changed() {
    let mut first = task("A", &[], Some(&["true"]));
    first["outputs"] = json!(["tasks/A/r.md", "tasks/A/log.md"]);
    let mut last = task("D", &["C"], Some(&["true"]));
    last["outputs"] = json!(["tasks/A/log.md"]);
    let s = building(&[
        first,
        checkpoint("C", &["A"]),
        task("B", &["C"], None),
        last,
    ]);
    s.loopx(&["take", "A"]).ok();
    s.write(at("tasks/A/r.md"), "good\n");
    s.write(at("tasks/A/log.md"), "begun\n");
    s.loopx(&["task", "done", "A"]).ok();
    // What changed before the word is what they saw.
    s.write(at("tasks/A/r.md"), "better\n");
    s.loopx(&["save"]).ok();
    s.loopx(&["task", "open", "C", "--reason", "read"]).ok();
    assert_eq!(statuses(&s)["C"], "completed");
    s.loopx(&["task", "open", "C", "--reason", "read"])
        .fails_with(1)
        .says("git loopx task show C");
    // What another task leaves, too, is that one's to change.
    s.write(at("tasks/A/log.md"), "begun, ended\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["C"], "completed");
    s.write(at("tasks/A/r.md"), "evil\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["C"], "pending");
    s.loopx(&["task", "list"]).says("or their files, changed");
    s.loopx(&["take", "B"]).fails_with(1).says("C");
    s.loopx(&["next"]).says("C");
    s.loopx(&["status"]).says("C");
    s.loopx(&["approve", "--to", "review", "--reason", "ok"])
        .fails_with(1)
        .says("C is pending");
    // It leads on, by another word or by the file of then.
    s.loopx(&["task", "open", "C", "--reason", "read again"])
        .ok();
    assert_eq!(statuses(&s)["C"], "completed");
    s.write(at("tasks/A/r.md"), "worse\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["C"], "pending");
    s.loopx(&["undo"]).ok();
    assert_eq!(statuses(&s)["C"], "completed");
}

/// A verdict is about what was judged: files of tasks among it.
#[test]
fn a_gate_is_decided_again_where_a_file_that_was_judged_is_changed() {
    let mut first = task("A", &[], Some(&["true"]));
    first["outputs"] = json!(["tasks/A/r.md", "tasks/A/log.md"]);
    let mut last = task("D", &["G"], Some(&["true"]));
    last["outputs"] = json!(["tasks/A/log.md"]);
    let gate = json!({"kind": "decision", "outputs": ["tasks/G/record.md"]});
    let s = building(&[
        first,
        with("G", &["A"], gate),
        task("B", &["G"], None),
        last,
    ]);
    s.loopx(&["take", "A"]).ok();
    s.write(at("tasks/A/r.md"), "good\n");
    s.write(at("tasks/A/log.md"), "begun\n");
    s.loopx(&["task", "done", "A"]).ok();
    s.write(at("tasks/G/record.md"), "read it\n");
    let proceed = [
        "task",
        "decide",
        "G",
        "--verdict",
        "proceed",
        "--reason",
        "read",
    ];
    s.loopx(&proceed).ok();
    assert_eq!(statuses(&s)["G"], "completed");
    // What another task leaves, too, is that one's to change; so is the record of the gate itself.
    s.write(at("tasks/A/log.md"), "begun, ended\n");
    s.write(at("tasks/G/record.md"), "read it twice\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["G"], "completed");
    s.write(at("tasks/A/r.md"), "evil\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["G"], "pending");
    s.loopx(&["task", "list"])
        .says("what was judged, or its files, changed since: it is decided again")
        .ok();
    s.loopx(&["take", "B"]).fails_with(1).says("G");
    s.loopx(&["next"]).says("task decide G");
    // It leads on, by another verdict or by the file of then.
    s.loopx(&proceed).ok();
    assert_eq!(statuses(&s)["G"], "completed");
    s.write(at("tasks/A/r.md"), "worse\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["G"], "pending");
    s.loopx(&["undo"]).ok();
    assert_eq!(statuses(&s)["G"], "completed");
    // A goal that was met is not asked for again.
    let goal = json!({"kind": "goal", "done_when": "it is read"});
    let mut first = task("A", &[], Some(&["true"]));
    first["outputs"] = json!(["tasks/A/r.md"]);
    let s = building(&[first, with("G", &["A"], goal)]);
    s.loopx(&["take", "A"]).ok();
    s.write(at("tasks/A/r.md"), "good\n");
    s.loopx(&["task", "done", "A"]).ok();
    let met = [
        "task",
        "decide",
        "G",
        "--verdict",
        "proceed",
        "--evidence",
        "plan.md",
    ];
    s.loopx(&met).ok();
    s.write(at("tasks/A/r.md"), "other\n");
    s.loopx(&["save"]).ok();
    assert_eq!(statuses(&s)["G"], "completed");
}

#[test]
fn a_folder_in_the_place_of_a_saved_file_is_no_removal() {
    let s = building(&reported());
    s.loopx(&["take", "T-1"]).ok();
    s.write(at(REPORT), "It holds.\n");
    s.loopx(&["task", "done"]).ok();
    let place = s.path().join(at(REPORT));
    std::fs::remove_file(&place).expect("the file");
    std::fs::create_dir(&place).expect("a folder");
    let error = refuses(&s, 1, "file_expected", &["save"]);
    assert!(
        error["help"].to_string().contains("move it away"),
        "{error:#}"
    );
    assert!(is_stored(&s, REPORT));
    // Files in it take its place.
    s.write(at("tasks/T-1/report.md/part-1.md"), "one\n");
    s.loopx(&["save"]).ok();
    assert!(!is_stored(&s, REPORT) && is_stored(&s, "tasks/T-1/report.md/part-1.md"));
}
