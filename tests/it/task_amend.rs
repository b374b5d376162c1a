//! Amendments: the list that was approved, changed while it is being worked off.

use crate::support::keys::{ADA, BOB, Signer, everybody, key, use_key};
use crate::support::store::{detached, tip};
use crate::support::tasks::{
    DEMO, building, clones_building, next_of, planning, planning_with, refuses, statuses, task,
    text, there, with,
};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn list(tasks: &[Value]) -> String {
    let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

const FILE: &str = ".loopx/demo/tasks.jsonl";

fn one(id: &str, on: &[&str]) -> Value {
    task(id, on, Some(&["true"]))
}

fn amend(s: &Sandbox, tasks: &[Value]) -> Value {
    s.write(FILE, list(tasks));
    s.loopx(&["amend", "--reason", "it turned out so", "--json"])
        .json()
}

#[test]
fn an_amendment_is_one_record_that_changes_the_list_and_can_be_undone() {
    let s = building(&[one("A", &[]), one("B", &["A"]), one("C", &[])]);
    let before = tip(&s);
    let list_before = s.loopx(&["cat", "tasks.jsonl"]).ok();
    let changed = [
        one("A", &[]),
        with(
            "B",
            &["A"],
            json!({"title": "Do it well", "convergence": one("B", &[])["convergence"]}),
        ),
        one("D", &["B"]),
    ];
    s.write(FILE, list(&changed));
    // Shown, and nothing changed.
    let shown = s.loopx(&["amend", "--show", "--json"]).json();
    assert_eq!(shown["impact"]["added"], json!(["D"]));
    assert_eq!(shown["impact"]["changed"][0]["task"], "B");
    assert_eq!(shown["impact"]["changed"][0]["fields"], json!(["title"]));
    assert_eq!(shown["impact"]["dropped"][0]["task"], "C");
    assert_eq!(tip(&s), before);
    let made = s
        .loopx(&["amend", "--reason", "C is another change", "--json"])
        .json();
    assert_eq!(made["change"], "CHG-001");
    let parent = s.git(&["rev-parse", "loopx^"]).line();
    assert_eq!(parent, before, "one commit");
    let listed = s.loopx(&["task", "list", "--json"]).json();
    assert_eq!(listed["dropped"][0]["task"], "C");
    assert_eq!(listed["dropped"][0]["change"], "CHG-001");
    assert_eq!(listed["dropped"][0]["reason"], "C is another change");
    let gone = s
        .call(LOOPX)
        .args(&["take", "C", "--json"])
        .run()
        .fails_with(4);
    assert!(text(&gone.error_json()["error"]["message"]).ends_with("CHG-001 dropped it"));
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    // The gate goes by what was approved last.
    for id in ["A", "B", "D"] {
        s.loopx(&["run", "--task", id]).ok();
    }
    let state = s.loopx(&["status", "--json"]).json();
    assert!(
        !state.to_string().contains("plan_approval_stale"),
        "{state:#}"
    );
    s.loopx(&["undo", "1"]).ok();
    assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok(), list_before);
    assert_eq!(statuses(&s).len(), 3);
    assert_eq!(
        s.loopx(&["task", "list", "--json"]).json()["dropped"],
        json!([])
    );
}

/// Chain B18: nothing is put before what is done or under way.
#[test]
fn chain_b18_nothing_is_put_before_what_is_done_or_under_way() {
    let s = building(&[one("A", &[]), one("B", &[]), one("C", &[])]);
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "done"]).ok();
    s.loopx(&["take", "B"]).ok();
    for tasks in [
        [one("A", &["C"]), one("B", &[]), one("C", &[])],
        [one("A", &[]), one("B", &["C"]), one("C", &[])],
    ] {
        s.write(FILE, list(&tasks));
        let error = refuses(&s, 1, "amend_barred", &["amend", "--reason", "first C"]);
        assert!(text(&error["message"]).contains("the list stays as it is"));
        // The edits are still there.
        assert_eq!(s.read(FILE), list(&tasks));
    }
    // What is done cannot go either.
    s.write(FILE, list(&[one("B", &[]), one("C", &[])]));
    refuses(&s, 1, "amend_barred", &["amend", "--reason", "no A"]);
    // Before what is pending it can be put.
    let made = amend(
        &s,
        &[
            one("A", &[]),
            one("B", &[]),
            one("C", &["D"]),
            one("D", &[]),
        ],
    );
    assert_eq!(made["impact"]["added"], json!(["D"]));
}

