//! Runs a command that a person named, streams what it prints, and keeps it: the ground of evidence.

use super::run::LOCAL_ENV;
use crate::core::failure::{Code, Failure, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How a recorded command ended.
#[derive(Debug)]
pub struct Recording {
    /// `None` when a signal ended it, or it could not be started.
    pub exit: Option<i32>,
    /// Why it could not be started.
    pub not_started: Option<String>,
    pub millis: u64,
    /// stdout and stderr, in the order in which they came.
    pub output: tempfile::NamedTempFile,
    pub bytes: u64,
}

/// Runs `argv` in `cwd` with our stdin. Its output goes to `live` too, as it comes. git's
/// repository-local variables are taken from its environment, so that a test suite which runs git in
/// repositories of its own cannot touch this one.
pub fn record(argv: &[String], cwd: &Path, live: impl Write + Send) -> Result<Recording> {
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
    let (mut reader, writer) = std::io::pipe().map_err(doing)?;
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
                millis: 0,
                output,
                bytes: 0,
            });
        }
    };
    let bytes = tee(&mut reader, output.as_file(), live).map_err(doing)?;
    let status = child.wait().map_err(doing)?;
    Ok(Recording {
        exit: status.code(),
        not_started: None,
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        output,
        bytes,
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
