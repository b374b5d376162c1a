//! The graph of issues: those that can be begun, and what holds the others. The issues are here as nodes of the task
//! graph, which one engine judges.
//!
//! An issue waits for what it names by a link that orders, for its parts, for what the issue waits for that it is a
//! part of, for its day, and for whoever has to settle what people wrote apart. Nothing of it is stored.

use super::circle::circles_in;
use super::until::Open;
use super::{Issue, IssueId, LinkKind, Status};
use crate::lease::seconds_of;
use crate::stage::Stage;
use crate::task::graph::{Graph, Now, Wait as TaskWait};
use crate::task::node::{Details, Edge, Node, NodeKind, OnFailed, TaskId};
use crate::task::status::Status as TaskStatus;
use crate::task::world::UNSEEN;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Reason why an issue waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Wait {
    /// Another issue that is neither resolved nor closed.
    Issue { issue: IssueId, status: Status },
    /// Issue that is named and that is not here.
    Missing { issue: IssueId },
    /// The day before which nobody is to begin, and of which whole that is said, where it is not said of the issue itself.
    Day {
        day: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<IssueId>,
    },
    /// Condition outside of the backlog.
    World(Open),
    /// Issue that did not fail: what waits was to be done only if it failed.
    NotNeeded { issue: IssueId },
    /// Status that people wrote apart.
    Settling { field: String },
    /// Issues that were closed as duplicates of each other, oldest first: somebody has to say which is the original.
    Circle { issues: Vec<IssueId> },
    /// Record of the issue that asks for a newer program.
    Newer { needs: String },
}

impl Wait {
    /// Issue that is waited for.
    pub fn issue(&self) -> Option<&IssueId> {
        match self {
            Wait::Issue { issue, .. } | Wait::Missing { issue } => Some(issue),
            _ => None,
        }
    }

    /// Circle of duplicates that is waited for.
    pub fn circle(&self) -> Option<&[IssueId]> {
        match self {
            Wait::Circle { issues } => Some(issues),
            _ => None,
        }
    }

    /// Words for the wait, behind `waits for`.
    pub fn words(&self, name: impl Fn(&IssueId) -> String) -> String {
        match self {
            Wait::Issue { issue, status } => format!("{} ({status})", name(issue)),
            Wait::Missing { issue } => format!("{issue}, which is not here"),
            Wait::Day { day, of: None } => day.clone(),
            Wait::Day { day, of: Some(of) } => format!("{day}, as {} does", name(of)),
            Wait::World(open) => open.words(),
            Wait::NotNeeded { issue } => {
                format!(
                    "nothing: {} was resolved, and this issue is only for the case that it fails",
                    name(issue)
                )
            }
            Wait::Settling { field } => format!("somebody to settle its {field}"),
            Wait::Circle { issues } => {
                let names: Vec<String> = issues.iter().map(name).collect();
                format!(
                    "somebody to say which of {} is the original: they were closed as duplicates of each other",
                    names.join(" and ")
                )
            }
            Wait::Newer { needs } => format!("git loopx {needs}, which a record of it needs"),
        }
    }
}

/// The order in which issues came to be.
pub(super) fn age(issue: &Issue) -> (Option<i64>, IssueId) {
    (seconds_of(&issue.created.at), issue.id.clone())
}

/// All issues, in the order in which they came to be.
#[derive(Debug)]
pub struct Backlog {
    pub issues: Vec<Issue>,
    nodes: Vec<Node>,
    statuses: Vec<TaskStatus>,
    places: HashMap<IssueId, usize>,
    /// The places of issues that were closed as duplicates of each other.
    circles: Vec<Vec<usize>>,
    /// The number of the circle in which an issue is.
    circle_of: HashMap<usize, usize>,
}

