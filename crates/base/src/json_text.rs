//! Small edits of a JSON text that leave every other byte of it as it is: somebody else's order,
//! indentation and spelling are none of our business.
//!
//! The text is checked by serde_json first; the scanner here only finds where things are.

use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub range: Range<usize>,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub key: String,
    /// Offset at which the key begins.
    pub start: usize,
    pub value: Node,
}

impl Node {
    /// The value of a key. Of two, the last counts, as for every reader of JSON.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Object(members) => members
                .iter()
                .rev()
                .find(|m| m.key == key)
                .map(|m| &m.value),
            _ => None,
        }
    }

    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(items) => items,
            _ => &[],
        }
    }

    pub fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Object(members) => members.is_empty(),
            Kind::Array(items) => items.is_empty(),
            Kind::Scalar => false,
        }
    }

    /// The value itself.
    pub fn value(&self, text: &str) -> Value {
        serde_json::from_str(&text[self.range.clone()]).unwrap_or(Value::Null)
    }

    /// Ranges of the node's members or items.
    fn parts(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|m| m.start..m.value.range.end).collect(),
            Kind::Array(items) => items.iter().map(|item| item.range.clone()).collect(),
            Kind::Scalar => Vec::new(),
        }
    }
}

/// The text with blanks for its comments (`//`, `/* */`): every byte stays where it is.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    let comments = comments(text);
    if comments.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for comment in comments {
        out.push_str(&text[at..comment.start]);
        for c in text[comment.clone()].chars() {
            match c {
                '\n' | '\r' => out.push(c),
                _ => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
            }
        }
        at = comment.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Ranges of the comments; the end of the line is no part of one.
fn comments(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut in_string = false;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        match rest[0] {
            b'\\' if in_string => at += 2,
            b'"' => {
                in_string = !in_string;
                at += 1;
            }
            b'/' if !in_string && rest.get(1) == Some(&b'/') => {
                let end = rest.iter().position(|b| b"\r\n".contains(b));
                let end = at + end.unwrap_or(rest.len());
                found.push(at..end);
                at = end;
            }
            b'/' if !in_string && rest.get(1) == Some(&b'*') => {
                // One that never ends stays, and the text is no JSON.
                let Some(end) = text.get(at + 2..).and_then(|rest| rest.find("*/")) else {
                    return found;
                };
                found.push(at..at + 2 + end + 2);
                at += 2 + end + 2;
            }
            _ => at += 1,
        }
    }
    found
}

/// Finds where things are; the error says why the text is no JSON.
pub fn parse(text: &str) -> Result<Node, String> {
    // Depth and grammar are judged here, so the scan below cannot go wrong.
    let checked: Result<Value, _> = serde_json::from_str(text);
    checked.map_err(|error| error.to_string())?;
    let mut scan = Scan {
        bytes: text.as_bytes(),
        text,
        at: 0,
    };
    scan.node().ok_or_else(|| "it cannot be read".to_owned())
}

struct Scan<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn blank(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn node(&mut self) -> Option<Node> {
        self.blank();
        let start = self.at;
        let kind = match self.bytes.get(self.at)? {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while !self.closes(b'}')? {
                    let start = self.at;
                    let key = self.string()?;
                    self.blank();
                    self.at += 1; // The colon.
                    let value = self.node()?;
                    members.push(Member { key, start, value });
                }
                Kind::Object(members)
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.closes(b']')? {
                    items.push(self.node()?);
                }
                Kind::Array(items)
            }
            b'"' => {
                self.string()?;
                Kind::Scalar
            }
            _ => {
                let ends = |b: &u8| b.is_ascii_whitespace() || b",]}".contains(b);
                while self.bytes.get(self.at).is_some_and(|b| !ends(b)) {
                    self.at += 1;
                }
                Kind::Scalar
            }
        };
        Some(Node {
            range: start..self.at,
            kind,
        })
    }

    /// Passes over blanks and a comma; whether the end of the list is there.
    fn closes(&mut self, end: u8) -> Option<bool> {
        self.blank();
        if self.bytes.get(self.at) == Some(&b',') {
            self.at += 1;
            self.blank();
        }
        let closed = *self.bytes.get(self.at)? == end;
        if closed {
            self.at += 1;
        }
        Some(closed)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }
}

