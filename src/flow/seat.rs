//! The worktree that has a branch checked out, when that branch is moved from outside: what stands in
//! the way is refused before, and the files that changed are brought in step after, and no other.

use super::context::Context;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::Oid;
use crate::git::Entry;
use crate::git::run::{Captured, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Paths with the blobs that they had and have.
pub type Changes = BTreeMap<String, (Option<Oid>, Option<Oid>)>;

/// Tries for an index that another git holds.
const TRIES: u32 = 40;

/// The worktree of a branch. One whose folder is gone is nobody's.
pub fn of(ctx: &Context, branch_ref: &str) -> Result<Option<PathBuf>> {
    let found = ctx.repo.checked_out_in(branch_ref)?;
    Ok(found.filter(|path| path.is_dir()))
}

fn git_in(worktree: &Path, args: &[&str]) -> Run {
    // No hook of the user's may see a half-finished commit.
    Run::git(["-c", "core.hooksPath=/dev/null", "--literal-pathspecs"])
        .args(args)
        .cwd(worktree)
        .scrubbed()
        .env("LC_ALL", "C")
}

/// Runs a git that writes the index; another git may hold it for a moment.
fn patiently(worktree: &Path, args: &[&str]) -> Result<Captured> {
    for _ in 0..TRIES {
        let ended = git_in(worktree, args).capture()?;
        let held =
            !ended.ended.success() && String::from_utf8_lossy(&ended.stderr).contains("index.lock");
        if !held {
            return Ok(ended);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(Failure::new(
        Kind::Waiting,
        "index_locked",
        format!(
            "another git has held the index of {} for {}s",
            worktree.display(),
            TRIES / 20
        ),
    )
    .help("wait for it, or remove its index.lock when no git runs; then type the command again"))
}

/// Refuses when one of these paths has edits, staged or not, or when something stands in their way.
/// `old` and `new` are the trees of the branch before and after; `doing` is the command that moves it.
pub fn require_free(
    worktree: &Path,
    doing: &str,
    changes: &Changes,
    (old, new): (&Oid, &Oid),
) -> Result<()> {
    let mut args = vec!["status", "--porcelain", "-z", "--untracked-files=all", "--"];
    args.extend(changes.keys().map(String::as_str));
    let status = git_in(worktree, &args).capture()?.ok()?;
    let mut dirty: BTreeSet<String> = status
        .split(|byte| *byte == 0)
        .filter(|entry| entry.len() > 3)
        .map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned())
        .collect();
    for (path, (old, _)) in changes {
        if old.is_none() {
            dirty.extend(in_the_way(worktree, path));
        }
    }
    let refusal = |dirty: &BTreeSet<String>, why: &str| {
        let names: Vec<&str> = dirty.iter().map(String::as_str).collect();
        let help = names.first().map_or_else(String::new, |first| {
            format!("git commit {first}, or: git stash push {first}, or move it away")
        });
        Failure::refused("spec_dirty", format!("{} {why}", names.join(", "))).help(help)
    };
    if !dirty.is_empty() {
        return Err(refusal(
            &dirty,
            &format!("has changes that are not committed; {doing} would have to overwrite them"),
        ));
    }
    // git itself has the last word: it knows of more, such as edits that it was told to overlook.
    let dry = ["read-tree", "-m", "-u", "-n", old.as_str(), new.as_str()];
    let mut ended = patiently(worktree, &dry)?;
    if !ended.ended.success() {
        refresh(worktree)?;
        ended = patiently(worktree, &dry)?;
    }
    if ended.ended.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    let paths = changes.keys().cloned().collect();
    Err(refusal(
        &paths,
        &format!("cannot be changed in the worktree: {said}"),
    ))
}

/// What would have to go for `path` to become a file: an untracked or ignored file, or a file or link
/// where a folder is needed.
fn in_the_way(worktree: &Path, path: &str) -> Option<String> {
    let mut at = worktree.to_path_buf();
    let mut parts = path.split('/').peekable();
    let mut so_far = Vec::new();
    while let Some(part) = parts.next() {
        at.push(part);
        so_far.push(part);
        let meta = std::fs::symlink_metadata(&at).ok()?;
        if !meta.is_dir() || parts.peek().is_none() {
            return Some(so_far.join("/"));
        }
    }
    None
}

/// A stale stat would make an untouched file look modified.
fn refresh(worktree: &Path) -> Result<()> {
    // It exits 1 where a file is modified: that is not the question here.
    patiently(worktree, &["update-index", "--refresh"]).map(drop)
}

/// Brings index and files in step with the branch that moved. A path that somebody changed meanwhile,
/// in the worktree or on the branch, is left alone.
pub fn follow(ctx: &Context, worktree: &Path, tip: &Oid, changes: &Changes) -> Result<()> {
    let tree = ctx.repo.commit_info(tip)?.tree;
    refresh(worktree)?;
    let names: Vec<&str> = changes.keys().map(String::as_str).collect();
    let mut list = vec!["ls-files", "-s", "-z", "--"];
    list.extend(&names);
    let mut staged = BTreeMap::new();
    for entry in git_in(worktree, &list)
        .capture()?
        .ok()?
        .split(|byte| *byte == 0)
    {
        let entry = String::from_utf8_lossy(entry).into_owned();
        if let Some((meta, path)) = entry.split_once('\t') {
            let blob = meta.split(' ').nth(1).unwrap_or_default().to_owned();
            staged.insert(path.to_owned(), blob);
        }
    }
    let mut modified = vec!["diff-files", "--name-only", "-z", "--"];
    modified.extend(&names);
    let modified = git_in(worktree, &modified).capture()?.ok()?;
    let modified: BTreeSet<String> = modified
        .split(|byte| *byte == 0)
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    let mut before = BTreeMap::new();
    for (path, (old, new)) in changes {
        let on_branch = ctx.repo.entry_at(&tree, path)?.map(|entry| entry.id);
        let in_step = staged.get(path).map(String::as_str) == old.as_ref().map(Oid::as_str);
        let free = old.is_some() || in_the_way(worktree, path).is_none();
        if on_branch == *new && in_step && free && !modified.contains(path) {
            before.insert(path.clone(), old.clone().map(Entry::blob));
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    // Two trees that differ in these paths alone: git goes from one to the other as in a switch of
    // branches, and whatever else is in index and worktree stays.
    let old = ctx.repo.edit_tree(Some(&tree), &before)?;
    ctx.repo.keep(&old)?;
    let switch = ["read-tree", "-m", "-u", old.as_str(), tree.as_str()];
    // Exit 128: somebody was quicker than the look above. Their change stands, and git shows it.
    let ended = patiently(worktree, &switch).map(drop);
    ctx.repo.release();
    ended
}
