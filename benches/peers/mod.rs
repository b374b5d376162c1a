//! Other programs that keep lists of tasks: how each is given a list of some length, and how each says what this
//! program says. Each is found by a variable that names its program, else on PATH, and left out where it is not there.

use crate::measure;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Steps that are measured of every program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    List,
    Add,
    Claim,
    Done,
}

/// A program beside ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    variable: &'static str,
    /// Program of the peer, and how its version begins: others have the name, too.
    on_path: (&'static str, &'static str),
    version: &'static [&'static str],
    /// Writes a list of so many tasks.
    fill: fn(&str, &Path, usize),
    /// The arguments of each command; the task is the first.
    list: &'static [&'static str],
    add: &'static [&'static str],
    claim: &'static [&'static str],
    done: &'static [&'static str],
    /// Files that the peer's commands change, from its folder.
    keeps: &'static str,
}

pub(crate) const PEERS: [Peer; 4] = [
    Peer {
        name: "br",
        variable: "LOOPX_BENCH_BR",
        on_path: ("br", "br "),
        version: &["--version"],
        fill: beads,
        list: &["list", "--json", "--limit", "0"],
        add: &["create", "Added"],
        claim: &["update", "bench-1", "--claim"],
        done: &["close", "bench-1"],
        keeps: ".beads",
    },
    Peer {
        name: "Backlog.md",
        variable: "LOOPX_BENCH_BACKLOG",
        on_path: ("backlog", "1"),
        version: &["--version"],
        fill: backlog,
        list: &["task", "list", "--json"],
        add: &["task", "create", "Added", "--plain"],
        claim: &[
            "task",
            "edit",
            "1",
            "-s",
            "In Progress",
            "-a",
            "@me",
            "--plain",
        ],
        done: &["task", "edit", "1", "-s", "Done", "--plain"],
        keeps: "backlog/tasks",
    },
    Peer {
        name: "Task Master",
        variable: "LOOPX_BENCH_TASKMASTER",
        on_path: ("task-master", "0"),
        version: &["--version"],
        fill: task_master,
        list: &["list", "--json"],
        add: &[
            "add-task",
            "--title",
            "Added",
            "--description",
            "It is there",
        ],
        claim: &["set-status", "--id=1", "--status=in-progress"],
        done: &["set-status", "--id=1", "--status=done"],
        keeps: ".taskmaster",
    },
    Peer {
        name: "Taskwarrior",
        variable: "LOOPX_BENCH_TASKWARRIOR",
        on_path: ("task", "2"),
        version: &["--version"],
        fill: taskwarrior,
        list: &["export"],
        add: &["add", "Added"],
        claim: &["1", "start"],
        done: &["1", "done"],
        keeps: ".task",
    },
];

impl Peer {
    /// The program that the variable names, else the one on PATH; an empty variable leaves it out.
    pub(crate) fn program(&self) -> Option<String> {
        if let Ok(named) = std::env::var(self.variable) {
            return (!named.is_empty()).then_some(named);
        }
        let (name, begins) = self.on_path;
        let folders = std::env::var_os("PATH")?;
        let programs = std::env::split_paths(&folders).map(|folder| folder.join(name));
        let program = programs.into_iter().find(|program| program.is_file())?;
        let program = program.to_str()?.to_owned();
        (self.version(&program).starts_with(begins)).then_some(program)
    }

    /// Version that the peer says of itself.
    pub(crate) fn version(&self, program: &str) -> String {
        let out = command(program, Path::new("/")).args(self.version).output();
        let out = out.expect("start a peer");
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    pub(crate) fn args(&self, what: What) -> &'static [&'static str] {
        match what {
            What::List => self.list,
            What::Add => self.add,
            What::Claim => self.claim,
            What::Done => self.done,
        }
    }

    /// A folder with a list of so many tasks, all of which its own list shows.
    pub(crate) fn prepare(&self, program: &str, dir: &Path, count: usize) {
        fs::create_dir_all(dir).expect("a folder");
        measure::run(command("git", dir).args(["init", "-q", "-b", "main"]));
        (self.fill)(program, dir, count);
        let listed = command(program, dir).args(self.list).output();
        let listed = listed.expect("start a peer").stdout;
        let listed = String::from_utf8_lossy(&listed);
        let shown = listed.split('"').filter(|word| word.starts_with("Part "));
        let shown: BTreeSet<&str> = shown.collect();
        assert_eq!(shown.len(), count, "{}: {listed:.300}", self.name);
        copy(&dir.join(self.keeps), &kept(dir));
    }