#[test]
fn chain_c16_a_done_goal_is_kept_and_a_changed_one_stands_behind_it() {
    let goal = |title: &str| json!({"id": "G1", "title": title, "kind": "goal"});
    let s = building(&[one("A", &[]), goal("fast"), one("B", &[])]);
    let met = [
        "task",
        "decide",
        "G1",
        "--verdict",
        "proceed",
        "--evidence",
        "code.txt",
    ];
    s.loopx(&met).ok();
    s.write(FILE, list(&[one("A", &[]), goal("faster")]));
    let out = s
        .loopx(&["amend", "--reason", "twice the load"])
        .says("G1 is done and stays as it was; G1v2 takes its place");
    out.ok();
    let listed = s.loopx(&["task", "list", "--json"]).json();
    let rows = listed["tasks"].as_array().expect("tasks");
    let row = |id: &str| {
        rows.iter()
            .find(|row| row["task"] == id)
            .expect("a task")
            .clone()
    };
    assert_eq!(
        (&row("G1")["status"], &row("G1")["title"]),
        (&json!("completed"), &json!("fast"))
    );
    assert_eq!(
        (&row("G1v2")["status"], &row("G1v2")["title"]),
        (&json!("pending"), &json!("faster"))
    );
    assert_eq!(listed["dropped"][0]["task"], "B");
    assert_eq!(listed["dropped"][0]["change"], "CHG-001");
    assert!(s.read(FILE).contains("G1v2"), "the file follows");
}

#[test]
fn an_amendment_asks_for_a_person_a_reason_and_the_build() {
    let s = building(&[one("A", &[])]);
    s.write(FILE, list(&[one("A", &[]), one("B", &[])]));
    refuses(&s, 2, "reason_required", &["amend"]);
    let before = tip(&s);
    let out = s
        .call(LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["amend", "--reason", "more", "--json"])
        .run();
    assert_eq!(
        out.fails_with(6).error_json()["error"]["code"],
        "agent_may_not"
    );
    assert_eq!(tip(&s), before);
    assert!(s.read(FILE).contains("\"B\""), "the edits stay");
    s.write(FILE, "no list\n");
    let error = refuses(&s, 1, "task_list_invalid", &["amend", "--reason", "more"]);
    assert!(
        text(&error["message"]).contains("tasks.jsonl:1"),
        "{error:#}"
    );
    s.write(FILE, list(&[one("A", &[])]));
    refuses(&s, 5, "nothing_amended", &["amend", "--reason", "more"]);
    // Whoever adds a task is led here.
    let error = refuses(&s, 1, "artifact_locked", &["task", "add", "More"]);
    assert!(
        text(&error["help"]).contains("git loopx amend --reason"),
        "{error:#}"
    );
    let s = planning(&[one("A", &[])]);
    refuses(&s, 1, "amend_closed", &["amend", "--reason", "more"]);
}

#[test]
fn an_edit_that_nobody_amended_is_still_no_part_of_the_plan() {
    let s = building(&[one("A", &[])]);
    s.write(FILE, list(&[one("A", &[]), one("B", &[])]));
    refuses(&s, 1, "artifact_locked", &["save"]);
    assert_eq!(
        s.loopx(&["checkout", "--force", "tasks.jsonl"]).code,
        Some(0)
    );
    // A list from elsewhere.
    let path = s.root().join("new.jsonl");
    fs::write(&path, list(&[one("A", &[]), one("C", &[])])).expect("a file");
    s.loopx(&["amend", path.to_str().expect("UTF-8"), "--reason", "C too"])
        .ok();
    assert!(s.read(FILE).contains("\"C\""));
}

