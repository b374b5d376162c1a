//! `task decide` and `task open`: values come in, and what follows is computed by [`loopx_rules::task::decide`]. Here
//! they meet the session: what is judged has to be done, and what a decision rests on has to be there.

use super::{Plan, file_of, outputs};
use crate::flow::context::Context;
use crate::flow::lease;
use crate::flow::transaction::{Act, Done, Facts, Needs, act_beside, load_active};
use crate::flow::workcopy::{FileStatus, WorkCopy};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::lead_of;
use loopx_rules::session::State;
use loopx_rules::task::decide::{
    Decision, Gate, Ground, Judged, Rubric, Said, Standing, Verdict, counting, files,
    has_nothing_new, is_alike, judge, misfit, results, sent_back_by, standing, way_fault,
};
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::graph::{Graph, Wait};
use loopx_rules::task::node::{Node, NodeKind, TaskId};
use loopx_rules::task::plan;
use loopx_rules::task::status::{Status, TaskFacts};
use loopx_rules::task::world::Open;
use loopx_store as store;
use std::collections::BTreeSet;

/// Arguments of `task decide`.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecideRequest {
    pub task: String,
    pub decision: Decision,
    /// Names of what the decision rests on.
    pub evidence: Vec<String>,
    pub reason: Option<String>,
    /// Values of a text, where they came from one.
    pub said: Option<Said>,
    /// Set when some scores are figures of a specification package, which are of a hundred.
    pub has_figures: bool,
}

/// A decision, and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub task: TaskId,
    pub given: Option<Verdict>,
    pub judged: Judged,
    /// The tasks that were inserted.
    pub inserted: Vec<TaskId>,
    /// The tasks that are not done by the outcome that was chosen.
    pub fallen: Vec<TaskId>,
    /// Gate that is decided in place of this one.
    pub next: Option<TaskId>,
    /// Evidence of a goal that nobody finds.
    pub missing: Vec<String>,
}

/// Records a decision.
pub(crate) fn decide(ctx: &Context, request: &DecideRequest) -> Result<Done<Decided>> {
    act_beside(ctx, Needs::Code, |facts| {
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let at = plan.find(&graph, &request.task)?;
        let node = &plan.nodes[at];
        let gate = require_gate(&plan, node)?;
        require_free(ctx, facts, &plan, at)?;
        require_judged(facts, &plan, &graph, at)?;
        let mut decision = given(node, gate, request)?;
        let goes_on = !matches!(decision.verdict, Some(Verdict::Fix | Verdict::Escalate));
        let is_typed = request.said.is_none() && decision.verdict.is_some();
        if node.kind == NodeKind::Goal && goes_on && is_typed && request.evidence.is_empty() {
            return Err(Failure::usage(
                Code::DecisionValues,
                format!("{} is a goal: expected what shows that it is met", node.id),
            )
            .help(hint![
                lead_of(node, plan.statuses[at], plan.state),
                "  (REF: a run like @12, an artifact, or a committed file)"
            ]));
        }
        let (evidence, missing) = evidence(ctx, facts, (node, goes_on), &request.evidence)?;
        decision.evidence = evidence;
        decision.tree = facts.code.as_ref().map(|code| code.tree.clone());
        decision.judged = results(&graph, at, plan.state);
        decision.saw = files(&graph, at, plan.state);
        if gate.goals && goes_on {
            add_open_goals(&plan, &graph, at, &mut decision);
        }
        decision.repeated = repeated(&plan, node, (&decision, request.reason.as_deref()));
        if let Some(why) = misfit(gate, &decision, plan.state) {
            return Err(
                Failure::usage(Code::DecisionValues, format!("{}: {why}", node.id))
                    .help(command!("task show {}", node.id)),
            );
        }
        let judged = judge(node.kind, gate, &decision);
        decision.came_to = Some(judged.verdict);
        if judged.verdict == Verdict::Proceed {
            require_changed(ctx, facts, &plan, node)?;
        }
        let left = outputs::collect(ctx, facts, node)?;
        outputs::require(ctx, facts, node, &outputs::with(&facts.state, &left))?;
        let what = match decision.verdict {
            Some(given) if judged.adjusted => {
                format!(
                    "{} is decided: {} (given: {given})",
                    node.id, judged.verdict
                )
            }
            _ => format!("{} is decided: {}", node.id, judged.verdict),
        };
        let falls = gate.falls(decision.outcome.as_deref());
        let falls = falls.iter().filter(|_| judged.verdict == Verdict::Proceed);
        let decided = Decided {
            fallen: falls.cloned().collect(),
            task: node.id.clone(),
            given: decision.verdict,
            judged,
            inserted: Vec::new(),
            next: None,
            missing,
        };
        let event = TaskEvent::Decided {
            task: node.id.clone(),
            decision,
        };
        let act = Act::new(event, what, decided).reason(request.reason.clone());
        Ok(act.outputs(left))
    })
    .map(|done| with_inserted(ctx, done))
}

