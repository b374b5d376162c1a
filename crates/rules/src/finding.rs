//! Findings: what reviewers, architects and critics found, as facts of the session that stay open until somebody
//! answers them. An open one that blocks holds the gate behind which it was found.
//!
//! A finding is named by its record and its place there. Its number is for people: the place among all findings,
//! which may move where two clones found something apart.

use super::artifact::Artifact;
use super::op::{Answer, AnswerWord, FoundIn, ReviewFinding, Severity};
use super::session::{Stamped, State};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Finding of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Place of the finding among those of its record.
    pub nth: u32,
    pub lane: FoundIn,
    /// The draft of the plan, or the review, that it belongs to.
    pub round: u32,
    #[serde(flatten)]
    pub found: ReviewFinding,
    /// The code that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// The execution record that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Oid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Stamped<Said>>,
}

/// The answer that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub answer: AnswerWord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
}

impl Finding {
    pub fn is_open(&self) -> bool {
        self.answer
            .as_ref()
            .is_none_or(|said| said.value.answer == AnswerWord::Open)
    }

    /// Severity, place and text, on one line.
    pub fn words(&self) -> String {
        self.found.to_string()
    }
}

impl State {
    /// A finding by the number that people know it by.
    pub fn finding(&self, number: u32) -> Option<&Stamped<Finding>> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.findings.get(at)
    }

    /// Every finding with its number.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Stamped<Finding>)> {
        (1..).zip(&self.findings)
    }

    /// Takes in what somebody found. What stands open already in the same words is one finding.
    pub(crate) fn find(&mut self, found: Stamped<Finding>) {
        let is_known = self.findings.iter().any(|known| {
            known.value.is_open()
                && known.value.lane == found.value.lane
                && known.value.found == found.value.found
        });
        if !is_known {
            self.findings.push(found);
        }
    }

    /// Takes in an answer. Of two that did not know of each other the one that leaves the finding open stands.
    /// What is said of a finding that is gone says nothing.
    pub(crate) fn answer(
        &mut self,
        answer: &Answer,
        said: Stamped<Said>,
        saw: impl Fn(&OpId) -> bool,
    ) {
        let is_meant =
            |one: &&mut Stamped<Finding>| one.op == answer.op && one.value.nth == answer.nth;
        let Some(finding) = self.findings.iter_mut().find(is_meant) else {
            return;
        };
        let is_held = finding
            .value
            .answer
            .as_ref()
            .is_some_and(|known| known.value.answer == AnswerWord::Open && !saw(&known.op));
        if !is_held {
            finding.value.answer = Some(said);
        }
    }
}

impl ReviewFinding {
    /// A finding that says nothing of its weight.
    pub fn plain(text: &str) -> Self {
        ReviewFinding {
            severity: Severity::Medium,
            text: text.trim().to_owned(),
            file: None,
            line: None,
            dimension: None,
        }
    }

    /// Reads `SEVERITY[/DIMENSION]: [FILE[:LINE]: ]TEXT`.
    pub fn read(text: &str) -> Result<Self> {
        let wrong = || {
            Failure::usage(
                Code::FindingInvalid,
                format!(
                    "expected SEVERITY: TEXT, like `high: src/a.rs:12: no test`, found `{text}`"
                ),
            )
            .help(command!(
                "review --verdict changes --finding \"high: no test\""
            ))
        };
        let (head, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (severity, dimension) = match head.split_once('/') {
            Some((severity, dimension)) => (severity, Some(dimension.trim())),
            None => (head, None),
        };
        let severity: Severity = severity.trim().parse()?;
        let (file, line, words) = place(rest.trim());
        if words.is_empty() || dimension == Some("") {
            return Err(wrong());
        }
        Ok(ReviewFinding {
            severity,
            text: words.to_owned(),
            file: file.map(str::to_owned),
            line,
            dimension: dimension.map(str::to_owned),
        })
    }

    /// Reads one of a plan, which need not say its weight.
    pub fn read_of_plan(text: &str) -> Result<Self> {
        let head = text.split(':').next().unwrap_or_default();
        let word = head.split('/').next().unwrap_or_default().trim();
        if Severity::WORDS.contains(&word) && text.contains(':') {
            Self::read(text)
        } else {
            Ok(Self::plain(text))
        }
    }

    /// Tells whether the finding says nothing more than its text.
    pub fn is_plain(&self) -> bool {
        *self == Self::plain(&self.text)
    }
}

/// The file and the line that a text begins with, as compilers write them.
fn place(text: &str) -> (Option<&str>, Option<u32>, &str) {
    let Some((head, rest)) = text.split_once(": ") else {
        return (None, None, text);
    };
    if head.is_empty() || head.contains(char::is_whitespace) {
        return (None, None, text);
    }
    let numbered = head.rsplit_once(':');
    match numbered.and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) if !file.is_empty() => (Some(file), Some(line), rest.trim()),
        _ if head.contains(['/', '.']) => (Some(head), None, rest.trim()),
        _ => (None, None, text),
    }
}

impl std::fmt::Display for ReviewFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut head = self.severity.to_string();
        if let Some(dimension) = &self.dimension {
            write!(head, "/{dimension}")?;
        }
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{head}: {file}:{line}: {}", self.text),
            (Some(file), None) => write!(f, "{head}: {file}: {}", self.text),
            _ => write!(f, "{head}: {}", self.text),
        }
    }
}

/// The execution record among the artifacts that a verdict rests on.
pub(crate) fn record_of(files: &std::collections::BTreeMap<Artifact, Oid>) -> Option<Oid> {
    files.get(&Artifact::ExecutionRecord).cloned()
}

#[cfg(test)]
mod tests {
    use super::ReviewFinding;

    #[test]
    fn a_finding_is_read_as_it_is_written() {
        for text in [
            "high: no test",
            "low: note: this is odd",
            "critical/security: src/a.rs:12: reads past the end",
            "info: docs/a b: words",
            "medium: src/a.rs: too long",
        ] {
            assert_eq!(ReviewFinding::read(text).expect(text).to_string(), text);
        }
        let read = ReviewFinding::read("high/tests: src/a.rs:12: no test").expect("a finding");
        assert_eq!(read.file.as_deref(), Some("src/a.rs"));
        assert_eq!(
            (read.line, read.dimension.as_deref()),
            (Some(12), Some("tests"))
        );
        let read = ReviewFinding::read("high: 10:30: too late").expect("a finding");
        assert_eq!(read.text, "too late");
        for wrong in ["no test", "huge: no test", "high:", "high/: x", "High: x"] {
            assert!(ReviewFinding::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_finding_of_a_plan_need_not_say_its_weight() {
        for text in ["no way back", "note: high risk", "highly: odd"] {
            let read = ReviewFinding::read_of_plan(text).expect(text);
            assert!(read.is_plain(), "{text}");
        }
        let read = ReviewFinding::read_of_plan("high: no way back").expect("a finding");
        assert!(read.severity.is_blocking());
    }
}
