//! `issue report`.

use super::scope::ScopeArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::report as flow;
use crate::flow::issue::stats::Asked;
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_rules::issue::board::LaneBy;
use loopx_rules::issue::report::Format;
use loopx_rules::issue::stats::Step;
use serde_json::json;
use std::path::PathBuf;

/// Make a report of the backlog: the board, what waits for what, statistics and what was left, as one file
///
/// The file is whole by itself: no script, no network. Without `--output`, or with `-` behind it, it is printed. A file that is there and is no report
/// is not written over without `--force`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// html, or markdown for a page of a forge
    #[arg(long, value_name = "FORMAT", default_value = Format::Html.as_str(), value_parser = clap::builder::PossibleValuesParser::new(Format::WORDS))]
    format: String,
    /// The file that is written
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that is no report
    #[arg(long, requires = "output")]
    force: bool,
    /// A board for each epic, owner or milestone
    #[arg(long, value_name = "BY", value_parser = clap::builder::PossibleValuesParser::new(LaneBy::WORDS))]
    lanes: Option<String>,
    /// The moment from which statistics count; seven weeks before this one where none is named
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// The step of the burndown; by weeks where it goes over more than a month
    #[arg(long, value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(Step::WORDS))]
    by: Option<String>,
}

pub(crate) fn run(args: ReportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let lanes = args.lanes.as_deref().map(str::parse).transpose()?;
    let format: Format = args.format.parse()?;
    let asked = Asked {
        since: args.since,
        step: args.by.as_deref().map(str::parse).transpose()?,
        stale: Asked::STALE,
    };
    let scope = args.scope.scope(ctx)?;
    let (text, count) = flow::report(ctx, &scope, (lanes, format), &asked)?;
    let Some(path) = args.output.filter(|path| path.as_os_str() != "-") else {
        ui.raw_text(&text);
        ui.json(
            "issue report",
            &json!({ "format": format, "issues": count, "document": text }),
        );
        return Ok(Exit::Done);
    };
    let file = flow::write(&path, &text, args.force)?;
    let file = file.display().to_string();
    ui.status(format!(
        "{}: {}",
        line(&file),
        counted(count as u64, "issue")
    ));
    ui.json(
        "issue report",
        &json!({ "format": format, "issues": count, "file": file }),
    );
    Ok(Exit::Done)
}
