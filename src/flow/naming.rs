//! The session that is meant (design 9): named, in full or by the beginning of its id, bound to the branch, or the
//! only active one.
//!
//! The only active one is for reading. A command that changes something takes that session where the branch is bound
//! to no session and the session to no branch, and says so; else the command asks for the name.

use super::context::Context;
use super::landed;
use super::next::Look;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_base::prefix;
use loopx_rules::next::{Around, Meant, Next, meant};
use loopx_rules::session::Ending;
use loopx_store::{Session, Snapshot};

/// The number of sessions that a refusal names.
const NAMED: usize = 10;

/// The number of sessions, those archived last, that are asked whether they have landed.
const LANDING: usize = 5;

impl Context {
    /// The session that is meant. A command that leads on from the only one names it, where it would not be taken for
    /// a change.
    pub fn session_id(&self, snapshot: &Snapshot<'_>) -> Result<SessionId> {
        if let Some(id) = self.called(snapshot)? {
            return Ok(id);
        }
        let id = self.only(snapshot)?;
        if let Ok(Some(session)) = snapshot.session(&id)
            && session.state.branch.is_some()
            && session.state.branch != self.head()?.branch
        {
            *self.aside.borrow_mut() = Some(id.clone());
        }
        Ok(id)
    }

    /// The session that is meant by a command that changes it.
    pub fn session_id_to_change(&self, snapshot: &Snapshot<'_>) -> Result<SessionId> {
        let (id, is_taken) = self.meant_to_change(snapshot)?;
        if is_taken {
            *self.taken.borrow_mut() = Some(id.clone());
        }
        Ok(id)
    }

    /// The session that a command would change, and whether it is taken because it is the only one.
    pub(super) fn meant_to_change(&self, snapshot: &Snapshot<'_>) -> Result<(SessionId, bool)> {
        if let Some(id) = self.called(snapshot)? {
            return Ok((id, false));
        }
        let id = self.only(snapshot)?;
        let is_taken = self.takes(snapshot, &id)?;
        Ok((id, is_taken))
    }

    /// Tells whether the only session is taken from where no session is called: not where it has ended on this branch.
    /// Refused where the session is bound to another branch.
    fn takes(&self, snapshot: &Snapshot<'_>, only: &SessionId) -> Result<bool> {
        // One that cannot be read is refused by whoever reads it.
        if let Ok(Some(session)) = snapshot.session(only)
            && let Some(branch) = &session.state.branch
        {
            let here = self.head()?.branch;
            // It has ended, and its branch is nobody's since.
            return if here.as_ref() == Some(branch) {
                Ok(false)
            } else {
                Err(self.elsewhere(snapshot, only, branch)?)
            };
        }
        Ok(true)
    }

    /// Tells whether a command that changes something means this session here without its name. Of many sessions no
    /// more are read than it takes to see that another goes on.
    pub(super) fn means(&self, snapshot: &Snapshot<'_>, id: &SessionId) -> Result<bool> {
        if let Some(called) = self.called(snapshot)? {
            return Ok(called == *id);
        }
        let (mut is_there, mut has_others) = (false, false);
        let another = snapshot.any_active(|other| {
            let is_other = other != id;
            is_there |= !is_other;
            has_others |= is_other;
            is_other && goes_on(snapshot, other)
        })?;
        let is_only = !another && is_there && (!has_others || goes_on(snapshot, id));
        Ok(is_only && self.takes(snapshot, id).is_ok())
    }

    /// The session that is meant, loaded.
    pub fn session(&self, snapshot: &Snapshot<'_>) -> Result<Session> {
        load(snapshot, &self.session_id(snapshot)?)
    }

    /// The session that is meant, unless it is the only one and another branch is its own; none where several could be.
    pub(super) fn session_here(&self, snapshot: &Snapshot<'_>) -> Result<Option<Session>> {
        if let Some(id) = self.called(snapshot)? {
            return load(snapshot, &id).map(Some);
        }
        let Ok(id) = self.only(snapshot) else {
            return Ok(None);
        };
        let session = load(snapshot, &id)?;
        let branch = session.state.branch.as_ref();
        let is_elsewhere = branch.is_some() && branch != self.head()?.branch.as_ref();
        Ok(Some(session).filter(|_| !is_elsewhere))
    }

