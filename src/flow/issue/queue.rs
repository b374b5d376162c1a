//! `issue queue`: what is bound and queued, in the order that the core computes of it, and the next of it for whoever
//! asks. Only that an issue is queued, failed or tried again is a record; branches and trial merges are read each time.

use super::audit::{Review, Work};
use super::view::Row;
use super::{
    Names, Plan, Step, Written, all, audit, backlog_with, require_understood, solution, today,
    write,
};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_git::Remerge;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::queue as rules;
use loopx_rules::issue::queue::{BATCH, Item, Mode, Queue, Trial};
use loopx_rules::issue::solution::{Action, Touched, Verdict};
use loopx_rules::issue::{Backlog, Issue, IssueId, Status, Wait};
use loopx_rules::lease::Leases;
use loopx_store::Snapshot;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The options of forming a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The issues; else all that are planned.
    pub issues: Vec<String>,
    /// The mode; else the one that follows from how many issues they are and how high their priority is.
    pub mode: Option<Mode>,
}

/// The result of forming a queue.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Formed {
    pub mode: Mode,
    /// The issues that are in the queue since now; `skipped` has those that were in it already.
    pub queued: Vec<IssueId>,
    pub skipped: Vec<IssueId>,
    /// The audits that the mode asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
    #[serde(flatten)]
    pub queue: Queue,
}

/// Puts issues into the queue; all that are meant, or none.
pub(crate) fn form(ctx: &Context, request: &Request) -> Result<Written<Formed>> {
    write(ctx, |snapshot, identity| {
        let (formed, steps) = formed(ctx, snapshot, request, &today(identity.judges_at()))?;
        Ok(Plan {
            what: format!("queue, {}", formed.mode),
            reason: None,
            steps,
            value: formed,
        })
    })
}

/// Shows the queue that forming would give.
pub(crate) fn preview(ctx: &Context, request: &Request) -> Result<(Formed, Names)> {
    let snapshot = ctx.store()?.snapshot()?;
    let (formed, _) = formed(ctx, &snapshot, request, &today(ctx.now()))?;
    Ok((formed, Names::of(&snapshot)?))
}

fn formed(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    request: &Request,
    day: &str,
) -> Result<(Formed, Vec<Step>)> {
    let (fresh, skipped) = meant(snapshot, request)?;
    let priorities: Vec<u8> = fresh.iter().map(|issue| issue.priority).collect();
    let mode = request.mode.unwrap_or_else(|| Mode::of(&priorities));
    if fresh.len() > BATCH {
        return Err(Failure::usage(
            Code::IssueFieldInvalid,
            format!(
                "expected at most {BATCH} issues at once, found {}",
                fresh.len()
            ),
        ));
    }
    let reviews = if mode.audits() {
        reviews(ctx, snapshot, &fresh)?
    } else {
        Vec::new()
    };
    require_approved(&reviews)?;
    let queued = |issue: &Issue| Issue {
        status: Status::Queued,
        ..issue.clone()
    };
    let backlog = backlog_with(snapshot, fresh.iter().map(queued).collect())?;
    let queue = Line::of(ctx, snapshot, &backlog, day)?.queue;
    require_settled(&queue, &backlog)?;
    let steps = fresh.iter().map(|issue| Step {
        id: issue.id.clone(),
        reason: None,
        before: Some(issue.clone()),
        body: IssueEvent::Changed {
            changes: vec![Change::Status(Status::Queued)],
        }
        .into(),
    });
    let steps = steps.collect();
    let formed = Formed {
        mode,
        queued: fresh.into_iter().map(|issue| issue.id).collect(),
        skipped,
        reviews,
        queue,
    };
    Ok((formed, steps))
}

