//! `undo` and `redo`: a new commit that restores an earlier state, or brings back what an undo took.
//! History is never rewritten; each command is one operation that names what it is about.

use super::context::Context;
use super::journal::Step;
use super::naming::unknown;
use super::transaction::{differences, load_active, texts_here};
use super::workcopy::WorkCopy;
use super::write_scope::{Opening, draft, seal};
use super::{lease, op_ref, reopen, sign};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_base::shell_word;
use loopx_base::trailers;
use loopx_git::Identity;
use loopx_rules::agent_identity as agent;
use loopx_rules::op::{Body, Event, Operation, Write};
use loopx_rules::replay::{
    Redoable, WayBack, claims_beside, is_claim, redoable, stands, undoable, undone, unfit_claims,
    way_back,
};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Transition;
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::graph::{Graph, Wait};
use loopx_rules::task::node::TaskId;
use loopx_rules::task::plan;
use loopx_rules::task::status::Status;
use loopx_rules::words::Word;
use loopx_store as store;
use loopx_store::{Decision, Record, Session, Snapshot};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// So many records of others are passed over, in search of one's own.
const LOOKED_BACK: usize = 20;
/// How many events a subject names.
const NAMED: usize = 3;

/// How far to go back.
#[derive(Clone, Debug)]
pub(crate) enum Back {
    /// Commands of one person, this many of the last, past all that stands. Nobody named is whoever asks.
    Last { count: usize, of: Option<String> },
    /// What whoever asks did last, where that can be taken back.
    Newest,
    /// Just this operation.
    Only(String),
    /// To the moment after this operation: its id, its number, or the commit that made it.
    To(String),
    /// The same, where the session has not come to another stage since.
    Within(String),
}

/// One event that was taken back, or brought back.
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
    /// Whether the session came to another stage by it.
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

/// What an undo or a redo did.
#[derive(Debug)]
pub(crate) struct Told {
    pub id: SessionId,
    pub commit: Oid,
    pub state: State,
    /// In the order in which they went: newest first for an undo, the last that was undone first for a redo.
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
                    require_newest(id, operations, &newest, &me)?;
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
                        "`{}` (@{}) is of {}: whoever takes back what somebody else did says why",
                        other.word(),
                        other.seq,
                        other.by
                    ),
                )
                .help(command!("undo --only {} --reason WHY", other.op).session(id)));
            }
            let kept = without_own_retry(ctx, operations, &undone)?;
            require_person(ctx, &session.state, &kept, "taking a person's word back")?;
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

/// Refuses to take back a step before what whoever asks did last, where that was a run or a note.
fn require_newest(
    id: &SessionId,
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
    let (word, seq) = (before.word(), before.seq);
    Err(Failure::nothing(
        Code::NothingToUndo,
        format!(
            "`{}` (@{}) came last, and nobody takes back a run or a note; before it came `{word}` (@{seq})",
            stands.word(),
            stands.seq
        ),
    )
    .help(
        command!("undo 1")
            .session(id)
            .note(format!("(takes back `{word}`)")),
    ))
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

/// Refuses to take back, with other things, that the session came to another stage.
fn require_one_stage(point: &str, undone: &[&Operation]) -> Result<()> {
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

/// Refuses to an agent what undoes or brings back what only a person may say.
fn require_person(ctx: &Context, state: &State, about: &[&Operation], what: &str) -> Result<()> {
    let is_kept = |op: &&Operation| match &op.body {
        Body::Session(step) => step.event.is_persons_word(),
        Body::Task(event) => event.is_kept_from_agents(),
        _ => false,
    };
    if !about.iter().copied().any(|op| is_kept(&op)) {
        return Ok(());
    }
    let agent = agent::host(loopx_base::env::var);
    let (policy, _) = ctx.policy_if_there(state)?;
    agent::require_person(&policy, agent.as_deref(), what)
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
                        "`{}` of {} ({}) came after the undo: what was undone does not fit on it",
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
            "bringing a person's word back",
        )?;
        let ids = redone.iter().map(|op| op.op.clone()).collect();
        let moved = redone.into_iter().map(Moved::of).collect();
        Ok((Word::Redone { redone: ids }, moved))
    })
}

