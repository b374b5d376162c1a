//! The status of a node, and what records make of it. One table says which step leads where.
//!
//! No clock is read here, and no plan: who waits for whom is the business of [`super::graph`].

use super::decide::{Decision, Verdict};
use super::event::{Claim, Completion, TaskEvent};
use super::node::TaskId;
use crate::lease::Owner;
use crate::op::Operation;
use crate::session::{Beside, Stamped, State, TASK_FOLD, recorded};
use crate::stage::Stage;
use loopx_base::id::{Oid, OpId};
use loopx_base::says_something;
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

vocabulary!(
    /// Status of a node.
    Status {
        Pending = "pending",
        Claimed = "claimed",
        Completed = "completed",
        Failed = "failed",
        Skipped = "skipped",
        /// A gate in whose place another one is decided; computed, in no record.
        Superseded = "superseded",
    }
);

vocabulary!(
    /// Step that somebody takes with a node, by the word that they type.
    Step {
        Take = "take",
        Release = "release",
        Done = "done",
        Fail = "fail",
        Retry = "retry",
        Skip = "skip",
        /// Step of a decision or a goal: no row of the table, as its status is computed.
        Decide = "decide",
        /// Step of a checkpoint, or of a decision that waits for a person.
        Open = "open",
    }
);

/// The transition table: from, step, to. What does not stand here is refused.
const TABLE: [(Status, Step, Status); 11] = [
    (Status::Pending, Step::Take, Status::Claimed),
    (Status::Pending, Step::Skip, Status::Skipped),
    // Renewed, or taken over.
    (Status::Claimed, Step::Take, Status::Claimed),
    (Status::Claimed, Step::Release, Status::Pending),
    (Status::Claimed, Step::Done, Status::Completed),
    (Status::Claimed, Step::Fail, Status::Failed),
    (Status::Claimed, Step::Skip, Status::Skipped),
    (Status::Completed, Step::Retry, Status::Pending),
    (Status::Failed, Step::Retry, Status::Pending),
    (Status::Failed, Step::Skip, Status::Skipped),
    (Status::Skipped, Step::Retry, Status::Pending),
];

impl Status {
    /// Status to which a step leads from here.
    pub fn after(self, step: Step) -> Option<Status> {
        let mut rows = TABLE.iter();
        let row = rows.find(|(from, by, _)| *from == self && *by == step);
        row.map(|(_, _, to)| *to)
    }

    /// The steps that lead on from here.
    pub fn steps(self) -> impl Iterator<Item = Step> {
        let rows = TABLE.iter().filter(move |(from, _, _)| *from == self);
        rows.map(|(_, step, _)| *step)
    }

    /// Tells whether nothing is left to do.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Status::Completed | Status::Skipped | Status::Superseded
        )
    }

    /// Tells whether the status lets a waiting node go on: a skipped node lets on where the edge is optional.
    pub fn lets_on(self, is_optional: bool) -> bool {
        match self {
            Status::Completed | Status::Superseded => true,
            Status::Skipped => is_optional,
            Status::Pending | Status::Claimed | Status::Failed => false,
        }
    }

    /// An illegal step in words, with the legal ones.
    pub fn refuses(self, task: &TaskId, step: Step) -> String {
        let legal: Vec<&str> = self.steps().map(Step::as_str).collect();
        let legal = match legal.as_slice() {
            [] => "no step".to_owned(),
            steps => steps.join(" or "),
        };
        format!("{task} is {self}: expected {legal}, found `{step}`")
    }
}

impl Step {
    /// Tells whether the step lets pass what nothing proves, so that somebody has to stand for it.
    pub fn asks_why(self) -> bool {
        matches!(self, Step::Skip | Step::Open)
    }
}

