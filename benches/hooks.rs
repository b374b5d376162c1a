//! Cost of hooks for a commit: ours, and those of hook managers, each with one trivial hook, in one run.
//!
//! `cargo bench --bench hooks` prints the table. LOOPX_TEST_MANAGERS names a folder with `husky`,
//! `lefthook`, `prek`, `pre-commit` and `hk`; one that is not there is left out, and that is said.
//! LOOPX_TEST_GIT names a git of 2.54 or later, for config hooks. LOOPX_BENCH_ROUNDS is 30 by default.
//! LOOPX_BENCH_PROGRAM names another program to measure, like the one that `cargo static` makes.
//!
//! Rounds are interleaved, in another random order each. In a round each case makes as many commits as
//! take 100 ms of CPU, of one staged file each; CPU is user and system time of git and everything that it
//! started. Ratios are taken within a round, to the commits without hooks by the same git.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;

use measure::{Taken, command, measured, median, min, run};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// CPU that one sample takes at least: ten steps of the system's counter.
const SAMPLE_MS: f64 = 100.0;

/// Repository that is committed to.
struct Case {
    name: String,
    dir: PathBuf,
    /// Folders in front of PATH: the git to use, programs of managers.
    path: OsString,
    home: PathBuf,
    /// The case without hooks, by the same git.
    plain: usize,
    /// Commits that were made, and how many a round makes.
    made: u32,
    batch: u32,
    taken: Vec<Taken>,
}

impl Case {
    fn command(&self, program: &str) -> Command {
        let mut command = command(program, &self.dir);
        command
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env_remove("GIT_CONFIG_GLOBAL");
        command
    }

    fn git(&self, args: &[&str]) {
        run(self.command("git").args(args));
    }

    fn loopx(&self, args: &[&str]) {
        run(self.command(measure::loopx()).args(args));
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.dir.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("make a folder");
        fs::write(file, text).expect("write a file");
    }

    /// Commits of one staged file each.
    fn commit(&mut self, commits: u32) -> Taken {
        let begun = self.made;
        self.made += commits;
        measured(commits, |n| {
            let number = begun + n;
            self.write("docs/number.md", &format!("{number}\n"));
            self.git(&["add", "docs/number.md"]);
            let mut command = self.command("git");
            command.args(["commit", "-q", "-m", &format!("number {number}")]);
            command
        })
    }
}

struct Bench {
    root: PathBuf,
    /// Folders in front of PATH for the git of PATH, and for the newer one.
    machine: OsString,
    newer: Option<OsString>,
    tools: Option<PathBuf>,
    cases: Vec<Case>,
}

impl Bench {
    /// A repository of 50 files.
    fn add(&mut self, name: &str, path: OsString, plain: Option<usize>) -> &mut Case {
        let at = self.cases.len();
        let dir = self.root.join(format!("case-{at}"));
        let home = self.root.join(format!("home-{at}"));
        for made in [&dir, &home] {
            fs::create_dir_all(made).expect("make a folder");
        }
        let case = Case {
            name: name.to_owned(),
            dir,
            path,
            home,
            plain: plain.unwrap_or(at),
            made: 0,
            batch: 0,
            taken: Vec::new(),
        };
        case.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [("gc.auto", "0"), ("maintenance.auto", "false")] {
            case.git(&["config", key, value]);
        }
        for n in 0..50 {
            case.write(&format!("src/file-{n}"), &format!("{n}\n"));
        }
        case.git(&["add", "."]);
        case.git(&["commit", "-q", "-m", "first"]);
        self.cases.push(case);
        self.cases.last_mut().expect("just added")
    }

    /// A manager's case, where its program is there.
    fn manager(&mut self, name: &str, set_up: impl FnOnce(&Case)) {
        let tools = self.tools.clone().filter(|dir| dir.join(name).exists());
        let Some(tools) = tools else {
            println!("left out: no `{name}` in the folder that LOOPX_TEST_MANAGERS names");
            return;
        };
        let mut path = tools.into_os_string();
        path.push(":");
        path.push(&self.machine);
        set_up(self.add(name, path, Some(0)));
    }
}

/// A session in clarify: every commit of documents is judged and linked.
fn with_session(case: &Case) {
    case.loopx(&["init", "-q"]);
    case.git(&["switch", "-q", "-c", "change"]);
    case.loopx(&["start", "-q", "--profile", "standard", "change"]);
}

