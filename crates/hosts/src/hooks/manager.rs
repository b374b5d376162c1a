//! Hook managers: how to recognise one, and the line of its own configuration that calls us.
//!
//! A manager's folder is generated or shared: what we wrote there would be overwritten, committed
//! or run in other repositories. So nothing is written; the person adds one line (reference 7).

use super::Event;
use serde::Serialize;

const PACKAGE: &str = "package.json";
const CALLS: [&str; 2] = ["git-loopx hook ", "git loopx hook "];
/// Length to which a line is shown.
const LONG: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    Husky,
    Lefthook,
    Prek,
    PreCommit,
    Hk,
    Overcommit,
    SimpleGitHooks,
}

/// Line to add for an event, and the place for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub event: Event,
    /// The file to add it to, from the top of the worktree where it is relative.
    pub file: String,
    /// The part of the file that it belongs into, where that is not the top.
    pub within: Option<&'static str>,
    pub line: String,
    /// Limit of the line.
    pub note: Option<String>,
    /// The file is a script that has to be made first.
    pub fresh: bool,
}

impl Manager {
    pub const ALL: [Manager; 7] = [
        Manager::Husky,
        Manager::Lefthook,
        Manager::Prek,
        Manager::PreCommit,
        Manager::Hk,
        Manager::Overcommit,
        Manager::SimpleGitHooks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Manager::Husky => "husky",
            Manager::Lefthook => "lefthook",
            Manager::Prek => "prek",
            Manager::PreCommit => "pre-commit",
            Manager::Hk => "hk",
            Manager::Overcommit => "overcommit",
            Manager::SimpleGitHooks => "simple-git-hooks",
        }
    }

    /// Command that sets the manager up in a worktree.
    pub fn set_up(self) -> &'static str {
        self.activate().unwrap_or("npx husky")
    }

    /// Command after which the manager runs what its configuration has now.
    pub fn activate(self) -> Option<&'static str> {
        match self {
            // Its scripts read the files beside them.
            Manager::Husky => None,
            Manager::Lefthook => Some("lefthook install"),
            // By themselves these two only listen to pre-commit.
            Manager::Prek => Some("prek install -t pre-commit -t commit-msg -t pre-push"),
            Manager::PreCommit => {
                Some("pre-commit install -t pre-commit -t commit-msg -t pre-push")
            }
            Manager::Hk => Some("hk install"),
            // It asks for a signature of its file, and of the commands for each event.
            Manager::Overcommit => Some(
                "overcommit --install && for x in '' pre-commit commit-msg pre-push; do overcommit --sign $x; done",
            ),
            Manager::SimpleGitHooks => Some("npx simple-git-hooks"),
        }
    }

    /// Tells whether a command that the manager runs can read what git wrote for the hook.
    pub(super) fn hands_on_stdin(self) -> bool {
        match self {
            Manager::Husky | Manager::Lefthook | Manager::Overcommit | Manager::SimpleGitHooks => {
                true
            }
            Manager::Prek | Manager::PreCommit | Manager::Hk => false,
        }
    }

    /// Tells whether the manager's script learns the event from its own file name, so that it fails under another one.
    pub(super) fn goes_by_file_name(self) -> bool {
        matches!(self, Manager::Overcommit | Manager::Husky)
    }

    /// The files of a worktree that may hold its configuration; the first one is the usual one.
    pub fn files(self, event: Event) -> Vec<String> {
        let fixed: &[&str] = match self {
            Manager::Husky => return vec![format!(".husky/{event}")],
            // A second `pre-commit:` in one file would be an error; this file is merged into the other.
            Manager::Lefthook => &[
                "lefthook-local.yml",
                "lefthook.yml",
                ".lefthook.yml",
                "lefthook.yaml",
                ".lefthook.yaml",
                ".config/lefthook.yml",
            ],
            // prek reads pre-commit's file, too, but only prek reads its own.
            Manager::Prek => &["prek.toml", ".pre-commit-config.yaml"],
            Manager::PreCommit => &[".pre-commit-config.yaml", ".pre-commit-config.yml"],
            Manager::Hk => &["hk.pkl", ".config/hk.pkl"],
            Manager::Overcommit => &[".overcommit.yml", ".local-overcommit.yml"],
            // In the order in which it looks for them; it takes the first.
            Manager::SimpleGitHooks => &[
                ".simple-git-hooks.cjs",
                ".simple-git-hooks.js",
                ".simple-git-hooks.mjs",
                "simple-git-hooks.cjs",
                "simple-git-hooks.js",
                "simple-git-hooks.mjs",
                ".simple-git-hooks.json",
                "simple-git-hooks.json",
                PACKAGE,
            ],
        };
        fixed.iter().map(|&file| file.to_owned()).collect()
    }

    /// Recognises the manager that owns a hooks folder, by its path: by the part below the worktree; elsewhere by the folder
    /// and the one above it, and only where that is hidden. Any other folder may be somebody's home or project.
    pub fn of_path(path: &str, top: Option<&str>) -> Option<Manager> {
        let below = top.and_then(|top| path.strip_prefix(top)?.strip_prefix('/'));
        let parts = below.unwrap_or(path).rsplit('/');
        let seen = if below.is_some() { usize::MAX } else { 2 };
        let mut parts = parts
            .take(seen)
            .filter(|part| below.is_some() || part.starts_with('.'));
        parts.find_map(|part| match part {
            ".husky" => Some(Manager::Husky),
            ".lefthook" | "lefthook" => Some(Manager::Lefthook),
            ".prek" | "prek" => Some(Manager::Prek),
            ".hk" | ".hk-hooks" | "hk" => Some(Manager::Hk),
            ".overcommit" | "overcommit" => Some(Manager::Overcommit),
            _ => None,
        })
    }

    /// Recognises the manager that wrote a hook, by what its generated scripts say.
    pub fn of_script(script: &[u8]) -> Option<Manager> {
        let text = String::from_utf8_lossy(script);
        let says = |word: &str| text.contains(word);
        // Its hooks hold whatever command the project has, which may be another manager's.
        if says("SKIP_SIMPLE_GIT_HOOKS") {
            Some(Manager::SimpleGitHooks)
        // prek's script speaks of pre-commit, so it is asked first.
        } else if says("Overcommit") {
            Some(Manager::Overcommit)
        } else if says("husky") {
            Some(Manager::Husky)
        } else if says("lefthook") {
            Some(Manager::Lefthook)
        } else if says("prek") {
            Some(Manager::Prek)
        } else if says("pre-commit.com") || says("pre_commit") {
            Some(Manager::PreCommit)
        } else if says("hk run") {
            Some(Manager::Hk)
        } else {
            None
        }
    }

    /// The part of its file that a line for this event belongs into.
    fn within(self, event: Event, file: &str) -> Option<&'static str> {
        match self {
            Manager::Prek | Manager::PreCommit if file != "prek.toml" => Some("the list `repos`"),
            Manager::Hk => Some("`hooks`"),
            Manager::Overcommit => Some(match event {
                Event::PreCommit => "the section `PreCommit`",
                Event::CommitMsg => "the section `CommitMsg`",
                Event::PrePush => "the section `PrePush`",
            }),
            Manager::SimpleGitHooks if file == PACKAGE => Some("`simple-git-hooks`"),
            _ => None,
        }
    }

    /// The line that makes this manager call us on `event`.
    pub fn line(self, event: Event, file: Option<String>) -> Line {
        let wanted = match self {
            Manager::SimpleGitHooks => PACKAGE.to_owned(),
            _ => self.files(event).into_iter().next().unwrap_or_default(),
        };
        // A second section for an event would be an error there, too.
        let file = match self {
            Manager::Lefthook => wanted,
            _ => file.unwrap_or(wanted),
        };
        // For a shell. Somebody who has the repository and not git-loopx can commit all the same.
        let call = |args: &str| format!("git-loopx hook {event}{args} || test $? -eq 127");
        let takes_file = event == Event::CommitMsg;
        let within = self.within(event, &file);
        let line = match self {
            Manager::Husky => script_line(event),
            Manager::Lefthook => {
                let stdin = if event.reads_stdin() {
                    ", use_stdin: true"
                } else {
                    ""
                };
                let call = call(" {0}");
                format!("{event}: {{ commands: {{ loopx: {{ run: '{call}'{stdin} }} }} }}")
            }
            Manager::Prek if file == "prek.toml" => format!(
                "[[repos]]\nrepo = \"local\"\nhooks = [{{ id = \"loopx-{event}\", name = \"loopx {event}\", \
                 entry = \"\"\"sh -c '{}' loopx\"\"\", language = \"system\", always_run = true, \
                 pass_filenames = {takes_file}, stages = [\"{event}\"] }}]",
                call(" \"$@\"")
            ),
            Manager::Prek | Manager::PreCommit => format!(
                "- {{ repo: local, hooks: [{{ id: loopx-{event}, name: loopx {event}, language: system, \
                 entry: sh -c '{}' loopx, \
                 always_run: true, pass_filenames: {takes_file}, stages: [{event}] }}] }}",
                call(" \"$@\"")
            ),
            Manager::Hk => {
                let message = if takes_file {
                    " {{commit_msg_file}}"
                } else {
                    ""
                };
                let call = call(message);
                format!("[\"{event}\"] {{ steps {{ [\"loopx\"] {{ check = \"{call}\" }} }} }}")
            }
            Manager::Overcommit => {
                let call = call(" \"$@\"");
                format!("Loopx: {{ enabled: true, command: [sh, -c, '{call}', loopx] }}")
            }
            Manager::SimpleGitHooks => {
                format!(
                    "\"{event}\": \"{}\"",
                    script_line(event).replace('"', "\\\"")
                )
            }
        };
        let note = match self {
            Manager::SimpleGitHooks => Some("before a command of your own, with `; `".to_owned()),
            _ => (event.reads_stdin() && !self.hands_on_stdin()).then(|| {
                format!(
                    "{} does not hand on what git says on stdin: this event passes unchecked",
                    self.name()
                )
            }),
        };
        Line {
            event,
            file,
            within,
            line,
            note,
            fresh: false,
        }
    }
}