/// The blanks at the beginning of the line in which something stands.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Indentation by one step, as this text has it.
fn step(text: &str) -> &str {
    text.lines()
        .map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()])
        .find(|blanks| !blanks.is_empty())
        .unwrap_or("  ")
}

/// A value over several lines, those after the first indented by `indent`.
fn pretty(value: &Value, step: &str, indent: &str) -> String {
    let mut bytes = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(step.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, format);
    if serde::Serialize::serialize(value, &mut serializer).is_err() {
        return value.to_string();
    }
    String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{indent}"))
}

/// Adds a part at the end of an object (with a key) or of an array (without).
pub fn add(text: &str, node: &Node, key: Option<&str>, value: &Value) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let outer = indent_at(text, node.range.start).to_owned();
    let indent = format!("{outer}{}", step(text));
    let mut part = pretty(value, step(text), &indent);
    if let Some(key) = key {
        part = format!("{}: {part}", Value::from(key));
    }
    let part = part.replace('\n', newline);
    let parts = node.parts();
    // What stands before the end: blanks, and comments that stay before what is added.
    let last = parts.last().map_or(node.range.start + 1, |last| last.end);
    let tail = text[last..node.range.end - 1].trim_end();
    let comma = if parts.is_empty() { "" } else { "," };
    let rest = if parts.is_empty() || !tail.is_empty() {
        &format!("{newline}{outer}{}", &text[node.range.end - 1..])
    } else {
        &text[last..]
    };
    let before = &text[..last];
    format!("{before}{comma}{tail}{newline}{indent}{part}{rest}")
}

/// Takes a part of an object or an array away. Comments around it stay.
pub fn remove(text: &str, node: &Node, index: usize) -> String {
    let parts = node.parts();
    let (cut, between) = match (index.checked_sub(1), parts.get(index), parts.get(index + 1)) {
        (_, None, _) => return text.to_owned(),
        (Some(before), Some(part), _) => {
            let end = parts[before].end;
            (end..part.end, end..part.start)
        }
        (None, Some(part), Some(next)) => (part.start..next.start, part.end..next.start),
        (None, Some(part), None) => {
            let inside = node.range.start + 1..node.range.end - 1;
            if comments(&text[inside.start..part.start]).is_empty()
                && comments(&text[part.end..inside.end]).is_empty()
            {
                (inside, part.end..part.end)
            } else {
                (part.clone(), part.end..part.end)
            }
        }
    };
    let between = &text[between];
    let kept: Vec<&str> = comments(between)
        .into_iter()
        .map(|at| &between[at])
        .collect();
    let (before, after) = (&text[..cut.start], &text[cut.end..]);
    if kept.is_empty() {
        return format!("{before}{after}");
    }
    // A comment to the end of its line ends there still.
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let kept = kept.join(newline);
    let gap = if after
        .trim_start_matches([' ', '\t'])
        .starts_with(['\n', '\r'])
    {
        ""
    } else {
        newline
    };
    format!("{before} {kept}{gap}{after}")
}

