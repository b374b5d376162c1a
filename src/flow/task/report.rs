//! Report on the pipelines of the session that is meant, with the files that tasks left: gathered from the list, its
//! records and the code as it is. Nothing here writes.

use super::outputs::{self, is_of};
use super::{Plan, gates, own_blob};
use crate::flow::context::Context;
use crate::flow::note::filter::Filter;
use crate::flow::note::list::list;
use crate::flow::task_list;
use crate::flow::transaction::{Facts, Needs, gather_here};
use crate::flow::workcopy::{self, WorkCopy};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_rules::artifact::Artifact;
use loopx_rules::lease::seconds_of;
use loopx_rules::op::{Body, Operation};
use loopx_rules::replay::undone;
use loopx_rules::session::State;
use loopx_rules::task::debt::debt;
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::node::{Node, NodeKind, TaskId};
use loopx_rules::task::outputs::FOLDER;
use loopx_rules::task::report::{Counts, Given, Left, Phase, Report, Row};
use loopx_rules::task::status::Status;
use std::collections::{BTreeMap, BTreeSet};

/// A report, and the contents that go beside it, each with its path there.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub report: Report,
    pub files: BTreeMap<String, Oid>,
    /// The first file with an edit that this worktree alone has, and the command that takes the edit in.
    pub unsaved: Option<(String, Hint)>,
}

/// The file of the report, beside the folders of the phases.
pub(crate) const REPORT: &str = "report.md";

/// The report of the session that is meant, also of one that ended.
pub(crate) fn gathered(ctx: &Context) -> Result<Gathered> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let operations = snapshot.operations(&session)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    let plan = Plan::of(&facts)?;
    let own: Vec<usize> = (0..plan.nodes.len())
        .filter(|at| plan.nodes[*at].part.is_some())
        .collect();
    if own.is_empty() {
        let message = format!("no task of session {} comes from a pipeline", plan.state.id);
        let failure = Failure::not_found(Code::PipelineUnknown, message);
        return Err(failure.help(task_list::lead(plan.state)));
    }
    let mut files = BTreeMap::new();
    let state = plan.state;
    let learned = Filter {
        kind: Some("learning".to_owned()),
        ..Filter::default()
    };
    let learned = list(ctx, &learned)?.notes.into_iter();
    let report = Report {
        session: state.id.to_string(),
        title: state.title.clone(),
        pipelines: pipelines(&plan, &own),
        counts: counts(&plan, &own),
        seconds: seconds(&plan, &own, &operations),
        phases: phases(ctx, (&facts, &plan), &own, &mut files)?,
        verdicts: verdicts(&facts, &plan, &own),
        notes: notes(&plan, &own),
        left: debt(state),
        learned: learned.map(|note| note.text).collect(),
    };
    if let Some(blob) = state.artifacts.get(&Artifact::TaskList) {
        files.insert(Artifact::TaskList.path().to_owned(), blob.clone());
    }
    let unsaved = unsaved(ctx, &session.state, own.iter().map(|at| &plan.nodes[*at]))?;
    let unsaved = unsaved.map(|path| {
        let is_amended = path == Artifact::TaskList.path()
            && workcopy::is_amended(Artifact::TaskList, &session.state);
        let way = if is_amended {
            workcopy::closed_list_help(facts.policy.amend_command())
        } else {
            command!("save")
        };
        (path, way)
    });
    Ok(Gathered {
        report,
        files,
        unsaved,
    })
}

/// The list or a file of a task that was edited here and not saved.
fn unsaved<'n>(
    ctx: &Context,
    state: &State,
    nodes: impl Iterator<Item = &'n Node> + Clone,
) -> Result<Option<String>> {
    let copy = WorkCopy::open(&ctx.repo, &state.id)?.filter(|_| state.is_active());
    let Some(copy) = copy.filter(WorkCopy::exists) else {
        return Ok(None);
    };
    let artifacts = copy.statuses(state)?.into_iter();
    let artifacts = artifacts.map(|(artifact, status)| (artifact.path().to_owned(), status));
    let is_list = |path: &str| path == Artifact::TaskList.path();
    let is_left = |node: &Node, path: &str| {
        is_of(node, path) || node.outputs.iter().any(|named| named == path)
    };
    let is_meant = |path: &str| is_list(path) || nodes.clone().any(|node| is_left(node, path));
    let all = artifacts.chain(copy.output_statuses(state)?);
    let mut edited = all.filter(|(path, status)| status.is_edited() && is_meant(path));
    Ok(edited.next().map(|(path, _)| path))
}

fn pipelines(plan: &Plan<'_>, own: &[usize]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in own.iter().filter_map(|at| plan.nodes[*at].part.as_ref()) {
        if !found.contains(&part.pipeline) {
            found.push(part.pipeline.clone());
        }
    }
    found
}

fn is_work(plan: &Plan<'_>, at: usize) -> bool {
    plan.nodes[at].kind == NodeKind::Work
}

