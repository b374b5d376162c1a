//! A session's state: facts only, folded from its operations.
//!
//! [`super::replay::fold`] is total and deterministic: the same set of operations gives the same state on every
//! machine, whatever the order in which they arrived. An operation that does not fit is kept and listed
//! as a conflict. Conclusions (readiness, blockers, next command) are computed in `gate`, never stored.

mod apart;
mod apply;
mod parts;

pub use apart::Way;
pub(super) use apart::{BRANCH, OWNER, is_stopped, way};
pub use apply::Beside;
pub(super) use apply::{keep_run, recorded, signed};
pub use parts::{FOLDER as PARTS, Files, is_state_file};

use super::artifact::Artifact;
use super::finding::Finding;
use super::issue::IssueId;
use super::lease::Claim;
use super::op::{
    BlockCause, Delegation, Evidence, Lane, LaneStatus, PlanLane, PlanVerdict, RequirementBase,
    Verdict,
};
use super::profile::ProfileName;
use super::record::FORMAT;
use super::stage::{ApprovalKey, Stage, Transition};
use super::task::amend::Amended;
use super::task::status::TaskFacts;
use super::topic::{Version, Weight};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, OpId, Person, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Iterations of a plan before somebody raises the cap.
pub const MAX_PLAN_ITERATIONS: u32 = 5;
/// Iterations of a build before somebody raises the cap.
pub const MAX_BUILD_ITERATIONS: u32 = 10;

/// The newest trees of which a session knows how one check ended there.
const MAX_TREES: usize = 32;

/// The version of the rules by which operations become a state. A state that other rules made is computed
/// again where it is read.
pub const FOLD: u32 = 4;
/// The version of the fold for a state with an amendment, or with a run of a check that has a time.
pub const LIMIT_FOLD: u32 = 5;
/// The version of the fold for a state in which a record speaks of a task: it says where the session was then, and which
/// results were there before. Versions 5 and 6, the latter in parts, did not.
pub const TASK_FOLD: u32 = 8;
/// The version of a state that is stored in parts: programs that do not know those compute it.
const PARTS_FOLD: u32 = 9;
/// The version of a state whose archive was taken back: programs that do not know that compute it.
const TAKEN_BACK_FOLD: u32 = 7;
/// The version of a state whose plan names paths as out of scope: the programs that do not know that are the same.
const OUT_OF_SCOPE_FOLD: u32 = TAKEN_BACK_FOLD;
/// Part of the words about an operation that writes what the stage closes.
pub(crate) const CLOSED: &str = "is closed in stage";
/// The version of a state that no newer rule made: programs that know only the rules of this version read it.
pub const FIRST_FOLD: u32 = 2;

/// State of a session, with everything that is true of it. Serialized as `state.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub format: u32,
    /// The version of the rules that made it; format 1 had none.
    #[serde(default)]
    pub fold: u32,
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
    pub profile: ProfileName,
    pub branch: Option<String>,
    pub base: Option<Oid>,
    /// The issues of the backlog that it was started for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueId>,
    /// Set when the session was given another base: its earlier gates may have been passed under another policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebased: bool,
    pub artifacts: BTreeMap<Artifact, Oid>,
    /// Files that are no artifacts, by path: those of tasks, and such of which this program knows no more than that
    /// operations wrote them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileVersions>,
    pub approvals: BTreeMap<ApprovalKey, Approval>,
    pub last_transition: Option<Transition>,
    /// Declared at plan->build; empty is everything.
    pub scope: Vec<String>,
    /// Outside of the scope, whatever that has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_scope: Vec<String>,
    pub clarify: ClarifyFacts,
    pub plan: PlanFacts,
    pub build: BuildFacts,
    pub verdict: Option<Stamped<Verdict>>,
    /// Number of times that a review was entered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reviews: u32,
    /// Findings of reviewers, architects and critics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Stamped<Finding>>,
    pub evidence: Vec<Stamped<Evidence>>,
    /// Facts of tasks, by [`super::task::node::TaskId::key`]; those of which no record speaks are not here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskFacts>,
    /// The numbers of the first runs that passed and that newer ones took the place of, by the task and the kind
    /// of [`super::op::Evidence`]; since a record speaks of a task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub passed: BTreeMap<String, u64>,
    /// Changes of the approved list of tasks, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amendments: Vec<Amended>,
    pub bases: Vec<RequirementBase>,
    pub conflicts: Vec<OpConflict>,
    /// Approvals of a content that the session has not: another clone took it back, or wrote apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void: Vec<Void>,
    /// Operations that only a newer program understands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownOp>,
    /// Artifacts that several clones changed apart, until somebody writes them again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joins: BTreeMap<Artifact, Join>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Person and time of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    pub by: Person,
    pub at: String,
}

