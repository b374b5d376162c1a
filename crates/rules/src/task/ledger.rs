//! The ledger of sprints: what each task of a pipeline took, and what a sprint came to. A function of the list, of how
//! far each task is, and of records; the times are those that the records say. Nothing is stored, and no clock is read.
//!
//! A sprint is what one start of a pipeline made, and each round that [`SPRINT_GATE`] inserted behind it.

use super::event::{Claim, TaskEvent};
use super::graph::Graph;
use super::node::{Key, Node, NodeKind, TaskId};
use super::overlap::line;
use super::status::Status;
use crate::lease::seconds_of;
use loopx_base::id::OpId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The gate behind which another sprint is inserted.
pub const SPRINT_GATE: &str = "GATE-SPRINT";
/// A sprint of which less is done than this many of 100 is slow.
const SLOW: usize = 50;

/// Record of a task that counts.
#[derive(Clone, Copy, Debug)]
pub struct Record<'o> {
    pub op: &'o OpId,
    pub seq: u64,
    /// Time, as the record says it.
    pub at: &'o str,
    /// Person who wrote the record.
    pub by: &'o str,
    pub reason: Option<&'o str>,
    pub event: &'o TaskEvent,
}

/// Sprint with its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sprint {
    /// `S1`, `S2`, ...
    pub sprint: String,
    pub pipeline: String,
    pub metrics: Metrics,
    pub tasks: Vec<Entry>,
}

/// Progress of a sprint, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    pub total: usize,
    pub completed: usize,
    pub in_progress: usize,
    /// Failed, or waiting for one that failed.
    pub blocked: usize,
    /// Share of the tasks that are completed, of 100.
    pub velocity: usize,
    /// Set when all that could be done is, and less than half of it was completed.
    pub slow: bool,
    /// Attempts that failed, results that were asked for anew, and repairs that gates inserted.
    pub reworks: usize,
    /// Repairs that gates inserted.
    pub rounds: usize,
    /// Pairs of tasks that changed one file at once.
    pub conflicts: usize,
    /// Points of the sprint's tasks, where any has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<StoryPoints>,
    /// Dimensions that were the weakest in more than one verdict.
    pub recurring: Vec<String>,
    /// Seconds from the claim to the completion: the middle number and the longest.
    pub median_seconds: Option<i64>,
    pub longest_seconds: Option<i64>,
}

/// The size of the tasks of a sprint together, as whoever planned them said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoryPoints {
    pub planned: u64,
    pub completed: u64,
}

/// Task of a sprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub task: TaskId,
    pub title: String,
    pub role: Option<String>,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<u64>,
    /// Person who completed the task, or has it.
    pub by: Option<String>,
    /// Number of times that somebody took the task.
    pub attempts: usize,
    pub failures: usize,
    pub retries: usize,
    /// Number of gates that sent the task's result back, and inserted a repair.
    pub rounds: usize,
    /// Newest score of each gate that judges the task.
    pub scores: BTreeMap<TaskId, String>,
    /// Seconds from the claim to the completion.
    pub seconds: Option<i64>,
    /// Tasks that changed one of the task's files at the same time.
    pub conflicts: Vec<TaskId>,
    /// Reasons why attempts failed, and why the task was asked for anew.
    pub reasons: Vec<String>,
}

/// Facts that records tell of one node.
#[derive(Debug, Default)]
struct Told<'o> {
    by: Option<&'o str>,
    attempts: usize,
    failures: usize,
    retries: usize,
    /// Claim under which the node was completed, and the completion.
    span: Option<(u64, u64)>,
    seconds: Option<i64>,
    files: &'o [String],
    score: Option<String>,
    /// The weakest dimension of each verdict.
    weakest: Vec<&'o str>,
    reasons: Vec<String>,
}

