//! `git loopx` alone: where am I. The session of this branch, else the sessions, else how to begin.

use crate::cli::Exit;
use crate::flow::Context;
use crate::ui::{Ui, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use serde_json::json;

pub(crate) fn home(ctx: Result<Context>, ui: &mut Ui) -> Result<Exit> {
    let ctx = match ctx {
        Ok(ctx) => ctx,
        Err(failure) if failure.code == Code::RepositoryMissing => {
            begin(&Hint::git("init"), ui);
            return Ok(Exit::Done);
        }
        Err(failure) => return Err(failure),
    };
    match ctx.is_in_session() {
        Ok(true) => super::status::status(&ctx, ui),
        Ok(false) => super::list::list(super::list::ListArgs::default(), &ctx, ui),
        Err(Failure {
            code: Code::NotInitialised,
            ..
        }) => {
            begin(&command!("init"), ui);
            Ok(Exit::Done)
        }
        Err(failure) => Err(failure),
    }
}

/// Three lines that begin.
fn begin(first: &Hint, ui: &mut Ui) {
    let demo = command!("demo");
    ui.json("home", &json!({ "next_action": first, "demo": demo }));
    ui.out("git loopx keeps a change's workflow inside the repository that it changes");
    ui.hint(first);
    let demo = ui.paint(style::HEAD, &ui.command(&demo));
    ui.out(format!(
        "to see all of it in a temporary repository: {demo}"
    ));
}
