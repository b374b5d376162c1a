//! Sessions that are whole when they come: their folders are built from nothing, and all of them land
//! by one move of the branch, a commit for each. A kill leaves none of them or all.

use super::transaction::Move;
use super::{Edits, Store, layout, ops};
use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::id::Oid;
use crate::core::op::{Event, Operation};
use crate::core::session::State;
use crate::git::{Entry, Identity, Repo};
use crate::store::{Lock, Snapshot};
use std::collections::BTreeMap;

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

impl Edits {
    /// The folder of a session from its first operations: among the active ones, or sealed in the
    /// archive where the state has ended.
    pub fn place(
        repo: &Repo,
        operations: &[Operation],
        state: &State,
        month: Option<&str>,
    ) -> Result<Self> {
        let mut inner: BTreeMap<String, Option<Entry>> = BTreeMap::new();
        let mut put = |path: String, entry: Entry| drop(inner.insert(path, Some(entry)));
        let mut state = state.clone();
        let ops_id = if month.is_some() {
            let blob = repo.write_blob(&super::united::seal(operations)?)?;
            put(layout::SEALED_OPS.to_owned(), Entry::blob(blob.clone()));
            blob
        } else {
            let mut files = BTreeMap::new();
            for op in operations {
                let blob = repo.write_blob(&op.to_bytes()?)?;
                files.insert(op.file_name(), Some(Entry::blob(blob)));
            }
            let tree = ops::edit(repo, None, &files)?;
            put(layout::OPS.to_owned(), Entry::tree(tree.clone()));
            tree
        };
        state.ops = Some(ops_id);
        let blob = repo.write_blob(&state.to_bytes()?)?;
        put(layout::STATE.to_owned(), Entry::blob(blob));
        for artifact in Artifact::ALL {
            if let Some(blob) = state.artifacts.get(&artifact) {
                put(artifact.path().to_owned(), Entry::blob(blob.clone()));
            }
        }
        for op in operations {
            for blob in op.bases.iter().filter_map(|base| base.blob.as_ref()) {
                let path = format!("{}/{blob}.md", layout::BASES);
                put(path, Entry::blob(blob.clone()));
            }
            if let Event::Imported { files, .. } = &op.event {
                for (path, blob) in files {
                    let path = format!("{}/{path}", layout::IMPORTED);
                    put(path, Entry::blob(blob.clone()));
                }
            }
        }
        let folder = match month {
            Some(month) => layout::archived(month, &state.id),
            None => layout::session(&state.id),
        };
        let mut edits = Edits::default();
        edits.set(folder, Entry::tree(repo.edit_tree(None, &inner)?));
        Ok(edits)
    }
}
