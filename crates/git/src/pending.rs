//! Objects that were written and that nobody but this process has. libgit2 looks at the packs on the disk
//! again before it takes an object, to see whether somebody has it: a command that writes ten of them would
//! read that folder ten times. So they are kept here, by the ids that follow from their bytes, and go to a
//! pack from here; libgit2 is given them only where it has to read one itself.

use super::backend::signature;
use super::failed;
use super::objects::CommitInfo;
use super::repo::{oid, person, rfc3339};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use std::cell::{Ref, RefCell};
use std::collections::HashMap;

/// Size in bytes from which on an object is forgotten once a pack has it.
const LARGE: usize = 8 * 1024 * 1024;

/// An object as it was written.
pub(super) struct Written {
    pub(super) kind: git2::ObjectType,
    pub(super) bytes: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Pending {
    /// Objects that nobody else has.
    new: RefCell<HashMap<Oid, Written>>,
    /// Objects that are in a pack since, which libgit2 may not have seen: they are read from here. Of large objects libgit2
    /// looks for the pack.
    packed: RefCell<HashMap<Oid, Written>>,
}

impl Pending {
    /// Keeps an object; gives its id.
    pub(super) fn add(
        &self,
        format: git2::ObjectFormat,
        kind: git2::ObjectType,
        bytes: Vec<u8>,
    ) -> Result<Oid> {
        let hashed = git2::Oid::hash_object_ext(kind, &bytes, format);
        let id = oid(hashed.map_err(|error| failed(&error, format!("write a {kind}")))?)?;
        self.add_hashed(&id, kind, bytes);
        Ok(id)
    }

    /// Keeps an object under the id that follows from its bytes.
    pub(super) fn add_hashed(&self, id: &Oid, kind: git2::ObjectType, bytes: Vec<u8>) {
        let mut new = self.new.borrow_mut();
        new.insert(id.clone(), Written { kind, bytes });
    }

    /// An object that this process wrote.
    pub(super) fn get(&self, id: &Oid) -> Option<Ref<'_, Written>> {
        let find = |all: &RefCell<HashMap<Oid, Written>>| all.borrow().contains_key(id);
        let place = [&self.new, &self.packed]
            .into_iter()
            .find(|all| find(all))?;
        Ref::filter_map(place.borrow(), |all| all.get(id)).ok()
    }

    /// Takes an object out that nobody else has, where it is a large one.
    pub(super) fn take_large(&self, id: &Oid) -> Option<Written> {
        let mut new = self.new.borrow_mut();
        let is_large = new.get(id).is_some_and(|one| one.bytes.len() > LARGE);
        if is_large { new.remove(id) } else { None }
    }

    /// Tells whether nobody else has the object.
    pub(super) fn is_new(&self, id: &Oid) -> bool {
        self.new.borrow().contains_key(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.borrow().is_empty()
    }

    /// A pack has them now.
    pub(super) fn are_packed(&self, ids: &[Oid]) {
        let (mut new, mut packed) = (self.new.borrow_mut(), self.packed.borrow_mut());
        let moved = ids.iter().filter_map(|id| new.remove_entry(id));
        packed.extend(moved);
    }

    /// Gives away all that nobody else has.
    pub(super) fn take(&self) -> HashMap<Oid, Written> {
        self.new.take()
    }
}

/// The ids in the header of a commit.
pub(super) fn commit_names(bytes: &[u8]) -> Result<Vec<Oid>> {
    let header = String::from_utf8_lossy(bytes);
    let named = header.lines().map_while(|line| {
        let (word, id) = line.split_once(' ')?;
        matches!(word, "tree" | "parent").then_some(id)
    });
    named.map(Oid::parse).collect()
}

/// Content of a commit that was made by [`commit_bytes`].
pub(super) fn commit_info(id: &Oid, bytes: &[u8]) -> Result<CommitInfo> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (header, message) = bytes.split_at(end.unwrap_or(bytes.len()));
    let person_of = |word: &[u8]| {
        let mut lines = header.split(|byte| *byte == b'\n');
        let line = lines.find_map(|line| line.strip_prefix(word));
        line.and_then(signature).ok_or_else(|| {
            Failure::internal(Code::GitFailed, format!("the commit {id} names nobody"))
        })
    };
    let (author, committer) = (person_of(b"author ")?, person_of(b"committer ")?);
    let mut named = commit_names(header)?.into_iter();
    let tree = named.next().ok_or_else(|| {
        Failure::internal(Code::GitFailed, format!("the commit {id} names no tree"))
    })?;
    Ok(CommitInfo {
        id: id.clone(),
        tree,
        parents: named.collect(),
        author: person(&author),
        committer: person(&committer),
        at: rfc3339(committer.when()),
        authored: rfc3339(author.when()),
        message: String::from_utf8_lossy(message.get(2..).unwrap_or_default()).into_owned(),
    })
}

/// The bytes of a commit object.
pub(super) fn commit_bytes(
    tree: &Oid,
    parents: &[Oid],
    author: &git2::Signature<'_>,
    committer: &git2::Signature<'_>,
    message: &str,
) -> Result<Vec<u8>> {
    if message.contains('\0') {
        let what = "a message of a commit has no zero byte in it";
        return Err(Failure::internal(Code::GitFailed, what));
    }
    let mut bytes = format!("tree {tree}\n").into_bytes();
    for parent in parents {
        bytes.extend(format!("parent {parent}\n").into_bytes());
    }
    for (word, person) in [("author", author), ("committer", committer)] {
        let when = person.when();
        let (hours, minutes) = (
            when.offset_minutes().abs() / 60,
            when.offset_minutes().abs() % 60,
        );
        bytes.extend(format!("{word} ").into_bytes());
        bytes.extend(person.name_bytes());
        bytes.extend(b" <");
        bytes.extend(person.email_bytes());
        let time = format!(
            "> {} {}{hours:02}{minutes:02}\n",
            when.seconds(),
            when.sign()
        );
        bytes.extend(time.into_bytes());
    }
    bytes.push(b'\n');
    bytes.extend(message.as_bytes());
    Ok(bytes)
}
