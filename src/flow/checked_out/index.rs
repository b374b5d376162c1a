//! The index of a worktree as it is to be: made beside its place, and held as git's own `index.lock` until it gets there.
//! A git without that lock makes no commit, and a rename needs no room.

use super::{Checkout, PAUSE, TRIES};
use loopx_base::failpoint::fail;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::run::Captured;
use loopx_git::{PARTIAL, TEMPORARY, unwritable};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names of what is made for one landing. They follow from its commit, so that a later process finds what a killed one
/// had made.
#[derive(Clone, Debug)]
pub(super) struct Names(u64);

/// Endings of the names of unfinished files: six letters or digits.
const ENDINGS: u64 = 36_u64.pow(6);

impl Names {
    pub(super) fn of(landing: &Oid) -> Self {
        let begin = landing.as_str().get(..12).unwrap_or_default();
        Names(u64::from_str_radix(begin, 16).unwrap_or_default() % ENDINGS)
    }

    fn ending(&self, number: usize) -> String {
        let mut rest = (self.0 + number as u64) % ENDINGS;
        let mut ending = String::new();
        for _ in 0..6 {
            let digit = u32::try_from(rest % 36).unwrap_or_default();
            ending.push(char::from_digit(digit, 36).unwrap_or('0'));
            rest /= 36;
        }
        ending
    }

    /// The file beside its place, of the path that has this number among those that the landing changes.
    pub(super) fn file(&self, place: &Path, number: usize) -> PathBuf {
        place.with_file_name(format!("{PARTIAL}{}", self.ending(number + 1)))
    }

    fn index(&self, git_dir: &Path) -> PathBuf {
        git_dir.join(format!("{TEMPORARY}{}", self.ending(0)))
    }
}

/// The marks by which a file is known to be the same one, with the same content.
pub(crate) type Stamp = (u64, u64, u64, i64, i64, i64, i64);

/// Nothing where there is no file.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((
        meta.dev(),
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    ))
}

/// An index that is made, and not in its place.
pub(super) struct Made {
    made: PathBuf,
    index: PathBuf,
    lock: PathBuf,
    /// The index that this one was made from, as it stood when somebody looked at it first.
    from: Option<Stamp>,
    is_held: bool,
}

impl Made {
    /// Makes the index that differs from the present one as two trees do. The present one stands as it is.
    pub(super) fn of(
        checkout: &Checkout<'_>,
        names: &Names,
        from: Option<Stamp>,
        trees: [&Oid; 2],
    ) -> Result<Self> {
        let made = Made {
            made: names.index(&checkout.git_dir),
            lock: checkout.git_dir.join("index.lock"),
            index: checkout.index(),
            from,
            is_held: false,
        };
        fail("index-written")
            .and_then(|()| made.copy())
            .map_err(|error| unwritable(&made.index, &error))?;
        let [old, new] = trees.map(Oid::as_str);
        made.git(checkout, &["read-tree", "-i", "-m", old, new], b"")?
            .ok()?;
        Ok(made)
    }

    /// Copies the present index. git tells by the time of an index which files it has to look at: that is copied too.
    fn copy(&self) -> io::Result<()> {
        let meta = match fs::metadata(&self.index) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            meta => meta?,
        };
        fs::copy(&self.index, &self.made)?;
        let copy = fs::File::options().write(true).open(&self.made)?;
        copy.set_modified(meta.modified()?)
    }

    /// Runs a git that takes this index for its own.
    pub(super) fn git(
        &self,
        checkout: &Checkout<'_>,
        args: &[&str],
        stdin: impl Into<Vec<u8>>,
    ) -> Result<Captured> {
        let run = checkout.git(args).env("GIT_INDEX_FILE", &self.made);
        run.stdin(stdin).capture()
    }

    /// Takes git's lock of the index, which has the new index in it then. False: the index is another one by now.
    pub(super) fn hold(&mut self, checkout: &Checkout<'_>) -> Result<bool> {
        for _ in 0..TRIES {
            let taken = self.take(checkout);
            if taken.map_err(|error| unwritable(&self.lock, &error))? {
                self.is_held = true;
                return Ok(stamp(&self.index) == self.from);
            }
            std::thread::sleep(PAUSE);
        }
        Err(checkout.index_held())
    }

    fn take(&self, checkout: &Checkout<'_>) -> io::Result<bool> {
        let is_there = |error: &io::Error| matches!(error.kind(), io::ErrorKind::AlreadyExists);
        match fs::hard_link(&self.made, &self.lock) {
            Ok(()) => return Ok(true),
            Err(error) if is_there(&error) => return Ok(false),
            // A file system without such links.
            Err(_) => {}
        }
        let lock = fs::File::options()
            .write(true)
            .create_new(true)
            .open(&self.lock);
        let mut lock = match lock {
            Err(error) if is_there(&error) => return Ok(false),
            lock => lock?,
        };
        let mut made = fs::File::open(&self.made)?;
        let written = io::copy(&mut made, &mut lock)
            .and_then(|_| lock.set_modified(made.metadata()?.modified()?));
        checkout.repo.share(&self.lock);
        if written.is_err() {
            drop(fs::remove_file(&self.lock));
        }
        written.map(|()| true)
    }

    /// Puts the index in its place. Where that fails the lock stays: nobody may commit what the old index has.
    pub(super) fn place(mut self) -> Result<()> {
        let placed = fail("index-placed").and_then(|()| fs::rename(&self.lock, &self.index));
        self.is_held = false;
        if let Err(error) = placed {
            // The next command knows the lock by this file.
            std::mem::forget(self);
            return Err(unwritable(Path::new("index"), &error));
        }
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.is_held {
            drop(fs::remove_file(&self.lock));
        }
        drop(fs::remove_file(&self.made));
    }
}

/// Brings an index to its place that a killed process held there for a landing, or takes it away where the branch did
/// not move.
pub(super) fn resume(checkout: &Checkout<'_>, names: &Names, landed: bool) {
    let made = names.index(&checkout.git_dir);
    let lock = checkout.git_dir.join("index.lock");
    if let Ok(ours) = fs::read(&made)
        && fs::read(&lock).is_ok_and(|held| held == ours)
    {
        // What cannot be moved is met again as a lock that somebody holds.
        drop(if landed {
            fs::rename(&lock, checkout.index())
        } else {
            fs::remove_file(&lock)
        });
    }
    drop(fs::remove_file(made.with_extension("lock")));
    drop(fs::remove_file(&made));
}
