//! Hook managers: how to recognise one, and the line of its own configuration that calls us.
//!
//! A manager's folder is generated or shared: what we wrote there would be overwritten, committed
//! or run in other repositories. So nothing is written; the person adds one line (reference 7).

use super::Event;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    Husky,
    Lefthook,
    Prek,
    PreCommit,
    Hk,
    Overcommit,
}

/// What to add where, for one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub event: Event,
    /// The file to add it to, from the top of the worktree where it is relative.
    pub file: String,
    /// The part of the file that it belongs into, where that is not the top.
    pub within: Option<&'static str>,
    pub line: String,
    /// What the line cannot do.
    pub note: Option<String>,
}

impl Manager {
    pub const ALL: [Manager; 6] = [
        Manager::Husky,
        Manager::Lefthook,
        Manager::Prek,
        Manager::PreCommit,
        Manager::Hk,
        Manager::Overcommit,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Manager::Husky => "husky",
            Manager::Lefthook => "lefthook",
            Manager::Prek => "prek",
            Manager::PreCommit => "pre-commit",
            Manager::Hk => "hk",
            Manager::Overcommit => "overcommit",
        }
    }

    /// The command after which it runs what its configuration has now.
    pub fn activate(self) -> Option<&'static str> {
        match self {
            Manager::Husky => None,
            Manager::Lefthook => Some("lefthook install"),
            // By themselves these two only listen to pre-commit.
            Manager::Prek => Some("prek install -t pre-commit -t commit-msg -t pre-push"),
            Manager::PreCommit => {
                Some("pre-commit install -t pre-commit -t commit-msg -t pre-push")
            }
            Manager::Hk => Some("hk install"),
            Manager::Overcommit => Some("overcommit --install && overcommit --sign"),
        }
    }

    /// Whether a command that it runs can read what git wrote for the hook.
    fn hands_on_stdin(self) -> bool {
        match self {
            Manager::Husky | Manager::Lefthook | Manager::Overcommit => true,
            Manager::Prek | Manager::PreCommit | Manager::Hk => false,
        }
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
            Manager::Overcommit => &[".overcommit.yml"],
        };
        fixed.iter().map(|&file| file.to_owned()).collect()
    }

    /// Recognises the manager that owns a hooks folder, by its path.
    pub fn of_path(path: &str) -> Option<Manager> {
        path.split('/').find_map(|part| match part {
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
        // prek's script speaks of pre-commit, so it is asked first.
        if says("Overcommit") {
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

    /// The line that makes this manager call us on `event`.
    pub fn line(self, event: Event, file: Option<String>) -> Line {
        // A second section for an event would be an error there, too.
        let wanted = self.files(event).into_iter().next().unwrap_or_default();
        let file = match self {
            Manager::Lefthook => wanted,
            _ => file.unwrap_or(wanted),
        };
        // For a shell. Somebody who has the repository and not git-loopx can commit all the same.
        let call = |args: &str| {
            format!("! command -v git-loopx >/dev/null || git-loopx hook {event}{args}")
        };
        let takes_file = event == Event::CommitMsg;
        let within = match self {
            Manager::Prek | Manager::PreCommit if file != "prek.toml" => Some("the list `repos`"),
            Manager::Hk => Some("`hooks`"),
            _ => None,
        };
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
                let section = match event {
                    Event::PreCommit => "PreCommit",
                    Event::CommitMsg => "CommitMsg",
                    Event::PrePush => "PrePush",
                };
                let call = call(" \"$@\"");
                format!(
                    "{section}: {{ Loopx: {{ enabled: true, command: [sh, -c, '{call}', loopx] }} }}"
                )
            }
        };
        let note = (event.reads_stdin() && !self.hands_on_stdin()).then(|| {
            format!(
                "{} does not hand on what git says on stdin: this event passes unchecked",
                self.name()
            )
        });
        Line {
            event,
            file,
            within,
            line,
            note,
        }
    }
}

/// The line for a shell script that git runs as a hook: passes where git-loopx is missing.
pub fn script_line(event: Event) -> String {
    format!("! command -v git-loopx >/dev/null 2>&1 || git-loopx hook {event} \"$@\" || exit $?")
}

/// Whether a manager's configuration already calls us on `event`.
pub fn calls_us(configuration: &[u8], event: Event) -> bool {
    let text = String::from_utf8_lossy(configuration);
    text.lines()
        .filter(|line| !line.trim_start().starts_with(['#', '/']))
        .any(|line| {
            ["git-loopx hook ", "git loopx hook "].iter().any(|call| {
                line.split(call)
                    .skip(1)
                    .any(|rest| rest.split([' ', '"', '\'', ',', '}']).next() == Some(event.name()))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::{Manager, calls_us, script_line};
    use crate::core::hooks::Event;

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
        ] {
            assert_eq!(Manager::of_script(script.as_bytes()), Some(manager));
        }
        assert_eq!(Manager::of_script(b"#!/bin/sh\nexit 0\n"), None);
        assert_eq!(Manager::of_path("/a b/.husky/_"), Some(Manager::Husky));
        assert_eq!(Manager::of_path("/a/.githooks"), None);
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
}
