//! Records that are on their way to a remote: one note each in the worktree's git dir, from before the push until its
//! answer was taken in. A note whose writer is gone says that the remote may have the record, unheard.
//!
//! A note is locked while its writer lives, so that two commands of one worktree never take each other's for lost. What
//! a record says is not known here.

use super::files;
use super::lease::folder;
use loopx_base::failure::Result;
use loopx_base::id::OpId;
use loopx_git::Repo;
use loopx_rules::lease::MAX_LEASE;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

/// A record that is being pushed.
#[derive(Debug)]
pub(super) struct Pushing {
    path: PathBuf,
    _locked: Option<File>,
}

impl Pushing {
    /// Notes it, before anything is sent.
    pub(super) fn begin(repo: &Repo, op: &OpId) -> Result<Self> {
        let path = notes(repo).join(op.as_str());
        files::write_in_git_dir(repo, &path, b"")?;
        let file = File::open(&path).ok();
        // A file system without locks only lets a note count for lost too soon.
        drop(file.as_ref().map(File::try_lock));
        Ok(Pushing {
            path,
            _locked: file,
        })
    }

    /// The answer was heard, and what follows from it is done.
    pub(super) fn heard(self) {
        drop(fs::remove_file(&self.path));
    }
}

fn notes(repo: &Repo) -> PathBuf {
    folder(repo).join("pushing")
}

/// The records of which nobody heard whether they arrived. Those that no lease can make count any more are forgotten.
pub(super) fn unheard(repo: &Repo) -> BTreeSet<OpId> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(notes(repo)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(op) = name.to_str().and_then(|name| OpId::parse(name).ok()) else {
            continue;
        };
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        if file.try_lock().is_err() {
            continue;
        }
        let age = entry.metadata().and_then(|meta| meta.modified());
        let age = age.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > Duration::from_secs(u64::from(MAX_LEASE))) {
            drop(fs::remove_file(entry.path()))
        } else {
            found.insert(op);
        }
    }
    found
}

/// Forgets what is known by now.
pub(super) fn forget<'o>(repo: &Repo, ops: impl IntoIterator<Item = &'o OpId>) {
    for op in ops {
        drop(fs::remove_file(notes(repo).join(op.as_str())));
    }
}
