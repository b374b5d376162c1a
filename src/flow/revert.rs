//! Facts of git about a commit that a session takes back.

use super::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_base::trailers;
use loopx_rules::revert::Revert;
use std::collections::BTreeMap;

/// Reads a commit that is in the history of `base`, from which the session starts.
pub(super) fn of(ctx: &Context, revision: &str, base: Option<&Oid>) -> Result<Revert> {
    let repo = &ctx.repo;
    let commit = repo.resolve_commit(revision)?;
    let is_there = match base {
        Some(base) => repo.is_ancestor(&commit, base)?,
        None => false,
    };
    let Some(base) = base.filter(|_| is_there) else {
        return Err(Failure::refused(
            Code::RevertOutside,
            format!(
                "commit {} is not in the history that the session starts from: there is nothing to take back",
                commit.short()
            ),
        )
        .help(format!("git branch --all --contains {}", commit.short())));
    };
    let info = repo.commit_info(&commit)?;
    let Some(before) = info.parents.first().cloned() else {
        return Err(Failure::refused(
            Code::RevertOutside,
            format!(
                "commit {} is the first one: nothing was before it",
                commit.short()
            ),
        )
        .help(super::begin::way(ctx)?));
    };
    let old = repo.commit_info(&before)?.tree;
    let now = repo.commit_info(base)?.tree;
    let own = repo.changes(Some(&old), &info.tree)?;
    let since: BTreeMap<_, _> = repo
        .changes(Some(&info.tree), &now)?
        .into_iter()
        .map(|change| (change.path, ()))
        .collect();
    let paths: Vec<String> = own.into_iter().map(|change| change.path).collect();
    let still = paths.iter().filter(|path| !since.contains_key(*path));
    Ok(Revert {
        still: still.cloned().collect(),
        commit,
        before,
        is_merge: info.parents.len() > 1,
        subject: info.subject().to_owned(),
        author: info.author.to_string(),
        sessions: trailers::links(info.message.as_bytes(), b"#").sessions,
        paths,
    })
}
