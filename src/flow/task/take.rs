//! `take`: claims a task and gives its card in one step. Two callers never get one task: the store lets one of two
//! writers through, and the other decides anew on what it finds then.

use super::{Plan, claim_for, keep, now, outputs, record, save_first, touched, view};
use crate::flow::context::Context;
use crate::flow::skills::Skills;
use crate::flow::transaction::{Act, Done, Facts, Needs, gather_here, require_active};
use crate::flow::{bound_here, lease, pushing};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::OpId;
use loopx_base::shell_word;
use loopx_rules::checks::checks_now;
use loopx_rules::gate;
use loopx_rules::lease::{Owner, recorded_name};
use loopx_rules::next::Advised;
use loopx_rules::session::Stamped;
use loopx_rules::task::card::Card;
use loopx_rules::task::decide::{Standing, standing};
use loopx_rules::task::event::{Claim, TaskEvent};
use loopx_rules::task::graph::{Graph, Wait, chain_words};
use loopx_rules::task::node::{Node, TaskId, Verification};
use loopx_rules::task::plan;
use loopx_rules::task::status::{Status, Step, TaskFacts};
use loopx_rules::task::world::{Condition, Open, Seen};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;

/// Arguments of `take`.
#[derive(Clone, Debug, Default)]
pub(crate) struct TakeRequest {
    /// The task; else the next that is ready.
    pub task: Option<String>,
    /// Role whose tasks are wanted, besides those that anybody does.
    pub role: Option<String>,
    /// Set when a task may also be taken from somebody whose lease is still running.
    pub take_over: bool,
    pub reason: Option<String>,
    /// Name for this request: who asks again under it gets the same task again.
    pub request: Option<String>,
    /// Set when the claim goes to the remote first, alone.
    pub remote: bool,
}

/// A task that somebody got.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub card: Card,
    pub until: i64,
    /// Person from whom the task was taken.
    pub from: Option<String>,
    /// Set when the task was taken before under the same name: nothing was claimed now.
    pub again: bool,
    /// The remote that has the claim.
    pub remote: Option<String>,
}

/// Claims a task.
pub(crate) fn take(ctx: &Context, request: &TakeRequest) -> Result<Done<Taken>> {
    if request.take_over && request.reason.is_none() {
        let again = match &request.task {
            Some(id) => command!("take {id} --take-over --reason WHY"),
            None => command!("task list"),
        };
        return Err(
            Failure::usage(Code::ReasonRequired, "taking a task over needs a reason").help(again),
        );
    }
    if let Some(taken) = again(ctx, request)? {
        return Ok(taken);
    }
    let unheard = unheard(ctx)?;
    let skills = Skills::of(&ctx.repo);
    let arrived: RefCell<Option<TaskId>> = RefCell::default();
    let taken = record(ctx, (Needs::Stage, request.remote), |facts| {
        let plan = Plan::of(facts)?;
        let graph = Graph::of(&plan.nodes);
        let owner = lease::owner(&ctx.repo, None)?;
        // Of two that ask at once under one name the later one finds it when it asks again.
        if asked_before(&plan, &owner, request).is_some() {
            return Err(asked_already(request));
        }
        if let Some(at) = claimed_there(&plan, &graph, (&owner, now(facts)), &unheard, request)? {
            let task = plan.nodes[at].id.clone();
            let failure = arrived_already(&task);
            arrived.replace(Some(task));
            return Err(failure);
        }
        let choice = choose(facts, &plan, &graph, (&owner, now(facts), &skills), request)?;
        // Its check could be run here by nobody.
        if matches!(
            plan.nodes[choice.0].verification,
            Some(Verification::Cmd(_))
        ) {
            bound_here::require_no_other(ctx, &facts.state)?;
        }
        keep(&ctx.repo, &owner)?;
        claimed(ctx, facts, (&plan, &graph), choice, (&owner, request))
    });
    match taken {
        Err(failure) if matches!(failure.code, Code::RequestRepeated | Code::ClaimArrived) => {
            let found = match arrived.into_inner() {
                Some(task) => taken_up(ctx, &task)?,
                None => again(ctx, request)?,
            };
            found.ok_or(failure)
        }
        // A claim is about what is saved; what everybody sees here may be newer, and says what leads on.
        Err(failure)
            if failure.code == Code::TasksMissing || failure.code == Code::TaskListEmpty =>
        {
            let seen = peek(ctx, request).err();
            Err(seen.map_or(failure, |seen| save_first(ctx, seen)))
        }
        taken => taken.map(|(mut done, remote)| {
            done.value.remote = remote;
            done
        }),
    }
}

