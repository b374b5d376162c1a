//! `task done`: a task is completed by what passed, or by a named person's word where nothing can be run. Words of
//! whoever did it complete nothing.

use super::commit::commit;
use super::take::not_ready;
use super::touched::{Touched, touched};
use super::{Plan, moves, outputs, record};
use crate::flow::context::Context;
use crate::flow::evidence;
use crate::flow::evidence::{Ran, RunRequest};
use crate::flow::transaction::{Act, Done, Facts, Needs, gather_here, require_active};
use crate::flow::{bound_here, lease, publish};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_rules::gate;
use loopx_rules::session::State;
use loopx_rules::task::alike::{ENOUGH, are_alike};
use loopx_rules::task::decide::{Ending, ResultText, WorkResult};
use loopx_rules::task::event::{Completion, TaskEvent};
use loopx_rules::task::graph::{Graph, Wait};
use loopx_rules::task::node::{Node, NodeKind, TaskId, Verification};
use loopx_rules::task::status::{Step, TaskFacts};
use std::io::Write;

/// The longest summary, in characters.
const LONGEST: usize = 500;

/// Arguments of `task done`.
#[derive(Clone, Debug, Default)]
pub(crate) struct DoneRequest {
    /// The task; else the one that is taken here.
    pub task: Option<String>,
    pub summary: Option<String>,
    /// Work of the task that is left.
    pub partial: Option<String>,
    pub caveats: Vec<String>,
    pub deferred: Vec<String>,
    /// Word of a person, who looked.
    pub manual: bool,
    pub reason: Option<String>,
    /// Wish to sign the record of what is run.
    pub sign: bool,
    /// Wish to commit the files that the plan names for the task.
    pub commit: bool,
    /// Set when the task's check may run, whoever wrote it.
    pub trust: bool,
    /// Content of the text of a result, where one was given.
    pub said: Option<ResultText>,
}

/// A task that is done.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub task: TaskId,
    pub tree: Option<Oid>,
    /// Set when the task's check was run for the completion; else the check had passed on this code.
    pub has_run: bool,
    pub completion: Completion,
    /// Commit of the task's files, where there was something to commit.
    pub committed: Option<Oid>,
    /// Files that were touched, and whether they were planned; nothing where it is not known.
    pub touched: Option<Touched>,
    /// Reason why the code here may be another change's.
    pub stray: Option<String>,
    /// Set when the text of the task's result could not be read.
    pub is_unread: bool,
}

/// Runs what proves a task where that has not passed on this code, and completes it.
pub(crate) fn done(
    ctx: &Context,
    request: &DoneRequest,
    live: impl Write + Send,
) -> Result<Done<Finished>> {
    let filled = request.said.as_ref().map(|said| with_said(request, said));
    let request = filled.as_ref().unwrap_or(request);
    check(request)?;
    let (node, has_proof) = match before(ctx, request) {
        // The remote may have given it to this worktree, unheard.
        Err(refused)
            if publish::is_wanted(ctx)
                && matches!(refused.code, Code::TaskStepInvalid | Code::TaskNotNamed)
                && publish::catch_up(ctx).is_ok() =>
        {
            before(ctx, request)?
        }
        found => found?,
    };
    match &request.said {
        Some(ResultText::Read(said)) => require_success(ctx, &node, said)?,
        Some(ResultText::Unreadable) => return Err(unreadable(&node)),
        Some(ResultText::Bare) | None => {}
    }
    let saved = if has_proof {
        Vec::new()
    } else {
        prove(ctx, &node, request, live)?
    };
    let committed = if request.commit {
        require_outputs(ctx, &node)?;
        commit(ctx, &node)?
    } else {
        None
    };
    let done = record(ctx, (Needs::Code, false), |facts| {
        let proved = Proved {
            task: &node.id,
            has_run: !has_proof,
            committed: committed.clone(),
        };
        completed(ctx, facts, proved, request)
    });
    match (done, committed) {
        (Ok((mut done, _)), _) => {
            done.saved = [saved, done.saved].concat();
            Ok(done)
        }
        (Err(failure), Some(commit)) => Err(beside_commit(failure, &commit)),
        (Err(failure), None) => Err(failure),
    }
}

