//! Conclusions from the facts: gates for a view, and the evidence chain.

use super::super::op::Target;
use super::super::signature::{Basis, Checked};
use super::super::stage::{ApprovalKey, Stage, Transition};
use super::approval::missing;
use super::{View, blockers, changed_since, judgement};
use loopx_base::failure::{Blocker, Code};
use serde::Serialize;
use std::collections::BTreeMap;

/// Readiness of a transition, and its authorization: shown apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateView {
    pub gate: &'static str,
    pub transition: Transition,
    pub ready: bool,
    pub blockers: Vec<Blocker>,
    pub authorized: bool,
    /// `not-requested`, `requested`, `approved`, `stale`.
    pub approval: &'static str,
    pub approved_by: Vec<String>,
    /// Basis of each approver's name, in their order: whether a key shows who they are.
    pub proof: Vec<Basis>,
    /// Result of the check of each signature under the approvals, in their order; nothing where an approval is not
    /// signed.
    pub signatures: Vec<Option<Checked>>,
}

impl GateView {
    /// Lists the approvers, each with whether that is only a name.
    pub fn approvers(&self) -> Vec<String> {
        let all = self.approved_by.iter().zip(&self.proof);
        all.map(|(name, proof)| proof.named(name)).collect()
    }
}

/// The gates of a session that matter now: the way forward, and in review the way back.
pub fn gates(view: View<'_>) -> Vec<GateView> {
    let target = judgement(view).and_then(|j| j.target);
    let mut gates: Vec<(&'static str, Transition)> = vec![
        ("plan", Transition::ClarifyToPlan),
        ("build", Transition::PlanToBuild),
        ("review", Transition::BuildToReview),
        ("done", Transition::ReviewToDone),
    ];
    gates.retain(|(_, transition)| view.profile().has(*transition));
    if view.state.stage == Stage::Review
        && let Some(target) = target
    {
        gates.push(("rollback", target.transition()));
    }
    let order = |stage: Stage| Stage::ALL.iter().position(|s| *s == stage);
    gates
        .into_iter()
        .map(|(gate, transition)| {
            let state = view.state;
            // A gate that was passed stays passed until a rollback; one that lies ahead is judged when it comes.
            let passed = order(transition.to()) <= order(state.stage) && !transition.is_rollback();
            let blockers = if passed {
                Vec::new()
            } else if transition.from() == state.stage {
                blockers(view, transition)
            } else {
                vec![Blocker::new(
                    Code::StageNotReached,
                    format!("the session is in stage {}", state.stage),
                    String::new(),
                )]
            };
            let approval = state
                .approvals
                .get(&transition.key())
                .filter(|a| a.transition == transition || passed);
            let stale = approval.is_some_and(|a| a.armed && !changed_since(a, view).is_empty());
            let requested = transition.from() == state.stage
                && (target.map(Target::transition) == Some(transition)
                    || (transition == Transition::ReviewToDone && blockers.is_empty()));
            GateView {
                gate,
                transition,
                ready: blockers.is_empty(),
                authorized: approval
                    .is_some_and(|a| !stale && (passed || missing(view, a).is_empty())),
                approval: match approval {
                    Some(_) if stale => "stale",
                    Some(_) => "approved",
                    None if requested => "requested",
                    None => "not-requested",
                },
                approved_by: approval.map_or_else(Vec::new, |a| {
                    a.by.iter().map(|by| by.signed.by.to_string()).collect()
                }),
                proof: approval.map_or_else(Vec::new, |a| {
                    let known = &view.credentials.signatures;
                    a.by.iter().map(|by| Basis::of(known.get(&by.op))).collect()
                }),
                signatures: approval.map_or_else(Vec::new, |a| {
                    let known = &view.credentials.signatures;
                    a.by.iter().map(|by| known.get(&by.op).cloned()).collect()
                }),
                blockers,
            }
        })
        .collect()
}

/// Claim of the evidence chain, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub claim: &'static str,
    pub basis: String,
}

/// Claims that can be made of the session, in order.
pub fn evidence_chain(view: View<'_>) -> Vec<Claim> {
    let mut chain = Vec::new();
    for gate in gates(view) {
        let (ready, authorized) = match gate.gate {
            "plan" => ("clarify_ready_for_plan", "plan_authorized"),
            "build" => ("plan_ready_for_build", "build_authorized"),
            "review" => ("build_ready_for_review", "review_authorized"),
            "done" => ("review_approved", "done_authorized"),
            _ => continue,
        };
        if gate.ready {
            chain.push(Claim {
                claim: ready,
                basis: match gate.gate {
                    "done" => view.state.verdict.as_ref().map_or_else(String::new, |v| {
                        let basis = Basis::of(view.credentials.signatures.get(&v.op));
                        format!(
                            "verdict of {} on tree {}",
                            basis.named(&v.signed.by.to_string()),
                            v.value.tree.short()
                        )
                    }),
                    _ => format!("every rule of {} holds", gate.transition),
                },
            });
        }
        if gate.authorized
            && let Some(approval) = view.state.approvals.get(&gate.transition.key())
        {
            chain.push(Claim {
                claim: authorized,
                basis: format!(
                    "{} approved content {}",
                    gate.approvers().join(", "),
                    approval.content.short()
                ),
            });
        }
    }
    chain
}

/// The reset of the approvals, for views.
pub fn approval_statuses(view: View<'_>) -> BTreeMap<ApprovalKey, &'static str> {
    let state = view.state;
    let mut words: BTreeMap<ApprovalKey, &'static str> = ApprovalKey::ALL
        .into_iter()
        .map(|key| {
            let known = state.approvals.contains_key(&key);
            (key, if known { "approved" } else { "not-requested" })
        })
        .collect();
    // What is asked for now, or has to be asked for again, comes before what was used up earlier:
    // review->build shares its key with plan->build.
    for gate in gates(view) {
        if matches!(gate.approval, "requested" | "stale") {
            words.insert(gate.transition.key(), gate.approval);
        }
    }
    words
}
