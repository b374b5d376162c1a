//! The next step in a build: the code, its proofs, the commit, and what is said of it.

use super::{Advised, Here, Next, by_blockers, commit, person};
use crate::artifact::Artifact;
use crate::checks::checks;
use crate::gate;
use crate::gate::{AuditItem, Proof, View};
use crate::op::Evidence;
use crate::session::{Stamped, State};
use crate::stage::{Stage, Transition};
use crate::task::graph::{Graph, Now, Wait};
use crate::task::node::{Node, NodeKind, Verification};
use crate::task::outputs;
use crate::task::plan;
use crate::task::status::{Status, TaskFacts};
use crate::task::world::{ANYBODY, Condition, UNSEEN};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::shell_word;

/// `None`: the gate is ready.
pub(super) fn next(view: View<'_>, here: &Here<'_>, blockers: &[Blocker]) -> Option<Advised> {
    if view.code.is_none() {
        let said = "the build needs a worktree, and the repository is bare: ";
        let add = Hint::git(format!(
            "worktree add ../work {}",
            shell_word(view.state.branch.as_deref().unwrap_or("HEAD"))
        ));
        return Some(Advised::from(add).advice(said.trim_end_matches(": ")));
    }
    if let Some(blocked) = &view.state.build.blocked {
        let why = blocked.reason.as_deref().unwrap_or("somebody said so");
        return Some(Advised::from(command!("agent resume")).advice(format!("stopped: {why}")));
    }
    let of_brief: Vec<Blocker> = blockers
        .iter()
        .filter(|blocker| blocker.code.is_of_brief())
        .cloned()
        .collect();
    if !of_brief.is_empty() {
        return by_blockers(view, &of_brief);
    }
    let leads = list_leads(view, here);
    if let Some(task) = leads.then(|| task(view, here)).flatten() {
        return Some(task);
    }
    if let Some(write) = unwritten(view) {
        return Some(write);
    }
    // Who took no task runs checks.
    let is_taken = !leads && !view.state.tasks.is_empty();
    if let Some(task) = is_taken.then(|| task(view, here)).flatten() {
        return Some(task);
    }
    if let Some(proof) = proof(view, here) {
        return Some(at_top(here, proof));
    }
    // A review covers what is committed, and an approval the tree.
    if let Some(first) = commit(view, here) {
        return Some(first);
    }
    let failed = |blocker: &&Blocker| blocker.code == Code::VerificationFailed;
    if let Some(failed) = blockers.iter().find(failed) {
        let again = failed.help.lead();
        let told = format!("{}: mend the code, then", failed.message);
        return Some(Advised::write(match again {
            Some(again) => hint![format!("{told}: "), again],
            None => told.into(),
        }));
    }
    by_blockers(view, blockers)
}

/// True where the list says what comes next before anybody writes. Where the world is waited for, or a word alone is,
/// nothing may be left to write; and a pipeline says what is written when.
fn list_leads(view: View<'_>, here: &Here<'_>) -> bool {
    here.world.is_some_and(|world| world.is_asked)
        || is_of_pipeline(view)
        || is_words_turn(view, here)
}

/// True where verdicts and words are all that can be given now.
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
    let ready = graph.ready(now(&statuses, here));
    !ready.is_empty() && ready.iter().all(|at| graph.is_persons(*at))
}

/// The build as tasks see it.
fn now<'s>(statuses: &'s [Status], here: &Here<'s>) -> Now<'s> {
    Now {
        statuses,
        stage: Stage::Build,
        world: here.world.unwrap_or(&UNSEEN),
        capacity: None,
    }
}

/// Whether a pipeline made some of the tasks.
fn is_of_pipeline(view: View<'_>) -> bool {
    // Most lists come from none, and are not read for this.
    let text = view.texts.get(&Artifact::TaskList);
    let nodes = || plan::now(view.texts, view.state).unwrap_or_default();
    text.is_some_and(|text| text.contains("\"pipeline\""))
        && nodes().iter().any(|node| node.part.is_some())
}

/// A command becomes a check where checks run: at the top of the repository.
fn at_top(here: &Here<'_>, found: Advised) -> Advised {
    let is_below = here.worktree.as_ref().is_some_and(|tree| !tree.is_top());
    let asks = found.command().and_then(Hint::command);
    let is_new = asks.is_some_and(|asks| asks.verb() == Verb::Run && asks.args().contains("-- "));
    match found.next {
        Next::Command(command) if is_below && is_new => {
            Advised::write(hint!["at the top of the repository: ", command])
        }
        next => Advised {
            next,
            advice: found.advice,
        },
    }
}

