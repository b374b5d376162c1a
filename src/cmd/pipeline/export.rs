//! `pipeline export`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::pipeline::{export, report, status};
use crate::ui::{Ui, clean, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_rules::task::report::Report;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write what the pipelines of a session came to into a folder: a report, the list, and the files of its tasks by phase
///
/// The report has counts, what each task left, with what is missing, the verdicts and their notes, and what was left
/// undone and learned. The session stays as it is: this is how results leave it before it is archived, or afterwards.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    /// A new folder, or an empty one; `-` prints the report and writes nothing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace files that are there
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &ExportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if args.folder == Path::new("-") {
        let report = report(ctx)?;
        ui.raw_text(&report.markdown());
        missing(&report, ui);
        ui.json("pipeline export", &json!({ "report": report }));
        return Ok(Exit::Done);
    }
    let done = export(ctx, &args.folder, args.force)?;
    ui.status(format!(
        "{}: {} written to {}",
        done.report.session,
        counted(done.files.len(), "file"),
        clean(&done.folder)
    ));
    missing(&done.report, ui);
    // One that ended leads nowhere.
    if let Ok(view) = status(ctx)
        && let Some(next) = view.next_action
    {
        ui.hint(next);
    }
    ui.json("pipeline export", &done);
    Ok(Exit::Done)
}

fn missing(report: &Report, ui: &mut Ui) {
    for (task, path) in report.missing() {
        ui.warn(format!("{task} leaves {}, which is not there", line(path)));
    }
}
