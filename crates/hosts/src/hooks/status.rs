//! The status of one event in one worktree, for `hooks status`, and whether git has to be asked.
//!
//! A hook fires when git runs it: nothing else is proof. But git runs *all* hooks of an event, so it
//! is asked only where what it would run is ours alone, or can be made so (see [`Probe`]).

use super::manager::Manager;
use super::{Aside, Event, Found, GitVersion, Saved, SetAt, Wired};
use loopx_base::hint::{Hint, command};
use loopx_base::shell_word;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Setting of the local configuration under our name for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Absent,
    /// Setting that is just what we would write.
    Current,
    /// Setting of ours that differs from what we would write.
    Outdated,
}

/// Facts of an event, seen from a worktree.
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
    /// Setting that has `hook.loopx-<event>.enabled` or `hook.<event>.enabled` as false.
    pub disabled: Option<(String, SetAt)>,
    /// Folder in which git looks for hook files in this worktree, and what stands there.
    pub dir: PathBuf,
    pub hooks_path: Option<SetAt>,
    pub here: Found,
    /// Folder of the repository's own shims, and what stands there.
    pub own_dir: PathBuf,
    pub own: Found,
    pub saved: Saved,
    /// Places to which a manager moved our shim.
    pub aside: Vec<Aside>,
    /// The line of somebody else's file that calls us on this event.
    pub line: Option<Wired>,
    /// The manager that writes or deletes hooks of this repository.
    pub rewriter: Option<Manager>,
    /// An install was recorded, and no uninstall since.
    pub recorded: bool,
    /// The main worktree, where the line stands there in a folder of the code and is not in that folder here.
    pub in_main: Option<PathBuf>,
}

/// Ways to ask git to run the hook without running anybody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Ask git to run the script, with other config hooks switched off: it is our shim, which answers
    /// before the hook that it replaced starts.
    Shim,
    /// Ask git to run the config hook, with the others and the hooks folder switched off.
    Config,
    /// Answer that is known without asking git.
    Known { fires: Option<bool>, reason: String },
}

