//! Signatures beside the operations that they are about: `ops/<seq>-<op>.json.sig`, and one file of lines where an
//! older program archived the session. Whether a signature counts is not known here: only whether the file can be one
//! over its record, whoever made it. So where two signatures of one record meet both stay, the second as
//! `<seq>-<op>.json.<digest>.sig`: whoever chose would let a stranger with a key take a person's word away.

use super::loss::{Records, Unreadable, is_signature};
use super::{Session, Snapshot, layout, ops, sealed, unique};
use loopx_base::failure::{Code, Result};
use loopx_base::id::Oid;
use loopx_git::signing::{Signers, can_check};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::{Operation, parse_json};
use loopx_rules::signature::{self, MAX_BYTES, NAMESPACE, Read, SUFFIX, Signed, record_of};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Signature files by the names of the operation files that they stand beside.
pub type SignatureFiles = BTreeMap<String, Vec<SignatureFile>>;

/// A file that stands beside an operation as a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureFile {
    pub name: String,
    /// Content; nothing where the file is larger than any signature.
    pub bytes: Option<Vec<u8>>,
}

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
        if let Some(sealed) = sealed::of(repo, &session.tree)? {
            let Some(signatures) = sealed.signatures else {
                return Ok(SignatureFiles::new());
            };
            let label = format!("{}/{}", session.place, layout::SEALED_SIGNATURES);
            return repo
                .read_blob(&signatures)?
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| {
                    let line: Line = parse_json(line, &label)?;
                    let file = SignatureFile {
                        name: format!("{}{SUFFIX}", line.operation),
                        bytes: Some(line.signed.into_bytes()),
                    };
                    Ok((line.operation, vec![file]))
                })
                .collect();
        }
        let mut found = SignatureFiles::new();
        for (name, blob) in files(repo, &session.tree)? {
            if let Some(record) = record_of(&name).map(str::to_owned) {
                let bytes = read(repo, &blob)?;
                let of_record = found.entry(record).or_default();
                of_record.push(SignatureFile { name, bytes });
            }
        }
        // The first that anybody gave comes first, as its name says.
        for of_record in found.values_mut() {
            of_record.sort_by_key(|file| (file.name.len(), file.name.clone()));
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

/// Limit of signatures that are known to hold at once; a file with more is begun anew.
const MOST_KNOWN: usize = 20_000;

/// Signature files that ssh-keygen found to be signatures over their statements, by their blobs: a disposable file in
/// the git dir. The same bytes say the same again, and each start of ssh-keygen costs as much as all else that is asked
/// of a signature. A line that is no blob's id is passed over.
pub struct Signatures<'r> {
    repo: &'r Repo,
    /// Set when the file of an earlier command is believed.
    believes: bool,
    known: Option<BTreeSet<String>>,
    /// Files that were checked by this command.
    checked: BTreeSet<String>,
    is_new: bool,
}

impl<'r> Signatures<'r> {
    pub fn of(repo: &'r Repo) -> Self {
        Signatures {
            repo,
            believes: true,
            known: None,
            checked: BTreeSet::new(),
            is_new: false,
        }
    }

    /// Signatures that are all checked anew, whatever an earlier command found.
    pub fn anew(repo: &'r Repo) -> Self {
        Signatures {
            believes: false,
            ..Signatures::of(repo)
        }
    }

    fn file(&self) -> PathBuf {
        self.repo
            .common_dir()
            .join("loopx")
            .join("signatures-known")
    }

