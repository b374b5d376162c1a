//! Two states of the branch as one: the operations of each session merged and replayed, everything else
//! by path.
//!
//! What comes out is a function of the two trees and the one they parted from, and for a session of its
//! operations alone: whoever meets whom, in whatever order, ends with the same tree. Nothing is
//! dropped, no text of a state file is ever merged, and no ref is moved here.

use super::loss::{Records, Unreadable, is_signature};
use super::merge_session::{Folder, build, gather_beside};
use super::snapshot::state_of;
use super::{Edits, bindings, fanout, fanout_folder, layout, ops, record_limit, stored};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::session::State;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Distance that the number of an operation may have from their count: more is no accident, and would use up the
/// numbers that are left.
const MAX_JUMP: u64 = 1_000_000;

/// Result of merging two trees.
#[derive(Debug)]
pub struct MergedBranch {
    pub tree: Oid,
    /// Sessions that both sides had changed.
    pub sessions: Vec<MergedSession>,
    pub renamed: Vec<Renamed>,
    pub shared: Vec<Shared>,
}

/// A session that was changed on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedSession {
    pub session: SessionId,
    /// Operations and artifacts that a person has to settle.
    pub conflicts: usize,
}

/// New name of a session: two sessions had one name, and the one whose uid is larger has another now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    pub from: SessionId,
    pub to: SessionId,
    pub title: String,
}

/// A branch that several sessions are bound to: a conflict of all of them, until all but one let it go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shared {
    pub branch: String,
    pub sessions: Vec<String>,
}

/// Sides of a meeting.
const SIDES: [usize; 2] = [0, 1];

/// Folder of a session on one side that differs from the other side's.
struct Item {
    side: usize,
    path: String,
    name: SessionId,
    tree: Oid,
    state: State,
    /// Set when the folder is as it was when the sides parted.
    unchanged: bool,
}

/// Unites two trees that parted at `base`. With `anew` every session that differs is made of its
/// operations, also one that a single side changed.
pub(super) fn merge_trees(
    repo: &Repo,
    base: &Oid,
    ours: &Oid,
    theirs: &Oid,
    anew: bool,
) -> Result<MergedBranch> {
    let mut merged = MergedBranch {
        tree: ours.clone(),
        sessions: Vec::new(),
        renamed: Vec::new(),
        shared: Vec::new(),
    };
    if ours == theirs {
        return Ok(merged);
    }
    let meeting = Meeting {
        repo,
        base,
        sides: [ours, theirs],
    };
    let mut edits = Edits::default();
    let groups = meeting.differing()?;
    let names = names(&groups);
    let mut final_names: [BTreeMap<SessionId, SessionId>; 2] = Default::default();
    let mut placed = BTreeMap::new();
    let mut settled = BTreeMap::new();
    for (uid, items) in &groups {
        let name = &names[uid];
        for item in items {
            final_names[item.side].insert(item.name.clone(), name.clone());
            edits.remove(item.path.clone());
        }
        add_renames(items, name, &mut merged.renamed);
        let (path, tree, state) = settle(repo, base, name, items, anew)?;
        let has_changed = |side: &usize| {
            let mut items = items.iter();
            items.any(|item| item.side == *side && !item.unchanged)
        };
        if SIDES.iter().all(has_changed) {
            merged.sessions.push(MergedSession {
                session: name.clone(),
                conflicts: state.open_conflicts(),
            });
        }
        placed.insert(path, Entry::tree(tree));
        settled.insert(name.to_string(), state);
    }
    // After the removals: one may be where another was.
    for (path, entry) in placed {
        edits.set(path, entry);
    }
    merged.shared = index(repo, meeting.sides, &final_names, &settled, &mut edits)?;
    meeting.merge_others(&mut edits)?;
    meeting.arrange(&mut edits)?;
    merged.tree = fanout::edit(repo, Some(ours), &edits)?;
    Ok(merged)
}

/// Trees of a meeting, and the tree that they parted from.
struct Meeting<'m> {
    repo: &'m Repo,
    base: &'m Oid,
    sides: [&'m Oid; 2],
}

