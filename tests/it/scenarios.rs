//! The conformance scenarios of `shared/cases/stage-scenarios.md` and the weaknesses of the peer: where
//! each is tested, or why it is not.
//!
//! The tables are checked: every id of the shared file stands here once, and a test that a table
//! promises is there and runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Place in which a scenario is held.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// Tests of the real binary, named `s_NNN_...` or `w_NN_...`. The words say where our result differs from the
    /// peer's, and by which rule.
    Here(&'static str),
    /// Test of a pure function.
    Unit(&'static str, &'static str),
    /// Tests of these scenarios.
    With(&'static [&'static str]),
    /// Another file of tests, which comes with what it tests.
    Elsewhere(&'static str),
    /// Reason why the scenario is not held yet.
    Not(&'static str),
}

use Held::{Elsewhere, Here, Not, Unit, With};

const AGENT: &str = "drives an agent: no agent is driven in issue 2";
const STOP_GATE: &str = "stop gates: issue 4";
const TASK_FILE: &str = "crates/rules/src/task/file/tests.rs";
const TASK_GRAPH: &str = "crates/rules/src/task/graph/tests.rs";
const ARCHIVE: &str = "tests/it/archive.rs";

const SCENARIOS: [(&str, Held); 92] = [
    ("S-001", Here("")),
    ("S-002", Here("exit 2, session_name_required")),
    (
        "S-004",
        Here(
            "score and round stand in the spec's front matter; an eighth rule asks for filled sections",
        ),
    ),
    ("S-005", Here("")),
    (
        "S-007",
        Here("exit 4, session_unknown; archive in tests/it/archive.rs"),
    ),
    (
        "S-008",
        Here("session_exists; there is no force option and no direct plan"),
    ),
    ("S-011", Here("")),
    ("S-012", Here("")),
    ("S-014", Here("")),
    (
        "S-015",
        Here("the cap has a way on: clarify --more (design 4.6)"),
    ),
    ("S-017", Here("")),
    (
        "S-018",
        Here("artifact_invalid with file, line and field instead of the worst score (design 4.3)"),
    ),
    ("S-020", Here("")),
    (
        "S-021",
        Here("the statuses of the peer are the gates' approval words here"),
    ),
    (
        "S-023",
        Here("criteria that are not testable block the plan; AC and TC anchors: issue 3"),
    ),
    ("S-024", Here("approval_stale")),
    ("S-031", Here("")),
    ("S-032", Here("")),
    ("S-034", Here("")),
    ("S-035", Here("")),
    ("S-037", Here("")),
    ("S-038", Here("")),
    ("S-041", Here("by hand: no agent answers")),
    (
        "S-042",
        Here("the sixth draft is refused, plan_iterations_exhausted, with a way on (design 4.6)"),
    ),
    ("S-044", Here("")),
    (
        "S-045",
        Here("the history is in the document that `plan` prints"),
    ),
    ("S-047", Here("")),
    ("S-048", Here("the blockers name what is missing")),
    ("S-050", Here("")),
    (
        "S-051",
        Unit(
            "crates/rules/src/markdown.rs",
            "the_language_rule_has_the_thresholds_of_the_reference",
        ),
    ),
    ("S-053", Here("")),
    ("S-054", Here("")),
    ("S-056", Here("the blocker is the spec engine's")),
    (
        "S-057",
        Here("unreadable slices are not saved: artifact_invalid with vertical_slices_invalid"),
    ),
    ("S-059", Here("with staleness by content (issue 2, item 5)")),
    ("S-060", Here("there is no direct plan")),
    ("S-062", Here("approval_stale")),
    ("S-070", Here("")),
    (
        "S-072",
        Here("by hand: lanes are reported, commands are run; a stop gate is issue 4"),
    ),
    ("S-073", Here("")),
    ("S-075", Here("")),
    (
        "S-076",
        Here("the default policy demands neither; loopx.toml does"),
    ),
    ("S-078", Here("")),
    ("S-079", Here("")),
    ("S-081", Here("")),
    (
        "S-082",
        Here("a slice's evidence is its own verification command, or a named waiver (design 4.4)"),
    ),
    ("S-084", Here("")),
    ("S-085", Here("an unknown word is exit 2")),
    ("S-087", Here("")),
    ("S-088", Here("the list is the diff of base..head")),
    (
        "S-091",
        Here("words are exact (design 4.5); there is no journal yet"),
    ),
    ("S-092", Here("")),
    ("S-094", Here("")),
    ("S-095", Here("")),
    (
        "S-097",
        Here("the session's own report, or a file that equals it"),
    ),
    ("S-098", Here("")),
    (
        "S-100",
        Here("demanded by review.independence = require, else recorded and shown (design 4.5)"),
    ),
    ("S-101", Here("target build")),
    ("S-103", Here("")),
    ("S-104", Here("")),
    ("S-106", Not(AGENT)),
    ("S-107", Here("without a journal")),
    (
        "S-109",
        Here("no prompt is made; untracked files make the approval stale, ignored ones are unseen"),
    ),
    ("S-110", Not("there is no journal yet")),
    (
        "S-121",
        Here("a refusal writes nothing: the flip is computed, and shows once the record is saved"),
    ),
    ("S-122", Elsewhere(ARCHIVE)),
    ("S-124", Elsewhere(ARCHIVE)),
    ("S-125", Elsewhere(ARCHIVE)),
    ("S-127", Elsewhere(ARCHIVE)),
    ("S-128", Elsewhere(ARCHIVE)),
    ("S-130", Here("fsck is doctor and repair")),
    (
        "S-140",
        Not(
            "there are no context manifests: the session's artifacts are the context; a later issue",
        ),
    ),
    (
        "S-142",
        Not("there are no context manifests: a later issue"),
    ),
    ("S-143", Not(STOP_GATE)),
    ("S-145", Not(STOP_GATE)),
    ("S-146", Not(STOP_GATE)),
    ("S-148", Not(AGENT)),
    ("S-149", Not(AGENT)),
    ("S-151", Not("import of the peer's records: a later issue")),
    ("S-152", Not("import of the peer's records: a later issue")),
    ("S-154", Here("the codes of design 9")),
    (
        "S-160",
        Here("by review->done; archive in tests/it/archive.rs"),
    ),
    ("S-162", Here("")),
    ("S-163", Not("sync: issue 5")),
    (
        "S-165",
        Here("operations of one session: there is no journal yet"),
    ),
    (
        "S-170",
        Unit(TASK_FILE, "i2_i3_i6_each_fault_is_named_with_its_line"),
    ),
    (
        "S-172",
        Unit(
            TASK_GRAPH,
            "s172_what_is_blocked_holds_what_depends_on_it_and_nothing_else",
        ),
    ),
    (
        "S-173",
        Unit(
            TASK_GRAPH,
            "what_somebody_has_for_himself_and_the_number_of_hands_hold_the_rest",
        ),
    ),
    (
        "S-175",
        Here(
            "bound to the code tree: review_stale; digests of brief and report come with the task graph",
        ),
    ),
    (
        "S-176",
        Here("what ran before the verdict that sent the work back proves nothing"),
    ),
    ("S-178", Here("")),
    (
        "S-179",
        Elsewhere("tests/it/hooks_install.rs, for hooks; other installed files: a later issue"),
    ),
];

const WEAKNESSES: [(&str, Held); 30] = [
    ("W1", With(&["S-037"])),
    ("W2", Here("")),
    ("W3", Elsewhere(ARCHIVE)),
    ("W4", With(&["S-165"])),
    ("W5", Here("kill -9 at random moments: issue 5")),
    ("W6", With(&["S-130"])),
    ("W7", Here("with S-042, S-073")),
    ("W8", Not(STOP_GATE)),
    ("W9", Not(STOP_GATE)),
    ("W10", With(&["S-024", "S-062"])),
    ("W11", Here("with S-178")),
    ("W12", With(&["S-104"])),
    ("W13", With(&["S-087"])),
    ("W14", With(&["S-100"])),
    ("W15", With(&["S-160"])),
    ("W16", Here("")),
    ("W17", Not("sync: issue 5")),
    ("W18", With(&["S-162"])),
    (
        "W19",
        Here("a delta that names a path as its domain is refused with the spec engine"),
    ),
    ("W20", Elsewhere(ARCHIVE)),
    ("W21", Here("")),
    ("W22", With(&["S-008"])),
    ("W23", With(&["S-050"])),
    ("W24", Here("")),
    ("W25", With(&["S-154"])),
    ("W26", Here("")),
    ("W27", Not(AGENT)),
    ("W28", With(&["S-038"])),
    ("W29", Here("with S-085")),
    (
        "W30",
        Here("of what is saved; unsaved edits are named, and judged by the next command"),
    ),
];

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every test function of `tests/it` that begins with `prefix`, and whether it is ignored.
fn tests_named(prefix: &str) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(crate_root().join("tests/it")).expect("tests/it") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a test file");
        let mut attributes = String::new();
        for line in text.lines() {
            if line.starts_with("#[") {
                attributes.push_str(line);
            } else if let Some(rest) = line.strip_prefix("fn ")
                && rest.starts_with(prefix)
                && attributes.contains("#[test]")
            {
                let name = rest.split('(').next().expect("a name").to_owned();
                let ignored = attributes.contains("#[ignore");
                assert!(found.insert(name, ignored).is_none(), "{rest} stands twice");
                attributes.clear();
            } else {
                attributes.clear();
            }
        }
    }
    found
}

