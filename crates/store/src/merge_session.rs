//! Folder of a session, made from the folders of several clones: a function of the session's operations and of the
//! files that belong to them.

use super::folder::{Parts, assemble};
use super::loss::{Records, is_signature};
use super::sealed::{self, Sealed};
use super::stray::{self, Beside};
use super::{Edits, Session, layout, ops, record_limit, signatures};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use loopx_rules::session::is_state_file;
use loopx_rules::signature::record_of;
use std::collections::{BTreeMap, BTreeSet};

/// Content of a folder that does not follow from something else.
#[derive(Default)]
pub(super) struct Folder {
    pub(super) operations: Vec<Operation>,
    /// Operation files and the files beside them, by name.
    pub(super) records: BTreeMap<String, Oid>,
    /// Logs, bases, originals: by path.
    pub(super) beside: BTreeMap<String, Oid>,
    /// File that an older program wrote at the archive, by no operation.
    candidate: Option<Oid>,
}

impl Edits {
    /// Adds an operation that tells the past anew, and with it the folder, wherever the folder belongs now.
    pub fn rebuild(&mut self, repo: &Repo, session: &Session, op: &Operation) -> Result<State> {
        record_limit::require(repo, Some(session), op)?;
        let mut folder = gather(repo, &session.place, &session.tree)?;
        let blob = repo.write_blob(&op.to_bytes()?)?;
        folder.records.insert(op.file_name(), blob);
        folder.operations.push(op.clone());
        let (path, tree, state) = build(repo, &session.state.id, vec![folder])?;
        if path != session.path {
            self.remove(session.path.clone());
        }
        self.set(path, Entry::tree(tree));
        self.index(repo, Some(&session.state), &state)?;
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
        missing: &Records,
    ) -> Result<()> {
        let mut now = gather(repo, &session.path, &session.tree)?;
        now.operations.retain(|op| !missing.has(&op.file_name()));
        // A signature that stands in the place of another one may be one, too.
        now.records.retain(|name, blob| {
            !missing.has(name) || is_signature(name) && signatures::is_of(repo, name, blob)
        });
        let then = gather(repo, &session.path, earlier)?;
        let (path, tree, _) = build(repo, &session.state.id, vec![now, then])?;
        if path != session.path {
            self.remove(session.path.clone());
        }
        self.set(path, Entry::tree(tree));
        Ok(())
    }
}

/// Path of a version of an artifact on the branch.
pub fn version_path(session: &Session, artifact: Artifact, blob: &Oid) -> String {
    format!(
        "{}/{}",
        session.place,
        layout::version(artifact.path(), blob)
    )
}

/// Path of a version of another file on the branch.
pub fn file_version_path(session: &Session, path: &str, blob: &Oid) -> String {
    format!("{}/{}", session.place, layout::version(path, blob))
}

/// Reads a session's folder.
pub(super) fn gather(repo: &Repo, path: &str, tree: &Oid) -> Result<Folder> {
    gather_beside(repo, path, tree, &[])
}