/// Value with the operation that recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped<T> {
    pub op: OpId,
    pub seq: u64,
    #[serde(flatten)]
    pub signed: Signed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(flatten)]
    pub value: T,
}

/// End of a session.
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
        /// Commit and branch by which the archive was taken back last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taken_back: Option<TakenBack>,
    },
}

/// The commit that takes an archive back, and its branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBack {
    pub target: String,
    pub commit: Oid,
}

impl Ending {
    /// Tells whether the session left a result: an archive that stands.
    pub fn is_result(&self) -> bool {
        matches!(
            self,
            Ending::Archived {
                taken_back: None,
                ..
            }
        )
    }
}

/// An approval, armed until the stage's command consumes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub transition: Transition,
    pub armed: bool,
    pub content: Oid,
    pub files: BTreeMap<Artifact, Oid>,
    pub code: Option<Oid>,
    /// People who approved this content, in order.
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
    /// Number of times that the stage was entered.
    pub run: u32,
    pub iteration: u32,
    pub extra_iterations: u32,
    /// Every review of every draft, across runs: handed on to the next draft.
    pub reviews: Vec<Stamped<PlanReview>>,
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
    pub lanes: BTreeMap<Lane, Stamped<LaneReport>>,
    pub delegations: Vec<Delegation>,
    pub waivers: BTreeMap<String, Stamped<Waiver>>,
    /// People who did a build step: not independent of the result.
    pub builders: Vec<Person>,
    pub audit: Option<Audit>,
    /// Claim of whoever builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Stamped<Claim>>,
    /// Reason why the build cannot go on; the next step of the build ends that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Stamped<BuildBlock>>,
}

impl BuildFacts {
    /// Tells whether an audit says something else than the one before: an audit that says the same is no iteration.
    pub fn is_new_audit(&self, tree: &Oid, blockers: &[String], no_deslop: bool) -> bool {
        self.audit.as_ref().is_none_or(|known| {
            known.tree != *tree || known.blockers != blockers || self.no_deslop != no_deslop
        })
    }
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
    /// Operations that stand against this one; without them it would count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<OpId>,
}

/// An approval that counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Void {
    pub op: OpId,
    pub transition: Transition,
    pub by: Person,
    pub why: String,
}

/// An operation that only a newer program understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownOp {
    pub op: OpId,
    pub seq: u64,
    pub topic: String,
    pub kind: String,
    pub weight: Weight,
    pub needs: Version,
    pub by: Person,
}

/// The newest versions of a file that is no artifact: one, or several that were written apart.
pub type FileVersions = Vec<Oid>;

/// Versions of one artifact, none of whose writers knew of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Blob that all versions were made from.
    pub base: Option<Oid>,
    pub sides: Vec<Side>,
    /// Set when the lines of the versions merged. Where not, the artifact carries the sides between markers.
    pub clean: bool,
}

/// Version of an artifact: who wrote it, by which operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    pub op: OpId,
    pub by: Person,
    /// `None`: removed.
    pub blob: Option<Oid>,
}

impl State {
    /// Reads `state.json`, and the files beside it where it says that it is stored in parts; nothing where other
    /// rules than this program's made it.
    pub fn parse(
        bytes: &[u8],
        path: &str,
        parts: impl FnOnce() -> Result<Vec<(String, Vec<u8>)>>,
    ) -> Result<Option<Self>> {
        #[derive(Deserialize)]
        struct Header {
            format: u32,
            #[serde(default)]
            fold: u32,
            #[serde(default)]
            parts: Option<parts::Counts>,
        }
        let header: Header = super::op::parse_json(bytes, path)?;
        let Header { format, fold, .. } = header;
        let known = [
            FIRST_FOLD,
            FOLD,
            LIMIT_FOLD,
            TAKEN_BACK_FOLD,
            TASK_FOLD,
            PARTS_FOLD,
        ];
        if format != FORMAT || !known.contains(&fold) {
            return Ok(None);
        }
        let mut state: State = super::op::parse_json(bytes, path)?;
        if fold == PARTS_FOLD {
            let Some(counts) = header.parts else {
                return Ok(None);
            };
            state = state.with_parts(counts, parts()?, path)?;
        }
        if fold < FOLD && !state.is_before_plan() {
            return Ok(None);
        }
        if fold < TASK_FOLD && !state.tasks.is_empty() {
            return Ok(None);
        }
        // A text that was settled where the stage closes it counts since then.
        if fold < TASK_FOLD && state.conflicts.iter().any(|one| one.why.contains(CLOSED)) {
            return Ok(None);
        }
        super::record::check_seq(state.seq, path)?;
        Ok(Some(state))
    }

