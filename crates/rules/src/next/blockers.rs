//! The step that leads on from what holds a stage.

use super::advised::Advised;
use super::build;
use crate::artifact::Artifact;
use crate::gate::{self, View};
use crate::op::{PlanLane, PlanVerdict};
use crate::stage::Transition;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, PLACES, Verb, command, hint};

/// The step that leads on from blockers: documents come before reviews, for a review of an empty plan helps nobody.
pub(super) fn by_blockers(view: View<'_>, blockers: &[Blocker]) -> Option<Advised> {
    if let Some(again) = redraft(view, blockers) {
        return Some(again);
    }
    let is_edit = |blocker: &&Blocker| {
        let lead = blocker.help.lead();
        let verb = lead
            .as_ref()
            .and_then(Hint::command)
            .map(|lead| lead.verb());
        verb == Some(Verb::Edit)
    };
    let is_review = |blocker: &&Blocker| blocker.code.is_of_plan_review();
    // Files are written in the order in which they build on each other.
    let place = |blocker: &&Blocker| {
        let lead = blocker.help.lead();
        let file = lead
            .as_ref()
            .and_then(Hint::command)
            .map(|lead| lead.args());
        let file = file.and_then(|args| Artifact::parse(args.trim()).ok());
        file.and_then(|file| Artifact::ALL.iter().position(|one| *one == file))
    };
    let first = blockers
        .iter()
        .filter(|blocker| is_edit(blocker) && !is_review(blocker))
        .min_by_key(place)
        .or_else(|| blockers.iter().find(|blocker| !is_review(blocker)))
        .or(blockers.first())?;
    if proposes_slices(view, first) {
        return Some(command!("plan").into());
    }
    Some(leading(view, first))
}

/// Tells whether missing slices can be made of the delta's scenarios: nobody writes by hand what the program can.
fn proposes_slices(view: View<'_>, blocker: &Blocker) -> bool {
    blocker.code == Code::VerticalSlicesMissing
        && !view.delta.scenarios.is_empty()
        && view.state.plan_review(PlanLane::Critic).is_none()
}

/// The draft that a critic asked for: another one, and in it something that differs.
fn redraft(view: View<'_>, blockers: &[Blocker]) -> Option<Advised> {
    let state = view.state;
    if !blockers
        .iter()
        .any(|blocker| blocker.code.is_of_plan_review())
    {
        return None;
    }
    let newest = state.plan.reviews.iter().rev();
    let newest = newest
        .filter(|review| review.value.run == state.plan.run)
        .find(|review| review.value.verdict != PlanVerdict::Approve)?;
    let found = match newest.value.findings.as_slice() {
        [] => format!(
            "the {} answered `{}`",
            newest.value.lane, newest.value.verdict
        ),
        findings => format!("the {} found: {}", newest.value.lane, findings.join("; ")),
    };
    let refused = state.plan_review(PlanLane::Critic);
    let is_exhausted = state.is_plan_exhausted();
    if is_exhausted || refused.is_some_and(|review| review.value.verdict != PlanVerdict::Approve) {
        let next = if is_exhausted {
            let why = format!("{} drafts were not approved", state.plan_round());
            command!("plan --more 5 --reason WHY{}", view.policy.sign_flag()).because(&why)
        } else {
            command!("plan")
        };
        return Some(Advised::from(next).advice(found));
    }
    let now = gate::covered_files(state, Transition::PlanToBuild);
    let is_last = state
        .plan
        .reviews
        .last()
        .is_some_and(|last| last.op == newest.op);
    (is_last && newest.value.files == now)
        .then(|| Advised::from(command!("edit plan.md")).advice(found))
}

fn is_of(lead: &Hint, verb: Verb) -> bool {
    lead.command().is_some_and(|lead| lead.verb() == verb)
}

/// The file of a session that a finding stands in, where the way out of the finding is a text and no command.
pub fn mended_in(blocker: &Blocker) -> Option<Artifact> {
    let is_finding = matches!(blocker.code, Code::Finding(_));
    if !is_finding || blocker.help.commands().next().is_some() {
        return None;
    }
    let (path, _) = blocker.message.split_once(':')?;
    Artifact::at(path)
}

/// The step that leads on from one blocker, without a place that somebody would have to fill.
pub(super) fn leading(view: View<'_>, blocker: &Blocker) -> Advised {
    let Some(lead) = blocker.help.lead() else {
        if let Some(file) = mended_in(blocker) {
            let told = hint![format!("{}: ", blocker.message), &blocker.help];
            return Advised::from(command!("edit {file}")).advice(told);
        }
        return Advised::write(hint![format!("{}: ", blocker.message), &blocker.help]);
    };
    // Nobody has a reason ready for a word that lets work pass.
    let lead = match blocker.code {
        Code::TasksOpen => lead,
        _ => lead.because(&blocker.message),
    };
    match blocker.code {
        Code::ClarifyMaxRoundsExceeded
        | Code::ClarifyAmbiguityScoreAboveThreshold
        | Code::SessionConflict => lead.into(),
        Code::UnresolvedAmbiguity => match lead.command().map(|lead| lead.verb()) {
            // Nothing is there to put: it is written.
            Some(Verb::Put) => command!("edit spec.md").into(),
            _ => lead.into(),
        },
        Code::DelegationActive
        | Code::LaneIncompleteExecution
        | Code::ArchitectPending
        | Code::DeslopPending
        | Code::ScenarioUnserved => Advised::from(lead).advice(blocker.message.clone()),
        Code::ArchitectReviewIncomplete | Code::CriticVerdictPending | Code::CriticVerdictNone
            if is_of(&lead, Verb::Plan) =>
        {
            let back = if blocker.code == Code::ArchitectReviewIncomplete {
                command!("plan --architect iterate --finding WHAT")
            } else {
                command!("plan --critic iterate --finding WHAT")
            };
            Advised::from(lead).advice(hint!["read the plan first; to send it back: ", back])
        }
        // What nobody mended is written, not answered.
        Code::FindingOpen if has_place(&lead) => {
            Advised::from(command!("edit plan.md")).advice(blocker.message.clone())
        }
        Code::RegressionPending | Code::RegressionFailed => build::regression(view),
        code if code.is_of_dependency() => {
            Advised::waits("another session", blocker.message.clone())
        }
        _ if has_place(&lead) => match without_place(view, &lead) {
            Some(command) => command.into(),
            None => Advised::write(hint![format!("{}: ", blocker.message), lead]),
        },
        _ => lead.into(),
    }
}

/// Tells whether a command has a place that the program cannot fill.
fn has_place(command: &Hint) -> bool {
    let args = command.command().map_or("", |command| command.args());
    args.split(' ')
        .any(|word| PLACES.contains(&word) || word.trim_end_matches('\'').ends_with("=N"))
}

fn without_place(view: View<'_>, lead: &Hint) -> Option<Hint> {
    match lead.command()?.verb() {
        Verb::Run => build::any_check(view),
        _ => None,
    }
}
