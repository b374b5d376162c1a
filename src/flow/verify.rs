//! `verify`: every commit of a range judged again, from objects and refs alone. pre-push judges with
//! the same code.
//!
//! The loopx branch counts wherever it is known: the local one, and those that were fetched.

use super::context::Context;
use crate::core::failure::{Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::op::{CodeVerdict, Event, Operation};
use crate::core::policy::{FILE as POLICY_FILE, Policy};
use crate::core::range_policy::{self, Claim, Commit, Fault, Finding, Head, Range, Severity};
use crate::core::replay::fold;
use crate::core::session::State;
use crate::core::trailers;
use crate::git::{CommitInfo, Repo};
use crate::store::{Snapshot, Store};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How many session commits are looked for one by one before the whole branch is read.
const LOOKED_FOR_ALONE: usize = 16;

/// What was typed.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub range: Option<String>,
    pub policy_from: Option<String>,
    pub branch: Option<String>,
}

/// What was judged, and what was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Absent where the range begins with the first commit.
    pub base: Option<Oid>,
    pub head: Oid,
    pub branch: Option<String>,
    /// The session that the branch is bound to.
    pub session: Option<SessionId>,
    /// Merges are passed over.
    pub commits: usize,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

/// A range whose ends are known.
#[derive(Debug)]
pub struct Span {
    pub base: Option<Oid>,
    /// Reachable from here is judged elsewhere.
    pub hidden: Vec<Oid>,
    pub head: Oid,
    pub branch: Option<String>,
    pub bound: Option<Rc<State>>,
}

/// `verify`.
pub fn verify(ctx: &Context, request: &Request) -> Result<Report> {
    let repo = &ctx.repo;
    let sessions = Sessions::open(ctx)?;
    let policy_from = match &request.policy_from {
        Some(revision) => Some(repo.resolve_commit(revision)?),
        None => None,
    };
    let span = span(ctx, &sessions, request, policy_from.as_ref())?;
    let policy = policy_at(ctx, policy_from.as_ref().or(span.base.as_ref()))?;
    let judged = judge(repo, &sessions, span, &policy)?;
    Ok(judged.report)
}

/// The policy of a commit; the defaults where there is none.
pub fn policy_at(ctx: &Context, commit: Option<&Oid>) -> Result<Policy> {
    match commit {
        Some(commit) => ctx.policy_at(
            &ctx.repo.commit_info(commit)?.tree,
            &format!("{POLICY_FILE} at {}", commit.short()),
        ),
        None => Ok(Policy::default()),
    }
}

fn span(
    ctx: &Context,
    sessions: &Sessions<'_>,
    request: &Request,
    policy_from: Option<&Oid>,
) -> Result<Span> {
    let repo = &ctx.repo;
    let at = repo.head()?;
    let wanted = match ctx.wanted() {
        Some(name) => {
            let id = SessionId::fold(name)?;
            let found = sessions.now(&id)?;
            Some(found.ok_or_else(|| super::context::unknown(sessions.newest(), &id))?)
        }
        None => None,
    };
    let (from, to) = match request.range.as_deref() {
        None => (None, None),
        Some(range) => ends(range)?,
    };
    // Without a range the session decides: its branch is what is judged, whatever is checked out.
    let own_branch = || {
        let state = wanted.as_ref().filter(|_| request.range.is_none())?;
        let branch = state.branch.clone()?;
        (at.branch.as_ref() != Some(&branch)).then_some(branch)
    };
    let (head, mut branch) = match to {
        Some(to) => {
            let head = repo.resolve_commit(to)?;
            let named = repo.find_ref(&format!("refs/heads/{to}"))?.is_some();
            let branch = if named {
                Some(to.to_owned())
            } else {
                at.branch.filter(|_| at.commit.as_ref() == Some(&head))
            };
            (head, branch)
        }
        None => match own_branch() {
            Some(branch) => (
                repo.resolve_commit(&format!("refs/heads/{branch}"))?,
                Some(branch),
            ),
            None => (repo.resolve_commit("HEAD")?, at.branch),
        },
    };
    if let Some(name) = &request.branch {
        branch = Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned());
    }
    let bound = match (wanted, &branch) {
        (Some(state), _) => Some(state),
        (None, Some(branch)) => sessions.bound_to(branch)?,
        (None, None) => None,
    };
    let base = match (from, policy_from, &bound) {
        (Some(from), _, _) => Some(repo.resolve_commit(from)?),
        (None, Some(other), _) if request.range.is_some() => repo.merge_base(other, &head)?,
        (None, _, Some(state)) => match &state.base {
            Some(base) => Some(
                repo.merge_base(base, &head)?
                    .unwrap_or_else(|| base.clone()),
            ),
            None => None,
        },
        (None, Some(other), None) => repo.merge_base(other, &head)?,
        (None, None, None) => {
            return Err(Failure::usage(
                "range_without_base",
                match &branch {
                    Some(branch) => {
                        format!("`{branch}` is bound to no session, so a range is needed")
                    }
                    None => "no branch and no session say where the range begins".to_owned(),
                },
            )
            .help("git loopx verify main..HEAD"));
        }
    };
    Ok(Span {
        hidden: base.iter().cloned().collect(),
        base,
        head,
        branch,
        bound,
    })
}

