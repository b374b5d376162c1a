//! `fsck`: the stored sessions against their operations, and mending them by a new commit.

use super::context::Context;
use super::sign::Judge;
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::core::signature::Flaw;
use crate::store::check::{self, Damage, Mend};
use crate::store::{Decision, Session, Snapshot, Store};
use std::collections::BTreeMap;

/// What `fsck` found, and what it did.
#[derive(Debug)]
pub struct Checked {
    pub sessions: usize,
    pub damages: Vec<Damage>,
    /// The commit that mended it.
    pub repaired: Option<Oid>,
}

/// Checks every active session; with `repair` restores the damaged ones by a new commit.
pub fn fsck(ctx: &Context, repair: bool) -> Result<Checked> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let damages = look(ctx, &snapshot)?;
    let sessions = match snapshot.active_ids() {
        Ok(ids) => ids.len(),
        // `sessions/` itself is damaged, and was found so.
        Err(_) if !damages.is_empty() => 0,
        Err(failure) => return Err(failure),
    };
    if damages.is_empty() || !repair {
        return Ok(Checked {
            sessions,
            damages,
            repaired: None,
        });
    }
    let identity = ctx.repo.identity()?;
    let lock = store.lock()?;
    // What a hand changed is looked at and mended like any other damage.
    store.accept(&lock)?;
    let committed = store.update(&lock, &identity, |snapshot| {
        let damages = look(ctx, snapshot)?;
        let names: Vec<&str> = damages.iter().map(|d| d.session.as_str()).collect();
        Ok(Decision {
            edits: check::mend(&store, snapshot, &damages)?,
            message: format!(
                "loopx: repair {}\n\nLoopx-Event: repair\n",
                names.join(", ")
            ),
            value: (),
        })
    })?;
    Ok(Checked {
        sessions,
        damages,
        repaired: Some(committed.commit),
    })
}

/// What is wrong with the records, and with what people signed about them.
fn look(ctx: &Context, snapshot: &Snapshot<'_>) -> Result<Vec<Damage>> {
    let mut found = check::check(&ctx.repo, snapshot)?;
    if found
        .iter()
        .any(|damage| damage.session == "sessions" && damage.mend == Mend::Restore)
    {
        return Ok(found);
    }
    for (id, session) in snapshot.active()? {
        let Ok(session) = session else { continue };
        if found.iter().any(|damage| damage.session == id.as_str()) {
            continue;
        }
        found.extend(signatures(ctx, snapshot, &id, &session)?);
    }
    Ok(found)
}

/// Signatures of a session that are not what they claim to be. A key that nobody trusts is no damage.
fn signatures(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    id: &SessionId,
    session: &Session,
) -> Result<Option<Damage>> {
    let files = snapshot.signatures(session)?;
    if files.is_empty() {
        return Ok(None);
    }
    let judge = Judge::new(&ctx.policy(&session.state).unwrap_or_default())?;
    let operations: BTreeMap<String, Operation> = snapshot
        .operations(session)?
        .into_iter()
        .map(|op| (op.file_name(), op))
        .collect();
    let (mut unsigned, mut why) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let fault = match operations.get(&name) {
            None => Some("it stands beside no operation".to_owned()),
            Some(op) => {
                let checked = judge.check(&ctx.repo, &session.state, op, bytes.as_deref())?;
                (checked.flaw == Some(Flaw::Broken)).then(|| checked.reason().to_owned())
            }
        };
        if let Some(fault) = fault {
            why.push(format!("the signature of {name} does not hold: {fault}"));
            unsigned.push(name);
        }
    }
    Ok((!unsigned.is_empty()).then(|| Damage::signatures(id, why.join("; "), unsigned)))
}

/// What is damaged on the branch as it stands, whatever this clone knew of it.
pub fn damages(ctx: &Context, store: &Store<'_>) -> Result<Vec<Damage>> {
    match store.read()? {
        Some(snapshot) => look(ctx, &snapshot),
        None => Ok(Vec::new()),
    }
}
