//! pre-push: every line that git writes to the hook, judged with the code of `verify`.
//!
//! What the remote's branch has, or the target, is not judged again. A range that cannot
//! be seen from here (unknown objects, a shallow clone) passes with a word: the other side judges it.

use super::context::Context;
use super::hook::Outcome;
use super::upstream;
use super::verify::{self, Sessions, Span};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::range_rules;
use loopx_rules::range_rules::{Finding, Severity};
use loopx_rules::session::State;
use loopx_store::Store;
use std::ffi::OsString;
use std::rc::Rc;

const HEADS: &str = "refs/heads/";
/// The number of findings that a refusal prints.
const SHOWN: usize = 10;

/// A line of a push: the commit, and the branch that it goes to.
struct Update {
    local: String,
    /// `None` for a delete.
    new: Option<Oid>,
    /// The branch on the other side.
    branch: String,
    /// The commit of that branch before the push; `None` for a new branch.
    old: Option<Oid>,
}

pub(crate) fn pre_push(
    ctx: &Context,
    store: &Store<'_>,
    args: &[OsString],
    stdin: &[u8],
) -> Result<Outcome> {
    let updates: Vec<Update> = String::from_utf8_lossy(stdin)
        .lines()
        .filter_map(|line| update(line, store.branch()))
        .collect();
    if updates.is_empty() || ctx.repo.find_ref(&store.branch_ref())?.is_none() {
        return Ok(Outcome::Passed(Vec::new()));
    }
    let sessions = match Sessions::read(store) {
        Err(failure) if failure.code == Code::BranchForeign => {
            return Ok(Outcome::Passed(Vec::new()));
        }
        sessions => sessions?,
    };
    let remote = args
        .first()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut findings = Vec::new();
    let mut warnings = Vec::new();
    for update in &updates {
        match judge(ctx, &sessions, update, &remote) {
            Ok(found) => findings.extend(found),
            // One branch that cannot be judged must not hide what another one has.
            Err(failure) => warnings.push(format!(
                "git loopx did not check `{}`: {}",
                update.branch, failure.message
            )),
        }
    }
    Ok(outcome(
        findings,
        warnings,
        command!("verify").note("(to push anyway: git push --no-verify, or LOOPX=0)"),
    ))
}

/// Turns findings into an outcome: a refusal where a finding is an error.
pub(super) fn outcome(
    findings: Vec<Finding>,
    mut warnings: Vec<String>,
    help: impl Into<Hint>,
) -> Outcome {
    let (errors, rest): (Vec<Finding>, Vec<Finding>) = findings
        .into_iter()
        .partition(|finding| finding.severity == Severity::Error);
    warnings.extend(rest.iter().map(|finding| finding.blocker().message));
    let Some(first) = errors.first() else {
        return Outcome::Passed(warnings);
    };
    let more = match errors.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" ({more} more are not shown)"),
    };
    let reasons = counted(errors.len(), "reason");
    Outcome::Refused(
        Failure::refused(
            first.code,
            format!("this push is refused, for {reasons}{more}"),
        )
        .blockers(errors.iter().take(SHOWN).map(Finding::blocker).collect())
        .help(help),
    )
}

/// Reads `<local ref> <local oid> <remote ref> <remote oid>`. Tags and the loopx branch are nobody's
/// business here.
fn update(line: &str, loopx: &str) -> Option<Update> {
    let mut words = line.split(' ');
    let (local, new, remote, old) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let branch = remote.strip_prefix(HEADS)?;
    let id = |text: &str| {
        Oid::parse(text)
            .ok()
            .filter(|_| text.bytes().any(|b| b != b'0'))
    };
    (branch != loopx).then_some(Update {
        local: local.to_owned(),
        new: id(new),
        branch: branch.to_owned(),
        old: id(old),
    })
}

