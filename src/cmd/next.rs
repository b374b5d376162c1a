//! `next`: the command that `status` ends with, alone.

use crate::cli::Exit;
use crate::core::failure::{Code, Failure, Result};
use crate::flow::{Context, view};
use crate::ui::Ui;
use serde_json::json;

pub fn next(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let status = view::status(ctx)?;
    let id = &status.session;
    if status.ending.is_some() {
        return Err(Failure::nothing(
            Code::NothingNext,
            format!("session {id} has ended: nothing is left to do"),
        ));
    }
    let Some(command) = status.next_action.leading_command() else {
        return Err(Failure::waiting(
            Code::NextWaits,
            format!("session {id} waits for somebody, and no command is next"),
        )
        .help(status.next_action));
    };
    ui.json("next", &json!({ "session": id, "next_action": command }));
    ui.out(ui.command(&command));
    Ok(Exit::Done)
}
