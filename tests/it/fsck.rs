//! `fsck`: what it finds, how little it looks at when little is new, and that what it remembers opens
//! nothing.

use crate::support::Sandbox;
use crate::support::drive::Drive;
use crate::support::forge::forge_records;
use crate::support::store::{ID, READY, assert_whole, operations, put, started, tamper, tip};
use serde_json::Value;
use std::fs;

fn fsck(s: &Sandbox, args: &[&str]) -> Value {
    let all = [&["--json", "fsck"], args].concat();
    s.loopx(&all).json()
}

/// Sessions looked at, known from before, commits looked at.
fn counts(found: &Value) -> (u64, u64, u64) {
    let number = |key: &str| found[key].as_u64().expect("a number");
    (number("checked"), number("known"), number("commits"))
}

fn several() -> Sandbox {
    Sandbox::once("", || {
        let s = started();
        for name in ["one", "two", "three"] {
            s.loopx(&["start", "--no-branch", name]).ok();
        }
        s
    })
}

fn cache(s: &Sandbox) -> std::path::PathBuf {
    s.path().join(".git/loopx/checked/loopx.json")
}

#[test]
fn a_second_run_looks_only_at_what_is_new() {
    let s = several();
    let all: u64 = s
        .git(&["rev-list", "--count", "loopx"])
        .line()
        .parse()
        .expect("a number");
    assert_eq!(counts(&fsck(&s, &[])), (4, 0, all));
    assert_eq!(counts(&fsck(&s, &[])), (0, 4, 0));
    put(&s, "spec.md", "# One\n").ok();
    put(&s, "spec.md", "# Two\n").ok();
    assert_eq!(counts(&fsck(&s, &[])), (1, 3, 2));
    assert_eq!(counts(&fsck(&s, &["--full"])), (4, 0, all + 2));
    assert_eq!(counts(&fsck(&s, &[])), (0, 4, 0));
    s.loopx(&["fsck"])
        .says("4 active sessions, all whole (0 looked at, 4 known from before, 0 commits)")
        .ok();
    // Archived sessions count too.
    let d = Drive::done();
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&["merge", "--quiet", "demo"]).ok();
    d.does(&["-s", "demo", "archive"]);
    assert_eq!(counts(&fsck(&d, &[])).0, 1);
    assert_eq!(counts(&fsck(&d, &[])), (0, 1, 0));
}

#[test]
fn a_memory_that_is_torn_old_or_about_another_history_is_as_good_as_none() {
    let s = several();
    fsck(&s, &[]);
    let whole = fs::read_to_string(cache(&s)).expect("a file");
    let old = whole.replacen("\"format\":", "\"format\":9", 1);
    let program = whole.replacen(env!("CARGO_PKG_VERSION"), "0.0.0", 1);
    for text in ["", "{", &whole[..whole.len() / 2], &old, &program, "[]"] {
        fs::write(cache(&s), text).expect("write");
        assert_eq!(counts(&fsck(&s, &[])).0, 4, "{text}");
        assert_eq!(counts(&fsck(&s, &[])), (0, 4, 0));
    }
    // A tip that is not in this history says nothing of it.
    let code = s.git(&["rev-parse", "HEAD"]).line();
    let kept = fs::read_to_string(cache(&s)).expect("a file");
    fs::write(cache(&s), kept.replace(&tip(&s), &code)).expect("write");
    let found = fsck(&s, &[]);
    assert!(counts(&found).2 > 4, "{found}");
    // Nor does one that cannot be written keep anything from being found.
    fs::remove_file(cache(&s)).expect("remove");
    fs::remove_dir(cache(&s).parent().expect("a folder")).expect("remove");
    fs::write(cache(&s).parent().expect("a folder"), "").expect("write");
    assert_eq!(counts(&fsck(&s, &[])).0, 4);
}