fn judge(
    ctx: &Context,
    sessions: &Sessions<'_>,
    update: &Update,
    remote: &str,
) -> Result<Vec<Finding>> {
    let repo = &ctx.repo;
    let there = match &update.old {
        Some(old) if repo.contains(old)? => Some(old.clone()),
        _ => tracked(ctx, remote, &update.branch)?,
    };
    let bound = bound(ctx, sessions, update)?;
    // What holds on the other side now, not what is pushed, says whether its branch is protected.
    let base = match (&there, bound.as_ref().and_then(|state| state.base.clone())) {
        (Some(there), _) => Some(there.clone()),
        (None, base) => base,
    };
    let protected = verify::policy_at(ctx, base.as_ref())?.protects(&update.branch);
    let mut findings = Vec::new();
    if protected && let Some(there) = &there {
        findings.extend(set_back(repo, &update.branch, there, update.new.as_ref())?);
    }
    let Some(new) = &update.new else {
        return Ok(findings);
    };
    if bound.is_none() && !protected {
        return Ok(findings);
    }
    let policy = match &bound {
        Some(state) => ctx.policy(state)?,
        None => verify::policy_at(ctx, base.as_ref())?,
    };
    let mut hidden: Vec<Oid> = there.iter().cloned().collect();
    let mut upstream = Vec::new();
    match &bound {
        // What the target has was judged when it took it. Another branch of the remote proves nothing:
        // one that no session is bound to takes everything.
        Some(state) => {
            let target = upstream::target(ctx, state.branch.as_deref(), &policy)?;
            upstream = target.map(|target| target.tips).unwrap_or_default();
            if let Some(start) = &state.base
                && repo.contains(start)?
            {
                hidden.push(start.clone());
            }
        }
        None if there.is_none() => {
            let known = repo.refs_below("refs/remotes/")?;
            hidden.extend(known.into_iter().map(|(_, tip)| tip));
        }
        None => {}
    }
    let span = Span {
        base: there,
        hidden,
        own: !upstream.is_empty(),
        upstream,
        protected,
        receiving: false,
        head: new.clone(),
        branch: Some(update.branch.clone()),
        bound,
    };
    findings.extend(verify::judge(ctx, sessions, span, &policy)?.findings);
    Ok(findings)
}

/// Finds what a push takes away from a protected branch.
pub(super) fn set_back(
    repo: &Repo,
    branch: &str,
    old: &Oid,
    new: Option<&Oid>,
) -> Result<Option<Finding>> {
    let becomes = match new {
        None => "deleted",
        Some(new) if repo.is_ancestor(old, new)? => return Ok(None),
        Some(_) => "rewritten",
    };
    let info = repo.commit_info(old)?;
    Ok(Some(range_rules::set_back(
        branch,
        old,
        info.subject(),
        becomes,
    )))
}

/// The session of a pushed branch: by its name here, else by its name there.
fn bound(ctx: &Context, sessions: &Sessions<'_>, update: &Update) -> Result<Option<Rc<State>>> {
    let here = match update.local.strip_prefix(HEADS) {
        Some(branch) => Some(branch.to_owned()),
        // `HEAD`, `HEAD~0`, an object id: the branch that is checked out, where it stands there.
        None => {
            let head = ctx.repo.head()?;
            head.branch
                .filter(|_| update.new.is_some() && head.commit == update.new)
        }
    };
    for branch in here.iter().chain([&update.branch]) {
        if let Some(state) = sessions.bound_to(branch)?
            && state.is_active()
        {
            return Ok(Some(state));
        }
    }
    Ok(None)
}

/// The commit of a branch of a remote, as of the last fetch. A push to a path or an address has no such ref.
fn tracked(ctx: &Context, remote: &str, branch: &str) -> Result<Option<Oid>> {
    let name = format!("refs/remotes/{remote}/{branch}");
    if !Repo::is_ref_name(&name) {
        return Ok(None);
    }
    ctx.repo.find_ref(&name)
}