/// Two clones that amend apart: different tasks merge, and what merges is approved.
#[test]
fn amendments_that_were_made_apart_come_together_or_hold_visibly() {
    let all = clones_building(2, &[one("A", &[]), one("B", &[]), one("C", &[])]);
    let given = |at: usize, tasks: &[Value]| {
        let path = all.s.root().join(format!("new-{at}.jsonl"));
        fs::write(&path, list(tasks)).expect("a file");
        let path = path.to_str().expect("UTF-8").to_owned();
        all.loopx(at, &["-s", DEMO, "amend", &path, "--reason", "apart"])
            .ok();
    };
    let both = |at: usize| all.loopx(at, &["-s", DEMO, "task", "list", "--json"]);
    given(
        0,
        &[one("A", &[]), one("B", &[]), one("C", &[]), one("D", &[])],
    );
    given(1, &[one("A", &[]), one("B", &[]), one("C", &["B"])]);
    all.settle();
    all.assert_agreed();
    let rows = both(0).json()["tasks"].as_array().expect("tasks").len();
    assert_eq!(rows, 4);
    for id in ["A", "B", "C", "D"] {
        all.loopx(0, &["-s", DEMO, "run", "--task", id]).ok();
    }
    let state = all.loopx(0, &["-s", DEMO, "status", "--json"]).json();
    assert!(
        !state.to_string().contains("plan_approval_stale"),
        "{state:#}"
    );
    // A cycle that neither had.
    given(
        0,
        &[
            one("A", &["B"]),
            one("B", &[]),
            one("C", &["B"]),
            one("D", &[]),
        ],
    );
    given(
        1,
        &[
            one("A", &[]),
            one("B", &["A"]),
            one("C", &["B"]),
            one("D", &[]),
        ],
    );
    all.settle();
    let held = all.loopx(0, &["-s", DEMO, "--json", "take"]).fails_with(1);
    let error = held.error_json()["error"].clone();
    assert_eq!(error["code"], "task_list_invalid");
    assert!(text(&error["message"]).contains("A -> B -> A"), "{error:#}");
    assert!(
        text(&error["help"]).contains("git loopx -s demo amend --reason"),
        "{error:#}"
    );
    given(
        1,
        &[
            one("A", &[]),
            one("B", &["A"]),
            one("C", &["B"]),
            one("D", &[]),
        ],
    );
    all.settle();
    all.loopx(0, &["-s", DEMO, "take", "A"]).ok();
    assert!(Path::new(&all.remote()).exists());
}

/// A field that two amendments changed in different ways is a conflict, which somebody settles and approves.
#[test]
fn amendments_that_disagree_about_one_field_hold_until_somebody_settles_it() {
    let all = clones_building(2, &[one("A", &[]), one("B", &[])]);
    let titled = |title: &str| {
        let mut task = one("A", &[]);
        task["title"] = json!(title);
        task
    };
    let amend = |at: usize, tasks: &[Value]| {
        let path = all.s.root().join(format!("new-{at}.jsonl"));
        fs::write(&path, list(tasks)).expect("a file");
        let path = path.to_str().expect("UTF-8").to_owned();
        all.loopx(at, &["-s", DEMO, "amend", &path, "--reason", "apart"])
    };
    amend(0, &[titled("one"), one("B", &[])]).ok();
    amend(1, &[titled("two"), one("B", &[])]).ok();
    all.settle();
    all.assert_agreed();
    for at in 0..2 {
        let held = all.loopx(at, &["-s", DEMO, "--json", "take"]);
        assert_ne!(held.code, Some(0), "{held}");
        let status = all.loopx(at, &["-s", DEMO, "status", "--json"]).json();
        // A person chooses which of them counts.
        assert!(
            text(&status["advice"]).contains("resolve tasks.jsonl --side 1"),
            "{status:#}"
        );
    }
    let path = all.s.root().join("settled.jsonl");
    fs::write(&path, list(&[titled("both"), one("B", &[])])).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let settle = [
        "-s",
        DEMO,
        "resolve",
        "tasks.jsonl",
        "--file",
        path,
        "--reason",
        "both",
    ];
    all.loopx(0, &settle).ok();
    // What was settled was approved by nobody yet.
    let status = all.loopx(0, &["-s", DEMO, "status", "--json"]).json();
    assert!(
        status.to_string().contains("plan_approval_stale"),
        "{status:#}"
    );
    all.loopx(0, &["-s", DEMO, "amend", "--reason", "as settled"])
        .ok();
    let status = all.loopx(0, &["-s", DEMO, "status", "--json"]).json();
    assert!(
        !status.to_string().contains("plan_approval_stale"),
        "{status:#}"
    );
    all.settle();
    all.assert_agreed();
    let listed = all.loopx(1, &["-s", DEMO, "task", "list", "--json"]).json();
    assert_eq!(listed["tasks"][0]["title"], "both", "{listed:#}");
    all.loopx(1, &["-s", DEMO, "take", "A"]).ok();
}

