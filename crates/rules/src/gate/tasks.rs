//! The gate of open tasks: the forward transition of a stage is not ready while one of its tasks is claimed or failed, or
//! is open and nothing else speaks for it.
//!
//! A task of which no record speaks is completed by what passed on the present code: whoever works alone and takes
//! nothing has no step more for it. In the build the completion audit asks for that pass, so it is not asked for twice.
//! A task that waits for the world is completed by whoever took it then, and a run that passed before does not.
//! A decision, a checkpoint or a goal is completed by its records alone: no run stands for a person's word.

use super::super::session::State;
use super::super::stage::Stage;
use super::super::task::decide::{Gate, Rubric, Standing, asked, standing, statuses};
use super::super::task::graph::Graph;
use super::super::task::node::{Node, NodeKind, TaskId, Verification};
use super::super::task::plan;
use super::super::task::status::Status;
use super::{AuditItem, Proof, View, known};
use crate::artifact::Artifact;
use crate::policy::Policy;
use loopx_base::failure::{Blocker, Code};
use loopx_base::first_words;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::shell_word;
use loopx_base::working_tree::{CodeFacts, ReviewedCode};
use std::cell::OnceCell;

/// Status of each node, in their order: as its records say, or done where none speaks and its check has passed on the
/// present code, as the [`known`] lines of the audit say.
pub fn task_statuses(view: View<'_>, nodes: &[Node], audit: &[AuditItem]) -> Vec<Status> {
    let proven: std::collections::BTreeSet<&str> = audit
        .iter()
        .filter(|item| item.is_check() && item.is_proven())
        .map(|item| item.id.as_str())
        .collect();
    let by_records = |node: &Node| match view.state.task_status(&node.id) {
        Status::Pending if is_by_run(node) && proven.contains(node.id.as_str()) => {
            Status::Completed
        }
        Status::Completed if !is_earned(node, view.state) => {
            if is_by_run(node) && proven.contains(node.id.as_str()) {
                Status::Completed
            } else {
                Status::Failed
            }
        }
        status => status,
    };
    // Few lists have a word that completes anything.
    let graph = OnceCell::new();
    let decided = statuses(nodes, view.state, &graph).into_iter();
    let status =
        |(node, decided): (&Node, Option<Status>)| decided.unwrap_or_else(|| by_records(node));
    let mut statuses: Vec<Status> = nodes.iter().zip(decided).map(status).collect();
    close_early(nodes, &graph, &mut statuses);
    let fallen = plan::fallen_by(nodes, &statuses, view.state);
    for (status, cause) in statuses.iter_mut().zip(fallen) {
        if cause.is_some() {
            *status = Status::Skipped;
        }
    }
    statuses
}

/// Takes the word away by which a checkpoint or a decision passed before what it waits for was done: there was nothing
/// to see.
fn close_early<'n>(nodes: &'n [Node], graph: &OnceCell<Graph<'n>>, statuses: &mut [Status]) {
    let is_passed = |at: &usize, statuses: &[Status]| {
        let is_word = matches!(nodes[*at].kind, NodeKind::Checkpoint | NodeKind::Decision);
        is_word && statuses[*at] == Status::Completed
    };
    let passed: Vec<usize> = (0..nodes.len())
        .filter(|at| is_passed(at, statuses))
        .collect();
    if passed.is_empty() {
        return;
    }
    let graph = graph.get_or_init(|| Graph::of(nodes));
    // A node that closes may close another one behind it.
    while let Some(at) = passed
        .iter()
        .find(|at| is_passed(at, statuses) && graph.is_held(**at, statuses))
    {
        statuses[*at] = Status::Pending;
    }
}

/// Tells whether a run that passes completes a node of which no record speaks. A run says nothing of what a task waits
/// for, nor of what the task has to leave; and who works by a pipeline takes its tasks in their order.
pub(crate) fn is_by_run(node: &Node) -> bool {
    node.kind == NodeKind::Work
        && node.waits.is_empty()
        && node.outputs.is_empty()
        && node.part.is_none()
}

