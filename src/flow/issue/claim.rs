//! Claims: an issue is taken with the next one that is ready, in one step, and given back. Two callers never get one
//! issue: the store lets one of two writers through, and the other decides anew on what it finds then.

use super::beside::Beside;
use super::view::Shown;
use super::{
    Plan, Step, Written, backlog_with, names, read, require_reason, require_understood, today,
    write, write_there,
};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use crate::flow::{publish, pushing};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{OpId, Person, SessionId};
use loopx_git::Identity;
use loopx_rules::issue::event::IssueEvent;
use loopx_rules::issue::hands::{Hand, Of, hands};
use loopx_rules::issue::needs::{Rules, require_takeable};
use loopx_rules::issue::{Backlog, ForIt, Issue, IssueId, Read, Status, Wait};
use loopx_rules::lease::{Claim, Leases, Over, Owner, Standing, clock, recorded_name};
use loopx_rules::policy::BacklogPolicy;
use loopx_rules::session::Stamped;
use loopx_store::Snapshot;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The options of taking an issue.
#[derive(Clone, Debug, Default)]
pub(crate) struct TakeRequest {
    /// The issue; else the next that is ready.
    pub issue: Option<String>,
    /// Labels that the issue must have, all of them.
    pub labels: Vec<String>,
    /// Set when the issue may be taken from somebody whose lease is still running.
    pub take_over: bool,
    pub reason: Option<String>,
    /// The next of the queue, and no other.
    pub queue: bool,
    /// The claim goes to the remote first, alone.
    pub remote: bool,
}

/// An issue that somebody got.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub shown: Shown,
    /// The end of the lease.
    pub until: String,
    /// The person from whom the issue was taken.
    pub from: Option<String>,
    /// Set when somebody had the issue in hand before, and did not end it.
    pub resumed: bool,
    /// The remote that has the claim.
    pub remote: Option<String>,
    /// The session of whoever asks, and whether it was started for the issue.
    pub beside: Option<(SessionId, bool)>,
}

/// Claims an issue.
pub(crate) fn take(ctx: &Context, request: &TakeRequest) -> Result<Written<Taken>> {
    if request.take_over {
        let id = request.issue.as_deref().unwrap_or_default();
        let again = command!("issue take {id} --take-over --reason WHY");
        require_reason(request.reason.as_ref(), "taking an issue over", again)?;
    }
    let owner = crate::flow::lease::owner(&ctx.repo, None)?;
    let policy = crate::flow::specs::policy(ctx)?.backlog;
    let at_remote = request.remote || publish::is_wanted(ctx);
    let unheard = at_remote.then(|| pushing::unheard(&ctx.repo));
    let unheard = unheard.unwrap_or_default();
    let plan = |snapshot: &Snapshot<'_>, identity: &Identity| {
        let now = identity.judges_at();
        let request = arrived(snapshot, request, &unheard, &owner)?;
        let (backlog, at) = sure(ctx, snapshot, &request, now, &policy)?;
        let issue = backlog.issues[at].clone();
        let watched = Watched::of_issues(&ctx.repo, &backlog.issues, now);
        let me = (&identity.author, &watched.leases);
        require_room(&backlog, std::slice::from_ref(&issue.id), &policy, me)?;
        require_takeable(&issue, &policy.take)?;
        let held = issue.claim.as_deref();
        let over = held.filter(|claim| claim.value.owner != owner.token);
        let alive = over.is_some_and(|claim| watched.leases.runs(claim));
        if alive {
            super::require_person(ctx, "taking an issue over while its lease runs")?;
        }
        crate::flow::lease::keep(&ctx.repo, &owner.token)?;
        let claim = claim_over(&owner, over, alive);
        let got = Got {
            read: read(snapshot, &issue.id)?,
            until: clock(now.saturating_add(i64::from(claim.seconds))),
            from: over.map(|claim| watched.whose(claim)),
            resumed: held.is_some(),
            backlog,
        };
        let what = match over {
            Some(over) => {
                let from = recorded_name(over.value.agent.as_deref(), &over.signed.by);
                format!("take over from {from}")
            }
            None => format!("take {}", issue.title),
        };
        let body = IssueEvent::Claimed {
            claim,
            there: at_remote,
        };
        Ok(Plan {
            what,
            reason: request.reason.clone(),
            steps: vec![Step {
                id: issue.id.clone(),
                before: Some(issue),
                body: body.into(),
                reason: None,
            }],
            value: got,
        })
    };
    let (written, remote) = if at_remote {
        let (written, remote) = write_there(ctx, plan)?;
        (written, Some(remote))
    } else {
        (write(ctx, plan)?, None)
    };
    taken(ctx, written, remote)
}

