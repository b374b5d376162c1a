//! The note of a way back that is under way, in the git dir of its worktree: git changes index and files before it makes
//! the commit, and a kill between them would leave the way back staged, for the next commit of somebody to take along.
//!
//! This module owns the note, and puts index and files back where the commit was never made. Whoever goes back holds the
//! note locked, so that nobody takes the work from under a git that runs hooks. It knows nothing of points and sessions.

use super::super::context::Context;
use super::super::files;
use super::tree;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_base::unfinished::Unfinished;
use loopx_git::Repo;
use loopx_git::run::Run;
use loopx_rules::op::to_json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A way back: its point, the commit that was checked out before it, and the trees between which it leads.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    point: String,
    head: Option<Oid>,
    from: Oid,
    to: Oid,
}

/// A way back of this process, with its note.
pub(super) struct UnderWay {
    path: PathBuf,
    _held: File,
}

impl UnderWay {
    /// Notes a way back before git changes anything.
    pub(super) fn begin(
        repo: &Repo,
        point: &str,
        head: Option<Oid>,
        (from, to): (&Oid, &Oid),
    ) -> Result<Self> {
        let path = place(repo);
        let note = Note {
            point: point.to_owned(),
            head,
            from: from.clone(),
            to: to.clone(),
        };
        let failed = |error: std::io::Error| loopx_git::unwritable(&path, &error);
        let folder = path.parent().unwrap_or(&path);
        repo.make_folder(folder).map_err(failed)?;
        // Locked before it has its name, so that nobody takes it for a note that is left.
        let mut made = tempfile::Builder::new()
            .prefix(loopx_git::TEMPORARY)
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(failed)?;
        made.write_all(&to_json(&note)?)
            .and_then(|()| made.as_file().lock())
            .map_err(failed)?;
        let held = made.persist(&path).map_err(|lost| failed(lost.error))?;
        repo.share(&path);
        Ok(UnderWay { path, _held: held })
    }

    /// Takes the note away: the commit stands, or index and files are as before. Whatever else ends the way leaves the
    /// note to the next writer, as a kill does.
    pub(super) fn end(self) {
        drop(files::remove(&self.path));
    }
}

fn place(repo: &Repo) -> PathBuf {
    repo.git_dir().join("loopx").join("going-back.json")
}

/// The note of a way back that nobody is on any more, held so that nobody else takes it up.
fn left(repo: &Repo) -> Option<(Note, File)> {
    let path = place(repo);
    // A lock over a network asks for a file that may be written.
    let held = File::options().read(true).write(true).open(&path).ok()?;
    held.try_lock().ok()?;
    let bytes = files::read(&path, u64::MAX).ok()??;
    Some((serde_json::from_slice(&bytes).ok()?, held))
}

/// Says in a line what a way back has left in this worktree; nothing where its commit was made.
pub(crate) fn unfinished(repo: &Repo) -> Option<String> {
    let (note, _held) = left(repo)?;
    let head = repo.head().ok()?.commit;
    (head == note.head).then(|| {
        format!(
            "the way back to {} was ended before its commit; left: index and files",
            note.point
        )
    })
}

/// Puts index and files back where a way back was ended before its commit. What cannot be put back is said.
pub(crate) fn take_back(ctx: &Context) {
    let repo = &ctx.repo;
    let Some((note, _held)) = left(repo) else {
        return;
    };
    let Some(top) = repo.work_dir() else {
        return;
    };
    match put_back(repo, top, &note) {
        Ok(None) => {}
        Ok(Some(edited)) => {
            let but = match edited.as_slice() {
                [] => String::new(),
                edited => format!(", but for edits since then in {}", edited.join(", ")),
            };
            ctx.unfinished.add(Unfinished {
                done: format!("index and files are as before it{but}"),
                left: format!("the way back to {}", note.point),
                why: "it was ended before its commit".to_owned(),
                help: command!("point back {}", note.point),
                is_resumed: false,
            });
        }
        Err(failure) => {
            return ctx.unfinished.add(Unfinished {
                done: format!("the way back to {} was ended before its commit", note.point),
                left: "index and files".to_owned(),
                why: failure.message,
                help: Hint::git("status"),
                is_resumed: true,
            });
        }
    }
    drop(files::remove(&place(repo)));
}

/// Puts index and files back, each path by itself: in the index where the tree of then is staged, and in the worktree
/// where the file of then stands. Gives the paths with edits since, which keep them; nothing where nothing was left.
fn put_back(repo: &Repo, top: &Path, note: &Note) -> Result<Option<Vec<String>>> {
    if repo.head()?.commit != note.head {
        return Ok(None);
    }
    let (from, to) = (note.from.as_str(), note.to.as_str());
    drop(
        Run::git(["update-index", "-q", "--refresh"])
            .cwd(top)
            .capture()?,
    );
    let differs = listed(
        top,
        &[
            "diff-index",
            "--cached",
            "--no-renames",
            "--name-only",
            "-z",
            to,
        ],
    )?;
    let edits = listed(top, &["diff-files", "--name-only", "-z"])?;
    let (mut whole, mut staged, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for path in repo.changed_paths(Some(&note.from), &note.to)? {
        let is_staged = !differs.contains(&path);
        let is_there = tree::is_as(top, &path, &note.to)?;
        if is_staged {
            let is_new = repo.entry_at(&note.to, &path)?.is_none() && top.join(&path).exists();
            let is_edited = (edits.contains(&path) && !is_there) || is_new;
            if is_edited { &mut staged } else { &mut whole }.push(path);
        } else if is_there {
            written.push(path);
        }
    }
    if whole.is_empty() && staged.is_empty() && written.is_empty() {
        return Ok(None);
    }
    restore(top, &["--staged", "--worktree"], from, &whole)?;
    restore(top, &["--staged"], from, &staged)?;
    restore(top, &["--worktree"], from, &written)?;
    Ok(Some(staged))
}

/// Paths that a command of git lists.
fn listed(top: &Path, words: &[&str]) -> Result<BTreeSet<String>> {
    let said = Run::git(words).cwd(top).capture()?.ok()?;
    let names = said
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    Ok(names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

/// Lets git put paths of a tree into the index or the worktree.
fn restore(top: &Path, where_to: &[&str], from: &str, paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let words = ["--literal-pathspecs", "restore", "--source", from];
    let input = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    let said = Run::git(words)
        .args(where_to)
        .args(input)
        .cwd(top)
        .stdin(paths.join("\0").into_bytes())
        .capture()?;
    if said.ended.success() {
        return Ok(());
    }
    Err(Failure::refused(Code::PointNotCommitted, said.complaint()))
}
