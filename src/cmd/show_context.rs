//! `show --context`: what a stage or a task has to read.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::manifest;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::stage::Stage;
use serde_json::json;

#[derive(Clone, Debug, clap::Args)]
pub struct ContextArgs {
    /// Print what has to be read instead, in its order; exit 1 where something required is missing
    #[arg(long, conflicts_with = "run")]
    context: bool,
    /// Of this stage (default: the present one)
    #[arg(long, value_name = "STAGE", requires = "context", value_parser = clap::builder::PossibleValuesParser::new(Stage::ALL.map(Stage::as_str)))]
    stage: Option<String>,
    /// Of this task
    #[arg(
        long,
        value_name = "TASK",
        requires = "context",
        conflicts_with = "stage"
    )]
    task: Option<String>,
}

impl ContextArgs {
    pub fn is_asked(&self) -> bool {
        self.context
    }
}

pub(crate) fn run(args: &ContextArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let stage = args.stage.as_deref().map(str::parse).transpose()?;
    let shown = manifest::show(ctx, stage, args.task.as_deref())?;
    let rows = &shown.manifest.rows;
    for row in rows {
        let (word, role) = match (row.required, row.exists) {
            (true, true) => ("required", style::GOOD),
            (true, false) => ("missing", style::BAD),
            (false, true) => ("", style::DIM),
            (false, false) => ("not there", style::DIM),
        };
        let word = ui.paint(role, &format!("{word:9}"));
        let name = ui.paint(style::NAME, &line(&row.path));
        ui.out(format!(
            "{:3}  {word}  {name}  {}: {}",
            row.priority,
            row.kind,
            line(&row.reason)
        ));
    }
    if rows.is_empty() {
        ui.status(format!("{}: nothing to read", shown.id));
    }
    if shown.manifest.left_out > 0 {
        ui.status(format!("{} more did not fit", shown.manifest.left_out));
    }
    let complete = rows.iter().all(|row| !row.is_missing());
    ui.json(
        "show",
        &json!({
            "session": shown.id, "stage": shown.stage, "task": shown.task, "asked": shown.asked,
            "complete": complete, "rows": rows, "left_out": shown.manifest.left_out,
        }),
    );
    Ok(if complete { Exit::Done } else { Exit::Blocked })
}
