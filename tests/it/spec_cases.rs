//! The conformance cases of `shared/cases/spec-merge`: each folder against the outcome that it wants.
//!
//! The folder is not part of the repository: without it (next to the repository, or at LOOPX_SHARED)
//! the tests say so and pass.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use git_loopx::testing::FileMerge;
use git_loopx::testing::{Apply, Verdict, apply, plan};
use loopx_spec::{
    Action, Conflict, ConflictKind, Finding, MarkerNames, Severity, has_markers, merge_spec,
    read_delta, read_spec,
};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn shared() -> Option<PathBuf> {
    let dir = std::env::var_os("LOOPX_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no folder `shared`; set LOOPX_SHARED to run this");
    None
}

/// Ending of a change of a case.
#[derive(Debug)]
enum Want {
    /// Applied.
    Ok,
    /// Applied, with this warning.
    Warn(&'static str),
    /// Refused with this finding.
    Refused(&'static str),
    /// A conflict of this kind.
    Conflict(ConflictKind),
}
use ConflictKind::{AddAdd, DeleteModify, ModifyModify, RenameRename};
use Want::{Ok as Fine, Refused, Warn};

/// Case number, what its changes want in their order, and whether the specs end up byte for byte as
/// the recorded `after/` (where the other tool did right).
const APPLY: &[(u16, &[Want], bool)] = &[
    (1, &[Fine, Want::Conflict(ModifyModify)], false),
    (2, &[Fine, Fine], false),
    (5, &[Fine, Want::Conflict(DeleteModify)], false),
    (7, &[Fine, Fine], false),
    (8, &[Fine, Want::Conflict(AddAdd)], false),
    (10, &[Fine, Fine], true),
    (11, &[Fine, Fine], false),
    // One commit, evidence, a proposal that is missing, and the like (13, 85, 88, 89, 91, 92, 94, 95,
    // 106, 112) are the business of sessions: here only the specs are compared.
    (13, &[Fine], true),
    (14, &[Refused("missing_requirement")], true),
    (16, &[Refused("missing_requirement")], true),
    (17, &[Refused("missing_requirement")], true),
    (19, &[Warn("no_reason")], true),
    (20, &[Refused("near_name")], true),
    (22, &[Refused("scenario_dropped")], true),
    (23, &[Refused("scenario_dropped")], true),
    (25, &[Fine], true),
    (26, &[Fine], true),
    (28, &[Fine], false),
    (29, &[Fine], false),
    (31, &[Fine], true),
    (32, &[Refused("rename_form")], true),
    (34, &[Warn("duplicate_requirement")], false),
    (35, &[Refused("duplicate_scenario")], false),
    (38, &[Fine], true),
    (40, &[Fine], false),
    (41, &[Fine], false),
    (43, &[Fine], false),
    (44, &[Fine], true),
    (46, &[Refused("unclosed_fence")], true),
    (47, &[Fine], false),
    // Behind a list, two blanks make the heading a part of the last item: reported.
    (50, &[Refused("indented_heading")], false),
    (52, &[Fine], true),
    (53, &[Fine], true),
    (55, &[Fine], false),
    (56, &[Refused("language_differs")], false),
    (58, &[Fine], true),
    (59, &[Warn("empty_section")], true),
    (61, &[Refused("no_delta")], true),
    (62, &[Refused("no_text")], false),
    (64, &[Warn("no_then")], false),
    (65, &[Refused("no_scenario")], false),
    (67, &[Warn("lower_case_keyword")], false),
    (68, &[Warn("no_keyword")], false),
    (70, &[Refused("foreign_heading")], true),
    (71, &[Fine], false),
    (73, &[Refused("requirement_outside_section")], false),
    (74, &[Fine], false),
    (76, &[Fine], true),
    (77, &[Fine], true),
    (79, &[Refused("last_requirement")], true),
    (80, &[Fine], true),
    (82, &[Warn("no_purpose")], false),
    (83, &[Refused("delta_wrong_place")], true),
    (85, &[Fine], true),
    (86, &[Refused("no_delta")], false),
    (88, &[Fine], true),
    (89, &[Fine], true),
    (91, &[Fine], true),
    (92, &[Fine], false),
    (94, &[Fine], false),
    (95, &[Fine], true),
    (97, &[Fine], true),
    (98, &[Warn("no_keyword")], false),
    (100, &[Fine], true),
    (101, &[Fine], false),
    (103, &[Refused("unclosed_fence"), Fine], false),
    // In a comment nothing is a requirement: there is nothing for the second change to remove.
    (104, &[Fine, Refused("missing_requirement")], false),
    (106, &[Fine], false),
    (107, &[Refused("no_scenario")], false),
    (109, &[Fine], true),
    (110, &[Fine], false),
    (112, &[Fine], true),
    (113, &[Fine], true),
    (114, &[Fine, Fine, Fine], false),
    (116, &[Fine], true),
];

/// Cases that other tests of this file run.
const ELSEWHERE: &[u16] = &[4, 37, 49, 115];

fn cases() -> Option<Vec<(u16, PathBuf)>> {
    let dir = shared()?.join("cases/spec-merge");
    let mut list: Vec<(u16, PathBuf)> = fs::read_dir(dir)
        .expect("read the cases")
        .filter_map(|entry| {
            let path = entry.expect("read an entry").path();
            let name = path
                .file_name()?
                .to_str()?
                .strip_prefix("case-")?
                .to_owned();
            Some((name.get(..3)?.parse().ok()?, path))
        })
        .collect();
    list.sort();
    Some(list)
}

fn case(number: u16) -> Option<PathBuf> {
    let found = cases()?.into_iter().find(|(n, _)| *n == number)?;
    Some(found.1)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("create a folder");
    let Ok(entries) = fs::read_dir(from) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("read an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copy a file");
        }
    }
}