/// The act that gives a task to whoever asks, with the card of the task.
fn claimed(
    ctx: &Context,
    facts: &Facts<'_>,
    (plan, graph): (&Plan<'_>, &Graph<'_>),
    (at, over): Choice<'_>,
    (owner, request): (&Owner, &TakeRequest),
) -> Result<Act<Taken>> {
    let node = &plan.nodes[at];
    let task = node.id.clone();
    let claim = Claim {
        request: request.request.clone(),
        head: ctx.repo.head()?.commit,
        reads: touched::reads(ctx, &facts.state, node),
        late: over.is_some_and(|claim| is_late(plan, at, claim, now(facts))),
        ..claim_for(owner, node.turn, over)
    };
    let mut card = plan.card(ctx, graph, at);
    card.status = Status::Claimed;
    card.there = outputs::there(ctx, facts, node)?;
    let taken = Taken {
        card,
        until: now(facts).saturating_add(i64::from(claim.seconds)),
        from: over.map(|claim| plan.watched.whose(claim)),
        again: false,
        remote: None,
    };
    let what = match over {
        Some(over) => {
            let from = recorded_name(over.value.agent.as_deref(), &over.signed.by);
            format!("take {task} over from {from}")
        }
        None => format!("take {task}"),
    };
    let act = Act::new(TaskEvent::Claimed { task, claim }, what, taken);
    Ok(act.reason(request.reason.clone()))
}

/// The claims of this worktree that may stand at the remote, unheard: what the branch here has is none of them.
fn unheard(ctx: &Context) -> Result<BTreeSet<OpId>> {
    let mut unheard = pushing::unheard(&ctx.repo);
    if unheard.is_empty() {
        return Ok(unheard);
    }
    let snapshot = ctx.store()?.snapshot()?;
    let state = ctx.session_to_change(&snapshot)?.state;
    let claims = state
        .tasks
        .values()
        .filter_map(|facts| facts.claim.as_ref());
    let known: Vec<OpId> = claims.map(|claim| claim.op.clone()).collect();
    pushing::forget(&ctx.repo, known.iter().filter(|op| unheard.contains(*op)));
    unheard.retain(|op| !known.contains(op));
    Ok(unheard)
}

/// A task that the remote gave to whoever asks, unheard: the answer to a push was lost. Not one whose lease is over, and
/// not where another one is asked for.
fn claimed_there(
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    (owner, moment): (&Owner, i64),
    unheard: &BTreeSet<OpId>,
    request: &TakeRequest,
) -> Result<Option<usize>> {
    // Under a name only what was asked for under it is meant.
    if request.request.is_some() || request.take_over {
        return Ok(None);
    }
    let is_it = |at: &usize| {
        let holder = plan.facts(*at).and_then(TaskFacts::holder);
        is_for(&plan.nodes[*at], request.role.as_deref())
            && holder.is_some_and(|claim| {
                claim.value.is_of(owner)
                    && unheard.contains(&claim.op)
                    && plan.until(claim) > moment
            })
    };
    Ok(match &request.task {
        Some(name) => Some(plan.find(graph, name)?).filter(is_it),
        None => (0..plan.nodes.len()).find(is_it),
    })
}

fn arrived_already(task: &TaskId) -> Failure {
    Failure::waiting(
        Code::ClaimArrived,
        format!(
            "the remote has a claim of {task} by this worktree, and it could not be taken in here"
        ),
    )
    .help(command!("sync"))
}

/// The card of a task whose claim came from the remote; nothing where it did not come.
fn taken_up(ctx: &Context, task: &TaskId) -> Result<Option<Done<Taken>>> {
    standing_claim(ctx, |plan, owner| {
        let is_it = |at: &usize| {
            let holder = plan.facts(*at).and_then(TaskFacts::holder);
            plan.nodes[*at].id == *task && holder.is_some_and(|claim| claim.value.is_of(owner))
        };
        Ok((0..plan.nodes.len()).find(is_it))
    })
}