    /// The session that is meant by a command that changes it.
    pub fn session_to_change(&self, snapshot: &Snapshot<'_>) -> Result<Session> {
        load(snapshot, &self.session_id_to_change(snapshot)?)
    }

    /// The session that `git loopx`, `status` and `next` speak of, and whether whoever asks is in it.
    pub(crate) fn asked(&self, snapshot: &Snapshot<'_>) -> Result<(Session, bool)> {
        match meant(self.around(snapshot)?) {
            Meant::Here(id) => Ok((load(snapshot, &id)?, true)),
            Meant::Elsewhere(id) => {
                *self.aside.borrow_mut() = Some(id.clone());
                Ok((load(snapshot, &id)?, false))
            }
            Meant::Several(many) => Err(self.several(snapshot, &many)?),
            Meant::Nothing => {
                let lead = super::begin::lead(self)?.into_hint();
                Err(self.nothing(snapshot)?.help(lead))
            }
        }
    }

    /// The sessions around whoever asks.
    fn around(&self, snapshot: &Snapshot<'_>) -> Result<Around> {
        let mut around = Around {
            called: self.called(snapshot)?,
            ..Around::default()
        };
        if around.called.is_some() {
            return Ok(around);
        }
        around.active = self.active(snapshot)?;
        match around.active.as_slice() {
            [] => {
                around.ended = match self.landing(snapshot)? {
                    Some(id) => Some(id),
                    None => self.last_archived(snapshot)?.map(|ended| ended.state.id),
                };
            }
            [only] => {
                // One that cannot be read is refused by whoever reads it.
                let only = snapshot.session(only).ok().flatten();
                let bound = only.and_then(|only| only.state.branch);
                around.is_elsewhere = bound.is_some() && bound != self.head()?.branch;
            }
            _ => {}
        }
        Ok(around)
    }

    /// The sessions that go on.
    fn active(&self, snapshot: &Snapshot<'_>) -> Result<Vec<SessionId>> {
        let active = snapshot.active_ids()?;
        Ok(match active.len() {
            0 | 1 => active,
            _ => unfinished(snapshot, active),
        })
    }

    /// The session that is named, or bound to this branch.
    fn called(&self, snapshot: &Snapshot<'_>) -> Result<Option<SessionId>> {
        if let Some(name) = self.wanted() {
            let found = find(snapshot, name);
            return found
                .map(Some)
                .map_err(|failure| super::old_root::explained(self, name, failure));
        }
        let Some(branch) = self.head()?.branch else {
            return Ok(None);
        };
        let Some(id) = snapshot.sole_bound_to(&branch)? else {
            return Ok(None);
        };
        if !snapshot.has(&id)? {
            return Err(Failure::not_found(
                Code::SessionUnknown,
                format!("the branch {branch} is bound to session `{id}`, which is not there"),
            )
            .help(hint![
                command!("list"),
                "  (shows the ids), then bind one with `use`"
            ]));
        }
        Ok(Some(id))
    }

