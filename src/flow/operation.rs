//! The next operation of a session: who, when, and after what; and its id.

use crate::core::failure::Result;
use crate::core::op::{Body, Operation};
use crate::core::record::Draft;
use crate::core::session::State;
use crate::git::{Identity, Repo};
use std::collections::BTreeMap;

/// The next operation of a session.
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
        others: BTreeMap::new(),
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