/// Facts of one node, folded from its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    pub id: TaskId,
    pub status: Status,
    /// Record that gave the node this status: who, when, and why.
    pub last: Stamped<Mark>,
    /// Claim of whoever has the node, or had it when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Stamped<Claim>>,
    /// Number of times that the node failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// Newest failure, with its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Stamped<Mark>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Stamped<Completion>>,
    /// Decisions about a gate: the newest, and those that were made apart from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Stamped<Decision>>,
    /// Word of a person who let the node pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Stamped<Opening>>,
    /// Words that the node may begin, where it waits for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Stamped<Opening>>,
    /// Steps that others took with the node at the same time and that do not count: a claim until somebody who saw it
    /// completes the node, a result until the node is done again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Stamped<Aside>>,
    /// The number of the newest retry: what ran before it proves nothing of the task.
    #[serde(default, skip_serializing_if = "is_first")]
    pub fresh_after: u64,
    /// The first claim of those that followed each other, where the one that holds is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Moment>,
    /// Set when the list was written since the node was begun, or apart from that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relisted: bool,
    /// The stages that the session was in for the writers of its records, where that was not the build.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<OpId, Stage>,
    /// Results that the node had before the one of now, the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
}

/// A record as far as the rules ask what was there before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub op: OpId,
    pub seq: u64,
    pub at: String,
}

/// A result that another one took the place of, or that is to be done again: what was begun on it stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    pub step: Step,
    #[serde(flatten)]
    pub given: Moment,
    /// Claim under which the work was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Moment>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relisted: bool,
    /// The verdict that a decision came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A person's word that something may pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Results that the person saw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judged: BTreeMap<TaskId, OpId>,
    /// Files of tasks that the person saw, with the content of then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub saw: BTreeMap<String, Oid>,
    /// The way on of a gate that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// A record that says no more than its envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {}

/// Step that was taken with a node apart, and that another record outweighs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    pub step: Step,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
}

/// Number of claims that a state names, and of what else was done apart: claims take no place from results.
const KEPT_CLAIMS: usize = 16;
const KEPT_RESULTS: usize = 32;
const KEPT_PAST: usize = 32;

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_first(seq: &u64) -> bool {
    *seq == 0
}

impl Claim {
    /// Tells whether the claim is that of whoever asks: of the worktree, and of the agent session where both name one.
    pub fn is_of(&self, owner: &Owner) -> bool {
        let is_agents = match (&self.agent, &owner.agent) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.owner == owner.token && is_agents
    }
}

impl TaskFacts {
    /// The claim that holds now.
    pub fn holder(&self) -> Option<&Stamped<Claim>> {
        let claim = self.claim.as_ref();
        claim.filter(|_| self.status == Status::Claimed)
    }

    /// Work that is left of a node that was completed.
    pub fn partial(&self) -> Option<&str> {
        let done = self.completion.as_ref()?;
        let left = done.value.partial.as_deref();
        left.filter(|_| self.status == Status::Completed)
    }

    /// Results of others that stand beside the one that counts.
    pub fn results_beside(&self) -> impl Iterator<Item = &Stamped<Aside>> {
        let is_result =
            |aside: &&Stamped<Aside>| matches!(aside.value.step, Step::Done | Step::Fail);
        self.beside.iter().filter(is_result)
    }

    fn new(op: &Operation, id: &TaskId) -> Self {
        TaskFacts {
            id: id.clone(),
            status: Status::Pending,
            last: recorded(op, Mark {}),
            claim: None,
            failures: 0,
            failure: None,
            completion: None,
            decisions: Vec::new(),
            opened: None,
            allowed: Vec::new(),
            beside: Vec::new(),
            fresh_after: 0,
            begun: None,
            relisted: false,
            stages: BTreeMap::new(),
            past: Vec::new(),
        }
    }

    /// The record by which the work of a node was begun: the first of the claims that led to its result, else that.
    pub fn beginning(&self) -> Option<Moment> {
        let claim = self.claim.as_ref().map(Moment::of);
        let done = self.completion.as_ref().map(Moment::of);
        self.begun.clone().or(claim).or(done)
    }

    /// Remembers the result of now, which is about to go.
    fn keep_past(&mut self) {
        let (step, given, begun) = match (self.status, &self.opened, &self.completion) {
            (Status::Skipped, ..) => (Step::Skip, Moment::of(&self.last), None),
            (Status::Completed, Some(opened), _) => (Step::Open, Moment::of(opened), None),
            (Status::Completed, None, Some(done)) => {
                (Step::Done, Moment::of(done), self.beginning())
            }
            _ => return,
        };
        let relisted = self.relisted;
        self.push_past(Past {
            step,
            given,
            begun,
            relisted,
            verdict: None,
        });
    }

    fn push_past(&mut self, past: Past) {
        if self.past.len() < KEPT_PAST {
            self.past.push(past);
        }
    }

