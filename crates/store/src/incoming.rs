//! The branch as a merge would leave it, judged before it is taken, with the checks of a push (see [`super::receive`]).
//! Only what differs from what is here is looked at, and only as it would stand in the end.
//!
//! What follows from records is computed again. What is wrong with the records themselves nobody can compute: then
//! nothing is taken, but where the same place is damaged here too, or where there is nothing here yet.

use super::bindings as index;
use super::check::{Mend, check_archived, check_entry, recompute, state_went};
use super::fanout_folder::{self, Fault};
use super::layout_audit::bindings;
use super::loss::{Holding, others};
use super::merge_branch::{require_no_jump, session_entries};
use super::merge_session::{build, gather};
use super::names::Names;
use super::signatures::new_fault;
use super::snapshot::Folder;
use super::unique::Uids;
use super::unreadable::{self, Depth};
use super::withdrawn::{first, set_back};
use super::{EARLIER, Edits, FORMAT, Lines, Snapshot, fanout, incremental_state, layout};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Number of flaws that a refusal names.
const SHOWN: usize = 5;

/// Flaw of what came from the other side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// A session, or a path of the branch.
    pub session: String,
    pub what: String,
    /// Set when `fsck --repair` may put the flaw right.
    #[serde(skip)]
    pub is_mendable: bool,
}

/// Flaws of what would be taken from the other side.
#[derive(Default)]
pub(super) struct Judged {
    /// Edits that put right what they can.
    pub(super) edits: Edits,
    pub(super) mended: Vec<Flaw>,
    /// Flaws of sessions and paths of which nothing was known here.
    pub(super) damaged: Vec<Flaw>,
    /// Flaws of sessions and paths that are damaged here too.
    pub(super) known: Vec<Flaw>,
}

/// Sides of a meeting, and the state that they come from.
pub(super) struct Sides<'a> {
    pub(super) ours: Option<&'a Snapshot<'a>>,
    pub(super) base: Option<&'a Snapshot<'a>>,
    pub(super) theirs: &'a Snapshot<'a>,
}

struct Judging<'a> {
    repo: &'a Repo,
    sides: Sides<'a>,
    result: &'a Snapshot<'a>,
    lines: Lines<'a>,
    judged: Judged,
}

/// Judges the result of a meeting.
pub(super) fn judge<'a>(sides: Sides<'a>, result: &'a Snapshot<'a>) -> Result<Judged> {
    let repo = result.repo();
    let mut judging = Judging {
        repo,
        sides,
        result,
        lines: Lines::of(repo),
        judged: Judged::default(),
    };
    judging.format()?;
    judging.names()?;
    judging.sessions()?;
    judging.doubles()?;
    judging.journal()?;
    judging.layout()?;
    judging.readme()?;
    Ok(judging.judged)
}

fn flaw(session: &str, what: impl Into<String>) -> Flaw {
    Flaw {
        session: session.to_owned(),
        what: what.into(),
        is_mendable: true,
    }
}

