//! The stage commands clarify, plan and build: entering a stage consumes its approval; run again
//! inside the stage they judge its work, or record what a lane of it said.

use super::act::{Act, Done, Facts, Needs, act};
use super::context::Context;
use super::lease;
use crate::core::artifact::{Artifact, TemplateInput};
use crate::core::failure::{Blocker, Failure, Result};
use crate::core::front::{FrontMatter, set_field};
use crate::core::gate;
use crate::core::id::Oid;
use crate::core::op::{
    Delegation, DelegationStatus, Event, Lane, LaneStatus, PlanLane, PlanVerdict, Profile,
};
use crate::core::session::{PlanReview, Recorded};
use crate::core::stage::{Stage, Transition};

/// What a stage command came to.
#[derive(Debug)]
pub struct Outcome {
    /// The stage was entered by this command.
    pub entered: Option<Transition>,
    /// What stands between the stage and the next one, where the command judged that.
    pub blockers: Vec<Blocker>,
    /// The audit's lines, for build.
    pub audit: Vec<gate::AuditItem>,
    /// What earlier drafts were told, for plan.
    pub history: Vec<Recorded<PlanReview>>,
    /// Whether the command judged anything: then blockers mean exit 1.
    pub judged: bool,
}

impl Outcome {
    fn entered(transition: Transition) -> Self {
        Outcome {
            entered: Some(transition),
            blockers: Vec::new(),
            audit: Vec::new(),
            history: Vec::new(),
            judged: false,
        }
    }

    fn recorded() -> Self {
        Outcome {
            entered: None,
            blockers: Vec::new(),
            audit: Vec::new(),
            history: Vec::new(),
            judged: false,
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
    Failure::refused(
        "approved_transition_required",
        format!(
            "`{command}` needs an approved {needed}; the session is in stage {}",
            state.stage
        ),
    )
    .blockers(vec![Blocker::new(
        "approved_transition_required",
        format!("{needed} has not been approved"),
        gate::next_action(facts.view()),
    )])
    .help(gate::next_action(facts.view()))
}

/// Raises a cap by a named person's word.
pub fn extend(
    ctx: &Context,
    stage: Stage,
    by: u32,
    reason: Option<String>,
) -> Result<Done<Outcome>> {
    let reason = reason.ok_or_else(|| {
        Failure::usage("reason_required", "raising a cap needs a reason")
            .help(format!("git loopx {stage} --more {by} --reason WHY"))
    })?;
    act(ctx, Needs::Stage, |_| {
        let event = Event::Extended { stage, by };
        let what = format!("extend {stage} by {by}");
        Ok(Act::new(event, what, Outcome::recorded()).reason(Some(reason.clone())))
    })
}

/// `clarify`: ends a round of clarification and judges it; or goes back to clarify from a review.
pub fn clarify(
    ctx: &Context,
    profile: Option<Profile>,
    reason: Option<String>,
) -> Result<Done<Outcome>> {
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        match state.stage {
            Stage::Clarify => {
                let profile = profile.unwrap_or(state.profile);
                let mut judged = state.clone();
                judged.profile = profile;
                let view = gate::View {
                    state: &judged,
                    ..facts.view()
                };
                let blockers = gate::blockers(view, Transition::ClarifyToPlan);
                let what = clarify_subject(facts);
                Ok(Act::new(
                    Event::Clarified { profile },
                    what,
                    Outcome::judged(blockers),
                )
                .reason(reason.clone()))
            }
            Stage::Review if state.armed(Transition::ReviewToClarify).is_some() => {
                require(facts, Transition::ReviewToClarify)?;
                let event = Event::Entered {
                    transition: Transition::ReviewToClarify,
                    scope: Vec::new(),
                };
                let spec =
                    reopened_spec(facts.texts.get(&Artifact::Spec).map_or("", String::as_str));
                let outcome = Outcome::entered(Transition::ReviewToClarify);
                Ok(Act::new(event, "clarify again", outcome)
                    .write(Artifact::Spec, spec)
                    .reason(reason.clone()))
            }
            _ => Err(wrong_stage(facts, "clarify")),
        }
    })
}

