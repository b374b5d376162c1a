//! The values that every layer of `git loopx` shares: failures with their codes and hints, names that are parsed once,
//! findings about documents, plain pictures of trees and working trees, and the two doors to the surroundings that all
//! need (environment variables and fail points).
//!
//! This crate knows no session, no stage and no git library; what it holds is made elsewhere and judged elsewhere.

pub mod age;
pub mod alignment;
pub mod code;
pub mod commit_object;
pub mod env;
pub mod failpoint;
pub mod failure;
pub mod fanout;
pub mod findings;
pub mod globs;
pub mod hint;
pub mod id;
pub mod json_text;
pub mod prefix;
pub mod redaction;
pub mod secrets;
pub mod sharing;
pub mod trailers;
pub mod tree_change;
pub mod tree_name;
pub mod tree_paths;
pub mod unfinished;
pub mod vocabulary;
pub mod working_tree;

use std::fmt::Display;

/// `text` with every control character but newline and tab made visible (`^[`), so that a name or an
/// artifact cannot drive the reader's terminal.
pub fn clean(text: &str) -> String {
    // Most texts have nothing else.
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_ascii_control() => {
                out.push('^');
                out.push(char::from((c as u8) ^ 0x40));
            }
            // C1 controls, the bidirectional marks that make text read as what it is not, and what nobody sees.
            c if is_hidden(c) => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

/// Tells whether a character changes how others are read, or takes no place. Joiners do not count: words of some
/// languages need them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Words in a row: where there are many, the first ten and how many more there are.
pub fn first_words(words: &[String]) -> String {
    const FIRST: usize = 10;
    match words.len().saturating_sub(FIRST) {
        0 | 1 => words.join(", "),
        more => format!("{} and {more} more", words[..FIRST].join(", ")),
    }
}

/// Count with its noun, whose plural ends in `s`: `1 spec`, `2 specs`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{ending}")
}

/// A word as a person types it in a POSIX shell: quoted where the shell would read it otherwise.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A name between quotes as git prints one that holds other bytes than plain text (core.quotePath, git-config(1)).
pub fn quoted_name(name: &[u8]) -> String {
    let shown = |byte: &u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        other => format!("\\{other:03o}"),
    };
    let shown: String = name.iter().map(shown).collect();
    format!("\"{shown}\"")
}

/// A path below the top of a worktree, as git shows it to somebody in the folder `below` that top: relative to it.
pub fn path_from(below: &str, path: &str) -> String {
    let mut ups = below.split('/').filter(|part| !part.is_empty()).peekable();
    let mut downs = path.split('/').peekable();
    while let (Some(up), Some(down)) = (ups.peek(), downs.peek()) {
        if up != down {
            break;
        }
        ups.next();
        downs.next();
    }
    let back = ups.map(|_| "..");
    let parts: Vec<&str> = back.chain(downs).collect();
    match parts.as_slice() {
        [] => ".".to_owned(),
        [".."] => "../".to_owned(),
        parts => parts.join("/"),
    }
}

/// A reason, where it says something: blanks are none.
pub fn said(reason: Option<String>) -> Option<String> {
    reason.filter(|why| says_something(why))
}

/// Tells whether a reader of a text sees anything: blanks, control characters and characters without a shape say
/// nothing.
pub fn says_something(text: &str) -> bool {
    let is_unseen = |c: char| {
        matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{e0000}'..='\u{e0fff}'
        )
    };
    let mut escaped = text.split('\u{1b}');
    let plain = escaped.next().into_iter();
    // Of an escape that sets colours only what follows it can be seen.
    let behind = escaped.map(|part| match part.strip_prefix('[') {
        Some(rest) => rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .get(1..),
        None => Some(part),
    });
    let mut seen = plain.chain(behind.flatten()).flat_map(str::chars);
    seen.any(|c| !c.is_whitespace() && !c.is_control() && !is_unseen(c))
}

/// The candidate that looks most like `word`, if one is close enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    similar::get_close_matches(word, &candidates, 1, 0.6)
        .first()
        .copied()
}

#[cfg(test)]
mod tests {
    use super::{path_from, says_something};

    #[test]
    fn a_path_is_shown_from_the_folder_that_somebody_is_in() {
        for (below, path, shown) in [
            ("", ".loopx/demo", ".loopx/demo"),
            ("src", ".loopx/demo", "../.loopx/demo"),
            ("src/deep", "src/a.rs", "../a.rs"),
            ("src/deep", "src/deep/a/b.rs", "a/b.rs"),
            ("src/de", "src/deep/a.rs", "../deep/a.rs"),
            ("src/deep", "src/deep", "."),
            ("src/deep", "src", "../"),
            ("src", "new/", "../new/"),
        ] {
            assert_eq!(path_from(below, path), shown, "{path} from {below}");
        }
    }

    #[test]
    fn what_nobody_sees_says_nothing() {
        for nothing in [
            "",
            " \n\t",
            "\u{200b}",
            "\u{2060}\u{feff}",
            "\u{1b}[31m",
            "\u{1b}[0;1m \u{202e}",
            "\u{3164}",
        ] {
            assert!(!says_something(nothing), "{nothing:?}");
        }
        for something in [
            "x",
            "\u{200b}x",
            "\u{1b}[31mred",
            "\u{7406}",
            "-",
            "\u{1f600}",
        ] {
            assert!(says_something(something), "{something:?}");
        }
    }
}
