//! Reading: status, list, show, log, diff. Nothing here writes.

use super::act::{Facts, Needs, gather};
use super::archive;
use super::context::Context;
use super::lease::{self, ClaimView};
use super::policy_moved::{self, PolicyMoved};
use super::rebase;
use super::review;
use super::sign;
use super::upstream;
use super::workcopy::{FileStatus, WorkCopy};
use crate::core::agent::stop::Parked;
use crate::core::artifact::Artifact;
use crate::core::failure::{Blocker, Code, Failure, Result};
use crate::core::gate::{self, AuditItem, Claim, FindingView, GateView, Taken};
use crate::core::hint::{Hint, command};
use crate::core::id::{Oid, OpId, SessionId};
use crate::core::op::Operation;
use crate::core::pack::{Graph, NodeStatus};
use crate::core::profile::ProfileName;
use crate::core::replay::undone;
use crate::core::review::Judgement;
use crate::core::session::{BuildBlock, Ending, Recorded, State, Void};
use crate::core::signature::{Basis, Checked, Signatures, role};
use crate::core::stage::{ApprovalKey, Stage};
use crate::store::{Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that `status` shows of a session.
#[derive(Debug, Serialize)]
pub struct Status {
    pub session: SessionId,
    pub title: String,
    pub stage: Stage,
    pub ending: Option<Ending>,
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
    /// What stands between this stage and the next.
    pub blockers: Vec<Blocker>,
    pub evidence_chain: Vec<Claim>,
    pub audit: Vec<AuditItem>,
    pub review: Option<ReviewView>,
    /// What was found, answered or not.
    pub findings: Vec<FindingView>,
    pub rounds: Rounds,
    /// Whose build it is.
    pub claim: Option<ClaimView>,
    /// Why the build cannot go on.
    pub blocked: Option<Recorded<BuildBlock>>,
    /// Why agents of this worktree may stop until it is taken up again.
    pub parked: Option<Parked>,
    pub stale_artifacts: Vec<Artifact>,
    pub working_copy: BTreeMap<Artifact, FileStatus>,
    /// How the policy of the target differs from the policy that the gates ask.
    pub policy_moved: Option<PolicyMoved>,
    /// Keys of `loopx.toml` that are passed over.
    pub warnings: Vec<String>,
    pub next_action: Hint,
}

/// Counters and their caps.
#[derive(Debug, Serialize)]
pub struct Rounds {
    pub clarify_max: u32,
    pub plan_iteration: u32,
    pub plan_max: u32,
    pub build_iteration: u32,
    pub build_max: u32,
}

#[derive(Debug, Serialize)]
pub struct ReviewView {
    pub reviewer: String,
    /// Whether a key shows who that is.
    pub proof: Basis,
    pub independent: bool,
    pub verdict: Recorded<crate::core::op::Verdict>,
    pub judgement: Option<Judgement>,
    /// What was found of the signature under the verdict, where there is one.
    pub signature: Option<Checked>,
}

/// The session that is meant, as it stands.
pub fn status(ctx: &Context) -> Result<Status> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    status_of(ctx, &snapshot, &session)
}

