//! The lines that we print for hook managers, given to the real ones. LOOPX_TEST_MANAGERS names a
//! folder with their programs (`husky`, `lefthook`, `prek`, `pre-commit`, `hk`, `overcommit`); one that is not there
//! is skipped, and says so.

use crate::support::hooks::{foreign, shims};
use crate::support::{Call, LOOPX, Output, Sandbox};
use loopx_hosts::hooks::Event;
use loopx_hosts::hooks::manager::Manager;
use std::fs;
use std::path::{Path, PathBuf};

/// A repository in which a manager is set up with a hook of its own for each commit.
pub(crate) struct Managed {
    pub(crate) s: Sandbox,
    pub(crate) tools: PathBuf,
    calls: PathBuf,
}

impl Managed {
    #[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
    pub(crate) fn new(manager: Manager) -> Option<Managed> {
        let name = manager.name();
        let Some(tools) = std::env::var_os("LOOPX_TEST_MANAGERS").filter(|dir| !dir.is_empty())
        else {
            eprintln!("skipped: LOOPX_TEST_MANAGERS names no folder with {name}");
            return None;
        };
        let tools = PathBuf::from(tools);
        if !tools.join(name).exists() {
            eprintln!("skipped: no {name} in {}", tools.display());
            return None;
        }
        let s = shims("repo");
        let calls = s.root().join("calls");
        Some(Managed { s, tools, calls })
    }

    /// Call with the manager's programs and a git-loopx that writes down how it is called.
    pub(crate) fn call(&self, program: impl AsRef<Path>) -> Call<'_> {
        let machine = std::env::var("PATH").expect("PATH");
        let path = format!(
            "{}:{}:{machine}",
            self.s.root().join("bin").display(),
            self.tools.display()
        );
        self.s.call(program.as_ref()).env("PATH", path)
    }

    fn git(&self, args: &[&str]) -> Output {
        self.call("git").args(args).run()
    }

    fn commit(&self, words: &str) -> Output {
        self.s.write("file", words);
        self.git(&["add", "."]).ok();
        self.git(&["commit", "-m", words])
    }

    /// Puts a git-loopx in front that exits with this code.
    fn loopx_exits(&self, code: u8) {
        let text = format!(
            "#!/bin/sh\n{{ printf '[%s]' \"$@\"; [ \"$2\" != pre-push ] || cat; echo .; }} >>'{}'\nexit {code}\n",
            self.calls.display()
        );
        self.s.program("git-loopx", &text);
    }

    /// Calls of git-loopx since the last time.
    fn called(&self) -> String {
        let calls = fs::read_to_string(&self.calls).unwrap_or_default();
        drop(fs::remove_file(&self.calls));
        calls
    }

    /// Adds our lines by a rule of the format, and activates them.
    fn add_lines(&self, manager: Manager, file: Option<&str>, place: fn(&str, &str) -> String) {
        for event in Event::ALL {
            let line = manager.line(event, file.map(str::to_owned));
            let path = self.s.path().join(&line.file);
            let before = fs::read_to_string(&path).unwrap_or_default();
            self.s.write(&path, place(&before, &line.line));
        }
        if let Some(activate) = manager.activate() {
            self.call("sh").args(&["-c", activate]).run().ok();
        }
    }

    /// Called for every event of a commit and a push, with what git gave; stops git when we say no;
    /// and nobody is stopped where git-loopx is missing.
    fn holds(&self, stdin: bool) {
        self.s
            .git(&["init", "--quiet", "--bare", "../remote.git"])
            .ok();
        // hk knows no remote that has no name.
        self.s
            .git(&["remote", "add", "origin", "../remote.git"])
            .ok();
        self.loopx_exits(0);
        self.commit("one").ok();
        let called = self.called();
        assert!(called.contains("[hook][pre-commit]"), "{called}");
        let message = called
            .split("[hook][commit-msg][")
            .nth(1)
            .and_then(|rest| rest.split(']').next())
            .unwrap_or_else(|| panic!("{called}"));
        assert!(message.ends_with("COMMIT_EDITMSG"), "{called}");
        self.git(&["push", "origin", "main"]).ok();
        let called = self.called();
        assert!(called.contains("[hook][pre-push]"), "{called}");
        if stdin {
            let head = self.s.git(&["rev-parse", "HEAD"]).line();
            assert!(
                called.contains(&format!("[../remote.git]refs/heads/main {head}")),
                "{called}"
            );
        }
        self.loopx_exits(1);
        assert_ne!(self.commit("two").code, Some(0));
        assert!(!self.called().is_empty());
        fs::remove_file(self.s.root().join("bin/git-loopx")).expect("removed");
        self.commit("three").ok();
        assert_eq!(self.called(), "");
    }
}

fn at_the_end(before: &str, line: &str) -> String {
    format!("{before}{line}\n")
}

#[test]
fn husky_runs_its_line() {
    let Some(m) = Managed::new(Manager::Husky) else {
        return;
    };
    m.s.write("package.json", "{}\n");
    m.call("husky").run().ok();
    // The printed refusal is where a person finds the lines.
    let out = m.call(LOOPX).args(&["hooks", "install"]).run();
    out.fails_with(1)
        .says("husky owns it")
        .says(&Manager::Husky.line(Event::PrePush, None).line);
    m.s.write(".husky/pre-commit", "true\n");
    m.add_lines(Manager::Husky, None, at_the_end);
    m.holds(true);
}

