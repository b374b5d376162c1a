//! Tasks: who takes which, and what becomes of it. The rules are in [`loopx_rules::task`]; here they meet the
//! session, the worktree and the code as it is now.

mod card;
mod commit;
mod decide;
mod done;
mod gates;
mod ledger;
mod moves;
pub(in crate::flow) mod outputs;
mod renew;
mod report;
mod take;
mod touched;
mod view;

pub(super) use card::card_here;
pub(crate) use decide::{DecideRequest, Decided, decide, open};
pub(super) use done::is_taken_here;
pub(crate) use done::{DoneRequest, Finished, done};
pub(crate) use gates::{DecisionRow, GateView, decisions};
pub(crate) use ledger::{left_undone, sprints};
pub(crate) use moves::{Moved, fail, release, retry, skip};
pub(crate) use outputs::left_by;
pub(super) use renew::renew;
pub(crate) use report::{Gathered, REPORT, gathered};
pub(crate) use take::{TakeRequest, peek, take};
pub(crate) use touched::Touched;
pub(crate) use view::{
    ClaimView, GraphView, Row, Tally, TaskApart, TaskTaken, TaskView, TurnView, apart, claimed,
    graph_of, list, log, resources, show, tally,
};

use super::context::Context;
use super::rules::Applying;
use super::skills::Skills;
use super::transaction::{Act, Done, Facts, Needs, act_beside};
use super::watched::Watched;
use super::workcopy::{self, WorkCopy};
use super::{files, lease, publish, task_list};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_git::{Entry, EntryKind, Identity, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::contract::Contract;
use loopx_rules::gate;
use loopx_rules::gate::{AuditItem, Proof};
use loopx_rules::lease::{MAX_LEASE, Owner, clock};
use loopx_rules::session::{Stamped, State};
use loopx_rules::task::card::{Card, Content, Read};
use loopx_rules::task::decide::{Standing, standing};
use loopx_rules::task::early::Early;
use loopx_rules::task::event::Claim;
use loopx_rules::task::graph::{Graph, Now};
use loopx_rules::task::node::{Node, NodeKind, TaskId, Turn};
use loopx_rules::task::plan;
use loopx_rules::task::slices::check_of;
use loopx_rules::task::status::{Status, Step, TaskFacts};
use loopx_rules::task::world::{Open, World};
use loopx_rules::texts::Texts;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// Records what happens to a task: here, or at the remote first where that is asked for or `loopx.claim` says so. Gives
/// that remote.
fn record<T>(
    ctx: &Context,
    (needs, at_remote): (Needs, bool),
    decide: impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<(Done<T>, Option<String>)> {
    if at_remote || publish::is_wanted(ctx) {
        let (done, remote) =
            publish::act_there(ctx, needs, decide).map_err(|failure| sync_first(ctx, failure))?;
        return Ok((done, Some(remote)));
    }
    let done = act_beside(ctx, needs, decide).map_err(|failure| save_first(ctx, failure))?;
    Ok((done, None))
}

/// Test for a refusal by what the list of tasks says.
fn is_of_list(failure: &Failure) -> bool {
    matches!(
        failure.code,
        Code::TaskUnknown
            | Code::TaskNotReady
            | Code::TasksStalled
            | Code::TasksDone
            | Code::TasksMissing
            | Code::TaskListEmpty
            | Code::TaskStepInvalid
    )
}

/// A refusal by what the remote has, where that is not here yet: what leads on here goes by less.
fn sync_first(ctx: &Context, failure: Failure) -> Failure {
    let unseen = || super::next::distance(ctx).ok().flatten();
    match unseen().filter(|there| is_of_list(&failure) && there.behind > 0) {
        Some(there) => failure.help(command!("sync {}", there.remote)),
        None => save_first(ctx, failure),
    }
}

/// A refusal by what is saved, where the list of this worktree, or what tasks left, is another.
fn save_first(ctx: &Context, failure: Failure) -> Failure {
    if !is_of_list(&failure) {
        return failure;
    }
    match unsaved(ctx) {
        Ok(Some(lead)) => failure.help(lead),
        _ => failure,
    }
}

/// The command that saves the list of this worktree, or what tasks left, where that is another than the session's.
fn unsaved(ctx: &Context) -> Result<Option<Hint>> {
    let snapshot = ctx.store()?.snapshot()?;
    let state = ctx.session_to_change(&snapshot)?.state;
    let (policy, _) = ctx.policy_if_there(&state)?;
    let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)? else {
        return Ok(None);
    };
    let edits = copy.peek(&state, policy.artifacts.max_bytes)?.edits;
    let save = command!("save").note("(what is here of the tasks is not saved)");
    if let Some(path) = edits.outputs.removed().next() {
        let back = command!("checkout --force {}", shell_word(path));
        return Ok(Some(hint![save, format!("; to bring {path} back: "), back]));
    }
    let is_list = edits.writes.contains_key(&Artifact::TaskList);
    Ok(is_list.then_some(save))
}

/// The plan of a session beside what happened, as one decision sees it.
struct Plan<'f> {
    state: &'f State,
    texts: &'f Texts,
    nodes: Cow<'f, [Node]>,
    statuses: Vec<Status>,
    /// The places of those because of which nodes are skipped; empty where nothing is.
    fallen: Vec<Option<usize>>,
    /// The ids of what gates inserted.
    inserted: BTreeSet<String>,
    world: &'f World,
    watched: &'f Watched,
    /// Records whose steps were taken before they could be.
    early: &'f [Early],
    /// Set when whoever asks is an agent whose word is no person's.
    is_agents: bool,
    /// The lines of the audit that say anything of a check, by its name.
    known: HashMap<String, AuditItem>,
}

