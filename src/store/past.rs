//! What the commits of the branch did to its sessions: that none went away, that no operation went away or
//! was changed, and that each commit is about the sessions that it names.
//!
//! A commit is judged by its tree against those of its parents. Only what is still so at the tip is damage:
//! what was mended since is told, and no more.

use super::check::Missing as Files;
use super::{Snapshot, layout, ops, shelves};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::op::Operation;
use crate::git::{CommitInfo, Entry, EntryKind, Repo};
use serde::Serialize;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

/// Events that bring sessions of many names together, or put them right.
const ABOUT_ALL: [&str; 4] = ["init", "sync", "repair", "recover"];

/// Events whose commits may take away what was wrong.
pub(super) const MENDS: [&str; 2] = ["repair", "recover"];

/// A commit that did something else than what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Oddity {
    pub commit: Oid,
    pub what: String,
}

/// Operations of one session that are not there any more, or are others now.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) session: SessionId,
    /// The first commit without them.
    pub(super) since: Oid,
    pub(super) files: Files,
    pub(super) what: String,
}

/// What a walk over history found.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) commits: usize,
    /// How many of them could not be compared with a parent.
    pub(super) unread: usize,
    pub(super) lost: Vec<Lost>,
    pub(super) oddities: Vec<Oddity>,
}

/// What one session lost by some commit.
#[derive(Default)]
struct Missing {
    since: Option<Oid>,
    files: Files,
}

/// Looks at the commits that came since `known`; at all of them where that is not in this history.
pub(super) fn look(repo: &Repo, snapshot: &Snapshot<'_>, known: Option<&Oid>) -> Result<Past> {
    let tip = snapshot.commit();
    // One that is gone, or torn, is as good as none: then everything is looked at.
    let is_before = |known: &&Oid| {
        repo.contains(known).unwrap_or(false) && repo.is_ancestor(known, tip).unwrap_or(false)
    };
    let hidden: Vec<Oid> = known.filter(is_before).into_iter().cloned().collect();
    let mut past = Past::default();
    let mut missing: BTreeMap<SessionId, Missing> = BTreeMap::new();
    let mut forgiven = BTreeSet::new();
    // Newest first: what a mend took away is known before the commit that brought it.
    for commit in repo.range(tip, &hidden, usize::MAX)? {
        let info = repo.commit_info(&commit)?;
        past.commits += 1;
        let events = info.trailer("Loopx-Event");
        let is_mend = events.iter().any(|event| MENDS.contains(event));
        let mut touched = BTreeSet::new();
        for parent in &info.parents {
            // In a partial clone, or where history is damaged, a tree of long ago may not be there.
            let Ok(changed) = changed(repo, parent, &info) else {
                past.unread += 1;
                continue;
            };
            for (id, operations) in changed {
                touched.insert(id.clone());
                for (name, blob) in operations {
                    if is_mend && !takes_away(repo, &info, &events, &id, &name, blob.as_ref())? {
                        forgiven.insert(name);
                        continue;
                    }
                    let known = missing.entry(id.clone()).or_default();
                    known.since = Some(commit.clone());
                    known.files.insert(name, blob);
                }
            }
        }
        past.oddities.extend(odd(&info, &events, &touched));
    }
    for (id, mut one) in missing {
        one.files.retain(|name, _| !forgiven.contains(name));
        past.lost.extend(still_lost(repo, snapshot, id, one)?);
    }
    Ok(past)
}

/// Whether a repair took away what is an operation by its own words. Only what is none may go.
fn takes_away(
    repo: &Repo,
    info: &CommitInfo,
    events: &[&str],
    id: &SessionId,
    name: &str,
    blob: Option<&Oid>,
) -> Result<bool> {
    let Some(blob) = blob.filter(|_| events.contains(&"repair")) else {
        return Ok(false);
    };
    let folder = shelves::entry_at(repo, &info.tree, &layout::session(id))?;
    if operation(repo, folder.as_ref(), name)?.is_some() {
        return Ok(false);
    }
    // One that cannot be read is taken for what its name says.
    let read = repo.read_blob(blob);
    Ok(read.map_or(true, |bytes| {
        Operation::parse(&bytes, name, blob).is_ok_and(|op| op.file_name() == name)
    }))
}

/// The tree of a commit, where both are there: history may be cut off.
fn tree_of(repo: &Repo, commit: &Oid) -> Result<Option<Oid>> {
    if !repo.contains(commit)? {
        return Ok(None);
    }
    let tree = repo.commit_info(commit)?.tree;
    Ok(repo.contains(&tree)?.then_some(tree))
}

/// The sessions that a commit changed against one of its parents, with what was there of their operations
/// and is not, or is another.
fn changed(repo: &Repo, parent: &Oid, info: &CommitInfo) -> Result<Vec<(SessionId, Operations)>> {
    let Some(before) = tree_of(repo, parent)? else {
        return Ok(Vec::new());
    };
    if before == info.tree || !repo.contains(&info.tree)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut folders: BTreeMap<SessionId, Folders> = BTreeMap::new();
    for path in repo.changed_paths(Some(&before), &info.tree)? {
        let Some(id) = layout::session_of(&path) else {
            continue;
        };
        let Folders { then, now } = match folders.entry(id.clone()) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(slot) => {
                let folder = layout::session(&id);
                let then = shelves::entry_at(repo, &before, &folder)?;
                let now = shelves::entry_at(repo, &info.tree, &folder)?;
                slot.insert(Folders { then, now })
            }
        };
        let is_active = path.starts_with(layout::SESSIONS);
        // What only lies elsewhere now was not changed.
        if is_active && then.is_some() && then == now {
            continue;
        }
        let operations = match operation_name(&path).filter(|_| is_active) {
            Some(name) => {
                let before = operation(repo, then.as_ref(), name)?;
                let is_same = before.is_some() && before == operation(repo, now.as_ref(), name)?;
                let changed = before.filter(|_| !is_same).into_iter();
                changed.map(|blob| (name.to_owned(), Some(blob))).collect()
            }
            None => sealed_at(repo, &before, &path)?,
        };
        found.push((id, operations));
    }
    Ok(found)
}