/// The ends of `A..B`, `A..`, `..B` or `B`; an end that is left out is HEAD, as in git.
fn ends(range: &str) -> Result<(Option<&str>, Option<&str>)> {
    let invalid = || {
        Failure::usage(
            "range_invalid",
            format!("expected a range like `main..HEAD`, or one commit, found `{range}`"),
        )
        .help("git loopx verify main..HEAD")
    };
    if range.trim().is_empty() || range.contains("...") || range.starts_with('-') {
        return Err(invalid());
    }
    match range.split_once("..") {
        Some(("", "")) => Err(invalid()),
        Some((_, to)) if to.contains("..") => Err(invalid()),
        Some(("", to)) => Ok((Some("HEAD"), Some(to))),
        Some((from, "")) => Ok((Some(from), Some("HEAD"))),
        Some((from, to)) => Ok((Some(from), Some(to))),
        None => Ok((None, Some(range))),
    }
}

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
    let mut reading = Reading {
        repo,
        sessions,
        bound: span.bound.as_deref(),
        now: HashMap::new(),
        states: HashMap::new(),
        reachable: HashMap::new(),
        branch: None,
    };
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
    let findings = range_policy::judge(&Range {
        policy,
        bound: span.bound.as_deref(),
        commits: &commits,
        head: own,
    })?;
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

/// The loopx branch, as far as it is known here.
pub struct Sessions<'r> {
    repo: &'r Repo,
    /// The local branch first, then those of remotes.
    tips: Vec<Snapshot<'r>>,
}

impl<'r> Sessions<'r> {
    pub fn open(ctx: &'r Context) -> Result<Self> {
        let store = ctx.store()?;
        let found = Self::read(&store)?;
        if found.tips.is_empty() {
            // Says that nothing is initialised, and how to go on.
            store.snapshot()?;
        }
        Ok(found)
    }

    pub fn read(store: &Store<'r>) -> Result<Self> {
        let repo = store.repo();
        let mut tips: Vec<Snapshot<'r>> = store.read()?.into_iter().collect();
        for (name, tip) in repo.tracking_refs(store.branch())? {
            // A branch of that name on a remote need not be one of ours.
            tips.extend(Snapshot::at(repo, tip, &name).ok());
        }
        Ok(Sessions { repo, tips })
    }

