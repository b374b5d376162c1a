//! Commits and trees that git's own programs do not read alike. What is judged here would not be what a
//! clone checks out, so they are refused before anything else is asked of them.

use loopx_base::commit_object;
use loopx_base::failure::{Code, Result};
use loopx_base::id::Oid;
use loopx_base::tree_name;
use loopx_base::tree_paths;
use loopx_base::tree_paths::PathCount;
use loopx_git::Repo;
use loopx_git::objects::{EntryKind, RawEntry};
use loopx_rules::range_rules::{Finding, Severity};
use std::collections::HashSet;

/// Number of commits that are named.
const SHOWN: usize = 10;

/// Faults of these commits, newest first, and of the trees that none of their parents has.
pub(super) fn findings(repo: &Repo, commits: &[Oid]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut trees = Trees {
        repo,
        seen: HashSet::new(),
        paths: PathCount::default(),
    };
    for commit in commits.iter().rev() {
        let bytes = repo.commit_bytes(commit)?;
        if let Some(why) = commit_object::fault(&bytes, commit.as_str().len()) {
            let message = format!("the commit object {why}");
            found.push(finding(
                repo,
                commit,
                Code::CommitInvalid,
                message,
                Vec::new(),
            ));
        } else {
            let info = repo.commit_info(commit)?;
            let mut before = Vec::new();
            for parent in &info.parents {
                // Beyond the edge of a shallow clone there is nothing to compare with.
                if repo.contains(parent)? {
                    before.push(repo.commit_info(parent)?.tree);
                }
            }
            let faults = trees.faults(&info.tree, &before)?;
            if let Some((path, why)) = faults.first() {
                let more = match faults.len() {
                    1 => String::new(),
                    count => format!(", and {} more of such faults", count - 1),
                };
                let message = format!("the tree has `{path}`, which {why}{more}");
                let mut paths: Vec<String> = faults.into_iter().map(|(path, _)| path).collect();
                paths.dedup();
                found.push(finding(repo, commit, Code::TreeNameInvalid, message, paths));
            }
        }
        if found.len() == SHOWN {
            break;
        }
    }
    Ok(found)
}

fn finding(repo: &Repo, commit: &Oid, code: Code, message: String, paths: Vec<String>) -> Finding {
    // What cannot be read has no subject.
    let subject = repo.commit_info(commit).ok();
    let subject = subject.map(|info| info.subject().escape_debug().to_string());
    Finding {
        code,
        severity: Severity::Error,
        commit: commit.clone(),
        subject: subject.unwrap_or_default(),
        paths,
        message,
        help: "git fsck  (says it too), then make the commits again with git's own commands".into(),
    }
}

/// A path as it can be printed, and why it should not be there.
type Fault = (String, &'static str);

struct Trees<'r> {
    repo: &'r Repo,
    seen: HashSet<Oid>,
    paths: PathCount,
}

impl Trees<'_> {
    /// Faults of the trees that are new where they are, by path.
    fn faults(&mut self, tree: &Oid, before: &[Oid]) -> Result<Vec<Fault>> {
        let mut found = Vec::new();
        let root = tree;
        let mut next = vec![(String::new(), tree.clone(), before.to_vec())];
        while let Some((folder, tree, before)) = next.pop() {
            if before.contains(&tree) || !self.seen.insert(tree.clone()) {
                continue;
            }
            let entries = self.repo.raw_entries(&tree)?;
            let folders = entries.iter().filter(|entry| entry.is_tree());
            let folders = folders.map(|entry| entry.id.clone()).collect();
            self.paths.tell(&tree, entries.len(), folders);
            found.extend(order(&folder, &entries));
            let mut known: HashSet<RawEntry> = HashSet::new();
            for tree in &before {
                known.extend(self.repo.raw_entries(tree)?);
            }
            for entry in &entries {
                let path = format!("{folder}{}", String::from_utf8_lossy(&entry.name));
                let fault = match tree_name::code_fault(&entry.mode, &entry.name) {
                    None if !known.contains(entry) => self.kind(entry)?,
                    fault => fault,
                };
                if let Some(why) = fault {
                    found.push((shown(&path), why));
                } else if entry.is_tree() && !known.contains(entry) {
                    let same = known.iter();
                    let same = same.filter(|one| one.is_tree() && one.name == entry.name);
                    let before = same.map(|one| one.id.clone()).collect();
                    next.push((format!("{path}/"), entry.id.clone(), before));
                }
            }
        }
        if self.paths.below(root) > tree_paths::MOST {
            found.push((shown(""), tree_paths::FAULT));
        }
        found.sort();
        Ok(found)
    }

    /// An entry whose object is not what its mode says.
    fn kind(&self, entry: &RawEntry) -> Result<Option<&'static str>> {
        if entry.id.as_str().bytes().all(|digit| digit == b'0') {
            return Ok(Some("names no object"));
        }
        let expected = match entry.mode.as_slice() {
            // Its commit is another repository's.
            b"160000" => return Ok(None),
            b"40000" => EntryKind::Tree,
            _ => EntryKind::Blob,
        };
        // What a partial clone left out is somebody else's to look at.
        let found = self.repo.object_kind(&entry.id)?;
        let differs = found.is_some_and(|found| found != expected);
        Ok(differs.then_some("names an object that is not what its mode says"))
    }
}

/// Names that are there twice, or a folder that is not in git's order.
fn order(folder: &str, entries: &[RawEntry]) -> Vec<Fault> {
    let mut names = HashSet::new();
    let mut found: Vec<Fault> = entries
        .iter()
        .filter(|entry| !names.insert(&entry.name))
        .map(|entry| {
            let path = format!("{folder}{}", String::from_utf8_lossy(&entry.name));
            (shown(&path), "is there more than once")
        })
        .collect();
    if !entries.is_sorted_by(|one, other| one.key() <= other.key()) {
        found.push((
            shown(folder),
            "is a folder whose names are not in git's order",
        ));
    }
    found
}

/// A path without what a terminal would obey.
fn shown(path: &str) -> String {
    let path = path.strip_suffix('/').unwrap_or(path);
    let name = if path.is_empty() { "the root" } else { path };
    name.escape_debug().to_string()
}