impl Backlog {
    pub fn of(mut issues: Vec<Issue>) -> Self {
        issues.sort_by_cached_key(age);
        let places: HashMap<IssueId, usize> = issues
            .iter()
            .enumerate()
            .map(|(at, issue)| (issue.id.clone(), at))
            .collect();
        let parts = parts(&issues, &places);
        let nodes = issues
            .iter()
            .map(|issue| node(issue, &issues, &places, &parts));
        let nodes = nodes.collect();
        let circles = circles_in(&issues, &places);
        let numbered = circles.iter().enumerate();
        let circle_of = numbered.flat_map(|(number, of)| of.iter().map(move |at| (*at, number)));
        let circle_of: HashMap<usize, usize> = circle_of.collect();
        // Nobody did what the issues of a circle ask for.
        let status = |(at, issue): (usize, &Issue)| {
            if issue.status.is_final() && !circle_of.contains_key(&at) {
                TaskStatus::Completed
            } else {
                TaskStatus::Pending
            }
        };
        let statuses = issues.iter().enumerate().map(status).collect();
        Backlog {
            issues,
            nodes,
            statuses,
            places,
            circles,
            circle_of,
        }
    }

    /// The issues alone, in their order.
    pub fn into_issues(self) -> Vec<Issue> {
        self.issues
    }

    pub fn find(&self, id: &IssueId) -> Option<&Issue> {
        self.places.get(id).map(|at| &self.issues[*at])
    }

    fn circle_wait(&self, at: usize) -> Option<Wait> {
        let circle = self.circles[*self.circle_of.get(&at)?].iter();
        let issues = circle.map(|at| self.issues[*at].id.clone()).collect();
        Some(Wait::Circle { issues })
    }

    /// Lists what each issue waits for on that day; nothing of an issue that is resolved or closed, but for a circle of
    /// duplicates.
    pub fn waits(&self, today: &str) -> Vec<Vec<Wait>> {
        let graph = Graph::of(&self.nodes);
        let of_graph = graph.all_waits(self.now());
        let of_graph = of_graph.into_iter().zip(&self.issues).enumerate();
        of_graph
            .map(|(at, (waits, issue))| {
                if issue.status.is_final() {
                    self.circle_wait(at).into_iter().collect()
                } else {
                    self.waits_of(issue, waits, today)
                }
            })
            .collect()
    }

