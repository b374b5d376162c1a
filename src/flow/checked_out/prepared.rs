//! Index and files of a worktree as they are to be once its branch moves: all that needs room is made before, beside its
//! place, and what is left for after is to give it its name. So a full disk refuses a landing, and loses none.

use super::index::{Made, Names, Stamp, resume, stamp};
use super::{Changes, Checkout, TRIES};
use crate::flow::files;
use loopx_base::failpoint::fail;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, Repo, unwritable};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is made beside its place.
struct File {
    made: PathBuf,
    place: PathBuf,
    /// Marks of the file that stood at the place when somebody looked.
    seen: Option<Stamp>,
}

/// Index and files beside their places. Where they are not put there, they go.
pub(crate) struct Prepared<'c> {
    checkout: Checkout<'c>,
    changes: Changes,
    index: Option<Made>,
    written: Vec<File>,
    removed: Vec<(PathBuf, Option<Stamp>)>,
    /// Folders that were made for the files, innermost last.
    folders: Vec<PathBuf>,
}

/// The work at a worktree that follows a branch.
struct Work<'p> {
    /// Paths of the index that are another blob, with the blob that they were.
    staged: BTreeMap<String, Option<Entry>>,
    written: BTreeSet<&'p str>,
    removed: Vec<&'p str>,
    /// Paths that somebody changed meanwhile, in the worktree, in the index or on the branch.
    others: usize,
}

