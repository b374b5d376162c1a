//! The shape of a roadmap: the issues that it is about, their waves, what of a wave can be done side by side, and the
//! waves that follow from links alone.

use super::place::Place;
use crate::issue::queue::{Conflict, Item, Trial, form};
use crate::issue::{Backlog, Issue, IssueId, LinkKind, Status, Wait};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Wave of a roadmap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wave {
    pub wave: u32,
    pub issues: Vec<IssueId>,
    /// Issues that are resolved.
    pub done: usize,
    /// Issues that were closed: they will not be done.
    pub closed: usize,
    /// The open ones that can be done side by side, group after group: they touch no file together.
    pub groups: Vec<Vec<IssueId>>,
    #[serde(skip)]
    pub conflicts: Vec<Conflict>,
}

impl Wave {
    pub fn is_done(&self) -> bool {
        self.done + self.closed == self.issues.len()
    }
}

/// The issues of a roadmap, by place in the backlog.
#[derive(Clone, Debug)]
pub struct Shape<'b> {
    backlog: &'b Backlog,
    /// The issues below it that have no parts: what is done.
    pub leaves: Vec<&'b Issue>,
    /// The issues between the roadmap and the leaves.
    between: Vec<&'b Issue>,
    places: HashMap<&'b IssueId, Place>,
    /// Issues that each open leaf waits for: leaves of the roadmap, and issues that are open elsewhere.
    waits: HashMap<&'b IssueId, Vec<IssueId>>,
}

/// The parts of each issue that has some.
type Parts<'b> = BTreeMap<&'b IssueId, Vec<&'b Issue>>;

/// The issues below another one: those that have no parts, and those between.
pub fn issues_below<'b>(parts: &Parts<'b>, root: &IssueId) -> (Vec<&'b Issue>, Vec<&'b Issue>) {
    let mut seen: HashSet<&IssueId> = HashSet::new();
    let (mut leaves, mut between) = (Vec::new(), Vec::new());
    let mut todo: Vec<&Issue> = parts.get(root).cloned().unwrap_or_default();
    todo.reverse();
    while let Some(issue) = todo.pop() {
        if issue.id == *root || !seen.insert(&issue.id) {
            continue;
        }
        match parts.get(&issue.id) {
            Some(below) => {
                between.push(issue);
                todo.extend(below.iter().rev());
            }
            None => leaves.push(issue),
        }
    }
    (leaves, between)
}

impl<'b> Shape<'b> {
    /// The issues below `root`, with what they wait for on that day.
    pub fn of(backlog: &'b Backlog, root: &IssueId, today: &str) -> Self {
        let (leaves, between) = issues_below(&backlog.parts(), root);
        let places = leaves.iter().map(|one| (&one.id, Place::of(one))).collect();
        let mut shape = Shape {
            backlog,
            leaves,
            between,
            places,
            waits: HashMap::new(),
        };
        shape.waits = shape.all_waits(today);
        shape
    }

