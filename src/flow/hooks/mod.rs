//! Installs, takes away and reports git hooks: gathers facts from git and the hooks folder, has
//! `loopx_hosts::hooks` decide, and carries the plan out. Needs no session and no store.

use super::hook::OPT_OUT;
use super::hook_once;
pub(in crate::flow) use files::write_script;
use files::{aside, found, fresh, manager_of, save, saved, saved_by, write_shim};
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_git::run::{Captured, Run};
use loopx_git::{Repo, config_file};
use loopx_hosts::hooks;
use loopx_hosts::hooks::manager::Manager;
use loopx_hosts::hooks::{Event, Facts, Place, Plan, SetAt, Slot, Standing, Step, config};
use settings::{own_settings, setting, switched_off};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

mod files;
mod gits;
mod global;
mod lines;
mod record;
mod settings;
mod status;

pub(crate) use global::Global;
pub(crate) use record::is_installed;

pub(crate) use status::{status, worktrees};

/// The repository around the current folder, as far as hooks go.
#[derive(Debug)]
pub(crate) struct Repository {
    program: Vec<u8>,
    common_dir: PathBuf,
    config_file: PathBuf,
    global_file: Option<PathBuf>,
    /// The worktree that we stand in, and whether it is the main one.
    top: Option<PathBuf>,
    in_main: bool,
    pub facts: Facts,
}

/// Reads all that a decision needs.
pub(crate) fn read() -> Result<Repository> {
    let cwd = env::current_dir()
        .map_err(|error| Failure::internal(Code::NoCurrentFolder, format!("{error}")))?;
    let program = program()?;
    let version = gits::version(OsStr::new("git"))?;
    // The environment stays: GIT_DIR and GIT_WORK_TREE may be what names the repository.
    let here = |run: Run| run.cwd(&cwd);
    let common = common_dir(&cwd, &here)?;
    let top = here(Run::git(["rev-parse", "--show-toplevel"]))
        .capture()?
        .line()
        .map(path)
        .ok();
    let git_dir = here(Run::git(["rev-parse", "--absolute-git-dir"])).capture()?;
    let in_main = real(&path(git_dir.line()?)) == common;
    let (dir, hooks_path) = hooks_dir(&cwd, &here)?;
    let place = place(&dir, &common, top.as_deref())?;
    let standing = hooks::standing(&dir, hooks_path, place);
    let own_dir = if standing == Standing::Owned {
        dir.clone()
    } else {
        common.join("hooks")
    };
    let config_file = common.join("config");
    let settings = own_settings(&config_file)?;
    let global_file = global::file(version);
    let global = match &global_file {
        Some(file) => own_settings(file)?,
        None => Vec::new(),
    };
    let slot = |event| -> Result<Slot> {
        Ok(Slot {
            event,
            found: found(&own_dir, event, &program)?,
            saved: saved(&own_dir, event)?,
            saved_by: saved_by(&own_dir, event)?,
            aside: aside(&own_dir, event)?,
            in_dir: dir.join(event.name()).exists(),
            line: lines::wired(top.as_deref(), &dir, event)?,
            config: setting(&settings, event, &program),
            global: setting(&global, event, &program),
        })
    };
    let slots = Event::ALL.into_iter().map(slot).collect::<Result<_>>()?;
    let manager = if standing == Standing::Owned {
        None
    } else {
        manager_of(&dir, top.as_deref())?
    };
    let manager_files = match &top {
        Some(top) => existing(top),
        None => Vec::new(),
    };
    Ok(Repository {
        program,
        config_file,
        global_file,
        in_main,
        facts: Facts {
            version,
            dir,
            standing,
            own_dir,
            slots,
            manager,
            manager_files,
            rewriter: top.as_deref().and_then(lines::rewriter),
            in_worktree: place.in_worktree,
            recorded: record::is_there(&common),
            program_dir: lines::program_dir(),
            other_gits: gits::other_gits(),
            opted_out: switched_off(&here, OPT_OUT)?,
        },
        common_dir: common,
        top,
    })
}

/// The folder that all worktrees of the repository have in common.
fn common_dir(cwd: &Path, here: &impl Fn(Run) -> Run) -> Result<PathBuf> {
    let common = here(Run::git(["rev-parse", "--git-common-dir"])).capture()?;
    if !common.ended.success() {
        return Err(Failure::not_found(
            Code::NoRepository,
            format!("no git repository at `{}`", cwd.display()),
        )
        .help("git init"));
    }
    Ok(real(&cwd.join(path(common.line()?))))
}

/// The place of a hooks folder.
fn place(dir: &Path, common: &Path, top: Option<&Path>) -> Result<Place> {
    let in_git_dir = real(dir).starts_with(common);
    let in_worktree = !in_git_dir && top.is_some_and(|top| real(dir).starts_with(real(top)));
    Ok(Place {
        in_git_dir,
        in_worktree,
        is_tracked: top.is_some_and(|top| is_tracked(top, dir)),
        is_managed: !in_git_dir && manager_of(dir, top)?.is_some(),
    })
}

