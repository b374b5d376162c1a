//! Taking an archive back, by a new commit, also after others came on top.

use crate::support::Sandbox;
use crate::support::changes::{ACCEPTED, adding, signing_in};

/// Sessions that are archived on `main`, which is checked out.
fn archived(sessions: &[(&str, String)]) -> Sandbox {
    Sandbox::once(format!("{sessions:?}"), || {
        let s = Sandbox::with_spec();
        for (id, delta) in sessions {
            s.plan(id, delta);
            s.finish(id);
        }
        s.git(&["switch", "--quiet", "main"]).ok();
        for (id, _) in sessions {
            s.loopx(&["-s", id, "archive", "--onto", "main"]).ok();
        }
        s
    })
}

fn spec(s: &Sandbox) -> String {
    s.git(&["show", "main:specs/demo/spec.md"]).ok()
}

#[test]
fn an_archive_is_taken_back_also_after_others_came_on_top() {
    let s = archived(&[
        ("one", signing_in("The system SHALL ask for a key.")),
        ("two", adding("Pears")),
    ]);
    let all = spec(&s);
    let refs = s.git(&["for-each-ref"]).ok();
    s.document(0, &["archive", "--undo", "one", "-n"]);
    assert_eq!(s.git(&["for-each-ref"]).ok(), refs);
    let found = s.document(0, &["archive", "--undo", "one", "--reason", "too early"]);
    assert_eq!(found["files"][0]["path"], "specs/demo/spec.md");
    let left = spec(&s);
    assert_eq!(left, all.replace("ask for a key.", "ask for a password."));
    assert_eq!(s.read("specs/demo/spec.md"), left);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    let body = s.git(&["log", "-1", "--format=%B", "main"]).ok();
    for part in [
        "Take back one: one",
        "too early",
        "Loopx-Session: one",
        "Loopx-Event: unarchive",
        "Loopx-Undoes: ",
    ] {
        assert!(body.contains(part), "no `{part}` in\n{body}");
    }
    // The session stays archived, its own record says where that was taken back, and taking back is no edit by hand.
    let status = s.document(0, &["status", "one"]);
    let ending = &status["ending"];
    let back = s.git(&["rev-parse", "main"]).line();
    assert_eq!(
        (&ending["how"], &ending["taken_back"]["commit"]),
        (&"archived".into(), &back.as_str().into()),
        "{ending}"
    );
    let status = s.loopx(&["status", "one"]).ok();
    assert!(
        status.contains(&format!("taken back on main by {}", &back[..10])),
        "{status}"
    );
    let body = s.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    for part in [
        "one: unarchive on main",
        "too early",
        "Loopx-Event: unarchive",
    ] {
        assert!(body.contains(part), "no `{part}` in\n{body}");
    }
    let again = s.error(5, &["-s", "one", "archive", "--onto", "main"]);
    assert_eq!(again["code"], "archived_already");
    let again = s.error(5, &["archive", "--undo", "one"]);
    assert_eq!(again["code"], "unarchived_already");
    s.document(0, &["spec", "drift"]);
    s.loopx(&["archive", "--undo", "two"]).ok();
    assert_eq!(spec(&s), ACCEPTED);
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_was_changed_again_is_a_conflict_and_a_new_spec_goes_whole() {
    let new = adding("Apples").replace("Domain: demo", "Domain: fruit\n\n## Purpose\n\nFruit.");
    let s = archived(&[
        ("one", signing_in("The system SHALL ask for a key.")),
        ("two", new),
    ]);
    assert!(s.exists("specs/fruit/spec.md"));
    s.loopx(&["archive", "--undo", "two"]).ok();
    assert!(!s.exists("specs/fruit/spec.md"));
    s.spec_says("ask for a key.", "ask for two keys.");
    let before = s.git(&["for-each-ref"]).ok();
    let failure = s.error(3, &["archive", "--undo", "one"]);
    assert_eq!(failure["code"], "unarchive_conflict");
    assert_eq!(failure["blockers"][0]["code"], "requirement_conflict");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
}

#[test]
fn what_cannot_be_taken_back_is_refused_by_name() {
    let s = archived(&[("one", signing_in("The system SHALL ask for a key."))]);
    s.plan("two", &adding("Pears"));
    let failure = s.error(1, &["archive", "--undo", "two"]);
    assert_eq!(failure["code"], "not_archived");
    assert_eq!(
        s.error(4, &["archive", "--undo", "three"])["code"],
        "session_unknown"
    );
    // The session's own branch does not have what went to main.
    let failure = s.error(1, &["archive", "--undo", "one", "--onto", "one"]);
    assert_eq!(failure["code"], "archive_not_there");
    let failure = s.error(4, &["archive", "--undo", "one", "--onto", "none"]);
    assert_eq!(failure["code"], "branch_unknown");
    s.loopx(&["archive", "--reason", "none"]).fails_with(2);
    // Edits that are not committed are not written over.
    s.git(&["switch", "--quiet", "main"]).ok();
    let text = s.read("specs/demo/spec.md");
    s.write(
        "specs/demo/spec.md",
        text.replace("on request.", "at once."),
    );
    let before = s.git(&["for-each-ref"]).ok();
    let failure = s.error(1, &["archive", "--undo", "one"]);
    assert_eq!(failure["code"], "spec_dirty");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
}

/// The note is written, the branch has moved, and the process dies before the worktree followed.
#[test]
fn taking_back_is_finished_by_the_next_run() {
    let s = archived(&[("one", signing_in("The system SHALL ask for a key."))]);
    let old = s.git(&["rev-parse", "main"]).line();
    let path = "specs/demo/spec.md";
    let blob = |rev: &str| s.git(&["rev-parse", &format!("{rev}:{path}")]).line();
    let kept = s.read(path);
    s.loopx(&["archive", "--undo", "one"]).ok();
    let new = s.git(&["rev-parse", "main"]).line();
    let told = s.git(&["rev-parse", "loopx"]).line();
    let (was, is) = (blob(&old), blob(&new));
    // As it was in between.
    s.git(&["read-tree", "--reset", "-u", &old]).ok();
    assert_eq!(s.read(path), kept);
    let note = serde_json::json!({
        "format": 1, "what": "git loopx archive --undo", "name": "refs/heads/main", "new": new,
        "sessions": ["one"], "steps": [{ "follow": { "changes": { path: [was, is] } } }],
    });
    s.write(".git/loopx/journal/one.json", note.to_string());
    let found = s.document(0, &["archive", "--undo", "one"]);
    assert_eq!(found["finished_earlier"], true);
    assert_eq!(found["commit"], new);
    assert_eq!(s.git(&["rev-parse", "main"]).line(), new);
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), told, "told once");
    assert_eq!(s.read(path), ACCEPTED);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert!(s.journal().is_empty());
}

