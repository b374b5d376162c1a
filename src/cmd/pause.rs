//! `agent block`, `agent park`, `agent resume`: the honest ways out of a build, and back.

use super::report;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::agent::pause;
use crate::ui::{Ui, clean};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use serde_json::json;

pub(crate) fn block(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = pause::block(ctx, reason)?;
    let extra = json!({ "blocked": done.state.build.blocked });
    report(
        ctx,
        ui,
        "agent block",
        &done,
        "recorded as blocked; the next build step ends that",
        extra,
    );
    Ok(Exit::Done)
}

pub(crate) fn park(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (id, why) = pause::park(ctx, reason)?;
    ui.status(format!("{id}: the build is parked in this worktree"));
    ui.hint(command!("agent resume"));
    ui.json(
        "agent park",
        &json!({ "session": id, "reason": clean(&why), "next_action": command!("agent resume") }),
    );
    Ok(Exit::Done)
}

pub(crate) fn resume(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let resumed = pause::resume(ctx, reason)?;
    ui.status(format!("{}: the build goes on", resumed.id));
    let mut body = json!({
        "session": resumed.id,
        "parked": resumed.parked,
        "blocked": resumed.blocked,
    });
    super::lead(ctx, &resumed.id, &mut body, ui);
    ui.json("agent resume", &body);
    Ok(Exit::Done)
}
