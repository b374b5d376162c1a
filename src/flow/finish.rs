//! `finish`: takes a session as far as policy lets this person take it, up to the archive. Each step is the step that its
//! own command makes, with the same gate and the same record; nothing here opens one.

use super::approve::{self, Ends};
use super::archive::{self, Archived, Mode, Request, Waivers};
use super::context::Context;
use super::issue;
use super::issue::sessions::ToResolve;
use super::policy_moved::{self, PolicyMoved};
use super::review::{self, ReviewRequest, VerdictRequest};
use super::{bound_here, checks, files, naming, stages, transaction, verify};
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::commit_policy;
use loopx_rules::contract::Bounds;
use loopx_rules::gate;
use loopx_rules::gate::{AuditItem, CodeFacts, FileState, Proof};
use loopx_rules::next;
use loopx_rules::op::{CodeVerdict, Smell};
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::task::debt::{Debt, debt};
use serde::Serialize;
use std::collections::BTreeMap;

/// The content that is about to be approved.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Preview {
    pub session: SessionId,
    pub stage: Stage,
    /// The commits from which and to which the session's commits go.
    pub base: Option<Oid>,
    pub head: Option<Oid>,
    pub commits: usize,
    pub files: Vec<String>,
    /// The files that the plan's scope does not have.
    pub outside: Vec<String>,
    /// Commits that no state of the session allowed: they do not land as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bypassed: Vec<Bypassed>,
    pub checks_passed: usize,
    pub checks_waived: usize,
    /// The number of checks that a person looked at, because no command proves them.
    pub checks_looked: usize,
    pub checks: usize,
    /// Checks that a person's word proves.
    pub by_word: Vec<AuditItem>,
    /// The policy by which the target judges the code, where that is another than the gates ask.
    pub policy_moved: Option<PolicyMoved>,
    /// The content that is approved: the code tree, and the artifacts.
    pub code: Option<Oid>,
    pub artifacts: BTreeMap<Artifact, Oid>,
    /// The issues that the archive resolves.
    pub issues: Vec<ToResolve>,
    /// Things that the completed tasks of the session left undone.
    pub left: Vec<Debt>,
}

/// A commit past the hooks, as `verify` names it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Bypassed {
    pub commit: Oid,
    pub why: String,
    #[serde(skip)]
    pub help: Hint,
}

impl Bypassed {
    /// The commit, what is wrong with it, and the way on.
    pub(crate) fn words(&self) -> String {
        format!("{}: {}; {}", self.commit.short(), self.why, self.help)
    }
}

/// The steps of `finish` that were done.
#[derive(Debug)]
pub(crate) struct Finished {
    pub id: SessionId,
    pub state: State,
    /// Each step in words, in order.
    pub steps: Vec<String>,
    /// The reviewer took part in what was reviewed.
    pub self_reviewed: bool,
    pub archived: Option<Archived>,
    /// The reason why `finish` went no further.
    pub stopped: Option<Failure>,
}

/// The options of `finish`.
#[derive(Clone, Debug, Default)]
pub(crate) struct FinishRequest {
    pub onto: Option<String>,
    pub reason: Option<String>,
    pub sign: bool,
}

/// Shows what `finish` is about to approve. Refused where its first step would be.
pub(crate) fn preview(ctx: &Context, request: &FinishRequest) -> Result<Preview> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = transaction::require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = transaction::gather_here(ctx, &snapshot, &session, transaction::Needs::Stage)?;
    facts.require_person("an approval")?;
    let (state, gates) = (&facts.state, facts.view());
    require_code_of(ctx, state)?;
    let forward = Transition::ALL.into_iter().find(|one| {
        one.from() == state.stage && one.is_forward() && *one != Transition::ReviewToDone
    });
    // In review nothing can be committed, and a review covers what is.
    let is_near = matches!(state.stage, Stage::Build | Stage::Review);
    if let Some(code) = facts.code.as_ref().filter(|code| is_near && code.is_dirty) {
        let files: Vec<&str> = code
            .uncommitted
            .iter()
            .map(|one| one.path.as_str())
            .collect();
        return Err(Failure::refused(
            Code::WorktreeDirty,
            format!("not committed yet: {}", files.join(", ")),
        )
        .help(commits(ctx, code)));
    }
    if let Some(transition) = forward {
        let blockers = gate::blockers(gates, transition);
        if !blockers.is_empty() {
            // What is edited here may have no blob yet.
            checks::require_list(ctx, &session.state, &facts.policy)?;
            return Err(gate::not_ready(transition, blockers));
        }
    }
    require_no_finding(gates)?;
    let shown = match state.stage {
        Stage::Build | Stage::Review => review::shown(ctx, &facts)?,
        _ => review::Shown::default(),
    };
    let files = shown.files;
    require_scope(state, &facts.policy, &files)?;
    if state.stage == Stage::Build {
        require_code(request, &files)?;
    }
    let audit = gate::audit(gates).into_iter();
    // What is done was proven when it was approved, and before the build no code is there to prove.
    let is_judged = |item: &gate::AuditItem| item.is_check() && is_near;
    let checks: Vec<_> = audit.filter(is_judged).collect();
    let count = |proof: Proof| checks.iter().filter(|item| item.proof == proof).count();
    Ok(Preview {
        session: state.id.clone(),
        issues: issue::sessions::of_session(&snapshot, &state.issues)?,
        left: debt(state),
        stage: state.stage,
        base: shown.base,
        head: shown.head,
        commits: shown.commits,
        outside: outside(state, &facts.policy, &files)?,
        bypassed: bypassed(ctx, state)?,
        files,
        checks_passed: count(Proof::Passed),
        checks_waived: count(Proof::Waived),
        checks_looked: count(Proof::Looked),
        checks: checks.len(),
        policy_moved: policy_moved::of(ctx, &snapshot, &session, &facts.policy)?,
        by_word: checks
            .into_iter()
            .filter(|item| item.word.is_some())
            .collect(),
        code: facts.code.as_ref().map(|code| code.tree.clone()),
        artifacts: state.artifacts.clone(),
    })
}

