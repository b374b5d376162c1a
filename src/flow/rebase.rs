//! `rebase`: a session gets another base, because the history that had its own was rewritten, or because its branch
//! took in what the target has since.

use super::context::Context;
use super::transaction::{Act, Done, Needs, act_beside};
use super::upstream;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, SessionId};
use loopx_base::trailers;
use loopx_git::{CommitInfo, Repo};
use loopx_rules::lease::seconds_of;
use loopx_rules::op::Event;
use loopx_rules::policy::{FILE as POLICY_FILE, Policy};
use loopx_rules::rebase::{Bases, check};
use loopx_rules::session::State;

/// Result of `rebase`.
#[derive(Debug)]
pub(crate) struct Rebased {
    pub before: Option<Oid>,
    pub base: Oid,
    /// Commits up to the new base that were made since the session began, where its base was gone: no review sees them.
    pub below: usize,
}

/// Records another commit as the one that the session starts from.
pub(crate) fn rebase(ctx: &Context, onto: &str, reason: Option<String>) -> Result<Done<Rebased>> {
    let repo = &ctx.repo;
    if reason.is_none() {
        return Err(
            Failure::usage(Code::ReasonRequired, "another base needs a reason")
                .help(command!("rebase --onto {onto} --reason WHY")),
        );
    }
    let onto = repo.resolve_commit(onto)?;
    // A session that pins a broken policy could go nowhere.
    let label = format!("{POLICY_FILE} at {}", onto.short());
    ctx.policy_at(&repo.commit_info(&onto)?.tree, &label)?;
    act_beside(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        let head = head(ctx, state)?;
        let within = |commit: &Oid| match &head {
            Some(head) => repo.is_ancestor(commit, head),
            None => Ok(true),
        };
        let stands = match &state.base {
            Some(base) => repo.contains(base)? && within(base)?,
            None => false,
        };
        if !stands && repo.is_shallow() {
            return Err(beyond(state));
        }
        let own = own_before(repo, state, &onto)?;
        let target = upstream::target(ctx, state.branch.as_deref(), &facts.policy)?;
        let mut is_newer_on_target = false;
        if let (true, Some(base)) = (stands, &state.base) {
            for tip in target.iter().flat_map(|target| &target.tips) {
                is_newer_on_target |=
                    repo.is_ancestor(&onto, tip)? && repo.is_ancestor(base, &onto)?;
            }
        }
        check(&Bases {
            session: &state.id,
            branch: state.branch.as_deref(),
            recorded: state.base.as_ref(),
            stands,
            onto: &onto,
            is_in_history: within(&onto)?,
            is_newer_on_target,
            own: own.named.as_ref(),
        })
        .map_err(|failure| match &state.branch {
            // A merge needs a worktree.
            Some(branch) if ctx.repo.work_dir().is_none() && is_newer_on_target => {
                failure.help(format!(
                    "git worktree add ../work {}  (and there: git merge {})",
                    loopx_base::shell_word(branch),
                    onto.short()
                ))
            }
            _ => failure,
        })?;
        let event = Event::Rebased { base: onto.clone() };
        let rebased = Rebased {
            before: state.base.clone(),
            base: onto.clone(),
            below: if stands { 0 } else { own.later },
        };
        let what = format!("rebase onto {}", onto.short());
        Ok(Act::new(event, what, rebased).reason(reason.clone()))
    })
}

/// The commit that a session's branch is at, or HEAD where none is bound.
fn head(ctx: &Context, state: &State) -> Result<Option<Oid>> {
    match &state.branch {
        Some(_) => upstream::bound_head(ctx, state),
        None => Ok(ctx.repo.head()?.commit),
    }
}

/// Refusal to choose a base where the history ends too early: the commits of the session may be all that there is.
fn beyond(state: &State) -> Failure {
    let base = state.base.as_ref().map_or("nothing", Oid::short);
    Failure::not_found(
        Code::HistoryShallow,
        format!(
            "session {} starts from {base}, which this shallow clone may not have fetched: no other base can be judged here",
            state.id
        ),
    )
    .help(Hint::git("fetch --unshallow"))
}

/// The commits up to a new base that look like the session's own.
struct Own {
    /// The oldest one that names the session.
    named: Option<Oid>,
    /// Number of those that were made since the session began.
    later: usize,
}

fn own_before(repo: &Repo, state: &State, commit: &Oid) -> Result<Own> {
    let mut own = Own {
        named: None,
        later: 0,
    };
    for commit in repo.range(commit, &[], usize::MAX)? {
        let info = repo.commit_info(&commit)?;
        own.later += usize::from(is_later(&info, state));
        if names(&info, &state.id) {
            own.named = Some(commit);
        }
    }
    Ok(own)
}

/// Tells whether a commit was made after the session began.
fn is_later(info: &CommitInfo, state: &State) -> bool {
    let [made, began] = [&info.authored, &state.started.at].map(|at| seconds_of(at));
    made.zip(began).is_some_and(|(made, began)| made > began)
}

fn names(info: &CommitInfo, id: &SessionId) -> bool {
    let message = &info.message;
    // Most say nothing of any session.
    message.contains(trailers::SESSION)
        && trailers::links(message.as_bytes(), b"#")
            .sessions
            .iter()
            .any(|session| session == id.as_str())
}

/// Commits that are looked at for a base.
const LOOKED_AT: usize = 1_000;

/// A commit that can become the base: where the branch left its target, else the newest that was made before
/// the session began, and before its own commits; else the oldest. A shallow clone has none: what it has of the history
/// may be the session's own.
pub(crate) fn suggest(ctx: &Context, state: &State, policy: &Policy) -> Result<Option<Oid>> {
    let repo = &ctx.repo;
    if repo.is_shallow() {
        return Ok(None);
    }
    // A branch that is gone is said elsewhere, by whoever asks for it.
    let head = match &state.branch {
        Some(branch) => upstream::tip_here(repo, branch)?,
        None => repo.head()?.commit,
    };
    let Some(head) = head else {
        return Ok(None);
    };
    let target = upstream::target(ctx, state.branch.as_deref(), policy)?;
    for tip in target.iter().flat_map(|target| &target.tips) {
        if let Some(base) = repo.merge_base(tip, &head)?
            && base != head
        {
            return Ok(Some(base));
        }
    }
    let all = repo.range(&head, &[], LOOKED_AT)?;
    let mut after_own = 0;
    for (at, commit) in all.iter().enumerate() {
        let info = repo.commit_info(commit)?;
        if names(&info, &state.id) || is_later(&info, state) {
            after_own = at + 1;
        }
    }
    Ok(all.get(after_own).or(all.last()).cloned())
}
