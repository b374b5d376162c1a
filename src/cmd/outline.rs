//! The outline of a plan, as `plan` and `plan --show` print it.

use crate::cli::Exit;
use crate::core::counted;
use crate::core::failure::Result;
use crate::core::hint::command;
use crate::core::outline::{Chosen, QUESTIONS};
use crate::core::task::node::TaskId;
use crate::flow::Context;
use crate::flow::outline::{self as flow, View};
use crate::ui::{Ui, line};
use serde_json::json;

/// `plan --show`.
pub fn show(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let view = flow::show(ctx)?;
    for said in lines(&view) {
        ui.out(said);
    }
    match (view.outline.explore, view.missing.first()) {
        (Some(_), Some(angle)) => ui.hint(command!("note --angle {angle} TEXT")),
        _ => ui.hint(command!("status")),
    }
    ui.json("plan --show", &json!(view));
    Ok(Exit::Done)
}

/// Beside what `plan` did. A session without such a plan has nothing to tell.
pub fn tell(ctx: &Context, ui: &mut Ui) {
    if let Ok(view) = flow::show(ctx) {
        for said in lines(&view) {
            ui.status(said);
        }
    }
}

fn lines(view: &View) -> Vec<String> {
    let outline = &view.outline;
    let mut out = vec![format!(
        "complexity {}{}",
        outline.complexity.value,
        by(&outline.complexity)
    )];
    let angles = outline.angles.value.join(", ");
    out.push(match outline.explore {
        Some(why) => format!(
            "look at     {angles}{}: {}",
            by(&outline.angles),
            why.words()
        ),
        None => "look at     nothing has to be looked at first".to_owned(),
    });
    for note in &view.notes {
        let good = note.references.iter().filter(|one| one.verified).count();
        let files = match note.references.len() {
            0 => String::new(),
            all => format!(", {good} of {} there", counted(all, "file")),
        };
        out.push(format!(
            "note        {} (@{}) by {}{files}",
            line(&note.angle),
            note.seq,
            line(&note.by)
        ));
    }
    for finding in &view.findings {
        out.push(format!("warning     {}", line(&finding.message)));
    }
    for question in &view.questions {
        out.push(format!(
            "question    @{}: {}",
            question.number,
            line(&question.text)
        ));
    }
    if view.questions.len() >= QUESTIONS {
        out.push(format!(
            "            a round has at most {QUESTIONS} questions"
        ));
    }
    for (at, group) in view.groups.iter().enumerate().take(20) {
        let ids: Vec<&str> = group.iter().map(TaskId::as_str).take(20).collect();
        let label = if at == 0 { "groups" } else { "" };
        out.push(format!("{label:<12}{}: {}", at + 1, ids.join(", ")));
    }
    out
}

/// What chose a value.
fn by<T>(chosen: &Chosen<T>) -> String {
    match (chosen.written, chosen.words.as_slice()) {
        (true, _) => " (plan.md says so)".to_owned(),
        (false, []) => " (no word of the request says otherwise)".to_owned(),
        (false, words) => format!(" (`{}` in the request)", words.join("`, `")),
    }
}
