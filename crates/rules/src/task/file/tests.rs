use super::edit::{self, Place};
use super::{Names, check, graph, merge, read, vague};
use crate::stage::Stage;
use crate::task::graph::{Graph, Now};
use crate::task::node::{NodeKind, TaskId, Verification};
use crate::task::status::Status;
use crate::task::world::UNSEEN;
use loopx_spec::{Finding, Severity};
use serde_json::{Value, json};

/// A line of a good task, with these fields in place of its own.
fn line(id: &str, over: Value) -> String {
    let mut task = json!({
        "id": id, "title": "T",
        "convergence": {"criteria": ["Login returns 401 for a bad password"], "verification": {"cmd": ["true"]}},
    });
    if let (Some(task), Value::Object(over)) = (task.as_object_mut(), over) {
        task.extend(over);
    }
    task.to_string()
}

fn ids(findings: &[Finding]) -> Vec<String> {
    let one = |finding: &Finding| format!("{}:{}", finding.line, finding.id);
    findings.iter().map(one).collect()
}

fn all(text: &str) -> Vec<Finding> {
    match read(text) {
        Ok(file) => check(&file, None),
        Err(findings) => findings,
    }
}

/// A field that is one of ours but for how it is spelt would count for nothing.
#[test]
fn a_field_that_is_misspelt_is_an_error_and_the_list_stays_readable() {
    for (fields, expected) in [
        (
            json!({"dependsOn": []}),
            "expected the field `depends_on`, found `dependsOn`",
        ),
        (
            json!({"Role": "x"}),
            "expected the field `role`, found `Role`",
        ),
        (
            json!({"time-limit": 3}),
            "expected the field `time_limit`, found `time-limit`",
        ),
        (
            json!({"doneWhen": "x"}),
            "expected the field `done_when`, found `doneWhen`",
        ),
    ] {
        let text = line("A", fields);
        assert!(read(&text).is_ok(), "{text}");
        let found = all(&text);
        let errors = found.iter().filter(|one| one.severity == Severity::Error);
        let said: Vec<String> = errors
            .map(|one| format!("{} {}", one.id, one.message))
            .collect();
        assert_eq!(said, [format!("task_field_misspelt A: {expected}")]);
    }
    let peers = line("A", json!({"complexity_score": 3, "notes": "x"}));
    assert_eq!(ids(&all(&peers)), ["1:task_field_unknown"; 2]);
}

#[test]
fn a_line_is_a_node_with_every_field() {
    let first = line("TASK-001", json!({}));
    let whole = line("TASK-000", json!({}));
    let full = line(
        "task.2",
        json!({
            "description": "D", "kind": "checkpoint", "type": "fix", "priority": "high", "role": "writer",
            "stage": "plan", "depends_on": [{"id": "task-001", "optional": true}], "parent": "TASK-000",
            "files": ["a.rs", {"path": "b.rs", "action": "create", "changes": ["x"], "conflict_risk": "low"}],
            "scenarios": ["a/R/S"], "reads": {"required": ["spec.md"], "deferred": ["x"]},
            "outputs": ["report.md"], "exclusive": ["db"], "parallel": false, "cap": 5, "time_limit": 60,
            "skill": "s", "args": {"a": 1}, "source": {"tool": "x"}, "_execution": {"status": "failed"},
        }),
    );
    let file = read(&format!("\u{feff}{first}\r\n\n{full}\n{whole}")).expect("a list");
    assert_eq!(file.warnings, []);
    let node = file
        .node(&TaskId::parse("TASK.2").expect("an id"))
        .expect("the node");
    assert_eq!(
        (node.line, node.kind, node.priority),
        (3, NodeKind::Checkpoint, 1)
    );
    assert_eq!(
        (node.cap, node.time_limit, node.parallel),
        (5, Some(60), false)
    );
    assert_eq!(node.stage.as_str(), "plan");
    assert!(node.depends_on[0].optional);
    assert_eq!(file.before(1).collect::<Vec<_>>(), [0]);
    assert_eq!(node.files[1].action.as_deref(), Some("create"));
    assert_eq!(node.reads, ["spec.md"]);
    assert_eq!(node.outputs, ["report.md"]);
    assert_eq!(file.nodes[0].priority, 2);
}

