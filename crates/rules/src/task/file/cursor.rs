//! A cursor over one line of JSON: a list of thousands is read by it in one pass, without a tree of values. It takes
//! what is plain and nothing more. On `None` whoever reads leaves the line to the rules, which say what is wrong with
//! it; so it may refuse more than JSON does, and never less.

use serde_json::Value;
use std::borrow::Cow;

/// An object has at most so many fields.
const FIELDS: usize = 32;
/// A value that nobody looks at has at most so many brackets: a deep one is left to the rules and their limit.
const BRACKETS: usize = 64;

/// The rest of a line.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    /// The next byte behind blanks.
    fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Takes this byte where it comes next, and tells whether it did.
    fn takes(&mut self, wanted: u8) -> bool {
        let is_it = self.next() == Some(wanted);
        self.at += usize::from(is_it);
        is_it
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        self.takes(wanted).then_some(())
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.next().is_none()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.next();
        let rest = self.text.as_bytes().get(self.at..);
        let is_it = rest.is_some_and(|rest| rest.starts_with(word.as_bytes()));
        self.at += if is_it { word.len() } else { 0 };
        is_it
    }

    /// A value that may be `null`, which is none.
    pub(super) fn perhaps<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.takes_word("null") {
            return Some(None);
        }
        value(self).map(Some)
    }

    /// Tells whether a text comes next.
    pub(super) fn is_at_text(&mut self) -> bool {
        self.next() == Some(b'"')
    }

    /// A text, borrowed where nothing in it is escaped.
    pub(super) fn text(&mut self) -> Option<Cow<'t, str>> {
        self.take(b'"')?;
        let rest = self.text.get(self.at..)?;
        let length = plain(rest.as_bytes());
        if rest.as_bytes().get(length) == Some(&b'"') {
            self.at += length + 1;
            return Some(Cow::Borrowed(&rest[..length]));
        }
        self.escaped(length).map(Cow::Owned)
    }

    /// The text that began before here, with so many plain bytes before the first that is not.
    fn escaped(&mut self, plain: usize) -> Option<String> {
        let bytes = self.text.as_bytes();
        let from = self.at - 1;
        self.at += plain;
        loop {
            match bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(from..self.at)?).ok()
    }

    /// A whole number that is written by its digits alone.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.next();
        let rest = self.text.get(self.at..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let digits = &rest[..end.unwrap_or(rest.len())];
        let is_more = rest[digits.len()..].starts_with(['.', 'e', 'E']);
        if is_more || digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        self.at += digits.len();
        digits.parse().ok()
    }

    pub(super) fn truth(&mut self) -> Option<bool> {
        if self.takes_word("true") {
            return Some(true);
        }
        self.takes_word("false").then_some(false)
    }

    /// A list, each value of which `take` takes.
    pub(super) fn each(&mut self, mut take: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.takes(b']') {
            return Some(());
        }
        loop {
            take(self)?;
            if !self.takes(b',') {
                break;
            }
        }
        self.take(b']')
    }

    /// The values of a list. Most lists have one, and ten thousand of them keep no room for more.
    pub(super) fn list<T>(&mut self, value: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut found = Vec::new();
        self.each(|at| {
            let value = value(at)?;
            if found.is_empty() {
                found.reserve_exact(1);
            }
            found.push(value);
            Some(())
        })?;
        found.shrink_to_fit();
        Some(found)
    }

    /// An object, no field of which stands there twice. `field` takes the value of one.
    pub(super) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &str) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.takes(b'}') {
            return Some(());
        }
        let mut seen = [""; FIELDS];
        for place in 0..FIELDS {
            let Cow::Borrowed(name) = self.text()? else {
                return None;
            };
            if seen[..place].contains(&name) {
                return None;
            }
            seen[place] = name;
            self.take(b':')?;
            field(self, name)?;
            if !self.takes(b',') {
                return self.take(b'}');
            }
        }
        None
    }

    /// Takes any value, which nobody looks at.
    pub(super) fn any(&mut self) -> Option<()> {
        if self.is_at_text() {
            return self.text().map(drop);
        }
        let rest = self.text.get(self.at..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        values.next()?.ok()?;
        let whole = rest.get(..values.byte_offset())?;
        let brackets = whole.bytes().filter(|byte| matches!(byte, b'[' | b'{'));
        self.at += whole.len();
        (brackets.count() <= BRACKETS).then_some(())
    }
}

