//! Clones that hold less than the whole: partial, shallow, one branch, nothing to write to, nobody to
//! be (reference git-stores, section 6: 5, 8, 9).

use crate::support::store::{ID, begin, tip};
use crate::support::{LOOPX, Output, Sandbox, copy_program};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// A repository with two sessions that serves partial clones.
fn served() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
            s.git(&["config", key, "true"]).ok();
        }
        begin(&s);
        s.loopx(&["run", "--", "true"]).ok();
        s.loopx(&["start", "Second", "--no-branch"]).ok();
        s
    })
}

fn clone(s: &Sandbox, options: &[&str]) -> PathBuf {
    let source = format!("file://{}", s.path().display());
    let args = [&["clone", "--quiet"], options, &[&source, "clone"]].concat();
    s.git_in("..", &args).ok();
    s.root().join("clone")
}

/// Counts the fetches that git made from the remote.
fn fetches(trace: &Path) -> usize {
    let text = std::fs::read_to_string(trace).unwrap_or_default();
    let begun = |line: &&str| line.contains("run_command: git") && line.contains(" fetch ");
    text.lines().filter(begun).count()
}

#[test]
fn a_partial_clone_fetches_what_sessions_need_at_once() {
    for (filter, at_most) in [("blob:none", 1), ("tree:0", 2)] {
        let s = served();
        let clone = clone(&s, &[&format!("--filter={filter}")]);
        let trace = s.root().join("trace");
        let run = |args: &[&str]| -> Output {
            let call = s.call(LOOPX).cwd(&clone).args(args);
            call.env("GIT_TRACE", &trace).run()
        };
        run(&["init"]).ok();
        run(&["-s", ID, "status"]).says("auth-timeout  ").ok();
        run(&["list"]).says("second").ok();
        run(&["fsck"]).says("2 active sessions, all whole").ok();
        assert!(fetches(&trace) <= at_most, "{filter}: {}", fetches(&trace));
        run(&["-s", ID, "run", "--", "true"]).ok();
        s.git_in(&clone, &["fsck"]).ok();
    }
}

#[test]
fn in_a_partial_clone_a_hook_fetches_nothing_and_says_one_line() {
    let s = served();
    let clone = clone(&s, &["--filter=blob:none"]);
    s.git_in(&clone, &["branch", "--quiet", "loopx", "origin/loopx"])
        .ok();
    s.write(clone.join("new.txt"), "new\n");
    s.git_in(&clone, &["add", "new.txt"]).ok();
    let trace = s.root().join("trace");
    let hook = || {
        let call = s.call(LOOPX).cwd(&clone).args(&["hook", "pre-commit"]);
        call.env("GIT_TRACE", &trace).run()
    };
    let passed = hook();
    assert_eq!(passed.stderr.lines().count(), 1, "{passed}");
    passed.says("left out of this partial clone").ok();
    assert_eq!(fetches(&trace), 0);
    // Once a command has fetched, the gate holds.
    s.loopx_in(&clone, &["-s", ID, "status"]).ok();
    hook().fails_with(1).says("takes no code");
    assert_eq!(fetches(&trace), 0);
}

#[test]
fn a_partial_clone_whose_remote_is_gone_refuses_in_one_sentence() {
    let s = served();
    let clone = clone(&s, &["--filter=tree:0"]);
    s.git_in(&clone, &["remote", "set-url", "origin", "file:///nowhere"])
        .ok();
    let before = s.snapshot(clone.join(".git"));
    let out = s.loopx_in(&clone, &["init"]).fails_with(1);
    let out = out.says("git cannot fetch it");
    assert_eq!(out.stderr.trim().lines().count(), 3, "{out}");
    let mut after = s.snapshot(clone.join(".git"));
    after.retain(|(path, ..)| !path.ends_with("loopx/lock"));
    assert_eq!(after, before);
}

#[test]
fn a_full_clone_stays_full_and_a_shallow_one_shallow() {
    let s = served();
    for options in [&[][..], &["--depth=1", "--no-single-branch"]] {
        let clone = clone(&s, options);
        let config = s.bytes(clone.join(".git/config"));
        let shallow = s.exists(clone.join(".git/shallow"));
        s.loopx_in(&clone, &["init"]).ok();
        s.loopx_in(&clone, &["-s", ID, "run", "--", "true"]).ok();
        s.loopx_in(&clone, &["fsck"]).ok();
        assert_eq!(s.bytes(clone.join(".git/config")), config);
        assert_eq!(s.exists(clone.join(".git/shallow")), shallow);
        assert_eq!(shallow, !options.is_empty());
        std::fs::remove_dir_all(clone).expect("a folder");
    }
}

