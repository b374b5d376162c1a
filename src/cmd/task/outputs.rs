//! `task outputs`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::task as flow;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;

/// List the files that a task leaves, each with whether it is there; exit 1 where one is missing
#[derive(Clone, Debug, clap::Args)]
pub struct OutputsArgs {
    /// The task (default: the one that is taken here)
    #[arg(value_name = "TASK")]
    task: Option<String>,
}

pub(crate) fn run(args: &OutputsArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let left = flow::left_by(ctx, args.task.as_deref())?;
    for output in &left.outputs {
        let (role, word) = if output.present {
            (style::GOOD, "there  ")
        } else {
            (style::BAD, "missing")
        };
        ui.out(format!("{}  {}", ui.paint(role, word), line(&output.path)));
    }
    if left.outputs.is_empty() {
        ui.status(format!("the plan names no files that {} leaves", left.task));
    }
    ui.json("task outputs", &left);
    Ok(if left.outputs.iter().all(|output| output.present) {
        Exit::Done
    } else {
        Exit::Blocked
    })
}
