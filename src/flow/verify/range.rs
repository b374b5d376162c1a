//! Judging a range whose ends are known: facts of its commits in hand, [`loopx_rules::range_rules`] decides.

use super::account::Judged;
use super::claims::Reading;
use super::landing::{self, Merger};
use super::moments::Moments;
use super::{Landing, Report, Sessions, Span, account, approvals, issues, scope, strict};
use crate::flow::context::Context;
use crate::flow::{hooks, signers, upstream};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Repo, Strays};
use loopx_rules::account::{PutDown, Step};
use loopx_rules::policy::Policy;
use loopx_rules::range_rules;
use loopx_rules::range_rules::history::{Moment, Standing};
use loopx_rules::range_rules::{Claim, Commit, Finding, Head, Landed, Range, Severity};
use loopx_rules::session::State;
use loopx_rules::signers::Remark;
use loopx_rules::stage::Stage;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Judges a range.
pub(crate) fn judge(
    ctx: &Context,
    sessions: &Sessions<'_>,
    mut span: Span,
    policy: &Policy,
) -> Result<Report> {
    let repo = &ctx.repo;
    let session = span.bound.as_ref().map(|state| state.id.clone());
    if span.protected {
        // Whatever a pull request calls its branch: commits and verdicts say whose result it is.
        span.bound = None;
        if let Some(base) = &span.base {
            span.hidden = vec![base.clone()];
            span.upstream.clear();
        }
    }
    let ids = ids(repo, &span)?;
    if span.protected || span.bound.is_some() {
        let malformed = strict::findings(repo, &ids)?;
        if !malformed.is_empty() {
            // Nothing else that is said of such objects could be relied on.
            return Ok(Report {
                findings: malformed,
                ..Report::empty(span, session, ids.len())
            });
        }
    }
    let infos = infos(repo, &ids)?;
    let asked = Asked {
        ctx,
        sessions,
        policy,
        claims: claims(repo, sessions, &span, &infos)?,
        merger: Merger::new(repo),
        span,
        session,
        infos,
    };
    let report = asked.report(PutDown::Highest)?;
    // Of sessions that stand on one another the plan and the stages of the lower one say what its commits may.
    let is_of_plan =
        |one: &Finding| matches!(one.code, Code::OutOfScope | Code::CommitWithoutState);
    if report.account.is_some() && report.errors().any(is_of_plan) {
        let other = asked.report(PutDown::Lowest)?;
        if other.errors().next().is_none() {
            return Ok(other);
        }
    }
    Ok(report)
}

/// A range in hand, with everything that it is judged by.
struct Asked<'a, 'r> {
    ctx: &'a Context,
    sessions: &'a Sessions<'r>,
    policy: &'a Policy,
    span: Span,
    session: Option<SessionId>,
    infos: Vec<CommitInfo>,
    claims: Claims,
    merger: Merger<'a>,
}

impl Asked<'_, '_> {
    fn report(&self, put_down: PutDown) -> Result<Report> {
        let Asked {
            ctx,
            sessions,
            policy,
            span,
            infos,
            claims,
            merger,
            ..
        } = self;
        let repo = &ctx.repo;
        let landing = if infos.is_empty() {
            None
        } else {
            let asked = (span, claims.named.as_slice());
            account::judge(ctx, sessions, asked, policy, (merger, put_down))?
        };
        let known = (infos.as_slice(), claims, landing.as_ref());
        let commits = read(repo, sessions, span, known, merger, policy)?;
        let head = match landing {
            Some(_) => None,
            None => head(repo, span, infos, claims, merger)?,
        };
        let range = Range {
            policy,
            bound: span.bound.as_deref(),
            own: span.own,
            lands: landing.is_some(),
            hooked: hooks::is_installed(repo),
            commits: &commits,
            head: head.as_ref(),
        };
        let mut findings = range_rules::judge(&range)?;
        let mut people = Vec::new();
        let landed = landing.as_ref().map(Judged::sessions).unwrap_or_default();
        if !commits.is_empty() {
            for state in judged_sessions(span.bound.as_ref(), &claims.named, &landed) {
                let own = own(repo, span, state, landing.as_ref())?;
                let tips = &span.hidden;
                let (found, who) =
                    approvals::judge((ctx, policy), sessions, &state.id, &own, &commits, tips)?;
                findings.extend(found);
                people.extend(who);
            }
        }
        findings.extend(issues::unknown(sessions, infos)?);
        let commits = infos.iter().filter(|info| info.parents.len() < 2).count();
        let mut report = Report {
            result: head.as_ref().map(Landing::of),
            people,
            findings,
            ..Report::empty(span.clone(), self.session.clone(), commits)
        };
        if let Some(landing) = &landing {
            of_landing(ctx, &mut report, policy, landing, (infos, merger))?;
        }
        Ok(report)
    }
}

