//! Pipelines: what the program brings against the table of those that it grew from, a repository's own, and what
//! becomes of one in a session.

use crate::support::tasks::{DEMO, building, planning, refuses, statuses, task, text};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Mode by mode: how long the longest chain is, behind which task a person looks, and id, role, dependencies, round and
/// views of each task; of the two whose parameters say which tasks there are, what waits for what.
const TABLE: &str = include_str!("../pipelines.json");

const MODES: [(&str, usize); 9] = [
    ("spec-only", 6),
    ("impl-only", 4),
    ("fe-only", 3),
    ("fullstack", 6),
    ("full-lifecycle", 10),
    ("full-lifecycle-fe", 12),
    // S37: the three of sprints.
    ("patch", 2),
    ("sprint", 4),
    ("multi-sprint", 5),
];

fn strings(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.map(text).collect()
}

/// The parameters that a mode needs.
fn params(mode: &str) -> &'static [&'static str] {
    match mode {
        "spec-only" => &[],
        _ => &["--param", "check=true"],
    }
}

/// A session in plan whose list is what a pipeline made.
fn started(mode: &str) -> Sandbox {
    started_with(mode, &[])
}

fn started_with(mode: &str, more: &[&str]) -> Sandbox {
    Sandbox::once(format!("{mode} {more:?}"), || {
        let s = planning(&[]);
        s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
        let call = s.call(LOOPX).args(&["pipeline", "start", mode]);
        call.args(params(mode)).args(more).run().ok();
        s
    })
}

/// Team A1, A2, A4, A5: the table, as `pipeline show` has it.
#[test]
fn team_a1_to_a5_each_mode_is_the_one_of_the_table() {
    let s = planning(&[]);
    let table: Value = serde_json::from_str(TABLE).expect("a table");
    for (mode, count) in MODES {
        let wanted = &table[mode];
        let shown = s.loopx(&["pipeline", "show", mode, "--json"]).json();
        assert_eq!(shown["tasks"], count, "{mode}");
        assert_eq!(shown["beats"], wanted["beats"], "{mode}");
        let nodes = shown["nodes"].as_array().expect("nodes");
        let row = |node: &Value| {
            let round = node["gates"].as_array().expect("gates").iter();
            let round: Vec<&Value> = round.filter(|gate| gate["round"].is_u64()).collect();
            let (round, views) = match round.as_slice() {
                [] => (Value::Null, json!([])),
                [one] => (one["round"].clone(), one["views"].clone()),
                more => panic!("{mode}: {more:?}"),
            };
            json!([node["id"], node["role"], node["depends_on"], round, views])
        };
        let found: Vec<Value> = nodes.iter().map(row).collect();
        assert_eq!(json!(found), wanted["nodes"], "{mode}");
        let held = nodes.iter().find(|node| node["checkpoint"].is_string());
        let held = held.map_or(Value::Null, |node| node["id"].clone());
        assert_eq!(held, wanted["checkpoint"], "{mode}");
        // Only the last word is final, a revision is one, and each attempt is one of three.
        for node in nodes {
            assert_eq!(node["cap"], 3, "{mode}: {node}");
            for gate in node["gates"].as_array().expect("gates") {
                if let Some(round) = gate["round"].as_u64() {
                    assert_eq!(gate["final"], round == 6, "{mode}: {gate}");
                    assert_eq!(gate["cap"], 1, "{mode}: {gate}");
                }
            }
        }
    }
}

