//! `issue log`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::view;
use crate::flow::issue::view::Log;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use serde_json::json;

/// Show what happened to an issue, oldest first; with -v also each text that its description had
#[derive(Clone, Debug, clap::Args)]
pub struct LogArgs {
    /// The issue
    id: String,
}

pub(crate) fn run(args: &LogArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Log {
        id,
        entries,
        is_there,
    } = view::log(ctx, &args.id)?;
    for entry in &entries {
        let number = ui.paint(style::NAME, &format!("@{}", entry.seq));
        let undone = if entry.undone { "  (taken back)" } else { "" };
        ui.out(format!(
            "{number} {}  {}  {}{undone}",
            entry.event,
            ui.when(&entry.at),
            line(&entry.by.name)
        ));
        for change in &entry.changes {
            ui.out(format!("    {}", line(change)));
        }
        if let Some(text) = entry.description.as_ref().filter(|_| ui.is_verbose()) {
            for text in text.lines() {
                ui.out(format!("      {}", clean(text)));
            }
        }
        if let Some(reason) = &entry.reason {
            ui.out(format!("    reason: {}", line(reason)));
        }
    }
    let next = (!is_there).then(|| command!("issue redo {id}"));
    if let Some(next) = &next {
        ui.hint(next);
    }
    let body = json!({ "issue": id, "log": entries, "next_action": next });
    ui.json("issue log", &body);
    Ok(Exit::Done)
}