/// The task that was taken here under the same name, and that nobody took since.
fn asked_before(plan: &Plan<'_>, owner: &Owner, request: &TakeRequest) -> Option<usize> {
    let name = request.request.as_ref()?;
    let is_it = |at: &usize| {
        let holder = plan.facts(*at).and_then(TaskFacts::holder);
        holder.is_some_and(|claim| {
            claim.value.owner == owner.token && claim.value.request.as_ref() == Some(name)
        })
    };
    (0..plan.nodes.len()).find(is_it)
}

fn asked_already(request: &TakeRequest) -> Failure {
    let name = request.request.as_deref().unwrap_or_default();
    let message = format!("the request `{name}` got a task here already");
    Failure::nothing(Code::RequestRepeated, message).help(command!("task list"))
}

/// Card that the same request got before, with nothing written. Refuses a request that asks for another task now.
fn again(ctx: &Context, request: &TakeRequest) -> Result<Option<Done<Taken>>> {
    if request.request.is_none() {
        return Ok(None);
    }
    standing_claim(ctx, |plan, owner| {
        let Some(at) = asked_before(plan, owner, request) else {
            return Ok(None);
        };
        if let Some(other) = &request.task
            && plan.find(&Graph::of(&plan.nodes), other)? != at
        {
            return Err(asked_already(request).help(command!("task show {}", plan.nodes[at].id)));
        }
        Ok(Some(at))
    })
}

/// The card of a task that is claimed here already, with nothing written.
fn standing_claim(
    ctx: &Context,
    find: impl FnOnce(&Plan<'_>, &Owner) -> Result<Option<usize>>,
) -> Result<Option<Done<Taken>>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Stage)?;
    let Ok(plan) = Plan::of(&facts) else {
        return Ok(None);
    };
    let graph = Graph::of(&plan.nodes);
    let owner = lease::owner(&ctx.repo, None)?;
    let Some(at) = find(&plan, &owner)? else {
        return Ok(None);
    };
    let claim = plan.facts(at).and_then(TaskFacts::holder);
    let taken = Taken {
        card: plan.card(ctx, &graph, at),
        until: claim.map_or(i64::MIN, |claim| plan.until(claim)),
        from: None,
        again: true,
        remote: None,
    };
    Ok(Some(Done {
        id: session.state.id.clone(),
        commit: snapshot.commit().clone(),
        state: session.state.clone(),
        saved: Vec::new(),
        value: taken,
    }))
}

/// The card of what `take` would give, with nothing claimed.
pub(crate) fn peek(ctx: &Context, request: &TakeRequest) -> Result<(Card, Advised)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session(&snapshot)?)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Stage)?;
    let plan = Plan::of(&facts)?;
    let graph = Graph::of(&plan.nodes);
    let owner = lease::owner(&ctx.repo, None)?;
    let skills = Skills::of(&ctx.repo);
    let asks = (&owner, ctx.now(), &skills);
    let (at, _) = choose(&facts, &plan, &graph, asks, request)?;
    let mut card = plan.card(ctx, &graph, at);
    card.there = outputs::there(ctx, &facts, &plan.nodes[at])?;
    let take = command!("take {}", card.task);
    let advised = view::advised(ctx, &facts.state, Some(take))?;
    Ok((card, advised))
}

/// Circumstances of a request: who asks, when, and on which machine.
type Asks<'a> = (&'a Owner, i64, &'a Skills<'a>);
type Choice<'p> = (usize, Option<&'p Stamped<Claim>>);

fn choose<'p>(
    facts: &Facts<'_>,
    plan: &'p Plan<'_>,
    graph: &Graph<'_>,
    asks: Asks<'_>,
    request: &TakeRequest,
) -> Result<Choice<'p>> {
    match &request.task {
        Some(name) => {
            let who = (asks.0, asks.1);
            let choice = named(facts, plan, graph, who, (name, request.take_over))?;
            asks.2.require(facts, &plan.nodes[choice.0])?;
            Ok(choice)
        }
        None => any(
            facts,
            plan,
            graph,
            (asks.1, asks.2),
            request.role.as_deref(),
        )
        .map_err(|failure| own_first(plan, asks.0, failure, request.role.as_deref())),
    }
}

