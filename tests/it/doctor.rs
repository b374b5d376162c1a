//! `doctor` as the one that decides: histories that were put aside, a deletion that was meant, working
//! copies without a session, and refs that a power cut has torn.

use crate::support::archive::{ID as ARCHIVED, Yard};
use crate::support::drive::{Drive, ID as DEMO};
use crate::support::store::{ID, assert_whole, put, started, tip};
use crate::support::{LOOPX, Sandbox};
use serde_json::Value;
use std::fs;

fn row(s: &Sandbox, what: &str) -> Value {
    let checks = s.loopx(&["--json", "doctor"]).json()["checks"].clone();
    let rows = checks.as_array().expect("checks").iter();
    let mut rows = rows.filter(|row| row["what"] == what);
    rows.next().unwrap_or_else(|| panic!("no {what}")).clone()
}

/// Replaces the branch by another history; gives its tip.
fn force(s: &Sandbox, message: &str) -> String {
    let tree = s.git(&["rev-parse", "loopx~1^{tree}"]).line();
    let forced = s
        .git(&["commit-tree", &tree, "-p", "loopx~1", "-m", message])
        .line();
    s.git(&["update-ref", "refs/heads/loopx", &forced]).ok();
    forced
}

#[test]
fn each_history_that_is_put_aside_is_kept_and_shown_up_to_a_bound() {
    let s = started();
    assert_eq!(row(&s, "displaced")["level"], "fine");
    let known = tip(&s);
    let mut forced = Vec::new();
    for n in 1..=9 {
        forced.push(force(&s, &format!("forced {n}")));
        let out = s.loopx(&["--json", "doctor", "--recover"]).json();
        let kept = format!("refs/loopx/displaced-{n}");
        assert_eq!(out["recovered"]["kept"], kept);
        assert_eq!(s.git(&["rev-parse", &kept]).line(), forced[n - 1]);
        assert_eq!(tip(&s), known);
    }
    // The same once more takes no room.
    s.git(&["update-ref", "refs/heads/loopx", &forced[3]]).ok();
    s.loopx(&["doctor", "--recover"])
        .says("in refs/loopx/displaced-4")
        .ok();
    let shown = row(&s, "displaced");
    assert_eq!(shown["level"], "note");
    assert!(
        shown["found"]
            .as_str()
            .is_some_and(|text| text.contains("displaced-9 at "))
    );
    assert!(
        shown["help"]
            .as_str()
            .is_some_and(|text| text.contains("git update-ref -d"))
    );
    let one_more = force(&s, "forced too often");
    let refused = s.loopx(&["--json", "doctor", "--recover"]).fails_with(1);
    assert_eq!(refused.error_json()["error"]["code"], "displaced_full");
    assert_eq!(tip(&s), one_more);
    s.git(&["update-ref", "-d", "refs/loopx/displaced-2"]).ok();
    s.loopx(&["doctor", "--recover"])
        .says("in refs/loopx/displaced-2")
        .ok();
    assert_eq!(tip(&s), known);
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
    for commit in forced.iter().filter(|commit| **commit != forced[1]) {
        s.git(&["cat-file", "-e", commit]).ok();
    }
}

#[test]
fn what_is_given_up_by_going_on_from_a_rewound_or_another_branch_is_kept() {
    let s = started();
    let known = tip(&s);
    s.git(&["update-ref", "refs/heads/loopx", "loopx~1"]).ok();
    let out = s.loopx(&["--json", "doctor", "--accept"]).json();
    assert_eq!(out["kept"], "refs/loopx/displaced-1");
    for name in ["One", "Two"] {
        s.loopx(&["start", "--no-branch", name]).ok();
    }
    let before = tip(&s);
    force(&s, "forced");
    s.loopx(&["doctor", "--accept"])
        .says("kept in refs/loopx/displaced-2")
        .ok();
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
    for commit in [known, before] {
        s.git(&["cat-file", "-e", &commit]).ok();
    }
}

