//! Specs and deltas as people write them: what a replay of public histories found. The numbers are those
//! of the findings.

use git_loopx::testing::FileMerge;
use loopx_spec::{
    Action, Bases, ConflictKind, DomainOutcome, Finding, MarkerNames, PlanOptions, Severity,
    merge_spec, plan_domain, read_delta,
};

const HEAD: &str = "# demo\n\n## Purpose\nWhat it is for.\n\n## Requirements\n";

fn block(name: &str) -> String {
    format!(
        "\n### Requirement: {name}\nThe system SHALL do {name}.\n\n\
         #### Scenario: S\n- **WHEN** asked\n- **THEN** {name}\n"
    )
}

fn spec(names: &[&str]) -> String {
    let blocks: Vec<String> = names.iter().map(|name| block(name)).collect();
    format!("{HEAD}{}", blocks.concat())
}

fn plan(base: Option<&str>, target: Option<&str>, delta: &str) -> DomainOutcome {
    let delta = read_delta(delta.as_bytes(), "delta");
    let bases = Bases {
        default: base.map(str::to_owned),
        ..Bases::default()
    };
    let options = PlanOptions::default();
    let one = &delta.domains[0];
    plan_domain("demo", &bases, target, one, &options, &FileMerge)
}

fn written(outcome: &DomainOutcome) -> &str {
    match &outcome.action {
        Action::Write(text) => text,
        _ => panic!("{outcome:#?}"),
    }
}

/// The findings of one severity, as `id:line`.
fn ids(findings: &[Finding], severity: Severity) -> Vec<String> {
    let some = findings.iter().filter(|f| f.severity == severity);
    some.map(|f| format!("{}:{}", f.id, f.line)).collect()
}

#[test]
fn an_old_fault_of_the_spec_is_a_warning_where_the_delta_does_not_touch_it() {
    let new = format!("## ADDED Requirements\n{}", block("New"));
    let outside = format!("# demo\n\n## Purpose\nP.\n{}", block("Lost"))
        + &spec(&["A"]).replace("# demo\n\n## Purpose\nWhat it is for.\n", "");
    let twice = spec(&["A", "B", "B"]);
    let section = spec(&["A"]) + "\n## ADDED Requirements\n" + &block("C");
    let markers = spec(&["M", "A"]).replace(
        "do M.\n",
        "do M.\n\n```\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n```\n",
    );
    let fault =
        |text: &str, needle: &str| 1 + text[..text.rfind(needle).expect(needle)].lines().count();
    for (target, id, needle, touching) in [
        (
            &outside,
            "requirement_outside_section",
            "### Requirement: Lost",
            "Lost",
        ),
        (&twice, "duplicate_requirement", "### Requirement: B", "B"),
        (&section, "delta_section_in_spec", "## ADDED", "C"),
        (&markers, "conflict_marker", "<<<<<<<", "M"),
    ] {
        let outcome = plan(Some(target), Some(target), &new);
        let place = format!("{id}:{}", fault(target, needle));
        assert_eq!(
            ids(&outcome.findings, Severity::Error),
            [""; 0],
            "{outcome:#?}"
        );
        assert_eq!(
            ids(&outcome.findings, Severity::Warning),
            std::slice::from_ref(&place)
        );
        assert!(written(&outcome).contains(block("New").trim()));
        // What the delta touches is judged.
        let modified = format!(
            "## MODIFIED Requirements\n{}",
            block(touching).replace("do", "not do")
        );
        let outcome = plan(Some(target), Some(target), &modified);
        assert!(
            ids(&outcome.findings, Severity::Error).contains(&place),
            "{outcome:#?}"
        );
    }
}

#[test]
fn an_open_fence_of_the_spec_is_an_error_where_the_delta_would_write_into_it() {
    let target = spec(&["A", "B"]).replace("do B.\n", "do B.\n\n```\nnever closed\n");
    let new = format!("## ADDED Requirements\n{}", block("New"));
    let outcome = plan(Some(&target), Some(&target), &new);
    let errors = ids(&outcome.findings, Severity::Error);
    assert!(
        errors.contains(&"unclosed_fence:18".to_owned()),
        "{outcome:#?}"
    );
    assert_eq!(outcome.action, Action::Keep);
    let first = format!(
        "## MODIFIED Requirements\n{}",
        block("A").replace("do", "not do")
    );
    let outcome = plan(Some(&target), Some(&target), &first);
    assert_eq!(
        ids(&outcome.findings, Severity::Error),
        [""; 0],
        "{outcome:#?}"
    );
    assert_eq!(
        written(&outcome),
        target.replace("SHALL do A", "SHALL not do A")
    );
}

#[test]
fn e02_a_purpose_in_the_place_of_another_is_a_warning() {
    let delta = format!(
        "## Purpose\nWhy this change.\n\n## ADDED Requirements\n{}",
        block("New")
    );
    let target = spec(&["A"]);
    let outcome = plan(Some(&target), Some(&target), &delta);
    assert_eq!(
        ids(&outcome.findings, Severity::Warning),
        ["purpose_replaced:2"]
    );
    assert!(outcome.findings[0].message.contains("What it is for."));
    assert!(outcome.is_clean() && written(&outcome).contains("Why this change."));
    // A placeholder, or the same words, are in nobody's way.
    for purpose in ["TBD: later", "Why this change.", ""] {
        let target = target.replace("What it is for.", purpose);
        let outcome = plan(Some(&target), Some(&target), &delta);
        assert_eq!(
            ids(&outcome.findings, Severity::Warning),
            [""; 0],
            "{purpose}"
        );
    }
}

