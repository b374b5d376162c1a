//! The way of the code back to a point: what would be lost on it, and the commit with the tree of then. Git writes the
//! files and makes the commit, so that its filters and hooks do what they do at every other commit.

use super::super::checked_out::{Stamp, stamp};
use super::super::context::Context;
use super::super::evidence::look_again;
use super::under_way::UnderWay;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_git::run::{Captured, Run};
use loopx_git::{Repo, TEMPORARY};
use std::fs;
use std::path::Path;

/// Refuses a way on which something would be lost that git does not have: a merge that is under way, and what stands where
/// a file of then comes. Git itself would write over what it was told to ignore.
pub(super) fn require_free(ctx: &Context, (from, to): (&Oid, &Oid)) -> Result<()> {
    let dirty = |why: String| {
        Err(Failure::refused(Code::WorktreeDirty, why).help(Hint::git("status --ignored")))
    };
    if ctx.repo.is_sequencing()? {
        return dirty("a merge, a rebase or the like is under way: end it first".to_owned());
    }
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(());
    };
    for change in ctx.repo.changes(Some(from), to)? {
        if change.old.is_some() {
            continue;
        }
        if let Some(lost) = in_the_way(&ctx.repo, top, from, &change.path)? {
            return dirty(format!(
                "{lost} stands where {} comes, and git does not have it: move it away",
                change.path
            ));
        }
    }
    Ok(())
}

/// Path in the working tree that stands where another path comes, and that the present tree does not have.
fn in_the_way(repo: &Repo, top: &Path, tree: &Oid, path: &str) -> Result<Option<String>> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    for end in ends.chain([path.len()]) {
        let above = &path[..end];
        let Ok(meta) = fs::symlink_metadata(top.join(above)) else {
            return Ok(None);
        };
        if !meta.is_dir() {
            let is_known = repo.entry_at(tree, above)?.is_some();
            return Ok((!is_known).then(|| above.to_owned()));
        }
    }
    unknown_below(repo, top, tree, path)
}

