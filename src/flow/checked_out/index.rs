//! The index of a worktree as it is to be: made beside its place while git's own `index.lock` is held for it, and held as
//! that lock until it gets there. A git without that lock makes no commit, and a rename needs no room.

use super::{Checkout, PAUSE, TRIES};
use loopx_base::failpoint::{fail, reach};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::run::Captured;
use loopx_git::{PARTIAL, TEMPORARY, unwritable};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names of what is made for one landing. They have its commit in them: a later process finds what a killed one had
/// made, and no two landings share a name.
#[derive(Clone, Debug)]
pub(super) struct Names(Oid);

/// Files of a landing in the git directory, by their numbers.
const NOTE: usize = 0;
const INDEX: usize = 1;
const ON_ITS_WAY: usize = 2;

impl Names {
    pub(super) fn of(landing: &Oid) -> Self {
        Names(landing.clone())
    }

    /// The file beside its place, of the path that has this number among those that the landing changes.
    pub(super) fn file(&self, place: &Path, number: usize) -> PathBuf {
        place.with_file_name(format!("{PARTIAL}{}-{number}", self.0))
    }

    fn in_git_dir(&self, git_dir: &Path, number: usize) -> PathBuf {
        git_dir.join(format!("{TEMPORARY}{}-{number}", self.0))
    }

    /// Text of the lock while the index is being made.
    fn note(&self) -> Vec<u8> {
        format!("git-loopx makes the index for the commit {}\n", self.0).into_bytes()
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

/// Content of git's lock of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// A note of this landing: the new index is not made yet.
    Note,
    /// The new index, whole.
    Index,
}

/// Lock of the index that a landing has. It is given back where nothing is put in its place, unless it has to stay.
pub(super) struct Held {
    note: PathBuf,
    made: PathBuf,
    on_its_way: PathBuf,
    index: PathBuf,
    lock: PathBuf,
    content: Content,
    stays: bool,
}

impl Held {
    /// Takes the lock, as git does before it reads the index. The lock that a killed process held for this landing is
    /// taken over, with the index that it has.
    pub(super) fn take(checkout: &Checkout<'_>, names: &Names) -> Result<Self> {
        let mut held = Held::unheld(checkout, names);
        if let Some(content) = held.found(names) {
            held.content = content;
            // It stays where this process fails, too: nobody may commit the index of before.
            return Ok(held);
        }
        held.clear();
        let noted = (checkout.repo).write_shared(&held.note, &names.note());
        noted.map_err(|error| unwritable(&held.lock, &error))?;
        for _ in 0..TRIES {
            match held.link(checkout, names) {
                Ok(true) => {
                    held.stays = false;
                    reach("index-held");
                    return Ok(held);
                }
                Ok(false) => std::thread::sleep(PAUSE),
                Err(error) => {
                    held.clear();
                    return Err(unwritable(&held.lock, &error));
                }
            }
        }
        held.clear();
        Err(checkout.index_held())
    }

    fn unheld(checkout: &Checkout<'_>, names: &Names) -> Self {
        let git_dir = &checkout.git_dir;
        Held {
            note: names.in_git_dir(git_dir, NOTE),
            made: names.in_git_dir(git_dir, INDEX),
            on_its_way: names.in_git_dir(git_dir, ON_ITS_WAY),
            index: git_dir.join("index"),
            lock: git_dir.join("index.lock"),
            content: Content::Note,
            stays: true,
        }
    }

    /// Content of a lock that was taken for this landing; `None`: the lock is another's, or there is none.
    fn found(&self, names: &Names) -> Option<Content> {
        let lock = fs::read(&self.lock).ok()?;
        if !lock.is_empty() && names.note().starts_with(&lock) {
            return Some(Content::Note);
        }
        fs::read(&self.made)
            .is_ok_and(|made| made == lock)
            .then_some(Content::Index)
    }

    /// Removes what was made in the git directory.
    fn clear(&self) {
        drop(fs::remove_file(self.made.with_extension("lock")));
        for file in [&self.on_its_way, &self.made, &self.note] {
            drop(fs::remove_file(file));
        }
    }

