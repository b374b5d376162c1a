//! Decisions: values come in, what follows is computed, and no sequence of them goes on for ever. The cases of the shared
//! files by their ids.

use crate::support::clones::Clones;
use crate::support::tasks::{
    DEMO, building, checkpoint, clones_building, planning, refuses, row, statuses, statuses_in,
    take, task, text, with,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};

/// Task of a template.
fn mend(id: &str, on: &[&str]) -> Value {
    task(id, on, Some(&["true"]))
}

/// A decision about `on`, with these fields of its gate.
fn decision(id: &str, on: &[&str], gate: Value) -> Value {
    with(id, on, json!({ "kind": "decision", "gate": gate }))
}

/// A decision about A, behind which B waits.
fn gated(gate: Value) -> Sandbox {
    building(&[
        task("A", &[], Some(&["true"])),
        decision("GATE", &["A"], gate),
        task("B", &["GATE"], Some(&["true"])),
    ])
}

fn decide(s: &Sandbox, args: &[&str]) -> Value {
    let call = s.call(LOOPX).args(&["--json", "task", "decide"]);
    call.args(args).run().json()
}

fn do_next(s: &Sandbox, wanted: &str) {
    assert_eq!(take(s), wanted);
    s.loopx(&["task", "done"]).ok();
}

/// The verdicts that were given and those that count, oldest first.
fn decided(s: &Sandbox) -> Vec<(String, String, String)> {
    let listed = s.loopx(&["log", "--decisions", "--json"]).json();
    let rows = listed["decisions"].as_array().expect("decisions").iter();
    let row = |row: &Value| {
        let given = row["given"].as_str().unwrap_or("none").to_owned();
        (text(&row["task"]), given, text(&row["verdict"]))
    };
    rows.map(row).collect()
}

/// A goal ends by evidence: neither a word nor a run of somebody's choice does.
#[test]
fn no_word_ends_a_goal() {
    let s = building(&[with(
        "G",
        &[],
        json!({ "kind": "goal", "done_when": "it is fast" }),
    )]);
    s.loopx(&["take", "G"]).ok();
    let done = ["task", "done", "G", "--manual", "--reason", "it is"];
    let error = refuses(&s, 1, "task_step_invalid", &done);
    let help = "git loopx task decide G --verdict VERDICT --evidence REF  (proceed; fix or escalate with --reason WHY)";
    assert_eq!(error["help"], help, "{error:#}");
    decide(&s, &["G", "--verdict", "proceed", "--evidence", "code.txt"]);
    assert_eq!(statuses(&s)["G"], "completed");
}

/// Scores that the rubric asks for are given whole; a fix alone needs no scores.
#[test]
fn scores_are_given_for_each_dimension_or_for_none() {
    let rubric = json!({ "dimensions": [{ "name": "code", "weight": 1 }, { "name": "tests", "weight": 1 }] });
    let s = gated(json!({ "rubric": rubric, "repair": [mend("mend", &[])] }));
    do_next(&s, "A");
    for args in [
        &["--scores", "code=80"][..],
        &["--verdict", "proceed"],
        &["--verdict", "proceed", "--score", "90"],
        &["--verdict", "proceed", "--scores", "tests=80"],
        &["--verdict", "fix", "--scores", "code=20"],
    ] {
        let args = [&["task", "decide", "GATE"], args].concat();
        let error = refuses(&s, 2, "decision_values", &args);
        let said = text(&error["message"]);
        assert!(said.contains("no score is given for"), "{said}");
    }
    decide(&s, &["GATE", "--verdict", "fix"]);
    assert_eq!(statuses(&s)["GATE"], "superseded");
}

/// A decision keeps what it came to: another gate never makes it milder, and says so where it is stricter.
#[test]
fn a_rubric_that_changed_judges_nobody_anew_more_mildly() {
    let rubric = |pass: u32| json!({ "rubric": { "pass": pass } });
    let s = gated(rubric(80));
    do_next(&s, "A");
    let out = decide(&s, &["GATE", "--verdict", "proceed", "--score", "70"]);
    assert_eq!(out["verdict"], "escalate");
    let list = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
    s.write(
        format!(".loopx/{DEMO}/tasks.jsonl"),
        list.replace("\"pass\":80", "\"pass\":60"),
    );
    s.loopx(&["amend", "--reason", "a lower bar"]).ok();
    refuses(&s, 6, "checkpoint_open", &["take"]);
    let shown = s.loopx(&["task", "show", "GATE"]).ok();
    assert!(shown.contains("the gate changed since"), "{shown}");
    assert_eq!(decided(&s)[0].2, "escalate");
    s.loopx(&["task", "open", "GATE", "--reason", "good enough"])
        .ok();
    do_next(&s, "B");

    // Apart: one decides by the gate of before, the other raises the bar.
    let tasks = [
        task("A", &[], Some(&["true"])),
        decision("GATE", &["A"], rubric(60)),
        task("B", &["GATE"], Some(&["true"])),
    ];
    let all = clones_building(2, &tasks);
    let of = |at: usize, args: &[&str]| all.loopx(at, &[&["-s", DEMO, "--json"], args].concat());
    of(0, &["take", "A"]).ok();
    of(0, &["task", "done"]).ok();
    all.settle();
    of(
        0,
        &[
            "task",
            "decide",
            "GATE",
            "--verdict",
            "proceed",
            "--score",
            "70",
        ],
    )
    .ok();
    let stricter = [
        tasks[0].clone(),
        decision("GATE", &["A"], rubric(80)),
        tasks[2].clone(),
    ];
    let lines: Vec<String> = stricter.iter().map(Value::to_string).collect();
    let path = all.s.root().join("stricter.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").expect("a file");
    of(
        1,
        &[
            "amend",
            path.to_str().expect("UTF-8"),
            "--reason",
            "a higher bar",
        ],
    )
    .ok();
    all.settle();
    all.assert_agreed();
    for at in 0..2 {
        of(at, &["take", "B"]).fails_with(1);
        let rows = of(at, &["log", "--decisions"]).json();
        assert_eq!(rows["decisions"][0]["verdict"], "escalate", "{rows:#}");
    }
}

