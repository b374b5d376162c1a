//! Two states of the branch as one: the operations of each session united and replayed, everything else
//! by path.
//!
//! What comes out is a function of the two trees and the one they parted from, and for a session of its
//! operations alone: whoever meets whom, in whatever order, ends with the same tree. Nothing is
//! dropped, no text of a state file is ever merged, and no ref is moved here.

use super::loss::{Records, Unreadable};
use super::snapshot::state_of;
use super::united::{Folder, build, gather_beside};
use super::{Edits, layout, ops, room, shelf, shelves};
use crate::core::failure::{Code, Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::session::State;
use crate::core::shelf::Shelf;
use crate::git::{Entry, EntryKind, Repo};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How far the number of an operation may be from their count: more is no accident, and would use up
/// the numbers that are left.
const MAX_JUMP: u64 = 1_000_000;

/// What two trees gave.
#[derive(Debug)]
pub struct United {
    pub tree: Oid,
    /// Sessions that both sides had changed.
    pub sessions: Vec<UnitedSession>,
    pub renamed: Vec<Renamed>,
    pub bindings: Vec<Rebound>,
}

/// A session that was changed on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnitedSession {
    pub session: SessionId,
    /// Operations and artifacts that a person has to settle.
    pub conflicts: usize,
}

/// Two sessions had one name: the one whose uid is larger has another now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    pub from: SessionId,
    pub to: SessionId,
    pub title: String,
}

/// Both sides bound one branch: to which session, and what else it was bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rebound {
    pub branch: String,
    pub session: String,
    pub instead_of: String,
}

/// One side of the meeting.
const SIDES: [usize; 2] = [0, 1];

/// A session's folder on one side that differs from what the other has there.
struct Item {
    side: usize,
    path: String,
    name: SessionId,
    tree: Oid,
    state: State,
    /// As it was when the sides parted.
    unchanged: bool,
}

