//! A session's state: facts only, folded from its operations.
//!
//! [`super::replay::fold`] is total and deterministic: the same set of operations gives the same state on every
//! machine, whatever the order in which they arrived. An operation that does not fit is kept and listed
//! as a conflict. Conclusions (readiness, blockers, next command) are computed in `gate`, never stored.

use super::artifact::Artifact;
use super::failure::{Failure, Result};
use super::id::{Oid, OpId, Person, SessionId};
use super::lease::Claim;
use super::op::{
    BlockCause, Delegation, Event, Evidence, FORMAT, Lane, LaneStatus, Operation, PlanLane,
    PlanVerdict, Profile, RequirementBase, Verdict,
};
use super::stage::{ApprovalKey, Stage, Transition};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Iterations of a plan before somebody raises the cap.
pub const MAX_PLAN_ITERATIONS: u32 = 5;
/// Iterations of a build before somebody raises the cap.
pub const MAX_BUILD_ITERATIONS: u32 = 10;

/// Everything that is true of a session. Serialized as `state.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub format: u32,
    pub id: SessionId,
    /// Random: two people who chose one name are told apart by it.
    pub uid: String,
    pub title: String,
    /// The tree id of `ops/`: a digest of every operation that this state was folded from.
    pub ops: Option<Oid>,
    pub seq: u64,
    pub last: OpId,
    /// The newest operations where clones came together and nobody has written since; else empty, and
    /// [`State::last`] is the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frontier: Vec<OpId>,
    pub started: Signed,
    pub touched: Signed,
    pub stage: Stage,
    pub ending: Option<Ending>,
    pub profile: Profile,
    pub branch: Option<String>,
    pub base: Option<Oid>,
    pub artifacts: BTreeMap<Artifact, Oid>,
    pub approvals: BTreeMap<ApprovalKey, Approval>,
    pub last_transition: Option<Transition>,
    /// Declared at plan->build; empty is everything.
    pub scope: Vec<String>,
    pub clarify: ClarifyFacts,
    pub plan: PlanFacts,
    pub build: BuildFacts,
    pub verdict: Option<Recorded<Verdict>>,
    pub evidence: Vec<Recorded<Evidence>>,
    pub bases: Vec<RequirementBase>,
    pub conflicts: Vec<OpConflict>,
    /// Artifacts that several clones changed apart, until somebody writes them again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joins: BTreeMap<Artifact, Join>,
}

/// Who and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    pub by: Person,
    pub at: String,
}

/// Something with the operation that recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded<T> {
    pub op: OpId,
    pub seq: u64,
    #[serde(flatten)]
    pub signed: Signed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(flatten)]
    pub value: T,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending {
    Abandoned {
        reason: Option<String>,
    },
    Archived {
        commit: Option<Oid>,
        target: String,
        month: String,
    },
}

