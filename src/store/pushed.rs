//! What somebody wants the loopx branch to become, judged before it is taken: only forward, every state
//! the replay of its operations, no operation changed or taken away.
//!
//! Whether an operation is true is another question: who can write the branch can write any that fits.

use super::check::{bindings, check_folder};
use super::shelf::{self, Fault};
use super::{Session, Snapshot, shelves};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::shelf::Shelf;
use crate::git::Repo;
use std::collections::{BTreeSet, HashMap};

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
    };
    let mut found = Vec::new();
    for commit in &commits {
        let wrong = checking.commit(commit)?;
        found.extend(wrong.into_iter().map(|what| (commit.clone(), what)));
    }
    if found.is_empty() {
        let snapshot = Snapshot::at(repo, new.clone(), branch)?;
        let wrong = bindings(repo, &snapshot, &BTreeSet::new())?;
        found.extend(
            wrong
                .into_iter()
                .map(|damage| (new.clone(), format!("{}: {}", damage.session, damage.what))),
        );
    }
    Ok(found)
}

struct Checking<'a> {
    repo: &'a Repo,
    branch: &'a str,
    /// What was found of a session's folder, by its tree.
    folders: HashMap<Oid, Option<String>>,
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
        let mut wrong = Vec::new();
        for (path, shelf) in shelves::all(self.repo, now.tree())? {
            // An older layout hides nothing, so it may come: an older program wrote it.
            if let Some(Fault::Misplaced(what)) = shelf::faults(self.repo, Shelf::Names, &shelf)? {
                wrong.push(format!("{path}: {what}"));
            }
        }
        for (id, session) in now.active()? {
            match session {
                Ok(session) => wrong.extend(self.folder(&id, &session)?),
                Err(failure) => wrong.push(failure.message),
            }
        }
        for (id, session) in now.archived()? {
            if let Err(failure) = session.and_then(|session| now.operations(&session)) {
                wrong.push(format!("session {id}: {}", failure.message));
            }
        }
        for parent in &info.parents {
            if let Ok(before) = Snapshot::at(self.repo, parent.clone(), self.branch) {
                wrong.extend(lost(&before, &now)?);
            }
        }
        wrong.sort();
        wrong.dedup();
        Ok(wrong)
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

/// Operations that one state has and the next one has not, or has otherwise.
fn lost(before: &Snapshot<'_>, now: &Snapshot<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (id, session) in before.active()?.into_iter().chain(before.archived()?) {
        // What was damaged before has nothing that could be lost.
        let Ok(session) = session else {
            continue;
        };
        let after = match after(now, &id, &session) {
            Ok(Some(after)) if after.tree == session.tree => continue,
            Ok(Some(after)) => after,
            Ok(None) => {
                found.push(format!("session {id} is gone"));
                continue;
            }
            Err(failure) => {
                found.push(failure.message);
                continue;
            }
        };
        let Ok(earlier) = before.operations(&session) else {
            continue;
        };
        let later = now.operations(&after)?;
        let kept = |op: &Operation| later.iter().any(|known| known == op);
        if let Some(op) = earlier.iter().find(|op| !kept(op)) {
            found.push(format!(
                "session {id}: the operation {} was changed or taken away",
                op.file_name()
            ));
        }
    }
    Ok(found)
}
