//! The graph: which node waits for which, what is ready, and what holds the rest. A function of the nodes and of how
//! far each is; nothing is stored.
//!
//! A node waits for what it depends on, for its parts, for what the node waits for that it is a part of, and for each
//! open decision and checkpoint anywhere before it.

use super::node::{Edge, Key, Node, NodeKind, TaskId, thing};
use super::status::Status;
use super::world::{Open, World};
use crate::stage::Stage;
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Index;

/// Nodes with their edges looked up.
#[derive(Debug)]
pub struct Graph<'n> {
    pub nodes: &'n [Node],
    /// The places of nodes by their ids, made once somebody asks for one.
    places: OnceCell<HashMap<Key<'n>, usize>>,
    /// Edges from each node to what it waits for.
    edges: Edges,
    /// Nodes that wait for each, once somebody asks.
    dependents: OnceCell<Vec<Vec<usize>>>,
    /// The node that each is a part of, and the parts of each that has some.
    parents: Vec<Option<usize>>,
    parts: HashMap<usize, Vec<usize>>,
    /// Ids that a node names and the plan does not have, where there are some.
    missing: HashMap<usize, Vec<TaskId>>,
    /// Decisions and checkpoints: while one is open, nothing behind it goes on, however far what stands between is.
    gates: Vec<usize>,
    /// The gates before each node, a bit for each of `gates`, once somebody asks.
    gates_before: OnceCell<Vec<Vec<u64>>>,
    /// Set when no node is a part of itself, so that following parents ends.
    is_forest: bool,
    /// Number of times that somebody asked what a node waits for.
    #[cfg(test)]
    looks: std::cell::Cell<usize>,
}

/// Place of a free node among those that are: not taken yet, priority, place in the plan.
type Place = (bool, u32, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    to: usize,
    is_optional: bool,
}

/// The ways of all nodes, those of one behind those of the one before it: ten thousand nodes have no list each.
#[derive(Debug, Default)]
struct Edges {
    ways: Vec<Way>,
    /// The place where the edges of each node end.
    ends: Vec<usize>,
}

impl Edges {
    fn push(&mut self, ways: &[Way]) {
        self.ways.extend_from_slice(ways);
        self.ends.push(self.ways.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[Way]> {
        (0..self.ends.len()).map(|at| &self[at])
    }
}

impl Index<usize> for Edges {
    type Output = [Way];

    fn index(&self, at: usize) -> &[Way] {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ways[from..self.ends[at]]
    }
}

/// State of the session and the world, on which the waits of a node depend.
#[derive(Clone, Copy, Debug)]
pub struct Now<'s> {
    /// Statuses of the nodes, in their order.
    pub statuses: &'s [Status],
    pub stage: Stage,
    pub world: &'s World,
    /// Number of nodes that may be claimed at once.
    pub capacity: Option<usize>,
}

/// The moment at which somebody takes a step of a node, or took it: a command asks about now, a reader about the moment
/// at which a record was written.
pub trait Then {
    /// The status of a node, as far as the node let others go on.
    fn status(&self, at: usize) -> Status;
    fn stage(&self) -> Stage;
    /// Conditions outside of the graph that a node waited for.
    fn open(&self, node: &Node) -> Vec<Open>;
}

/// Reason why a pending node waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Wait {
    /// Another node that is not done.
    Task { task: TaskId, status: Status },
    /// A node that the plan does not have.
    Unknown { task: TaskId },
    /// The session is in a stage that does no work of the node.
    Stage { stage: Stage },
    /// Resource that a claimed node has for itself.
    Resource { resource: String, task: TaskId },
    /// A node that runs alone, or runs beside nothing.
    Alone { task: TaskId },
    /// Capacity that is used up: as many nodes are claimed as may be.
    Capacity { capacity: usize },
    /// Condition outside of the graph.
    World(Open),
}

impl Wait {
    /// Words for the wait, behind `waits for`.
    pub fn words(&self) -> String {
        match self {
            Wait::Task { task, status } => format!("{task} ({status})"),
            Wait::Unknown { task } => format!("{task}, which the plan does not have"),
            Wait::Stage { stage } => format!("stage {stage}"),
            Wait::Resource { resource, task } => format!("{resource}, which {task} has"),
            Wait::Alone { task } => format!("{task}, which runs alone or beside which it may not"),
            Wait::Capacity { capacity } => format!("a place: {capacity} may be claimed at once"),
            Wait::World(open) => open.words(),
        }
    }