/// Tells whether work that a record completed was completed as `task done` does: nobody opens it, and no word stands
/// for a command. Who writes the branch by hand writes what they like; the task is then as one that failed. The run
/// itself is not asked for: a completion that went to the remote at once is there before it.
pub fn is_earned(node: &Node, state: &State) -> bool {
    let facts = state.task(&node.id);
    let facts = facts.filter(|facts| facts.status == Status::Completed);
    let (NodeKind::Work, Some(facts)) = (node.kind, facts) else {
        return true;
    };
    let has_command = || matches!(node.verification, Some(Verification::Cmd(_)));
    // A word that was given too early has none.
    let Some(done) = &facts.completion else {
        return false;
    };
    let is_by_run = !done.value.manual && done.value.tree.is_some();
    facts.opened.is_none() && (is_by_run || !has_command())
}

/// Tells whether clones wrote the list apart, and nobody settled it yet.
pub fn is_apart(state: &State) -> bool {
    let mut contested = state.contested();
    contested.any(|(artifact, _)| artifact == Artifact::TaskList)
}

/// The way on where the list cannot be read: versions of clones are settled, and after plan->build it is amended.
pub fn list_help(state: &State, policy: &Policy, help: Hint) -> Hint {
    if is_apart(state) {
        return command!("resolve");
    }
    let is_approved = state.stage == Stage::Build && !state.is_open(Artifact::TaskList);
    if is_approved && state.artifacts.contains_key(&Artifact::TaskList) {
        hint!["mend the file below .loopx, then: ", policy.amend_command()]
    } else {
        help
    }
}

/// The tasks that hold the way on from their stage.
pub fn open(view: View<'_>, stage: Stage) -> Vec<Blocker> {
    // Behind the verdict the code is what was judged, whatever is checked out.
    let verdict = view.state.verdict.as_ref();
    let is_asked = stage == Stage::Done && view.code.is_none();
    let judged = verdict.filter(|_| is_asked).map(|verdict| CodeFacts {
        head: verdict.value.head.clone(),
        tree: verdict.value.tree.clone(),
        is_dirty: false,
        uncommitted: Vec::new(),
        reviewed: ReviewedCode::default(),
    });
    let code = judged.as_ref().or(view.code);
    let view = View { code, ..view };
    // Whoever planned nothing and took nothing is not asked; a plan that cannot be read is another rule's.
    let Ok(nodes) = plan::now(view.texts, view.state) else {
        return Vec::new();
    };
    // The build answers for what an earlier stage, or none of the profile, left.
    let own = |node: &&Node| stage.works_on(node.stage);
    let is_audited = |node: &Node| stage == Stage::Build && is_by_run(node);
    let is_asked = !view.state.tasks.is_empty() || nodes.iter().any(|node| !is_audited(node));
    let is_asked = is_asked && nodes.iter().any(|node| own(&node));
    if !is_asked {
        return Vec::new();
    }
    let lines = known(view);
    let statuses = task_statuses(view, &nodes, &lines);
    let open: Vec<(&Node, Status)> = nodes
        .iter()
        .zip(statuses.iter().copied())
        .filter(|(node, status)| own(node) && is_open(is_audited(node), *status))
        .collect();
    if open.is_empty() && stage == Stage::Review && view.state.stage == stage {
        let again = stale(&nodes, &statuses, &lines).map(|(node, _)| done_elsewhere(view, node));
        return again.into_iter().collect();
    }
    let Some((first, status)) = open.first() else {
        return Vec::new();
    };
    let words = open.iter().map(|(node, status)| {
        let who = held_elsewhere(view, node).map(|who| format!(" (by {who})"));
        format!("{} is {status}{}", node.id, who.unwrap_or_default())
    });
    let words = first_words(&words.collect::<Vec<_>>());
    vec![match held_elsewhere(view, first) {
        Some(who) => Blocker::new(
            Code::TasksOpen,
            words,
            hint![
                format!("{who} ends it; to take it over: "),
                command!("take {} --take-over --reason WHY", first.id)
            ],
        ),
        None => {
            let graph = Graph::of(&nodes);
            let behind = behind_skipped(&graph, &statuses, |at| graph.nodes[at].id == first.id);
            let lead = behind.map(|behind| behind.lead(view.state));
            let lead = lead.unwrap_or_else(|| lead_of(first, *status, view.state));
            Blocker::new(Code::TasksOpen, words, lead)
        }
    }]
}