impl Meeting<'_> {
    /// The folders of sessions that the other side has not like that, by the uid of the session.
    fn differing(&self) -> Result<BTreeMap<String, Vec<Item>>> {
        let [ours, theirs] = self.sides;
        let listed = [
            session_folders(self.repo, ours, theirs)?,
            session_folders(self.repo, theirs, ours)?,
        ];
        let mut groups: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for side in SIDES {
            for (path, (name, tree)) in &listed[side] {
                let there = listed[1 - side].get(path);
                if there.is_some_and(|(_, other)| other == tree) {
                    continue;
                }
                let state = read_state(self.repo, path, tree)?;
                let before = fanout::entry_at(self.repo, self.base, path)?;
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
        Ok(groups)
    }

    /// Takes from each side the files that belong to no session; records are put together folder by folder.
    fn merge_others(&self, edits: &mut Edits) -> Result<()> {
        let mut records: BTreeMap<String, BTreeMap<String, Option<Entry>>> = BTreeMap::new();
        for (path, values) in others(self.repo, self.base, self.sides)? {
            let entry = choose(&path, values).map(Entry::blob);
            match (layout::record(&path), entry) {
                (Some((folder, name)), entry) => {
                    let files = records.entry(folder).or_default();
                    files.insert(name.to_owned(), entry);
                }
                (None, Some(entry)) => edits.set(path, entry),
                (None, None) => edits.remove(path),
            }
        }
        for (folder, files) in records {
            let known = fanout::entry_at(self.repo, self.sides[0], &folder)?;
            let known = known.filter(|known| known.kind == EntryKind::Tree);
            let tree = ops::edit(self.repo, known.as_ref().map(|known| &known.id), &files)?;
            edits.set(folder, Entry::tree(tree));
        }
        Ok(())
    }

    /// Arranges fan-out folders that differ: one side may have laid out what the other has not touched since it grew.
    fn arrange(&self, edits: &mut Edits) -> Result<()> {
        let [ours, theirs] = self.sides;
        for (fanout, _) in fanout::all(self.repo, ours)? {
            if self.repo.entry_at(ours, &fanout)? != self.repo.entry_at(theirs, &fanout)? {
                edits.arrange(fanout);
            }
        }
        Ok(())
    }
}

/// Says which names a session had before: those on our side, and one of theirs where nobody has said it yet.
fn add_renames(items: &[Item], name: &SessionId, known: &mut Vec<Renamed>) {
    let renamed = |item: &Item| Renamed {
        from: item.name.clone(),
        to: name.clone(),
        title: item.state.title.clone(),
    };
    let of = |side: usize| {
        let others = items.iter().filter(|item| item.name != *name);
        others.filter(move |item| item.side == side)
    };
    known.extend(of(0).map(renamed));
    if let Some(item) = of(1).next()
        && known.iter().all(|one| one.to != *name)
    {
        known.push(renamed(item));
    }
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
        let records = records.names().filter(|name| !is_signature(name));
        names.extend(records.cloned());
    }
    match (items.first(), names.len()) {
        (Some(item), count) if count > record_limit::MOST => {
            Err(record_limit::too_many(&item.path, count))
        }
        _ => Ok(()),
    }
}

