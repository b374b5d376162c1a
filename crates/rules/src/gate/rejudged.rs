//! The gate of a move that was made, judged once more: by another policy, for another profile. What a landing rests on
//! is what the gates asked, and not the name of the profile that the session has since.
//!
//! Each gate is asked again as it is, so no setting that a gate asks for can be forgotten here.

use super::{View, blockers};
use crate::policy::{ArtifactPolicy, BuildPolicy, EvidenceRule, Policy};
use crate::profile::Profile;
use crate::stage::{Stage, Transition};
use loopx_base::failure::{Blocker, Code};

/// Blockers about who gave a word, and about checks of policy: the judgement of approvals has those.
const JUDGED_ELSEWHERE: [Code; 9] = [
    Code::CheckNameTaken,
    Code::OpeningUnsigned,
    Code::ParticipantUnproven,
    Code::ProfileUnknown,
    Code::ReviewerNotIndependent,
    Code::SessionConflict,
    Code::VerdictSignatureInvalid,
    Code::VerdictUnsigned,
    Code::WordTakenBack,
];

/// The blockers that a move has as it is `asked`, and had not as it was `made`. A fact that nobody knows any more, like
/// the worktree of that day, gives both the same ones.
pub fn lacking(made: View<'_>, asked: View<'_>, transition: Transition) -> Vec<Blocker> {
    let known = blockers(made, transition);
    let is_known = |one: &Blocker| {
        let mut all = known.iter();
        all.any(|other| other.code == one.code && other.message == one.message)
    };
    let mut found = blockers(asked, transition);
    found.retain(|one| !JUDGED_ELSEWHERE.contains(&one.code) && !is_known(one));
    found
}

/// A policy and a profile that ask for nothing, for a move of which nobody has the policy any more.
pub fn asking_nothing(policy: &Policy) -> (Policy, Profile) {
    let mut policy = policy.clone();
    policy.build = BuildPolicy {
        lanes: Vec::new(),
        regression: false,
    };
    policy.intent.coverage = EvidenceRule::Off;
    policy.intent.contract = EvidenceRule::Off;
    policy.artifacts = ArtifactPolicy::default();
    let profile = Profile {
        stages: Stage::ALL.to_vec(),
        ambiguity: f64::MAX,
        rounds: u32::MAX,
        ..Profile::empty()
    };
    (policy, profile)
}
