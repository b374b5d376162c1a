//! Sessions that depend on others: they are archived after them, and not before.

use crate::support::Sandbox;
use crate::support::changes::adding;

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
    let s = done(&[
        ("two", after("one", &adding("Pears"))),
        ("three", after("nobody", &adding("Plums"))),
    ]);
    s.git(&["switch", "--quiet", "--create", "one"]).ok();
    s.loopx(&["start", "one"]).ok();
    s.loopx(&["abandon", "--reason", "not wanted"]).ok();
    for (id, code) in [
        ("two", "dependency_abandoned"),
        ("three", "dependency_unknown"),
    ] {
        let failure = s.error(1, &["-s", id, "archive", "--onto", "main"]);
        assert_eq!(failure["code"], "archive_waits");
        assert_eq!(failure["blockers"][0]["code"], code);
    }
}
