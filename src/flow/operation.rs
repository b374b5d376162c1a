//! The next operation of a session: who, when, and after what.

use crate::core::failure::Result;
use crate::core::id::OpId;
use crate::core::op::{Event, FORMAT, Operation};
use crate::core::session::State;
use crate::git::Identity;
use std::collections::BTreeMap;

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
