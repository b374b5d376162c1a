//! The next operation of a session: who, when, and after what; and its id.

use loopx_base::failure::Result;
use loopx_git::{Identity, Repo};
use loopx_rules::op::{Body, Operation};
use loopx_rules::record::Draft;
use loopx_rules::session::State;
use std::collections::BTreeMap;

/// The next operation of a session.
pub(crate) fn draft(identity: &Identity, state: &State, body: impl Into<Body>) -> Draft {
    Draft {
        seq: state.seq + 1,
        after: state.newest(),
        ..first(identity, &state.uid, body)
    }
}

/// The first operation of a session or of another entity.
pub(crate) fn first(identity: &Identity, entity: &str, body: impl Into<Body>) -> Draft {
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
pub(crate) fn seal(repo: &Repo, draft: &Draft) -> Result<Operation> {
    draft.seal(|bytes| repo.hash_blob(bytes))
}

/// A random name that sorts by time: of a session, or of what one commit records.
pub(crate) fn new_uid() -> String {
    ulid::Ulid::generate().to_string().to_lowercase()
}