impl Line {
    /// Place of the line, in words.
    pub fn place(&self) -> String {
        match self.within {
            Some(part) => format!("{part} of {}", self.file),
            None => self.file.clone(),
        }
    }

    /// Limit of the line, in brackets.
    pub fn remark(&self) -> String {
        self.note
            .as_ref()
            .map_or_else(String::new, |note| format!(" ({note})"))
    }

    /// Line that also finds the program without the PATH of a login shell.
    #[must_use]
    pub fn with_program_in(mut self, dir: Option<&str>) -> Line {
        if let Some(dir) = dir {
            // At the end: where PATH has one, that one is meant. An assignment needs no quotes.
            let call = format!("PATH=$PATH:{dir} git-loopx hook");
            self.line = self.line.replacen("git-loopx hook", &call, 1);
        }
        self
    }
}

/// The line for a shell script that git runs as a hook. Where git-loopx is missing the shell says so,
/// and the commit passes.
pub fn script_line(event: Event) -> String {
    format!("git-loopx hook {event} \"$@\" || test $? -eq 127 || exit 1")
}

/// Tells whether a manager's configuration already calls us on `event`.
pub fn calls_us(configuration: &[u8], event: Event) -> bool {
    call_in(configuration, event).is_some()
}

/// The line that calls us on `event`, and whether the hook can be asked for an answer by it alone.
pub fn call_in(configuration: &[u8], event: Event) -> Option<(String, bool)> {
    let text = String::from_utf8_lossy(configuration);
    let is_told =
        |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(is_told).collect();
    let called = |line: &&str| {
        CALLS.iter().any(|call| {
            line.split(call)
                .skip(1)
                .any(|rest| rest.split([' ', '"', '\'', ',', '}']).next() == Some(event.name()))
        })
    };
    let at = lines.iter().position(called)?;
    let line = *lines.get(at)?;
    // A package.json may be one long line.
    let short = match line.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    };
    let (before, after) = (lines.get(..at)?, lines.get(at + 1..)?);
    let is_alone = before.iter().all(|line| line.starts_with("set -"))
        && comes_first(line)
        // What answers a probe says no, so that a script which heeds us ends there.
        && (after.is_empty() || line.contains("exit ") || before.contains(&"set -e"));
    Some((short, is_alone))
}

