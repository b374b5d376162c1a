//! Failures as data: a kind that decides the exit code, a sentence, blockers and hints.
//!
//! A *refusal* is the rules saying no and carries blockers; every other kind is an error. Rendering
//! is the business of `ui`; nothing here is ever matched as a string.

pub use super::code::Code;

use super::hint::Hint;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::fmt;

/// Kind of a failure, which decides the exit code (design 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A gate, a check or a verdict said no: 1.
    Refused,
    /// The command line or an input file is wrong: 2.
    Usage,
    /// Conflict: two sides differ and a person has to choose: 3.
    Conflict,
    /// Absence: no such thing, or the repository is not initialised: 4.
    NotFound,
    /// End of the work: there is nothing left to do: 5.
    Nothing,
    /// Wait for somebody else who holds the thing: 6.
    Waiting,
    /// A bug, a failed system call, or a damaged store: 70.
    Internal,
    /// Loss of output: the words of the command could not be written: 74.
    Output,
}

impl Kind {
    /// The process exit code of this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::Conflict => 3,
            Kind::NotFound => 4,
            Kind::Nothing => 5,
            Kind::Waiting => 6,
            Kind::Internal => 70,
            Kind::Output => 74,
        }
    }
}

/// Blocker: a rule that is not met, with a code, a sentence for people and the command that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    pub code: Code,
    /// Thing that the code is about, where the word of the code has a place for it.
    pub subject: String,
    pub message: String,
    pub help: Hint,
}

impl Blocker {
    pub fn new(code: Code, message: impl Into<String>, help: impl Into<Hint>) -> Self {
        Blocker {
            code,
            subject: String::new(),
            message: message.into(),
            help: help.into(),
        }
    }

    /// Names the thing that the code is about.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// The stable snake_case name, for machines.
    pub fn word(&self) -> String {
        self.code.word_about(&self.subject)
    }
}

impl From<Failure> for Blocker {
    fn from(failure: Failure) -> Self {
        Blocker::new(
            failure.code,
            failure.message,
            failure.help.unwrap_or_default(),
        )
    }
}

impl Serialize for Blocker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Blocker", 3)?;
        out.serialize_field("code", &self.word())?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("help", &self.help)?;
        out.end()
    }
}

/// Reason for which a command did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: Kind,
    pub code: Code,
    /// Lower-case phrase: what was expected, what was found, where.
    pub message: String,
    pub blockers: Vec<Blocker>,
    /// The command that leads on.
    pub help: Option<Hint>,
    /// Disagreements of the sides of a merge, for machines.
    pub conflicts: Box<[serde_json::Value]>,
}

/// The result of everything that can be refused or fail.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Tells whether the failure is an object that is not in this clone: lost, or beyond the edge of a shallow one.
    pub fn is_of_missing_object(&self) -> bool {
        matches!(self.code, Code::ObjectMissing | Code::HistoryShallow)
    }

    pub fn new(kind: Kind, code: Code, message: impl Into<String>) -> Self {
        debug_assert!(code.kinds().contains(&kind), "`{code}` is not {kind:?}");
        Failure {
            kind,
            code,
            message: message.into(),
            blockers: Vec::new(),
            help: None,
            conflicts: Box::default(),
        }
    }

    pub fn refused(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, code, message)
    }

    pub fn waiting(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::Waiting, code, message)
    }

    pub fn usage(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, code, message)
    }

    pub fn conflict(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, code, message)
    }

    pub fn not_found(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, code, message)
    }

    pub fn nothing(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::Nothing, code, message)
    }

    pub fn internal(code: Code, message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, code, message)
    }

    /// Adds the command that leads on.
    #[must_use]
    pub fn help(mut self, help: impl Into<Hint>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the unmet rules.
    #[must_use]
    pub fn blockers(mut self, blockers: Vec<Blocker>) -> Self {
        self.blockers = blockers;
        self
    }

    /// Adds the texts that a person has to choose between.
    #[must_use]
    pub fn conflicts(mut self, conflicts: impl IntoIterator<Item = impl Serialize>) -> Self {
        let of = |conflict| serde_json::to_value(conflict).unwrap_or_default();
        self.conflicts = conflicts.into_iter().map(of).collect();
        self
    }

    /// Puts the work that failed in front of the message: `context: message`.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn exit_codes_are_those_of_the_contract() {
        let codes: Vec<u8> = [
            Kind::Refused,
            Kind::Usage,
            Kind::Conflict,
            Kind::NotFound,
            Kind::Nothing,
            Kind::Waiting,
            Kind::Internal,
            Kind::Output,
        ]
        .map(Kind::exit_code)
        .to_vec();
        assert_eq!(codes, [1, 2, 3, 4, 5, 6, 70, 74]);
    }
}