/// A list that somebody pushed costs no more than its lines, however deep it is.
#[test]
fn parts_stand_in_a_bounded_depth() {
    for (count, expected) in [
        (51, vec![]),
        (52, vec!["52:task_parts_deep"]),
        (20_000, vec!["52:task_parts_deep"]),
    ] {
        let line_of = |at: usize| match at {
            0 => line("T0", json!({})),
            at => line(&format!("T{at}"), json!({"parent": format!("T{}", at - 1)})),
        };
        let lines: Vec<String> = (0..count).map(line_of).collect();
        let found = read(&lines.join("\n")).err().unwrap_or_default();
        assert_eq!(ids(&found), expected, "{count}");
    }
}

#[test]
fn i2_i3_i6_each_fault_is_named_with_its_line() {
    for (tasks, wanted) in [
        (
            vec!["nonsense".to_owned(), "[]".to_owned()],
            vec!["1:task_line_invalid", "2:task_line_invalid"],
        ),
        (
            vec![r#"{"title":"T"}"#.to_owned()],
            vec!["1:task_field_missing"],
        ),
        (vec![line("-x", json!({}))], vec!["1:task_id_invalid"]),
        (
            vec![line("A", json!({"title": " "}))],
            vec!["1:task_field_missing"],
        ),
        (
            vec![line("A", json!({"title": 3}))],
            vec!["1:task_field_type"],
        ),
        // I2
        (
            vec![line("A", json!({})), line("a", json!({}))],
            vec!["2:task_id_repeated"],
        ),
        // I3
        (
            vec![
                line("A", json!({"depends_on": ["B"]})),
                line("B", json!({})),
            ],
            vec![],
        ),
        (
            vec![line("A", json!({"depends_on": ["TASK-999"]}))],
            vec!["1:task_dependency_unknown"],
        ),
        (
            vec![line("A", json!({"depends_on": ["A"]}))],
            vec!["1:task_cycle"],
        ),
        (
            vec![line("A", json!({"depends_on": "B"}))],
            vec!["1:task_field_type"],
        ),
        (
            vec![line("A", json!({"parent": "A"}))],
            vec!["1:task_cycle"],
        ),
        // A whole waits for its parts, and a part for what its whole waits for.
        (
            vec![
                line("A", json!({})),
                line("B", json!({"parent": "A", "depends_on": ["A"]})),
            ],
            vec!["1:task_cycle"],
        ),
        (
            vec![
                line("A", json!({})),
                line("B", json!({"depends_on": ["A"]})),
                line("C", json!({"parent": "A", "depends_on": ["B"]})),
            ],
            vec!["1:task_cycle"],
        ),
        (
            vec![
                line("A", json!({"depends_on": ["B"]})),
                line("B", json!({"parent": "A"})),
                line("C", json!({"parent": "A", "depends_on": ["B"]})),
            ],
            vec![],
        ),
        // I6
        (
            vec![line(
                "A",
                json!({"files": ["../x", "/etc/passwd", ".git/hooks/pre-commit"]}),
            )],
            vec!["1:task_path_outside"; 3],
        ),
        (
            vec![line("A", json!({"exclusive": ["", " ", "x\ny", "db"]}))],
            vec!["1:task_field_type"; 3],
        ),
        (
            vec![line("A", json!({"outputs": ["../x"]}))],
            vec!["1:task_path_outside"],
        ),
        (
            vec![line("A", json!({"kind": "wrk"}))],
            vec!["1:task_word_unknown"],
        ),
        (
            vec![line("A", json!({"priority": 99}))],
            vec!["1:task_word_unknown"],
        ),
        (
            vec![line("A", json!({"stage": "later"}))],
            vec!["1:task_word_unknown"],
        ),
        (
            vec![line("A", json!({"type": "fixx", "effort": "huge"}))],
            vec!["1:task_word_unknown"; 2],
        ),
        (
            vec![line("A", json!({"cap": 0}))],
            vec!["1:task_field_type"],
        ),
        (
            vec![line("A", json!({})).replacen("{", "{\"id\":\"B\",", 1)],
            vec!["1:task_field_repeated"],
        ),
        (
            vec![line("A", json!({"dependson": []}))],
            vec!["1:task_field_misspelt"],
        ),
        (
            vec![line("A", json!({"verification": "x"}))],
            vec!["1:task_field_unknown"],
        ),
        (
            vec![line("A", json!({"convergence": null}))],
            vec!["1:task_criteria_missing", "1:task_check_missing"],
        ),
        (
            vec![line("A", json!({"kind": "decision", "convergence": null}))],
            vec![],
        ),
    ] {
        let text = tasks.join("\n");
        assert_eq!(ids(&all(&text)), wanted, "{text}");
    }
}

#[test]
fn a_cycle_is_printed_and_so_is_each_other_one() {
    let on = |id: &str, other: &str| line(id, json!({"depends_on": [other]}));
    let text = [
        on("A", "B"),
        on("B", "A"),
        on("C", "D"),
        on("D", "E"),
        on("E", "C"),
    ]
    .join("\n");
    let said: Vec<String> = all(&text).into_iter().map(|one| one.message).collect();
    assert_eq!(
        said,
        [
            "tasks depend on each other: A -> B -> A",
            "tasks depend on each other: C -> D -> E -> C"
        ]
    );
    // A chain as long as a list may be does not end the program.
    let long: Vec<String> = (0..20_000)
        .map(|n| on(&format!("T{n}"), &format!("T{}", (n + 1) % 20_000)))
        .collect();
    assert_eq!(ids(&all(&long.join("\n"))), ["1:task_cycle"]);
}

#[test]
fn i5_a_criterion_says_what_can_be_tested() {
    let with = |criteria: Value| {
        all(&line(
            "A",
            json!({"convergence": {"criteria": criteria, "verification": {"cmd": ["true"]}}}),
        ))
    };
    for text in [
        "works",
        "It works fine",
        "正常",
        "",
        "It is done.",
        "Login works",
    ] {
        assert_eq!(
            ids(&with(json!([text]))),
            ["1:task_criterion_vague"],
            "{text}"
        );
    }
    for text in [
        "Login returns 401 for a bad password",
        "refined list",
        "idle_minutes is 10",
        "Undo works after a restart of the server",
        "C",
    ] {
        assert_eq!(vague(text), None, "{text}");
    }
    assert_eq!(ids(&with(json!([]))), ["1:task_criteria_missing"]);
    assert_eq!(
        ids(&with(json!(["a", "b", "c", "d", "e", "f"]))),
        ["1:task_criteria_many"]
    );
}

#[test]
fn i5_a_check_is_a_command_or_something_to_look_at() {
    let task = |verification: &Value| {
        line(
            "A",
            json!({"convergence": {"criteria": ["C"], "verification": verification}}),
        )
    };
    for (verification, wanted) in [
        (json!("ok"), "1:task_field_type"),
        (json!("make sure it works"), "1:task_field_type"),
        (json!("npm test"), "1:task_field_type"),
        (json!("cmd: npm test && rm -rf x"), "1:task_field_type"),
        (json!({"cmd": ["true"], "manual": "x"}), "1:task_field_type"),
        (json!({"cmd": []}), "1:task_check_missing"),
        (
            json!({"manual": "make sure it works"}),
            "1:task_check_vague",
        ),
    ] {
        assert_eq!(ids(&all(&task(&verification))), [wanted], "{verification}");
    }
    let argv =
        |words: &[&str]| Verification::Cmd(words.iter().map(|word| (*word).to_owned()).collect());
    for (verification, wanted) in [
        (
            json!("cmd: python -m pytest -q"),
            argv(&["python", "-m", "pytest", "-q"]),
        ),
        (json!("cmd: ./run.sh"), argv(&["./run.sh"])),
        (
            json!({"cmd": ["sh", "-c", "a | b"]}),
            argv(&["sh", "-c", "a | b"]),
        ),
        (
            json!("manual: screen reader check by QA"),
            Verification::Manual("screen reader check by QA".to_owned()),
        ),
    ] {
        let file = read(&task(&verification)).expect("a list");
        assert_eq!(file.nodes[0].verification.as_ref(), Some(&wanted));
        assert_eq!(check(&file, None), []);
    }
}

#[test]
fn a_definition_of_done_that_speaks_of_tools_is_a_warning() {
    let done = |text: &str| {
        all(&line(
            "A",
            json!({"convergence": {"criteria": ["C"], "verification": {"cmd": ["x"]}, "definition_of_done": text}}),
        ))
    };
    let found = done("The project builds and eslint is happy");
    assert_eq!(ids(&found), ["1:task_done_technical"]);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(done("People see who rebuilt the linting page"), []);
}

#[test]
fn two_tasks_that_touch_a_file_stand_in_a_row_or_are_named() {
    let touch = |id: &str, over: Value| {
        let mut over = over;
        over["files"] = json!(["src/a.rs"]);
        line(id, over)
    };
    for (tasks, wanted) in [
        (
            [touch("A", json!({})), touch("B", json!({}))],
            vec!["2:task_files_overlap"],
        ),
        (
            [
                touch("A", json!({})),
                touch("B", json!({"depends_on": ["A"]})),
            ],
            vec![],
        ),
        (
            [
                touch("A", json!({"depends_on": ["B"]})),
                touch("B", json!({})),
            ],
            vec![],
        ),
        (
            [
                touch("A", json!({"parallel": false})),
                touch("B", json!({})),
            ],
            vec![],
        ),
        (
            [
                touch("A", json!({"exclusive": ["x"]})),
                touch("B", json!({"exclusive": ["x"]})),
            ],
            vec![],
        ),
    ] {
        assert_eq!(ids(&all(&tasks.join("\n"))), wanted);
    }
}

#[test]
fn i6_what_is_done_to_a_file_fits_what_is_there() {
    let with = |id: &str, path: &str, action: &str, on: &[&str]| {
        line(
            id,
            json!({"files": [{"path": path, "action": action}], "depends_on": on}),
        )
    };
    let text = [
        with("A", "new.rs", "create", &[]),
        with("B", "new.rs", "modify", &["A"]),
        with("C", "gone.rs", "modify", &[]),
        with("D", "old.rs", "create", &[]),
        with("E", "old.rs", "modify", &["D"]),
    ];
    let file = read(&text.join("\n")).expect("a list");
    let found = check(&file, Some(&|path| path == "old.rs"));
    assert_eq!(ids(&found), ["3:task_file_missing", "4:task_file_exists"]);
}

const NAMES: Names<'_> = Names {
    base: "base",
    ours: "ours",
    theirs: "theirs",
};

