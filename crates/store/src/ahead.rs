//! Commit on the tip of another clone's branch, made to be pushed alone: no ref of this clone moves, and nothing that
//! is only here goes along.

use super::{Committed, Decision, Snapshot, Store};
use loopx_base::failure::Result;
use loopx_git::Identity;

impl Store<'_> {
    /// Writes a decision as a commit on `tip`, and puts the commit on the disk, so that git can push it. A commit that
    /// is not taken there is named by no ref, and goes with git's next tidying up.
    pub fn commit_ahead<T>(
        &self,
        identity: &Identity,
        tip: &Snapshot<'_>,
        decision: Decision<T>,
    ) -> Result<Committed<T>> {
        let Decision {
            edits,
            message,
            value,
        } = decision;
        let on = (tip.tree(), tip.commit());
        let (_, commit) = self.commit_on(on, &edits, &message, identity)?;
        self.repo.keep(&commit)?;
        Ok(Committed { commit, value })
    }
}
