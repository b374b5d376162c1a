//! Sessions that were started for issues: an issue is resolved once one of them is archived, and is to be done again
//! where each archive was taken back and the others were abandoned. Computed on reading, so that no undo has to remember it.

use super::beside::Beside;
use super::claim::{from_records, held, not_ready};
use super::{backlog_with, names, today};
use crate::flow::archive::confirmed;
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use crate::flow::write_scope::{first, seal};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Person, SessionId};
use loopx_git::{Identity, Repo};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::needs::{require_step, require_takeable};
use loopx_rules::issue::until;
use loopx_rules::issue::{Backlog, ForIt, Issue, IssueId, Read, Status};
use loopx_rules::lease::{Standing, seconds_of};
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_rules::op::{Event, Operation};
use loopx_rules::record::Draft;
use loopx_rules::session::Ending;
use loopx_rules::task::world::World;
use loopx_store::{Edits, Snapshot};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The issues with what became of the sessions that were started for them.
pub(super) fn settle(snapshot: &Snapshot<'_>, issues: &mut [Issue]) -> Result<()> {
    settle_at(snapshot, issues, None)?;
    look(snapshot, issues);
    Ok(())
}

/// Looks at what issues wait for outside of the backlog. Nothing is looked at that no open issue waits for.
fn look(snapshot: &Snapshot<'_>, issues: &mut [Issue]) {
    let waits = |issue: &&mut Issue| !issue.until.is_empty() && !issue.status.is_final();
    let mut waiting: Vec<&mut Issue> = issues.iter_mut().filter(waits).collect();
    if waiting.is_empty() {
        return;
    }
    let all = waiting.iter().flat_map(|issue| &issue.until);
    let world = World {
        seen: crate::flow::world::look(snapshot, all),
        ..World::default()
    };
    for issue in &mut waiting {
        issue.held = until::Open::of(&world, &issue.until);
    }
}

/// The issues as they were at a second, with what had become by then of the sessions that were started for them.
pub(super) fn settle_at(
    snapshot: &Snapshot<'_>,
    issues: &mut [Issue],
    second: Option<i64>,
) -> Result<()> {
    if second.is_some() {
        // Nobody knows what a branch was at a moment that is over.
        for issue in issues.iter_mut().filter(|one| !one.status.is_final()) {
            issue.held = until::Open::of(&World::default(), &issue.until);
        }
    }
    let asks = |issue: &Issue| !issue.sessions.is_empty() && !issue.status.is_final();
    if !issues.iter().any(asks) {
        return Ok(());
    }
    let mut endings = endings(snapshot)?;
    if let Some(second) = second {
        let of_issues = issues.iter().flat_map(|issue| &issue.sessions);
        let uids: HashSet<&String> = of_issues.map(|one| &one.uid).collect();
        for (uid, (session, ending, _)) in &mut endings {
            if ending.is_some()
                && uids.contains(uid)
                && ended_at(snapshot, session)?.is_some_and(|ended| ended > second)
            {
                *ending = None;
            }
        }
    }
    for issue in issues.iter_mut().filter(|issue| asks(issue)) {
        settle_one(issue, &endings);
    }
    Ok(())
}

/// The ends of sessions by their uids, with the names that they have now: of two that began apart under one name one
/// has another since.
type Endings = HashMap<String, (SessionId, Option<Ending>, Person)>;

fn endings(snapshot: &Snapshot<'_>) -> Result<Endings> {
    let mut endings = Endings::new();
    for (id, summary) in snapshot.summaries(true)? {
        if let Ok(summary) = summary {
            let ending = summary.ending;
            let ending = ending.map(|ending| confirmed(snapshot.repo(), ending));
            let starter = Person::parse(&summary.starter);
            endings.insert(summary.uid, (id, ending, starter));
        }
    }
    Ok(endings)
}

/// The second at which a session ended last.
pub(super) fn ended_at(snapshot: &Snapshot<'_>, session: &SessionId) -> Result<Option<i64>> {
    let Some(found) = snapshot.find(session)? else {
        return Ok(None);
    };
    let ends = |op: &&Operation| {
        let event = op.event();
        event.is_some_and(|event| matches!(event, Event::Archived { .. } | Event::Abandoned))
    };
    let operations = snapshot.operations(&found)?;
    let last = operations.iter().rev().find(ends);
    Ok(last.and_then(|op| seconds_of(&op.at)))
}