/// The issues that are to be queued, and those that are already. Refused where no solution of one is bound.
fn meant(snapshot: &Snapshot<'_>, request: &Request) -> Result<(Vec<Issue>, Vec<IssueId>)> {
    let mut fresh: Vec<Issue> = Vec::new();
    let mut skipped = Vec::new();
    if request.issues.is_empty() {
        let planned = all(snapshot)?.issues.into_iter();
        fresh.extend(planned.filter(|issue| {
            issue.status == Status::Planned && issue.bound.is_some() && issue.needs.is_empty()
        }));
    }
    for typed in &request.issues {
        let issue = require_understood(snapshot, typed)?;
        if issue.status.is_final() {
            return Err(super::claim::ended(snapshot, &issue));
        }
        let is_there = issue.status == Status::Queued || issue.status == Status::InProgress;
        if is_there && issue.bound.is_some() {
            skipped.push(issue.id);
        } else if fresh.iter().all(|one| one.id != issue.id) {
            fresh.push(issue);
        }
    }
    let without = fresh.iter().filter(|issue| issue.bound.is_none());
    let without: Vec<&IssueId> = without.map(|issue| &issue.id).collect();
    if !without.is_empty() {
        return Err(solution::unbound(&without));
    }
    match (fresh.is_empty(), skipped.len()) {
        (true, 0) => Err(Failure::nothing(
            Code::IssueUnchanged,
            "no issue is planned: none has a bound solution and waits for a place",
        )
        .help(command!("issue list"))),
        (true, count) => Err(Failure::nothing(
            Code::IssueUnchanged,
            format!("nothing changes: {count} of {count} issues are in the queue already"),
        )
        .help(command!("issue queue show"))),
        (false, _) => Ok((fresh, skipped)),
    }
}

fn reviews(ctx: &Context, snapshot: &Snapshot<'_>, issues: &[Issue]) -> Result<Vec<Review>> {
    let mut found = Vec::new();
    for issue in issues {
        let read = super::require(snapshot, issue.id.as_str())?;
        let one = solution::meant(&read, None)?;
        found.push(audit::judge(ctx, snapshot, issue, one)?);
    }
    Ok(found)
}

/// Refuses solutions that the audit rejects. Concerns stop nothing.
fn require_approved(reviews: &[Review]) -> Result<()> {
    let rejected = reviews
        .iter()
        .filter(|one| one.audit.verdict == Verdict::Rejected);
    let blockers: Vec<Blocker> = rejected
        .map(|one| {
            let (id, name, total) = (&one.issue, &one.solution, one.audit.total_score);
            Blocker::new(
                Code::IssueSolutionRejected,
                format!("{id}: the audit gives {name} {total} of 100"),
                command!("issue solution audit {id}"),
            )
        })
        .collect();
    match blockers.first() {
        None => Ok(()),
        Some(first) => Err(Failure::refused(
            Code::IssueSolutionRejected,
            format!(
                "the audit rejects {} of {} solutions",
                blockers.len(),
                reviews.len()
            ),
        )
        .help(first.help.clone())
        .blockers(blockers)),
    }
}

/// Refuses issues that touch the same files and have no order, and those that wait for each other.
fn require_settled(queue: &Queue, backlog: &Backlog) -> Result<()> {
    if let Some(cycle) = backlog.cycle()
        && cycle.iter().any(|id| queue.held.contains(id))
    {
        let names: Vec<&str> = cycle.iter().map(IssueId::as_str).collect();
        return Err(Failure::refused(
            Code::IssueCycle,
            format!("these wait for each other: {}", names.join(" -> ")),
        )
        .help(command!("issue graph")));
    }
    let blockers: Vec<Blocker> = (queue.unresolved())
        .map(|conflict| {
            let [one, other] = &conflict.issues;
            let files = conflict.files.join(", ");
            Blocker::new(
                Code::IssueQueueConflict,
                format!("{one} and {other} touch files that one of them makes or deletes: {files}"),
                command!("issue link {other} blocked-by {one}"),
            )
        })
        .collect();
    match blockers.first() {
        None => Ok(()),
        Some(first) => Err(Failure::conflict(
            Code::IssueQueueConflict,
            "issues touch the same files, and nobody said which comes first",
        )
        .help(first.help.clone())
        .blockers(blockers)),
    }
}

/// The queue of a state of the backlog, with what it was computed from.
struct Line {
    queue: Queue,
    waits: Vec<Vec<Wait>>,
}

