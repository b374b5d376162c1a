//! The rule for paths: which files the folder of a session, an issue or a month of the journal may hold. Whoever writes the
//! branch by hand can put anything beside the records, and take away what they name; the server's hook, `sync`, `import`
//! and `fsck` ask here.
//!
//! What only a newer program understands may name files in ways that this one does not know: then nothing is said.

use super::{fanout_folder, layout, sealed};
use loopx_base::failure::Result;
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::issue::IssueId;
use loopx_rules::op::{Event, Operation};
use loopx_rules::session::State;
use loopx_rules::signature::{SUFFIX, record_of};
use std::collections::{BTreeMap, BTreeSet};

/// Paths below a session's folder that no record names.
pub(super) fn all(
    repo: &Repo,
    folder: &Oid,
    state: &State,
    operations: &[Operation],
) -> Result<Vec<String>> {
    if !state.is_understood() {
        return Ok(Vec::new());
    }
    let mut beside = Beside::of(state, operations);
    if repo.entry_at(folder, layout::VERSIONS)?.is_some() {
        let versions = operations.iter().flat_map(versions);
        beside.files.extend(versions);
    }
    if let Some(sealed) = sealed::of(repo, folder)? {
        beside.files.extend(sealed.files());
    }
    let mut found = Vec::new();
    for (top, entry) in repo.list_tree(folder)? {
        match entry.kind {
            EntryKind::Tree if top == layout::OPS => {
                let below = below_records(repo, &entry.id, &[])?.into_iter();
                found.extend(below.map(|path| format!("{top}/{path}")));
            }
            EntryKind::Tree => {
                let below = repo.walk_blobs(&entry.id)?.into_iter();
                let below = below.map(|(path, blob)| (format!("{top}/{path}"), blob));
                let strays = below.filter(|(path, blob)| !beside.has(path, blob));
                found.extend(strays.map(|(path, _)| path));
            }
            EntryKind::Blob if is_named(&beside.files, &top, &entry.id) => {}
            EntryKind::Blob | EntryKind::Other => found.push(top),
        }
    }
    found.sort();
    Ok(found)
}

/// Files that may lie beside the records of a session.
pub(super) struct Beside {
    is_understood: bool,
    files: BTreeMap<String, Oid>,
    parts: BTreeSet<String>,
    logs: BTreeSet<String>,
}

impl Beside {
    pub(super) fn of(state: &State, operations: &[Operation]) -> Self {
        let logs = operations.iter().filter_map(log_of);
        Beside {
            is_understood: state.is_understood(),
            files: named(state, operations),
            parts: state.parts().into_iter().collect(),
            logs: logs.map(|log| format!("{}/{log}", layout::LOGS)).collect(),
        }
    }

    /// Test for a file that has its place there.
    pub(super) fn has(&self, path: &str, blob: &Oid) -> bool {
        !self.is_understood
            || self.parts.contains(path)
            || self.logs.contains(path)
            || is_named(&self.files, path, blob)
    }
}

/// Entries of a folder of records that are neither a record nor a signature, but for those in some of its folders: a
/// folder of another name, or a signature of a signature. A file of another name is read as a record, and is none.
pub(super) fn below_records(repo: &Repo, ops: &Oid, without: &[String]) -> Result<Vec<String>> {
    let held = fanout_folder::entries_but(repo, Fanout::Operations, ops, without)?.into_iter();
    let strays =
        held.filter(|held| held.entry.kind != EntryKind::Blob || is_of_nothing(&held.name));
    Ok(strays.map(|held| held.place).collect())
}

/// Test for a name that ends like a signature's and stands beside no record's name.
pub(super) fn is_of_nothing(name: &str) -> bool {
    name.ends_with(SUFFIX) && record_of(name).is_none()
}

/// Files that an operation keeps beside itself for good, by path below the session's folder: what requirements were
/// written against, and what was imported.
pub(super) fn kept(op: &Operation) -> Vec<(String, Oid)> {
    let bases = op.bases().iter().filter_map(|base| base.blob.as_ref());
    let mut found: Vec<(String, Oid)> = bases
        .map(|blob| (format!("{}/{blob}.md", layout::BASES), blob.clone()))
        .collect();
    if let Some(Event::Imported { files, .. }) = op.event() {
        // No tree has a file and a folder of one name.
        let is_below_file = |path: &str| {
            let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
            above.any(|above| files.contains_key(above))
        };
        let files = files.iter().filter(|(path, _)| !is_below_file(path));
        found.extend(
            files.map(|(path, blob)| (format!("{}/{path}", layout::IMPORTED), blob.clone())),
        );
    }
    found
}

/// Files that follow from a session's state and from its operations, but for records, logs and the state itself.
fn named(state: &State, operations: &[Operation]) -> BTreeMap<String, Oid> {
    let mut files = layout::files(state);
    files.extend(operations.iter().flat_map(kept));
    files
}

/// Files that operations keep beside themselves and that a folder has not got as they were.
pub(super) fn missing(
    repo: &Repo,
    folder: &Oid,
    operations: &[Operation],
) -> Result<Vec<(String, Oid)>> {
    let mut found = Vec::new();
    for (path, blob) in operations.iter().flat_map(kept) {
        if repo
            .entry_at(folder, &path)?
            .is_none_or(|entry| entry.id != blob)
        {
            found.push((path, blob));
        }
    }
    Ok(found)
}