/// A session's folder before a commit and after it.
struct Folders {
    then: Option<Entry>,
    now: Option<Entry>,
}

/// The file of an operation that a path is about.
fn operation_name(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_one = path.contains(&format!("/{}/", layout::OPS)) && name.ends_with(".json");
    is_one.then_some(name)
}

/// The blob of an operation in a session's folder, wherever in it that lies.
fn operation(repo: &Repo, folder: Option<&Entry>, name: &str) -> Result<Option<Oid>> {
    match folder {
        Some(folder) if folder.kind == EntryKind::Tree => ops::blob(repo, &folder.id, name),
        _ => Ok(None),
    }
}

/// Files of operations with the blobs that they had; `None` where they were sealed.
type Operations = Vec<(String, Option<Oid>)>;

/// The sealed operations that a path held in a tree.
fn sealed_at(repo: &Repo, tree: &Oid, path: &str) -> Result<Operations> {
    if path.rsplit('/').next() != Some(layout::SEALED_OPS) {
        return Ok(Vec::new());
    }
    let Some(entry) = repo.entry_at(tree, path)? else {
        return Ok(Vec::new());
    };
    let sealed = repo.read_blob(&entry.id)?;
    let lines = sealed.split(|byte| *byte == b'\n');
    let ops = lines.filter_map(|line| Operation::parse_sealed(line, path).ok());
    Ok(ops.map(|op| (op.file_name(), None)).collect())
}

/// What a commit did beside what it says.
fn odd(info: &CommitInfo, events: &[&str], touched: &BTreeSet<SessionId>) -> Option<Oddity> {
    // A merge brings what others did.
    if touched.is_empty() || info.parents.len() != 1 {
        return None;
    }
    let list = |ids: Vec<&SessionId>| {
        let names: Vec<&str> = ids.into_iter().map(SessionId::as_str).collect();
        names.join(", ")
    };
    let what = if events.is_empty() {
        format!(
            "was made by hand, and changes {}",
            list(touched.iter().collect())
        )
    } else if events.iter().any(|event| ABOUT_ALL.contains(event)) {
        return None;
    } else {
        let named = info.trailer("Loopx-Session");
        let others: Vec<&SessionId> = touched
            .iter()
            .filter(|id| !named.contains(&id.as_str()))
            .collect();
        if others.is_empty() {
            return None;
        }
        let about = match named.as_slice() {
            [] => "no session".to_owned(),
            named => named.join(", "),
        };
        format!("is about {about}, and changes {}", list(others))
    };
    Some(Oddity {
        commit: info.id.clone(),
        what,
    })
}

/// Those of these operations that no session has: of two sessions that clones gave one name, one has
/// another name since.
fn nowhere(snapshot: &Snapshot<'_>, mut files: Files) -> Result<Files> {
    for (_, folder) in snapshot.session_folders(true)? {
        if let Ok(other) = snapshot.load_folder(folder) {
            for op in snapshot.operations(&other).unwrap_or_default() {
                files.remove(&op.file_name());
            }
        }
    }
    Ok(files)
}

/// What of it is not at the tip, under that name or another.
fn still_lost(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    session: SessionId,
    missing: Missing,
) -> Result<Option<Lost>> {
    let (Some(since), false) = (missing.since, missing.files.is_empty()) else {
        return Ok(None);
    };
    let lost = |files: Files, what: String| Lost {
        session: session.clone(),
        since: since.clone(),
        files,
        what,
    };
    let found = match snapshot.find(&session) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let files = nowhere(snapshot, missing.files)?;
            let what = "the session has gone".to_owned();
            return Ok((!files.is_empty()).then(|| lost(files, what)));
        }
        // What is damaged there is said of the session itself.
        Err(_) => return Ok(None),
    };
    let Ok(there) = snapshot.operations(&found) else {
        return Ok(None);
    };
    let mut gone = Files::new();
    let mut changed = Files::new();
    let names: BTreeSet<String> = there.iter().map(Operation::file_name).collect();
    for (name, blob) in missing.files {
        if !names.contains(&name) {
            gone.insert(name, blob);
        } else if let Some(blob) = blob
            && let Some(now) = ops::blob(repo, &found.tree, &name)?
            && now != blob
        {
            changed.insert(name, Some(blob));
        }
    }
    if !gone.is_empty() {
        gone = nowhere(snapshot, gone)?;
    }
    let count = |n: usize, did: &str| {
        let operations = if n == 1 {
            "operation has"
        } else {
            "operations have"
        };
        format!("{n} {operations} {did}")
    };
    Ok(match (gone.is_empty(), changed.is_empty()) {
        (true, true) => None,
        (false, _) => {
            let what = count(gone.len(), "gone");
            Some(lost(gone, what))
        }
        (true, false) => {
            let what = count(changed.len(), "been changed");
            Some(lost(changed, what))
        }
    })
}
