//! Fan-out: the layout of a folder of many entries. They lie side by side while they are few, above a number one folder
//! deeper, as git notes does. A tree is written anew with every entry that changes, and this is what keeps it small.
//!
//! The layout follows from the set of names alone, so that clones that came to one set in different ways
//! have one tree.

/// Kinds of entries by their names, and so the ways to spread them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fanout {
    /// Names of any kind: by two digits of their hash. It is one of our own, because git's would differ
    /// between repositories of SHA-1 and of SHA-256.
    Names,
    /// Operations and what is signed about them, which begin with a number that counts up: by that number
    /// without its last two digits. What is added lies with what was added last, so that one folder
    /// grows and the others stay.
    Operations,
}

impl Fanout {
    /// Number of entries that may lie side by side.
    pub fn limit(self) -> usize {
        match self {
            // The folders themselves make a tree of 256 entries: spreading fewer would save nothing.
            Fanout::Names => 384,
            // As many as one folder has numbers for.
            Fanout::Operations => 100,
        }
    }

    /// The folder in which an entry lies once they are spread. `+` begins no session's id, no escaped name
    /// of a branch and no operation's file.
    pub fn folder(self, name: &str) -> String {
        match self {
            Fanout::Names => format!("+{:02x}", hash(name)),
            Fanout::Operations => {
                let digits = name.bytes().take_while(u8::is_ascii_digit).count();
                format!("+{}", &name[..digits.saturating_sub(2)])
            }
        }
    }

    /// Tells whether a name is the name of a folder that spreads entries.
    pub fn is_folder(self, name: &str) -> bool {
        let Some(digits) = name.strip_prefix('+') else {
            return false;
        };
        match self {
            Fanout::Names => {
                let is_digit = |digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
                digits.len() == 2 && digits.bytes().all(is_digit)
            }
            Fanout::Operations => digits.bytes().all(|digit| digit.is_ascii_digit()),
        }
    }

    /// Tells whether a folder with this number of entries is spread.
    pub fn is_spread(self, entries: usize) -> bool {
        entries > self.limit()
    }

    /// Path of an entry in its folder, which is spread or not.
    pub fn place(self, name: &str, spread: bool) -> String {
        if spread {
            format!("{}/{name}", self.folder(name))
        } else {
            name.to_owned()
        }
    }
}

/// FNV-1a, 64 bits; its low bits alone would follow the last letters too closely.
fn hash(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) & 0xff
}

#[cfg(test)]
mod tests {
    use super::Fanout::{self, Names, Operations};
    use crate::id::SessionId;
    use std::collections::BTreeMap;

    #[test]
    fn the_folder_of_a_name_never_changes() {
        // Written into every branch: another answer would be another layout.
        for (name, expected) in [("auth-timeout", "+b1"), ("a", "+c0"), ("feat%2Fx", "+48")] {
            assert_eq!(Names.folder(name), expected, "{name}");
        }
        assert_eq!(Names.place("a", true), "+c0/a");
        assert_eq!(Names.place("a", false), "a");
        for (name, expected) in [
            ("00000000-a.json", "+000000"),
            ("00000099-a.json", "+000000"),
            ("00000100-a.json", "+000001"),
            ("00001234-a.json.sig", "+000012"),
            ("9007199254740992-a.json", "+90071992547409"),
            ("123", "+1"),
            ("12-a", "+"),
            ("notes.md", "+"),
            ("\u{661}\u{662}\u{663}", "+"),
            ("", "+"),
        ] {
            assert_eq!(Operations.folder(name), expected, "{name}");
        }
        let place = Operations.place("00000100-a.json", true);
        assert_eq!(place, "+000001/00000100-a.json");
    }

    #[test]
    fn what_is_signed_lies_with_its_operation() {
        for seq in [0_u64, 7, 99, 100, 123_456, 99_999_999, 100_000_000, 1 << 53] {
            let name = format!("{seq:08}-01arz3ndektsv4rrffq69g5fav.json");
            let folder = Operations.folder(&name);
            assert_eq!(folder, Operations.folder(&format!("{name}.sig")));
            assert!(Operations.is_folder(&folder), "{folder}");
            assert!(!Operations.is_folder(&name));
        }
    }

    #[test]
    fn no_session_is_named_like_a_folder() {
        for name in ["+00", "+8a", "+ff"] {
            assert!(Names.is_folder(name));
            assert!(SessionId::parse(name).is_err());
        }
        for name in ["+", "+1", "+123", "+G0", "+A0", "00", "+0 ", "+é"] {
            assert!(!Names.is_folder(name), "{name}");
        }
        for name in ["+", "+1", "+000012"] {
            assert!(Operations.is_folder(name));
        }
        for name in ["", "1", "+a", "+1a", "+-1", "++1", "+١"] {
            assert!(!Operations.is_folder(name), "{name}");
        }
    }

    #[test]
    fn the_limit_itself_lies_side_by_side() {
        for fanout in [Names, Operations] {
            assert!(!fanout.is_spread(fanout.limit()));
            assert!(fanout.is_spread(fanout.limit() + 1));
        }
    }

    /// Counts the names in each folder.
    fn folders(fanout: Fanout, names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
        let mut folders = BTreeMap::new();
        for name in names {
            *folders.entry(fanout.folder(&name)).or_default() += 1;
        }
        folders
    }

    #[test]
    fn names_that_count_up_are_spread_evenly() {
        for pattern in ["session-", "topic%2F", ""] {
            let names = (0..10_000).map(|n| format!("{pattern}{n:05}"));
            let folders = folders(Names, names);
            assert_eq!(folders.len(), 256, "{pattern}");
            let largest = folders.values().max().copied().unwrap_or_default();
            assert!(largest < 80, "{pattern}: {largest} of 10,000 in one folder");
        }
        let names = (0..10_000).map(|n| format!("{n:08}-a.json"));
        let folders = folders(Operations, names);
        assert_eq!(folders.len(), 100);
        assert!(folders.values().all(|count| *count == 100));
    }
}