/// The task that is asked for by name.
fn named<'p>(
    facts: &Facts<'_>,
    plan: &'p Plan<'_>,
    graph: &Graph<'_>,
    (owner, moment): (&Owner, i64),
    (name, take_over): (&str, bool),
) -> Result<Choice<'p>> {
    let at = plan.find(graph, name)?;
    plan.require(at, Step::Take)?;
    let id = &plan.nodes[at].id;
    if let Some(claim) = plan.facts(at).and_then(TaskFacts::holder) {
        let is_over = plan.until(claim) <= moment;
        let is_late = is_late(plan, at, claim, moment);
        if claim.value.is_of(owner) && !take_over && !is_late {
            return Err(Failure::waiting(
                Code::TaskHeld,
                format!("{id} is taken here already, {}", plan.lasting(claim)),
            )
            .help(command!("task show {id}")));
        }
        let choice = match (is_over, take_over) {
            (true, false) if is_last(plan, at, claim, moment) => Err(spent(plan, at)),
            (true, true) if is_last(plan, at, claim, moment) => {
                facts.require_person("another attempt beyond the cap")?;
                Ok((at, Some(claim)))
            }
            (true, _) => Ok((at, Some(claim))),
            (false, true) => {
                facts.require_person("taking a task over while its lease runs")?;
                Ok((at, Some(claim)))
            }
            (false, false) => Err(plan.held(id, claim)),
        }?;
        return match before(plan, graph, at).as_slice() {
            [] => Ok(choice),
            waits => Err(not_ready(facts, id, waits)),
        };
    }
    let waits = graph.waits(at, plan.now());
    match waits.first() {
        None => Ok((at, None)),
        Some(Wait::Resource { resource, task }) => {
            Err(locked(plan, graph, (id, resource, task), moment)
                .unwrap_or_else(|| not_ready(facts, id, &waits)))
        }
        Some(_) => Err(not_ready(facts, id, &waits)),
    }
}

/// A task wants something for itself that another one has: who has that, and until when.
fn locked(
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    (id, resource, task): (&TaskId, &str, &TaskId),
    moment: i64,
) -> Option<Failure> {
    let claim = plan.facts(graph.find(task)?).and_then(TaskFacts::holder)?;
    let (who, until) = (plan.watched.whose(claim), plan.lasting(claim));
    let message = format!("{id} is not ready: {who} has {resource} with {task} {until}");
    // A lock that nobody renewed goes with its task to whoever asks.
    let lead = if plan.until(claim) <= moment {
        command!("take {task}")
    } else {
        command!("task resources")
    };
    let blocker = Blocker::new(
        Code::TaskNotReady,
        format!("{resource}, which {task} has"),
        lead.clone(),
    );
    Some(
        Failure::refused(Code::TaskNotReady, message)
            .help(lead)
            .blockers(vec![blocker]),
    )
}

/// Waits that a task would have if nobody had it: whoever had it may have begun before the work in front of it was
/// asked for anew, or before the session went back.
fn before(plan: &Plan<'_>, graph: &Graph<'_>, at: usize) -> Vec<Wait> {
    let mut waits = graph.waits(at, plan.now());
    waits.retain(Wait::is_before);
    waits
}

/// Tells whether the time that somebody may have a task has passed under a claim: a failed attempt.
fn is_late(plan: &Plan<'_>, at: usize, claim: &Stamped<Claim>, moment: i64) -> bool {
    plan.nodes[at].turn.is_some() && plan.until(claim) <= moment
}

/// Tells whether the attempt that ends with a claim is the last that the plan lets anybody make.
fn is_last(plan: &Plan<'_>, at: usize, claim: &Stamped<Claim>, moment: i64) -> bool {
    let failures = plan.facts(at).map_or(0, |facts| facts.failures);
    is_late(plan, at, claim, moment) && failures + 1 >= plan.nodes[at].cap
}

