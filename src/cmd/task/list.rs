//! `task list`.

use super::row_lines;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::task as flow;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::next::Advised;
use serde_json::json;

/// List the tasks of the session: how far each is, who has it, and what it waits for
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ListArgs {
    /// Judge the checks on the code of this branch (default: on the code here)
    #[arg(long, value_name = "BRANCH")]
    on: Option<String>,
    /// Only what is ready to be taken
    #[arg(long)]
    ready: bool,
}

pub(crate) fn run(args: &ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mut rows = flow::list(ctx, args.on.as_deref())?;
    let all = rows.tasks.len();
    if args.ready {
        rows.tasks.retain(|row| row.ready);
    }
    ui.lines(|ui| {
        for row in &rows.tasks {
            row_lines(ui, row);
        }
    });
    for row in rows.dropped.iter().filter(|_| !args.ready) {
        let id = ui.paint(style::NAME, row.task.as_str());
        let word = ui.paint(style::DIM, "dropped");
        ui.out(format!("{word}  {id}  {}", line(&row.title)));
        let why = row.reason.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        ui.out(format!("           {}{}", row.change, line(&why)));
    }
    ui.status(format!("{} of {all} done", rows.done));
    let advised = rows.advised.as_ref();
    if let Some(advised) = advised {
        ui.next(advised);
    }
    let body = json!({
        "session": rows.session,
        "tree": rows.tree,
        "done": rows.done,
        "stalled": rows.stalled,
        "dropped": rows.dropped,
        "all": all,
        "next_action": advised.and_then(Advised::command),
    });
    ui.json_rows("task list", body, ("tasks", rows.tasks.iter()));
    Ok(Exit::Done)
}
