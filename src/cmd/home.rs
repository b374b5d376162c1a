//! `git loopx` alone: where am I. The session that `status` shows where whoever asks is in it, else the sessions and what
//! `next` says, else how to begin.

use crate::cli::Exit;
use crate::flow;
use crate::flow::Context;
use crate::ui::{Ui, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::next::Advised;
use serde_json::json;

pub(crate) fn home(ctx: Result<Context>, ui: &mut Ui) -> Result<Exit> {
    let ctx = match ctx {
        Ok(ctx) => ctx,
        Err(failure) if failure.code == Code::RepositoryMissing => {
            begin(&flow::begin::outside(), ui);
            return Ok(Exit::Done);
        }
        Err(failure) => return Err(failure),
    };
    let advised = match flow::next::is_here(&ctx) {
        Ok(true) => return super::status::status(&ctx, ui),
        Ok(false) => flow::next::of(&ctx)?.advised,
        Err(failure) => match failure.code {
            Code::NotInitialised => {
                begin(&flow::begin::begin(&ctx)?, ui);
                return Ok(Exit::Done);
            }
            Code::NoActiveSession => flow::begin::lead(&ctx)?,
            Code::SessionAmbiguous if ctx.wanted().is_none() => choose(failure),
            _ => return Err(failure),
        },
    };
    super::list::board(&ctx, &advised, ui)
}

/// Advice to choose among several sessions, as the refusal of a command says it.
fn choose(failure: Failure) -> Advised {
    Advised::write(failure.help.unwrap_or_default())
}

/// Three lines that begin.
fn begin(first: &Advised, ui: &mut Ui) {
    let demo = command!("demo");
    let mut body = json!({ "demo": demo });
    super::tell_next(&mut body, first);
    ui.json("home", &body);
    ui.out("git loopx keeps a change's workflow inside the repository that it changes");
    ui.next(first);
    let demo = ui.paint(style::HEAD, &ui.command(&demo));
    ui.out(format!(
        "to see all stages in a temporary repository: {demo}"
    ));
}