impl Judging<'_> {
    /// Judges the format: only a branch of an earlier format becomes one of the present format, and none goes back.
    fn format(&mut self) -> Result<()> {
        if let Some(ours) = self.sides.ours
            && let Some(what) = went_back(&[ours], self.result)?
        {
            self.judged.damaged.push(flaw(layout::FORMAT_FILE, what));
        }
        Ok(())
    }

    /// Puts back the text for whoever finds the branch, which only a commit by hand takes away.
    fn readme(&mut self) -> Result<()> {
        let there = |tree: &Oid| self.repo.entry_at(tree, layout::README_FILE);
        let ours = match self.sides.ours {
            Some(ours) => there(ours.tree())?,
            None => None,
        };
        if let (Some(ours), None) = (ours, there(self.result.tree())?) {
            self.judged.edits.set(layout::README_FILE, ours);
            let what = "was taken away by a commit by hand";
            self.judged.mended.push(flaw(layout::README_FILE, what));
        }
        Ok(())
    }

    /// Names that no tree should have: where something is here already, they are refused with the history.
    fn names(&mut self) -> Result<()> {
        if self.sides.ours.is_some() {
            return Ok(());
        }
        for (path, why) in Names::default().faults(self.repo, self.result.tree(), &[])? {
            self.unmendable(&path, why.to_owned());
        }
        Ok(())
    }

    /// Sessions that came to a second folder.
    fn doubles(&mut self) -> Result<()> {
        let held = |of: &Snapshot<'_>| Holding::of(self.result.with_tree(of.tree().clone()));
        let before = match self.sides.ours {
            Some(ours) if ours.tree() == self.result.tree() => return Ok(()),
            Some(ours) => vec![Rc::new(held(ours)?)],
            None => Vec::new(),
        };
        let found = Uids::default().copies(&held(self.result)?, &before);
        for (path, what) in found {
            let what = what.strip_prefix(&path).unwrap_or(&what).trim_start();
            let since = self.since(|tree| Ok(fanout::entry_at(self.repo, tree, &path)?.is_some()));
            let what = match since? {
                Some((commit, _)) => format!("{what} (since commit {})", commit.short()),
                None => what.to_owned(),
            };
            self.unmendable(&path, what);
        }
        Ok(())
    }

    /// The first commit of theirs of which this is so, and its first parent.
    fn since(&self, is_so: impl Fn(&Oid) -> Result<bool>) -> Result<Option<(Oid, Option<Oid>)>> {
        let known = self.sides.ours.map(|ours| ours.commit().clone());
        let known: Vec<Oid> = known.into_iter().collect();
        first(self.repo, self.sides.theirs.commit(), &known, is_so)
    }

    fn unmendable(&mut self, session: &str, what: String) {
        self.judged.damaged.push(Flaw {
            is_mendable: false,
            ..flaw(session, what)
        });
    }

    fn sessions(&mut self) -> Result<()> {
        let nothing = self.repo.empty_tree()?;
        let ours = self.sides.ours.map_or(&nothing, |ours| ours.tree());
        let known = session_entries(self.repo, ours, self.result.tree())?;
        for (path, (id, entry)) in session_entries(self.repo, self.result.tree(), ours)? {
            if known.get(&path).is_some_and(|(_, known)| *known == entry) {
                continue;
            }
            if entry.kind == EntryKind::Tree
                && let Err(failure) = require_no_jump(self.repo, &path, &entry.id, 0)
            {
                let here = known.get(&path).map(|(_, known)| known);
                self.overgrown(&path, name(&path, &id), failure, here)?;
                continue;
            }
            let is_active = path.starts_with(layout::SESSIONS);
            if is_active {
                self.active(&path, &id, &entry)?
            } else {
                self.archived(&path, &id, &entry)?
            }
        }
        Ok(())
    }

    /// The entry of a path in a state of the branch.
    fn at(&self, of: Option<&Snapshot<'_>>, path: &str) -> Result<Option<Entry>> {
        match of {
            Some(of) => fanout::entry_at(self.repo, of.tree(), path),
            None => Ok(None),
        }
    }

    fn active(&mut self, path: &str, id: &SessionId, entry: &Entry) -> Result<()> {
        let ours = self.at(self.sides.ours, path)?;
        let base = self.at(self.sides.base, path)?;
        if self.badly_signed(path, id.as_str(), entry)? {
            return Ok(());
        }
        // What both sides wrote was just made of their records: theirs are what is new.
        let theirs = self.at(Some(self.sides.theirs), path)?;
        let came = theirs.as_ref().unwrap_or(entry);
        let known = [&ours, &base].into_iter().flatten();
        let mut known = known.filter(|known| known.kind == EntryKind::Tree);
        if known.any(|known| {
            known == came || incremental_state::is_whole(self.repo, id, &known.id, &came.id)
        }) {
            return Ok(());
        }
        let had: Vec<Entry> = [&ours, &base].into_iter().flatten().cloned().collect();
        let went = state_went(self.repo, &had, entry)?.map(|what| (what, Mend::Recompute));
        let wrong = match self.wrong(id, entry)? {
            None => went,
            wrong => wrong,
        };
        let Some((what, mend)) = wrong else {
            return Ok(());
        };
        if mend == Mend::Recompute
            && let Ok(tree) = recompute(self.repo, id, &entry.id)
        {
            self.judged.edits.replace_session(id, Some(tree));
            self.judged.mended.push(flaw(id.as_str(), what));
            return Ok(());
        }
        let is_known = match &ours {
            Some(ours) => self.wrong(id, ours)?.is_some(),
            None => false,
        };
        self.damaged(id.to_string(), what, is_known);
        Ok(())
    }

    /// Fault of an active session, as far as this program can tell and the session's objects are here.
    fn wrong(&self, id: &SessionId, entry: &Entry) -> Result<Option<(String, Mend)>> {
        let found = match check_entry(&self.lines, id, entry) {
            Err(failure) if failure.code == Code::FormatNewer => return Ok(None),
            found => found?,
        };
        let can_tell =
            found.is_some() && unreadable::below(self.repo, entry, Depth::Bytes).is_empty();
        Ok(found.filter(|_| can_tell))
    }

    /// Tells whether a file that came is no signature of the record beside it, and notes the flaw.
    fn badly_signed(&mut self, path: &str, session: &str, entry: &Entry) -> Result<bool> {
        if self.sides.ours.is_none() {
            return Ok(false);
        }
        // What was archived here lay among the active sessions before; what was opened again is looked at anew.
        let id = path.rsplit('/').next().unwrap_or_default();
        let mut places = vec![path.to_owned()];
        places.extend(SessionId::parse(id).ok().map(|id| layout::session(&id)));
        let mut had = Vec::new();
        for place in places {
            had.extend(self.at(self.sides.ours, &place)?);
            had.extend(self.at(self.sides.base, &place)?);
        }
        let what = new_fault(self.repo, &had, entry)?;
        let is_wrong = what.is_some();
        if let Some(what) = what {
            self.damaged(session.to_owned(), what, false);
        }
        Ok(is_wrong)
    }

    fn archived(&mut self, path: &str, id: &SessionId, entry: &Entry) -> Result<()> {
        if self.badly_signed(path, path, entry)? {
            return Ok(());
        }
        let Some(folder) = self.result.folder_of(path)? else {
            return Ok(());
        };
        let Some(what) = self.wrong_archived(self.result, folder.clone())? else {
            return Ok(());
        };
        if !unreadable::below(self.repo, entry, Depth::Bytes).is_empty() {
            return Ok(());
        }
        if let Some(tree) = self.anew(&folder, id)? {
            self.judged.edits.set(path, Entry::tree(tree));
            self.judged.mended.push(flaw(path, what));
            return Ok(());
        }
        let is_known = match self.sides.ours {
            Some(ours) => match ours.folder_of(path)? {
                Some(folder) => self.wrong_archived(ours, folder)?.is_some(),
                None => false,
            },
            None => false,
        };
        self.damaged(path.to_owned(), what, is_known);
        Ok(())
    }

    fn wrong_archived(&self, of: &Snapshot<'_>, folder: Folder) -> Result<Option<String>> {
        match check_archived(self.repo, of, folder) {
            Err(failure) if failure.code == Code::FormatNewer => Ok(None),
            found => found,
        }
    }

    /// An archived session's folder made of its records, where that is whole.
    fn anew(&self, folder: &Folder, id: &SessionId) -> Result<Option<Oid>> {
        let made = gather(self.repo, &folder.place, &folder.entry.id)
            .and_then(|gathered| build(self.repo, id, vec![gathered]));
        let made = made.ok().filter(|(path, ..)| *path == folder.path);
        let made = made.map(|(_, tree, _)| tree);
        // Made of sealed records it keeps what lies beside them.
        let computed = recompute(self.repo, id, &folder.entry.id).ok();
        for tree in made.into_iter().chain(computed) {
            let anew = Folder {
                entry: Entry::tree(tree.clone()),
                ..folder.clone()
            };
            if tree != folder.entry.id && self.wrong_archived(self.result, anew)?.is_none() {
                return Ok(Some(tree));
            }
        }
        Ok(None)
    }

    /// Judges folders that hold records and are no sessions.
    fn journal(&mut self) -> Result<()> {
        let repo = self.repo;
        let before = match self.sides.ours {
            Some(ours) => others(repo, ours.tree())?,
            None => BTreeMap::new(),
        };
        for (path, entry) in others(repo, self.result.tree())? {
            let here = before.get(&path);
            if here != Some(&entry)
                && let Err(failure) = require_no_jump(repo, &path, &entry.id, 0)
            {
                self.overgrown(&path, path.clone(), failure, here)?;
            }
        }
        let known: Vec<&Snapshot<'_>> = self.sides.ours.into_iter().collect();
        for (place, what) in self.result.log_faults(&known)? {
            self.damaged(place, what, false);
        }
        Ok(())
    }

    /// Puts right folders that are only laid out wrongly, and bindings that lead nowhere.
    fn layout(&mut self) -> Result<()> {
        let repo = self.repo;
        let before = match self.sides.ours {
            Some(ours) => fanout::all(repo, ours.tree())?,
            None => Vec::new(),
        };
        for known in fanout::all(repo, self.result.tree())? {
            if before.contains(&known) {
                continue;
            }
            let (path, fanout) = known;
            if let Some(Fault::Misplaced(what)) =
                fanout_folder::faults(repo, Fanout::Names, &fanout)?
            {
                self.judged.edits.arrange(path.clone());
                self.judged.mended.push(flaw(&path, what));
            }
        }
        self.index()
    }

    /// Judges the index of bindings, which has to be what the sessions say as they will be.
    fn index(&mut self) -> Result<()> {
        let repo = self.repo;
        let edits = &self.judged.edits;
        let made = self
            .result
            .with_tree(fanout::edit(repo, Some(self.result.tree()), edits)?);
        if let Some(ours) = self.sides.ours {
            let of = |tree: &Oid| repo.entries(tree, [layout::BRANCHES, layout::SESSIONS]);
            if of(ours.tree())? == of(made.tree())? {
                return Ok(());
            }
        }
        // Nobody can say what a damaged session is bound to.
        let damaged = self.judged.damaged.iter().chain(&self.judged.known);
        let but: BTreeSet<String> = damaged.map(|flaw| flaw.session.clone()).collect();
        let wrong = bindings(repo, &made, &but, self.sides.ours)?;
        if !wrong.is_empty() {
            index::mend(repo, &made, &mut self.judged.edits, &but)?;
        }
        let wrong = wrong.into_iter();
        let mended = wrong.map(|damage| flaw(&damage.session, damage.what));
        self.judged.mended.extend(mended);
        Ok(())
    }

    /// Notes too many records, or a number that somebody jumped to: refused in its own words.
    fn overgrown(
        &mut self,
        path: &str,
        session: String,
        failure: Failure,
        here: Option<&Entry>,
    ) -> Result<()> {
        let is_known =
            here.is_some_and(|here| require_no_jump(self.repo, path, &here.id, 0).is_err());
        if self.sides.ours.is_some() && !is_known {
            return Err(failure);
        }
        if is_known {
            self.damaged(session, failure.message, true)
        } else {
            self.unmendable(&session, failure.message)
        }
        Ok(())
    }

    fn damaged(&mut self, session: String, what: String, is_known: bool) {
        let flaw = flaw(&session, what);
        if is_known {
            self.judged.known.push(flaw)
        } else {
            self.judged.damaged.push(flaw)
        }
    }
}

