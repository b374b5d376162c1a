//! The state of a session at the moment at which a commit was made, from its operations.
//!
//! A hand-over to review names the code tree that it was about, a verdict the commit. What git shows to
//! have come after such a commit was made when the session had left the build before it, whatever its
//! trailers name: an older state cannot be used again. Dates are not asked: whoever commits writes them.

use super::super::artifact_merge::Joiner;
use super::super::op::{CodeVerdict, Event, Operation};
use super::super::replay;
use super::super::session::State;
use super::super::stage::{Stage, Transition};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use std::rc::Rc;

/// A moment at which code was closed, that names the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Milestone {
    pub seq: u64,
    pub at: At,
    /// Set when the code of the milestone was handed over or approved, as it should be.
    pub settles: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    Commit(Oid),
    Tree(Oid),
}

/// A move to another stage, and where the branch was then.
#[derive(Clone, Debug)]
pub struct Move {
    /// Records of older programs do not say.
    pub head: Option<Oid>,
    /// The session after it.
    pub state: Rc<State>,
}

/// The stage in which a commit was made, by the stage moves that have it: trailers, which whoever commits
/// writes, are not asked.
#[derive(Clone, Debug, Default)]
pub enum Moment {
    /// The moves do not tell.
    #[default]
    Unknown,
    /// The commit was made before the session began; with the session as it was when code was opened last.
    Before(Option<Rc<State>>),
    /// While the session was like this; several where the branch's heads between are not here, or were not
    /// recorded.
    In(Vec<Rc<State>>),
}

/// Side of a milestone on which a commit stands, by git's history alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The milestone's commit has it.
    Before,
    After,
    /// The commit is on neither side; or the milestone is in no commit that is here.
    Beside,
}

/// The moments of one session.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub milestones: Vec<Milestone>,
    /// The session each time that code was opened.
    openings: Vec<Rc<State>>,
    /// The beginning, and every stage move, in order.
    pub moves: Vec<Move>,
}

/// Facts about the moment of a commit.
#[derive(Clone, Debug, Default)]
pub enum Standing {
    #[default]
    Open,
    /// A hand-over or an approving verdict covers it.
    Settled,
    /// The commit came after the code had been closed.
    Left {
        /// The number of the operation that closed it.
        seq: u64,
        /// The session as it was when code was opened again after that.
        reopened: Vec<Rc<State>>,
    },
}

/// Reads the moments out of a session's operations.
pub fn history(id: &SessionId, operations: &[Operation], joiner: &dyn Joiner) -> Result<History> {
    let mut found = History::default();
    if let Some(first) = replay::in_order(operations).first()
        && let Ok(state) = replay::begin(id, first)
    {
        found.moves.push(Move {
            head: state.base.clone(),
            state: Rc::new(state),
        });
    }
    replay::walk(id, operations, joiner, |op, state| {
        if let Some(
            Event::Entered { head, .. }
            | Event::Reprofiled { head, .. }
            | Event::Approved {
                head,
                completes: true,
                ..
            },
        ) = op.event()
        {
            found.moves.push(Move {
                head: head.clone(),
                state: Rc::new(state.clone()),
            });
        }
        let (at, settles) = match op.event() {
            Some(Event::Reprofiled { stage, .. }) if *stage == Stage::Build => {
                found.openings.push(Rc::new(state.clone()));
                return;
            }
            Some(Event::Entered { transition, .. }) if transition.to() == Stage::Build => {
                found.openings.push(Rc::new(state.clone()));
                return;
            }
            Some(Event::Entered {
                transition: Transition::BuildToReview,
                ..
            }) => {
                let approval = state.approvals.get(&Transition::BuildToReview.key());
                let tree = approval.and_then(|approval| approval.code.clone());
                (tree.map(At::Tree), true)
            }
            Some(Event::Reviewed { verdict }) => (
                verdict.head.clone().map(At::Commit),
                verdict.verdict == CodeVerdict::Approve,
            ),
            _ => return,
        };
        if let Some(at) = at {
            found.milestones.push(Milestone {
                seq: op.seq,
                at,
                settles,
            });
        }
    })?;
    Ok(found)
}

impl History {
    /// The moment of a commit, by whether the head of each move has it; `None` where that cannot be told. It
    /// was made after the last head that lacks it, and before the first that has it.
    pub fn moment(&self, has: &[Option<bool>]) -> Moment {
        let first = has.iter().position(|has| *has == Some(true));
        if first == Some(0) {
            return Moment::Before(self.openings.last().cloned());
        }
        let end = first.unwrap_or(self.moves.len());
        let known = has.iter().take(end).rposition(|has| *has == Some(false));
        let between = self.moves.get(known.unwrap_or(0)..end).unwrap_or_default();
        match between {
            [] => Moment::Unknown,
            some => Moment::In(some.iter().map(|one| Rc::clone(&one.state)).collect()),
        }
    }

    /// The standing of a commit; `side` says where it stands to each milestone.
    pub fn standing(&self, side: impl Fn(&Milestone) -> Result<Side>) -> Result<Standing> {
        let mut left = None;
        let mut settled = None;
        for milestone in &self.milestones {
            match side(milestone)? {
                Side::After => left = Some(milestone.seq),
                Side::Before if milestone.settles => settled = Some(milestone.seq),
                Side::Before | Side::Beside => {}
            }
        }
        Ok(match (left, settled) {
            (None, None) => Standing::Open,
            (None, Some(_)) => Standing::Settled,
            (Some(left), Some(settled)) if settled > left => Standing::Settled,
            (Some(seq), _) => Standing::Left {
                seq,
                reopened: self
                    .openings
                    .iter()
                    .filter(|state| state.seq > seq)
                    .cloned()
                    .collect(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{At, History, Milestone, Side, Standing};
    use loopx_base::id::Oid;

    #[test]
    fn what_came_after_counts_until_something_later_covers_it() {
        let milestone = |seq, settles| Milestone {
            seq,
            at: At::Tree(Oid::parse(&"1".repeat(40)).expect("an id")),
            settles,
        };
        let history = History {
            milestones: vec![milestone(3, true), milestone(5, false), milestone(8, true)],
            ..History::default()
        };
        let of = |sides: [Side; 3]| {
            let at = |seq| match seq {
                3 => 0,
                5 => 1,
                _ => 2,
            };
            let standing = history
                .standing(|m| Ok(sides[at(m.seq)]))
                .expect("a standing");
            match standing {
                Standing::Open => "open".to_owned(),
                Standing::Settled => "settled".to_owned(),
                Standing::Left { seq, reopened } => format!("left {seq} {}", reopened.len()),
            }
        };
        use Side::{After, Before, Beside};
        assert_eq!(of([Beside, Beside, Beside]), "open");
        assert_eq!(of([Before, Before, Before]), "settled");
        // A reviewer who asks for changes settles nothing.
        assert_eq!(of([After, Before, Beside]), "left 3 0");
        assert_eq!(of([After, Before, Before]), "settled");
        assert_eq!(of([Before, After, After]), "left 8 0");
    }
}
