//! The loss of a record: the one answer for a push, a sync, a repair, a bundle, a merge and a look at history. What
//! follows from a loss each of them decides.
//!
//! A record is known by its file: by its name and its blob. What it says is not asked, so that a record of a
//! kind that this program does not know is kept like any other. Only where format 1 sealed the records of an
//! archived session into one file, a line of that stands for a file and is compared by what it says. A signature is a
//! record beside a record: what somebody signed is not taken away either.

mod branch;
#[cfg(test)]
mod tests;

pub use branch::has_all;
pub(super) use branch::{Holding, Loss, between, others, uid};

use super::fanout_folder;
use super::sealed::{self, Sealed};
use super::signatures;
use super::{layout, ops};
use loopx_base::failure::{Code, Failure};
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::Operation;
use loopx_rules::signature::{Signed, record_of};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

/// Ending of the name of a record's file.
const ENDING: &str = ".json";

/// The records of one entity, by the names of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records(BTreeMap<String, Content>);

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    File(Oid),
    /// Line of a sealed file: the digest of its content.
    Line(Oid),
}

/// Records that nobody can list, because an object that leads to them cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable(pub(super) Failure);

impl Unreadable {
    /// Failure for a caller that cannot go on without the records.
    pub(super) fn failure(self) -> Failure {
        self.0
    }
}

type Listed = Result<Records, Unreadable>;

/// A record that is not there any more, or is another one now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) name: String,
    pub(super) was: Content,
    pub(super) how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Gone,
    Changed,
}

impl Records {
    /// The records of an entity's folder; none where there is no folder.
    pub(super) fn of(repo: &Repo, folder: Option<&Entry>) -> Listed {
        Place::of(repo, folder)?.records(repo)
    }

    /// The records in a folder `ops/`.
    pub(super) fn below(repo: &Repo, ops: &Oid) -> Listed {
        Place::Files(ops.clone()).records(repo)
    }

    /// The records of two folders, but for what both of them have in one place: that costs no look.
    pub(super) fn differing(
        repo: &Repo,
        before: Option<&Entry>,
        after: Option<&Entry>,
    ) -> (Listed, Listed) {
        let nothing = || Ok(Records::default());
        if before == after {
            return (nothing(), nothing());
        }
        match (Place::of(repo, before), Place::of(repo, after)) {
            (Ok(Place::Files(before)), Ok(Place::Files(after))) => {
                if before == after {
                    return (nothing(), nothing());
                }
                let shared = shared(repo, &before, &after).unwrap_or_default();
                (
                    listed(repo, &before, &shared),
                    listed(repo, &after, &shared),
                )
            }
            (before, after) => (
                before.and_then(|place| place.records(repo)),
                after.and_then(|place| place.records(repo)),
            ),
        }
    }

    /// Number of the records, without the signatures beside them.
    pub(super) fn len(&self) -> usize {
        self.names().filter(|name| !is_signature(name)).count()
    }

    /// Number of the signatures.
    pub(super) fn signed(&self) -> usize {
        self.names().filter(|name| is_signature(name)).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Records that are files, with their blobs.
    pub(super) fn files(&self) -> impl Iterator<Item = (&String, &Oid)> {
        self.0.iter().filter_map(|(name, content)| match content {
            Content::File(blob) => Some((name, blob)),
            Content::Line(_) => None,
        })
    }

    pub(super) fn add(&mut self, lost: Lost) {
        self.0.insert(lost.name, lost.was);
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|name, _| keep(name));
    }

    /// Tells whether a record is here as it was. A signature may have another name since, beside the same record.
    fn holds(&self, repo: &Repo, name: &str, was: &Content) -> bool {
        if let Some(now) = self.0.get(name)
            && is_same(repo, was, now)
        {
            return true;
        }
        let Some(record) = record_of(name) else {
            return false;
        };
        let beside = self.0.range(record.to_owned()..);
        let mut beside = beside.take_while(|(one, _)| one.starts_with(record));
        beside.any(|(one, now)| record_of(one) == Some(record) && is_same(repo, was, now))
    }

    /// Tells whether another set has what one lost: a record by its name, a signature as it was.
    pub(super) fn has_again(&self, repo: &Repo, lost: &Lost) -> bool {
        if is_signature(&lost.name) {
            self.holds(repo, &lost.name, &lost.was)
        } else {
            self.has(&lost.name)
        }
    }

    /// Records that another set lacks, or has otherwise.
    pub(super) fn lost(&self, repo: &Repo, after: &Records) -> Vec<Lost> {
        let mut found = Vec::new();
        for (name, was) in &self.0 {
            if after.holds(repo, name, was) {
                continue;
            }
            let how = if after.has(name) {
                How::Changed
            } else {
                How::Gone
            };
            found.push(Lost {
                name: name.clone(),
                was: was.clone(),
                how,
            });
        }
        found
    }
}

impl Lost {
    /// Tells whether the file was the record that its name says: a file that was no record may go. A file that cannot
    /// be read is taken at its name.
    pub(super) fn was_record(&self, repo: &Repo) -> bool {
        match &self.was {
            Content::Line(_) => true,
            Content::File(blob) if is_signature(&self.name) => {
                signatures::is_of(repo, &self.name, blob)
            }
            Content::File(blob) => is_record(repo, &self.name, blob),
        }
    }
}

/// Test for the name of a signature's file.
pub(super) fn is_signature(name: &str) -> bool {
    record_of(name).is_some()
}

