//! Installs, takes away and reports git hooks: gathers facts from git and the hooks folder, has
//! `core::hooks` decide, and carries the plan out. Needs no session and no store.

use crate::core::failure::{Failure, Kind, Result};
use crate::core::hooks::manager::{self, Manager};
use crate::core::hooks::{
    self, Event, Facts, Found, GitVersion, HooksPath, Plan, Probe, Row, Saved, Setting, Slot,
    Standing, Step, WorktreeEvent, config,
};
use crate::git::config_file;
use crate::git::run::{Captured, Run};
use crate::{env, flow::hook};
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
    let version = version()?;
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
            Failure::internal(
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

/// The state of every event in every worktree, each proven by running git where that has no effect
/// on anything but our own program.
pub fn status(repository: &Repository) -> Result<Vec<Row>> {
    let facts = &repository.facts;
    let current = repository.top.as_deref().map(real);
    let token = ulid::Ulid::generate().to_string();
    let others: Vec<(OsString, &'static str)> = other_config_hooks()?
        .into_iter()
        .map(|name| {
            let mut key = OsString::from("hook.");
            key.push(name);
            key.push(".enabled");
            (key, "false")
        })
        .collect();
    let mut rows = Vec::new();
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
        let (others, all_others) = (
            overlay(&[]),
            overlay(&[("core.hooksPath".into(), "/dev/null")]),
        );
        for slot in &facts.slots {
            let seen = WorktreeEvent {
                event: slot.event,
                worktree: worktree.clone(),
                version: facts.version,
                config: slot.config,
                config_file: repository.config_file.clone(),
                here: found(&dir, slot.event, &repository.program)?,
                dir: dir.clone(),
                hooks_path: hooks_path.clone(),
                own_dir: facts.own_dir.clone(),
                own: slot.found,
                saved: slot.saved,
                line_in: line_in(&worktree, slot.event),
            };
            let probe = hooks::probe(&seen);
            let answered = match &probe {
                Probe::Known { .. } => None,
                Probe::Shim => Some(ask(&enter, slot.event, &token, &others)?),
                Probe::Config => Some(ask(&enter, slot.event, &token, &all_others)?),
            };
            rows.push(hooks::row(&seen, &probe, answered));
        }
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
    /// How many the environment holds already.
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

fn version() -> Result<GitVersion> {
    let answer = Run::git(["--version"]).capture()?.line()?;
    let answer = String::from_utf8_lossy(&answer);
    GitVersion::parse(&answer).ok_or_else(|| {
        Failure::internal(
            "git_version_unknown",
            format!("`git --version` answered `{answer}`"),
        )
    })
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

/// Every worktree that is there, the main one first. A bare repository counts where it has none.
fn worktrees(repository: &Repository) -> Result<Vec<PathBuf>> {
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

/// The manager's configuration file of a worktree that calls us on this event.
fn line_in(top: &Path, event: Event) -> Option<String> {
    Manager::ALL
        .into_iter()
        .flat_map(|manager| manager.files(event))
        .find(|file| {
            fs::read(top.join(file)).is_ok_and(|content| manager::calls_us(&content, event))
        })
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
