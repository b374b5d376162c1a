//! The working tree as the next step needs it: what is open in it, what is in git's way, and what was put aside.

use super::remote::newer;
use crate::flow::begin::free_branch;
use crate::flow::context::Context;
use crate::flow::landed::{self};
use crate::flow::transaction::Facts;
use crate::flow::workcopy::{self};
use crate::flow::{archive, checked_out, files, gone};
use loopx_base::failure::Result;
use loopx_base::hint::Hint;
use loopx_base::id::Oid;
use loopx_base::secrets::is_secret_file;
use loopx_base::working_tree::{FileState, Uncommitted};
use loopx_rules::gate::CodeFacts;
use loopx_rules::next;
use loopx_rules::next::{Behind, Unheld, Worktree};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use std::path::Path;

/// The branch that an archive has to name.
pub(super) fn onto(
    ctx: &Context,
    state: &State,
    worktree: Option<&Worktree>,
) -> Result<Option<String>> {
    let is_detached = worktree.is_some_and(|worktree| worktree.branch.is_none());
    if state.stage == Stage::Done && state.branch.is_none() && is_detached {
        archive::likely_target(ctx, state)
    } else {
        Ok(None)
    }
}

pub(super) fn worktree(
    ctx: &Context,
    facts: &Facts<'_>,
    (behind, is_missing): (Option<&Behind>, bool),
) -> Result<Option<Worktree>> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(None);
    };
    let bound = &facts.state.branch;
    let head = ctx.head()?;
    let branch = &head.branch;
    let elsewhere = match bound {
        Some(bound) if branch.as_ref() != Some(bound) => {
            ctx.repo.checked_out_in(&format!("refs/heads/{bound}"))?
        }
        _ => None,
    };
    let tip = match bound {
        Some(bound) if branch.as_ref() != Some(bound) => {
            match ctx.repo.find_ref(&format!("refs/heads/{bound}"))? {
                None if is_missing => gone::last_commit(ctx, &facts.state)?,
                tip => tip,
            }
        }
        _ => newer(facts, behind),
    };
    let sequence = ctx.repo.sequence();
    // Behind its end nothing asks for the code, until git stops in it.
    let code = match (&facts.code, sequence) {
        (None, Some(_)) => ctx.code_for(None)?,
        (code, _) => code.clone(),
    };
    let uncommitted = code.map_or_else(Vec::new, |code| code.uncommitted);
    Ok(Some(Worktree {
        sequence,
        elsewhere: elsewhere.map(|path| path.display().to_string()),
        in_the_way: match tip {
            Some(tip) => in_the_way(ctx, facts.code.as_ref(), &tip)?,
            None => Vec::new(),
        },
        marked: marked(top, &uncommitted)?,
        secrets: secrets(top, &uncommitted),
        uncommitted,
        here: head.words(),
        branch: head.branch,
        below: super::files::below(top),
    }))
}

/// The number of names below untracked folders that are looked at for files with credentials.
const NAMES: usize = 10_000;

/// The untracked files that hold credentials by their names, by path; a folder that has no others is one of them.
pub(in crate::flow) fn secrets(top: &Path, open: &[Uncommitted]) -> Vec<String> {
    let untracked = open.iter().filter(|one| one.state == FileState::Untracked);
    let (mut found, mut left) = (Vec::new(), NAMES);
    for one in untracked {
        let (inside, is_whole) = secrets_of(top, &one.path, &mut left);
        if is_whole && !inside.is_empty() {
            found.push(one.path.clone());
        } else {
            found.extend(inside);
        }
    }
    found.sort();
    found
}

