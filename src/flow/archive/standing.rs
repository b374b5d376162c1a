//! The commit of an archive as a branch has it: the commit that the session's record names, or that commit as a rebase
//! or a cherry-pick made it again; and the commits that take an archive back.

use super::super::context::Context;
use super::plan::Aim;
use super::unarchive::UNARCHIVE;
use crate::flow::landed::is_held;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_git::{CommitInfo, Repo};
use loopx_rules::session::Ending;

/// Commits that are looked at between a branch and one of its archives.
const LIMIT: usize = 100_000;

/// Commits that are looked at between an archive and what takes it back, where many sessions are listed.
const NEAR: usize = 1_000;

/// An archive on a branch.
pub(super) struct Standing {
    /// The commit that the session's record names: the name of the archive for as long as the session is.
    pub recorded: Oid,
    /// The commit that has the change on the branch.
    pub made: CommitInfo,
}

/// Tells whether a commit is the archive of a session.
pub(super) fn is_archive_of(commit: &CommitInfo, id: &SessionId) -> bool {
    commit.trailer("Loopx-Event").contains(&"archive")
        && commit.trailer("Loopx-Session").contains(&id.as_str())
}

/// Finds the archive of a session in the history of a commit. The commit that the record names may be gone.
pub(in crate::flow) fn standing(
    repo: &Repo,
    recorded: &Oid,
    id: &SessionId,
    tip: &Oid,
) -> Result<Option<CommitInfo>> {
    within(repo, recorded, (id, tip), LIMIT)
}

/// The archive of a session among the newest commits of a history.
fn within(
    repo: &Repo,
    recorded: &Oid,
    (id, tip): (&SessionId, &Oid),
    limit: usize,
) -> Result<Option<CommitInfo>> {
    let known = if repo.contains(recorded)? {
        Some(repo.commit_info(recorded)?)
    } else {
        None
    };
    if let Some(known) = &known
        && repo.is_ancestor(recorded, tip)?
    {
        return Ok(Some(known.clone()).filter(|commit| is_archive_of(commit, id)));
    }
    let base = match known {
        Some(_) => repo.merge_base(recorded, tip)?,
        None => None,
    };
    let hidden: Vec<Oid> = base.into_iter().collect();
    let mut found = None;
    for commit in repo.range(tip, &hidden, limit)? {
        let commit = repo.commit_info(&commit)?;
        if !is_archive_of(&commit, id) {
            continue;
        }
        let Some(known) = &known else {
            return Ok(Some(commit));
        };
        // Anybody can copy trailers: a rebase keeps the author and the author's time, too, and what stands lowest is no
        // copy of a commit below it.
        let is_same = (&known.author, &known.authored) == (&commit.author, &commit.authored)
            && changed(repo, known)? == changed(repo, &commit)?;
        if is_same {
            found = Some(commit);
        }
    }
    Ok(found)
}

/// The archive of a session on the branch that is aimed at; nothing where the branch does not have it.
pub(super) fn on(
    ctx: &Context,
    recorded: &Oid,
    id: &SessionId,
    aim: &Aim,
) -> Result<Option<Standing>> {
    let Some(tip) = &aim.tip else {
        return Ok(None);
    };
    let made = standing(&ctx.repo, recorded, id, tip)?;
    Ok(made.map(|made| Standing {
        recorded: recorded.clone(),
        made,
    }))
}

