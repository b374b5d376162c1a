//! The gate of plan->build: documents, reviews, change pack.

use super::super::artifact::Artifact;
use super::super::brief;
use super::super::change_pack;
use super::super::contract::{self, Asked, Contract};
use super::super::coverage;
use super::super::headings;
use super::super::intent;
use super::super::markdown;
use super::super::op::{PlanLane, PlanVerdict};
use super::super::outline::header;
use super::super::policy::{EvidenceRule, Language};
use super::super::stage::{Stage, Transition};
use super::super::task::slices::good_plan;
use super::clarify::clarify;
use super::{View, changed_since, covered_files, field_fault, open_blockers};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_spec::front::FrontMatter;

/// Words that say an input is not known yet.
const UNDECIDED: [&str; 5] = ["tbd", "unknown", "later", "to be decided", "待定"];

/// Reference stage-runtime, section 6, "Completion blockers" and "Change blockers".
pub(super) fn plan(view: View<'_>) -> Vec<Blocker> {
    let mut found = Vec::new();
    found.extend(architect_review(view));
    found.extend(critic_verdict(view));
    let asked = |artifact: &Artifact| view.profile().asks(*artifact);
    let documents: Vec<Artifact> = Artifact::PLAN_DOCUMENTS.into_iter().filter(asked).collect();
    found.extend(package(view, &documents));
    found.extend(plan_fields(view));
    for artifact in documents {
        found.extend(document(view, artifact));
    }
    found.extend(change_pack(view));
    found.extend(still_clear(view));
    found.extend(open_blockers(view, Transition::PlanToBuild));
    found
}

/// The rules of clarify, which hold on: the specification is open in this stage, for its execution inputs.
fn still_clear(view: View<'_>) -> Vec<Blocker> {
    let profile = view.profile();
    if !profile.asks(Artifact::Spec) || !profile.has_stage(Stage::Clarify) {
        return Vec::new();
    }
    let mut found = clarify(view);
    for blocker in &mut found {
        // More rounds are granted in clarify alone.
        blocker.help = command!("edit {}", Artifact::Spec);
    }
    found
}

/// Answer of the lane, and whether it covers the plan as that is; `None` where the lane has not answered.
fn answer(view: View<'_>, lane: PlanLane) -> Option<(PlanVerdict, bool)> {
    let review = view.state.plan_review(lane)?;
    let is_fresh = review.value.files == covered_files(view.state, Transition::PlanToBuild);
    Some((review.value.verdict, is_fresh))
}

fn architect_review(view: View<'_>) -> Option<Blocker> {
    if !view.profile().reviews.contains(&PlanLane::Architect) {
        return None;
    }
    let edit = command!("edit plan.md");
    let review = command!("plan --architect approve");
    let (text, help) = match answer(view, PlanLane::Architect) {
        Some((PlanVerdict::Approve, true)) => return None,
        None => ("no architect has reviewed this draft".to_owned(), review),
        Some((PlanVerdict::Approve, false)) => (
            "the plan changed since the architect's review".to_owned(),
            review,
        ),
        Some((verdict, is_fresh)) => (
            format!("the architect answered `{verdict}`"),
            if is_fresh { edit } else { review },
        ),
    };
    Some(Blocker::new(Code::ArchitectReviewIncomplete, text, help))
}

fn critic_verdict(view: View<'_>) -> Option<Blocker> {
    if !view.profile().reviews.contains(&PlanLane::Critic) {
        return None;
    }
    let review = command!("plan --critic approve");
    let (code, text, help) = match answer(view, PlanLane::Critic) {
        Some((PlanVerdict::Approve, true)) => return None,
        Some((PlanVerdict::Approve, false)) => (
            Code::CriticVerdictPending,
            "the plan changed since the critic's verdict".to_owned(),
            review,
        ),
        Some((verdict, _)) => (
            match verdict {
                PlanVerdict::Iterate => Code::CriticVerdictIterate,
                _ => Code::CriticVerdictReject,
            },
            format!(
                "the critic answered `{verdict}` to draft {}",
                view.state.plan.iteration
            ),
            command!("plan"),
        ),
        None => (
            Code::CriticVerdictNone,
            "no critic has judged this draft".to_owned(),
            review,
        ),
    };
    Some(Blocker::new(code, text, help))
}

/// The package is whole: each document that the profile asks for is there.
fn package(view: View<'_>, documents: &[Artifact]) -> Option<Blocker> {
    let is_missing = |artifact: &&Artifact| view.text(**artifact).is_none();
    let first = documents.iter().find(is_missing)?;
    let there = documents.len() - documents.iter().filter(is_missing).count();
    let code = if there == 0 {
        Code::PlanPackageMissing
    } else {
        Code::PlanPackagePartial
    };
    Some(Blocker::new(
        code,
        format!("{there} of {} plan documents are there", documents.len()),
        command!("edit {}", first.path()),
    ))
}

