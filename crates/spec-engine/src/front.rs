//! Front matter: the `---` block at the top of an artifact, as typed fields with their lines.
//!
//! Plain YAML only: a mapping of scalars and lists of scalars. Anchors, tags, duplicate keys, nesting
//! and a second document are errors, because a gate reads this and must not guess. Nothing is executed.

use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::BTreeMap;

/// Fault of an artifact, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// 1-based line in the file.
    pub line: usize,
    /// The field, where one is concerned.
    pub field: Option<&'static str>,
    /// Words for what was expected and what was found.
    pub message: String,
    /// The field is not there at all: nothing was written wrongly.
    pub missing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Scalar { text: String, plain: bool },
    List(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    value: Value,
    line: usize,
}

/// The fields of an artifact and the text below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    fields: BTreeMap<String, Field>,
    /// Byte offset at which the text below the block begins.
    body: usize,
}

const BOM: &str = "\u{feff}";

/// The YAML between the two `---` lines, its first line's number, and where the body begins.
pub fn block(text: &str) -> Result<Option<(&str, usize)>, Fault> {
    let bom = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut offset = bom;
    let mut start = None;
    for line in text[bom..].split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        match start {
            None if bare.trim_end() == "---" => start = Some(offset + line.len()),
            None => return Ok(None),
            Some(start) if matches!(bare.trim_end(), "---" | "...") => {
                return Ok(Some((&text[start..offset], offset + line.len())));
            }
            Some(_) => {}
        }
        offset += line.len();
    }
    match start {
        None => Ok(None),
        Some(_) => Err(Fault {
            line: 1,
            field: None,
            message: "the front matter that begins here has no closing `---` line".into(),
            missing: false,
        }),
    }
}

impl FrontMatter {
    /// Reads the block at the top of `text`; a text without one has no fields.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let Some((yaml, body)) = block(text)? else {
            return Ok(FrontMatter {
                fields: BTreeMap::new(),
                body: if text.starts_with(BOM) { BOM.len() } else { 0 },
            });
        };
        Ok(FrontMatter {
            fields: fields(yaml)?,
            body,
        })
    }

    /// Offset in bytes at which the text below the block begins.
    pub fn body_offset(&self) -> usize {
        self.body
    }

    /// Fault of the first field that is none of `known`.
    pub fn unknown(&self, known: &[&'static str]) -> Option<Fault> {
        let strays = self
            .fields
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_str()));
        let (key, field) = strays.min_by_key(|(_, field)| field.line)?;
        let mut message = format!("no field is named `{key}`");
        match loopx_base::nearest(key, known.iter().copied()) {
            Some(near) => message.push_str(&format!("; there is `{near}`")),
            None => message.push_str(&format!("; expected one of {}", known.join(", "))),
        }
        Some(Fault {
            line: field.line,
            field: None,
            message,
            missing: false,
        })
    }

    /// Every field that is none of `known`, as data.
    pub fn rest(&self, known: &[&str]) -> Vec<(String, serde_json::Value)> {
        let others = self.fields.iter();
        let others = others.filter(|(key, _)| !known.contains(&key.as_str()));
        let others = others.filter_map(|(key, field)| match &field.value {
            Value::Scalar { text, .. } if text.trim().is_empty() => None,
            Value::List(items) if items.is_empty() => None,
            Value::Scalar { text, .. } => Some((key.clone(), text.clone().into())),
            Value::List(items) => Some((key.clone(), items.clone().into())),
        });
        others.collect()
    }

    /// The line of a field, or 1 where it is missing.
    pub fn line_of(&self, key: &str) -> usize {
        self.fields.get(key).map_or(1, |field| field.line)
    }

    fn fault(&self, key: &'static str, expected: &str) -> Fault {
        let found = match self.fields.get(key).map(|field| &field.value) {
            None => "no such field".to_owned(),
            Some(Value::Scalar { text, .. }) if text.is_empty() => "nothing".to_owned(),
            Some(Value::Scalar { text, .. }) => format!("`{text}`"),
            Some(Value::List(items)) => format!("a list of {}", items.len()),
        };
        Fault {
            line: self.line_of(key),
            field: Some(key),
            message: format!("{key}: expected {expected}, found {found}"),
            missing: !self.fields.contains_key(key),
        }
    }

    fn plain(&self, key: &str) -> Option<&str> {
        match &self.fields.get(key)?.value {
            Value::Scalar { text, plain: true } => Some(text),
            _ => None,
        }
    }

    /// `true` or `false`, nothing else.
    pub fn boolean(&self, key: &'static str) -> Result<bool, Fault> {
        match self.plain(key) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(self.fault(key, "true or false")),
        }
    }

    /// A whole number, 0 or more, in decimal digits.
    pub fn count(&self, key: &'static str) -> Result<u32, Fault> {
        self.plain(key)
            .filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.fault(key, "a whole number, 0 or more"))
    }

    /// A decimal number from 0 to 1.
    pub fn ratio(&self, key: &'static str) -> Result<f64, Fault> {
        self.plain(key)
            .filter(|text| {
                !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            })
            .and_then(|text| text.parse::<f64>().ok())
            .filter(|value| (0.0..=1.0).contains(value))
            .ok_or_else(|| self.fault(key, "a number from 0 to 1, like 0.15"))
    }

    /// A list of words; one scalar is a list of one, an empty field or none at all is an empty list.
    pub fn list(&self, key: &'static str) -> Result<Vec<String>, Fault> {
        match self.fields.get(key).map(|field| &field.value) {
            None => Ok(Vec::new()),
            Some(Value::Scalar { text, .. }) if text.trim().is_empty() => Ok(Vec::new()),
            Some(Value::Scalar { text, .. }) => Ok(vec![text.clone()]),
            Some(Value::List(items)) => Ok(items.clone()),
        }
    }

    /// Text, or `None` where the field is missing or empty.
    pub fn text(&self, key: &'static str) -> Result<Option<String>, Fault> {
        match self.fields.get(key).map(|field| &field.value) {
            None => Ok(None),
            Some(Value::Scalar { text, .. }) if text.trim().is_empty() => Ok(None),
            Some(Value::Scalar { text, .. }) => Ok(Some(text.clone())),
            Some(Value::List(_)) => Err(self.fault(key, "one value")),
        }
    }
}

