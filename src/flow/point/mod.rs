//! `point`: a code commit and a state of the session under one name, and the way back to both. A point is a note, so it
//! is synced and merged as notes are, and no `undo` takes it away. Going back loses nothing: the code gets a new commit
//! with the tree of then on top of what is there, and the session an undo, which `redo` takes back.

mod tree;
pub(super) mod under_way;

use super::bound_here::require_branch;
use super::context::Context;
use super::note::filter::Filter;
use super::note::list::{Listed, of_session};
use super::note::{Where, note};
use super::transaction::require_active;
use super::undo::{self, Back};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_rules::note::{NoteKind, Said};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::node::TaskId;
use serde::{Deserialize, Serialize};

/// The sort of the note that is a point, and of the one that says that somebody went back to one.
const POINT: &str = "rollback_point";
const BACK: &str = "rollback";
/// The word of a claim.
const TAKE: &str = "take";

/// Content of a point's note beside its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Data {
    /// The last operation of the session then.
    op: OpId,
    /// The commit that was checked out then.
    commit: Oid,
    stage: Stage,
}

/// A point.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    pub name: String,
    pub op: OpId,
    pub commit: Oid,
    pub stage: Stage,
    pub at: String,
    pub by: String,
    /// Set when the commit that is checked out here is the point's, or goes on from it.
    pub here: bool,
    /// Set when the tree of the point's commit is what is checked out here.
    pub same: bool,
}

/// Going back.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WentBack {
    pub session: SessionId,
    pub point: String,
    /// The commit of before; nothing of it is lost.
    pub from: Oid,
    /// The commit with the code of then; nothing where the code was the same.
    pub commit: Option<Oid>,
    /// Set when a hook committed something else than was there then.
    pub changed: bool,
    /// Events of the session that were taken back, by word, the newest first.
    pub undone: Vec<String>,
}

/// Names the commit that is checked out and the state that the session has.
pub(crate) fn add(ctx: &Context, name: &str, reason: Option<&str>) -> Result<(SessionId, Point)> {
    if TaskId::parse(name).is_none() {
        return Err(Failure::usage(
            Code::PointInvalid,
            format!("expected a name of letters, digits, `-`, `_`, `.`, found `{name}`"),
        )
        .help(command!("point add before-the-move")));
    }
    let (state, head) = standing(ctx)?;
    if let Some(known) = points(ctx)?.into_iter().find(|point| point.name == name) {
        return Err(Failure::refused(
            Code::PointTaken,
            format!(
                "the point {name} is there already, on {}",
                known.commit.short()
            ),
        )
        .help(command!("point list")));
    }
    undo::require_saved_here(ctx, &state)?;
    let data = Data {
        op: state.last.clone(),
        commit: head.clone(),
        stage: state.stage,
    };
    let text = match reason {
        Some(reason) => format!("point {name}: {reason}"),
        None => format!("point {name}"),
    };
    let by = ctx.repo.identity()?;
    keep(ctx, POINT, name, text, &data)?;
    let point = Point {
        name: name.to_owned(),
        op: data.op,
        commit: head,
        stage: data.stage,
        at: by.at,
        by: by.author.name,
        here: true,
        same: true,
    };
    Ok((state.id, point))
}

/// The points of a session.
#[derive(Debug)]
pub(crate) struct Points {
    pub session: SessionId,
    /// Oldest first.
    pub points: Vec<Point>,
    /// The branch of the session, where another one is checked out: from there one goes back.
    pub elsewhere: Option<String>,
}

/// The points of the session that is meant.
pub(crate) fn list(ctx: &Context) -> Result<Points> {
    ctx.only_reads();
    let store = ctx.store()?;
    let state = ctx.session(&store.snapshot()?)?.state;
    let branch = state.branch.filter(|own| {
        let head = ctx.repo.head().ok().and_then(|head| head.branch);
        head.as_ref() != Some(own)
    });
    Ok(Points {
        session: state.id,
        points: points(ctx)?,
        elsewhere: branch,
    })
}

/// Goes back to a point: code and session. What would lose something is refused before anything changes. Only a hook, or
/// git itself, refuses the commit later: then the undo is taken back, and both records stay in the log.
pub(crate) fn back(
    ctx: &Context,
    name: &str,
    (reason, sign): (Option<String>, bool),
) -> Result<WentBack> {
    let (state, head) = standing(ctx)?;
    let found = points(ctx)?.into_iter().find(|point| point.name == name);
    let point = found.ok_or_else(|| unknown(ctx, name))?;
    require_way(&state, &point)?;
    let [from, to] = [&head, &point.commit].map(|commit| ctx.repo.commit_info(commit));
    let (from, to) = (from?.tree, to?.tree);
    tree::require_free(ctx, (&from, &to))?;
    undo::require_saved_here(ctx, &state).map_err(|failure| {
        let again = command!("point back {name}");
        let over = undo::overwriting();
        failure.help(hint![command!("save"), ", then: ", again, "  or: ", over])
    })?;
    let back = Back::Within(point.op.to_string());
    let told = match undo::undo(ctx, &back, reason, sign) {
        Ok(told) => told.moved,
        Err(failure) if failure.code == Code::NothingToUndo => Vec::new(),
        Err(failure) if failure.code == Code::ReasonRequired => {
            return Err(failure.help(command!("point back {name} --reason WHY")));
        }
        Err(failure) => return Err(failure),
    };
    let undone: Vec<String> = told.iter().map(|one| one.event.clone()).collect();
    let commit = if from == to {
        None
    } else {
        match tree::commit(ctx, name, (&from, &to)) {
            Ok(commit) => commit,
            Err(failure) => return Err(beside(ctx, failure, (redoable(&undone), sign))),
        }
    };
    let tree = commit.as_ref().map(|commit| ctx.repo.commit_info(commit));
    let tree = tree.transpose();
    let mut went = WentBack {
        session: state.id.clone(),
        point: name.to_owned(),
        from: head,
        commit,
        changed: false,
        undone,
    };
    let noted = tree.and_then(|tree| {
        went.changed = tree.is_some_and(|info| info.tree != to);
        keep(ctx, BACK, name, format!("went back to {name}"), &went)
    });
    let done = (format!("{name} is reached"), "the note that says so");
    let on = forth(&went).map(|forth| hint![&forth, "  (takes it back)"]);
    ctx.follow(done, on.unwrap_or_else(|| command!("point list")), noted);
    Ok(went)
}

