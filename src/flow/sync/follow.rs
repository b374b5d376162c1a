//! Working copies after the branch took in what others wrote: what is unedited follows, what is edited
//! stays, and a session that has another name now keeps its files.

use super::super::files;
use super::super::journal::{Entry, Scope, Step};
use super::super::workcopy::{FOLDER, WorkCopy};
use crate::core::id::{Oid, SessionId};
use crate::store::Snapshot;
use std::collections::BTreeMap;

/// Brings the working copies of this worktree in step with the branch, which `what` moved from `before`. One that
/// cannot follow is said, and left to the next command.
pub(in super::super) fn follow(scope: &Scope<'_>, (what, tip): (&str, &Oid), before: Option<&Oid>) {
    let repo = &scope.ctx.repo;
    let Some(top) = repo.work_dir() else {
        return;
    };
    let bases = repo.git_dir().join("loopx");
    let mut ids = Vec::new();
    if let Ok(entries) = std::fs::read_dir(top.join(FOLDER)) {
        let names = entries.flatten().map(|entry| entry.file_name());
        ids.extend(names.filter_map(|name| SessionId::parse(&name.to_string_lossy()).ok()));
    }
    for (id, name) in renamed(scope, &ids, before, tip) {
        let folder = |id: &SessionId| files::inside(top, &format!("{FOLDER}/{id}"));
        // A link is nobody's working copy.
        let (Ok(from), Ok(to)) = (folder(&id), folder(&name)) else {
            continue;
        };
        // Whose files these are says the record beside them: it is moved first, and back never.
        let record = bases.join(format!("{id}.json"));
        if from.is_dir() && !to.exists() && record.is_file() {
            let there = bases.join(format!("{name}.json"));
            if std::fs::rename(&record, there).is_ok() {
                drop(std::fs::rename(&from, &to));
                ids.push(name);
            }
        }
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

/// The sessions that have another name than before, each with that: where clones chose one name for two, a session
/// is told by its uid, whoever brought the two together.
fn renamed(
    scope: &Scope<'_>,
    ids: &[SessionId],
    before: Option<&Oid>,
    tip: &Oid,
) -> Vec<(SessionId, SessionId)> {
    let at = |commit: &Oid| Snapshot::at(&scope.ctx.repo, commit.clone(), "sync").ok();
    let (Some(then), Some(now)) = (before.and_then(at), at(tip)) else {
        return Vec::new();
    };
    let uid = |of: &Snapshot<'_>, id: &SessionId| Some(of.find(id).ok()??.state.uid);
    let mut found = Vec::new();
    for id in ids {
        let Some(own) = uid(&then, id) else {
            continue;
        };
        let name = id.beside(&own);
        if uid(&now, id).as_ref() != Some(&own) && uid(&now, &name).as_ref() == Some(&own) {
            found.push((id.clone(), name));
        }
    }
    found
}
