//! JSON of other programs: each value with its place, and nothing left over unseen.

use super::{File, Gather};
use crate::strict_json::strict;
use serde_json::{Map, Value};

/// Reads each object of these files.
pub(super) fn each(files: &[File], g: &mut Gather<'_>, one: fn(Fields, &mut Gather<'_>)) {
    for file in files {
        for fields in objects(file, g) {
            one(fields, g);
        }
    }
}

/// The objects of a file: of an array, of JSON lines, or one alone; each with its place.
pub(super) fn objects(file: &File, g: &mut Gather<'_>) -> Vec<Fields> {
    let text = file.text.trim_start_matches('\u{feff}');
    let mut found = Vec::new();
    if text.trim_start().starts_with('[') {
        match strict(text) {
            Ok(Value::Array(items)) => {
                for (at, item) in items.into_iter().enumerate() {
                    found.extend(Fields::of(item, format!("{}[{at}]", file.name), g));
                }
            }
            Ok(_) => {}
            Err(error) => broken(&file.name, 0, &error, g),
        }
        return found;
    }
    let first = text.lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| strict(line).is_err())
        && let Ok(whole) = strict(text)
    {
        found.extend(Fields::of(whole, file.name.clone(), g));
        return found;
    }
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match strict(line) {
            Ok(value) => found.extend(Fields::of(value, format!("{}:{}", file.name, at + 1), g)),
            Err(error) => broken(&file.name, at, &error, g),
        }
    }
    found
}

/// Reads a file as one value.
pub(super) fn whole(file: &File, g: &mut Gather<'_>) -> Option<Value> {
    match strict(file.text.trim_start_matches('\u{feff}')) {
        Ok(value) => Some(value),
        Err(error) => {
            broken(&file.name, 0, &error, g);
            None
        }
    }
}

fn broken(name: &str, before: usize, error: &serde_json::Error, g: &mut Gather<'_>) {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    g.fault(
        &format!("{name}:{}:{}", before + error.line().max(1), error.column()),
        format!("expected an issue as JSON: {message}"),
    );
}

/// The fields of an object. What is taken is gone; what is left over has no counterpart.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) at: String,
    pub(super) map: Map<String, Value>,
}

impl Fields {
    pub(super) fn of(value: Value, at: String, g: &mut Gather<'_>) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Fields { at, map }),
            other => {
                g.fault(&at, format!("expected an object, found {}", kind(&other)));
                None
            }
        }
    }

    /// A text; an empty one is none. A number or a word stands for its text.
    pub(super) fn text(&mut self, name: &str, g: &mut Gather<'_>) -> Option<String> {
        match self.map.remove(name)? {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            other => {
                self.unexpected(name, "a text", &other, g);
                None
            }
        }
    }

    /// A list; what is null or not there is an empty one.
    pub(super) fn list(&mut self, name: &str, g: &mut Gather<'_>) -> Vec<Value> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.unexpected(name, "a list", &other, g);
                Vec::new()
            }
        }
    }

    /// The texts of a list; an object stands for what `inner` names in it.
    pub(super) fn texts(&mut self, name: &str, inner: &str, g: &mut Gather<'_>) -> Vec<String> {
        let mut found = Vec::new();
        for item in self.list(name, g) {
            match item {
                Value::String(text) => found.push(text),
                Value::Object(mut map) => match map.remove(inner) {
                    Some(Value::String(text)) => found.push(text),
                    _ => self.unexpected(name, "texts", &Value::Object(map), g),
                },
                other => self.unexpected(name, "texts", &other, g),
            }
        }
        found
    }

    fn unexpected(&self, name: &str, expected: &str, found: &Value, g: &mut Gather<'_>) {
        g.fault(
            &self.at,
            format!("expected {expected} in `{name}`, found {}", kind(found)),
        );
    }

    /// Fields that nobody took, but for those that say nothing.
    pub(super) fn rest(self) -> impl Iterator<Item = (String, Value)> {
        let says = |value: &Value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(map) => !map.is_empty(),
            Value::Bool(_) | Value::Number(_) => true,
        };
        self.map.into_iter().filter(move |(_, value)| says(value))
    }
}

/// A text in an object.
pub(super) fn inner<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    let text = value.get(name)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