/// Chain B16, C8; fault 8: a fix inserts its repair before a gate that counts, closes the one before, and ends.
#[test]
fn chain_c8_a_fix_is_repaired_and_decided_anew_until_its_cap() {
    let s = gated(json!({ "cap": 2, "repair": [mend("debug", &[]), mend("verify", &["debug"])] }));
    refuses(
        &s,
        1,
        "decision_early",
        &["task", "decide", "GATE", "--verdict", "proceed"],
    );
    refuses(
        &s,
        4,
        "task_unknown",
        &["task", "decide", "GAET", "--verdict", "proceed"],
    );
    refuses(
        &s,
        1,
        "task_step_invalid",
        &["task", "decide", "A", "--verdict", "proceed"],
    );
    do_next(&s, "A");
    refuses(&s, 6, "decision_open", &["take"]);
    refuses(
        &s,
        1,
        "task_step_invalid",
        &["task", "done", "GATE", "--manual", "--reason", "x"],
    );
    let out = decide(&s, &["GATE", "--verdict", "proceed", "--score", "40"]);
    assert_eq!(
        (&out["given"], &out["verdict"]),
        (&json!("proceed"), &json!("fix")),
        "{out:#}"
    );
    assert_eq!(
        (&out["adjusted"], &out["score"]),
        (&json!(true), &json!("40"))
    );
    assert_eq!(out["inserted"], json!(["GATE.1.debug", "GATE.1.verify"]));
    assert_eq!(out["next_gate"], "GATE.1");
    assert_eq!(statuses(&s)["GATE"], "superseded");
    // The one that is closed is never handed out again.
    refuses(
        &s,
        1,
        "task_step_invalid",
        &["task", "decide", "GATE", "--verdict", "proceed"],
    );
    refuses(&s, 1, "task_step_invalid", &["take", "GATE"]);
    refuses(&s, 1, "task_not_ready", &["take", "B"]);
    do_next(&s, "GATE.1.debug");
    refuses(
        &s,
        1,
        "decision_early",
        &["task", "decide", "GATE.1", "--verdict", "proceed"],
    );
    do_next(&s, "GATE.1.verify");
    let out = decide(&s, &["GATE.1", "--verdict", "fix", "--score", "97"]);
    assert_eq!(
        (&out["verdict"], &out["adjusted"]),
        (&json!("fix"), &json!(false))
    );
    assert!(text(&out["suggestion"]).contains("97"), "{out:#}");
    do_next(&s, "GATE.2.debug");
    do_next(&s, "GATE.2.verify");
    let out = decide(&s, &["GATE.2", "--verdict", "fix", "--score", "10"]);
    assert_eq!(
        (&out["verdict"], &out["inserted"]),
        (&json!("escalate"), &json!([]))
    );
    let wanted = [
        ("GATE", "proceed", "fix"),
        ("GATE.1", "fix", "fix"),
        ("GATE.2", "fix", "escalate"),
    ];
    let wanted = wanted.map(|(id, given, counts)| (id.into(), given.into(), counts.into()));
    assert_eq!(decided(&s), wanted);
    // From here only a person leads on.
    for args in [
        &["take"][..],
        &["task", "decide", "GATE.2", "--verdict", "proceed"],
    ] {
        refuses(&s, 6, "checkpoint_open", args);
    }
    refuses(&s, 2, "reason_required", &["task", "open", "GATE.2"]);
    let open = ["task", "open", "GATE.2", "--reason", "good enough for now"];
    s.call(LOOPX)
        .env("CLAUDECODE", "1")
        .args(&open)
        .run()
        .fails_with(6);
    s.loopx(&open).ok();
    do_next(&s, "B");
    assert_eq!(s.loopx(&["status", "--json"]).json()["blockers"], json!([]));
}