/// The figures of gates and limits (teams 4.13, S19, S37, task-chains 8): none is what a file of the program happens to say.
#[test]
fn g_figures_each_gate_has_the_rubric_and_the_cap_of_the_table() {
    let s = planning(&[]);
    let table: Value = serde_json::from_str(TABLE).expect("a table");
    let figures = &table["figures"];
    let mut seen = BTreeSet::new();
    for mode in MODES
        .map(|(mode, _)| mode)
        .iter()
        .chain(&["chain", "issue"])
    {
        let shown = s.loopx(&["pipeline", "show", mode, "--json"]).json();
        for node in shown["nodes"].as_array().expect("nodes") {
            let phase = if node["phase"] == "spec" {
                "spec"
            } else {
                "other"
            };
            let limits = match *mode {
                "chain" => json!([null, null]),
                _ => figures["limits"][phase].clone(),
            };
            let found = json!([node["work_limit"], node["grace"]]);
            assert_eq!(found, limits, "{mode} {}", node["id"]);
            for gate in node["gates"].as_array().expect("gates") {
                if gate["round"].is_u64() {
                    continue;
                }
                let name = text(&gate["id"]);
                let own = format!("sprint {name}");
                let is_own = mode.ends_with("sprint") && figures["gates"][&own].is_object();
                let name = if is_own { own } else { name };
                assert_eq!(figured(gate), figures["gates"][&name], "{mode} {name}");
                seen.insert(name);
            }
        }
        for (name, nodes) in shown["templates"].as_object().expect("templates") {
            let Some(wanted) = figures["repairs"].get(name) else {
                continue;
            };
            let ids = nodes.as_array().expect("nodes").iter().flat_map(|node| {
                let gates = node["gates"].as_array().expect("gates");
                std::iter::once(node)
                    .chain(gates)
                    .map(|one| text(&one["id"]))
            });
            assert_eq!(ids.collect::<Vec<_>>().join(" "), text(wanted), "{name}");
            seen.insert(name.clone());
        }
    }
    for of in ["gates", "repairs"] {
        for name in figures[of].as_object().expect("names").keys() {
            assert!(seen.contains(name), "no pipeline has {name}");
        }
    }
}

