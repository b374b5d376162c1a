//! Working copies after the branch took in what others wrote: what is unedited follows, what is edited
//! stays, and a session that has another name now keeps its files.

use super::super::files;
use super::super::journal::{Entry, Scope, Step};
use super::super::workcopy::{FOLDER, WorkCopy};
use crate::core::id::{Oid, SessionId};
use crate::store::Renamed;
use std::collections::BTreeMap;

/// Brings the working copies of this worktree in step with the branch, which `what` moved. One that cannot
/// follow is said, and left to the next command.
pub(in super::super) fn follow<'r>(
    scope: &Scope<'_>,
    (what, tip): (&str, &Oid),
    renamed: impl Iterator<Item = &'r Renamed>,
) {
    let repo = &scope.ctx.repo;
    let Some(top) = repo.work_dir() else {
        return;
    };
    let bases = repo.git_dir().join("loopx");
    let mut ids = Vec::new();
    for one in renamed {
        let folder = |id: &SessionId| files::inside(top, &format!("{FOLDER}/{id}"));
        // A link is nobody's working copy.
        let (Ok(from), Ok(to)) = (folder(&one.from), folder(&one.to)) else {
            continue;
        };
        // Whose files these are says the record beside them: it is moved first, and back never.
        let record = bases.join(format!("{}.json", one.from));
        if from.is_dir() && !to.exists() && record.is_file() {
            let there = bases.join(format!("{}.json", one.to));
            if std::fs::rename(&record, there).is_ok() {
                drop(std::fs::rename(&from, &to));
                ids.push(one.to.clone());
            }
        }
    }
    if let Ok(entries) = std::fs::read_dir(top.join(FOLDER)) {
        let names = entries.flatten().map(|entry| entry.file_name());
        ids.extend(names.filter_map(|name| SessionId::parse(&name.to_string_lossy()).ok()));
    }
    ids.sort();
    ids.dedup();
    // What cannot be looked at may be there.
    ids.retain(|id| match WorkCopy::open(repo, id) {
        Ok(copy) => copy.is_some_and(|copy| copy.exists()),
        Err(_) => true,
    });
    let publish = |id: &SessionId| Step::publish(repo, id, &BTreeMap::new());
    let steps: Vec<Step> = ids.iter().filter_map(publish).collect();
    if !steps.is_empty() {
        scope.follow(Entry::new(what, &scope.store.branch_ref(), tip, steps));
    }
}
