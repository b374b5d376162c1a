//! The sessions that a judgement may rest on: the loopx branch wherever it is known, the local one and
//! the one that was fetched from the default remote.

use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_git::Repo;
use loopx_rules::issue;
use loopx_rules::issue::{Issue, IssueId};
use loopx_rules::op::Operation;
use loopx_rules::replay;
use loopx_rules::replay::fold;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_store::{Session, SignatureFiles, Snapshot, Store, stands_for};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// An issue that a commit names, as the backlog has it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Named {
    There,
    /// An issue that was closed as a duplicate of its duplicate; the oldest of that circle.
    Circle(IssueId),
    /// An issue whose beginning was taken back.
    TakenBack,
    Unknown,
}

/// The loopx branch, as far as it is known here.
pub(crate) struct Sessions<'r> {
    repo: &'r Repo,
    /// The local branch first, then the remote's.
    tips: Vec<Snapshot<'r>>,
}

impl<'r> Sessions<'r> {
    pub(crate) fn open(ctx: &'r Context) -> Result<Self> {
        let store = ctx.store()?;
        let found = Self::read(&store)?;
        if found.tips.is_empty() {
            // Says that nothing is initialised, and how to go on.
            store.snapshot().map_err(|failure| {
                match ctx.repo.default_remote(Some(store.branch())) {
                    Ok(Some(remote)) => {
                        let branch = store.branch();
                        failure.help(hint![format!("git fetch {remote} +refs/heads/{branch}:refs/remotes/{remote}/{branch}  (in a repository without sessions: "), command!("init"), ")"])
                    }
                    _ => failure,
                }
            })?;
        }
        Ok(found)
    }

    pub(crate) fn read(store: &Store<'r>) -> Result<Self> {
        let repo = store.repo();
        let mut tips: Vec<Snapshot<'r>> = store.read()?.into_iter().collect();
        // What any other remote says opens no gate here.
        if let Some((name, tip)) = repo.project_ref(store.branch())? {
            match Snapshot::at(repo, tip, &name) {
                // A branch of that name on a remote need not be one of ours.
                Err(failure) if matches!(failure.code, Code::BranchForeign | Code::FormatNewer) => {
                }
                there => tips.push(there?),
            }
        }
        Ok(Sessions { repo, tips })
    }

    /// Reads a single state of the branch, and no other; nothing where there is none.
    pub(crate) fn at(ctx: &'r Context, tip: Option<Oid>, label: &str) -> Result<Self> {
        let repo = &ctx.repo;
        let tips = match tip {
            Some(tip) => vec![Snapshot::at(repo, tip, label)?],
            None => Vec::new(),
        };
        Ok(Sessions { repo, tips })
    }

