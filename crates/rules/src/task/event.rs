//! The topic `task`: what happened to a node of a session's graph, and the values that its records carry. What they
//! make of the state is in [`super::status`].

use super::decide::Decision;
use super::node::TaskId;
use super::status::Step;
use crate::lease::leased;
use crate::op::Operation;
use crate::session::{Beside, State, Way};
use crate::topic::{Topic, Version, Weight};
use loopx_base::id::{Oid, OpId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The topic `task`. Each variant is named by what happened; the reason stands in the envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEvent {
    /// Claim of somebody who has the node now. A claim that is renewed, or taken over, names the one that it replaces.
    Claimed { task: TaskId, claim: Claim },
    /// The claim is given back.
    Released { task: TaskId, claim: OpId },
    Completed {
        task: TaskId,
        /// Claim under which the node was done.
        claim: OpId,
        done: Completion,
    },
    /// An attempt ended without a result.
    Failed { task: TaskId, claim: OpId },
    /// Retry of a node that is to be done again.
    Retried {
        task: TaskId,
        /// Agent that typed the retry, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Skip of a node that is not done, and for which nothing waits any more that can do without.
    Skipped { task: TaskId },
    /// Decision of somebody who judged what a decision or a goal is about.
    Decided { task: TaskId, decision: Decision },
    /// A person says that a node may begin that waits for that.
    Allowed {
        task: TaskId,
        /// Results that the person saw, as in an opening.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        judged: BTreeMap<TaskId, OpId>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        saw: BTreeMap<String, Oid>,
    },
    /// A person lets a checkpoint pass, or a decision that waits for one.
    Opened {
        task: TaskId,
        /// Results that the person saw, as in a decision.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        judged: BTreeMap<TaskId, OpId>,
        /// Files that those tasks had left in the session, with the content that the person saw.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        saw: BTreeMap<String, Oid>,
        /// The way on, where the gate has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
}

/// Claim of whoever has a node. Two claims are told apart by nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The worktree's token.
    pub owner: String,
    /// The agent session, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The lease that was asked for. Nothing is decided by it here: a clone that watched it run out says so.
    pub seconds: u32,
    /// Claim that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<OpId>,
    /// Set when the time that the claim before had has passed: a failed attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Name under which the claim was asked for: who asks again under it gets the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The code commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// Texts that had to be read first, with their content then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reads: BTreeMap<String, String>,
}

leased!(Claim);

/// The result of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// Code tree on which the node's verification passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// A person looked, and says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manual: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Work of the node that is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Notes for whoever does the tasks after this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// Work that was put off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// Files, or some of them, that changed since the node was taken, in commits and in the worktree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Texts that had to be read and changed since the node was taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads_changed: Vec<String>,
    /// Files that the node left in the session, with the content that it was completed with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Oid>,
}

impl TaskEvent {
    pub fn task(&self) -> &TaskId {
        match self {
            TaskEvent::Claimed { task, .. }
            | TaskEvent::Released { task, .. }
            | TaskEvent::Completed { task, .. }
            | TaskEvent::Failed { task, .. }
            | TaskEvent::Retried { task, .. }
            | TaskEvent::Skipped { task }
            | TaskEvent::Decided { task, .. }
            | TaskEvent::Allowed { task, .. }
            | TaskEvent::Opened { task, .. } => task,
        }
    }

    /// Tells whether an agent neither takes the event back nor brings it back: a person's word, or an attempt that
    /// failed or a decision, which count against a cap.
    pub fn is_kept_from_agents(&self) -> bool {
        match self {
            TaskEvent::Skipped { .. }
            | TaskEvent::Failed { .. }
            | TaskEvent::Retried { .. }
            | TaskEvent::Decided { .. }
            | TaskEvent::Allowed { .. }
            | TaskEvent::Opened { .. } => true,
            TaskEvent::Completed { done, .. } => done.manual,
            TaskEvent::Claimed { .. } | TaskEvent::Released { .. } => false,
        }
    }

    /// Step that the event's writer took.
    pub fn step(&self) -> Step {
        match self {
            TaskEvent::Claimed { .. } => Step::Take,
            TaskEvent::Released { .. } => Step::Release,
            TaskEvent::Completed { .. } => Step::Done,
            TaskEvent::Failed { .. } => Step::Fail,
            TaskEvent::Retried { .. } => Step::Retry,
            TaskEvent::Skipped { .. } => Step::Skip,
            TaskEvent::Decided { .. } => Step::Decide,
            TaskEvent::Allowed { .. } | TaskEvent::Opened { .. } => Step::Open,
        }
    }
}

impl Topic for TaskEvent {
    const NAME: &'static str = "task";
    type Move = std::convert::Infallible;

    fn kind(&self) -> &'static str {
        match self {
            TaskEvent::Claimed { .. } => "claimed",
            TaskEvent::Released { .. } => "released",
            TaskEvent::Completed { .. } => "completed",
            TaskEvent::Failed { .. } => "failed",
            TaskEvent::Retried { .. } => "retried",
            TaskEvent::Skipped { .. } => "skipped",
            TaskEvent::Decided { .. } => "decided",
            TaskEvent::Allowed { .. } => "allowed",
            TaskEvent::Opened { .. } => "opened",
        }
    }

    fn word(&self) -> &str {
        match self {
            TaskEvent::Claimed { .. } => "take",
            TaskEvent::Released { .. } => "task-release",
            TaskEvent::Completed { .. } => "task-done",
            TaskEvent::Failed { .. } => "task-fail",
            TaskEvent::Retried { .. } => "task-retry",
            TaskEvent::Skipped { .. } => "task-skip",
            TaskEvent::Decided { .. } => "task-decide",
            TaskEvent::Allowed { .. } | TaskEvent::Opened { .. } => "task-open",
        }
    }

    /// A claim and a failure hold the gate of their stage; whatever else happens may open it.
    fn weight(&self) -> Weight {
        match self {
            TaskEvent::Claimed { .. } | TaskEvent::Failed { .. } => Weight::Holds,
            TaskEvent::Released { .. }
            | TaskEvent::Completed { .. }
            | TaskEvent::Retried { .. }
            | TaskEvent::Skipped { .. }
            | TaskEvent::Decided { .. }
            | TaskEvent::Allowed { .. }
            | TaskEvent::Opened { .. } => Weight::Opens,
        }
    }

    fn needs(&self) -> Version {
        match self {
            // Before, a word that a task may begin stood for whatever came.
            TaskEvent::Allowed { judged, .. } if !judged.is_empty() => Version::V0_6,
            // Before, nobody who opened a gate could say which way it goes on.
            TaskEvent::Opened {
                outcome: Some(_), ..
            } => Version::V0_6,
            // Before, a word stood for whatever became of the files.
            TaskEvent::Allowed { saw, .. } | TaskEvent::Opened { saw, .. } if !saw.is_empty() => {
                Version::V0_6
            }
            TaskEvent::Decided { decision, .. }
                if !decision.saw.is_empty() || decision.outcome.is_some() =>
            {
                Version::V0_6
            }
            // Each is named: the compiler asks for the version of a new one.
            TaskEvent::Claimed { .. }
            | TaskEvent::Released { .. }
            | TaskEvent::Completed { .. }
            | TaskEvent::Failed { .. }
            | TaskEvent::Retried { .. }
            | TaskEvent::Skipped { .. }
            | TaskEvent::Decided { .. }
            | TaskEvent::Allowed { .. }
            | TaskEvent::Opened { .. } => Version::V0_5,
        }
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let mut trailers = vec![("Loopx-Task", self.task().to_string())];
        let tree = match self {
            TaskEvent::Completed { done, .. } => done.tree.as_ref(),
            TaskEvent::Decided { decision, .. } => decision.tree.as_ref(),
            _ => None,
        };
        trailers.extend(tree.map(|tree| ("Loopx-Tree", tree.to_string())));
        trailers
    }

    /// Tells whether an undo passes over the event: who has something keeps it, whatever is taken back.
    fn is_passed_over(&self) -> bool {
        matches!(self, TaskEvent::Claimed { .. })
    }

    fn fold(
        &self,
        record: &Operation,
        state: &mut State,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        state.take_task(record, self, beside)
    }
}

#[cfg(test)]
mod tests;

impl TaskEvent {
    /// Tells whether the event cannot hold beside a move of the session that its writer did not know of: work that
    /// turned out to be open, when the way on was opened.
    pub(crate) fn is_stopped(&self, way: Way) -> bool {
        let opens_work = matches!(
            self,
            TaskEvent::Failed { .. } | TaskEvent::Retried { .. } | TaskEvent::Decided { .. }
        );
        opens_work
            && !matches!(
                way,
                Way::To {
                    is_rollback: true,
                    ..
                }
            )
    }
}