/// The sprints of a list, in its order. `statuses` has one for each node; `points` are those of the tasks that have some.
pub fn ledger(
    nodes: &[Node],
    statuses: &[Status],
    records: &[Record<'_>],
    points: &BTreeMap<String, u64>,
) -> Vec<Sprint> {
    let graph = Graph::of(nodes);
    let told = told(records);
    let conflicts = conflicts(&graph, &told);
    let mut sprints: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let starts = starts(&graph);
    let work = |at: &usize| nodes[*at].kind == NodeKind::Work && nodes[*at].part.is_some();
    for at in (0..nodes.len()).filter(work) {
        let place = (starts[at], round_of(&nodes[at].id));
        sprints.entry(place).or_default().push(at);
    }
    let made = |(number, places): (usize, Vec<usize>)| {
        let entry = |at: &usize| Entry {
            points: points_of(points, &nodes[*at].id),
            ..entry(&graph, *at, statuses, &told, &conflicts)
        };
        let tasks: Vec<Entry> = places.iter().map(entry).collect();
        let part = nodes[places[0]].part.as_ref();
        Sprint {
            sprint: format!("S{number}"),
            pipeline: part.map_or_else(String::new, |part| part.pipeline.clone()),
            metrics: Metrics {
                points: story_points(&tasks),
                recurring: recurring(&graph, &places, &told),
                ..metrics(&graph, &places, statuses, &tasks)
            },
            tasks,
        }
    };
    (1..).zip(sprints.into_values()).map(made).collect()
}

/// First node of those that each node hangs together with: what one start of a pipeline made.
fn starts(graph: &Graph<'_>) -> Vec<usize> {
    let mut first = vec![usize::MAX; graph.nodes.len()];
    let of = |at: usize| graph.nodes[at].part.as_ref().map(|part| &part.pipeline);
    for start in 0..graph.nodes.len() {
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            if first[at] != usize::MAX {
                continue;
            }
            first[at] = start;
            let near = graph.needs(at).map(|(to, _)| to);
            let near = near.chain(graph.dependents(at).iter().copied());
            open.extend(near.filter(|to| of(*to) == of(start)));
        }
    }
    first
}

/// Number of sprints that were inserted before the one of a node: 0 for what was planned.
fn round_of(id: &TaskId) -> usize {
    let text = id.as_str();
    let behind = text
        .find(SPRINT_GATE)
        .map(|at| &text[at + SPRINT_GATE.len()..]);
    let number = behind.and_then(|rest| rest.strip_prefix('.')?.split('.').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Tells whether a gate says that a sprint more is needed, which is no rework: the gate as it was planned, or one
/// behind a sprint that was inserted.
fn is_sprint_gate(id: &TaskId) -> bool {
    let behind = id.as_str().rsplit_once(SPRINT_GATE);
    behind.is_some_and(|(_, rest)| match rest.strip_prefix('.') {
        Some(number) => number.parse::<u32>().is_ok(),
        None => rest.is_empty(),
    })
}

/// Facts that the records tell of each node.
fn told<'o>(records: &[Record<'o>]) -> HashMap<Key<'o>, Told<'o>> {
    let mut claims: HashMap<&OpId, (&Record<'_>, &Claim)> = HashMap::new();
    let mut found: HashMap<Key<'o>, Told<'o>> = HashMap::new();
    for record in records {
        let told = found.entry(Key::of(record.event.task())).or_default();
        match record.event {
            TaskEvent::Claimed { claim, .. } => {
                let over = claim.over.as_ref().and_then(|op| claims.get(op).copied());
                let renewed = over.filter(|(_, before)| before.owner == claim.owner && !claim.late);
                match renewed {
                    // The first claim says since when somebody has it.
                    Some(first) => claims.insert(record.op, first),
                    None => {
                        told.attempts += 1;
                        claims.insert(record.op, (record, claim))
                    }
                };
                told.failures += usize::from(claim.late);
                told.by = Some(record.by);
            }
            TaskEvent::Completed { claim, done, .. } => {
                let since = claims.get(claim).map(|(record, _)| *record);
                told.span = since.map(|since| (since.seq, record.seq));
                let began = since.and_then(|since| seconds_of(since.at));
                let ended = seconds_of(record.at);
                told.seconds = began
                    .zip(ended)
                    .map(|(began, ended)| (ended - began).max(0));
                told.files = &done.files;
                told.by = Some(record.by);
            }
            TaskEvent::Failed { .. } => {
                told.failures += 1;
                told.reasons.extend(record.reason.map(str::to_owned));
            }
            TaskEvent::Retried { .. } => {
                // What failed was counted by then.
                told.retries += usize::from(told.span.take().is_some());
                (told.seconds, told.files) = (None, &[]);
                told.reasons.extend(record.reason.map(str::to_owned));
            }
            TaskEvent::Decided { decision, .. } => {
                let lowest = decision.scores.iter().min_by_key(|(_, score)| **score);
                let lowest = lowest.filter(|_| decision.scores.len() > 1);
                told.weakest.extend(lowest.map(|(name, _)| name.as_str()));
                let score = decision.score.or(decision.mean);
                told.score = score.map(|score| score.to_string()).or_else(|| {
                    let scores = decision.scores.iter();
                    let scores = scores.map(|(name, score)| format!("{name} {score}"));
                    let scores: Vec<String> = scores.collect();
                    (!scores.is_empty()).then(|| scores.join(", "))
                });
            }
            TaskEvent::Released { .. }
            | TaskEvent::Skipped { .. }
            | TaskEvent::Allowed { .. }
            | TaskEvent::Opened { .. } => {}
        }
    }
    found
}

/// A node that changed a file, and the numbers of its claim and its completion.
type Touch = (usize, (u64, u64));

/// Maps each node to those that changed one of its files at the same time, with nothing to order them.
fn conflicts(
    graph: &Graph<'_>,
    told: &HashMap<Key<'_>, Told<'_>>,
) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut by_path: BTreeMap<&str, Vec<Touch>> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let Some(told) = told.get(&Key::of(&node.id)) else {
            continue;
        };
        let Some(span) = told.span else { continue };
        for path in told.files {
            by_path.entry(path).or_default().push((at, span));
        }
    }
    let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for touching in by_path.values().filter(|touching| touching.len() > 1) {
        for (at, (one, span)) in touching.iter().enumerate() {
            let met = touching[at + 1..].iter();
            let met = met.filter(|(_, other)| span.0 < other.1 && other.0 < span.1);
            let met: Vec<usize> = met.map(|(other, _)| *other).collect();
            let near = if met.is_empty() {
                BTreeSet::new()
            } else {
                line(graph, *one)
            };
            for other in met.into_iter().filter(|other| !near.contains(other)) {
                found.entry(*one).or_default().insert(other);
                found.entry(other).or_default().insert(*one);
            }
        }
    }
    found
}

