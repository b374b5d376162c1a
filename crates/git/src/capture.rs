//! Runs a command that a person named, streams what it prints, and keeps it: the ground of evidence.

use super::run::LOCAL_ENV;
use super::{descent, signals};
use loopx_base::failure::{Code, Failure, Result};
use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Recording of a command: its end and its output.
#[derive(Debug)]
pub struct Recording {
    /// `None` when a signal ended it, or it could not be started.
    pub exit: Option<i32>,
    /// Reason for which the command could not be started.
    pub not_started: Option<String>,
    /// Set when the command was ended because its time was over.
    pub is_over: bool,
    pub millis: u64,
    /// stdout and stderr, in the order in which they came, up to [`MOST`].
    pub output: tempfile::NamedTempFile,
    /// Bytes of the whole output.
    pub bytes: u64,
    /// End of the output, at most [`TAIL`].
    pub tail: Vec<u8>,
}

/// Bytes of an output that are written down while it comes: an output that never ends must not fill the disk.
pub const MOST: u64 = 16 * 1024 * 1024;

/// Bytes of the end of an output that are kept, however long the output is.
pub const TAIL: usize = 32 * 1024;

/// Time that a command has for its end after it was asked to end.
const GRACE: Duration = Duration::from_secs(2);

/// Time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// Work to do while a command runs.
pub struct Watch<'w> {
    /// Time after which the command is ended, with everything that it started.
    pub limit: Option<Duration>,
    /// Time between two calls of `tick`, which asks the caller whether there is something to do.
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
    let (mut command, reader) = piped(program, args, cwd).map_err(doing)?;
    let others = descent::prepare(&mut command, watch.limit.is_some());
    let listening = signals::listen();
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
                tail: Vec::new(),
            });
        }
    };
    let attended = attend(
        (&child, &others),
        reader,
        (output.as_file(), live),
        watch,
        &listening,
    );
    let Attended {
        printed,
        is_over,
        signal,
    } = attended.map_err(doing)?;
    if let Some(signal) = signal {
        // Ended with everything that it started, and nothing of it is kept; then we end as it was asked.
        descent::end(&child, &others);
        drop((child.wait(), output));
        drop(listening);
        return Err(Failure::internal(
            Code::RunFailed,
            format!("signal {signal} ended the command, and did not end this program"),
        ));
    }
    let status = child.wait().map_err(doing)?;
    drop(listening);
    Ok(Recording {
        exit: status.code().filter(|_| !is_over),
        not_started: None,
        is_over,
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        output,
        bytes: printed.bytes,
        tail: printed.tail,
    })
}

/// A command in a folder, without git's repository-local variables, and the pipe into which it prints.
fn piped(program: &str, args: &[String], cwd: &Path) -> std::io::Result<(Command, PipeReader)> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::inherit())
        .stdout(Stdio::from(writer.try_clone()?))
        .stderr(Stdio::from(writer));
    for name in LOCAL_ENV {
        command.env_remove(name);
    }
    Ok((command, reader))
}

/// Longest time before the first call of `tick`: a command that ends sooner asks nobody for anything.
const FIRST: Duration = Duration::from_secs(1);

/// Result of a command that was attended to.
struct Attended {
    printed: Printed,
    /// Set when the time of the command was over.
    is_over: bool,
    /// The signal that asked us to end.
    signal: Option<i32>,
}

