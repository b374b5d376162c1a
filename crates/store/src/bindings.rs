//! The index of bindings: which sessions a code branch is bound to, as `branches/<escaped branch>/<session>`, so
//! that a hook finds them without reading every session.
//!
//! It says nothing of its own. An active session is bound to the branch that its state names, and the index has
//! exactly those pairs: each writer of a session keeps it so, and `fsck` and `pre-receive` compare it. Two
//! sessions on one branch are both in it; what that means is decided elsewhere. Branches that format 1 bound are
//! files with the session's name; they are read, and replaced where they change.

use super::fanout_folder::{self, Held};
use super::{Edits, Snapshot, fanout, layout};
use loopx_base::failure::Result;
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::session::State;
use std::collections::{BTreeMap, BTreeSet};

/// Branch that a session holds; a session that cannot change any more holds none.
pub(super) fn held(state: &State) -> Option<&str> {
    state.branch.as_deref().filter(|_| state.is_active())
}

/// The names of the sessions that an entry of `branches/` has.
pub(super) fn sessions(repo: &Repo, entry: &Entry) -> Result<BTreeSet<String>> {
    Ok(match entry.kind {
        EntryKind::Tree => {
            let listed = repo.list_tree(&entry.id)?.into_iter();
            listed.map(|(name, _)| name).collect()
        }
        EntryKind::Blob => {
            let text = repo.read_blob(&entry.id)?;
            BTreeSet::from([String::from_utf8_lossy(&text).trim().to_owned()])
        }
        EntryKind::Other => BTreeSet::new(),
    })
}

/// The sessions that a code branch is bound to, by name.
pub(super) fn of_branch(repo: &Repo, tree: &Oid, branch: &str) -> Result<Vec<SessionId>> {
    let Some(entry) = fanout::entry_at(repo, tree, &layout::binding(branch))? else {
        return Ok(Vec::new());
    };
    let names = sessions(repo, &entry)?.into_iter();
    Ok(names
        .filter_map(|name| SessionId::parse(&name).ok())
        .collect())
}

impl Edits {
    /// Keeps the index with a session that is written: `before` is how it was.
    pub(super) fn index(
        &mut self,
        repo: &Repo,
        before: Option<&State>,
        after: &State,
    ) -> Result<()> {
        let old = before.and_then(|before| Some((held(before)?, &before.id)));
        let new = held(after).map(|branch| (branch, &after.id));
        if old == new {
            return Ok(());
        }
        if let Some((branch, id)) = old {
            self.remove(layout::bound(branch, id));
        }
        if let Some((branch, id)) = new {
            self.set(layout::bound(branch, id), entry(repo)?);
        }
        Ok(())
    }
}

impl Edits {
    /// Puts a session into the index of a branch, whatever the index said of the branch.
    pub fn keep_bound(&mut self, repo: &Repo, branch: &str, id: &SessionId) -> Result<()> {
        self.set(layout::bound(branch, id), entry(repo)?);
        Ok(())
    }

    /// Takes a session out of the index of a branch: there is no such session.
    pub fn forget_bound(&mut self, branch: &str, id: &SessionId) {
        self.remove(layout::bound(branch, id));
    }
}

/// The branch that an entry of the index is about. Of a name that was cut its sessions say the whole.
pub(super) fn branch(snapshot: &Snapshot<'_>, name: &str, ids: &BTreeSet<String>) -> String {
    let path = format!("{}/{name}", layout::BRANCHES);
    let whole = || {
        let mut states = ids.iter().filter_map(|id| read(snapshot, id));
        let is_of = |branch: &String| layout::binding(branch) == path;
        states.find_map(|state| state.branch.filter(is_of))
    };
    layout::unescape(name)
        .or_else(whole)
        .unwrap_or_else(|| name.to_owned())
}

/// Entry of a session in the index: an empty file, since the path says everything.
pub(super) fn entry(repo: &Repo) -> Result<Entry> {
    repo.write_blob(b"").map(Entry::blob)
}

/// Tells whether an entry of the index is a file, as format 1 wrote it.
pub(super) fn is_of_format_1(repo: &Repo, tree: &Oid) -> Result<bool> {
    let all = entries(repo, tree)?;
    Ok(all.values().any(|entry| entry.kind != EntryKind::Tree))
}

