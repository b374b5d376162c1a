//! The short way to read a command line: against the description of the one command that it names.
//!
//! The description of all commands costs more than most of them do: 1 MB on the heap, and half of the time of a start.
//! The whole parser reads each such line the same. Every other line, and each mistake, is left to it: it alone knows
//! help, suggestions and the aliases of a person.

use super::{Cli, Command, Global};
use clap::{Args, FromArgMatches, Subcommand};
use std::ffi::OsString;

/// A command that is typed without words of its own.
#[derive(Args)]
struct NoWords {}

/// The call, where its first word is a command that is read the short way and the rest fits it.
///
/// `export` is none: its own word has the name of an option that every command takes.
pub(super) fn call(args: &[OsString]) -> Option<Cli> {
    use Command as C;
    match args.get(1)?.to_str()? {
        "init" => of(args, |NoWords {}| C::Init),
        "start" | "new" => of(args, C::Start),
        "use" => of(args, C::Use),
        "rebase" => of(args, C::Rebase),
        "list" | "ls" => of(args, C::List),
        "history" => of(args, C::History),
        "status" | "st" => of(args, C::Status),
        "next" => of(args, C::Next),
        "show" => of(args, C::Show),
        "log" => of(args, C::Log),
        "diff" => of(args, C::Diff),
        "note" => of(args, C::Note),
        "finish" => of(args, C::Finish),
        "reopen" => of(args, C::Reopen),
        "profile" => of(args, C::Profile),
        "undo" => of(args, C::Undo),
        "redo" => of(args, C::Redo),
        "redact" => of(args, C::Redact),
        "abandon" => of(args, C::Abandon),
        "edit" => of(args, C::Edit),
        "put" => of(args, C::Put),
        "cat" => of(args, C::Cat),
        "checkout" => of(args, C::Checkout),
        "save" => of(args, C::Save),
        "clarify" => of(args, C::Clarify),
        "approve" => of(args, C::Approve),
        "plan" => of(args, C::Plan),
        "build" => of(args, C::Build),
        "run" => of(args, C::Run),
        "take" => of(args, C::Take),
        "amend" => of(args, C::Amend),
        "task" => part_of(args, C::Task),
        "issue" => part_of(args, C::Issue),
        "roadmap" => part_of(args, C::Roadmap),
        "pipeline" => part_of(args, C::Pipeline),
        "point" => part_of(args, C::Point),
        "review" => of(args, C::Review),
        "archive" => of(args, C::Archive),
        "sync" => of(args, C::Sync),
        "resolve" => of(args, C::Resolve),
        "fsck" => of(args, C::Fsck),
        "doctor" => of(args, C::Doctor),
        "clean" => of(args, C::Clean),
        "spec" => part_of(args, C::Spec),
        "import" => of(args, C::Import),
        "change" => part_of(args, C::Change),
        "adr" => part_of(args, C::Adr),
        "rule" => part_of(args, C::Rule),
        "setup" => part_of(args, C::Setup),
        "hooks" => part_of(args, C::Hooks),
        "agent" => part_of(args, C::Agent),
        "signers" => part_of(args, C::Signers),
        "verify" => of(args, C::Verify),
        "config" => part_of(args, C::Config),
        _ => None,
    }
}

/// A command with words of its own.
fn of<T: Args>(args: &[OsString], command: fn(T) -> Command) -> Option<Cli> {
    read(args, T::augment_args, command)
}

/// A command with commands below it.
fn part_of<T: Subcommand>(args: &[OsString], command: fn(T) -> Command) -> Option<Cli> {
    let required = |described| T::augment_subcommands(described).subcommand_required(true);
    read(args, required, command)
}

/// Answer to `--version` alone, as the whole parser gives it.
pub(super) fn version(args: &[OsString]) -> Option<clap::Error> {
    let [_, word] = args else { return None };
    if word != "--version" && word != "-V" {
        return None;
    }
    let described = clap::Command::new("git-loopx").version(env!("CARGO_PKG_VERSION"));
    described.try_get_matches_from(args).err()
}

fn read<T: FromArgMatches>(
    args: &[OsString],
    describe: impl FnOnce(clap::Command) -> clap::Command,
    command: fn(T) -> Command,
) -> Option<Cli> {
    let described = describe(Global::augment_args(clap::Command::new("git loopx")));
    let matches = described.try_get_matches_from(&args[1..]).ok()?;
    let global = Global::from_arg_matches(&matches).ok()?;
    let command = command(T::from_arg_matches(&matches).ok()?);
    Some(Cli { global, command })
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::{call, version};
    use clap::Parser;
    use std::ffi::OsString;

    /// Reads a line both ways, where the short way reads it at all.
    fn agrees(args: &[OsString]) -> bool {
        let Some(short) = call(args) else {
            return false;
        };
        let whole = Cli::try_parse_from(args);
        let whole = whole.unwrap_or_else(|error| panic!("{args:?}: {error}"));
        assert_eq!(format!("{short:?}"), format!("{whole:?}"), "{args:?}");
        true
    }

    #[test]
    fn what_the_short_way_reads_the_whole_parser_reads_so_too() {
        let commands = [
            "status",
            "st",
            "list",
            "ls",
            "log",
            "save",
            "show",
            "next",
            "init",
            "start",
            "run",
            "take",
            "task list",
            "issue",
            "issue list",
            "note",
            "plan",
            "build",
            "--json",
        ];
        let words = [
            "",
            "--json",
            "-q -s one",
            "--session=one --color never",
            "-sone --json --quiet",
            "-q -q",
            "-s",
            "--color blue",
            "one",
            "one two --json",
            "--all",
            "--reason why",
            "--help",
            "-h",
            "--version",
            "-- ",
            "-- --json",
            "--json -- --json",
            "-vq one",
        ];
        let mut read = 0;
        for command in commands {
            for words in words {
                let line = format!("git-loopx {command} {words}");
                let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
                read += usize::from(agrees(&args));
            }
        }
        assert!(read > 100, "{read}");
    }

    #[test]
    fn the_version_is_said_the_same_both_ways() {
        for word in ["--version", "-V"] {
            let args = [OsString::from("git-loopx"), OsString::from(word)];
            let whole = Cli::try_parse_from(&args)
                .map(|_| ())
                .map_err(|e| e.to_string());
            let short = version(&args).map(|e| e.to_string());
            assert_eq!(short, whole.err(), "{word}");
            assert!(version(&[args[0].clone(), args[1].clone(), OsString::from("x")]).is_none());
        }
    }

    #[test]
    fn each_example_of_the_help_reads_the_same_both_ways() {
        let mut read = 0;
        for line in include_str!("../cmd/help/examples.txt").lines() {
            let Some(words) = shlex::split(line) else {
                continue;
            };
            let args = ["git-loopx".to_owned()].into_iter().chain(words);
            let args: Vec<OsString> = args.map(OsString::from).collect();
            if Cli::try_parse_from(&args).is_ok() {
                read += usize::from(agrees(&args));
            }
        }
        assert!(read > 100, "{read}");
    }
}
