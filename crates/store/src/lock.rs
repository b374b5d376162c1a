//! Lock for one writer at a time, in all worktrees of a repository: an advisory lock that the system takes back when
//! its holder dies. It is courtesy, not safety: compare-and-swap is what protects the branch.
//!
//! While the lock is held its file says by whom, and which refs are about to move where. A holder that ends
//! in order leaves the file empty; so a text that stands in it when the lock is taken was left by a killed holder.

use loopx_base::env;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::Oid;
use loopx_git::processes::git_is_at_work;
use loopx_git::{Repo, TEMPORARY, unwritable};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lock of the repository, held until dropped.
#[derive(Debug)]
#[must_use]
pub struct Lock {
    /// `holder <process> <command>`, and a line `<ref> <commit>` for each ref that is being moved.
    file: File,
    path: PathBuf,
}

/// List of the tables that keep refs, below the git dir.
const TABLES: &str = "reftable/tables.list";

/// Time for which an empty lock file of a ref is watched before it counts as left behind. Only asked where a holder of
/// our own lock is known to have died while it moved that very ref.
const STALE_AFTER: Duration = Duration::from_millis(250);

/// The longest wait for another command of ours, where `loopx.lockTimeout` says nothing else.
const DEADLINE: Duration = Duration::from_secs(60);

/// Path of the lock of a repository.
pub(super) fn file(common_dir: &Path) -> PathBuf {
    common_dir.join("loopx").join("lock")
}

/// Path at which git keeps the lock of a ref.
pub(super) fn ref_lock(common_dir: &Path, name: &str) -> PathBuf {
    common_dir.join(format!("{name}.lock"))
}

/// Path of the lock that stops a move of a ref: that of the list of tables, where refs are kept in tables.
pub(super) fn in_the_way(common_dir: &Path, name: &str) -> PathBuf {
    let of_tables = ref_lock(common_dir, TABLES);
    let is_there = !ref_lock(common_dir, name).exists() && of_tables.exists();
    if is_there {
        of_tables
    } else {
        ref_lock(common_dir, name)
    }
}

impl Lock {
    /// Notes that refs are about to be moved to a commit.
    pub(super) fn note(&self, names: &[&str], commit: &Oid) -> Result<()> {
        let mut text = holder();
        for name in names {
            text.push_str(&format!("{name} {commit}\n"));
        }
        self.rewrite(&text)
    }

    /// The refs were moved, or not: either way nobody has to clean up after that.
    pub(super) fn forget(&self) -> Result<()> {
        self.rewrite(&holder())
    }

    fn rewrite(&self, text: &str) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()))
            .map_err(|error| unwritable(&self.path, &error))
    }

    /// Takes away what a killed holder left. Gives the refs that the holder was moving, and where to.
    fn begin(&self, repo: &Repo) -> Result<Vec<(String, String)>> {
        let mut left = Vec::new();
        let mut file = &self.file;
        file.read_to_end(&mut left)
            .map_err(|error| unwritable(&self.path, &error))?;
        if left.is_empty() {
            return Ok(Vec::new());
        }
        repo.clear_unfinished_packs();
        let moves = noted(&left);
        for (name, commit) in &moves {
            clear_ref_lock(&repo.common_dir(), name, commit)?;
        }
        Ok(moves)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where that fails, the next holder looks for leftovers and finds none.
        drop(self.file.set_len(0));
    }
}

/// The refs that a holder was moving, and where to.
fn noted(text: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(name, _)| name.starts_with("refs/"))
        .map(|(name, commit)| (name.to_owned(), commit.to_owned()))
        .collect()
}

/// Tells whether the holder of the lock, alive or dead, noted that it moves a ref to a commit.
pub(super) fn notes(common_dir: &Path, name: &str, commit: &Oid) -> bool {
    let text = std::fs::read(file(common_dir)).unwrap_or_default();
    let is_it = |(noted, to): (String, String)| noted == name && to == commit.as_str();
    noted(&text).into_iter().any(is_it)
}

/// A lock file of a ref, and who left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefLock {
    pub name: String,
    pub left: Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A command of ours that was killed: the next one that takes our lock removes it.
    ByUs,
    /// A file that did not change for a while, and no git is at work here (reference git-stores 5, step 5).
    ByNobody,
    /// A git may be about to use it.
    Unknown,
}

