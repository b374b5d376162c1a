//! Remains of a power cut: each file that we write or read, cut off at some length, in turn. The next command works, or
//! says in one sentence what is wrong; it never panics, and there is a way back (reference git-stores, 6, 5).

use crate::support::store::{ID, assert_whole, begin, operations, put, tip};
use crate::support::{LOOPX, Output, Sandbox};
use std::fs;
use std::path::{Path, PathBuf};

/// A session with a few steps, in a repository that is set up as `config` says.
fn session(config: &[(&str, &str)]) -> Sandbox {
    Sandbox::once(format!("{config:?}"), || {
        let s = Sandbox::new();
        for (key, value) in config {
            s.git(&["config", key, value]).ok();
        }
        begin(&s);
        put(&s, "spec.md", "# One\n").ok();
        s.loopx(&["fsck"]).ok();
        s
    })
}

/// The file at half its length, or without anything.
pub(crate) fn cut(file: &Path, to: fn(u64) -> u64) {
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
    // An end for a command that would have none: it is killed, and that is no answer of ours.
    let limited = s
        .call("timeout")
        .args(&["-s", "KILL", "60", LOOPX, "--json"]);
    let out = limited.args(args).run();
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
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&entry.path()))
        } else {
            found.push(entry.path())
        }
    }
    found.sort();
    found
}

#[test]
fn every_pack_file_that_is_torn_is_answered_in_one_sentence() {
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

/// Every object of the repository as a file of its own, as a small fetch leaves them.
pub(crate) fn unpack(s: &Sandbox) {
    let packs = s.path().join(".git/objects/pack");
    let aside = s.root().join("aside");
    fs::rename(&packs, &aside).expect("move the packs");
    fs::create_dir(&packs).expect("a folder");
    for pack in files(&aside) {
        if pack.extension().is_some_and(|end| end == "pack") {
            let bytes = fs::read(&pack).expect("a pack");
            s.call("git")
                .args(&["unpack-objects", "-q"])
                .stdin(bytes)
                .run()
                .ok();
        }
    }
}

#[test]
fn a_loose_object_that_is_torn_is_named_in_one_sentence() {
    let s = session(&[]);
    unpack(&s);
    let tree = s.git(&["rev-parse", "loopx^{tree}"]).line();
    let state = format!("loopx:sessions/{ID}/state.json");
    let head = s.git(&["rev-parse", "HEAD"]).line();
    for (n, id) in [tip(&s), tree, s.git(&["rev-parse", &state]).line(), head]
        .into_iter()
        .enumerate()
    {
        let file = format!(".git/objects/{}/{}", &id[..2], &id[2..]);
        let whole = s.bytes(&file);
        for to in CUTS {
            cut(&s.path().join(&file), to);
            for args in COMMANDS {
                answers(&s, args, &format!("{n} {file}"));
            }
            let out = answers(&s, &["-s", ID, "status"], &file);
            assert_eq!(out.code, Some(70), "{n}\n{out}");
            assert!(
                out.stdout.contains(&id) || out.stderr.contains(&id),
                "{out}"
            );
            fs::write(s.path().join(&file), &whole).expect("write");
        }
    }
    assert_eq!(s.loopx(&["fsck", "--full"]).code, Some(0));
}

#[test]
fn every_loose_object_may_be_torn_and_the_commands_come_back() {
    let s = session(&[]);
    unpack(&s);
    // What we write stands in a pack, on top of what was fetched.
    put(&s, "spec.md", "# Two\n").ok();
    let all: Vec<PathBuf> = files(&s.path().join(".git/objects"))
        .into_iter()
        .filter(|file| {
            file.parent()
                .and_then(Path::file_name)
                .is_some_and(|dir| dir.len() == 2)
        })
        .collect();
    for (n, file) in all.into_iter().enumerate() {
        let about = file.display().to_string();
        let whole = fs::read(&file).expect("a file");
        cut(&file, CUTS[1 + n % 2]);
        for args in [
            &["-s", ID, "log"][..],
            &["fsck", "--full"],
            &["doctor"],
            &["verify", "HEAD~1..HEAD"],
        ] {
            answers(&s, args, &about);
        }
        s.write("code.txt", format!("{n}\n"));
        let commit = ["60", "git", "commit", "-aqm", "code"];
        let out = s.call("timeout").args(&["-s", "KILL"]).args(&commit).run();
        assert_ne!(out.code, Some(137), "{about}\n{out}");
        fs::write(&file, whole).expect("write");
    }
}

#[test]
fn a_torn_file_is_no_harm_beside_a_pack_that_has_the_object() {
    let s = session(&[]);
    unpack(&s);
    let file = {
        let id = tip(&s);
        s.path()
            .join(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
    };
    let whole = fs::read(&file).expect("a file");
    s.git(&["repack", "-adq"]).ok();
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(&file, &whole[..whole.len() / 2]).expect("write");
    let out = answers(&s, &["-s", ID, "status"], "packed too");
    assert_eq!(out.code, Some(0), "{out}");
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