/// A pipeline's clone has one commit of one branch, no branch of sessions, no name, no home, and a repository that
/// belongs to somebody else or may not be written.
#[test]
fn in_a_pipeline_a_gate_decides_from_nothing_and_makes_nothing() {
    let s = served();
    let clone = clone(&s, &["--depth=1", "--single-branch", "--branch=main"]);
    s.git_in(&clone, &["checkout", "--quiet", "--detach"]).ok();
    let binary = s.root().join("home/git-loopx");
    copy_program(&binary);
    let is_root = s.path().metadata().expect("a folder").uid() == 0;
    if is_root {
        // Everything below the sandbox is nobody's, and nobody runs.
        let own = [s.root(), s.root().join("home"), s.root().join("tmp")];
        let all = walk(&clone);
        for path in own.iter().chain(&all) {
            chown(path, Some(65_534), Some(65_534)).expect("a new owner");
        }
    }
    for path in walk(&clone.join(".git")) {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        s.chmod(path, mode);
    }
    let run = |args: &[&str]| {
        let mut call = s.call(&binary).cwd(&clone).args(args);
        for name in ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"] {
            call = call.without_env(name);
        }
        for role in ["AUTHOR", "COMMITTER"] {
            for part in ["NAME", "EMAIL", "DATE"] {
                call = call.without_env(format!("GIT_{role}_{part}"));
            }
        }
        let mut command = call.command();
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let out = command.output().expect("an end");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        (out.status.code(), said)
    };
    let before = s.snapshot(&clone);
    for event in ["pre-commit", "commit-msg"] {
        assert_eq!(run(&["hook", event]), (Some(0), String::new()));
    }
    let (code, said) = run(&["verify", "HEAD"]);
    assert!(matches!(code, Some(0 | 1 | 4)), "{code:?} {said}");
    assert!(!said.contains("internal error"), "{said}");
    for args in [&["status"][..], &["list"], &["fsck"]] {
        let (code, said) = run(args);
        assert_eq!(code, Some(4), "{args:?} {said}");
    }
    for args in [&["init"][..], &["start", "x"]] {
        let (code, said) = run(args);
        assert_eq!(code, Some(1), "{args:?} {said}");
        assert!(!said.contains("internal error"), "{said}");
    }
    assert_eq!(s.snapshot(&clone), before);
    for path in walk(&clone.join(".git")) {
        s.chmod(&path, 0o755);
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            found.extend(walk(&entry.path()))
        } else {
            found.push(entry.path())
        }
    }
    found
}

/// A limit of nothing for every file: what a full disk says, without one.
#[test]
fn a_full_disk_is_named_and_changes_nothing() {
    for option in ["--ref-format=files", "--ref-format=reftable"] {
        let s = Sandbox::empty("repo");
        s.git(&["init", "--quiet", option]).ok();
        begin(&s);
        s.git(&["branch", "side"]).ok();
        let before = (tip(&s), s.git(&["for-each-ref"]).ok());
        for command in [
            "run -- true",
            "start other --no-branch",
            "use auth-timeout --branch side",
        ] {
            let script = format!("trap '' XFSZ; ulimit -f 0; exec git-loopx {command}");
            let out = s.call("sh").args(&["-c", &script]).run().fails_with(1);
            assert!(!out.stderr.contains("internal error"), "{out}");
            let out = out.says("File too large");
            assert_eq!((tip(&s), s.git(&["for-each-ref"]).ok()), before, "{out}");
        }
        s.loopx(&["run", "--", "true"]).ok();
        crate::support::store::assert_whole(&s);
    }
}

/// Objects that lie in another repository alone are read from there, written nowhere twice, and missed when it goes.
#[test]
fn objects_of_an_alternate_are_read_and_missed_when_they_go() {
    let s = served();
    s.git(&["clone", "--quiet", "--shared", ".", "../shared"])
        .ok();
    let dir = s.root().join("shared");
    s.loopx_in(&dir, &["init"]).ok();
    s.loopx_in(&dir, &["-s", ID, "run", "--", "true"]).ok();
    let known = s.git_in(&dir, &["rev-parse", "loopx^"]).line();
    for args in [
        &["gc", "--prune=now", "--quiet"][..],
        &["repack", "-ad", "--quiet"],
    ] {
        s.git(args).ok();
        s.loopx_in(&dir, &["-s", ID, "run", "--", "true"]).ok();
        s.loopx_in(&dir, &["fsck"]).says("all whole").ok();
    }
    // The other repository forgets it all.
    for name in ["refs/heads/loopx", "refs/loopx/shadow/loopx"] {
        s.git(&["update-ref", "-d", name]).ok();
    }
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
    s.git(&["gc", "--prune=now", "--quiet"]).ok();
    s.git(&["cat-file", "-e", &known]).fails_with(1);
    let before = s.snapshot(dir.join(".git/refs"));
    for args in [
        &["-s", ID, "status"][..],
        &["-s", ID, "run", "--", "true"],
        &["list"],
        &["sync"],
        &["fsck"],
    ] {
        let out = s.loopx_in(&dir, args);
        let said = format!("{}{}", out.stdout, out.stderr);
        assert!(
            !said.contains("panicked") && !said.contains("libgit2"),
            "{out}"
        );
        assert_ne!(out.code, Some(0), "{out}");
    }
    assert_eq!(s.snapshot(dir.join(".git/refs")), before);
}