/// The operation that a record's file has, or that a signature is about; nothing where it cannot be read.
pub(super) fn operation_of(repo: &Repo, name: &str, blob: &Oid) -> Option<Operation> {
    let bytes = repo.read_blob(blob).ok()?;
    if is_signature(name) {
        let signed = Signed::parse(&bytes, name).ok()?;
        return Some(signed.statement(name).ok()?.operation);
    }
    Operation::parse(&bytes, name, blob).ok()
}

/// Tells whether a file is the record that its name says.
pub(super) fn is_record(repo: &Repo, name: &str, blob: &Oid) -> bool {
    let id = name
        .strip_suffix(ENDING)
        .and_then(|name| Some(name.split_once('-')?.1));
    let is_digest =
        |id: &&str| matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(id) = id.filter(is_digest) {
        return id == blob.as_str();
    }
    let Ok(bytes) = repo.read_blob(blob) else {
        return true;
    };
    match Operation::parse(&bytes, name, blob) {
        Ok(op) => op.file_name() == name,
        Err(failure) => failure.code == Code::FormatNewer,
    }
}

/// Place of the records of an entity.
enum Place {
    Nowhere,
    Files(Oid),
    /// Sealed records, and the signatures about them.
    Sealed(Oid, Option<Oid>),
}

impl Place {
    fn of(repo: &Repo, folder: Option<&Entry>) -> Result<Self, Unreadable> {
        let Some(folder) = folder.filter(|folder| folder.kind == EntryKind::Tree) else {
            return Ok(Place::Nowhere);
        };
        if let Some(Sealed { ops, signatures }) =
            sealed::of(repo, &folder.id).map_err(Unreadable)?
        {
            return Ok(Place::Sealed(ops, signatures));
        }
        let ops = repo.entry_at(&folder.id, layout::OPS).map_err(Unreadable)?;
        Ok(match ops {
            Some(ops) if ops.kind == EntryKind::Tree => Place::Files(ops.id),
            _ => Place::Nowhere,
        })
    }

    fn records(&self, repo: &Repo) -> Listed {
        match self {
            Place::Nowhere => Ok(Records::default()),
            Place::Files(ops) => listed(repo, ops, &[]),
            Place::Sealed(blob, signed) => {
                let bytes = repo.read_blob(blob).map_err(Unreadable)?;
                let mut found = lines(repo, &bytes);
                if let Some(signed) = signed {
                    let bytes = repo.read_blob(signed).map_err(Unreadable)?;
                    let signed = signatures::sealed(repo, &bytes).map_err(Unreadable)?;
                    let signed = signed.into_iter();
                    found
                        .0
                        .extend(signed.map(|(name, said)| (name, Content::Line(said))));
                }
                Ok(found)
            }
        }
    }
}

/// Folders that two `ops/` share.
pub(crate) fn shared(repo: &Repo, one: &Oid, other: &Oid) -> Option<Vec<String>> {
    let one = fanout_folder::layout(repo, Fanout::Operations, one).ok()?;
    let other = fanout_folder::layout(repo, Fanout::Operations, other).ok()?;
    // A file beside the folders hides what lies in them.
    if !one.flat.is_empty() || !other.flat.is_empty() {
        return None;
    }
    let mut shared = one.folders;
    shared.retain(|folder| other.folders.contains(folder));
    Some(shared.into_iter().map(|(name, _)| name).collect())
}

/// The records in `ops/` and the signatures beside them, without those in some of its folders. Anything else that is not
/// named like one is none.
fn listed(repo: &Repo, ops: &Oid, without: &[String]) -> Listed {
    let files = ops::files_but(repo, ops, without).map_err(Unreadable)?;
    let is_record = |name: &str| name.ends_with(ENDING) || is_signature(name);
    let records = files.into_iter().filter(|held| is_record(&held.name));
    let records = records.map(|held| (held.name, Content::File(held.entry.id)));
    Ok(Records(records.collect()))
}

/// The records that were sealed into one file. Of two of one name readers take the first.
fn lines(repo: &Repo, sealed: &[u8]) -> Records {
    #[derive(Deserialize)]
    struct Name {
        seq: u64,
        op: String,
    }
    let mut records = Records::default();
    for line in sealed.split(|byte| *byte == b'\n') {
        let Ok(Name { seq, op }) = serde_json::from_slice(line) else {
            continue;
        };
        let Some(said) = said(repo, line) else {
            continue;
        };
        if let Slot::Vacant(slot) = records.0.entry(format!("{seq:08}-{op}.json")) {
            slot.insert(Content::Line(said));
        }
    }
    records
}

/// Digest of the content of a record, however it is written. A missing field and a null field are one.
fn said(repo: &Repo, bytes: &[u8]) -> Option<Oid> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    drop_nulls(&mut value);
    let bytes = serde_json::to_vec(&value).ok()?;
    repo.hash_blob(&bytes).ok()
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn is_same(repo: &Repo, was: &Content, now: &Content) -> bool {
    match (was, now) {
        (Content::File(was), Content::File(now)) | (Content::Line(was), Content::Line(now)) => {
            was == now
        }
        (Content::File(file), Content::Line(line)) | (Content::Line(line), Content::File(file)) => {
            file == line
                || match repo.read_blob(file) {
                    Ok(bytes) => said(repo, &bytes).as_ref() == Some(line),
                    // One that cannot be read is taken at its name.
                    Err(_) => true,
                }
        }
    }
}
