//! Reading: status, list, show, log, diff. Nothing here writes.

use super::context::Context;
use super::finish::{self, Bypassed};
use super::journal;
use super::landed::{self, Landed};
use super::lease::{self, ClaimView};
use super::next::{self, Look};
use super::outline::{self, Question};
use super::point::under_way;
use super::policy_moved::{self, PolicyMoved};
use super::rules::{self, RulesMoved};
use super::sign;
use super::specs;
use super::task::{self, Tally, TaskApart, TaskTaken};
use super::transaction::Facts;
use super::upstream;
use super::workcopy::{self, FileStatus, Peek};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack::{Graph, NodeStatus};
use loopx_rules::gate;
use loopx_rules::gate::{AuditItem, Claim, FindingView, GateView, Taken, Uncommitted, View};
use loopx_rules::lease::Worktrees;
use loopx_rules::next::{Advised, Behind, Distance, Sequence, Waits};
use loopx_rules::op::Operation;
use loopx_rules::profile::ProfileName;
use loopx_rules::replay::undone;
use loopx_rules::review::Judgement;
use loopx_rules::session::{BuildBlock, Ending, Stamped, State, Void};
use loopx_rules::signature::{Basis, Checked, Signatures, role};
use loopx_rules::stage::{ApprovalKey, Stage};
use loopx_rules::stop::Parked;
use loopx_rules::task::debt::{Debt, debt};
use loopx_store::{Session, Snapshot};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Status of a session, as `status` shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    pub session: SessionId,
    pub title: String,
    pub stage: Stage,
    pub ending: Option<Ending>,
    /// State of an archived session's result on the branch that it is meant for; nothing where that is not known.
    pub landed: Option<Landed>,
    pub profile: ProfileName,
    pub branch: Option<String>,
    pub base: Option<Oid>,
    /// The session commit that this is read from.
    pub commit: Oid,
    pub gates: Vec<GateView>,
    pub approvals: BTreeMap<ApprovalKey, &'static str>,
    /// Approvals that count for nothing: the session has not what they name.
    pub void: Vec<Void>,
    /// Signed words that somebody took back, or brought back.
    pub taken: Vec<Taken>,
    /// Blockers between this stage and the next.
    pub blockers: Vec<Blocker>,
    pub evidence_chain: Vec<Claim>,
    pub audit: Vec<AuditItem>,
    /// The command that ran last on the present code, where it failed.
    #[serde(skip)]
    pub failed: Vec<String>,
    pub review: Option<ReviewView>,
    /// Findings, answered or not.
    pub findings: Vec<FindingView>,
    /// Statements of the request that the gates will ask for, and that the plan cites nowhere yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_cited: Vec<String>,
    pub rounds: Rounds,
    /// Claim of the build.
    pub claim: Option<ClaimView>,
    /// Tasks that somebody has, with who; nothing where nobody has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskTaken>,
    /// The tally of the list of tasks, where the stage works by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<Tally>,
    /// Things that completed tasks left undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Debt>,
    /// Questions about the plan that nobody has answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Tasks with results that were made apart; nothing where each has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<TaskApart>,
    /// Reason why the build cannot go on.
    pub blocked: Option<Stamped<BuildBlock>>,
    /// Reason why agents of this worktree may stop until the work is taken up again.
    pub parked: Option<Parked>,
    pub stale_artifacts: Vec<Artifact>,
    pub working_copy: BTreeMap<Artifact, FileStatus>,
    /// The files of tasks.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, FileStatus>,
    /// Differences between the policy of the target and the policy that the gates ask.
    pub policy_moved: Option<PolicyMoved>,
    /// Required rules that are others than when the session began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules_moved: Option<RulesMoved>,
    /// Keys of `loopx.toml` that are passed over.
    pub warnings: Vec<String>,
    /// Files of the working copy that are no artifacts.
    pub not_saved: Vec<String>,
    /// The stages that the session goes through, in order.
    pub stages: Vec<Stage>,
    #[serde(skip)]
    pub artifacts: BTreeSet<Artifact>,
    #[serde(skip)]
    /// Artifacts in which nobody wrote anything.
    pub blank_artifacts: BTreeSet<Artifact>,
    /// Artifacts that a person may change now.
    #[serde(skip)]
    pub open: BTreeSet<Artifact>,
    /// Number of the session's own commits on its branch, where the stage looks at the code.
    pub commits: Option<usize>,
    /// Commits that no state of the session allowed: they do not land as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bypassed: Vec<Bypassed>,
    #[serde(skip)]
    pub has_worktree: bool,
    pub started: String,
    pub touched: String,
    /// Paths of the worktree that are not committed, where the stage looks at the code.
    pub uncommitted: Vec<Uncommitted>,
    /// The branch that is checked out here.
    pub checked_out: Option<String>,
    /// Words for what is checked out here.
    #[serde(skip)]
    pub here: String,
    /// A merge, rebase or the like that is under way.
    pub sequence: Option<Sequence>,
    /// Unmerged files in which a marker stands.
    #[serde(skip)]
    pub marked: Vec<Uncommitted>,
    /// The branch of edits that somebody was led to put aside, and what brings them back.
    #[serde(skip)]
    pub aside: Option<(String, Hint)>,
    /// The current folder below the top of the worktree; none outside of it.
    #[serde(skip)]
    pub below: Option<String>,
    /// Lag of the code branch behind its upstream, as that was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// Distance of the branch of the sessions from what was last seen of a remote's.
    pub remote: Option<Distance>,
    /// The command that leads on, where one does.
    pub next_action: Option<Hint>,
    /// Advice to know, or to write, before the next action; no command.
    pub advice: Option<Hint>,
    /// Others who have to go on.
    pub waits: Option<Waits>,
    #[serde(skip)]
    pub advised: Advised,
}