fn entry(
    graph: &Graph<'_>,
    at: usize,
    statuses: &[Status],
    told: &HashMap<Key<'_>, Told<'_>>,
    conflicts: &BTreeMap<usize, BTreeSet<usize>>,
) -> Entry {
    let node = &graph.nodes[at];
    let own = told.get(&Key::of(&node.id));
    let gates = gates_of(graph, at);
    let score = |gate: &usize| {
        let id = &graph.nodes[*gate].id;
        let score = told.get(&Key::of(id))?.score.clone()?;
        Some((id.clone(), score))
    };
    let ids = conflicts.get(&at).into_iter().flatten();
    let count = |of: fn(&Told<'_>) -> usize| own.map_or(0, of);
    Entry {
        task: node.id.clone(),
        title: node.title.clone(),
        role: node.role.clone(),
        points: None,
        status: statuses.get(at).copied().unwrap_or(Status::Pending),
        by: own.and_then(|own| own.by).map(str::to_owned),
        attempts: count(|own| own.attempts),
        failures: count(|own| own.failures),
        retries: count(|own| own.retries),
        rounds: rounds(graph, node, &gates),
        scores: gates.iter().filter_map(score).collect(),
        seconds: own.and_then(|own| own.seconds),
        conflicts: ids.map(|at| graph.nodes[*at].id.clone()).collect(),
        reasons: own.map_or_else(Vec::new, |own| own.reasons.clone()),
    }
}

/// The points of a task; of one that a gate inserted, those that its line in the repair has.
fn points_of(points: &BTreeMap<String, u64>, id: &TaskId) -> Option<u64> {
    let key = id.key();
    let dots = key.match_indices('.').map(|(at, _)| &key[at + 1..]);
    let mut names = std::iter::once(key.as_str()).chain(dots);
    names.find_map(|name| points.get(name)).copied()
}

fn story_points(tasks: &[Entry]) -> Option<StoryPoints> {
    let sum = |of: &dyn Fn(&&Entry) -> bool| {
        let own = tasks.iter().filter(of).filter_map(|task| task.points);
        own.fold(0_u64, u64::saturating_add)
    };
    let is_done = |task: &&Entry| task.status == Status::Completed;
    tasks
        .iter()
        .any(|task| task.points.is_some())
        .then(|| StoryPoints {
            planned: sum(&|_| true),
            completed: sum(&is_done),
        })
}

/// The dimensions that were the weakest in more than one verdict about these nodes, the most frequent first.
fn recurring(
    graph: &Graph<'_>,
    places: &[usize],
    told: &HashMap<Key<'_>, Told<'_>>,
) -> Vec<String> {
    let gates: BTreeSet<usize> = (places.iter().copied())
        .flat_map(|at| gates_of(graph, at))
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for gate in gates {
        let own = told.get(&Key::of(&graph.nodes[gate].id));
        for name in own.into_iter().flat_map(|told| &told.weakest) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut found: Vec<(usize, &str)> = counts
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(name, count)| (count, name))
        .collect();
    found.sort_by_key(|(count, name)| (std::cmp::Reverse(*count), *name));
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// The gates that judge a node by name, as they were planned.
fn gates_of(graph: &Graph<'_>, at: usize) -> Vec<usize> {
    let id = graph.nodes[at].id.key();
    let judges = |gate: &usize| {
        let node = &graph.nodes[*gate];
        let gate = node.gate.as_deref();
        let is_next = is_sprint_gate(&node.id);
        !is_next && gate.is_some_and(|gate| gate.judges.iter().any(|judged| judged.key() == id))
    };
    let behind = graph.dependents(at).iter().copied();
    behind.filter(judges).collect()
}

/// Tells whether a gate inserted a repair: another gate is decided in its place.
fn is_sent_back(graph: &Graph<'_>, gate: usize) -> bool {
    let gate = graph.nodes[gate].gate.as_deref();
    gate.is_some_and(|gate| gate.superseded.is_some())
}

/// Counts the gates that sent the result of a node back. A gate that stands in the place of another one is about the
/// repair that stands before it.
fn rounds(graph: &Graph<'_>, node: &Node, gates: &[usize]) -> usize {
    let is_about = |gate: &usize| {
        let gate = &graph.nodes[*gate];
        let is_first = gate.gate.as_ref().is_some_and(|gate| gate.attempt == 0);
        is_first || node.id.key().starts_with(&format!("{}.", gate.id.key()))
    };
    let gates = gates.iter().filter(|gate| is_about(gate));
    gates.filter(|gate| is_sent_back(graph, **gate)).count()
}

fn metrics(graph: &Graph<'_>, places: &[usize], statuses: &[Status], tasks: &[Entry]) -> Metrics {
    let is = |status: Status| tasks.iter().filter(|task| task.status == status).count();
    let (total, completed) = (tasks.len(), is(Status::Completed));
    let gates: BTreeSet<usize> = (places.iter().copied())
        .flat_map(|at| gates_of(graph, at))
        .collect();
    let blocked: BTreeSet<usize> = graph
        .blocked(statuses)
        .iter()
        .map(|chain| chain[0])
        .collect();
    let held = places.iter().filter(|at| blocked.contains(at)).count();
    let mut seconds: Vec<i64> = tasks.iter().filter_map(|task| task.seconds).collect();
    seconds.sort_unstable();
    // One gate judges several tasks, and sends them back once.
    let rounds = gates
        .iter()
        .filter(|gate| is_sent_back(graph, **gate))
        .count();
    let failed: usize = tasks.iter().map(|task| task.failures + task.retries).sum();
    let velocity = completed * 100 / total.max(1);
    let open = is(Status::Pending) + is(Status::Claimed) - held;
    let pairs: usize = tasks.iter().map(|task| task.conflicts.len()).sum();
    Metrics {
        total,
        completed,
        in_progress: is(Status::Claimed),
        blocked: is(Status::Failed) + held,
        velocity,
        slow: open == 0 && velocity < SLOW,
        reworks: failed + rounds,
        rounds,
        conflicts: pairs.div_ceil(2),
        points: None,
        recurring: Vec::new(),
        median_seconds: seconds.get(seconds.len() / 2).copied(),
        longest_seconds: seconds.last().copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, StoryPoints, ledger, points_of, round_of};
    use crate::task::event::{Claim, Completion, TaskEvent};
    use crate::task::file::graph;
    use crate::task::node::TaskId;
    use crate::task::status::Status;
    use loopx_base::id::OpId;

    const LIST: &str = r#"{"id":"DEV","title":"D","pipeline":"sprint"}
{"id":"VERIFY","title":"V","pipeline":"sprint","depends_on":["DEV"]}
{"id":"REVIEW","title":"R","pipeline":"sprint","depends_on":["DEV"]}
{"id":"LATER","title":"L","pipeline":"sprint"}
{"id":"LOOSE","title":"N"}"#;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).expect("an id")
    }

    fn op(number: u64) -> OpId {
        OpId::parse(&format!("{number:040x}")).expect("an op")
    }

    fn claim(task: &str, over: Option<u64>) -> TaskEvent {
        let claim = Claim {
            owner: "w".to_owned(),
            over: over.map(op),
            ..Claim::default()
        };
        TaskEvent::Claimed {
            task: id(task),
            claim,
        }
    }

    fn done(task: &str, under: u64, file: &str) -> TaskEvent {
        let done = Completion {
            files: vec![file.to_owned()],
            ..Completion::default()
        };
        TaskEvent::Completed {
            task: id(task),
            claim: op(under),
            done,
        }
    }

    #[test]
    fn a_sprint_says_what_each_task_took_and_what_met() {
        let events = [
            claim("DEV", None),
            claim("DEV", Some(1)),
            done("DEV", 2, "a"),
            claim("VERIFY", None),
            claim("REVIEW", None),
            done("VERIFY", 4, "b"),
            done("REVIEW", 5, "b"),
            TaskEvent::Retried {
                task: id("REVIEW"),
                agent: None,
            },
        ];
        let ops: Vec<OpId> = (1..=8).map(op).collect();
        let times: Vec<String> = (1..=8)
            .map(|at| format!("2026-01-01T00:00:{:02}Z", at * 5))
            .collect();
        let records: Vec<Record<'_>> = (0..events.len())
            .map(|at| Record {
                op: &ops[at],
                seq: u64::try_from(at + 1).expect("a number"),
                at: &times[at],
                by: "Ada",
                reason: Some("why"),
                event: &events[at],
            })
            .collect();
        let nodes = graph(LIST).expect("a list").nodes;
        use Status::{Completed, Pending};
        let now = [Completed, Completed, Completed, Pending, Pending];
        let points = [("dev".to_owned(), 5), ("verify".to_owned(), 3)].into();
        let found = ledger(&nodes, &now, &records[..7], &points);
        assert_eq!(
            found.len(),
            2,
            "what hangs together is one sprint: {found:#?}"
        );
        let first = &found[0];
        assert_eq!((first.sprint.as_str(), first.metrics.total), ("S1", 3));
        assert_eq!(first.metrics.velocity, 100);
        let both = StoryPoints {
            planned: 8,
            completed: 8,
        };
        assert_eq!(first.metrics.points, Some(both));
        assert_eq!(first.tasks[0].points, Some(5));
        assert_eq!(found[1].metrics.points, None, "nobody gave any");
        assert_eq!(
            first.tasks[0].attempts, 1,
            "a claim that was renewed is one"
        );
        assert_eq!(first.tasks[0].seconds, Some(10), "from the first claim");
        assert_eq!(first.tasks[1].conflicts, [id("REVIEW")]);
        assert_eq!(first.metrics.conflicts, 1);
        assert_eq!(first.metrics.longest_seconds, Some(10));
        // What is asked for anew has no time and no files, and is a rework.
        let now = [Completed, Completed, Pending, Pending, Pending];
        let found = ledger(&nodes, &now, &records, &points);
        assert_eq!(found[0].metrics.reworks, 1);
        assert_eq!(found[0].metrics.conflicts, 0);
        assert_eq!(found[0].tasks[2].reasons, ["why"]);
        assert_eq!(found[0].metrics.velocity, 66);
        assert!(!found[0].metrics.slow, "something can be done");
    }

    #[test]
    fn what_a_gate_inserted_has_the_points_of_its_line_in_the_repair() {
        let points = [("dev".to_owned(), 5), ("fix.2".to_owned(), 1)].into();
        for (task, wanted) in [
            ("DEV", Some(5)),
            ("GATE-SPRINT.1.DEV", Some(5)),
            ("G.1.FIX.2", Some(1)),
            ("2", None),
            ("OTHER", None),
        ] {
            assert_eq!(points_of(&points, &id(task)), wanted, "{task}");
        }
    }

    #[test]
    fn each_round_of_the_gate_of_sprints_is_a_sprint_of_its_own() {
        for (text, round) in [
            ("DEV-001", 0),
            ("GATE-SPRINT", 0),
            ("GATE-SPRINT.1.DEV", 1),
            ("b-GATE-SPRINT.3.GATE-VERIFY.1.FIX", 3),
            ("GATE-VERIFY.2.FIX", 0),
        ] {
            assert_eq!(round_of(&id(text)), round, "{text}");
        }
    }
}
