//! Blobs, trees and commits: read by id, written without an index, a worktree or a checkout. What is
//! written stays in memory until `pack` puts it on disk.

use super::failed;
use super::pending::{commit_bytes, commit_info};
use super::repo::{Identity, Repo, oid, person, rfc3339};
use super::trees::Draft;
use loopx_base::commit_object;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{Oid, Person};
use loopx_base::trailers;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    Blob,
    Tree,
    /// A symlink, a submodule: nothing that this program writes.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: Oid,
    pub kind: EntryKind,
}

impl Entry {
    pub fn blob(id: Oid) -> Self {
        Entry {
            id,
            kind: EntryKind::Blob,
        }
    }

    pub fn tree(id: Oid) -> Self {
        Entry {
            id,
            kind: EntryKind::Tree,
        }
    }
}

/// An entry of a tree as it is stored, whatever its name and mode are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawEntry {
    pub mode: Vec<u8>,
    pub name: Vec<u8>,
    pub id: Oid,
}

impl RawEntry {
    pub fn is_tree(&self) -> bool {
        matches!(self.mode.as_slice(), b"40000" | b"040000")
    }

    /// Key by which git sorts: a folder as if its name ended in a slash.
    pub fn key(&self) -> Vec<u8> {
        let end: &[u8] = if self.is_tree() { b"/" } else { b"" };
        [&self.name, end].concat()
    }
}

/// A commit, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    pub id: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub author: Person,
    pub committer: Person,
    /// RFC 3339, the committer's.
    pub at: String,
    /// RFC 3339, the author's: a rebase keeps it.
    pub authored: String,
    /// Message of the commit; lossy where it is not UTF-8.
    pub message: String,
}

impl CommitInfo {
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// The values of a trailer, in order.
    pub fn trailer(&self, key: &str) -> Vec<&str> {
        trailers::values(&self.message, key)
    }
}