/// An issue that was claimed, and the circumstances of its claim.
struct Got {
    read: Option<Read>,
    backlog: Backlog,
    until: String,
    /// The person from whom the issue was taken.
    from: Option<String>,
    resumed: bool,
}

/// The claim of an owner, over that of somebody else where there is one; `alive` says that the lease of the other runs.
fn claim_over(owner: &Owner, over: Option<&Stamped<Claim>>, alive: bool) -> Claim {
    Claim {
        owner: owner.token.clone(),
        agent: owner.agent.clone(),
        seconds: owner.seconds,
        over: over.map(|claim| Over {
            owner: claim.value.owner.clone(),
            agent: claim.value.agent.clone(),
            signed: claim.signed.clone(),
            alive,
        }),
    }
}

/// An issue as whoever took it is shown it.
fn taken(ctx: &Context, written: Written<Got>, remote: Option<String>) -> Result<Written<Taken>> {
    let got = written.value;
    let mut read = got.read.ok_or_else(|| names::unknown(""))?;
    read.issue.status = Status::InProgress;
    let beside = ctx.bound_session()?.map(|session| {
        let is_for_it = |one: &ForIt| one.session == session;
        let is_for_it = read.issue.sessions.iter().any(is_for_it);
        (session, is_for_it)
    });
    let around = (&got.backlog, written.names.clone());
    Ok(Written {
        ids: written.ids,
        names: written.names,
        commit: written.commit,
        value: Taken {
            shown: super::view::taken(ctx, around, read, &got.until)?,
            until: got.until,
            from: got.from,
            resumed: got.resumed,
            remote,
            beside,
        },
    })
}

/// The request as it is once an earlier claim is known to have arrived at the remote, whose answer nobody heard: that issue
/// is taken up, and no other one.
fn arrived<'t>(
    snapshot: &Snapshot<'_>,
    request: &'t TakeRequest,
    unheard: &BTreeSet<OpId>,
    owner: &Owner,
) -> Result<Cow<'t, TakeRequest>> {
    if unheard.is_empty() || request.issue.is_some() {
        return Ok(Cow::Borrowed(request));
    }
    let all = super::all(snapshot)?.issues.into_iter();
    let is_it = |issue: &Issue| {
        let claim = issue.claim.as_deref();
        !issue.status.is_final()
            && claim.is_some_and(|claim| {
                unheard.contains(&claim.op) && claim.value.owner == owner.token
            })
    };
    let found = all.into_iter().find(is_it);
    Ok(match found {
        None => Cow::Borrowed(request),
        Some(issue) => Cow::Owned(TakeRequest {
            issue: Some(issue.id.to_string()),
            queue: false,
            labels: Vec::new(),
            ..request.clone()
        }),
    })
}

/// Refuses more issues in hand than policy lets a person or a label have.
pub(super) fn require_room(
    backlog: &Backlog,
    wanted: &[IssueId],
    policy: &BacklogPolicy,
    (me, leases): (&Person, &Leases),
) -> Result<()> {
    let wanted: Vec<&Issue> = wanted.iter().filter_map(|id| backlog.find(id)).collect();
    for hand in hands(&backlog.issues, policy, Some(me), leases) {
        let fresh = wanted
            .iter()
            .filter(|issue| hand.would_get(issue, me))
            .count();
        if fresh > 0 && hand.is_over(fresh) {
            return Err(no_room(&hand, fresh));
        }
    }
    Ok(())
}

