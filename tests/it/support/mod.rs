//! The sandbox of every test: a temporary folder with a repository in it, the real git, the real
//! binary, and an environment made from nothing, so that no test sees or touches this machine's.
//!
//! A clock of its own advances one second per command: commits are dated, and the same each time.
// Each test file uses a part of it.
#![allow(dead_code)]

pub(crate) mod agent;
pub(crate) mod archive;
pub(crate) mod changes;
pub(crate) mod clones;
pub(crate) mod drive;
pub(crate) mod forge;
pub(crate) mod hooks;
pub(crate) mod issues;
pub(crate) mod kept;
pub(crate) mod keys;
pub(crate) mod landing;
pub(crate) mod model;
pub(crate) mod place;
pub(crate) mod scale;
pub(crate) mod screens;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod sources;
pub(crate) mod steady;
pub(crate) mod store;
pub(crate) mod tasks;
pub(crate) mod zoo;

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};

/// The binary under test.
pub(crate) const LOOPX: &str = env!("CARGO_BIN_EXE_git-loopx");

/// 2026-01-01T00:00:00Z, the first second of every sandbox's clock.
const START: i64 = 1_767_225_600;

/// Settings that would otherwise come from the machine or surprise in the middle of a test.
const CONFIG: [(&str, &str); 7] = [
    ("init.defaultBranch", "main"),
    ("commit.gpgSign", "false"),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // What a power cut leaves is tested on its own; everything else need not wait for the disk.
    ("loopx.fsync", "false"),
    // The rules of the whole path; tests of lighter ones say so.
    ("loopx.profile", "standard"),
];

/// A temporary folder: `repo/` in it is the repository, `home/` the home, `bin/` in front of PATH.
#[derive(Debug)]
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
    repo: PathBuf,
    path: OsString,
    clock: AtomicI64,
}

impl Sandbox {
    /// A new repository on the branch `main`, without a commit.
    pub(crate) fn new() -> Self {
        Self::named("repo")
    }

    /// A new repository on the branch `main`, without a commit, in a folder of this name.
    pub(crate) fn named(name: &str) -> Self {
        let s = Self::empty(name);
        s.git(&["init", "--quiet"]).ok();
        s
    }

    /// The folder alone, without a repository in it.
    pub(crate) fn empty(name: &str) -> Self {
        let dir = place::folder();
        // Links followed: git prints real paths, and a temporary folder may be behind a link.
        let root = dir.path().canonicalize().expect("a real path");
        for sub in ["home", "tmp", "bin", name] {
            fs::create_dir_all(root.join(sub)).expect("a folder");
        }
        Self::of(dir, root.join(name), START)
    }

    /// The sandbox in a folder that has everything in it.
    fn of(dir: tempfile::TempDir, repo: PathBuf, clock: i64) -> Self {
        let root = dir.path().canonicalize().expect("a real path");
        let mut path = OsString::from(root.join("bin"));
        let binary = Path::new(LOOPX).parent().expect("a folder");
        path.push(":");
        path.push(binary);
        path.push(":");
        path.push(machine_path());
        Sandbox {
            repo,
            dir,
            path,
            clock: AtomicI64::new(clock),
        }
    }

    /// A sandbox whose git is the one that LOOPX_TEST_GIT names. Without that it says so, and the
    /// test has nothing to do.
    #[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
    pub(crate) fn with_test_git() -> Option<Self> {
        let Some(git) = std::env::var_os("LOOPX_TEST_GIT").filter(|git| !git.is_empty()) else {
            eprintln!("skipped: LOOPX_TEST_GIT names no second git");
            return None;
        };
        let s = Self::empty("repo");
        s.program(
            "git",
            &format!("#!/bin/sh\nexec '{}' \"$@\"\n", Path::new(&git).display()),
        );
        s.git(&["init", "--quiet"]).ok();
        Some(s)
    }

    /// The top of the repository.
    pub(crate) fn path(&self) -> &Path {
        &self.repo
    }

