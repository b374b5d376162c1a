//! The code that a session is about: the worktree's content as a tree, the paths of a commit, the
//! people of a range.

use super::failed;
use super::repo::{Repo, oid, person, raw};
use super::run::Run;
use crate::core::failure::{Failure, Result};
use crate::core::gate::Code;
use crate::core::id::{Oid, Person};
use crate::core::op::Role;
use std::path::Path;

const INTENT_TO_ADD: u16 = git2::IndexEntryExtendedFlag::INTENT_TO_ADD.bits();

impl Repo {
    /// The code as it is in the worktree; `None` in a bare repository. Asks git, which knows filters,
    /// sparse checkouts and every index format; one process when nothing is uncommitted, three otherwise.
    pub fn code(&self) -> Result<Option<Code>> {
        let Some(top) = self.work_dir() else {
            return Ok(None);
        };
        let head = self.head()?.commit;
        let head_tree = match &head {
            Some(commit) => Some(self.commit_info(commit)?.tree),
            None => None,
        };
        let status = self
            .git_at(
                top,
                [
                    "status",
                    "--porcelain",
                    "-z",
                    "--untracked-files=normal",
                    "--no-renames",
                ],
            )
            .env("GIT_OPTIONAL_LOCKS", "0")
            .capture()?
            .ok()?;
        let is_dirty = !status.is_empty();
        let tree = match head_tree {
            Some(tree) if !is_dirty => tree,
            None if !is_dirty => self.empty_tree()?,
            _ => self.worktree_tree(top)?,
        };
        Ok(Some(Code {
            head,
            tree,
            is_dirty,
        }))
    }

    /// git at the top of the worktree. Where the environment names the repository, it may do so from the
    /// folder that we were started in: git is told the whole names.
    fn git_at<const N: usize>(&self, top: &Path, args: [&str; N]) -> Run {
        let run = Run::git(args).cwd(top);
        let named = |name: &str| crate::env::var_os(name).is_some();
        if named("GIT_DIR") || named("GIT_WORK_TREE") {
            run.env("GIT_DIR", self.git_dir()).env("GIT_WORK_TREE", top)
        } else {
            run
        }
    }

    /// The worktree's content as a tree, through a copy of the index: the index itself stays as it is.
    fn worktree_tree(&self, top: &Path) -> Result<Oid> {
        let failed = |error: std::io::Error| {
            Failure::internal("index_unreadable", error.to_string()).context("copy the index")
        };
        let dir = self.common_dir().join("loopx");
        std::fs::create_dir_all(&dir).map_err(failed)?;
        let copy = tempfile::NamedTempFile::new_in(&dir).map_err(failed)?;
        let index = self.git_dir().join("index");
        if index.exists() {
            std::fs::copy(&index, copy.path()).map_err(failed)?;
        } else {
            // git refuses an empty file as an index, but makes one that is not there.
            std::fs::remove_file(copy.path()).map_err(failed)?;
        }
        let add = self
            .git_at(top, ["add", "--all", "--", "."])
            .env("GIT_INDEX_FILE", copy.path())
            .capture()?;
        add.ok()?;
        let tree = self
            .git_at(top, ["write-tree"])
            .env("GIT_INDEX_FILE", copy.path())
            .capture()?
            .line()?;
        Oid::parse(String::from_utf8_lossy(&tree).trim())
    }

    /// The paths that differ between a tree (or nothing) and the index that the environment names: what
    /// a commit would change.
    pub fn staged_paths(&self, tree: Option<&Oid>) -> Result<Vec<String>> {
        let doing = |error: git2::Error| failed(&error, "compare HEAD and the index");
        let index = self.inner.index().map_err(doing)?;
        let tree = match tree {
            Some(id) => Some(self.inner.find_tree(raw(id)?).map_err(doing)?),
            None => None,
        };
        let mut options = git2::DiffOptions::new();
        options.skip_binary_check(true).include_typechange(true);
        let diff = self
            .inner
            .diff_tree_to_index(tree.as_ref(), Some(&index), Some(&mut options))
            .map_err(doing)?;
        let mut found = paths(&diff);
        // `git add --intent-to-add` only announces a file: no tree gets it.
        found.retain(|path| {
            let announced = index
                .get_path(Path::new(path), 0)
                .is_some_and(|entry| entry.flags_extended & INTENT_TO_ADD != 0);
            let was_there = || {
                tree.as_ref()
                    .is_some_and(|tree| tree.get_path(Path::new(path)).is_ok())
            };
            !announced || was_there()
        });
        Ok(found)
    }

    /// The paths that differ between two trees.
    pub fn changed_paths(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<String>> {
        let doing = |error: git2::Error| failed(&error, "compare two trees");
        let old = match old {
            Some(id) => Some(self.inner.find_tree(raw(id)?).map_err(doing)?),
            None => None,
        };
        let new = self.inner.find_tree(raw(new)?).map_err(doing)?;
        let mut options = git2::DiffOptions::new();
        options.skip_binary_check(true);
        let diff = self
            .inner
            .diff_tree_to_tree(old.as_ref(), Some(&new), Some(&mut options))
            .map_err(doing)?;
        Ok(paths(&diff))
    }

    /// Everybody who took part in a commit, aliases resolved through the mailmap.
    pub fn people(&self, commit: &Oid) -> Result<Vec<(Role, Person)>> {
        let doing = |error: git2::Error| failed(&error, format!("read commit {commit}"));
        let commit = self.inner.find_commit(raw(commit)?).map_err(doing)?;
        let mut people = vec![
            (Role::Author, person(&commit.author())),
            (Role::Committer, person(&commit.committer())),
        ];
        for line in String::from_utf8_lossy(commit.message_bytes()).lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            if key.trim().eq_ignore_ascii_case("co-authored-by") {
                people.push((Role::CoAuthor, Person::parse(value)));
            }
        }
        people
            .into_iter()
            .map(|(role, person)| Ok((role, self.canonical(&person)?)))
            .collect()
    }

    /// A person under the name that `.mailmap` gives.
    pub fn canonical(&self, who: &Person) -> Result<Person> {
        let doing = |error: git2::Error| failed(&error, "read the mailmap");
        let mailmap = self.inner.mailmap().map_err(doing)?;
        let Ok(signature) = git2::Signature::new(&who.name, &who.email, &git2::Time::new(0, 0))
        else {
            return Ok(who.clone());
        };
        let resolved = mailmap.resolve_signature(&signature).map_err(doing)?;
        Ok(person(&resolved))
    }

    /// Where two histories met last.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        match self.inner.merge_base(raw(one)?, raw(other)?) {
            Ok(id) => oid(id).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(&error, "find the merge base")),
        }
    }
}

fn paths(diff: &git2::Diff<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for delta in diff.deltas() {
        for file in [delta.old_file(), delta.new_file()] {
            if let Some(path) = file.path_bytes() {
                let path = String::from_utf8_lossy(path).into_owned();
                if found.last() != Some(&path) {
                    found.push(path);
                }
            }
        }
    }
    found
}