#[test]
fn a_branch_that_something_foreign_replaced_comes_back_and_the_foreign_commit_stays() {
    let s = started();
    let known = tip(&s);
    s.git(&["update-ref", "refs/heads/loopx", "HEAD"]).ok();
    for args in [&["status"][..], &["fsck"], &["init"]] {
        let refused = s.loopx(args);
        assert_ne!(refused.code, Some(0), "{refused}");
        refused.says("doctor --recover");
    }
    assert_eq!(row(&s, "branch")["help"], "git loopx doctor --recover");
    s.loopx(&["doctor", "--recover"]).ok();
    assert_eq!(tip(&s), known);
    let kept = s.git(&["rev-parse", "refs/loopx/displaced-1"]).line();
    assert_eq!(kept, s.git(&["rev-parse", "HEAD"]).line());
}

#[test]
fn a_deletion_can_be_accepted_and_nothing_is_lost_by_it() {
    let s = started();
    let known = tip(&s);
    s.git(&["branch", "-D", "loopx"]).ok();
    s.loopx(&["status"]).fails_with(4).says("is gone");
    let out = s.loopx(&["--json", "doctor", "--accept"]).json();
    assert_eq!(out["accepted"], Value::Null);
    assert_eq!(out["kept"], "refs/loopx/displaced-1");
    assert_eq!(
        s.git(&["rev-parse", "refs/loopx/displaced-1"]).line(),
        known
    );
    s.loopx(&["status"])
        .fails_with(4)
        .says("is not initialised");
    s.loopx(&["doctor", "--accept"]).fails_with(4);
    // A new beginning, from the constant root.
    s.loopx(&["init"]).ok();
    s.loopx(&["list"]).ok();
    assert_ne!(tip(&s), known);
    s.loopx(&["--json", "doctor"]).ok();
    // And the way back is still there.
    s.git(&["update-ref", "refs/heads/loopx", &known]).ok();
    s.loopx(&["doctor", "--accept"]).ok();
    s.loopx(&["-s", ID, "status"]).ok();
    assert_whole(&s);
}

#[test]
fn working_copies_without_a_session_go_where_all_of_them_is_stored() {
    let d = Drive::done();
    let other = d.root().join("other");
    let path = other.to_str().expect("UTF-8");
    d.git(&["worktree", "add", "--quiet", "-b", "other", path])
        .ok();
    d.loopx_in(&other, &["-s", DEMO, "checkout"]).ok();
    assert_eq!(row(&d, "copies")["level"], "fine");
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&["merge", "--quiet", DEMO]).ok();
    d.does(&["-s", DEMO, "archive"]);
    // Of a session that is not there: nothing knows what is in it.
    d.write(".loopx/nobody/spec.md", "mine alone\n");
    let copy = other.join(format!(".loopx/{DEMO}"));
    let note = d
        .path()
        .join(format!(".git/worktrees/other/loopx/{DEMO}.json"));
    assert!(copy.join("spec.md").is_file() && note.is_file());
    let shown = row(&d, "copies")["found"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(
        shown.contains("nobody (the session is not there, and spec.md"),
        "{shown}"
    );
    assert!(shown.contains("(the session is archived)"), "{shown}");
    // An edit that is stored nowhere keeps the whole of it.
    let text = fs::read_to_string(copy.join("plan.md")).expect("a file");
    fs::write(copy.join("plan.md"), format!("{text}more\n")).expect("write");
    d.loopx(&["doctor", "--fix"])
        .says("plan.md differs from what is stored")
        .ok();
    assert!(copy.join("spec.md").is_file() && note.is_file());
    fs::write(copy.join("plan.md"), text).expect("write");
    fs::write(copy.join("notes.txt"), "x").expect("write");
    d.loopx(&["doctor", "--fix"]).ok();
    assert!(copy.join("spec.md").is_file());
    fs::remove_file(copy.join("notes.txt")).expect("remove");
    d.loopx(&["doctor"]).ok();
    assert!(copy.join("spec.md").is_file(), "only --fix removes");
    let fixed = d.loopx(&["doctor", "--fix"]).says("removed ");
    fixed.ok();
    assert!(!copy.exists() && !note.exists());
    assert_eq!(d.read(".loopx/nobody/spec.md"), "mine alone\n");
    d.git(&["worktree", "remove", path]).ok();
}

