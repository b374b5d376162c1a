//! The stop gate's memory: one small file in the worktree's own git dir, read and written under its lock.
//! A file that cannot be read counts as empty; one that cannot be written holds nobody.

use super::super::lease;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_git::Repo;
use loopx_rules::stop::Ledger;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The longest wait for another hook of this worktree.
const DEADLINE: Duration = Duration::from_secs(3);

fn path(repo: &Repo) -> PathBuf {
    // No session's file: those end in `.json`.
    lease::folder(repo).join("stop-gate")
}

fn failed(repo: &Repo, error: &std::io::Error) -> Failure {
    loopx_git::unwritable(&path(repo), error)
}

/// Reads the ledger without waiting for anybody.
pub(crate) fn peek(repo: &Repo) -> Ledger {
    std::fs::read(path(repo)).map_or_else(|_| Ledger::default(), |bytes| parse(&bytes))
}

/// The first document of the file: a kill while it was written leaves an older end behind it.
fn parse(bytes: &[u8]) -> Ledger {
    serde_json::Deserializer::from_slice(bytes)
        .into_iter::<Ledger>()
        .next()
        .and_then(Result::ok)
        .unwrap_or_default()
}

/// Changes what is remembered; nobody else of this worktree reads or writes it meanwhile.
pub(crate) fn update<T>(repo: &Repo, change: impl FnOnce(&mut Ledger) -> T) -> Result<T> {
    let failed = |error: std::io::Error| failed(repo, &error);
    repo.make_folder(&lease::folder(repo)).map_err(failed)?;
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path(repo))
        .map_err(failed)?;
    repo.share(&path(repo));
    lock(repo, &file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    let before = parse(&bytes);
    let mut ledger = before.clone();
    let value = change(&mut ledger);
    if ledger != before {
        let mut text = serde_json::to_vec(&ledger)
            .map_err(|error| Failure::internal(Code::StopGateUnwritable, error.to_string()))?;
        text.push(b'\n');
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(&text))
            .map_err(failed)?;
        // An older end behind the text is not read.
        drop(file.set_len(text.len() as u64));
    }
    Ok(value)
}

fn lock(repo: &Repo, file: &File) -> Result<()> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if began.elapsed() < DEADLINE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::Error(error)) => return Err(failed(repo, &error)),
            Err(error) => {
                return Err(Failure::new(
                    Kind::Waiting,
                    Code::StopGateHeld,
                    format!("the stop gate's memory is held by another process: {error}"),
                ));
            }
        }
    }
}