/// Refuses to take back a verdict that asks for changes, or an amendment, where somebody else signed it: it would
/// hold the session all the same.
pub(super) fn require_own_refusals(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    operations: &[&Operation],
    me: &Person,
) -> Result<()> {
    let refusals = operations.iter().filter(|op| refuses(op) && !is_by(op, me));
    let refusals: Vec<&&Operation> = refusals.collect();
    if refusals.is_empty()
        || ctx
            .policy(&session.state)?
            .may_take_back(std::slice::from_ref(me))
    {
        return Ok(());
    }
    let signed = snapshot.signatures(session)?;
    let Some(one) = refusals
        .into_iter()
        .find(|op| signed.contains_key(&op.file_name()))
    else {
        return Ok(());
    };
    Err(Failure::refused(
        Code::WordTakenBack,
        format!(
            "`{}` (@{}) was signed by {}, and only {} takes it back",
            one.word(),
            one.seq,
            one.by,
            one.by
        ),
    )
    .help(
        match one.event() {
            Some(Event::Approved { .. }) => command!("amend --reason WHY --sign"),
            _ => command!("review --verdict approve --sign"),
        }
        .session(&session.state.id)
        .note(format!(
            "(by {}, or by a role of approve.take_back)",
            one.by
        )),
    ))
}

/// Refuses to take a signed amendment back without a signature, where policy wants what approves a list signed: the
/// list of before would count again.
fn require_no_signed_list(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    undone: &[&Operation],
) -> Result<()> {
    let is_amendment = |op: &&&Operation| {
        matches!(
            op.event(),
            Some(Event::Approved {
                amends: Some(_),
                ..
            })
        )
    };
    let Some(one) = undone.iter().find(is_amendment) else {
        return Ok(());
    };
    let (policy, _) = ctx.policy_if_there(&session.state)?;
    let asks = policy.asks_signature(Transition::PlanToBuild);
    if !asks || !snapshot.signatures(session)?.contains_key(&one.file_name()) {
        return Ok(());
    }
    Err(Failure::refused(
        Code::WordTakenBack,
        format!(
            "`{}` (@{}) was signed, and policy wants signed what takes it back",
            one.word(),
            one.seq
        ),
    )
    .help(command!("undo --sign").session(&session.state.id)))
}

fn refuses(op: &Operation) -> bool {
    match op.event() {
        Some(Event::Reviewed { verdict }) => !verdict.is_approval(),
        // The list of before would count again.
        Some(Event::Approved { amends, .. }) => amends.is_some(),
        Some(Event::Entered { transition, .. }) => *transition == Transition::DoneToBuild,
        _ => false,
    }
}

/// Whether somebody did it, or ran the agent that did.
fn is_by(op: &Operation, who: &Person) -> bool {
    op.by.is_same(who) || op.committer.as_ref().is_some_and(|by| by.is_same(who))
}

/// What one person did last, newest first: the operations of so many commands.
fn last<'o>(
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
                "nothing of session {id} that could be taken back is of {}; the newest, `{}` (@{}), is of {}",
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

/// Refuses what nobody can take back: the beginning, what is taken back already, and what was not done but
/// only seen.
fn require_undoable(id: &SessionId, operations: &[Operation], one: &Operation) -> Result<()> {
    if undoable(operations).iter().any(|op| op.op == one.op) {
        return Ok(());
    }
    Err(Failure::nothing(
        Code::NothingToUndo,
        format!(
            "`{}` (@{}) of session {id} cannot be taken back: it is the beginning, a run, a claim or a note, or does not count any more",
            one.word(),
            one.seq
        ),
    )
    .help(command!("log").session(id)))
}

fn only_started(id: &SessionId) -> Failure {
    Failure::nothing(
        Code::NothingToUndo,
        format!("session {id} has only been started"),
    )
    .help(command!("abandon --reason WHY").session(id))
}

fn too_many(command: &str, verb: &str, id: &SessionId, wanted: usize, there: usize) -> Failure {
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

/// What leads back to the moment after an operation.
fn to<'o>(
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
                "`{}` of {} (@{}) counted then, and was taken back since",
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

/// The change of the files that are no artifacts.
fn file_differences(before: &State, after: &State) -> BTreeMap<String, Write> {
    let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let last = |state: &State, path: &str| state.files.get(path)?.last().cloned();
    let changed = paths
        .into_iter()
        .filter(|path| before.files.get(*path) != after.files.get(*path));
    changed
        .map(|path| {
            let (from, to) = (last(before, path), last(after, path));
            (path.clone(), Write { from, to })
        })
        .collect()
}

/// The past of a session as one command tells it anew.
struct Telling<'t> {
    ctx: &'t Context,
    identity: &'t Identity,
    before: &'t State,
    operations: &'t [Operation],
    reason: Option<&'t str>,
}

type ToldAnew = (Operation, State, Vec<Moved>);

