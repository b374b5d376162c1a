//! The delta of a package: its requirements, with scenarios from their acceptance criteria. What has no counterpart in
//! it is named.

use super::{Document, Package, Requirement};
use loopx_base::id::SessionId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Part of the package that the delta does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub id: String,
    pub what: String,
    pub why: &'static str,
}

/// A requirement as a spec has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecKnown {
    /// No spec of the domain is there.
    NoDomain,
    /// The spec does not have it.
    New,
    /// The spec has it, with its stable id.
    There(Option<String>),
}

/// The delta, and what is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Made {
    #[serde(skip)]
    pub text: String,
    pub added: Vec<String>,
    pub modified: Vec<String>,
    pub left_out: Vec<LeftOut>,
}

/// The stable id that a requirement of a package gets: ids of two packages are not one.
pub(super) fn stable_id(session: &SessionId, id: &str) -> String {
    format!("{session}.{id}")
}

/// Makes the delta of a session.
pub fn delta(
    package: &Package,
    session: &SessionId,
    known: impl Fn(&str, &str) -> SpecKnown,
) -> Made {
    let mut made = Made {
        text: String::new(),
        added: Vec::new(),
        modified: Vec::new(),
        left_out: Vec::new(),
    };
    let mut domains: BTreeMap<&str, (String, String, bool)> = BTreeMap::new();
    for one in &package.requirements {
        left_out(one, &mut made.left_out);
        if one.is_left() || scenarios(one).next().is_none() {
            continue;
        }
        let entry = domains.entry(&one.domain).or_default();
        match known(&one.domain, &one.title) {
            SpecKnown::There(id) => {
                made.modified.push(one.id.clone());
                entry.1.push_str(&block(one, id.as_deref()));
            }
            other => {
                made.added.push(one.id.clone());
                entry.2 |= other == SpecKnown::NoDomain;
                let id = stable_id(session, &one.id);
                entry.0.push_str(&block(one, Some(&id)));
            }
        }
    }
    for (domain, (added, modified, is_new)) in &domains {
        let gap = if made.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(made.text, "{gap}# Domain: {domain}");
        let is_own = package.domain.as_deref() == Some(*domain);
        if let Some(purpose) = package.purpose.as_ref().filter(|_| *is_new && is_own) {
            let _ = write!(made.text, "\n## Purpose\n\n{purpose}\n");
        }
        for (heading, text) in [("ADDED", added), ("MODIFIED", modified)] {
            if !text.is_empty() {
                let _ = write!(made.text, "\n## {heading} Requirements\n{text}");
            }
        }
    }
    for story in &package.stories {
        made.left_out.push(LeftOut {
            id: story.id.clone(),
            what: story.title.clone(),
            why: "a story: plan a task for it",
        });
    }
    made.left_out.extend(without_place(package));
    made
}

fn scenarios(one: &Requirement) -> impl Iterator<Item = &super::Criterion> {
    one.criteria
        .iter()
        .filter(|criterion| criterion.is_scenario())
}

fn block(one: &Requirement, id: Option<&str>) -> String {
    let mut out = format!("\n### Requirement: {}\n", one.title);
    if let Some(id) = id {
        let _ = writeln!(out, "<!-- id: {id} -->");
    }
    let _ = writeln!(out, "{}", one.statement);
    for criterion in scenarios(one) {
        let _ = write!(out, "\n#### Scenario: {}\n", criterion.name);
        for step in &criterion.steps {
            let _ = writeln!(out, "- **{}** {}", step.word, step.text);
        }
    }
    out
}

fn left_out(one: &Requirement, all: &mut Vec<LeftOut>) {
    let mut leave = |what: &str, why| {
        all.push(LeftOut {
            id: one.id.clone(),
            what: what.to_owned(),
            why,
        });
    };
    if one.is_left() {
        leave(&one.title, "its priority is wont");
        return;
    }
    if scenarios(one).next().is_none() {
        leave(&one.title, "it has no criterion that can be a scenario");
    }
    for title in &one.others {
        leave(title, "a sub-section that a spec has no place for");
    }
}

/// The documents that neither a spec nor a decision record has a place for.
fn without_place(package: &Package) -> impl Iterator<Item = LeftOut> {
    let kept = [
        (Document::ProductBrief, "it stays with its task"),
        (Document::ReadinessReport, "it stays with its task"),
    ];
    kept.into_iter()
        .filter(|(document, _)| package.sources.whole.contains_key(document))
        .map(|(document, why)| LeftOut {
            id: document.to_string(),
            what: document.file_name(),
            why,
        })
}