/// Merges, and merges the other way round: both sides get the same tasks.
fn merged(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<(String, String)>> {
    let [one, other] = [(ours, theirs), (theirs, ours)].map(|(ours, theirs)| {
        let merged = merge(base, ours, theirs, NAMES).expect("three lists");
        if merged.clashes.is_empty() {
            Ok(merged.text)
        } else {
            Err(merged
                .clashes
                .into_iter()
                .map(|one| (one.task, one.field))
                .collect())
        }
    });
    let nodes = |text: &String| {
        let mut nodes = read(text).expect("a list").nodes;
        nodes.iter_mut().for_each(|node| node.line = 0);
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        nodes
    };
    assert_eq!(one.as_ref().map(nodes), other.as_ref().map(nodes));
    one
}

#[test]
fn different_tasks_and_different_fields_of_one_merge_and_the_rest_keeps_its_bytes() {
    let base = "{\"id\": \"A\",  \"title\": \"T\", \"x\": 1.0}\n{\"id\":\"B\",\"title\":\"T\"}\n";
    let ours = base.replacen("\"T\"", "\"Mine\"", 1);
    // Another field of the same line, which has odd blanks.
    let theirs = base
        .replace("1.0", "1e3")
        .replace("}\n{", ", \"role\": \"qa\"}\n{");
    assert_eq!(
        merged(base, &ours, &theirs).expect("clean"),
        "{\"id\": \"A\",  \"title\": \"Mine\", \"x\": 1e3, \"role\": \"qa\"}\n{\"id\":\"B\",\"title\":\"T\"}\n"
    );
    // Lines beside each other, which a merge of lines would call a conflict.
    let theirs = base.replace("\"B\",\"title\":\"T\"", "\"B\",\"title\":\"Theirs\"");
    let both = merged(base, &ours, &theirs).expect("clean");
    assert!(both.contains("Mine") && both.contains("Theirs"), "{both}");
    // Each adds one at the end.
    let add = |id: &str| format!("{base}{}\n", line(id, json!({})));
    let both = merged(base, &add("C"), &add("D")).expect("clean");
    assert_eq!(read(&both).expect("a list").nodes.len(), 4);
    // One moves, the other edits; one removes what the other left alone.
    let turned = "{\"id\":\"B\",\"title\":\"T\"}\n{\"id\": \"A\",  \"title\": \"T\", \"x\": 1.0}\n";
    let both = merged(base, turned, &ours).expect("clean");
    assert!(
        both.starts_with("{\"id\":\"B\"") && both.contains("Mine"),
        "{both}"
    );
    let without = base.lines().next().expect("a line").to_owned() + "\n";
    assert_eq!(
        merged(base, &without, &ours)
            .expect("clean")
            .lines()
            .count(),
        1
    );
}

#[test]
fn one_field_in_two_ways_is_a_conflict_with_its_task_and_its_name() {
    let base = line("A", json!({}));
    let with = |criterion: &str, title: &str| {
        line(
            "A",
            json!({"title": title, "convergence": {"criteria": [criterion], "verification": {"cmd": ["true"]}}}),
        )
    };
    let clash = |task: &str, field: &str| Err(vec![(task.to_owned(), field.to_owned())]);
    let [ours, theirs] = [with("One is 1", "Mine"), with("Two is 2", "T")];
    assert_eq!(
        merged(&base, &ours, &theirs),
        clash("A", "convergence.criteria")
    );
    let shown = merge(&base, &ours, &theirs, NAMES).expect("lists").text;
    assert!(
        shown.contains("||||||| base (A: convergence.criteria)\n"),
        "{shown}"
    );
    // What they do not disagree on stands on both sides of the markers.
    assert_eq!(shown.matches("Mine").count(), 2, "{shown}");
    assert_eq!(merged(&base, "", &ours), clash("A", ""));
    assert_eq!(
        merged("", &ours, &with("One is 1", "Other")),
        clash("A", "title")
    );
    assert_eq!(merge(&base, "no list", &ours, NAMES), None);
    assert_eq!(merge(&base, &format!("{base}\n{base}"), &ours, NAMES), None);
}

#[test]
fn an_edit_leaves_every_other_byte_alone() {
    let text =
        "{ \"id\":\"A\" , \"title\":\"T\",\"x\":1.50 }\r\n\r\n{\"id\":\"B\",\"title\":\"T\"}";
    let file = read(text).expect("a list");
    let node = |id: &str| {
        file.node(&TaskId::parse(id).expect("an id"))
            .expect("a node")
    };
    let set = |id: &str, field: &'static str, value: Option<Value>| {
        edit::set(text, node(id), &[edit::Change { field, value }]).expect("edited")
    };
    assert_eq!(
        set("A", "title", Some(json!("New"))),
        text.replacen("\"T\"", "\"New\"", 1)
    );
    assert_eq!(set("A", "x", None), text.replace(",\"x\":1.50", ""));
    assert_eq!(
        set("A", "id", None),
        text.replacen("\"id\":\"A\" , ", "", 1)
    );
    assert_eq!(
        set("B", "convergence.criteria", Some(json!(["C"]))),
        text.replace("\"T\"}", "\"T\",\"convergence\":{\"criteria\":[\"C\"]}}")
    );
    let id = |text: &str| TaskId::parse(text).expect("an id");
    let place = |place: Place| edit::add(text, &file, "{\"id\":\"C\"}", &place);
    assert_eq!(place(Place::End), format!("{text}\r\n{{\"id\":\"C\"}}\r\n"));
    assert!(place(Place::First).starts_with("{\"id\":\"C\"}\r\n{ \"id\":\"A\""));
    assert!(place(Place::After(id("a"))).contains("1.50 }\r\n{\"id\":\"C\"}\r\n"));
    let moved = edit::relocate(text, &file, node("B"), &Place::Before(id("A")));
    assert_eq!(
        moved,
        "{\"id\":\"B\",\"title\":\"T\"}\r\n{ \"id\":\"A\" , \"title\":\"T\",\"x\":1.50 }"
    );
}

