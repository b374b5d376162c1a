use super::{File, Format, Wishes, detect, read};
use crate::issue::KINDS;

fn wishes() -> Wishes {
    Wishes {
        map: Vec::new(),
        kinds: KINDS.iter().map(|kind| (*kind).to_owned()).collect(),
    }
}

const FORMATS: [Format; 5] = [
    Format::Loopx,
    Format::Beads,
    Format::Github,
    Format::Ccw,
    Format::Backlog,
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
        (r#"{"id":"x","title":"y"}"#, None),
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
