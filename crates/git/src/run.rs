//! Starts programs: git itself, and the hooks and commands that people own. An argument vector, a
//! folder, bytes for stdin, output captured or passed through; never a shell, so nothing is
//! interpolated.
//!
//! A hook's environment names the repository, the index and the objects of the commit in progress.
//! A child that looks at another repository must not inherit that: [`Run::scrubbed`].

use super::descent;
use loopx_base::failure::{Code, Failure, Result};
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// git's repository-local variables: what `git rev-parse --local-env-vars` lists, and what a push
/// in quarantine adds.
pub const LOCAL_ENV: [&str; 19] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REF_PARANOIA",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Count of the acts of this process that may have changed git's configuration: children that it started, and files of
/// settings that it wrote.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Value of the count: settings that were read at the same value are as they were.
pub(super) fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Counts an act that may have changed git's configuration.
pub(super) fn may_have_changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Source of a child's stdin.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Input {
    Null,
    Inherited,
    Bytes(Vec<u8>),
}

/// A program that is about to be started.
#[derive(Clone, Debug)]
#[must_use = "nothing starts before `capture` or `stream`"]
pub struct Run {
    program: OsString,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    scrub: bool,
    input: Input,
}

impl Run {
    /// The git program of PATH with these arguments.
    pub fn git<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::program("git").args(args)
    }

    /// Any program; a name without a slash is looked up in PATH.
    pub fn program(program: impl AsRef<OsStr>) -> Self {
        Run {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            scrub: false,
            input: Input::Null,
        }
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds an option and the path that it takes.
    pub fn arg_path(self, option: &str, path: &Path) -> Self {
        self.args([OsStr::new(option), path.as_os_str()])
    }

    /// Runs in this folder instead of the current one.
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.cwd = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets a variable, also one that [`Run::scrubbed`] takes away.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Takes git's repository-local variables out of the child's environment.
    pub fn scrubbed(mut self) -> Self {
        self.scrub = true;
        self
    }

    /// Gives the child these bytes as its stdin. Without it stdin is empty.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Lets the child read our own stdin.
    pub fn inherit_stdin(mut self) -> Self {
        self.input = Input::Inherited;
        self
    }

    /// Runs to the end and keeps stdout and stderr.
    pub fn capture(self) -> Result<Captured> {
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| self.not_started(&error))?;
        let input = self.input_bytes();
        // The writer has its own thread: a child that answers while it reads must not wait for us.
        let output = feed(child, input, hear).map_err(|error| self.not_started(&error))?;
        Ok(Captured {
            name: self.name(),
            ended: Ended::from(output.status),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }

    /// Runs at most this long and keeps stdout and stderr; `None` when the time was up, and the child was
    /// ended. What it says on stderr goes to `live` too, as it comes.
    pub fn capture_within(
        self,
        limit: Option<Duration>,
        live: &mut (dyn Write + Send),
    ) -> Result<Option<Captured>> {
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.not_started(&error))?;
        let deadline = limit.map(|limit| Instant::now() + limit);
        let (said, hear) = mpsc::channel();
        // Read beside us and never waited for: a grandchild may hold the pipes longer than git lives.
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        for (at, stream) in streams.into_iter().enumerate() {
            let (Some(mut stream), said) = (stream, said.clone()) else {
                continue;
            };
            std::thread::spawn(move || {
                let mut buffer = [0; 8192];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    if said.send((at, buffer[..n].to_vec())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(said);
        let mut kept = [Vec::new(), Vec::new()];
        let mut ended: Option<(ExitStatus, Instant)> = None;
        let status = loop {
            match hear.recv_timeout(Duration::from_millis(50)) {
                Ok((at, bytes)) => {
                    if at == 1 {
                        drop(live.write_all(&bytes).and_then(|()| live.flush()));
                    }
                    kept[at].extend(bytes);
                }
                // Both pipes are closed: all is heard.
                Err(mpsc::RecvTimeoutError::Disconnected) => match &ended {
                    Some((status, _)) => break *status,
                    None => std::thread::sleep(Duration::from_millis(1)),
                },
                // What it said last may still be on its way, or a grandchild keeps the pipes for long.
                Err(mpsc::RecvTimeoutError::Timeout) => match &ended {
                    Some((status, at)) if at.elapsed() > GRACE => break *status,
                    _ => {}
                },
            }
            if ended.is_none() {
                let status = child.try_wait().map_err(|error| self.not_started(&error))?;
                ended = status.map(|status| (status, Instant::now()));
            }
            if ended.is_none() && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let below = descent::below(&child);
                end(&mut child);
                below.end();
                return Ok(None);
            }
        };
        let [stdout, stderr] = kept;
        Ok(Some(Captured {
            name: self.name(),
            ended: Ended::from(status),
            stdout,
            stderr,
        }))
    }

    /// Runs to the end with our own stdout and stderr.
    pub fn stream(self) -> Result<Ended> {
        let started = self.command().spawn();
        let child = match started {
            // A script without `#!`: git hands such a hook to sh (run-command.c), and so do we.
            Err(error) if error.raw_os_error() == Some(ENOEXEC) => {
                let mut through_sh = self.clone();
                through_sh.args.insert(0, through_sh.program);
                through_sh.program = "sh".into();
                through_sh.command().spawn()
            }
            other => other,
        }
        .map_err(|error| self.not_started(&error))?;
        let input = self.input_bytes();
        feed(child, input, |mut child| child.wait())
            .map(Ended::from)
            .map_err(|error| self.not_started(&error))
    }

    /// Replaces this process by the program, which reads `stdin`. Comes back where the program cannot be started.
    pub fn replace(self, stdin: std::fs::File) -> Failure {
        let error = self.command().stdin(stdin).exec();
        self.not_started(&error)
    }

    fn command(&self) -> Command {
        may_have_changed();
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        if self.scrub {
            for name in LOCAL_ENV {
                command.env_remove(name);
            }
        }
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command.stdin(match &self.input {
            Input::Null => Stdio::null(),
            Input::Inherited => Stdio::inherit(),
            Input::Bytes(_) => Stdio::piped(),
        });
        command
    }

    fn input_bytes(&self) -> &[u8] {
        match &self.input {
            Input::Bytes(bytes) => bytes,
            Input::Null | Input::Inherited => &[],
        }
    }

    fn name(&self) -> String {
        let mut name = self.program.to_string_lossy().into_owned();
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            // A setting for one run of git says nothing of what was run.
            if arg == "-c" {
                args.next();
                continue;
            }
            name.push(' ');
            name.push_str(&arg.to_string_lossy());
            break;
        }
        name
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        if let Some(failure) = super::no_more_files(&error.to_string()) {
            return failure.context(format!("run `{}`", self.name()));
        }
        let code = if error.kind() == ErrorKind::NotFound {
            Code::ProgramNotFound
        } else {
            Code::ProgramNotStarted
        };
        Failure::internal(code, format!("run `{}`: {error}", self.name()))
    }
}

/// Time for which a child that has ended is still listened to.
const GRACE: Duration = Duration::from_secs(2);

/// Ends a child of ours: first so that git can take its lock files away, then for good.
fn end(child: &mut Child) {
    descent::ask(child, signal_hook::consts::SIGTERM);
    for _ in 0..50 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(child.kill());
    drop(child.wait());
}

/// `execve` on a file that has neither a known format nor `#!`.
const ENOEXEC: i32 = 8;

/// Writes `input` beside `wait`. A child that stops reading is no failure: many hooks read nothing.
fn feed<T>(
    mut child: Child,
    input: &[u8],
    wait: impl FnOnce(Child) -> std::io::Result<T>,
) -> std::io::Result<T> {
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        if let Some(mut stdin) = stdin {
            let write = move || drop(stdin.write_all(input));
            std::thread::Builder::new().spawn_scoped(scope, write)?;
        }
        wait(child)
    })
}

