//! `task done`.

use crate::cli::Exit;
use crate::cmd::{SignArgs, report};
use crate::core::failure::Result;
use crate::flow::Context;
use crate::flow::task::{self as flow, DoneRequest};
use crate::ui::Ui;
use serde_json::json;

/// Complete a task: run what proves it, and record that it passed
///
/// Nothing is run where the check has passed on the present code. What fails is recorded, and the task stays as it
/// is: exit code 1. What no command proves, a person completes, with --manual and a reason.
#[derive(Clone, Debug, clap::Args)]
pub struct DoneArgs {
    /// The task (default: the one that is taken here)
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What was done, for the cards of those who come after: at most 500 characters
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// It is done but for this
    #[arg(long, value_name = "TEXT")]
    partial: Option<String>,
    /// Something that whoever comes after has to know
    #[arg(long, value_name = "TEXT")]
    caveat: Vec<String>,
    /// Work that was put off
    #[arg(long, value_name = "TEXT")]
    deferred: Vec<String>,
    /// You looked at it: no command proves it (needs --reason)
    #[arg(long)]
    manual: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Commit the files that the plan names for it, once it has passed
    #[arg(long)]
    commit: bool,
    /// Run its check although somebody else wrote it: you have read it, and are not asked again for these words
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    sign: SignArgs,
}

pub fn run(args: DoneArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = DoneRequest {
        task: args.task,
        summary: args.summary,
        partial: args.partial,
        caveats: args.caveat,
        deferred: args.deferred,
        manual: args.manual,
        reason: args.reason,
        sign: args.sign.wanted(ctx),
        commit: args.commit,
        trust: args.trust,
    };
    // With --json stdout carries one document; what the check prints goes to stderr.
    let done = match ui.is_json() {
        true => flow::done(ctx, &request, std::io::stderr())?,
        false => flow::done(ctx, &request, ui.stream())?,
    };
    let finished = &done.value;
    let how = match (finished.completion.manual, &finished.tree) {
        (true, _) => "by your word".to_owned(),
        (false, Some(tree)) => format!("proven on tree {}", tree.short()),
        (false, None) => "proven".to_owned(),
    };
    let in_part = match finished.completion.partial {
        Some(_) => " in part",
        None => "",
    };
    let said = format!("{} is done{in_part}, {how}", finished.task);
    let committed = &finished.committed;
    if let Some(commit) = committed {
        ui.status(format!("committed its files as {}", commit.short()));
    } else if args.commit {
        ui.status("nothing of its files was left to commit");
    }
    let extra = json!({
        "task": finished.task,
        "status": "completed",
        "completion": finished.completion,
        "has_run": finished.has_run,
        "code_commit": committed,
    });
    report(ctx, ui, "task done", &done, &said, extra);
    Ok(Exit::Done)
}
