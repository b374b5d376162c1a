//! Sessions as commits on one branch (`refs/heads/loopx`): formats, paths, compare-and-swap.
//!
//! One command is one commit whose tree is the new state; objects are built without index, worktree
//! or checkout. Reading costs a few look-ups however long the history is. The store knows no rule: a
//! closure decides on a [`Snapshot`], and decides again when the branch moved meanwhile.

mod attest;
pub mod check;
pub mod checked;
mod import;
mod join;
mod layout;
mod lock;
mod meet;
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

pub use attest::left_out;
pub use import::Placed;
pub use join::{Lines, replay};
pub use lock::Lock;
pub use meet::{Linear, Meeting, Met, stands_for, was};
pub use past::Oddity;
pub use recovery::{Accepted, Recovered};
pub use shadow::Standing;
pub use shelves::comparable;
pub use signatures::SignatureFiles;
pub use snapshot::{Session, Snapshot};
pub use summaries::Summary;
pub use unite::{Rebound, Renamed, United, UnitedSession};
pub use united::version_path;

use crate::core::artifact::Artifact;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::op::{Event, Operation};
use crate::core::session::State;
use crate::core::signature::SUFFIX;
use crate::failpoint::reach;
use crate::git::{Entry, EntryKind, Identity, Repo, Swap};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The format of the branch that this program writes.
pub const FORMAT: &str = "1";

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

/// A new commit in the making: tree edits, and the message.
#[derive(Debug, Default)]
pub struct Edits {
    entries: BTreeMap<String, Option<Entry>>,
    /// Shelves of which the whole layout is looked at.
    arrange: BTreeSet<String>,
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
        match self.repo.find_ref(&self.branch_ref())? {
            Some(commit) => Snapshot::at(self.repo, commit, &self.branch).map(Some),
            None => Ok(None),
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
        Failure::not_found("not_initialised", message).help("git loopx init")
    }

    /// Takes the lock that all worktrees of the repository share. A writer holds it from reading to
    /// the last file it touches.
    pub fn lock(&self) -> Result<Lock> {
        if let Some(path) = self.repo.checked_out_in(&self.branch_ref())? {
            return Err(Failure::new(
                Kind::Refused,
                "branch_checked_out",
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
            "ref_locked",
            format!(
                "{} stands in the way: another git process is moving the branch, or was killed while it did",
                path.display()
            ),
        )
        .help("try again; if no git process is running, remove that file")
    }

    /// The refs whose lock files stand here, and whether it is proven that a killed command of ours left
    /// it: the next one that takes our lock removes those.
    pub fn ref_locks(&self) -> Vec<(String, bool)> {
        lock::ref_locks(&self.repo.common_dir())
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
                "branch_name_blocked",
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
            .ok_or_else(|| Failure::internal("nothing_decided", "one decision made no commit"))
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
            return Err(Failure::new(Kind::Waiting, "branch_busy", message).help("try again"));
        }
        std::thread::sleep(lock::pause(self.lost));
        Ok(())
    }
}

impl Edits {
    pub fn set(&mut self, path: impl Into<String>, entry: Entry) {
        self.entries.insert(path.into(), Some(entry));
    }

    pub fn remove(&mut self, path: impl Into<String>) {
        self.entries.insert(path.into(), None);
    }

    /// Lays a shelf out anew where it is not as it should be.
    fn arrange(&mut self, shelf: impl Into<String>) {
        self.arrange.insert(shelf.into());
    }

    /// Binds a code branch to a session.
    pub fn bind(&mut self, repo: &Repo, branch: &str, id: &SessionId) -> Result<()> {
        let blob = repo.write_blob(format!("{id}\n").as_bytes())?;
        self.set(layout::binding(branch), Entry::blob(blob));
        Ok(())
    }

    pub fn unbind(&mut self, branch: &str) {
        self.remove(layout::binding(branch));
    }

    /// Adds an operation to a session: its file, the artifacts that it changed, and the state after it.
    pub fn record(
        &mut self,
        repo: &Repo,
        session: Option<&Session>,
        op: &Operation,
        state: &State,
    ) -> Result<()> {
        self.record_signed(repo, session, op, None, state)
    }