    /// Takes in a decision: it stands in the place of those that its writer saw.
    fn decide(&mut self, op: &Operation, decision: &Decision, saw: impl Fn(&OpId) -> bool) {
        let gone = self.decisions.iter().filter(|known| saw(&known.op));
        let gone: Vec<Past> = gone.map(Past::decision).collect();
        gone.into_iter().for_each(|past| self.push_past(past));
        self.decisions.retain(|known| !saw(&known.op));
        self.decisions.push(recorded(op, decision.clone()));
        // A claim was for judging, and that is done.
        if matches!(self.status, Status::Pending | Status::Claimed) {
            self.status = Status::Pending;
            self.claim = None;
            self.last = recorded(op, Mark {});
        }
    }

    /// Takes in a person's word. What was completed apart stays as it is.
    fn open(&mut self, op: &Operation, opening: Opening, is_apart: bool) {
        if is_apart && self.status == Status::Completed {
            self.put_aside(recorded(
                op,
                Aside {
                    step: Step::Open,
                    claim: None,
                    completion: None,
                },
            ));
            return;
        }
        let done = Completion {
            manual: true,
            ..Completion::default()
        };
        self.keep_past();
        self.status = Status::Completed;
        self.last = recorded(op, Mark {});
        self.completion = Some(recorded(op, done));
        self.opened = Some(recorded(op, opening));
    }

    /// Takes in a record that fits the node: the step leads on from here, and names the claim that holds.
    fn go_on(&self, op: &Operation, event: &TaskEvent) -> Result<TaskFacts, String> {
        let step = event.step();
        let Some(to) = self.status.after(step) else {
            return Err(self.status.refuses(event.task(), step));
        };
        let names = match event {
            TaskEvent::Retried { .. }
            | TaskEvent::Skipped { .. }
            | TaskEvent::Decided { .. }
            | TaskEvent::Allowed { .. }
            | TaskEvent::Opened { .. } => None,
            TaskEvent::Claimed { claim, .. } => Some(claim.over.as_ref()),
            TaskEvent::Released { claim, .. }
            | TaskEvent::Completed { claim, .. }
            | TaskEvent::Failed { claim, .. } => Some(Some(claim)),
        };
        if names.is_some_and(|named| self.holder().map(|claim| &claim.op) != named) {
            return Err(format!(
                "`{step}` of {} names a claim that does not count",
                event.task()
            ));
        }
        let mut after = self.clone();
        after.set(op, event, to);
        Ok(after)
    }

    fn set(&mut self, op: &Operation, event: &TaskEvent, to: Status) {
        if matches!(event, TaskEvent::Retried { .. }) {
            self.keep_past();
        }
        self.status = to;
        self.last = recorded(op, Mark {});
        match event {
            TaskEvent::Claimed { claim, .. } => {
                if claim.late {
                    self.failures += 1;
                    self.failure = Some(recorded(op, Mark {}));
                }
                self.begun = claim.over.as_ref().and_then(|_| {
                    let before = self.claim.as_ref().map(Moment::of);
                    self.begun.take().or(before)
                });
                self.claim = Some(recorded(op, claim.clone()));
            }
            TaskEvent::Completed { claim, done, .. } => {
                self.completion = Some(recorded(op, done.clone()));
                self.bring_back(claim);
            }
            TaskEvent::Failed { .. } => {
                self.failures += 1;
                self.failure = Some(recorded(op, Mark {}));
            }
            TaskEvent::Retried { .. } => {
                self.begun = None;
                self.claim = None;
                self.completion = None;
                self.opened = None;
                self.beside.clear();
                self.fresh_after = self.fresh_after.max(op.seq);
            }
            TaskEvent::Released { .. } => {
                self.begun = None;
                self.claim = None;
            }
            TaskEvent::Skipped { .. }
            | TaskEvent::Decided { .. }
            | TaskEvent::Allowed { .. }
            | TaskEvent::Opened { .. } => {}
        }
    }

