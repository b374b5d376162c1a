//! The files that tasks leave in their session, below `tasks/<id>/`: which names they may have, which of them were
//! written apart, and what a completion rests on.
//!
//! Paths and blob ids only; reading and writing the files is the business of `flow` and `store`.

use super::event::Completion;
use super::node::{TaskId, is_within};
use crate::session::{FileVersions, State};
use loopx_base::id::{Oid, is_reserved};
use loopx_base::tree_name;
use std::collections::BTreeMap;

/// Folder of the files of all tasks, below the session's.
pub const FOLDER: &str = "tasks";

/// Number of files that one task may leave.
pub const MOST: usize = 100;

/// The longest path, in bytes.
const LONGEST: usize = 400;

/// Number of folders below that of the task in which a file may lie.
const DEEPEST: usize = 7;

/// Signs that some file systems do not take in a name.
const SIGNS: &[char] = &['<', '>', ':', '"', '|', '?', '*'];

/// The task in whose folder a path lies, by its name or by a placeholder for it, and the rest of the path.
pub(crate) fn in_folder(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
    rest.split_once('/')
}

/// The task in whose folder a path lies, as the path names it.
pub fn task_of(path: &str) -> Option<&str> {
    let (task, file) = in_folder(path)?;
    (!file.is_empty() && TaskId::parse(task).is_some()).then_some(task)
}

/// The folder of a task.
pub fn folder(task: &TaskId) -> String {
    format!("{FOLDER}/{task}")
}

/// Tells whether a name is one of those that nobody means to keep: hidden, or an editor's backup.
pub fn is_passed_over(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~')
}

/// Fault of a path below the folder of a task.
pub fn fault(path: &str) -> Option<&'static str> {
    if path.len() > LONGEST {
        return Some("is longer than 400 bytes");
    }
    // Two folders come before: that of all tasks, and that of the task.
    if path.matches('/').count() > 2 + DEEPEST {
        return Some("lies in more than seven folders of its task");
    }
    // Beside the folder of a task there is room for what becomes of it: `tasks/<id>.json`.
    let task = task_of(path).unwrap_or_default();
    if task.to_ascii_lowercase().ends_with(".json") {
        return Some("belongs to a task whose id ends with .json");
    }
    path.split('/').find_map(name_fault)
}

fn name_fault(name: &str) -> Option<&'static str> {
    if let Some(fault) = tree_name::fault(name.as_bytes()) {
        return Some(fault);
    }
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    if name.contains(SIGNS) {
        Some("has a sign in it that some systems do not take")
    } else if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        Some("begins or ends with a sign that some systems leave out")
    } else if is_reserved(&stem) {
        Some("is a name that Windows keeps for itself")
    } else {
        is_passed_over(name).then_some("is hidden, or an editor's backup")
    }
}

/// The first path that some file system would not tell from another one, or that lies below it: with that one.
pub fn clash<'p>(paths: impl Iterator<Item = &'p str>) -> Option<(&'p str, &'p str)> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        if let Some(other) = known.insert(folded(path), path) {
            return Some((path, other));
        }
    }
    for (folded, path) in &known {
        let above = folded.match_indices('/').map(|(at, _)| &folded[..at]);
        if let Some(other) = above.filter_map(|above| known.get(above)).next() {
            return Some((path, other));
        }
    }
    None
}

fn folded(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(tree_name::folded).collect();
    parts.join("/")
}

impl State {
    /// The files that a task left, with their newest versions.
    pub fn outputs_of(&self, task: &str) -> impl Iterator<Item = (&str, &FileVersions)> {
        let prefix = format!("{FOLDER}/{task}/");
        let files = self.files.range(prefix.clone()..);
        let files = files.take_while(move |(path, _)| path.starts_with(&prefix));
        files.map(|(path, versions)| (path.as_str(), versions))
    }

    /// The files that tasks left.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        let files = self.files.range(format!("{FOLDER}/")..);
        let files = files.take_while(|(path, _)| is_within(path, FOLDER));
        let paths = files.map(|(path, _)| path.as_str());
        paths.filter(|path| task_of(path).is_some())
    }

    /// The content of a file that a task left. Of versions that were written apart one, the same in every clone.
    pub fn output(&self, path: &str) -> Option<&Oid> {
        task_of(path)?;
        self.files.get(path)?.last()
    }

    /// The files of tasks that several wrote apart.
    pub fn outputs_apart(&self) -> impl Iterator<Item = (&str, &[Oid])> {
        let files = self.files.range(format!("{FOLDER}/")..);
        let files = files.take_while(|(path, _)| is_within(path, FOLDER));
        let apart = files.filter(|(path, versions)| versions.len() > 1 && task_of(path).is_some());
        apart.map(|(path, versions)| (path.as_str(), versions.as_slice()))
    }
}

impl Completion {
    /// The files that have another content by now than the one that this rests on.
    pub fn outputs_changed<'c>(&'c self, state: &'c State) -> impl Iterator<Item = &'c str> {
        let changed = self.outputs.iter().filter(|(path, blob)| {
            let now = state.files.get(path.as_str());
            now.is_none_or(|versions| versions.as_slice() != std::slice::from_ref(*blob))
        });
        changed.map(|(path, _)| path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, clash, fault, task_of};

    #[test]
    fn a_file_of_a_task_lies_below_its_folder() {
        assert_eq!(task_of("tasks/T-1/report.md"), Some("T-1"));
        assert_eq!(task_of("tasks/T-1/shots/a.png"), Some("T-1"));
        for path in [
            "tasks/T-1",
            "tasks/T-1/",
            "tasks",
            "tasks//x",
            "tasks/../x",
            "tasks/.git/x",
            "tasks.jsonl",
            "src/tasks/T-1/x",
        ] {
            assert_eq!(task_of(path), None, "{path}");
        }
    }

    #[test]
    fn a_name_that_leads_elsewhere_or_is_not_everywhere_one_is_at_fault() {
        for path in [
            "tasks/T-1/report.md",
            "tasks/T-1/a/b c.png",
            "tasks/t.x/Ü.md",
        ] {
            assert_eq!(fault(path), None, "{path}");
        }
        let long = format!("tasks/T/{}", "x".repeat(256));
        let deep = format!("tasks/T/{}x", "a/".repeat(9));
        for path in [
            "tasks/T/../../intent.md",
            "tasks/T/./x",
            "tasks/T//x",
            "tasks/T/.git/config",
            "tasks/T/.GIT/config",
            "tasks/T/git~1",
            "tasks/T/a\\b",
            "tasks/T/a:b",
            "tasks/T/a\nb",
            "tasks/T/x.",
            "tasks/T/con.md",
            "tasks/T/.hidden",
            "tasks/T/x~",
            "tasks/T.json/x",
            long.as_str(),
            deep.as_str(),
        ] {
            assert!(fault(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_file_lies_in_at_most_seven_folders_of_its_task() {
        let below = |folders: usize| format!("tasks/T/{}x", "a/".repeat(folders));
        assert_eq!(fault(&below(DEEPEST)), None);
        let refused = fault(&below(DEEPEST + 1)).unwrap_or_default();
        assert!(refused.contains("more than seven folders"), "{refused}");
    }

    #[test]
    fn names_that_one_file_system_takes_for_one_clash() {
        assert_eq!(clash(["tasks/T/a", "tasks/T/b"].into_iter()), None);
        assert!(clash(["tasks/T/a.md", "tasks/T/A.md"].into_iter()).is_some());
        assert!(clash(["tasks/T/a", "tasks/T/a-b", "tasks/T/a/b"].into_iter()).is_some());
    }
}
