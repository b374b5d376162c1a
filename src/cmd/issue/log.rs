//! `issue log`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::endings::SessionEnd;
use crate::flow::issue::view;
use crate::flow::issue::view::Log;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::lease::seconds_of;
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
        ends,
        is_there,
    } = view::log(ctx, &args.id)?;
    let mut left = ends.iter().peekable();
    for entry in &entries {
        while let Some(end) = left.next_if(|end| is_before(&end.at, &entry.at)) {
            tell(end, ui);
        }
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
    for end in left {
        tell(end, ui);
    }
    let next = (!is_there).then(|| command!("issue redo {id}"));
    if let Some(next) = &next {
        ui.hint(next);
    }
    let body = json!({ "issue": id, "log": entries, "sessions": ends, "next_action": next });
    ui.json("issue log", &body);
    Ok(Exit::Done)
}

/// Writes the end of a session between the records of the issue.
fn tell(end: &SessionEnd, ui: &mut Ui) {
    let undone = if end.undone { "  (taken back)" } else { "" };
    let event = ui.paint(style::NAME, end.event);
    ui.out(format!(
        "{event}  {}  {}{undone}",
        ui.when(&end.at),
        line(&end.by.name)
    ));
    ui.out(format!("    {}", line(&end.words)));
}

/// Order of two moments: true where the first is before the second; of one second what stands with the issue comes first.
fn is_before(one: &str, other: &str) -> bool {
    match (seconds_of(one), seconds_of(other)) {
        (Some(one), Some(other)) => one < other,
        _ => false,
    }
}
