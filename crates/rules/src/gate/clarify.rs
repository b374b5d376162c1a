//! The gate of clarify->plan.

use super::super::artifact::Artifact;
use super::{View, field_fault, unknown_field};
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_spec::front::FrontMatter;

/// Reference stage-runtime, section 5: seven blockers in a fixed order, then empty sections.
pub(super) fn clarify(view: View<'_>) -> Vec<Blocker> {
    let edit = command!("edit spec.md");
    let path = Artifact::Spec.path();
    let Some(text) = view.text(Artifact::Spec) else {
        return vec![Blocker::new(
            Code::UnresolvedAmbiguity,
            "spec.md is not there, so nothing is resolved",
            command!("put spec.md FILE"),
        )];
    };
    let front = match FrontMatter::parse(text) {
        Ok(front) => front,
        Err(fault) => {
            return vec![field_fault(
                Code::UnresolvedAmbiguity,
                Artifact::Spec,
                &fault,
            )];
        }
    };
    let mut found = Vec::new();
    found.extend(open_questions(view, &front));
    let stray = unknown_field(Artifact::Spec, &front);
    found.extend(stray.map(|fault| field_fault(Code::FrontMatterInvalid, Artifact::Spec, &fault)));
    found.extend(rounds(view, &front));
    found.extend(ambiguity(view, &front));
    for (field, code, what) in [
        (
            "non_goals_resolved",
            Code::ClarifyNonGoalsUnresolved,
            "the non-goals are",
        ),
        (
            "decision_boundaries_resolved",
            Code::ClarifyDecisionBoundariesUnresolved,
            "the decision boundaries are",
        ),
        (
            "pressure_pass_complete",
            Code::ClarifyPressurePassIncomplete,
            "the pressure pass is",
        ),
    ] {
        match front.boolean(field) {
            Ok(true) => {}
            Ok(false) => found.push(Blocker::new(
                code,
                format!("{path}: {what} not settled ({field}: false)"),
                &edit,
            )),
            Err(fault) => found.push(field_fault(code, Artifact::Spec, &fault)),
        }
    }
    let empty = view.empty_sections(Artifact::Spec);
    if !empty.is_empty() {
        found.push(Blocker::new(
            Code::ClarifySectionEmpty,
            format!(
                "{path}: nothing stands under `## {}`",
                empty.join("`, `## ")
            ),
            &edit,
        ));
    }
    found
}

/// Blocker of the rounds of questions: at least one was held, and no more than the profile and what was added allow.
fn rounds(view: View<'_>, front: &FrontMatter) -> Option<Blocker> {
    let path = Artifact::Spec.path();
    let max = view.max_rounds();
    match front.count("current_round") {
        Ok(0) => Some(Blocker::new(
            Code::ClarifyCurrentRoundRequired,
            format!("{path}: current_round is 0: no round of questions has been held"),
            command!("edit spec.md"),
        )),
        Ok(round) if round > max => Some(Blocker::new(
            Code::ClarifyMaxRoundsExceeded,
            format!("{path}: round {round} of at most {max}"),
            command!("clarify --more 5 --reason WHY{}", view.policy.sign_flag()),
        )),
        Ok(_) => None,
        Err(fault) => Some(field_fault(
            Code::ClarifyCurrentRoundRequired,
            Artifact::Spec,
            &fault,
        )),
    }
}

fn ambiguity(view: View<'_>, front: &FrontMatter) -> Option<Blocker> {
    let path = Artifact::Spec.path();
    let threshold = view.profile().ambiguity;
    let code = Code::ClarifyAmbiguityScoreAboveThreshold;
    match front.ratio("ambiguity_score") {
        Ok(score) if score > threshold => Some(Blocker::new(
            code,
            format!("{path}: ambiguity {score}, at most {threshold} passes"),
            command!("edit spec.md"),
        )),
        Ok(_) => None,
        Err(fault) => Some(field_fault(code, Artifact::Spec, &fault)),
    }
}

/// Blocker of open questions: the boxes that nobody ticked. A number in the front matter is checked against them.
fn open_questions(view: View<'_>, front: &FrontMatter) -> Option<Blocker> {
    let path = Artifact::Spec.path();
    let edit = command!("edit spec.md");
    let code = Code::UnresolvedAmbiguity;
    let boxes = view.spec_boxes();
    let open: Vec<_> = boxes.iter().filter(|one| !one.is_ticked).collect();
    let said = match front.count("unresolved_ambiguity_count") {
        Err(fault) if !fault.missing => return Some(field_fault(code, Artifact::Spec, &fault)),
        said => said.ok(),
    };
    let message = match (open.first(), said) {
        (None, None) if boxes.is_empty() => {
            format!("{path}: neither a box nor unresolved_ambiguity_count says what is open")
        }
        (None, None | Some(0)) => return None,
        (None, Some(n)) => format!("{path}: {}", counted(n, "open question")),
        (Some(first), said) => {
            let count = counted(
                u32::try_from(open.len()).unwrap_or(u32::MAX),
                "open question",
            );
            let mut message = format!("{path}:{}: {count}: {}", first.line, first.text);
            if let Some(n) = said.filter(|n| usize::try_from(*n) != Ok(open.len())) {
                message.push_str(&format!("; unresolved_ambiguity_count says {n}"));
            }
            message
        }
    };
    Some(Blocker::new(code, message, edit))
}
