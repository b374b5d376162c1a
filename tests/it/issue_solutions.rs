//! `issue solution`: ways to do an issue. Proposed, judged by the arithmetic of the audit over declared and real files,
//! bound, rejected and mended twice at most; and the session that takes over the tasks of the bound one.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::issues::{backlog, create, id_of, refused, show};
use serde_json::{Value, json};

/// Proposes a solution and gives its name.
fn add(s: &Sandbox, id: &str, args: &[&str]) -> String {
    let made = s.loopx(&[&["--json", "issue", "solution", "add", id], args].concat());
    let name = made.json()["solution"].take();
    name.as_str().expect("a name").to_owned()
}

fn solution(s: &Sandbox, args: &[&str]) -> Value {
    s.loopx(&[&["--json", "issue", "solution"], args].concat())
        .json()
}

fn reject(s: &Sandbox, id: &str, name: &str) {
    s.loopx(&[
        "issue",
        "solution",
        "reject",
        id,
        name,
        "--reason",
        "it asks for ever",
    ])
    .ok();
}

#[test]
fn a_solution_is_bound_and_the_one_before_no_longer() {
    let s = backlog();
    let id = create(&s, &["One"]);
    assert_eq!(
        add(
            &s,
            &id,
            &["Ask again", "--task", "Ask", "--file", "code.txt"]
        ),
        "s1"
    );
    assert_eq!(add(&s, &id, &["Wait", "--create", "new.txt"]), "s2");
    refused(
        &s,
        4,
        "issue_solution_unknown",
        &["issue", "solution", "bind", &id],
    );
    // L3: binding moves the issue to planned and unbinds what was bound before.
    s.loopx(&["issue", "solution", "bind", &id, "s1"]).ok();
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["status"], &issue["bound"]["name"]),
        (&json!("planned"), &json!("s1"))
    );
    s.loopx(&["issue", "solution", "bind", &id, "s2"]).ok();
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["bound"]["name"], &issue["bound"]["tasks"]),
        (&json!("s2"), &json!(0))
    );
    assert_eq!(
        issue["bound"]["files"],
        json!([{ "path": "new.txt", "action": "create" }])
    );
    refused(
        &s,
        5,
        "issue_unchanged",
        &["issue", "solution", "bind", &id, "s2"],
    );
    // Undone, the one before is bound again.
    s.loopx(&["issue", "undo", &id]).ok();
    assert_eq!(show(&s, &id)["bound"]["name"], "s1");
    s.loopx(&["issue", "solution", "unbind", &id]).ok();
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["status"], &issue["bound"]),
        (&json!("open"), &Value::Null)
    );
    refused(
        &s,
        1,
        "issue_solution_unbound",
        &["issue", "solution", "unbind", &id],
    );
    s.loopx(&["fsck"]).ok();
    // A program that knows no solutions holds the issue: their kind is none that it knows.
    let log = s.loopx(&["--json", "issue", "log", &id]).json();
    assert_eq!(log["log"][1]["event"], "solution", "{log}");
}

#[test]
fn what_no_solution_can_be_is_refused() {
    let s = backlog();
    let id = create(&s, &["One"]);
    for args in [
        &["How", "--file", "../../etc/passwd"][..],
        &["How", "--file", "/etc"],
        &["How", "--file", ""],
        &["How", "--name", "a b"],
        &["  "],
        &["--from", "missing.json"],
    ] {
        let all = [&["--json", "issue", "solution", "add", &id], args].concat();
        let out = s.loopx(&all);
        assert!(matches!(out.code, Some(2 | 4)), "{args:?}: {}", out.stderr);
    }
    let twice = "{\"id\":\"A\",\"title\":\"a\"}\n{\"id\":\"a\",\"title\":\"b\"}\n";
    s.write("tasks.jsonl", twice);
    let tasks = [
        "issue",
        "solution",
        "add",
        &id,
        "How",
        "--tasks",
        "tasks.jsonl",
    ];
    refused(&s, 2, "issue_field_invalid", &tasks);
    s.write("way.json", "{\"approach\":\"so\",\"steps\":[]}");
    let from = ["issue", "solution", "add", &id, "--from", "way.json"];
    refused(&s, 2, "issue_field_invalid", &from);
    s.write(
        "way.json",
        "{\"approach\":\"so\",\"tasks\":[{\"id\":\"A\",\"title\":\"a\",\"files\":[\"x.rs\"]}]}",
    );
    s.loopx(&from).ok();
    let shown = solution(&s, &["show", &id]);
    assert_eq!(shown["solution"]["tasks"][0]["id"], "A");
    s.loopx(&["issue", "close", &id, "--reason", "no"]).ok();
    refused(&s, 1, "issue_ended", &["issue", "solution", "bind", &id]);
}