fn name(path: &str, id: &SessionId) -> String {
    if path.starts_with(layout::SESSIONS) {
        id.to_string()
    } else {
        path.to_owned()
    }
}

/// Fault of a state of the branch that says an earlier format than a state that it comes from.
pub(super) fn went_back(before: &[&Snapshot<'_>], now: &Snapshot<'_>) -> Result<Option<String>> {
    let said = now.format()?;
    if !EARLIER.contains(&said.as_str()) {
        return Ok(None);
    }
    for before in before {
        if before.format()? == FORMAT {
            return Ok(Some(format!(
                "says {said}, and said {FORMAT} before: an older program would remove records that it does not know"
            )));
        }
    }
    Ok(None)
}

/// The refusal where nothing can be taken.
pub(super) fn refused((label, branch): (&str, &str), tip: &Oid, damaged: &[Flaw]) -> Failure {
    let more = match damaged.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let tops = [
        layout::FORMAT_FILE,
        layout::ARCHIVE,
        layout::ISSUES,
        layout::JOURNAL,
    ];
    let is_path = |place: &str| place.contains('/') || tops.contains(&place);
    let one = |flaw: &Flaw| {
        if is_path(&flaw.session) {
            format!("{}: {}", flaw.session, flaw.what)
        } else {
            format!("session {}: {}", flaw.session, flaw.what)
        }
    };
    let shown: Vec<String> = damaged.iter().take(SHOWN).map(one).collect();
    let place = damaged.first().map_or("", |flaw| flaw.session.as_str());
    let path = if is_path(place) {
        place.to_owned()
    } else {
        format!("{}/{place}", layout::SESSIONS)
    };
    Failure::refused(
        Code::RemoteDamaged,
        format!(
            "{label} brings damage that is not here: {}{more}; nothing was taken over, and the work here goes on",
            shown.join("; ")
        ),
    )
    .help(set_back(
        label,
        branch,
        &format!(
            "git log -p {} -- '{path}'  (shows the COMMIT that brought it), ",
            tip.short()
        ),
        "COMMIT^",
    ))
}
