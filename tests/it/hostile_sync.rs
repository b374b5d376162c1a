//! Input that a remote may send: numbers that leave no room, states that nobody reached, trees that no program of ours
//! makes. It is refused or named, nothing panics, and the work here goes on (reference git-stores, section 6, 10 and
//! 15).

use crate::support::clones::Clones;
use crate::support::store::{ID, READY, count};
use crate::support::{Call, Output};
use std::fmt::Write as _;

/// Two clones of one remote; each has the session of both, and the first has one of its own.
pub(crate) fn two() -> Clones {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.loopx(0, &["start", "--no-branch", "Mine"]).ok();
    all.settle();
    all
}

pub(crate) fn git<'a>(all: &'a Clones, args: &[&str]) -> Call<'a> {
    let index = all.s.root().join("hostile-index");
    let call = all.s.call("git").cwd(all.dir(1)).args(args);
    call.env("GIT_INDEX_FILE", index)
}

pub(crate) fn blob(all: &Clones, bytes: &[u8]) -> String {
    let call = git(all, &["hash-object", "-w", "--stdin"]);
    call.stdin(bytes).run().line()
}

/// A tree as git would not write it: names as they are.
fn raw_tree(all: &Clones, entries: &[(&str, &[u8], &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(mode.bytes().chain([b' ']));
        bytes.extend(*name);
        bytes.push(0);
        let digits = id.as_bytes().chunks_exact(2);
        bytes.extend(digits.map(|pair| {
            let text = std::str::from_utf8(pair).expect("digits");
            u8::from_str_radix(text, 16).expect("digits")
        }));
    }
    let args = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
    git(all, &args).stdin(bytes).run().line()
}

/// The entries of a tree; none where there is no such tree.
fn entries(all: &Clones, tree: &str) -> Vec<(String, Vec<u8>, String)> {
    let listed = git(all, &["ls-tree", "--full-tree", tree]).run();
    listed
        .stdout
        .lines()
        .map(|line| {
            let (meta, name) = line.split_once('\t').expect("an entry");
            let mut words = meta.split(' ');
            let mode = words.next().expect("a mode").trim_start_matches('0');
            let id = words.nth(1).expect("an id");
            (mode.to_owned(), name.as_bytes().to_vec(), id.to_owned())
        })
        .collect()
}

/// The root tree of the branch in which one folder has these entries too.
fn with_entries(all: &Clones, path: &str, more: &[(&str, &[u8], &str)]) -> String {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let tree = format!("loopx:{path}");
    let mut known = entries(all, &tree);
    for (mode, name, id) in more {
        known.retain(|(_, other, _)| other != name);
        known.push(((*mode).to_owned(), name.to_vec(), (*id).to_owned()));
    }
    let of = |known: &[(String, Vec<u8>, String)]| {
        let all_entries: Vec<(&str, &[u8], &str)> = known
            .iter()
            .map(|(mode, name, id)| (mode.as_str(), name.as_slice(), id.as_str()))
            .collect();
        raw_tree(all, &all_entries)
    };
    let tree = of(&known);
    match path {
        "" => tree,
        _ => with_entries(all, parent, &[("40000", name.as_bytes(), &tree)]),
    }
}

/// Puts a tree on the remote's branch, past every check of ours.
pub(crate) fn send(all: &Clones, tree: &str) {
    let message = "x\n\nLoopx-Event: save\n";
    let commit = git(
        all,
        &["commit-tree", tree, "-p", "origin/loopx", "-m", message],
    )
    .run()
    .line();
    let spec = format!("{commit}:refs/heads/loopx");
    git(all, &["push", "--quiet", "origin", &spec]).run().ok();
}

pub(crate) fn put_files(all: &Clones, files: &[(&str, &[u8])]) -> String {
    git(all, &["read-tree", "origin/loopx"]).run().ok();
    for (path, bytes) in files {
        let entry = format!("100644,{},{path}", blob(all, bytes));
        git(all, &["update-index", "--add", "--cacheinfo", &entry])
            .run()
            .ok();
    }
    git(all, &["write-tree"]).run().line()
}

/// Asserts no panic, nothing that a terminal obeys, and words where something is refused.
#[track_caller]
fn behaves(what: &str, out: &Output) {
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(
        !said.contains("panicked") && !said.contains('\u{1b}'),
        "{what}\n{out}"
    );
    let code = out.code.unwrap_or(-1);
    assert!((0..=6).contains(&code) || code == 70, "{what}\n{out}");
    assert!(code == 0 || !said.is_empty(), "{what}\n{out}");
    let errors = out
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    assert!(errors.count() <= 1, "{what}\n{out}");
    // A line for each damaged record is what `fsck` is for.
    let lists = what.contains("[\"fsck\"");
    assert!(
        lists || out.stderr.len() < 8_000,
        "{what}: {} bytes",
        said.len()
    );
}

/// Asserts that what was sent arrives where nothing was done, and where the same session went on.
#[track_caller]
fn arrives(what: &str, make: impl Fn(&Clones) -> String) -> [Output; 2] {
    [false, true].map(|went_on| {
        let all = two();
        if went_on {
            all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
        }
        send(&all, &make(&all));
        let synced = all.sync(0);
        behaves(what, &synced);
        for args in [
            &["list"][..],
            &["status"],
            &["-s", ID, "status"],
            &["-s", ID, "log"],
            &["-s", ID, "show"],
            &["-s", ID, "resolve"],
            &["-s", ID, "clarify"],
            &["fsck"],
            &["doctor"],
            &["hook", "pre-commit"],
            &["-s", ID, "export", ID, "--force", "-o", "../x.bundle"],
            &["fsck", "--repair"],
        ] {
            behaves(&format!("{what}: {args:?}"), &all.loopx(0, args));
        }
        // A session that it was not about goes on.
        all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
        synced
    })
}

/// The first operation of the session with another number, and the name that goes with it.
pub(crate) fn renumbered(all: &Clones, seq: &str) -> (String, Vec<u8>) {
    let folder = format!("origin/loopx:sessions/{ID}/ops");
    let names = git(all, &["ls-tree", "--name-only", &folder]).run().ok();
    let name = names.lines().nth(1).expect("an operation");
    let text = git(all, &["show", &format!("{folder}/{name}")]).run().ok();
    let from = text
        .lines()
        .find(|line| line.trim_start().starts_with("\"seq\""));
    let text = text.replace(from.expect("a number"), &format!("  \"seq\": {seq},"));
    let op = name.split_once('-').expect("a name").1;
    // An operation of its own.
    let other = op.replacen('0', "1", 1);
    let ids = [op, &other].map(|op| op.trim_end_matches(".json").to_owned());
    let text = text.replace(&ids[0], &ids[1]);
    (
        format!("sessions/{ID}/ops/{seq:0>8}-{other}"),
        text.into_bytes(),
    )
}

#[test]
fn a_number_that_leaves_no_room_is_not_taken_over_and_nothing_overflows() {
    for seq in [
        "9007199254740992",
        "1152921504606846976",
        "18446744073709551615",
    ] {
        for state in [true, false] {
            let outs = arrives(seq, |all| {
                let (path, bytes) = renumbered(all, seq);
                let tree = put_files(all, &[(&path, &bytes)]);
                if !state {
                    return tree;
                }
                // With the digest of the operations in step.
                let ops = git(all, &["rev-parse", &format!("{tree}:sessions/{ID}/ops")]);
                let ops = ops.run().line();
                let name = format!("sessions/{ID}/state.json");
                let text = git(all, &["show", &format!("origin/loopx:{name}")])
                    .run()
                    .ok();
                let mut text: serde_json::Value = serde_json::from_str(&text).expect("a state");
                text["ops"] = ops.into();
                let text = serde_json::to_vec_pretty(&text).expect("JSON");
                put_files(all, &[(&path, &bytes), (&name, &text)])
            });
            for out in outs {
                out.fails_with(1).says("jump");
            }
        }
    }
}

#[test]
fn a_state_that_nobody_reached_opens_nothing() {
    let outs = arrives("forged", |all| {
        let name = format!("sessions/{ID}/state.json");
        let text = git(all, &["show", &format!("origin/loopx:{name}")])
            .run()
            .ok();
        let forged = text.replace("\"stage\": \"clarify\"", "\"stage\": \"build\"");
        assert_ne!(text, forged);
        put_files(all, &[(&name, forged.as_bytes())])
    });
    drop(outs);
}

#[test]
fn names_that_no_tree_should_have_are_named_or_passed_by() {
    let names: [&[u8]; 8] = [
        b"..",
        b".",
        b".git",
        b"a\nb",
        b"\x1b[31mred",
        b"\xff\xfe",
        b"con",
        b"a/b",
    ];
    for folder in [
        "",
        "sessions",
        "branches",
        "sessions/auth-timeout",
        "sessions/auth-timeout/ops",
    ] {
        if folder == "branches" && count(0, 1) == 0 {
            continue;
        }
        const KINDS: [&str; 4] = ["100644", "40000", "120000", "160000"];
        // Each name is there as one kind; in a long run as each.
        for turn in 0..count(1, KINDS.len()) {
            arrives(folder, |all| {
                let file = blob(all, b"hello\n");
                let tree = raw_tree(all, &[("100644", b"x", &file)]);
                let tip = git(all, &["rev-parse", "origin/loopx"]).run().line();
                let more: Vec<(&str, &[u8], &str)> = names
                    .iter()
                    .enumerate()
                    .map(|(at, name)| {
                        let kind = KINDS[(at + turn) % KINDS.len()];
                        let id = match kind {
                            "40000" => &tree,
                            "160000" => &tip,
                            _ => &file,
                        };
                        (kind, *name, id.as_str())
                    })
                    .collect();
                with_entries(all, folder, &more)
            });
        }
    }
}

#[test]
fn what_is_far_too_much_is_read_once() {
    let size = count(500_000, 10_000_000);
    arrives("a large state", |all| {
        let name = format!("sessions/{ID}/state.json");
        let text = git(all, &["show", &format!("origin/loopx:{name}")])
            .run()
            .ok();
        let large = text.replace("\"Auth timeout\"", &format!("\"{}\"", "x".repeat(size)));
        assert!(large.len() > size);
        put_files(all, &[(&name, large.as_bytes())])
    });
    let entries = count(1_000, 100_000);
    arrives("many operations", |all| {
        let (_, bytes) = renumbered(all, "1");
        let id = blob(all, &bytes);
        let mut lines = String::new();
        for n in 0..entries {
            writeln!(
                lines,
                "100644 blob {id}\t{n:08}-01arz3ndektsv4rrffq69g5fav.json"
            )
            .expect("a string");
        }
        let ops = git(all, &["mktree"]).stdin(lines).run().line();
        with_entries(all, &format!("sessions/{ID}"), &[("40000", b"ops", &ops)])
    });
    arrives("many sessions", |all| {
        let tree = git(all, &["rev-parse", &format!("loopx:sessions/{ID}")])
            .run()
            .line();
        let mut lines = String::new();
        for n in 0..count(200, 20_000) {
            writeln!(lines, "040000 tree {tree}\ts{n}").expect("a string");
        }
        let sessions = git(all, &["mktree"]).stdin(lines).run().line();
        with_entries(all, "", &[("40000", b"sessions", &sessions)])
    });
}

/// A commit on the remote's branch that is made with git alone: these paths go.
fn removes(all: &Clones, what: &[&str]) -> String {
    git(all, &["fetch", "--quiet", "origin"]).run().ok();
    git(all, &["read-tree", "origin/loopx"]).run().ok();
    let args = [&["rm", "-r", "--quiet", "--cached", "--"], what].concat();
    git(all, &args).run().ok();
    let tree = git(all, &["write-tree"]).run().line();
    send(all, &tree);
    git(all, &["fetch", "--quiet", "origin"]).run().ok();
    git(all, &["rev-parse", "origin/loopx"]).run().line()
}

#[test]
fn what_a_remote_took_away_is_named_and_comes_back() {
    for went_on in [false, true] {
        for linear in [false, true] {
            let all = two();
            if linear {
                all.git(0, &["config", "loopx.sync", "linear"]).ok();
            }
            let before = all.operations(0);
            let named = before.iter().find(|path| path.contains("-")).expect("one");
            for what in [named.as_str(), "sessions/auth-timeout", "sessions"] {
                if went_on {
                    all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
                }
                let before = all.operations(0);
                let by = removes(&all, &[what]);
                let tip = all.git(0, &["rev-parse", "loopx"]).line();
                all.loopx(0, &["sync", "-n"])
                    .says("would be brought back")
                    .ok();
                assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
                all.sync(0)
                    .says(ID)
                    .says(&by[..7])
                    .says("brought back")
                    .says("pushed")
                    .ok();
                assert_eq!(all.operations(0), before);
                all.loopx(0, &["-s", ID, "log"]).ok();
                all.sync(1).ok();
                all.assert_agreed();
                assert_eq!(all.operations(1), before);
            }
        }
    }
}

#[test]
fn what_cannot_be_brought_back_is_refused_and_nothing_moves() {
    for went_on in [false, true] {
        let all = two();
        if went_on {
            all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
        }
        let name = all.operations(0).into_iter().next().expect("an operation");
        // Of two texts of one operation the larger would stay: this one is.
        let text = git(&all, &["show", &format!("origin/loopx:{name}")]);
        let text = text.run().ok().replace("Person 0", "Quentin");
        let tree = put_files(&all, &[(&name, text.as_bytes())]);
        send(&all, &tree);
        let tip = all.git(0, &["rev-parse", "loopx"]).line();
        for args in [&["--json", "sync", "-n"][..], &["--json", "sync"]] {
            let error = all.loopx(0, args).fails_with(1).error_json();
            assert_eq!(
                error["error"]["code"], "remote_lost_operations",
                "{error:#}"
            );
        }
        assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
        all.loopx(0, &["-s", ID, "log"]).ok();
    }
}

/// A folder that holds records is kept as sessions are, and nobody asks what it says (A4).
#[test]
fn a4_records_that_belong_to_no_session_come_back_too() {
    for linear in [false, true] {
        let all = two();
        if linear {
            all.git(0, &["config", "loopx.sync", "linear"]).ok();
        }
        let known = all.operations(0).into_iter().next().expect("an operation");
        let text = git(&all, &["show", &format!("origin/loopx:{known}")])
            .run()
            .ok();
        let name = known.rsplit('/').next().expect("a name");
        let path = format!("boards/b-7k2/ops/{name}");
        let tree = put_files(&all, &[(&path, text.as_bytes())]);
        send(&all, &tree);
        all.sync(0).ok();
        let file = format!("loopx:{path}");
        all.git(0, &["cat-file", "-e", &file]).ok();
        for went_on in [false, true] {
            if went_on {
                all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
            }
            let by = removes(&all, &["boards"]);
            let synced = all.sync(0).says("boards/b-7k2").says("brought back");
            synced.says(&by[..7]).ok();
            assert_eq!(all.git(0, &["show", &file]).ok(), text);
        }
        all.sync(1).ok();
        all.assert_agreed();
    }
}
