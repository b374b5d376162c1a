//! Places where hooks fire: each event in each worktree, proven by having git run it where that has no effect
//! on anything but our own program.

use super::lines::wired;
use super::{Repository, aside, found, hooks_dir, path, real, switched_off};
use crate::flow::hook;
use loopx_base::env;
use loopx_base::failure::Result;
use loopx_git::run::Run;
use loopx_hosts::hooks;
use loopx_hosts::hooks::manager::Manager;
use loopx_hosts::hooks::{Event, Probe, Row, SetAt, Wired, WorktreeEvent};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The state of every event in every worktree, each proven by running git where that has no effect
/// on anything but our own program.
pub(crate) fn status(repository: &Repository) -> Result<Vec<Row>> {
    let facts = &repository.facts;
    let current = repository.top.as_deref().map(real);
    let token = ulid::Ulid::generate().to_string();
    let other_hooks = other_config_hooks()?;
    let others: Vec<(OsString, &'static str)> = other_hooks
        .iter()
        .map(|name| {
            let mut key = OsString::from("hook.");
            key.push(name);
            key.push(".enabled");
            (key, "false")
        })
        .collect();
    let mut rows = Vec::new();
    let mut of_main: Option<(PathBuf, Vec<Event>)> = None;
    for worktree in worktrees(repository)? {
        // In the worktree that we stand in the environment names the repository; elsewhere it would
        // name the wrong one.
        let here = current == Some(real(&worktree));
        let enter = |run: Run| {
            let run = run.cwd(&worktree);
            if here { run } else { run.scrubbed() }
        };
        let (dir, hooks_path) = hooks_dir(&worktree, &enter)?;
        let first = if here { settings_in_environment() } else { 0 };
        let overlay = |more: &[(OsString, &'static str)]| Overlay {
            first,
            settings: [others.as_slice(), more].concat(),
        };
        let ours: Vec<(OsString, &str)> = hooks::section_names()
            .into_iter()
            .map(|name| (format!("hook.{name}.enabled").into(), "false"))
            .collect();
        let (all_config, all_others) = (
            overlay(&ours),
            overlay(&[("core.hooksPath".into(), "/dev/null")]),
        );
        let mut wired_here = Vec::new();
        for slot in &facts.slots {
            let line = wired(Some(&worktree), &dir, slot.event)?;
            if line.is_some() {
                wired_here.push(slot.event);
            }
            let in_main = of_main.as_ref().filter(|(_, events)| {
                line.is_none() && dir.starts_with(&worktree) && events.contains(&slot.event)
            });
            let by_config = facts.version.has_config_hooks()
                && other_hooks.contains(&format!("hk-{}", slot.event).into());
            let mut seen = WorktreeEvent {
                event: slot.event,
                worktree: worktree.clone(),
                version: facts.version,
                config: slot.config,
                config_file: repository.config_file.clone(),
                global: slot.global,
                global_file: repository.global_file.clone(),
                disabled: None,
                here: found(&dir, slot.event, &repository.program)?,
                dir: dir.clone(),
                hooks_path: hooks_path.clone(),
                own_dir: facts.own_dir.clone(),
                own: slot.found,
                saved: slot.saved,
                aside: aside(&dir, slot.event)?,
                line: line.map(|line| Wired {
                    // hk needs no file for git to run it.
                    reached: line.reached || (by_config && line.manager == Some(Manager::Hk)),
                    ..line
                }),
                rewriter: facts.rewriter,
                recorded: facts.recorded,
                in_main: in_main.map(|(main, _)| main.clone()),
            };
            let probe = hooks::probe(&seen);
            let answered = match &probe {
                Probe::Known { .. } => None,
                Probe::Shim => Some(ask(&enter, slot.event, &token, &all_config)?),
                Probe::Config => Some(ask(&enter, slot.event, &token, &all_others)?),
            };
            if answered == Some(false) {
                seen.disabled = disabled(&enter, slot.event)?;
            }
            rows.push(hooks::row(&seen, &probe, answered));
        }
        of_main.get_or_insert((worktree, wired_here));
    }
    Ok(rows)
}

/// Has git run one event, and looks for our answer. `git hook run` reads no object, writes no ref and
/// refreshes no index. The settings that `off` names are put on top for this one process, so that
/// nobody else's hook runs.
fn ask(enter: &impl Fn(Run) -> Run, event: Event, token: &str, off: &Overlay) -> Result<bool> {
    let run = Run::git(["hook", "run", "--ignore-missing", event.name()]);
    let captured = off
        .put_on(enter(run).env(env::LOOPX_HOOK_PROBE, token))
        .capture()?;
    let answer = hook::probe_answer(token, event.name());
    // git hands a hook's stdout on as stderr.
    Ok([captured.stdout, captured.stderr].iter().any(|said| {
        String::from_utf8_lossy(said)
            .lines()
            .any(|line| line == answer)
    }))
}

/// Settings for one process. Through the environment: the name of a config hook may hold `=`, at
/// which `git -c` would split.
struct Overlay {
    /// The number of settings that the environment holds already.
    first: usize,
    settings: Vec<(OsString, &'static str)>,
}

impl Overlay {
    fn put_on(&self, mut run: Run) -> Run {
        for (at, (key, value)) in self.settings.iter().enumerate() {
            let at = self.first + at;
            run = run
                .env(format!("GIT_CONFIG_KEY_{at}"), key)
                .env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        let count = self.first + self.settings.len();
        run.env(env::GIT_CONFIG_COUNT, count.to_string())
    }
}

/// Lists the worktrees that are there, the main one first. A bare repository counts where it has none.
pub(crate) fn worktrees(repository: &Repository) -> Result<Vec<PathBuf>> {
    let listed = Run::git(["worktree", "list", "--porcelain", "-z"])
        .capture()?
        .ok()?;
    let mut found = Vec::new();
    let mut last: Option<PathBuf> = None;
    let mut bare: Option<PathBuf> = None;
    for field in listed.split(|&byte| byte == 0) {
        if let Some(name) = field.strip_prefix(b"worktree ") {
            found.extend(last.take());
            last = Some(path(name.to_vec()));
        } else if field == b"bare" {
            bare = last.take();
        }
    }
    found.extend(last);
    // git lists the git directory where that is not `.git` in the worktree: a submodule, or
    // `init --separate-git-dir`.
    if let Some(main) = found.first_mut().filter(|main| !main.join(".git").exists()) {
        let asked = || {
            let run = Run::git(["rev-parse", "--show-toplevel"]).cwd(&*main);
            run.scrubbed().capture().ok()?.line().ok().map(path)
        };
        let known = repository.top.clone().filter(|_| repository.in_main);
        if let Some(top) = known.or_else(asked) {
            *main = top;
        }
    }
    found.retain(|worktree| worktree.is_dir());
    if found.is_empty() {
        found.extend(bare);
    }
    Ok(found)
}

/// The setting that keeps git from running our config hook.
fn disabled(enter: &impl Fn(Run) -> Run, event: Event) -> Result<Option<(String, SetAt)>> {
    for name in [event.config_name(), event.name().to_owned()] {
        let key = format!("hook.{name}.enabled");
        if let Some(set) = switched_off(enter, &key)? {
            return Ok(Some((key, set)));
        }
    }
    Ok(None)
}

fn settings_in_environment() -> usize {
    env::var(env::GIT_CONFIG_COUNT)
        .and_then(|count| count.parse().ok())
        .unwrap_or(0)
}

/// The names of all config hooks but ours, from every configuration file.
fn other_config_hooks() -> Result<Vec<OsString>> {
    let listed = Run::git([
        "config",
        "-z",
        "--name-only",
        "--get-regexp",
        r"^hook\..*\.(event|command)$",
    ])
    .capture()?;
    let listed = listed.ok().unwrap_or_default();
    let ours = hooks::section_names();
    let mut names: Vec<OsString> = listed
        .split(|&byte| byte == 0)
        .filter_map(|key| {
            let key = key.strip_prefix(b"hook.")?;
            let end = key.iter().rposition(|&byte| byte == b'.')?;
            Some(OsStr::from_bytes(&key[..end]).to_owned())
        })
        .filter(|name| !ours.iter().any(|own| name == own.as_str()))
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}