    pub(super) fn newest(&self) -> &Snapshot<'r> {
        &self.tips[0]
    }

    /// The standing of an issue that a commit names, as the branches say it.
    pub(super) fn issue_named(&self, id: &IssueId) -> Result<Named> {
        let mut found = Named::Unknown;
        for tip in &self.tips {
            if let Some(records) = tip.issue_records(id)? {
                match issue::fold(id, &records) {
                    Some(read) if read.issue.originals().next().is_some() => {
                        return Ok(in_circle(&tip.issues()?.issues, id));
                    }
                    Some(_) => return Ok(Named::There),
                    None => found = Named::TakenBack,
                }
            }
        }
        Ok(found)
    }

    /// A session as it is now.
    pub(crate) fn now(&self, id: &SessionId) -> Result<Option<Rc<State>>> {
        for tip in &self.tips {
            if let Some(session) = tip.find(id)? {
                return replayed(tip, session).map(|state| Some(Rc::new(state)));
            }
        }
        Ok(None)
    }

    /// Operations of a session by now.
    pub(super) fn operations(&self, id: &SessionId) -> Result<Vec<Operation>> {
        for tip in &self.tips {
            if let Some(session) = tip.find(id)? {
                return tip.operations(&session);
            }
        }
        Ok(Vec::new())
    }

    /// Operations of a session with what people signed about them, by the names of their files.
    pub(super) fn signed_operations(
        &self,
        id: &SessionId,
    ) -> Result<(Vec<Operation>, SignatureFiles)> {
        for tip in &self.tips {
            if let Some(session) = tip.find(id)? {
                return Ok((tip.operations(&session)?, tip.signatures(&session)?));
            }
        }
        Ok((Vec::new(), BTreeMap::new()))
    }

    /// Operations that are taken back in a session by now, or count for nothing: a state that rests on one lets nothing
    /// in any more.
    pub(super) fn taken_back(&self, id: &SessionId) -> Result<BTreeSet<OpId>> {
        let operations = self.operations(id)?;
        let mut found = replay::taken_back(&operations);
        if !operations.is_empty() {
            let state = loopx_store::replay(self.repo, id, &operations)?;
            found.extend(state.void.into_iter().map(|void| void.op));
        }
        Ok(found)
    }

    /// The sessions that can still change; a damaged one is nobody's business here.
    pub(super) fn active(&self) -> Result<Vec<State>> {
        let Some(tip) = self.tips.first() else {
            return Ok(Vec::new());
        };
        let found = tip.active()?.into_iter();
        Ok(found
            .filter_map(|(_, session)| Some(session.ok()?.state))
            .collect())
    }

    /// The sessions that are done or archived, with those that can still change first.
    pub(super) fn finished(&self) -> Result<Vec<Rc<State>>> {
        let Some(tip) = self.tips.first() else {
            return Ok(Vec::new());
        };
        let all = tip.active()?.into_iter().chain(tip.archived()?);
        let states = all.filter_map(|(_, session)| replayed(tip, session.ok()?).ok());
        Ok(states
            .filter(|state| state.stage == Stage::Done)
            .map(Rc::new)
            .collect())
    }

    /// The session that a code branch is bound to. A binding is taken away when a session ends, so only
    /// the first tip counts: another one may be older.
    pub(crate) fn bound_to(&self, branch: &str) -> Result<Option<Rc<State>>> {
        let Some(tip) = self.tips.first() else {
            return Ok(None);
        };
        match tip.sole_bound_to(branch)? {
            Some(id) => self.now(&id),
            None => Ok(None),
        }
    }

    /// Every commit of the branch.
    pub(super) fn history(&self) -> Result<HashSet<Oid>> {
        let mut found = HashSet::new();
        for tip in &self.tips {
            found.extend(self.repo.range(tip.commit(), &[], usize::MAX)?);
        }
        Ok(found)
    }

    /// The commits that were made again on the branch under another id, each with the one that stands
    /// for it.
    pub(super) fn made_again(&self) -> Result<HashMap<Oid, Oid>> {
        let mut found = HashMap::new();
        for tip in &self.tips {
            for commit in self.repo.range(tip.commit(), &[], usize::MAX)? {
                for was in stands_for(&self.repo.commit_info(&commit)?) {
                    found.insert(was, commit.clone());
                }
            }
        }
        Ok(found)
    }

    pub(super) fn reaches(&self, commit: &Oid) -> Result<bool> {
        // What is not here, or is no commit, is on no branch.
        if self.repo.commit_info(commit).is_err() {
            return Ok(false);
        }
        for tip in &self.tips {
            if self.repo.is_ancestor(commit, tip.commit())? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The standing of an issue that was closed as a duplicate.
fn in_circle(issues: &[Issue], id: &IssueId) -> Named {
    let mut circles = issue::circles(issues).into_iter();
    let circle = circles.find(|circle| circle.iter().any(|one| one.id == *id));
    circle.map_or(Named::There, |circle| Named::Circle(circle[0].id.clone()))
}

/// The state of a session, where it is what the operations give: a record that says more opens nothing.
fn replayed(tip: &Snapshot<'_>, session: Session) -> Result<State> {
    if session.state.is_active() {
        tip.require_whole(&session)?;
        return Ok(session.state);
    }
    let stored = session.state.clone();
    let mut state = fold(&stored.id, &tip.operations(&session)?)?;
    // Archive adds what it made, and seals the operations into one file.
    state.artifacts.clone_from(&stored.artifacts);
    state.ops.clone_from(&stored.ops);
    if state == stored {
        return Ok(state);
    }
    Err(Failure::internal(
        Code::RecordDamaged,
        format!(
            "commit {}: {} differs from what its operations give",
            tip.commit().short(),
            session.place
        ),
    )
    .help(command!("fsck --repair")))
}
