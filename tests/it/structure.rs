//! Rules of the structure that the compiler does not hold: where the branch moves, where processes start, which way
//! modules of one crate look, and that no test file was forgotten. Between crates the compiler holds it.

use crate::support::sources;
use std::fs;
use std::path::Path;

fn offences(folder: &str, forbidden: &[&str]) -> Vec<String> {
    let mut offences = Vec::new();
    for path in sources::rust_files(folder) {
        let text = sources::text(&path);
        // Unit tests may use what they need.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for word in forbidden {
                if line.contains(word) {
                    offences.push(format!("{}:{}: {word}", path.display(), number + 1));
                }
            }
        }
    }
    offences
}

#[test]
fn only_the_git_door_starts_processes() {
    for folder in [
        "src",
        "crates/base/src",
        "crates/spec-engine/src",
        "crates/hosts/src",
        "crates/rules/src",
        "crates/store/src",
    ] {
        let found = offences(folder, &["process::Command"]);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn pure_crates_read_no_files_clock_or_environment() {
    let doors = ["env.rs:", "failpoint.rs:"];
    for folder in [
        "crates/base/src",
        "crates/spec-engine/src",
        "crates/hosts/src",
        "crates/rules/src",
    ] {
        let found = offences(
            folder,
            &[
                "std::fs",
                "std::env",
                "std::process",
                "std::io",
                "std::time",
                "println!",
            ],
        );
        let found: Vec<&String> = found
            .iter()
            .filter(|one| !doors.iter().any(|door| one.contains(door)))
            .collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn nothing_in_the_program_points_back() {
    for (folder, forbidden) in [
        ("src/flow", &["crate::cmd", "crate::ui", "crate::cli"][..]),
        (
            "src/ui",
            &["crate::flow", "crate::cmd", "loopx_git", "loopx_store"][..],
        ),
    ] {
        let found = offences(folder, forbidden);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// A5: the write scope is at the bottom of every writer, and finishes landings without knowing whose.
#[test]
fn a5_the_write_scope_and_the_journal_know_no_command() {
    let commands = [
        "transaction",
        "adr",
        "archive",
        "change",
        "doctor",
        "resolve",
        "sessions",
        "undo",
    ];
    let forbidden: Vec<String> = commands
        .iter()
        .flat_map(|name| [format!("super::{name}"), format!("flow::{name}")])
        .collect();
    let forbidden: Vec<&str> = forbidden.iter().map(String::as_str).collect();
    for place in [
        "src/flow/journal",
        "src/flow/write_scope.rs",
        "src/flow/operation.rs",
        "src/flow/checked_out.rs",
    ] {
        let found = offences(place, &forbidden);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// A4: one loop of compare-and-swap moves the branch.
#[test]
fn a4_the_branch_is_moved_at_one_place() {
    let found = offences("crates/store/src", &["self.swap(", "Tries::new("]);
    let elsewhere: Vec<&String> = found
        .iter()
        .filter(|offence| !offence.contains("transaction.rs"))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn every_test_file_is_declared() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = fs::read_to_string(dir.join("main.rs")).expect("read main.rs");
    for entry in fs::read_dir(&dir).expect("read tests/it") {
        let name = entry.expect("read an entry").file_name();
        let name = name.to_string_lossy();
        let stem = name.trim_end_matches(".rs");
        if stem != "main" && name.ends_with(".rs") {
            assert!(
                main.contains(&format!("mod {stem};")),
                "{name} is not declared in main.rs"
            );
        }
    }
}
