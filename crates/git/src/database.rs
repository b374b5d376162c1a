//! The object database: the part of libgit2 that is right in every repository. It reads by id and adds
//! objects; refs, HEAD, configuration and index are out of its reach, so that they cannot be asked where
//! libgit2 would answer wrongly.
//!
//! In a partial clone an object may be at the remote only. A command lets git fetch it, many at once
//! where it is known what will be read; a hook never waits for a network and fails instead.

use super::backend::Git;
use super::loose::Loose;
use super::pending::{Pending, commit_names};
use super::repo::{oid, raw};
use super::{failed, no_temporary_folder};
use loopx_base::commit_object;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_base::tree_change::Change;
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// Bytes of a pack that are written at once.
const GATHERED: usize = 64 << 10;

/// libgit2's repository without its refs.
pub(super) struct Database {
    repo: Rc<git2::Repository>,
    objects: PathBuf,
    loose: Rc<Loose>,
    git: Git,
    pending: Pending,
    /// Set when libgit2 takes objects into memory.
    in_memory: Cell<bool>,
    /// Trees that will be read to the leaves: fetched whole at the first miss.
    expected: RefCell<Vec<git2::Oid>>,
    /// Objects that only this process has.
    aside: OnceCell<TempDir>,
}

impl Database {
    pub(super) fn new(repo: Rc<git2::Repository>, objects: PathBuf, git: Git) -> Self {
        Database {
            repo,
            loose: Rc::new(Loose::new(&objects, git)),
            objects,
            git,
            pending: Pending::default(),
            in_memory: Cell::new(false),
            expected: RefCell::default(),
            aside: OnceCell::new(),
        }
    }

    /// Reader of loose objects, shared by all readers: an object is checked once, whoever reads it.
    pub(super) fn loose(&self) -> Rc<Loose> {
        Rc::clone(&self.loose)
    }

    pub(super) fn format(&self) -> git2::ObjectFormat {
        self.repo.object_format()
    }

    pub(super) fn raw(&self, id: &Oid) -> Result<git2::Oid> {
        raw(id, self.format())
    }

    /// Folder in which objects are written: the environment's folder, as git does in a quarantine.
    pub(super) fn objects_dir(&self) -> PathBuf {
        match loopx_base::env::var_os(loopx_base::env::GIT_OBJECT_DIRECTORY) {
            Some(dir) => PathBuf::from(dir),
            None => self.objects.clone(),
        }
    }

    /// A folder for objects that only this process has, and reads like all others: the repository may take none.
    pub(super) fn aside(&self) -> Result<PathBuf> {
        if let Some(dir) = self.aside.get() {
            return Ok(dir.path().to_path_buf());
        }
        let made = tempfile::Builder::new().prefix("git-loopx-").tempdir();
        let dir = made.map_err(|error| no_temporary_folder("look at uncommitted work", &error))?;
        let path = dir.path().to_path_buf();
        let doing = |error: git2::Error| failed(&error, "open the object database");
        let odb = self.repo.odb().map_err(doing)?;
        odb.add_disk_alternate(&path.to_string_lossy())
            .map_err(doing)?;
        self.aside.get_or_init(|| dir);
        Ok(path)
    }

    /// Writes an object, which stays in memory until a pack has it.
    pub(super) fn add(&self, kind: git2::ObjectType, bytes: Vec<u8>) -> Result<Oid> {
        self.pending.add(self.format(), kind, bytes)
    }

    /// Adds an object whose id is known.
    pub(super) fn add_hashed(&self, id: &Oid, kind: git2::ObjectType, bytes: Vec<u8>) {
        self.pending.add_hashed(id, kind, bytes);
    }

    /// Notes that these objects are in a pack on the disk.
    pub(super) fn are_packed(&self, ids: &[Oid]) {
        self.pending.are_packed(ids);
    }

    /// Gives the written objects to libgit2, in memory.
    fn settle(&self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let doing = |error: git2::Error| failed(&error, "open the object database");
        let odb = self.repo.odb().map_err(doing)?;
        if !self.in_memory.replace(true) {
            // The repository owns the backend; our handle of it is not needed.
            odb.add_new_mempack_backend(1000).map_err(doing)?;
        }
        for written in self.pending.take().into_values() {
            odb.write(written.kind, &written.bytes).map_err(doing)?;
        }
        Ok(())
    }

