//! `build`: from the approved plan or a review into the build, and the completion audit that ends an iteration.

use super::{Outcome, code_tree, require, wrong_stage};
use crate::flow::context::Context;
use crate::flow::transaction::{Act, Done, Facts, Needs, act};
use crate::flow::{bound_here, lease};
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::artifact::Artifact;
use loopx_rules::contract::Contract;
use loopx_rules::gate;
use loopx_rules::op::Event;
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::template::TemplateInput;

/// Source of a rework's report.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    /// The session's own.
    Stamped,
    /// A file, which must be that report.
    File {
        path: String,
        bytes: Option<Vec<u8>>,
    },
}

/// Arguments of `build`.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuildRequest {
    pub from_review: Option<Report>,
    pub no_deslop: bool,
    pub reason: Option<String>,
    /// Wish to sign the record.
    pub sign: bool,
}

/// `build`: consumes the approval; run again, ends an iteration with the completion audit.
pub(crate) fn build(ctx: &Context, request: &BuildRequest) -> Result<Done<Outcome>> {
    let before = stage_now(ctx)?;
    let mut met = false;
    let done = act(ctx, Needs::Code, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        let state = &facts.state;
        if before != Stage::Build && state.stage == Stage::Build {
            met = true;
            return Err(Failure::nothing(
                Code::BuildEntered,
                "another command entered the build just now",
            )
            .help(command!("status")));
        }
        let act = match state.stage {
            Stage::Plan => {
                if state.armed(Transition::PlanToBuild).is_some() {
                    require_documents(facts)?;
                }
                require(facts, Transition::PlanToBuild)?;
                Ok(enter_build(facts, request))
            }
            Stage::Review if request.from_review.is_some() => rework(facts, request),
            Stage::Build => {
                bound_here::require_no_other(ctx, &facts.state)?;
                let claim = lease::hold(facts, &owner)?;
                return Ok(audit(facts, request)?.claim(claim).word(request.sign));
            }
            _ => Err(wrong_stage(facts, "build")),
        }?;
        // A build begins: whoever had an earlier one has it no more.
        let claim = loopx_rules::lease::hold(None, &owner, 0, false)?;
        Ok(act.claim(claim).word(request.sign))
    });
    // What was asked for is so; to take it for the end of an iteration would count one that nobody worked in.
    let done = if met { entered(ctx)? } else { done? };
    lease::works(ctx);
    Ok(done)
}

/// The stage before anything is locked: what whoever typed the command had seen.
fn stage_now(ctx: &Context) -> Result<Stage> {
    let store = ctx.store()?;
    Ok(ctx.session(&store.snapshot()?)?.state.stage)
}

/// The build as somebody else entered it.
fn entered(ctx: &Context) -> Result<Done<Outcome>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let state = ctx.session(&snapshot)?.state;
    // In another worktree it is somebody else's build.
    lease::check(ctx, &state)?;
    Ok(Done {
        id: state.id.clone(),
        commit: snapshot.commit().clone(),
        state,
        saved: Vec::new(),
        value: Outcome::recorded(),
    })
}

fn require_documents(facts: &Facts<'_>) -> Result<()> {
    let missing = |artifacts: &[Artifact]| -> Vec<&'static str> {
        artifacts
            .iter()
            .filter(|a| !facts.texts.contains_key(a))
            .map(|a| a.path())
            .collect()
    };
    let profile = facts.view();
    let profile = profile.profile();
    for (code, artifacts) in [
        (
            Code::BuildRequiresApprovedPlanArtifacts,
            &[
                Artifact::Spec,
                Artifact::Proposal,
                Artifact::SpecDelta,
                Artifact::TaskList,
            ][..],
        ),
        (
            Code::BuildRequiresWorkflowPlanArtifacts,
            &Artifact::PLAN_DOCUMENTS[..],
        ),
    ] {
        let asked = artifacts.iter().copied();
        let asked: Vec<Artifact> = asked.filter(|artifact| profile.asks(*artifact)).collect();
        let gone = missing(&asked);
        if !gone.is_empty() {
            return Err(Failure::refused(
                code,
                format!("gone since the plan was approved: {}", gone.join(", ")),
            )
            .help(command!("checkout --force {}", gone[0])));
        }
    }
    Ok(())
}