impl Telling<'_> {
    /// Says it, along with the claims that rest on what is taken back, or that went with what is brought back.
    fn with_claims(&self, said: Word, moved: Vec<Moved>) -> Result<ToldAnew> {
        match said {
            Word::Redone { redone } => self.redone(redone, moved),
            Word::Undone { undone } => self.undone(undone, moved),
            other => {
                let (op, state) = self.say(other)?;
                Ok((op, state, moved))
            }
        }
    }

    fn undone(&self, mut undone: Vec<OpId>, mut moved: Vec<Moved>) -> Result<ToldAnew> {
        loop {
            let (op, state) = self.say(Word::Undone {
                undone: undone.clone(),
            })?;
            let mut claims = unfit_claims(self.before, &state, self.operations);
            claims.retain(|claim| !undone.contains(&claim.op));
            if claims.is_empty() {
                self.require_no_new_conflict(&op, &state, "undo")?;
                return Ok((op, state, moved));
            }
            for claim in claims {
                self.require_own_or_reason(claim)?;
                undone.push(claim.op.clone());
                moved.push(Moved::of(claim));
            }
        }
    }

    /// Whoever takes a task from somebody says why.
    fn require_own_or_reason(&self, claim: &Operation) -> Result<()> {
        let has_reason = self.reason.is_some_and(|why| !why.trim().is_empty());
        if has_reason || is_by(claim, &self.identity.author) {
            return Ok(());
        }
        Err(Failure::usage(
            Code::ReasonRequired,
            format!(
                "`{}` (@{}) of {} rests on it and goes with it: whoever takes a task from somebody says why",
                claim.word(),
                claim.seq,
                claim.by
            ),
        )
        .help(command!("undo --reason WHY").session(&self.before.id)))
    }

    fn redone(&self, redone: Vec<OpId>, moved: Vec<Moved>) -> Result<ToldAnew> {
        let is_redone = |op: &&Operation| redone.contains(&op.op);
        let named: Vec<&Operation> = self.operations.iter().filter(is_redone).collect();
        let claims = claims_beside(self.operations, &named);
        let with: Vec<OpId> = claims.iter().map(|op| op.op.clone()).collect();
        let all = [redone.clone(), with].concat();
        if !claims.is_empty() {
            let (op, state) = self.say(Word::Redone { redone: all })?;
            if self.require_no_new_conflict(&op, &state, "redo").is_ok() {
                let claims = claims.into_iter().map(Moved::of);
                return Ok((op, state, moved.into_iter().chain(claims).collect()));
            }
        }
        // Somebody else has the task by now: it comes back without the claim.
        let (op, state) = self.say(Word::Redone { redone })?;
        self.require_no_new_conflict(&op, &state, "redo")?;
        Ok((op, state, moved))
    }

    /// Tells the same in the sessions that a binding took a branch from: they have it again, and give it up once more where
    /// the binding comes back. Gives their names.
    fn bound_beside(
        &self,
        snapshot: &Snapshot<'_>,
        moved: &[Moved],
        by: &Operation,
        edits: &mut store::Edits,
    ) -> Result<Vec<SessionId>> {
        let is_undo = matches!(by.said(), Some(Word::Undone { .. }));
        let is_moved = |op: &&Operation| moved.iter().any(|one| one.op == op.op);
        let mut told = Vec::new();
        for op in self.operations.iter().filter(is_moved) {
            let Some(Event::Bound { branch }) = op.event() else {
                continue;
            };
            let mut bound = snapshot.bound_to(branch)?;
            bound.retain(|id| *id != self.before.id);
            let others = if !is_undo {
                bound
            } else if bound.is_empty() {
                snapshot.active_ids()?
            } else {
                // Somebody else has it by now.
                continue;
            };
            for id in others {
                let Some(other) = snapshot.session(&id)? else {
                    continue;
                };
                let state = &other.state;
                let is_meant = if is_undo {
                    state.branch.is_none()
                } else {
                    state.branch.as_ref() == Some(branch)
                };
                if id == self.before.id || !state.is_active() || !is_meant {
                    continue;
                }
                let mut all = snapshot.operations(&other)?;
                let let_go = all.iter().find(|one| {
                    one.tx.is_some()
                        && one.tx == op.tx
                        && matches!(one.event(), Some(Event::Unbound))
                        && undone(&all).contains(&one.op) != is_undo
                });
                let Some(let_go) = let_go.map(|one| vec![one.op.clone()]) else {
                    continue;
                };
                let said = if is_undo {
                    Word::Undone { undone: let_go }
                } else {
                    Word::Redone { redone: let_go }
                };
                let mut draft = draft(self.identity, state, said);
                if let Some(tx) = &by.tx {
                    draft.tx.clone_from(tx);
                }
                let word = seal(&self.ctx.repo, &draft)?;
                all.push(word.clone());
                let after = store::replay(&self.ctx.repo, &id, &all)?;
                edits.record(&self.ctx.repo, Some(&other), &word, &after)?;
                told.push(id);
            }
        }
        Ok(told)
    }

    /// The operation that says it, and the state that follows.
    fn say(&self, said: Word) -> Result<(Operation, State)> {
        let repo = &self.ctx.repo;
        let id = &self.before.id;
        let mut operations = self.operations.to_vec();
        let mut draft = draft(self.identity, self.before, said);
        draft.reason = self.reason.map(str::to_owned);
        // The writes tell a reader what moved; the fold gets there without them.
        let op = seal(repo, &draft)?;
        operations.push(op.clone());
        let after = store::replay(repo, id, &operations)?;
        draft.writes = differences(&self.before.artifacts, &after.artifacts);
        draft.others = file_differences(self.before, &after);
        if draft.writes.is_empty() && draft.others.is_empty() {
            return Ok((op, after));
        }
        let op = seal(repo, &draft)?;
        operations.pop();
        operations.push(op.clone());
        let state = store::replay(repo, id, &operations)?;
        Ok((op, state))
    }

    /// Refuses to give a claim back where somebody has by now what only one task can have.
    fn require_apart(&self, after: &State, word: &str) -> Result<()> {
        let (policy, _) = self.ctx.policy_if_there(after)?;
        let apart = |state: &State| -> Vec<(TaskId, Wait)> {
            let texts = texts_here(self.ctx, state, &policy).unwrap_or_default();
            let Ok(nodes) = plan::now(&texts, state) else {
                return Vec::new();
            };
            let statuses = nodes.iter().map(|node| state.task_status(&node.id));
            let statuses: Vec<Status> = statuses.collect();
            Graph::of(&nodes).apart(&statuses)
        };
        let mut found = apart(after);
        if found.is_empty() {
            return Ok(());
        }
        let known = apart(self.before);
        found.retain(|pair| !known.contains(pair));
        let Some((task, wait)) = found.first() else {
            return Ok(());
        };
        let (other, why) = match wait {
            Wait::Resource { resource, task } => {
                (task, format!("only one of them can have {resource}"))
            }
            Wait::Alone { task } => (task, "one of them runs alone".to_owned()),
            _ => (task, wait.words()),
        };
        let is_held = |id: &TaskId| self.before.task_status(id) == Status::Claimed;
        let holder = if is_held(task) { task } else { other };
        Err(Failure::refused(
            Code::OperationRests,
            format!("{task} and {other} would both be taken after this {word}, and {why}"),
        )
        .help(hint![
            "when it is done, or let go: ",
            command!("task show {holder}").session(&self.before.id)
        ]))
    }

    fn require_no_new_conflict(&self, op: &Operation, after: &State, word: &str) -> Result<()> {
        self.require_apart(after, word)?;
        let mut operations = self.operations.to_vec();
        operations.push(op.clone());
        require_no_new_conflict(self.before, after, &operations, word)
    }
}

