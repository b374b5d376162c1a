//! The report of the backlog: made from one reading of the branch, printed or written as one file.

use super::scope;
use super::scope::{Scope, Scoped};
use super::stats::Asked;
use crate::flow::context::Context;
use crate::flow::files;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::shell_word;
use loopx_rules::issue::board::LaneBy;
use loopx_rules::issue::report::{Format, MARK, Report};
use loopx_rules::lease::clock;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The report of a scope, and how many issues it is of.
pub(crate) fn report(
    ctx: &Context,
    scope: &Scope,
    (by, format): (Option<LaneBy>, Format),
    asked: &Asked,
) -> Result<(String, usize)> {
    let snapshot = ctx.store()?.snapshot()?;
    let scoped = scope::of(ctx, &snapshot, scope)?;
    let stats = super::stats::of(ctx, &snapshot, &scoped, asked)?;
    let lanes = super::board::of(&scoped, by);
    let at = scoped.at.clone().unwrap_or_else(|| clock(scoped.now));
    let report = Report {
        title: &title(ctx, &scoped, scope),
        at: &at,
        day: &scoped.day(),
        backlog: &scoped.backlog,
        waits: &scoped.waits,
        lanes: &lanes,
        edges: &scope::edges(&scoped),
        stats: &stats,
        name: &|id| scoped.short(id),
    };
    Ok((report.document(format), scoped.shown.len()))
}

/// The name of the repository, and of the part that is meant.
fn title(ctx: &Context, scoped: &Scoped, scope: &Scope) -> String {
    // Every worktree has one name.
    let git_dir = ctx.repo.common_dir();
    let folder = match git_dir.file_name() {
        Some(name) if name == ".git" => git_dir.parent().unwrap_or(&git_dir),
        _ => &git_dir,
    };
    let name = folder
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned());
    let whole = scoped.whole.as_ref().and_then(|id| scoped.backlog.find(id));
    let parts = [
        whole.map(|issue| issue.title.clone()),
        scope.filter.milestone.clone(),
        Some(format!("Backlog of {}", name.unwrap_or_default())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// Writes a report whole or not at all. What is there and is no report stays, unless `force` says otherwise.
pub(crate) fn write(path: &Path, text: &str, force: bool) -> Result<PathBuf> {
    let file = std::path::absolute(path)
        .map_err(|error| Failure::internal(Code::PathUnreadable, error.to_string()))?;
    let shown = file.display();
    if let Some(folder) = file.parent().filter(|folder| !folder.is_dir()) {
        return Err(Failure::not_found(
            Code::FolderMissing,
            format!("there is no folder {} to write into", folder.display()),
        )
        .help(command!("issue report -o report.html").note("(writes it here)")));
    }
    let may_replace = |meta: &fs::Metadata| force || meta.is_file() && is_report(&file);
    match fs::symlink_metadata(&file) {
        Ok(meta) if meta.is_dir() => {
            return Err(Failure::refused(
                Code::FileExpected,
                format!("expected a file, found the folder {shown}"),
            )
            .help(command!(
                "issue report -o {}",
                shell_word(&format!("{shown}/report.html"))
            )));
        }
        Ok(meta) if !may_replace(&meta) => {
            return Err(Failure::refused(
                Code::FileExists,
                format!("{shown} is there already, and git loopx did not write it as a report"),
            )
            .help(command!(
                "issue report --force -o {}",
                shell_word(&shown.to_string())
            )));
        }
        _ => {}
    }
    files::write_out(&file, text.as_bytes())?;
    Ok(file)
}

/// Tells whether a file begins as a report does.
fn is_report(file: &Path) -> bool {
    let mut begin = vec![0; MARK.len()];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == MARK.as_bytes()
}
