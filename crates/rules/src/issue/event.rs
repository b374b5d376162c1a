//! The topic `issue`: what happens to an issue, as records say it. Every change is one of a closed list, so that two
//! clones that were apart merge by field and not by file.

use super::repeat::Repeat;
use super::solution::{Proposal, Scores};
use super::until;
use super::{ForIt, Kept, Link, Made, Place, Said, Source, Status};
use crate::lease::Claim;
use crate::task::world::Condition;
use crate::topic::{Topic, Version, Weight};
use loopx_base::id::OpId;
use serde::{Deserialize, Serialize};

/// Event of an issue. The serde names are the kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueEvent {
    /// Creation of the issue.
    Created { changes: Vec<Change> },
    /// Change of some of the issue's fields.
    Changed { changes: Vec<Change> },
    /// Word about the ways to do the issue. A kind of its own, which a program that knows no solutions holds.
    Solution { changes: Vec<Change> },
    /// Claim of somebody who has the issue in hand now.
    Claimed {
        claim: Claim,
        /// Mark of a claim that a push of its own brought: nobody has the record but by a remote that took it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        there: bool,
    },
    /// The claim is given back. Older records name none.
    Released {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<OpId>,
    },
}

/// A change of one field. Of a field with one value it names the new one; of a field that is a set, what comes or goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Title(String),
    Description(String),
    Kind(String),
    Status(Status),
    Priority(u8),
    Milestone(Option<String>),
    Due(Option<String>),
    Defer(Option<String>),
    /// Condition outside of the backlog that the issue waits for; `NotUntil`: that it waits for no more.
    Until(Condition),
    NotUntil(Condition),
    Estimate(Option<u32>),
    /// Repetition of the issue once it has ended, or none any more.
    Repeat(Option<Repeat>),
    Assignee(Option<String>),
    Source(Source),
    Label(String),
    Unlabel(String),
    Link(Link),
    Unlink(Link),
    Criterion(String),
    DropCriterion(String),
    Tick(String),
    Untick(String),
    /// Session that was started for the issue.
    Session(ForIt),
    /// Maker of the issue where it was taken over from.
    Made(Made),
    Place(Place),
    Said(Said),
    Kept(Kept),
    /// Proposal of a way to do the issue.
    Solution(Box<Proposal>),
    /// A solution is chosen, or none any more.
    Bind(Option<OpId>),
    /// Judgement of a solution, or none: that is left to the audit again.
    Score {
        solution: OpId,
        scores: Option<Scores>,
    },
    /// A solution will not do, or will do after all.
    Reject {
        solution: OpId,
        rejected: bool,
    },
    /// Work by a solution failed: whoever had it gives it back.
    Fail(OpId),
    /// New try of the work that failed.
    Retry {},
}

impl IssueEvent {
    /// Tells whether the claim went to a remote before it stood anywhere else.
    pub fn is_there(&self) -> bool {
        matches!(self, IssueEvent::Claimed { there: true, .. })
    }

    pub fn changes(&self) -> &[Change] {
        match self {
            IssueEvent::Created { changes }
            | IssueEvent::Changed { changes }
            | IssueEvent::Solution { changes } => changes,
            IssueEvent::Claimed { .. } | IssueEvent::Released { .. } => &[],
        }
    }
}

impl Change {
    /// Words for the event, few enough for the log of an issue.
    pub fn words(&self) -> String {
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        match self {
            Change::Title(title) => format!("title {title}"),
            Change::Description(_) => "description".to_owned(),
            Change::Kind(kind) => format!("kind {kind}"),
            Change::Status(status) => format!("status {status}"),
            Change::Priority(priority) => format!("priority {priority}"),
            Change::Milestone(name) => format!("milestone {}", or_none(name)),
            Change::Due(day) => format!("due {}", or_none(day)),
            Change::Defer(day) => format!("defer {}", or_none(day)),
            Change::Until(condition) => format!("until +{}", until::text(condition)),
            Change::NotUntil(condition) => format!("until -{}", until::text(condition)),
            Change::Estimate(minutes) => match minutes {
                Some(minutes) => format!("estimate {}", super::filter::duration(*minutes)),
                None => "estimate none".to_owned(),
            },
            Change::Repeat(Some(repeat)) => format!("repeat {repeat}"),
            Change::Repeat(None) => "repeat none".to_owned(),
            Change::Assignee(name) => format!("assignee {}", or_none(name)),
            Change::Source(source) => format!("from {} {}", source.system, source.id),
            Change::Label(label) => format!("label +{label}"),
            Change::Unlabel(label) => format!("label -{label}"),
            Change::Link(link) => format!("link +{} {}", link.kind, link.to),
            Change::Unlink(link) => format!("link -{} {}", link.kind, link.to),
            Change::Criterion(text) => format!("criterion +{text}"),
            Change::DropCriterion(text) => format!("criterion -{text}"),
            Change::Tick(text) => format!("ticked {text}"),
            Change::Untick(text) => format!("unticked {text}"),
            Change::Session(one) => format!("session {}", one.session),
            Change::Made(made) => format!("made by {}", made.by),
            Change::Place(place) => format!("at {place}"),
            Change::Said(said) => format!("comment of {}", said.by),
            Change::Kept(kept) => format!("kept {}", kept.name),
            Change::Solution(one) => format!("solution +{}", one.name),
            Change::Bind(Some(op)) => format!("bind {}", op.short()),
            Change::Bind(None) => "bind none".to_owned(),
            Change::Score { solution, scores } => match scores {
                Some(scores) => format!("score {} {}", solution.short(), scores.total()),
                None => format!("score {} none", solution.short()),
            },
            Change::Reject { solution, rejected } => {
                if *rejected {
                    format!("reject {}", solution.short())
                } else {
                    format!("accept {}", solution.short())
                }
            }
            Change::Fail(op) => format!("failed {}", op.short()),
            Change::Retry {} => "retry".to_owned(),
        }
    }
}

impl Topic for IssueEvent {
    const NAME: &'static str = "issue";
    type Move = std::convert::Infallible;

    fn kind(&self) -> &'static str {
        match self {
            IssueEvent::Created { .. } => "created",
            IssueEvent::Changed { .. } => "changed",
            IssueEvent::Solution { .. } => "solution",
            IssueEvent::Claimed { .. } => "claimed",
            IssueEvent::Released { .. } => "released",
        }
    }

    fn word(&self) -> &str {
        match self {
            IssueEvent::Created { .. } => "create",
            IssueEvent::Changed { .. } => "edit",
            IssueEvent::Solution { .. } => "solution",
            IssueEvent::Claimed { .. } => "take",
            IssueEvent::Released { .. } => "release",
        }
    }

    fn weight(&self) -> Weight {
        Weight::Opens
    }

    fn needs(&self) -> Version {
        match self {
            // Each is named: the compiler asks for the version of a new one.
            IssueEvent::Created { .. }
            | IssueEvent::Changed { .. }
            | IssueEvent::Solution { .. }
            | IssueEvent::Claimed { .. }
            | IssueEvent::Released { .. } => Version::V0_6,
        }
    }

    fn is_bare(&self) -> bool {
        matches!(self, IssueEvent::Released { claim: None })
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let status = self.changes().iter().rev().find_map(|change| match change {
            Change::Status(status) => Some(status.to_string()),
            _ => None,
        });
        status
            .map(|status| ("Loopx-Status", status))
            .into_iter()
            .collect()
    }

    fn is_passed_over(&self) -> bool {
        matches!(self, IssueEvent::Claimed { .. })
    }
}
