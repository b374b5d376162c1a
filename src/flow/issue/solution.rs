//! The ways to do an issue: proposed, judged, chosen, rejected. What an audit is worth and how often something may be
//! mended, the core knows.

use super::{Plan, Step, Written, names, require, require_person, require_reason, write};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::OpId;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::limits::is_path;
use loopx_rules::issue::solution::{
    MENDS, Proposal, Scores, Solution, Touched, Verdict, depth, exhausted,
};
use loopx_rules::issue::{Issue, IssueId, Read, Status, Texts};
use loopx_rules::session::Ending;
use loopx_rules::task::file;
use loopx_spec::Severity;
use loopx_store::Snapshot;
use serde::Serialize;

/// The longest approach, in bytes.
const LONGEST: usize = 64 * 1024;
/// The most tasks and files of one solution.
const MOST: usize = 500;

/// The solution that was chosen or changed, and the status of its issue now.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Said {
    pub issue: IssueId,
    pub solution: String,
    /// The status of the issue now.
    pub status: Status,
}

/// Proposes a way to do an issue.
pub(crate) fn add(
    ctx: &Context,
    typed: &str,
    proposal: &Proposal,
    mends: Option<&str>,
) -> Result<Written<Said>> {
    check(proposal)?;
    write(ctx, |snapshot, _| {
        let read = open(snapshot, typed)?;
        let all = &read.texts.solutions;
        let mends = match mends {
            Some(name) => Some(mended(&read, find(&read, name)?)?),
            None => None,
        };
        if let Some(spent) = exhausted(all) {
            // Another way is a person's to open: the ones that were mended twice did not do.
            require_person(
                ctx,
                "another solution where a rejected one was mended as often as allowed",
            )
            .map_err(|failure| failure.help(spent_way(&read.issue.id, spent)))?;
        }
        let named = |name: &str| all.iter().any(|one| one.proposal.name == name);
        let mut proposal = Proposal {
            mends,
            ..proposal.clone()
        };
        match proposal.name.as_str() {
            "" => {
                let free = (all.len() + 1..).map(|number| format!("s{number}"));
                proposal.name = free
                    .into_iter()
                    .find(|name| !named(name))
                    .unwrap_or_default();
            }
            name if named(name) => {
                return Err(invalid(format!(
                    "{} has a solution `{name}` already",
                    read.issue.id
                )));
            }
            _ => {}
        }
        let name = proposal.name.clone();
        Ok(one(
            read.issue,
            format!("solution {name}"),
            None,
            (name, vec![Change::Solution(Box::new(proposal))]),
        ))
    })
}

/// The record of a rejected solution that is to be mended.
fn mended(read: &Read, old: &Solution) -> Result<OpId> {
    let (id, name) = (&read.issue.id, &old.proposal.name);
    if old.rejected.is_none() {
        return Err(Failure::nothing(
            Code::IssueUnchanged,
            format!("{name} of {id} is not rejected: there is nothing to mend"),
        )
        .help(command!("issue solution show {id} {name}")));
    }
    if depth(&read.texts.solutions, old) >= MENDS {
        return Err(Failure::waiting(
            Code::IssueMendsSpent,
            format!("{name} of {id} was mended {MENDS} times: a person decides"),
        )
        .help(spent_way(id, old)));
    }
    Ok(old.op.clone())
}

/// The commands for a person whose solution was mended as often as that may be.
fn spent_way(id: &IssueId, old: &Solution) -> loopx_base::hint::Hint {
    let name = &old.proposal.name;
    hint![
        command!("issue solution bind {id} {name} --reason WHY"),
        "  or: ",
        command!("issue close {id} --reason WHY")
    ]
}

/// Judges a solution by values that somebody gives; without values the audit computes them again.
pub(crate) fn score(
    ctx: &Context,
    typed: &str,
    solution: Option<&str>,
    scores: Option<Scores>,
    reason: Option<&String>,
) -> Result<Written<Said>> {
    require_person(ctx, "a score in place of the audit")?;
    write(ctx, |snapshot, _| {
        let read = open(snapshot, typed)?;
        let found = meant(&read, solution)?;
        let name = found.proposal.name.clone();
        if found.scored.as_ref().map(|scored| scored.scores) == scores {
            return Err(unchanged(format!(
                "{name} of {} is judged so already",
                read.issue.id
            )));
        }
        let change = Change::Score {
            solution: found.op.clone(),
            scores,
        };
        Ok(one(
            read.issue,
            format!("score {name}"),
            reason,
            (name, vec![change]),
        ))
    })
}

