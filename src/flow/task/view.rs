//! Reading tasks: the list, one task, the graph, and what happened. Nothing here writes.

use super::gates::{self, DecisionRow, GateView};
use super::outputs::{self, Output};
use super::{Plan, named, unknown};
use crate::flow::context::Context;
use crate::flow::transaction::{Facts, Needs, gather_here, texts_here};
use crate::flow::watched::Watched;
use crate::flow::{bound_here, lease, next, world};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, Verb};
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_base::working_tree::ReviewedCode;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::{CodeFacts, is_earned, lead_of};
use loopx_rules::lease::{clock, seconds_of};
use loopx_rules::next::Advised;
use loopx_rules::op::{Body, Event, Operation};
use loopx_rules::session::{Ending, Stamped, State};
use loopx_rules::stage::Stage;
use loopx_rules::task::card::Card;
use loopx_rules::task::early::Early;
use loopx_rules::task::event::{Claim, TaskEvent};
use loopx_rules::task::graph::{Graph, Wait};
use loopx_rules::task::node::{Node, NodeKind, OnComplete, Risk, TaskId, thing};
use loopx_rules::task::plan;
use loopx_rules::task::status::{Aside, Status, Step, TaskFacts};
use serde::Serialize;
use std::collections::BTreeMap;

/// Claim on a task: who has it, and until when.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClaimView {
    pub by: String,
    pub agent: Option<String>,
    /// Set when the claim is this worktree's.
    pub here: bool,
    pub since: String,
    pub until: String,
    /// Set when the lease is still running.
    pub alive: bool,
    /// Words for whoever has the task.
    #[serde(skip)]
    pub words: String,
}

/// Task as a row of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub task: TaskId,
    pub title: String,
    pub kind: &'static str,
    pub role: Option<String>,
    /// Part of the work that the task belongs to, and how likely others change the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_risk: Option<Risk>,
    pub priority: u32,
    pub status: Status,
    /// Set when no record speaks of the task: it is done by what passed on this code.
    pub by_evidence: bool,
    /// Set when a record completes the task that no command writes: it does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unearned: bool,
    /// Records about the task that do not count, because their steps were taken before they could be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub early: Vec<Early>,
    /// Set when a person let a checkpoint pass, and what they looked at is not there, or was done anew since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reopened: bool,
    pub ready: bool,
    pub waits: Vec<Wait>,
    pub depends_on: Vec<TaskId>,
    /// Tasks of `depends_on` that let the task go on where they are skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub optional: Vec<TaskId>,
    /// Stage that waits for the task.
    pub stage: Stage,
    /// Task of which this one is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Files that the task says it touches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Things of which only one task has one at a time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<String>,
    pub claim: Option<ClaimView>,
    pub failures: u32,
    pub cap: u32,
    /// Work that is left of a task that was completed in part.
    pub partial: Option<String>,
    pub reason: Option<String>,
    /// Task because of which this one is skipped, where no record of its own says so.
    pub skipped_by: Option<TaskId>,
    /// Time for which the task may be had, where somebody has it and that is bounded.
    pub turn: Option<TurnView>,
    /// Number of seconds that somebody has had the task.
    pub elapsed: Option<i64>,
    /// Pipeline that the task came from, its part of that, and the number of a discussion.
    pub pipeline: Option<String>,
    /// Fate of the session once the pipeline is done.
    #[serde(skip)]
    pub on_complete: Option<OnComplete>,
    pub phase: Option<String>,
    pub round: Option<u64>,
    /// Set when a gate inserted the task.
    pub inserted: bool,
    /// Files that the task left and that have another content since it was completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs_changed: Vec<String>,
    /// Files of the task that several wrote apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs_apart: Vec<String>,
    /// State of the task's check on this code; nothing where it has none.
    pub proof: Option<loopx_rules::gate::Proof>,
    /// Steps that others took with the task at the same time, and that do not count.
    pub beside: Vec<Stamped<Aside>>,
    /// Gate of the task, and how it stands, where the task is a decision or a goal.
    pub gate: Option<GateView>,
    /// Command that leads on from where the task is.
    #[serde(skip)]
    pub lead: Hint,
}

