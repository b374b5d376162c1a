//! Sessions that are whole when they come: their folders are built from nothing, and all of them land
//! by one move of the branch, a commit for each. A kill leaves none of them or all.

use super::transaction::Move;
use super::{Edits, Store};
use crate::{Lock, Snapshot};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::Identity;

/// Session to land: its folder, and the message of its commit.
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
        self.transact(lock, |shadow| {
            let snapshot = self.readable_since(shadow)?;
            let (placed, value) = decide(&snapshot)?;
            let mut tree = snapshot.tree().clone();
            let mut tip = snapshot.commit().clone();
            let mut commits = Vec::new();
            for one in &placed {
                let on = (&tree, &tip);
                (tree, tip) = self.commit_on(on, &one.edits, &one.message, identity)?;
                commits.push(tip.clone());
            }
            Ok(Move {
                old: Some(snapshot.commit().clone()),
                new: tip,
                why: why.to_owned(),
                value: (commits, value),
            })
        })
    }
}
