//! The reach of operations beside others that their writers did not know of: where they move the session, what they
//! take, and what stops them. What follows is decided in [`crate::conflicts`].

use crate::op::{AnswerWord, Event, Operation};
use crate::stage::{Stage, Transition};
use crate::topic::Slot;

/// The branch of a session.
pub(crate) const BRANCH: Slot = Slot {
    name: "branch",
    did: "bound the session otherwise",
    outlasts: false,
};

/// Owner of the build. Who has started to build goes on, whatever becomes of the operation that said so.
pub(crate) const OWNER: Slot = Slot {
    name: "owner",
    did: "claimed the build too",
    outlasts: true,
};

/// Destination of a move: a stage, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    To { stage: Stage, is_rollback: bool },
    End,
}

/// Finds where an event moves its session.
pub(crate) fn way(event: &Event) -> Option<Way> {
    let to = |transition: Transition| Way::To {
        stage: transition.to(),
        is_rollback: transition.is_rollback(),
    };
    match event {
        Event::Entered { transition, .. } => Some(to(*transition)),
        Event::Approved {
            transition,
            completes: true,
            ..
        } => Some(to(*transition)),
        Event::Reprofiled { stage, .. } => Some(Way::To {
            stage: *stage,
            is_rollback: true,
        }),
        Event::Abandoned | Event::Archived { .. } => Some(Way::End),
        Event::Imported { ended: Some(_), .. } => Some(Way::End),
        _ => None,
    }
}

/// Tells whether an operation cannot hold beside a move that its writer did not know of.
pub(crate) fn is_stopped(event: &Event, op: &Operation, way: Way) -> bool {
    match event {
        // What a run showed of the code stays true in a session that somebody else ended meanwhile, and
        // moves nothing there. A failure that was not known at the end is a person's to look at.
        Event::Ran { evidence } if way == Way::End => {
            return !evidence.passed() || op.writes.keys().any(|artifact| !artifact.is_derived());
        }
        // It speaks of one archive, and says nothing where that does not count.
        Event::Unarchived { .. } => return false,
        _ if way == Way::End => return true,
        _ => {}
    }
    let Way::To { stage, is_rollback } = way else {
        return true;
    };
    let by_event = match event {
        Event::Clarified { .. }
        | Event::Reprofiled { .. }
        | Event::Approved { .. }
        | Event::Entered { .. }
        | Event::Drafted
        | Event::PlanReviewed { .. }
        | Event::LaneReported { .. }
        | Event::Delegated { .. }
        | Event::Audited { .. }
        | Event::Reviewed { .. }
        | Event::Imported { .. }
        | Event::Rebased { .. }
        | Event::Refreshed => true,
        // A failure that was not known when the way was opened; a run that did not know of the rework.
        Event::Ran { evidence } => is_rollback || !evidence.passed(),
        // A finding that somebody says is open, when the way on was opened.
        Event::Answered { answers, .. } => {
            !is_rollback && answers.iter().any(|one| one.answer == AnswerWord::Open)
        }
        Event::Started { .. }
        | Event::Claimed
        | Event::Blocked { .. }
        | Event::Resumed
        | Event::Saved
        | Event::Bound { .. }
        | Event::Unbound
        | Event::Extended { .. }
        | Event::Waived { .. }
        | Event::Abandoned
        | Event::Archived { .. }
        | Event::Unarchived { .. } => false,
    };
    by_event
        || op
            .writes
            .keys()
            .any(|artifact| !artifact.is_derived() && !artifact.is_open_at(stage))
}
