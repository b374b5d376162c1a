//! The preview of an approval: what it would cover and what it still waits for, judged as `approve` judges it: `approve
//! --show`, and `edit` without a name. Nothing is written.

use super::approve::{self, Ends};
use super::context::Context;
use super::outline::{self, Question};
use super::policy_moved::{self, PolicyMoved};
use super::transaction::{Facts, Needs, gather};
use super::workcopy::{FileStatus, WorkCopy};
use super::{next, review};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::Verb;
use loopx_base::id::{Oid, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::gate::{AuditItem, FindingView};
use loopx_rules::next::Advised;
use loopx_rules::stage::Transition;
use loopx_rules::task::debt::{Debt, debt};
use loopx_store::{Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;

/// Content of an approval before it is given.
#[derive(Debug, Serialize)]
pub(crate) struct Preview {
    pub session: SessionId,
    pub transition: Transition,
    /// The documents, by what stands in them.
    pub files: BTreeMap<Artifact, Oid>,
    /// Documents that the working copy changed and the approval would save first.
    pub edited: Vec<Artifact>,
    /// The code, where the gate judges it.
    pub code: Option<Covered>,
    pub checks: Vec<AuditItem>,
    /// Findings that are not answered and hold nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingView>,
    /// Things that completed tasks left undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Debt>,
    /// Questions that nobody has answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Blockers of the transition.
    pub blockers: Vec<Blocker>,
    /// Number of people that policy asks for.
    pub required: usize,
    /// Policy by which the target judges the session, where that is another than the gate asks.
    pub policy_moved: Option<PolicyMoved>,
    #[serde(skip)]
    pub advised: Advised,
}

/// The commits of a session.
#[derive(Debug, Serialize)]
pub(crate) struct Covered {
    pub tree: Oid,
    pub base: Option<Oid>,
    pub head: Option<Oid>,
    pub commits: usize,
}

/// Gathers what the approval would cover.
pub(crate) fn preview(ctx: &Context, ends: Ends) -> Result<Preview> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = super::transaction::require_active(ctx.session(&snapshot)?)?;
    let facts = look(ctx, &snapshot, &session)?;
    let transition = approve::meant(&facts, ends)?;
    let view = facts.view();
    let blockers = gate::wanting(view, transition);
    let checks = if gate::covers_code(transition) {
        gate::audit(view)
    } else {
        Vec::new()
    };
    let files = gate::covered_files(&facts.state, transition);
    let edited = facts.saved.iter().copied();
    Ok(Preview {
        session: facts.state.id.clone(),
        transition,
        edited: edited.filter(|one| files.contains_key(one)).collect(),
        code: code(ctx, &facts, transition)?,
        checks,
        findings: gate::open_now(view)
            .into_iter()
            .filter(|one| !one.blocking)
            .collect(),
        left: debt(&facts.state),
        questions: outline::questions(&snapshot.operations(&session)?),
        required: facts.policy.required(transition),
        policy_moved: policy_moved::of(ctx, &snapshot, &session, &facts.policy)?,
        advised: match (blockers.first(), Transition::forward(facts.state.stage)) {
            (_, Some(forward)) if forward == transition => next::of_session(ctx, &facts.state.id)?,
            (Some(blocker), _) => Advised::of(blocker.help.clone()),
            (None, _) => Advised::of(facts.policy.approve_command(transition)),
        },
        blockers,
        files,
    })
}

/// The document whose edit a blocker asks for.
fn to_write(blocker: &Blocker) -> Option<Artifact> {
    let command = blocker.help.command()?;
    let is_edit = command.verb() == Verb::Edit;
    is_edit.then(|| Artifact::parse(command.args()).ok())?
}

/// Reasons of the gate of the present stage about one document.
pub(crate) fn wanted_of(ctx: &Context, artifact: Artifact) -> Result<Vec<String>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = super::transaction::require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = look(ctx, &snapshot, &session)?;
    let blockers = match Transition::forward(facts.state.stage) {
        Some(transition) => gate::wanting(facts.view(), transition),
        None => Vec::new(),
    };
    let own = blockers.into_iter();
    let own = own.filter(|blocker| to_write(blocker) == Some(artifact));
    Ok(own.map(|blocker| blocker.message).collect())
}

/// The first document that the gate of the present stage wants work on, and what it wants.
pub(crate) fn first_to_write(ctx: &Context) -> Result<(Artifact, String)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = super::transaction::require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = look(ctx, &snapshot, &session)?;
    let stage = facts.state.stage;
    let blockers = match Transition::forward(stage) {
        Some(transition) => gate::wanting(facts.view(), transition),
        None => Vec::new(),
    };
    let wanted = blockers
        .iter()
        .find_map(|blocker| Some((to_write(blocker)?, blocker.message.clone())));
    // What holds a brief stands in it, whichever command writes it there.
    let brief = || {
        let of_brief = blockers.iter().find(|blocker| blocker.code.is_of_brief())?;
        Some((Artifact::Brief, of_brief.message.clone()))
    };
    wanted.or_else(brief).ok_or_else(|| {
        Failure::nothing(
            Code::NothingToEdit,
            format!("no document of stage {stage} needs work"),
        )
        .help(match super::archive::waiting(ctx, &facts.state) {
            Ok(Some(waiting)) => waiting.into_hint(),
            _ => gate::next_action(facts.view()),
        })
    })
}

/// The session with the edits of this worktree.
fn look(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Facts<'static>> {
    let mut copy = WorkCopy::open(&ctx.repo, &session.state.id)?;
    if let Some(open) = &copy {
        let statuses = open.statuses(&session.state)?;
        let is_apart =
            |status: &FileStatus| matches!(status, FileStatus::Diverged | FileStatus::Conflicted);
        // To merge them would write into the files.
        if statuses.values().any(is_apart) {
            copy = None;
        }
    }
    gather(ctx, snapshot, session, copy.as_mut(), Needs::Code, None)
}

fn code(ctx: &Context, facts: &Facts<'_>, transition: Transition) -> Result<Option<Covered>> {
    let Some(code) = facts
        .code
        .as_ref()
        .filter(|_| gate::covers_code(transition))
    else {
        return Ok(None);
    };
    let (base, head, commits) = review::span(ctx, facts)?;
    Ok(Some(Covered {
        tree: code.tree.clone(),
        base,
        head,
        commits,
    }))
}
