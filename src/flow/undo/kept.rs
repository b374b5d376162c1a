//! The words that not everybody may take back or bring back: a person's, a reviewer's, and signed ones.

use super::super::context::Context;
use super::is_by;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::Person;
use loopx_rules::agent_identity as agent;
use loopx_rules::op::{Body, Event, Operation};
use loopx_rules::session::State;
use loopx_rules::stage::Transition;
use loopx_store::{Session, Snapshot};

/// Refuses to an agent what undoes or brings back what only a person may say.
pub(super) fn require_person(
    ctx: &Context,
    state: &State,
    about: &[&Operation],
    what: &str,
) -> Result<()> {
    let is_kept = |op: &&Operation| match &op.body {
        Body::Session(step) => step.event.is_persons_word(),
        Body::Task(event) => event.is_kept_from_agents(),
        _ => false,
    };
    if !about.iter().copied().any(|op| is_kept(&op)) {
        return Ok(());
    }
    let agent = agent::host(loopx_base::env::var);
    let (policy, _) = ctx.policy_if_there(state)?;
    agent::require_person(&policy, agent.as_deref(), what)
}

/// Refuses to take back a verdict that asks for changes, or an amendment, where somebody else signed it: it would
/// hold the session all the same.
pub(crate) fn require_own_refusals(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &[&Operation],
    me: &Person,
) -> Result<()> {
    let refusals = operations.iter().filter(|op| refuses(op) && !is_by(op, me));
    let refusals: Vec<&&Operation> = refusals.collect();
    if refusals.is_empty()
        || ctx
            .policy(&session.state)?
            .may_take_back(std::slice::from_ref(me))
    {
        return Ok(());
    }
    let signed = snapshot.signatures(session)?;
    let Some(one) = refusals
        .into_iter()
        .find(|op| signed.contains_key(&op.file_name()))
    else {
        return Ok(());
    };
    Err(Failure::refused(
        Code::WordTakenBack,
        format!(
            "`{}` (@{}) was signed by {}, and only {} takes it back",
            one.word(),
            one.seq,
            one.by,
            one.by
        ),
    )
    .help(
        match one.event() {
            Some(Event::Approved { .. }) => command!("amend --reason WHY --sign"),
            _ => command!("review --verdict approve --sign"),
        }
        .session(&session.state.id)
        .note(format!(
            "(by {}, or by a role of approve.take_back)",
            one.by
        )),
    ))
}

/// Refuses to take a signed amendment back without a signature, where policy wants what approves a list signed: the
/// list of before would count again.
pub(super) fn require_no_signed_list(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    undone: &[&Operation],
) -> Result<()> {
    let is_amendment = |op: &&&Operation| {
        matches!(
            op.event(),
            Some(Event::Approved {
                amends: Some(_),
                ..
            })
        )
    };
    let Some(one) = undone.iter().find(is_amendment) else {
        return Ok(());
    };
    let (policy, _) = ctx.policy_if_there(&session.state)?;
    let asks = policy.asks_signature(Transition::PlanToBuild);
    if !asks || !snapshot.signatures(session)?.contains_key(&one.file_name()) {
        return Ok(());
    }
    Err(Failure::refused(
        Code::WordTakenBack,
        format!(
            "`{}` (@{}) was signed, and policy asks for a signature when it is taken back",
            one.word(),
            one.seq
        ),
    )
    .help(command!("undo --sign").session(&session.state.id)))
}

fn refuses(op: &Operation) -> bool {
    match op.event() {
        Some(Event::Reviewed { verdict }) => !verdict.is_approval(),
        // The list of before would count again.
        Some(Event::Approved { amends, .. }) => amends.is_some(),
        Some(Event::Entered { transition, .. }) => *transition == Transition::DoneToBuild,
        _ => false,
    }
}
