//! What a power cut leaves: each file that we write or read, cut off at some length, in turn. The next
//! command works, or says in one sentence what is wrong; it never panics, and there is a way back
//! (reference git-stores, 6, 5).

use crate::support::store::{ID, assert_whole, begin, operations, put, tip};
use crate::support::{LOOPX, Output, Sandbox};
use std::fs;
use std::path::{Path, PathBuf};

/// A session with a few steps, in a repository that is set up as `config` says.
fn session(config: &[(&str, &str)]) -> Sandbox {
    let s = Sandbox::new();
    for (key, value) in config {
        s.git(&["config", key, value]).ok();
    }
    begin(&s);
    put(&s, "spec.md", "# One\n").ok();
    s.loopx(&["fsck"]).ok();
    s
}

/// The file at half its length, or without anything.
fn cut(file: &Path, to: fn(u64) -> u64) {
    let len = fs::metadata(file).expect("a file").len();
    let mut permissions = fs::metadata(file).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    fs::set_permissions(file, permissions).expect("a mode");
    let open = fs::OpenOptions::new().write(true).open(file).expect("open");
    open.set_len(to(len)).expect("truncate");
}

const CUTS: [fn(u64) -> u64; 3] = [|_| 0, |len| len / 2, |len| len.saturating_sub(1)];

/// Runs a command; whatever happened, it is said in one document, with a code of ours.
fn answers(s: &Sandbox, args: &[&str], about: &str) -> Output {
    let out = s.call(LOOPX).args(&["--json"]).args(args).run();
    assert!(!out.stderr.contains("panicked"), "{about}\n{out}");
    let code = out
        .code
        .unwrap_or_else(|| panic!("{about}: ended by a signal\n{out}"));
    assert!([0, 1, 3, 4, 5, 6, 70].contains(&code), "{about}\n{out}");
    if code != 0 && out.stdout.is_empty() {
        let error = out.error_json();
        let message = error["error"]["message"].as_str().unwrap_or_default();
        assert!(
            !message.is_empty() && !message.contains('\n'),
            "{about}\n{out}"
        );
    }
    out
}

const COMMANDS: [&[&str]; 6] = [
    &["list"],
    &["-s", ID, "status"],
    &["-s", ID, "log"],
    &["-s", ID, "run", "--", "true"],
    &["fsck", "--full"],
    &["doctor"],
];

#[test]
fn what_is_only_remembered_costs_nothing_when_it_is_torn() {
    for to in &CUTS[..2] {
        let s = session(&[]);
        let git = s.path().join(".git");
        fs::write(
            git.join("loopx/list-cache.json"),
            "{\"format\":1,\"by_tree\":{}}",
        )
        .expect("write");
        let mut known: Vec<PathBuf> = Vec::new();
        for (path, ..) in s.snapshot(".git/loopx") {
            known.push(git.join("loopx").join(path));
        }
        known.push(git.join("refs/loopx/shadow/loopx"));
        assert!(known.len() >= 4, "{known:?}");
        for file in known {
            let about = file.display().to_string();
            let before = operations(&s, ID).len();
            if !file.is_file() {
                continue;
            }
            cut(&file, *to);
            let out = answers(&s, &["-s", ID, "run", "--", "true"], &about);
            assert_eq!(out.code, Some(0), "{about}\n{out}");
            for args in [&["list"][..], &["-s", ID, "status"], &["fsck"]] {
                let out = answers(&s, args, &about);
                assert_eq!(out.code, Some(0), "{about}\n{out}");
            }
            answers(&s, &["doctor", "--fix"], &about);
            assert_eq!(operations(&s, ID).len(), before + 1, "{about}");
        }
        assert_whole(&s);
    }
}

/// Every file below a folder.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

#[test]
fn every_pack_file_that_is_torn_is_answered_in_one_sentence() {
    // Loose objects are left out: libgit2 never comes back from one that ends in its middle. We write none.
    let s = session(&[]);
    let objects = s.path().join(".git/objects/pack");
    let known = tip(&s);
    let all = files(&objects);
    // Some of each kind: they lie in the order of their names.
    let every = (all.len() / 12).max(1);
    for (n, file) in all.into_iter().step_by(every).enumerate() {
        let about = file.display().to_string();
        let whole = fs::read(&file).expect("a file");
        cut(&file, CUTS[n % CUTS.len()]);
        for args in &COMMANDS[1..5] {
            answers(&s, args, &about);
        }
        // Put back as a backup would: everything is there again.
        fs::write(&file, whole).expect("write");
        if tip(&s) != known {
            s.git(&["update-ref", "refs/heads/loopx", &tip(&s)]).ok();
        }
    }
    answers(&s, &["fsck", "--full"], "at the end");
    assert_eq!(s.loopx(&["fsck", "--full"]).code, Some(0));
}

#[test]
fn torn_refs_are_named_and_come_back() {
    for to in CUTS {
        let s = session(&[]);
        let known = tip(&s);
        let file = s.path().join(".git/refs/heads/loopx");
        cut(&file, to);
        for args in COMMANDS {
            answers(&s, args, "the branch");
        }
        // The last character is the line's end: git reads it without.
        if s.git(&["rev-parse", "--verify", "--quiet", "refs/heads/loopx"])
            .code
            != Some(0)
        {
            s.loopx(&["doctor", "--recover"]).ok();
            assert_eq!(tip(&s), known);
        }
        assert_whole(&s);
        let packed = s.path().join(".git/packed-refs");
        s.git(&["pack-refs", "--all"]).ok();
        cut(&packed, to);
        for args in COMMANDS {
            answers(&s, args, "packed refs");
        }
    }
}
