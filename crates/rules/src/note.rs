//! The topic `note`: something said in passing and kept, on a session, on an issue or in the journal; what was found
//! about an angle of a plan; questions, and answers to them; values that a role keeps under a key. Notes have no state:
//! the records are the list, and no gate reads them. What they amount to, [`bus`] computes.

pub mod bus;

use super::op::{Body, Operation};
use super::topic::{Topic, Version, Weight};
use loopx_base::id::{Oid, OpId, Person};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

vocabulary!(
    /// Kind of a note.
    NoteKind {
        /// Fact that was found out.
        Learning = "learning",
        /// Choice that was made, and need not be made again.
        Decision = "decision",
        /// Way in which things are done here.
        Convention = "convention",
        /// Thing that may go wrong.
        Risk = "risk",
        /// Message to somebody.
        Message = "message",
    }
);

/// Note of a session. The serde name is its kind in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    Noted(Box<Said>),
    /// Finding about one angle of the plan, on the code that somebody looked at.
    Explored {
        angle: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Oid>,
    },
    /// A question, open until it is answered.
    Asked {
        text: String,
    },
    /// The answer to a question.
    Answered {
        question: OpId,
        text: String,
    },
    /// A role keeps a value under a key of its own.
    Set {
        key: String,
        value: String,
        role: String,
        /// The records of the key that its writer saw stand, and that it takes the place of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replaces: Vec<OpId>,
    },
    /// A note is not to be listed any more. It stays in the log.
    Withdrawn {
        note: OpId,
        text: String,
    },
    /// A rule or the draft of a decision record was made out of a note; the text is where it stands.
    Promoted {
        note: OpId,
        into: Promotion,
        text: String,
    },
}

vocabulary!(
    /// Outcome of a note that is promoted.
    Promotion {
        Rule = "rule",
        Adr = "adr",
    }
);

/// Words that somebody noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub kind: NoteKind,
    pub text: String,
    /// The role that it is meant for; none is everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The role that says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Sort of the message: `plan_ready`, `progress` and whatever else a team agrees on.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// Subject of the note: a path, a link, a name.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// JSON, as a text: a number is never rounded by being stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The note that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<OpId>,
    /// Source that the note was imported from: an import finds by it what it brought before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<NoteSource>,
}

/// The other tool's name of a note.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NoteSource {
    pub system: String,
    pub id: String,
}

impl Said {
    pub fn new(kind: NoteKind, text: impl Into<String>) -> Self {
        Said {
            kind,
            text: text.into(),
            to: None,
            from: None,
            sort: None,
            about: None,
            data: None,
            task: None,
            reply_to: None,
            source: None,
        }
    }

    /// Tells whether a program without a message bus reads all of the note.
    fn is_plain(&self) -> bool {
        self.from.is_none()
            && self.sort.is_none()
            && self.about.is_none()
            && self.data.is_none()
            && self.task.is_none()
            && self.reply_to.is_none()
            && self.source.is_none()
    }
}

impl From<Said> for Note {
    fn from(said: Said) -> Self {
        Note::Noted(Box::new(said))
    }
}

/// A note with its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteRecord {
    pub op: OpId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
    pub note: Note,
}

impl NoteRecord {
    /// The note that an operation is; nothing where it is something else.
    pub fn of(op: Operation) -> Option<Self> {
        match op.body {
            Body::Note(note) => Some(NoteRecord {
                op: op.op,
                seq: op.seq,
                at: op.at,
                by: op.by,
                note,
            }),
            _ => None,
        }
    }
}

impl Note {
    /// Words of the note, unless it is of another kind.
    pub fn said(&self) -> Option<&Said> {
        match self {
            Note::Noted(said) => Some(said),
            _ => None,
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Note::Noted(said) => &said.text,
            Note::Set { value, .. } => value,
            Note::Explored { text, .. }
            | Note::Asked { text }
            | Note::Withdrawn { text, .. }
            | Note::Promoted { text, .. }
            | Note::Answered { text, .. } => text,
        }
    }

    /// The role that speaks.
    pub fn role(&self) -> Option<&str> {
        match self {
            Note::Noted(said) => said.from.as_deref(),
            Note::Set { role, .. } => Some(role),
            _ => None,
        }
    }

