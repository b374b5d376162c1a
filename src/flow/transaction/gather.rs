//! Facts that a decision may look at, gathered from the session, the worktree, the code and policy as they are now.

use super::{Facts, Needs};
use crate::flow::context::Context;
use crate::flow::sign;
use crate::flow::watched::Watched;
use crate::flow::workcopy::{Edits, Outputs, WorkCopy, text_of};
use crate::flow::{
    effective_target, intent, lease, manifest, outline, policy_checks, review, world,
};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Identity, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::{CodeFacts, DeltaFacts, ReadSections};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::outputs::task_of;
use loopx_rules::task::plan;
use loopx_rules::task::world::World;
use loopx_rules::texts::Texts;
use loopx_store::{Session, Snapshot};
use std::collections::BTreeMap;

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
pub(in crate::flow) fn gather_with<'a>(
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
        Needs::Unjudged | Needs::Late => DeltaFacts::default(),
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
        context: manifest::asked(&ctx.repo, &state, &policy, &texts)?,
        statements: intent::statements(&ctx.repo, &state)?,
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
pub(in crate::flow) fn gather_here(
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
pub(super) fn is_of_header(artifact: &Artifact) -> bool {
    matches!(artifact, Artifact::Plan | Artifact::TaskList)
}