    /// The folder around the repository: there is room for more.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("a real path")
    }

    /// Runs git in the repository.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn git<A: AsRef<OsStr>>(&self, args: &[A]) -> Output {
        self.call("git").args(args).run()
    }

    /// Runs git in another folder.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn git_in<A: AsRef<OsStr>>(&self, dir: impl AsRef<Path>, args: &[A]) -> Output {
        self.call("git").cwd(dir).args(args).run()
    }

    /// Runs the binary under test in the repository.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn loopx<A: AsRef<OsStr>>(&self, args: &[A]) -> Output {
        self.call(LOOPX).args(args).run()
    }

    /// Runs the binary under test in another folder.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn loopx_in<A: AsRef<OsStr>>(&self, dir: impl AsRef<Path>, args: &[A]) -> Output {
        self.call(LOOPX).cwd(dir).args(args).run()
    }

    /// The landings that are under way, or were left.
    pub(crate) fn journal(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.repo.join(".git/loopx/journal"));
        let entries = entries.into_iter().flatten();
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    }

    /// A call to be fitted out: environment, stdin, folder.
    pub(crate) fn call(&self, program: impl AsRef<OsStr>) -> Call<'_> {
        Call {
            sandbox: self,
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            cwd: self.repo.clone(),
            env: Vec::new(),
            stdin: Vec::new(),
        }
    }

    /// Writes a file of the repository (or any absolute path), with its folders.
    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Reads a file of the repository.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(self.bytes(path)).expect("UTF-8")
    }

    /// Reads a file of the repository as bytes.
    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.repo.join(path);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.repo.join(path)).is_ok()
    }

    /// Writes an executable script into the repository (or to an absolute path).
    pub(crate) fn script(&self, path: impl AsRef<Path>, text: &str) {
        self.write(&path, text);
        self.chmod(path, 0o755);
    }

    /// Writes an executable that stands in front of everything in PATH.
    pub(crate) fn program(&self, name: &str, text: &str) {
        self.script(self.root().join("bin").join(name), text);
    }

    pub(crate) fn chmod(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.repo.join(path), fs::Permissions::from_mode(mode))
            .expect("change the mode");
    }

    pub(crate) fn mode(&self, path: impl AsRef<Path>) -> u32 {
        let meta = fs::symlink_metadata(self.repo.join(path)).expect("a file");
        meta.permissions().mode() & 0o7777
    }

    /// Writes a file and commits it.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn commit_file(&self, path: &str, text: &str, message: &str) -> Output {
        self.write(path, text);
        self.git(&["add", "--", path]).ok();
        self.git(&["commit", "--quiet", "-m", message])
    }

    /// Every file below a folder with its mode and bytes, for comparisons before and after.
    pub(crate) fn snapshot(&self, dir: impl AsRef<Path>) -> Vec<(PathBuf, u32, Vec<u8>)> {
        fn walk(dir: &Path, top: &Path, out: &mut Vec<(PathBuf, u32, Vec<u8>)>) {
            for entry in fs::read_dir(dir).expect("a folder") {
                let path = entry.expect("an entry").path();
                let meta = fs::symlink_metadata(&path).expect("an entry");
                let name = path.strip_prefix(top).expect("below the top").to_owned();
                if meta.is_dir() {
                    walk(&path, top, out);
                } else if meta.is_symlink() {
                    let target = fs::read_link(&path).expect("a link");
                    out.push((name, 0, target.into_os_string().into_encoded_bytes()));
                } else {
                    let bytes = fs::read(&path).expect("a file");
                    out.push((name, meta.permissions().mode() & 0o7777, bytes));
                }
            }
        }
        let dir = self.repo.join(dir);
        let mut out = Vec::new();
        walk(&dir, &dir, &mut out);
        out.sort();
        out
    }

    /// A PATH with git and a handful of tools, and no git-loopx anywhere.
    pub(crate) fn path_without_loopx(&self) -> OsString {
        let tools = self.root().join("tools");
        fs::create_dir_all(&tools).expect("a folder");
        for tool in ["git", "sh", "cat", "env", "dirname", "rm"] {
            let link = tools.join(tool);
            if fs::symlink_metadata(&link).is_err() {
                std::os::unix::fs::symlink(machine_program(tool), link).expect("a link");
            }
        }
        let mut path = OsString::from(self.root().join("bin"));
        path.push(":");
        path.push(tools);
        path
    }

    /// Puts a git in front that is the machine's, but says that it has this version: for what
    /// depends on the version alone.
    pub(crate) fn git_claims(&self, version: &str) {
        let git = machine_program("git");
        self.program(
            "git",
            &format!(
                "#!/bin/sh\n[ \"$*\" != --version ] || {{ echo 'git version {version}'; exit; }}\n\
                 exec '{}' \"$@\"\n",
                git.display()
            ),
        );
    }
}

/// Copies the program under test. Another process writes it: what we hold open for writing while another
/// thread forks cannot be started ("Text file busy").
pub(crate) fn copy_program(to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(LOOPX).arg(to.as_ref()).status();
    assert!(copied.expect("cp").success(), "{}", to.as_ref().display());
}

/// PATH as the test run has it.
fn machine_path() -> OsString {
    std::env::var_os("PATH").expect("PATH")
}

/// Path of a program of the machine.
fn machine_program(name: &str) -> PathBuf {
    std::env::split_paths(&machine_path())
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("{name} is not in PATH"))
}

