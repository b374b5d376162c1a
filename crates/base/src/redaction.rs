//! Taking texts out of bytes: of a file as it is, of a record string by string, so that it stays one.

use super::secrets::Hit;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// Text that stands in the place of one that was taken out.
pub const MARK: &str = "[redacted]";

/// The shortest text that is taken out wherever it stands: a shorter one is a part of too much else.
pub const LEAST: usize = 4;

/// A found text this long is looked for everywhere, a shorter password only where a URL has it.
const ALONE: usize = 8;

/// The texts to take out.
#[derive(Clone, Default)]
pub struct Texts {
    /// Pairs of a text to look for and the text to put in its place; the longer ones first.
    pairs: Vec<(String, String)>,
    /// The first lines of private keys, which go with all that follows up to their last lines.
    keys: Vec<String>,
}

impl Texts {
    /// Adds what the search for credentials found.
    pub fn add_hit(&mut self, hit: &Hit) {
        let text = hit.secret();
        match text.find("-----BEGIN ").filter(|_| hit.is_key()) {
            Some(at) => {
                let end = text[at + 11..].find("-----").map(|end| at + 16 + end);
                let marker = &text[at..end.unwrap_or(text.len())];
                if !self.keys.iter().any(|known| known == marker) {
                    self.keys.push(marker.to_owned());
                }
            }
            None if text.len() < ALONE => self.pair(format!(":{text}@"), format!(":{MARK}@")),
            None => self.add(text),
        }
    }

    /// Adds a text, as it is and as JSON writes it.
    pub fn add(&mut self, text: &str) {
        self.pair(text.to_owned(), MARK.to_owned());
        let written = serde_json::to_string(text).unwrap_or_default();
        if let Some(inner) = written.get(1..written.len().saturating_sub(1)) {
            self.pair(inner.to_owned(), MARK.to_owned());
        }
    }