/// Tasks that a gate inserts leave their own files, and what was sent back is not passed by an agent as it was.
#[test]
fn what_was_sent_back_goes_on_only_where_something_of_it_changed() {
    let leaves = |id: &str, on: &[&str]| {
        let mut line = mend(id, on);
        line["outputs"] = json!(["tasks/A/report.md"]);
        line
    };
    let s = building(&[
        leaves("A", &[]),
        decision("GATE", &["A"], json!({ "repair": [leaves("again", &[])] })),
        task("B", &["GATE"], Some(&["true"])),
    ]);
    let report = |task: &str, text: &str| {
        s.write(format!(".loopx/{DEMO}/tasks/{task}/report.md"), text);
    };
    report("A", "Wrong.\n");
    do_next(&s, "A");
    decide(&s, &["GATE", "--verdict", "fix", "--reason", "it is wrong"]);
    assert_eq!(take(&s), "GATE.1.again");
    // The report of before is of another task.
    s.loopx(&["task", "done"])
        .says("tasks/GATE.1.again/report.md as an output, but the file is missing")
        .fails_with(1);
    // A copy of it is nothing new.
    report("GATE.1.again", "Wrong.\n");
    s.loopx(&["task", "done"]).ok();
    let agent = |args: &[&str]| s.call(LOOPX).env("CLAUDECODE", "1").args(args).run();
    let proceed = ["--json", "task", "decide", "GATE.1", "--verdict", "proceed"];
    let error = agent(&proceed).fails_with(6).error_json()["error"].clone();
    assert_eq!(error["code"], "agent_may_not", "{error:#}");
    assert!(
        text(&error["help"]).contains("git loopx task retry GATE.1.again"),
        "{error:#}"
    );
    s.loopx(&["task", "retry", "GATE.1.again", "--reason", "not mended"])
        .ok();
    assert_eq!(take(&s), "GATE.1.again");
    report("GATE.1.again", "Right.\n");
    s.loopx(&["task", "done"]).ok();
    agent(&proceed).ok();
    assert_eq!(statuses(&s)["GATE.1"], "completed");
}

#[test]
fn what_was_sent_back_goes_on_where_the_code_changed_or_a_person_says_so() {
    for changes in [true, false] {
        let s = gated(json!({ "repair": [mend("again", &[])] }));
        do_next(&s, "A");
        decide(&s, &["GATE", "--verdict", "fix", "--reason", "it is wrong"]);
        assert_eq!(take(&s), "GATE.1.again");
        if changes {
            s.commit_file("code.txt", "two\n", "Mend it").ok();
        }
        s.loopx(&["task", "done"]).ok();
        let proceed = [
            "task",
            "decide",
            "GATE.1",
            "--verdict",
            "proceed",
            "--reason",
            "it was right",
        ];
        let agent = s.call(LOOPX).env("CLAUDECODE", "1").args(&proceed).run();
        assert_eq!(
            agent.code,
            Some(if changes { 0 } else { 6 }),
            "{}",
            agent.stderr
        );
        if agent.code != Some(0) {
            s.loopx(&proceed).ok();
        }
        assert_eq!(statuses(&s)["GATE.1"], "completed");
    }
}

/// Tasks that a decision inserted are taken back with it, and an agent does not take it back.
#[test]
fn a_decision_that_is_undone_leaves_the_plan_as_it_was() {
    let s = gated(json!({ "repair": [mend("debug", &[])] }));
    do_next(&s, "A");
    let before = s.loopx(&["task", "list", "--json"]).json();
    decide(&s, &["GATE", "--verdict", "fix", "--reason", "it fails"]);
    assert_eq!(statuses(&s).len(), 5);
    let undo = ["undo", "--reason", "wrong gate"];
    s.call(LOOPX)
        .env("CLAUDECODE", "1")
        .args(&undo)
        .run()
        .fails_with(6);
    s.loopx(&undo).ok();
    assert_eq!(
        s.loopx(&["task", "list", "--json"]).json()["tasks"],
        before["tasks"]
    );
    let log = s.loopx(&["log", "--decisions", "--json"]).json();
    assert_eq!(log["decisions"][0]["undone"], true);
}

/// Chain B15 for work that is retried: a proceed is about the results that its writer saw.
#[test]
fn a_proceed_stands_only_for_the_work_that_was_judged() {
    let s = gated(json!({}));
    do_next(&s, "A");
    decide(&s, &["GATE", "--verdict", "proceed"]);
    assert_eq!(statuses(&s)["GATE"], "completed");
    assert_eq!(row(&s, "B")["ready"], true);
    s.loopx(&["task", "retry", "A", "--reason", "once more"])
        .ok();
    assert_eq!(statuses(&s)["GATE"], "pending");
    refuses(&s, 1, "task_not_ready", &["take", "B"]);
    do_next(&s, "A");
    refuses(&s, 6, "decision_open", &["take"]);
    decide(&s, &["GATE", "--verdict", "proceed"]);
    do_next(&s, "B");
}

