//! The one road by which a session changes: lock, read, save the working copy, decide, commit, publish.
//!
//! `decide` is a pure function of the [`Facts`]; it runs again when the branch moved. Its refusal
//! writes nothing. One call makes at most one commit.

use super::context::Context;
use super::issue::sessions::tell;
use super::journal::Step;
use super::naming::unknown;
use super::recording::{Recording, let_go, placed, writes_delta};
use super::sign::{self, Word};
use super::watched::Watched;
use super::workcopy::{Edits, FileStatus, Outputs, WorkCopy};
use super::write_scope::Opening;
use super::{delta, effective_target, files, lease, next, outline, policy_checks, review, world};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, Person, SessionId};
use loopx_git::{Identity, Repo};
use loopx_rules::agent_identity;
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack;
use loopx_rules::checks::Check;
use loopx_rules::gate;
use loopx_rules::gate::{CodeFacts, Credentials, DeltaFacts, ReadSections, View};
use loopx_rules::intent::Statement;
use loopx_rules::lease::Claim;
use loopx_rules::manifest::Row;
use loopx_rules::next::Advised;
use loopx_rules::op::{Body, Event, Operation, RequirementBase, SessionBody, Write};
use loopx_rules::policy::{Demand, Policy};
use loopx_rules::profile::Profile;
use loopx_rules::session::{Ending, Stamped, State};
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::task::early::{Early, early};
use loopx_rules::task::outputs::task_of;
use loopx_rules::task::plan;
use loopx_rules::task::world::World;
use loopx_rules::texts::Texts;
use loopx_store as store;
use loopx_store::{Decision, Record, Session, Snapshot};
use std::collections::BTreeMap;

/// Facts that a decision may look at.
#[derive(Clone)]
pub(crate) struct Facts<'a> {
    /// The state with the edits of the working copy taken in.
    pub state: State,
    pub texts: Texts,
    pub policy: Policy,
    pub code: Option<CodeFacts>,
    pub delta: DeltaFacts,
    pub credentials: Credentials,
    /// The checks of policy that the session has to pass.
    pub policy_checks: Vec<Check>,
    /// The profile that policy demands for what the session changes, where its own is lighter.
    pub demand: Option<Demand>,
    /// Identity of whoever acts; reading needs nobody.
    pub identity: Option<&'a Identity>,
    /// Artifacts that the working copy changed.
    pub saved: Vec<Artifact>,
    /// Files of tasks that the working copy changed.
    pub outputs: Outputs,
    /// Contents of the working copy's files when they were read, by path.
    pub taken: BTreeMap<String, Oid>,
    pub operations: Vec<Operation>,
    /// Other sessions that are bound to the session's branch.
    pub shared: Vec<SessionId>,
    /// The commit that the session starts from is not here.
    pub base_missing: Option<Failure>,
    /// Outside conditions, beyond the list, that tasks wait for.
    pub world: World,
    /// Records about tasks whose steps were taken before they could be. The state above does not go by the words among
    /// them.
    pub early: Vec<Early>,
    /// Time for which claims of tasks still run.
    pub watched: Watched,
    /// Files that the next stage has to read and does not find.
    pub context: Vec<Row>,
    /// Numbered statements of the request; none where it says one thing, or the session began before they were
    /// numbered.
    pub statements: Vec<Statement>,
    /// Sections read of these texts: whoever replaces one of the texts starts them anew.
    pub read: ReadSections,
    /// The token of this worktree.
    pub worktree: Option<String>,
}