impl<'f> Plan<'f> {
    /// Refused where the plan cannot be read, or holds nothing.
    fn of(facts: &'f Facts<'_>) -> Result<Self> {
        let state = &facts.state;
        let nodes = plan::now(&facts.texts, state).map_err(|blocker| {
            let help = gate::list_help(state, &facts.policy, blocker.help);
            Failure::refused(blocker.code, blocker.message).help(help)
        })?;
        if nodes.is_empty() {
            return Err(Failure::not_found(
                Code::TasksMissing,
                format!("session {} has no tasks", state.id),
            )
            .help(gate::next_action(facts.view())));
        }
        let known = gate::known(facts.view());
        let statuses = gate::task_statuses(facts.view(), &nodes, &known);
        // Of two of one id the first speaks.
        let known = known.into_iter().rev();
        let known = known.map(|item| (item.id.clone(), item)).collect();
        let inserted = gates_inserted(&nodes);
        let recorded: Vec<Status> = nodes
            .iter()
            .zip(&statuses)
            .map(|(node, status)| match status {
                Status::Skipped => state.task_status(&node.id),
                status => *status,
            })
            .collect();
        let fallen = plan::fallen_by(&nodes, &recorded, state);
        Ok(Plan {
            state,
            texts: &facts.texts,
            nodes,
            statuses,
            fallen,
            inserted,
            world: &facts.world,
            watched: &facts.watched,
            early: &facts.early,
            is_agents: facts.require_person("this").is_err(),
            known,
        })
    }