/// Counts the bytes before the first that ends a text, escapes something or may not stand in one. Eight are looked at
/// at once.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The high bit of each byte that is below `least`, and perhaps of some behind the first of those.
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word & HIGH;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let mut words = bytes.chunks_exact(8);
    let mut length = 0;
    for word in &mut words {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        let found = is(word, b'"') | is(word, b'\\') | below(word, 0x20);
        if found != 0 {
            return length + found.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let is_plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
    length + words.remainder().iter().take_while(is_plain).count()
}

#[cfg(test)]
mod tests {
    use super::Cursor;
    use serde_json::Value;

    fn text(of: &str) -> Option<String> {
        let mut cursor = Cursor::of(of);
        let text = cursor.text().map(std::borrow::Cow::into_owned);
        text.filter(|_| cursor.is_at_end())
    }

    fn number(of: &str) -> Option<u64> {
        let mut cursor = Cursor::of(of);
        let number = cursor.number();
        number.filter(|_| cursor.is_at_end())
    }

    #[test]
    fn a_text_and_a_number_are_those_of_json_or_none() {
        for one in [
            r#""""#,
            r#"" a b ""#,
            r#""\"q\" \\ \u00e9 \n""#,
            r#""\ud83e\udd80 ü""#,
            r#""\ud800""#,
            r#""\x""#,
            r#""open"#,
            r#""end\"#,
            "\"a\tb\"",
            "\"12345678\u{1}90\"",
            "\"12345678ü\u{20ac}\u{1f980}1234567\"",
            "\"1234567\"",
            "\"12345678\"",
            "\"1234567\\n\"",
            "\"!#[]\u{7f}\u{80}\u{a2}\u{dc}~~~~~~~\"",
            "x",
            "",
        ] {
            assert_eq!(text(one), serde_json::from_str(one).ok(), "{one}");
        }
        for one in [
            "0",
            " 7 ",
            "18446744073709551615",
            "18446744073709551616",
            "00",
            "07",
            "1.0",
            "1e2",
            "-1",
            "+1",
            "",
            "x",
        ] {
            assert_eq!(number(one), serde_json::from_str(one).ok(), "{one}");
        }
    }

    #[test]
    fn what_nobody_looks_at_is_passed_over_whole_and_is_json() {
        for one in [
            "null",
            "true",
            "-1.5e3",
            "1e999",
            "[1,[2,{}],\"]\"]",
            "{\"a\":{\"b\":\"}\"}}",
            "\"a\\\"b\"",
            "[1",
            "nul",
            "01",
            "[1,]",
        ] {
            let line = format!(" {one} ,rest");
            let mut cursor = Cursor::of(&line);
            let is_one = cursor.any().is_some() && cursor.takes(b',');
            assert_eq!(is_one, serde_json::from_str::<Value>(one).is_ok(), "{one}");
            if is_one {
                assert!(cursor.takes_word("rest") && cursor.is_at_end(), "{one}");
            }
        }
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(Cursor::of(&deep).any().is_none());
    }

    #[test]
    fn an_object_has_each_field_once() {
        let ages = |line: &str| {
            let (mut cursor, mut found) = (Cursor::of(line), Vec::new());
            cursor.object(|at, name| {
                found.push((name.to_owned(), at.perhaps(Cursor::number)?));
                Some(())
            })?;
            cursor.is_at_end().then_some(found)
        };
        assert_eq!(ages("{}"), Some(Vec::new()));
        let both = Some(vec![("b".to_owned(), Some(1)), ("a".to_owned(), None)]);
        assert_eq!(ages(" { \"b\" : 1 , \"a\" : null } "), both);
        for odd in [
            "",
            "[]",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":1,\"a\":1}",
            "{\"\\u0061\":1}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":1}}",
        ] {
            assert_eq!(ages(odd), None, "{odd}");
        }
        let list = |line: &str| Cursor::of(line).list(Cursor::number);
        assert_eq!(list("[1, 2,3]"), Some(vec![1, 2, 3]));
        assert_eq!(list("[ ]"), Some(Vec::new()));
        assert_eq!(list("[1,]"), None);
    }
}