/// The code branch has moved, and the process dies before the session was told; an older program never told it.
#[test]
fn a_session_is_told_later_that_its_archive_was_taken_back() {
    let s = archived(&[("one", signing_in("The system SHALL ask for a key."))]);
    let archive = s.git(&["rev-parse", "main"]).line();
    let untold = s.git(&["rev-parse", "loopx"]).line();
    s.loopx(&["archive", "--undo", "one"]).ok();
    let new = s.git(&["rev-parse", "main"]).line();
    let taken_back = || s.document(0, &["status", "one"])["ending"]["taken_back"].clone();
    let forget = || {
        s.git(&["update-ref", "refs/heads/loopx", &untold]).ok();
        s.loopx(&["doctor", "--accept"]).ok();
        assert!(taken_back().is_null());
    };
    forget();
    let found = s.document(0, &["archive", "--undo", "one"]);
    assert_eq!(found["finished_earlier"], true);
    assert_eq!(taken_back()["commit"], new);
    s.error(5, &["archive", "--undo", "one"]);
    forget();
    let note = serde_json::json!({
        "format": 2, "what": "git loopx archive --undo", "name": "refs/heads/main", "new": new,
        "sessions": ["one"],
        "steps": [{ "unarchive": { "session": "one", "archive": archive, "reason": null } }],
    });
    s.write(".git/loopx/journal/one.json", note.to_string());
    s.loopx(&["doctor", "--fix"]).ok();
    assert_eq!(taken_back()["commit"], new);
    assert!(s.journal().is_empty());
    s.loopx(&["fsck"]).ok();
}

