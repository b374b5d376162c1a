//! `undo` and `redo`: a new commit that restores an earlier state, or brings back what an undo took.
//! History is never rewritten; each command is one operation that names what it is about.

mod kept;
mod meant;
mod telling;

pub(crate) use kept::{kept_from, require_own_refusals};

use super::context::Context;
use super::journal::Step;
use super::naming::unknown;
use super::transaction::load_active;
use super::workcopy::WorkCopy;
use super::write_scope::Opening;
use super::{lease, op_ref, reopen, sign};
use kept::{require_no_signed_list, require_person};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_base::shell_word;
use loopx_base::trailers;
use loopx_rules::op::{Body, Event, Operation};
use loopx_rules::replay::{Redoable, redoable};
use loopx_rules::session::{Ending, State};
use loopx_rules::task::event::TaskEvent;
use loopx_rules::words::Word;
use loopx_store as store;
use loopx_store::{Decision, Record, Session, Snapshot};
use meant::{last, require_newest, require_one_stage, require_undoable, to, too_many};
use serde::Serialize;
use std::collections::BTreeMap;
use telling::Telling;

/// The number of records of others that are passed over, in search of one's own.
const LOOKED_BACK: usize = 20;
/// The number of events that a subject names.
const NAMED: usize = 3;

/// The end of a way back.
#[derive(Clone, Debug)]
pub(crate) enum Back {
    /// Commands of one person, this many of the last, past all that stands. Nobody named is whoever asks.
    Last { count: usize, of: Option<String> },
    /// The last command of whoever asks, where it can be taken back.
    Newest,
    /// Operation that alone is taken back.
    Only(String),
    /// Operation after which the way back ends: its id, its number, or the commit that made it.
    To(String),
    /// Operation after which the way back ends, where the session has not come to another stage since.
    Within(String),
}

/// Event that was taken back, or brought back.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moved {
    pub op: OpId,
    /// The event's word, who did it and when.
    pub event: String,
    pub by: String,
    pub at: String,
    /// The event's number, and the artifacts that went with it.
    pub seq: u64,
    pub artifacts: Vec<String>,
    /// Set when the session came to another stage by the undo or redo.
    #[serde(skip)]
    pub moves_stage: bool,
}

impl Moved {
    fn of(op: &Operation) -> Self {
        Moved {
            op: op.op.clone(),
            event: op.word().to_owned(),
            by: op.by.to_string(),
            at: op.at.clone(),
            seq: op.seq,
            artifacts: op.files().map(|(path, _)| path.to_owned()).collect(),
            moves_stage: matches!(
                op.event(),
                Some(
                    Event::Entered { .. }
                        | Event::Approved {
                            completes: true,
                            ..
                        }
                )
            ),
        }
    }
}

/// The result of an undo or a redo.
#[derive(Debug)]
pub(crate) struct Told {
    pub id: SessionId,
    pub commit: Oid,
    pub state: State,
    /// The events in the order in which they went: newest first for an undo, the last that was undone first for a redo.
    pub moved: Vec<Moved>,
    /// The files whose content is another one now, by path.
    pub changed: Vec<String>,
}

