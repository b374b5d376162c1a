//! The verdict that counts: the one that values make by the rubric of their gate. The given verdict is one of the
//! values: it is never made milder, and made stricter where the rubric says so.

use super::gate::{AtCap, Dimension, Gate};
use super::points::Points;
use super::values::{Decision, Flag, Rating, Severity, Verdict};
use crate::task::node::NodeKind;
use std::collections::BTreeMap;

/// Judgement of a decision: what counts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub verdict: Verdict,
    /// Set when another verdict was given.
    pub adjusted: bool,
    /// Score as it is computed from the dimensions, where there are any.
    pub score: Option<Points>,
    /// Distance between the views; nothing where they agree, or where none was asked.
    pub severity: Option<Severity>,
    /// Reasons why the verdict is not what was given, or not what was wished.
    pub why: Vec<String>,
    /// Notes that whoever comes next has to know.
    pub notes: Vec<String>,
    /// Suggestion of something that whoever decides may want to look at again.
    pub suggestion: Option<String>,
}

/// Scores of a hundred between which a score is a close call.
const CLOSE: (u32, u32) = (50, 70);
/// Score of a hundred above which a fix is worth another look, once something was repaired.
const GOOD: u32 = 95;

/// The number of decisions alike, one behind the other, that stand for the cap (reference 4.13: three equal sets of failures).
const ALIKE: u32 = 3;

/// Judges values. The attempt is the gate's.
pub fn judge(kind: NodeKind, gate: &Gate, given: &Decision) -> Judged {
    let score = score(gate, given);
    let severity = severity(given);
    let mut faults = faults(gate, given, score);
    if severity == Some(Severity::High) {
        faults.push(views_in_words(given, Severity::High));
    }
    if kind == NodeKind::Goal
        && given.verdict != Some(Verdict::Escalate)
        && given.evidence.is_empty()
    {
        faults.push("no evidence shows that the goal is met".to_owned());
    }
    let wanted = given.verdict.unwrap_or(Verdict::Proceed);
    let mut judged = Judged {
        verdict: if faults.is_empty() {
            wanted
        } else {
            wanted.max(Verdict::Fix)
        },
        adjusted: false,
        score,
        severity,
        why: faults,
        notes: Vec::new(),
        suggestion: None,
    };
    if judged.verdict == Verdict::Fix {
        at_the_end(gate, given, &mut judged);
    }
    if judged.verdict == Verdict::Proceed {
        judged.notes.extend(notes(gate, given, severity));
    }
    let is_good = score.is_some_and(|score| score > gate.rubric.scale.percent(GOOD));
    let is_fix = given.verdict == Some(Verdict::Fix) && judged.verdict == Verdict::Fix;
    if is_fix && is_good && gate.attempt > 0 {
        let score = score.unwrap_or_default();
        judged.suggestion = Some(format!(
            "with a score of {score} after {} the verdict could be proceed; the given verdict, fix, counts",
            repairs(gate.attempt)
        ));
    }
    judged.adjusted = given
        .verdict
        .is_some_and(|verdict| verdict != judged.verdict);
    judged
}

/// Judgement of a decision that was made, whose gate may be another one by now: nobody is judged anew more mildly.
pub fn counts(kind: NodeKind, gate: &Gate, decision: &Decision) -> Judged {
    let mut judged = judge(kind, gate, decision);
    if let Some(was) = decision.came_to.filter(|was| *was != judged.verdict) {
        judged.why.push(format!(
            "the gate changed since: the gate of then came to {was}, the present gate comes to {}",
            judged.verdict
        ));
        judged.verdict = was.max(judged.verdict);
        judged.adjusted = decision
            .verdict
            .is_some_and(|given| given != judged.verdict);
    }
    judged
}

