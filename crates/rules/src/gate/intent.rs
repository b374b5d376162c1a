//! Statements of the request that nothing covers, in the profiles that clarify it.

use super::View;
use crate::artifact::Artifact;
use crate::intent::{self, CoveredStatement, Fate};
use crate::policy::EvidenceRule;
use crate::stage::{Stage, Transition};
use loopx_base::failure::Blocker;

/// The statements of a request and what covers each, where policy asks for that.
fn asked(view: View<'_>) -> Vec<CoveredStatement> {
    let asks = view.policy.intent.coverage == EvidenceRule::Require
        && view.profile().has_stage(Stage::Clarify);
    if !asks || view.statements.is_empty() {
        return Vec::new();
    }
    intent::coverage(view.statements, view.texts)
}

/// The ids of the statements that no document of the plan covers yet, while it is written: the gates ask for them later.
pub fn not_cited(view: View<'_>) -> Vec<String> {
    if view.state.stage != Stage::Plan || !view.state.is_active() {
        return Vec::new();
    }
    let missing = asked(view).into_iter();
    let missing = missing.filter(|one| one.fate == Fate::Missing);
    missing.map(|one| one.id).collect()
}

/// Statements that are neither cited nor deferred when the build is handed on, and when the review ends.
pub(super) fn uncovered(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let is_asked = matches!(
        transition,
        Transition::BuildToReview | Transition::ReviewToDone
    );
    if !is_asked {
        return Vec::new();
    }
    let covered = asked(view);
    let edit = match transition {
        Transition::BuildToReview => Artifact::ExecutionRecord,
        _ => Artifact::ReviewReport,
    };
    intent::blockers(&covered, edit)
}
