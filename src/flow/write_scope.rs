//! The write scope, which everybody who writes begins with: who acts, the lock, and whatever an earlier run
//! left behind its ref brought to its end; then the session that is meant.
//!
//! It decides nothing: what happens to the session is the caller's.

use super::context::Context;
use super::journal::{Earlier, Scope};
use super::point::under_way;
use super::workcopy::WorkCopy;
use loopx_base::failure::Result;
use loopx_base::id::SessionId;
use loopx_git::Identity;
use loopx_store::{Lock, Store};

pub(crate) use super::operation::{draft, first, new_uid, seal};

/// The store, held by this process until this is dropped.
pub(crate) struct Opening<'c> {
    pub identity: Identity,
    pub store: Store<'c>,
    pub lock: Lock,
    /// Landings that were brought to their end, and those that could not be.
    pub earlier: Earlier,
}

impl<'c> Opening<'c> {
    pub(crate) fn of(ctx: &'c Context) -> Result<Self> {
        let identity = ctx.repo.identity()?;
        let store = ctx.store()?;
        let lock = store.lock()?;
        let mut opening = Opening {
            identity,
            store,
            lock,
            earlier: Earlier::default(),
        };
        opening.earlier = opening.scope(ctx).finish();
        under_way::take_back(ctx);
        Ok(opening)
    }

    /// Store, lock and identity of the opening, as a landing needs them.
    pub(crate) fn scope<'s>(&'s self, ctx: &'s Context) -> Scope<'s> {
        Scope {
            ctx,
            store: &self.store,
            lock: &self.lock,
            identity: &self.identity,
        }
    }

    /// The session that is meant. Refused where an earlier run of it could not be brought to its end.
    pub(crate) fn session(&self, ctx: &Context) -> Result<SessionId> {
        let id = ctx.session_id_to_change(&self.store.snapshot()?)?;
        self.earlier.check(&id)?;
        Ok(id)
    }

    /// Session that is meant, refused as by `session`, with its working copy where there is a worktree.
    pub(crate) fn with_copy(&self, ctx: &'c Context) -> Result<(SessionId, Option<WorkCopy<'c>>)> {
        let id = self.session(ctx)?;
        let copy = WorkCopy::open(&ctx.repo, &id)?;
        Ok((id, copy))
    }
}
