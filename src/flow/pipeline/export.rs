//! `pipeline export`: what the pipelines of a session came to, as files outside of it: a report, the list, and what its
//! tasks left. The session stays as it is.

use crate::flow::context::Context;
use crate::flow::files;
use crate::flow::task::{Gathered, REPORT, gathered};
use crate::flow::workcopy::FOLDER;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_git::TEMPORARY;
use loopx_rules::setup::typed;
use loopx_rules::task::report::Report;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that were written.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub folder: String,
    /// Paths below the folder, the report first.
    pub files: Vec<String>,
    pub report: Report,
}

/// The results of the pipelines, with nothing written.
pub(crate) fn report(ctx: &Context) -> Result<Report> {
    Ok(gathered(ctx)?.report)
}

/// Writes what the pipelines came to into a folder: a new one, or an empty one, or with `force` over what is there.
pub(crate) fn export(ctx: &Context, folder: &Path, force: bool) -> Result<Exported> {
    let Gathered {
        report,
        files,
        unsaved,
    } = gathered(ctx)?;
    if let Some((path, way)) = unsaved {
        return Err(Failure::refused(
            Code::UnsavedEdits,
            format!("expected {path} saved, found edits of it in the working copy alone"),
        )
        .help(way));
    }
    let folder = std::path::absolute(folder)
        .map_err(|error| Failure::internal(Code::PathUnreadable, error.to_string()))?;
    let mut written = vec![(REPORT.to_owned(), report.markdown().into_bytes())];
    for (path, blob) in &files {
        written.push((path.clone(), ctx.repo.read_blob(blob)?));
    }
    let below = written.iter().map(|(path, _)| path.as_str());
    require_outside(ctx, &folder, below)?;
    if require_free(&folder, &written, force)? {
        write_new(ctx, &folder, &written)?;
    } else {
        write_all(&folder, &written)?;
    }
    Ok(Exported {
        folder: folder.display().to_string(),
        files: written.into_iter().map(|(path, _)| path).collect(),
        report,
    })
}

/// Writes a folder that is not there: it is whole, or it is not there still.
fn write_new(ctx: &Context, folder: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    let beside = ctx.repo.common_dir().join("loopx").join("exports");
    let failed = |error: std::io::Error| loopx_git::unwritable(&beside, &error);
    sweep(ctx, &beside);
    ctx.repo.make_folder(&beside).map_err(failed)?;
    let made = tempfile::Builder::new()
        .tempdir_in(&beside)
        .map_err(failed)?;
    // What is moved has the mode that the umask gives it.
    let whole = made.path().join("whole");
    write_all(&whole, files)?;
    match fs::rename(&whole, folder) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            let made = write_all(folder, files);
            if made.is_err() {
                let _ = fs::remove_dir_all(folder);
            }
            made
        }
        moved => moved.map_err(|error| loopx_git::unwritable(folder, &error)),
    }
}

