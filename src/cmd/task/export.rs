//! `task export`.

use crate::cli::Exit;
use crate::flow::{Context, task_list};
use crate::ui::Ui;
use loopx_base::failure::Result;
use loopx_rules::task::file::{Form, TaskFile, markdown, values};
use serde_json::{Value, json};

/// Print the list of tasks: as it is, as a table for people, or as one document
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ExportArgs {
    /// jsonl, markdown or json
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    format: Form,
}

pub(crate) fn run(args: &ExportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (state, text, file) = task_list::readable(ctx)?;
    if !ui.is_json() {
        match args.format {
            Form::Jsonl => ui.raw(text.as_bytes()),
            Form::Markdown => ui.raw(markdown(&file).as_bytes()),
            Form::Json => ui.raw(format!("{:#}\n", document(&file)).as_bytes()),
        }
    }
    ui.json("task export", &{
        let mut body = document(&file);
        body["session"] = json!(state.id);
        body
    });
    Ok(Exit::Done)
}

/// All tasks with all their fields, and the domains where there are some.
fn document(file: &TaskFile) -> Value {
    let mut document = json!({ "tasks": values(file) });
    if !file.domains.is_empty() {
        document["domains"] = json!(file.domains);
    }
    document
}
