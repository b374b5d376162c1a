//! The gate of plan->build: documents, reviews, change pack.

use super::super::artifact::Artifact;
use super::super::brief;
use super::super::change_pack;
use super::super::headings;
use super::super::markdown;
use super::super::op::{PlanLane, PlanVerdict};
use super::super::outline::header;
use super::super::policy::Language;
use super::super::stage::Transition;
use super::super::task::slices::good_plan;
use super::{View, covered_files, field_fault, open_blockers};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_spec::front::{Fault, FrontMatter};

/// Words that say an input is not known yet.
const UNDECIDED: [&str; 5] = ["tbd", "unknown", "later", "to be decided", "待定"];

/// Reference stage-runtime, section 6, "Completion blockers" and "Change blockers".
pub(super) fn plan(view: View<'_>) -> Vec<Blocker> {
    let state = view.state;
    let mut found = Vec::new();
    let current = |lane: PlanLane| {
        let review = state.plan_review(lane)?;
        let fresh = review.value.files == covered_files(state, Transition::PlanToBuild);
        Some((review.value.verdict, fresh))
    };
    let asks = |lane: PlanLane| view.profile().reviews.contains(&lane);
    match current(PlanLane::Architect) {
        _ if !asks(PlanLane::Architect) => {}
        Some((PlanVerdict::Approve, true)) => {}
        other => found.push(Blocker::new(
            Code::ArchitectReviewIncomplete,
            match other {
                None => "no architect has reviewed this draft".to_owned(),
                Some((PlanVerdict::Approve, false)) => {
                    "the plan changed since the architect's review".to_owned()
                }
                Some((verdict, _)) => format!("the architect answered `{verdict}`"),
            },
            match other {
                Some((PlanVerdict::Iterate | PlanVerdict::Reject, true)) => {
                    command!("edit plan.md")
                }
                _ => command!("plan --architect approve"),
            },
        )),
    }
    match current(PlanLane::Critic) {
        _ if !asks(PlanLane::Critic) => {}
        Some((PlanVerdict::Approve, true)) => {}
        Some((PlanVerdict::Approve, false)) => found.push(Blocker::new(
            Code::CriticVerdictPending,
            "the plan changed since the critic's verdict",
            command!("plan --critic approve"),
        )),
        Some((verdict, _)) => found.push(Blocker::new(
            match verdict {
                PlanVerdict::Iterate => Code::CriticVerdictIterate,
                _ => Code::CriticVerdictReject,
            },
            format!(
                "the critic answered `{verdict}` to draft {}",
                state.plan.iteration
            ),
            command!("plan"),
        )),
        None => found.push(Blocker::new(
            Code::CriticVerdictNone,
            "no critic has judged this draft",
            command!("plan --critic approve"),
        )),
    }
    let asked = |artifact: &Artifact| view.profile().asks(*artifact);
    let documents: Vec<Artifact> = Artifact::PLAN_DOCUMENTS.into_iter().filter(asked).collect();
    let there = documents
        .iter()
        .filter(|a| view.text(**a).is_some())
        .count();
    if there < documents.len() {
        found.push(Blocker::new(
            if there == 0 {
                Code::PlanPackageMissing
            } else {
                Code::PlanPackagePartial
            },
            format!("{there} of {} plan documents are there", documents.len()),
            command!(
                "edit {}",
                documents
                    .iter()
                    .find(|a| view.text(**a).is_none())
                    .map_or("plan.md", |a| a.path())
            ),
        ));
    }
    found.extend(plan_fields(view));
    for artifact in documents {
        let key = artifact.key();
        let edit = command!("edit {}", artifact.path());
        let Some(text) = view.text(artifact) else {
            found.push(
                Blocker::new(
                    Code::MissingPlanArtifact,
                    format!("{} is not there", artifact.path()),
                    command!("edit {}", artifact.path()),
                )
                .about(key),
            );
            continue;
        };
        let empty = view.empty_sections(artifact);
        if !empty.is_empty() {
            found.push(
                Blocker::new(
                    Code::PlanArtifactEmpty,
                    format!(
                        "{}: nothing stands under `## {}`",
                        artifact.path(),
                        empty.join("`, `## ")
                    ),
                    edit.clone(),
                )
                .about(key),
            );
        }
        if view.policy.artifacts.language == Language::Zh {
            let (cjk, latin) = markdown::letters(&markdown::said(&header::without(text)));
            if !markdown::is_chinese(cjk, latin) {
                found.push(Blocker::new(
                    Code::PlanArtifactNotChinese,
                    format!("{}: policy asks for Chinese, found {cjk} ideographs and {latin} Latin letters", artifact.path()),
                    edit,
                ).about(key));
            }
        }
    }
    found.extend(change_pack(view));
    found.extend(open_blockers(view, Transition::PlanToBuild));
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
        if let Err(fault) = scope_patterns(text) {
            found.push(field_fault(Code::PlanScopeInvalid, Artifact::Plan, &fault));
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

/// The declared scope of a plan: path patterns, empty for everything.
pub fn scope_patterns(plan: &str) -> Result<Vec<String>, Fault> {
    let front = FrontMatter::parse(plan)?;
    let scope = front.list("scope")?;
    loopx_base::globs::Globs::new(&scope).map_err(|failure| Fault {
        line: 1,
        field: Some("scope"),
        message: format!("scope: {}", failure.message),
        missing: false,
    })?;
    Ok(scope)
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

/// What is wrong with the spec delta.
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
                "{path} adds, modifies, removes or renames no requirement, and does not say `behaviour: unchanged`"
            ),
            edit,
        )];
    }
    Vec::new()
}
