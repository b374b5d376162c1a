//! `task fail`, `task release`, `task retry`, `task skip`.

use crate::cli::Exit;
use crate::cmd::report;
use crate::flow::task as flow;
use crate::flow::task::Moved;
use crate::flow::{Context, Done};
use crate::ui::Ui;
use loopx_base::failure::Result;
use loopx_rules::task::status::Step;
use serde_json::json;

/// A task that is taken here.
#[derive(Clone, Debug, clap::Args)]
pub struct OwnArgs {
    /// The task (default: the one that is taken here)
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

/// Any task.
#[derive(Clone, Debug, clap::Args)]
pub struct NamedArgs {
    /// The task
    #[arg(value_name = "TASK")]
    task: String,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn own(args: OwnArgs, step: Step, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let task = args.task.as_deref();
    let done = match step {
        Step::Fail => flow::fail(ctx, task, args.reason)?,
        _ => flow::release(ctx, task, args.reason)?,
    };
    Ok(moved(ctx, ui, step, &done))
}

pub(crate) fn named(args: NamedArgs, step: Step, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = match step {
        Step::Skip => flow::skip(ctx, &args.task, args.reason)?,
        _ => flow::retry(ctx, &args.task, args.reason.as_deref())?,
    };
    Ok(moved(ctx, ui, step, &done))
}

fn moved(ctx: &Context, ui: &mut Ui, step: Step, done: &Done<Moved>) -> Exit {
    let moved = &done.value;
    let said = match step {
        Step::Fail => format!(
            "{} failed, {} of {} times",
            moved.task, moved.failures, moved.cap
        ),
        _ => format!("{} is {}", moved.task, moved.status),
    };
    let extra = json!({
        "task": moved.task,
        "status": moved.status,
        "failures": moved.failures,
        "cap": moved.cap,
    });
    report(ctx, ui, &format!("task {step}"), done, &said, extra);
    Exit::Done
}
