//! Approvals: the files that one covers, whether it still holds, and whether it can be used.

use super::super::artifact::Artifact;
use super::super::policy::Policy;
use super::super::session::{Approval, State};
use super::super::stage::Transition;
use super::{View, blockers};
use loopx_base::failure::{Blocker, Code, Failure};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, Person};
use std::collections::BTreeMap;

/// Every artifact that a gate judges, in the order in which the stages add them.
const JUDGED: [Artifact; 15] = [
    Artifact::Intent,
    Artifact::Spec,
    Artifact::Plan,
    Artifact::Architecture,
    Artifact::DevelopmentPlan,
    Artifact::TestPlan,
    Artifact::Proposal,
    Artifact::SpecDelta,
    Artifact::Design,
    Artifact::Tasks,
    Artifact::Slices,
    Artifact::TaskList,
    Artifact::Brief,
    Artifact::ExecutionRecord,
    Artifact::ReviewReport,
];

/// The artifacts that the gate of a transition judges, and that its approval therefore covers.
pub fn covered(transition: Transition) -> &'static [Artifact] {
    match transition {
        Transition::ClarifyToPlan => &JUDGED[..2],
        Transition::PlanToBuild => &JUDGED[..12],
        Transition::BuildToReview => &JUDGED[..14],
        Transition::ReviewToDone => &JUDGED,
        Transition::ReviewToBuild | Transition::ReviewToPlan | Transition::ReviewToClarify => {
            &JUDGED[14..]
        }
        Transition::BuildToPlan | Transition::DoneToBuild => &[],
    }
}

/// Tells whether the gate of a transition also judges the code tree.
pub fn covers_code(transition: Transition) -> bool {
    matches!(
        transition,
        Transition::BuildToReview | Transition::ReviewToDone
    )
}

/// The blobs of the covered artifacts as they are now.
pub fn covered_files(state: &State, transition: Transition) -> BTreeMap<Artifact, Oid> {
    covered(transition)
        .iter()
        .filter_map(|a| Some((*a, state.artifacts.get(a)?.clone())))
        .collect()
}

/// Lists what changed since an approval was given: artifact paths, and `the code` for the tree.
pub fn changed_since(approval: &Approval, view: View<'_>) -> Vec<String> {
    let now = covered_files(view.state, approval.transition);
    let mut changed: Vec<String> = covered(approval.transition)
        .iter()
        .filter(|a| approval.files.get(a) != now.get(a))
        .map(|a| a.path().to_owned())
        .collect();
    if covers_code(approval.transition)
        && let Some(code) = view.code
        && approval.code.as_ref() != Some(&code.tree)
    {
        changed.push("the code".into());
    }
    changed
}

/// An armed approval that can be consumed, or why not.
pub fn consumable<'a>(
    view: View<'a>,
    transition: Transition,
) -> Result<&'a Approval, Vec<Blocker>> {
    let approve = view.policy.approve_command(transition);
    let Some(approval) = view.state.armed(transition) else {
        return Err(vec![Blocker::new(
            Code::ApprovedTransitionRequired,
            not_approved(view.state, transition),
            approve,
        )]);
    };
    let changed = changed_since(approval, view);
    if !changed.is_empty() {
        let who = approval
            .by
            .first()
            .map_or("somebody", |by| by.signed.by.name.as_str());
        return Err(vec![Blocker::new(
            Code::ApprovalStale,
            format!(
                "changed since {who} approved {transition}: {}",
                changed.join(", ")
            ),
            approve,
        )]);
    }
    let missing = missing(view, approval);
    if !missing.is_empty() {
        return Err(missing);
    }
    // Not all that a gate looks at is content: a delegation may have been opened since, a critic may
    // have changed their mind, a run may have failed.
    let unmet = blockers(view, transition);
    if unmet.is_empty() {
        Ok(approval)
    } else {
        Err(unmet)
    }
}

/// The sentence about a transition that nobody approved, or only with another content.
pub fn not_approved(state: &State, transition: Transition) -> String {
    let mut said = format!("{transition} has not been approved");
    let void = state.void_still();
    if let Some(void) = void.filter(|void| void.transition == transition).last() {
        let who = &void.by.name;
        said.push_str(&format!("; the approval by {who} is void: {}", void.why));
    }
    said
}

