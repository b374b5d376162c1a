//! Landings that are under way: what is to follow once a ref has moved, as data.
//!
//! An entry is written before the ref moves, and goes when all of it has followed. A command whose ref
//! moved is done: what cannot follow now is said, stays in its entry, and is carried out by whoever writes
//! next. This module owns the format of entries, their place (`loopx/journal/` in the git directory) and
//! their only reader. It knows what steps do, and no command.

mod close;
mod steps;

pub(crate) use close::{Closing, close};
pub(crate) use steps::{Step, Worktree, clear_counted};

use super::checked_out::{self, Prepared};
use super::context::Context;
use super::files;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_base::unfinished::Unfinished;
use loopx_git::{Identity, Repo};
use loopx_rules::op::to_json;
use loopx_store::{Committed, Decision, Lock, Snapshot, Store};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use steps::Outcome;

/// The format of an entry, and that of one whose steps a first program knows.
const FORMAT: u32 = 2;
const FIRST_FORMAT: u32 = 1;

/// A landing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    format: u32,
    /// The name of the landing: a command, or the subject of the commit.
    pub what: String,
    /// The ref whose move makes the landing done.
    pub name: String,
    /// The commit to which the ref goes.
    pub new: Oid,
    /// The sessions to which nothing else may happen before the landing is finished.
    pub sessions: Vec<SessionId>,
    pub steps: Vec<Step>,
}

impl Entry {
    pub(crate) fn new(what: &str, name: &str, new: &Oid, steps: Vec<Step>) -> Self {
        Entry {
            format: if steps.iter().any(Step::is_newer) {
                FORMAT
            } else {
                FIRST_FORMAT
            },
            what: what.to_owned(),
            name: name.to_owned(),
            new: new.clone(),
            sessions: Vec::new(),
            steps,
        }
    }

    /// Makes sessions wait for the landing.
    #[must_use]
    pub(crate) fn about(mut self, sessions: Vec<SessionId>) -> Self {
        self.sessions = sessions;
        self
    }

    /// The entry with the name that its branch has here by now: a branch may be renamed after a kill.
    fn named_now(mut self, repo: &Repo) -> Self {
        if repo.find_ref(&self.name).is_ok_and(|tip| tip.is_none())
            && let Some(here) = repo.head().ok().and_then(|head| head.branch)
            && repo
                .former_names(&here)
                .iter()
                .any(|name| name == self.branch())
        {
            self.name = format!("refs/heads/{here}");
        }
        self
    }

    /// The branch whose move makes the landing done.
    pub(crate) fn branch(&self) -> &str {
        self.name.strip_prefix("refs/heads/").unwrap_or(&self.name)
    }

    /// Says what is done, for people.
    pub(crate) fn done(&self) -> String {
        let (what, branch, at) = (&self.what, self.branch(), self.new.short());
        format!("`{what}` is done, {branch} stands at {at}")
    }

    fn file(&self, repo: &Repo) -> PathBuf {
        folder(repo).join(format!("{}.json", self.new))
    }

    fn write(&self, repo: &Repo) -> Result<()> {
        self.write_to(repo, &self.file(repo))
    }

    fn write_to(&self, repo: &Repo, file: &Path) -> Result<()> {
        files::write_in_git_dir(repo, file, &to_json(self)?)
    }

    /// Writes the entry so that a power cut leaves it there.
    fn write_durably(&self, repo: &Repo) -> Result<()> {
        self.write(repo)?;
        repo.sync_file(&self.file(repo))
    }

    /// Takes the entry away. One that stays is looked at again by the next writer, and says nothing wrong.
    fn forget(&self, repo: &Repo) {
        drop(files::remove(&self.file(repo)));
    }

    /// The changes of the branch that its worktree takes over.
    fn changes(&self) -> Option<&checked_out::Changes> {
        self.steps.iter().find_map(|step| match step {
            Step::Follow { changes } => Some(changes),
            _ => None,
        })
    }

