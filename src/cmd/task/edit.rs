//! `task edit`.

use super::fields::{FieldArgs, task_id};
use crate::cli::Exit;
use crate::cmd::report;
use crate::flow::{Context, task_list};
use crate::ui::Ui;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::task::file::edit::Change;
use serde_json::json;

/// Fields that can be taken out of a task.
const OPTIONAL: [&str; 25] = [
    "description",
    "kind",
    "type",
    "priority",
    "effort",
    "points",
    "role",
    "domain",
    "conflict_risk",
    "accepts",
    "skill",
    "stage",
    "parent",
    "depends_on",
    "waits",
    "files",
    "exclusive",
    "outputs",
    "cap",
    "time_limit",
    "gate",
    "scenarios",
    "convergence.criteria",
    "convergence.verification",
    "convergence.definition_of_done",
];

/// Change the fields of a task, and save the list; every other byte of it stays
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// The task
    task: String,
    /// Another title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Take a field out, like depends_on
    #[arg(long, value_name = "FIELD")]
    unset: Vec<String>,
    #[command(flatten)]
    fields: FieldArgs,
}

pub(crate) fn run(args: EditArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let EditArgs {
        task,
        title,
        unset,
        fields,
    } = args;
    let id = task_id(&task)?;
    let mut changes = fields.changes()?;
    changes.extend(title.map(|title| Change {
        field: "title",
        value: Some(json!(title)),
    }));
    for name in &unset {
        let field = OPTIONAL
            .into_iter()
            .find(|field| field == name)
            .ok_or_else(|| {
                Failure::usage(
                    Code::WordUnknown,
                    format!(
                        "expected --unset with one of {}, found `{name}`",
                        OPTIONAL.join(", ")
                    ),
                )
            })?;
        changes.push(Change { field, value: None });
    }
    if changes.is_empty() {
        return Err(Failure::usage(
            Code::InputMissing,
            "expected the fields that become something else, found none",
        )
        .help(command!("task edit {id} --title TITLE")));
    }
    let done = task_list::set(ctx, &id, &changes, fields.reason)?;
    let names: Vec<&str> = changes.iter().map(|change| change.field).collect();
    let said = format!("{} has another {}", done.value, names.join(", "));
    let extra = json!({ "task": done.value, "fields": names });
    report(ctx, ui, "task edit", &done.put.done, &said, extra);
    Ok(Exit::Done)
}