/// Age at which a lock file counts as left behind, where no git is at work. Git holds one for milliseconds.
const ABANDONED_AFTER: Duration = Duration::from_secs(10);

/// Takes away lock files that nobody holds any more.
pub(super) fn clear_abandoned(repo: &Repo) -> Result<()> {
    let common_dir = repo.common_dir();
    for lock in ref_locks(repo) {
        if lock.left == Left::ByNobody {
            let path = ref_lock(&common_dir, &lock.name);
            std::fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
        }
    }
    Ok(())
}

/// The lock files of refs and of git's own files that stand here.
pub(super) fn ref_locks(repo: &Repo) -> Vec<RefLock> {
    let common_dir = &repo.common_dir();
    let tops = worktrees(common_dir);
    let near: Vec<&Path> = repo
        .work_dir()
        .into_iter()
        .chain([common_dir.as_path()])
        .chain(tops.iter().map(PathBuf::as_path))
        .collect();
    let notes = std::fs::read(file(common_dir)).unwrap_or_default();
    let notes = noted(&notes);
    let mut found = Vec::new();
    let mut folders = vec!["refs".to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(common_dir.join(&folder));
        for entry in entries.into_iter().flatten().flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(name);
            } else if let Some(name) = name.strip_suffix(".lock") {
                let holds = std::fs::read(entry.path()).unwrap_or_default();
                let holds = holds.trim_ascii();
                let is_ours = notes.iter().any(|(noted, commit)| {
                    noted == name && (holds.is_empty() || holds == commit.as_bytes())
                });
                let left = if is_ours {
                    Left::ByUs
                } else {
                    left(&entry.path(), &near)
                };
                found.push(RefLock {
                    name: name.to_owned(),
                    left,
                });
            }
        }
    }
    for name in files_of_git(common_dir) {
        let path = ref_lock(common_dir, &name);
        if path.is_file() {
            let left = if is_for_a_landing(&path) {
                Left::ByUs
            } else {
                left(&path, &near)
            };
            found.push(RefLock { name, left });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Owner of a lock file of which no note of ours speaks.
fn left(path: &Path, near: &[&Path]) -> Left {
    let age = std::fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok();
    let age = age.and_then(|then| then.elapsed().ok());
    if age.is_some_and(|age| age >= ABANDONED_AFTER) && !git_is_at_work(near) {
        Left::ByNobody
    } else {
        Left::Unknown
    }
}

/// Tells whether a lock has the content of a temporary file of ours beside it: the index of a landing that is at work, or
/// was killed. Whoever took that lock away would let the next commit take the landing back.
fn is_for_a_landing(lock: &Path) -> bool {
    if lock.file_name() != Some("index.lock".as_ref()) {
        return false;
    }
    let entries = lock.parent().map(std::fs::read_dir);
    let mut entries = entries.into_iter().flatten().flatten().flatten();
    entries.any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.starts_with(TEMPORARY) && !name.contains(".lock");
        let size = |path: &Path| std::fs::metadata(path).map(|meta| meta.len()).ok();
        is_ours
            && size(&entry.path()) == size(lock)
            && matches!((std::fs::read(entry.path()), std::fs::read(lock)), (Ok(a), Ok(b)) if a == b)
    })
}

/// Tops of the linked worktrees, and of the main one, where there are some: a git at work in any of them may hold a lock.
fn worktrees(common_dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(common_dir.join("worktrees"));
    let linked = entries.into_iter().flatten().flatten().filter_map(|entry| {
        let named = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
        let dot_git = entry.path().join(named.trim_end_matches(['\n', '\r']));
        dot_git.parent().map(Path::to_path_buf)
    });
    let is_within = common_dir.file_name() == Some(".git".as_ref());
    let main = common_dir.parent().filter(|_| is_within);
    linked.chain(main.map(Path::to_path_buf)).collect()
}

/// Files beside `HEAD` whose locks git makes, besides those with a name like `FETCH_HEAD`.
const OF_GIT: [&str; 6] = [
    "config",
    "config.worktree",
    "gc.pid",
    "index",
    "packed-refs",
    "shallow",
];

/// Tells whether git makes a lock for a file of this name beside `HEAD`. Other programs keep files there, too.
fn is_of_git(name: &str) -> bool {
    let is_pseudo = |c: char| c.is_ascii_uppercase() || c == '_';
    OF_GIT.contains(&name) || !name.is_empty() && name.chars().all(is_pseudo)
}

