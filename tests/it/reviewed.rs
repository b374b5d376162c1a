//! Faults of the task graph that a review found: what each led to, and what holds now.

use crate::support::keys::{everybody, key, use_key};
use crate::support::store::{detached, tip};
use crate::support::tasks::{
    DEMO, building, checkpoint, clones_building, planning, planning_with, refuses, row, statuses,
    take, task, text, there, with,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};

const LIST: &str = ".loopx/demo/tasks.jsonl";
const REPORT: &str = ".loopx/demo/tasks/A/report.md";

/// A task that `true` proves.
fn one(id: &str, on: &[&str]) -> Value {
    task(id, on, Some(&["true"]))
}

/// A task that also has these fields.
fn also(id: &str, fields: Value) -> Value {
    let mut task = one(id, &[]);
    if let (Some(task), Value::Object(fields)) = (task.as_object_mut(), fields) {
        task.extend(fields);
    }
    task
}

/// A decision about A, which is done, with these fields of its gate; what fixes insert is one task.
fn gated(gate: Value) -> Sandbox {
    let mut gate = gate;
    gate["repair"] = json!([one("mend", &[])]);
    let s = building(&[
        one("A", &[]),
        with("G", &["A"], json!({ "kind": "decision", "gate": gate })),
    ]);
    do_next(&s, "A");
    s
}

fn do_next(s: &Sandbox, wanted: &str) {
    assert_eq!(take(s), wanted);
    s.loopx(&["task", "done"]).ok();
}

fn decide(s: &Sandbox, args: &[&str]) -> Value {
    let call = s.call(LOOPX).args(&["--json", "task", "decide"]);
    call.args(args).run().json()
}

/// The decision that a text makes, with these values besides.
fn decide_from(s: &Sandbox, said: &str, args: &[&str]) -> Output {
    let call = s.call(LOOPX).args(&["--json", "task", "decide", "G"]);
    call.args(&["--from", "-"]).args(args).stdin(said).run()
}

/// The words of a command that a hint names.
fn typed(help: &Value) -> Vec<String> {
    let help = text(help);
    let command = help.strip_prefix("git loopx ").expect("a command of ours");
    let command = command.replace("WHY", "agreed");
    shlex::split(&command).expect("words")
}

/// Runs a command at a time.
fn at(s: &Sandbox, seconds: i64, args: &[&str]) -> Output {
    let date = format!("{} +0000", 1_767_225_600 + seconds);
    let call = s.call(LOOPX).env("GIT_COMMITTER_DATE", &date);
    call.env("GIT_AUTHOR_DATE", &date).args(args).run()
}

fn code(out: &Output) -> Value {
    out.error_json()["error"]["code"].clone()
}

#[test]
fn one_rating_beside_a_discussion_that_says_high_makes_it_no_milder() {
    let s = gated(json!({ "views": ["one", "two", "three"] }));
    let said = "DISCUSS_RESULT\nverdict: consensus_blocked\nseverity: HIGH\n";
    let out = decide_from(&s, said, &["--rating", "one=5"]).fails_with(2);
    assert_eq!(code(&out), "decision_values");
    let all = [
        "--rating", "one=5", "--rating", "two=5", "--rating", "three=5",
    ];
    let decided = decide_from(&s, said, &all).json();
    assert_eq!(decided["verdict"], "fix", "{decided:#}");
    // Nobody wrote down the views of the second one, and it stands for all of them.
    do_next(&s, "G.1.mend");
    let said = "DISCUSS_RESULT\nverdict: consensus_reached\naverage_rating: 4/5\n";
    let call = s.call(LOOPX).args(&["--json", "task", "decide", "G.1"]);
    let decided = call.args(&["--from", "-"]).stdin(said).run().json();
    assert_eq!(decided["verdict"], "proceed", "{decided:#}");
}