    /// Tells whether the wait holds a person's word or a verdict back: what others have in their hands does not.
    pub fn is_before(&self) -> bool {
        match self {
            Wait::Task { .. } | Wait::Unknown { .. } | Wait::Stage { .. } | Wait::World(_) => true,
            Wait::Resource { .. } | Wait::Alone { .. } | Wait::Capacity { .. } => false,
        }
    }
}

impl<'n> Graph<'n> {
    pub fn of(nodes: &'n [Node]) -> Self {
        let mut graph = Graph {
            nodes,
            edges: Edges::default(),
            dependents: OnceCell::new(),
            parents: vec![None; nodes.len()],
            parts: HashMap::new(),
            missing: HashMap::new(),
            gates: gates(nodes),
            gates_before: OnceCell::new(),
            is_forest: true,
            #[cfg(test)]
            looks: std::cell::Cell::default(),
            places: OnceCell::new(),
        };
        for (at, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent.as_ref().and_then(|id| graph.find(id)) {
                graph.parents[at] = Some(parent);
                graph.parts.entry(parent).or_default().push(at);
            }
        }
        graph.is_forest = graph.parts.is_empty() || is_forest(&graph.parents);
        let mut ways = Vec::new();
        for at in 0..nodes.len() {
            graph.find_ways(at, &mut ways);
            graph.edges.push(&ways);
        }
        graph
    }