/// Command, before it runs.
#[derive(Debug)]
#[must_use = "nothing runs before `run`"]
pub(crate) struct Call<'a> {
    sandbox: &'a Sandbox,
    program: OsString,
    args: Vec<OsString>,
    cwd: PathBuf,
    env: Vec<(OsString, Option<OsString>)>,
    stdin: Vec<u8>,
}

impl Call<'_> {
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: &[A]) -> Self {
        self.args
            .extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// The folder to run in, from the repository's top where it is relative.
    pub(crate) fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.cwd = self.sandbox.repo.join(dir);
        self
    }

    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = Some(value.as_ref().to_owned());
        self.env.push((name.as_ref().to_owned(), value));
        self
    }

    pub(crate) fn without_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Call with everything synced to the disk, as outside of a sandbox.
    pub(crate) fn durable(self) -> Self {
        let at = CONFIG.iter().position(|(key, _)| *key == "loopx.fsync");
        let at = at.expect("the setting that a sandbox changes");
        self.env(format!("GIT_CONFIG_VALUE_{at}"), "true")
    }

    /// The command as it would start, for tests that kill or race it.
    pub(crate) fn command(&self) -> Command {
        let s = self.sandbox;
        let root = s.root();
        let now = s.clock.fetch_add(1, Ordering::Relaxed);
        // A name without a slash is looked up in the child's PATH, not in that of the test run.
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(&self.cwd)
            .env_clear()
            .env("PATH", &s.path)
            .env("HOME", root.join("home"))
            .env("XDG_CONFIG_HOME", root.join("home/.config"))
            .env("TMPDIR", root.join("tmp"))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("COLUMNS", "100")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "false")
            .env("GIT_AUTHOR_NAME", "Ada Author")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_AUTHOR_DATE", format!("{now} +0000"))
            .env("GIT_COMMITTER_NAME", "Carl Committer")
            .env("GIT_COMMITTER_EMAIL", "carl@example.org")
            .env("GIT_COMMITTER_DATE", format!("{now} +0000"))
            .env("GIT_CONFIG_COUNT", CONFIG.len().to_string());
        for (at, (key, value)) in CONFIG.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{at}"), key)
                .env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn run(self) -> Output {
        self.run_as(|_| {})
    }

    /// Runs it as `fitted` has made it: with another user's id.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn run_as(self, fitted: impl FnOnce(&mut Command)) -> Output {
        let mut command = self.command();
        fitted(&mut command);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let mut stdin = child.stdin.take().expect("a pipe");
        let bytes = self.stdin.clone();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().expect("an end");
        writer.join().expect("stdin was written");
        let name = Path::new(&self.program).file_name().unwrap_or_default();
        let mut words = vec![name.to_string_lossy().into_owned()];
        words.extend(self.args.iter().map(|arg| arg.display().to_string()));
        Output {
            root: self.sandbox.root(),
            command: words.join(" "),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            bytes: output.stdout,
            code: output.status.code(),
        }
    }
}

/// Output of a command, and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The folder of the sandbox, which has another name in each run.
    root: PathBuf,
    command: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Bytes of stdout as it came.
    pub(crate) bytes: Vec<u8>,
    /// Exit code; absent when a signal ended the command.
    pub(crate) code: Option<i32>,
}

impl Output {
    /// Asserts exit 0; gives stdout.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        self.stdout
    }

    /// Asserts exit 0; gives stdout without the white space at its end.
    #[track_caller]
    pub(crate) fn line(self) -> String {
        self.ok().trim_end().to_owned()
    }

    /// Asserts this exit code; gives the output for more questions.
    #[track_caller]
    pub(crate) fn fails_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// All of it, for a snapshot: what differs from run to run is replaced by what [`steady`] puts there.
    pub(crate) fn steady(&self) -> String {
        let mut out = format!("$ {}\n{}", self.command, self.stdout);
        if !out.ends_with('\n') {
            out.push_str("(no end of line)\n");
        }
        if !self.stderr.is_empty() {
            out.push_str("--- stderr\n");
            out.push_str(&self.stderr);
        }
        let end = self
            .code
            .map_or("a signal".to_owned(), |code| code.to_string());
        out.push_str(&format!("--- exit {end}"));
        steady::output(&out, &self.root)
    }

    /// stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// stderr as one JSON document: a failure with `--json`.
    #[track_caller]
    pub(crate) fn error_json(&self) -> Value {
        serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Asserts that `text` was said on either stream, on whatever lines and in whatever columns.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = flat(text);
        assert!(
            [&self.stdout, &self.stderr]
                .into_iter()
                .any(|said| said.contains(text) || flat(said).contains(&wanted)),
            "expected `{text}` in\n{self}"
        );
        self
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.command)?;
        writeln!(f, "{}--- stderr\n{}", self.stdout, self.stderr)?;
        write!(f, "--- exit {:?}", self.code)
    }
}