#[test]
fn a_run_that_changed_the_code_proves_no_goal_and_no_decision() {
    let goal =
        json!({ "kind": "goal", "done_when": "it is fast", "gate": { "repair": [one("x", &[])] } });
    let s = building(&[
        with("G", &[], goal),
        with("D", &[], json!({ "kind": "decision" })),
    ]);
    let ran = [
        "run",
        "--json",
        "--kind",
        "test",
        "--",
        "sh",
        "-c",
        "echo more >> code.txt",
    ];
    let ran = s.loopx(&ran).json();
    s.git(&["checkout", "--quiet", "code.txt"]).ok();
    let shown = s.loopx(&["show", "--json"]).json();
    let seq = &shown["state"]["evidence"][0]["seq"];
    let run = format!("@{seq}");
    assert_eq!(shown["state"]["evidence"][0]["tree_kept"], false, "{ran:#}");
    let decision = [
        "task",
        "decide",
        "D",
        "--verdict",
        "proceed",
        "--evidence",
        &run,
    ];
    let error = refuses(&s, 1, "decision_evidence", &decision);
    assert!(
        text(&error["message"]).contains("is no evidence"),
        "{error:#}"
    );
    let decided = decide(&s, &["G", "--verdict", "proceed", "--evidence", &run]);
    assert_eq!(decided["verdict"], "fix", "{decided:#}");
    assert_ne!(statuses(&s)["G"], "completed");
}

#[test]
fn an_overdue_task_is_given_to_nobody_before_it_would_be_ready() {
    let s = building(&[one("A", &[]), one("B", &["A"])]);
    let other = detached(&s, "other");
    s.git(&["config", "loopx.lease", "10"]).ok();
    at(&s, 0, &["take", "A"]).ok();
    at(&s, 1, &["task", "done", "A"]).ok();
    at(&s, 2, &["take", "B"]).ok();
    at(&s, 3, &["task", "retry", "A", "--reason", "again"]).ok();
    let asks = |seconds: i64, args: &[&str]| {
        let date = format!("{} +0000", 1_767_225_600 + seconds);
        let call = there(&s, &other, args).env("GIT_COMMITTER_DATE", &date);
        call.env("GIT_AUTHOR_DATE", &date).run()
    };
    for args in [
        &["take", "B"][..],
        &["take", "B", "--take-over", "--reason", "x"],
    ] {
        let out = asks(100, args).fails_with(1);
        assert_eq!(code(&out), "task_not_ready", "{args:?}");
    }
    let taken = asks(100, &["take"]).json();
    assert_eq!(taken["card"]["task"], "A", "{taken:#}");
    // Nothing is left but what waits for somebody who works.
    let out = asks(101, &["take", "--role", "x"]).fails_with(6);
    assert_eq!(code(&out), "task_held");
    asks(102, &["task", "done", "A"]).ok();
    assert_eq!(asks(103, &["take"]).json()["card"]["task"], "B");
}

#[test]
fn an_overdue_task_is_given_to_nobody_in_another_stage() {
    let s = building(&[one("A", &[])]);
    let other = detached(&s, "other");
    s.git(&["config", "loopx.lease", "10"]).ok();
    at(&s, 0, &["take", "A"]).ok();
    at(&s, 1, &["plan", "--reason", "the plan is wrong"]).ok();
    let date = format!("{} +0000", 1_767_225_600 + 100);
    for (args, wanted) in [
        (&["take"][..], "tasks_stalled"),
        (&["take", "A"], "task_not_ready"),
    ] {
        let call = there(&s, &other, args).env("GIT_COMMITTER_DATE", &date);
        let out = call.env("GIT_AUTHOR_DATE", &date).run().fails_with(1);
        let error = out.error_json()["error"].clone();
        assert_eq!(error["code"], wanted, "{error:#}");
        assert!(error.to_string().contains("stage build"), "{error:#}");
    }
}

#[test]
fn an_overdue_checkpoint_waits_for_a_person() {
    let s = building(&[one("A", &[]), checkpoint("CP", &["A"])]);
    let other = detached(&s, "other");
    s.git(&["config", "loopx.lease", "10"]).ok();
    at(&s, 0, &["take", "A"]).ok();
    at(&s, 1, &["task", "done", "A"]).ok();
    at(&s, 2, &["take", "CP"]).ok();
    let date = format!("{} +0000", 1_767_225_600 + 100);
    let call = there(&s, &other, &["take"]).env("GIT_COMMITTER_DATE", &date);
    let out = call.env("GIT_AUTHOR_DATE", &date).run().fails_with(6);
    assert_eq!(code(&out), "checkpoint_open", "{out}");
}

