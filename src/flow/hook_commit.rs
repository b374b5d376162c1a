//! pre-commit and commit-msg: what is staged against what the session of the branch allows.
//!
//! commit-msg has the last word: the index that its environment names is the tree of the commit, also
//! where a formatter staged something after pre-commit. A repository without sessions is left after
//! one look at one ref.

use super::context::Context;
use super::hook::Outcome;
use super::point::under_way;
use super::{hook_tasks, journal, next, specs};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_base::trailers;
use loopx_git::{CommitInfo, Head};
use loopx_rules::commit_policy;
use loopx_rules::commit_policy::Rules;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_store::{Snapshot, Store};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// A commit in the making, on the branch of an active session.
struct Making {
    state: State,
    /// The session commit that decides.
    tip: Oid,
    head: Head,
    /// The paths that the commit changes against HEAD.
    paths: Vec<String>,
}

/// The commit in the making before it is judged, or the reason why no commit is judged.
enum Found {
    NotOurs,
    /// HEAD's branch was renamed, and a session is bound to the name that it had: so that its gates do not hold.
    Renamed(String),
    /// HEAD is on the loopx branch itself.
    LoopxBranch,
    /// Several sessions are bound to the branch.
    Shared(Failure),
    Making(Box<Making>),
}

/// pre-commit: refuses early, before anybody writes a message. Reads only.
pub(crate) fn pre_commit(ctx: &Context, store: &Store<'_>, tip: Option<Oid>) -> Result<Outcome> {
    let Some(tip) = tip else {
        return Ok(Outcome::Passed(Vec::new()));
    };
    let head = ctx.repo.head()?;
    if let Some(left) = left_behind(ctx, &head) {
        return Ok(Outcome::Refused(left));
    }
    match find(ctx, store, tip, head)? {
        // commit-msg comes next and says it once.
        Found::NotOurs | Found::Renamed(_) => Ok(Outcome::Passed(Vec::new())),
        Found::LoopxBranch => Ok(Outcome::Refused(on_loopx_branch(store))),
        Found::Shared(failure) => Ok(Outcome::Refused(failure)),
        Found::Making(making) => {
            let policy = ctx.policy(&making.state)?;
            Ok(match judge(ctx, &making, &policy)? {
                Outcome::Passed(_) => Outcome::Passed(Vec::new()),
                refused => refused,
            })
        }
    }
}

/// commit-msg: the same judgement of the final tree, then the trailers that link the commit to what
/// allowed it.
pub(crate) fn commit_msg(
    ctx: &Context,
    store: &Store<'_>,
    tip: Option<Oid>,
    args: &[OsString],
) -> Result<Outcome> {
    let has_sessions = tip.is_some();
    let mut outcome = judged(ctx, store, tip, args)?;
    if let Outcome::Passed(warnings) = &mut outcome
        && has_sessions
    {
        warnings.extend(specs::worktree_fault(ctx));
    }
    Ok(outcome)
}

fn judged(
    ctx: &Context,
    store: &Store<'_>,
    tip: Option<Oid>,
    args: &[OsString],
) -> Result<Outcome> {
    let Some(tip) = tip else {
        return Ok(Outcome::Passed(Vec::new()));
    };
    let making = match find(ctx, store, tip, ctx.repo.head()?)? {
        Found::NotOurs => return Ok(Outcome::Passed(Vec::new())),
        Found::Renamed(warning) => return Ok(Outcome::Passed(vec![warning])),
        Found::LoopxBranch => return Ok(Outcome::Refused(on_loopx_branch(store))),
        Found::Shared(failure) => return Ok(Outcome::Refused(failure)),
        Found::Making(making) => making,
    };
    let policy = ctx.policy(&making.state)?;
    let outcome = judge(ctx, &making, &policy)?;
    if let (Outcome::Passed(_), Some(file)) = (&outcome, args.first()) {
        link(ctx, &making, &policy, Path::new(file))?;
    }
    Ok(outcome)
}