/// Unites two trees that parted at `base`. With `anew` every session that differs is made of its
/// operations, also one that a single side changed.
pub(super) fn unite(
    repo: &Repo,
    base: &Oid,
    ours: &Oid,
    theirs: &Oid,
    anew: bool,
) -> Result<United> {
    let mut united = United {
        tree: ours.clone(),
        sessions: Vec::new(),
        renamed: Vec::new(),
        bindings: Vec::new(),
    };
    if ours == theirs {
        return Ok(united);
    }
    let sides = [ours, theirs];
    let listed = [
        session_folders(repo, ours, theirs)?,
        session_folders(repo, theirs, ours)?,
    ];
    let mut edits = Edits::default();
    let mut groups: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for side in SIDES {
        for (path, (name, tree)) in &listed[side] {
            if listed[1 - side]
                .get(path)
                .is_some_and(|(_, other)| other == tree)
            {
                continue;
            }
            let state = read_state(repo, path, tree)?;
            let before = shelves::entry_at(repo, base, path)?;
            groups.entry(state.uid.clone()).or_default().push(Item {
                side,
                path: path.clone(),
                name: name.clone(),
                tree: tree.clone(),
                state,
                unchanged: before.is_some_and(|entry| entry.id == *tree),
            });
        }
    }
    let names = names(&groups);
    let mut final_names: [BTreeMap<SessionId, SessionId>; 2] = Default::default();
    let mut ended = BTreeSet::new();
    let mut placed = BTreeMap::new();
    let mut settled = BTreeMap::new();
    let mut revived = Vec::new();
    for (uid, items) in &groups {
        let name = &names[uid];
        for item in items {
            final_names[item.side].insert(item.name.clone(), name.clone());
            edits.remove(item.path.clone());
            if item.name != *name && item.side == 0 {
                united.renamed.push(Renamed {
                    from: item.name.clone(),
                    to: name.clone(),
                    title: item.state.title.clone(),
                });
            }
        }
        if let Some((from, item)) = items
            .iter()
            .find(|item| item.side == 1 && item.name != *name)
            .map(|item| (item.name.clone(), item))
            && !united.renamed.iter().any(|one| one.to == *name)
        {
            united.renamed.push(Renamed {
                from,
                to: name.clone(),
                title: item.state.title.clone(),
            });
        }
        let (path, tree, state) = settle(repo, base, name, items, anew)?;
        if SIDES.iter().all(|side| {
            items
                .iter()
                .any(|item| item.side == *side && !item.unchanged)
        }) {
            united.sessions.push(UnitedSession {
                session: name.clone(),
                conflicts: state.open_conflicts(),
            });
        }
        if !state.is_active() {
            ended.insert(name.to_string());
        } else if items.iter().any(|item| !item.state.is_active()) {
            revived.extend(state.branch.clone().map(|branch| (branch, name.clone())));
        }
        placed.insert(path, Entry::tree(tree));
        settled.insert(name.to_string(), state);
    }
    // After the removals: one may be where another was.
    for (path, entry) in placed {
        edits.set(path, entry);
    }
    let mut records: BTreeMap<String, BTreeMap<String, Option<Entry>>> = BTreeMap::new();
    for (path, values) in others(repo, base, sides)? {
        let values = match path.strip_prefix(&format!("{}/", layout::BRANCHES)) {
            Some(_) => renamed_bindings(repo, values, &final_names)?,
            None => values,
        };
        let (mut entry, clash) = choose(repo, &path, values, &settled, ours)?;
        united.bindings.extend(clash);
        if let Some(blob) = entry.clone().filter(|_| path.starts_with(layout::BRANCHES))
            && let Some(id) = binding(repo, &blob)?
            && ended.contains(&id)
        {
            entry = None;
        }
        match (layout::record(&path), entry.map(Entry::blob)) {
            (Some((folder, name)), entry) => {
                let files = records.entry(folder.to_owned()).or_default();
                files.insert(name.to_owned(), entry);
            }
            (None, Some(entry)) => edits.set(path, entry),
            (None, None) => edits.remove(path),
        }
    }
    for (folder, files) in records {
        let known = repo.entry_at(ours, &folder)?;
        let known = known.filter(|known| known.kind == EntryKind::Tree);
        let tree = ops::edit(repo, known.as_ref().map(|known| &known.id), &files)?;
        edits.set(folder, Entry::tree(tree));
    }
    // Where a session had ended its branch was let go; it has not ended.
    for (branch, name) in revived {
        if !matches!(edits.entries.get(&layout::binding(&branch)), Some(Some(_))) {
            edits.bind(repo, &branch, &name)?;
        }
    }
    // One side may have laid out what the other has not touched since it grew.
    for (shelf, _) in shelves::all(repo, ours)? {
        if repo.entry_at(ours, &shelf)? != repo.entry_at(theirs, &shelf)? {
            edits.arrange(shelf);
        }
    }
    united.tree = shelves::edit(repo, Some(ours), &edits)?;
    Ok(united)
}

/// The folder of one session, and where it belongs.
fn settle(
    repo: &Repo,
    base: &Oid,
    name: &SessionId,
    items: &[Item],
    anew: bool,
) -> Result<(String, Oid, State)> {
    // Changed on one side only: that one has all.
    let newer: Vec<&Item> = items.iter().filter(|item| !item.unchanged).collect();
    let one = match newer.as_slice() {
        [] => items.first(),
        [only] => Some(*only),
        _ => None,
    };
    if let Some(one) = one.filter(|_| !anew)
        && one.name == *name
        && has_all(repo, base, one, items)?
        && ops::fault(repo, &one.tree)?.is_none()
    {
        return Ok((one.path.clone(), one.tree.clone(), one.state.clone()));
    }
    require_room(repo, items)?;
    let mut folders: Vec<Folder> = Vec::new();
    for item in items {
        folders.push(gather_beside(repo, &item.path, &item.tree, &folders)?);
    }
    build(repo, name, folders)
}