    /// Makes what the worktree of the branch is to have, beside its place. False: somebody changed one of the paths
    /// meanwhile.
    fn prepare<'c>(&self, ctx: &'c Context, prepared: &mut Option<Prepared<'c>>) -> Result<bool> {
        let (Some(changes), Some(worktree)) = (self.changes(), checked_out::of(ctx, &self.name)?)
        else {
            return Ok(true);
        };
        *prepared = worktree.prepare(&self.new, changes)?;
        Ok(prepared.is_some())
    }

    /// Takes away what was prepared for a move that did not happen.
    fn unprepare(&self, ctx: &Context) {
        if let Some(changes) = self.changes()
            && let Ok(Some(worktree)) = checked_out::of(ctx, &self.name)
        {
            worktree.take_back(&self.new, changes);
        }
    }

    /// The paths that a later commit gave back the content which they had before: whoever made it had files of before.
    fn taken_back(&self, repo: &Repo) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        if let Some(changes) = self.changes()
            && let Some(tip) = repo.find_ref(&self.name)?
        {
            let tree = repo.commit_info(&tip)?.tree;
            for (path, (old, new)) in changes {
                let now = repo.entry_at(&tree, path)?.map(|entry| entry.id);
                if now != *new && now == *old {
                    paths.push(path.clone());
                }
            }
        }
        Ok(paths)
    }

    /// Tells whether the ref had moved.
    fn landed(&self, repo: &Repo) -> Result<bool> {
        match repo.find_ref(&self.name)? {
            Some(tip) if repo.contains(&self.new)? => repo.is_ancestor(&self.new, &tip),
            _ => Ok(false),
        }
    }
}

fn folder(repo: &Repo) -> PathBuf {
    repo.common_dir().join("loopx").join("journal")
}

/// A file of the journal.
enum Noted {
    Entry(Entry),
    /// A torn file: it was being written when its process died, and nothing had happened yet.
    Torn,
}

/// The part of an entry that every format has.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
}

/// The files that stand here, oldest first. What cannot be read now, or is of a newer program, is left to
/// others.
fn noted(repo: &Repo) -> Vec<(PathBuf, Noted)> {
    let Ok(found) = std::fs::read_dir(folder(repo)) else {
        return Vec::new();
    };
    let written = |file: &std::fs::DirEntry| file.metadata().and_then(|meta| meta.modified()).ok();
    let mut found: Vec<_> = found
        .flatten()
        .map(|file| (written(&file), file.path()))
        .collect();
    found.sort();
    let read = |path: PathBuf| {
        let bytes = files::read(&path, u64::MAX).ok()??;
        let version = serde_json::from_slice(&bytes).map(|one: Versioned| one.format);
        if version.is_ok_and(|format| format > FORMAT) {
            return None;
        }
        let noted = serde_json::from_slice(&bytes).map_or(Noted::Torn, |entry: Entry| {
            Noted::Entry(entry.named_now(repo))
        });
        Some((path, noted))
    };
    found
        .into_iter()
        .filter_map(|(_, path)| read(path))
        .collect()
}

/// Lists the landings that are not finished: what is done, and what is left. Nothing is written.
pub(crate) fn unfinished(repo: &Repo) -> Vec<String> {
    let mut found = Vec::new();
    for (_, noted) in noted(repo) {
        if let Noted::Entry(entry) = noted
            && entry.landed(repo).unwrap_or(true)
        {
            let left: Vec<String> = entry.steps.iter().map(|one| one.words_from(repo)).collect();
            found.push(format!("{}; left: {}", entry.done(), left.join(", ")));
        }
    }
    found
}

/// Landing whose commit is checked out, and whose index and files did not follow yet: a commit on top of it would take
/// it back.
pub(crate) fn not_followed(repo: &Repo, branch: &str, head: &Oid) -> Option<String> {
    let file = folder(repo).join(format!("{head}.json"));
    let bytes = files::read(&file, u64::MAX).ok()??;
    let entry: Entry = serde_json::from_slice(&bytes).ok()?;
    let entry = entry.named_now(repo);
    (entry.branch() == branch && entry.changes().is_some())
        .then(|| format!("{}; left: index and files", entry.done()))
}

