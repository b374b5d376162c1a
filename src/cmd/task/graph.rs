//! `task graph`, `task waves`.

use super::row_lines;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::task as flow;
use crate::flow::task::GraphView;
use crate::ui::{Ui, style};
use loopx_base::failure::Result;
use loopx_rules::task::node::TaskId;
use serde_json::json;

/// Show which task waits for which, the longest chain, and what cannot go on
#[derive(Clone, Debug, Default, clap::Args)]
pub struct GraphArgs {}

/// Show the tasks that are left in groups that can run side by side
#[derive(Clone, Debug, clap::Args)]
pub struct WavesArgs {
    /// The most tasks in one group
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: Option<u32>,
}

pub(crate) fn run(_: &GraphArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let view = flow::graph_of(ctx, None)?;
    for row in &view.nodes {
        row_lines(ui, row);
        let on: Vec<&str> = row.depends_on.iter().map(TaskId::as_str).collect();
        if !on.is_empty() {
            ui.out(format!("           <- {}", on.join(", ")));
        }
    }
    if view.critical.len() > 1 {
        ui.out(format!("longest  {}", joined(&view.critical, " -> ")));
    }
    for chain in &view.blocked {
        ui.out(format!(
            "{}  {}",
            ui.paint(style::BAD, "blocked"),
            joined(chain, " <- ")
        ));
    }
    if view.stalled {
        ui.warn("no task is ready, nobody works on one, and some are left");
    }
    ui.json("task graph", &json!(view));
    Ok(Exit::Done)
}

pub(crate) fn waves(args: &WavesArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let limit = args.limit.and_then(|limit| usize::try_from(limit).ok());
    let GraphView { session, waves, .. } = flow::graph_of(ctx, limit)?;
    for (at, wave) in waves.iter().enumerate() {
        ui.out(format!("{:>4}  {}", at + 1, joined(wave, ", ")));
    }
    if waves.is_empty() {
        ui.status("nothing is left that can be done");
    }
    ui.json("task waves", &json!({ "session": session, "waves": waves }));
    Ok(Exit::Done)
}

fn joined(ids: &[TaskId], by: &str) -> String {
    let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    ids.join(by)
}
