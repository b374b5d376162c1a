//! Merging again what was merged: whole commits and trees, three ways, to see what a merge should have
//! given. What comes out is thrown away: nothing is written to the repository.

use super::objects::CommitInfo;
use super::repo::{Repo, oid, raw};
use super::run::{Captured, Run};
use super::{failed, no_temporary_folder};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_base::tree_change::{Change, Depth, Merge};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A temporary repository that borrows the objects of another one: without its refs, configuration,
/// attributes and merge drivers, so that nothing but objects has a say.
pub struct Remerge {
    inner: git2::Repository,
    dir: tempfile::TempDir,
}

/// Differences between a merge commit and the merge of its parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Paths that merge without a conflict, and that the commit has otherwise.
    pub paths: Vec<String>,
    /// Paths that somebody had to resolve.
    pub conflicts: Vec<String>,
}

impl Remerge {
    pub fn new(repo: &Repo) -> Result<Self> {
        let made = |error: std::io::Error| no_temporary_folder("merge in", &error);
        // A push in quarantine has its objects elsewhere.
        let mut borrowed = vec![repo.common_dir().join("objects")];
        borrowed.extend(loopx_base::env::var_os("GIT_OBJECT_DIRECTORY").map(PathBuf::from));
        borrowed.extend(loopx_base::env::paths("GIT_ALTERNATE_OBJECT_DIRECTORIES"));
        let mut alternates = String::new();
        for path in borrowed.iter().filter(|path| !path.as_os_str().is_empty()) {
            let path = std::path::absolute(path).map_err(made)?;
            // writeln! to a String cannot fail.
            let _ = writeln!(alternates, "{}", path.display());
        }
        let format = match repo.inner.format() {
            git2::ObjectFormat::Sha1 => "sha1",
            git2::ObjectFormat::Sha256 => "sha256",
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {format}\n[merge]\n\tdirectoryRenames = true\n"
        );
        let dir = tempfile::Builder::new()
            .prefix("git-loopx-")
            .tempdir()
            .map_err(made)?;
        let at = |name: &str| dir.path().join(name);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(at("objects/info"))?;
            std::fs::create_dir(at("refs"))?;
            std::fs::write(at("objects/info/alternates"), alternates)?;
            std::fs::write(at("HEAD"), "ref: refs/heads/none\n")?;
            std::fs::write(at("config"), config)?;
            let shallow = repo.common_dir().join("shallow");
            if shallow.exists() {
                std::fs::copy(shallow, at("shallow"))?;
            }
            Ok(())
        };
        write().map_err(made)?;
        let inner = git2::Repository::open_bare(dir.path())
            .map_err(|error| failed(&error, "open the repository to merge in"))?;
        Ok(Remerge { inner, dir })
    }

    fn raw(&self, id: &Oid) -> Result<git2::Oid> {
        raw(id, self.inner.object_format())
    }

    /// Differences between a merge of two commits and the result of merging its parents.
    pub fn strays(&self, merge: &CommitInfo) -> Result<Strays> {
        let [ours, theirs] = merge.parents.as_slice() else {
            return Ok(Strays::default());
        };
        self.departures(ours, theirs, &merge.tree)
    }

    /// Differences between a tree and the result of merging two commits. libgit2 is asked first; git, which follows
    /// renamed folders too, only before a path is held against somebody.
    pub fn departures(&self, ours: &Oid, theirs: &Oid, made: &Oid) -> Result<Strays> {
        let doing = |error: git2::Error| failed(&error, format!("merge {theirs} into {ours}"));
        let find = |id: &Oid| self.inner.find_commit(self.raw(id)?).map_err(doing);
        let index = self
            .inner
            .merge_commits(&find(ours)?, &find(theirs)?, None)
            .map_err(doing)?;
        let conflicts = conflicts(&index).map_err(doing)?;
        let tree = self.inner.find_tree(self.raw(made)?).map_err(doing)?;
        let mut options = git2::DiffOptions::new();
        options.skip_binary_check(true).include_typechange(true);
        let diff = self
            .inner
            .diff_tree_to_index(Some(&tree), Some(&index), Some(&mut options))
            .map_err(doing)?;
        let mut paths: BTreeSet<String> = super::code::paths(&diff).into_iter().collect();
        paths.retain(|path| !conflicts.contains(path));
        let found = Strays {
            paths: paths.into_iter().collect(),
            conflicts: conflicts.into_iter().collect(),
        };
        if found.paths.is_empty() {
            return Ok(found);
        }
        // A git that is too old to answer leaves the first answer.
        Ok(self.by_git(made, ours, theirs)?.unwrap_or(found))
    }

    /// Differences between `made` and the result of `git merge-tree`; `None` where git is too old to answer.
    fn by_git(&self, made: &Oid, ours: &Oid, theirs: &Oid) -> Result<Option<Strays>> {
        let Some((tree, words)) = self.git_merges(ours, theirs)? else {
            return Ok(None);
        };
        let differing = self.git(&[
            "diff-tree",
            "-r",
            "--name-only",
            "--no-renames",
            "-z",
            &tree,
            made.as_str(),
        ])?;
        if differing.ended.code != 0 {
            return Ok(None);
        }
        let mut paths = split(&differing.stdout);
        paths.retain(|path| !words.contains(path));
        Ok(Some(Strays {
            paths,
            conflicts: words,
        }))
    }

    /// The paths, but for these, that merging two commits gives otherwise than it would if the second one had these as
    /// they were where the two met: git carries a change to where the other side renamed its file, or the folder of a
    /// new one. Both that libgit2 and that git carry are meant: anybody may merge with either.
    pub fn carried(
        &self,
        ours: &Oid,
        theirs: &Oid,
        changed: &BTreeSet<String>,
    ) -> Result<Vec<String>> {
        let doing = |error: git2::Error| failed(&error, format!("merge {theirs} into {ours}"));
        let find = |id: &Oid| self.inner.find_commit(self.raw(id)?).map_err(doing);
        let (one, other) = (find(ours)?, find(theirs)?);
        let base = match self.inner.merge_base(one.id(), other.id()) {
            Ok(base) => self.inner.find_commit(base).map_err(doing)?,
            // Nothing was renamed since a time that there was not.
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(doing(error)),
        };
        let (before, after) = (base.tree().map_err(doing)?, other.tree().map_err(doing)?);
        let mut update = git2::build::TreeUpdateBuilder::new();
        for path in changed.iter().map(std::path::Path::new) {
            match (before.get_path(path), after.get_path(path)) {
                (Ok(was), _) => {
                    update.upsert(path, was.id(), mode_of(&was));
                }
                (Err(_), Ok(_)) => {
                    update.remove(path);
                }
                (Err(_), Err(_)) => {}
            }
        }
        let tree = update.create_updated(&self.inner, &after).map_err(doing)?;
        let tree = self.inner.find_tree(tree).map_err(doing)?;
        let who = git2::Signature::new("git loopx", "nobody", &git2::Time::new(0, 0));
        let who = who.map_err(doing)?;
        let without = self
            .inner
            .commit(None, &who, &who, "without", &tree, &[&other])
            .map_err(doing)?;
        let without = oid(without)?;
        let mut found: BTreeSet<String> = BTreeSet::new();
        let merged = |theirs: &Oid| -> Result<git2::Index> {
            let merged = self.inner.merge_commits(&one, &find(theirs)?, None);
            merged.map_err(doing)
        };
        let (with, less) = (merged(theirs)?, merged(&without)?);
        let diff = self
            .inner
            .diff_index_to_index(&with, &less, None)
            .map_err(doing)?;
        found.extend(super::code::paths(&diff));
        let (with, less) = (
            conflicts(&with).map_err(doing)?,
            conflicts(&less).map_err(doing)?,
        );
        found.extend(with.symmetric_difference(&less).cloned());
        if let (Some((with, in_with)), Some((less, in_less))) = (
            self.git_merges(ours, theirs)?,
            self.git_merges(ours, &without)?,
        ) {
            found.extend(self.changed_paths(&Oid::parse(&with)?, &Oid::parse(&less)?)?);
            let (in_with, in_less) = (BTreeSet::from_iter(in_with), BTreeSet::from_iter(in_less));
            found.extend(in_with.symmetric_difference(&in_less).cloned());
        }
        Ok(found
            .into_iter()
            .filter(|path| !changed.contains(path))
            .collect())
    }

    fn git(&self, args: &[&str]) -> Result<Captured> {
        Run::git(args)
            .scrubbed()
            .env("GIT_DIR", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("LC_ALL", "C")
            .capture()
    }

    /// The tree that git merges two commits to, and the paths that are in conflict there. A git that is too
    /// old to answer gives nothing.
    fn git_merges(&self, ours: &Oid, theirs: &Oid) -> Result<Option<(String, Vec<String>)>> {
        let merged = self.git(&[
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            ours.as_str(),
            theirs.as_str(),
        ])?;
        if merged.ended.code > 1 {
            return Ok(None);
        }
        let mut words = split(&merged.stdout);
        if words.is_empty() {
            return Ok(None);
        }
        let tree = words.remove(0);
        Ok(Some((tree, words)))
    }

    /// Holds the result of merging two commits against a tree. libgit2 is asked first, then, before a difference is
    /// held against somebody, git, which forges merge with: git follows renamed folders and compares lines in another
    /// way.
    pub fn merge(&self, ours: &Oid, theirs: &Oid, tree: &Oid, depth: Depth) -> Result<Merge> {
        let doing = |error: git2::Error| failed(&error, format!("merge {theirs} into {ours}"));
        let find = |id: &Oid| self.inner.find_commit(self.raw(id)?).map_err(doing);
        let index = self
            .inner
            .merge_commits(&find(ours)?, &find(theirs)?, None)
            .map_err(doing)?;
        let found = self.held_against(index, tree)?;
        if found == Merge::Same || depth == Depth::Quick {
            return Ok(found);
        }
        Ok(match self.git_merges(ours, theirs)? {
            Some((merged, conflicts)) if conflicts.is_empty() => {
                if merged.as_str() == tree.as_str() {
                    Merge::Same
                } else {
                    Merge::Other(self.changes(&Oid::parse(&merged)?, tree)?)
                }
            }
            _ => found,
        })
    }

    /// Holds the result of picking the changes between two trees onto a third against `tree`.
    pub fn pick(&self, from: &Oid, to: &Oid, onto: &Oid, tree: &Oid) -> Result<Merge> {
        let doing = |error: git2::Error| failed(&error, "pick a change");
        let find = |id: &Oid| self.inner.find_tree(self.raw(id)?).map_err(doing);
        let index = self
            .inner
            .merge_trees(&find(from)?, &find(onto)?, &find(to)?, None)
            .map_err(doing)?;
        self.held_against(index, tree)
    }

    fn held_against(&self, mut index: git2::Index, tree: &Oid) -> Result<Merge> {
        if index.has_conflicts() {
            return Ok(Merge::Conflict);
        }
        let merged = index
            .write_tree_to(&self.inner)
            .map_err(|error| failed(&error, "write a merged tree"))?;
        let merged = oid(merged)?;
        if merged == *tree {
            Ok(Merge::Same)
        } else {
            Ok(Merge::Other(self.changes(&merged, tree)?))
        }
    }

    /// The tree that three trees merge to; `None` where somebody would have to resolve a conflict.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Option<Oid>> {
        let doing = |error: git2::Error| failed(&error, "merge three trees");
        let find = |id: &Oid| self.inner.find_tree(self.raw(id)?).map_err(doing);
        let mut index = self
            .inner
            .merge_trees(&find(base)?, &find(ours)?, &find(theirs)?, None)
            .map_err(doing)?;
        if index.has_conflicts() {
            return Ok(None);
        }
        let tree = index.write_tree_to(&self.inner).map_err(doing)?;
        oid(tree).map(Some)
    }

    fn changes(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>> {
        let find = |id: git2::Oid| {
            let found = self.inner.find_tree(id);
            found.map_err(|error| failed(&error, "compare two trees"))
        };
        super::tree_diff::changes(find, Some(self.raw(old)?), Some(self.raw(new)?))
    }

    /// The paths that differ between two trees, which may be merged ones.
    pub fn changed_paths(&self, old: &Oid, new: &Oid) -> Result<Vec<String>> {
        let doing = |error: git2::Error| failed(&error, "compare two trees");
        let find = |id: &Oid| self.inner.find_tree(self.raw(id)?).map_err(doing);
        let mut options = git2::DiffOptions::new();
        options.skip_binary_check(true);
        let diff = self
            .inner
            .diff_tree_to_tree(Some(&find(old)?), Some(&find(new)?), Some(&mut options))
            .map_err(doing)?;
        Ok(super::code::paths(&diff))
    }
}

fn mode_of(entry: &git2::TreeEntry<'_>) -> git2::FileMode {
    use git2::FileMode;
    let all = [
        FileMode::BlobExecutable,
        FileMode::Link,
        FileMode::Commit,
        FileMode::Tree,
    ];
    let found = all
        .into_iter()
        .find(|mode| i32::from(*mode) == entry.filemode());
    found.unwrap_or(FileMode::Blob)
}

fn split(bytes: &[u8]) -> Vec<String> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

fn conflicts(index: &git2::Index) -> std::result::Result<BTreeSet<String>, git2::Error> {
    let mut found = BTreeSet::new();
    for conflict in index.conflicts()? {
        let conflict = conflict?;
        for side in [conflict.ancestor, conflict.our, conflict.their]
            .into_iter()
            .flatten()
        {
            found.insert(String::from_utf8_lossy(&side.path).into_owned());
        }
    }
    Ok(found)
}
