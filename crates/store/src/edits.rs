//! The changes of one commit to the tree of the branch: an operation recorded, a session archived, a branch bound.
//! Objects are written as they are named; whether the commit is made, the store decides.

use super::folder::{Parts, Record, assemble};
use super::{Session, Snapshot, layout, record_limit};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, Repo};
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use std::collections::{BTreeMap, BTreeSet};

/// A new commit in the making: tree edits, and the message.
#[derive(Debug, Default)]
pub struct Edits {
    pub(super) entries: BTreeMap<String, Option<Entry>>,
    /// Fan-out folders of which the whole layout is looked at.
    pub(super) arrange: BTreeSet<String>,
}

impl Edits {
    pub fn set(&mut self, path: impl Into<String>, entry: Entry) {
        self.entries.insert(path.into(), Some(entry));
    }

    pub fn remove(&mut self, path: impl Into<String>) {
        self.entries.insert(path.into(), None);
    }

    /// Sets a path, or removes it.
    pub(super) fn put(&mut self, path: impl Into<String>, entry: Option<Entry>) {
        self.entries.insert(path.into(), entry);
    }

    /// Tells whether the edits change nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.arrange.is_empty()
    }

    /// Lays a fan-out folder out anew where its layout is not right.
    pub(super) fn arrange(&mut self, fanout: impl Into<String>) {
        self.arrange.insert(fanout.into());
    }

    /// Records an operation: its file, the files that it changed, and the state after it; wherever the session
    /// belongs then. The index of bindings follows the state.
    pub fn record<'a>(
        &mut self,
        repo: &Repo,
        session: Option<&Session>,
        record: impl Into<Record<'a>>,
        state: &State,
    ) -> Result<()> {
        self.record_all(repo, session, &[record.into()], state)
    }

    /// Records several operations in one commit, each as `record` does.
    pub fn record_all(
        &mut self,
        repo: &Repo,
        session: Option<&Session>,
        records: &[Record<'_>],
        state: &State,
    ) -> Result<()> {
        let mut parts = Parts {
            before: session,
            ..Parts::default()
        };
        for record in records {
            record_limit::require(repo, session, record.op)?;
            parts.add(repo, record)?;
        }
        let (path, tree, _) = assemble(repo, parts, state.clone())?;
        if let Some(before) = session.filter(|session| session.path != path) {
            self.remove(before.path.clone());
        }
        self.set(path, Entry::tree(tree));
        self.index(repo, session.map(|session| &session.state), state)
    }

    /// Adds records to the journal of a month.
    pub fn journal(
        &mut self,
        repo: &Repo,
        snapshot: &Snapshot<'_>,
        month: &str,
        ops: &[Operation],
    ) -> Result<()> {
        self.log(repo, snapshot, &layout::journal(month), ops)
    }

    /// Places a session that comes with all its operations.
    pub fn place(repo: &Repo, operations: &[Operation], state: &State) -> Result<Self> {
        let mut parts = Parts::default();
        for op in operations {
            parts.add(repo, &op.into())?;
        }
        let (path, tree, _) = assemble(repo, parts, state.clone())?;
        let mut edits = Edits::default();
        edits.set(path, Entry::tree(tree));
        edits.index(repo, None, state)?;
        Ok(edits)
    }

    /// Replaces a session's folder whole: a repair.
    pub(crate) fn replace_session(&mut self, id: &SessionId, tree: Option<Oid>) {
        match tree {
            Some(tree) => self.set(layout::session(id), Entry::tree(tree)),
            None => self.remove(layout::session(id)),
        }
    }
}
