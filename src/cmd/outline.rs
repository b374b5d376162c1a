//! The outline of a plan, as `plan` and `plan --show` print it.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::outline as flow;
use crate::flow::outline::View;
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_rules::outline::{Chosen, Complexity, QUESTIONS};
use loopx_rules::task::node::TaskId;
use serde_json::json;

/// The column behind the label of a line.
const LABEL: usize = 12;

/// `plan --show`.
pub(crate) fn show(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let view = flow::show(ctx)?;
    for said in lines(&view, true) {
        ui.fold_out(said, LABEL);
    }
    match (view.outline.explore, view.missing.first()) {
        (Some(_), Some(angle)) => ui.hint(hint![
            format!("look at the code from the angle {angle}, and keep what you find: "),
            command!("note --angle {angle} TEXT")
        ]),
        _ => ui.next(&crate::flow::next::of_session(ctx, &view.session)?),
    }
    ui.json("plan --show", &json!(view));
    Ok(Exit::Done)
}

/// Tells what is not as usual, beside what `plan` did. A session without such a plan has nothing to tell.
pub(crate) fn tell(ctx: &Context, ui: &mut Ui) {
    if let Ok(view) = flow::show(ctx) {
        for said in lines(&view, false) {
            ui.status(said);
        }
    }
}

/// Number of groups, and of tasks of a group, that are told.
const GROUPS: usize = 20;

fn lines(view: &View, all: bool) -> Vec<String> {
    let outline = &view.outline;
    let (complexity, angles) = (&outline.complexity, &outline.angles);
    let mut out = Vec::new();
    if all || complexity.value != Complexity::Low || complexity.written {
        out.push(format!(
            "complexity  {}{}",
            complexity.value,
            by(complexity)
        ));
    }
    match outline.explore {
        Some(why) => out.push(format!(
            "look at     {}{}: {}",
            angles.value.join(", "),
            by(angles),
            why.words()
        )),
        None if all => out.push("look at     nothing has to be looked at first".to_owned()),
        None => {}
    }
    if let Some(asked) = &view.contract {
        let open = match asked.missing.as_slice() {
            [] => String::new(),
            missing => format!(": nothing stands under {} of plan.md", missing.join(", ")),
        };
        let words = asked.words.join("`, `");
        out.push(format!(
            "contract    asked for (`{words}` in the request){open}"
        ));
    }
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
    let groups = view.groups.iter().enumerate().take(GROUPS);
    for (at, group) in groups.filter(|_| all || view.groups.len() > 1) {
        let ids: Vec<&str> = group.iter().map(TaskId::as_str).take(GROUPS).collect();
        let label = if at == 0 { "groups" } else { "" };
        out.push(format!("{label:<12}{}: {}", at + 1, ids.join(", ")));
    }
    out
}

/// Words for what chose a value.
fn by<T>(chosen: &Chosen<T>) -> String {
    match (chosen.written, chosen.words.as_slice()) {
        (true, _) => " (plan.md says so)".to_owned(),
        (false, []) => " (no word of the request says otherwise)".to_owned(),
        (false, words) => format!(" (`{}` in the request)", words.join("`, `")),
    }
}