/// A task whose check has passed, or that has none.
struct Proved<'t> {
    task: &'t TaskId,
    /// Set when the check was run for the completion.
    has_run: bool,
    /// Commit of the task's files.
    committed: Option<Oid>,
}

/// The act that completes a task, once nothing holds it open.
fn completed(
    ctx: &Context,
    facts: &Facts<'_>,
    proved: Proved<'_>,
    request: &DoneRequest,
) -> Result<Act<Finished>> {
    let task = proved.task;
    let plan = Plan::of(facts)?;
    let graph = Graph::of(&plan.nodes);
    let owner = lease::owner(&ctx.repo, None)?;
    let at = plan.find(&graph, task.as_str())?;
    let node = &plan.nodes[at];
    let claim = plan.own_claim(at, &owner, Step::Done)?;
    require_before(facts, &plan, &graph, at)?;
    let is_manual = require_proof(facts, &plan, at, request)?;
    let left = outputs::collect(ctx, facts, node)?;
    let after = outputs::with(&facts.state, &left);
    outputs::require(ctx, facts, node, &after)?;
    let touched = touched(ctx, facts, (&plan, &graph, at), claim)?;
    let known = touched.clone().unwrap_or_default();
    let completion = Completion {
        tree: facts.code.as_ref().map(|code| code.tree.clone()),
        manual: is_manual,
        summary: request.summary.clone(),
        partial: request.partial.clone(),
        caveats: request.caveats.clone(),
        deferred: request.deferred.clone(),
        files: known.files,
        reads_changed: known.reads_changed,
        outputs: outputs::pinned(&after, node),
    };
    let what = match &request.partial {
        Some(_) => format!("{task} is done in part"),
        None => format!("{task} is done"),
    };
    let finished = Finished {
        task: task.clone(),
        tree: completion.tree.clone(),
        has_run: proved.has_run,
        completion: completion.clone(),
        committed: proved.committed,
        touched,
        stray: bound_here::stray(ctx, &facts.state)?,
        is_unread: matches!(request.said, Some(ResultText::Bare)),
    };
    let event = TaskEvent::Completed {
        task: task.clone(),
        claim: claim.op.clone(),
        done: completion,
    };
    let act = Act::new(event, what, finished).reason(request.reason.clone());
    Ok(act.outputs(left))
}

/// Runs the check of a task, and refuses to go on where it did not pass. Comes back with what its record saved.
fn prove(
    ctx: &Context,
    node: &Node,
    request: &DoneRequest,
    live: impl Write + Send,
) -> Result<Vec<String>> {
    let task = &node.id;
    let run = RunRequest {
        task: Some(task.to_string()),
        what: "test".to_owned(),
        argv: Vec::new(),
        sign: request.sign,
        trust: request.trust,
    };
    let ran = evidence::run(ctx, &run, live).map_err(|failure| match failure.code {
        Code::CheckNotTrusted => failure.help(command!("task done {task} --trust")),
        _ => failure,
    })?;
    require_in_time(ctx, task, &ran)?;
    require_passed(ctx, task, &ran).map_err(|failure| with_missing(ctx, node, failure))?;
    Ok(ran.saved)
}

