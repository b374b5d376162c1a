//! `next`: the command that `status` ends with, alone.

use crate::cli::Exit;
use crate::core::failure::{Code, Failure, Result};
use crate::core::next::Next;
use crate::flow::{Context, next as flow};
use crate::ui::Ui;
use serde_json::json;

pub fn next(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (id, advised) = flow::of(ctx)?;
    let advice = advised.advice.clone();
    let command = match advised.next {
        Next::Command(command) => command,
        Next::Waits(waits) => {
            return Err(Failure::waiting(
                Code::NextWaits,
                format!("session {id} waits for {}: {}", waits.who, waits.what),
            ));
        }
        Next::Write => {
            return Err(Failure::waiting(
                Code::NextWaits,
                format!("session {id}: no command is next; {advice}"),
            ));
        }
        Next::Nothing => {
            return Err(Failure::nothing(
                Code::NothingNext,
                format!("session {id} has ended: nothing is left to do"),
            ));
        }
    };
    ui.json(
        "next",
        &json!({ "session": id, "next_action": command, "advice": advice }),
    );
    ui.out(ui.command(&command));
    Ok(Exit::Done)
}
