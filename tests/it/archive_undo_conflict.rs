//! An archive that cannot be taken back by itself: its three sides are written out as those of a delta
//! are, and the same commands settle them.

use crate::support::Sandbox;
use crate::support::changes::{ACCEPTED, adding, signing_in};
use crate::support::landing::{self, lands, offer, rev, serve};
use crate::support::session::put;
use serde_json::Value;
use std::path::PathBuf;

const SIDES: &str = ".loopx/one/conflicts/demo/spec.md";
const MAIN: &str = "specs/demo/spec.md";

/// Session `one` is archived on `main`, and the requirement was changed again there since.
fn changed_again(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::with_spec();
        if !policy.is_empty() {
            s.commit_file("loopx.toml", policy, "Policy").ok();
        }
        s.plan("one", &signing_in("The system SHALL ask for a key."));
        s.finish("one");
        s.git(&["switch", "--quiet", "main"]).ok();
        s.loopx(&["-s", "one", "archive", "--onto", "main"]).ok();
        s.spec_says("ask for a key.", "ask for two keys.");
        s
    })
}

/// Files by path, with their modes.
type Files = Vec<(PathBuf, u32, Vec<u8>)>;

/// The refs, the index and every file outside of `.loopx`.
fn world(s: &Sandbox) -> ([String; 2], Files) {
    let mut files = s.snapshot(".");
    files.retain(|(path, ..)| !path.starts_with(".git") && !path.starts_with(".loopx"));
    let refs = s.git(&["for-each-ref"]).ok();
    ([refs, s.git(&["ls-files", "-s"]).ok()], files)
}

#[track_caller]
fn conflict(s: &Sandbox, args: &[&str]) -> Value {
    let before = world(s);
    let failure = s.error(3, &[&["archive", "--undo", "one"], args].concat());
    assert_eq!(failure["code"], "unarchive_conflict");
    assert!(world(s) == before, "more than the conflict was written");
    failure
}

/// A refusal that leaves everything, the resolution too.
#[track_caller]
fn refused(s: &Sandbox, code: i32, args: &[&str], error: &str) -> Value {
    let (before, sides) = (world(s), s.exists(SIDES).then(|| s.read(SIDES)));
    let failure = s.error(code, args);
    assert_eq!(failure["code"], error);
    assert!(world(s) == before && s.exists(SIDES).then(|| s.read(SIDES)) == sides);
    failure
}

fn settled() -> String {
    ACCEPTED.replace("ask for a password.", "ask for two passwords.")
}

#[test]
fn what_was_changed_again_is_written_out_with_its_sides_and_continued() {
    let s = changed_again("");
    let failure = conflict(&s, &["--reason", "too early"]);
    assert_eq!(failure["blockers"][0]["code"], "requirement_conflict");
    assert_eq!(failure["blockers"][0]["help"], SIDES);
    let help = failure["help"].as_str().expect("a help");
    assert!(help.ends_with("git loopx archive one --continue"), "{help}");
    let sides = s.read(SIDES);
    for side in [
        "for a password.",
        "for a key.",
        "for two keys.",
        "<<<<<<< before",
        "||||||| archived",
        ">>>>>>> main",
    ] {
        assert!(sides.contains(side), "no `{side}` in\n{sides}");
    }
    assert_eq!(
        s.git(&["status", "--porcelain"]).ok(),
        "",
        "git ignores the sides"
    );
    s.loopx(&["-s", "one", "status"])
        .says(&format!("choose between the marked sides in {SIDES}"))
        .ok();
    // Others may come on top meanwhile, and the only conflict here is the one that is meant.
    s.commit_file("src/other.txt", "new\n", "Other").ok();
    s.write(SIDES, settled());
    let status = s.document(0, &["-s", "one", "status"]);
    assert_eq!(status["next_action"], "git loopx archive one --continue");
    let done = s.document(0, &["archive", "--continue"]);
    assert_eq!(done["command"], "archive --undo");
    assert_eq!(done["session"], "one");
    assert_eq!(done["files"][0]["path"], MAIN);
    assert_eq!(s.git(&["show", "main:specs/demo/spec.md"]).ok(), settled());
    assert_eq!(s.read(MAIN), settled());
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert!(!s.exists(".loopx/one"), "the conflict is gone");
    let body = s.git(&["log", "-1", "--format=%B", "main"]).ok();
    for part in [
        "Take back one: one",
        "too early",
        "Loopx-Event: unarchive",
        "Loopx-Undoes: ",
    ] {
        assert!(body.contains(part), "no `{part}` in\n{body}");
    }
    refused(&s, 5, &["archive", "--continue"], "no_conflict");
    refused(&s, 5, &["archive", "--undo", "one"], "unarchived_already");
    s.document(0, &["spec", "drift"]);
    s.loopx(&["fsck"]).ok();
}

