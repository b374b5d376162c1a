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
        "src/flow/checked_out",
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

/// Words that stand for a noun that a reader has not met yet.
const NO_NOUNS: [&str; 19] = [
    "All that", "As many", "How", "It", "Its", "Nobody", "One", "So many", "The same", "They",
    "Those", "True", "What", "When", "Where", "Whether", "Which", "Who", "Whoever",
];

/// A7: the first line of a doc says a noun. Texts of the help are sentences about options, and say it otherwise.
#[test]
fn a7_no_doc_begins_with_a_pronoun_or_a_question() {
    let mut found = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        for path in sources::rust_files(folder) {
            let text = sources::text(&path);
            // A declaration of arguments ends with its brace at the left; its docs stand above it and in it.
            let (mut is_help, mut is_behind) = (false, false);
            let mut first: Option<String> = None;
            for (number, line) in text.lines().enumerate() {
                let arguments = ["Args", "Subcommand", "Parser", "ValueEnum"];
                is_help |= line.starts_with("#[derive(")
                    && arguments.iter().any(|derived| line.contains(derived));
                is_help &= !line.starts_with('}');
                let doc = line.trim_start();
                let doc = doc.strip_prefix("///").or(doc.strip_prefix("//!"));
                let Some(doc) = doc else {
                    found.extend(first.take().filter(|_| !is_help));
                    is_behind = false;
                    continue;
                };
                if std::mem::replace(&mut is_behind, true) {
                    continue;
                }
                let doc = doc.trim_start();
                let begins = |word: &&&str| {
                    let rest = doc.strip_prefix(**word);
                    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
                };
                let word = NO_NOUNS.iter().find(begins);
                first = word.map(|word| format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// `doctor` knows leftovers by the beginning of their names.
#[test]
fn n5_n6_a_temporary_file_beside_its_place_has_a_name_of_ours() {
    let mut found = Vec::new();
    for folder in ["src", "crates/git/src", "crates/store/src"] {
        for path in sources::rust_files(folder) {
            let text = sources::text(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let parts: Vec<&str> = code.split(".tempfile_in(").collect();
            let made = parts.iter().take(parts.len() - 1);
            let bare = made.filter(|before| {
                let builder = before.rsplit("Builder::new()").next();
                !builder.is_some_and(|made| made.contains(".prefix("))
            });
            found.extend(bare.map(|_| path.display().to_string()));
            if code.contains("NamedTempFile::new_in") {
                found.push(path.display().to_string());
            }
        }
    }
    assert_eq!(found, [""; 0]);
}

/// Fat optimization across crates cost two minutes of a first build and bought nothing that could be measured.
#[test]
fn v2_a_release_is_optimised_across_crates_thinly() {
    let manifest = sources::text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    assert!(manifest.contains("[profile.release]\nlto = \"thin\"\ncodegen-units = 16\n"));
}

/// Serde reads a type that is flattened or tagged inside into a buffer first, with code of its own for each such type.
#[test]
fn v4_types_that_serde_reads_through_a_buffer_stay_few() {
    let is_buffered = |line: &&str| {
        let words = ["flatten", "tag = ", "untagged"];
        line.contains("serde(") && words.iter().any(|word| line.contains(word))
    };
    let texts = sources::program()
        .into_iter()
        .map(|path| sources::text(&path));
    let found: usize = texts
        .map(|text| text.lines().filter(is_buffered).count())
        .sum();
    assert!((1..=48).contains(&found), "{found}");
}
