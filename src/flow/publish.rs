//! Records that go to the remote before they stand here: one commit on the tip that was just fetched, pushed alone. So
//! a bare repository says who has a task, to any number of machines.
//!
//! What is decided is decided on everything that is known here and there; what is pushed goes on from the remote's
//! branch alone, and carries nothing that was not shared. Where the remote moved meanwhile the commit is thrown away,
//! and the decision is made anew. Afterwards the branch here takes it in as a sync does.

use super::context::Context;
use super::pushing::Pushing;
use super::sync::{self, Request, fetch, follow, guard, limit};
use super::transaction::{Act, Done, Facts, Needs, build, gather, load_active};
use super::write_scope::Opening;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_git::remote::{Answer, Line};
use loopx_rules::artifact::Artifact;
use loopx_rules::op::Body;
use loopx_rules::push_rejection::Refusal;
use loopx_rules::session::State;
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::node::TaskId;
use loopx_rules::task::plan;
use loopx_rules::texts::Texts;
use loopx_store::{Committed, Linear, Snapshot, Store};
use std::time::{Duration, Instant};

/// The setting that says where a claim goes first.
const SETTING: &str = "loopx.claim";

/// Time for which a push is tried to a branch that others keep moving.
const DEADLINE: Duration = Duration::from_secs(60);

/// Tells whether changes of tasks go to the remote at once.
pub(crate) fn is_wanted(ctx: &Context) -> bool {
    ctx.repo.config(SETTING).as_deref() == Some("remote")
}

