//! The only place that names libgit2 or starts the git program. Owned plain data comes out.
//!
//! libgit2 reads and writes objects in this process, and refs where it knows their format; the git
//! program is asked only where libgit2 would answer differently (worktree content with filters, sparse
//! and split indexes, other ref formats, editors), and never on the path of a hook in an ordinary
//! repository.

mod backend;
pub mod capture;
pub mod code;
mod config_env;
pub mod config_file;
mod database;
mod dates;
mod descent;
mod files;
mod index;
mod large_blobs;
mod loose;
pub mod merge;
pub mod objects;
pub mod pack;
mod pending;
pub mod processes;
mod program;
mod progress;
mod putback;
mod quarantine;
pub mod refs;
pub mod remerge;
pub mod remote;
pub mod repo;
mod roll_up;
pub mod run;
pub mod sharing;
mod signals;
pub mod signing;
mod tree_diff;
mod trees;

pub use code::Mailmap;
pub use objects::{CommitInfo, Entry, EntryKind};
pub use refs::Swap;
pub use remerge::{Remerge, Strays};
pub use repo::{Head, Identity, Repo};

use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::Oid;

/// Beginning of the names of temporary files.
pub const TEMPORARY: &str = ".loopx-";
/// Beginning of the names of files that stand in a folder of the worktree until they are whole: nobody types it.
pub const PARTIAL: &str = ".loopx-writing-";
/// Ending of the name of a hook that is written beside its place.
pub const NEW_HOOK: &str = "loopx-new";

/// Failure from a libgit2 error, with the work that it broke off.
pub fn failed(error: &git2::Error, doing: impl std::fmt::Display) -> Failure {
    if let Some(failure) = not_written(error.message()) {
        return failure.context(doing);
    }
    let code = match error.code() {
        git2::ErrorCode::NotFound => Code::ObjectMissing,
        git2::ErrorCode::Locked => Code::RefLocked,
        _ => Code::GitFailed,
    };
    Failure::internal(code, error.message().trim_end_matches('.').to_owned()).context(doing)
}

/// Failure from git's words about a lock in its way: no fault of ours, and gone once the other git is.
pub(crate) fn locked(said: &str) -> Option<Failure> {
    let line = said.lines().find(|line| line.contains(": File exists"))?;
    let of_config = |line: &str| {
        let (_, rest) = line.split_once("could not lock config file ")?;
        Some(format!("{}.lock", rest.split_once(':')?.0))
    };
    let of_file = |line: &str| {
        let (_, rest) = line.split_once("Unable to create '")?;
        let (file, _) = rest.split_once('\'')?;
        file.ends_with(".lock").then(|| file.to_owned())
    };
    let lock = of_file(line).or_else(|| of_config(line))?;
    let message = format!(
        "{lock} stands in the way: another git process is at work, or was killed while it was"
    );
    let failure = Failure::new(Kind::Waiting, Code::RefLocked, message);
    Some(failure.help("try again; where no git process is at work, remove that file first"))
}

/// Failure for an object that a shallow clone does not have, with the work that it broke off.
pub(crate) fn beyond_the_edge(doing: impl std::fmt::Display) -> Failure {
    Failure::not_found(
        Code::HistoryShallow,
        format!("{doing}: the object is not in this clone, which is shallow"),
    )
    .help("git fetch --unshallow")
}

/// Fails as a disk does that cannot be read, when a test asked for a failure at this place.
pub(crate) fn read_here(what: &str, doing: impl std::fmt::Display) -> Result<()> {
    loopx_base::failpoint::fail(what)
        .map_err(|error| Failure::internal(Code::GitFailed, error.to_string()).context(doing))
}

/// Words of the system for a disk that takes no more.
const FULL: [&str; 4] = [
    "Read-only file system",
    "No space left on device",
    "File too large",
    "Disk quota exceeded",
];

/// Words of the system and of git for files that may not be touched: nothing is broken then.
const NOT_OURS: [&str; 7] = [
    "Permission denied",
    // git says no more of a file of the worktree, or of an index, that takes no more.
    "unable to write file ",
    "unable to write new index file",
    // What git says of an index that it cannot finish.
    "Out of diskspace",
    // git says no more of the file of a ref.
    "couldn't write '",
    "unable to create directory for",
    // git says no more where its configuration meets any of these.
    "failed to write new configuration file",
];

const TRY_AGAIN: &str =
    "make room, or give yourself the right to read and write there; then try again";

/// Failure from a refusal of the system, where `said` is one.
pub(crate) fn not_written(said: &str) -> Option<Failure> {
    if let Some(failure) = no_more_files(said) {
        return Some(failure);
    }
    let refuses = |line: &&str| {
        let mut all = FULL.iter().chain(&NOT_OURS);
        all.any(|words| line.contains(words))
    };
    let line = said.lines().find(refuses)?;
    let line = line.trim().trim_end_matches('.');
    Some(Failure::refused(Code::RepositoryUnwritable, without_lock(line)).help(TRY_AGAIN))
}