/// Commands that take going back back; nothing where nothing changed.
pub(crate) fn forth(went: &WentBack) -> Option<Hint> {
    let revert = went.commit.as_ref();
    let revert = revert.map(|commit| Hint::git(format!("revert --no-edit {}", commit.short())));
    match (revert, redoable(&went.undone)) {
        (Some(revert), 0) => Some(revert),
        (Some(revert), count) => Some(hint![&revert, ", then: ", command!("redo {count}")]),
        (None, 0) => None,
        (None, count) => Some(command!("redo {count}")),
    }
}

/// Counts the undone events that `redo` brings back: a claim comes with what it rests on.
fn redoable(undone: &[String]) -> usize {
    undone.iter().filter(|event| *event != TAKE).count()
}

/// The session that is meant and the commit that is checked out, where that is its branch and nothing is edited.
fn standing(ctx: &Context) -> Result<(State, Oid)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session_to_change(&snapshot)?)?;
    require_branch(ctx, &session.state)?;
    let code = ctx.code()?.ok_or_else(super::working::no_worktree)?;
    let head = code.head.ok_or_else(|| {
        Failure::not_found(Code::NoCommit, "the repository has no commit yet")
            .help(Hint::git("commit"))
    })?;
    match code.uncommitted.first() {
        None => Ok((session.state, head)),
        Some(one) => Err(Failure::refused(
            Code::WorktreeDirty,
            format!("{} is not committed, and a point names a commit", one.path),
        )
        .help(Hint::git("status"))),
    }
}

fn require_way(state: &State, point: &Point) -> Result<()> {
    let name = &point.name;
    if point.stage != state.stage {
        return Err(Failure::refused(
            Code::PointElsewhere,
            format!(
                "the point {name} is of stage {}, and the session is in stage {}",
                point.stage, state.stage
            ),
        )
        .help(command!("undo --to {}", point.op)));
    }
    if !point.here {
        return Err(Failure::refused(
            Code::PointElsewhere,
            format!(
                "the point {name} is on {}, which the branch here does not have",
                point.commit.short()
            ),
        )
        .help(Hint::git(format!("log {}", point.commit.short()))));
    }
    Ok(())
}

/// The code could not go back: the session is as it was again.
fn beside(ctx: &Context, mut failure: Failure, (count, sign): (usize, bool)) -> Failure {
    if count > 0 && undo::redo(ctx, count, None, sign).is_err() {
        failure = failure.help(command!("redo {count}"));
    }
    failure
}

fn keep(ctx: &Context, sort: &str, name: &str, text: String, data: &impl Serialize) -> Result<()> {
    let data = serde_json::to_string(data)
        .map_err(|error| Failure::internal(Code::PointInvalid, error.to_string()))?;
    let said = Said {
        sort: Some(sort.to_owned()),
        about: Some(name.to_owned()),
        data: Some(data),
        ..Said::new(NoteKind::Message, text)
    };
    note(ctx, &said, &Where::default(), None).map(drop)
}

fn points(ctx: &Context) -> Result<Vec<Point>> {
    let filter = Filter {
        sort: Some(POINT.to_owned()),
        ..Filter::default()
    };
    let head = ctx.repo.head()?.commit;
    let snapshot = ctx.store()?.snapshot()?;
    // The session that is meant has them, also where another branch is checked out.
    let session = ctx.session(&snapshot)?;
    let mut found: Vec<Point> = Vec::new();
    for listed in of_session(&snapshot, &session, &filter)? {
        let Some(point) = point(ctx, head.as_ref(), listed)? else {
            continue;
        };
        // Of two that clones named apart the first by number has the name.
        if !found.iter().any(|known| known.name == point.name) {
            found.push(point);
        }
    }
    Ok(found)
}

/// The point that a note is; nothing where somebody wrote something else under that sort.
fn point(ctx: &Context, head: Option<&Oid>, listed: Listed) -> Result<Option<Point>> {
    let data = listed
        .data
        .and_then(|data| serde_json::from_value::<Data>(data).ok());
    let (Some(name), Some(Data { op, commit, stage })) = (listed.about, data) else {
        return Ok(None);
    };
    let repo = &ctx.repo;
    let (mut here, mut same) = (false, false);
    // Anybody can write a note: what it names may be no commit.
    if let (Some(head), Ok(then)) = (head, repo.commit_info(&commit)) {
        here = repo.is_ancestor(&commit, head)?;
        same = repo.commit_info(head)?.tree == then.tree;
    }
    Ok(Some(Point {
        name,
        op,
        commit,
        stage,
        at: listed.at,
        by: listed.by.name,
        here,
        same,
    }))
}

fn unknown(ctx: &Context, name: &str) -> Failure {
    let failure = Failure::not_found(Code::PointUnknown, format!("there is no point `{name}`"));
    let names = points(ctx).unwrap_or_default();
    let near = loopx_base::nearest(name, names.iter().map(|point| point.name.as_str()));
    match near {
        Some(near) => failure.help(command!("point back {near}")),
        None => failure.help(command!("point list")),
    }
}
