//! Rules of the package, by its smallest parts.

use super::{
    Criterion, Document, FINDINGS, Package, Part, Source, Sources, Verdict, check, gather, quality,
    read,
};
use std::collections::BTreeMap;

fn package(texts: &[(Document, &str)]) -> Package {
    let sources = texts.iter().map(|(document, text)| {
        let source = Source {
            label: document.file_name(),
            text: (*text).to_owned(),
        };
        (*document, source)
    });
    read(Sources {
        whole: sources.collect(),
        items: Vec::new(),
    })
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

fn source(label: &str, text: &str) -> Source {
    Source {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn a_path_says_which_part_of_which_document_it_has() {
    use Document::{Architecture, Epics, Requirements};
    for (path, expected) in [
        ("requirements.md", Some((Requirements, Part::Whole))),
        ("p/requirements/index.md", Some((Requirements, Part::Whole))),
        ("requirements/_index.md", Some((Requirements, Part::Whole))),
        (
            "requirements/REQ-001-idle.md",
            Some((Requirements, Part::Item)),
        ),
        ("requirements/NFR-001.md", Some((Requirements, Part::Item))),
        (
            "architecture/ADR-001-store.md",
            Some((Architecture, Part::Item)),
        ),
        ("epics/EPIC-001-end.md", Some((Epics, Part::Item))),
        ("requirements/ADR-001.md", Some((Requirements, Part::Other))),
        ("requirements/req-001.md", Some((Requirements, Part::Other))),
        ("REQ-001-idle.md", None),
        ("index.md", None),
        ("requirements/REQ-001.txt", None),
    ] {
        assert_eq!(Document::of_path(path), expected, "{path}");
    }
}

#[test]
fn items_in_files_of_their_own_are_what_they_are_in_one_file() {
    let index = "---\ndocument: requirements\ndomain: auth\n---\n# R\n\n## Functional requirements\n\n## Quality requirements\n";
    let idle = "# REQ-001: Idle\n- Priority: must\n- Goals: GOAL-1\n\nIt SHALL end.\n\n## Acceptance criteria\n- Ends: WHEN idle, THEN it ends\n";
    let time = "---\nid: NFR-001\n---\n# NFR-001: Time\n- Priority: could\n\nIt SHALL be quick.\n\n## Acceptance criteria\n- Q: WHEN asked, THEN 1 s\n\n## Notes\n\nx\n";
    let record = "# ADR-001: Store\n- Requirements: REQ-001\n\n## Context\n\nc\n\n## Options considered\n- a\n- b\n\n## Decision\n\na\n";
    let epic = "# EPIC-001: End\n\n## STORY-001: End it\n- Requirements: REQ-001\n";
    let (sources, repeated) = gather([
        source("p/epics/EPIC-001-end.md", epic),
        source("p/requirements/index.md", index),
        source("p/requirements/REQ-001-idle.md", idle),
        source("p/requirements/NFR-001.md", time),
        source("p/architecture/ADR-001-store.md", record),
    ]);
    assert_eq!(repeated, []);
    let package = read(sources);
    assert_eq!(package.findings, []);
    let said: Vec<_> = (package.requirements.iter())
        .map(|one| {
            (
                one.id.as_str(),
                one.domain.as_str(),
                one.criteria.len(),
                one.line,
            )
        })
        .collect();
    assert_eq!(said, [("NFR-001", "auth", 1, 4), ("REQ-001", "auth", 1, 1)]);
    assert_eq!(package.requirements[0].others, ["Notes"]);
    assert_eq!(
        package.requirements[1].file,
        "p/requirements/REQ-001-idle.md"
    );
    assert_eq!(package.decisions[0].considered, 2);
    assert_eq!(package.decisions[0].outcome, "a");
    assert_eq!(package.stories[0].serves, ["REQ-001"]);
    // The sections of the index that the items fill count as filled, and what is not there is named by its file.
    let of_index = |one: &&loopx_spec::Finding| one.file == "architecture/index.md";
    let found = check(&package);
    let missing: Vec<_> = found.iter().filter(of_index).map(|one| one.id).collect();
    assert_eq!(missing, ["package_document_expected"]);
    let unserved = found
        .iter()
        .find(|one| one.id == "package_requirement_unserved");
    assert_eq!(
        unserved.map(|one| one.file.as_str()),
        Some("p/requirements/NFR-001.md")
    );
    // The requirements alone: three of eighteen places.
    assert_eq!(quality(&package).dimensions["completeness"], Some(20));
}

#[test]
fn an_item_without_its_heading_or_with_an_id_of_another_file_is_a_finding() {
    let (sources, _) = gather([
        source("requirements/REQ-001.md", "Just words.\n"),
        source("requirements/REQ-002.md", "# Idle\n"),
        source("requirements/REQ-003.md", "# REQ-1: A\n"),
        source("requirements/REQ-004.md", "# REQ-1: B\n"),
    ]);
    let package = read(sources);
    let found: Vec<_> = (package.findings.iter())
        .map(|one| (one.id, one.file.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("package_id_invalid", "requirements/REQ-001.md"),
            ("package_id_invalid", "requirements/REQ-002.md"),
            ("package_file_apart", "requirements/REQ-003.md"),
            ("package_file_apart", "requirements/REQ-004.md")
        ]
    );
    let found = check(&package);
    let repeated = found.iter().find(|one| one.id == "package_id_repeated");
    assert_eq!(
        repeated.map(|one| one.file.as_str()),
        Some("requirements/REQ-004.md")
    );
}

#[test]
fn a_file_beside_the_items_is_named_and_not_read() {
    let (sources, found) = gather([
        source("p/requirements/notes.md", "# REQ-009: Hidden\n"),
        source("p/requirements/req-001.md", "# REQ-001: Hidden\n"),
    ]);
    assert!(sources.is_empty());
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.id, one.file.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("package_file_unread", "p/requirements/notes.md"),
            ("package_file_unread", "p/requirements/req-001.md")
        ]
    );
}
