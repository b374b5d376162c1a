//! Findings of a reader or a check about a text: a stable id, how bad it is, where, and the way out.
//!
//! Ids are part of the contract (scripts match on them); messages are for people and may change.

use crate::hint::Hint;
use crate::vocabulary::vocabulary;
use serde::Serialize;

vocabulary!(
    /// Weight of a finding.
    Severity {
        /// Information worth knowing; never a reason to refuse.
        Info = "info",
        /// Finding that is refused only by `--strict`.
        Warning = "warning",
        /// Finding that is refused.
        Error = "error",
    }
);

/// Finding in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the finding, stable and in snake_case.
    pub id: &'static str,
    pub severity: Severity,
    /// The label that the caller gave to the text.
    pub file: String,
    /// Line, counted from 1; 0 when the finding is about the whole file.
    pub line: usize,
    pub message: String,
    /// Way out of the finding.
    pub fix: Hint,
}

impl Finding {
    pub fn new(
        severity: Severity,
        id: &'static str,
        file: &str,
        line: usize,
        message: impl Into<String>,
        fix: impl Into<Hint>,
    ) -> Self {
        Finding {
            id,
            severity,
            file: file.to_owned(),
            line,
            message: message.into(),
            fix: fix.into(),
        }
    }
}

/// Collects the findings of one file.
#[derive(Debug)]
pub struct Notes<'f> {
    file: &'f str,
    errors: usize,
    pub list: Vec<Finding>,
}

impl<'f> Notes<'f> {
    pub fn new(file: &'f str) -> Self {
        Notes {
            file,
            errors: 0,
            list: Vec::new(),
        }
    }

    pub fn errors(&self) -> usize {
        self.errors
    }

    pub fn file(&self) -> &'f str {
        self.file
    }

    pub fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        line: usize,
        message: impl Into<String>,
        fix: impl Into<Hint>,
    ) {
        self.errors += usize::from(severity == Severity::Error);
        self.list
            .push(Finding::new(severity, id, self.file, line, message, fix));
    }

    pub fn error(
        &mut self,
        id: &'static str,
        line: usize,
        message: impl Into<String>,
        fix: impl Into<Hint>,
    ) {
        self.add(Severity::Error, id, line, message, fix);
    }

    pub fn warn(
        &mut self,
        id: &'static str,
        line: usize,
        message: impl Into<String>,
        fix: impl Into<Hint>,
    ) {
        self.add(Severity::Warning, id, line, message, fix);
    }
}

/// Tells whether a finding of the list is an error.
pub fn has_errors(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}

/// Sorts findings by file, line and id, the order in which they are shown, and drops repetitions.
pub fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        (&a.file, a.line, a.id, &a.message).cmp(&(&b.file, b.line, b.id, &b.message))
    });
    findings.dedup();
}

/// Entry of a catalogue: the meaning of a finding's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    pub id: &'static str,
    /// Severities of the finding. Of two, the first one is for deltas, the second for specs.
    pub severities: &'static [Severity],
    pub meaning: &'static str,
    pub fix: &'static str,
}

impl Known {
    /// The severities of a finding that is always an error, and of one that is always a warning.
    pub const ERROR: &'static [Severity] = &[Severity::Error];
    pub const WARNING: &'static [Severity] = &[Severity::Warning];

    pub const fn new(
        id: &'static str,
        severities: &'static [Severity],
        meaning: &'static str,
        fix: &'static str,
    ) -> Self {
        Known {
            id,
            severities,
            meaning,
            fix,
        }
    }

    /// Severity of a finding of a catalogue, and the way out of it. An id that is not there counts as an error.
    pub fn of(catalogue: &[Known], id: &str) -> (Severity, &'static str) {
        let known = catalogue.iter().find(|known| known.id == id);
        let severity = known.and_then(|known| known.severities.first());
        let severity = severity.copied().unwrap_or(Severity::Error);
        (severity, known.map_or("", |known| known.fix))
    }
}
