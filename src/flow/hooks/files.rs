//! Files of a hooks folder: what stands there, and writing ours so that no moment is without a hook.

use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_git::{NEW_HOOK, Repo};
use loopx_hosts::hooks;
use loopx_hosts::hooks::manager::Manager;
use loopx_hosts::hooks::{Aside, Event, Found, Saved};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) fn found(dir: &Path, event: Event, program: &[u8]) -> Result<Found> {
    let hook = dir.join(event.name());
    let Some(content) = read_hook(&hook)? else {
        return Ok(Found::Nothing);
    };
    let executable =
        fs::metadata(&hook).is_ok_and(|meta| meta.permissions().mode() & 0o111 == 0o111);
    Ok(hooks::found(Some(&content), executable, program, event))
}

pub(super) fn saved(dir: &Path, event: Event) -> Result<Saved> {
    let saved = dir.join(event.saved_name());
    if fs::symlink_metadata(&saved).is_err() {
        return Ok(Saved::Nothing);
    }
    let hook = dir.join(event.name());
    let same = fs::read_link(&saved).ok() == fs::read_link(&hook).ok()
        && read_hook(&hook)?.is_some_and(|hook| Some(hook) == read_hook(&saved).ok().flatten());
    Ok(if same { Saved::Both } else { Saved::Kept })
}

/// Finds the names under which a manager put our shim.
pub(super) fn aside(dir: &Path, event: Event) -> Result<Vec<Aside>> {
    let mut found = Vec::new();
    for aside in Aside::ALL {
        let content = read_hook(&dir.join(aside.file(event)))?;
        if content.is_some_and(|content| hooks::is_shim(&content)) {
            found.push(aside);
        }
    }
    Ok(found)
}

/// The content of a hook; a link that leads nowhere is a hook, too: an empty one.
pub(super) fn read_hook(hook: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(hook) {
        Ok(content) => Ok(Some(content)),
        Err(_) if hook.is_symlink() => Ok(Some(Vec::new())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Failure::new(
            Kind::Internal,
            Code::HookNotRead,
            format!("read `{}`: {error}", hook.display()),
        )),
    }
}

/// Recognises whose a hooks folder is, by its path. Links are followed where the folders are there.
pub(super) fn by_path(dir: &Path, top: Option<&Path>) -> Option<Manager> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let top = top.map(|top| real(top).to_string_lossy().into_owned());
    // A folder that is not there yet has one above it that is.
    let there = dir.ancestors().find(|above| above.exists());
    let below = there.and_then(|there| dir.strip_prefix(there).ok());
    let dir = match (there, below) {
        (Some(there), Some(below)) if below.as_os_str().is_empty() => real(there),
        (Some(there), Some(below)) => real(there).join(below),
        _ => dir.to_owned(),
    };
    Manager::of_path(&dir.to_string_lossy(), top.as_deref())
}

/// Recognises whose a hooks folder is, by its path or by the scripts in it.
pub(super) fn manager_of(dir: &Path, top: Option<&Path>) -> Result<Option<Manager>> {
    if let Some(manager) = by_path(dir, top) {
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

/// The manager that wrote the hook which is kept.
pub(super) fn saved_by(dir: &Path, event: Event) -> Result<Option<Manager>> {
    let saved = read_hook(&dir.join(event.saved_name()))?;
    Ok(saved.and_then(|content| Manager::of_script(&content)))
}

/// Gives the hook a second name before the first one is overwritten, so that there is no moment
/// without it.
pub(super) fn save(dir: &Path, event: Event) -> std::io::Result<()> {
    let (hook, saved) = (dir.join(event.name()), dir.join(event.saved_name()));
    // Some file systems have no hard links; there the hook is gone until our shim stands.
    fs::hard_link(&hook, &saved).or_else(|_| fs::rename(&hook, &saved))
}

/// Path of a shim until it is whole.
pub(super) fn fresh(dir: &Path, event: Event) -> PathBuf {
    dir.join(format!(".{event}.{NEW_HOOK}"))
}

/// Writes the shim of an event. `repo`, where it can be opened, says who shares what is in its git dir.
pub(super) fn write_shim(
    repo: Option<&Repo>,
    dir: &Path,
    event: Event,
    program: &[u8],
) -> std::io::Result<()> {
    match repo {
        Some(repo) => repo.make_folder(dir)?,
        None => fs::create_dir_all(dir)?,
    }
    let fresh = fresh(dir, event);
    let script = hooks::shim(program, event);
    write_script(repo, (&fresh, &dir.join(event.name())), &script)
}

/// Writes a script beside its place, and puts it there once it is whole.
pub(in crate::flow) fn write_script(
    repo: Option<&Repo>,
    (fresh, place): (&Path, &Path),
    script: &[u8],
) -> std::io::Result<()> {
    // Left over from a kill; nobody else has this name.
    drop(fs::remove_file(fresh));
    let written = write_whole(fresh, script).and_then(|()| {
        if let Some(repo) = repo {
            repo.share(fresh);
        }
        fs::rename(fresh, place)
    });
    if written.is_err() {
        drop(fs::remove_file(fresh));
    }
    written
}

fn write_whole(fresh: &Path, script: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(fresh)?;
    file.write_all(script)?;
    // Whatever the umask: a hook that is not executable is silently skipped.
    file.set_permissions(fs::Permissions::from_mode(0o755))?;
    file.sync_all()
}