#[test]
fn lefthook_runs_its_line() {
    let Some(m) = Managed::new(Manager::Lefthook) else {
        return;
    };
    let own = "pre-commit:\n  commands:\n    own:\n      run: echo own\n";
    m.s.write("lefthook.yml", own);
    m.call("lefthook").args(&["install"]).run().ok();
    m.add_lines(Manager::Lefthook, Some("lefthook.yml"), at_the_end);
    m.holds(true);
}

const CONFIG: &str = "repos:\n- repo: local\n  hooks:\n  - id: own\n    name: own\n    entry: 'true'\n    \
                      language: system\n";

#[test]
fn pre_commit_runs_its_line() {
    let Some(m) = Managed::new(Manager::PreCommit) else {
        return;
    };
    m.s.write(".pre-commit-config.yaml", CONFIG);
    m.add_lines(
        Manager::PreCommit,
        Some(".pre-commit-config.yaml"),
        at_the_end,
    );
    m.holds(false);
}

#[test]
fn prek_runs_its_line_in_both_of_its_files() {
    for (file, own) in [
        (".pre-commit-config.yaml", CONFIG),
        (
            "prek.toml",
            "[[repos]]\nrepo = \"local\"\nhooks = [{ id = \"own\", name = \"own\", entry = \"true\", language = \"system\" }]\n",
        ),
    ] {
        let Some(m) = Managed::new(Manager::Prek) else {
            return;
        };
        m.s.write(file, own);
        m.add_lines(Manager::Prek, Some(file), at_the_end);
        m.holds(false);
    }
}

#[test]
fn hk_runs_its_line() {
    let Some(m) = Managed::new(Manager::Hk) else {
        return;
    };
    let version = m.call("hk").args(&["--version"]).run().line();
    let version = version.split(' ').nth(1).expect("a version").to_owned();
    m.s.write(
        "hk.pkl",
        format!(
            "amends \"package://github.com/jdx/hk/releases/download/v{version}/hk@{version}#/Config.pkl\"\n\
             hooks {{\n}}\n"
        ),
    );
    m.add_lines(Manager::Hk, None, |before, line| {
        let inside = before.strip_suffix("}\n").expect("the end of `hooks`");
        format!("{inside}{line}\n}}\n")
    });
    m.holds(false);
}

#[test]
fn overcommit_runs_its_line() {
    let Some(m) = Managed::new(Manager::Overcommit) else {
        return;
    };
    let mut text = String::new();
    for event in Event::ALL {
        let line = Manager::Overcommit.line(event, None);
        let section = line.within.and_then(|within| within.split('`').nth(1));
        let section = section.expect("a section");
        let line = line.line;
        text.push_str(&format!(
            "{section}:\n  ALL: {{ enabled: false }}\n  {line}\n"
        ));
    }
    m.s.write(".overcommit.yml", text);
    let activate = Manager::Overcommit.activate().expect("a command");
    m.call("sh").args(&["-c", activate]).run().ok();
    m.holds(true);
}

/// Scripts that a manager keeps in the repository's own folder are kept and run first.
#[test]
fn scripts_of_managers_in_the_repositorys_own_folder_go_on_running() {
    for (manager, file, text, install) in [
        (
            Manager::Lefthook,
            "lefthook.yml",
            "pre-commit:\n  commands:\n    own:\n      run: touch own-ran\n",
            &["install"][..],
        ),
        (
            Manager::PreCommit,
            ".pre-commit-config.yaml",
            &CONFIG.replace("'true'", "touch own-ran"),
            &["install"],
        ),
        (
            Manager::Prek,
            ".pre-commit-config.yaml",
            &CONFIG.replace("'true'", "touch own-ran"),
            &["install"],
        ),
    ] {
        let Some(m) = Managed::new(manager) else {
            continue;
        };
        let name = manager.name();
        let install_theirs = || m.call(name).args(install).run().ok();
        m.s.write(file, text);
        m.s.write(".gitignore", "own-ran\n");
        install_theirs();
        let before = m.s.bytes(".git/hooks/pre-commit");
        let out = m.call(LOOPX).args(&["hooks", "install"]).run();
        out.says(&format!("{name} wrote the pre-commit hook")).ok();
        let status = || m.call(LOOPX).args(&["hooks", "status"]).run();
        for turn in 0..3 {
            drop(fs::remove_file(m.s.path().join("own-ran")));
            m.commit(&format!("{name} {turn}")).ok();
            assert!(m.s.exists("own-ran"), "{name}");
            status().ok();
        }
        // It writes its hook again: told, and mended by one command.
        install_theirs();
        if status().code != Some(0) {
            m.call(LOOPX).args(&["hooks", "install"]).run().ok();
            m.commit(name).ok();
            status().ok();
        }
        m.call(LOOPX).args(&["hooks", "uninstall"]).run().ok();
        assert_eq!(m.s.bytes(".git/hooks/pre-commit"), before, "{name}");
    }
    // Whoever is not known is kept just the same.
    let s = shims("repo");
    foreign(&s, "pre-commit", 0);
    s.loopx(&["hooks", "install"]).ok();
}

#[test]
fn q10_a_repository_below_a_folder_named_as_a_manager_belongs_to_nobody() {
    for name in ["hk", "lefthook"] {
        let s = Sandbox::new();
        let dir = s.root().join(name).join("project");
        std::fs::create_dir_all(&dir).expect("a folder");
        s.git_in(&dir, &["init", "--quiet"]).ok();
        s.git_in(&dir, &["config", "core.hooksPath", ".githooks"])
            .ok();
        let out = s.loopx_in(&dir, &["hooks", "status"]);
        assert!(!out.to_string().contains("owns"), "{out}");
        let out = s.loopx_in(&dir, &["hooks", "install"]).to_string();
        assert!(!out.contains("owns it"), "{out}");
    }
}
