//! `resolve`: what clones made apart and nobody could decide but a person. Listed with its sides, and
//! settled by one more operation, which every clone takes in like any other.

use super::context::Context;
use super::issue::apart;
use super::journal::Step;
use super::landed;
pub(crate) use super::landed::Made;
use super::naming::unknown;
use super::workcopy::{WorkCopy, marker_line};
use super::write_scope::{Opening, draft, seal};
use super::{files, undo};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_base::{counted, shell_word};
use loopx_rules::agent_identity as agent;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::op::{Body, Operation, Write};
use loopx_rules::session::{Join, OpConflict, State};
use loopx_rules::task::file;
use loopx_rules::task::file::domain::Domain;
use loopx_rules::task::file::{KeptBoth, Renamed};
use loopx_rules::task::node::TaskId;
use loopx_rules::words::Word;
use loopx_spec::Finding;
use loopx_store as store;
use loopx_store::{Decision, Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Operation as a row of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Brief {
    pub op: OpId,
    pub seq: u64,
    pub event: String,
    pub by: Person,
    pub at: String,
    /// The commit of an archive, and who has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<Made>,
    #[serde(skip)]
    pub body: Body,
}

/// An operation that does not count, and what stands against it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Held {
    #[serde(flatten)]
    pub operation: Brief,
    pub why: String,
    pub with: Vec<Brief>,
}

/// An artifact whose versions did not merge.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Contested {
    pub artifact: Artifact,
    pub base: Option<Oid>,
    pub sides: Vec<SideView>,
    /// Ids that the sides of a list of tasks gave to tasks of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_twice: Vec<TaskId>,
    /// Domains that the sides of a list of tasks say otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains_apart: Vec<String>,
    /// Set when all sides of a list of tasks can stay.
    #[serde(skip)]
    pub keeps_all: bool,
}

/// A file of a task that several wrote apart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ContestedFile {
    pub path: String,
    pub sides: Vec<SideView>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct SideView {
    /// Number of the side from 1, as `--side` takes it.
    pub number: usize,
    #[serde(flatten)]
    pub operation: Brief,
    /// `None`: removed.
    pub blob: Option<Oid>,
    /// Place of the file on the branch.
    pub path: Option<String>,
}

/// Conflicts of a session, each of which waits for a person.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Conflicts {
    pub session: SessionId,
    pub operations: Vec<Held>,
    pub artifacts: Vec<Contested>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ContestedFile>,
    /// Records that only whoever signed them leaves out.
    #[serde(skip)]
    pub kept: BTreeMap<OpId, Person>,
}

impl Conflicts {
    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.artifacts.is_empty() && self.files.is_empty()
    }
}

/// Lists the conflicts of the session that is meant.
pub(crate) fn conflicts(ctx: &Context) -> Result<Conflicts> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx
        .session(&snapshot)
        .map_err(|failure| led_to_issues(&snapshot, failure))?;
    list(ctx, &snapshot, &session)
}

/// The failure of whoever is in no session, with the issues that clones wrote apart: these need none.
fn led_to_issues(snapshot: &Snapshot<'_>, failure: Failure) -> Failure {
    if failure.code != Code::NoActiveSession {
        return failure;
    }
    let found = apart::found(snapshot).unwrap_or_default();
    match (apart::listed(&found), apart::way(&found)) {
        (Some(listed), Some(way)) => Failure {
            message: format!("{}; issues written apart: {listed}", failure.message),
            ..failure
        }
        .help(way),
        _ => failure,
    }
}