/// `tip` is the commit of the branch of sessions.
fn find(ctx: &Context, store: &Store<'_>, tip: Oid, head: Head) -> Result<Found> {
    let repo = &ctx.repo;
    let Some(branch) = &head.branch else {
        return Ok(Found::NotOurs);
    };
    if repo.is_sequencing()? {
        return Ok(Found::NotOurs);
    }
    let snapshot = match Snapshot::at(repo, tip.clone(), store.branch()) {
        Ok(snapshot) => snapshot,
        // A branch of that name that somebody else made: nothing of it is ours.
        Err(failure) if failure.code == Code::BranchForeign => return Ok(Found::NotOurs),
        Err(failure) => return Err(failure),
    };
    if branch == store.branch() {
        return Ok(Found::LoopxBranch);
    }
    let id = match snapshot.sole_bound_to(branch) {
        Ok(Some(id)) => id,
        Ok(None) => {
            let renamed = renamed(ctx, &snapshot, branch)?;
            return Ok(renamed.map_or(Found::NotOurs, Found::Renamed));
        }
        Err(failure) if failure.code == Code::BranchShared => return Ok(Found::Shared(failure)),
        Err(failure) => return Err(failure),
    };
    // An archived session binds nothing any more, so only the active ones are looked at.
    let state = match snapshot.session(&id)? {
        Some(session) if session.state.is_active() => session.state,
        _ => return Ok(Found::NotOurs),
    };
    let tree = match &head.commit {
        Some(commit) => Some(repo.commit_info(commit)?.tree),
        None => None,
    };
    let paths = repo.staged_paths(tree.as_ref())?;
    Ok(Found::Making(Box::new(Making {
        state,
        tip,
        head,
        paths,
    })))
}

/// The warning where this branch was renamed, and the session stayed bound to a name that is no branch any more.
fn renamed(ctx: &Context, snapshot: &Snapshot<'_>, branch: &str) -> Result<Option<String>> {
    for former in ctx.repo.former_names(branch) {
        let Some(id) = snapshot.sole_bound_to(&former).ok().flatten() else {
            continue;
        };
        if ctx
            .repo
            .find_ref(&format!("refs/heads/{former}"))?
            .is_some()
        {
            continue;
        }
        return Ok(Some(format!(
            "branch `{branch}` was renamed from `{former}`, the branch of session {id}; the hooks check no commit here until you run: {}",
            command!("use {id} --branch {}", shell_word(branch))
        )));
    }
    Ok(None)
}

/// The refusal where a killed command left index and files of before, or of a way back: the commit would have them.
fn left_behind(ctx: &Context, head: &Head) -> Option<Failure> {
    let left = under_way::unfinished(&ctx.repo).or_else(|| {
        let (branch, commit) = head.branch.as_ref().zip(head.commit.as_ref())?;
        journal::not_followed(&ctx.repo, branch, commit)
    })?;
    Some(Failure::refused(Code::LandingUnfinished, left).help(command!("doctor --fix")))
}

fn judge(ctx: &Context, making: &Making, policy: &Policy) -> Result<Outcome> {
    if making.paths.is_empty() {
        return Ok(Outcome::Passed(Vec::new()));
    }
    let offences = Rules::new(&making.state, policy)?.judge(&making.paths);
    let is_refused = offences.iter().any(|offence| offence.refused);
    let lead = if is_refused && making.state.stage < Stage::Build {
        next::after(ctx, &making.state.id)
    } else {
        None
    };
    let lead = lead.as_ref().and_then(|lead| lead.command());
    if let Some(failure) = commit_policy::refusal(&making.state, &offences, lead) {
        return Ok(Outcome::Refused(failure));
    }
    let mut outcome = hook_tasks::judge(ctx, &making.state, policy, &making.paths)?;
    if let Outcome::Passed(warnings) = &mut outcome {
        let said = offences.iter();
        warnings.extend(
            said.map(|offence| format!("session {}: {}", making.state.id, offence.sentence())),
        );
    }
    Ok(outcome)
}

