//! The next step among the tasks of a stage: the own one first, then what is ready, then what is a person's word, then
//! what failed. Owns no gate and no document.

use super::build::{failed_here, is_of_this_code, looked_at, own_runs, unwritten};
use super::{Advised, Here, Next, person, review, take_back};
use crate::artifact::Artifact;
use crate::gate;
use crate::gate::View;
use crate::session::{Stamped, State};
use crate::stage::Stage;
use crate::task::decide::{Standing, standing};
use crate::task::event::Claim;
use crate::task::graph::{Graph, Now, Wait};
use crate::task::node::{Node, NodeKind, TaskId, Verification};
use crate::task::outputs;
use crate::task::plan;
use crate::task::status::{Status, TaskFacts};
use crate::task::world::{Condition, Open, UNSEEN};
use loopx_base::hint::{Command, Verb, command, hint};
use std::cmp::Reverse;

/// Tells whether the task list says what comes next before anybody writes. Where the world is waited for, or a word
/// alone is, nothing may be left to write; and a pipeline says what is written when.
pub(super) fn list_leads(view: View<'_>, here: &Here<'_>) -> bool {
    here.world.is_some_and(|world| world.is_asked)
        || is_of_pipeline(view)
        || is_words_turn(view, here)
}

/// Tells whether verdicts and words are all that can be given now.
fn is_words_turn(view: View<'_>, here: &Here<'_>) -> bool {
    // Most lists have work alone, and are not read for this.
    let text = view.texts.get(&Artifact::TaskList);
    let nodes = match text {
        Some(text) if text.contains("\"kind\"") => plan::now(view.texts, view.state),
        _ => return false,
    };
    let nodes = nodes.unwrap_or_default();
    let statuses = gate::task_statuses(view, &nodes, &gate::known(view));
    let graph = Graph::of(&nodes);
    let ready = graph.ready(now(view, &statuses, here));
    !ready.is_empty() && ready.iter().all(|at| graph.is_persons(*at))
}

/// The stage as its tasks see it.
fn now<'s>(view: View<'_>, statuses: &'s [Status], here: &Here<'s>) -> Now<'s> {
    Now {
        statuses,
        stage: view.state.stage,
        world: here.world.unwrap_or(&UNSEEN),
        capacity: None,
    }
}

/// Tells whether a pipeline made some of the tasks.
fn is_of_pipeline(view: View<'_>) -> bool {
    // Most lists come from none, and are not read for this.
    let text = view.texts.get(&Artifact::TaskList);
    let nodes = || plan::now(view.texts, view.state).unwrap_or_default();
    text.is_some_and(|text| text.contains("\"pipeline\""))
        && nodes().iter().any(|node| node.part.is_some())
}

/// The step behind a task that was skipped: what waits for it goes nowhere by itself. Either that task is done after
/// all, or what waits falls, too.
fn behind_skipped(
    view: View<'_>,
    here: &Here<'_>,
    (graph, statuses): (&Graph<'_>, &[Status]),
    is_due: impl Fn(&Node) -> bool,
) -> Option<Advised> {
    let behind = gate::behind_skipped(graph, statuses, |at| is_due(&graph.nodes[at]))?;
    let told = format!(
        "{} waits for {}, which was skipped",
        behind.waits, behind.skipped.id
    );
    Some(by_person(view, here, told.clone(), || {
        let retry = behind.retry(view.state);
        // Who let it go beyond its cap lets go of what waits for it.
        if plan::is_at_cap(behind.skipped, view.state) {
            let again = hint![
                format!("{told}; to try the skipped task once more: "),
                retry
            ];
            return Advised::from(behind.skip()).advice(again);
        }
        let fall = hint![format!("{told}; to skip this task too: "), behind.skip()];
        Advised::from(retry).advice(fall)
    }))
}

/// A step that a person takes, or who is waited for where an agent asks.
pub(super) fn by_person(
    view: View<'_>,
    here: &Here<'_>,
    what: String,
    step: impl FnOnce() -> Advised,
) -> Advised {
    match person(view, here) {
        Some(who) => Advised::waits(who, what),
        None => step(),
    }
}

/// The step; nothing where the tasks of the stage ask for none.
pub(super) fn next(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    step(view, here).map(|step| saved(here, step))
}

/// A step of a task, behind the save of the list that it goes by.
fn saved(here: &Here<'_>, step: Advised) -> Advised {
    let typed = match &step.next {
        Next::Command(command) => command,
        Next::Write => &step.advice,
        Next::Waits(_) | Next::Nothing => return step,
    };
    let is_of_task = |one: &Command| matches!(one.verb(), Verb::Take | Verb::Task);
    match &here.unsaved {
        Some(told) if typed.commands().any(is_of_task) => {
            Advised::from(command!("save")).advice(told.clone())
        }
        _ => step,
    }
}

fn step(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let nodes = plan::now(view.texts, view.state).ok()?;
    let statuses = gate::task_statuses(view, &nodes, &gate::known(view));
    let graph = Graph::of(&nodes);
    let now = now(view, &statuses, here);
    let tasks = Tasks {
        view,
        here,
        graph: &graph,
        now,
        ready: graph.ready(now),
    };
    // What only others can do is waited for where nothing else is open.
    let ladder = [
        Tasks::own,
        Tasks::free,
        Tasks::gate,
        Tasks::checkpoint,
        Tasks::failed,
        Tasks::skipped,
        Tasks::unfit,
        Tasks::held,
        Tasks::outside,
    ];
    first_open(ladder.iter().filter_map(|step| step(&tasks)))
}

/// The first step that whoever asks may take; else the first that others are waited for with.
fn first_open(steps: impl Iterator<Item = Advised>) -> Option<Advised> {
    let mut wait = None;
    for step in steps {
        if step.waiting().is_none() {
            return Some(step);
        }
        wait.get_or_insert(step);
    }
    wait
}

/// The tasks of a session, as somebody who asks for the next step sees them.
struct Tasks<'q> {
    view: View<'q>,
    here: &'q Here<'q>,
    graph: &'q Graph<'q>,
    now: Now<'q>,
    ready: Vec<usize>,
}

