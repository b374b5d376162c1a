//! The end of an issue: resolved, by a named person with a reason or by an archived session; closed, because it will
//! not be done; and open again.

use super::beside::Beside;
use super::change::require_no_cycle;
use super::claim::{not_ready, require_own};
use super::repeat;
use super::repeat::Following;
use super::sound::require_open_parent;
use super::{
    Plan, Step, Written, all, backlogs_around, require_reason, require_understood, today, write,
};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Person, SessionId};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::needs::{Rules, require_resolvable};
use loopx_rules::issue::{Backlog, Issue, IssueId, Link, LinkKind, Status, Wait};
use loopx_rules::policy::BacklogPolicy;
use loopx_store::Snapshot;
use std::collections::{BTreeSet, HashSet};

/// The end of an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The issue was done. A person says so, with a reason.
    Resolve,
    /// The issue will not be done.
    Close,
    /// The issue says the same as this other one.
    Duplicate(String),
}

impl End {
    fn word(&self) -> &'static str {
        match self {
            End::Resolve => "resolve",
            End::Close | End::Duplicate(_) => "close",
        }
    }

    fn status(&self) -> Status {
        match self {
            End::Resolve => Status::Resolved,
            End::Close | End::Duplicate(_) => Status::Closed,
        }
    }
}

/// The sessions and issues around an end, and what can be begun because of it.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub freed: Vec<Issue>,
    /// Issues that come next, because what ended comes again.
    pub next: Vec<Following>,
    /// The sessions that were started for what ended, and go on.
    pub running: Vec<SessionId>,
}

/// The reason of an end: a duplicate is one by what it is.
fn why(typed: &[String], end: &End, reason: Option<&String>) -> Result<String> {
    let ids = typed.join(" ");
    let (what, again) = match end {
        End::Duplicate(other) => {
            let same = || format!("it is a duplicate of {other}");
            return Ok(reason.cloned().unwrap_or_else(same));
        }
        End::Resolve => (
            "resolving an issue",
            command!("issue resolve {ids} --reason WHY"),
        ),
        _ => (
            "closing an issue",
            command!("issue close {ids} --reason WHY"),
        ),
    };
    require_reason(reason, what, again)
}

/// Ends issues; all that are named, or none.
pub(crate) fn end(
    ctx: &Context,
    typed: &[String],
    end: &End,
    reason: Option<&String>,
) -> Result<Written<Ended>> {
    let reason = Some(why(typed, end, reason)?);
    if *end == End::Resolve {
        super::require_person(ctx, "resolving an issue")?;
    }
    let policy = crate::flow::specs::policy(ctx)?.backlog;
    let mut written = write(ctx, |snapshot, identity| {
        let now = identity.judges_at();
        let ending: Vec<Ending> = typed
            .iter()
            .map(|typed| {
                let issue = require_understood(snapshot, typed)?;
                require_endable(ctx, snapshot, &issue, end, (&policy, now))?;
                Ending::of(snapshot, issue, end)
            })
            .collect::<Result<_>>()?;
        let said: Vec<(Issue, Vec<Change>)> = ending.iter().map(Ending::said).collect();
        require_no_cycle(snapshot, &said, &ToString::to_string)?;
        let ended: Vec<Issue> = ending.iter().map(|one| one.after.clone()).collect();
        let mut freed = freed_by(snapshot, &ended, end, &today(now))?;
        let rules = rules(ctx, snapshot, &policy, &ended, (&identity.author, now))?;
        freed.retain(|issue| rules.lacking(issue).is_empty());
        let running = ended.iter().flat_map(Issue::all_running).cloned();
        let running: BTreeSet<SessionId> = running.collect();
        let next = following(snapshot, &ended, end)?;
        let made = next.iter().filter_map(Following::step);
        let steps = ending.into_iter().map(Ending::step).chain(made).collect();
        Ok(Plan {
            what: end.word().to_owned(),
            reason: reason.clone(),
            steps,
            value: Ended {
                freed,
                next,
                running: running.into_iter().collect(),
            },
        })
    })?;
    // What comes next is made, and has not ended.
    let next = &written.value.next;
    let ids = &mut written.ids;
    ids.retain(|id| next.iter().all(|one| one.id != *id));
    Ok(written)
}

/// Refuses the end of an issue that ended already, that an archive or another hand keeps, or that policy holds open.
fn require_endable(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    issue: &Issue,
    end: &End,
    (policy, now): (&BacklogPolicy, i64),
) -> Result<()> {
    let is_agreed = issue.apart_in("status").is_none();
    if issue.status == end.status() && is_agreed {
        return Err(Failure::nothing(
            Code::IssueEnded,
            format!("{} is {} already", issue.id, issue.status),
        )
        .help(command!("issue show {}", issue.id)));
    }
    if issue.status == Status::Resolved && is_agreed {
        super::sessions::require_no_archive(snapshot, issue)?;
        super::require_person(ctx, "closing an issue that was resolved")?;
    }
    require_own(ctx, issue, now)?;
    if *end == End::Resolve {
        require_resolvable(issue, &policy.resolve)?;
    }
    Ok(())
}

