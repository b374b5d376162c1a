//! JSON of other tools: fields that are wanted, with the place of what is wrong; and values without the paths of a
//! machine.

use super::Fault;
use crate::strict_json::strict;
use loopx_base::failure::Code;
use serde_json::{Map, Value};

/// Reads a document; what is wrong with it is one fault with line and column.
pub(super) fn parse(text: &str, at: &str, code: Code, faults: &mut Vec<Fault>) -> Option<Value> {
    match strict(text) {
        Ok(value) => Some(value),
        Err(error) => {
            faults.push(Fault {
                code,
                at: format!("{at}:{}:{}", error.line(), error.column()),
                message: format!("expected JSON, found none: {error}"),
            });
            None
        }
    }
}

/// The fields of an object, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'v> {
    pub(super) fields: &'v Map<String, Value>,
    /// The file.
    pub(super) file: &'v str,
    code: Code,
}

impl<'v> Object<'v> {
    pub(super) fn of(
        value: &'v Value,
        file: &'v str,
        place: &str,
        code: Code,
        faults: &mut Vec<Fault>,
    ) -> Option<Self> {
        match value.as_object() {
            Some(fields) => Some(Object { fields, file, code }),
            None => {
                faults.push(Fault {
                    code,
                    at: at(file, place),
                    message: format!("expected an object, found {}", kind(value)),
                });
                None
            }
        }
    }

    pub(super) fn get(&self, field: &str) -> Option<&'v Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, field: &str) -> Option<&'v str> {
        let text = self.get(field)?.as_str()?;
        (!text.trim().is_empty()).then_some(text)
    }

    /// The texts of a list; one text stands for a list of one.
    pub(super) fn texts(&self, field: &str) -> Vec<String> {
        match self.get(field) {
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                })
                .collect(),
            Some(Value::String(text)) if !text.trim().is_empty() => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    pub(super) fn list(&self, field: &str) -> &'v [Value] {
        self.get(field)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// A text that has to be there.
    pub(super) fn need(
        &self,
        field: &str,
        place: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<&'v str> {
        let text = self.text(field);
        if text.is_none() {
            self.lacks(field, "a text", place, faults);
        }
        text
    }

    /// A list that has to be there.
    pub(super) fn need_list(
        &self,
        field: &str,
        place: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<&'v [Value]> {
        let list = self.get(field).and_then(Value::as_array);
        if list.is_none() {
            self.lacks(field, "a list", place, faults);
        }
        list.map(Vec::as_slice)
    }

    /// Reads a word out of a few, which has to be there.
    pub(super) fn need_word(
        &self,
        field: &str,
        words: &[&str],
        place: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<&'v str> {
        let word = self.text(field).filter(|word| words.contains(word));
        if word.is_none() {
            self.lacks(field, &words.join(", "), place, faults);
        }
        word
    }

    fn lacks(&self, field: &str, expected: &str, place: &str, faults: &mut Vec<Fault>) {
        let found = self
            .get(field)
            .map_or("nothing".to_owned(), Value::to_string);
        faults.push(Fault {
            code: self.code,
            at: at(self.file, place),
            message: format!("expected `{field}` as {expected}, found {found}"),
        });
    }
}

/// A file with a place in it.
pub(super) fn at(file: &str, place: &str) -> String {
    match place {
        "" => file.to_owned(),
        place => format!("{file}: {place}"),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The folders that tools keep their work in: a path below one of them is known without the machine.
const ROOTS: [&str; 6] = [
    ".loopx/",
    ".LoopX/",
    ".codex-helper/",
    ".workflow/",
    ".claude/",
    ".codex/",
];

/// Copies a value; a path of a machine is cut to what is known of it elsewhere.
pub(super) fn machine_free(value: &Value) -> Value {
    match value {
        Value::String(text) if is_of_machine(text) => {
            let plain = text.replace('\\', "/");
            let below = ROOTS
                .iter()
                .filter_map(|root| plain.rfind(&format!("/{root}")))
                .max();
            match below {
                Some(at) => Value::from(&plain[at + 1..]),
                None => Value::from("(a path of another machine)"),
            }
        }
        Value::Array(items) => items.iter().map(machine_free).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), machine_free(value)))
            .collect(),
        other => other.clone(),
    }
}

/// Tells whether a text is nothing but an absolute path.
fn is_of_machine(text: &str) -> bool {
    let mut letters = text.chars();
    let is_drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && matches!(letters.next(), Some('/' | '\\'));
    let is_rooted = (text.starts_with('/') && text[1..].contains('/')) || text.starts_with("~/");
    // A sentence may begin with a slash: a command of a host.
    let is_one_word = !text.contains(char::is_whitespace)
        || ROOTS.iter().any(|root| text.contains(&format!("/{root}")));
    (is_drive || is_rooted) && is_one_word && !text.contains('\n')
}
