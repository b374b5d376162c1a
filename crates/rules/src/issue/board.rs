//! A board of issues: columns by how far they are, in lanes where somebody asks for them. Whoever shows it decides how.

use super::graph::Wait;
use super::{Backlog, Issue, IssueId, Status};
use crate::lease::seconds_of;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

vocabulary!(
    /// The progress of the issues of a column.
    Column {
        Waits = "waits",
        Ready = "ready",
        Taken = "taken",
        Done = "done",
    }
);

impl Column {
    /// The column of an issue with what it waits for.
    pub fn of(issue: &Issue, waits: &[Wait]) -> Self {
        let is_taken = issue.status == Status::InProgress || issue.running.is_some();
        match issue.status {
            status if status.is_final() => Column::Done,
            _ if is_taken => Column::Taken,
            _ if waits.is_empty() => Column::Ready,
            _ => Column::Waits,
        }
    }
}

vocabulary!(
    /// The field that the issues of a lane have in common.
    LaneBy {
        Epic = "epic",
        Owner = "owner",
        Milestone = "milestone",
    }
);

/// The issues of a lane, by their places in the backlog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// Value that the issues of the lane have in common; nothing where there are no lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Numbers of the parts of the epic of the lane: of those that have ended, and of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<(usize, usize)>,
    /// The issues of each column.
    #[serde(skip)]
    pub columns: [Vec<usize>; 4],
}

impl Lane {
    /// The title, with the number of parts of an epic; nothing where there are no lanes.
    pub fn heading(&self) -> Option<String> {
        let title = self.title.as_ref()?;
        Some(match self.parts {
            Some((done, all)) => format!("{title}  {done}/{all} parts"),
            None => title.clone(),
        })
    }
}

/// The lanes of some issues: by name, those without one last. `name` gives the short name of an issue.
pub fn lanes(
    backlog: &Backlog,
    waits: &[Vec<Wait>],
    (shown, by): (&[usize], Option<LaneBy>),
    name: impl Fn(&IssueId) -> String,
) -> Vec<Lane> {
    let mut found: BTreeMap<(bool, String), [Vec<usize>; 4]> = BTreeMap::new();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let parts = match by {
        Some(LaneBy::Epic) => backlog.parts(),
        _ => BTreeMap::new(),
    };
    for at in ordered(backlog, shown) {
        let issue = &backlog.issues[at];
        // A roadmap is no work: its parts are.
        if issue.is_roadmap() {
            continue;
        }
        let title = by.and_then(|by| lane_of(backlog, issue, by, &name));
        let whole = title.as_ref().and_then(|_| whole_of(backlog, issue));
        if let (Some(title), Some(of)) = (&title, whole.and_then(|whole| parts.get(&whole.id))) {
            let done = of.iter().filter(|part| part.status.is_final()).count();
            counts.insert(title.clone(), (done, of.len()));
        }
        let lane = found.entry((title.is_none(), title.unwrap_or_default()));
        let column = Column::of(issue, &waits[at]);
        let place = Column::ALL.iter().position(|one| *one == column);
        lane.or_default()[place.unwrap_or_default()].push(at);
    }
    let lane = |((is_rest, title), columns): ((bool, String), _)| Lane {
        parts: counts.get(&title).copied().filter(|_| !is_rest),
        title: match (by, is_rest) {
            (None, _) => None,
            (Some(by), true) => Some(format!("no {by}")),
            (Some(_), false) => Some(title),
        },
        columns,
    };
    let mut lanes: Vec<Lane> = found.into_iter().map(lane).collect();
    if lanes.is_empty() {
        lanes.push(Lane {
            title: None,
            parts: None,
            columns: Default::default(),
        });
    }
    lanes
}

/// Issues as they stand in a column: by priority and day; what ended last comes first.
fn ordered(backlog: &Backlog, shown: &[usize]) -> Vec<usize> {
    let mut order = shown.to_vec();
    order.sort_by_cached_key(|at| {
        let issue = &backlog.issues[*at];
        if issue.status.is_final() {
            let ended = seconds_of(&issue.changed.at);
            (0, true, None, Reverse(ended), *at)
        } else {
            let due = issue.due.clone();
            (issue.priority, due.is_none(), due, Reverse(None), *at)
        }
    });
    order
}

fn lane_of(
    backlog: &Backlog,
    issue: &Issue,
    by: LaneBy,
    name: &impl Fn(&IssueId) -> String,
) -> Option<String> {
    match by {
        LaneBy::Owner => issue.assignee.clone().or_else(|| {
            let claim = issue.claim.as_ref()?;
            Some(claim.signed.by.name.clone())
        }),
        LaneBy::Milestone => issue.milestone.clone(),
        LaneBy::Epic => {
            let whole = whole_of(backlog, issue)?;
            Some(format!("{} {}", name(&whole.id), whole.title))
        }
    }
}

/// The issue of which another one is a part. An epic stands in the lane of its parts.
fn whole_of<'b>(backlog: &'b Backlog, issue: &'b Issue) -> Option<&'b Issue> {
    let is_here = |id: &IssueId| backlog.find(id).is_some();
    let whole = issue.parent(is_here).and_then(|id| backlog.find(id));
    whole.or_else(|| (issue.kind == "epic").then_some(issue))
}

/// The second line of a card: what stands in the way or who has it, its criteria, and what hurries.
pub fn about(
    issue: &Issue,
    waits: &[Wait],
    today: &str,
    name: impl Fn(&IssueId) -> String,
) -> Vec<String> {
    let mut said = Vec::new();
    match Column::of(issue, waits) {
        Column::Waits => {
            let waits: Vec<String> = waits.iter().map(|wait| short_words(wait, &name)).collect();
            said.push(format!("for {}", waits.join(", ")));
        }
        Column::Ready if issue.bound.is_some() => said.push(issue.status.to_string()),
        Column::Ready => said.push("ready".to_owned()),
        Column::Taken => said.extend(taken_by(issue)),
        Column::Done => said.push(issue.status.to_string()),
    }
    if !issue.status.is_final() {
        said.push(format!("P{}", issue.priority));
    }
    if !issue.criteria.is_empty() {
        said.push(format!("{}/{}", issue.ticked(), issue.criteria.len()));
    }
    said.extend(issue.assignee.iter().map(|name| format!("@{name}")));
    if let Some(due) = issue.due.as_ref().filter(|_| !issue.status.is_final()) {
        let word = if due.as_str() < today {
            "overdue"
        } else {
            "due"
        };
        said.push(format!("{word} {due}"));
    }
    if !issue.apart.is_empty() {
        said.push("written apart".to_owned());
    }
    said
}

fn taken_by(issue: &Issue) -> Option<String> {
    let session = issue
        .running
        .as_ref()
        .map(|session| format!("session {session}"));
    let claim = issue.claim.as_ref();
    session.or_else(|| claim.map(|claim| format!("by {}", claim.signed.by.name)))
}

fn short_words(wait: &Wait, name: &impl Fn(&IssueId) -> String) -> String {
    match wait {
        Wait::Issue { issue, .. } => name(issue),
        other => other.words(name),
    }
}
