//! What operations claim of things beside them: that an approval names the artifacts that were there, and
//! that the record of a run is the log of what it printed. Somebody who writes the branch by hand can write
//! any operation; what it names has to be there.

use super::{Lines, layout};
use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::gate::covered_files;
use crate::core::id::{Oid, SessionId};
use crate::core::op::{Event, Evidence, Operation};
use crate::core::replay;
use crate::core::session::State;
use crate::core::stage::Transition;
use crate::git::{EntryKind, Repo};
use std::collections::BTreeMap;

/// What stands in a log where a part of the output was left out.
pub fn left_out(bytes: u64) -> String {
    format!("\n[... {bytes} bytes left out ...]\n")
}

/// Replays operations; and what they claim of the folder's files that is not so.
pub(super) fn replay(
    lines: &Lines<'_>,
    id: &SessionId,
    ops: &[Operation],
    folder: &Oid,
) -> Result<(State, Option<String>)> {
    struct Given {
        op: String,
        transition: Transition,
        content: Oid,
        files: BTreeMap<Artifact, Oid>,
        then: BTreeMap<Artifact, Oid>,
    }
    let repo = lines.repo();
    let mut given = Vec::new();
    let state = replay::walk(id, ops, lines, |op, state| {
        if let Event::Approved {
            transition,
            content,
            files,
            ..
        } = &op.event
        {
            given.push(Given {
                op: op.op.to_string(),
                transition: *transition,
                content: content.clone(),
                files: files.clone(),
                then: covered_files(state, *transition),
            });
        }
    })?;
    for one in given {
        let Given { op, transition, .. } = &one;
        if one.files != one.then {
            let other = Artifact::ALL
                .iter()
                .filter(|artifact| one.files.get(artifact) != one.then.get(artifact))
                .map(|artifact| artifact.path())
                .collect::<Vec<_>>();
            let what = format!(
                "the approval {op} of {transition} names another {} than the session had",
                other.join(", ")
            );
            return Ok((state, Some(what)));
        }
        let files = one.files.iter();
        let content = repo.tree_id(files.map(|(artifact, blob)| (artifact.path(), blob)))?;
        if content != one.content {
            let what = format!(
                "the approval {op} of {transition} names the content {}, and its files make {}",
                one.content.short(),
                content.short()
            );
            return Ok((state, Some(what)));
        }
    }
    for op in ops {
        if let Event::Ran { evidence } = &op.event
            && let Some(what) = log_flaw(repo, op, evidence, folder)?
        {
            return Ok((state, Some(what)));
        }
    }
    Ok((state, None))
}

/// Whether what one operation claims is so, in the state after it.
pub(super) fn is_true(repo: &Repo, op: &Operation, state: &State, folder: &Oid) -> Result<bool> {
    match &op.event {
        Event::Approved {
            transition,
            content,
            files,
            ..
        } => {
            let paths = files.iter();
            let tree = repo.tree_id(paths.map(|(artifact, blob)| (artifact.path(), blob)))?;
            Ok(*files == covered_files(state, *transition) && tree == *content)
        }
        Event::Ran { evidence } => Ok(log_flaw(repo, op, evidence, folder)?.is_none()),
        _ => Ok(true),
    }
}

/// What is wrong with the log of a run: it is the whole output, or says how much of it was left out.
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
        return match log.id == evidence.output && size == said {
            true => Ok(None),
            false => flaw(format!(
                "{path} is {} of {size} bytes, the record names {} of {said}",
                log.id.short(),
                evidence.output.short()
            )),
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
    match fits {
        true => Ok(None),
        false => flaw(format!(
            "{path} does not say how much of {said} bytes was left out"
        )),
    }
}