/// The time of the last attempt has passed.
fn spent(plan: &Plan<'_>, at: usize) -> Failure {
    let node = &plan.nodes[at];
    let message = format!(
        "{} was not done in its time, and all of its {} attempts are used; a person has to decide about another attempt",
        node.id, node.cap
    );
    Failure::refused(Code::TaskCapReached, message)
        .help(command!("take {} --take-over --reason WHY", node.id))
}

/// A task waits, and for what.
pub(super) fn not_ready(facts: &Facts<'_>, id: &TaskId, waits: &[Wait]) -> Failure {
    let blockers: Vec<Blocker> = waits
        .iter()
        .map(|wait| Blocker::new(Code::TaskNotReady, wait.words(), lead(facts, wait)))
        .collect();
    let failure = Failure::refused(Code::TaskNotReady, format!("{id} is not ready: it waits"));
    match waits.first() {
        Some(first) => failure.help(lead(facts, first)).blockers(blockers),
        None => failure,
    }
}

/// Command that brings on what a task waits for.
pub(super) fn lead(facts: &Facts<'_>, wait: &Wait) -> Hint {
    match wait {
        Wait::Task { task, status } if matches!(status, Status::Failed | Status::Skipped) => {
            let nodes = plan::now(&facts.texts, &facts.state).unwrap_or_default();
            let node = nodes.iter().find(|node| node.id == *task);
            let again = node.map(|node| gate::retry(node, &facts.state));
            let again = again.unwrap_or_else(|| command!("task show {task}"));
            match status {
                Status::Skipped => again.note("(or skip what waits for it)"),
                _ => again,
            }
        }
        Wait::Task { task, .. } | Wait::Resource { task, .. } | Wait::Alone { task } => {
            command!("task show {task}")
        }
        Wait::Stage { .. } => gate::next_action(facts.view()),
        Wait::Unknown { .. } => mend_list(facts),
        Wait::Capacity { .. } => command!("task list"),
        Wait::World(open) => outside(facts, open),
    }
}

/// The command by which the list is changed in this stage.
fn mend_list(facts: &Facts<'_>) -> Hint {
    gate::list_help(&facts.state, &facts.policy, command!("edit tasks.jsonl"))
}

/// Command that brings on a condition outside of the list, where a command does.
fn outside(facts: &Facts<'_>, open: &Open) -> Hint {
    match &open.condition {
        Condition::Person { person } => {
            let word = command!("task open {} --reason WHY", open.task);
            let names = facts.actor().map(|who| facts.credentials.names(who));
            if open.condition.is_persons(&names.unwrap_or_default()) {
                word
            } else {
                hint![format!("ask {person} to run: "), word]
            }
        }
        Condition::Session { session, .. } => {
            if &facts.state.id == session {
                mend_list(facts)
            } else if open.never {
                command!("task skip {} --reason WHY", open.task)
            } else if facts.world.seen.get(&open.condition) == Some(&Seen::NoSession) {
                command!("task show {}", open.task)
            } else {
                command!("status {session}")
            }
        }
        Condition::Evidence { evidence, role } => {
            let is_task = checks_now(&facts.texts, &facts.state, &facts.policy.all_checks())
                .iter()
                .any(|check| check.id.eq_ignore_ascii_case(evidence));
            let run = match (is_task, role) {
                (true, None) => facts.policy.run_task(evidence),
                (true, Some(_)) => command!("run --sign --task {evidence}"),
                (false, None) => command!("run --kind {evidence} -- COMMAND"),
                (false, Some(_)) => command!("run --sign --kind {evidence} -- COMMAND"),
            };
            match role {
                Some(role) => run.note(format!("(by {role})")),
                None => run,
            }
        }
        Condition::Time { .. } | Condition::Commit { .. } | Condition::Path { .. } => {
            command!("task show {}", open.task)
        }
    }
}

