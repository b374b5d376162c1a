//! `task import`.

use crate::cli::Exit;
use crate::cmd::artifacts::read_text;
use crate::cmd::report;
use crate::flow::{Context, task_list};
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_rules::task::import::{Format, Remark};
use serde_json::json;

/// Take the tasks of another list in behind those that are there: whole, or not at all
///
/// tasks.jsonl, slices.json, plan.json with its folder .task, OpenSpec's and spec-kit's tasks.md, and Task Master's
/// tasks.json. What has no counterpart is listed. Nothing counts as done because another tool says so, and no sentence
/// becomes a command.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The file, `-` for stdin
    file: String,
    /// jsonl, slices, plan, openspec, spec-kit or task-master (default: as the file looks)
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Show the lines and what has no counterpart; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: ImportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = read_text(&args.file)?;
    let found = task_list::look(ctx, &args.file, text, args.format)?;
    if args.dry_run {
        task_list::require_fitting(ctx, &found)?;
        for one in &found.lines {
            ui.out(line(one));
        }
        say(&found.remarks, ui);
        let body = json!({ "format": found.format, "lines": found.lines, "remarks": found.remarks, "dry_run": true });
        ui.json("task import", &body);
        return Ok(Exit::Done);
    }
    let done = task_list::take_in(ctx, &found, args.reason)?;
    say(&found.remarks, ui);
    let kept = done.value.plan.as_ref();
    let kept = kept.map(|plan| format!("; what the plan says besides is in {plan}"));
    let said = format!(
        "{} taken in from {}{}",
        counted(done.value.tasks, "task"),
        found.format,
        kept.unwrap_or_default()
    );
    report(
        ctx,
        ui,
        "task import",
        &done.put.done,
        &said,
        json!(done.value),
    );
    Ok(Exit::Done)
}

fn say(remarks: &[Remark], ui: &mut Ui) {
    for Remark { task, message } in remarks {
        match task.as_str() {
            "" => ui.warn(line(message)),
            task => ui.warn(line(&format!("{task}: {message}"))),
        }
    }
}