impl Facts<'_> {
    /// Refuses somebody's word where an agent types it, unless policy lets agents.
    pub(crate) fn require_person(&self, what: &str) -> Result<()> {
        let agent = agent_identity::host(loopx_base::env::var);
        agent_identity::require_person(&self.policy, agent.as_deref(), what)
    }

    /// Goes on without the words about tasks that no command would have written when they were: a list that cannot be read
    /// says nothing of them.
    pub(super) fn leave_out_early(&mut self) {
        if self.state.tasks.is_empty() {
            return;
        }
        let nodes = plan::now(&self.texts, &self.state).unwrap_or_default();
        let early = early(&nodes, &self.state, &self.world);
        if !early.is_empty() {
            self.state = self.state.without(&early);
            self.early = early;
        }
    }

    /// Person who acts.
    pub(crate) fn actor(&self) -> Result<&Person> {
        self.identity
            .map(|identity| &identity.author)
            .ok_or_else(|| {
                Failure::internal(
                    Code::ActorMissing,
                    "expected the identity of whoever runs the command, found none",
                )
            })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            state: &self.state,
            texts: &self.texts,
            policy: &self.policy,
            code: self.code.as_ref(),
            delta: &self.delta,
            credentials: &self.credentials,
            policy_checks: &self.policy_checks,
            demand: self.demand.as_ref(),
            shared: &self.shared,
            base_missing: self.base_missing.as_ref(),
            context: &self.context,
            statements: &self.statements,
            read: &self.read,
            worktree: self.worktree.as_deref(),
        }
    }
}

/// Changes that a decision wants.
#[derive(Debug)]
pub(crate) struct Act<T> {
    pub body: Body,
    /// The subject of the commit, after `<id>: `.
    pub what: String,
    pub reason: Option<String>,
    /// Artifacts that the tool itself writes.
    pub writes: BTreeMap<Artifact, String>,
    /// Files of tasks that go in beside those of the working copy.
    pub outputs: Outputs,
    /// A code branch that other sessions let go for this one.
    pub takes: Option<String>,
    /// The log of a recorded command.
    pub log: Option<Oid>,
    /// Bases to record, instead of those of what is new in the delta.
    pub bases: Option<Vec<RequirementBase>>,
    /// The hold on the build, where it is new or renewed.
    pub claim: Option<Claim>,
    /// Word of a person in the act, which policy may want signed.
    pub word: Option<Word>,
    /// Failure of which the issues that the session was started for are told.
    pub failure: Option<String>,
    /// Move that goes before the act, to the stage where this one of the files that the act writes is open.
    pub before: Option<(Event, Artifact)>,
    pub value: T,
}

impl<T> Act<T> {
    /// The act and its value apart: what records an act is compiled once, not for each type of value.
    fn split(self) -> (Act<()>, T) {
        let act = Act {
            body: self.body,
            what: self.what,
            reason: self.reason,
            writes: self.writes,
            outputs: self.outputs,
            takes: self.takes,
            log: self.log,
            bases: self.bases,
            claim: self.claim,
            word: self.word,
            failure: self.failure,
            before: self.before,
            value: (),
        };
        (act, self.value)
    }

    pub(crate) fn new(body: impl Into<Body>, what: impl Into<String>, value: T) -> Self {
        Act {
            body: body.into(),
            what: what.into(),
            reason: None,
            writes: BTreeMap::new(),
            outputs: Outputs::default(),
            takes: None,
            log: None,
            bases: None,
            claim: None,
            word: None,
            failure: None,
            before: None,
            value,
        }
    }

    #[must_use]
    pub(crate) fn failure(mut self, failure: Option<String>) -> Self {
        self.failure = failure;
        self
    }

    #[must_use]
    pub(crate) fn claim(mut self, claim: Option<Claim>) -> Self {
        self.claim = claim;
        self
    }

    #[must_use]
    pub(crate) fn outputs(mut self, outputs: Outputs) -> Self {
        self.outputs = outputs;
        self
    }

    #[must_use]
    pub(crate) fn reason(mut self, reason: Option<String>) -> Self {
        self.reason = reason;
        self
    }

    /// Makes the event somebody's word.
    #[must_use]
    pub(crate) fn word(mut self, sign: bool) -> Self {
        self.word = Some(Word { sign });
        self
    }

    #[must_use]
    pub(crate) fn before(mut self, step: Option<(Event, Artifact)>) -> Self {
        self.before = step;
        self
    }

    #[must_use]
    pub(crate) fn write(mut self, artifact: Artifact, text: String) -> Self {
        self.writes.insert(artifact, text);
        self
    }
}

/// Result of an act.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub id: SessionId,
    pub commit: Oid,
    pub state: State,
    /// Paths that the working copy had changed and that went in.
    pub saved: Vec<String>,
    pub value: T,
}

