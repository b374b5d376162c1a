//! Approvals and moves between the stages, applied to a state.

use super::Beside;
use crate::contract::Boundary;
use crate::op::Operation;
use crate::profile::ProfileName;
use crate::session::{
    Approval, ApprovedBy, BuildFacts, FOLD, LIMIT_FOLD, OUT_OF_SCOPE_FOLD, State,
};
use crate::stage::{ApprovalKey, Stage, Transition};
use crate::task::amend::{Amended, Amendment};
use loopx_base::id::Oid;
use std::collections::BTreeMap;

/// The profile of a session, of which only one can stand.
const PROFILE: &str = "profile";

pub(super) fn approved_by(op: &Operation) -> ApprovedBy {
    ApprovedBy {
        op: op.op.clone(),
        signed: super::signed(op),
        committer: op.committer.clone(),
        reason: op.reason.clone(),
    }
}

impl State {
    /// Changes the base. Approvals that are not used yet, and what a review saw, were of a change from another commit.
    pub(super) fn rebase(&mut self, base: &Oid) {
        self.fold = self.fold.max(FOLD);
        self.rebased = true;
        self.base = Some(base.clone());
        if self.stage != Stage::Done {
            self.approvals.retain(|_, approval| !approval.armed);
        }
        if self.stage == Stage::Review {
            self.verdict = None;
        }
    }

    /// A round of clarification ended under a profile; of two that were chosen apart the deep one stands.
    pub(super) fn choose_profile(
        &mut self,
        op: &Operation,
        profile: &ProfileName,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        self.require_stage(Stage::Clarify)?;
        let knew = beside.knew(PROFILE, op);
        if knew || *profile == ProfileName::deep() {
            self.profile = profile.clone();
        }
        Ok(())
    }

    pub(super) fn reprofile(
        &mut self,
        op: &Operation,
        profile: &ProfileName,
        stage: Stage,
        beside: &mut Beside<'_>,
    ) {
        self.fold = self.fold.max(FOLD);
        beside.knew(PROFILE, op);
        self.profile = profile.clone();
        self.move_to(stage);
    }

    /// Moves the session to `stage` under another profile: what was approved and not used was a step of the old one,
    /// and whoever goes back has the gates that are ahead then still before them.
    fn move_to(&mut self, stage: Stage) {
        let back = stage < self.stage;
        self.approvals.retain(|key, approval| {
            let is_ahead = back && approval.transition.to() > stage && *key != ApprovalKey::Plan;
            !approval.armed && !is_ahead
        });
        if back {
            self.verdict = None;
        }
        if stage != self.stage {
            match stage {
                Stage::Plan => self.begin_plan(),
                Stage::Build if self.build.iteration == 0 => self.build.iteration = 1,
                _ => {}
            }
        }
        self.stage = stage;
    }

    pub(super) fn raise_cap(&mut self, stage: Stage, by: u32) -> Result<(), String> {
        let cap = match stage {
            Stage::Clarify => &mut self.clarify.extra_rounds,
            Stage::Plan => &mut self.plan.extra_iterations,
            Stage::Build => &mut self.build.extra_iterations,
            Stage::Review | Stage::Done => return Err("this stage has no cap".into()),
        };
        *cap = cap.saturating_add(by);
        Ok(())
    }

    /// Approves a content; who approves the same one joins the others. The last one that policy asks for moves the
    /// session as well.
    pub(super) fn approve(
        &mut self,
        op: &Operation,
        approval: Approval,
        completes: bool,
    ) -> Result<(), String> {
        let transition = approval.transition;
        self.require_stage(transition.from())?;
        let same = self.approvals.get_mut(&transition.key()).filter(|known| {
            known.armed
                && known.transition == transition
                && known.content == approval.content
                && known.code == approval.code
        });
        match same {
            Some(known) => known.by.extend(approval.by),
            None => {
                self.approvals.insert(transition.key(), approval);
            }
        }
        if completes {
            self.enter(op, transition, Boundary::default())?;
        }
        Ok(())
    }

