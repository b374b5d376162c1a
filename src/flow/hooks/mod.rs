//! Installs, takes away and reports git hooks: gathers facts from git and the hooks folder, has
//! `core::hooks` decide, and carries the plan out. Needs no session and no store.

use crate::core::failure::{Failure, Kind, Result};
use crate::core::hooks::manager::Manager;
use crate::core::hooks::{
    self, Event, Facts, Found, GitVersion, HooksPath, Plan, Saved, Setting, Slot, Standing, Step,
    config,
};
use crate::env;
use crate::git::config_file;
use crate::git::run::{Captured, Run};
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

mod status;

pub use status::status;

/// The repository around the current folder, as far as hooks go.
#[derive(Debug)]
pub struct Repository {
    program: Vec<u8>,
    config_file: PathBuf,
    /// The worktree that we stand in, and whether it is the main one.
    top: Option<PathBuf>,
    in_main: bool,
    pub facts: Facts,
}

/// Reads all that a decision needs.
pub fn read() -> Result<Repository> {
    let cwd = env::current_dir()
        .map_err(|error| Failure::internal("no_current_folder", format!("{error}")))?;
    let program = env::program()
        .map_err(|error| Failure::internal("no_program", format!("{error}")))?
        .into_os_string()
        .into_vec();
    let version = version(OsStr::new("git"))?;
    // The environment stays: GIT_DIR and GIT_WORK_TREE may be what names the repository.
    let here = |run: Run| run.cwd(&cwd);
    let common = here(Run::git(["rev-parse", "--git-common-dir"])).capture()?;
    if !common.ended.success() {
        return Err(Failure::not_found(
            "no_repository",
            format!("no git repository at `{}`", cwd.display()),
        )
        .help("git init"));
    }
    let common = real(&cwd.join(path(common.line()?)));
    let top = here(Run::git(["rev-parse", "--show-toplevel"]))
        .capture()?
        .line()
        .map(path)
        .ok();
    let git_dir = here(Run::git(["rev-parse", "--absolute-git-dir"])).capture()?;
    let in_main = real(&path(git_dir.line()?)) == common;
    let (dir, hooks_path) = hooks_dir(&cwd, &here)?;
    let inside = real(&dir).starts_with(&common);
    let tracked = top.as_ref().is_some_and(|top| is_tracked(top, &dir));
    let standing = hooks::standing(&dir, hooks_path, inside, tracked);
    let own_dir = if standing == Standing::Owned {
        dir.clone()
    } else {
        common.join("hooks")
    };
    let config_file = common.join("config");
    let settings = own_settings(&config_file)?;
    let slots = Event::ALL
        .into_iter()
        .map(|event| {
            Ok(Slot {
                event,
                found: found(&own_dir, event, &program)?,
                saved: saved(&own_dir, event)?,
                config: setting(&settings, event, &program),
            })
        })
        .collect::<Result<_>>()?;
    let manager = if standing == Standing::Owned {
        None
    } else {
        manager_of(&dir)?
    };
    let manager_files = match (manager, &top) {
        (Some(manager), Some(top)) => existing(top, manager),
        _ => Vec::new(),
    };
    Ok(Repository {
        program,
        config_file,
        in_main,
        top,
        facts: Facts {
            version,
            dir,
            standing,
            own_dir,
            slots,
            manager,
            manager_files,
            other_gits: other_gits(),
        },
    })
}

/// Carries a plan out, step by step.
pub fn apply(repository: &Repository, plan: &Plan) -> Result<()> {
    let dir = &repository.facts.own_dir;
    let edit = |sections: &[config::Section]| {
        config_file::edit(&repository.config_file, |old| {
            config::rewrite(old, &hooks::section_names(), sections)
        })
    };
    for &step in &plan.steps {
        let done = match step {
            Step::WriteConfig => {
                edit(&hooks::sections(&repository.program))?;
                Ok(())
            }
            Step::RemoveConfig => {
                edit(&[])?;
                Ok(())
            }
            Step::Save(event) => save(dir, event),
            Step::WriteShim(event) => write_shim(dir, event, &repository.program),
            Step::RemoveShim(event) => fs::remove_file(dir.join(event.name())),
            Step::Restore(event) => {
                fs::rename(dir.join(event.saved_name()), dir.join(event.name()))
            }
            Step::DropSaved(event) => fs::remove_file(dir.join(event.saved_name())),
        };
        done.map_err(|error| {
            Failure::refused(
                "hook_not_written",
                format!("{}: {error}", describe(repository, step)),
            )
        })?;
    }
    if plan.mode.is_none() {
        // What a killed install may have left.
        for event in Event::ALL {
            drop(fs::remove_file(fresh(dir, event)));
        }
    }
    Ok(())
}