impl Line {
    fn of(ctx: &Context, snapshot: &Snapshot<'_>, backlog: &Backlog, day: &str) -> Result<Self> {
        let waits = backlog.waits(day);
        let places: Vec<usize> = (0..backlog.issues.len())
            .filter(|at| is_queued(&backlog.issues[*at]))
            .collect();
        let known: BTreeSet<&IssueId> = places.iter().map(|at| &backlog.issues[*at].id).collect();
        let mut works: Vec<Option<Work>> = Vec::new();
        let mut items = Vec::new();
        for at in places {
            let issue = &backlog.issues[at];
            let work = audit::work(ctx, snapshot, issue)?;
            items.push(item(at, issue, &waits[at], &known, work.as_ref()));
            works.push(work);
        }
        let mut trials = Trials {
            ctx,
            remerge: None,
            failure: None,
        };
        let queue = rules::form(&items, |one, other| match (&works[one], &works[other]) {
            (Some(one), Some(other)) => trials.merge(one, other),
            _ => Trial::None,
        });
        match trials.failure {
            Some(failure) => Err(failure),
            None => Ok(Line { queue, waits }),
        }
    }

    /// The place of the next issue: the first that waits for nothing, has not failed, and touches nothing that somebody is
    /// at. One whose lease has ended comes again.
    fn next(&self, backlog: &Backlog, labels: &[String], leases: &Leases) -> Option<usize> {
        let Line { queue, waits } = self;
        let is_over = |issue: &Issue| {
            let claim = issue.claim.as_ref();
            !issue.in_session && claim.is_some_and(|claim| !leases.runs(claim))
        };
        let runs = |issue: &&Issue| issue.status == Status::InProgress && !is_over(issue);
        let running: Vec<&Issue> = backlog.issues.iter().filter(runs).collect();
        let is_free = |issue: &Issue| {
            let open = |id: &IssueId| backlog.find(id).is_some_and(|one| !one.status.is_final());
            let unresolved = queue.unresolved().any(|conflict| {
                conflict.issues.contains(&issue.id) && conflict.issues.iter().all(open)
            });
            (issue.status == Status::Queued || is_over(issue))
                && !unresolved
                && labels.iter().all(|label| issue.labels.contains(label))
                && running.iter().all(|one| !queue.apart(&issue.id, &one.id))
        };
        queue.groups.iter().flatten().find_map(|id| {
            let at = backlog.issues.iter().position(|issue| issue.id == *id)?;
            (waits[at].is_empty() && is_free(&backlog.issues[at])).then_some(at)
        })
    }
}

/// Tells whether an issue has a place in the queue.
pub(super) fn is_queued(issue: &Issue) -> bool {
    let is_there = matches!(issue.status, Status::Queued | Status::InProgress);
    is_there && issue.bound.is_some()
}

fn item(
    age: usize,
    issue: &Issue,
    waits: &[Wait],
    known: &BTreeSet<&IssueId>,
    work: Option<&Work>,
) -> Item {
    let bound = issue.bound.as_ref();
    let mut files = bound.map(|bound| bound.files.clone()).unwrap_or_default();
    for path in work.into_iter().flat_map(|work| &work.files) {
        if files.iter().all(|one| one.path != *path) {
            files.push(Touched {
                path: path.clone(),
                action: Action::Modify,
            });
        }
    }
    let on = waits
        .iter()
        .filter_map(Wait::issue)
        .filter(|id| known.contains(id));
    let on: Vec<IssueId> = on.cloned().collect();
    Item {
        issue: issue.id.clone(),
        priority: issue.priority,
        tasks: bound.map_or(0, |bound| bound.tasks),
        files,
        age,
        is_held: bound.is_some_and(|bound| bound.failed) || on.len() < waits.len(),
        waits: on,
    }
}

/// Merges of branches that are thrown away.
struct Trials<'c> {
    ctx: &'c Context,
    remerge: Option<Remerge>,
    failure: Option<Failure>,
}

