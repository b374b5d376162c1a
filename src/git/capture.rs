//! Runs a command that a person named, streams what it prints, and keeps it: the ground of evidence.

use super::descent;
use super::run::LOCAL_ENV;
use crate::core::failure::{Code, Failure, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// How a recorded command ended.
#[derive(Debug)]
pub struct Recording {
    /// `None` when a signal ended it, or it could not be started.
    pub exit: Option<i32>,
    /// Why it could not be started.
    pub not_started: Option<String>,
    /// Its time was over, and it was ended.
    pub is_over: bool,
    pub millis: u64,
    /// stdout and stderr, in the order in which they came.
    pub output: tempfile::NamedTempFile,
    pub bytes: u64,
}

/// What is done while a command runs.
pub struct Watch<'w> {
    /// When it is ended, with everything that it started.
    pub limit: Option<Duration>,
    /// How often the caller is asked whether there is something to do.
    pub every: Option<Duration>,
    pub tick: &'w mut dyn FnMut(),
}

/// Runs `argv` in `cwd` with our stdin. Its output goes to `live` too, as it comes. git's
/// repository-local variables are taken from its environment, so that a test suite which runs git in
/// repositories of its own cannot touch this one.
pub fn record(
    argv: &[String],
    cwd: &Path,
    live: impl Write + Send,
    watch: Watch<'_>,
) -> Result<Recording> {
    let doing = |error: std::io::Error| {
        let said = error.to_string();
        super::not_written(&said)
            .unwrap_or_else(|| Failure::internal(Code::RunFailed, said))
            .context("record a command")
    };
    let output = tempfile::NamedTempFile::new()
        .map_err(|error| super::no_temporary_folder("keep what the command prints", &error))?;
    let (program, args) = argv
        .split_first()
        .ok_or_else(|| Failure::usage(Code::CommandMissing, "expected a command after `--`"))?;
    let (reader, writer) = std::io::pipe().map_err(doing)?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::inherit())
        .stdout(Stdio::from(writer.try_clone().map_err(doing)?))
        .stderr(Stdio::from(writer));
    for name in LOCAL_ENV {
        command.env_remove(name);
    }
    let others = match watch.limit {
        Some(_) => descent::prepare(&mut command),
        None => descent::Others::default(),
    };
    let started = Instant::now();
    let child = command.spawn();
    // Our ends of the pipe must close, or the reader never sees the end.
    drop(command);
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            return Ok(Recording {
                exit: None,
                not_started: Some(format!("`{program}`: {error}")),
                is_over: false,
                millis: 0,
                output,
                bytes: 0,
            });
        }
    };
    let (bytes, is_over) =
        attend((&child, &others), reader, (output.as_file(), live), watch).map_err(doing)?;
    let status = child.wait().map_err(doing)?;
    Ok(Recording {
        exit: status.code().filter(|_| !is_over),
        not_started: None,
        is_over,
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        output,
        bytes,
    })
}

/// A command that ends sooner asks nobody for anything.
const FIRST: Duration = Duration::from_secs(1);

/// Takes in what a child prints until it has ended, and all who could print for it. Gives the bytes, and whether its
/// time was over.
fn attend(
    (child, others): (&Child, &descent::Others),
    mut reader: impl Read + Send,
    (file, live): (&File, impl Write + Send),
    watch: Watch<'_>,
) -> std::io::Result<(u64, bool)> {
    std::thread::scope(|scope| {
        let (ended, end) = std::sync::mpsc::channel();
        let taking = scope.spawn(move || {
            let taken = tee(&mut reader, file, live);
            let waited = descent::wait(child);
            // Nobody waits any more only where we are done for.
            let _ = ended.send(());
            waited.and(taken)
        });
        let deadline = watch
            .limit
            .and_then(|limit| Instant::now().checked_add(limit));
        let mut next = watch.every.map(|every| Instant::now() + every.min(FIRST));
        let mut is_over = false;
        loop {
            let until = [deadline.filter(|_| !is_over), next];
            let Some(until) = until.into_iter().flatten().min() else {
                let _ = end.recv();
                break;
            };
            let wait = until.saturating_duration_since(Instant::now());
            match end.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = Instant::now();
            if !is_over && deadline.is_some_and(|deadline| deadline <= now) {
                is_over = true;
                descent::end(child, others);
            } else if next.is_some_and(|next| next <= now) {
                (watch.tick)();
                next = watch.every.map(|every| Instant::now() + every);
            }
        }
        let bytes = match taking.join() {
            Ok(taken) => taken?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((bytes, is_over))
    })
}

fn tee(from: &mut impl Read, mut file: &File, mut live: impl Write) -> std::io::Result<u64> {
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(total);
        }
        file.write_all(&buffer[..n])?;
        total += n as u64;
        // A reader of ours that went away does not end the command.
        drop(live.write_all(&buffer[..n]));
        drop(live.flush());
    }
}