    fn now(&self) -> Now<'_> {
        Now {
            statuses: &self.statuses,
            stage: Stage::Build,
            world: &UNSEEN,
            capacity: None,
        }
    }

    fn wait_for(&self, at: usize) -> Wait {
        self.circle_wait(at).unwrap_or_else(|| Wait::Issue {
            issue: self.issues[at].id.clone(),
            status: self.issues[at].status,
        })
    }

    fn waits_of(&self, issue: &Issue, of_graph: Vec<TaskWait>, today: &str) -> Vec<Wait> {
        let mut waits = Vec::new();
        let id = |task: &TaskId| IssueId::parse(task.as_str());
        for wait in &of_graph {
            match wait {
                TaskWait::Task { task, .. } => {
                    let at = id(task).and_then(|id| self.places.get(&id).copied());
                    let wait = at.map(|at| self.wait_for(at));
                    waits.extend(wait.filter(|wait| !waits.contains(wait)));
                }
                TaskWait::Unknown { task } => {
                    waits.extend(id(task).map(|issue| Wait::Missing { issue }));
                }
                _ => {}
            }
        }
        for other in issue.linked(LinkKind::IfFailed) {
            let originals = |id: &IssueId| -> Vec<&IssueId> {
                let one = self.find(id).into_iter();
                one.flat_map(Issue::originals).collect()
            };
            let one = reached(other, originals).into_iter();
            let mut one = one.filter_map(|id| self.find(id));
            let done = one.find(|one| one.status == Status::Resolved);
            waits.extend(done.map(|done| Wait::NotNeeded {
                issue: done.id.clone(),
            }));
        }
        // A part waits for what the whole waits for.
        let wholes = |id: &IssueId| -> Vec<&IssueId> {
            let one = self.find(id).into_iter();
            one.flat_map(|one| one.linked(LinkKind::Parent)).collect()
        };
        let wholes = reached(&issue.id, wholes).into_iter().skip(1);
        let wholes: Vec<&Issue> = wholes.filter_map(|id| self.find(id)).collect();
        let open = wholes.iter().filter(|whole| !whole.status.is_final());
        let deferred = std::iter::once(&issue).chain(open);
        let deferred = deferred.filter_map(|one| Some((one.defer.as_ref()?, &one.id)));
        let last = deferred.reduce(|one, other| if other.0 > one.0 { other } else { one });
        if let Some((day, of)) = last.filter(|(day, _)| day.as_str() > today) {
            waits.push(Wait::Day {
                day: day.clone(),
                of: (*of != issue.id).then(|| of.clone()),
            });
        }
        for open in issue
            .held
            .iter()
            .chain(wholes.iter().flat_map(|whole| &whole.held))
        {
            let wait = Wait::World(open.clone());
            if !waits.contains(&wait) {
                waits.push(wait);
            }
        }
        // Of two claims the earlier record counts: nobody has to settle them.
        for field in ["status", "solution"] {
            if issue.apart_in(field).is_some() {
                waits.push(Wait::Settling {
                    field: field.to_owned(),
                });
            }
        }
        waits.extend(issue.needs.iter().map(|needs| Wait::Newer {
            needs: needs.clone(),
        }));
        waits
    }

    /// The places of the issues that can be begun: by priority, then by the day they are due, then oldest first.
    pub fn ready(&self, today: &str) -> Vec<usize> {
        let waits = self.waits(today);
        let is_ready = |at: &usize| self.issues[*at].is_ready(&waits[*at]);
        let mut ready: Vec<usize> = (0..self.issues.len()).filter(is_ready).collect();
        ready.sort_by_key(|at| {
            let issue = &self.issues[*at];
            (issue.priority, issue.due.is_none(), &issue.due, *at)
        });
        ready
    }

    /// A cycle in which this issue is, the issue at both ends.
    pub fn cycle_through(&self, id: &IssueId) -> Option<Vec<IssueId>> {
        let at = *self.places.get(id)?;
        let cycle = Graph::of(&self.nodes).cycle_through(at)?;
        Some(
            cycle
                .into_iter()
                .map(|at| self.issues[at].id.clone())
                .collect(),
        )
    }

    /// A cycle of links that order, the first issue repeated at its end.
    pub fn cycle(&self) -> Option<Vec<IssueId>> {
        let cycle = Graph::of(&self.nodes).cycle()?;
        Some(
            cycle
                .iter()
                .filter_map(|id| IssueId::parse(id.as_str()))
                .collect(),
        )
    }

    /// Issues that wait for each other, the first at both ends, none of which has ended: only a merge makes such a cycle.
    pub fn waiting_for_itself(&self) -> Option<Vec<IssueId>> {
        let is_open = |id: &IssueId| self.find(id).is_some_and(|one| !one.status.is_final());
        self.cycle().filter(|cycle| cycle.iter().all(is_open))
    }

    /// Issues that can be done side by side, wave after wave; an issue that is resolved or closed is in none.
    pub fn waves(&self) -> Vec<Vec<usize>> {
        let mut waves = Graph::of(&self.nodes).waves(&self.statuses, None);
        for wave in &mut waves {
            wave.retain(|at| !self.circle_of.contains_key(at));
        }
        waves.retain(|wave| !wave.is_empty());
        waves
    }

    /// The longest chain of what is left.
    pub fn critical_path(&self) -> Vec<usize> {
        let mut path = Graph::of(&self.nodes).critical_path(&self.statuses);
        path.retain(|at| !self.circle_of.contains_key(at));
        path
    }

    /// The parts of each issue that has some.
    pub fn parts(&self) -> BTreeMap<&IssueId, Vec<&Issue>> {
        let mut found: BTreeMap<&IssueId, Vec<&Issue>> = BTreeMap::new();
        for issue in &self.issues {
            if let Some(parent) = issue.parent(|id| self.places.contains_key(id)) {
                found.entry(parent).or_default().push(issue);
            }
        }
        found
    }

    /// The issues that ended though parts of them are open, each with these: no command leads there, and a merge may.
    pub fn ended_over_parts(&self) -> Vec<(&Issue, Vec<&Issue>)> {
        let parts = self.parts();
        let ended = self.issues.iter().filter(|issue| issue.status.is_final());
        let with_open = ended.filter_map(|issue| {
            let open = parts.get(&issue.id)?.iter().copied();
            let open: Vec<&Issue> = open.filter(|part| !part.status.is_final()).collect();
            (!open.is_empty()).then_some((issue, open))
        });
        with_open.collect()
    }

    /// The issues that name this one, each with the word for what it is to them.
    pub fn naming(&self, id: &IssueId) -> Vec<(&'static str, &Issue)> {
        let mut found = Vec::new();
        for issue in &self.issues {
            let links = issue.links.iter().filter(|link| link.to == *id);
            found.extend(links.map(|link| (link.kind.inverse(), issue)));
        }
        found
    }
}