    fn pair(&mut self, text: String, instead: String) {
        if !self.pairs.iter().any(|(known, _)| *known == text) {
            self.pairs.push((text, instead));
            self.pairs
                .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.keys.is_empty()
    }

    /// Bytes without the texts; `None` where none of them is there.
    pub fn taken_out(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut now: Option<Vec<u8>> = None;
        for key in &self.keys {
            let found = without_keys(now.as_deref().unwrap_or(bytes), key.as_bytes());
            now = found.or(now);
        }
        for (text, instead) in &self.pairs {
            let from = now.as_deref().unwrap_or(bytes);
            now = replaced(from, text.as_bytes(), instead.as_bytes()).or(now);
        }
        now
    }

    /// String without the texts; `None` where none of them is there.
    pub fn taken_out_of(&self, text: &str) -> Option<String> {
        let bytes = self.taken_out(text.as_bytes())?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The message of a commit without the texts. It has some of them on one line, or only as far as a subject goes;
    /// its trailers stay, wherever a key has no end.
    pub fn taken_out_of_message(&self, message: &str) -> Option<String> {
        let mut texts = self.clone();
        for (text, instead) in &self.pairs {
            let words: Vec<&str> = text.split_whitespace().collect();
            texts.pair(words.join(" "), instead.clone());
            let lines = text.lines().map(str::trim);
            for line in lines.filter(|line| line.len() >= ALONE) {
                texts.pair(line.to_owned(), instead.clone());
            }
        }
        let (subject, rest) = message.split_at(message.find('\n').unwrap_or(message.len()));
        let (body, trailers) = rest.split_at(rest.rfind("\n\n").unwrap_or(rest.len()));
        let out = |part: &str| {
            let out = texts.taken_out_of(part);
            out.unwrap_or_else(|| part.to_owned())
        };
        let subject = texts.without_beginnings(out(subject));
        let now = format!("{subject}{}{}", out(body), out(trailers));
        (now != message).then_some(now)
    }

    /// A subject without the beginning of a text at which it was cut.
    fn without_beginnings(&self, mut subject: String) -> String {
        for (text, instead) in &self.pairs {
            let mut from = 0;
            let begins = |subject: &str, from: usize| {
                let begin = text.get(..LEAST)?;
                subject[from..].find(begin).map(|at| from + at)
            };
            while let Some(at) = begins(&subject, from) {
                let same = subject[at..].chars().zip(text.chars());
                let same = same.take_while(|(a, b)| a == b);
                let end = at + same.map(|(a, _)| a.len_utf8()).sum::<usize>();
                let rest = &subject[end..];
                from = if rest.is_empty() || rest.starts_with("...") || rest.starts_with('`') {
                    subject.replace_range(at..end, instead);
                    at + instead.len()
                } else {
                    end
                };
            }
        }
        subject
    }

    /// Tells whether a name has one of the texts in it, as the text is or as names are made of texts.
    pub fn is_in_name(&self, name: &str) -> bool {
        let name = folded(name);
        // A short password counts where a URL has it, and nowhere else.
        let texts = self.pairs.iter().filter(|(_, instead)| instead == MARK);
        let mut texts = texts.map(|(text, _)| folded(text));
        texts.any(|text| text.len() >= LEAST && name.contains(&text))
    }

    /// The lines, from 1, in which some of the texts begin.
    pub fn lines(&self, bytes: &[u8]) -> Vec<usize> {
        let texts = self.pairs.iter().map(|(text, _)| text);
        let mut found = Vec::new();
        for text in texts.chain(&self.keys) {
            let mut from = 0;
            while let Some((at, end)) = span(&bytes[from..], text.as_bytes()) {
                let begin = from + at;
                found.push(1 + bytes[..begin].iter().filter(|byte| **byte == b'\n').count());
                from += end;
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Text in lower case, with one hyphen for each run of characters that are neither letter nor digit.
fn folded(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

fn position(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        from += at;
        if bytes[from..].starts_with(text) {
            return Some(from);
        }
        from += 1;
    }
    None
}

/// A character that stands within quotation marks, or begins others, where a text is a part of a word of a command.
fn is_quoted(byte: u8) -> bool {
    b"'\"\\`$!^|".contains(&byte)
}

/// The begin and the end of a text: as it is, or within a longer word that was written as a word of a command, whose
/// quotation marks stand beside the characters that need some.
fn span(bytes: &[u8], text: &[u8]) -> Option<(usize, usize)> {
    let first = *text.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        from += at;
        if let Some(length) = length_in(&bytes[from..], text) {
            return Some((from, from + length));
        }
        from += 1;
    }
    None
}

/// The number of bytes that a text takes at the begin of others; nothing where it does not stand there.
fn length_in(bytes: &[u8], text: &[u8]) -> Option<usize> {
    if bytes.starts_with(text) {
        return Some(text.len());
    }
    if !text.iter().copied().any(is_quoted) {
        return None;
    }
    let mut at = 0;
    for (place, wanted) in text.iter().enumerate() {
        let is_beside = is_quoted(*wanted) || place > 0 && is_quoted(text[place - 1]);
        while bytes.get(at)? != wanted {
            if place == 0 || !is_beside || !is_mark(bytes[at]) {
                return None;
            }
            at += 1;
        }
        at += 1;
    }
    Some(at)
}

/// A character by which a shell is told that others are meant as they are.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'\\')
}

fn replaced(bytes: &[u8], text: &[u8], instead: &[u8]) -> Option<Vec<u8>> {
    let mut rest = bytes;
    let mut now = Vec::new();
    while let Some((at, end)) = span(rest, text) {
        now.extend_from_slice(&rest[..at]);
        now.extend_from_slice(instead);
        now.extend(marks_within(&rest[at..end], text));
        rest = &rest[end..];
    }
    if rest.len() == bytes.len() {
        return None;
    }
    now.extend_from_slice(rest);
    Some(now)
}

/// The quotation marks that stand between the characters of a text, so that what is around it is still quoted.
fn marks_within(found: &[u8], text: &[u8]) -> Vec<u8> {
    let mut left = text.iter().peekable();
    let mut marks = Vec::new();
    for byte in found {
        if left.next_if_eq(&byte).is_none() {
            marks.push(*byte);
        }
    }
    marks
}

/// Takes keys out whole: from their first line to the end of their last one, or of all where there is none.
fn without_keys(bytes: &[u8], begin: &[u8]) -> Option<Vec<u8>> {
    let end: Vec<u8> = [b"-----END ".as_slice(), begin.get(11..).unwrap_or_default()].concat();
    let mut rest = bytes;
    let mut now = Vec::new();
    while let Some(at) = position(rest, begin) {
        now.extend_from_slice(&rest[..at]);
        now.extend_from_slice(MARK.as_bytes());
        let after = &rest[at + begin.len()..];
        rest = match position(after, &end) {
            Some(at) => &after[at + end.len()..],
            None => &[],
        };
    }
    if now.is_empty() {
        return None;
    }
    now.extend_from_slice(rest);
    Some(now)
}

/// JSON with each of its strings given to `change`, and all else as it was; nothing where no string changes. Names of
/// fields are not given.
pub fn strings(bytes: &[u8], change: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut now = Vec::new();
    let mut is_other = false;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == b'"') {
        let begin = from + at;
        let end = literal_end(bytes, begin)?;
        let literal = &bytes[begin..end];
        now.extend_from_slice(&bytes[from..begin]);
        let next = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        let other = match next {
            Some(b':') => None,
            _ => serde_json::from_slice::<String>(literal)
                .ok()
                .and_then(|text| change(&text))
                .and_then(|text| serde_json::to_vec(&text).ok()),
        };
        is_other |= other.is_some();
        now.extend_from_slice(other.as_deref().unwrap_or(literal));
        from = end;
    }
    now.extend_from_slice(&bytes[from..]);
    is_other.then_some(now)
}

/// End of the string literal that begins at `begin`: the place behind its last quotation mark.
fn literal_end(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The strings of JSON, or of lines of JSON, as they were typed, and those of the names of fields; each with the line in
/// which it begins. Nothing where the bytes are something else.
pub fn typed(bytes: &[u8]) -> Option<Vec<(usize, String)>> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    if values.any(|value| value.is_err()) {
        return None;
    }
    let (mut found, mut from, mut line) = (Vec::new(), 0, 1);
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == b'"') {
        let begin = from + at;
        let end = literal_end(bytes, begin)?;
        let breaks = bytes[from..begin].iter().filter(|byte| **byte == b'\n');
        line += breaks.count();
        found.push((line, serde_json::from_slice(&bytes[begin..end]).ok()?));
        from = end;
    }
    Some(found)
}

/// A text with each word that is an old name replaced by the new one.
pub fn renamed(text: &str, names: &BTreeMap<String, String>) -> String {
    let word = |part: &str| match names.get(part.trim_end()) {
        Some(new) => format!("{new}{}", &part[part.trim_end().len()..]),
        None => part.to_owned(),
    };
    text.split_inclusive(char::is_whitespace)
        .map(word)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Texts, renamed, strings, typed};
    use crate::secrets::scan;
    use std::collections::BTreeMap;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        all.iter().for_each(|text| texts.add(text));
        texts
    }