/// Chain C10: a template that has gates of its own, in the order in which it stands.
#[test]
fn chain_c10_a_template_with_gates_is_inserted_in_its_order() {
    let inner = |id: &str, on: &str| decision(id, &[on], json!({ "repair": [mend("mend", &[])] }));
    let repair = [
        mend("debug", &[]),
        mend("plan", &["debug"]),
        mend("execute", &["plan"]),
        mend("verify", &["execute"]),
        inner("post-verify", "verify"),
        mend("auto-test", &["post-verify"]),
        inner("post-business-test", "auto-test"),
        mend("review", &["post-business-test"]),
        inner("post-review", "review"),
        mend("auto-test-2", &["post-review"]),
        mend("test", &["auto-test-2"]),
    ];
    let s = building(&[
        task("test", &[], Some(&["true"])),
        decision(
            "post-test",
            &["test"],
            json!({ "cap": 2, "repair": repair }),
        ),
    ]);
    do_next(&s, "test");
    let out = decide(&s, &["post-test", "--verdict", "fix"]);
    let mut inserted: Vec<String> = out["inserted"]
        .as_array()
        .expect("ids")
        .iter()
        .map(text)
        .collect();
    inserted.push(text(&out["next_gate"]));
    let wanted = [
        "debug",
        "plan",
        "execute",
        "verify",
        "post-verify",
        "auto-test",
        "post-business-test",
        "review",
        "post-review",
        "auto-test-2",
        "test",
    ];
    let mut wanted: Vec<String> = wanted
        .iter()
        .map(|id| format!("post-test.1.{id}"))
        .collect();
    wanted.push("post-test.1".to_owned());
    assert_eq!(inserted, wanted);
    for id in ["debug", "plan", "execute", "verify"] {
        do_next(&s, &format!("post-test.1.{id}"));
    }
    // The gates inside begin at their first attempt, and those behind wait for the last of them.
    decide(&s, &["post-test.1.post-verify", "--verdict", "fix"]);
    do_next(&s, "post-test.1.post-verify.1.mend");
    refuses(&s, 6, "decision_open", &["take"]);
    decide(&s, &["post-test.1.post-verify.1", "--verdict", "proceed"]);
    do_next(&s, "post-test.1.auto-test");
}

fn views(gate: Value) -> Value {
    let mut all = json!({ "views": ["product", "risk"] });
    if let (Some(all), Value::Object(gate)) = (all.as_object_mut(), gate) {
        all.extend(gate);
    }
    all
}

/// Team C1, C2: what two views agree on goes on, and a smaller difference is a note for whoever comes next.
#[test]
fn team_c2_views_that_differ_a_little_go_on_with_a_note() {
    let s = gated(views(json!({})));
    do_next(&s, "A");
    refuses(
        &s,
        2,
        "decision_values",
        &["task", "decide", "GATE", "--rating", "product=4"],
    );
    refuses(
        &s,
        2,
        "decision_values",
        &[
            "task",
            "decide",
            "GATE",
            "--rating",
            "risk=6",
            "--rating",
            "product=4",
        ],
    );
    refuses(
        &s,
        2,
        "decision_values",
        &[
            "task", "decide", "GATE", "--rating", "risk=4", "--rating", "cost=4",
        ],
    );
    let out = decide(
        &s,
        &[
            "GATE",
            "--rating",
            "product=5",
            "--rating",
            "risk=2",
            "--reason",
            "the cache grows",
        ],
    );
    assert_eq!(
        (&out["verdict"], &out["severity"]),
        (&json!("proceed"), &json!("medium"))
    );
    let card = s.loopx(&["take", "--peek", "--json"]).json()["card"].clone();
    assert_eq!(card["task"], "B");
    let before = card["before"].to_string();
    assert!(
        before.contains("risk 2") && before.contains("the cache grows"),
        "{card:#}"
    );
}

#[test]
fn team_c1_views_that_agree_go_on_without_a_note() {
    let s = gated(views(json!({})));
    do_next(&s, "A");
    let out = decide(&s, &["GATE", "--rating", "product=5", "--rating", "risk=4"]);
    assert_eq!(
        (&out["verdict"], &out["notes"]),
        (&json!("proceed"), &json!([]))
    );
    do_next(&s, "B");
}

/// Team C4: one revision, and the second time a person.
#[test]
fn team_c4_a_second_high_waits_for_a_person() {
    let s = gated(views(json!({})));
    do_next(&s, "A");
    let high = [
        "--rating",
        "product=5:missing-requirement",
        "--rating",
        "risk=5",
    ];
    let out = decide(&s, &[&["GATE"], &high[..]].concat());
    assert_eq!(out["inserted"], json!(["GATE.1.A"]));
    let again = s.loopx(&["task", "show", "GATE.1.A", "--json"]).json();
    assert_eq!(again["title"], "Revise: Do A");
    do_next(&s, "GATE.1.A");
    let out = decide(&s, &[&["GATE.1"], &high[..]].concat());
    assert_eq!(
        (&out["verdict"], &out["inserted"]),
        (&json!("escalate"), &json!([]))
    );
    refuses(&s, 6, "checkpoint_open", &["take"]);
    s.loopx(&[
        "task",
        "open",
        "GATE.1",
        "--reason",
        "the requirement is dropped",
    ])
    .ok();
    do_next(&s, "B");
}