fn list(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Conflicts> {
    let state = &session.state;
    let mut found = Conflicts {
        session: state.id.clone(),
        operations: Vec::new(),
        artifacts: Vec::new(),
        files: Vec::new(),
        kept: BTreeMap::new(),
    };
    if state.open_conflicts() == 0 {
        return Ok(found);
    }
    let (policy, _) = ctx.policy_if_there(state)?;
    found.kept = undo::kept_from(ctx, snapshot, session, &policy)?;
    let operations = snapshot.operations(session)?;
    let mut archives = BTreeMap::new();
    for op in &operations {
        if let Some(made) = landed::made(&ctx.repo, op.event())? {
            archives.insert(op.op.clone(), made);
        }
    }
    let brief = |id: &OpId| {
        operations.iter().find(|op| op.op == *id).map(|op| Brief {
            archive: archives.get(id).cloned(),
            op: op.op.clone(),
            seq: op.seq,
            event: op.word().to_owned(),
            by: op.by.clone(),
            at: op.at.clone(),
            body: op.body.clone(),
        })
    };
    for conflict in &state.conflicts {
        if let Some(operation) = brief(&conflict.op) {
            found.operations.push(Held {
                operation,
                why: conflict.why.clone(),
                with: conflict.with.iter().filter_map(&brief).collect(),
            });
        }
    }
    for (artifact, join) in state.contested() {
        let sides = join.sides.iter().enumerate().filter_map(|(at, side)| {
            Some(SideView {
                number: at + 1,
                operation: brief(&side.op)?,
                path: side
                    .blob
                    .as_ref()
                    .map(|blob| store::version_path(session, artifact, blob)),
                blob: side.blob.clone(),
            })
        });
        let lists = Lists::of(ctx, artifact, join)?;
        found.artifacts.push(Contested {
            artifact,
            base: join.base.clone(),
            sides: sides.collect(),
            made_twice: lists.made_twice,
            domains_apart: lists.domains_apart,
            keeps_all: lists.keeps_all,
        });
    }
    for (path, versions) in state.outputs_apart() {
        let sides = versions.iter().enumerate().filter_map(|(at, blob)| {
            Some(SideView {
                number: at + 1,
                operation: brief(&writer(&operations, path, blob)?.op)?,
                path: Some(store::file_version_path(session, path, blob)),
                blob: Some(blob.clone()),
            })
        });
        found.files.push(ContestedFile {
            path: path.to_owned(),
            sides: sides.collect(),
        });
    }
    Ok(found)
}

/// The words of several sides on one list of tasks.
#[derive(Debug, Default)]
struct Lists {
    /// The ids that sides gave to tasks of their own.
    made_twice: Vec<TaskId>,
    domains_apart: Vec<String>,
    keeps_all: bool,
}

impl Lists {
    fn of(ctx: &Context, artifact: Artifact, join: &Join) -> Result<Self> {
        let mut found = Lists::default();
        if artifact != Artifact::TaskList {
            return Ok(found);
        }
        let (base, sides) = texts(ctx, join)?;
        let sides: Vec<&str> = sides.iter().map(String::as_str).collect();
        for (at, side) in sides.iter().enumerate() {
            for before in &sides[..at] {
                let mut ids = file::made_twice(&base, before, side);
                ids.retain(|id| !found.made_twice.contains(id));
                found.made_twice.extend(ids);
                let mut domains = file::domains_apart(&base, before, side);
                domains.retain(|one| !found.domains_apart.contains(one));
                found.domains_apart.extend(domains);
            }
        }
        let is_asked = !found.made_twice.is_empty() || !found.domains_apart.is_empty();
        found.keeps_all = is_asked && file::keep_both(&base, &sides).is_ok();
        Ok(found)
    }
}

/// The text that the sides of an artifact were made from, and each side. One that is removed is empty.
fn texts(ctx: &Context, join: &Join) -> Result<(String, Vec<String>)> {
    let text = |blob: Option<&Oid>| -> Result<String> {
        let bytes = blob.map(|blob| ctx.repo.read_blob(blob)).transpose()?;
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    };
    let sides = join.sides.iter().map(|side| text(side.blob.as_ref()));
    Ok((text(join.base.as_ref())?, sides.collect::<Result<_>>()?))
}

/// The newest operation that wrote a version of a file.
fn writer<'o>(operations: &'o [Operation], path: &str, blob: &Oid) -> Option<&'o Operation> {
    let writes = |op: &&Operation| {
        let write = op.others.get(path);
        write.is_some_and(|write| write.to.as_ref() == Some(blob)) && !op.is_about_others()
    };
    operations.iter().filter(writes).max_by_key(|op| op.seq)
}