impl Trials<'_> {
    fn merge(&mut self, one: &Work, other: &Work) -> Trial {
        match self.tried(one, other) {
            Ok(trial) => trial,
            Err(failure) => {
                self.failure.get_or_insert(failure);
                Trial::None
            }
        }
    }

    fn tried(&mut self, one: &Work, other: &Work) -> Result<Trial> {
        let repo = &self.ctx.repo;
        // Branches without a common past say nothing about each other.
        let Some(base) = repo.merge_base(&one.tip, &other.tip)? else {
            return Ok(Trial::None);
        };
        let tree = |commit| repo.commit_info(commit).map(|info| info.tree);
        let [base, ours, theirs] = [tree(&base)?, tree(&one.tip)?, tree(&other.tip)?];
        let remerge = match &mut self.remerge {
            Some(remerge) => remerge,
            none => none.insert(Remerge::new(repo)?),
        };
        if remerge.merge_trees(&base, &ours, &theirs)?.is_some() {
            return Ok(Trial::Clean);
        }
        let both = one.files.iter().filter(|path| other.files.contains(path));
        Ok(Trial::Conflicts(both.cloned().collect()))
    }
}

/// The queue as people are shown it.
#[derive(Debug, Serialize)]
pub(crate) struct QueueView {
    #[serde(flatten)]
    pub queue: Queue,
    /// The issues of the queue.
    pub issues: BTreeMap<IssueId, Row<'static>>,
    /// The number of planned issues that have no place in the queue yet.
    pub planned: usize,
    /// Set when somebody can take the next issue now.
    #[serde(skip)]
    pub can_go_on: bool,
    #[serde(skip)]
    pub names: Names,
}

impl QueueView {
    /// Tells whether nothing goes on before somebody has the failed work tried again.
    pub(crate) fn waits_for_retry(&self) -> bool {
        let failed = |row: &Row| row.issue.bound.as_ref().is_some_and(|bound| bound.failed);
        self.queue.groups.is_empty() && self.issues.values().any(failed)
    }
}

/// The queue.
pub(crate) fn show(ctx: &Context) -> Result<QueueView> {
    let snapshot = ctx.store()?.snapshot()?;
    let backlog = backlog_with(&snapshot, Vec::new())?;
    let line = Line::of(ctx, &snapshot, &backlog, &today(ctx.now()))?;
    let watched = Watched::of_issues(&ctx.repo, &backlog.issues, ctx.now());
    let can_go_on = line.next(&backlog, &[], &watched.leases).is_some();
    let Line { queue, mut waits } = line;
    let names = Names::of(&snapshot)?;
    let mut issues = BTreeMap::new();
    let mut planned = 0;
    for (at, issue) in backlog.issues.iter().enumerate() {
        if is_queued(issue) {
            let waits = std::mem::take(&mut waits[at]);
            let row = super::view::row_of(ctx, &names, issue.clone(), waits);
            issues.insert(issue.id.clone(), row);
        }
        planned += usize::from(issue.status == Status::Planned && issue.bound.is_some());
    }
    Ok(QueueView {
        queue,
        issues,
        planned,
        can_go_on,
        names,
    })
}

/// The place of the next issue of the queue.
pub(super) fn next(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    backlog: &Backlog,
    labels: &[String],
    now: i64,
) -> Result<usize> {
    let line = Line::of(ctx, snapshot, backlog, &today(now))?;
    let watched = Watched::of_issues(&ctx.repo, &backlog.issues, now);
    line.next(backlog, labels, &watched.leases)
        .ok_or_else(|| none_ready(backlog))
}

fn none_ready(backlog: &Backlog) -> Failure {
    let queued: Vec<&Issue> = backlog
        .issues
        .iter()
        .filter(|issue| is_queued(issue))
        .collect();
    let failed = |issue: &&&Issue| issue.bound.as_ref().is_some_and(|bound| bound.failed);
    let failed = queued.iter().filter(failed).count();
    let planned = |issue: &Issue| issue.status == Status::Planned && issue.bound.is_some();
    let (message, lead) = match (queued.len(), failed) {
        (0, _) if backlog.issues.iter().any(planned) => (
            "the queue is empty".to_owned(),
            command!("issue queue form"),
        ),
        (0, _) => ("the queue is empty".to_owned(), command!("issue ready")),
        (all, failed) if failed > 0 => (
            format!("none of the {all} issues of the queue can be begun now, {failed} failed"),
            command!("issue queue retry"),
        ),
        (all, _) => (
            format!("none of the {all} issues of the queue can be begun now"),
            command!("issue queue show"),
        ),
    };
    Failure::nothing(Code::IssueNoneReady, message).help(lead)
}
