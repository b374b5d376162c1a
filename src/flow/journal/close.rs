//! The end of sessions: their last event, their folders in the archive, and the word that an archive was taken back.

use super::super::issue::repeat;
use super::super::naming::unknown;
use super::super::operation::{draft, seal};
use super::{Entry, Scope};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::op::{Event, Write};
use loopx_rules::session::{Ending, State};
use loopx_store as store;
use loopx_store::{Decision, Snapshot};
use serde::{Deserialize, Serialize};

/// The archive of a session, as its record tells of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Closing {
    pub id: SessionId,
    /// The commit on the target branch; `None` where the specs said so already.
    pub commit: Option<Oid>,
    /// The candidate for a decision record.
    pub candidate: String,
}

/// Moves sessions to the archive, all by one move of their branch. Done before is done.
pub(crate) fn close(scope: &Scope<'_>, target: &str, closes: &[Closing]) -> Result<()> {
    let snapshot = scope.store.snapshot()?;
    let mut open = Vec::new();
    for closing in closes {
        let session = snapshot.session(&closing.id)?;
        if session.is_some_and(|session| session.state.is_active()) {
            open.push(closing);
        }
    }
    let decide =
        |snapshot: &Snapshot<'_>, closing: &&Closing| record(scope, snapshot, target, closing);
    scope
        .store
        .update_each(scope.lock, scope.identity, &open, decide)
        .map(drop)
}

/// The event that closes a session.
fn record(
    scope: &Scope<'_>,
    snapshot: &Snapshot<'_>,
    target: &str,
    closing: &Closing,
) -> Result<Decision<()>> {
    let (repo, identity, id) = (&scope.ctx.repo, scope.identity, &closing.id);
    let session = snapshot.find(id)?.ok_or_else(|| unknown(snapshot, id))?;
    if !session.state.is_active() {
        return Err(Failure::refused(
            Code::SessionEnded,
            format!("session {id} ended while it was being archived on {target}"),
        )
        .help(command!("log").session(id)));
    }
    let month: String = identity.at.chars().take(7).collect();
    let event = Event::Archived {
        commit: closing.commit.clone(),
        target: target.to_owned(),
        month,
    };
    let mut draft = draft(identity, &session.state, event);
    let write = Write {
        from: session
            .state
            .artifacts
            .get(&Artifact::AdrCandidate)
            .cloned(),
        to: Some(repo.write_blob(closing.candidate.as_bytes())?),
    };
    draft.writes.insert(Artifact::AdrCandidate, write);
    let op = seal(repo, &draft)?;
    let mut state = session.state.clone();
    state.apply(&op);
    let mut edits = store::Edits::default();
    edits.record(repo, Some(&session), &op, &state)?;
    let next = repeat::follow(repo, snapshot, identity, &state.issues, &mut edits)?;
    let message = store::message(id, &format!("archive on {target}"), &op, &state);
    let message = format!("{message}{next}");
    Ok(Decision {
        edits,
        message,
        value: (),
    })
}

/// Tells whether a session stands archived by the commit `archive`, and nobody knows yet that the commit `back` takes
/// the archive back.
fn is_untold(state: &State, archive: &Oid, back: &Oid) -> bool {
    matches!(
        &state.ending,
        Some(Ending::Archived { commit: Some(commit), taken_back, .. })
            if commit == archive && taken_back.as_ref().is_none_or(|known| known.commit != *back)
    )
}

/// Records that what an entry landed takes the archive of a session back. Done before is done, and nothing is left to
/// say of a session that was opened again since.
pub(crate) fn unarchive(
    scope: &Scope<'_>,
    id: &SessionId,
    archive: &Oid,
    entry: &Entry,
    reason: Option<&str>,
) -> Result<()> {
    let (repo, target) = (&scope.ctx.repo, entry.branch());
    let found = scope.store.snapshot()?.find(id)?;
    if !found.is_some_and(|session| is_untold(&session.state, archive, &entry.new)) {
        return Ok(());
    }
    let decide = |snapshot: &Snapshot<'_>| {
        let session = snapshot.find(id)?.ok_or_else(|| unknown(snapshot, id))?;
        let event = Event::Unarchived {
            archive: archive.clone(),
            commit: entry.new.clone(),
            target: target.to_owned(),
        };
        let mut draft = draft(scope.identity, &session.state, event);
        draft.reason = reason.map(str::to_owned);
        let op = seal(repo, &draft)?;
        let mut state = session.state.clone();
        state.apply(&op);
        let mut edits = store::Edits::default();
        edits.record(repo, Some(&session), &op, &state)?;
        let message = store::message(id, &format!("unarchive on {target}"), &op, &state);
        Ok(Decision {
            edits,
            message,
            value: (),
        })
    };
    let made = scope.store.update(scope.lock, scope.identity, decide);
    made.map(drop)
}