/// Commits of the bound branch that `verify` refuses because no state of the session allowed them.
pub(super) fn bypassed(ctx: &Context, state: &State) -> Result<Vec<Bypassed>> {
    if state.stage < Stage::Build || state.branch.is_none() {
        return Ok(Vec::new());
    }
    let request = verify::Request {
        session: Some(state.id.clone()),
        ..verify::Request::default()
    };
    // What cannot be judged here is refused where it lands.
    let Ok(report) = verify::verify(ctx, &request) else {
        return Ok(Vec::new());
    };
    let errors = report.errors();
    let errors = errors.filter(|one| one.code == Code::CommitWithoutState);
    let bypassed = errors.map(|one| Bypassed {
        commit: one.commit.clone(),
        why: one.message.clone(),
        help: one.help.clone(),
    });
    Ok(bypassed.collect())
}

/// Refuses a build in which no file differs, and nobody says why.
fn require_code(request: &FinishRequest, files: &[String]) -> Result<()> {
    if !files.is_empty() || request.reason.is_some() {
        return Ok(());
    }
    let again = if loopx_base::env::has_terminal() {
        command!("finish --reason WHY")
    } else {
        command!("finish --yes --reason WHY")
    };
    Err(no_code(again))
}

/// The refusal of a build in which no file differs; the command says why.
pub(super) fn no_code(again: Hint) -> Failure {
    Failure::refused(
        Code::ReviewEmpty,
        "expected a commit of code to review, found no file that differs from where the review begins",
    )
    .help(hint![
        "write the code, and commit it; where no code changes: ",
        again
    ])
}

/// Refuses a build in which no file differs, in a session that came to the build on the way: nothing was shown of its
/// code.
fn require_code_in(ctx: &Context, request: &FinishRequest, id: &SessionId) -> Result<()> {
    let snapshot = ctx.store()?.snapshot()?;
    let session = naming::load(&snapshot, id)?;
    let facts = transaction::gather_here(ctx, &snapshot, &session, transaction::Needs::Stage)?;
    require_code(request, &review::shown(ctx, &facts)?.files)
}

/// Refuses a finding that nobody answered: what is done was approved beside it.
fn require_no_finding(view: gate::View<'_>) -> Result<()> {
    if view.state.stage == Stage::Done {
        return Ok(());
    }
    let open = gate::open_now(view);
    let Some(first) = open.first() else {
        return Ok(());
    };
    let help = first.help.clone();
    let held = open.iter().map(|one| {
        let message = format!("finding {} is open", one.words());
        Blocker::new(Code::FindingOpen, message, one.help.clone())
    });
    Err(Failure::refused(
        Code::FindingOpen,
        format!("{} not answered", is_or_are(open.len(), "finding")),
    )
    .blockers(held.collect())
    .help(help))
}

fn is_or_are(n: usize, what: &str) -> String {
    let verb = if n == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(n, what))
}

/// The files that the scope of the plan does not have.
fn outside(state: &State, policy: &Policy, files: &[String]) -> Result<Vec<String>> {
    if state.boundary().is_open() {
        return Ok(Vec::new());
    }
    let (bounds, results) = (Bounds::new(state.boundary(), policy)?, policy.results()?);
    let is_outside = |path: &&String| !bounds.has(path, results.matches(path));
    Ok(files.iter().filter(is_outside).cloned().collect())
}

/// Refuses files that the landing would refuse: nothing is approved that cannot land.
fn require_scope(state: &State, policy: &Policy, files: &[String]) -> Result<()> {
    match out_of_scope(state, policy, files)? {
        Some(held) => Err(Failure::refused(held.code, held.message).help(held.help)),
        None => Ok(()),
    }
}

