//! Judging a range whose ends are known: facts of its commits in hand, `core::range_policy` decides.

use super::claims::Reading;
use super::landing::{self, Merger};
use super::moments::Moments;
use super::{Landing, Report, Sessions, Span, approvals};
use crate::core::failure::{Code, Failure, Result};
use crate::core::id::Oid;
use crate::core::policy::Policy;
use crate::core::range_policy::history::Standing;
use crate::core::range_policy::{self, Claim, Commit, Head, Range};
use crate::core::session::State;
use crate::flow::upstream;
use crate::git::{CommitInfo, Repo};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Judges a range.
pub fn judge(repo: &Repo, sessions: &Sessions<'_>, span: Span, policy: &Policy) -> Result<Report> {
    let infos = infos(repo, &span)?;
    let merger = Merger::new(repo);
    let (commits, named) = read(repo, sessions, &span, &infos, &merger)?;
    let head = head(repo, sessions, &span, &infos, &merger, &named, policy)?;
    // On a branch of nobody only its own newest commit says whose result it is.
    let own = head.as_ref().filter(|head| {
        span.bound.is_some()
            || commits.first().is_some_and(|commit| {
                commit.id == head.id && !matches!(commit.claim, Claim::Nothing)
            })
    });
    let mut range = Range {
        policy,
        bound: span.bound.as_deref(),
        own: span.own,
        commits: &commits,
        head: own,
    };
    let mut findings = range_policy::judge(&range)?;
    let result = head.as_ref().filter(|_| own.is_some() || span.protected);
    let result = result.map(Landing::of);
    if let Some(newest) = commits.first() {
        let landed = head.as_ref().map_or(&[][..], |head| &head.sessions);
        for state in judged_sessions(span.bound.as_ref(), &named, landed) {
            let bound = span
                .bound
                .as_ref()
                .is_some_and(|bound| bound.id == state.id);
            let session = (&state.id, bound);
            findings.extend(approvals::judge(repo, sessions, policy, session, &commits)?);
        }
        if let Some(branch) = span.branch.as_deref().filter(|_| span.protected) {
            range.head = head.as_ref();
            findings.extend(range_policy::protected(&range, branch, newest, &named)?);
        }
    }
    Ok(Report {
        base: span.base,
        head: span.head,
        branch: span.branch,
        session: span.bound.as_ref().map(|state| state.id.clone()),
        commits: infos.iter().filter(|info| info.parents.len() < 2).count(),
        result,
        findings,
    })
}

/// The commits of a range, newest first.
fn infos(repo: &Repo, span: &Span) -> Result<Vec<CommitInfo>> {
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
    ids.iter().map(|id| repo.commit_info(id)).collect()
}

/// The commits with what they claim, and the sessions that they name, newest first.
fn read(
    repo: &Repo,
    sessions: &Sessions<'_>,
    span: &Span,
    infos: &[CommitInfo],
    merger: &Merger<'_>,
) -> Result<(Vec<Commit>, Vec<Rc<State>>)> {
    let direct = first_parents(infos, &span.head);
    let mut commits = Vec::new();
    let mut named: Vec<Rc<State>> = Vec::new();
    let mut reading = Reading::new(repo, sessions, span.bound.as_deref());
    let mut moments = Moments::new(repo, sessions, infos, &span.hidden);
    for info in infos {
        let (claim, session) = reading.claim(info)?;
        let whose = session.as_ref().or(span.bound.as_ref());
        let standing = match whose {
            Some(state) => moments.standing(&state.id, &info.id)?,
            None => Standing::Open,
        };
        if let Some(session) = session
            && !named.iter().any(|known| known.id == session.id)
        {
            named.push(session);
        }
        let is_merge = info.parents.len() > 1;
        let mut paths = own_paths(repo, info)?;
        let mut resolved = Vec::new();
        if info.parents.len() == 2 && direct.contains(&info.id) {
            let strays = merger.get()?.strays(info)?;
            resolved = paths;
            resolved.retain(|path| strays.conflicts.contains(path));
            paths = strays.paths;
        }
        commits.push(Commit {
            id: info.id.clone(),
            subject: info.subject().to_owned(),
            paths,
            resolved,
            is_merge,
            direct: direct.contains(&info.id),
            claim,
            standing,
        });
    }
    Ok((commits, named))
}

/// The newest commit, and how it differs from what was reviewed.
fn head(
    repo: &Repo,
    sessions: &Sessions<'_>,
    span: &Span,
    infos: &[CommitInfo],
    merger: &Merger<'_>,
    named: &[Rc<State>],
    policy: &Policy,
) -> Result<Option<Head>> {
    let Some(newest) = infos.first() else {
        return Ok(None);
    };
    let base = match &span.base {
        Some(base) => repo.merge_base(base, &newest.id)?,
        None => None,
    };
    let mut whose: Vec<Rc<State>> = match &span.bound {
        Some(bound) => vec![Rc::clone(bound)],
        None => named.iter().rev().cloned().collect(),
    };
    if whose.is_empty()
        && span.protected
        && let Some(base) = &base
    {
        let direct = first_parents(infos, &span.head);
        let chain = infos.iter().rev().filter(|info| direct.contains(&info.id));
        let chain: Vec<&CommitInfo> = chain.collect();
        let found = landing::squashed(repo, merger, sessions, policy, base, &chain)?;
        whose = found.unwrap_or_default();
    }
    let Some(session) = whose.last().cloned() else {
        return Ok(None);
    };
    let own = span.bound.is_some();
    let differing = landing::differing(repo, merger, &whose, base.as_ref(), newest, own)?;
    Ok(Some(Head {
        id: newest.id.clone(),
        subject: newest.subject().to_owned(),
        tree: newest.tree.clone(),
        session,
        sessions: whose,
        differing,
    }))
}

/// The sessions whose approvals let the range in: the branch's own, those that commits name, and those
/// whose result it is.
fn judged_sessions<'s>(
    bound: Option<&'s Rc<State>>,
    named: &'s [Rc<State>],
    landed: &'s [Rc<State>],
) -> Vec<&'s State> {
    let mut found: Vec<&State> = Vec::new();
    for state in bound.into_iter().chain(named).chain(landed) {
        if !found.iter().any(|known| known.id == state.id) {
            found.push(state);
        }
    }
    found
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
                Code::HistoryShallow,
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

/// The commits that were made on the branch itself.
fn first_parents(infos: &[CommitInfo], head: &Oid) -> HashSet<Oid> {
    let of: HashMap<&Oid, &Vec<Oid>> = infos.iter().map(|info| (&info.id, &info.parents)).collect();
    let mut found = HashSet::new();
    let mut next = Some(head);
    while let Some(id) = next
        && let Some(parents) = of.get(id)
    {
        // A forge merges a branch into its target to try it: what was merged is the branch.
        let tried = || parents.iter().find(|parent| of.contains_key(parent));
        next = match parents.first() {
            Some(first) if id == head && !of.contains_key(first) => tried(),
            first => first,
        };
        found.insert(id.clone());
    }
    found
}