/// Carries a plan out, step by step; `done` is told of each step that was taken.
pub(crate) fn apply(
    repository: &Repository,
    plan: &Plan,
    mut done: impl FnMut(Step),
) -> Result<()> {
    let dir = &repository.facts.own_dir;
    let repo = Repo::open().ok();
    let edit = |sections: &[config::Section]| {
        config_file::edit(&repository.config_file, |old| {
            config::rewrite(old, &hooks::section_names(), sections)
        })
    };
    for &step in &plan.steps {
        let taken = match step {
            Step::WriteConfig => {
                edit(&hooks::sections(&repository.program))?;
                Ok(())
            }
            Step::RemoveConfig => {
                edit(&[])?;
                Ok(())
            }
            // Planned from other facts, carried out by `Global`.
            Step::WriteGlobal | Step::RemoveGlobal => Ok(()),
            Step::Save(event) => save(dir, event),
            Step::WriteShim(event) => write_shim(repo.as_ref(), dir, event, &repository.program),
            Step::RemoveShim(event) => fs::remove_file(dir.join(event.name())),
            Step::Restore(event) => {
                fs::rename(dir.join(event.saved_name()), dir.join(event.name()))
            }
            Step::DropSaved(event) => fs::remove_file(dir.join(event.saved_name())),
            Step::RemoveMoved(moved) => fs::remove_file(dir.join(moved.to_string())),
            Step::HandOver(moved) => fs::rename(
                dir.join(moved.event.saved_name()),
                dir.join(moved.to_string()),
            ),
            Step::Forget => Ok(()),
        };
        taken.map_err(|error| {
            let again = match plan.mode {
                Some(_) => command!("hooks install"),
                None => command!("hooks uninstall"),
            };
            Failure::refused(
                Code::HookNotWritten,
                format!("{}: {error}", describe(repository, step)),
            )
            .help(hint![
                format!(
                    "make room in {}, or give yourself the right to write there, then: ",
                    dir.display()
                ),
                again
            ])
        })?;
        done(step);
    }
    if plan.mode.is_some() {
        record::make(repo.as_ref(), &repository.common_dir);
    } else {
        record::remove(&repository.common_dir);
        // What a killed install may have left.
        for event in Event::ALL {
            drop(fs::remove_file(fresh(dir, event)));
            let record = hook_once::record_path(&repository.common_dir, event);
            drop(fs::remove_file(record));
        }
    }
    Ok(())
}

/// A step in words.
pub(crate) fn describe(repository: &Repository, step: Step) -> String {
    let dir = &repository.facts.own_dir;
    let hook = |event: Event| dir.join(event.name()).display().to_string();
    let saved = |event: Event| dir.join(event.saved_name()).display().to_string();
    match step {
        Step::WriteConfig | Step::WriteGlobal => write_words(&repository.config_file),
        Step::RemoveConfig | Step::RemoveGlobal => remove_words(&repository.config_file),
        Step::Save(event) => format!("keep {} as {} and run it first", hook(event), saved(event)),
        Step::WriteShim(event) => format!("write {}", hook(event)),
        Step::RemoveShim(event) => format!("remove {}", hook(event)),
        Step::Restore(event) => format!("move {} back to {}", saved(event), hook(event)),
        Step::DropSaved(event) => format!("remove {}, a second copy", saved(event)),
        Step::RemoveMoved(moved) => format!("remove our {}", dir.join(moved.to_string()).display()),
        Step::HandOver(moved) => format!(
            "move {} to {}, in place of ours",
            saved(moved.event),
            dir.join(moved.to_string()).display()
        ),
        Step::Forget => "forget that hooks were installed here".into(),
    }
}

fn write_words(file: &Path) -> String {
    let names = hooks::section_names().join("\"], [hook \"");
    format!("write [hook \"{names}\"] to {}", file.display())
}

fn remove_words(file: &Path) -> String {
    let file = file.display();
    format!("remove every [hook \"loopx-...\"] of ours from {file}")
}

/// Path of this program, as bytes: a path need not be UTF-8.
pub(super) fn program() -> Result<Vec<u8>> {
    let program =
        env::program().map_err(|error| Failure::internal(Code::NoProgram, format!("{error}")))?;
    Ok(program.into_os_string().into_vec())
}

/// Finds the folder in which git looks for hook files, and the setting that says so.
pub(super) fn hooks_dir(
    cwd: &Path,
    enter: &impl Fn(Run) -> Run,
) -> Result<(PathBuf, Option<SetAt>)> {
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
        Some(SetAt {
            scope: parts.next()?,
            origin: parts.next()?,
        })
    });
    Ok((cwd.join(path(dir)), hooks_path))
}

fn is_tracked(top: &Path, dir: &Path) -> bool {
    let inside = dir.starts_with(top) || real(dir).starts_with(real(top));
    inside
        // A monitor that the repository names is no business of a look at its hooks.
        && Run::git(["-c", "core.fsmonitor=false", "ls-files", "-z", "--"])
            .args([real(dir)])
            .cwd(top)
            .capture()
            .and_then(Captured::ok)
            .is_ok_and(|listed| !listed.is_empty())
}

/// The configuration files of managers that a worktree has.
fn existing(top: &Path) -> Vec<String> {
    let events = Event::ALL.into_iter();
    let mut files: Vec<String> = events
        .flat_map(|event| Manager::ALL.map(|manager| manager.files(event)))
        .flatten()
        .filter(|file| top.join(file).is_file())
        .collect();
    files.sort();
    files.dedup();
    files
}

/// The path with links followed, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
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
