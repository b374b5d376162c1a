//! `issue export`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::export as flow;
use crate::ui::Ui;
use loopx_base::failure::{Code, Failure, Result};
use serde_json::json;

/// Print the backlog as JSON lines
///
/// Each line is an issue with everything that is known of it: fields, criteria, links, comments, who made it and when, and
/// what was taken over as data. `issue import` reads the lines again, and gives the same backlog in a repository that
/// has none. Who has an issue in hand here is no part of it.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    /// Only these issues
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

pub(crate) fn run(args: &ExportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let issues = flow::export(ctx, &args.ids)?;
    let mut text = String::new();
    for issue in &issues {
        let line = serde_json::to_string(issue)
            .map_err(|error| Failure::internal(Code::RecordUnwritable, error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    ui.raw_text(&text);
    ui.json("issue export", &json!({ "issues": issues }));
    Ok(Exit::Done)
}
