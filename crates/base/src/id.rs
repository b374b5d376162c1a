//! Names that are parsed once at the edge: session ids, object ids, operation ids, people.
//!
//! Each has a private field and one parser, so that a value in hand is a valid one.

use super::failure::{Code, Failure, Result};
use super::vocabulary::vocabulary;
use crate::hint::command;
use serde::{Deserialize, Serialize};
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// A session's name: `[a-z0-9][a-z0-9-]{0,62}`, never a name that Windows reserves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId(String);

const MAX_ID: usize = 63;
/// The longest id that a title is given: a person types it.
const MAX_OF_TITLE: usize = 32;
/// Device names that Windows reserves in every folder.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

impl SessionId {
    /// Takes an id that is already in its final form.
    pub fn parse(text: &str) -> Result<Self> {
        let valid = !text.is_empty()
            && text.len() <= MAX_ID
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !text.starts_with('-');
        if !valid {
            return Err(Failure::usage(
                Code::SessionIdInvalid,
                format!("expected a session id like `auth-timeout` (a-z, 0-9, -; at most {MAX_ID}), found `{text}`"),
            )
            .help(command!("list").note("(shows the ids)")));
        }
        if is_reserved(text) {
            return Err(Failure::usage(
                Code::SessionIdReserved,
                format!("`{text}` is a device name on Windows and cannot be a session id"),
            )
            .help(command!("start {text}-change")));
        }
        Ok(SessionId(text.to_owned()))
    }

    /// Folds what a person typed into an id: lower case, every run of anything else to `-`. Where
    /// letters of another script are dropped, or the name is too long, a hash of the whole name is
    /// added, so that two names never share a record.
    pub fn fold(name: &str) -> Result<Self> {
        let whole: String = name.trim().nfc().collect::<String>().to_lowercase();
        let mut slug = String::new();
        let mut lost = false;
        for c in whole.chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else {
                lost |= c.is_alphanumeric();
                if !slug.ends_with('-') && !slug.is_empty() {
                    slug.push('-');
                }
            }
        }
        let mut slug = slug.trim_end_matches('-').to_owned();
        if slug.is_empty() && !lost {
            return Err(Failure::usage(
                Code::SessionNameRequired,
                format!("expected a name with at least one letter or digit, found `{name}`"),
            )
            .help(command!("start \"Session timeout\"")));
        }
        if lost || slug.len() > MAX_ID {
            slug.truncate(MAX_ID - 9);
            let slug = slug.trim_end_matches('-');
            let separator = if slug.is_empty() { "s" } else { "-" };
            return Self::parse(&format!("{slug}{separator}{:08x}", fnv1a(&whole)));
        }
        Self::parse(&slug)
    }

    /// The id of a new session, from what it is to change: words of Latin letters, whatever script they were in, cut
    /// behind the last one that fits. What is an id already stays as it is.
    pub fn of_title(title: &str) -> Result<Self> {
        if let Ok(id) = Self::parse(title) {
            return Ok(id);
        }
        let mut slug = String::new();
        for c in title.trim().nfc() {
            let Some(letters) = deunicode::deunicode_char(c) else {
                // What is in no table has an id by its bytes.
                return Self::fold(title);
            };
            for c in letters.chars() {
                if c.is_ascii_alphanumeric() {
                    slug.push(c.to_ascii_lowercase());
                } else if !matches!(c, '\'' | '`' | '"') && !slug.is_empty() && !slug.ends_with('-')
                {
                    slug.push('-');
                }
            }
        }
        let slug = slug.trim_end_matches('-');
        if slug.len() <= MAX_OF_TITLE {
            return if slug.is_empty() {
                Self::fold(title)
            } else {
                Self::parse(slug)
            };
        }
        match slug[..=MAX_OF_TITLE].rfind('-') {
            Some(end) => Self::parse(&slug[..end]),
            None => Self::fold(title),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether the name is one that [`SessionId::beside`] gives to the session of a uid.
    pub fn is_beside(&self, uid: &str) -> bool {
        // A name as long as names may be is cut off, and ends in the same way.
        let end = Self("x".into()).beside(uid);
        self.0.len() > end.0.len() - 1 && self.0.ends_with(&end.0[1..])
    }

    /// Copy of the name with a number behind it.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        let end = format!("-{number}");
        let name = &self.0[..self.0.len().min(MAX_ID - end.len())];
        SessionId(format!("{}{end}", name.trim_end_matches('-')))
    }

    /// The name of a session beside another that has this one: with the random end of its uid, so that
    /// every clone finds the same.
    #[must_use]
    pub fn beside(&self, uid: &str) -> Self {
        let uid: Vec<char> = uid
            .chars()
            .map(|c| c.to_ascii_lowercase())
            .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            .collect();
        let end: String = uid[uid.len().saturating_sub(8)..].iter().collect();
        let room = MAX_ID - end.len() - 1;
        let name = &self.0[..self.0.len().min(room)];
        SessionId(format!("{name}-{end}"))
    }
}

