//! Changes that some command could have written, given the records that their writer had. Plain git can push any
//! record: a record that no command writes changes nothing. The test must not know what the change would do.

use super::{Field, Folding, Member};
use crate::issue::Status;
use crate::issue::event::{Change, IssueEvent};
use crate::lease::Claim;
use loopx_base::id::OpId;
use loopx_base::says_something;

impl Folding<'_> {
    /// Tells whether some command could have written this change in the record at this place.
    pub(super) fn is_permitted(&self, at: usize, event: &IssueEvent, change: &Change) -> bool {
        match change {
            Change::Status(status) => self.is_status_permitted(at, event, *status),
            Change::Bind(Some(solution))
            | Change::Score { solution, .. }
            | Change::Reject { solution, .. }
            | Change::Fail(solution) => self.knew_solution(at, solution),
            _ => true,
        }
    }

    /// An issue ends for a reason, and is in progress by a claim or by a session. An import makes it as it was elsewhere.
    fn is_status_permitted(&self, at: usize, event: &IssueEvent, status: Status) -> bool {
        if matches!(event, IssueEvent::Created { .. }) {
            return true;
        }
        if status.is_final() {
            let reason = self.ops[at].reason.as_deref();
            let is_earned = status != Status::Resolved || !self.knew_open_criterion(at);
            return is_earned && reason.is_some_and(says_something);
        }
        let begins = |change: &Change| matches!(change, Change::Session(_));
        status != Status::InProgress || event.changes().iter().any(begins)
    }

    /// Tells whether a criterion was open for all that the writer of a record knew.
    fn knew_open_criterion(&self, at: usize) -> bool {
        self.members.iter().any(|(member, put)| {
            let Member::Criterion(text) = member else {
                return false;
            };
            let ticks = self.fields.get(&Field::Tick(text.clone()));
            let mut ticks = ticks.into_iter().flatten();
            put.iter().any(|put| self.cause.saw(at, put.at))
                && ticks.all(|(tick, change)| {
                    self.cause.saw(at, *tick) && !matches!(change, Change::Tick(_))
                })
        })
    }

    fn knew_solution(&self, at: usize, solution: &OpId) -> bool {
        let mut known = self.solutions.iter();
        known.any(|(other, _)| self.ops[*other].op == *solution && self.cause.saw(at, *other))
    }

    /// Tells whether a claim passes over another that its writer knew: `take` names the holder from whom it takes.
    pub(super) fn passes_over(&self, at: usize, claim: &Claim) -> bool {
        let Some((held, holder)) = &self.claim else {
            return false;
        };
        let is_named = |token: &String| *token == holder.value.owner;
        self.cause.saw(at, *held)
            && !is_named(&claim.owner)
            && !claim
                .over
                .as_ref()
                .is_some_and(|over| is_named(&over.owner))
    }

    /// Tells whether a release gives back the claim that its writer knew. The release names that claim, as `release`
    /// does: a claim whose lease is over may be named by anybody. Older records name none, and then each person gives
    /// back their own.
    pub(super) fn gives_back(&self, at: usize, named: Option<&OpId>) -> bool {
        let known = self.claim.as_ref();
        let Some((_, holder)) = known.filter(|(held, _)| self.cause.saw(at, *held)) else {
            return true;
        };
        match named {
            Some(named) => *named == holder.op,
            None => {
                let (by, of) = (&self.ops[at].by, &holder.signed.by);
                by.email.eq_ignore_ascii_case(&of.email)
            }
        }
    }
}