    /// Takes in a record whose writer did not know what gave the node its status. Completed work outweighs
    /// everything, a claim outweighs a skip; of two alike the first in replay order counts. What does not count
    /// stands beside it.
    fn go_apart(&mut self, op: &Operation, event: &TaskEvent) {
        let outweighs = match (event.step(), self.status) {
            (Step::Done, status) => status != Status::Completed,
            (Step::Take, Status::Pending | Status::Skipped)
            | (Step::Skip, Status::Pending)
            | (Step::Retry, Status::Failed) => true,
            _ => false,
        };
        if !outweighs {
            self.put_aside(recorded(op, aside_of(event)));
            return;
        }
        match self.status {
            Status::Claimed => {
                self.begun = None;
                if let Some(claim) = self.claim.take() {
                    let lost = Aside {
                        step: Step::Take,
                        claim: Some(claim.value.clone()),
                        completion: None,
                    };
                    self.put_aside(of(&claim, lost));
                }
            }
            Status::Failed => self.set_last_aside(Step::Fail),
            Status::Skipped => self.set_last_aside(Step::Skip),
            Status::Pending | Status::Completed | Status::Superseded => {}
        }
        if let Some(to) = outcome(event.step()) {
            self.set(op, event, to);
        }
    }

    /// The claim under which something was completed counts again, where another one stood before it.
    fn bring_back(&mut self, claim: &OpId) {
        let Some(at) = self.beside.iter().position(|aside| aside.op == *claim) else {
            return;
        };
        let aside = self.beside.remove(at);
        if let Some(own) = aside.value.claim.clone() {
            self.claim = Some(of(&aside, own));
            // Nobody knows which list its owner had.
            self.begun = None;
            self.relisted = true;
        }
    }

    fn set_last_aside(&mut self, step: Step) {
        let aside = Aside {
            step,
            claim: None,
            completion: None,
        };
        let last = of(&self.last, aside);
        self.put_aside(last);
    }

    fn put_aside(&mut self, aside: Stamped<Aside>) {
        // A claim that is renewed is still one.
        if let (Step::Take, Some(new)) = (aside.value.step, &aside.value.claim) {
            self.beside.retain(|known| {
                let claim = known.value.claim.as_ref();
                claim.is_none_or(|claim| claim.owner != new.owner || claim.agent != new.agent)
            });
        }
        // A retry or a release that came too late takes nothing from anybody.
        if matches!(aside.value.step, Step::Retry | Step::Release) {
            return;
        }
        let is_claim = |aside: &Stamped<Aside>| aside.value.step == Step::Take;
        let alike = self.beside.iter();
        let alike = alike.filter(|known| is_claim(known) == is_claim(&aside));
        let most = if is_claim(&aside) {
            KEPT_CLAIMS
        } else {
            KEPT_RESULTS
        };
        if alike.count() < most {
            self.beside.push(aside);
        }
    }
}

/// The status that a step leads to, wherever it began.
fn outcome(step: Step) -> Option<Status> {
    TABLE
        .iter()
        .find(|(_, by, _)| *by == step)
        .map(|(_, _, to)| *to)
}

fn aside_of(event: &TaskEvent) -> Aside {
    let (claim, completion) = match event {
        TaskEvent::Claimed { claim, .. } => (Some(claim.clone()), None),
        TaskEvent::Completed { done, .. } => (None, Some(done.clone())),
        _ => (None, None),
    };
    Aside {
        step: event.step(),
        claim,
        completion,
    }
}

impl Moment {
    pub fn of<T>(stamped: &Stamped<T>) -> Self {
        Moment {
            op: stamped.op.clone(),
            seq: stamped.seq,
            at: stamped.signed.at.clone(),
        }
    }
}

impl Past {
    /// A decision that another one stands in the place of.
    fn decision(known: &Stamped<Decision>) -> Self {
        Past {
            step: Step::Decide,
            given: Moment::of(known),
            begun: None,
            relisted: false,
            verdict: known.value.came_to,
        }
    }
}

/// Stamps another value with the same envelope.
fn of<A, B>(known: &Stamped<A>, value: B) -> Stamped<B> {
    Stamped {
        op: known.op.clone(),
        seq: known.seq,
        signed: known.signed.clone(),
        reason: known.reason.clone(),
        value,
    }
}

impl State {
    /// The facts of a node; nothing where no record speaks of it.
    pub fn task(&self, id: &TaskId) -> Option<&TaskFacts> {
        id.with_key(|key| self.tasks.get(key))
    }

    /// Status of a node.
    pub fn task_status(&self, id: &TaskId) -> Status {
        self.task(id).map_or(Status::Pending, |facts| facts.status)
    }