/// The time of whoever has a task.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TurnView {
    /// Number of seconds that they have had the task.
    pub elapsed: i64,
    pub limit: u32,
    pub grace: u32,
    /// Set when they are asked to finish: save what is there, and say what is left.
    pub asked_to_finish: bool,
    /// Set when the task is free for others.
    pub over: bool,
}

fn elapsed(ctx: &Context, plan: &Plan<'_>, at: usize) -> Option<i64> {
    let claim = plan.facts(at)?.holder()?;
    Some(ctx.now().saturating_sub(seconds_of(&claim.signed.at)?))
}

/// The time of whoever has a task; nothing where it is not bounded, or where nobody has it.
fn turn(ctx: &Context, plan: &Plan<'_>, at: usize) -> Option<TurnView> {
    let turn = plan.nodes[at].turn?;
    let elapsed = elapsed(ctx, plan, at)?;
    Some(TurnView {
        elapsed,
        limit: turn.limit,
        grace: turn.grace,
        asked_to_finish: elapsed >= i64::from(turn.limit),
        over: elapsed >= i64::from(turn.seconds()),
    })
}

/// The tasks of a session.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub session: SessionId,
    /// The code that the checks were judged on.
    pub tree: Option<Oid>,
    pub done: usize,
    pub stalled: bool,
    pub tasks: Vec<Row>,
    /// The step that leads on, where a task is ready.
    pub advised: Option<Advised>,
    /// Tasks that amendments took out of the list.
    pub dropped: Vec<DroppedRow>,
}

/// A task that an amendment took out of the list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DroppedRow {
    pub task: TaskId,
    pub title: String,
    /// `CHG-001`.
    pub change: String,
    pub reason: Option<String>,
}

/// Task with its card.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskView {
    #[serde(flatten)]
    pub row: Row,
    pub card: Card,
    pub completion: Option<Stamped<loopx_rules::task::event::Completion>>,
    pub failure: Option<String>,
    /// Files that the plan says the task leaves, and what else lies in its folder.
    pub outputs: Vec<Output>,
    /// Decisions about the task, and about those in whose place it is decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionRow>,
    /// Steps that lead on from where the task is.
    pub steps: Vec<Step>,
}

/// Event in the history of a task.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Happened {
    pub seq: u64,
    pub op: OpId,
    pub at: String,
    pub by: String,
    pub task: TaskId,
    /// The step that somebody took, or `run`: its check was run.
    pub step: &'static str,
    pub reason: Option<String>,
    pub undone: bool,
    /// Files that the task was completed with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Exit code of a run of the task's check; nothing where no exit code came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

/// The graph, as a view needs it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GraphView {
    pub session: SessionId,
    pub nodes: Vec<Row>,
    /// Groups that can run side by side, one after the other.
    pub waves: Vec<Vec<TaskId>>,
    /// The longest chain of what is not done.
    pub critical: Vec<TaskId>,
    /// Tasks that cannot go on, each along what it waits for.
    pub blocked: Vec<Vec<TaskId>>,
    pub stalled: bool,
    /// Tasks that wait for each other, as only a merge makes them.
    pub cycle: Option<Vec<TaskId>>,
}

/// Resource that only one task can have at a time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Resource {
    pub resource: String,
    /// Tasks that have the resource; several only where clones took their tasks apart.
    pub held: Vec<TaskTaken>,
    /// Tasks that want the resource next and are not done.
    pub wanted: Vec<TaskId>,
}

