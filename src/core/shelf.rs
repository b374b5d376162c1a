//! How a folder of many entries is laid out: side by side while they are few, above a number one folder
//! deeper, as git notes does. A tree is written anew with every entry that changes, and this is what
//! keeps it small.
//!
//! The layout follows from the set of names alone, so that clones that came to one set in different ways
//! have one tree. The digits come from a hash of our own: git's would differ between repositories of
//! SHA-1 and of SHA-256.

/// So many entries lie side by side. The folders themselves make a tree of 256 entries: spreading fewer
/// would save nothing.
pub const LIMIT: usize = 384;

/// The folder in which an entry lies once they are spread. `+` begins no session's id and no escaped name of
/// a branch.
pub fn folder(name: &str) -> String {
    // FNV-1a, 64 bits; its low bits alone would follow the last letters too closely.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("+{:02x}", (hash ^ (hash >> 32)) & 0xff)
}

/// Whether a name is one of those folders'.
pub fn is_folder(name: &str) -> bool {
    let digits = name.strip_prefix('+').unwrap_or_default().as_bytes();
    digits.len() == 2
        && digits
            .iter()
            .all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether so many entries are spread.
pub fn is_spread(entries: usize) -> bool {
    entries > LIMIT
}

/// Where an entry lies in a folder that has so many.
pub fn place(name: &str, spread: bool) -> String {
    match spread {
        true => format!("{}/{name}", folder(name)),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, folder, is_folder, is_spread, place};
    use crate::core::id::SessionId;
    use std::collections::BTreeMap;

    #[test]
    fn the_folder_of_a_name_never_changes() {
        // Written into every branch: another answer would be another layout.
        for (name, expected) in [("auth-timeout", "+b1"), ("a", "+c0"), ("feat%2Fx", "+48")] {
            assert_eq!(folder(name), expected, "{name}");
        }
        assert_eq!(place("a", true), "+c0/a");
        assert_eq!(place("a", false), "a");
    }

    #[test]
    fn no_session_is_named_like_a_folder() {
        for name in ["+00", "+8a", "+ff"] {
            assert!(is_folder(name));
            assert!(SessionId::parse(name).is_err());
        }
        for name in ["+", "+1", "+123", "+G0", "+A0", "00", "+0 ", "+é"] {
            assert!(!is_folder(name), "{name}");
        }
    }

    #[test]
    fn the_limit_itself_lies_side_by_side() {
        assert!(!is_spread(LIMIT));
        assert!(is_spread(LIMIT + 1));
    }

    #[test]
    fn names_that_count_up_are_spread_evenly() {
        for pattern in ["session-", "topic%2F", ""] {
            let mut folders: BTreeMap<String, usize> = BTreeMap::new();
            for n in 0..10_000 {
                *folders
                    .entry(folder(&format!("{pattern}{n:05}")))
                    .or_default() += 1;
            }
            assert_eq!(folders.len(), 256, "{pattern}");
            let largest = folders.values().max().copied().unwrap_or_default();
            assert!(largest < 80, "{pattern}: {largest} of 10,000 in one folder");
        }
    }
}