fn clarify_subject(facts: &Facts<'_>) -> String {
    let front = facts
        .texts
        .get(&Artifact::Spec)
        .and_then(|text| FrontMatter::parse(text).ok())
        .unwrap_or_default();
    match (front.count("current_round"), front.ratio("ambiguity_score")) {
        (Ok(round), Ok(score)) => format!("clarify, round {round}, ambiguity {score}"),
        _ => "clarify".to_owned(),
    }
}

/// Going back to clarify keeps text and round; score and flags must be earned again (S-094).
fn reopened_spec(text: &str) -> String {
    let open = FrontMatter::parse(text)
        .and_then(|front| front.count("unresolved_ambiguity_count"))
        .unwrap_or(1)
        .max(1);
    let mut text = set_field(text, "unresolved_ambiguity_count", &open.to_string());
    for (field, value) in [
        ("ambiguity_score", "1.0"),
        ("non_goals_resolved", "false"),
        ("decision_boundaries_resolved", "false"),
        ("pressure_pass_complete", "false"),
    ] {
        text = set_field(&text, field, value);
    }
    text
}

/// `plan`: consumes the approval and lays out the package; run again, begins the next draft after a
/// critic who did not approve.
pub fn plan(ctx: &Context, reason: Option<String>) -> Result<Done<Outcome>> {
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        match state.stage {
            Stage::Clarify => {
                require(facts, Transition::ClarifyToPlan)?;
                Ok(enter_plan(facts, Transition::ClarifyToPlan).reason(reason.clone()))
            }
            Stage::Review if state.armed(Transition::ReviewToPlan).is_some() => {
                require(facts, Transition::ReviewToPlan)?;
                Ok(enter_plan(facts, Transition::ReviewToPlan).reason(reason.clone()))
            }
            Stage::Plan => next_draft(facts).map(|act| act.reason(reason.clone())),
            _ => Err(wrong_stage(facts, "plan")),
        }
    })
}

fn enter_plan(facts: &Facts<'_>, transition: Transition) -> Act<Outcome> {
    let state = &facts.state;
    let domains = facts
        .texts
        .get(&Artifact::Spec)
        .and_then(|text| FrontMatter::parse(text).ok())
        .and_then(|front| front.list("target_domains").ok())
        .unwrap_or_default();
    let intent = facts
        .texts
        .get(&Artifact::Intent)
        .map_or("", String::as_str);
    let input = TemplateInput {
        id: &state.id,
        title: &state.title,
        intent,
        domains: &domains,
    };
    let event = Event::Entered {
        transition,
        scope: Vec::new(),
    };
    let outcome = Outcome {
        history: state.plan.reviews.clone(),
        ..Outcome::entered(transition)
    };
    let mut act = Act::new(event, "plan", outcome);
    for artifact in Artifact::PLAN_DOCUMENTS
        .into_iter()
        .chain(Artifact::CHANGE_PACK)
    {
        if !state.artifacts.contains_key(&artifact) {
            act = act.write(artifact, artifact.template(input));
        }
    }
    act
}

