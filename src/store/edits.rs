//! What one commit changes in the tree of the branch: an operation recorded, a session archived, a branch
//! bound. Objects are written as they are named; whether the commit is made, the store decides.

use super::{Session, layout, ops, room, signatures, united};
use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::session::State;
use crate::core::signature::SUFFIX;
use crate::git::{Entry, Repo};
use std::collections::{BTreeMap, BTreeSet};

/// A new commit in the making: tree edits, and the message.
#[derive(Debug, Default)]
pub struct Edits {
    pub(super) entries: BTreeMap<String, Option<Entry>>,
    /// Shelves of which the whole layout is looked at.
    pub(super) arrange: BTreeSet<String>,
}

impl Edits {
    pub fn set(&mut self, path: impl Into<String>, entry: Entry) {
        self.entries.insert(path.into(), Some(entry));
    }

    pub fn remove(&mut self, path: impl Into<String>) {
        self.entries.insert(path.into(), None);
    }

    /// Whether they change nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.arrange.is_empty()
    }

    /// Lays a shelf out anew where it is not as it should be.
    pub(super) fn arrange(&mut self, shelf: impl Into<String>) {
        self.arrange.insert(shelf.into());
    }

    /// Binds a code branch to a session.
    pub fn bind(&mut self, repo: &Repo, branch: &str, id: &SessionId) -> Result<()> {
        let blob = repo.write_blob(format!("{id}\n").as_bytes())?;
        self.set(layout::binding(branch), Entry::blob(blob));
        Ok(())
    }

    pub fn unbind(&mut self, branch: &str) {
        self.remove(layout::binding(branch));
    }

    /// Adds an operation to a session: its file, the artifacts that it changed, and the state after it.
    pub fn record(
        &mut self,
        repo: &Repo,
        session: Option<&Session>,
        op: &Operation,
        state: &State,
    ) -> Result<()> {
        self.record_signed(repo, session, op, None, state)
    }

    /// The same with what somebody signed about the operation, in a file of its own beside it.
    pub fn record_signed(
        &mut self,
        repo: &Repo,
        session: Option<&Session>,
        op: &Operation,
        signature: Option<&[u8]>,
        state: &State,
    ) -> Result<()> {
        room::require(repo, session, op)?;
        let folder = layout::session(&state.id);
        let mut files = BTreeMap::new();
        files.insert(
            op.file_name(),
            Some(Entry::blob(repo.write_blob(&op.to_bytes()?)?)),
        );
        if let Some(signature) = signature {
            files.insert(
                format!("{}{SUFFIX}", op.file_name()),
                Some(Entry::blob(repo.write_blob(signature)?)),
            );
        }
        let ops = ops::edit(repo, session.and_then(|s| s.state.ops.as_ref()), &files)?;
        let mut state = state.clone();
        state.ops = Some(ops.clone());
        self.set(format!("{folder}/{}", layout::OPS), Entry::tree(ops));
        self.set(
            format!("{folder}/{}", layout::STATE),
            Entry::blob(repo.write_blob(&state.to_bytes()?)?),
        );
        let before = session
            .map(|s| s.state.artifacts.clone())
            .unwrap_or_default();
        for artifact in Artifact::ALL {
            let path = layout::artifact(&folder, artifact);
            match (before.get(&artifact), state.artifacts.get(&artifact)) {
                (old, Some(new)) if old != Some(new) => self.set(path, Entry::blob(new.clone())),
                (Some(_), None) => self.remove(path),
                _ => {}
            }
        }
        let kept = layout::versions(&state);
        for path in session
            .map(|s| layout::versions(&s.state))
            .unwrap_or_default()
            .into_keys()
        {
            if !kept.contains_key(&path) {
                self.remove(format!("{folder}/{path}"));
            }
        }
        for (path, blob) in kept {
            self.set(format!("{folder}/{path}"), Entry::blob(blob));
        }
        for base in &op.bases {
            if let Some(blob) = &base.blob {
                self.set(
                    format!("{folder}/{}/{blob}.md", layout::BASES),
                    Entry::blob(blob.clone()),
                );
            }
        }
        Ok(())
    }

    /// Adds the log of a recorded command.
    pub fn log(&mut self, id: &SessionId, op: &Operation, blob: Oid) {
        let path = format!("{}/{}/{}.log", layout::session(id), layout::LOGS, op.op);
        self.set(path, Entry::blob(blob));
    }

    /// Moves a session to the archive: operations sealed into one file, the folder out of `sessions/`.
    pub fn archive(
        &mut self,
        repo: &Repo,
        session: &Session,
        ops: &[Operation],
        state: &State,
        month: &str,
        extra: &[(Artifact, Oid)],
    ) -> Result<()> {
        let sealed = repo.write_blob(&united::seal(ops)?)?;
        let mut state = state.clone();
        state.ops = Some(sealed.clone());
        let mut inner = BTreeMap::new();
        inner.insert(layout::OPS.to_owned(), None);
        inner.insert(layout::SEALED_OPS.to_owned(), Some(Entry::blob(sealed)));
        if let Some(signatures) = signatures::seal(repo, &session.tree, ops)? {
            let path = layout::SEALED_SIGNATURES.to_owned();
            inner.insert(path, Some(Entry::blob(signatures)));
        }
        for (artifact, blob) in extra {
            state.artifacts.insert(*artifact, blob.clone());
            inner.insert(artifact.path().to_owned(), Some(Entry::blob(blob.clone())));
        }
        inner.insert(
            layout::STATE.to_owned(),
            Some(Entry::blob(repo.write_blob(&state.to_bytes()?)?)),
        );
        let tree = repo.edit_tree(Some(&session.tree), &inner)?;
        self.remove(layout::session(&state.id));
        self.set(layout::archived(month, &state.id), Entry::tree(tree));
        Ok(())
    }

    /// Replaces a session's folder whole: a repair.
    pub(crate) fn replace_session(&mut self, id: &SessionId, tree: Option<Oid>) {
        match tree {
            Some(tree) => self.set(layout::session(id), Entry::tree(tree)),
            None => self.remove(layout::session(id)),
        }
    }
}
