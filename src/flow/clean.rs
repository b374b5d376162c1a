//! `clean`: what is stale, and what can be done about it. It is shown first; what is done then can be taken back, or
//! loses nothing. What may be somebody's unfinished work is named and stays: a branch that is not merged, edits that are
//! not saved, a branch that this clone cannot see.
//!
//! What a killed process left is no business of `clean` but of `doctor --fix`.

use super::context::Context;
use super::leftover;
use super::leftover::Leftover;
use super::sessions::abandoning;
use super::transaction::{Act, Needs, act, act_beside};
use super::upstream;
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, SessionId};
use loopx_base::vocabulary::vocabulary;
use loopx_rules::lease::seconds_of;
use loopx_rules::op::Event;
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Stage;
use loopx_store::{Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeSet;

/// The seconds of a day.
const DAY: i64 = 24 * 60 * 60;

vocabulary!(
    /// What can be stale.
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

/// Something that is stale.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    pub what: Stale,
    pub name: String,
    pub why: String,
    /// Why it stays.
    pub kept: Option<String>,
    /// What is done about it.
    pub step: &'static str,
    /// How that is taken back; nothing where nothing is lost by it.
    pub undo: Option<Hint>,
    /// Whether it is done now.
    pub done: bool,
    /// Why it could not be done.
    pub failed: Option<String>,
    #[serde(skip)]
    doing: Doing,
}

/// What is done about something, with what it rests on.
#[derive(Clone, Debug)]
enum Doing {
    Abandon(SessionId),
    Unbind(SessionId, String),
    Remove(Leftover),
    Drop(Oid),
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Everything where nothing is named.
    pub what: Vec<Stale>,
    /// Sessions that nothing touched for so many days.
    pub days: u32,
}

/// Everything that is stale, with the time before which a session has to be touched last.
struct Look<'c> {
    ctx: &'c Context,
    before: i64,
    days: u32,
    found: Vec<Item>,
}

/// Looks for what is stale. Nothing is changed.
pub(crate) fn look(ctx: &Context, request: &Request) -> Result<Vec<Item>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let mut look = Look {
        ctx,
        before: ctx.now() - i64::from(request.days) * DAY,
        days: request.days,
        found: Vec::new(),
    };
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
    let before = ctx.now() - i64::from(request.days) * DAY;
    for item in items.iter_mut().filter(|item| item.kept.is_none()) {
        match done(ctx, item, before) {
            Ok(()) => item.done = true,
            Err(failure) => item.failed = Some(failure.message),
        }
    }
    Ok(items)
}

