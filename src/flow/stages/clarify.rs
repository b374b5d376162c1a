//! `clarify`: rounds of questions, and the way back to them.

use super::{Outcome, require, wrong_stage};
use crate::flow::context::Context;
use crate::flow::transaction::{Act, Done, Facts, Needs, act};
use loopx_base::failure::Result;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::op::Event;
use loopx_rules::profile::ProfileName;
use loopx_rules::stage::{Stage, Transition};
use loopx_spec::front::{FrontMatter, set_field};

/// `clarify`: ends a round of clarification and judges it; or goes back to clarify from a review.
pub(crate) fn clarify(
    ctx: &Context,
    profile: Option<ProfileName>,
    reason: Option<String>,
) -> Result<Done<Outcome>> {
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        match state.stage {
            Stage::Clarify => {
                let profile = profile.clone().unwrap_or_else(|| state.profile.clone());
                let mut judged = state.clone();
                judged.profile = profile.clone();
                let read = gate::ReadSections::default();
                let view = gate::View {
                    state: &judged,
                    read: &read,
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
                    out_of_scope: Vec::new(),
                    head: None,
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

/// Going back to clarify keeps text and round; score and flags must be earned again (S-094), and so must a number of
/// open questions that somebody keeps by hand.
fn reopened_spec(text: &str) -> String {
    let counted = FrontMatter::parse(text)
        .and_then(|front| front.count("unresolved_ambiguity_count"))
        .ok();
    let mut text = match counted {
        Some(open) => set_field(text, "unresolved_ambiguity_count", &open.max(1).to_string()),
        None => text.to_owned(),
    };
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