/// Refusal where a branch does not have an archive, with the way to a branch that has it. An archive that no branch has
/// is taken back already.
pub(super) fn not_on(ctx: &Context, recorded: &Oid, id: &SessionId, aim: &Aim) -> Result<Failure> {
    let (repo, at) = (&ctx.repo, recorded.short());
    for (name, tip) in repo.refs_below("refs/heads/")? {
        let name = name.trim_start_matches("refs/heads/");
        if name != aim.target && standing(repo, recorded, id, &tip)?.is_some() {
            let there = command!("archive --undo {id} --onto {}", shell_word(name));
            let what = format!("the archive of {id}, {at}, is not on {}", aim.target);
            return Ok(Failure::refused(Code::ArchiveNotThere, what).help(there));
        }
    }
    if !repo.contains(recorded)? {
        let what = format!("the archive of {id}, {at}, is not in this repository");
        let fetch = if repo.is_shallow() {
            Some("git fetch --unshallow")
        } else if repo.remotes()?.is_empty() {
            None
        } else {
            Some("git fetch")
        };
        if let Some(fetch) = fetch {
            return Ok(Failure::refused(Code::ArchiveNotThere, what).help(fetch));
        }
    } else if is_held(repo, recorded)? {
        let what = format!("the archive of {id}, {at}, is not on {}", aim.target);
        let merge = Hint::from(format!("git branch --all --contains {at}"));
        return Ok(Failure::refused(Code::ArchiveNotThere, what).help(merge));
    }
    let what = format!("no branch has the archive of {id}, {at}: there is nothing to take back");
    Ok(Failure::nothing(Code::UnarchivedAlready, what)
        .help(command!("reopen --reason WHY").session(id)))
}

/// The end of a session with what this clone can see of it: that an archive was taken back counts where the commit is
/// here that takes it back. The record alone is a claim that anybody can push.
pub(crate) fn confirmed(repo: &Repo, mut ending: Ending) -> Ending {
    if let Ending::Archived {
        commit: Some(archive),
        taken_back,
        ..
    } = &mut ending
    {
        taken_back.take_if(|back| !takes_back(repo, &back.commit, archive));
    }
    ending
}

fn takes_back(repo: &Repo, commit: &Oid, archive: &Oid) -> bool {
    let is_back = || -> Result<bool> {
        let back = repo.commit_info(commit)?;
        let id = back.trailer("Loopx-Session").first().copied();
        let Some(id) = id.and_then(|id| SessionId::parse(id).ok()) else {
            return Ok(false);
        };
        // What was taken back may be the archive as a rebase made it.
        let Some(made) = within(repo, archive, (&id, commit), NEAR)? else {
            return Ok(false);
        };
        let recorded = archive.clone();
        is_back_of(repo, &back, &Standing { recorded, made })
    };
    is_back().unwrap_or(false)
}

/// The paths that a commit changed.
fn changed(repo: &Repo, of: &CommitInfo) -> Result<Vec<String>> {
    let before = match of.parents.first() {
        Some(parent) => Some(repo.commit_info(parent)?.tree),
        None => None,
    };
    repo.changed_paths(before.as_ref(), &of.tree)
}

/// Tells whether a commit takes an archive back: its trailers say so, and it changes specs that the archive changed.
/// Anybody can write such trailers on a commit of documents.
fn is_back_of(repo: &Repo, commit: &CommitInfo, archive: &Standing) -> Result<bool> {
    if !commit.trailer("Loopx-Event").contains(&UNARCHIVE)
        || !commit
            .trailer("Loopx-Undoes")
            .contains(&archive.recorded.as_str())
    {
        return Ok(false);
    }
    let (back, there) = (changed(repo, commit)?, changed(repo, &archive.made)?);
    Ok(back.is_empty() == there.is_empty() && back.iter().all(|path| there.contains(path)))
}

/// The commit on the branch that took this archive back.
pub(super) fn taken_back(ctx: &Context, archive: &Standing, aim: &Aim) -> Result<Option<Oid>> {
    let Some(tip) = &aim.tip else {
        return Ok(None);
    };
    let hidden = std::slice::from_ref(&archive.made.id);
    for commit in ctx.repo.range(tip, hidden, LIMIT)? {
        let commit = ctx.repo.commit_info(&commit)?;
        if is_back_of(&ctx.repo, &commit, archive)? {
            return Ok(Some(commit.id));
        }
    }
    Ok(None)
}
