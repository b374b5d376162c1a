//! `pipeline ledger`, `pipeline retro`: two views of the same sprints.

use crate::cli::Exit;
use crate::cmd::debt_line;
use crate::flow::Context;
use crate::flow::note::filter::Filter;
use crate::flow::note::list::{Listed, list};
use crate::flow::task::{left_undone, sprints};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::task::ledger::{Entry, Metrics, Sprint};
use loopx_rules::task::status::Status;
use serde_json::{Value, json};

/// Show what each task of a sprint took: who did it, how often it was tried, how it was judged, and how long it took
///
/// Computed from the list and its records. A sprint is what one start of a pipeline made, and each that GATE-SPRINT
/// inserted behind it.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LedgerArgs {}

/// Look back at the sprints: how much was done, what was done again, how long it took, what met, what was learned and
/// what was left undone
///
/// What was left is what `task done` was told with --partial, --deferred and --caveat. `issue create --debt` makes issues
/// of it.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct RetroArgs {}

pub(crate) fn ledger(_: LedgerArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (session, sprints) = sprints(ctx)?;
    for sprint in &sprints {
        head(sprint, ui);
        for entry in &sprint.tasks {
            row(entry, ui);
        }
    }
    ui.json(
        "pipeline ledger",
        &json!({ "session": session, "sprints": sprints }),
    );
    Ok(Exit::Done)
}

pub(crate) fn retro(_: RetroArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (session, sprints) = sprints(ctx)?;
    let filter = Filter {
        kind: Some("learning".to_owned()),
        ..Filter::default()
    };
    let learned = list(ctx, &filter)?.notes;
    for sprint in &sprints {
        head(sprint, ui);
        look_back(sprint, ui);
    }
    if let Some(pace) = pace(&sprints) {
        ui.out(pace);
    }
    for note in &learned {
        ui.out(format!("learned   {}", line(said(note))));
    }
    let left = left_undone(ctx)?;
    for debt in &left.debt {
        ui.out(format!("left      {}", debt_line(debt)));
    }
    let file = match (left.debt.is_empty(), left.is_elsewhere) {
        (true, _) => None,
        (false, true) => Some(command!("issue create --debt").session(&session)),
        (false, false) => Some(command!("issue create --debt")),
    };
    if let Some(file) = &file {
        let lead = ui.command(file);
        ui.status(format!("to make issues of what was left: {lead}"));
    }
    let rows: Vec<Value> = sprints.iter().map(document).collect();
    let learned: Vec<&str> = learned.iter().map(said).collect();
    let body = json!({
        "session": session, "sprints": rows, "learned": learned, "debt": left.debt, "file": file,
        "points_a_sprint": points_a_sprint(&sprints),
    });
    ui.json("pipeline retro", &body);
    Ok(Exit::Done)
}

fn counted_points(points: u64) -> String {
    format!("{points} {}", if points == 1 { "point" } else { "points" })
}

/// The points that a sprint completes, over those that have any, to one place.
fn points_a_sprint(sprints: &[Sprint]) -> Option<f64> {
    let points = sprints.iter().filter_map(|sprint| sprint.metrics.points);
    let done: Vec<u64> = points.map(|points| points.completed).collect();
    let count = u32::try_from(done.len()).ok().filter(|count| *count > 0)?;
    let sum: u32 = done
        .iter()
        .try_fold(0_u32, |sum, one| sum.checked_add(u32::try_from(*one).ok()?))?;
    Some((f64::from(sum) * 10.0 / f64::from(count)).round() / 10.0)
}

fn pace(sprints: &[Sprint]) -> Option<String> {
    let pace = points_a_sprint(sprints)?;
    let count = sprints
        .iter()
        .filter(|one| one.metrics.points.is_some())
        .count();
    Some(format!("pace      {pace} points a sprint, over {count}"))
}

fn said(note: &Listed) -> &str {
    &note.text
}

