//! The formats that others read, held by files in `tests/golden`: one operation of each kind as it
//! lies on the branch, `state.json`, an error document, and the keys of `status --json`.
//!
//! Ids, object ids and times are replaced. A wanted change is written with `LOOPX_BLESS=1`.

use crate::support::Sandbox;
use crate::support::archive::{self, Yard};
use crate::support::changes::{ACCEPTED, signing_in};
use crate::support::clones::Clones;
use crate::support::drive::{Drive, ID};
use crate::support::store::{self, READY};
use crate::support::tasks;
use loopx_rules::op::Operation;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The kinds of operations that one session goes through in [`eventful`].
const KINDS: [&str; 23] = [
    "abandoned",
    "answered",
    "approved",
    "audited",
    "blocked",
    "bound",
    "claimed",
    "clarified",
    "delegated",
    "drafted",
    "entered",
    "extended",
    "lane_reported",
    "plan_reviewed",
    "ran",
    "redone",
    "resumed",
    "reviewed",
    "saved",
    "started",
    "unbound",
    "undone",
    "waived",
];

/// The other kinds: each needs more around it than one session.
const OTHERS: [&str; 6] = [
    "archived",
    "imported",
    "rebased",
    "refreshed",
    "resolved",
    "unarchived",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn blessing() -> bool {
    std::env::var_os("LOOPX_BLESS").is_some_and(|value| value == "1")
}

/// Compares with the golden file, or writes it.
#[track_caller]
fn golden(name: &str, text: &str) {
    let path = folder().join(name);
    if blessing() {
        fs::create_dir_all(folder()).expect("a folder");
        fs::write(&path, text).expect("a golden file");
        return;
    }
    let wanted = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; LOOPX_BLESS=1 writes it", path.display()));
    if text != wanted {
        let mut lines = text.lines().zip(wanted.lines());
        let at = lines.position(|(now, then)| now != then);
        let at = at.unwrap_or_else(|| text.lines().count().min(wanted.lines().count()));
        let line = |text: &str| text.lines().nth(at).unwrap_or("(no line)").to_owned();
        panic!(
            "{}:{}: drifted; where that is wanted, LOOPX_BLESS=1 writes it anew\n- {}\n+ {}",
            path.display(),
            at + 1,
            line(&wanted),
            line(text)
        );
    }
}

/// Text with ids, object ids, times and durations replaced, everything else as it is.
fn normal(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        if let Some((key, _)) = line.split_once("\"millis\":") {
            let comma = if line.trim_end().ends_with(',') {
                ","
            } else {
                ""
            };
            out.push_str(&format!("{key}\"millis\": 0{comma}\n"));
            continue;
        }
        let mut rest = line;
        while !rest.is_empty() {
            let word = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || "-:+".contains(c)))
                .unwrap_or(rest.len());
            if word == 0 {
                let next = rest.chars().next().expect("a character");
                out.push(next);
                rest = &rest[next.len_utf8()..];
                continue;
            }
            out.push_str(replacement(&rest[..word]));
            rest = &rest[word..];
        }
    }
    out
}

fn replacement(word: &str) -> &str {
    let hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if word.len() == 40 && word.bytes().all(hex) {
        "<oid>"
    } else if word.len() == 26 && word.starts_with("01") {
        "<op>"
    } else if word.len() >= 20 && word.starts_with("20") && word.contains('T') {
        "<time>"
    } else {
        word
    }
}