#[test]
fn a_verdict_that_contradicts_itself_is_a_fix_with_score_0() {
    for said in [
        "---VERDICT---\nSTATUS: proceed\nSTATUS: fix\nREASON: two tests are red\n---END---\n",
        "---VERDICT---\nSTATUS: proceed\nCONFIDENCE_SCORE: 90/1000\n---END---\n",
    ] {
        let s = gated(json!({}));
        let decided = decide_from(&s, said, &[]).json();
        assert_eq!(
            (&decided["verdict"], &decided["score"]),
            (&json!("fix"), &json!("0"))
        );
    }
    // 40 % is no mean of ratings, and 8 % is none of ten points.
    let s = gated(json!({ "views": ["one", "two"] }));
    let said = "DISCUSS_RESULT\nverdict: consensus_reached\naverage_rating: 40%\n";
    assert_eq!(decide_from(&s, said, &[]).json()["verdict"], "fix");
    let s = gated(json!({ "rubric": { "scale": 10, "pass": 8 } }));
    let said = "---VERDICT---\nSTATUS: proceed\nCONFIDENCE_SCORE: 8%\n---END---\n";
    assert_eq!(decide_from(&s, said, &[]).json()["verdict"], "fix");
}

#[test]
fn a_score_of_the_whole_counts_for_nothing_where_a_rubric_has_dimensions() {
    let dimension = |name: &str| json!({ "name": name, "weight": 1, "minimum": 70, "warn": 50 });
    let s = gated(json!({
        "cap": 1,
        "at_cap": "accept",
        "rubric": { "warn": 40, "pass": 80, "dimensions": [dimension("code"), dimension("tests")] },
    }));
    decide(&s, &["G", "--verdict", "fix", "--reason", "it is broken"]);
    do_next(&s, "G.1.mend");
    let made_up = [
        "G.1",
        "--verdict",
        "fix",
        "--score",
        "100",
        "--reason",
        "it is broken",
    ];
    let decided = decide(&s, &made_up);
    assert_eq!(decided["verdict"], "escalate", "{decided:#}");
    assert!(decided["suggestion"].is_null(), "{decided:#}");
}

#[test]
fn a_quick_session_has_a_list_that_is_open_in_the_build() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--quick", DEMO]).ok();
    // What is not approved is not amended, and the refusal leads on.
    let error = refuses(&s, 1, "amend_closed", &["amend", "--reason", "x"]);
    assert_eq!(error["help"], "git loopx task add TITLE");
    let add = [
        "task",
        "add",
        "Do A",
        "--id",
        "A",
        "--criterion",
        "it is there",
        "--",
        "true",
    ];
    s.loopx(&add).ok();
    let error = refuses(&s, 1, "amend_closed", &["amend", "--reason", "x"]);
    assert_eq!(error["help"], "git loopx edit tasks.jsonl");
    let list = s.read(LIST);
    s.write(LIST, list.replace("Do A", "Do it"));
    s.loopx(&["save"]).ok();
    s.loopx(&["pipeline", "start", "fe-only", "--param", "check=true"])
        .ok();
    s.loopx(&["task", "check"]).ok();
    do_next(&s, "A");
    assert_eq!(row(&s, "A")["title"], "Do it");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    // It holds the way on, and the next profile finds it.
    let status = s.loopx(&["status", "--json"]).json();
    assert!(status.to_string().contains("tasks_open"), "{status:#}");
    s.loopx(&["profile", "lite", "--reason", "it grew"]).ok();
    assert_eq!(
        s.read(LIST)
            .lines()
            .next()
            .map(|line| line.contains("Do it")),
        Some(true)
    );
    // With a plan before the build the list is what was approved.
    let s = building(&[one("A", &[])]);
    refuses(
        &s,
        1,
        "artifact_locked",
        &["task", "add", "--manual", "look", "B"],
    );
}