/// A step in words.
pub fn describe(repository: &Repository, step: Step) -> String {
    let dir = &repository.facts.own_dir;
    let hook = |event: Event| dir.join(event.name()).display().to_string();
    let saved = |event: Event| dir.join(event.saved_name()).display().to_string();
    let file = repository.config_file.display();
    match step {
        Step::WriteConfig => {
            format!(
                "write [hook \"{}\"] to {file}",
                hooks::section_names().join("\"], [hook \"")
            )
        }
        Step::RemoveConfig => format!("remove every [hook \"loopx-...\"] of ours from {file}"),
        Step::Save(event) => format!("keep {} as {} and run it first", hook(event), saved(event)),
        Step::WriteShim(event) => format!("write {}", hook(event)),
        Step::RemoveShim(event) => format!("remove {}", hook(event)),
        Step::Restore(event) => format!("move {} back to {}", saved(event), hook(event)),
        Step::DropSaved(event) => format!("remove {}, a second copy", saved(event)),
    }
}

fn version(git: &OsStr) -> Result<GitVersion> {
    let answer = Run::program(git).args(["--version"]).capture()?.line()?;
    let answer = String::from_utf8_lossy(&answer);
    GitVersion::parse(&answer).ok_or_else(|| {
        Failure::internal(
            "git_version_unknown",
            format!("`git --version` answered `{answer}`"),
        )
    })
}

/// Every git in PATH behind the first one, with its version. A relative folder of PATH is passed
/// over: what it holds depends on where we stand.
fn other_gits() -> Vec<(PathBuf, GitVersion)> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for dir in env::path().into_iter().filter(|dir| dir.is_absolute()) {
        let git = dir.join("git");
        if git.is_file() && !seen.iter().any(|other| real(other) == real(&git)) {
            seen.push(git);
        }
    }
    let with_version = |git: PathBuf| {
        let version = version(git.as_os_str()).ok()?;
        Some((git, version))
    };
    seen.into_iter().skip(1).filter_map(with_version).collect()
}

/// Where git looks for hook files, and which setting says so.
fn hooks_dir(cwd: &Path, enter: &impl Fn(Run) -> Run) -> Result<(PathBuf, Option<HooksPath>)> {
    let dir = enter(Run::git(["rev-parse", "--git-path", "hooks"]))
        .capture()?
        .line()?;
    let setting = enter(Run::git([
        "config",
        "-z",
        "--show-scope",
        "--show-origin",
        "--get",
        "core.hooksPath",
    ]))
    .capture()?;
    let hooks_path = setting.ok().ok().and_then(|bytes| {
        let mut parts = bytes.split(|&byte| byte == 0).map(text);
        Some(HooksPath {
            scope: parts.next()?,
            origin: parts.next()?,
        })
    });
    Ok((cwd.join(path(dir)), hooks_path))
}

fn is_tracked(top: &Path, dir: &Path) -> bool {
    let inside = dir.starts_with(top) || real(dir).starts_with(real(top));
    inside
        && Run::git(["ls-files", "-z", "--"])
            .args([real(dir)])
            .cwd(top)
            .capture()
            .and_then(Captured::ok)
            .is_ok_and(|listed| !listed.is_empty())
}

/// What the local configuration file says under our names: keys and values.
fn own_settings(file: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let listed = Run::git(["config", "-z", "--file"])
        .args([file.as_os_str(), OsStr::new("--get-regexp")])
        .args([r"^hook\.loopx-"])
        .capture()?;
    let field = |field: &[u8]| {
        let mut parts = field.splitn(2, |&byte| byte == b'\n');
        let key = text(parts.next()?);
        (!key.is_empty()).then(|| (key, parts.next().unwrap_or_default().to_vec()))
    };
    Ok(listed
        .stdout
        .split(|&byte| byte == 0)
        .filter_map(field)
        .collect())
}

