//! The stage commands clarify, plan and build: entering a stage consumes its approval; run again
//! inside the stage they judge its work, or record what a lane of it said.

mod build;
mod clarify;
mod lanes;
mod plan;

pub(crate) use build::{BuildRequest, Report, build};
pub(crate) use clarify::clarify;
pub(crate) use lanes::{DelegationRequest, delegate, report_lane, waive};
use loopx_base::hint::command;
pub(crate) use plan::{Written, plan, plan_review};

use super::context::Context;
use super::outline;
use super::transaction::{Act, Done, Facts, Needs, act};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::op::Event;
use loopx_rules::session::{PlanReview, Stamped};
use loopx_rules::stage::{Stage, Transition};

/// Result of a stage command.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The stage was entered by this command.
    pub entered: Option<Transition>,
    /// Blockers between the stage and the next one, where the command judged that.
    pub blockers: Vec<Blocker>,
    /// The audit's lines, for build.
    pub audit: Vec<gate::AuditItem>,
    /// Reviews of earlier drafts, for plan.
    pub history: Vec<Stamped<PlanReview>>,
    /// Tasks or slices that plan proposed.
    pub proposed: Option<Proposed>,
    /// Set when the command judged anything: then blockers mean exit 1.
    pub judged: bool,
    /// Set when the raised cap is that of returns to a plan that has no drafts.
    pub returns: bool,
}

/// Tasks or slices that were laid out, each of which lacks its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proposed {
    pub file: Artifact,
    /// Noun for a single task or slice.
    pub noun: &'static str,
    pub count: usize,
}

impl Outcome {
    fn entered(transition: Transition) -> Self {
        Outcome {
            entered: Some(transition),
            blockers: Vec::new(),
            audit: Vec::new(),
            history: Vec::new(),
            proposed: None,
            judged: false,
            returns: false,
        }
    }

    fn recorded() -> Self {
        Outcome {
            entered: None,
            blockers: Vec::new(),
            audit: Vec::new(),
            history: Vec::new(),
            proposed: None,
            judged: false,
            returns: false,
        }
    }

    fn judged(blockers: Vec<Blocker>) -> Self {
        Outcome {
            judged: true,
            blockers,
            ..Outcome::recorded()
        }
    }
}

/// The approval of a transition was given and still holds; otherwise the refusal that says why not.
pub(super) fn require(facts: &Facts<'_>, transition: Transition) -> Result<()> {
    match gate::consumable(facts.view(), transition) {
        Ok(_) => Ok(()),
        Err(unmet) => Err(gate::not_consumable(facts.view(), transition, unmet)),
    }
}

fn wrong_stage(facts: &Facts<'_>, command: &str) -> Failure {
    let state = &facts.state;
    let needed = match command {
        "plan" => Transition::ClarifyToPlan,
        "build" => Transition::PlanToBuild,
        _ => Transition::ReviewToClarify,
    };
    if !facts.view().profile().has_stage(needed.to()) {
        return Failure::refused(
            Code::StageNotInProfile,
            format!("the profile {} has no stage {}", state.profile, needed.to()),
        )
        .help(gate::next_action(facts.view()));
    }
    if command == "plan" && state.stage == Stage::Build {
        return Failure::refused(
            Code::ApprovedTransitionRequired,
            "the plan is done, and the session is in stage build; going back to the plan needs a reason",
        )
        .help(Transition::BuildToPlan.command());
    }
    Failure::refused(
        Code::ApprovedTransitionRequired,
        format!(
            "`{command}` needs an approval of {needed} first; the session is in stage {}",
            state.stage
        ),
    )
    .blockers(vec![Blocker::new(
        Code::ApprovedTransitionRequired,
        gate::not_approved(state, needed),
        gate::next_action(facts.view()),
    )])
    .help(gate::next_action(facts.view()))
}

/// Raises a cap by a named person's word.
pub(crate) fn extend(
    ctx: &Context,
    stage: Stage,
    by: u32,
    reason: Option<String>,
    sign: bool,
) -> Result<Done<Outcome>> {
    let reason = loopx_base::said(reason).ok_or_else(|| {
        Failure::usage(Code::ReasonRequired, "raising a cap needs a reason").help(match stage {
            Stage::Plan => command!("plan --more {by} --reason WHY"),
            Stage::Build => command!("build --more {by} --reason WHY"),
            _ => command!("clarify --more {by} --reason WHY"),
        })
    })?;
    act(ctx, Needs::Stage, |facts| {
        facts.require_person("a raised cap")?;
        let event = Event::Extended { stage, by };
        let what = format!("extend {stage} by {by}");
        let outcome = Outcome {
            returns: stage == Stage::Plan && outline::is_light(facts),
            ..Outcome::recorded()
        };
        let act = Act::new(event, what, outcome);
        Ok(act.reason(Some(reason.clone())).word(sign))
    })
}

/// The code tree that a record is about; a bare repository has none.
pub(super) fn code_tree(facts: &Facts<'_>) -> Result<Oid> {
    facts
        .code
        .as_ref()
        .map(|code| code.tree.clone())
        .ok_or_else(|| {
            Failure::usage(
                Code::WorktreeRequired,
                "this needs a worktree, and the repository is bare",
            )
            .help("git worktree add ../work")
        })
}

pub(super) fn in_build(facts: &Facts<'_>) -> Result<()> {
    if facts.state.stage == Stage::Build {
        Ok(())
    } else {
        Err(Failure::refused(
            Code::StageMismatch,
            format!(
                "this belongs to stage build; the session is in stage {}",
                facts.state.stage
            ),
        )
        .help(gate::next_action(facts.view())))
    }
}