impl<'c> Checkout<'c> {
    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Makes index and files as they are once the branch stands at `landing`. `None`: somebody changed one of the paths
    /// meanwhile.
    pub(crate) fn prepare(&self, landing: &Oid, changes: &Changes) -> Result<Option<Prepared<'c>>> {
        let tree = self.repo.commit_info(landing)?.tree;
        self.prepare_for(landing, &tree, changes, true)
    }

    /// Brings index and files in step with the branch that moved to `tip` or beyond. A path that somebody changed
    /// meanwhile is left alone; one that is in step already, in part or in whole, is finished.
    pub(crate) fn follow(&self, landing: &Oid, tip: &Oid, changes: &Changes) -> Result<()> {
        self.resume(landing, changes, true);
        let tree = self.repo.commit_info(tip)?.tree;
        match self.prepare_for(landing, &tree, changes, false)? {
            Some(prepared) => prepared.place(),
            None => Ok(()),
        }
    }

    /// Brings to its end what a killed process had made for a landing, or takes it away.
    pub(crate) fn resume(&self, landing: &Oid, changes: &Changes, landed: bool) {
        let names = Names::of(landing);
        resume(self, &names, landed);
        for (number, path) in changes.keys().enumerate() {
            drop(fs::remove_file(names.file(&self.top.join(path), number)));
        }
    }

    fn prepare_for(
        &self,
        landing: &Oid,
        tree: &Oid,
        changes: &Changes,
        all: bool,
    ) -> Result<Option<Prepared<'c>>> {
        let names = Names::of(landing);
        for _ in 0..TRIES {
            let seen: Vec<Option<Stamp>> = (changes.keys())
                .map(|path| stamp(&self.top.join(path)))
                .collect();
            let from = stamp(&self.index());
            let mut work = self.work(tree, changes)?;
            if all && work.others > 0 {
                return Ok(None);
            }
            let mut prepared = Prepared {
                checkout: self.clone(),
                changes: changes.clone(),
                index: None,
                written: Vec::new(),
                removed: Vec::new(),
                folders: Vec::new(),
            };
            if !work.staged.is_empty() {
                prepared.index = Some(self.next_index(&names, from, tree, &mut work)?);
            }
            prepared.write(&names, &work, &seen)?;
            let is_held = match &mut prepared.index {
                Some(index) => index.hold(self)?,
                None => true,
            };
            if is_held {
                return Ok(Some(prepared));
            }
        }
        Err(self.index_held())
    }

    /// The work that is left where the branch has a tree.
    fn work<'p>(&self, tree: &Oid, changes: &'p Changes) -> Result<Work<'p>> {
        let staged = self.staged(changes)?;
        let contents = self.contents(changes, &staged)?;
        let mut work = Work {
            staged: BTreeMap::new(),
            written: BTreeSet::new(),
            removed: Vec::new(),
            others: 0,
        };
        for (path, (old, new)) in changes {
            let on_branch = self.repo.entry_at(tree, path)?.map(|entry| entry.id);
            let known = [old, new];
            let content = contents.get(path.as_str());
            let ours = known.iter().any(|blob| staged.is(path, blob.as_ref()))
                && content.is_some_and(|content| known.contains(&content));
            if on_branch != *new || !ours {
                work.others += 1;
                continue;
            }
            if !staged.is(path, new.as_ref()) {
                work.staged
                    .insert(path.clone(), old.clone().map(Entry::blob));
            }
            let skipped = staged.0.get(path).is_some_and(|one| one.skipped);
            if content != Some(new) && !skipped {
                match new {
                    Some(_) => drop(work.written.insert(path.as_str())),
                    None => work.removed.push(path.as_str()),
                }
            }
        }
        Ok(work)
    }

    /// The index with the paths of the work as the tree has them: whatever else is in the index stays.
    fn next_index(
        &self,
        names: &Names,
        from: Option<Stamp>,
        tree: &Oid,
        work: &mut Work<'_>,
    ) -> Result<Made> {
        let new: Vec<&String> = (work.staged.iter())
            .filter(|(_, entry)| entry.is_none())
            .map(|(path, _)| path)
            .collect();
        let old = self.repo.edit_tree(Some(tree), &work.staged)?;
        self.repo.keep(&old)?;
        let made = Made::of(self, names, from, [&old, tree]);
        let left_out = match &made {
            Ok(_) if !new.is_empty() && self.is_sparse()? => self.left_out(tree, &new),
            _ => Ok(Vec::new()),
        };
        self.repo.release();
        let (made, left_out) = (made?, left_out?);
        if !left_out.is_empty() {
            let args = ["update-index", "-z", "--skip-worktree", "--stdin"];
            made.git(self, &args, list(left_out.iter().map(String::as_str)))?
                .ok()?;
            work.written
                .retain(|path| !left_out.iter().any(|out| out == path));
        }
        Ok(made)
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

impl Prepared<'_> {
    /// Makes the files beside their places, as the index has them.
    fn write(&mut self, names: &Names, work: &Work<'_>, seen: &[Option<Stamp>]) -> Result<()> {
        let checkout = self.checkout.clone();
        let staging = if work.written.is_empty() {
            None
        } else {
            Some(self.check_out(work)?)
        };
        for (number, (path, seen)) in self.changes.clone().keys().zip(seen).enumerate() {
            let place = checkout.top.join(path);
            if work.removed.contains(&path.as_str()) {
                self.removed.push((place.clone(), *seen));
            }
            if let Some(staging) = staging
                .as_ref()
                .filter(|_| work.written.contains(path.as_str()))
            {
                self.make_folders(&place)?;
                let made = names.file(&place, number);
                self.written.push(File {
                    made: made.clone(),
                    place,
                    seen: *seen,
                });
                files::put(&staging.path().join(path), &made)?;
            }
        }
        Ok(())
    }

    /// Has git write the files to a folder of the git directory, by its own rules of conversion.
    fn check_out(&self, work: &Work<'_>) -> Result<Staging> {
        let staging = Staging::open(self.checkout.repo)?;
        fail("worktree-written").map_err(|error| unwritable(staging.path(), &error))?;
        let prefix = format!("--prefix={}/", staging.path().display());
        let args = ["checkout-index", "-z", "--stdin", &prefix];
        let paths = list(work.written.iter().copied());
        let ended = match &self.index {
            Some(index) => index.git(&self.checkout, &args, paths)?,
            None => self.checkout.git(&args).stdin(paths).capture()?,
        };
        ended.ok()?;
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
    /// alone. The index goes last: until then its lock lets nobody commit.
    pub(crate) fn place(mut self) -> Result<()> {
        let mut placed = Ok(());
        for file in &self.written {
            if stamp(&file.place) != file.seen {
                continue;
            }
            let one = fail("worktree-placed").and_then(|()| fs::rename(&file.made, &file.place));
            placed = placed.and(one.map_err(|error| unwritable(&file.place, &error)));
        }
        for (place, seen) in &self.removed {
            if stamp(place) == *seen {
                placed = placed.and(remove(&self.checkout.top, place));
            }
        }
        if let Some(index) = self.index.take() {
            placed = placed.and(index.place());
        }
        if placed.is_ok() && !(self.written.is_empty() && self.removed.is_empty()) {
            drop(self.checkout.refresh_these(&self.changes));
        }
        placed
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
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
    let mut folder = file.parent();
    while let Some(dir) = folder.filter(|dir| *dir != top) {
        if fs::remove_dir(dir).is_err() {
            break;
        }
        folder = dir.parent();
    }
    Ok(())
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
