//! Findings at a gate: which are open, and which of them hold it.

use super::super::finding::Finding;
use super::super::op::{AnswerWord, FoundIn, ReviewFinding};
use super::super::policy::Policy;
use super::super::session::{Stamped, State};
use super::super::stage::{Stage, Transition};
use super::{Credentials, View, covered, covered_files};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, command};
use loopx_base::id::OpId;
use serde::Serialize;

/// A finding as people and machines see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingView {
    pub number: u32,
    pub op: OpId,
    pub lane: FoundIn,
    pub round: u32,
    pub author: String,
    pub at: String,
    #[serde(flatten)]
    pub found: ReviewFinding,
    pub open: bool,
    /// Set when the finding holds a gate as long as it is open.
    pub blocking: bool,
    /// Set when the code or the document that the finding is about changed since.
    pub changed_since: bool,
    pub answer: Option<AnswerView>,
    /// Command that answers the finding; it works when typed.
    pub help: Hint,
}

/// The answer that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerView {
    pub answer: AnswerWord,
    pub by: String,
    pub at: String,
    pub reason: Option<String>,
}

impl FindingView {
    /// `1  high: src/a.rs:12: no test  (Rita, review 1)`.
    pub fn words(&self) -> String {
        let name = self.author.split(" <").next().unwrap_or_default();
        format!(
            "{}  {}  ({name}, {} {})",
            self.number, self.found, self.lane, self.round
        )
    }
}

/// Tells whether the person who said `wontfix` may say so of what blocks: who took part in the work may not where
/// policy asks for somebody else.
pub fn may_leave(
    policy: &Policy,
    credentials: &Credentials,
    names: &[loopx_base::id::Person],
) -> bool {
    !policy.review.independence.is_required() || credentials.part(names).is_none()
}

fn is_open(view: View<'_>, finding: &Finding) -> bool {
    let Some(said) = finding.answer.as_ref().filter(|_| !finding.is_open()) else {
        return true;
    };
    let names = view.credentials.names(&said.signed.by);
    said.value.answer == AnswerWord::Wontfix
        && finding.found.severity.is_blocking()
        && !may_leave(view.policy, view.credentials, &names)
}

/// Tells whether the subject of a finding changed since: the code or its record, or the documents of the plan.
pub fn is_changed_since(view: View<'_>, finding: &Stamped<Finding>) -> bool {
    let state = view.state;
    if finding.value.lane != FoundIn::Review {
        let now = covered_files(state, Transition::PlanToBuild);
        let then = state.plan.reviews.iter().find(|one| one.op == finding.op);
        return then.is_none_or(|review| review.value.files != now);
    }
    let tree = view.code.map(|code| &code.tree);
    let record = state
        .artifacts
        .get(&super::super::artifact::Artifact::ExecutionRecord);
    tree.is_none()
        || tree != finding.value.tree.as_ref()
        || record != finding.value.record.as_ref()
        || is_planned_again(state, finding)
}

/// Tells whether the plan has other documents since a review found something. Where nobody reviews plans, a finding
/// about one of the documents that was reviewed once more is all that is known.
fn is_planned_again(state: &State, finding: &Stamped<Finding>) -> bool {
    let mut reviews = state.plan.reviews.iter().rev();
    if let Some(before) = reviews.find(|review| review.seq < finding.seq) {
        return before.value.files != covered_files(state, Transition::PlanToBuild);
    }
    let file = finding.value.found.file.as_deref();
    let of_plan = covered(Transition::PlanToBuild);
    let is_document = file.is_some_and(|file| of_plan.iter().any(|one| one.path() == file));
    is_document && state.reviews > finding.value.round
}

/// Every finding of a session, in their order.
pub fn findings(view: View<'_>) -> Vec<FindingView> {
    let numbered = view.state.numbered();
    numbered
        .map(|(number, finding)| {
            let value = &finding.value;
            let changed_since = is_changed_since(view, finding);
            FindingView {
                number,
                op: finding.op.clone(),
                lane: value.lane,
                round: value.round,
                author: finding.signed.by.to_string(),
                at: finding.signed.at.clone(),
                found: value.found.clone(),
                open: is_open(view, value),
                blocking: value.found.severity.is_blocking(),
                changed_since,
                answer: value.answer.as_ref().map(|said| AnswerView {
                    answer: said.value.answer,
                    by: said.signed.by.to_string(),
                    at: said.signed.at.clone(),
                    reason: said.reason.clone(),
                }),
                help: help(view.policy, number, changed_since),
            }
        })
        .collect()
}

fn help(policy: &Policy, number: u32, changed_since: bool) -> Hint {
    let sign = policy.sign_flag();
    if changed_since {
        command!("review --answer {number} fixed{sign}")
    } else {
        command!("review --answer {number} wontfix --reason WHY{sign}")
    }
}

/// The open findings that a person of this stage has to know of: of the plan while it is planned, of all after it.
pub fn open_now(view: View<'_>) -> Vec<FindingView> {
    let all = findings(view).into_iter().filter(|one| one.open);
    let of_stage = |one: &FindingView| match view.state.stage {
        Stage::Clarify | Stage::Plan => true,
        _ => one.blocking || one.lane == FoundIn::Review,
    };
    all.filter(of_stage).collect()
}

/// Blockers of open findings: plan->build is held by those of the plan, review->done by all of them.
pub fn open_blockers(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let holds = |one: &FindingView| match transition {
        Transition::PlanToBuild => one.lane != FoundIn::Review,
        _ => true,
    };
    findings(view)
        .into_iter()
        .filter(|one| one.open && one.blocking && holds(one))
        .map(|one| {
            let message = format!("finding {} is open", one.words());
            Blocker::new(Code::FindingOpen, message, one.help)
        })
        .collect()
}