fn next_draft(facts: &Facts<'_>) -> Result<Act<Outcome>> {
    let state = &facts.state;
    let blockers = gate::blockers(facts.view(), Transition::PlanToBuild);
    let critic = state
        .plan_review(PlanLane::Critic)
        .map(|review| review.value.verdict);
    match critic {
        Some(PlanVerdict::Iterate | PlanVerdict::Reject) => {
            let max = state.max_plan_iterations();
            if state.plan.iteration >= max {
                return Err(Failure::refused(
                    "plan_iterations_exhausted",
                    format!("{max} drafts were not approved; a person has to decide how to go on"),
                )
                .blockers(blockers)
                .help("git loopx plan --more 5 --reason WHY"));
            }
            let outcome = Outcome {
                history: state.plan.reviews.clone(),
                ..Outcome::recorded()
            };
            Ok(Act::new(
                Event::Drafted,
                format!("plan, draft {}", state.plan.iteration + 1),
                outcome,
            ))
        }
        _ if blockers.is_empty() => Err(Failure::refused(
            "approved_transition_required",
            format!(
                "{} was consumed, and the plan is ready: it is not drafted again",
                Transition::ClarifyToPlan
            ),
        )
        .help("git loopx approve --to build")),
        _ => Err(Failure::refused(
            "plan_not_reviewed",
            format!(
                "draft {} waits for its architect and its critic",
                state.plan.iteration
            ),
        )
        .help(gate::next_action(facts.view()))
        .blockers(blockers)),
    }
}

/// Records what the architect or the critic says of the present draft.
pub fn plan_review(
    ctx: &Context,
    lane: PlanLane,
    verdict: PlanVerdict,
    findings: &[String],
    reason: Option<String>,
) -> Result<Done<Outcome>> {
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        if state.stage != Stage::Plan {
            return Err(wrong_stage(facts, "plan"));
        }
        let files = gate::covered_files(state, Transition::PlanToBuild);
        if lane == PlanLane::Architect && verdict == PlanVerdict::Reject {
            return Err(Failure::usage(
                "verdict_unknown",
                "the architect answers approve or iterate; the critic may reject",
            )
            .help("git loopx plan --architect iterate --finding WHAT"));
        }
        if lane == PlanLane::Critic {
            let architect = state.plan_review(PlanLane::Architect);
            if architect.is_none_or(|review| review.value.files != files) {
                return Err(Failure::refused(
                    "architect_review_required",
                    match architect {
                        None => {
                            "the critic comes after the architect, who has not reviewed this draft"
                                .to_owned()
                        }
                        Some(_) => {
                            "the plan changed since the architect's review, which comes first"
                                .to_owned()
                        }
                    },
                )
                .help("git loopx plan --architect approve"));
            }
        }
        let event = Event::PlanReviewed {
            lane,
            verdict,
            findings: findings.to_vec(),
            files,
        };
        let what = format!("{lane}: {verdict}, draft {}", state.plan.iteration);
        Ok(Act::new(event, what, Outcome::recorded()).reason(reason.clone()))
    })
}

/// Where a rework's report comes from.
#[derive(Clone, Debug)]
pub enum Report {
    /// The session's own.
    Recorded,
    /// A file, which must be that report.
    File {
        path: String,
        bytes: Option<Vec<u8>>,
    },
}

/// What `build` was asked for.
#[derive(Clone, Debug, Default)]
pub struct BuildRequest {
    pub from_review: Option<Report>,
    pub no_deslop: bool,
    pub reason: Option<String>,
}

/// `build`: consumes the approval; run again, ends an iteration with the completion audit.
pub fn build(ctx: &Context, request: &BuildRequest) -> Result<Done<Outcome>> {
    let done = act(ctx, Needs::Code, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        let state = &facts.state;
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
                let claim = lease::hold(facts, &owner)?;
                return Ok(audit(facts, request)?.claim(claim));
            }
            _ => Err(wrong_stage(facts, "build")),
        }?;
        // A build begins: whoever had an earlier one has it no more.
        let claim = crate::core::lease::hold(None, &owner, 0, false)?;
        Ok(act.claim(claim))
    })?;
    lease::works(ctx);
    Ok(done)
}

