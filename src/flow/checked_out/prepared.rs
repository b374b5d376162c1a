//! Index and files of a worktree as they are to be once its branch moves: all that needs room is made before, beside its
//! place, and what is left for after is to give it its name. So a full disk refuses a landing, and loses none.

use super::index::{Held, Names, Stamp, stamp, take_away};
use super::{Changes, Checkout};
use crate::flow::files;
use loopx_base::failpoint::{fail, reach};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::run::Captured;
use loopx_git::{Repo, unwritable};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is made beside its place.
struct File {
    path: String,
    made: PathBuf,
    place: PathBuf,
    /// Marks of the file that stood at the place when somebody looked.
    seen: Option<Stamp>,
}

/// A file that goes.
struct Gone {
    path: String,
    place: PathBuf,
    seen: Option<Stamp>,
}

/// Index and files beside their places. Where they are not put there, they go.
pub(crate) struct Prepared<'c> {
    checkout: Checkout<'c>,
    changes: Changes,
    /// The new index, as git's lock of the present one.
    index: Option<Held>,
    written: Vec<File>,
    removed: Vec<Gone>,
    /// Folders that were made for the files, innermost last.
    folders: Vec<PathBuf>,
    /// Set where the files stay for the next process.
    stays: bool,
    /// Paths that somebody changed before they were made.
    edited: Vec<String>,
}

/// The work at a worktree that follows a branch.
struct Work<'p> {
    /// Paths of the index that are another blob, with the blob that they were.
    staged: BTreeMap<String, Option<Oid>>,
    /// Paths among the staged ones that are not to be in the worktree: git forgets that with the blob.
    skipped: Vec<&'p str>,
    written: BTreeSet<&'p str>,
    removed: Vec<&'p str>,
    /// Number of paths that somebody changed meanwhile, in the worktree, in the index or on the branch.
    others: usize,
    /// Paths among them that the branch has as they landed.
    edited: Vec<String>,
}