/// A session in which everything has happened that can, short of archive.
fn eventful() -> Drive {
    let d = Drive::planning();
    d.does(&["plan", "--architect", "approve", "--reason", "it holds"]);
    d.does(&["plan", "--critic", "iterate", "--finding", "too big"]);
    d.does(&["plan"]);
    d.does(&["plan", "--more", "1", "--reason", "one more"]);
    d.does(&["undo", "--reason", "not needed"]);
    d.does(&["redo", "--reason", "needed after all"]);
    d.does(&["undo", "--reason", "not needed"]);
    d.review_plan();
    d.does(&["approve", "--to", "build", "--reason", "go on"]);
    d.does(&["build"]);
    let other = d.root().join("other");
    d.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "other",
        other.to_str().expect("UTF-8"),
    ])
    .ok();
    for dir in [other.as_path(), d.path()] {
        d.loopx_in(dir, &["-s", ID, "build", "--take-over", "--reason", "swap"])
            .ok();
    }
    d.does(&["agent", "block", "--reason", "the network is gone"]);
    d.does(&["agent", "resume"]);
    d.commit_code("an end\n");
    d.does(&[
        "build",
        "--delegate",
        "worker-a=complete",
        "--role",
        "tester",
    ]);
    d.does(&["build", "--waive", "VS-1", "--reason", "seen by eye"]);
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.verdict(&["--verdict", "approve", "--finding", "low: a long name"]);
    d.does(&[
        "review",
        "--answer",
        "1",
        "wontfix",
        "--reason",
        "it says what it does",
    ]);
    d.git(&["switch", "--quiet", "--create", "second"]).ok();
    d.does(&["use", ID]);
    d.does(&["start", "--no-branch", "Other"]);
    d.does(&["use", "other"]);
    d.does(&["use", ID]);
    d
}

/// The operation files of the session, by the kind of what happened; the first of each.
fn operations(d: &Drive) -> BTreeMap<String, String> {
    let list = ["ls-tree", "--name-only", "loopx", "sessions/demo/ops/"];
    let mut found = BTreeMap::new();
    for path in d.git(&list).ok().lines() {
        let text = d.git(&["show", &format!("loopx:{path}")]).ok();
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let kind = json["kind"].as_str().expect("a kind").to_owned();
        found.entry(kind).or_insert(text);
    }
    found
}

#[test]
fn operations_and_state_have_the_format_of_the_golden_files() {
    let d = eventful();
    let state = d.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    golden("state.json", &normal(&state));
    d.does(&["abandon", "--reason", "enough"]);
    let operations = operations(&d);
    let kinds: Vec<&str> = operations.keys().map(String::as_str).collect();
    assert_eq!(kinds, KINDS);
    for (kind, text) in &operations {
        golden(&format!("op-{kind}.json"), &normal(text));
    }
}

/// The operation of a kind among the texts of a session's operations.
fn of_kind(kind: &str, texts: impl IntoIterator<Item = String>) -> String {
    let mut texts = texts.into_iter();
    texts
        .find(|text| text.contains(&format!("\"kind\": \"{kind}\"")))
        .unwrap_or_else(|| panic!("nothing was {kind}"))
}

/// The operations of a session that is not archived, in a repository.
fn on_the_branch(s: &Sandbox, dir: &Path, id: &str) -> Vec<String> {
    let folder = format!("sessions/{id}/ops/");
    let list = s
        .git_in(dir, &["ls-tree", "--name-only", "loopx", &folder])
        .ok();
    let read = |path: &str| s.git_in(dir, &["show", &format!("loopx:{path}")]).ok();
    list.lines().map(read).collect()
}

/// Records of format 1 stay as they are: they are read, and written back byte for byte where an archive that
/// sealed them is opened.
#[test]
fn records_of_format_1_are_read_and_written_as_they_were() {
    let mut read = 0;
    for file in fs::read_dir(folder().join("format-1")).expect("a folder") {
        let path = file.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a golden file");
        let text = text
            .replace("<op>", "01hzzzzzzzzzzzzzzzzzzzzzzz")
            .replace("<oid>", &"a".repeat(40))
            .replace("<tree>", &"b".repeat(40))
            .replace("<time>", "2026-01-01T00:00:00Z");
        let op = Operation::parse_sealed(text.as_bytes(), "op").expect("an operation");
        assert!(op.unknown().is_none(), "{}", path.display());
        let written = String::from_utf8(op.to_bytes().expect("bytes")).expect("UTF-8");
        // What was sealed had a line for each.
        if text.starts_with("{\n") {
            assert_eq!(written, text, "{}", path.display());
        }
        read += 1;
    }
    assert_eq!(read, 25);
}

#[test]
fn archived_sessions_have_the_format_of_the_golden_file() {
    let y = Yard::ready();
    y.archive(archive::ID, &[]).ok();
    y.loopx(&["archive", "--undo", archive::ID, "--reason", "too early"])
        .ok();
    let folder = y.archived().remove(0);
    let list = [
        "ls-tree",
        "--name-only",
        "loopx",
        &format!("archive/{folder}/ops/"),
    ];
    let list = y.git(&list).ok();
    for kind in ["archived", "unarchived"] {
        let records = list.lines().map(|path| y.at("loopx", path));
        let text = of_kind(kind, records);
        golden(&format!("op-{kind}.json"), &normal(&text));
    }
}

