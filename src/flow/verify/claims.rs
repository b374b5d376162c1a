//! Claims in the trailers of commits, read against the loopx branch.

use super::Sessions;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_base::trailers;
use loopx_git::{CommitInfo, Repo};
use loopx_rules::op::Operation;
use loopx_rules::range_rules::{Claim, Fault};
use loopx_rules::session::{Ending, State};
use loopx_rules::words::Word;
use loopx_store::Snapshot;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Number of session commits that are looked for one by one before the whole branch is read.
const LOOKED_FOR_ALONE: usize = 16;

/// Reads the claims of many commits; what they name is read once.
pub(super) struct Reading<'a, 'r> {
    repo: &'a Repo,
    sessions: &'a Sessions<'r>,
    bound: Option<&'a State>,
    now: HashMap<SessionId, Result<Option<Rc<State>>>>,
    states: HashMap<(SessionId, Oid), Result<Rc<State>, Fault>>,
    reachable: HashMap<Oid, bool>,
    /// Every commit of the loopx branch, once many have been asked for.
    branch: Option<HashSet<Oid>>,
    /// Commits under their earlier ids, once one has been asked for.
    made_again: Option<HashMap<Oid, Oid>>,
}

impl<'a, 'r> Reading<'a, 'r> {
    pub(super) fn new(
        repo: &'a Repo,
        sessions: &'a Sessions<'r>,
        bound: Option<&'a State>,
    ) -> Self {
        Reading {
            repo,
            sessions,
            bound,
            now: HashMap::new(),
            states: HashMap::new(),
            reachable: HashMap::new(),
            branch: None,
            made_again: None,
        }
    }

    /// Claim of a commit, and the session that it names as it is now.
    pub(super) fn claim(&mut self, info: &CommitInfo) -> Result<(Claim, Option<Rc<State>>)> {
        let links = trailers::links(info.message.as_bytes(), b"#");
        if links.is_empty() {
            return Ok((Claim::Nothing, None));
        }
        let mut names = links.sessions;
        names.dedup();
        let [name] = names.as_slice() else {
            let fault = match self.foreign_state(&links.states)? {
                Some(foreign) => foreign,
                None => Fault::Sessions(names),
            };
            return Ok((Claim::Fault(fault), None));
        };
        let unknown = || Claim::Fault(Fault::UnknownSession(name.clone()));
        let Ok(id) = SessionId::parse(name) else {
            return Ok((unknown(), None));
        };
        let sessions = self.sessions;
        let now = self
            .now
            .entry(id.clone())
            .or_insert_with(|| sessions.now(&id));
        let session = match now.clone() {
            Ok(Some(session)) => session,
            Ok(None) => return Ok((unknown(), None)),
            Err(failure) => return Ok((Claim::Fault(Fault::Damaged(failure.message)), None)),
        };
        if self.is_strange(info, &session)? {
            let claim = Claim::Fault(Fault::OtherSession(id));
            return Ok((claim, Some(session)));
        }
        let mut states = Vec::new();
        for named in &links.states {
            match self.state(&id, named)? {
                Ok(state) => states.push(state),
                Err(fault) => return Ok((Claim::Fault(fault), Some(session))),
            }
        }
        let claim = if states.is_empty() {
            Claim::Session(Rc::clone(&session))
        } else {
            Claim::States(states)
        };
        Ok((claim, Some(session)))
    }

    /// The fault of a commit that names a state which is none, whatever session it names: what is looked for on the
    /// branch of sessions for ever.
    fn foreign_state(&mut self, states: &[String]) -> Result<Option<Fault>> {
        for named in states {
            if let Ok(state) = Oid::parse(named)
                && !self.reaches(&state)?
                && self.stands_for(&state)?.is_none()
            {
                return Ok(Some(Fault::ForeignState(named.clone())));
            }
        }
        Ok(None)
    }