/// Part of the world that a decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The code only where the stage judges it: build and review.
    Stage,
    /// The code whatever the stage is.
    Code,
    /// Every operation of the session.
    Operations,
    /// Code as for the stage; the delta is judged by the caller, on a target of its own.
    Unjudged,
    /// Code as for the stage, of a session that may be archived.
    Ended,
}

/// Changes one session.
pub(crate) fn act<T>(
    ctx: &Context,
    needs: Needs,
    decide: impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<Done<T>> {
    change(ctx, needs, true, None::<Prepare>, decide)
}

/// Changes one session and leaves its working copy alone: a note of the tool's own saves nobody's edits.
pub(crate) fn act_beside<T>(
    ctx: &Context,
    needs: Needs,
    decide: impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<Done<T>> {
    change(ctx, needs, false, None::<Prepare>, decide)
}

/// Changes one session, after something was done to its working copy under the same lock.
pub(crate) fn act_after<T>(
    ctx: &Context,
    needs: Needs,
    prepare: impl FnOnce(&State, Option<&mut WorkCopy<'_>>) -> Result<()>,
    decide: impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<Done<T>> {
    change(ctx, needs, true, Some(prepare), decide)
}

/// The preparation of a command that prepares nothing.
type Prepare = fn(&State, Option<&mut WorkCopy<'_>>) -> Result<()>;

/// A refusal that leads to what the rules alone call next, leading to what is next for whoever asks, here.
fn led(ctx: &Context, facts: &Facts<'_>, mut failure: Failure) -> Failure {
    let (view, forward) = (facts.view(), Transition::forward(facts.state.stage));
    // What holds the gate in front is named, and what is done first may be something else.
    let holds = |first: &Blocker| {
        if failure.help.as_ref() != Some(&first.help) {
            return false;
        }
        let gate = forward.map_or_else(Vec::new, |way| gate::blockers(view, way));
        gate.first().is_some_and(|one| one.help == first.help)
    };
    let is_gate = failure.blockers.first().is_some_and(holds);
    failure.help = failure.help.map(|help| {
        if is_gate {
            asked(ctx, facts, help)
        } else {
            lead(ctx, facts, help)
        }
    });
    let early = |one: &&mut Blocker| is_early(facts, one);
    for one in failure.blockers.iter_mut().filter(early) {
        let help = failure.help.clone();
        one.help = help.unwrap_or_else(|| gate::next_action(view));
    }
    failure
}

/// Test for a blocker that asks for an approval before its gate is ready for it.
fn is_early(facts: &Facts<'_>, blocker: &Blocker) -> bool {
    let is_word = matches!(
        blocker.code,
        Code::ApprovedTransitionRequired | Code::ApprovalStale
    );
    let from = facts.state.stage;
    let asks =
        |way: &Transition| way.from() == from && facts.policy.approve_command(*way) == blocker.help;
    let way = Transition::ALL.into_iter().find(asks);
    let is_ready = |way| gate::blockers(facts.view(), way).is_empty();
    is_word && way.is_some_and(|way| !is_ready(way))
}

/// A hint, which where it is what the rules alone call next becomes what is next for whoever asks, here.
pub(super) fn lead(ctx: &Context, facts: &Facts<'_>, hint: Hint) -> Hint {
    if hint == gate::next_action(facts.view()) {
        asked(ctx, facts, hint)
    } else {
        hint
    }
}

/// Step that is next for whoever asks, here; else the hint. Words of a hint that name somebody else stay.
fn asked(ctx: &Context, facts: &Facts<'_>, hint: Hint) -> Hint {
    if hint.lead().is_none() {
        return hint;
    }
    let asked = next::of_session(ctx, &facts.state.id).map(Advised::into_hint);
    match asked {
        Ok(asked) if !asked.is_empty() => asked,
        _ => hint,
    }
}

fn change<T>(
    ctx: &Context,
    needs: Needs,
    saves: bool,
    prepare: Option<impl FnOnce(&State, Option<&mut WorkCopy<'_>>) -> Result<()>>,
    mut decide: impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<Done<T>> {
    let opening = Opening::of(ctx)?;
    let Opening {
        identity, store, ..
    } = &opening;
    let (id, mut copy) = if saves {
        opening.with_copy(ctx)?
    } else {
        (opening.session(ctx)?, None)
    };
    let load = |snapshot: &Snapshot<'_>| match needs {
        Needs::Ended => snapshot.find(&id)?.ok_or_else(|| unknown(snapshot, &id)),
        _ => load_active(snapshot, &id),
    };
    if let Some(prepare) = prepare {
        prepare(&load(&store.snapshot()?)?.state, copy.as_mut())?;
    }
    let decide = |snapshot: &Snapshot<'_>| {
        let session = load(snapshot)?;
        let facts = gather(
            ctx,
            snapshot,
            &session,
            copy.as_mut(),
            needs,
            Some(identity),
        )?;
        let act = decide(&facts).map_err(|failure| led(ctx, &facts, failure))?;
        build(ctx, snapshot, &session, facts, act, identity)
    };
    let committed = opening.scope(ctx).commit(decide, |built: &Built<T>| {
        let publish = Step::publish(&ctx.repo, &id, &built.2);
        // A note of the tool's own may take the files of a task in.
        let follows = saves || !built.2.is_empty();
        publish.filter(|_| follows).into_iter().collect()
    })?;
    let (state, saved, _, value) = committed.value;
    Ok(Done {
        id,
        commit: committed.commit,
        state,
        saved,
        value,
    })
}

/// The artifacts with the edits of this worktree. A file that the branch changed too counts as stored.
pub(super) fn texts_here(ctx: &Context, state: &State, policy: &Policy) -> Result<Texts> {
    let mut texts = Texts::default();
    read_texts(&ctx.repo, state, &mut texts)?;
    if let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)?
        && copy.exists()
    {
        for (artifact, status) in copy.statuses(state)? {
            if status == FileStatus::Modified
                && let Some(bytes) = files::read(&copy.path(artifact)?, policy.artifacts.max_bytes)?
            {
                texts.insert(artifact, text_of(bytes));
            }
        }
    }
    ctx.share_list(&mut texts);
    Ok(texts)
}

/// A session that can still change.
pub(crate) fn load_active(snapshot: &Snapshot<'_>, id: &SessionId) -> Result<Session> {
    require_active(snapshot.find(id)?.ok_or_else(|| unknown(snapshot, id))?)
}

/// Refuses a session that has ended.
pub(crate) fn require_active(session: Session) -> Result<Session> {
    let id = &session.state.id;
    match &session.state.ending {
        None => Ok(session),
        Some(Ending::Abandoned { .. }) => Err(Failure::refused(
            Code::SessionAbandoned,
            format!("session {id} was abandoned"),
        )
        .help(
            command!("undo")
                .session(id)
                .note("(takes the abandoning back)"),
        )),
        Some(Ending::Archived { target, .. }) => Err(Failure::refused(
            Code::SessionArchived,
            format!("session {id} is archived on {target}"),
        )
        .help(command!("start \"Follow up\""))),
    }
}

/// Reads everything that a decision may look at. `copy` is `None` where edits must not be taken in.
pub(crate) fn gather<'a>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    copy: Option<&mut WorkCopy<'_>>,
    needs: Needs,
    identity: Option<&'a Identity>,
) -> Result<Facts<'a>> {
    let (policy, _) = ctx.policy_if_there(&session.state)?;
    let edits = match copy {
        Some(copy) => copy.collect(&session.state, policy.artifacts.max_bytes)?,
        None => Edits::default(),
    };
    let depth = match identity {
        Some(_) => sign::Depth::Ahead,
        None => sign::Depth::Everything,
    };
    gather_with(ctx, snapshot, session, edits, needs, (identity, depth))
}

/// A session with the edits of a working copy in it.
struct Entered {
    state: State,
    texts: Texts,
    saved: Vec<Artifact>,
    outputs: Outputs,
    taken: BTreeMap<String, Oid>,
}

impl Entered {
    fn of(ctx: &Context, stored: &State, edits: Edits) -> Result<Self> {
        let mut state = stored.clone();
        let mut saved = Vec::new();
        for (artifact, write) in edits.writes {
            match write.to {
                Some(blob) => state.artifacts.insert(artifact, blob),
                None => state.artifacts.remove(&artifact),
            };
            saved.push(artifact);
        }
        let (mut texts, mut taken, mut outputs) = (edits.texts, edits.taken, edits.outputs);
        read_texts(&ctx.repo, &state, &mut texts)?;
        ctx.share_list(&mut texts);
        if !outputs.is_empty() {
            let known = plan::ids(&texts, &state);
            outputs.retain(|task| known.contains(task) || state.outputs_of(task).next().is_some());
            taken.retain(|path, _| task_of(path).is_none_or(|_| outputs.taken.contains_key(path)));
            outputs.enter(&mut state);
        }
        if saved.iter().any(is_of_header)
            && let Some(text) = outline::header(&state, &texts)
        {
            let blob = ctx.repo.hash_blob(text.as_bytes())?;
            state.artifacts.insert(Artifact::Plan, blob);
            texts.insert(Artifact::Plan, text);
            saved.extend((!saved.contains(&Artifact::Plan)).then_some(Artifact::Plan));
        }
        Ok(Entered {
            state,
            texts,
            saved,
            outputs,
            taken,
        })
    }
}

/// Gathers the facts with edits that were taken in already; `depth` says how much of what was signed is looked at.
pub(super) fn gather_with<'a>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    edits: Edits,
    needs: Needs,
    (identity, depth): (Option<&'a Identity>, sign::Depth),
) -> Result<Facts<'a>> {
    let (policy, missing) = ctx.policy_if_there(&session.state)?;
    let Entered {
        state,
        texts,
        saved,
        outputs,
        taken,
    } = Entered::of(ctx, &session.state, edits)?;
    let delta = match needs {
        Needs::Unjudged => DeltaFacts::default(),
        _ => effective_target::facts(ctx, snapshot, &state, &policy, &texts)?,
    };
    let wants_code = needs == Needs::Code || matches!(state.stage, Stage::Build | Stage::Review);
    let actor = identity.map(|identity| &identity.author);
    let credentials = sign::gather(ctx, &policy, snapshot, session, depth, actor)?;
    let shared = sharing(snapshot, &state)?;
    let code = if wants_code {
        code_judged(ctx, &state, identity)?
    } else {
        None
    };
    let moment = identity.map_or_else(|| ctx.now(), Identity::judges_at);
    let policy_checks = if wants_code {
        policy_checks::asked(ctx, &state, &policy, (code.as_ref(), &texts))?
    } else {
        Vec::new()
    };
    // Whoever approves a plan hears before that what its code would be refused for.
    let demand = if wants_code || state.stage < Stage::Build {
        policy_checks::demanded(ctx, &state, &policy, (code.as_ref(), &texts))?
    } else {
        None
    };
    let mut facts = Facts {
        policy_checks,
        demand,
        read: ReadSections::default(),
        worktree: lease::token(&ctx.repo),
        context: super::manifest::asked(&ctx.repo, &state, &policy, &texts)?,
        statements: super::intent::statements(&ctx.repo, &state)?,
        shared,
        base_missing: missing,
        credentials,
        code,
        world: World::default(),
        early: Vec::new(),
        watched: Watched::of(&ctx.repo, &state, moment),
        operations: if needs == Needs::Operations {
            snapshot.operations(session)?
        } else {
            Vec::new()
        },
        state,
        texts,
        policy,
        delta,
        identity,
        saved,
        outputs,
        taken,
    };
    facts.world = world::seen(ctx, (snapshot, session), &facts)?;
    facts.leave_out_early();
    world::hear(&mut facts);
    Ok(facts)
}

/// The other sessions that are bound to the branch of a session.
fn sharing(snapshot: &Snapshot<'_>, state: &State) -> Result<Vec<SessionId>> {
    let mut shared = match &state.branch {
        Some(branch) => snapshot.bound_to(branch)?,
        None => Vec::new(),
    };
    shared.retain(|id| *id != state.id);
    Ok(shared)
}

/// The code that is checked out, with what a review of it has looked at.
fn code_judged(
    ctx: &Context,
    state: &State,
    identity: Option<&Identity>,
) -> Result<Option<CodeFacts>> {
    let mut code = ctx.code_for(identity)?;
    if let Some(code) = code.as_mut().filter(|_| state.stage == Stage::Review) {
        code.reviewed = review::reviewed(ctx, state, code)?;
    }
    Ok(code)
}

/// Gathers the facts with the edits of this worktree, which stay where they are: what a command would judge that saves
/// them.
pub(super) fn gather_here(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    needs: Needs,
) -> Result<Facts<'static>> {
    let state = &session.state;
    let (policy, _) = ctx.policy_if_there(state)?;
    let edits = match WorkCopy::open(&ctx.repo, &state.id)? {
        Some(copy) if state.is_active() => copy.peek(state, policy.artifacts.max_bytes)?.edits,
        _ => Edits::default(),
    };
    gather_with(
        ctx,
        snapshot,
        session,
        edits,
        needs,
        (None, sign::Depth::Everything),
    )
}

