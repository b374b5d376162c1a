//! History of the project, as the archives say.

use crate::support::changes::{adding, signing_in};
use crate::support::{LOOPX, Sandbox};
use serde_json::Value;

/// `fix-the-key` (March) changed the domain demo, `add-fruit` (January) the new domain fruit.
fn done() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::with_spec();
        let fruit =
            adding("Apples").replace("Domain: demo", "Domain: fruit\n\n## Purpose\n\nFruit.");
        for (id, delta) in [
            ("add-fruit", fruit),
            ("fix-the-key", signing_in("The system SHALL ask for a key.")),
        ] {
            s.plan(id, &delta);
            s.finish(id);
            s.git(&["switch", "--quiet", "main"]).ok();
            let month = if id == "add-fruit" { "01" } else { "03" };
            let at = format!("2027-{month}-02T00:00:00Z");
            s.call(crate::support::LOOPX)
                .args(&["-s", id, "archive", "--onto", "main"])
                .env("GIT_COMMITTER_DATE", &at)
                .env("GIT_AUTHOR_DATE", &at)
                .run()
                .ok();
        }
        s
    })
}

fn groups(document: &Value) -> Vec<(String, Vec<String>)> {
    let groups = document["groups"].as_array().expect("groups").iter();
    groups
        .map(|group| {
            let sessions = group["sessions"].as_array().expect("sessions").iter();
            let sessions = sessions.map(|id| id.as_str().expect("an id").to_owned());
            let name = group["name"].as_str().unwrap_or("-").to_owned();
            (name, sessions.collect())
        })
        .collect()
}

fn by(s: &Sandbox, what: &str) -> Vec<(String, Vec<String>)> {
    groups(&s.document(0, &["history", "--by", what]))
}

fn group(name: &str, ids: &[&str]) -> (String, Vec<String>) {
    let ids = ids.iter().map(|id| (*id).to_owned());
    (name.to_owned(), ids.collect())
}

#[test]
fn archives_are_put_together_by_month_domain_person_and_kind() {
    let s = done();
    s.plan("still-open", &adding("Pears"));
    let wanted = [
        group("2027-03", &["fix-the-key"]),
        group("2027-01", &["add-fruit"]),
    ];
    assert_eq!(by(&s, "month"), wanted);
    let wanted = [
        group("demo", &["fix-the-key"]),
        group("fruit", &["add-fruit"]),
    ];
    assert_eq!(by(&s, "domain"), wanted);
    let wanted = [
        group("bugfix", &["fix-the-key"]),
        group("feature", &["add-fruit"]),
    ];
    assert_eq!(by(&s, "kind"), wanted);
    let people = by(&s, "person");
    assert!(
        people.contains(&group("Ada Author", &["fix-the-key", "add-fruit"])),
        "{people:?}"
    );
    let text = s.loopx(&["history"]).ok();
    for part in ["2027-03  1 session", "bugfix", "add-fruit", "Ada Author"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains("still-open"), "{text}");
}

#[test]
fn files_are_those_of_the_range_that_was_reviewed() {
    let s = done();
    let found = s.document(0, &["history", "--by", "file"]);
    for one in found["sessions"].as_array().expect("sessions") {
        let files = one["files"].as_array().expect("files");
        assert!(!files.is_empty(), "{one}");
        let first = files[0].as_str().expect("a path");
        let has = s.document(0, &["history", "--path", first]);
        assert!(
            groups(&has)
                .iter()
                .any(|(_, ids)| ids.iter().any(|id| one["session"] == id.as_str()))
        );
    }
    let none = s.document(0, &["history", "--path", "no/such/folder"]);
    assert_eq!(none["sessions"], serde_json::json!([]));
    assert_eq!(none["left_out"], 2);
}

#[test]
fn filters_compose_and_what_is_no_month_is_refused() {
    let s = done();
    for (args, wanted) in [
        (&["history", "--month", "2027"][..], 2),
        (&["history", "--month", "2027-01"], 1),
        (&["history", "--month", "2026"], 0),
        (&["history", "--domain", "fruit", "--kind", "feature"], 1),
        (&["history", "--domain", "fruit", "--kind", "bugfix"], 0),
        (&["history", "--person", "ADA@"], 2),
        (&["history", "KEY"], 1),
    ] {
        let found = s.document(0, args);
        let count = found["sessions"].as_array().map(Vec::len);
        assert_eq!(count, Some(wanted), "{args:?}: {found}");
    }
    for month in ["January", "2027-1", "27"] {
        let refused = s.error(2, &["history", "--month", month]);
        assert_eq!(refused["code"], "date_invalid");
    }
}

#[test]
fn a_path_is_named_from_the_folder_that_somebody_is_in() {
    let s = done();
    for (folder, path, wanted) in [
        ("", "src/demo.txt", 2),
        ("src", "demo.txt", 2),
        ("src", ".", 2),
        ("specs", "../src/demo.txt", 2),
        ("specs", "demo.txt", 0),
    ] {
        let out = s
            .call(LOOPX)
            .cwd(folder)
            .args(&["--json", "history", "--path", path])
            .run();
        let count = out.json()["sessions"].as_array().map(Vec::len);
        assert_eq!(count, Some(wanted), "{folder}: {path}");
    }
}

#[test]
fn what_ended_in_another_tool_is_shown_as_imported() {
    let s = done();
    s.write(
        ".workflow/archives/WFS-old/workflow-session.json",
        r#"{"session_id": "WFS-old", "status": "completed", "description": "Old notes", "created_at": "2025-12-30T10:00:00Z"}"#,
    );
    s.write(".workflow/archives/WFS-old/IMPL_PLAN.md", "# Plan\n");
    s.loopx(&["import", "ccw"]).ok();
    let text = s.loopx(&["history", "notes"]).ok();
    assert!(text.contains("imported"), "{text}");
    assert!(
        !s.loopx(&["history", "fruit"]).ok().contains("imported"),
        "{text}"
    );
}

/// A view cannot be stale: what is taken back is shown so at once, and what is opened again is no archive.
#[test]
fn what_was_taken_back_or_opened_again_is_shown_so() {
    let s = done();
    s.loopx(&["archive", "--undo", "add-fruit"]).ok();
    let text = s.loopx(&["history", "--domain", "fruit"]).ok();
    assert!(text.contains("taken back on main"), "{text}");
    s.loopx(&["reopen", "fix-the-key", "--reason", "a comment"])
        .ok();
    let wanted = [group("2027-01", &["add-fruit"])];
    assert_eq!(by(&s, "month"), wanted);
}

#[test]
fn a_project_without_an_archive_says_so() {
    let s = Sandbox::with_spec();
    s.loopx(&["history"]).says("nothing was archived yet").ok();
    s.plan("one", &adding("Pears"));
    s.loopx(&["history"]).says("nothing was archived yet").ok();
}
