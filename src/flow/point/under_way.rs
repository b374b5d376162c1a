//! The note of a way back that is under way, in the git dir of its worktree: git changes index and files before it makes
//! the commit, and a kill between them would leave the way back staged, for the next commit of somebody to take along.
//!
//! This module owns the note, and puts index and files back where the commit was never made. Whoever goes back holds the
//! note locked, so that nobody takes the work from under a git that runs hooks. It knows nothing of points and sessions.

use super::super::context::Context;
use super::super::files;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_base::unfinished::Unfinished;
use loopx_git::Repo;
use loopx_git::run::Run;
use loopx_rules::op::to_json;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A way back: its point, the commit that was checked out before it, and the trees between which it leads.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    point: String,
    head: Option<Oid>,
    from: Oid,
    to: Oid,
}

/// A way back of this process. Its note goes with it.
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
        files::write_in_git_dir(repo, &path, &to_json(&note)?)?;
        let held = File::open(&path).and_then(|file| file.lock().map(|()| file));
        match held {
            Ok(held) => Ok(UnderWay { path, _held: held }),
            Err(error) => {
                drop(files::remove(&path));
                Err(files::unread(&path, &error))
            }
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // A note that stays says nothing wrong: the commit stands, or nothing is staged.
        drop(files::remove(&self.path));
    }
}

fn place(repo: &Repo) -> PathBuf {
    repo.git_dir().join("loopx").join("going-back.json")
}

/// The note of a way back that nobody is on any more, held so that nobody else takes it up.
fn left(repo: &Repo) -> Option<(Note, File)> {
    let path = place(repo);
    let held = File::open(&path).ok()?;
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
        Ok(true) => {
            ctx.unfinished.add(Unfinished {
                done: "index and files are as before it".to_owned(),
                left: format!("the way back to {}", note.point),
                why: "it was ended before its commit".to_owned(),
                help: command!("point back {}", note.point),
                is_resumed: false,
            });
        }
        Ok(false) => {}
        Err(failure) => {
            return ctx.unfinished.add(Unfinished {
                done: format!("the way back to {} was ended before its commit", note.point),
                left: "index and files".to_owned(),
                why: failure.message,
                help: Hint::git("restore --staged --worktree -- :/"),
                is_resumed: true,
            });
        }
    }
    drop(files::remove(&place(repo)));
}

/// Puts index and files back; false where there is nothing to put back.
fn put_back(repo: &Repo, top: &Path, note: &Note) -> Result<bool> {
    if repo.head()?.commit != note.head {
        return Ok(false);
    }
    let git = |words: &[&str]| Run::git(words).cwd(top).capture();
    let index = git(&["write-tree"])?.line()?;
    if String::from_utf8_lossy(&index).trim() != note.to.as_str() {
        return Ok(false);
    }
    drop(git(&["update-index", "-q", "--refresh"])?);
    let words = [
        "read-tree",
        "-m",
        "-u",
        note.to.as_str(),
        note.from.as_str(),
    ];
    let read = git(&words)?;
    if read.ended.success() {
        return Ok(true);
    }
    Err(Failure::refused(Code::PointNotCommitted, read.complaint()))
}
