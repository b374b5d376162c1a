//! The cost of a long log for a server and a merge, and of a landing for CI and a server: CPU of whole processes, medians of
//! batches.
//!
//! `cargo bench --bench log` prints the table. The sessions are made of forged records, as a program would have
//! written them, because thousands of steps would take minutes.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;
#[path = "../tests/it/support/mod.rs"]
mod support;

use measure::{children_cpu_ms, median};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::Sandbox;
use support::landing::{PROTECTED, make, rev};
use support::scale::prolong;
use support::session::{advance, begin};

const ROUNDS: usize = 5;
/// Runs of a hook in a batch.
const BATCH: u32 = 40;
/// Records of the session onto which one more is pushed.
const LONG: usize = 2_400;
/// Records that two clones share, and that each adds.
const SHARED: usize = 1_001;
const APART: usize = 700;

/// Commits of a pull request that CI judges, and of a push that a server does.
const PULLED: usize = 50;
const LANDED: usize = 5;

const TEXTS: [&str; 2] = ["# One\n", "# Other\n"];

fn main() {
    support::place::on_disk();
    // cargo passes `--bench`; a filter is not supported.
    let pushed = Pushed::new();
    let apart = Apart::new();
    let mut rows: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        rows[0].push(pushed.hook("nothing"));
        rows[1].push(pushed.hook("one"));
        let (first, again, fetch) = apart.sync();
        rows[2].push(fetch);
        rows[3].push(again);
        rows[4].push(first);
    }
    let empty = median(&rows[0]);
    let one = median(&rows[1]);
    let [fetch, again, first] = [2, 3, 4].map(|row| median(&rows[row]));
    println!("| what | CPU ms | |");
    println!("|---|---|---|");
    println!("| `hook pre-receive`, a branch of nobody | {empty:.2} | |");
    println!(
        "| `hook pre-receive`, one record onto {LONG} | {one:.2} | {:.2}x of that |",
        one / empty
    );
    println!("| `git fetch` of {APART} records | {fetch:.1} | |");
    println!("| `sync`, nothing new | {again:.1} | |");
    println!(
        "| `sync` that merges {APART} and {APART} onto {SHARED} | {first:.1} | {:.1} ms without the fetch and what a sync costs anyway |",
        first - again - fetch
    );
    landings();
}

/// The judgement of a branch that is to land, beside the walk over the same objects that git makes for a push.
fn landings() {
    let (pulled, landed) = (Landing::new(PULLED), Landing::new(LANDED));
    let mut rows: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        rows[0].push(pulled.walk());
        rows[1].push(pulled.verify());
        rows[2].push(landed.walk());
        rows[3].push(hook(&landed.remote, "landing"));
    }
    let [range, verify, push, hook] = [0, 1, 2, 3].map(|row| median(&rows[row]));
    println!("| `git rev-list --objects` of {PULLED} commits | {range:.2} | |");
    println!(
        "| `verify --onto main` of {PULLED} commits | {verify:.1} | {:.1}x of that |",
        verify / range
    );
    println!("| `git rev-list --objects` of {LANDED} commits | {push:.2} | |");
    println!(
        "| `hook pre-receive`, {LANDED} commits onto `main` | {hook:.1} | {:.1}x of that |",
        hook / push
    );
}

fn loopx() -> &'static str {
    env!("CARGO_BIN_EXE_git-loopx")
}

/// A session of this many records.
fn long(records: usize) -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("README.md", "bench\n", "first").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--profile", "standard", "--no-branch", "demo"])
        .ok();
    let there = 1 + TEXTS.len();
    let more = (records - there) / 2 * 2;
    prolong(&s, s.path(), "demo", there + more, TEXTS);
    s
}

/// A server, and pushes for its hook to judge.
struct Pushed {
    s: Sandbox,
    remote: PathBuf,
}

impl Pushed {
    fn new() -> Self {
        let s = long(LONG);
        let put = s.call(loopx()).args(&["-s", "demo", "put", "spec.md"]);
        put.stdin("# Before\n").run().ok();
        let old = s.git(&["rev-parse", "loopx"]).line();
        let put = s.call(loopx()).args(&["-s", "demo", "put", "spec.md"]);
        put.stdin("# After\n").run().ok();
        let new = s.git(&["rev-parse", "loopx"]).line();
        let main = s.git(&["rev-parse", "main"]).line();
        s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
            .ok();
        let remote = s.root().join("remote.git");
        s.git_in(&remote, &["update-ref", "refs/heads/loopx", &old])
            .ok();
        s.git_in(&remote, &["update-ref", "refs/heads/kept", &new])
            .ok();
        s.git_in(&remote, &["gc", "--quiet"]).ok();
        let none = "0".repeat(old.len());
        let lines = [
            ("nothing", format!("{none} {main} refs/heads/nobody\n")),
            ("one", format!("{old} {new} refs/heads/loopx\n")),
        ];
        for (name, line) in lines {
            s.write(remote.join(name), line);
        }
        Pushed { s, remote }
    }