/// A gate, with these fields in place of its own.
fn gate(over: Value) -> String {
    let repair = json!([{"id": "mend", "title": "Mend it"}, {"id": "check", "title": "Check it", "depends_on": ["mend"]}]);
    let mut gate = json!({"judges": ["A"], "repair": repair});
    if let (Some(gate), Value::Object(over)) = (gate.as_object_mut(), over) {
        gate.extend(over);
    }
    let gate =
        json!({"id": "GATE", "title": "T", "kind": "decision", "stage": "review", "gate": gate});
    format!("{}\n{gate}", line("A", json!({})))
}

#[test]
fn a_gate_waits_for_what_it_judges_and_its_repair_belongs_to_its_stage() {
    let rubric = json!({"scale": 10, "dimensions": [{"name": "code", "weight": 2.5, "minimum": 5}], "pass": 8, "warn": 6, "critical": 1});
    let file = read(&gate(
        json!({"rubric": rubric, "cap": 2, "at_cap": "accept"}),
    ))
    .expect("a list");
    assert_eq!(file.warnings, []);
    let node = &file.nodes[1];
    let gate = node.gate.as_ref().expect("a gate");
    assert_eq!(node.depends_on[0].on.as_str(), "A");
    assert_eq!((gate.cap, gate.rubric.critical), (2, 1));
    assert_eq!(gate.rubric.pass.to_string(), "8");
    let stages = gate.repair.iter().map(|node| node.stage.as_str());
    assert_eq!(stages.collect::<Vec<_>>(), ["review", "review"]);
    // A decision that says nothing of a gate judges what it waits for.
    let file = read(&format!(
        "{}\n{}",
        line("A", json!({})),
        line("D", json!({"kind": "decision", "depends_on": ["A"]}))
    ))
    .expect("a list");
    let gate = file.nodes[1].gate.as_ref().expect("a gate");
    assert_eq!((gate.judges[0].as_str(), gate.cap), ("A", 0));
}

