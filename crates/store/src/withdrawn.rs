//! Records that came with a history and went again in it: no tip shows them, and the history has lost them all
//! the same.

use super::loss::Records;
use super::{Snapshot, fanout, history, layout};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_git::Repo;

/// The first commit that comes to `tip` and not to those known of which this is so, and its first parent.
pub(super) fn first(
    repo: &Repo,
    tip: &Oid,
    known: &[Oid],
    is_so: impl Fn(&Oid) -> Result<bool>,
) -> Result<Option<(Oid, Option<Oid>)>> {
    for commit in repo.range(tip, known, usize::MAX)?.into_iter().rev() {
        let info = repo.commit_info(&commit)?;
        if is_so(&info.tree)? {
            return Ok(Some((commit, info.parents.into_iter().next())));
        }
    }
    Ok(None)
}

/// Refuses records that came and went again: the history has lost them for ever, and every `fsck` would say so.
pub(super) fn require_none_withdrawn(
    ours: &Snapshot<'_>,
    theirs: &Snapshot<'_>,
    result: &Snapshot<'_>,
    (label, branch): (&str, &str),
) -> Result<()> {
    let repo = result.repo();
    let lost = history::look(repo, result, Some(ours.commit()))?.lost;
    let Some(one) = lost.first() else {
        return Ok(());
    };
    let path = if one.session.contains('/') {
        one.session.clone()
    } else {
        format!("{}/{}", layout::SESSIONS, one.session)
    };
    let has_one = |tree: &Oid| -> Result<bool> {
        let folder = fanout::entry_at(repo, tree, &path)?;
        let held = Records::of(repo, folder.as_ref());
        Ok(held.is_ok_and(|held| one.records.names().any(|name| held.has(name))))
    };
    let known = [ours.commit().clone()];
    let came = first(repo, theirs.commit(), &known, has_one)?;
    let (by, before) = match came {
        Some((commit, Some(parent))) => (
            format!("came with commit {}", commit.short()),
            parent.short().to_owned(),
        ),
        _ => ("came".to_owned(), "COMMIT".to_owned()),
    };
    Err(Failure::refused(
        Code::RemoteDamaged,
        format!(
            "{label}: session {}: {}: records that {by} were taken away again by commit {}, and a history must not lose records; nothing was taken over, and the work here goes on",
            one.session,
            one.what,
            one.since.short()
        ),
    )
    .help(set_back(label, branch, "", &before)))
}

/// Way on where a history itself is not to be taken: a revert leaves the damage in it.
pub(super) fn set_back(label: &str, branch: &str, shows: &str, before: &str) -> Hint {
    let remote = label.strip_suffix(branch).unwrap_or("REMOTE");
    let remote = remote.trim_start_matches("refs/remotes/");
    let remote = remote.trim_end_matches('/');
    hint![
        format!(
            "{shows}git push --force-with-lease {remote} {before}:refs/heads/{branch}  (sets the branch there back to before), then: "
        ),
        command!("sync")
    ]
}
