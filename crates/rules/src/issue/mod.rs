//! The issue: something that is to be done before there is a session for it (design 11). An issue is a folder of the
//! branch with one log of its own; what is true of it is folded from that log on reading and never stored.
//!
//! This module owns the words of the backlog and the values of an issue. Where issues lie, how they are written, and
//! who asks for them is not known here.

mod around;
pub mod board;
mod circle;
pub mod compare;
pub mod event;
pub mod filter;
mod fold;
pub mod foreign;
mod graph;
pub mod hands;
mod id;
#[cfg(test)]
mod laws;
pub mod limits;
pub mod needs;
pub mod plain;
pub mod queue;
pub mod repeat;
pub mod report;
mod short;
pub mod similar;
pub mod solution;
pub mod stats;
mod taken;
pub mod template;
mod text;
pub mod then;
pub mod until;

pub use around::{around, behind};
pub use circle::circles;
pub use fold::{Read, TICKED, criterion_field, fold, fold_with, persons_word};
pub use graph::{Backlog, Wait};
pub use id::IssueId;
pub use short::{ShortName, ShortNames};
pub use taken::{Kept, Made, Place, Said};

use super::lease::Claim;
use super::session::{Signed, Stamped};
use super::task::world::Condition;
use loopx_base::id::{OpId, Person, SessionId};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the rules by which records become an issue: what is kept by other rules is read anew.
pub const FOLD: u32 = 11;

vocabulary!(
    /// Status of an issue.
    Status {
        /// Issue that nobody has begun.
        Open = "open",
        /// Issue with a chosen way to do it.
        Planned = "planned",
        /// Issue with a place in the queue.
        Queued = "queued",
        /// Issue that somebody is at.
        InProgress = "in_progress",
        /// Issue that was done, and an archive or a named person says so.
        Resolved = "resolved",
        /// Issue that will not be done, or not here; the reason says why.
        Closed = "closed",
    }
);

impl Status {
    /// Tells whether nothing is left to do.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Resolved | Status::Closed)
    }

    /// Tells whether the status says nothing without a claim or a solution.
    pub fn needs_more(self) -> bool {
        matches!(self, Status::Planned | Status::Queued | Status::InProgress)
    }
}

vocabulary!(
    /// Relation of one issue to another one that it names.
    LinkKind {
        /// Link of an issue that waits until the other is resolved or closed.
        BlockedBy = "blocked-by",
        /// Link of an issue that is only done where the other is closed without being resolved.
        IfFailed = "if-failed",
        /// Link of an issue that waits for the other and for every part of the other.
        WaitsFor = "waits-for",
        /// Link of an issue that is a part of the other, and waits for what the other waits for.
        Parent = "parent",
        /// Link of an issue that was found while somebody worked on the other.
        DiscoveredFrom = "discovered-from",
        /// Link of an issue that says what the other says.
        DuplicateOf = "duplicate-of",
        Related = "related",
    }
);

impl LinkKind {
    /// Tells whether the link can hold work back: such links make no cycle.
    pub fn orders(self) -> bool {
        match self {
            LinkKind::BlockedBy | LinkKind::IfFailed | LinkKind::WaitsFor | LinkKind::Parent => {
                true
            }
            LinkKind::DiscoveredFrom | LinkKind::DuplicateOf | LinkKind::Related => false,
        }
    }

    /// The word for the other direction, as the issue that is named is shown it.
    pub fn inverse(self) -> &'static str {
        match self {
            LinkKind::BlockedBy => "blocks",
            LinkKind::IfFailed => "fallback",
            LinkKind::WaitsFor => "holds",
            LinkKind::Parent => "part",
            LinkKind::DiscoveredFrom => "led-to",
            LinkKind::DuplicateOf => "duplicate",
            LinkKind::Related => "related",
        }
    }
}

/// A link to another issue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Link {
    pub kind: LinkKind,
    pub to: IssueId,
}

/// The kinds that every backlog has; policy may name more.
pub const KINDS: [&str; 5] = ["bug", "feature", "task", "chore", "epic"];

/// The largest number of a priority; 0 comes first.
pub const LAST_PRIORITY: u8 = 4;
/// The priority of an issue that says nothing of it.
pub const PRIORITY: u8 = 2;

/// Source of an issue that was taken over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Source {
    /// The program or format, as `beads`.
    pub system: String,
    /// Id of the issue there.
    pub id: String,
}

impl Source {
    /// Tells whether somebody means the issue by its id there: the whole id in any letter case, or a number behind `#`;
    /// with the name of the backlog in front, as `beads bd-1` or `billing bd-1`, where several have one id.
    pub fn is_meant(&self, typed: &str) -> bool {
        let typed = typed.to_lowercase();
        let names = [Some(self.system.as_str()), self.name()]
            .into_iter()
            .flatten();
        let behind = |name: &str| typed.strip_prefix(&name.to_lowercase())?.strip_prefix(' ');
        let inner = names.filter_map(behind).next();
        self.is_id(inner.unwrap_or(&typed))
    }

    /// The name that somebody gave the backlog, where there are several of its format.
    pub fn name(&self) -> Option<&str> {
        self.system.split_once(':').map(|(_, name)| name)
    }

    fn is_id(&self, typed: &str) -> bool {
        let id = self.id.to_lowercase();
        let number = typed.strip_prefix('#').filter(|number| !number.is_empty());
        let has_number =
            |number| id == number || id.rsplit_once('#').is_some_and(|(_, of)| of == number);
        id == typed || number.is_some_and(has_number)
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.system, self.id)
    }
}

/// A session that was started for an issue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ForIt {
    /// Name of the session as it was then.
    pub session: SessionId,
    pub uid: String,
}

/// Condition that has to hold when an issue is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    pub text: String,
    pub done: bool,
}

