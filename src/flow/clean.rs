//! `clean`: what is stale, and what can be done about it. It is shown first; what is done then can be taken back, or
//! loses nothing. What may be somebody's unfinished work is named and stays: a branch that is not merged, edits that are
//! not saved, a branch that this clone cannot see.
//!
//! Leftovers of a killed process are taken away by `doctor --fix`, and not by `clean`.

use super::context::Context;
use super::leftover;
use super::leftover::Leftover;
use super::sessions::abandoning;
use super::transaction::{Act, Needs, act, act_beside};
use super::upstream;
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, Person, SessionId};
use loopx_base::vocabulary::vocabulary;
use loopx_git::run::Run;
use loopx_rules::lease::seconds_of;
use loopx_rules::op::{Event, Operation};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Stage;
use loopx_store::{Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The seconds of a day.
const DAY: i64 = 24 * 60 * 60;

vocabulary!(
    /// Kinds of stale things.
    Stale {
        /// An active session that nothing touched for long.
        Sessions = "sessions",
        /// A binding to a branch that is gone.
        Bindings = "bindings",
        /// The working copy of a session that has ended, or is not there.
        Copies = "copies",
        /// A ref that keeps what the branch of sessions has.
        Refs = "refs",
    }
);

/// A stale thing, and the step to take about it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    pub what: Stale,
    pub name: String,
    pub why: String,
    /// The reason why the item stays.
    pub kept: Option<String>,
    /// The step that is taken about the item.
    pub step: &'static str,
    /// The command that takes the step back; nothing where the step loses nothing.
    pub undo: Option<Hint>,
    /// Set when the step is taken now.
    pub done: bool,
    /// The reason why the step could not be taken.
    pub failed: Option<String>,
    #[serde(skip)]
    doing: Doing,
}

/// A step against something stale, with the facts that it rests on.
#[derive(Clone, Debug)]
enum Doing {
    Abandon(SessionId),
    Unbind(SessionId, String),
    Remove(Leftover),
    Drop(Oid),
}

/// The kinds and the age that somebody asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The kinds; where none is named, all of them.
    pub what: Vec<Stale>,
    /// Sessions that nothing touched for so many days.
    pub days: u32,
}

/// The search for stale things, with the time before which a session has to be touched last.
struct Look<'c> {
    ctx: &'c Context,
    before: i64,
    days: u32,
    me: Person,
    names_bindings: bool,
    found: Vec<Item>,
}

/// A session that nothing touched for long, with all its records.
struct Old {
    session: Session,
    operations: Vec<Operation>,
}

/// Looks for what is stale. Nothing is changed.
pub(crate) fn look(ctx: &Context, request: &Request) -> Result<Vec<Item>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let mut look = Look::new(ctx, request)?;
    let wants = |what: Stale| request.what.is_empty() || request.what.contains(&what);
    let stale = look.stale(&snapshot)?;
    if wants(Stale::Sessions) {
        for session in &stale {
            look.session(session)?;
        }
    }
    if wants(Stale::Bindings) {
        for session in &stale {
            look.binding(session)?;
        }
    }
    if wants(Stale::Copies) {
        look.copies(&snapshot)?;
    }
    if wants(Stale::Refs) {
        look.refs(snapshot.commit())?;
    }
    Ok(look.found)
}

/// Does what is to be done, each step whatever becomes of the others. Each looks again at what it rests on.
pub(crate) fn clean(ctx: &Context, request: &Request) -> Result<Vec<Item>> {
    let mut items = look(ctx, request)?;
    let look = Look::new(ctx, request)?;
    for item in items.iter_mut().filter(|item| item.kept.is_none()) {
        match done(&look, item) {
            Ok(()) => item.done = true,
            Err(failure) => item.failed = Some(failure.message),
        }
    }
    Ok(items)
}

