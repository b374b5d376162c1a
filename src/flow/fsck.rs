//! `fsck`: the stored sessions against their operations, and mending them by a new commit.

use super::context::Context;
use super::transaction::{Needs, gather};
use super::workcopy::WorkCopy;
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_git::signing::can_check;
use loopx_rules::artifact::Artifact;
use loopx_rules::op::Operation;
use loopx_rules::task::early::Early;
use loopx_store::audit_cache::Memory;
use loopx_store::check;
use loopx_store::check::{Damage, Found, Signed};
use loopx_store::unreadable;
use loopx_store::{Decision, Lock, Session, Signatures, Snapshot, Store, UnexplainedCommit};
use serde::Serialize;
use std::collections::BTreeMap;

/// The depth of a run of `fsck`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// A look only at records that no earlier run found whole.
    New,
    Full,
}

/// The findings of `fsck`, and its repairs.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The number of active sessions.
    pub sessions: usize,
    /// Sessions that were looked at, and such that an earlier run had found whole.
    pub checked: usize,
    pub known: usize,
    pub commits: usize,
    pub damages: Vec<Damage>,
    /// Commits that did something else than what they say.
    pub oddities: Vec<UnexplainedCommit>,
    /// The commit of the repair.
    pub repaired: Option<Oid>,
    /// Damages that a repair could not mend, by their names: history has no whole copy of what they hit.
    pub left: Vec<String>,
    /// Objects that could not be read, and can be again.
    pub put_back: Vec<Oid>,
    /// Records about tasks of active sessions that no command would have written then, as far as can be told. They are no
    /// damage.
    pub early: Vec<EarlyStep>,
}

/// A record about a task whose step was taken before it could be.
#[derive(Debug, Serialize)]
pub(crate) struct EarlyStep {
    pub session: SessionId,
    #[serde(flatten)]
    pub step: Early,
}

/// Checks every session and what history did to them; with `repair` restores the damaged ones by a new
/// commit, and looks at everything before.
pub(crate) fn fsck(ctx: &Context, depth: Depth, repair: bool) -> Result<Checked> {
    ctx.repo.compare_hashes();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let mut memory = match (depth, repair) {
        (Depth::New, false) => Memory::of(&store),
        _ => Memory::empty(&store, true),
    };
    let Found {
        damages,
        oddities,
        sessions,
    } = look(ctx, &snapshot, &mut memory, depth)?;
    let mut found = Checked {
        sessions,
        checked: memory.checked,
        known: memory.known,
        commits: memory.commits,
        damages,
        oddities,
        repaired: None,
        left: Vec::new(),
        put_back: Vec::new(),
        early: early(ctx, &snapshot),
    };
    let is_whole = found.damages.is_empty();
    memory.keep(&ctx.repo, is_whole.then(|| snapshot.commit().clone()));
    if is_whole || !repair {
        return Ok(found);
    }
    // Asked before anything is written.
    ctx.repo.identity()?;
    let lock = store.lock()?;
    found.put_back = unreadable::put_back(&ctx.repo, &snapshot, &found.damages, |id, path| {
        copied(ctx, id, path)
    })?;
    let mended = mend_rest(ctx, (&store, &lock), &snapshot);
    let (commit, left) = match found.put_back.len() {
        0 => mended?,
        // What is back is done, whatever becomes of the rest.
        back => {
            let back = counted(back, "object");
            let done = format!("{back} can be read again");
            let help = command!("fsck --repair");
            let mended = ctx.follow((done, "the rest of the repair"), help, mended);
            mended.unwrap_or_default()
        }
    };
    found.repaired = commit;
    found.left = left;
    Ok(found)
}

