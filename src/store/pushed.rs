//! What somebody wants the loopx branch to become, judged before it is taken: only forward, every state
//! the replay of its operations, no operation changed or taken away.
//!
//! What a commit has as one of its parents has it was judged with that, or was here before the push; it is
//! not read again. Whether an operation is true is another question: who can write the branch can write any that fits.

use super::check::{bindings, check_folder};
use super::layout;
use super::shelf::{self, Fault};
use super::snapshot::Folder;
use super::{Session, Snapshot, shelves};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::shelf::Shelf;
use crate::git::Repo;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Why a push of the branch cannot be taken, by commit; empty when it can.
pub fn check(
    repo: &Repo,
    branch: &str,
    old: Option<&Oid>,
    new: &Oid,
) -> Result<Vec<(Oid, String)>> {
    if let Some(old) = old
        && !repo.is_ancestor(old, new)?
    {
        let what = "does not go forward from what is here: sessions would be lost".to_owned();
        return Ok(vec![(new.clone(), what)]);
    }
    let hidden: Vec<Oid> = old.iter().map(|old| (*old).clone()).collect();
    let mut commits = repo.range(new, &hidden, usize::MAX)?;
    commits.reverse();
    let mut checking = Checking {
        repo,
        branch,
        folders: HashMap::new(),
        last: None,
    };
    let mut found = Vec::new();
    for commit in &commits {
        let wrong = checking.commit(commit)?;
        found.extend(wrong.into_iter().map(|what| (commit.clone(), what)));
    }
    if found.is_empty() {
        let snapshot = Snapshot::at(repo, new.clone(), branch)?;
        let before = match old {
            Some(old) => Snapshot::at(repo, old.clone(), branch).ok(),
            None => None,
        };
        // A binding that stayed says what it said, unless a name went.
        let before = match before {
            Some(before) if has_names_of(&snapshot, &before)? => Some(before),
            _ => None,
        };
        let wrong = bindings(repo, &snapshot, &BTreeSet::new(), before.as_ref())?;
        found.extend(
            wrong
                .into_iter()
                .map(|damage| (new.clone(), format!("{}: {}", damage.session, damage.what))),
        );
    }
    Ok(found)
}

/// Whether every session of one state is there by its name in another.
fn has_names_of(now: &Snapshot<'_>, before: &Snapshot<'_>) -> Result<bool> {
    let names = |of: &Snapshot<'_>| -> Result<BTreeSet<SessionId>> {
        let folders = of.session_folders(true)?.into_iter();
        Ok(folders.map(|(id, _)| id).collect())
    };
    Ok(names(before)?.is_subset(&names(now)?))
}

struct Checking<'a> {
    repo: &'a Repo,
    branch: &'a str,
    /// What was found of a session's folder, by its tree.
    folders: HashMap<Oid, Option<String>>,
    /// What the commit that was judged last holds: mostly the parent of the next.
    last: Option<Rc<Holding<'a>>>,
}

/// What one commit of the branch holds, without reading a session.
struct Holding<'a> {
    snapshot: Snapshot<'a>,
    shelves: Vec<(String, Oid)>,
    /// The sessions by path, active and archived.
    folders: BTreeMap<String, (SessionId, Folder)>,
    /// The path at which a session is found by its name.
    found: BTreeMap<SessionId, String>,
}

impl<'a> Holding<'a> {
    fn of(snapshot: Snapshot<'a>) -> Result<Self> {
        let mut folders = BTreeMap::new();
        let mut found = BTreeMap::new();
        for (id, folder) in snapshot.session_folders(true)? {
            found.entry(id.clone()).or_insert(folder.path.clone());
            folders.insert(folder.path.clone(), (id, folder));
        }
        Ok(Holding {
            shelves: shelves::all(snapshot.repo(), snapshot.tree())?,
            snapshot,
            folders,
            found,
        })
    }

    /// Whether the very same folder lies at the same place.
    fn has(&self, folder: &Folder) -> bool {
        let known = self.folders.get(&folder.path);
        known.is_some_and(|(_, known)| known.place == folder.place && known.entry == folder.entry)
    }

    /// The same, and whoever asks for the session by its name finds that one.
    fn finds(&self, id: &SessionId, folder: &Folder) -> bool {
        self.has(folder) && self.found.get(id) == Some(&folder.path)
    }
}

