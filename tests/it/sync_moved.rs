//! `sync` says whose session moved, and which way.

use crate::support::clones::Clones;
use crate::support::store::{ID, READY};

#[test]
fn u14_sync_says_in_one_line_whose_session_moved_and_how() {
    let mut all = Clones::sharing(2);
    let does = |all: &Clones, args: &[&str]| {
        all.loopx(1, &[&["-s", ID], args].concat()).ok();
    };
    all.put(1, "spec.md", READY).ok();
    for text in ["one", "two"] {
        does(&all, &["note", text]);
    }
    // Whoever sends is told of nothing that came.
    let sent = all.sync(1);
    assert!(!sent.stderr.contains("Person"), "{sent}");
    let line = "Person 1: auth-timeout  in clarify, 2 notes, 1 save";
    let dry = all.loopx(0, &["sync", "--dry-run"]);
    dry.says(&format!("{line} (not taken yet)\n")).ok();
    all.sync(0).says(&format!("{line}\n")).ok();

    for args in [
        &["clarify"][..],
        &["approve"],
        &["plan"],
        &["note", "three"],
    ] {
        does(&all, args);
    }
    all.sync(1).ok();
    // What was done here meanwhile is not said to have come.
    all.loopx(0, &["start", "--no-branch", "Other"]).ok();
    all.loopx(0, &["-s", ID, "note", "of mine"]).ok();
    let moved = all.loopx(0, &["--json", "sync"]).json()["moved"].take();
    let one = &moved[0];
    assert_eq!(moved.as_array().map(Vec::len), Some(1), "{moved:#}");
    assert_eq!(
        (&one["session"], &one["from"], &one["to"]),
        (&ID.into(), &"clarify".into(), &"plan".into())
    );
    assert_eq!(one["by"].as_array().map(Vec::len), Some(1), "{one:#}");
    assert_eq!(one["by"][0]["name"], "Person 1");
    let kinds = &one["kinds"];
    assert_eq!(
        (&kinds["noted"], &kinds["entered"], &kinds["approved"]),
        (&1.into(), &1.into(), &1.into())
    );
    all.sync(1)
        .says("Person 0: auth-timeout  in plan, 1 note\n")
        .says("Person 0: other  new, in clarify\n")
        .ok();

    // An end is one, and a clone that had nothing is told of no moves.
    does(&all, &["abandon", "--reason", "not wanted"]);
    all.sync(1).ok();
    all.sync(0)
        .says("Person 1: auth-timeout  plan -> abandoned\n")
        .ok();
    let fresh = all.add("fresh", &[]);
    let out = all.sync(fresh).says("taken from there");
    assert!(!out.stderr.contains("Person"), "{out}");
    all.settle();
    let again = all.loopx(0, &["--json", "sync"]).json();
    assert_eq!(again["moved"], serde_json::json!([]));
}