/// Team C5: after the last discussion nothing is revised.
#[test]
fn team_c5_a_high_at_the_last_word_waits_for_a_person_at_once() {
    let s = gated(views(json!({ "final": true })));
    do_next(&s, "A");
    let out = decide(&s, &["GATE", "--rating", "product=1", "--rating", "risk=1"]);
    assert_eq!(
        (&out["verdict"], &out["inserted"]),
        (&json!("escalate"), &json!([]))
    );
    let listed = s.loopx(&["task", "list"]).ok();
    assert!(listed.contains("waits for a person"), "{listed}");
}

fn quality() -> Value {
    let dimensions = [
        ("code", 25),
        ("a11y", 25),
        ("design", 20),
        ("ux", 15),
        ("delivery", 15),
    ];
    let dimensions = dimensions.map(|(name, weight)| json!({ "name": name, "weight": weight }));
    json!({
        "rubric": { "scale": 10, "dimensions": dimensions, "pass": 8, "warn": 6 },
        "cap": 1, "at_cap": "accept", "repair": [mend("dev-fe", &[])],
    })
}

/// Team D1, D3, D4; the contradiction of rounds: two rounds in all, and what waits for the loop waits for its end.
#[test]
fn team_d3_a_barrier_follows_the_loop_and_two_rounds_are_two() {
    let s = building(&[
        task("TEST", &[], Some(&["true"])),
        task("DEV", &[], Some(&["true"])),
        decision("QA", &["DEV"], quality()),
        task("REVIEW", &["TEST", "QA"], Some(&["true"])),
    ]);
    do_next(&s, "TEST");
    do_next(&s, "DEV");
    let scores = |n: &str| format!("code={n},a11y={n},design={n},ux={n},delivery={n}");
    let eight = scores("8");
    refuses(
        &s,
        2,
        "decision_values",
        &["task", "decide", "QA", "--scores", "code=8,speed=8"],
    );
    refuses(
        &s,
        2,
        "decision_values",
        &["task", "decide", "QA", "--scores", "code=8"],
    );
    refuses(
        &s,
        2,
        "decision_values",
        &["task", "decide", "QA", "--scores", &scores("10.5")],
    );
    let out = decide(&s, &["QA", "--scores", &eight, "--critical", "1"]);
    assert_eq!(
        (&out["verdict"], &out["score"]),
        (&json!("fix"), &json!("8")),
        "{out:#}"
    );
    assert_eq!(statuses(&s).len(), 6);
    assert_eq!(row(&s, "REVIEW")["depends_on"], json!(["TEST", "QA.1"]));
    assert_eq!(row(&s, "QA.1")["gate"]["attempt"], 1);
    do_next(&s, "QA.1.dev-fe");
    let out = decide(&s, &["QA.1", "--scores", &scores("7.9")]);
    assert_eq!(out["verdict"], "proceed");
    assert!(text(&out["notes"][0]).starts_with("accepted with warnings: the score 7.9 is below 8"));
    assert_eq!(statuses(&s).len(), 6);
    do_next(&s, "REVIEW");
}

/// Chain C11: a goal that nothing shows to be met is not, whatever is said.
#[test]
fn chain_c11_a_goal_is_met_by_evidence_alone() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        with(
            "GOAL",
            &["A"],
            json!({
                "kind": "goal", "done_when": "an idle session ends after ten minutes",
                "gate": { "cap": 1, "repair": [mend("close-gap", &[])] },
            }),
        ),
    ]);
    do_next(&s, "A");
    let met = |goal: &str, evidence: &str| {
        decide(&s, &[goal, "--verdict", "proceed", "--evidence", evidence])
    };
    let out = met("GOAL", "report.md");
    assert_eq!(
        (&out["verdict"], &out["adjusted"]),
        (&json!("fix"), &json!(true))
    );
    assert_eq!(out["missing_evidence"], json!(["report.md"]));
    do_next(&s, "GOAL.1.close-gap");
    let out = met("GOAL.1", "nowhere");
    assert_eq!(out["verdict"], "escalate");
    s.loopx(&["undo", "--reason", "it is there now"]).ok();
    let out = met("GOAL.1", "code.txt");
    assert_eq!(
        (&out["verdict"], &out["missing_evidence"]),
        (&json!("proceed"), &json!([]))
    );
    // A goal that was met is not asked for again.
    s.loopx(&["task", "retry", "GOAL.1.close-gap", "--reason", "once more"])
        .ok();
    assert_eq!(statuses(&s)["GOAL.1"], "completed");
    refuses(
        &s,
        1,
        "task_step_invalid",
        &["task", "decide", "GOAL.1", "--verdict", "fix"],
    );
}

