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

/// So many of something whose plural ends in `s`: `1 spec`, `2 specs`.
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

/// The candidate that looks most like `word`, if one is close enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    similar::get_close_matches(word, &candidates, 1, 0.6)
        .first()
        .copied()
}
