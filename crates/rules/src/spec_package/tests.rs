//! Rules of the package, by its smallest parts.

use super::{Criterion, Document, FINDINGS, Package, Source, Verdict, check, quality, read};
use std::collections::BTreeMap;

fn package(texts: &[(Document, &str)]) -> Package {
    let sources = texts.iter().map(|(document, text)| {
        let source = Source {
            label: document.file_name(),
            text: (*text).to_owned(),
        };
        (*document, source)
    });
    read(sources.collect())
}

#[test]
fn the_findings_stand_in_order() {
    assert!(FINDINGS.windows(2).all(|pair| pair[0].id < pair[1].id));
}

#[test]
fn a_criterion_is_read_by_its_words_in_upper_case() {
    let read = |text| Criterion::read(text, 1);
    let whole =
        read("Idle ends: GIVEN a session, WHEN nobody types, THEN it ends, AND a note says so.");
    let words: Vec<_> = whole
        .steps
        .iter()
        .map(|step| (step.word, step.text.as_str()))
        .collect();
    assert_eq!(whole.name, "Idle ends");
    assert_eq!(
        words,
        [
            ("GIVEN", "a session"),
            ("WHEN", "nobody types"),
            ("THEN", "it ends"),
            ("AND", "a note says so")
        ]
    );
    assert_eq!(read("WHEN it rains, THEN it is wet").name, "It rains");
    for wrong in [
        "when it rains, then it is wet",
        "Rain: WHEN it rains",
        "Rain: WHEN , THEN it is wet",
        "ATHENS: WHENEVER, THEN",
    ] {
        assert!(!read(wrong).is_scenario(), "{wrong}");
    }
}

#[test]
fn a_template_is_a_document_whose_examples_count_for_nothing() {
    let all = Document::ALL.map(|document| (document, document.template()));
    let package = package(&all);
    assert!(package.requirements.is_empty() && package.decisions.is_empty());
    assert!(package.goals.is_empty() && package.stories.is_empty());
    let found: Vec<_> = check(&package).into_iter().map(|one| one.id).collect();
    assert!(found.contains(&"package_problem_short"), "{found:?}");
    assert!(found.contains(&"package_requirements_few"), "{found:?}");
    assert!(!found.contains(&"package_id_invalid"), "{found:?}");
}

/// The examples of the templates, taken out of their comments, are documents without an error.
#[test]
fn the_examples_of_the_templates_are_good() {
    let bare = |document: Document| {
        let text = document.template();
        let text = text.replace(
            "<!-- Priorities are MoSCoW: must, should, could, wont. Example:",
            "",
        );
        let text = text.replace("<!-- The same with NFR- ids. A criterion is a measure:", "");
        let text = text.replace(
            "<!-- Each one becomes a draft of a decision record. Example:",
            "",
        );
        let text = text.replace("<!-- Example:", "").replace("\n-->\n", "\n");
        let goal = "- GOAL-1: a change that can be measured";
        let text = text
            .replace(&format!("<!-- {goal} -->"), goal)
            .replace("domain: \"\"", "domain: auth");
        text.replace("verdict: \"\"", "verdict: review")
    };
    let texts: Vec<(Document, String)> = Document::ALL.map(|one| (one, bare(one))).into();
    let texts: Vec<(Document, &str)> = texts
        .iter()
        .map(|(one, text)| (*one, text.as_str()))
        .collect();
    let package = package(&texts);
    let ids: Vec<&str> = package
        .requirements
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(ids, ["REQ-001", "NFR-001"]);
    assert_eq!(package.decisions.len(), 1);
    assert_eq!(package.decisions[0].considered, 2);
    assert_eq!(package.stories[0].serves, ["REQ-001"]);
    let errors: Vec<_> = check(&package)
        .into_iter()
        .filter(|one| one.severity == loopx_spec::Severity::Error)
        .map(|one| one.id)
        .collect();
    // The problem is a comment still, and one example is one requirement.
    assert_eq!(
        errors,
        ["package_problem_short", "package_requirements_few"]
    );
}

/// The lines of the rubric: 80 and 60 of the whole, 70 and 50 of coverage.
#[test]
fn the_figures_come_to_the_verdict_of_the_rubric() {
    let brief = |goals: usize| {
        let items: String = (1..=goals)
            .map(|nth| format!("- GOAL-{nth}: g\n"))
            .collect();
        format!(
            "---\ndocument: product-brief\n---\n# B\n\n## Problem\n\nx\n\n## Users\n\nx\n\n## Goals\n\n{items}\n\
             ## In scope\n\nx\n\n## Out of scope\n\nx\n\n## Assumptions\n\nx\n"
        )
    };
    let requirements = "---\ndocument: requirements\ndomain: a\n---\n# R\n\n## Functional requirements\n\n### REQ-1: A\n\
        - Goals: GOAL-1, GOAL-2, GOAL-3\n\nIt SHALL.\n\n#### Acceptance criteria\n- WHEN a, THEN b\n\n\
        ## Quality requirements\n\nx\n";
    let architecture = "---\ndocument: architecture\n---\n# A\n\n## Structure\n\nx\n\n## Decisions\n\nx\n\n## Risks\n\nx\n";
    let epics =
        "---\ndocument: epics\n---\n# E\n\n## EPIC-1: E\n\n### STORY-1: S\n- Requirements: REQ-1\n";
    let come_to = |goals: usize, depth: u32| {
        let brief = brief(goals);
        let report =
            format!("---\ndocument: readiness-report\nverdict: pass\ndepth: {depth}\n---\n# R\n");
        let found = quality(&package(&[
            (Document::ProductBrief, &brief),
            (Document::Requirements, requirements),
            (Document::Architecture, architecture),
            (Document::Epics, epics),
            (Document::ReadinessReport, &report),
        ]));
        let coverage = found.dimensions["coverage"];
        (
            found.verdict,
            found.score.map(|score| score.to_string()),
            coverage,
        )
    };
    assert_eq!(
        come_to(3, 100),
        (Some(Verdict::Pass), Some("100".to_owned()), Some(100))
    );
    assert_eq!(
        come_to(3, 0),
        (Some(Verdict::Pass), Some("80".to_owned()), Some(100))
    );
    // Coverage 75 passes; 60 does not, however good the rest is; 42 fails.
    assert_eq!(come_to(4, 100).0, Some(Verdict::Pass));
    assert_eq!(
        (come_to(5, 100).0, come_to(5, 100).2),
        (Some(Verdict::Review), Some(60))
    );
    assert_eq!(
        (come_to(7, 100).0, come_to(7, 100).2),
        (Some(Verdict::Fail), Some(42))
    );
    assert_eq!(come_to(4, 0).0, Some(Verdict::Review));
    let none = quality(&package(&[(Document::Requirements, requirements)]));
    assert_eq!((none.verdict, none.score), (None, None));
    assert_eq!(none.why, ["nobody gave depth"]);
    let all: BTreeMap<_, _> = none.dimensions;
    assert_eq!(all["coverage"], Some(0));
}