/// Nothing was done yet: nothing differs from where the build began, and nothing ran on that.
fn unwritten(view: View<'_>) -> Option<Advised> {
    let code = view.code.filter(|code| !code.is_dirty)?;
    let state = view.state;
    // What ran before the verdict that sent the work back says nothing of the mending.
    let ran = view.evidence().iter();
    let is_here =
        |run: &&Stamped<Evidence>| run.value.tree == code.tree && run.seq > state.build.fresh_after;
    if ran.filter(is_here).count() > 0 {
        return None;
    }
    let branch = match &state.branch {
        Some(branch) => format!(" on branch {branch}"),
        None => String::new(),
    };
    let reviewed = state.verdict.as_ref().map(|verdict| &verdict.value.tree);
    if state.last_transition == Some(Transition::DoneToBuild) && reviewed == Some(&code.tree) {
        return Some(Advised::write(format!(
            "the session is open again: change the code{branch}, and commit it"
        )));
    }
    if state.build.rework && reviewed == Some(&code.tree) && !is_told_anew(state) {
        let said = format!("fix{branch} what the review found; to read the findings: ");
        return Some(Advised::write(hint![
            said,
            command!("cat review-report.md")
        ]));
    }
    let is_new = !state.build.rework && code.head == state.base;
    let boundary = state.boundary();
    let within = if boundary.is_open() {
        String::new()
    } else {
        format!(", in {boundary}")
    };
    is_new.then(|| Advised::write(format!("write the code{branch}{within}, and commit it")))
}

/// Whether the execution record says something else than the one that the review saw.
fn is_told_anew(state: &State) -> bool {
    let record = Artifact::ExecutionRecord;
    let verdict = state.verdict.as_ref().map(|verdict| &verdict.value.files);
    verdict.is_some_and(|files| files.get(&record) != state.artifacts.get(&record))
}

