//! The working copy: nothing is overwritten, whoever edits where.

use crate::support::store::{ID, READY, everything, linked, put, put_in, started, tip};
use crate::support::{LOOPX, Sandbox};
use std::os::unix::fs::symlink;

const SPEC: &str = ".loopx/auth-timeout/spec.md";

fn cat(s: &Sandbox) -> String {
    s.loopx(&["-s", ID, "cat", "spec.md"]).ok()
}

#[test]
fn edits_that_are_apart_merge_three_ways() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let other = linked(&s, "other");
    s.loopx_in(&other, &["-s", ID, "checkout"]).ok();
    s.write(other.join(SPEC), READY.replace("An idle", "Every idle"));
    s.write(SPEC, READY.replace("A test", "One test"));
    s.loopx_in(&other, &["-s", ID, "save"]).ok();
    s.loopx(&["save"]).says("saved spec.md").ok();
    let merged = READY
        .replace("An idle", "Every idle")
        .replace("A test", "One test");
    assert_eq!(cat(&s), merged);
    assert_eq!(s.read(SPEC), merged, "the file follows the merge");
}

#[test]
fn edits_of_one_line_are_a_conflict_with_three_sides_until_a_person_chose() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let other = linked(&s, "other");
    s.loopx_in(&other, &["-s", ID, "checkout"]).ok();
    let theirs = READY.replace("An idle", "Every idle");
    let ours = READY.replace("An idle", "No idle");
    put_in(&s, &other, "spec.md", &theirs).ok();
    s.write(SPEC, &ours);
    let before = tip(&s);
    // Every command that would save says so.
    let out = s.loopx(&["clarify"]).fails_with(3);
    out.says("changed by somebody else meanwhile")
        .says("git loopx save");
    for args in [&["save"][..], &["run", "--", "true"]] {
        s.loopx(args).fails_with(3).says("git loopx edit spec.md");
    }
    let text = s.read(SPEC);
    for side in [
        "<<<<<<< here\nNo idle session ends.\n||||||| as it was\nAn idle session ends.\n",
        "=======\nEvery idle session ends.\n>>>>>>> on the branch\n",
    ] {
        assert!(text.contains(side), "{text}");
    }
    assert_eq!(tip(&s), before);
    assert_eq!(cat(&s), theirs, "the other's text still is on the branch");
    s.loopx(&["status"]).says("in conflict").ok();
    let line = text
        .lines()
        .position(|line| line.starts_with("<<<<<<<"))
        .expect("a marker")
        + 1;
    s.loopx(&["save"])
        .fails_with(3)
        .says(&format!("{SPEC}:{line}"));
    assert_eq!(s.loopx(&["next"]).ok(), "git loopx edit spec.md\n");
    let chosen = READY.replace("An idle", "Every single idle");
    s.write(SPEC, &chosen);
    // The contents say that somebody chose: nobody is asked again, and the text is judged like any edit.
    assert_eq!(s.loopx(&["next"]).ok(), "git loopx approve --enter\n");
    let status = s.loopx(&["status"]).ok();
    assert!(!status.contains("in conflict"), "{status}");
    s.loopx(&["save"]).ok();
    assert_eq!(cat(&s), chosen);
    s.loopx(&["save"]).fails_with(5);
}

#[test]
fn a_put_that_conflicts_keeps_both_texts() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let other = linked(&s, "other");
    s.loopx_in(&other, &["-s", ID, "checkout"]).ok();
    let theirs = READY.replace("An idle", "Every idle");
    put_in(&s, &other, "spec.md", &theirs).ok();
    let out = put(&s, "spec.md", &READY.replace("An idle", "No idle")).fails_with(3);
    assert_eq!(out.error_json()["error"]["code"], "artifact_conflict");
    assert!(s.read(SPEC).contains("No idle"));
    assert_eq!(cat(&s), theirs);
    // Markers are never taken for text, not even where the bases were lost.
    let marked = s.read(SPEC);
    put(&s, "spec.md", &marked).fails_with(3).says("spec.md:14");
    std::fs::remove_file(s.path().join(".git/loopx/auth-timeout.json")).expect("a file");
    s.loopx(&["save"]).fails_with(3);
    assert_eq!(cat(&s), theirs);
}