    /// Ids that an object names: a commit its tree and parents, a tree its entries.
    pub(super) fn named_by(&self, id: &Oid) -> Result<Vec<Oid>> {
        let doing = |error: git2::Error| self.failed(&error, format!("read {id}"));
        if let Some(written) = self.pending.get(id) {
            return match written.kind {
                git2::ObjectType::Commit => commit_names(&written.bytes),
                git2::ObjectType::Tree => super::trees::ids(&written.bytes, id.as_str().len() / 2),
                _ => Ok(Vec::new()),
            };
        }
        let wanted = self.raw(id)?;
        let odb = self.repo.odb().map_err(doing)?;
        // A blob names nothing, and need not be read to know that.
        if odb.read_header(wanted).map_err(doing)?.1 == git2::ObjectType::Blob {
            return Ok(Vec::new());
        }
        self.loose.check(id)?;
        let object = self.repo.find_object(wanted, None).map_err(doing)?;
        if let Some(commit) = object.as_commit() {
            std::iter::once(commit.tree_id())
                .chain(commit.parent_ids())
                .map(oid)
                .collect()
        } else if let Some(tree) = object.as_tree() {
            tree.iter().map(|entry| oid(entry.id())).collect()
        } else {
            Ok(Vec::new())
        }
    }

    /// Writes these objects as a pack with its index into a folder. Gives the name without its ending.
    pub(super) fn write_pack(&self, ids: &[Oid], folder: &Path) -> Result<PathBuf> {
        let doing = |error: git2::Error| failed(&error, "write a pack");
        if !ids.iter().all(|id| self.pending.is_new(id)) {
            // Where it came from may be taken away for the new pack.
            git2::opts::strict_hash_verification(true);
        }
        let bare = if ids.iter().any(|id| self.pending.is_new(id)) {
            Some(self.with_only(ids)?)
        } else {
            self.without_refs().map_err(doing)?
        };
        let repo = bare.as_ref().unwrap_or(&self.repo);
        let mut builder = repo.packbuilder().map_err(doing)?;
        for id in ids {
            builder.insert_object(self.raw(id)?, None).map_err(doing)?;
        }
        let mut indexer =
            git2::Indexer::new_ext(None, folder, 0o444, false, self.format()).map_err(doing)?;
        let mut written = Ok(());
        // libgit2 hands over each header and each piece by itself, and the indexer maps the file anew for each.
        let mut gathered = Vec::with_capacity(GATHERED);
        let fed = builder.foreach(|part| {
            if gathered.len() + part.len() > GATHERED {
                written = indexer.write_all(&gathered);
                gathered.clear();
            }
            gathered.extend_from_slice(part);
            written.is_ok()
        });
        let written = written.and_then(|()| indexer.write_all(&gathered));
        // Where writing stopped it, that says why; libgit2 only says that it was stopped.
        written.map_err(|error| super::unwritable(folder, &error))?;
        fed.map_err(doing)?;
        let name = indexer.commit().map_err(doing)?;
        Ok(folder.join(format!("pack-{name}")))
    }

    /// A repository in memory that has these objects and nothing else.
    fn with_only(&self, ids: &[Oid]) -> Result<git2::Repository> {
        let doing = |error: git2::Error| failed(&error, "write a pack");
        let odb = git2::Odb::new_ext(self.format()).map_err(doing)?;
        odb.add_new_mempack_backend(1).map_err(doing)?;
        for id in ids {
            // A large object would be in memory twice, here and there, and once more as libgit2 reads it for the pack.
            if let Some(large) = self.pending.take_large(id) {
                odb.write(large.kind, &large.bytes).map_err(doing)?;
                continue;
            }
            match self.pending.get(id) {
                Some(written) => odb.write(written.kind, &written.bytes).map_err(doing)?,
                None => self.find(id, "object", |repo, id| {
                    let known = repo.odb()?;
                    let object = known.read(id)?;
                    odb.write(object.kind(), object.data())
                })?,
            };
        }
        let repo = git2::Repository::from_odb(odb).map_err(doing)?;
        let settings = self.repo.config().and_then(|mut config| config.snapshot());
        repo.set_config(&settings.map_err(doing)?).map_err(doing)?;
        Ok(repo)
    }

    /// Repository of these objects and settings without refs: libgit2 reads all refs that there are before it writes a
    /// pack, to put what is tagged first. `None` where libgit2 would take a file of this folder for a list of refs.
    fn without_refs(&self) -> std::result::Result<Option<git2::Repository>, git2::Error> {
        if Path::new("packed-refs").exists() {
            return Ok(None);
        }
        let bare = git2::Repository::from_odb(self.repo.odb()?)?;
        bare.set_config(&self.repo.config()?.snapshot()?)?;
        Ok(Some(bare))
    }

