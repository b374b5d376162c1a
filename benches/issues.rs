//! Cost of the backlog: CPU and wall time of whole processes in one run.
//!
//! ```text
//! cargo bench --bench issues
//! ```
//!
//! prints a table. Every backlog has one issue that the commands change, and 0, 1,000 or 10,000 beside
//! it; a third of them waits for one other. What a command changed is put back before the next one, which is not
//! counted. What other programs take for the same steps, `cargo bench --bench tasks` measures.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;
// Programs of others are not measured here, but folders are copied in the same way.
#[allow(dead_code)]
mod peers;

use measure::{Taken, measured, median};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Issues beside the one.
const COUNTS: [usize; 3] = [0, 1_000, 10_000];
const ROUNDS: usize = 3;
/// Number of runs in a batch, for the steps of 10 ms that CPU is counted in.
const BATCH: u32 = 5;
/// The issue that the commands change.
const ONE: &str = "lx-00000000aa";

/// The rows of the table: what is typed, and whether it changes something.
const ROWS: [(&str, &[&str], bool); 21] = [
    ("list", &["issue", "list"], false),
    ("list as JSON", &["issue", "list", "--json"], false),
    (
        "all that are ready, as JSON",
        &["issue", "ready", "--json"],
        false,
    ),
    ("next one", &["issue", "ready", "-n", "1"], false),
    ("show one", &["issue", "show", ONE], false),
    ("search", &["issue", "list", "--grep", "needle"], false),
    ("create", &["issue", "create", "Added", "-q"], true),
    ("edit", &["issue", "edit", ONE, "-p", "0", "-q"], true),
    ("claim", &["issue", "take", ONE, "-q"], true),
    ("claim the next one", &["issue", "take", "-q"], true),
    (
        "close",
        &["issue", "close", ONE, "--reason", "unwanted", "-q"],
        true,
    ),
    ("comment", &["issue", "comment", ONE, "words", "-q"], true),
    ("take back", &["issue", "undo", ONE, "-q"], true),
    ("log of one", &["issue", "log", ONE], false),
    ("graph as JSON", &["issue", "graph", "--json"], false),
    (
        "what people wrote apart",
        &["issue", "list", "--apart"],
        false,
    ),
    (
        "list as it was",
        &["issue", "list", "--at", "2026-01-02"],
        false,
    ),
    ("board", &["issue", "board"], false),
    ("statistics", &["issue", "stats"], false),
    ("report", &["issue", "report"], false),
    (
        "import what was exported",
        &["issue", "import", "own.jsonl", "--format", "loopx", "-q"],
        false,
    ),
];

/// Notes in the journal beside the one.
const NOTES: [usize; 3] = [0, 1_000, 100_000];

/// The rows of the table of notes.
const NOTE_ROWS: [(&str, &[&str], bool); 5] = [
    ("note", &["note", "words", "--journal", "-q"], true),
    (
        "note set",
        &["note", "set", "tester:at", "1", "--journal", "-q"],
        true,
    ),
    ("note get", &["note", "get", "--journal"], false),
    (
        "last 20 of a role",
        &["note", "list", "--journal", "--to", "all", "--last", "20"],
        false,
    ),
    ("note status", &["note", "status", "--journal"], false),
];

fn main() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); ROWS.len()];
    let mut imports = Vec::new();
    for count in COUNTS {
        let dir = root.path().join(format!("backlog-{count}"));
        imports.push(made(&dir, count));
        for (row, (_, args, changes)) in ROWS.iter().enumerate() {
            let taken: Vec<Taken> = (0..ROUNDS).map(|_| sample(&dir, args, *changes)).collect();
            cells[row].push(cell(&taken));
        }
    }
    println!("| what | 0 | 1,000 | 10,000 |\n|---|---|---|---|");
    for ((name, ..), cells) in ROWS.iter().zip(&cells) {
        println!("| {name} | {} |", cells.join(" | "));
    }
    println!("| make them all by one commit | {} |", imports.join(" | "));
    notes(root.path());
    println!("\nCPU / wall in ms; medians of {ROUNDS} rounds of {BATCH}");
}