/// Taking it back brings the list of before back, so that nobody else does that.
#[test]
fn a_signed_amendment_is_taken_back_by_who_signed_it() {
    for policy in ["", "[approve]\nsigned = [\"plan->build\"]\n"] {
        let files = [("loopx.toml", policy), ("loopx.signers", &*everybody())];
        let s = planning_with(&files, &[one("A", &[])]);
        let by = |who: Signer, args: &[&str]| {
            use_key(&s, key(who.2));
            let call = s.call(LOOPX).env("GIT_AUTHOR_NAME", who.0);
            let call = call.env("GIT_AUTHOR_EMAIL", who.1);
            let call = call.env("GIT_COMMITTER_NAME", who.0);
            call.env("GIT_COMMITTER_EMAIL", who.1).args(args).run()
        };
        let enter = ["approve", "--enter", "--reason", "agreed", "--sign"];
        by(ADA, &enter).ok();
        let amend = |sign: &str| {
            s.write(FILE, list(&[one("A", &[]), one("B", &[])]));
            by(ADA, &["amend", "--reason", "B too", sign])
        };
        amend("--sign").ok();
        let before = tip(&s);
        let back = ["--json", "undo", "--of", ADA.0, "--reason", "no B"];
        let error = by(BOB, &back).fails_with(1).error_json()["error"].clone();
        assert_eq!(error["code"], "word_taken_back", "{error:#}");
        let help = text(&error["help"]);
        assert!(help.contains("amend --reason"), "{error:#}");
        assert_eq!(tip(&s), before);
        if policy.is_empty() {
            by(ADA, &["undo"]).ok();
            // What nobody signed is everybody's to take back, with a reason.
            amend("--no-sign").ok();
            by(BOB, &back).ok();
            continue;
        }
        let error = by(ADA, &["--json", "undo"]).fails_with(1).error_json()["error"].clone();
        assert_eq!(error["help"], "git loopx -s demo undo --sign", "{error:#}");
        by(ADA, &["undo", "--sign"]).ok();
        assert!(!s.read(FILE).contains("\"B\""));
        let status = s.loopx(&["status", "--json"]).ok();
        assert!(!status.contains("word_taken_back"), "{status}");
    }
}

#[test]
fn what_waits_for_a_skipped_task_is_led_on() {
    let s = building(&[one("A", &[]), one("B", &["A"])]);
    s.commit_file("code.txt", "two\n", "feat: two").ok();
    s.loopx(&["task", "skip", "A", "--reason", "not now"]).ok();
    let next = s.loopx(&["next", "--json"]).json();
    assert!(
        next.to_string().contains("git loopx task retry A"),
        "{next:#}"
    );
}

#[test]
fn an_agent_takes_nothing_over_while_a_lease_runs() {
    let s = building(&[one("A", &[])]);
    s.loopx(&["take", "A"]).ok();
    let other = detached(&s, "other");
    let over = ["take", "A", "--take-over", "--reason", "mine"];
    let call = || there(&s, &other, &over);
    let out = call().env("CLAUDECODE", "1").run().fails_with(6);
    assert_eq!(out.error_json()["error"]["code"], "agent_may_not");
    call().run().ok();
}

#[test]
fn a_list_that_is_no_json_is_not_put() {
    let s = planning(&[one("A", &[])]);
    let before = s.read(FILE);
    let call = s.call(LOOPX).args(&["--json", "put", "tasks.jsonl"]);
    let out = call
        .stdin("{\"id\":\"A\",\"title\":\"a\"}\nnot json\n")
        .run();
    let error = out.fails_with(1).error_json()["error"].clone();
    assert!(
        text(&error["message"]).starts_with("tasks.jsonl:2: "),
        "{error:#}"
    );
    assert_eq!(s.read(FILE), before);
}

#[test]
fn sync_says_whose_claim_was_first() {
    let all = clones_building(2, &[one("A", &[]), one("B", &[])]);
    // The first clone's claim is the later one by number, and is shared before.
    all.loopx(0, &["-s", DEMO, "take", "B"]).ok();
    all.loopx(0, &["-s", DEMO, "take", "A"]).ok();
    all.loopx(1, &["-s", DEMO, "take", "A"]).ok();
    all.sync(0).ok();
    let second = all.sync(1);
    let first = all
        .sync(0)
        .says("the claim of A by Person 0 does not count: Person 1 was first");
    assert!(matches!(
        (first.code, second.code),
        (Some(0 | 3), Some(0 | 3))
    ));
}

