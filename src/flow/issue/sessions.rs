//! Sessions that were started for issues: an issue is resolved once one of them is archived, and is to be done again
//! where that is taken back or where all of them were abandoned. Computed on reading, so that no undo has to remember it.

use super::claim::{held, not_ready};
use super::{backlog_with, names, today};
use crate::flow::context::Context;
use crate::flow::write_scope::{first, seal};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_git::{Identity, Repo};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::{ForIt, Issue, IssueId, Read, Status};
use loopx_rules::lease;
use loopx_rules::lease::Standing;
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_rules::record::Draft;
use loopx_rules::session::Ending;
use loopx_store::{Edits, Snapshot};
use std::collections::HashMap;

/// The issues with what became of the sessions that were started for them.
pub(super) fn settle(snapshot: &Snapshot<'_>, issues: &mut [Issue]) -> Result<()> {
    let asks = |issue: &Issue| !issue.sessions.is_empty() && !issue.status.is_final();
    if !issues.iter().any(asks) {
        return Ok(());
    }
    let endings = endings(snapshot)?;
    for issue in issues.iter_mut().filter(|issue| asks(issue)) {
        settle_one(issue, &endings);
    }
    Ok(())
}

type Endings = HashMap<SessionId, Option<Ending>>;

fn endings(snapshot: &Snapshot<'_>) -> Result<Endings> {
    let mut endings = Endings::new();
    for (id, summary) in snapshot.summaries(true)? {
        if let Ok(summary) = summary {
            // An active session comes first, and hides an archived one of its name.
            endings.entry(id).or_insert(summary.ending);
        }
    }
    Ok(endings)
}

/// Refuses to open an issue that an archive resolves: it would stay resolved.
pub(super) fn require_no_archive(snapshot: &Snapshot<'_>, issue: &Issue) -> Result<()> {
    if issue.sessions.is_empty() {
        return Ok(());
    }
    let endings = endings(snapshot)?;
    let is_archived = |one: &&ForIt| {
        matches!(
            endings.get(&one.session),
            Some(Some(Ending::Archived { .. }))
        )
    };
    match issue.sessions.iter().find(is_archived) {
        None => Ok(()),
        Some(one) => Err(Failure::refused(
            Code::IssueEnded,
            format!(
                "{} is resolved as long as session {} is archived",
                issue.id, one.session
            ),
        )
        .help(command!("reopen --reason WHY").session(&one.session))),
    }
}

fn settle_one(issue: &mut Issue, endings: &Endings) {
    let known: Vec<(&ForIt, &Option<Ending>)> = issue
        .sessions
        .iter()
        .filter_map(|one| Some((one, endings.get(&one.session)?)))
        .collect();
    let archived = known.iter().find_map(|(one, ending)| match ending {
        Some(Ending::Archived { target, .. }) => Some((one.session.clone(), target.clone())),
        _ => None,
    });
    if let Some((session, target)) = archived {
        issue.status = Status::Resolved;
        issue.reason = Some(format!("session {session} is archived on {target}"));
        issue.claim = None;
        return;
    }
    let is_abandoned = |ending: &Option<Ending>| matches!(ending, Some(Ending::Abandoned { .. }));
    // What somebody said of it since counts.
    if issue.in_session && known.iter().all(|(_, ending)| is_abandoned(ending)) {
        issue.status = match (known.is_empty(), &issue.bound) {
            (true, _) => return,
            (false, Some(_)) => Status::Planned,
            (false, None) => Status::Open,
        };
        issue.claim = None;
    }
}

/// Says in each issue that a session was started for what failed in it. An issue that is not here is passed over: it
/// stops no session.
pub(in crate::flow) fn tell(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    (ids, text): (&[IssueId], &str),
    edits: &mut Edits,
) -> Result<String> {
    let mut trailers = String::new();
    for id in ids {
        let Ok(Some(Read { issue, .. })) = snapshot.issue(id) else {
            continue;
        };
        let note = Note::Noted(Box::new(Said::new(NoteKind::Risk, text)));
        let draft = Draft {
            seq: issue.seq + 1,
            after: issue.newest,
            ..first(identity, &super::entity(id), note)
        };
        let op = seal(repo, &draft)?;
        edits.issue(repo, snapshot, id, std::slice::from_ref(&op))?;
        trailers.push_str(&format!("Loopx-Issue: {id}\n"));
    }
    Ok(trailers)
}

