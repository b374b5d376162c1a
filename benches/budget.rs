//! The budgets of docs/speed.md, measured: CPU and wall time of whole processes, as ratios to
//! `git rev-parse HEAD` in the same rounds, because machines differ and are noisy.
//!
//! `cargo bench --bench budget` prints the table; LOOPX_BENCH_PROGRAM names another program to measure, like the
//! one that `cargo static` makes. CPU comes from `/proc/self/stat` (children that were
//! waited for), so batches are large enough for its 10 ms steps.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;
#[path = "../tests/it/support/mod.rs"]
mod support;

use measure::{measured, median};
use std::path::{Path, PathBuf};
use support::Sandbox;
use support::scale::grow;

/// Runs of one command in a batch, and batches.
const BATCH: u32 = 100;
const ROUNDS: usize = 5;
/// The large repository: sessions, commits of theirs, other branches.
const SESSIONS: usize = 10_000;
const COMMITS: usize = 100_000;
const BRANCHES: usize = 10_000;
/// Files of the wide worktree.
const FILES: usize = 100_000;
/// Operations of the long session.
const OPERATIONS: u32 = 2_000;
/// Sessions of the repository that is synced.
const SHARED: usize = 1_000;

/// Floor of a sync with nothing new: a fetch that it cannot do without.
const FETCH: &str = "git fetch, 1,000 sessions, nothing new";
const FETCH_ARGS: [&str; 10] = [
    "fetch",
    "--no-tags",
    "--no-prune",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--no-filter",
    "--refmap=",
    "origin",
    "+refs/heads/loopx:refs/remotes/origin/loopx",
];

struct Case {
    name: &'static str,
    budget: &'static str,
    dir: PathBuf,
    program: &'static str,
    args: Vec<String>,
    /// Run before every run, not counted: gives a writing command something to do.
    prepare: Option<fn(&Path, u32)>,
    batch: u32,
}

fn main() {
    support::place::on_disk();
    // cargo passes `--bench`; a filter is not supported.
    let loopx = measure::loopx();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let plain = repository(&temporary.path().join("plain"), false);
    let one = repository(&temporary.path().join("one"), true);
    let large = large();
    let many = large.path().to_path_buf();
    let deep = deep();
    let deep_dir = deep.path().to_path_buf();
    let shared = shared();
    let shared_dir = shared.path().to_path_buf();
    let wide = wide(&temporary.path().join("wide"));
    let long = long(&temporary.path().join("long"));
    std::fs::write(one.join("message"), "subject\n").expect("write a message");

    let case = |name, budget, dir: &Path, args: &[&str]| Case {
        name,
        budget,
        dir: dir.to_path_buf(),
        program: loopx,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        prepare: None,
        batch: BATCH,
    };
    let edit: fn(&Path, u32) = |dir, n| {
        let spec = dir.join(".loopx/session-0/spec.md");
        let text = std::fs::read_to_string(&spec).expect("read the spec");
        std::fs::write(&spec, format!("{}\nround {n}\n", text.trim_end())).expect("write the spec");
    };
    let mut cases = vec![
        Case {
            name: "git rev-parse HEAD",
            budget: "",
            dir: one.clone(),
            program: "git",
            args: vec!["rev-parse".into(), "HEAD".into()],
            prepare: None,
            batch: BATCH,
        },
        case("--version (start-up)", "", &plain, &["--version"]),
        case(
            "hook pre-commit, no loopx",
            "0.9x CPU",
            &plain,
            &["hook", "pre-commit"],
        ),
        case(
            "hook pre-commit, 1 session",
            "1.0x CPU",
            &one,
            &["hook", "pre-commit"],
        ),
        case(
            "hook pre-commit, 10,000 sessions",
            "1.0x CPU",
            &many,
            &["hook", "pre-commit"],
        ),
        case(
            "hook commit-msg, 1 session",
            "1.0x CPU",
            &one,
            &["hook", "commit-msg", "message"],
        ),
        case(
            "cat, 1 session",
            "1.3x CPU",
            &one,
            &["cat", "-s", "session-0", "intent.md"],
        ),
        case(
            "status, 1 session",
            "1.6x CPU",
            &one,
            &["status", "-s", "session-0"],
        ),
        case(
            "status, 10,000 sessions",
            "1.5x of status with 1",
            &many,
            &["status", "-s", "session-0"],
        ),
        case(
            "status, 100,000 commits",
            "1.5x of status with 1",
            &deep_dir,
            &["status", "-s", "session-0"],
        ),
        case(
            "status, 2,000 operations",
            "1.5x of status with 1",
            &long,
            &["status", "-s", "session-0"],
        ),
        case(
            "hook pre-commit, 100,000 files",
            "",
            &wide,
            &["hook", "pre-commit"],
        ),
        Case {
            batch: 20,
            ..case("list, 10,000 sessions", "60 ms", &many, &["list"])
        },
        Case {
            batch: 20,
            program: "git",
            ..case(FETCH, "", &shared_dir, &FETCH_ARGS)
        },
        Case {
            batch: 20,
            ..case(
                "sync, 1,000 sessions, nothing new",
                "1.5x of its fetch",
                &shared_dir,
                &["sync", "-q", "origin"],
            )
        },
    ];
    for (name, dir) in [
        ("transition (save), 1 session", &one),
        ("transition (save), 10,000 sessions", &many),
        ("transition (save), 100,000 commits", &deep_dir),
        ("transition (save), 2,000 operations", &long),
    ] {
        cases.push(Case {
            prepare: Some(edit),
            batch: 30,
            ..case(
                name,
                "3x CPU, 15 ms",
                dir,
                &["save", "-q", "-s", "session-0"],
            )
        });
    }

    let mut cpu: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    let mut wall: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for (at, case) in cases.iter().enumerate() {
            let taken = measured(case.batch, |n| {
                if let Some(prepare) = case.prepare {
                    prepare(&case.dir, n);
                }
                let mut command = measure::command(case.program, &case.dir);
                command.args(&case.args);
                command
            });
            cpu[at].push(taken.cpu);
            wall[at].push(taken.wall);
        }
    }
    let ratio = |of: &[f64]| {
        let ratios: Vec<f64> = of
            .iter()
            .zip(&cpu[0])
            .map(|(a, b)| a / b.max(1e-9))
            .collect();
        median(&ratios)
    };
    println!("| command | CPU, ratio | CPU ms | wall ms | budget |");
    println!("|---|---|---|---|---|");
    for (at, case) in cases.iter().enumerate() {
        println!(
            "| `{}` | {:.2}x | {:.2} | {:.2} | {} |",
            case.name,
            ratio(&cpu[at]),
            median(&cpu[at]),
            median(&wall[at]),
            case.budget
        );
    }
    let size = std::fs::metadata(loopx).map_or(0, |meta| meta.len());
    println!(
        "\nbinary: {:.2} MB; {ROUNDS} rounds, batches of {BATCH}, medians",
        size as f64 / 1e6
    );
}