/// Failure of the disk here that takes no more, where git says so beside the words of the other side.
pub(crate) fn disk_refuses(said: &str) -> Option<Failure> {
    let is_here =
        |line: &&str| !line.starts_with("remote:") && FULL.iter().any(|words| line.contains(words));
    said.lines().find(is_here).and_then(not_written)
}

/// Takes the word "locked" out of libgit2's words about a file that the system does not let it open.
fn without_lock(said: &str) -> String {
    said.replace("failed open - '", "'")
        .replace("' is locked: ", "': ")
}

/// Failure of the system to open one more file, where a process, or all of them, have as many files open as they may;
/// `None` where the system said something else.
fn no_more_files(said: &str) -> Option<Failure> {
    let line = said
        .lines()
        .find(|line| line.contains("Too many open files"))?;
    let line = without_lock(line.trim().trim_end_matches('.'));
    let message = format!("the system opens no more files for this process: {line}");
    let failure = Failure::refused(Code::OpenFilesExhausted, message);
    Some(failure.help("ulimit -n 256  (or close what has so many files open); then try again"))
}

/// A failure to read a file: the system's refusal, with what leads on from it. Room helps nobody who reads.
pub fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let said = format!("{}: {error}", path.display());
    if let Some(failure) = no_more_files(&said) {
        return failure;
    }
    Failure::refused(Code::FileFailed, said).help(match error.kind() {
        std::io::ErrorKind::PermissionDenied => "give yourself the right to read it; then try again",
        _ => "try again; where that does not help, the disk or what is mounted there has to be looked at",
    })
}

/// A failure to write a file: the system's refusal, never damage of ours.
pub fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let said = format!("{}: {error}", path.display());
    if let Some(failure) = no_more_files(&said) {
        return failure;
    }
    Failure::refused(Code::RepositoryUnwritable, said).help(TRY_AGAIN)
}

/// Failure to find a place for a file that lives for a moment. `purpose`: the work that needs the file.
pub fn no_temporary_folder(purpose: &str, error: &std::io::Error) -> Failure {
    if let Some(failure) = no_more_files(&error.to_string()) {
        return failure;
    }
    Failure::refused(
        Code::TemporaryFolderMissing,
        format!("git loopx needs a temporary folder to {purpose}: {error}"),
    )
    .help("set TMPDIR to a folder that can be written")
}

/// The id of the tree that has no entry, which no repository has to hold.
pub(crate) fn empty_tree_id(format: git2::ObjectFormat) -> Result<Oid> {
    let id = git2::Oid::hash_object_ext(git2::ObjectType::Tree, b"", format);
    repo::oid(id.map_err(|error| failed(&error, "hash the empty tree"))?)
}

#[cfg(test)]
mod tests {
    use super::{disk_refuses, not_written, unreadable};
    use loopx_base::failure::Code;
    use std::io::ErrorKind;
    use std::path::Path;

    #[test]
    fn a_full_disk_is_known_by_each_of_gits_sentences() {
        for said in [
            "fatal: unable to write loose object file: No space left on device",
            "fatal: sha1 file '/r/.git/loopx/.tmp2RaYam.lock' write error. Out of diskspace",
            "fatal: cannot lock ref 'refs/x/y': unable to create directory for .git/refs/x/y",
        ] {
            assert!(not_written(said).is_some(), "{said}");
        }
        assert!(not_written("fatal: bad object HEAD").is_none());
    }

    #[test]
    fn a_full_disk_of_the_other_side_is_none_here() {
        let full = "error: unable to create temporary file: No space left on device";
        let failure = disk_refuses(&format!("fatal: index-pack failed\n{full}"));
        let failure = failure.expect("a refusal");
        assert_eq!(failure.code, Code::RepositoryUnwritable);
        assert!(failure.message.contains("No space left"), "{failure}");
        for there in [
            &format!("remote: {full}"),
            "git@host: Permission denied (publickey).",
        ] {
            assert!(disk_refuses(there).is_none(), "{there}");
        }
    }

    #[test]
    fn whoever_cannot_read_a_file_is_not_told_to_make_room() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::Other] {
            let failure = unreadable(Path::new("brief.md"), &kind.into());
            assert!(failure.message.starts_with("brief.md: "), "{failure}");
            let help = failure
                .help
                .map(|help| help.to_string())
                .unwrap_or_default();
            let is_right = help.contains("the right to read it");
            assert_eq!(is_right, kind == ErrorKind::PermissionDenied, "{help}");
            assert!(!help.contains("make room"), "{help}");
        }
    }

    #[test]
    fn t11_a_file_that_may_not_be_opened_is_not_called_locked() {
        let said = "failed open - '/r/.git/HEAD' is locked: Permission denied";
        let failure = not_written(said).expect("a refusal");
        assert_eq!(failure.message, "'/r/.git/HEAD': Permission denied");
        let said = "could not open '/r/.git/HEAD': Too many open files";
        let failure = not_written(said).expect("a refusal");
        assert_eq!(failure.code, Code::OpenFilesExhausted);
    }
}