pub(super) fn status_of(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Status> {
    // Reading needs no identity; the gates do not look at it.
    let facts = gather_readonly(ctx, snapshot, session)?;
    let view = facts.view();
    let state = &facts.state;
    let gates = gate::gates(view);
    let missing = match state.stage {
        // What is done may have been merged, and its branch deleted.
        Stage::Done => None,
        _ => upstream::missing(ctx, state)?,
    };
    let mut blockers = match state.stage {
        Stage::Done => {
            let mut found = gate::archive(view);
            let unreviewed = review::unreviewed(ctx, state, &facts.policy)?;
            found.extend(review::unreviewed_blocker(&unreviewed));
            found
        }
        stage => gates
            .iter()
            .find(|g| g.transition.from() == stage && !g.transition.is_rollback())
            .map(|g| g.blockers.clone())
            .unwrap_or_default(),
    };
    if let Some(failure) = &missing {
        blockers.insert(0, Blocker::from(failure.clone()));
    }
    let mut foreign = false;
    let working_copy = match WorkCopy::open(&ctx.repo, &state.id)? {
        Some(copy) => match copy.statuses(state) {
            Err(failure) if failure.code == Code::WorkingCopyForeign => {
                blockers.insert(0, Blocker::from(failure));
                foreign = true;
                BTreeMap::new()
            }
            statuses => statuses?,
        },
        None => BTreeMap::new(),
    };
    let unsaved = working_copy.iter().any(|(_, status)| {
        matches!(
            status,
            FileStatus::Modified | FileStatus::Deleted | FileStatus::Diverged
        )
    });
    let conflicted = working_copy
        .iter()
        .find(|(_, status)| **status == FileStatus::Conflicted);
    // What is below was judged on what is saved; edits go first.
    let is_settled = state.conflicts.is_empty() && state.contested().next().is_none();
    let next_action = match conflicted {
        _ if !is_settled => command!("resolve").session(&state.id),
        _ if foreign => command!("checkout").session(&state.id),
        _ if missing.is_some() => upstream::rebind(ctx, &state.id)?,
        _ if facts.base_missing.is_some() => match rebase::suggest(ctx, state, &facts.policy)? {
            Some(onto) => command!("rebase --onto {} --reason WHY", onto.short()),
            None => command!("doctor"),
        },
        Some((artifact, _)) => command!("edit {artifact}"),
        None if archive::has_conflicts(ctx, &state.id) => match state.is_active() {
            true => command!("archive --continue"),
            false => command!("archive {} --continue", state.id),
        },
        None if state.stage == Stage::Done
            && blockers.iter().any(|b| b.code == Code::ReviewStale) =>
        {
            command!("undo")
        }
        None if unsaved && state.is_active() => match refused_edit(ctx, state, &working_copy)? {
            Some(way_on) => way_on,
            None => command!("save"),
        },
        None => gate::next_action(view),
    };
    let stale_artifacts = facts
        .texts
        .get(&Artifact::ArtifactGraph)
        .and_then(|text| serde_json::from_str::<Graph>(text).ok())
        .map(|graph| {
            graph
                .nodes
                .iter()
                .filter(|node| node.status == NodeStatus::Stale)
                .map(|node| node.artifact)
                .collect()
        })
        .unwrap_or_default();
    Ok(Status {
        session: state.id.clone(),
        title: state.title.clone(),
        stage: state.stage,
        ending: state.ending.clone(),
        profile: state.profile.clone(),
        branch: state.branch.clone(),
        base: state.base.clone(),
        commit: snapshot.commit().clone(),
        approvals: gate::approval_statuses(view),
        void: state.void_still().cloned().collect(),
        taken: facts.credentials.taken.clone(),
        blockers: if state.is_active() {
            blockers
        } else {
            gate::conflicts(view)
        },
        evidence_chain: gate::evidence_chain(view),
        audit: if matches!(state.stage, Stage::Build | Stage::Review) {
            gate::audit(view)
        } else {
            Vec::new()
        },
        review: state.verdict.clone().map(|verdict| ReviewView {
            reviewer: verdict.signed.by.to_string(),
            proof: Basis::of(facts.credentials.signatures.get(&verdict.op)),
            independent: verdict.value.dependence.is_empty(),
            judgement: gate::judgement(view),
            signature: facts.credentials.signatures.get(&verdict.op).cloned(),
            verdict,
        }),
        findings: gate::findings(view),
        rounds: Rounds {
            clarify_max: view.max_rounds(),
            plan_iteration: state.plan.iteration,
            plan_max: state.max_plan_iterations(),
            build_iteration: state.build.iteration,
            build_max: state.max_build_iterations(),
        },
        claim: state
            .build
            .claim
            .as_ref()
            .map(|claim| lease::view(&ctx.repo, claim)),
        blocked: state.build.blocked.clone(),
        parked: parked(ctx, state),
        gates,
        stale_artifacts,
        working_copy,
        policy_moved: policy_moved::of(ctx, snapshot, session, &facts.policy)?,
        warnings: facts.policy.warnings(),
        next_action,
    })
}

fn parked(ctx: &Context, state: &State) -> Option<Parked> {
    let build = super::agent::hook::build_of(ctx, state, ctx.repo.now())?;
    let ledger = super::agent::ledger::peek(&ctx.repo);
    ledger.parked.filter(|_| ledger.build == build.key)
}

/// What leads on from the first edit that `save` would refuse.
fn refused_edit(
    ctx: &Context,
    state: &State,
    files: &BTreeMap<Artifact, FileStatus>,
) -> Result<Option<Hint>> {
    let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)? else {
        return Ok(None);
    };
    for (artifact, status) in files {
        let is_edit = matches!(
            status,
            FileStatus::Modified | FileStatus::Deleted | FileStatus::Diverged
        );
        if is_edit && let Err(failure) = copy.check_open(*artifact, state) {
            return Ok(failure.help);
        }
        if *status == FileStatus::Modified
            && let Some(bytes) = super::files::read(&copy.path(*artifact)?, u64::MAX)?
            && !gate::faults(*artifact, &String::from_utf8_lossy(&bytes)).is_empty()
        {
            return Ok(Some(command!("edit {artifact}")));
        }
    }
    Ok(None)
}

