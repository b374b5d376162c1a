//! Repairs where objects of a session cannot be read: a repair puts the same bytes back, or changes nothing. It never
//! takes a whole operation away.

use crate::support::store::{ID, assert_whole, begin, operations, put, tip};
use crate::support::{Output, Sandbox};
use crate::torn::{cut, unpack};
use std::fs;

/// A session of four operations whose objects are loose, and that an earlier run found whole.
fn loose() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        begin(&s);
        for text in ["# One\n", "# Two\n", "# Three\n"] {
            put(&s, "spec.md", text).ok();
        }
        unpack(&s);
        s.loopx(&["fsck"]).says("all whole").ok();
        s
    })
}

fn oid(s: &Sandbox, path: &str) -> String {
    s.git(&["rev-parse", &format!("loopx:sessions/{ID}{path}")])
        .line()
}

fn tear(s: &Sandbox, id: &str) {
    cut(
        &s.path()
            .join(format!(".git/objects/{}/{}", &id[..2], &id[2..])),
        |len| len / 2,
    );
}

/// Objects above the sessions hold all of them: nothing is mended, and doctor does not name itself.
#[test]
fn a_torn_folder_of_sessions_leads_out_of_doctor() {
    let s = loose();
    let id = s.git(&["rev-parse", "loopx:sessions"]).line();
    let before = tip(&s);
    tear(&s, &id);
    s.loopx(&["fsck", "--repair"]).fails_with(70).says(&id);
    let out = s.loopx(&["--json", "doctor"]).json();
    let checks = out["checks"].as_array().expect("checks");
    let helps: Vec<&str> = checks
        .iter()
        .filter_map(|one| one["help"].as_str())
        .collect();
    assert!(
        helps.iter().any(|help| help.contains("git fsck")),
        "{out:#}"
    );
    assert!(!helps.contains(&"git loopx doctor"), "{out:#}");
    assert_eq!(tip(&s), before);
}

fn second_operation(s: &Sandbox) -> String {
    let list = s
        .git(&["ls-tree", "loopx", &format!("sessions/{ID}/ops/")])
        .ok();
    let line = list.lines().nth(1).expect("an operation").to_owned();
    line.split_whitespace().nth(2).expect("an id").to_owned()
}

fn refuses(s: &Sandbox, id: &str) {
    let before = tip(s);
    let out: Output = s.loopx(&["fsck", "--repair"]).fails_with(70);
    assert!(out.stderr.contains(id), "{out}");
    assert!(out.stderr.contains("fetch"), "{out}");
    assert_eq!(tip(s), before);
}

/// Plain `fsck` and `doctor` say so, though the session was found whole before.
fn named(s: &Sandbox, id: &str) {
    let out = s.loopx(&["--json", "fsck"]).fails_with(1).json();
    let what = out["damages"][0]["what"].as_str().expect("text");
    assert!(what.contains(id), "{out:#}");
    assert_eq!(out["damages"][0]["mend"], "put-back");
    let out = s.loopx(&["doctor"]);
    assert_ne!(out.code, Some(0), "{out}");
    assert!(out.stdout.contains(id), "{out}");
}