/// Tells whether a folder holds every operation that the other folders have, as the operation is there: none is ever
/// taken away.
fn has_all(repo: &Repo, base: &Oid, one: &Item, items: &[Item]) -> Result<bool> {
    let mut known = Vec::new();
    for item in items
        .iter()
        .filter(|item| item.path != one.path || item.side != one.side)
    {
        known.push(Entry::tree(item.tree.clone()));
    }
    known.extend(fanout::entry_at(repo, base, &one.path)?);
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

/// Entries in the places of session folders, active and archived, in parts of the tree that differ from the other's;
/// also those that are no folders.
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
        for held in fanout_folder::entries(repo, Fanout::Names, &entry.id)? {
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
    let stored = stored::state(repo, tree, &format!("{path}/{}", layout::STATE))?;
    let state = stored.map_or_else(|| state_of(repo, path, path, tree), Ok)?;
    require_no_jump(repo, path, tree, state.seq)?;
    Ok(state)
}

/// Refuses a session that has more operations than one may have, or in which somebody jumped far ahead of what
/// had happened. The names of operations say their numbers too: a state may say less.
pub(super) fn require_no_jump(repo: &Repo, path: &str, tree: &Oid, seq: u64) -> Result<()> {
    let records = Records::of(repo, Some(&Entry::tree(tree.clone())));
    let records = records.map_err(Unreadable::failure)?;
    if records.len() > record_limit::MOST {
        return Err(record_limit::too_many(path, records.len()));
    }
    let largest = largest_number(&records).max(seq);
    if largest <= MAX_JUMP || largest - MAX_JUMP <= records.len() as u64 {
        return Ok(());
    }
    Err(Failure::refused(
        Code::SequenceJump,
        format!("{path}: operation number {largest} was reached by a jump"),
    )
    .help(format!(
        "git log -p --all -- {path}/{}  (shows the COMMIT that made it jump; nothing was taken over), then: git push --force-with-lease REMOTE COMMIT^:refs/heads/BRANCH  (sets the branch there back to before)",
        layout::OPS
    )))
}

/// Refuses a jump among the operations that came since `before`: a number that was reached without a jump was so then.
pub(super) fn require_no_jump_since(
    repo: &Repo,
    path: &str,
    before: Option<&Entry>,
    after: &Entry,
) -> Result<()> {
    let (_, came) = Records::differing(repo, before, Some(after));
    if largest_number(&came.map_err(Unreadable::failure)?) <= MAX_JUMP {
        Ok(())
    } else {
        require_no_jump(repo, path, &after.id, 0)
    }
}

/// The largest number that names of operations say.
fn largest_number(records: &Records) -> u64 {
    let number = |name: &String| {
        let digits = name.split('-').next()?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    records.names().filter_map(number).fold(0, u64::max)
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

/// Values of one path: before, here and there.
struct Values {
    base: Option<Oid>,
    sides: [Option<Oid>; 2],
}

/// Values that differ between the sides, and belong neither to a session nor to the index of bindings.
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
    let differing = entities(repo, base, sides)?;
    for (list, entities) in lists.iter_mut().zip(differing) {
        for (path, entry) in entities {
            add(list, &path, entry)?;
        }
    }
    let paths: BTreeSet<&String> = lists[1].keys().chain(lists[2].keys()).collect();
    let mut found = BTreeMap::new();
    for path in paths {
        let values = Values {
            base: lists[0].get(path).cloned(),
            sides: [lists[1].get(path).cloned(), lists[2].get(path).cloned()],
        };
        if values.sides[0] != values.sides[1] {
            found.insert(path.clone(), values);
        }
    }
    Ok(found)
}

/// Entries at the top of the three trees, and in the folders there, that differ between the sides: of `base` and of
/// each side, by the path of the entity. No session, and not the index of bindings.
fn entities(repo: &Repo, base: &Oid, sides: [&Oid; 2]) -> Result<[BTreeMap<String, Entry>; 3]> {
    let mut lists = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    let tops = [base, sides[0], sides[1]].map(|tree| repo.list_tree(tree));
    let [base, ours, theirs] = tops;
    let tops = [base?, ours?, theirs?];
    for (list, (at, top)) in lists.iter_mut().zip(tops.iter().enumerate()) {
        let other = if at == 1 { &tops[2] } else { &tops[1] };
        for (name, entry) in top {
            let is_tree = entry.kind == EntryKind::Tree;
            let is_index = is_tree && name == layout::BRANCHES;
            let is_same = at > 0
                && other
                    .iter()
                    .any(|one| one == &(name.clone(), entry.clone()));
            if name == layout::SESSIONS || name == layout::ARCHIVE || is_index || is_same {
                continue;
            }
            if !is_tree {
                list.insert(name.clone(), entry.clone());
                continue;
            }
            // By its name: the two sides may be laid out differently.
            let below: Vec<(String, Entry)> = match name.as_str() {
                layout::ISSUES => {
                    let held = fanout_folder::entries(repo, Fanout::Names, &entry.id)?.into_iter();
                    held.map(|held| (held.name, held.entry)).collect()
                }
                _ => repo.list_tree(&entry.id)?,
            };
            for (below, entry) in below {
                list.insert(format!("{name}/{below}"), entry);
            }
        }
    }
    let [_, ours, theirs] = &lists;
    let is_same = |path: &String| ours.contains_key(path) && ours.get(path) == theirs.get(path);
    let same: BTreeSet<String> = ours.keys().filter(|path| is_same(path)).cloned().collect();
    for list in &mut lists {
        list.retain(|path, _| !same.contains(path));
    }
    Ok(lists)
}

/// The index of bindings for the sessions as they are now: of each branch where the sides differ, or that a session
/// that was settled held. What several sessions hold now is told.
fn index(
    repo: &Repo,
    sides: [&Oid; 2],
    names: &[BTreeMap<SessionId, SessionId>; 2],
    settled: &BTreeMap<String, State>,
    edits: &mut Edits,
) -> Result<Vec<Shared>> {
    let listed = [
        bindings::entries(repo, sides[0])?,
        bindings::entries(repo, sides[1])?,
    ];
    let mut branches: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for side in SIDES {
        for (name, entry) in &listed[side] {
            let ids = bindings::sessions(repo, entry)?;
            let now = |id: &String| match SessionId::parse(id) {
                Ok(id) => names[side].get(&id).unwrap_or(&id).to_string(),
                Err(_) => id.clone(),
            };
            let now: BTreeSet<String> = ids.iter().map(now).collect();
            let differs = listed[1 - side].get(name) != Some(entry);
            if differs || now != ids || now.iter().any(|id| settled.contains_key(id)) {
                branches.entry(name.clone()).or_default().extend(now);
            }
        }
    }
    for (id, state) in settled {
        if let Some(branch) = bindings::held(state) {
            let path = layout::binding(branch);
            let name = path[layout::BRANCHES.len() + 1..].to_owned();
            let ids = branches.entry(name.clone()).or_default();
            ids.insert(id.clone());
            // What both sides bound to it stays.
            for entry in listed.iter().filter_map(|side| side.get(&name)) {
                ids.extend(bindings::sessions(repo, entry)?);
            }
        }
    }
    let mut shared = Vec::new();
    for (name, ids) in branches {
        let path = format!("{}/{name}", layout::BRANCHES);
        let mut held = BTreeMap::new();
        for id in ids {
            let state = state_now(repo, sides[0], &id, settled)?;
            let branch = state.as_ref().and_then(bindings::held);
            if let Some(branch) = branch.filter(|branch| layout::binding(branch) == path) {
                held.insert(id, branch.to_owned());
            }
        }
        let sessions: BTreeSet<String> = held.keys().cloned().collect();
        edits.put(path, bindings::folder(repo, &sessions)?);
        if sessions.len() > 1
            && let Some(branch) = held.into_values().next()
        {
            let sessions = sessions.into_iter().collect();
            shared.push(Shared { branch, sessions });
        }
    }
    Ok(shared)
}

/// A session as the union has it: settled, or as both sides have it.
fn state_now(
    repo: &Repo,
    tree: &Oid,
    id: &str,
    settled: &BTreeMap<String, State>,
) -> Result<Option<State>> {
    if let Some(state) = settled.get(id) {
        return Ok(Some(state.clone()));
    }
    let Ok(id) = SessionId::parse(id) else {
        return Ok(None);
    };
    let path = layout::session(&id);
    match fanout::entry_at(repo, tree, &path)? {
        Some(entry) => read_state(repo, &path, &entry.id).map(Some),
        None => Ok(None),
    }
}

/// Chooses a value: changed on one side, that one; on both, the one that is there, and else the larger id.
fn choose(path: &str, values: Values) -> Option<Oid> {
    let Values {
        base,
        sides: [ours, theirs],
    } = values;
    if layout::is_foreign_state(path) && ours != base && theirs != base && ours != theirs {
        return None;
    }
    if layout::record(path).is_some() {
        // None is ever taken away, and of two texts of one the first that was there stays.
        let kept = [&ours, &theirs].into_iter().find(|side| **side == base);
        let kept = kept.filter(|kept| kept.is_some()).cloned();
        return kept.unwrap_or(ours.max(theirs));
    }
    match (ours, theirs) {
        (ours, theirs) if ours == theirs || theirs == base => ours,
        (ours, theirs) if ours == base => theirs,
        (ours, theirs) => ours.max(theirs),
    }
}
