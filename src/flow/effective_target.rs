//! The effective target of a session's delta: its target branch, with what the open sessions that it depends on would
//! make of the specs there, in order. And what is wrong with those dependencies.
//!
//! The gate, the dry run and the recorded bases all stand here, so that a change on top of another one
//! can be planned, built and reviewed before the other one is archived.

use super::archive::confirmed;
use super::context::Context;
use super::delta::{self, Judgement, Target};
use super::transaction::read_texts;
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_base::id::SessionId;
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::gate::DeltaFacts;
use loopx_rules::op::RequirementBase;
use loopx_rules::policy::Policy;
use loopx_rules::session::{Ending, State};
use loopx_rules::texts::Texts;
use loopx_spec::{Action, Delta, Finding, Severity};
use loopx_store::{Session, Snapshot};
use std::collections::BTreeSet;

/// A session's target with what its open dependencies make of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ground {
    pub target: Target,
    /// Open sessions on which the session depends, also by way of others; a session stands before those that depend on
    /// it.
    pub open: Vec<SessionId>,
    /// The reasons why the session can never be archived as its delta says.
    pub faults: Vec<Finding>,
}

impl Ground {
    pub(crate) fn of(
        ctx: &Context,
        snapshot: &Snapshot<'_>,
        state: &State,
        texts: &Texts,
    ) -> Result<Self> {
        let mut ground = Ground {
            target: Target::of_branch(ctx, state)?,
            ..Ground::default()
        };
        // Most deltas stand alone: they are read once, where they are judged.
        let may_depend = |text: &String| text.contains("depends");
        let file = brief::delta_file(texts).unwrap_or(Artifact::SpecDelta);
        if !texts.get(&file).is_some_and(may_depend) {
            return Ok(ground);
        }
        let Some((delta, _)) = delta::read(texts) else {
            return Ok(ground);
        };
        if delta.depends_on.is_empty() {
            return Ok(ground);
        }
        ground.faults = faults(snapshot, &delta)?;
        let mut walk = Walk {
            ctx,
            snapshot,
            path: vec![state.id.clone()],
            seen: BTreeSet::new(),
            open: Vec::new(),
            cycle: None,
        };
        walk.below(&delta)?;
        if let Some(cycle) = walk.cycle {
            let names: Vec<&str> = cycle.iter().map(SessionId::as_str).collect();
            ground.faults.push(Finding::new(
                Severity::Error,
                "dependency_cycle",
                file.path(),
                1,
                format!("the sessions wait for each other: {}", names.join(" -> ")),
                hint![
                    "take one of them out of `depends_on`: ",
                    command!("edit {file}")
                ],
            ));
        }
        ground.open = walk.open;
        let below = ground.open.clone();
        stack(ctx, snapshot, &mut ground.target, &below)?;
        Ok(ground)
    }

    /// Reads the delta and tries it here: what the gate refuses, and what archive would make.
    pub(crate) fn judge(
        &self,
        ctx: &Context,
        state: &State,
        policy: &Policy,
        texts: &Texts,
    ) -> Result<Judgement> {
        let target = &self.target;
        let mut judgement = delta::judge(ctx, state, policy, (target, target), texts)?;
        let faults = self.faults.iter().map(super::spec::blocker);
        judgement.facts.blockers.splice(..0, faults);
        Ok(judgement)
    }
}

/// The facts that the gates need: the delta by itself, and as its ground would take it.
pub(crate) fn facts(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    state: &State,
    policy: &Policy,
    texts: &Texts,
) -> Result<DeltaFacts> {
    if brief::delta_file(texts).is_none() {
        return Ok(DeltaFacts::default());
    }
    let ground = Ground::of(ctx, snapshot, state, texts)?;
    Ok(ground.judge(ctx, state, policy, texts)?.facts)
}

/// Bases for the requirements that the delta touches and that have none yet: what stands on its ground
/// now. Stamped when they are first written, never guessed later (design 6).
pub(crate) fn new_bases(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    state: &State,
    policy: &Policy,
    texts: &Texts,
) -> Result<Vec<RequirementBase>> {
    let Some((delta, _)) = delta::read(texts) else {
        return Ok(Vec::new());
    };
    let ground = Ground::of(ctx, snapshot, state, texts)?;
    delta::missing_bases(ctx, state, policy, &ground.target, &delta)
}

