//! `issue log`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::view;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use serde_json::json;

/// Show what happened to an issue, oldest first; with -v also each text that its description had
#[derive(Clone, Debug, clap::Args)]
pub struct LogArgs {
    /// The issue
    id: String,
}

pub(crate) fn run(args: &LogArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (id, entries) = view::log(ctx, &args.id)?;
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
    ui.json("issue log", &json!({ "issue": id, "log": entries }));
    Ok(Exit::Done)
}
