//! The topic `note`: something said in passing and kept, on a session or in the journal. Notes have no
//! state: the records are the list, and no gate reads them.

use super::topic::{Topic, Weight};
use super::word_lists::vocabulary;
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
}

impl Topic for Note {
    const NAME: &'static str = "note";
    type Move = std::convert::Infallible;

    fn kind(&self) -> &'static str {
        "noted"
    }

    fn word(&self) -> &str {
        "note"
    }

    fn weight(&self) -> Weight {
        Weight::Note
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let Note::Noted { kind, to, .. } = self;
        let mut trailers = vec![("Loopx-Note", kind.to_string())];
        trailers.extend(to.iter().map(|role| ("Loopx-To", role.clone())));
        trailers
    }

    fn is_passed_over(&self) -> bool {
        true
    }
}
