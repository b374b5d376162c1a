//! The one road by which the branch moves: read, decide, compare-and-swap, and once more from reading
//! where others were faster.
//!
//! It owns the loop and the order of the durable steps: what fails behind the move is no failure of the
//! command, and goes to the list of what is unfinished. It knows no caller: each hands in what it decides
//! on, and a decision runs again for each try, so that it must be a pure function of what it read.

use super::lock::{self, Lock};
use super::snapshot::is_of_earlier_format;
use super::{Edits, FORMAT, Snapshot, Store, bindings, fanout, layout};
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_base::unfinished::Unfinished;
use loopx_git::{Entry, EntryKind, Identity, Repo, Swap};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Time for which a branch that others keep moving is tried. Only writers that do not know our lock can cost a try.
const BUSY_DEADLINE: Duration = Duration::from_secs(30);

/// Time for which a branch that another git is moving is waited for.
const REF_DEADLINE: Duration = Duration::from_secs(1);

/// A move of the branch that a caller decided on.
pub(super) struct Move<T> {
    /// Tip at which the branch was read; `None` where there was no branch.
    pub(super) old: Option<Oid>,
    /// New tip. Where the new tip is `old`, nothing moves.
    pub(super) new: Oid,
    /// The reason for the reflog.
    pub(super) why: String,
    pub(super) value: T,
}

