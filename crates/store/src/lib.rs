//! Sessions as commits on one branch (`refs/heads/loopx`): formats, paths, compare-and-swap.
//!
//! One command is one commit whose tree is the new state; objects are built without index, worktree
//! or checkout. Reading costs a few look-ups however long the history is. The store knows no rule: a
//! closure decides on a [`Snapshot`], and decides again when the branch moved meanwhile.

mod ahead;
mod artifact_merge;
mod attestations;
pub mod audit_cache;
mod bindings;
pub mod check;
mod edits;
mod exact_files;
mod fanout;
mod fanout_folder;
mod folder;
mod history;
mod import;
mod incoming;
mod incremental_state;
mod issue_links;
mod issues;
mod journal;
mod kept_lines;
pub mod known_tip;
mod last_good;
mod layout;
mod layout_audit;
mod lock;
mod logs;
mod loss;
mod merge_branch;
mod merge_session;
mod merge_tip;
mod message;
mod names;
mod no_loss;
mod ops;
#[cfg(test)]
mod props;
mod questions;
pub mod receive;
mod record_limit;
mod recovery;
mod redacted;
mod remade_commits;
mod removed_by_remote;
mod sealed;
mod signatures;
pub mod snapshot;
mod stored;
mod stray;
mod summaries;
mod transaction;
mod unique;
pub mod unreadable;
mod withdrawn;

pub use artifact_merge::{Lines, merge_artifact, replay};
pub use attestations::left_out;
pub use edits::Edits;
pub use fanout::comparable;
pub use folder::Record;
pub use history::UnexplainedCommit;
pub use import::Placed;
pub use incoming::Flaw;
pub use issue_links::{IssueLinks, LinkRow};
pub use issues::Issues;
pub use journal::{JournalNotes, Part};
use known_tip::Grown;
pub use known_tip::Standing;
pub use lock::{Left, Lock, RefLock};
use loopx_base::hint::command;
pub use loss::has_all;
pub use merge_branch::{MergedBranch, MergedSession, Renamed, Shared};
pub use merge_session::{file_version_path, version_path};
pub use merge_tip::{Begun, LeftBehind, Linear, Meeting, Met, stands_for, was};
pub use message::{also, issue_message, journal_message, message, one_line};
pub use questions::KnownQuestions;
pub use recovery::{Accepted, Recovered};
pub use redacted::{Blobs, Redacted, brought, redacted, redacted_apart};
pub use removed_by_remote::RemovedByRemote;
pub use signatures::{SignatureFile, SignatureFiles, Signatures};
pub use snapshot::{Session, Snapshot};
pub use summaries::Summary;

use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::Oid;
use loopx_base::unfinished::UnfinishedList;
use loopx_git::{Entry, Identity, Repo};
use std::collections::BTreeMap;
use transaction::Move;

/// The format of the branch that this program writes.
pub const FORMAT: &str = "2";

/// Formats that are read. A commit on top of them is written in the present format.
const EARLIER: [&str; 1] = ["1"];

/// Names below the git dir's `loopx` of what is kept beside the records to read less of them.
const DISPOSABLE: [&str; 6] = [
    "issue-cache",
    "issue-links",
    "journal-cache",
    "list-cache.json",
    "questions-known.json",
    "signatures-known",
];

/// Command that checks out something else than the branch of sessions: `-` is no branch where that was the first.
pub const LEAVE: &str =
    "git switch -  (in that worktree; where it had no branch before: git switch --detach)";
/// The message of the constant root, which every branch of sessions begins with.
pub const ROOT_MESSAGE: &str = "loopx\n";

/// The sessions of one repository.
pub struct Store<'r> {
    repo: &'r Repo,
    branch: String,
    unfinished: UnfinishedList,
    grown: Grown,
}

/// Result of a decision.
#[derive(Debug)]
pub struct Decision<T> {
    pub edits: Edits,
    pub message: String,
    pub value: T,
}

/// Commit that was made, and the value of the decision.
#[derive(Debug)]
pub struct Committed<T> {
    pub commit: Oid,
    pub value: T,
}