/// Steps for whoever reads: what a command in this worktree brings to its end.
pub(crate) fn unfinished_here(repo: &Repo) -> Vec<String> {
    let mut found = Vec::new();
    for (_, noted) in noted(repo) {
        if let Noted::Entry(entry) = noted
            && entry.landed(repo).unwrap_or(true)
        {
            let left = entry.steps.iter().filter(|step| step.is_here(repo));
            let left: Vec<String> = left.map(Step::words).collect();
            if !left.is_empty() {
                let (done, left) = (entry.done(), left.join(", "));
                found.push(format!(
                    "{done}; left: {left}  (the next command that writes does it)"
                ));
            }
        }
    }
    found
}

/// The results of the landings that were under way.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// The landings that are finished now.
    pub finished: Vec<Entry>,
    /// Landings among the finished ones that a later commit took back, unseen.
    taken_back: Vec<Oid>,
    failed: Vec<(Vec<SessionId>, Failure)>,
}

impl Earlier {
    /// Says which landings are finished, and still are on their branches.
    pub(crate) fn done(&self) -> Vec<String> {
        let stand = |entry: &&Entry| !self.taken_back.contains(&entry.new);
        self.finished
            .iter()
            .filter(stand)
            .map(Entry::done)
            .collect()
    }

    /// Refuses where the landing of this session could not be finished. The landing of another session is no reason to
    /// stop.
    pub(crate) fn check(&self, id: &SessionId) -> Result<()> {
        match self.failed.iter().find(|(failed, _)| failed.contains(id)) {
            Some((_, failure)) => Err(failure.clone()),
            None => Ok(()),
        }
    }
}

/// The state that a writer holds: context, store, lock and identity.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub ctx: &'s Context,
    pub store: &'s Store<'s>,
    pub lock: &'s Lock,
    pub identity: &'s Identity,
}

impl<'s> Scope<'s> {
    /// Finishes what earlier runs left behind their refs.
    pub(crate) fn finish(&self) -> Earlier {
        let repo = &self.ctx.repo;
        let mut earlier = Earlier::default();
        for (path, noted) in noted(repo) {
            let Noted::Entry(entry) = noted else {
                drop(files::remove(&path));
                continue;
            };
            let failed = match entry.landed(repo) {
                Ok(true) => self
                    .carry_out(&path, entry.clone(), Known::default())
                    .into_iter()
                    .next(),
                Ok(false) => {
                    entry.unprepare(self.ctx);
                    drop(files::remove(&path));
                    continue;
                }
                Err(failure) => Some(failure),
            };
            match failed {
                Some(failure) => earlier.failed.push((entry.sessions, failure)),
                // Something is left that only another worktree can do.
                None if path.exists() => {}
                None => {
                    if self.is_taken_back(&entry) {
                        earlier.taken_back.push(entry.new.clone());
                    }
                    earlier.finished.push(entry);
                }
            }
        }
        earlier
    }

    /// Tells whether a commit behind a landing took back what had landed, and says so.
    fn is_taken_back(&self, entry: &Entry) -> bool {
        let paths = entry.taken_back(&self.ctx.repo).unwrap_or_default();
        let Some(first) = paths.first() else {
            return false;
        };
        self.ctx.unfinished.add(Unfinished {
            done: entry.done(),
            left: paths.join(", "),
            why: format!("a later commit on {} took it back", entry.branch()),
            help: format!(
                "git checkout {} -- {}",
                entry.new.short(),
                shell_word(first)
            )
            .into(),
            is_resumed: false,
        });
        true
    }

