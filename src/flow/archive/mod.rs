//! `archive`: merges the deltas of sessions into the specs, one commit for each on the target branch, and
//! moves the sessions to the archive.
//!
//! Two refs move, one after the other, once each however many sessions there are, by way of the journal:
//! whatever command writes next finishes what was under way, or forgets it when nothing had happened yet.
//! `steps` puts the sessions in order, `plan` decides about one, `unarchive` takes an archive back, `contest`
//! is about the conflicts of both, for a person; `landing` makes the commits, and `closing` says what goes
//! with a session that ends.

mod closing;
mod contest;
mod landing;
mod plan;
mod standing;
mod steps;
mod unarchive;

pub(crate) use closing::adr_candidate;
pub(crate) use contest::waiting;
use loopx_base::hint::command;
use plan::way;
pub(in crate::flow) use plan::{likely_target, target_tree};
pub(crate) use standing::confirmed;
pub(in crate::flow) use standing::standing;
pub(in crate::flow) use unarchive::undoing;
pub(crate) use unarchive::{UNARCHIVE, Unarchived, unarchive};

use super::context::Context;
use super::journal::Earlier;
use super::naming;
use super::transaction::require_active;
use super::write_scope::Opening;
use contest::{
    Contest, Way, abort, contested, has_conflicts, no_conflict, read_contest, refuse_begun,
    write_conflicts,
};
use landing::land;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_rules::session::Ending;
use loopx_store::{Session, Snapshot, Store};
use serde::Serialize;
use std::collections::BTreeMap;
use steps::{Asked, Judged, steps};

/// The way that `archive` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Say what would happen, with a diff; write nothing.
    DryRun,
    Merge,
    /// Take the conflicts as they were resolved in the working copy.
    Continue,
    /// Forget the conflicts that were written out.
    Abort,
}

/// Scenarios that go in without evidence, by name, and why.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waivers {
    pub scenarios: Vec<String>,
    pub reason: String,
    /// The commit is signed, also where it carries none.
    pub sign: bool,
}

/// The text of a file before and after: a spec, or the fragment of a changelog.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpecChange {
    pub path: String,
    pub before: Option<String>,
    /// `None`: the file goes.
    pub after: Option<String>,
}

/// All options of `archive`.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    /// Sessions by name; none: the one that is meant.
    pub names: &'r [String],
    pub onto: Option<&'r str>,
    pub mode: Mode,
    pub waivers: &'r Waivers,
}

/// The result of archiving a session.
#[derive(Debug)]
pub(crate) struct Archived {
    pub id: SessionId,
    pub target: String,
    /// The commit on the target branch; `None` for a dry run, and where the specs said so already.
    pub commit: Option<Oid>,
    pub changes: Vec<SpecChange>,
    /// Warnings of the merge.
    pub warnings: Vec<String>,
    /// An earlier run was finished by this one.
    pub finished: bool,
}

impl Archived {
    fn new(id: SessionId, target: String, commit: Option<Oid>) -> Self {
        Archived {
            id,
            target,
            commit,
            changes: Vec::new(),
            warnings: Vec::new(),
            finished: false,
        }
    }
}

/// The result of a run of `archive`.
#[derive(Debug)]
pub(crate) enum Done {
    Archived(Vec<Archived>),
    /// Taking an archive back: that was continued or given up.
    TakenBack(Unarchived),
}

/// Tries before a busy target branch is given up.
const TRIES: u32 = 10;

