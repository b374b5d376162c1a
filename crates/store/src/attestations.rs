//! Claims of operations about objects beside them: that an approval names the artifacts that were there, and that the
//! record of a run is the log of what it printed. Somebody who writes the branch by hand can write any operation; what
//! it names has to be there.

use super::{Lines, layout};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{EntryKind, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::covered_files;
use loopx_rules::op::{Body, Event, Evidence, Operation};
use loopx_rules::replay;
use loopx_rules::session::State;
use loopx_rules::task::event::TaskEvent;
use std::collections::{BTreeMap, HashSet};

/// Line that stands in a log where a part of the output was left out.
pub fn left_out(bytes: u64) -> String {
    format!("\n[... {bytes} bytes left out ...]\n")
}

/// Replays operations; gives the state, and the first claim about the folder's files that is not true.
pub(super) fn replay(
    lines: &Lines<'_>,
    id: &SessionId,
    ops: &[Operation],
    folder: &Oid,
) -> Result<(State, Option<String>)> {
    let repo = lines.repo();
    let state = replay::replay(id, ops, lines)?;
    let out = replay::undone(ops);
    let written: HashSet<(&str, &Oid)> = ops.iter().flat_map(left).collect();
    for op in ops {
        let named = named(op).find(|named| !written.contains(named));
        if let Some((path, blob)) = named {
            let flaw = format!(
                "the completion {} names {path} as {}, and no operation wrote this content{}",
                op.op,
                blob.short(),
                way_on(id, op)
            );
            return Ok((state, Some(flaw)));
        }
        let flaw = match op.event() {
            Some(Event::Approved { .. }) if out.contains(&op.op) => None,
            Some(Event::Approved { .. }) => approval_flaw(lines, id, ops, op, &state)?,
            Some(Event::Ran { evidence }) => log_flaw(repo, op, evidence, folder)?,
            _ => None,
        };
        if flaw.is_some() {
            return Ok((state, flaw));
        }
    }
    Ok((state, None))
}

/// Tells whether the claim of an operation is true in the state after it.
pub(super) fn is_true(repo: &Repo, op: &Operation, state: &State, folder: &Oid) -> Result<bool> {
    match op.event() {
        Some(Event::Approved { .. }) if is_void(state, op) => Ok(false),
        Some(Event::Approved { content, files, .. }) => Ok(made_of(repo, files)? == *content),
        Some(Event::Ran { evidence }) => Ok(log_flaw(repo, op, evidence, folder)?.is_none()),
        _ => Ok(named(op).all(|(path, blob)| {
            let here = state.files.get(path);
            here.is_some_and(|versions| versions.contains(blob))
        })),
    }
}

/// The files of tasks that a completion rests on.
fn named(op: &Operation) -> impl Iterator<Item = (&str, &Oid)> {
    let done = match &op.body {
        Body::Task(TaskEvent::Completed { done, .. }) => Some(&done.outputs),
        _ => None,
    };
    let all = done.into_iter().flatten();
    all.map(|(path, blob)| (path.as_str(), blob))
}

/// The files that are no artifacts and that an operation wrote.
fn left(op: &Operation) -> impl Iterator<Item = (&str, &Oid)> {
    let written = op.others.iter();
    written.filter_map(|(path, write)| Some((path.as_str(), write.to.as_ref()?)))
}

fn is_void(state: &State, op: &Operation) -> bool {
    state.void.iter().any(|void| void.op == op.op)
}

/// The tree of some artifacts.
pub(super) fn made_of(repo: &Repo, files: &BTreeMap<Artifact, Oid>) -> Result<Oid> {
    let files = files.iter();
    repo.tree_id(files.map(|(artifact, blob)| (artifact.path(), blob)))
}

/// Flaw of an approval: content that the approval names and its writer had not. An approval whose content another clone
/// took back, or changed at the same time, named the content of its day: it is void, and nothing is wrong with it.
fn approval_flaw(
    lines: &Lines<'_>,
    id: &SessionId,
    ops: &[Operation],
    op: &Operation,
    state: &State,
) -> Result<Option<String>> {
    let Some(Event::Approved {
        transition,
        content,
        files,
        ..
    }) = op.event()
    else {
        return Ok(None);
    };
    if is_void(state, op) {
        let then = replay::as_seen_by(id, ops, &op.op, lines)?;
        if is_void(&then, op) {
            let then = covered_files(&then, *transition);
            let other = Artifact::ALL
                .iter()
                .filter(|artifact| files.get(artifact) != then.get(artifact))
                .map(|artifact| artifact.path())
                .collect::<Vec<_>>();
            return Ok(Some(format!(
                "the approval {} of {transition} names another {} than the session had{}",
                op.op,
                other.join(", "),
                way_on(id, op)
            )));
        }
    }
    let made = made_of(lines.repo(), files)?;
    if made == *content {
        return Ok(None);
    }
    Ok(Some(format!(
        "the approval {} of {transition} names the content {}, and its files make {}{}",
        op.op,
        content.short(),
        made.short(),
        way_on(id, op)
    )))
}

/// A false word stays in the log, as everything does: it is taken back.
fn way_on(id: &SessionId, op: &Operation) -> String {
    let back = command!("undo --only {} --reason WHY", op.op).session(id);
    format!("; `{back}` takes it back")
}

/// Flaw in the log of a run: the log has to be the whole output, or to say how much of the output was left out.
fn log_flaw(
    repo: &Repo,
    op: &Operation,
    evidence: &Evidence,
    folder: &Oid,
) -> Result<Option<String>> {
    let path = format!("{}/{}.log", layout::LOGS, op.op);
    let flaw = |what: String| Ok(Some(format!("the evidence {}: {what}", op.op)));
    let entry = repo.entry_at(folder, &path)?;
    let Some(log) = entry.filter(|entry| entry.kind == EntryKind::Blob) else {
        return flaw(format!("{path} is not there"));
    };
    let size = repo.blob_size(&log.id)?;
    let said = evidence.output_bytes;
    if !evidence.truncated {
        return if log.id == evidence.output && size == said {
            Ok(None)
        } else {
            flaw(format!(
                "{path} is {} of {size} bytes, the record names {} of {said}",
                log.id.short(),
                evidence.output.short()
            ))
        };
    }
    let text = repo.read_blob(&log.id)?;
    // The number's own digits belong to what was added.
    let fits = (0..=20).any(|digits| {
        let added = left_out(0).len() as u64 - 1 + digits;
        let kept = size.saturating_sub(added);
        let mark = left_out(said.saturating_sub(kept));
        said > kept
            && mark.len() as u64 == added
            && text.windows(mark.len()).any(|part| part == mark.as_bytes())
    });
    if fits {
        Ok(None)
    } else {
        flaw(format!(
            "{path} does not say how much of {said} bytes was left out"
        ))
    }
}