/// Takes events of the session back, the newest first.
pub(crate) fn undo(ctx: &Context, back: &Back, reason: Option<String>, sign: bool) -> Result<Told> {
    let has_reason = reason.as_ref().is_some_and(|why| !why.trim().is_empty());
    let me = ctx.repo.identity()?.author;
    tell(
        ctx,
        (reason, sign),
        ("undo", &after_save(back)),
        |snapshot, session, operations| {
            let id = &session.state.id;
            let undone: Vec<&Operation> = match back {
                Back::Last { count, of } => last(id, operations, *count, of.as_deref(), &me)?,
                Back::Newest => {
                    let newest = last(id, operations, 1, None, &me)?;
                    require_newest(&session.state, operations, &newest, &me)?;
                    newest
                }
                Back::Only(point) => {
                    let one = op_ref::find(snapshot, session, operations, point)?;
                    require_undoable(id, operations, one)?;
                    vec![one]
                }
                Back::To(point) => to(snapshot, session, operations, point)?,
                Back::Within(point) => {
                    let all = to(snapshot, session, operations, point)?;
                    require_one_stage(point, &all)?;
                    all
                }
            };
            if let Some(other) = undone.iter().find(|op| !is_by(op, &me) && !has_reason) {
                return Err(Failure::usage(
                    Code::ReasonRequired,
                    format!(
                        "`{}` (@{}) is by {}: taking back what somebody else did needs a reason",
                        other.word(),
                        other.seq,
                        other.by
                    ),
                )
                .help(command!("undo --only {} --reason WHY", other.op).session(id)));
            }
            let kept = without_own_retry(ctx, operations, &undone)?;
            require_person(
                ctx,
                &session.state,
                &kept,
                "taking back a record that needed a person",
            )?;
            require_own_refusals(ctx, snapshot, session, &undone, &me)?;
            if !sign {
                require_no_signed_list(ctx, snapshot, session, &undone)?;
            }
            let ids = undone.iter().map(|op| op.op.clone()).collect();
            let moved = undone.into_iter().map(Moved::of).collect();
            Ok((Word::Undone { undone: ids }, moved))
        },
    )
}

/// The issue that whoever asks for an undo did something to last, where that was about no session.
/// `true`: and to others by the same command.
fn issue_before(ctx: &Context, word: &str) -> Result<Option<(String, bool)>> {
    if word != "undo" {
        return Ok(None);
    }
    let (repo, store) = (&ctx.repo, ctx.store()?);
    let me = repo.identity()?.author;
    let mut next = store.snapshot().ok().map(|at| at.commit().clone());
    for _ in 0..LOOKED_BACK {
        let Some(commit) = next else { break };
        let info = repo.commit_info(&commit)?;
        if info.author.is_same(&me) {
            let is_of_session = !info.trailer(trailers::SESSION).is_empty();
            let named = info.trailer(trailers::ISSUE);
            let issue = named.first();
            let issue = issue.map(|id| ((*id).to_owned(), named.len() > 1));
            return Ok(issue.filter(|_| !is_of_session));
        }
        next = info.parents.first().cloned();
    }
    Ok(None)
}

/// Refuses edits of this worktree that no record has yet.
pub(super) fn require_saved_here(ctx: &Context, state: &State) -> Result<()> {
    let mut copy = WorkCopy::open(&ctx.repo, &state.id)?.filter(WorkCopy::exists);
    require_saved(ctx, copy.as_mut(), state, ("save", &command!("save")))
}

/// The command that puts the stored files into the working copy.
pub(super) fn overwriting() -> Hint {
    command!("checkout --force")
}

/// The step that leads back where edits are saved first.
fn after_save(back: &Back) -> Hint {
    let then = match back {
        Back::Newest | Back::Last { count: 1, of: None } => {
            let more = "  (and then undo twice), or: ";
            return hint![command!("save"), more, overwriting()];
        }
        Back::Last { count, of: None } => command!("undo {}", count + 1),
        Back::Last {
            count,
            of: Some(of),
        } => command!("undo {count} --of {} --reason WHY", shell_word(of)),
        Back::Only(point) => command!("undo --only {}", shell_word(point)),
        Back::To(point) | Back::Within(point) => command!("undo --to {}", shell_word(point)),
    };
    hint![command!("save"), ", then: ", then, "  or: ", overwriting()]
}

/// Operations without the last of all, where that is a retry of the agent that asks: nothing was made of it yet.
fn without_own_retry<'o>(
    ctx: &Context,
    operations: &[Operation],
    about: &[&'o Operation],
) -> Result<Vec<&'o Operation>> {
    let mut about = about.to_vec();
    let last = operations.iter().max_by_key(|op| op.seq);
    if let Some(last) = last
        && let Body::Task(TaskEvent::Retried {
            agent: Some(by), ..
        }) = &last.body
        && lease::agent(&ctx.repo)?.as_ref() == Some(by)
    {
        about.retain(|op| op.op != last.op);
    }
    Ok(about)
}