/// Refuses to open or close an issue that an archive resolves: it would stay resolved.
pub(super) fn require_no_archive(snapshot: &Snapshot<'_>, issue: &Issue) -> Result<()> {
    if issue.sessions.is_empty() {
        return Ok(());
    }
    let endings = endings(snapshot)?;
    let of = |one: &ForIt| endings.get(&one.uid);
    let mut known = issue.sessions.iter().filter_map(of);
    let is_archived = |ending: &Option<Ending>| ending.as_ref().is_some_and(Ending::is_result);
    match known.find(|(_, ending, _)| is_archived(ending)) {
        None => Ok(()),
        Some((session, ..)) => Err(Failure::refused(
            Code::IssueEnded,
            format!(
                "{} would stay resolved: session {session}, which was for it, is archived",
                issue.id
            ),
        )
        .help(command!("reopen --reason WHY").session(session))),
    }
}

/// The way to a session that goes on: to its branch where that is not here, for a step of it is refused elsewhere.
pub(super) fn place(ctx: &Context, snapshot: &Snapshot<'_>, session: &SessionId) -> Hint {
    let status = command!("status").session(session);
    let state = snapshot.find(session).ok().flatten();
    let Some(branch) = state.and_then(|session| session.state.branch.clone()) else {
        return status;
    };
    let here = ctx.repo.head().ok().and_then(|head| head.branch);
    if here.as_ref() == Some(&branch) {
        return status;
    }
    ctx.to_branch(session, &branch).unwrap_or(status)
}

/// The issues for which more than one session goes on, with those.
pub(super) fn begun_twice(
    snapshot: &Snapshot<'_>,
    issues: &[Issue],
) -> Result<HashMap<IssueId, Vec<SessionId>>> {
    let asks = |issue: &&Issue| issue.sessions.len() > 1 && !issue.status.is_final();
    if !issues.iter().any(|issue| asks(&issue)) {
        return Ok(HashMap::new());
    }
    let endings = endings(snapshot)?;
    let running = |one: &ForIt| match endings.get(&one.uid) {
        Some((session, None, _)) => Some(session.clone()),
        _ => None,
    };
    let found = issues.iter().filter(asks).map(|issue| {
        let running = issue.sessions.iter().filter_map(running);
        (issue.id.clone(), running.collect::<Vec<_>>())
    });
    Ok(found.filter(|(_, running)| running.len() > 1).collect())
}

fn settle_one(issue: &mut Issue, endings: &Endings) {
    let mut known: Vec<&(SessionId, Option<Ending>, Person)> = Vec::new();
    for one in &mut issue.sessions {
        if let Some(found) = endings.get(&one.uid) {
            one.session.clone_from(&found.0);
            known.push(found);
        }
    }
    let running = known.iter().filter(|(_, ending, _)| ending.is_none());
    let by = running.clone().next().map(|(.., by)| by);
    issue.running_by = by.cloned().map(Box::new);
    let mut running = running.map(|(session, ..)| session.clone());
    issue.running = running.next();
    issue.running_beside = running.collect();
    let archived = known.iter().find_map(|(session, ending, _)| match ending {
        Some(Ending::Archived {
            target,
            taken_back: None,
            ..
        }) => Some((session.clone(), target.clone())),
        _ => None,
    });
    if let Some((session, target)) = archived {
        issue.status = Status::Resolved;
        issue.reason = Some(format!("session {session} is archived on {target}"));
        issue.claim = None;
        return;
    }
    let has_no_result =
        |ending: &Option<Ending>| ending.as_ref().is_some_and(|ending| !ending.is_result());
    // What somebody said of it since counts.
    if issue.in_session && known.iter().all(|(_, ending, _)| has_no_result(ending)) {
        if known.is_empty() {
            return;
        }
        issue.status = issue.unbegun();
        issue.claim = None;
    }
}

/// An issue for which a session was started, as it is before an archive of that session resolves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ToResolve {
    pub issue: IssueId,
    pub short: String,
    pub title: String,
    pub status: Status,
    /// The criteria that nobody ticked.
    pub unticked: Vec<String>,
}

/// The issues of a session. One that is not here is passed over: it stops no session.
pub(in crate::flow) fn of_session(
    snapshot: &Snapshot<'_>,
    ids: &[IssueId],
) -> Result<Vec<ToResolve>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let names = super::Names::of(snapshot)?;
    let mut found = Vec::new();
    for id in ids {
        if let Ok(Some(Read { issue, .. })) = snapshot.issue(id) {
            let open = issue.criteria.iter().filter(|one| !one.done);
            found.push(ToResolve {
                short: names.short(id).to_owned(),
                unticked: open.map(|one| one.text.clone()).collect(),
                title: issue.title,
                status: issue.status,
                issue: issue.id,
            });
        }
    }
    Ok(found)
}

