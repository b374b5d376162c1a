//! Leftovers of killed processes. Of a push or fetch of git in the object database: the quarantine of objects that were
//! not taken yet, and half a pack. Of ours in the worktree and in the git dir: a file that has not got its name yet.
//! Nothing tells whose it was, so age alone says that nobody is at it.

use super::repo::Repo;
use super::run::Captured;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A push that nobody wrote to for so long is dead. `git gc` waits for two weeks.
const DEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// Time from the mark of a fast-import to the index of its pack: git renames two files between them. Where a disk is
/// slower, the pack gets its index twice.
const IMPORTED: Duration = Duration::from_secs(2);

/// A file of ours is written in one breath, but its process may be stopped, or the machine asleep.
const STILL: Duration = Duration::from_secs(60 * 60);

/// Folder of the git dir with all that is kept there of ours.
const STATE: &str = "loopx";

/// Names of git's quarantine in `objects/`; before 2.35 the second.
const QUARANTINES: [&str; 2] = ["tmp_objdir-", "incoming-"];
/// Beginning of the name of the report that a fast-import writes where it fails.
const CRASHED: &str = "fast_import_crash_";
/// Names of packs that git is writing in `objects/pack/`.
const PACKS: [&str; 3] = ["tmp_pack_", "tmp_idx_", "tmp_rev_"];

impl Repo {
    /// Folders and packs that killed processes of git left, and at which no process can work any more.
    pub fn abandoned_objects(&self) -> Vec<PathBuf> {
        let objects = self.pack_dir();
        let packs = named(&objects, &PACKS, false);
        let quarantines = objects
            .parent()
            .map_or_else(Vec::new, |objects| named(objects, &QUARANTINES, true));
        let mut all = [quarantines, packs].concat();
        all.retain(|path| is_dead(path));
        all.sort();
        all
    }

    /// Finishes the work of a fast-import that was cut off behind its mark, the `.keep` file of its pack. Names follow from
    /// the content, and git writes over no file: the same objects could never be written again. A mark without its pack is
    /// taken away; a pack without its index gets it, whoever began it: that loses nothing. An import that may still be at
    /// work is waited for.
    pub fn finish_abandoned_imports(&self) {
        let began = Instant::now();
        loop {
            let mut is_at_work = false;
            for mark in self.marks_without_index() {
                let pack = mark.with_extension("pack");
                let meta = fs::symlink_metadata(&mark);
                if meta.is_ok_and(|meta| !is_old(&meta, IMPORTED)) {
                    is_at_work = true;
                } else if pack.exists() {
                    let words = ["index-pack".as_ref(), pack.as_os_str()];
                    drop(self.git.run(words).capture());
                } else {
                    drop(fs::remove_file(&mark));
                }
            }
            if !is_at_work || began.elapsed() > IMPORTED * 2 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Marks of a fast-import whose packs have no index. A mark that was cut off itself has no pack yet: a shorter text
    /// beside a pack is somebody else's.
    fn marks_without_index(&self) -> Vec<PathBuf> {
        const MARK: &str = "fast-import";
        let mut marks = named(&self.pack_dir(), &["pack-"], false);
        marks.retain(|mark| {
            if mark.extension().is_none_or(|end| end != "keep")
                || mark.with_extension("idx").exists()
            {
                return false;
            }
            let text = fs::read_to_string(mark);
            let is_there = mark.with_extension("pack").exists();
            text.is_ok_and(|text| match text.trim_end() {
                MARK => true,
                part => !is_there && MARK.starts_with(part),
            })
        });
        marks
    }

    /// Files that a killed process of ours was writing in this worktree, or in the git dir.
    pub fn abandoned_files(&self) -> Vec<PathBuf> {
        let mut all = self.unfinished_files();
        all.extend(self.unfinished_state());
        all.retain(|path| {
            let meta = fs::symlink_metadata(path);
            meta.is_ok_and(|meta| meta.is_file() && is_old(&meta, STILL))
        });
        all.extend(self.unfinished_folders());
        all
    }

    /// Folders in which files were made that had to come to their places together.
    fn unfinished_folders(&self) -> Vec<PathBuf> {
        let state = self.common_dir().join(STATE);
        let folders = ["exports", "staging"].map(|name| named(&state.join(name), &[".tmp"], true));
        let is_still = |path: &PathBuf| {
            let meta = fs::symlink_metadata(path);
            meta.is_ok_and(|meta| is_old(&meta, STILL))
        };
        folders.concat().into_iter().filter(is_still).collect()
    }

    /// Files of the git dir that have not got their names: beside git's own files, and in the folders in which
    /// [`Repo::write_shared`] writes.
    fn unfinished_state(&self) -> Vec<PathBuf> {
        let (own, common) = (self.git_dir(), self.common_dir());
        let tops = std::iter::once(&common).chain((own != common).then_some(&own));
        let mut all = Vec::new();
        for top in tops {
            let mut folders = vec![top.clone(), top.join("info"), top.join("hooks")];
            folders.extend(folders_below(&top.join(STATE)));
            let files = folders
                .iter()
                .flat_map(|folder| named(folder, &[super::TEMPORARY], false));
            all.extend(
                files.filter(|path| is_partial(path.as_os_str().as_bytes(), super::TEMPORARY)),
            );
            let hooks = named(&top.join("hooks"), &["."], false);
            all.extend(hooks.into_iter().filter(|path| is_new_hook(path)));
        }
        all
    }

    /// Reports of fast-imports that failed, in the git dir of this worktree.
    pub(super) fn crash_reports(&self) -> Vec<PathBuf> {
        named(&self.git_dir(), &[CRASHED], false)
    }

    /// Files of the worktree that have not got their names.
    fn unfinished_files(&self) -> Vec<PathBuf> {
        let Some(top) = self.work_dir() else {
            return Vec::new();
        };
        let pattern = format!(":(top,glob)**/{}*", super::PARTIAL);
        let words = [
            "ls-files",
            "-z",
            "--others",
            "--exclude-standard",
            "--",
            &pattern,
        ];
        let listed = self.git_at(top, words).env("GIT_LITERAL_PATHSPECS", "0");
        let listed = listed.capture().and_then(Captured::ok);
        let listed = listed.unwrap_or_default();
        let names = listed.split(|byte| *byte == 0);
        names
            .filter(|name| is_partial(name, super::PARTIAL))
            .map(|name| top.join(OsStr::from_bytes(name)))
            .collect()
    }

    /// Takes them away.
    pub fn clear_abandoned_files(&self) {
        self.abandoned_files().iter().for_each(|path| remove(path));
    }

    /// Takes it away.
    pub fn clear_abandoned_objects(&self) {
        self.abandoned_objects()
            .iter()
            .for_each(|path| remove(path));
    }
}

/// Removes a file or a folder. What cannot be removed is named again.
fn remove(path: &Path) {
    drop(if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    });
}

/// A folder and all folders below it. Links are not followed.
fn folders_below(dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![dir.to_path_buf()];
    let mut at = 0;
    while let Some(folder) = all.get(at) {
        let inner = named(folder, &[""], true);
        all.extend(inner);
        at += 1;
    }
    all
}

/// The folders, or the files, of a folder whose names begin so. Links are neither.
fn named(dir: &Path, begins: &[&str], folders: bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_kind = |kind: fs::FileType| {
            if folders {
                kind.is_dir()
            } else {
                kind.is_file()
            }
        };
        begins.iter().any(|begin| name.starts_with(begin)) && entry.file_type().is_ok_and(is_kind)
    });
    entries.map(|entry| entry.path()).collect()
}

