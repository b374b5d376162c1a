//! `note`: the second topic of the log. On the session that is meant, else in the journal; merged by union,
//! checked and taken by a server like every record, and part of no gate.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::store::{ID, assert_whole, begin, started, tamper_all};
use serde_json::Value;

fn notes(s: &Sandbox, args: &[&str]) -> Vec<Value> {
    let mut all = vec!["--json", "note", "list"];
    all.extend(args);
    let listed = s.loopx(&all).json();
    listed["notes"].as_array().expect("notes").clone()
}

#[test]
fn a_note_lies_on_the_session_that_is_meant_else_in_the_journal() {
    let s = started();
    s.git(&["switch", "--quiet", "-c", "elsewhere"]).ok();
    s.loopx(&["note", "nobody asked yet"]).says("journal").ok();
    s.loopx(&[
        "-s",
        ID,
        "note",
        "the cache is never cleared",
        "--kind",
        "risk",
    ])
    .says(ID)
    .ok();
    s.loopx(&[
        "-s",
        ID,
        "note",
        "look at the cache",
        "--kind",
        "message",
        "--to",
        "reviewer",
    ])
    .ok();
    s.loopx(&["-s", ID, "note", "for everybody", "--journal"])
        .ok();
    assert_eq!(notes(&s, &["--journal"]).len(), 2);
    assert_eq!(notes(&s, &["--all"]).len(), 4);
    let mine = s.loopx(&["-s", ID, "--json", "note", "list"]).json();
    assert_eq!(mine["notes"].as_array().map(Vec::len), Some(2));
    for (filter, expected) in [
        (&["--kind", "risk"][..], 1),
        (&["--to", "reviewer"], 4),
        (&["--to", "tester"], 3),
        (&["--by", "ada"], 4),
        (&["--by", "nobody"], 0),
        (&["--grep", "CACHE"], 2),
        (&["--grep", "cache", "--kind", "message"], 1),
    ] {
        let all = [&["--all"], filter].concat();
        assert_eq!(notes(&s, &all).len(), expected, "{filter:?}");
    }
    // git's own log is the query language here too.
    let risks = s
        .git(&["log", "--format=%s", "--grep", "Loopx-Note: risk", "loopx"])
        .ok();
    assert_eq!(
        risks.trim(),
        format!("{ID}: note (risk): the cache is never cleared")
    );
    assert_whole(&s);
}

#[test]
fn a_note_changes_nothing_but_the_log_and_is_not_taken_back() {
    let s = started();
    let stage = |s: &Sandbox| s.loopx(&["-s", ID, "--json", "status"]).json();
    let before = stage(&s);
    s.write(format!(".loopx/{ID}/spec.md"), "# Edited\n");
    s.loopx(&["-s", ID, "note", "in passing"]).ok();
    // Nobody's edits were saved for it.
    assert_eq!(s.read(format!(".loopx/{ID}/spec.md")), "# Edited\n");
    assert_eq!(stage(&s)["stage"], before["stage"]);
    s.loopx(&["-s", ID, "checkout", "--force"]).ok();
    s.loopx(&["-s", ID, "undo"]).fails_with(5);
    s.loopx(&["-s", ID, "log"])
        .says("note (learning): in passing")
        .ok();
}

#[test]
fn a_note_without_text_and_an_unknown_kind_are_refused() {
    let s = started();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    s.loopx(&["note"]).fails_with(2);
    s.loopx(&["note", "  "]).fails_with(2);
    s.loopx(&["note", "x", "--kind", "rumour"]).fails_with(2);
    let long = "x".repeat(70_000);
    s.loopx(&["note", &long]).fails_with(2);
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
}

#[test]
fn journals_of_clones_are_united_however_they_are_laid_out() {
    let all = Clones::sharing(2);
    for (at, count) in [(0, 70), (1, 45)] {
        for n in 0..count {
            let text = format!("{at}.{n}");
            all.loopx(at, &["note", &text, "--journal"]).ok();
        }
    }
    all.settle();
    all.assert_agreed();
    for at in [0, 1] {
        let listed = all
            .loopx(at, &["--json", "note", "list", "--journal"])
            .json();
        assert_eq!(listed["notes"].as_array().map(Vec::len), Some(115));
        all.loopx(at, &["fsck", "--full"]).says("all whole").ok();
    }
}

#[test]
fn a_record_of_the_journal_that_was_changed_is_found_and_put_back() {
    let s = Sandbox::new();
    begin(&s);
    for text in ["one", "two"] {
        s.loopx(&["note", text, "--journal"]).ok();
    }
    let list = s
        .git(&["ls-tree", "-r", "--name-only", "loopx", "journal/"])
        .ok();
    let path = list.lines().next().expect("a record").to_owned();
    let text = s.git(&["show", &format!("loopx:{path}")]).ok();
    let other = text.replace("one", "eno");
    assert_ne!(other, text);
    tamper_all(&s, &[(path, Some(other.into_bytes()))]);
    s.loopx(&["fsck"]).says("holds the operation").fails_with(1);
    s.loopx(&["note", "list", "--journal"]).fails_with(70);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(notes(&s, &["--journal"]).len(), 2);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}
