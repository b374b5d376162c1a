//! Working copies after the branch took in what others wrote: what is unedited follows, what is edited
//! stays, and a session that has another name now keeps its files.

use super::super::files;
use super::super::journal::{Entry, Scope, Step};
use super::super::workcopy::{FOLDER, WorkCopy};
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_store::Snapshot;
use std::collections::BTreeMap;

/// Brings the working copies of this worktree in step with the branch, which `what` moved from `before`. One that
/// cannot follow is said, and left to the next command.
pub(in super::super) fn follow(scope: &Scope<'_>, (what, tip): (&str, &Oid), before: Option<&Oid>) {
    let repo = &scope.ctx.repo;
    let at = |commit: &Oid| Snapshot::at(repo, commit.clone(), "sync").ok();
    let mut ids = here(repo);
    if let Some(now) = at(tip) {
        ids.extend(move_renamed(repo, before.and_then(at).as_ref(), &now));
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

/// The sessions of which this worktree has files.
fn here(repo: &Repo) -> Vec<SessionId> {
    let folder = repo.work_dir().map(|top| top.join(FOLDER));
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let names = entries.into_iter().flatten().flatten();
    names
        .filter_map(|entry| SessionId::parse(&entry.file_name().to_string_lossy()).ok())
        .collect()
}

/// Moves the files of this worktree whose session has another name now, and gives those names. Where clones chose one
/// name for two, a session is told by its uid, whoever brought the two together. An older record of the files does not
/// say it: then the session counts that had the name `then`.
pub(in super::super) fn move_renamed(
    repo: &Repo,
    then: Option<&Snapshot<'_>>,
    now: &Snapshot<'_>,
) -> Vec<SessionId> {
    let Some(top) = repo.work_dir() else {
        return Vec::new();
    };
    let bases = repo.git_dir().join("loopx");
    let uid = |of: &Snapshot<'_>, id: &SessionId| Some(of.find(id).ok()??.state.uid);
    let mut moved = Vec::new();
    for id in here(repo) {
        let copy = WorkCopy::open(repo, &id).ok().flatten();
        let own = copy.and_then(|copy| copy.uid().map(str::to_owned));
        let Some(own) = own.or_else(|| uid(then?, &id)) else {
            continue;
        };
        let name = id.beside(&own);
        if uid(now, &id).as_ref() == Some(&own) || uid(now, &name).as_ref() != Some(&own) {
            continue;
        }
        let folder = |id: &SessionId| files::inside(top, &format!("{FOLDER}/{id}"));
        // A link is nobody's working copy.
        let (Ok(from), Ok(to)) = (folder(&id), folder(&name)) else {
            continue;
        };
        let record = |id: &SessionId| bases.join(format!("{id}.json"));
        // The files first: without their record they are compared with their own session, never with the other.
        if from.is_dir() && !to.exists() && std::fs::rename(&from, &to).is_ok() {
            drop(std::fs::rename(record(&id), record(&name)));
            moved.push(name);
        }
    }
    moved
}
