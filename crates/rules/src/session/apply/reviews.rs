//! The reviews of a plan and of a build, and the answers to their findings, applied to a state.

use super::{BASE, Beside, recorded};
use crate::finding::{Finding, Said, record_of};
use crate::op::{Answer, FoundIn, Operation, PlanVerdict, ReviewFinding, Verdict};
use crate::session::{PlanReview, State};
use crate::stage::{ApprovalKey, Stage};
use loopx_base::id::Oid;

impl State {
    pub(super) fn review_plan(
        &mut self,
        op: &Operation,
        review: PlanReview,
        found: &[ReviewFinding],
        beside: &Beside<'_>,
    ) -> Result<(), String> {
        self.require_stage(Stage::Plan)?;
        self.find_all(op, review.lane.into(), review.iteration, found, None);
        // Of two that did not know of each other the one that does not approve counts.
        let held = self.plan.reviews.iter().position(|known| {
            review.verdict == PlanVerdict::Approve
                && known.value.verdict != PlanVerdict::Approve
                && known.value.lane == review.lane
                && !beside.saw(&known.op)
        });
        let at = held.unwrap_or(self.plan.reviews.len());
        self.plan.reviews.insert(at, recorded(op, review));
        Ok(())
    }

    pub(super) fn review(
        &mut self,
        op: &Operation,
        verdict: &Verdict,
        beside: &Beside<'_>,
    ) -> Result<(), String> {
        self.require_stage(Stage::Review)?;
        for key in [ApprovalKey::Rollback, ApprovalKey::Complete] {
            self.approvals.remove(&key);
        }
        let (round, found) = (self.reviews, &verdict.findings);
        self.find_all(op, FoundIn::Review, round, found, Some(verdict));
        let held = self
            .verdict
            .as_ref()
            .is_some_and(|known| !known.value.is_approval() && !beside.saw(&known.op));
        let is_of_other_base = verdict.is_approval() && beside.missed(BASE);
        if !held && !is_of_other_base {
            self.verdict = Some(recorded(op, verdict.clone()));
        }
        Ok(())
    }

    fn find_all(
        &mut self,
        op: &Operation,
        lane: FoundIn,
        round: u32,
        all: &[ReviewFinding],
        verdict: Option<&Verdict>,
    ) {
        for (nth, found) in (0..).zip(all) {
            let finding = Finding {
                nth,
                lane,
                round,
                found: found.clone(),
                tree: verdict.map(|verdict| verdict.tree.clone()),
                record: verdict.and_then(|verdict| record_of(&verdict.files)),
                answer: None,
            };
            self.find(recorded(op, finding));
        }
    }

    pub(super) fn answer_all(
        &mut self,
        op: &Operation,
        answers: &[Answer],
        tree: Option<&Oid>,
        beside: &Beside<'_>,
    ) {
        for answer in answers {
            let said = Said {
                answer: answer.answer,
                tree: tree.cloned(),
            };
            self.answer(answer, recorded(op, said), |known| beside.saw(known));
        }
    }
}

/// A finding of a plan as it was typed.
pub(super) fn plan_words(found: &ReviewFinding) -> String {
    if found.is_plain() {
        found.text.clone()
    } else {
        found.to_string()
    }
}