/// What waits for a task that was skipped goes nowhere by itself: either that one is done after all, or this one falls
/// too.
fn behind_skipped(
    view: View<'_>,
    here: &Here<'_>,
    (graph, statuses): (&Graph<'_>, &[Status]),
) -> Option<Advised> {
    let behind = gate::behind_skipped(graph, statuses, |_| true)?;
    let told = format!(
        "{} waits for {}, which was skipped",
        behind.waits, behind.skipped
    );
    Some(match person(view, here) {
        Some(who) => Advised::waits(who, told),
        None => {
            let fall = hint![format!("{told}; to let it fall, too: "), behind.skip()];
            Advised::from(behind.retry()).advice(fall)
        }
    })
}

/// The next step among tasks: the own one first, then what is ready, then what failed.
fn task(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let nodes = plan::now(view.texts, view.state).ok()?;
    let statuses = gate::task_statuses(view, &nodes, &gate::known(view));
    let graph = Graph::of(&nodes);
    let now = now(&statuses, here);
    let holders = |node: &Node| view.state.task(&node.id).and_then(TaskFacts::holder);
    let token = here.worktrees.here.as_deref();
    let is_own =
        |node: &&Node| holders(node).is_some_and(|claim| Some(claim.value.owner.as_str()) == token);
    if let Some(own) = nodes.iter().find(is_own) {
        return Some(if own.gate.is_some() {
            judge(view, own, Status::Claimed)
        } else {
            own_task(view, here, own)
        });
    }
    let ready = graph.ready(now);
    let mut work = ready.into_iter().filter(|at| !graph.is_persons(*at));
    if let Some(at) = work
        .clone()
        .find(|at| here.unfit_of(&nodes[*at].id).is_none())
    {
        let id = &nodes[at].id;
        return Some(Advised::from(command!("take")).advice(format!("{id} is ready")));
    }
    let unfit = work.find_map(|at| here.unfit_of(&nodes[at].id));
    if let Some(at) = graph
        .ready(now)
        .into_iter()
        .find(|at| nodes[*at].gate.is_some())
    {
        return Some(judge(view, &nodes[at], statuses[at]));
    }
    if let Some(at) = graph
        .ready(now)
        .into_iter()
        .find(|at| nodes[*at].kind == NodeKind::Checkpoint)
    {
        let node = &nodes[at];
        let what = format!("the word that {} may pass", node.id);
        return Some(match person(view, here) {
            Some(who) => Advised::waits(who, what),
            None => Advised::write(hint![
                format!("look at what {} is about ({}): ", node.id, node.title),
                gate::lead_of(node, statuses[at], view.state)
            ]),
        });
    }
    if let Some(at) = statuses.iter().position(|one| *one == Status::Failed) {
        let id = &nodes[at].id;
        let facts = view.state.task(id)?;
        let again = if facts.failures >= nodes[at].cap {
            command!("task retry {id} --reason WHY").because("a person decides")
        } else {
            command!("task retry {id}")
        };
        let why = facts.last.reason.as_deref().unwrap_or_default();
        return Some(Advised::from(again).advice(format!("{id} failed: {why}")));
    }
    if let Some(skipped) = behind_skipped(view, here, (&graph, &statuses)) {
        return Some(skipped);
    }
    if let Some(unfit) = unfit {
        return Some(Advised::write(hint![
            format!("{}: ", unfit.why),
            &unfit.help
        ]));
    }
    let Some(held) = nodes.iter().find_map(|node| Some((node, holders(node)?))) else {
        return outside(&graph, now);
    };
    let (claim, id) = (held.1, &held.0.id);
    let agent = claim.value.agent.as_deref();
    let whose = (here.worktrees).whose(&claim.value.owner, agent, &claim.signed.by);
    let over = command!("take {id} --take-over --reason WHY");
    Some(Advised::waits(whose, format!("the task {id}")).advice(hint!["to take it over: ", over]))
}

/// Whether this worktree has taken a task.
pub(super) fn has_task(view: View<'_>, here: &Here<'_>) -> bool {
    let token = here.worktrees.here.as_deref();
    let mut holders = view.state.tasks.values().filter_map(TaskFacts::holder);
    token.is_some_and(|token| holders.any(|claim| claim.value.owner == token))
}

/// A task that somebody may take beside the build of another worktree. Where there is a remote, it is claimed there
/// first: whoever builds is somewhere else.
pub(super) fn free(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    view.texts.get(&Artifact::TaskList)?;
    let nodes = plan::now(view.texts, view.state).ok()?;
    let statuses = gate::task_statuses(view, &nodes, &gate::known(view));
    let graph = Graph::of(&nodes);
    let now = now(&statuses, here);
    let ready = graph.ready(now).into_iter();
    let mut work = ready.filter(|at| !graph.is_persons(*at));
    let id = &nodes[work.find(|at| here.unfit_of(&nodes[*at].id).is_none())?].id;
    let take = match here.remote {
        Some(_) => command!("take --remote"),
        None => command!("take"),
    };
    Some(Advised::from(take).advice(format!(
        "{id} is free, beside the build of another worktree"
    )))
}

/// A gate that is to be decided.
fn judge(view: View<'_>, node: &Node, status: Status) -> Advised {
    Advised::write(hint![
        format!("decide {}: ", node.id),
        gate::lead_of(node, status, view.state)
    ])
}

/// What the first task waits for that could go on otherwise.
fn outside(graph: &Graph<'_>, now: Now<'_>) -> Option<Advised> {
    let pending = (0..graph.nodes.len()).filter(|at| now.statuses[*at] == Status::Pending);
    let mut waits = pending.map(|at| graph.waits(at, now));
    let found = waits.find(|waits| waits.iter().all(|one| matches!(one, Wait::World(_))))?;
    let Some(Wait::World(open)) = found.into_iter().next() else {
        return None;
    };
    let task = &open.task;
    let told = format!("{task} waits for {}", open.words());
    Some(match &open.condition {
        Condition::Person { person } => {
            let word = command!("task open {task} --reason WHY");
            let who = if person == ANYBODY {
                "a person"
            } else {
                person
            };
            Advised::waits(who, format!("the word that {task} may begin"))
                .advice(hint![format!("{told}: "), word])
        }
        _ => Advised::waits("an event outside the session", told),
    })
}

/// A file that a task leaves, from the top of the worktree.
fn opened(state: &State, path: &str) -> String {
    match outputs::task_of(path) {
        Some(_) => format!(".loopx/{}/{path}", state.id),
        None => path.to_owned(),
    }
}

/// The task that is taken here.
fn own_task(view: View<'_>, here: &Here<'_>, node: &Node) -> Advised {
    let id = &node.id;
    if let Some(paths) = here.missing_of(id.as_str()) {
        let shown = paths.iter().map(|path| {
            let path = opened(view.state, path);
            let here = here.worktree.as_ref();
            here.map_or_else(|| path.clone(), |worktree| worktree.shown(&path))
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let told = format!("write {shown}, an output of {id}, then: ");
        return Advised::write(hint![told, command!("task done {id}")]);
    }
    let Some(Verification::Cmd(_)) = &node.verification else {
        let told = format!(
            "no command checks {id}: look at the result yourself, and record what you saw: "
        );
        return Advised::write(hint![
            told,
            command!("task done {id} --manual --reason WHY")
        ]);
    };
    let done = Advised::from(command!("task done {id}"));
    match own_runs(view, id.as_str()).next_back() {
        Some(run) if !run.value.passed() => done.advice(hint![
            format!("{id} failed on what ran last: mend it; what it printed: "),
            command!("show --run {}", run.op)
        ]),
        _ => done,
    }
}

/// The next check to run, or what keeps it from passing.
pub(super) fn proof(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let items = gate::audit(view);
    let open: Vec<&AuditItem> = items.iter().filter(|item| !item.is_proven()).collect();
    let first = open
        .iter()
        .copied()
        .filter(|item| item.is_check())
        .min_by_key(|item| (item.is_manual(), item.proof == Proof::Failed));
    let Some(item) = first else {
        let any = open.iter().any(|item| item.is_of_nothing());
        return any.then(|| match any_check(view) {
            Some(command) => command.into(),
            None => Advised::write(view.policy.run_check()),
        });
    };
    if item.is_manual() {
        let told = format!(
            "no command checks {}: look at the result yourself, and record what you saw: ",
            item.id
        );
        return Some(Advised::write(hint![told, item.help(view.policy)]));
    }
    let is_of_words = |run: &&Stamped<Evidence>| {
        run.value.task.is_some() && run.value.argv.join(" ") == item.detail
    };
    let newest = match item.source {
        Some(_) => view.state.evidence.iter().rev().find(is_of_words),
        None => own_runs(view, &item.id).next_back(),
    };
    if let Some(run) = newest
        && item.proof == Proof::Failed
    {
        let again = view.policy.run_task(&item.id);
        if let Some(paths) = here.missing_of(&item.id) {
            let told = format!(
                "write {}, an output of {}, then: ",
                paths.join(", "),
                item.id
            );
            return Some(Advised::write(hint![told, again]));
        }
        let told = format!("{} failed on this code: mend it, then: ", item.id);
        let shown = command!("show --run {}", run.op);
        return Some(Advised::write(hint![
            told,
            again,
            "  (what it printed: ",
            shown,
            ")"
        ]));
    }
    // What is there by now, and committed, changes nothing when it is written again.
    if !item.changed.is_empty() && view.code.is_some_and(|code| code.is_dirty) {
        return Some(Advised::write(format!(
            "the check {} changes {} while it runs, so a run is no evidence: let git ignore these files, or commit them",
            item.id,
            item.changed.join(", ")
        )));
    }
    if !view.policy.evidence.by.is_empty() {
        let run = view.policy.run_task(&item.id);
        return Some(match run.lead() {
            Some(lead) => Advised::from(lead).advice(format!(
                "policy counts only runs that these roles sign: {}",
                view.policy.evidence.by.join(", ")
            )),
            None => run.into(),
        });
    }
    Some(view.policy.run_task(&item.id).into())
}

fn own_runs<'a>(
    view: View<'a>,
    task: &'a str,
) -> impl DoubleEndedIterator<Item = &'a Stamped<Evidence>> {
    let all = view.state.evidence.iter();
    all.filter(move |run| run.value.task.as_deref() == Some(task))
}

/// A command that ran before, or that a slice names: any check is better than a place to fill.
pub(super) fn any_check(view: View<'_>) -> Option<Hint> {
    let argv = check_of(view)?;
    let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
    let words = words.join(" ");
    Some(if view.policy.evidence.by.is_empty() {
        command!("run -- {words}")
    } else {
        command!("run --sign -- {words}")
    })
}

fn check_of(view: View<'_>) -> Option<Vec<String>> {
    let ran = view.state.evidence.iter().rev();
    let mut ran = ran
        .filter(|run| run.value.passed())
        .map(|run| &run.value.argv);
    let checks = checks(view.texts, view.policy_checks);
    let named = checks.first().map(|check| check.argv.clone());
    ran.next().cloned().or(named)
}

/// The regression run, of a command that is known.
pub(super) fn regression(view: View<'_>) -> Advised {
    let all = view.state.evidence.iter().rev();
    let known = all
        .filter(|run| run.value.what == "regression")
        .map(|run| run.value.argv.clone());
    let Some(argv) = known.into_iter().next().or_else(|| check_of(view)) else {
        return Advised::write("run the tests once more, behind `run --kind regression --`");
    };
    let argv: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
    let argv = argv.join(" ");
    if view.policy.evidence.by.is_empty() {
        command!("run --kind regression -- {argv}").into()
    } else {
        command!("run --sign --kind regression -- {argv}").into()
    }
}