/// Mends what is damaged by a new commit. Gives that, where one was needed, and what history has no whole copy of.
fn mend_rest(
    ctx: &Context,
    (store, lock): (&Store<'_>, &Lock),
    snapshot: &Snapshot<'_>,
) -> Result<(Option<Oid>, Vec<String>)> {
    let identity = ctx.repo.identity()?;
    let left = look(ctx, snapshot, &mut Memory::empty(store, false), Depth::New)?;
    if left.damages.is_empty() {
        return Ok((None, Vec::new()));
    }
    // Before anything moves: what cannot be mended is refused here.
    let mut mended = Some((snapshot.commit().clone(), mend(store, snapshot, left)?));
    // What a hand changed is looked at and mended like any other damage.
    store.accept(lock)?;
    let committed = store.update(lock, &identity, |snapshot| {
        match mended.take().filter(|(at, _)| at == snapshot.commit()) {
            Some((_, decision)) => Ok(decision),
            None => {
                let left = look(ctx, snapshot, &mut Memory::empty(store, false), Depth::New)?;
                mend(store, snapshot, left)
            }
        }
    })?;
    Ok((Some(committed.commit), committed.value))
}

/// Records about tasks that were written too early. What cannot be read is named as damaged.
fn early(ctx: &Context, snapshot: &Snapshot<'_>) -> Vec<EarlyStep> {
    let mut found = Vec::new();
    for (id, session) in snapshot.active().unwrap_or_default() {
        let Some(session) = session.ok().filter(|one| !one.state.tasks.is_empty()) else {
            continue;
        };
        let facts = gather(ctx, snapshot, &session, None, Needs::Unjudged, None);
        let steps = facts.map_or_else(|_| Vec::new(), |facts| facts.early);
        let named = steps.into_iter().map(|step| EarlyStep {
            session: id.clone(),
            step,
        });
        found.extend(named);
    }
    found
}

/// The commit that mends what was found.
fn mend(store: &Store<'_>, snapshot: &Snapshot<'_>, found: Found) -> Result<Decision<Vec<String>>> {
    let mending = check::mend(store, snapshot, &found.damages)?;
    let names = found.damages.iter().map(|damage| damage.session.as_str());
    let names = names.filter(|name| !mending.left.iter().any(|left| left == name));
    let names: Vec<&str> = names.collect();
    Ok(Decision {
        edits: mending.edits,
        message: format!(
            "loopx: repair {}\n\nLoopx-Event: repair\n",
            names.join(", ")
        ),
        value: mending.left,
    })
}

/// A file of a session in the working copy, which may be the one that was saved.
fn copied(ctx: &Context, id: &SessionId, path: &str) -> Option<Vec<u8>> {
    let artifact = Artifact::ALL.into_iter().find(|one| one.path() == path)?;
    let file = WorkCopy::open(&ctx.repo, id).ok()??.path(artifact).ok()?;
    std::fs::read(file).ok()
}

/// Looks for faults of the records, and of the signatures that people gave about them.
fn look(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    memory: &mut Memory,
    depth: Depth,
) -> Result<Found> {
    check::check(&ctx.repo, snapshot, memory, |place, session| {
        let mut known = match depth {
            Depth::New => Signatures::of(&ctx.repo),
            Depth::Full => Signatures::anew(&ctx.repo),
        };
        let found = signatures(&mut known, (snapshot, place), session)?;
        known.keep();
        Ok(found)
    })
}

/// Signatures of a session that are none over their records. A key that nobody trusts is no damage, nor is a word that
/// was signed for another branch.
fn signatures(
    known: &mut Signatures<'_>,
    (snapshot, place): (&Snapshot<'_>, &str),
    session: &Session,
) -> Result<Signed> {
    let files = snapshot.signatures(session)?;
    if files.is_empty() {
        return Ok(Signed::Whole);
    }
    let operations = snapshot.operations(session)?;
    let operations: BTreeMap<String, Operation> = operations
        .into_iter()
        .map(|op| (op.file_name(), op))
        .collect();
    let (mut unsigned, mut why) = (Vec::new(), Vec::new());
    let of_records = files.into_iter();
    let files = of_records
        .flat_map(|(record, files)| files.into_iter().map(move |file| (record.clone(), file)));
    for (record, file) in files {
        let fault = match operations.get(&record) {
            None => Some("it belongs to no operation".to_owned()),
            Some(op) => known.fault(op, file.bytes.as_deref())?,
        };
        if let Some(fault) = fault {
            why.push(format!("the signature of {record} does not hold: {fault}"));
            unsigned.push(file.name);
        }
    }
    Ok(if !unsigned.is_empty() {
        Signed::Damaged(Damage::signatures(place, why.join("; "), unsigned))
    } else if can_check() {
        Signed::Whole
    } else {
        Signed::Unchecked
    })
}

/// Lists the damages on the branch as it stands, whatever this clone knew of it or found before.
pub(crate) fn damages(ctx: &Context, store: &Store<'_>) -> Result<Vec<Damage>> {
    ctx.repo.compare_hashes();
    match store.read()? {
        Some(snapshot) => {
            Ok(look(ctx, &snapshot, &mut Memory::empty(store, false), Depth::New)?.damages)
        }
        None => Ok(Vec::new()),
    }
}
