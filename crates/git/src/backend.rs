//! The facts in which repositories differ: refs, HEAD, configuration, the index, who is acting.
//!
//! Where libgit2 reads a repository as git does, it answers ([`super::files`]). Everywhere else (refs
//! in a reftable, an extension that it does not know, an owner that only git trusts) the git program
//! answers ([`super::program`]), and libgit2 sees no ref at all: what it would write is nothing that
//! git reads. No caller outside `src/git` knows which one it is.

use super::dates::DATES;
use super::refs::Swap;
use super::repo::{Head, Identity};
use super::run::{Captured, Run};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::IDENTITY;
use loopx_base::id::Oid;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub(super) trait Backend {
    /// Object that a ref points at; the ref is given by its exact name.
    fn find_ref(&self, name: &str) -> Result<Option<Oid>>;
    /// Moves a ref that still is where it was read; `None` is "must not exist".
    fn swap_ref(&self, name: &str, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap>;
    /// Every ref below a folder (`refs/heads/`) that is no name for another one.
    fn refs_below(&self, folder: &str) -> Result<Vec<(String, Oid)>>;
    /// The ref that a symbolic ref names; `None` where there is none of that name.
    fn symbolic_target(&self, name: &str) -> Result<Option<String>>;
    fn head(&self) -> Result<Head>;
    /// The commit that a revision names; `None` where it names none.
    fn resolve_commit(&self, revision: &str) -> Result<Option<Oid>>;
    fn checked_out_in(&self, branch_ref: &str) -> Result<Option<PathBuf>>;
    fn is_sequencing(&self) -> Result<bool>;
    fn is_shallow(&self) -> bool;
    fn config(&self, key: &str) -> Option<String>;
    /// Value of a setting, with the scope that sets it.
    fn config_scoped(&self, key: &str) -> Option<(String, &'static str)>;
    fn config_path(&self, key: &str) -> Option<PathBuf>;
    fn remotes(&self) -> Result<Vec<String>>;
    fn identity(&self) -> Result<Identity>;
    fn mailmap(&self) -> Result<git2::Mailmap>;
    /// The paths that differ between a tree and the index that the environment names.
    fn staged_paths(&self, tree: Option<&Oid>) -> Result<Vec<String>>;
    /// The index that the environment names.
    fn index_path(&self) -> PathBuf;
}

/// Mode in which this process starts git to ask something about its repository.
#[derive(Clone, Copy, Debug)]
pub(super) struct Git {
    /// A hook never waits for a network.
    pub(super) in_hook: bool,
}

impl Git {
    /// git here, where the environment and the current folder name the repository. It speaks English, asks
    /// nobody, takes no lock of convenience, and sees the objects that libgit2 sees: no replacements.
    pub(super) fn run<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Run {
        let run = Run::git(args)
            .env("LC_ALL", "C")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0");
        if self.in_hook {
            run.env("GIT_NO_LAZY_FETCH", "1")
        } else {
            run
        }
    }

    /// [`Backend::staged_paths`], where libgit2 cannot read the index: git knows every format.
    pub(super) fn staged_paths(self, tree: &Oid) -> Result<Vec<String>> {
        let listed = self
            .run([
                "diff-index",
                "--cached",
                "--name-only",
                "-z",
                "--no-renames",
                "--ita-invisible-in-index",
                "--ignore-submodules=none",
                tree.as_str(),
                "--",
            ])
            .capture()?
            .ok()?;
        Ok(listed
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect())
    }

    /// All of git's configuration: the last value of each key, which is spelled as git spells it.
    pub(super) fn settings(self) -> HashMap<String, String> {
        let said = self.run(["config", "--null", "--list"]).capture();
        let said = said.and_then(Captured::ok).unwrap_or_default();
        let entries = said
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty());
        entries
            .map(|entry| {
                let entry = String::from_utf8_lossy(entry);
                // A key alone is a yes.
                let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
                (key.to_owned(), value.to_owned())
            })
            .collect()
    }

    /// A path of git's configuration, `~` resolved.
    pub(super) fn config_path(self, key: &str) -> Option<PathBuf> {
        let said = self.run(["config", "--type=path", "--get", key]).capture();
        let path = said.ok()?.line().ok()?;
        Some(PathBuf::from(OsString::from_vec(path)))
    }

    /// Author and committer, as git itself names them.
    pub(super) fn identity(self) -> Result<Identity> {
        let ask = |name: &str| -> Result<git2::Signature<'static>> {
            let said = self.run(["var", name]).capture()?;
            if !said.ended.success() {
                return Err(self.unsigned(name, &said.complaint())?);
            }
            let line = said.line()?;
            let signature = signature(&line).ok_or_else(|| {
                identity_unknown(&format!(
                    "`git var {name}` said `{}`",
                    String::from_utf8_lossy(&line)
                ))
            })?;
            if signature.when().seconds() <= LAST {
                Ok(signature)
            } else {
                let far = DATES.into_iter().filter(|(ident, _)| *ident == name);
                Err(date_invalid("before the year 10000", far))
            }
        };
        let [(author, _), (committer, _)] = DATES;
        Ok(Identity::new(ask(author)?, ask(committer)?))
    }

    /// Failure of git to name an author or committer: where git names them once no date is given, dates are to blame.
    fn unsigned(self, name: &str, said: &str) -> Result<Failure> {
        let asked = self.run(["var", name]);
        let undated = DATES.iter().fold(asked, |run, (_, date)| run.env(date, ""));
        if !undated.capture()?.ended.success() {
            return Ok(identity_unknown(said));
        }
        let mut bad = Vec::new();
        for (ident, date) in DATES {
            if !self.run(["var", ident]).capture()?.ended.success() {
                bad.push((ident, date));
            }
        }
        Ok(date_invalid("that git reads", bad.into_iter()))
    }
}