/// An approval, armed until the stage's command consumes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub transition: Transition,
    pub armed: bool,
    pub content: Oid,
    pub files: BTreeMap<Artifact, Oid>,
    pub code: Option<Oid>,
    /// Everybody who approved this content, in order.
    pub by: Vec<ApprovedBy>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedBy {
    pub op: OpId,
    #[serde(flatten)]
    pub signed: Signed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committer: Option<Person>,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClarifyFacts {
    /// Rounds allowed on top of the profile's.
    pub extra_rounds: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanFacts {
    /// How often the stage was entered.
    pub run: u32,
    pub iteration: u32,
    pub extra_iterations: u32,
    /// Every review of every draft, across runs: handed on to the next draft.
    pub reviews: Vec<Recorded<PlanReview>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReview {
    pub run: u32,
    pub iteration: u32,
    pub lane: PlanLane,
    pub verdict: PlanVerdict,
    pub findings: Vec<String>,
    pub files: BTreeMap<Artifact, Oid>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildFacts {
    pub iteration: u32,
    pub extra_iterations: u32,
    pub no_deslop: bool,
    /// Entered by review->build.
    pub rework: bool,
    /// The verdict that sent the work back, by its number: what ran before it proves nothing now.
    pub fresh_after: u64,
    pub lanes: BTreeMap<Lane, Recorded<LaneReport>>,
    pub delegations: Vec<Delegation>,
    pub waivers: BTreeMap<String, Recorded<Waiver>>,
    /// Everybody who did a build step: not independent of the result.
    pub builders: Vec<Person>,
    pub audit: Option<Audit>,
    /// Whose build it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Recorded<Claim>>,
    /// Why it cannot go on; the next step of the build ends that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Recorded<BuildBlock>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildBlock {
    pub cause: BlockCause,
    pub missing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReport {
    pub status: LaneStatus,
    pub summary: String,
    pub tree: Oid,
}

/// A named person's word that a task needs no evidence; the reason stands in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub tree: Oid,
    pub blockers: Vec<String>,
}

/// An operation that did not fit where it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpConflict {
    pub op: OpId,
    pub why: String,
    /// What stands against it; without those it would count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<OpId>,
}

/// One artifact in several versions, none of which knew of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// What all of them were made from.
    pub base: Option<Oid>,
    pub sides: Vec<Side>,
    /// Whether their lines merged. Where not, the artifact carries the sides between markers.
    pub clean: bool,
}

/// One version: who wrote it, by which operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    pub op: OpId,
    pub by: Person,
    /// `None`: removed.
    pub blob: Option<Oid>,
}

impl State {
    /// Reads `state.json`.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        let state: State = super::op::parse_json(bytes, path)?;
        if state.format > FORMAT {
            return Err(Failure::internal(
                "format_newer",
                format!(
                    "{path}: written in format {}, this program knows {FORMAT}",
                    state.format
                ),
            )
            .help("update git loopx"));
        }
        super::op::check_seq(state.seq, path)?;
        Ok(state)
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        super::op::to_json(self)
    }

    pub fn is_active(&self) -> bool {
        self.ending.is_none()
    }

    pub fn max_rounds(&self) -> u32 {
        self.profile
            .max_rounds()
            .saturating_add(self.clarify.extra_rounds)
    }

    pub fn max_plan_iterations(&self) -> u32 {
        MAX_PLAN_ITERATIONS.saturating_add(self.plan.extra_iterations)
    }

    pub fn max_build_iterations(&self) -> u32 {
        MAX_BUILD_ITERATIONS.saturating_add(self.build.extra_iterations)
    }

    /// The approval that is armed for a transition.
    pub fn armed(&self, transition: Transition) -> Option<&Approval> {
        self.approvals
            .get(&transition.key())
            .filter(|a| a.armed && a.transition == transition)
    }

    /// The newest review of the present draft by one lane.
    pub fn plan_review(&self, lane: PlanLane) -> Option<&Recorded<PlanReview>> {
        self.plan.reviews.iter().rev().find(|review| {
            review.value.lane == lane
                && review.value.run == self.plan.run
                && review.value.iteration == self.plan.iteration
        })
    }

    /// The newest operations: what the next one comes after.
    pub fn newest(&self) -> Vec<OpId> {
        match self.frontier.is_empty() {
            true => vec![self.last.clone()],
            false => self.frontier.clone(),
        }
    }

    /// Artifacts whose versions did not merge.
    pub fn contested(&self) -> impl Iterator<Item = (Artifact, &Join)> {
        let joins = self.joins.iter().filter(|(_, join)| !join.clean);
        joins.map(|(artifact, join)| (*artifact, join))
    }

    /// The state after one more operation, whose writer had seen all others. The caller has judged the
    /// gates; this checks only that the operation fits the state at all.
    pub fn apply(&mut self, op: &Operation) {
        match self.try_apply(op, &mut Beside::default()) {
            Ok(()) => self.take_writes(op),
            Err(why) => self.conflicts.push(OpConflict {
                op: op.op.clone(),
                why,
                with: Vec::new(),
            }),
        }
        self.seq = self.seq.max(op.seq);
        self.last = op.op.clone();
        self.frontier.clear();
        self.touched = signed(op);
    }

    /// Everything but the artifacts.
    pub(super) fn try_apply(
        &mut self,
        op: &Operation,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        if op.event.is_about_others() || matches!(op.event, Event::Resolved { .. }) {
            // Saying which operations count is all that they do; so they fit everywhere, in a session that
            // another writer had ended too.
            return Ok(());
        }
        let is_apart = matches!(op.event, Event::Ran { .. }) && beside.missed(ENDING);
        if !self.is_active() && !is_apart {
            return Err("the session had ended".into());
        }
        self.step(op, beside)?;
        if !self.is_active() && !is_apart {
            beside.knew(ENDING, op);
        }
        if let Some(claim) = &op.claim
            && self.stage == Stage::Build
        {
            self.build.claim = Some(recorded(op, claim.clone()));
        }
        if !op.bases.is_empty() {
            let mut bases: BTreeMap<(String, String), RequirementBase> = BTreeMap::new();
            for base in self.bases.drain(..).chain(op.bases.iter().cloned()) {
                bases.insert((base.domain.clone(), base.requirement.clone()), base);
            }
            self.bases = bases.into_values().collect();
        }
        Ok(())
    }

    fn take_writes(&mut self, op: &Operation) {
        // The writes of an undo are for readers: what is left is what the replay gives.
        if op.event.is_about_others() {
            return;
        }
        for (artifact, write) in &op.writes {
            match &write.to {
                Some(blob) => self.artifacts.insert(*artifact, blob.clone()),
                None => self.artifacts.remove(artifact),
            };
            self.joins.remove(artifact);
        }
    }

    fn step(&mut self, op: &Operation, beside: &mut Beside<'_>) -> Result<(), String> {
        let at_stage = |state: &State, stage: Stage| {
            if state.stage == stage {
                Ok(())
            } else {
                Err(format!(
                    "expected stage {stage}, the session was in {}",
                    state.stage
                ))
            }
        };
        match &op.event {
            Event::Started { .. } => return Err("the session had been started".into()),
            Event::Undone { .. }
            | Event::Redone { .. }
            | Event::Resolved { .. }
            | Event::Saved
            | Event::Refreshed => {}
            // A note about a build that was undone is no conflict: there is nothing left to note.
            Event::Claimed => {}
            Event::Blocked { cause, missing } => {
                if self.stage == Stage::Build {
                    let block = BuildBlock {
                        cause: *cause,
                        missing: missing.clone(),
                    };
                    self.build.blocked = Some(recorded(op, block));
                }
            }
            Event::Resumed => {
                let saw = |known: &Recorded<BuildBlock>| beside.saw(&known.op);
                if self.build.blocked.as_ref().is_none_or(saw) {
                    self.build.blocked = None;
                }
            }
            Event::Bound { branch } => self.branch = Some(branch.clone()),
            Event::Clarified { profile } => {
                at_stage(self, Stage::Clarify)?;
                let knew = beside.knew("profile", op);
                if knew || *profile == Profile::Deep {
                    self.profile = *profile;
                }
            }
            Event::Approved {
                transition,
                content,
                files,
                code,
                completes,
            } => {
                at_stage(self, transition.from())?;
                self.approve(op, *transition, content, files, code.as_ref());
                if *completes {
                    self.enter(op, *transition, &[])?;
                }
            }
            Event::Entered { transition, scope } => {
                at_stage(self, transition.from())?;
                self.enter(op, *transition, scope)?;
            }
            Event::Drafted => {
                at_stage(self, Stage::Plan)?;
                self.plan.iteration += 1;
            }
            Event::PlanReviewed {
                lane,
                verdict,
                findings,
                files,
            } => {
                at_stage(self, Stage::Plan)?;
                let review = PlanReview {
                    run: self.plan.run,
                    iteration: self.plan.iteration,
                    lane: *lane,
                    verdict: *verdict,
                    findings: findings.clone(),
                    files: files.clone(),
                };
                // Of two that did not know of each other the one that does not approve counts.
                let held = self.plan.reviews.iter().position(|known| {
                    *verdict == PlanVerdict::Approve
                        && known.value.verdict != PlanVerdict::Approve
                        && known.value.lane == *lane
                        && !beside.saw(&known.op)
                });
                let at = held.unwrap_or(self.plan.reviews.len());
                self.plan.reviews.insert(at, recorded(op, review));
            }
            Event::Extended { stage, by } => {
                let cap = match stage {
                    Stage::Clarify => &mut self.clarify.extra_rounds,
                    Stage::Plan => &mut self.plan.extra_iterations,
                    Stage::Build => &mut self.build.extra_iterations,
                    Stage::Review | Stage::Done => return Err("this stage has no cap".into()),
                };
                *cap = cap.saturating_add(*by);
            }
            Event::LaneReported {
                lane,
                status,
                summary,
                tree,
            } => {
                at_stage(self, Stage::Build)?;
                self.builds(op);
                let report = LaneReport {
                    status: *status,
                    summary: summary.clone(),
                    tree: tree.clone(),
                };
                let held = self.build.lanes.get(lane).is_some_and(|known| {
                    known.value.status != LaneStatus::Complete && !beside.saw(&known.op)
                });
                if !held {
                    self.build.lanes.insert(*lane, recorded(op, report));
                }
            }
            Event::Delegated { delegation } => {
                at_stage(self, Stage::Build)?;
                self.builds(op);
                let knew = beside.knew(&format!("delegation {}", delegation.id), op);
                match self
                    .build
                    .delegations
                    .iter_mut()
                    .find(|d| d.id == delegation.id)
                {
                    // Open for one of two is open.
                    Some(known) if !knew && known.is_open() => {}
                    Some(known) => *known = delegation.clone(),
                    None => self.build.delegations.push(delegation.clone()),
                }
            }
            Event::Ran { evidence } => {
                if self.stage == Stage::Build {
                    self.builds(op);
                }
                // A run that failed is replaced only by one that came after it.
                let held = self.evidence.iter().any(|known| {
                    evidence.is_rerun_of(&known.value)
                        && !known.value.passed()
                        && evidence.passed()
                        && !beside.saw(&known.op)
                });
                if !held {
                    self.evidence
                        .retain(|known| !evidence.is_rerun_of(&known.value));
                    self.evidence.push(recorded(op, evidence.clone()));
                }
            }
            Event::Waived { task } => {
                self.build
                    .waivers
                    .insert(task.clone(), recorded(op, Waiver {}));
            }
            Event::Audited {
                tree,
                blockers,
                no_deslop,
            } => {
                at_stage(self, Stage::Build)?;
                self.builds(op);
                if self.build.audit.is_some() {
                    self.build.iteration += 1;
                }
                let knew = beside.knew("audit", op);
                let held = self
                    .build
                    .audit
                    .as_ref()
                    .is_some_and(|known| !knew && !known.blockers.is_empty());
                if !held {
                    self.build.no_deslop = *no_deslop;
                    self.build.audit = Some(Audit {
                        tree: tree.clone(),
                        blockers: blockers.clone(),
                    });
                }
            }
            Event::Reviewed { verdict } => {
                at_stage(self, Stage::Review)?;
                for key in [ApprovalKey::Rollback, ApprovalKey::Complete] {
                    self.approvals.remove(&key);
                }
                let held = self
                    .verdict
                    .as_ref()
                    .is_some_and(|known| !known.value.is_approval() && !beside.saw(&known.op));
                if !held {
                    self.verdict = Some(recorded(op, verdict.clone()));
                }
            }
            Event::Imported { ended, .. } => {
                at_stage(self, Stage::Clarify)?;
                // No gate opens by an import: what is not at its end begins at the first stage.
                if let Some(end) = ended {
                    self.stage = Stage::Done;
                    self.ending = Some(Ending::Archived {
                        commit: None,
                        target: end.target.clone(),
                        month: end.month.clone(),
                    });
                }
            }
            Event::Abandoned => {
                self.ending = Some(Ending::Abandoned {
                    reason: op.reason.clone(),
                })
            }
            Event::Archived {
                commit,
                target,
                month,
            } => {
                at_stage(self, Stage::Done)?;
                self.ending = Some(Ending::Archived {
                    commit: commit.clone(),
                    target: target.clone(),
                    month: month.clone(),
                });
            }
        }
        Ok(())
    }

    fn builds(&mut self, op: &Operation) {
        self.build.blocked = None;
        for person in std::iter::once(&op.by).chain(&op.committer) {
            if !self.build.builders.contains(person) {
                self.build.builders.push(person.clone());
            }
        }
    }

    fn approve(
        &mut self,
        op: &Operation,
        transition: Transition,
        content: &Oid,
        files: &BTreeMap<Artifact, Oid>,
        code: Option<&Oid>,
    ) {
        let by = ApprovedBy {
            op: op.op.clone(),
            signed: signed(op),
            committer: op.committer.clone(),
            reason: op.reason.clone(),
        };
        let same = self.approvals.get_mut(&transition.key()).filter(|a| {
            a.armed
                && a.transition == transition
                && a.content == *content
                && a.code.as_ref() == code
        });
        if let Some(approval) = same {
            approval.by.push(by);
        } else {
            let approval = Approval {
                transition,
                armed: true,
                content: content.clone(),
                files: files.clone(),
                code: code.cloned(),
                by: vec![by],
            };
            self.approvals.insert(transition.key(), approval);
        }
    }

    fn enter(
        &mut self,
        op: &Operation,
        transition: Transition,
        scope: &[String],
    ) -> Result<(), String> {
        let Some(approval) = self
            .approvals
            .get_mut(&transition.key())
            .filter(|a| a.armed && a.transition == transition)
        else {
            return Err(format!("{transition} was not approved"));
        };
        approval.armed = false;
        self.stage = transition.to();
        self.last_transition = Some(transition);
        let forget = |state: &mut State, keys: &[ApprovalKey]| {
            for key in keys {
                state.approvals.remove(key);
            }
        };
        match transition {
            Transition::ClarifyToPlan | Transition::ReviewToPlan => {
                forget(
                    self,
                    &[
                        ApprovalKey::Build,
                        ApprovalKey::Review,
                        ApprovalKey::Complete,
                    ],
                );
                self.plan.run += 1;
                self.plan.iteration = 1;
                self.plan.extra_iterations = 0;
            }
            Transition::PlanToBuild | Transition::ReviewToBuild => {
                forget(
                    self,
                    &[
                        ApprovalKey::Review,
                        ApprovalKey::Rollback,
                        ApprovalKey::Complete,
                    ],
                );
                let rework = transition == Transition::ReviewToBuild;
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
                if !rework {
                    self.scope = scope.to_vec();
                }
            }
            Transition::BuildToReview => {
                forget(self, &[ApprovalKey::Rollback, ApprovalKey::Complete]);
                self.verdict = None;
                self.build.claim = None;
                self.build.blocked = None;
            }
            Transition::ReviewToClarify => {
                forget(
                    self,
                    &[
                        ApprovalKey::Plan,
                        ApprovalKey::Build,
                        ApprovalKey::Review,
                        ApprovalKey::Complete,
                    ],
                );
            }
            Transition::ReviewToDone => {}
        }
        if transition.is_rollback() && transition != Transition::ReviewToBuild {
            self.verdict = None;
        }
        Ok(())
    }
}