/// Refusal that names the task of whoever asks, where nothing is free because of them; else the failure as it is.
fn own_first(plan: &Plan<'_>, owner: &Owner, failure: Failure, role: Option<&str>) -> Failure {
    if failure.code != Code::TaskHeld {
        return failure;
    }
    let has = |at: &usize| {
        let holder = plan.facts(*at).and_then(TaskFacts::holder);
        holder.is_some_and(|claim| claim.value.is_of(owner))
    };
    let Some(at) = (0..plan.nodes.len()).find(has) else {
        return failure;
    };
    let node = &plan.nodes[at];
    let id = &node.id;
    let whose = role.map_or(String::new(), |role| format!(" for {role}"));
    let message = format!("{id} is taken here already, and no other task is free{whose}");
    let release = command!("task release {id}");
    let is_command = matches!(node.verification, Some(Verification::Cmd(_)));
    let ends = if node.gate.is_some() {
        gate::lead_of(node, Status::Claimed, plan.state)
    } else if is_command {
        command!("task done {id}")
    } else if plan.is_agents {
        let told = "a person looks, and completes it; to give it back: ";
        return Failure::waiting(Code::TaskHeld, message).help(hint![told, release]);
    } else {
        command!("task done {id} --manual --reason WHY")
    };
    Failure::waiting(Code::TaskHeld, message).help(hint![ends, "  or: ", release])
}

/// The next task that is ready; else one whose lease has ended.
fn any<'p>(
    facts: &Facts<'_>,
    plan: &'p Plan<'_>,
    graph: &Graph<'_>,
    (moment, skills): (i64, &Skills<'_>),
    role: Option<&str>,
) -> Result<Choice<'p>> {
    let fits = |at: &usize| is_for(&plan.nodes[*at], role);
    let ready = graph.ready(plan.now());
    // What nobody can do on this machine is left to others.
    let mut lacking = None;
    let mut can = |at: usize| match skills.require(facts, &plan.nodes[at]) {
        Ok(()) => true,
        Err(failure) => {
            lacking.get_or_insert(failure);
            false
        }
    };
    let mut work = ready
        .iter()
        .filter(|at| !graph.is_persons(**at) && fits(at));
    if let Some(at) = work.find(|at| can(**at)) {
        return Ok((*at, None));
    }
    let mut held: Vec<(usize, &Stamped<Claim>)> = (0..plan.nodes.len())
        .filter_map(|at| Some((at, plan.facts(at)?.holder()?)))
        .collect();
    let is_over = |(at, claim): &(usize, &Stamped<Claim>)| {
        plan.until(claim) <= moment && !is_last(plan, *at, claim, moment)
    };
    let is_free = |one: &&(usize, &Stamped<Claim>)| {
        let is_given = fits(&one.0) && !graph.is_persons(one.0);
        is_given && is_over(one) && before(plan, graph, one.0).is_empty()
    };
    let mut free = held.iter().filter(is_free);
    if let Some((at, claim)) = free.find(|(at, _)| can(*at)) {
        return Ok((*at, Some(claim)));
    }
    if let Some(failure) = lacking {
        return Err(failure);
    }
    // A lease that is over holds nothing: what it was of waits for a person, or for other work.
    let mut ready = ready;
    let persons = held.iter().filter(|one| is_over(one)).map(|(at, _)| *at);
    ready.extend(persons.filter(|at| graph.is_persons(*at) && before(plan, graph, *at).is_empty()));
    held.retain(|one| !is_over(one));
    held.sort_by_key(|(at, claim)| (!fits(at), plan.until(claim)));
    Err(nothing(facts, plan, graph, (&ready, &held), role))
}

/// Tells whether a role may do a task: where the task names none anybody does it.
fn is_for(node: &Node, role: Option<&str>) -> bool {
    match (&node.role, role) {
        (Some(own), Some(role)) => own.eq_ignore_ascii_case(role),
        _ => true,
    }
}

