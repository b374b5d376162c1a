//! The one road by which a session changes: lock, read, save the working copy, decide, commit, publish.
//!
//! `decide` is a pure function of the [`Facts`]; it runs again when the branch moved. Its refusal
//! writes nothing. One call makes at most one commit.

mod gather;
mod recorded;

pub(crate) use gather::{gather, read_texts};
pub(super) use gather::{gather_here, gather_with};
pub(crate) use recorded::differences;
pub(super) use recorded::{Built, build};

use super::context::Context;
use super::journal::Step;
use super::naming::unknown;
use super::sign::Word;
use super::watched::Watched;
use super::workcopy::{FileStatus, Outputs, WorkCopy, text_of};
use super::write_scope::Opening;
use super::{effective_target, files, next};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, Person, SessionId};
use loopx_git::Identity;
use loopx_rules::agent_identity;
use loopx_rules::artifact::Artifact;
use loopx_rules::checks::Check;
use loopx_rules::gate;
use loopx_rules::gate::{CodeFacts, Credentials, DeltaFacts, ReadSections, View};
use loopx_rules::intent::Statement;
use loopx_rules::lease::Claim;
use loopx_rules::manifest::Row;
use loopx_rules::next::Advised;
use loopx_rules::op::{Body, Event, Operation, RequirementBase};
use loopx_rules::policy::{Demand, Policy};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Transition;
use loopx_rules::task::early::{Early, early};
use loopx_rules::task::plan;
use loopx_rules::task::world::World;
use loopx_rules::texts::Texts;
use loopx_store::{Session, Snapshot};
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
    /// Code as for the stage; the delta is judged only where the command is refused, and the refusal has to lead on.
    Late,
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
        let mut facts = gather(
            ctx,
            snapshot,
            &session,
            copy.as_mut(),
            needs,
            Some(identity),
        )?;
        let act = match decide(&facts) {
            Ok(act) => act,
            Err(failure) => {
                if needs == Needs::Late {
                    let (policy, texts) = (&facts.policy, &facts.texts);
                    facts.delta =
                        effective_target::facts(ctx, snapshot, &facts.state, policy, texts)?;
                }
                return Err(led(ctx, &facts, failure));
            }
        };
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

/// Refusal of `save` where nothing is new.
pub(crate) fn nothing_to_save() -> Failure {
    Failure::nothing(Code::NothingToSave, "the working copy has no edits").help(command!("status"))
}
