//! What the request says and nothing covers, in the profiles that clarify it.

use super::View;
use crate::core::artifact::Artifact;
use crate::core::failure::Blocker;
use crate::core::intent;
use crate::core::policy::EvidenceRule;
use crate::core::stage::{Stage, Transition};

/// Statements that are neither cited nor deferred when the build is handed on, and when the review ends.
pub(super) fn uncovered(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let asks = view.policy.intent.coverage == EvidenceRule::Require
        && view.profile().has_stage(Stage::Clarify)
        && matches!(
            transition,
            Transition::BuildToReview | Transition::ReviewToDone
        );
    if !asks || view.statements.is_empty() {
        return Vec::new();
    }
    let covered = intent::coverage(view.statements, view.texts);
    let edit = match transition {
        Transition::BuildToReview => Artifact::ExecutionRecord,
        _ => Artifact::ReviewReport,
    };
    intent::blockers(&covered, edit)
}
