//! `pipeline status`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::pipeline::{Mark, Phase, StatusView, status};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_rules::task::graph::chain_words;
use loopx_rules::task::node::{OnComplete, TaskId};

/// The number of chains of what cannot go on that are printed; `--json` has all.
const SHOWN: usize = 20;

/// Show how far the tasks are that pipelines made: phase by phase, who has what, what is ready, what cannot go on; exit 1
/// where nothing can
#[derive(Clone, Debug, clap::Args)]
pub struct StatusArgs {}

pub(crate) fn run(_: &StatusArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let view = status(ctx)?;
    show_progress(&view, ui);
    show_work(&view, ui);
    show_end(&view, ui);
    let next = view.open.iter().map(|one| &one.lead);
    let mut next = next.cloned();
    if let Some(next) = next.next().filter(|_| view.ready.is_empty()) {
        ui.hint(next);
    }
    ui.json("pipeline status", &view);
    Ok(if view.stalled {
        Exit::Blocked
    } else {
        Exit::Done
    })
}

/// The progress of the whole, and each task in its phase.
fn show_progress(view: &StatusView, ui: &mut Ui) {
    let StatusView {
        done,
        total,
        percent,
        ..
    } = view;
    let counts = &view.counts;
    let of_them = [(counts.partial, "in part"), (counts.skipped, "skipped")];
    let of_them = of_them.into_iter().filter(|(count, _)| *count > 0);
    let of_them: String = of_them
        .map(|(count, how)| format!(", {count} of them {how}"))
        .collect();
    ui.out(format!("Progress: {done}/{total} ({percent}%){of_them}"));
    let wide = view
        .phases
        .iter()
        .map(|one| one.phase.len())
        .max()
        .unwrap_or(0);
    for Phase { phase, beats } in &view.phases {
        let beats: Vec<String> = beats.iter().map(|beat| beat_words(beat)).collect();
        ui.out(format!("{:<wide$}  {}", line(phase), beats.join(" -> ")));
    }
}

/// Tasks that somebody has, that can be taken, and that wait.
fn show_work(view: &StatusView, ui: &mut Ui) {
    for one in &view.working {
        let asked = one.turn.as_ref().filter(|turn| turn.asked_to_finish);
        let asked = asked.map_or("", |turn| {
            if turn.over {
                ", its time has passed"
            } else {
                ", asked to finish"
            }
        });
        let id = ui.paint(style::NAME, one.task.as_str());
        let who = line(&one.claim.words);
        ui.out(format!("working  {id}  {who}, {} s{asked}", one.elapsed));
    }
    for id in &view.orphans {
        ui.out(format!("orphan   {id}  the lease has ended: it is free"));
    }
    if !view.ready.is_empty() {
        ui.out(format!("ready    {}", joined(&view.ready, ", ")));
    }
    for one in &view.open {
        let waits = if one.person { "a person" } else { "a verdict" };
        ui.out(format!("open     {}  waits for {waits}", one.task));
    }
    if let Some(stage) = view.waits_for_stage.filter(|_| view.ready.is_empty()) {
        ui.out(format!("waits    for stage {stage}"));
    }
    for note in &view.notes {
        ui.out(format!("note     {}", line(note)));
    }
    for chain in view.blocked.iter().take(SHOWN) {
        let word = ui.paint(style::BAD, "blocked");
        ui.out(format!("{word}  {}", chain_words(chain.iter())));
    }
    if view.blocked.len() > SHOWN {
        let more = view.blocked.len() - SHOWN;
        ui.out(format!(
            "         and {more} more, see: git loopx task graph"
        ));
    }
}

/// The way on from a standstill, and from the end.
fn show_end(view: &StatusView, ui: &mut Ui) {
    if let Some(cycle) = &view.deadlock {
        let said = format!("deadlock: {}", joined(cycle, " -> "));
        ui.warn(said);
    }
    if view.stalled {
        ui.warn("stalled: no task is ready, nobody works on one, and some are left");
        if let Some(next) = &view.next_action {
            ui.hint(next);
        }
    }
    if view.complete {
        ui.out(format!("complete {}", view.on_complete));
        match (&view.next_action, view.on_complete) {
            (None, _) => ui.hint(hint![
                "to take its results out: ",
                command!("pipeline export DIR")
            ]),
            (Some(next), OnComplete::Interactive) => ui.hint(hint![
                next,
                "  (until then the session stays as it is), or take its results out: ",
                command!("pipeline export DIR")
            ]),
            (Some(next), OnComplete::Archive | OnComplete::Keep) => ui.hint(next),
        }
    }
}

/// `[V A(+D1)] | [o B]`.
fn beat_words(beat: &[Mark]) -> String {
    let words = beat.iter().map(|one| {
        let judged = if one.judged_by.is_empty() {
            String::new()
        } else {
            format!("(+{})", one.judged_by.join(", "))
        };
        format!("[{} {}{judged}]", one.mark, one.task)
    });
    let words: Vec<String> = words.collect();
    words.join(" | ")
}

fn joined(ids: &[TaskId], by: &str) -> String {
    let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    ids.join(by)
}