/// Refuses a session that would have more operations than one may have.
fn require_room(repo: &Repo, items: &[Item]) -> Result<()> {
    let mut names = BTreeSet::new();
    for item in items {
        let records = Records::of(repo, Some(&Entry::tree(item.tree.clone())));
        let records = records.map_err(Unreadable::failure)?;
        names.extend(records.names().cloned());
    }
    match (items.first(), names.len()) {
        (Some(item), count) if count > room::MOST => Err(room::too_many(&item.path, count)),
        _ => Ok(()),
    }
}

/// Whether a folder holds every operation that the others have, as it is there: none is ever taken away.
fn has_all(repo: &Repo, base: &Oid, one: &Item, items: &[Item]) -> Result<bool> {
    let mut known = Vec::new();
    for item in items
        .iter()
        .filter(|item| item.path != one.path || item.side != one.side)
    {
        known.push(Entry::tree(item.tree.clone()));
    }
    known.extend(shelves::entry_at(repo, base, &one.path)?);
    let now = Entry::tree(one.tree.clone());
    for before in known {
        let (had, has) = Records::differing(repo, Some(&before), Some(&now));
        let had = had.map_err(Unreadable::failure)?;
        let has = has.map_err(Unreadable::failure)?;
        if !had.lost(repo, &has).is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The folders of sessions, active and archived, in parts of the tree that differ from the other's.
pub(super) fn session_folders(
    repo: &Repo,
    tree: &Oid,
    other: &Oid,
) -> Result<BTreeMap<String, (SessionId, Oid)>> {
    let entries = session_entries(repo, tree, other)?.into_iter();
    let folders = entries.filter(|(_, (_, entry))| entry.kind == EntryKind::Tree);
    Ok(folders
        .map(|(path, (id, entry))| (path, (id, entry.id)))
        .collect())
}

/// The same, with what stands in the place of a folder and is none.
pub(super) fn session_entries(
    repo: &Repo,
    tree: &Oid,
    other: &Oid,
) -> Result<BTreeMap<String, (SessionId, Entry)>> {
    let mut found = BTreeMap::new();
    let mut parents = vec![layout::SESSIONS.to_owned()];
    if let Some(archive) = repo.entry_at(tree, layout::ARCHIVE)?
        && archive.kind == EntryKind::Tree
    {
        let months = repo.list_tree(&archive.id)?.into_iter();
        parents.extend(months.map(|(month, _)| format!("{}/{month}", layout::ARCHIVE)));
    }
    for parent in parents {
        let Some(entry) = repo.entry_at(tree, &parent)? else {
            continue;
        };
        if entry.kind != EntryKind::Tree || repo.entry_at(other, &parent)?.as_ref() == Some(&entry)
        {
            continue;
        }
        for held in shelf::entries(repo, Shelf::Names, &entry.id)? {
            if let Ok(id) = SessionId::parse(&held.name) {
                found.insert(format!("{parent}/{}", held.name), (id, held.entry));
            }
        }
    }
    Ok(found)
}

pub(super) fn read_state(repo: &Repo, path: &str, tree: &Oid) -> Result<State> {
    require_no_jump(repo, path, tree, 0)?;
    // Operations that went away are brought back by what follows, whatever the state says of them.
    let stored = match repo.blob_at(tree, layout::STATE)? {
        Some(bytes) => State::parse(&bytes, &format!("{path}/{}", layout::STATE))?,
        None => None,
    };
    let state = stored.map_or_else(|| state_of(repo, path, path, tree), Ok)?;
    require_no_jump(repo, path, tree, state.seq)?;
    Ok(state)
}

/// Refuses a session that has more operations than one may have, or in which somebody jumped far ahead of what
/// had happened. The names of operations say their numbers too: a state may say less.
pub(super) fn require_no_jump(repo: &Repo, path: &str, tree: &Oid, seq: u64) -> Result<()> {
    let records = Records::of(repo, Some(&Entry::tree(tree.clone())));
    let records = records.map_err(Unreadable::failure)?;
    if records.len() > room::MOST {
        return Err(room::too_many(path, records.len()));
    }
    let number = |name: &String| {
        let digits = name.split('-').next()?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let largest = records.names().filter_map(number).fold(seq, u64::max);
    if largest <= MAX_JUMP || largest - MAX_JUMP <= records.len() as u64 {
        return Ok(());
    }
    Err(Failure::refused(
        Code::SequenceJump,
        format!("{path}: operation number {largest} was reached by a jump"),
    )
    .help(format!(
        "git log -p --all -- {path}/{}  (shows who made it jump; nothing was taken over)",
        layout::OPS
    )))
}

/// The name of every uid: of several that want one, the smallest has it.
fn names(groups: &BTreeMap<String, Vec<Item>>) -> BTreeMap<String, SessionId> {
    let mut names: BTreeMap<String, SessionId> = BTreeMap::new();
    let mut taken: BTreeMap<SessionId, String> = BTreeMap::new();
    // In the order of the uids, so that the smallest comes first.
    for (uid, items) in groups {
        let mut wanted: Vec<&SessionId> = items.iter().map(|item| &item.name).collect();
        wanted.sort();
        wanted.dedup();
        // It was renamed somewhere already: then that is its name.
        let given: BTreeSet<SessionId> = wanted
            .iter()
            .map(|name| (name, name.beside(uid)))
            .filter(|(name, beside)| **name != beside)
            .map(|(_, beside)| beside)
            .collect();
        let renamed = wanted.iter().find(|name| given.contains(**name));
        let name = match (renamed, wanted.first()) {
            (Some(name), _) => (*name).clone(),
            (None, Some(first)) if !taken.contains_key(*first) => (*first).clone(),
            (None, Some(first)) => first.beside(uid),
            (None, None) => continue,
        };
        taken.insert(name.clone(), uid.clone());
        names.insert(uid.clone(), name);
    }
    names
}

/// Three values of one path: before, here and there.
struct Values {
    base: Option<Oid>,
    sides: [Option<Oid>; 2],
}

/// Everything that is no session and differs between the sides, or may have to follow a new name.
fn others(repo: &Repo, base: &Oid, sides: [&Oid; 2]) -> Result<BTreeMap<String, Values>> {
    let add = |list: &mut BTreeMap<String, Oid>, path: &str, entry: Entry| -> Result<()> {
        match entry.kind {
            EntryKind::Blob => drop(list.insert(path.to_owned(), entry.id)),
            EntryKind::Tree => {
                for (below, blob) in repo.walk_blobs(&entry.id)? {
                    let path = format!("{path}/{below}");
                    // By its name: the two sides may be laid out differently.
                    let path = match layout::record(&path) {
                        Some((folder, name)) => format!("{folder}/{name}"),
                        None => path,
                    };
                    list.insert(path, blob);
                }
            }
            EntryKind::Other => {}
        }
        Ok(())
    };
    let mut lists = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    for (list, tree) in lists.iter_mut().zip([base, sides[0], sides[1]]) {
        for (name, entry) in repo.list_tree(tree)? {
            if name == layout::SESSIONS || name == layout::ARCHIVE {
                continue;
            }
            match entry.kind {
                EntryKind::Tree if name == layout::BRANCHES => {
                    for held in shelf::entries(repo, Shelf::Names, &entry.id)? {
                        add(list, &format!("{name}/{}", held.name), held.entry)?;
                    }
                }
                _ => add(list, &name, entry)?,
            }
        }
    }
    let paths: BTreeSet<&String> = lists[1].keys().chain(lists[2].keys()).collect();
    let mut found = BTreeMap::new();
    for path in paths {
        let values = Values {
            base: lists[0].get(path).cloned(),
            sides: [lists[1].get(path).cloned(), lists[2].get(path).cloned()],
        };
        if values.sides[0] != values.sides[1] || path.starts_with(layout::BRANCHES) {
            found.insert(path.clone(), values);
        }
    }
    Ok(found)
}

/// The session that a binding's blob names.
fn binding(repo: &Repo, blob: &Oid) -> Result<Option<String>> {
    let text = repo.read_blob(blob)?;
    Ok(String::from_utf8(text).ok().map(|id| id.trim().to_owned()))
}

fn renamed_bindings(
    repo: &Repo,
    mut values: Values,
    names: &[BTreeMap<SessionId, SessionId>; 2],
) -> Result<Values> {
    let changed = |value: &Option<Oid>| *value != values.base;
    let was_changed = values.sides.each_ref().map(changed);
    for side in SIDES {
        let Some(blob) = values.sides[side].clone() else {
            continue;
        };
        let Some(id) = binding(repo, &blob)?.and_then(|id| SessionId::parse(&id).ok()) else {
            continue;
        };
        if let Some(name) = names[side].get(&id)
            && *name != id
        {
            let blob = repo.write_blob(format!("{name}\n").as_bytes())?;
            values.sides[side] = Some(blob.clone());
            if !was_changed[side] {
                // It says the same as before, under the new name.
                values.base = Some(blob);
            }
        }
    }
    Ok(values)
}

/// Changed on one side: that. On both: for a binding the session that says so itself, of two the older,
/// and else the larger id; what is there before what is not.
fn choose(
    repo: &Repo,
    path: &str,
    values: Values,
    settled: &BTreeMap<String, State>,
    tree: &Oid,
) -> Result<(Option<Oid>, Option<Rebound>)> {
    let Values {
        base,
        sides: [ours, theirs],
    } = values;
    if layout::is_foreign_state(path) && ours != base && theirs != base && ours != theirs {
        return Ok((None, None));
    }
    if layout::record(path).is_some() {
        // None is ever taken away, and of two texts of one the first that was there stays.
        let kept = [&ours, &theirs].into_iter().find(|side| **side == base);
        let kept = kept.filter(|kept| kept.is_some()).cloned();
        return Ok((kept.unwrap_or(ours.max(theirs)), None));
    }
    if ours == theirs || theirs == base {
        return Ok((ours, None));
    }
    if ours == base {
        return Ok((theirs, None));
    }
    let (Some(ours), Some(theirs)) = (ours.clone(), theirs.clone()) else {
        return Ok((ours.or(theirs), None));
    };
    let Some(escaped) = path.strip_prefix(&format!("{}/", layout::BRANCHES)) else {
        return Ok((Some(ours.max(theirs)), None));
    };
    // By uid: a name may still change when more clones meet.
    let weigh = |blob: &Oid| -> Result<(bool, std::cmp::Reverse<String>)> {
        let id = binding(repo, blob)?.unwrap_or_default();
        let state = match settled.get(&id) {
            Some(state) => Some(state.clone()),
            None => {
                let path = format!("{}/{id}", layout::SESSIONS);
                match shelves::entry_at(repo, tree, &path)? {
                    Some(entry) => Some(read_state(repo, &path, &entry.id)?),
                    None => None,
                }
            }
        };
        let is_its = state.as_ref().is_some_and(|state| {
            let branch = state.branch.as_deref();
            state.is_active() && branch.is_some_and(|branch| layout::binding(branch) == path)
        });
        let uid = state.map_or(id, |state| state.uid);
        Ok((is_its, std::cmp::Reverse(uid)))
    };
    let (chosen, other) = match weigh(&ours)? >= weigh(&theirs)? {
        true => (ours, theirs),
        false => (theirs, ours),
    };
    let clash = Rebound {
        branch: layout::unescape(escaped),
        session: binding(repo, &chosen)?.unwrap_or_default(),
        instead_of: binding(repo, &other)?.unwrap_or_default(),
    };
    Ok((Some(chosen), Some(clash)))
}