#[test]
fn a_rejected_solution_is_mended_twice_and_then_a_person_decides() {
    let s = backlog();
    let id = create(&s, &["One"]);
    add(&s, &id, &["Ask again"]);
    s.loopx(&["issue", "solution", "bind", &id]).ok();
    refused(
        &s,
        2,
        "reason_required",
        &["issue", "solution", "reject", &id],
    );
    refused(
        &s,
        5,
        "issue_unchanged",
        &["issue", "solution", "add", &id, "X", "--mends", "s1"],
    );
    reject(&s, &id, "s1");
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["status"], &issue["bound"]),
        (&json!("open"), &Value::Null)
    );
    refused(
        &s,
        1,
        "issue_solution_rejected",
        &["issue", "solution", "bind", &id, "s1"],
    );
    for (old, new) in [("s1", "s2"), ("s2", "s3")] {
        assert_eq!(add(&s, &id, &["Ask better", "--mends", old]), new);
        reject(&s, &id, new);
    }
    let error = refused(
        &s,
        6,
        "issue_mends_spent",
        &["issue", "solution", "add", &id, "X", "--mends", "s3"],
    );
    let help = error["help"].as_str().expect("help");
    assert!(
        help.contains(&format!("issue solution bind {id} s3 --reason")),
        "{help}"
    );
    // An agent finds no way around it; a person does.
    let agent = |args: &[&str]| {
        let call = s.call(crate::support::LOOPX).env("CLAUDECODE", "1");
        call.args(args).run()
    };
    agent(&["issue", "solution", "add", &id, "Another way"]).fails_with(6);
    agent(&[
        "issue",
        "solution",
        "bind",
        &id,
        "s3",
        "--reason",
        "it will do",
    ])
    .fails_with(6);
    s.loopx(&[
        "issue",
        "solution",
        "bind",
        &id,
        "s3",
        "--reason",
        "it will do",
    ])
    .ok();
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["status"], &issue["bound"]["name"]),
        (&json!("planned"), &json!("s3"))
    );
}

#[test]
fn s19_the_audit_compares_what_is_declared_with_what_was_changed() {
    let s = backlog();
    let id = create(&s, &["One"]);
    let of = |args: &[&str]| {
        let out = s.loopx(&[&["--json", "issue", "solution", "audit", &id], args].concat());
        (out.code, out.json()["reviews"][0].clone())
    };
    refused(
        &s,
        1,
        "issue_solution_unbound",
        &["issue", "solution", "audit", &id],
    );
    add(&s, &id, &["So", "--task", "Do it", "--file", "code.txt"]);
    s.loopx(&["issue", "solution", "bind", &id]).ok();
    let (code, review) = of(&[]);
    assert_eq!(
        (code, &review["verdict"], &review["total_score"]),
        (Some(0), &json!("approved"), &json!(81))
    );
    assert_eq!(review["feasibility"]["score"], 70);
    // A session changes what is declared, and three files that are not.
    s.git(&["switch", "--quiet", "-c", "one"]).ok();
    s.loopx(&["start", "--issue", &id, "--quick"]).ok();
    s.commit_file("code.txt", "two\n", "Change it").ok();
    assert_eq!(of(&[]).1["feasibility"]["score"], 100);
    for name in ["a", "b", "c"] {
        s.commit_file(name, "x\n", name).ok();
    }
    let (_, review) = of(&[]);
    assert_eq!(
        (&review["feasibility"]["score"], &review["total_score"]),
        (&json!(55), &json!(75))
    );
    assert_eq!(review["verdict"], "concerns");
    let findings = review["feasibility"]["findings"]
        .as_array()
        .expect("findings");
    assert_eq!(findings.len(), 3, "{findings:?}");
    // Values of one's own stand before those that are computed.
    let score = [
        "issue",
        "solution",
        "score",
        &id,
        "--feasibility",
        "40",
        "--risk",
        "50",
        "--completeness",
        "30",
    ];
    s.loopx(&[&score[..], &["--reason", "it cannot work"]].concat())
        .ok();
    let (code, review) = of(&[]);
    assert_eq!((code, &review["total_score"]), (Some(1), &json!(40)));
    assert_eq!(
        (&review["verdict"], &review["by"]),
        (&json!("rejected"), &json!("Ada Author"))
    );
    s.loopx(&["issue", "solution", "score", &id, "--none"]).ok();
    assert_eq!(of(&[]).1["verdict"], "concerns");
    let too_much = s.loopx(&[
        "issue",
        "solution",
        "score",
        &id,
        "--feasibility",
        "101",
        "--risk",
        "1",
        "--completeness",
        "1",
    ]);
    too_much.fails_with(2);
}