/// The table of notes: each journal has one key, and 0, 1,000 or 100,000 messages beside it.
fn notes(root: &Path) {
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); NOTE_ROWS.len()];
    for count in NOTES {
        let dir = root.join(format!("notes-{count}"));
        journal(&dir, count);
        for (row, (_, args, changes)) in NOTE_ROWS.iter().enumerate() {
            let taken: Vec<Taken> = (0..ROUNDS).map(|_| sample(&dir, args, *changes)).collect();
            cells[row].push(cell(&taken));
        }
    }
    println!("\n| what | 0 | 1,000 | 100,000 |\n|---|---|---|---|");
    for ((name, ..), cells) in NOTE_ROWS.iter().zip(&cells) {
        println!("| {name} | {} |", cells.join(" | "));
    }
}

/// A journal of one key and so many messages.
fn journal(dir: &Path, count: usize) {
    fs::create_dir_all(dir).expect("a folder");
    let loopx = measure::loopx();
    run("git", dir, &["init", "-q", "-b", "main"]);
    run(loopx, dir, &["init", "-q"]);
    let set = ["note", "set", "tester:at", "0", "--journal", "-q"];
    run(loopx, dir, &set);
    if count > 0 {
        let message = |n: usize| {
            format!(
                r#"{{"id":"MSG-{n}","ts":"2026-01-02T00:00:00Z","from":"tester","to":"planner","type":"progress","summary":"It is {n}"}}"#
            )
        };
        let lines: Vec<String> = (1..=count).map(message).collect();
        let log = dir.join("messages.jsonl");
        fs::write(&log, lines.join("\n")).expect("a log");
        let import = ["note", "import", "messages.jsonl", "--journal", "-q"];
        run(loopx, dir, &import);
    }
    run("git", dir, &["gc", "-q"]);
    run(
        loopx,
        dir,
        &["note", "list", "--journal", "--last", "1", "-q"],
    );
    peers::copy(&dir.join(".git"), &ready(dir));
}

fn sample(dir: &Path, args: &[&str], changes: bool) -> Taken {
    measured(BATCH, |_| {
        if changes {
            peers::put_back(&ready(dir), &dir.join(".git"));
        }
        let mut command = measure::command(measure::loopx(), dir);
        command.args(args);
        command
    })
}

fn cell(taken: &[Taken]) -> String {
    let of = |get: fn(&Taken) -> f64| median(&taken.iter().map(get).collect::<Vec<_>>());
    format!("{:.1} / {:.1}", of(|one| one.cpu), of(|one| one.wall))
}

/// The git folder that a command starts from, beside the repository.
fn ready(dir: &Path) -> PathBuf {
    dir.with_extension("ready")
}

/// A backlog of so many issues and one, with what its making took.
fn made(dir: &Path, count: usize) -> String {
    fs::create_dir_all(dir).expect("a folder");
    let loopx = measure::loopx();
    run("git", dir, &["init", "-q", "-b", "main"]);
    run(loopx, dir, &["init", "-q"]);
    let mut lines = vec![format!(
        r#"{{"id":"{ONE}","title":"The one","priority":1}}"#
    )];
    lines.extend((1..=count).map(line));
    let plan = dir.join("plan.jsonl");
    fs::write(&plan, lines.join("\n")).expect("a plan");
    let taken = measured(1, |_| {
        let mut command = measure::command(loopx, dir);
        command.args(["issue", "create", "--from", "plan.jsonl", "-q"]);
        command
    });
    let mut export = measure::command(loopx, dir);
    let export = export.args(["issue", "export"]).output();
    fs::write(dir.join("own.jsonl"), export.expect("an export").stdout).expect("a backlog");
    run("git", dir, &["gc", "-q"]);
    // What a list keeps is there for whoever lists often.
    run(loopx, dir, &["issue", "list", "-q"]);
    peers::copy(&dir.join(".git"), &ready(dir));
    cell(&[taken])
}

/// An issue with a text, a label and, for each third, one that it waits for.
fn line(n: usize) -> String {
    let link = match n % 3 {
        0 => format!(r#","links":[{{"kind":"blocked-by","to":"k{}"}}]"#, n - 1),
        _ => String::new(),
    };
    format!(
        r#"{{"key":"k{n}","title":"Part {n} of what is to be done","description":"What it is about, in a line.\n\nAnd another one.","labels":["part-{}"],"priority":{}{link}}}"#,
        n % 7,
        n % 5
    )
}

fn run(program: &str, dir: &Path, args: &[&str]) {
    let mut command: Command = measure::command(program, dir);
    measure::run(command.args(args));
}
