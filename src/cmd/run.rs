//! `run`: arguments, and the exit code of what was run.

use super::{SignArgs, report};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::checks;
use crate::flow::evidence;
use crate::flow::evidence::{Ran, RunRequest};
use crate::ui::{Ui, clean, line, style};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde_json::json;
use std::io::Write;

/// Run a command and record it as evidence for the present code
///
/// Without --task and COMMAND, every check of the session that has not passed on the present code is run.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// Run every check that has no pass on the present code
    #[arg(long, conflicts_with_all = ["task", "command"])]
    pub all: bool,
    /// The task that the run is evidence for; without COMMAND, the task's own check is run
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// What kind of check it is: one word, like test, lint, build, regression
    #[arg(long, value_name = "KIND", default_value = "test")]
    pub kind: String,
    /// Run a check that somebody else wrote: you have read the check, and are not asked again for the same command
    #[arg(long, conflicts_with = "command")]
    pub trust: bool,
    #[command(flatten)]
    pub sign: SignArgs,
    /// The command and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

pub(crate) fn run(args: RunArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
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
    if args.all || args.task.is_none() && args.command.is_empty() {
        return all(&args, ctx, ui);
    }
    let request = RunRequest {
        task: args.task,
        what: args.kind,
        argv: args.command,
        sign: args.sign.wanted(ctx),
        trust: args.trust,
    };
    // With --json stdout carries one document; what the command prints goes to stderr.
    let done = if ui.is_json() {
        evidence::run(ctx, &request, std::io::stderr())?
    } else {
        evidence::run(ctx, &request, ui.stream())?
    };
    let ran = &done.value;
    warn(ran, request.task.as_deref(), ui);
    report(
        ctx,
        ui,
        "run",
        &done,
        &said(ran),
        json!({
            "evidence": ran.evidence,
            "not_started": ran.not_started,
            "counts": ran.counts,
            "is_check": ran.is_check,
            "warning": ran.stray,
        }),
    );
    Ok(if ran.evidence.passed() {
        Exit::Done
    } else {
        Exit::Blocked
    })
}

/// The outcome of a run, in words.
fn said(ran: &Ran) -> String {
    let evidence = &ran.evidence;
    let tree = evidence.tree.short();
    match (&ran.not_started, evidence.exit) {
        (Some(why), _) => format!("could not be started: {why}"),
        _ if ran.limit.is_some() => format!(
            "was ended after {} s, its time limit; recorded for tree {tree}",
            ran.limit.unwrap_or_default()
        ),
        (None, Some(0)) => format!("passed in {} ms; recorded for tree {tree}", evidence.millis),
        (None, Some(code)) => format!("failed with exit code {code}; recorded for tree {tree}"),
        (None, None) => format!("was ended by a signal; recorded for tree {tree}"),
    }
}

/// Warns where a run is no evidence for what it may have been meant for.
fn warn(ran: &Ran, task: Option<&str>, ui: &mut Ui) {
    if !ran.evidence.tree_kept {
        let files: Vec<String> = ran.evidence.changed.iter().map(|file| line(file)).collect();
        ui.warn(format!(
            "the command changed the worktree ({}), so this is no evidence for the code as it is now: let git ignore what it writes, or commit it, and run it again",
            files.join(", ")
        ));
    }
    if let Some(task) = task.filter(|_| !ran.is_check) {
        ui.warn(format!(
            "this is not the command that {task} names, so no gate counts the run; the command is: {}",
            ui.command(&command!("run --task {task}"))
        ));
    }
    if let Some(stray) = &ran.stray {
        ui.warn(stray);
    }
    if ran.counts == Some(false) {
        ui.warn(
            "policy counts only runs signed by a role of evidence.by: this run is no evidence for a gate",
        );
    }
}

/// The end of a check's output.
#[derive(Default)]
struct Tail(Vec<u8>);

/// Number of bytes that are shown of what a check that failed printed.
const SHOWN: usize = 4096;

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        let over = self.0.len().saturating_sub(SHOWN);
        self.0.drain(..over);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs what has no pass on the present code, one line for each.
fn all(args: &RunArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let open = checks::open(ctx, args.trust)?;
    let mut last = None;
    let (mut ran, mut failed) = (Vec::new(), 0);
    for check in &open.checks {
        let request = RunRequest {
            task: Some(check.clone()),
            what: args.kind.clone(),
            argv: Vec::new(),
            sign: args.sign.wanted(ctx),
            trust: args.trust,
        };
        let mut tail = Tail::default();
        let done = evidence::run(ctx, &request, &mut tail)?;
        let evidence = &done.value.evidence;
        let how = match (&done.value.not_started, evidence.exit) {
            (Some(why), _) => format!("could not be started: {why}"),
            _ if evidence.limit.is_some() => {
                format!(
                    "was ended after {} s, its time limit",
                    evidence.limit.unwrap_or_default()
                )
            }
            (None, Some(0)) if !evidence.tree_kept => {
                "passed, and changed the worktree: no evidence".to_owned()
            }
            (None, Some(0)) => format!("passed in {} ms", evidence.millis),
            (None, Some(code)) => format!("failed with exit code {code}"),
            (None, None) => "was ended by a signal".to_owned(),
        };
        let is_proof = evidence.proves();
        if !is_proof {
            failed += 1;
            ui.status(clean(&String::from_utf8_lossy(&tail.0)).trim_end());
        }
        let role = if is_proof { style::GOOD } else { style::BAD };
        ui.status(format!(
            "  {}  {}",
            ui.paint(role, &line(check)),
            line(&how)
        ));
        ran.push(json!({ "task": check, "passed": is_proof, "evidence": evidence }));
        last = Some(done);
    }
    let Some(done) = last else {
        return Ok(Exit::Done);
    };
    let said = format!(
        "{} of {} passed, on tree {}",
        open.checks.len() - failed,
        counted(open.checks.len(), "check"),
        done.value.evidence.tree.short()
    );
    let extra = json!({ "ran": ran, "failed": failed, "checks": open.all });
    report(ctx, ui, "run", &done, &said, extra);
    Ok(match failed {
        0 => Exit::Done,
        _ => Exit::Blocked,
    })
}
