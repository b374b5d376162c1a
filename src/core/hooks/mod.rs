//! Where our git hooks stand, what installing or taking them away means, and whether one fires: pure
//! decisions over facts that `flow::hooks` gathers (design 7; reference 7 "Install").
//!
//! Two ways exist, never both in one repository. *Config hooks* (git 2.54 and later) are sections of
//! the local configuration: they work beside any manager. *Shims* are scripts in the hooks folder:
//! every git runs them, but only where the repository itself owns that folder.

pub mod config;
pub mod manager;
mod status;

pub use status::{Probe, Row, RowMode, Setting, WorktreeEvent, probe, row};

use crate::core::failure::{Blocker, Failure, Result};
use manager::{Line, Manager};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};

/// What a hook of somebody else is called while our shim stands in its place.
pub const SAVED_SUFFIX: &str = ".before-loopx";
/// The words of a shim's second line by which we know it again.
const ID: &[u8] = b"# loopx-hook: ";
const SHIM: &str = include_str!("../../../hooks/shim.sh");
const COMMAND: &str = include_str!("../../../hooks/command.sh");

/// A git event that we listen to. post-rewrite is none of them: what links a commit to its session is
/// in its message, evidence and reviews are bound to trees, and all of that outlives a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    PreCommit,
    CommitMsg,
    PrePush,
}

impl Event {
    pub const ALL: [Event; 3] = [Event::PreCommit, Event::CommitMsg, Event::PrePush];

    /// git's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Event::PreCommit => "pre-commit",
            Event::CommitMsg => "commit-msg",
            Event::PrePush => "pre-push",
        }
    }

    pub fn from_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether git writes something to the hook's stdin.
    pub fn reads_stdin(self) -> bool {
        match self {
            Event::PrePush => true,
            Event::PreCommit | Event::CommitMsg => false,
        }
    }

    /// The name of our config hook. git refuses a name that equals an event.
    pub fn config_name(self) -> String {
        format!("loopx-{}", self.name())
    }

    /// The file name of a hook that stood where our shim stands.
    pub fn saved_name(self) -> String {
        format!("{}{SAVED_SUFFIX}", self.name())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A version of git, as far as hooks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl GitVersion {
    /// Reads the answer of `git --version`: `git version 2.47.3`, `git version 2.39.5 (Apple Git-154)`.
    pub fn parse(answer: &str) -> Option<GitVersion> {
        let number = answer.trim().strip_prefix("git version ")?;
        let mut parts = number.split(['.', ' ', '-']);
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(GitVersion { major, minor })
    }

    /// Hooks in the configuration came with 2.54; before that git ignores them without a word.
    pub fn has_config_hooks(self) -> bool {
        self >= GitVersion {
            major: 2,
            minor: 54,
        }
    }

    /// `git hook run` came with 2.36.
    pub fn can_run_one_hook(self) -> bool {
        self >= GitVersion {
            major: 2,
            minor: 36,
        }
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// How a hook comes to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A section of the local configuration.
    Config,
    /// A script in the repository's hooks folder.
    Shim,
}

/// What git says about `core.hooksPath`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksPath {
    /// `local`, `worktree`, `global`, `system` or `command`.
    pub scope: String,
    /// Where it is set: `file:/home/a/.gitconfig`.
    pub origin: String,
}

/// Whose the folder is in which git looks for hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// This repository's: a folder in its git directory that no other repository uses.
    Owned,
    /// Somebody else's: hook manager, tracked folder, or set for every repository.
    Foreign { path: HooksPath, tracked: bool },
    /// Nobody's: `core.hooksPath=/dev/null` switches hook files off.
    Off { path: HooksPath },
}