/// Tells whether Windows keeps a name, in lower case and without its ending, for itself.
pub fn is_reserved(name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    RESERVED.contains(&name) || numbered("com") || numbered("lpt")
}

/// FNV-1a, 32 bits (draft-eastlake-fnv): small, stable, and collisions only matter within one repository,
/// where `start` refuses an id that is taken.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = Failure;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.0
    }
}

/// The name of a git object in hexadecimal: 40 digits, or 64 in a SHA-256 repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Oid(String);

impl Oid {
    pub fn parse(text: &str) -> Result<Self> {
        Self::try_from(text.to_owned())
    }

    fn is_valid(text: &str) -> bool {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        matches!(text.len(), 40 | 64) && text.bytes().all(is_digit)
    }

    fn of(text: String) -> Result<Self> {
        if Self::is_valid(&text) {
            Ok(Oid(text))
        } else {
            Err(Failure::usage(
                Code::ObjectIdInvalid,
                format!("expected an object id of 40 or 64 hexadecimal digits, found `{text}`"),
            ))
        }
    }

    /// The id of these bytes, as git stores it: 20, or 32 in a SHA-256 repository.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            text.push(digit(byte >> 4));
            text.push(digit(*byte));
        }
        match bytes.len() {
            20 | 32 => Ok(Oid(text)),
            // Says what is wrong with it.
            _ => Self::parse(&text),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = Failure;
    fn try_from(text: String) -> Result<Self> {
        Self::of(text)
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> String {
        oid.0
    }
}

/// The name of an operation: the git blob id of its record. In format 1 a ULID in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct OpId(String);

impl OpId {
    pub fn parse(text: &str) -> Result<Self> {
        Self::try_from(text.to_owned())
    }

    fn of(text: String) -> Result<Self> {
        let is_ulid = text.len() == 26
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        if is_ulid || Oid::is_valid(&text) {
            Ok(OpId(text))
        } else {
            Err(Failure::usage(
                Code::OperationIdInvalid,
                format!(
                    "expected an operation id of 40 or 64 hexadecimal digits, or of 26 letters and digits, found `{text}`"
                ),
            ))
        }
    }

    /// The id of the operation whose record is this blob.
    pub fn of_record(blob: &Oid) -> Self {
        OpId(blob.0.clone())
    }

    /// Id that no operation has: for an operation whose bytes are not made yet.
    pub fn unnamed() -> Self {
        OpId("0".repeat(26))
    }

    /// Beginning of the id, as people are shown it.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for OpId {
    type Error = Failure;
    fn try_from(text: String) -> Result<Self> {
        Self::of(text)
    }
}

impl From<OpId> for String {
    fn from(id: OpId) -> String {
        id.0
    }
}

vocabulary!(
    /// The part that a person took in a commit or in a build.
    Role { Author = "author", Committer = "committer", CoAuthor = "co-author", Builder = "builder" }
);

/// An id is written as it is kept, without a copy for each.
#[macro_export]
macro_rules! written_as_text {
    ($($id:ident),+) => {
        $(impl Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        })+
    };
}
pub use written_as_text;