/// Puts what the saved deltas of these sessions make of the specs into a target, one after the other.
pub(crate) fn stack(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    target: &mut Target,
    sessions: &[SessionId],
) -> Result<()> {
    for id in sessions {
        let Some(session) = snapshot.session(id)? else {
            continue;
        };
        let state = &session.state;
        let policy = ctx.policy(state)?;
        let texts = texts(ctx, state)?;
        let own = Target::of_branch(ctx, state)?;
        let judgement = delta::judge(ctx, state, &policy, (&own, target), &texts)?;
        results(&judgement, &policy, target);
    }
    Ok(())
}

/// Puts what a delta makes of the specs into a target.
pub(crate) fn results(judgement: &Judgement, policy: &Policy, target: &mut Target) {
    for applied in &judgement.verdict.domains {
        let path = delta::spec_path(policy, &applied.outcome.domain);
        match &applied.outcome.action {
            Action::Keep => {}
            Action::Write(text) => {
                target.over.insert(path, Some(text.clone()));
            }
            Action::Retire => {
                target.over.insert(path, None);
            }
        }
    }
}

fn texts(ctx: &Context, state: &State) -> Result<Texts> {
    let mut texts = Texts::default();
    read_texts(&ctx.repo, state, &mut texts)?;
    Ok(texts)
}

/// The open sessions below a delta.
struct Walk<'w> {
    ctx: &'w Context,
    snapshot: &'w Snapshot<'w>,
    /// From the session that is judged to the one that is looked at.
    path: Vec<SessionId>,
    seen: BTreeSet<SessionId>,
    open: Vec<SessionId>,
    cycle: Option<Vec<SessionId>>,
}

impl Walk<'_> {
    fn below(&mut self, delta: &Delta) -> Result<()> {
        for id in needs(delta)? {
            if let Some(at) = self.path.iter().position(|other| *other == id) {
                let mut cycle = self.path[at..].to_vec();
                cycle.push(id);
                self.cycle.get_or_insert(cycle);
                continue;
            }
            let Some(session) = self.open_session(&id)? else {
                continue;
            };
            if !self.seen.insert(id.clone()) {
                continue;
            }
            if let Some((delta, _)) = delta::read(&texts(self.ctx, &session.state)?) {
                self.path.push(id.clone());
                self.below(&delta)?;
                self.path.pop();
            }
            self.open.push(id);
        }
        Ok(())
    }

    fn open_session(&self, id: &SessionId) -> Result<Option<Session>> {
        let session = self.snapshot.session(id)?;
        Ok(session.filter(|session| session.state.is_active()))
    }
}

/// The sessions named in `depends_on`.
pub(crate) fn needs(delta: &Delta) -> Result<Vec<SessionId>> {
    delta
        .depends_on
        .iter()
        .map(|name| SessionId::fold(name))
        .collect()
}

/// The sessions named in `depends_on` that are not archived, and not among those `before`.
pub(crate) fn waits_for(
    snapshot: &Snapshot<'_>,
    delta: &Delta,
    before: &[SessionId],
) -> Result<Vec<Finding>> {
    let file = Artifact::SpecDelta;
    let mut found = Vec::new();
    for id in needs(delta)? {
        if before.contains(&id) {
            continue;
        }
        found.push(
            match snapshot.find(&id)?.map(|session| {
                let ending = session.state.ending;
                ending.map(|ending| confirmed(snapshot.repo(), ending))
            }) {
                Some(Some(ending)) if ending.is_result() => continue,
                Some(Some(Ending::Archived { .. })) => Finding::new(
                    Severity::Info,
                    "dependency_open",
                    file.path(),
                    1,
                    format!("the delta depends on session {id}, whose archive was taken back"),
                    command!("reopen --reason WHY").session(&id),
                ),
                Some(None) => Finding::new(
                    Severity::Info,
                    "dependency_open",
                    file.path(),
                    1,
                    format!("the delta depends on session {id}, which is not archived yet"),
                    command!("status").session(&id),
                ),
                Some(Some(Ending::Abandoned { .. })) => Finding::new(
                    Severity::Error,
                    "dependency_abandoned",
                    file.path(),
                    1,
                    format!("the delta depends on session {id}, which was abandoned"),
                    hint![
                        format!("take {id} out of `depends_on`: "),
                        command!("edit {file}")
                    ],
                ),
                None => Finding::new(
                    Severity::Error,
                    "dependency_unknown",
                    file.path(),
                    1,
                    format!("the delta depends on `{id}`; there is no such session"),
                    command!("list --all"),
                ),
            },
        );
    }
    Ok(found)
}

/// Dependencies that no archive can bring.
fn faults(snapshot: &Snapshot<'_>, delta: &Delta) -> Result<Vec<Finding>> {
    let mut found = waits_for(snapshot, delta, &[])?;
    found.retain(|finding| finding.severity == Severity::Error);
    Ok(found)
}