fn head(sprint: &Sprint, ui: &mut Ui) {
    let Metrics {
        completed,
        total,
        velocity,
        ..
    } = sprint.metrics;
    let name = ui.paint(style::NAME, &sprint.sprint);
    let pipeline = line(&sprint.pipeline);
    let points = sprint.metrics.points.map_or_else(String::new, |points| {
        format!(", {} of {} points", points.completed, points.planned)
    });
    ui.out(format!(
        "{name}  {pipeline}  {completed} of {total} done ({velocity}%){points}"
    ));
    if sprint.metrics.slow {
        ui.warn(format!("less than half of {} was completed", sprint.sprint));
    }
}

fn row(entry: &Entry, ui: &mut Ui) {
    let mut said = Vec::new();
    said.extend(entry.role.as_deref().map(line));
    said.extend(entry.by.as_deref().map(line));
    said.extend(entry.points.map(counted_points));
    said.extend(entry.seconds.map(|seconds| format!("{seconds} s")));
    for (count, what) in [
        (entry.attempts.saturating_sub(1), "more attempts"),
        (entry.failures, "failed"),
        (entry.retries, "done again"),
        (entry.rounds, "sent back"),
    ] {
        if count > 0 {
            said.push(format!("{what}: {count}"));
        }
    }
    said.extend(
        entry
            .scores
            .iter()
            .map(|(gate, score)| format!("{gate}: {}", line(score))),
    );
    if !entry.conflicts.is_empty() {
        let ids: Vec<&str> = entry.conflicts.iter().map(|id| id.as_str()).collect();
        said.push(format!("met {}", ids.join(", ")));
    }
    let status = format!("{:<9}", entry.status.as_str());
    let id = ui.paint(style::NAME, entry.task.as_str());
    ui.out(format!("  {status}  {id}  {}", said.join(", ")));
}

fn look_back(sprint: &Sprint, ui: &mut Ui) {
    let metrics = &sprint.metrics;
    if let (Some(median), Some(longest)) = (metrics.median_seconds, metrics.longest_seconds) {
        ui.out(format!(
            "time      {median} s in the middle, {longest} s at most"
        ));
    }
    let rounds = metrics.rounds;
    ui.out(format!(
        "reworks   {}, {rounds} of them repairs that gates inserted",
        metrics.reworks
    ));
    ui.out(format!("conflicts {}", metrics.conflicts));
    if !metrics.recurring.is_empty() {
        ui.out(format!("weakest   {}", line(&metrics.recurring.join(", "))));
    }
    let well = well(sprint);
    if !well.is_empty() {
        ui.out(format!("well      {}", well.join(", ")));
    }
    for entry in sprint.tasks.iter().filter(|entry| is_rework(entry)) {
        let reasons: Vec<String> = entry.reasons.iter().map(|reason| line(reason)).collect();
        let why = if reasons.is_empty() {
            "sent back".to_owned()
        } else {
            reasons.join("; ")
        };
        ui.out(format!("not well  {}: {why}", entry.task));
    }
}

/// The tasks that were completed at the first attempt, and stayed so.
fn well(sprint: &Sprint) -> Vec<&str> {
    let tasks = sprint.tasks.iter();
    let well = tasks.filter(|entry| entry.status == Status::Completed && !is_rework(entry));
    well.map(|entry| entry.task.as_str()).collect()
}

fn is_rework(entry: &Entry) -> bool {
    entry.failures + entry.retries + entry.rounds > 0
}

fn document(sprint: &Sprint) -> Value {
    let failed = sprint.tasks.iter().filter(|entry| is_rework(entry));
    let failed = failed.map(|entry| json!({ "task": entry.task, "reasons": entry.reasons }));
    json!({
        "sprint": sprint.sprint,
        "pipeline": sprint.pipeline,
        "metrics": sprint.metrics,
        "worked": well(sprint),
        "failed": failed.collect::<Vec<Value>>(),
    })
}
