//! Judging a range whose ends are known: facts of its commits in hand, `core::range_policy` decides.

use super::claims::Reading;
use super::{Report, Sessions, Span, approvals};
use crate::core::failure::{Failure, Result};
use crate::core::id::Oid;
use crate::core::op::CodeVerdict;
use crate::core::policy::Policy;
use crate::core::range_policy::{self, Claim, Commit, Head, Range};
use crate::core::session::State;
use crate::flow::upstream;
use crate::git::{CommitInfo, Repo};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A range with what was found of it.
pub struct Judged {
    pub report: Report,
    pub commits: Vec<Commit>,
    pub head: Option<Head>,
    /// The sessions that its commits name, as they are now.
    pub named: Vec<Rc<State>>,
    pub bound: Option<Rc<State>>,
}

/// Judges a range.
pub fn judge(repo: &Repo, sessions: &Sessions<'_>, span: Span, policy: &Policy) -> Result<Judged> {
    let ids = repo.range(&span.head, &span.hidden, usize::MAX)?;
    let session = span.bound.as_ref().map(|state| &state.id);
    let (ids, _) = upstream::without_upstream(
        repo,
        ids,
        &span.head,
        span.hidden.clone(),
        &span.upstream,
        session,
    )?;
    if repo.is_shallow() {
        whole(repo, &ids)?;
    }
    let infos = ids
        .iter()
        .map(|id| repo.commit_info(id))
        .collect::<Result<Vec<_>>>()?;
    let direct = first_parents(&infos, &span.head);
    let mut commits = Vec::new();
    let mut named: Vec<Rc<State>> = Vec::new();
    let mut reading = Reading::new(repo, sessions, span.bound.as_deref());
    for info in &infos {
        let (claim, session) = if info.parents.len() > 1 {
            (Claim::Merge, None)
        } else {
            reading.claim(info)?
        };
        if let Some(session) = session
            && !named.iter().any(|known| known.id == session.id)
        {
            named.push(session);
        }
        commits.push(Commit {
            id: info.id.clone(),
            subject: info.subject().to_owned(),
            paths: own_paths(repo, info)?,
            direct: direct.contains(&info.id),
            claim,
        });
    }
    let newest = infos.first();
    let session = span.bound.clone().or_else(|| named.first().cloned());
    let head = match (newest, session) {
        (Some(info), Some(session)) => Some(head(repo, info, session)?),
        _ => None,
    };
    // On a branch of nobody only its own newest commit says whose result it is.
    let own = head.as_ref().filter(|head| {
        span.bound.is_some()
            || commits.first().is_some_and(|commit| {
                commit.id == head.id && !matches!(commit.claim, Claim::Nothing | Claim::Merge)
            })
    });
    let mut findings = range_policy::judge(&Range {
        policy,
        bound: span.bound.as_deref(),
        commits: &commits,
        head: own,
    })?;
    if let Some(newest) = commits.first() {
        for state in judged_sessions(span.bound.as_ref(), &named) {
            findings.extend(approvals::judge(repo, sessions, policy, state, newest)?);
        }
    }
    Ok(Judged {
        report: Report {
            base: span.base,
            head: span.head,
            branch: span.branch,
            session: span.bound.as_ref().map(|state| state.id.clone()),
            commits: infos.iter().filter(|info| info.parents.len() < 2).count(),
            findings,
        },
        commits,
        head,
        named,
        bound: span.bound,
    })
}

/// The sessions whose approvals let the range in: the branch's own, and those that commits name.
fn judged_sessions<'s>(
    bound: Option<&'s Rc<State>>,
    named: &'s [Rc<State>],
) -> impl Iterator<Item = &'s State> {
    let others = named
        .iter()
        .filter(move |state| bound.is_none_or(|bound| bound.id != state.id));
    bound.into_iter().chain(others).map(Rc::as_ref)
}

/// What a commit changes against every parent that it has.
fn own_paths(repo: &Repo, info: &CommitInfo) -> Result<Vec<String>> {
    let mut own: Option<Vec<String>> = None;
    for parent in &info.parents {
        let before = repo.commit_info(parent)?.tree;
        let mut paths = repo.changed_paths(Some(&before), &info.tree)?;
        if let Some(own) = own {
            let known: HashSet<String> = own.into_iter().collect();
            paths.retain(|path| known.contains(path));
        }
        if paths.is_empty() {
            return Ok(paths);
        }
        own = Some(paths);
    }
    match own {
        Some(paths) => Ok(paths),
        None => repo.changed_paths(None, &info.tree),
    }
}

/// A commit whose parents a shallow clone left out cannot be judged: it seems to add every file.
fn whole(repo: &Repo, ids: &[Oid]) -> Result<()> {
    for id in ids {
        let info = repo.commit_info(id)?;
        let mut cut = info.parents.is_empty();
        for parent in &info.parents {
            cut |= !repo.contains(parent)?;
        }
        if cut {
            return Err(Failure::not_found(
                "history_shallow",
                format!(
                    "the range reaches commit {}, where this shallow clone ends",
                    id.short()
                ),
            )
            .help("git fetch --unshallow"));
        }
    }
    Ok(())
}

fn head(repo: &Repo, info: &CommitInfo, session: Rc<State>) -> Result<Head> {
    let reviewed = session
        .verdict
        .as_ref()
        .filter(|verdict| verdict.value.verdict == CodeVerdict::Approve)
        .map(|verdict| verdict.value.tree.clone());
    let differing = match reviewed {
        Some(tree) if tree == info.tree => Some(Vec::new()),
        Some(tree) if repo.contains(&tree)? => Some(repo.changed_paths(Some(&tree), &info.tree)?),
        _ => None,
    };
    Ok(Head {
        id: info.id.clone(),
        subject: info.subject().to_owned(),
        session,
        differing,
    })
}

/// The commits that were made on the branch itself.
fn first_parents(infos: &[CommitInfo], head: &Oid) -> HashSet<Oid> {
    let parents: HashMap<&Oid, Option<&Oid>> = infos
        .iter()
        .map(|info| (&info.id, info.parents.first()))
        .collect();
    let mut found = HashSet::new();
    let mut next = Some(head);
    while let Some(id) = next
        && let Some(parent) = parents.get(id)
    {
        found.insert(id.clone());
        next = *parent;
    }
    found
}
