//! The only place that names libgit2 or starts the git program. Owned plain data comes out.
//!
//! libgit2 reads and writes objects and refs, in this process; the git program is asked only where
//! libgit2 would answer differently (worktree content with filters, sparse and split indexes,
//! editors), and never on a hook's path.

pub mod capture;
pub mod code;
pub mod config_file;
pub mod merge;
pub mod objects;
pub mod refs;
pub mod repo;
pub mod run;

pub use objects::{CommitInfo, Entry, EntryKind};
pub use refs::Swap;
pub use repo::{Head, Identity, Repo};

use crate::core::failure::Failure;

/// A libgit2 error, with what was being done.
pub(crate) fn failed(error: &git2::Error, doing: impl std::fmt::Display) -> Failure {
    let code = match error.code() {
        git2::ErrorCode::NotFound => "object_missing",
        git2::ErrorCode::Locked => "ref_locked",
        git2::ErrorCode::Owner => "repository_not_owned",
        _ => "git_failed",
    };
    Failure::internal(code, error.message().trim_end_matches('.').to_owned()).context(doing)
}
