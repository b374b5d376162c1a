//! `task add`.

use super::fields::{FieldArgs, PlaceArgs, task_id};
use crate::cli::Exit;
use crate::cmd::report;
use crate::flow::{Context, task_list};
use crate::ui::Ui;
use loopx_base::failure::Result;
use loopx_rules::task::file::edit::Place;
use serde_json::json;

/// Add a task to the list, and save it
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// What has to be done
    title: String,
    /// Its id (default: the next free TASK-NNN)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    fields: FieldArgs,
}

pub(crate) fn run(args: AddArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let AddArgs {
        title,
        id,
        place,
        fields,
    } = args;
    let id = id.as_deref().map(task_id).transpose()?;
    let place = place.place()?.unwrap_or(Place::End);
    let changes = fields.changes()?;
    let done = task_list::add(ctx, id, &title, &changes, &place, fields.reason)?;
    let said = format!("{} added", done.value);
    report(
        ctx,
        ui,
        "task add",
        &done.put.done,
        &said,
        json!({ "task": done.value }),
    );
    Ok(Exit::Done)
}
