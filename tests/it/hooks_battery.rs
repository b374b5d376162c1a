//! A dozen commits beside each real manager, which LOOPX_TEST_MANAGERS has (see `hooks_managers`): installed
//! before ours and after, in the main and in a linked worktree, and taken away in both orders.

use crate::hooks_managers::Managed;
use crate::support::hooks::EVENTS;
use crate::support::session::begin;
use crate::support::{Call, LOOPX, Output};
use loopx_hosts::hooks::manager::Manager;
use std::fs;
use std::path::{Path, PathBuf};

/// Hooks of ours that a manager goes on with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Our shims, beside its own.
    Shims,
    /// Our lines in scripts, which are in a folder of each worktree.
    Scripts,
    /// Our lines in a file, in a section for each event.
    Sections,
}

/// Manager, and how it is used.
struct Row {
    manager: Manager,
    /// Configuration of the manager, with the command OWN on pre-commit.
    files: &'static [(&'static str, &'static str)],
    install: &'static [&'static str],
    uninstall: &'static [&'static str],
    takes: Takes,
    /// Tells whether its own hook runs where no file is staged.
    runs_on_nothing: bool,
}

const CONFIG: &str = "repos:\n- repo: local\n  hooks:\n  - id: own\n    name: own\n    entry: OWN\n    \
                      language: system\n    always_run: true\n    pass_filenames: false\n";

const ROWS: [Row; 7] = [
    Row {
        manager: Manager::Husky,
        files: &[(".husky/pre-commit", "OWN\n"), ("package.json", "{}\n")],
        install: &["husky"],
        uninstall: &["git", "config", "--unset", "core.hooksPath"],
        takes: Takes::Scripts,
        runs_on_nothing: true,
    },
    Row {
        manager: Manager::Lefthook,
        files: &[(
            "lefthook.yml",
            "pre-commit:\n  commands:\n    own:\n      run: OWN\n",
        )],
        install: &["lefthook", "install"],
        uninstall: &["lefthook", "uninstall"],
        takes: Takes::Shims,
        runs_on_nothing: false,
    },
    Row {
        manager: Manager::Prek,
        files: &[(".pre-commit-config.yaml", CONFIG)],
        install: &["prek", "install"],
        uninstall: &["prek", "uninstall"],
        takes: Takes::Shims,
        runs_on_nothing: true,
    },
    Row {
        manager: Manager::PreCommit,
        files: &[(".pre-commit-config.yaml", CONFIG)],
        install: &["pre-commit", "install"],
        uninstall: &["pre-commit", "uninstall"],
        takes: Takes::Shims,
        runs_on_nothing: true,
    },
    Row {
        manager: Manager::SimpleGitHooks,
        files: &[(
            "package.json",
            "{\"devDependencies\": {\"simple-git-hooks\": \"*\"}, \"simple-git-hooks\": {\"pre-commit\": \"OWN\"}}\n",
        )],
        install: &["simple-git-hooks"],
        uninstall: &["node", "UNINSTALL"],
        takes: Takes::Shims,
        runs_on_nothing: true,
    },
    Row {
        manager: Manager::Hk,
        files: &[(
            "hk.pkl",
            "amends \"package://github.com/jdx/hk/releases/download/vVERSION/hk@VERSION#/Config.pkl\"\n\
             hooks {\n[\"pre-commit\"] { steps { [\"own\"] { check = \"OWN\" } } }\n}\n",
        )],
        // It writes over no hook that is not its own, unless it is told to.
        install: &["hk", "install", "--force"],
        uninstall: &["hk", "uninstall"],
        takes: Takes::Shims,
        runs_on_nothing: true,
    },
    Row {
        manager: Manager::Overcommit,
        files: &[(
            OVERCOMMIT,
            "PreCommit:\n  ALL: { enabled: false }\n  Own: { enabled: true, command: [OWN] }\n\
             CommitMsg:\n  ALL: { enabled: false }\nPrePush:\n  ALL: { enabled: false }\n",
        )],
        install: &[
            "sh",
            "-c",
            "overcommit --install && overcommit --sign && overcommit --sign pre-commit",
        ],
        uninstall: &["overcommit", "--uninstall"],
        takes: Takes::Sections,
        runs_on_nothing: false,
    },
];