    /// The only active session.
    fn only(&self, snapshot: &Snapshot<'_>) -> Result<SessionId> {
        match self.active(snapshot)?.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(self.nothing(snapshot)?),
            many => Err(self.several(snapshot, many)?),
        }
    }

    fn nothing(&self, snapshot: &Snapshot<'_>) -> Result<Failure> {
        let said = self.none_is_active(snapshot)?;
        Ok(Failure::not_found(Code::NoActiveSession, said).help(super::begin::way(self)?))
    }

    fn several(&self, snapshot: &Snapshot<'_>, many: &[SessionId]) -> Result<Failure> {
        let said = format!(
            "{} sessions are active and none is bound to this branch: {}",
            many.len(),
            listed(many)
        );
        let failure = Failure::usage(Code::SessionAmbiguous, said);
        let Some(first) = many.first() else {
            return Ok(failure);
        };
        let named = command!("status").session(first);
        let bound = snapshot.session(first).ok().flatten();
        Ok(
            failure.help(match bound.and_then(|first| first.state.branch) {
                Some(branch) => hint![self.to_branch(first, &branch)?, "  or  ", named],
                // There is no branch to bind, or none that a session may have.
                None if self.head()?.branch.is_none() || super::begin::is_protected(self)? => named,
                None => hint![command!("use {first}"), "  or  ", named],
            }),
        )
    }

    /// The branch that is checked out, or that the rebase under way is about.
    fn branch_here(&self) -> Result<Option<String>> {
        let branch = self.head()?.branch;
        Ok(branch.or_else(|| self.repo.rebased_branch()))
    }

    /// The session of this branch that was archived last.
    pub(super) fn last_archived(&self, snapshot: &Snapshot<'_>) -> Result<Option<Session>> {
        match self.branch_here()? {
            Some(branch) => snapshot.last_archived_on(&branch),
            None => Ok(None),
        }
    }

    /// The session of whoever asks that was archived lately and goes on here: its result is not on this branch yet, and
    /// a step is next.
    fn landing(&self, snapshot: &Snapshot<'_>) -> Result<Option<SessionId>> {
        let (Some(branch), Some(reader)) = (self.branch_here()?, self.reader()) else {
            return Ok(None);
        };
        let mut lately = snapshot.archived_lately()?;
        lately.retain(|one| one.state.touched.by.is_same(&reader.author));
        for session in lately.iter().take(LANDING) {
            // One that cannot be judged is no reason to refuse.
            let is_due = landed::is_due(self, &session.state, &branch).unwrap_or(false);
            let goes_on =
                |look: Look| look.advised.next != Next::Nothing || !look.advised.advice.is_empty();
            if is_due && super::next::look(self, snapshot, session).is_ok_and(goes_on) {
                return Ok(Some(session.state.id.clone()));
            }
        }
        Ok(None)
    }

    fn none_is_active(&self, snapshot: &Snapshot<'_>) -> Result<String> {
        let ended = self
            .ended_here(snapshot)?
            .map_or_else(String::new, |(_, said)| said);
        Ok(format!("no session is active{ended}"))
    }

    /// The session that ended last on this branch, and how it ended, in words.
    fn ended_here(&self, snapshot: &Snapshot<'_>) -> Result<Option<(SessionId, String)>> {
        let Some(branch) = self.head()?.branch else {
            return Ok(None);
        };
        let archived = snapshot.last_archived_on(&branch)?.map(|session| {
            let state = session.state;
            (state.touched.at, state.id, state.ending)
        });
        // What was abandoned still lies among those that go on.
        let others = snapshot.summaries(false)?.into_iter();
        let abandoned = others.filter_map(|(id, summary)| {
            let summary = summary.ok()?;
            let is_here = summary.branch.as_ref() == Some(&branch) && summary.ending.is_some();
            is_here.then_some((summary.touched, id, summary.ending))
        });
        let last = abandoned.chain(archived).max_by(|a, b| a.0.cmp(&b.0));
        Ok(last.and_then(|(_, id, ending)| {
            let how = match ending? {
                Ending::Archived { target, .. } => format!("was archived on {target}"),
                Ending::Abandoned { .. } => "was abandoned".to_owned(),
            };
            let said = format!("; {id}, the last on this branch, {how}");
            Some((id, said))
        }))
    }

    /// The refusal to change a session from a branch that it is not bound to.
    fn elsewhere(&self, snapshot: &Snapshot<'_>, id: &SessionId, branch: &str) -> Result<Failure> {
        let head = self.head()?;
        let here = match &head.branch {
            Some(here) => format!("the branch {here} is bound to no session"),
            None => format!("{} is checked out", head.words()),
        };
        let (meant, ended) = match self.ended_here(snapshot)? {
            Some((last, said)) => (format!("which is meant: -s {id} or -s {last}"), said),
            None => (format!("that it is meant: -s {id}"), String::new()),
        };
        Ok(Failure::usage(
            Code::SessionElsewhere,
            format!("{here}, and the only active session, {id}, is bound to {branch}{ended}"),
        )
        .help(hint![
            self.to_branch(id, branch)?,
            format!("  (or say {meant})")
        ]))
    }

    /// The way back to a branch that is not here.
    fn way_back(&self, id: &SessionId, branch: &str) -> Result<Hint> {
        let snapshot = self.store()?.snapshot()?;
        let state = load(&snapshot, id)?.state;
        Ok(super::gone::lead(self, &state, branch)?.into_hint())
    }

    /// The command that leads to the branch to which a session is bound.
    pub(in crate::flow) fn to_branch(&self, id: &SessionId, branch: &str) -> Result<Hint> {
        let name = format!("refs/heads/{branch}");
        if let Some(folder) = self.repo.checked_out_in(&name)?.filter(|dir| dir.is_dir())
            && self.repo.work_dir() != Some(folder.as_path())
        {
            let folder = folder.to_string_lossy();
            return Ok(format!("cd {}", loopx_base::shell_word(&folder)).into());
        }
        let is_known =
            self.repo.find_ref(&name)?.is_some() || !self.repo.tracking_refs(branch)?.is_empty();
        let word = loopx_base::shell_word(branch);
        Ok(if let Some(sequence) = self.repo.sequence() {
            // git switches no branch while something is under way.
            let go_on = format!("{} --continue", sequence.as_str());
            hint![Hint::git(go_on), format!(", then: git switch {word}")]
        } else if !is_known {
            self.way_back(id, branch)?
        } else if self.repo.work_dir().is_none() {
            format!("git worktree add ../work {word}").into()
        } else {
            format!("git switch {word}").into()
        })
    }
}