/// Cuts a file short, as a power cut leaves it.
fn tear(s: &Sandbox, file: &str, bytes: usize) {
    let path = s.path().join(".git").join(file);
    let mut whole = fs::read(&path).expect("a file");
    whole.truncate(bytes);
    fs::write(&path, whole).expect("write");
}

#[test]
fn a_torn_branch_and_shadow_are_found_in_gits_own_log() {
    for bytes in [0, 7] {
        let s = started();
        put(&s, "spec.md", "# One\n").ok();
        let known = tip(&s);
        tear(&s, "refs/heads/loopx", bytes);
        s.loopx(&["status"]).fails_with(70);
        let shown = row(&s, "branch");
        let found = shown["found"].as_str().expect("text");
        assert!(
            found.contains(&format!("this clone knew it at {}", &known[..10])),
            "{found}"
        );
        assert_eq!(shown["help"], "git loopx doctor --recover");
        // Everything that is ours torn too: git's log is left.
        tear(&s, "refs/loopx/shadow/loopx", bytes);
        tear(&s, "loopx/known/loopx", bytes);
        let found = row(&s, "branch")["found"].clone();
        let told = format!("git's log of it has {} as the last state", &known[..10]);
        assert!(
            found.as_str().is_some_and(|text| text.contains(&told)),
            "{found}"
        );
        s.loopx(&["doctor", "--recover"]).ok();
        assert_eq!(tip(&s), known);
        s.loopx(&["doctor", "--fix"]).ok();
        put(&s, "spec.md", "# Two\n").ok();
        assert_whole(&s);
    }
}

#[test]
fn a_tip_that_cannot_be_read_is_told_with_the_last_one_that_can() {
    let s = started();
    put(&s, "spec.md", "# One\n").ok();
    let before = tip(&s);
    s.git(&["config", "loopx.fsync", "false"]).ok();
    put(&s, "spec.md", "# Two\n").ok();
    let lost = tip(&s);
    // The pack of the last step, as it is when its blocks never reached the disk.
    let packs = s.path().join(".git/objects/pack");
    for entry in fs::read_dir(packs).expect("packs").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|kind| kind == "idx") {
            let shown = s
                .call("git")
                .args(&["verify-pack", "-v"])
                .args(&[&path])
                .run();
            if shown.stdout.contains(&lost) {
                let pack = path.with_extension("pack");
                let len = fs::metadata(&pack).expect("a pack").len();
                let file = fs::OpenOptions::new()
                    .write(true)
                    .open(&pack)
                    .expect("open");
                file.set_len(len / 3).expect("truncate");
            }
        }
    }
    let out = s.loopx(&["-s", ID, "status"]).fails_with(70);
    assert!(!out.stderr.contains("panicked"), "{out}");
    let shown = row(&s, "branch");
    let told = format!("git's log of it has {} as the last state", &before[..10]);
    assert!(
        shown["found"]
            .as_str()
            .is_some_and(|text| text.contains(&told)),
        "{shown:#}"
    );
    s.loopx(&["doctor", "--recover"]).ok();
    assert_eq!(tip(&s), before);
    s.loopx(&["-s", ID, "status"]).ok();
    s.loopx(&["start", "--no-branch", "Another"]).ok();
}

