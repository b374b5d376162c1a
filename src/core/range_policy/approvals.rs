//! Whether each approval that moved a session is one that policy accepts: whose it is, how many there
//! are, and that it is about the content that was there when it was used.
//!
//! The operations are the loopx branch's own word, and whoever can write that branch can write them:
//! so what a gate checked before it wrote them is checked again here. What proves that a name is true
//! (a signature over the approval) is judged beside it: [`Used`] says which operations to look at.

use super::super::artifact::Artifact;
use super::super::failure::Result;
use super::super::gate;
use super::super::id::{Oid, Person, SessionId};
use super::super::op::{Event, Operation};
use super::super::policy::Policy;
use super::super::replay;
use super::super::session::Approval;
use super::super::stage::Transition;
use super::{Commit, Finding, Severity, finding};
use std::collections::BTreeMap;

/// An approval, as it was when it moved the session.
#[derive(Clone, Debug)]
pub struct Used {
    pub transition: Transition,
    pub approval: Approval,
    /// The artifacts that its gate judges, as they were then.
    pub files: BTreeMap<Artifact, Oid>,
    /// The tree that the review was about, where the gate asks for a review.
    pub reviewed: Option<Oid>,
}

/// Every use of an approval in a session's operations, oldest first.
pub fn used(id: &SessionId, operations: &[Operation]) -> Result<Vec<Used>> {
    let mut found = Vec::new();
    replay::walk(id, operations, |op, state| {
        let transition = match &op.event {
            Event::Entered { transition, .. }
            | Event::Approved {
                transition,
                completes: true,
                ..
            } => *transition,
            _ => return,
        };
        if let Some(approval) = state.approvals.get(&transition.key()) {
            found.push(Used {
                transition,
                approval: approval.clone(),
                files: gate::covered_files(state, transition),
                reviewed: state
                    .verdict
                    .as_ref()
                    .filter(|_| transition == Transition::ReviewToDone)
                    .map(|verdict| verdict.value.tree.clone()),
            });
        }
    })?;
    Ok(found)
}

/// Judges one use. `canonical` gives the name that somebody is known by; `content` the tree id of a set
/// of artifacts.
pub fn judge(
    policy: &Policy,
    session: &SessionId,
    commit: &Commit,
    used: &Used,
    canonical: impl Fn(&Person) -> Result<Person>,
    content: impl Fn(&BTreeMap<Artifact, Oid>) -> Result<Oid>,
) -> Result<Vec<Finding>> {
    let Used {
        transition,
        approval,
        ..
    } = used;
    let help = format!("git loopx -s {session} log");
    let flaw = |code, message: String| {
        let message = format!("session {session}: {message}");
        finding(commit, code, Severity::Error, Vec::new(), message, &help)
    };
    let mut found = Vec::new();
    let mut accepted = Vec::new();
    for by in &approval.by {
        let who = canonical(&by.signed.by)?;
        if policy.denies(&who) || policy.denies(&by.signed.by) {
            found.push(flaw(
                "approver_denied",
                format!("policy does not let {who} approve {transition}"),
            ));
        } else {
            accepted.push(who);
        }
    }
    let (people, required) = (
        gate::distinct(accepted.iter()),
        policy.required(*transition),
    );
    if people < required {
        found.push(flaw(
            "approvals_missing",
            format!("{people} of {required} people approved {transition}"),
        ));
    }
    let changed: Vec<&str> = gate::covered(*transition)
        .iter()
        .filter(|artifact| approval.files.get(artifact) != used.files.get(artifact))
        .map(|artifact| artifact.path())
        .collect();
    if !changed.is_empty() {
        found.push(flaw(
            "approval_stale",
            format!(
                "the approval of {transition} was used on another {}",
                changed.join(", ")
            ),
        ));
    } else if content(&approval.files)? != approval.content {
        found.push(flaw(
            "approval_content",
            format!("the approval of {transition} names another tree than its files make"),
        ));
    }
    if used.reviewed.is_some() && used.reviewed != approval.code {
        found.push(flaw(
            "approval_stale",
            format!("the approval of {transition} is about other code than the review"),
        ));
    }
    Ok(found)
}
