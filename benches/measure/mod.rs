//! Tools that the benchmarks measure with: CPU of whole processes, and an environment that no configuration of this
//! machine gets into.
//!
//! CPU comes from `/proc/self/stat`: it counts all children that were waited for, in steps of 10 ms.
//! So one sample is a batch that takes many steps.

// Each benchmark uses a part of it.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

/// The program that is measured: the one of this build, or the one that LOOPX_BENCH_PROGRAM names.
pub(crate) fn loopx() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    let named = || match std::env::var("LOOPX_BENCH_PROGRAM") {
        Ok(named) => {
            let path = std::fs::canonicalize(named).expect("LOOPX_BENCH_PROGRAM");
            path.into_os_string().into_string().expect("UTF-8")
        }
        Err(_) => env!("CARGO_BIN_EXE_git-loopx").to_owned(),
    };
    PROGRAM.get_or_init(named)
}

/// Average time of a run of a batch, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// User and system time of the process and of all that it waited for.
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
}

/// Runs a batch of commands, each prepared before and not counted until it starts.
pub(crate) fn measured(runs: u32, mut prepared: impl FnMut(u32) -> Command) -> Taken {
    let (mut cpu, mut wall) = (0.0, 0.0);
    let mut unmeasured = 0.0;
    let begun = children_cpu_ms();
    for n in 0..runs {
        let before = children_cpu_ms();
        let mut command = prepared(n);
        unmeasured += children_cpu_ms() - before;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        let status = command.status().expect("start the command");
        wall += started.elapsed().as_secs_f64() * 1e3;
        assert!(status.success(), "{command:?} failed");
    }
    cpu += children_cpu_ms() - begun - unmeasured;
    let runs = f64::from(runs);
    Taken {
        cpu: cpu / runs,
        wall: wall / runs,
    }
}

/// User and system time of the children that were waited for.
pub(crate) fn children_cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("needs Linux's /proc");
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(13).take(2);
    ticks
        .map(|field| field.parse::<f64>().unwrap_or(0.0))
        .sum::<f64>()
        * 10.0
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

pub(crate) fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// A command with an environment made from nothing.
pub(crate) fn command(program: impl AsRef<OsStr>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Bench")
        .env("GIT_AUTHOR_EMAIL", "bench@example.org")
        .env("GIT_COMMITTER_NAME", "Bench")
        .env("GIT_COMMITTER_EMAIL", "bench@example.org");
    command
}

/// Runs a command that prepares something.
pub(crate) fn run(command: &mut Command) {
    let done = command.output().expect("start a command");
    assert!(
        done.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
