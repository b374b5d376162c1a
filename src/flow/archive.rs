//! archive
use super::context::Context;
use crate::core::failure::Result;
use crate::git::Identity;
use crate::store::{Lock, Store};
pub fn finish_pending(
    _ctx: &Context,
    _store: &Store<'_>,
    _lock: &Lock,
    _identity: &Identity,
) -> Result<()> {
    Ok(())
}