fn done(ctx: &Context, item: &Item, before: i64) -> Result<()> {
    match &item.doing {
        Doing::Abandon(id) => {
            let why = format!("{} ({})", item.why, "git loopx clean");
            act(&context_of(ctx, id)?, Needs::Stage, |facts| {
                require_stale(&facts.state, before)?;
                match facts.saved.is_empty() && facts.outputs.is_empty() {
                    true => Ok(abandoning(facts, Some(why.clone()))),
                    false => Err(moved_on(id)),
                }
            })
            .map(drop)
        }
        Doing::Unbind(id, branch) => act_beside(&context_of(ctx, id)?, Needs::Stage, |facts| {
            require_stale(&facts.state, before)?;
            match facts.state.branch.as_ref() == Some(branch) {
                true => Ok(Act::new(Event::Unbound, format!("unbind {branch}"), ())
                    .reason(Some(item.why.clone()))),
                false => Err(moved_on(id)),
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

/// A context in which this session is meant.
fn context_of(ctx: &Context, id: &SessionId) -> Result<Context> {
    let named = Context::open_for(id.as_str())?.0;
    Ok(named.telling(&ctx.taken, &ctx.aside))
}

fn moved_on(id: &SessionId) -> Failure {
    Failure::refused(
        Code::SessionMovedOn,
        format!("somebody goes on with session {id}"),
    )
    .help(command!("clean"))
}

fn require_stale(state: &State, before: i64) -> Result<()> {
    match is_untouched(state, before) {
        true => Ok(()),
        false => Err(moved_on(&state.id)),
    }
}

fn is_untouched(state: &State, before: i64) -> bool {
    seconds_of(&state.touched.at).is_some_and(|at| at < before)
}

impl Look<'_> {
    /// The active sessions that nothing touched for long.
    fn stale(&self, snapshot: &Snapshot<'_>) -> Result<Vec<Session>> {
        let mut found = Vec::new();
        for (id, summary) in snapshot.summaries(false)? {
            let Ok(summary) = summary else { continue };
            let touched = seconds_of(&summary.touched);
            if summary.ending.is_some() || touched.is_none_or(|at| at >= self.before) {
                continue;
            }
            // What is damaged is the business of fsck.
            if let Ok(Some(session)) = snapshot.session(&id) {
                found.push(session);
            }
        }
        Ok(found)
    }

    fn since(&self, state: &State) -> String {
        let day: String = state.touched.at.chars().take(10).collect();
        format!("nothing touched it for {} days: since {day}", self.days)
    }

    fn session(&mut self, session: &Session) -> Result<()> {
        let state = &session.state;
        let id = &state.id;
        self.found.push(Item {
            what: Stale::Sessions,
            name: id.to_string(),
            why: self.since(state),
            kept: self.holds(state)?,
            step: "abandon it; everything is kept",
            undo: Some(command!("undo").session(id)),
            done: false,
            failed: None,
            doing: Doing::Abandon(id.clone()),
        });
        Ok(())
    }

    /// Why a session may be somebody's work still.
    fn holds(&self, state: &State) -> Result<Option<String>> {
        if !state.is_understood() {
            return Ok(Some("a newer program wrote it".to_owned()));
        }
        if state.stage == Stage::Done {
            let archive = command!("archive {}", state.id);
            return Ok(Some(format!("it is done, and waits for `{archive}`")));
        }
        if let Some(why) = self.not_merged(state)? {
            return Ok(Some(why));
        }
        let copies = leftover::copies(&self.ctx.repo, state)?;
        let edited = copies.into_iter().find(|copy| !copy.is_stored);
        Ok(edited.map(|copy| format!("{}: {}", copy.name, copy.why)))
    }

    /// Why nobody can say that the branch of a session has nothing of its own.
    fn not_merged(&self, state: &State) -> Result<Option<String>> {
        let Some(branch) = &state.branch else {
            return Ok(None);
        };
        let repo = &self.ctx.repo;
        let tips = upstream::tips(repo, branch)?;
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

    fn binding(&mut self, session: &Session) -> Result<()> {
        let state = &session.state;
        let (id, Some(branch)) = (&state.id, &state.branch) else {
            return Ok(());
        };
        if upstream::missing(self.ctx, state)?.is_none() {
            return Ok(());
        }
        let me = self.ctx.repo.identity()?.author;
        let is_own = state.started.by.is_same(&me) && state.touched.by.is_same(&me);
        let kept = match (state.is_understood(), is_own) {
            (false, _) => Some("a newer program wrote it".to_owned()),
            (true, true) => None,
            (true, false) => Some(format!(
                "{} works on it, and may have the branch",
                state.touched.by.name
            )),
        };
        self.found.push(Item {
            what: Stale::Bindings,
            name: id.to_string(),
            why: format!("its branch {branch} is not here, and no remote that was fetched has it"),
            kept,
            step: "unbind it; the session goes on without a branch",
            undo: Some(command!("undo").session(id)),
            done: false,
            failed: None,
            doing: Doing::Unbind(id.clone(), branch.clone()),
        });
        Ok(())
    }

    fn copies(&mut self, snapshot: &Snapshot<'_>) -> Result<()> {
        let before = self.before;
        let is_over = |state: Option<&State>| match state {
            Some(state) if matches!(state.ending, Some(Ending::Abandoned { .. })) => {
                is_untouched(state, before).then_some("the session was abandoned long ago")
            }
            other => leftover::left_over(other),
        };
        for left in leftover::picked(&self.ctx.repo, snapshot, &is_over)? {
            self.found.push(Item {
                what: Stale::Copies,
                name: left.name.clone(),
                why: left.why.clone(),
                kept: (!left.is_stored).then(|| "nothing else has what is in it".to_owned()),
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
                why: match is_in {
                    true => "what it keeps is in the branch of sessions".to_owned(),
                    false => "it keeps a history that was put aside".to_owned(),
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