#[test]
fn a_working_copy_whose_base_was_pruned_is_in_conflict_and_loses_nothing() {
    let s = started();
    let before = tip(&s);
    // The history that has the base is put aside, and nobody keeps it.
    put(&s, "spec.md", READY).ok();
    s.git(&["update-ref", "refs/heads/loopx", &before]).ok();
    s.loopx(&["doctor", "--accept"]).ok();
    let other = linked(&s, "other");
    s.loopx_in(&other, &["-s", ID, "checkout"]).ok();
    let theirs = READY.replace("An idle", "Every idle");
    put_in(&s, &other, "spec.md", &theirs).ok();
    let kept = "--format=%(refname)";
    for name in s
        .git(&["for-each-ref", kept, "refs/loopx/displaced-*"])
        .ok()
        .lines()
    {
        s.git(&["update-ref", "-d", name]).ok();
    }
    let base = s.git(&["hash-object", SPEC]).line();
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
    s.git(&["cat-file", "-e", &base]).fails_with(1);
    let ours = READY.replace("A test", "One test");
    let out = put(&s, "spec.md", &ours).fails_with(3);
    assert_eq!(out.error_json()["error"]["code"], "artifact_conflict");
    let text = s.read(SPEC);
    for side in [
        "An idle",
        "One test",
        "Every idle",
        "A test",
        ">>>>>>> on the branch",
    ] {
        assert!(text.contains(side), "{side}\n{text}");
    }
    assert_eq!(cat(&s), theirs, "nothing was saved");
    s.write(SPEC, &ours);
    s.loopx(&["save"]).ok();
    assert_eq!(cat(&s), ours);
    // The same text on both sides is no conflict.
    let note = s.path().join(".git/loopx/auth-timeout.json");
    let gone = "0123456789012345678901234567890123456789";
    let text = std::fs::read_to_string(&note).expect("a note");
    let now = s.git(&["hash-object", SPEC]).line();
    std::fs::write(&note, text.replace(&now, gone)).expect("write");
    s.loopx(&["save"]).fails_with(5);
}

#[test]
fn a_put_keeps_the_unsaved_text_that_it_replaces_and_a_refused_one_changes_nothing() {
    let s = started();
    s.write(SPEC, "---\ncurrent_round: 1\n---\n# not saved\n");
    let before = everything(&s);
    put(&s, "spec.md", "---\nopen\n").fails_with(1);
    assert_eq!(everything(&s), before);
    let done = put(&s, "spec.md", READY).json();
    let kept = done["kept"].as_str().expect("a blob");
    assert!(
        s.git(&["cat-file", "blob", kept])
            .ok()
            .ends_with("# not saved\n")
    );
    assert_eq!(cat(&s), READY);
    // Another artifact that cannot be saved refuses the put, and nothing of it stays.
    s.write(".loopx/auth-timeout/intent.md", "other\n");
    let before = everything(&s);
    put(&s, "spec.md", &READY.replace("idle", "old")).fails_with(1);
    assert_eq!(everything(&s), before);
}

#[test]
fn a_removed_file_is_a_removed_artifact_and_undo_brings_it_back() {
    let s = started();
    std::fs::remove_file(s.path().join(SPEC)).expect("a file");
    s.loopx(&["status"]).says("(removed here, not saved)").ok();
    s.loopx(&["save"]).ok();
    s.loopx(&["cat", "spec.md"]).fails_with(4).says("intent.md");
    s.loopx(&["undo"]).ok();
    assert!(s.exists(SPEC));
    assert_eq!(cat(&s), s.read(SPEC));
}

#[test]
fn files_that_are_no_artifacts_are_left_alone() {
    let s = started();
    s.write(".loopx/auth-timeout/notes.txt", "mine");
    s.write(".loopx/other/spec.md", "not a session");
    put(&s, "spec.md", READY).ok();
    s.loopx(&["checkout", "--force"]).ok();
    s.loopx(&["abandon"]).ok();
    s.loopx(&["undo"]).ok();
    assert_eq!(s.read(".loopx/auth-timeout/notes.txt"), "mine");
    assert_eq!(s.read(".loopx/other/spec.md"), "not a session");
    assert_eq!(
        s.git(&["status", "--porcelain"]).ok(),
        "",
        "git ignores working copies"
    );
}

#[test]
fn checkout_leaves_edits_and_force_keeps_what_it_replaces() {
    let s = started();
    let stored = s.read(SPEC);
    s.write(SPEC, READY);
    s.loopx(&["checkout"])
        .says("has edits and was left alone")
        .ok();
    assert_eq!(s.read(SPEC), READY);
    let done = s
        .loopx(&["--json", "checkout", "--force", "spec.md"])
        .json();
    assert_eq!(s.read(SPEC), stored);
    let kept = done["replaced"][0]["kept"].as_str().expect("a blob");
    assert_eq!(s.git(&["cat-file", "blob", kept]).ok(), READY);
}

