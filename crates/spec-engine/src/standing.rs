//! The faults that a spec had before a delta came: those in what the delta touches refuse it, the others
//! are warnings. What is wrong after the merge and was not before is the delta's own.

use super::check;
use super::layout::{ItemKind, Layout};
use super::model::spec_of;
use super::operation::DomainDelta;
use super::words;
use loopx_base::findings::{Finding, Notes, Severity};
use std::collections::{HashMap, HashSet};

/// The names that a delta reads or writes, folded: of a rename both.
pub(crate) fn touched(delta: &DomainDelta) -> HashSet<String> {
    let read = delta
        .touched()
        .into_iter()
        .map(|touched| words::fold(&touched.name));
    let written = delta.operations.iter().filter_map(|op| op.to.as_deref());
    read.chain(written.map(words::fold)).collect()
}

/// The structural faults of a spec as it stands.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub findings: Vec<Finding>,
    /// Count of each fault, by its id and the text of its line: lines move, texts stay.
    known: HashMap<(&'static str, String), usize>,
}

impl Standing {
    pub(crate) fn of(layout: &Layout<'_>, file: &str, touched: &HashSet<String>) -> Self {
        let mut standing = Standing::default();
        for mut finding in structural(layout, file) {
            let key = (finding.id, line_of(layout, finding.line));
            *standing.known.entry(key).or_default() += 1;
            if !concerns(layout, finding.line, touched) {
                finding.severity = Severity::Warning;
            }
            standing.findings.push(finding);
        }
        standing
    }

    /// Findings about the spec after the merge that were not there before.
    pub(crate) fn new_in(&self, layout: &Layout<'_>, file: &str) -> Vec<Finding> {
        let mut known = self.known.clone();
        let mut found = structural(layout, file);
        found.retain(
            |finding| match known.get_mut(&(finding.id, line_of(layout, finding.line))) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    false
                }
                _ => true,
            },
        );
        found
    }

    /// Makes errors of findings that take in text which the delta reads or writes: blocks that never end, and conflict
    /// markers. `false` where there is none.
    pub(crate) fn refuse_taking(findings: &mut [Finding]) -> bool {
        let mut any = false;
        for finding in findings {
            if check::TAKING.contains(&finding.id) {
                finding.severity = Severity::Error;
                any = true;
            }
        }
        any
    }
}

/// Faults of quality in what a delta does not touch, as the check of the spec by itself names them: they stood before, they
/// stand after the delta, and they refuse nothing.
pub fn untouched(before: &str, after: &str, file: &str, delta: &DomainDelta) -> Vec<Finding> {
    let layout = Layout::read(before);
    let touched = touched(delta);
    let left = faults(&Layout::read(after), file);
    let left: HashSet<(&str, &str)> = left
        .iter()
        .map(|one| (one.id, one.message.as_str()))
        .collect();
    let mut found = faults(&layout, file);
    found.retain(|one| {
        left.contains(&(one.id, one.message.as_str())) && !concerns(&layout, one.line, &touched)
    });
    for one in &mut found {
        one.severity = Severity::Warning;
    }
    found
}

/// Errors of a spec by itself, without those that stop a merge.
fn faults(layout: &Layout<'_>, file: &str) -> Vec<Finding> {
    let mut found = spec_of(layout, file).findings;
    found.retain(|one| one.severity == Severity::Error && !check::STRUCTURAL.contains(&one.id));
    found
}

fn structural(layout: &Layout<'_>, file: &str) -> Vec<Finding> {
    let mut notes = Notes::new(file);
    check::structure(layout, &mut notes);
    let mut list = notes.list;
    list.retain(|finding| check::STRUCTURAL.contains(&finding.id));
    list
}

fn line_of(layout: &Layout<'_>, line: usize) -> String {
    let text = layout.text.lines().nth(line.saturating_sub(1));
    text.unwrap_or_default().trim_end().to_owned()
}

/// Tells whether the line lies in one of the requirements, or in a heading above one that no list holds.
fn concerns(layout: &Layout<'_>, line: usize, touched: &HashSet<String>) -> bool {
    let is = |name: &std::ops::Range<usize>| touched.contains(&words::fold(layout.slice(name)));
    layout.sections.iter().any(|section| {
        let at_heading = layout.line(section.heading.start) == line;
        section.items.iter().any(|item| match &item.kind {
            ItemKind::Requirement { name } => {
                let lines =
                    layout.line(item.range.start)..layout.line(item.range.end.max(1) - 1) + 1;
                (at_heading || lines.contains(&line)) && is(name)
            }
            ItemKind::Note => false,
        })
    })
}