/// The first file below a folder that a tree does not have.
fn unknown_below(repo: &Repo, top: &Path, tree: &Oid, folder: &str) -> Result<Option<String>> {
    let unreadable = |error: std::io::Error| loopx_git::unwritable(&top.join(folder), &error);
    for entry in fs::read_dir(top.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let found = if is_folder {
            unknown_below(repo, top, tree, &path)?
        } else {
            let is_known = repo.entry_at(tree, &path)?.is_some();
            (!is_known).then_some(path)
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// File that a step changes, as it stood before git wrote anything.
struct SeenFile {
    path: String,
    is_new: bool,
    stamp: Option<Stamp>,
}

/// Looks at the files that differ between two trees.
fn look_at(ctx: &Context, top: &Path, (from, to): (&Oid, &Oid)) -> Result<Vec<SeenFile>> {
    let changes = ctx.repo.changes(Some(from), to)?.into_iter();
    let seen = changes.map(|change| SeenFile {
        stamp: stamp(&top.join(&change.path)),
        is_new: change.old.is_none(),
        path: change.path,
    });
    Ok(seen.collect())
}

/// Puts back the files that git wrote before it could write no more: git leaves them torn, and the index as it was. A file
/// that stands as it stood before is nothing that git wrote. Gives the files for which there is no room, either.
fn put_back(top: &Path, seen: Vec<SeenFile>, (from, to): (&Oid, &Oid)) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    for file in seen {
        if stamp(&top.join(&file.path)) == file.stamp || !is_written(top, &file.path, to)? {
            continue;
        }
        if !file.is_new {
            kept.push(file.path);
        } else if fs::remove_file(top.join(&file.path)).is_ok() {
            let above = Path::new(&file.path).ancestors().skip(1);
            let folders = above.filter(|folder| !folder.as_os_str().is_empty());
            // Folders that hold nothing now were made for the file.
            for folder in folders {
                if fs::remove_dir(top.join(folder)).is_err() {
                    break;
                }
            }
        }
    }
    let left = |paths: Vec<String>| -> Result<Vec<String>> {
        let input = paths.join("\0").into_bytes();
        let checkout = ["checkout-index", "--force", "-z", "--stdin"];
        if Run::git(checkout)
            .cwd(top)
            .stdin(input)
            .capture()?
            .ended
            .success()
        {
            return Ok(Vec::new());
        }
        let mut left = Vec::new();
        for path in paths {
            if !is_as(top, &path, from)? {
                left.push(path);
            }
        }
        Ok(left)
    };
    // What goes back first may make the room for the rest.
    let kept = if kept.is_empty() { kept } else { left(kept)? };
    if kept.is_empty() {
        Ok(kept)
    } else {
        left(kept)
    }
}

/// Tells whether a file is as git leaves it on the way to a tree: absent, or as much of the new text as there was room for.
fn is_written(top: &Path, path: &str, to: &Oid) -> Result<bool> {
    match on_disk(&top.join(path)) {
        Some(bytes) => Ok(text_in(top, path, to)?.is_some_and(|new| new.starts_with(&bytes))),
        None => Ok(true),
    }
}

/// Tells whether a file has the text that git would write for a path of a tree.
pub(super) fn is_as(top: &Path, path: &str, tree: &Oid) -> Result<bool> {
    let known = on_disk(&top.join(path));
    Ok(known.is_some() && known == text_in(top, path, tree)?)
}

/// The bytes of a file, or where a link leads; nothing where there is neither.
fn on_disk(path: &Path) -> Option<Vec<u8>> {
    match fs::read_link(path) {
        Ok(to) => Some(to.into_os_string().into_encoded_bytes()),
        Err(_) => fs::read(path).ok(),
    }
}

/// Text that git would write for a path of a tree; nothing where the tree has no file there.
fn text_in(top: &Path, path: &str, tree: &Oid) -> Result<Option<Vec<u8>>> {
    let name = format!("{}:{path}", tree.as_str());
    let said = Run::git(["cat-file", "--filters", &name])
        .cwd(top)
        .capture()?;
    Ok(said.ended.success().then_some(said.stdout))
}

/// Refusal of a way back; with the files that stand neither as before nor as then.
fn refused(ctx: &Context, name: &str, said: &Captured, left: &[String]) -> Failure {
    let complaint = said.complaint();
    let mut message = format!("the code of {name} was not committed: {complaint}");
    let mut help = "status".to_owned();
    if left.is_empty() {
        // `git status` does not show what git was told not to look at.
        let hidden = ctx.repo.hidden_edits().unwrap_or_default();
        let mut hidden = hidden.iter();
        let held = hidden.find(|one| complaint.contains(&format!("'{}'", one.path)));
        if let Some(held) = held {
            let look_again = look_again((&held.path, held.look_again));
            return Failure::refused(Code::PointNotCommitted, message).help(look_again);
        }
    } else {
        message.push_str(&format!("; changed and not as before: {}", left.join(", ")));
        let words: Vec<_> = left.iter().map(|path| shell_word(path)).collect();
        help = format!("restore --staged --worktree -- {}", words.join(" "));
    }
    Failure::refused(Code::PointNotCommitted, message).help(Hint::git(help))
}

/// Copies the index as it stands: where the commit fails for want of room, there is none for another index, either.
fn copy_index(ctx: &Context) -> Result<Option<tempfile::TempPath>> {
    let git_dir = ctx.repo.git_dir();
    let index = git_dir.join("index");
    let failed = |error: std::io::Error| loopx_git::unwritable(&index, &error);
    let Ok(meta) = fs::metadata(&index) else {
        return Ok(None);
    };
    let made = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(&git_dir)
        .map_err(failed)?;
    fs::copy(&index, made.path()).map_err(failed)?;
    // git tells by the time of an index which files it has to look at.
    let times = meta
        .modified()
        .and_then(|time| made.as_file().set_modified(time));
    times.map_err(failed)?;
    Ok(Some(made.into_temp_path()))
}

/// Puts a copy of the index in its place, under git's lock. That needs no room.
fn place_index(ctx: &Context, copy: &Path) -> std::io::Result<()> {
    let git_dir = ctx.repo.git_dir();
    let (index, lock) = (git_dir.join("index"), git_dir.join("index.lock"));
    match fs::hard_link(copy, &lock) {
        Ok(()) => fs::rename(&lock, &index),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(error),
        // A file system without such links.
        Err(_) => fs::rename(copy, &index),
    }
}

/// Commits the tree of then on top of what is there.
pub(super) fn commit(ctx: &Context, name: &str, (from, to): (&Oid, &Oid)) -> Result<Option<Oid>> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(None);
    };
    let git = |words: &[&str]| Run::git(words).cwd(top).capture();
    let before = ctx.repo.head()?.commit;
    // Times of files that were only touched say nothing of their content.
    drop(git(&["update-index", "-q", "--refresh"])?);
    let copy = copy_index(ctx)?;
    let files = look_at(ctx, top, (from, to))?;
    let under_way = UnderWay::begin(&ctx.repo, name, before.clone(), (from, to))?;
    let read = git(&["read-tree", "-m", "-u", from.as_str(), to.as_str()])?;
    if !read.ended.success() {
        let left = put_back(top, files, (from, to))?;
        drop(git(&["update-index", "-q", "--refresh"])?);
        if left.is_empty() {
            under_way.end();
        }
        return Err(refused(ctx, name, &read, &left));
    }
    reach("way-back-staged");
    let subject = format!("Go back to {name}");
    let trailer = format!("Loopx-Point: {name}");
    let made = git(&["commit", "--quiet", "-m", &subject, "--trailer", &trailer])?;
    let head = present(ctx, top)?;
    // Git may have been ended behind its commit.
    if made.ended.success() || is_way_back(ctx, (before.as_ref(), head.as_ref()), to)? {
        under_way.end();
        return Ok(head);
    }
    for words in [
        &["read-tree", "-m", "-u", to.as_str(), from.as_str()][..],
        &["read-tree", "--reset", "-u", from.as_str()],
    ] {
        if git(words)?.ended.success() {
            under_way.end();
            return Err(refused(ctx, name, &made, &[]));
        }
    }
    let left = match copy.map(|copy| place_index(ctx, &copy)) {
        Some(Err(_)) => files.into_iter().map(|file| file.path).collect(),
        _ => put_back(top, files, (from, to))?,
    };
    if left.is_empty() {
        under_way.end();
    }
    Err(refused(ctx, name, &made, &left))
}

/// The present commit. The commit of the way back may stand: git is asked before that is called a failure.
fn present(ctx: &Context, top: &Path) -> Result<Option<Oid>> {
    if let Ok(head) = ctx.repo.head() {
        return Ok(head.commit);
    }
    let words = ["rev-parse", "--verify", "HEAD"];
    let named = Run::git(words).cwd(top).capture()?.line()?;
    Oid::parse(String::from_utf8_lossy(&named).trim()).map(Some)
}

/// Tells whether the present commit is the next after the one before, with the tree of then.
fn is_way_back(
    ctx: &Context,
    (before, head): (Option<&Oid>, Option<&Oid>),
    to: &Oid,
) -> Result<bool> {
    let Some(head) = head.filter(|head| Some(*head) != before) else {
        return Ok(false);
    };
    let info = ctx.repo.commit_info(head)?;
    Ok(info.tree == *to && info.parents.first() == before)
}
