//! The topic `log`: what operations say of other operations of the same log, whatever those are about.
//! Everything that has a log has it. Which operations count after it is decided in [`super::conflicts`].

use super::topic::{Topic, Version, Weight};
use loopx_base::id::{OpId, SessionId};
use serde::{Deserialize, Serialize};

/// Word about other operations. The serde names are the kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// These operations were taken back, newest first. One is written as itself, as programs wrote it that knew no
    /// more than one.
    Undone {
        #[serde(with = "one_or_more")]
        undone: Vec<OpId>,
    },
    /// These operations were undone, and count again; oldest first.
    Redone { redone: Vec<OpId> },
    /// A person settled what clones had made apart: operations that count although something stood
    /// against them, and operations that do not count. Files are settled by what the record writes.
    Resolved {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keep: Vec<OpId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        drop: Vec<OpId>,
    },
    /// The entity has another name since.
    Renamed { from: SessionId, to: SessionId },
}

impl Topic for Word {
    const NAME: &'static str = "log";
    type Move = std::convert::Infallible;

    fn kind(&self) -> &'static str {
        match self {
            Word::Undone { .. } => "undone",
            Word::Redone { .. } => "redone",
            Word::Resolved { .. } => "resolved",
            Word::Renamed { .. } => "renamed",
        }
    }

    fn word(&self) -> &str {
        match self {
            Word::Undone { .. } => "undo",
            Word::Redone { .. } => "redo",
            Word::Resolved { .. } => "resolve",
            Word::Renamed { .. } => "rename",
        }
    }

    fn weight(&self) -> Weight {
        match self {
            Word::Renamed { .. } => Weight::Note,
            Word::Undone { .. } | Word::Redone { .. } | Word::Resolved { .. } => Weight::Opens,
        }
    }

    fn needs(&self) -> Version {
        match self {
            Word::Undone { .. }
            | Word::Redone { .. }
            | Word::Resolved { .. }
            | Word::Renamed { .. } => Version::FIRST,
        }
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let name =
            |key: &'static str, ids: &[OpId]| ids.iter().map(|op| (key, op.to_string())).collect();
        match self {
            Word::Undone { undone } => name("Loopx-Undoes", undone),
            Word::Redone { redone } => name("Loopx-Redoes", redone),
            Word::Resolved { .. } => Vec::new(),
            Word::Renamed { from, .. } => vec![("Loopx-Renamed-From", from.to_string())],
        }
    }

    fn is_passed_over(&self) -> bool {
        matches!(self, Word::Undone { .. } | Word::Redone { .. })
    }
}

/// Form of a list of ids: one id as a string, more of them as a list.
mod one_or_more {
    use loopx_base::id::OpId;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Ids {
        One(OpId),
        More(Vec<OpId>),
    }

    pub(super) fn serialize<S: Serializer>(ids: &[OpId], to: S) -> Result<S::Ok, S::Error> {
        match ids {
            [one] => one.serialize(to),
            more => more.serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<OpId>, D::Error> {
        Ok(match Ids::deserialize(from)? {
            Ids::One(one) => vec![one],
            Ids::More(more) => more,
        })
    }
}