/// The facts of a session as it is stored, edits of the working copy left out.
pub fn gather_readonly(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Facts<'static>> {
    gather(ctx, snapshot, session, None, Needs::Stage, None)
}

/// One line of `list`.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub session: SessionId,
    pub title: String,
    pub stage: Option<Stage>,
    pub ending: Option<Ending>,
    pub branch: Option<String>,
    pub touched: Option<String>,
    /// Bound to the branch that is checked out here.
    pub current: bool,
    /// Why the session cannot be read.
    pub damage: Option<String>,
}

/// Every active session, and the archived ones where asked for. A damaged one hides no other.
pub fn list(ctx: &Context, archived: bool) -> Result<Vec<Listed>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let here = match ctx.repo.head()?.branch {
        Some(branch) => snapshot.bound_to(&branch)?,
        None => Vec::new(),
    };
    Ok(snapshot
        .summaries(archived)?
        .into_iter()
        .map(|(id, summary)| {
            let current = here.contains(&id);
            match summary {
                Ok(summary) => Listed {
                    session: id,
                    title: summary.title,
                    stage: Some(summary.stage),
                    ending: summary.ending,
                    branch: summary.branch,
                    touched: Some(summary.touched),
                    current,
                    damage: None,
                },
                Err(failure) => Listed {
                    session: id,
                    title: String::new(),
                    stage: None,
                    ending: None,
                    branch: None,
                    touched: None,
                    current,
                    damage: Some(failure.message),
                },
            }
        })
        .collect())
}

/// Everything that is stored of a session.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub commit: Oid,
    pub path: String,
    pub state: State,
    /// What was found of signatures, by the operation that they are about.
    pub signatures: Signatures,
}

impl Shown {
    /// Whether a key shows whose word an operation is.
    pub fn basis(&self, op: &OpId) -> Basis {
        Basis::of(self.signatures.get(op))
    }
}

/// Whether a key shows whose word an operation of a session is.
pub fn basis(ctx: &Context, id: &SessionId, op: &OpId) -> Result<Basis> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let Some(session) = snapshot.find(id)? else {
        return Ok(Basis::Claimed);
    };
    Ok(Basis::of(signatures(ctx, &snapshot, &session)?.get(op)))
}

/// The stored facts of the session that is meant.
pub fn show(ctx: &Context) -> Result<Shown> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    Ok(Shown {
        signatures: signatures(ctx, &snapshot, &session)?,
        commit: snapshot.commit().clone(),
        path: session.place,
        state: session.state,
    })
}

/// What there is to say of everything that people signed in a session.
fn signatures(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Signatures> {
    if snapshot.signatures(session)?.is_empty() {
        return Ok(Signatures::new());
    }
    let (policy, _) = ctx.policy_if_there(&session.state)?;
    let depth = sign::Depth::Everything;
    Ok(sign::gather(ctx, &policy, snapshot, session, depth, None)?.signatures)
}

/// One operation of a session's history.
#[derive(Debug, Serialize)]
pub struct Logged {
    #[serde(flatten)]
    pub operation: Operation,
    pub undone: bool,
    /// Why it counts for nothing.
    pub void: Option<String>,
    /// Whether a key shows whose word it is; nothing where it is nobody's.
    pub proof: Option<Basis>,
}

/// The history of the session that is meant, oldest first.
pub fn log(ctx: &Context) -> Result<(SessionId, Vec<Logged>)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
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
    Ok((session.state.id, logged))
}

/// The kept output of a recorded command.
pub fn run_log(ctx: &Context, op: &str) -> Result<Vec<u8>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let id = crate::core::id::OpId::parse(op)?;
    snapshot.log(&session, &id)?.ok_or_else(|| {
        Failure::not_found(
            Code::LogUnknown,
            format!("operation {op} of session {} has no log", session.state.id),
        )
        .help(command!("log --json"))
    })
}

/// An artifact of the session, as it is stored now or was at a point of its history.
pub fn cat(ctx: &Context, artifact: Artifact, at: Option<&str>) -> Result<Vec<u8>> {
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
    ctx.repo.read_blob(blob)
}

/// The artifacts after an operation.
pub(super) fn artifacts_at(
    snapshot: &Snapshot<'_>,
    session: &Session,
    point: &str,
) -> Result<BTreeMap<Artifact, Oid>> {
    let operations = snapshot.operations(session)?;
    let wanted = super::point::find(snapshot, session, &operations, point)?;
    let at = operations
        .iter()
        .position(|op| op.op == wanted.op)
        .unwrap_or_default();
    Ok(crate::store::replay(snapshot.repo(), &session.state.id, &operations[..=at])?.artifacts)
}