/// Arguments, with the content of a result's text where nothing was typed.
fn with_said(request: &DoneRequest, said: &ResultText) -> DoneRequest {
    let mut request = request.clone();
    match said {
        ResultText::Read(said) => {
            let summary = said.summary.as_deref();
            let summary = summary.map(|text| text.chars().take(LONGEST).collect());
            request.summary = request.summary.or(summary);
            if said.ending == Ending::Partial {
                let left = request.summary.clone();
                let left = left.unwrap_or_else(|| "its result does not say what".to_owned());
                request.partial = request.partial.or(Some(left));
            }
            let severity = said
                .severity
                .map(|severity| format!("discussed: severity {severity}"));
            request.caveats.extend(severity);
        }
        ResultText::Bare | ResultText::Unreadable => {
            let left = "the text of its result has no TASK_COMPLETE block";
            request.partial = request.partial.or_else(|| Some(left.to_owned()));
        }
    }
    request
}

/// The refusal of a text whose block could mean anything.
fn unreadable(node: &Node) -> Failure {
    Failure::usage(
        Code::ResultInvalid,
        format!(
            "expected one TASK_COMPLETE block of {} with `task_id` and `status` ({}), found none that can be read",
            node.id,
            Ending::WORDS.join(", ")
        ),
    )
    .help(command!("task done {} --summary TEXT", node.id))
}

/// Refuses the result of another task, of an attempt that failed, and of a file that nobody finds.
fn require_success(ctx: &Context, node: &Node, said: &WorkResult) -> Result<()> {
    let task = &node.id;
    if !said.task.eq_ignore_ascii_case(task.as_str()) {
        return Err(Failure::usage(
            Code::ResultInvalid,
            format!(
                "expected the result of {task}, found a result of `{}`",
                said.task
            ),
        )
        .help(command!("task show {task}")));
    }
    if said.ending == Ending::Failed {
        let why = said.summary.as_deref().unwrap_or("its result says no more");
        return Err(Failure::refused(
            Code::ResultInvalid,
            format!("{task} is not done: its result says that it failed: {why}"),
        )
        .help(command!("task fail {task} --reason WHY")));
    }
    let Some(path) = &said.artifact else {
        return Ok(());
    };
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    if outputs::is_there(ctx, &facts, node, path)? {
        return Ok(());
    }
    Err(Failure::refused(
        Code::TaskOutputMissing,
        format!("{task} is not done: its result names {path}, and nobody finds that file"),
    )
    .help(command!("task outputs {task}")))
}

/// A refusal behind which the commit of the files stands.
fn beside_commit(mut failure: Failure, commit: &Oid) -> Failure {
    failure.message = format!(
        "{}; its files are committed already, as {}",
        failure.message,
        commit.short()
    );
    failure
}

/// Refuses a task that did not leave what it should, before anything is committed for it.
fn require_outputs(ctx: &Context, node: &Node) -> Result<()> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    outputs::require(ctx, &facts, node, &facts.state)
}

/// A check that failed, with what the task has to leave and what is not there: that is written before anything is mended.
fn with_missing(ctx: &Context, node: &Node, failure: Failure) -> Failure {
    if failure.code != Code::TaskUnverified {
        return failure;
    }
    let missing = require_outputs(ctx, node).err();
    match missing.filter(|missing| missing.code == Code::TaskOutputMissing) {
        Some(missing) => Failure {
            blockers: missing.blockers,
            help: missing.help,
            ..failure
        },
        None => failure,
    }
}

fn check(request: &DoneRequest) -> Result<()> {
    let summary = request.summary.as_deref().unwrap_or_default();
    let length = summary.chars().count();
    if length > LONGEST {
        return Err(Failure::usage(
            Code::SummaryTooLong,
            format!("expected a summary of at most {LONGEST} characters, found {length}"),
        )
        .help("say in it what whoever comes next has to know"));
    }
    if request.manual && request.reason.is_none() {
        let again = match &request.task {
            Some(id) => command!("task done {id} --manual --reason WHY"),
            None => command!("task done --manual --reason WHY"),
        };
        return Err(Failure::usage(
            Code::ReasonRequired,
            "--manual needs a reason: say what you looked at",
        )
        .help(again));
    }
    Ok(())
}