/// The command by which one of the issues in hand goes back: one for which no session goes on, else the session of the first.
fn given_back(hand: &Hand<'_>) -> Option<Hint> {
    let free = hand.held.iter().find(|issue| issue.running.is_none());
    free.map(|issue| command!("issue release {}", issue.id))
        .or_else(|| {
            let session = hand.held.first()?.running.as_ref()?;
            Some(command!("status").session(session))
        })
}

fn no_room(hand: &Hand<'_>, fresh: usize) -> Failure {
    let names: Vec<&str> = hand.held.iter().map(|issue| issue.id.as_str()).collect();
    let (most, held, all, key) = (hand.most, names.len(), names.join(", "), hand.key);
    let (message, help) = match (&hand.of, names.first()) {
        (Of::Person(_), Some(first)) => (
            format!("you have {held} in hand, and [backlog] {key} of loopx.toml is {most}: {all}"),
            given_back(hand).unwrap_or_else(|| command!("issue show {first}")),
        ),
        (Of::Label(label), Some(first)) => (
            format!(
                "{held} labelled {label} are in hand, and [backlog] limits of loopx.toml lets it have {most}: {all}"
            ),
            command!("issue show {first}"),
        ),
        (Of::Person(_), None) => (
            format!("{fresh} are asked for at once, and [backlog] {key} of loopx.toml is {most}"),
            command!("issue ready"),
        ),
        (Of::Label(label), None) => (
            format!(
                "{fresh} labelled {label} are asked for at once, and [backlog] limits of loopx.toml lets it have {most}"
            ),
            command!("issue ready"),
        ),
    };
    Failure::refused(Code::IssueWipReached, message).help(help)
}

/// The issue that is taken with what decides about it, and its place: it is chosen by its records and by those of what it
/// waits for. All issues are looked through where something about all of them is asked.
fn sure(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    request: &TakeRequest,
    now: i64,
    policy: &BacklogPolicy,
) -> Result<(Backlog, usize)> {
    if policy.asks_of_begun() || request.queue || !request.labels.is_empty() {
        return sure_of_all(ctx, snapshot, request, now, policy);
    }
    let beside = Beside::of(snapshot)?;
    if let Some(typed) = &request.issue {
        let id = names::resolve(snapshot, typed)?;
        let backlog = Backlog::of(beside.around(&[id])?);
        let at = choose(ctx, snapshot, &backlog, request, now, policy)?;
        return Ok((backlog, at));
    }
    match beside.next(&today(now), 1)?.pop() {
        Some(found) => Ok(found),
        None => sure_of_all(ctx, snapshot, request, now, policy),
    }
}

/// All issues with the place of the one that is taken: what a list keeps may be wrong.
fn sure_of_all(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    request: &TakeRequest,
    now: i64,
    policy: &BacklogPolicy,
) -> Result<(Backlog, usize)> {
    let mut backlog = backlog_with(snapshot, Vec::new())?;
    if let Some(typed) = &request.issue {
        (backlog, _) = from_records(snapshot, backlog, names::resolve(snapshot, typed)?)?;
    }
    loop {
        let at = choose(ctx, snapshot, &backlog, request, now, policy)?;
        let id = backlog.issues[at].id.clone();
        match from_records(snapshot, backlog, id)? {
            (same, false) => return Ok((same, at)),
            (other, true) => backlog = other,
        }
    }
}

/// A backlog with an issue, and all that is linked to it, as their records are; and whether anything of it was otherwise.
/// The kept list has a checksum that anybody can make: whatever is written rests on records.
pub(super) fn from_records(
    snapshot: &Snapshot<'_>,
    backlog: Backlog,
    id: IssueId,
) -> Result<(Backlog, bool)> {
    let mut from: HashMap<&IssueId, Vec<&IssueId>> = HashMap::new();
    for issue in &backlog.issues {
        for link in &issue.links {
            from.entry(&link.to).or_default().push(&issue.id);
        }
    }
    let mut open = vec![id];
    let mut known = HashSet::new();
    let mut otherwise = Vec::new();
    while let Some(id) = open.pop() {
        if !known.insert(id.clone()) {
            continue;
        }
        let issue = read(snapshot, &id)?.map(|read| read.issue);
        let links = issue.iter().flat_map(|issue| &issue.links);
        open.extend(links.map(|link| link.to.clone()));
        open.extend(from.get(&id).into_iter().flatten().copied().cloned());
        if issue.as_ref() != backlog.find(&id) {
            otherwise.push((id, issue));
        }
    }
    if otherwise.is_empty() {
        return Ok((backlog, false));
    }
    let mut issues = backlog.issues;
    issues.retain(|issue| otherwise.iter().all(|(id, _)| issue.id != *id));
    issues.extend(otherwise.into_iter().filter_map(|(_, issue)| issue));
    Ok((Backlog::of(issues), true))
}