/// A session that is archived on its own branch, which was rebased since.
fn rebased() -> Sandbox {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in("The system SHALL ask for a key."));
    s.finish("one");
    s.loopx(&["archive"]).ok();
    let before = s.git(&["rev-parse", "one"]).line();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("src/other.txt", "other\n", "Go on").ok();
    s.git(&["switch", "--quiet", "one"]).ok();
    s.git(&["rebase", "--quiet", "main"]).ok();
    assert_ne!(s.git(&["rev-parse", "one"]).line(), before);
    s
}

/// Takes away what no branch has.
fn prune(s: &Sandbox) {
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
}

#[test]
fn q3_an_archive_that_was_rebased_is_taken_back() {
    for is_pruned in [false, true] {
        let s = Sandbox::once("rebased", rebased);
        if is_pruned {
            prune(&s);
        }
        s.document(0, &["archive", "--undo", "one", "-n"]);
        s.document(0, &["archive", "--undo", "one", "--reason", "too early"]);
        assert_eq!(s.git(&["show", "one:specs/demo/spec.md"]).ok(), ACCEPTED);
        assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
        let back = s.git(&["rev-parse", "one"]).line();
        let ending = s.document(0, &["status", "one"])["ending"].clone();
        assert_eq!(ending["taken_back"]["commit"], back.as_str(), "{ending}");
        assert_eq!(
            s.error(5, &["archive", "--undo", "one"])["code"],
            "unarchived_already"
        );
        s.loopx(&["reopen", "one", "--reason", "go on"]).ok();
    }
}

#[test]
fn r50_11_a_commit_that_copies_the_words_of_a_rebased_archive_is_none() {
    let s = Sandbox::once("rebased", rebased);
    let words = s.git(&["log", "-1", "--format=%B"]).ok();
    let spec = s.read("specs/demo/spec.md");
    let spec = spec.replace("## Purpose\n", "## Purpose\nMore of it. ");
    s.commit_file("specs/demo/spec.md", &spec, &words).ok();
    s.document(0, &["archive", "--undo", "one", "--reason", "too early"]);
    let after = s.git(&["show", "one:specs/demo/spec.md"]).ok();
    assert!(after.contains("More of it."), "{after}");
    assert!(!after.contains("ask for a key"), "{after}");
}

#[test]
fn q3_a_session_whose_archive_was_rebased_is_opened_again() {
    for is_pruned in [false, true] {
        let s = Sandbox::once("rebased", rebased);
        if is_pruned {
            prune(&s);
        }
        s.loopx(&["reopen", "one", "--reason", "go on"]).ok();
        assert_eq!(s.git(&["show", "one:specs/demo/spec.md"]).ok(), ACCEPTED);
        assert_eq!(s.document(0, &["status"])["stage"], "build");
    }
}

#[test]
fn q3_an_archive_that_no_branch_has_is_nothing_to_take_back() {
    let s = Sandbox::once("rebased", rebased);
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    let failure = s.error(5, &["archive", "--undo", "one"]);
    assert_eq!(failure["code"], "unarchived_already", "{failure}");
    let help = failure["help"].as_str().expect("help");
    assert_eq!(
        help,
        "git loopx -s one reopen --reason 'there is more to do'"
    );
    s.loopx(&["reopen", "one", "--reason", "go on"]).ok();
    // Another branch that has it is named.
    let s = Sandbox::once("rebased", rebased);
    s.git(&["branch", "--quiet", "kept"]).ok();
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    let failure = s.error(1, &["archive", "--undo", "one"]);
    assert_eq!(failure["help"], "git loopx archive --undo one --onto kept");
}