/// The text of some bytes, which are not copied where they are one.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Reads the artifacts that `texts` does not have yet.
pub(crate) fn read_texts(repo: &Repo, state: &State, texts: &mut Texts) -> Result<()> {
    for (artifact, blob) in &state.artifacts {
        if !texts.contains_key(artifact) {
            texts.insert(*artifact, text_of(repo.read_blob(blob)?));
        }
    }
    texts.retain(|artifact, _| state.artifacts.contains_key(artifact));
    Ok(())
}

/// The header of plan.md follows from these.
fn is_of_header(artifact: &Artifact) -> bool {
    matches!(artifact, Artifact::Plan | Artifact::TaskList)
}

/// Outcome of a decision: the state, what was saved of which files, and the value.
pub(super) type Built<T> = (State, Vec<String>, BTreeMap<String, Oid>, T);

/// The commit that records what was decided.
pub(super) fn build<T>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    facts: Facts<'_>,
    act: Act<T>,
    identity: &Identity,
) -> Result<Decision<Built<T>>> {
    let (act, value) = act.split();
    let recorded = recorded(ctx, snapshot, session, facts, act, identity)?;
    let (state, saved, taken, ()) = recorded.value;
    Ok(Decision {
        edits: recorded.edits,
        message: recorded.message,
        value: (state, saved, taken, value),
    })
}

