//! The id of an issue: a prefix and ten random letters and digits, so that clones that were apart never give one id
//! twice. People type and read as much of it as tells it from the others.

use serde::{Deserialize, Serialize};
use std::fmt;

/// `<prefix>-<ten of 0-9 and a-z>`, the prefix `[a-z][a-z0-9]{0,9}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IssueId(String);

impl IssueId {
    /// The prefix where policy names none.
    pub const PREFIX: &'static str = "lx";
    /// How many random letters and digits an id has.
    pub const RANDOM: usize = 10;
    /// So many of them are shown at least.
    pub const SHOWN: usize = 4;

    /// `None` where the text is no id.
    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, random) = text.rsplit_once('-')?;
        let plain = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        let is_id = Self::is_prefix(prefix) && random.len() == Self::RANDOM && plain(random);
        is_id.then(|| IssueId(text.to_owned()))
    }

    /// Whether ids may begin with it.
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

    /// Whether what a person typed means it: the id, or its beginning with or without the prefix.
    pub fn is_meant(&self, typed: &str) -> bool {
        self.0.starts_with(typed) && typed.len() > self.0.len() - self.random().len()
            || self.random().starts_with(typed)
    }
}

impl TryFrom<String> for IssueId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        IssueId::parse(&text).ok_or_else(|| format!("expected the id of an issue, found {text:?}"))
    }
}

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

/// How many random letters and digits tell each id from the others, at least [`IssueId::SHOWN`]. `sorted` are all
/// ids; the answer has one number for each.
pub fn short_lengths(sorted: &[&IssueId]) -> Vec<usize> {
    // What a person types may leave the prefix out: random parts are compared, whatever stands before them.
    let mut order: Vec<usize> = (0..sorted.len()).collect();
    order.sort_by_key(|at| sorted[*at].random());
    let common = |a: usize, b: usize| {
        let (a, b) = (sorted[a].random().bytes(), sorted[b].random().bytes());
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let mut lengths = vec![IssueId::SHOWN; sorted.len()];
    for pair in order.windows(2) {
        let needed = (common(pair[0], pair[1]) + 1).min(IssueId::RANDOM);
        for at in pair {
            lengths[*at] = lengths[*at].max(needed);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::{IssueId, short_lengths};

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

    #[test]
    fn so_much_of_an_id_is_shown_as_tells_it_from_the_others() {
        let ids = [
            "lx-7k2m000000",
            "lx-7k2maaaaaa",
            "ab-7k2mab0000",
            "lx-q000000000",
        ];
        let mut ids: Vec<IssueId> = ids.iter().filter_map(|id| IssueId::parse(id)).collect();
        ids.sort();
        let all: Vec<&IssueId> = ids.iter().collect();
        let shown: Vec<&str> = all
            .iter()
            .zip(short_lengths(&all))
            .map(|(id, length)| id.short(length))
            .collect();
        assert_eq!(shown, ["ab-7k2mab", "lx-7k2m0", "lx-7k2maa", "lx-q000"]);
        for typed in ["lx-7k2m0", "7k2m0", "7k2m000000", "lx-7k2m000000"] {
            let meant = all.iter().filter(|id| id.is_meant(typed));
            assert_eq!(meant.count(), 1, "{typed}");
        }
        assert!(!all[1].is_meant("lx-"), "a prefix alone means nothing");
    }
}