/// Work of the review that was done on other code than the review is about, and how its check stands on this.
fn stale<'n>(
    nodes: &'n [Node],
    statuses: &[Status],
    lines: &[AuditItem],
) -> Option<(&'n Node, Proof)> {
    let mut done = nodes.iter().zip(statuses);
    done.find_map(|(node, status)| {
        let is_done = node.stage == Stage::Review && *status == Status::Completed;
        let mut lines = lines.iter();
        let line = lines.find(|line| line.id.eq_ignore_ascii_case(node.id.as_str()))?;
        let is_stale = is_done && node.kind == NodeKind::Work && !line.is_proven();
        is_stale.then_some((node, line.proof))
    })
}

fn done_elsewhere(view: View<'_>, node: &Node) -> Blocker {
    let id = &node.id;
    let help = match &node.verification {
        Some(Verification::Cmd(_)) => view.policy.run_task(id.as_str()),
        _ => command!("task retry {id} --reason WHY").because("the code changed since"),
    };
    let message = format!("{id} was done on other code than this");
    Blocker::new(Code::TasksOpen, message, help)
}

/// Tells whether work of the review was done on other code than this.
pub fn is_review_stale(view: View<'_>) -> bool {
    let Ok(nodes) = plan::now(view.texts, view.state) else {
        return false;
    };
    let is_of_review = |node: &Node| node.stage == Stage::Review;
    if view.state.tasks.is_empty() || !nodes.iter().any(is_of_review) {
        return false;
    }
    let lines = known(view);
    let statuses = task_statuses(view, &nodes, &lines);
    stale(&nodes, &statuses, &lines).is_some()
}

/// The task of the review that was done once, and whose check fails on the code that the review is about now.
pub fn failed_since(view: View<'_>) -> Option<TaskId> {
    let nodes = plan::now(view.texts, view.state).ok()?;
    let lines = known(view);
    let statuses = task_statuses(view, &nodes, &lines);
    let (node, proof) = stale(&nodes, &statuses, &lines)?;
    (proof == Proof::Failed).then(|| node.id.clone())
}

/// A task that goes nowhere by itself: along its chain stands one that was skipped.
#[derive(Clone, Debug)]
pub struct BehindSkipped<'n> {
    /// Task that waits for the skipped one.
    pub waits: &'n TaskId,
    pub skipped: &'n Node,
}

impl BehindSkipped<'_> {
    /// Command that does the skipped task after all.
    pub fn retry(&self, state: &State) -> Hint {
        retry(self.skipped, state)
    }

    /// Command that skips the waiting task; tasks that wait for that one fall, too.
    pub fn skip(&self) -> Hint {
        command!("task skip {} --reason WHY", self.waits).because("a person decides")
    }

    fn lead(&self, state: &State) -> Hint {
        let (retry, skip) = (self.retry(state), self.skip());
        if plan::is_at_cap(self.skipped, state) {
            hint![skip, "  or: ", retry]
        } else {
            hint![retry, "  or: ", skip]
        }
    }
}

/// Command by which a task is tried again. Beyond its cap it takes a reason; that, and to do after all what was skipped, is
/// a person's word.
pub fn retry(node: &Node, state: &State) -> Hint {
    let id = &node.id;
    if plan::is_at_cap(node, state) {
        command!("task retry {id} --reason WHY").persons()
    } else if state.task_status(id) == Status::Skipped {
        command!("task retry {id}").persons()
    } else {
        command!("task retry {id}")
    }
}

/// Task that goes nowhere because of one that was skipped, the first of some.
pub fn behind_skipped<'n>(
    graph: &Graph<'n>,
    statuses: &[Status],
    is_asked: impl Fn(usize) -> bool,
) -> Option<BehindSkipped<'n>> {
    let blocked = graph.blocked(statuses).into_iter();
    let mut blocked = blocked.filter(|chain| chain.first().is_some_and(|at| is_asked(*at)));
    let (waits, end) = blocked.find_map(|chain| {
        let (waits, end) = (*chain.iter().rev().nth(1)?, *chain.last()?);
        (statuses[end] == Status::Skipped).then_some((waits, end))
    })?;
    Some(BehindSkipped {
        waits: &graph.nodes[waits].id,
        skipped: &graph.nodes[end],
    })
}

