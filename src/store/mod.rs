//! Sessions as commits on one branch (`refs/heads/loopx`): formats, paths, compare-and-swap.
//!
//! One command is one commit whose tree is the new state; objects are built without index, worktree
//! or checkout. Reading costs a few look-ups however long the history is. The store knows no rule: a
//! closure decides on a [`Snapshot`], and decides again when the branch moved meanwhile.

mod arrived;
mod attest;
pub mod check;
pub mod checked;
mod edits;
mod folder;
mod guard;
mod import;
mod join;
mod layout;
mod lock;
mod meet;
mod message;
mod ops;
mod past;
pub mod pushed;
mod recovery;
pub mod shadow;
mod shelf;
mod shelves;
mod signatures;
pub mod snapshot;
mod summaries;
mod unite;
mod united;
pub mod unread;
mod whole;

use crate::core::hint::command;
pub use arrived::TakenAway;
pub use attest::left_out;
pub use edits::Edits;
pub use folder::Record;
pub use import::Placed;
pub use join::{Lines, replay};
pub use lock::{Left, Lock, RefLock};
pub use meet::{Linear, Meeting, Met, stands_for, was};
pub use message::{message, one_line};
pub use past::Oddity;
pub use recovery::{Accepted, Recovered};
pub use shadow::Standing;
pub use shelves::comparable;
pub use signatures::SignatureFiles;
pub use snapshot::{Session, Snapshot};
pub use summaries::Summary;
pub use unite::{Rebound, Renamed, United, UnitedSession};
pub use united::version_path;

use crate::core::failure::{Code, Failure, Kind, Result};
use crate::core::id::Oid;
use crate::failpoint::reach;
use crate::git::{Entry, EntryKind, Identity, Repo, Swap};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The format of the branch that this program writes.
pub const FORMAT: &str = "2";

/// Formats that are read. What is written on top of them is of the present one.
const EARLIER: [&str; 1] = ["1"];

/// How long a branch that others keep moving is tried. Only writers that do not know our lock can cost
/// a try.
const BUSY_DEADLINE: Duration = Duration::from_secs(30);

/// How long a branch that another git is moving is waited for.
const REF_DEADLINE: Duration = Duration::from_secs(1);

/// The message of the constant root, which every branch of sessions begins with.
pub const ROOT_MESSAGE: &str = "loopx\n";

/// The sessions of one repository.
pub struct Store<'r> {
    repo: &'r Repo,
    branch: String,
}

/// What a decision came to.
#[derive(Debug)]
pub struct Decision<T> {
    pub edits: Edits,
    pub message: String,
    pub value: T,
}

/// A commit that was made, and what the decision gave.
#[derive(Debug)]
pub struct Committed<T> {
    pub commit: Oid,
    pub value: T,
}

