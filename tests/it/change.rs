//! `change validate|diff|overlap|refresh`: the verdict of archive, without archiving.

use crate::support::Sandbox;
use crate::support::changes::{adding, signing_in};

const KEY: &str = "The system SHALL ask for a key.";

#[test]
fn a_clean_delta_is_clean_and_unsaved_edits_count() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in(KEY));
    let tip = s.git(&["rev-parse", "loopx"]).line();
    let found = s.document(0, &["change", "validate", "--strict"]);
    assert_eq!(found["valid"], true);
    assert_eq!(found["sessions"][0]["verdict"], "clean");
    assert_eq!(found["sessions"][0]["target"], "one");
    s.edit(
        "one",
        "change/spec-delta.md",
        &signing_in(KEY).replace("Known person", "Other person"),
    );
    let found = s.document(1, &["change", "validate"]);
    let id = found["sessions"][0]["blockers"][0]["code"].clone();
    assert_eq!(found["sessions"][0]["verdict"], "refused");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip, "it wrote");
    // The gate says it with the same id.
    let gate = s.error(1, &["approve", "--to", "build"]);
    let codes: Vec<_> = gate["blockers"]
        .as_array()
        .expect("blockers")
        .iter()
        .map(|b| &b["code"])
        .collect();
    assert!(codes.contains(&&id), "{id} is not in {codes:?}");
}

#[test]
fn a_conflict_is_shown_and_a_refresh_records_the_new_base() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in(KEY));
    assert_eq!(s.error(5, &["change", "refresh"])["code"], "nothing_moved");
    s.spec_says("ask for a password.", "ask for a secret.");
    let found = s.document(3, &["change", "validate"]);
    assert_eq!(found["sessions"][0]["verdict"], "conflict");
    let conflict = &found["sessions"][0]["conflicts"][0];
    assert_eq!(conflict["requirement"], "Signing in");
    assert_eq!(conflict["kind"], "modify/modify");
    let shown = s.loopx(&["change", "diff"]).ok();
    for line in [
        "-The system SHALL ask for a password.",
        "+The system SHALL ask for a key.",
        "-The system SHALL ask for a secret.",
        "--- a/specs/demo/spec.md (CONFLICT: target -> delta)",
    ] {
        assert!(shown.contains(line), "no `{line}` in\n{shown}");
    }
    let done = s.document(0, &["change", "refresh"]);
    assert_eq!(done["moved"][0]["requirement"], "Signing in");
    assert_eq!(done["moved"][0]["replaced"], true);
    s.document(0, &["change", "validate"]);
    assert_eq!(s.error(5, &["change", "refresh"])["code"], "nothing_moved");
    let trailers = s
        .git(&["log", "-1", "--format=%(trailers:key=Loopx-Event)", "loopx"])
        .line();
    assert_eq!(trailers, "Loopx-Event: refresh");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn z19_a_base_that_neither_branch_nor_target_has_opens_no_gate() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in(KEY));
    s.loopx(&["change", "validate"]).ok();
    let own = s.git(&["rev-parse", "HEAD"]).line();
    // The record names a text of another branch, which is no part of this one.
    s.spec_says(
        "- **THEN** a session begins",
        "- **THEN** a session begins\n- **AND** it is logged",
    );
    s.loopx(&["change", "refresh"]).ok();
    s.git(&["branch", "other"]).ok();
    s.git(&["reset", "--quiet", "--hard", &own]).ok();
    let held = s.error(1, &["approve", "--to", "build"]);
    let held = held["blockers"].as_array().expect("blockers");
    let base = held.iter().find(|one| one["code"] == "base_foreign");
    let base = base.expect("the base is nobody's");
    assert_eq!(base["help"], "git loopx change refresh", "{base:#}");
    s.loopx(&["change", "refresh"]).ok();
    s.loopx(&["change", "validate"]).ok();
    let held = s.loopx(&["--json", "approve", "--to", "build"]);
    assert!(!held.stdout.contains("base_foreign"), "{held}");
    // Nor does a text count that the target has by now and this branch does not: nobody is shown what goes of it.
    s.spec_says(
        "- **THEN** a session begins",
        "- **THEN** a session begins\n- **AND** it is logged",
    );
    s.loopx(&["change", "refresh"]).ok();
    s.git(&["branch", "--force", "main", "HEAD"]).ok();
    s.git(&["reset", "--quiet", "--hard", &own]).ok();
    let held = s.error(1, &["approve", "--to", "build"]);
    assert!(held.to_string().contains("base_foreign"), "{held:#}");
}

