//! The fault of a `loopx.toml` that cannot be read: `FILE:LINE: KEY: expected X, found Y`.

use loopx_base::failure::{Code, Failure};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A value that means nothing, at its key.
#[derive(Debug)]
pub(super) struct Fault {
    key: String,
    what: String,
}

impl Fault {
    pub(super) fn new(key: impl Into<String>, what: impl Into<String>) -> Self {
        Fault {
            key: key.into(),
            what: what.into(),
        }
    }

    /// Failure with the file and the line of the key, or of the table that would have it.
    pub(super) fn placed(self, text: &str, label: &str) -> Failure {
        let Fault { key, what } = self;
        let line = line_of_key(text, &key);
        failure(format!("{label}:{line}: {key}: {what}"))
    }
}

/// The text that the parser refused.
pub(super) fn unreadable(text: &str, label: &str, error: &toml::de::Error) -> Failure {
    let start = error.span().map_or(0, |span| span.start);
    let line = line_of(text, start);
    let said = sentence(error.message().trim());
    let key = match DeTable::parse(text) {
        Ok(root) => key_at(root.get_ref(), start),
        Err(_) => String::new(),
    };
    failure(if key.is_empty() {
        format!("{label}:{line}: {said}")
    } else {
        format!("{label}:{line}: {key}: {said}")
    })
}

fn failure(message: String) -> Failure {
    Failure::usage(Code::PolicyInvalid, message)
        .help("mend the file on the branch that the session starts from, or remove the line")
}

/// The parser's words in our order: what was expected, then what was found.
fn sentence(said: &str) -> String {
    let found = ["invalid type: ", "invalid value: ", "unknown variant "];
    let parts = found
        .iter()
        .find_map(|begin| said.strip_prefix(begin))
        .and_then(|rest| rest.split_once(", expected "));
    let Some((found, expected)) = parts else {
        return said.to_owned();
    };
    let expected = match expected {
        "a sequence" => "a list like [\"...\"]",
        "a map" => "a table",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

/// The dotted key whose value stands at this byte; empty where none does.
fn key_at(table: &DeTable<'_>, byte: usize) -> String {
    let holds = |span: &Range<usize>| span.contains(&byte);
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let is_here = holds(&key.span()) || holds(&value.span());
        let below = match value.get_ref() {
            DeValue::Table(below) => key_at(below, byte),
            DeValue::Array(all) => all
                .iter()
                .filter_map(|one| one.get_ref().as_table())
                .map(|below| key_at(below, byte))
                .find(|key| !key.is_empty())
                .unwrap_or_default(),
            _ => String::new(),
        };
        if !below.is_empty() {
            return super::schema::join(name, &below);
        }
        if is_here {
            return name.to_owned();
        }
    }
    String::new()
}

/// The line of the longest part of a dotted key that the file has.
fn line_of_key(text: &str, key: &str) -> usize {
    let Ok(root) = DeTable::parse(text) else {
        return 1;
    };
    let (mut table, mut rest, mut line) = (root.get_ref(), key, 1);
    while let Some((name, found)) = table
        .iter()
        .filter(|(name, _)| {
            let name: &str = name.get_ref().as_ref();
            rest.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .max_by_key(|(name, _)| name.get_ref().len())
    {
        line = line_of(text, name.span().start);
        rest = &rest[name.get_ref().len()..];
        // A key may begin with a dot itself.
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let below = match found.get_ref() {
            DeValue::Array(all) => all.iter().find_map(|one| one.get_ref().as_table()),
            value => value.as_table(),
        };
        match below {
            Some(below) => table = below,
            None => break,
        }
    }
    line
}

/// The line of a byte, from 1.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    let before = text.bytes().take(byte);
    before.filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::Policy;

    #[test]
    fn every_error_names_file_line_and_key_and_what_was_expected_and_found() {
        for (text, wanted) in [
            (
                "# one\n[approve]\ndeny = \"ada\"\n",
                "f:3: approve.deny: expected a list like [\"...\"], found string \"ada\"",
            ),
            (
                "[approve]\ndeny = [1]\n",
                "f:2: approve.deny: expected a string, found integer `1`",
            ),
            (
                "[artifacts]\nmax_bytes = -1\n",
                "f:2: artifacts.max_bytes: expected a whole number, 0 or more, found integer `-1`",
            ),
            (
                "[review]\n\nindependence = \"always\"\n",
                "f:3: review.independence: expected one of `record`, `require`, `signed`, found `always`",
            ),
            (
                "[gates]\nalways_allow = [\"docs/**\", \"[\"]\n",
                "f:2: gates.always_allow: expected a path pattern, found `[`: ",
            ),
            (
                "[approve.roles]\nlead = [\"[\"]\n",
                "f:2: approve.roles.lead: expected a path pattern, found `[`: ",
            ),
            (
                "[paths]\nspecs = \"../x\"\n",
                "f:2: paths.specs: expected a path inside the repository and outside `.loopx`, found `../x`",
            ),
            (
                "\n[profiles.mine]\nstages = [\"build\", \"plan\"]\n",
                "f:3: profiles.mine.stages: expected them in the order",
            ),
            (
                "[profiles.mine]\nextends = \"other\"\n",
                "f:1: profiles: no profile is named `other`",
            ),
            ("[approve\n", "f:1: unclosed table, expected `]`"),
        ] {
            let error = Policy::parse(text, "f").expect_err(text);
            assert!(error.message.starts_with(wanted), "{}", error.message);
        }
    }
}
