//! Cost of tasks, beside other programs that keep lists of them: CPU and wall time of whole processes in one run.
//!
//! ```text
//! cargo bench --bench tasks
//! ```
//!
//! prints the table of docs/speed.md. The others are those on PATH (`br`, `backlog`, `task-master`, `task`); the
//! variables LOOPX_BENCH_BR, LOOPX_BENCH_BACKLOG, LOOPX_BENCH_TASKMASTER and LOOPX_BENCH_TASKWARRIOR name others, and
//! leave one out where they are empty. Every list has one task that the
//! commands change, and 0, 1,000 or 10,000 beside it. What a command changed is put back before the next one, which
//! is not counted.
//!
//! A second table has pipelines of 12 and of 1,000 tasks, without the others: none of them has any. Their budgets are
//! those of design 16: 8 ms of CPU for a claim and 10 ms for a completion, however many tasks there are.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;
mod peers;

use measure::{Taken, measured, median};
use peers::{PEERS, Peer, What, title};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Tasks of a pipeline.
const SIZES: [usize; 2] = [12, 1_000];
/// The pipeline of the repository, and its first task.
const PIPELINE: &str = "many";
const FIRST: &str = "NODE-1";
/// Tasks beside the one.
const COUNTS: [usize; 3] = [0, 1_000, 10_000];
const ROUNDS: usize = 5;
/// A command that takes so many milliseconds of CPU is run once.
const SLOW: f64 = 3_000.0;
/// A command that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(240);
/// A batch lasts about so long, for the steps of 10 ms that CPU is counted in.
const BATCH: f64 = 300.0;
const SESSION: &str = "bench";
/// The task that the commands change.
const ONE: &str = "TASK-1";

const DELTA: &str =
    "---\nbehaviour: unchanged\nreason: \"only words change\"\n---\n\n# Nothing that users see\n";
const PLAN: &str =
    "---\nscope: []\n---\n# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n";

/// Folders beside the list's folder: git's own folder in each state that a command starts from.
const READY: &str = "ready";
const HELD: &str = "held";
const PROVEN: &str = "proven";
const DONE: &str = "done";

/// A row of the table: what we type, in which state, and what others say for it.
struct Row {
    name: &'static str,
    args: &'static [&'static str],
    from: From,
    peers: Option<What>,
}