/// Changes one session there and then here, or refuses and changes neither. Says which remote has it.
pub(crate) fn act_there<T>(
    ctx: &Context,
    needs: Needs,
    mut decide: impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<(Done<T>, String)> {
    let (made, remote) = push_alone(ctx, |remote, tip| {
        let (id, made) = decided(ctx, needs, (remote, tip), &mut decide)?;
        let op = made.value.0.last.clone();
        let value = (id, made.value);
        let commit = made.commit;
        Ok((Committed { commit, value }, op))
    })?;
    let (id, (state, saved, _, value)) = made.value;
    let done = Done {
        id,
        commit: made.commit,
        state,
        saved,
        value,
    };
    Ok((done, remote))
}

/// Pushes one commit alone, and takes it in here; or changes neither. `make` decides anew on the tip of the remote as often
/// as that moves, and names the record of its commit. Says which remote has it.
pub(crate) fn push_alone<V>(
    ctx: &Context,
    mut make: impl FnMut(&str, &Oid) -> Result<(Committed<V>, OpId)>,
) -> Result<(Committed<V>, String)> {
    let remote = sync::remote(ctx, None)?;
    let mut line = Line {
        limit: limit(ctx),
        unattended: false,
        progress: None,
    };
    let request = Request::default();
    let began = Instant::now();
    let mut lost = 0;
    loop {
        let store = ctx.store()?;
        let tip = match fetch(ctx, &store, &request, &remote, &mut line) {
            Ok(Some(tip)) => tip,
            Ok(None) => return Err(no_branch(&store, &remote)),
            // Another worktree of this clone fetches the same.
            Err(failure)
                if failure.code == Code::TrackingRefLocked && began.elapsed() < DEADLINE =>
            {
                lost += 1;
                std::thread::sleep(sync::pause(lost.min(10)));
                continue;
            }
            Err(failure) => return Err(failure),
        };
        reach("publish-fetched");
        let (made, op) = match make(&remote, &tip) {
            // Whose push was cut off has it there, and asks again.
            Err(failure) if matches!(failure.code, Code::RequestRepeated | Code::ClaimArrived) => {
                take_in(ctx, &remote, &tip);
                return Err(failure);
            }
            made => made?,
        };
        guard::require_no_secrets(ctx, &made.commit, std::slice::from_ref(&tip))?;
        let pushing = Pushing::begin(&ctx.repo, &op)?;
        let answer = ctx
            .repo
            .push(&remote, store.branch(), &made.commit, &mut line)?;
        let doing = format!("push {} to {remote}", store.branch());
        match answer {
            Answer::Done => {
                reach("publish-pushed");
                take_in(ctx, &remote, &made.commit);
                pushing.heard();
                return Ok((made, remote));
            }
            Answer::TimedOut => {
                let seconds = line.limit.map_or(0, |limit| limit.as_secs());
                let what = format!("no answer within {seconds}s");
                return Err(cut_off((&doing, &what), Code::RemoteTimeout, &remote));
            }
            Answer::No(said) => {
                let refusal = Refusal::read(&said);
                if refusal.is_an_answer() {
                    pushing.heard();
                }
                match refusal {
                    Refusal::Moved => {}
                    // It was reached a moment ago.
                    Refusal::Network => {
                        let what = "the connection broke";
                        return Err(cut_off((&doing, what), Code::RemoteUnreachable, &remote));
                    }
                    other => return Err(other.failure(&doing, &remote, store.branch(), &said)),
                }
            }
        }
        lost += 1;
        if began.elapsed() > DEADLINE {
            return Err(busy(&store, &remote, lost));
        }
        std::thread::sleep(sync::pause(lost.min(10)));
    }
}

type Made<T> = Committed<super::transaction::Built<T>>;

/// Decides on what is known here and at the tip, and makes the commit on the tip.
fn decided<T>(
    ctx: &Context,
    needs: Needs,
    (remote, tip): (&str, &Oid),
    decide: &mut impl FnMut(&Facts<'_>) -> Result<Act<T>>,
) -> Result<(SessionId, Made<T>)> {
    let opening = Opening::of(ctx)?;
    let Opening {
        identity, store, ..
    } = &opening;
    let id = opening.session(ctx)?;
    let label = format!("{remote}/{}", store.branch());
    let own = load_active(&store.snapshot()?, &id)?;
    let there = store.there(tip, &label)?;
    let session = match there.find(&id)? {
        Some(found) if found.state.uid == own.state.uid => found,
        _ => return Err(not_shared(&format!("session {id}"), remote)),
    };
    let session = super::transaction::require_active(session)?;
    // Refused where the branch there is damaged, or was set back.
    let met = store.plan_meeting(identity, tip, &label, Linear::No)?.tip;
    let facts = gather(ctx, &there, &session, None, needs, Some(identity))?;
    let act = if met == *tip {
        decide(&facts)?
    } else {
        let both = Snapshot::at(&ctx.repo, met, &label)?;
        let known = load_active(&both, &id)?;
        let seen = gather(ctx, &both, &known, None, needs, Some(identity))?;
        let act = decide(&seen)?;
        require_shared(&act.body, (&known.state, &session.state), remote)?;
        require_ready(
            &act.body,
            &seen.texts,
            (&known.state, &session.state),
            remote,
        )?;
        act
    };
    let decision = build(ctx, &there, &session, facts, act, identity)?;
    let made = store.commit_ahead(identity, &there, decision)?;
    Ok((id, made))
}

/// Refuses a record that would go on from one that the remote does not have.
fn require_shared(body: &Body, (known, there): (&State, &State), remote: &str) -> Result<()> {
    let Body::Task(event) = body else {
        return Ok(());
    };
    let id = event.task();
    if known.task(id) == there.task(id) {
        Ok(())
    } else {
        Err(not_shared(&format!("what happened to {id} here"), remote))
    }
}

/// Refuses a claim of a task that is ready by what only this clone has: whoever claims there goes by what is there.
fn require_ready(
    body: &Body,
    texts: &Texts,
    (known, there): (&State, &State),
    remote: &str,
) -> Result<()> {
    let Body::Task(TaskEvent::Claimed { task, .. }) = body else {
        return Ok(());
    };
    let list = Artifact::TaskList;
    if known.artifacts.get(&list) != there.artifacts.get(&list) {
        return Err(not_shared(&format!("{list} as it is here"), remote));
    }
    let nodes = plan::now(texts, known).unwrap_or_default();
    let before = nodes.iter().filter(|node| node.id == *task);
    let before = before.flat_map(|node| node.depends_on.iter().map(|edge| &edge.on));
    let runs = |state: &State, id: &TaskId| -> Vec<OpId> {
        let all = state.evidence.iter();
        let own = all.filter(|run| run.value.task.as_deref() == Some(id.as_str()));
        own.map(|run| run.op.clone()).collect()
    };
    for id in before {
        if known.task(id) != there.task(id) || runs(known, id) != runs(there, id) {
            return Err(not_shared(&format!("what happened to {id} here"), remote));
        }
    }
    Ok(())
}

pub(crate) fn not_shared(what: &str, remote: &str) -> Failure {
    Failure::refused(
        Code::NotShared,
        format!("expected {what} on {remote}, found it only here: nothing was pushed"),
    )
    .help(command!("sync {remote}"))
}

fn no_branch(store: &Store<'_>, remote: &str) -> Failure {
    not_shared(&format!("the branch `{}`", store.branch()), remote)
}

fn busy(store: &Store<'_>, remote: &str, lost: u32) -> Failure {
    Failure::new(
        Kind::Waiting,
        Code::RemoteMoved,
        format!(
            "the branch `{}` of {remote} moved {lost} times while this was being pushed; nothing is recorded, there or here",
            store.branch()
        ),
    )
    .help(hint!["try again, or see who is at it: ", command!("sync {remote}")])
}

/// The remote did not answer a push. It may have the record all the same, or have it later.
fn cut_off((doing, what): (&str, &str), code: Code, remote: &str) -> Failure {
    Failure::new(
        Kind::Waiting,
        code,
        format!(
            "{doing}: {what}; nothing is recorded here, and what was pushed may still arrive there"
        ),
    )
    .help(hint![
        command!("sync {remote}"),
        "  (says whether it did), or the same command again: a claim that arrived is taken up"
    ])
}

/// Takes in what the remote has, as a sync does, without sending anything.
pub(crate) fn catch_up(ctx: &Context) -> Result<()> {
    let remote = sync::remote(ctx, None)?;
    let mut line = Line {
        limit: limit(ctx),
        unattended: false,
        progress: None,
    };
    let store = ctx.store()?;
    match fetch(ctx, &store, &Request::default(), &remote, &mut line)? {
        Some(tip) => met(ctx, &remote, &tip),
        None => Ok(()),
    }
}

/// Takes in what the remote has now. Where that cannot be, the record stands there all the same.
fn take_in(ctx: &Context, remote: &str, commit: &Oid) {
    let done = format!("{remote} has it at {}", commit.short());
    let help = command!("sync {remote}");
    ctx.follow(
        (done, "the merge of that commit here"),
        help,
        met(ctx, remote, commit),
    );
}

fn met(ctx: &Context, remote: &str, commit: &Oid) -> Result<()> {
    let opening = Opening::of(ctx)?;
    let Opening {
        identity,
        store,
        lock,
        ..
    } = &opening;
    let before = store.tip()?;
    let label = format!("{remote}/{}", store.branch());
    let linear = sync::linear(ctx);
    let meeting = store.meet(lock, identity, commit, &label, linear)?;
    reach("publish-met");
    let what = ("git loopx take --remote", &meeting.tip);
    follow(&opening.scope(ctx), what, before.as_ref());
    Ok(())
}
