//! `issue diff`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::diff as flow;
use crate::flow::issue::diff::{Asked, Changed};
use crate::ui::diff::unified;
use crate::ui::{Ui, clean, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_rules::issue::compare::Difference;
use serde_json::json;

/// Show what changed in the backlog since a moment: what ended, began, came and was edited, and by whom
///
/// WHEN is a day, a time, `3d` or `last friday`, the id of an operation, a commit of the branch of sessions or, of one issue, the
/// number of an operation of its log, as @3.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DiffArgs {
    /// Only these issues, with the lines of their descriptions
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// The moment before; a day ago where none is named
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// The moment after; now where none is named
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

pub(crate) fn run(args: DiffArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let asked = Asked {
        ids: args.ids,
        since: args.since,
        until: args.until,
    };
    let found = flow::diff(ctx, &asked)?;
    let mut heading = None;
    for one in &found.issues {
        if heading != Some(one.what) {
            let word = one.what.as_str().replace('_', " ");
            let word = ui.paint(style::HEAD, &word);
            ui.out(word);
            heading = Some(one.what);
        }
        print(one, found.names.width(), !asked.ids.is_empty(), ui);
    }
    let between = match &found.until {
        Some(until) => format!("between {} and {until}", found.since),
        None => format!("since {}", found.since),
    };
    ui.status(match found.issues.len() {
        0 => format!("nothing changed {between}"),
        count => format!("{} changed {between}", counted(count as u64, "issue")),
    });
    ui.json("issue diff", &json!(found));
    Ok(Exit::Done)
}

fn print(one: &Changed, width: usize, is_named: bool, ui: &mut Ui) {
    let short = format!("{:<width$}", one.short);
    let short = ui.paint(style::NAME, &short);
    let by = ui.paint(style::DIM, &line(&one.by.join(", ")));
    ui.out(format!("  {short}  {}  {by}", line(&one.title)));
    let is_text = |one: &&Difference| is_named && one.field == "description";
    let words: Vec<String> = one
        .differences
        .iter()
        .filter(|one| !is_text(one))
        .map(Difference::words)
        .collect();
    if !words.is_empty() {
        let indent = width + 4;
        let words = line(&words.join(", "));
        ui.fold_out(format!("{:indent$}{words}", ""), indent);
    }
    for text in one.differences.iter().filter(is_text) {
        let side = |value: &Option<String>| value.as_deref().map(clean).unwrap_or_default();
        let (from, to) = (side(&text.from), side(&text.to));
        ui.raw_text(&unified("description", &from, &to, ui.color()));
    }
}