/// The place of what `take` gives whoever names no task.
pub(super) fn next_ready(
    facts: &Facts<'_>,
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    (moment, skills): (i64, &Skills<'_>),
) -> Option<usize> {
    any(facts, plan, graph, (moment, skills), None)
        .ok()
        .map(|(at, _)| at)
}

/// Refusal because there is nothing to take, with the reason and what leads on.
fn nothing(
    facts: &Facts<'_>,
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    (ready, held): (&[usize], &[(usize, &Stamped<Claim>)]),
    role: Option<&str>,
) -> Failure {
    let id = |at: usize| &plan.nodes[at].id;
    let is_decided = |at: &&usize| {
        matches!(
            standing(&plan.nodes[**at], plan.state),
            Some(Standing::Open)
        )
    };
    if let Some(at) = ready.iter().find(is_decided) {
        let node = &plan.nodes[*at];
        return Failure::waiting(
            Code::DecisionOpen,
            format!("the work goes on only after {} is decided", node.id),
        )
        .help(gate::lead_of(node, plan.statuses[*at], plan.state));
    }
    if let Some(at) = ready.iter().find(|at| graph.is_persons(**at)) {
        return Failure::waiting(
            Code::CheckpointOpen,
            format!("{} waits for a person", id(*at)),
        )
        .help(gate::lead_of(
            &plan.nodes[*at],
            plan.statuses[*at],
            plan.state,
        ));
    }
    if plan.statuses.iter().all(|status| status.is_terminal()) {
        return Failure::nothing(Code::TasksDone, "every task is done")
            .help(gate::next_action(facts.view()));
    }
    if let Some(failure) = role.and_then(|role| nothing_for(plan, ready, held, role)) {
        return failure;
    }
    if let Some((at, _)) = held.first() {
        let all = held.iter().map(|(at, claim)| {
            let (who, until) = (plan.watched.whose(claim), plan.lasting(claim));
            format!("{who} has {} {until}", id(*at))
        });
        let all: Vec<String> = all.collect();
        return Failure::waiting(
            Code::TaskHeld,
            format!("no task is free: {}", all.join("; ")),
        )
        .help(command!("task show {}", id(*at)));
    }
    // What leads to another stage is the same for all, and asks every rule of the gate.
    let onward = OnceCell::new();
    let stalled: Vec<Blocker> = (0..plan.nodes.len())
        .filter(|at| !plan.statuses[*at].is_terminal())
        .map(|at| stalled(facts, plan, graph, (at, &onward)))
        .collect();
    let failure = Failure::refused(
        Code::TasksStalled,
        "no task is ready, nobody works on one, and some are left",
    );
    match stalled.first().map(|first| first.help.clone()) {
        Some(help) => failure.blockers(stalled).help(help),
        None => failure,
    }
}

/// The refusal of a role for which nobody has a task, and none is ready.
fn nothing_for(
    plan: &Plan<'_>,
    ready: &[usize],
    held: &[(usize, &Stamped<Claim>)],
    role: &str,
) -> Option<Failure> {
    let is_own = |at: usize| is_for(&plan.nodes[at], Some(role));
    if held.iter().any(|(at, _)| is_own(*at)) {
        return None;
    }
    // A gate that is not decided may make more tasks for every role.
    let is_left = |at: &usize| {
        let may_come = is_own(*at) || plan.nodes[*at].gate.is_some();
        may_come && !plan.statuses[*at].is_terminal()
    };
    if !(0..plan.nodes.len()).any(|at| is_left(&at)) {
        let message = format!("no task is left for {role}");
        return Some(Failure::nothing(Code::TasksDone, message).help(command!("task list")));
    }
    let node = &plan.nodes[*ready.first()?];
    let other = node.role.as_deref()?;
    let message = format!(
        "no task is ready for {role}; {} is ready for {other}",
        node.id
    );
    let other = shell_word(other);
    Some(Failure::waiting(Code::TaskOfRole, message).help(command!("take --role {other}")))
}

/// Blocker for a task that is left: what it waits for, along its chain.
fn stalled(
    facts: &Facts<'_>,
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    (at, onward): (usize, &OnceCell<Hint>),
) -> Blocker {
    let chain = graph.chain(at, &plan.statuses);
    let end = chain[chain.len() - 1];
    let words = chain_words(chain.iter().map(|at| &plan.nodes[*at].id));
    let waits = match plan.statuses[end] {
        Status::Claimed => before(plan, graph, end),
        _ => graph.waits(end, plan.now()),
    };
    let (why, help) = match (plan.statuses[end], waits.first()) {
        (Status::Pending | Status::Claimed, Some(wait)) => {
            let help = match wait {
                Wait::Stage { .. } => onward.get_or_init(|| lead(facts, wait)).clone(),
                _ => lead(facts, wait),
            };
            (format!("waits for {}", wait.words()), help)
        }
        (status, _) => (status.to_string(), plan.step_from(end, status)),
    };
    Blocker::new(Code::TasksStalled, format!("{words} ({why})"), help)
}