    fn all_waits(&self, today: &str) -> HashMap<&'b IssueId, Vec<IssueId>> {
        let own: HashSet<&IssueId> = self.leaves.iter().map(|one| &one.id).collect();
        let parts = self.backlog.parts();
        let all = self.backlog.issues.iter().zip(self.backlog.waits(today));
        let all = all.filter(|(issue, _)| own.contains(&issue.id));
        let all = all.map(|(issue, waits)| {
            let mut on = Vec::new();
            for wait in waits {
                if let Wait::Issue { issue, .. } = wait {
                    below(&parts, &issue, &mut on);
                }
            }
            on.retain(|other| *other != issue.id);
            (&issue.id, on)
        });
        all.collect()
    }

    /// All issues below the roadmap, with parts or without.
    pub fn issues(&self) -> impl Iterator<Item = &'b Issue> {
        self.leaves.iter().chain(&self.between).copied()
    }

    /// Tells whether an issue is below the roadmap, with parts or without.
    pub fn has(&self, id: &IssueId) -> bool {
        self.places.contains_key(id) || self.between.iter().any(|one| one.id == *id)
    }

    pub fn place(&self, id: &IssueId) -> Place {
        self.places.get(id).cloned().unwrap_or_default()
    }

    /// The open issues that a leaf waits for.
    pub fn waits(&self, id: &IssueId) -> &[IssueId] {
        self.waits.get(id).map_or(&[], Vec::as_slice)
    }

    /// The leaves with this status.
    pub fn count(&self, status: Status) -> usize {
        count(&self.leaves, status)
    }

    /// The leaves that say exactly one wave, wave after wave.
    pub fn waves(&self) -> Vec<Wave> {
        let mut by_wave: BTreeMap<u32, Vec<&Issue>> = BTreeMap::new();
        for issue in &self.leaves {
            if let Some(wave) = self.place(&issue.id).wave() {
                by_wave.entry(wave).or_default().push(issue);
            }
        }
        by_wave
            .into_iter()
            .map(|(wave, issues)| {
                let open: Vec<&Issue> = (issues.iter().copied())
                    .filter(|issue| !issue.status.is_final())
                    .collect();
                let queue = form(&self.items(&open), |_, _| Trial::None);
                let mut groups = queue.groups;
                // What waits for something elsewhere is begun last, and alone.
                groups.extend(queue.held.into_iter().map(|id| vec![id]));
                Wave {
                    wave,
                    done: count(&issues, Status::Resolved),
                    closed: count(&issues, Status::Closed),
                    issues: issues.iter().map(|issue| issue.id.clone()).collect(),
                    groups,
                    conflicts: queue.conflicts,
                }
            })
            .collect()
    }

    fn items(&self, open: &[&Issue]) -> Vec<Item> {
        let inside: HashSet<&IssueId> = open.iter().map(|one| &one.id).collect();
        let items = open.iter().enumerate().map(|(age, issue)| {
            let waits = self.waits(&issue.id).iter();
            Item {
                issue: issue.id.clone(),
                priority: issue.priority,
                tasks: issue.bound.as_ref().map_or(0, |bound| bound.tasks),
                files: issue
                    .bound
                    .as_ref()
                    .map_or_else(Vec::new, |bound| bound.files.clone()),
                age,
                waits: waits.filter(|on| inside.contains(on)).cloned().collect(),
                is_held: false,
            }
        });
        items.collect()
    }

    /// The waves that follow from the links: an issue is in the first wave that is behind everything it waits for, done
    /// or not. The issues that wait for each other, where there are some.
    pub fn levels(&self) -> Result<Vec<Vec<IssueId>>, Vec<IssueId>> {
        let own = |id: &IssueId| self.has(id);
        let alone = self.issues().map(|issue| {
            let mut issue = issue.clone();
            issue.links.retain(|link| own(&link.to));
            (issue.status, issue.defer, issue.running) = (Status::Open, None, None);
            issue.apart.clear();
            // An epic that is done has no part that is not, and the other way round: both are asked as open.
            issue
        });
        let alone = Backlog::of(alone.collect());
        if let Some(cycle) = alone.cycle() {
            return Err(cycle);
        }
        let leaves: HashSet<&IssueId> = self.leaves.iter().map(|one| &one.id).collect();
        let waves = alone.waves().into_iter().map(|wave| {
            let ids = wave.into_iter().map(|at| alone.issues[at].id.clone());
            ids.filter(|id| leaves.contains(id)).collect::<Vec<_>>()
        });
        Ok(waves.filter(|wave| !wave.is_empty()).collect())
    }

    /// The issue that a part belongs to and that is not below the roadmap, where there is one.
    pub fn parent_elsewhere<'i>(&self, issue: &'i Issue, root: &IssueId) -> Option<&'i IssueId> {
        let is_elsewhere = |id: &&IssueId| **id != *root && !self.has(id);
        let parent = issue.linked(LinkKind::Parent).find(is_elsewhere);
        parent.filter(|id| self.backlog.find(id).is_some())
    }
}

fn count(issues: &[&Issue], status: Status) -> usize {
    issues.iter().filter(|one| one.status == status).count()
}

/// An issue, or the leaves below it where it has parts.
fn below(parts: &BTreeMap<&IssueId, Vec<&Issue>>, id: &IssueId, found: &mut Vec<IssueId>) {
    let mut seen: HashSet<IssueId> = HashSet::new();
    let mut todo = vec![id.clone()];
    while let Some(id) = todo.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        match parts.get(&id) {
            Some(more) => todo.extend(more.iter().map(|one| one.id.clone())),
            None if !found.contains(&id) => found.push(id),
            None => {}
        }
    }
}