/// Choice of the text of an artifact that is to stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The side that I wrote, or the only one that I did not.
    Mine,
    Theirs,
    Side(usize),
    /// The tasks of all sides.
    Both,
    /// Bytes of a text that was given.
    Given(Vec<u8>),
    /// Text of the working copy, which has to be without markers.
    WorkingCopy,
}

/// Choices of a person.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    pub artifact: Option<(Artifact, Option<Text>)>,
    /// A file of a task.
    pub file: Option<(String, Option<Text>)>,
    /// Operations that are to count, and such that are not.
    pub keep: Vec<String>,
    pub drop: Vec<String>,
    pub reason: Option<String>,
}

/// Result of a settled conflict.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub id: SessionId,
    pub commit: Oid,
    pub state: State,
    /// Number of conflicts that still wait.
    pub left: usize,
    /// Tasks that got another id.
    pub renamed: Vec<Renamed>,
    /// Domains that the sides said otherwise, as they are now.
    pub joined: Vec<Domain>,
}

/// Settles conflicts by one operation.
pub(crate) fn resolve(ctx: &Context, choices: &Choices) -> Result<Resolved> {
    require_list(choices)?;
    let opening = Opening::of(ctx)?;
    let (id, copy) = opening.with_copy(ctx)?;
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| {
        let session = snapshot.find(&id)?.ok_or_else(|| unknown(snapshot, &id))?;
        let state = &session.state;
        let (keep, drop) = operations(state, choices)?;
        if !keep.is_empty() || !drop.is_empty() {
            let (policy, _) = ctx.policy_if_there(state)?;
            let agent = agent::host(loopx_base::env::var);
            agent::require_person(&policy, agent.as_deref(), "choosing between two records")?;
        }
        let all = snapshot.operations(&session)?;
        let dropped = all.iter().filter(|op| drop.contains(&op.op));
        let dropped: Vec<&Operation> = dropped.collect();
        undo::require_own_refusals(ctx, snapshot, &session, &dropped, &identity.author)?;
        let mut writes = BTreeMap::new();
        let (mut renamed, mut joined) = (Vec::new(), Vec::new());
        if let Some((artifact, text)) = &choices.artifact {
            let mut text = text.clone();
            if let Some(kept) = together(ctx, state, *artifact, text.as_ref())? {
                text = Some(Text::Given(kept.text.into_bytes()));
                (renamed, joined) = (kept.renamed, kept.joined);
            }
            let to = chosen(
                ctx,
                copy.as_ref(),
                state,
                &identity.author,
                *artifact,
                &text,
            )?;
            let from = state.artifacts.get(artifact).cloned();
            writes.insert(*artifact, Write { from, to });
        }
        let mut others = BTreeMap::new();
        if let Some((path, text)) = &choices.file {
            let me = &identity.author;
            let to = chosen_file(ctx, copy.as_ref(), (state, all.as_slice()), me, path, text)?;
            let from = state.output(path).cloned();
            let to = Some(to);
            others.insert(path.clone(), Write { from, to });
        }
        let what = match (keep.len() + drop.len(), &choices.artifact, &choices.file) {
            (0, Some((artifact, _)), _) => format!("resolve {artifact}"),
            (0, None, Some((path, _))) => format!("resolve {path}"),
            (n, _, _) => format!("resolve {}", counted(n, "operation")),
        };
        let mut draft = draft(identity, state, Word::Resolved { keep, drop });
        draft.reason.clone_from(&choices.reason);
        draft.writes = writes;
        draft.others = others;
        let op = seal(&ctx.repo, &draft)?;
        let mut edits = store::Edits::default();
        let after = edits.rebuild(&ctx.repo, &session, &op)?;
        let message = store::message(&id, &what, &op, &after);
        Ok(Decision {
            edits,
            message,
            value: (after, renamed, joined),
        })
    };
    let publish = Step::publish(&ctx.repo, &id, &BTreeMap::new());
    let follows = |_: &_| publish.clone().into_iter().collect();
    let scope = opening.scope(ctx);
    let committed = scope.commit(decide, follows)?;
    let (state, renamed, joined) = committed.value;
    Ok(Resolved {
        id,
        commit: committed.commit,
        left: state.open_conflicts(),
        state,
        renamed,
        joined,
    })
}

