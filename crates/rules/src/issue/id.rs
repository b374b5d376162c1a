//! The id of an issue: a prefix and ten random letters and digits, so that clones that were apart never give one id
//! twice. People type and read as much of it as tells it from the others.

use loopx_base::id::written_as_text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `<prefix>-<ten of 0-9 and a-z>`, the prefix `[a-z][a-z0-9]{0,9}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct IssueId(String);

impl IssueId {
    /// The prefix where policy names none.
    pub const PREFIX: &'static str = "lx";
    /// Number of random letters and digits of an id.
    pub const RANDOM: usize = 10;
    /// Number of random letters and digits that are shown at least.
    pub const SHOWN: usize = 4;

    /// `None` where the text is no id.
    pub fn parse(text: &str) -> Option<Self> {
        Self::split(text).map(|_| IssueId(text.to_owned()))
    }

    /// The prefix and the random part of a text that is an id.
    pub(super) fn split(text: &str) -> Option<(&str, &str)> {
        let (prefix, random) = text.rsplit_once('-')?;
        let plain = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        let is_id = Self::is_prefix(prefix) && random.len() == Self::RANDOM && plain(random);
        is_id.then_some((prefix, random))
    }

    /// Tells whether ids may begin with this text.
    pub fn is_prefix(text: &str) -> bool {
        (1..=10).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    }

    /// The id with this random part: the low fifty bits.
    pub fn of_bits(prefix: &str, bits: u64) -> Option<Self> {
        // Crockford's base 32: no letter that reads like a digit.
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let digit = |place: usize| {
            let at = (bits >> (5 * place)) & 31;
            char::from(DIGITS[usize::try_from(at).unwrap_or(0)])
        };
        let random: String = (0..Self::RANDOM).rev().map(digit).collect();
        Self::parse(&format!("{prefix}-{random}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The random part.
    pub fn random(&self) -> &str {
        self.0
            .rsplit_once('-')
            .map_or(&self.0, |(_, random)| random)
    }

    /// The id as people are shown it, with so many random letters and digits.
    pub fn short(&self, length: usize) -> &str {
        let prefix = self.0.len() - self.random().len();
        &self.0[..(prefix + length).min(self.0.len())]
    }

    /// Tells whether a person who typed this means the id: the whole id, or its beginning with or without the prefix.
    pub fn is_meant(&self, typed: &str) -> bool {
        self.0.starts_with(typed) && typed.len() > self.0.len() - self.random().len()
            || self.random().starts_with(typed)
    }
}

impl TryFrom<String> for IssueId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match Self::split(&text) {
            Some(_) => Ok(IssueId(text)),
            None => Err(format!("expected the id of an issue, found {text:?}")),
        }
    }
}

written_as_text!(IssueId);

impl From<IssueId> for String {
    fn from(id: IssueId) -> Self {
        id.0
    }
}

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::IssueId;

    #[test]
    fn an_id_is_a_prefix_and_ten_letters_and_digits() {
        for (text, is_id) in [
            ("lx-0123456789", true),
            ("bug7-abcdefghij", true),
            ("lx-012345678", false),
            ("lx-01234567890", false),
            ("lx-012345678A", false),
            ("Lx-0123456789", false),
            ("-0123456789", false),
            ("0123456789", false),
            ("../x-0123456789", false),
            ("toolongprefix-0123456789", false),
            ("lx-01234/6789", false),
        ] {
            assert_eq!(IssueId::parse(text).is_some(), is_id, "{text}");
        }
    }

    #[test]
    fn fifty_bits_make_the_random_part() {
        let id = |bits| IssueId::of_bits("lx", bits).expect("an id").to_string();
        assert_eq!(id(0), "lx-0000000000");
        assert_eq!(id((1 << 50) - 1), "lx-zzzzzzzzzz");
        assert_eq!(id(1 << 50), "lx-0000000000", "only the low fifty");
        assert_eq!(id(33), "lx-0000000011");
    }
}
