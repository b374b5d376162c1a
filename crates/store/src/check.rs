//! Checking and repairing sessions: the stored state against a replay of the operations, and every
//! object that a session names.

use super::audit_cache::Memory;
use super::fanout_folder::Fault;
use super::folder::place;
use super::history::UnexplainedCommit;
use super::last_good::{archived_before, history, last_folder};
use super::loss::{How, Records, Unreadable};
use super::merge_session::settle_candidate;
use super::snapshot::Folder;
use super::unreadable::{self, Depth, Unread};
use super::{
    Edits, FORMAT, Lines, Session, Snapshot, Store, attestations, bindings, exact_files, fanout,
    history, layout, layout_audit, no_loss, ops, stored, stray,
};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use loopx_rules::topic::Version;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Damage, and the way to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Place of the damage: a session's id, or a path of the branch.
    pub session: String,
    pub what: String,
    pub mend: Mend,
    /// The first commit with the damage, where history says so.
    pub since: Option<Oid>,
    /// Names of signature files that sign nothing here.
    #[serde(skip)]
    pub unsigned: Vec<String>,
    /// Files of operations that have to come back.
    #[serde(skip)]
    pub missing: Records,
    /// Objects that cannot be read.
    #[serde(skip)]
    pub unread: Vec<Unread>,
}

impl Damage {
    /// Tells whether a commit on top mends the damage.
    pub fn is_mendable(&self) -> bool {
        !matches!(self.mend, Mend::Rewind | Mend::Choose)
    }

    /// Name of the damaged session, without the folder that it lies in.
    fn name(&self) -> String {
        let name = self.session.rsplit('/').next();
        name.unwrap_or(&self.session).to_owned()
    }

