//! Steps that nobody could have taken: records on the branch that a command would have refused, because the node waited
//! for something when they were written. They stay where they are. A word of these counts for nothing: somebody is asked
//! again, and nothing is lost. A result of these counts and is named: a clone that saw less, a move that was taken back
//! and a check that ran again look the same, and done work is not taken from anybody who was honest.
//!
//! One question is asked twice, [`Graph::held`]: a command asks it of now before it writes, and whoever reads asks it of
//! the moment at which a record was written. What was there then is told by numbers of records alone: whatever a writer
//! saw has a lower one. So nothing that was honest is lost where work before it is done anew, where clones were apart, or
//! where a time has passed since.
//!
//! Not asked are a branch and another session, which may have gone back since; and what work waited for, where the list
//! was written after somebody began it.

use super::decide::{Verdict, counts, misfit};
use super::graph::{Graph, Then, Wait};
use super::node::{Node, NodeKind, OnFailed, TaskId};
use super::status::{Moment, Past, Status, Step, TaskFacts};
use super::world::{Open, World};
use crate::gate::is_by_run;
use crate::session::{Stamped, State};
use crate::stage::Stage;
use loopx_base::id::{OpId, Person};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// A record whose step was taken before it could be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Early {
    pub op: OpId,
    pub seq: u64,
    pub task: TaskId,
    pub step: Step,
    pub by: Person,
    /// Reasons why the node waited then.
    pub waits: Vec<Wait>,
}

impl Early {
    /// Tells whether the step is a word, which does not count; a result counts.
    pub fn is_word(&self) -> bool {
        !matches!(self.step, Step::Done | Step::Fail)
    }

    /// The record and what was missing, as one sentence.
    pub fn words(&self) -> String {
        let waits: Vec<String> = self.waits.iter().map(Wait::words).collect();
        let counts = if self.is_word() {
            "does not count"
        } else {
            "should be looked at"
        };
        format!(
            "`{}` of {} by {} (@{}) {counts}: by the present list, {} still waited then for {}",
            self.step,
            self.task,
            self.by.name,
            self.seq,
            self.task,
            waits.join(", ")
        )
    }
}

/// The records about these nodes whose steps were taken too early. A list whose tasks wait for each other, as a merge can
/// make one, is not judged.
pub fn early(nodes: &[Node], state: &State, world: &World) -> Vec<Early> {
    if is_plain(nodes, state) {
        return Vec::new();
    }
    let graph = Graph::of(nodes);
    let mut judge = Judge::of(&graph, state, world);
    for at in graph.order() {
        judge.look_at(at);
    }
    judge.found
}

/// Tells whether each result stands behind those that it waits for, and nothing but that is to be asked: most lists are
/// judged by this, without a graph.
fn is_plain(nodes: &[Node], state: &State) -> bool {
    let has_word = |facts: &TaskFacts| {
        facts.opened.is_some() || !facts.allowed.is_empty() || !facts.decisions.is_empty()
    };
    let done = |facts: &TaskFacts| facts.completion.as_ref().map(|done| done.seq);
    let is_plain = |node: &Node| {
        let Some(facts) = state.task(&node.id) else {
            return true;
        };
        let begun = match facts.status {
            Status::Completed | Status::Failed => facts.beginning(),
            _ => None,
        };
        let is_behind = |on: &TaskId| {
            let before = state.task(on).and_then(done);
            begun
                .as_ref()
                .is_none_or(|begun| before.is_some_and(|seq| seq < begun.seq))
        };
        let asks_more = node.kind != NodeKind::Work || !node.waits.is_empty();
        !has_word(facts)
            && facts.stages.is_empty()
            && (begun.is_none() || !asks_more && node.stage == Stage::Build)
            && node.depends_on.iter().all(|edge| is_behind(&edge.on))
    };
    nodes
        .iter()
        .all(|node| node.parent.is_none() && is_plain(node))
}

/// A record with its writer, as far as the judgement asks.
struct Asked<'a> {
    moment: &'a Moment,
    by: Option<&'a Person>,
    /// The extent of the question, beyond the stage.
    asks: Asks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// The stage alone.
    Stage,
    /// Waits but for those outside of the list.
    List,
    All,
    /// Waits of all kinds, and the writer may be who is waited for.
    AllBy,
}

struct Judge<'j> {
    graph: &'j Graph<'j>,
    state: &'j State,
    world: &'j World,
    /// The number of the first run of each task that passed.
    runs: HashMap<String, u64>,
    /// Set when some tasks are skipped by no record.
    has_fallen: bool,
    /// Results that count, of each node, with their numbers.
    good: Vec<Vec<(u64, Status)>>,
    /// Words that a node may begin, and that count.
    said: HashMap<usize, Vec<(u64, Person)>>,
    found: Vec<Early>,
}