/// Rejects a solution: it is bound no longer.
pub(crate) fn reject(
    ctx: &Context,
    typed: &str,
    solution: Option<&str>,
    reason: Option<&String>,
) -> Result<Written<Said>> {
    let again = match solution {
        Some(name) => command!("issue solution reject {typed} {name} --reason WHY"),
        None => command!("issue solution reject {typed} --reason WHY"),
    };
    let reason = require_reason(reason, "rejecting a solution", again)?;
    write(ctx, |snapshot, _| {
        let read = open(snapshot, typed)?;
        let found = meant(&read, solution)?;
        let name = found.proposal.name.clone();
        if found.rejected.is_some() {
            return Err(unchanged(format!(
                "{name} of {} is rejected already",
                read.issue.id
            )));
        }
        let mut changes = vec![Change::Reject {
            solution: found.op.clone(),
            rejected: true,
        }];
        if is_bound(&read.issue, &found.op) {
            changes.push(Change::Bind(None));
            changes.extend(begins(&read.issue).then_some(Change::Status(Status::Open)));
        }
        Ok(one(
            read.issue,
            format!("reject {name}"),
            Some(&reason),
            (name, changes),
        ))
    })
}

/// Chooses a solution: what was bound before is bound no longer. A rejected one is for a person, with a reason.
pub(crate) fn bind(
    ctx: &Context,
    typed: &str,
    solution: Option<&str>,
    reason: Option<&String>,
) -> Result<Written<Said>> {
    write(ctx, |snapshot, _| {
        let read = open(snapshot, typed)?;
        let found = meant(&read, solution)?;
        let (id, name) = (&read.issue.id, found.proposal.name.clone());
        let mut changes = Vec::new();
        if let Some(rejected) = &found.rejected {
            if reason.is_none() {
                let why = rejected.reason.as_deref().unwrap_or("no reason");
                return Err(Failure::refused(
                    Code::IssueSolutionRejected,
                    format!("{name} of {id} is rejected: {why}"),
                )
                .help(hint![
                    command!("issue solution add {id} HOW --mends {name}"),
                    "  or, as a person: ",
                    command!("issue solution bind {id} {name} --reason WHY")
                ]));
            }
            require_person(ctx, "binding a rejected solution")?;
            changes.push(Change::Reject {
                solution: found.op.clone(),
                rejected: false,
            });
        }
        if is_bound(&read.issue, &found.op) && read.issue.apart_in("solution").is_none() {
            return Err(unchanged(format!("{name} of {id} is bound already")));
        }
        changes.push(Change::Bind(Some(found.op.clone())));
        changes.extend(begins(&read.issue).then_some(Change::Status(Status::Planned)));
        Ok(one(
            read.issue,
            format!("bind {name}"),
            reason,
            (name, changes),
        ))
    })
}

/// Takes the choice of a solution back: the issue has none any more.
pub(crate) fn unbind(ctx: &Context, typed: &str, reason: Option<&String>) -> Result<Written<Said>> {
    write(ctx, |snapshot, _| {
        let issue = open(snapshot, typed)?.issue;
        let Some(bound) = &issue.bound else {
            return Err(unbound(&[&issue.id]));
        };
        let name = bound.name.clone();
        let mut changes = vec![Change::Bind(None)];
        changes.extend(begins(&issue).then_some(Change::Status(Status::Open)));
        Ok(one(
            issue,
            format!("unbind {name}"),
            reason,
            (name, changes),
        ))
    })
}

/// Tells whether a choice of a solution also says how far an issue is: nobody is at the issue yet.
fn begins(issue: &Issue) -> bool {
    matches!(
        issue.status,
        Status::Open | Status::Planned | Status::Queued
    )
}

fn is_bound(issue: &Issue, solution: &OpId) -> bool {
    issue
        .bound
        .as_ref()
        .is_some_and(|bound| bound.solution == *solution)
}