#[derive(Clone, Copy)]
enum From {
    /// The plan is being made; a list that names this is undone.
    Planning(&'static str),
    /// The build, in one of these states.
    At(&'static str),
}

const ROWS: [Row; 10] = [
    Row {
        name: "list",
        args: &["task", "list"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "list as JSON",
        args: &["task", "list", "--json"],
        from: From::At(READY),
        peers: Some(What::List),
    },
    Row {
        name: "all that are ready, as JSON",
        args: &["task", "list", "--ready", "--json"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "next one",
        args: &["take", "--peek"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "show one",
        args: &["task", "show", ONE],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "claim",
        args: &["take", ONE, "-q"],
        from: From::At(READY),
        peers: Some(What::Claim),
    },
    Row {
        name: "claim the next one",
        args: &["take", "-q"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "done, its check has passed",
        args: &["task", "done", ONE, "-q"],
        from: From::At(PROVEN),
        peers: Some(What::Done),
    },
    Row {
        name: "done, its check is run for it",
        args: &["task", "done", ONE, "-q"],
        from: From::At(HELD),
        peers: None,
    },
    Row {
        name: "add",
        args: &["task", "add", "Added", "-q"],
        from: From::Planning("Added"),
        peers: Some(What::Add),
    },
];

/// Rows of pipelines.
const OF_PIPELINES: [Row; 8] = [
    Row {
        name: "start",
        args: &["pipeline", "start", PIPELINE, "-q"],
        from: From::Planning(FIRST),
        peers: None,
    },
    Row {
        name: "status",
        args: &["pipeline", "status"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "list",
        args: &["task", "list"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "next one",
        args: &["take", "--peek"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "claim",
        args: &["take", FIRST, "-q"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "claim the next one",
        args: &["take", "-q"],
        from: From::At(READY),
        peers: None,
    },
    Row {
        name: "done, its check has passed",
        args: &["task", "done", FIRST, "-q"],
        from: From::At(PROVEN),
        peers: None,
    },
    Row {
        name: "list behind a task that is done",
        args: &["task", "list"],
        from: From::At(DONE),
        peers: None,
    },
];

/// Command on a list, of a program.
struct Case {
    rows: &'static [Row],
    row: usize,
    count: usize,
    /// Program that is measured; nothing for ours.
    peer: Option<(Peer, String)>,
    dir: PathBuf,
    batch: u32,
    rounds: usize,
    taken: Vec<Taken>,
}

impl Case {
    /// The command, once what it changes is as it was.
    fn prepared(&self) -> Command {
        let row = &self.rows[self.row];
        if let Some((peer, program)) = &self.peer {
            let what = row.peers.expect("a row of theirs");
            if what != What::List {
                peer.restore(&self.dir);
            }
            let mut command = peers::command(program, &self.dir);
            command.args(peer.args(what));
            return command;
        }
        match row.from {
            From::At(from) => {
                peers::put_back(&self.dir.with_extension(from), &self.dir.join(".git"))
            }
            From::Planning(added) => {
                let text = fs::read_to_string(list(&self.dir)).expect("the list");
                if text.contains(added) {
                    run(measure::loopx(), &self.dir, &["undo", "-q"]);
                }
            }
        }
        let mut command = measure::command(measure::loopx(), &self.dir);
        command.args(row.args);
        command
    }

    /// The first run: it says how large a batch is, and counts only where there is no other.
    fn begin(&mut self) {
        let mut command = self.prepared();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (before, started) = (measure::children_cpu_ms(), Instant::now());
        let mut child = command.spawn().expect("start the command");
        let status = loop {
            if let Some(status) = child.try_wait().expect("wait") {
                break status;
            }
            if started.elapsed() > LIMIT {
                child.kill().expect("end the command");
                child.wait().expect("wait");
                self.rounds = 0;
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        assert!(status.success(), "{command:?} failed");
        let wall = started.elapsed().as_secs_f64() * 1e3;
        let cpu = measure::children_cpu_ms() - before;
        if cpu >= SLOW {
            self.rounds = 0;
            self.taken.push(Taken { cpu, wall });
        }
        self.batch = (BATCH / cpu.max(10.0)).clamp(1.0, 20.0) as u32;
    }

    fn cell(&self) -> String {
        if self.taken.is_empty() {
            return format!("over {} s", LIMIT.as_secs());
        }
        let of = |get: fn(&Taken) -> f64| median(&self.taken.iter().map(get).collect::<Vec<_>>());
        format!(
            "{} / {}",
            number(of(|one| one.cpu)),
            number(of(|one| one.wall))
        )
    }
}

fn number(ms: f64) -> String {
    match ms {
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

fn main() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let peers: Vec<(Peer, String)> = PEERS
        .into_iter()
        .filter_map(|peer| Some((peer, peer.program()?)))
        .collect();
    let mut cases = cases(temporary.path(), &peers);
    cases.extend(pipelines(temporary.path()));
    for case in &mut cases {
        case.begin();
    }
    for round in 0..ROUNDS {
        for case in cases.iter_mut().filter(|case| round < case.rounds) {
            let taken = measured(case.batch, |_| case.prepared());
            case.taken.push(taken);
        }
    }
    let (lists, pipelines): (Vec<Case>, Vec<Case>) = cases
        .into_iter()
        .partition(|case| std::ptr::eq(case.rows, ROWS.as_slice()));
    print(&lists, &peers);
    println!("\n| pipeline | tasks | git loopx |\n|---|---|---|");
    for case in &pipelines {
        let name = case.rows[case.row].name;
        println!("| {name} | {} | {} |", case.count, case.cell());
    }
}

/// Every command on every pipeline, with the sessions made.
fn pipelines(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for count in SIZES {
        let [building, planning] =
            ["pipeline", "start"].map(|name| root.join(format!("{name}-{count}")));
        begun(&planning, count);
        begun(&building, count);
        built(&building);
        for (row, one) in OF_PIPELINES.iter().enumerate() {
            let dir = match one.from {
                From::Planning(_) => &planning,
                From::At(_) => &building,
            };
            cases.push(Case {
                rows: OF_PIPELINES.as_slice(),
                row,
                count,
                peer: None,
                dir: dir.clone(),
                batch: 1,
                rounds: ROUNDS,
                taken: Vec::new(),
            });
        }
    }
    cases.sort_by_key(|case| (case.row, case.count));
    cases
}

/// A session in a repository that has a pipeline of so many tasks.
fn begun(dir: &Path, count: usize) {
    let file = format!("loopx/pipelines/{PIPELINE}.toml");
    repository(dir, &[(file.as_str(), &pipeline(count))]);
    session(dir, String::new());
}

/// The pipeline is started and its plan approved, with a copy of each state that commands start from.
fn built(dir: &Path) {
    let loopx = measure::loopx();
    run(loopx, dir, &["pipeline", "start", PIPELINE, "-q"]);
    keep_states(dir, FIRST);
    run(loopx, dir, &["task", "done", FIRST, "-q"]);
    keep(dir, DONE);
}

/// Tasks in chains of ten, each with a check, and a gate behind every fifth chain.
fn pipeline(count: usize) -> String {
    let node = |n: usize| {
        let on = match n % 10 {
            1 => String::new(),
            _ => format!("\"NODE-{}\"", n - 1),
        };
        let gate = match n % 50 {
            0 => format!("[[nodes.gates]]\nid = \"GATE-{n}\"\ntitle = \"Judge part {n}\"\n"),
            _ => String::new(),
        };
        format!(
            "[[nodes]]\nid = \"NODE-{n}\"\ntitle = \"{}\"\ndepends_on = [{on}]\ncriteria = [\"part {n} is there\"]\nverification = {{ cmd = [\"true\"] }}\n{gate}",
            title(n)
        )
    };
    let nodes: Vec<String> = (1..=count).map(node).collect();
    format!("title = \"Many parts\"\n\n{}", nodes.join("\n"))
}

/// Every command on every list, with the lists made.
fn cases(root: &Path, peers: &[(Peer, String)]) -> Vec<Case> {
    let mut cases = Vec::new();
    for count in COUNTS {
        let building = root.join(format!("build-{count}"));
        let planning = root.join(format!("plan-{count}"));
        building_of(&building, count + 1);
        planned(&planning, count + 1);
        for (
            row,
            Row {
                from, peers: what, ..
            },
        ) in ROWS.iter().enumerate()
        {
            let case = |peer, dir: &Path| Case {
                rows: ROWS.as_slice(),
                row,
                count,
                peer,
                dir: dir.to_path_buf(),
                batch: 1,
                rounds: ROUNDS,
                taken: Vec::new(),
            };
            let own = match from {
                From::Planning(_) => &planning,
                From::At(_) => &building,
            };
            cases.push(case(None, own));
            for (peer, program) in peers.iter().filter(|_| what.is_some()) {
                let dir = root.join(format!("{}-{count}", peer.name.replace(['.', ' '], "-")));
                if !dir.exists() {
                    peer.prepare(program, &dir, count + 1);
                }
                cases.push(case(Some((*peer, program.clone())), &dir));
            }
        }
    }
    cases
}

fn print(cases: &[Case], peers: &[(Peer, String)]) {
    let names: Vec<&str> = peers.iter().map(|(peer, _)| peer.name).collect();
    println!("| what | beside | git loopx | {} |", names.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(names.len()));
    for (row, Row { name, .. }) in ROWS.iter().enumerate() {
        for count in COUNTS {
            let find = |peer: Option<&str>| {
                let own = cases.iter().find(|case| {
                    let whose = case.peer.as_ref().map(|(peer, _)| peer.name);
                    (case.row, case.count, whose) == (row, count, peer)
                });
                own.map(Case::cell).unwrap_or_default()
            };
            let cells: Vec<String> = names.iter().map(|name| find(Some(name))).collect();
            println!(
                "| {name} | {count} | {} | {} |",
                find(None),
                cells.join(" | ")
            );
        }
    }
    println!(
        "\nCPU / wall in ms; medians of {ROUNDS} rounds, one run where it takes over {} s of CPU",
        SLOW / 1e3
    );
    for (peer, program) in peers {
        println!("{}: {}", peer.name, peer.version(program));
    }
}

/// A session whose plan is this list, and is not approved yet.
fn planned(dir: &Path, count: usize) {
    // A list of 10,000 tasks is larger than artifacts may be where nothing is said.
    repository(dir, &[("loopx.toml", "[artifacts]\nmax_bytes = 8388608\n")]);
    let tasks: Vec<String> = (1..=count).map(task).collect();
    session(dir, tasks.join("\n") + "\n");
}

/// A repository with these files, set up for sessions.
fn repository(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files.iter().chain(&[("code.txt", "one\n")]) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    run("git", dir, &["init", "-q", "-b", "main"]);
    run("git", dir, &["add", "."]);
    run("git", dir, &["commit", "-q", "-m", "first"]);
    run(measure::loopx(), dir, &["init", "-q"]);
}

/// A session with this list, saved.
fn session(dir: &Path, tasks: String) {
    let loopx = measure::loopx();
    run("git", dir, &["switch", "-q", "-c", "work"]);
    run(loopx, dir, &["start", "-q", "--profile", "lite", SESSION]);
    for (name, text) in [
        ("plan.md", PLAN.to_owned()),
        ("change/spec-delta.md", DELTA.to_owned()),
        ("tasks.jsonl", tasks),
    ] {
        fs::write(dir.join(".loopx").join(SESSION).join(name), text).expect("a file");
    }
    run(loopx, dir, &["save", "-q"]);
}

/// Makes a session in the build, with a copy of each state that commands start from.
fn building_of(dir: &Path, count: usize) {
    planned(dir, count);
    keep_states(dir, ONE);
}

/// Approves the plan, and keeps a copy of each state that commands start from, up to a task whose check has passed.
fn keep_states(dir: &Path, first: &str) {
    let loopx = measure::loopx();
    run(
        loopx,
        dir,
        &["approve", "-q", "--enter", "--reason", "agreed"],
    );
    run("git", dir, &["gc", "-q"]);
    keep(dir, READY);
    run(loopx, dir, &["take", first, "-q"]);
    keep(dir, HELD);
    run(loopx, dir, &["run", "-q", "--task", first]);
    keep(dir, PROVEN);
}

/// Keeps git's own folder under a name.
fn keep(dir: &Path, name: &str) {
    peers::copy(&dir.join(".git"), &dir.with_extension(name));
}

/// A task with a file and a check of its own, in a chain of ten.
fn task(n: usize) -> String {
    let on = match n % 10 {
        1 => String::new(),
        _ => format!("\"TASK-{}\"", n - 1),
    };
    format!(
        r#"{{"id":"TASK-{n}","title":"{}","depends_on":[{on}],"files":[{{"path":"src/part-{n}.rs","action":"create"}}],"convergence":{{"criteria":["part {n} is there"],"verification":{{"cmd":["true"]}}}}}}"#,
        title(n)
    )
}

fn list(dir: &Path) -> PathBuf {
    dir.join(".loopx").join(SESSION).join("tasks.jsonl")
}

fn run(program: &str, dir: &Path, args: &[&str]) {
    measure::run(measure::command(program, dir).args(args));
}