/// The place of a key in an object.
pub fn index_of(node: &Node, key: &str) -> Option<usize> {
    match &node.kind {
        Kind::Object(members) => members.iter().rposition(|m| m.key == key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{add, parse, remove, without_comments};
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
    use serde_json::{Value, json};

    #[test]
    fn a_part_is_added_in_the_manner_of_the_text_and_taken_away_again() {
        for (text, key, wanted) in [
            ("{}", Some("a"), "{\n  \"a\": [\n    1\n  ]\n}"),
            (
                "{\n\t\"x\": 1\n}\n",
                Some("a"),
                "{\n\t\"x\": 1,\n\t\"a\": [\n\t\t1\n\t]\n}\n",
            ),
            (
                "{\r\n    \"x\": {\"y\":2}\r\n}",
                Some("a"),
                "{\r\n    \"x\": {\"y\":2},\r\n    \"a\": [\r\n        1\r\n    ]\r\n}",
            ),
            ("[ ]", None, "[\n  [\n    1\n  ]\n]"),
        ] {
            let node = parse(text).expect("JSON");
            let added = add(text, &node, key, &json!([1]));
            assert_eq!(added, wanted);
            let node = parse(&added).expect("JSON");
            let last = node.parts().len() - 1;
            let back = remove(&added, &node, last);
            assert_eq!(parse(&back).expect("JSON").parts().len(), last);
            if last > 0 {
                assert_eq!(back, text);
            }
        }
    }

    #[test]
    fn strings_that_look_like_structure_are_strings() {
        let text = r#"{"a\"}": "],{", "b": ["\\", {"c": null}, -1e5], "b2": true}"#;
        let node = parse(text).expect("JSON");
        assert_eq!(node.get("a\"}").map(|n| n.value(text)), Some(json!("],{")));
        assert_eq!(node.get("b").map(|n| n.items().len()), Some(3));
        assert!(parse("{\"a\": 1,}").is_err() && parse("// x\n{}").is_err());
    }

    #[test]
    fn h8_comments_stay_where_they_are() {
        let text = "// é \"top\"\n{ /* a, */ \"x\": \"// none\\\"/*\" // last, {\n  // end\n}\n";
        let plain = without_comments(text);
        assert_eq!(plain.len(), text.len());
        assert_eq!(
            serde_json::from_str::<Value>(&plain).expect("JSON"),
            json!({"x": "// none\"/*"})
        );
        let node = parse(&plain).expect("JSON");
        let added = add(text, &node, Some("a"), &json!(1));
        assert_eq!(
            added,
            "// é \"top\"\n{ /* a, */ \"x\": \"// none\\\"/*\", // last, {\n  // end\n  \"a\": 1\n}\n"
        );
        let node = parse(&without_comments(&added)).expect("JSON");
        let back = remove(&added, &node, 1);
        for comment in ["// é \"top\"", "/* a, */", "// last, {", "// end"] {
            assert!(back.contains(comment), "{back}");
        }
        let value: Value = serde_json::from_str(&without_comments(&back)).expect("JSON");
        assert_eq!(value, json!({"x": "// none\"/*"}));
        // The first of two, the only one, and one beside the end of its list.
        for (text, index, wanted) in [
            ("{\"a\": 1, // one\n \"b\": 2}", 0, json!({"b": 2})),
            ("{\"a\": 1, // one\n \"b\": 2}", 1, json!({"a": 1})),
            ("{// one\n \"a\": 1}", 0, json!({})),
            ("[1, /* one */ 2]", 1, json!([1])),
        ] {
            let node = parse(&without_comments(text)).expect("JSON");
            let back = remove(text, &node, index);
            let value: Value = serde_json::from_str(&without_comments(&back)).expect("JSON");
            assert_eq!(value, wanted, "{back}");
            assert!(back.contains("one"), "{back}");
        }
        let open = "{\"a\": 1} /* never";
        assert!(parse(&without_comments(open)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]
        #[test]
        fn every_document_is_found_where_it_stands(keys in proptest::collection::vec("[a-z\"\\\\ é]{0,4}", 0..5), pretty in proptest::bool::ANY) {
            let mut map = serde_json::Map::new();
            for (n, key) in keys.iter().enumerate() {
                map.insert(key.clone(), json!([n, {"x": key}, []]));
            }
            let value = Value::Object(map);
            let text = if pretty { serde_json::to_string_pretty(&value).expect("text") } else { value.to_string() };
            let node = parse(&text).expect("JSON");
            prop_assert_eq!(node.value(&text), value.clone());
            for (key, wanted) in value.as_object().expect("an object") {
                prop_assert_eq!(&node.get(key).expect("the key").value(&text), wanted);
            }
        }
    }
}
