//! The spec engine against OpenSpec on the same files in the same run: whole processes, CPU and wall time.
//!
//! ```text
//! npm install --prefix DIR @fission-ai/openspec
//! LOOPX_OPENSPEC=DIR/node_modules/.bin/openspec cargo bench --bench openspec
//! ```
//!
//! prints the table of docs/speed.md; without `LOOPX_OPENSPEC` only this program is measured. OpenSpec validates and
//! moves files; git loopx does the same on sessions and specs that are kept in git, with its commits.
//! Every run of a command that writes gets a fresh copy of the tree with an index that is up to date, which is not
//! counted. LOOPX_BENCH_PROGRAM names another program to measure.

//!
//! ```text
//! cargo bench --bench openspec -- replay PATH
//! ```
//!
//! measures nothing: it archives once more what the git history at PATH archived below `openspec/`, and
//! prints how much of what the commits did to the specs comes out here, and what is refused, and why.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;
mod replay;
#[path = "../tests/it/support/mod.rs"]
mod support;

use measure::{children_cpu_ms, median};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use support::archive::Yard;

/// Specs, and as many changes; a spec has five requirements of two scenarios each.
const MANY: usize = 1_000;
const ROUNDS: usize = 5;
/// The session that is archived; it changes what no other change touches.
const ONE: &str = "one-more";
const ALL: &str = "new-limits";

struct Case {
    name: &'static str,
    loopx: Vec<Vec<&'static str>>,
    openspec: Vec<&'static str>,
    /// The repository and the tree that the commands run in; a fresh copy where they write.
    repository: PathBuf,
    tree: PathBuf,
    writes: bool,
}

#[derive(Default)]
struct Measured {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

fn main() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == "replay") {
        let path = args
            .next()
            .expect("cargo bench --bench openspec -- replay PATH");
        return replay::run(Path::new(&path));
    }
    support::place::on_disk();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let openspec = std::env::var_os("LOOPX_OPENSPEC").filter(|path| !path.is_empty());
    let (repository, tree, _keep) = prepare(&temporary.path().join("many"), ONE, &delta(0..1));
    let (wide, wide_tree, _keep_wide) =
        prepare(&temporary.path().join("wide"), ALL, &delta(0..MANY));
    let cases = [
        Case {
            name: "validate 1,000 specs and 1,000 changes",
            loopx: vec![
                vec!["spec", "validate", "--strict", "--json", "specs"],
                vec!["change", "validate", "--all", "--json"],
            ],
            openspec: vec![
                "validate",
                "--all",
                "--strict",
                "--json",
                "--no-interactive",
            ],
            repository: repository.clone(),
            tree: tree.clone(),
            writes: false,
        },
        Case {
            name: "archive one change, beside 1,000",
            loopx: vec![vec!["-s", ONE, "archive", "--onto", "main"]],
            openspec: vec!["archive", ONE, "-y"],
            repository,
            tree,
            writes: true,
        },
        Case {
            name: "archive one change over 1,000 domains",
            loopx: vec![vec!["-s", ALL, "archive", "--onto", "main"]],
            openspec: vec!["archive", ALL, "-y"],
            repository: wide,
            tree: wide_tree,
            writes: true,
        },
    ];
    println!(
        "| what | git loopx, CPU s | wall s | OpenSpec, CPU s | wall s | CPU, times less | wall |"
    );
    println!("|---|---|---|---|---|---|---|");
    for case in &cases {
        let (mut ours, mut theirs) = (Measured::default(), Measured::default());
        for _ in 0..ROUNDS {
            let loopx = |dir: &Path| {
                for args in &case.loopx {
                    run(measure::loopx().as_ref(), args, dir);
                }
            };
            ours.take(&case.repository, case.writes, loopx);
            if let Some(program) = &openspec {
                theirs.take(&case.tree, case.writes, |dir| {
                    run(program, &case.openspec, dir)
                });
            }
        }
        let (cpu, wall) = (median(&ours.cpu), median(&ours.wall));
        if openspec.is_none() {
            println!(
                "| {} | {cpu:.3} | {wall:.3} | not measured | | | |",
                case.name
            );
            continue;
        }
        let (their_cpu, their_wall) = (median(&theirs.cpu), median(&theirs.wall));
        println!(
            "| {} | {cpu:.3} | {wall:.3} | {their_cpu:.2} | {their_wall:.2} | {:.0}x | {:.0}x |",
            case.name,
            their_cpu / cpu,
            their_wall / wall
        );
    }
    if let Some(program) = &openspec {
        let version = command(program, &["--version"], Path::new("."))
            .stdout(Stdio::piped())
            .output()
            .expect("start OpenSpec");
        let version = String::from_utf8_lossy(&version.stdout);
        println!("\nOpenSpec {}; medians of {ROUNDS} rounds", version.trim());
    }
}

