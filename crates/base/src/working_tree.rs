//! The working tree as the git door finds it, as plain values: its content, what is not committed, and what git has
//! begun there.

use super::id::Oid;
use super::path_from;
use crate::vocabulary::vocabulary;
use serde::Serialize;

/// Code that the session is about, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFacts {
    pub head: Option<Oid>,
    /// The content of the worktree as a tree; equal to HEAD's tree when nothing is uncommitted.
    pub tree: Oid,
    pub is_dirty: bool,
    /// Paths that differ from HEAD, each with its state.
    pub uncommitted: Vec<Uncommitted>,
    pub reviewed: ReviewedCode,
}

/// Place of the reviewed code, where it is not the present one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReviewedCode {
    /// Commit that HEAD went on from, or apart from.
    #[default]
    Known,
    /// Commit that is ahead of HEAD.
    Ahead(Oid),
    /// Commit that is not in this repository; the remote may have it.
    Missing { remote: String },
}

/// A path of the worktree that differs from HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uncommitted {
    pub path: String,
    pub state: FileState,
}

impl Uncommitted {
    /// A copy with the path as it is opened from a folder below the top.
    #[must_use]
    pub fn seen_from(&self, below: &str) -> Self {
        Uncommitted {
            path: path_from(below, &self.path),
            state: self.state,
        }
    }
}

/// Paths for a person: the first three.
pub fn named(files: &[&Uncommitted]) -> String {
    let paths: Vec<&str> = files.iter().map(|one| one.path.as_str()).take(3).collect();
    let more = match files.len().saturating_sub(3) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", paths.join(", "))
}

/// State of a path that differs from HEAD, as git sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// Path whose whole change is in the index.
    Staged,
    Unstaged,
    Untracked,
    /// A merge left both sides.
    Unmerged,
    /// A submodule with edits that its own repository has not committed.
    Submodule,
}

impl FileState {
    /// Reads the two letters of `git status --porcelain`.
    pub fn of_porcelain(index: u8, worktree: u8) -> Self {
        match (index, worktree) {
            (b'?', _) => FileState::Untracked,
            (b'U', _) | (_, b'U') | (b'A', b'A') | (b'D', b'D') => FileState::Unmerged,
            (_, b' ') => FileState::Staged,
            _ => FileState::Unstaged,
        }
    }
}

vocabulary!(
    /// Command that git has begun in a worktree and has not finished.
    Sequence {
        Merge = "merge",
        Rebase = "rebase",
        CherryPick = "cherry-pick",
        Revert = "revert",
        /// Patches from mails, which git keeps where a rebase is kept, too.
        Am = "am",
    }
);