impl<'q> Tasks<'q> {
    /// Test for a task of a stage that is reached: what belongs to a later stage waits for that, whoever has it.
    fn is_due(&self, node: &Node) -> bool {
        self.view.state.stage.works_on(node.stage)
    }

    fn holder(&self, node: &Node) -> Option<&'q Stamped<Claim>> {
        let facts = self.view.state.task(&node.id);
        facts.and_then(TaskFacts::holder)
    }

    fn statuses(&self) -> &'q [Status] {
        self.now.statuses
    }

    fn ready(&self) -> impl Iterator<Item = (usize, &'q Node)> {
        let nodes = self.graph.nodes;
        self.ready.iter().map(|at| (*at, &nodes[*at]))
    }

    /// The tasks that are taken here.
    fn own(&self) -> Option<Advised> {
        let token = self.here.worktrees.here.as_deref();
        let is_own = |node: &&Node| {
            let holder = self.holder(node);
            holder.is_some_and(|claim| Some(claim.value.owner.as_str()) == token)
        };
        let own = self.graph.nodes.iter().filter(is_own);
        let mut own: Vec<&Node> = own.filter(|node| self.is_due(node)).collect();
        let meant = self.here.task.as_ref();
        if own.iter().any(|node| Some(&node.id) == meant) {
            own.retain(|node| Some(&node.id) == meant);
        }
        // Of several that this worktree has, the newest is the one at work.
        own.sort_by_key(|node| Reverse(self.holder(node).map(|claim| claim.seq)));
        first_open(own.into_iter().map(|node| {
            if node.gate.is_some() {
                judge(self.view, self.here, node, Status::Claimed)
            } else {
                own_task(self.view, self.here, node)
            }
        }))
    }

    /// Work that is ready, and that somebody can do here.
    fn free(&self) -> Option<Advised> {
        let mut work = self.ready().filter(|(at, _)| !self.graph.is_persons(*at));
        let (_, node) = work.find(|(_, node)| self.here.unfit_of(&node.id).is_none())?;
        Some(Advised::from(command!("take")).advice(format!("{} is ready", node.id)))
    }

    fn gate(&self) -> Option<Advised> {
        let gates = self.ready().filter(|(_, node)| node.gate.is_some());
        first_open(gates.map(|(at, node)| judge(self.view, self.here, node, self.statuses()[at])))
    }

    fn checkpoint(&self) -> Option<Advised> {
        let mut ready = self.ready();
        let (at, node) = ready.find(|(_, node)| node.kind == NodeKind::Checkpoint)?;
        let what = format!("the decision that {} may pass", node.id);
        Some(by_person(self.view, self.here, what, || {
            Advised::write(hint![
                format!("look at what {} is about ({}): ", node.id, node.title),
                gate::lead_of(node, self.statuses()[at], self.view.state)
            ])
        }))
    }

    fn failed(&self) -> Option<Advised> {
        let all = self.graph.nodes.iter().zip(self.statuses());
        let failed = all.filter(|(node, status)| **status == Status::Failed && self.is_due(node));
        first_open(failed.filter_map(|(node, _)| self.again(node)))
    }

    /// The step behind a task that failed.
    fn again(&self, node: &Node) -> Option<Advised> {
        let (id, cap, state) = (&node.id, node.cap, self.view.state);
        let why = state.task(id)?.last.reason.as_deref().unwrap_or_default();
        let told = format!("{id} failed: {why}");
        let retry = gate::retry(node, state);
        if !plan::is_at_cap(node, state) {
            return Some(Advised::from(retry).advice(told));
        }
        let what = format!("the decision to try {id} once more, beyond its cap");
        Some(by_person(self.view, self.here, what, || {
            Advised::write(hint![
                format!("{told}; all of its {cap} attempts are used. To try it once more: "),
                retry,
                "; to leave it: ",
                command!("task skip {id} --reason WHY")
            ])
        }))
    }

    fn skipped(&self) -> Option<Advised> {
        let graph = (self.graph, self.statuses());
        behind_skipped(self.view, self.here, graph, |node| self.is_due(node))
    }

    /// Work that is ready, and whose skill nobody has here.
    fn unfit(&self) -> Option<Advised> {
        let mut work = self.ready().filter(|(at, _)| !self.graph.is_persons(*at));
        let unfit = work.find_map(|(_, node)| self.here.unfit_of(&node.id))?;
        Some(Advised::write(hint![
            format!("{}: ", unfit.why),
            &unfit.help
        ]))
    }

    /// A task that somebody else has.
    fn held(&self) -> Option<Advised> {
        let token = self.here.worktrees.here.as_deref();
        let mut due = self.graph.nodes.iter().filter(|node| self.is_due(node));
        let (node, claim) = due.find_map(|node| {
            let claim = self.holder(node)?;
            (Some(claim.value.owner.as_str()) != token).then_some((node, claim))
        })?;
        let (id, agent) = (&node.id, claim.value.agent.as_deref());
        let worktrees = &self.here.worktrees;
        let whose = worktrees.whose(&claim.value.owner, agent, &claim.signed.by);
        let over = command!("take {id} --take-over --reason WHY");
        let wait = Advised::waits(whose, format!("the task {id}"));
        Some(wait.advice(hint!["to take it over: ", over]))
    }

    /// The wait of the first task that goes on by the world, or the word of whoever asks.
    fn outside(&self) -> Option<Advised> {
        outside(self.view, self.here, self.graph, self.now)
    }
}

