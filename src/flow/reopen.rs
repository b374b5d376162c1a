//! `reopen`: takes a session that is done back to the build, and its archive with it. Whoever comments on what is done
//! has a place to go.

use super::archive::{self, Unarchived};
use super::context::Context;
use super::transaction::{Act, Done, Needs, act};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_rules::gate;
use loopx_rules::op::Event;
use loopx_rules::session::Ending;
use loopx_rules::stage::{Stage, Transition};

/// What was taken back with it.
#[derive(Debug)]
pub(crate) struct Reopened {
    /// The archive, where the session had one on a branch.
    pub archive: Option<Unarchived>,
}

/// The session that was archived last on this branch, where nothing else is meant.
pub(super) fn ended_here(ctx: &Context) -> Result<Option<SessionId>> {
    if ctx.is_in_session()? {
        return Ok(None);
    }
    let store = ctx.store()?;
    let last = ctx.last_archived(&store.snapshot()?)?;
    let last = last.filter(|last| matches!(last.state.ending, Some(Ending::Archived { .. })));
    Ok(last.map(|last| last.state.id))
}

/// Opens the session that is meant, or the one of this name, again.
pub(crate) fn reopen(ctx: &Context, reason: Option<&str>, sign: bool) -> Result<Done<Reopened>> {
    let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) else {
        return Err(Failure::usage(
            Code::ReasonRequired,
            "opening a finished session again needs a reason",
        )
        .help(Transition::DoneToBuild.command()));
    };
    let named;
    let ctx = match ended_here(ctx)? {
        Some(id) => {
            named = Context::open_for(id.as_str())?
                .0
                .telling(&ctx.taken, &ctx.aside);
            &named
        }
        None => ctx,
    };
    let store = ctx.store()?;
    let state = ctx.session_to_change(&store.snapshot()?)?.state;
    if let Some(Ending::Abandoned { .. }) = &state.ending {
        return Err(Failure::refused(
            Code::SessionEnded,
            format!(
                "session {} was abandoned in stage {}",
                state.id, state.stage
            ),
        )
        .help(command!("undo").session(&state.id)));
    }
    // What cannot go back is refused before the archive is touched.
    if state.stage != Stage::Done {
        return Err(Failure::refused(
            Code::StageMismatch,
            format!(
                "session {} is in stage {}: it is open",
                state.id, state.stage
            ),
        )
        .help(command!("status").session(&state.id)));
    }
    let archive = match &state.ending {
        // An archive that a killed `reopen`, or somebody by hand, took back is taken back.
        Some(Ending::Archived {
            commit: Some(_), ..
        }) => match archive::unarchive(ctx, state.id.as_str(), None, Some(reason), (false, sign)) {
            Err(failure) if failure.code == Code::UnarchivedAlready => None,
            done => Some(done?),
        },
        _ => None,
    };
    let done = act(ctx, Needs::Ended, |facts| {
        let transition = Transition::DoneToBuild;
        if facts.state.stage != transition.from() {
            return Err(Failure::refused(
                Code::StageMismatch,
                format!(
                    "session {} is in stage {}",
                    facts.state.id, facts.state.stage
                ),
            )
            .help(command!("status")));
        }
        let blockers = gate::blockers(facts.view(), transition);
        if !blockers.is_empty() {
            return Err(gate::not_ready(transition, blockers));
        }
        let event = Event::Entered {
            transition,
            scope: Vec::new(),
            head: None,
        };
        Ok(Act::new(event, "reopen", ())
            .reason(Some(reason.to_owned()))
            .word(sign))
    });
    let done = done.map_err(|failure| match archive {
        Some(_) => failure.context("the archive is taken back, and the session is not open yet"),
        None => failure,
    })?;
    Ok(Done {
        id: done.id,
        commit: done.commit,
        state: done.state,
        saved: done.saved,
        value: Reopened { archive },
    })
}