impl<'c> Checkout<'c> {
    /// Makes index and files as they are once the branch stands at `landing`. `None`: somebody changed one of the paths
    /// meanwhile.
    pub(crate) fn prepare(&self, landing: &Oid, changes: &Changes) -> Result<Option<Prepared<'c>>> {
        let tree = self.repo.commit_info(landing)?.tree;
        self.prepare_for(landing, &tree, changes, true)
    }

    /// Brings index and files in step with the branch that moved to `tip` or beyond, with what a killed process had made
    /// for that. A path that somebody changed meanwhile is left alone; one that is in step already, in part or in whole, is
    /// finished. Gives the paths that are left.
    pub(crate) fn follow(
        &self,
        landing: &Oid,
        tip: &Oid,
        changes: &Changes,
    ) -> Result<Vec<String>> {
        let tree = self.repo.commit_info(tip)?.tree;
        let left = match self.prepare_for(landing, &tree, changes, false)? {
            Some(mut prepared) => {
                let mut left = std::mem::take(&mut prepared.edited);
                left.extend(prepared.place()?);
                left
            }
            None => Vec::new(),
        };
        self.remove_made(&Names::of(landing), changes);
        Ok(left)
    }

    /// Takes away what a killed process had made for a landing that did not happen.
    pub(crate) fn take_back(&self, landing: &Oid, changes: &Changes) {
        let names = Names::of(landing);
        take_away(self, &names);
        self.remove_made(&names, changes);
        for (path, (old, _)) in changes {
            if old.is_none() {
                remove_empty(&self.top, &self.top.join(path));
            }
        }
    }

    fn remove_made(&self, names: &Names, changes: &Changes) {
        for (number, path) in changes.keys().enumerate() {
            drop(fs::remove_file(names.file(&self.top.join(path), number)));
        }
    }

    /// Takes the lock of the index first, as git does: nothing changes the index then while the next one is made.
    fn prepare_for(
        &self,
        landing: &Oid,
        tree: &Oid,
        changes: &Changes,
        all: bool,
    ) -> Result<Option<Prepared<'c>>> {
        let names = Names::of(landing);
        let mut held = Held::take(self, &names)?;
        if all && held.has_index() {
            held.make_anew(self, &names)?;
        }
        let seen: Vec<Option<Stamp>> = (changes.keys())
            .map(|path| stamp(&self.top.join(path)))
            .collect();
        let mut work = self.work(tree, changes, held.has_index().then(|| held.made()))?;
        if held.has_index() && !work.staged.is_empty() {
            held.make_anew(self, &names)?;
            work = self.work(tree, changes, None)?;
        }
        if all && work.others > 0 {
            held.release();
            return Ok(None);
        }
        let mut prepared = Prepared {
            checkout: self.clone(),
            changes: changes.clone(),
            index: None,
            written: Vec::new(),
            removed: Vec::new(),
            folders: Vec::new(),
            stays: held.stays(),
            edited: std::mem::take(&mut work.edited),
        };
        if work.staged.is_empty() && !held.has_index() {
            held.release();
        } else {
            if !held.has_index() {
                self.next_index(&mut held, tree, &mut work)?;
            }
            prepared.index = Some(held);
        }
        prepared.write(&names, tree, &work, &seen)?;
        Ok(Some(prepared))
    }

    /// The work that is left where the branch has a tree; by another index than the present one, where it is named.
    fn work<'p>(&self, tree: &Oid, changes: &'p Changes, index: Option<&Path>) -> Result<Work<'p>> {
        let staged = self.staged(changes, index)?;
        let contents = self.contents(changes, &staged)?;
        let mut work = Work {
            staged: BTreeMap::new(),
            skipped: Vec::new(),
            written: BTreeSet::new(),
            removed: Vec::new(),
            others: 0,
            edited: Vec::new(),
        };
        for (path, (old, new)) in changes {
            let on_branch = self.repo.entry_at(tree, path)?.map(|entry| entry.id);
            let known = [old, new];
            let content = contents.get(path.as_str());
            let ours = known.iter().any(|blob| staged.is(path, blob.as_ref()))
                && content.is_some_and(|content| known.contains(&content));
            if on_branch != *new || !ours {
                work.others += 1;
                if on_branch == *new {
                    work.edited.push(path.clone());
                }
                continue;
            }
            let skipped = staged.0.get(path).is_some_and(|one| one.skipped);
            if !staged.is(path, new.as_ref()) {
                work.staged.insert(path.clone(), old.clone());
                if skipped && new.is_some() {
                    work.skipped.push(path);
                }
            }
            if content != Some(new) && !skipped {
                match new {
                    Some(_) => drop(work.written.insert(path.as_str())),
                    None => work.removed.push(path.as_str()),
                }
            }
        }
        Ok(work)
    }

    /// Puts the index with the paths of the work as the tree has them into its lock: whatever else is in the index stays.
    fn next_index(&self, held: &mut Held, tree: &Oid, work: &mut Work<'_>) -> Result<()> {
        let (mut new, mut lines) = (Vec::new(), Vec::new());
        for (path, old) in &work.staged {
            let line = match (self.repo.raw_entry_at(tree, path)?, old) {
                (Some(entry), _) => {
                    let mode = String::from_utf8_lossy(&entry.mode);
                    format!("{mode} {} 0\t{path}\0", entry.id)
                }
                // A path without a mode goes, whatever its id.
                (None, Some(old)) => format!("0 {old} 0\t{path}\0"),
                (None, None) => continue,
            };
            lines.extend(line.into_bytes());
            if old.is_none() {
                new.push(path);
            }
        }
        held.make(self, lines)?;
        let mut left_out: Vec<String> = work.skipped.iter().map(ToString::to_string).collect();
        if !new.is_empty() && self.is_sparse()? {
            left_out.extend(self.left_out(tree, &new)?);
        }
        if !left_out.is_empty() {
            let args = ["update-index", "-z", "--skip-worktree", "--stdin"];
            held.git(self, &args, list(left_out.iter().map(String::as_str)))?
                .ok()?;
            work.written
                .retain(|path| !left_out.iter().any(|out| out == path));
        }
        held.fill()
    }

    /// The new files that a sparse checkout leaves out: git alone knows, and is asked by a checkout of them to a
    /// folder aside.
    fn left_out(&self, tree: &Oid, new: &[&String]) -> Result<Vec<String>> {
        let staging = Staging::open(self.repo)?;
        let mut entries = BTreeMap::new();
        for path in new {
            entries.insert((*path).clone(), self.repo.entry_at(tree, path)?);
        }
        let only = self.repo.edit_tree(None, &entries)?;
        self.repo.keep(&only)?;
        let aside = staging.path().join("tree");
        fs::create_dir(&aside).map_err(|error| unwritable(&aside, &error))?;
        self.git(&["read-tree", "-m", "-u", only.as_str()])
            .env("GIT_INDEX_FILE", staging.path().join("index"))
            .env("GIT_WORK_TREE", &aside)
            .capture()?
            .ok()?;
        let is_out = |path: &&&String| fs::symlink_metadata(aside.join(path)).is_err();
        Ok(new
            .iter()
            .filter(is_out)
            .map(|path| (*path).clone())
            .collect())
    }
}