    #[test]
    fn a_text_goes_wherever_it_stands_and_nothing_else_does() {
        let texts = texts(&["hush", "hush-hush"]);
        let out = texts
            .taken_out(b"a hush-hush\xff\nb hushhush\n")
            .expect("out");
        assert_eq!(out, b"a [redacted]\xff\nb [redacted][redacted]\n");
        assert_eq!(texts.taken_out(b"hus h"), None);
        let quoted = self::texts(&["a \"b\""]);
        let json = br#"{"slice": "say a \"b\" twice"}"#;
        let out = quoted.taken_out(json).expect("out");
        assert_eq!(out, br#"{"slice": "say [redacted] twice"}"#);
        assert_eq!(texts.lines(b"x\nhush\n\n a hush"), [2, 4]);
    }

    #[test]
    fn a_text_within_a_longer_word_of_a_command_goes_and_its_quotation_marks_stay() {
        let texts = texts(&["it's$hunter2"]);
        for (word, expected) in [
            (r#""xit's"'$hunter2y'"#, r#""x[redacted]"'y'"#),
            (r#""xit's\$hunter2y""#, r#""x[redacted]\y""#),
            (r"'xit'\''s$hunter2y'", r"'x[redacted]\''y'"),
            (r#"\"xit's\"'$hunter2y'"#, r#"\"x[redacted]\"'y'"#),
        ] {
            let out = texts.taken_out_of(word);
            assert_eq!(out.as_deref(), Some(expected), "{word}");
            assert_eq!(texts.lines(word.as_bytes()), [1], "{word}");
            assert_eq!(texts.taken_out_of(expected), None);
        }
        for other in [
            "it's hunter2",
            "i't's$hunter2",
            "it's$hunter",
            "its$hunter2",
        ] {
            assert_eq!(texts.taken_out_of(other), None, "{other}");
        }
    }

    #[test]
    fn json_stays_json_and_its_field_names_stay() {
        let bytes = br#"{ "hush": "a \"hush\" \n", "n": [1, "hush"], "old": "id" }"#;
        let texts = texts(&["hush", "\"hush\""]);
        let out = strings(bytes, |text| texts.taken_out_of(text)).expect("out");
        let expected = br#"{ "hush": "a [redacted] \n", "n": [1, "[redacted]"], "old": "id" }"#;
        assert_eq!(out, expected);
        assert_eq!(strings(bytes, |_| None), None);
        let all = ["hush", "a \"hush\" \n", "n", "hush", "old", "id"];
        let texts = typed(bytes).expect("JSON").into_iter();
        assert_eq!(texts.map(|(_, text)| text).collect::<Vec<_>>(), all);
        let lines = b"{\"a\":1}\n\n[\"b\"]\n";
        let begin = |at: usize, text: &str| (at, text.to_owned());
        assert_eq!(typed(lines), Some(vec![begin(1, "a"), begin(3, "b")]));
        for odd in ["{\"a\": x\"}\"", "a \"b\"", "[\"a\"", "\"\\x\""] {
            assert_eq!(typed(odd.as_bytes()), None, "{odd}");
        }
    }

    #[test]
    fn a_private_key_goes_whole_and_a_short_password_only_where_it_is_one() {
        let begin = ["-----BEGIN ", "RSA PRIVATE", " KEY-----"].concat();
        let end = ["-----END ", "RSA PRIVATE", " KEY-----"].concat();
        let url = ["https://ada:", "dev7", "@example.org dev7"].concat();
        let text = format!("one\n  {begin}\nMIIE\nabc\n{end}\ntwo {url}\n");
        let mut texts = Texts::default();
        scan(text.as_bytes())
            .iter()
            .for_each(|hit| texts.add_hit(hit));
        let out = texts.taken_out_of(&text).expect("out");
        let expected = "one\n  [redacted]\ntwo https://ada:[redacted]@example.org dev7\n";
        assert_eq!(out, expected);
        assert!(scan(out.as_bytes()).is_empty());
        let cut = texts
            .taken_out_of(&format!("{begin}\nMIIE\n"))
            .expect("out");
        assert_eq!(cut, "[redacted]");
    }

    #[test]
    fn a_message_has_no_part_of_a_text_left() {
        let texts = texts(&["swordfish-nine", "two\nlines of it"]);
        let message = "a: run `swordf`: passes\n\nno swordfish-nine,\ntwo lines of it\n\nA: b\n";
        let out = texts.taken_out_of_message(message).expect("out");
        let expected = "a: run `[redacted]`: passes\n\nno [redacted],\n[redacted]\n\nA: b\n";
        assert_eq!(out, expected);
        for (subject, expected) in [
            ("a: swordfish...", "a: [redacted]..."),
            ("a: lines of it", "a: [redacted]"),
            ("a: sword and swor", "a: sword and [redacted]"),
        ] {
            let out = texts.taken_out_of_message(subject);
            assert_eq!(out.as_deref(), Some(expected));
        }
        assert_eq!(texts.taken_out_of_message("a: swords are here\n"), None);
        let key = ["-----BEGIN ", "PRIVATE", " KEY-----"].concat();
        let mut texts = Texts::default();
        let hits = scan(key.as_bytes());
        hits.iter().for_each(|hit| texts.add_hit(hit));
        let out = texts.taken_out_of_message(&format!("a: {key}\n\n{key}\nMIIE\n\nA: b\n"));
        assert_eq!(
            out.as_deref(),
            Some("a: [redacted]\n\n[redacted]\n\nA: b\n")
        );
    }

    #[test]
    fn a_name_that_was_made_of_a_text_has_it() {
        let texts = texts(&["ghp_Q7zK"]);
        assert!(texts.is_in_name("sessions/fix-ghp-q7zk-now/spec.md"));
        assert!(!texts.is_in_name("sessions/fix/spec.md"));
    }

    #[test]
    fn a_word_that_is_an_old_name_is_the_new_one() {
        let names = BTreeMap::from([("old".to_owned(), "new".to_owned())]);
        assert_eq!(
            renamed("A: old\nB: older old", &names),
            "A: new\nB: older new"
        );
    }
}
