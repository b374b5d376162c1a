//! Refs: exact look-ups, and compare-and-swap as the only way to move one.

use super::repo::Repo;
use super::run::Run;
use super::sharing::SharedUmask;
use loopx_base::failpoint::{fail, reach};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Result of a compare-and-swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    Moved,
    /// Loss against somebody else, who moved the ref: read again, decide again.
    Lost,
    /// The ref's lock file is there: somebody is moving it, or was killed while doing so.
    Locked,
}

/// Bytes at the end of a branch's log that are searched for former names: some hundred entries.
const LOG_END: u64 = 64 * 1024;

fn end_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(file)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LOG_END)))?;
    let mut text = Vec::new();
    file.take(LOG_END).read_to_end(&mut text)?;
    Ok(text)
}

impl Repo {
    /// Object that a ref points at; the ref is given by its exact name.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        self.backend.find_ref(name)
    }

    /// The ref that a symbolic ref names; `None` where it is an ordinary one, or none.
    pub fn symbolic_target(&self, name: &str) -> Result<Option<String>> {
        self.backend.symbolic_target(name)
    }

    /// Moves a ref if it still is where it was read; `None` is "must not exist". With a reflog entry.
    /// What the new commit brings is on disk before, in a kept pack.
    pub fn swap_ref(&self, name: &str, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap> {
        self.keep(new)?;
        reach("step-written");
        self.require_here(new)?;
        let umask = SharedUmask::of(self.sharing());
        let swap = self.backend.swap_ref(name, new, old, why);
        drop(umask);
        self.share_ref(name);
        if matches!(swap, Ok(Swap::Moved)) {
            fail("ref-moved").map_err(|error| super::unwritable(Path::new(name), &error))?;
            self.take_lock_away(name)?;
        }
        swap
    }

    /// Removes the lock file of a ref that moved, where it stays: libgit2 gives a new ref its name by a second link, and does
    /// not ask how the removal of the first ended. The lock of another git has one link.
    fn take_lock_away(&self, name: &str) -> Result<()> {
        let path = self.common_dir().join(format!("{name}.lock"));
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() && meta.nlink() > 1 => {
                let removed = std::fs::remove_file(&path);
                removed.map_err(|error| {
                    Failure::internal(
                        Code::RefLocked,
                        format!("remove {}: {error}", path.display()),
                    )
                })
            }
            _ => Ok(()),
        }
    }

    /// Removes a ref that still is where it was read. Through git, which knows every format of refs.
    pub fn drop_ref(&self, name: &str, old: &Oid) -> Result<()> {
        let ended = Run::git(["update-ref", "-d", name, old.as_str()]).capture()?;
        ended.ok().map(drop)
    }

    /// The names that a branch had before `git branch -m`, newest first: as the end of git's own log of it says. Empty
    /// where there is no such file, and a format of refs without one is not asked.
    pub fn former_names(&self, branch: &str) -> Vec<String> {
        let file = self.common_dir().join("logs/refs/heads").join(branch);
        let text = end_of(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let former = |line: &str| {
            let (_, said) = line.split_once("\tBranch: renamed refs/heads/")?;
            Some(said.split_once(" to refs/heads/")?.0.to_owned())
        };
        text.lines().rev().filter_map(former).collect()
    }

    /// The commit of a branch that HEAD went away from last in this worktree: as the end of git's own log of HEAD says.
    pub fn left(&self, branch: &str) -> Option<Oid> {
        let text = end_of(&self.git_dir().join("logs/HEAD")).ok()?;
        let text = String::from_utf8_lossy(&text);
        let from = format!("\tcheckout: moving from {branch} to ");
        let line = text.lines().rev().find(|line| line.contains(&from))?;
        Oid::parse(line.split(' ').next()?).ok()
    }

    /// The stashes that have a message, as the end of git's own log of them says: the number by which git names each, the
    /// branch that it was made on, and the message (git-stash(1)).
    pub fn stashes(&self) -> Vec<(usize, String, String)> {
        let text = end_of(&self.common_dir().join("logs/refs/stash")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let read = |(number, line): (usize, &str)| {
            let (_, said) = line.split_once('\t')?;
            let (branch, message) = said.strip_prefix("On ")?.split_once(": ")?;
            Some((number, branch.to_owned(), message.to_owned()))
        };
        text.lines().rev().enumerate().filter_map(read).collect()
    }

    /// Ids at which a ref has been, by git's own log, newest first. Empty where there is no log, or none that can be
    /// read.
    pub fn moves(&self, name: &str) -> Vec<Oid> {
        let parse = |id: &str| Oid::parse(id).ok();
        if let Ok(text) = std::fs::read(self.common_dir().join("logs").join(name)) {
            let text = String::from_utf8_lossy(&text);
            let ids = text.lines().rev().flat_map(|line| {
                let mut words = line.split(' ');
                let (old, new) = (words.next(), words.next());
                [new.and_then(parse), old.and_then(parse)]
            });
            return ids.flatten().collect();
        }
        let said = Run::git(["reflog", "show", "--format=%H", name]).capture();
        let said = said.and_then(|said| said.ok()).unwrap_or_default();
        String::from_utf8_lossy(&said)
            .lines()
            .filter_map(parse)
            .collect()
    }

    /// Takes the file of a ref out of the way that holds no id, as a power cut can leave it; it goes beside
    /// our lock. `false`: that is not what is wrong with it.
    pub fn set_aside_broken_ref(&self, name: &str) -> Result<bool> {
        let path = self.common_dir().join(name);
        let Ok(bytes) = std::fs::read(&path) else {
            return Ok(false);
        };
        let text = String::from_utf8_lossy(&bytes);
        if text.starts_with("ref: ") || Oid::parse(text.trim()).is_ok() {
            return Ok(false);
        }
        let aside = self.common_dir().join("loopx").join("broken");
        let to = aside.join(name.replace('/', "-"));
        self.make_folder(&aside)
            .and_then(|()| std::fs::rename(&path, &to))
            .map_err(|error| super::unwritable(&path, &error))?;
        Ok(true)
    }

    /// The worktree in which a branch is checked out, if one has it.
    pub fn checked_out_in(&self, branch_ref: &str) -> Result<Option<PathBuf>> {
        self.backend.checked_out_in(branch_ref)
    }

    /// Tells whether a rebase in any worktree will move this branch when it ends.
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

    /// The remote that a branch belongs to: the one that it tracks, else `origin`, else the only one.
    pub fn default_remote(&self, branch: Option<&str>) -> Result<Option<String>> {
        let tracked = branch.and_then(|branch| self.config(&format!("branch.{branch}.remote")));
        // `.` is this repository itself.
        if let Some(remote) = tracked.filter(|remote| remote != ".") {
            return Ok(Some(remote));
        }
        let names = self.backend.remotes()?;
        Ok(match names.as_slice() {
            [only] => Some(only.clone()),
            names => names.iter().find(|name| *name == "origin").cloned(),
        })
    }

    /// The remote whose branches count as the project's: `loopx.remote`, else `origin` or the only one. Others may be
    /// anybody's.
    pub fn project_remote(&self) -> Result<Option<String>> {
        match self.config("loopx.remote") {
            Some(remote) => Ok(Some(remote)),
            None => self.default_remote(None),
        }
    }

    /// The remote-tracking ref of a branch of the project: at the remote that the branch tracks by this clone's
    /// configuration, else at that of the project.
    pub fn project_ref(&self, branch: &str) -> Result<Option<(String, Oid)>> {
        let tracked = self.config(&format!("branch.{branch}.remote"));
        let remote = match tracked.filter(|remote| remote != ".") {
            Some(remote) => Some(remote),
            None => self.project_remote()?,
        };
        let Some(remote) = remote else {
            return Ok(None);
        };
        let name = format!("refs/remotes/{remote}/{branch}");
        Ok(self.find_ref(&name)?.map(|tip| (name, tip)))
    }

    /// The branch that a remote's HEAD was when it was cloned or asked.
    pub fn default_branch(&self, remote: &str) -> Result<Option<String>> {
        let target = self
            .backend
            .symbolic_target(&format!("refs/remotes/{remote}/HEAD"))?;
        Ok(target.and_then(|target| {
            let branch = target.strip_prefix(&format!("refs/remotes/{remote}/"))?;
            Some(branch.to_owned())
        }))
    }

    /// The remote-tracking refs of a branch, `refs/remotes/<remote>/<branch>`, at whichever remote: that of the
    /// project first.
    pub fn tracking_refs(&self, branch: &str) -> Result<Vec<(String, Oid)>> {
        let mut found = Vec::new();
        let mut remotes = self.backend.remotes()?;
        let first = self.project_remote()?;
        remotes.sort_by_key(|remote| Some(remote) != first.as_ref());
        for remote in remotes {
            let name = format!("refs/remotes/{remote}/{branch}");
            if let Some(id) = self.find_ref(&name)? {
                found.push((name, id));
            }
        }
        Ok(found)
    }

    /// Every ref below a folder like `refs/heads/`.
    pub fn refs_below(&self, folder: &str) -> Result<Vec<(String, Oid)>> {
        self.backend.refs_below(folder)
    }

    /// Tells whether git takes a name, from `refs/` on, for a ref.
    pub fn is_ref_name(name: &str) -> bool {
        git2::Reference::is_valid_name(name)
    }

    /// Refuses a branch name that git does not take.
    pub fn check_branch_name(name: &str) -> Result<()> {
        if git2::Branch::name_is_valid(name).unwrap_or(false) {
            Ok(())
        } else {
            Err(Failure::usage(
                Code::BranchNameInvalid,
                format!("expected a name that git takes for a branch, found `{name}`"),
            )
            .help("git check-ref-format --branch NAME  (says whether git takes the name)"))
        }
    }
}