written_as_text!(SessionId, Oid, OpId);

/// Person who did something, as git names people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Person {
    pub name: String,
    pub email: String,
}

impl Person {
    /// Reads `Name <email>`; what has no angle brackets is all name.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        match text.rsplit_once('<') {
            Some((name, rest)) => Person {
                name: name.trim().to_owned(),
                email: rest.trim_end_matches('>').trim().to_owned(),
            },
            None => Person {
                name: text.to_owned(),
                email: String::new(),
            },
        }
    }

    /// Tells whether two entries name one person: the same address or the same name, whatever the letter
    /// case. A shared name counts too: the cost of a false "same" is one more reviewer.
    pub fn is_same(&self, other: &Person) -> bool {
        let same = |a: &str, b: &str| {
            !a.trim().is_empty() && a.trim().to_lowercase() == b.trim().to_lowercase()
        };
        same(&self.email, &other.email) || same(&self.name, &other.name)
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.email.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{} <{}>", self.name, self.email)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Person, SessionId};

    #[test]
    fn names_fold_to_ids() {
        for (name, id) in [
            ("My Flow", "my-flow"),
            ("../../etc/x", "etc-x"),
            ("  auth--timeout ", "auth-timeout"),
            ("COM10", "com10"),
        ] {
            assert_eq!(SessionId::fold(name).expect(name).as_str(), id);
        }
    }

    #[test]
    fn u16_titles_of_any_script_give_short_ids_that_can_be_read() {
        for (title, id) in [
            ("Fix the timeout", "fix-the-timeout"),
            ("修复登录超时", "xiu-fu-deng-lu-chao-shi"),
            ("Исправить объект", "ispravit-obekt"),
            ("Größe ändern", "grosse-andern"),
            ("L'été – don't", "lete-dont"),
            (
                "End the sessions that were idle for ten minutes",
                "end-the-sessions-that-were-idle",
            ),
            (
                "twelve-letters-and-words-all-in-all",
                "twelve-letters-and-words-all-in-all",
            ),
        ] {
            assert_eq!(SessionId::of_title(title).expect(title).as_str(), id);
        }
        let one = SessionId::of_title(&"x".repeat(90)).expect("an id");
        assert!(one.as_str().len() <= 63, "{one}");
        for name in ["", "   ", "../..", "CON", "—"] {
            assert!(SessionId::of_title(name).is_err(), "{name}");
        }
    }

    #[test]
    fn names_without_a_usable_character_and_device_names_are_refused() {
        for name in ["", "   ", "../..", "---", "CON", "com1", "lpt9"] {
            assert!(SessionId::fold(name).is_err(), "{name}");
        }
    }

    #[test]
    fn names_in_other_scripts_get_their_own_stable_ids() {
        let login = SessionId::fold("登录 v2").expect("fold");
        let logout = SessionId::fold("登出 v2").expect("fold");
        assert_ne!(login, logout);
        assert_eq!(login, SessionId::fold("登录 v2").expect("fold"));
        assert!(SessionId::fold("登录").is_ok());
    }

    #[test]
    fn long_names_that_differ_late_stay_apart() {
        let a = SessionId::fold(&format!("{}a", "x".repeat(90))).expect("fold");
        let b = SessionId::fold(&format!("{}b", "x".repeat(90))).expect("fold");
        assert_ne!(a, b);
        assert!(a.as_str().len() <= 63);
    }

    #[test]
    fn one_person_under_two_spellings_is_the_same() {
        let a = Person::parse("Ada L <Ada@Example.org>");
        assert!(a.is_same(&Person::parse("someone <ada@example.org>")));
        assert!(a.is_same(&Person::parse("ADA L <other@example.org>")));
        assert!(!a.is_same(&Person::parse("Bob <bob@example.org>")));
        assert!(!Person::parse("<>").is_same(&Person::parse("<>")));
    }
}