/// Kills an archive between its note and the move of the branch; gives the lock that it then held.
fn killed_while_moving(y: &Yard) -> (std::path::PathBuf, String) {
    let call = y.call(LOOPX).args(&["--session", ARCHIVED, "archive"]);
    let out = call.env("LOOPX_FAILPOINT", "step-written").run();
    assert_eq!(out.code, None, "{out}");
    let notes = y.read(".git/loopx/lock");
    let commit = notes
        .lines()
        .find_map(|line| line.strip_prefix("refs/heads/shorten "))
        .unwrap_or_else(|| panic!("no note of the branch: {notes}"));
    let lock = y.path().join(".git/refs/heads/shorten.lock");
    (lock, commit.to_owned())
}

#[test]
fn a_lock_of_a_code_branch_that_a_kill_left_is_shown_and_goes_with_the_next_command() {
    for fix in [true, false] {
        for whole in [true, false] {
            let y = Yard::ready();
            let (lock, commit) = killed_while_moving(&y);
            fs::write(&lock, if whole { commit } else { String::new() }).expect("write");
            let shown = row(&y, "ref_locks");
            assert_eq!(shown["level"], "note");
            assert_eq!(shown["help"], "git loopx doctor --fix");
            assert!(
                shown["found"]
                    .as_str()
                    .is_some_and(|text| text.contains("refs/heads/shorten.lock"))
            );
            assert!(lock.exists(), "only --fix removes");
            if fix {
                y.loopx(&["doctor", "--fix"])
                    .says("removed refs/heads/shorten.lock")
                    .ok();
                assert!(!lock.exists());
                assert_eq!(row(&y, "ref_locks")["level"], "fine");
            }
            y.archive(ARCHIVED, &[]).ok();
            y.archived_once(ARCHIVED, ARCHIVED);
            y.clean();
        }
    }
}

#[test]
fn a_lock_that_another_git_may_hold_stays_and_is_named() {
    let y = Yard::ready();
    let (lock, _) = killed_while_moving(&y);
    // Not where our killed run was going.
    let others = y.git(&["rev-parse", "HEAD"]).line();
    fs::write(&lock, &others).expect("write");
    y.loopx(&["adr", "new", "x"]).ok();
    for args in [
        &["--json", "--session", ARCHIVED, "archive"][..],
        &["--json", "adr", "promote"],
    ] {
        let out = y.loopx(args).fails_with(6);
        assert_eq!(out.error_json()["error"]["code"], "ref_locked", "{out}");
        out.says("refs/heads/shorten.lock stands in the way")
            .says("doctor --fix");
    }
    y.loopx(&["doctor", "--fix"]).ok();
    let shown = row(&y, "ref_locks");
    assert!(
        shown["found"]
            .as_str()
            .is_some_and(|text| text.contains("or was killed"))
    );
    assert!(
        shown["help"]
            .as_str()
            .is_some_and(|text| text.contains("remove that file"))
    );
    assert_eq!(fs::read_to_string(&lock).expect("a lock"), others);
    fs::remove_file(&lock).expect("remove");
    y.archive(ARCHIVED, &[]).ok();
    y.archived_once(ARCHIVED, ARCHIVED);
}

#[test]
fn a_lock_that_nobody_holds_any_more_is_a_problem_and_is_removed() {
    let s = started();
    let lock = s.path().join(".git/refs/heads/loopx.lock");
    let file = fs::File::create(&lock).expect("a lock");
    assert_eq!(row(&s, "ref_locks")["level"], "note");
    s.loopx(&["doctor", "--fix"]).ok();
    assert!(lock.exists());
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(hour_ago).expect("an older file");
    s.loopx(&["-s", ID, "run", "--", "true"])
        .fails_with(6)
        .says("git loopx doctor --fix");
    let shown = row(&s, "ref_locks");
    assert_eq!(shown["level"], "problem");
    s.loopx(&["doctor"]).fails_with(1);
    s.loopx(&["doctor", "--fix"]).says("loopx.lock").ok();
    assert!(!lock.exists());
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    assert_whole(&s);
}

