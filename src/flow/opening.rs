//! What everybody who writes begins with: who acts, the lock, and whatever an earlier run left between two
//! refs brought to its end; then the session that is meant. And the operation that follows.
//!
//! It decides nothing: what happens to the session is the caller's.

use super::archive::{self, Earlier};
use super::context::Context;
use super::workcopy::WorkCopy;
use crate::core::failure::Result;
use crate::core::id::SessionId;
use crate::core::op::{Body, Operation};
use crate::core::record::Draft;
use crate::core::session::State;
use crate::git::{Identity, Repo};
use crate::store::{Lock, Store};
use std::collections::BTreeMap;

/// The store, held by this process until this is dropped.
pub struct Opening<'c> {
    pub identity: Identity,
    pub store: Store<'c>,
    pub lock: Lock,
    /// What was brought to its end, and what could not be.
    pub earlier: Earlier,
}

impl<'c> Opening<'c> {
    pub fn of(ctx: &'c Context) -> Result<Self> {
        let identity = ctx.repo.identity()?;
        let store = ctx.store()?;
        let lock = store.lock()?;
        let earlier = archive::finish(ctx, &store, &lock, &identity)?;
        Ok(Opening {
            identity,
            store,
            lock,
            earlier,
        })
    }

    /// The session that is meant. Refused where an earlier run of it could not be brought to its end.
    pub fn session(&self, ctx: &Context) -> Result<SessionId> {
        let id = ctx.session_id(&self.store.snapshot()?)?;
        self.earlier.check(&id)?;
        Ok(id)
    }

    /// The same with its working copy, where there is a worktree.
    pub fn with_copy(&self, ctx: &'c Context) -> Result<(SessionId, Option<WorkCopy<'c>>)> {
        let id = self.session(ctx)?;
        let copy = WorkCopy::open(&ctx.repo, &id)?;
        Ok((id, copy))
    }
}

/// The next operation of a session: who, when, and after what.
pub fn draft(identity: &Identity, state: &State, body: impl Into<Body>) -> Draft {
    Draft {
        seq: state.seq + 1,
        after: state.newest(),
        ..first(identity, &state.uid, body)
    }
}

/// The first operation of a session or of another entity.
pub fn first(identity: &Identity, entity: &str, body: impl Into<Body>) -> Draft {
    Draft {
        seq: 1,
        after: Vec::new(),
        entity: entity.to_owned(),
        tx: new_uid(),
        at: identity.at.clone(),
        by: identity.author.clone(),
        committer: identity.committer.clone(),
        reason: None,
        writes: BTreeMap::new(),
        body: body.into(),
    }
}

/// Gives a draft its id.
pub fn seal(repo: &Repo, draft: &Draft) -> Result<Operation> {
    draft.seal(|bytes| repo.hash_blob(bytes))
}

/// A random name that sorts by time: of a session, or of what one commit records.
pub fn new_uid() -> String {
    ulid::Ulid::generate().to_string().to_lowercase()
}
