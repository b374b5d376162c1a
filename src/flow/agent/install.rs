//! Writes our hooks into a host's configuration file and takes them out again. What stood there before
//! is kept in the worktree's git dir, so that taking out restores every byte where nothing else changed.

use super::super::context::Context;
use super::super::{files, lease};
use loopx_base::env;
use loopx_base::failpoint::fail;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_git::Repo;
use loopx_hosts::Host;
use loopx_hosts::wiring;
use loopx_hosts::wiring::Wired;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest configuration file that is read.
const MAX: u64 = 4 * 1024 * 1024;

/// A host's file in this worktree.
#[derive(Debug)]
pub(crate) struct File {
    pub host: Host,
    pub path: PathBuf,
    pub text: Option<String>,
    pub wired: Wired,
    top: PathBuf,
    program: String,
    kept: PathBuf,
}

/// A change of a host's file, before or after it was made.
#[derive(Debug)]
pub(crate) struct Change {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    pub notes: Vec<String>,
}

impl Change {
    pub(crate) fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// The text of a file before our hooks were written, and with them.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    before: Option<String>,
    after: String,
}

fn top(repo: &Repo, host: Host) -> Result<PathBuf> {
    let here = repo.work_dir().ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "a host's file lies in a worktree, and the repository is bare",
        )
        .help("git worktree add ../work")
    })?;
    let primary = repo.common_dir();
    let primary = primary.parent().filter(|_| primary.ends_with(".git"));
    let primary = primary.filter(|_| host.spec().is_read_in_primary);
    Ok(primary.unwrap_or(here).to_path_buf())
}

/// Reads a host's file.
pub(crate) fn read(repo: &Repo, host: Host) -> Result<File> {
    let top = top(repo, host)?;
    let name = wiring::file(host);
    let path = files::inside(&top, name).map_err(|failure| {
        Failure::refused(
            failure.code,
            format!("{name} is, or stands below, a symbolic link, which is not followed"),
        )
        .help(hint![
            "put the file itself in the place of the link, then: ",
            command!("agent install {}", host.name())
        ])
    })?;
    let program = env::program()
        .map_err(|error| Failure::internal(Code::NoProgram, error.to_string()))?
        .into_os_string()
        .into_string()
        .map_err(|_| {
            Failure::refused(
                Code::ProgramPathUnreadable,
                "the path of git-loopx is not UTF-8, and a host's file has to be",
            )
        })?;
    let (text, wired) = match files::read(&path, MAX)?.map(String::from_utf8) {
        None => (None, Wired::Absent),
        Some(Ok(text)) => {
            let wired = wiring::state(host, Some(&text), &program);
            (Some(text), wired)
        }
        Some(Err(_)) => (None, Wired::Unreadable),
    };
    let folder = if host.spec().is_read_in_primary {
        repo.common_dir().join("loopx")
    } else {
        lease::folder(repo)
    };
    Ok(File {
        host,
        kept: folder.join("agent").join(format!("{host}.json")),
        path,
        text,
        wired,
        top,
        program,
    })
}

impl File {
    /// The folder of the worktree, for people.
    fn start(&self) -> String {
        let top = self.top.display().to_string();
        top.trim_end_matches('/').to_owned()
    }

    /// Says where the host has to be started so that it reads this file, if that matters.
    pub(crate) fn starts_in(&self) -> Option<String> {
        wiring::starts_in(self.host, &self.start())
    }
}

fn unreadable(file: &File) -> Failure {
    Failure::refused(
        Code::AgentConfigUnreadable,
        format!(
            "{}: expected JSON in UTF-8; nothing was written",
            file.path.display()
        ),
    )
    .help(command!("agent install {} --dry-run", file.host))
}

/// The text to paste by hand.
pub(crate) fn snippet(file: &File) -> Result<String> {
    wiring::snippet(file.host, &file.program)
}

/// Puts our hooks in, or only says how. A second time it changes nothing.
pub(crate) fn install(repo: &Repo, host: Host, dry_run: bool) -> Result<Change> {
    let file = read(repo, host)?;
    if file.wired == Wired::Unreadable && file.text.is_none() {
        return Err(unreadable(&file));
    }
    let after = wiring::wire(host, file.text.as_deref(), &file.program)?;
    let others: Vec<Host> = Host::ALL
        .into_iter()
        .filter(|other| {
            read(repo, *other)
                .is_ok_and(|file| matches!(file.wired, Wired::Current | Wired::Outdated))
        })
        .collect();
    let change = Change {
        path: file.path.clone(),
        before: file.text.clone(),
        after: Some(after.clone()),
        notes: wiring::notes(host, &others, &file.start()),
    };
    if change.changes() && !dry_run {
        // An update keeps what stood there before the first time.
        let before = match kept(&file)? {
            Some(kept) if Some(&kept.after) == file.text.as_ref() => kept.before,
            _ if file.wired == Wired::Outdated => Some(wiring::unwire(
                host,
                file.text.as_deref().unwrap_or_default(),
            )?),
            _ => file.text.clone(),
        };
        let kept = serde_json::to_vec(&Kept {
            before,
            after: after.clone(),
        })
        .map_err(|error| Failure::internal(Code::AgentBackup, error.to_string()))?;
        files::write_in_git_dir(repo, &file.kept, &kept)?;
        files::write(&file.path, after.as_bytes())?;
    }
    Ok(change)
}

/// The file as it was before we wrote; nothing where that is not kept. A copy that cannot be read is no less kept.
fn kept(file: &File) -> Result<Option<Kept>> {
    fail("kept-read").map_err(|error| loopx_git::unreadable(&file.kept, &error))?;
    let bytes = files::read(&file.kept, MAX * 3)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Takes our hooks out: every byte as it was where nobody else wrote since, else our entries alone.
pub(crate) fn uninstall(ctx: &Context, host: Host, dry_run: bool) -> Result<Change> {
    let file = read(&ctx.repo, host)?;
    let Some(text) = &file.text else {
        return match file.wired {
            Wired::Unreadable => Err(unreadable(&file)),
            _ => {
                if !dry_run {
                    forget_kept(ctx, &file);
                }
                Ok(Change {
                    path: file.path,
                    before: None,
                    after: None,
                    notes: Vec::new(),
                })
            }
        };
    };
    let after = match kept(&file)? {
        Some(kept) if kept.after == *text => kept.before,
        _ if matches!(file.wired, Wired::Absent) => Some(text.clone()),
        _ => Some(wiring::unwire(host, text)?),
    };
    if !dry_run {
        match &after {
            Some(after) if after == text => {}
            Some(after) => files::write(&file.path, after.as_bytes())?,
            None => {
                files::remove(&file.path)?;
                remove_empty(&file.top, &file.path);
            }
        }
        forget_kept(ctx, &file);
    }
    Ok(Change {
        before: file.text.clone(),
        path: file.path,
        after,
        notes: Vec::new(),
    })
}

/// Removes the copy of what stood there before: our hooks are out, whatever becomes of it.
fn forget_kept(ctx: &Context, file: &File) {
    let done = format!("our hooks are out of {}", file.path.display());
    let help = command!("agent uninstall {}", file.host.name());
    let left = "the copy of what stood there before";
    ctx.follow((done, left), help, files::remove(&file.kept));
}

/// Removes the folders that have become empty, up to the top.
pub(super) fn remove_empty(top: &Path, path: &Path) {
    let mut dir = path.parent();
    while let Some(at) = dir.filter(|at| *at != top && at.starts_with(top)) {
        if std::fs::remove_dir(at).is_err() {
            return;
        }
        dir = at.parent();
    }
}
