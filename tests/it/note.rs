//! `note`: the second topic of the log. On the session that is meant, else in the journal; merged by union,
//! checked and taken by a server like every record, and part of no gate.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::forge::{file_name, record};
use crate::support::store::{ID, assert_whole, begin, started, tamper_all};
use serde_json::{Value, json};

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
fn a_text_that_looks_like_an_option_stands_behind_two_dashes() {
    let s = started();
    for text in ["-v is not documented", "--force is missing", "--", "list"] {
        s.loopx(&["note", "--kind", "risk", "--", text]).ok();
        let all = notes(&s, &[]);
        assert_eq!(all[all.len() - 1]["text"], text, "{all:#?}");
    }
    let refused = s.loopx(&["note", "--force is missing"]).fails_with(2);
    assert!(refused.stderr.contains("--"), "{refused}");
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

/// A damaged session hides no note of another.
#[test]
fn a_list_of_all_notes_names_what_is_damaged_and_lists_the_rest() {
    let s = started();
    s.loopx(&["start", "other", "--no-branch"]).ok();
    s.loopx(&["-s", ID, "note", "lost"]).ok();
    s.loopx(&["-s", "other", "note", "kept"]).ok();
    for text in ["torn", "whole"] {
        s.loopx(&["note", text, "--journal"]).ok();
    }
    let list = s.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    let named = |part: &str| {
        let mut lines = list.lines().filter(|line| line.contains(part));
        lines.next().expect("a record").to_owned()
    };
    let torn = [format!("/{ID}/ops/"), "journal/".to_owned()].map(|part| named(&part));
    tamper_all(&s, &torn.map(|path| (path, Some(b"{}".to_vec()))));
    let listed = s.loopx(&["--json", "note", "list", "--all"]);
    let listed = listed.says("is damaged").json();
    s.loopx(&["note", "list", "--all"])
        .says("git loopx fsck --repair")
        .ok();
    let texts: Vec<&Value> = listed["notes"]
        .as_array()
        .map(|notes| notes.iter().map(|note| &note["text"]).collect())
        .expect("notes");
    assert_eq!(texts.len(), 2, "{listed:#}");
    assert!(texts.contains(&&Value::from("kept")), "{listed:#}");
    let places = listed["damaged"].as_array().expect("places");
    assert_eq!(places.len(), 2, "{listed:#}");
    assert_eq!(places[0]["place"], ID);
}

#[test]
fn a_note_says_its_record_and_a_filter_without_a_hit_leads_to_the_whole_list() {
    let s = started();
    for place in [&["-s", ID][..], &["--journal"]] {
        let args = [&["--json", "note", "here"], place].concat();
        let noted = s.loopx(&args).json();
        let listed = notes(&s, place);
        assert_eq!(listed.last().expect("a note")["op"], noted["op"]);
    }
    s.loopx(&["note", "list", "--kind", "risk"])
        .says("no such note")
        .says("git loopx note list\n")
        .ok();
    s.loopx(&["note", "list", "--all", "--grep", "nothing like it"])
        .says("git loopx note list --all")
        .ok();
}

/// A journal has notes, and what a newer program writes there; no step of a session.
#[test]
fn a_record_of_a_session_in_a_journal_is_found() {
    let s = started();
    s.loopx(&["note", "one", "--journal"]).ok();
    let list = s.git(&["ls-tree", "-r", "--name-only", "loopx", "journal/"]);
    let path = list.ok().lines().next().expect("a record").to_owned();
    let (folder, _) = path.rsplit_once("/ops/").expect("a folder");
    let op = json!({
        "format": 2, "seq": 2, "entity": folder, "tx": "x", "at": "2027-01-01T00:00:00Z",
        "by": {"name": "Mallory", "email": "m@example.org"},
        "topic": "session", "kind": "saved", "weight": "opens", "needs": "0.2", "body": {},
    });
    let (name, bytes) = record(&op);
    let forged = format!("{folder}/ops/{}", file_name(&op, &name));
    tamper_all(&s, &[(forged, Some(bytes))]);
    s.loopx(&["fsck"])
        .says("of the topic `session`")
        .fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_eq!(notes(&s, &["--journal"]).len(), 1);
}