/// Paths as git reads them on its stdin.
fn list<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend(path.bytes());
        list.push(0);
    }
    list
}

/// Blobs with the modes of new files, by path.
type Plain = BTreeMap<String, (Oid, u32)>;

/// Attributes by which git writes another file than the blob.
const CONVERTING: [&str; 6] = [
    "text",
    "eol",
    "crlf",
    "ident",
    "filter",
    "working-tree-encoding",
];

impl Prepared<'_> {
    /// Makes the files beside their places, as the index has them. A file that a killed process had made is one.
    fn write(
        &mut self,
        names: &Names,
        tree: &Oid,
        work: &Work<'_>,
        seen: &[Option<Stamp>],
    ) -> Result<()> {
        let top = self.checkout.top.clone();
        for (number, (path, seen)) in self.changes.keys().zip(seen).enumerate() {
            let (path, place, seen) = (path.clone(), top.join(path), *seen);
            if work.removed.contains(&path.as_str()) {
                self.removed.push(Gone { path, place, seen });
            } else if work.written.contains(path.as_str()) {
                let made = names.file(&place, number);
                self.written.push(File {
                    path,
                    made,
                    place,
                    seen,
                });
            }
        }
        let mut missing = Vec::new();
        for (at, file) in self.written.iter().enumerate() {
            let blob = (self.changes.get(&file.path)).and_then(|(_, new)| new.as_ref());
            let is_made =
                file.made.is_file() && self.checkout.is_blob(&file.path, &file.made, blob)?;
            if !is_made {
                missing.push(at);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let paths = missing.iter().filter_map(|at| self.written.get(*at));
        let paths: Vec<String> = paths.map(|file| file.path.clone()).collect();
        fail("worktree-written").map_err(|error| unwritable(&top, &error))?;
        let plain = self.plain(tree, &paths)?;
        let staging = match plain {
            None => Some(self.check_out(list(paths.iter().map(String::as_str)))?),
            Some(_) => None,
        };
        for at in missing {
            let Some(file) = self.written.get(at) else {
                continue;
            };
            let (path, made) = (file.path.clone(), file.made.clone());
            self.make_folders(&made)?;
            match (&staging, plain.as_ref().and_then(|plain| plain.get(&path))) {
                (Some(staging), _) => files::put(&staging.path().join(path), &made)?,
                (None, Some((blob, mode))) => {
                    files::make(&made, &self.checkout.repo.read_blob(blob)?, *mode)?;
                }
                (None, None) => {}
            }
            reach("file-made");
        }
        Ok(())
    }

    /// The blobs and modes of files, where git would write each byte for byte as it is stored. Nothing where an attribute
    /// or a setting has a say in that, or where one is no plain file.
    fn plain(&self, tree: &Oid, paths: &[String]) -> Result<Option<Plain>> {
        let (repo, mut plain) = (self.checkout.repo, Plain::new());
        let converts = repo.config("core.autocrlf").is_some_and(|value| {
            !["", "false", "no", "off", "0", "input"].contains(&value.to_lowercase().as_str())
        });
        // A setting of one worktree alone is git's to read.
        if converts || repo.config_bool("extensions.worktreeConfig") == Some(true) {
            return Ok(None);
        }
        for path in paths {
            let known = match repo.raw_entry_at(tree, path)? {
                Some(entry) if entry.mode == b"100644" => (entry.id, 0o666),
                Some(entry) if entry.mode == b"100755" => (entry.id, 0o777),
                _ => return Ok(None),
            };
            plain.insert(path.clone(), known);
        }
        let args = ["check-attr", "-z", "--stdin", "--all"];
        let asked = list(paths.iter().map(String::as_str));
        let said = self.git(&args, asked)?.ok()?;
        let mut named = said.split(|byte| *byte == 0).skip(1).step_by(3);
        let has_say = |name: &[u8]| CONVERTING.iter().any(|one| one.as_bytes() == name);
        Ok((!named.any(has_say)).then_some(plain))
    }

    /// Runs a git on the index as it is to be.
    fn git(&self, args: &[&str], stdin: Vec<u8>) -> Result<Captured> {
        match &self.index {
            Some(index) => index.git(&self.checkout, args, stdin),
            None => self.checkout.git(args).stdin(stdin).capture(),
        }
    }

    /// Has git write files to a folder of the git directory, by its own rules of conversion.
    fn check_out(&self, paths: Vec<u8>) -> Result<Staging> {
        let staging = Staging::open(self.checkout.repo)?;
        let prefix = format!("--prefix={}/", staging.path().display());
        let args = ["checkout-index", "-z", "--stdin", &prefix];
        self.git(&args, paths)?.ok()?;
        Ok(staging)
    }

    /// Makes the folders in which a file is to be.
    fn make_folders(&mut self, place: &Path) -> Result<()> {
        let above = place.ancestors().skip(1);
        let missing: Vec<&Path> = above.take_while(|dir| !dir.is_dir()).collect();
        for dir in missing.into_iter().rev() {
            fs::create_dir(dir).map_err(|error| unwritable(dir, &error))?;
            self.folders.push(dir.to_path_buf());
        }
        Ok(())
    }

    /// Puts files and index in their places, once the branch has moved. A file that somebody changed meanwhile is left
    /// alone: these are given. The index goes last: until then its lock lets nobody commit, and where a file cannot be
    /// placed all stays as it is for the next writer.
    pub(crate) fn place(mut self) -> Result<Vec<String>> {
        let (mut left, mut placed) = (Vec::new(), Ok(()));
        for file in &self.written {
            if !self.is_as_seen(&file.path, &file.place, file.seen) {
                left.push(file.path.clone());
                continue;
            }
            let one = fail("worktree-placed").and_then(|()| fs::rename(&file.made, &file.place));
            placed = placed.and(one.map_err(|error| unwritable(&file.place, &error)));
            reach("file-placed");
        }
        for file in &self.removed {
            if self.is_as_seen(&file.path, &file.place, file.seen) {
                placed = placed.and(remove(&self.checkout.top, &file.place));
            } else {
                left.push(file.path.clone());
            }
        }
        let has_files = !(self.written.is_empty() && self.removed.is_empty());
        if let Some(mut index) = self.index.take() {
            if let Err(failure) = &mut placed {
                index.keep();
                self.stays = true;
                let top = self.checkout.top.display();
                let held = format!("; until then index.lock lets no git commit in {top}");
                failure.message.push_str(&held);
            } else {
                placed = index.place();
            }
        }
        placed?;
        self.stays = false;
        if has_files {
            drop(self.checkout.refresh_these(&self.changes));
        }
        Ok(left)
    }

    /// Tells whether a file is the one that somebody looked at. Where only its times are others, it is.
    fn is_as_seen(&self, path: &str, place: &Path, seen: Option<Stamp>) -> bool {
        let found = stamp(place);
        if found == seen {
            return true;
        }
        if found.is_none() || seen.is_none() || !place.is_file() {
            return false;
        }
        let known = (self.changes.get(path)).and_then(|(old, _)| old.as_ref());
        let is_old = self.checkout.is_blob(path, place, known);
        is_old.is_ok_and(|is_old| is_old)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        for file in &self.written {
            // One that got its name is not there.
            drop(fs::remove_file(&file.made));
        }
        for folder in self.folders.iter().rev() {
            // One that has a file by now stays.
            drop(fs::remove_dir(folder));
        }
    }
}

/// Removes a file with the folders that it leaves empty.
fn remove(top: &Path, file: &Path) -> Result<()> {
    files::remove(file)?;
    remove_empty(top, file);
    Ok(())
}

/// Removes the folders above a file that have nothing in them.
fn remove_empty(top: &Path, file: &Path) {
    let mut folder = file.parent();
    while let Some(dir) = folder.filter(|dir| *dir != top) {
        match fs::remove_dir(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => break,
            _ => {}
        }
        folder = dir.parent();
    }
}

/// A folder in which files are made; what is left in it goes with it. Only a holder of the lock has one, and
/// each its own: what a killed command of another user left may stay.
struct Staging(tempfile::TempDir);

impl Staging {
    fn open(repo: &Repo) -> Result<Self> {
        let folder = repo.common_dir().join("loopx").join("staging");
        let failed = |error: std::io::Error| unwritable(&folder, &error);
        if let Ok(left) = fs::read_dir(&folder) {
            for one in left.flatten() {
                drop(fs::remove_dir_all(one.path()));
            }
        }
        repo.make_folder(&folder).map_err(failed)?;
        let made = tempfile::Builder::new().tempdir_in(&folder);
        made.map(Staging).map_err(failed)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // With the folder around it, if nothing else is in there.
        drop(fs::remove_dir_all(self.path()));
        if let Some(folder) = self.path().parent() {
            drop(fs::remove_dir(folder));
        }
    }
}