#[test]
fn a_torn_artifact_comes_back_from_the_working_copy() {
    let s = loose();
    let before = tip(&s);
    let id = oid(&s, "/spec.md");
    tear(&s, &id);
    named(&s, &id);
    s.loopx(&["fsck", "--repair"])
        .says("put back 1 object")
        .ok();
    assert_eq!(tip(&s), before);
    assert_eq!(s.git(&["cat-file", "-p", &id]).ok(), "# Three\n");
    assert_whole(&s);
    s.git(&["fsck", "--strict"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// git puts the mark in its place, then the pack, then the index: a kill before the last left the first two, which no
/// later git writes over.
#[test]
fn f11_a_repair_that_was_killed_before_its_pack_had_an_index_is_done_again() {
    let s = loose();
    let id = oid(&s, "/spec.md");
    tear(&s, &id);
    let packs = |s: &Sandbox, end: &str| -> Vec<std::path::PathBuf> {
        let files = fs::read_dir(s.path().join(".git/objects/pack")).expect("packs");
        let files = files.map(|file| file.expect("a file").path());
        files
            .filter(|path| path.extension().is_some_and(|it| it == end))
            .collect()
    };
    let before = packs(&s, "idx");
    s.loopx(&["fsck", "--repair"]).ok();
    let made = packs(&s, "idx");
    let made = made.iter().find(|path| !before.contains(path));
    let made = made.expect("a pack");
    fs::remove_file(made).expect("remove the index");
    let keep = made.with_extension("keep");
    fs::write(&keep, "fast-import").expect("write the mark");
    s.git(&["cat-file", "-e", &id]).fails_with(1);
    // A pack that is somebody's own way of keeping is no import, and stays as it is.
    let theirs = made.with_file_name("pack-0000000000000000000000000000000000000001.pack");
    fs::write(&theirs, "theirs").expect("a pack");
    fs::write(theirs.with_extension("keep"), "").expect("a mark");
    s.loopx(&["fsck", "--repair"]).ok();
    assert!(made.exists());
    assert!(theirs.exists() && theirs.with_extension("keep").exists());
    fs::remove_file(theirs.with_extension("keep")).expect("remove the mark");
    fs::remove_file(theirs).expect("remove the pack");
    s.git(&["cat-file", "-e", &id]).ok();
    s.loopx(&["doctor", "--fix"]).ok();
    assert_whole(&s);
    s.git(&["fsck", "--strict"]).ok();
    let left = fs::read_dir(s.path().join(".git")).expect("the git dir");
    let left = left.filter(|file| {
        let name = file.as_ref().expect("a file").file_name();
        name.to_string_lossy().starts_with("fast_import_crash_")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn an_artifact_that_nobody_has_keeps_a_repair_from_doing_anything() {
    let s = loose();
    let id = oid(&s, "/spec.md");
    s.write(format!(".loopx/{ID}/spec.md"), "# Edited\n");
    tear(&s, &id);
    refuses(&s, &id);
    refuses(&s, &id);
    // One that somebody removed is no other case.
    fs::remove_file(
        s.path()
            .join(format!(".git/objects/{}/{}", &id[..2], &id[2..])),
    )
    .expect("remove");
    named(&s, &id);
    refuses(&s, &id);
}

#[test]
fn a_torn_operation_or_their_tree_takes_no_other_operation_away() {
    let s = loose();
    let id = second_operation(&s);
    tear(&s, &id);
    s.loopx(&["fsck", "--full"]).fails_with(1).says(&id);
    refuses(&s, &id);
    for path in ["/ops", ""] {
        let s = loose();
        let id = oid(&s, path);
        tear(&s, &id);
        named(&s, &id);
        refuses(&s, &id);
    }
}

#[test]
fn a_torn_state_is_computed_again() {
    let s = loose();
    let before = tip(&s);
    let id = oid(&s, "/state.json");
    tear(&s, &id);
    let out = s.loopx(&["-s", ID, "status"]).fails_with(70);
    assert!(out.stderr.contains("git loopx fsck --repair"), "{out}");
    named(&s, &id);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(tip(&s), before);
    s.loopx(&["-s", ID, "status"]).ok();
    assert_eq!(operations(&s, ID).len(), 4);
    assert_whole(&s);
    s.git(&["fsck", "--strict"]).ok();
    put(&s, "spec.md", "# Four\n").ok();
}

#[test]
fn what_is_fetched_again_mends_what_a_repair_could_not() {
    let s = loose();
    let origin = s.root().join("origin.git");
    let origin = origin.to_str().expect("UTF-8");
    s.git(&["clone", "--quiet", "--bare", "--no-hardlinks", ".", origin])
        .ok();
    s.git(&["remote", "add", "origin", origin]).ok();
    let id = second_operation(&s);
    tear(&s, &id);
    refuses(&s, &id);
    fs::remove_file(
        s.path()
            .join(format!(".git/objects/{}/{}", &id[..2], &id[2..])),
    )
    .expect("remove");
    refuses(&s, &id);
    s.git(&["fetch", "--quiet", "--refetch", "origin"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_eq!(operations(&s, ID).len(), 4);
}

/// Commits a tree with the session's folder as it was at `then`, or without it.
fn taken_back(s: &Sandbox, then: Option<&str>, message: &str) -> String {
    let index = s.root().join("index");
    let git = |args: &[&str]| s.call("git").args(args).env("GIT_INDEX_FILE", &index).run();
    let folder = format!("sessions/{ID}");
    git(&["read-tree", "loopx"]).ok();
    git(&["rm", "-r", "--cached", "--quiet", &folder]).ok();
    if let Some(then) = then {
        git(&["read-tree", &format!("--prefix={folder}/"), then]).ok();
    }
    let tree = git(&["write-tree"]).line();
    let commit = ["commit-tree", &tree, "-p", "loopx", "-m", message];
    let commit = s.git(&commit).line();
    s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
    commit
}

#[test]
fn a_repair_that_took_operations_away_is_the_first_bad_commit() {
    let message = "loopx: repair\n\nLoopx-Event: repair\n";
    for is_gone in [false, true] {
        let s = loose();
        let then = s
            .git(&["rev-parse", &format!("loopx~1:sessions/{ID}")])
            .line();
        let bad = taken_back(
            &s,
            Some(&then).filter(|_| !is_gone).map(String::as_str),
            message,
        );
        let out = s.loopx(&["--json", "fsck"]).fails_with(1).json();
        assert_eq!(out["damages"][0]["since"], bad.as_str(), "{out:#}");
        s.loopx(&["fsck", "--repair"]).ok();
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert_eq!(operations(&s, ID).len(), 4);
        assert_whole(&s);
    }
}

#[test]
fn a_repair_that_would_take_operations_away_is_refused() {
    let s = loose();
    let folder = oid(&s, "");
    let index = s.root().join("index");
    let git = |args: &[&str]| s.call("git").args(args).env("GIT_INDEX_FILE", &index).run();
    // Another session that was never whole: without its first operation.
    git(&["read-tree", "loopx"]).ok();
    git(&["read-tree", "--prefix=sessions/other/", &folder]).ok();
    let list = git(&["ls-files", "sessions/other/ops"]).ok();
    let first = list.lines().next().expect("an operation").to_owned();
    git(&["rm", "--cached", "--quiet", &first]).ok();
    let tree = git(&["write-tree"]).line();
    let commit = ["commit-tree", &tree, "-p", "loopx", "-m", "by hand"];
    let commit = s.git(&commit).line();
    s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
    let out = s.loopx(&["--json", "fsck", "--repair"]).fails_with(70);
    assert_eq!(out.error_json()["error"]["code"], "repair_loses", "{out}");
    assert_eq!(tip(&s), commit);
    // Nothing of it was begun either.
    s.loopx(&["doctor", "--recover"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_shadow_that_cannot_be_read_keeps_nobody_from_going_on() {
    for way in ["--accept", "--recover"] {
        let s = loose();
        let torn = tip(&s);
        // Somebody helped himself, as with any branch of git.
        s.git(&["update-ref", "refs/heads/loopx", "loopx~1"]).ok();
        let before = tip(&s);
        tear(&s, &torn);
        s.loopx(&["status"]).fails_with(70).says("git loopx doctor");
        s.loopx(&["doctor", way]).ok();
        assert_eq!(tip(&s), before, "{way}");
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        s.loopx(&["fsck"]).says("all whole").ok();
    }
}

#[test]
fn n3_a_repair_that_git_failed_at_leaves_no_report_of_its_crash() {
    let s = loose();
    let id = oid(&s, "/spec.md");
    tear(&s, &id);
    s.program(
        "git",
        "#!/bin/sh\nPATH=${PATH#*:}\ncase \"$*\" in *fast-import*) trap '' XFSZ; ulimit -f 0;; esac\nexec git \"$@\"\n",
    );
    let theirs = ".git/fast_import_crash_1";
    s.write(theirs, "theirs");
    let out = s.loopx(&["fsck", "--repair"]);
    assert_ne!(out.code, Some(0), "{out}");
    let reports = || {
        let files = fs::read_dir(s.path().join(".git")).expect("the git dir");
        let names = files.map(|file| file.expect("a file").file_name().into_string());
        let names = names.map(|name| name.expect("UTF-8"));
        let found: Vec<String> = names.filter(|name| name.contains("crash")).collect();
        found
    };
    assert_eq!(reports(), ["fast_import_crash_1"]);
    fs::remove_file(s.root().join("bin/git")).expect("the program");
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(reports(), ["fast_import_crash_1"]);
    assert_whole(&s);
}