impl<'r> Store<'r> {
    /// The store of a repository, on the branch that `loopx.branch` names.
    /// What a move leaves undone goes to this list.
    pub fn open(repo: &'r Repo, unfinished: &UnfinishedList) -> Result<Self> {
        let branch = repo
            .config("loopx.branch")
            .unwrap_or_else(|| "loopx".to_owned());
        Repo::check_branch_name(&branch)?;
        Ok(Store {
            repo,
            branch,
            unfinished: unfinished.clone(),
            grown: Grown::default(),
        })
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

    /// Commit at which the branch stands. A ref that cannot be read does not count as absent: a recovery brings it back.
    pub fn tip(&self) -> Result<Option<Oid>> {
        let tip = self.repo.find_ref(&self.branch_ref());
        tip.map_err(|failure| match failure.kind {
            // The system refused to read it: it may be whole.
            Kind::Refused => failure,
            _ => failure.help(command!("doctor --recover")),
        })
    }

    /// The newest state, or `None` where nothing has been initialised.
    pub fn read(&self) -> Result<Option<Snapshot<'r>>> {
        let Some(tip) = self.tip()? else {
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

    /// Newest state of an initialised repository, with the shadow in hand, which was read before.
    fn snapshot_since(&self, shadow: Option<&Oid>) -> Result<Snapshot<'r>> {
        let snapshot = self.read()?;
        self.require_grown(shadow, snapshot.as_ref().map(Snapshot::commit))?;
        snapshot.ok_or_else(|| self.not_initialised())
    }

    fn not_initialised(&self) -> Failure {
        let tracked = self.repo.project_ref(&self.branch).unwrap_or_default();
        let message = match &tracked {
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
            .help(LEAVE));
        }
        let (lock, moves) = lock::acquire(self.repo)?;
        for (name, commit) in moves {
            // A holder that was killed behind its move of the branch: what it moved to is known here.
            if name == self.branch_ref()
                && let Some(tip) = self.repo.find_ref(&name).ok().flatten()
                && tip.as_str() == commit
            {
                self.know(&tip);
            }
        }
        lock.forget()?;
        reach("lock-taken");
        Ok(lock)
    }

    /// Holder of the lock, alive or dead.
    pub fn holder(&self) -> Option<String> {
        lock::held_by(&lock::file(&self.repo.common_dir()))
    }

    /// The lock files of refs that stand here.
    pub fn ref_locks(&self) -> Vec<RefLock> {
        lock::ref_locks(self.repo)
    }