impl<'j> Judge<'j> {
    fn of(graph: &'j Graph<'j>, state: &'j State, world: &'j World) -> Self {
        let mut runs: HashMap<String, u64> = HashMap::new();
        let passed = state.evidence.iter().filter(|run| run.value.proves());
        let passed = passed.filter_map(|run| Some((run.value.task.as_ref()?, run.seq)));
        let waived = state.build.waivers.iter().map(|(id, one)| (id, one.seq));
        let before = state.passed.iter().map(|(id, seq)| (id, *seq));
        for (id, seq) in passed.chain(waived).chain(before) {
            let first = runs.entry(id.to_lowercase()).or_insert(seq);
            *first = seq.min(*first);
        }
        Judge {
            graph,
            state,
            world,
            runs,
            has_fallen: graph
                .nodes
                .iter()
                .any(|node| node.on_failed == OnFailed::Skip),
            good: vec![Vec::new(); graph.nodes.len()],
            said: HashMap::new(),
            found: Vec::new(),
        }
    }

    /// Judges the records about a node, of which those count that its dependents go by.
    fn look_at(&mut self, at: usize) {
        let Some(facts) = self.state.task(&self.graph.nodes[at].id) else {
            return;
        };
        for past in &facts.past {
            self.past(at, past);
        }
        for word in &facts.allowed {
            if self.judge(at, word, Step::Open, Asks::List) {
                let said = self.said.entry(at).or_default();
                said.push((word.seq, word.signed.by.clone()));
            }
        }
        for decision in &facts.decisions {
            if !self.judge(at, decision, Step::Decide, Asks::All) {
                continue;
            }
            let node = &self.graph.nodes[at];
            let Some(gate) = node.gate.as_deref() else {
                continue;
            };
            let verdict = counts(node.kind, gate, &decision.value).verdict;
            let proceeds =
                verdict == Verdict::Proceed && misfit(gate, &decision.value, self.state).is_none();
            if proceeds || gate.superseded.is_some() {
                self.good[at].push((decision.seq, Status::Completed));
            }
        }
        self.result(at, facts);
    }

    fn result(&mut self, at: usize, facts: &TaskFacts) {
        let is_work = self.graph.nodes[at].kind == NodeKind::Work;
        match (facts.status, &facts.opened, &facts.completion) {
            (Status::Skipped, ..) => self.good[at].push((facts.last.seq, Status::Skipped)),
            // Nobody opens work; that is told elsewhere.
            (Status::Completed, Some(opened), _) if !is_work => {
                let counts = self.judge(at, opened, Step::Open, Asks::AllBy);
                self.good[at].extend(counts.then_some((opened.seq, Status::Completed)));
            }
            (Status::Completed, None, Some(done)) => {
                self.name(at, facts, (done, Step::Done));
                self.good[at].push((done.seq, Status::Completed));
            }
            // It takes nothing from anybody but an attempt, and `on_failed` may let others go on behind it.
            (Status::Failed, ..) => self.name(at, facts, (&facts.last, Step::Fail)),
            _ => {}
        }
    }

    /// Keeps a result whose work was begun too early. It counts all the same.
    fn name<T>(&mut self, at: usize, facts: &TaskFacts, (one, step): (&Stamped<T>, Step)) {
        let is_work = self.graph.nodes[at].kind == NodeKind::Work;
        let begun = facts.beginning().filter(|_| is_work);
        let asked = Asked {
            moment: &begun.unwrap_or_else(|| Moment::of(one)),
            by: Some(&one.signed.by),
            asks: if is_work && facts.relisted {
                Asks::Stage
            } else {
                Asks::All
            },
        };
        let waits = self.waits(at, &asked);
        if !waits.is_empty() {
            self.keep(at, (one, step), waits);
        }
    }

    fn past(&mut self, at: usize, past: &Past) {
        let moment = past.begun.as_ref().unwrap_or(&past.given);
        let asks = match (past.step, past.relisted) {
            (Step::Done, true) => Asks::Stage,
            (Step::Done, false) | (Step::Decide, _) => Asks::All,
            // Who gave it is not kept.
            _ => Asks::List,
        };
        let asked = Asked {
            moment,
            by: None,
            asks,
        };
        let lets_on = past
            .verdict
            .is_none_or(|verdict| verdict == Verdict::Proceed);
        let status = match past.step {
            Step::Skip => Status::Skipped,
            _ => Status::Completed,
        };
        if lets_on && (past.step == Step::Skip || self.waits(at, &asked).is_empty()) {
            self.good[at].push((past.given.seq, status));
        }
    }

    /// Tells whether a record counts, and keeps a record that does not.
    fn judge<T>(&mut self, at: usize, one: &Stamped<T>, step: Step, asks: Asks) -> bool {
        let moment = Moment::of(one);
        let asked = Asked {
            moment: &moment,
            by: Some(&one.signed.by),
            asks,
        };
        let waits = self.waits(at, &asked);
        let counts = waits.is_empty();
        if !counts {
            self.keep(at, (one, step), waits);
        }
        counts
    }