/// Decides whose the hooks folder is. `inside` says that it lies in the common git directory, with
/// all symbolic links followed; `tracked`, that git has files of it under version control.
pub fn standing(dir: &Path, path: Option<HooksPath>, inside: bool, tracked: bool) -> Standing {
    match path {
        Some(path) if dir == Path::new("/dev/null") => Standing::Off { path },
        // A folder that other repositories use as well is not ours, wherever it lies.
        Some(path) if !inside || !matches!(path.scope.as_str(), "local" | "worktree") => {
            Standing::Foreign { path, tracked }
        }
        // `.git/hooks` may itself be a link to a folder under version control.
        None if !inside => Standing::Foreign {
            path: HooksPath {
                scope: "local".into(),
                origin: "a symbolic link".into(),
            },
            tracked,
        },
        _ => Standing::Owned,
    }
}

/// What stands under an event's name in a hooks folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// Our shim; `current` when it is just what we would write.
    Ours {
        current: bool,
    },
    Foreign(Option<Manager>),
}

/// Recognises what stands in a hooks folder.
pub fn found(content: Option<&[u8]>, executable: bool, program: &[u8], event: Event) -> Found {
    match content {
        None => Found::Nothing,
        Some(content) if is_shim(content) => Found::Ours {
            current: executable && content == shim(program, event),
        },
        Some(content) => Found::Foreign(Manager::of_script(content)),
    }
}

fn is_shim(content: &[u8]) -> bool {
    content
        .split(|&byte| byte == b'\n')
        .nth(1)
        .is_some_and(|line| line.starts_with(ID))
}

/// The hook that stood at an event's name before us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    Nothing,
    /// It is kept under [`Event::saved_name`].
    Kept,
    /// It is kept, and still (or again) stands at its own name: an install that was cut short.
    Both,
}

/// One event in the hooks folder that this repository owns, and in its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub event: Event,
    pub found: Found,
    pub saved: Saved,
    pub config: Setting,
}

/// All that installing and taking away depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub version: GitVersion,
    /// The folder in which git looks for hooks, and whose it is.
    pub dir: PathBuf,
    pub standing: Standing,
    /// The folder that this repository owns: `dir` if that is so, else `hooks` in its git directory.
    pub own_dir: PathBuf,
    pub slots: Vec<Slot>,
    /// The manager behind a foreign `dir`, and its configuration files that exist.
    pub manager: Option<Manager>,
    pub manager_files: Vec<String>,
    /// Every other git in PATH: an IDE or a script may start it.
    pub other_gits: Vec<(PathBuf, GitVersion)>,
}

/// One thing to do. Each is whole by itself: a kill between two leaves a repository in which git
/// works and every foreign hook still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "action", content = "event")]
pub enum Step {
    /// Write our sections into the local configuration, and take older ones away, in one edit.
    WriteConfig,
    /// Take our sections out of the local configuration.
    RemoveConfig,
    /// Keep a foreign hook under its saved name, too.
    Save(Event),
    /// Put our shim at the event's name.
    WriteShim(Event),
    /// Delete our shim.
    RemoveShim(Event),
    /// Move the kept hook back to its name, over our shim.
    Restore(Event),
    /// Delete the kept copy of a hook that stands at its own name.
    DropSaved(Event),
}

/// What is going to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    /// How hooks run afterwards; `None` when they do not.
    pub mode: Option<Mode>,
    /// Nothing to do when empty.
    pub steps: Vec<Step>,
    /// What may surprise.
    pub notes: Vec<String>,
}