/// Brings events back that were undone, the one that was undone last first, where nothing else has
/// happened since.
pub(crate) fn redo(
    ctx: &Context,
    count: usize,
    reason: Option<String>,
    sign: bool,
) -> Result<Told> {
    let overwritten = overwriting().note("(puts the stored text there; what was there is kept)");
    let word = ("redo", &overwritten);
    tell(ctx, (reason, sign), word, |_, session, operations| {
        let id = &session.state.id;
        let Redoable {
            operations: mut redone,
            since,
        } = redoable(operations);
        if redone.is_empty() {
            return Err(match since {
                None => Failure::nothing(
                    Code::NothingToRedo,
                    format!("nothing of session {id} is undone"),
                )
                .help(command!("log").session(id)),
                Some(op) => Failure::refused(
                    Code::RedoOvertaken,
                    format!(
                        "`{}` by {} ({}) came after the undo, and the undone steps do not fit on top of it",
                        op.word(),
                        op.by,
                        op.at
                    ),
                )
                .help(hint![
                    command!("log").session(id),
                    "  (shows what was undone; ",
                    command!("cat ARTIFACT --at NUMBER").session(id),
                    " prints its text)"
                ]),
            });
        }
        if redone.len() < count {
            return Err(too_many("redo", "bring back", id, count, redone.len()));
        }
        redone.truncate(count);
        require_person(
            ctx,
            &session.state,
            &redone,
            "bringing back a record that needed a person",
        )?;
        let ids = redone.iter().map(|op| op.op.clone()).collect();
        let moved = redone.into_iter().map(Moved::of).collect();
        Ok((Word::Redone { redone: ids }, moved))
    })
}

/// Tells whether a person did an operation, or ran the agent that did.
fn is_by(op: &Operation, who: &Person) -> bool {
    op.by.is_same(who) || op.committer.as_ref().is_some_and(|by| by.is_same(who))
}

/// The command that opens an archived session, whether its archive was taken back already or not.
fn again(id: &SessionId) -> Hint {
    command!("reopen --reason \"it is to be done again\"").session(id)
}