fn recorded(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    mut facts: Facts<'_>,
    act: Act<()>,
    identity: &Identity,
) -> Result<Decision<Built<()>>> {
    let repo = &ctx.repo;
    let Act {
        body,
        what,
        reason,
        writes,
        outputs,
        takes,
        log,
        bases,
        claim,
        word,
        failure,
        before,
        value: (),
    } = act;
    require_base(&facts, &body)?;
    if let Some(claim) = &claim {
        lease::keep(repo, &claim.owner)?;
    }
    let what = taken_over(session.state.build.claim.as_ref(), claim.as_ref(), what);
    let words = words(&facts.saved, &writes, &body);
    let artifacts = stored(repo, &mut facts, writes)?;
    let writes = differences(&session.state.artifacts, &artifacts);
    let mut saved: Vec<String> = facts.saved.iter().map(ToString::to_string).collect();
    let outputs = together(repo, [std::mem::take(&mut facts.outputs), outputs])?;
    saved.extend(outputs.writes.keys().cloned());
    let mut taken = std::mem::take(&mut facts.taken);
    taken.extend(outputs.taken);
    let bases = match bases {
        Some(bases) => bases,
        None => new_bases(ctx, snapshot, &session.state, &facts, &writes)?,
    };
    let recording = Recording {
        body: placed_body(ctx, &session.state, body)?,
        reason,
        writes,
        words,
        others: outputs.writes,
        bases,
        claim,
        before: placed_before(ctx, &session.state, before)?,
    };
    let (operations, state) = recording.operations(repo, identity, &session.state)?;
    let op = &operations[operations.len() - 1];
    let around = (&session.state, &state);
    let settle = |word: Word| word.settle(repo, &facts.policy, &facts.credentials, around, op);
    let signature = word.map(settle).transpose()?.flatten();
    let mut records: Vec<Record<'_>> = operations.iter().map(Record::from).collect();
    if let Some(record) = records.last_mut() {
        record.signature = signature.as_deref();
        record.log = log;
    }
    let mut edits = store::Edits::default();
    edits.record_all(repo, Some(session), &records, &state)?;
    let mut message = store::message(&state.id, &what, op, &state);
    let about = (op, &state);
    let trailers = beside(
        repo,
        snapshot,
        identity,
        (takes, failure),
        about,
        &mut edits,
    )?;
    message.push_str(&trailers);
    Ok(Decision {
        edits,
        message,
        value: (state, saved, taken, ()),
    })
}