    fn keep<T>(&mut self, at: usize, (one, step): (&Stamped<T>, Step), waits: Vec<Wait>) {
        self.found.push(Early {
            op: one.op.clone(),
            seq: one.seq,
            task: self.graph.nodes[at].id.clone(),
            step,
            by: one.signed.by.clone(),
            waits,
        });
    }

    /// Lists all that a node waited for when a record about it was written.
    fn waits(&self, at: usize, asked: &Asked<'_>) -> Vec<Wait> {
        let before = Before {
            judge: self,
            at,
            asked,
        };
        let mut waits = self.graph.held(at, &before);
        match asked.asks {
            Asks::Stage => waits.retain(|wait| matches!(wait, Wait::Stage { .. })),
            Asks::List => waits.retain(|wait| !matches!(wait, Wait::World(_))),
            Asks::All | Asks::AllBy => {}
        }
        waits
    }

    /// The status of a node for whoever wrote a record of this number, as far as the node let others go on.
    fn status_before(&self, at: usize, seq: u64) -> Status {
        let mut before = self.good[at].iter().filter(|(given, _)| *given < seq);
        let is_done = before
            .clone()
            .any(|(_, status)| *status == Status::Completed);
        let node = &self.graph.nodes[at];
        let has_run = || {
            let first = self.runs.get(&node.id.key());
            is_by_run(node) && first.is_some_and(|first| *first < seq)
        };
        if is_done || has_run() || self.was_passed(node, seq) {
            Status::Completed
        } else if before.next().is_some() || self.has_fallen && self.is_untouched(node) {
            Status::Skipped
        } else {
            Status::Pending
        }
    }

    /// Tells whether no record says how a node ended: another that failed may have taken it along.
    fn is_untouched(&self, node: &Node) -> bool {
        let status = self.state.task_status(&node.id);
        matches!(status, Status::Pending | Status::Failed)
    }

    /// Tells whether a gate stands in the place of one that let the work go on before, and was decided otherwise since.
    fn was_passed(&self, node: &Node, seq: u64) -> bool {
        let attempt = node.gate.as_deref().map_or(0, |gate| gate.attempt);
        let Some((root, _)) = node.id.as_str().rsplit_once('.').filter(|_| attempt > 0) else {
            return false;
        };
        let others = (1..attempt).map(|other| format!("{root}.{other}"));
        let mut others = others.chain([root.to_owned()]);
        others.any(|id| {
            let at = TaskId::parse(&id).and_then(|id| self.graph.find(&id));
            at.is_some_and(|at| self.proceeded_before(at, seq))
        })
    }

    /// Tells whether a gate that is superseded now was passed by an earlier decision.
    fn proceeded_before(&self, at: usize, seq: u64) -> bool {
        let facts = self.state.task(&self.graph.nodes[at].id);
        let past = facts.map_or(&[][..], |facts| &facts.past);
        past.iter().any(|past| {
            let lets_on = past
                .verdict
                .is_none_or(|verdict| verdict == Verdict::Proceed);
            lets_on && past.given.seq < seq
        })
    }
}

/// The moment at which a record about a node was written.
struct Before<'b, 'j> {
    judge: &'b Judge<'j>,
    at: usize,
    asked: &'b Asked<'b>,
}

impl Then for Before<'_, '_> {
    fn status(&self, at: usize) -> Status {
        self.judge.status_before(at, self.asked.moment.seq)
    }

    fn stage(&self) -> Stage {
        let id = &self.judge.graph.nodes[self.at].id;
        let facts = self.judge.state.task(id);
        let stages = facts.map(|facts| &facts.stages);
        let stage = stages.and_then(|stages| stages.get(&self.asked.moment.op));
        stage.copied().unwrap_or(Stage::Build)
    }

    fn open(&self, node: &Node) -> Vec<Open> {
        let Asked {
            moment, by, asks, ..
        } = self.asked;
        let said = self.judge.said.get(&self.at).map_or(&[][..], Vec::as_slice);
        let said = said.iter().filter(|(seq, _)| *seq < moment.seq);
        let mut people: Vec<&Person> = said.map(|(_, person)| person).collect();
        people.extend(by.filter(|_| *asks == Asks::AllBy));
        self.judge.world.was_open(node, moment, &people)
    }
}

impl State {
    /// The state without the words among these records: they were not given.
    #[must_use]
    pub fn without(&self, early: &[Early]) -> State {
        let mut state = self.clone();
        let words = || early.iter().filter(|one| one.is_word());
        let ops: BTreeSet<&OpId> = words().map(|one| &one.op).collect();
        let keys: BTreeSet<String> = words().map(|one| one.task.key()).collect();
        let facts = state
            .tasks
            .iter_mut()
            .filter(|(key, _)| keys.contains(*key));
        for (_, facts) in facts {
            let is_early = |op: &OpId| ops.contains(op);
            facts.allowed.retain(|one| !is_early(&one.op));
            facts.decisions.retain(|one| !is_early(&one.op));
            facts.opened = facts.opened.take().filter(|one| !is_early(&one.op));
            facts.completion = facts.completion.take().filter(|one| !is_early(&one.op));
        }
        state
    }
}