/// Reads the output of a child until the child ends. `Child::wait_with_output` panics where a pipe cannot be read.
fn hear(mut child: Child) -> std::io::Result<std::process::Output> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let said = child.stdout.take();
    let complained = child.stderr.take();
    let read = std::thread::scope(|scope| {
        let complaints = || complained.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stderr));
        let beside = std::thread::Builder::new().spawn_scoped(scope, complaints)?;
        let read = said.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout));
        let heard = beside.join();
        read.and(heard.unwrap_or_else(|_| Err(ErrorKind::Other.into())))
    });
    // A child that nobody hears any more ends by itself, and is waited for: git would leave its locks otherwise.
    let status = child.wait()?;
    read?;
    Ok(std::process::Output {
        status,
        stdout,
        stderr,
    })
}

/// End of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Ended {
    /// Exit code of the child, or 128 and the signal that killed it, as a shell says it.
    pub code: u8,
}

impl Ended {
    pub fn success(self) -> bool {
        self.code == 0
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        let code = status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(u8::MAX);
        Ended { code }
    }
}

/// Output of a child, and how the child ended.
#[derive(Clone, Debug)]
#[must_use]
pub struct Captured {
    name: String,
    pub ended: Ended,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Captured {
    /// Output of a child that exited 0; else its words on stderr, as a failure.
    pub fn ok(self) -> Result<Vec<u8>> {
        if self.ended.success() {
            return Ok(self.stdout);
        }
        let said = String::from_utf8_lossy(&self.stderr).trim().to_owned();
        if let Some(failure) = super::not_written(&said) {
            return Err(failure.context(format!("`{}`", self.name)));
        }
        if let Some(failure) = super::locked(&said) {
            return Err(failure.context(format!("`{}`", self.name)));
        }
        Err(Failure::internal(
            Code::ProgramFailed,
            format!("`{}` exited with {}: {said}", self.name, self.ended.code),
        ))
    }

    /// Fails where git met a full disk or a file that may not be touched, whatever it was doing.
    pub fn refused_by_the_system(&self) -> Result<()> {
        let said = String::from_utf8_lossy(&self.stderr);
        match super::not_written(&said) {
            Some(failure) => Err(failure.context(format!("`{}`", self.name))),
            None => Ok(()),
        }
    }

    /// Complaint of git: the first line, and where that line announces more, the next one too.
    pub fn complaint(&self) -> String {
        let said = String::from_utf8_lossy(&self.stderr);
        let mut lines = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"));
        let Some(first) = lines.next() else {
            return match self.ended.code {
                code @ 129..=192 => format!("signal {} ended it", code - 128),
                code => format!("it ended with exit code {code} and said nothing, as a hook may"),
            };
        };
        let first = first.split_once("fatal: ").map_or(first, |(_, rest)| rest);
        match lines.next() {
            Some(next) if first.ends_with(':') => format!("{first} {next}"),
            _ => first.to_owned(),
        }
    }

    /// stdout without the newline at its end, for answers of one line. A path may hold any byte
    /// but NUL, so nothing else is trimmed.
    pub fn line(self) -> Result<Vec<u8>> {
        let mut bytes = self.ok()?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{LOCAL_ENV, Run};

    #[test]
    fn every_variable_that_git_calls_local_is_scrubbed() {
        let listed = Run::git(["rev-parse", "--local-env-vars"])
            .capture()
            .expect("git runs")
            .ok()
            .expect("git answers");
        for name in String::from_utf8(listed).expect("ASCII").lines() {
            assert!(LOCAL_ENV.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_scrubbed_child_does_not_see_the_repository_it_was_started_for() {
        let command = Run::git(["status"]).scrubbed().command();
        for name in LOCAL_ENV {
            assert!(
                command
                    .get_envs()
                    .any(|(n, value)| n == name && value.is_none()),
                "{name}"
            );
        }
    }

    #[test]
    fn a_child_that_reads_nothing_does_not_hang_its_parent() {
        let ended = Run::program("true").stdin(vec![b'x'; 5_000_000]).stream();
        assert!(ended.expect("true runs").success());
    }

    #[test]
    fn bytes_go_in_and_come_out_unchanged() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let out = Run::program("cat").stdin(bytes.clone()).capture();
        assert_eq!(out.expect("cat runs").stdout, bytes);
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended_and_one_that_does_not_is_heard() {
        let limit = Some(std::time::Duration::from_millis(300));
        let mut live = Vec::new();
        let slow = Run::program("sh").args(["-c", "echo begun >&2; exec sleep 600"]);
        assert!(
            slow.capture_within(limit, &mut live)
                .expect("sh runs")
                .is_none()
        );
        assert_eq!(live, b"begun\n");
        for limit in [None, Some(std::time::Duration::from_secs(600))] {
            let quick = Run::program("sh").args(["-c", "echo out; echo err >&2; exit 3"]);
            let said = quick.capture_within(limit, &mut live).expect("sh runs");
            let said = said.expect("in time");
            assert_eq!(
                (said.stdout, said.stderr),
                (b"out\n".to_vec(), b"err\n".to_vec())
            );
            assert_eq!(said.ended.code, 3);
        }
    }

    /// Processes of a child that took too long, as git leaves its ssh behind.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_child_that_took_too_long_had_started_is_ended_too() {
        let limit = Some(std::time::Duration::from_millis(500));
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("pid");
        let script = "sh -c 'trap \"\" TERM HUP; echo $$ > \"$1\"; exec sleep 600' x \"$1\" & wait";
        let slow = Run::program("sh").args(["-c", script, "x", file.to_str().expect("UTF-8")]);
        let said = slow.capture_within(limit, &mut std::io::sink());
        assert!(said.expect("sh runs").is_none());
        let pid = std::fs::read_to_string(&file).expect("a number");
        let stat = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        let works = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..100 {
            if !works() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{pid} still works");
    }

    #[test]
    fn d02_a_setting_is_no_name_of_what_was_run() {
        assert_eq!(Run::git(["-c", "a.b=c", "fetch", "x"]).name(), "git fetch");
        assert_eq!(Run::git(["fetch"]).name(), "git fetch");
    }

    #[test]
    fn a_signal_is_a_code_above_128() {
        let ended = Run::program("sh").args(["-c", "kill -9 $$"]).stream();
        assert_eq!(ended.expect("sh runs").code, 137);
    }
}