/// Archives sessions, all of them or none, in an order in which nobody waits for a later one.
pub(crate) fn archive(ctx: &Context, request: &Request<'_>) -> Result<Done> {
    let store = ctx.store()?;
    let mode = request.mode;
    if mode == Mode::DryRun {
        return preview(ctx, &store, request).map(Done::Archived);
    }
    let opening = Opening::of(ctx)?;
    let earlier = Before::of(&opening.earlier);
    let snapshot = opening.store.snapshot()?;
    let ids = match (request.meant(ctx, &snapshot), earlier.only()) {
        // What was bound here has just been archived, or what was contested has been taken back.
        (Err(_), Some(only))
            if request.names.is_empty()
                && (mode == Mode::Continue || earlier.archived.contains(only)) =>
        {
            vec![only.clone()]
        }
        (ids, _) => ids?,
    };
    if let [id] = ids.as_slice() {
        if mode == Mode::Abort {
            return forget(ctx, &snapshot, id);
        }
        let contest = read_contest(ctx, id)?;
        let undone = contest.as_ref().is_some_and(Contest::is_undo);
        let sign = request.waivers.sign;
        if mode == Mode::Continue && (undone || earlier.undone.contains_key(id)) {
            let done = unarchive::go_on(ctx, &opening, id, (request.onto, sign), contest)?;
            return Ok(Done::TakenBack(done));
        }
    }
    let (mut done, open) = sorted(&opening, &snapshot, &earlier, &ids)?;
    if open.is_empty() {
        return Ok(Done::Archived(done));
    }
    let mut onto = request.onto.map(str::to_owned);
    let contest = contest(ctx, mode, &open)?;
    if let Some(contest) = &contest {
        // A conflict is continued where it was met.
        onto.get_or_insert_with(|| contest.target.clone());
    }
    let asked = Asked {
        onto: onto.as_deref(),
        waivers: request.waivers,
        identity: Some(&opening.identity),
        contest: contest.as_ref(),
        alone: ids.len() == 1,
    };
    for _ in 0..TRIES {
        let steps = match steps(ctx, &snapshot, &open, &asked)? {
            Judged::Clean(steps) => steps,
            Judged::SpecConflict(step, failure) => {
                let (state, plan) = (&step.facts.state, &step.plan);
                return Err(write_conflicts(
                    ctx,
                    &state.id,
                    (&plan.aim.target, &plan.specs),
                    way(state),
                    &plan.fights(ctx)?,
                    failure,
                )?);
            }
        };
        if let Some(landed) = land(&opening.scope(ctx), &steps, request.waivers.sign)? {
            done.extend(steps.into_iter().zip(landed).map(|(step, commit)| {
                let mut archived = step.archived(commit);
                archived.finished = step.landed.is_some();
                archived
            }));
            return Ok(Done::Archived(done));
        }
    }
    Err(busy().help(command!("archive")))
}

/// The conflict that is continued; nothing where something else is done, which no conflict may wait for.
fn contest(ctx: &Context, mode: Mode, open: &[Session]) -> Result<Option<Contest>> {
    if let (Mode::Continue, [one]) = (mode, open) {
        let contest = read_contest(ctx, &one.state.id)?;
        return contest.ok_or_else(no_conflict).map(Some);
    }
    for session in open {
        refuse_begun(ctx, &session.state.id)?;
    }
    Ok(None)
}

/// The sessions that an earlier run archived, and those that are to be archived.
fn sorted(
    opening: &Opening<'_>,
    snapshot: &Snapshot<'_>,
    earlier: &Before,
    ids: &[SessionId],
) -> Result<(Vec<Archived>, Vec<Session>)> {
    let mut done = Vec::new();
    let mut open = Vec::new();
    for id in ids {
        opening.earlier.check(id)?;
        let session = find(snapshot, id)?;
        if let Some(Ending::Archived { commit, target, .. }) = session.state.ending {
            if !earlier.archived.contains(id) {
                return Err(already(ids, id, commit, &target));
            }
            let mut archived = Archived::new(id.clone(), target, commit);
            archived.finished = true;
            done.push(archived);
        } else {
            let session = require_active(session)?;
            snapshot.require_whole(&session)?;
            open.push(session);
        }
    }
    Ok((done, open))
}

/// The archives that an earlier run had begun and this one finished.
struct Before {
    archived: Vec<SessionId>,
    /// Archives that were being taken back, and on which branch.
    undone: BTreeMap<SessionId, String>,
}

impl Before {
    fn of(earlier: &Earlier) -> Self {
        let mut before = Before {
            archived: Vec::new(),
            undone: BTreeMap::new(),
        };
        for entry in &earlier.finished {
            let ids = entry.sessions.iter().cloned();
            match entry.what.as_str() {
                landing::ARCHIVE => before.archived.extend(ids),
                landing::UNDO => {
                    let branch = entry.branch();
                    before.undone.extend(ids.map(|id| (id, branch.to_owned())));
                }
                _ => {}
            }
        }
        before
    }

