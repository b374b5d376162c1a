//! The words that not everybody may take back or bring back: a person's, a reviewer's, and signed ones.

use super::super::context::Context;
use super::is_by;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{OpId, Person};
use loopx_rules::agent_identity as agent;
use loopx_rules::op::{Body, Event, Operation};
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Transition;
use loopx_store::{Session, Snapshot};
use std::collections::BTreeMap;

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

/// The verdicts that ask for changes, amendments and reopenings among some records, that somebody else signed.
fn refusals_of_others<'o>(
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &[&'o Operation],
    me: &Person,
) -> Result<Vec<&'o Operation>> {
    let all = operations.iter().copied();
    let mut refusals: Vec<&Operation> = all.filter(|op| refuses(op) && !is_by(op, me)).collect();
    if !refusals.is_empty() {
        let signed = snapshot.signatures(session)?;
        refusals.retain(|op| signed.contains_key(&op.file_name()));
    }
    Ok(refusals)
}

/// The records of conflicts that whoever asks may not leave out, each with the person who signed it.
pub(crate) fn kept_from(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    policy: &Policy,
) -> Result<BTreeMap<OpId, Person>> {
    let conflicts = &session.state.conflicts;
    if conflicts.is_empty() {
        return Ok(BTreeMap::new());
    }
    let me = ctx.reader().map(|reader| &reader.author);
    let Some(me) = me.filter(|me| !policy.may_take_back(std::slice::from_ref(*me))) else {
        return Ok(BTreeMap::new());
    };
    let operations = snapshot.operations(session)?;
    let is_meant = |op: &&Operation| {
        let mut all = conflicts.iter();
        all.any(|one| one.op == op.op || one.with.contains(&op.op))
    };
    let meant: Vec<&Operation> = operations.iter().filter(is_meant).collect();
    let kept = refusals_of_others(snapshot, session, &meant, me)?;
    let kept = kept.into_iter().map(|op| (op.op.clone(), op.by.clone()));
    Ok(kept.collect())
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
    let refusals = refusals_of_others(snapshot, session, operations, me)?;
    let Some(one) = refusals.first() else {
        return Ok(());
    };
    let policy = ctx.policy(&session.state)?;
    if policy.may_take_back(std::slice::from_ref(me)) {
        return Ok(());
    }
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