/// The place of the issue that is meant, or of the first that is ready.
fn choose(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    backlog: &Backlog,
    request: &TakeRequest,
    now: i64,
    policy: &BacklogPolicy,
) -> Result<usize> {
    let day = today(now);
    if request.queue {
        return super::queue::next(ctx, snapshot, backlog, &request.labels, now);
    }
    let Some(typed) = &request.issue else {
        let ready = backlog.ready(&day).into_iter();
        let has_labels = |at: &usize| {
            let labels = &backlog.issues[*at].labels;
            request.labels.iter().all(|label| labels.contains(label))
        };
        let ready: Vec<usize> = ready.filter(has_labels).collect();
        let watched = Watched::of_issues(&ctx.repo, &backlog.issues, now);
        let rules = Rules::of(policy, &backlog.issues, (None, &watched.leases));
        let lacks = |at: &&usize| !rules.lacking(&backlog.issues[**at]).is_empty();
        // Where each lacks something whoever asks hears of the first.
        let found = ready.iter().find(|at| !lacks(at)).or(ready.first());
        return found
            .copied()
            .ok_or_else(|| nothing_ready(backlog, &request.labels));
    };
    let id = names::resolve(snapshot, typed)?;
    let at = backlog.issues.iter().position(|issue| issue.id == id);
    let at = at.ok_or_else(|| names::unknown(typed))?;
    let issue = &backlog.issues[at];
    if issue.status.is_final() {
        return Err(ended(snapshot, issue));
    }
    let watched = Watched::of_issues(&ctx.repo, [issue], now);
    match (
        watched.leases.standing(issue.claim.as_deref()),
        &issue.running,
    ) {
        (Standing::Held(claim), _) if !request.take_over => {
            return Err(held(issue, claim, &watched));
        }
        (Standing::Free | Standing::Dead(_), Some(session)) if !request.take_over => {
            return Err(running(ctx, snapshot, issue, session));
        }
        _ => {}
    }
    let waits = backlog.waits(&day).swap_remove(at);
    if waits.is_empty() {
        Ok(at)
    } else {
        Err(not_ready(issue, &waits))
    }
}

fn nothing_ready(backlog: &Backlog, labels: &[String]) -> Failure {
    if !labels.is_empty() {
        let message = format!(
            "no issue labelled {} can be begun now",
            labels.join(" and ")
        );
        return Failure::nothing(Code::IssueNoneReady, message).help(command!("issue ready"));
    }
    let open = backlog
        .issues
        .iter()
        .filter(|issue| !issue.status.is_final())
        .count();
    let message = match open {
        0 => "the backlog has no open issue".to_owned(),
        1 => "the one open issue cannot be begun now".to_owned(),
        open => format!("none of the {open} open issues can be begun now"),
    };
    Failure::nothing(Code::IssueNoneReady, message).help(command!("issue list"))
}

/// The refusal where nothing is left to do. An issue that an archive resolved is opened with its session.
pub(super) fn ended(snapshot: &Snapshot<'_>, issue: &Issue) -> Failure {
    let id = &issue.id;
    let archived = super::sessions::require_no_archive(snapshot, issue).err();
    let help = archived.and_then(|failure| failure.help);
    Failure::refused(
        Code::IssueEnded,
        format!("{id} is {}: nothing is left to do", issue.status),
    )
    .help(help.unwrap_or_else(|| command!("issue reopen {id}")))
}