/// Tells the past of a session anew: one operation about others, and the state that follows.
fn tell(
    ctx: &Context,
    (reason, sign): (Option<String>, bool),
    (word, after_save): (&str, &Hint),
    mut decide: impl FnMut(&Snapshot<'_>, &Session, &[Operation]) -> Result<(Word, Vec<Moved>)>,
) -> Result<Told> {
    let opening = Opening::of(ctx)?;
    let (id, mut copy) = match opening.with_copy(ctx) {
        Err(failure) if failure.code == Code::NoActiveSession => {
            return Err(without_session(ctx, failure, word)?);
        }
        opened => opened?,
    };
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| {
        let session = snapshot.find(&id)?.ok_or_else(|| unknown(snapshot, &id))?;
        require_not_archived(snapshot, &session, word)?;
        let is_abandoned = matches!(session.state.ending, Some(Ending::Abandoned { .. }));
        if !is_abandoned {
            require_saved(ctx, copy.as_mut(), &session.state, (word, after_save))?;
        }
        let operations = snapshot.operations(&session)?;
        let (said, moved) = decide(snapshot, &session, &operations)?;
        let telling = Telling {
            ctx,
            identity,
            before: &session.state,
            operations: &operations,
            reason: reason.as_deref(),
        };
        let (op, state, moved) = telling.with_claims(said, moved)?;
        // Nobody can save on a session that was abandoned: edits stay where no file of it changes.
        if is_abandoned && op.files().next().is_some() {
            require_saved(ctx, copy.as_mut(), &session.state, (word, after_save))?;
        }
        let mut edits = store::Edits::default();
        let signature = if sign {
            Some(sign::sign(&ctx.repo, &state, &op)?)
        } else {
            None
        };
        let mut record = Record::from(&op);
        record.signature = signature.as_deref();
        edits.record(&ctx.repo, Some(&session), record, &state)?;
        let mut message = store::message(&id, &subject(word, &moved), &op, &state);
        for other in telling.bound_beside(snapshot, &moved, &op, &mut edits)? {
            message.push_str(&store::also(&other));
        }
        Ok(Decision {
            edits,
            message,
            value: (
                state,
                moved,
                op.files().map(|(path, _)| path.to_owned()).collect(),
            ),
        })
    };
    let publish = Step::publish(&ctx.repo, &id, &BTreeMap::new());
    let follows = |_: &_| publish.clone().into_iter().collect();
    let scope = opening.scope(ctx);
    let committed = scope.commit(decide, follows)?;
    let (state, moved, changed) = committed.value;
    Ok(Told {
        id,
        commit: committed.commit,
        state,
        moved,
        changed,
    })
}

/// The refusal where no session is meant, with what leads on: the issue that whoever asks did something to last, or the
/// session that was archived here.
fn without_session(ctx: &Context, failure: Failure, word: &str) -> Result<Failure> {
    Ok(match (reopen::ended_here(ctx)?, issue_before(ctx, word)?) {
        (_, Some((issue, false))) => failure
            .help(command!("issue undo {issue}").note("(what you did last was about this issue)")),
        (_, Some((issue, true))) => failure.help(
            command!("issue undo {issue} --all")
                .note("(what you did last was about this issue and others)"),
        ),
        (Some(id), None) => failure.help(again(&id)),
        (None, None) => failure,
    })
}

/// Refuses a session that is archived: its result is on a branch.
fn require_not_archived(snapshot: &Snapshot<'_>, session: &Session, word: &str) -> Result<()> {
    let id = &session.state.id;
    if !matches!(session.state.ending, Some(Ending::Archived { .. })) {
        return Ok(());
    }
    let refused = load_active(snapshot, id).err();
    let refused = refused.unwrap_or_else(|| unknown(snapshot, id));
    Err(refused.help(match word {
        "redo" => again(id),
        _ => command!("archive --undo {id}").note("(takes back what it made of the specs)"),
    }))
}

/// Refuses edits that are not saved: they would be lost between two states.
fn require_saved(
    ctx: &Context,
    copy: Option<&mut WorkCopy<'_>>,
    state: &State,
    (word, after_save): (&str, &Hint),
) -> Result<()> {
    let Some(copy) = copy else {
        return Ok(());
    };
    let (policy, _) = ctx.policy_if_there(state)?;
    let edits = copy.collect(state, policy.artifacts.max_bytes)?;
    let artifacts = edits.writes.keys().map(ToString::to_string);
    let mut unsaved = artifacts.chain(edits.outputs.writes.into_keys());
    let Some(first) = unsaved.next() else {
        return Ok(());
    };
    let failure = Failure::refused(
        Code::UnsavedEdits,
        format!("{first} has edits that are not saved"),
    );
    Err(failure.help(match (word, &state.ending) {
        ("undo", Some(_)) => command!("undo")
            .session(&state.id)
            .note("(takes the abandoning back alone; then save)"),
        _ => after_save.clone(),
    }))
}

/// `undo save`, `undo 2 events: save, approve`.
fn subject(word: &str, moved: &[Moved]) -> String {
    let names: Vec<&str> = moved.iter().map(|one| one.event.as_str()).collect();
    match names.as_slice() {
        [only] => format!("{word} {only}"),
        many => {
            let shown = many.iter().take(NAMED).copied().collect::<Vec<_>>();
            let more = if many.len() > NAMED { ", ..." } else { "" };
            format!("{word} {} events: {}{more}", many.len(), shown.join(", "))
        }
    }
}