    /// Tells whether a `state.json` is of the version in which this state is stored.
    pub fn is_stored_in(&self, bytes: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Header {
            #[serde(default)]
            fold: u32,
        }
        let header: Option<Header> = serde_json::from_slice(bytes).ok();
        header.is_some_and(|header| header.fold == self.stored_fold())
    }

    /// Tells whether nothing happened that newer rules see otherwise: no run, and no plan that was entered or reviewed.
    fn is_before_plan(&self) -> bool {
        self.evidence.is_empty() && self.plan.run == 0
    }

    /// Tells whether this program understands every operation behind the state.
    pub fn is_understood(&self) -> bool {
        self.unknown.is_empty()
    }

    /// The operations that hold every gate until a newer program has seen to them.
    pub fn holding(&self) -> impl Iterator<Item = &UnknownOp> {
        self.unknown.iter().filter(|op| op.weight != Weight::Note)
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        super::op::to_json(self)
    }

    pub fn is_active(&self) -> bool {
        self.ending.is_none()
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

    /// The void approvals of transitions that nobody has approved otherwise.
    pub fn void_still(&self) -> impl Iterator<Item = &Void> {
        let is_approved = |transition: Transition| {
            let given = self.approvals.get(&transition.key());
            given.is_some_and(|approval| approval.transition == transition)
        };
        let void = self.void.iter();
        void.filter(move |void| !is_approved(void.transition))
    }

    /// The newest review of the present draft by one lane.
    pub fn plan_review(&self, lane: PlanLane) -> Option<&Stamped<PlanReview>> {
        self.plan.reviews.iter().rev().find(|review| {
            review.value.lane == lane
                && review.value.run == self.plan.run
                && review.value.iteration == self.plan.iteration
        })
    }

    /// Tells whether a person may change an artifact now.
    pub fn is_open(&self, artifact: Artifact) -> bool {
        self.is_open_in(artifact, self.stage)
    }

    /// Tells whether a person may change an artifact in a stage. In the build the list of tasks is closed because
    /// plan->build approved it; a session without that approval has an open list there, and its verdict covers it.
    pub fn is_open_in(&self, artifact: Artifact, stage: Stage) -> bool {
        let is_planned = self.plan.run > 0 && self.approvals.contains_key(&ApprovalKey::Build);
        let is_unplanned_list =
            artifact == Artifact::TaskList && stage == Stage::Build && !is_planned;
        artifact.is_open_at(stage) || is_unplanned_list
    }

    /// The round of the plan's loop: each draft is one, and each time more that an architect asks for changes.
    pub fn plan_round(&self) -> u32 {
        let of_draft = |draft: u32| {
            let asked = self.plan.reviews.iter().filter(|review| {
                review.value.run == self.plan.run
                    && review.value.iteration == draft
                    && review.value.lane == PlanLane::Architect
                    && review.value.verdict != PlanVerdict::Approve
            });
            u32::try_from(asked.count()).unwrap_or(u32::MAX).max(1)
        };
        (1..=self.plan.iteration)
            .map(of_draft)
            .fold(0, u32::saturating_add)
    }

    /// Tells whether the last round that is allowed ended without an approval.
    pub fn is_plan_exhausted(&self) -> bool {
        let newest = self.plan.reviews.iter().rfind(|review| {
            review.value.run == self.plan.run && review.value.iteration == self.plan.iteration
        });
        self.plan_round() >= self.max_plan_iterations()
            && newest.is_some_and(|review| review.value.verdict != PlanVerdict::Approve)
    }

    /// The newest operations: what the next one comes after.
    pub fn newest(&self) -> Vec<OpId> {
        if self.frontier.is_empty() {
            vec![self.last.clone()]
        } else {
            self.frontier.clone()
        }
    }

    /// Artifacts whose versions did not merge.
    pub fn contested(&self) -> impl Iterator<Item = (Artifact, &Join)> {
        let joins = self.joins.iter().filter(|(_, join)| !join.clean);
        joins.map(|(artifact, join)| (*artifact, join))
    }

    /// Operations and artifacts that a person has to settle.
    pub fn open_conflicts(&self) -> usize {
        self.conflicts.len() + self.contested().count() + self.outputs_apart().count()
    }
}