#[test]
fn a_branch_whose_shadow_somebody_holds_is_not_accepted_in_words_alone() {
    let s = started();
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    s.git(&["update-ref", "refs/heads/loopx", "loopx~1"]).ok();
    let lock = s.path().join(".git/refs/loopx/shadow/loopx.lock");
    fs::write(&lock, "somebody\n").expect("a lock");
    s.loopx(&["doctor", "--accept"])
        .fails_with(6)
        .says("another process has locked it: the branch is not accepted yet");
    fs::remove_file(&lock).expect("removed");
    s.loopx(&["doctor", "--accept"]).ok();
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    assert_whole(&s);
}

/// A git that was killed together with us leaves the lock of the index, and then nobody can commit.
#[test]
fn n2_each_lock_of_git_that_nobody_holds_is_a_problem_and_is_removed() {
    let s = started();
    let linked = s.root().join("linked");
    let path = linked.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    let locks = [
        ".git/index.lock",
        ".git/worktrees/linked/index.lock",
        ".git/config.lock",
        ".git/packed-refs.lock",
        ".git/HEAD.lock",
        ".git/shallow.lock",
        ".git/config.worktree.lock",
        ".git/AUTO_MERGE.lock",
        ".git/reftable/tables.list.lock",
        ".git/worktrees/linked/HEAD.lock",
        ".git/worktrees/linked/config.worktree.lock",
    ];
    for lock in locks {
        let lock = s.path().join(lock);
        fs::create_dir_all(lock.parent().expect("a folder")).expect("a folder");
        let file = fs::File::create(&lock).expect("a lock");
        let shown = row(&s, "ref_locks");
        assert_eq!(shown["level"], "note", "{shown}");
        let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        file.set_modified(hour_ago).expect("an older file");
        assert_eq!(row(&s, "ref_locks")["level"], "problem");
        s.loopx(&["doctor", "--fix"]).says(".lock").ok();
        assert!(!lock.exists());
    }
    assert_eq!(row(&s, "ref_locks")["level"], "fine");
}

#[test]
fn w5_a_lock_of_another_program_is_no_lock_of_git() {
    let s = started();
    let lock = s.path().join(".git/tool.lock");
    let file = fs::File::create(&lock).expect("a lock");
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(hour_ago).expect("an older file");
    assert_eq!(row(&s, "ref_locks")["level"], "fine");
    s.loopx(&["doctor", "--fix"]).ok();
    assert!(lock.exists());
}

#[test]
fn w5_a_lock_under_which_git_works_in_another_worktree_stays() {
    let s = started();
    let linked = s.root().join("linked");
    let path = linked.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    let lock = s.path().join(".git/worktrees/linked/index.lock");
    let file = fs::File::create(&lock).expect("a lock");
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(hour_ago).expect("an older file");
    let mut git = std::process::Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(&linked)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("a git");
    assert_eq!(row(&s, "ref_locks")["level"], "note");
    drop(s.loopx(&["doctor", "--fix"]));
    assert!(lock.exists());
    drop(git.stdin.take());
    git.wait().expect("its end");
}

#[test]
fn a_setting_that_says_nothing_is_a_problem() {
    let s = started();
    assert_eq!(row(&s, "settings")["level"], "fine");
    s.git(&["config", "loopx.sync", "linera"]).ok();
    s.loopx(&["doctor"])
        .fails_with(1)
        .says("loopx.sync is `linera`, expected merge or linear");
}