#[test]
fn results_that_were_made_apart_are_named_by_status_and_a_lost_claim_is_not_for_ever() {
    let all = clones_building(2, &[task("A", &[], None), task("B", &[], None)]);
    let of = |at: usize, args: &[&str]| all.loopx(at, &[&["-s", DEMO, "--json"], args].concat());
    let done = |at: usize, id: &str| of(at, &["task", "done", id, "--manual", "--reason", "seen"]);
    for at in 0..2 {
        of(at, &["take", "A"]).ok();
        of(at, &["take", "B"]).ok();
        done(at, "A").ok();
    }
    all.settle();
    let beside = |id: usize| {
        let listed = of(0, &["task", "list"]).json();
        listed["tasks"][id]["beside"].as_array().map_or(0, Vec::len)
    };
    let status = of(0, &["status"]).json();
    assert_eq!(status["apart"][0]["task"], "A", "{status:#}");
    assert_eq!(status["apart"][0]["by"].as_array().map(Vec::len), Some(1));
    let said = all.loopx(0, &["-s", DEMO, "status"]).ok();
    assert!(
        said.contains("apart") && said.contains("1 more result"),
        "{said}"
    );
    assert_eq!(beside(1), 1);
    let winner = (0..2).find(|at| done(*at, "B").code == Some(0));
    assert!(winner.is_some());
    all.settle();
    assert_eq!(beside(1), 0);
    // Whoever looks into it does it anew, and nothing stands apart then.
    of(0, &["task", "retry", "A", "--reason", "one of both"]).ok();
    assert_eq!(of(0, &["status"]).json()["apart"], Value::Null);
}

#[test]
fn a_file_that_is_only_read_is_not_committed_with_the_task() {
    let files = json!({ "files": [{ "path": "b.txt" }, { "path": "code.txt", "action": "read" }] });
    let s = building(&[also("A", files)]);
    assert_eq!(take(&s), "A");
    s.write("b.txt", "b\n");
    s.write("code.txt", "half done by somebody else\n");
    s.loopx(&["task", "done", "--commit"]).ok();
    let committed = s.git(&["show", "--name-only", "--format=", "HEAD"]).ok();
    assert_eq!(committed.trim(), "b.txt");
    let left = s.git(&["status", "--short", "--untracked-files=no"]).ok();
    assert_eq!(left.trim(), "M code.txt");
    let only = json!({ "files": [{ "path": "code.txt", "action": "read" }] });
    let s = building(&[also("A", only)]);
    assert_eq!(take(&s), "A");
    refuses_done(&s, "task_not_committed");
}

/// `task done --commit` is refused; gives the error.
fn refuses_done(s: &Sandbox, wanted: &str) -> Value {
    let out = s
        .loopx(&["--json", "task", "done", "--commit"])
        .fails_with(1);
    let error = out.error_json()["error"].clone();
    assert_eq!(error["code"], wanted, "{error:#}");
    error
}

#[cfg(unix)]
#[test]
fn a_completion_that_fails_behind_its_commit_names_the_commit() {
    let s = building(&[also("A", json!({ "files": ["b.txt"] }))]);
    assert_eq!(take(&s), "A");
    let hook = "#!/bin/sh\necho formatted >> b.txt\ngit add b.txt\n";
    s.script(".git/hooks/pre-commit", hook);
    s.write("b.txt", "b\n");
    let error = refuses_done(&s, "task_unverified");
    let head = s.git(&["rev-parse", "HEAD"]).line();
    let said = text(&error["message"]);
    assert!(
        said.contains("committed already") && said.contains(&head[..7]),
        "{said}"
    );
    // The hint leads on: the check runs on what the hook made of it.
    let words = typed(&error["help"]);
    s.loopx(&words).ok();
    assert_eq!(statuses(&s)["A"], "completed");
}

