//! Sessions that depend on others: they are archived after them, and not before.

use crate::support::Sandbox;
use crate::support::changes::{ACCEPTED, adding};

/// Sessions that are done, each on a branch of its name; `main` is checked out.
fn done(sessions: &[(&str, String)]) -> Sandbox {
    let s = Sandbox::with_spec();
    for (id, delta) in sessions {
        s.plan(id, delta);
        s.finish(id);
    }
    s.git(&["switch", "--quiet", "main"]).ok();
    s
}

fn after(id: &str, delta: &str) -> String {
    format!("---\ndepends_on: [{id}]\n---\n{delta}")
}

#[test]
fn a_session_waits_for_the_one_that_it_depends_on() {
    let s = done(&[
        ("one", adding("Apples")),
        ("two", after("one", &adding("Pears"))),
    ]);
    let shown = s.document(0, &["-s", "two", "change", "validate"]);
    assert_eq!(
        shown["sessions"][0]["waits_for"][0]["code"],
        "dependency_open"
    );
    s.document(1, &["-s", "two", "change", "validate", "--strict"]);
    let before = s.git(&["for-each-ref"]).ok();
    for dry in [&[][..], &["--dry-run"]] {
        let args = [&["-s", "two", "archive", "--onto", "main"], dry].concat();
        let failure = s.error(1, &args);
        assert_eq!(failure["code"], "archive_waits");
        assert_eq!(failure["blockers"][0]["code"], "dependency_open");
        assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    }
    for id in ["one", "two"] {
        s.document(0, &["-s", id, "archive", "--onto", "main"]);
    }
    let subjects = s.git(&["log", "-2", "--format=%s", "main"]).line();
    assert_eq!(subjects, "Archive two: two\nArchive one: one");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_was_abandoned_or_never_was_is_said_by_name() {
    let s = Sandbox::with_spec();
    s.git(&["switch", "--quiet", "--create", "one"]).ok();
    s.loopx(&["start", "one"]).ok();
    s.plan("two", &after("one", &adding("Pears")));
    s.finish("two");
    s.loopx(&["-s", "one", "abandon", "--reason", "not wanted"])
        .ok();
    let failure = s.error(1, &["-s", "two", "archive", "--onto", "main"]);
    assert_eq!(failure["code"], "archive_waits");
    assert_eq!(failure["blockers"][0]["code"], "dependency_abandoned");
    s.plan("three", &after("nobody", &adding("Plums")));
    for (id, code) in [
        ("two", "dependency_abandoned"),
        ("three", "dependency_unknown"),
    ] {
        let shown = s.document(1, &["-s", id, "change", "validate"]);
        let judged = &shown["sessions"][0];
        assert_eq!(judged["verdict"], "refused");
        assert_eq!(judged["blockers"][0]["code"], code);
        let shown = s.document(1, &["change", "validate", "--all"]);
        let all = shown["sessions"].as_array().expect("sessions");
        let judged = all.iter().find(|one| one["session"] == id).expect("it");
        assert_eq!(judged["blockers"][0]["code"], code);
    }
    // The gate of the plan says the same.
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    let failure = s.error(1, &["approve", "--to", "build"]);
    assert_eq!(failure["blockers"][0]["code"], "dependency_unknown");
}

#[test]
fn sessions_that_wait_for_each_other_are_told_before_the_build() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Apples"));
    s.plan("two", &after("one", &adding("Pears")));
    s.plan("three", &after("two", &adding("Plums")));
    s.document(0, &["change", "validate", "--all"]);
    s.git(&["switch", "--quiet", "one"]).ok();
    s.edit(
        "one",
        "change/spec-delta.md",
        &after("three", &adding("Apples")),
    );
    // As it is edited, and as it is saved.
    for save in [false, true] {
        if save {
            s.loopx(&["save"]).ok();
        }
        let shown = s.document(1, &["change", "validate"]);
        let blocker = &shown["sessions"][0]["blockers"][0];
        assert_eq!(blocker["code"], "dependency_cycle");
        let message = blocker["message"].as_str().expect("a message");
        assert!(
            message.ends_with(": one -> three -> two -> one"),
            "{message}"
        );
    }
    let shown = s.document(1, &["change", "validate", "--all"]);
    for one in shown["sessions"].as_array().expect("sessions") {
        assert_eq!(one["blockers"][0]["code"], "dependency_cycle", "{one}");
    }
    let said = s.loopx(&["change", "validate", "--all"]);
    assert!(said.stdout.contains("two -> one -> three -> two"), "{said}");
    // One that waits for itself.
    s.edit(
        "one",
        "change/spec-delta.md",
        &after("one", &adding("Apples")),
    );
    let shown = s.document(1, &["change", "validate"]);
    let message = shown["sessions"][0]["blockers"][0]["message"].as_str();
    assert!(message.expect("a message").ends_with(": one -> one"));
}

