//! Leftovers of a killed push or fetch of git in the object database: the quarantine of objects that were not taken
//! yet, and half a pack. Nothing tells whose it was, so age alone says that nobody is at it.

use super::repo::Repo;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A push that nobody wrote to for so long is dead. `git gc` waits for two weeks.
const DEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// Names of git's quarantine in `objects/`; before 2.35 the second.
const QUARANTINES: [&str; 2] = ["tmp_objdir-", "incoming-"];
/// Names of packs that git is writing in `objects/pack/`.
const PACKS: [&str; 3] = ["tmp_pack_", "tmp_idx_", "tmp_rev_"];

impl Repo {
    /// What killed processes of git left, and nobody can be at any more.
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

    /// Takes away what a fast-import left that was cut off before its pack was in place: the mark by which it keeps
    /// that. Its name follows from the content, and git writes over none.
    pub fn clear_abandoned_keeps(&self) {
        const MARK: &str = "fast-import";
        for keep in named(&self.pack_dir(), &["pack-"], false) {
            let is_mark = keep.extension().is_some_and(|end| end == "keep");
            if !is_mark || keep.with_extension("pack").exists() {
                continue;
            }
            let text = fs::read_to_string(&keep);
            if text.is_ok_and(|text| MARK.starts_with(text.trim_end())) {
                drop(fs::remove_file(&keep));
            }
        }
    }

    /// Takes it away.
    pub fn clear_abandoned_objects(&self) {
        for path in self.abandoned_objects() {
            drop(if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            });
        }
    }
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

/// Whether it and all that is in it is old. What cannot be looked at is young.
fn is_dead(path: &Path) -> bool {
    let is_old = |meta: Metadata| {
        let age = meta.modified().map(|at| at.elapsed().unwrap_or_default());
        age.is_ok_and(|age| age > DEAD)
    };
    let Ok(meta) = fs::symlink_metadata(path) else {
        return false;
    };
    if !meta.is_dir() {
        return is_old(meta);
    }
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    is_old(meta)
        && entries
            .into_iter()
            .all(|entry| entry.is_ok_and(|one| is_dead(&one.path())))
}
