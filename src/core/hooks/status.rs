//! What `hooks status` says of one event in one worktree, and whether git has to be asked.
//!
//! A hook fires when git runs it: nothing else is proof. But git runs *all* hooks of an event, so it
//! is asked only where what it would run is ours alone, or can be made so (see [`Probe`]).

use super::{Event, Found, GitVersion, Saved, SetAt};
use crate::core::hint::{Hint, command};
use serde::Serialize;
use std::path::PathBuf;

/// What the local configuration has under our name for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Absent,
    /// Just what we would write.
    Current,
    /// Something of ours, but not this.
    Outdated,
}

/// One event, seen from one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeEvent {
    pub event: Event,
    pub worktree: PathBuf,
    pub version: GitVersion,
    /// The local configuration, which all worktrees share, and its file.
    pub config: Setting,
    pub config_file: PathBuf,
    /// The person's configuration, which all repositories share, and its file.
    pub global: Setting,
    pub global_file: Option<PathBuf>,
    /// Where `hook.loopx-<event>.enabled` or `hook.<event>.enabled` is set to false.
    pub disabled: Option<(String, SetAt)>,
    /// Where git looks for hook files in this worktree, and what it finds.
    pub dir: PathBuf,
    pub hooks_path: Option<SetAt>,
    pub here: Found,
    /// Where the repository's own shims are, and what is there.
    pub own_dir: PathBuf,
    pub own: Found,
    pub saved: Saved,
    /// The file of a hook manager that calls us on this event.
    pub line_in: Option<String>,
}

/// Whether git can be asked to run the hook without running anybody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Ask git to run the script, with other config hooks switched off: it is our shim, which answers
    /// before the hook that it replaced starts.
    Shim,
    /// Ask git to run the config hook, with the others and the hooks folder switched off.
    Config,
    /// What is known without asking.
    Known { fires: Option<bool>, reason: String },
}

/// One line of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub event: Event,
    pub worktree: String,
    pub mode: RowMode,
    /// What carries the hook: the shim, the configuration, or a manager's file.
    pub path: Option<String>,
    /// The hook of somebody else that our shim runs first.
    pub chained: Option<String>,
    /// Absent: could not be proven without side effects.
    pub fires: Option<bool>,
    pub reason: Option<String>,
    /// The command that makes a dead hook fire.
    pub repair: Option<Hint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowMode {
    None,
    Config,
    /// The person's configuration, for every repository.
    Global,
    Shim,
    /// Both: the gate is called twice, and answers once.
    Both,
    /// A hook manager calls us.
    Manager,
}

fn mode(facts: &WorktreeEvent) -> RowMode {
    let config = facts.config != Setting::Absent;
    let shim = matches!(facts.here, Found::Ours { .. });
    match (config, shim) {
        (true, true) => RowMode::Both,
        (true, false) => RowMode::Config,
        (false, true) => RowMode::Shim,
        (false, false) if facts.global != Setting::Absent => RowMode::Global,
        (false, false) if facts.line_in.is_some() => RowMode::Manager,
        (false, false) if matches!(facts.own, Found::Ours { .. }) => RowMode::Shim,
        (false, false) => RowMode::None,
    }
}

/// Decides how to find out whether the hook fires.
pub fn probe(facts: &WorktreeEvent) -> Probe {
    let known = |fires, reason: String| Probe::Known { fires, reason };
    let version = facts.version;
    match mode(facts) {
        RowMode::Config | RowMode::Global if !version.has_config_hooks() => known(
            Some(false),
            format!("git {version} ignores hooks in the configuration; 2.54 and later run them"),
        ),
        RowMode::Config | RowMode::Global => Probe::Config,
        RowMode::Both | RowMode::Shim if !matches!(facts.here, Found::Ours { .. }) => {
            let by = facts.hooks_path.as_ref().map_or_else(String::new, |path| {
                format!(" (core.hooksPath, {} {})", path.scope, path.origin)
            });
            known(
                Some(false),
                format!("git looks for hooks in `{}`{by}", facts.dir.display()),
            )
        }
        RowMode::Both | RowMode::Shim if !version.can_run_one_hook() => known(
            None,
            format!("git {version} cannot run a single hook; 2.36 and later can"),
        ),
        RowMode::Both | RowMode::Shim => Probe::Shim,
        RowMode::Manager => known(
            None,
            "not proven: to run it would run the manager's other hooks".into(),
        ),
        RowMode::None if facts.saved != Saved::Nothing => known(
            Some(false),
            "another program took the place of our shim".into(),
        ),
        RowMode::None => known(Some(false), "not installed".into()),
    }
}