#[test]
fn a_refused_amendment_names_the_command_that_amends() {
    let s = planning_with(
        &[
            ("loopx.signers", &everybody()),
            ("loopx.toml", "[approve]\nsigned = [\"plan->build\"]\n"),
        ],
        &[one("A", &[])],
    );
    use_key(&s, key("ada"));
    s.loopx(&["approve", "--enter", "--sign", "--reason", "agreed"])
        .ok();
    let list = s.read(LIST);
    s.write(LIST, format!("{list}{}\n", one("B", &[])));
    let error = refuses(
        &s,
        1,
        "approval_unsigned",
        &["amend", "--reason", "more", "--no-sign"],
    );
    let status = s.loopx(&["status", "--json"]).json();
    let blocker = status["blockers"]
        .as_array()
        .expect("blockers")
        .iter()
        .find(|one| one["code"] == "artifact_locked")
        .expect("the list changed");
    for help in [&blocker["help"], &status["next_action"], &error["help"]] {
        let help = text(help);
        let is_signed = help.starts_with("git loopx amend --reason ") && help.contains(" --sign");
        assert!(is_signed, "{help}");
    }
    let words = typed(&error["help"]);
    assert_eq!(words[0], "amend");
    s.loopx(&words).ok();
    assert_eq!(statuses(&s)["B"], "pending");
}

#[test]
fn a_check_that_ran_out_of_its_last_time_leads_to_a_retry_with_a_reason() {
    let slow = json!({
        "cap": 1,
        "time_limit": 1,
        "convergence": { "criteria": ["x"], "verification": { "cmd": ["sleep", "5"] } },
    });
    let s = building(&[also("A", slow)]);
    assert_eq!(take(&s), "A");
    let out = s.loopx(&["--json", "task", "done"]).fails_with(1);
    let error = out.error_json()["error"].clone();
    assert_eq!(error["code"], "task_timed_out");
    let first = text(&error["help"]);
    let first = first.split("  or: ").next().expect("a command");
    s.loopx(&typed(&json!(first))).ok();
    assert_eq!(statuses(&s)["A"], "pending");
}

#[test]
fn a_pipeline_whose_ids_are_taken_leads_to_a_start_that_works() {
    let s = planning(&[]);
    s.write(LIST, "");
    let start = [
        "--json",
        "pipeline",
        "start",
        "fe-only",
        "--param",
        "check=sh -c 'exit 0'",
    ];
    s.loopx(&start).ok();
    for prefix in ["second-", "third-", "4th-"] {
        let out = s.loopx(&start).fails_with(1);
        let error = out.error_json()["error"].clone();
        assert_eq!(error["code"], "pipeline_id_taken");
        assert!(text(&error["help"]).contains(prefix), "{error:#}");
        s.loopx(&typed(&error["help"])).ok();
    }
    s.loopx(&["task", "check"]).ok();
}

/// A task of a pipeline that anybody can look at, with these lines besides.
fn node(id: &str, more: &str) -> String {
    format!(
        "[[nodes]]\nid = \"{id}\"\ntitle = \"Do {id}\"\ncriteria = [\"it is there\"]\nverification = {{ manual = \"look\" }}\n{more}\n"
    )
}

/// A session in plan on code that has these pipelines.
fn with_pipelines(all: &[(&str, &[u8])]) -> Sandbox {
    let s = Sandbox::new();
    for (name, text) in all {
        s.write(format!("loopx/pipelines/{name}.toml"), text);
    }
    s.git(&["add", "."]).ok();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--profile", "lite", DEMO]).ok();
    s
}

#[test]
fn what_a_condition_leaves_out_takes_its_gates_along() {
    let params = "title = \"Own\"\n[params.deep]\nvalues = [\"yes\", \"no\"]\ndefault = \"yes\"\n";
    let when = "when = { params = { deep = \"yes\" } }";
    let judged = [
        params,
        &node("A", when),
        &node(
            "B",
            "depends_on = [\"A\"]\n[[nodes.gates]]\nid = \"GB\"\njudges = [\"A\"]",
        ),
    ];
    let behind = [
        params,
        &node("Z", ""),
        &node(
            "A",
            &format!("depends_on = [\"Z\"]\n{when}\n[[nodes.gates]]\nid = \"GA\""),
        ),
        &node("B", "depends_on = [\"GA\"]"),
    ];
    let (judged, behind) = (judged.concat(), behind.concat());
    let s = with_pipelines(&[("judged", judged.as_bytes()), ("behind", behind.as_bytes())]);
    s.loopx(&["pipeline", "check", "--strict"]).ok();
    let lines = |name: &str, deep: &str| {
        let call = s.call(LOOPX).args(&["--json", "pipeline", "start", name]);
        let plan = call.args(&["--param", deep, "--dry-run"]).run().json();
        let lines = plan["lines"].as_array().expect("lines").clone();
        let line = |line: &Value| serde_json::from_str::<Value>(&text(line)).expect("a line");
        lines.iter().map(line).collect::<Vec<Value>>()
    };
    assert_eq!(
        lines("judged", "deep=yes")[2]["gate"]["judges"],
        json!(["B", "A"])
    );
    assert_eq!(
        lines("judged", "deep=no")[1]["gate"]["judges"],
        json!(["B"])
    );
    assert_eq!(lines("behind", "deep=yes")[3]["depends_on"], json!(["GA"]));
    assert_eq!(lines("behind", "deep=no")[1]["depends_on"], json!(["Z"]));
    for name in ["judged", "behind"] {
        s.write(LIST, "");
        s.loopx(&["pipeline", "start", name, "--param", "deep=no"])
            .ok();
        s.loopx(&["task", "check"]).ok();
    }
}