    fn newest(&self) -> &Snapshot<'r> {
        &self.tips[0]
    }

    /// A session as it is now.
    pub fn now(&self, id: &SessionId) -> Result<Option<Rc<State>>> {
        for tip in &self.tips {
            if let Some(session) = tip.find(id)? {
                return Ok(Some(Rc::new(session.state)));
            }
        }
        Ok(None)
    }

    /// What was taken back in a session by now: a state that rests on it lets nothing in any more.
    fn undos(&self, id: &SessionId) -> Result<Vec<Operation>> {
        for tip in &self.tips {
            if let Some(session) = tip.find(id)? {
                let mut operations = tip.operations(&session)?;
                operations.retain(|op| matches!(op.event, Event::Undone { .. }));
                return Ok(operations);
            }
        }
        Ok(Vec::new())
    }

    /// The session that a code branch is bound to. A binding is taken away when a session ends, so only
    /// the first tip counts: another one may be older.
    pub fn bound_to(&self, branch: &str) -> Result<Option<Rc<State>>> {
        let Some(tip) = self.tips.first() else {
            return Ok(None);
        };
        match tip.bound_to(branch)? {
            Some(id) => self.now(&id),
            None => Ok(None),
        }
    }

    /// Every commit of the branch.
    fn history(&self) -> Result<HashSet<Oid>> {
        let mut found = HashSet::new();
        for tip in &self.tips {
            found.extend(self.repo.range(tip.commit(), &[], usize::MAX)?);
        }
        Ok(found)
    }

    fn reaches(&self, commit: &Oid) -> Result<bool> {
        // What is not here, or is no commit, is on no branch.
        if self.repo.commit_info(commit).is_err() {
            return Ok(false);
        }
        for tip in &self.tips {
            if self.repo.is_ancestor(commit, tip.commit())? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Reads the claims of many commits; what they name is read once.
struct Reading<'a, 'r> {
    repo: &'a Repo,
    sessions: &'a Sessions<'r>,
    bound: Option<&'a State>,
    now: HashMap<SessionId, Result<Option<Rc<State>>>>,
    states: HashMap<(SessionId, Oid), Result<Rc<State>, Fault>>,
    reachable: HashMap<Oid, bool>,
    /// Every commit of the loopx branch, once many have been asked for.
    branch: Option<HashSet<Oid>>,
}

impl Reading<'_, '_> {
    /// What a commit claims, and the session that it names as it is now.
    fn claim(&mut self, info: &CommitInfo) -> Result<(Claim, Option<Rc<State>>)> {
        let links = trailers::links(info.message.as_bytes(), b"#");
        if links.is_empty() {
            return Ok((Claim::Nothing, None));
        }
        let mut names = links.sessions;
        names.dedup();
        let [name] = names.as_slice() else {
            return Ok((Claim::Fault(Fault::Sessions(names)), None));
        };
        let unknown = || Claim::Fault(Fault::UnknownSession(name.clone()));
        let Ok(id) = SessionId::parse(name) else {
            return Ok((unknown(), None));
        };
        let sessions = self.sessions;
        let now = self
            .now
            .entry(id.clone())
            .or_insert_with(|| sessions.now(&id));
        let session = match now.clone() {
            Ok(Some(session)) => session,
            Ok(None) => return Ok((unknown(), None)),
            Err(failure) => return Ok((Claim::Fault(Fault::Damaged(failure.message)), None)),
        };
        if self.is_strange(info, &session)? {
            let claim = Claim::Fault(Fault::OtherSession(id));
            return Ok((claim, Some(session)));
        }
        let mut states = Vec::new();
        for named in &links.states {
            match self.state(&id, named)? {
                Ok(state) => states.push(state),
                Err(fault) => return Ok((Claim::Fault(fault), Some(session))),
            }
        }
        let claim = if states.is_empty() {
            Claim::Session(Rc::clone(&session))
        } else {
            Claim::States(states)
        };
        Ok((claim, Some(session)))
    }

    /// Whether the commit names another session than the one whose branch it is on, and is nowhere
    /// that the named one reached.
    fn is_strange(&self, info: &CommitInfo, session: &State) -> Result<bool> {
        if self.bound.is_none_or(|bound| bound.id == session.id) {
            return Ok(false);
        }
        let mut tips = Vec::new();
        if let Some(branch) = &session.branch {
            tips.extend(self.repo.find_ref(&format!("refs/heads/{branch}"))?);
            let tracked = self.repo.tracking_refs(branch)?;
            tips.extend(tracked.into_iter().map(|(_, tip)| tip));
        }
        if let Some(crate::core::session::Ending::Archived {
            commit: Some(commit),
            ..
        }) = &session.ending
            && self.repo.contains(commit)?
        {
            tips.push(commit.clone());
        }
        for tip in tips {
            if self.repo.is_ancestor(&info.id, &tip)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the loopx branch has a commit. A few are looked for one by one; for many its history is
    /// walked once.
    fn reaches(&mut self, commit: &Oid) -> Result<bool> {
        if let Some(known) = self.reachable.get(commit) {
            return Ok(*known);
        }
        if self.branch.is_none() && self.reachable.len() >= LOOKED_FOR_ALONE {
            self.branch = Some(self.sessions.history()?);
        }
        let reaches = match &self.branch {
            Some(branch) => branch.contains(commit),
            None => self.sessions.reaches(commit)?,
        };
        self.reachable.insert(commit.clone(), reaches);
        Ok(reaches)
    }

    fn state(&mut self, id: &SessionId, named: &str) -> Result<Result<Rc<State>, Fault>> {
        let foreign = || Fault::ForeignState(named.to_owned());
        let Ok(commit) = Oid::parse(named) else {
            return Ok(Err(foreign()));
        };
        if !self.reaches(&commit)? {
            return Ok(Err(foreign()));
        }
        let key = (id.clone(), commit);
        if let Some(known) = self.states.get(&key) {
            return Ok(known.clone());
        }
        let found = Snapshot::at(self.repo, key.1.clone(), "loopx").and_then(|at| {
            let Some(mut session) = at.find(id)? else {
                return Ok(None);
            };
            if session.state.is_active() {
                at.require_whole(&session)?;
                let mut operations = at.operations(&session)?;
                operations.extend(self.sessions.undos(id)?);
                session.state = fold(id, &operations)?;
            }
            Ok(Some(session))
        });
        let found = match found {
            Ok(Some(session)) if session.state.is_active() => Ok(Rc::new(session.state)),
            Ok(Some(_)) => Err(Fault::EndedAt(id.clone(), key.1.clone())),
            Ok(None) => Err(Fault::NoSessionAt(id.clone(), key.1.clone())),
            Err(failure) => Err(Fault::Damaged(failure.message)),
        };
        self.states.insert(key, found.clone());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn ranges_are_read_as_git_reads_them() {
        assert_eq!(ends("a..b"), Ok((Some("a"), Some("b"))));
        assert_eq!(ends("a.."), Ok((Some("a"), Some("HEAD"))));
        assert_eq!(ends("..b"), Ok((Some("HEAD"), Some("b"))));
        assert_eq!(ends("b"), Ok((None, Some("b"))));
        for invalid in ["", " ", "..", "a...b", "a..b..c", "-x"] {
            assert_eq!(ends(invalid).expect_err(invalid).code, "range_invalid");
        }
    }
}