fn require_documents(facts: &Facts<'_>) -> Result<()> {
    let missing = |artifacts: &[Artifact]| -> Vec<&'static str> {
        artifacts
            .iter()
            .filter(|a| !facts.texts.contains_key(a))
            .map(|a| a.path())
            .collect()
    };
    for (code, artifacts) in [
        (
            "build_requires_approved_plan_artifacts",
            &[Artifact::Spec, Artifact::Proposal, Artifact::SpecDelta][..],
        ),
        (
            "build_requires_workflow_plan_artifacts",
            &Artifact::PLAN_DOCUMENTS[..],
        ),
    ] {
        let gone = missing(artifacts);
        if !gone.is_empty() {
            return Err(Failure::refused(
                code,
                format!("gone since the plan was approved: {}", gone.join(", ")),
            )
            .help(format!("git loopx checkout --force {}", gone[0])));
        }
    }
    Ok(())
}

fn enter_build(facts: &Facts<'_>, request: &BuildRequest) -> Act<Outcome> {
    let state = &facts.state;
    let scope = facts
        .texts
        .get(&Artifact::Plan)
        .and_then(|text| gate::scope_patterns(text).ok())
        .unwrap_or_default();
    let event = Event::Entered {
        transition: Transition::PlanToBuild,
        scope,
    };
    let input = TemplateInput {
        id: &state.id,
        title: &state.title,
        intent: "",
        domains: &[],
    };
    let mut act = Act::new(event, "build", Outcome::entered(Transition::PlanToBuild))
        .reason(request.reason.clone());
    if !state.artifacts.contains_key(&Artifact::ExecutionRecord) {
        act = act.write(
            Artifact::ExecutionRecord,
            Artifact::ExecutionRecord.template(input),
        );
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
                "build_from_review_artifact_missing",
                format!("there is no file {path}"),
            )
            .help("git loopx build --from-review"));
        }
        Some(Report::File { path, bytes }) if bytes.as_deref() != own => {
            return Err(Failure::refused(
                "build_from_review_artifact_required",
                format!(
                    "{path} is not the review report of session {}",
                    facts.state.id
                ),
            )
            .help("git loopx build --from-review"));
        }
        _ => {}
    }
    require(facts, Transition::ReviewToBuild)?;
    let event = Event::Entered {
        transition: Transition::ReviewToBuild,
        scope: Vec::new(),
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
    let max = state.max_build_iterations();
    let next = state.build.iteration + u32::from(state.build.audit.is_some());
    if next > max {
        return Err(Failure::refused(
            "build_iterations_exhausted",
            format!("{max} iterations were not enough; a person has to decide how to go on"),
        )
        .blockers(gate::blockers(facts.view(), Transition::BuildToReview))
        .help("git loopx build --more 5 --reason WHY"));
    }
    let mut judged = state.clone();
    judged.build.no_deslop = request.no_deslop || state.build.no_deslop;
    let view = gate::View {
        state: &judged,
        ..facts.view()
    };
    let blockers = gate::blockers(view, Transition::BuildToReview);
    let event = Event::Audited {
        tree: code_tree(facts)?,
        blockers: blockers.iter().map(|b| b.code.clone()).collect(),
        no_deslop: judged.build.no_deslop,
    };
    let what = match blockers.len() {
        0 => format!("build iteration {next} passes its audit"),
        n => format!(
            "build iteration {next} has {n} blocker{}",
            if n == 1 { "" } else { "s" }
        ),
    };
    let outcome = Outcome {
        audit: gate::audit(view),
        ..Outcome::judged(blockers)
    };
    Ok(Act::new(event, what, outcome).reason(request.reason.clone()))
}

/// The code tree that a record is about; a bare repository has none.
pub(super) fn code_tree(facts: &Facts<'_>) -> Result<Oid> {
    facts
        .code
        .as_ref()
        .map(|code| code.tree.clone())
        .ok_or_else(|| {
            Failure::usage(
                "worktree_required",
                "this needs a worktree, and the repository is bare",
            )
            .help("git worktree add ../work BRANCH")
        })
}

