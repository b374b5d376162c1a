//! The worktree that has a branch checked out, when that branch is moved from outside: what stands in
//! the way is refused before, and the files that changed are brought in step after, and no other.

use super::context::Context;
use super::files;
use loopx_base::failpoint::fail;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_git::run::{Captured, Run};
use loopx_git::{Entry, Repo, unwritable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Paths with the blobs that they had and have.
pub(crate) type Changes = BTreeMap<String, (Option<Oid>, Option<Oid>)>;

/// Tries for an index that another git holds.
const TRIES: u32 = 40;

/// The worktree of a branch. One whose folder is gone is nobody's.
pub(crate) fn of(ctx: &Context, branch_ref: &str) -> Result<Option<PathBuf>> {
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
        let said = String::from_utf8_lossy(&ended.stderr);
        let is_there = said.contains("index.lock") && said.contains("File exists");
        let held = !ended.ended.success() && is_there;
        if !held {
            if !ended.ended.success() {
                ended.refused_by_the_system()?;
            }
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
    .help(
        command!("doctor --fix")
            .note("(removes an index.lock that nobody holds; else wait for that git)"),
    ))
}

/// Refuses when one of these paths has edits, staged or not, or when something stands in their way.
/// `old` and `new` are the trees of the branch before and after; `doing` is the command that moves it.
pub(crate) fn require_free(
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
        // To see whether they are edited, git has looked at these paths and noted what it saw.
        if stands && patiently(worktree, &dry)?.ended.success() {
            return Ok(());
        }
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

/// The entries of the index at some paths; of an unmerged path, no blob that a tree could have.
struct Staged(BTreeMap<String, Listed>);

/// A path of the index.
#[derive(Default)]
struct Listed {
    blob: String,
    /// Set when the path is not to be in the worktree: a sparse checkout, or a person, left it out.
    skipped: bool,
    /// git was told to overlook edits.
    overlooked: bool,
    /// The file is another one, or gone.
    modified: bool,
}

fn staged(worktree: &Path, changes: &Changes) -> Result<Staged> {
    // A path that is modified or deleted comes twice, with another tag.
    let mut args = vec!["ls-files", "-c", "-m", "-d", "-s", "-v", "-z", "--"];
    args.extend(pathspecs(changes));
    let listed = git_in(worktree, &args).capture()?.ok()?;
    let mut found: BTreeMap<String, Listed> = BTreeMap::new();
    for entry in listed.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        let Some((meta, path)) = entry.split_once('\t') else {
            continue;
        };
        let words: Vec<&str> = meta.split(' ').collect();
        if let [tag, _, blob, stage] = words.as_slice()
            && changes.contains_key(path)
        {
            let listed = found.entry(path.to_owned()).or_default();
            listed.blob = match *stage {
                "0" => (*blob).to_owned(),
                _ => "unmerged".to_owned(),
            };
            listed.skipped |= tag.eq_ignore_ascii_case("s");
            listed.overlooked |= tag.chars().all(|tag| tag.is_ascii_lowercase());
            listed.modified |= matches!(*tag, "C" | "R");
        }
    }
    Ok(Staged(found))
}

impl Staged {
    /// Tells whether the index has this blob, or nothing where there is none.
    fn is(&self, path: &str, blob: Option<&Oid>) -> bool {
        self.0.get(path).map(|one| one.blob.as_str()) == blob.map(Oid::as_str)
    }

    /// Tells whether the index is as the branch was before.
    fn stands(&self, changes: &Changes) -> bool {
        changes
            .iter()
            .all(|(path, (old, _))| self.is(path, old.as_ref()))
    }
}

/// Names what would have to go for `path` to become a file: an untracked or ignored file, or a file or link
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

/// Brings index and files in step with the branch that moved. A path that somebody changed meanwhile, in
/// the worktree, in the index or on the branch, is left alone; one that is in step already, in part or in
/// whole, is finished. The index goes first: a commit that is made in between does not take back what
/// landed. A file is written beside its place and renamed, so that it is the old one or the new one.
pub(crate) fn follow(ctx: &Context, worktree: &Path, tip: &Oid, changes: &Changes) -> Result<()> {
    let tree = ctx.repo.commit_info(tip)?.tree;
    let staged = staged(worktree, changes)?;
    let contents = contents(worktree, changes, &staged)?;
    let mut before = BTreeMap::new();
    let (mut written, mut removed) = (Vec::new(), Vec::new());
    for (path, (old, new)) in changes {
        let on_branch = ctx.repo.entry_at(&tree, path)?.map(|entry| entry.id);
        let known = [old, new];
        let content = contents.get(path.as_str());
        let ours = known.iter().any(|blob| staged.is(path, blob.as_ref()))
            && content.is_some_and(|content| known.contains(&content));
        if on_branch != *new || !ours {
            continue;
        }
        if !staged.is(path, new.as_ref()) {
            before.insert(path.clone(), old.clone().map(Entry::blob));
        }
        let skipped = staged.0.get(path).is_some_and(|one| one.skipped);
        if content != Some(new) && !skipped {
            match new {
                Some(_) => written.push(path.as_str()),
                None => removed.push(path.as_str()),
            }
        }
    }
    if !before.is_empty() {
        // Two trees that differ in these paths alone: whatever else is in the index stays.
        let old = ctx.repo.edit_tree(Some(&tree), &before)?;
        ctx.repo.keep(&old)?;
        let is_new = |entry: &Option<Entry>| entry.is_none();
        let moved = if before.values().any(is_new) && is_sparse(worktree)? {
            // Which new files belong here, git alone knows.
            written.retain(|path| !before.contains_key(*path));
            removed.retain(|path| !before.contains_key(*path));
            switch(worktree, &old, &tree)
        } else {
            move_index(worktree, &old, &tree)
        };
        ctx.repo.release();
        moved?;
    }
    if written.is_empty() && removed.is_empty() {
        return Ok(());
    }
    write(ctx, worktree, &written)?;
    for path in removed {
        remove(worktree, path)?;
    }
    drop(refresh_these(worktree, changes));
    Ok(())
}

/// Has git look at these files and note what it saw: else git reads them once more. What somebody
/// copied or restored beside them stays as stale as it was.
fn refresh_these(worktree: &Path, changes: &Changes) -> Result<()> {
    let mut args = vec!["status", "--porcelain", "-z", "--untracked-files=no"];
    args.extend(["--no-renames", "--ignore-submodules=all", "--"]);
    args.extend(pathspecs(changes));
    let run = git_in(worktree, &args).env("GIT_OPTIONAL_LOCKS", "1");
    run.capture().map(drop)
}

/// The blobs of the files, by git's own rules of conversion: `None` where there is no file. A path that is missing in
/// the map has something that is no file.
fn contents<'c>(
    worktree: &Path,
    changes: &'c Changes,
    staged: &Staged,
) -> Result<BTreeMap<&'c str, Option<Oid>>> {
    let mut found = BTreeMap::new();
    let mut asked = Vec::new();
    for path in changes.keys() {
        let known = staged.0.get(path);
        let believed = known.filter(|one| !one.overlooked && !one.modified);
        match (in_the_way(worktree, path), believed) {
            (None, Some(one)) if one.skipped => {
                found.insert(path.as_str(), Oid::parse(&one.blob).ok());
            }
            (None, _) => {
                found.insert(path.as_str(), None);
            }
            (Some(there), Some(one)) if there == *path && !one.skipped => {
                found.insert(path.as_str(), Oid::parse(&one.blob).ok());
            }
            (Some(there), _) => {
                let meta = std::fs::symlink_metadata(worktree.join(path));
                if there == *path && meta.is_ok_and(|meta| meta.is_file()) {
                    asked.push(path.as_str());
                }
            }
        }
    }
    const AT_ONCE: usize = 200;
    for some in asked.chunks(AT_ONCE) {
        let args = [&["hash-object", "--"], some].concat();
        let said = git_in(worktree, &args).capture()?.ok()?;
        let said = String::from_utf8_lossy(&said);
        for (path, id) in some.iter().zip(said.lines()) {
            found.insert(path, Some(Oid::parse(id)?));
        }
    }
    Ok(found)
}

