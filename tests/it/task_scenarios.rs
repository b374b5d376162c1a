//! The scenarios of `shared/cases/chain-scenarios.md` and `team-and-plan-scenarios.md`, the faults of task-chains 12 and
//! the contradictions of teams-and-tasks 4.13: where each is held, or why it is not. Where design 5 disagrees with a
//! case, the words say what holds here.
//!
//! The table is `task_scenarios.txt`, a row a line: `KIND ID = FILE TEST | how our result differs`, or
//! `KIND ID - why no test of tasks holds it`. It is checked: every id of the shared files stands there once, in their
//! order, and a test that it names is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("task_scenarios.txt");

/// Row of the table: whose it is, its id, and the test that holds it with its file.
#[derive(Debug)]
struct Row {
    kind: &'static str,
    id: &'static str,
    test: Option<(&'static str, &'static str)>,
    words: &'static str,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().map(|line| {
        let (kind, rest) = line.split_once(' ').expect("a kind");
        if let Some((id, held)) = rest.split_once(" = ") {
            let (held, words) = held.split_once(" | ").unwrap_or((held, ""));
            let test = Some(held.split_once(' ').expect("a file and a test"));
            return Row {
                kind,
                id,
                test,
                words,
            };
        }
        let (id, words) = rest.split_once(" - ").expect("a reason");
        Row {
            kind,
            id,
            test: None,
            words,
        }
    });
    lines.collect()
}

fn ids(kind: &str) -> Vec<String> {
    let rows = rows().into_iter().filter(|row| row.kind == kind);
    rows.map(|row| row.id.to_owned()).collect()
}

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_case_of_tasks_is_held_where_the_table_says() {
    let mut once = BTreeSet::new();
    for row in rows() {
        assert!(once.insert((row.kind, row.id)), "{row:?} stands twice");
        if let Some((file, test)) = row.test {
            let text = fs::read_to_string(crate_root().join(file)).expect("a source file");
            let has = |indent: &str| text.contains(&format!("#[test]\n{indent}fn {test}("));
            assert!(has("") || has("    "), "{row:?}: no such test runs");
            continue;
        }
        assert!(!row.words.is_empty(), "{row:?}: no reason");
        let words = row.words.split([' ', ';', ',', ':']);
        for file in words.filter(|word| word.starts_with("tests/it/")) {
            assert!(crate_root().join(file).is_file(), "{row:?}: no such file");
        }
    }
    let all: Vec<String> = (1..=18).map(|n| n.to_string()).collect();
    assert_eq!(ids("fault"), all);
    assert_eq!(ids("contradiction").len(), 6);
}

/// The ids of a shared file, as `id` finds them in its lines.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn shared(file: &str, id: fn(&str) -> Option<&str>) -> Option<Vec<String>> {
    let dir = std::env::var_os("LOOPX_SHARED")
        .map_or_else(|| crate_root().join("../shared"), PathBuf::from);
    let Ok(text) = fs::read_to_string(dir.join("cases").join(file)) else {
        eprintln!("skipped: no {}/cases/{file}", dir.display());
        return None;
    };
    Some(text.lines().filter_map(id).map(str::to_owned).collect())
}

#[test]
fn the_table_has_every_case_of_the_shared_files() {
    let chains = shared("chain-scenarios.md", |line| {
        let (id, rest) = line.split_once(' ')?;
        let (letter, number) = id.split_at_checked(1)?;
        let is_id = "ABC".contains(letter) && number.parse::<u8>().is_ok();
        (is_id && rest.trim_start().starts_with("given ")).then_some(id)
    });
    let teams = shared("team-and-plan-scenarios.md", |line| {
        let (id, _) = line.strip_prefix("**")?.split_once(" [")?;
        Some(id)
    });
    for (kind, wanted) in [("chain", chains), ("team", teams)] {
        if let Some(wanted) = wanted {
            assert_eq!(ids(kind), wanted);
        }
    }
}