#[test]
fn a_default_is_filled_in_whatever_its_name_is() {
    let own = |defaults: &str| {
        format!(
            "title = \"Own\"\n{defaults}\n[[nodes]]\nid = \"A\"\ntitle = \"Do {{alpha}}\"\ncriteria = [\"it is there\"]\nverification = {{ manual = \"look\" }}\n"
        )
    };
    let good = own(
        "[params.alpha]\ndefault = \"see {zeta}\"\n[params.zeta]\ndefault = \"z of {session}\"",
    );
    let nobody = own("[params.alpha]\ndefault = \"see {nobody} of {id}\"");
    let ring = own("[params.alpha]\ndefault = \"{zeta}\"\n[params.zeta]\ndefault = \"{alpha}\"");
    let s = with_pipelines(&[
        ("good", good.as_bytes()),
        ("nobody", nobody.as_bytes()),
        ("ring", ring.as_bytes()),
        ("bytes", b"title = \"x\"\n# \xff\n"),
    ]);
    // A file that nobody can read is a finding of its own, and keeps nobody from the others.
    let checked = s
        .loopx(&["--json", "pipeline", "check"])
        .fails_with(1)
        .json();
    let found = checked["findings"].as_array().expect("findings").iter();
    let found: Vec<(String, String)> = found
        .map(|one| (text(&one["file"]), text(&one["id"])))
        .collect();
    let file = |name: &str| format!("loopx/pipelines/{name}.toml");
    let unknown = "pipeline_placeholder_unknown".to_owned();
    let wanted = [
        (file("bytes"), "pipeline_unreadable".to_owned()),
        (file("nobody"), unknown.clone()),
        (file("nobody"), unknown.clone()),
        (file("ring"), unknown),
    ];
    assert_eq!(found, wanted);
    let listed = s.loopx(&["--json", "pipeline", "list"]).json();
    let listed = listed["pipelines"].as_array().expect("pipelines").iter();
    let bad = listed.filter(|one| one["errors"] != 0);
    assert_eq!(bad.count(), 3);
    refuses(&s, 1, "pipeline_invalid", &["pipeline", "start", "bytes"]);
    s.loopx(&["pipeline", "start", "good"]).ok();
    assert!(
        s.read(LIST).contains("Do see z of demo"),
        "{}",
        s.read(LIST)
    );
}

/// Two worktrees with a report that is saved; the second one has it, too.
fn reported() -> (Sandbox, std::path::PathBuf) {
    let s = building(&[also("A", json!({ "outputs": ["tasks/A/report.md"] }))]);
    s.write(REPORT, "one\n");
    s.loopx(&["save"]).ok();
    let other = detached(&s, "other");
    there(&s, &other, &["checkout"]).run().ok();
    (s, other)
}