/// The plan for one record of one issue.
fn one(
    issue: Issue,
    what: String,
    reason: Option<&String>,
    (solution, changes): (String, Vec<Change>),
) -> Plan<Said> {
    let status = changes.iter().find_map(|change| match change {
        Change::Status(status) => Some(*status),
        _ => None,
    });
    Plan {
        what,
        reason: reason.cloned(),
        value: Said {
            issue: issue.id.clone(),
            solution,
            status: status.unwrap_or(issue.status),
        },
        steps: vec![Step {
            id: issue.id.clone(),
            reason: None,
            before: Some(issue),
            body: IssueEvent::Solution { changes }.into(),
        }],
    }
}

/// An issue that has not ended, with its texts, refused where a newer program wrote of it.
fn open(snapshot: &Snapshot<'_>, typed: &str) -> Result<Read> {
    let issue = super::require_understood(snapshot, typed)?;
    if issue.status.is_final() {
        return Err(super::claim::ended(snapshot, &issue));
    }
    let mut read = require(snapshot, issue.id.as_str())?;
    read.issue = issue;
    Ok(read)
}

/// The solution of a name, or of the beginning of its record's id.
fn find<'r>(read: &'r Read, typed: &str) -> Result<&'r Solution> {
    let all = &read.texts.solutions;
    if let Some(one) = all.iter().find(|one| one.proposal.name == typed) {
        return Ok(one);
    }
    let begins = |one: &&Solution| typed.len() >= 4 && one.op.as_str().starts_with(typed);
    let mut meant = all.iter().filter(begins);
    match (meant.next(), meant.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Failure::not_found(
            Code::IssueSolutionUnknown,
            format!("{} has no solution `{typed}`", read.issue.id),
        )
        .help(command!("issue solution list {}", read.issue.id))),
    }
}

/// The solution that somebody means: by its name, else the bound one, else the only one that stands.
pub(super) fn meant<'r>(read: &'r Read, typed: Option<&str>) -> Result<&'r Solution> {
    if let Some(typed) = typed {
        return find(read, typed);
    }
    let all = &read.texts.solutions;
    if let Some(bound) = &read.issue.bound
        && let Some(one) = all.iter().find(|one| one.op == bound.solution)
    {
        return Ok(one);
    }
    let id = &read.issue.id;
    let mut standing = all.iter().filter(|one| one.rejected.is_none());
    match (standing.next(), standing.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Failure::not_found(
            Code::IssueSolutionUnknown,
            format!("{id} has no solution that is not rejected"),
        )
        .help(command!("issue solution add {id} HOW"))),
        (Some(_), Some(_)) => Err(Failure::not_found(
            Code::IssueSolutionUnknown,
            format!("{id} has several solutions: which one is meant?"),
        )
        .help(command!("issue solution list {id}"))),
    }
}

/// The solutions of an issue, and of them the one that is bound.
pub(crate) fn read(ctx: &Context, typed: &str) -> Result<Read> {
    let snapshot = ctx.store()?.snapshot()?;
    require(&snapshot, typed)
}

/// Finds a solution of an issue.
pub(crate) fn show(ctx: &Context, typed: &str, solution: Option<&str>) -> Result<(Read, Solution)> {
    let read = read(ctx, typed)?;
    let found = meant(&read, solution)?.clone();
    Ok((read, found))
}

/// The refusal of issues to which no solution is bound.
pub(super) fn unbound(ids: &[&IssueId]) -> Failure {
    let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    Failure::refused(
        Code::IssueSolutionUnbound,
        format!("no solution is bound: {}", names.join(", ")),
    )
    .help(command!("issue solution list {first}"))
}

fn unchanged(message: String) -> Failure {
    Failure::nothing(Code::IssueUnchanged, message)
}

fn invalid(message: String) -> Failure {
    Failure::usage(Code::IssueFieldInvalid, message)
}

/// Tells whether a text can name a solution; an empty one stands for a number.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= 40 && name.chars().all(plain)
}