    /// Moves a code branch, and lets follow what the entry says. All that needs room is made before. False: the branch
    /// or its worktree changed meanwhile, and nothing is left behind.
    pub(crate) fn land(&self, entry: Entry, old: Option<&Oid>, why: &str) -> Result<bool> {
        let repo = &self.ctx.repo;
        // What an entry names is there for whoever reads it.
        repo.keep(&entry.new)?;
        let noted = entry.write_durably(repo);
        reach("archive-noted");
        let mut prepared = None;
        let moved = noted
            .and_then(|()| entry.prepare(self.ctx, &mut prepared))
            .and_then(|ready| {
                reach("target-prepared");
                if !ready {
                    return Ok(false);
                }
                let (name, new) = (&entry.name, &entry.new);
                (self.store).move_code(self.lock, name, new, old, why)
            });
        if !matches!(moved, Ok(true)) {
            drop(prepared);
            entry.forget(repo);
            return moved;
        }
        reach("target-moved");
        let known = Known {
            prepared,
            ..Known::default()
        };
        self.carry_out(&entry.file(repo), entry, known);
        Ok(true)
    }

    /// Changes sessions by one commit on their branch, and lets follow what comes of it.
    pub(crate) fn commit<T>(
        &self,
        decide: impl FnMut(&Snapshot<'s>) -> Result<Decision<T>>,
        follows: impl Fn(&T) -> Vec<Step>,
    ) -> Result<Committed<T>> {
        let repo = &self.ctx.repo;
        let name = self.store.branch_ref();
        let mut noted: Option<Entry> = None;
        let committed = self
            .store
            .update_noting(self.lock, self.identity, decide, |made| {
                if let Some(lost) = noted.take() {
                    lost.forget(repo);
                }
                let steps = follows(&made.value);
                if steps.is_empty() {
                    return Ok(());
                }
                let message = repo.commit_info(&made.commit)?.message;
                let subject = message.lines().next().unwrap_or_default();
                let entry = Entry::new(subject, &name, &made.commit, steps);
                noted.insert(entry).write(repo)
            });
        if let Some(entry) = noted {
            match &committed {
                Ok(made) => {
                    let file = entry.file(repo);
                    let known = Known {
                        tip: Some(&made.commit),
                        ..Known::default()
                    };
                    self.carry_out(&file, entry, known);
                }
                Err(_) => entry.forget(repo),
            }
        }
        committed
    }

    /// Carries out the steps behind a ref that moved before.
    pub(crate) fn follow(&self, entry: Entry) {
        // Where it cannot be noted it is done all the same, or said.
        drop(entry.write(&self.ctx.repo));
        self.carry_out(&entry.file(&self.ctx.repo), entry, Known::default());
    }

    /// Carries the steps out, each whatever becomes of the others; but a file is removed only where what it became
    /// stands. What fails is said, and stays in the entry with what only another worktree can do. Gives the failures.
    fn carry_out(&self, file: &Path, mut entry: Entry, mut known: Known<'_, '_>) -> Vec<Failure> {
        let mut left = Vec::new();
        let mut failed = Vec::new();
        let mut is_behind = false;
        for step in std::mem::take(&mut entry.steps) {
            if is_behind && matches!(step, Step::Remove { .. }) {
                left.push(step);
                continue;
            }
            match step.carry_out(self, &entry, &mut known) {
                Ok(Outcome::Done) => {}
                Ok(Outcome::Elsewhere) => left.push(step),
                Err(failure) => {
                    is_behind |= matches!(step, Step::Follow { .. });
                    self.ctx.unfinished.add(Unfinished {
                        done: entry.done(),
                        left: step.words(),
                        why: failure.message.clone(),
                        help: command!("doctor --fix"),
                        is_resumed: true,
                    });
                    failed.push(failure);
                    left.push(step);
                }
            }
        }
        entry.steps = left;
        if entry.steps.is_empty() {
            // One that stays is looked at again, and its steps are done again, to no effect.
            drop(files::remove(file));
        } else {
            drop(entry.write_to(&self.ctx.repo, file));
        }
        failed
    }
}

/// The facts that whoever moved a ref has at hand for the steps behind it.
#[derive(Default)]
struct Known<'t, 'c> {
    /// The place where the branch of sessions stands.
    tip: Option<&'t Oid>,
    prepared: Option<Prepared<'c>>,
}