    fn now(&self) -> Now<'_> {
        Now {
            statuses: &self.statuses,
            stage: self.state.stage,
            world: self.world,
            capacity: None,
        }
    }

    /// The place of the node that somebody names.
    fn find(&self, graph: &Graph<'_>, name: &str) -> Result<usize> {
        let found = TaskId::parse(name).and_then(|id| graph.find(&id));
        found.ok_or_else(|| {
            let ids = self.nodes.iter().map(|node| node.id.as_str());
            unknown(self.state, name, ids)
        })
    }

    /// The node that is meant: by name, or the one that whoever asks has.
    fn meant(&self, graph: &Graph<'_>, name: Option<&str>, owner: &Owner) -> Result<usize> {
        if let Some(name) = name {
            return self.find(graph, name);
        }
        let is_own = |at: &usize| {
            let holder = self.facts(*at).and_then(TaskFacts::holder);
            holder.is_some_and(|claim| claim.value.is_of(owner))
        };
        let own: Vec<usize> = (0..self.nodes.len()).filter(is_own).collect();
        match own.as_slice() {
            [at] => Ok(*at),
            [] => Err(Failure::usage(
                Code::TaskNotNamed,
                "expected the id of a task: no task is taken in this worktree",
            )
            .help(task_list::lead(self.state))),
            several => {
                let ids = several.iter().map(|at| self.nodes[*at].id.as_str());
                let ids: Vec<&str> = ids.collect();
                Err(Failure::usage(
                    Code::TaskNotNamed,
                    format!(
                        "expected the id of a task: {} are taken here",
                        ids.join(", ")
                    ),
                )
                .help(command!("task show {}", ids[0])))
            }
        }
    }

    /// The node because of which one is skipped, where no record of its own says so.
    fn because(&self, at: usize) -> Option<&TaskId> {
        let cause = self.fallen.get(at).copied().flatten()?;
        Some(&self.nodes[cause].id)
    }

    fn facts(&self, at: usize) -> Option<&TaskFacts> {
        self.state.task(&self.nodes[at].id)
    }

    /// State of a node's own check on the present code; nothing where the node has none.
    fn proof(&self, at: usize) -> Option<Proof> {
        let node = &self.nodes[at];
        let known = self.known.get(node.id.as_str()).map(|item| item.proof);
        let has_check = || node.kind == NodeKind::Work || check_of(node).is_some();
        known.or_else(|| has_check().then_some(Proof::Missing))
    }

    /// The second at which the lease of a claim ends here.
    fn until(&self, claim: &Stamped<Claim>) -> i64 {
        self.watched.until(claim)
    }

    fn lasting(&self, claim: &Stamped<Claim>) -> String {
        format!("until {}", clock(self.until(claim)))
    }

    /// Refusal because somebody else has a task: who, and until when.
    fn held(&self, id: &TaskId, claim: &Stamped<Claim>) -> Failure {
        let (who, until) = (self.watched.whose(claim), self.lasting(claim));
        Failure::waiting(Code::TaskHeld, format!("{id} is taken by {who}, {until}")).help(hint![
            command!("take"),
            "  (another one), or: ",
            command!("take {id} --take-over --reason WHY")
        ])
    }

    fn is_proven(&self, at: usize) -> bool {
        let known = self.known.get(self.nodes[at].id.as_str());
        known.is_some_and(AuditItem::is_proven)
    }

    /// Refuses a step that does not lead on from where the node is.
    fn require(&self, at: usize, step: Step) -> Result<()> {
        let node = &self.nodes[at];
        let status = self.state.task_status(&node.id);
        let is_decided = matches!(
            standing(node, self.state),
            Some(Standing::Proceeds(_) | Standing::Superseded(_))
        );
        if is_decided {
            return Err(Failure::refused(
                Code::TaskStepInvalid,
                format!(
                    "{} is decided already, and `{step}` is not possible any more",
                    node.id
                ),
            )
            .help(command!("task show {}", node.id)));
        }
        if status.after(step).is_some() {
            return Ok(());
        }
        let id = &node.id;
        if let Some(cause) = self.fallen.get(at).copied().flatten() {
            return Err(self.is_fallen(at, cause, step));
        }
        let is_unearned = status == Status::Completed && self.statuses[at] == Status::Failed;
        let why = if is_unearned {
            format!(
                "{id} failed: its record of a completion does not count, and `{step}` is possible only after `retry`"
            )
        } else {
            status.refuses(id, step)
        };
        Err(Failure::refused(Code::TaskStepInvalid, why).help(self.next_step(at, status)))
    }

    /// Command that leads on from a status: to the node itself where it waits.
    fn next_step(&self, at: usize, status: Status) -> Hint {
        let id = &self.nodes[at].id;
        if status == Status::Pending && self.waits(id) {
            return command!("task show {id}");
        }
        self.step_from(at, status)
    }

    /// Command that leads on from a status.
    fn step_from(&self, at: usize, status: Status) -> Hint {
        let node = &self.nodes[at];
        let id = &node.id;
        match status {
            Status::Pending => command!("take {id}"),
            Status::Claimed => command!("task done {id}"),
            Status::Completed => command!("task retry {id} --reason WHY"),
            Status::Failed | Status::Skipped => gate::retry(node, self.state),
            Status::Superseded => command!("task show {id}"),
        }
    }

    /// Test for a node before which something else has to come.
    fn waits(&self, id: &TaskId) -> bool {
        let graph = Graph::of(&self.nodes);
        let at = graph.find(id);
        at.is_some_and(|at| !graph.waits(at, self.now()).is_empty())
    }

    /// The refusal of a step of a node that is skipped because of another one.
    fn is_fallen(&self, at: usize, cause: usize, step: Step) -> Failure {
        let (node, cause) = (&self.nodes[at], &self.nodes[cause]);
        let message = format!(
            "{} is skipped because of {}, and `{step}` is not possible",
            node.id, cause.id
        );
        let is_gate = cause
            .gate
            .as_deref()
            .is_some_and(|gate| !gate.outcomes.is_empty());
        Failure::refused(Code::TaskStepInvalid, message).help(if is_gate {
            gate::lead_of(node, Status::Pending, self.state)
        } else {
            gate::retry(cause, self.state)
        })
    }

    /// The claim of a node that whoever asks has.
    fn own_claim(&self, at: usize, owner: &Owner, step: Step) -> Result<&Stamped<Claim>> {
        self.require(at, step)?;
        let id = &self.nodes[at].id;
        let holder = self.facts(at).and_then(TaskFacts::holder);
        match holder {
            Some(claim) if claim.value.is_of(owner) => Ok(claim),
            Some(claim) => Err(self.held(id, claim)),
            None => Err(
                Failure::refused(Code::TaskStepInvalid, Status::Pending.refuses(id, step))
                    .help(self.next_step(at, Status::Pending)),
            ),
        }
    }

    /// The line of the list that a node stands on; empty where a gate inserted it.
    fn line(&self, at: usize) -> &str {
        let list = self.texts.get(&Artifact::TaskList);
        let above = self.nodes[at].line.checked_sub(1);
        let line = list
            .zip(above)
            .and_then(|(list, above)| list.lines().nth(above));
        line.unwrap_or_default()
    }

    fn card(&self, ctx: &Context, graph: &Graph<'_>, at: usize) -> Card {
        let (repo, state) = (&ctx.repo, self.state);
        let blob = |path: &str| blob_of(repo, state, path);
        let about = (&state.id, state.title.as_str());
        let mut card = Card::of(graph, at, about, state, blob).with_line(self.line(at));
        if card.status == Status::Pending {
            let open = self.world.open(&self.nodes[at]);
            card.waits = open.iter().map(Open::words).collect();
        }
        let plan = self.texts.get(&Artifact::Plan);
        let contract = plan.and_then(|text| Contract::read(text).ok());
        card.contract = contract.unwrap_or_default();
        card.skill = Skills::of(repo).row(graph, at, (state, &self.statuses));
        let node = &self.nodes[at];
        let rules = Applying::here(ctx).reads(&own_paths(node));
        let own = card.reads.iter().filter_map(|read| {
            let lead = command!("cat {}", shell_word(&read.path));
            Some((read.path.clone(), text_of(repo, state, &read.path)?, lead))
        });
        let texts = rules.iter().map(|(read, text)| {
            let lead = command!("rule load --stage build");
            (read.path.clone(), text.clone(), lead)
        });
        card.contents = Content::within(own.chain(texts));
        card.rules = rules.into_iter().map(|(read, _)| read).collect();
        card.absent = absent(repo, state, &card.reads);
        card.lead = (node.gate.is_some()).then(|| gate::lead_of(node, Status::Pending, state));
        card.is_agents = self.is_agents;
        card.below = (repo.work_dir().and_then(files::below)).unwrap_or_default();
        card
    }
}