#[test]
fn z19_a_base_whose_commit_was_amended_is_no_foreign_text() {
    let s = Sandbox::with_spec();
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "Prepare"])
        .ok();
    s.plan("one", &signing_in(KEY));
    s.git(&[
        "commit",
        "--quiet",
        "--amend",
        "--allow-empty",
        "-m",
        "Amended",
    ])
    .ok();
    // Another requirement, another line of the spec: the text of the base stood below.
    let spec = s.read("specs/demo/spec.md");
    s.write("specs/demo/spec.md", format!("{spec}\n"));
    s.git(&["commit", "--quiet", "--all", "-m", "Space"]).ok();
    let found = s.document(0, &["change", "validate"]);
    assert_eq!(found["sessions"][0]["verdict"], "clean", "{found:#}");
    s.spec_says("ask for a password.", "ask for a secret.");
    let found = s.document(3, &["change", "validate"]);
    assert_eq!(found["sessions"][0]["verdict"], "conflict");
}

#[test]
fn a_diff_shows_both_changes_where_they_merge() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in(KEY));
    s.spec_says(
        "- **THEN** a session begins",
        "- **THEN** a session begins\n- **AND** it is logged",
    );
    let found = s.document(0, &["change", "diff"]);
    let one = &found["requirements"][0];
    assert_eq!(one["moved"], true);
    let merged = one["merged"].as_str().expect("a text");
    assert!(
        merged.contains(KEY) && merged.contains("it is logged"),
        "{merged}"
    );
    let shown = s.loopx(&["change", "diff"]).ok();
    assert!(shown.contains("(target -> merged)"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "colour in a pipe");
}

#[test]
fn open_sessions_that_touch_one_requirement_are_paired() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in(KEY));
    s.plan("two", &adding("Tokens"));
    let found = s.document(0, &["change", "overlap"]);
    assert_eq!(found["overlaps"], serde_json::json!([]));
    s.plan("three", &signing_in("The system SHALL ask for a token."));
    let found = s.document(1, &["change", "overlap"]);
    let pair = &found["overlaps"][0];
    assert_eq!(pair["sessions"], serde_json::json!(["one", "three"]));
    assert_eq!(pair["shared"][0]["requirement"], "Signing in");
    assert_eq!(pair["verdict"], "conflict");
    let all = s.document(0, &["change", "validate", "--all"]);
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(3));
    assert_eq!(all["overlaps"].as_array().map(Vec::len), Some(1));
    // One scenario more beside a new text: both stand.
    s.plan(
        "four",
        "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Signing in\n\n\
         #### ADDED Scenario: Unknown person\n- **WHEN** an unknown person asks\n- **THEN** nothing begins\n",
    );
    let found = s.document(1, &["change", "overlap"]);
    let clean: Vec<_> = found["overlaps"]
        .as_array()
        .expect("pairs")
        .iter()
        .map(|p| p["verdict"].clone())
        .collect();
    assert_eq!(clean, ["clean", "clean", "conflict"]);
}

#[test]
fn e01_a_pair_of_which_one_is_refused_alone_is_not_called_clean() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in(KEY));
    let nothing = "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Gone\nIt SHALL not be.\n\n\
        #### Scenario: S\n- **THEN** x\n";
    s.plan(
        "two",
        &format!(
            "{}\n{}",
            signing_in(KEY),
            nothing.replace("# Domain: demo\n\n", "")
        ),
    );
    let found = s.document(1, &["change", "overlap"]);
    let pair = &found["overlaps"][0];
    assert_eq!(
        (&found["clean"], &pair["verdict"]),
        (&false.into(), &"unknown".into())
    );
    assert_eq!(pair["blockers"][0]["code"], "refused_alone");
    assert!(
        pair["blockers"][0]["message"]
            .as_str()
            .expect("a message")
            .contains("two")
    );
    let said = s.loopx(&["change", "overlap"]).to_string();
    assert!(
        said.contains("not known") && !said.contains("cleanly"),
        "{said}"
    );
}

/// A finding whose way out is a text stands in a file, and the file is what has to be written.
#[test]
fn z9_a_delta_that_does_not_fit_the_specs_is_edited_next() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Signing in"));
    assert_eq!(
        s.loopx(&["next"]).line(),
        "git loopx edit change/spec-delta.md"
    );
    let status = s.loopx(&["status"]).ok();
    let rows = status
        .lines()
        .filter(|row| row.contains("change/spec-delta.md  "));
    let row: Vec<&str> = rows.collect();
    assert!(
        row.len() == 1 && row[0].contains("`Signing in` already"),
        "{status}"
    );
    s.edit("one", "change/spec-delta.md", &adding("Apples"));
    let next = s.loopx(&["next"]).line();
    assert!(!next.contains("spec-delta"), "{next}");
}
