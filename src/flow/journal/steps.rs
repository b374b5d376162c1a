//! Steps that follow a ref that moved. Each is data, looks at what stands there before it touches it, and does nothing
//! where it was done before.

use super::super::checked_out::{self, Checkout};
use super::super::context::Context;
use super::super::files;
use super::super::workcopy::{self, FOLDER, WorkCopy};
use super::close::{close, unarchive};
use super::{Closing, Entry, Known, Scope};
use loopx_base::failpoint::reach;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_base::unfinished::Unfinished;
use loopx_git::Repo;
use loopx_store::Snapshot;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A worktree, by its own git directory below the one that all share; empty for the main one. The name
/// stays true when the repository moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Worktree(PathBuf);

impl Worktree {
    /// The worktree of this process.
    pub(crate) fn here(repo: &Repo) -> Self {
        let own = repo.git_dir();
        let below = own.strip_prefix(repo.common_dir());
        Worktree(below.map_or_else(|_| own.clone(), PathBuf::from))
    }

    fn exists(&self, repo: &Repo) -> bool {
        repo.common_dir().join(&self.0).is_dir()
    }
}

/// A step of a landing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Index and files of the worktree that has the branch: paths with the blobs that they had and have.
    Follow { changes: checked_out::Changes },
    /// Sessions end, as archived on the branch.
    Close { closes: Vec<Closing> },
    /// An archive of a session was taken back on the branch.
    Unarchive {
        session: SessionId,
        archive: Oid,
        reason: Option<String>,
    },
    /// A file of a worktree goes where it still has this content, from its index too.
    Remove {
        at: Worktree,
        path: String,
        blob: Oid,
    },
    /// Files of a worktree go with the folders that they leave empty, up to this one, and last the file of
    /// its git directory that names them.
    Clear {
        at: Worktree,
        below: String,
        files: Vec<String>,
        note: String,
    },
    /// The working copy of a session follows its branch. `taken`: the edits that the commit has, as they
    /// stood in the files.
    Publish {
        at: Worktree,
        session: SessionId,
        taken: BTreeMap<String, Oid>,
    },
    /// The working copy of a session that ended goes, except edits.
    Retire { at: Worktree, session: SessionId },
}

/// The end of a step that did not fail.
pub(super) enum Outcome {
    Done,
    /// The step is left: only a command in another worktree can take it.
    Elsewhere,
}

impl Step {
    /// Lets the working copy of a session follow, where there is a worktree.
    pub(crate) fn publish(
        repo: &Repo,
        session: &SessionId,
        taken: &BTreeMap<String, Oid>,
    ) -> Option<Self> {
        repo.work_dir()?;
        Some(Step::Publish {
            at: Worktree::here(repo),
            session: session.clone(),
            taken: taken.clone(),
        })
    }

    /// Tells whether the step is unknown to programs that know only the first format: they leave its entry to others.
    pub(super) fn is_newer(&self) -> bool {
        matches!(self, Step::Unarchive { .. })
    }

    /// Names the work that is left where the step was not carried out.
    pub(super) fn words(&self) -> String {
        match self {
            Step::Follow { changes } => match changes.keys().next() {
                Some(first) if changes.len() > 1 => {
                    format!("index and files of {first} and {} more", changes.len() - 1)
                }
                Some(only) => format!("index and file of {only}"),
                None => "index and files".to_owned(),
            },
            Step::Close { closes } => {
                let ids: Vec<&str> = closes.iter().map(|one| one.id.as_str()).collect();
                format!("closing of session {}", ids.join(", "))
            }
            Step::Unarchive { session, .. } => {
                format!("the record that the archive of {session} was taken back")
            }
            Step::Remove { path, .. } => format!("removal of {path}"),
            Step::Clear { below, .. } => format!("removal of the conflicts in {below}"),
            Step::Publish { session, .. } => format!("the working copy {FOLDER}/{session}"),
            Step::Retire { session, .. } => {
                format!("removal of the working copy {FOLDER}/{session}")
            }
        }
    }

    /// Names the work that is left, for somebody in this worktree, who may have to go to another one.
    pub(super) fn words_from(&self, repo: &Repo) -> String {
        match self.worktree() {
            Some(at) if *at != Worktree::here(repo) => {
                let (words, at) = (self.words(), repo.common_dir().join(&at.0));
                format!("{words} (by a command in the worktree of {})", at.display())
            }
            _ => self.words(),
        }
    }

    /// Tells whether a command in this worktree can carry the step out.
    pub(super) fn is_here(&self, repo: &Repo) -> bool {
        self.worktree().is_none_or(|at| *at == Worktree::here(repo))
    }

