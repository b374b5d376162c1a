//! Signatures beside the operations that they are about: `ops/<seq>-<op>.json.sig`, and one file of lines where an
//! older program archived the session. Whether a signature counts is not known here: only whether the file can be one
//! over its record, whoever made it.

use super::loss::{Records, Unreadable, is_signature};
use super::{Session, Snapshot, layout, ops, unique};
use loopx_base::failure::{Code, Result};
use loopx_base::id::Oid;
use loopx_git::signing::{Signers, can_check};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::{Body, Operation, parse_json};
use loopx_rules::signature::{MAX_BYTES, NAMESPACE, SUFFIX, Signed};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Signature files by the names of the operation files that they stand beside. One that is larger than
/// any signature is given as nothing.
pub type SignatureFiles = BTreeMap<String, Option<Vec<u8>>>;

/// Line of an archived session's signatures.
#[derive(Debug, Deserialize)]
struct Line {
    /// The name that the operation's file had.
    operation: String,
    signed: String,
}

impl Snapshot<'_> {
    /// Signatures about the operations of a session, under the name that the session has or that a merge took from it.
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

/// Digests of signatures that were sealed into one file, by the names that their files had.
pub(super) fn sealed(repo: &Repo, sealed: &[u8]) -> Result<Vec<(String, Oid)>> {
    let lines = sealed.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    lines
        .map(|line| {
            let said = repo.hash_blob(line.signed.as_bytes())?;
            Ok((format!("{}{SUFFIX}", line.operation), said))
        })
        .collect()
}

/// Reason for which a file is no signature over the operation that it stands beside, whoever made it and wherever it
/// counts.
pub fn fault(op: &Operation, bytes: Option<&[u8]>) -> Result<Option<String>> {
    let Some(bytes) = bytes else {
        return Ok(Some("the file is larger than any signature".to_owned()));
    };
    let path = format!("{}{SUFFIX}", op.file_name());
    let read =
        Signed::parse(bytes, &path).and_then(|signed| Ok((signed, signed.statement(&path)?)));
    let (signed, statement) = match read {
        Ok(read) => read,
        // A newer program signs what this one does not understand.
        Err(failure) if failure.code == Code::FormatNewer => return Ok(None),
        Err(failure) => return Ok(Some(failure.message)),
    };
    if matches!(op.body, Body::Unknown(_)) {
        return Ok(None);
    }
    if let Some(why) = statement.differs_over(op) {
        return Ok(Some(why));
    }
    integrity(&signed)
}

/// Reason why the armour is none over its statement; nothing where no program here can tell.
fn integrity(signed: &Signed<'_>) -> Result<Option<String>> {
    if !can_check() {
        return Ok(None);
    }
    let signers = Signers::new(&[], &[], "no file")?;
    let checked = signers.integrity(NAMESPACE, signed.payload, signed.armour)?;
    Ok(checked.err())
}

/// Tells whether a file was a signature over the operation of that name.
pub(super) fn is_of(repo: &Repo, name: &str, blob: &Oid) -> bool {
    let Ok(bytes) = read(repo, blob) else {
        return true;
    };
    let Some(bytes) = bytes else { return false };
    let Ok(signed) = Signed::parse(&bytes, name) else {
        return false;
    };
    let statement = match signed.statement(name) {
        Ok(statement) => statement,
        Err(failure) => return failure.code == Code::FormatNewer,
    };
    name.strip_suffix(SUFFIX) == Some(statement.operation.file_name().as_str())
        && !matches!(integrity(&signed), Ok(Some(_)))
}

/// First signature of a session's folder that none of the folders before has, and that is none over its record; with the
/// reason.
pub(super) fn new_fault(repo: &Repo, before: &[Entry], now: &Entry) -> Result<Option<String>> {
    let records = |one: Option<&Entry>| {
        let (had, has) = Records::differing(repo, one, Some(now));
        let had = had.unwrap_or_default();
        has.map_err(Unreadable::failure).map(|has| (had, has))
    };
    let (mut had, has) = records(before.first())?;
    let mut new: Vec<(String, Oid)> = Vec::new();
    for (name, blob) in has.files().filter(|(name, _)| is_signature(name)) {
        new.push((name.clone(), blob.clone()));
    }
    let mut rest = before.iter().skip(1);
    loop {
        let held =
            |name: &str, blob: &Oid| had.files().any(|(one, other)| one == name && other == blob);
        new.retain(|(name, blob)| !held(name, blob));
        match rest.next() {
            Some(next) if !new.is_empty() => {
                let (older, differing) = records(Some(next))?;
                // What both have in one place does not differ.
                new.retain(|(name, _)| differing.has(name));
                had = older;
            }
            _ => break,
        }
    }
    for (name, blob) in new {
        let record = name.strip_suffix(SUFFIX).unwrap_or(&name);
        let there = has.files().find(|(one, _)| *one == record);
        let why = match there {
            None => Some("it stands beside no operation".to_owned()),
            Some((_, op)) => match Operation::parse(&repo.read_blob(op)?, record, op) {
                // What is wrong with the record itself is said of that.
                Err(_) => None,
                Ok(op) => fault(&op, read(repo, &blob)?.as_deref())?,
            },
        };
        if let Some(why) = why {
            return Ok(Some(format!("{name} is no signature of its record: {why}")));
        }
    }
    Ok(None)
}
