//! The check of values against their gate: whoever judges scores what the rubric names, and nothing else.

use super::gate::Gate;
use super::points::Points;
use super::values::{BEST_RATING, Decision, Verdict};
use crate::intent;
use crate::session::State;

/// The view that compares a document with the statements of the request.
const COVERAGE: &str = "coverage";

/// Fault of the values, in words; nothing where they can be judged.
pub fn misfit(gate: &Gate, given: &Decision, state: &State) -> Option<String> {
    if given.parse_failed {
        return None;
    }
    if !given.says_something() && given.severity.is_none() && given.mean.is_none() {
        return Some(format!("expected {}", wanted(gate, state)));
    }
    let best = Points::whole(BEST_RATING);
    if let Some(mean) = given.mean.filter(|mean| *mean > best) {
        return Some(format!(
            "expected a mean of ratings from 0 to {best}, found {mean}"
        ));
    }
    let scale = gate.rubric.scale;
    let too_large = |score: &&Points| **score > scale;
    if let Some(score) = given
        .score
        .iter()
        .chain(given.scores.values())
        .find(too_large)
    {
        return Some(format!("expected scores from 0 to {scale}, found {score}"));
    }
    outcome(gate, given)
        .or_else(|| dimensions(gate, given, state))
        .or_else(|| views(gate, given, state))
}

/// A fault of the outcome of a decision.
fn outcome(gate: &Gate, given: &Decision) -> Option<String> {
    let goes_on = given
        .verdict
        .is_none_or(|verdict| verdict == Verdict::Proceed);
    way_fault(gate, given.outcome.as_deref(), goes_on)
}

/// A fault of the way on: whoever lets the work go on says which one, where there are several; nobody else does.
pub fn way_fault(gate: &Gate, way: Option<&str>, goes_on: bool) -> Option<String> {
    let known = gate.outcome_words();
    match way {
        Some(word) if known.is_empty() => {
            Some(format!("the gate has no outcomes, and none is `{word}`"))
        }
        Some(word) if !known.iter().any(|one| one.eq_ignore_ascii_case(word)) => Some(format!(
            "the gate has no outcome `{word}`; it has {}",
            known.join(", ")
        )),
        None if goes_on && !known.is_empty() => Some(format!(
            "nobody says which way it goes on; expected --outcome {}",
            known.join(", or ")
        )),
        _ => None,
    }
}

/// The views that have to rate. Nobody can say what covers a request that is no list (reference 4.13).
pub fn asked<'g>(gate: &'g Gate, state: &State) -> impl Iterator<Item = &'g String> {
    let has_list = state.files.contains_key(intent::FILE);
    let views = gate.views.iter();
    views.filter(move |view| has_list || view.as_str() != COVERAGE)
}

/// The values that a gate asks for.
pub fn wanted(gate: &Gate, state: &State) -> String {
    let dimensions = gate.rubric.dimensions.iter();
    let dimensions: Vec<String> = dimensions.map(|one| format!("{}=N", one.name)).collect();
    let views: Vec<String> = asked(gate, state).map(|view| format!("{view}=N")).collect();
    let outcomes = match gate.outcome_words().as_slice() {
        [] => String::new(),
        words => format!(
            "; to proceed, its outcome: --outcome {}",
            words.join(", or ")
        ),
    };
    let values = match (dimensions.is_empty(), views.is_empty()) {
        (false, _) => format!(
            "a score for each dimension: --scores {}",
            dimensions.join(",")
        ),
        (true, false) => format!(
            "a rating of each view, 1 to 5: --rating {}",
            views.join(" --rating ")
        ),
        (true, true) => "a verdict: --verdict proceed, fix or escalate".to_owned(),
    };
    values + &outcomes
}

fn names<'n>(all: impl Iterator<Item = &'n String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).collect();
    if all.is_empty() {
        "none".to_owned()
    } else {
        all.join(", ")
    }
}

fn dimensions(gate: &Gate, given: &Decision, state: &State) -> Option<String> {
    let known = || gate.rubric.dimensions.iter().map(|one| &one.name);
    let is_known = |name: &&String| known().any(|known| known == *name);
    let mut named = given.scores.keys();
    if let Some(name) = named.find(|name| !is_known(name)) {
        let all = names(known());
        return Some(format!(
            "the rubric has no dimension `{name}`; it has {all}"
        ));
    }
    if let Some(weakest) = given
        .weakest
        .as_ref()
        .filter(|one| known().next().is_some() && !is_known(one))
    {
        let all = names(known());
        return Some(format!(
            "the rubric has no dimension `{weakest}`; it has {all}"
        ));
    }
    // A fix needs no scores, and neither does a question to a person; a mean of some of them would be none.
    let is_strict = given
        .verdict
        .is_some_and(|verdict| verdict != Verdict::Proceed)
        && given.scores.is_empty();
    let missing = names(known().filter(|name| !given.scores.contains_key(*name)));
    (missing != "none" && !is_strict).then(|| {
        format!(
            "no score is given for {missing}; expected {}",
            wanted(gate, state)
        )
    })
}

fn views(gate: &Gate, given: &Decision, state: &State) -> Option<String> {
    for (at, rating) in given.ratings.iter().enumerate() {
        if !gate.views.contains(&rating.view) {
            let all = names(gate.views.iter());
            return Some(format!(
                "the gate asks no view `{}`; it asks {all}",
                rating.view
            ));
        }
        if !(1..=BEST_RATING).contains(&u32::from(rating.rating)) {
            return Some(format!(
                "expected ratings from 1 to {BEST_RATING}, found {} of `{}`",
                rating.rating, rating.view
            ));
        }
        if given.ratings[..at]
            .iter()
            .any(|one| one.view == rating.view)
        {
            return Some(format!("the view `{}` is rated twice", rating.view));
        }
    }
    // A discussion that nobody wrote down by view stands for all views. One that was is written down whole.
    let is_said = given.ratings.is_empty() && (given.severity.is_some() || given.mean.is_some());
    let is_strict = given
        .verdict
        .is_some_and(|verdict| verdict != Verdict::Proceed);
    let is_rated = |view: &&String| given.ratings.iter().any(|one| one.view == **view);
    let missing = names(asked(gate, state).filter(|view| !is_rated(view)));
    (missing != "none" && !is_said && !is_strict).then(|| {
        format!(
            "no rating is given by {missing}; expected {}",
            wanted(gate, state)
        )
    })
}