/// Resources that the tasks of the session have for themselves, and who has them.
pub(crate) fn resources(ctx: &Context) -> Result<(SessionId, Vec<Resource>)> {
    read(ctx, None, |_, plan, _| {
        let mut found: BTreeMap<String, Resource> = BTreeMap::new();
        for (at, node) in plan.nodes.iter().enumerate() {
            for name in &node.exclusive {
                let row = found.entry(thing(name)).or_insert_with(|| Resource {
                    resource: name.trim().to_owned(),
                    held: Vec::new(),
                    wanted: Vec::new(),
                });
                match (
                    plan.statuses[at],
                    plan.facts(at).and_then(TaskFacts::holder),
                ) {
                    (Status::Claimed, Some(claim)) => row.held.push(TaskTaken {
                        task: node.id.clone(),
                        claim: view(ctx, claim, plan.watched),
                    }),
                    (Status::Pending | Status::Failed, _) => row.wanted.push(node.id.clone()),
                    _ => {}
                }
            }
        }
        Ok((named(plan.state), found.into_values().collect()))
    })
}

/// The commit and the tree that an archived session was approved with, whatever came since.
fn of_the_end(state: &State) -> Option<(Option<Oid>, Oid)> {
    let is_archived = matches!(state.ending, Some(Ending::Archived { .. }));
    let judged = state.verdict.as_ref().filter(|_| is_archived)?;
    Some((judged.value.head.clone(), judged.value.tree.clone()))
}

/// Reads the session that is meant, and judges its checks on the code here or of a branch; once it is archived, on the
/// code that was approved.
pub(super) fn read<T>(
    ctx: &Context,
    branch: Option<&str>,
    show: impl FnOnce(&Facts<'_>, &Plan<'_>, &Graph<'_>) -> Result<T>,
) -> Result<T> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let mut facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    let code = match branch {
        Some(branch) => {
            let head = ctx.repo.resolve_commit(branch)?;
            let tree = ctx.repo.commit_info(&head)?.tree;
            Some((Some(head), tree))
        }
        None => of_the_end(&facts.state),
    };
    if let Some((head, tree)) = code {
        facts.code = Some(CodeFacts {
            tree,
            head,
            is_dirty: false,
            uncommitted: Vec::new(),
            reviewed: ReviewedCode::default(),
        });
        facts.world = world::seen(ctx, (&snapshot, &session), &facts)?;
        world::hear(&mut facts);
    }
    let plan = Plan::of(&facts)?;
    let graph = Graph::of(&plan.nodes);
    show(&facts, &plan, &graph)
}

/// The tasks of the session that is meant. `branch` judges the checks on the code of a branch.
pub(crate) fn list(ctx: &Context, branch: Option<&str>) -> Result<Rows> {
    read(ctx, branch, |facts, plan, graph| {
        let rows = rows(ctx, plan, graph);
        let ready = rows.iter().find(|row| row.ready);
        Ok(Rows {
            session: named(plan.state),
            advised: ready
                .map(|row| taken_by(ctx, plan.state, row))
                .transpose()?,
            tree: facts.code.as_ref().map(|code| code.tree.clone()),
            done: match branch {
                Some(_) => (0..plan.nodes.len()).filter(|at| holds(plan, *at)).count(),
                None => plan.statuses.iter().filter(|one| one.is_terminal()).count(),
            },
            stalled: graph.is_stalled(plan.now()),
            tasks: rows,
            dropped: dropped(plan, graph),
        })
    })
}

/// The step behind a task that is ready: to take it; else what is next for whoever asks, here.
fn taken_by(ctx: &Context, state: &State, row: &Row) -> Result<Advised> {
    let lead = row.lead.command();
    let is_take = lead.is_some_and(|lead| lead.verb() == Verb::Take);
    advised(ctx, state, is_take.then(|| row.lead.clone()))
}

/// A step, where this worktree may take it; else what is next for whoever asks, here.
pub(super) fn advised(ctx: &Context, state: &State, step: Option<Hint>) -> Result<Advised> {
    match step {
        Some(step) if bound_here::require_no_other(ctx, state).is_ok() => Ok(step.into()),
        _ => next::of_session(ctx, &state.id),
    }
}