#[test]
fn giving_up_forgets_the_conflict_and_the_archive_stands() {
    let s = changed_again("");
    refused(
        &s,
        3,
        &["archive", "--undo", "one", "--dry-run"],
        "unarchive_conflict",
    );
    assert!(!s.exists(SIDES), "a dry run writes nothing");
    conflict(&s, &[]);
    let done = s.document(0, &["archive", "one", "--abort"]);
    assert_eq!(done["aborted"], true);
    assert_eq!(done["command"], "archive --undo");
    assert!(!s.exists(".loopx/one"));
    refused(&s, 5, &["archive", "one", "--abort"], "archived_already");
    refused(&s, 5, &["archive", "--abort"], "no_conflict");
    conflict(&s, &[]);
    let said = s.loopx(&["archive", "--abort"]).ok();
    assert!(said.contains("discarded"), "{said}");
}

#[test]
fn a_resolution_that_was_begun_stays_and_one_of_something_else_is_refused() {
    let s = changed_again("");
    conflict(&s, &[]);
    conflict(&s, &[]);
    refused(&s, 3, &["archive", "--continue"], "conflict_unresolved");
    s.write(SIDES, settled());
    let failure = refused(&s, 3, &["archive", "--undo", "one"], "archive_conflict");
    let help = failure["help"].as_str().expect("a help");
    assert!(
        help.contains("one --continue") && help.contains("one --abort"),
        "{help}"
    );
    s.git(&["branch", "release", "main"]).ok();
    refused(
        &s,
        1,
        &["archive", "--continue", "--onto", "release"],
        "target_moved",
    );
    s.write(
        SIDES,
        settled().replace("## Requirements", "## Requirements\n\n```"),
    );
    refused(&s, 1, &["archive", "--continue"], "resolution_invalid");
    s.write(SIDES, settled());
    s.spec_says("on request.", "at once.");
    let failure = refused(&s, 1, &["archive", "--continue"], "target_moved");
    let help = failure["help"].as_str().expect("a help");
    assert!(help.ends_with("git loopx archive --undo one"), "{help}");
    s.loopx(&["archive", "--abort"]).ok();
    conflict(&s, &[]);
    std::fs::remove_file(s.path().join(SIDES)).expect("the sides");
    refused(&s, 3, &["archive", "--continue"], "conflict_file_missing");
    s.write(SIDES, settled().replace("on request.", "at once."));
    s.write(MAIN, "mine\n");
    refused(&s, 1, &["archive", "--continue"], "spec_dirty");
    s.git(&["checkout", "--quiet", MAIN]).ok();
    // Taken back by somebody else meanwhile: the conflict can only be forgotten.
    let kept = s.git(&["rev-parse", "main"]).line();
    s.loopx(&["archive", "--continue"]).ok();
    assert!(s.read(MAIN).contains("two passwords") && s.read(MAIN).contains("at once."));
    assert_ne!(s.git(&["rev-parse", "main"]).line(), kept);
}

