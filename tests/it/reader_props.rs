//! Input that is read from a repository may be anything: operations, states, messages and trees that somebody else
//! wrote. No reader panics, what is accepted is read back the same, and git agrees on trailers.

use crate::support::store::started;
use crate::support::{Output, Sandbox};
use loopx_base::id::Oid;
use loopx_base::trailers::{links, place};
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Files of ours, to be damaged.
fn golden(starts: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the golden files")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            name.starts_with(starts) && name.ends_with(".json")
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no golden file {starts}*.json");
    let read = |path| fs::read(path).expect("a golden file");
    found.into_iter().map(read).collect()
}

#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index, prop::sample::Index),
    Put(prop::sample::Index, Vec<u8>),
    Twice(prop::sample::Index, prop::sample::Index),
    Swap(&'static str, &'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let words = [
        ("\"seq\": ", "\"seq\": -"),
        ("\"seq\": ", "\"seq\": 9007199254740993"),
        ("\"format\": 1", "\"format\": 18446744073709551616"),
        ("\"kind\": ", "\"kind\": [], \"was\": "),
        ("plan->build", "build->build"),
        ("\"clarify\"", "\"archived\""),
        ("2026", "-99999"),
        ("null", "{}"),
        ("{", "[{"),
        (".md", ".md/../../x"),
        ("\"", "\\u0000\""),
    ];
    prop_oneof![
        (at(), at()).prop_map(|(a, b)| Damage::Cut(a, b)),
        (at(), prop::collection::vec(any::<u8>(), 0..6)).prop_map(|(a, b)| Damage::Put(a, b)),
        (at(), at()).prop_map(|(a, b)| Damage::Twice(a, b)),
        prop::sample::select(words.to_vec()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn damaged(mut bytes: Vec<u8>, all: &[Damage]) -> Vec<u8> {
    for one in all {
        let len = bytes.len() + 1;
        let range = |a: &prop::sample::Index, b: &prop::sample::Index| {
            let (a, b) = (a.index(len), b.index(len));
            // Short ranges leave something to read.
            let (from, to) = (a.min(b), a.max(b));
            from..to.min(from + 40)
        };
        match one {
            Damage::Cut(a, b) => drop(bytes.drain(range(a, b))),
            Damage::Put(a, what) => {
                let at = a.index(len);
                bytes.splice(at..at, what.iter().copied());
            }
            Damage::Twice(a, b) => {
                let range = range(a, b);
                let again = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, again);
            }
            Damage::Swap(from, to) => {
                let text = String::from_utf8_lossy(&bytes).replacen(from, to, 1);
                bytes = text.into_bytes();
            }
        }
    }
    bytes
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(cases),
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn a_damaged_operation_is_an_error_or_reads_back_the_same() {
    let files = golden("op-");
    let strategy = (
        prop::sample::select(files),
        prop::collection::vec(damage(), 0..4),
    );
    let law = |(file, damage): (Vec<u8>, Vec<Damage>)| {
        let bytes = damaged(file, &damage);
        let blob = Oid::parse(&"a".repeat(40)).expect("an id");
        if let Ok(op) = Operation::parse(&bytes, "op.json", &blob) {
            let written = op.to_bytes().expect("it can be written");
            let again = Operation::parse(&written, "op.json", &blob).expect("what was written");
            prop_assert_eq!(again, op);
        }
        Ok(())
    };
    runner(2_000).run(&strategy, law).expect("the law");
}

#[test]
fn a_damaged_state_is_an_error_or_reads_back_the_same() {
    let files = golden("state");
    let strategy = (
        prop::sample::select(files),
        prop::collection::vec(damage(), 0..4),
    );
    let law = |(file, damage): (Vec<u8>, Vec<Damage>)| {
        let bytes = damaged(file, &damage);
        if let Ok(Some(state)) = State::parse(&bytes, "state.json", || Ok(Vec::new())) {
            let written = state.to_bytes().expect("it can be written");
            let again =
                State::parse(&written, "state.json", || Ok(Vec::new())).expect("what was written");
            let again = again.expect("of this fold");
            prop_assert_eq!(again, state);
        }
        Ok(())
    };
    runner(1_000).run(&strategy, law).expect("the law");
}

/// Lines from which messages are made.
const LINES: [&str; 18] = [
    "Subject of it\n",
    "\n",
    "Loopx-Session: auth\n",
    "Loopx-Session: other\n",
    "Loopx-State: 0123456789012345678901234567890123456789\n",
    "loopx-session : spaced\n",
    "Loopx-Session:\n",
    "Signed-off-by: A <a@example.org>\n",
    "(cherry picked from commit 0123456789012345678901234567890123456789)\n",
    "Words without a colon\n",
    "Key: value\n",
    "# a comment\n",
    "# Loopx-Session: commented\n",
    "---\n",
    "# ------------------------ >8 ------------------------\n",
    "diff --git a/x b/x\n",
    "Loopx-Session: windows\r\n",
    "\r\n",
];

fn message() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..12).prop_map(|all| all.concat())
}

#[test]
fn no_message_panics_and_a_placed_link_is_the_only_one() {
    let any_message = prop_oneof![
        message().prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..200),
    ];
    let comments = prop::sample::select(vec!["#", ";", "//", ""]);
    let law = |(message, comment): (Vec<u8>, &str)| {
        let comment = comment.as_bytes();
        drop(links(&message, comment));
        if let Some(placed) = place(&message, comment, "auth", "0123") {
            let found = links(&placed, comment);
            prop_assert_eq!(&found.sessions, &["auth"]);
            prop_assert_eq!(&found.states, &["0123"]);
            prop_assert_eq!(place(&placed, comment, "auth", "0123"), None);
        }
        Ok(())
    };
    runner(2_000)
        .run(&(any_message, comments), law)
        .expect("the law");
}