/// Asserts that what a table says is so: no row twice, and its tests are there. Gives the tests that no row claims.
fn unclaimed(rows: &[(&str, Held)], tests: &BTreeMap<String, bool>) -> BTreeSet<String> {
    let mut unclaimed: BTreeSet<String> = tests.keys().cloned().collect();
    let mut known = BTreeSet::new();
    for (id, held) in rows {
        assert!(known.insert(*id), "{id} stands twice");
        let (letter, number) = id.split_at(1);
        let number = number.trim_start_matches('-');
        let part = format!("{}_{number:0>2}_", letter.to_lowercase());
        // One test may hold two rows: `w_05_w_06_...`.
        let own: Vec<_> = tests
            .iter()
            .filter(|(name, _)| name.contains(&part))
            .collect();
        for (name, _) in &own {
            unclaimed.remove(*name);
        }
        match held {
            Here(words) => assert!(
                own.iter().any(|(_, ignored)| !**ignored),
                "{id}: no test runs ({words})"
            ),
            Unit(file, test) => {
                let text = fs::read_to_string(crate_root().join(file)).expect("a source file");
                assert!(
                    text.contains(&format!("fn {test}(")),
                    "{id}: {file} has no {test}"
                );
            }
            With(others) => {
                for other in *others {
                    let row = SCENARIOS.iter().find(|(id, _)| id == other);
                    assert!(
                        matches!(row, Some((_, Here(_)))),
                        "{id}: {other} is not tested"
                    );
                }
            }
            Elsewhere(words) | Not(words) => assert!(!words.is_empty(), "{id}: no reason"),
        }
    }
    unclaimed
}