/// Evidence that a decision rests on is there, and about the code that is there.
#[test]
fn a_decision_rests_on_what_is_there_and_about_this_code() {
    let s = gated(json!({}));
    do_next(&s, "A");
    let decide_on = |evidence: &'static str| {
        [
            "task",
            "decide",
            "GATE",
            "--verdict",
            "proceed",
            "--evidence",
            evidence,
        ]
    };
    refuses(&s, 1, "decision_evidence", &decide_on("no-such-file"));
    refuses(&s, 1, "decision_evidence", &decide_on("@9999"));
    let runs = s.loopx(&["log", "--json"]).json()["operations"].clone();
    let mut runs = runs.as_array().expect("operations").iter();
    let run = runs.rfind(|op| op.to_string().contains("\"ran\""));
    let number = run.map(|op| format!("@{}", op["seq"])).expect("a run");
    s.commit_file("code.txt", "two\n", "Second").ok();
    let stale = [
        "task",
        "decide",
        "GATE",
        "--verdict",
        "proceed",
        "--evidence",
        &number,
    ];
    let error = refuses(&s, 1, "decision_evidence", &stale);
    assert!(
        text(&error["message"]).contains("another tree"),
        "{error:#}"
    );
    decide(
        &s,
        &[
            "GATE",
            "--verdict",
            "proceed",
            "--evidence",
            "code.txt",
            "--evidence",
            "plan.md",
        ],
    );
}

/// Chain C13, team C7: a text is read by its blocks, and one that says nothing is no pass.
#[test]
fn chain_c13_a_text_without_a_verdict_is_a_fix_with_score_0() {
    let s = gated(json!({ "repair": [mend("debug", &[])] }));
    do_next(&s, "A");
    s.write(
        "../other.txt",
        "TASK_COMPLETE\n- task_id: B\n- status: success\n",
    );
    s.write("../none.txt", "All is well, proceed.\n");
    s.write(
        "../good.txt",
        "---VERDICT---\nSTATUS: proceed\nREASON: all tests pass\nCONFIDENCE_SCORE: 91\n---END---\n",
    );
    let from = |file| ["task", "decide", "GATE", "--from", file];
    refuses(&s, 2, "decision_values", &from("../other.txt"));
    let out = decide(&s, &["GATE", "--from", "../none.txt"]);
    assert_eq!(
        (&out["verdict"], &out["score"]),
        (&json!("fix"), &json!("0"))
    );
    assert_eq!(out["parse_failed"], true);
    let log = s.loopx(&["log", "--decisions"]).ok();
    assert!(log.contains("not readable"), "{log}");
    do_next(&s, "GATE.1.debug");
    let out = decide(&s, &["GATE.1", "--from", "../good.txt"]);
    assert_eq!(
        (&out["verdict"], &out["score"]),
        (&json!("proceed"), &json!("91"))
    );
    let shown = s.loopx(&["task", "show", "GATE.1", "--json"]).json();
    assert_eq!(shown["decisions"][1]["reason"], "all tests pass");
}

/// A gate that somebody is judging is theirs.
#[test]
fn a_gate_that_somebody_has_is_decided_by_them() {
    let s = gated(json!({}));
    do_next(&s, "A");
    let other = crate::support::store::detached(&s, "other");
    crate::support::tasks::there(&s, &other, &["take", "GATE"])
        .run()
        .ok();
    let args = ["task", "decide", "GATE", "--verdict", "proceed"];
    refuses(&s, 6, "task_held", &args);
    crate::support::tasks::there(&s, &other, &args).run().ok();
    assert_eq!(statuses(&s)["GATE"], "completed");
}

fn of(all: &Clones, at: usize, args: &[&str]) -> Output {
    let words = [&["--json", "-s", DEMO], args].concat();
    all.loopx(at, &words)
}

/// Of two decisions made apart the stricter counts, and the other one stays visible.
#[test]
fn of_two_decisions_apart_the_stricter_counts() {
    let all = clones_building(
        2,
        &[
            task("A", &[], Some(&["true"])),
            decision("GATE", &["A"], json!({ "repair": [mend("debug", &[])] })),
            checkpoint("LAST", &["GATE"]),
        ],
    );
    of(&all, 0, &["take", "A"]).ok();
    of(&all, 0, &["task", "done", "A"]).ok();
    all.settle();
    of(&all, 0, &["task", "decide", "GATE", "--verdict", "proceed"]).ok();
    of(
        &all,
        1,
        &[
            "task",
            "decide",
            "GATE",
            "--verdict",
            "fix",
            "--reason",
            "it fails",
        ],
    )
    .ok();
    all.settle();
    for at in [0, 1] {
        let listed = of(&all, at, &["task", "list"]);
        let now = statuses_in(&listed);
        assert_eq!(now["GATE"], "superseded", "{listed}");
        assert_eq!(now["GATE.1.debug"], "pending");
        let rows = listed.json()["tasks"].clone();
        let gate = rows
            .as_array()
            .expect("tasks")
            .iter()
            .find(|row| row["task"] == "GATE");
        let beside = gate
            .map(|gate| gate["gate"]["beside"].clone())
            .expect("the gate");
        assert_eq!(beside[0]["verdict"], "proceed", "{listed}");
    }
    all.assert_agreed();
}