impl Measured {
    /// Measures a single run, in a copy of the folder when it writes.
    fn take(&mut self, folder: &Path, writes: bool, run: impl Fn(&Path)) {
        let copy = tempfile::tempdir_in(folder.parent().expect("a parent")).expect("a folder");
        let dir = if writes {
            let done = Command::new("cp")
                .arg("-a")
                .arg(folder)
                .arg(copy.path())
                .status()
                .expect("start cp");
            assert!(done.success(), "copying failed");
            let dir = copy.path().join(folder.file_name().expect("a name"));
            if dir.join(".git").exists() {
                // A copied file looks like an edited one until git has looked into it.
                let args = ["update-index", "-q", "--refresh"];
                measure::run(measure::command("git", &dir).args(args));
            }
            dir
        } else {
            folder.to_path_buf()
        };
        let (before, started) = (children_cpu_ms(), Instant::now());
        run(&dir);
        self.wall.push(started.elapsed().as_secs_f64());
        self.cpu.push((children_cpu_ms() - before) / 1e3);
    }
}

/// An OpenSpec tree, and a repository that took it over, with one session more that is ready to be
/// archived. The yard is what holds the repository's folder.
fn prepare(dir: &Path, id: &str, delta: &str) -> (PathBuf, PathBuf, Yard) {
    let tree = dir.join("tree");
    write_tree(&tree, id, delta);
    let yard = Yard::new();
    // The one change is made there by hand: an imported one begins at clarify.
    let specs = tree.join("openspec");
    let copied = Command::new("cp")
        .arg("-a")
        .arg(&specs)
        .arg(yard.path())
        .status()
        .expect("start cp");
    assert!(copied.success(), "copying failed");
    std::fs::remove_dir_all(yard.path().join(format!("openspec/changes/{id}")))
        .expect("the change");
    yard.loopx(&["import", "openspec"]).ok();
    std::fs::remove_dir_all(yard.path().join("openspec")).expect("the tree");
    // OpenSpec asks for no evidence.
    yard.write("loopx.toml", "[archive]\nevidence = \"off\"\n");
    yard.git(&["add", "specs", "loopx.toml"]).ok();
    yard.git(&["commit", "--quiet", "-m", "take the specs over"])
        .ok();
    yard.git(&["rm", "-rq", "specs/demo"]).ok();
    yard.git(&["commit", "--quiet", "-m", "only those"]).ok();
    yard.done(id, delta);
    yard.git(&["switch", "--quiet", "main"]).ok();
    yard.git(&["gc", "--quiet"]).ok();
    (yard.path().to_path_buf(), tree, yard)
}

fn write_tree(tree: &Path, id: &str, delta: &str) {
    let write = |path: String, text: &str| {
        let path = tree.join("openspec").join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("write a file");
    };
    write("config.yaml".into(), "schema: spec-driven\n");
    for n in 0..MANY {
        write(format!("specs/{}/spec.md", domain(n)), &spec(n));
    }
    let change = |id: &str, delta: &str| {
        write(
            format!("changes/{id}/proposal.md"),
            "# Change\n\n## Why\n\nThe limits are wrong, and everybody who meets them is held up by that.\n\n\
             ## What Changes\n\n- the limits\n",
        );
        write(
            format!("changes/{id}/tasks.md"),
            "## 1. Do\n\n- [x] 1.1 it\n",
        );
        for part in delta.split("# Domain: ").skip(1) {
            let (domain, text) = part.split_once('\n').expect("a domain line");
            write(format!("changes/{id}/specs/{domain}/spec.md"), text);
        }
    };
    for n in 0..MANY {
        change(&format!("change-{n:04}"), &imported(n));
    }
    change(id, delta);
}

fn domain(n: usize) -> String {
    format!("domain-{n:04}")
}

fn requirement(name: &str, limit: usize) -> String {
    format!(
        "### Requirement: {name}\nThe system SHALL answer within {limit} milliseconds.\n\n\
         #### Scenario: {name} in time\n- **WHEN** a request comes\n- **THEN** the answer takes less than {limit} ms\n\n\
         #### Scenario: {name} too late\n- **WHEN** no answer comes in {limit} ms\n- **THEN** an error is given\n\n"
    )
}

fn spec(n: usize) -> String {
    let mut text = format!(
        "# {} Specification\n\n## Purpose\nHow fast the part number {n} of the system has to answer its callers.\n\n## Requirements\n\n",
        domain(n)
    );
    for at in 0..5 {
        text.push_str(&requirement(&format!("Limit {at}"), 100 + at));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Delta of one requirement modified and one added in one domain.
fn imported(n: usize) -> String {
    format!(
        "# Domain: {}\n## MODIFIED Requirements\n\n{}## ADDED Requirements\n\n{}",
        domain(n),
        requirement("Limit 1", 500),
        requirement("Extra", 700),
    )
}

/// Delta of the same in many domains, for other requirements.
fn delta(domains: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for n in domains {
        let (modified, added) = (requirement("Limit 3", 900), requirement("More", 800));
        write!(
            text,
            "# Domain: {}\n\n## MODIFIED Requirements\n\n{modified}## ADDED Requirements\n\n{added}",
            domain(n)
        )
        .expect("write to a string");
    }
    text
}

fn run(program: &std::ffi::OsStr, args: &[&str], dir: &Path) {
    let out = command(program, args, dir)
        .output()
        .expect("start a command");
    assert!(
        out.status.success(),
        "{} {args:?}: {}{}",
        program.display(),
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

fn command(program: &std::ffi::OsStr, args: &[&str], dir: &Path) -> Command {
    let mut command = measure::command(program, dir);
    command
        .args(args)
        .stdin(Stdio::null())
        .env("OPENSPEC_TELEMETRY", "0")
        .env("DO_NOT_TRACK", "1")
        .env("CI", "true");
    command
}