/// The operations that a person named. To keep one is to drop what stands against it.
fn operations(state: &State, choices: &Choices) -> Result<(Vec<OpId>, Vec<OpId>)> {
    let mut keep = Vec::new();
    let mut drop = Vec::new();
    for name in &choices.keep {
        let conflict = named(state, name)?;
        if conflict.with.is_empty() {
            return Err(Failure::refused(
                Code::OperationUnfit,
                format!("{} cannot count: {}", conflict.op, conflict.why),
            )
            .help(command!("resolve --drop {}", conflict.op).session(&state.id)));
        }
        keep.push(conflict.op.clone());
        drop.extend(conflict.with.iter().cloned());
    }
    for name in &choices.drop {
        drop.push(named(state, name)?.op.clone());
    }
    if let Some(both) = keep.iter().find(|op| drop.contains(op)) {
        return Err(Failure::usage(
            Code::ChoiceContradicts,
            format!("expected one choice for {both}, found that it would be kept and left out"),
        )
        .help(command!("resolve").session(&state.id)));
    }
    keep.sort();
    drop.sort();
    keep.dedup();
    drop.dedup();
    Ok((keep, drop))
}

/// A conflict by the id of its operation, or a part of it that no other has.
fn named<'s>(state: &'s State, name: &str) -> Result<&'s OpConflict> {
    let fits: Vec<&OpConflict> = state
        .conflicts
        .iter()
        .filter(|conflict| conflict.op.as_str().contains(name))
        .collect();
    match fits.as_slice() {
        [only] => Ok(*only),
        [] => Err(Failure::not_found(
            Code::ConflictUnknown,
            format!(
                "session {} has no conflict about an operation `{name}`",
                state.id
            ),
        )
        .help(command!("resolve").session(&state.id))),
        many => Err(Failure::usage(
            Code::ConflictAmbiguous,
            format!(
                "`{name}` is the beginning of the ids of {} operations: give more of one id",
                many.len()
            ),
        )
        .help(command!("resolve").session(&state.id))),
    }
}

/// Refuses to keep all sides of anything but a list of tasks.
fn require_list(choices: &Choices) -> Result<()> {
    let of = |text: &Option<Text>| text.as_ref() == Some(&Text::Both);
    let name = match (&choices.artifact, &choices.file) {
        (Some((artifact, text)), _) if of(text) && *artifact != Artifact::TaskList => {
            artifact.to_string()
        }
        (_, Some((path, text))) if of(text) => shell_word(path),
        _ => return Ok(()),
    };
    let message = format!(
        "expected --both with {}, found it with {name}",
        Artifact::TaskList
    );
    Err(Failure::usage(Code::ChoiceContradicts, message).help(command!("resolve {name} --side 1")))
}

/// The list with the tasks of all sides, where somebody chose that.
fn together(
    ctx: &Context,
    state: &State,
    artifact: Artifact,
    text: Option<&Text>,
) -> Result<Option<KeptBoth>> {
    let join = state.joins.get(&artifact).filter(|join| !join.clean);
    // Without a conflict it is refused with what there is to resolve.
    let (Some(Text::Both), Some(join)) = (text, join) else {
        return Ok(None);
    };
    let (base, sides) = texts(ctx, join)?;
    let sides: Vec<&str> = sides.iter().map(String::as_str).collect();
    let kept = file::keep_both(&base, &sides).map_err(|why| {
        let twice = Lists::of(ctx, artifact, join).is_ok_and(|lists| !lists.made_twice.is_empty());
        let message = format!("{artifact}: the tasks of all sides cannot be kept together: {why}");
        let by_hand = by_hand(ctx, state, artifact, twice);
        Failure::conflict(Code::ArtifactConflict, message).help(by_hand)
    })?;
    Ok(Some(kept))
}