/// The issues that the archive of a session resolves.
pub(crate) fn resolved_by(ctx: &Context, session: &SessionId) -> Result<Vec<ToResolve>> {
    let snapshot = ctx.store()?.snapshot()?;
    match snapshot.find(session)? {
        Some(session) => of_session(&snapshot, &session.state.issues),
        None => Ok(Vec::new()),
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

/// Tells whether these words, which stand behind an issue, mean issues as well: all of them, or none. Where only some
/// do, nobody can tell whether the rest is a name or mistyped.
pub(crate) fn are_issues(ctx: &Context, words: &[String]) -> Result<bool> {
    let is_like_one = |word: &str| {
        let random = match word.split_once('-') {
            Some((prefix, random)) if IssueId::is_prefix(prefix) => random,
            _ => word,
        };
        random.len() >= 4 && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let words = words.iter().map(String::as_str);
    let words: Vec<&str> = words.collect();
    if !words.iter().any(|word| is_like_one(word)) {
        return Ok(false);
    }
    let snapshot = ctx.store()?.snapshot()?;
    let mut known = Vec::new();
    for word in words.iter().filter(|word| is_like_one(word)) {
        match names::resolve(&snapshot, word) {
            Ok(id) => known.push((*word, id)),
            Err(failure) if failure.code == Code::IssueUnknown => {}
            Err(failure) => return Err(failure),
        }
    }
    match known.first() {
        None => Ok(false),
        Some(_) if known.len() == words.len() => Ok(true),
        Some((word, id)) => {
            let is_known = |word: &&&str| known.iter().any(|(one, _)| one == *word);
            let other = words.iter().find(|word| !is_known(word));
            let other = other.copied().unwrap_or_default();
            Err(Failure::not_found(
                Code::IssueUnknown,
                format!(
                    "expected issues or a name behind --issue, found both: `{word}` is {id}, and there is no issue `{other}`; a name with that word goes in quotes"
                ),
            )
            .help(command!("issue list --all")))
        }
    }
}

/// The issues that a session is to be started for, as a title and a request.
pub(crate) struct Request {
    pub ids: Vec<IssueId>,
    pub title: String,
    pub intent: String,
    /// The part of the request that the issues ask for: their titles, descriptions and criteria, without what the
    /// program says of them.
    pub asked: String,
}

/// The title and the request of a session for these issues.
pub(crate) fn request(ctx: &Context, typed: &[String]) -> Result<Request> {
    let snapshot = ctx.store()?.snapshot()?;
    let mut ids = Vec::new();
    let mut titles = Vec::new();
    let mut texts = Vec::new();
    let mut asked = Vec::new();
    for typed in typed {
        let Read { issue, texts: long } = super::require(&snapshot, typed)?;
        if ids.contains(&issue.id) {
            continue;
        }
        let mut text = issue.title.clone();
        if !long.description.trim().is_empty() {
            text.push_str(&format!("\n\n{}", long.description.trim()));
        }
        let mut wanted = text.clone();
        if !issue.criteria.is_empty() {
            let all = issue.criteria.iter();
            let criteria: String = all.map(|one| format!("\n- {}", one.text)).collect();
            text.push_str(&format!("\n\nIt is done when:\n{criteria}"));
            wanted.push_str(&format!("\n\n{criteria}"));
        }
        asked.push(wanted);
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
        asked: asked.join("\n\n"),
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
    let now = identity.judges_at();
    let policy = crate::flow::specs::policy(ctx)?.backlog;
    let backlog = if policy.has_limits() {
        let mut backlog = backlog_with(snapshot, Vec::new())?;
        for id in ids {
            (backlog, _) = from_records(snapshot, backlog, id.clone())?;
        }
        backlog
    } else {
        Backlog::of(Beside::of(snapshot)?.around(ids)?)
    };
    let mut waits = backlog.waits(&today(now));
    let watched = Watched::of_issues(&ctx.repo, &backlog.issues, now);
    let me = (&identity.author, &watched.leases);
    super::claim::require_room(&backlog, ids, &policy, me)?;
    for id in ids {
        let at = backlog.issues.iter().position(|issue| issue.id == *id);
        let at = at.ok_or_else(|| names::unknown(id.as_str()))?;
        let issue = &backlog.issues[at];
        if issue.status.is_final() {
            return Err(super::claim::ended(snapshot, issue));
        }
        if let Some(session) = &issue.running {
            return Err(super::claim::running(ctx, snapshot, issue, session));
        }
        require_takeable(issue, &policy.take)?;
        require_step(issue, Status::InProgress, &policy.follows)?;
        if let Standing::Held(claim) = watched.leases.standing(issue.claim.as_deref()) {
            return Err(held(issue, claim, &watched));
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
