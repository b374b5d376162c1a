//! Refs: exact look-ups, and compare-and-swap as the only way to move one.

use super::failed;
use super::repo::{Repo, oid, raw};
use crate::core::failure::{Failure, Result};
use crate::core::id::Oid;
use std::path::PathBuf;

/// How a compare-and-swap ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    Moved,
    /// Somebody else moved the ref: read again, decide again.
    Lost,
    /// The ref's lock file is there: somebody is moving it, or was killed while doing so.
    Locked,
}

impl Repo {
    /// What a ref points at, by exact name.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        match self.inner.refname_to_id(name) {
            Ok(id) => oid(id).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(&error, format!("read {name}"))),
        }
    }

    /// Moves a ref if it still is where it was read; `None` is "must not exist". The comparison
    /// happens under the ref's lock; a zero id, not `force = false`, is what makes creation safe
    /// (reference git-stores, section 0).
    pub fn swap_ref(&self, name: &str, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap> {
        let expected = match old {
            Some(id) => raw(id)?,
            None => match self.inner.object_format() {
                git2::ObjectFormat::Sha1 => git2::Oid::ZERO_SHA1,
                git2::ObjectFormat::Sha256 => git2::Oid::ZERO_SHA256,
            },
        };
        match self
            .inner
            .reference_matching(name, raw(new)?, true, expected, why)
        {
            Ok(_) => Ok(Swap::Moved),
            Err(error) => match error.code() {
                git2::ErrorCode::Locked => Ok(Swap::Locked),
                git2::ErrorCode::Modified | git2::ErrorCode::Exists => Ok(Swap::Lost),
                // The old value was expected and the ref is gone: also a lost race.
                git2::ErrorCode::NotFound if old.is_some() => Ok(Swap::Lost),
                _ => Err(failed(&error, format!("move {name}"))),
            },
        }
    }

    /// The worktree in which a branch is checked out, if one has it.
    pub fn checked_out_in(&self, branch_ref: &str) -> Result<Option<PathBuf>> {
        let common = self.common_dir();
        let points_there = |head: PathBuf| {
            std::fs::read_to_string(head)
                .ok()
                .and_then(|text| Some(text.strip_prefix("ref: ")?.trim() == branch_ref))
                .unwrap_or(false)
        };
        if points_there(common.join("HEAD")) && !self.common_is_bare() {
            let main = if self.inner.is_worktree() {
                common.parent().map(PathBuf::from)
            } else {
                self.work_dir().map(PathBuf::from)
            };
            return Ok(Some(main.unwrap_or(common)));
        }
        let Ok(entries) = std::fs::read_dir(common.join("worktrees")) else {
            return Ok(None);
        };
        for entry in entries.flatten() {
            if points_there(entry.path().join("HEAD")) {
                // `gitdir` names the worktree's `.git` file, absolute or relative to the entry.
                let dot_git =
                    std::fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
                let dot_git = entry.path().join(dot_git.trim_end_matches(['\n', '\r']));
                let path = dot_git.parent().map_or_else(|| entry.path(), PathBuf::from);
                return Ok(Some(std::fs::canonicalize(&path).unwrap_or(path)));
            }
        }
        Ok(None)
    }

    /// Whether a rebase in any worktree will move this branch when it ends.
    pub fn is_being_rebased(&self, branch_ref: &str) -> bool {
        let common = self.common_dir();
        let mut git_dirs = vec![common.clone()];
        if let Ok(entries) = std::fs::read_dir(common.join("worktrees")) {
            git_dirs.extend(entries.flatten().map(|entry| entry.path()));
        }
        let names = [
            "rebase-merge/head-name",
            "rebase-apply/head-name",
            "rebase-merge/update-refs",
        ];
        git_dirs.iter().any(|dir| {
            names.iter().any(|name| {
                std::fs::read_to_string(dir.join(name))
                    .is_ok_and(|text| text.lines().any(|line| line == branch_ref))
            })
        })
    }

    fn common_is_bare(&self) -> bool {
        self.config("core.bare")
            .is_some_and(|value| value == "true")
    }

    /// The remote that a branch belongs to: the one that it tracks, else `origin`, else the only one.
    pub fn default_remote(&self, branch: Option<&str>) -> Result<Option<String>> {
        let tracked = branch.and_then(|branch| self.config(&format!("branch.{branch}.remote")));
        // `.` is this repository itself.
        if let Some(remote) = tracked.filter(|remote| remote != ".") {
            return Ok(Some(remote));
        }
        let remotes = self
            .inner
            .remotes()
            .map_err(|error| failed(&error, "list the remotes"))?;
        let names: Vec<&str> = remotes.iter().flatten().flatten().collect();
        Ok(match names.as_slice() {
            [only] => Some((*only).to_owned()),
            names => names.contains(&"origin").then(|| "origin".to_owned()),
        })
    }

    /// The branch that a remote's HEAD was when it was cloned or asked.
    pub fn default_branch(&self, remote: &str) -> Result<Option<String>> {
        let name = format!("refs/remotes/{remote}/HEAD");
        let found = match self.inner.find_reference(&name) {
            Ok(found) => found,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            // No ref has such a name: the remote is given by its address.
            Err(error) if error.code() == git2::ErrorCode::InvalidSpec => return Ok(None),
            Err(error) => return Err(failed(&error, format!("read {name}"))),
        };
        let target = found.symbolic_target().ok().flatten();
        Ok(target
            .and_then(|target| target.strip_prefix(&format!("refs/remotes/{remote}/")))
            .map(str::to_owned))
    }

    /// The remote-tracking refs of a branch: `refs/remotes/<remote>/<branch>`.
    pub fn tracking_refs(&self, branch: &str) -> Result<Vec<(String, Oid)>> {
        let remotes = self
            .inner
            .remotes()
            .map_err(|error| failed(&error, "list the remotes"))?;
        let mut found = Vec::new();
        for remote in remotes.iter().flatten().flatten() {
            let name = format!("refs/remotes/{remote}/{branch}");
            if let Some(id) = self.find_ref(&name)? {
                found.push((name, id));
            }
        }
        Ok(found)
    }

    /// Every ref below a prefix.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let doing = |error: git2::Error| failed(&error, format!("list {prefix}*"));
        let mut found = Vec::new();
        for reference in self
            .inner
            .references_glob(&format!("{prefix}*"))
            .map_err(doing)?
        {
            let reference = reference.map_err(doing)?;
            if let (Ok(name), Some(id)) = (reference.name(), reference.target()) {
                found.push((name.to_owned(), oid(id)?));
            }
        }
        Ok(found)
    }

    /// Whether a branch name is one that git takes.
    pub fn check_branch_name(name: &str) -> Result<()> {
        if git2::Branch::name_is_valid(name).unwrap_or(false) {
            Ok(())
        } else {
            Err(Failure::usage(
                "branch_name_invalid",
                format!("git takes no branch named `{name}`"),
            ))
        }
    }
}
