//! The end of sessions: their last event, their folders in the archive, their working copies gone.

use super::super::act::differences;
use super::super::act::load_active;
use super::super::context::Context;
use super::super::opening::{draft, seal};
use super::super::workcopy::WorkCopy;
use super::contest::forget_conflicts;
use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::markdown::section_text;
use crate::core::op::Event;
use crate::core::session::State;
use crate::git::Identity;
use crate::store::{self, Decision, Lock, Snapshot, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the record of one archive says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Closing {
    pub(super) id: SessionId,
    /// The commit on the target branch; `None` where the specs said so already.
    pub(super) commit: Option<Oid>,
    /// The candidate for a decision record.
    pub(super) candidate: String,
}

/// Moves sessions to the archive, and takes their working copies away. Done before is done.
pub(super) fn close(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    target: &str,
    closes: &[Closing],
) -> Result<()> {
    let snapshot = store.snapshot()?;
    let mut open = Vec::new();
    for closing in closes {
        let session = snapshot.session(&closing.id)?;
        if session.is_some_and(|session| session.state.is_active()) {
            open.push(closing);
        }
    }
    store.update_each(lock, identity, &open, |snapshot, closing| {
        record(ctx, identity, snapshot, target, closing)
    })?;
    for closing in closes {
        forget_conflicts(ctx, &closing.id)?;
        if let Some(mut copy) = WorkCopy::open(&ctx.repo, &closing.id)? {
            copy.retire()?;
        }
    }
    Ok(())
}

/// The event that closes a session.
fn record(
    ctx: &Context,
    identity: &Identity,
    snapshot: &Snapshot<'_>,
    target: &str,
    closing: &Closing,
) -> Result<Decision<()>> {
    let id = &closing.id;
    let session = load_active(snapshot, id)?;
    let month: String = identity.at.chars().take(7).collect();
    let event = Event::Archived {
        commit: closing.commit.clone(),
        target: target.to_owned(),
        month: month.clone(),
    };
    let mut draft = draft(identity, &session.state, event);
    let mut artifacts = session.state.artifacts.clone();
    let adr = ctx.repo.write_blob(closing.candidate.as_bytes())?;
    artifacts.insert(Artifact::AdrCandidate, adr);
    draft.writes = differences(&session.state.artifacts, &artifacts);
    let op = seal(&ctx.repo, &draft)?;
    let mut state = session.state.clone();
    state.apply(&op);
    let mut edits = store::Edits::default();
    edits.record(&ctx.repo, Some(&session), &op, &state)?;
    if let Some(branch) = &state.branch
        && snapshot.bound_to(branch)?.as_ref() == Some(id)
    {
        edits.unbind(branch);
    }
    let message = store::message(id, &format!("archive on {target}"), &op, &state);
    Ok(Decision {
        edits,
        message,
        value: (),
    })
}

/// A candidate for a decision record; `adr promote` gives it a number.
pub fn adr_candidate(state: &State, texts: &BTreeMap<Artifact, String>, at: &str) -> String {
    let section = |artifact: Artifact, title: &str| {
        texts
            .get(&artifact)
            .and_then(|text| section_text(text, title))
    };
    let context = section(Artifact::Proposal, "Why")
        .or_else(|| {
            texts
                .get(&Artifact::Intent)
                .map(|text| text.trim().to_owned())
        })
        .unwrap_or_default();
    let decision = section(Artifact::Design, "Decision").unwrap_or_default();
    let mut text = format!(
        "---\nstatus: proposed\ndate: {}\nsession: {}\n---\n# {}\n\n## Context and Problem Statement\n\n{context}\n",
        at.chars().take(10).collect::<String>(),
        state.id,
        store::one_line(&state.title)
    );
    if let Some(options) = section(Artifact::Plan, "Options considered") {
        text.push_str(&format!("\n## Considered Options\n\n{options}\n"));
    }
    text.push_str(&format!("\n## Decision Outcome\n\n{decision}\n"));
    if let Some(consequences) = section(Artifact::Design, "Consequences") {
        text.push_str(&format!("\n### Consequences\n\n{consequences}\n"));
    }
    text
}
