//! `task done --commit`: the commit of a task's own files on the code branch, made by git itself, so that its hooks
//! judge it like every other. What else is not committed stays as it is.

use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::Hint;
use crate::core::id::Oid;
use crate::core::task::node::Node;
use crate::flow::context::Context;
use crate::git::run::Run;

/// Commits what is not committed of the files that a node names. Nothing where nothing of them differs.
pub(super) fn commit(ctx: &Context, node: &Node) -> Result<Option<Oid>> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(None);
    };
    if node.files.is_empty() {
        return Err(refused(
            node,
            "the plan names no file of it, so that nobody knows what belongs to it",
        ));
    }
    let is_own = |path: &str| {
        let mut files = node.files.iter();
        files.any(|file| {
            let below = path.strip_prefix(file.path.trim_end_matches('/'));
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let code = ctx.repo.code()?;
    let all = code.iter().flat_map(|code| &code.uncommitted);
    let own: Vec<&str> = all
        .map(|one| one.path.as_str())
        .filter(|path| is_own(path))
        .collect();
    if own.is_empty() {
        return Ok(None);
    }
    let subject = format!("{}: {}", kind(node), one_line(&node.title));
    let task = format!("Loopx-Task: {}", node.id);
    let steps: [&[&str]; 2] = [
        &["add"],
        &[
            "commit",
            "--quiet",
            "-m",
            &subject,
            "--trailer",
            &task,
            "--only",
        ],
    ];
    for step in steps {
        let run = Run::git(step).args(["--"]).args(&own).cwd(top);
        let ended = run.env("GIT_LITERAL_PATHSPECS", "1").capture()?;
        if !ended.ended.success() {
            return Err(refused(node, &ended.complaint()));
        }
    }
    Ok(ctx.repo.head()?.commit)
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
