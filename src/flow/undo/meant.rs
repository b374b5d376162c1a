//! The operations that an undo means: the last of one person, a single one, or all since a point.

use super::super::op_ref;
use super::{Moved, is_by};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Person, SessionId};
use loopx_rules::op::{Event, Operation};
use loopx_rules::replay::{WayBack, stands, undoable, way_back};
use loopx_rules::session::State;
use loopx_rules::task::node::TaskId;
use loopx_rules::task::status::TaskFacts;
use loopx_store::{Session, Snapshot};

/// The operations of the last commands of one person, newest first.
pub(super) fn last<'o>(
    id: &SessionId,
    operations: &'o [Operation],
    count: usize,
    of: Option<&str>,
    me: &Person,
) -> Result<Vec<&'o Operation>> {
    let all = undoable(operations);
    let wanted = of.map(str::to_lowercase);
    let is_meant = |op: &&Operation| match &wanted {
        None => is_by(op, me),
        Some(name) => op.by.to_string().to_lowercase().contains(name),
    };
    let Some(newest) = all.first() else {
        return Err(only_started(id));
    };
    let theirs: Vec<&Operation> = all.iter().copied().filter(is_meant).collect();
    if theirs.is_empty() {
        return Err(Failure::nothing(
            Code::NothingToUndo,
            format!(
                "session {id} has no step by {} that can be taken back; the newest step, `{}` (@{}), is by {}",
                of.map_or_else(|| me.to_string(), str::to_owned),
                newest.word(),
                newest.seq,
                newest.by
            ),
        )
        .help(command!("undo --only {} --reason WHY", newest.op).session(id)));
    }
    let mut commands: Vec<Vec<&Operation>> = Vec::new();
    for op in theirs {
        match commands.last_mut() {
            // The edits that a command saved along are a step before it.
            Some(one)
                if op.tx.is_some()
                    && one.iter().all(|other| other.tx == op.tx)
                    && !matches!(op.event(), Some(Event::Saved)) =>
            {
                one.push(op);
            }
            _ => commands.push(vec![op]),
        }
    }
    if commands.len() < count {
        return Err(too_many("undo", "take back", id, count, commands.len()));
    }
    commands.truncate(count);
    Ok(commands.into_iter().flatten().collect())
}

/// The operations that lead back to the moment after an operation.
pub(super) fn to<'o>(
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &'o [Operation],
    point: &str,
) -> Result<Vec<&'o Operation>> {
    let id = &session.state.id;
    let target = op_ref::find(snapshot, session, operations, point)?;
    match way_back(operations, &target.op) {
        Some(WayBack::Undo(back)) if !back.is_empty() => Ok(back),
        Some(WayBack::Gone(gone)) => Err(Failure::refused(
            Code::PointUndone,
            format!(
                "`{}` by {} (@{}) counted at that moment, and was taken back since",
                gone.word(),
                gone.by,
                gone.seq
            ),
        )
        .help(command!("redo").session(id))),
        _ => Err(Failure::nothing(
            Code::NothingToUndo,
            format!(
                "nothing that could be taken back came after `{}` (@{}) of session {id}",
                target.word(),
                target.seq
            ),
        )
        .help(command!("log").session(id))),
    }
}

/// Refuses what nobody can take back: the beginning, what is taken back already, and what was not done but
/// only seen.
pub(super) fn require_undoable(
    id: &SessionId,
    operations: &[Operation],
    one: &Operation,
) -> Result<()> {
    if undoable(operations).iter().any(|op| op.op == one.op) {
        return Ok(());
    }
    Err(Failure::nothing(
        Code::NothingToUndo,
        format!(
            "`{}` (@{}) of session {id} cannot be taken back: it is the start of the session, a run, a claim or a note, or does not count any more",
            one.word(),
            one.seq
        ),
    )
    .help(command!("log").session(id)))
}

/// Refuses to take back a step before what whoever asks did last, where that was a run, a note or a claim of a task.
pub(super) fn require_newest(
    state: &State,
    operations: &[Operation],
    newest: &[&Operation],
    me: &Person,
) -> Result<()> {
    let (Some(stands), Some(before)) = (stands(operations, |op| is_by(op, me)), newest.first())
    else {
        return Ok(());
    };
    // A run that did not know of the end may stand behind it.
    if matches!(before.event(), Some(Event::Abandoned)) {
        return Ok(());
    }
    let (id, word, seq) = (&state.id, before.word(), before.seq);
    let back = command!("undo 1")
        .session(id)
        .note(format!("(takes back `{word}`)"));
    let (last, at) = (stands.word(), stands.seq);
    let holds = |task: &TaskId| {
        let claim = state.task(task).and_then(TaskFacts::holder);
        claim.is_some_and(|claim| claim.op == stands.op)
    };
    let (message, help) = match stands.claimed_task() {
        Some(task) if !holds(task) => (
            format!(
                "the last step is `{last}` of {task} (@{at}), which has ended, and undo takes back no claim; the step before it is `{word}` (@{seq})"
            ),
            back,
        ),
        Some(task) => (
            format!(
                "the last step is `{last}` of {task} (@{at}), which is given back, and undo takes back no claim; the step before it is `{word}` (@{seq})"
            ),
            hint![command!("task release {task}").session(id), "  or: ", back],
        ),
        None => (
            format!(
                "the last step is `{last}` (@{at}), and undo never takes back a run or a note; the step before it is `{word}` (@{seq})"
            ),
            back,
        ),
    };
    Err(Failure::nothing(Code::NothingToUndo, message).help(help))
}

/// Refuses to take back, with other things, that the session came to another stage.
pub(super) fn require_one_stage(point: &str, undone: &[&Operation]) -> Result<()> {
    let mut moved = undone.iter().map(|op| Moved::of(op));
    let Some(moved) = moved.find(|moved| moved.moves_stage) else {
        return Ok(());
    };
    let why = format!(
        "the session came to another stage since then, by `{}` (@{})",
        moved.event, moved.seq
    );
    Err(Failure::refused(Code::PointElsewhere, why).help(command!("undo --to {point}")))
}

fn only_started(id: &SessionId) -> Failure {
    Failure::nothing(
        Code::NothingToUndo,
        format!("session {id} has only been started"),
    )
    .help(command!("abandon --reason WHY").session(id))
}

pub(super) fn too_many(
    command: &str,
    verb: &str,
    id: &SessionId,
    wanted: usize,
    there: usize,
) -> Failure {
    let events = counted(there, "event");
    Failure::refused(
        Code::EventsTooFew,
        format!("session {id} has {events} to {verb}, expected {wanted}"),
    )
    .help(match command {
        "undo" => command!("undo {there}").session(id),
        _ => command!("redo {there}").session(id),
    })
}
