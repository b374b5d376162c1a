//! A session's folder beside the one that it came from and that was looked at before. Where all that is new is
//! records on top of everything that was there, one after another, the state is what they make of the state
//! before, and what was there is not read again. Only what is surely whole is said to be; everything else
//! is for a replay.

use super::fanout_folder::Fault;
use super::loss::{Records, is_signature, shared};
use super::{attestations, layout, ops, stored, stray};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use std::collections::BTreeSet;

/// Tells whether a folder is whole because a folder that is known to be whole went on to it.
pub(super) fn is_whole(repo: &Repo, id: &SessionId, before: &Oid, after: &Oid) -> bool {
    looked(repo, id, before, after).unwrap_or(false)
}

/// A session's state, and its operations.
struct Known {
    state: State,
    ops: Oid,
}

impl Known {
    fn read(repo: &Repo, id: &SessionId, folder: &Oid) -> Result<Option<Self>> {
        let [state, ops, sealed] =
            repo.entries(folder, [layout::STATE, layout::OPS, layout::SEALED_OPS])?;
        let (Some(state), Some(ops), None) = (state, ops, sealed) else {
            return Ok(None);
        };
        if ops.kind != EntryKind::Tree {
            return Ok(None);
        }
        let Some(state) = stored::read(repo, folder, &repo.read_blob(&state.id)?, layout::STATE)?
        else {
            return Ok(None);
        };
        let ops = ops.id;
        let fits = state.id == *id && state.is_active() && state.ops.as_ref() == Some(&ops);
        Ok(fits.then_some(Known { state, ops }))
    }
}

fn looked(repo: &Repo, id: &SessionId, before: &Oid, after: &Oid) -> Result<bool> {
    let (Some(had), Some(has)) = (
        Known::read(repo, id, before)?,
        Known::read(repo, id, after)?,
    ) else {
        return Ok(false);
    };
    let shared = shared(repo, &had.ops, &has.ops).unwrap_or_default();
    let fault = ops::fault_but(repo, &has.ops, &shared)?;
    if matches!(fault, Some(Fault::Misplaced(_))) {
        return Ok(false);
    }
    let Some(new) = added(repo, before, after)? else {
        return Ok(false);
    };
    let mut state = had.state.clone();
    for op in &new {
        if !goes_on(&state, op) {
            return Ok(false);
        }
        let conflicts = state.conflicts.len();
        state.apply(op);
        if state.conflicts.len() != conflicts || !attestations::is_true(repo, op, &state, after)? {
            return Ok(false);
        }
    }
    let state_ops = has.ops;
    state.ops = Some(state_ops.clone());
    Ok(state == has.state
        && has_artifacts(repo, &had.state, &state, after)?
        && stray::adds_none(repo, (&state, &new), before, after)?
        && stray::below_records(repo, &state_ops, &shared)?.is_empty()
        && stray::missing(repo, after, &new)?.is_empty()
        && stray::keeps(repo, before, after)?
        && keeps_logs(repo, before, after, &new)?)
}

/// The records that are new, in their order; `None` where one went away or cannot be told.
pub(super) fn added(repo: &Repo, before: &Oid, after: &Oid) -> Result<Option<Vec<Operation>>> {
    let [before, after] = [before, after].map(|folder| Entry::tree(folder.clone()));
    let (Ok(had), Ok(has)) = Records::differing(repo, Some(&before), Some(&after)) else {
        return Ok(None);
    };
    if !had.lost(repo, &has).is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    let new = has.files().filter(|(name, _)| !had.has(name));
    for (name, blob) in new.filter(|(name, _)| !is_signature(name)) {
        let op = Operation::parse(&repo.read_blob(blob)?, name, blob)?;
        if op.file_name() != *name {
            return Ok(None);
        }
        found.push(op);
    }
    found.sort_by(|one, other| (one.seq, &one.op).cmp(&(other.seq, &other.op)));
    Ok(Some(found))
}

/// Tells whether an operation comes after everything else, and changes nothing of what was before.
fn goes_on(state: &State, op: &Operation) -> bool {
    let is_own = op.entity.as_ref().is_none_or(|uid| *uid == state.uid);
    let newest: BTreeSet<OpId> = state.newest().into_iter().collect();
    let after: BTreeSet<OpId> = op.after.iter().cloned().collect();
    op.said().is_none() && is_own && op.seq > state.seq && after == newest
}

/// Tells whether the artifacts lie where a state says, and the new ones can be read.
fn has_artifacts(repo: &Repo, before: &State, state: &State, folder: &Oid) -> Result<bool> {
    let before = layout::files(before);
    for (path, blob) in layout::files(state) {
        let entry = repo.entry_at(folder, &path)?;
        if entry.is_none_or(|entry| entry.id != blob) {
            return Ok(false);
        }
        if before.get(&path) != Some(&blob) {
            repo.with_blob(&blob, |_| ())?;
        }
    }
    Ok(true)
}

/// Tells whether the logs of earlier runs are as they were, and each new log is of a new run.
fn keeps_logs(repo: &Repo, before: &Oid, after: &Oid, new: &[Operation]) -> Result<bool> {
    let [before, after] = [before, after].map(|folder| repo.entry_at(folder, layout::LOGS));
    let (before, after) = (before?, after?);
    if before == after {
        return Ok(true);
    }
    let Some(after) = after.filter(|after| after.kind == EntryKind::Tree) else {
        return Ok(false);
    };
    if before
        .as_ref()
        .is_some_and(|before| before.kind != after.kind)
    {
        return Ok(false);
    }
    let own: BTreeSet<String> = new.iter().filter_map(stray::log_of).collect();
    let changed = repo.changed_paths(before.as_ref().map(|before| &before.id), &after.id)?;
    Ok(changed.iter().all(|path| own.contains(path)))
}
