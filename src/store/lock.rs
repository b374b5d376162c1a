//! One writer at a time, in all worktrees of a repository: an advisory lock that the system takes back
//! when its holder dies. It is courtesy, not safety: compare-and-swap is what protects the branch.

use super::LOCK_DEADLINE;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::Oid;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Held until dropped.
#[derive(Debug)]
#[must_use]
pub struct Lock {
    /// Empty, or what its holder was about to do to a ref when it was killed: `<ref> <commit>`.
    file: File,
    path: PathBuf,
}

/// How long an empty lock file of a ref is watched before it counts as left behind. Only asked where
/// a holder of our own lock is known to have died while it moved that very ref.
const STALE_AFTER: Duration = Duration::from_millis(250);

/// Where git keeps the lock of a ref.
pub(super) fn ref_lock(common_dir: &Path, name: &str) -> PathBuf {
    common_dir.join(format!("{name}.lock"))
}

impl Lock {
    /// Notes that a ref is about to be moved to a commit.
    pub(super) fn note(&self, name: &str, commit: &Oid) -> Result<()> {
        self.rewrite(&format!("{name} {commit}\n"))
    }

    /// The ref was moved, or not: either way nobody has to clean up.
    pub(super) fn forget(&self) -> Result<()> {
        self.rewrite("")
    }

    fn rewrite(&self, text: &str) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()))
            .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        unwritable(&self.path, error)
    }

    /// A kill while a ref moves can leave the ref's own lock file, which then stops everybody. It is
    /// taken away only where it is certainly ours: our lock is held, its last holder died with a note
    /// that it was moving this ref, and the file holds the noted commit, or nothing and stays so
    /// (git writes at once what it locks for). Any other lock file belongs to another git and stays.
    pub(super) fn clear_what_a_kill_left(&self, common_dir: &Path, name: &str) -> Result<()> {
        let mut noted = String::new();
        let mut file = &self.file;
        file.read_to_string(&mut noted)
            .map_err(|error| self.failed(&error))?;
        if noted.is_empty() {
            return Ok(());
        }
        if let Some((noted_name, commit)) = noted.trim_end().split_once(' ')
            && noted_name == name
        {
            let path = ref_lock(common_dir, name);
            let began = Instant::now();
            loop {
                let is_ours = match std::fs::read(&path) {
                    Err(_) => break,
                    Ok(bytes) if bytes.is_empty() => began.elapsed() >= STALE_AFTER,
                    Ok(bytes) if bytes.trim_ascii() == commit.as_bytes() => true,
                    Ok(_) => break,
                };
                if is_ours {
                    std::fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
                    break;
                }
                std::thread::sleep(pause(4));
            }
        }
        self.forget()
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    crate::git::unwritable(path, error)
}

pub(super) fn acquire(common_dir: &Path) -> Result<Lock> {
    let dir = common_dir.join("loopx");
    let path = dir.join("lock");
    let unwritable = |error: std::io::Error| unwritable(&path, &error);
    std::fs::create_dir_all(&dir).map_err(unwritable)?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(unwritable)?;
    let started = Instant::now();
    let mut attempt = 0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { file, path }),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_DEADLINE => {
                std::thread::sleep(pause(attempt));
                attempt += 1;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(
                    Kind::Waiting,
                    "lock_held",
                    format!(
                        "another git loopx has held {} for {}s",
                        path.display(),
                        LOCK_DEADLINE.as_secs()
                    ),
                )
                .help("wait for it, or end that process; the lock goes with it"));
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(error)),
        }
    }
}

/// How long to wait before another try: growing to about 10 ms, jittered so that waiters spread.
pub(super) fn pause(attempt: u32) -> Duration {
    let ceiling = 500_u64 << attempt.min(4);
    let jitter = u64::from(std::process::id())
        .wrapping_mul(2_654_435_761)
        .wrapping_add(u64::from(attempt) * 7_919)
        % ceiling;
    Duration::from_micros(ceiling + jitter)
}