/// An issue before and after its end, with the changes that end it.
struct Ending {
    before: Issue,
    after: Issue,
    changes: Vec<Change>,
}

impl Ending {
    fn of(snapshot: &Snapshot<'_>, issue: Issue, end: &End) -> Result<Self> {
        let mut changes = vec![Change::Status(end.status())];
        let mut after = Issue {
            status: end.status(),
            ..issue.clone()
        };
        if let End::Duplicate(other) = end {
            let to = super::names::resolve(snapshot, other)?;
            require_original(snapshot, &issue.id, &to)?;
            let link = Link {
                kind: LinkKind::DuplicateOf,
                to,
            };
            after.links.push(link.clone());
            changes.push(Change::Link(link));
        }
        Ok(Ending {
            before: issue,
            after,
            changes,
        })
    }

    fn said(&self) -> (Issue, Vec<Change>) {
        (self.after.clone(), self.changes.clone())
    }

    fn step(self) -> Step {
        Step {
            id: self.before.id.clone(),
            before: Some(self.before),
            body: IssueEvent::Changed {
                changes: self.changes,
            }
            .into(),
            reason: None,
        }
    }
}

/// The issues that can be begun because others ended. Refuses an end that leaves something open behind it.
fn freed_by(snapshot: &Snapshot<'_>, ended: &[Issue], end: &End, day: &str) -> Result<Vec<Issue>> {
    let beside = Beside::of(snapshot)?;
    let behind = beside.behind(ended);
    let ids = ended.iter().map(|issue| &issue.id);
    let ids = ids.chain(ended.iter().flat_map(Issue::originals));
    let seeds: Vec<IssueId> = ids.chain(behind.iter().flatten()).cloned().collect();
    let (before, after) = backlogs_around(beside.around(&seeds)?, ended.to_vec());
    for issue in ended {
        require_whole(issue, end, &after, &before, day)?;
    }
    Ok(match &behind {
        Some(behind) => freed(&before, &after, day, |id| behind.contains(id)),
        None => {
            let all = all(snapshot)?.issues;
            let (before, after) = backlogs_around(all, ended.to_vec());
            freed(&before, &after, day, |_| true)
        }
    })
}

/// The rules of policy about what is begun once some issues have ended.
fn rules(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    policy: &BacklogPolicy,
    ended: &[Issue],
    (me, now): (&Person, i64),
) -> Result<Rules> {
    let issues = if policy.has_limits() {
        super::backlog_with(snapshot, ended.to_vec())?.issues
    } else {
        Vec::new()
    };
    let watched = Watched::of_issues(&ctx.repo, &issues, now);
    Ok(Rules::of(policy, &issues, (Some(me), &watched.leases)))
}