const OVERCOMMIT: &str = ".overcommit.yml";

/// A repository with a session in stage clarify, in a worktree.
struct Bench {
    m: Managed,
    row: &'static Row,
    /// File that the manager's own hook writes to.
    own: PathBuf,
}

impl Bench {
    fn new(row: &'static Row) -> Option<Bench> {
        let m = Managed::new(row.manager)?;
        let own = m.s.root().join("own.log");
        let script = m.s.root().join("own");
        let text = format!(
            "#!/bin/sh\necho own >>'{}'\n[ -z \"$OWN_FAILS\" ]\n",
            own.display()
        );
        m.s.script(&script, &text);
        let version = || {
            let said = m.call("hk").args(&["--version"]).run().line();
            said.rsplit(' ').next().unwrap_or_default().to_owned()
        };
        for (file, text) in row.files {
            let mut text = text.replace("OWN", script.to_str().expect("UTF-8"));
            if text.contains("VERSION") {
                text = text.replace("VERSION", &version());
            }
            m.s.write(file, text);
        }
        begin(&m.s, "");
        Some(Bench { m, row, own })
    }

    fn theirs(&self, dir: &Path, command: &[&str]) -> Output {
        let script = self.m.tools.join("simple-git-hooks").canonicalize();
        let uninstall = script.map(|script| script.with_file_name("uninstall.js"));
        let uninstall = uninstall.unwrap_or_default().display().to_string();
        let args: Vec<String> = command[1..]
            .iter()
            .map(|arg| arg.replace("UNINSTALL", &uninstall))
            .collect();
        self.m.call(command[0]).cwd(dir).args(&args).run()
    }

    fn ours(&self, args: &[&str]) -> Output {
        self.m.call(LOOPX).args(&[&["hooks"], args].concat()).run()
    }

    /// Installs ours, or adds the lines that are printed instead.
    fn install_ours(&self) {
        let out = self.ours(&["install", "--json"]);
        let takes = self.row.takes;
        if takes == Takes::Shims || out.code == Some(0) {
            out.ok();
            return;
        }
        let error = out.error_json()["error"].clone();
        for blocker in error["blockers"].as_array().expect("blockers") {
            let place = blocker["message"].as_str().expect("a place");
            let line = blocker["help"].as_str().expect("a line");
            let place = place
                .strip_prefix("add to ")
                .and_then(|place| place.strip_suffix(':'))
                .unwrap_or_else(|| panic!("{place}"));
            let (section, file) = place.split_once(" of ").unwrap_or(("", place));
            let path = self.m.s.path().join(file);
            let before = fs::read_to_string(&path).unwrap_or_default();
            let text = match section.split('`').nth(1) {
                Some(section) => {
                    let head = format!("{section}:\n");
                    assert!(before.contains(&head), "{place}: {before}");
                    before.replacen(&head, &format!("{head}  {line}\n"), 1)
                }
                None => format!("{before}{line}\n"),
            };
            self.m.s.write(&path, text);
            self.m.s.git(&["add", file]).ok();
        }
        // Until its file is signed, each of its hooks refuses.
        if takes == Takes::Sections {
            let activate = self.row.manager.activate().expect("a command");
            self.theirs(self.m.s.path(), &["sh", "-c", activate]).ok();
        }
        self.commit(self.m.s.path(), &["--no-verify", "-m", "lines"])
            .run()
            .ok();
        self.ours(&["install"]).says("nothing to do").ok();
    }

    /// Takes our lines out of its configuration.
    fn remove_lines(&self) {
        let top = self.m.s.path();
        match self.row.takes {
            Takes::Shims => {}
            Takes::Scripts => {
                self.ours(&["uninstall"]).says(".husky/pre-commit");
                for event in EVENTS {
                    drop(fs::remove_file(top.join(".husky").join(event)));
                }
            }
            Takes::Sections => {
                self.ours(&["uninstall"]).says(OVERCOMMIT);
                let text = self.m.s.read(OVERCOMMIT);
                let kept = text.lines().filter(|line| !line.contains("Loopx:"));
                let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
                self.m.s.write(OVERCOMMIT, kept);
                self.theirs(top, &["overcommit", "--sign"]).ok();
            }
        }
    }