fn fields(yaml: &str) -> Result<BTreeMap<String, Field>, Fault> {
    let mut mapping = Mapping::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let why = format!("not readable as YAML: {}", error.info());
            fault_in_block(error.marker().line(), why)
        })?;
        mapping.take(event, span.start.line())?;
    }
    Ok(mapping.fields)
}

/// A fault in a line of the block, which begins on the file's second line.
fn fault_in_block(line: usize, message: impl Into<String>) -> Fault {
    Fault {
        line: line + 1,
        field: None,
        message: message.into(),
        missing: false,
    }
}

/// The one mapping that a block may hold, as far as it is read.
#[derive(Default)]
struct Mapping {
    fields: BTreeMap<String, Field>,
    /// The field whose value comes next, and its line.
    key: Option<(String, usize)>,
    list: Option<Vec<String>>,
    is_open: bool,
    documents: usize,
}

impl Mapping {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Fault> {
        let refused = |message: &str| Err(fault_in_block(line, message));
        match event {
            Event::Scalar(_, _, anchor, ref tag)
            | Event::SequenceStart(anchor, ref tag)
            | Event::MappingStart(anchor, ref tag)
                if anchor != 0 || tag.is_some() =>
            {
                return refused("anchors and tags are not allowed here");
            }
            Event::Scalar(text, style, _, _) => {
                self.scalar(text.into_owned(), style == ScalarStyle::Plain, line)?;
            }
            Event::MappingStart(..) if !self.is_open => self.is_open = true,
            Event::SequenceStart(..)
                if self.is_open && self.key.is_some() && self.list.is_none() =>
            {
                self.list = Some(Vec::new());
            }
            Event::SequenceEnd => {
                if let (Some(items), Some(name)) = (self.list.take(), self.key.take()) {
                    self.put(name, Value::List(items))?;
                }
            }
            Event::MappingEnd => self.is_open = false,
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                return refused("expected a value or a list of values, found something nested");
            }
            Event::Alias(_) => return refused("aliases are not allowed here"),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return refused("a second document begins here");
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    /// A scalar is an item of the list that is open, the value of the field before it, or the name of a field.
    fn scalar(&mut self, text: String, plain: bool, line: usize) -> Result<(), Fault> {
        if let Some(items) = &mut self.list {
            items.push(text);
        } else if !self.is_open {
            let message = format!("expected `field: value` lines, found `{text}`");
            return Err(fault_in_block(line, message));
        } else if let Some(name) = self.key.take() {
            let is_null = plain && matches!(text.as_str(), "~" | "null");
            let text = if is_null { String::new() } else { text };
            self.put(name, Value::Scalar { text, plain })?;
        } else {
            self.key = Some((text, line));
        }
        Ok(())
    }