/// Blockers of a document of the package: it has to be there, with text under each heading, in the policy's language.
fn document(view: View<'_>, artifact: Artifact) -> Vec<Blocker> {
    let path = artifact.path();
    let blocker = |code: Code, text: String| {
        Blocker::new(code, text, command!("edit {path}")).about(artifact.key())
    };
    let Some(text) = view.text(artifact) else {
        return vec![blocker(
            Code::MissingPlanArtifact,
            format!("{path} is not there"),
        )];
    };
    let mut found = Vec::new();
    let empty = view.empty_sections(artifact);
    if !empty.is_empty() {
        let headings = empty.join("`, `## ");
        found.push(blocker(
            Code::PlanArtifactEmpty,
            format!("{path}: nothing stands under `## {headings}`"),
        ));
    }
    if view.policy.artifacts.language == Language::Zh {
        let (cjk, latin) = markdown::letters(&markdown::said(&header::without(text)));
        if !markdown::is_chinese(cjk, latin) {
            found.push(blocker(
                Code::PlanArtifactNotChinese,
                format!("{path}: policy asks for Chinese, found {cjk} ideographs and {latin} Latin letters"),
            ));
        }
    }
    found
}

fn plan_fields(view: View<'_>) -> Vec<Blocker> {
    let mut found = Vec::new();
    if let Some(text) = view.text(Artifact::Plan) {
        let asked = view.profile().flags_of(Artifact::Plan);
        let fields = [
            (
                "acceptance_criteria_testable",
                Code::AcceptanceCriteriaUnresolved,
                "the acceptance criteria are not said to be testable",
            ),
            (
                "verification_steps_resolved",
                Code::VerificationStepsUnresolved,
                "the verification steps are not settled",
            ),
        ];
        let fields = fields.into_iter();
        for (field, code, what) in fields.filter(|(field, ..)| asked.iter().any(|one| one == field))
        {
            match FrontMatter::parse(text).and_then(|front| front.boolean(field)) {
                Ok(true) => {}
                Ok(false) => found.push(Blocker::new(
                    code,
                    format!("plan.md: {what} ({field}: false)"),
                    command!("edit plan.md"),
                )),
                Err(fault) => found.push(field_fault(code, Artifact::Plan, &fault)),
            }
        }
        match Contract::read(text) {
            Ok(_) => found.extend(contract_missing(view)),
            Err(fault) => found.push(field_fault(Code::PlanScopeInvalid, Artifact::Plan, &fault)),
        }
    }
    if !view.profile().asks(Artifact::Spec) {
        return found;
    }
    let sections = markdown::sections(view.text(Artifact::Spec).unwrap_or_default());
    let inputs = markdown::section(&sections, "Execution inputs")
        .map(|s| s.items.as_slice())
        .unwrap_or_default();
    let undecided = inputs.iter().find(|item| {
        let lower = item.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .collect();
        let spaced = format!(" {} ", words.join(" "));
        UNDECIDED.iter().any(|word| {
            if word.is_ascii() {
                spaced.contains(&format!(" {word} "))
            } else {
                lower.contains(word)
            }
        })
    });
    if inputs.is_empty() || undecided.is_some() {
        found.push(Blocker::new(
            Code::ExecutionInputsUnresolved,
            match undecided {
                Some(item) => format!("spec.md: the execution input `{item}` is not decided"),
                None => format!(
                    "spec.md: no bullet stands under `## {}`",
                    headings::written("Execution inputs", view.policy.artifacts.language)
                ),
            },
            command!("edit spec.md"),
        ));
    }
    found
}

/// The contract that is asked of the plan because the request is broad: such a request says by itself neither where it ends nor when
/// it is done. Nothing where policy does not ask, or the profile has no plan.
pub fn contract_asked(view: View<'_>) -> Option<Asked> {
    let text = view.text(Artifact::Plan)?;
    let is_asked =
        view.policy.intent.contract == EvidenceRule::Require && view.profile().asks(Artifact::Plan);
    if !is_asked {
        return None;
    }
    let purpose = view.text(Artifact::Intent).and_then(intent::purpose);
    let purpose = purpose.unwrap_or_default();
    let words = contract::broad(&format!("{}\n{purpose}", view.state.title));
    let contract = Contract::read(text).unwrap_or_default();
    (!words.is_empty()).then(|| Asked {
        words,
        missing: contract.missing(),
    })
}