    /// The place of a node.
    pub fn find(&self, id: &TaskId) -> Option<usize> {
        let places: &HashMap<Key<'_>, usize> = self.places.get_or_init(|| {
            let nodes = self.nodes.iter().enumerate().rev();
            nodes.map(|(at, node)| (Key::of(&node.id), at)).collect()
        });
        places.get(&Key::of(id)).copied()
    }

    /// The node itself, and what it is a part of, from the nearest.
    fn line(&self, at: usize) -> Vec<usize> {
        let mut line = vec![at];
        while let Some(parent) = self.parents[line[line.len() - 1]] {
            if !self.is_forest && line.contains(&parent) {
                break;
            }
            line.push(parent);
        }
        line
    }

    /// Looks up what a node waits for.
    fn find_ways(&mut self, at: usize, ways: &mut Vec<Way>) {
        ways.clear();
        self.own_ways(at, ways);
        if self.parents[at].is_some() {
            self.ways_of_parents(at, ways);
        }
        let parts = self.parts.get(&at).into_iter().flatten();
        ways.extend(parts.map(|to| Way {
            to: *to,
            is_optional: true,
        }));
        // What one of two edges asks for is asked for.
        ways.sort_by_key(|way| (way.to, way.is_optional));
        ways.dedup_by_key(|way| way.to);
    }

    fn own_ways(&mut self, at: usize, ways: &mut Vec<Way>) {
        let before = at.checked_sub(1);
        for edge in &self.nodes[at].depends_on {
            // Most wait for the one before them, which is found without looking it up.
            let near = before.filter(|before| self.nodes[*before].id == edge.on);
            match near.or_else(|| self.find(&edge.on)) {
                Some(to) => ways.push(Way {
                    to,
                    is_optional: edge.optional,
                }),
                None => self.misses(at, edge),
            }
        }
    }

    fn misses(&mut self, at: usize, edge: &Edge) {
        self.missing.entry(at).or_default().push(edge.on.clone());
    }

    /// Adds what those wait for that a node is a part of. What waits for its own part says nothing of the other parts.
    fn ways_of_parents(&mut self, at: usize, ways: &mut Vec<Way>) {
        // The line of what is waited for, looked up once for each.
        let mut lines: HashMap<usize, HashSet<usize>> = HashMap::new();
        for holder in self.line(at).into_iter().skip(1) {
            for edge in &self.nodes[holder].depends_on {
                let Some(to) = self.find(&edge.on) else {
                    self.misses(at, edge);
                    continue;
                };
                let line = || self.line(to).into_iter().collect();
                if !lines.entry(to).or_insert_with(line).contains(&holder) {
                    ways.push(Way {
                        to,
                        is_optional: edge.optional,
                    });
                }
            }
        }
    }

    /// The ids that a node names and the plan does not have.
    fn missing(&self, at: usize) -> &[TaskId] {
        self.missing.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The ids of a cycle, the first one repeated at its end.
    pub fn cycle(&self) -> Option<Vec<TaskId>> {
        let mut left: Vec<usize> = self.edges.iter().map(<[Way]>::len).collect();
        let mut free: VecDeque<usize> = (0..left.len()).filter(|at| left[*at] == 0).collect();
        while let Some(at) = free.pop_front() {
            for next in self.dependents(at) {
                left[*next] -= 1;
                if left[*next] == 0 {
                    free.push_back(*next);
                }
            }
        }
        // Whatever is left has a way to something that is left, and so ends in a cycle.
        let start = (0..left.len()).find(|at| left[*at] > 0)?;
        let mut path = vec![start];
        loop {
            let at = path[path.len() - 1];
            let next = self.edges[at].iter().find(|way| left[way.to] > 0)?.to;
            if let Some(first) = path.iter().position(|known| *known == next) {
                path.push(next);
                let ids = path[first..].iter();
                return Some(ids.map(|at| self.nodes[*at].id.clone()).collect());
            }
            path.push(next);
        }
    }

    /// A shortest way from a node along what it waits for back to itself, the node at both ends.
    pub fn cycle_through(&self, start: usize) -> Option<Vec<usize>> {
        let mut from: HashMap<usize, usize> = HashMap::new();
        let mut left = VecDeque::from([start]);
        while let Some(at) = left.pop_front() {
            for way in &self.edges[at] {
                if way.to == start {
                    let mut path = vec![start, at];
                    while path[path.len() - 1] != start {
                        path.push(from[&path[path.len() - 1]]);
                    }
                    path.reverse();
                    return Some(path);
                }
                if let Entry::Vacant(place) = from.entry(way.to) {
                    place.insert(at);
                    left.push_back(way.to);
                }
            }
        }
        None
    }

    /// Tells whether the node that an edge leads to is done for whoever waits.
    fn is_met(way: Way, status: Status) -> bool {
        status.lets_on(way.is_optional)
    }

    /// Lists all that keeps a step of a node from being taken at a moment that is over: the waits of now, but for what
    /// others have in their hands.
    pub fn held(&self, at: usize, then: &impl Then) -> Vec<Wait> {
        let status = |at: usize| then.status(at);
        let mut unmet = self.own_unmet(at, status);
        // Behind what was done, each gate was passed; a skip passes none.
        let mut ways = self.edges[at].iter();
        if unmet.is_empty() && ways.any(|way| status(way.to) == Status::Skipped) {
            unmet = self.open_gates(at, status);
        }
        self.waits_for(
            at,
            (unmet, then.stage(), then.open(&self.nodes[at])),
            status,
        )
    }

    /// The waits that follow from these nodes, this stage and what is open outside.
    fn waits_for(
        &self,
        at: usize,
        (unmet, stage, open): (Vec<usize>, Stage, Vec<Open>),
        status: impl Fn(usize) -> Status,
    ) -> Vec<Wait> {
        let node = &self.nodes[at];
        let unmet = unmet.into_iter();
        let unmet = unmet.map(|to| Wait::Task {
            task: self.nodes[to].id.clone(),
            status: status(to),
        });
        let mut waits: Vec<Wait> = unmet.collect();
        let missing = self.missing(at).iter();
        waits.extend(missing.map(|task| Wait::Unknown { task: task.clone() }));
        if !stage.works_on(node.stage) {
            waits.push(Wait::Stage { stage: node.stage });
        }
        waits.extend(open.into_iter().map(Wait::World));
        waits
    }

    /// The nodes that one depends on, and that do not let it go on.
    fn own_unmet(&self, at: usize, status: impl Fn(usize) -> Status) -> Vec<usize> {
        let ways = self.edges[at].iter();
        let unmet = ways.filter(|way| !Self::is_met(**way, status(way.to)));
        unmet.map(|way| way.to).collect()
    }

    /// The gates before a node that are open.
    fn open_gates(&self, at: usize, status: impl Fn(usize) -> Status) -> Vec<usize> {
        let before = self.gates_before(at);
        let before = |place: usize| (before[place / 64] >> (place % 64)) & 1 == 1;
        let gates = self.gates.iter().copied().enumerate();
        let gates = gates.filter(|(place, gate)| before(*place) && !status(*gate).is_terminal());
        gates.map(|(_, gate)| gate).collect()
    }

    /// The nodes that one waits for: of what it depends on, else the gates before it that are open. So no gate is
    /// passed by skipping what stands behind it, or by asking anew at one that was open already.
    fn unmet(&self, at: usize, statuses: &[Status]) -> Vec<usize> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        let own = self.own_unmet(at, |to| statuses[to]);
        let is_open = |at: &usize| !statuses[*at].is_terminal();
        if !own.is_empty() || !self.gates.iter().any(is_open) {
            return own;
        }
        self.open_gates(at, |to| statuses[to])
    }

    /// The gates that have to be done before a node.
    fn gates_before(&self, at: usize) -> &[u64] {
        let all = self.gates_before.get_or_init(|| {
            let empty = vec![0; self.gates.len().div_ceil(64)];
            let place: HashMap<usize, usize> = self
                .gates
                .iter()
                .enumerate()
                .map(|(place, gate)| (*gate, place))
                .collect();
            let mut all = vec![empty; self.nodes.len()];
            let mark = |gates: &mut Vec<u64>, to: usize| {
                if let Some(place) = place.get(&to) {
                    gates[place / 64] |= 1 << (place % 64);
                }
            };
            let order = self.order();
            for at in &order {
                let mut gates = std::mem::take(&mut all[*at]);
                for way in &self.edges[*at] {
                    gates
                        .iter_mut()
                        .zip(&all[way.to])
                        .for_each(|(own, more)| *own |= more);
                    mark(&mut gates, way.to);
                }
                all[*at] = gates;
            }
            if order.is_empty() {
                // A cycle: each for itself.
                for (at, gates) in all.iter_mut().enumerate() {
                    self.before(at).into_iter().for_each(|to| mark(gates, to));
                }
            }
            all
        });
        &all[at]
    }

    /// All nodes that have to be done before one.
    fn before(&self, at: usize) -> BTreeSet<usize> {
        self.back_to(at, |_| false)
    }

    /// The nodes that have to be done before one, back to those at which it ends.
    pub fn back_to(&self, at: usize, is_end: impl Fn(&Node) -> bool) -> BTreeSet<usize> {
        let mut before = BTreeSet::new();
        let mut left = vec![at];
        while let Some(next) = left.pop() {
            if next != at && is_end(&self.nodes[next]) {
                continue;
            }
            let ways = self.edges[next].iter().map(|way| way.to);
            left.extend(ways.filter(|to| *to != at && before.insert(*to)));
        }
        before
    }

    /// The nodes and resources that a node waits for. A pending one that waits for nothing is ready.
    pub fn waits(&self, at: usize, now: Now<'_>) -> Vec<Wait> {
        self.waits_beside(at, now, &claimed(now.statuses))
    }

    /// Waits of every pending node; nothing of others.
    pub fn all_waits(&self, now: Now<'_>) -> Vec<Vec<Wait>> {
        let held = claimed(now.statuses);
        let waits = |at: usize| match now.statuses[at] {
            Status::Pending => self.waits_beside(at, now, &held),
            _ => Vec::new(),
        };
        (0..self.nodes.len()).map(waits).collect()
    }

    /// The pairs of nodes that somebody has, and that may not run at once: the first, and what keeps it from that.
    pub fn apart(&self, statuses: &[Status]) -> Vec<(TaskId, Wait)> {
        let held = claimed(statuses);
        let pairs = held.iter().enumerate();
        let pairs = pairs.flat_map(|(at, one)| held[at + 1..].iter().map(move |two| (*one, *two)));
        let met = pairs.filter_map(|(one, two)| {
            let wait = beside(&self.nodes[one], &self.nodes[two])?;
            Some((self.nodes[one].id.clone(), wait))
        });
        met.collect()
    }

    fn waits_beside(&self, at: usize, now: Now<'_>, claimed: &[usize]) -> Vec<Wait> {
        let node = &self.nodes[at];
        let unmet = self.unmet(at, now.statuses);
        let found = (unmet, now.stage, now.world.open(node));
        let mut waits = self.waits_for(at, found, |to| now.statuses[to]);
        for other in claimed.iter().filter(|other| **other != at) {
            waits.extend(beside(node, &self.nodes[*other]));
        }
        if let Some(capacity) = now.capacity.filter(|capacity| claimed.len() >= *capacity) {
            waits.push(Wait::Capacity { capacity });
        }
        waits
    }

    /// The pending nodes that wait for nothing: those first that touch no file of a claimed one, then by priority,
    /// then as they stand in the plan.
    pub fn ready(&self, now: Now<'_>) -> Vec<usize> {
        let held = claimed(now.statuses);
        // Most that wait do so for another node, and what else they wait for is not asked.
        let is_ready = |at: &usize| {
            now.statuses[*at] == Status::Pending
                && self.unmet(*at, now.statuses).is_empty()
                && self.waits_beside(*at, now, &held).is_empty()
        };
        let mut ready: Vec<usize> = (0..self.nodes.len()).filter(is_ready).collect();
        let claimed: BTreeSet<&str> = held
            .iter()
            .flat_map(|at| self.nodes[*at].files.iter().map(|file| file.path.as_str()))
            .collect();
        // Where nobody works nothing is asked about files.
        let meets = |at: usize| {
            !claimed.is_empty()
                && (self.nodes[at].files.iter()).any(|file| claimed.contains(file.path.as_str()))
        };
        ready.sort_by_key(|at| (meets(*at), self.nodes[*at].priority, *at));
        ready
    }

    /// Chain from a pending node along what it waits for, to the one that waits for nothing else.
    pub fn chain(&self, at: usize, statuses: &[Status]) -> Vec<usize> {
        let mut chain = vec![at];
        let mut known = HashSet::from([at]);
        loop {
            let last = chain[chain.len() - 1];
            if statuses[last] != Status::Pending {
                return chain;
            }
            let mut unmet = self.unmet(last, statuses);
            // What failed is what somebody has to look at.
            unmet.sort_by_key(|to| (statuses[*to] != Status::Failed, *to));
            match unmet.into_iter().find(|to| known.insert(*to)) {
                Some(next) => chain.push(next),
                None => return chain,
            }
        }
    }

    /// The chains of all that cannot go on because of what failed, was skipped, or is not in the plan.
    pub fn blocked(&self, statuses: &[Status]) -> Vec<Vec<usize>> {
        let is_pending = |at: &usize| statuses[*at] == Status::Pending;
        let pending: Vec<usize> = (0..self.nodes.len()).filter(is_pending).collect();
        let mut next = vec![None; self.nodes.len()];
        for at in &pending {
            next[*at] = self.next_of(*at, statuses);
        }
        let ends = ends(&next);
        let is_blocked = |at: &usize| {
            // Round a cycle it ends nowhere; its chain says where it closes.
            let chain = || self.chain(*at, statuses).last().copied();
            ends[*at].or_else(chain).is_some_and(|end| {
                matches!(statuses[end], Status::Failed | Status::Skipped)
                    || !self.missing(end).is_empty()
            })
        };
        let blocked = pending.into_iter().filter(is_blocked);
        blocked.map(|at| self.chain(at, statuses)).collect()
    }

    /// Node that somebody has to look at first, of those that a pending node waits for: one that failed.
    fn next_of(&self, at: usize, statuses: &[Status]) -> Option<usize> {
        let unmet = self.unmet(at, statuses).into_iter();
        unmet.min_by_key(|to| (statuses[*to] != Status::Failed, *to))
    }

    /// Tells whether nothing is ready, nobody works, and something is left. Where all of that belongs to a later stage,
    /// and some of it waits for nothing else, the work of that stage has not begun.
    pub fn is_stalled(&self, now: Now<'_>) -> bool {
        let open: Vec<usize> = (0..self.nodes.len())
            .filter(|at| !now.statuses[*at].is_terminal())
            .collect();
        let is_later = |at: &usize| self.nodes[*at].stage > now.stage;
        let begins = |at: &usize| {
            // Nobody has a task where this is asked.
            let waits = self.waits_beside(*at, now, &[]);
            now.statuses[*at] == Status::Pending
                && waits.iter().all(|one| matches!(one, Wait::Stage { .. }))
        };
        let has_not_begun = || open.iter().all(is_later) && open.iter().any(begins);
        !open.is_empty()
            && !now.statuses.contains(&Status::Claimed)
            && self.ready(now).is_empty()
            && !has_not_begun()
    }

    /// Groups of what is not done, one after the other, in which all may run side by side; at most `limit` in one.
    /// What waits for something that failed, or for a node that is not there, is in none.
    pub fn waves(&self, statuses: &[Status], limit: Option<usize>) -> Vec<Vec<usize>> {
        let mut statuses = statuses.to_vec();
        let mut waves = Vec::new();
        // What is free, and not in a wave yet; in each round those are looked at that something may have let go on.
        let mut free: BTreeSet<Place> = BTreeSet::new();
        let mut looked: BTreeSet<usize> = (0..self.nodes.len()).collect();
        // What somebody has is running already.
        let place =
            |at: usize, status: Status| (status == Status::Pending, self.nodes[at].priority, at);
        loop {
            let new = looked.into_iter().filter(|at| {
                matches!(statuses[*at], Status::Pending | Status::Claimed)
                    && self.missing(*at).is_empty()
                    && self.unmet(*at, &statuses).is_empty()
            });
            free.extend(new.map(|at| place(at, statuses[at])));
            let wave = self.side_by_side(&free, limit);
            if wave.is_empty() {
                return waves;
            }
            for at in &wave {
                free.remove(&place(*at, statuses[*at]));
                statuses[*at] = Status::Completed;
            }
            // Behind a gate anything may have waited.
            let is_gate = |at: &usize| self.gates.binary_search(at).is_ok();
            looked = if wave.iter().any(is_gate) {
                (0..self.nodes.len()).collect()
            } else {
                let next = wave.iter().flat_map(|at| self.dependents(*at));
                next.copied().collect()
            };
            waves.push(wave);
        }
    }

    /// Nodes of these, one after the other, that may run beside all before them.
    fn side_by_side(&self, order: &BTreeSet<Place>, limit: Option<usize>) -> Vec<usize> {
        let mut wave: Vec<usize> = Vec::new();
        let mut files: HashSet<&str> = HashSet::new();
        let mut names: HashSet<String> = HashSet::new();
        for (_, _, at) in order.iter().copied() {
            let node = &self.nodes[at];
            let mut own = node.files.iter().map(|file| file.path.as_str());
            let exclusive: Vec<String> = node.exclusive.iter().map(|one| thing(one)).collect();
            let meets = own.clone().any(|path| files.contains(path))
                || exclusive.iter().any(|name| names.contains(name))
                || !wave.is_empty() && !node.parallel;
            if limit.is_some_and(|limit| wave.len() >= limit) {
                break;
            }
            if meets {
                continue;
            }
            wave.push(at);
            files.extend(&mut own);
            names.extend(exclusive);
            // It runs alone.
            if !node.parallel {
                break;
            }
        }
        wave
    }

    /// Nodes in an order in which each stands behind those that it waits for. Empty where there is a cycle.
    pub fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = self.edges.iter().map(<[Way]>::len).collect();
        let mut free: VecDeque<usize> = (0..left.len()).filter(|at| left[*at] == 0).collect();
        let mut order = Vec::new();
        while let Some(at) = free.pop_front() {
            order.push(at);
            for next in self.dependents(at) {
                left[*next] -= 1;
                if left[*next] == 0 {
                    free.push_back(*next);
                }
            }
        }
        if order.len() == self.nodes.len() {
            order
        } else {
            Vec::new()
        }
    }

    /// Node because of which each pending node is skipped: the pending one waits, by way of others or itself, for one
    /// that `is_over`, and is not content with a skipped one.
    pub fn fallen(
        &self,
        statuses: &[Status],
        is_over: impl Fn(usize) -> bool,
    ) -> Vec<Option<usize>> {
        let mut fallen: Vec<Option<usize>> = vec![None; self.nodes.len()];
        for at in self.order() {
            if statuses[at] != Status::Pending {
                continue;
            }
            let mut ways = self.edges[at].iter().filter(|way| !way.is_optional);
            fallen[at] = ways.find_map(|way| {
                if is_over(way.to) {
                    Some(way.to)
                } else {
                    fallen[way.to]
                }
            });
        }
        fallen
    }

    /// The longest chain of what is not done: no number of hands is faster than it.
    pub fn critical_path(&self, statuses: &[Status]) -> Vec<usize> {
        let mut best: BTreeMap<usize, (usize, Option<usize>)> = BTreeMap::new();
        for at in self.order() {
            if statuses[at].is_terminal() {
                continue;
            }
            let before = self.edges[at].iter().map(|way| way.to);
            let before = before.filter_map(|to| Some((best.get(&to)?.0, to)));
            let longest = before.max_by_key(|(length, to)| (*length, usize::MAX - to));
            let row = longest.map_or((1, None), |(length, to)| (length + 1, Some(to)));
            best.insert(at, row);
        }
        let end = best
            .iter()
            .max_by_key(|(at, row)| (row.0, usize::MAX - **at));
        let mut path = Vec::new();
        let mut next = end.map(|(at, _)| *at);
        while let Some(at) = next {
            path.push(at);
            next = best.get(&at).and_then(|row| row.1);
        }
        path.reverse();
        path
    }

    /// Nodes that only a person ends.
    pub fn is_persons(&self, at: usize) -> bool {
        self.nodes[at].kind != NodeKind::Work
    }

    /// Tells whether a node depends on one that is not done, or not in the plan.
    pub fn is_held(&self, at: usize, statuses: &[Status]) -> bool {
        let mut ways = self.edges[at].iter();
        ways.any(|way| !Self::is_met(*way, statuses[way.to])) || !self.missing(at).is_empty()
    }

    /// Nodes that a node waits for, by place.
    pub fn needs(&self, at: usize) -> impl Iterator<Item = (usize, bool)> {
        self.edges[at].iter().map(|way| (way.to, way.is_optional))
    }

    /// The nodes that wait for one.
    pub fn dependents(&self, at: usize) -> &[usize] {
        let all = self.dependents.get_or_init(|| {
            let mut all = vec![Vec::new(); self.nodes.len()];
            for (at, ways) in self.edges.iter().enumerate() {
                ways.iter().for_each(|way| all[way.to].push(at));
            }
            all
        });
        &all[at]
    }
}

