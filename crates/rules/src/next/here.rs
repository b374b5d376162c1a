//! The place from which somebody asks: their worktree, the remote, and what of the session is not landed or pushed.

use super::advised::Advised;
use super::worktree::Worktree;
use crate::gate::{CodeFacts, Uncommitted};
use crate::lease::Worktrees;
use crate::policy::Policy;
use crate::task::node::TaskId;
use crate::task::world::World;
use loopx_base::failure::Blocker;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, Person};
use loopx_base::{counted, shell_word};
use serde::Serialize;
use std::collections::BTreeMap;

/// The distance of the branch of the sessions from what was last seen of a remote's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distance {
    pub remote: String,
    pub branch: String,
    /// Commits that only this clone has.
    pub ahead: usize,
    /// Commits that only the remote had.
    pub behind: usize,
    /// Set once the remote's branch was seen.
    #[serde(skip)]
    pub is_known: bool,
}

/// A code branch that lacks commits which its upstream had when that was last seen, and has none of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Behind {
    pub branch: String,
    pub upstream: String,
    pub commits: usize,
    /// Commit of the upstream.
    #[serde(skip)]
    pub tip: Oid,
}

impl Behind {
    /// `work is 1 commit behind origin/work`.
    pub fn words(&self) -> String {
        let commits = counted(self.commits, "commit");
        format!("{} is {commits} behind {}", self.branch, self.upstream)
    }
}

/// Place and person of the question what comes next.
#[derive(Clone, Debug, Default)]
pub struct Here<'a> {
    pub who: Option<&'a Person>,
    /// The step where git cannot put a name and a time under a record of whoever asks.
    pub unsigned: Option<Advised>,
    pub worktree: Option<Worktree>,
    /// The task whose end is asked for, where that is not the newest one of this worktree.
    pub task: Option<TaskId>,
    pub behind: Option<Behind>,
    /// The agent that asks, where one does: its word is no person's.
    pub agent: Option<String>,
    /// Steps that go before every stage: a conflict, a base or a branch that is gone.
    pub first: Option<Advised>,
    /// The worktrees of this clone, and the second at which this one asks: a build may be another's.
    pub worktrees: Worktrees,
    pub now: i64,
    /// Causes that hold the archive, as far as review and done know them.
    pub archive: Vec<Blocker>,
    /// The branch that an archive has to name, where neither the session nor this worktree has one.
    pub onto: Option<String>,
    /// Set when no file differs from where the review begins.
    pub is_empty: bool,
    /// Set when somebody sits at a terminal, and can be asked.
    pub asks: bool,
    pub remote: Option<Distance>,
    /// Conditions of tasks outside of their list; none of them holds where nobody looked.
    pub world: Option<&'a World>,
    /// Tasks whose files are not all there: what they leave, and is missing.
    pub missing: Vec<(TaskId, Vec<String>)>,
    /// The code, where a stage that does not look at it has a task that was checked.
    pub code: Option<CodeFacts>,
    /// Files of tasks that this worktree has otherwise than the session, in words.
    pub unsaved: Option<Hint>,
    /// Tasks that nobody can take here, and why.
    pub unfit: Vec<(TaskId, Unfit)>,
    /// The policy of the target, where it is another than the session's, and what takes it.
    pub moved: Option<Moved>,
    /// The branch that a remote has not got the newest of.
    pub unpushed: Option<Unpushed>,
    /// The remote that the code under review, or an archive, is fetched from where it is not here.
    pub unfetched: Option<Unfetched>,
    /// The target that has not got what was archived.
    pub unlanded: Option<Unlanded>,
    /// Records made apart that whoever asks may not leave out, each with the person who signed it.
    pub kept: BTreeMap<OpId, Person>,
    /// Reviewer who gave the last verdict, where it asked for changes.
    pub sent_back: Option<Person>,
    /// The archive of a session that was settled as abandoned, and the branch that still has it.
    pub leftover: Option<(String, Oid)>,
    /// The branch for the commits that are checked out, where none holds them.
    pub unheld: Option<Unheld>,
}

impl Here<'_> {
    /// The push of a branch. A server may ask for the session before it takes the code; a remote that has no sessions gets
    /// the code first, because it may have nothing yet.
    pub(super) fn push(&self, unpushed: &Unpushed) -> Advised {
        let lacks = self.remote.as_ref().filter(|remote| remote.ahead > 0);
        match lacks.filter(|remote| remote.is_known) {
            Some(remote) => command!("sync {}", remote.remote).into(),
            None => unpushed.pushed(),
        }
    }
}

/// A branch that can hold the commits of a detached HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unheld {
    /// A new one of this name.
    New(String),
    /// The session's own, which has nothing that they lack.
    Forward(String),
}

/// A branch that a remote has not got the newest of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpushed {
    pub remote: String,
    pub branch: String,
    pub standing: Standpoint,
}

/// Standpoint of a remote's branch beside ours, as the branch was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standpoint {
    /// No branch of the remote was seen.
    Unseen,
    /// The remote's branch lacks commits of ours.
    Behind,
    /// Ours and the remote's branch both have commits of their own: git takes no push.
    Apart,
    /// The remote's branch has the archive, and ours has nothing that it lacks.
    Ahead,
}

impl Unpushed {
    pub(super) fn push(&self) -> Hint {
        let branch = shell_word(&self.branch);
        Hint::git(format!("push {} {branch}", self.remote))
    }

    /// The push, with what to do where the remote has moved since it was last seen.
    pub(super) fn pushed(&self) -> Advised {
        let push = Advised::from(self.push());
        match self.standing {
            Standpoint::Behind => push.advice(hint![
                "where git refuses the push: ",
                Hint::git(format!("fetch {}", self.remote)),
                ", and ask again"
            ]),
            Standpoint::Unseen | Standpoint::Apart | Standpoint::Ahead => push,
        }
    }
}

/// A remote that may have the code under review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfetched {
    pub remote: String,
    /// The last word on it was given by whoever asks.
    pub is_own: bool,
}

/// A target that is one merge away from what was archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlanded {
    pub target: String,
    /// The branch that has the archive, or the commit where none has it.
    pub source: String,
    /// The commit that no branch has any more.
    pub lost: Option<Hint>,
    /// Set where the target has an archive that was taken back on the source, and has not got that.
    pub takes_back: bool,
    /// The remote that the branch belongs to, where there is one: the landing may be asked for there.
    pub remote: Option<String>,
    /// Worktree beside this one that has the target checked out.
    pub elsewhere: Option<String>,
    /// The command that goes to the target; nothing where it is checked out.
    pub way: Option<Hint>,
    /// Files with edits that the way to the target would overwrite, or the merge where the target is checked out.
    pub in_the_way: Vec<Uncommitted>,
}

/// Reason why nobody can take a task here: the skill by which it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub why: String,
    /// Way to make the place fit.
    pub help: Hint,
}

/// A policy of the target that has moved since the session began: it judges what lands.
#[derive(Clone, Debug)]
pub struct Moved {
    pub policy: Policy,
    /// The next step that makes it the session's.
    pub lead: Hint,
    pub why: String,
}

impl Here<'_> {
    /// Outputs of a task that are not there.
    pub(super) fn missing_of(&self, task: &str) -> Option<&[String]> {
        let mut all = self.missing.iter();
        let found = all.find(|(id, _)| id.as_str() == task);
        found.map(|(_, paths)| paths.as_slice())
    }

    pub(super) fn unfit_of(&self, task: &TaskId) -> Option<&Unfit> {
        let mut all = self.unfit.iter();
        all.find(|(id, _)| id == task).map(|(_, unfit)| unfit)
    }
}
