//! Answers of the program to wrong input: commands, ids, files, stages, repositories, settings and terminals. The calls
//! and their answers are in `tests/golden/wrong_inputs`, one file for each state of a repository; a wanted change is
//! written with `LOOPX_BLESS=1`, and is to be read: each answer says what was expected and what was found.
//!
//! A line `$ CALL` is a wrong call, with what it says below it and its exit code in brackets. A line `% COMMAND` changes
//! the repository for those that follow.

use crate::support::drive::Drive;
use crate::support::{LOOPX, Output, Sandbox, shell};
use clap::Parser;
use git_loopx::testing::Cli;
use std::fs;
use std::path::{Path, PathBuf};

/// Words that stand for something that somebody else would have to fill in.
const PLACES: [&str; 14] = [
    "WHY", "TEXT", "COMMAND", "SLICE", "NAME", "SUMMARY", "BRANCH", "FILE", "ID", "STAGE",
    "COMMIT", "SCENARIO", "REMOTE", "...",
];

fn file(state: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wrong_inputs");
    folder.join(format!("{state}.txt"))
}

/// Refs, index and artifacts: what a refusal must leave as it is.
fn kept(s: &Sandbox) -> impl PartialEq + use<> {
    let git = if s.exists(".git") { ".git" } else { "." };
    let read = |name: &str| {
        s.exists(format!("{git}/{name}"))
            .then(|| s.bytes(format!("{git}/{name}")))
    };
    let below = |name: &str| s.exists(name).then(|| s.snapshot(name));
    let files = ["HEAD", "packed-refs", "index"].map(read);
    let config = read("config");
    (
        files,
        config,
        below(&format!("{git}/refs")),
        below(".loopx"),
    )
}

/// Text without what differs from run to run: object ids, operations, and where the repository is.
fn steady(s: &Sandbox, text: &str) -> String {
    let text = text.replace(s.root().to_str().expect("UTF-8"), "ROOT");
    let mut out = String::new();
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_hex = word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let has_digit = word.bytes().any(|b| b.is_ascii_digit());
        let is_id = has_digit && word.len() >= 7 && is_hex
            || has_digit && word.len() == 26 && !word.contains('.');
        out.push_str(if is_id { "OBJECT" } else { word });
        out.push_str(&piece[word.len()..]);
    }
    out
}

