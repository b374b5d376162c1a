//! The next step of a session, asked by this person in this worktree: the facts of [`loopx_rules::next`].

mod first;
mod landing;
mod remote;
mod worktree;

pub(super) use worktree::{put_aside, secrets};

use super::context::Context;
use super::skills::Skills;
use super::task::outputs;
use super::transaction::{Facts, Needs, gather_with};
use super::upstream;
use super::verify::policy_at;
use super::workcopy::{self, Peek, WorkCopy};
use super::{
    archive, coverage, effective_target, files, finish, lease, policy_moved, review, sign, undo,
};
use first::first;
use landing::{leftover, unlanded, with_checks_read};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::id::{Person, SessionId};
use loopx_base::shell_word;
use loopx_rules::agent_identity::require_person;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::CodeFacts;
use loopx_rules::lease::Worktrees;
use loopx_rules::next;
use loopx_rules::next::{Advised, Behind, Distance, Here, Next, Unfit, Worktree};
use loopx_rules::op::Event;
use loopx_rules::policy::{Policy, Strictness};
use loopx_rules::replay::undone;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::node::{Node, TaskId};
use loopx_rules::task::plan;
use loopx_rules::task::status::{Status, TaskFacts};
use loopx_store::{Session, Snapshot};
pub(super) use remote::distance;
use remote::{behind, unfetched, unpushed};
use worktree::{onto, unheld, worktree};

/// A session with the working copy taken in as it is now, and everything around it.
pub(super) struct Look {
    pub(super) facts: Facts<'static>,
    pub(super) peek: Peek,
    /// The bound branch is not here.
    pub(super) missing: Option<Failure>,
    /// The blockers of the archive, from the review on.
    pub(super) archive: Vec<Blocker>,
    pub(super) worktree: Option<Worktree>,
    pub(super) behind: Option<Behind>,
    pub(super) remote: Option<Distance>,
    pub(super) advised: Advised,
}

/// The answer of `git loopx`, `status` and `next`: the session, and the next step in it.
pub(crate) struct Asked {
    pub(crate) id: SessionId,
    pub(crate) advised: Advised,
}

/// The next step in the session that is meant.
pub(crate) fn of(ctx: &Context) -> Result<Asked> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let look = asked(ctx, &snapshot, &session)?;
    Ok(Asked {
        id: session.state.id,
        advised: look.advised,
    })
}

/// The next step in a session.
pub(crate) fn of_session(ctx: &Context, id: &SessionId) -> Result<Advised> {
    let snapshot = ctx.store()?.snapshot()?;
    let session = super::naming::load(&snapshot, id)?;
    Ok(asked(ctx, &snapshot, &session)?.advised)
}

/// The next step for whoever asks, in a session or in none; nothing where it cannot be told.
pub(crate) fn anywhere() -> Option<Advised> {
    let ctx = Context::open(None).ok()?;
    match of(&ctx) {
        Ok(asked) => Some(asked.advised),
        Err(failure) if matches!(failure.code, Code::NotInitialised | Code::NoActiveSession) => {
            super::begin::lead(&ctx).ok()
        }
        Err(_) => None,
    }
}

/// Tells whether a refusal leads to a word of a person, or names a reason that does.
pub(crate) fn has_word(failure: &Failure) -> bool {
    let mut reasons = failure.blockers.iter().map(|blocker| &blocker.help);
    reasons.any(Hint::is_persons_word) || failure.help.as_ref().is_some_and(Hint::is_persons_word)
}

/// A refusal whose hints lead nobody to a word that others have to give: such a hint becomes what is next for whoever asks.
/// The hints of its reasons do so for an agent; a person reads in them what each reason asks for.
pub(crate) fn spoken(ctx: &Context, mut failure: Failure) -> Failure {
    let is_agents = asks_a_person(ctx);
    failure.help = failure.help.map(|help| spoken_hint(ctx, help, is_agents));
    if is_agents {
        for blocker in &mut failure.blockers {
            let help = std::mem::take(&mut blocker.help);
            blocker.help = spoken_hint(ctx, help, is_agents);
        }
    }
    failure
}

/// A hint, which where it leads to a word that others have to give becomes what is next for whoever asks.
fn spoken_hint(ctx: &Context, hint: Hint, is_agents: bool) -> Hint {
    let Some(word) = hint.commands().next().filter(|_| hint.is_persons_word()) else {
        return hint;
    };
    let named = word.session_named();
    // A task that waits for a person does not say that it waits for another one.
    let is_of_gate = word.verb() != Verb::Task;
    // Words before the command may name whoever gives that word.
    let is_typed_here = is_of_gate && hint.lead().is_some();
    let asked = match named.and_then(|id| SessionId::parse(id).ok()) {
        Some(id) => of_session(ctx, &id),
        None => of(ctx).map(|asked| asked.advised),
    };
    match asked {
        Ok(asked) if is_typed_here && matches!(asked.next, Next::Waits(_)) || is_agents => {
            let next = asked.into_hint();
            if next.is_empty() { hint } else { next }
        }
        _ => hint,
    }
}