    /// The same with what somebody signed about the operation, in a file of its own beside it.
    pub fn record_signed(
        &mut self,
        repo: &Repo,
        session: Option<&Session>,
        op: &Operation,
        signature: Option<&[u8]>,
        state: &State,
    ) -> Result<()> {
        let folder = layout::session(&state.id);
        let mut files = BTreeMap::new();
        files.insert(
            op.file_name(),
            Some(Entry::blob(repo.write_blob(&op.to_bytes()?)?)),
        );
        if let Some(signature) = signature {
            files.insert(
                format!("{}{SUFFIX}", op.file_name()),
                Some(Entry::blob(repo.write_blob(signature)?)),
            );
        }
        let ops = ops::edit(repo, session.and_then(|s| s.state.ops.as_ref()), &files)?;
        let mut state = state.clone();
        state.ops = Some(ops.clone());
        self.set(format!("{folder}/{}", layout::OPS), Entry::tree(ops));
        self.set(
            format!("{folder}/{}", layout::STATE),
            Entry::blob(repo.write_blob(&state.to_bytes()?)?),
        );
        let before = session
            .map(|s| s.state.artifacts.clone())
            .unwrap_or_default();
        for artifact in Artifact::ALL {
            let path = layout::artifact(&folder, artifact);
            match (before.get(&artifact), state.artifacts.get(&artifact)) {
                (old, Some(new)) if old != Some(new) => self.set(path, Entry::blob(new.clone())),
                (Some(_), None) => self.remove(path),
                _ => {}
            }
        }
        let kept = layout::versions(&state);
        for path in session
            .map(|s| layout::versions(&s.state))
            .unwrap_or_default()
            .into_keys()
        {
            if !kept.contains_key(&path) {
                self.remove(format!("{folder}/{path}"));
            }
        }
        for (path, blob) in kept {
            self.set(format!("{folder}/{path}"), Entry::blob(blob));
        }
        for base in &op.bases {
            if let Some(blob) = &base.blob {
                self.set(
                    format!("{folder}/{}/{blob}.md", layout::BASES),
                    Entry::blob(blob.clone()),
                );
            }
        }
        Ok(())
    }

    /// Adds the log of a recorded command.
    pub fn log(&mut self, id: &SessionId, op: &Operation, blob: Oid) {
        let path = format!("{}/{}/{}.log", layout::session(id), layout::LOGS, op.op);
        self.set(path, Entry::blob(blob));
    }

    /// Moves a session to the archive: operations sealed into one file, the folder out of `sessions/`.
    pub fn archive(
        &mut self,
        repo: &Repo,
        session: &Session,
        ops: &[Operation],
        state: &State,
        month: &str,
        extra: &[(Artifact, Oid)],
    ) -> Result<()> {
        let sealed = repo.write_blob(&united::seal(ops)?)?;
        let mut state = state.clone();
        state.ops = Some(sealed.clone());
        let mut inner = BTreeMap::new();
        inner.insert(layout::OPS.to_owned(), None);
        inner.insert(layout::SEALED_OPS.to_owned(), Some(Entry::blob(sealed)));
        if let Some(signatures) = signatures::seal(repo, &session.tree, ops)? {
            let path = layout::SEALED_SIGNATURES.to_owned();
            inner.insert(path, Some(Entry::blob(signatures)));
        }
        for (artifact, blob) in extra {
            state.artifacts.insert(*artifact, blob.clone());
            inner.insert(artifact.path().to_owned(), Some(Entry::blob(blob.clone())));
        }
        inner.insert(
            layout::STATE.to_owned(),
            Some(Entry::blob(repo.write_blob(&state.to_bytes()?)?)),
        );
        let tree = repo.edit_tree(Some(&session.tree), &inner)?;
        self.remove(layout::session(&state.id));
        self.set(layout::archived(month, &state.id), Entry::tree(tree));
        Ok(())
    }

    /// Replaces a session's folder whole: a repair.
    pub(crate) fn replace_session(&mut self, id: &SessionId, tree: Option<Oid>) {
        match tree {
            Some(tree) => self.set(layout::session(id), Entry::tree(tree)),
            None => self.remove(layout::session(id)),
        }
    }
}

/// The commit message of an operation: `<id>: <what happened>`, the reason, the trailers that make
/// `git log` the query language (design 3).
pub fn message(id: &SessionId, what: &str, op: &Operation, state: &State) -> String {
    let mut text = format!("{id}: {}\n", one_line(what));
    if let Some(reason) = &op.reason {
        let reason = reason.trim();
        if !reason.is_empty() {
            // writeln! to a String cannot fail.
            let _ = write!(text, "\n{reason}\n");
        }
    }
    let mut trailers = vec![
        ("Loopx-Session", id.to_string()),
        ("Loopx-Event", op.event.word().to_owned()),
    ];
    match &op.event {
        Event::Approved {
            transition,
            content,
            code,
            ..
        } => {
            trailers.push(("Loopx-Transition", transition.to_string()));
            trailers.push(("Loopx-Content", content.to_string()));
            if let Some(code) = code {
                trailers.push(("Loopx-Tree", code.to_string()));
            }
        }
        Event::Entered { transition, .. } => {
            trailers.push(("Loopx-Transition", transition.to_string()))
        }
        Event::Ran { evidence } => trailers.push(("Loopx-Tree", evidence.tree.to_string())),
        Event::Reviewed { verdict } => {
            trailers.push(("Loopx-Verdict", verdict.verdict.to_string()));
            trailers.push(("Loopx-Tree", verdict.tree.to_string()));
        }
        Event::Archived {
            commit: Some(commit),
            ..
        } => trailers.push(("Loopx-Commit", commit.to_string())),
        Event::Undone { undone } => {
            trailers.extend(undone.iter().map(|op| ("Loopx-Undoes", op.to_string())));
        }
        Event::Redone { redone } => {
            trailers.extend(redone.iter().map(|op| ("Loopx-Redoes", op.to_string())));
        }
        _ => {}
    }
    trailers.push(("Loopx-Stage", state.stage.to_string()));
    text.push('\n');
    for (key, value) in trailers {
        let _ = writeln!(text, "{key}: {}", one_line(&value));
    }
    text
}

/// Text for a subject or a trailer: one line, whatever it was.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
