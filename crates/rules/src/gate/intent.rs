//! Statements of the request that nothing covers, in the profiles that clarify it.

use super::View;
use crate::artifact::Artifact;
use crate::intent;
use crate::policy::EvidenceRule;
use crate::stage::{Stage, Transition};
use loopx_base::failure::Blocker;

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
