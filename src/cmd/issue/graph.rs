//! `issue graph`.

use super::row_lines;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::view;
use crate::ui::Ui;
use loopx_base::failure::Result;
use serde_json::json;

/// Show the open issues as waves: what can be done side by side, and what comes after it
#[derive(Clone, Debug, clap::Args)]
pub struct GraphArgs {}

pub(crate) fn run(_: &GraphArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let graph = view::graph(ctx)?;
    for (at, wave) in graph.waves.iter().enumerate() {
        ui.out(format!("wave {}", at + 1));
        for row in wave {
            row_lines(ui, &graph.names, row);
        }
    }
    if let Some(cycle) = &graph.cycle {
        ui.warn(super::waiting(cycle, &graph.names));
    }
    let path: Vec<&str> = graph
        .critical_path
        .iter()
        .map(|id| graph.names.short(id))
        .collect();
    ui.status(match (path.as_slice(), graph.open) {
        ([], 0) => "no open issue".to_owned(),
        ([], open) if graph.waves.iter().flatten().any(|row| row.ready) => format!("{open} open"),
        ([], open) => format!("{open} open, and none of them can be begun"),
        (path, _) => format!("longest chain: {}", path.join(" -> ")),
    });
    if let Some(next) = &graph.next_action {
        ui.hint(next);
    }
    ui.json("issue graph", &json!(graph));
    Ok(Exit::Done)
}
