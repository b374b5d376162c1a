//! `pipeline export`: what the pipelines of a session came to, as files outside of it: a report, the list, and what its
//! tasks left. The session stays as it is.

use crate::flow::context::Context;
use crate::flow::files;
use crate::flow::task::{Gathered, REPORT, gathered};
use crate::flow::workcopy::FOLDER;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::setup::typed;
use loopx_rules::task::report::Report;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// The files that were written.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub folder: String,
    /// Below that, the report first.
    pub files: Vec<String>,
    pub report: Report,
}

/// The results of the pipelines, with nothing written.
pub(crate) fn report(ctx: &Context) -> Result<Report> {
    Ok(gathered(ctx)?.report)
}

/// Writes what the pipelines came to into a folder: a new one, or an empty one, or with `force` over what is there.
pub(crate) fn export(ctx: &Context, folder: &Path, force: bool) -> Result<Exported> {
    let Gathered { report, files } = gathered(ctx)?;
    let folder = std::path::absolute(folder)
        .map_err(|error| Failure::internal(Code::PathUnreadable, error.to_string()))?;
    let mut written = vec![(REPORT.to_owned(), report.markdown().into_bytes())];
    for (path, blob) in &files {
        if !ctx.repo.contains(blob)? {
            return Err(Failure::refused(
                Code::UnsavedEdits,
                format!("expected {path} saved, found edits of it in the working copy alone"),
            )
            .help(command!("save")));
        }
        written.push((path.clone(), ctx.repo.read_blob(blob)?));
    }
    require_outside(ctx, &folder)?;
    let is_new = require_free(&folder, &written, force)?;
    let made = write_all(&folder, &written);
    if made.is_err() && is_new {
        // Nothing of it stays where not all of it could be written.
        let _ = fs::remove_dir_all(&folder);
    }
    made?;
    Ok(Exported {
        folder: folder.display().to_string(),
        files: written.into_iter().map(|(path, _)| path).collect(),
        report,
    })
}

fn write_all(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    for (path, bytes) in files {
        files::write(&files::inside(folder, path)?, bytes)?;
    }
    Ok(())
}

/// Refuses a folder of git's own, or of working copies, wherever links lead.
fn require_outside(ctx: &Context, folder: &Path) -> Result<()> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let above = folder.parent().map(real).unwrap_or_default();
    let is_own = |part: &std::ffi::OsStr| part == ".git" || part == FOLDER;
    let is_named = folder.file_name().is_some_and(is_own) || above.iter().any(is_own);
    let place = folder
        .file_name()
        .map_or(above.clone(), |name| above.join(name));
    if !is_named && !place.starts_with(real(&ctx.repo.common_dir())) {
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

/// True where the folder is not there yet. Refused where something else is, or where it is not empty and nobody says that
/// files of it may be replaced.
fn require_free(folder: &Path, files: &[(String, Vec<u8>)], force: bool) -> Result<bool> {
    if let Some(above) = folder.parent().filter(|above| !above.is_dir()) {
        return Err(Failure::not_found(
            Code::FolderMissing,
            format!("there is no folder {} to write into", above.display()),
        )
        .help(command!("pipeline export results").note("(writes it here)")));
    }
    let is_there = fs::symlink_metadata(folder).is_ok();
    let is_empty = || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    let is_folder = || fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
    if !is_there || is_empty() || force && is_folder() {
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