    /// Word for the kind of the note, as a list names it.
    pub fn kind_word(&self) -> &'static str {
        match self {
            Note::Noted(said) => said.kind.as_str(),
            Note::Explored { .. } => "exploration",
            Note::Asked { .. } => "question",
            Note::Answered { .. } => "answer",
            Note::Set { .. } => "value",
            Note::Withdrawn { .. } => "withdrawal",
            Note::Promoted { .. } => "promotion",
        }
    }

    /// Every word of [`Note::kind_word`].
    pub const KINDS: [&'static str; 11] = [
        "learning",
        "decision",
        "convention",
        "risk",
        "message",
        "exploration",
        "question",
        "answer",
        "value",
        "withdrawal",
        "promotion",
    ];
}

/// Question with its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    pub op: OpId,
    pub seq: u64,
    pub by: Person,
    pub text: String,
}

/// The questions among some records, and the questions that have an answer. Records may come in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Questions {
    asked: Vec<OpenQuestion>,
    answered: BTreeSet<OpId>,
}

impl Questions {
    pub fn of(ops: &[Operation]) -> Self {
        let mut questions = Questions::default();
        ops.iter().for_each(|op| questions.take(op));
        questions
    }

    /// Takes a record in.
    pub fn take(&mut self, op: &Operation) {
        match &op.body {
            Body::Note(Note::Asked { text }) => self.asked.push(OpenQuestion {
                op: op.op.clone(),
                seq: op.seq,
                by: op.by.clone(),
                text: text.clone(),
            }),
            Body::Note(Note::Answered { question, .. }) => {
                self.answered.insert(question.clone());
            }
            _ => {}
        }
    }

    /// The questions that nobody has answered, in the order of the records.
    pub fn open(&self) -> Vec<OpenQuestion> {
        let asked = self.asked.iter();
        let open = asked.filter(|question| !self.answered.contains(&question.op));
        let mut open: Vec<OpenQuestion> = open.cloned().collect();
        open.sort_by(|one, other| (one.seq, &one.op).cmp(&(other.seq, &other.op)));
        open
    }
}

/// The questions that nobody has answered, each with its place among the records.
pub fn open_questions(ops: &[Operation]) -> Vec<OpenQuestion> {
    Questions::of(ops).open()
}

impl Topic for Note {
    const NAME: &'static str = "note";
    type Move = std::convert::Infallible;

    fn kind(&self) -> &'static str {
        match self {
            Note::Noted(_) => "noted",
            Note::Explored { .. } => "explored",
            Note::Asked { .. } => "asked",
            Note::Answered { .. } => "answered",
            Note::Set { .. } => "set",
            Note::Withdrawn { .. } => "withdrawn",
            Note::Promoted { .. } => "promoted",
        }
    }

    fn word(&self) -> &str {
        "note"
    }

    fn weight(&self) -> Weight {
        Weight::Note
    }

    fn needs(&self) -> Version {
        match self {
            Note::Noted(said) if said.is_plain() => Version::FIRST,
            Note::Explored { .. } | Note::Asked { .. } | Note::Answered { .. } => Version::V0_5,
            // Each is named: the compiler asks for the version of a new one.
            Note::Noted(_) | Note::Set { .. } | Note::Withdrawn { .. } | Note::Promoted { .. } => {
                Version::V0_6
            }
        }
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let mut trailers = vec![("Loopx-Note", self.kind_word().to_owned())];
        if let Some(role) = self.role() {
            trailers.push(("Loopx-From", role.to_owned()));
        }
        if let Some(said) = self.said() {
            let named = [
                ("Loopx-To", &said.to),
                ("Loopx-Type", &said.sort),
                ("Loopx-Task", &said.task),
            ];
            let named = named.into_iter();
            trailers.extend(named.filter_map(|(key, value)| Some((key, value.clone()?))));
        }
        if let Note::Set { key, .. } = self {
            trailers.push(("Loopx-Key", key.clone()));
        }
        trailers
    }

    fn is_passed_over(&self) -> bool {
        true
    }
}
