//! `task show`.

use super::decide::row_words;
use super::take::{legal, print};
use super::{remarks, status_word};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::task as flow;
use crate::flow::task::{DecisionRow, GateView, TaskView};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::task::decide::Flag;
use loopx_rules::task::prompt::CardForm;
use serde_json::json;

/// Show a task: its card, who has it, and how it stands
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The task (default: the one that is taken here)
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// The whole card, however long
    #[arg(long)]
    full: bool,
    /// How the card is printed: text, or prompt for an agent
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: CardForm,
}

pub(crate) fn run(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let view = flow::show(ctx, args.task.as_deref())?;
    if args.format == CardForm::Text {
        standing(&view, ui);
    }
    print(ui, &view.card, args.format, args.full);
    if let (CardForm::Text, Some(gate)) = (args.format, &view.row.gate) {
        for said in gate_rows(gate, &view.decisions) {
            ui.out(format!("  {}", line(&said)));
        }
    }
    let row = &view.row;
    let is_at_cap = row.failures >= row.cap;
    let next = legal(&view.card, &view.steps, (row.ready, is_at_cap));
    let mut body = json!(view);
    body["next"] = next;
    ui.json("task show", &body);
    Ok(Exit::Done)
}

/// Prints how the task stands, above its card.
fn standing(view: &TaskView, ui: &mut Ui) {
    let word = status_word(ui, &view.row);
    let id = ui.paint(style::NAME, view.row.task.as_str());
    ui.out(format!("{}  {id}", word.trim_end()));
    for said in remarks(&view.row, ui) {
        ui.out(format!("  {}", line(&said)));
    }
    if let Some(done) = &view.completion {
        ui.out(format!(
            "  done by {} {}",
            line(&done.signed.by.to_string()),
            ui.when(&done.signed.at)
        ));
    }
    for output in &view.outputs {
        let path = line(&output.path);
        match (&output.blob, output.present) {
            (_, false) => ui.out(format!("  not there yet: {path}")),
            (Some(blob), true) => ui.out(format!("  left: {path}  ({})", blob.short())),
            (None, true) => {}
        }
    }
}

/// The values by which a gate lets the work go on.
fn passes(gate: &GateView) -> String {
    if !gate.dimensions.is_empty() {
        return format!("from {} of {}", gate.pass, gate.scale);
    }
    if gate.views.is_empty() {
        return "by a verdict to proceed".to_owned();
    }
    let flags = Flag::WORDS.join(", ");
    format!("with a mean from 2.5, and no flag ({flags})")
}

/// Rows of what a gate is judged by, and of what was decided.
fn gate_rows(gate: &GateView, decisions: &[DecisionRow]) -> Vec<String> {
    let judges: Vec<&str> = gate.judges.iter().map(|id| id.as_str()).collect();
    let mut rows = vec![
        format!("judges  | {}", judges.join(", ")),
        format!("asks    | {}", gate.wanted),
        format!("passes  | {}", passes(gate)),
    ];
    rows.extend(gate.dimensions.iter().map(|one| {
        let least = one
            .minimum
            .map_or_else(String::new, |least| format!(", at least {least}"));
        format!("        | {}: weight {}{least}", one.name, one.weight)
    }));
    rows.extend(gate.outcomes.iter().map(|(word, falls)| {
        let falls: Vec<&str> = falls.iter().map(|id| id.as_str()).collect();
        match falls.as_slice() {
            [] => format!("        | {word}: all is done"),
            falls => format!("        | {word}: not done is {}", falls.join(", ")),
        }
    }));
    rows.push(format!(
        "repairs | {} of {}, then {}",
        gate.attempt, gate.cap, gate.at_cap
    ));
    rows.extend(
        decisions
            .iter()
            .map(|row| format!("decided | @{} {}", row.seq, row_words(row))),
    );
    rows
}