/// The answer for one event in one worktree; `answered` when git was asked.
pub fn row(facts: &WorktreeEvent, probe: &Probe, answered: Option<bool>) -> Row {
    let mode = mode(facts);
    let (fires, reason) = match (probe, answered, &facts.disabled) {
        (Probe::Known { fires, reason }, ..) => (*fires, Some(reason.clone())),
        (_, Some(true), _) if mode == RowMode::Both => (
            Some(true),
            Some("wired twice, as config hook and as shim: install again".into()),
        ),
        (_, Some(true), _) => (Some(true), None),
        (Probe::Config, _, Some((key, set))) => (
            Some(false),
            Some(format!("{key} is false ({} {})", set.scope, set.origin)),
        ),
        _ => (
            Some(false),
            Some("git ran the hook and git-loopx did not answer: is it executable, and is git-loopx there?".into()),
        ),
    };
    let dead = fires == Some(false);
    let shim_dir = if matches!(facts.here, Found::Ours { .. }) {
        &facts.dir
    } else {
        &facts.own_dir
    };
    let shim = || shim_dir.join(facts.event.name()).display().to_string();
    let path = match mode {
        RowMode::None => None,
        RowMode::Config => Some(facts.config_file.display().to_string()),
        RowMode::Global => facts
            .global_file
            .as_ref()
            .map(|file| file.display().to_string()),
        RowMode::Shim | RowMode::Both => Some(shim()),
        RowMode::Manager => facts.line_in.clone(),
    };
    let chained = (matches!(mode, RowMode::Shim | RowMode::Both) && facts.saved == Saved::Kept)
        .then(|| {
            let saved = shim_dir.join(facts.event.saved_name());
            saved.display().to_string()
        });
    Row {
        event: facts.event,
        worktree: facts.worktree.display().to_string(),
        mode,
        path,
        chained,
        fires,
        reason,
        repair: dead.then(|| repair(facts, mode)),
    }
}

/// What makes a dead hook fire again.
fn repair(facts: &WorktreeEvent, mode: RowMode) -> Hint {
    match (&facts.disabled, &facts.hooks_path, mode) {
        (Some((key, set)), _, RowMode::Config | RowMode::Global)
            if facts.version.has_config_hooks() =>
        {
            match set.scope.as_str() {
                "command" => format!("take {key} off the command line").into(),
                scope => format!("git config --{scope} --unset-all {key}").into(),
            }
        }
        (_, _, RowMode::Global) if facts.version.has_config_hooks() => {
            command!("hooks install --global")
        }
        // A worktree that looks elsewhere by a setting of its own needs that setting gone; an install
        // from the main worktree would find nothing to do.
        (_, Some(path), RowMode::Shim | RowMode::Both)
            if path.scope == "worktree" && !facts.version.has_config_hooks() =>
        {
            "git config --worktree --unset-all core.hooksPath  (in that worktree)".into()
        }
        _ => command!("hooks install"),
    }
}

impl Row {
    /// Whether anything of ours is there.
    pub fn installed(&self) -> bool {
        self.mode != RowMode::None
    }

    /// How it is installed, in a word.
    pub fn mode_name(&self) -> &'static str {
        match self.mode {
            RowMode::None => "none",
            RowMode::Config => "config",
            RowMode::Global => "global",
            RowMode::Shim => "shim",
            RowMode::Both => "both",
            RowMode::Manager => "manager",
        }
    }
}