/// Refuses what asks policy, where the commit is missing that the session starts from.
fn require_base(facts: &Facts<'_>, body: &Body) -> Result<()> {
    match (&facts.base_missing, body) {
        (Some(missing), Body::Session(step)) if !step.event.asks_no_policy() => {
            Err(missing.clone())
        }
        _ => Ok(()),
    }
}

/// Records what an act does beside its session: others let the branch go that it takes, and issues are told of a failure.
/// Gives the trailers that name them.
fn beside(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    (takes, failure): (Option<String>, Option<String>),
    (op, state): (&Operation, &State),
    edits: &mut store::Edits,
) -> Result<String> {
    let mut trailers = String::new();
    if let Some(branch) = takes {
        edits.keep_bound(repo, &branch, &state.id)?;
        for id in let_go(repo, snapshot, identity, &branch, op, &state.id, edits)? {
            trailers.push_str(&store::also(&id));
        }
    }
    if let Some(failure) = failure {
        let about = (state.issues.as_slice(), failure.as_str());
        trailers.push_str(&tell(repo, snapshot, identity, about, edits)?);
    }
    Ok(trailers)
}

/// The edits of somebody that stand apart from the operation that they were saved along with.
fn words(saved: &[Artifact], writes: &BTreeMap<Artifact, String>, body: &Body) -> Vec<Artifact> {
    let has_words = match body {
        // A command that does nothing but save is an operation for the edits alone.
        Body::Session(step) if step.event == Event::Saved => !writes.is_empty(),
        Body::Session(step) => step.event.is_beside_words(),
        _ => false,
    };
    let is_own = |artifact: &&Artifact| has_words && !writes.contains_key(artifact);
    saved.iter().filter(is_own).copied().collect()
}