    /// Takes in a record of a node.
    pub(crate) fn take_task(
        &mut self,
        op: &Operation,
        event: &TaskEvent,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        let id = event.task();
        let has_reason = op.reason.as_deref().is_some_and(says_something);
        if !has_reason && event.step().asks_why() {
            let step = event.step();
            return Err(format!("`{step}` of {id} needs a reason, and has none"));
        }
        let known = self.tasks.get(&id.key());
        let missed_last = known.is_some_and(|facts| !beside.saw(&facts.last.op));
        let missed_any = beside.missed_of(&id.key(), op);
        let mut facts = known.cloned().unwrap_or_else(|| TaskFacts::new(op, id));
        match (event, facts.go_on(op, event)) {
            (TaskEvent::Decided { decision, .. }, _) => {
                facts.decide(op, decision, |known| beside.saw(known));
            }
            // A word that it may begin gives it no other status, and stands beside whatever was done apart.
            (TaskEvent::Allowed { judged, saw, .. }, _) => {
                let (judged, saw) = (judged.clone(), saw.clone());
                let word = Opening {
                    judged,
                    saw,
                    outcome: None,
                };
                facts.allowed.push(recorded(op, word));
            }
            (
                TaskEvent::Opened {
                    judged,
                    saw,
                    outcome,
                    ..
                },
                _,
            ) => {
                let word = Opening {
                    judged: judged.clone(),
                    saw: saw.clone(),
                    outcome: outcome.clone(),
                };
                facts.open(op, word, missed_last);
            }
            (_, Ok(after)) if !missed_last => {
                facts = after;
                // Whoever completes it knows of the claims that they saw, and nothing is left to say of them.
                if event.step() == Step::Done {
                    facts
                        .beside
                        .retain(|aside| aside.value.step != Step::Take || !beside.saw(&aside.op));
                }
            }
            // Whoever knew everything writes nothing that does not fit.
            (_, Err(why)) if !missed_any => return Err(why),
            _ => facts.go_apart(op, event),
        }
        let begins = match event {
            TaskEvent::Claimed { claim, .. } => claim.over.is_none(),
            TaskEvent::Completed { .. } => facts.claim.is_none(),
            _ => false,
        };
        if begins {
            facts.relisted = beside.missed_list();
        }
        let stage = beside.stage(self.stage);
        if stage != Stage::Build {
            facts.stages.insert(op.op.clone(), stage);
        }
        self.fold = self.fold.max(TASK_FOLD);
        self.tasks.insert(id.key(), facts);
        Ok(())
    }

    /// The list is another one: what was begun was begun by the one before it.
    pub(crate) fn relist(&mut self) {
        let begun = self.tasks.values_mut();
        let begun = begun.filter(|facts| facts.beginning().is_some());
        begun.for_each(|facts| facts.relisted = true);
    }

    /// The record that a claim of a node has to name as the one it replaces.
    pub fn claim_of(&self, id: &TaskId) -> Option<&OpId> {
        let facts = self.task(id)?;
        facts.holder().map(|claim| &claim.op)
    }
}

#[cfg(test)]
mod tests {
    use super::{Status, Step};
    use crate::task::node::TaskId;

    #[test]
    fn an_illegal_step_names_the_legal_ones() {
        let task = TaskId::parse("T-1").expect("an id");
        let said = Status::Completed.refuses(&task, Step::Take);
        assert_eq!(said, "T-1 is completed: expected retry, found `take`");
        let said = Status::Failed.refuses(&task, Step::Done);
        assert!(said.contains("expected retry or skip, found"), "{said}");
    }

    #[test]
    fn every_status_has_a_step_that_leads_on_and_none_leads_in_two_ways() {
        let all = [
            Status::Pending,
            Status::Claimed,
            Status::Completed,
            Status::Failed,
            Status::Skipped,
        ];
        for status in all {
            let steps: Vec<Step> = status.steps().collect();
            assert!(!steps.is_empty(), "{status}");
            let mut once = steps.clone();
            once.dedup();
            assert_eq!(once, steps, "{status}");
        }
        // Nothing is done that nobody has, and nothing failed that nobody tried.
        for status in all.into_iter().filter(|one| *one != Status::Claimed) {
            assert_eq!(status.after(Step::Done), None, "{status}");
            assert_eq!(status.after(Step::Fail), None, "{status}");
        }
    }
}