/// A gate behind A with two ways on: by `small` M and the gate about it are not done.
fn with_ways() -> Sandbox {
    let ways = json!({"outcomes": {"large": [], "small": ["M", "MG"]}});
    let mut last = task("B", &["MG"], Some(&["true"]));
    last["reads"] = json!(["tasks/M/x.md", "tasks/A/x.md"]);
    building(&[
        task("A", &[], Some(&["true"])),
        decision("GATE", &["A"], ways),
        task("M", &["GATE"], Some(&["true"])),
        with("MG", &["M"], json!({ "kind": "decision" })),
        last,
    ])
}

#[test]
fn an_outcome_of_a_gate_lets_fall_what_it_names_and_leads_past_it() {
    let s = with_ways();
    do_next(&s, "A");
    s.loopx(&["next"]).says("--outcome").says("large, or small");
    for args in [
        &["--verdict", "proceed"][..],
        &["--verdict", "proceed", "--outcome", "huge"],
    ] {
        let error = refuses(
            &s,
            2,
            "decision_values",
            &[&["task", "decide", "GATE"], args].concat(),
        );
        assert!(text(&error["message"]).contains("large"), "{error:#}");
    }
    let small = ["GATE", "--verdict", "proceed", "--outcome", "small"];
    let done = decide(&s, &small);
    assert_eq!(done["fallen"], json!(["M", "MG"]));
    let of = |s: &Sandbox| ["M", "MG", "B"].map(|id| statuses(s)[id].clone());
    assert_eq!(of(&s), ["skipped", "skipped", "pending"]);
    assert_eq!(row(&s, "M")["skipped_by"], "GATE");
    s.loopx(&["log", "--decisions"])
        .says("GATE  proceed  small")
        .ok();
    // What waited for it waits for what it waited for, and reads nothing that it would have left.
    let card = s.loopx(&["take", "--json"]).json()["card"].clone();
    assert_eq!(
        (&card["task"], card["reads"].as_array().map(Vec::len)),
        (&json!("B"), Some(1))
    );
    s.loopx(&["task", "done"]).ok();
    // The build ends by it, and undo brings it back.
    s.commit_file("code.txt", "two\n", "Do it").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    let s = with_ways();
    do_next(&s, "A");
    decide(&s, &small);
    s.loopx(&["undo"]).ok();
    assert_eq!(of(&s), ["pending"; 3]);
    decide(&s, &["GATE", "--verdict", "proceed", "--outcome", "large"]);
    assert_eq!(take(&s), "M");
}

#[test]
fn whoever_opens_an_escalated_gate_says_which_way_it_goes_on() {
    let s = with_ways();
    do_next(&s, "A");
    decide(
        &s,
        &["GATE", "--verdict", "escalate", "--reason", "how large?"],
    );
    s.loopx(&["next"])
        .says("task open GATE --outcome WORD")
        .says("large, or small");
    let open = ["task", "open", "GATE", "--reason", "I looked"];
    for way in [&[][..], &["--outcome", "huge"]] {
        let error = refuses(&s, 2, "decision_values", &[&open[..], way].concat());
        assert!(text(&error["message"]).contains("large"), "{error:#}");
    }
    s.loopx(&[&open[..], &["--outcome", "small"]].concat()).ok();
    let of = |s: &Sandbox| ["GATE", "M", "MG", "B"].map(|id| statuses(s)[id].clone());
    assert_eq!(of(&s), ["completed", "skipped", "skipped", "pending"]);
    assert_eq!(row(&s, "M")["skipped_by"], "GATE");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    s.loopx(&["undo"]).ok();
    assert_eq!(of(&s), ["pending"; 4]);
    s.loopx(&[&open[..], &["--outcome", "large"]].concat()).ok();
    assert_eq!(take(&s), "M");
    // A checkpoint has one way.
    let s = building(&[
        task("A", &[], Some(&["true"])),
        with("C", &["A"], json!({ "kind": "checkpoint" })),
    ]);
    do_next(&s, "A");
    let open = ["task", "open", "C", "--outcome", "small", "--reason", "x"];
    refuses(&s, 2, "decision_values", &open);
}