/// The artifacts with what an act writes, what somebody edited, and what follows from both. Their texts are stored, and
/// the facts have them from here on.
fn stored(
    repo: &Repo,
    facts: &mut Facts<'_>,
    writes: BTreeMap<Artifact, String>,
) -> Result<BTreeMap<Artifact, Oid>> {
    let mut artifacts = facts.state.artifacts.clone();
    let all = (&mut artifacts, &mut facts.texts);
    write_artifacts(repo, &facts.state, writes, all)?;
    for artifact in &facts.saved {
        if let Some(text) = facts.texts.get(artifact) {
            repo.write_blob(text.as_bytes())?;
        }
    }
    let profile = facts.policy.profiles.get(&facts.state.profile);
    refresh_graph(
        repo,
        profile.ok().as_ref(),
        &mut artifacts,
        &mut facts.texts,
    )?;
    Ok(artifacts)
}

/// The files of tasks that were edited and those that go in beside them, stored.
fn together(repo: &Repo, both: [Outputs; 2]) -> Result<Outputs> {
    let mut all = Outputs::default();
    for outputs in both {
        for bytes in outputs.contents.values() {
            repo.write_blob(bytes)?;
        }
        all.writes.extend(outputs.writes);
        all.taken.extend(outputs.taken);
    }
    Ok(all)
}