/// Reads a session's folder, but for the operations that others have which were read before.
pub(super) fn gather_beside(
    repo: &Repo,
    path: &str,
    tree: &Oid,
    others: &[Folder],
) -> Result<Folder> {
    let mut folder = Folder::default();
    if let Some(entry) = repo.entry_at(tree, layout::OPS)?
        && entry.kind == EntryKind::Tree
    {
        for held in ops::files(repo, &entry.id)? {
            if stray::is_of_nothing(&held.name) {
                continue;
            }
            let has = |other: &Folder| other.records.get(&held.name) == Some(&held.entry.id);
            if held.name.ends_with(".json") && !others.iter().any(has) {
                let label = format!("{path}/{}/{}", layout::OPS, held.place);
                folder.operations.push(ops::read_one(repo, &held, &label)?);
            }
            folder.records.insert(held.name, held.entry.id);
        }
    }
    let sealed = sealed::of(repo, tree)?;
    if let Some(Sealed { ops, signatures }) = &sealed {
        if let Some(blob) = signatures {
            let label = format!("{path}/{}", layout::SEALED_SIGNATURES);
            let signed = signatures::unseal(repo, &repo.read_blob(blob)?, &label)?;
            folder.records.extend(signed);
        }
        let label = format!("{path}/{}", layout::SEALED_OPS);
        for line in repo.read_blob(ops)?.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            let op = Operation::parse_sealed(line, &label)?;
            let blob = repo.write_blob(&op.to_bytes()?)?;
            folder.records.insert(op.file_name(), blob);
            folder.operations.push(op);
        }
        folder.candidate = repo
            .entry_at(tree, Artifact::AdrCandidate.path())?
            .map(|entry| entry.id);
    }
    let is_artifact = |path: &str| Artifact::at(path).is_some();
    let is_sealed = |path: &str| [layout::SEALED_OPS, layout::SEALED_SIGNATURES].contains(&path);
    let below_ops = format!("{}/", layout::OPS);
    for (name, blob) in repo.walk_blobs(tree)? {
        if name.starts_with(&below_ops) {
            continue;
        }
        if !is_state_file(&name)
            && !is_sealed(&name)
            && !is_artifact(&name)
            && !name.starts_with(&format!("{}/", layout::VERSIONS))
        {
            folder.beside.insert(name, blob);
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
    let mut operations: BTreeMap<(u64, String), (Option<Oid>, Operation)> = BTreeMap::new();
    let mut records = BTreeMap::new();
    let mut beside = BTreeMap::new();
    let mut signed: BTreeMap<String, BTreeSet<Oid>> = BTreeMap::new();
    let mut candidate: Option<Oid> = None;
    for folder in folders {
        for op in folder.operations {
            let key = (op.seq, op.op.to_string());
            let blob = folder.records.get(&op.file_name()).cloned();
            // Of two that claim one name every clone takes the same, and its file with it. Only an id of
            // format 1 can be claimed twice.
            let claim = |blob: &Option<Oid>, op: &Operation| (format!("{op:?}"), blob.clone());
            match operations.get(&key) {
                Some((known, _)) if blob.is_some() && *known == blob => {}
                Some((known, other)) if claim(known, other) >= claim(&blob, &op) => {}
                _ => drop(operations.insert(key, (blob, op))),
            }
        }
        for (name, blob) in folder.records {
            match record_of(&name) {
                Some(record) => {
                    let blobs = signed.entry(record.to_owned()).or_default();
                    blobs.insert(blob);
                }
                None => unite_files(&mut records, [(name, blob)].into()),
            }
        }
        unite_files(&mut beside, folder.beside);
        candidate = candidate.max(folder.candidate);
    }
    for (blob, op) in operations.values() {
        if let Some(blob) = blob {
            records.insert(op.file_name(), blob.clone());
        }
    }
    let operations: Vec<Operation> = operations.into_values().map(|(_, op)| op).collect();
    for (record, blobs) in signed {
        // Names are asked only where clones have several.
        let mut operations = operations.iter().filter(|_| blobs.len() > 1);
        let op = operations.find(|op| op.file_name() == record);
        records.extend(signatures::kept(repo, &record, op, blobs)?);
    }
    // What operations wrote follows from them.
    for path in operations.iter().flat_map(|op| op.others.keys()) {
        beside.remove(path);
    }
    let mut state = super::replay(repo, id, &operations)?;
    settle_candidate(&mut state, candidate);
    settle_beside(repo, &mut beside, &state, &operations)?;
    let entries = records.into_iter();
    let parts = Parts {
        before: None,
        records: entries
            .map(|(name, blob)| (name, Some(Entry::blob(blob))))
            .collect(),
        beside,
    };
    assemble(repo, parts, state)
}

/// Leaves out what no record names, which an older program let in, and brings back what a record keeps beside itself: the
/// merge of two honest clones is no new commit with a stray.
fn settle_beside(
    repo: &Repo,
    beside: &mut BTreeMap<String, Oid>,
    state: &State,
    operations: &[Operation],
) -> Result<()> {
    let known = Beside::of(state, operations);
    beside.retain(|path, blob| known.has(path, blob));
    for (path, blob) in operations.iter().flat_map(stray::kept) {
        if !beside.contains_key(&path) && repo.contains(&blob)? {
            beside.insert(path, blob);
        }
    }
    Ok(())
}

/// The candidate of a decision record, where an older program archived the session: no operation of its
/// wrote one.
pub(super) fn settle_candidate(state: &mut State, candidate: Option<Oid>) {
    if let Some(blob) = candidate
        && !state.is_active()
        && !state.artifacts.contains_key(&Artifact::AdrCandidate)
    {
        state.artifacts.insert(Artifact::AdrCandidate, blob);
    }
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
