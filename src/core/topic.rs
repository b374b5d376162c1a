//! The topic: what a record is about. Each topic brings its kinds, the words for them, what they weigh and
//! what they make of a state; whatever keeps a log knows the envelope alone.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a topic says of one of its records. The serde names of its variants are the kinds.
pub trait Topic: Serialize + Sized {
    /// The word in the envelope.
    const NAME: &'static str;

    /// The kind in the envelope.
    fn kind(&self) -> &'static str;

    /// The word of the `Loopx-Event` trailer, and of what people read.
    fn word(&self) -> &str;

    /// What a program that does not know the kind has to hold for it.
    fn weight(&self) -> Weight;

    /// The smallest program version that understands the body.
    fn needs(&self) -> Version {
        Version::FIRST
    }

    /// Trailers of the commit beside those that every one has.
    fn trailers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Whether `undo` passes over it to what a person did.
    fn is_passed_over(&self) -> bool {
        false
    }

    /// Whether its kind says everything: there is no body.
    fn is_bare(&self) -> bool {
        false
    }
}

/// What a record does to the gates of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing.
    Note,
    /// It can only close them.
    Holds,
    /// It can open one. A weight that is not known may do so too.
    #[serde(other)]
    Opens,
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
    /// The first that knows of a base that was recorded anew.
    pub const REBASED: Version = Version { major: 0, minor: 3 };
    /// This program's.
    pub const THIS: Version = Version { major: 0, minor: 3 };
    /// Nobody said which; larger than every other.
    pub const UNKNOWN: Version = Version {
        major: u32::MAX,
        minor: 0,
    };

    /// Whether this program understands what needs that version.
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
    /// What cannot be read was written by a program that is newer than this.
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
            ("0.4", false),
            ("1.0", false),
            ("x", false),
        ] {
            let version: Version = serde_json::from_value(text.into()).expect("a version");
            assert_eq!(version.is_known(), known, "{text}");
        }
    }
}
