//! The honest ways out of a build that cannot go on now: a recorded blocker, a pause, and taking it up
//! again.

use super::super::context::Context;
use super::super::transaction::{Act, Done, Needs, act};
use super::super::{lease, stages};
use super::{hook, ledger};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_rules::gate;
use loopx_rules::op::{BlockCause, Event};
use loopx_rules::stage::Transition;
use loopx_rules::stop::Parked;

/// A word that a person will read: it has to be there.
fn reason_for(ctx: &Context, command: &str, reason: Option<String>) -> Result<String> {
    if let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) {
        return Ok(reason);
    }
    // The session that is meant is named in what is to be typed.
    ctx.session_to_change(&ctx.store()?.snapshot()?)?;
    let what = format!("`{command}` needs a reason: what stands in the way");
    Err(
        Failure::usage(Code::ReasonRequired, what).help(match command {
            "agent block" => command!("agent block --reason WHY"),
            _ => command!("agent park --reason WHY"),
        }),
    )
}

/// Records what stands in the way of the build. An agent may stop then; the next build step ends it.
pub(crate) fn block(ctx: &Context, reason: Option<String>) -> Result<Done<()>> {
    let reason = reason_for(ctx, "agent block", reason)?;
    act(ctx, Needs::Code, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        stages::in_build(facts)?;
        let claim = lease::hold(facts, &owner)?;
        let missing = gate::blockers(facts.view(), Transition::BuildToReview);
        let event = Event::Blocked {
            cause: BlockCause::Reported,
            missing: missing.into_iter().map(|blocker| blocker.word()).collect(),
        };
        Ok(Act::new(event, "blocked", ())
            .reason(Some(reason.clone()))
            .claim(claim))
    })
}

/// Lets agents of this worktree stop until somebody takes the build up again. Nothing is recorded on
/// the session: it is this worktree's business.
pub(crate) fn park(ctx: &Context, reason: Option<String>) -> Result<(SessionId, String)> {
    let why = reason_for(ctx, "agent park", reason)?;
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let state = ctx.session_to_change(&snapshot)?.state;
    let now = ctx.repo.now();
    let Some(build) = hook::build_of(ctx, &state, now) else {
        return Err(Failure::refused(
            Code::StageMismatch,
            format!(
                "a build is parked, and session {} is in stage {}",
                state.id, state.stage
            ),
        )
        .help(command!("status")));
    };
    lease::check(ctx, &state)?;
    ledger::update(&ctx.repo, |ledger| {
        if ledger.build != build.key {
            ledger.renew();
            ledger.build.clone_from(&build.key);
            ledger.agent = None;
        }
        ledger.parked = Some(Parked {
            at: now,
            why: why.clone(),
            told: true,
        });
    })?;
    Ok((state.id, why))
}

/// The pause and the block that [`resume`] ended.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub id: SessionId,
    pub parked: bool,
    pub blocked: Option<String>,
}

/// Takes the build up again: no longer parked, no longer blocked, and no counter is held against it.
pub(crate) fn resume(ctx: &Context, reason: Option<String>) -> Result<Resumed> {
    let store = ctx.store()?;
    let state = ctx.session_to_change(&store.snapshot()?)?.state;
    let known = ledger::peek(&ctx.repo);
    let parked = known.parked.is_some();
    let blocked = state
        .build
        .blocked
        .as_ref()
        .map(|block| block.value.cause.to_string());
    if !parked && blocked.is_none() && known.total == 0 {
        return Err(Failure::nothing(
            Code::NothingToResume,
            format!("session {} is neither parked nor blocked here", state.id),
        )
        .help(command!("status")));
    }
    let renew = || ledger::update(&ctx.repo, |ledger| ledger.renew());
    if blocked.is_none() {
        renew()?;
    } else {
        act(ctx, Needs::Stage, |facts| {
            let owner = lease::owner(&ctx.repo, None)?;
            stages::in_build(facts)?;
            let claim = lease::hold(facts, &owner)?;
            Ok(Act::new(Event::Resumed, "resume", ())
                .reason(reason.clone())
                .claim(claim))
        })?;
        let done = format!("the build of {} is resumed", state.id);
        let help = command!("agent resume");
        ctx.follow((done, "the memory of the stop gate"), help, renew());
    }
    Ok(Resumed {
        id: state.id,
        parked,
        blocked,
    })
}