/// Takes the output of a child, and of all who could print for it, until the child has ended; once its time is over,
/// nothing more.
fn attend(
    (child, others): (&Child, &descent::Others),
    mut reader: impl Read + Send,
    (file, live): (&File, impl Write + Send),
    watch: Watch<'_>,
    listening: &signals::Listening,
) -> std::io::Result<Attended> {
    let is_enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (ended, end) = std::sync::mpsc::channel();
        let is_enough = &is_enough;
        let taking = scope.spawn(move || {
            let taken = tee(&mut reader, file, live, is_enough);
            // What still prints is told that nobody reads.
            drop(reader);
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
        let mut signal = None;
        // When a command that was asked to end is ended.
        let mut grace: Option<Instant> = None;
        loop {
            let until = [deadline.filter(|_| !is_over), next, grace];
            let until = until.into_iter().flatten().min();
            let wait = until.map_or(LOOK, |until| {
                until.saturating_duration_since(Instant::now()).min(LOOK)
            });
            match end.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = Instant::now();
            if signal.is_none()
                && let Some(came) = listening.heard()
            {
                signal = Some(came);
                grace = Some(now + GRACE);
                // At a terminal the command heard it too.
                if came != signal_hook::consts::SIGINT || !loopx_base::env::has_terminal() {
                    descent::ask(child, came);
                }
            }
            if grace.is_some_and(|grace| grace <= now) {
                grace = None;
                is_enough.store(true, Ordering::Relaxed);
                descent::end(child, others);
            } else if !is_over && deadline.is_some_and(|deadline| deadline <= now) {
                is_over = true;
                is_enough.store(true, Ordering::Relaxed);
                descent::end(child, others);
            } else if signal.is_none() && next.is_some_and(|next| next <= now) {
                (watch.tick)();
                next = watch.every.map(|every| Instant::now() + every);
            }
        }
        let printed = match taking.join() {
            Ok(taken) => taken?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(Attended {
            printed,
            is_over,
            signal: signal.or_else(|| listening.heard()),
        })
    })
}

/// Output of a command, as it was read.
#[derive(Default)]
struct Printed {
    bytes: u64,
    tail: Vec<u8>,
}

impl Printed {
    fn take(&mut self, part: &[u8]) {
        self.bytes += part.len() as u64;
        let part = &part[part.len().saturating_sub(TAIL)..];
        let too_many = (self.tail.len() + part.len()).saturating_sub(TAIL);
        self.tail.drain(..too_many);
        self.tail.extend_from_slice(part);
    }
}

fn tee(
    from: &mut impl Read,
    mut file: &File,
    mut live: impl Write,
    is_enough: &AtomicBool,
) -> std::io::Result<Printed> {
    let mut buffer = vec![0; 64 * 1024];
    let mut printed = Printed::default();
    while !is_enough.load(Ordering::Relaxed) {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let room = usize::try_from(MOST.saturating_sub(printed.bytes)).unwrap_or(usize::MAX);
        file.write_all(&buffer[..n.min(room)])?;
        printed.take(&buffer[..n]);
        // A reader of ours that went away does not end the command.
        drop(live.write_all(&buffer[..n]));
        drop(live.flush());
    }
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use super::{Printed, TAIL, Watch, record};
    use std::time::{Duration, Instant};

    #[test]
    fn the_end_of_an_output_is_kept_however_it_comes() {
        let all: Vec<u8> = (0..=u8::MAX).cycle().take(3 * TAIL + 7).collect();
        for size in [1, 1000, TAIL - 1, TAIL, 2 * TAIL, 4 * TAIL] {
            let mut printed = Printed::default();
            all.chunks(size).for_each(|part| printed.take(part));
            assert_eq!(printed.bytes, all.len() as u64);
            assert_eq!(printed.tail, all[all.len() - TAIL..], "{size}");
        }
    }

    #[test]
    fn a_command_that_prints_without_end_is_ended_in_time_and_fills_no_disk() {
        let argv = ["yes".to_owned()];
        let watch = Watch {
            limit: Some(Duration::from_secs(1)),
            every: None,
            tick: &mut || {},
        };
        let began = Instant::now();
        let said = record(&argv, std::path::Path::new("/"), std::io::sink(), watch);
        let said = said.expect("it runs");
        assert!(said.is_over && said.exit.is_none());
        assert!(began.elapsed() < Duration::from_secs(20));
        let size = said.output.as_file().metadata().expect("a file").len();
        assert!(size <= super::MOST, "{size}");
        assert!(said.bytes >= size);
    }
}