impl Repo {
    /// Compares each object that is read from here on with its name: for whoever judges what is stored, and whoever
    /// puts it into another place of which it may be the only copy.
    pub fn compare_hashes(&self) {
        git2::opts::strict_hash_verification(true);
        self.large_blobs.forget();
    }

    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        match self.large_blobs.hashed(bytes) {
            Some(id) => Ok(self.write_hashed(id, git2::ObjectType::Blob, bytes.to_vec())),
            None => self.write(git2::ObjectType::Blob, bytes.to_vec()),
        }
    }

    /// Writes a blob of which nobody needs the bytes any more: a large one is not in memory twice.
    pub fn store_blob(&self, bytes: Vec<u8>) -> Result<Oid> {
        let id = self.hash_blob(&bytes)?;
        Ok(self.write_hashed(id, git2::ObjectType::Blob, bytes))
    }

    /// Writes a blob whose id somebody found out already, as [`Repo::store_blob`] does.
    pub fn store_blob_as(&self, id: &Oid, bytes: Vec<u8>) {
        self.write_hashed(id.clone(), git2::ObjectType::Blob, bytes);
    }

    /// The id that these bytes have as a blob here, without writing it.
    pub fn hash_blob(&self, bytes: &[u8]) -> Result<Oid> {
        if let Some(id) = self.large_blobs.hashed(bytes) {
            return Ok(id);
        }
        let format = self.inner.format();
        let id = oid(
            git2::Oid::hash_object_ext(git2::ObjectType::Blob, bytes, format)
                .map_err(|error| failed(&error, "hash a blob"))?,
        )?;
        self.large_blobs.was_hashed(&id, bytes);
        Ok(id)
    }

    /// The SHA-1 id of these bytes as a blob: one that is the same in every repository.
    pub fn sha1_of(bytes: &[u8]) -> Result<Oid> {
        oid(git2::Oid::hash_object(git2::ObjectType::Blob, bytes)
            .map_err(|error| failed(&error, "hash a text"))?)
    }

    /// The id that a file's bytes have as a blob here, without writing it and without filters.
    pub fn hash_file(&self, path: &std::path::Path) -> Result<Oid> {
        let format = self.inner.format();
        oid(
            git2::Oid::hash_file_ext(git2::ObjectType::Blob, path, format)
                .map_err(|error| failed(&error, format!("hash {}", path.display())))?,
        )
    }

    /// The id of the tree that has these files at these paths, without writing it.
    pub fn tree_id<'a>(&self, files: impl IntoIterator<Item = (&'a str, &'a Oid)>) -> Result<Oid> {
        let mut entries: BTreeMap<Vec<u8>, (&[u8], Oid)> = BTreeMap::new();
        let mut folders: BTreeMap<&str, Vec<(&str, &Oid)>> = BTreeMap::new();
        for (path, blob) in files {
            match path.split_once('/') {
                Some((folder, rest)) => folders.entry(folder).or_default().push((rest, blob)),
                None => {
                    entries.insert(path.into(), (b"100644", blob.clone()));
                }
            }
        }
        for (folder, files) in folders {
            // git sorts a folder as if its name ended in a slash.
            entries.insert(
                format!("{folder}/").into(),
                (b"40000", self.tree_id(files)?),
            );
        }
        let mut bytes = Vec::new();
        for (name, (mode, id)) in &entries {
            let name = name.strip_suffix(b"/").unwrap_or(name);
            bytes.extend([mode, &b" "[..], name, b"\0"].concat());
            bytes.extend(binary(id));
        }
        let format = self.inner.format();
        oid(
            git2::Oid::hash_object_ext(git2::ObjectType::Tree, &bytes, format)
                .map_err(|error| failed(&error, "hash a tree"))?,
        )
    }

    /// The bytes of a commit object, as they are stored.
    pub fn commit_bytes(&self, id: &Oid) -> Result<Vec<u8>> {
        let commit = git2::ObjectType::Commit;
        self.inner.with_object(id, commit, <[u8]>::to_vec)
    }

    /// Kind of an object, without reading it; `None` where the object is not here.
    pub fn object_kind(&self, id: &Oid) -> Result<Option<EntryKind>> {
        let kind = self.inner.kind(id)?;
        Ok(kind.map(|kind| match kind {
            git2::ObjectType::Blob => EntryKind::Blob,
            git2::ObjectType::Tree => EntryKind::Tree,
            _ => EntryKind::Other,
        }))
    }

    /// Size of a blob in bytes; the header is read and not the content.
    pub fn blob_size(&self, id: &Oid) -> Result<u64> {
        self.inner.blob_size(id)
    }

    /// The entry at a path below a tree.
    pub fn entry_at(&self, tree: &Oid, path: &str) -> Result<Option<Entry>> {
        let mut folder = tree.clone();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            match self.entry_named(&folder, name)? {
                Some(entry) if names.peek().is_none() => return Ok(Some(entry)),
                Some(entry) if entry.kind == EntryKind::Tree => folder = entry.id,
                _ => break,
            }
        }
        Ok(None)
    }

    /// The bytes of the blob at a path below a tree.
    pub fn blob_at(&self, tree: &Oid, path: &str) -> Result<Option<Vec<u8>>> {
        match self.entry_at(tree, path)? {
            Some(entry) if entry.kind == EntryKind::Blob => self.read_blob(&entry.id).map(Some),
            _ => Ok(None),
        }
    }

    /// Says that everything below a tree will be read: a partial clone fetches what is missing at once.
    pub fn will_read(&self, tree: &Oid) -> Result<()> {
        self.inner.will_read(tree)
    }

    /// Every blob below a tree with its path, `/` between folders.
    pub fn walk_blobs(&self, tree: &Oid) -> Result<Vec<(String, Oid)>> {
        let mut found = Vec::new();
        let mut folders = vec![(String::new(), tree.clone())];
        while let Some((prefix, id)) = folders.pop() {
            for (name, entry) in self.list_tree(&id)? {
                let path = format!("{prefix}{name}");
                match entry.kind {
                    EntryKind::Blob => found.push((path, entry.id)),
                    EntryKind::Tree => folders.push((format!("{path}/"), entry.id)),
                    EntryKind::Other => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The tree with some paths set or removed, everything else kept. Folders that become empty go.
    /// Only the changed folders are written.
    pub fn edit_tree(
        &self,
        base: Option<&Oid>,
        edits: &BTreeMap<String, Option<Entry>>,
    ) -> Result<Oid> {
        match self.edited_tree(base, edits)? {
            Some(id) => Ok(id),
            None => self.empty_tree(),
        }
    }

    /// Tree with some paths set or removed, as `edit_tree` makes it; `None` where the edits leave no entry.
    pub fn edited_tree(
        &self,
        base: Option<&Oid>,
        edits: &BTreeMap<String, Option<Entry>>,
    ) -> Result<Option<Oid>> {
        let edits: Vec<(&str, Option<&Entry>)> = edits
            .iter()
            .map(|(path, entry)| (path.as_str(), entry.as_ref()))
            .collect();
        self.edit_folder(base, &edits)
    }

    pub fn empty_tree(&self) -> Result<Oid> {
        self.write(git2::ObjectType::Tree, Vec::new())
    }

    /// `edits` are sorted by path, so that what is below one folder stands together.
    fn edit_folder(
        &self,
        base: Option<&Oid>,
        edits: &[(&str, Option<&Entry>)],
    ) -> Result<Option<Oid>> {
        let mut draft = match base {
            Some(id) => self.inner.with_tree(id, |bytes| Draft::of(bytes, id))??,
            None => Draft::default(),
        };
        let mut folders: BTreeMap<&str, Vec<(&str, Option<&Entry>)>> = BTreeMap::new();
        for (path, entry) in edits {
            match path.split_once('/') {
                Some((folder, rest)) => folders.entry(folder).or_default().push((rest, *entry)),
                None => self.set_entry(&mut draft, path, *entry)?,
            }
        }
        for (folder, edits) in folders {
            let known = draft.folder(folder)?;
            let edited = self.edit_folder(known.as_ref(), &edits)?.map(Entry::tree);
            self.set_entry(&mut draft, folder, edited.as_ref())?;
        }
        if draft.is_empty() {
            Ok(None)
        } else {
            let bytes = draft.bytes();
            self.write(git2::ObjectType::Tree, bytes).map(Some)
        }
    }

    fn set_entry(&self, draft: &mut Draft, name: &str, entry: Option<&Entry>) -> Result<()> {
        if let Some(entry) = entry {
            self.require_here(&entry.id)?;
        }
        draft.set(name, entry)
    }

    /// Refuses to name an object that is not here.
    pub(super) fn require_here(&self, id: &Oid) -> Result<()> {
        self.inner.raw(id)?;
        if self.inner.contains(id)? {
            return Ok(());
        }
        if self.is_shallow() {
            return Err(super::beyond_the_edge(format!("write what names {id}")));
        }
        Err(Failure::internal(
            Code::ObjectMissing,
            format!("the object {id} is not here, and is named by one that would be written"),
        )
        .help("git fsck"))
    }

    pub fn commit_info(&self, id: &Oid) -> Result<CommitInfo> {
        if let Some(info) = self
            .inner
            .with_written_commit(id, |bytes| commit_info(id, bytes))
        {
            return info;
        }
        let commit = self.inner.find_commit(id)?;
        Ok(CommitInfo {
            id: id.clone(),
            tree: oid(commit.tree_id())?,
            parents: commit.parent_ids().map(oid).collect::<Result<_>>()?,
            author: person(&commit.author()),
            committer: person(&commit.committer()),
            at: rfc3339(commit.committer().when()),
            authored: rfc3339(commit.author().when()),
            message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
        })
    }

    /// Writes a commit object; no ref moves.
    pub fn write_commit(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        identity: &Identity,
    ) -> Result<Oid> {
        self.commit_as(
            tree,
            parents,
            message,
            &identity.author_signature,
            &identity.committer_signature,
        )
    }

    /// Writes a commit object with git's SSH signature, by the key that git signs with; no ref moves.
    pub fn write_signed_commit(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        identity: &Identity,
    ) -> Result<Oid> {
        for id in parents.iter().chain([tree]) {
            self.require_here(id)?;
        }
        let (author, committer) = (&identity.author_signature, &identity.committer_signature);
        let bytes = commit_bytes(tree, parents, author, committer, message)?;
        let armour = self.sign_ssh("git", &bytes)?;
        let header = commit_object::header(tree.as_str().len());
        let bytes = commit_object::signed(&bytes, header, armour.as_bytes());
        self.write(git2::ObjectType::Commit, bytes)
    }

    /// Writes a commit whose id is the same everywhere: fixed author, date and message.
    pub fn write_constant_commit(&self, tree: &Oid, message: &str) -> Result<Oid> {
        let signature =
            git2::Signature::new("git loopx", "loopx@localhost", &git2::Time::new(0, 0))
                .map_err(|error| failed(&error, "make the constant signature"))?;
        self.commit_as(tree, &[], message, &signature, &signature)
    }

    fn commit_as(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        author: &git2::Signature<'_>,
        committer: &git2::Signature<'_>,
    ) -> Result<Oid> {
        for id in parents.iter().chain([tree]) {
            self.require_here(id)?;
        }
        let bytes = commit_bytes(tree, parents, author, committer, message)?;
        self.write(git2::ObjectType::Commit, bytes)
    }

    /// Tells whether the object is here.
    pub fn contains(&self, id: &Oid) -> Result<bool> {
        self.inner.contains(id)
    }

    /// Writes a commit with the author and message of another, and its committer where no other is named.
    /// Each line of `trailers` goes below that message.
    pub fn write_commit_like(
        &self,
        like: &Oid,
        tree: &Oid,
        parents: &[Oid],
        identity: Option<&Identity>,
        trailers: &[String],
    ) -> Result<Oid> {
        let known = self.inner.find_commit(like)?;
        let message = String::from_utf8_lossy(known.message_bytes()).into_owned();
        self.commit_again(&known, (tree, parents), message, identity, trailers)
    }

    /// Writes a commit with author, committer and dates of another, and a message of its own.
    pub fn write_commit_saying(
        &self,
        like: &Oid,
        tree: &Oid,
        parents: &[Oid],
        message: String,
        trailers: &[String],
    ) -> Result<Oid> {
        let known = self.inner.find_commit(like)?;
        self.commit_again(&known, (tree, parents), message, None, trailers)
    }

    fn commit_again(
        &self,
        known: &git2::Commit<'_>,
        (tree, parents): (&Oid, &[Oid]),
        message: String,
        identity: Option<&Identity>,
        trailers: &[String],
    ) -> Result<Oid> {
        let message = with_trailers(message, trailers);
        let author = known.author().to_owned();
        let committer = match identity {
            Some(identity) => identity.committer_signature.clone(),
            None => known.committer().to_owned(),
        };
        self.commit_as(tree, parents, &message, &author, &committer)
    }

    /// Tells whether `ancestor` is `commit` or reachable from it.
    pub fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool> {
        if ancestor == commit {
            return Ok(true);
        }
        self.inner.descends(commit, ancestor)
    }

    /// The commits among `wanted` that are `tip` or reachable from it, by one walk that ends once all are found, and the
    /// failure of a walk that came to no end: of the others it says nothing.
    pub fn reached(&self, tip: &Oid, wanted: &BTreeSet<Oid>) -> (BTreeSet<Oid>, Result<()>) {
        let mut found = BTreeSet::new();
        let whole = self.reach(tip, wanted, &mut found);
        (found, whole)
    }

    fn reach(&self, tip: &Oid, wanted: &BTreeSet<Oid>, found: &mut BTreeSet<Oid>) -> Result<()> {
        let mut left = wanted.clone();
        if left.remove(tip) {
            found.insert(tip.clone());
        }
        if let (Some(last), 1) = (left.first(), left.len()) {
            found.extend(self.is_ancestor(last, tip)?.then(|| last.clone()));
            return Ok(());
        }
        if left.is_empty() {
            return Ok(());
        }
        for commit in self.inner.walk_lazily(tip)? {
            let commit = commit?;
            if left.remove(&commit) {
                found.insert(commit);
            }
            if left.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The commits reachable from `to` and from none of `hidden`, newest first, at most `limit`.
    pub fn range(&self, to: &Oid, hidden: &[Oid], limit: usize) -> Result<Vec<Oid>> {
        self.inner.walk(to, hidden)?.take(limit).collect()
    }
}

/// A message with more trailers: in its last paragraph where that has some already.
fn with_trailers(message: String, trailers: &[String]) -> String {
    if trailers.is_empty() {
        return message;
    }
    let body = message.trim_end();
    let last = body.rsplit_once("\n\n").map_or("", |(_, last)| last);
    let has_some = !last.is_empty() && last.lines().all(|line| line.contains(": "));
    let space = if has_some { "\n" } else { "\n\n" };
    format!("{body}{space}{}\n", trailers.join("\n"))
}

/// An id as tree objects have it: half as many bytes as it has hexadecimal digits.
pub(super) fn binary(id: &Oid) -> impl Iterator<Item = u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => byte.to_ascii_lowercase().wrapping_sub(b'a' - 10),
    };
    id.as_str()
        .as_bytes()
        .chunks_exact(2)
        .map(move |pair| digit(pair[0]) << 4 | digit(pair[1]))
}
