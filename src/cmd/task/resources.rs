//! `task resources`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::task as flow;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::task::node::TaskId;
use serde_json::json;

/// Show what only one task can have at a time: who has it, until when, and which tasks want it
///
/// A task says in `exclusive` what it needs for itself. Whoever takes it has that as long as the task, and no longer
/// than the lease: a lease that has ended gives both to whoever asks.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ResourcesArgs {}

pub(crate) fn run(_: ResourcesArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (session, rows) = flow::resources(ctx)?;
    for row in &rows {
        let name = ui.paint(style::NAME, &line(&row.resource));
        let held: Vec<String> = row
            .held
            .iter()
            .map(|one| {
                let ends = if one.claim.alive {
                    "until"
                } else {
                    "lease ended"
                };
                format!(
                    "{} of {}, {ends} {}",
                    one.task,
                    line(&one.claim.words),
                    one.claim.until
                )
            })
            .collect();
        let (role, word) = match held.len() {
            0 => (style::GOOD, "free".to_owned()),
            1 => (style::WARN, held.join("")),
            _ => (style::BAD, format!("taken apart: {}", held.join("; "))),
        };
        ui.out(format!("{name}  {}", ui.paint(role, &word)));
        if !row.wanted.is_empty() {
            let wanted: Vec<&str> = row.wanted.iter().map(TaskId::as_str).collect();
            ui.out(format!("           wanted by {}", wanted.join(", ")));
        }
    }
    if rows.is_empty() {
        ui.status("no task has anything for itself");
    }
    ui.json(
        "task resources",
        &json!({ "session": session, "resources": rows }),
    );
    Ok(Exit::Done)
}