/// Tells whether no other command of the line runs before the call.
fn comes_first(line: &str) -> bool {
    let Some(end) = CALLS.iter().filter_map(|call| line.find(call)).min() else {
        return false;
    };
    let before = line.get(..end).unwrap_or_default();
    // How lines began that earlier versions printed.
    let before = before.trim_start_matches("! command -v git-loopx >/dev/null 2>&1 || ");
    let mut words = before.split(' ').rev();
    let path = words.next().unwrap_or_default();
    path.chars()
        .all(|c| c.is_alphanumeric() || "/$._-~".contains(c))
        && words.all(|word| word.is_empty() || (word.contains('=') && !word.contains(['(', '`'])))
}

#[cfg(test)]
mod tests {
    use super::{Manager, call_in, calls_us, script_line};
    use crate::hooks::Event;

    #[test]
    fn every_manager_is_recognised_by_what_it_writes() {
        for (script, manager) in [
            (
                "#!/usr/bin/env sh\n. \"$(dirname -- \"$0\")/h\" # husky",
                Manager::Husky,
            ),
            ("call_lefthook run \"pre-commit\" \"$@\"", Manager::Lefthook),
            (
                "# File generated by prek: https://github.com/j178/prek",
                Manager::Prek,
            ),
            (
                "# File generated by pre-commit: https://pre-commit.com",
                Manager::PreCommit,
            ),
            ("exec hk run pre-commit \"$@\"", Manager::Hk),
            (
                "# Entrypoint for Overcommit hook integration.",
                Manager::Overcommit,
            ),
            (
                "#!/bin/sh\nif [ \"$SKIP_SIMPLE_GIT_HOOKS\" = \"1\" ]; then\n  exit 0\nfi\nnpx lefthook run pre-commit",
                Manager::SimpleGitHooks,
            ),
            (
                "test \"${HK:-1}\" = \"0\" || { PATH=\"$PATH\":/x; export PATH; exec hk run pre-commit --from-hook \"$@\"; }",
                Manager::Hk,
            ),
        ] {
            assert_eq!(Manager::of_script(script.as_bytes()), Some(manager));
        }
        assert_eq!(Manager::of_script(b"#!/bin/sh\nexit 0\n"), None);
    }