/// Tells whether two decisions of one gate have the same values and the same reason.
pub fn is_alike(
    (one, why): (&Decision, Option<&str>),
    (other, because): (&Decision, Option<&str>),
) -> bool {
    let values = |given: &Decision| Decision {
        tree: None,
        came_to: None,
        repeated: 0,
        judged: BTreeMap::new(),
        saw: BTreeMap::new(),
        evidence: Vec::new(),
        ..given.clone()
    };
    why == because && values(one) == values(other)
}

/// Tells whether a score is so near to the line that somebody may want to look.
pub fn is_close(gate: &Gate, score: Points) -> bool {
    let at = |percent| gate.rubric.scale.percent(percent);
    (at(CLOSE.0)..=at(CLOSE.1)).contains(&score)
}

fn repairs(count: u32) -> String {
    match count {
        1 => "one repair".to_owned(),
        count => format!("{count} repairs"),
    }
}

/// The score that counts: where the rubric has dimensions, of those alone; else the one that was given.
pub(super) fn score(gate: &Gate, given: &Decision) -> Option<Points> {
    if given.parse_failed {
        return Some(Points::default());
    }
    let dimensions = gate.rubric.dimensions.iter();
    if dimensions.len() == 0 {
        return given.score;
    }
    let scored = dimensions.filter_map(|one| Some((*given.scores.get(&one.name)?, one.weight)));
    Points::mean(scored)
}

/// Faults that speak against going on.
fn faults(gate: &Gate, given: &Decision, score: Option<Points>) -> Vec<String> {
    let rubric = &gate.rubric;
    let mut faults = Vec::new();
    if given.parse_failed {
        faults.push("the verdict could not be read".to_owned());
    }
    if !given.unmet.is_empty() {
        faults.push(format!("not met: {}", given.unmet.join(", ")));
    }
    if let Some(score) = score.filter(|score| *score < rubric.pass) {
        faults.push(format!("the score {score} is below {}", rubric.pass));
    }
    for dimension in &rubric.dimensions {
        let scored = given.scores.get(&dimension.name);
        if let (Some(score), Some(least)) = (scored, dimension.minimum)
            && *score < least
        {
            faults.push(format!("{} is {score}, below {least}", dimension.name));
        }
    }
    if given.criticals > rubric.critical {
        faults.push(match given.criticals {
            1 => "1 critical finding is left".to_owned(),
            count => format!("{count} critical findings are left"),
        });
    }
    faults
}

/// A fix that cannot be repaired any more.
fn at_the_end(gate: &Gate, given: &Decision, judged: &mut Judged) {
    if gate.is_final && judged.severity == Some(Severity::High) {
        judged.verdict = Verdict::Escalate;
        judged
            .why
            .push("the gate is final: no repair follows it".to_owned());
        return;
    }
    // Another repair of the same kind shows nothing new.
    let is_alike = given.repeated.saturating_add(1) >= ALIKE;
    if gate.attempt < gate.cap && !is_alike {
        return;
    }
    let is_enough = gate.rubric.warn.zip(judged.score);
    let is_enough = is_enough.is_some_and(|(warn, score)| score >= warn);
    let is_too_low = |one: &Dimension| {
        let scored = given.scores.get(&one.name);
        scored.is_none_or(|score| one.warn.is_some_and(|warn| *score < warn))
    };
    let has_critical = given.criticals > gate.rubric.critical || given.parse_failed;
    judged.why.push(match gate.cap {
        _ if is_alike => format!("{ALIKE} rounds came to the same values for the same reason"),
        0 => "nothing stands ready to repair it".to_owned(),
        cap => format!("it was repaired {cap} of {cap} times"),
    });
    if gate.at_cap == AtCap::Accept
        && is_enough
        && !has_critical
        && !gate.rubric.dimensions.iter().any(is_too_low)
        && judged.severity != Some(Severity::High)
    {
        judged.verdict = Verdict::Proceed;
        judged
            .notes
            .push(format!("accepted with warnings: {}", judged.why.join("; ")));
    } else {
        judged.verdict = Verdict::Escalate;
    }
}