/// Adds what is found of a landing as a whole.
fn of_landing(
    ctx: &Context,
    report: &mut Report,
    policy: &Policy,
    landing: &Judged,
    (infos, merger): (&[CommitInfo], &Merger<'_>),
) -> Result<()> {
    let repo = &ctx.repo;
    let missing = account::findings(ctx, landing)?;
    let newest = infos.first();
    report.result =
        newest.and_then(|newest| Landing::account(newest, &landing.sessions(), &missing));
    report.findings.extend(missing);
    let outside = scope::outside(repo, merger, policy, landing, infos)?;
    report.findings.extend(outside);
    let patterns = newest.into_iter().flat_map(|one| patterns(policy, one));
    report.findings.extend(patterns);
    report.account = Some(account::view(repo, landing)?);
    Ok(())
}

/// Keys that stand for everybody of a pattern, where policy relies on keys.
fn patterns(policy: &Policy, newest: &CommitInfo) -> Vec<Finding> {
    if !policy.asks_signatures() {
        return Vec::new();
    }
    let remarks = signers::of_policy(policy).into_iter();
    let patterns = remarks.filter(|remark| remark.code == Code::SignerPattern);
    let finding = |remark: Remark| Finding {
        code: remark.code,
        severity: Severity::Warning,
        commit: newest.id.clone(),
        subject: newest.subject().to_owned(),
        paths: Vec::new(),
        message: format!(
            "{}:{}: {}",
            policy.approve.signers, remark.line, remark.message
        ),
        help: command!("signers check"),
    };
    patterns.map(finding).collect()
}

/// The commits and paths that are a session's own in a range.
fn own(
    repo: &Repo,
    span: &Span,
    state: &State,
    landing: Option<&Judged>,
) -> Result<approvals::Own> {
    let bound = span.bound.as_ref();
    let strays = landing
        .into_iter()
        .flat_map(|landing| landing.account.strays(&state.id));
    Ok(approvals::Own {
        bound: bound.is_some_and(|bound| bound.id == state.id),
        reviewed: reviewed(repo, state, landing)?,
        strays: strays.cloned().collect(),
    })
}

/// Commits that the verdict of a session brings to the target, where it lands: whoever made them took part.
fn reviewed(repo: &Repo, state: &State, landing: Option<&Judged>) -> Result<Option<Vec<Oid>>> {
    let Some(landing) = landing.filter(|landing| landing.state(&state.id).is_some()) else {
        return Ok(None);
    };
    match landing::approving(state).and_then(|verdict| verdict.head.as_ref()) {
        Some(head) if repo.contains(head)? => {
            repo.range(head, &landing.without, usize::MAX).map(Some)
        }
        _ => Ok(Some(Vec::new())),
    }
}

/// The commits of a range, newest first.
fn ids(repo: &Repo, span: &Span) -> Result<Vec<Oid>> {
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
    Ok(ids)
}

fn infos(repo: &Repo, ids: &[Oid]) -> Result<Vec<CommitInfo>> {
    if repo.is_shallow() {
        whole(repo, ids)?;
    }
    ids.iter().map(|id| repo.commit_info(id)).collect()
}

/// Claims in the trailers of the commits.
struct Claims {
    /// Claims in the order of the commits, each with the session that it names.
    all: Vec<(Claim, Option<Rc<State>>)>,
    /// The sessions that are named, newest first.
    named: Vec<Rc<State>>,
}

fn claims(
    repo: &Repo,
    sessions: &Sessions<'_>,
    span: &Span,
    infos: &[CommitInfo],
) -> Result<Claims> {
    let mut reading = Reading::new(repo, sessions, span.bound.as_deref());
    let mut claims = Claims {
        all: Vec::new(),
        named: Vec::new(),
    };
    for info in infos {
        let (claim, session) = reading.claim(info)?;
        if let Some(session) = &session
            && !claims.named.iter().any(|known| known.id == session.id)
        {
            claims.named.push(Rc::clone(session));
        }
        claims.all.push((claim, session));
    }
    Ok(claims)
}

/// The commits with what they claim, and what is known of their moments.
fn read(
    repo: &Repo,
    sessions: &Sessions<'_>,
    span: &Span,
    (infos, claims, landing): (&[CommitInfo], &Claims, Option<&Judged>),
    merger: &Merger<'_>,
    policy: &Policy,
) -> Result<Vec<Commit>> {
    let direct = first_parents(infos, &span.head);
    let is_strict = !policy.gates.protected.is_empty();
    let mut commits = Vec::new();
    let mut moments = Moments::new(repo, sessions, infos, &span.hidden);
    for (info, (claim, session)) in infos.iter().zip(&claims.all) {
        let step = landing.and_then(|landing| landing.account.step(&info.id));
        let owner = match (landing, step) {
            (Some(landing), Some(Step::Forward(id))) => landing.state(id).cloned(),
            _ => None,
        };
        let (claim, session) = match (landing, &owner, session) {
            (Some(landing), Some(owner), Some(named))
                if !lends(repo, landing, (owner, named), &info.id)? =>
            {
                (without_states(claim), None)
            }
            _ => (claim.clone(), session.as_ref()),
        };
        let whose = session.or(owner.as_ref()).or(span.bound.as_ref());
        let standing = match whose {
            Some(state) => moments.standing(&state.id, &info.id)?,
            None => Standing::Open,
        };
        let moment = match (&claim, owner.as_ref().or(span.bound.as_ref())) {
            (Claim::Nothing, Some(state)) if is_strict => moments.moment(&state.id, info)?,
            _ => Moment::Unknown,
        };
        let is_direct = direct.contains(&info.id);
        let mut paths = own_paths(repo, info)?;
        let mut resolved = Vec::new();
        if info.parents.len() > 1 && (is_direct || owner.is_some()) {
            let strays = strays(repo, merger, info)?;
            resolved = paths;
            resolved.retain(|path| strays.conflicts.contains(path));
            paths = strays.paths;
        }
        commits.push(Commit {
            id: info.id.clone(),
            subject: info.subject().to_owned(),
            paths,
            resolved,
            is_merge: info.parents.len() > 1,
            direct: is_direct,
            claim,
            standing,
            moment,
            landed: landed(step),
            owner,
        });
    }
    Ok(commits)
}

/// The states of the session that a commit names count for it, where the review of another one brings it, if the named
/// one lands too, or is done and its own review has shown the commit. It is judged as every one that is named.
fn lends(
    repo: &Repo,
    landing: &Judged,
    (owner, named): (&State, &State),
    commit: &Oid,
) -> Result<bool> {
    if owner.id == named.id || landing.is_of(&named.id) {
        return Ok(true);
    }
    let is_done = named.stage == Stage::Done && !account::is_abandoned(named);
    let Some(verdict) = landing::approving(named).filter(|_| is_done) else {
        return Ok(false);
    };
    let seen = verdict.seen.as_ref().or(verdict.base.as_ref());
    let (Some(head), Some(seen)) = (&verdict.head, seen) else {
        return Ok(false);
    };
    if !repo.contains(head)? || !repo.contains(seen)? {
        return Ok(false);
    }
    Ok(repo.is_ancestor(commit, head)? && !repo.is_ancestor(commit, seen)?)
}

/// A claim by which no state lets anything in.
fn without_states(claim: &Claim) -> Claim {
    match claim {
        Claim::States(_) => Claim::Nothing,
        other => other.clone(),
    }
}

fn landed(step: Option<&Step>) -> Landed {
    match step {
        None | Some(Step::Forward(_)) => Landed::Shown,
        Some(Step::Merge(_) | Step::Squash(_) | Step::Rebase(_)) => Landed::Content,
        Some(_) => Landed::Exempt,
    }
}

/// The newest commit of a branch that nobody protects, and how it differs from what was reviewed. On a
/// branch of nobody only that commit's own words say whose result it is.
fn head(
    repo: &Repo,
    span: &Span,
    infos: &[CommitInfo],
    claims: &Claims,
    merger: &Merger<'_>,
) -> Result<Option<Head>> {
    let (Some(newest), Some((claim, _))) = (infos.first(), claims.all.first()) else {
        return Ok(None);
    };
    let whose: Vec<Rc<State>> = match &span.bound {
        Some(bound) => vec![Rc::clone(bound)],
        None if matches!(claim, Claim::Nothing) => Vec::new(),
        None => claims.named.iter().rev().cloned().collect(),
    };
    let Some(session) = whose.last().cloned() else {
        return Ok(None);
    };
    let base = match &span.base {
        Some(base) => repo.merge_base(base, &newest.id)?,
        None => None,
    };
    let own = span.bound.is_some();
    let differing = landing::differing(repo, merger, &whose, base.as_ref(), newest, own)?;
    Ok(Some(Head {
        id: newest.id.clone(),
        subject: newest.subject().to_owned(),
        session,
        tree: newest.tree.clone(),
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
) -> Vec<&'s Rc<State>> {
    let mut found: Vec<&Rc<State>> = Vec::new();
    for state in bound.into_iter().chain(named).chain(landed) {
        if !found.iter().any(|known| known.id == state.id) {
            found.push(state);
        }
    }
    found
}

/// Paths that a commit changes against every parent that it has.
pub(in crate::flow) fn own_paths(repo: &Repo, info: &CommitInfo) -> Result<Vec<String>> {
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

/// The paths that a commit changes: against its parent, and of a merge those that git does not make of its parents, with
/// what somebody resolved.
pub(in crate::flow) fn changed(
    repo: &Repo,
    merger: &Merger<'_>,
    info: &CommitInfo,
) -> Result<Vec<String>> {
    if info.parents.len() < 2 {
        return own_paths(repo, info);
    }
    let strays = strays(repo, merger, info)?;
    let all: BTreeSet<String> = strays.paths.into_iter().chain(strays.conflicts).collect();
    Ok(all.into_iter().collect())
}

/// The paths that a merge has otherwise than git makes of its parents. Where somebody resolved a conflict between more than two,
/// all is its own that it has otherwise than one of them.
fn strays(repo: &Repo, merger: &Merger<'_>, info: &CommitInfo) -> Result<Strays> {
    if info.parents.len() == 2 {
        return merger.get()?.strays(info);
    }
    let paths = match landing::octopus(repo, merger, &info.parents)? {
        Some(merged) => merger.get()?.changed_paths(&merged, &info.tree)?,
        None => {
            let mut all = BTreeSet::new();
            for parent in &info.parents {
                let before = repo.commit_info(parent)?.tree;
                all.extend(repo.changed_paths(Some(&before), &info.tree)?);
            }
            all.into_iter().collect()
        }
    };
    Ok(Strays {
        paths,
        conflicts: Vec::new(),
    })
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
