use super::{Format, Imported, Source, import};
use crate::task::file::{TaskFile, read};
use crate::task::node::{TaskId, Verification};

fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
        ..Source::default()
    }
}

/// The list, as it is read when it was taken in.
fn taken(source: &Source, format: Format) -> (TaskFile, Imported) {
    let found = import(source, None).expect("a list");
    assert_eq!(found.format, format);
    let file = read(&found.lines.join("\n")).expect("a list that can be read");
    (file, found)
}

fn needs(file: &TaskFile, id: &str) -> String {
    let node = file
        .node(&TaskId::parse(id).expect("an id"))
        .expect("the node");
    let ids: Vec<&str> = node
        .depends_on
        .iter()
        .map(|edge| edge.on.as_str())
        .collect();
    ids.join(" ")
}

fn manual(what: &str) -> Option<Verification> {
    Some(Verification::Manual(what.to_owned()))
}

fn cmd(words: &str) -> Option<Verification> {
    Some(Verification::Cmd(
        words.split(' ').map(str::to_owned).collect(),
    ))
}

#[test]
fn a_list_of_a_peer_keeps_every_field_and_its_bytes() {
    let line = r#"{"id":"TASK-001","title":"T","description":"D","depends_on":[],"convergence":{"criteria":["C"],"verification":"npm test","definition_of_done":"D"},"x": 1.50,"_execution":{"status":"completed"}}"#;
    let (file, found) = taken(&source("tasks.jsonl", line), Format::Jsonl);
    assert_eq!(
        found.lines[0],
        line.replace("\"npm test\"", "{\"manual\":\"npm test\"}")
    );
    assert_eq!(file.nodes[0].verification, manual("npm test"));
    assert_eq!(found.remarks.len(), 2, "{:?}", found.remarks);
    let line = line.replace("npm test", "cmd: npm test");
    assert_eq!(
        taken(&source("tasks.jsonl", &line), Format::Jsonl).0.nodes[0].verification,
        cmd("npm test")
    );
}

#[test]
fn a_plan_in_two_layers_is_taken_in_its_order() {
    let task = |id: &str, more: &str| {
        format!(
            "{{\n  \"id\": \"{id}\",\n  \"title\": \"a \\\" b\",\n  \"depends_on\": []{more}\n}}\n"
        )
    };
    let mut plan = source(
        "plan.json",
        r#"{"summary":"S","approach":"A","task_ids":["TASK-2","TASK-1"],"task_count":2,"_metadata":{}}"#,
    );
    plan.tasks.insert(
        "TASK-1.json".to_owned(),
        task(
            "TASK-1",
            ",\n \"acceptance\": [\"C\"], \"files\": [{\"path\": \"a.rs\", \"change\": \"x  y\"}]",
        ),
    );
    assert!(
        import(&plan, None)
            .expect_err("TASK-2 is missing")
            .message
            .contains("TASK-2.json")
    );
    plan.tasks
        .insert("TASK-2.json".to_owned(), task("TASK-2", ""));
    plan.tasks
        .insert("TASK-3.json".to_owned(), task("TASK-3", ""));
    let (file, found) = taken(&plan, Format::Plan);
    let ids: Vec<&str> = file.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["TASK-2", "TASK-1", "TASK-3"]);
    assert_eq!(file.nodes[1].criteria, ["C"]);
    assert!(found.lines[1].contains(r#""title":"a \" b""#) && found.lines[1].contains("x  y"));
    // TASK-3.
    assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
    assert_eq!(found.plan.as_ref(), Some(&plan.text));
}

#[test]
fn slices_of_every_age_are_tasks() {
    let text = r#"[{"id":"VS-1","type":"AFK","behaviour":"B","acceptance_criteria":["C"],"verification":["cargo","test"],"scenarios":["a/R/S"]},
        {"id":"VS-2","type":"HITL","title":"T","behavior":"B","acceptance_criteria":["C"],"verification_signal":"the page shows it","blocked_by":["VS-1"],"owner":"qa"}]"#;
    let (file, found) = taken(&source("slices.json", text), Format::Slices);
    assert_eq!(file.nodes[0].verification, cmd("cargo test"));
    assert_eq!(
        (
            file.nodes[0].title.as_str(),
            file.nodes[1].description.as_str()
        ),
        ("B", "B")
    );
    assert_eq!(file.nodes[1].verification, manual("the page shows it"));
    assert_eq!(needs(&file, "VS-2"), "VS-1");
    assert!(found.lines[1].contains("\"owner\":\"qa\""));
    // K16: who completes a slice is told by its check; the word for that stays.
    assert!(found.lines[0].contains("\"from_type\":\"AFK\""));
    assert!(found.lines[1].contains("\"from_type\":\"HITL\""));
    assert_eq!(found.remarks.len(), 2, "{:?}", found.remarks);
}