#[test]
fn e10_a_new_domain_without_a_purpose_gets_a_placeholder_and_a_warning() {
    let silent = format!("## ADDED Requirements\n{}", block("New"));
    let outcome = plan(None, None, &silent);
    assert_eq!(ids(&outcome.findings, Severity::Warning), ["no_purpose:1"]);
    let made = written(&outcome).to_owned();
    assert!(made.contains("## Purpose\nTBD"), "{made}");
    // Two changes that both begin the domain, one of which says what it is for: in either order.
    let said = format!(
        "## Purpose\nSaid.\n\n## ADDED Requirements\n{}",
        block("Other")
    );
    let other = plan(None, None, &said);
    let one = plan(None, Some(&made), &said);
    let two = plan(None, Some(written(&other)), &silent);
    assert_eq!(written(&one), written(&two));
    assert!(
        written(&one).contains("## Purpose\nSaid.\n"),
        "{}",
        written(&one)
    );
    assert_eq!(ids(&one.findings, Severity::Warning), [""; 0], "{one:#?}");
}

#[test]
fn e09_a_scenario_that_loses_its_then_is_an_error() {
    let target = spec(&["A"]);
    let lost = format!(
        "## MODIFIED Requirements\n{}",
        block("A").replace("- **THEN** A\n", "- **AND** more\n")
    );
    let outcome = plan(Some(&target), Some(&target), &lost);
    assert_eq!(ids(&outcome.findings, Severity::Error), ["then_dropped:6"]);
    let patch = "## MODIFIED Requirements\n\n### Requirement: A\n\n#### MODIFIED Scenario: S\n- **WHEN** x\n";
    let outcome = plan(Some(&target), Some(&target), patch);
    assert_eq!(ids(&outcome.findings, Severity::Error), ["then_dropped:5"]);
    // One that never had one stays a warning.
    let old = target.replace("- **THEN** A\n", "- **AND** it is\n");
    let outcome = plan(Some(&old), Some(&old), &lost);
    assert_eq!(ids(&outcome.findings, Severity::Error), [""; 0]);
}

#[test]
fn e11_a_heading_of_the_wrong_level_is_named_with_its_line() {
    let body = "The system SHALL.\n\n#### Scenario: S\n- **THEN** x\n";
    for (heading, line) in [
        ("#### Requirement: A", 3),
        ("## Requirement: A", 3),
        ("**Requirement: A**", 3),
        ("### Scenario: A", 3),
    ] {
        let delta = format!("## ADDED Requirements\n\n{heading}\n{body}");
        let read = read_delta(delta.as_bytes(), "delta");
        let errors = ids(&read.findings, Severity::Error);
        assert_eq!(errors, [format!("wrong_heading_level:{line}")], "{heading}");
        let fix = &read
            .findings
            .iter()
            .find(|f| f.severity == Severity::Error)
            .expect("one")
            .fix;
        let wanted = if heading.contains("Scenario") {
            "`#### Scenario: A`"
        } else {
            "`### Requirement: A`"
        };
        let fix = fix.to_string();
        assert!(fix.contains(wanted), "{fix}");
    }
}

#[test]
fn e14_the_driver_stops_where_two_names_differ_in_case_only() {
    let base = spec(&["A"]);
    let (ours, theirs) = (spec(&["A", "Sign in"]), spec(&["A", "Sign In"]));
    for (o, t) in [(&ours, &theirs), (&theirs, &ours)] {
        let merged = merge_spec(&base, o, t, &FileMerge, MarkerNames::default());
        let kinds: Vec<_> = merged.conflicts.iter().map(|c| c.kind).collect();
        assert_eq!(
            kinds,
            [ConflictKind::AddAdd, ConflictKind::AddAdd],
            "{}",
            merged.text
        );
    }
    // What one side has had is not the merge's doing.
    let old = spec(&["A", "Sign in", "Sign In"]);
    let more = spec(&["A", "B"]);
    let merged = merge_spec(
        &spec(&["A"]),
        &old,
        &more,
        &FileMerge,
        MarkerNames::default(),
    );
    assert!(merged.conflicts.is_empty(), "{}", merged.text);
}

#[test]
fn e14_the_driver_stops_where_an_open_fence_takes_in_the_other_side() {
    let base = spec(&["A", "B"]);
    let open = base.replace("do A.\n", "do A.\n\n```\nnever closed\n");
    let at_end = base.replace("do B.\n", "do B.\n\n```\nnever closed\n");
    let theirs = spec(&["A", "B", "New"]);
    let scenario = base.clone() + "\n#### Scenario: T\n- **THEN** t\n";
    for (ours, theirs) in [(&open, &theirs), (&at_end, &theirs), (&at_end, &scenario)] {
        for (o, t) in [(ours, theirs), (theirs, ours)] {
            let merged = merge_spec(&base, o, t, &FileMerge, MarkerNames::default());
            assert!(!merged.conflicts.is_empty(), "{}", merged.text);
        }
    }
}

#[test]
fn e15_a_domain_that_is_not_there_is_said_once() {
    let delta = format!("## MODIFIED Requirements\n{}{}", block("A"), block("B"));
    let outcome = plan(None, None, &delta);
    assert_eq!(
        ids(&outcome.findings, Severity::Error),
        ["missing_domain:3"]
    );
    assert!(
        outcome.findings[0].message.contains("2 requirements"),
        "{outcome:#?}"
    );
}
