//! `pipeline status`: how far the tasks are that pipelines made, phase by phase. Nothing here writes, and nothing of it
//! is stored: it is the list of tasks, seen as a pipeline.

use crate::flow::context::Context;
use crate::flow::task::{ClaimView, GateView, GraphView, Row, TurnView, graph_of};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_rules::next as completion;
use loopx_rules::stage::Stage;
use loopx_rules::task::graph::Wait;
use loopx_rules::task::node::{OnComplete, TaskId};
use loopx_rules::task::status::Status;
use loopx_store::Session;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The pipelines of a session.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StatusView {
    pub session: SessionId,
    pub pipelines: Vec<String>,
    /// Tasks that somebody does, those among them that gates inserted.
    pub total: usize,
    pub done: usize,
    pub percent: usize,
    pub counts: Counts,
    pub phases: Vec<Phase>,
    /// Tasks that can be taken now.
    pub ready: Vec<TaskId>,
    /// Decisions, goals and checkpoints that can be ended now.
    pub open: Vec<Open>,
    pub working: Vec<Working>,
    /// Tasks taken by somebody whose lease has ended.
    pub orphans: Vec<TaskId>,
    /// Set when nothing is ready, nobody works, and something is left.
    pub stalled: bool,
    /// Stage of the session for which the tasks that are left wait, and for nothing else.
    pub waits_for_stage: Option<Stage>,
    /// Tasks that cannot go on, each along what it waits for.
    pub blocked: Vec<Vec<TaskId>>,
    /// Tasks that wait for each other.
    pub deadlock: Option<Vec<TaskId>>,
    /// Set when no task of the pipelines is left to do.
    pub complete: bool,
    /// Fate of the session once its tasks are done.
    pub on_complete: OnComplete,
    /// Step once the pipelines are complete, or where nothing can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_action: Option<Hint>,
    /// Notes about views that did not agree, and about results that were accepted with warnings.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub completed: usize,
    pub partial: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Number of tasks that gates inserted.
    pub inserted: usize,
}

/// A part of a pipeline: groups of tasks, one behind the other.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Phase {
    pub phase: String,
    pub beats: Vec<Vec<Mark>>,
}

/// Task in its place in a phase.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Mark {
    pub task: TaskId,
    pub status: Status,
    /// `V` done, `>>>` taken, `o` to be done, `x` failed, `-` skipped.
    pub mark: &'static str,
    /// Gates that judge the task: `D1` for a round of discussion, else the id.
    pub judged_by: Vec<String>,
}

/// Decision, goal or checkpoint that is to be decided or opened.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Open {
    pub task: TaskId,
    pub kind: &'static str,
    /// Set when the gate waits for a person.
    pub person: bool,
    #[serde(skip)]
    pub lead: Hint,
}

impl Open {
    fn of(row: &Row) -> Self {
        let escalates = |gate: &GateView| gate.standing == "escalate";
        Open {
            task: row.task.clone(),
            kind: row.kind,
            person: row.kind == "checkpoint" || row.gate.as_ref().is_some_and(escalates),
            lead: row.lead.clone(),
        }
    }
}

/// Claim of a task, with the task and its role.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Working {
    pub task: TaskId,
    pub role: Option<String>,
    #[serde(flatten)]
    pub claim: ClaimView,
    pub elapsed: i64,
    pub turn: Option<TurnView>,
}

impl Working {
    fn of(row: &Row) -> Option<Self> {
        Some(Working {
            task: row.task.clone(),
            role: row.role.clone(),
            claim: row.claim.clone()?,
            elapsed: row.elapsed.unwrap_or(0),
            turn: row.turn.clone(),
        })
    }
}

/// A failure for want of an active session, with the session that was archived last as the way on.
fn to_archived(ctx: &Context, failure: Failure) -> Failure {
    if failure.code != Code::NoActiveSession {
        return failure;
    }
    // One that landed has no branch any more.
    let last = || -> Option<Session> {
        let store = ctx.store().ok()?;
        let snapshot = store.read().ok()??;
        let own = ctx.last_archived(&snapshot).ok()?;
        own.or_else(|| snapshot.archived_lately().ok()?.into_iter().next())
    };
    let Some(id) = last().map(|session| session.state.id) else {
        return failure;
    };
    let status = command!("pipeline status").session(&id);
    let begin = failure.help.clone().unwrap_or_default();
    failure.help(hint![status.note("(which is archived)"), "  or: ", begin])
}

