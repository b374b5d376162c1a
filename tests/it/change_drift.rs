//! `spec drift`: edits by hand since the archives, and archives that are gone.

use crate::support::Sandbox;
use crate::support::changes::{adding, signing_in};

fn archived() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::with_spec();
        for (id, delta) in [
            ("one", signing_in("The system SHALL ask for a key.")),
            ("two", adding("Pears")),
        ] {
            s.plan(id, &delta);
            s.finish(id);
        }
        s.git(&["switch", "--quiet", "main"]).ok();
        for id in ["one", "two"] {
            s.loopx(&["-s", id, "archive", "--onto", "main"]).ok();
        }
        s
    })
}

#[test]
fn specs_as_they_were_archived_do_not_drift() {
    let s = archived();
    let found = s.document(0, &["spec", "drift"]);
    assert_eq!(found["archives"], 2);
    // What no archive touched may be edited.
    s.spec_says("on request.", "at once.");
    s.document(0, &["spec", "drift"]);
}

#[test]
fn edits_by_hand_are_named_with_their_commits() {
    let s = archived();
    s.spec_says("ask for a key.", "ask for two keys.");
    let edit = s.git(&["rev-parse", "HEAD"]).line();
    let found = s.document(1, &["spec", "drift"]);
    let one = &found["drifted"][0];
    assert_eq!(one["requirement"], "Signing in");
    assert_eq!(one["kind"], "edited");
    assert_eq!(one["session"], "one");
    assert_eq!(one["edits"][0]["commit"], edit);
    assert_eq!(one["edits"].as_array().map(Vec::len), Some(1));
    s.spec_says("ask for two keys.", "ask for a password.");
    let found = s.document(1, &["spec", "drift"]);
    assert_eq!(found["drifted"][0]["kind"], "reverted");
    s.git(&["revert", "--no-edit", "HEAD", "HEAD~1"]).ok();
    s.document(0, &["spec", "drift"]);
}

#[test]
fn an_archive_that_its_branch_lost_is_missing() {
    let s = archived();
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    let found = s.document(1, &["spec", "drift"]);
    assert_eq!(found["missing"][0]["session"], "two");
    assert_eq!(found["missing"][0]["target"], "main");
    assert_eq!(found["missing"].as_array().map(Vec::len), Some(1));
    s.loopx(&["spec", "drift"])
        .fails_with(1)
        .says("two: its archive");
}