/// The bases of what is new in the delta.
fn new_bases(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    state: &State,
    facts: &Facts<'_>,
    writes: &BTreeMap<Artifact, Write>,
) -> Result<Vec<RequirementBase>> {
    // Where the specs are nobody knows where the base is missing, and what is not recorded is asked for at the gate.
    if facts.base_missing.is_some() || !writes_delta(writes) {
        return Ok(Vec::new());
    }
    effective_target::new_bases(ctx, snapshot, state, &facts.policy, &facts.texts)
}

/// The move before a record, with the commits that belong to it.
fn placed_before(
    ctx: &Context,
    state: &State,
    before: Option<(Event, Artifact)>,
) -> Result<Option<(Event, Artifact)>> {
    let place = |(event, artifact)| Ok((placed(ctx, state, event)?, artifact));
    before.map(place).transpose()
}

/// The body of a record, with the commits that belong to its event.
fn placed_body(ctx: &Context, state: &State, body: Body) -> Result<Body> {
    Ok(match body {
        Body::Session(step) => Body::Session(SessionBody {
            event: placed(ctx, state, step.event)?,
            ..step
        }),
        other => other,
    })
}

/// Writes the artifacts, and with them the header of the plan where it counts what they say.
fn write_artifacts(
    repo: &Repo,
    state: &State,
    writes: BTreeMap<Artifact, String>,
    (artifacts, texts): (&mut BTreeMap<Artifact, Oid>, &mut Texts),
) -> Result<()> {
    let writes_header = writes.keys().any(is_of_header);
    for (artifact, text) in writes {
        artifacts.insert(artifact, repo.write_blob(text.as_bytes())?);
        texts.insert(artifact, text);
    }
    if writes_header && let Some(text) = outline::header(state, texts) {
        artifacts.insert(Artifact::Plan, repo.write_blob(text.as_bytes())?);
        texts.insert(Artifact::Plan, text);
    }
    Ok(())
}

/// The subject of a commit says when it takes a build over.
fn taken_over(before: Option<&Stamped<Claim>>, now: Option<&Claim>, what: String) -> String {
    match (before, now) {
        (Some(before), Some(now)) if before.value.owner != now.owner => {
            format!("{what}; takes the build over from {}", before.signed.by)
        }
        _ => what,
    }
}

/// The change from one set of artifacts to another.
pub(crate) fn differences(
    before: &BTreeMap<Artifact, Oid>,
    after: &BTreeMap<Artifact, Oid>,
) -> BTreeMap<Artifact, Write> {
    Artifact::ALL
        .into_iter()
        .filter_map(|artifact| {
            let (from, to) = (before.get(&artifact), after.get(&artifact));
            (from != to).then(|| {
                let write = Write {
                    from: from.cloned(),
                    to: to.cloned(),
                };
                (artifact, write)
            })
        })
        .collect()
}

/// Keeps `change/artifact-graph.json` in step with the pack: it is derived, and written for readers.
fn refresh_graph(
    repo: &Repo,
    profile: Option<&Profile>,
    artifacts: &mut BTreeMap<Artifact, Oid>,
    texts: &mut Texts,
) -> Result<()> {
    let is_of_pack = |artifact: &&Artifact| **artifact != Artifact::SpecDelta;
    let mut pack = Artifact::CHANGE_PACK.iter().filter(is_of_pack);
    let Some(profile) = profile.filter(|_| pack.any(|a| artifacts.contains_key(a))) else {
        return Ok(());
    };
    let previous: Option<change_pack::Graph> = texts
        .get(&Artifact::ArtifactGraph)
        .and_then(|text| serde_json::from_str(text).ok());
    let graph = change_pack::graph(previous.as_ref(), artifacts, |artifact| {
        delta::is_filled(artifact, profile, texts)
    });
    let text = String::from_utf8_lossy(&loopx_rules::op::to_json(&graph)?).into_owned();
    artifacts.insert(Artifact::ArtifactGraph, repo.write_blob(text.as_bytes())?);
    texts.insert(Artifact::ArtifactGraph, text);
    Ok(())
}

/// Refusal of `save` where nothing is new.
pub(crate) fn nothing_to_save() -> Failure {
    Failure::nothing(Code::NothingToSave, "the working copy has no edits").help(command!("status"))
}