#[test]
fn git_reads_the_same_trailers() {
    let s = Sandbox::new();
    let law = |message: String| {
        let out = s
            .call("git")
            .args(&["interpret-trailers", "--parse", "--no-divider"])
            .stdin(message.as_str())
            .run()
            .ok();
        let wanted: Vec<&str> = out
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(key, _)| key.trim().eq_ignore_ascii_case("Loopx-Session"))
            .map(|(_, value)| value.trim())
            .collect();
        let found = links(message.as_bytes(), b"#").sessions;
        prop_assert_eq!(found, wanted, "{:?}", message);
        Ok(())
    };
    runner(100).run(&message(), law).expect("the law");
}

/// Entries below a session's folder that nobody should write.
fn hostile_tree() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let modes = prop::sample::select(vec!["100644", "100755", "120000", "160000", "040000"]);
    let names = prop::sample::select(vec![
        "state.json",
        "ops",
        "ops.jsonl",
        "ops/00000001-x.json",
        "ops/..json",
        "intent.md",
        "spec.md",
        "change",
        "change/spec-delta.md",
        "logs",
        "extra\u{1b}[31m.md",
        "ops/\u{e9}\t.json",
    ]);
    prop::collection::vec((modes, names), 1..6)
}

#[test]
fn no_tree_on_the_branch_makes_a_reader_panic() {
    let s = started();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    let blob = s.git(&["rev-parse", "loopx:format"]).line();
    let index = s.root().join("hostile-index");
    let law = |entries: Vec<(&str, &str)>| {
        let git = |args: &[&str], stdin: &str| -> Output {
            let call = s.call("git").args(args).env("GIT_INDEX_FILE", &index);
            call.stdin(stdin).run()
        };
        drop(fs::remove_file(&index));
        git(&["read-tree", &tip], "").ok();
        let mut lines = String::new();
        for (mode, path) in entries {
            let (mode, id) = match mode {
                "040000" => ("160000", &tip),
                "160000" => (mode, &tip),
                _ => (mode, &blob),
            };
            write!(lines, "{mode} {id}\tsessions/auth-timeout/{path}\0").expect("a string");
        }
        // What cannot stand beside each other git refuses; the rest is there.
        drop(git(
            &["update-index", "-z", "--replace", "--add", "--index-info"],
            &lines,
        ));
        let tree = git(&["write-tree"], "").line();
        let commit = s.git(&["commit-tree", &tree, "-p", &tip, "-m", "x"]).line();
        s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
        for args in [
            &["list"][..],
            &["status"],
            &["show"],
            &["fsck"],
            &["hook", "pre-commit"],
        ] {
            let out = s.loopx(args);
            let said = format!("{}{}", out.stdout, out.stderr);
            prop_assert!(!said.contains("panicked"), "{out}");
            prop_assert!(!said.contains('\u{1b}'), "{out}");
            prop_assert!(out.code.is_some_and(|code| code != 101), "{out}");
        }
        Ok(())
    };
    runner(16).run(&hostile_tree(), law).expect("the law");
}
