//! Working copies that no session needs any more, in every worktree of the repository: of archived
//! sessions, and of such that are not there. One is taken away only where each of its files is stored
//! byte for byte, so that nothing of it is anywhere else.

use super::files;
use super::hooks;
use super::workcopy::{self, FOLDER};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::session::{Ending, State};
use loopx_store::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A working copy, or what is left of one.
#[derive(Clone, Debug)]
pub(crate) struct Leftover {
    /// The folder for people.
    pub name: String,
    pub why: String,
    /// The files that make the working copy up, each with the blob that stores it, and the folders, innermost first; a
    /// note of ours is stored nowhere.
    files: Vec<(PathBuf, Option<Oid>)>,
    folders: Vec<PathBuf>,
    /// Set when all of the working copy is stored.
    pub is_stored: bool,
    /// Set when the current directory is in the working copy.
    pub is_here: bool,
}

/// The reason why the working copy of a session is left over, where it is.
pub(crate) fn left_over(state: Option<&State>) -> Option<&'static str> {
    match state {
        None => Some("the session is not there"),
        Some(state) if matches!(state.ending, Some(Ending::Archived { .. })) => {
            Some("the session is archived")
        }
        Some(_) => None,
    }
}

/// Looks at every worktree.
pub(crate) fn look(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<Vec<Leftover>> {
    picked(repo, snapshot, &left_over)
}

/// The working copies of a session, in every worktree.
pub(crate) fn copies(repo: &Repo, state: &State) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for top in hooks::worktrees(&hooks::read()?)? {
        let notes = git_dir_of(&top).map(|dir| dir.join("loopx"));
        if ids(&top, notes.as_deref()).contains(&state.id) {
            let why = "the session is active";
            found.push(one(
                repo,
                &top,
                notes.as_deref(),
                &state.id,
                Some(state),
                why,
            )?);
        }
    }
    Ok(found)
}

/// The working copies that are picked by the states of their sessions, in every worktree.
pub(crate) fn picked(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    pick: &dyn Fn(Option<&State>) -> Option<&'static str>,
) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for top in hooks::worktrees(&hooks::read()?)? {
        let notes = git_dir_of(&top).map(|dir| dir.join("loopx"));
        for id in ids(&top, notes.as_deref()) {
            let state = snapshot.find(&id).map(|found| found.map(|one| one.state));
            // A damaged one is another check's.
            let Ok(state) = state else { continue };
            let Some(why) = pick(state.as_ref()) else {
                continue;
            };
            found.push(one(repo, &top, notes.as_deref(), &id, state.as_ref(), why)?);
        }
    }
    Ok(found)
}

/// Takes those working copies away that are stored.
pub(crate) fn remove(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<Vec<String>> {
    let mut gone = Vec::new();
    for left in look(repo, snapshot)?
        .into_iter()
        .filter(|one| one.is_stored && !one.is_here)
    {
        take_away(repo, &left)?;
        gone.push(left.name);
    }
    Ok(gone)
}

/// Takes one away. A file that is another than when it was looked at stays, with its folder.
pub(crate) fn take_away(repo: &Repo, left: &Leftover) -> Result<()> {
    for (file, blob) in &left.files {
        let is_same = match (blob, std::fs::read(file)) {
            (Some(blob), Ok(bytes)) => repo.hash_blob(&bytes)? == *blob,
            (Some(_), Err(_)) => false,
            (None, _) => true,
        };
        if is_same {
            files::remove(file)?;
        }
    }
    for folder in &left.folders {
        // One that somebody put something into meanwhile stays.
        drop(std::fs::remove_dir(folder));
    }
    Ok(())
}

fn is_here(folder: &Path) -> bool {
    let current = loopx_base::env::current_dir().and_then(|dir| dir.canonicalize());
    let folder = folder.canonicalize();
    current.is_ok_and(|current| folder.is_ok_and(|folder| current.starts_with(folder)))
}

/// The git directory of the worktree with this folder at its top.
pub(super) fn git_dir_of(top: &Path) -> Option<PathBuf> {
    let dot = top.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let text = std::fs::read_to_string(&dot).ok()?;
    let path = text.strip_prefix("gitdir: ")?.trim_end();
    Some(top.join(path))
}

/// The sessions that a worktree has something of.
fn ids(top: &Path, notes: Option<&Path>) -> BTreeSet<SessionId> {
    let names = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    };
    let folders = names(top.join(FOLDER));
    let notes = notes.into_iter().flat_map(|dir| {
        // Other notes of ours lie beside them.
        names(dir.to_path_buf()).filter(|name| workcopy::is_note(&dir.join(name)))
    });
    let notes = notes.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
    folders
        .chain(notes)
        .filter_map(|name| SessionId::parse(&name).ok())
        .collect()
}

fn one(
    repo: &Repo,
    top: &Path,
    notes: Option<&Path>,
    id: &SessionId,
    state: Option<&State>,
    why: &str,
) -> Result<Leftover> {
    let folder = top.join(FOLDER).join(id.as_str());
    let mut left = Leftover {
        name: folder.display().to_string(),
        why: why.to_owned(),
        files: Vec::new(),
        folders: Vec::new(),
        is_stored: true,
        is_here: is_here(&folder),
    };
    let stored: BTreeMap<String, &Oid> = state
        .map(|state| {
            let all = state.artifacts.iter();
            let all =
                all.map(|(artifact, blob): (&Artifact, _)| (artifact.path().to_owned(), blob));
            let files = state.files.iter();
            all.chain(files.filter_map(|(path, versions)| Some((path.clone(), versions.last()?))))
                .collect()
        })
        .unwrap_or_default();
    let mut strays = Vec::new();
    let kind = std::fs::symlink_metadata(&folder).ok();
    let kind = kind.map(|meta| meta.file_type());
    if kind.is_some_and(|kind| !kind.is_dir()) {
        left.is_stored = false;
        left.why = format!("{why}, and it is no folder");
    }
    if kind.is_some_and(|kind| kind.is_dir()) {
        walk(repo, &folder, "", &stored, &mut left, &mut strays)?;
    }
    if let Some(first) = strays.first() {
        let more = match strays.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        left.is_stored = false;
        left.why = format!("{why}, and {first}{more} differs from what is stored");
    }
    left.folders.push(top.join(FOLDER));
    if let Some(notes) = notes {
        let bases = notes.join(format!("{id}.json"));
        if bases.is_file() {
            left.files.push((bases, None));
        }
    }
    Ok(left)
}

/// Sorts the files below a folder: those that are stored as they stand, and those that are not.
fn walk(
    repo: &Repo,
    dir: &Path,
    below: &str,
    stored: &BTreeMap<String, &Oid>,
    left: &mut Leftover,
    strays: &mut Vec<String>,
) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        strays.push(format!("{below}/"));
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            walk(repo, &entry.path(), &path, stored, left, strays)?;
            continue;
        }
        let is_file = kind.is_ok_and(|kind| kind.is_file());
        let blob = match (is_file, stored.get(&path)) {
            (true, Some(blob)) => std::fs::read(entry.path())
                .ok()
                .map(|bytes| repo.hash_blob(&bytes))
                .transpose()?
                .filter(|id| id == *blob),
            _ => None,
        };
        match blob {
            Some(blob) => left.files.push((entry.path(), Some(blob))),
            None => strays.push(path),
        }
    }
    left.folders.push(dir.to_path_buf());
    Ok(())
}
