//! Closed lists of words: what an operation may say where only a few answers are possible. An unknown word is an
//! error wherever it is read.

pub use loopx_base::id::Role;

use super::stage::Transition;
use loopx_base::vocabulary::vocabulary;

vocabulary!(PlanLane { Architect = "architect", Critic = "critic" });
vocabulary!(
    /// The architect answers `approve` or `iterate`; the critic also `reject`.
    PlanVerdict { Approve = "approve", Iterate = "iterate", Reject = "reject" }
);
vocabulary!(
    /// The lanes of a build that a person reports on. Verification and regression are computed from evidence.
    Lane { Execution = "execution", Architect = "architect", Deslop = "deslop" }
);
vocabulary!(LaneStatus {
    Complete = "complete",
    Incomplete = "incomplete",
    Failed = "failed",
    Blocked = "blocked",
    Skipped = "skipped",
});
vocabulary!(DelegationStatus {
    Pending = "pending",
    Active = "active",
    Complete = "complete",
    Failed = "failed",
    Blocked = "blocked",
    Skipped = "skipped",
});
vocabulary!(CodeVerdict { Approve = "approve", RequestChanges = "request-changes" });
vocabulary!(
    /// Finding of the architecture lane of a review, in one word.
    Smell { Pass = "pass", Warn = "warn", Block = "block" }
);
vocabulary!(
    /// Stage that a review sends the session back to.
    Target { Build = "build", Plan = "plan", Clarify = "clarify" }
);
vocabulary!(
    /// Weight of a finding. `critical` and `high` cannot stand beside an approval.
    Severity { Critical = "critical", High = "high", Medium = "medium", Low = "low", Info = "info" }
);
vocabulary!(
    /// Answer of somebody to a finding.
    AnswerWord {
        /// The finding is mended: whoever judges next looks at it.
        Fixed = "fixed",
        /// The finding stands.
        Open = "open",
        /// The flaw stays as it is, for a reason.
        Wontfix = "wontfix",
    }
);
vocabulary!(
    /// Lane that found something: the review, or a lane of the plan.
    FoundIn { Review = "review", Architect = "architect", Critic = "critic" }
);
vocabulary!(
    /// Cause for which a build was recorded as blocked.
    BlockCause {
        /// Somebody reported that the build is blocked.
        Reported = "reported",
        /// The stop gate held an agent twice and nothing changed.
        NoProgress = "no-progress",
        /// The stop gate held an agent as often, or as long, as it may.
        Exhausted = "exhausted",
    }
);
impl Severity {
    /// Tells whether a finding of this weight holds a gate until it is answered.
    pub fn is_blocking(self) -> bool {
        matches!(self, Severity::Critical | Severity::High)
    }
}

impl From<PlanLane> for FoundIn {
    fn from(lane: PlanLane) -> Self {
        match lane {
            PlanLane::Architect => FoundIn::Architect,
            PlanLane::Critic => FoundIn::Critic,
        }
    }
}

impl Target {
    /// The rollback that leads there.
    pub fn transition(self) -> Transition {
        match self {
            Target::Build => Transition::ReviewToBuild,
            Target::Plan => Transition::ReviewToPlan,
            Target::Clarify => Transition::ReviewToClarify,
        }
    }
}