impl Store<'_> {
    /// Moves the branch as `decide` says, only if it still is where that read it. `decide` is given the
    /// shadow, which is read before the branch: the other way round a writer between the two would look
    /// like a branch that was set back. Its refusal moves nothing.
    pub(super) fn transact<T>(
        &self,
        lock: &Lock,
        decide: impl FnMut(Option<&Oid>) -> Result<Move<T>>,
    ) -> Result<T> {
        self.transact_noting(lock, decide, |_| Ok(()))
    }

    /// Moves the branch as [`Store::transact`] does; `note` sees the value of each move before the move is tried.
    pub(super) fn transact_noting<T>(
        &self,
        lock: &Lock,
        mut decide: impl FnMut(Option<&Oid>) -> Result<Move<T>>,
        mut note: impl FnMut(&T) -> Result<()>,
    ) -> Result<T> {
        // The loop knows no value: it is compiled once, not for each type that a caller decides on.
        let value = RefCell::new(None);
        let decide = &mut |shadow: Option<&Oid>| {
            let next = decide(shadow)?;
            value.replace(Some(next.value));
            Ok(Move {
                old: next.old,
                new: next.new,
                why: next.why,
                value: (),
            })
        };
        let note = &mut || value.borrow().as_ref().map_or(Ok(()), &mut note);
        self.move_branch(lock, decide, note)?;
        value.into_inner().ok_or_else(|| {
            let message = "the branch moved without a decision";
            Failure::internal(Code::OperationMisfit, message)
        })
    }

    fn move_branch(
        &self,
        lock: &Lock,
        decide: &mut dyn FnMut(Option<&Oid>) -> Result<Move<()>>,
        note: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut tries = Tries::new();
        loop {
            let next = decide(self.shadow().as_ref())?;
            if next.old.as_ref() == Some(&next.new) {
                return Ok(());
            }
            // Whoever lost once looks again before the objects of a try are made durable for nothing.
            if tries.lost > 0 && self.has_moved(next.old.as_ref()) {
                tries.lost(self.branch())?;
                continue;
            }
            note()?;
            match self.swap(lock, &next.new, next.old.as_ref(), &next.why)? {
                Swap::Moved => return Ok(()),
                Swap::Locked => return Err(self.held(&self.branch_ref())),
                Swap::Lost => tries.lost(self.branch())?,
            }
        }
    }

    /// Tells whether the branch stands elsewhere than where it was read. A ref that cannot be read is for the move to judge.
    fn has_moved(&self, old: Option<&Oid>) -> bool {
        let now = self.repo.find_ref(&self.branch_ref());
        now.is_ok_and(|now| now.as_ref() != old)
    }

    /// The newest state, for a decision that goes on from it: the branch as this clone knew it, or grown
    /// from there by git loopx alone.
    pub(super) fn readable_since(&self, shadow: Option<&Oid>) -> Result<Snapshot<'_>> {
        let snapshot = self.snapshot_since(shadow)?;
        self.require_ours(shadow, snapshot.commit())?;
        Ok(snapshot)
    }

    /// Writes a commit on top of another, with these edits of its tree. Gives its tree and its id.
    pub(super) fn commit_on(
        &self,
        (tree, parent): (&Oid, &Oid),
        edits: &Edits,
        message: &str,
        identity: &Identity,
    ) -> Result<(Oid, Oid)> {
        // A blob that an edit names may hang on a code branch that is being deleted: it goes along.
        let entries = edits.entries.values().flatten();
        for entry in entries.filter(|entry| entry.kind == EntryKind::Blob) {
            self.repo.hold(&entry.id);
        }
        let on = in_present_format(self.repo, tree, parent, edits)?;
        let tree = fanout::edit(self.repo, Some(&on), edits)?;
        let parents = [parent.clone()];
        let commit = self.repo.write_commit(&tree, &parents, message, identity)?;
        Ok((tree, commit))
    }

    /// Moves the branch. What the commit brings is on disk before, in a kept pack; a note in the lock tells
    /// whoever comes next which move a killed process was at.
    fn swap(&self, lock: &Lock, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap> {
        let name = self.branch_ref();
        lock.note(&[&name, &self.shadow_ref()], new)?;
        reach("step-noted");
        let swap = self.swap_patiently(&name, new, old, why);
        let moved = matches!(swap, Ok(Swap::Moved));
        if moved {
            reach("branch-moved");
            if let Err(failure) = self.repo.sync_ref(&name) {
                self.leave(&name, new, failure);
            }
            self.repo.prepare_sync();
            reach("branch-synced");
            self.know(new);
            reach("shadow-moved");
        }
        self.repo.release();
        reach("keep-dropped");
        // Where that fails, the next holder looks for a lock that is not there.
        drop(lock.forget());
        reach("note-forgotten");
        if moved {
            // That old packs could not be tidied up is no failure of the step.
            drop(self.repo.roll_up());
        }
        swap
    }

    /// Notes that a ref moved, and that the disk may not have it for good, or that its lock file stays.
    pub(super) fn leave(&self, name: &str, new: &Oid, failure: Failure) {
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        let is_locked = failure.code == Code::RefLocked;
        let left = if is_locked {
            "removing its lock file"
        } else {
            "syncing that to the disk"
        };
        self.unfinished.add(Unfinished {
            done: format!("{branch} stands at {}", new.short()),
            left: left.to_owned(),
            why: failure.message,
            help: command!("doctor --fix"),
            is_resumed: !is_locked,
        });
    }

    /// Moves a code branch, with the same note. `false`: somebody else moved it.
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

    /// Tries a ref that somebody else holds again, with the same objects, for a moment.
    pub(super) fn swap_patiently(
        &self,
        name: &str,
        new: &Oid,
        old: Option<&Oid>,
        why: &str,
    ) -> Result<Swap> {
        let began = Instant::now();
        let mut attempt = 0;
        loop {
            let swap = match self.repo.swap_ref(name, new, old, why) {
                // What failed came after the move: once the ref moved, it is done.
                Err(failure) if matches!(self.repo.find_ref(name), Ok(Some(tip)) if tip == *new) => {
                    self.leave(name, new, failure);
                    Ok(Swap::Moved)
                }
                swap => swap,
            };
            if !matches!(swap, Ok(Swap::Locked)) || began.elapsed() > REF_DEADLINE {
                return swap;
            }
            std::thread::sleep(lock::pause(attempt));
            attempt += 1;
        }
    }

    fn held(&self, name: &str) -> Failure {
        let path = lock::in_the_way(&self.repo.common_dir(), name);
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
}

/// Count of the times that others were faster.
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
                "the branch `{branch}` moved {} times while the command was writing",
                self.lost
            );
            return Err(Failure::new(Kind::Waiting, Code::BranchBusy, message).help("try again"));
        }
        std::thread::sleep(lock::pause(self.lost));
        Ok(())
    }
}

/// The tree of the branch in the present format, where an older program wrote it last. Of the index of bindings
/// only what is going to be edited has to be.
fn in_present_format(repo: &Repo, tree: &Oid, commit: &Oid, edits: &Edits) -> Result<Oid> {
    let binds = edits.entries.keys().any(|path| layout::is_bound(path));
    let is_due = binds && bindings::is_of_format_1(repo, tree)?;
    if !is_due && !is_of_earlier_format(repo, tree)? {
        return Ok(tree.clone());
    }
    let snapshot = Snapshot::at(repo, commit.clone(), "earlier")?.with_tree(tree.clone());
    let mut upgrade = Edits::default();
    let blob = repo.write_blob(format!("{FORMAT}\n").as_bytes())?;
    upgrade.set(layout::FORMAT_FILE, Entry::blob(blob));
    bindings::rewrite(repo, &snapshot, &mut upgrade)?;
    fanout::edit(repo, Some(tree), &upgrade)
}