/// Tells whether some files are left out of the worktree by rule.
fn is_sparse(worktree: &Path) -> Result<bool> {
    let args = ["config", "--type=bool", "--get", "core.sparseCheckout"];
    let said = git_in(worktree, &args).capture()?;
    Ok(said.stdout.starts_with(b"true"))
}

/// Goes from one tree to another as in a switch of branches.
fn switch(worktree: &Path, old: &Oid, new: &Oid) -> Result<()> {
    let args = ["read-tree", "-m", "-u", old.as_str(), new.as_str()];
    refresh(worktree)?;
    patiently(worktree, &args)?.ok().map(drop)
}

/// Moves the index from one tree to another: all of it, or nothing.
fn move_index(worktree: &Path, old: &Oid, new: &Oid) -> Result<()> {
    let file = Path::new("index");
    fail("index-written").map_err(|error| unwritable(file, &error))?;
    let args = ["read-tree", "-i", "-m", old.as_str(), new.as_str()];
    patiently(worktree, &args)?.ok().map(drop)
}

/// Writes files of the worktree as its index has them. All are made before the first one is put in place.
fn write(ctx: &Context, worktree: &Path, paths: &[&str]) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let staging = Staging::open(&ctx.repo)?;
    fail("worktree-written").map_err(|error| unwritable(staging.path(), &error))?;
    let mut list = Vec::new();
    for path in paths {
        list.extend(path.bytes());
        list.push(0);
    }
    let prefix = format!("--prefix={}/", staging.path().display());
    git_in(worktree, &["checkout-index", "-z", "--stdin", &prefix])
        .stdin(list)
        .capture()?
        .ok()?;
    for path in paths {
        files::put(&staging.path().join(path), &worktree.join(path))?;
    }
    Ok(())
}

/// Removes a file with the folders that it leaves empty.
fn remove(worktree: &Path, path: &str) -> Result<()> {
    let file = worktree.join(path);
    files::remove(&file)?;
    let mut folder = file.parent();
    while let Some(dir) = folder.filter(|dir| *dir != worktree) {
        if std::fs::remove_dir(dir).is_err() {
            break;
        }
        folder = dir.parent();
    }
    Ok(())
}

/// A folder in which files are made; what is left in it goes with it. Only a holder of the lock has one, and
/// each its own: what a killed command of another user left may stay.
struct Staging(tempfile::TempDir);

impl Staging {
    fn open(repo: &Repo) -> Result<Self> {
        let folder = repo.common_dir().join("loopx").join("staging");
        let failed = |error: std::io::Error| unwritable(&folder, &error);
        if let Ok(left) = std::fs::read_dir(&folder) {
            for one in left.flatten() {
                drop(std::fs::remove_dir_all(one.path()));
            }
        }
        repo.make_folder(&folder).map_err(failed)?;
        let made = tempfile::Builder::new().tempdir_in(&folder);
        made.map(Staging).map_err(failed)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // With the folder around it, if nothing else is in there.
        drop(std::fs::remove_dir_all(self.path()));
        if let Some(folder) = self.path().parent() {
            drop(std::fs::remove_dir(folder));
        }
    }
}