/// The values that were given, on the scale of the gate.
fn given(node: &Node, gate: &Gate, request: &DecideRequest) -> Result<Decision> {
    let has_other_scale = gate.rubric.scale != Rubric::SCALE;
    if request.has_figures && has_other_scale {
        let why = format!(
            "{} is judged on a scale up to {}, and the figures of a package go up to {}",
            node.id,
            gate.rubric.scale,
            Rubric::SCALE
        );
        return Err(
            Failure::usage(Code::DecisionValues, why).help(command!("task show {}", node.id))
        );
    }
    if let Some(said) = &request.said {
        require_own(node, gate, said)?;
        // A score of a hundred says nothing on another scale.
        if said.is_of_hundred && has_other_scale {
            return Ok(Decision {
                parse_failed: true,
                ..Decision::default()
            });
        }
    }
    Ok(request.decision.clone())
}

/// Adds the goals that are open and do not wait for the gate to those that are not met.
fn add_open_goals(plan: &Plan<'_>, graph: &Graph<'_>, at: usize, decision: &mut Decision) {
    let mut behind = BTreeSet::new();
    let mut next = vec![at];
    while let Some(at) = next.pop() {
        next.extend(graph.dependents(at).iter().filter(|to| behind.insert(**to)));
    }
    let goals = plan.nodes.iter().enumerate();
    let goals = goals.filter(|(at, node)| node.kind == NodeKind::Goal && !behind.contains(at));
    for (_, goal) in goals.filter(|(at, _)| !plan.statuses[*at].is_terminal()) {
        let id = goal.id.as_str();
        if !decision
            .unmet
            .iter()
            .any(|name| name.eq_ignore_ascii_case(id))
        {
            decision.unmet.push(id.to_owned());
        }
    }
}

/// The number of decisions before this one, one behind the other, that gave the same: the score, and why.
fn repeated(plan: &Plan<'_>, node: &Node, given: (&Decision, Option<&str>)) -> u32 {
    let before = sent_back_by(&plan.nodes, node);
    let before = before.and_then(|before| counting(before, plan.state));
    match before {
        Some((one, judged))
            if judged.score.is_some() && is_alike((&one.value, one.reason.as_deref()), given) =>
        {
            one.value.repeated.saturating_add(1)
        }
        _ => 0,
    }
}

/// Adds the tasks that stand in the plan since the decision, and the gate that follows.
fn with_inserted(ctx: &Context, mut done: Done<Decided>) -> Done<Decided> {
    let prefix = |node: &Node| node.id.key();
    let read = || -> Result<(Vec<Node>, Option<TaskId>)> {
        let (policy, _) = ctx.policy_if_there(&done.state)?;
        let texts = crate::flow::transaction::texts_here(ctx, &done.state, &policy)?;
        let nodes = plan::now(&texts, &done.state).unwrap_or_default();
        let own = nodes
            .iter()
            .find(|node| prefix(node) == done.value.task.key());
        let next = own.and_then(|node| node.gate.as_ref()?.superseded.clone());
        Ok((nodes.into_owned(), next))
    };
    let Ok((nodes, Some(next))) = read() else {
        return done;
    };
    let begins = format!("{}.", next.key());
    let inserted = nodes
        .iter()
        .filter(|node| prefix(node).starts_with(&begins));
    done.value.inserted = inserted.map(|node| node.id.clone()).collect();
    done.value.next = Some(next);
    done
}

