//! `git config loopx.alias.NAME "WORDS"`: names of one's own for a command with its arguments, as git has them. No
//! shell reads them. The parser's own words come first, so that an alias never hides a command.

use super::Cli;
use crate::flow::config::alias;
use clap::CommandFactory;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::nearest;
use std::ffi::OsString;

/// The command line with its alias replaced, until a command stands there. `None`: it begins with no alias.
pub(super) fn expand(args: &[OsString]) -> Result<Option<Vec<OsString>>> {
    let Some(at) = first_word(args) else {
        return Ok(None);
    };
    let known = known();
    let mut args = args.to_vec();
    let mut seen: Vec<String> = Vec::new();
    loop {
        let word = args.get(at).and_then(|word| word.to_str()).unwrap_or("");
        let word = word.to_owned();
        if known.contains(&word) || word.starts_with('-') {
            return Ok(Some(args));
        }
        let Some(text) = alias(&word) else {
            return match seen.last() {
                None => Ok(None),
                Some(name) => Err(unknown(name, &word, &known)),
            };
        };
        seen.push(word.clone());
        if seen.iter().filter(|one| **one == word).count() > 1 {
            return Err(circle(&seen));
        }
        let words = split(&word, &text)?;
        args.splice(at..=at, words.into_iter().map(OsString::from));
    }
}

/// A command line that is still being typed, with its alias replaced: the last word is no alias yet.
pub(super) fn expand_begun(words: Vec<String>) -> Vec<String> {
    let Some((last, before)) = words.split_last() else {
        return words;
    };
    let program = OsString::from("git-loopx");
    let args: Vec<OsString> = std::iter::once(program)
        .chain(before.iter().map(OsString::from))
        .collect();
    let Ok(Some(expanded)) = expand(&args) else {
        return words;
    };
    let expanded = expanded.into_iter().skip(1);
    let expanded = expanded.map(|word| word.to_string_lossy().into_owned());
    expanded.chain([last.clone()]).collect()
}

/// Position of the first word that is no option and no value of one.
fn first_word(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += match args.get(at)?.to_str()? {
            "-s" | "--session" | "--color" => 2,
            word if word.starts_with('-') => 1,
            _ => return Some(at),
        };
    }
}

/// Every word that the parser reads as a command.
fn known() -> Vec<String> {
    let cli = Cli::command();
    let mut known = vec!["help".to_owned()];
    for one in cli.get_subcommands() {
        known.push(one.get_name().to_owned());
        known.extend(one.get_all_aliases().map(str::to_owned));
    }
    known
}

fn split(name: &str, text: &str) -> Result<Vec<String>> {
    let invalid = |why: &str| {
        Failure::usage(
            Code::AliasInvalid,
            format!("git config loopx.alias.{name}: {why}, found `{text}`"),
        )
        .help(format!("git config loopx.alias.{name} \"log --oneline\""))
    };
    if text.trim_start().starts_with('!') {
        return Err(invalid("expected a command of git loopx, and no shell's"));
    }
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err(invalid("expected a command")),
        None => Err(invalid("expected each quote to be closed")),
    }
}

fn unknown(name: &str, word: &str, known: &[String]) -> Failure {
    let failure = Failure::usage(
        Code::AliasInvalid,
        format!("git config loopx.alias.{name} begins with `{word}`, which is no command"),
    );
    match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => failure.help(hint![
            format!("did you mean `{near}`? `"),
            command!("help"),
            "` shows all"
        ]),
        None => failure.help(command!("help")),
    }
}

fn circle(seen: &[String]) -> Failure {
    Failure::usage(
        Code::AliasInvalid,
        format!("these aliases lead in a circle: {}", seen.join(" -> ")),
    )
    .help(format!("git config --unset loopx.alias.{}", seen[0]))
}