/// The way to settle an artifact by hand.
fn by_hand(ctx: &Context, state: &State, artifact: Artifact, is_twice: bool) -> Hint {
    let more = if is_twice { ANOTHER_ID } else { "" };
    hint![
        format!(
            "choose between the marked sides in {}/{artifact}{more}, then: ",
            ctx.folder(&state.id)
        ),
        command!("resolve {artifact}").session(&state.id)
    ]
}

/// Advice where both tasks of one id are to stay.
pub(crate) const ANOTHER_ID: &str =
    " (of two tasks with one id that are both to stay, give one of the two another id)";

/// Refuses a list that has one id twice: no command reads it then, and nothing would be left to resolve.
fn require_ids(ctx: &Context, state: &State, join: &Join, text: &str) -> Result<()> {
    let blocker = |one: Finding| {
        let at = format!("{}:{}: {}", one.file, one.line, one.message);
        Blocker::new(Code::Finding(one.id), at, one.fix)
    };
    let repeated: Vec<Blocker> = file::repeated(text).into_iter().map(blocker).collect();
    let Some(first) = repeated.first() else {
        return Ok(());
    };
    let path = Artifact::TaskList.path();
    let settle = command!("resolve {path}").session(&state.id);
    let by_hand = format!(
        "give one of the two another id in {}/{path}, then: ",
        ctx.folder(&state.id)
    );
    let lists = Lists::of(ctx, Artifact::TaskList, join)?;
    let help = if lists.keeps_all {
        let both = command!("resolve {path} --both").session(&state.id);
        hint![by_hand, settle, "  or: ", both]
    } else {
        hint![by_hand, settle]
    };
    let failure = Failure::refused(Code::TaskListInvalid, first.message.clone());
    Err(failure.help(help).blockers(repeated))
}

/// A file of a session of which there are several sides.
struct Sides<'a, B> {
    session: &'a SessionId,
    path: &'a str,
    /// The content of each side, and whether whoever resolves wrote it.
    sides: Vec<(B, bool)>,
}

impl<B: Clone> Sides<'_, B> {
    /// The side with this number.
    fn side(&self, number: usize) -> Result<B> {
        let side = number.checked_sub(1).and_then(|at| self.sides.get(at));
        side.map(|(content, _)| content.clone()).ok_or_else(|| {
            let (path, count) = (self.path, self.sides.len());
            let message = format!("{path} has {count} sides, found --side {number}");
            Failure::usage(Code::SideUnknown, message)
                .help(command!("resolve").session(self.session))
        })
    }

    /// The one side that whoever resolves wrote, or did not write.
    fn side_of(&self, me: &Person, is_mine: bool) -> Result<B> {
        let fits = self.sides.iter().filter(|(_, mine)| *mine == is_mine);
        match fits.collect::<Vec<_>>().as_slice() {
            [(only, _)] => Ok(only.clone()),
            many => Err(Failure::usage(
                Code::SideAmbiguous,
                format!(
                    "{} of the {} sides of {} {} by {me}",
                    many.len(),
                    self.sides.len(),
                    self.path,
                    if is_mine { "are" } else { "are not" }
                ),
            )
            .help(self.first_side())),
        }
    }

    /// The text in its file here.
    fn here(&self, file: Option<&Path>) -> Result<Vec<u8>> {
        let bytes = match file {
            Some(file) => files::read(file, u64::MAX)?,
            None => None,
        };
        bytes.ok_or_else(|| {
            Failure::usage(
                Code::ArtifactNotCheckedOut,
                format!("{} is not in a working copy here", self.path),
            )
            .help(self.first_side().note("(or --file FILE)"))
        })
    }

    /// The command that takes a side by its number.
    fn first_side(&self) -> Hint {
        command!("resolve {} --side 1", shell_word(self.path)).session(self.session)
    }
}

/// The refusal to resolve what has no sides.
fn nothing_to_resolve(path: &str, session: &SessionId) -> Failure {
    Failure::nothing(
        Code::NothingToResolve,
        format!("{path} of session {session} has no conflict"),
    )
    .help(command!("resolve").session(session))
}