#[test]
fn imported_sessions_have_the_format_of_the_golden_file() {
    let s = Sandbox::with_spec();
    s.write("openspec/specs/demo/spec.md", ACCEPTED);
    let change = "openspec/changes/shorten";
    s.write(
        format!("{change}/.openspec.yaml"),
        "schema: spec-driven\ncreated: 2025-12-01\n",
    );
    s.write(
        format!("{change}/proposal.md"),
        "# Change: Shorten\n\n## Why\n\nToo long.\n",
    );
    s.write(
        format!("{change}/specs/demo/spec.md"),
        signing_in("The system SHALL ask for a key."),
    );
    s.loopx(&["import", "openspec"]).ok();
    let text = of_kind("imported", on_the_branch(&s, s.path(), "shorten"));
    golden("op-imported.json", &normal(&text));
}

#[test]
fn refreshed_bases_have_the_format_of_the_golden_file() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in("The system SHALL ask for a key."));
    s.spec_says("ask for a password.", "ask for two passwords.");
    s.loopx(&["change", "refresh"]).ok();
    let text = of_kind("refreshed", on_the_branch(&s, s.path(), "one"));
    golden("op-refreshed.json", &normal(&text));
}

#[test]
fn a_base_that_was_recorded_anew_has_the_format_of_the_golden_file() {
    let s = store::started();
    let root = s.git(&["commit-tree", "-m", "rewritten", "HEAD^{tree}"]);
    s.git(&["reset", "--quiet", "--hard", &root.line()]).ok();
    s.loopx(&["rebase", "--onto", "HEAD", "--reason", "rewritten"])
        .ok();
    let text = of_kind("rebased", on_the_branch(&s, s.path(), store::ID));
    golden("op-rebased.json", &normal(&text));
}

#[test]
fn resolved_conflicts_have_the_format_of_the_golden_file() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    for (at, end) in ["ends soon.", "ends late."].into_iter().enumerate() {
        let end = format!("An idle session {end}");
        all.put_spec(at, "An idle session ends.", &end).ok();
    }
    all.settle();
    let resolve = ["-s", store::ID, "resolve", "spec.md", "--ours"];
    all.loopx(0, &resolve).ok();
    let text = of_kind("resolved", on_the_branch(&all.s, all.dir(0), store::ID));
    golden("op-resolved.json", &normal(&text));
}

#[test]
fn commits_have_the_message_of_the_golden_file() {
    let d = Drive::planned();
    d.does(&[
        "approve",
        "--to",
        "build",
        "--reason",
        "go on\n\nand mind the clock",
    ]);
    let message = d.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    golden("message-approve.txt", &normal(&message));
}

#[test]
fn an_error_document_has_the_format_of_the_golden_file() {
    let d = Drive::started();
    let out = d
        .loopx(&["--json", "approve", "--to", "plan"])
        .fails_with(1);
    golden("error.json", &normal(&out.stderr));
}

/// Every key with the type of its value, lists and maps of ids folded: `gates[].ready: bool`.
fn keys(at: &str, value: &Value, found: &mut BTreeSet<String>) {
    // Maps whose keys are data.
    let is_map = at.ends_with("working_copy") || at.ends_with("files");
    match value {
        Value::Object(map) if is_map => fold_map(at, map, found),
        Value::Object(map) => {
            for (key, value) in map {
                let dot = if at.is_empty() { "" } else { "." };
                keys(&format!("{at}{dot}{key}"), value, found);
            }
        }
        Value::Array(list) => {
            found.insert(format!("{at}: list"));
            for value in list {
                keys(&format!("{at}[]"), value, found);
            }
        }
        Value::Null => drop(found.insert(format!("{at}: null"))),
        Value::Bool(_) => drop(found.insert(format!("{at}: bool"))),
        Value::Number(_) => drop(found.insert(format!("{at}: number"))),
        Value::String(_) => drop(found.insert(format!("{at}: string"))),
    }
}