    /// The list of the plan is another one since.
    pub(super) fn amend(
        &mut self,
        approval: Approval,
        completes: bool,
        amendment: &Amendment,
    ) -> Result<(), String> {
        self.require_stage(Stage::Build)?;
        let is_of_plan = approval.transition == Transition::PlanToBuild && approval.code.is_none();
        if !is_of_plan || completes {
            return Err("an amendment is of the plan that was approved".into());
        }
        self.fold = self.fold.max(LIMIT_FOLD);
        self.amendments.push(Amended {
            approval,
            amendment: amendment.clone(),
            settled: false,
        });
        Ok(())
    }

    /// Moves the session, where the move needs no approval or has one.
    pub(super) fn enter(
        &mut self,
        op: &Operation,
        transition: Transition,
        boundary: Boundary<'_>,
    ) -> Result<(), String> {
        if transition.is_approved() {
            self.use_approval(transition)?;
        }
        self.fold = self.fold.max(FOLD);
        self.stage = transition.to();
        self.last_transition = Some(transition);
        match transition {
            Transition::ClarifyToPlan | Transition::ReviewToPlan | Transition::BuildToPlan => {
                self.enter_plan();
            }
            Transition::PlanToBuild => {
                self.enter_build(op, false);
                self.scope = boundary.within.to_vec();
                self.out_of_scope = boundary.without.to_vec();
                if !self.out_of_scope.is_empty() {
                    self.fold = self.fold.max(OUT_OF_SCOPE_FOLD);
                }
            }
            Transition::ReviewToBuild | Transition::DoneToBuild => self.enter_build(op, true),
            Transition::BuildToReview => self.enter_review(),
            Transition::ReviewToClarify => self.forget(&[
                ApprovalKey::Plan,
                ApprovalKey::Build,
                ApprovalKey::Review,
                ApprovalKey::Complete,
            ]),
            Transition::ReviewToDone => {}
        }
        if transition.is_rollback() && transition.to() != Stage::Build {
            self.verdict = None;
        }
        Ok(())
    }

    fn use_approval(&mut self, transition: Transition) -> Result<(), String> {
        let known = self.approvals.get_mut(&transition.key());
        match known.filter(|a| a.armed && a.transition == transition) {
            Some(approval) => {
                approval.armed = false;
                Ok(())
            }
            None => Err(format!("{transition} was not approved")),
        }
    }

    fn forget(&mut self, keys: &[ApprovalKey]) {
        for key in keys {
            self.approvals.remove(key);
        }
    }

    fn enter_plan(&mut self) {
        self.forget(&[
            ApprovalKey::Build,
            ApprovalKey::Review,
            ApprovalKey::Complete,
        ]);
        self.begin_plan();
        for amended in &mut self.amendments {
            amended.settled = true;
        }
    }

    /// The plan is entered.
    pub(crate) fn begin_plan(&mut self) {
        self.plan.run += 1;
        self.plan.iteration = 1;
        self.plan.extra_iterations = 0;
    }

    /// A build begins; in a rework it goes on.
    fn enter_build(&mut self, op: &Operation, rework: bool) {
        self.forget(&[
            ApprovalKey::Review,
            ApprovalKey::Rollback,
            ApprovalKey::Complete,
        ]);
        let earlier = std::mem::take(&mut self.build);
        self.build = BuildFacts {
            iteration: 1,
            rework,
            fresh_after: match &self.verdict {
                Some(verdict) if rework => verdict.seq,
                _ => 0,
            },
            // Open delegations and builders outlive a rework: nobody closed them.
            delegations: earlier.delegations,
            builders: earlier.builders,
            waivers: if rework {
                earlier.waivers
            } else {
                BTreeMap::new()
            },
            ..BuildFacts::default()
        };
        self.builds(op);
    }

    fn enter_review(&mut self) {
        self.forget(&[ApprovalKey::Rollback, ApprovalKey::Complete]);
        self.verdict = None;
        self.reviews += 1;
        self.build.claim = None;
        self.build.blocked = None;
    }
}