/// Refuses what is no decision, and one that was decided.
fn require_gate<'p>(plan: &'p Plan<'_>, node: &'p Node) -> Result<&'p Gate> {
    let id = &node.id;
    let invalid = |why: String| Failure::refused(Code::TaskStepInvalid, why);
    let Some(gate) = node.gate.as_deref() else {
        let lead = match plan.state.task_status(id) {
            Status::Pending if plan.waits(id) => command!("task show {id}"),
            status => lead_of(node, status, plan.state),
        };
        return Err(invalid(format!(
            "{id} is a {} task, and no verdict ends it",
            node.kind
        ))
        .help(lead));
    };
    match standing(node, plan.state) {
        Some(Standing::Superseded(next)) => {
            let why = format!("{id} was decided as a fix; {next} is decided in its place");
            return Err(invalid(why).help(command!("task show {next}")));
        }
        Some(Standing::Escalated(_)) => {
            return Err(
                Failure::waiting(Code::CheckpointOpen, format!("{id} waits for a person"))
                    .help(lead_of(node, Status::Pending, plan.state)),
            );
        }
        Some(Standing::Proceeds(_) | Standing::Opened) => {
            return Err(
                invalid(format!("{id} is decided, and goes on")).help(command!("task show {id}"))
            );
        }
        _ => {}
    }
    if plan.state.task_status(id) == Status::Skipped {
        return Err(invalid(format!("{id} was skipped")).help(command!("task retry {id}")));
    }
    Ok(gate)
}

/// Refuses a gate that somebody else has.
fn require_free(ctx: &Context, facts: &Facts<'_>, plan: &Plan<'_>, at: usize) -> Result<()> {
    let Some(claim) = plan.facts(at).and_then(TaskFacts::holder) else {
        return Ok(());
    };
    let owner = lease::owner(&ctx.repo, None)?;
    if claim.value.is_of(&owner) || plan.until(claim) <= super::now(facts) {
        Ok(())
    } else {
        Err(plan.held(&plan.nodes[at].id, claim))
    }
}

/// Refuses a word about work that is not done.
fn require_judged(facts: &Facts<'_>, plan: &Plan<'_>, graph: &Graph<'_>, at: usize) -> Result<()> {
    let mut waits = graph.waits(at, plan.now());
    waits.retain(Wait::is_before);
    let Some(first) = waits.first() else {
        return Ok(());
    };
    if waits.iter().all(|wait| matches!(wait, Wait::World(_))) {
        return Err(super::take::not_ready(facts, &plan.nodes[at].id, &waits));
    }
    let lead = |wait: &Wait| super::take::lead(facts, wait);
    let blockers = waits
        .iter()
        .map(|wait| Blocker::new(Code::DecisionEarly, wait.words(), lead(wait)));
    Err(Failure::refused(
        Code::DecisionEarly,
        format!("what {} judges is not done", plan.nodes[at].id),
    )
    .help(lead(first))
    .blockers(blockers.collect()))
}

/// Refuses an agent to go on with what was sent back, where nothing of it is another one since: a person may.
fn require_changed(ctx: &Context, facts: &Facts<'_>, plan: &Plan<'_>, node: &Node) -> Result<()> {
    let Some(before) = sent_back_by(&plan.nodes, node) else {
        return Ok(());
    };
    let what = format!(
        "deciding {} where the code and the results have not changed since {} sent them back",
        node.id, before.id
    );
    let Err(refused) = facts.require_person(&what) else {
        return Ok(());
    };
    let tree = facts.code.as_ref().map(|code| &code.tree);
    let Some((fix, _)) =
        counting(before, plan.state).filter(|(fix, _)| fix.value.tree.as_ref() == tree)
    else {
        return Ok(());
    };
    let judges = node.gate.iter().flat_map(|gate| &gate.judges);
    let keys: BTreeSet<String> = judges.map(TaskId::key).collect();
    let judged = plan.nodes.iter();
    let judged: Vec<&Node> = judged
        .filter(|node| keys.contains(&node.id.key()))
        .collect();
    let then = state_before(ctx, &facts.state, fix.seq)?;
    if is_edited(ctx, &facts.state, &judged)? || !has_nothing_new(&judged, &then, &facts.state) {
        return Ok(());
    }
    let again = judged.iter().rev().find(|one| one.kind == NodeKind::Work);
    let again = again.map_or(&node.id, |one| &one.id);
    Err(refused.help(hint![
        "mend what was sent back, and commit it: ",
        command!("task retry {again} --reason WHY"),
        "  or let a person decide: ",
        command!("task show {}", node.id)
    ]))
}