/// Two worktrees of one session with its files checked out in both, before anything was amended.
fn two_worktrees() -> (Sandbox, PathBuf) {
    let s = building(&[one("A", &[]), one("B", &[])]);
    let other = detached(&s, "other");
    there(&s, &other, &["checkout"]).run().ok();
    (s, other)
}

fn titled(id: &str, title: &str) -> Value {
    let mut task = one(id, &[]);
    task["title"] = json!(title);
    task
}

fn ids(s: &Sandbox) -> Vec<String> {
    statuses(s).into_keys().collect()
}

#[test]
fn an_amendment_of_an_older_list_keeps_what_others_amended() {
    let (s, other) = two_worktrees();
    let file = other.join(FILE);
    fs::write(&file, list(&[one("A", &[]), one("B", &[]), one("D", &[])])).expect("a file");
    amend(
        &s,
        &[titled("A", "Do A well"), one("B", &[]), one("C", &[])],
    );
    let amends = ["amend", "--reason", "D too"];
    let shown = there(&s, &other, &["amend", "--show"]).run().json();
    assert_eq!(shown["impact"]["added"], json!(["D"]), "{shown:#}");
    let made = there(&s, &other, &amends).run().json();
    assert_eq!(made["impact"]["added"], json!(["D"]), "{made:#}");
    assert_eq!(made["impact"]["dropped"], json!([]), "{made:#}");
    assert_eq!(ids(&s), ["A", "B", "C", "D"]);
    // The file is what was amended, and nothing is left to save.
    let text = s.loopx(&["cat", "tasks.jsonl"]).ok();
    assert!(text.contains("Do A well"), "{text}");
    assert_eq!(fs::read_to_string(&file).expect("a file"), text);
    let state = there(&s, &other, &["status"]).run().json();
    assert!(!state.to_string().contains("artifact_locked"), "{state:#}");
    let again = there(&s, &other, &amends).run().fails_with(5);
    assert_eq!(again.error_json()["error"]["code"], "nothing_amended");
    // Who has no edits has nothing to amend, however old the file is.
    let none = s.call(LOOPX).args(&["--json", "amend", "--reason", "more"]);
    let none = none.run().fails_with(5).error_json();
    assert_eq!(none["error"]["code"], "nothing_amended");
}

#[test]
fn an_amendment_of_what_somebody_else_amended_is_a_conflict_in_the_file() {
    let (s, other) = two_worktrees();
    let file = other.join(FILE);
    let edits = list(&[titled("A", "Mine"), one("B", &[])]);
    fs::write(&file, &edits).expect("a file");
    amend(&s, &[titled("A", "Theirs"), one("B", &[])]);
    let before = tip(&s);
    let shown = there(&s, &other, &["amend", "--show"]).run().fails_with(3);
    assert_eq!(shown.error_json()["error"]["code"], "artifact_conflict");
    assert_eq!(fs::read_to_string(&file).expect("a file"), edits);
    let amends = ["amend", "--reason", "mine"];
    for _ in 0..2 {
        let out = there(&s, &other, &amends).run().fails_with(3);
        assert_eq!(out.error_json()["error"]["code"], "artifact_conflict");
        let text = fs::read_to_string(&file).expect("a file");
        assert!(text.contains("Mine") && text.contains("Theirs"), "{text}");
        assert_eq!(tip(&s), before);
    }
    let settled = list(&[titled("A", "Both"), one("B", &[])]);
    fs::write(&file, &settled).expect("a file");
    there(&s, &other, &amends).run().ok();
    assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok(), settled);
    assert_eq!(fs::read_to_string(&file).expect("a file"), settled);
}

#[test]
fn a_whole_list_is_refused_where_the_list_moved_unseen() {
    let (s, other) = two_worktrees();
    amend(&s, &[one("A", &[]), one("B", &[]), one("C", &[])]);
    let path = s.root().join("new.jsonl");
    fs::write(&path, list(&[one("A", &[]), one("B", &[]), one("D", &[])])).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let before = tip(&s);
    for args in [&["--reason", "D"][..], &["--show"]] {
        let args = [&["amend", path], args].concat();
        let error = there(&s, &other, &args).run().fails_with(1).error_json();
        assert_eq!(error["error"]["code"], "list_moved", "{error:#}");
        assert!(text(&error["error"]["message"]).contains("CHG-001 by Ada"));
    }
    assert_eq!(tip(&s), before);
    // Once it is looked at, the file stands as it is.
    there(&s, &other, &["checkout", "tasks.jsonl"]).run().ok();
    let shown = there(&s, &other, &["amend", path, "--show"]).run().json();
    assert_eq!(shown["impact"]["dropped"][0]["task"], "C");
    there(&s, &other, &["amend", path, "--reason", "D for C"])
        .run()
        .ok();
    assert_eq!(ids(&s), ["A", "B", "D"]);
}