fn call(s: &Sandbox, typed: &str) -> Output {
    let mut words = shell::words(typed).into_iter().peekable();
    let mut call = s.call(LOOPX);
    while let Some((name, value)) = words
        .peek()
        .and_then(|word| word.split_once('='))
        .filter(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
    {
        call = call.env(name, value);
        words.next();
    }
    assert_eq!(words.next().as_deref(), Some("git"), "{typed}");
    assert_eq!(words.next().as_deref(), Some("loopx"), "{typed}");
    call.args(&words.collect::<Vec<String>>()).run()
}

/// Faults of an answer, as far as a machine can tell.
fn faults(out: &Output) -> Vec<String> {
    let mut faults = Vec::new();
    if !matches!(out.code, Some(1..=6)) {
        faults.push(format!("exit {:?}", out.code));
    }
    let said = &out.stderr;
    let heads = ["error: ", "refused: ", "conflict: "];
    let begins = |line: &str| heads.iter().any(|head| line.starts_with(head));
    if !said.lines().any(begins) && out.stdout.is_empty() {
        faults.push("it does not say what is wrong".to_owned());
    }
    let first = said.lines().next().unwrap_or_default();
    if first.contains(". ") || first.ends_with('.') {
        faults.push("more than one sentence".to_owned());
    }
    for command in said.lines().chain(out.stdout.lines()).flat_map(hinted) {
        let words = shell::words(command);
        if let Some(place) = words.iter().find(|word| PLACES.contains(&word.as_str())) {
            faults.push(format!("`{command}` has the place {place}"));
        }
        let all = ["git-loopx".to_owned()].into_iter().chain(words);
        if Cli::try_parse_from(all).is_err_and(|error| error.use_stderr()) {
            faults.push(format!("`{command}` cannot be typed"));
        }
    }
    faults
}

/// The commands of a line that leads on.
fn hinted(line: &str) -> Vec<&str> {
    let leads = ["hint: ", "next: ", "    "];
    if !leads.iter().any(|lead| line.starts_with(lead)) {
        return Vec::new();
    }
    let ends = ["  ", ", then", "; ", ", or ", " (", ")", "`"];
    let until_end = |rest: &'_ str| ends.iter().filter_map(|end| rest.find(end)).min();
    line.split("git loopx ")
        .skip(1)
        .map(|rest| &rest[..until_end(rest).unwrap_or(rest.len())])
        .collect()
}

/// Types what a file says, in a repository of its state; gives what is wrong with the answers.
fn answers(state: &str, s: &Sandbox) -> Vec<String> {
    let asked = fs::read_to_string(file(state)).expect(state);
    let mut found = String::new();
    let mut faulty = Vec::new();
    for line in asked.lines() {
        if let Some(command) = line.strip_prefix("% ") {
            s.call("sh").args(&["-c", command]).run().ok();
            found.push_str(&format!("{line}\n\n"));
        }
        let Some(typed) = line.strip_prefix("$ ") else {
            continue;
        };
        let before = kept(s);
        let out = call(s, typed);
        let mut faults = faults(&out);
        if kept(s) != before {
            faults.push("something was changed".to_owned());
        }
        if !faults.is_empty() {
            faulty.push(format!("{faults:#?}\n{out}"));
        }
        let code = out.code.map_or("none".to_owned(), |code| code.to_string());
        let said = steady(s, &format!("{}{}", out.stdout, out.stderr));
        found.push_str(&format!("$ {typed}\n{said}[{code}]\n\n"));
    }
    if std::env::var_os("LOOPX_BLESS").is_some_and(|value| value == "1") {
        fs::write(file(state), &found).expect(state);
    }
    if found != asked {
        faulty.push(format!("{}: drifted", file(state).display()));
    }
    faulty
}

/// Answers in each of these states.
#[track_caller]
fn each(states: &[(&str, &Sandbox)]) {
    let faulty: Vec<String> = states
        .iter()
        .flat_map(|(state, s)| answers(state, s))
        .collect();
    assert!(faulty.is_empty(), "{}", faulty.join("\n"));
}

fn initialised() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("check.sh", "true\n", "first").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

fn two() -> Sandbox {
    let s = initialised();
    s.loopx(&["start", "one", "--no-branch"]).ok();
    s.loopx(&["start", "two", "--no-branch"]).ok();
    s
}

fn lite() -> Sandbox {
    let s = initialised();
    s.git(&["switch", "--quiet", "-c", "lite"]).ok();
    s.loopx(&["start", "--profile", "lite", "Fix it"]).ok();
    s
}

fn bare() -> Sandbox {
    let s = Sandbox::empty("repo");
    s.git(&["init", "--quiet", "--bare"]).ok();
    s.loopx(&["init"]).ok();
    s
}

fn before_init() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("check.sh", "true\n", "first").ok();
    s
}

#[test]
fn a_wrong_command_line_is_answered_in_a_sentence() {
    let d = Drive::started();
    each(&[("command_line", &d), ("ids", &d)]);
}

#[test]
fn a_wrong_file_or_setting_is_answered_in_a_sentence() {
    each(&[("files", &Drive::started()), ("policy", &initialised())]);
}

#[test]
fn a_command_in_the_wrong_stage_is_answered_in_a_sentence() {
    each(&[
        ("clarify", &Drive::started()),
        ("plan", &Drive::planning()),
        ("build", &Drive::building()),
        ("review", &Drive::reviewing()),
        ("done", &Drive::done()),
        ("light", &lite()),
    ]);
}

#[test]
fn a_command_in_the_wrong_repository_is_answered_in_a_sentence() {
    each(&[
        ("folder", &Sandbox::empty("folder")),
        ("unborn", &Sandbox::new()),
        ("before_init", &before_init()),
        ("two", &two()),
        ("bare", &bare()),
    ]);
}

/// A call that nobody typed proves nothing.
#[test]
fn the_table_has_at_least_250_calls() {
    let folder = file("").with_file_name("");
    let files = fs::read_dir(folder).expect("a folder");
    let calls = files.map(|file| {
        let text = fs::read_to_string(file.expect("a file").path()).expect("UTF-8");
        text.lines().filter(|line| line.starts_with("$ ")).count()
    });
    let calls: usize = calls.sum();
    assert!(calls >= 250, "{calls}");
}
