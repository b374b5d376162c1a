//! Signatures beside the operations that they are about: `ops/<seq>-<op>.json.sig`, and one file of lines where an
//! older program archived the session. Whether a signature holds is not known here.

use super::{Session, Snapshot, layout, ops, unique};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{EntryKind, Repo};
use loopx_rules::op::parse_json;
use loopx_rules::signature::{MAX_BYTES, SUFFIX};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Signature files by the names of the operation files that they stand beside. One that is larger than
/// any signature is given as nothing.
pub type SignatureFiles = BTreeMap<String, Option<Vec<u8>>>;

/// One line of an archived session's signatures.
#[derive(Debug, Deserialize)]
struct Line {
    /// The name that the operation's file had.
    operation: String,
    signed: String,
}

impl Snapshot<'_> {
    /// What people signed about the operations of a session, under the name that it has or that a merge took
    /// from it.
    pub fn signatures(&self, session: &Session) -> Result<SignatureFiles> {
        unique::under_its_name(self, session, self.signature_files(session)?)
    }

    fn signature_files(&self, session: &Session) -> Result<SignatureFiles> {
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
