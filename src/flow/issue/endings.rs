//! Archives of the sessions that were for an issue. No record of the issue has them (an abandoned session leaves a comment):
//! they are read where its log is.

use loopx_base::failure::Result;
use loopx_base::id::{Person, SessionId};
use loopx_rules::issue::Issue;
use loopx_rules::lease::seconds_of;
use loopx_rules::op::Event;
use loopx_rules::replay::undone;
use loopx_store::Snapshot;
use serde::Serialize;
use std::collections::HashSet;

/// The archive of a session, or an archive taken back.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SessionEnd {
    pub session: SessionId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
    pub event: &'static str,
    /// Fate of the issue's work, in words.
    pub words: String,
    /// Set when the end was taken back.
    pub undone: bool,
}

/// The ends of the sessions of an issue, oldest first.
pub(super) fn ends(snapshot: &Snapshot<'_>, issue: &Issue) -> Result<Vec<SessionEnd>> {
    let uids: HashSet<&String> = issue.sessions.iter().map(|one| &one.uid).collect();
    if uids.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (id, summary) in snapshot.summaries(true)? {
        if !summary.is_ok_and(|summary| uids.contains(&summary.uid)) {
            continue;
        }
        // One that cannot be read is fsck's to name.
        let Ok(Some(session)) = snapshot.find(&id) else {
            continue;
        };
        let operations = snapshot.operations(&session)?;
        let undone = undone(&operations);
        let ends = operations.iter().filter_map(|op| {
            let (event, words) = words(&id, op.event()?)?;
            Some(SessionEnd {
                session: id.clone(),
                seq: op.seq,
                at: op.at.clone(),
                by: op.by.clone(),
                event,
                words,
                undone: undone.contains(&op.op),
            })
        });
        found.extend(ends);
    }
    found.sort_by_key(|end| seconds_of(&end.at));
    Ok(found)
}

fn words(session: &SessionId, event: &Event) -> Option<(&'static str, String)> {
    match event {
        Event::Archived { target, commit, .. } => {
            let commit = commit
                .as_ref()
                .map(|commit| format!(", {}", commit.short()));
            let commit = commit.unwrap_or_default();
            let words = format!("session {session} is archived on {target}{commit}");
            Some(("archive", words))
        }
        Event::Unarchived { .. } => {
            let words = format!("the archive of session {session} is taken back");
            Some(("unarchive", words))
        }
        _ => None,
    }
}
