//! The rules of the workflow, as pure functions over typed values.
//!
//! Nothing here may name git2, clap, files, processes, the environment or the clock: whoever calls
//! brings the facts.

pub mod account;
pub mod adr;
pub mod age;
pub mod agent;
pub mod agent_identity;
pub mod artifact;
pub mod brief;
pub mod catalogue;
mod causality;
pub mod changelog;
pub mod checks;
mod clash;
pub mod code;
pub mod commit_object;
pub mod commit_policy;
pub mod coverage;
pub mod depends;
pub mod event;
pub mod failure;
pub mod finding;
pub mod findings;
pub mod front;
pub mod gate;
pub mod globs;
pub mod headings;
pub mod hint;
pub mod hooks;
pub mod id;
pub mod intent;
pub mod issue;
pub mod join;
pub mod json_text;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod laws_of_clones;
pub mod lease;
pub mod manifest;
pub mod markdown;
pub mod moved;
pub mod next;
pub mod note;
pub mod op;
pub mod openspec;
pub mod outline;
pub mod pack;
pub mod peer;
pub mod pipeline;
pub mod policy;
pub mod prefix;
pub mod profile;
pub mod proposal;
pub mod range_policy;
pub mod rebase;
pub mod record;
pub mod redaction;
pub mod refusal;
pub mod replay;
pub mod revert;
pub mod review;
pub mod role;
pub mod rule;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod setup;
pub mod sharing;
pub mod shelf;
pub mod signature;
pub mod signers;
pub mod skill;
pub mod spec;
pub mod stage;
pub mod stop;
mod tagged;
pub mod task;
pub mod template;
pub mod texts;
pub mod topic;
pub mod trailers;
pub mod tree_change;
pub mod tree_name;
pub mod tree_paths;
pub mod trust;
pub mod unfinished;
mod vocabulary;
mod word_lists;
pub mod words;
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
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The candidate that looks most like `word`, if one is close enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    similar::get_close_matches(word, &candidates, 1, 0.6)
        .first()
        .copied()
}