const APPLES: &str = "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Apples\n\
    The system SHALL have them, ripe.\n\n\
    #### Scenario: Asked\n- **WHEN** somebody asks for Apples\n- **THEN** it is there\n";

fn ripe() -> String {
    let block = "### Requirement: Apples\nThe system SHALL have them, ripe.\n\n#### Scenario: Asked\n\
        - **WHEN** somebody asks for Apples\n- **THEN** it is there\n";
    format!("{ACCEPTED}\n{block}")
}

#[test]
fn a_change_on_top_of_an_open_one_is_planned_and_built_before_that_is_archived_case_115() {
    // `two` stands on `one` by way of `between`, which touches something else.
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Apples"));
    s.plan("between", &after("one", &adding("Pears")));
    s.plan("two", APPLES);
    let shown = s.document(1, &["change", "validate"]);
    let blocker = &shown["sessions"][0]["blockers"][0];
    assert_eq!(blocker["code"], "missing_requirement");
    s.edit("two", "change/spec-delta.md", &after("between", APPLES));
    s.loopx(&["save"]).ok();
    let shown = s.document(0, &["change", "validate"]);
    assert_eq!(shown["sessions"][0]["verdict"], "clean");
    let waits = &shown["sessions"][0]["waits_for"][0];
    assert_eq!(waits["code"], "dependency_open");
    let diff = s.document(0, &["change", "diff"]);
    let shown = &diff["requirements"][0];
    assert!(
        shown["base"]
            .as_str()
            .expect("a base")
            .contains("SHALL have it.")
    );
    assert_eq!(shown["moved"], false);
    s.finish("two");
    let pairs = s.document(0, &["change", "overlap"])["overlaps"].take();
    assert_eq!(pairs[0]["sessions"], serde_json::json!(["one", "two"]));
    assert_eq!(pairs[0]["depends"], true);
    for id in ["one", "between"] {
        s.git(&["switch", "--quiet", id]).ok();
        s.finish(id);
    }
    s.git(&["switch", "--quiet", "main"]).ok();
    let failure = s.error(1, &["archive", "two", "--onto", "main"]);
    assert_eq!(failure["code"], "archive_waits");
    // What it was written against is on no branch yet, and stays.
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
    s.document(0, &["archive", "two", "between", "one", "--onto", "main"]);
    let pears = adding("Pears");
    let pears = &pears[pears.find("### ").expect("it")..];
    assert_eq!(s.read("specs/demo/spec.md"), format!("{}\n{pears}", ripe()));
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_a_dependency_changes_after_it_was_built_on_is_merged_or_a_conflict() {
    for (line, code) in [
        ("- **WHEN** anybody asks for Apples", 0),
        ("The system SHALL have it, green.", 3),
    ] {
        let s = Sandbox::with_spec();
        s.plan("one", &adding("Apples"));
        s.plan("two", &after("one", APPLES));
        s.git(&["switch", "--quiet", "one"]).ok();
        let from = match code {
            0 => "- **WHEN** somebody asks for Apples",
            _ => "The system SHALL have it.",
        };
        let delta = adding("Apples").replace(from, line);
        s.edit("one", "change/spec-delta.md", &delta);
        s.loopx(&["save"]).ok();
        // Said before `two` is built on it.
        s.document(code, &["-s", "two", "change", "validate"]);
        let moved = s.document(0, &["-s", "two", "change", "diff"]);
        assert_eq!(moved["requirements"][0]["moved"], true);
        s.finish("one");
        s.git(&["switch", "--quiet", "two"]).ok();
        if code == 0 {
            s.finish("two");
            s.git(&["switch", "--quiet", "main"]).ok();
            s.document(0, &["archive", "two", "one", "--onto", "main"]);
            assert_eq!(s.read("specs/demo/spec.md"), ripe().replace(from, line));
            continue;
        }
        s.document(0, &["change", "refresh"]);
        s.document(0, &["change", "validate"]);
    }
}