/// The refusal of files that the plan does not take and policy holds it to.
pub(super) fn out_of_scope(
    state: &State,
    policy: &Policy,
    files: &[String],
) -> Result<Option<Blocker>> {
    let paths = commit_policy::out_of_scope(state, policy, files)?;
    if paths.is_empty() {
        return Ok(None);
    }
    let message = format!(
        "{}: outside the scope that the plan declares, which policy refuses",
        commit_policy::some(&paths)
    );
    let help = command!("plan --reason WHY").session(&state.id);
    Ok(Some(Blocker::new(Code::OutOfScope, message, help)))
}

/// A number of steps that is greater than any session has.
const MOST_STEPS: usize = 12;

/// Goes on until the session is archived, or somebody else has to.
pub(crate) fn finish(ctx: &Context, request: &FinishRequest) -> Result<Finished> {
    let store = ctx.store()?;
    let state = transaction::require_active(ctx.session_to_change(&store.snapshot()?)?)?.state;
    let mut done = Finished {
        id: state.id.clone(),
        state,
        steps: Vec::new(),
        self_reviewed: false,
        archived: None,
        stopped: None,
    };
    for _ in 0..MOST_STEPS {
        match step(ctx, request, &mut done) {
            Ok(true) => {}
            Ok(false) => return Ok(done),
            Err(failure) if done.steps.is_empty() => return Err(as_waiting(failure)),
            Err(failure) => {
                done.stopped = Some(as_waiting(failure));
                return Ok(done);
            }
        }
    }
    Ok(done)
}

/// Refuses to judge the code of another branch: from the build on, what is approved is the code that is checked out.
fn require_code_of(ctx: &Context, state: &State) -> Result<()> {
    match state.stage {
        Stage::Build | Stage::Review => bound_here::require_branch(ctx, state),
        Stage::Clarify | Stage::Plan | Stage::Done => Ok(()),
    }
}