/// Names of git's own files that have locks, of all worktrees, below the common git dir: those that stand beside `HEAD`, and
/// the list of tables that keep refs. A git that we had started and that was killed with us leaves their locks.
fn files_of_git(common_dir: &Path) -> Vec<String> {
    let names = |below: &str| {
        let entries = std::fs::read_dir(common_dir.join(below));
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    let linked = names("worktrees").map(|name| format!("worktrees/{name}/"));
    let mut found = Vec::new();
    for folder in [String::new()].into_iter().chain(linked) {
        let locks = names(&folder).filter_map(|name| Some(name.strip_suffix(".lock")?.to_owned()));
        let locks = locks.filter(|name| is_of_git(name));
        let tables = TABLES.to_owned();
        found.extend(locks.chain([tables]).map(|name| format!("{folder}{name}")));
    }
    found
}

/// A kill while a ref moves can leave the ref's own lock file, which then stops everybody. It is taken
/// away only where it is certainly ours: our lock is held, its last holder died with a note that it was
/// moving this ref, and the file holds the noted commit, or nothing and stays so (git writes at once
/// what it locks for). Any other lock file belongs to another git and stays.
fn clear_ref_lock(common_dir: &Path, name: &str, commit: &str) -> Result<()> {
    let path = ref_lock(common_dir, name);
    let began = Instant::now();
    loop {
        let is_ours = match std::fs::read(&path) {
            Err(_) => return Ok(()),
            Ok(bytes) if bytes.is_empty() => began.elapsed() >= STALE_AFTER,
            Ok(bytes) if bytes.trim_ascii() == commit.as_bytes() => true,
            Ok(_) => return Ok(()),
        };
        if is_ours {
            return std::fs::remove_file(&path).map_err(|error| unwritable(&path, &error));
        }
        std::thread::sleep(pause(4));
    }
}

fn holder() -> String {
    format!("holder {} {}\n", std::process::id(), env::command())
}

/// Holder of the lock, by its own words: `git loopx run (process 4711)`.
pub(super) fn held_by(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (process, command) = text
        .lines()
        .next()?
        .strip_prefix("holder ")?
        .split_once(' ')?;
    let process: u32 = process.parse().ok()?;
    Some(format!("{command} (process {process})"))
}

/// Takes the lock. With it come the moves of refs that a killed holder may not have ended; they are noted until
/// [`Lock::forget`].
pub(super) fn acquire(repo: &Repo) -> Result<(Lock, Vec<(String, String)>)> {
    let path = file(&repo.common_dir());
    let refused = |error: std::io::Error| unwritable(&path, &error);
    if let Some(dir) = path.parent() {
        repo.make_folder(dir).map_err(refused)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(refused)?;
    repo.share(&path);
    let deadline = repo
        .config("loopx.locktimeout")
        .and_then(|seconds| seconds.parse().ok())
        .map_or(DEADLINE, Duration::from_secs);
    let started = Instant::now();
    let mut attempt = 0;
    loop {
        match file.try_lock() {
            Ok(()) => {
                let lock = Lock { file, path };
                let moves = lock.begin(repo)?;
                return Ok((lock, moves));
            }
            Err(TryLockError::WouldBlock) if started.elapsed() < deadline => {
                std::thread::sleep(pause(attempt));
                attempt += 1;
            }
            Err(TryLockError::WouldBlock) => {
                let who = held_by(&path).unwrap_or_else(|| "another git loopx".to_owned());
                return Err(Failure::new(
                    Kind::Waiting,
                    Code::LockHeld,
                    format!(
                        "{who} has held {} for more than {}s",
                        path.display(),
                        deadline.as_secs()
                    ),
                )
                .help("wait for it, or end that process; the lock goes with it"));
            }
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
    }
}

/// Time to wait before another try: growing to about 10 ms, jittered so that waiters spread.
pub(super) fn pause(attempt: u32) -> Duration {
    let ceiling = 500_u64 << attempt.min(4);
    let jitter = u64::from(std::process::id())
        .wrapping_mul(2_654_435_761)
        .wrapping_add(u64::from(attempt) * 7_919)
        % ceiling;
    Duration::from_micros(ceiling + jitter)
}