/// Writes the whole index anew, as the sessions say.
pub(super) fn rewrite(repo: &Repo, snapshot: &Snapshot<'_>, edits: &mut Edits) -> Result<()> {
    let mut branches: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (id, _) in snapshot.session_folders(false)? {
        if let Some(branch) = read(snapshot, id.as_str()).as_ref().and_then(held) {
            let ids = branches.entry(layout::binding(branch)).or_default();
            ids.insert(id.to_string());
        }
    }
    for name in entries(repo, snapshot.tree())?.into_keys() {
        let path = format!("{}/{name}", layout::BRANCHES);
        branches.entry(path).or_default();
    }
    for (path, ids) in branches {
        edits.put(path, folder(repo, &ids)?);
    }
    Ok(())
}

/// Entry for `branches/<branch>` with these sessions; `None` where there are none.
pub(super) fn folder(repo: &Repo, ids: &BTreeSet<String>) -> Result<Option<Entry>> {
    let entry = entry(repo)?;
    let files = ids.iter().map(|id| (id.clone(), Some(entry.clone())));
    let tree = repo.edited_tree(None, &files.collect())?;
    Ok(tree.map(Entry::tree))
}

/// The edits that make the index what the sessions of a snapshot say, but for some of which nobody can say what
/// they should be.
pub(super) fn mend(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    edits: &mut Edits,
    but: &BTreeSet<String>,
) -> Result<()> {
    let index = repo.entry_at(snapshot.tree(), layout::BRANCHES)?;
    if index.is_some_and(|entry| entry.kind != EntryKind::Tree) {
        edits.remove(layout::BRANCHES);
        return rewrite(repo, snapshot, edits);
    }
    if is_of_format_1(repo, snapshot.tree())? && !snapshot.is_of_earlier_format()? {
        return rewrite(repo, snapshot, edits);
    }
    for fault in faults(repo, snapshot, None, but)? {
        let entry = if fault.is_wanted {
            Some(entry(repo)?)
        } else {
            None
        };
        edits.put(fault.path, entry);
    }
    Ok(())
}

/// Every entry of `branches/`.
pub(super) fn entries(repo: &Repo, tree: &Oid) -> Result<BTreeMap<String, Entry>> {
    let folder = repo.entry_at(tree, layout::BRANCHES)?;
    let Some(folder) = folder.filter(|entry| entry.kind == EntryKind::Tree) else {
        return Ok(BTreeMap::new());
    };
    let held = fanout_folder::entries(repo, Fanout::Names, &folder.id)?.into_iter();
    Ok(held.map(|Held { name, entry, .. }| (name, entry)).collect())
}

/// Fault of the index: a place that differs from what the sessions say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) path: String,
    pub(super) what: String,
    /// Set when an entry belongs there, as [`entry`] makes it.
    pub(super) is_wanted: bool,
}

/// Faults of the index against the sessions of a snapshot. With `before`, a state whose index was right, only branches
/// and sessions that changed since are looked at. `unread` are names of sessions of which nothing is known now; a
/// session that only a newer program understands may be bound to anything.
pub(super) fn faults(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    before: Option<&Snapshot<'_>>,
    unread: &BTreeSet<String>,
) -> Result<Vec<Fault>> {
    let known = match before {
        Some(before) => entries(repo, before.tree())?,
        None => BTreeMap::new(),
    };
    let look = Look {
        repo,
        snapshot,
        unread,
        changed: changed(snapshot, before)?,
        known,
        all: entries(repo, snapshot.tree())?,
    };
    let mut found = Vec::new();
    for (name, entry) in &look.all {
        look.wrong(name, entry, &mut found)?;
    }
    if snapshot.is_of_earlier_format()? {
        return Ok(found);
    }
    for id in look.wanted()? {
        found.extend(look.missing(&id)?);
    }
    Ok(found)
}

/// Sessions that differ from the state before, and sessions that went.
fn changed(
    snapshot: &Snapshot<'_>,
    before: Option<&Snapshot<'_>>,
) -> Result<BTreeMap<String, Option<State>>> {
    let folders = |of: &Snapshot<'_>| -> Result<BTreeMap<String, Entry>> {
        let listed = of.session_folders(false)?.into_iter();
        Ok(listed
            .map(|(id, folder)| (id.to_string(), folder.entry))
            .collect())
    };
    let were = before.map_or_else(|| Ok(BTreeMap::new()), folders)?;
    let now = folders(snapshot)?;
    let mut changed = BTreeMap::new();
    for (id, entry) in &now {
        if were.get(id) != Some(entry) {
            changed.insert(id.clone(), read(snapshot, id));
        }
    }
    let gone = were.into_keys().filter(|id| !now.contains_key(id));
    changed.extend(gone.map(|id| (id, None)));
    Ok(changed)
}

