//! `diff`: what changed in the artifacts of a session, between the branch and the working copy or between two
//! points of its history.

use super::context::Context;
use super::view::state_at;
use super::workcopy::{FileStatus, WorkCopy};
use super::{files, naming, op_ref};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::task::outputs::task_of;
use loopx_store::{Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeSet;

/// The two sides of one artifact's difference.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    pub artifact: String,
    pub old: String,
    pub new: String,
}

/// The differences that `diff` found.
#[derive(Debug)]
pub(crate) struct Differences {
    pub session: SessionId,
    /// The session has ended: no working copy of it can differ.
    pub has_ended: bool,
    pub from: Option<String>,
    pub to: Option<String>,
    pub found: Vec<Difference>,
}

/// Differences between two points of a session; the second is the present state where nothing is said.
/// Without any point: between the branch and the working copy. The first word may be a session.
pub(crate) fn diff(ctx: &Context, words: &[String]) -> Result<Differences> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, points) = meant(ctx, &snapshot, words)?;
    let read = |id: Option<&Oid>| -> Result<String> {
        id.map_or_else(
            || Ok(String::new()),
            |id| Ok(String::from_utf8_lossy(&ctx.repo.read_blob(id)?).into_owned()),
        )
    };
    let read_bytes =
        |id: Option<&Oid>| id.map_or_else(|| Ok(Vec::new()), |id| ctx.repo.read_blob(id));
    let (from, to) = (points.first(), points.get(1));
    let mut found = Vec::new();
    match from {
        Some(from) => {
            let old = state_at(&snapshot, &session, from)?;
            let new = match to {
                Some(to) => state_at(&snapshot, &session, to)?,
                None => session.state.clone(),
            };
            for artifact in Artifact::ALL {
                let (before, after) = (old.artifacts.get(&artifact), new.artifacts.get(&artifact));
                if before != after {
                    found.push(Difference {
                        artifact: artifact.to_string(),
                        old: read(before)?,
                        new: read(after)?,
                    });
                }
            }
            let paths = old.files.keys().chain(new.files.keys());
            let paths: BTreeSet<&String> = paths.filter(|path| task_of(path).is_some()).collect();
            for path in paths {
                let (before, after) = (old.output(path), new.output(path));
                if before != after {
                    found.push(Difference {
                        artifact: path.clone(),
                        old: shown(read_bytes(before)?),
                        new: shown(read_bytes(after)?),
                    });
                }
            }
        }
        None => {
            if let Some(copy) = WorkCopy::open(&ctx.repo, &session.state.id)? {
                for (path, status) in copy.output_statuses(&session.state)? {
                    if is_as_stored(status) {
                        continue;
                    }
                    let file = files::read(&copy.output_path(&path)?, u64::MAX)?;
                    found.push(Difference {
                        old: shown(read_bytes(session.state.output(&path))?),
                        new: shown(file.unwrap_or_default()),
                        artifact: path,
                    });
                }
                for (artifact, status) in copy.statuses(&session.state)? {
                    if is_as_stored(status) {
                        continue;
                    }
                    let file = files::read(&copy.path(artifact)?, u64::MAX)?.unwrap_or_default();
                    found.push(Difference {
                        artifact: artifact.to_string(),
                        old: read(session.state.artifacts.get(&artifact))?,
                        new: String::from_utf8_lossy(&file).into_owned(),
                    });
                }
            }
        }
    }
    Ok(Differences {
        has_ended: !session.state.is_active(),
        session: session.state.id,
        from: from.cloned(),
        to: to.cloned(),
        found,
    })
}

fn is_as_stored(status: FileStatus) -> bool {
    matches!(
        status,
        FileStatus::Clean | FileStatus::Absent | FileStatus::Behind
    )
}

/// A file of a task as a text: it may hold anything.
fn shown(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        Ok(text) => format!("(no text, {} bytes)\n", text.len()),
        Err(error) => format!("(no text, {} bytes)\n", error.as_bytes().len()),
    }
}

/// The session and the points that the words name.
fn meant<'w>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    words: &'w [String],
) -> Result<(Session, &'w [String])> {
    // Behind its end a session is looked at as `log` and `show` do.
    let here = || ctx.asked(snapshot).map(|(session, _)| session);
    let [first, rest @ ..] = words else {
        return Ok((here()?, words));
    };
    let named = || -> Result<Session> {
        let id = naming::find(snapshot, first)?;
        snapshot
            .find(&id)?
            .ok_or_else(|| naming::unknown(snapshot, &id))
    };
    // A session that is named beside it leaves points alone, and so does the mark of a number.
    if ctx.wanted().is_some() || first.starts_with('@') {
        return Ok((here()?, words));
    }
    if rest.len() == 2 {
        return Ok((named()?, rest));
    }
    let is_point = |session: &Session| -> Result<bool> {
        let operations = snapshot.operations(session)?;
        Ok(op_ref::find(snapshot, session, &operations, first).is_ok())
    };
    match (here(), named()) {
        (Ok(session), Ok(other)) if is_point(&session)? => {
            let id = other.state.id;
            Err(Failure::usage(
                Code::PointAmbiguous,
                format!(
                    "`{first}` is a point of session {} and the session {id}",
                    session.state.id
                ),
            )
            .help(hint![
                command!("diff @NUMBER"),
                "  or  ",
                command!("diff").session(id)
            ]))
        }
        (_, Ok(session)) => Ok((session, rest)),
        (Ok(session), Err(_)) => Ok((session, words)),
        (Err(failure), Err(_)) => Err(failure),
    }
}
