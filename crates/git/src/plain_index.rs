//! The index of this worktree, read and moved in this process where nothing about it is unusual. git does all of this
//! too, and is started for whatever is unusual: a start costs more than everything that is done here.

use super::repo::{Repo, raw};
use super::sharing::SharedUmask;
use loopx_base::id::Oid;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The mode of a file that nobody runs.
const PLAIN: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o111;

impl Repo {
    /// The blobs that the index has at those of the paths that it has. `None` where git has to be asked: the index is
    /// unusual or of another worktree, or one of the files is not surely the one that git saw.
    pub fn untouched<'p>(
        &self,
        worktree: &Path,
        paths: impl Iterator<Item = &'p str>,
    ) -> Option<BTreeMap<String, Oid>> {
        let index = self.plain_index(worktree)?;
        let written = std::fs::metadata(index.path()?).ok()?;
        let mut found = BTreeMap::new();
        for path in paths {
            let Some(entry) = index.get_path(Path::new(path), 0) else {
                continue;
            };
            let file = std::fs::symlink_metadata(worktree.join(path)).ok()?;
            if !is_same(&entry, &file) || !is_older(&entry, &written) {
                return None;
            }
            found.insert(path.to_owned(), super::repo::oid(entry.id).ok()?);
        }
        Some(found)
    }

    /// Whether nobody is writing the index of this worktree.
    pub fn is_index_free(&self) -> bool {
        !self.git_dir().join("index.lock").exists()
    }

    /// Gives entries of the index other contents, all of them or none; what git saw of their files is forgotten. Says
    /// whether that is done: where it is not, git has to do it.
    pub fn move_in_index(&self, worktree: &Path, contents: &BTreeMap<&str, &Oid>) -> bool {
        self.edit_index(worktree, contents.keys().copied(), |path, entry| {
            let id = contents.get(path)?;
            *entry = git2::IndexEntry {
                id: raw(id, self.inner.format()).ok()?,
                path: std::mem::take(&mut entry.path),
                ctime: git2::IndexTime::new(0, 0),
                mtime: git2::IndexTime::new(0, 0),
                file_size: 0,
                ..*entry
            };
            Some(())
        })
        .is_some()
    }

    /// Writes down what is seen of files that were just put in their place, so that git need not read them once more.
    /// `made` is what was seen before that; a file that is another one now is left out.
    pub fn note_in_index(&self, worktree: &Path, made: &BTreeMap<&str, Metadata>) {
        // Where that fails, git reads the files once more.
        self.edit_index(worktree, made.keys().copied(), |path, entry| {
            let file = std::fs::symlink_metadata(worktree.join(path)).ok()?;
            let was = made.get(path)?;
            let times = |file: &Metadata| (file.mtime(), file.mtime_nsec());
            if (file.ino(), file.len(), times(&file)) == (was.ino(), was.len(), times(was)) {
                note(entry, &file)?;
            }
            Some(())
        });
    }

    /// Whether git puts the content of a blob into its file as it is.
    pub fn is_written_raw(&self, path: &str) -> bool {
        let is = |key: &str, value: &str| {
            let said = self.config(key);
            said.is_some_and(|said| said.eq_ignore_ascii_case(value))
        };
        self.config_bool("core.autocrlf") != Some(true)
            && !is("core.eol", "crlf")
            && self.backend.has_no_conversion(Path::new(path))
    }

    /// The index of this worktree, if libgit2 reads and writes it as git does.
    fn plain_index(&self, worktree: &Path) -> Option<git2::Index> {
        if self.work_dir() != Some(worktree) || self.config_bool("core.ignorecase") == Some(true) {
            return None;
        }
        self.backend.plain_index()
    }

    fn edit_index<'p>(
        &self,
        worktree: &Path,
        paths: impl Iterator<Item = &'p str>,
        edit: impl Fn(&str, &mut git2::IndexEntry) -> Option<()>,
    ) -> Option<()> {
        let mut index = self.plain_index(worktree)?;
        for path in paths {
            let mut entry = index.get_path(Path::new(path), 0)?;
            edit(path, &mut entry)?;
            index.add(&entry).ok()?;
        }
        let umask = SharedUmask::of(self.sharing());
        let written = index.write();
        drop(umask);
        if written.is_err() {
            // What this process has in memory is not what the file says.
            drop(index.read(true));
        }
        written.ok()
    }
}

/// Whether a file is the one that the entry was made from, which git is not told to overlook.
fn is_same(entry: &git2::IndexEntry, file: &Metadata) -> bool {
    let overlooked = git2::IndexEntryFlag::VALID.bits();
    let skipped = git2::IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    let mut seen = git2::IndexEntry {
        path: Vec::new(),
        ..*entry
    };
    let same = note(&mut seen, file).is_some()
        && times(&seen) == times(entry)
        && (seen.ino, seen.uid, seen.gid) == (entry.ino, entry.uid, entry.gid)
        && seen.file_size == entry.file_size;
    same && file.is_file()
        && entry.mode == PLAIN
        && file.mode() & EXECUTABLE == 0
        && entry.flags & overlooked == 0
        && entry.flags_extended & skipped == 0
}

fn times(entry: &git2::IndexEntry) -> [(i32, u32); 2] {
    [entry.mtime, entry.ctime].map(|time| (time.seconds(), time.nanoseconds()))
}

/// Whether the file of an entry was surely not edited after git had looked, in the same moment.
fn is_older(entry: &git2::IndexEntry, index: &Metadata) -> bool {
    let seen = (
        i64::from(entry.mtime.seconds()),
        i64::from(entry.mtime.nanoseconds()),
    );
    seen < (index.mtime(), index.mtime_nsec())
}

/// Writes what is seen of a file into its entry, as git does: of large numbers the low half.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index has 32 bits for each"
)]
fn note(entry: &mut git2::IndexEntry, file: &Metadata) -> Option<()> {
    let time = |seconds: i64, nanoseconds: i64| {
        let nanoseconds = u32::try_from(nanoseconds).ok()?;
        Some(git2::IndexTime::new(seconds as i32, nanoseconds))
    };
    entry.mtime = time(file.mtime(), file.mtime_nsec())?;
    entry.ctime = time(file.ctime(), file.ctime_nsec())?;
    entry.dev = file.dev() as u32;
    entry.ino = file.ino() as u32;
    (entry.uid, entry.gid) = (file.uid(), file.gid());
    entry.file_size = file.len() as u32;
    Some(())
}