fn done(look: &Look<'_>, item: &Item) -> Result<()> {
    let ctx = look.ctx;
    match &item.doing {
        Doing::Abandon(id) => {
            let why = format!("{} ({})", item.why, "git loopx clean");
            act(&ctx.about(id)?, Needs::Operations, |facts| {
                look.require_old(&facts.state, &facts.operations)?;
                require_none(id, look.holds(&facts.state, &facts.operations)?)?;
                if facts.saved.is_empty() && facts.outputs.is_empty() {
                    Ok(abandoning(facts, Some(why.clone())))
                } else {
                    Err(moved_on(id))
                }
            })
            .map(drop)
        }
        Doing::Unbind(id, branch) => act_beside(&ctx.about(id)?, Needs::Operations, |facts| {
            look.require_old(&facts.state, &facts.operations)?;
            require_none(id, look.of_another(&facts.state, &facts.operations))?;
            if facts.state.branch.as_ref() == Some(branch) {
                Ok(Act::new(Event::Unbound, format!("unbind {branch}"), ())
                    .reason(Some(item.why.clone())))
            } else {
                Err(moved_on(id))
            }
        })
        .map(drop),
        Doing::Remove(left) => {
            let store = ctx.store()?;
            let _lock = store.lock()?;
            leftover::take_away(&ctx.repo, left)
        }
        Doing::Drop(tip) => {
            let store = ctx.store()?;
            let _lock = store.lock()?;
            ctx.repo.drop_ref(&item.name, tip)
        }
    }
}

fn moved_on(id: &SessionId) -> Failure {
    Failure::refused(
        Code::SessionMovedOn,
        format!("somebody goes on with session {id}"),
    )
    .help(command!("clean"))
}

/// Refuses where there is a reason by now for a session to stay.
fn require_none(id: &SessionId, kept: Option<String>) -> Result<()> {
    match kept {
        None => Ok(()),
        Some(why) => Err(Failure::refused(
            Code::SessionMovedOn,
            format!("session {id} stays: {why}"),
        )
        .help(command!("clean"))),
    }
}

/// The newest date of all records. Clocks differ, and a date can be chosen: the last record may have an old date.
/// Nothing where a date cannot be read.
fn newest<'o>(state: &'o State, operations: &'o [Operation]) -> Option<(i64, &'o str)> {
    let dates = operations.iter().map(|op| op.at.as_str());
    let dated: Option<Vec<(i64, &str)>> = dates
        .chain([state.touched.at.as_str()])
        .map(|at| Some((seconds_of(at)?, at)))
        .collect();
    dated?.into_iter().max()
}

/// Tells whether two entries have one address. A shared name is not enough to end the work of somebody.
fn has_one_address(one: &Person, other: &Person) -> bool {
    let (one, other) = (one.email.trim(), other.email.trim());
    !one.is_empty() && one.to_lowercase() == other.to_lowercase()
}

impl<'c> Look<'c> {
    fn new(ctx: &'c Context, request: &Request) -> Result<Self> {
        Ok(Look {
            ctx,
            before: ctx.now() - i64::from(request.days) * DAY,
            days: request.days,
            me: ctx.repo.identity()?.author,
            names_bindings: request.what.contains(&Stale::Bindings),
            found: Vec::new(),
        })
    }

    fn is_old(&self, state: &State, operations: &[Operation]) -> bool {
        newest(state, operations).is_some_and(|(at, _)| at < self.before)
    }

    fn require_old(&self, state: &State, operations: &[Operation]) -> Result<()> {
        if self.is_old(state, operations) {
            Ok(())
        } else {
            Err(moved_on(&state.id))
        }
    }

    /// The active sessions that nothing touched for long.
    fn stale(&self, snapshot: &Snapshot<'_>) -> Result<Vec<Old>> {
        let mut found = Vec::new();
        for (id, summary) in snapshot.summaries(false)? {
            let Ok(summary) = summary else { continue };
            let touched = seconds_of(&summary.touched);
            if summary.ending.is_some() || touched.is_none_or(|at| at >= self.before) {
                continue;
            }
            // What is damaged is the business of fsck.
            let Ok(Some(session)) = snapshot.session(&id) else {
                continue;
            };
            let Ok(operations) = snapshot.operations(&session) else {
                continue;
            };
            if self.is_old(&session.state, &operations) {
                found.push(Old {
                    session,
                    operations,
                });
            }
        }
        Ok(found)
    }