/// Test for a task that is done on the code that is looked at: its check, where it has one, says so there.
fn holds(plan: &Plan<'_>, at: usize) -> bool {
    match plan.statuses[at] {
        Status::Completed => plan.proof(at).is_none() || plan.is_proven(at),
        status => status.is_terminal(),
    }
}

/// Reads a task and its card.
pub(crate) fn show(ctx: &Context, task: Option<&str>) -> Result<TaskView> {
    read(ctx, None, |all, plan, graph| {
        let owner = lease::owner(&ctx.repo, None)?;
        let at = plan.meant(graph, task, &owner)?;
        let facts = plan.facts(at);
        let failure = facts.and_then(|facts| facts.failure.as_ref());
        Ok(TaskView {
            row: {
                let waits = match plan.statuses[at] {
                    Status::Pending => graph.waits(at, plan.now()),
                    _ => Vec::new(),
                };
                row(ctx, plan, at, waits)
            },
            card: plan.card(ctx, graph, at),
            completion: facts
                .filter(|_| {
                    plan.nodes[at].kind == NodeKind::Work || plan.statuses[at].is_terminal()
                })
                .and_then(|facts| facts.completion.clone()),
            outputs: {
                let done = facts.and_then(|facts| facts.completion.as_ref());
                outputs::outputs(ctx, all, &plan.nodes[at], done.map(|done| &done.value))?
            },
            failure: failure.and_then(|failure| failure.reason.clone()),
            steps: gates::steps(plan, at)
                .unwrap_or_else(|| plan.state.task_status(&plan.nodes[at].id).steps().collect()),
            decisions: gates::decided(all, plan, &plan.nodes[at]),
        })
    })
}

/// The graph with its waves, at most `limit` tasks in one.
pub(crate) fn graph_of(ctx: &Context, limit: Option<usize>) -> Result<GraphView> {
    read(ctx, None, |_, plan, graph| {
        let id = |at: &usize| plan.nodes[*at].id.clone();
        let all = |places: Vec<usize>| -> Vec<TaskId> { places.iter().map(id).collect() };
        let statuses = &plan.statuses;
        Ok(GraphView {
            session: named(plan.state),
            waves: graph.waves(statuses, limit).into_iter().map(all).collect(),
            critical: all(graph.critical_path(statuses)),
            blocked: graph.blocked(statuses).into_iter().map(all).collect(),
            stalled: graph.is_stalled(plan.now()),
            cycle: graph.cycle(),
            nodes: rows(ctx, plan, graph),
        })
    })
}

/// Events of the tasks of the session that is meant, oldest first; or of one of them.
pub(crate) fn log(ctx: &Context, task: Option<&str>) -> Result<(SessionId, Vec<Happened>)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let operations = snapshot.operations(&session)?;
    let undone = loopx_rules::replay::undone(&operations);
    let wanted = task
        .map(|name| known(ctx, &session.state, name))
        .transpose()?;
    let is_wanted = |id: &TaskId| wanted.as_ref().is_none_or(|key| *key == id.key());
    let happened = |op: &Operation| {
        let (task, step, exit) = match &op.body {
            Body::Task(event) => (event.task().clone(), event.step().as_str(), None),
            Body::Session(body) => match &body.event {
                Event::Ran { evidence } => {
                    let task = evidence.task.as_deref().and_then(TaskId::parse)?;
                    (task, "run", evidence.exit)
                }
                _ => return None,
            },
            _ => return None,
        };
        is_wanted(&task).then(|| Happened {
            seq: op.seq,
            op: op.op.clone(),
            at: op.at.clone(),
            by: op.by.to_string(),
            task,
            step,
            reason: op.reason.clone(),
            undone: undone.contains(&op.op),
            outputs: match &op.body {
                Body::Task(TaskEvent::Completed { done, .. }) => {
                    done.outputs.keys().cloned().collect()
                }
                _ => Vec::new(),
            },
            exit,
        })
    };
    Ok((
        named(&session.state),
        operations.iter().filter_map(happened).collect(),
    ))
}

