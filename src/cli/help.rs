//! The description of the command line with its examples, the calls for help that the parser does not answer itself,
//! and what is said of a command line that cannot be read.

use super::Cli;
use crate::cmd::help;
use crate::cmd::help::Topic;
use crate::ui::{ColorChoice, Options};
use clap::CommandFactory;
use loopx_base::failure::{Code, Failure};
use loopx_base::hint::{Hint, command};
use std::ffi::OsString;

/// The command line as it is described to people: each command ends with its examples.
pub fn described() -> clap::Command {
    let mut cli = Cli::command();
    cli.build();
    with_examples(cli, "")
}

fn with_examples(mut command: clap::Command, path: &str) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|part| part.get_name().to_owned())
        .filter(|name| name != "help")
        .collect();
    for name in names {
        let path = format!("{path} {name}").trim_start().to_owned();
        command = command.mut_subcommand(name, |part| with_examples(part, &path));
    }
    command = command.mut_args(|arg| match arg.get_id().as_str() {
        "help" | "version" => arg.help_heading(super::EVERYWHERE),
        _ => arg,
    });
    if path.is_empty() {
        return command;
    }
    let examples = help::examples_of(path, &help::parts(&command));
    let lines: Vec<String> = examples
        .iter()
        .map(|line| format!("  git loopx {line}"))
        .collect();
    match lines.as_slice() {
        [] => command,
        lines => command.after_help(format!("Examples:\n{}", lines.join("\n"))),
    }
}

/// Topic of `help` that is no command of the parser.
pub(super) enum Asked {
    Page,
    All,
    Codes,
    Topic(Topic),
    /// The help of a command as a document, by its path: `spec apply`.
    Command(String),
}

/// A call for help with no more than options that say how it is printed.
pub(super) fn asked(args: &[OsString]) -> Option<(Asked, Options)> {
    let mut options = Options::default();
    let mut words = Vec::new();
    for arg in args.iter().skip(1) {
        match arg.to_str()? {
            "--json" => options.json = true,
            "-q" | "--quiet" => options.quiet = true,
            "-v" | "--verbose" => options.verbose = true,
            "--color=never" => options.color = ColorChoice::Never,
            "--color=always" => options.color = ColorChoice::Always,
            word => words.push(word),
        }
    }
    let asked = match words.as_slice() {
        ["help" | "-h" | "--help"] => Asked::Page,
        ["help", "-a" | "--all"] => Asked::All,
        ["help", "codes"] => Asked::Codes,
        ["help", word] if help::find(word).is_some() => Asked::Topic(help::find(word)?),
        // As text the parser writes it.
        ["help", path @ ..] if options.json => Asked::Command(known(path)?),
        [path @ .., "-h" | "--help"] if options.json => Asked::Command(known(path)?),
        _ => return None,
    };
    Some((asked, options))
}

/// The path of a command, by its own names and not by others that it has; nothing where there is none.
fn known(path: &[&str]) -> Option<String> {
    let cli = Cli::command();
    let mut at = &cli;
    let mut names = Vec::new();
    for word in path {
        at = at
            .find_subcommand(word)
            .filter(|found| !found.is_hide_set())?;
        names.push(at.get_name().to_owned());
    }
    Some(names.join(" "))
}

/// The help of the command that has a topic's name.
pub(super) fn of_command(name: &str) -> Option<String> {
    let mut cli = described();
    let command = cli.find_subcommand_mut(name)?;
    Some(command.render_help().to_string())
}

/// The command that a command line names, as far as it can be read: `spec apply`.
fn named(args: &[OsString]) -> String {
    let cli = Cli::command();
    let mut at = &cli;
    let mut path = Vec::new();
    let mut skips = false;
    for arg in args.iter().skip(1) {
        let word = arg.to_str().unwrap_or_default();
        if std::mem::take(&mut skips) || word == "help" {
            continue;
        }
        if word.starts_with('-') {
            skips = ["-s", "--session", "--color"].contains(&word);
            continue;
        }
        match at.find_subcommand(word) {
            Some(found) if !found.is_hide_set() => {
                path.push(found.get_name());
                at = found;
            }
            _ => break,
        }
    }
    path.join(" ")
}

/// The help that a wrong command line leads to.
pub(super) fn leads_to(args: &[OsString]) -> Hint {
    match named(args).as_str() {
        "" => command!("help"),
        path => command!("help {path}"),
    }
}

/// Sentences about a command line that the parser refuses.
pub(super) fn usage(error: &clap::Error, args: &[OsString]) -> Failure {
    let path = named(args);
    let said = super::wrong::sentence(error, &path, &below(&path));
    Failure::usage(Code::CommandLineInvalid, said).help(leads_to(args))
}

/// The commands behind a command.
fn below(path: &str) -> Vec<String> {
    let cli = Cli::command();
    let mut words = path.split(' ').filter(|word| !word.is_empty());
    let found = words.try_fold(&cli, |at, word| at.find_subcommand(word));
    let shown = found.into_iter().flat_map(clap::Command::get_subcommands);
    let shown = shown.filter(|one| !one.is_hide_set());
    shown.map(|one| one.get_name().to_owned()).collect()
}
