//! The quality gate of a package: the rubric of the pipeline spec-only, with the figures that can be computed. Depth is
//! the reviewer's, and stands in the readiness report.

use super::check::{known, references};
use super::{Document, Package};
use crate::markdown;
use crate::pipeline::{Pipeline, builtin};
use crate::policy::Language;
use crate::task::decide::{AtCap, Decision, Gate, Points, Verdict as Way, judge};
use crate::task::file;
use crate::task::node::NodeKind;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::collections::BTreeMap;

/// The pipeline that has the rubric, and its gate.
const PIPELINE: &str = "spec-only";
const GATE: &str = "GATE-SPEC";

vocabulary!(
    /// Verdict of the figures.
    Verdict {
        Pass = "pass",
        Review = "review",
        Fail = "fail",
    }
);

/// The figures of a package, each 0 to 100.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quality {
    /// Figures by dimension; nothing where nobody gave one.
    pub dimensions: BTreeMap<String, Option<u32>>,
    /// Score of all dimensions; nothing while one is open.
    pub score: Option<Points>,
    pub verdict: Option<Verdict>,
    /// Reasons why the package does not pass.
    pub why: Vec<String>,
}

/// The figures, and what they come to.
pub fn quality(package: &Package) -> Quality {
    let gate = gate();
    let names = gate.iter().flat_map(|gate| &gate.rubric.dimensions);
    let dimensions: BTreeMap<String, Option<u32>> = names
        .map(|one| (one.name.clone(), figure(package, &one.name)))
        .collect();
    let mut quality = Quality {
        score: None,
        verdict: None,
        why: Vec::new(),
        dimensions,
    };
    let open = quality
        .dimensions
        .iter()
        .filter(|(_, value)| value.is_none());
    let open: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
    let Some(gate) = gate.filter(|_| open.is_empty()) else {
        quality.why = open
            .iter()
            .map(|name| format!("nobody gave {name}"))
            .collect();
        return quality;
    };
    let scores = quality.dimensions.iter();
    let scores = scores.filter_map(|(name, value)| Some((name.clone(), Points::whole((*value)?))));
    let given = Decision {
        scores: scores.collect(),
        ..Decision::default()
    };
    let judged = judge(NodeKind::Decision, &gate, &given);
    quality.verdict = Some(match judged.verdict {
        Way::Proceed if judged.why.is_empty() => Verdict::Pass,
        Way::Proceed => Verdict::Review,
        Way::Fix | Way::Escalate => Verdict::Fail,
    });
    quality.score = judged.score;
    quality.why = judged.why;
    // The cap is the pipeline's, not the package's.
    quality
        .why
        .retain(|why| why != "nothing stands ready to repair it");
    quality
}

/// The gate as a line of a list would have it.
fn gate() -> Option<Gate> {
    let pipeline = Pipeline::read(PIPELINE, builtin::text(PIPELINE)?, None).ok()?;
    let gates = pipeline
        .whole
        .nodes
        .iter()
        .flat_map(|node| node.gates.iter().flatten());
    let found = gates.into_iter().find(|gate| *gate.id.get_ref() == GATE)?;
    let line = serde_json::json!({
        "id": GATE, "title": GATE, "kind": "decision", "depends_on": [],
        "gate": { "rubric": found.rubric.as_ref()? },
    });
    let node = file::graph(line.to_string()).ok()?.nodes.pop()?;
    let mut gate = *node.gate?;
    gate.at_cap = AtCap::Accept;
    gate.cap = 0;
    Some(gate)
}

fn figure(package: &Package, dimension: &str) -> Option<u32> {
    match dimension {
        "completeness" => Some(completeness(package)),
        "consistency" => Some(consistency(package)),
        "traceability" => Some(traceability(package)),
        "coverage" => Some(coverage(package)),
        _ => package.depth,
    }
}

/// Share in percent, cut off.
fn share(part: usize, whole: usize) -> u32 {
    let percent = (part * 100).checked_div(whole).unwrap_or(0);
    u32::try_from(percent).unwrap_or(100)
}

/// The documents that are there, and those of their sections that hold something. The report is no part of what it
/// judges.
fn completeness(package: &Package) -> u32 {
    let (mut filled, mut asked) = (0, 0);
    for document in Document::ALL {
        if document == Document::ReadinessReport {
            continue;
        }
        let wanted: Vec<String> = document
            .sections()
            .iter()
            .map(ToString::to_string)
            .collect();
        asked += wanted.len() + 1;
        if let Some(source) = package.sources.whole.get(&document) {
            let mut empty = markdown::empty_sections(&source.text, &wanted, Language::Off);
            empty.retain(|title| !package.holds_items(document, title));
            filled += wanted.len() + 1 - empty.len();
        }
    }
    share(filled, asked)
}

/// The ids and the references that mean one thing.
fn consistency(package: &Package) -> u32 {
    let known = known(package);
    let (mut good, mut all) = (0, 0);
    for places in known.values() {
        all += places.len();
        good += usize::from(places.len() == 1);
    }
    for (_, _, named) in references(package) {
        all += named.len();
        let resolved = named
            .iter()
            .filter(|name| known.contains_key(name.as_str()));
        good += resolved.count();
    }
    share(good, all)
}

/// The links that each requirement has: to a goal, to a scenario and to a story.
fn traceability(package: &Package) -> u32 {
    let (mut good, mut all) = (0, 0);
    for one in package.brought() {
        all += 3;
        let has_goal = package
            .goals
            .iter()
            .any(|goal| one.goals.contains(&goal.id));
        let has_scenario = one.criteria.iter().any(super::Criterion::is_scenario);
        let has_story = package
            .stories
            .iter()
            .any(|story| story.serves.contains(&one.id));
        good += usize::from(has_goal) + usize::from(has_scenario) + usize::from(has_story);
    }
    share(good, all)
}

/// The goals that a requirement serves.
fn coverage(package: &Package) -> u32 {
    let is_served = |id: &String| package.brought().any(|one| one.goals.contains(id));
    let served = package.goals.iter().filter(|goal| is_served(&goal.id));
    share(served.count(), package.goals.len())
}
