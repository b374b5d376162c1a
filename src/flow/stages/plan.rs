//! `plan`: the package of documents, and the loop of architect and critic.

use super::{Outcome, Proposed, require, wrong_stage};
use crate::flow::context::Context;
use crate::flow::transaction::{Act, Done, Facts, Needs, act, act_after};
use crate::flow::{delta, outline};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use loopx_rules::coverage;
use loopx_rules::gate;
use loopx_rules::markdown;
use loopx_rules::op::{Event, PlanLane, PlanVerdict, ReviewFinding};
use loopx_rules::outline::{ANGLES, Complexity, RETURNS, is_angle, may_return, not_an_angle};
use loopx_rules::proposal;
use loopx_rules::proposal::Proposal;
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::template::TemplateInput;
use loopx_spec::front::{FrontMatter, set_field};
use std::collections::BTreeMap;

/// Fields of the plan's front matter, as somebody gives them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub complexity: Option<Complexity>,
    pub angles: Vec<String>,
}

/// `plan`: consumes the approval and lays out the package; run again, begins the next draft after a
/// critic who did not approve.
pub(crate) fn plan(
    ctx: &Context,
    reason: Option<String>,
    written: &Written,
) -> Result<Done<Outcome>> {
    if let Some(odd) = written.angles.iter().find(|one| !is_angle(one)) {
        return Err(
            Failure::usage(Code::AngleInvalid, not_an_angle(odd)).help(command!("plan --show"))
        );
    }
    // Whoever goes back takes the edits along that are open in the plan.
    let is_return = reason.is_some();
    act_after(
        ctx,
        Needs::Stage,
        |state, copy| {
            if let (true, Stage::Build, Some(copy)) = (is_return, state.stage, copy) {
                copy.enter(Stage::Plan);
            }
            Ok(())
        },
        |facts| step(facts, reason.as_deref(), written),
    )
}

/// Step of `plan` in the stage where the session is.
fn step(facts: &Facts<'_>, reason: Option<&str>, written: &Written) -> Result<Act<Outcome>> {
    let state = &facts.state;
    let says = written.complexity.is_some() || !written.angles.is_empty();
    if says && !(state.stage == Stage::Plan && outline::is_light(facts)) {
        return Err(Failure::refused(
            Code::StageNotInProfile,
            "expected --complexity and --angle in stage plan, of a session with a list of tasks",
        )
        .help(gate::next_action(facts.view())));
    }
    match state.stage {
        Stage::Clarify => {
            require(facts, Transition::ClarifyToPlan)?;
            Ok(enter_plan(facts, Transition::ClarifyToPlan).reason(reason.map(str::to_owned)))
        }
        Stage::Review if state.armed(Transition::ReviewToPlan).is_some() => {
            require(facts, Transition::ReviewToPlan)?;
            Ok(enter_plan(facts, Transition::ReviewToPlan).reason(reason.map(str::to_owned)))
        }
        Stage::Plan if facts.view().profile().asks(Artifact::TaskList) => {
            propose_tasks(facts, written).map(|act| act.reason(reason.map(str::to_owned)))
        }
        Stage::Plan => {
            let act = propose_slices(facts).map_or_else(|| next_draft(facts), Ok);
            act.map(|act| act.reason(reason.map(str::to_owned)))
        }
        Stage::Build => replan(facts, reason),
        _ => Err(wrong_stage(facts, "plan")),
    }
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
        profile: facts.view().profile(),
        language: facts.policy.artifacts.language,
    };
    let event = Event::Entered {
        transition,
        scope: Vec::new(),
        out_of_scope: Vec::new(),
        head: None,
    };
    let outcome = Outcome {
        history: state.plan.reviews.clone(),
        ..Outcome::entered(transition)
    };
    let mut act = Act::new(event, "plan", outcome);
    for artifact in facts.view().profile().files_of(Stage::Plan) {
        if !state.artifacts.contains_key(&artifact) {
            act = act.write(artifact, artifact.template(input));
        }
    }
    act
}

/// Moves back from the build, which showed that the plan is wrong. The move closes gates alone, so nobody has to
/// approve it.
fn replan(facts: &Facts<'_>, reason: Option<&str>) -> Result<Act<Outcome>> {
    let transition = Transition::BuildToPlan;
    let blockers = gate::blockers(facts.view(), transition);
    if !blockers.is_empty() {
        return Err(gate::not_ready(transition, blockers));
    }
    let Some(reason) = reason else {
        return Err(wrong_stage(facts, "plan"));
    };
    let plan = &facts.state.plan;
    if outline::is_light(facts) && !may_return(plan.run, plan.extra_iterations) {
        return Err(Failure::waiting(
            Code::PlanReturnsExhausted,
            format!(
                "the plan went back to be changed {RETURNS} times; a person has to allow another return, or to start a session whose plan is reviewed"
            ),
        )
        .help(hint![
            command!("plan --more 1 --reason WHY"),
            "  or: ",
            command!("start --profile standard {}", shell_word(&facts.state.title))
        ]));
    }
    Ok(enter_plan(facts, transition).reason(Some(reason.to_owned())))
}