/// Blockers of an approval that has too few of the people that policy asks for: none when enough of them count.
pub(super) fn missing(view: View<'_>, approval: &Approval) -> Vec<Blocker> {
    let transition = approval.transition;
    let weighed = view
        .credentials
        .weigh(view.policy, transition, &approval.by);
    let people = view.credentials.people(&weighed);
    let required = view.policy.required(transition);
    if people >= required {
        return Vec::new();
    }
    let mut found: Vec<Blocker> = weighed.into_iter().filter_map(|w| w.refused).collect();
    if found.len() < approval.by.len() || found.is_empty() {
        found.insert(
            0,
            Blocker::new(
                Code::ApprovalsMissing,
                format!("{people} of {required} people approved {transition}"),
                view.policy.approve_command(transition),
            ),
        );
    }
    found
}

/// Turns the blocker of an approval into that of an amendment, which approves the plan's list: `amend` is its command.
pub fn of_amendment(policy: &Policy, blocker: Blocker) -> Blocker {
    let help = match blocker.code {
        Code::ApprovalUnsigned | Code::ApprovalSignatureInvalid | Code::ApprovalWithoutTouch
            if policy.lets_amend() =>
        {
            command!("amend --reason WHY --sign")
        }
        Code::ApprovalUnsigned
        | Code::ApprovalSignatureInvalid
        | Code::ApprovalWithoutTouch
        | Code::ApprovalsMissing => policy.amend_command(),
        Code::ApproverDenied | Code::ApproverWithoutRole | Code::ApproverNotIndependent => {
            hint!["ask somebody else to run: ", policy.amend_command()]
        }
        _ => return blocker,
    };
    Blocker { help, ..blocker }
}

/// The refusal of a gate that is not ready, under the code that belongs to its transition.
pub fn not_ready(transition: Transition, blockers: Vec<Blocker>) -> Failure {
    let has = |is: fn(Code) -> bool| blockers.iter().any(|b| is(b.code));
    let code = match transition {
        Transition::ClarifyToPlan => Code::ClarifyReadinessBlocked,
        Transition::PlanToBuild if has(|code| code == Code::MissingPlanArtifact) => {
            Code::PlanPackageIncomplete
        }
        Transition::PlanToBuild => Code::PlanReviewGateBlocked,
        Transition::BuildToReview if has(Code::is_of_execution_record) => Code::ReviewGateBlocked,
        Transition::BuildToReview => Code::BuildReviewGateBlocked,
        Transition::ReviewToDone if has(Code::is_of_scope) => Code::ReviewDoneScopeBlocked,
        Transition::ReviewToDone => Code::ReviewNotApproved,
        Transition::BuildToPlan | Transition::DoneToBuild => Code::RollbackBlocked,
        Transition::ReviewToBuild | Transition::ReviewToPlan | Transition::ReviewToClarify => {
            blockers
                .first()
                .map(|b| b.code)
                .filter(|code| code.is_of_rollback())
                .unwrap_or(Code::RollbackBlocked)
        }
    };
    let count = blockers.len();
    // A review of documents that are not written helps nobody.
    let mut unwritten = blockers.iter().filter(|b| !b.code.is_of_plan_review());
    let first = unwritten.next().or(blockers.first());
    let help = first.map(|b| b.help.clone()).unwrap_or_default();
    Failure::refused(
        code,
        format!(
            "{transition} is not ready: {count} rule{} not met",
            if count == 1 { " is" } else { "s are" }
        ),
    )
    .blockers(blockers)
    .help(help)
}

/// The refusal of a command whose approval cannot be consumed; `unmet` is what [`consumable`] said.
pub fn not_consumable(view: View<'_>, transition: Transition, unmet: Vec<Blocker>) -> Failure {
    match unmet.first() {
        Some(first) if first.code.is_of_approval() => {
            let (code, message) = (first.code, first.message.clone());
            let help = blockers(view, transition)
                .first()
                .map_or_else(|| first.help.clone(), |b| b.help.clone());
            Failure::refused(code, message).blockers(unmet).help(help)
        }
        _ => not_ready(transition, unmet),
    }
}

/// Counts different people.
pub fn distinct<'a>(people: impl Iterator<Item = &'a Person>) -> usize {
    let mut known: Vec<&Person> = Vec::new();
    for person in people {
        if !known.iter().any(|k| k.is_same(person)) {
            known.push(person);
        }
    }
    known.len()
}