/// A push that was killed leaves git's quarantine behind, and a fetch its pack.
#[test]
fn what_a_killed_push_left_is_named_and_taken_away_once_nobody_can_be_at_it() {
    let s = started();
    s.git(&["clone", "--quiet", "--bare", ".", "../server.git"])
        .ok();
    let server = s.root().join("server.git");
    let left = |age: &str| {
        let names = [
            format!("tmp_objdir-incoming-{age}/pack/tmp_pack_1"),
            format!("incoming-{age}/pack/tmp_pack_1"),
            format!("pack/tmp_pack_{age}"),
            format!("pack/tmp_idx_{age}"),
        ];
        for name in &names {
            s.write(server.join("objects").join(name), "x");
        }
        names.map(|name| name.trim_end_matches("/pack/tmp_pack_1").to_owned())
    };
    let old = left("Old");
    s.call("find")
        .args(&[
            "objects",
            "-depth",
            "-exec",
            "touch",
            "-d",
            "2 days ago",
            "{}",
            "+",
        ])
        .cwd(&server)
        .run()
        .ok();
    let young = left("Young");
    let doctor = |args: &[&str]| s.loopx_in(&server, &[&["--json", "doctor"], args].concat());
    let checks = doctor(&[]).json()["checks"].clone();
    let rows = checks.as_array().expect("checks");
    let row = rows.iter().find(|row| row["what"] == "leftovers");
    let row = row.expect("a row");
    let found = row["found"].as_str().expect("words");
    assert!(old.iter().all(|name| found.contains(name)), "{found}");
    assert!(!young.iter().any(|name| found.contains(name)), "{found}");
    doctor(&["--fix"]);
    let stands = |name: &String| server.join("objects").join(name).exists();
    assert!(!old.iter().any(stands) && young.iter().all(stands));
    s.git_in(&server, &["fsck", "--strict"]).ok();
}

#[test]
fn n13_a_lock_that_a_killed_git_left_is_named_and_waited_for() {
    let s = started();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    s.git(&["update-ref", "refs/loopx/import/elsewhere", &tip])
        .ok();
    let lock = s.path().join(".git/packed-refs.lock");
    std::fs::write(&lock, "").expect("a lock");
    let out = s.loopx(&["doctor", "--fix"]).fails_with(6);
    assert!(
        out.stderr.contains("packed-refs.lock stands in the way"),
        "{out}"
    );
    std::fs::remove_file(&lock).expect("no lock");
    s.loopx(&["doctor", "--fix"]).ok();

    let lock = s.path().join(".git/config.lock");
    std::fs::write(&lock, "").expect("a lock");
    let out = s.loopx(&["spec", "install-driver"]).fails_with(6);
    assert!(
        out.stderr.contains("config.lock stands in the way"),
        "{out}"
    );
}

#[test]
fn n5_a_folder_that_a_killed_command_was_filling_is_removed() {
    let s = started();
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
    let folders = ["exports", "staging"].map(|name| format!(".git/loopx/{name}/.tmpAbCdEf"));
    for folder in &folders {
        s.write(format!("{folder}/whole"), "text\n");
        let dir = fs::File::open(s.path().join(folder)).expect("the folder");
        assert!(row(&s, "leftovers")["found"] == "none");
        dir.set_modified(ago).expect("an old folder");
        s.loopx(&["doctor"]).says("/.tmpAbCdEf");
        s.loopx(&["doctor", "--fix"]).says("/.tmpAbCdEf").ok();
        assert!(!s.exists(folder));
    }
}

#[test]
fn n15_a_repair_that_fails_says_what_it_removed_before() {
    let s = started();
    let old = s.path().join(".git/loopx/.loopx-a1B2c3");
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
    let file = fs::File::create(&old).expect("a leftover");
    file.set_modified(ago).expect("an older file");
    s.program(
        "git",
        "#!/bin/sh\nPATH=${PATH#*:}\ncase \"$*\" in *'worktree list'*) echo 'fatal: no disk' >&2; exit 128;; esac\nexec git \"$@\"\n",
    );
    let out = s.loopx(&["doctor", "--fix"]);
    fs::remove_file(s.root().join("bin/git")).expect("the program");
    assert_ne!(out.code, Some(0), "{out}");
    assert!(!old.exists());
    out.says("; removed before that: loopx/.loopx-a1B2c3");
}
