use super::{File, Format, Wishes, detect, read};
use crate::issue::{KINDS, Status};

fn wishes() -> Wishes {
    Wishes {
        map: Vec::new(),
        kinds: KINDS.iter().map(|kind| (*kind).to_owned()).collect(),
        ..Wishes::default()
    }
}

const FORMATS: [Format; 10] = [
    Format::Loopx,
    Format::Beads,
    Format::Github,
    Format::Gitlab,
    Format::Ccw,
    Format::Backlog,
    Format::TaskMaster,
    Format::Taskwarrior,
    Format::Csv,
    Format::Markdown,
];

#[test]
fn a_format_is_told_by_what_only_it_has() {
    for (text, format) in [
        (
            r#"{"id":"bd-1","title":"x","issue_type":"bug"}"#,
            Some(Format::Beads),
        ),
        (
            r#"[{"number":1,"title":"x","state":"OPEN"}]"#,
            Some(Format::Github),
        ),
        (
            r#"{"id":"GH-1","title":"x","context":"","bound_solution_id":null}"#,
            Some(Format::Ccw),
        ),
        (
            r#"{"id":"lx-0123456789","title":"x","kind":"bug"}"#,
            Some(Format::Loopx),
        ),
        (
            r#"[{"iid":1,"title":"x","state":"opened","issue_type":"issue","web_url":"https://h/o/r/-/issues/1"}]"#,
            Some(Format::Gitlab),
        ),
        (
            "[\n{\"id\":1,\"description\":\"x\",\"entry\":\"20260101T000000Z\",\"uuid\":\"u\"}\n]",
            Some(Format::Taskwarrior),
        ),
        (
            r#"{"master":{"tasks":[{"id":1,"title":"x","subtasks":[]}]}}"#,
            Some(Format::TaskMaster),
        ),
        (
            "{\n\"tasks\": [{\"id\":1,\"title\":\"x\",\"details\":\"\"}]}",
            Some(Format::TaskMaster),
        ),
        ("Issue key,Summary,Status\nA-1,x,Done\n", Some(Format::Csv)),
        ("\u{feff}ID;Title;Priority\r\n", Some(Format::Csv)),
        ("# List\n\n- [ ] one\n", Some(Format::Markdown)),
        ("[all](all.md)\n* [x] one\n", Some(Format::Markdown)),
        (r#"{"id":"x","title":"y"}"#, None),
        (r#"{"tasks":[{"id":1,"title":"x"}]}"#, None),
        ("Title of it, and more\nx,y\n", None),
        ("---\nid: task-1\n---\n- [ ] one\n", None),
        ("### Phase 1: One\n- [ ] one\n", None),
        ("```\n- [ ] one\n```\n- one\n", None),
        ("[]", None),
        ("", None),
        ("not json", None),
    ] {
        assert_eq!(detect(text), format, "{text}");
    }
}

#[test]
fn whatever_is_cut_or_changed_is_a_finding_and_no_panic() {
    let texts = [
        r#"{"id":"a","title":"é","status":"open","priority":1,"issue_type":"bug","labels":["x"],"comments":[{"text":"t"}],"dependencies":[{"depends_on_id":"b","type":"blocks"}],"due_at":"2026-01-01"}"#,
        r#"[{"number":1,"url":"https://h/o/r/issues/1","title":"x","state":"CLOSED","stateReason":"COMPLETED","labels":[{"name":"é"}],"assignees":[{"login":"a"}],"parent":{"number":2},"blockedBy":{"nodes":[{"number":3}]}}]"#,
        r#"{"master":{"tasks":[{"id":1,"title":"é","status":"done","priority":"high","dependencies":[2],"testStrategy":"t","subtasks":[{"id":1,"title":"s","dependencies":["2"]}]}],"metadata":{"x":1}}}"#,
        r#"[{"id":1,"uuid":"u","description":"é","entry":"20260101T000000Z","status":"waiting","wait":"20260201T000000Z","depends":["v"],"annotations":[{"entry":"20260101T000000Z","description":"n"}],"urgency":1.5}]"#,
        r#"[{"iid":1,"web_url":"https://h/o/r/-/issues/1","title":"é","state":"closed","labels":["x"],"assignees":[{"username":"a"}],"time_stats":{"time_estimate":3600},"due_date":"2026-01-01"}]"#,
        "Issue key,Summary,Status,Parent id,Comment,Due date\nA-1,\"é\n\"\"x\"\"\",Done,10,\"1/Jan/26;b;c\",2026-01-01\n",
        "# é\n- [ ] one\n  text\n  - [x] two\n\n```\n- [ ] no\n```\n",
        "---\nid: task-1\ntitle: 'é'\nstatus: Done\nlabels: [a, b]\ndependencies: [2]\n---\n## Acceptance Criteria\n- [x] #1 é\n",
    ];
    for text in texts {
        let ends = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
        for at in ends {
            for changed in [
                text[..at].to_owned(),
                format!("{}\"{}", &text[..at], &text[at..]),
            ] {
                let file = File {
                    name: "a/tasks/task-1 - x.md".to_owned(),
                    text: changed,
                };
                for format in FORMATS {
                    let taken = read(format, std::slice::from_ref(&file), &wishes());
                    for item in &taken.items {
                        assert!(!item.plain.title.trim().is_empty());
                        assert!(item.plain.key.is_some());
                    }
                }
            }
        }
    }
}

fn file(name: &str, text: &str) -> File {
    File {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn boxes_come_in_their_order_with_their_text_and_their_parts() {
    let text = "# First\n\nIntro\n\n- [ ] one\n  more of it\n\n  ```\n  - [ ] no box\n  ```\n    - [x] part\n\t- [ ] other part\n- [X] two\n\n## Second\n\n1. [ ] no\n* [ ] one\n* [ ] one\n";
    let taken = read(Format::Markdown, &[file("a/b/todo.md", text)], &wishes());
    assert_eq!(taken.faults, []);
    let found: Vec<(&str, &str)> = (taken.items.iter())
        .map(|item| (item.at.as_str(), item.plain.key.as_deref().expect("a key")))
        .collect();
    assert_eq!(
        found,
        [
            ("a/b/todo.md:5", "todo.md one"),
            ("a/b/todo.md:11", "todo.md one > part"),
            ("a/b/todo.md:12", "todo.md one > other part"),
            ("a/b/todo.md:13", "todo.md two"),
            ("a/b/todo.md:18", "todo.md one (2)"),
            ("a/b/todo.md:19", "todo.md one (3)"),
        ]
    );
    let one = &taken.items[0].plain;
    assert_eq!(one.description, "more of it\n\n```\n- [ ] no box\n```");
    assert_eq!(taken.items[1].plain.links[0].to, "todo.md one");
    assert_eq!(taken.items[1].plain.status, Some(Status::Resolved));
    assert_eq!(taken.items[4].plain.kept["heading"], "Second");
    assert_eq!(taken.remarks[0].at, "a/b/todo.md:3");
    assert!(
        taken.remarks[0].message.starts_with("2 lines"),
        "{:?}",
        taken.remarks
    );
}

#[test]
fn ten_megabytes_of_one_thing_are_read_or_refused_without_a_panic() {
    let many = 10 << 20;
    let deep: String = (0..4_000)
        .map(|at| format!("{}- [ ] x\n", " ".repeat(at)))
        .collect();
    for (format, text) in [
        (Format::Markdown, deep),
        (Format::Markdown, format!("- [ ] {}", "x".repeat(many))),
        (
            Format::Csv,
            format!("Summary,Key\n\"{}", ",\n".repeat(many / 2)),
        ),
        (Format::Csv, format!("Summary{}\n", ",".repeat(many))),
        (Format::TaskMaster, "{\"a\":".repeat(many / 5)),
        (Format::Taskwarrior, "[".repeat(many)),
        (Format::Gitlab, format!("[{}]", "{},".repeat(many / 300))),
    ] {
        let taken = read(format, &[file("f", &text)], &wishes());
        for item in &taken.items {
            assert!(item.plain.title.chars().count() <= 300);
            assert!(item.plain.key.as_ref().is_some_and(|key| key.len() <= 200));
        }
    }
}

#[test]
fn deep_json_is_a_fault_with_its_place() {
    let deep = "{\"a\":".repeat(4_000);
    for format in [Format::TaskMaster, Format::Taskwarrior, Format::Gitlab] {
        let taken = read(format, &[file("f", &deep)], &wishes());
        assert!(taken.items.is_empty());
        assert!(taken.faults[0].at.starts_with("f:1"), "{:?}", taken.faults);
    }
}