    /// Damage of signatures that do not hold as what they claim to be.
    pub fn signatures(place: &str, what: String, unsigned: Vec<String>) -> Self {
        Damage {
            unsigned,
            ..damage(place, what, Mend::Unsign)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mend {
    /// The operations are whole: compute the state from them again.
    Recompute,
    /// The state is right, and its files are not: write them again.
    Rewrite,
    /// Take the folder from the last commit in which it was whole.
    Restore,
    /// Make the index of bindings what the sessions say.
    Index,
    /// Take the signature away: what it stands beside was not signed.
    Unsign,
    /// Say again which format the branch is of.
    Mark,
    /// Lay the folder out anew: nothing in it changes.
    Arrange,
    /// Put the folder where its operations say: nothing in it changes.
    Move,
    /// Put the object back as it was: nothing is known to be wrong with the record.
    PutBack,
    /// Leave it: no commit can mend it, and it stays in the history.
    Rewind,
    /// Ask a person: two folders are one session, and only a person can say which it is.
    Choose,
}

/// Result of a look at the signatures of a session.
#[derive(Debug)]
pub enum Signed {
    Whole,
    /// No check: there is nothing here to check the signatures with.
    Unchecked,
    Damaged(Damage),
}

/// Result of a look at a snapshot.
#[derive(Debug, Default)]
pub struct Found {
    pub damages: Vec<Damage>,
    /// Commits that did something else than they say, without damage that is left of it.
    pub oddities: Vec<UnexplainedCommit>,
    pub sessions: usize,
}

/// Checks every session of a snapshot that `memory` does not know to be whole, what the history since then
/// did to them, what the branches are bound to, and the names of all that is there. `signed` looks at what people
/// signed in a session.
pub fn check(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    memory: &mut Memory,
    signed: impl FnMut(&str, &Session) -> Result<Signed>,
) -> Result<Found> {
    let named = layout_audit::names(repo, snapshot, memory);
    match records(repo, snapshot, memory, signed) {
        Ok(mut found) => {
            found.damages.extend(named);
            Ok(found)
        }
        Err(failure) if named.is_empty() => Err(failure),
        // Whoever gave it such a name did not make it readable either.
        Err(_) => Ok(Found {
            damages: named,
            ..Found::default()
        }),
    }
}

fn records(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    memory: &mut Memory,
    mut signed: impl FnMut(&str, &Session) -> Result<Signed>,
) -> Result<Found> {
    let sessions = repo.entry_at(snapshot.tree(), layout::SESSIONS)?;
    if let Some(entry) = sessions.filter(|entry| entry.kind != EntryKind::Tree) {
        let what = format!(
            "{} is not a folder ({})",
            layout::SESSIONS,
            entry.id.short()
        );
        return Ok(Found {
            damages: vec![damage(layout::SESSIONS, what, Mend::Restore)],
            ..Found::default()
        });
    }
    let mut found = Found::default();
    if let Some(what) = snapshot.format_fault()? {
        found
            .damages
            .push(damage(layout::FORMAT_FILE, what, Mend::Mark));
    }
    let mut look = Look {
        repo,
        snapshot,
        memory,
    };
    let active = snapshot.session_folders(false)?;
    found.sessions = active.len();
    for (id, folder) in active {
        found.damages.extend(look.active(&id, folder, &mut signed)?);
    }
    for folder in snapshot.archived_entries()? {
        found.damages.extend(look.archived(folder, &mut signed)?);
    }
    look.history(&mut found)?;
    found.damages.extend(layout_audit::layouts(repo, snapshot)?);
    look.doubles(&mut found)?;
    look.bindings(&mut found)?;
    Ok(found)
}

/// Look at a snapshot, with a memory of the folders that are known to be whole.
struct Look<'l, 'r> {
    repo: &'l Repo,
    snapshot: &'l Snapshot<'r>,
    memory: &'l mut Memory,
}

impl Look<'_, '_> {
    /// Damage of an active session.
    fn active(
        &mut self,
        id: &SessionId,
        folder: Folder,
        signed: impl FnOnce(&str, &Session) -> Result<Signed>,
    ) -> Result<Option<Damage>> {
        let (path, entry) = (folder.path.clone(), folder.entry.clone());
        if self.memory.knows(&path, &entry.id) {
            return Ok(self.torn(id, &entry));
        }
        if let Some(damage) = self.unsound(id, &entry)? {
            return Ok(Some(damage));
        }
        let signed = signed(id.as_str(), &self.snapshot.load_folder(folder)?)?;
        if let Signed::Damaged(damage) = signed {
            return Ok(Some(damage));
        }
        // What somebody signed comes first: to compute a state again says nothing of that.
        if let Some(what) = exact_files::fault(self.repo, id, &entry.id)? {
            return Ok(Some(damage(id.as_str(), what, Mend::Rewrite)));
        }
        if let Signed::Whole = signed {
            self.memory.is_whole(path, entry.id);
        }
        Ok(None)
    }

    /// Damage of a session that was whole once and may have been torn since: the names of the tip are looked at each
    /// time.
    fn torn(&mut self, id: &SessionId, entry: &Entry) -> Option<Damage> {
        let unread = unreadable::below(self.repo, entry, Depth::Top);
        if unread.is_empty() {
            return None;
        }
        self.memory.forget(&entry.id);
        Some(unreadable(id.as_str(), unread))
    }

    /// Damage of a session by its operations and its objects.
    fn unsound(&self, id: &SessionId, entry: &Entry) -> Result<Option<Damage>> {
        let flaw = check_entry(&Lines::of(self.repo), id, entry)?;
        let depth = match flaw {
            None => Depth::Headers,
            Some(_) => Depth::Bytes,
        };
        let unread = unreadable::below(self.repo, entry, depth);
        if !unread.is_empty() {
            return Ok(Some(unreadable(id.as_str(), unread)));
        }
        if let Some((what, mend)) = flaw {
            let mut damage = damage(id.as_str(), what, mend);
            damage.since = history(self.repo, self.snapshot, id, &Records::default())?.since;
            return Ok(Some(damage));
        }
        match ops::fault(self.repo, &entry.id)? {
            Some(Fault::Unfitting(what)) => {
                let what = format!("{}: {what}", layout::OPS);
                Ok(Some(damage(id.as_str(), what, Mend::Recompute)))
            }
            Some(Fault::Misplaced(_)) | None => Ok(None),
        }
    }

    /// Damage of an archived session.
    fn archived(
        &mut self,
        folder: Folder,
        signed: impl FnOnce(&str, &Session) -> Result<Signed>,
    ) -> Result<Option<Damage>> {
        let (path, entry) = (folder.path.clone(), folder.entry.clone());
        if self.memory.knows(&path, &entry.id) {
            return Ok(None);
        }
        let flaw = match check_archived(self.repo, self.snapshot, folder.clone())? {
            Some(what) => Some((what, Mend::Restore)),
            None => exact_files::archived(self.repo, self.snapshot, folder.clone())?,
        };
        let Some((what, mend)) = flaw else {
            return Ok(match signed(&path, &self.snapshot.load_folder(folder)?)? {
                Signed::Damaged(damage) => Some(damage),
                Signed::Unchecked => None,
                Signed::Whole => {
                    self.memory.is_whole(path, entry.id);
                    None
                }
            });
        };
        let unread = unreadable::below(self.repo, &entry, Depth::Bytes);
        Ok(Some(if unread.is_empty() {
            damage(&path, what, mend)
        } else {
            unreadable(&path, unread)
        }))
    }

    /// Adds the damage that history did to the sessions, and the faults of the journal.
    fn history(&mut self, found: &mut Found) -> Result<()> {
        let past = history::look(self.repo, self.snapshot, self.memory.tip())?;
        self.memory.commits = past.commits;
        self.memory.unread = past.unread;
        found.oddities = past.oddities;
        for lost in past.lost {
            let mut known = found.damages.iter_mut();
            // What is wrong with it as it stands comes first.
            if let Some(known) = known.find(|one| one.session == lost.session) {
                if known.mend == Mend::Rewrite {
                    known.what = format!("{}; {}", known.what, lost.what);
                    known.missing = lost.records;
                }
                continue;
            }
            let mut damage = damage(&lost.session, lost.what, Mend::Restore);
            damage.since = Some(lost.since);
            damage.missing = lost.records;
            found.damages.push(damage);
        }
        for (place, what) in self.snapshot.log_faults(&[])? {
            if found.damages.iter().all(|one| one.session != place) {
                found.damages.push(damage(&place, what, Mend::Restore));
            }
        }
        for (place, count) in past.logs {
            if found.damages.iter().any(|one| one.session == place) {
                continue;
            }
            let what = match count {
                1 => "a record has gone".to_owned(),
                more => format!("{more} records have gone"),
            };
            found.damages.push(damage(&place, what, Mend::Restore));
        }
        Ok(())
    }

    /// Adds folders that are one session, but for those that are damaged otherwise.
    fn doubles(&self, found: &mut Found) -> Result<()> {
        // Whose a folder is can be told of these all the same.
        let tells = |one: &&Damage| matches!(one.mend, Mend::Unsign | Mend::Rewrite | Mend::Move);
        let damaged = found.damages.iter().filter(|one| !tells(one));
        let damaged = damaged.map(Damage::name).collect();
        let doubles = layout_audit::doubles(self.snapshot, &damaged)?;
        found.damages.extend(doubles);
        Ok(())
    }

    fn bindings(&self, found: &mut Found) -> Result<()> {
        // A session that is going to be restored is one that a branch may be bound to.
        let known: BTreeSet<String> = found.damages.iter().map(Damage::name).collect();
        let before = self.memory.tip().cloned();
        let before = before.and_then(|tip| Snapshot::at(self.repo, tip, "known").ok());
        let bindings = layout_audit::bindings(self.repo, self.snapshot, &known, before.as_ref())?;
        found.damages.extend(bindings);
        Ok(())
    }
}

pub(super) fn damage(session: &str, what: impl Into<String>, mend: Mend) -> Damage {
    Damage {
        session: session.to_owned(),
        what: what.into(),
        mend,
        since: None,
        unsigned: Vec::new(),
        missing: Records::default(),
        unread: Vec::new(),
    }
}

/// Damage of a record of which objects cannot be read: the record itself may be right.
fn unreadable(session: &str, unread: Vec<Unread>) -> Damage {
    let more = match unread.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let what = unread.first().map(Unread::to_string).unwrap_or_default();
    Damage {
        unread,
        ..damage(session, format!("{what}{more}"), Mend::PutBack)
    }
}

pub(super) fn check_entry(
    lines: &Lines<'_>,
    id: &SessionId,
    entry: &Entry,
) -> Result<Option<(String, Mend)>> {
    match entry.kind {
        EntryKind::Tree => check_folder(lines, id, &entry.id),
        _ => Ok(Some((
            format!("{} is not a folder", layout::session(id)),
            Mend::Restore,
        ))),
    }
}

fn read_operations(lines: &Lines<'_>, folder: &Oid) -> Result<(Oid, Vec<Operation>)> {
    let repo = lines.repo();
    let missing = || Failure::internal(Code::OperationsMissing, "ops/ is not there");
    let entry = repo.entry_at(folder, layout::OPS)?.ok_or_else(missing)?;
    let read = |blob: &Oid, label: &str| lines.operation(blob, label);
    let ops = ops::read_by(repo, &entry.id, layout::OPS, read)?;
    Ok((entry.id, ops))
}

/// The files of the state that the operations of a folder give, by their paths.
pub(super) fn computed(
    repo: &Repo,
    id: &SessionId,
    folder: &Oid,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let files = replay(&Lines::of(repo), id, folder)?.state.to_files(None)?;
    let parts = files.parts.into_iter();
    let mut found: BTreeMap<String, Vec<u8>> = parts
        .filter_map(|(path, bytes)| Some((path, bytes?)))
        .collect();
    found.insert(layout::STATE.to_owned(), files.head);
    Ok(found)
}

/// Replay of a folder: the state of its operations, and the first claim that is not true.
pub(super) struct Replayed {
    pub(super) state: State,
    operations: Vec<Operation>,
    flaw: Option<String>,
}

pub(super) fn replay(lines: &Lines<'_>, id: &SessionId, folder: &Oid) -> Result<Replayed> {
    let (ops_tree, operations) = read_operations(lines, folder)?;
    let (mut state, flaw) = attestations::replay(lines, id, &operations, folder)?;
    state.ops = Some(ops_tree);
    Ok(Replayed {
        state,
        operations,
        flaw,
    })
}

pub(super) fn check_folder(
    lines: &Lines<'_>,
    id: &SessionId,
    folder: &Oid,
) -> Result<Option<(String, Mend)>> {
    let repo = lines.repo();
    let (replayed, operations) = match replay(lines, id, folder) {
        Ok(Replayed {
            flaw: Some(flaw), ..
        }) => return Ok(Some((flaw, Mend::Restore))),
        Ok(whole) => (whole.state, whole.operations),
        // Not damage, and nothing that this program may mend.
        Err(failure) if failure.code == Code::FormatNewer => return Err(failure),
        Err(failure) => return Ok(Some((failure.message, Mend::Restore))),
    };
    if let Some(failure) = replayed
        .artifacts
        .values()
        .find_map(|blob| lines.require_readable(blob).err())
    {
        return Ok(Some((failure.message, Mend::Restore)));
    }
    match stored::state(repo, folder, layout::STATE) {
        // Another program leaves it to its readers.
        Ok(None) => {}
        Err(failure) => return Ok(Some((failure.message, Mend::Recompute))),
        Ok(Some(state)) if state.id == *id && lost_operations(repo, &state, &replayed) => {
            return Ok(Some((
                format!(
                    "operations that {} was computed from are gone",
                    layout::STATE
                ),
                Mend::Restore,
            )));
        }
        Ok(Some(state)) if state != replayed => {
            return Ok(Some((
                format!("{} differs from what its operations give", layout::STATE),
                Mend::Recompute,
            )));
        }
        Ok(Some(_)) => {}
    }
    for (path, blob) in layout::files(&replayed) {
        let entry = repo.entry_at(folder, &path)?.map(|entry| entry.id);
        if entry.as_ref() != Some(&blob) {
            let what = format!("{path} is not the blob that the operations name");
            return Ok(Some((what, Mend::Recompute)));
        }
    }
    if let Some((what, mend)) = not_named(repo, folder, &replayed, &operations)? {
        return Ok(Some((what, mend)));
    }
    // An older layout hides nothing.
    if let Some(Fault::Misplaced(what)) = ops::fault(repo, folder)? {
        return Ok(Some((format!("{}: {what}", layout::OPS), Mend::Recompute)));
    }
    Ok(None)
}

/// The first file that operations name and that is not there, or that is there and no operation names.
fn not_named(
    repo: &Repo,
    folder: &Oid,
    state: &State,
    operations: &[Operation],
) -> Result<Option<(String, Mend)>> {
    if let Some((path, blob)) = stray::missing(repo, folder, operations)?.first() {
        let what = format!("{path}, which the operations name, is not there");
        let mend = if repo.contains(blob)? {
            Mend::Recompute
        } else {
            Mend::Restore
        };
        return Ok(Some((what, mend)));
    }
    let strays = stray::all(repo, folder, state, operations)?;
    let first = strays.first();
    Ok(first.map(|path| (format!("{path} is named by no operation"), Mend::Recompute)))
}

/// Reason why an active session's folder cannot be without its state's file. An older program takes the file away where
/// it adds a record and does not understand another one; nothing else does.
pub(super) fn state_went(repo: &Repo, before: &[Entry], now: &Entry) -> Result<Option<String>> {
    if now.kind != EntryKind::Tree || repo.entry_at(&now.id, layout::STATE)?.is_some() {
        return Ok(None);
    }
    let needs = |records: &Records, but: &Records| {
        let new = records.files().filter(|(name, _)| !but.has(name));
        let read = new.filter_map(|(name, blob)| {
            Operation::parse(&repo.read_blob(blob).ok()?, name, blob).ok()
        });
        read.map(|op| op.body.needs()).collect::<Vec<Version>>()
    };
    let all = Records::of(repo, Some(now)).map_err(Unreadable::failure)?;
    let Some(most) = needs(&all, &Records::default()).into_iter().max() else {
        return Ok(None);
    };
    let mut is_older = most > Version::FIRST;
    for parent in before.iter().filter(|one| one.kind == EntryKind::Tree) {
        let had = Records::of(repo, Some(parent)).unwrap_or_default();
        is_older &= repo.entry_at(&parent.id, layout::STATE)?.is_none()
            || needs(&all, &had).into_iter().any(|needs| needs < most);
    }
    Ok((!is_older).then(|| format!("{} is not there", layout::STATE)))
}

impl Store<'_> {
    /// Fault of an active session that came past this program: the branch stands elsewhere than this clone knew it, and
    /// the session differs from the one there. Costs one look-up where nothing happened.
    pub fn fault_since_known(
        &self,
        snapshot: &Snapshot<'_>,
        session: &Session,
    ) -> Result<Option<String>> {
        let repo = self.repo();
        let known = self.shadow().filter(|known| known != snapshot.commit());
        let Some(known) = known.filter(|_| session.path.starts_with(layout::SESSIONS)) else {
            return Ok(None);
        };
        // What cannot be read here is said by `doctor`.
        let known = repo.commit_info(&known).ok();
        let before = known.and_then(|info| fanout::entry_at(repo, &info.tree, &session.path).ok());
        if before
            .flatten()
            .is_some_and(|before| before.id == session.tree)
        {
            return Ok(None);
        }
        let found = check_folder(&Lines::of(repo), &session.state.id, &session.tree);
        Ok(found.ok().flatten().map(|(what, _)| what))
    }
}

/// Tells whether a state was computed from operations that are not there any more. Operations are never removed.
fn lost_operations(repo: &Repo, state: &State, replayed: &State) -> bool {
    let records = |tree: Option<&Oid>| match tree {
        Some(tree) => Records::below(repo, tree),
        None => Ok(Records::default()),
    };
    match (records(state.ops.as_ref()), records(replayed.ops.as_ref())) {
        (Ok(had), Ok(has)) => {
            let lost = had.lost(repo, &has);
            lost.iter().any(|lost| lost.how == How::Gone)
        }
        // A tree that went with its operations says nothing of them; `past` knows it from history.
        _ => false,
    }
}

/// Edits that mend damage.
#[derive(Debug, Default)]
pub struct Mending {
    pub edits: Edits,
    /// Names of damages that stay: history has no whole copy to mend them from.
    pub left: Vec<String>,
}

/// Edits that mend the damages.
pub fn mend(store: &Store<'_>, snapshot: &Snapshot<'_>, damages: &[Damage]) -> Result<Mending> {
    let repo = store.repo();
    let mut edits = Edits::default();
    let mut left = Vec::new();
    // A copy belongs nowhere: a person says which of two it is before one is put into its place.
    let has_copies = damages.iter().any(|one| one.mend == Mend::Choose);
    for damage in damages {
        let waits = has_copies && damage.mend == Mend::Move;
        if damage.is_mendable() && !waits && !mend_one(repo, snapshot, damage, &mut edits)? {
            left.push(damage.session.clone());
        }
    }
    // After the sessions: one that comes back may be bound.
    let is_index_wrong = damages.iter().any(|one| one.mend == Mend::Index);
    if is_index_wrong || !edits.is_empty() {
        index_anew(repo, snapshot, damages, &mut edits)?;
    }
    if edits.is_empty() {
        return Err(nothing_mends(snapshot, damages));
    }
    no_loss::require_no_loss(repo, snapshot, &edits)
        .map_err(|failure| set_back(store.branch(), damages, failure))?;
    Ok(Mending { edits, left })
}

/// Adds the edits that mend one damage; false where nothing does.
fn mend_one(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    damage: &Damage,
    edits: &mut Edits,
) -> Result<bool> {
    let place = damage.session.as_str();
    match damage.mend {
        Mend::Arrange => edits.arrange(place.to_owned()),
        Mend::Mark => {
            let blob = repo.write_blob(format!("{FORMAT}\n").as_bytes())?;
            edits.set(layout::FORMAT_FILE, Entry::blob(blob));
        }
        // The index is made anew behind everything else.
        Mend::Index => {}
        Mend::PutBack if !damage.unread.iter().all(Unread::is_computed) => {
            return Err(unreadable::lost(&[damage]));
        }
        _ if place == layout::SESSIONS => match last_folder(repo, snapshot, place)? {
            Some(tree) => edits.set(place, Entry::tree(tree)),
            None => edits.remove(place),
        },
        _ if is_in_the_way(repo, snapshot, place)? => edits.remove(place),
        _ if place.starts_with(&format!("{}/", layout::ARCHIVE)) => {
            return mend_archived(repo, snapshot, damage, edits);
        }
        _ if place.ends_with(&format!("/{}", layout::OPS)) => {
            let tree = snapshot.log_mended(place)?;
            let entity = place.trim_end_matches(layout::OPS).trim_end_matches('/');
            // git has no empty folders.
            if tree == repo.empty_tree()? {
                edits.remove(entity);
            } else {
                edits.set(place, Entry::tree(tree));
            }
        }
        // A file that no record names.
        _ if layout::is_log(place) => edits.remove(place),
        _ => return mend_session(repo, snapshot, damage, edits),
    }
    Ok(true)
}

/// Tells whether a file stands where the branch has a folder of several entities.
fn is_in_the_way(repo: &Repo, snapshot: &Snapshot<'_>, place: &str) -> Result<bool> {
    let (top, below) = place.split_once('/').unwrap_or((place, ""));
    let is_ours = match top {
        layout::ARCHIVE => !below.contains('/'),
        layout::ISSUES | layout::JOURNAL => below.is_empty(),
        _ => false,
    };
    let entry = repo.entry_at(snapshot.tree(), place)?;
    Ok(is_ours && entry.is_some_and(|entry| entry.kind != EntryKind::Tree))
}

/// Adds the edits that mend an active session; false where nothing does.
fn mend_session(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    damage: &Damage,
    edits: &mut Edits,
) -> Result<bool> {
    let id = SessionId::parse(&damage.session)?;
    let folder =
        fanout::entry_at(repo, snapshot.tree(), &layout::session(&id))?.map(|entry| entry.id);
    match (&damage.mend, folder) {
        (Mend::Unsign, Some(folder)) => {
            let tree = unsigned(repo, &folder, damage)?;
            edits.replace_session(&id, Some(recompute(repo, &id, &tree)?));
        }
        (Mend::PutBack, Some(folder)) => {
            edits.replace_session(&id, Some(recompute(repo, &id, &folder)?));
        }
        (Mend::Recompute | Mend::Rewrite, Some(folder)) if damage.missing.is_empty() => {
            // What cannot be computed after all is taken from history: one session never keeps the
            // others from being mended.
            let tree = match recompute(repo, &id, &folder) {
                Ok(tree) => Some(tree),
                Err(_) => restored(repo, snapshot, &id, &Records::default())?,
            };
            edits.replace_session(&id, tree);
        }
        (_, Some(_)) if !damage.missing.is_empty() => {
            let whole = history(repo, snapshot, &id, &damage.missing)?.whole;
            if let (Some(session), Some(whole)) = (snapshot.session(&id)?, whole) {
                edits.reunite(repo, &session, &whole, &damage.missing)?;
            }
        }
        (_, there) => match (restored(repo, snapshot, &id, &damage.missing)?, there) {
            (None, None) => return Ok(false),
            (whole, _) => edits.replace_session(&id, whole),
        },
    }
    Ok(true)
}

/// A session's folder without the signatures that a damage names.
fn unsigned(repo: &Repo, folder: &Oid, damage: &Damage) -> Result<Oid> {
    let files = damage.unsigned.iter().map(|name| (name.clone(), None));
    ops::edited(repo, folder, &files.collect())
}

/// Failure where no edit mends the damages.
fn nothing_mends(snapshot: &Snapshot<'_>, damages: &[Damage]) -> Failure {
    if let Some(damage) = damages.iter().find(|one| !one.is_mendable()) {
        return layout_audit::not_mended(snapshot, damage);
    }
    let first = damages.first();
    let what = first.map(|one| format!("{}: {}", one.session, one.what));
    Failure::internal(
        Code::RecordDamaged,
        format!(
            "{}; history has no whole copy to take it from",
            what.unwrap_or_default()
        ),
    )
    .help("git fsck  (and put back what is missing from another clone or a backup)")
}

/// Adds the edits that mend an archived session; false where nothing does.
fn mend_archived(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    damage: &Damage,
    edits: &mut Edits,
) -> Result<bool> {
    let path = &damage.session;
    let folder = snapshot.folder_of(path)?;
    match (damage.mend, folder) {
        (Mend::Move, Some(folder)) => {
            let session = snapshot.load_folder(folder)?;
            edits.remove(path.clone());
            edits.set(place(&session.state), Entry::tree(session.tree));
        }
        (Mend::Unsign, Some(folder)) => {
            let session = snapshot.load_folder(folder)?;
            let tree = unsigned(repo, &session.tree, damage)?;
            let tree = recompute(repo, &session.state.id, &tree)?;
            edits.set(path.clone(), Entry::tree(tree));
        }
        (Mend::Rewrite, Some(folder)) => {
            let session = snapshot.load_folder(folder)?;
            let tree = recompute(repo, &session.state.id, &session.tree)?;
            edits.set(path.clone(), Entry::tree(tree));
        }
        _ => match archived_before(repo, snapshot, path, &damage.missing)? {
            Some(tree) => edits.set(path.clone(), Entry::tree(tree)),
            None => return Ok(false),
        },
    }
    Ok(true)
}

/// Adds the way back to a failure: no commit takes a record away, so that only an earlier branch is without an
/// unreadable one.
fn set_back(branch: &str, damages: &[Damage], failure: Failure) -> Failure {
    let Some(since) = damages.iter().find_map(|one| one.since.as_ref()) else {
        return failure;
    };
    failure.help(hint![
        format!(
            "git update-ref refs/heads/{branch} {}^  (sets the branch here back to before the commit that brought it), then: ",
            since.short()
        ),
        command!("doctor --accept"),
        ", then: ",
        command!("sync").note("(says how to set the remote's branch back)")
    ])
}

/// Adds edits that make the index of bindings follow from the sessions as they will be, but for those that stay
/// damaged.
fn index_anew(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    damages: &[Damage],
    edits: &mut Edits,
) -> Result<()> {
    let mended = fanout::edit(repo, Some(snapshot.tree()), edits)?;
    let stay = damages.iter().filter(|one| !one.is_mendable());
    let stay = stay.map(Damage::name).collect();
    bindings::mend(repo, &snapshot.with_tree(mended), edits, &stay)
}

/// The newest whole folder of a session, from history; laid out as what is written now.
fn restored(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    id: &SessionId,
    needs: &Records,
) -> Result<Option<Oid>> {
    match history(repo, snapshot, id, needs)?.whole {
        Some(whole) if ops::fault(repo, &whole)?.is_some() => recompute(repo, id, &whole).map(Some),
        whole => Ok(whole),
    }
}

/// A session's folder with the state that its operations give.
pub(super) fn recompute(repo: &Repo, id: &SessionId, folder: &Oid) -> Result<Oid> {
    let lines = Lines::of(repo);
    let Replayed {
        mut state,
        operations,
        ..
    } = replay(&lines, id, folder)?;
    let strays = stray::all(repo, folder, &state, &operations)?.into_iter();
    let strays = strays.map(|path| (path, None)).collect();
    // Before its records are laid out: what lies among them would be moved with them.
    let folder = ops::arranged(repo, &repo.edit_tree(Some(folder), &strays)?)?;
    state.ops = ops::tree(repo, &folder)?;
    let mut inner = stored::entries(repo, &mut state, None)?;
    for (path, blob) in layout::files(&state) {
        inner.insert(path, Some(Entry::blob(blob)));
    }
    for (path, blob) in stray::missing(repo, &folder, &operations)? {
        if repo.contains(&blob)? {
            inner.insert(path, Some(Entry::blob(blob)));
        }
    }
    repo.edit_tree(Some(&folder), &inner)
}

/// Fault of the files of an archived session that are no artifacts.
fn others(
    repo: &Repo,
    folder: &Oid,
    state: &State,
    operations: &[Operation],
) -> Result<Option<String>> {
    for (path, blob) in layout::files(state) {
        let there = repo.entry_at(folder, &path)?.map(|entry| entry.id);
        if there.as_ref() != Some(&blob) {
            return Ok(Some(format!(
                "{path} is not the blob that the operations name"
            )));
        }
        repo.with_blob(&blob, |_| ())?;
    }
    let found = not_named(repo, folder, state, operations)?;
    Ok(found.map(|(what, _)| what))
}

/// Fault of an archived session.
pub(super) fn check_archived(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    folder: Folder,
) -> Result<Option<String>> {
    let looked = || -> Result<Option<String>> {
        let session = snapshot.load_folder(folder)?;
        snapshot.signatures(&session)?;
        let stored = &session.state;
        let ops = snapshot.operations(&session)?;
        let (mut state, flaw) =
            attestations::replay(&Lines::of(repo), &stored.id, &ops, &session.tree)?;
        if flaw.is_some() {
            return Ok(flaw);
        }
        // An older program's archive added what it made, and sealed the operations into one file.
        let candidate = stored.artifacts.get(&Artifact::AdrCandidate);
        settle_candidate(&mut state, candidate.cloned());
        state.ops.clone_from(&stored.ops);
        if state != *stored {
            return Ok(Some(format!(
                "{} differs from what its operations give",
                layout::STATE
            )));
        }
        for (artifact, blob) in &stored.artifacts {
            repo.with_blob(blob, |_| ())?;
            let there = repo.entry_at(&session.tree, artifact.path())?;
            if there.map(|entry| entry.id).as_ref() != Some(blob) {
                return Ok(Some(format!(
                    "{artifact} is not the blob that the operations name"
                )));
            }
        }
        others(repo, &session.tree, stored, &ops)
    };
    match looked() {
        Err(failure) if failure.code == Code::FormatNewer => Err(failure),
        Err(failure) => Ok(Some(failure.message)),
        Ok(flaw) => Ok(flaw),
    }
}