impl<'r> Store<'r> {
    /// The store of a repository, on the branch that `loopx.branch` names.
    pub fn open(repo: &'r Repo) -> Result<Self> {
        let branch = repo
            .config("loopx.branch")
            .unwrap_or_else(|| "loopx".to_owned());
        Repo::check_branch_name(&branch)?;
        Ok(Store { repo, branch })
    }

    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// The branch's short name.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    pub fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The newest state, or `None` where nothing has been initialised.
    pub fn read(&self) -> Result<Option<Snapshot<'r>>> {
        let Some(tip) = self.repo.find_ref(&self.branch_ref())? else {
            return Ok(None);
        };
        match Snapshot::at(self.repo, tip.clone(), &self.branch) {
            // Where this clone knew another, it was replaced, and there is a way back.
            Err(failure) if failure.code == Code::BranchForeign => {
                let replaced = self.require_grown(self.shadow().as_ref(), Some(&tip));
                replaced.map_err(|replaced| replaced.help(command!("doctor --recover")))?;
                Err(failure)
            }
            read => read.map(Some),
        }
    }

    /// The newest state of an initialised repository. Refused where the branch is not what this clone
    /// knew, nor went on from it.
    pub fn snapshot(&self) -> Result<Snapshot<'r>> {
        self.snapshot_since(self.shadow().as_ref())
    }

    /// The same with the shadow in hand, which was read before.
    fn snapshot_since(&self, shadow: Option<&Oid>) -> Result<Snapshot<'r>> {
        let snapshot = self.read()?;
        self.require_grown(shadow, snapshot.as_ref().map(Snapshot::commit))?;
        snapshot.ok_or_else(|| self.not_initialised())
    }

    fn not_initialised(&self) -> Failure {
        let tracked = self.repo.tracking_refs(&self.branch).unwrap_or_default();
        let message = match tracked.first() {
            Some((name, _)) => format!(
                "there is no branch `{}` here yet, but {name} has one",
                self.branch
            ),
            None => format!(
                "this repository is not initialised: it has no branch `{}`",
                self.branch
            ),
        };
        Failure::not_found(Code::NotInitialised, message).help(command!("init"))
    }

    /// Takes the lock that all worktrees of the repository share. A writer holds it from reading to
    /// the last file it touches.
    pub fn lock(&self) -> Result<Lock> {
        if let Some(path) = self.repo.checked_out_in(&self.branch_ref())? {
            return Err(Failure::new(
                Kind::Refused,
                Code::BranchCheckedOut,
                format!(
                    "the branch `{}` is checked out in {}; a commit there would revert sessions",
                    self.branch,
                    path.display()
                ),
            )
            .help("git switch -  (in that worktree), then try again"));
        }
        let lock = lock::acquire(self.repo)?;
        reach("lock-taken");
        Ok(lock)
    }

    /// Who holds the lock, or died with it.
    pub fn holder(&self) -> Option<String> {
        lock::held_by(&lock::file(&self.repo.common_dir()))
    }

    /// Moves the branch: the one way. What the commit brings is on disk before, in a kept pack; a note
    /// tells whoever comes after us what we were at if we are killed.
    pub(crate) fn swap(
        &self,
        lock: &Lock,
        new: &Oid,
        old: Option<&Oid>,
        why: &str,
    ) -> Result<Swap> {
        let name = self.branch_ref();
        lock.note(&[&name, &self.shadow_ref()], new)?;
        reach("step-noted");
        let swap = self.swap_patiently(&name, new, old, why);
        if matches!(swap, Ok(Swap::Moved)) {
            reach("branch-moved");
            self.repo.sync_ref(&name)?;
            self.repo.prepare_sync();
            reach("branch-synced");
            self.know(new);
            reach("shadow-moved");
        }
        self.repo.release();
        reach("keep-dropped");
        lock.forget()?;
        reach("note-forgotten");
        if matches!(swap, Ok(Swap::Moved)) {
            // The step is done; that old packs could not be tidied up is no failure of it.
            drop(self.repo.roll_up());
        }
        swap
    }

    /// Moves a code branch, with the same note. False: somebody else moved it.
    pub fn move_code(
        &self,
        lock: &Lock,
        name: &str,
        new: &Oid,
        old: Option<&Oid>,
        why: &str,
    ) -> Result<bool> {
        lock.note(&[name], new)?;
        let swap = self.swap_patiently(name, new, old, why);
        self.repo.release();
        // Where that fails, the next holder looks for a lock that is not there.
        drop(lock.forget());
        match swap? {
            Swap::Moved => Ok(true),
            Swap::Lost => Ok(false),
            Swap::Locked => Err(self.held(name)),
        }
    }

    /// A ref that somebody else holds is tried again, with the same objects, for a moment.
    fn swap_patiently(&self, name: &str, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap> {
        let began = Instant::now();
        let mut attempt = 0;
        loop {
            let swap = self.repo.swap_ref(name, new, old, why);
            if !matches!(swap, Ok(Swap::Locked)) || began.elapsed() > REF_DEADLINE {
                return swap;
            }
            std::thread::sleep(lock::pause(attempt));
            attempt += 1;
        }
    }

    fn held_by_another_git(&self) -> Failure {
        self.held(&self.branch_ref())
    }

    fn held(&self, name: &str) -> Failure {
        let path = lock::ref_lock(&self.repo.common_dir(), name);
        Failure::new(
            Kind::Waiting,
            Code::RefLocked,
            format!(
                "{} stands in the way: another git process is moving the branch, or was killed while it did",
                path.display()
            ),
        )
        .help(command!("doctor --fix").note("(removes it where no git is at work; else try again)"))
    }

    /// The lock files of refs that stand here.
    pub fn ref_locks(&self) -> Vec<RefLock> {
        lock::ref_locks(self.repo)
    }

    /// Takes away those that nobody holds any more.
    pub fn clear_abandoned_ref_locks(&self, _lock: &Lock) -> Result<()> {
        lock::clear_abandoned(self.repo)
    }

    /// A ref that leaves no room for this one: a name cannot be both a file and a folder.
    fn blocking_ref(&self, name: &str) -> Result<Option<String>> {
        if let Some((below, _)) = self
            .repo
            .refs_below(&format!("{name}/"))?
            .into_iter()
            .next()
        {
            return Ok(Some(below));
        }
        for (at, _) in name.match_indices('/').skip(2) {
            if self.repo.find_ref(&name[..at])?.is_some() {
                return Ok(Some(name[..at].to_owned()));
            }
        }
        Ok(None)
    }

    /// Creates the branch, from a remote-tracking one where there is one, else from the constant root.
    /// Says whether anything was made.
    pub fn init(&self, lock: &Lock, identity: &Identity) -> Result<Option<Oid>> {
        let name = self.branch_ref();
        if self.repo.find_ref(&name)?.is_some() {
            return Ok(None);
        }
        if let Some(other) = self.blocking_ref(&name)? {
            return Err(Failure::refused(
                Code::BranchNameBlocked,
                format!("git cannot keep a branch `{}` beside {other}", self.branch),
            )
            .help("git config loopx.branch loopx-sessions"));
        }
        let known = self.shadow().map(|tip| (self.shadow_ref(), tip));
        let known = match known {
            Some(known) => Some(known),
            None => self.repo.tracking_refs(&self.branch)?.into_iter().next(),
        };
        let (tip, why) = match known {
            Some((name, tip)) => {
                Snapshot::at(self.repo, tip.clone(), &name)?;
                (tip, format!("loopx: init from {name}"))
            }
            None => (self.first_commit(identity)?, "loopx: init".to_owned()),
        };
        match self.swap(lock, &tip, None, &why)? {
            Swap::Moved => Ok(Some(tip)),
            Swap::Lost => Ok(None),
            Swap::Locked => Err(self.held_by_another_git()),
        }
    }

    /// The constant root, the same object in every clone, and the commit that explains the branch.
    fn first_commit(&self, identity: &Identity) -> Result<Oid> {
        let empty = self.repo.empty_tree()?;
        let root = self.repo.write_constant_commit(&empty, ROOT_MESSAGE)?;
        let mut files = BTreeMap::new();
        for (path, text) in [
            (layout::README_FILE, layout::README.to_owned()),
            (layout::FORMAT_FILE, format!("{FORMAT}\n")),
        ] {
            files.insert(
                path.to_owned(),
                Some(Entry::blob(self.repo.write_blob(text.as_bytes())?)),
            );
        }
        let tree = self.repo.edit_tree(None, &files)?;
        let message = "loopx: keep sessions here\n\nLoopx-Event: init\n";
        self.repo.write_commit(&tree, &[root], message, identity)
    }

    /// A blob that an edit names may hang on a code branch that is being deleted: it goes along.
    fn hold(&self, edits: &Edits) {
        let entries = edits.entries.values().flatten();
        for entry in entries.filter(|entry| entry.kind == EntryKind::Blob) {
            self.repo.hold(&entry.id);
        }
    }

    /// Reads, decides, builds, and moves the branch only if it still is where it was read; otherwise
    /// reads and decides again. A refusal of `decide` writes nothing.
    pub fn update<T>(
        &self,
        lock: &Lock,
        identity: &Identity,
        mut decide: impl FnMut(&Snapshot<'r>) -> Result<Decision<T>>,
    ) -> Result<Committed<T>> {
        self.update_each(lock, identity, &[()], |snapshot, ()| decide(snapshot))?
            .pop()
            .ok_or_else(|| Failure::internal(Code::NothingDecided, "one decision made no commit"))
    }

    /// The same for several decisions, each on what those before it made: a commit for each, and one move
    /// of the branch for all.
    pub fn update_each<T, W>(
        &self,
        lock: &Lock,
        identity: &Identity,
        what: &[W],
        mut decide: impl FnMut(&Snapshot<'r>, &W) -> Result<Decision<T>>,
    ) -> Result<Vec<Committed<T>>> {
        if what.is_empty() {
            return Ok(Vec::new());
        }
        let mut tries = Tries::new();
        loop {
            let shadow = self.shadow();
            let first = self.snapshot_since(shadow.as_ref())?;
            self.require_ours(shadow.as_ref(), first.commit())?;
            let mut tip = first.commit().clone();
            let mut made = Vec::new();
            let mut why = String::new();
            for one in what {
                let snapshot = Snapshot::at(self.repo, tip, &self.branch)?;
                let Decision {
                    edits,
                    message,
                    value,
                } = decide(&snapshot, one)?;
                let edits = snapshot.with_format(edits)?;
                self.hold(&edits);
                let tree = shelves::edit(self.repo, Some(snapshot.tree()), &edits)?;
                let parents = [snapshot.commit().clone()];
                let commit = self
                    .repo
                    .write_commit(&tree, &parents, &message, identity)?;
                why = message.lines().next().unwrap_or_default().to_owned();
                tip = commit.clone();
                made.push(Committed { commit, value });
            }
            if what.len() > 1 {
                why = format!("{why}, the last of {}", what.len());
            }
            match self.swap(lock, &tip, Some(first.commit()), &format!("loopx: {why}"))? {
                Swap::Moved => return Ok(made),
                Swap::Locked => return Err(self.held_by_another_git()),
                Swap::Lost => tries.lost(&self.branch)?,
            }
        }
    }
}

/// How often others were faster.
struct Tries {
    began: Instant,
    lost: u32,
}

impl Tries {
    fn new() -> Self {
        Tries {
            began: Instant::now(),
            lost: 0,
        }
    }

    /// Waits a moment, or gives up.
    fn lost(&mut self, branch: &str) -> Result<()> {
        self.lost += 1;
        if self.began.elapsed() > BUSY_DEADLINE {
            let message = format!(
                "the branch `{branch}` moved {} times while this was being written",
                self.lost
            );
            return Err(Failure::new(Kind::Waiting, Code::BranchBusy, message).help("try again"));
        }
        std::thread::sleep(lock::pause(self.lost));
        Ok(())
    }
}