/// The files of a node by name: its rules are those that apply to them.
fn own_paths(node: &Node) -> Vec<String> {
    node.own_files().map(str::to_owned).collect()
}

/// The ids of what gates inserted: they begin with the id of the gate that stands in the place of another.
fn gates_inserted(nodes: &[Node]) -> BTreeSet<String> {
    let next = |node: &Node| Some(node.gate.as_ref()?.superseded.as_ref()?.key());
    let gates: BTreeSet<String> = nodes.iter().filter_map(next).collect();
    if gates.is_empty() {
        return gates;
    }
    let is_inside = |id: &str| {
        let mut dots = id.match_indices('.').map(|(at, _)| at);
        dots.any(|at| gates.contains(&id[..at]))
    };
    let keys = nodes.iter().map(|node| node.id.key());
    keys.filter(|key| is_inside(key)).collect()
}

/// Refusal because nobody knows a task of this name.
fn unknown<'n>(state: &State, name: &str, ids: impl Iterator<Item = &'n str>) -> Failure {
    let dropped = TaskId::parse(name).and_then(|id| state.dropped_by(&id));
    let gone = dropped.map_or(String::new(), |(change, _)| {
        format!(": {change} dropped it")
    });
    let message = format!("session {} has no task `{name}`{gone}", state.id);
    let failure = Failure::not_found(Code::TaskUnknown, message);
    match loopx_base::nearest(name, ids) {
        Some(near) => failure.help(command!("task show {near}")),
        None => failure.help(task_list::lead(state)),
    }
}