/// Refuses to take back what something else rests on that stays.
fn require_no_new_conflict(
    before: &State,
    after: &State,
    operations: &[Operation],
    word: &str,
) -> Result<()> {
    // What a person had settled is open again where that is taken back.
    let settles = |op: &&Operation| matches!(op.said(), Some(Word::Resolved { .. }));
    let undone = operations.last().and_then(Operation::said);
    if let Some(Word::Undone { undone } | Word::Redone { redone: undone }) = undone
        && operations
            .iter()
            .filter(settles)
            .any(|op| undone.contains(&op.op))
    {
        return Ok(());
    }
    let known = |op: &OpId| before.conflicts.iter().any(|conflict| conflict.op == *op);
    let new = after.conflicts.iter().find(|conflict| !known(&conflict.op));
    let Some(new) = new else {
        return Ok(());
    };
    let id = &before.id;
    let rests = operations.iter().find(|op| op.op == new.op);
    let what = rests.map_or_else(String::new, |op| {
        format!("`{}` (@{}) of {}", op.word(), op.seq, op.by)
    });
    let refused = Failure::refused(
        Code::OperationRests,
        format!("{what} would not fit after this {word}: {}", new.why),
    );
    // A claim is no event that is taken back on its own.
    if let Some(Body::Task(event)) = rests.filter(|op| is_claim(op)).map(|op| &op.body) {
        return Err(refused.help(command!("task show {}", event.task()).session(id)));
    }
    Err(refused.help(hint![
        command!("undo --only {} --reason WHY", new.op).session(id),
        ", then again: ",
        match word {
            "undo" => command!("undo").session(id),
            _ => command!("redo").session(id),
        }
    ]))
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