/// The figures of a gate as the table has them; what it does not say is left out.
fn figured(gate: &Value) -> Value {
    let rubric = &gate["rubric"];
    let dimensions = rubric["dimensions"].as_array();
    let of = |field: &str| -> Value {
        let all = dimensions.into_iter().flatten();
        let all = all.filter(|one| !one[field].is_null());
        all.map(|one| (text(&one["name"]), one[field].clone()))
            .collect()
    };
    let fields = [
        ("scale", rubric["scale"].clone()),
        ("pass", rubric["pass"].clone()),
        ("warn", rubric["warn"].clone()),
        ("critical", rubric["critical"].clone()),
        ("cap", gate["cap"].clone()),
        ("at_cap", gate["at_cap"].clone()),
        ("weights", of("weight")),
        ("minimum", of("minimum")),
        ("dimension_warn", of("warn")),
    ];
    let said = fields
        .into_iter()
        .filter(|(_, value)| !value.is_null() && *value != json!({}));
    said.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Task-chains 7 and S18: the two pipelines whose parameters say which tasks there are.
#[test]
fn s18_the_chain_and_the_way_of_issues_are_those_of_the_table() {
    let s = planning(&[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    let table: Value = serde_json::from_str(TABLE).expect("a table");
    for name in ["chain", "issue"] {
        for row in table[name].as_array().expect("rows") {
            let params = strings(&row["params"]);
            let params = params.iter().map(String::as_str).chain(["check=true"]);
            let params = params.flat_map(|param| ["--param", param]);
            let start = ["pipeline", "start", name, "--dry-run", "--json"];
            let plan = s.loopx(&start.into_iter().chain(params).collect::<Vec<_>>());
            let edge = |line: String| {
                let line: Value = serde_json::from_str(&line).expect("a line");
                let on = [
                    strings(&line["depends_on"]),
                    strings(&line["gate"]["judges"]),
                ];
                let edge = format!("{} <- {}", text(&line["id"]), on.concat().join(" "));
                edge.trim_end().to_owned()
            };
            let lines = strings(&plan.json()["lines"]).into_iter();
            let edges: Vec<String> = lines.map(edge).collect();
            assert_eq!(json!(edges), row["nodes"], "{name} {}", row["params"]);
        }
    }
}

/// Files that a task leaves are on the cards of the tasks behind it; a task that is left out leaves nothing.
#[test]
fn the_pipeline_of_issues_hands_on_what_its_tasks_leave() {
    let s = started_with("issue", &[]);
    let tasks = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
    let tasks = tasks.lines().map(serde_json::from_str::<Value>);
    let tasks: Vec<Value> = tasks.map(|task| task.expect("a task")).collect();
    let of = |id: &str| {
        let task = tasks.iter().find(|task| task["id"] == id);
        task.expect("a task").clone()
    };
    let (context, solutions) = (
        "tasks/EXPLORE-001/context.md",
        "tasks/SOLVE-001/solutions.md",
    );
    assert_eq!(strings(&of("SOLVE-001")["reads"]), [context]);
    assert_eq!(strings(&of("MARSHAL-001")["reads"]), [context, solutions]);
    let queue = "tasks/MARSHAL-001/queue.json";
    assert_eq!(
        strings(&of("BUILD-001")["reads"]),
        [context, solutions, queue]
    );
    for (id, word) in [
        ("MARSHAL-001", "issue queue show"),
        ("BUILD-001", "issue resolve"),
    ] {
        assert!(text(&of(id)["description"]).contains(word), "{id}");
    }
    s.loopx(&["task", "check"]).ok();
}

/// The table of the modes, as the graph of a session has it: between two tasks stands what judges the first.
#[test]
fn team_a1_to_a5_the_graph_that_a_mode_makes_is_the_one_of_the_table() {
    let table: Value = serde_json::from_str(TABLE).expect("a table");
    for (mode, count) in MODES {
        let s = started(mode);
        let graph = s.loopx(&["task", "graph", "--json"]).json();
        let rows = graph["nodes"].as_array().expect("nodes");
        let on: BTreeMap<String, Vec<String>> = rows
            .iter()
            .map(|row| (text(&row["task"]), strings(&row["depends_on"])))
            .collect();
        let work: Vec<String> = rows
            .iter()
            .filter(|row| row["kind"] == "work")
            .map(|row| text(&row["task"]))
            .collect();
        assert_eq!(work.len(), count, "{mode}");
        // The nearest tasks on each way back.
        let before = |id: &String| -> Vec<String> {
            let mut left = on[id].clone();
            let mut found = Vec::new();
            while let Some(next) = left.pop() {
                if work.contains(&next) {
                    found.push(next)
                } else {
                    left.extend(on[&next].clone())
                }
            }
            found.sort();
            found.dedup();
            found
        };
        for row in table[mode]["nodes"].as_array().expect("nodes") {
            let mut wanted = strings(&row[2]);
            wanted.sort();
            assert_eq!(before(&text(&row[0])), wanted, "{mode} {}", row[0]);
        }
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        let ready = s.loopx(&["task", "list", "--ready", "--json"]).json();
        let ready: Vec<String> = ready["tasks"]
            .as_array()
            .expect("tasks")
            .iter()
            .map(|row| text(&row["task"]))
            .collect();
        assert_eq!(ready, [text(&table[mode]["nodes"][0][0])], "{mode}");
    }
}

#[test]
fn each_pipeline_of_the_program_is_printed_byte_for_byte_and_has_no_finding() {
    let s = planning(&[]);
    let listed = s.loopx(&["pipeline", "list", "--json"]).json();
    let rows = listed["pipelines"].as_array().expect("pipelines");
    for (mode, count) in MODES {
        let row = rows.iter().find(|row| row["name"] == mode);
        assert_eq!(row.expect("it is listed")["tasks"], json!(count), "{mode}");
        let file = format!("crates/rules/src/pipeline/builtin/{mode}.toml");
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(file).expect("a file");
        assert_eq!(s.loopx(&["pipeline", "show", mode]).ok(), text);
        s.loopx(&["pipeline", "check", "--strict", mode]).ok();
    }
}

/// S37: how many sprints follows from the request and from the files that the list names.
#[test]
fn s37_the_request_and_the_list_choose_among_the_sprints() {
    let files = json!({ "files": ["a", "b", { "path": "c", "action": "read" }, "d"] });
    let mut line = task("A", &[], Some(&["true"]));
    line["files"] = files["files"].clone();
    let s = planning(&[line]);
    let chosen = |request: &str| {
        let dry = [
            "pipeline",
            "start",
            "--sprint",
            "--param",
            "check=true",
            "--dry-run",
            "--json",
        ];
        let plan = s.loopx(&[&dry[..], &["--for", request]].concat()).json();
        assert_eq!(plan["sprint"]["files"], 3);
        (text(&plan["pipeline"]), plan["sprint"]["score"].as_i64())
    };
    assert_eq!(chosen("fix the typo"), ("patch".to_owned(), Some(0)));
    assert_eq!(chosen("say hello"), ("sprint".to_owned(), Some(2)));
    assert_eq!(
        chosen("refactor the store"),
        ("multi-sprint".to_owned(), Some(5))
    );
    s.loopx(&[
        "pipeline",
        "start",
        "--sprint",
        "--for",
        "say hello",
        "--param",
        "check=true",
    ])
    .says("sprint, by a score of 2: 3 files in the list")
    .says("4 tasks of sprint added")
    .ok();
}

#[test]
fn a_pipeline_starts_once_whole_or_not_at_all() {
    let s = planning(&[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    s.loopx(&["save"]).ok();
    for (code, word, args) in [
        (4, "pipeline_unknown", &["speconly"][..]),
        (2, "pipeline_param", &["impl-only"]),
        (2, "pipeline_param", &["spec-only", "--param", "depth"]),
        (
            2,
            "pipeline_param",
            &["spec-only", "--param", "depth=abyssal"],
        ),
        (2, "pipeline_param", &["spec-only", "--param", "dept=deep"]),
        (
            2,
            "pipeline_param",
            &[
                "impl-only",
                "--param",
                "check=true",
                "--param",
                "spec=docs/none.md",
            ],
        ),
        (2, "pipeline_param", &["impl-only", "--param", "check=a 'b"]),
    ] {
        refuses(&s, code, word, &[&["pipeline", "start"], args].concat());
    }
    let dry = s.loopx(&["pipeline", "start", "spec-only", "--dry-run", "--json"]);
    let dry = dry.json();
    assert_eq!(dry["tasks"], 6);
    assert_eq!(s.read(format!(".loopx/{DEMO}/tasks.jsonl")), "");
    s.loopx(&[
        "pipeline",
        "start",
        "spec-only",
        "--param",
        "scope=a note app",
    ])
    .says("6 tasks of spec-only added")
    .ok();
    let list = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
    assert_eq!(list.lines().count(), strings(&dry["lines"]).len());
    assert!(list.contains("Research: a note app"), "{list}");
    s.loopx(&["task", "check", "--strict"]).ok();
    refuses(
        &s,
        1,
        "pipeline_id_taken",
        &["pipeline", "start", "spec-only"],
    );
    s.loopx(&["pipeline", "start", "spec-only", "--prefix", "b-"])
        .ok();
    assert_eq!(statuses(&s).len(), 26);
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    refuses(
        &s,
        1,
        "artifact_locked",
        &["pipeline", "start", "spec-only"],
    );
}

const OWN: &str = r#"
title = "Ours"
extends = "impl-only"
remove = ["PLAN-001"]

[params.size]
values = ["small", "large"]
default = "small"

[[nodes]]
id = "REVIEW-001"
depends_on = ["TEST-001"]

[[nodes]]
id = "LOAD-001"
title = "Measure {scope}"
role = "tester"
depends_on = ["IMPL-001"]
criteria = ["A figure stands in the report"]
verification = "{check}"
when = { params = { size = "large" } }

[[nodes]]
id = "NOTES-001"
title = "Tell the users"
role = "executor"
depends_on = ["LOAD-001"]
criteria = ["The notes name the change"]
verification = { manual = "the notes" }
when = { has = ["NOTES.md"] }
"#;

/// A gate of one's own takes no other gate away: what changes is what has its id.
#[test]
fn a_gate_of_an_own_pipeline_stands_behind_those_of_what_it_extends() {
    let s = Sandbox::new();
    s.write(
        "loopx/pipelines/ours.toml",
        r#"extends = "spec-only"
[[nodes]]
id = "DRAFT-002"
[[nodes.gates]]
id = "DISCUSS-003"
cap = 2
[[nodes.gates]]
id = "CHECKPOINT-001"
rubric = { pass = 70 }
"#,
    );
    s.git(&["add", "."]).ok();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    let shown = s.loopx(&["pipeline", "show", "ours", "--json"]).json();
    let nodes = shown["nodes"].as_array().expect("nodes");
    let node = nodes.iter().find(|node| node["id"] == "DRAFT-002");
    let gates = node.expect("the node")["gates"].as_array().expect("gates");
    let of = |gate: &Value| json!([gate["id"], gate["round"], gate["cap"], gate["rubric"]]);
    let gates: Vec<Value> = gates.iter().map(of).collect();
    let wanted = json!([
        ["DISCUSS-003", 3, 2, null],
        ["CHECKPOINT-001", null, null, { "pass": 70 }]
    ]);
    assert_eq!(json!(gates), wanted);
}

#[test]
fn a_pipeline_of_the_repository_changes_one_of_the_program() {
    let s = Sandbox::new();
    s.write("NOTES.md", "notes\n");
    s.write("loopx/pipelines/ours.toml", OWN);
    s.write(
        "loopx/pipelines/broken.toml",
        "[[nodes]]\nid = \"A\"\ntitel = \"x\"\n",
    );
    s.git(&["add", "."]).ok();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--profile", "lite", DEMO]).ok();
    s.loopx(&["pipeline", "check", "ours"]).ok();
    let found = s
        .loopx(&["pipeline", "check", "--json"])
        .fails_with(1)
        .json();
    let findings = found["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0]["id"], "pipeline_unreadable");
    assert_eq!(findings[0]["line"], 3);
    refuses(&s, 1, "pipeline_invalid", &["pipeline", "show", "broken"]);
    let ids = |size: &str| {
        let size = format!("size={size}");
        let given = [
            "--param",
            "check=true",
            "--param",
            size.as_str(),
            "--dry-run",
            "--json",
        ];
        let call = s.call(LOOPX).args(&["pipeline", "start", "ours"]);
        let plan = call.args(&given).run().json();
        (
            strings(&plan["ids"]),
            strings(&plan["left_out"]),
            strings(&plan["lines"]),
        )
    };
    s.write(format!(".loopx/{DEMO}/change/spec-delta.md"), "# A delta\n");
    let (made, left_out, lines) = ids("small");
    assert_eq!(
        made,
        [
            "IMPL-001",
            "TEST-001",
            "GATE-TEST",
            "REVIEW-001",
            "GATE-REVIEW",
            "NOTES-001"
        ]
    );
    assert_eq!(left_out, ["LOAD-001"]);
    // What waited for the one that is left out waits for what that one waits for.
    let notes = lines.iter().find(|line| line.contains("NOTES-001"));
    assert!(
        notes
            .expect("a line")
            .contains(r#""depends_on":["IMPL-001"]"#),
        "{lines:#?}"
    );
    let (made, left_out, _) = ids("large");
    assert!(made.contains(&"LOAD-001".to_owned()), "{made:?}");
    assert!(left_out.is_empty(), "{left_out:?}");
}

/// The check of a document is this program's own look for it.
#[test]
fn a_document_is_done_when_it_is_there() {
    let s = started("spec-only");
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    s.loopx(&["take", "RESEARCH-001"]).ok();
    s.loopx(&["task", "outputs"]).fails_with(1);
    s.loopx(&["task", "done"])
        .says("task outputs RESEARCH-001` failed")
        .fails_with(1);
    let file = format!(".loopx/{DEMO}/tasks/RESEARCH-001/research.md");
    s.write(file, "# Found\n");
    s.loopx(&["task", "outputs", "RESEARCH-001"]).ok();
    s.loopx(&["task", "done"]).ok();
    assert_eq!(statuses(&s)["RESEARCH-001"], "completed");
}

/// Team A10: what waits for a task that failed for good is skipped, with the reason, and comes back with it.
#[test]
fn team_a10_what_waits_for_a_failed_task_is_skipped_where_the_plan_says_so() {
    let work = |id: &str, on: &[&str]| task(id, on, Some(&["true"]));
    let mut first = work("A", &[]);
    first["on_failed"] = json!("skip");
    first["cap"] = json!(1);
    let s = building(&[first, work("B", &["A"]), work("C", &["B"]), work("D", &[])]);
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "fail", "--reason", "it does not pass"])
        .ok();
    let listed = s.loopx(&["task", "list", "--json"]).json();
    let row = |at: usize| listed["tasks"][at].clone();
    for at in [1, 2] {
        assert_eq!(row(at)["status"], "skipped", "{at}");
        assert_eq!(row(at)["skipped_by"], "A", "{at}");
        assert_eq!(row(at)["reason"], "because of A", "{at}");
    }
    assert_eq!(row(3)["ready"], true);
    refuses(&s, 1, "task_not_ready", &["take", "B"]);
    // The gate is held by the one that failed.
    let blockers = s.loopx(&["status", "--json"]).json()["blockers"].to_string();
    assert!(blockers.contains("A is failed"), "{blockers}");
    s.loopx(&["task", "retry", "A", "--reason", "mended"]).ok();
    assert_eq!(statuses(&s)["B"], "pending");
    s.loopx(&["task", "skip", "A", "--reason", "not needed"])
        .ok();
    assert_eq!(statuses(&s)["C"], "skipped");
}

/// Team E2: whoever has a task longer than the plan lets them is asked to finish; then it is a failed attempt.
#[test]
fn team_e2_a_task_that_took_too_long_is_a_failed_attempt() {
    let mut first = task("A", &[], Some(&["true"]));
    first["work_limit"] = json!(600);
    first["cap"] = json!(2);
    let s = building(&[first]);
    let at = |seconds: i64, args: &[&str]| {
        let date = format!("{} +0000", 1_767_225_600 + seconds);
        let call = s.call(LOOPX).env("GIT_COMMITTER_DATE", &date);
        call.env("GIT_AUTHOR_DATE", &date).args(args).run()
    };
    at(1_000, &["take"]).ok();
    let row = |seconds: i64| {
        let listed = at(seconds, &["--json", "task", "list"]).json();
        listed["tasks"][0].clone()
    };
    assert_eq!(row(1_599)["turn"]["asked_to_finish"], false);
    assert_eq!(row(1_600)["turn"]["asked_to_finish"], true);
    at(1_600, &["task", "list"]).says("asked to finish").ok();
    at(1_719, &["take", "A"]).fails_with(6);
    assert_eq!(row(1_720)["turn"]["over"], true);
    at(1_720, &["take", "A"]).ok();
    assert_eq!(row(1_721)["failures"], 1);
    // The second attempt is the last: a person says whether there is one more.
    let out = at(2_440, &["--json", "take", "A"]).fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "task_cap_reached");
    at(2_440, &["take"]).fails_with(6);
    at(
        2_440,
        &[
            "take",
            "A",
            "--take-over",
            "--reason",
            "it was nearly there",
        ],
    )
    .ok();
    assert_eq!(row(2_441)["failures"], 2);
}

/// Team A7: the words of the request choose the mode, and the reply says which.
#[test]
fn team_a7_the_request_chooses_the_mode_and_the_reply_names_the_words() {
    let s = planning(&[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    let chosen = |args: &[&str]| {
        let call = s
            .call(LOOPX)
            .args(&["--json", "pipeline", "start", "--dry-run"]);
        call.args(&["--param", "check=true"])
            .args(args)
            .run()
            .json()
    };
    let plan = chosen(&["--for", "a settings page and its API"]);
    assert_eq!(plan["pipeline"], "fullstack");
    assert_eq!(plan["chosen"]["front_end"], json!(["page"]));
    assert_eq!(plan["chosen"]["back_end"], json!(["api"]));
    let plan = chosen(&["--for", "build a performance monitor"]);
    assert_eq!(plan["pipeline"], "impl-only");
    // Where no word decides nothing is guessed.
    for (args, said) in [
        (&["--from-text", "say hello"][..], "full-lifecycle-fe"),
        (&["--team", "--for", "say hello"], "research"),
    ] {
        let args = [&["pipeline", "start", "--dry-run"], args].concat();
        let error = refuses(&s, 2, "pipeline_mode_open", &args);
        assert!(text(&error["message"]).contains(said), "{error}");
    }
    // A request that fits no mode goes along to the team that may fit it.
    let request = ["pipeline", "start", "--for", "survey the libraries"];
    let error = refuses(&s, 2, "pipeline_mode_open", &request);
    let help = text(&error["help"]);
    let team = "git loopx pipeline start --team --dry-run --for 'survey the libraries'";
    assert!(help.ends_with(team), "{help}");
    // Who names a mode gets that one.
    let plan = chosen(&["impl-only", "--for", "a settings page"]);
    assert_eq!(
        (&plan["pipeline"], &plan["chosen"]),
        (&json!("impl-only"), &json!(null))
    );
    assert!(
        plan["lines"][0]
            .as_str()
            .expect("a line")
            .contains("Plan: a settings page")
    );
}

#[test]
fn a_parameter_that_the_pipeline_does_not_have_is_not_hinted_again() {
    let s = planning(&[]);
    let start = ["pipeline", "start", "sprint", "--param", "nope=1"];
    let error = refuses(&s, 2, "pipeline_param", &start);
    let help = text(&error["help"]);
    assert!(
        help.contains("check=VALUE") && !help.contains("nope"),
        "{help}"
    );
}

#[test]
fn the_place_of_a_value_is_none() {
    let s = planning(&[]);
    for more in [&[][..], &["--dry-run"][..]] {
        let start = [
            &["pipeline", "start", "sprint", "--param", "check=VALUE"],
            more,
        ]
        .concat();
        let error = refuses(&s, 2, "pipeline_param", &start);
        let said = text(&error["message"]);
        assert!(said.starts_with("expected a value of `check`"), "{said}");
        assert!(text(&error["help"]).contains("check=VALUE"), "{error:#}");
    }
}

#[test]
fn what_a_start_adds_is_counted_with_its_gates() {
    let s = planning(&[]);
    let start = ["pipeline", "start", "sprint", "--param", "check=true"];
    s.loopx(&start)
        .says("4 tasks of sprint added, with 2 gates")
        .ok();
    let s = planning(&[]);
    let plan = s.loopx(&[&start[..], &["--json"]].concat()).json();
    assert_eq!((&plan["tasks"], &plan["gates"]), (&json!(4), &json!(2)));
    assert_eq!(plan["ids"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_value_that_is_too_long_for_a_list_is_refused() {
    let s = planning(&[]);
    let check = format!("check=true {}", "x".repeat(100_000));
    s.loopx(&["pipeline", "start", "impl-only", "--param", &check])
        .fails_with(2)
        .says("expected at most 8192 bytes for the parameter `check`, found 100005");
}

/// The text of `-m` stands in the brief there.
#[test]
fn a_pipeline_of_a_quick_session_is_about_its_request() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    let request = "fix the timeout of idle logins";
    s.loopx(&["start", "--profile", "quick", "x1", "-m", request])
        .ok();
    let args = [
        "pipeline",
        "start",
        "patch",
        "--param",
        "check=true",
        "--dry-run",
    ];
    s.loopx(&args).says(&format!("Make it: {request}"));
    // A word of it decides, too.
    let args = [
        "pipeline",
        "start",
        "--sprint",
        "--param",
        "check=true",
        "--dry-run",
    ];
    s.loopx(&args).says("fix").ok();
}