/// Tells whether this worktree has taken a task.
pub(super) fn has_task(view: View<'_>, here: &Here<'_>) -> bool {
    let token = here.worktrees.here.as_deref();
    let mut holders = view.state.tasks.values().filter_map(TaskFacts::holder);
    token.is_some_and(|token| holders.any(|claim| claim.value.owner == token))
}

/// Test for a worktree that, on a detached HEAD, has a task while another one has the branch of the session: it is worked on
/// and ended here.
pub(super) fn is_beside(view: View<'_>, here: &Here<'_>) -> bool {
    let is_detached = here.worktree.as_ref().is_some_and(|tree| {
        tree.branch.is_none() && tree.elsewhere.is_some() && tree.sequence.is_none()
    });
    is_detached && has_task(view, here)
}

/// A task that somebody may take beside the build of another worktree. Where there is a remote, it is claimed there
/// first: whoever builds is somewhere else.
pub(super) fn free(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    view.texts.get(&Artifact::TaskList)?;
    let nodes = plan::now(view.texts, view.state).ok()?;
    let statuses = gate::task_statuses(view, &nodes, &gate::known(view));
    let graph = Graph::of(&nodes);
    let now = now(view, &statuses, here);
    let ready = graph.ready(now).into_iter();
    let mut work = ready.filter(|at| !graph.is_persons(*at));
    let id = &nodes[work.find(|at| here.unfit_of(&nodes[*at].id).is_none())?].id;
    let told = format!("{id} is free, beside the build of another worktree");
    let take = match &here.remote {
        // A claim goes there alone, onto the list that is there.
        Some(remote) if remote.ahead > 0 => Advised::from(command!("sync {}", remote.remote))
            .advice(format!(
                "{told}; the remote has not got what was saved here"
            )),
        Some(remote) if remote.behind > 0 => Advised::from(command!("sync {}", remote.remote))
            .advice("the remote has what is not here yet"),
        Some(_) => Advised::from(command!("take --remote")).advice(told),
        None => Advised::from(command!("take")).advice(told),
    };
    Some(saved(here, take))
}