/// A repository with one commit and, where wanted, a session that is bound to its branch.
fn repository(dir: &Path, session: bool) -> PathBuf {
    std::fs::create_dir_all(dir).expect("make a folder");
    run("git", dir, &["init", "-q", "-b", "main"]);
    std::fs::write(dir.join("README.md"), "bench\n").expect("write a file");
    run("git", dir, &["add", "."]);
    run("git", dir, &["commit", "-q", "-m", "first"]);
    if session {
        let loopx = measure::loopx();
        run(loopx, dir, &["init", "-q"]);
        run(
            loopx,
            dir,
            &["start", "-q", "--profile", "standard", "session-0"],
        );
    }
    dir.to_path_buf()
}

fn run(program: &str, dir: &Path, args: &[&str]) {
    measure::run(measure::command(program, dir).args(args));
}

/// Thousands of sessions, of their commits and of other branches.
fn large() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("README.md", "bench\n", "first").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--profile", "standard", "session-0"])
        .ok();
    grow(&s, SESSIONS, COMMITS);
    let mut branches = String::new();
    let head = s.git(&["rev-parse", "HEAD"]).line();
    for n in 0..BRANCHES {
        branches.push_str(&format!("create refs/heads/topic/{n:05} {head}\n"));
    }
    let call = s.call("git").args(&["update-ref", "--stdin"]);
    call.stdin(branches).run().ok();
    s.git(&["gc", "--quiet"]).ok();
    s
}

/// Repository with a single session, and as many commits as the large one.
fn deep() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("README.md", "bench\n", "first").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--profile", "standard", "session-0"])
        .ok();
    grow(&s, 0, COMMITS);
    s.git(&["gc", "--quiet"]).ok();
    s
}

/// A clone that has everything that its remote has.
fn shared() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("README.md", "bench\n", "first").ok();
    grow(&s, SHARED, 1);
    s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
        .ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.loopx(&["sync", "-q", "origin"]).ok();
    s.git(&["gc", "--quiet"]).ok();
    s
}

/// A session in a worktree of many files.
fn wide(dir: &Path) -> PathBuf {
    for n in 0..FILES {
        let folder = dir.join(format!("src/{:03}", n / 1_000));
        if n % 1_000 == 0 {
            std::fs::create_dir_all(&folder).expect("make a folder");
        }
        std::fs::write(folder.join(format!("{n}.txt")), "x\n").expect("write a file");
    }
    repository(dir, true)
}

/// A session with many operations.
fn long(dir: &Path) -> PathBuf {
    let dir = repository(dir, true);
    for n in 0..OPERATIONS {
        let spec = dir.join(".loopx/session-0/spec.md");
        let text = std::fs::read_to_string(&spec).expect("read the spec");
        let first = text.lines().take(20).collect::<Vec<_>>().join("\n");
        std::fs::write(&spec, format!("{first}\n\noperation {n}\n")).expect("write the spec");
        let loopx = measure::loopx();
        run(loopx, &dir, &["save", "-q", "-s", "session-0"]);
    }
    dir
}