/// The fact that a session ended.
const ENDING: &str = "ending";

/// What the writer of an operation had seen, for facts of which only one can stand: where two did not
/// know of each other, the one that holds a gate does.
#[derive(Default)]
pub(super) struct Beside<'a> {
    /// Operations that were not seen; nothing for one that saw all.
    pub(super) unseen: Option<&'a dyn Fn(&OpId) -> bool>,
    /// Who wrote last, of the facts that do not say so themselves.
    pub(super) writers: BTreeMap<String, OpId>,
}

impl Beside<'_> {
    fn saw(&self, op: &OpId) -> bool {
        !self.unseen.is_some_and(|unseen| unseen(op))
    }

    /// Whether somebody wrote a fact of whom the writer of an operation did not know.
    fn missed(&self, fact: &str) -> bool {
        let last = self.writers.get(fact);
        last.is_some_and(|last| !self.saw(last))
    }

    /// Whether the writer of a fact had seen the one before; from here on it is the last.
    fn knew(&mut self, fact: &str, op: &Operation) -> bool {
        let before = self.writers.insert(fact.to_owned(), op.op.clone());
        before.is_none_or(|before| self.saw(&before))
    }
}

pub(super) fn signed(op: &Operation) -> Signed {
    Signed {
        by: op.by.clone(),
        at: op.at.clone(),
    }
}

fn recorded<T>(op: &Operation, value: T) -> Recorded<T> {
    Recorded {
        op: op.op.clone(),
        seq: op.seq,
        signed: signed(op),
        reason: op.reason.clone(),
        value,
    }
}