fn changes(case: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = fs::read_dir(case.join("input/changes"))
        .map(|dir| dir.map(|e| e.expect("read an entry").path()).collect())
        .unwrap_or_default();
    list.sort();
    list
}

fn run(change: &Path, specs: &Path, base: &Path) -> Verdict {
    apply(&Apply {
        delta: change.to_path_buf(),
        specs: specs.to_path_buf(),
        base: Some(base.to_path_buf()),
        retire: false,
    })
    .expect("the files are readable")
}

fn check(label: &str, verdict: &Verdict, want: &Want) {
    let has = |id: &str, severity: Severity| {
        verdict
            .findings()
            .any(|f: &Finding| f.id == id && f.severity == severity)
    };
    let refusal = verdict.refusal();
    let conflicts: Vec<&Conflict> = verdict.conflicts().collect();
    match want {
        Fine => assert!(refusal.is_none(), "{label}: {refusal:#?}"),
        Warn(id) => {
            assert!(refusal.is_none(), "{label}: {refusal:#?}");
            assert!(has(id, Severity::Warning), "{label}: {verdict:#?}");
        }
        Refused(id) => assert!(has(id, Severity::Error), "{label}: {verdict:#?}"),
        Want::Conflict(kind) => {
            assert!(
                conflicts.iter().any(|c| c.kind == *kind),
                "{label}: {verdict:#?}"
            );
            assert!(has_markers(&verdict.rendered_conflicts()).is_some());
        }
    }
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut list = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(at) = open.pop() {
        let Ok(entries) = fs::read_dir(&at) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("read an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").to_path_buf();
                list.push((name, fs::read(&path).expect("read a file")));
            }
        }
    }
    list.sort();
    list
}

#[test]
fn every_case_of_deltas_ends_as_wanted() {
    let Some(cases) = cases() else { return };
    let mut failed = Vec::new();
    for (number, want, as_recorded) in APPLY {
        let Some((_, case)) = cases.iter().find(|(n, _)| n == number) else {
            continue;
        };
        let result = std::panic::catch_unwind(|| {
            let temp = tempfile::tempdir().expect("a folder");
            let (specs, base) = (temp.path().join("specs"), case.join("input/specs"));
            copy(&base, &specs);
            let changes = changes(case);
            assert_eq!(changes.len(), want.len(), "case {number}: changes");
            for (change, want) in changes.iter().zip(*want) {
                let before = files(&specs);
                let verdict = run(change, &specs, &base);
                check(
                    &format!("case {number}, {}", change.display()),
                    &verdict,
                    want,
                );
                if verdict.refusal().is_some() {
                    assert_eq!(
                        before,
                        files(&specs),
                        "case {number}: written in spite of it"
                    );
                }
            }
            if *as_recorded {
                let show = |list: Vec<(PathBuf, Vec<u8>)>| -> String {
                    list.iter()
                        .map(|(p, b)| format!("{}\n{}", p.display(), String::from_utf8_lossy(b)))
                        .collect()
                };
                let (mine, theirs) = (files(&specs), files(&case.join("after/specs")));
                assert!(
                    mine == theirs,
                    "case {number}: not as recorded\n{}\n----\n{}",
                    show(mine),
                    show(theirs)
                );
            }
        });
        if result.is_err() {
            failed.push(*number);
        }
    }
    assert!(failed.is_empty(), "failed: {failed:?}");
}