fn setting(settings: &[(String, Vec<u8>)], event: Event, program: &[u8]) -> Setting {
    let section = format!("hook.{}.", event.config_name());
    let ours = || {
        settings
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(&section)?, value.as_slice())))
    };
    let values = |wanted: &str| -> Vec<&[u8]> {
        let of_key = |(key, value)| (key == wanted).then_some(value);
        ours().filter_map(of_key).collect()
    };
    if ours().next().is_none() {
        Setting::Absent
    } else if values("command") == [hooks::command(program, event)]
        && values("event") == [event.name().as_bytes()]
    {
        Setting::Current
    } else {
        Setting::Outdated
    }
}

fn found(dir: &Path, event: Event, program: &[u8]) -> Result<Found> {
    let hook = dir.join(event.name());
    let Some(content) = read_hook(&hook)? else {
        return Ok(Found::Nothing);
    };
    let executable =
        fs::metadata(&hook).is_ok_and(|meta| meta.permissions().mode() & 0o111 == 0o111);
    Ok(hooks::found(Some(&content), executable, program, event))
}

fn saved(dir: &Path, event: Event) -> Result<Saved> {
    let saved = dir.join(event.saved_name());
    if fs::symlink_metadata(&saved).is_err() {
        return Ok(Saved::Nothing);
    }
    let hook = dir.join(event.name());
    let same = fs::read_link(&saved).ok() == fs::read_link(&hook).ok()
        && read_hook(&hook)?.is_some_and(|hook| Some(hook) == read_hook(&saved).ok().flatten());
    Ok(if same { Saved::Both } else { Saved::Kept })
}

/// The content of a hook; a link that leads nowhere is a hook, too: an empty one.
fn read_hook(hook: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(hook) {
        Ok(content) => Ok(Some(content)),
        Err(_) if hook.is_symlink() => Ok(Some(Vec::new())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Failure::new(
            Kind::Internal,
            "hook_not_read",
            format!("read `{}`: {error}", hook.display()),
        )),
    }
}

/// Recognises whose a hooks folder is, by its path or by the scripts in it.
fn manager_of(dir: &Path) -> Result<Option<Manager>> {
    if let Some(manager) = Manager::of_path(&dir.to_string_lossy()) {
        return Ok(Some(manager));
    }
    for event in Event::ALL {
        if let Some(manager) =
            read_hook(&dir.join(event.name()))?.and_then(|content| Manager::of_script(&content))
        {
            return Ok(Some(manager));
        }
    }
    Ok(None)
}

fn existing(top: &Path, manager: Manager) -> Vec<String> {
    let mut files: Vec<String> = Event::ALL
        .into_iter()
        .flat_map(|event| manager.files(event))
        .filter(|file| top.join(file).is_file())
        .collect();
    files.dedup();
    files
}

/// Gives the hook a second name before the first one is overwritten, so that there is no moment
/// without it.
fn save(dir: &Path, event: Event) -> std::io::Result<()> {
    let (hook, saved) = (dir.join(event.name()), dir.join(event.saved_name()));
    // Some file systems have no hard links; there the hook is gone until our shim stands.
    fs::hard_link(&hook, &saved).or_else(|_| fs::rename(&hook, &saved))
}

/// What a shim is called until it is whole.
fn fresh(dir: &Path, event: Event) -> PathBuf {
    dir.join(format!(".{event}.loopx-new"))
}

fn write_shim(dir: &Path, event: Event, program: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let fresh = fresh(dir, event);
    // Left over from a kill; nobody else has this name.
    drop(fs::remove_file(&fresh));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(&fresh)?;
    file.write_all(&hooks::shim(program, event))?;
    // Whatever the umask: a hook that is not executable is silently skipped.
    file.set_permissions(fs::Permissions::from_mode(0o755))?;
    file.sync_all()?;
    drop(file);
    fs::rename(&fresh, dir.join(event.name()))
}

/// The path with links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