    /// Adds settings for libgit2 alone, instead of those of an earlier file. Refs take the settings only before the
    /// first one is read.
    pub(super) fn add_settings(&self, file: &Path) -> bool {
        let config = self.repo.config();
        config
            .and_then(|mut config| {
                config.add_file(file, git2::ConfigLevel::App, true)?;
                // Read once: libgit2 looks at a file again for every value.
                self.repo.set_config(&config.snapshot()?)
            })
            .is_ok()
    }

    /// Tells whether the object is here.
    pub(super) fn contains(&self, id: &Oid) -> Result<bool> {
        if self.pending.get(id).is_some() {
            return Ok(true);
        }
        let Ok(id) = self.raw(id) else {
            return Ok(false);
        };
        let odb = self
            .repo
            .odb()
            .map_err(|error| failed(&error, "open the object database"))?;
        if odb.exists(id) {
            Ok(true)
        } else {
            self.loose.hidden().map_or(Ok(false), Err)
        }
    }

    /// [`failed`], where an object that is said to be missing may only be out of reach.
    fn failed(&self, error: &git2::Error, doing: impl std::fmt::Display) -> Failure {
        let hidden = match error.code() {
            git2::ErrorCode::NotFound => self.loose.hidden(),
            _ => None,
        };
        match hidden {
            Some(failure) => failure.context(doing),
            None if error.code() == git2::ErrorCode::NotFound => self.missing(error, doing),
            None => failed(error, doing),
        }
    }

    /// Failure for an object that is not here, with the lender or the shallow clone that does not have it.
    fn missing(&self, error: &git2::Error, doing: impl std::fmt::Display) -> Failure {
        if let Some(lender) = self.lost_lender() {
            let lender = lender.display();
            return failed(error, doing)
                .context(format!("objects are borrowed from {lender}, which is not there"))
                .help("put it back, or take its place out of objects/info/alternates once its objects are here");
        }
        if self.repo.is_shallow() {
            return super::beyond_the_edge(doing);
        }
        failed(error, doing).help("git fsck")
    }

    /// A folder whose objects this repository borrows, and that is not there.
    fn lost_lender(&self) -> Option<PathBuf> {
        let listed = std::fs::read_to_string(self.objects.join("info/alternates")).ok()?;
        let mut folders = listed.lines().filter(|line| !line.starts_with('#'));
        let lost = folders.find(|line| !line.is_empty() && !self.objects.join(line).is_dir())?;
        Some(self.objects.join(lost))
    }

    /// Refuses an object of which not even the header can be read. What a partial clone left out is no damage.
    pub(super) fn require_readable(&self, id: &Oid) -> Result<()> {
        if self.pending.get(id).is_some() {
            return Ok(());
        }
        self.loose.check(id)?;
        let wanted = self.raw(id)?;
        match self.repo.odb().and_then(|odb| odb.read_header(wanted)) {
            Err(error) if error.code() == git2::ErrorCode::NotFound && self.is_partial() => Ok(()),
            read => read
                .map(drop)
                .map_err(|error| self.failed(&error, format!("read {id}"))),
        }
    }

    /// Looks for packs that others wrote meanwhile.
    pub(super) fn look_again(&self) -> Result<()> {
        let odb = self.repo.odb().and_then(|odb| odb.refresh());
        odb.map_err(|error| failed(&error, "read the packs again"))
    }

    /// Takes the torn file of an object away that can be read all the same.
    pub(super) fn drop_torn(&self, id: &Oid) {
        self.loose.drop_torn(id);
    }

