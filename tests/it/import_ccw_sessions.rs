//! `import ccw` of workflow sessions and of `project-tech.json`: five types, whole or not at all, and what has no
//! counterpart is named.

use crate::support::Sandbox;
use serde_json::{Value, json};

fn repository() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("README.md", "x\n", "one").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// A session with two tasks, the first of which was called done.
fn session(s: &Sandbox, folder: &str, kind: &Value) {
    let write = |path: &str, value: &Value| {
        s.write(format!(".workflow/{folder}/{path}"), value.to_string());
    };
    let mut state = json!({
        "session_id": folder, "status": "active", "description": "Notes that sync\n\nAll of them.",
        "created_at": "2025-12-30T10:00:00+08:00", "execution_mode": "auto",
    });
    if !kind.is_null() {
        state["type"] = kind.clone();
    }
    write("workflow-session.json", &state);
    let task =
        |id: &str, status: &str| json!({"id": id, "title": format!("Do {id}"), "status": status});
    write(".task/IMPL-001.json", &task("IMPL-001", "completed"));
    let mut second = task("IMPL-002", "pending");
    second["context"] = json!({"depends_on": ["IMPL-001"]});
    write(".task/IMPL-002.json", &second);
    s.write(format!(".workflow/{folder}/IMPL_PLAN.md"), "# Plan\n");
}

fn import(s: &Sandbox) -> Value {
    s.loopx(&["--json", "import", "ccw"]).json()
}

#[test]
fn a_file_that_no_session_may_keep_is_refused_and_nothing_is_imported() {
    let s = repository();
    session(&s, "active/WFS-one", &json!("workflow"));
    session(&s, "active/WFS-two", &json!("workflow"));
    let kept = ".workflow/active/WFS-two/.process/context-package.json";
    s.write(kept, format!("{{\"a\": \"{}\"}}", "x".repeat(1024 * 1024)));
    let before = s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let dry = s.loopx(&["import", "ccw", "--dry-run"]);
    dry.fails_with(1).says("at most 1048576 are taken");
    s.loopx(&["import", "ccw"])
        .fails_with(1)
        .says("context-package.json of active/WFS-two: 1048585 bytes");
    assert_eq!(s.git(&["rev-parse", "refs/heads/loopx"]).line(), before);
    s.commit_file("loopx.toml", "[artifacts]\nmax_bytes = 2000000\n", "more")
        .ok();
    s.loopx(&["import", "ccw"]).ok();
}

#[test]
fn a_session_of_each_type_becomes_a_session_with_its_tasks_and_a_second_time_adds_nothing() {
    let s = repository();
    let types = ["workflow", "review", "tdd", "test", "docs"];
    for kind in types {
        session(&s, &format!("active/WFS-{kind}"), &json!(kind));
    }
    s.write(".workflow/active/WFS-tdd/.archiving", "");
    session(&s, "archives/WFS-old", &Value::Null);
    let report = import(&s);
    let sessions = report["sessions"].as_array().expect("sessions");
    assert_eq!(sessions.len(), 6);
    for one in sessions {
        assert_eq!(
            (&one["tasks"], &one["title"]),
            (&json!(2), &json!("Notes that sync")),
            "{one}"
        );
        let is_old = one["folder"] == "archives/WFS-old";
        assert_eq!(one["archived"], is_old, "{one}");
        let said = one["remarks"].to_string();
        assert!(
            said.contains("1 of 2 tasks were called done there"),
            "{said}"
        );
        assert!(said.contains("execution_mode"), "{said}");
        assert_eq!(said.contains("names no type"), is_old, "{said}");
        assert_eq!(
            said.contains("not ended"),
            one["folder"] == "active/WFS-tdd",
            "{said}"
        );
    }
    assert_eq!(report["left"], json!([]));
    let listed = s
        .loopx(&["-s", "wfs-review", "--json", "task", "list"])
        .json();
    let tasks = listed["tasks"].as_array().expect("tasks");
    let status: Vec<&Value> = tasks.iter().map(|task| &task["status"]).collect();
    assert_eq!(status, ["pending", "pending"], "nothing counts as done");
    let kept = s
        .git(&["ls-tree", "-r", "--name-only", "refs/heads/loopx"])
        .ok();
    assert!(
        kept.contains("imported/active/WFS-review/IMPL_PLAN.md"),
        "{kept}"
    );
    let tip = || s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let before = tip();
    let again = import(&s);
    let already = again["sessions"].as_array().expect("sessions").iter();
    assert!(already.clone().all(|one| one["already"] == true), "{again}");
    assert_eq!(tip(), before);
}

#[test]
fn a_type_that_is_none_of_the_five_brings_nothing_and_is_named_with_them() {
    let s = repository();
    session(&s, "active/WFS-good", &json!("tdd"));
    session(&s, "active/WFS-bad", &json!("party"));
    let out = s.loopx(&["--json", "import", "ccw"]).fails_with(1);
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], "import_session_invalid");
    let said = error["message"].as_str().expect("a message");
    for word in [
        "active/WFS-bad/workflow-session.json",
        "workflow, review, tdd, test, docs",
        "party",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let listed = s.loopx(&["--json", "list", "--all"]).json();
    assert_eq!(listed["sessions"], json!([]));
}

#[test]
fn what_is_known_of_the_project_becomes_notes_once_and_what_has_no_counterpart_is_named() {
    let s = repository();
    let project = json!({
        "project_name": "notes",
        "overview": {
            "technology_stack": {"languages": [{"name": "Rust", "primary": true}]},
            "architecture": {"style": "one program", "patterns": ["ports and adapters"]},
            "key_components": [{"name": "store", "description": "keeps notes"}],
            "mood": "good",
        },
        "statistics": {"total_features": 1},
        "development_index": {
            "feature": [{"title": "Sync", "sub_feature": "merge", "date": "2025-12-30", "description": "By field",
                         "status": "completed", "session_id": "WFS-sync"}],
            "bugfix": [], "docs": [{"title": "Manual"}],
        },
        "_metadata": {"last_updated": "2025-12-30"},
    });
    s.write(".workflow/project-tech.json", project.to_string());
    let report = import(&s);
    assert_eq!(report["journal"], 5);
    let told: Vec<&str> = (report["remarks"].as_array().expect("remarks").iter())
        .map(|one| one["at"].as_str().expect("a place"))
        .collect();
    for place in [
        "overview.technology_stack",
        "overview.mood",
        "statistics",
        "_metadata",
        "project_name",
    ] {
        assert!(
            told.iter().any(|at| at.contains(place)),
            "{place}: {told:?}"
        );
    }
    let notes = s.loopx(&["note", "list", "--journal"]).ok();
    for text in [
        "Architecture: one program",
        "Architecture, a pattern: ports and adapters",
        "Key component: store: keeps notes",
        "Developed, feature: Sync / merge (2025-12-30), session WFS-sync",
        "Developed, docs: Manual",
    ] {
        assert!(notes.contains(text), "{text}: {notes}");
    }
    assert_eq!(import(&s)["journal"], 0);
    s.write(
        ".workflow/project-tech.json",
        r#"{"development_index":{"feature":[{"date":"x"}]}}"#,
    );
    s.loopx(&["import", "ccw"]).fails_with(1);
    s.write(".workflow/project-tech.json", "[]");
    s.loopx(&["import", "ccw"]).fails_with(1);
}