/// An amendment made at one time with others loses none of theirs.
#[test]
fn amendments_at_one_time_all_count() {
    let (s, other) = two_worktrees();
    let third = detached(&s, "third");
    there(&s, &third, &["checkout"]).run().ok();
    let own = s.path().to_path_buf();
    for (dir, id) in [(&own, "D"), (&other, "E"), (&third, "F")] {
        let tasks = list(&[one("A", &[]), one("B", &[]), one(id, &[])]);
        fs::write(dir.join(FILE), tasks).expect("a file");
    }
    std::thread::scope(|scope| {
        for dir in [&own, &other, &third] {
            let s = &s;
            scope.spawn(move || {
                there(s, dir, &["amend", "--reason", "one more"]).run().ok();
            });
        }
    });
    assert_eq!(ids(&s), ["A", "B", "D", "E", "F"]);
}

/// The edit goes along to the plan, where the list is open.
#[test]
fn z14_an_edited_list_goes_back_to_the_plan_that_two_people_approve() {
    let policy = "[approve]\nsigned = [\"plan->build\"]\nrequired = { \"plan->build\" = 2 }\n";
    let files = [("loopx.toml", policy), ("loopx.signers", &*everybody())];
    let s = planning_with(&files, &[one("A", &[])]);
    let by = |who: Signer, args: &[&str]| {
        use_key(&s, key(who.2));
        let call = s.call(LOOPX).env("GIT_AUTHOR_NAME", who.0);
        let call = call.env("GIT_AUTHOR_EMAIL", who.1);
        let call = call.env("GIT_COMMITTER_NAME", who.0);
        call.env("GIT_COMMITTER_EMAIL", who.1).args(args).run()
    };
    let approve = ["approve", "--to", "build", "--sign"];
    by(ADA, &approve).ok();
    by(BOB, &approve).ok();
    by(ADA, &["build"]).ok();
    s.write(FILE, list(&[one("A", &[]), one("B", &[])]));
    let back = "git loopx plan --reason 'the plan has to change'";
    for args in [
        &["amend", "--reason", "B too", "--sign"][..],
        &["approve", "--to", "review"],
        &["review"],
        &["save"],
    ] {
        let error = by(ADA, &[&["--json"], args].concat())
            .fails_with(1)
            .error_json();
        let help = text(&error["error"]["help"]);
        assert!(help.starts_with(back), "{args:?}: {error:#}");
        assert!(!help.contains("amend"), "{args:?}: {error:#}");
    }
    assert_eq!(next_of(&s, false), back);
    let status = s.loopx(&["status"]).says("your edit goes back to it").ok();
    assert!(!status.contains("amend --reason"), "{status}");
    s.loopx(&["plan", "--reason", "the plan has to change"])
        .ok();
    assert_eq!(ids(&s), ["A", "B"]);
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(status["stage"], "plan", "{status:#}");
    assert_eq!(next_of(&s, false), "git loopx approve --to build --sign");
    by(ADA, &approve).ok();
    by(BOB, &approve).ok();
    by(ADA, &["build"]).ok();
    assert_eq!(ids(&s), ["A", "B"]);
}

/// A person who may amend may go back to the plan with the edit all the same.
#[test]
fn z14_an_edited_list_goes_back_to_the_plan_that_one_person_approves() {
    let s = building(&[one("A", &[])]);
    s.write(FILE, list(&[one("A", &[]), one("B", &[])]));
    s.loopx(&["plan", "--reason", "B too"]).ok();
    assert_eq!(ids(&s), ["A", "B"]);
    // Taken back, the list is the approved one again, in the file as well.
    s.loopx(&["undo"]).ok();
    assert_eq!(ids(&s), ["A"]);
    assert!(!s.read(FILE).contains("\"B\""), "{}", s.read(FILE));
}