/// The key of a task that somebody names. Refused where neither the plan nor a record knows it.
fn known(ctx: &Context, state: &State, name: &str) -> Result<String> {
    let (policy, _) = ctx.policy_if_there(state)?;
    let texts = texts_here(ctx, state, &policy)?;
    let nodes = plan::now(&texts, state).unwrap_or_default();
    if let Some(id) = TaskId::parse(name)
        && (state.task(&id).is_some() || nodes.iter().any(|node| node.id.key() == id.key()))
    {
        return Ok(id.key());
    }
    Err(unknown(
        state,
        name,
        nodes.iter().map(|node| node.id.as_str()),
    ))
}

/// Tasks that amendments dropped, and no later one brought back.
fn dropped(plan: &Plan<'_>, graph: &Graph<'_>) -> Vec<DroppedRow> {
    let mut found: Vec<DroppedRow> = Vec::new();
    for (change, one) in plan.state.amended() {
        let reason = one.approval.by.first().and_then(|by| by.reason.clone());
        for dropped in &one.amendment.dropped {
            found.retain(|row| row.task.key() != dropped.task.key());
            found.push(DroppedRow {
                task: dropped.task.clone(),
                title: dropped.title.clone(),
                change: change.clone(),
                reason: reason.clone(),
            });
        }
    }
    found.retain(|row| graph.find(&row.task).is_none());
    found
}

fn rows(ctx: &Context, plan: &Plan<'_>, graph: &Graph<'_>) -> Vec<Row> {
    let waits = graph.all_waits(plan.now()).into_iter();
    waits
        .enumerate()
        .map(|(at, waits)| row(ctx, plan, at, waits))
        .collect()
}

fn row(ctx: &Context, plan: &Plan<'_>, at: usize, waits: Vec<Wait>) -> Row {
    let node: &Node = &plan.nodes[at];
    let facts = plan.facts(at);
    let status = plan.statuses[at];
    let of = |get: fn(&TaskFacts) -> u32| facts.map_or(0, get);
    Row {
        task: node.id.clone(),
        title: node.title.clone(),
        kind: node.kind.as_str(),
        role: node.role.clone(),
        domain: node.domain().map(str::to_owned),
        conflict_risk: node.shared.as_ref().and_then(|shared| shared.risk),
        priority: node.priority,
        by_evidence: node.gate.is_none()
            && status == Status::Completed
            && status != plan.state.task_status(&node.id),
        unearned: status == Status::Failed && !is_earned(node, plan.state),
        early: {
            let own = plan
                .early
                .iter()
                .filter(|one| one.is_word() && one.task == node.id);
            own.cloned().collect()
        },
        reopened: node.kind == NodeKind::Checkpoint
            && facts.is_some_and(|facts| facts.completion.is_some())
            && status == Status::Pending
            && facts.is_some_and(|facts| facts.status == Status::Completed),
        ready: status == Status::Pending && waits.is_empty() && plan.state.is_active(),
        status,
        waits,
        depends_on: node.depends_on.iter().map(|edge| edge.on.clone()).collect(),
        optional: {
            let edges = node.depends_on.iter().filter(|edge| edge.optional);
            edges.map(|edge| edge.on.clone()).collect()
        },
        stage: node.stage,
        parent: node.parent.clone(),
        files: node.own_files().map(str::to_owned).collect(),
        exclusive: node.exclusive.clone(),
        claim: facts
            .and_then(TaskFacts::holder)
            .map(|claim| view(ctx, claim, plan.watched)),
        failures: of(|facts| facts.failures),
        cap: node.cap,
        partial: facts.and_then(TaskFacts::partial).map(str::to_owned),
        reason: match plan.because(at) {
            Some(cause) => Some(format!("because of {cause}")),
            None => facts.and_then(|facts| facts.last.reason.clone()),
        },
        skipped_by: plan.because(at).cloned(),
        turn: turn(ctx, plan, at),
        elapsed: elapsed(ctx, plan, at),
        pipeline: node.part.as_ref().map(|part| part.pipeline.clone()),
        on_complete: node.part.as_ref().map(|part| part.on_complete),
        phase: node.part.as_ref().and_then(|part| part.phase.clone()),
        round: node.part.as_ref().and_then(|part| part.round),
        inserted: plan.inserted.contains(&node.id.key()),
        outputs_changed: outputs_changed(plan.state, facts),
        outputs_apart: {
            let own = plan.state.outputs_of(node.id.as_str());
            let apart = own.filter(|(_, versions)| versions.len() > 1);
            apart.map(|(path, _)| path.to_owned()).collect()
        },
        proof: plan.proof(at),
        beside: facts.map_or_else(Vec::new, |facts| facts.beside.clone()),
        gate: gates::gate(plan, node),
        lead: lead_of(node, status, plan.state),
    }
}

