//! The worktree that has a branch checked out, when that branch is moved from outside: what stands in
//! the way is refused before, index and files are made before, and are put in place after, and no other.

mod index;
mod prepared;

pub(crate) use index::{Stamp, stamp};
pub(crate) use prepared::Prepared;

use super::context::Context;
use super::files;
use super::leftover::git_dir_of;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_git::Repo;
use loopx_git::run::{Captured, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Paths with the blobs that they had and have.
pub(crate) type Changes = BTreeMap<String, (Option<Oid>, Option<Oid>)>;

/// Tries for an index that another git holds.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// A worktree whose index and files follow its branch.
#[derive(Clone)]
pub(crate) struct Checkout<'c> {
    repo: &'c Repo,
    top: PathBuf,
    /// The git directory of this worktree, which has its index.
    git_dir: PathBuf,
    /// Set where no `.git` at the top leads to that directory: whoever starts git names both.
    is_named: bool,
}

/// Tells whether two paths lead to one place.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    one == other || whole(one) == whole(other)
}

/// The worktree of a branch. One whose folder is gone is nobody's.
pub(crate) fn of<'c>(ctx: &'c Context, branch_ref: &str) -> Result<Option<Checkout<'c>>> {
    let found = ctx.repo.checked_out_in(branch_ref)?;
    let found = found.filter(|path| path.is_dir());
    Ok(found.map(|top| Checkout::at(&ctx.repo, &top)))
}

impl<'c> Checkout<'c> {
    /// The worktree with this folder at its top.
    pub(crate) fn at(repo: &'c Repo, top: &Path) -> Self {
        let led = git_dir_of(top);
        // The worktree of this process may have its git directory anywhere, by a variable or by a setting.
        let own = (repo.work_dir().is_some_and(|own| is_same(own, top))).then(|| repo.git_dir());
        let git_dir = own
            .or_else(|| led.clone())
            .unwrap_or_else(|| repo.common_dir());
        Checkout {
            repo,
            top: top.to_path_buf(),
            is_named: !led.is_some_and(|led| is_same(&led, &git_dir)),
            git_dir,
        }
    }

    fn git(&self, args: &[&str]) -> Run {
        // No hook of the user's may see a half-finished commit, and no program that the repository names is run.
        let run = Run::git(["-c", "core.hooksPath=/dev/null"])
            .args(self.repo.no_monitor())
            .args(["--literal-pathspecs"])
            .args(args)
            .cwd(&self.top)
            .scrubbed()
            .env("LC_ALL", "C");
        if self.is_named {
            run.env("GIT_DIR", &self.git_dir)
                .env("GIT_WORK_TREE", &self.top)
        } else {
            run
        }
    }

    /// Tells whether a file has the content of a blob, by git's rules of conversion for a path.
    fn is_blob(&self, path: &str, file: &Path, blob: Option<&Oid>) -> Result<bool> {
        let run = self.git(&["hash-object"]).args([format!("--path={path}")]);
        let said = run.arg_path("--", file).capture()?.ok()?;
        let id = Oid::parse(String::from_utf8_lossy(&said).trim())?;
        Ok(blob == Some(&id))
    }