#[test]
fn what_is_remembered_opens_no_gate_and_keeps_nothing_from_repair() {
    let d = Drive::done();
    fsck(&d, &[]);
    let state = d.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    let before = d.git(&["rev-parse", "loopx:sessions/demo"]).line();
    let forged = state.replacen("\"title\": \"Demo\"", "\"title\": \"Other\"", 1);
    tamper(&d, "sessions/demo/state.json", Some(forged.as_bytes()));
    let after = d.git(&["rev-parse", "loopx:sessions/demo"]).line();
    // Somebody writes into the memory that this is whole.
    let kept = fs::read_to_string(cache(&d)).expect("a file");
    let old = serde_json::from_str::<Value>(&kept).expect("JSON")["tip"].clone();
    let kept = kept
        .replace(&before, &after)
        .replace(old.as_str().expect("an id"), &d.tip());
    fs::write(cache(&d), kept).expect("write");
    assert_eq!(fsck(&d, &[])["damages"].as_array().map(Vec::len), Some(0));
    assert_eq!(d.fails(70, &["archive"]).code, "record_damaged");
    let found = d.loopx(&["--json", "fsck", "--full"]).fails_with(1).json();
    assert_eq!(found["damages"][0]["session"], "demo");
    d.loopx(&["doctor", "--accept"]).fails_with(1);
    d.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(d.git(&["rev-parse", "loopx:sessions/demo"]).line(), before);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// The one damage that is found; it goes by a repair, after which the session goes on.
fn found(d: &Drive, what: &str, since: &str) {
    let out = d.loopx(&["--json", "fsck"]).fails_with(1).json();
    let damages = out["damages"].as_array().expect("damages").clone();
    assert_eq!(damages.len(), 1, "{out:#}");
    let said = damages[0]["what"].as_str().expect("text").to_owned();
    assert!(said.contains(what), "{said}");
    assert_eq!(damages[0]["since"], since, "{out:#}");
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
    d.does(&["run", "--", "true"]);
    d.git(&["fsck", "--strict"]).ok();
}

#[test]
fn an_approval_of_what_was_not_there_is_found() {
    let is_approval = |op: &Value| op["kind"] == "approved";
    let since = |d: &Drive, known: &str| {
        let first = d.git(&["rev-list", &format!("{known}..loopx")]).ok();
        first.lines().last().expect("a commit").to_owned()
    };
    // Another content than its files make.
    let d = Drive::planned();
    d.does(&["approve", "--to", "build"]);
    fsck(&d, &[]);
    let known = d.tip();
    forge_records(&d, "demo", |op| {
        if is_approval(op) && op["body"]["transition"] == "plan->build" {
            op["body"]["content"] = "1".repeat(40).into();
        }
    });
    told(&d, "names the content 1111111", &since(&d, &known));
    // Files that the session never had.
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    let known = d.tip();
    let other = d.git(&["rev-parse", "loopx:README.md"]).line();
    forge_records(&d, "demo", |op| {
        if is_approval(op) {
            op["body"]["files"]["spec.md"] = other.as_str().into();
        }
    });
    told(&d, "names another spec.md", &since(&d, &known));
    assert_eq!(d.approval("plan"), "approved");
}

/// A false word is found, named with the command that takes it back, and gone with that.
fn told(d: &Drive, what: &str, since: &str) {
    let out = d.loopx(&["--json", "fsck"]).fails_with(1).json();
    let said = out["damages"][0]["what"].as_str().expect("text").to_owned();
    assert!(said.contains(what), "{said}");
    assert_eq!(out["damages"][0]["since"], since, "{out:#}");
    d.loopx(&["fsck", "--repair"]).says("take").fails_with(70);
    let (_, command) = said.split_once("`git loopx ").expect("a command");
    let (command, _) = command.split_once('`').expect("its end");
    let args = shlex::split(command).expect("a command");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    d.loopx(&args).ok();
    // What stood there before comes back.
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn evidence_without_its_log_or_with_another_is_found() {
    for text in [None, Some("all green\n")] {
        let d = Drive::building();
        d.does(&["run", "--", "echo", "one failure"]);
        d.does(&["run", "--", "true"]);
        fsck(&d, &[]);
        let path = d
            .git(&[
                "ls-tree",
                "-r",
                "--name-only",
                "loopx",
                "sessions/demo/logs/",
            ])
            .ok();
        let mut logs = path.lines().map(str::to_owned);
        let log = logs
            .find(|path| !d.bytes_of(path).is_empty())
            .expect("a log that says something");
        tamper(&d, &log, text.map(str::as_bytes));
        let hand = d.tip();
        let what = match text {
            None => ".log is not there",
            Some(_) => "the record names",
        };
        found(&d, what, &hand);
        assert!(!d.bytes_of(&log).is_empty());
    }
}

#[test]
fn a_log_that_was_cut_says_how_much_is_missing() {
    let d = Drive::building();
    d.does(&["run", "--", "sh", "-c", "yes something | head -c 200000"]);
    d.loopx(&["fsck"]).says("all whole").ok();
    let log = d
        .git(&[
            "ls-tree",
            "-r",
            "--name-only",
            "loopx",
            "sessions/demo/logs/",
        ])
        .line();
    let text = String::from_utf8(d.bytes_of(&log)).expect("UTF-8");
    let shorter = text.replacen("something\n", "", 3);
    tamper(&d, &log, Some(shorter.as_bytes()));
    let hand = d.tip();
    found(&d, "does not say how much", &hand);
}

#[test]
fn a_run_whose_record_was_changed_afterwards_is_found_by_history() {
    let d = Drive::building();
    d.loopx(&["run", "--", "false"]).fails_with(1);
    let newest = d.does(&["log"])["operations"]
        .as_array()
        .and_then(|all| all.last()?["seq"].as_u64())
        .expect("a number");
    forge_records(&d, "demo", |op| {
        if op["seq"] == newest {
            op["body"]["evidence"]["exit"] = 0.into();
        }
    });
    let out = d.loopx(&["--json", "fsck"]).fails_with(1).json();
    assert_eq!(out["damages"][0]["what"], "1 operation has gone", "{out:#}");
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
    let state = d.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    assert!(state.contains("\"exit\": 1"), "{state}");
}

#[test]
fn operations_that_went_away_come_back_and_later_ones_stay() {
    let s = several();
    put(&s, "spec.md", "# One\n").ok();
    fsck(&s, &[]);
    let whole = s
        .git(&["rev-parse", &format!("loopx:sessions/{ID}")])
        .line();
    put(&s, "spec.md", "# Two\n").ok();
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    // The folder as it was: whole in itself, so only history says that something is missing.
    let index = s.root().join("index");
    let git = |args: &[&str]| s.call("git").args(args).env("GIT_INDEX_FILE", &index).run();
    git(&["read-tree", "loopx"]).ok();
    git(&["rm", "-r", "--cached", "--quiet", &format!("sessions/{ID}")]).ok();
    git(&["read-tree", &format!("--prefix=sessions/{ID}/"), &whole]).ok();
    let tree = git(&["write-tree"]).line();
    let message = "one: save\n\nLoopx-Session: one\nLoopx-Event: save\n";
    let hand = s
        .git(&["commit-tree", &tree, "-p", "loopx", "-m", message])
        .line();
    s.git(&["update-ref", "refs/heads/loopx", &hand]).ok();
    // Nobody noticed, and went on, in a worktree without a working copy.
    fs::remove_dir_all(s.path().join(".loopx")).expect("remove");
    put(&s, "spec.md", "# Three\n").ok();
    let later = operations(&s, ID).last().expect("an operation")["op"].clone();
    let out = s.loopx(&["--json", "fsck"]).fails_with(1).json();
    assert_eq!(out["damages"].as_array().map(Vec::len), Some(1), "{out:#}");
    assert_eq!(out["damages"][0]["session"], ID);
    assert_eq!(out["damages"][0]["what"], "2 operations have gone");
    assert_eq!(out["damages"][0]["since"], hand.as_str());
    let odd = out["oddities"][0].clone();
    assert_eq!(odd["commit"], hand.as_str());
    assert_eq!(odd["what"], format!("is about one, and changes {ID}"));
    s.loopx(&["fsck", "--repair"]).ok();
    let there = operations(&s, ID);
    assert_eq!(there.len(), 5);
    assert!(there.iter().any(|op| op["op"] == later));
    assert_whole(&s);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_session_that_went_away_is_found_by_the_new_commits_alone() {
    let s = several();
    fsck(&s, &[]);
    tamper(&s, "sessions/two", None);
    let hand = tip(&s);
    let out = s.loopx(&["--json", "fsck"]).fails_with(1).json();
    assert_eq!(counts(&out), (0, 3, 1));
    assert_eq!(out["damages"][0]["what"], "the session has gone");
    assert_eq!(out["damages"][0]["since"], hand.as_str());
    s.loopx(&["fsck", "--repair"]).ok();
    s.loopx(&["-s", "two", "status"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// Ordinary reads take an object to be what it is named, as git does; what looks for damage does not.
#[test]
fn an_object_under_the_name_of_another_is_found() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let entry = format!("loopx:sessions/{ID}/spec.md");
    let blob = s.git(&["rev-parse", &entry]).line();
    // Out of its pack, and the bytes of another blob into its file.
    let pack = s.git(&["cat-file", "blob", &blob]).ok();
    assert!(pack.contains("non_goals"), "{pack}");
    let loose = |id: &str| {
        s.path()
            .join(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
    };
    for name in packs(&s) {
        let packed = s.path().join(".git").join(&name);
        let bytes = fs::read(&packed).expect("a pack");
        fs::remove_file(&packed).expect("remove the pack");
        fs::remove_file(packed.with_extension("idx")).expect("remove its index");
        let call = s.call("git").args(&["unpack-objects", "-q"]);
        call.stdin(bytes).run().ok();
    }
    let call = s.call("git").args(&["hash-object", "-w", "--stdin"]);
    let other = call.stdin("Another text.\n").run().line();
    fs::remove_file(loose(&blob)).expect("remove the blob");
    fs::copy(loose(&other), loose(&blob)).expect("put the other in its place");
    s.loopx(&["-s", ID, "cat", "spec.md"])
        .says("Another text.")
        .ok();
    s.loopx(&["fsck", "--full"])
        .says("hash mismatch")
        .fails_with(1);
}

fn packs(s: &Sandbox) -> Vec<String> {
    let folder = fs::read_dir(s.path().join(".git/objects/pack")).expect("the packs");
    let names = folder
        .flatten()
        .map(|entry| entry.file_name().into_string().expect("a name"));
    let packs = names.filter(|name| name.ends_with(".pack"));
    packs.map(|name| format!("objects/pack/{name}")).collect()
}