/// A comment, with the record that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub op: OpId,
    pub seq: u64,
    pub by: Person,
    pub at: String,
    pub kind: String,
    pub text: String,
    /// Author of the comment where the issue was taken over from, and the time; `by` brought the comment here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Made>,
}

impl Comment {
    /// Author of the comment, and the time.
    pub fn origin(&self) -> (&str, &str) {
        match &self.first {
            Some(made) => (&made.by, made.at.as_deref().unwrap_or_default()),
            None => (&self.by.name, &self.at),
        }
    }
}

/// Value of a field that has several, because people wrote it apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub value: String,
    pub by: Person,
    pub at: String,
    pub op: OpId,
    /// The backlog that says so, where an import brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl Version {
    /// The person who says so, in words.
    pub fn who(&self) -> String {
        match &self.from {
            Some(system) => format!("{system}, brought by {}", self.by.name),
            None => self.by.name.clone(),
        }
    }
}

/// A field that people wrote apart and that nobody has written since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    pub field: String,
    pub values: Vec<Version>,
}

/// The beginning of an issue was taken back by somebody who did not know that another one used it meanwhile: it stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overruled {
    pub undone: Signed,
    pub used: Signed,
}

impl Overruled {
    /// Words about the issue, behind its name.
    pub fn words(&self) -> String {
        format!(
            "the undo by {} does not count: {} used the issue meanwhile",
            self.undone.by.name, self.used.by.name
        )
    }
}

/// Facts of an issue, but for its long texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    pub id: IssueId,
    pub title: String,
    pub kind: String,
    pub status: Status,
    /// Reason why the issue is resolved or closed, as whoever did it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub priority: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// A day, as `2026-11-30`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    /// The day before which nobody is to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer: Option<String>,
    /// The conditions outside of the backlog before which nobody is to begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<Condition>,
    /// Conditions of `until` that do not hold; none where nobody looked.
    #[serde(skip)]
    pub held: Vec<until::Open>,
    /// Estimate in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<u32>,
    /// Recurrence of the issue, where it comes again once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Box<repeat::Repeat>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Sessions that were started for the issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<ForIt>,
    /// Set when the start of a session said last how far the issue is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_session: bool,
    /// Session that was started for the issue and goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<SessionId>,
    /// The person who began that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_by: Option<Box<Person>>,
    /// Sessions beside `running` that go on, each started for the issue in a clone that did not know of the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running_beside: Vec<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Maker of the issue where it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// Line of code that the issue is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Claim of whoever has the issue in hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Box<Stamped<Claim>>>,
    /// Number of ways to do the issue that somebody proposed; `bound`: the one that is chosen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub solutions: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Box<solution::Bound>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub comments: usize,
    pub created: Signed,
    pub changed: Signed,
    /// Fields that people wrote apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<Apart>,
    /// Word that took the beginning of the issue back, and that does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<Box<Overruled>>,
    /// The versions of this program that records ask for which it does not understand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Largest number of the issue's records, and the newest of them.
    pub seq: u64,
    pub newest: Vec<OpId>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Issue {
    /// Issues that this one names by a link of this kind.
    pub fn linked(&self, kind: LinkKind) -> impl Iterator<Item = &IssueId> {
        let links = self.links.iter().filter(move |link| link.kind == kind);
        links.map(|link| &link.to)
    }

    /// Issues for which this one stands: those as whose duplicate it was closed. Who waits for this one waits for them.
    pub fn originals(&self) -> impl Iterator<Item = &IssueId> {
        let is_closed = self.status == Status::Closed;
        self.linked(LinkKind::DuplicateOf)
            .filter(move |_| is_closed)
    }

    /// Sessions that were started for the issue and go on.
    pub fn all_running(&self) -> impl Iterator<Item = &SessionId> {
        self.running.iter().chain(&self.running_beside)
    }

    /// Tells whether the issue is a roadmap: its parts are what is done.
    pub fn is_roadmap(&self) -> bool {
        self.labels
            .iter()
            .any(|label| label == crate::roadmap::LABEL)
    }

    /// Issue that this one is a part of. Of several that clones gave it the first that `is_here`.
    pub fn parent(&self, is_here: impl Fn(&IssueId) -> bool) -> Option<&IssueId> {
        self.linked(LinkKind::Parent)
            .find(|id| **id != self.id && is_here(id))
    }

    /// Tells whether somebody can begin the issue, with what it waits for.
    pub fn is_ready(&self, waits: &[Wait]) -> bool {
        let is_begun = self.status == Status::InProgress || self.running.is_some();
        waits.is_empty() && !self.status.is_final() && !is_begun && !self.is_roadmap()
    }

    /// Status of the issue while nobody is at it.
    pub fn unbegun(&self) -> Status {
        match self.bound {
            Some(_) => Status::Planned,
            None => Status::Open,
        }
    }

    /// The values of a field that people wrote apart.
    pub fn apart_in(&self, field: &str) -> Option<&Apart> {
        self.apart.iter().find(|apart| apart.field == field)
    }

    /// Tells whether everybody says of a criterion that it is ticked, or that it is not.
    pub fn is_ticked(&self, text: &str, ticked: bool) -> bool {
        let is_it = |one: &Criterion| one.text == text && one.done == ticked;
        self.criteria.iter().any(is_it) && self.apart_in(&criterion_field(text)).is_none()
    }

    /// Counts the criteria that are ticked.
    pub fn ticked(&self) -> usize {
        self.criteria.iter().filter(|one| one.done).count()
    }
}

/// The long texts of an issue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Texts {
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
    /// Fields of where it was taken over from that have no counterpart here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub solutions: Vec<solution::Solution>,
    /// Work that was tried and failed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<solution::Failed>,
}
