//! The worktree that has a branch checked out, when that branch is moved from outside: what stands in
//! the way is refused before, and the files that changed are brought in step after, and no other.

use super::context::Context;
use crate::core::failure::{Code, Failure, Kind, Result};
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
        Code::IndexLocked,
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
    code: Code,
) -> Result<()> {
    let mut dirty: BTreeSet<String> = changes
        .iter()
        .filter(|(_, (old, _))| old.is_none())
        .filter_map(|(path, _)| in_the_way(worktree, path))
        .collect();
    // git itself has the last word: it knows of more, such as edits that it was told to overlook. But it
    // takes what is staged where that says the same as the new tree, so this is looked at here.
    let dry = ["read-tree", "-m", "-u", "-n", old.as_str(), new.as_str()];
    let stands = dirty.is_empty() && staged(worktree, changes)?.stands(changes);
    if stands && patiently(worktree, &dry)?.ended.success() {
        return Ok(());
    }
    dirty.extend(edited(worktree, changes)?);
    let why = if dirty.is_empty() {
        refresh(worktree)?;
        let ended = patiently(worktree, &dry)?;
        if stands && ended.ended.success() {
            return Ok(());
        }
        dirty.extend(changes.keys().cloned());
        let said = String::from_utf8_lossy(&ended.stderr);
        format!("cannot be changed in the worktree: {}", said.trim())
    } else {
        format!("has changes that are not committed; {doing} would have to overwrite them")
    };
    let names: Vec<&str> = dirty.iter().map(String::as_str).collect();
    let help = names.first().map_or_else(String::new, |first| {
        format!("git commit {first}, or: git stash push {first}, or move it away")
    });
    Err(Failure::refused(code, format!("{} {why}", names.join(", "))).help(help))
}

/// The pathspecs of some paths. Of many it is the folder around them: git compares each pathspec with
/// each file, and a command line has an end.
fn pathspecs(changes: &Changes) -> Vec<&str> {
    const FEW: usize = 20;
    let (Some(first), Some(last)) = (changes.keys().next(), changes.keys().next_back()) else {
        return Vec::new();
    };
    if changes.len() <= FEW {
        return changes.keys().map(String::as_str).collect();
    }
    // They are sorted: what the first and the last begin with, all begin with.
    let common = first
        .bytes()
        .zip(last.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    match first.as_bytes()[..common].iter().rposition(|b| *b == b'/') {
        Some(slash) => vec![&first[..slash]],
        None => Vec::new(),
    }
}

/// The paths, and what lies below them, that differ from what is staged or committed.
fn edited(worktree: &Path, changes: &Changes) -> Result<Vec<String>> {
    let mut args = vec!["status", "--porcelain", "-z", "--untracked-files=all"];
    args.extend(["--no-renames", "--"]);
    args.extend(pathspecs(changes));
    let status = git_in(worktree, &args).capture()?.ok()?;
    let meant = |path: &str| {
        changes.contains_key(path)
            || path
                .match_indices('/')
                .any(|(end, _)| changes.contains_key(&path[..end]))
    };
    Ok(status
        .split(|byte| *byte == 0)
        .filter(|entry| entry.len() > 3)
        .map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned())
        .filter(|path| meant(path))
        .collect())
}

/// What the index has at some paths; of an unmerged one, nothing that a tree could have.
struct Staged(BTreeMap<String, String>);

fn staged(worktree: &Path, changes: &Changes) -> Result<Staged> {
    let mut args = vec!["ls-files", "-s", "-z", "--"];
    args.extend(pathspecs(changes));
    let listed = git_in(worktree, &args).capture()?.ok()?;
    let mut found = BTreeMap::new();
    for entry in listed.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        let Some((meta, path)) = entry.split_once('\t') else {
            continue;
        };
        if changes.contains_key(path) {
            let mut words = meta.split(' ').skip(1);
            let blob = words.next().unwrap_or_default();
            let staged = match words.next() {
                Some("0") => blob,
                _ => "unmerged",
            };
            found.insert(path.to_owned(), staged.to_owned());
        }
    }
    Ok(Staged(found))
}

impl Staged {
    /// Whether the index has this blob, or nothing where there is none.
    fn is(&self, path: &str, blob: Option<&Oid>) -> bool {
        self.0.get(path).map(String::as_str) == blob.map(Oid::as_str)
    }

    /// Whether the index is as the branch was before.
    fn stands(&self, changes: &Changes) -> bool {
        changes
            .iter()
            .all(|(path, (old, _))| self.is(path, old.as_ref()))
    }
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
/// in the worktree or on the branch, is left alone. `before` is a commit from which the tip differs in
/// these paths alone, where there is one.
pub fn follow(
    ctx: &Context,
    worktree: &Path,
    tip: &Oid,
    changes: &Changes,
    before: Option<&Oid>,
) -> Result<()> {
    let tree = ctx.repo.commit_info(tip)?.tree;
    if let Some(before) = before {
        // Mostly nobody was quicker, and git goes all the way. If not, it has changed nothing.
        let old = ctx.repo.commit_info(before)?.tree;
        if switch(worktree, &old, &tree)?.ended.success() {
            return Ok(());
        }
    }
    refresh(worktree)?;
    let staged = staged(worktree, changes)?;
    let mut modified = vec!["diff-files", "--name-only", "-z", "--"];
    modified.extend(pathspecs(changes));
    let modified = git_in(worktree, &modified).capture()?.ok()?;
    let modified: BTreeSet<String> = modified
        .split(|byte| *byte == 0)
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    let mut before = BTreeMap::new();
    for (path, (old, new)) in changes {
        let on_branch = ctx.repo.entry_at(&tree, path)?.map(|entry| entry.id);
        let in_step = staged.is(path, old.as_ref());
        let free = old.is_some() || in_the_way(worktree, path).is_none();
        if on_branch == *new && in_step && free && !modified.contains(path) {
            before.insert(path.clone(), old.clone().map(Entry::blob));
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    // Two trees that differ in these paths alone: whatever else is in index and worktree stays.
    let old = ctx.repo.edit_tree(Some(&tree), &before)?;
    ctx.repo.keep(&old)?;
    // Where it fails, somebody was quicker than the look above. Their change stands, and git shows it.
    let ended = switch(worktree, &old, &tree).map(drop);
    ctx.repo.release();
    ended
}

/// Goes from one tree to another as in a switch of branches: all of it, or nothing.
fn switch(worktree: &Path, old: &Oid, new: &Oid) -> Result<Captured> {
    patiently(
        worktree,
        &["read-tree", "-m", "-u", old.as_str(), new.as_str()],
    )
}