fn fold_map(at: &str, map: &Map<String, Value>, found: &mut BTreeSet<String>) {
    for value in map.values() {
        keys(&format!("{at}{{}}"), value, found);
    }
}

#[test]
fn status_has_the_keys_of_the_golden_file() {
    let sent_back = Drive::reviewing();
    sent_back.send_back("plan");
    let abandoned = Drive::clarified();
    abandoned.does(&["abandon", "--reason", "enough"]);
    let stale = Drive::planned();
    stale.change("change/design.md", "A file", "Two files");
    stale.does(&["save"]);
    let ended = abandoned.does(&["-s", ID, "status"]);
    let mut found = BTreeSet::new();
    keys("", &ended, &mut found);
    for d in [
        Drive::started(),
        stale,
        Drive::built(),
        sent_back,
        Drive::done(),
    ] {
        keys("", &d.status(), &mut found);
    }
    let lines: Vec<String> = found.into_iter().collect();
    golden("status-keys.txt", &format!("{}\n", lines.join("\n")));
}

/// The documents of tasks, from what nobody has to what is done, fails, is decided and opened.
#[test]
fn tasks_have_the_keys_of_the_golden_file() {
    let with = |id: &str, on: &[&str], fields: Value| tasks::with(id, on, fields);
    let proof = json!({"criteria": ["it is there"], "verification": {"cmd": ["true"]}, "definition_of_done": "People see it"});
    let s = tasks::building(&[
        with(
            "A",
            &[],
            json!({
                "priority": "high", "role": "writer", "type": "feature", "exclusive": ["db"], "time_limit": 900,
                "files": [{"path": "code.txt", "action": "modify", "changes": ["one line"]}],
                "reads": ["plan.md"], "outputs": ["tasks/A/report.md"], "convergence": proof,
            }),
        ),
        with("B", &["A"], json!({"convergence": proof})),
        with("P", &[], json!({"parent": "B", "convergence": proof})),
        with("C", &["A"], json!({"kind": "checkpoint"})),
        with(
            "D",
            &[],
            json!({"kind": "decision", "depends_on": [{"id": "A", "optional": true}], "gate": {"judges": ["A"]}}),
        ),
    ]);
    let mut found = BTreeSet::new();
    let mut see = |args: &[&str]| {
        let document = s.loopx(&[args, &["--json"]].concat()).json();
        let name = args
            .iter()
            .take_while(|word| word.chars().all(char::is_lowercase));
        let name: Vec<&str> = name.copied().collect();
        keys(&name.join("-"), &document, &mut found);
    };
    see(&["take", "--peek"]);
    see(&["take", "A"]);
    see(&["task", "list"]);
    s.write(".loopx/demo/tasks/A/report.md", "There.\n");
    s.commit_file("code.txt", "two\n", "Two").ok();
    see(&[
        "task",
        "done",
        "A",
        "--summary",
        "It is there",
        "--partial",
        "Windows",
    ]);
    see(&["task", "open", "C", "--reason", "seen"]);
    see(&["task", "decide", "D", "--verdict", "proceed"]);
    see(&["take", "P"]);
    see(&["task", "fail", "P", "--reason", "no"]);
    see(&["task", "retry", "P"]);
    see(&["task", "skip", "P", "--reason", "later"]);
    for args in [
        &["task", "list"][..],
        &["task", "show", "A"],
        &["task", "show", "D"],
        &["task", "graph"],
        &["task", "log"],
        &["task", "waves"],
    ] {
        see(args);
    }
    let lines: Vec<String> = found.into_iter().collect();
    golden("task-keys.txt", &format!("{}\n", lines.join("\n")));
}

#[test]
fn every_golden_file_is_compared_by_a_test() {
    if blessing() {
        return; // They are being written.
    }
    let mut known: BTreeSet<String> = KINDS
        .iter()
        .chain(&OTHERS)
        .map(|k| format!("op-{k}.json"))
        .collect();
    for name in [
        "state.json",
        "error.json",
        "status-keys.txt",
        "task-keys.txt",
        "message-approve.txt",
    ] {
        known.insert(name.to_owned());
    }
    // Other tests hold theirs in folders below.
    let there: BTreeSet<String> = fs::read_dir(folder())
        .expect("tests/golden")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(there, known);
}
