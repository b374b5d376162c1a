//! The stages, and the nine moves between them.
//!
//! ```text
//! clarify -> plan -> build -> review -> done
//!              ^       ^        |
//!              |       +--------+   review->build
//!              +----------------+   review->plan
//!   clarify <-------------------+   review->clarify
//! ```
//!
//! and build->plan, where the build shows that the plan is wrong, and done->build, where a finished session is
//! opened again. Which of the stages a session has, its profile says ([`super::profile`]).
//!
//! Source: design 4; reference stage-runtime, section 4.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Stage of a session on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Clarify,
    Plan,
    Build,
    Review,
    Done,
}

impl Stage {
    pub const ALL: [Stage; 5] = [
        Stage::Clarify,
        Stage::Plan,
        Stage::Build,
        Stage::Review,
        Stage::Done,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Clarify => "clarify",
            Stage::Plan => "plan",
            Stage::Build => "build",
            Stage::Review => "review",
            Stage::Done => "done",
        }
    }

    /// Tells whether work of `other` is done in this stage: its own, and in the build what an earlier stage left.
    pub fn works_on(self, other: Stage) -> bool {
        self == other || self == Stage::Build && other < Stage::Build
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Stage {
    type Err = Failure;
    fn from_str(text: &str) -> Result<Self> {
        Stage::ALL
            .into_iter()
            .find(|stage| stage.as_str() == text)
            .ok_or_else(|| {
                Failure::usage(
                    Code::StageUnknown,
                    format!("expected clarify, plan, build, review or done, found `{text}`"),
                )
            })
    }
}

/// Move between two stages: there are nine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Transition {
    ClarifyToPlan,
    PlanToBuild,
    BuildToReview,
    BuildToPlan,
    ReviewToBuild,
    ReviewToPlan,
    ReviewToClarify,
    ReviewToDone,
    DoneToBuild,
}

impl Transition {
    /// The command that takes it once it is approved.
    pub fn command(self) -> Hint {
        match self {
            Transition::ClarifyToPlan | Transition::ReviewToPlan => command!("plan"),
            Transition::BuildToPlan => command!("plan --reason WHY"),
            Transition::DoneToBuild => command!("reopen --reason WHY"),
            Transition::PlanToBuild => command!("build"),
            Transition::BuildToReview => command!("review"),
            Transition::ReviewToDone => command!("archive"),
            Transition::ReviewToBuild => command!("build --from-review"),
            Transition::ReviewToClarify => command!("clarify"),
        }
    }

    pub const ALL: [Transition; 9] = [
        Transition::ClarifyToPlan,
        Transition::PlanToBuild,
        Transition::BuildToReview,
        Transition::BuildToPlan,
        Transition::ReviewToBuild,
        Transition::ReviewToPlan,
        Transition::ReviewToClarify,
        Transition::ReviewToDone,
        Transition::DoneToBuild,
    ];

    /// The move between two stages, if there is one.
    pub fn between(from: Stage, to: Stage) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|t| t.from() == from && t.to() == to)
    }

    pub fn from(self) -> Stage {
        match self {
            Transition::ClarifyToPlan => Stage::Clarify,
            Transition::PlanToBuild => Stage::Plan,
            Transition::BuildToReview | Transition::BuildToPlan => Stage::Build,
            Transition::DoneToBuild => Stage::Done,
            Transition::ReviewToBuild
            | Transition::ReviewToPlan
            | Transition::ReviewToClarify
            | Transition::ReviewToDone => Stage::Review,
        }
    }

    pub fn to(self) -> Stage {
        match self {
            Transition::ClarifyToPlan | Transition::ReviewToPlan | Transition::BuildToPlan => {
                Stage::Plan
            }
            Transition::PlanToBuild | Transition::ReviewToBuild | Transition::DoneToBuild => {
                Stage::Build
            }
            Transition::BuildToReview => Stage::Review,
            Transition::ReviewToClarify => Stage::Clarify,
            Transition::ReviewToDone => Stage::Done,
        }
    }

    /// The approval that arms this move.
    pub fn key(self) -> ApprovalKey {
        match self {
            Transition::ClarifyToPlan => ApprovalKey::Plan,
            Transition::PlanToBuild | Transition::ReviewToBuild => ApprovalKey::Build,
            Transition::BuildToReview => ApprovalKey::Review,
            Transition::ReviewToPlan
            | Transition::ReviewToClarify
            | Transition::BuildToPlan
            | Transition::DoneToBuild => ApprovalKey::Rollback,
            Transition::ReviewToDone => ApprovalKey::Complete,
        }
    }

    /// Tells whether the move leads towards done.
    pub fn is_forward(self) -> bool {
        self.from() < self.to()
    }

    /// Tells whether the move goes back.
    pub fn is_rollback(self) -> bool {
        !self.is_forward()
    }

    /// Tells whether somebody has to approve the move. A builder who finds the plan wrong goes back alone, and whoever
    /// opens a finished session again only closes gates.
    pub fn is_approved(self) -> bool {
        !matches!(self, Transition::BuildToPlan | Transition::DoneToBuild)
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.from(), self.to())
    }
}

impl From<Transition> for String {
    fn from(transition: Transition) -> String {
        transition.to_string()
    }
}

impl TryFrom<String> for Transition {
    type Error = Failure;
    fn try_from(text: String) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|t| t.to_string() == text)
            .ok_or_else(|| {
                Failure::usage(
                    Code::TransitionUnknown,
                    format!(
                        "no transition is named `{text}`, expected one of {}",
                        Self::ALL.map(|known| format!("`{known}`")).join(", ")
                    ),
                )
            })
    }
}

impl Transition {
    /// The move that leads on from a stage.
    pub fn forward(from: Stage) -> Option<Self> {
        let mut from_here = Self::ALL.into_iter().filter(|t| t.from() == from);
        from_here.find(|t| t.is_forward())
    }
}

vocabulary!(
    /// The five approvals of a session; review->build reuses the build's. The moves that need no approval have none.
    ApprovalKey {
        Plan = "plan",
        Build = "build",
        Review = "review",
        Rollback = "rollback",
        Complete = "complete",
    }
);

#[cfg(test)]
mod tests {
    use super::{Stage, Transition};

    #[test]
    fn one_move_leads_on_from_each_stage_but_the_last() {
        let ways = Stage::ALL.map(|stage| Transition::forward(stage).map(|t| t.to()));
        let [plan, build] = [Stage::Plan, Stage::Build].map(Some);
        let [review, done] = [Stage::Review, Stage::Done].map(Some);
        assert_eq!(ways, [plan, build, review, done, None]);
    }

    #[test]
    fn exactly_nine_of_the_twenty_five_pairs_are_transitions() {
        let pairs = Stage::ALL
            .into_iter()
            .flat_map(|from| Stage::ALL.into_iter().map(move |to| (from, to)));
        let known: Vec<String> = pairs
            .filter_map(|(from, to)| Transition::between(from, to))
            .map(|t| t.to_string())
            .collect();
        assert_eq!(
            known,
            [
                "clarify->plan",
                "plan->build",
                "build->plan",
                "build->review",
                "review->clarify",
                "review->plan",
                "review->build",
                "review->done",
                "done->build"
            ]
        );
    }
}
