//! Pushes that are made to cost a server much, and pushes at once, by the numbers of the adversary: each is answered
//! in time, and an honest push beside it is taken.

use crate::support::forge::{file_name, record};
use crate::support::landing::{PROTECTED, at, make, rev};
use crate::support::server::{begun, literally, push, put_tree, remote, server, with_entry};
use crate::support::session::{self, tip};
use crate::support::store::{count, tamper};
use crate::support::{LOOPX, Sandbox};
use loopx_base::fanout::Fanout::Operations;
use loopx_base::id::{Oid, SessionId};
use loopx_rules::op::Operation;
use loopx_rules::replay::fold;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Time within which each answer comes, also where other tests run beside it.
const SOON: Duration = Duration::from_secs(30);

/// A push that is refused by our hook or by git, soon, and nothing moves.
#[track_caller]
fn refused_soon(s: &Sandbox, what: &str, spec: &str) {
    let refs = || s.git_in(remote(s), &["for-each-ref"]).ok();
    let (before, begun) = (refs(), Instant::now());
    let out = push(s, &[spec]);
    assert!(begun.elapsed() < SOON, "{what}: {:?}", begun.elapsed());
    assert_eq!(out.code, Some(1), "{what}: {out}");
    assert!(!out.stderr.contains("panicked"), "{what}: {out}");
    assert_eq!(refs(), before, "{what}");
}