/// Person who has a task in another worktree than the one that asks.
fn held_elsewhere<'v>(view: View<'v>, node: &Node) -> Option<&'v str> {
    let here = view.worktree?;
    let claim = view.state.task(&node.id)?.holder()?;
    (claim.value.owner != here).then_some(claim.signed.by.name.as_str())
}

/// Tells whether a task holds its stage. Work that is pending in the build is asked for by the audit.
fn is_open(is_audited: bool, status: Status) -> bool {
    match status {
        Status::Completed | Status::Skipped | Status::Superseded => false,
        Status::Pending => !is_audited,
        Status::Claimed | Status::Failed => true,
    }
}

/// Hint that leads on from where a task is.
pub fn lead_of(node: &Node, status: Status, state: &State) -> Hint {
    let id = &node.id;
    match (node.kind, status) {
        (NodeKind::Decision | NodeKind::Goal, Status::Pending | Status::Claimed) => {
            match standing(node, state) {
                Some(Standing::Escalated(_)) => open_escalated(node),
                _ => decide(node, state),
            }
        }
        (NodeKind::Checkpoint, Status::Pending) => command!("task open {id} --reason WHY"),
        (_, Status::Pending) => command!("take {id}"),
        (_, Status::Failed) => retry(node, state),
        (_, Status::Claimed) => command!("task done {id}"),
        (_, Status::Completed | Status::Skipped | Status::Superseded) => {
            command!("task show {id}")
        }
    }
}

/// The command by which a person lets an escalated gate pass.
fn open_escalated(node: &Node) -> Hint {
    let id = &node.id;
    let words = node
        .gate
        .as_deref()
        .map_or_else(Vec::new, Gate::outcome_words);
    if words.is_empty() {
        return command!("task open {id} --reason WHY");
    }
    let open = command!("task open {id} --outcome WORD --reason WHY");
    open.note(format!("({})", words.join(", or ")))
}

/// The command that gives the values of a gate, with places where only whoever judges knows what to write.
fn decide(node: &Node, state: &State) -> Hint {
    let id = &node.id;
    let gate = node.gate.as_deref();
    let dimensions = gate.map_or(&[][..], |gate| gate.rubric.dimensions.as_slice());
    let views: Vec<&String> = gate.map_or_else(Vec::new, |gate| asked(gate, state).collect());
    let value = |name: &String| shell_word(&format!("{name}=N"));
    let is_goal = node.kind == NodeKind::Goal;
    if !dimensions.is_empty() {
        let scores: Vec<String> = dimensions.iter().map(|one| value(&one.name)).collect();
        let scores = scores.join(",");
        let decide = if is_goal {
            command!("task decide {id} --scores {scores} --evidence REF")
        } else {
            command!("task decide {id} --scores {scores}")
        };
        let scale = gate.map_or(Rubric::SCALE, |gate| gate.rubric.scale);
        return decide.note(format!("(N from 0 to {scale})"));
    }
    if !views.is_empty() {
        let ratings: Vec<String> = views.into_iter().map(value).collect();
        let ratings = ratings.join(" --rating ");
        let decide = if is_goal {
            command!("task decide {id} --rating {ratings} --evidence REF")
        } else {
            command!("task decide {id} --rating {ratings}")
        };
        return decide.note("(N from 1 to 5)");
    }
    let has_outcomes = gate.is_some_and(|gate| !gate.outcomes.is_empty());
    let decide = if is_goal {
        command!("task decide {id} --verdict {VERDICT} --evidence REF")
    } else if has_outcomes {
        let words = gate.map_or_else(Vec::new, Gate::outcome_words);
        let decide = command!("task decide {id} --verdict proceed --outcome WORD");
        return decide.note(format!(
            "({}; or --verdict escalate --reason WHY)",
            words.join(", or ")
        ));
    } else {
        command!("task decide {id} --verdict {VERDICT}")
    };
    decide.note("(proceed; fix or escalate with --reason WHY)")
}

/// The place of a verdict in a command: whoever judges says which, and no hint does.
const VERDICT: &str = "VERDICT";
