//! The backlog: issues are made, changed, claimed, ended and read. What is true of an issue and what it waits for, the
//! core decides; where it lies, the store knows.
//!
//! Each command is one commit, and what it decides is decided anew where another writer was faster. No command of the
//! backlog looks at a worktree's files.

pub(crate) mod apart;
pub(crate) mod audit;
mod beside;
pub(crate) mod board;
pub(crate) mod change;
pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod debt;
pub(crate) mod diff;
pub(crate) mod duplicates;
pub(crate) mod end;
pub(crate) mod endings;
pub(crate) mod export;
pub(crate) mod failure;
pub(crate) mod follow_ups;
pub(crate) mod import;
mod later;
mod names;
pub(crate) mod queue;
pub(crate) mod repeat;
pub(crate) mod report;
pub(crate) mod roadmap;
mod same;
pub(crate) mod scope;
pub(crate) mod sessions;
pub(crate) mod solution;
mod sound;
pub(crate) mod stats;
pub(crate) mod template;
pub(crate) mod then;
mod tree;
pub(crate) mod undo;
pub(crate) mod view;
mod ways;

pub(crate) use names::Names;

use super::context::Context;
use super::write_scope::{Opening, first, new_uid, seal};
use super::{publish, trust, watched};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, OpId};
use loopx_git::Identity;
use loopx_rules::agent_identity as agent;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::needs::require_step;
use loopx_rules::issue::{Backlog, Issue, IssueId, Read, Status};
use loopx_rules::note::Note;
use loopx_rules::op::{Body, Operation};
use loopx_rules::record::Draft;
use loopx_rules::words::Word;
use loopx_store::{Committed, Decision, Edits, Issues, Linear, Snapshot, issue_message};
use serde::Serialize;
use std::collections::HashMap;

/// The records that a command writes of issues, in the order in which they are written.
pub(super) struct Plan<T> {
    /// Words for what happened, in the commit's subject behind the id.
    pub what: String,
    pub reason: Option<String>,
    pub steps: Vec<Step>,
    pub value: T,
}

/// A record that is to be written.
pub(super) struct Step {
    pub id: IssueId,
    /// The issue as it is; nothing for one that comes to be.
    pub before: Option<Issue>,
    pub body: Content,
    /// The reason of this record, where it is another than the plan's.
    pub reason: Option<String>,
}

/// Maker of a content from the records that the same command has written of its issue.
type FromRecords = dyn Fn(&[Operation]) -> Body;

/// Content of a record.
pub(super) enum Content {
    Known(Box<Body>),
    /// Content that names records which the same command writes of the issue before it.
    Behind(Box<FromRecords>),
}

impl From<IssueEvent> for Content {
    fn from(event: IssueEvent) -> Self {
        Content::Known(Box::new(event.into()))
    }
}

impl From<Word> for Content {
    fn from(word: Word) -> Self {
        Content::Known(Box::new(word.into()))
    }
}

impl From<Note> for Content {
    fn from(note: Note) -> Self {
        Content::Known(Box::new(note.into()))
    }
}

/// The result of a write.
#[derive(Debug)]
pub(crate) struct Written<T> {
    /// The issues that have a new record.
    pub ids: Vec<IssueId>,
    pub names: Names,
    pub commit: Oid,
    pub value: T,
}