/// Refuses what no solution can be.
pub(super) fn check(proposal: &Proposal) -> Result<()> {
    if !is_name(&proposal.name) {
        return Err(invalid(format!(
            "expected a name of letters, digits and -_., found {:?}",
            proposal.name
        )));
    }
    let approach = proposal.approach.trim();
    if approach.is_empty() || approach.len() > LONGEST || approach.contains('\0') {
        return Err(invalid(format!(
            "expected how it is done, in at most {LONGEST} bytes of text, found {}",
            approach.len()
        )));
    }
    if proposal.tasks.len() > MOST || proposal.files.len() > MOST {
        return Err(invalid(format!("expected at most {MOST} tasks and files")));
    }
    let text = proposal.lines("").join("\n");
    let findings = match file::read(&text) {
        Ok(list) => file::check(&list, None),
        Err(findings) => findings,
    };
    // What only an approved plan needs may come later.
    let is_broken = |id: &str| !matches!(id, "task_criteria_missing" | "task_check_missing");
    let wrong = findings
        .iter()
        .find(|one| one.severity == Severity::Error && is_broken(one.id));
    if let Some(wrong) = wrong {
        return Err(invalid(format!("task {}: {}", wrong.line, wrong.message)));
    }
    for touched in proposal.touched() {
        require_path(&touched)?;
    }
    Ok(())
}

/// Refuses a path that leads out of the repository.
fn require_path(touched: &Touched) -> Result<()> {
    let path = &touched.path;
    if is_path(path) {
        Ok(())
    } else {
        Err(invalid(format!(
            "expected a path from the top of the repository, found {path:?}"
        )))
    }
}

/// The text for a session that begins for an issue: the bound solution, and what was tried and did not work.
pub(super) fn told(snapshot: &Snapshot<'_>, issue: &Issue, long: &Texts) -> Result<String> {
    let mut text = String::new();
    if let Some(bound) = &issue.bound
        && let Some(one) = long.solutions.iter().find(|one| one.op == bound.solution)
    {
        text.push_str(&format!("\n\nHow: {}", one.proposal.approach.trim()));
        let files = one.proposal.touched();
        let named: String = files
            .iter()
            .map(|file| format!("\n- {} ({})", file.path, file.action))
            .collect();
        if !named.is_empty() {
            text.push_str(&format!("\n\nIts files:\n{named}"));
        }
        if let Some(scored) = &one.scored
            && scored.scores.verdict() == Verdict::Concerns
            && let Some(reason) = &scored.reason
        {
            text.push_str(&format!("\n\nThe audit has concerns: {reason}"));
        }
    }
    let mut tried: Vec<String> = Vec::new();
    for failed in &long.failures {
        let why = failed.reason.as_deref().unwrap_or("no reason given");
        tried.push(format!("{}: {why}", failed.at));
    }
    for one in &issue.sessions {
        if let Some(session) = snapshot.find(&one.session)?
            && let Some(Ending::Abandoned { reason }) = session.state.ending
        {
            let why = reason.as_deref().unwrap_or("no reason given");
            tried.push(format!("session {} was abandoned: {why}", one.session));
        }
    }
    if !tried.is_empty() {
        text.push_str("\n\nWhat was tried before:\n");
        for one in tried {
            text.push_str(&format!("\n- {one}"));
        }
    }
    Ok(text)
}

/// The tasks of the bound solutions of these issues, as a list. Ids that two of them have begin with their issue's.
pub(crate) fn tasks(snapshot: &Snapshot<'_>, ids: &[IssueId]) -> Result<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for id in ids {
        let Some(read) = super::read(snapshot, id)? else {
            return Err(names::unknown(id.as_str()));
        };
        let bound = read.issue.bound.as_ref().map(|bound| &bound.solution);
        let found = read
            .texts
            .solutions
            .iter()
            .find(|one| Some(&one.op) == bound);
        let Some(Solution { proposal, .. }) = found else {
            continue;
        };
        let is_known = |id: &str| known.iter().any(|one| one.eq_ignore_ascii_case(id));
        let prefix = if proposal.ids().any(is_known) {
            format!("{id}.")
        } else {
            String::new()
        };
        known.extend(proposal.ids().map(|id| format!("{prefix}{id}")));
        lines.extend(proposal.lines(&prefix));
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}
