//! Files of the worktree: read and written so that a link cannot lead out of it and a kill leaves the
//! old file or the new one.

use loopx_base::failpoint::fail;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::path_from;
use loopx_git::{PARTIAL, Repo, TEMPORARY};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

fn failed(path: &Path, doing: &str, error: &std::io::Error) -> Failure {
    loopx_git::unwritable(path, error).context(doing)
}

/// A file that cannot be read, as what it is: it is there, and nobody knows what stands in it.
fn unread(path: &Path, error: &std::io::Error) -> Failure {
    let is_file = |above: &&Path| fs::symlink_metadata(above).is_ok_and(|meta| !meta.is_dir());
    let in_the_way = path.ancestors().skip(1).find(is_file);
    match in_the_way.filter(|_| error.kind() == std::io::ErrorKind::NotADirectory) {
        Some(above) => Failure::refused(
            Code::FolderExpected,
            format!("{} is a file; expected a folder", above.display()),
        )
        .help(hint!["move it away, then run: ", command!("checkout")]),
        None => loopx_git::unreadable(path, error).context("read"),
    }
}

/// `top/relative`, refusing a path on which anything below `top` is a symbolic link.
pub(crate) fn inside(top: &Path, relative: &str) -> Result<PathBuf> {
    let mut path = top.to_path_buf();
    for part in relative.split('/') {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.file_type().is_symlink()) {
            return Err(Failure::refused(
                Code::SymlinkRefused,
                format!(
                    "{} is a symbolic link; expected a file or a folder of git loopx",
                    path.display()
                ),
            )
            .help(hint!["remove the link, then run: ", command!("checkout")]));
        }
    }
    Ok(path)
}

/// A place of another tool below the top. Refused where a link leads to it: a repository that somebody else made could
/// lead out of itself. `named`: the command for whoever trusts what the link leads to.
pub(crate) fn without_link(top: &Path, relative: &str, named: Hint) -> Result<PathBuf> {
    inside(top, relative).map_err(|failure| {
        Failure::refused(
            failure.code,
            format!("{relative} is, or stands below, a symbolic link, which is not followed"),
        )
        .help(named.note("(PATH: what the link leads to, if you trust it)"))
    })
}

/// The current folder below the top of a worktree; none outside of it.
pub(crate) fn below(top: &Path) -> Option<String> {
    let real = |path: &Path| path.canonicalize().ok();
    let here = loopx_base::env::current_dir().ok()?;
    let below = real(&here)?.strip_prefix(real(top)?).ok()?.to_owned();
    Some(below.to_string_lossy().into_owned())
}

/// A path below the top of the worktree, as somebody opens it from the current folder.
pub(crate) fn shown(repo: &Repo, path: &str) -> String {
    let below = repo.work_dir().and_then(below);
    path_from(&below.unwrap_or_default(), path)
}

/// Refuses a text with more bytes than the policy lets a session keep.
pub(crate) fn require_size(name: &str, bytes: u64, max: u64) -> Result<()> {
    if bytes <= max {
        return Ok(());
    }
    Err(Failure::refused(
        Code::ArtifactTooLarge,
        format!("{name}: {bytes} bytes, at most {max} are taken"),
    )
    .help("shorten it, or raise artifacts.max_bytes in loopx.toml"))
}

/// Size of a file in bytes, or `None` where there is none.
pub(crate) fn size(path: &Path) -> Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => Err(Failure::refused(
            Code::FileExpected,
            format!("{} is not a file", path.display()),
        )
        .help(hint!["move it away, then run: ", command!("checkout")])),
        Ok(meta) => Ok(Some(meta.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unread(path, &error)),
    }
}

/// A file's bytes, or `None` where there is none. Larger than `max` is an error.
pub(crate) fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>> {
    let Some(size) = size(path)? else {
        return Ok(None);
    };
    require_size(&path.display().to_string(), size, max)?;
    fs::read(path)
        .map(Some)
        .map_err(|error| unread(path, &error))
}

/// Writes a file of the git dir as [`write()`] does; others may share it.
pub(crate) fn write_in_git_dir(repo: &Repo, path: &Path, bytes: &[u8]) -> Result<()> {
    fail("file-written")
        .and_then(|()| repo.write_shared(path, bytes))
        .map_err(|error| failed(path, "write", &error))
}

