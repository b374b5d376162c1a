//! The topic `note`: something said in passing and kept, on a session or in the journal; what was found about an angle
//! of a plan; questions, and answers to them. Notes have no state: the records are the list, and no gate reads them.

use super::op::{Body, Operation};
use super::topic::{Topic, Version, Weight};
use loopx_base::id::{Oid, OpId};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};

vocabulary!(
    /// What a note is.
    NoteKind {
        /// What was found out.
        Learning = "learning",
        /// What was decided, and need not be decided again.
        Decision = "decision",
        /// How things are done here.
        Convention = "convention",
        /// What may go wrong.
        Risk = "risk",
        /// What somebody is told.
        Message = "message",
    }
);

/// One note. The serde name is its kind in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    Noted {
        kind: NoteKind,
        text: String,
        /// The role that it is meant for; none is everybody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// What somebody found about one angle of the plan, on the code that they looked at.
    Explored {
        angle: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Oid>,
    },
    /// A question, open until it is answered.
    Asked { text: String },
    /// The answer to a question.
    Answered { question: OpId, text: String },
}

impl Note {
    pub fn text(&self) -> &str {
        match self {
            Note::Noted { text, .. }
            | Note::Explored { text, .. }
            | Note::Asked { text }
            | Note::Answered { text, .. } => text,
        }
    }

    /// What kind of note it is, as a list names it.
    pub fn kind_word(&self) -> &'static str {
        match self {
            Note::Noted { kind, .. } => kind.as_str(),
            Note::Explored { .. } => "exploration",
            Note::Asked { .. } => "question",
            Note::Answered { .. } => "answer",
        }
    }

    /// Every word of [`Note::kind_word`].
    pub const KINDS: [&'static str; 8] = [
        "learning",
        "decision",
        "convention",
        "risk",
        "message",
        "exploration",
        "question",
        "answer",
    ];
}

/// The questions that nobody has answered, each with its place among the records.
pub fn open_questions(ops: &[Operation]) -> Vec<&Operation> {
    let answered: Vec<&OpId> = ops
        .iter()
        .filter_map(|op| match &op.body {
            Body::Note(Note::Answered { question, .. }) => Some(question),
            _ => None,
        })
        .collect();
    let is_open = |op: &&Operation| {
        matches!(op.body, Body::Note(Note::Asked { .. })) && !answered.contains(&&op.op)
    };
    ops.iter().filter(is_open).collect()
}

impl Topic for Note {
    const NAME: &'static str = "note";
    type Move = std::convert::Infallible;

    fn kind(&self) -> &'static str {
        match self {
            Note::Noted { .. } => "noted",
            Note::Explored { .. } => "explored",
            Note::Asked { .. } => "asked",
            Note::Answered { .. } => "answered",
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
            Note::Noted { .. } => Version::FIRST,
            _ => Version::V0_5,
        }
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let mut trailers = vec![("Loopx-Note", self.kind_word().to_owned())];
        if let Note::Noted { to: Some(role), .. } = self {
            trailers.push(("Loopx-To", role.clone()));
        }
        trailers
    }

    fn is_passed_over(&self) -> bool {
        true
    }
}
