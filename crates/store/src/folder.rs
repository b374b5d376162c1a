//! A session's folder as it is written: the one assembler. Whether one operation is added, clones are merged,
//! a session is archived, taken back, imported or repaired: the folder is that of its records, and of the
//! state that they give.
//!
//! It decides nothing and moves no ref.

use super::{Session, layout, ops, stored, stray};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, Repo};
use loopx_rules::op::Operation;
use loopx_rules::session::{Ending, State};
use loopx_rules::signature::SUFFIX;
use std::collections::BTreeMap;

/// Parts that a session's folder is made of.
#[derive(Default)]
pub(super) struct Parts<'s> {
    /// Folder before. Files that are not named here, and do not follow from the state, stay as they are there.
    pub(super) before: Option<&'s Session>,
    /// Files of `ops/` to add or to replace.
    pub(super) records: BTreeMap<String, Option<Entry>>,
    /// Files that lie beside the records for good: logs, bases, originals.
    pub(super) beside: BTreeMap<String, Oid>,
}

/// Operation to record.
pub struct Record<'a> {
    pub op: &'a Operation,
    /// Signature of a person about the operation, for a file of its own beside it.
    pub signature: Option<&'a [u8]>,
    /// Output of a recorded command.
    pub log: Option<Oid>,
}

impl<'a> From<&'a Operation> for Record<'a> {
    fn from(op: &'a Operation) -> Self {
        Record {
            op,
            signature: None,
            log: None,
        }
    }
}

impl Parts<'_> {
    /// Adds an operation with the files that belong to it: its signature, its log, its bases and originals.
    pub(super) fn add(&mut self, repo: &Repo, record: &Record<'_>) -> Result<()> {
        let Record { op, signature, log } = record;
        let blob = repo.write_blob(&op.to_bytes()?)?;
        self.records.insert(op.file_name(), Some(Entry::blob(blob)));
        if let Some(signature) = signature {
            let name = format!("{}{SUFFIX}", op.file_name());
            let blob = repo.write_blob(signature)?;
            self.records.insert(name, Some(Entry::blob(blob)));
        }
        if let Some(log) = log {
            let path = format!("{}/{}.log", layout::LOGS, op.op);
            self.beside.insert(path, log.clone());
        }
        self.beside.extend(stray::kept(op));
        Ok(())
    }
}

/// The folder, where it belongs, and the state with the id of its records.
pub(super) fn assemble(
    repo: &Repo,
    parts: Parts<'_>,
    mut state: State,
) -> Result<(String, Oid, State)> {
    let mut inner: BTreeMap<String, Option<Entry>> = BTreeMap::new();
    let known = parts.before.and_then(|session| session.state.ops.as_ref());
    let records = ops::edit(repo, known, &parts.records)?;
    inner.insert(layout::OPS.to_owned(), Some(Entry::tree(records.clone())));
    state.ops = Some(records);
    let blob = |blob: Oid| Some(Entry::blob(blob));
    inner.extend(parts.beside.into_iter().map(|(path, id)| (path, blob(id))));
    let before = parts.before.map(|session| layout::files(&session.state));
    let mut before = before.unwrap_or_default();
    for (path, id) in layout::files(&state) {
        if before.remove(&path).as_ref() != Some(&id) {
            inner.insert(path, blob(id));
        }
    }
    inner.extend(before.into_keys().map(|path| (path, None)));
    inner.extend(stored::entries(repo, &mut state, parts.before)?);
    let tree = repo.edit_tree(parts.before.map(|session| &session.tree), &inner)?;
    Ok((place(&state), tree, state))
}

/// Path at which a session's folder belongs.
pub(super) fn place(state: &State) -> String {
    match &state.ending {
        Some(Ending::Archived { month, .. }) => layout::archived(month, &state.id),
        _ => layout::session(&state.id),
    }
}