    fn commit<'a>(&'a self, dir: &Path, args: &[&str]) -> Call<'a> {
        self.m
            .call("git")
            .cwd(dir)
            .args(&[&["commit", "--quiet"], args].concat())
    }

    /// Counts the runs of the manager's own hook since the last time.
    fn own_runs(&self) -> usize {
        let runs = fs::read_to_string(&self.own)
            .unwrap_or_default()
            .lines()
            .count();
        drop(fs::remove_file(&self.own));
        runs
    }

    /// Twelve commits in a worktree: which pass, and whether the manager's own hook ran.
    fn battery(&self, dir: &Path) {
        let s = &self.m.s;
        let name = self.row.manager.name();
        let stage = |path: &str, text: &str| {
            s.write(dir.join(path), text);
            s.git_in(dir, &["add", path]).ok();
        };
        let head = s.git_in(dir, &["rev-parse", "HEAD"]).line();
        let back = || s.git_in(dir, &["reset", "--quiet", "--hard"]).ok();
        let refused = |call: Call<'_>, what: &str| {
            let out = call.run();
            assert_ne!(out.code, Some(0), "{name}, {what}: {out}");
            assert!(
                out.to_string().contains("takes no code"),
                "{name}, {what}: {out}"
            );
            back();
        };
        let passed = |call: Call<'_>, own: usize, what: &str| {
            let out = call.run();
            assert_eq!(out.code, Some(0), "{name}, {what}: {out}");
            assert_eq!(self.own_runs(), own, "{name}, {what}: {out}");
        };
        let commit = |args: &[&str]| self.commit(dir, args);
        self.own_runs();
        stage("docs/a", "a");
        passed(commit(&["-m", "document"]), 1, "1 a document");
        assert_eq!(
            s.git_in(
                dir,
                &[
                    "log",
                    "-1",
                    "--format=%(trailers:key=Loopx-Session,valueonly)"
                ]
            )
            .line(),
            s.git_in(dir, &["branch", "--show-current"]).line()
        );
        stage("docs/a", "b");
        passed(commit(&["--amend", "-m", "again"]), 1, "2 amend");
        let runs = usize::from(self.row.runs_on_nothing);
        passed(commit(&["--allow-empty", "-m", "empty"]), runs, "3 empty");
        stage("docs/b", "b");
        let below = dir.join("docs");
        passed(
            self.commit(&below, &["-m", "below"]),
            1,
            "4 from a folder below",
        );
        stage("docs/c", "c");
        s.write(dir.join("src/old.rs"), "other\n");
        passed(commit(&["-m", "one path", "docs/c"]), 1, "5 one path");
        back();
        s.write(s.root().join("message"), "from a file\n");
        stage("docs/d", "d");
        passed(commit(&["-F", "../message"]), 1, "6 a message from a file");
        stage("src/new.rs", "code\n");
        refused(commit(&["-m", "code"]), "7 code");
        s.write(dir.join("src/old.rs"), "other\n");
        refused(commit(&["-am", "all"]), "8 code by -a");
        stage("src/new.rs", "code\n");
        let bare = commit(&["-m", "code"]).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        refused(bare, "9 code with the PATH of a program with a window");
        self.own_runs();
        stage("docs/e", "e");
        let out = commit(&["-m", "no"]).env("OWN_FAILS", "1").run();
        assert_ne!(out.code, Some(0), "{name}, 10 its own hook says no: {out}");
        back();
        self.own_runs();
        stage("src/new.rs", "code\n");
        passed(commit(&["-m", "x"]).env("LOOPX", "0"), 1, "11 LOOPX=0");
        s.git_in(dir, &["reset", "--quiet", "--hard", "HEAD~"]).ok();
        stage("src/new.rs", "code\n");
        passed(commit(&["--no-verify", "-m", "x"]), 0, "12 --no-verify");
        s.git_in(dir, &["reset", "--quiet", "--hard", &head]).ok();
    }

    /// The hooks that stand in the repository's folder.
    fn hooks(&self) -> Vec<String> {
        let entries = fs::read_dir(self.m.s.path().join(".git/hooks")).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        };
        let all = entries.map(name);
        all.filter(|name| !name.ends_with(".sample")).collect()
    }
}

