//! Hooks of git: the places where ours stand, the steps of an install or uninstall, and whether a hook fires. Pure
//! decisions over facts that `flow::hooks` gathers (design 7; reference 7 "Install").
//!
//! Two ways exist, and an install leaves one of them in a repository. *Config hooks* (git 2.54 and
//! later) are sections of the local configuration, or of a person's for every repository: they work
//! beside any manager. *Shims* are scripts in the hooks folder: every git runs them, but only where the
//! repository itself owns that folder. A hook of one name in both configurations is one hook to git.

pub mod config;
pub mod manager;
mod plan;
mod refusal;
mod script;
mod status;

pub use plan::{
    GlobalFacts, Moved, Plan, Step, plan_global, plan_install, plan_uninstall, ungated,
};
pub use script::{command, is_shim, section_names, sections, shell_quoted, shim};
pub use status::{Probe, Row, RowMode, RowState, Setting, WorktreeEvent, probe, row};

use manager::Manager;
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};

/// Ending of the name of a foreign hook while our shim stands in its place.
pub const SAVED_SUFFIX: &str = ".before-loopx";

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

    /// Name that git gives to the event.
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

    /// Tells whether git writes something to the hook's stdin.
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

/// Mode of running a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A section of the local configuration.
    Config,
    /// A section of a person's configuration: in every repository.
    Global,
    /// A script in the repository's hooks folder.
    Shim,
    /// A line in a file that is not ours.
    Line,
}

/// Place of a setting of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAt {
    /// `local`, `worktree`, `global`, `system` or `command`.
    pub scope: String,
    /// File or other source of the setting: `file:/home/a/.gitconfig`.
    pub origin: String,
}

/// Owner of the folder in which git looks for hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Folder of this repository: in its git directory, and used by no other repository.
    Owned,
    /// Folder of somebody else: of a hook manager, tracked, or set for every repository.
    Foreign { path: SetAt, tracked: bool },
    /// Folder of nobody: `core.hooksPath=/dev/null` switches hook files off.
    Off { path: SetAt },
}

/// Place of a hooks folder, with all symbolic links followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Set when the folder is in the common git directory.
    pub in_git_dir: bool,
    /// Set when the folder is in the worktree that we stand in.
    pub in_worktree: bool,
    /// Set when git has files of the folder under version control.
    pub is_tracked: bool,
    /// Set when a hook manager keeps its scripts there.
    pub is_managed: bool,
}

impl Place {
    /// Tells whether the folder belongs to nobody else: no other repository, no manager, no colleague by way of a
    /// commit.
    fn is_own(self) -> bool {
        self.in_git_dir || (self.in_worktree && !self.is_tracked && !self.is_managed)
    }
}

/// Decides whose the hooks folder is.
pub fn standing(dir: &Path, path: Option<SetAt>, place: Place) -> Standing {
    let tracked = place.is_tracked;
    match path {
        Some(path) if dir == Path::new("/dev/null") => Standing::Off { path },
        // A folder that other repositories use as well is not ours, wherever it lies.
        Some(path) if !place.is_own() || !matches!(path.scope.as_str(), "local" | "worktree") => {
            Standing::Foreign { path, tracked }
        }
        // `.git/hooks` may itself be a link to a folder under version control.
        None if !place.in_git_dir => Standing::Foreign {
            path: SetAt {
                scope: "local".into(),
                origin: "a symbolic link".into(),
            },
            tracked,
        },
        _ => Standing::Owned,
    }
}

/// Place to which a manager moves the hook that it finds at an event's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    /// pre-commit and prek, who run it first.
    Legacy,
    /// lefthook, which does not run it.
    Old,
    /// overcommit, which does not run it either.
    OldHooks,
}

impl Aside {
    pub const ALL: [Aside; 3] = [Aside::Legacy, Aside::Old, Aside::OldHooks];

    /// The file in the hooks folder.
    pub fn file(self, event: Event) -> String {
        match self {
            Aside::Legacy => format!("{event}.legacy"),
            Aside::Old => format!("{event}.old"),
            Aside::OldHooks => format!("old-hooks/{event}"),
        }
    }
}

/// A line that calls us on an event, in a file that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired {
    /// Path of the file from the top of the worktree, or absolute.
    pub file: String,
    pub line: String,
    /// The manager whose configuration that is; `None` for the script that git runs.
    pub manager: Option<Manager>,
    /// Set when git runs a hook here that comes to the line.
    pub reached: bool,
    /// Mark of a line before which nothing runs, so that a probe starts nobody else's command.
    pub first: bool,
}

impl Wired {
    /// Tells whether the gate gets to see what git says on this event.
    pub fn judges(&self, event: Event) -> bool {
        let heard = |manager: Manager| !event.reads_stdin() || manager.hands_on_stdin();
        self.reached && self.manager.is_none_or(heard)
    }
}

/// Content of a hooks folder under an event's name.
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
        Some(content) if script::is_shim(content) => Found::Ours {
            current: executable && content == script::shim(program, event),
        },
        Some(content) => Found::Foreign(Manager::of_script(content)),
    }
}

/// The hook that stood at an event's name before us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    Nothing,
    /// Hook that is kept under [`Event::saved_name`].
    Kept,
    /// Hook that is kept, and still (or again) stands at its own name: an install was cut short.
    Both,
}

/// State of an event in the hooks folder that this repository owns, and in its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub event: Event,
    pub found: Found,
    pub saved: Saved,
    /// Manager that wrote the kept hook.
    pub saved_by: Option<Manager>,
    /// Places to which a manager moved our shim.
    pub aside: Vec<Aside>,
    /// Set when a hook stands where git looks for it.
    pub in_dir: bool,
    /// The line of somebody else's file that calls us.
    pub line: Option<Wired>,
    pub config: Setting,
    /// Setting in the person's configuration.
    pub global: Setting,
}

/// Facts on which installing and taking away depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub version: GitVersion,
    /// The folder in which git looks for hooks, and whose it is.
    pub dir: PathBuf,
    pub standing: Standing,
    /// The folder that this repository owns: `dir` if that is so, else `hooks` in its git directory.
    pub own_dir: PathBuf,
    pub slots: Vec<Slot>,
    /// The manager behind a foreign `dir`, and the configuration files of managers that exist.
    pub manager: Option<Manager>,
    pub manager_files: Vec<String>,
    /// The manager that will write or delete hooks in the repository's own folder.
    pub rewriter: Option<Manager>,
    /// `dir` lies in the worktree.
    pub in_worktree: bool,
    /// An install was recorded, and no uninstall since.
    pub recorded: bool,
    /// The folder of this program, as a shell finds it, where it needs no quotes.
    pub program_dir: Option<String>,
    /// Every other git in PATH and in the places where programs bring their own.
    pub other_gits: Vec<(PathBuf, GitVersion)>,
    /// Setting that has `loopx.hooks` as false.
    pub opted_out: Option<SetAt>,
}

#[cfg(test)]
mod tests;