#[test]
fn check_boxes_are_tasks_whose_check_is_still_to_be_written() {
    let text =
        "## 1. Setup\n- [ ] 1.1 Create `x`\n- [x] 1.2 Test it\n\n## 2. More\n- [ ] no number\n";
    let (file, found) = taken(&source("tasks.md", text), Format::OpenSpec);
    let rows: Vec<(&str, &str)> = file
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node.title.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("1.1", "Create x"),
            ("1.2", "Test it"),
            ("TASK-001", "no number")
        ]
    );
    assert!(
        found.lines[0].contains("\"scope\":\"1. Setup\""),
        "{}",
        found.lines[0]
    );
    assert!(file.nodes.iter().all(|node| node.verification.is_none()));
    assert_eq!(found.remarks[0].task, "1.2");
}

#[test]
fn what_spec_kit_marks_as_parallel_waits_for_what_is_before_it_alone() {
    let text = "## Phase 1: Setup\n- [ ] T001 Create it\n- [ ] T002 [P] [US1] One in src/a.py\n- [ ] T003 [P] Other\n- [ ] T004 Then\n- [ ] T005 Last\n";
    let (file, _) = taken(&source("tasks.md", text), Format::SpecKit);
    let all: Vec<String> = ["T001", "T002", "T003", "T004", "T005"]
        .map(|id| needs(&file, id))
        .to_vec();
    assert_eq!(all, ["", "T001", "T001", "T002 T003", "T004"]);
    assert_eq!(file.nodes[1].title, "One in src/a.py");
}

#[test]
fn task_masters_subtasks_are_parts_of_their_task() {
    let one = r#"{"id":1,"title":"T","description":"D","details":"x","testStrategy":"Look","priority":"high","dependencies":[],"status":"done","subtasks":[{"id":1,"title":"S"},{"id":2,"title":"S2","dependencies":[1]}]},{"id":2,"title":"U","dependencies":[1],"status":"pending"}"#;
    let (file, found) = taken(
        &source(
            "tasks.json",
            &format!(r#"{{"master":{{"tasks":[{one}]}}}}"#),
        ),
        Format::TaskMaster,
    );
    assert_eq!([needs(&file, "1.2"), needs(&file, "2")], ["1.1", "1"]);
    assert_eq!(file.nodes[1].parent.as_ref().map(TaskId::as_str), Some("1"));
    assert_eq!(
        (file.nodes[0].priority, &file.nodes[0].verification),
        (1, &manual("Look"))
    );
    assert!(found.lines[0].contains("\"details\":\"x\""));
    assert_eq!(file.warnings, []);
    let two = format!(r#"{{"a":{{"tasks":[{one}]}},"b":{{"tasks":[{one}]}}}}"#);
    let (file, _) = taken(&source("tasks.json", &two), Format::TaskMaster);
    assert_eq!(needs(&file, "b.2"), "b.1");
}

#[test]
fn what_is_no_list_is_taken_in_by_nobody() {
    for (path, text, code) in [
        ("x.json", "{}", "import_format_unknown"),
        ("x.json", "[]", "task_list_empty"),
        ("x.json", "[{\"title\":\"T\"}]", "task_list_invalid"),
        ("x.jsonl", "{\"id\":\"A\"}\nnonsense", "task_list_invalid"),
        ("x.md", "# Nothing\n", "task_list_empty"),
    ] {
        assert_eq!(
            import(&source(path, text), None)
                .expect_err(path)
                .code
                .word(),
            code,
            "{text}"
        );
    }
}