/// Notes of a decision to go on.
fn notes(gate: &Gate, given: &Decision, severity: Option<Severity>) -> Vec<String> {
    let words = |severity| views_in_words(given, severity);
    let conditions = given.conditions.iter();
    let conditions = conditions.map(|condition| format!("condition: {condition}"));
    let is_rated = |view: &&String| given.ratings.iter().any(|one| one.view == **view);
    let unrated = gate.views.iter().filter(|view| !is_rated(view));
    let unrated = unrated.filter(|_| !given.ratings.is_empty());
    let unrated = unrated.map(|view| format!("nobody rated {view}"));
    let all = severity.map(words).into_iter();
    all.chain(conditions).chain(unrated).collect()
}

/// Words of the views, behind what follows from them.
fn views_in_words(given: &Decision, severity: Severity) -> String {
    let apart = given.ratings.iter().map(|one| {
        let flags: Vec<&str> = one.flags.iter().map(|flag| flag.as_str()).collect();
        if flags.is_empty() {
            format!("{} {}", one.view, one.rating)
        } else {
            format!("{} {} ({})", one.view, one.rating, flags.join(", "))
        }
    });
    let apart: Vec<String> = apart.collect();
    let said = format!("severity {severity}");
    if apart.is_empty() {
        said
    } else {
        format!("{said}: {}", apart.join(", "))
    }
}

/// Distance between the views; nothing where they agree.
pub fn severity(given: &Decision) -> Option<Severity> {
    let rated = match given.ratings.as_slice() {
        [] => None,
        ratings => of_ratings(ratings),
    };
    // A discussion may say it of itself, and its mean may say more; no rating makes that milder.
    rated.max(given.severity).max(given.mean.and_then(of_mean))
}

/// The least mean of a rating at which nobody has to look again, and the one below which all have to.
const AGREED: Points = Points::of(3, 500);
const APART: Points = Points::of(2, 500);

fn of_mean(mean: Points) -> Option<Severity> {
    match mean {
        mean if mean < APART => Some(Severity::High),
        mean if mean < AGREED => Some(Severity::Low),
        _ => None,
    }
}

/// The total function of reference 4.13, as corrected there: each of its values can occur.
fn of_ratings(ratings: &[Rating]) -> Option<Severity> {
    let one = Points::whole(1);
    let points = ratings
        .iter()
        .map(|one| Points::whole(u32::from(one.rating)));
    let by_mean = Points::mean(points.map(|points| (points, one))).and_then(of_mean);
    let has_flag = ratings.iter().any(|one| {
        let mut flags = one.flags.iter();
        flags.any(|flag| match flag {
            Flag::MissingRequirement | Flag::CriticalRisk | Flag::HighRisk => true,
        })
    });
    if has_flag || by_mean == Some(Severity::High) {
        return Some(Severity::High);
    }
    let all = || ratings.iter().map(|one| one.rating);
    let (least, most) = (all().min().unwrap_or(5), all().max().unwrap_or(5));
    if least <= 2 || most.saturating_sub(least) >= 3 {
        return Some(Severity::Medium);
    }
    by_mean
}

/// Weakest part of what was judged: as somebody said, else the lowest score or rating.
pub fn weakest(gate: &Gate, given: &Decision) -> Option<String> {
    let named = given.weakest.clone();
    let dimensions = gate.rubric.dimensions.iter();
    let scored = dimensions.filter_map(|one| Some((given.scores.get(&one.name)?, &one.name)));
    let lowest = scored.min_by_key(|(score, _)| **score);
    let rated = given.ratings.iter().min_by_key(|one| one.rating);
    named
        .or_else(|| lowest.map(|(_, name)| name.clone()))
        .or_else(|| rated.map(|one| one.view.clone()))
        .or_else(|| (!given.unmet.is_empty()).then(|| given.unmet.join(", ")))
}