fn counts(plan: &Plan<'_>, own: &[usize]) -> Counts {
    let work: Vec<usize> = own
        .iter()
        .copied()
        .filter(|at| is_work(plan, *at))
        .collect();
    let is = |status: Status| {
        work.iter()
            .filter(|at| plan.statuses[**at] == status)
            .count()
    };
    let is_partial = |at: &&usize| {
        let done = plan.facts(**at).and_then(|facts| facts.completion.as_ref());
        plan.statuses[**at] == Status::Completed
            && done.is_some_and(|done| done.value.partial.is_some())
    };
    let is_inserted = |at: &&usize| plan.inserted.contains(&plan.nodes[**at].id.key());
    let completed = is(Status::Completed);
    Counts {
        total: work.len(),
        completed,
        partial: work.iter().filter(is_partial).count(),
        failed: is(Status::Failed),
        skipped: is(Status::Skipped),
        inserted: work.iter().filter(is_inserted).count(),
        percent: completed * 100 / work.len().max(1),
    }
}

/// Seconds from the first claim of a task of them to the last completion.
fn seconds(plan: &Plan<'_>, own: &[usize], operations: &[Operation]) -> Option<i64> {
    let ids: BTreeSet<&TaskId> = own.iter().map(|at| &plan.nodes[*at].id).collect();
    let undone = undone(operations);
    let counting = operations.iter().filter(|op| !undone.contains(&op.op));
    let (mut began, mut ended) = (None, None);
    for op in counting {
        match &op.body {
            Body::Task(TaskEvent::Claimed { task, .. }) if ids.contains(task) => {
                began = began.or_else(|| seconds_of(&op.at));
            }
            Body::Task(TaskEvent::Completed { task, .. }) if ids.contains(task) => {
                ended = seconds_of(&op.at).or(ended);
            }
            _ => {}
        }
    }
    Some((ended? - began?).max(0))
}

fn phases(
    ctx: &Context,
    (facts, plan): (&Facts<'_>, &Plan<'_>),
    own: &[usize],
    files: &mut BTreeMap<String, Oid>,
) -> Result<Vec<Phase>> {
    let mut found: Vec<Phase> = Vec::new();
    for at in own.iter().copied().filter(|at| is_work(plan, *at)) {
        let node = &plan.nodes[at];
        let phase = node.part.as_ref().and_then(|part| part.phase.clone());
        let phase = phase.unwrap_or_default();
        let place = match found.iter().position(|one| one.phase == phase) {
            Some(place) => place,
            None => {
                found.push(Phase {
                    tasks: Vec::new(),
                    phase: phase.clone(),
                });
                found.len() - 1
            }
        };
        let folder = folder(&phase, place);
        let done = plan.facts(at).and_then(|facts| facts.completion.as_ref());
        let done = done.map(|done| &done.value);
        let mut left = Vec::new();
        for output in outputs::outputs(ctx, facts, node, done)? {
            let copy = own_blob(plan.state, &output.path).cloned().map(|blob| {
                let below = output.path.strip_prefix(FOLDER).unwrap_or(&output.path);
                let copy = format!("{folder}/{}", below.trim_start_matches('/'));
                files.insert(copy.clone(), blob);
                copy
            });
            left.push(Left {
                present: output.present || copy.is_some(),
                path: output.path,
                copy,
            });
        }
        found[place].tasks.push(Row {
            task: node.id.clone(),
            title: node.title.clone(),
            role: node.role.clone(),
            status: plan.statuses[at],
            summary: done.and_then(|done| done.summary.clone()),
            partial: done.and_then(|done| done.partial.clone()),
            files: left,
        });
    }
    Ok(found)
}

/// The folder of a phase. A name that no folder can have gives way to its place.
fn folder(phase: &str, place: usize) -> String {
    let is_taken = [REPORT, Artifact::TaskList.path()].contains(&phase);
    match TaskId::parse(phase) {
        Some(_) if !is_taken => phase.to_owned(),
        None if phase.is_empty() => FOLDER.to_owned(),
        _ => format!("phase-{}", place + 1),
    }
}

fn verdicts(facts: &Facts<'_>, plan: &Plan<'_>, own: &[usize]) -> Vec<Given> {
    let given = own.iter().filter_map(|at| {
        let node = &plan.nodes[*at];
        let view = gates::gate(plan, node).filter(|view| view.standing != "open")?;
        let rows = gates::decided(facts, plan, node).into_iter();
        // Of several that were made apart one counts, whichever came last.
        let mut own = rows.filter(|row| {
            let mut beside = view.beside.iter();
            row.task == node.id && !beside.any(|one| one.op == row.op)
        });
        let counts = own.next();
        let opened = plan.facts(*at).and_then(|facts| facts.opened.as_ref());
        let opened = opened.filter(|_| view.standing == "opened");
        let score = counts.as_ref().and_then(|row| row.score);
        Some(Given {
            gate: node.id.clone(),
            title: node.title.clone(),
            standing: view.standing.to_owned(),
            score: score.map(|one| one.to_string()),
            reason: match opened {
                Some(opened) => opened.reason.clone(),
                None => counts.and_then(|row| row.reason),
            },
        })
    });
    given.collect()
}

fn notes(plan: &Plan<'_>, own: &[usize]) -> Vec<String> {
    let gates = own.iter().map(|at| &plan.nodes[*at]);
    let notes = gates.filter_map(|node| Some((node, gates::gate(plan, node)?.notes)));
    let notes = notes.flat_map(|(node, notes)| {
        let said = notes.into_iter();
        said.map(move |note| format!("{}: {note}", node.id))
    });
    notes.collect()
}