/// Writes what a plan says, in one commit.
pub(super) fn write<T>(
    ctx: &Context,
    mut plan: impl FnMut(&Snapshot<'_>, &Identity) -> Result<Plan<T>>,
) -> Result<Written<T>> {
    let opening = Opening::of(ctx)?;
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| {
        let plan = plan(snapshot, identity)?;
        decision(ctx, identity, snapshot, plan)
    };
    let committed = opening.scope(ctx).commit(decide, |_| Vec::new())?;
    Ok(Written::of(committed))
}

/// Writes what a plan says on the remote first: one commit on the tip that was just fetched, pushed alone. What is decided
/// is decided on all that is known here and there, and has to follow from what is there alone. Says which remote has it.
pub(super) fn write_there<T>(
    ctx: &Context,
    mut plan: impl FnMut(&Snapshot<'_>, &Identity) -> Result<Plan<T>>,
) -> Result<(Written<T>, String)> {
    let (made, remote) = publish::push_alone(ctx, |remote, tip| {
        let opening = Opening::of(ctx)?;
        let Opening {
            identity, store, ..
        } = &opening;
        let label = format!("{remote}/{}", store.branch());
        let there = store.there(tip, &label)?;
        // Refused where the branch there is damaged, or was set back.
        let met = store.plan_meeting(identity, tip, &label, Linear::No)?.tip;
        let both = Snapshot::at(&ctx.repo, met.clone(), &label)?;
        let mut meant = plan(&both, identity)?;
        if met != *tip {
            let shared = plan(&there, identity).ok();
            let shared = shared.filter(|shared| shared.goes_on_from(&meant));
            meant = shared.ok_or_else(|| {
                let ids: Vec<&str> = meant.steps.iter().map(|step| step.id.as_str()).collect();
                let what = format!("{}, and what it waits for, as it is here", ids.join(", "));
                publish::not_shared(&what, remote)
            })?;
        }
        let decision = decision(ctx, identity, &there, meant)?;
        let made = store.commit_ahead(identity, &there, decision)?;
        let op = made.value.op.clone();
        Ok((made, op))
    })?;
    Ok((Written::of(made), remote))
}

impl<T> Plan<T> {
    /// Tells whether a plan goes on from the same records as another plan.
    fn goes_on_from(&self, other: &Plan<T>) -> bool {
        let from = |step: &Step| {
            let newest = step.before.as_ref().map(|issue| issue.newest.clone());
            (step.id.clone(), newest)
        };
        (self.steps.iter().map(from)).eq(other.steps.iter().map(from))
    }
}

/// The records of a commit, before it is made.
struct Made<T> {
    ids: Vec<IssueId>,
    names: Names,
    /// The first of the records.
    op: OpId,
    value: T,
}

impl<T> Written<T> {
    fn of(committed: Committed<Made<T>>) -> Self {
        let made = committed.value;
        Written {
            ids: made.ids,
            names: made.names,
            commit: committed.commit,
            value: made.value,
        }
    }
}

/// The commit that a plan asks for.
fn decision<T>(
    ctx: &Context,
    identity: &Identity,
    snapshot: &Snapshot<'_>,
    plan: Plan<T>,
) -> Result<Decision<Made<T>>> {
    let Plan {
        what,
        reason,
        steps,
        value,
    } = plan;
    require_steps(ctx, &steps)?;
    let tx = new_uid();
    let mut edits = Edits::default();
    let mut first_op = None;
    let mut ids: Vec<IssueId> = Vec::new();
    let mut logs: Vec<(IssueId, Vec<Operation>)> = Vec::new();
    let mut places: HashMap<IssueId, usize> = HashMap::new();
    for step in steps {
        let why = step.reason.as_ref().or(reason.as_ref());
        let place = places.get(&step.id).copied();
        let before = place.map_or(&[][..], |place| logs[place].1.as_slice());
        let op = record(ctx, identity, (&step, before), &tx, why)?;
        // The commit's message has the reason of the whole, and not that of one issue.
        first_op.get_or_insert_with(|| Operation {
            reason: reason.clone(),
            ..op.clone()
        });
        match place {
            Some(place) => logs[place].1.push(op),
            None => {
                places.insert(step.id.clone(), logs.len());
                ids.push(step.id.clone());
                logs.push((step.id, vec![op]));
            }
        }
    }
    for (id, ops) in &logs {
        edits.issue(&ctx.repo, snapshot, id, ops)?;
    }
    let op = first_op.ok_or_else(nothing_to_do)?;
    let mut names = Names::of(snapshot)?;
    names.add(&ids);
    let subject = match ids.as_slice() {
        [one] => names.short(one).to_owned(),
        more => format!("{} issues", more.len()),
    };
    let all: Vec<&IssueId> = ids.iter().collect();
    Ok(Decision {
        edits,
        message: issue_message(&subject, &what, &all, &op),
        value: Made {
            ids,
            names,
            op: op.op,
            value,
        },
    })
}

/// Refuses a status that policy lets not follow the one that an issue has.
fn require_steps(ctx: &Context, steps: &[Step]) -> Result<()> {
    let said = steps.iter().filter_map(|step| {
        let (before, to) = (step.before.as_ref()?, said_status(&step.body)?);
        (before.status != to).then_some((before, to))
    });
    let mut said = said.peekable();
    if said.peek().is_none() {
        return Ok(());
    }
    let follows = super::specs::policy(ctx)?.backlog.follows;
    for (before, to) in said {
        require_step(before, to, &follows)?;
    }
    Ok(())
}

/// The status that somebody says an issue gets. Whatever gives an issue back, or tells what another program says, says none.
fn said_status(content: &Content) -> Option<Status> {
    let last = |changes: &[Change]| {
        changes.iter().rev().find_map(|change| match change {
            Change::Status(status) => Some(*status),
            _ => None,
        })
    };
    let Content::Known(body) = content else {
        return None;
    };
    let Body::Issue(event) = body.as_ref() else {
        return None;
    };
    let has = |is_it: fn(&Change) -> bool| event.changes().iter().any(is_it);
    match event {
        IssueEvent::Claimed { .. } => Some(Status::InProgress),
        IssueEvent::Changed { changes } if !has(|one| matches!(one, Change::Source(_))) => {
            last(changes)
        }
        IssueEvent::Solution { changes } if has(|one| matches!(one, Change::Bind(Some(_)))) => {
            last(changes)
        }
        _ => None,
    }
}

/// The record of a step, behind those of its issue that this command made before.
fn record(
    ctx: &Context,
    identity: &Identity,
    (step, before): (&Step, &[Operation]),
    tx: &str,
    reason: Option<&String>,
) -> Result<Operation> {
    let (seq, after): (u64, Vec<OpId>) = match (before.last(), &step.before) {
        (Some(op), _) => (op.seq, vec![op.op.clone()]),
        (None, Some(issue)) => (issue.seq, issue.newest.clone()),
        (None, None) => (0, Vec::new()),
    };
    let body = match &step.body {
        Content::Known(body) => body.as_ref().clone(),
        Content::Behind(body) => body(before),
    };
    let draft = Draft {
        seq: seq + 1,
        after,
        tx: tx.to_owned(),
        reason: reason.cloned(),
        ..first(identity, &entity(&step.id), body)
    };
    let op = seal(&ctx.repo, &draft)?;
    trust::keep_own(&ctx.repo, &op);
    watched::made(&ctx.repo, &op);
    Ok(op)
}

/// The name of an issue in its records.
fn entity(id: &IssueId) -> String {
    format!("issues/{id}")
}

fn nothing_to_do() -> Failure {
    Failure::nothing(
        Code::IssueUnchanged,
        "nothing changes: the backlog has these values already",
    )
    .help(command!("issue list"))
}

/// The issue that somebody means, as it is now.
pub(super) fn require(snapshot: &Snapshot<'_>, typed: &str) -> Result<Read> {
    let mut read = names::read(snapshot, typed)?;
    sessions::settle(snapshot, std::slice::from_mut(&mut read.issue))?;
    Ok(read)
}

/// An issue as it is now, refused where a newer program wrote of it.
pub(super) fn require_understood(snapshot: &Snapshot<'_>, typed: &str) -> Result<Issue> {
    let issue = require(snapshot, typed)?.issue;
    match issue.needs.first() {
        None => Ok(issue),
        Some(needs) => Err(Failure::refused(
            Code::FormatNewer,
            format!("{}: a record of it needs git loopx {needs}", issue.id),
        )
        .help("update git loopx")),
    }
}

fn read(snapshot: &Snapshot<'_>, id: &IssueId) -> Result<Option<Read>> {
    let mut read = snapshot.issue(id)?;
    if let Some(read) = &mut read {
        sessions::settle(snapshot, std::slice::from_mut(&mut read.issue))?;
    }
    Ok(read)
}

/// All issues, with what became of the sessions that were started for them.
pub(super) fn all(snapshot: &Snapshot<'_>) -> Result<Issues> {
    let mut found = snapshot.issues()?;
    sessions::settle(snapshot, &mut found.issues)?;
    Ok(found)
}

/// All issues as a graph, with some of them as they are about to be.
pub(super) fn backlog_with(snapshot: &Snapshot<'_>, changed: Vec<Issue>) -> Result<Backlog> {
    let mut issues = all(snapshot)?.issues;
    replace(&mut issues, changed);
    Ok(Backlog::of(issues))
}

/// Issues as a graph, as they are and with some of them as they are about to be.
pub(super) fn backlogs_around(before: Vec<Issue>, changed: Vec<Issue>) -> (Backlog, Backlog) {
    let mut after = before.clone();
    replace(&mut after, changed);
    (Backlog::of(before), Backlog::of(after))
}

fn replace(issues: &mut Vec<Issue>, changed: Vec<Issue>) {
    issues.retain(|issue| changed.iter().all(|one| one.id != issue.id));
    issues.extend(changed);
}

/// The day on which somebody asks, in UTC.
pub(super) fn today(seconds: i64) -> String {
    loopx_rules::lease::clock(seconds)
        .chars()
        .take(10)
        .collect()
}

/// Refuses an agent what only a person can say.
pub(super) fn require_person(ctx: &Context, what: &str) -> Result<()> {
    let policy = super::specs::policy(ctx)?;
    let agent = agent::host(loopx_base::env::var);
    agent::require_person(&policy, agent.as_deref(), what)
}

/// The damage of an issue, as a list names it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Damaged {
    pub issue: IssueId,
    pub what: String,
}

/// Refuses a step that needs a reason without one.
pub(super) fn require_reason(reason: Option<&String>, what: &str, again: Hint) -> Result<String> {
    match reason.map(|why| why.trim()).filter(|why| !why.is_empty()) {
        Some(why) => Ok(why.to_owned()),
        None => {
            Err(Failure::usage(Code::ReasonRequired, format!("{what} needs a reason")).help(again))
        }
    }
}
