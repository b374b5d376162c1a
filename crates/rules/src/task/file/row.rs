//! Line of the list as typed fields. Each accessor says what is wrong with its field, and goes on.

use super::finding::found;
use loopx_base::nearest;
use loopx_spec::Finding;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// The fields of a JSON object in their order, those that stand there twice among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Vec<(String, Value)>);

impl Fields {
    /// The value of a field. Of two, the last counts; `null` is none.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value).filter(|one| !one.is_null())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one JSON object on the line")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Object)
    }
}

/// A line that is being read.
pub(super) struct Row<'f> {
    pub(super) line: usize,
    /// Name of the line in messages.
    pub(super) name: String,
    pub(super) found: &'f mut Vec<Finding>,
}

impl Row<'_> {
    pub(super) fn say(&mut self, id: &'static str, what: impl fmt::Display) {
        let message = format!("{}: {what}", self.name);
        self.found.push(found(id, self.line, message));
    }

    pub(super) fn wrong(&mut self, field: &str, expected: &str, value: &Value) {
        let kind = kind_of(value);
        self.say(
            "task_field_type",
            format!("expected `{field}` as {expected}, found {kind}"),
        );
    }

    pub(super) fn text(&mut self, field: &str, value: Option<&Value>) -> Option<String> {
        match value? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong(field, "a string", other);
                None
            }
        }
    }

    pub(super) fn texts(&mut self, field: &str, value: Option<&Value>) -> Vec<String> {
        let Some(items) = self.items(field, "a list of strings", value) else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other => self.wrong(field, "a list of strings", other),
            }
        }
        texts
    }

    pub(super) fn items<'v>(
        &mut self,
        field: &str,
        expected: &str,
        value: Option<&'v Value>,
    ) -> Option<&'v Vec<Value>> {
        match value? {
            Value::Array(items) => Some(items),
            other => {
                self.wrong(field, expected, other);
                None
            }
        }
    }

    pub(super) fn flag(&mut self, field: &str, value: Option<&Value>) -> Option<bool> {
        match value? {
            Value::Bool(flag) => Some(*flag),
            other => {
                self.wrong(field, "true or false", other);
                None
            }
        }
    }

    /// A whole number of at least one.
    pub(super) fn count(&mut self, field: &str, value: Option<&Value>) -> Option<u64> {
        let value = value?;
        let count = value.as_u64().filter(|count| *count > 0);
        if count.is_none() {
            let found = match value {
                Value::Number(number) => number.to_string(),
                other => kind_of(other).to_owned(),
            };
            self.say(
                "task_field_type",
                format!("expected `{field}` as a whole number from 1, found {found}"),
            );
        }
        count
    }

    /// Reads a word, which is one of few.
    pub(super) fn word(
        &mut self,
        field: &str,
        words: &[&'static str],
        value: Option<&Value>,
    ) -> Option<&'static str> {
        let text = self.text(field, value)?;
        let known = words.iter().find(|word| **word == text);
        if known.is_none() {
            self.unknown_word(field, words, &text);
        }
        known.copied()
    }

    pub(super) fn unknown_word(&mut self, field: &str, words: &[&'static str], found: &str) {
        let near = nearest(found, words.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
        self.say(
            "task_word_unknown",
            format!(
                "expected `{field}` to be one of {}, found `{found}`{near}",
                words.join(", ")
            ),
        );
    }

    /// Names that mean nothing here, and those that stand there twice.
    pub(super) fn names<'n>(
        &mut self,
        place: &str,
        names: impl Iterator<Item = &'n String>,
        known: &[&str],
    ) {
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            if seen.contains(&name.as_str()) {
                self.say(
                    "task_field_repeated",
                    format!("the field `{place}{name}` stands there twice"),
                );
                continue;
            }
            seen.push(name);
            if known.contains(&name.as_str()) {
                continue;
            }
            let near = misspelt(name, known).or_else(|| nearest(name, known.iter().copied()));
            let near = near.map_or(String::new(), |near| format!("; is `{place}{near}` meant?"));
            self.say(
                "task_field_unknown",
                format!("the field `{place}{name}` is not known, and stays{near}"),
            );
        }
    }
}

/// The field that a name is, but for letter case and what stands between its words.
pub(super) fn misspelt<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // A list of thousands has the right name nearly always.
    if known.contains(&name) {
        return None;
    }
    fn plain(name: &str) -> impl Iterator<Item = char> {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase)
    }
    let mut known = known.iter();
    known.find(|known| plain(known).eq(plain(name))).copied()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