/// Reports how far the pipelines of the session that is meant are.
pub(crate) fn status(ctx: &Context) -> Result<StatusView> {
    let view = graph_of(ctx, None).map_err(|failure| to_archived(ctx, failure))?;
    let rows = tied(&view.nodes);
    if rows.is_empty() {
        let message = format!("no task of session {} comes from a pipeline", view.session);
        let failure = Failure::not_found(Code::PipelineUnknown, message);
        return Err(failure.help(command!("task list")));
    }
    let mut status = of(&view, &rows);
    if status.complete || status.stalled {
        let advised = crate::flow::next::of(ctx)?.advised;
        // A session that ended leads nowhere.
        let leads = advised.next != completion::Next::Nothing;
        status.next_action = leads.then(|| advised.into_hint());
    }
    Ok(status)
}

/// The tasks of pipelines, and those that somebody put before or behind them since.
fn tied(all: &[Row]) -> Vec<&Row> {
    let own = all.iter().filter(|row| row.pipeline.is_some());
    let mut known: HashSet<&TaskId> = own.map(|row| &row.task).collect();
    let mut near: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
    for (row, on) in all
        .iter()
        .flat_map(|row| row.depends_on.iter().map(move |on| (row, on)))
    {
        near.entry(&row.task).or_default().push(on);
        near.entry(on).or_default().push(&row.task);
    }
    let mut left: Vec<&TaskId> = known.iter().copied().collect();
    while let Some(id) = left.pop() {
        let next = near.get(id).into_iter().flatten().copied();
        left.extend(next.filter(|next| known.insert(next)));
    }
    all.iter().filter(|row| known.contains(&row.task)).collect()
}

fn of(view: &GraphView, rows: &[&Row]) -> StatusView {
    let is_work = |row: &&Row| row.kind == "work";
    let work: Vec<&Row> = rows.iter().copied().filter(is_work).collect();
    let done = work.iter().filter(|row| row.status.is_terminal()).count();
    let ids: HashSet<&TaskId> = rows.iter().map(|row| &row.task).collect();
    let own = |id: &TaskId| ids.contains(id);
    let ready = rows.iter().copied().filter(|row| row.ready);
    let (ready, open): (Vec<&Row>, Vec<&Row>) = ready.partition(is_work);
    let orphans = rows.iter();
    let orphans = orphans.filter(|row| row.claim.as_ref().is_some_and(|claim| !claim.alive));
    let completion = completed(rows);
    let stage = rows.iter().find_map(|row| match row.waits.as_slice() {
        [Wait::Stage { stage }] => Some(*stage),
        _ => None,
    });
    StatusView {
        session: view.session.clone(),
        pipelines: names(rows),
        total: work.len(),
        done,
        percent: done * 100 / work.len().max(1),
        counts: counts(&work),
        phases: phases(rows, &work),
        ready: ready.iter().map(|row| row.task.clone()).collect(),
        open: open.into_iter().map(Open::of).collect(),
        working: rows.iter().filter_map(|row| Working::of(row)).collect(),
        orphans: orphans.map(|row| row.task.clone()).collect(),
        stalled: view.stalled && stage.is_none(),
        waits_for_stage: stage,
        blocked: view
            .blocked
            .iter()
            .filter(|chain| chain.first().is_some_and(own))
            .cloned()
            .collect(),
        deadlock: view.cycle.clone(),
        notes: notes(rows),
        complete: completion.is_some(),
        on_complete: completion.map_or_else(|| wanted(rows), |done| done.on_complete),
        next_action: None,
    }
}

