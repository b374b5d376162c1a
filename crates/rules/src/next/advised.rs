//! The answer to the question what comes next: a command, a person that is waited for, or a text to write.

use loopx_base::hint::Hint;
use serde::Serialize;

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Command of git loopx, or of git.
    Command(Hint),
    /// Text that a person writes: the advice says which.
    Write,
    /// Wait for somebody else, who alone can go on.
    Waits(Waits),
    /// No step is left to do.
    Nothing,
}

/// Person who is waited for, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    pub who: String,
    #[serde(rename = "for")]
    pub what: String,
}

/// The next step, and what to know before it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advised {
    pub next: Next,
    pub advice: Hint,
}

impl Advised {
    pub(super) fn new(next: Next) -> Self {
        Advised {
            next,
            advice: Hint::default(),
        }
    }

    /// Advice to write a text.
    pub fn write(advice: impl Into<Hint>) -> Self {
        Advised::new(Next::Write).advice(advice)
    }

    pub fn waits(who: impl Into<String>, what: impl Into<String>) -> Self {
        Advised::new(Next::Waits(Waits {
            who: who.into(),
            what: what.into(),
        }))
    }

    /// Answer that nothing is left to do.
    pub fn nothing() -> Self {
        Advised::new(Next::Nothing)
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<Hint>) -> Self {
        self.advice = advice.into();
        self
    }

    /// The step of a hint: its command, where it is nothing else, else its words.
    pub fn of(hint: Hint) -> Self {
        match hint.command() {
            Some(_) => Advised::from(hint),
            None if hint.is_empty() => Advised::nothing(),
            None => Advised::write(hint),
        }
    }

    /// The command, where one is next.
    pub fn command(&self) -> Option<&Hint> {
        match &self.next {
            Next::Command(command) => Some(command),
            _ => None,
        }
    }

    /// Person who is waited for, where the step is somebody else's.
    pub fn waiting(&self) -> Option<&Waits> {
        match &self.next {
            Next::Waits(waits) => Some(waits),
            _ => None,
        }
    }

    /// Hint of a refusal: the command, else the advice.
    pub fn into_hint(self) -> Hint {
        match self.next {
            Next::Command(command) => command,
            Next::Waits(Waits { who, what }) => format!("wait for {who}: {what}").into(),
            Next::Write | Next::Nothing => self.advice,
        }
    }
}

/// The bare command.
impl From<Hint> for Advised {
    fn from(command: Hint) -> Self {
        Advised::new(Next::Command(command))
    }
}