#[test]
fn a_conflict_is_settled_in_the_worktree_where_it_was_met() {
    let s = changed_again("");
    s.git(&["branch", "side", "main"]).ok();
    let linked = s.root().join("linked wörk");
    let path = linked.to_str().expect("a path");
    s.git(&["worktree", "add", "--quiet", path, "side"]).ok();
    let before = world(&s);
    s.loopx_in(&linked, &["archive", "--undo", "one"])
        .fails_with(3);
    assert!(world(&s) == before);
    assert!(!s.exists(SIDES), "the sides are where they were asked for");
    refused(&s, 5, &["archive", "--continue"], "no_conflict");
    std::fs::write(linked.join(SIDES), settled()).expect("the sides");
    s.loopx_in(linked.join("specs"), &["archive", "--continue"])
        .ok();
    // The branch that was meant is checked out in the first worktree, which follows.
    assert_eq!(s.read(MAIN), settled());
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert!(!linked.join(".loopx/one").exists());
}

/// The note is written, the branch has moved, and the process dies before the worktree followed.
#[test]
fn a_continuation_that_died_is_finished_by_the_next_run() {
    let s = changed_again("");
    conflict(&s, &[]);
    let contest = s.read(".git/loopx/one.conflicts.json");
    s.write(SIDES, settled());
    let old = s.git(&["rev-parse", "main"]).line();
    let blob = |rev: &str| s.git(&["rev-parse", &format!("{rev}:{MAIN}")]).line();
    s.loopx(&["archive", "--continue"]).ok();
    let new = s.git(&["rev-parse", "main"]).line();
    let (was, is) = (blob(&old), blob(&new));
    s.git(&["read-tree", "--reset", "-u", &old]).ok();
    s.write(SIDES, settled());
    s.write(".git/loopx/one.conflicts.json", contest);
    let note = serde_json::json!({
        "format": 1, "what": "git loopx archive --undo", "name": "refs/heads/main", "new": new,
        "sessions": ["one"], "steps": [{ "follow": { "changes": { MAIN: [was, is] } } }, { "clear": {
            "at": "", "below": ".loopx/one", "files": [SIDES], "note": "loopx/one.conflicts.json",
        } }],
    });
    s.write(".git/loopx/journal/one.json", note.to_string());
    let found = s.document(0, &["archive", "--continue"]);
    assert_eq!(found["finished_earlier"], true);
    assert_eq!(found["commit"], new);
    assert_eq!(s.git(&["rev-parse", "main"]).line(), new);
    assert_eq!(s.read(MAIN), settled());
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert!(!s.exists(".loopx/one") && !s.exists(".git/loopx/one.conflicts.json"));
}

#[test]
fn an_edited_fragment_is_a_side_too_and_an_empty_resolution_removes_its_file() {
    let s = changed_again("[changelog]\nfragments = \"changelog.d\"\n");
    let fragment = s.read("changelog.d/one.md") + "- and more\n";
    s.commit_file("changelog.d/one.md", &fragment, "Edit").ok();
    let failure = conflict(&s, &[]);
    let codes: Vec<_> = failure["blockers"]
        .as_array()
        .expect("blockers")
        .iter()
        .map(|b| b["code"].clone())
        .collect();
    assert_eq!(codes, ["file_edited", "requirement_conflict"]);
    let sides = ".loopx/one/conflicts/changelog.d/one.md";
    assert!(s.read(sides).contains("- and more"));
    s.write(SIDES, settled());
    refused(&s, 3, &["archive", "--continue"], "conflict_unresolved");
    s.write(sides, "");
    s.loopx(&["archive", "--continue"]).ok();
    assert!(!s.exists("changelog.d/one.md"));
    assert_eq!(s.read(MAIN), settled());
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
}