/// The node, and whether nothing has to be run for it. Everything that can be refused is refused before.
fn before(ctx: &Context, request: &DoneRequest) -> Result<(Node, bool)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session_to_change(&snapshot)?)?;
    bound_here::require_no_other(ctx, &session.state)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    let plan = Plan::of(&facts)?;
    let graph = Graph::of(&plan.nodes);
    let owner = lease::owner(&ctx.repo, None)?;
    let at = plan.meant(&graph, request.task.as_deref(), &owner)?;
    require_no_decision(&plan, at)?;
    plan.own_claim(at, &owner, Step::Done)?;
    require_before(&facts, &plan, &graph, at)?;
    let node = &plan.nodes[at];
    let is_manual = is_manual(node);
    if is_manual {
        require_proof(&facts, &plan, at, request)?;
    } else if request.manual {
        return Err(Failure::refused(
            Code::TaskUnverified,
            format!(
                "{} is proven by its command; --manual cannot complete it",
                node.id
            ),
        )
        .help(command!("task done {}", node.id)));
    }
    Ok((node.clone(), is_manual || plan.is_proven(at)))
}

/// Refuses to open a decision, a checkpoint or a goal while work before it is not done: it may have been asked for
/// anew since somebody took it.
fn require_before(facts: &Facts<'_>, plan: &Plan<'_>, graph: &Graph<'_>, at: usize) -> Result<()> {
    let mut waits = graph.waits(at, plan.now());
    // Work that is another stage's business now is not ended in this one.
    let is_word = graph.is_persons(at);
    waits.retain(|wait| match wait {
        Wait::Stage { .. } => true,
        Wait::Task { .. } | Wait::Unknown { .. } | Wait::World(_) => is_word,
        _ => false,
    });
    if waits.is_empty() {
        Ok(())
    } else {
        Err(not_ready(facts, &plan.nodes[at].id, &waits))
    }
}

/// Refuses a decision and a goal: values end the one, and evidence the other.
fn require_no_decision(plan: &Plan<'_>, at: usize) -> Result<()> {
    let node = &plan.nodes[at];
    match node.kind {
        NodeKind::Goal => Err(Failure::refused(
            Code::TaskStepInvalid,
            format!(
                "{} is a goal: only evidence completes it, --manual does not",
                node.id
            ),
        )
        .help(gate::lead_of(node, plan.statuses[at], plan.state))),
        NodeKind::Decision => Err(Failure::refused(
            Code::TaskStepInvalid,
            format!(
                "{} is a decision: only `git loopx task decide` completes it",
                node.id
            ),
        )
        .help(gate::lead_of(node, plan.statuses[at], plan.state))),
        _ => Ok(()),
    }
}

/// Tells whether a person's word is what completes a node.
fn is_manual(node: &Node) -> bool {
    node.kind != NodeKind::Work || !matches!(node.verification, Some(Verification::Cmd(_)))
}

/// Refuses a node that nothing proves. Gives whether it was a person's word.
fn require_proof(
    facts: &Facts<'_>,
    plan: &Plan<'_>,
    at: usize,
    request: &DoneRequest,
) -> Result<bool> {
    let node = &plan.nodes[at];
    // No run opens a checkpoint: its kind asks for a person, whatever check it has.
    if node.kind == NodeKind::Work && plan.is_proven(at) {
        return Ok(false);
    }
    if !is_manual(node) {
        return Err(Failure::refused(
            Code::TaskUnverified,
            format!("the code changed since {} passed", node.id),
        )
        .help(command!("task done {}", node.id)));
    }
    if !request.manual {
        facts.require_person("completing a task that no command proves")?;
        let what = match &node.verification {
            Some(Verification::Manual(what)) => format!(": {what}"),
            _ => String::new(),
        };
        return Err(Failure::refused(
            Code::TaskUnverified,
            format!("no command proves {}: a person has to look{what}", node.id),
        )
        .help(command!("task done {} --manual --reason WHY", node.id)));
    }
    facts.require_person("completing a task by hand")?;
    Ok(true)
}

