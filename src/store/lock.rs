//! One writer at a time, in all worktrees of a repository: an advisory lock that the system takes back
//! when its holder dies. It is courtesy, not safety: compare-and-swap is what protects the branch.

use super::LOCK_DEADLINE;
use crate::core::failure::{Failure, Kind, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// Held until dropped.
#[derive(Debug)]
#[must_use]
pub struct Lock {
    _file: File,
}

pub(super) fn acquire(common_dir: &Path) -> Result<Lock> {
    let dir = common_dir.join("loopx");
    let path = dir.join("lock");
    let unwritable = |error: std::io::Error| {
        Failure::internal(
            "repository_unwritable",
            format!("{}: {error}", path.display()),
        )
    };
    std::fs::create_dir_all(&dir).map_err(unwritable)?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(unwritable)?;
    let started = Instant::now();
    let mut attempt = 0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
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