/// The refusal of an issue that somebody else has.
pub(super) fn held(issue: &Issue, claim: &Stamped<Claim>, watched: &Watched) -> Failure {
    let id = &issue.id;
    Failure::waiting(
        Code::IssueHeld,
        format!(
            "{id} is taken by {}, until {}",
            watched.whose(claim),
            clock(watched.until(claim))
        ),
    )
    .help(hint![
        "wait, or: ",
        command!("issue take {id} --take-over --reason WHY")
    ])
}

/// The refusal of an issue for which a session goes on: a second one would do the work again.
pub(super) fn running(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    issue: &Issue,
    session: &SessionId,
) -> Failure {
    let sessions: Vec<&str> = issue.all_running().map(SessionId::as_str).collect();
    let word = if sessions.len() > 1 {
        "sessions"
    } else {
        "session"
    };
    Failure::waiting(
        Code::IssueHeld,
        format!(
            "{} is being done in {word} {}",
            issue.id,
            sessions.join(" and ")
        ),
    )
    .help(hint![
        super::sessions::place(ctx, snapshot, session),
        "  or, to give it up: ",
        command!("abandon --reason WHY").session(session)
    ])
}

/// The issue waits for something.
pub(super) fn not_ready(issue: &Issue, waits: &[Wait]) -> Failure {
    let id = &issue.id;
    let words: Vec<String> = waits
        .iter()
        .map(|wait| wait.words(ToString::to_string))
        .collect();
    let blockers = waits.iter().map(|wait| {
        let lead = match wait {
            Wait::Issue { issue, .. } | Wait::Missing { issue } | Wait::NotNeeded { issue } => {
                command!("issue show {issue}")
            }
            // It comes without anybody's word: no command takes the condition away.
            Wait::Settling { .. } | Wait::World(_) => command!("issue show {id}"),
            Wait::Circle { issues } => super::apart::original(&issues[0]),
            Wait::Day { of, .. } => {
                command!("issue edit {} --no-defer", of.as_ref().unwrap_or(id))
            }
            Wait::Newer { .. } => command!("issue log {id}"),
        };
        let words = wait.words(ToString::to_string);
        Blocker::new(Code::IssueBlocked, format!("{id} waits for {words}"), lead)
    });
    let blockers: Vec<Blocker> = blockers.collect();
    let lead = blockers.first().map(|blocker| blocker.help.clone());
    Failure::refused(
        Code::IssueBlocked,
        format!("{id} waits for {}", words.join(", ")),
    )
    .help(lead.unwrap_or_else(|| command!("issue show {id}")))
    .blockers(blockers)
}

/// Gives issues back.
pub(crate) fn release(
    ctx: &Context,
    typed: &[String],
    reason: Option<&String>,
) -> Result<Written<()>> {
    write(ctx, |snapshot, identity| {
        let mut steps = Vec::new();
        for typed in typed {
            let issue = require_understood(snapshot, typed)?;
            let id = &issue.id;
            require_own(ctx, &issue, identity.judges_at())?;
            match &issue.claim {
                None if issue.status == Status::InProgress => {}
                None => {
                    return Err(Failure::nothing(
                        Code::IssueNotHeld,
                        format!("nobody has {id} in hand"),
                    )
                    .help(if issue.status.is_final() {
                        command!("issue show {id}")
                    } else {
                        command!("issue take {id}")
                    }));
                }
                Some(_) => {}
            }
            steps.push(Step {
                id: issue.id.clone(),
                body: IssueEvent::Released {
                    claim: issue.claim.as_ref().map(|claim| claim.op.clone()),
                }
                .into(),
                before: Some(issue),
                reason: None,
            });
        }
        Ok(Plan {
            what: "release".to_owned(),
            reason: reason.cloned(),
            steps,
            value: (),
        })
    })
}

/// Refuses what somebody does to an issue that another worktree has in hand.
pub(super) fn require_own(ctx: &Context, issue: &Issue, now: i64) -> Result<()> {
    let watched = Watched::of_issues(&ctx.repo, [issue], now);
    match watched.leases.standing(issue.claim.as_deref()) {
        Standing::Held(claim) => Err(held(issue, claim, &watched)),
        _ => Ok(()),
    }
}
