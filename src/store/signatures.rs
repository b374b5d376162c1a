//! What people signed, beside the operations that it is about: `ops/<seq>-<op>.json.sig`, and one file
//! of lines once a session is archived. Whether a signature holds is not known here.

use super::{Session, Snapshot, layout, ops};
use crate::core::failure::{Code, Failure, Result};
use crate::core::id::Oid;
use crate::core::op::{Operation, parse_json};
use crate::core::signature::{MAX_BYTES, SUFFIX};
use crate::git::{EntryKind, Repo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Signature files by the names of the operation files that they stand beside. One that is larger than
/// any signature is given as nothing.
pub type SignatureFiles = BTreeMap<String, Option<Vec<u8>>>;

/// One line of an archived session's signatures.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// The name that the operation's file had.
    operation: String,
    signed: String,
}

impl Snapshot<'_> {
    /// What people signed about the operations of a session.
    pub fn signatures(&self, session: &Session) -> Result<SignatureFiles> {
        let repo = self.repo();
        if let Some(entry) = repo.entry_at(&session.tree, layout::SEALED_SIGNATURES)? {
            let label = format!("{}/{}", session.place, layout::SEALED_SIGNATURES);
            return repo
                .read_blob(&entry.id)?
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| {
                    let line: Line = parse_json(line, &label)?;
                    Ok((line.operation, Some(line.signed.into_bytes())))
                })
                .collect();
        }
        let mut found = BTreeMap::new();
        for (name, blob) in files(repo, &session.tree)? {
            if let Some(operation) = name.strip_suffix(SUFFIX) {
                found.insert(operation.to_owned(), read(repo, &blob)?);
            }
        }
        Ok(found)
    }
}

/// The signature files of a session's folder.
pub(super) fn files(repo: &Repo, folder: &Oid) -> Result<Vec<(String, Oid)>> {
    let Some(entry) = repo.entry_at(folder, layout::OPS)? else {
        return Ok(Vec::new());
    };
    if entry.kind != EntryKind::Tree {
        return Ok(Vec::new());
    }
    Ok(ops::files(repo, &entry.id)?
        .into_iter()
        .filter(|held| held.name.ends_with(SUFFIX))
        .map(|held| (held.name, held.entry.id))
        .collect())
}

fn read(repo: &Repo, blob: &Oid) -> Result<Option<Vec<u8>>> {
    if repo.blob_size(blob)? > MAX_BYTES {
        return Ok(None);
    }
    repo.read_blob(blob).map(Some)
}

/// The signature files that were sealed into one, written again as they were.
pub(super) fn unseal(repo: &Repo, sealed: &[u8], label: &str) -> Result<BTreeMap<String, Oid>> {
    let lines = sealed.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let line: Line = parse_json(line, label)?;
            let blob = repo.write_blob(line.signed.as_bytes())?;
            Ok((format!("{}{SUFFIX}", line.operation), blob))
        })
        .collect()
}

/// The signatures of some operations in one file; `None` where nobody signed.
pub(super) fn seal(repo: &Repo, folder: &Oid, ops: &[Operation]) -> Result<Option<Oid>> {
    seal_files(repo, &files(repo, folder)?.into_iter().collect(), ops)
}

/// The same of signature files by name.
pub(super) fn seal_files(
    repo: &Repo,
    files: &BTreeMap<String, Oid>,
    ops: &[Operation],
) -> Result<Option<Oid>> {
    let mut sealed = Vec::new();
    for op in ops {
        let Some(blob) = files.get(&format!("{}{SUFFIX}", op.file_name())) else {
            continue;
        };
        let Some(bytes) = read(repo, blob)? else {
            continue;
        };
        let line = Line {
            operation: op.file_name(),
            signed: String::from_utf8_lossy(&bytes).into_owned(),
        };
        let line = serde_json::to_vec(&line)
            .map_err(|error| Failure::internal(Code::RecordUnwritable, error.to_string()))?;
        sealed.extend(line);
        sealed.push(b'\n');
    }
    if sealed.is_empty() {
        return Ok(None);
    }
    repo.write_blob(&sealed).map(Some)
}