fn contract_missing(view: View<'_>) -> Option<Blocker> {
    let Asked { words, missing } = contract_asked(view)?;
    if missing.is_empty() {
        return None;
    }
    let message = format!(
        "the request is broad, by the words: {}; expected in the front matter of plan.md where it ends, found nothing under {}",
        words.join(", "),
        missing.join(", ")
    );
    let blocker = Blocker::new(Code::ContractMissing, message, command!("edit plan.md"));
    Some(blocker.about(Artifact::Plan.key()))
}

fn change_pack(view: View<'_>) -> Vec<Blocker> {
    let mut found = Vec::new();
    let pack = Artifact::CHANGE_PACK
        .into_iter()
        .chain([Artifact::TaskList]);
    for artifact in pack.filter(|artifact| view.profile().asks(*artifact)) {
        if view.text(artifact).is_none() {
            found.push(
                Blocker::new(
                    Code::MissingChangeArtifact,
                    format!("{} is not there", artifact.path()),
                    command!("edit {}", artifact.path()),
                )
                .about(artifact.key()),
            );
        } else {
            let empty = view.empty_sections(artifact);
            if !empty.is_empty() {
                found.push(
                    Blocker::new(
                        Code::ChangeArtifactEmpty,
                        format!(
                            "{}: nothing stands under `## {}`",
                            artifact.path(),
                            empty.join("`, `## ")
                        ),
                        command!("edit {}", artifact.path()),
                    )
                    .about(artifact.key()),
                );
            }
        }
    }
    found.extend(delta(view));
    let listed = change_pack::present(view.texts).contains(&Artifact::TaskList);
    let list = view.text(Artifact::TaskList).filter(|_| listed);
    let planned = view.slices().map(drop);
    if let Err(blocker) =
        planned.and_then(|()| list.map_or(Ok(()), |text| good_plan(text, &view.state.id)))
    {
        found.push(blocker);
    }
    found.extend(view.delta.strays.iter().cloned());
    found
}

/// Scenarios of the delta that nothing in the plan serves, one blocker for all: the archive asks what proves them, and the
/// way to change the plan ends with plan->build. No gate has it, for a person may approve with a reason and waive them later;
/// and nothing where such an approval stands.
pub fn unserved(view: View<'_>) -> Option<Blocker> {
    let is_asked = view.policy.archive.evidence != EvidenceRule::Off;
    let has_none = view.delta.scenarios.is_empty();
    if !is_asked || has_none || is_spoken_for(view, Transition::PlanToBuild) {
        return None;
    }
    let slices = change_pack::serving(view.texts).ok()?;
    let names = coverage::unserved(&view.delta.scenarios, &slices);
    if names.is_empty() {
        return None;
    }
    let (what, file) = change_pack::checked_by(view.texts);
    let help = match file {
        Artifact::TaskList => command!("plan"),
        _ => command!("edit {file}"),
    };
    let message = format!(
        "no {what} names the scenario `{}` in `scenarios` of {file}, and the archive asks what proves it",
        names.join("`, `")
    );
    Some(Blocker::new(Code::ScenarioUnserved, message, help).about(file.key()))
}

/// Tells whether a word counts on the present content, whether or not it waits for more of them.
fn is_spoken_for(view: View<'_>, way: Transition) -> bool {
    let armed = view.state.armed(way);
    armed
        .filter(|armed| changed_since(armed, view).is_empty())
        .is_some_and(|armed| {
            let weighed = view.credentials.weigh(view.policy, way, &armed.by);
            weighed.iter().any(|one| one.refused.is_none())
        })
}

/// Blockers of the spec delta.
pub fn delta(view: View<'_>) -> Vec<Blocker> {
    let file = brief::delta_file(view.texts);
    let Some((artifact, text)) = file.and_then(|file| Some((file, view.text(file)?))) else {
        return Vec::new();
    };
    let edit = command!("edit {artifact}");
    let path = artifact.path();
    if text.trim().is_empty() {
        return vec![Blocker::new(
            Code::SpecDeltaEmpty,
            format!("{path} is empty"),
            edit,
        )];
    }
    if !view.delta.blockers.is_empty() {
        return view.delta.blockers.clone();
    }
    if view.delta.operations == 0 && !view.delta.is_unchanged {
        return vec![Blocker::new(
            Code::SpecDeltaMissingRequirements,
            format!(
                "{path} changes no requirement; expected a change of a requirement, or `behaviour: unchanged` with a reason"
            ),
            edit,
        )];
    }
    Vec::new()
}