#[test]
fn two_changes_give_the_same_in_either_order() {
    let Some(cases) = cases() else { return };
    for (number, want, _) in APPLY.iter().filter(|(_, want, _)| want.len() > 1) {
        let Some((_, case)) = cases.iter().find(|(n, _)| n == number) else {
            continue;
        };
        if want.iter().any(|w| matches!(w, Refused(_))) {
            continue;
        }
        let base = case.join("input/specs");
        let mut changes = changes(case);
        let mut results = Vec::new();
        for _ in 0..2 {
            let temp = tempfile::tempdir().expect("a folder");
            let specs = temp.path().join("specs");
            copy(&base, &specs);
            let mut conflicts = Vec::new();
            for change in &changes {
                let verdict = run(change, &specs, &base);
                conflicts.extend(verdict.conflicts().map(|c| {
                    let mut sides = [c.ours.clone(), c.theirs.clone()];
                    sides.sort();
                    (c.requirement.clone(), c.base.clone(), sides)
                }));
            }
            let text = conflicts.is_empty().then(|| files(&specs));
            results.push((conflicts, text));
            changes.reverse();
        }
        assert_eq!(results[0], results[1], "case {number}");
    }
}

fn result_of(number: u16) -> Option<String> {
    let case = case(number)?;
    let temp = tempfile::tempdir().expect("a folder");
    let (specs, base) = (temp.path().join("specs"), case.join("input/specs"));
    copy(&base, &specs);
    for change in changes(&case) {
        run(&change, &specs, &base);
    }
    Some(fs::read_to_string(specs.join("demo/spec.md")).expect("the spec"))
}

#[test]
fn what_the_other_tool_lost_is_kept() {
    let Some(text) = result_of(2) else { return };
    assert!(text.contains("has no input") && text.contains("sees a notice"));
    let text = result_of(7).expect("case 7");
    assert!(
        text.contains(
            "### Requirement: Idle timeout\nThe system SHALL end an idle session after 5"
        )
    );
    let text = result_of(11).expect("case 11");
    assert!(text.contains("Logout") && text.contains("Session timeout"));
    let text = result_of(28).expect("case 28");
    assert!(text.contains("### Requirement: Login\nThe system SHALL end an idle"));
    assert!(text.contains("### Requirement: Session timeout\nThe system SHALL let a known"));
    let text = result_of(29).expect("case 29");
    assert!(text.contains("### Requirement: B\nThe system SHALL a."));
    assert!(text.contains("### Requirement: C\nThe system SHALL b."));
    let text = result_of(71).expect("case 71");
    assert!(
        text.ends_with("logged in\n\n### Notes\nKeep me.\n"),
        "{text}"
    );
    let text = result_of(82).expect("case 82");
    assert!(
        text.starts_with("# demo Specification\n\n## Purpose\nTBD: say in a sentence"),
        "{text}"
    );
    for (number, requirements) in [(47, 3), (55, 2), (74, 2), (103, 2)] {
        let text = result_of(number).expect("a case");
        let spec = read_spec(text.as_bytes(), "x").expect("UTF-8");
        assert_eq!(
            spec.requirements.len(),
            requirements,
            "case {number}: {text}"
        );
    }
    let text = result_of(110).expect("case 110");
    assert!(text.contains("### Requirement: Login by `key`\n"));
}