fn enter_build(facts: &Facts<'_>, request: &BuildRequest) -> Act<Outcome> {
    let state = &facts.state;
    let plan = facts.texts.get(&Artifact::Plan);
    let contract = plan.and_then(|text| Contract::read(text).ok());
    let contract = contract.unwrap_or_default();
    let event = Event::Entered {
        transition: Transition::PlanToBuild,
        scope: contract.scope,
        out_of_scope: contract.out_of_scope,
        head: None,
    };
    let input = TemplateInput {
        id: &state.id,
        title: &state.title,
        intent: &state.title,
        domains: &[],
        profile: facts.view().profile(),
        language: facts.policy.artifacts.language,
    };
    let mut act = Act::new(event, "build", Outcome::entered(Transition::PlanToBuild))
        .reason(request.reason.clone());
    for artifact in facts.view().profile().files_of(Stage::Build) {
        if !state.artifacts.contains_key(&artifact) {
            act = act.write(artifact, artifact.template(input));
        }
    }
    act
}

/// Rework is a contract with the report that asked for it: the report has to be named (S-097, S-098).
fn rework(facts: &Facts<'_>, request: &BuildRequest) -> Result<Act<Outcome>> {
    let own = facts
        .texts
        .get(&Artifact::ReviewReport)
        .map(String::as_bytes);
    match &request.from_review {
        Some(Report::File { path, bytes: None }) => {
            return Err(Failure::refused(
                Code::BuildFromReviewArtifactMissing,
                format!("there is no file {path}"),
            )
            .help(command!("build --from-review")));
        }
        Some(Report::File { path, bytes }) if bytes.as_deref() != own => {
            return Err(Failure::refused(
                Code::BuildFromReviewArtifactRequired,
                format!(
                    "{path} is not the review report of session {}",
                    facts.state.id
                ),
            )
            .help(command!("build --from-review")));
        }
        _ => {}
    }
    require(facts, Transition::ReviewToBuild)?;
    let event = Event::Entered {
        transition: Transition::ReviewToBuild,
        scope: Vec::new(),
        out_of_scope: Vec::new(),
        head: None,
    };
    Ok(Act::new(
        event,
        "build again",
        Outcome::entered(Transition::ReviewToBuild),
    )
    .reason(request.reason.clone()))
}

fn audit(facts: &Facts<'_>, request: &BuildRequest) -> Result<Act<Outcome>> {
    let state = &facts.state;
    let mut judged = state.clone();
    judged.build.no_deslop = request.no_deslop || state.build.no_deslop;
    let view = gate::View {
        state: &judged,
        ..facts.view()
    };
    let blockers = gate::blockers(view, Transition::BuildToReview);
    let (tree, no_deslop) = (code_tree(facts)?, judged.build.no_deslop);
    let words: Vec<String> = blockers.iter().map(Blocker::word).collect();
    let is_new = state.build.is_new_audit(&tree, &words, no_deslop);
    let max = state.max_build_iterations();
    let next = state.build.iteration + u32::from(is_new && state.build.audit.is_some());
    if next > max {
        return Err(Failure::refused(
            Code::BuildIterationsExhausted,
            format!("{max} iterations were not enough; a person has to decide how to go on"),
        )
        .blockers(blockers)
        .help(command!(
            "build --more 5 --reason WHY{}",
            facts.policy.sign_flag()
        )));
    }
    let event = Event::Audited {
        tree,
        blockers: words,
        no_deslop,
    };
    let what = match blockers.len() {
        0 => format!("build iteration {next} passes its audit"),
        n => format!("build iteration {next} has {}", counted(n, "blocker")),
    };
    let outcome = Outcome {
        audit: gate::audit(view),
        ..Outcome::judged(blockers)
    };
    Ok(Act::new(event, what, outcome).reason(request.reason.clone()))
}
