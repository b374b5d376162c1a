//! `task log`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::task as flow;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use serde_json::json;

/// Show what happened to the tasks and what their checks said, oldest first
#[derive(Clone, Debug, clap::Args)]
pub struct LogArgs {
    /// Only this task
    #[arg(value_name = "TASK")]
    task: Option<String>,
}

pub(crate) fn run(args: &LogArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (session, happened) = flow::log(ctx, args.task.as_deref())?;
    for one in &happened {
        let fate = if one.undone { "  (undone)" } else { "" };
        let why = one.reason.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {}", line(why)));
        let how = match (one.step, one.exit) {
            ("run", Some(0)) => ": passes".to_owned(),
            ("run", Some(code)) => format!(": fails with exit code {code}"),
            ("run", None) => ": was ended, or could not be started".to_owned(),
            _ if one.outputs.is_empty() => String::new(),
            _ => format!(", leaving {}", line(&named(&one.outputs))),
        };
        let id = ui.paint(style::NAME, one.task.as_str());
        ui.out(format!(
            "@{:<4} {}  {} {id} by {}{how}{why}{fate}",
            one.seq,
            ui.when(&one.at),
            one.step,
            line(&one.by)
        ));
    }
    if happened.is_empty() {
        ui.status("nothing has happened to a task yet");
    }
    ui.json(
        "task log",
        &json!({ "session": session, "happened": happened }),
    );
    Ok(Exit::Done)
}

/// Number of files that stand in a line.
const NAMED: usize = 3;

fn named(paths: &[String]) -> String {
    let more = match paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<&str> = paths.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}