/// Names of the pipelines that tasks come from, once each.
fn names(rows: &[&Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().filter_map(|row| row.pipeline.as_ref()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn counts(work: &[&Row]) -> Counts {
    let is = |status: Status| work.iter().filter(|row| row.status == status).count();
    Counts {
        completed: is(Status::Completed),
        partial: work.iter().filter(|row| is_partial(row)).count(),
        failed: is(Status::Failed),
        skipped: is(Status::Skipped),
        inserted: work.iter().filter(|row| row.inserted).count(),
    }
}

/// Notes of gates, each behind the id of its gate.
fn notes(rows: &[&Row]) -> Vec<String> {
    let gates = rows
        .iter()
        .filter_map(|row| Some((row, row.gate.as_ref()?)));
    let notes = gates.flat_map(|(row, gate)| {
        let notes = gate.notes.iter();
        notes.map(|note| format!("{}: {note}", row.task))
    });
    notes.collect()
}

/// Completion of the pipelines, once no task is left to do.
fn completed(rows: &[&Row]) -> Option<completion::Completion> {
    let of_pipelines = rows.iter().filter_map(|row| {
        Some(completion::Of {
            pipeline: row.pipeline.as_deref()?,
            on_complete: row.on_complete?,
            status: row.status,
            is_partial: row.partial.is_some(),
        })
    });
    let is_over = rows.iter().all(|row| row.status.is_terminal());
    completion::completion(of_pipelines).filter(|_| is_over)
}

/// Fate of the session that its pipelines agree on; a person chooses where they differ.
fn wanted(rows: &[&Row]) -> OnComplete {
    let mut wanted: Vec<OnComplete> = rows.iter().filter_map(|row| row.on_complete).collect();
    wanted.dedup();
    match wanted.as_slice() {
        [wanted] => *wanted,
        _ => OnComplete::Interactive,
    }
}

/// Tells whether a completed task left something undone.
fn is_partial(row: &Row) -> bool {
    row.status == Status::Completed && row.partial.is_some()
}

/// The tasks by phase, in groups by how many tasks stand before each.
fn phases(rows: &[&Row], work: &[&Row]) -> Vec<Phase> {
    let depths = depths(rows);
    let judges = judges(rows);
    let mut found: Vec<(String, BTreeMap<usize, Vec<Mark>>)> = Vec::new();
    for row in work {
        let phase = row.phase.clone().unwrap_or_default();
        let at = match found.iter().position(|(known, _)| *known == phase) {
            Some(at) => at,
            None => {
                found.push((phase, BTreeMap::new()));
                found.len() - 1
            }
        };
        let depth = depths.get(&row.task).copied().unwrap_or(0);
        found[at]
            .1
            .entry(depth)
            .or_default()
            .push(mark(row, &judges));
    }
    let phases = found.into_iter().map(|(phase, beats)| Phase {
        phase,
        beats: beats.into_values().collect(),
    });
    phases.collect()
}

/// Gates that judge each task: `D1` for a round of discussion, else the id. Of gates that are decided in each other's
/// place the first one.
fn judges<'r>(rows: &[&'r Row]) -> HashMap<&'r TaskId, Vec<String>> {
    let mut found: HashMap<&TaskId, Vec<String>> = HashMap::new();
    let mut known: HashSet<(&TaskId, &str)> = HashSet::new();
    for (row, gate) in rows
        .iter()
        .filter_map(|row| Some((row, row.gate.as_ref()?)))
    {
        let name = match row.round {
            Some(round) => format!("D{round}"),
            None => row.task.to_string(),
        };
        let root = match row.task.as_str().rsplit_once('.') {
            Some((root, _)) if gate.attempt > 0 => root,
            _ => row.task.as_str(),
        };
        for judged in &gate.judges {
            if known.insert((judged, root)) {
                found.entry(judged).or_default().push(name.clone());
            }
        }
    }
    found
}

fn mark(row: &Row, judges: &HashMap<&TaskId, Vec<String>>) -> Mark {
    let mut judged_by = judges.get(&row.task).cloned().unwrap_or_default();
    judged_by.dedup();
    Mark {
        task: row.task.clone(),
        status: row.status,
        mark: match row.status {
            Status::Completed | Status::Superseded => "V",
            Status::Claimed => ">>>",
            Status::Pending => "o",
            Status::Failed => "x",
            Status::Skipped => "-",
        },
        judged_by,
    }
}

/// The length of the longest chain of tasks that ends in each. A cycle, which only a merge makes, has none.
fn depths(rows: &[&Row]) -> HashMap<TaskId, usize> {
    let places: HashMap<&TaskId, usize> =
        (0..).zip(rows).map(|(at, row)| (&row.task, at)).collect();
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut open: Vec<usize> = vec![0; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        for on in row.depends_on.iter().filter_map(|id| places.get(id)) {
            behind[*on].push(at);
            open[at] += 1;
        }
    }
    let mut before = vec![0; rows.len()];
    let mut free: Vec<usize> = (0..rows.len()).filter(|at| open[*at] == 0).collect();
    let mut found = HashMap::new();
    while let Some(at) = free.pop() {
        let own = before[at] + usize::from(rows[at].kind == "work");
        found.insert(rows[at].task.clone(), own);
        for next in &behind[at] {
            before[*next] = before[*next].max(own);
            open[*next] -= 1;
            if open[*next] == 0 {
                free.push(*next);
            }
        }
    }
    found
}