/// The files that hold credentials at or below an untracked path, and whether no other file is there.
fn secrets_of(top: &Path, path: &str, left: &mut usize) -> (Vec<String>, bool) {
    let (mut found, mut is_whole) = (Vec::new(), true);
    let mut paths = vec![path.to_owned()];
    while let Some(path) = paths.pop() {
        if *left == 0 {
            return (found, false);
        }
        *left -= 1;
        let Some(folder) = path.strip_suffix('/') else {
            let is_secret = is_secret_file(&path);
            is_whole &= is_secret;
            found.extend(is_secret.then_some(path));
            continue;
        };
        let entries = std::fs::read_dir(top.join(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let end = if is_folder { "/" } else { "" };
            let name = entry.file_name().to_string_lossy().into_owned();
            paths.push(format!("{folder}/{name}{end}"));
        }
    }
    (found, is_whole)
}

/// The stash that somebody was led to make last and that is still there: the branch that it was made on, and the command
/// that brings it back.
pub(in crate::flow) fn put_aside(ctx: &Context) -> Option<(String, Hint)> {
    let stashes = ctx.repo.stashes().into_iter();
    let mut ours = stashes.filter(|(_, _, message)| message == next::ASIDE);
    let (number, branch, _) = ours.next()?;
    let pop = match number {
        0 => Hint::git("stash pop"),
        number => Hint::git(format!("stash pop {number}")),
    };
    Some((branch, pop))
}

/// The unmerged files in which a marker stands. What is no file, or is gone, has none.
pub(super) fn marked(top: &Path, open: &[Uncommitted]) -> Result<Vec<Uncommitted>> {
    let mut found = Vec::new();
    for one in open.iter().filter(|one| one.state == FileState::Unmerged) {
        let path = top.join(&one.path);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let text = if is_file {
            files::read(&path, u64::MAX)?
        } else {
            None
        };
        let is_marked =
            |text: &Vec<u8>| workcopy::marker_line(&String::from_utf8_lossy(text)).is_some();
        if text.as_ref().is_some_and(is_marked) {
            found.push(one.clone());
        }
    }
    Ok(found)
}

/// The uncommitted files that HEAD and a commit have in two versions: git does not overwrite them by a switch
/// (git-switch(1)).
pub(super) fn in_the_way(
    ctx: &Context,
    code: Option<&CodeFacts>,
    commit: &Oid,
) -> Result<Vec<Uncommitted>> {
    let head = ctx.head()?.commit;
    overwritten(ctx, code, (head.as_ref(), commit))
}

/// The uncommitted files that a commit has otherwise than the merge base of HEAD and the commit: git does not overwrite
/// them by a merge (git-merge(1)).
pub(super) fn in_the_way_of_merge(
    ctx: &Context,
    code: Option<&CodeFacts>,
    commit: &Oid,
) -> Result<Vec<Uncommitted>> {
    let base = match ctx.head()?.commit {
        Some(head) => ctx.repo.merge_base(&head, commit)?,
        None => None,
    };
    overwritten(ctx, code, (base.as_ref(), commit))
}

/// The uncommitted files that two commits have in two versions.
fn overwritten(
    ctx: &Context,
    code: Option<&CodeFacts>,
    (from, to): (Option<&Oid>, &Oid),
) -> Result<Vec<Uncommitted>> {
    let open = code.map_or(&[][..], |code| &code.uncommitted);
    let (Some(top), false) = (ctx.repo.work_dir(), open.is_empty()) else {
        return Ok(Vec::new());
    };
    let there = ctx.repo.commit_info(to)?.tree;
    let here = match from {
        Some(from) => Some(ctx.repo.commit_info(from)?.tree),
        None => None,
    };
    let changed = ctx.repo.changed_paths(here.as_ref(), &there)?;
    let mut found = Vec::new();
    for one in open {
        // A submodule keeps its edits; of a folder that git does not know, single files are in the way.
        let is_met = |path: &&String| match one.state {
            FileState::Submodule => false,
            FileState::Untracked if one.path.ends_with('/') => {
                path.starts_with(&one.path) && top.join(path).symlink_metadata().is_ok()
            }
            _ => **path == one.path,
        };
        found.extend(changed.iter().filter(is_met).map(|path| Uncommitted {
            path: path.clone(),
            state: one.state,
        }));
    }
    Ok(found)
}

/// The branch for the commits of a detached HEAD that no branch holds: whoever goes to another one leaves them behind.
pub(super) fn unheld(
    ctx: &Context,
    state: &State,
    worktree: Option<&Worktree>,
) -> Result<Option<Unheld>> {
    let is_about_code = matches!(state.stage, Stage::Build | Stage::Review | Stage::Done);
    let is_detached =
        worktree.is_some_and(|worktree| worktree.branch.is_none() && worktree.sequence.is_none());
    if !(is_about_code || state.branch.is_some()) || !is_detached || !state.is_active() {
        return Ok(None);
    }
    let Some(head) = ctx.head()?.commit else {
        return Ok(None);
    };
    if state.base.as_ref() == Some(&head) || landed::is_held(&ctx.repo, &head)? {
        return Ok(None);
    }
    if let Some(own) = &state.branch {
        let branch_ref = format!("refs/heads/{own}");
        // A branch that is not here is fetched first.
        let Some(tip) = ctx.repo.find_ref(&branch_ref)? else {
            return Ok(None);
        };
        let is_free = checked_out::of(ctx, &branch_ref)?.is_none();
        if is_free && ctx.repo.is_ancestor(&tip, &head)? {
            return Ok(Some(Unheld::Forward(own.clone())));
        }
    }
    free_branch(ctx, state.id.as_str()).map(|name| Some(Unheld::New(name)))
}
