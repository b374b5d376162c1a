//! `pipeline check`.

use super::{say, say_newer};
use crate::cli::Exit;
use crate::flow::{Context, pipeline as flow};
use crate::ui::Ui;
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_spec::Severity;
use serde_json::json;

/// Say what is wrong with a pipeline, each finding with its line; exit 1 for errors
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// A pipeline, or a file of the worktree (default: all pipelines of the repository's own)
    #[arg(value_name = "NAME|FILE")]
    name: Option<String>,
    /// Refuse warnings too
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(args: &CheckArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let checked = flow::check(ctx, args.name.as_deref())?;
    say(&checked.findings, ui);
    let errors = checked.findings.iter();
    let errors = errors.filter(|one| one.severity == Severity::Error).count();
    let warnings = checked.findings.len() - errors;
    ui.status(format!(
        "{}: {}, {}",
        counted(checked.pipelines.len(), "pipeline"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    if let Some(newer) = &checked.newer {
        say_newer(newer, ui);
    }
    ui.json("pipeline check", &json!(checked));
    Ok(if errors > 0 || args.strict && warnings > 0 {
        Exit::Blocked
    } else {
        Exit::Done
    })
}