fn install(bench: &Bench, ours_first: bool) {
    let top = bench.m.s.path();
    let name = bench.row.manager.name();
    if ours_first {
        bench.ours(&["install"]).ok();
        bench.theirs(top, bench.row.install).ok();
        // Whatever it did to ours: nothing that may pass is stopped, and status knows.
        let call = bench.commit(top, &["--allow-empty", "-m", "between"]);
        let out = call.run();
        assert_eq!(out.code, Some(0), "{name}: {out}");
        let status = bench.ours(&["status"]);
        let is_moved = matches!(bench.row.manager, Manager::PreCommit | Manager::Prek);
        assert_eq!(
            status.code,
            Some(if is_moved { 0 } else { 1 }),
            "{name}: {status}"
        );
    } else {
        // And once more, over ours: what we keep is its own hook.
        bench.theirs(top, bench.row.install).ok();
        bench.install_ours();
        bench.theirs(top, bench.row.install).ok();
        let out = bench.commit(top, &["--allow-empty", "-m", "again"]).run();
        assert_eq!(out.code, Some(0), "{name}: {out}");
    }
    bench.install_ours();
    bench.ours(&["status"]).ok();
}

fn uninstall(bench: &Bench, ours_first: bool) {
    let top = bench.m.s.path();
    let name = bench.row.manager.name();
    let ours = || {
        bench.remove_lines();
        // What is left of an install is forgotten.
        let out = bench.ours(&["uninstall"]);
        assert!(matches!(out.code, Some(0 | 5)), "{name}: {out}");
    };
    let theirs = || bench.theirs(top, bench.row.uninstall);
    if ours_first {
        ours();
        theirs().ok();
    } else {
        theirs().ok();
        ours();
        // What we kept of it is back, and goes with its own command.
        let _ = theirs();
    }
    assert_eq!(bench.hooks(), [""; 0], "{name}");
    bench.ours(&["status"]).says("no hook of git loopx").ok();
    bench.m.s.write("src/new.rs", "code\n");
    bench.m.s.git(&["add", "src"]).ok();
    bench.commit(top, &["-m", "code"]).run().ok();
}

fn run(manager: Manager) {
    let row = ROWS.iter().find(|row| row.manager == manager);
    let row = row.expect("a row of the table");
    for (install_first, uninstall_first) in
        [(false, true), (true, false), (true, true), (false, false)]
    {
        let Some(bench) = Bench::new(row) else {
            return;
        };
        let s = &bench.m.s;
        install(&bench, install_first);
        bench.battery(s.path());
        let linked = s.root().join("linked");
        s.git(&["worktree", "add", "--quiet", "-b", "linked", "../linked"])
            .ok();
        s.loopx_in(&linked, &["start", "linked"]).ok();
        if row.takes == Takes::Scripts {
            bench.ours(&["status"]).fails_with(1).says("absent");
            bench.theirs(&linked, row.install).ok();
        }
        bench.ours(&["status"]).ok();
        bench.battery(&linked);
        s.git(&["worktree", "remove", "--force", "../linked"]).ok();
        uninstall(&bench, uninstall_first);
    }
}

#[test]
fn battery_with_husky() {
    run(Manager::Husky);
}

#[test]
fn battery_with_lefthook() {
    run(Manager::Lefthook);
}

#[test]
fn battery_with_prek() {
    run(Manager::Prek);
}

#[test]
fn battery_with_pre_commit() {
    run(Manager::PreCommit);
}

#[test]
fn battery_with_simple_git_hooks() {
    run(Manager::SimpleGitHooks);
}

#[test]
fn battery_with_hk() {
    run(Manager::Hk);
}

#[test]
fn battery_with_overcommit() {
    run(Manager::Overcommit);
}