/// Tells whether a path ends as an unfinished file: behind the prefix six letters or digits, as tempfile names it, or the
/// commit of a landing and a number. git has a lock beside a file of ours that it writes.
fn is_partial(path: &[u8], prefix: &str) -> bool {
    let path = path.strip_suffix(b".lock").unwrap_or(path);
    let name = path.rsplit(|byte| *byte == b'/').next();
    let end = name.and_then(|name| name.strip_prefix(prefix.as_bytes()));
    end.is_some_and(|end| {
        end.len() == 6 && end.iter().all(u8::is_ascii_alphanumeric) || is_of_landing(end)
    })
}

/// Tells whether the ending of a name is the commit of a landing with a number.
fn is_of_landing(end: &[u8]) -> bool {
    let mut parts = end.split(|byte| *byte == b'-');
    let (commit, number) = (parts.next(), parts.next());
    let is_commit =
        |id: &[u8]| [40, 64].contains(&id.len()) && id.iter().all(u8::is_ascii_hexdigit);
    let is_number = |of: &[u8]| !of.is_empty() && of.iter().all(u8::is_ascii_digit);
    commit.is_some_and(is_commit) && number.is_some_and(is_number) && parts.next().is_none()
}

/// Tells whether a path is a hook that has not got its place yet.
fn is_new_hook(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == super::NEW_HOOK)
}

/// Tells whether a file, or a folder by itself, is older than a duration. A path that cannot be looked at counts as
/// young.
fn is_old(meta: &Metadata, than: Duration) -> bool {
    let age = meta.modified().map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > than)
}

/// Tells whether a file or folder is old, with all that is in it. A path that cannot be looked at counts as young.
fn is_dead(path: &Path) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return false;
    };
    if !meta.is_dir() {
        return is_old(&meta, DEAD);
    }
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    is_old(&meta, DEAD)
        && entries
            .into_iter()
            .all(|entry| entry.is_ok_and(|one| is_dead(&one.path())))
}
