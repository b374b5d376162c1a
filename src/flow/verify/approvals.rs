//! The approvals by which a session let commits in, read from the loopx branch and judged by the
//! policy of the base. The one place where `verify`, pre-push and the server ask who said yes.

use super::Sessions;
use crate::core::failure::Result;
use crate::core::policy::Policy;
use crate::core::range_policy::{Commit, Finding, approvals};
use crate::core::session::State;
use crate::git::Repo;

/// Judges every approval that moved a session; findings are put down to `commit`.
pub(super) fn judge(
    repo: &Repo,
    sessions: &Sessions<'_>,
    policy: &Policy,
    state: &State,
    commit: &Commit,
) -> Result<Vec<Finding>> {
    let operations = sessions.operations(&state.id)?;
    let mut found = Vec::new();
    for used in approvals::used(&state.id, &operations)? {
        found.extend(approvals::judge(
            policy,
            &state.id,
            commit,
            &used,
            |who| repo.canonical(who),
            |files| repo.tree_id(files.iter().map(|(artifact, blob)| (artifact.path(), blob))),
        )?);
    }
    Ok(found)
}