fn main() {
    let rounds = std::env::var("LOOPX_BENCH_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(30_usize);
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let mut bench = prepare(temporary.path());
    let mut order: Vec<usize> = (0..bench.cases.len()).collect();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for case in &mut bench.cases {
        // Warms caches, and shows how many commits one sample needs.
        let taken = case.commit(10);
        case.batch = (SAMPLE_MS / taken.cpu.max(1.0)).ceil() as u32;
    }
    for _ in 0..rounds {
        for at in (1..order.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            order.swap(at, (random % (at as u64 + 1)) as usize);
        }
        for &at in &order {
            let case = &mut bench.cases[at];
            let taken = case.commit(case.batch);
            case.taken.push(taken);
        }
    }
    print(&bench.cases, rounds);
}

fn prepare(root: &Path) -> Bench {
    let machine = std::env::var_os("PATH").expect("PATH");
    let newer = std::env::var_os("LOOPX_TEST_GIT").map(|git| {
        let dir = root.join("newer");
        fs::create_dir_all(&dir).expect("make a folder");
        let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", Path::new(&git).display());
        script(&dir.join("git"), &text);
        let mut path = dir.into_os_string();
        path.push(":");
        path.push(&machine);
        path
    });
    let tools = std::env::var_os("LOOPX_TEST_MANAGERS").map(PathBuf::from);
    let mut bench = Bench {
        root: root.to_owned(),
        machine: machine.clone(),
        newer,
        tools,
        cases: Vec::new(),
    };
    bench.add("no hooks", machine.clone(), None);
    bench.add("no hooks, again (noise)", machine.clone(), Some(0));
    // Two are what shims cannot go below, whatever they start.
    let yes: [(&str, &[&str]); 2] = [
        ("a shell script that says yes", &["pre-commit"]),
        (
            "two of them, the floor of shims",
            &["pre-commit", "commit-msg"],
        ),
    ];
    for (name, events) in yes {
        let case = bench.add(name, machine.clone(), Some(0));
        for event in events {
            script(
                &case.dir.join(".git/hooks").join(event),
                "#!/bin/sh\nexit 0\n",
            );
        }
    }
    let case = bench.add(
        "git loopx, repository without loopx",
        machine.clone(),
        Some(0),
    );
    case.loopx(&["hooks", "install", "-q"]);
    let case = bench.add("git loopx, a session on the branch", machine, Some(0));
    with_session(case);
    case.loopx(&["hooks", "install", "-q"]);
    match bench.newer.clone() {
        None => println!("left out: LOOPX_TEST_GIT names no second git"),
        Some(path) => {
            let plain = bench.cases.len();
            bench.add("newer git, no hooks", path.clone(), None);
            let case = bench.add(
                "newer git, git loopx (global), repository without loopx",
                path.clone(),
                Some(plain),
            );
            case.loopx(&["hooks", "install", "-q", "--global"]);
            let case = bench.add("newer git, git loopx, a session", path, Some(plain));
            with_session(case);
            case.loopx(&["hooks", "install", "-q"]);
        }
    }
    managers(&mut bench);
    bench
}

fn managers(bench: &mut Bench) {
    let config = "repos:\n- repo: local\n  hooks:\n  - {id: trivial, name: trivial, entry: 'true', language: system, \
                  always_run: true, pass_filenames: false}\n";
    bench.manager("husky", |case| {
        case.write("package.json", "{}\n");
        run(&mut case.command("husky"));
        case.write(".husky/pre-commit", "true\n");
    });
    bench.manager("lefthook", |case| {
        case.write(
            "lefthook.yml",
            "pre-commit:\n  commands:\n    trivial:\n      run: 'true'\n",
        );
        run(case.command("lefthook").arg("install"));
    });
    bench.manager("prek", |case| {
        case.write(".pre-commit-config.yaml", config);
        run(case.command("prek").arg("install"));
        case.git(&["add", "."]);
    });
    bench.manager("pre-commit", |case| {
        case.write(".pre-commit-config.yaml", config);
        run(case.command("pre-commit").arg("install"));
        case.git(&["add", "."]);
    });
    bench.manager("hk", |case| {
        let version = case.command("hk").arg("--version").output().expect("hk runs");
        let version = String::from_utf8_lossy(&version.stdout);
        let version = version.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        case.write(
            "hk.pkl",
            &format!(
                "amends \"package://github.com/jdx/hk/releases/download/v{version}/hk@{version}#/Config.pkl\"\n\
                 hooks {{ [\"pre-commit\"] {{ steps {{ [\"trivial\"] {{ check = \"true\" }} }} }} }}\n"
            ),
        );
        run(case.command("hk").arg("install"));
    });
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).expect("write a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("change the mode");
}

fn print(cases: &[Case], rounds: usize) {
    println!(
        "\n| commit with | CPU, ratio | wall, ratio | CPU ms | wall ms | CPU added, min ms | wall added, min ms |"
    );
    println!("|---|---|---|---|---|---|---|");
    for case in cases {
        let plain = &cases[case.plain];
        let all = |of: &Case, what: fn(&Taken) -> f64| -> Vec<f64> {
            of.taken.iter().map(what).collect()
        };
        let ratio = |what: fn(&Taken) -> f64| {
            let pairs = all(case, what).into_iter().zip(all(plain, what));
            median(&pairs.map(|(ours, bare)| ours / bare).collect::<Vec<f64>>())
        };
        let added = |what: fn(&Taken) -> f64| min(&all(case, what)) - min(&all(plain, what));
        let cpu = |taken: &Taken| taken.cpu;
        let wall = |taken: &Taken| taken.wall;
        println!(
            "| {} | {:.2}x | {:.2}x | {:.2} | {:.2} | {:.2} | {:.2} |",
            case.name,
            ratio(cpu),
            ratio(wall),
            median(&all(case, cpu)),
            median(&all(case, wall)),
            added(cpu),
            added(wall),
        );
    }
    println!("\n{rounds} rounds in random order; medians, and the least where that is said");
}