    /// Takes away what this program keeps beside the records to read less of them: all of it is made again when it is
    /// missed.
    pub fn drop_disposable(&self) {
        let folder = self.repo.common_dir().join("loopx");
        for name in DISPOSABLE {
            let path = folder.join(name);
            drop(std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)));
        }
    }

    /// Takes away lock files of refs that nobody holds any more.
    pub fn clear_abandoned_ref_locks(&self, _lock: &Lock) -> Result<()> {
        lock::clear_abandoned(self.repo)
    }

    /// A ref that leaves no room for the branch: a name cannot be both a file and a folder.
    pub fn blocking_ref(&self) -> Result<Option<String>> {
        let name = self.branch_ref();
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
    /// Says what was made, where anything was.
    pub fn init(&self, lock: &Lock, identity: &Identity) -> Result<Option<Begun>> {
        self.transact(lock, |shadow| {
            if let Some(tip) = self.tip()? {
                return Ok(Move {
                    old: Some(tip.clone()),
                    new: tip,
                    why: String::new(),
                    value: None,
                });
            }
            if let Some(other) = self.blocking_ref()? {
                return Err(Failure::refused(
                    Code::BranchNameBlocked,
                    format!("git cannot keep a branch `{}` beside {other}", self.branch),
                )
                .help("git config loopx.branch loopx-sessions"));
            }
            let known = shadow.map(|tip| (self.shadow_ref(), tip.clone()));
            let known = match known {
                Some(known) => Some(known),
                None => self.repo.project_ref(&self.branch)?,
            };
            let begun = match known {
                Some((name, tip)) => {
                    let meeting = match shadow {
                        Some(_) => {
                            let tip = Snapshot::at(self.repo, tip, &name)?.commit().clone();
                            Meeting::of(Met::Forward, tip)
                        }
                        None => self.plan_meeting(identity, &tip, &name, Linear::No)?,
                    };
                    Begun {
                        tip: meeting.tip,
                        from: Some(name),
                        mended: meeting.mended,
                        damaged: meeting.damaged,
                    }
                }
                None => Begun {
                    tip: self.first_commit(identity)?,
                    from: None,
                    mended: Vec::new(),
                    damaged: Vec::new(),
                },
            };
            let why = match &begun.from {
                Some(name) => format!("loopx: init from {name}"),
                None => "loopx: init".to_owned(),
            };
            Ok(Move {
                old: None,
                new: begun.tip.clone(),
                why,
                value: Some(begun),
            })
        })
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

    /// Reads, decides, builds, and moves the branch only if it still is where it was read; otherwise
    /// reads and decides again. A refusal of `decide` writes nothing.
    pub fn update<T>(
        &self,
        lock: &Lock,
        identity: &Identity,
        decide: impl FnMut(&Snapshot<'r>) -> Result<Decision<T>>,
    ) -> Result<Committed<T>> {
        self.update_noting(lock, identity, decide, |_| Ok(()))
    }

    /// Updates the branch as `update` does; `note` sees the commit before the branch moves to it.
    pub fn update_noting<T>(
        &self,
        lock: &Lock,
        identity: &Identity,
        mut decide: impl FnMut(&Snapshot<'r>) -> Result<Decision<T>>,
        mut note: impl FnMut(&Committed<T>) -> Result<()>,
    ) -> Result<Committed<T>> {
        self.chain(
            (lock, identity),
            &[()],
            |snapshot, ()| decide(snapshot),
            |made| made.last().map_or(Ok(()), &mut note),
        )?
        .pop()
        .ok_or_else(|| Failure::internal(Code::NothingDecided, "one decision made no commit"))
    }

    /// Updates the branch by several decisions, each on what those before it made: a commit for each, and one move of
    /// the branch for all.
    pub fn update_each<T, W>(
        &self,
        lock: &Lock,
        identity: &Identity,
        what: &[W],
        decide: impl FnMut(&Snapshot<'r>, &W) -> Result<Decision<T>>,
    ) -> Result<Vec<Committed<T>>> {
        if what.is_empty() {
            return Ok(Vec::new());
        }
        self.chain((lock, identity), what, decide, |_| Ok(()))
    }

    fn chain<T, W>(
        &self,
        (lock, identity): (&Lock, &Identity),
        what: &[W],
        mut decide: impl FnMut(&Snapshot<'r>, &W) -> Result<Decision<T>>,
        mut note: impl FnMut(&[Committed<T>]) -> Result<()>,
    ) -> Result<Vec<Committed<T>>> {
        let build = |shadow: Option<&Oid>| {
            let mut values = Vec::with_capacity(what.len());
            let decide = &mut |snapshot: &Snapshot<'r>, at: usize| {
                let decision = decide(snapshot, &what[at])?;
                values.push(decision.value);
                Ok(Decision {
                    edits: decision.edits,
                    message: decision.message,
                    value: (),
                })
            };
            let chain = self.commits(identity, shadow, what.len(), decide)?;
            let made = chain.value.into_iter().zip(values);
            let made = made.map(|(commit, value)| Committed { commit, value });
            Ok(Move {
                old: chain.old,
                new: chain.new,
                why: chain.why,
                value: made.collect(),
            })
        };
        self.transact_noting(lock, build, |made: &Vec<Committed<T>>| note(made))
    }

    /// Makes `count` commits on the branch, each as `decide` says of the state that the commit before it left.
    fn commits(
        &self,
        identity: &Identity,
        shadow: Option<&Oid>,
        count: usize,
        decide: &mut dyn FnMut(&Snapshot<'r>, usize) -> Result<Decision<()>>,
    ) -> Result<Move<Vec<Oid>>> {
        let first = self.readable_since(shadow)?.commit().clone();
        let mut tip = first.clone();
        let mut made = Vec::with_capacity(count);
        let mut why = String::new();
        for at in 0..count {
            let snapshot = Snapshot::at(self.repo, tip, &self.branch)?;
            let Decision { edits, message, .. } = decide(&snapshot, at)?;
            let on = (snapshot.tree(), snapshot.commit());
            let (_, commit) = self.commit_on(on, &edits, &message, identity)?;
            message
                .lines()
                .next()
                .unwrap_or_default()
                .clone_into(&mut why);
            tip = commit.clone();
            made.push(commit);
        }
        if count > 1 {
            why = format!("{why}, the last of {count}");
        }
        Ok(Move {
            old: Some(first),
            new: tip,
            why: format!("loopx: {why}"),
            value: made,
        })
    }
}