#[test]
fn to_look_for_outputs_writes_nothing() {
    let (s, other) = reported();
    let file = other.join(REPORT);
    std::fs::write(&file, "theirs\n").expect("a file");
    s.write(REPORT, "ours\n");
    s.loopx(&["save"]).ok();
    let before = tip(&s);
    for _ in 0..2 {
        let left = there(&s, &other, &["task", "outputs", "A"]).run().json();
        assert_eq!(left["outputs"][0]["present"], true, "{left:#}");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "theirs\n");
    }
    assert_eq!(tip(&s), before);
    // Saving it is what asks somebody to choose.
    there(&s, &other, &["save"]).run().fails_with(3);
}

#[test]
fn an_output_that_was_removed_here_and_changed_there_is_a_conflict() {
    let (s, other) = reported();
    std::fs::remove_file(other.join(REPORT)).expect("a file");
    s.write(REPORT, "two\n");
    s.loopx(&["save"]).ok();
    let status = s.call(LOOPX).cwd(&other).env("LOOPX_SESSION", DEMO);
    let status = status.args(&["status"]).run().ok();
    assert!(
        status.contains("changed here and on the branch"),
        "{status}"
    );
    let out = there(&s, &other, &["save"]).run().fails_with(3);
    let error = out.error_json()["error"].clone();
    assert_eq!(error["code"], "artifact_conflict", "{error:#}");
    assert!(
        text(&error["blockers"][0]["message"]).contains("you removed it"),
        "{error:#}"
    );
    // Whoever saves again after that means it.
    there(&s, &other, &["save"]).run().ok();
    assert!(!other.join(REPORT).exists());
    s.loopx(&["checkout"]).ok();
    assert!(!s.exists(REPORT));
}

#[test]
fn what_is_typed_stands_against_nothing_that_a_text_says() {
    let s = gated(json!({ "rubric": { "pass": 7 } }));
    let said =
        "---VERDICT---\nSTATUS: escalate\nREASON: it leaks\nCONFIDENCE_SCORE: 2\n---END---\n";
    for args in [["--verdict", "proceed"], ["--score", "9"]] {
        let out = decide_from(&s, said, &args).fails_with(2);
        assert_eq!(code(&out), "decision_values", "{args:?}");
    }
    let decided = decide_from(&s, said, &["--verdict", "escalate"]).json();
    assert_eq!(decided["verdict"], "escalate", "{decided:#}");
}

#[test]
fn an_output_of_an_archived_session_that_was_forged_removed_or_added_is_found() {
    let s = building(&[also("A", json!({ "outputs": ["tasks/A/report.md"] }))]);
    s.commit_file("c.txt", "c\n", "code").ok();
    assert_eq!(take(&s), "A");
    s.write(REPORT, "one\n");
    s.loopx(&["task", "done"]).ok();
    s.loopx(&["finish", "--yes", "--reason", "it is small"])
        .ok();
    let listed = s.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    let mut paths = listed.lines();
    let path = paths.find(|path| path.starts_with("archive/") && path.ends_with("A/report.md"));
    let path = path.expect("the output in the archive").to_owned();
    s.loopx(&["fsck"]).ok();
    let (tip, index) = (tip(&s), s.root().join("index-of-test"));
    let git = |args: &[&str]| {
        let call = s.call("git").env("GIT_INDEX_FILE", &index);
        call.args(args).run()
    };
    let blob = s.call("git").args(&["hash-object", "-w", "--stdin"]);
    let blob = blob.stdin("forged\n").run().line();
    let entry = |path: &str| format!("100644,{blob},{path}");
    let beside = path.replace("report.md", "more.md");
    for edit in [
        vec!["--cacheinfo".to_owned(), entry(&path)],
        vec!["--force-remove".to_owned(), path.clone()],
        vec!["--add".to_owned(), "--cacheinfo".to_owned(), entry(&beside)],
    ] {
        git(&["read-tree", &tip]).ok();
        let args: Vec<&str> = edit.iter().map(String::as_str).collect();
        git(&[&["update-index"], args.as_slice()].concat()).ok();
        let tree = git(&["write-tree"]).line();
        let commit = s
            .git(&["commit-tree", &tree, "-p", &tip, "-m", "tidy up"])
            .line();
        s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
        let found = s.loopx(&["fsck"]).fails_with(1);
        let said = format!("{}{}", found.stdout, found.stderr);
        assert!(said.contains("tasks/A/"), "{edit:?}: {said}");
    }
}