/// Decides how to install, and refuses where that would write into somebody else's folder.
pub fn plan_install(facts: &Facts) -> Result<Plan> {
    let owned = facts.standing == Standing::Owned;
    let shims = facts.slots.iter().any(|slot| is_ours(slot.found));
    // Shims that git reaches stay shims under a newer git: they fire under an older one as well,
    // which matters where an IDE brings its own (reference 8, case 3).
    if facts.version.has_config_hooks() && !(owned && shims) {
        let mut steps = shim_removal(facts);
        if facts
            .slots
            .iter()
            .any(|slot| slot.config != Setting::Current)
        {
            steps.push(Step::WriteConfig);
        }
        return Ok(Plan {
            mode: Some(Mode::Config),
            steps,
            notes: ungated(facts),
        });
    }
    if !owned {
        return Err(refusal(facts));
    }
    let mut notes = Vec::new();
    let mut steps = config_removal(facts);
    if !steps.is_empty() {
        notes.push(format!(
            "git {} ignores hooks in the configuration, so they become scripts",
            facts.version
        ));
    }
    for slot in &facts.slots {
        let event = slot.event;
        match (slot.found, slot.saved) {
            (Found::Ours { current: true }, _) => {}
            (Found::Nothing | Found::Ours { current: false }, _)
            | (Found::Foreign(_), Saved::Both) => steps.push(Step::WriteShim(event)),
            (Found::Foreign(manager), Saved::Nothing) => {
                steps.push(Step::Save(event));
                steps.push(Step::WriteShim(event));
                if let Some(manager) = manager {
                    notes.push(format!(
                        "{} wrote the {event} hook and may write it again, over ours: `git loopx hooks status` tells",
                        manager.name()
                    ));
                }
            }
            (Found::Foreign(_), Saved::Kept) => {
                let hook = facts.own_dir.join(event.name());
                return Err(Failure::refused(
                    "hook_saved_already",
                    format!(
                        "both `{}` and `{}` are hooks that are not ours; only one can be kept",
                        hook.display(),
                        event.saved_name()
                    ),
                )
                .help("move one of the two away, then install again"));
            }
        }
    }
    Ok(Plan {
        mode: Some(Mode::Shim),
        steps,
        notes,
    })
}

/// The gits that ignore hooks in the configuration, in words.
pub fn ungated(facts: &Facts) -> Vec<String> {
    let older = |(path, version): &(PathBuf, GitVersion)| {
        (!version.has_config_hooks()).then(|| {
            format!(
                "{} is git {version} and ignores these hooks; 2.54 and later run them",
                path.display()
            )
        })
    };
    facts.other_gits.iter().filter_map(older).collect()
}

/// Decides what to take away: what carries our name, nothing else.
pub fn plan_uninstall(facts: &Facts) -> Result<Plan> {
    let mut steps = config_removal(facts);
    steps.extend(shim_removal(facts));
    let mut notes = Vec::new();
    for slot in &facts.slots {
        if matches!(slot.found, Found::Foreign(_)) && slot.saved == Saved::Kept {
            notes.push(format!(
                "another program put its hook at `{}`; the one before it stays as `{}`",
                slot.event,
                slot.event.saved_name()
            ));
        }
    }
    if steps.is_empty() {
        return Err(Failure::nothing(
            "hooks_not_installed",
            "no hook of git loopx is installed in this repository",
        ));
    }
    Ok(Plan {
        mode: None,
        steps,
        notes,
    })
}

fn is_ours(found: Found) -> bool {
    matches!(found, Found::Ours { .. })
}

fn config_removal(facts: &Facts) -> Vec<Step> {
    let any = facts
        .slots
        .iter()
        .any(|slot| slot.config != Setting::Absent);
    any.then_some(Step::RemoveConfig).into_iter().collect()
}

fn shim_removal(facts: &Facts) -> Vec<Step> {
    let step = |slot: &Slot| match (slot.found, slot.saved) {
        (Found::Ours { .. }, Saved::Nothing) => Some(Step::RemoveShim(slot.event)),
        (Found::Ours { .. } | Found::Nothing, Saved::Kept) => Some(Step::Restore(slot.event)),
        (Found::Foreign(_), Saved::Both) => Some(Step::DropSaved(slot.event)),
        // A kept hook behind a foreign one stays: which of the two is wanted, we cannot know.
        (Found::Foreign(_), Saved::Kept | Saved::Nothing)
        | (Found::Nothing | Found::Ours { .. }, Saved::Both)
        | (Found::Nothing, Saved::Nothing) => None,
    };
    facts.slots.iter().filter_map(step).collect()
}