    fn link(&self, checkout: &Checkout<'_>, names: &Names) -> io::Result<bool> {
        let is_there = |error: &io::Error| matches!(error.kind(), io::ErrorKind::AlreadyExists);
        let linked = fail("lock-linked").and_then(|()| fs::hard_link(&self.note, &self.lock));
        match linked {
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
        // A part of the note is known, too: nothing has moved yet, and the next writer takes the lock away.
        let written = lock.write_all(&names.note());
        checkout.repo.share(&self.lock);
        if written.is_err() {
            drop(fs::remove_file(&self.lock));
        }
        written.map(|()| true)
    }

    /// Tells whether the lock has the new index.
    pub(super) fn has_index(&self) -> bool {
        self.content == Content::Index
    }

    /// The new index, where it is made.
    pub(super) fn made(&self) -> &Path {
        &self.made
    }

    /// Gives the lock its note back: the index in it is made anew.
    pub(super) fn make_anew(&mut self, checkout: &Checkout<'_>, names: &Names) -> Result<()> {
        let noted = checkout
            .repo
            .write_shared(&self.note, &names.note())
            .and_then(|()| self.enter(&self.note));
        noted.map_err(|error| unwritable(&self.lock, &error))?;
        self.content = Content::Note;
        Ok(())
    }

    /// Makes the index that differs from the present one by these lines of `git update-index --index-info`. The present
    /// one stands as it is.
    pub(super) fn make(&self, checkout: &Checkout<'_>, lines: Vec<u8>) -> Result<()> {
        fail("index-written")
            .and_then(|()| self.copy())
            .map_err(|error| unwritable(&self.index, &error))?;
        self.git(checkout, &["update-index", "-z", "--index-info"], lines)?
            .ok()
            .map(drop)
    }

    /// Copies the present index. git tells by the time of an index which files it has to look at: that is copied too.
    fn copy(&self) -> io::Result<()> {
        drop(fs::remove_file(&self.made));
        let meta = match fs::metadata(&self.index) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            meta => meta?,
        };
        fs::copy(&self.index, &self.made)?;
        let copy = fs::File::options().write(true).open(&self.made)?;
        copy.set_modified(meta.modified()?)
    }

    /// Runs a git that takes the new index for its own.
    pub(super) fn git(
        &self,
        checkout: &Checkout<'_>,
        args: &[&str],
        stdin: impl Into<Vec<u8>>,
    ) -> Result<Captured> {
        let run = checkout.git(args).env("GIT_INDEX_FILE", &self.made);
        run.stdin(stdin).capture()
    }

    /// Puts the new index into the lock, at once and whole.
    pub(super) fn fill(&mut self) -> Result<()> {
        reach("index-made");
        self.enter(&self.made)
            .map_err(|error| unwritable(&self.lock, &error))?;
        self.content = Content::Index;
        reach("index-filled");
        Ok(())
    }

    fn enter(&self, file: &Path) -> io::Result<()> {
        drop(fs::remove_file(&self.on_its_way));
        if fs::hard_link(file, &self.on_its_way).is_err() {
            fs::copy(file, &self.on_its_way)?;
            let copy = fs::File::options().write(true).open(&self.on_its_way)?;
            copy.set_modified(fs::metadata(file)?.modified()?)?;
        }
        fs::rename(&self.on_its_way, &self.lock)
    }

    /// Tells whether lock and index stay for the next process.
    pub(super) fn stays(&self) -> bool {
        self.stays
    }

    /// Leaves lock and index where they are, for the next process.
    pub(super) fn keep(&mut self) {
        self.stays = true;
    }

    /// Puts the index in its place. Where that fails the lock stays: nobody may commit what the old index has.
    pub(super) fn place(mut self) -> Result<()> {
        self.stays = true;
        let placed = fail("index-placed").and_then(|()| fs::rename(&self.lock, &self.index));
        placed.map_err(|error| unwritable(Path::new("index"), &error))?;
        self.clear();
        Ok(())
    }

    /// Gives the lock back.
    pub(super) fn release(mut self) {
        self.stays = false;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.stays {
            drop(fs::remove_file(&self.lock));
            self.clear();
        }
    }
}

/// Takes away what a killed process had made in the git directory for a landing that did not happen, and gives back the
/// lock that it held.
pub(super) fn take_away(checkout: &Checkout<'_>, names: &Names) {
    let held = Held::unheld(checkout, names);
    if held.found(names).is_some() {
        held.release();
    } else {
        held.clear();
    }
}