/// Test for a folder that kept everything of these kinds that another had.
pub(super) fn keeps(repo: &Repo, before: &Oid, after: &Oid) -> Result<bool> {
    for top in [layout::BASES, layout::IMPORTED] {
        let (had, has) = (repo.entry_at(before, top)?, repo.entry_at(after, top)?);
        let Some(had) = had.filter(|had| has.as_ref() != Some(had)) else {
            continue;
        };
        for (path, blob) in repo.walk_blobs(&had.id)? {
            let now = repo.entry_at(after, &format!("{top}/{path}"))?;
            if now.is_none_or(|now| now.id != blob) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Folders in which each entry of a known name is a folder itself.
pub(super) const FOLDERS: [&str; 3] = [layout::ARCHIVE, layout::ISSUES, layout::JOURNAL];

/// Entries that have a name of this program's and are not what stands at such a place, by their paths, with the reason: a
/// file in the place of a folder, and a folder of an issue or of a month of the journal without records.
pub(super) fn misplaced(repo: &Repo, tree: &Oid) -> Result<Vec<(String, &'static str)>> {
    const FILE: &str = "a file is in the place of a folder";
    let mut found = Vec::new();
    for top in FOLDERS {
        let Some(entry) = repo.entry_at(tree, top)? else {
            continue;
        };
        if entry.kind != EntryKind::Tree {
            found.push((top.to_owned(), FILE));
            continue;
        }
        let held: Vec<(String, Entry)> = match top {
            layout::ISSUES => {
                let held = fanout_folder::entries(repo, Fanout::Names, &entry.id)?.into_iter();
                held.map(|held| (held.name, held.entry)).collect()
            }
            _ => repo.list_tree(&entry.id)?,
        };
        for (name, entry) in held {
            let is_ours = match top {
                layout::ISSUES => IssueId::parse(&name).is_some(),
                layout::JOURNAL => is_month(&name),
                _ => true,
            };
            let path = format!("{top}/{name}");
            if is_ours && entry.kind != EntryKind::Tree {
                found.push((path, FILE));
            } else if is_ours && top != layout::ARCHIVE {
                match repo.entry_at(&entry.id, layout::OPS)? {
                    None => found.push((path, "no record is in it")),
                    Some(ops) if ops.kind != EntryKind::Tree => {
                        found.push((format!("{path}/{}", layout::OPS), FILE));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    Ok(found)
}

/// Test for the name of a month of the journal, or of a part of one: `2026-11`, `2026-11.02`.
pub(super) fn is_month(name: &str) -> bool {
    let (month, part) = name.split_once('.').unwrap_or((name, "1"));
    let digits = |text: &str, at_least: usize| {
        text.len() >= at_least && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    month
        .split_once('-')
        .is_some_and(|(year, month)| digits(year, 4) && digits(month, 2))
        && digits(part, 1)
}

/// The log of the run that an operation tells of, by its name among the logs.
pub(super) fn log_of(op: &Operation) -> Option<String> {
    matches!(op.event(), Some(Event::Ran { .. })).then(|| format!("{}.log", op.op))
}

/// Versions of a file that operations wrote or replaced. Older programs left those that were apart once.
fn versions(op: &Operation) -> Vec<(String, Oid)> {
    let artifacts = op
        .writes
        .iter()
        .map(|(artifact, write)| (artifact.path(), write));
    let others = op.others.iter().map(|(path, write)| (path.as_str(), write));
    let mut found = Vec::new();
    for (path, write) in artifacts.chain(others) {
        let blobs = write.from.iter().chain(&write.to);
        found.extend(blobs.map(|blob| (layout::version(path, blob), blob.clone())));
    }
    found
}

/// Test for a file that is neither a record nor a log, and has its place in the folder.
fn is_named(files: &BTreeMap<String, Oid>, path: &str, blob: &Oid) -> bool {
    path == layout::STATE || files.get(path) == Some(blob)
}

/// Test for a session that adds nothing which no record names, but for records and logs: what `before` had is not asked.
pub(super) fn adds_none(
    repo: &Repo,
    (state, new): (&State, &[Operation]),
    before: &Oid,
    after: &Oid,
) -> Result<bool> {
    let (files, parts) = (named(state, new), state.parts());
    let known: BTreeMap<String, Entry> = repo.list_tree(before)?.into_iter().collect();
    for (top, entry) in repo.list_tree(after)? {
        let had = known.get(&top);
        if had == Some(&entry) || [layout::OPS, layout::LOGS].contains(&top.as_str()) {
            continue;
        }
        let below = match entry.kind {
            EntryKind::Tree => repo.walk_blobs(&entry.id)?,
            _ => vec![(String::new(), entry.id.clone())],
        };
        for (path, blob) in below {
            let path = if path.is_empty() {
                top.clone()
            } else {
                format!("{top}/{path}")
            };
            let is_known = || -> Result<bool> {
                let had = repo.entry_at(before, &path)?;
                let mut folders = [layout::IMPORTED, layout::BASES].into_iter();
                let stays = |folder| {
                    path.strip_prefix(folder)
                        .is_some_and(|rest| rest.starts_with('/'))
                };
                Ok(folders.any(stays) && had.is_some_and(|had| had.id == blob))
            };
            if !parts.contains(&path) && !is_named(&files, &path, &blob) && !is_known()? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