    fn since(&self, old: &Old) -> String {
        let state = &old.session.state;
        let at = newest(state, &old.operations).map_or(state.touched.at.as_str(), |(_, at)| at);
        let day: String = at.chars().take(10).collect();
        format!("nothing touched it for {} days: since {day}", self.days)
    }

    /// The reason why a session is not this person's alone: who started it, touched it last, or worked on it lately.
    fn of_another(&self, state: &State, operations: &[Operation]) -> Option<String> {
        let is_other = |person: &Person| !has_one_address(person, &self.me);
        if is_other(&state.started.by) {
            return Some(format!("{} started it", state.started.by.name));
        }
        if is_other(&state.touched.by) {
            return Some(format!("{} touched it last", state.touched.by.name));
        }
        let (last, _) = newest(state, operations)?;
        let recent = last - i64::from(self.days) * DAY;
        let mut all = operations.iter();
        let other =
            all.find(|op| is_other(&op.by) && seconds_of(&op.at).is_none_or(|at| at >= recent))?;
        Some(format!("{} worked on it too", other.by.name))
    }

    fn session(&mut self, old: &Old) -> Result<()> {
        let state = &old.session.state;
        let id = &state.id;
        self.found.push(Item {
            what: Stale::Sessions,
            name: id.to_string(),
            why: self.since(old),
            kept: self.holds(state, &old.operations)?,
            step: "abandon it; everything is kept",
            undo: Some(command!("undo").session(id)),
            done: false,
            failed: None,
            doing: Doing::Abandon(id.clone()),
        });
        Ok(())
    }

    /// The reason why a session may be somebody's work still.
    fn holds(&self, state: &State, operations: &[Operation]) -> Result<Option<String>> {
        if !state.is_understood() {
            return Ok(Some("a newer program wrote it".to_owned()));
        }
        if state.stage == Stage::Done {
            let archive = command!("archive {}", state.id);
            return Ok(Some(format!("it is done, and waits for `{archive}`")));
        }
        if let Some(why) = self.of_another(state, operations) {
            return Ok(Some(why));
        }
        if let Some(why) = self.not_merged(state)? {
            return Ok(Some(why));
        }
        let copies = leftover::copies(&self.ctx.repo, state)?;
        let edited = copies.into_iter().find(|copy| !copy.is_stored);
        match (edited, &state.branch) {
            (Some(copy), _) => Ok(Some(format!("{}: {}", copy.name, copy.why))),
            (None, Some(branch)) => edited_in(branch),
            (None, None) => Ok(None),
        }
    }

    /// The reason why nobody can say that the branch of a session has nothing of its own.
    fn not_merged(&self, state: &State) -> Result<Option<String>> {
        let Some(branch) = &state.branch else {
            return Ok(None);
        };
        let repo = &self.ctx.repo;
        // Wherever somebody has it: what is there may be the only copy.
        let here = repo.find_ref(&format!("refs/heads/{branch}"))?;
        let there = repo.tracking_refs(branch)?.into_iter().map(|(_, tip)| tip);
        let tips: Vec<Oid> = here.into_iter().chain(there).collect();
        if tips.is_empty() {
            return Ok(Some(format!(
                "its branch {branch} is not here: its work may be in another clone"
            )));
        }
        let (policy, _) = self.ctx.policy_if_there(state)?;
        let Some(target) = upstream::target(self.ctx, Some(branch), &policy)? else {
            return Ok(Some(format!(
                "there is no branch that {branch} could be merged into"
            )));
        };
        for tip in tips {
            let own = repo.range(&tip, &target.tips, usize::MAX)?;
            if !own.is_empty() {
                let count = counted(own.len(), "commit");
                return Ok(Some(format!(
                    "its branch {branch} has {count} that {} has not",
                    target.name
                )));
            }
        }
        Ok(None)
    }