    fn put(&mut self, (name, line): (String, usize), value: Value) -> Result<(), Fault> {
        if self.fields.contains_key(&name) {
            let message = format!("the field `{name}` stands here twice");
            return Err(fault_in_block(line, message));
        }
        let line = line + 1;
        self.fields.insert(name, Field { value, line });
        Ok(())
    }
}

/// `text` with one field of its front matter set to a scalar, every other byte kept. A field that is
/// missing is added at the end of the block; a text without a block is given one.
pub fn set_field(text: &str, key: &str, value: &str) -> String {
    let Ok(Some((yaml, body))) = block(text) else {
        return format!("---\n{key}: {value}\n---\n{text}");
    };
    let start = text.find(yaml).filter(|_| !yaml.is_empty());
    let start = start.unwrap_or_else(|| text[..body].find('\n').map_or(body, |at| at + 1));
    let end = start + yaml.len();
    let newline = if yaml.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..start]);
    let mut done = false;
    for line in yaml.split_inclusive('\n') {
        let is_key = line
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(':'));
        if is_key && !done {
            out.push_str(&format!("{key}: {value}{newline}"));
            done = true;
        } else {
            out.push_str(line);
        }
    }
    if !done {
        out.push_str(&format!("{key}: {value}{newline}"));
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::{FrontMatter, set_field};

    #[test]
    fn fields_are_read_with_their_types_and_lines() {
        let text = "---\n# a comment\nround: 3\nscore: 0.1\nready: true\ndomains: [a, \"b\"]\nwho: ~\n---\nbody\n";
        let front = FrontMatter::parse(text).expect("parse");
        assert_eq!(front.count("round"), Ok(3));
        assert_eq!(front.ratio("score"), Ok(0.1));
        assert_eq!(front.boolean("ready"), Ok(true));
        assert_eq!(
            front.list("domains"),
            Ok(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(front.text("who"), Ok(None));
        assert_eq!(&text[front.body_offset()..], "body\n");
        assert_eq!(front.count("score").expect_err("no count").line, 4);
    }

    #[test]
    fn a_number_is_never_guessed() {
        for bad in ["0,1", "3x", "-5", "", "1e3", "\"3\"", "0x3", "+3", "3 4"] {
            let front = FrontMatter::parse(&format!("---\nn: {bad}\n---\n")).expect("parse");
            assert!(front.count("n").is_err(), "{bad}");
        }
        for bad in ["0,1", "-0.1", "1.5", "low", "", ".", "NaN", "inf"] {
            let front = FrontMatter::parse(&format!("---\nn: {bad}\n---\n")).expect("parse");
            assert!(front.ratio("n").is_err(), "{bad}");
        }
    }

    #[test]
    fn broken_blocks_name_the_line() {
        for (text, line) in [
            ("---\na: 1\n", 1),
            ("---\na: 1\na: 2\n---\n", 3),
            ("---\na: &x 1\n---\n", 2),
            ("---\na: !!python/object/apply:os.system [id]\n---\n", 2),
            ("---\na: &x [1]\n---\n", 2),
            ("---\n!!map\na: 1\n---\n", 2),
            ("---\na:\n  b: 1\n---\n", 3),
            ("---\na: [1, 2\n---\n", 2),
            ("---\njust words\n---\n", 2),
        ] {
            let fault = FrontMatter::parse(text).expect_err(text);
            assert!(fault.line.abs_diff(line) <= 1, "{text:?}: {fault:?}");
        }
    }

    #[test]
    fn setting_a_field_changes_that_line_only() {
        let text = "---\r\na: 1\r\nb: 2\r\n---\r\nb: 2\r\n";
        assert_eq!(
            set_field(text, "b", "9"),
            "---\r\na: 1\r\nb: 9\r\n---\r\nb: 2\r\n"
        );
        assert_eq!(
            set_field("---\na: 1\n---\n", "c", "x"),
            "---\na: 1\nc: x\n---\n"
        );
        assert_eq!(set_field("body\n", "c", "x"), "---\nc: x\n---\nbody\n");
        assert_eq!(set_field("---\n---\n", "c", "x"), "---\nc: x\n---\n");
    }
}
