//! `pipeline list`.

use super::say_newer;
use crate::cli::Exit;
use crate::flow::{Context, pipeline as flow};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use serde_json::json;

/// List the pipelines of the program and of the repository
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {}

pub(crate) fn run(_: &ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (all, newer) = flow::list(ctx)?;
    let wide = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
    for one in &all {
        let name = ui.paint(style::NAME, &format!("{:<wide$}", one.name));
        let tasks = format!("{:>2} tasks", one.tasks);
        ui.out(format!("{name}  {tasks}  {}", line(&one.title)));
        if let Some(path) = &one.path {
            ui.out(format!("{:wide$}  {}", "", line(path)));
        }
        if one.errors > 0 {
            let errors = counted(one.errors, "error");
            ui.warn(format!("{}: {errors}, so it does not start", one.name));
        }
    }
    let mut body = json!({ "pipelines": all });
    if let Some(newer) = newer {
        say_newer(&newer, ui);
        body["newer"] = json!(newer);
    }
    ui.json("pipeline list", &body);
    Ok(Exit::Done)
}
