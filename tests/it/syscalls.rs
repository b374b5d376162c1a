//! What a small command asks of the system, by count: whoever looks for one thing twice, or for what is known not
//! to be there, is seen here on every machine. Milliseconds are the benchmark's.

use crate::support::LOOPX;
use crate::support::store::{ID, READY, put, started};
use std::collections::BTreeMap;
use std::fs;

/// The calls by which files are found, read and made durable, and how many of each one `save` of one changed
/// artifact may take. `newfstatat` and `statx` are two names of one question: what asks which is the C library's.
const MOST: [(&[&str], usize); 5] = [
    (&["newfstatat", "statx", "stat", "lstat", "fstat"], 145),
    (&["openat", "open"], 76),
    (&["access", "faccessat", "faccessat2"], 20),
    (&["getdents64", "getdents"], 14),
    (&["fsync", "fdatasync"], 9),
];

/// V3: a save looked 340 times at what it had seen before or what was not there.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn v3_a_save_asks_the_system_for_little() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    s.write(format!(".loopx/{ID}/spec.md"), format!("{READY}\nMore.\n"));
    let trace = s.root().join("strace");
    let call = s.call("strace").args(&["-f", "-qq", "-o"]);
    let call = call.args(&[&trace]).args(&[LOOPX, "save"]);
    let out = call.command().output();
    let saved = s.loopx(&["-s", ID, "cat", "spec.md"]).ok();
    let Some(calls) = out.ok().and_then(|_| fs::read_to_string(trace).ok()) else {
        eprintln!("skipped: strace cannot be used here");
        return;
    };
    if !saved.contains("More.") {
        eprintln!("skipped: strace cannot be used here");
        return;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in calls.lines() {
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim());
        if let Some((name, _)) = call.split_once('(') {
            *counts.entry(name).or_default() += 1;
        }
    }
    for (names, most) in MOST {
        let count: usize = names.iter().filter_map(|name| counts.get(name)).sum();
        assert!(
            count <= most,
            "{names:?}: {count}, at most {most}\n{counts:#?}"
        );
    }
    s.loopx(&["fsck"]).says("all whole").ok();
}
