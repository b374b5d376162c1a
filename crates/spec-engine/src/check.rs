//! The check of a spec by itself, and of a requirement in a spec or a delta.
//!
//! Checks that need the other texts (base, target) are those of `apply`: one verdict for validate and archive.

use super::layout::{ItemKind, Layout};
use super::model::{Requirement, Scenario, Spec, Step};
use super::words::{self, SectionWord, StepWord};
use loopx_base::findings::Notes;
use std::borrow::Cow;
use std::collections::HashMap;

/// The findings about a spec that make merging into it unsafe; all others are about its quality.
pub(crate) const STRUCTURAL: &[&str] = &[
    "not_utf8",
    "unclosed_fence",
    "unclosed_comment",
    "unclosed_html",
    "conflict_marker",
    "duplicate_requirement",
    "duplicate_id",
    "requirement_outside_section",
    "delta_section_in_spec",
    "empty_name",
];

/// Structural findings after which the text behind them is read as something else.
pub(crate) const TAKING: &[&str] = &[
    "unclosed_fence",
    "unclosed_comment",
    "unclosed_html",
    "conflict_marker",
];

/// Tells whether a purpose says only that it is still to be written.
pub(crate) fn is_placeholder(purpose: &str) -> bool {
    let purpose = purpose.trim();
    purpose.is_empty() || purpose.starts_with("TBD") || purpose.starts_with("TODO")
}

pub(crate) fn spec(layout: &Layout<'_>, spec: &Spec, notes: &mut Notes<'_>) {
    match &spec.purpose {
        None => notes.error(
            "no_purpose",
            1,
            "the spec has no `## Purpose`",
            "add a section `## Purpose` that says what the domain is for",
        ),
        Some(purpose) if purpose.text.is_empty() => notes.error(
            "empty_purpose",
            purpose.span.line,
            "the purpose is empty",
            "say in a sentence or two what the domain is for",
        ),
        Some(purpose) if is_placeholder(&purpose.text) => {
            notes.warn(
                "placeholder_purpose",
                purpose.span.line,
                "the purpose is a placeholder",
                "say in a sentence or two what the domain is for",
            );
        }
        Some(_) => {}
    }
    if spec.language.is_none() {
        notes.error(
            "no_requirements_section",
            1,
            "the spec has no `## Requirements`",
            "put the requirements below a section `## Requirements`",
        );
    } else if spec.requirements.is_empty() {
        notes.error(
            "no_requirements",
            1,
            "the spec has no requirement",
            "add one as `### Requirement: NAME` below `## Requirements`",
        );
    }
    structure(layout, notes);
    for one in &spec.requirements {
        requirement(one, false, notes);
    }
}

/// Requirement of the list by the name and id under which it is looked up.
pub(crate) struct Named<'t> {
    pub name: &'t str,
    pub id: Option<&'t str>,
    pub line: usize,
}

/// The requirements of a spec, without their contents.
pub(crate) fn named<'t>(layout: &Layout<'t>) -> Vec<Named<'t>> {
    layout
        .sections
        .iter()
        .filter(|s| s.level == 2 && matches!(s.word, Some((SectionWord::Requirements, _))))
        .flat_map(|section| &section.items)
        .filter_map(|item| match &item.kind {
            ItemKind::Requirement { name } => Some(Named {
                name: layout.slice(name),
                id: item.id.as_ref().map(|(_, id)| layout.slice(id)),
                line: layout.line(item.range.start),
            }),
            ItemKind::Note => None,
        })
        .collect()
}

/// The language of the headings.
pub(crate) fn language(layout: &Layout<'_>) -> Option<words::Language> {
    layout.sections.iter().find_map(|s| match s.word {
        Some((SectionWord::Requirements, language)) if s.level == 2 => Some(language),
        _ => None,
    })
}

/// Findings about the structure of a spec, which every reader of it has to know: see [`STRUCTURAL`].
pub(crate) fn structure(layout: &Layout<'_>, notes: &mut Notes<'_>) {
    layout.problems(notes);
    for (name, line) in layout.early() {
        notes.error(
            "requirement_outside_section",
            line,
            format!("requirement `{name}` stands above the first section of the spec"),
            "move it below `## Requirements`",
        );
    }
    for section in &layout.sections {
        let line = layout.line(section.heading.start);
        if matches!(section.word, Some((SectionWord::Delta(_), _))) {
            notes.error(
                "delta_section_in_spec",
                line,
                format!(
                    "`{}` is a section of a delta, not of a spec",
                    layout.slice(&section.title)
                ),
                "move its requirements below `## Requirements`",
            );
            continue;
        }
        if section.level == 2 && matches!(section.word, Some((SectionWord::Requirements, _))) {
            for item in &section.items {
                if let (ItemKind::Note, Some(heading)) = (&item.kind, &item.heading) {
                    let title = layout.slice(heading).trim_start_matches(['#', ' ']);
                    if words::almost_requirement(title) {
                        notes.warn(
                            "almost_requirement",
                            layout.line(heading.start),
                            format!("`{title}` is read as a note: no colon behind the word"),
                            "write `### Requirement: NAME`",
                        );
                    }
                }
            }
            continue;
        }
        for item in &section.items {
            if let ItemKind::Requirement { name } = &item.kind {
                notes.error(
                    "requirement_outside_section",
                    layout.line(item.range.start),
                    format!(
                        "requirement `{}` stands below `{}`, not below `## Requirements`",
                        layout.slice(name),
                        layout.slice(&section.title)
                    ),
                    "move it below `## Requirements`",
                );
            }
        }
    }
    names(&named(layout), notes);
}