impl<'a> Checking<'a> {
    fn commit(&mut self, commit: &Oid) -> Result<Vec<String>> {
        let info = self.repo.commit_info(commit)?;
        // The constant root has nothing yet.
        if info.parents.is_empty() && info.tree == self.repo.empty_tree()? {
            return Ok(Vec::new());
        }
        let now = match Snapshot::at(self.repo, commit.clone(), self.branch) {
            Ok(now) => now,
            Err(failure) => return Ok(vec![failure.message]),
        };
        let now = Rc::new(Holding::of(now)?);
        let mut before = Vec::new();
        for parent in &info.parents {
            before.extend(self.parent(parent)?);
        }
        let mut wrong = Vec::new();
        for shelf in &now.shelves {
            if before.iter().any(|before| before.shelves.contains(shelf)) {
                continue;
            }
            let (path, shelf) = shelf;
            // An older layout hides nothing, so it may come: an older program wrote it.
            if let Some(Fault::Misplaced(what)) = shelf::faults(self.repo, Shelf::Names, shelf)? {
                wrong.push(format!("{path}: {what}"));
            }
        }
        for (id, folder) in now.folders.values() {
            if before.iter().any(|before| before.has(folder)) {
                continue;
            }
            let session = now.snapshot.load_folder(folder.clone());
            if folder.path.starts_with(layout::ARCHIVE) {
                let read = session.and_then(|session| now.snapshot.operations(&session));
                wrong.extend(
                    read.err()
                        .map(|failure| format!("session {id}: {}", failure.message)),
                );
                continue;
            }
            match session {
                Ok(session) => wrong.extend(self.folder(id, &session)?),
                Err(failure) => wrong.push(failure.message),
            }
        }
        for before in &before {
            let lost = lost(before, &now)?.into_iter();
            wrong.extend(lost.map(|loss| loss.what));
        }
        self.last = Some(now);
        wrong.sort();
        wrong.dedup();
        Ok(wrong)
    }

    /// What a parent holds; `None` where it is none of this branch's states.
    fn parent(&self, commit: &Oid) -> Result<Option<Rc<Holding<'a>>>> {
        let last = self.last.as_ref();
        if let Some(last) = last.filter(|last| last.snapshot.commit() == commit) {
            return Ok(Some(Rc::clone(last)));
        }
        match Snapshot::at(self.repo, commit.clone(), self.branch) {
            Ok(before) => Holding::of(before).map(|holding| Some(Rc::new(holding))),
            Err(_) => Ok(None),
        }
    }

    fn folder(&mut self, id: &SessionId, session: &Session) -> Result<Option<String>> {
        if let Some(known) = self.folders.get(&session.tree) {
            return Ok(known.clone());
        }
        let found = check_folder(self.repo, id, &session.tree)?
            .map(|(what, _)| format!("session {id}: {what}"));
        self.folders.insert(session.tree.clone(), found.clone());
        Ok(found)
    }
}

/// A session in the next state: under its name, or under the one that it got because another session has
/// its name there.
fn after(now: &Snapshot<'_>, id: &SessionId, session: &Session) -> Result<Option<Session>> {
    let uid = &session.state.uid;
    match now.find(id)? {
        Some(same) if same.state.uid == *uid => Ok(Some(same)),
        Some(_) => {
            let renamed = now.find(&id.beside(uid))?;
            Ok(renamed.filter(|renamed| renamed.state.uid == *uid))
        }
        None => Ok(None),
    }
}

/// Something of a session that is not there any more.
pub(super) struct Loss {
    pub(super) session: SessionId,
    /// Names the session too.
    pub(super) what: String,
}

/// What one commit has of operations and another one has not. One that is none of this branch's states
/// has nothing.
pub(super) fn losses(repo: &Repo, before: &Oid, now: &Oid) -> Result<Vec<Loss>> {
    let Ok(before) = Snapshot::at(repo, before.clone(), "the branch") else {
        return Ok(Vec::new());
    };
    let now = Snapshot::at(repo, now.clone(), "the branch")?;
    if before.tree() == now.tree() {
        return Ok(Vec::new());
    }
    lost(&Holding::of(before)?, &Holding::of(now)?)
}

/// Operations that one state has and the next one has not, or has otherwise.
fn lost(before: &Holding<'_>, now: &Holding<'_>) -> Result<Vec<Loss>> {
    let mut found = Vec::new();
    for (id, folder) in before.folders.values() {
        if now.finds(id, folder) {
            continue;
        }
        let mut lose = |what: String| {
            let session = id.clone();
            found.push(Loss { session, what });
        };
        let (before, now) = (&before.snapshot, &now.snapshot);
        // What was damaged before has nothing that could be lost.
        let Ok(session) = before.load_folder(folder.clone()) else {
            continue;
        };
        let after = match after(now, id, &session) {
            Ok(Some(after)) if after.tree == session.tree => continue,
            Ok(Some(after)) => after,
            Ok(None) => {
                lose(format!("session {id} is gone"));
                continue;
            }
            Err(failure) => {
                lose(failure.message);
                continue;
            }
        };
        let Ok(earlier) = before.operations(&session) else {
            continue;
        };
        let later = match now.operations(&after) {
            Ok(later) => later,
            Err(failure) => {
                lose(failure.message);
                continue;
            }
        };
        let kept = |op: &Operation| later.iter().any(|known| known == op);
        if let Some(op) = earlier.iter().find(|op| !kept(op)) {
            lose(format!(
                "session {id}: the operation {} was changed or taken away",
                op.file_name()
            ));
        }
    }
    Ok(found)
}
