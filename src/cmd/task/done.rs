//! `task done`.

use crate::cli::Exit;
use crate::cmd::artifacts::read_text;
use crate::cmd::{SignArgs, report};
use crate::flow::Context;
use crate::flow::task as flow;
use crate::flow::task::{DoneRequest, Finished, Touched};
use crate::ui::{Ui, line};
use loopx_base::failure::Result;
use loopx_rules::task::decide::read_result;
use serde_json::json;

/// Complete a task: run what proves it, and record that it passed
///
/// Nothing is run where the check has passed on the present code. What fails is recorded, and the task stays as it
/// is: exit code 1. If no command proves the task, a person completes it with --manual and a reason.
#[derive(Clone, Debug, clap::Args)]
pub struct DoneArgs {
    /// The task (default: the one that is taken here)
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What was done, for the cards of those who come after: at most 500 characters
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The rest that is left undone: the task is done except for this
    #[arg(long, value_name = "TEXT")]
    partial: Option<String>,
    /// A caveat for those who come after
    #[arg(long, value_name = "TEXT")]
    caveat: Vec<String>,
    /// Work that was put off
    #[arg(long, value_name = "TEXT")]
    deferred: Vec<String>,
    /// Complete the task because you looked at the result: no command proves it (needs --reason)
    #[arg(long)]
    manual: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    /// Read the result from a text with a TASK_COMPLETE block (`-` for stdin); what is typed beside it counts first
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    /// Commit the files that the plan names for the task, once its check has passed
    #[arg(long)]
    commit: bool,
    /// Run a check that somebody else wrote: you have read the check, and are not asked again for the same command
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    sign: SignArgs,
}

pub(crate) fn run(args: DoneArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = args.from.as_deref().map(read_text).transpose()?;
    let said = text.map(|text| read_result(&text));
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
        said,
    };
    // With --json stdout carries one document; what the check prints goes to stderr.
    let done = if ui.is_json() {
        flow::done(ctx, &request, std::io::stderr())?
    } else {
        flow::done(ctx, &request, ui.stream())?
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
    if finished.is_unread {
        ui.warn("the text has no TASK_COMPLETE block, so the task is done in part");
    }
    if let Some(stray) = &finished.stray {
        ui.warn(stray);
    }
    if let Some(touched) = &finished.touched {
        warn(ui, finished, touched);
    }
    let extra = json!({
        "task": finished.task,
        "status": "completed",
        "completion": finished.completion,
        "has_run": finished.has_run,
        "code_commit": committed,
        "files": finished.touched,
        "warning": finished.stray,
        "unread": finished.is_unread,
    });
    report(ctx, ui, "task done", &done, &said, extra);
    Ok(Exit::Done)
}

/// Number of paths that a warning names.
const NAMED: usize = 5;

/// Warns of files that were touched and not planned, and the other way round. Only `--json` has all.
fn warn(ui: &mut Ui, finished: &Finished, touched: &Touched) {
    let names = |paths: &[String]| {
        let mut named: Vec<String> = paths.iter().take(NAMED).map(|path| line(path)).collect();
        if let Some(more) = paths.len().checked_sub(NAMED).filter(|more| *more > 0) {
            named.push(format!("and {more} more"));
        }
        named.join(", ")
    };
    let has_plan = !(touched.declared.is_empty() && touched.untouched.is_empty());
    if has_plan && !touched.undeclared.is_empty() {
        ui.warn(format!(
            "files that changed since {} was taken, but that the plan does not name for the task: {}",
            finished.task,
            names(&touched.undeclared)
        ));
    }
    if !touched.untouched.is_empty() {
        ui.warn(format!(
            "files that the plan names for {}, but that did not change since the task was taken: {}",
            finished.task,
            names(&touched.untouched)
        ));
    }
    for other in touched.overlaps.iter().filter(|other| other.at_once) {
        ui.warn(format!(
            "{} ({}) changes the same files, and neither task waits for the other: {}",
            other.task,
            other.status,
            names(&other.files)
        ));
    }
    if !touched.reads_changed.is_empty() {
        ui.warn(format!(
            "documents that {} asks to read changed since the task was taken: {}",
            finished.task,
            names(&touched.reads_changed)
        ));
    }
}