/// `Name <email> seconds offset`, as git prints it.
pub(super) fn signature(line: &[u8]) -> Option<git2::Signature<'static>> {
    let line = String::from_utf8_lossy(line);
    let (person, time) = line.rsplit_once('>')?;
    let (name, email) = person.split_once('<')?;
    let mut time = time.split_whitespace();
    let seconds: i64 = time.next()?.parse().ok()?;
    let offset: i32 = time.next()?.parse().ok()?;
    let minutes = offset / 100 * 60 + offset % 100;
    git2::Signature::new(name.trim(), email, &git2::Time::new(seconds, minutes)).ok()
}

/// The last second that a record can write.
const LAST: i64 = 253_402_300_799;

fn date_invalid(wanted: &str, bad: impl Iterator<Item = (&'static str, &'static str)>) -> Failure {
    let (names, found): (Vec<&str>, Vec<String>) = bad
        .map(|(_, name)| {
            let text = loopx_base::env::var_os(name).unwrap_or_default();
            (name, format!("`{name}={}`", text.to_string_lossy()))
        })
        .unzip();
    Failure::usage(
        Code::DateInvalid,
        format!(
            "expected a date {wanted}, like 2026-01-31T12:00:00Z, found {} in the environment",
            found.join(" and ")
        ),
    )
    .help(format!("unset {}", names.join(" ")))
}

pub(super) fn identity_unknown(said: &str) -> Failure {
    Failure::new(
        Kind::Refused,
        Code::IdentityUnknown,
        format!("git does not know who you are: {said}"),
    )
    .help(format!(
        "{IDENTITY} (omit --global to set the identity only in this repository)"
    ))
}

/// Tells whether the `HEAD` file of a worktree, in one of git's own folders, names a branch. A file that is there and
/// cannot be read for now answers nothing: a branch that moves under its worktree would be taken back by the next commit
/// there. A worktree that this user may not read is somebody else's, and holds nobody up: git, too, passes it over.
pub(super) fn is_on(head: &Path, branch_ref: &str) -> Result<bool> {
    match std::fs::read(head) {
        Ok(text) => {
            let named = text.strip_prefix(b"ref: ");
            Ok(named.is_some_and(|name| name.trim_ascii() == branch_ref.as_bytes()))
        }
        Err(error) if is_out_of_reach(&error) => Ok(false),
        Err(error) => Err(super::unreadable(head, &error)),
    }
}

/// Tells whether a path could not be read because nothing is there for this user.
pub(super) fn is_out_of_reach(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Found;
    let kinds = [
        Found::NotFound,
        Found::NotADirectory,
        Found::PermissionDenied,
    ];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::is_on;

    #[test]
    fn n13_a_head_that_cannot_be_read_is_not_taken_for_another_branch() {
        let dir = tempfile::tempdir().expect("a folder");
        let head = dir.path().join("HEAD");
        assert!(!is_on(&head, "refs/heads/main").expect("nothing is there"));
        std::fs::write(&head, "ref: refs/heads/main\n").expect("written");
        assert!(is_on(&head, "refs/heads/main").expect("read"));
        assert!(!is_on(&head, "refs/heads/mai").expect("read"));
        assert!(is_on(dir.path(), "refs/heads/main").is_err());
    }
}
