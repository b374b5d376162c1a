//! New bases for a delta whose target branch moved on, and what its author has to look at because of that.

use crate::core::artifact::Artifact;
use crate::core::counted;
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::command;
use crate::core::id::Oid;
use crate::core::op::{Event, RequirementBase};
use crate::core::spec::{OpKind, block_of, fold};
use crate::flow::act::{Act, Done, Needs, act};
use crate::flow::context::Context;
use crate::flow::delta::{self, WHOLE};
use crate::flow::ground::Ground;
use serde::Serialize;

/// A requirement whose base was recorded anew because the target branch had changed it.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    pub domain: String,
    /// Absent for the domain's purpose.
    pub requirement: Option<String>,
    pub old: Option<String>,
    pub new: Option<String>,
    /// The delta replaces it as a whole: what the target changed is undone unless it is taken over.
    pub replaced: bool,
}

/// What a refresh came to.
#[derive(Debug)]
pub struct Refreshed {
    pub target: String,
    pub commit: Option<Oid>,
    pub moved: Vec<Moved>,
}

/// Records what stands on the target branch now as the base of everything that the delta touches.
pub fn refresh(ctx: &Context) -> Result<Done<Refreshed>> {
    let store = ctx.store()?;
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        if !Artifact::SpecDelta.is_open_at(state.stage) {
            return Err(Failure::refused(
                Code::RefreshClosed,
                format!(
                    "the delta is closed in stage {}; a new base would hide from its reviewers what it undoes",
                    state.stage
                ),
            )
            .help(command!("archive").note("(a conflict is resolved there, and `archive --continue` finishes)")));
        }
        if let Some(missing) = &facts.base_missing {
            return Err(missing.clone());
        }
        let Some((delta, blockers)) = delta::read(&facts.texts) else {
            return Err(
                Failure::nothing(Code::DeltaMissing, "the session has no spec delta yet")
                    .help(command!("status")),
            );
        };
        if let Some(first) = blockers.first() {
            return Err(Failure::refused(Code::DeltaInvalid, first.message.clone())
                .help(first.help.clone()));
        }
        let mut fresh = state.clone();
        fresh.bases.clear();
        let ground = Ground::of(ctx, &store.snapshot()?, state, &facts.texts)?;
        let stands = &ground.target;
        let new: Vec<RequirementBase> =
            delta::missing_bases(ctx, &fresh, &facts.policy, stands, &delta)?;
        let text = |blob: Option<&Oid>| -> Result<Option<String>> {
            blob.map(|blob| Ok(String::from_utf8_lossy(&ctx.repo.read_blob(blob)?).into_owned()))
                .transpose()
        };
        let mut moved = Vec::new();
        for base in &new {
            let known = state
                .bases
                .iter()
                .find(|b| b.domain == base.domain && b.requirement == base.requirement);
            let Some(known) = known.filter(|known| known.blob != base.blob) else {
                continue;
            };
            let part = delta
                .domains
                .iter()
                .find(|part| part.domain.as_deref() == Some(base.domain.as_str()));
            let purpose = part.is_some_and(|part| part.purpose.is_some());
            if base.requirement == WHOLE && !purpose {
                continue;
            }
            let (old, new) = (text(known.blob.as_ref())?, text(base.blob.as_ref())?);
            let old = old.and_then(|text| block_of(&text, &base.requirement));
            let new = new.and_then(|text| block_of(&text, &base.requirement));
            if old == new {
                continue;
            }
            let replaced = part.is_some_and(|part| {
                part.operations.iter().any(|op| {
                    op.kind == OpKind::Modified && !op.patch && fold(&op.name) == base.requirement
                })
            });
            moved.push(Moved {
                domain: base.domain.clone(),
                requirement: (base.requirement != WHOLE).then(|| base.requirement.clone()),
                old,
                new,
                replaced: replaced || base.requirement == WHOLE,
            });
        }
        let target = delta::target_branch(ctx, state)?.unwrap_or_else(|| "HEAD".to_owned());
        if moved.is_empty() {
            return Err(Failure::nothing(
                Code::NothingMoved,
                format!("nothing that the delta touches changed on {target} since its base"),
            )
            .help(command!("change diff")));
        }
        let what = format!("refresh {} from {target}", counted(moved.len(), "base"));
        let refreshed = Refreshed {
            target,
            commit: delta::target_tip(ctx, state)?,
            moved,
        };
        let mut act = Act::new(Event::Refreshed, what, refreshed);
        act.bases = Some(new);
        Ok(act)
    })
}