/// Takes one step; tells whether there may be another one.
fn step(ctx: &Context, request: &FinishRequest, done: &mut Finished) -> Result<bool> {
    require_code_of(ctx, &done.state)?;
    match done.state.stage {
        Stage::Clarify => {
            let entered = entered(ctx, request, done, Stage::Plan, || {
                stages::plan(ctx, request.reason.clone(), &stages::Written::default())
            })?;
            let Some(entered) = entered else {
                return Ok(false);
            };
            done.state = entered.state;
            done.steps.push("in stage plan".to_owned());
        }
        Stage::Plan => {
            let build = stages::BuildRequest {
                reason: request.reason.clone(),
                ..stages::BuildRequest::default()
            };
            let entered = entered(ctx, request, done, Stage::Build, || {
                stages::build(ctx, &build)
            })?;
            let Some(entered) = entered else {
                return Ok(false);
            };
            done.state = entered.state;
            done.steps.push("in stage build".to_owned());
        }
        Stage::Build => {
            require_code_in(ctx, request, &done.state.id)?;
            let entered = entered(ctx, request, done, Stage::Review, || {
                review::review(ctx, &verdict(request, None))
            })?;
            let Some(entered) = entered else {
                return Ok(false);
            };
            done.state = entered.state;
            done.steps.push("in stage review".to_owned());
        }
        Stage::Review => {
            require_no_task(ctx, &done.id)?;
            reviewed(ctx, request, done)?;
            if !approve(ctx, request, done, Stage::Done)? {
                return Ok(false);
            }
        }
        Stage::Done => {
            archived(ctx, request, done)?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses a review beside its own open tasks: a verdict comes when they are done.
fn require_no_task(ctx: &Context, id: &SessionId) -> Result<()> {
    let snapshot = ctx.store()?.snapshot()?;
    let session = naming::load(&snapshot, id)?;
    let facts = transaction::gather_here(ctx, &snapshot, &session, transaction::Needs::Stage)?;
    let open = gate::open_tasks(facts.view(), Stage::Review);
    if open.is_empty() {
        return Ok(());
    }
    Err(gate::not_ready(Transition::ReviewToDone, open))
}

/// Reviews what nobody has reviewed as it is now.
fn reviewed(ctx: &Context, request: &FinishRequest, done: &mut Finished) -> Result<()> {
    let given = done.state.verdict.as_ref();
    if let Some(verdict) = given {
        if !verdict.value.is_approval() {
            return Err(Failure::refused(
                Code::ReviewVerdictRequestChanges,
                format!("the review of {} asks for changes", verdict.signed.by.name),
            )
            .help(command!("status")));
        }
        done.self_reviewed = !verdict.value.dependence.is_empty();
        return Ok(());
    }
    let reviewed = review::review(ctx, &verdict(request, Some(())))?;
    let told = reviewed.value.verdict.as_ref();
    done.self_reviewed = told.is_some_and(|verdict| !verdict.dependence.is_empty());
    done.state = reviewed.state;
    let step = if done.self_reviewed {
        "self-reviewed"
    } else {
        "reviewed"
    };
    done.steps.push(step.to_owned());
    Ok(())
}

/// Archives the session.
fn archived(ctx: &Context, request: &FinishRequest, done: &mut Finished) -> Result<()> {
    let waivers = Waivers::default();
    let names = [done.id.to_string()];
    let asked = Request {
        names: &names,
        onto: request.onto.as_deref(),
        mode: Mode::Merge,
        waivers: &waivers,
    };
    if let archive::Done::Archived(mut all) = archive::archive(ctx, &asked)? {
        done.archived = all.pop();
    }
    let target = done.archived.as_ref().map_or("", |one| one.target.as_str());
    done.steps.push(format!("archived on {target}"));
    Ok(())
}

/// Enters a stage, approved first where nobody has approved it as it is now: whoever finishes was shown what is there.
/// Nothing where more people have to approve it.
fn entered<T>(
    ctx: &Context,
    request: &FinishRequest,
    done: &mut Finished,
    to: Stage,
    enter: impl Fn() -> Result<T>,
) -> Result<Option<T>> {
    let was_armed = is_armed(&done.state, Transition::between(done.state.stage, to));
    if !was_armed && !approve(ctx, request, done, to)? {
        return Ok(None);
    }
    match enter() {
        Err(failure) if was_armed && is_stale(&failure) => {
            if approve(ctx, request, done, to)? {
                enter().map(Some)
            } else {
                Ok(None)
            }
        }
        entered => entered.map(Some),
    }
}

/// The command of git that leads to a commit of everything: none while sides are to be chosen between.
pub(super) fn commits(ctx: &Context, code: &CodeFacts) -> Hint {
    let has = |state: FileState| code.uncommitted.iter().any(|one| one.state == state);
    if has(FileState::Unmerged) || ctx.repo.sequence().is_some() {
        return Hint::git("status");
    }
    let top = ctx.repo.work_dir();
    let secrets = top.map_or_else(Vec::new, |top| super::next::secrets(top, &code.uncommitted));
    let worktree = next::Worktree {
        uncommitted: code.uncommitted.clone(),
        secrets,
        below: top.and_then(files::below),
        ..next::Worktree::default()
    };
    next::committing(&worktree).into_hint()
}

/// Tells whether a transition is held by nothing but an approval of other content.
fn is_stale(failure: &Failure) -> bool {
    let mut blockers = failure.blockers.iter();
    !failure.blockers.is_empty() && blockers.all(|one| one.code == Code::ApprovalStale)
}

fn is_armed(state: &State, transition: Option<Transition>) -> bool {
    transition.is_some_and(|transition| state.armed(transition).is_some())
}

/// Approves the move to a stage; whether enough people have.
fn approve(ctx: &Context, request: &FinishRequest, done: &mut Finished, to: Stage) -> Result<bool> {
    let (reason, sign) = (request.reason.clone(), request.sign);
    let ends = Ends {
        from: None,
        to: Some(to),
    };
    let given = approve::approve(ctx, ends, reason, sign)?;
    done.state = given.state;
    let approved = &given.value;
    let is_enough = approved.people >= approved.required;
    done.steps.push(if is_enough {
        format!("approved {}", approved.transition)
    } else {
        format!(
            "approved {} by {} of {} people",
            approved.transition, approved.people, approved.required
        )
    });
    if !is_enough {
        done.stopped = Some(
            Failure::waiting(
                Code::SomebodyElse,
                format!(
                    "{} needs {} people, and {} approved",
                    approved.transition, approved.required, approved.people
                ),
            )
            .help("let another person approve it"),
        );
    }
    Ok(is_enough)
}

fn verdict(request: &FinishRequest, given: Option<()>) -> ReviewRequest {
    ReviewRequest {
        verdict: given.map(|()| VerdictRequest {
            verdict: CodeVerdict::Approve,
            target: None,
            architecture: Smell::Pass,
            architecture_target: None,
            findings: Vec::new(),
        }),
        allow_uncommitted: false,
        reason: request.reason.clone(),
        sign: request.sign,
    }
}

/// Turns the refusal of a step that only somebody else can take into a wait: the session waits.
fn as_waiting(failure: Failure) -> Failure {
    let mut blockers = failure.blockers.iter();
    let waits =
        failure.code.is_of_somebody_else() || blockers.any(|one| one.code.is_of_somebody_else());
    if !waits {
        return failure;
    }
    let found = Failure::waiting(Code::SomebodyElse, failure.message).blockers(failure.blockers);
    match failure.help {
        Some(help) => found.help(help),
        None => found,
    }
}
