//! The rules of `verify` and pre-push for a range of commits: facts that were read from objects in, findings out. A
//! trailer is a claim; what it names on the loopx branch is what counts.

pub mod approvals;
pub mod history;
mod judge;
mod protected;

pub use judge::judge;
use loopx_base::hint::Hint;
pub use protected::set_back;

use super::policy::Policy;
use super::session::State;
use history::{Moment, Standing};
use loopx_base::failure::{Blocker, Code};
use loopx_base::id::{Oid, SessionId};
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::rc::Rc;

vocabulary!(
    /// Severity of a finding: an error makes `verify` fail.
    Severity { Error = "error", Warning = "warning" }
);

/// Finding: what a range should not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub code: Code,
    pub severity: Severity,
    pub commit: Oid,
    pub subject: String,
    pub paths: Vec<String>,
    pub message: String,
    pub help: Hint,
}

impl Finding {
    /// Finding of what is wrong with a session, put down to a commit that it let in.
    pub fn of(commit: &Commit, blocker: Blocker) -> Self {
        let Blocker {
            code,
            message,
            help,
            ..
        } = blocker;
        finding(commit, code, Severity::Error, Vec::new(), message, help)
    }

    /// Finding as a line of a refusal.
    pub fn blocker(&self) -> Blocker {
        let message = format!("{} {}: {}", self.commit.short(), self.subject, self.message);
        Blocker::new(self.code, message, self.help.clone())
    }
}

/// A commit that is judged.
#[derive(Clone, Debug)]
pub struct Commit {
    pub id: Oid,
    pub subject: String,
    /// Paths that the commit changes against its parent; of a merge, those that differ from what its parents merge to.
    pub paths: Vec<String>,
    /// Paths in conflict that a merge resolved to what neither parent has.
    pub resolved: Vec<String>,
    pub is_merge: bool,
    /// Set when the commit was made on the branch itself, and did not come through a merge.
    pub direct: bool,
    pub claim: Claim,
    /// Standing of the moment at which the commit was made, by the operations of its session.
    pub standing: Standing,
    /// Moment at which the commit was made by the stage moves, where it has no trailers.
    pub moment: Moment,
    /// The session whose review showed it, where it lands.
    pub owner: Option<Rc<State>>,
    pub landed: Landed,
}

/// Ground on which a commit lands, where it is to land on a protected branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The commit lands by the review that showed it, or by nothing.
    Shown,
    /// The commit lands by the review of its content: a missing link does no harm, a false one is found.
    Content,
    /// A command or policy brings it: what its message says is of no account.
    Exempt,
}

/// Claim that the trailers of a commit make.
#[derive(Clone, Debug)]
pub enum Claim {
    /// The commit has no trailers.
    Nothing,
    /// The session as it was at each of the named states.
    States(Vec<Rc<State>>),
    /// A session is named, and no state of it: archive writes such a commit. With the session as it
    /// is now.
    Session(Rc<State>),
    Fault(Fault),
}

/// A claim that is not true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The trailers name not one session, but these.
    Sessions(Vec<String>),
    UnknownSession(String),
    /// The trailer names no commit of the loopx branch.
    ForeignState(String),
    /// The session was not there at that commit.
    NoSessionAt(SessionId, Oid),
    /// The session had ended there.
    EndedAt(SessionId, Oid),
    Damaged(String),
    /// The commit is not on that session's branch, nor does the branch that is judged belong to the session.
    OtherSession(SessionId),
}

/// The newest commit of the range.
#[derive(Clone, Debug)]
pub struct Head {
    pub id: Oid,
    pub subject: String,
    pub tree: Oid,
    /// The session whose result it is, as it is now: the newest one.
    pub session: Rc<State>,
    /// Sessions whose result it is, oldest first.
    pub sessions: Vec<Rc<State>>,
    /// Paths that differ between the reviewed trees and this one; `None` where there is no approving verdict
    /// to compare with, or its tree is not here.
    pub differing: Option<Vec<String>>,
}

/// Range of commits that is judged, with all that the judgement asks.
#[derive(Debug)]
pub struct Range<'a> {
    pub policy: &'a Policy,
    /// The session that the branch is bound to, as it is now.
    pub bound: Option<&'a State>,
    /// Set when commits of the target are left out, so that everything here is the branch's own.
    pub own: bool,
    /// Set when the range is to land on a protected branch.
    pub lands: bool,
    /// Hooks are installed where it is judged.
    pub hooked: bool,
    pub commits: &'a [Commit],
    pub head: Option<&'a Head>,
}

fn finding(
    commit: &Commit,
    code: Code,
    severity: Severity,
    paths: Vec<String>,
    message: String,
    help: impl Into<Hint>,
) -> Finding {
    Finding {
        code,
        severity,
        commit: commit.id.clone(),
        subject: commit.subject.clone(),
        paths,
        message,
        help: help.into(),
    }
}

fn without(paths: &[String], passes: impl Fn(&str) -> bool) -> Vec<String> {
    paths.iter().filter(|path| !passes(path)).cloned().collect()
}