/// A look at the index beside the sessions.
struct Look<'l> {
    repo: &'l Repo,
    snapshot: &'l Snapshot<'l>,
    /// Sessions of which nothing is known now.
    unread: &'l BTreeSet<String>,
    /// Sessions that are others than in the state whose index was right.
    changed: BTreeMap<String, Option<State>>,
    /// Index of the state that was right.
    known: BTreeMap<String, Entry>,
    all: BTreeMap<String, Entry>,
}

impl Look<'_> {
    fn state(&self, id: &str) -> Option<State> {
        match self.changed.get(id) {
            Some(state) => state.clone(),
            None => read(self.snapshot, id),
        }
    }

    /// Tells whether a session may be bound to anything.
    fn is_open(&self, id: &str, state: Option<&State>) -> bool {
        self.unread.contains(id) || state.is_some_and(|state| !state.is_understood())
    }

    /// Adds entries of the index for sessions that are not bound to the branch.
    fn wrong(&self, name: &str, entry: &Entry, found: &mut Vec<Fault>) -> Result<()> {
        let is_same = self.known.get(name) == Some(entry);
        let path = format!("{}/{name}", layout::BRANCHES);
        if !is_same {
            self.filled(&path, entry, found)?;
        }
        for id in sessions(self.repo, entry)? {
            if is_same && !self.changed.contains_key(&id) {
                continue;
            }
            let state = self.state(&id);
            let is_of = |branch: &str| layout::binding(branch) == path;
            // In format 1 a session could have several.
            let is_right =
                |state: &State| entry.kind == EntryKind::Blob || held(state).is_some_and(is_of);
            if self.is_open(&id, state.as_ref()) || state.as_ref().is_some_and(is_right) {
                continue;
            }
            let what = match state {
                None => format!("names the session `{id}`, which is not there"),
                Some(_) => format!("names the session `{id}`, which is not bound to that branch"),
            };
            let path = match entry.kind {
                EntryKind::Tree => format!("{path}/{id}"),
                _ => path.clone(),
            };
            found.push(Fault {
                path,
                what,
                is_wanted: false,
            });
        }
        Ok(())
    }

    /// Adds entries of a branch that are no empty files: the path says everything, and any bytes would come in with one.
    fn filled(&self, path: &str, of: &Entry, found: &mut Vec<Fault>) -> Result<()> {
        if of.kind != EntryKind::Tree {
            return Ok(());
        }
        let plain = entry(self.repo)?;
        for (id, held) in self.repo.list_tree(&of.id)? {
            if held != plain {
                found.push(Fault {
                    path: format!("{path}/{id}"),
                    what: "is no empty file, and every entry of a session is".to_owned(),
                    is_wanted: true,
                });
            }
        }
        Ok(())
    }

    /// Sessions whose entry may be missing: those that changed, and those that an entry named before.
    fn wanted(&self) -> Result<BTreeSet<String>> {
        let mut wanted: BTreeSet<String> = self.changed.keys().cloned().collect();
        for (name, entry) in &self.known {
            let now = self.all.get(name);
            if now == Some(entry) {
                continue;
            }
            let had = sessions(self.repo, entry)?.into_iter();
            let has = match now {
                Some(entry) => sessions(self.repo, entry)?,
                None => BTreeSet::new(),
            };
            wanted.extend(had.filter(|id| !has.contains(id)));
        }
        Ok(wanted)
    }

    /// The entry that a session has to have, where it is not there.
    fn missing(&self, id: &str) -> Result<Option<Fault>> {
        let state = self.state(id);
        let Some(branch) = state.as_ref().and_then(held) else {
            return Ok(None);
        };
        if self.is_open(id, state.as_ref()) {
            return Ok(None);
        }
        let binding = layout::binding(branch);
        let name = &binding[layout::BRANCHES.len() + 1..];
        let is_there = match self.all.get(name) {
            Some(entry) if entry.kind == EntryKind::Tree => {
                sessions(self.repo, entry)?.contains(id)
            }
            other => other.is_some(),
        };
        Ok((!is_there).then(|| Fault {
            path: format!("{binding}/{id}"),
            what: format!("is missing: the session is bound to {branch}"),
            is_wanted: true,
        }))
    }
}

/// The state of a session by name; of one that cannot be read nothing is known.
fn read(snapshot: &Snapshot<'_>, id: &str) -> Option<State> {
    let id = SessionId::parse(id).ok()?;
    Some(snapshot.session(&id).ok()??.state)
}