/// A gate that is to be decided.
fn judge(view: View<'_>, here: &Here<'_>, node: &Node, status: Status) -> Advised {
    let lead = gate::lead_of(node, status, view.state);
    let first = to_be_written(view, here, &node.id);
    let told = first.unwrap_or_else(|| format!("decide {}: ", node.id));
    let decide = || Advised::write(hint![told, lead]);
    match standing(node, view.state) {
        Some(Standing::Escalated(_)) => {
            by_person(view, here, format!("a word on {}", node.id), decide)
        }
        _ => decide(),
    }
}

/// The wait of the first task that could go on otherwise.
fn outside(view: View<'_>, here: &Here<'_>, graph: &Graph<'_>, now: Now<'_>) -> Option<Advised> {
    let pending = (0..graph.nodes.len()).filter(|at| now.statuses[*at] == Status::Pending);
    let waits = pending.map(|at| graph.waits(at, now));
    let is_outside = |waits: &Vec<Wait>| waits.iter().all(|one| matches!(one, Wait::World(_)));
    first_open(waits.filter(is_outside).flatten().filter_map(|wait| {
        let Wait::World(open) = wait else {
            return None;
        };
        Some(of_the_world(view, here, &open))
    }))
}

/// The step of a task that waits for nothing but the world.
fn of_the_world(view: View<'_>, here: &Here<'_>, open: &Open) -> Advised {
    let task = &open.task;
    let told = format!("{task} waits for {}", open.words());
    if open.never {
        let what = format!("the decision to skip {task}: {told}");
        let fall = command!("task skip {task} --reason WHY");
        return by_person(view, here, what, || {
            Advised::write(hint![format!("{told}; to skip the task: "), fall])
        });
    }
    let Condition::Person { person } = &open.condition else {
        return Advised::waits("an event outside the session", told);
    };
    let word = command!("task open {task} --reason WHY");
    let what = format!("the decision that {task} may begin");
    let names = here.who.map(|who| view.credentials.names(who));
    if open.condition.is_persons(&names.unwrap_or_default()) {
        let told = format!("{told}; to say that it may begin: ");
        return by_person(view, here, what, || Advised::write(hint![told, word]));
    }
    Advised::waits(person, what)
}

/// A file that a task leaves, from the top of the worktree.
fn opened(state: &State, path: &str) -> String {
    match outputs::task_of(path) {
        Some(_) => format!(".loopx/{}/{path}", state.id),
        None => path.to_owned(),
    }
}

/// Advice to write the files first that a task leaves, where some are missing.
fn to_be_written(view: View<'_>, here: &Here<'_>, id: &TaskId) -> Option<String> {
    let paths = here.missing_of(id.as_str())?.iter();
    let shown = paths.map(|path| {
        let path = opened(view.state, path);
        let here = here.worktree.as_ref();
        here.map_or_else(|| path.clone(), |worktree| worktree.shown(&path))
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    Some(format!("write {shown}, which {id} leaves, then: "))
}

/// The task that is taken here.
fn own_task(view: View<'_>, here: &Here<'_>, node: &Node) -> Advised {
    let id = &node.id;
    if let Some(told) = to_be_written(view, here, id) {
        return Advised::write(hint![told, command!("task done {id}")]);
    }
    let Some(Verification::Cmd(_)) = &node.verification else {
        let step = command!("task done {id} --manual --reason WHY");
        return looked_at(view, here, id.as_str(), &step);
    };
    let done = command!("task done {id}");
    let last = own_runs(view, id.as_str()).next_back();
    let failed = last.filter(|run| !run.value.passed());
    let why = || format!("{id} failed on this code");
    match failed {
        // Nothing is mended behind the build.
        Some(run) if view.state.stage == Stage::Review && is_of_this_code(view, here, run) => {
            review::send_back(view, here, "build", &why())
        }
        Some(_) if view.state.stage == Stage::Done => {
            let back = take_back(view.state, here.who, &why());
            let undoes = back.command().is_some_and(|back| back.verb() == Verb::Undo);
            // The run stands behind what is taken back.
            let is_last = undoes && back.command().is_some_and(|back| back.args().is_empty());
            let back = if is_last { command!("undo 1") } else { back };
            Advised::from(back).advice(why())
        }
        Some(run) if is_of_this_code(view, here, run) => failed_here(id.as_str(), run, &done),
        Some(run) => Advised::from(done).advice(hint![
            format!("{id} failed on earlier code; what it printed: "),
            command!("show --run {}", run.op)
        ]),
        // What it leaves is there.
        None if !node.outputs.is_empty() => done.into(),
        None => match unwritten(view, here) {
            Some(write) => Advised::write(hint![&write.advice, "; then: ", done]),
            None => done.into(),
        },
    }
}
