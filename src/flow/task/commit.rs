//! `task done --commit`: the commit of a task's own files on the code branch, made by git itself, so that its hooks
//! judge it like every other. What else is not committed stays as it is.

use crate::flow::context::Context;
use crate::flow::finish;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_git::run::Run;
use loopx_rules::gate::{FileState, Uncommitted};
use loopx_rules::task::node::{Node, is_within};

/// Commits what is not committed of the files that a node names. Nothing where nothing of them differs.
pub(super) fn commit(ctx: &Context, node: &Node) -> Result<Option<Oid>> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(None);
    };
    let code = ctx.code()?;
    let uncommitted = code.as_ref().map_or(&[][..], |code| &code.uncommitted);
    if let Some(code) = code.as_ref().filter(|_| node.own_files().next().is_none()) {
        let why = "the plan names no file that it changes, so that nobody knows what belongs to it";
        return Err(refused(node, why).help(match uncommitted {
            [] => command!("task done {}", node.id),
            _ => finish::commits(ctx, code),
        }));
    }
    let Own { all, new } = own(node, uncommitted, |path| top.join(path).exists());
    if all.is_empty() {
        return Ok(None);
    }
    let subject = format!("{}: {}", kind(node), loopx_store::one_line(&node.title));
    let task = format!("Loopx-Task: {}", node.id);
    let git = |words: &[&str], paths: &[&str]| {
        let run = Run::git(words).args(["--"]).args(paths).cwd(top);
        run.env("GIT_LITERAL_PATHSPECS", "1").capture()
    };
    // git commits a path alone only where it knows it.
    if !new.is_empty() {
        let known = git(&["add", "--intent-to-add"], &new)?;
        if !known.ended.success() {
            return Err(refused(node, &known.complaint()));
        }
    }
    let commit = [
        "commit",
        "--quiet",
        "-m",
        &subject,
        "--trailer",
        &task,
        "--only",
    ];
    let ended = git(&commit, &all)?;
    if !ended.ended.success() {
        // A refusal leaves the index as it was.
        if !new.is_empty() {
            drop(git(&["reset", "--quiet"], &new)?);
        }
        return Err(refused(node, &ended.complaint()));
    }
    Ok(ctx.repo.head()?.commit)
}

/// The paths that differ and belong to a node.
struct Own<'p> {
    all: Vec<&'p str>,
    /// Paths, of all those, that git does not know yet.
    new: Vec<&'p str>,
}

/// git names a new folder, and not what is in it: then the path is the plan's.
fn own<'p>(
    node: &'p Node,
    uncommitted: &'p [Uncommitted],
    is_there: impl Fn(&str) -> bool,
) -> Own<'p> {
    let mut own = Own {
        all: Vec::new(),
        new: Vec::new(),
    };
    for one in uncommitted {
        let planned = node.own_files();
        let found: Vec<&str> = if planned.clone().any(|file| is_within(&one.path, file)) {
            vec![one.path.as_str()]
        } else {
            planned
                .filter(|file| {
                    one.path.ends_with('/') && is_within(file, &one.path) && is_there(file)
                })
                .collect()
        };
        if one.state == FileState::Untracked {
            own.new.extend(&found);
        }
        own.all.extend(found);
    }
    own
}

fn refused(node: &Node, why: &str) -> Failure {
    Failure::refused(
        Code::TaskNotCommitted,
        format!("the files of {} were not committed: {why}", node.id),
    )
    .help(Hint::git("commit"))
}

/// The word that the subject begins with, from the type of the work.
fn kind(node: &Node) -> &'static str {
    match node.work.as_deref().unwrap_or_default() {
        "fix" | "bug" | "bugfix" => "fix",
        "refactor" => "refactor",
        "testing" | "test" => "test",
        "docs" => "docs",
        "infrastructure" | "chore" => "chore",
        _ => "feat",
    }
}