#[test]
fn what_is_edited_is_shown_saved_compared_and_taken_back() {
    let s = started();
    let first = s.read(SPEC);
    s.program("editor", "#!/bin/sh\nprintf '\\nmore\\n' >>\"$1\"\n");
    let edit = || {
        s.call(LOOPX)
            .args(&["edit", "spec.md"])
            .env("GIT_EDITOR", "editor")
    };
    edit().run().says("saved spec.md").ok();
    assert_eq!(cat(&s), format!("{first}\nmore\n"));
    s.loopx(&["diff", "1"]).says("+more").ok();
    s.loopx(&["diff", "1", "2"]).says("+more").ok();
    assert_eq!(s.loopx(&["cat", "spec.md", "--at", "1"]).ok(), first);
    s.loopx(&["cat", "spec.md", "--at", "9"])
        .fails_with(4)
        .says("1 to 2");
    s.write(SPEC, format!("{first}\nunsaved\n"));
    s.loopx(&["diff"]).says("+unsaved").ok();
    s.loopx(&["undo"]).fails_with(1).says("git loopx save");
    s.loopx(&["checkout", "--force"]).ok();
    s.loopx(&["undo"]).ok();
    assert_eq!((cat(&s), s.read(SPEC)), (first.clone(), first));
    // An editor that fails, and one that changes nothing, save nothing.
    let before = tip(&s);
    s.call(LOOPX)
        .args(&["edit", "spec.md"])
        .run()
        .fails_with(1)
        .says("nothing was saved");
    let same = s
        .call(LOOPX)
        .args(&["edit", "spec.md"])
        .env("GIT_EDITOR", "true");
    same.run().says("unchanged").ok();
    assert_eq!(tip(&s), before);
}

#[test]
fn a_link_in_the_place_of_a_file_or_folder_is_refused() {
    let s = started();
    s.write("elsewhere/auth-timeout/spec.md", "outside");
    let writing: [&[&str]; 4] = [
        &["save"],
        &["clarify"],
        &["checkout", "--force"],
        &["put", "spec.md", "code.txt"],
    ];
    let refused = |what: &str| {
        let before = everything(&s);
        for args in writing {
            let out = s.loopx(args).fails_with(1);
            out.says("is a symbolic link")
                .says(what)
                .says("remove the link");
        }
        assert_eq!(everything(&s), before);
    };
    std::fs::remove_file(s.path().join(SPEC)).expect("a file");
    symlink(s.path().join("code.txt"), s.path().join(SPEC)).expect("a link");
    refused("spec.md");
    std::fs::remove_dir_all(s.path().join(".loopx")).expect("a folder");
    symlink(s.path().join("elsewhere"), s.path().join(".loopx")).expect("a link");
    refused(".loopx");
    assert_eq!(s.read("elsewhere/auth-timeout/spec.md"), "outside");
}

#[test]
fn line_endings_are_kept_whatever_git_converts() {
    let s = Sandbox::new();
    s.git(&["config", "core.autocrlf", "true"]).ok();
    crate::support::store::begin(&s);
    let text = READY.replace('\n', "\r\n");
    s.write(SPEC, &text);
    s.loopx(&["save"]).ok();
    assert_eq!(cat(&s), text);
    s.loopx(&["checkout", "--force"]).ok();
    assert_eq!(s.read(SPEC), text);
    s.loopx(&["save"]).fails_with(5);
    s.loopx(&["clarify"]).ok();
    // The code's tree is git's: the same before and after a commit of the same content.
    s.write("more.txt", "a\r\nb\r\n");
    let ran = |s: &Sandbox| {
        let ran = s.loopx(&["--json", "run", "--", "true"]).json();
        ran["evidence"]["tree"].as_str().expect("a tree").to_owned()
    };
    let before = ran(&s);
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "more"]).ok();
    assert_eq!(ran(&s), before);
}

#[test]
fn a_working_copy_that_is_gone_as_a_whole_is_laid_out_again() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    s.git(&["clean", "-fdxq"]).ok();
    assert!(!s.exists(".loopx"));
    s.loopx(&["save"]).fails_with(5);
    s.loopx(&["clarify"]).ok();
    assert_eq!(s.read(SPEC), READY);
    assert_eq!(cat(&s), READY);
}