/// Adds a task for each scenario of the delta that none serves yet, and writes into the plan what somebody says of it.
fn propose_tasks(facts: &Facts<'_>, written: &Written) -> Result<Act<Outcome>> {
    let list = facts.texts.get(&Artifact::TaskList);
    let list = list.map_or("", String::as_str);
    let scenarios = scenarios(facts);
    let proposal = if scenarios.is_empty() && facts.delta.is_unchanged {
        proposal::request(list, &facts.state.title)
    } else {
        proposal::tasks(list, &scenarios)
    };
    let plan = facts.texts.get(&Artifact::Plan);
    let said = plan.and_then(|text| says(text, written));
    let act = match proposal {
        Some(proposal) => proposed(Artifact::TaskList, "task", proposal),
        None if said.is_some() => Act::new(
            Event::Saved,
            "record the complexity and angles of the plan",
            Outcome::recorded(),
        ),
        None => {
            let why = if scenarios.is_empty() {
                "no task was proposed: the delta has no scenario"
            } else {
                "no task was proposed: every scenario of the delta has a task already"
            };
            return Err(
                Failure::nothing(Code::NothingToPropose, why).help(gate::next_action(facts.view()))
            );
        }
    };
    Ok(match said {
        Some(text) => act.write(Artifact::Plan, text),
        None => act,
    })
}

/// The plan with what somebody says of it in its front matter; nothing where it says so.
fn says(text: &str, written: &Written) -> Option<String> {
    let mut out = text.to_owned();
    if let Some(complexity) = written.complexity {
        out = set_field(&out, Complexity::FIELD, complexity.as_str());
    }
    if !written.angles.is_empty() {
        let angles = format!("[{}]", written.angles.join(", "));
        out = set_field(&out, ANGLES, &angles);
    }
    (out != text).then_some(out)
}

/// Lays out slices for the scenarios of the delta, where the plan has none and no critic has judged it.
fn propose_slices(facts: &Facts<'_>) -> Option<Act<Outcome>> {
    let is_asked = facts.view().profile().asks(Artifact::Slices);
    if !is_asked || facts.state.plan_review(PlanLane::Critic).is_some() {
        return None;
    }
    let text = facts.texts.get(&Artifact::Slices);
    let text = text.map_or("", String::as_str);
    let proposal = proposal::slices(text, &scenarios(facts))?;
    let boxes = boxes(facts, &proposal.text);
    let act = proposed(Artifact::Slices, "slice", proposal);
    Some(match boxes {
        Some(text) => act.write(Artifact::Tasks, text),
        None => act,
    })
}

/// The text of tasks.md with a box for each slice, where it is asked for and names no task yet: nobody types twice what
/// the slices say.
fn boxes(facts: &Facts<'_>, slices: &str) -> Option<String> {
    let text = facts.texts.get(&Artifact::Tasks)?;
    let sections = facts.view().profile().sections_of(Artifact::Tasks);
    let empty = markdown::empty_sections(text, sections, facts.policy.artifacts.language);
    (!empty.is_empty()).then(|| proposal::boxes(text, slices))
}

fn scenarios(facts: &Facts<'_>) -> Vec<String> {
    delta::read(&facts.texts).map_or_else(Vec::new, |(delta, _)| coverage::scenarios(&delta))
}

fn proposed(file: Artifact, noun: &'static str, proposal: Proposal) -> Act<Outcome> {
    let outcome = Outcome {
        proposed: Some(Proposed {
            file,
            noun,
            count: proposal.count,
        }),
        ..Outcome::recorded()
    };
    let what = format!("propose {noun}s for the scenarios of the delta");
    Act::new(Event::Saved, what, outcome).write(file, proposal.text)
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
            if state.plan_round() >= max {
                return Err(exhausted(facts).blockers(blockers));
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
            Code::ApprovedTransitionRequired,
            format!(
                "the approval of {} was used, and the plan is ready: no new draft begins",
                Transition::ClarifyToPlan
            ),
        )
        .help(command!("approve --to build"))),
        _ => Err(Failure::refused(
            Code::PlanNotReviewed,
            format!(
                "draft {} waits for its architect and its critic",
                state.plan.iteration
            ),
        )
        .help(gate::next_action(facts.view()))
        .blockers(blockers)),
    }
}