#[test]
fn nothing_but_the_addition_changes() {
    for number in [40, 41, 43] {
        let Some(case) = case(number) else { return };
        let before = fs::read_to_string(case.join("input/specs/demo/spec.md")).expect("the spec");
        let after = result_of(number).expect("a result");
        // One stretch is new, and everything around it is as it was.
        let head = before
            .bytes()
            .zip(after.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let rest = before.len() - head;
        assert!(
            after
                .as_bytes()
                .ends_with(&before.as_bytes()[before.len() - rest..]),
            "case {number}:\n{after:?}"
        );
        assert!(after.contains("### Requirement: Logout"), "case {number}");
        assert_eq!(
            after.matches("\r\n").count(),
            before.matches("\r\n").count(),
            "case {number}"
        );
    }
}

#[test]
fn a_hand_edit_of_the_target_is_a_conflict_case_004() {
    let Some(case) = case(4) else { return };
    let temp = tempfile::tempdir().expect("a folder");
    let (specs, base) = (temp.path().join("specs"), temp.path().join("base"));
    copy(&case.join("input/specs"), &specs);
    copy(&case.join("input/specs"), &base);
    let file = base.join("demo/spec.md");
    let text = fs::read_to_string(&file).expect("the spec");
    let text = text.replace("after 15 minutes (regulator order 7).", "after 30 minutes.");
    fs::write(&file, text).expect("write the base");
    let verdict = run(&changes(&case)[0], &specs, &base);
    check("case 4", &verdict, &Want::Conflict(ModifyModify));
}

#[test]
fn scenarios_go_and_are_renamed_on_purpose_cases_022_and_023() {
    for (number, mark, gone) in [
        (22, "#### REMOVED Scenario: Legacy\n", "Legacy"),
        (
            23,
            "#### RENAMED Scenario: Idle -> Idle session\n",
            "Scenario: Idle\n",
        ),
    ] {
        let Some(case) = case(number) else { return };
        let temp = tempfile::tempdir().expect("a folder");
        let (specs, change) = (temp.path().join("specs"), temp.path().join("change"));
        copy(&case.join("input/specs"), &specs);
        copy(&changes(&case)[0], &change);
        let file = change.join("specs/demo/spec.md");
        let text = fs::read_to_string(&file).expect("the delta") + "\n" + mark;
        fs::write(&file, text).expect("write the delta");
        let base = case.join("input/specs");
        check("marked", &run(&change, &specs, &base), &Fine);
        let text = fs::read_to_string(specs.join("demo/spec.md")).expect("the spec");
        assert!(!text.contains(gone) && !text.contains("REMOVED"), "{text}");
    }
}

#[test]
fn names_are_per_domain_and_comments_hold_none_cases_037_and_049() {
    let Some(case) = case(37) else { return };
    for domain in ["demo", "other"] {
        let file = case.join("input/specs").join(domain).join("spec.md");
        let spec = read_spec(&fs::read(file).expect("a spec"), "x").expect("UTF-8");
        assert!(spec.findings.is_empty(), "{:?}", spec.findings);
    }
    let file = self::case(49)
        .expect("case 49")
        .join("input/specs/demo/spec.md");
    let spec = read_spec(&fs::read(file).expect("a spec"), "x").expect("UTF-8");
    assert_eq!(spec.requirements.len(), 1);
}

#[test]
fn a_change_on_top_of_another_waits_for_it_case_115() {
    let Some(case) = case(115) else { return };
    let temp = tempfile::tempdir().expect("a folder");
    let specs = temp.path().join("specs");
    copy(&case.join("input/specs"), &specs);
    let changes = changes(&case);
    check(
        "first",
        &run(&changes[1], &specs, &specs),
        &Refused("missing_requirement"),
    );
    check("base", &run(&changes[0], &specs, &specs), &Fine);
    check("then", &run(&changes[1], &specs, &specs), &Fine);
}

#[test]
fn line_merge_cases_merge_by_meaning() {
    let Some(cases) = cases() else { return };
    let wants: &[(u16, Option<ConflictKind>)] = &[
        (118, None),
        (119, Some(ModifyModify)),
        (120, None),
        (121, Some(DeleteModify)),
        (122, None),
        (124, None),
        (125, None),
        (127, Some(RenameRename)),
        (128, None),
        (130, Some(AddAdd)),
        (131, Some(AddAdd)),
        (133, None),
        (134, None),
        (136, None),
        (137, None),
    ];
    for (number, want) in wants {
        let Some((_, case)) = cases.iter().find(|(n, _)| n == number) else {
            continue;
        };
        let read = |name: &str| fs::read_to_string(case.join(name)).expect("a text");
        let (base, ours, theirs) = (read("base.md"), read("ours.md"), read("theirs.md"));
        let names = MarkerNames::default();
        let merged = merge_spec(&base, &ours, &theirs, &FileMerge, names);
        let swapped = merge_spec(&base, &theirs, &ours, &FileMerge, names);
        match want {
            None => {
                assert!(merged.conflicts.is_empty(), "case {number}: {merged:#?}");
                assert_eq!(merged.text, swapped.text, "case {number}");
                let spec = read_spec(merged.text.as_bytes(), "x").expect("UTF-8");
                assert!(
                    spec.findings.is_empty(),
                    "case {number}: {:?}",
                    spec.findings
                );
            }
            Some(kind) => {
                let kinds: Vec<_> = merged.conflicts.iter().map(|c| c.kind).collect();
                assert_eq!(kinds, [*kind], "case {number}: {merged:#?}");
                assert_eq!(swapped.conflicts[0].kind, kind.swapped(), "case {number}");
                assert!(has_markers(&merged.text).is_some());
            }
        }
        match number {
            118 => assert!(merged.text.contains("Gamma") && merged.text.contains("Delta")),
            122 => assert!(merged.text.contains("Gamma") && !merged.text.contains("Beta")),
            125 => assert_eq!(merged.text.matches("alpha has ended").count(), 1),
            128 => {
                assert!(merged.text.contains("10 seconds") && merged.text.contains("by hand"));
            }
            134 => {
                let all = merged.text.matches('\n').count();
                assert_eq!(merged.text.matches("\r\n").count(), all);
            }
            136 => {
                let at = |name: &str| merged.text.find(name).expect("there");
                assert!(at("Alpha") < at("Beta") && at("Beta") < at("Delta"));
                assert!(at("Delta") < at("Gamma"));
            }
            _ => {}
        }
    }
}

#[test]
fn no_case_is_forgotten() {
    let Some(cases) = cases() else { return };
    let forgotten: Vec<u16> = cases
        .iter()
        .filter(|(number, case)| {
            !APPLY.iter().any(|(n, _, _)| n == number)
                && !ELSEWHERE.contains(number)
                && !case.join("base.md").exists()
        })
        .map(|(number, _)| *number)
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

/// Reads the changes of the corpus; nothing of it is in the repository.
#[test]
fn the_corpus_is_read_and_applied() {
    let Some(dir) = shared().map(|dir| dir.join("corpus/openspec")) else {
        return;
    };
    let (mut fine, mut refused) = (0, 0);
    let mut changes: Vec<PathBuf> = fs::read_dir(dir.join("changes"))
        .expect("the changes")
        .map(|e| e.expect("an entry").path())
        .collect();
    changes.sort();
    for change in changes.iter().filter(|c| c.join("specs").is_dir()) {
        let verdict = plan(&Apply {
            delta: change.clone(),
            specs: dir.join("specs"),
            base: None,
            retire: false,
        })
        .expect("the corpus is readable");
        assert_eq!(verdict.conflicts().count(), 0, "the base is the target");
        match verdict.refusal() {
            None => fine += 1,
            Some(failure) => {
                refused += 1;
                eprintln!(
                    "{}",
                    change.file_name().unwrap_or_default().to_string_lossy()
                );
                for blocker in &failure.blockers {
                    eprintln!("  {}: {}", blocker.code, blocker.message);
                }
            }
        }
        for one in &verdict.domains {
            if let (Action::Write(new), Some(old)) = (&one.outcome.action, &one.before) {
                untouched_stays(old, new, &one.outcome.domain, change);
            }
        }
    }
    eprintln!("corpus: {fine} changes apply, {refused} do not");
    assert!(fine > refused, "{fine} apply, {refused} do not");
}

/// Every requirement of the old spec that the delta does not name is in the new one byte for byte.
fn untouched_stays(old: &str, new: &str, domain: &str, change: &Path) {
    let file = change.join("specs").join(domain).join("spec.md");
    let delta = read_delta(&fs::read(file).expect("a delta"), "x");
    let touched: Vec<String> = delta
        .domains
        .iter()
        .flat_map(|d| d.touched())
        .map(|t| t.name)
        .collect();
    let spec = read_spec(old.as_bytes(), "x").expect("UTF-8");
    for one in spec.requirements {
        let block = &old[one.span.start..one.span.end];
        if !touched.contains(&one.name) {
            assert!(new.contains(block), "{domain}: {}", one.name);
        }
    }
}
