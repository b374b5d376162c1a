//! The small steps of a task: failed, given back, to be done again, not done at all.

use super::Plan;
use crate::flow::context::Context;
use crate::flow::lease;
use crate::flow::transaction::{Act, Done, Facts, Needs};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::OpId;
use loopx_rules::lease::Owner;
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::{Node, TaskId};
use loopx_rules::task::plan;
use loopx_rules::task::status::{Status, Step, TaskFacts};

/// A task that took a step.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub task: TaskId,
    pub status: Status,
    /// Number of failed attempts; the cap says how often the task may be tried.
    pub failures: u32,
    pub cap: u32,
}

/// Records a step, at the remote first where that is wanted.
fn record(
    ctx: &Context,
    decide: impl FnMut(&Facts<'_>) -> Result<Act<Moved>>,
) -> Result<Done<Moved>> {
    super::record(ctx, (Needs::Stage, false), decide).map(|(done, _)| done)
}

fn reason_required(task: Option<&str>, step: Step) -> Failure {
    let help = match (task, step) {
        (Some(task), Step::Skip) => command!("task skip {task} --reason WHY"),
        (Some(task), _) => command!("task fail {task} --reason WHY"),
        (None, _) => command!("task fail --reason WHY"),
    };
    let why = format!("`task {step}` needs a reason");
    Failure::usage(Code::ReasonRequired, why).help(help)
}

/// The attempt ended without a result.
pub(crate) fn fail(
    ctx: &Context,
    task: Option<&str>,
    reason: Option<String>,
) -> Result<Done<Moved>> {
    let reason = loopx_base::said(reason).ok_or_else(|| reason_required(task, Step::Fail))?;
    own(ctx, task, Step::Fail, Some(reason))
}

/// Gives a task back, by whoever has it.
pub(crate) fn release(
    ctx: &Context,
    task: Option<&str>,
    reason: Option<String>,
) -> Result<Done<Moved>> {
    own(ctx, task, Step::Release, reason)
}

/// A step of whoever has the task.
fn own(
    ctx: &Context,
    task: Option<&str>,
    step: Step,
    reason: Option<String>,
) -> Result<Done<Moved>> {
    record(ctx, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        if let (Some((id, claim)), Step::Release) = (unlisted(facts, task, &owner), step) {
            return Ok(given_back(id, claim, reason.clone()));
        }
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let at = plan.meant(&graph, task, &owner)?;
        let claim = plan.own_claim(at, &owner, step)?.op.clone();
        let id = plan.nodes[at].id.clone();
        let failures = plan.facts(at).map_or(0, |facts| facts.failures);
        let (event, status, failures) = match step {
            Step::Fail => (
                TaskEvent::Failed {
                    task: id.clone(),
                    claim,
                },
                Status::Failed,
                failures + 1,
            ),
            _ => (
                TaskEvent::Released {
                    task: id.clone(),
                    claim,
                },
                Status::Pending,
                failures,
            ),
        };
        let moved = Moved {
            task: id.clone(),
            status,
            failures,
            cap: plan.nodes[at].cap,
        };
        let what = match step {
            Step::Fail => format!("{id} failed"),
            _ => format!("release {id}"),
        };
        let failure = (step == Step::Fail && moved.failures >= moved.cap).then(|| {
            format!(
                "task {id} of session {} failed {} times, its cap: {}",
                facts.state.id,
                moved.failures,
                reason.as_deref().unwrap_or("no reason was given")
            )
        });
        let act = Act::new(event, what, moved).reason(reason.clone());
        Ok(act.failure(failure))
    })
}

/// The claim of a task that the list has no more, because that was taken back or written again: the only one of whoever
/// asks, or the one that is named.
fn unlisted(facts: &Facts<'_>, task: Option<&str>, owner: &Owner) -> Option<(TaskId, OpId)> {
    let state = &facts.state;
    let is_named =
        |one: &TaskFacts| task.is_none_or(|name| one.id.as_str().eq_ignore_ascii_case(name.trim()));
    let own = state.tasks.values().filter(|one| is_named(one));
    let mut own = own.filter_map(|one| {
        let claim = one.holder().filter(|claim| claim.value.is_of(owner))?;
        Some((one.id.clone(), claim.op.clone()))
    });
    let (Some(only), None) = (own.next(), own.next()) else {
        return None;
    };
    let listed = plan::now(&facts.texts, state).ok()?;
    listed.iter().all(|node| node.id != only.0).then_some(only)
}

/// The record that gives back a task of no list: its claim says all that is known of it.
fn given_back(id: TaskId, claim: OpId, reason: Option<String>) -> Act<Moved> {
    let moved = Moved {
        task: id.clone(),
        status: Status::Pending,
        failures: 0,
        cap: Node::CAP,
    };
    let what = format!("release {id}");
    let event = TaskEvent::Released { task: id, claim };
    Act::new(event, what, moved).reason(reason)
}

/// Puts a task back to be done again. Beyond its cap a person says so, with a reason.
pub(crate) fn retry(ctx: &Context, task: &str, reason: Option<&str>) -> Result<Done<Moved>> {
    record(ctx, |facts| {
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let at = plan.find(&graph, task)?;
        plan.require(at, Step::Retry)?;
        let node = &plan.nodes[at];
        let failures = plan.facts(at).map_or(0, |facts| facts.failures);
        if failures >= node.cap && reason.is_none() {
            return Err(Failure::refused(
                Code::TaskCapReached,
                format!(
                    "{} failed {failures} times, and at most {} attempts are allowed; a person has to decide about another attempt",
                    node.id, node.cap
                ),
            )
            .help(hint![
                loopx_rules::gate::retry(node, &facts.state),
                "  or: ",
                command!("task skip {} --reason WHY", node.id)
            ]));
        }
        if failures >= node.cap {
            facts.require_person("another attempt beyond the cap")?;
        }
        if plan.statuses[at] == Status::Skipped {
            facts.require_person("retrying a skipped task")?;
        }
        let id = node.id.clone();
        let moved = Moved {
            task: id.clone(),
            status: Status::Pending,
            failures,
            cap: node.cap,
        };
        let what = format!("retry {id}");
        let agent = lease::agent(&ctx.repo)?;
        let act = Act::new(TaskEvent::Retried { task: id, agent }, what, moved);
        Ok(act.reason(reason.map(str::to_owned)))
    })
}

/// Marks a task as not to be done. A person says so: what waits for the task may go on without.
pub(crate) fn skip(ctx: &Context, task: &str, reason: Option<String>) -> Result<Done<Moved>> {
    let reason = loopx_base::said(reason).ok_or_else(|| reason_required(Some(task), Step::Skip))?;
    record(ctx, |facts| {
        facts.require_person("skipping a task")?;
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let at = plan.find(&graph, task)?;
        plan.require(at, Step::Skip)?;
        if let Some(claim) = plan.facts(at).and_then(TaskFacts::holder) {
            let owner = lease::owner(&ctx.repo, None)?;
            if !claim.value.is_of(&owner) && plan.until(claim) > super::now(facts) {
                return Err(plan.held(&plan.nodes[at].id, claim));
            }
        }
        let id = plan.nodes[at].id.clone();
        let moved = Moved {
            task: id.clone(),
            status: Status::Skipped,
            failures: plan.facts(at).map_or(0, |facts| facts.failures),
            cap: plan.nodes[at].cap,
        };
        let what = format!("skip {id}");
        let act = Act::new(TaskEvent::Skipped { task: id }, what, moved);
        Ok(act.reason(Some(reason.clone())))
    })
}
