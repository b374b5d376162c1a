//! `archive`: merges the delta into the specs, in one commit on the target branch, and moves the
//! session to the archive.
//!
//! Two refs move, one after the other. A note in the git dir says what was under way: whatever command
//! writes next finishes it, or forgets it when nothing had happened yet. `plan` decides, `contest` is
//! about conflicts for a person, `landing` moves the refs. `unarchive` takes an archive back.

mod contest;
mod landing;
mod plan;
mod unarchive;

pub use contest::has_conflicts;
pub use landing::{Earlier, adr_candidate, finish};
pub use unarchive::{UNARCHIVE, Unarchived, unarchive};

use super::act::{Needs, gather, load_active};
use super::context::Context;
use super::workcopy::WorkCopy;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::session::Ending;
use crate::core::stage::Stage;
use crate::store::Store;
use contest::{abort, no_conflict, read_contest, refuse_begun, resolved, write_conflicts};
use landing::{complete, land, landed_before};
use plan::plan;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `archive` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
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
pub struct Waivers {
    pub scenarios: Vec<String>,
    pub reason: String,
}

/// One spec file, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct SpecChange {
    pub path: String,
    pub before: Option<String>,
    /// `None`: the file goes.
    pub after: Option<String>,
}

/// What archiving came to.
#[derive(Debug)]
pub struct Archived {
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

/// Tries before a busy target branch is given up.
const TRIES: u32 = 10;

/// Archives the session that is meant.
pub fn archive(
    ctx: &Context,
    onto: Option<&str>,
    mode: Mode,
    waivers: &Waivers,
) -> Result<Archived> {
    let store = ctx.store()?;
    if mode == Mode::DryRun {
        return preview(ctx, &store, onto, waivers);
    }
    let identity = ctx.repo.identity()?;
    let lock = store.lock()?;
    let earlier = finish(ctx, &store, &lock, &identity)?;
    let snapshot = store.snapshot()?;
    let id = ctx
        .session_id(&snapshot)
        .or_else(|failure| match earlier.finished.as_slice() {
            // What was bound here has just been archived.
            [only] => Ok(only.clone()),
            _ => Err(failure),
        })?;
    let finished = earlier.finished.contains(&id);
    earlier.check(&id)?;
    let session = snapshot
        .find(&id)?
        .ok_or_else(|| super::context::unknown(&snapshot, &id))?;
    if let Some(Ending::Archived { commit, target, .. }) = session.state.ending {
        if !finished {
            return Err(already(&id, commit, &target));
        }
        return Ok(Archived {
            id,
            target,
            commit,
            changes: Vec::new(),
            warnings: Vec::new(),
            finished,
        });
    }
    let session = load_active(&snapshot, &id)?;
    snapshot.require_whole(&session)?;
    let mut copy = WorkCopy::open(&ctx.repo, &id)?;
    if mode == Mode::Abort {
        return abort(ctx, &session, onto);
    }
    let contest = match mode {
        Mode::Continue => Some(read_contest(ctx, &id)?.ok_or_else(no_conflict)?),
        Mode::Merge => {
            refuse_begun(ctx, &id)?;
            None
        }
        _ => None,
    };
    // A conflict is continued where it was met.
    let onto = onto.or(contest.as_ref().map(|contest| contest.target.as_str()));
    for _ in 0..TRIES {
        let facts = gather(
            ctx,
            &snapshot,
            &session,
            copy.as_mut(),
            Needs::Stage,
            Some(&identity),
        )?;
        let plan = plan(ctx, &snapshot, &facts, onto, waivers)?;
        if let Some(commit) = landed_before(ctx, &session, &plan)? {
            // An earlier run got that far, and its note is lost.
            let pending = plan.pending(ctx, &facts, commit, &identity.at)?;
            complete(ctx, &store, &lock, &identity, &pending)?;
            let mut archived = plan.archived(&id, Some(pending.new), Vec::new());
            archived.finished = true;
            return Ok(archived);
        }
        let changes = match &contest {
            Some(contest) => plan.changes(&resolved(ctx, &facts.state, &plan, contest)?),
            None => {
                if let Some(failure) = plan.refusal() {
                    return Err(write_conflicts(ctx, &facts.state, &plan, failure)?);
                }
                plan.changes(&BTreeMap::new())
            }
        };
        if let Some(commit) = land(ctx, &store, &lock, &identity, &facts, &plan, &changes)? {
            return Ok(plan.archived(&id, commit, changes));
        }
    }
    Err(busy().help("git loopx archive"))
}

fn busy() -> Failure {
    Failure::new(
        Kind::Waiting,
        "branch_busy",
        format!("the target branch moved {TRIES} times while this was being written"),
    )
}

/// What archiving would do. Nothing is written, so nothing is locked, and what an earlier run left is
/// for the next command that writes.
fn preview(
    ctx: &Context,
    store: &Store<'_>,
    onto: Option<&str>,
    waivers: &Waivers,
) -> Result<Archived> {
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let id = session.state.id.clone();
    if let Some(Ending::Archived { commit, target, .. }) = session.state.ending {
        return Err(already(&id, commit, &target));
    }
    let session = load_active(&snapshot, &id)?;
    // In any other stage an edit could be merged into the working copy; there the gate refuses anyway.
    let mut copy = match session.state.stage {
        Stage::Done => WorkCopy::open(&ctx.repo, &id)?,
        _ => None,
    };
    let facts = gather(ctx, &snapshot, &session, copy.as_mut(), Needs::Stage, None)?;
    let plan = plan(ctx, &snapshot, &facts, onto, waivers)?;
    match plan.refusal() {
        Some(failure) => Err(failure),
        None => Ok(plan.archived(&id, None, plan.changes(&BTreeMap::new()))),
    }
}

fn already(id: &SessionId, commit: Option<Oid>, target: &str) -> Failure {
    let at = commit.map_or(String::new(), |commit| format!(" as {}", commit.short()));
    Failure::nothing(
        "archived_already",
        format!("session {id} is archived on {target}{at}"),
    )
    .help("git loopx list --all")
}
