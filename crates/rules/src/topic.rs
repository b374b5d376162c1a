//! The topic: what a record is about. Each topic brings its kinds, the words for them, what they weigh, what
//! they make of a state, and what they cannot do beside others; whatever keeps a log knows the envelope alone.

use super::op::Operation;
use super::session::{Beside, State};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Behaviour of a record by its topic. The serde names of its variants are the kinds.
pub trait Topic: Serialize + Sized {
    /// The word in the envelope.
    const NAME: &'static str;

    /// Move of what a record is about. A topic that moves nothing has none.
    type Move: Copy + Ord;

    /// The kind in the envelope.
    fn kind(&self) -> &'static str;

    /// The word of the `Loopx-Event` trailer, and of what people read.
    fn word(&self) -> &str;

    /// Weight of the record: what a program that does not know the kind has to hold for it.
    fn weight(&self) -> Weight;

    /// The smallest program version that understands the body.
    fn needs(&self) -> Version;

    /// Trailers of the commit beside those that every one has.
    fn trailers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Tells whether `undo` passes over the record to what a person did.
    fn is_passed_over(&self) -> bool {
        false
    }

    /// Tells whether the kind of the record says everything: there is no body.
    fn is_bare(&self) -> bool {
        false
    }

    /// Tells whether the record judges the artifacts as its writer had them.
    fn is_judgement(&self) -> bool {
        false
    }

    /// Move that the record makes of what it is about. Two moves apart cannot both hold.
    fn moves(&self) -> Option<Self::Move> {
        None
    }

    /// Lists what the record takes for itself. Two records that take one slot apart, with different values, cannot both
    /// hold.
    fn takes(&self) -> Vec<Taken<'_>> {
        Vec::new()
    }

    /// Tells whether the record cannot hold beside a move that its writer did not know of. Words that are said in
    /// passing hold everywhere.
    fn is_stopped(&self, _record: &Operation, _by: Self::Move) -> bool {
        false
    }

    /// Applies the record to the state, but for files: those follow from the envelopes. Says why the record does not
    /// fit.
    fn fold(
        &self,
        _record: &Operation,
        _state: &mut State,
        _beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        Ok(())
    }
}

/// Slot of an entity that only one writer at a time can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    pub name: &'static str,
    /// Deed of whoever took the slot, for the sentence that names a conflict.
    pub did: &'static str,
    /// Set when a record that does not count has the slot still.
    pub(crate) outlasts: bool,
}

/// A slot as a record takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taken<'r> {
    pub slot: Slot,
    pub value: &'r str,
}

/// Weight of a record: what it does to the gates of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The record does nothing to gates.
    Note,
    /// The record can only close gates.
    Holds,
    /// The record can open a gate. A weight that is not known may do so too.
    #[serde(other)]
    Opens,
}

impl Weight {
    /// Weight that a word of the envelope names; `None` for a word that only a newer program knows.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "note" => Some(Weight::Note),
            "holds" => Some(Weight::Holds),
            "opens" => Some(Weight::Opens),
            _ => None,
        }
    }
}

/// A version of this program, as far as formats go: `X.Y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// The first that writes records of format 2.
    pub const FIRST: Version = Version { major: 0, minor: 2 };
    /// The first in which a session lets its branch go, or starts from another commit.
    pub const V0_3: Version = Version { major: 0, minor: 3 };
    /// The first in which a session has a profile that begins after clarify, or can go back without a review, and in
    /// which findings hold a gate until they are answered.
    pub const V0_4: Version = Version { major: 0, minor: 4 };
    /// The first in which the work inside a stage is a graph of tasks.
    pub const V0_5: Version = Version { major: 0, minor: 5 };
    /// The first that has a backlog.
    pub const V0_6: Version = Version { major: 0, minor: 6 };
    /// Version of this program.
    pub const THIS: Version = Version::V0_6;
    /// Version that nobody named; larger than every other.
    pub const UNKNOWN: Version = Version {
        major: u32::MAX,
        minor: 0,
    };

    /// Tells whether this program understands what needs that version.
    pub fn is_known(self) -> bool {
        self <= Version::THIS
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Version::UNKNOWN => f.write_str("(a newer version)"),
            Version { major, minor } => write!(f, "{major}.{minor}"),
        }
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    /// Reads a version: one that cannot be read was written by a program that is newer than this.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut parts = text.split('.').map(str::parse::<u32>);
        Ok(match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Version { major, minor },
            _ => Version::UNKNOWN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn the_version_of_formats_is_that_of_the_package() {
        let package = concat!(
            env!("CARGO_PKG_VERSION_MAJOR"),
            ".",
            env!("CARGO_PKG_VERSION_MINOR")
        );
        assert_eq!(Version::THIS.to_string(), package);
    }

    #[test]
    fn a_version_that_cannot_be_read_is_newer() {
        for (text, known) in [
            ("0.1", true),
            ("0.2", true),
            ("0.2.9", true),
            ("0.3", true),
            ("0.4", true),
            ("0.5", true),
            ("0.6", true),
            ("0.7", false),
            ("1.0", false),
            ("x", false),
        ] {
            let version: Version = serde_json::from_value(text.into()).expect("a version");
            assert_eq!(version.is_known(), known, "{text}");
        }
    }
}