/// A chain of nodes in one line, the middle of a long one by its number.
pub fn chain_words<'i>(ids: impl ExactSizeIterator<Item = &'i TaskId>) -> String {
    const ENDS: usize = 4;
    let count = ids.len();
    let mut words: Vec<String> = Vec::new();
    for (at, id) in ids.enumerate() {
        if count <= 2 * ENDS + 1 || at < ENDS || at >= count - ENDS {
            words.push(id.to_string());
        } else if at == ENDS {
            words.push(format!("{} more", count - 2 * ENDS));
        }
    }
    words.join(" <- ")
}

/// End of the way from each node, as long as something follows; nothing for the nodes round a cycle.
fn ends(next: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut ends = vec![None; next.len()];
    let mut is_known = vec![false; next.len()];
    for start in 0..next.len() {
        let mut path = Vec::new();
        let mut at = start;
        let end = loop {
            if is_known[at] {
                break ends[at];
            }
            is_known[at] = true;
            path.push(at);
            match next[at] {
                Some(to) => at = to,
                None => break Some(at),
            }
        };
        path.into_iter().for_each(|at| ends[at] = end);
    }
    ends
}

/// Tells whether following parents always ends.
fn is_forest(parents: &[Option<usize>]) -> bool {
    ends(parents).iter().all(Option::is_some)
}

/// The places of the nodes at which something is decided.
fn gates(nodes: &[Node]) -> Vec<usize> {
    let is_gate = |at: &usize| matches!(nodes[*at].kind, NodeKind::Decision | NodeKind::Checkpoint);
    (0..nodes.len()).filter(is_gate).collect()
}

/// Reason why a node cannot run beside another one.
fn beside(node: &Node, other: &Node) -> Option<Wait> {
    let task = other.id.clone();
    match node.shares(other) {
        Some(resource) => Some(Wait::Resource {
            resource: resource.to_owned(),
            task,
        }),
        None if !node.parallel || !other.parallel => Some(Wait::Alone { task }),
        None => None,
    }
}

/// The places of what somebody has.
fn claimed(statuses: &[Status]) -> Vec<usize> {
    let all = 0..statuses.len();
    all.filter(|at| statuses[*at] == Status::Claimed).collect()
}

#[cfg(test)]
mod tests;