    fn hook(&self, which: &str) -> f64 {
        assert!(self.s.exists(self.remote.join(which)), "a push");
        hook(&self.remote, which)
    }
}

/// CPU of the hook for the push that lies there by this name.
fn hook(remote: &Path, which: &str) -> f64 {
    let input = remote.join(which);
    let before = children_cpu_ms();
    for _ in 0..BATCH {
        let mut command = measure::command(loopx(), remote);
        command.env("GIT_DIR", remote);
        command.args(["hook", "pre-receive"]);
        let stdin = File::open(&input).expect("the lines of a push");
        let done = command.stdin(stdin).stderr(Stdio::null()).status();
        assert!(done.expect("a hook").success(), "{which} is taken");
    }
    (children_cpu_ms() - before) / f64::from(BATCH)
}

/// A session that is done on a branch of so many commits, and a server that protects the one below.
struct Landing {
    s: Sandbox,
    remote: PathBuf,
}

impl Landing {
    fn new(commits: usize) -> Self {
        let s = Sandbox::new();
        begin(&s, PROTECTED);
        advance(&s, "clarify", "build", "");
        for n in 0..commits {
            let path = format!("src/part{}/file{n}.rs", n % 7);
            make(
                &s,
                &[(&path, "one\n"), ("src/old.rs", &format!("{n}\n"))],
                "code",
            );
        }
        advance(&s, "build", "done", "");
        s.git(&["gc", "--quiet"]).ok();
        s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
            .ok();
        let remote = s.root().join("remote.git");
        let line = format!("{} {} refs/heads/main\n", rev(&s, "main"), rev(&s, "demo"));
        s.write(remote.join("landing"), line);
        Landing { s, remote }
    }

    fn batch(&self, program: &str, args: &[&str]) -> f64 {
        let before = children_cpu_ms();
        for _ in 0..BATCH {
            measure::run(measure::command(program, self.s.path()).args(args));
        }
        (children_cpu_ms() - before) / f64::from(BATCH)
    }

    fn walk(&self) -> f64 {
        self.batch("git", &["rev-list", "--objects", "main..demo"])
    }

    fn verify(&self) -> f64 {
        let args = ["verify", "main..demo", "--policy-from=main", "--onto=main"];
        self.batch(loopx(), &args)
    }
}

/// Two clones that went on apart: one has pushed, the other has not.
struct Apart {
    s: Sandbox,
}

impl Apart {
    fn new() -> Self {
        let s = long(SHARED);
        let root = s.root().join("apart");
        std::fs::create_dir_all(&root).expect("a folder");
        let clone = |from: &str, to: &str, args: &[&str]| {
            s.git_in(&root, &[&["clone", "--quiet"], args, &[from, to]].concat())
                .ok();
        };
        let start = s.path().to_str().expect("UTF-8").to_owned();
        clone(&start, "remote.git", &["--bare"]);
        for name in ["here", "there"] {
            clone("remote.git", name, &[]);
            let dir = root.join(name);
            s.git_in(&dir, &["remote", "set-url", "origin", "../remote.git"])
                .ok();
            s.loopx_in(&dir, &["init"]).ok();
            let texts = match name {
                "here" => ["# Here\n", "# Same\n"],
                _ => ["# There\n", "# Same\n"],
            };
            prolong(&s, &dir, "demo", SHARED + APART, texts);
        }
        s.loopx_in(root.join("there"), &["sync", "-q"]).ok();
        Apart { s }
    }

    /// CPU of a sync that merges, of another one right after it, and of the fetch alone.
    fn sync(&self) -> (f64, f64, f64) {
        let copy = self.s.root().join("copy");
        drop(std::fs::remove_dir_all(&copy));
        let mut make = Command::new("cp");
        measure::run(make.arg("-a").arg(self.s.root().join("apart")).arg(&copy));
        let here = copy.join("here");
        let fetch = [
            "fetch",
            "-q",
            "origin",
            "+refs/heads/loopx:refs/bench/loopx",
        ];
        let fetch = cpu(measure::command("git", &here).args(fetch));
        measure::run(measure::command("git", &here).args(["update-ref", "-d", "refs/bench/loopx"]));
        let sync = |dir: &Path| cpu(measure::command(loopx(), dir).args(["sync", "-q"]));
        (sync(&here), sync(&here), fetch)
    }
}

fn cpu(command: &mut Command) -> f64 {
    let before = children_cpu_ms();
    measure::run(command);
    children_cpu_ms() - before
}