pub(super) fn in_build(facts: &Facts<'_>) -> Result<()> {
    if facts.state.stage == Stage::Build {
        Ok(())
    } else {
        Err(Failure::refused(
            "stage_mismatch",
            format!(
                "this belongs to stage build; the session is in stage {}",
                facts.state.stage
            ),
        )
        .help(gate::next_action(facts.view())))
    }
}

/// Records the report of a build lane.
pub fn report_lane(
    ctx: &Context,
    lane: Lane,
    status: LaneStatus,
    summary: Option<String>,
) -> Result<Done<Outcome>> {
    let done = act(ctx, Needs::Code, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        in_build(facts)?;
        // The architect looks at it from outside, perhaps in another clone.
        let claim = match lane {
            Lane::Architect => None,
            Lane::Execution | Lane::Deslop => lease::hold(facts, &owner)?,
        };
        let event = Event::LaneReported {
            lane,
            status,
            summary: summary.clone().unwrap_or_default(),
            tree: code_tree(facts)?,
        };
        let what = format!("{lane} lane: {status}");
        Ok(Act::new(event, what, Outcome::recorded())
            .reason(summary.clone())
            .claim(claim))
    })?;
    lease::works(ctx);
    Ok(done)
}

/// What was handed to somebody else.
#[derive(Clone, Debug)]
pub struct DelegationRequest {
    pub id: String,
    pub status: DelegationStatus,
    pub role: Option<String>,
    pub blocking: Option<bool>,
    pub summary: Option<String>,
}

/// Opens, changes or closes an entry of the delegation ledger.
pub fn delegate(ctx: &Context, request: &DelegationRequest) -> Result<Done<Outcome>> {
    let done = act(ctx, Needs::Stage, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        in_build(facts)?;
        let claim = lease::hold(facts, &owner)?;
        let known = facts
            .state
            .build
            .delegations
            .iter()
            .find(|d| d.id == request.id);
        let delegation = Delegation {
            id: request.id.clone(),
            status: request.status,
            role: request
                .role
                .clone()
                .or_else(|| known.map(|d| d.role.clone()))
                .unwrap_or_else(|| "worker".into()),
            blocking: request
                .blocking
                .or_else(|| known.map(|d| d.blocking))
                .unwrap_or(true),
            summary: request
                .summary
                .clone()
                .or_else(|| known.map(|d| d.summary.clone()))
                .unwrap_or_default(),
        };
        let what = format!("delegation {}: {}", request.id, request.status);
        Ok(
            Act::new(Event::Delegated { delegation }, what, Outcome::recorded())
                .reason(request.summary.clone())
                .claim(claim),
        )
    })?;
    lease::works(ctx);
    Ok(done)
}

/// A named person's word that a slice needs no evidence.
pub fn waive(ctx: &Context, task: &str, reason: Option<String>) -> Result<Done<Outcome>> {
    let reason = reason.ok_or_else(|| {
        Failure::usage("reason_required", "waiving evidence needs a reason")
            .help(format!("git loopx build --waive {task} --reason WHY"))
    })?;
    act(ctx, Needs::Stage, |facts| {
        in_build(facts)?;
        let slices =
            crate::core::pack::slices(facts.texts.get(&Artifact::Slices).map(String::as_str))
                .unwrap_or_default();
        if !slices.iter().any(|slice| slice.id == task) {
            let ids: Vec<&str> = slices.iter().map(|slice| slice.id.as_str()).collect();
            return Err(Failure::not_found(
                "slice_unknown",
                format!("no slice is named `{task}`; there are {}", ids.join(", ")),
            ));
        }
        if facts.policy.denies(facts.actor()?) {
            return Err(Failure::refused(
                "approver_denied",
                format!(
                    "policy does not let {} waive (approve.deny in loopx.toml)",
                    facts.actor()?
                ),
            ));
        }
        let event = Event::Waived {
            task: task.to_owned(),
        };
        Ok(
            Act::new(event, format!("waive {task}"), Outcome::recorded())
                .reason(Some(reason.clone())),
        )
    })
}