    pub(super) fn find_blob(&self, id: &Oid) -> Result<git2::Blob<'_>> {
        self.find(id, "blob", git2::Repository::find_blob)
    }

    pub(super) fn find_tree(&self, id: &Oid) -> Result<git2::Tree<'_>> {
        self.find(id, "tree", git2::Repository::find_tree)
    }

    /// Reads the bytes of a commit that this process wrote.
    pub(super) fn with_written_commit<T>(
        &self,
        id: &Oid,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        let written = self.pending.get(id)?;
        (written.kind == git2::ObjectType::Commit).then(|| read(&written.bytes))
    }

    /// The bytes of a blob.
    pub(super) fn blob_bytes(&self, id: &Oid) -> Result<Vec<u8>> {
        self.with_blob(id, <[u8]>::to_vec)
    }

    /// Reads the bytes of a blob.
    pub(super) fn with_blob<T>(&self, id: &Oid, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        if let Some(written) = self.pending.get(id)
            && written.kind == git2::ObjectType::Blob
        {
            return Ok(read(&written.bytes));
        }
        Ok(read(self.find_blob(id)?.content()))
    }

    /// Reads the bytes of a tree object, as they are stored.
    pub(super) fn with_tree<T>(&self, id: &Oid, read: impl Fn(&[u8]) -> T) -> Result<T> {
        self.with_object(id, git2::ObjectType::Tree, read)
    }

    /// Reads the bytes of an object of this kind.
    pub(super) fn with_object<T>(
        &self,
        id: &Oid,
        kind: git2::ObjectType,
        read: impl Fn(&[u8]) -> T,
    ) -> Result<T> {
        if let Some(written) = self.pending.get(id)
            && written.kind == kind
        {
            return Ok(read(&written.bytes));
        }
        self.find(id, kind.str(), |repo, id| {
            let odb = repo.odb()?;
            let object = odb.read(id)?;
            match object.kind() {
                found if found == kind => Ok(read(object.data())),
                other => Err(git2::Error::new(
                    git2::ErrorCode::NotFound,
                    git2::ErrorClass::Object,
                    format!("expected a {kind}, found a {other}"),
                )),
            }
        })
    }

    /// Kind of an object, from its header; `None` where the object is not here.
    pub(super) fn kind(&self, id: &Oid) -> Result<Option<git2::ObjectType>> {
        if let Some(written) = self.pending.get(id) {
            return Ok(Some(written.kind));
        }
        let wanted = self.raw(id)?;
        match self.repo.odb().and_then(|odb| odb.read_header(wanted)) {
            Ok((_, kind)) => Ok(Some(kind)),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                self.loose.hidden().map_or(Ok(None), Err)
            }
            Err(error) => Err(self.failed(&error, format!("read {id}"))),
        }
    }

    pub(super) fn find_commit(&self, id: &Oid) -> Result<git2::Commit<'_>> {
        self.find(id, "commit", git2::Repository::find_commit)
    }

    fn find<'r, T>(
        &'r self,
        id: &Oid,
        what: &str,
        find: impl Fn(&'r git2::Repository, git2::Oid) -> Result<T, git2::Error>,
    ) -> Result<T> {
        let wanted = self.raw(id)?;
        super::read_here("object-read", format_args!("read {what} {id}"))?;
        if self.pending.is_new(id) {
            self.settle()?;
        }
        self.loose.check(id)?;
        match find(&self.repo, wanted) {
            Err(error) if error.code() == git2::ErrorCode::NotFound && self.is_partial() => {
                self.fetch(id)?;
                find(&self.repo, wanted)
            }
            found => found,
        }
        .map_err(|error| self.failed(&error, format!("read {what} {id}")))
    }

    /// The paths of files that differ between two trees, sorted.
    pub(super) fn differing(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<String>> {
        let old = old.map(|id| self.raw(id)).transpose()?;
        let find = |id: git2::Oid| self.find_tree(&oid(id)?);
        super::tree_diff::differing(find, old, Some(self.raw(new)?))
    }

    /// Differences between two trees, sorted by path.
    pub(super) fn changes(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<Change>> {
        let old = old.map(|id| self.raw(id)).transpose()?;
        let find = |id: git2::Oid| self.find_tree(&oid(id)?);
        super::tree_diff::changes(find, old, Some(self.raw(new)?))
    }

    /// SSH signature of a commit, and the bytes that it is over; `None` where the commit has no signature.
    pub(super) fn signature(&self, commit: &Oid) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.loose.check_commits(&self.repo, [commit])?;
        // libgit2 would leave the header of the other format in.
        let header = commit_object::header(commit.as_str().len());
        self.with_object(commit, git2::ObjectType::Commit, |bytes| {
            commit_object::signature(bytes, header)
        })
    }

    pub(super) fn descends(&self, commit: &Oid, ancestor: &Oid) -> Result<bool> {
        super::read_here("object-read", format_args!("read commit {commit}"))?;
        self.settle()?;
        self.loose.check_commits(&self.repo, [commit, ancestor])?;
        self.repo
            .graph_descendant_of(self.raw(commit)?, self.raw(ancestor)?)
            .map_err(|error| self.failed(&error, format!("compare {ancestor} and {commit}")))
    }

    pub(super) fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        super::read_here("object-read", format_args!("read commit {other}"))?;
        self.settle()?;
        self.loose.check_commits(&self.repo, [one, other])?;
        match self.repo.merge_base(self.raw(one)?, self.raw(other)?) {
            Ok(id) => oid(id).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                self.loose.hidden().map_or(Ok(None), Err)
            }
            Err(error) => Err(failed(&error, "find the merge base")),
        }
    }

    /// The commits reachable from `to` and from none of `hidden`, newest first.
    pub(super) fn walk(
        &self,
        to: &Oid,
        hidden: &[Oid],
    ) -> Result<impl Iterator<Item = Result<Oid>>> {
        self.sorted_walk(to, hidden, git2::Sort::TOPOLOGICAL | git2::Sort::TIME)
    }

    /// The commits up to one, each read when its turn comes: what cannot be read hides none of those before it.
    pub(super) fn walk_lazily(&self, to: &Oid) -> Result<impl Iterator<Item = Result<Oid>>> {
        self.sorted_walk(to, &[], git2::Sort::NONE)
    }

    fn sorted_walk(
        &self,
        to: &Oid,
        hidden: &[Oid],
        sorting: git2::Sort,
    ) -> Result<impl Iterator<Item = Result<Oid>>> {
        super::read_here("object-read", format_args!("read commit {to}"))?;
        let doing = {
            let to = to.clone();
            move |error: git2::Error| self.failed(&error, format!("walk the commits up to {to}"))
        };
        self.settle()?;
        self.loose
            .check_commits(&self.repo, hidden.iter().chain([to]))?;
        let mut walk = self.repo.revwalk().map_err(&doing)?;
        walk.set_sorting(sorting).map_err(&doing)?;
        walk.push(self.raw(to)?).map_err(&doing)?;
        for id in hidden {
            walk.hide(self.raw(id)?).map_err(&doing)?;
        }
        Ok(walk.map(move |id| oid(id.map_err(&doing)?)))
    }

    /// The last of the first parents.
    pub(super) fn root_of(&self, commit: &Oid) -> Result<Option<Oid>> {
        let doing =
            |error: git2::Error| self.failed(&error, format!("walk the commits up to {commit}"));
        self.settle()?;
        self.loose.check_commits(&self.repo, [commit])?;
        let mut walk = self.repo.revwalk().map_err(doing)?;
        walk.simplify_first_parent().map_err(doing)?;
        walk.push(self.raw(commit)?).map_err(doing)?;
        let mut last = None;
        for id in walk {
            last = Some(id.map_err(doing)?);
        }
        last.map(oid).transpose()
    }

    /// Size of a blob in bytes; the header is read and not the content.
    pub(super) fn blob_size(&self, id: &Oid) -> Result<u64> {
        if let Some(written) = self.pending.get(id) {
            return Ok(written.bytes.len() as u64);
        }
        let (size, _) = self.find(id, "blob", |repo, id| repo.odb()?.read_header(id))?;
        Ok(size as u64)
    }

    /// Size in bytes of an object that has to be here, from its header.
    pub(super) fn object_size(&self, id: &Oid) -> Result<u64> {
        let wanted = self.raw(id)?;
        let header = self.repo.odb().and_then(|odb| odb.read_header(wanted));
        let (size, _) = header.map_err(|error| self.failed(&error, format!("read {id}")))?;
        Ok(size as u64)
    }

    /// Says that everything below a tree will be read: what is missing of it comes in one go.
    pub(super) fn will_read(&self, tree: &Oid) -> Result<()> {
        let tree = self.raw(tree)?;
        let mut expected = self.expected.borrow_mut();
        if !expected.contains(&tree) {
            expected.push(tree);
        }
        Ok(())
    }

    /// Tells whether some objects were left at a remote. Asked only where an object is missing.
    pub(super) fn is_partial(&self) -> bool {
        let Ok(packs) = std::fs::read_dir(self.objects.join("pack")) else {
            return false;
        };
        packs
            .flatten()
            .any(|pack| pack.path().extension().is_some_and(|end| end == "promisor"))
    }

    fn fetch(&self, id: &Oid) -> Result<()> {
        let missing = |said: &str| {
            Failure::new(
                Kind::Refused,
                Code::ObjectNotFetched,
                format!("the object {id} was left out of this partial clone{said}"),
            )
        };
        if self.git.in_hook {
            return Err(missing(", and a hook fetches nothing").help(command!("status")));
        }
        let empty = super::empty_tree_id(self.format())?;
        for tree in self.expected.take() {
            // To count lines git needs every blob, and asks for all that are missing at once.
            let tree = tree.to_string();
            let all = [
                "diff-tree",
                "-r",
                "--numstat",
                "--no-renames",
                empty.as_str(),
                &tree,
            ];
            // What fails here is asked for by its name below, and said there.
            drop(self.git.run(all).capture()?);
        }
        let one = self.git.run(["cat-file", "-e", id.as_str()]).capture()?;
        if one.ended.success() {
            return Ok(());
        }
        Err(
            missing(&format!(", and git cannot fetch it: {}", one.complaint()))
                .help(format!("git cat-file -e {id}")),
        )
    }
}