/// Line of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub event: Event,
    pub worktree: String,
    pub mode: RowMode,
    /// Carrier of the hook: the shim, the configuration, or a manager's file.
    pub path: Option<String>,
    /// The hook of somebody else that our shim runs first.
    pub chained: Option<String>,
    /// Absent: could not be proven without side effects.
    pub fires: Option<bool>,
    pub reason: Option<String>,
    /// The command that makes a dead hook fire.
    pub repair: Option<Hint>,
    /// Mark of a hook that was installed here, and of which nothing is left.
    pub gone: bool,
    /// `fires` and why, in a word.
    pub state: RowState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowState {
    Fires,
    /// Hook that is there and does not answer.
    Dead,
    /// git has no hook to run here.
    Absent,
    /// Hook that was installed, and that somebody took away.
    Gone,
    Unproven,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowMode {
    None,
    Config,
    /// The person's configuration, for every repository.
    Global,
    Shim,
    /// Shim and configuration: the gate is called twice, and answers once.
    Both,
    /// A hook manager calls us.
    Manager,
    /// A script of a folder that is not this repository's calls us.
    Line,
}

fn mode(facts: &WorktreeEvent) -> RowMode {
    let config = facts.config != Setting::Absent;
    let shim = matches!(facts.here, Found::Ours { .. });
    match (config, shim) {
        (true, true) => RowMode::Both,
        (true, false) => RowMode::Config,
        (false, true) => RowMode::Shim,
        (false, false) if facts.global != Setting::Absent => RowMode::Global,
        (false, false) => match &facts.line {
            Some(line) if line.manager.is_some() => RowMode::Manager,
            Some(_) => RowMode::Line,
            None if matches!(facts.own, Found::Ours { .. }) || !facts.aside.is_empty() => {
                RowMode::Shim
            }
            None => RowMode::None,
        },
    }
}

/// The manager that runs our shim from where it put it.
fn runs_moved(facts: &WorktreeEvent) -> Option<Manager> {
    match facts.here {
        Found::Foreign(Some(manager @ (Manager::PreCommit | Manager::Prek))) => {
            facts.aside.contains(&Aside::Legacy).then_some(manager)
        }
        _ => None,
    }
}

/// Knowledge of a hook that is not a shim in its own place.
fn known_of_line(facts: &WorktreeEvent, line: &Wired) -> Probe {
    let known = |fires, reason: String| Probe::Known { fires, reason };
    let owner = line.manager.map_or("the script", Manager::name);
    if !line.reached {
        return known(
            Some(false),
            format!(
                "git finds no hook in `{}` that comes to the line in {}: commits pass unchecked",
                facts.dir.display(),
                line.file
            ),
        );
    }
    if !line.judges(facts.event) {
        return known(
            None,
            format!("{owner} does not hand on what git says on stdin: this event passes unchecked"),
        );
    }
    match line.manager {
        Some(_) => known(
            None,
            "not proven: to run it would run the manager's other hooks".into(),
        ),
        None if line.first && facts.version.can_run_one_hook() => Probe::Shim,
        None => known(
            None,
            "the line stands; not proven, since what is above it in the script would run as well"
                .into(),
        ),
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
        RowMode::Both | RowMode::Shim if !facts.aside.is_empty() && !is_here(facts) => {
            let moved = facts
                .aside
                .first()
                .map_or_else(String::new, |aside| aside.file(facts.event));
            match (runs_moved(facts), facts.here) {
                (Some(manager), _) => known(
                    None,
                    format!(
                        "{} runs our shim as `{moved}`; not proven, since its other hooks would run",
                        manager.name()
                    ),
                ),
                (None, Found::Foreign(Some(manager))) => known(
                    Some(false),
                    format!(
                        "{} put our shim aside as `{moved}` and does not run it",
                        manager.name()
                    ),
                ),
                (None, _) => known(
                    Some(false),
                    format!("another program put our shim aside as `{moved}`"),
                ),
            }
        }
        RowMode::Both | RowMode::Shim if !is_here(facts) => {
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
        RowMode::Manager | RowMode::Line => match &facts.line {
            Some(line) => known_of_line(facts, line),
            None => known(Some(false), "not installed".into()),
        },
        RowMode::None if facts.saved != Saved::Nothing => known(
            Some(false),
            "another program took the place of our shim".into(),
        ),
        RowMode::None if facts.recorded || facts.in_main.is_some() => {
            known(Some(false), loss(facts))
        }
        RowMode::None => known(Some(false), "not installed".into()),
    }
}

fn is_here(facts: &WorktreeEvent) -> bool {
    matches!(facts.here, Found::Ours { .. })
}

/// Words on who took the hook away, as far as that can be seen.
fn loss(facts: &WorktreeEvent) -> String {
    if let Some(main) = &facts.in_main {
        return format!(
            "the line stands in {} and is not on the branch here: nobody committed it, or that commit is not here",
            main.display()
        );
    }
    let who = match (facts.here, facts.rewriter) {
        (Found::Foreign(Some(manager)), _) => format!("{} put its own there", manager.name()),
        (Found::Foreign(None), _) => "another program put its own there".into(),
        (_, Some(manager)) => format!("{} deletes hooks that it does not know", manager.name()),
        (_, None) => "somebody deleted it".into(),
    };
    format!("it was installed here and is gone: {who}")
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
    let gone = mode == RowMode::None && facts.recorded;
    let shim_dir = if is_here(facts) {
        &facts.dir
    } else {
        &facts.own_dir
    };
    let name = match facts.aside.first() {
        Some(aside) if !is_here(facts) => aside.file(facts.event),
        _ => facts.event.name().to_owned(),
    };
    let shim = || shim_dir.join(&name).display().to_string();
    let path = match mode {
        RowMode::None => None,
        RowMode::Config => Some(facts.config_file.display().to_string()),
        RowMode::Global => facts
            .global_file
            .as_ref()
            .map(|file| file.display().to_string()),
        RowMode::Shim | RowMode::Both => Some(shim()),
        RowMode::Manager | RowMode::Line => facts.line.as_ref().map(|line| line.file.clone()),
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
        gone,
        state: match fires {
            Some(true) => RowState::Fires,
            None => RowState::Unproven,
            Some(false) if gone => RowState::Gone,
            Some(false) if matches!(mode, RowMode::None | RowMode::Manager) => RowState::Absent,
            Some(false) => RowState::Dead,
        },
    }
}

/// A path as a person types it in a shell.
fn typed(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Command that makes a dead hook fire again.
fn repair(facts: &WorktreeEvent, mode: RowMode) -> Hint {
    if let (RowMode::None, Some(main)) = (mode, &facts.in_main) {
        let folder = facts.dir.strip_prefix(&facts.worktree);
        let hook = folder.unwrap_or(&facts.dir).join(facts.event.name());
        let (main, hook) = (typed(main), typed(&hook));
        return format!(
            "git -C {main} add {hook} && git -C {main} commit -m \"Ask git loopx\" -- {hook}  (and have that commit on the branch here)"
        )
        .into();
    }
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
        (_, _, RowMode::Manager | RowMode::Line) => {
            match facts.line.as_ref().map(|line| line.manager) {
                Some(Some(manager)) => format!("{}  (in that worktree)", manager.set_up()).into(),
                _ => format!("chmod +x {}", facts.dir.join(facts.event.name()).display()).into(),
            }
        }
        // A folder in the worktree is another one in each.
        (_, _, RowMode::Shim)
            if facts.dir != facts.own_dir && facts.dir.starts_with(&facts.worktree) =>
        {
            command!("hooks install").note("(in that worktree)")
        }
        _ => command!("hooks install"),
    }
}

impl Row {
    /// Tells whether a hook of ours is there.
    pub fn installed(&self) -> bool {
        self.mode != RowMode::None
    }

    /// Tells whether a hook of ours should be there.
    pub fn expected(&self) -> bool {
        self.installed() || self.gone
    }

    /// Name of the mode in which the hook is installed.
    pub fn mode_name(&self) -> &'static str {
        match self.mode {
            RowMode::None => "none",
            RowMode::Config => "config",
            RowMode::Global => "global",
            RowMode::Shim => "shim",
            RowMode::Both => "both",
            RowMode::Manager => "manager",
            RowMode::Line => "line",
        }
    }
}