/// Counters and their caps.
#[derive(Debug, Serialize)]
pub(crate) struct Rounds {
    pub clarify_max: u32,
    pub plan_iteration: u32,
    pub plan_max: u32,
    pub build_iteration: u32,
    pub build_max: u32,
}

impl Rounds {
    fn of(view: View<'_>) -> Self {
        Rounds {
            clarify_max: view.max_rounds(),
            plan_iteration: view.state.plan_round(),
            plan_max: view.state.max_plan_iterations(),
            build_iteration: view.state.build.iteration,
            build_max: view.state.max_build_iterations(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ReviewView {
    pub reviewer: String,
    /// Proof of who the reviewer is: a key, or a claim alone.
    pub proof: Basis,
    pub independent: bool,
    pub verdict: Stamped<loopx_rules::op::Verdict>,
    pub judgement: Option<Judgement>,
    /// Check of the signature under the verdict, where there is one.
    pub signature: Option<Checked>,
}

impl ReviewView {
    fn of(view: View<'_>) -> Option<Self> {
        let verdict = view.state.verdict.clone()?;
        let signature = view.credentials.signatures.get(&verdict.op);
        Some(ReviewView {
            reviewer: verdict.signed.by.to_string(),
            proof: Basis::of(signature),
            independent: verdict.value.dependence.is_empty(),
            judgement: gate::judgement(view),
            signature: signature.cloned(),
            verdict,
        })
    }
}

/// The session that is meant, as it stands.
pub(crate) fn status(ctx: &Context) -> Result<Status> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let look = next::asked(ctx, &snapshot, &session)?;
    let own = commits(ctx, &look.facts)?;
    let bypassed = bypassed(ctx, &look.facts, own.as_deref().unwrap_or_default())?;
    let mut status = seen(ctx, &snapshot, &session, (look, own))?;
    status.bypassed = bypassed;
    // A reader takes a state at its word; of one that came past this program it is looked at.
    if let Some(what) = store.fault_since_known(&snapshot, &session)? {
        let mend = command!("fsck --repair");
        status.warnings.push(format!(
            "the branch was written without git loopx, and this status may be wrong: {what}; `{mend}` repairs it"
        ));
    }
    Ok(status)
}

/// The session as hooks ask for it, which say nothing of single commits: none is judged.
pub(super) fn status_of(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Status> {
    let look = next::look(ctx, snapshot, session)?;
    let own = commits(ctx, &look.facts)?;
    seen(ctx, snapshot, session, (look, own))
}

/// The findings, each with the answer that whoever asks may give: to let one stand is a person's word.
fn findings(facts: &Facts<'_>) -> Vec<FindingView> {
    let mut all = gate::findings(facts.view());
    if facts.require_person("`wontfix`").is_err() {
        let words = all.iter_mut().filter(|one| one.help.is_persons_word());
        words.for_each(|one| one.help = "mend it; only a person may leave it as it is".into());
    }
    all
}

fn seen(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    (look, own): (Look, Option<Vec<Oid>>),
) -> Result<Status> {
    let gates = gate::gates(look.facts.view());
    let blockers = blockers(&look, &gates);
    let Look {
        facts,
        peek,
        worktree,
        behind,
        remote,
        advised,
        ..
    } = look;
    let view = facts.view();
    let state = &facts.state;
    let claim = state.build.claim.as_ref();
    let code = facts.code.as_ref();
    let has_worktree = worktree.is_some();
    let worktree = worktree.unwrap_or_default();
    Ok(Status {
        session: state.id.clone(),
        title: state.title.clone(),
        stage: state.stage,
        ending: state.ending.clone(),
        landed: landed::landed(ctx, state, &facts.policy)?,
        profile: state.profile.clone(),
        branch: state.branch.clone(),
        base: state.base.clone(),
        commit: snapshot.commit().clone(),
        approvals: gate::approval_statuses(view),
        void: state.void_still().cloned().collect(),
        taken: facts.credentials.taken.clone(),
        blockers,
        evidence_chain: gate::evidence_chain(view),
        failed: gate::last_failed(view),
        audit: audit(view),
        review: ReviewView::of(view),
        findings: findings(&facts),
        not_cited: gate::not_cited(view),
        rounds: Rounds::of(view),
        claim: claim.map(|claim| lease::view(&ctx.repo, claim)),
        tasks: task::claimed(ctx, state),
        tally: task::tally(&facts),
        left: debt(state),
        questions: outline::open_questions_now(ctx, snapshot, session)?,
        apart: task::apart(state),
        blocked: state.build.blocked.clone(),
        parked: parked(ctx, state),
        gates,
        stale_artifacts: stale(&facts),
        not_saved: not_saved(ctx, state, &peek),
        working_copy: peek.statuses,
        outputs: peek.outputs,
        policy_moved: policy_moved::of(ctx, snapshot, session, &facts.policy)?,
        rules_moved: rules::moved(ctx, &session.state, &facts.policy)?,
        warnings: warnings(ctx, &facts),
        stages: view.profile().stages.clone(),
        artifacts: state.artifacts.keys().copied().collect(),
        blank_artifacts: blank(view),
        open: open(state),
        bypassed: Vec::new(),
        commits: own.map(|own| own.len()),
        has_worktree,
        started: state.started.at.clone(),
        touched: state.touched.at.clone(),
        uncommitted: code.map_or_else(Vec::new, |code| code.uncommitted.clone()),
        checked_out: worktree.branch,
        here: worktree.here,
        sequence: worktree.sequence,
        aside: next::put_aside(ctx),
        below: worktree.below,
        marked: worktree.marked,
        behind,
        remote,
        next_action: advised.command().cloned(),
        advice: Some(advised.advice.clone()).filter(|advice| !advice.is_empty()),
        waits: advised.waiting().cloned(),
        advised,
    })
}

/// Blockers of the session as it stands. An agent is led to no word that is a person's.
fn blockers(look: &Look, gates: &[GateView]) -> Vec<Blocker> {
    let view = look.facts.view();
    let mut blockers = if view.state.is_active() {
        let missing = look.missing.as_ref();
        holding(view, gates, &look.archive, &look.peek, missing)
    } else {
        gate::conflicts(view)
    };
    if look.facts.require_person("this").is_err() {
        let words = blockers.iter_mut().filter(|one| one.help.is_persons_word());
        words.for_each(|one| one.help = look.advised.clone().into_hint());
    }
    blockers
}

/// The artifacts that something they were made from has overtaken.
fn stale(facts: &Facts<'_>) -> Vec<Artifact> {
    let text = facts.texts.get(&Artifact::ArtifactGraph);
    let graph = text.and_then(|text| serde_json::from_str::<Graph>(text).ok());
    let nodes = graph.map_or_else(Vec::new, |graph| graph.nodes);
    let is_stale = nodes.iter().filter(|node| node.status == NodeStatus::Stale);
    is_stale.map(|node| node.artifact).collect()
}

/// The artifacts in which nobody wrote anything.
fn blank(view: View<'_>) -> BTreeSet<Artifact> {
    let all = view.state.artifacts.keys().copied();
    all.filter(|one| view.is_blank(*one)).collect()
}

/// The artifacts that a person may change now.
fn open(state: &State) -> BTreeSet<Artifact> {
    let all = Artifact::ALL.into_iter();
    all.filter(|artifact| state.is_open(*artifact)).collect()
}

/// The audit, where the stage looks at the code.
fn audit(view: View<'_>) -> Vec<AuditItem> {
    match view.state.stage {
        Stage::Build | Stage::Review => gate::audit(view),
        _ => Vec::new(),
    }
}

/// The files of the working copy that are no artifacts; those of another session are not looked at.
fn not_saved(ctx: &Context, state: &State, peek: &Peek) -> Vec<String> {
    match &peek.foreign {
        Some(_) => Vec::new(),
        None => workcopy::not_saved(&ctx.repo, state),
    }
}

fn warnings(ctx: &Context, facts: &Facts<'_>) -> Vec<String> {
    let mut warnings = facts.policy.warnings();
    warnings.extend(specs::worktree_fault(ctx));
    warnings.extend(journal::unfinished_here(&ctx.repo));
    let way_back = under_way::unfinished(&ctx.repo);
    warnings.extend(
        way_back.map(|left| format!("{left}  (the next command that writes puts them back)")),
    );
    warnings
}

/// Blockers between a session that was looked at and its next stage.
pub(super) fn held(look: &Look) -> Vec<Blocker> {
    let view = look.facts.view();
    let gates = gate::gates(view);
    holding(
        view,
        &gates,
        &look.archive,
        &look.peek,
        look.missing.as_ref(),
    )
}

fn holding(
    view: View<'_>,
    gates: &[GateView],
    archive: &[Blocker],
    peek: &Peek,
    missing: Option<&Failure>,
) -> Vec<Blocker> {
    let mut blockers = match view.state.stage {
        Stage::Done => {
            let mut found = gate::archive(view);
            let is_new = |one: &Blocker| !found.contains(one);
            let more: Vec<Blocker> = archive.iter().filter(|one| is_new(one)).cloned().collect();
            found.extend(more);
            found
        }
        stage => gates
            .iter()
            .find(|g| g.transition.from() == stage && !g.transition.is_rollback())
            .map(|g| g.blockers.clone())
            .unwrap_or_default(),
    };
    if view.state.stage == Stage::Plan {
        blockers.extend(gate::unserved(view));
    }
    // What cannot be saved, or not be judged, comes before what was judged.
    for (_, failure) in peek.refused.iter().rev() {
        // What the gate says of the same file is said once.
        if blockers
            .iter()
            .any(|one| failure.message.ends_with(&one.message))
        {
            continue;
        }
        blockers.insert(0, Blocker::from(failure.clone()));
    }
    for failure in missing.into_iter().chain(&peek.foreign) {
        blockers.insert(0, Blocker::from(failure.clone()));
    }
    blockers
}

/// The number of own commits up to which `status` judges them; `finish` and `verify` judge any number.
const MOST_JUDGED: usize = 200;

/// Commits that no state of the session allowed, where a branch that policy protects would refuse them. Each commit that
/// our hooks let pass names a state: nothing is judged where all do.
fn bypassed(ctx: &Context, facts: &Facts<'_>, own: &[Oid]) -> Result<Vec<Bypassed>> {
    if facts.policy.gates.protected.is_empty() || own.len() > MOST_JUDGED {
        return Ok(Vec::new());
    }
    for commit in own {
        if ctx
            .repo
            .commit_info(commit)?
            .trailer("Loopx-State")
            .is_empty()
        {
            return finish::bypassed(ctx, &facts.state);
        }
    }
    Ok(Vec::new())
}

/// The session's own commits, where the stage looks at the code.
fn commits(ctx: &Context, facts: &Facts<'_>) -> Result<Option<Vec<Oid>>> {
    let state = &facts.state;
    if facts.code.is_none() || facts.base_missing.is_some() || upstream::is_missing(ctx, state)? {
        return Ok(None);
    }
    let Some(head) = upstream::bound_head(ctx, state)? else {
        return Ok(None);
    };
    let target = upstream::target_of(ctx, state, &facts.policy)?;
    let tips = target.map(|target| target.tips).unwrap_or_default();
    let own = upstream::own(
        &ctx.repo,
        state.base.as_ref(),
        &tips,
        &head,
        Some(&state.id),
    )?;
    Ok(Some(own.commits))
}

fn parked(ctx: &Context, state: &State) -> Option<Parked> {
    let build = super::agent::hook::build_of(ctx, state, ctx.now())?;
    let ledger = super::agent::ledger::peek(&ctx.repo);
    ledger.parked.filter(|_| ledger.build == build.key)
}

/// Session as it is stored.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub commit: Oid,
    pub path: String,
    pub state: State,
    /// Checks of signatures, by the operation that they are about.
    pub signatures: Signatures,
}

impl Shown {
    /// Basis on which it is known whose word an operation is.
    pub(crate) fn basis(&self, op: &OpId) -> Basis {
        Basis::of(self.signatures.get(op))
    }
}

/// Basis on which it is known whose word an operation of a session is.
pub(crate) fn basis(ctx: &Context, id: &SessionId, op: &OpId) -> Result<Basis> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let Some(session) = snapshot.find(id)? else {
        return Ok(Basis::Claimed);
    };
    Ok(Basis::of(signatures(ctx, &snapshot, &session)?.get(op)))
}

/// The stored facts of the session that is meant.
pub(crate) fn show(ctx: &Context) -> Result<Shown> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    Ok(Shown {
        signatures: signatures(ctx, &snapshot, &session)?,
        commit: snapshot.commit().clone(),
        path: session.place,
        state: session.state,
    })
}

/// Checks of all signatures that people gave in a session.
fn signatures(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Signatures> {
    if snapshot.signatures(session)?.is_empty() {
        return Ok(Signatures::new());
    }
    let (policy, _) = ctx.policy_if_there(&session.state)?;
    let depth = sign::Depth::Everything;
    Ok(sign::gather(ctx, &policy, snapshot, session, depth, None)?.signatures)
}

/// Operation of a session's history.
#[derive(Debug, Serialize)]
pub(crate) struct Logged {
    #[serde(flatten)]
    pub operation: Operation,
    pub undone: bool,
    /// Reason why the operation counts for nothing.
    pub void: Option<String>,
    /// Proof of whose word the operation is, a key or a claim alone; nothing where it is nobody's.
    pub proof: Option<Basis>,
}

/// The history of a session, oldest first, and the worktrees of this clone, which may have had it in hand.
#[derive(Debug)]
pub(crate) struct Log {
    pub session: SessionId,
    pub operations: Vec<Logged>,
    pub worktrees: Worktrees,
}

/// The history of the session that is meant.
pub(crate) fn log(ctx: &Context) -> Result<Log> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let operations = snapshot.operations(&session)?;
    let undone = undone(&operations);
    let signed = signatures(ctx, &snapshot, &session)?;
    let void = session.state.void.into_iter();
    let mut void: BTreeMap<OpId, String> = void.map(|void| (void.op, void.why)).collect();
    let logged = operations
        .into_iter()
        .map(|operation| Logged {
            undone: undone.contains(&operation.op),
            proof: role(&operation).map(|_| Basis::of(signed.get(&operation.op))),
            void: void.remove(&operation.op),
            operation,
        })
        .collect();
    Ok(Log {
        session: session.state.id,
        operations: logged,
        worktrees: lease::worktrees(&ctx.repo),
    })
}

/// The kept output of a recorded command.
pub(crate) fn run_log(ctx: &Context, op: &str) -> Result<Vec<u8>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let id = loopx_base::id::OpId::parse(op)?;
    snapshot.log(&session, &id)?.ok_or_else(|| {
        Failure::not_found(
            Code::LogUnknown,
            format!("operation {op} of session {} has no log", session.state.id),
        )
        .help(command!("log --json"))
    })
}

