//! An exploration note: what somebody found about one angle, with the files that it names. A file reference counts as
//! verified where the code has that file, and that line of it; a note about other code than the present is stale.

use crate::policy::is_inside;
use loopx_base::id::Oid;
use serde::Serialize;

/// A file that a note names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    pub path: String,
    pub line: Option<usize>,
    /// Weight of the file: `high`, `medium` or `low`, where the note says so.
    pub relevance: Option<String>,
    /// Purpose of the file, in the words of the note.
    pub role: Option<String>,
    /// The code has it.
    pub verified: bool,
}

impl Reference {
    /// Place as the note writes it.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.path),
            None => self.path.clone(),
        }
    }
}

/// A note on an angle, as it stands beside the code of now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explored {
    pub angle: String,
    /// The number of its record.
    pub seq: u64,
    pub by: String,
    /// The code that it was written about.
    pub tree: Option<Oid>,
    /// The code is another one by now.
    pub stale: bool,
    pub references: Vec<Reference>,
}

/// Tells whether a word looks like the path of a file: it has a folder, and a name with an ending.
pub fn is_path(word: &str) -> bool {
    let (path, _) = place(word);
    let Some((folder, name)) = path.rsplit_once('/') else {
        return false;
    };
    !folder.is_empty() && has_ending(name) && is_plain(path)
}

fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let is_word = ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_number = ending.bytes().all(|byte| byte.is_ascii_digit());
        !stem.is_empty() && (1..=10).contains(&ending.len()) && is_word && !is_number
    })
}

fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@#~".contains(c);
    !path.contains("//") && path.chars().all(plain) && is_inside(path)
}

/// A path and the line behind it: `src/a.rs:12`, `src/a.rs:12-20`, `src/a.rs:12:5`.
fn place(word: &str) -> (&str, Option<usize>) {
    let Some((path, rest)) = word.split_once(':') else {
        return (word, None);
    };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    match digits.unwrap_or_default().parse() {
        Ok(line) => (path, Some(line)),
        Err(_) => (word, None),
    }
}

/// The files that a note names: at the beginning of an item of a list, with how much it matters and what it is for
/// behind it (`- src/a.rs:12 (high): ends sessions`), and between backticks anywhere. `lines` says how many lines a
/// file of the code has.
pub fn references(text: &str, lines: impl Fn(&str) -> Option<usize>) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    let mut add = |word: &str, relevance: Option<String>, role: Option<String>| {
        let (path, line) = place(word);
        let verified =
            lines(path).is_some_and(|count| line.is_none_or(|line| (1..=count).contains(&line)));
        let known = found
            .iter_mut()
            .find(|one| one.path == path && one.line == line);
        match known {
            // What is said of it once is said.
            Some(known) => {
                known.relevance = known.relevance.take().or(relevance);
                known.role = known.role.take().or(role);
            }
            None => found.push(Reference {
                path: path.to_owned(),
                line,
                relevance,
                role,
                verified,
            }),
        }
    };
    for line in text.lines() {
        if let Some((word, relevance, role)) = item(line) {
            add(word, relevance, role);
        }
        for quoted in line.split('`').skip(1).step_by(2) {
            let (path, _) = place(quoted);
            if is_path(quoted) || (has_ending(path) && is_plain(path)) {
                add(quoted, None, None);
            }
        }
    }
    found
}

/// The file that an item of a list begins with.
fn item(line: &str) -> Option<(&str, Option<String>, Option<String>)> {
    let rest = line
        .trim_start()
        .strip_prefix(['-', '*'])?
        .strip_prefix(' ')?
        .trim_start();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    let word = word.trim_end_matches([':', ',']).trim_matches('`');
    let (path, _) = place(word);
    let is_quoted = line.contains('`') && has_ending(path) && is_plain(path);
    if !is_path(word) && !is_quoted {
        return None;
    }
    let rest = rest.trim_start();
    let in_brackets = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (relevance, rest) = match in_brackets {
        Some((word, rest)) if ["high", "medium", "low"].contains(&word) => {
            (Some(word.to_owned()), rest)
        }
        _ => (None, rest),
    };
    let role = rest
        .trim_start_matches([':', '-', ' ', '\u{2013}', '\u{2014}'])
        .trim();
    Some((word, relevance, (!role.is_empty()).then(|| role.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::references;

    #[test]
    fn a_reference_is_verified_where_the_code_has_the_file_and_the_line() {
        let lines = |path: &str| match path {
            "src/a.rs" => Some(20),
            "build.rs" => Some(1),
            _ => None,
        };
        for (text, expected) in [
            (
                "- src/a.rs:12 (high): ends sessions",
                vec![("src/a.rs:12", Some("high"), Some("ends sessions"), true)],
            ),
            (
                "* `src/a.rs` - where it begins",
                vec![("src/a.rs", None, Some("where it begins"), true)],
            ),
            (
                "- src/a.rs:21 (low)",
                vec![("src/a.rs:21", Some("low"), None, false)],
            ),
            ("- src/a.rs:0", vec![("src/a.rs:0", None, None, false)]),
            (
                "- src/gone.rs: was here",
                vec![("src/gone.rs", None, Some("was here"), false)],
            ),
            (
                "See `src/a.rs:3-9` and `build.rs`.",
                vec![
                    ("src/a.rs:3", None, None, true),
                    ("build.rs", None, None, true),
                ],
            ),
            // No file: a word, an address, a way out of the repository, a call.
            ("- either/or: we chose", vec![]),
            ("- e.g. this; https://example.org/a.html", vec![]),
            (
                "`../etc/passwd.txt` `/etc/hosts.conf` `a.b()` `1.2`",
                vec![],
            ),
            ("src/a.rs without backticks in a sentence", vec![]),
            (
                "- src/a.rs: one\n- src/a.rs (high)",
                vec![("src/a.rs", Some("high"), Some("one"), true)],
            ),
        ] {
            let found = references(text, lines);
            let found: Vec<_> = found
                .iter()
                .map(|one| {
                    (
                        one.place(),
                        one.relevance.as_deref(),
                        one.role.as_deref(),
                        one.verified,
                    )
                })
                .collect();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(place, relevance, role, is)| (place.to_owned(), relevance, role, is))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
