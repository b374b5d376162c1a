//! `issue import` of solutions: they are solutions of their issue, bound where they were bound; clones that take over the
//! same apart have them once, and their checks are nobody's own.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::issues::{backlog, create, list, show};
use serde_json::{Value, json};

fn import(s: &Sandbox, args: &[&str]) -> Value {
    s.loopx(&[&["--json", "issue", "import"], args].concat())
        .json()
}

fn ways(s: &Sandbox, id: &str) -> Value {
    s.loopx(&["--json", "issue", "solution", "list", id]).json()
}

fn names(ways: &Value) -> Vec<&str> {
    let all = ways["solutions"].as_array().expect("solutions").iter();
    all.map(|one| one["name"].as_str().expect("a name"))
        .collect()
}

/// Asserts that nothing comes a second time, and no commit is made.
fn again(s: &Sandbox, args: &[&str], here: usize) {
    let tip = || s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let before = tip();
    let report = import(s, &[args, &["--update"]].concat());
    let nothing = json!([]);
    assert_eq!((&report["new"], &report["changed"]), (&nothing, &nothing));
    assert_eq!(
        (&report["queued"], &report["here"]),
        (&nothing, &json!(here))
    );
    assert_eq!(tip(), before, "{args:?}");
}

/// The files of a backlog of ccw with a queue, by their paths.
fn ccw() -> [(&'static str, String); 5] {
    let issue = |id: &str, status: &str, bound: Value| {
        json!({"id": id, "title": id, "status": status, "priority": 3, "context": "x", "bound_solution_id": bound,
            "created_at": "2026-01-01T00:00:00Z"})
    };
    let issues = [
        issue("ISS-1", "queued", json!("SOL-1-2")),
        issue("ISS-2", "queued", json!("SOL-2-1")),
        issue("ISS-3", "planned", json!("SOL-gone")),
    ];
    let task = |id: &str, more: Value| {
        let mut task = json!({"id": id, "title": format!("Do {id}"), "scope": "src"});
        let more = more.as_object().expect("an object").clone();
        task.as_object_mut().expect("an object").extend(more);
        task
    };
    let lines = |all: &[Value]| all.iter().map(|one| format!("{one}\n")).collect::<String>();
    [
        ("issues.jsonl", lines(&issues)),
        (
            "solutions/ISS-1.jsonl",
            lines(&[
                json!({"id": "SOL-1-1", "description": "Wait", "tasks": [], "is_bound": false}),
                json!({"id": "SOL-1-2", "description": "Ask again", "approach": "With a limit", "is_bound": true, "score": 0.9,
                    "analysis": {"risk": "low"}, "tasks": [
                        task("T1", json!({"modification_points": [{"file": "code.txt", "target": "f", "change": "g"}, {"file": "code.txt"}],
                            "acceptance": ["the log names the limit"], "verification": "cmd: touch ran"})),
                        task("T2", json!({"files": [{"path": "new.txt", "action": "create"}], "depends_on": ["T1"]})),
                    ]}),
            ]),
        ),
        (
            "solutions/ISS-2.jsonl",
            lines(&[
                json!({"id": "SOL-2-1", "description": "Say it", "tasks": [task("T1", json!({"files": [{"path": "code.txt"}]}))]}),
                json!({"id": "SOL-2-2", "description": "Climb", "tasks": [task("T1", json!({"files": [{"path": "../../etc/passwd"}]}))]}),
                json!({"id": "SOL-2-3", "description": "Odd", "tasks": "none"}),
            ]),
        ),
        (
            "queues/QUE-1.json",
            json!({"id": "QUE-1", "solutions": [{"item_id": "S-1", "issue_id": "ISS-2", "solution_id": "SOL-2-1"},
                {"item_id": "S-2", "issue_id": "ISS-1", "solution_id": "SOL-1-2"}]}).to_string(),
        ),
        ("queues/index.json", "{\"queues\":[]}".to_owned()),
    ]
}

#[test]
fn solutions_of_ccw_are_bound_where_they_were_and_the_queue_is_formed_here() {
    let s = backlog();
    for (path, text) in ccw() {
        s.write(format!("in/{path}"), text);
    }
    let report = import(&s, &["in/issues.jsonl"]);
    let remarks = report["remarks"].to_string();
    assert!(
        remarks.contains("computed anew here: ISS-2, ISS-1"),
        "{report}"
    );
    assert!(
        remarks.contains("SOL-2-2 is kept as data: task 1: T1: it names `../../etc/passwd`"),
        "{report}"
    );
    assert!(
        remarks.contains("a solution is kept as data: expected a list in `tasks` of SOL-2-3"),
        "{report}"
    );
    assert_eq!(
        report["queued"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
    assert_eq!(report["next_action"], "git loopx issue queue form");

    let first = ways(&s, "ISS-1");
    assert_eq!(
        (names(&first), &first["bound"]),
        (vec!["SOL-1-1", "SOL-1-2"], &json!("SOL-1-2"))
    );
    let bound = &first["solutions"][1];
    assert_eq!(bound["approach"], "Ask again\n\nWith a limit");
    assert_eq!(bound["from"], json!({"system": "ccw", "id": "SOL-1-2"}));
    assert_eq!(
        bound["tasks"][0]["files"],
        json!([{"path": "code.txt", "action": "modify"}])
    );
    let asked = &bound["tasks"][0]["convergence"];
    assert_eq!(
        (&asked["criteria"], &asked["verification"]),
        (
            &json!(["the log names the limit"]),
            &json!({"cmd": ["touch", "ran"]})
        )
    );
    let issue = show(&s, "ISS-1");
    assert_eq!(issue["status"], "planned");
    assert_eq!(
        issue["kept"]["solutions"],
        json!([{"analysis": {"risk": "low"}, "id": "SOL-1-2", "score": 0.9}])
    );
    assert_eq!(issue["kept"]["queue"][0]["item_id"], "S-2");
    assert!(issue["kept"]["bound_solution_id"].is_null(), "{issue}");
    // What cannot be a solution here is data, and nothing is bound that is not there.
    let second = ways(&s, "ISS-2");
    assert_eq!(
        (names(&second), &second["bound"]),
        (vec!["SOL-2-1"], &json!("SOL-2-1"))
    );
    // Our own solutions of an export take no place from what is kept of ccw's.
    let lines = s.loopx(&["issue", "export"]).ok();
    let line = lines.lines().find(|line| line.contains("SOL-2-2"));
    let line: Value = serde_json::from_str(line.expect("a line")).expect("JSON");
    let names = |name: &str| line["kept"][name].to_string();
    assert!(names("solutions").contains("SOL-2-1"), "{line}");
    assert!(names("solutions_before").contains("SOL-2-3"), "{line}");
    let kept = show(&s, "ISS-2")["kept"]["solutions"].take();
    assert_eq!(
        (&kept[0]["id"], &kept[1]["name"]),
        (&json!("SOL-2-3"), &json!("SOL-2-2"))
    );
    assert_eq!(show(&s, "ISS-3")["kept"]["bound_solution_id"], "SOL-gone");

    s.loopx(&["issue", "queue", "form", "ISS-1", "ISS-2"]).ok();
    assert_eq!(show(&s, "ISS-1")["status"], "queued");
    again(&s, &["in/issues.jsonl"], 3);
    s.loopx(&["fsck"]).ok();
}

/// A backlog with an issue that has four solutions: rejected, mending it, bound and judged.
fn solved() -> (Sandbox, String, String) {
    let s = backlog();
    let id = create(&s, &["One"]);
    let solution = |args: &[&str]| s.loopx(&[&["issue", "solution"], args].concat()).ok();
    s.write(
        "t.jsonl",
        json!({"id": "T1", "title": "t", "convergence": {"criteria": ["a file named ran is there"],
        "verification": {"cmd": ["touch", "ran"]}}})
        .to_string(),
    );
    solution(&["add", &id, "Slowly", "--file", "code.txt"]);
    solution(&["reject", &id, "s1", "--reason", "too slow"]);
    solution(&[
        "add", &id, "Faster", "--mends", "s1", "--tasks", "t.jsonl", "--file", "code.txt",
    ]);
    solution(&["add", &id, "Never", "--name", "none"]);
    solution(&["bind", &id, "s2"]);
    solution(&[
        "score",
        &id,
        "s2",
        "--feasibility",
        "90",
        "--risk",
        "90",
        "--completeness",
        "90",
    ]);
    s.loopx(&["issue", "queue", "form"]).ok();
    let lines = s.loopx(&["issue", "export"]).ok();
    (s, id, lines)
}

#[test]
fn solutions_of_an_export_come_as_they_were_and_a_score_stays_a_persons() {
    let (s, id, lines) = solved();
    s.write("own.jsonl", &lines);
    again(&s, &["own.jsonl"], 1);
    let there = ways(&s, &id);
    let other = backlog();
    other.write("own.jsonl", &lines);
    let report = import(&other, &["own.jsonl"]);
    assert_eq!(report["queued"], json!([id]), "{report}");
    assert!(
        report["remarks"]
            .to_string()
            .contains("a person judges here"),
        "{report}"
    );
    let here = ways(&other, &id);
    assert_eq!(
        (names(&here), &here["bound"]),
        (vec!["s1", "s2", "none"], &json!("s2"))
    );
    for number in 0..3 {
        let (here, there) = (&here["solutions"][number], &there["solutions"][number]);
        for field in ["approach", "tasks", "files"] {
            assert_eq!(here[field], there[field], "{number} {field}");
        }
        assert_eq!(here["from"], json!({"system": "loopx", "id": there["op"]}));
    }
    let why = here["solutions"][0]["rejected"]["reason"].as_str();
    assert!(
        why.is_some_and(|why| why.starts_with("too slow (")),
        "{here}"
    );
    assert_eq!(here["solutions"][1]["mends"], here["solutions"][0]["op"]);
    assert!(here["solutions"][1]["scored"].is_null(), "{here}");
    let issue = show(&other, &id);
    assert_eq!(issue["status"], "planned");
    assert_eq!(issue["kept"]["scores"][0]["solution"], "s2");
    again(&other, &["own.jsonl"], 1);
    // It is one command: what takes it back takes back all of it.
    other.loopx(&["issue", "undo", &id]).ok();
    assert_eq!(list(&other, &["--all"]).len(), 0);
    other.loopx(&["issue", "redo", &id]).ok();
    assert_eq!(ways(&other, &id)["bound"], "s2");
    other.loopx(&["fsck"]).ok();
    // From there they go on, and remember where they are from first.
    let third = backlog();
    third.write("own.jsonl", other.loopx(&["issue", "export"]).ok());
    import(&third, &["own.jsonl"]);
    assert_eq!(
        ways(&third, &id)["solutions"][1]["from"],
        here["solutions"][1]["from"]
    );
}

#[test]
fn what_is_no_solution_of_an_export_is_data_and_its_issue_is_open() {
    let (_, id, lines) = solved();
    let other = backlog();
    let climbing = lines.replace("\"path\":\"code.txt\"", "\"path\":\"../code.txt\"");
    assert_ne!(climbing, lines);
    other.write("own.jsonl", climbing);
    let report = import(&other, &["own.jsonl"]);
    let remarks = report["remarks"].to_string();
    assert!(
        remarks.contains("s2 is kept as data: task 1: T1: it names `../code.txt`"),
        "{report}"
    );
    assert!(
        remarks.contains("it was queued, and comes as open"),
        "{report}"
    );
    assert_eq!(names(&ways(&other, &id)), ["none"]);
    let issue = show(&other, &id);
    assert_eq!(
        (&issue["status"], &issue["kept"]["solutions"][1]["name"]),
        (&json!("open"), &json!("s2"))
    );
    let third = backlog();
    third.write(
        "own.jsonl",
        lines.replace("\"approach\":", "\"approach_\":"),
    );
    let report = import(&third, &["own.jsonl"]);
    assert!(
        report["remarks"]
            .to_string()
            .contains("its solutions are kept as data"),
        "{report}"
    );
}

#[test]
fn clones_that_take_over_the_same_apart_have_each_solution_once_and_bound() {
    let (_, id, lines) = solved();
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let folder = all.dir(0).parent().expect("a parent").to_owned();
    let files = ccw()
        .into_iter()
        .map(|(path, text)| (format!("in/{path}"), text));
    for (path, text) in files.chain([("own.jsonl".to_owned(), lines)]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    for at in [0, 1] {
        for file in ["own.jsonl", "in/issues.jsonl"] {
            let file = folder.join(file).display().to_string();
            all.loopx(at, &["issue", "import", &file]).ok();
        }
    }
    // What one of them says of its own records is said of the one solution.
    all.loopx(
        1,
        &["issue", "solution", "reject", &id, "none", "--reason", "no"],
    )
    .ok();
    all.loopx(1, &["issue", "solution", "bind", "ISS-1", "SOL-1-1"])
        .ok();
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    for at in [0, 1] {
        let of = |id: &str| {
            all.loopx(at, &["--json", "issue", "solution", "list", id])
                .json()
        };
        let (own, first) = (of(&id), of("ISS-1"));
        assert_eq!(
            (names(&own), &own["bound"]),
            (vec!["s1", "s2", "none"], &json!("s2"))
        );
        assert_eq!(own["solutions"][2]["rejected"]["reason"], "no");
        assert_eq!(own["solutions"][1]["mends"], own["solutions"][0]["op"]);
        assert_eq!(names(&first), ["SOL-1-1", "SOL-1-2"]);
    }
    let lines = all.loopx(0, &["issue", "export"]).ok();
    assert_eq!(lines, all.loopx(1, &["issue", "export"]).ok());
    let own = lines
        .lines()
        .find(|line| line.contains(&id))
        .expect("a line");
    assert!(!own.contains("\"apart\""), "{own}");
    all.loopx(0, &["fsck"]).ok();
}

#[test]
fn a_check_that_an_import_brought_runs_once_somebody_said_so() {
    let (_, id, lines) = solved();
    for trust in [None, Some("names")] {
        let s = backlog();
        s.write("own.jsonl", &lines);
        s.loopx(&["issue", "import", "own.jsonl"]).ok();
        if let Some(word) = trust {
            s.git(&["config", "loopx.trust", word]).ok();
        }
        s.git(&["switch", "--quiet", "-c", "w"]).ok();
        s.loopx(&["start", "--profile", "lite", "--issue", &id])
            .ok();
        let out = s.loopx(&["--json", "run"]);
        assert_eq!(
            out.error_json()["error"]["code"],
            "check_not_trusted",
            "{out}"
        );
        assert!(!s.exists("ran"));
        s.loopx(&["run", "--trust"]).says("T1  passed");
    }
}

#[test]
fn solutions_that_came_since_are_brought_by_an_update() {
    let s = backlog();
    let issue = |bound: Value| {
        let one = json!({"id": "ISS-1", "title": "One", "status": "planned", "priority": 3,
            "context": "x", "bound_solution_id": bound});
        s.write(".workflow/issues/issues.jsonl", format!("{one}\n"));
    };
    let solutions = |names: &[&str], bound: Option<&str>| {
        let line = |name: &&str| {
            let one = json!({"id": name, "approach": format!("by {name}"), "is_bound": bound == Some(*name),
                "tasks": [{"id": "T1", "title": "Do it", "files": ["code.txt"]}]});
            format!("{one}\n")
        };
        let lines: String = names.iter().map(line).collect();
        s.write(".workflow/issues/solutions/ISS-1.jsonl", lines);
    };
    issue(Value::Null);
    solutions(&["SOL-1"], None);
    let first = s.loopx(&["--json", "issue", "import", "."]).json();
    let id = first["new"][0]["issue"].as_str().expect("an id").to_owned();
    assert!(
        first["remarks"].to_string().contains("comes as open"),
        "{first}"
    );
    let names = || -> Vec<String> {
        let found = ways(&s, &id);
        let all = found["solutions"].as_array().expect("solutions").iter();
        all.map(|one| one["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names(), ["SOL-1"]);
    issue(json!("SOL-2"));
    solutions(&["SOL-1", "SOL-2"], Some("SOL-2"));
    let told = s.loopx(&["--json", "issue", "import", "."]).json();
    let changes = &told["changed"][0]["changes"];
    assert!(changes.to_string().contains("solution +SOL-2"), "{told}");
    assert_eq!(names(), ["SOL-1"]);
    s.loopx(&["issue", "import", ".", "--update"]).ok();
    assert_eq!(names(), ["SOL-1", "SOL-2"]);
    let shown = s.loopx(&["--json", "issue", "show", &id]).json();
    assert_eq!(shown["status"], "planned", "{shown:#}");
    assert_eq!(ways(&s, &id)["bound"], "SOL-2");
    // Twice gives nothing new.
    let again = s
        .loopx(&["--json", "issue", "import", ".", "--update"])
        .json();
    assert_eq!(again["changed"], json!([]), "{again}");
    assert_eq!(again["commit"], Value::Null, "{again}");
    s.loopx(&["fsck"]).ok();
}
