//! One session's folder, made from those of several clones: a function of its operations and of the
//! files that belong to them.

use super::check::Missing;
use super::{Edits, Session, layout, ops, signatures};
use crate::core::artifact::Artifact;
use crate::core::failure::{Code, Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::session::{Ending, State};
use crate::git::{Entry, EntryKind, Repo};
use std::collections::BTreeMap;

/// What a folder holds that does not follow from something else.
pub(super) struct Folder {
    operations: Vec<Operation>,
    /// Operation files and what lies beside them, by name.
    files: BTreeMap<String, Oid>,
    /// Logs, bases, originals: by path.
    extra: BTreeMap<String, Oid>,
    /// Written at the archive, by no operation.
    candidate: Option<Oid>,
}

impl Edits {
    /// Adds an operation that tells the past anew, and with it the folder, wherever that belongs now.
    pub fn rebuild(&mut self, repo: &Repo, session: &Session, op: &Operation) -> Result<State> {
        let mut folder = gather(repo, &session.place, &session.tree, &session.state)?;
        let blob = repo.write_blob(&op.to_bytes()?)?;
        folder.files.insert(op.file_name(), blob);
        folder.operations.push(op.clone());
        let (path, tree, state) = build(repo, &session.state.id, vec![folder])?;
        if path != session.path {
            self.remove(session.path.clone());
        }
        self.set(path, Entry::tree(tree));
        Ok(state)
    }
}

impl Edits {
    /// Brings a session's folder together with an earlier one, which has operations that went away or are
    /// others now.
    pub(super) fn reunite(
        &mut self,
        repo: &Repo,
        session: &Session,
        earlier: &Oid,
        missing: &Missing,
    ) -> Result<()> {
        let mut now = gather(repo, &session.path, &session.tree, &session.state)?;
        now.operations
            .retain(|op| !missing.contains_key(&op.file_name()));
        now.files.retain(|name, _| !missing.contains_key(name));
        let then = gather(repo, &session.path, earlier, &session.state)?;
        let (path, tree, _) = build(repo, &session.state.id, vec![now, then])?;
        if path != session.path {
            self.remove(session.path.clone());
        }
        self.set(path, Entry::tree(tree));
        Ok(())
    }
}

/// Where a version of an artifact lies on the branch.
pub fn version_path(session: &Session, artifact: Artifact, blob: &Oid) -> String {
    format!("{}/{}/{artifact}/{blob}", session.place, layout::VERSIONS)
}

/// Reads a session's folder.
pub(super) fn gather(repo: &Repo, path: &str, tree: &Oid, state: &State) -> Result<Folder> {
    let mut folder = Folder {
        operations: Vec::new(),
        files: BTreeMap::new(),
        extra: BTreeMap::new(),
        candidate: state.artifacts.get(&Artifact::AdrCandidate).cloned(),
    };
    let is_artifact = |path: &str| Artifact::ALL.iter().any(|artifact| artifact.path() == path);
    if let Some(entry) = repo.entry_at(tree, layout::OPS)?
        && entry.kind == EntryKind::Tree
    {
        for held in ops::files(repo, &entry.id)? {
            if held.name.ends_with(".json") {
                let label = format!("{path}/{}/{}", layout::OPS, held.place);
                let op = Operation::parse(&repo.read_blob(&held.entry.id)?, &label)?;
                folder.operations.push(op);
            }
            folder.files.insert(held.name, held.entry.id);
        }
    }
    let below_ops = format!("{}/", layout::OPS);
    for (name, blob) in repo.walk_blobs(tree)? {
        if name.starts_with(&below_ops) {
            continue;
        }
        if name == layout::SEALED_SIGNATURES {
            let label = format!("{path}/{name}");
            let signed = signatures::unseal(repo, &repo.read_blob(&blob)?, &label)?;
            folder.files.extend(signed);
        } else if name == layout::SEALED_OPS {
            let label = format!("{path}/{name}");
            for line in repo.read_blob(&blob)?.split(|byte| *byte == b'\n') {
                if line.is_empty() {
                    continue;
                }
                let op = Operation::parse(line, &label)?;
                let blob = repo.write_blob(&op.to_bytes()?)?;
                folder.files.insert(op.file_name(), blob);
                folder.operations.push(op);
            }
        } else if name != layout::STATE
            && !is_artifact(&name)
            && !name.starts_with(&format!("{}/", layout::VERSIONS))
        {
            folder.extra.insert(name, blob);
        }
    }
    Ok(folder)
}

/// The folder that several give together, where it belongs, and its state.
pub(super) fn build(
    repo: &Repo,
    id: &SessionId,
    folders: Vec<Folder>,
) -> Result<(String, Oid, State)> {
    type Claim = (String, Option<Oid>);
    let mut operations: BTreeMap<(u64, String), (Claim, Operation)> = BTreeMap::new();
    let mut files = BTreeMap::new();
    let mut extra = BTreeMap::new();
    let mut candidate: Option<Oid> = None;
    for folder in folders {
        for op in folder.operations {
            let key = (op.seq, op.op.to_string());
            // Of two that claim one name every clone takes the same, and its file with it.
            let claim = (
                format!("{op:?}"),
                folder.files.get(&op.file_name()).cloned(),
            );
            match operations.get(&key) {
                Some((known, _)) if *known >= claim => {}
                _ => drop(operations.insert(key, (claim, op))),
            }
        }
        unite_files(&mut files, folder.files);
        unite_files(&mut extra, folder.extra);
        candidate = candidate.max(folder.candidate);
    }
    for ((_, blob), op) in operations.values() {
        if let Some(blob) = blob {
            files.insert(op.file_name(), blob.clone());
        }
    }
    let operations: Vec<Operation> = operations.into_values().map(|(_, op)| op).collect();
    let mut state = super::replay(repo, id, &operations)?;
    if let Some(blob) = &candidate
        && !state.is_active()
    {
        state.artifacts.insert(Artifact::AdrCandidate, blob.clone());
    }
    let mut inner: BTreeMap<String, Option<Entry>> = BTreeMap::new();
    let mut put = |path: String, entry: Entry| drop(inner.insert(path, Some(entry)));
    let month = match &state.ending {
        Some(Ending::Archived { month, .. }) => Some(month.clone()),
        _ => None,
    };
    match &month {
        Some(_) => {
            let sealed = repo.write_blob(&seal(&operations)?)?;
            put(layout::SEALED_OPS.to_owned(), Entry::blob(sealed.clone()));
            if let Some(signed) = signatures::seal_files(repo, &files, &operations)? {
                put(layout::SEALED_SIGNATURES.to_owned(), Entry::blob(signed));
            }
            state.ops = Some(sealed);
        }
        None => {
            let entries = files
                .into_iter()
                .map(|(name, blob)| (name, Some(Entry::blob(blob))));
            let ops = ops::edit(repo, None, &entries.collect())?;
            put(layout::OPS.to_owned(), Entry::tree(ops.clone()));
            state.ops = Some(ops);
        }
    }
    for (path, blob) in extra {
        put(path, Entry::blob(blob));
    }
    for (artifact, blob) in &state.artifacts {
        put(artifact.path().to_owned(), Entry::blob(blob.clone()));
    }
    for (path, blob) in layout::versions(&state) {
        put(path, Entry::blob(blob));
    }
    put(
        layout::STATE.to_owned(),
        Entry::blob(repo.write_blob(&state.to_bytes()?)?),
    );
    let path = match &month {
        Some(month) => layout::archived(month, id),
        None => layout::session(id),
    };
    Ok((path, repo.edit_tree(None, &inner)?, state))
}

fn unite_files(all: &mut BTreeMap<String, Oid>, more: BTreeMap<String, Oid>) {
    for (name, blob) in more {
        let blob = match all.remove(&name) {
            Some(known) => known.max(blob),
            None => blob,
        };
        all.insert(name, blob);
    }
}

/// Operations as the one file of an archived session.
pub(super) fn seal(operations: &[Operation]) -> Result<Vec<u8>> {
    let mut sealed = Vec::new();
    for op in operations {
        let line = serde_json::to_vec(op)
            .map_err(|error| Failure::internal(Code::RecordUnwritable, error.to_string()))?;
        sealed.extend(line);
        sealed.push(b'\n');
    }
    Ok(sealed)
}
