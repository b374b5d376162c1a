//! `next`: the command that `status` ends with, alone.

use crate::cli::Exit;
use crate::flow;
use crate::flow::Context;
use crate::flow::next::Asked;
use crate::ui::Ui;
use loopx_base::failure::{Code, Failure, Result};
use loopx_rules::next::{Next, Waits};
use serde_json::json;

pub(crate) fn next(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Asked { id, advised } = flow::next::of(ctx)?;
    let failure = match &advised.next {
        Next::Command(command) => {
            ui.json("next", &json!({ "session": id, "next_action": command }));
            ui.out(ui.command(command));
            return Ok(Exit::Done);
        }
        Next::Nothing => Failure::nothing(
            Code::NothingNext,
            format!("session {id} has ended: nothing is left to do"),
        ),
        Next::Waits(Waits { who, what }) => Failure::waiting(
            Code::NextWaits,
            format!("no command is next: session {id} waits for {who} ({what})"),
        ),
        Next::Write => Failure::waiting(
            Code::NextWaits,
            format!("no command is next for session {id}: you have to do the next step yourself"),
        ),
    };
    Err(if advised.advice.is_empty() {
        failure
    } else {
        failure.help(advised.advice)
    })
}