/// The content of something that is to be read: an artifact of the session, or a file of the code as it is committed.
fn blob_of(repo: &Repo, state: &State, path: &str) -> Option<String> {
    content_of(repo, state, path, |_| true)
}

/// Content of a single file of the session or of the code as committed: a folder has no content that somebody could
/// have looked at.
fn file_of(repo: &Repo, state: &State, path: &str) -> Option<String> {
    content_of(repo, state, path, |entry| entry.kind == EntryKind::Blob)
}

/// The content of a path that the session has: an artifact, or what a task left.
fn own_blob<'s>(state: &'s State, path: &str) -> Option<&'s Oid> {
    let artifact = Artifact::at(path).and_then(|artifact| state.artifacts.get(&artifact));
    artifact.or_else(|| state.output(path))
}

/// The text of a path that the session has; nothing where it is none.
fn text_of(repo: &Repo, state: &State, path: &str) -> Option<String> {
    let bytes = repo.read_blob(own_blob(state, path)?).ok()?;
    String::from_utf8(bytes).ok()
}

/// Files to be read in the session that were checked out nowhere here.
fn absent(repo: &Repo, state: &State, reads: &[Read]) -> Vec<String> {
    let paths = reads.iter().map(|read| &read.path);
    let own = paths.filter(|path| own_blob(state, path).is_some());
    let is_here = |path: &str| {
        let folder = repo.work_dir().map(|top| top.join(workcopy::FOLDER));
        folder.is_some_and(|folder| folder.join(state.id.as_str()).join(path).is_file())
    };
    own.filter(|path| !is_here(path)).cloned().collect()
}

fn content_of(
    repo: &Repo,
    state: &State,
    path: &str,
    is_meant: impl Fn(&Entry) -> bool,
) -> Option<String> {
    if let Some(blob) = own_blob(state, path) {
        return Some(blob.to_string());
    }
    let head = repo.head().ok()?.commit?;
    let tree = repo.commit_info(&head).ok()?.tree;
    let entry = repo.entry_at(&tree, path).ok()??;
    is_meant(&entry).then(|| entry.id.to_string())
}

/// Time of a decision, in seconds.
fn now(facts: &Facts<'_>) -> i64 {
    facts.identity.map_or(0, Identity::judges_at)
}

/// Builds the claim of whoever asks.
fn claim_for(owner: &Owner, turn: Option<Turn>, over: Option<&Stamped<Claim>>) -> Claim {
    Claim {
        owner: owner.token.clone(),
        agent: owner.agent.clone(),
        seconds: turn.map_or(owner.seconds, Turn::seconds).min(MAX_LEASE),
        over: over.map(|claim| claim.op.clone()),
        ..Claim::default()
    }
}

/// Writes the worktree's token down before something is claimed under it, and has git pass over the session's folder: what
/// a task leaves goes there, also where nobody has checked the session out, and is no part of the code.
fn keep(repo: &Repo, owner: &Owner) -> Result<()> {
    if repo.work_dir().is_some() {
        workcopy::exclude(repo)?;
    }
    lease::keep(repo, &owner.token)
}

/// The session that a reading is about.
fn named(state: &State) -> SessionId {
    state.id.clone()
}
