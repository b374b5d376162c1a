//! Calls of a small command to the system, by count: whoever looks for one thing twice, or for what is known not to be
//! there, is seen here on every machine. Milliseconds are the benchmark's.

use crate::support::archive::Yard;
use crate::support::issues::backlog;
use crate::support::scale::{SEED, grow, prolong};
use crate::support::store::{ID, READY, put, started};
use crate::support::{LOOPX, Sandbox, session};
use std::collections::BTreeSet;
use std::fs;

/// A call under two names is one question: what asks which is the C library's.
type Most = [(&'static [&'static str], usize); 5];

const STAT: &[&str] = &["newfstatat", "statx", "stat", "lstat", "fstat"];
const OPEN: &[&str] = &["openat", "open"];
const ACCESS: &[&str] = &["access", "faccessat", "faccessat2"];
const LIST: &[&str] = &["getdents64", "getdents"];
const SYNC: &[&str] = &["fsync", "fdatasync"];

/// The calls by which files are found, read and made durable, and how many of each one `save` of one changed
/// artifact may take.
// Eight of the looks are for files that tasks leave in the session, two for a commit that has the working copy, and two
// for a lock that stayed beside a ref that moved.
const SAVE: Most = [(STAT, 180), (OPEN, 88), (ACCESS, 20), (LIST, 16), (SYNC, 9)];
/// Calls that a hook which judges one staged file may take.
// An object is looked for in the loose folders and in each pack, in an order that differs from run to run.
const HOOK: Most = [(STAT, 72), (OPEN, 46), (ACCESS, 24), (LIST, 4), (SYNC, 0)];

/// The calls of one command, a line each. `None` where strace cannot be used.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn calls(s: &Sandbox, args: &[&str]) -> Option<String> {
    let trace = s.root().join("strace");
    let call = s.call("strace").args(&["-f", "-qq", "-o"]);
    let call = call.args(&[&trace]).args(&[LOOPX]).args(args);
    let out = call.command().output();
    let ended = out.is_ok_and(|out| out.status.success());
    let calls = fs::read_to_string(trace).ok();
    let calls = calls.filter(|calls| ended && calls.contains("execve("));
    if calls.is_none() {
        eprintln!("skipped: strace cannot be used here");
    }
    calls
}

fn assert_few(calls: &str, most: &Most) {
    let name = |line: &str| {
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim());
        call.split_once('(').map(|(name, _)| name.to_owned())
    };
    let names: Vec<String> = calls.lines().filter_map(name).collect();
    for (group, most) in most {
        let count = names
            .iter()
            .filter(|name| group.contains(&name.as_str()))
            .count();
        assert!(
            count <= *most,
            "{group:?}: {count}, at most {most}\n{calls}"
        );
    }
}

/// V3: a save looked 340 times at what it had seen before or what was not there.
#[test]
fn v3_a_save_asks_the_system_for_little() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    s.write(format!(".loopx/{ID}/spec.md"), format!("{READY}\nMore.\n"));
    let Some(calls) = calls(&s, &["save"]) else {
        return;
    };
    s.loopx(&["-s", ID, "cat", "spec.md"]).says("More.").ok();
    assert_few(&calls, &SAVE);
    s.loopx(&["fsck"]).says("all whole").ok();
}

/// V1: each commit pays for what a hook asks, twice.
#[test]
fn v1_a_hook_asks_the_system_for_little() {
    let s = session::started("");
    s.write("docs/a", "a");
    s.git(&["add", "."]).ok();
    // As `git commit` leaves the index: with the names of its trees.
    s.git(&["write-tree"]).ok();
    let Some(calls) = calls(&s, &["hook", "pre-commit"]) else {
        return;
    };
    assert_few(&calls, &HOOK);
    // The patterns of the policy are compared without regular expressions, whose library asks how many
    // processors there are; and what only a writer of refs reads is left alone.
    for needless in ["cgroup", "loopx/durable"] {
        assert!(!calls.contains(needless), "{needless}\n{calls}");
    }
}

/// The largest read and the largest write of a command, in bytes.
fn largest(calls: &str) -> usize {
    let of = |line: &str| {
        let (call, answer) = line.rsplit_once(" = ")?;
        let name = call.split_once('(')?.0;
        let is_one = name.ends_with(" read") || name.ends_with(" write");
        is_one.then(|| answer.trim().parse().ok())?
    };
    calls.lines().filter_map(of).max().unwrap_or_default()
}