fn names(requirements: &[Named<'_>], notes: &mut Notes<'_>) {
    let mut seen: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut loose: HashMap<String, &Named<'_>> = HashMap::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for one in requirements {
        let key = words::folded(one.name);
        let line = one.line;
        if key.is_empty() {
            notes.error(
                "empty_name",
                line,
                "a requirement has no name",
                "write `### Requirement: NAME`",
            );
        }
        if let Some(first) = seen.get(&key) {
            notes.error(
                "duplicate_requirement",
                line,
                format!(
                    "requirement `{}` stands on lines {first} and {line}",
                    one.name
                ),
                "give one of them another name, or join them",
            );
            continue;
        }
        seen.insert(key, line);
        if let Some(other) = loose.insert(words::loose(one.name), one) {
            notes.warn(
                "similar_names",
                line,
                format!(
                    "`{}` and `{}` (line {}) differ in case or marks only",
                    one.name, other.name, other.line
                ),
                "give one of them a clearly different name",
            );
        }
        if let Some(first) = one.id.and_then(|id| ids.insert(id, line)) {
            notes.error(
                "duplicate_id",
                line,
                format!("its id is that of the requirement on line {first}"),
                "an id belongs to one requirement for ever: choose another",
            );
        }
    }
}

/// Checks one requirement; `patch` when what it does not say stays as it is.
pub(crate) fn requirement(one: &Requirement, patch: bool, notes: &mut Notes<'_>) {
    let (name, line) = (&one.name, one.span.line);
    if name.is_empty() {
        notes.error(
            "empty_name",
            line,
            "a requirement has no name",
            "write `### Requirement: NAME`",
        );
    }
    if !patch {
        complete(one, notes);
    }
    if !one.body.is_empty() && one.level.is_none() {
        binding(one, notes);
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for scenario in &one.scenarios {
        let line = scenario.span.line;
        if let Some(first) = seen.insert(words::fold(&scenario.name), line) {
            notes.error(
                "duplicate_scenario",
                line,
                format!(
                    "scenario `{}` of `{name}` stands on lines {first} and {line}",
                    scenario.name
                ),
                "scenario names are keys: give one of them another name",
            );
        }
        self::scenario(scenario, name, notes);
    }
}

/// A requirement that stands for itself has a text and a scenario.
fn complete(one: &Requirement, notes: &mut Notes<'_>) {
    let (name, line) = (&one.name, one.span.line);
    if one.body.is_empty() {
        notes.error(
            "no_text",
            line,
            format!("requirement `{name}` has no text"),
            "say below its heading what SHALL hold",
        );
    }
    if one.scenarios.is_empty() {
        notes.error(
            "no_scenario",
            line,
            format!("requirement `{name}` has no scenario"),
            "add `#### Scenario: NAME` with WHEN and THEN steps",
        );
    }
}

/// A text that does not say how binding it is.
fn binding(one: &Requirement, notes: &mut Notes<'_>) {
    let (name, line) = (&one.name, one.span.line);
    if words::lower_case_level(&one.body) {
        notes.warn(
            "lower_case_keyword",
            line,
            format!("requirement `{name}` is not binding: only upper-case words are (RFC 8174)"),
            "write SHALL or MUST in upper case",
        );
    } else {
        notes.warn(
            "no_keyword",
            line,
            format!("requirement `{name}` has no SHALL, MUST, SHOULD or MAY in its text"),
            "say how binding it is; words in code and quotes do not count",
        );
    }
}

fn scenario(one: &Scenario, requirement: &str, notes: &mut Notes<'_>) {
    let (name, line) = (&one.name, one.span.line);
    if name.is_empty() {
        notes.error(
            "empty_name",
            line,
            format!("a scenario of `{requirement}` has no name"),
            "write `#### Scenario: NAME`",
        );
    }
    let observes = |step: &Step| step.word == Some(StepWord::Then);
    if one.body.is_empty() {
        notes.error(
            "empty_scenario",
            line,
            format!("scenario `{name}` of `{requirement}` is empty"),
            "add WHEN and THEN steps",
        );
    } else if !one.steps.iter().any(observes) {
        notes.warn(
            "no_then",
            line,
            format!("scenario `{name}` of `{requirement}` has no THEN step"),
            "say what is observed: `- **THEN** ...`",
        );
    }
}