    /// Tells whether the commit names another session than the one whose branch it is on, and is nowhere that the named
    /// one reached.
    fn is_strange(&self, info: &CommitInfo, session: &State) -> Result<bool> {
        if self.bound.is_none_or(|bound| bound.id == session.id) {
            return Ok(false);
        }
        let mut tips = Vec::new();
        if let Some(branch) = &session.branch {
            tips.extend(self.repo.find_ref(&format!("refs/heads/{branch}"))?);
            let tracked = self.repo.tracking_refs(branch)?;
            tips.extend(tracked.into_iter().map(|(_, tip)| tip));
        }
        if let Some(Ending::Archived {
            commit: Some(commit),
            ..
        }) = &session.ending
            && self.repo.contains(commit)?
        {
            tips.push(commit.clone());
        }
        for tip in tips {
            if self.repo.is_ancestor(&info.id, &tip)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tells whether the loopx branch has a commit. A few are looked for one by one; for many the branch's history is
    /// walked once.
    fn reaches(&mut self, commit: &Oid) -> Result<bool> {
        if let Some(known) = self.reachable.get(commit) {
            return Ok(*known);
        }
        if self.branch.is_none() && self.reachable.len() >= LOOKED_FOR_ALONE {
            self.branch = Some(self.sessions.history()?);
        }
        let reaches = match &self.branch {
            Some(branch) => branch.contains(commit),
            None => self.sessions.reaches(commit)?,
        };
        self.reachable.insert(commit.clone(), reaches);
        Ok(reaches)
    }

    /// The commit of the branch that was made again from one of this id (linear sync, a bundle).
    fn stands_for(&mut self, commit: &Oid) -> Result<Option<Oid>> {
        if self.made_again.is_none() {
            self.made_again = Some(self.sessions.made_again()?);
        }
        let again = self.made_again.as_ref();
        Ok(again.and_then(|again| again.get(commit)).cloned())
    }

    /// The operations that whoever made a commit's own operation had seen: what others had done by then
    /// came below it only when it was made again. All of them, where it made none in this session.
    fn seen(
        &self,
        commit: &Oid,
        id: &SessionId,
        operations: Vec<Operation>,
    ) -> Result<Vec<Operation>> {
        let parents = self.repo.commit_info(commit)?.parents;
        let mut before = HashSet::new();
        for parent in parents {
            let at = Snapshot::at(self.repo, parent, "loopx")?;
            if let Some(session) = at.find(id)? {
                before.extend(at.operations(&session)?.into_iter().map(|op| op.op));
            }
        }
        let of: HashMap<&OpId, &Operation> = operations.iter().map(|op| (&op.op, op)).collect();
        let mut next: Vec<&OpId> = of
            .keys()
            .copied()
            .filter(|op| !before.contains(*op))
            .collect();
        if next.is_empty() {
            return Ok(operations);
        }
        let mut seen = HashSet::new();
        while let Some(op) = next.pop() {
            if let Some(operation) = of.get(op)
                && seen.insert(op.clone())
            {
                next.extend(&operation.after);
            }
        }
        Ok(operations
            .into_iter()
            .filter(|op| seen.contains(&op.op))
            .collect())
    }

    fn state(&mut self, id: &SessionId, named: &str) -> Result<Result<Rc<State>, Fault>> {
        let foreign = || Fault::ForeignState(named.to_owned());
        let Ok(commit) = Oid::parse(named) else {
            return Ok(Err(foreign()));
        };
        let key = (id.clone(), commit);
        if let Some(known) = self.states.get(&key) {
            return Ok(known.clone());
        }
        let standing = if self.reaches(&key.1)? {
            None
        } else {
            match self.stands_for(&key.1)? {
                Some(commit) => Some(commit),
                None => return Ok(Err(foreign())),
            }
        };
        let place = standing.clone().unwrap_or_else(|| key.1.clone());
        let found = Snapshot::at(self.repo, place.clone(), "loopx").and_then(|at| {
            let Some(mut session) = at.find(id)? else {
                return Ok(None);
            };
            if session.state.is_active() {
                at.require_whole(&session)?;
                let mut operations = at.operations(&session)?;
                if standing.is_some() {
                    operations = self.seen(&place, id, operations)?;
                    session.state.seq = operations.iter().map(|op| op.seq).max().unwrap_or(0);
                }
                // What was taken back since is as if it had been then; what was brought back since counts
                // no more than it did then.
                operations.extend(undo_of(&operations, self.sessions.taken_back(id)?)?);
                // The number stays that of the moment that is named.
                let seq = session.state.seq;
                session.state = loopx_store::replay(self.repo, id, &operations)?;
                session.state.seq = seq;
            }
            Ok(Some(session))
        });
        let found = match found {
            Ok(Some(session)) if session.state.is_active() => Ok(Rc::new(session.state)),
            Ok(Some(_)) => Err(Fault::EndedAt(id.clone(), key.1.clone())),
            Ok(None) => Err(Fault::NoSessionAt(id.clone(), key.1.clone())),
            Err(failure) => Err(Fault::Damaged(failure.message)),
        };
        self.states.insert(key, found.clone());
        Ok(found)
    }
}

/// An undo of those that had happened by then, as nobody wrote it: to look at a moment without them.
fn undo_of(then: &[Operation], back: BTreeSet<OpId>) -> Result<Option<Operation>> {
    let known = |op: &OpId| then.iter().any(|other| other.op == *op);
    let undone: Vec<OpId> = back.into_iter().filter(known).collect();
    let Some(last) = then.iter().max_by_key(|op| op.seq) else {
        return Ok(None);
    };
    if undone.is_empty() {
        return Ok(None);
    }
    Ok(Some(Operation {
        seq: last.seq + 1,
        op: OpId::parse(&"z".repeat(26))?,
        // It has seen all.
        after: then.iter().map(|op| op.op.clone()).collect(),
        writes: BTreeMap::new(),
        others: BTreeMap::new(),
        body: Word::Undone { undone }.into(),
        ..last.clone()
    }))
}
