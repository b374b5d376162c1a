//! A point of a session's history, as people name one: an operation's number or id, or the commit that
//! made it.

use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_base::id::OpId;
use loopx_rules::op::{Event, Operation};
use loopx_store::{Session, Snapshot};
use std::collections::BTreeSet;

/// Number of characters of an id below which it says nothing.
const SHORTEST: usize = 4;

/// The operation that is meant.
pub(crate) fn find<'o>(
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &'o [Operation],
    point: &str,
) -> Result<&'o Operation> {
    let wanted = point.trim().trim_start_matches('@').to_lowercase();
    let number = wanted.parse::<u64>().ok();
    let same: Vec<&Operation> = operations
        .iter()
        .filter(|op| op.op.as_str() == wanted || Some(op.seq) == number)
        .collect();
    let parts = || {
        let parts = operations.iter();
        let parts = parts.filter(|op| op.op.as_str().contains(&wanted));
        parts.collect::<Vec<&Operation>>()
    };
    let found = match same.as_slice() {
        [] if wanted.len() < SHORTEST => Vec::new(),
        [] => match made_by(snapshot, session, operations, point)? {
            made if made.is_empty() => parts(),
            made => made,
        },
        _ => same,
    };
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(unknown(session, operations, point)),
        many => Err(Failure::new(
            Kind::Usage,
            Code::PointAmbiguous,
            format!(
                "`{point}` names {} operations of session {}: give the id of one",
                many.len(),
                session.state.id
            ),
        )
        .help(command!("log --json").session(&session.state.id))),
    }
}

fn unknown(session: &Session, operations: &[Operation], point: &str) -> Failure {
    let id = &session.state.id;
    let last = operations.last().map_or(0, |op| op.seq);
    Failure::not_found(
        Code::PointUnknown,
        format!("session {id} has no operation `{point}`; it has 1 to {last}"),
    )
    .help(command!("log").session(id))
}

/// The operations that came with a commit of the branch, without the words that its command saved along.
fn made_by<'o>(
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &'o [Operation],
    point: &str,
) -> Result<Vec<&'o Operation>> {
    let repo = snapshot.repo();
    let Ok(commit) = repo.resolve_commit(point) else {
        return Ok(Vec::new());
    };
    if !repo.is_ancestor(&commit, snapshot.commit())? {
        return Ok(Vec::new());
    }
    let known = |commit| -> Result<BTreeSet<OpId>> {
        // The root has no format; there was no session then.
        let Ok(at) = Snapshot::at(repo, commit, point) else {
            return Ok(BTreeSet::new());
        };
        let then = at.find(&session.state.id)?;
        let ops = then.map_or_else(|| Ok(Vec::new()), |then| at.operations(&then))?;
        Ok(ops.into_iter().map(|op| op.op).collect())
    };
    let mut new = known(commit.clone())?;
    for parent in repo.commit_info(&commit)?.parents {
        let before = known(parent)?;
        new.retain(|op| !before.contains(op));
    }
    let all: Vec<&Operation> = (operations.iter())
        .filter(|op| new.contains(&op.op))
        .collect();
    let is_step = |op: &&Operation| !matches!(op.event(), Some(Event::Saved));
    let steps: Vec<&Operation> = all.iter().copied().filter(is_step).collect();
    Ok(if steps.is_empty() { all } else { steps })
}