#[test]
fn of_several_conflicts_the_named_one_is_settled() {
    let s = Sandbox::with_spec();
    for (id, delta) in [
        ("one", signing_in("The system SHALL ask for a key.")),
        ("two", adding("Pears")),
    ] {
        s.plan(id, &delta);
        s.finish(id);
        s.git(&["switch", "--quiet", "main"]).ok();
        s.loopx(&["-s", id, "archive", "--onto", "main"]).ok();
    }
    s.spec_says("ask for a key.", "ask for two keys.");
    s.spec_says("SHALL have it.", "SHALL have them.");
    conflict(&s, &[]);
    assert_eq!(
        s.error(3, &["archive", "--undo", "two"])["code"],
        "unarchive_conflict"
    );
    let failure = refused(&s, 2, &["archive", "--continue"], "conflict_ambiguous");
    assert!(
        failure["message"]
            .as_str()
            .expect("a message")
            .ends_with("one, two")
    );
    let both = s.read(MAIN);
    s.write(SIDES, both.replace("two keys", "two passwords"));
    s.loopx(&["archive", "one", "--continue"]).ok();
    assert!(s.read(MAIN).contains("two passwords") && s.read(MAIN).contains("Pears"));
    // What the other was written out against is no longer there.
    let failure = s.error(1, &["-s", "two", "archive", "--continue"]);
    assert_eq!(failure["code"], "target_moved");
    s.loopx(&["-s", "two", "archive", "--abort"]).ok();
    let kept = s.read(MAIN);
    assert_eq!(
        s.error(3, &["archive", "--undo", "two"])["code"],
        "unarchive_conflict"
    );
    let at = kept.find("### Requirement: Pears").expect("it");
    s.write(
        ".loopx/two/conflicts/demo/spec.md",
        format!("{}\n", kept[..at].trim_end()),
    );
    s.loopx(&["archive", "--continue"]).ok();
    assert_eq!(s.read(MAIN), settled());
}

/// The text that a person chose was reviewed by nobody: a protected branch takes it from a session.
#[test]
fn an_archive_in_conflict_is_taken_back_on_a_protected_branch_by_a_session() {
    let s = changed_again("[gates]\nprotected = [\"main\"]\n");
    serve(&s);
    offer(&s, &["one"]);
    let archive = ["log", "--format=%H", "-1", "--grep=^Archive one", "main"];
    let archive = s.git(&archive).line();
    conflict(&s, &[]);
    s.write(SIDES, settled());
    s.loopx(&["archive", "--continue"]).ok();
    let alone = rev(&s, "main");
    landing::refused(&s, &alone, "review_stale");
    s.git(&["reset", "--quiet", "--hard", "origin/main"]).ok();
    s.git(&["switch", "--quiet", "-c", "back"]).ok();
    s.loopx(&["start", "--revert", &archive]).ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["plan"]).ok();
    // What was changed since is a person's to check.
    let slices = r#"[{"id":"VS-1","type":"AFK","behaviour":"It is back","acceptance_criteria":["It is"],"verification":["grep","-q","two passwords","specs/demo/spec.md"]}]"#;
    put(&s, "change/slices.json", slices);
    for args in [
        &["plan", "--architect", "approve"][..],
        &["plan", "--critic", "approve"],
        &["approve", "--to", "build"],
        &["build"],
    ] {
        s.loopx(args).ok();
    }
    s.git(&["revert", "--no-edit", &archive]).fails_with(1);
    s.write(MAIN, settled());
    s.git(&["add", MAIN]).ok();
    s.git(&["-c", "core.editor=true", "revert", "--continue"])
        .ok();
    let record = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
                  completion_claim: full\n---\n# E\n\n## Changes\n\nTaken back.\n";
    put(&s, "execution-record.md", record);
    for args in [
        &["run", "--task", "VS-1"][..],
        &["build", "--report", "execution=complete", "--reason", "x"],
        &["build"],
        &["approve", "--to", "review"],
        &["review"],
        &["review", "--verdict", "approve"],
        &["approve", "--to", "done"],
    ] {
        s.loopx(args).ok();
    }
    offer(&s, &["back"]);
    lands(&s, "back");
}
