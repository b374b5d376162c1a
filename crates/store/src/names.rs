//! Entries of the branch's trees: names, kinds and their order. git's own checks refuse a tree that is otherwise, and
//! once it is in the history every strict server refuses the branch for ever.

use super::layout;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::tree_name;
use loopx_base::tree_paths;
use loopx_base::tree_paths::PathCount;
use loopx_git::Repo;
use loopx_git::objects::RawEntry;
use std::collections::{HashMap, HashSet};

/// A path of the branch that should not be there, as it can be printed, and why.
pub(super) type Fault = (String, &'static str);

/// Trees that were looked at.
#[derive(Default)]
pub(super) struct Names {
    seen: HashSet<Oid>,
    paths: PathCount,
    /// The bytes of the files that were new, where they are counted.
    pub(super) bytes: Option<u64>,
}

impl Names {
    /// Faults of a tree beyond those that `before` has at the same places too.
    pub(super) fn faults(&mut self, repo: &Repo, tree: &Oid, before: &[Oid]) -> Result<Vec<Fault>> {
        let mut found = Vec::new();
        let empty = repo.empty_tree()?;
        let root = tree;
        let mut next = vec![(String::new(), tree.clone(), before.to_vec())];
        while let Some((path, tree, before)) = next.pop() {
            if before.contains(&tree) || !self.seen.insert(tree.clone()) {
                continue;
            }
            let entries = repo.raw_entries(&tree)?;
            let folders = entries.iter().filter(|entry| entry.is_tree());
            let folders = folders.map(|entry| entry.id.clone()).collect();
            self.paths.tell(&tree, entries.len(), folders);
            let mut known: HashMap<Vec<u8>, Vec<RawEntry>> = HashMap::new();
            let mut was_sorted = true;
            for tree in &before {
                let entries = repo.raw_entries(tree)?;
                was_sorted &= order(&entries).is_none();
                for entry in entries {
                    known.entry(entry.name.clone()).or_default().push(entry);
                }
            }
            if was_sorted {
                found.extend(order(&entries).map(|why| (shown(&path), why)));
            }
            for entry in entries {
                let spelled = respelled(&path, &entry);
                let path = format!("{path}{}", String::from_utf8_lossy(&entry.name));
                let known = known.get(&entry.name).map_or(&[][..], Vec::as_slice);
                let hollow = (entry.is_tree() && entry.id == empty).then_some(EMPTY);
                match fault(&entry).or(spelled).or(hollow) {
                    Some(why) if !known.contains(&entry) => found.push((shown(&path), why)),
                    Some(_) => {}
                    None if entry.is_tree() => {
                        let before = known.iter().filter(|one| one.is_tree());
                        let before = before.map(|one| one.id.clone()).collect();
                        next.push((format!("{path}/"), entry.id, before));
                    }
                    None if known.contains(&entry) => {}
                    None => self.count(repo, &entry.id)?,
                }
            }
        }
        if self.paths.below(root) > tree_paths::MOST {
            found.push((shown(""), tree_paths::FAULT));
        }
        found.sort();
        Ok(found)
    }

    /// Set of trees that also counts the bytes of new files.
    pub(super) fn counting() -> Self {
        Names {
            bytes: Some(0),
            ..Names::default()
        }
    }

    fn count(&mut self, repo: &Repo, blob: &Oid) -> Result<()> {
        if let Some(bytes) = self.bytes
            && self.seen.insert(blob.clone())
        {
            self.bytes = Some(bytes.saturating_add(repo.blob_size(blob)?));
        }
        Ok(())
    }
}

/// Fault of a folder without entries: git's index knows none, and any name would come in with one.
const EMPTY: &str = "is an empty folder";

fn fault(entry: &RawEntry) -> Option<&'static str> {
    match entry.mode.as_slice() {
        b"40000" | b"100644" => tree_name::fault(&entry.name),
        b"100755" => Some("is executable"),
        b"120000" => Some("is a link"),
        b"160000" => Some("is a submodule"),
        _ => Some("has a mode that git does not write"),
    }
}

/// A folder of sessions in which one has a name that file systems take for a session's, and nobody else does.
fn respelled(folder: &str, entry: &RawEntry) -> Option<&'static str> {
    let parts: Vec<&str> = folder.trim_end_matches('/').split('/').collect();
    let is_of_sessions = match parts.as_slice() {
        [layout::SESSIONS] | [layout::ARCHIVE, _] => true,
        [layout::SESSIONS, fanout] | [layout::ARCHIVE, _, fanout] => {
            Fanout::Names.is_folder(fanout)
        }
        _ => false,
    };
    let name = std::str::from_utf8(&entry.name).ok()?;
    let is_other =
        SessionId::parse(name).is_err() && SessionId::parse(&tree_name::folded(name)).is_ok();
    (is_of_sessions && is_other).then_some("is a session's name in another spelling")
}

fn order(entries: &[RawEntry]) -> Option<&'static str> {
    let mut names = HashSet::new();
    if !entries.iter().all(|entry| names.insert(&entry.name)) {
        return Some("is a folder that has one name twice");
    }
    let is_sorted = entries.is_sorted_by(|one, other| one.key() <= other.key());
    (!is_sorted).then_some("is a folder whose names are not in git's order")
}

/// Path without the characters that a terminal would obey.
fn shown(path: &str) -> String {
    let path = path.trim_end_matches('/');
    let name = if path.is_empty() { "the root" } else { path };
    name.escape_debug().to_string()
}

/// Refuses a history of somebody else that brings such a name: what is merged once is there for ever.
pub(super) fn require_none_new(
    repo: &Repo,
    since: Option<&Oid>,
    theirs: &Oid,
    label: &str,
) -> Result<()> {
    let hidden: Vec<Oid> = since.into_iter().cloned().collect();
    let mut names = Names::default();
    let mut commits = repo.range(theirs, &hidden, usize::MAX)?;
    commits.reverse();
    for commit in commits {
        let info = repo.commit_info(&commit)?;
        let mut before = Vec::new();
        for parent in &info.parents {
            // Beyond the edge of a shallow clone there is nothing to compare with.
            if repo.contains(parent)? {
                before.push(repo.commit_info(parent)?.tree);
            }
        }
        if let Some((path, why)) = names.faults(repo, &info.tree, &before)?.first() {
            return Err(Failure::refused(
                Code::TreeNameInvalid,
                format!(
                    "{label} has `{path}`, which {why}, since commit {}; nothing was taken over",
                    commit.short()
                ),
            )
            .help(hint![
                format!(
                    "ask whoever pushed it to set the branch of the remote back to before {}; then: ",
                    commit.short()
                ),
                command!("sync")
            ]));
        }
    }
    Ok(())
}