/// Files that the completion of a task rests on, and that are others by now.
fn outputs_changed(state: &State, facts: Option<&TaskFacts>) -> Vec<String> {
    let facts = facts.filter(|facts| facts.status == Status::Completed);
    let done = facts.and_then(|facts| facts.completion.as_ref());
    done.map_or_else(Vec::new, |done| {
        let changed = done.value.outputs_changed(state);
        changed.map(str::to_owned).collect()
    })
}

fn view(ctx: &Context, claim: &Stamped<Claim>, watched: &Watched) -> ClaimView {
    let ends = watched.until(claim);
    ClaimView {
        by: claim.signed.by.to_string(),
        agent: claim.value.agent.clone(),
        here: watched.is_here(claim),
        since: claim.signed.at.clone(),
        until: clock(ends),
        alive: ends > ctx.now(),
        words: watched.whose(claim),
    }
}

/// A task that somebody has.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskTaken {
    pub task: TaskId,
    #[serde(flatten)]
    pub claim: ClaimView,
}

/// A task with several results, of which one counts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskApart {
    pub task: TaskId,
    /// People who have the other results.
    pub by: Vec<String>,
}

/// The tasks with results that were made apart and that nobody has settled.
pub(crate) fn apart(state: &State) -> Vec<TaskApart> {
    let apart = |facts: &TaskFacts| {
        let by = facts.results_beside();
        let by: Vec<String> = by.map(|aside| aside.signed.by.to_string()).collect();
        (!by.is_empty()).then(|| TaskApart {
            task: facts.id.clone(),
            by,
        })
    };
    state.tasks.values().filter_map(apart).collect()
}

/// The tally of a list of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Tasks that nobody has to do any more.
    pub done: usize,
    pub all: usize,
    /// The first of those that `take` gives.
    pub ready: Option<TaskId>,
}

/// The tally of a session whose stage works by a list; nothing where it has none that can be read.
pub(crate) fn tally(facts: &Facts<'_>) -> Option<Tally> {
    let is_at_work = matches!(facts.state.stage, Stage::Build | Stage::Review);
    let has_list = facts.texts.get(&Artifact::TaskList).is_some();
    if !is_at_work || !has_list || !facts.state.is_active() {
        return None;
    }
    let plan = Plan::of(facts).ok()?;
    let graph = Graph::of(&plan.nodes);
    let mut ready = graph.ready(plan.now()).into_iter();
    let ready = ready.find(|at| !graph.is_persons(*at));
    Some(Tally {
        done: plan.statuses.iter().filter(|one| one.is_terminal()).count(),
        all: plan.nodes.len(),
        ready: ready.map(|at| plan.nodes[at].id.clone()),
    })
}

/// The tasks that somebody has.
pub(crate) fn claimed(ctx: &Context, state: &State) -> Vec<TaskTaken> {
    let watched = Watched::of(&ctx.repo, state, ctx.now());
    let taken = |facts: &TaskFacts| {
        Some(TaskTaken {
            task: facts.id.clone(),
            claim: view(ctx, facts.holder()?, &watched),
        })
    };
    state.tasks.values().filter_map(taken).collect()
}
