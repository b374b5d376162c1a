//! Commands that the program suggests, as the sources make them: each is read by the parser of the
//! command line (finding A3, design 9).

use crate::support::shell::words;
use crate::support::sources;
use clap::{CommandFactory, Parser, error::ErrorKind};
use git_loopx::testing::Cli;
use loopx_base::hint::Verb;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Words that may stand where a template has a place. The empty one stands for words that may be left out.
const VALUES: [&str; 13] = [
    "",
    "spec.md",
    "1",
    "plan",
    "execution",
    "complete",
    "claude",
    "amends",
    "--continue",
    "accepted",
    "refs",
    "proceed",
    "path=a@main",
];

fn sources() -> Vec<(PathBuf, String)> {
    let files = sources::program().into_iter();
    let files = files.filter(|path| !path.ends_with("tests.rs"));
    let code_of = |path: PathBuf| {
        let text = sources::text(&path);
        let code = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        let lines = code.lines();
        let code: Vec<&str> = lines
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        (path, code.join("\n"))
    };
    files.map(code_of).collect()
}

/// The string literal that `text` begins with, unescaped.
fn literal(text: &str) -> Option<String> {
    let mut chars = text.trim_start().strip_prefix('"')?.chars();
    let mut out = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(out),
            '\\' => match chars.next()? {
                '\n' => chars = chars.as_str().trim_start().chars(),
                'n' => out.push('\n'),
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
}

/// `template` with each place filled by a value, in every way.
fn filled(template: &str) -> Vec<String> {
    let Some((before, rest)) = template.split_once('{') else {
        return vec![template.to_owned()];
    };
    let Some((_, after)) = rest.split_once('}') else {
        return vec![template.to_owned()];
    };
    let tails = filled(after);
    let with = |value: &str| -> Vec<String> {
        let begun = format!("{before}{value}");
        tails.iter().map(|tail| format!("{begun}{tail}")).collect()
    };
    VALUES.into_iter().flat_map(with).collect()
}

fn parses_or(command: &str, passes: ErrorKind) -> bool {
    let args = ["git-loopx".to_owned()].into_iter().chain(words(command));
    match Cli::try_parse_from(args) {
        Ok(_) => true,
        Err(error) => error.kind() == passes,
    }
}

fn parses(command: &str) -> bool {
    parses_or(command, ErrorKind::DisplayHelp)
}

/// Prose names a command without what it needs, too.
fn is_named(command: &str) -> bool {
    let command = command.replace("STAGE", "plan");
    parses_or(&command, ErrorKind::MissingRequiredArgument)
}

#[test]
fn every_command_that_a_hint_can_make_is_one_that_the_parser_takes() {
    let mut seen = 0;
    let mut wrong = BTreeSet::new();
    for (path, code) in sources() {
        if path.ends_with("base/src/hint.rs") {
            continue;
        }
        for (_, rest) in code
            .match_indices("command!(")
            .map(|(at, found)| code.split_at(at + found.len()))
        {
            let template = literal(rest)
                .unwrap_or_else(|| panic!("{}: no template: {rest:.60}", path.display()));
            seen += 1;
            if !filled(&template).iter().any(|command| parses(command)) {
                wrong.insert(format!("{}: {template}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 300, "only {seen} templates were found");
}

#[test]
fn a_command_in_prose_is_one_that_the_parser_takes() {
    let mut wrong = BTreeSet::new();
    for (path, code) in sources() {
        for (at, begin) in code.match_indices("`git loopx ") {
            let rest = &code[at + begin.len()..];
            let command = rest.split('`').next().unwrap_or_default();
            if !filled(command).iter().any(|command| is_named(command)) {
                wrong.insert(format!("{}: {command}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_hint_has_its_commands_from_templates() {
    for (path, code) in sources() {
        if path.ends_with("base/src/hint.rs") {
            continue;
        }
        let place = path.display();
        assert!(!code.contains("of_template"), "{place}");
        let flat = code.split_whitespace().collect::<Vec<_>>().join(" ");
        for door in [".help(", ".hint(", ".note(", "Hint::from("] {
            for (at, _) in flat.match_indices(door) {
                let rest = flat[at + door.len()..].trim_start();
                let rest = rest.strip_prefix("format!(").unwrap_or(rest);
                if let Some(text) = literal(rest) {
                    assert!(!text.contains("git loopx "), "{place}: {text}");
                }
            }
        }
    }
}

#[test]
fn every_verb_is_a_command_and_every_command_a_verb() {
    let mut cli = Cli::command();
    cli.build();
    let commands: BTreeSet<&str> = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    let words = Verb::ALL.iter().map(|verb| verb.word());
    let verbs: BTreeSet<&str> = words.clone().filter(|word| !word.contains(' ')).collect();
    assert_eq!(verbs, commands);
    for word in words {
        let mut at = &cli;
        for part in word.split(' ') {
            at = at.find_subcommand(part).expect(word);
            assert!(!at.is_hide_set(), "{word}");
        }
    }
}

#[test]
fn every_place_of_a_command_is_a_word_of_the_list_of_places() {
    let mut missing = BTreeSet::new();
    for (path, text) in sources() {
        for template in text.split("command!(").skip(1).filter_map(literal) {
            let is_place =
                |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
            let words = template.split([' ', '\'', '=', '|', ',']);
            let unknown = words.filter(is_place).filter(|word| {
                !loopx_base::hint::PLACES.contains(word) && !["HEAD", "AND", "WAS"].contains(word)
            });
            missing.extend(unknown.map(|word| format!("{}: {word}", path.display())));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