    fn binding(&mut self, old: &Old) -> Result<()> {
        let state = &old.session.state;
        let (id, Some(branch)) = (&state.id, &state.branch) else {
            return Ok(());
        };
        if upstream::missing(self.ctx, state)?.is_none() {
            return Ok(());
        }
        let other = self.of_another(state, &old.operations);
        let kept = match (state.is_understood(), other) {
            (false, _) => Some("a newer program wrote it".to_owned()),
            (true, Some(who)) => Some(format!("{who}, and may have the branch")),
            (true, None) if self.names_bindings => None,
            (true, None) => {
                let named = command!("clean bindings --yes");
                Some(format!(
                    "another clone may have the branch, whose hooks hold nothing then: `{named}` unbinds it"
                ))
            }
        };
        self.found.push(Item {
            what: Stale::Bindings,
            name: id.to_string(),
            why: format!("its branch {branch} is not here, and no remote that was fetched has it"),
            kept,
            step: "unbind it; hooks in a clone that has the branch hold nothing then",
            undo: Some(command!("undo").session(id)),
            done: false,
            failed: None,
            doing: Doing::Unbind(id.clone(), branch.clone()),
        });
        Ok(())
    }

    fn copies(&mut self, snapshot: &Snapshot<'_>) -> Result<()> {
        let is_old = |state: &State| {
            let session = snapshot.session(&state.id).ok().flatten();
            let operations = session.and_then(|session| snapshot.operations(&session).ok());
            operations.is_some_and(|operations| self.is_old(state, &operations))
        };
        let is_over = |state: Option<&State>| match state {
            Some(state) if matches!(state.ending, Some(Ending::Abandoned { .. })) => {
                is_old(state).then_some("the session was abandoned long ago")
            }
            other => leftover::left_over(other),
        };
        for left in leftover::picked(&self.ctx.repo, snapshot, &is_over)? {
            self.found.push(Item {
                what: Stale::Copies,
                name: left.name.clone(),
                why: left.why.clone(),
                kept: match (left.is_stored, left.is_here) {
                    (false, _) => Some("nothing else has what is in it".to_owned()),
                    (true, true) => Some("the current directory is in it".to_owned()),
                    (true, false) => None,
                },
                step: "remove it; each file in it is stored as it stands",
                undo: None,
                done: false,
                failed: None,
                doing: Doing::Remove(left),
            });
        }
        Ok(())
    }

    /// Histories that were put aside and are in the branch again.
    fn refs(&mut self, tip: &Oid) -> Result<()> {
        let repo = &self.ctx.repo;
        let mut names = BTreeSet::new();
        for (name, kept_at) in self.ctx.store()?.displaced()? {
            let is_in = repo.contains(&kept_at)? && repo.is_ancestor(&kept_at, tip)?;
            if !names.insert(name.clone()) {
                continue;
            }
            self.found.push(Item {
                what: Stale::Refs,
                why: if is_in {
                    "what it keeps is in the branch of sessions".to_owned()
                } else {
                    "it keeps a history that was put aside".to_owned()
                },
                kept: (!is_in)
                    .then(|| format!("nothing else has it: git log --oneline {name} shows it")),
                step: "drop it",
                undo: Some(format!("git update-ref {name} {kept_at}").into()),
                done: false,
                failed: None,
                doing: Doing::Drop(kept_at),
                name,
            });
        }
        Ok(())
    }
}

/// The reason why a worktree that has the branch may have work in it: files that are not committed, or the worktree is
/// away.
fn edited_in(branch: &str) -> Result<Option<String>> {
    let listed = Run::git(["worktree", "list", "--porcelain", "-z"])
        .capture()?
        .ok()?;
    let wanted = format!("branch refs/heads/{branch}");
    let mut at = String::new();
    for field in listed.split(|byte| *byte == 0) {
        let field = String::from_utf8_lossy(field);
        if let Some(path) = field.strip_prefix("worktree ") {
            path.clone_into(&mut at);
        }
        if field != wanted {
            continue;
        }
        if !Path::new(&at).is_dir() {
            return Ok(Some(format!(
                "the worktree {at} has its branch {branch}, and is away"
            )));
        }
        let status = Run::git(["status", "--porcelain", "-z", "--untracked-files=normal"])
            .cwd(&at)
            .scrubbed()
            .env("GIT_OPTIONAL_LOCKS", "0")
            .capture()?;
        if !status.ended.success() {
            return Ok(Some(format!("git status does not work in {at}")));
        }
        if !status.stdout.is_empty() {
            return Ok(Some(format!("{at} has files that are not committed")));
        }
    }
    Ok(None)
}
