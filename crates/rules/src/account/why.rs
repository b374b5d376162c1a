//! Reasons why nothing covers a commit, or a path.

use crate::stage::Stage;
use loopx_base::id::SessionId;
use serde::Serialize;
use std::fmt;

/// Reason why no step covers a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Lack of any session that has to do with the commit.
    Nobody,
    NotDone {
        session: SessionId,
        stage: Stage,
    },
    /// The session is done, and no approving verdict stands.
    NoVerdict(SessionId),
    /// Review of something else; the paths that differ.
    Changed {
        session: SessionId,
        paths: Vec<String>,
    },
    /// Conflict of what was reviewed with what the target has got meanwhile.
    Conflict(SessionId),
    /// The verdict has landed on the target before.
    Landed(SessionId),
    /// The verdict is about another target.
    OtherTarget {
        session: SessionId,
        target: String,
    },
    /// Review that did not show the commit.
    NotShown(SessionId),
    /// The reviewed tree is not that of the reviewed commit.
    Uncommitted(SessionId),
    /// The reviewed commit, or what it was compared with, is not in this repository.
    NotHere(SessionId),
    /// The review was of nothing, and nobody said why.
    Empty(SessionId),
    /// Commit with the trailers of an archive that is no archive.
    NoArchive(SessionId),
    /// Paths change that no covered commit changes; with a session that lands with it.
    Stray {
        session: Option<SessionId>,
        paths: Vec<String>,
    },
}

impl Why {
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Why::Nobody => None,
            Why::Stray { session, .. } => session.as_ref(),
            Why::NoVerdict(session)
            | Why::Conflict(session)
            | Why::Landed(session)
            | Why::NotShown(session)
            | Why::Uncommitted(session)
            | Why::NotHere(session)
            | Why::Empty(session)
            | Why::NoArchive(session)
            | Why::NotDone { session, .. }
            | Why::Changed { session, .. }
            | Why::OtherTarget { session, .. } => Some(session),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Nobody => f.write_str("no session has this result"),
            Why::NotDone { session, stage } => write!(f, "session {session} is in stage {stage}"),
            Why::NoVerdict(session) => {
                write!(f, "no verdict of session {session} covers this tree")
            }
            Why::Changed { session, .. } => {
                write!(f, "session {session}: changed since the review")
            }
            Why::Conflict(session) => write!(
                f,
                "the reviewed changes of session {session} conflict with the branch as it is now"
            ),
            Why::Landed(session) => write!(
                f,
                "the verdict of session {session} was used for an earlier landing, and a verdict counts for one landing only"
            ),
            Why::OtherTarget { session, target } => {
                write!(f, "the verdict of session {session} is about the branch `{target}`")
            }
            Why::NotShown(session) => {
                write!(f, "the review of session {session} began after this commit")
            }
            Why::Uncommitted(session) => write!(
                f,
                "session {session} was reviewed with uncommitted work, which no commit has"
            ),
            Why::NotHere(session) => write!(
                f,
                "the reviewed commit of session {session} is not in this repository"
            ),
            Why::Empty(session) => write!(
                f,
                "the review of session {session} covers no change, and gives no reason for that"
            ),
            Why::NoArchive(session) => write!(
                f,
                "the specs of this commit are not those that archiving session {session} makes"
            ),
            Why::Stray { session: None, .. } => f.write_str(
                "the merge changes something that none of its commits changes, for example in a file that the branch renamed",
            ),
            Why::Stray {
                session: Some(session),
                ..
            } => write!(
                f,
                "the result of session {session} has something that its review did not show: a merge changes something that none of the commits changes, for example in a file that the branch renamed"
            ),
        }
    }
}

/// Reason why a path lands by no exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathWhy {
    /// Path that decides who judges what, or that is an accepted result.
    Guarded,
    /// File that is no plain one, or stops being one.
    Mode,
    /// Path that policy does not let in without a session.
    Code,
    /// Path for which policy demands a profile.
    Demanded,
}

impl fmt::Display for PathWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathWhy::Guarded => "guarded: lands only by a session",
            PathWhy::Mode => "its mode changes, or it is no plain file",
            PathWhy::Code => "not in always_allow",
            PathWhy::Demanded => "policy demands a profile for it: lands only by a session",
        })
    }
}