pub(super) fn load(snapshot: &Snapshot<'_>, id: &SessionId) -> Result<Session> {
    snapshot.find(id)?.ok_or_else(|| unknown(snapshot, id))
}

/// The session that somebody names: by its id or its title, or by the beginning of its id where no other begins so. Those
/// that are active come first.
pub(crate) fn find(snapshot: &Snapshot<'_>, name: &str) -> Result<SessionId> {
    let folded = SessionId::fold(name);
    for id in [&folded, &SessionId::of_title(name)].into_iter().flatten() {
        if snapshot.has(id)? {
            return Ok(id.clone());
        }
    }
    let begin = match &folded {
        Ok(id) => id.to_string(),
        // What no id may be, an id may begin with: `con`.
        Err(_) => name.trim().to_lowercase(),
    };
    let mut ids = snapshot.active_ids()?;
    if !ids.iter().any(|id| id.as_str().starts_with(&begin)) {
        let names = snapshot.session_names()?.into_iter();
        ids = names
            .filter_map(|name| SessionId::parse(&name).ok())
            .collect();
    }
    match prefix::meant(&begin, &ids, |id| id.as_str()) {
        prefix::Meant::One(id) => Ok(id.clone()),
        prefix::Meant::Several(many) => {
            let many: Vec<SessionId> = many.into_iter().cloned().collect();
            Err(Failure::usage(
                Code::SessionAmbiguous,
                format!(
                    "`{name}` is the beginning of {} sessions: {}",
                    many.len(),
                    listed(&many)
                ),
            )
            .help(command!("list")))
        }
        prefix::Meant::None => Err(unknown(snapshot, &folded?)),
    }
}

fn listed(ids: &[SessionId]) -> String {
    let names: Vec<&str> = ids.iter().map(SessionId::as_str).take(NAMED).collect();
    let more = if ids.len() > NAMED { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}

/// The sessions among these that did not end.
pub(super) fn unfinished(snapshot: &Snapshot<'_>, mut ids: Vec<SessionId>) -> Vec<SessionId> {
    ids.retain(|id| goes_on(snapshot, id));
    ids
}

/// Tells whether a session did not end: one that cannot be read may go on.
fn goes_on(snapshot: &Snapshot<'_>, id: &SessionId) -> bool {
    match snapshot.session(id) {
        Ok(Some(session)) => session.state.is_active(),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// The failure where no session has that id: with the nearest name.
pub(crate) fn unknown(snapshot: &Snapshot<'_>, id: &SessionId) -> Failure {
    let ids = snapshot.active_ids().unwrap_or_default();
    let near = loopx_base::nearest(id.as_str(), ids.iter().map(SessionId::as_str));
    let failure = Failure::not_found(Code::SessionUnknown, format!("no session is named `{id}`"));
    match near {
        Some(near) => failure.help(hint![
            format!("did you mean `{near}`? `"),
            command!("list"),
            "` shows all"
        ]),
        None => failure.help(command!("list")),
    }
}
