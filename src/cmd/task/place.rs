//! `task move`.

use super::fields::{PlaceArgs, task_id};
use crate::cli::Exit;
use crate::cmd::report;
use crate::flow::{Context, task_list};
use crate::ui::Ui;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde_json::json;

/// Put a task into another place of the list, and save it
#[derive(Debug, clap::Args)]
pub struct MoveArgs {
    /// The task
    task: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: MoveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let id = task_id(&args.task)?;
    let place = args.place.place()?.ok_or_else(|| {
        Failure::usage(
            Code::InputMissing,
            "expected the place: --before ID, --after ID, --first or --last",
        )
        .help(command!("task move {id} --first"))
    })?;
    let done = task_list::relocate(ctx, &id, &place, args.reason)?;
    let said = format!("{} moved", done.value);
    report(
        ctx,
        ui,
        "task move",
        &done.put.done,
        &said,
        json!({ "task": done.value }),
    );
    Ok(Exit::Done)
}