/// The issues that come after those that end. A duplicate is none of them: its original comes again.
fn following(snapshot: &Snapshot<'_>, ended: &[Issue], end: &End) -> Result<Vec<Following>> {
    if matches!(end, End::Duplicate(_)) {
        return Ok(Vec::new());
    }
    let all = ended.iter().map(|issue| repeat::following(snapshot, issue));
    Ok(all
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// Refuses an issue as a duplicate of itself, by way of others that are duplicates, too: nothing would be left to do.
pub(super) fn require_original(snapshot: &Snapshot<'_>, id: &IssueId, of: &IssueId) -> Result<()> {
    if of == id {
        return Err(super::change::to_itself(id.as_str(), LinkKind::DuplicateOf)
            .help(command!("issue duplicates")));
    }
    let (mut known, mut left) = (HashSet::new(), vec![of.clone()]);
    while let Some(one) = left.pop() {
        let found = super::read(snapshot, &one)?.map(|read| read.issue);
        let found = found.filter(|_| known.insert(one.clone()));
        let next = found.iter();
        for next in next.flat_map(|issue| issue.linked(LinkKind::DuplicateOf)) {
            if next == id {
                let is_closed = found.iter().any(|one| one.status == Status::Closed);
                let (what, help) = if is_closed {
                    ("was closed as", command!("issue reopen {one}"))
                } else {
                    ("is", command!("issue unlink {one} duplicate-of {id}"))
                };
                return Err(Failure::refused(
                    Code::IssueCycle,
                    format!("{one} {what} a duplicate of {id}: as duplicates of each other, neither issue would be done"),
                )
                .help(help));
            }
            left.push(next.clone());
        }
    }
    Ok(())
}

/// Refuses the end of an issue that has open parts, and the word that it is done where it waits for something or where
/// a criterion is open.
pub(super) fn require_whole(
    issue: &Issue,
    end: &End,
    after: &Backlog,
    before: &Backlog,
    day: &str,
) -> Result<()> {
    let parts = after.parts();
    let open = parts.get(&issue.id).into_iter().flatten();
    let open: Vec<Wait> = open
        .filter(|part| !part.status.is_final())
        .map(|part| Wait::Issue {
            issue: part.id.clone(),
            status: part.status,
        })
        .collect();
    if let Some(part) = open.first().and_then(Wait::issue) {
        let id = &issue.id;
        let first = match end {
            End::Resolve => command!("issue resolve {part} --reason WHY"),
            _ => command!("issue close {part} --reason WHY"),
        };
        let unlink = command!("issue unlink {part} parent {id}");
        return Err(not_ready(issue, &open).help(hint![
            "its parts end first: ",
            first,
            "  or are none any more: ",
            unlink
        ]));
    }
    if *end != End::Resolve {
        return Ok(());
    }
    let at = before.issues.iter().position(|one| one.id == issue.id);
    let mut waits = at
        .map(|at| before.waits(day).swap_remove(at))
        .unwrap_or_default();
    // What ends by the same command holds nothing back, and one's own word settles what was written apart.
    waits.retain(|wait| match wait {
        Wait::Issue { issue, .. } => after.find(issue).is_none_or(|one| !one.status.is_final()),
        Wait::Circle { issues } => !issues.contains(&issue.id),
        Wait::Day { .. } | Wait::Settling { .. } | Wait::World(_) => false,
        Wait::Missing { .. } | Wait::NotNeeded { .. } | Wait::Newer { .. } => true,
    });
    if !waits.is_empty() {
        return Err(not_ready(issue, &waits));
    }
    let id = &issue.id;
    let left: Vec<Blocker> = (issue.criteria.iter().enumerate())
        .filter(|(_, one)| !one.done)
        .map(|(at, one)| {
            let number = at + 1;
            Blocker::new(
                Code::IssueCriterionOpen,
                format!("{id}: criterion {number} is not ticked: {}", one.text),
                command!("issue tick {id} {number}"),
            )
        })
        .collect();
    if left.is_empty() {
        Ok(())
    } else {
        Err(Failure::refused(
            Code::IssueCriterionOpen,
            format!(
                "{} of {} criteria of {id} are not ticked",
                left.len(),
                issue.criteria.len()
            ),
        )
        .blockers(left))
    }
}

/// The issues that can be begun now, and could not be before.
fn freed(
    before: &Backlog,
    after: &Backlog,
    day: &str,
    is_meant: impl Fn(&IssueId) -> bool,
) -> Vec<Issue> {
    let known = before.ready(day).into_iter();
    let known: HashSet<&IssueId> = known.map(|at| &before.issues[at].id).collect();
    let now = after.ready(day).into_iter().map(|at| &after.issues[at]);
    let is_new = |issue: &&Issue| !known.contains(&issue.id) && is_meant(&issue.id);
    now.filter(is_new).cloned().collect()
}

/// Refuses to open a part again of what has ended and is not opened with it.
fn require_open_whole(snapshot: &Snapshot<'_>, part: &Issue, opened: &[IssueId]) -> Result<()> {
    let open = Issue {
        status: Status::Open,
        ..part.clone()
    };
    let mut links = part.links.iter();
    let whole = links.find(|link| link.kind == LinkKind::Parent && !opened.contains(&link.to));
    match whole {
        None => Ok(()),
        Some(link) => require_open_parent(snapshot, &open, link).map_err(|failure| {
            let (id, whole) = (&part.id, &link.to);
            failure.help(hint![
                command!("issue reopen {id} {whole}"),
                "  or it is none any more: ",
                command!("issue unlink {id} parent {whole}")
            ])
        }),
    }
}

/// Opens issues again that were resolved or closed.
pub(crate) fn reopen(
    ctx: &Context,
    typed: &[String],
    reason: Option<&String>,
) -> Result<Written<()>> {
    write(ctx, |snapshot, _| {
        let mut steps = Vec::new();
        let issues = typed
            .iter()
            .map(|typed| require_understood(snapshot, typed));
        let issues = issues.collect::<Result<Vec<Issue>>>()?;
        let ids: Vec<IssueId> = issues.iter().map(|issue| issue.id.clone()).collect();
        for issue in issues {
            if !issue.status.is_final() {
                return Err(Failure::nothing(
                    Code::IssueOpen,
                    format!("{} is {} already", issue.id, issue.status),
                )
                .help(command!("issue show {}", issue.id)));
            }
            super::sessions::require_no_archive(snapshot, &issue)?;
            require_open_whole(snapshot, &issue, &ids)?;
            // What is open again says not what another one says.
            let mut changes = vec![Change::Status(issue.unbegun())];
            let links = issue.links.iter();
            let links = links.filter(|link| link.kind == LinkKind::DuplicateOf);
            changes.extend(links.cloned().map(Change::Unlink));
            steps.push(Step {
                id: issue.id.clone(),
                body: IssueEvent::Changed { changes }.into(),
                before: Some(issue),
                reason: None,
            });
        }
        Ok(Plan {
            what: "reopen".to_owned(),
            reason: reason.cloned(),
            steps,
            value: (),
        })
    })
}
