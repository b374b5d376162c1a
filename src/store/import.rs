//! Sessions that are whole when they come: their folders are built from nothing, and all of them land
//! by one move of the branch, a commit for each. A kill leaves none of them or all.

use super::{Edits, Store, Tries, shelves};
use crate::core::failure::Result;
use crate::core::id::Oid;
use crate::git::{Identity, Swap};
use crate::store::{Lock, Snapshot};

/// One session to land: its folder, and the message of its commit.
#[derive(Debug)]
pub struct Placed {
    pub edits: Edits,
    pub message: String,
}

impl Store<'_> {
    /// Reads, decides, makes one commit for each session, and moves the branch once. Where nothing is
    /// to land the branch stays. Gives the commits in their order.
    pub fn land<T>(
        &self,
        lock: &Lock,
        identity: &Identity,
        why: &str,
        mut decide: impl FnMut(&Snapshot<'_>) -> Result<(Vec<Placed>, T)>,
    ) -> Result<(Vec<Oid>, T)> {
        let mut tries = Tries::new();
        loop {
            let shadow = self.shadow();
            let snapshot = self.snapshot_since(shadow.as_ref())?;
            self.require_ours(shadow.as_ref(), snapshot.commit())?;
            let (placed, value) = decide(&snapshot)?;
            let mut tree = snapshot.tree().clone();
            let mut parent = snapshot.commit().clone();
            let mut commits = Vec::new();
            for one in placed {
                let edits = snapshot.with_format(one.edits)?;
                self.hold(&edits);
                tree = shelves::edit(self.repo, Some(&tree), &edits)?;
                parent = self
                    .repo
                    .write_commit(&tree, &[parent], &one.message, identity)?;
                commits.push(parent.clone());
            }
            if commits.is_empty() {
                return Ok((commits, value));
            }
            match self.swap(lock, &parent, Some(snapshot.commit()), why)? {
                Swap::Moved => return Ok((commits, value)),
                Swap::Locked => return Err(self.held_by_another_git()),
                Swap::Lost => tries.lost(&self.branch)?,
            }
        }
    }
}