/// Writes a file whole: to a temporary one beside it, then renamed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fail("file-written").map_err(|error| failed(path, "write", &error))?;
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| failed(parent, "create", &error))?;
    let mut temporary = tempfile::Builder::new()
        .prefix(PARTIAL)
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(parent)
        .map_err(|error| failed(parent, "write in", &error))?;
    temporary
        .write_all(bytes)
        .and_then(|()| set_mode(temporary.as_file(), path))
        .map_err(|error| failed(path, "write", &error))?;
    temporary
        .persist(path)
        .map_err(|error| failed(path, "write", &error.error))?;
    Ok(())
}

/// A file beside a place, for a program that writes by itself what goes there; it is gone when it is dropped.
pub(crate) fn beside(path: &Path) -> Result<tempfile::TempPath> {
    let parent = path.parent().unwrap_or(path);
    let made = tempfile::Builder::new()
        .prefix(PARTIAL)
        .tempfile_in(parent)
        .map_err(|error| failed(parent, "write in", &error))?;
    Ok(made.into_temp_path())
}

/// Writes a result to where a person wants it: as [`write()`] does where nothing or a plain file stands, and into a
/// device, a pipe or what a link leads to, as git does with `--output`.
pub(crate) fn write_out(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.is_dir() {
        let message = format!("expected a file, found the folder {}", path.display());
        return Err(Failure::refused(Code::FileExpected, message).help("name a file in it"));
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => into(path, bytes).map_err(|error| {
            let message = format!("{} could not be written: {error}", path.display());
            let failure = Failure::new(Kind::Output, Code::OutputUnwritable, message);
            failure.help("make room there, or name another file")
        }),
        _ => write(path, bytes),
    }
}

fn into(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    options.open(path)?.write_all(bytes)
}

/// Makes a file of this mode, as far as the umask leaves it. What a killed process left under its name goes.
pub(crate) fn make(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let mut options = fs::File::options();
    options.write(true).create_new(true).mode(mode);
    let made = options.open(path).or_else(|error| {
        if error.kind() != std::io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        fs::remove_file(path)?;
        options.open(path)
    });
    made.and_then(|mut file| file.write_all(bytes))
        .map_err(|error| failed(path, "write", &error))
}

/// Puts a finished file in its place, with the folders above it. From another file system it comes by a copy
/// beside that place.
pub(crate) fn put(made: &Path, path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| failed(parent, "create", &error))?;
    let moved = fs::rename(made, path).or_else(|error| {
        if error.kind() != std::io::ErrorKind::CrossesDevices {
            return Err(error);
        }
        let beside = tempfile::Builder::new()
            .prefix(PARTIAL)
            .tempfile_in(parent)?;
        // With its mode.
        fs::copy(made, beside.path())?;
        beside.persist(path).map(drop).map_err(|error| error.error)
    });
    moved.map_err(|error| failed(path, "write", &error))
}

/// The mode that the file has; a new one has what the umask gives it.
fn set_mode(file: &fs::File, target: &Path) -> std::io::Result<()> {
    match fs::metadata(target) {
        Ok(meta) => {
            let mode = meta.permissions().mode() & 0o777;
            file.set_permissions(fs::Permissions::from_mode(mode))
        }
        Err(_) => Ok(()),
    }
}

/// The names in a folder, in lower case, as a file system may have them; none where there is no folder. `None`
/// where nobody can say.
pub(crate) fn names(dir: &Path) -> Option<BTreeSet<String>> {
    match fs::read_dir(dir) {
        Ok(entries) => {
            let name = |entry: std::io::Result<fs::DirEntry>| {
                let name = entry.ok()?.file_name();
                Some(name.to_string_lossy().to_lowercase())
            };
            entries.map(name).collect()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(BTreeSet::new()),
        Err(_) => None,
    }
}

/// The names in a folder as they are written, in order; none where it cannot be read.
pub(crate) fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Removes the temporary files that a kill left in a folder. The caller holds the store's lock, under
/// which all files of a working copy are written, so that none of them is in use.
pub(crate) fn sweep(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        if entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY))
        {
            // What cannot be removed is in nobody's way.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Removes a file; one that is not there is as good.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fail("file-removed").and_then(|()| fs::remove_file(path)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed(path, "remove", &error))
        }
        _ => Ok(()),
    }
}