    fn worktree(&self) -> Option<&Worktree> {
        match self {
            Step::Follow { .. } | Step::Close { .. } | Step::Unarchive { .. } => None,
            Step::Remove { at, .. }
            | Step::Clear { at, .. }
            | Step::Publish { at, .. }
            | Step::Retire { at, .. } => Some(at),
        }
    }

    pub(super) fn carry_out(
        &self,
        scope: &Scope<'_>,
        entry: &Entry,
        known: &mut Known<'_, '_>,
    ) -> Result<Outcome> {
        let ctx = scope.ctx;
        if let Some(at) = self.worktree()
            && *at != Worktree::here(&ctx.repo)
        {
            return Ok(if at.exists(&ctx.repo) {
                Outcome::Elsewhere
            } else {
                Outcome::Done
            });
        }
        match self {
            Step::Follow { changes } => {
                if let Some(prepared) = known.prepared.take() {
                    say_left(ctx, entry, &prepared.place()?);
                } else if let Some(worktree) = checked_out::of(ctx, &entry.name)?
                    && let Some(tip) = ctx.repo.find_ref(&entry.name)?
                {
                    say_left(ctx, entry, &worktree.follow(&entry.new, &tip, changes)?);
                }
                reach("target-followed");
            }
            Step::Close { closes } => {
                close(scope, entry.branch(), closes)?;
                reach("sessions-closed");
            }
            Step::Unarchive {
                session,
                archive,
                reason,
            } => unarchive(scope, session, archive, entry, reason.as_deref())?,
            Step::Remove { path, blob, .. } => remove(ctx, &entry.new, path, blob)?,
            Step::Clear {
                below, files, note, ..
            } => clear(ctx, below, files, note)?,
            Step::Publish { session, taken, .. } => {
                let snapshot = match known.tip {
                    Some(tip) => Snapshot::at(&ctx.repo, tip.clone(), scope.store.branch())?,
                    None => scope.store.snapshot()?,
                };
                if let Some(found) = snapshot.session(session)?
                    && let Some(mut copy) = WorkCopy::open(&ctx.repo, session)?
                {
                    workcopy::exclude(&ctx.repo)?;
                    copy.publish(&found.state, taken)?;
                }
            }
            Step::Retire { session, .. } => {
                if let Some(mut copy) = WorkCopy::open(&ctx.repo, session)? {
                    copy.retire()?;
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// Says which files did not follow because somebody changed them while they were made.
fn say_left(ctx: &Context, entry: &Entry, left: &[String]) {
    let Some(first) = left.first() else { return };
    ctx.unfinished.add(Unfinished {
        done: entry.done(),
        left: left.join(", "),
        why: "somebody changed it meanwhile".to_owned(),
        help: format!("git diff HEAD -- {}", shell_word(first)).into(),
        is_resumed: false,
    });
}

/// The tree of `commit` does not have the file.
fn remove(ctx: &Context, commit: &Oid, path: &str, blob: &Oid) -> Result<()> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(());
    };
    let gone = checked_out::Changes::from([(path.to_owned(), (Some(blob.clone()), None))]);
    Checkout::at(&ctx.repo, top).follow(commit, commit, &gone)?;
    let place = files::inside(top, path)?;
    match files::read(&place, u64::MAX)? {
        Some(bytes) if ctx.repo.hash_blob(&bytes)? == *blob => files::remove(&place),
        _ => Ok(()),
    }
}

/// Removes files of this worktree with the folders that they leave empty, up to `below`, and last a file of
/// its git directory.
fn clear(ctx: &Context, below: &str, names: &[String], note: &str) -> Result<()> {
    clear_counted(ctx, below, names, note).1
}

/// The number of files that are gone, and what became of the rest.
pub(crate) fn clear_counted(
    ctx: &Context,
    below: &str,
    names: &[String],
    note: &str,
) -> (usize, Result<()>) {
    let mut gone = 0;
    let cleared = clear_each(ctx, below, names, note, &mut gone);
    (gone, cleared)
}

fn clear_each(
    ctx: &Context,
    below: &str,
    names: &[String],
    note: &str,
    gone: &mut usize,
) -> Result<()> {
    if let Some(top) = ctx.repo.work_dir() {
        let own = top.join(below);
        for name in names {
            let file = files::inside(top, name)?;
            let is_there = file.symlink_metadata().is_ok();
            files::remove(&file)?;
            *gone += usize::from(is_there);
            // Folders go only when they are empty.
            let mut folder = file.parent();
            while let Some(dir) = folder.filter(|dir| dir.starts_with(&own)) {
                if std::fs::remove_dir(dir).is_err() {
                    break;
                }
                folder = dir.parent();
            }
        }
    }
    files::remove(&ctx.repo.git_dir().join(note))
}