    #[test]
    fn q10_a_folder_above_the_repository_decides_nothing() {
        for (path, top, manager) in [
            ("/a b/.husky/_", Some("/a b"), Some(Manager::Husky)),
            ("/a b/.husky/_", None, Some(Manager::Husky)),
            ("/a/lefthook/hooks", Some("/a"), Some(Manager::Lefthook)),
            ("/home/u/.hk-hooks", Some("/a"), Some(Manager::Hk)),
            ("/a/.githooks", Some("/a"), None),
            ("/src/hk/.githooks", Some("/src/hk"), None),
            ("/src/lefthook/.git/hooks", Some("/src/lefthook"), None),
            ("/home/hk/hooks", Some("/a"), None),
            ("/home/hk/hooks", None, None),
            ("/home/u/.husky/r/hooks", Some("/a"), None),
        ] {
            assert_eq!(Manager::of_path(path, top), manager, "{path}");
        }
    }

    #[test]
    fn the_line_that_is_told_is_the_line_that_is_found() {
        for manager in Manager::ALL {
            for event in Event::ALL {
                for file in manager.files(event) {
                    let line = manager.line(event, Some(file)).line;
                    assert!(calls_us(line.as_bytes(), event), "{line}");
                    for other in Event::ALL.into_iter().filter(|&other| other != event) {
                        assert!(!calls_us(line.as_bytes(), other), "{line}");
                    }
                }
            }
        }
        assert!(!calls_us(b"# git-loopx hook pre-commit", Event::PreCommit));
        assert!(calls_us(
            script_line(Event::PrePush).as_bytes(),
            Event::PrePush
        ));
    }

    #[test]
    fn a_call_is_alone_where_nothing_else_runs_before_it_or_because_of_it() {
        let alone = |text: &str| call_in(text.as_bytes(), Event::PreCommit).map(|found| found.1);
        let line = script_line(Event::PreCommit);
        for text in [
            format!("#!/bin/sh\n\n# ours\n{line}\nnpm test\n"),
            format!("#!/bin/sh\nset -e\nPATH=$PATH:/x {line}\nnpm test\n"),
            "#!/bin/sh\n/opt/x/git-loopx hook pre-commit \"$@\"\n".into(),
            "set -e\ngit loopx hook pre-commit\nnpm test\n".into(),
            "! command -v git-loopx >/dev/null 2>&1 || git-loopx hook pre-commit || exit $?\nx\n"
                .into(),
        ] {
            assert_eq!(alone(&text), Some(true), "{text}");
        }
        for text in [
            format!("npm test\n{line}\n"),
            format!("npm test && {line}\n"),
            "git-loopx hook pre-commit\nnpm test\n".into(),
            "x=$(npm test) git-loopx hook pre-commit\n".into(),
        ] {
            assert_eq!(alone(&text), Some(false), "{text}");
        }
        assert_eq!(alone("// git-loopx hook pre-commit\n"), None);
    }
}