/// Tells whether an agent asks from which policy takes no word.
pub(super) fn asks_a_person(ctx: &Context) -> bool {
    let agent = loopx_rules::agent_identity::host(loopx_base::env::var);
    let may_not = || -> Result<bool> {
        let store = ctx.store()?;
        let (session, _) = ctx.asked(&store.snapshot()?)?;
        let (policy, _) = ctx.policy_if_there(&session.state)?;
        Ok(require_person(&policy, agent.as_deref(), "this").is_err())
    };
    agent.is_some() && may_not().unwrap_or_default()
}

/// Tells whether whoever asks is in a session; refused where none is meant.
pub(crate) fn is_here(ctx: &Context) -> Result<bool> {
    let store = ctx.store()?;
    Ok(ctx.asked(&store.snapshot()?)?.1)
}

/// Looks at the session that is meant. Behind its end another one begins.
pub(super) fn asked(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Look> {
    let mut look = look(ctx, snapshot, session)?;
    let advised = &mut look.advised;
    if advised.next == Next::Nothing && advised.advice.is_empty() {
        advised.advice = super::begin::lead(ctx)?.into_hint();
    }
    Ok(look)
}

/// The next step after a command that changed a session. The command is done: what keeps the step from being known
/// is said by `status`.
pub(crate) fn after(ctx: &Context, id: &SessionId) -> Option<Advised> {
    let store = ctx.store().ok()?;
    let snapshot = store.snapshot().ok()?;
    let session = snapshot.find(id).ok()??;
    Some(look(ctx, &snapshot, &session).ok()?.advised)
}

/// The step behind the card of a task, whatever else this worktree has in hand.
pub(crate) fn after_card(ctx: &Context, id: &SessionId, task: &TaskId) -> Option<Advised> {
    let store = ctx.store().ok()?;
    let snapshot = store.snapshot().ok()?;
    let session = snapshot.find(id).ok()??;
    let look = look_at(ctx, &snapshot, &session, Some(task)).ok()?;
    Some(look.advised)
}

/// Looks at a session. Writes nothing.
pub(super) fn look(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Look> {
    look_at(ctx, snapshot, session, None)
}

fn look_at(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    task: Option<&TaskId>,
) -> Result<Look> {
    let state = &session.state;
    let (policy, _) = ctx.policy_if_there(state)?;
    let copy = WorkCopy::open(&ctx.repo, &state.id)?;
    let mut peek = match &copy {
        Some(copy) => copy.peek(state, policy.artifacts.max_bytes)?,
        None => Peek::default(),
    };
    sign_amendments(&mut peek, state, &policy);
    // Reading needs no identity; where there is none, nothing is said of what it may do.
    let identity = ctx.reader();
    let edits = if state.is_active() {
        std::mem::take(&mut peek.edits)
    } else {
        super::workcopy::Edits::default()
    };
    let with = (None, sign::Depth::Everything);
    let facts = gather_with(ctx, snapshot, session, edits, Needs::Stage, with)?;
    let missing = match state.stage {
        // What is done may have been merged, and its branch deleted.
        Stage::Done => None,
        _ => upstream::missing(ctx, state)?,
    };
    let archive = held(ctx, snapshot, &facts)?;
    let behind = behind(ctx, state)?;
    let worktree = worktree(ctx, &facts, (behind.as_ref(), missing.is_some()))?;
    let remote = distance(ctx)?;
    let here = Here {
        who: identity.map(|identity| &identity.author),
        unsigned: ctx.unsigned(),
        agent: loopx_rules::agent_identity::host(loopx_base::env::var),
        first: first(ctx, &facts, &peek, (worktree.as_ref(), missing.is_some()))?,
        worktree: worktree.clone(),
        task: task.cloned(),
        behind: behind.clone(),
        worktrees: worktrees(ctx, state),
        now: ctx.now(),
        archive: archive.clone(),
        onto: onto(ctx, state, worktree.as_ref())?,
        is_empty: is_empty(ctx, &facts)?,
        asks: loopx_base::env::has_terminal(),
        remote: remote.clone(),
        world: Some(&facts.world),
        moved: moved(ctx, snapshot, session, &facts)?,
        unpushed: unpushed(ctx, (snapshot, session), &facts)?,
        kept: undo::kept_from(ctx, snapshot, session, &policy)?,
        sent_back: sent_back(snapshot, session)?,
        unfetched: unfetched(ctx, state)?,
        unlanded: unlanded(ctx, &facts, worktree.as_ref())?,
        leftover: leftover(ctx, snapshot, session)?,
        unheld: unheld(ctx, state, worktree.as_ref())?,
        missing: missing_outputs(ctx, &facts)?,
        code: checked_code(ctx, &facts)?,
        unsaved: unsaved(&facts),
        unfit: unfit(ctx, &facts),
    };
    let advised = next::next(facts.view(), &here);
    let mut advised = with_checks_read(ctx, (snapshot, session), &facts, advised)?;
    let is_here = worktree
        .as_ref()
        .is_some_and(|worktree| worktree.branch == state.branch);
    // From another branch a command says which session it means.
    if let (Next::Command(command), Some(_), false) = (&mut advised.next, &state.branch, is_here) {
        *command = command.clone().in_session(&state.id);
    }
    Ok(Look {
        advised,
        facts,
        peek,
        missing,
        archive,
        worktree,
        behind,
        remote,
    })
}

/// Leads from a refused edit of the approved list as policy wants it: the working copy knows no policy, and policy may want
/// an amendment signed.
fn sign_amendments(peek: &mut Peek, state: &State, policy: &Policy) {
    for (artifact, failure) in &mut peek.refused {
        let help = failure.help.as_ref();
        let is_amendable = help.is_some_and(Hint::has_amendment);
        if is_amendable && artifact.is_some_and(|one| workcopy::is_amended(one, state)) {
            failure.help = Some(workcopy::closed_list_help(policy.amend_command()));
        }
    }
}

/// The worktrees of this clone; where nothing speaks of another one, this one alone.
fn worktrees(ctx: &Context, state: &State) -> Worktrees {
    match state.stage {
        Stage::Build => lease::worktrees(&ctx.repo),
        _ => Worktrees::alone(lease::token(&ctx.repo)),
    }
}

/// The tasks of a stage that works by them, where their list names something of this kind: most lists do not, and are not read for it.
fn nodes_with(facts: &Facts<'_>, field: &str) -> Vec<Node> {
    let text = facts.texts.get(&Artifact::TaskList);
    let is_asked =
        facts.state.stage >= Stage::Build && text.is_some_and(|text| text.contains(field));
    if is_asked {
        plan::now(&facts.texts, &facts.state)
            .map(std::borrow::Cow::into_owned)
            .unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// Lists the outputs of tasks that are not there, of tasks that somebody has or that ran, and of gates that are open.
fn missing_outputs(ctx: &Context, facts: &Facts<'_>) -> Result<Vec<(TaskId, Vec<String>)>> {
    let mut found = Vec::new();
    for node in nodes_with(facts, "\"outputs\"") {
        let state = &facts.state;
        let status = state.task_status(&node.id);
        let is_open = node.gate.is_some() && status == Status::Pending;
        let is_had = status == Status::Claimed || is_open;
        let mut runs = state.evidence.iter();
        let is_asked =
            is_had || runs.any(|run| run.value.task.as_deref() == Some(node.id.as_str()));
        if !is_asked || node.outputs.is_empty() {
            continue;
        }
        let paths = outputs::missing(ctx, facts, &node, state)?;
        let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
        if !paths.is_empty() {
            found.push((node.id, paths));
        }
    }
    Ok(found)
}

/// Edits of the list of tasks, and of files that tasks left, that are not saved.
fn unsaved(facts: &Facts<'_>) -> Option<Hint> {
    if facts.saved.contains(&Artifact::TaskList) {
        return Some(format!("{} has edits that are not saved", Artifact::TaskList).into());
    }
    let path = facts.outputs.removed().next()?;
    Some(hint![
        format!(
            "{path} was removed here, and the session has it; a save takes it away for all, and what brings it back is: "
        ),
        command!("checkout --force {}", shell_word(path))
    ])
}

/// The code here, where the stage does not look at it and a task was checked on some.
fn checked_code(ctx: &Context, facts: &Facts<'_>) -> Result<Option<CodeFacts>> {
    let has_task = |facts: &TaskFacts| facts.status == Status::Claimed;
    let is_asked = facts.code.is_none() && facts.state.tasks.values().any(has_task);
    if is_asked && !facts.state.evidence.is_empty() {
        ctx.code_for(None)
    } else {
        Ok(None)
    }
}

/// The tasks whose skill nobody can follow here.
fn unfit(ctx: &Context, facts: &Facts<'_>) -> Vec<(TaskId, Unfit)> {
    let skills = Skills::of(&ctx.repo);
    let nodes = nodes_with(facts, "\"skill\"").into_iter();
    let unfit = nodes.filter_map(|node| {
        let failure = skills.require(facts, &node).err()?;
        let help = failure.help.unwrap_or_default();
        let why = failure.message;
        Some((node.id, Unfit { why, help }))
    });
    unfit.collect()
}

/// Lists the blockers that would hold the archive of a session in review or done, or in a build that one person may
/// take to its end.
fn held(ctx: &Context, snapshot: &Snapshot<'_>, facts: &Facts<'_>) -> Result<Vec<Blocker>> {
    let state = &facts.state;
    let is_light = facts.view().profile().is_light();
    let is_near = match state.stage {
        Stage::Build => is_light,
        stage => matches!(stage, Stage::Review | Stage::Done),
    };
    if !state.is_active() || !is_near {
        return Ok(Vec::new());
    }
    let mut found = loopx_rules::gate::delta(facts.view());
    if found.is_empty() {
        found = coverage::judge(facts, &archive::Waivers::default())?.0;
    }
    // Whoever ends a build is refused what the landing would be.
    let is_bounded = facts.policy.gates.out_of_scope == Strictness::Refuse;
    if state.stage == Stage::Build && is_bounded && !state.boundary().is_open() {
        let files = review::shown(ctx, facts)?.files;
        found.extend(finish::out_of_scope(state, &facts.policy, &files)?);
    }
    if state.stage != Stage::Done {
        // Evidence can still be made here; what no slice names cannot.
        found.retain(|blocker| {
            !blocker.code.is_of_scenario() || blocker.code == Code::ScenarioUnserved
        });
        return Ok(found);
    }
    if let Some((delta, _)) = super::delta::read(&facts.texts) {
        let waits = effective_target::waits_for(snapshot, &delta, &[])?;
        found.extend(waits.iter().map(super::spec::blocker));
    }
    found.extend(review::unreviewed(ctx, state, &facts.policy)?);
    Ok(found)
}

/// The target's policy, where it has moved since the session began, for a session that one person may take to its end.
fn moved(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    facts: &Facts<'_>,
) -> Result<Option<next::Moved>> {
    if facts.state.stage != Stage::Build || !facts.view().profile().is_light() {
        return Ok(None);
    }
    let found = policy_moved::of(ctx, snapshot, session, &facts.policy)?;
    let Some(found) = found.filter(|found| !found.changed.is_empty()) else {
        return Ok(None);
    };
    let head = ctx.head()?.commit;
    let has_it = match &head {
        Some(head) => ctx.repo.is_ancestor(&found.commit, head)?,
        None => false,
    };
    let why = found.message();
    let lead = if has_it {
        command!("rebase --onto {} --reason WHY", found.commit.short()).because(&why)
    } else {
        Hint::git(format!("merge {}", loopx_base::shell_word(&found.target)))
    };
    let policy = policy_at(ctx, Some(&found.commit))?;
    Ok(Some(next::Moved { policy, lead, why }))
}

/// The person whose verdict is the last one and asked for changes, where the work went back for it.
fn sent_back(snapshot: &Snapshot<'_>, session: &Session) -> Result<Option<Person>> {
    let state = &session.state;
    let is_mended = matches!(state.stage, Stage::Build | Stage::Review) && state.build.rework;
    if !state.is_active() || !is_mended {
        return Ok(None);
    }
    let operations = snapshot.operations(session)?;
    let undone = undone(&operations);
    let mut counted = operations.iter().rev();
    let last = counted.find_map(|op| match op.event() {
        Some(Event::Reviewed { verdict }) if !undone.contains(&op.op) => Some((verdict, &op.by)),
        _ => None,
    });
    Ok(last.and_then(|(verdict, by)| (!verdict.is_approval()).then(|| by.clone())))
}

/// Tells whether nothing differs from where the session began.
pub(super) fn is_empty(ctx: &Context, facts: &Facts<'_>) -> Result<bool> {
    let (Some(code), Some(base)) = (&facts.code, &facts.state.base) else {
        return Ok(facts
            .code
            .as_ref()
            .is_some_and(|code| !code.is_dirty && code.head.is_none()));
    };
    let is_there = code.head.as_ref() == Some(base) || ctx.repo.contains(base)?;
    Ok(!code.is_dirty && is_there && ctx.repo.commit_info(base)?.tree == code.tree)
}