/// The session as it was before the operation of this number.
fn state_before(ctx: &Context, state: &State, seq: u64) -> Result<State> {
    let snapshot = ctx.store()?.snapshot()?;
    let session = load_active(&snapshot, &state.id)?;
    let mut operations = snapshot.operations(&session)?;
    operations.retain(|op| op.seq < seq);
    store::replay(&ctx.repo, &state.id, &operations)
}

/// Tells whether an artifact that one of these tasks leaves has edits that are not saved.
fn is_edited(ctx: &Context, state: &State, judged: &[&Node]) -> Result<bool> {
    let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)? else {
        return Ok(false);
    };
    let statuses = copy.statuses(state)?;
    let edited = statuses.iter();
    let mut edited = edited.filter(|(_, status)| **status == FileStatus::Modified);
    Ok(edited.any(|(artifact, _)| {
        let mut named = judged.iter().flat_map(|node| &node.outputs);
        named.any(|path| path == artifact.path())
    }))
}

/// Refuses the result of another task.
fn require_own(node: &Node, gate: &Gate, said: &Said) -> Result<()> {
    let Some(task) = &said.task else {
        return Ok(());
    };
    let own = gate.judges.iter().chain([&node.id]);
    let is_own = own.clone().any(|id| id.key() == task.to_ascii_lowercase());
    if is_own {
        Ok(())
    } else {
        let own: Vec<&str> = own.map(TaskId::as_str).collect();
        Err(Failure::usage(
            Code::DecisionValues,
            format!(
                "the text is the result of `{task}`; expected one of {}",
                own.join(", ")
            ),
        )
        .help(command!("task show {}", node.id)))
    }
}

/// Grounds of a decision, by id. A goal that names evidence which nobody finds is not met; any other decision is
/// refused.
fn evidence(
    ctx: &Context,
    facts: &Facts<'_>,
    (node, goes_on): (&Node, bool),
    names: &[String],
) -> Result<(Vec<Ground>, Vec<String>)> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match resolve(ctx, facts, name, goes_on) {
            Ok(id) => found.push(Ground {
                name: name.clone(),
                id,
            }),
            Err(_) if node.kind == NodeKind::Goal => missing.push(name.clone()),
            Err(why) => {
                return Err(Failure::refused(Code::DecisionEvidence, why)
                    .help(command!("task show {}", node.id)));
            }
        }
    }
    Ok((found, missing))
}

/// The id of a run by its number or id, of an artifact of the session, or of a file of the code as it is committed. A
/// run that failed shows nothing to whoever lets the work go on.
fn resolve(
    ctx: &Context,
    facts: &Facts<'_>,
    name: &str,
    goes_on: bool,
) -> std::result::Result<String, String> {
    let mut runs = facts.state.evidence.iter().rev();
    let run = runs.find(|run| format!("@{}", run.seq) == name || run.op.as_str() == name);
    if let Some(run) = run {
        let tree = facts.code.as_ref().map(|code| &code.tree);
        if tree != Some(&run.value.tree) {
            return Err(format!(
                "the run {name} is about another tree than the code here"
            ));
        }
        if goes_on && !run.value.proves() {
            return Err(if run.value.passed() {
                format!(
                    "the run {name} changed {} while it ran, so the run is no evidence",
                    run.value.changed.join(", ")
                )
            } else {
                format!("the run {name} did not pass")
            });
        }
        return Ok(run.op.to_string());
    }
    let artifact = Artifact::parse(name).ok();
    let path = artifact.map_or(name, |artifact| artifact.path());
    file_of(&ctx.repo, &facts.state, path).ok_or_else(|| {
        format!("`{name}` is no run (@N), no artifact of the session, and no file of the code")
    })
}

/// A person's word, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub task: TaskId,
    /// Set when the task may begin by that word, and is not over.
    pub begins: bool,
}

