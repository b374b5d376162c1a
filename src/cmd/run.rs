//! `run`: arguments, and the exit code of what was run.

use super::{SignArgs, report};
use crate::cli::Exit;
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::command;
use crate::flow::Context;
use crate::flow::evidence::{self, RunRequest};
use crate::ui::{Ui, line};
use serde_json::json;

/// Run a command and record it as evidence for the present code
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The slice that this verifies; without a command its own verification is run
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// What kind of check it is: one word, like test, lint, build, regression
    #[arg(long, value_name = "KIND", default_value = "test")]
    pub kind: String,
    #[command(flatten)]
    pub sign: SignArgs,
    /// The command and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

pub fn run(args: RunArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let one_word = !args.kind.is_empty()
        && args
            .kind
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !one_word {
        return Err(Failure::usage(
            Code::KindInvalid,
            format!("expected one word for --kind, found `{}`", args.kind),
        ));
    }
    let request = RunRequest {
        task: args.task,
        what: args.kind,
        argv: args.command,
        sign: args.sign.wanted(ctx),
    };
    // With --json stdout carries one document; what the command prints goes to stderr.
    let done = if ui.is_json() {
        evidence::run(ctx, &request, std::io::stderr())?
    } else {
        evidence::run(ctx, &request, ui.stream())?
    };
    let ran = &done.value;
    let said = match (&ran.not_started, ran.evidence.exit) {
        (Some(why), _) => format!("could not be started: {why}"),
        (None, Some(0)) => format!(
            "passed in {} ms; recorded for tree {}",
            ran.evidence.millis,
            ran.evidence.tree.short()
        ),
        (None, Some(code)) => format!(
            "failed with exit code {code}; recorded for tree {}",
            ran.evidence.tree.short()
        ),
        (None, None) => format!(
            "was ended by a signal; recorded for tree {}",
            ran.evidence.tree.short()
        ),
    };
    if !ran.evidence.tree_kept {
        let files: Vec<String> = ran.evidence.changed.iter().map(|file| line(file)).collect();
        ui.warn(format!(
            "the command changed the worktree ({}), so this is no evidence for the code as it is now: let git ignore what it writes, or commit it, and run it again",
            files.join(", ")
        ));
    }
    if let Some(task) = request.task.as_ref().filter(|_| !ran.is_check) {
        ui.warn(format!(
            "this is not what {task} says is run for it, so no gate counts it; that is: {}",
            ui.command(&command!("run --task {task}"))
        ));
    }
    if ran.counts == Some(false) {
        ui.warn(
            "policy counts only runs that a role of evidence.by signed: this one is no evidence for a gate",
        );
    }
    report(
        ctx,
        ui,
        "run",
        &done,
        &said,
        json!({
            "evidence": ran.evidence,
            "not_started": ran.not_started,
            "counts": ran.counts,
            "is_check": ran.is_check,
        }),
    );
    Ok(if ran.evidence.passed() {
        Exit::Done
    } else {
        Exit::Blocked
    })
}