    /// Runs a git that writes the index; another git may hold it for a moment.
    fn patiently(&self, args: &[&str]) -> Result<Captured> {
        for _ in 0..TRIES {
            let ended = self.git(args).capture()?;
            let said = String::from_utf8_lossy(&ended.stderr);
            let is_there = said.contains("index.lock") && said.contains("File exists");
            let held = !ended.ended.success() && is_there;
            if !held {
                if !ended.ended.success() {
                    ended.refused_by_the_system()?;
                }
                return Ok(ended);
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.index_held())
    }

    fn index_held(&self) -> Failure {
        Failure::new(
            Kind::Waiting,
            Code::IndexLocked,
            format!(
                "another git has held the index of {} for {}s",
                self.top.display(),
                TRIES / 20
            ),
        )
        .help(
            command!("doctor --fix")
                .note("(removes an index.lock that nobody holds; else wait for that git)"),
        )
    }

    /// Refuses when one of these paths has edits, staged or not, or when something stands in their way.
    /// `old` and `new` are the trees of the branch before and after; `doing` is the command that moves it.
    pub(crate) fn require_free(
        &self,
        doing: &str,
        changes: &Changes,
        (old, new): (&Oid, &Oid),
        code: Code,
    ) -> Result<()> {
        let mut dirty: BTreeSet<String> = changes
            .iter()
            .filter(|(_, (old, _))| old.is_none())
            .filter_map(|(path, _)| in_the_way(&self.top, path))
            .collect();
        // git itself has the last word: it knows of more, such as edits that it was told to overlook. But it
        // takes what is staged where that says the same as the new tree, so this is looked at here.
        let dry = ["read-tree", "-m", "-u", "-n", old.as_str(), new.as_str()];
        let stands = dirty.is_empty() && self.staged(changes, None)?.stands(changes);
        if stands && self.patiently(&dry)?.ended.success() {
            return Ok(());
        }
        dirty.extend(self.edited(changes)?);
        let why = if dirty.is_empty() {
            // To see whether they are edited, git has looked at these paths and noted what it saw.
            if stands && self.patiently(&dry)?.ended.success() {
                return Ok(());
            }
            self.refresh()?;
            let ended = self.patiently(&dry)?;
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
        let (place, help) = self.way_out(names.first().copied(), changes);
        Err(Failure::refused(code, format!("{}{place} {why}", names.join(", "))).help(help))
    }

    /// The worktree in words, where it is not the one that the command runs in, and the commands that take an edit out of
    /// the way there.
    fn way_out(&self, edited: Option<&str>, changes: &Changes) -> (String, Hint) {
        let top = self.top.display().to_string();
        let is_here = self
            .repo
            .work_dir()
            .is_some_and(|own| is_same(own, &self.top));
        let place = if is_here {
            String::new()
        } else {
            format!(" in {top}")
        };
        let Some(edited) = edited else {
            return (place, Hint::default());
        };
        let is_new = changes.get(edited).is_none_or(|(old, _)| old.is_none());
        let edited = shell_word(edited);
        // The path begins at the top of its worktree, whatever the current folder is.
        let at = match files::below(&self.top) {
            Some(below) if below.is_empty() => String::new(),
            _ => format!("-C {} ", shell_word(&top)),
        };
        let help = if is_new {
            let stash = Hint::git(format!("{at}stash push --all -- {edited}"));
            hint![stash, "  or move it away"]
        } else {
            hint![
                Hint::git(format!("{at}commit {edited}")),
                "  or: ",
                Hint::git(format!("{at}stash push -- {edited}"))
            ]
        };
        (place, help)
    }

    /// The paths, and what lies below them, that differ from what is staged or committed.
    fn edited(&self, changes: &Changes) -> Result<Vec<String>> {
        let mut args = vec!["status", "--porcelain", "-z", "--untracked-files=all"];
        args.extend(["--no-renames", "--"]);
        args.extend(pathspecs(changes));
        let status = self.git(&args).capture()?.ok()?;
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

    /// The paths as the index has them, or another index.
    fn staged(&self, changes: &Changes, index: Option<&Path>) -> Result<Staged> {
        // A path that is modified or deleted comes twice, with another tag.
        let mut args = vec!["ls-files", "-c", "-m", "-d", "-s", "-v", "-z", "--"];
        args.extend(pathspecs(changes));
        let run = self.git(&args);
        let run = match index {
            Some(index) => run.env("GIT_INDEX_FILE", index),
            None => run,
        };
        let listed = run.capture()?.ok()?;
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

    /// A stale stat would make an untouched file look modified.
    fn refresh(&self) -> Result<()> {
        // It exits 1 where a file is modified: that is not the question here.
        self.patiently(&["update-index", "--refresh"]).map(drop)
    }

    /// Has git look at these files and note what it saw: else git reads them once more. What somebody
    /// copied or restored beside them stays as stale as it was.
    fn refresh_these(&self, changes: &Changes) -> Result<()> {
        let mut args = vec!["status", "--porcelain", "-z", "--untracked-files=no"];
        args.extend(["--no-renames", "--ignore-submodules=all", "--"]);
        args.extend(pathspecs(changes));
        let run = self.git(&args).env("GIT_OPTIONAL_LOCKS", "1");
        run.capture().map(drop)
    }

    /// The blobs of the files, by git's own rules of conversion: `None` where there is no file. A path that is missing in
    /// the map has something that is no file.
    fn contents<'p>(
        &self,
        changes: &'p Changes,
        staged: &Staged,
    ) -> Result<BTreeMap<&'p str, Option<Oid>>> {
        let mut found = BTreeMap::new();
        let mut asked = Vec::new();
        for path in changes.keys() {
            let known = staged.0.get(path);
            let believed = known.filter(|one| !one.overlooked && !one.modified);
            match (in_the_way(&self.top, path), believed) {
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
                    let meta = std::fs::symlink_metadata(self.top.join(path));
                    if there == *path && meta.is_ok_and(|meta| meta.is_file()) {
                        asked.push(path.as_str());
                    }
                }
            }
        }
        const AT_ONCE: usize = 200;
        for some in asked.chunks(AT_ONCE) {
            let args = [&["hash-object", "--"], some].concat();
            let said = self.git(&args).capture()?.ok()?;
            let said = String::from_utf8_lossy(&said);
            for (path, id) in some.iter().zip(said.lines()) {
                found.insert(path, Some(Oid::parse(id)?));
            }
        }
        Ok(found)
    }

    /// Tells whether some files are left out of the worktree by rule.
    fn is_sparse(&self) -> Result<bool> {
        let args = ["config", "--type=bool", "--get", "core.sparseCheckout"];
        let said = self.git(&args).capture()?;
        Ok(said.stdout.starts_with(b"true"))
    }
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