/// A person lets a checkpoint pass, or a decision that waits for one, or a task begin that waits for that.
pub(crate) fn open(
    ctx: &Context,
    task: &str,
    (outcome, reason): (Option<String>, Option<String>),
) -> Result<Done<Opened>> {
    let reason = loopx_base::said(reason).ok_or_else(|| {
        Failure::usage(
            Code::ReasonRequired,
            "`task open` needs a reason: say what you looked at",
        )
        .help(match &outcome {
            Some(way) => command!(
                "task open {task} --outcome {} --reason WHY",
                shell_word(way)
            ),
            None => command!("task open {task} --reason WHY"),
        })
    })?;
    act_beside(ctx, Needs::Stage, |facts| {
        facts.require_person("opening a task")?;
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let at = plan.find(&graph, task)?;
        let node = &plan.nodes[at];
        let status = plan.statuses[at];
        let is_asked = match (node.kind, standing(node, plan.state)) {
            (NodeKind::Checkpoint, _) => matches!(status, Status::Pending | Status::Claimed),
            (_, Some(Standing::Escalated(_))) => true,
            _ => false,
        };
        let mut waits = graph.waits(at, plan.now());
        waits.retain(Wait::is_before);
        let (own, others) = take_persons(ctx, facts, &mut waits)?;
        let begins = !is_asked || !others.is_empty();
        if begins && (own.is_empty() || status != Status::Pending) {
            return Err(not_asked(facts, (node, status), &others)?);
        }
        require_free(ctx, facts, &plan, at)?;
        require_way(node, outcome.as_deref(), !begins)?;
        if begins {
            // What else has to come may come later.
            waits.retain(|wait| !matches!(wait, Wait::World(_)));
        }
        if !waits.is_empty() {
            return Err(super::take::not_ready(facts, &node.id, &waits));
        }
        let task = node.id.clone();
        let judged = results(&graph, at, plan.state);
        let saw = files(&graph, at, plan.state);
        let (event, what) = if begins {
            (
                TaskEvent::Allowed { task, judged, saw },
                format!("{} may begin", node.id),
            )
        } else {
            (
                TaskEvent::Opened {
                    task,
                    judged,
                    saw,
                    outcome: outcome.clone(),
                },
                format!("open {}", node.id),
            )
        };
        let opened = Opened {
            task: node.id.clone(),
            begins,
        };
        Ok(Act::new(event, what, opened).reason(Some(reason.clone())))
    })
}

/// The refusal of a word that a task does not wait for, or that others have to give.
fn not_asked(
    facts: &Facts<'_>,
    (node, status): (&Node, Status),
    others: &[Open],
) -> Result<Failure> {
    let id = &node.id;
    Ok(match others.first() {
        Some(open) if status == Status::Pending => {
            let (what, who) = (open.words(), facts.actor()?);
            let message = format!("{id} waits for {what}, and you are {who}");
            Failure::waiting(Code::CheckpointOpen, message).help(command!("task show {id}"))
        }
        _ => {
            let message = format!("{id} is {status}, and does not wait for a person");
            Failure::refused(Code::TaskStepInvalid, message).help(lead_of(
                node,
                status,
                &facts.state,
            ))
        }
    })
}

/// Refuses to open a gate that has several ways on, where nobody says which.
fn require_way(node: &Node, way: Option<&str>, goes_on: bool) -> Result<()> {
    let plain = Gate::plain(Vec::new());
    let gate = node.gate.as_deref().unwrap_or(&plain);
    match way_fault(gate, way, goes_on) {
        None => Ok(()),
        Some(fault) => Err(
            Failure::usage(Code::DecisionValues, format!("{}: {fault}", node.id)).help(match gate
                .outcome_words()
                .as_slice()
            {
                [] => command!("task open {} --reason WHY", node.id),
                _ => command!("task open {} --outcome WORD --reason WHY", node.id),
            }),
        ),
    }
}

/// The words that are waited for, taken out of the rest: those that whoever asks can give, and those of others.
fn take_persons(
    ctx: &Context,
    facts: &Facts<'_>,
    waits: &mut Vec<Wait>,
) -> Result<(Vec<Open>, Vec<Open>)> {
    let me = facts.actor()?;
    let mut names = facts.credentials.names(me);
    names.extend(ctx.repo.canonical(me).ok());
    let (words, rest): (Vec<Wait>, Vec<Wait>) = std::mem::take(waits)
        .into_iter()
        .partition(|wait| matches!(wait, Wait::World(open) if open.condition.is_word()));
    *waits = rest;
    let words = words.into_iter().filter_map(|wait| match wait {
        Wait::World(open) => Some(open),
        _ => None,
    });
    Ok(words.partition(|open| open.condition.is_persons(&names)))
}