/// The path of the newest record, and its text.
fn newest(s: &Sandbox) -> (String, Value) {
    let list = ["ls-tree", "-r", "--name-only", "loopx:sessions/demo/ops"];
    let listed = s.git(&list).ok();
    let last = listed.lines().rfind(|name| name.ends_with(".json"));
    let path = format!("sessions/demo/ops/{}", last.expect("a record"));
    let text = s.git(&["show", &format!("loopx:{path}")]).ok();
    (path, serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn held_35_to_41_a_shelf_twice_and_files_of_many_bytes_are_refused_at_once() {
    let s = begun("sha1", "");
    server(&s);
    let good = tip(&s);
    // 35: the session again, where many sessions would lie.
    let session = s.git(&["rev-parse", "loopx:sessions/demo"]).line();
    for shelf in ["+ff", "+00"] {
        let tree = literally_tree(&s, &[("40000", "demo", &session)]);
        let entry = ("40000", shelf.as_bytes(), tree.as_str());
        put_tree(&s, &with_entry(&s, "loopx", "sessions", entry));
        refused_soon(&s, "35 a shelf", "loopx");
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
    let (op, _) = newest(&s);
    let many = count(8, 100) << 20;
    let deep = "[".repeat(100_000);
    for (what, path, bytes) in [
        ("37 a record", op.clone(), vec![b' '; many]),
        ("38 a state", state(), vec![b'['; many / 2]),
        (
            "39 a record of depth",
            op.clone(),
            deep.clone().into_bytes(),
        ),
        ("39 a state of depth", state(), deep.into_bytes()),
        ("40 a signature", format!("{op}.sig"), vec![b'-'; many / 2]),
        (
            "41 an archive",
            "archive/2026-01/demo/state.json".into(),
            vec![b'x'; many / 2],
        ),
    ] {
        tamper(&s, &path, Some(&bytes));
        refused_soon(&s, what, "loopx");
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
    // The honest neighbour: a document of a megabyte.
    session::put(
        &s,
        "spec.md",
        &format!("# Demo\n\n{}\n", "word ".repeat(200_000)),
    );
    push(&s, &["loopx"]).ok();
}

fn state() -> String {
    "sessions/demo/state.json".into()
}

fn literally_tree(s: &Sandbox, entries: &[(&str, &str, &str)]) -> String {
    let entries: Vec<_> = entries
        .iter()
        .map(|(mode, name, id)| {
            (
                (*mode).to_owned(),
                name.as_bytes().to_vec(),
                (*id).to_owned(),
            )
        })
        .collect();
    crate::support::server::raw_tree(s, &entries)
}

/// Puts more records behind the newest one, in one commit, with the state that they give. `next` makes one of the
/// one before.
fn prolong(s: &Sandbox, count: usize, next: impl Fn(usize, &mut Value, &str)) {
    let (path, mut op) = newest(s);
    let mut last = path.rsplit_once('-').expect("an id").1.replace(".json", "");
    let mut all = Vec::new();
    let mut stream = format!(
        "commit refs/heads/prolonged\n{WHO}data 2\nx\nfrom refs/heads/loopx^0\nD sessions/demo/ops\n"
    );
    let mut add = |name: &str, text: &str| {
        let (place, size) = (Operations.place(name, true), text.len());
        let file = format!("sessions/demo/ops/{place}");
        writeln!(stream, "M 100644 inline {file}\ndata {size}\n{text}").expect("a string");
    };
    for (name, text, one) in stored(s) {
        add(&name, &text);
        all.push(one);
    }
    for n in 0..count {
        next(n, &mut op, &last);
        let (id, bytes) = record(&op);
        let text = String::from_utf8(bytes).expect("UTF-8");
        add(&file_name(&op, &id), &text);
        all.push(read(&id, text.as_bytes()));
        last = id;
    }
    import(s, &stream);
    let ops = rev(s, "prolonged:sessions/demo/ops");
    s.git(&["update-ref", "-d", "refs/heads/prolonged"]).ok();
    let id = SessionId::parse("demo").expect("an id");
    let mut state = fold(&id, &all).expect("a state");
    state.ops = Some(Oid::parse(&ops).expect("an id"));
    let text = String::from_utf8(state.to_bytes().expect("JSON")).expect("UTF-8");
    let message = "demo: more\n\nLoopx-Session: demo\nLoopx-Event: saved\n";
    let (said, size) = (message.len(), text.len());
    import(
        s,
        &format!(
            "commit refs/heads/loopx\n{WHO}data {said}\n{message}from refs/heads/loopx^0\nM 040000 {ops} sessions/demo/ops\nM 100644 inline sessions/demo/state.json\ndata {size}\n{text}\n"
        ),
    );
}

const WHO: &str = "committer Seed <seed@example.org> 1767225600 +0000\n";

fn import(s: &Sandbox, stream: &str) {
    let call = s.call("git").args(&["fast-import", "--quiet"]);
    call.stdin(stream).run().ok();
}

/// The records that are there, byte for byte, with the names of their files.
fn stored(s: &Sandbox) -> Vec<(String, String, Operation)> {
    let listed = s.git(&["ls-tree", "loopx:sessions/demo/ops"]).ok();
    let records = listed.lines().filter(|line| line.ends_with(".json"));
    let read = |line: &str| {
        let words: Vec<&str> = line.split([' ', '\t']).collect();
        let text = s.git(&["cat-file", "blob", words[2]]).ok();
        let one = read(words[2], text.as_bytes());
        (words[3].to_owned(), text, one)
    };
    records.map(read).collect()
}

fn read(id: &str, bytes: &[u8]) -> Operation {
    let id = Oid::parse(id).expect("an id");
    Operation::parse(bytes, "a record", &id).expect("an operation")
}

#[test]
fn held_42_to_44_many_records_side_by_side_in_a_line_and_undone_are_answered_soon() {
    let begun_with = || {
        let s = begun("sha1", "");
        server(&s);
        for text in ["# One\n", "# Two\n"] {
            session::put(&s, "spec.md", text);
        }
        push(&s, &["loopx"]).ok();
        s
    };
    let swap = |op: &mut Value| {
        let write = &mut op["files"]["spec.md"];
        *write = json!({"from": write["to"], "to": write["from"]});
    };
    let many = count(400, 9_000);
    for what in ["42 side by side", "43 in a line", "44 undo of undo"] {
        let s = begun_with();
        prolong(&s, many, |n, op, last| {
            let seq = op["seq"].as_u64().expect("a number");
            match what {
                "42 side by side" => op["tx"] = json!(format!("01{n:0>24}")),
                "43 in a line" => {
                    swap(op);
                    op["after"] = json!([last]);
                    op["seq"] = json!(seq + 1);
                }
                _ => {
                    swap(op);
                    op["after"] = json!([last]);
                    op["seq"] = json!(seq + 1);
                    op["topic"] = json!("log");
                    op["kind"] = json!("undone");
                    op["body"] = json!({"undone": last});
                }
            }
        });
        let begun = Instant::now();
        let out = push(&s, &["loopx"]);
        assert!(begun.elapsed() < SOON, "{what}: {:?}", begun.elapsed());
        assert!(!out.stderr.contains("panicked"), "{what}: {out}");
        assert_eq!(out.code, Some(0), "{what}: {out}");
        let begun = Instant::now();
        s.loopx(&["-s", "demo", "status"]).ok();
        assert!(begun.elapsed() < SOON, "{what}: {:?}", begun.elapsed());
    }
}

#[test]
fn held_82_pushes_at_once_land_what_is_honest_and_nothing_else() {
    let s = begun("sha1", PROTECTED);
    server(&s);
    at(&s, "main");
    let evil = make(&s, &[("src/evil.rs", "evil\n")], "evil");
    at(&s, "main");
    let honest = make(&s, &[("docs/a.md", "x\n")], "a document");
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    let mut specs: Vec<String> = (0..3)
        .map(|n| format!("{evil}:refs/heads/free-{n}"))
        .collect();
    specs.extend((0..2).map(|_| format!("{evil}:refs/heads/main")));
    specs.push("loopx".into());
    specs.push(format!("{honest}:refs/heads/main"));
    let codes: Vec<(String, Option<i32>)> = std::thread::scope(|scope| {
        let pushed = specs.iter().map(|spec| {
            let s = &s;
            scope.spawn(move || (spec.clone(), push(s, &[spec]).code))
        });
        let running: Vec<_> = pushed.collect();
        let ended = running.into_iter().map(|one| one.join().expect("a push"));
        ended.collect()
    });
    for (spec, code) in codes {
        let wanted = i32::from(spec.starts_with(&evil) && spec.ends_with("main"));
        assert_eq!(code, Some(wanted), "{spec}");
    }
    let there = |name: &str| s.git_in(remote(&s), &["rev-parse", name]).line();
    assert_eq!(there("main"), honest);
    assert_eq!(there("loopx"), tip(&s));
    s.git_in(remote(&s), &["fsck", "--strict"]).ok();
    let fsck = s.call(LOOPX).cwd(remote(&s)).args(&["fsck"]);
    fsck.run().ok();
}

#[test]
fn held_84_85_many_files_and_deep_folders_are_answered_soon() {
    let s = begun("sha1", PROTECTED);
    server(&s);
    let main = rev(&s, "main");
    let head = format!("{WHO}data 2\nx\nfrom {main}\n");
    let blob = rev(&s, "main:src/old.rs");
    let mut wide = format!("commit refs/heads/wide\n{head}");
    for n in 0..count(20_000, 100_000) {
        writeln!(wide, "M 100644 {blob} many/{}/{n}", n % 100).expect("a string");
    }
    import(&s, &wide);
    refused_soon(&s, "84 many files", "wide:main");
    // 85: git itself goes no deeper than it can.
    let mut tree = literally_tree(&s, &[("100644", "a", &blob)]);
    for _ in 0..count(40, 400) {
        tree = literally_tree(&s, &[("40000", "a", &tree)]);
    }
    let deep = literally(
        &s,
        "commit",
        format!(
            "tree {tree}\nparent {main}\nauthor A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\nx\n"
        ),
    );
    refused_soon(&s, "85 a deep folder", &format!("{deep}:refs/heads/main"));
    // Where nobody protects, both are welcome.
    for spec in ["wide:wide".to_owned(), format!("{deep}:refs/heads/deep")] {
        let begun = Instant::now();
        push(&s, &[&spec]).ok();
        assert!(begun.elapsed() < SOON, "{spec}: {:?}", begun.elapsed());
    }
}
