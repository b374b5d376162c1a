//! `reopen`: takes a session that is done back to the build, and its archive with it. Whoever comments on what is done
//! has a place to go.

use super::archive::{self, Unarchived};
use super::context::Context;
use super::transaction::{Act, Done, Needs, act};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_base::shell_word;
use loopx_rules::gate;
use loopx_rules::op::Event;
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::{Stage, Transition};

/// Archive that was taken back with the reopened session.
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
            named = ctx.about(&id)?;
            &named
        }
        None => ctx,
    };
    let store = ctx.store()?;
    let state = ctx.session_to_change(&store.snapshot()?)?.state;
    // What cannot go back is refused before the archive is touched.
    require_ended(&state)?;
    require_branch(ctx, &state)?;
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
            out_of_scope: Vec::new(),
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

/// Refuses a session that is open, or that was abandoned.
fn require_ended(state: &State) -> Result<()> {
    let (id, stage) = (&state.id, state.stage);
    if let Some(Ending::Abandoned { .. }) = &state.ending {
        let what = format!("session {id} was abandoned in stage {stage}");
        return Err(Failure::refused(Code::SessionEnded, what).help(command!("undo").session(id)));
    }
    if stage != Stage::Done {
        let what = format!("session {id} is in stage {stage}: it is open");
        let failure = Failure::refused(Code::StageMismatch, what);
        return Err(failure.help(command!("status").session(id)));
    }
    Ok(())
}

/// Refuses an archive whose branch is gone: it is made again where the archive is.
fn require_branch(ctx: &Context, state: &State) -> Result<()> {
    let Some(Ending::Archived {
        commit: Some(archive),
        target,
        ..
    }) = &state.ending
    else {
        return Ok(());
    };
    let head = ctx.head()?;
    let is_here = head.branch.as_ref() == Some(target)
        || ctx
            .repo
            .find_ref(&format!("refs/heads/{target}"))?
            .is_some();
    if is_here || !ctx.repo.contains(archive)? {
        return Ok(());
    }
    let has_it = match &head.commit {
        Some(head) => ctx.repo.is_ancestor(archive, head)?,
        None => false,
    };
    let (name, at) = (shell_word(target), archive.short());
    let switch = if has_it {
        Hint::git(format!("switch -c {name}"))
    } else {
        Hint::git(format!("switch -c {name} {at}"))
    };
    let again = Transition::DoneToBuild.command().session(&state.id);
    Err(Failure::not_found(
        Code::BranchUnknown,
        format!(
            "there is no branch `{target}`, which session {} was archived on",
            state.id
        ),
    )
    .help(hint![switch, "  (makes it again; then: ", again, ")"]))
}