/// The blob that a person chose for an artifact.
fn chosen(
    ctx: &Context,
    copy: Option<&WorkCopy<'_>>,
    state: &State,
    me: &Person,
    artifact: Artifact,
    text: &Option<Text>,
) -> Result<Option<Oid>> {
    let Some(join) = state.joins.get(&artifact).filter(|join| !join.clean) else {
        return Err(nothing_to_resolve(artifact.path(), &state.id));
    };
    let sides = join.sides.iter();
    let apart = Sides {
        session: &state.id,
        path: artifact.path(),
        sides: sides
            .map(|side| (side.blob.clone(), side.by.is_same(me)))
            .collect(),
    };
    let bytes = match text.as_ref().unwrap_or(&Text::WorkingCopy) {
        Text::Side(number) => return apart.side(*number),
        Text::Mine => return apart.side_of(me, true),
        Text::Theirs => return apart.side_of(me, false),
        Text::Given(bytes) => bytes.clone(),
        Text::WorkingCopy | Text::Both => {
            let file = copy.map(|copy| copy.path(artifact)).transpose()?;
            apart.here(file.as_deref())?
        }
    };
    let text = resolved(ctx, state, (artifact, join), bytes)?;
    ctx.repo.write_blob(text.as_bytes()).map(Some)
}

/// The text that a person put together from the sides of an artifact, where it may be stored.
fn resolved(
    ctx: &Context,
    state: &State,
    (artifact, join): (Artifact, &Join),
    bytes: Vec<u8>,
) -> Result<String> {
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::refused(Code::ArtifactNotUtf8, format!("{artifact}: expected UTF-8"))
    })?;
    if let Some(line) = marker_line(&text) {
        return Err(Failure::conflict(
            Code::ArtifactConflict,
            format!("{artifact}:{line}: conflict markers are still there"),
        )
        .help(by_hand(ctx, state, artifact, false)));
    }
    if artifact == Artifact::TaskList {
        require_ids(ctx, state, join, &text)?;
    }
    let faults = gate::faults(artifact, &text);
    if let Some(first) = faults.first() {
        return Err(
            Failure::refused(Code::ArtifactInvalid, first.message.clone())
                .help(first.help.clone())
                .blockers(faults),
        );
    }
    Ok(text)
}

/// The blob that a person chose for a file of a task.
fn chosen_file(
    ctx: &Context,
    copy: Option<&WorkCopy<'_>>,
    (state, operations): (&State, &[Operation]),
    me: &Person,
    path: &str,
    text: &Option<Text>,
) -> Result<Oid> {
    let mut known = state.outputs_apart();
    let Some((_, versions)) = known.find(|(known, _)| *known == path) else {
        return Err(nothing_to_resolve(path, &state.id));
    };
    let is_mine = |blob: &Oid| {
        let by = writer(operations, path, blob).map(|op| &op.by);
        by.is_some_and(|by| by.is_same(me))
    };
    let sides = versions.iter();
    let apart = Sides {
        session: &state.id,
        path,
        sides: sides.map(|blob| (blob.clone(), is_mine(blob))).collect(),
    };
    let bytes = match text.as_ref().unwrap_or(&Text::WorkingCopy) {
        Text::Side(number) => return apart.side(*number),
        Text::Mine => return apart.side_of(me, true),
        Text::Theirs => return apart.side_of(me, false),
        Text::Given(bytes) => bytes.clone(),
        Text::WorkingCopy | Text::Both => {
            let file = copy.map(|copy| copy.output_path(path)).transpose()?;
            apart.here(file.as_deref())?
        }
    };
    if let Some(line) = std::str::from_utf8(&bytes).ok().and_then(marker_line) {
        return Err(Failure::conflict(
            Code::ArtifactConflict,
            format!("{path}:{line}: conflict markers are still there"),
        )
        .help(apart.first_side()));
    }
    ctx.repo.write_blob(&bytes)
}