fn exhausted(facts: &Facts<'_>) -> Failure {
    let max = facts.state.max_plan_iterations();
    Failure::refused(
        Code::PlanIterationsExhausted,
        format!("{max} drafts were not approved; a person has to decide how to go on"),
    )
    .help(
        command!("plan --more 5 --reason WHY{}", facts.policy.sign_flag())
            .because(&format!("{max} drafts were not approved")),
    )
}

/// Says of a draft what was found, and asks for another.
fn iterate(lane: PlanLane, found: &str) -> Hint {
    let found = loopx_base::shell_word(found);
    match lane {
        PlanLane::Architect => command!("plan --architect iterate --finding {found}"),
        PlanLane::Critic => command!("plan --critic iterate --finding {found}"),
    }
}

/// Refuses a review that the session's profile does not have.
fn require_lane(facts: &Facts<'_>, lane: PlanLane) -> Result<()> {
    if facts.view().profile().reviews.contains(&lane) {
        return Ok(());
    }
    Err(Failure::refused(
        Code::StageNotInProfile,
        format!(
            "the profile {} has no review of the plan by the {lane}",
            facts.state.profile
        ),
    )
    .help(gate::next_action(facts.view())))
}

/// Refuses a review of the architect that the architect cannot give, or not any more.
fn require_architects_turn(facts: &Facts<'_>, verdict: PlanVerdict) -> Result<()> {
    require_lane(facts, PlanLane::Architect)?;
    if verdict == PlanVerdict::Reject {
        return Err(Failure::usage(
            Code::VerdictUnknown,
            "the architect answers approve or iterate; the critic may reject",
        )
        .help(command!("plan --architect iterate")));
    }
    if facts.state.is_plan_exhausted() {
        return Err(exhausted(facts));
    }
    Ok(())
}

/// Refuses a review of the critic before the architect has reviewed these files.
fn require_critics_turn(facts: &Facts<'_>, files: &BTreeMap<Artifact, Oid>) -> Result<()> {
    require_lane(facts, PlanLane::Critic)?;
    let view = facts.view();
    if !view.profile().reviews.contains(&PlanLane::Architect) {
        return Ok(());
    }
    let what = match facts.state.plan_review(PlanLane::Architect) {
        Some(review) if review.value.files == *files => return Ok(()),
        Some(_) => "the plan changed since the architect's review, which comes first",
        None => "the critic comes after the architect, who has not reviewed this draft",
    };
    Err(Failure::refused(Code::ArchitectReviewRequired, what)
        .help(command!("plan --architect approve")))
}

/// Records what the architect or the critic says of the present draft.
pub(crate) fn plan_review(
    ctx: &Context,
    lane: PlanLane,
    verdict: PlanVerdict,
    findings: &[String],
    reason: Option<String>,
) -> Result<Done<Outcome>> {
    let read: Vec<ReviewFinding> = findings
        .iter()
        .map(|text| ReviewFinding::read_of_plan(text))
        .collect::<Result<_>>()?;
    let heavy = read.iter().find(|one| one.severity.is_blocking());
    if let (PlanVerdict::Approve, Some(finding)) = (verdict, heavy) {
        return Err(Failure::refused(
            Code::VerdictContradictsFinding,
            format!(
                "`approve` cannot stand beside a {} finding: {}",
                finding.severity, finding.text
            ),
        )
        .help(iterate(lane, &finding.to_string())));
    }
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        if state.stage != Stage::Plan {
            return Err(wrong_stage(facts, "plan"));
        }
        let files = gate::covered_files(state, Transition::PlanToBuild);
        match lane {
            PlanLane::Architect => require_architects_turn(facts, verdict)?,
            PlanLane::Critic => require_critics_turn(facts, &files)?,
        }
        // What says nothing but a text is written as older programs read it.
        let (findings, found) = if read.iter().all(ReviewFinding::is_plain) {
            (
                read.iter().map(|one| one.text.clone()).collect(),
                Vec::new(),
            )
        } else {
            (Vec::new(), read.clone())
        };
        let event = Event::PlanReviewed {
            lane,
            verdict,
            findings,
            found,
            files,
        };
        let what = format!("{lane}: {verdict}, draft {}", state.plan.iteration);
        Ok(Act::new(event, what, Outcome::recorded()).reason(reason.clone()))
    })
}
