//! The command line: what can be typed, and the one place that turns an outcome into an exit code.

use crate::core::failure::Result;
use crate::ui::{ColorChoice, Options, Ui};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done: 0.
    Done,
    /// Recorded, but what was judged does not pass: 1.
    Blocked,
    /// What a hook of somebody else that we ran first said: its own code.
    Code(u8),
}

/// Keep a change's workflow inside the repository that it changes
#[derive(Debug, Parser)]
#[command(
    name = "git-loopx",
    bin_name = "git loopx",
    version,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but what was asked for
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The session; else LOOPX_SESSION, the one bound to this branch, or the only active one
    #[arg(short, long, global = true, value_name = "ID")]
    pub session: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read, merge and apply specs (plumbing: needs no session and no repository)
    #[command(subcommand)]
    Spec(crate::cmd::spec::SpecCommand),
    /// Install, remove and check the git hooks of this repository
    #[command(subcommand)]
    Hooks(crate::cmd::hooks::HooksCommand),
    /// Answer a git hook (called by git)
    #[command(hide = true)]
    Hook(crate::cmd::hook::HookArgs),
}

/// Parses, runs and gives the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            // clap writes help to stdout and errors to stderr; a closed pipe is no error.
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    let mut ui = Ui::new(Options {
        json: cli.global.json,
        quiet: cli.global.quiet,
        color: cli.global.color,
    });
    match run(cli, &mut ui) {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Blocked) => ExitCode::from(1),
        Ok(Exit::Code(code)) => ExitCode::from(code),
        Err(failure) => {
            ui.failure(&failure);
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

fn run(cli: Cli, ui: &mut Ui) -> Result<Exit> {
    let Cli { global: _, command } = cli;
    match command {
        Command::Spec(command) => crate::cmd::spec::run(command, ui),
        Command::Hooks(command) => crate::cmd::hooks::run(command, ui),
        Command::Hook(args) => crate::cmd::hook::run(args, ui),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