/// Whether all these words mean issues.
pub(crate) fn are_issues(ctx: &Context, words: &[String]) -> Result<bool> {
    // A word of a title has no number behind a prefix.
    let is_like_one = |word: &String| {
        word.split_once('-')
            .is_some_and(|(prefix, random)| IssueId::is_prefix(prefix) && random.len() >= 4)
    };
    if words.is_empty() || !words.iter().all(is_like_one) {
        return Ok(false);
    }
    let snapshot = ctx.store()?.snapshot()?;
    Ok(words
        .iter()
        .all(|word| names::resolve(&snapshot, word).is_ok()))
}

/// The issues that a session is to be started for, as a title and a request.
pub(crate) struct Request {
    pub ids: Vec<IssueId>,
    pub title: String,
    pub intent: String,
}

/// The title and the request of a session for these issues.
pub(crate) fn request(ctx: &Context, typed: &[String]) -> Result<Request> {
    let snapshot = ctx.store()?.snapshot()?;
    let mut ids = Vec::new();
    let mut titles = Vec::new();
    let mut texts = Vec::new();
    for typed in typed {
        let Read { issue, texts: long } = super::require(&snapshot, typed)?;
        if ids.contains(&issue.id) {
            continue;
        }
        let mut text = issue.title.clone();
        if !long.description.trim().is_empty() {
            text.push_str(&format!("\n\n{}", long.description.trim()));
        }
        if !issue.criteria.is_empty() {
            text.push_str("\n\nIt is done when:\n");
            for one in &issue.criteria {
                text.push_str(&format!("\n- {}", one.text));
            }
        }
        text.push_str(&super::solution::told(&snapshot, &issue, &long)?);
        text.push_str(&format!("\n\nIssue {}.", issue.id));
        ids.push(issue.id);
        titles.push(issue.title);
        texts.push(text);
    }
    Ok(Request {
        ids,
        title: titles.join(" and "),
        intent: texts.join("\n\n"),
    })
}

/// Notes in each issue that a session was started for it: it is in hand from then on. Refused for an issue that another
/// worktree has, that has ended, or that waits for something.
pub(crate) fn begin(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    (ids, session, uid): (&[IssueId], &SessionId, &str),
    edits: &mut Edits,
) -> Result<String> {
    let mut trailers = String::new();
    if ids.is_empty() {
        return Ok(trailers);
    }
    let token = crate::flow::lease::token(&ctx.repo);
    let now = identity.judges_at();
    let backlog = backlog_with(snapshot, Vec::new())?;
    let mut waits = backlog.waits(&today(now));
    for id in ids {
        let at = backlog.issues.iter().position(|issue| issue.id == *id);
        let at = at.ok_or_else(|| names::unknown(id.as_str()))?;
        let issue = &backlog.issues[at];
        if issue.status.is_final() {
            return Err(super::claim::ended(issue));
        }
        if let Standing::Held(claim) = lease::standing(issue.claim.as_ref(), token.as_deref(), now)
        {
            return Err(held(issue, claim));
        }
        // Whoever starts the work at once with what it waits for has it all in hand.
        let others = std::mem::take(&mut waits[at]).into_iter();
        let others: Vec<_> = others
            .filter(|wait| wait.issue().is_none_or(|one| !ids.contains(one)))
            .collect();
        if !others.is_empty() {
            return Err(not_ready(issue, &others));
        }
        let event = IssueEvent::Changed {
            changes: vec![
                Change::Session(ForIt {
                    session: session.clone(),
                    uid: uid.to_owned(),
                }),
                Change::Status(Status::InProgress),
            ],
        };
        let draft = Draft {
            seq: issue.seq + 1,
            after: issue.newest.clone(),
            ..first(identity, &super::entity(id), event)
        };
        let op = seal(&ctx.repo, &draft)?;
        edits.issue(&ctx.repo, snapshot, id, std::slice::from_ref(&op))?;
        trailers.push_str(&format!("Loopx-Issue: {id}\n"));
    }
    Ok(trailers)
}