#[test]
fn a_session_takes_over_the_tasks_and_is_told_what_failed() {
    let s = backlog();
    let id = create(&s, &["One"]);
    let tasks = "{\"id\":\"A\",\"title\":\"First\",\"files\":[{\"path\":\"code.txt\",\"action\":\"modify\"}]}\n{\"id\":\"B\",\"title\":\"Second\",\"depends_on\":[\"A\"]}\n";
    s.write("tasks.jsonl", tasks);
    add(
        &s,
        &id,
        &["Ask again every five seconds", "--tasks", "tasks.jsonl"],
    );
    s.loopx(&["issue", "solution", "bind", &id]).ok();
    let other = create(&s, &["Two"]);
    s.loopx(&[
        "issue",
        "solution",
        "add",
        &other,
        "Wait",
        "--tasks",
        "tasks.jsonl",
    ])
    .ok();
    s.loopx(&["issue", "solution", "bind", &other]).ok();
    s.loopx(&["issue", "queue", "form", &id]).ok();
    s.loopx(&["issue", "queue", "next"]).ok();
    s.loopx(&["issue", "queue", "fail", &id, "--reason", "two tests fail"])
        .ok();
    s.git(&["switch", "--quiet", "-c", "both"]).ok();
    s.loopx(&[
        "start",
        "--profile",
        "lite",
        "--issue",
        &id,
        "--issue",
        &other,
    ])
    .ok();
    let listed = s.loopx(&["--json", "task", "list"]).json();
    let ids: Vec<&str> = (listed["tasks"].as_array().expect("tasks").iter())
        .filter_map(|row| row["task"].as_str())
        .collect();
    // Two lists with one id each keep all their tasks apart.
    let [a, b] = ["A", "B"].map(|task| format!("{other}.{task}"));
    assert_eq!(ids, ["A", "B", &a, &b]);
    let list = s.loopx(&["cat", "tasks.jsonl"]).ok();
    assert!(
        list.contains(&format!("\"depends_on\":[\"{a}\"]")),
        "{list}"
    );
    let intent = s.loopx(&["cat", "intent.md"]).ok();
    assert!(
        intent.contains("How: Ask again every five seconds"),
        "{intent}"
    );
    assert!(intent.contains("two tests fail"), "{intent}");
    // What is abandoned is planned again, and taken again it is in hand.
    s.loopx(&["abandon", "--reason", "it was the wrong way"])
        .ok();
    assert_eq!(show(&s, &id)["status"], "planned");
    s.loopx(&["issue", "take", &id]).ok();
    assert_eq!(show(&s, &id)["status"], "in_progress");
    s.loopx(&["start", "--quick", "--issue", &id, "--id", "again"])
        .ok();
    let brief = s.loopx(&["cat", "brief.md"]).ok();
    assert!(brief.contains("it was the wrong way"), "{brief}");
}

#[test]
fn a_score_that_clones_wrote_apart_is_settled_by_a_command() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    let id = id_of(&all.loopx(0, &["--json", "issue", "create", "One"]).json());
    all.loopx(0, &["issue", "solution", "add", &id, "So"]).ok();
    for (at, figure) in [(0, "90"), (1, "50")] {
        all.sync(at).ok();
        let score = ["issue", "solution", "score", &id, "--feasibility", figure];
        let rest = ["--risk", "50", "--completeness", "50"];
        all.loopx(at, &[&score[..], &rest].concat()).ok();
    }
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let apart = || all.loopx(0, &["--json", "issue", "list", "--apart"]).json();
    assert_eq!(apart()["issues"][0]["apart"][0]["field"], "score of s1");
    let next = apart()["next_action"]
        .as_str()
        .expect("a command")
        .to_owned();
    let words: Vec<&str> = next.split(' ').skip(2).collect();
    assert_eq!(words[..3], ["issue", "solution", "score"], "{next}");
    all.loopx(0, &words).ok();
    assert_eq!(apart()["issues"].as_array().map(Vec::len), Some(0));
}

#[test]
fn clones_that_choose_apart_agree_on_what_is_to_be_settled() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    let id = id_of(&all.loopx(0, &["--json", "issue", "create", "One"]).json());
    for at in [0, 1] {
        all.sync(at).ok();
        all.loopx(
            at,
            &[
                "issue",
                "solution",
                "add",
                &id,
                if at == 0 { "So" } else { "Or so" },
            ],
        )
        .ok();
        all.loopx(at, &["issue", "solution", "bind", &id]).ok();
    }
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    assert_eq!(all.tree(0), all.tree(1));
    let shown: Vec<Value> = (0..2)
        .map(|at| all.loopx(at, &["--json", "issue", "show", &id]).json())
        .collect();
    assert_eq!(shown[0]["ways"], shown[1]["ways"]);
    assert_eq!(shown[0]["solutions"], 2);
    let names: Vec<&str> = (shown[0]["ways"].as_array().expect("ways").iter())
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert!(names[0] == "s1" && names[1].starts_with("s1-"), "{names:?}");
    assert_eq!(shown[0]["apart"][0]["field"], "solution");
    assert_eq!(shown[0]["apart"][0]["values"][0]["value"], "s1");
    let listed = all.loopx(0, &["--json", "issue", "list", "--apart"]).json();
    let next = listed["next_action"].as_str().expect("a command");
    assert!(
        next.contains(&format!("issue solution bind {}", &id[..7])) && next.contains(names[1]),
        "{next}"
    );
    all.loopx(0, &["issue", "solution", "bind", &id, names[1]])
        .ok();
    for at in [0, 1] {
        all.sync(at).ok();
    }
    let settled = all.loopx(1, &["--json", "issue", "show", &id]).json();
    assert_eq!(
        (&settled["apart"], &settled["bound"]["name"]),
        (&Value::Null, &json!(names[1]))
    );
    all.loopx(1, &["fsck"]).ok();
}