/// The parts of each issue.
fn parts(issues: &[Issue], places: &HashMap<IssueId, usize>) -> HashMap<IssueId, Vec<IssueId>> {
    let mut parts: HashMap<IssueId, Vec<IssueId>> = HashMap::new();
    for issue in issues {
        if let Some(parent) = issue.parent(|id| places.contains_key(id)) {
            parts
                .entry(parent.clone())
                .or_default()
                .push(issue.id.clone());
        }
    }
    parts
}

/// An issue with all that `next` gives of it, and of that.
fn reached<'i>(
    id: &'i IssueId,
    next: impl Fn(&'i IssueId) -> Vec<&'i IssueId>,
) -> Vec<&'i IssueId> {
    let mut found = vec![id];
    let mut known: HashSet<&IssueId> = HashSet::from([id]);
    let mut at = 0;
    while at < found.len() {
        let more = next(found[at]).into_iter();
        found.extend(more.filter(|one| known.insert(one)));
        at += 1;
    }
    found
}

/// Node that the engine is given of an issue.
fn node(
    issue: &Issue,
    all: &[Issue],
    places: &HashMap<IssueId, usize>,
    parts: &HashMap<IssueId, Vec<IssueId>>,
) -> Node {
    // An original that is not here holds nothing: the duplicate was closed.
    let originals = |id: &IssueId| -> Vec<&IssueId> {
        let one = places.get(id).map(|at| &all[*at]);
        let originals = one.into_iter().flat_map(Issue::originals);
        originals.filter(|id| places.contains_key(id)).collect()
    };
    let mut on: Vec<&IssueId> = Vec::new();
    for kind in [LinkKind::BlockedBy, LinkKind::IfFailed] {
        on.extend(issue.linked(kind).flat_map(|id| reached(id, originals)));
    }
    let with_parts = |id: &IssueId| {
        let parts = parts.get(id).into_iter().flatten();
        parts.chain(originals(id)).collect()
    };
    for other in issue.linked(LinkKind::WaitsFor) {
        on.extend(reached(other, with_parts));
    }
    on.retain(|other| **other != issue.id);
    on.sort();
    on.dedup();
    let edges = on.iter().map(|id| Edge {
        on: TaskId::of_issue(id),
        optional: false,
    });
    // A parent that is not here holds nothing: it is a place in a list, not work.
    let parent = issue.parent(|id| places.contains_key(id));
    Node {
        id: TaskId::of_issue(&issue.id),
        title: String::new(),
        kind: NodeKind::Work,
        priority: u32::from(issue.priority),
        role: None,
        stage: Stage::Build,
        depends_on: edges.collect(),
        waits: Vec::new(),
        parent: parent.map(TaskId::of_issue),
        shared: None,
        scenarios: Vec::new(),
        reads: Vec::new(),
        deferred: Vec::new(),
        skill: None,
        outputs: Vec::new(),
        exclusive: Vec::new(),
        parallel: true,
        cap: Node::CAP,
        time_limit: None,
        turn: None,
        on_failed: OnFailed::Hold,
        part: None,
        revision_of: None,
        gate: None,
        details: Details::default().into(),
        line: 0,
    }
}
