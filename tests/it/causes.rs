//! Each message names the real cause (T11 of the store's findings): a missing temporary folder, a disk that is
//! full, too many open files, a file that may not be read. None of them is damage, and none is a lock.

use crate::support::store::{ID, READY, assert_whole, put, started};
use crate::support::{Call, LOOPX, Output, Sandbox};
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn t11_a_temporary_folder_that_is_missing_is_named_and_refused() {
    let s = started();
    for args in [&["run", "--", "true"][..], &["demo"]] {
        let call = s.call(LOOPX).args(args).env("TMPDIR", "/nonexistent");
        let out = call.run().fails_with(1);
        for words in ["needs a temporary folder", "/nonexistent", "set TMPDIR"] {
            assert!(out.stderr.contains(words), "`{words}`\n{out}");
        }
    }
    let call = s.call(LOOPX).args(&["--json", "run", "--", "true"]);
    let out = call.env("TMPDIR", "/nonexistent").run().fails_with(1);
    let error = out.error_json();
    assert_eq!(error["error"]["code"], "temporary_folder_missing", "{out}");
    s.loopx(&["run", "--", "true"]).ok();
}

/// A command that may have only so many files open.
fn limited<'s>(s: &'s Sandbox, files: u32, args: &[&str]) -> Call<'s> {
    // The standard streams of the shell are what it has: dash opens none of its own for this.
    let script = format!("ulimit -n {files}; exec '{LOOPX}' \"$@\"");
    s.call("sh").args(&["-c", &script, "sh"]).args(args)
}

#[test]
fn t11_too_many_open_files_are_said_to_be_that_whatever_could_not_be_opened() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let mut refused = 0;
    // Loose objects, packs of ours, and one of git's.
    for packed in [false, true] {
        if packed {
            s.git(&["gc", "--quiet"]).ok();
        }
        for files in 4..12 {
            for args in [
                &["status"][..],
                &["list"],
                &["fsck"],
                &["undo"],
                &["verify"],
            ] {
                let out = limited(&s, files, args).run();
                if out.code == Some(0) {
                    if args == ["undo"] {
                        s.loopx(&["redo"]).ok();
                    }
                    continue;
                }
                refused += 1;
                let told = out.stderr.contains("Too many open files");
                assert!(told, "{files} files\n{out}");
                for words in ["not found", "no match", "internal error", "not in this"] {
                    assert!(!out.stderr.contains(words), "`{words}` {files}\n{out}");
                }
                assert_eq!(out.code, Some(1), "{files} files\n{out}");
            }
        }
    }
    assert!(refused > 10, "{refused}");
    assert_whole(&s);
}

/// Runs as somebody who may not do everything: root is asked to be another user.
fn as_nobody(s: &Sandbox, args: &[&str]) -> Output {
    const NOBODY: u32 = 61_003;
    let root = s.root();
    // Of a process the owner is its user.
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return s.loopx(args);
    }
    let words = ["-R", &format!("{NOBODY}"), root.to_str().expect("UTF-8")];
    let owned = std::process::Command::new("chown").args(words).status();
    assert!(owned.expect("chown").success());
    let program = root.join("git-loopx");
    if !program.exists() {
        crate::support::copy_program(&program);
    }
    s.call(program).args(args).run_as(|command| {
        use std::os::unix::process::CommandExt;
        command.uid(NOBODY).gid(NOBODY);
    })
}

#[test]
fn t11_what_may_not_be_read_is_named_and_is_neither_locked_nor_missing() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let commit = s.git(&["rev-parse", "HEAD"]).line();
    let object = format!(".git/objects/{}", &commit[..2]);
    let loose = format!("{object}/{}", &commit[2..]);
    for path in [
        ".git/HEAD",
        ".git/refs/heads/loopx",
        ".git/refs/heads/main",
        ".git/objects/pack",
        &object,
        &loose,
    ] {
        let mode = s.mode(path);
        s.chmod(path, 0);
        for args in [&["-s", ID, "status"][..], &["-s", ID, "run", "--", "true"]] {
            let out = as_nobody(&s, args);
            if out.code == Some(0) {
                continue;
            }
            assert_eq!(out.code, Some(1), "{path}\n{out}");
            assert!(out.stderr.contains("Permission denied"), "{path}\n{out}");
            for words in ["locked", "not found", "internal error", "not in this"] {
                assert!(!out.stderr.contains(words), "`{words}` {path}\n{out}");
            }
        }
        let refused = as_nobody(&s, &["-s", ID, "status"]).code == Some(1);
        assert!(refused, "{path}");
        s.chmod(path, mode);
    }
    as_nobody(&s, &["status"]).ok();
}

#[test]
fn t11_an_index_that_may_not_be_written_is_held_by_nobody() {
    let s = started();
    s.loopx(&["adr", "new", "Keep it"]).ok();
    as_nobody(&s, &["list"]).ok();
    s.chmod(".git", 0o555);
    let out = as_nobody(&s, &["adr", "promote"]);
    s.chmod(".git", 0o755);
    let out = out.fails_with(1);
    assert!(out.stderr.contains("Permission denied"), "{out}");
    assert!(!out.stderr.contains("has held"), "{out}");
}

#[test]
fn q16_a_session_that_cannot_be_judged_is_listed_with_the_cause() {
    let s = Sandbox::new();
    s.commit_file("a.txt", "a\n", "a").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.commit_file("b.txt", "b\n", "b").ok();
    let tree = s.git(&["rev-parse", "HEAD^{tree}"]).line();
    s.loopx(&["start", "--id", "fix", "Fix it"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    let (folder, file) = tree.split_at(2);
    std::fs::remove_file(s.path().join(format!(".git/objects/{folder}/{file}"))).expect("a tree");
    let said = s.loopx(&["list"]);
    let said = said.says("warning: session fix is not judged: ");
    assert_eq!(said.code, Some(0), "{said}");
    assert!(!said.stdout.contains("touched last"), "{said}");
    let row = s.loopx(&["--json", "list"]).json()["sessions"][0].clone();
    assert_eq!(row["judged"], false, "{row}");
    assert!(row["unjudged"].is_string(), "{row}");
}
