//! `archive --undo`: takes one archive back, also after others came on top.
//!
//! The archive's own change is merged backwards: base is the spec after it, ours the spec before it,
//! theirs the branch as it is now. The session stays archived, because its approvals were given to what
//! was taken back; the commit with its trailers is the record.

use super::super::context::{Context, unknown};
use super::super::spec::blocker;
use super::landing::land_undo;
use super::pending::finish;
use super::plan::{Aim, aim};
use super::{SpecChange, TRIES, busy};
use crate::core::failure::{Blocker, Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::session::{Ending, State};
use crate::core::spec::{MarkerNames, Severity, merge_spec, read_spec, utf8};
use crate::git::CommitInfo;
use crate::git::merge::FileMerge;
use crate::store::{self, Snapshot};

/// The word of the `Loopx-Event` trailer of a commit that takes an archive back.
pub const UNARCHIVE: &str = "unarchive";

/// Commits that are looked at between a branch and one of its archives.
const LIMIT: usize = 100_000;

/// What taking back came to.
#[derive(Debug)]
pub struct Unarchived {
    pub id: SessionId,
    pub target: String,
    /// The archive that was taken back.
    pub undone: Oid,
    /// `None` for a dry run.
    pub commit: Option<Oid>,
    pub changes: Vec<SpecChange>,
    /// An earlier run was finished by this one.
    pub finished: bool,
}

/// Takes the archive of a session back, in one commit on its target branch.
pub fn unarchive(
    ctx: &Context,
    name: &str,
    onto: Option<&str>,
    reason: Option<&str>,
    dry_run: bool,
) -> Result<Unarchived> {
    let store = ctx.store()?;
    let id = SessionId::fold(name)?;
    if dry_run {
        let (state, archive) = archived(ctx, &store.snapshot()?, &id)?;
        let aim = aim_at(ctx, &state, onto)?;
        require_standing(ctx, &id, &archive, &aim)?;
        let changes = backwards(ctx, &id, &archive, &aim)?;
        return Ok(done(&id, &archive, aim, None, changes));
    }
    let identity = ctx.repo.identity()?;
    let lock = store.lock()?;
    let earlier = finish(ctx, &store, &lock, &identity)?;
    let finished = earlier.undone.contains(&id);
    earlier.check(&id)?;
    let (state, archive) = archived(ctx, &store.snapshot()?, &id)?;
    for _ in 0..TRIES {
        let aim = aim_at(ctx, &state, onto)?;
        if finished && let Some(commit) = taken_back(ctx, &archive, &aim)? {
            // An earlier run got that far; its note has just been closed.
            let mut done = done(&id, &archive, aim, Some(commit), Vec::new());
            done.finished = true;
            return Ok(done);
        }
        require_standing(ctx, &id, &archive, &aim)?;
        let changes = backwards(ctx, &id, &archive, &aim)?;
        let said = message(&state, &archive, reason);
        let landed = land_undo(ctx, &store, &lock, &identity, &aim, (&id, &said), &changes)?;
        if landed.is_some() {
            return Ok(done(&id, &archive, aim, landed, changes));
        }
    }
    Err(busy().help(format!("git loopx archive --undo {id}")))
}

fn done(
    id: &SessionId,
    archive: &CommitInfo,
    aim: Aim,
    commit: Option<Oid>,
    changes: Vec<SpecChange>,
) -> Unarchived {
    Unarchived {
        id: id.clone(),
        target: aim.target,
        undone: archive.id.clone(),
        commit,
        changes,
        finished: false,
    }
}

/// An archived session, and the commit that its archive made.
fn archived(ctx: &Context, snapshot: &Snapshot<'_>, id: &SessionId) -> Result<(State, CommitInfo)> {
    let state = snapshot
        .find(id)?
        .ok_or_else(|| unknown(snapshot, id))?
        .state;
    let Some(Ending::Archived { commit, .. }) = &state.ending else {
        return Err(
            Failure::refused("not_archived", format!("session {id} is not archived"))
                .help("git loopx list --all"),
        );
    };
    let archive = commit
        .as_ref()
        .map(|commit| ctx.repo.commit_info(commit))
        .transpose()?
        .filter(|commit| is_archive_of(commit, id))
        .ok_or_else(|| {
            Failure::nothing(
                "archive_changed_nothing",
                format!("the archive of {id} changed no spec: there is nothing to take back"),
            )
            .help(format!("git loopx -s {id} log"))
        })?;
    Ok((state, archive))
}

/// The named branch, or the one that the session was archived on.
fn aim_at(ctx: &Context, state: &State, onto: Option<&str>) -> Result<Aim> {
    let target = match &state.ending {
        Some(Ending::Archived { target, .. }) => Some(target.as_str()),
        _ => None,
    };
    aim(ctx, state, onto.or(target)).map_err(|failure| match failure.code.as_ref() {
        "branch_unknown" => failure.help(format!(
            "git loopx archive --undo {} --onto BRANCH",
            state.id
        )),
        _ => failure,
    })
}

/// Whether a commit is the archive of a session.
fn is_archive_of(commit: &CommitInfo, id: &SessionId) -> bool {
    commit.trailer("Loopx-Event").contains(&"archive")
        && commit.trailer("Loopx-Session").contains(&id.as_str())
}

/// The archive has to be on the branch, and not taken back there yet.
fn require_standing(ctx: &Context, id: &SessionId, archive: &CommitInfo, aim: &Aim) -> Result<()> {
    let there = match &aim.tip {
        Some(tip) => ctx.repo.is_ancestor(&archive.id, tip)?,
        None => false,
    };
    if !there {
        return Err(Failure::refused(
            "archive_not_there",
            format!(
                "the archive of {id}, {}, is not on {}",
                archive.id.short(),
                aim.target
            ),
        )
        .help(format!("git branch --contains {}", archive.id.short())));
    }
    if let Some(commit) = taken_back(ctx, archive, aim)? {
        return Err(Failure::nothing(
            "unarchived_already",
            format!(
                "the archive of {id} was taken back on {} by {}",
                aim.target,
                commit.short()
            ),
        )
        .help(format!("git show {}", commit.short())));
    }
    Ok(())
}

/// The commit on the branch that took this archive back.
fn taken_back(ctx: &Context, archive: &CommitInfo, aim: &Aim) -> Result<Option<Oid>> {
    let Some(tip) = &aim.tip else {
        return Ok(None);
    };
    for commit in ctx
        .repo
        .range(tip, std::slice::from_ref(&archive.id), LIMIT)?
    {
        let commit = ctx.repo.commit_info(&commit)?;
        if commit.trailer("Loopx-Event").contains(&UNARCHIVE)
            && commit
                .trailer("Loopx-Undoes")
                .contains(&archive.id.as_str())
        {
            return Ok(Some(commit.id));
        }
    }
    Ok(None)
}

/// What has to change on the branch so that the archive's change is gone.
fn backwards(
    ctx: &Context,
    id: &SessionId,
    archive: &CommitInfo,
    aim: &Aim,
) -> Result<Vec<SpecChange>> {
    let before = match archive.parents.first() {
        Some(parent) => Some(ctx.repo.commit_info(parent)?.tree),
        None => None,
    };
    let text = |tree: Option<&Oid>, path: &str| -> Result<Option<String>> {
        let bytes = match tree {
            Some(tree) => ctx.repo.blob_at(tree, path)?,
            None => None,
        };
        bytes
            .map(|bytes| {
                utf8(&bytes, path).map(str::to_owned).map_err(|finding| {
                    Failure::refused("spec_not_text", format!("{path} is not UTF-8"))
                        .blockers(vec![blocker(&finding)])
                })
            })
            .transpose()
    };
    let names = MarkerNames {
        base: "archived",
        ours: "before",
        theirs: &aim.target,
    };
    let mut changes = Vec::new();
    let mut fights = Vec::new();
    let mut faults = Vec::new();
    for path in ctx.repo.changed_paths(before.as_ref(), &archive.tree)? {
        let was = text(before.as_ref(), &path)?;
        let made = text(Some(&archive.tree), &path)?;
        let now = text(aim.tree.as_ref(), &path)?;
        let is_spec = path.ends_with("/spec.md");
        let after = if now == made {
            was
        } else if now.is_none() && !is_spec {
            // A fragment that the changelog has taken in: that text is its people's.
            continue;
        } else if !is_spec {
            fights.push(Blocker::new(
                "file_edited",
                format!("{path} was edited after the archive"),
                format!(
                    "git log --oneline {}..{} -- {path}",
                    archive.id.short(),
                    aim.target
                ),
            ));
            continue;
        } else if now == was {
            // Somebody took it back by hand.
            continue;
        } else {
            let side = |text: &Option<String>| text.clone().unwrap_or_default();
            let merged = merge_spec(&side(&made), &side(&was), &side(&now), &FileMerge, names);
            fights.extend(merged.conflicts.iter().map(|conflict| {
                let name = conflict.requirement.as_ref().unwrap_or(&conflict.section);
                Blocker::new(
                    "requirement_conflict",
                    format!(
                        "{path}:{}: {} on `{name}`: it changed after the archive",
                        conflict.line,
                        conflict.kind.name()
                    ),
                    format!(
                        "git log --oneline {}..{} -- {path}",
                        archive.id.short(),
                        aim.target
                    ),
                )
            }));
            if merged.conflicts.is_empty() && !merged.text.trim().is_empty() {
                let known = side(&now);
                let known = read_spec(known.as_bytes(), &path).map_or(Vec::new(), |s| s.findings);
                let found = read_spec(merged.text.as_bytes(), &path);
                let found = found.map_or_else(|finding| vec![finding], |spec| spec.findings);
                let new = found.iter().filter(|finding| {
                    finding.severity == Severity::Error
                        && !known.iter().any(|old| old.id == finding.id)
                });
                faults.extend(new.map(blocker));
            }
            Some(merged.text).filter(|text| !text.trim().is_empty())
        };
        if after != now {
            changes.push(SpecChange {
                path,
                before: now,
                after,
            });
        }
    }
    let by_hand = format!(
        "git loopx spec install-driver, then: git revert {}",
        archive.id.short()
    );
    if !fights.is_empty() {
        return Err(Failure::conflict(
            "unarchive_conflict",
            format!(
                "what {id} made of the specs was changed again on {}; nothing was written",
                aim.target
            ),
        )
        .blockers(fights)
        .help(format!("{by_hand}  (marks the conflict in the file)")));
    }
    if !faults.is_empty() {
        return Err(Failure::refused(
            "unarchive_invalid",
            format!("without {id} the specs on {} would be invalid", aim.target),
        )
        .blockers(faults)
        .help(by_hand));
    }
    if changes.is_empty() {
        return Err(Failure::nothing(
            "unarchived_already",
            format!("nothing of the archive of {id} is left on {}", aim.target),
        )
        .help("git loopx spec list"));
    }
    Ok(changes)
}

fn message(state: &State, archive: &CommitInfo, reason: Option<&str>) -> String {
    let why = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let why = why.map_or(String::new(), |reason| format!("{reason}\n\n"));
    format!(
        "Take back {}: {}\n\n{why}Loopx-Session: {}\nLoopx-Event: {UNARCHIVE}\nLoopx-Undoes: {}\n",
        state.id,
        store::one_line(&state.title),
        state.id,
        archive.id
    )
}
