//! Work on issues of the queue that failed, and that is to be tried again.

use super::queue::is_queued;
use super::{Plan, Step, Written, all, require_reason, require_understood, solution, write};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::{Issue, IssueId, Status};

/// The issues whose work failed, or is tried again, each with its solution.
pub(crate) type Moved = Vec<(IssueId, String)>;

/// Notes that work on issues failed, and why: they come again when somebody says so.
pub(crate) fn fail(
    ctx: &Context,
    typed: &[String],
    reason: Option<&String>,
) -> Result<Written<Moved>> {
    let ids = typed.join(" ");
    let again = command!("issue queue fail {ids} --reason WHY");
    let reason = require_reason(reason, "a failure", again)?;
    write(ctx, |snapshot, identity| {
        let mut steps = Vec::new();
        let mut moved = Vec::new();
        for typed in typed {
            let issue = require_understood(snapshot, typed)?;
            if issue.status.is_final() {
                return Err(super::claim::ended(snapshot, &issue));
            }
            super::claim::require_own(ctx, &issue, identity.judges_at())?;
            let Some(bound) = &issue.bound else {
                return Err(solution::unbound(&[&issue.id]));
            };
            if issue.status != Status::InProgress {
                return Err(Failure::nothing(
                    Code::IssueNotHeld,
                    format!("nobody has {} in hand", issue.id),
                )
                .help(command!("issue take {}", issue.id)));
            }
            moved.push((issue.id.clone(), bound.name.clone()));
            let changes = vec![
                Change::Fail(bound.solution.clone()),
                Change::Status(Status::Queued),
            ];
            steps.push(Step {
                id: issue.id.clone(),
                reason: None,
                before: Some(issue),
                body: IssueEvent::Solution { changes }.into(),
            });
        }
        Ok(Plan {
            what: "failed".to_owned(),
            reason: Some(reason.clone()),
            steps,
            value: moved,
        })
    })
}

/// Lets issues that failed be tried again: those that are named, or all of the queue.
pub(crate) fn retry(
    ctx: &Context,
    typed: &[String],
    reason: Option<&String>,
) -> Result<Written<Moved>> {
    write(ctx, |snapshot, _| {
        let mut issues = Vec::new();
        if typed.is_empty() {
            issues.extend(all(snapshot)?.issues.into_iter().filter(is_queued))
        } else {
            for typed in typed {
                issues.push(require_understood(snapshot, typed)?);
            }
        }
        let failed = |issue: &Issue| issue.bound.as_ref().is_some_and(|bound| bound.failed);
        if let Some(whole) = issues
            .iter()
            .find(|issue| !typed.is_empty() && !failed(issue))
        {
            return Err(Failure::nothing(
                Code::IssueNoneFailed,
                format!("{} did not fail", whole.id),
            )
            .help(command!("issue show {}", whole.id)));
        }
        issues.retain(failed);
        if issues.is_empty() {
            return Err(
                Failure::nothing(Code::IssueNoneFailed, "nothing in the queue failed")
                    .help(command!("issue queue show")),
            );
        }
        let mut moved = Vec::new();
        let mut steps = Vec::new();
        for issue in issues {
            let name = issue.bound.as_ref().map(|bound| bound.name.clone());
            moved.push((issue.id.clone(), name.unwrap_or_default()));
            let mut changes = vec![Change::Retry {}];
            if issue.status != Status::Queued {
                changes.push(Change::Status(Status::Queued));
            }
            steps.push(Step {
                id: issue.id.clone(),
                reason: None,
                before: Some(issue),
                body: IssueEvent::Solution { changes }.into(),
            });
        }
        Ok(Plan {
            what: "retry".to_owned(),
            reason: reason.cloned(),
            steps,
            value: moved,
        })
    })
}