    /// The session that was finished, where it is one.
    fn only(&self) -> Option<&SessionId> {
        let mut all = self.archived.iter().chain(self.undone.keys());
        all.next().filter(|_| all.next().is_none())
    }
}

/// Gives a resolution up. What was in conflict stands as it did.
fn forget(ctx: &Context, snapshot: &Snapshot<'_>, id: &SessionId) -> Result<Done> {
    if !has_conflicts(ctx, id)
        && let Some(Ending::Archived { commit, target, .. }) = find(snapshot, id)?.state.ending
    {
        return Err(already(std::slice::from_ref(id), id, commit, &target));
    }
    let contest = abort(ctx, id)?;
    let target = match &contest {
        Some(contest) => contest.target.clone(),
        None => find(snapshot, id)?.state.branch.unwrap_or_default(),
    };
    Ok(match contest.map(|contest| contest.way) {
        Some(Way::Undo { archive, .. }) => Done::TakenBack(Unarchived {
            id: id.clone(),
            target,
            undone: archive,
            commit: None,
            changes: Vec::new(),
            finished: false,
        }),
        _ => Done::Archived(vec![Archived::new(id.clone(), target, None)]),
    })
}

impl Request<'_> {
    /// The sessions that are meant, each once.
    fn meant(&self, ctx: &Context, snapshot: &Snapshot<'_>) -> Result<Vec<SessionId>> {
        if matches!(self.mode, Mode::Continue | Mode::Abort) {
            let id = contested(ctx, snapshot, self.names)?;
            find(snapshot, &id)?;
            return Ok(vec![id]);
        }
        let mut ids = Vec::new();
        for name in self.names {
            let id = naming::find(snapshot, name)?;
            find(snapshot, &id)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if ids.is_empty() {
            ids.push(ctx.session_id_to_change(snapshot)?);
        }
        Ok(ids)
    }
}

fn find(snapshot: &Snapshot<'_>, id: &SessionId) -> Result<Session> {
    snapshot
        .find(id)?
        .ok_or_else(|| naming::unknown(snapshot, id))
}

fn busy() -> Failure {
    Failure::new(
        Kind::Waiting,
        Code::BranchBusy,
        format!("the target branch moved {TRIES} times while the archive was being written"),
    )
    .help("run the command again")
}

/// Shows what archiving would do. Nothing is written, so nothing is locked, and the remains of an earlier run are
/// left to the next command that writes.
fn preview(ctx: &Context, store: &Store<'_>, request: &Request<'_>) -> Result<Vec<Archived>> {
    let snapshot = store.snapshot()?;
    let ids = request.meant(ctx, &snapshot)?;
    let mut open = Vec::new();
    for id in &ids {
        let session = find(&snapshot, id)?;
        if let Some(Ending::Archived { commit, target, .. }) = session.state.ending {
            return Err(already(&ids, id, commit, &target));
        }
        open.push(require_active(session)?);
    }
    let asked = Asked {
        onto: request.onto,
        waivers: request.waivers,
        identity: None,
        contest: None,
        alone: ids.len() == 1,
    };
    match steps(ctx, &snapshot, &open, &asked)? {
        Judged::Clean(steps) => Ok(steps.iter().map(|step| step.archived(None)).collect()),
        Judged::SpecConflict(_, failure) => Err(failure),
    }
}

fn already(ids: &[SessionId], id: &SessionId, commit: Option<Oid>, target: &str) -> Failure {
    let at = commit.map_or(String::new(), |commit| format!(" as {}", commit.short()));
    let failure = Failure::nothing(
        Code::ArchivedAlready,
        format!("session {id} is archived on {target}{at}"),
    );
    let others: Vec<&str> = ids
        .iter()
        .filter(|other| *other != id)
        .map(SessionId::as_str)
        .collect();
    if others.is_empty() {
        failure.help(command!("list --all"))
    } else {
        failure.help(command!("archive {}", others.join(" ")))
    }
}