/// A list of ten thousand issues had the kept file in memory twice beside the issues themselves.
#[test]
fn a_long_list_of_issues_reads_and_writes_what_it_keeps_in_pieces() {
    let s = backlog();
    let text = "as long as some are ".repeat(200);
    let lines = (0..80).map(|n| format!(r#"{{"title":"Part {n}","description":"{text}"}}"#));
    let lines: Vec<String> = lines.collect();
    s.write("plan.jsonl", lines.join("\n"));
    s.loopx(&["issue", "create", "--from", "plan.jsonl", "-q"])
        .ok();
    let piece = 1 << 17;
    // Kept for the first time, read again, and kept anew beside one issue more.
    for args in [
        &["issue", "list", "--all"][..],
        &["issue", "list", "--all"],
        &["issue", "create", "One more", "-q"],
        &["issue", "list", "--all"],
    ] {
        let Some(calls) = calls(&s, args) else {
            return;
        };
        let largest = largest(&calls);
        assert!(largest <= piece, "{args:?}: {largest} bytes in one call");
    }
    let kept = fs::metadata(s.path().join(".git/loopx/issue-cache")).expect("a kept file");
    assert!(kept.len() > 2 * piece as u64, "{}", kept.len());
    s.loopx(&["issue", "list"]).says("81 open, 81 in all").ok();
}

/// The session `demo` with this many operations, each object in a file of its own.
fn long(operations: usize) -> Sandbox {
    let s = session::started("");
    let texts = ["# Not yet\n", session::READY_SPEC];
    prolong(&s, s.path(), "demo", operations, texts);
    s.loopx(&["-s", "demo", "note", "--ask", "Which port?"])
        .ok();
    s.loopx(&["-s", "demo", "note", "--ask", "Which host?"])
        .ok();
    unpack(&s);
    s
}

/// Gives each object a file of its own.
fn unpack(s: &Sandbox) {
    let unpack = "mkdir ../packs && mv .git/objects/pack/* ../packs && \
                  for pack in ../packs/*.pack; do git unpack-objects -q <\"$pack\" || exit; done";
    s.call("sh").args(&["-c", unpack]).run().ok();
}

/// The objects that a command opens the files of before it moves the branch, if it does.
fn objects(s: &Sandbox, args: &[&str]) -> Option<BTreeSet<String>> {
    let calls = calls(s, args)?;
    let moves = |line: &&str| line.contains("/refs/heads/loopx.lock");
    let object = |line: &str| {
        let (_, path) = line.split_once("/objects/")?;
        let path = path.split('"').next()?;
        let is_loose = path.as_bytes().get(2) == Some(&b'/') && path.len() > 38;
        (line.contains("open") && is_loose).then(|| path.to_owned())
    };
    let before = calls.lines().take_while(|line| !moves(line));
    Some(before.filter_map(object).collect())
}

fn questions(s: &Sandbox) -> Vec<String> {
    let status = s.loopx(&["-s", "demo", "--json", "status"]).json();
    let asked = status["questions"].as_array().cloned().unwrap_or_default();
    let text = |one: &serde_json::Value| one["text"].as_str().map(str::to_owned);
    asked.iter().filter_map(text).collect()
}

/// `status` and the board read every record of a session that is planned, for questions that nobody has answered.
#[test]
fn a_session_of_many_operations_is_looked_at_for_what_one_of_few_costs() {
    let (few, many) = (long(3), long(451));
    for args in [&["-s", "demo", "status"][..], &["list"]] {
        many.loopx(args).ok();
        let (Some(of_few), Some(of_many)) = (objects(&few, args), objects(&many, args)) else {
            return;
        };
        assert!(!of_few.is_empty(), "{args:?}");
        let (of_few, of_many) = (of_few.len(), of_many.len());
        assert!(of_many <= of_few, "{args:?}: {of_many}, of few {of_few}");
    }
    // Only what is new is read.
    assert_eq!(questions(&many), ["Which port?", "Which host?"]);
    let first = many.loopx(&["-s", "demo", "--json", "status"]).json();
    let first = first["questions"][0]["number"].to_string();
    many.loopx(&["-s", "demo", "note", "--answer", &first, "8080"])
        .ok();
    assert_eq!(questions(&many), ["Which host?"]);
    let before = many.git(&["rev-parse", "loopx"]).line();
    many.loopx(&["-s", "demo", "note", "--ask", "Which name?"])
        .ok();
    assert_eq!(questions(&many), ["Which host?", "Which name?"]);
    // A record that went away is not taken for one that is there, nor is what the file says of other records.
    let kept = many.path().join(".git/loopx/questions-known.json");
    let of_all = fs::read(&kept).expect("a kept file");
    fs::write(&kept, "{").expect("a file");
    assert_eq!(questions(&many), ["Which host?", "Which name?"]);
    many.git(&["update-ref", "refs/heads/loopx", &before]).ok();
    many.loopx(&["doctor", "--accept"]).ok();
    assert_eq!(questions(&many), ["Which host?"]);
    fs::write(&kept, of_all).expect("a file");
    assert_eq!(questions(&many), ["Which host?"]);
    fs::remove_file(&kept).expect("a kept file");
    assert_eq!(questions(&many), ["Which host?"]);
    few.loopx(&["-s", "demo", "status"]).ok();
    let kept = few.path().join(".git/loopx/questions-known.json");
    assert!(!kept.exists(), "a short session keeps nothing");
}

/// F3: where the bound branch was gone, `use` read every record several times in each of its tries.
#[test]
fn f3_a_session_of_many_operations_is_bound_for_what_one_of_few_costs() {
    let [few, many] = [3, 451].map(|operations| {
        let s = long(operations);
        s.git(&["switch", "--quiet", "main"]).ok();
        s.git(&["branch", "-D", "demo"]).ok();
        // Not here yet, as far as this clone goes: the branch of a remote.
        s.git(&["remote", "add", "origin", "../nowhere"]).ok();
        let there = "refs/remotes/origin/other";
        s.git(&["update-ref", there, "main"]).ok();
        objects(&s, &["use", "demo", "--branch", "other"])
    });
    let (Some(few), Some(many)) = (few, many) else {
        return;
    };
    // Records of many lie one folder deeper, in five folders.
    let (few, many) = (few.len(), many.len());
    assert!(many <= few + 6, "{many}, of few {few}");
}

/// A command that was told its session listed all others, to see whether the session has to be named.
#[test]
fn a_session_that_is_named_is_found_without_the_folders_of_all_others() {
    let s = Sandbox::new();
    s.commit_file("a", "a\n", "first").ok();
    grow(&s, 400, 1);
    unpack(&s);
    let args = ["-s", SEED, "cat", "intent.md"];
    let Some(opened) = objects(&s, &args) else {
        return;
    };
    // Sessions lie in up to 256 folders.
    assert!((1..60).contains(&opened.len()), "{}", opened.len());
}

/// libgit2 reads all packed refs to see whether a ref is in the way of the one that it writes.
#[test]
fn a_save_beside_many_packed_branches_does_not_read_them() {
    let s = session::started("");
    let head = s.git(&["rev-parse", "HEAD"]).line();
    let branches = (0..2_000).map(|n| format!("create refs/heads/topic/{n:05} {head}\n"));
    let branches: String = branches.collect();
    let call = s.call("git").args(&["update-ref", "--stdin"]);
    call.stdin(branches).run().ok();
    s.git(&["pack-refs", "--all"]).ok();
    let packed = fs::metadata(s.path().join(".git/packed-refs")).expect("packed refs");
    // The first save gives the branch of the sessions a file of its own.
    for text in ["One.", "Two."] {
        s.write(
            ".loopx/demo/spec.md",
            format!("{}\n{text}\n", session::READY_SPEC),
        );
        let Some(calls) = calls(&s, &["-s", "demo", "save"]) else {
            return;
        };
        let largest = largest(&calls);
        assert!((largest as u64) < packed.len(), "{largest} bytes at once");
    }
    s.git(&["reflog", "-2", "loopx"]).says("loopx@{1}").ok();
    s.loopx(&["fsck"]).says("all whole").ok();
}

/// The tree from which git made the new index was packed once more, and the packs of the landing were given free before
/// its branch moved.
#[test]
fn an_archive_writes_three_packs_and_keeps_them_until_its_branch_moved() {
    let y = Yard::ready();
    let Some(calls) = calls(&y, &["archive"]) else {
        return;
    };
    let is_placed = |line: &&str| line.contains("rename(") && line.contains(".pack\") = 0");
    let placed = calls.lines().filter(is_placed).count();
    assert_eq!(placed, 3, "{calls}");
    let mut lines = calls.lines();
    let moves = |line: &str| line.contains("rename") && line.contains("/refs/heads/shorten");
    let before: Vec<&str> = lines.by_ref().take_while(|line| !moves(line)).collect();
    assert!(lines.next().is_some(), "no ref moved: {calls}");
    let freed = before
        .iter()
        .find(|line| line.contains("unlink") && line.contains(".keep"));
    assert!(freed.is_none(), "{freed:?}");
    y.sound();
}
