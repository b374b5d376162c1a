//! The import rule of `src/lib.rs`, and that no test file was forgotten.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(dir: &Path) -> Vec<PathBuf> {
    if dir.is_file() {
        return vec![dir.to_path_buf()];
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("read a source folder") {
        let path = entry.expect("read an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

fn offences(layer: &str, forbidden: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(layer);
    let mut offences = Vec::new();
    for path in sources(&root) {
        let text = fs::read_to_string(&path).expect("read a source file");
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
fn core_names_no_git_files_process_environment_clock_or_terminal() {
    let found = offences(
        "core",
        &[
            "git2",
            "clap",
            "std::fs",
            "std::env",
            "std::process",
            "std::io",
            "std::time",
            "crate::git",
            "crate::store",
            "crate::flow",
            "crate::cmd",
            "crate::ui",
            "crate::env",
            "println!",
        ],
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_git_names_libgit2_and_starts_processes() {
    for layer in ["core", "store", "flow", "cmd", "ui"] {
        let found = offences(layer, &["git2::", "process::Command"]);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn nothing_points_back() {
    for (layer, forbidden) in [
        (
            "git",
            &["crate::store", "crate::flow", "crate::cmd", "crate::ui"][..],
        ),
        ("store", &["crate::flow", "crate::cmd", "crate::ui"][..]),
        ("flow", &["crate::cmd", "crate::ui", "crate::cli"][..]),
        (
            "ui",
            &["crate::git", "crate::store", "crate::flow", "crate::cmd"][..],
        ),
    ] {
        let found = offences(layer, forbidden);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// A5: the write scope is at the bottom of every writer, and finishes landings without knowing whose.
#[test]
fn a5_the_write_scope_and_the_journal_know_no_command() {
    let commands = [
        "act", "adr", "archive", "change", "doctor", "resolve", "sessions", "undo",
    ];
    let forbidden: Vec<String> = commands
        .iter()
        .flat_map(|name| [format!("super::{name}"), format!("flow::{name}")])
        .collect();
    let forbidden: Vec<&str> = forbidden.iter().map(String::as_str).collect();
    for place in [
        "flow/journal",
        "flow/opening.rs",
        "flow/operation.rs",
        "flow/seat.rs",
    ] {
        let found = offences(place, &forbidden);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// A4: one loop of compare-and-swap moves the branch.
#[test]
fn a4_the_branch_is_moved_at_one_place() {
    let found = offences("store", &["self.swap(", "Tries::new("]);
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