#[test]
fn a_gate_that_nobody_could_decide_by_is_refused_with_its_line() {
    let long = "x".repeat(95);
    let table = [
        (
            json!({"judge": ["A"]}),
            "is not known; is `gate.judges` meant?",
        ),
        (json!({"judges": []}), "`gate.judges` is empty"),
        (
            json!({"judges": ["B"]}),
            "GATE judges `B`, which does not exist",
        ),
        (json!({"judges": ["GATE"]}), "each other: GATE -> GATE"),
        (json!({"repair": []}), "`gate.repair` is empty"),
        (
            json!({"repair": [{"id": "a", "title": "T", "depends_on": ["b"]}, {"id": "b", "title": "T", "depends_on": ["a"]}]}),
            "in `gate.repair`: tasks depend on each other",
        ),
        (
            json!({"repair": [{"id": "a", "title": "T", "depends_on": ["A"]}, {"id": "b", "title": "T", "depends_on": ["c"]}]}),
            "which does not exist",
        ),
        (
            json!({"repair": [{"id": "a", "title": "T"}, {"id": "A", "title": "T"}]}),
            "stands there twice",
        ),
        (
            json!({"repair": [{"id": long, "title": "T"}]}),
            "ids of 102 characters",
        ),
        (json!({"cap": 21}), "of at most 20, found 21"),
        (json!({"cap": 0}), "whole number from 1"),
        (json!({"cap": 1, "repair": null}), "`gate.repair` has none"),
        (json!({"at_cap": "accept"}), "from which score on"),
        (
            json!({"at_cap": "stop"}),
            "expected `gate.at_cap` to be one of",
        ),
        (json!({"final": true}), "`gate.views` names nobody"),
        (json!({"views": ["risk", "risk"]}), "names `risk` twice"),
        (json!({"views": ["a=b"]}), "expected names of letters"),
        (json!({"rubric": {"pass": 101}}), "the best score is 100"),
        (json!({"rubric": {"pass": -1}}), "as a number from 0"),
        (
            json!({"rubric": {"warn": 61}}),
            "above `gate.rubric.pass`, 60",
        ),
        (json!({"rubric": {"dimensions": []}}), "is empty"),
        (
            json!({"rubric": {"dimensions": [{"name": "code", "weight": 0}]}}),
            "has no weight",
        ),
        (
            json!({"rubric": {"dimensions": [{"name": "code", "weight": 1}, {"name": "code", "weight": 1}]}}),
            "names `code` twice",
        ),
        (
            json!({"rubric": {"dimensions": [{"name": "code", "weight": 1, "minimum": 101}]}}),
            "has to be 101",
        ),
    ];
    for (over, wanted) in table {
        let findings = read(&gate(over.clone())).expect_err("refused");
        assert!(
            findings
                .iter()
                .any(|one| one.line == 2 && one.message.contains(wanted)),
            "{over}: {findings:#?}"
        );
    }
    // What waits for the gate is not judged by it.
    let behind = format!(
        "{}\n{}",
        gate(json!({"judges": ["A", "B"]})),
        line("B", json!({"depends_on": ["GATE"]}))
    );
    let findings = read(&behind).expect_err("refused");
    assert!(findings[0].message.contains("each other"), "{findings:#?}");
    for taken in ["GATE.1", "gate.2.mend"] {
        let text = format!("{}\n{}", gate(json!({})), line(taken, json!({})));
        let findings = read(&text).expect_err("refused");
        assert_eq!(ids(&findings), ["3:task_gate_invalid"], "{taken}");
    }
    for free in ["GATE.x", "GATES.1"] {
        read(&format!("{}\n{}", gate(json!({})), line(free, json!({})))).expect("a list");
    }
    let misplaced = line("A", json!({"gate": {}}));
    assert_eq!(
        ids(&read(&misplaced).expect_err("refused")),
        ["1:task_gate_invalid"]
    );
}

