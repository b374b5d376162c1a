//! The values of a decision: what whoever decided gave. What follows from them is computed, and stands in no record.

use super::points::Points;
use crate::task::node::TaskId;
use loopx_base::id::{Oid, OpId};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

vocabulary!(
    /// Consequence that is to follow, from the mildest to the strictest.
    Verdict {
        /// The work goes on.
        Proceed = "proceed",
        /// Repair of what was judged, which is judged again.
        Fix = "fix",
        /// A person decides.
        Escalate = "escalate",
    }
);

vocabulary!(
    /// Confidence of whoever judged.
    Confidence {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
);

vocabulary!(
    /// Mark of one view for what weighs more than its rating.
    Flag {
        MissingRequirement = "missing-requirement",
        CriticalRisk = "critical-risk",
        HighRisk = "high-risk",
    }
);

vocabulary!(
    /// Distance of several views from agreeing, from the mildest.
    Severity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
);

/// The best rating of a view.
pub const BEST_RATING: u32 = 5;

/// Rating of one view, 1 to 5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    pub view: String,
    pub rating: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// Ground of a decision: as it was named, and the id of what that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    pub name: String,
    pub id: String,
}

/// The values of one decision, as its record holds them. The reason stands in the envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// Verdict as it was given; nothing where only scores or ratings were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Points>,
    /// Scores by dimension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, Points>,
    /// Critical findings.
    #[serde(skip_serializing_if = "is_zero")]
    pub criticals: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weakest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Ground>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<Rating>,
    /// Goals that whoever judged found not to be met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// The word of the outcome that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Findings that do not hold the work, and that it still owes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// The number of decisions before this one, one behind the other, that gave the same values and the same reason.
    #[serde(skip_serializing_if = "is_zero")]
    pub repeated: u32,
    /// The severity that a discussion gave itself. Ratings can make it stricter, and never milder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<Points>,
    /// Tree of the code that the decision is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// Verdict that the decision came to by the gate of then. The gate may be another one since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_to: Option<Verdict>,
    /// Set when the decision was a text that nobody could read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parse_failed: bool,
    /// Result of each judged node that the decision's writer saw. What no record completed is not here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub judged: BTreeMap<TaskId, OpId>,
    /// Files of judged nodes that the decision's writer saw, with the content of then.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub saw: BTreeMap<String, Oid>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Decision {
    /// Tells whether there is anything to judge by.
    pub fn says_something(&self) -> bool {
        self.verdict.is_some()
            || self.score.is_some()
            || !self.scores.is_empty()
            || !self.ratings.is_empty()
            || self.parse_failed
    }
}