#[test]
fn what_falls_by_an_outcome_holds_no_gate_of_the_build() {
    for check in [Some(&["false"][..]), None] {
        let ways = json!({"outcomes": {"large": [], "small": ["M"]}});
        let s = building(&[
            task("A", &[], Some(&["true"])),
            decision("GATE", &["A"], ways),
            task("M", &["GATE"], check),
            task("B", &["M"], Some(&["true"])),
        ]);
        do_next(&s, "A");
        decide(&s, &["GATE", "--verdict", "proceed", "--outcome", "small"]);
        let retried = refuses(&s, 1, "task_step_invalid", &["task", "retry", "M"]);
        assert!(text(&retried["message"]).contains("because of GATE"));
        assert!(text(&retried["help"]).contains("take M"), "{retried:#}");
        do_next(&s, "B");
        s.commit_file("code.txt", "two\n", "Do it").ok();
        let run = s.loopx(&["run"]).says("2 of 2").ok();
        assert!(!run.contains("M "), "{run}");
        let next = s.loopx(&["next"]).says("finish");
        assert!(!next.stdout.contains("task M"), "{next}");
        s.loopx(&["approve", "--to", "review"]).ok();
    }
}

#[test]
fn where_every_check_falls_by_an_outcome_any_run_that_passes_shows_the_code() {
    let ways = json!({"outcomes": {"large": [], "small": ["M"]}});
    let s = building(&[
        decision("GATE", &[], ways),
        task("M", &["GATE"], Some(&["false"])),
    ]);
    decide(&s, &["GATE", "--verdict", "proceed", "--outcome", "small"]);
    s.commit_file("code.txt", "two\n", "Do it").ok();
    s.loopx(&["approve", "--to", "review"]).fails_with(1);
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
}

#[test]
fn an_outcome_stands_only_where_the_gate_has_it() {
    let s = gated(json!({}));
    do_next(&s, "A");
    let args = [
        "task",
        "decide",
        "GATE",
        "--verdict",
        "proceed",
        "--outcome",
        "small",
    ];
    refuses(&s, 2, "decision_values", &args);
    // It names tasks behind the gate, two ways at least, and stands in no repair.
    for outcomes in [
        json!({"a": ["A"], "b": []}),
        json!({"a": ["NOPE"], "b": []}),
        json!({"a": ["B"]}),
        json!(["B"]),
    ] {
        let s = planning(&[
            task("A", &[], Some(&["true"])),
            decision("GATE", &["A"], json!({ "outcomes": outcomes })),
            task("B", &["GATE"], Some(&["true"])),
        ]);
        s.loopx(&["task", "check"]).fails_with(1);
    }
    // A text says it, too.
    let s = with_ways();
    do_next(&s, "A");
    let said =
        "---VERDICT---\nSTATUS: proceed\nSCOPE_VERDICT: small\nREASON: one file\n---END---\n";
    let call = s
        .call(LOOPX)
        .args(&["task", "decide", "GATE", "--from", "-"]);
    call.stdin(said)
        .run()
        .says("not done, by this outcome: M, MG")
        .ok();
}

/// Task-chains 7 and 8: of what is small or medium neither roadmap nor analysis is made.
#[test]
fn the_chain_leaves_out_what_the_scope_gate_finds_too_large() {
    for (outcome, next) in [("small", "plan"), ("medium", "plan"), ("large", "roadmap")] {
        let s = planning(&[]);
        s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
        s.loopx(&[
            "pipeline",
            "start",
            "chain",
            "--param",
            "start=analyze-macro",
            "--param",
            "check=true",
        ])
        .ok();
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        assert_eq!(take(&s), "analyze-macro");
        s.write(
            format!(".loopx/{DEMO}/tasks/analyze-macro/analyze-macro.md"),
            "It is so large.\n",
        );
        s.loopx(&["task", "done", "--trust"]).ok();
        decide(
            &s,
            &[
                "post-analyze-scope",
                "--verdict",
                "proceed",
                "--outcome",
                outcome,
            ],
        );
        assert_eq!(take(&s), next, "{outcome}");
    }
}

/// The file of a decision comes before the decision, which is refused without it.
#[test]
fn z11_a_decision_says_first_which_file_it_leaves() {
    let rubric = json!({ "dimensions": [{ "name": "code", "weight": 1 }] });
    let mut gate = decision(
        "GATE",
        &[],
        json!({ "rubric": rubric, "repair": [mend("mend", &[])] }),
    );
    gate["outputs"] = json!(["tasks/GATE/discussion.md"]);
    let s = building(&[gate, task("B", &["GATE"], Some(&["true"]))]);
    let file = ".loopx/demo/tasks/GATE/discussion.md";
    let write = format!("write {file}, which GATE leaves, then: git loopx task decide GATE");
    s.loopx(&["next"]).says(&write).fails_with(6);
    s.loopx(&["status"]).says(&write).ok();
    let args = ["task", "decide", "GATE", "--scores", "code=80"];
    s.loopx(&args).says("discussion.md").fails_with(1);
    s.write(file, "It was said.\n");
    let led = s
        .loopx(&["next"])
        .says("decide GATE: git loopx task decide GATE");
    assert!(!led.fails_with(6).to_string().contains("leaves"));
    s.loopx(&args).ok();
    assert_eq!(statuses(&s)["GATE"], "completed");
}