/// Shows an artifact of the session, as it is stored now or was at a point of its history.
pub(crate) fn cat(
    ctx: &Context,
    artifact: Artifact,
    at: Option<&str>,
    show: impl FnOnce(&[u8]),
) -> Result<()> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let artifacts = match at {
        Some(point) => artifacts_at(&snapshot, &session, point)?,
        None => session.state.artifacts.clone(),
    };
    let blob = artifacts.get(&artifact).ok_or_else(|| {
        let there: Vec<&str> = artifacts.keys().map(|a| a.path()).collect();
        Failure::not_found(
            Code::ArtifactMissing,
            format!(
                "session {} has no {artifact} in stage {}; it has {}",
                session.state.id,
                session.state.stage,
                there.join(", ")
            ),
        )
        .help(command!("status"))
    })?;
    // A large text is shown from where it lies.
    ctx.repo.with_blob(blob, show)
}

/// The artifacts after an operation.
pub(super) fn artifacts_at(
    snapshot: &Snapshot<'_>,
    session: &Session,
    point: &str,
) -> Result<BTreeMap<Artifact, Oid>> {
    Ok(state_at(snapshot, session, point)?.artifacts)
}

/// The state after an operation.
pub(super) fn state_at(snapshot: &Snapshot<'_>, session: &Session, point: &str) -> Result<State> {
    let operations = snapshot.operations(session)?;
    let wanted = super::op_ref::find(snapshot, session, &operations, point)?;
    let at = operations
        .iter()
        .position(|op| op.op == wanted.op)
        .unwrap_or_default();
    loopx_store::replay(snapshot.repo(), &session.state.id, &operations[..=at])
}
