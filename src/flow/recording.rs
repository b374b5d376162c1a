//! The operations that one commit records: of the session that a command is about, and of the sessions that let a
//! branch go for it. Decided is already; here decisions become operations, and the states after them.

use super::context::Context;
use super::write_scope::{draft, seal};
use super::{trust, upstream, watched};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::SessionId;
use loopx_git::{Identity, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::lease::Claim;
use loopx_rules::op::{Body, Event, Operation, RequirementBase, SessionBody, Write};
use loopx_rules::record::Draft;
use loopx_rules::session::State;
use loopx_store as store;
use loopx_store::Snapshot;
use std::collections::BTreeMap;

/// A move to another stage says where the branch was: what has no trailers is judged by that.
pub(super) fn placed(ctx: &Context, state: &State, mut event: Event) -> Result<Event> {
    if let Event::Entered { head, .. }
    | Event::Reprofiled { head, .. }
    | Event::Approved {
        head,
        completes: true,
        ..
    } = &mut event
    {
        *head = match &state.branch {
            // A branch that is gone moves no further.
            Some(_) if upstream::is_missing(ctx, state)? => None,
            Some(_) => upstream::bound_head(ctx, state)?,
            None => ctx.repo.head()?.commit,
        };
    }
    Ok(event)
}

/// Content that a commit records of a session.
pub(super) struct Recording {
    pub(super) body: Body,
    pub(super) reason: Option<String>,
    pub(super) writes: BTreeMap<Artifact, Write>,
    /// Files that somebody wrote, and the command did not.
    pub(super) words: Vec<Artifact>,
    /// Files of tasks.
    pub(super) others: BTreeMap<String, Write>,
    pub(super) bases: Vec<RequirementBase>,
    pub(super) claim: Option<Claim>,
    /// The move that goes before, and the artifact that is open only there.
    pub(super) before: Option<(Event, Artifact)>,
}

impl Recording {
    /// Operations of the recording, at least one, and the state after them. Nobody takes back that a command ran; the
    /// edits that were saved along with it, somebody may: the edits have an operation of their own. So have the words
    /// beside a step of its own: whoever takes back the step keeps the words.
    pub(super) fn operations(
        self,
        repo: &Repo,
        identity: &Identity,
        before: &State,
    ) -> Result<(Vec<Operation>, State)> {
        let Recording {
            body,
            reason,
            mut writes,
            words,
            mut others,
            mut bases,
            claim,
            before: first,
        } = self;
        let mut state = before.clone();
        let mut operations = Vec::new();
        if let Some((event, artifact)) = first {
            let step = SessionBody {
                event,
                bases: std::mem::take(&mut bases),
                claim: None,
            };
            let step = Draft {
                writes: writes.remove_entry(&artifact).into_iter().collect(),
                ..draft(identity, &state, Body::Session(step))
            };
            operations.push(applied(repo, &step, &mut state)?);
        }
        let (saved, outputs) = if body.is_passed_over() {
            (std::mem::take(&mut writes), std::mem::take(&mut others))
        } else {
            // What is closed here is opened by the step itself.
            let is_word =
                |artifact: &Artifact| words.contains(artifact) && state.is_open(*artifact);
            let all = writes.into_iter();
            let (saved, rest) = all.partition(|(artifact, _)| is_word(artifact));
            writes = rest;
            (saved, BTreeMap::new())
        };
        if !(saved.is_empty() && outputs.is_empty()) {
            let bases = if writes_delta(&writes) {
                Vec::new()
            } else {
                std::mem::take(&mut bases)
            };
            let save = SessionBody {
                event: Event::Saved,
                bases,
                claim: None,
            };
            let save = Draft {
                writes: saved,
                others: outputs,
                ..draft(identity, &state, Body::Session(save))
            };
            operations.push(applied(repo, &save, &mut state)?);
        }
        let mut draft = Draft {
            reason,
            writes,
            others,
            ..draft(identity, &state, holding(body, bases, claim))
        };
        if let Some(tx) = operations.first().and_then(|save| save.tx.clone()) {
            draft.tx = tx;
        }
        operations.push(applied(repo, &draft, &mut state)?);
        Ok((operations, state))
    }
}

/// The body of a step with the bases and the hold on the build that it records.
fn holding(body: Body, bases: Vec<RequirementBase>, claim: Option<Claim>) -> Body {
    match body {
        Body::Session(step) => Body::Session(SessionBody {
            bases,
            claim,
            ..step
        }),
        other => other,
    }
}

/// Requirements of the delta are among what is written.
pub(super) fn writes_delta(writes: &BTreeMap<Artifact, Write>) -> bool {
    let mut of_delta = [Artifact::SpecDelta, Artifact::Brief].iter();
    of_delta.any(|one| writes.contains_key(one))
}

/// The operation of a draft, taken into a state that it has to fit.
fn applied(repo: &Repo, draft: &Draft, state: &mut State) -> Result<Operation> {
    let op = seal(repo, draft)?;
    let conflicts = state.conflicts.len();
    state.apply(&op);
    match state.conflicts.get(conflicts) {
        None => {
            trust::keep_own(repo, &op);
            watched::made(repo, &op);
            Ok(op)
        }
        Some(conflict) => Err(Failure::internal(
            Code::OperationMisfit,
            format!("the decision does not fit the session: {}", conflict.why),
        )),
    }
}

/// Records in the other sessions of a branch that it is theirs no more. Gives their names.
pub(super) fn let_go(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    branch: &str,
    by: &Operation,
    taker: &SessionId,
    edits: &mut store::Edits,
) -> Result<Vec<SessionId>> {
    let mut others = snapshot.bound_to(branch)?;
    others.retain(|id| id != taker);
    for id in &others {
        let Some(session) = snapshot.session(id)? else {
            edits.forget_bound(branch, id);
            continue;
        };
        let mut draft = draft(identity, &session.state, Event::Unbound);
        if let Some(tx) = &by.tx {
            draft.tx.clone_from(tx);
        }
        draft.reason = Some(format!("{branch} is bound to {taker} since"));
        let op = seal(repo, &draft)?;
        let mut state = session.state.clone();
        state.apply(&op);
        edits.record(repo, Some(&session), &op, &state)?;
    }
    Ok(others)
}
