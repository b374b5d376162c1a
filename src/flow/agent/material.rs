//! Puts what an agent reads of git loopx into the worktree, and tells how it stands there.

use super::super::files;
use super::install::remove_empty;
use loopx_base::failure::{Code, Failure, Result};
use loopx_git::Repo;
use loopx_hosts::material;
use loopx_hosts::material::{Drift, Place};
use serde::Serialize;
use std::path::Path;

const MAX: u64 = 4 * 1024 * 1024;

/// A file of the material and what happens to it.
#[derive(Debug, Serialize)]
pub(crate) struct Piece {
    pub path: &'static str,
    pub state: Drift,
    /// The text that is, or would be, written: `None` leaves the file alone or removes it.
    #[serde(skip)]
    pub after: Option<String>,
    #[serde(skip)]
    pub before: Option<String>,
    pub changed: bool,
}

fn top(repo: &Repo) -> Result<&Path> {
    repo.work_dir().ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "material is written into a worktree, and the repository is bare",
        )
        .help("git worktree add ../work")
    })
}

fn read(top: &Path, place: Place) -> Result<Option<String>> {
    let path = files::inside(top, place.path())?;
    match files::read(&path, MAX)?.map(String::from_utf8) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(_)) => Err(Failure::refused(
            Code::MaterialUnreadable,
            format!("{}: expected UTF-8; nothing was written", place.path()),
        )),
    }
}

/// Lists the pieces with the state of each.
pub(crate) fn status(repo: &Repo) -> Result<Vec<Piece>> {
    pieces(repo, |_, text| text.map(str::to_owned))
}

fn pieces(
    repo: &Repo,
    change: impl Fn(Place, Option<&str>) -> Option<String>,
) -> Result<Vec<Piece>> {
    let top = top(repo)?;
    let mut found = Vec::new();
    for place in Place::ALL {
        // CLAUDE.md as a link to AGENTS.md has the block already.
        if std::fs::symlink_metadata(top.join(place.path())).is_ok_and(|meta| meta.is_symlink()) {
            continue;
        }
        let before = read(top, place)?;
        let after = change(place, before.as_deref());
        found.push(Piece {
            path: place.path(),
            state: material::state(place, before.as_deref()),
            changed: before != after,
            before,
            after,
        });
    }
    Ok(found)
}

/// Places that are a link to none of the others: nothing is written there, and no agent reads of us by them.
pub(crate) fn links(repo: &Repo) -> Result<Vec<&'static str>> {
    let top = top(repo)?;
    let real = |path: &str| top.join(path).canonicalize().ok();
    let is_link =
        |path: &str| std::fs::symlink_metadata(top.join(path)).is_ok_and(|meta| meta.is_symlink());
    let places: Vec<&'static str> = Place::ALL.iter().map(|place| place.path()).collect();
    let leads_to_ours = |path: &str| {
        let end = real(path);
        end.is_some() && places.iter().any(|one| !is_link(one) && real(one) == end)
    };
    let found = places
        .iter()
        .filter(|path| is_link(path) && !leads_to_ours(path));
    Ok(found.copied().collect())
}

/// Writes or renews the material, or takes it away; or only says what would be done. What somebody
/// edited is left alone.
pub(crate) fn apply(repo: &Repo, remove: bool, dry_run: bool) -> Result<Vec<Piece>> {
    let imports = |text: &str| text.lines().any(|line| line.trim() == "@AGENTS.md");
    let pieces = pieces(repo, |place, text| match (remove, text) {
        (true, None) => None,
        (true, Some(text)) => material::take(place, text),
        // A CLAUDE.md is not made for us, and one that imports AGENTS.md has it from there.
        (false, None) if place == Place::Block("CLAUDE.md") => None,
        (false, Some(text)) if place == Place::Block("CLAUDE.md") && imports(text) => {
            Some(text.to_owned())
        }
        (false, text) => Some(material::put(place, text)),
    })?;
    if !dry_run {
        let top = top(repo)?;
        for piece in pieces.iter().filter(|piece| piece.changed) {
            let path = files::inside(top, piece.path)?;
            match &piece.after {
                Some(text) => files::write(&path, text.as_bytes())?,
                None => {
                    files::remove(&path)?;
                    remove_empty(top, &path);
                }
            }
        }
    }
    Ok(pieces)
}