    /// The list as it was.
    pub(crate) fn restore(&self, dir: &Path) {
        put_back(&kept(dir), &dir.join(self.keeps));
    }
}

/// Place for a copy beside the folder, so that no peer reads it.
fn kept(dir: &Path) -> PathBuf {
    dir.with_extension("kept")
}

/// A folder as it was.
pub(crate) fn put_back(kept: &Path, folder: &Path) {
    fs::remove_dir_all(folder).expect("a folder");
    copy(kept, folder);
}

pub(crate) fn copy(from: &Path, to: &Path) {
    measure::run(Command::new("cp").arg("-a").args([from, to]));
}

/// A command of a peer: none asks, looks for updates, or tells anybody anything.
pub(crate) fn command(program: &str, dir: &Path) -> Command {
    let mut command = measure::command(program, dir);
    command
        .env("CI", "1")
        .env("DO_NOT_TRACK", "1")
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null());
    command
}

/// The title of a task.
pub(crate) fn title(n: usize) -> String {
    format!("Part {n}")
}

const AT: &str = "2026-01-01T00:00:00Z";

fn beads(program: &str, dir: &Path, count: usize) {
    measure::run(command(program, dir).args(["init", "--prefix", "bench"]));
    let mut text = String::new();
    for n in 1..=count {
        writeln!(
            text,
            r#"{{"id":"bench-{n}","title":"{}","status":"open","priority":2,"issue_type":"task","created_at":"{AT}","updated_at":"{AT}"}}"#,
            title(n)
        )
        .expect("a string");
    }
    fs::write(dir.join(".beads/issues.jsonl"), text).expect("a file");
    measure::run(command(program, dir).args(["sync", "--import-only"]));
}

fn backlog(program: &str, dir: &Path, count: usize) {
    let off = [
        "init",
        "bench",
        "--defaults",
        "--integration-mode",
        "none",
        "--check-branches",
        "false",
        "--include-remote",
        "false",
    ];
    measure::run(command(program, dir).args(off));
    let folder = dir.join("backlog/tasks");
    fs::create_dir_all(&folder).expect("a folder");
    for n in 1..=count {
        let title = title(n);
        let text = format!(
            "---\nid: TASK-{n}\ntitle: {title}\nstatus: To Do\nassignee: []\ncreated_date: '2026-01-01 00:00'\n\
             labels: []\ndependencies: []\nordinal: {n}000\n---\n\n## Description\n\n\
             <!-- SECTION:DESCRIPTION:BEGIN -->\nIt is there\n<!-- SECTION:DESCRIPTION:END -->\n"
        );
        let file = format!("task-{n} - {}.md", title.replace(' ', "-"));
        fs::write(folder.join(file), text).expect("a file");
    }
}

fn task_master(_: &str, dir: &Path, count: usize) {
    let task = |n: usize| {
        format!(
            r#"{{"id":{n},"title":"{}","description":"It is there","details":"","testStrategy":"","status":"pending","dependencies":[],"priority":"medium","subtasks":[]}}"#,
            title(n)
        )
    };
    let tasks: Vec<String> = (1..=count).map(task).collect();
    let text = format!(
        r#"{{"master":{{"tasks":[{}],"metadata":{{"created":"{AT}","updated":"{AT}","description":"bench"}}}}}}"#,
        tasks.join(",\n")
    );
    let folder = dir.join(".taskmaster/tasks");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("tasks.json"), text).expect("a file");
}

fn taskwarrior(program: &str, dir: &Path, count: usize) {
    let settings = format!(
        "data.location={}\nconfirmation=off\n",
        dir.join(".task").display()
    );
    fs::write(dir.join(".taskrc"), settings).expect("a file");
    let task = |n: usize| {
        format!(
            r#"{{"uuid":"{n:08x}-0000-4000-8000-000000000000","description":"{}","status":"pending","entry":"20260101T000000Z"}}"#,
            title(n)
        )
    };
    let tasks: Vec<String> = (1..=count).map(task).collect();
    fs::write(dir.join("in.json"), format!("[{}]", tasks.join(",\n"))).expect("a file");
    measure::run(command(program, dir).args(["import", "in.json"]));
}