#[test]
fn what_a_fix_inserts_is_judged_as_a_plan_too() {
    let findings = all(&gate(json!({})));
    assert_eq!(
        ids(&findings),
        [
            "2:task_criteria_missing",
            "2:task_check_missing",
            "2:task_criteria_missing",
            "2:task_check_missing"
        ]
    );
}

/// Commands read what their graph needs of a list of thousands, and the details of the nodes that they are about.
#[test]
fn what_is_ready_is_found_without_the_details_of_any_node() {
    let on = |n: usize| match n % 10 {
        0 => json!({"description": "D", "files": ["src/a.rs"]}),
        _ => json!({"depends_on": [format!("T-{}", n - 1)], "files": [{"path": "src/b.rs"}]}),
    };
    let lines = (0..1_000).map(|n| line(&format!("T-{n}"), on(n)));
    let text = lines.collect::<Vec<_>>().join("\n");
    let nodes = graph(text.as_str()).expect("a list").nodes;
    let read_ones = || nodes.iter().filter(|node| node.details.is_read()).count();
    let found = Graph::of(&nodes);
    let statuses = vec![Status::Pending; nodes.len()];
    let now = Now {
        statuses: &statuses,
        stage: Stage::Build,
        world: &UNSEEN,
        capacity: None,
    };
    let ready = found.ready(now);
    assert_eq!((ready.len(), read_ones()), (100, 0));
    assert_eq!(nodes[ready[1]].description, "D");
    assert_eq!(read_ones(), 1);
    assert_eq!(nodes, read(&text).expect("a list").nodes);
}
