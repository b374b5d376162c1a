//! What everybody who writes begins with: who acts, the lock, and whatever an earlier run left between two
//! refs brought to its end; then the session that is meant. And the operation that follows.
//!
//! It decides nothing: what happens to the session is the caller's.

use super::archive::{self, Earlier};
use super::context::Context;
use super::workcopy::WorkCopy;
use crate::core::failure::Result;
use crate::core::id::{OpId, SessionId};
use crate::core::op::{Event, FORMAT, Operation};
use crate::core::session::State;
use crate::git::Identity;
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

/// The next operation of a session, or its first: who, when, and after what.
pub fn operation(identity: &Identity, state: Option<&State>, event: Event) -> Result<Operation> {
    Ok(Operation {
        format: FORMAT,
        seq: state.map_or(0, |state| state.seq) + 1,
        op: new_op_id()?,
        after: state.map(State::newest).unwrap_or_default(),
        at: identity.at.clone(),
        by: identity.author.clone(),
        committer: identity.committer.clone(),
        reason: None,
        writes: BTreeMap::new(),
        bases: Vec::new(),
        claim: None,
        event,
    })
}

/// A new operation id.
pub fn new_op_id() -> Result<OpId> {
    OpId::parse(&ulid::Ulid::generate().to_string().to_lowercase())
}