/// Refuses a check whose time was over: the attempt has failed, and counts against the cap.
fn require_in_time(ctx: &Context, task: &TaskId, ran: &Done<Ran>) -> Result<()> {
    let Some(limit) = ran.value.limit else {
        return Ok(());
    };
    let why = format!(
        "`{}` had not ended after {limit} s, its time limit",
        loopx_store::one_line(&ran.value.evidence.argv.join(" "))
    );
    let failed = moves::fail(ctx, Some(task.as_str()), Some(why.clone()))?.value;
    let again = if failed.failures >= failed.cap {
        command!("task retry {task} --reason WHY")
    } else {
        command!("task retry {task}")
    };
    Err(
        Failure::refused(Code::TaskTimedOut, format!("{task} failed: {why}")).help(hint![
            again,
            "  or: ",
            command!("task show {task}")
        ]),
    )
}

/// Refuses what did not pass; the attempt is recorded by then, and the task is as it was.
fn require_passed(ctx: &Context, task: &TaskId, ran: &Done<Ran>) -> Result<()> {
    let Ran {
        evidence,
        not_started,
        ..
    } = &ran.value;
    let why = match (not_started, evidence.exit) {
        (Some(why), _) => format!("could not be started: {why}"),
        (None, Some(0)) if !evidence.tree_kept => format!(
            "changed {} while it ran, so the run is no evidence",
            evidence.changed.join(", ")
        ),
        (None, Some(0)) => return Ok(()),
        (None, Some(code)) => format!("failed with exit code {code}"),
        (None, None) => "was ended by a signal".to_owned(),
    };
    let said = format!(
        "{task} is not done: `{}` {why}",
        loopx_store::one_line(&evidence.argv.join(" "))
    );
    if repeats(ctx, task)? {
        let said = format!("{said}, in the same way {ENOUGH} times: another try shows nothing new");
        return Err(Failure::refused(Code::TaskStuck, said).help(hint![
            command!("task fail {task} --reason WHY").because("its check fails in the same way"),
            "  or mend it in another way, then: ",
            command!("task done {task}")
        ]));
    }
    Err(Failure::refused(Code::TaskUnverified, said).help(hint![
        "mend the code, then: ",
        command!("task done {task}"),
        "  or: ",
        command!("task fail {task} --reason WHY")
    ]))
}

/// Tells whether the newest runs of a task failed alike, since somebody took it.
fn repeats(ctx: &Context, task: &TaskId) -> Result<bool> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session_to_change(&snapshot)?;
    let state = &session.state;
    let since = state.task(task).and_then(TaskFacts::holder);
    let since = since.map_or(0, |claim| claim.seq);
    let runs = state.evidence.iter().filter(|run| {
        let own = run.value.task.as_deref();
        own.is_some_and(|own| own.eq_ignore_ascii_case(task.as_str())) && run.seq > since
    });
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by_key(|run| (run.seq, run.op.clone()));
    let newest = runs.iter().rev().take(ENOUGH);
    let mut outputs = Vec::new();
    for run in newest.take_while(|run| !run.value.passed()) {
        let log = snapshot.log(&session, &run.op)?.unwrap_or_default();
        outputs.push(String::from_utf8_lossy(&log).into_owned());
    }
    Ok(are_alike(&outputs))
}

/// Tells whether a task is taken here: its check runs, whosever the build is.
pub(in crate::flow) fn is_taken_here(ctx: &Context, state: &State, task: &str) -> Result<bool> {
    let facts = TaskId::parse(task).and_then(|id| state.task(&id));
    let Some(claim) = facts.and_then(TaskFacts::holder) else {
        return Ok(false);
    };
    Ok(claim.value.is_of(&lease::owner(&ctx.repo, None)?))
}