    fn known(&mut self) -> &mut BTreeSet<String> {
        let file = self.file();
        self.known.get_or_insert_with(|| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        })
    }

    /// Keeps what was found for the next command. Without it that takes longer, and says the same.
    pub fn keep(self) {
        if let (true, Some(known)) = (self.is_new, &self.known) {
            let mut text = String::new();
            for line in known.iter().take(MOST_KNOWN) {
                text.push_str(line);
                text.push('\n');
            }
            drop(self.repo.write_shared(&self.file(), text.as_bytes()));
        }
    }

    /// Reason for which the armour is none over its statement; nothing where no program here can tell.
    fn integrity(&mut self, signed: &Signed<'_>, bytes: &[u8]) -> Result<Option<String>> {
        let blob = self.repo.hash_blob(bytes)?.to_string();
        if self.checked.contains(&blob) || self.believes && self.known().contains(&blob) {
            return Ok(None);
        }
        let found = integrity(signed)?;
        if found.is_some() {
            self.is_new |= self.known().remove(&blob);
        } else if can_check() {
            let known = self.known();
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            self.is_new |= known.insert(blob.clone());
            self.checked.insert(blob);
        }
        Ok(found)
    }

    /// Reason for which a file is no signature over the operation that it stands beside, whoever made it and wherever it
    /// counts.
    pub fn fault(&mut self, op: &Operation, bytes: Option<&[u8]>) -> Result<Option<String>> {
        match (Read::of(op, bytes), bytes) {
            (Read::Over(signed), Some(bytes)) => self.integrity(&signed, bytes),
            (Read::Fault(why), _) => Ok(Some(why)),
            (Read::Over(_) | Read::Newer, _) => Ok(None),
        }
    }
}

/// The signatures of a record among the files that clones have as such, by their names: all that say they are over it, so
/// that clones with and without ssh-keygen keep the same. A file that says something else stays where there is no other.
pub(super) fn kept(
    repo: &Repo,
    record: &str,
    op: Option<&Operation>,
    mut blobs: BTreeSet<Oid>,
) -> Result<BTreeMap<String, Oid>> {
    if let (Some(op), true) = (op, blobs.len() > 1) {
        let mut over = BTreeSet::new();
        for blob in &blobs {
            if !matches!(Read::of(op, read(repo, blob)?.as_deref()), Read::Fault(_)) {
                over.insert(blob.clone());
            }
        }
        if over.is_empty() {
            over.extend(blobs.last().cloned());
        }
        blobs = over;
    }
    Ok(signature::names(record, &blobs))
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
    record_of(name) == Some(statement.operation.file_name().as_str())
        && !matches!(Signatures::of(repo).integrity(&signed, &bytes), Ok(Some(_)))
}

/// Reason why a signature is another one of its record in other words: there would be no end of them.
fn respelled(repo: &Repo, has: &Records, (name, blob): (&str, &Oid)) -> Result<Option<String>> {
    let beside = has.files().filter(|(one, other)| {
        is_signature(one) && *other != blob && record_of(one) == record_of(name)
    });
    let beside: Vec<_> = beside.collect();
    if beside.is_empty() {
        return Ok(None);
    }
    let bytes = read(repo, blob)?.unwrap_or_default();
    let Ok(signed) = Signed::parse(&bytes, name) else {
        return Ok(None);
    };
    for (one, other) in beside {
        let bytes = read(repo, other)?.unwrap_or_default();
        if Signed::parse(&bytes, one).is_ok_and(|other| signed.is_respelled(&other)) {
            return Ok(Some(format!("it is {one}, written in another way")));
        }
    }
    Ok(None)
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
        let held = |name: &str, blob: &Oid| {
            let mut had = had.files();
            had.any(|(one, other)| other == blob && record_of(one) == record_of(name))
        };
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
    let mut known = Signatures::of(repo);
    let mut found = None;
    for (name, blob) in new {
        let record = record_of(&name).unwrap_or(&name);
        let there = has.files().find(|(one, _)| *one == record);
        let why = match there {
            None => Some("it belongs to no operation".to_owned()),
            Some((_, op)) => match Operation::parse(&repo.read_blob(op)?, record, op) {
                // What is wrong with the record itself is said of that.
                Err(_) => None,
                Ok(op) => known.fault(&op, read(repo, &blob)?.as_deref())?,
            },
        };
        let why = match why {
            None => respelled(repo, &has, (&name, &blob))?,
            why => why,
        };
        if let Some(why) = why {
            found = Some(format!("{name} is no signature of its record: {why}"));
            break;
        }
    }
    known.keep();
    Ok(found)
}