fn on_loopx_branch(store: &Store<'_>) -> Failure {
    Failure::refused(
        Code::BranchCheckedOut,
        format!(
            "`{}` is the branch that keeps sessions: a commit by hand would revert sessions",
            store.branch()
        ),
    )
    .help("git switch -  (where this worktree had no branch before: git switch --detach; to bypass: git commit --no-verify, or LOOPX=0)")
}

/// Writes the trailers into the message that git is about to use.
fn link(ctx: &Context, making: &Making, policy: &Policy, file: &Path) -> Result<()> {
    let failed = |doing: &str, error: std::io::Error| {
        Failure::internal(
            Code::MessageUnreadable,
            format!("{doing} the message: {error}"),
        )
    };
    let message = fs::read(file).map_err(|error| failed("read", error))?;
    let comment = ctx.repo.comment_prefix(&message);
    let template = ctx.repo.config_path("commit.template");
    if let Some(template) = template.and_then(|file| fs::read(file).ok())
        && trailers::is_untouched(&message, &template, &comment)
    {
        return Ok(());
    }
    let session = making.state.id.as_str();
    let head = match &making.head.commit {
        Some(commit) => Some(ctx.repo.commit_info(commit)?),
        None => None,
    };
    // States that were named before: by the message that is written again, or by HEAD.
    let earlier = |text: &[u8], comment: &[u8]| {
        let links = trailers::links(text, comment);
        let ours = links.sessions == [session];
        links.states.into_iter().next_back().filter(|_| ours)
    };
    let state = match earlier(&message, &comment) {
        Some(earlier) if !covers(ctx, making, policy, head.as_ref())? => earlier,
        Some(_) => making.tip.to_string(),
        None if making.paths.is_empty() => {
            // Nothing changed: a new message for HEAD, whose link must stay, or an empty commit.
            let state = head.and_then(|head| earlier(head.message.as_bytes(), b"#"));
            let Some(state) = state else {
                return Ok(());
            };
            state
        }
        None => making.tip.to_string(),
    };
    let placed = trailers::place(&message, &comment, session, &state);
    let work = work(ctx, making)?;
    let work: Vec<(&str, &str)> = work
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    let text = placed.as_ref().unwrap_or(&message);
    if let Some(text) = trailers::place_work(text, &comment, &work).or(placed) {
        fs::write(file, text).map_err(|error| failed("write", error))?;
    }
    Ok(())
}

/// The trailers of what a commit is work for: the issues of its session, and the solutions that are bound to them.
fn work(ctx: &Context, making: &Making) -> Result<Vec<(&'static str, String)>> {
    let issues = &making.state.issues;
    let mut work: Vec<(&'static str, String)> = Vec::new();
    work.extend(
        issues
            .iter()
            .map(|issue| (trailers::ISSUE, issue.to_string())),
    );
    if issues.is_empty() {
        return Ok(work);
    }
    let store = ctx.store()?;
    let snapshot = Snapshot::at(&ctx.repo, making.tip.clone(), store.branch())?;
    for id in issues {
        // An issue that is not here, or cannot be read, stops no commit.
        let read = snapshot.issue(id).ok().flatten();
        if let Some(bound) = read.and_then(|read| read.issue.bound) {
            let name = loopx_store::one_line(&bound.name);
            work.push((trailers::SOLUTION, format!("{id}/{name}")));
        }
    }
    Ok(work)
}

/// Tells whether the present state allows all changes of a commit that may replace HEAD. git does
/// not tell a hook that it amends, but then the message has HEAD's trailers; what was allowed in
/// build must not be claimed of a later stage that would refuse it.
fn covers(
    ctx: &Context,
    making: &Making,
    policy: &Policy,
    head: Option<&CommitInfo>,
) -> Result<bool> {
    let repo = &ctx.repo;
    let before = match head.and_then(|head| head.parents.first()) {
        Some(parent) => Some(repo.commit_info(parent)?.tree),
        None => None,
    };
    let paths = repo.staged_paths(before.as_ref())?;
    let offences = Rules::new(&making.state, policy)?.judge(&paths);
    Ok(!making.paths.is_empty() && offences.iter().all(|offence| !offence.refused))
}