#[test]
fn every_scenario_is_tested_where_the_table_says() {
    let none = unclaimed(&SCENARIOS, &tests_named("s_"));
    assert!(none.is_empty(), "no row of the table for {none:?}");
}

#[test]
fn every_weakness_is_shown_gone_where_the_table_says() {
    let none = unclaimed(&WEAKNESSES, &tests_named("w_"));
    assert!(none.is_empty(), "no row of the table for {none:?}");
    let ids: Vec<&str> = WEAKNESSES.iter().map(|(id, _)| *id).collect();
    let all: Vec<String> = (1..=30).map(|n| format!("W{n}")).collect();
    assert_eq!(ids, all);
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn the_table_has_every_scenario_of_the_shared_file() {
    let shared = std::env::var_os("LOOPX_SHARED")
        .map_or_else(|| crate_root().join("../shared"), PathBuf::from);
    let Ok(text) = fs::read_to_string(shared.join("cases/stage-scenarios.md")) else {
        eprintln!("skipped: no {}/cases/stage-scenarios.md", shared.display());
        return;
    };
    let headings = text.lines().filter_map(|line| line.strip_prefix("### S-"));
    let wanted: Vec<String> = headings
        .map(|line| format!("S-{}", line.split(' ').next().expect("a number")))
        .collect();
    let ids: Vec<&str> = SCENARIOS.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, wanted);
}
