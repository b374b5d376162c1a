//! TODO and FIXME comments of code: which lines are such comments, and which issue each of them is.
//!
//! An issue is known again by its file and its words, so that a comment that moves within its file is the same issue.

use super::text::short;
use super::{Gather, Item, Taken, Wishes};
use crate::issue::plain::Plain;
use crate::issue::{Place, Source};
use loopx_base::id::Oid;
use std::collections::HashMap;

/// The system, as the sources of issues name it.
pub const SYSTEM: &str = "todo";

/// The words that are looked for, with the kind of issue that each of them means.
const WORDS: [(&str, &str); 2] = [("TODO", "task"), ("FIXME", "bug")];

/// Marks that begin a comment.
const OPENERS: [&str; 10] = ["//", "//!", "///", "#", "/*", "/**", "*", "--", ";", "<!--"];

/// The longest title.
const LONGEST: usize = 300;

/// Reads the comments of files that are code at a commit.
pub fn read<'f>(
    files: impl IntoIterator<Item = (&'f str, &'f str)>,
    commit: Option<&Oid>,
    wishes: &Wishes,
) -> Taken {
    let mut g = Gather::new(wishes);
    for (path, text) in files {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            let Some(comment) = comment(path, line) else {
                continue;
            };
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let times = seen.entry(comment.text.clone()).or_default();
            *times += 1;
            let item = item(path, number, &comment, *times, commit);
            let word = comment.word.to_owned();
            let became = item.plain.kind.clone().unwrap_or_default();
            *g.words.entry(("kind", word, became)).or_default() += 1;
            g.taken.items.push(item);
        }
    }
    g.finish()
}

/// A comment that says that something is to be done.
#[derive(Debug, PartialEq, Eq)]
struct Comment {
    word: &'static str,
    kind: &'static str,
    who: Option<String>,
    text: String,
}

fn comment(path: &str, line: &str) -> Option<Comment> {
    let (word, kind, at) = WORDS
        .iter()
        .filter_map(|(word, kind)| Some((*word, *kind, line.find(word)?)))
        .min_by_key(|(_, _, at)| *at)?;
    let before = line[..at].trim_end();
    let opener = OPENERS
        .iter()
        .filter(|opener| before.ends_with(**opener))
        .max_by_key(|opener| opener.len())?;
    // A heading of Markdown and a list in it are no comments.
    let is_prose = path.ends_with(".md") || path.ends_with(".markdown");
    if is_prose && *opener != "<!--" {
        return None;
    }
    let code = &before[..before.len() - opener.len()];
    // In a text of code, or in an address.
    if code.ends_with(['"', '\'', '`', ':']) {
        return None;
    }
    // A star begins a comment only where the line begins.
    if *opener == "*" && !code.trim().is_empty() {
        return None;
    }
    let rest = &line[at + word.len()..];
    let (who, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((who, rest)) => (Some(who.trim()), rest),
        None => (None, rest),
    };
    let is_end = |c: char| c == ':' || c.is_whitespace();
    if who.is_none() && !rest.is_empty() && !rest.starts_with(is_end) {
        return None;
    }
    let text = rest.trim_start_matches(|c: char| c == ':' || c == '-' || c.is_whitespace());
    let text = text.trim_end();
    let text = text
        .strip_suffix("*/")
        .or(text.strip_suffix("-->"))
        .unwrap_or(text);
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let is_name = |who: &&str| {
        who.starts_with(|c: char| c.is_alphabetic())
            && who
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    Some(Comment {
        word,
        kind,
        who: who.filter(is_name).map(str::to_owned),
        text: text.trim().to_owned(),
    })
}

fn item(path: &str, line: u32, comment: &Comment, times: usize, commit: Option<&Oid>) -> Item {
    let id = match times {
        1 => format!("{path} {} {}", comment.word, comment.text),
        more => format!("{path} {} {} ({more})", comment.word, comment.text),
    };
    let title = if comment.text.is_empty() {
        format!("{} in {path}", comment.word)
    } else {
        comment.text.clone()
    };
    let is_long = title.chars().count() > LONGEST;
    let place = Place {
        path: path.to_owned(),
        line,
        commit: commit.cloned(),
    };
    let plain = Plain {
        key: Some(id.clone()),
        title: title.chars().take(LONGEST).collect(),
        description: if is_long {
            comment.text.clone()
        } else {
            String::new()
        },
        kind: Some(comment.kind.to_owned()),
        assignee: comment.who.clone(),
        source: Some(Source {
            system: SYSTEM.to_owned(),
            id: short(&id),
        }),
        place: Some(place),
        ..Plain::default()
    };
    Item {
        at: format!("{path}:{line}"),
        plain,
    }
}

#[cfg(test)]
mod tests {
    use super::comment;

    #[test]
    fn only_a_comment_says_that_something_is_to_be_done() {
        for (path, line, text) in [
            ("a.rs", "    // TODO: one", Some("one")),
            ("a.rs", "let x = 1; // TODO(ada): two", Some("two")),
            ("a.c", "/* FIXME three */", Some("three")),
            ("a.py", "x = 1  # TODO four", Some("four")),
            ("a.java", " * TODO - five", Some("five")),
            ("a.md", "<!-- TODO: six -->", Some("six")),
            ("a.rs", "//TODO", Some("")),
            ("a.md", "# TODO", None),
            ("a.md", "* TODO list", None),
            ("a.rs", "let x = \"// TODO: no\";", None),
            ("a.rs", "// TODOLIST", None),
            ("a.rs", "// see https://TODO.example", None),
            ("a.rs", "let TODO = 1;", None),
            ("a.c", "x = a * TODO;", None),
            ("a.rs", "// todo: lower", None),
        ] {
            let found = comment(path, line).map(|comment| comment.text);
            assert_eq!(found.as_deref(), text, "{line}");
        }
        let ada = comment("a.rs", "// FIXME(ada): x").expect("a comment");
        assert_eq!((ada.who.as_deref(), ada.kind), (Some("ada"), "bug"));
        let number = comment("a.rs", "// TODO(#12): x").expect("a comment");
        assert_eq!(number.who, None);
    }
}