/// Removes what killed commands left: what is older than a day is nobody's work.
fn sweep(ctx: &Context, beside: &Path) {
    const DAY: i64 = 86_400;
    let entries = fs::read_dir(beside).into_iter().flatten().flatten();
    for entry in entries {
        let made = entry.metadata().and_then(|meta| meta.modified()).ok();
        let made = made.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let made = made.and_then(|at| i64::try_from(at.as_secs()).ok());
        if made.is_some_and(|at| at + DAY < ctx.now()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn write_all(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    for (path, bytes) in files {
        files::write(&files::inside(folder, path)?, bytes)?;
    }
    Ok(())
}

/// Refuses a folder of git's own, or of working copies, wherever links lead, also where a file would go into one below.
fn require_outside<'p>(
    ctx: &Context,
    folder: &Path,
    below: impl Iterator<Item = &'p str>,
) -> Result<()> {
    let below = below.filter_map(|path| Some(folder.join(Path::new(path).parent()?)));
    let places: BTreeSet<PathBuf> = below.chain([folder.to_owned()]).collect();
    places
        .iter()
        .try_for_each(|place| require_free_of_git(ctx, place))
}

/// Tells whether git takes a folder for a repository, as it does bare ones.
fn is_git_dir(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_dir();
    folder.join("HEAD").exists() && has("objects") && has("refs")
}

fn require_free_of_git(ctx: &Context, folder: &Path) -> Result<()> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let above = folder.parent().map(real).unwrap_or_default();
    let is_own = |part: &std::ffi::OsStr| part == ".git" || part == FOLDER;
    let is_named = folder.file_name().is_some_and(is_own) || above.iter().any(is_own);
    let place = folder
        .file_name()
        .map_or(above.clone(), |name| above.join(name));
    let is_bare = place.ancestors().any(is_git_dir);
    if !is_named && !is_bare && !place.starts_with(real(&ctx.repo.common_dir())) {
        return Ok(());
    }
    Err(Failure::refused(
        Code::FolderGuarded,
        format!(
            "expected a folder for results, found {}, which is git's or holds working copies",
            folder.display()
        ),
    )
    .help(command!("pipeline export results")))
}

/// Tells whether a folder has nothing but files as this export would write them: what a killed export left.
fn is_part(folder: &Path, files: &[(String, Vec<u8>)]) -> bool {
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            return false;
        };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let (path, kind) = (entry.path(), entry.file_type());
            let below = path.strip_prefix(folder).unwrap_or(&path);
            let own = || files.iter().find(|(name, _)| Path::new(name) == below);
            match kind {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => {
                    let is_left = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
                    let is_same = || {
                        own().is_some_and(|(_, bytes)| {
                            fs::read(&path).is_ok_and(|found| found == *bytes)
                        })
                    };
                    if !is_left && !is_same() {
                        return false;
                    }
                }
                _ => return false,
            }
        }
    }
    true
}

/// The first thing in a folder that no file can be written over or below: a link, a folder in the place of a file, or a
/// file in that of a folder.
fn in_the_way(folder: &Path, files: &[(String, Vec<u8>)]) -> Option<PathBuf> {
    let is_in_the_way = |path: &Path, is_file: bool| {
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink() || meta.is_dir() == is_file)
    };
    let mut places = files.iter().flat_map(|(path, _)| {
        let above = Path::new(path).ancestors().skip(1);
        let above = above.filter(|part| !part.as_os_str().is_empty());
        let above = above.map(|part| (folder.join(part), false));
        above.chain([(folder.join(path), true)])
    });
    let found = places.find(|(place, is_file)| is_in_the_way(place, *is_file));
    found.map(|(place, _)| place)
}

/// Tells whether the folder is not there yet. Refuses where something else stands there, or where other files stand in
/// the folder and nobody says that they may be replaced.
fn require_free(folder: &Path, files: &[(String, Vec<u8>)], force: bool) -> Result<bool> {
    if let Some(above) = folder.parent().filter(|above| !above.is_dir()) {
        return Err(Failure::not_found(
            Code::FolderMissing,
            format!("there is no folder {} to write into", above.display()),
        )
        .help(command!("pipeline export results").note("(writes it here)")));
    }
    if let Some(place) = in_the_way(folder, files) {
        let there = typed(&folder.display().to_string());
        let said = format!("{} stands where results would be written", place.display());
        return Err(Failure::refused(Code::FileExists, said)
            .help(command!("pipeline export {there}-2").note("(another folder)")));
    }
    let is_there = fs::symlink_metadata(folder).is_ok();
    let is_folder = || fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
    if !is_there || is_part(folder, files) || force && is_folder() {
        return Ok(!is_there);
    }
    let there = typed(&folder.display().to_string());
    let failure = Failure::refused(
        Code::FileExists,
        format!("{} is there already", folder.display()),
    );
    let known = files.iter().map(|(path, _)| path.as_str());
    let replaced: Vec<&str> = known.filter(|path| folder.join(path).exists()).collect();
    Err(match replaced.as_slice() {
        _ if !is_folder() => {
            failure.help(command!("pipeline export results").note("(another folder)"))
        }
        [] => failure.help(command!("pipeline export {there} --force")),
        some => failure.help(command!("pipeline export {there}-2").note(format!(
            "(another folder; --force replaces {} there)",
            some.join(", ")
        ))),
    })
}