/// Says whose the folder is, and gives the line to add for each event.
fn refusal(facts: &Facts) -> Failure {
    let dir = facts.dir.display();
    let (path, tracked) = match &facts.standing {
        Standing::Foreign { path, tracked } => (path, *tracked),
        Standing::Owned | Standing::Off { .. } => {
            return Failure::refused(
                "hooks_switched_off",
                format!(
                    "core.hooksPath is {dir}: git {} runs no hook files in this repository",
                    facts.version
                ),
            )
            .help("git config --unset core.hooksPath, or use git 2.54 or later");
        }
    };
    let owner = match facts.manager {
        Some(manager) => format!("{} owns it", manager.name()),
        None if path.scope == "global" || path.scope == "system" => {
            "every repository of this machine uses it".into()
        }
        None if tracked => "it is under version control".into(),
        None => "it is not this repository's own".into(),
    };
    let blockers = lines(facts)
        .into_iter()
        .map(|line| {
            let note = line
                .note
                .map_or_else(String::new, |note| format!(" ({note})"));
            Blocker::new(
                "hook_line",
                format!("add to {}{note}:", line.file),
                line.line,
            )
        })
        .collect();
    Failure::refused(
        "hooks_path_foreign",
        format!(
            "git looks for hooks in `{dir}` (core.hooksPath, {} {}), and {owner}: nothing was written",
            path.scope, path.origin
        ),
    )
    .blockers(blockers)
    .help("add these lines, or use git 2.54 or later, whose hooks stand in the configuration")
}

/// The line for each event, in the manager's own configuration or at the end of the folder's script.
pub fn lines(facts: &Facts) -> Vec<Line> {
    let line = |event: Event| match facts.manager {
        Some(manager) => {
            let files = manager.files(event);
            let file = files
                .into_iter()
                .find(|file| facts.manager_files.contains(file));
            manager.line(event, file)
        }
        None => Line {
            event,
            file: facts.dir.join(event.name()).display().to_string(),
            line: manager::script_line(event),
            note: None,
        },
    };
    Event::ALL.into_iter().map(line).collect()
}

/// The script that stands at an event's name. `program` is our absolute path.
pub fn shim(program: &[u8], event: Event) -> Vec<u8> {
    fill(SHIM, program, event)
}

/// The value of `hook.loopx-<event>.command`. git appends `"$@"` and hands it to a shell.
pub fn command(program: &[u8], event: Event) -> Vec<u8> {
    let mut command = fill(COMMAND, program, event);
    while command.last() == Some(&b'\n') {
        command.pop();
    }
    command
}

/// The sections of the local configuration, all events.
pub fn sections(program: &[u8]) -> Vec<config::Section> {
    let section = |event: Event| config::Section {
        name: event.config_name(),
        command: command(program, event),
        event: event.name().into(),
    };
    Event::ALL.into_iter().map(section).collect()
}

/// The names of our sections.
pub fn section_names() -> Vec<String> {
    Event::ALL.into_iter().map(Event::config_name).collect()
}

/// Bytes, because a path need not be UTF-8.
fn fill(template: &str, program: &[u8], event: Event) -> Vec<u8> {
    let text = template.replace("@EVENT@", event.name());
    let mut out = Vec::with_capacity(text.len() + program.len());
    for (at, part) in text.split("@PROGRAM@").enumerate() {
        if at > 0 {
            out.extend(shell_quoted(program));
        }
        out.extend_from_slice(part.as_bytes());
    }
    out
}

/// One word for a POSIX shell, whatever bytes it has.
fn shell_quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in word {
        if byte == b'\'' {
            out.extend_from_slice(b"'\\''");
        } else {
            out.push(byte);
        }
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests;
