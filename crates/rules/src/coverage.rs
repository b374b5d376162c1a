//! Traceability: each scenario that a delta writes, the slices that serve it, and what proves them.
//!
//! A slice names scenarios as `domain/Requirement/Scenario`; its proof is the run of its own verification
//! on one code tree. Where policy asks for proof, a scenario without it is waived by name, with a reason, or it
//! holds the archive.

use super::change_pack::Slice;
use super::checks::{Word, word_on};
use super::op::Evidence;
use super::session::{Stamped, State};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_base::vocabulary::vocabulary;
use loopx_spec::{Delta, OpKind, fold};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

vocabulary!(
    /// Proof that a scenario rests on.
    Proof {
        /// A slice that serves it passed on this tree.
        Passed = "passed",
        /// A named person waived every slice that serves it, or skipped its task.
        Waived = "waived",
        /// A slice failed on this tree.
        Failed = "failed",
        /// The slices ran, on another tree.
        Stale = "stale",
        /// The slices never ran.
        Missing = "missing",
        /// No slice names the scenario.
        Unserved = "unserved",
    }
);

impl Proof {
    pub fn is_enough(self) -> bool {
        matches!(self, Proof::Passed | Proof::Waived)
    }
}

/// Scenario with its slices and their proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// `domain/Requirement/Scenario`.
    pub scenario: String,
    pub proof: Proof,
    pub slices: Vec<ServedBy>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServedBy {
    pub slice: String,
    pub proof: Proof,
    pub verification: Vec<String>,
}

/// Every scenario that a delta writes, by name. Removed ones, and those that only get another name, need
/// no proof.
pub fn scenarios(delta: &Delta) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for part in &delta.domains {
        let Some(domain) = &part.domain else { continue };
        for op in &part.operations {
            let names: Vec<&str> = match op.kind {
                OpKind::Added => op
                    .requirement
                    .iter()
                    .flat_map(|requirement| &requirement.scenarios)
                    .map(|scenario| scenario.name.as_str())
                    .collect(),
                OpKind::Modified => op
                    .scenarios
                    .iter()
                    .filter(|s| matches!(s.op, None | Some(OpKind::Added | OpKind::Modified)))
                    .map(|s| s.name.as_str())
                    .collect(),
                OpKind::Removed | OpKind::Renamed => Vec::new(),
            };
            for name in names {
                let full = format!("{domain}/{}/{name}", op.name);
                if seen.insert(full.clone()) {
                    found.push(full);
                }
            }
        }
    }
    found
}

/// The scenarios that no slice names.
pub fn unserved(scenarios: &[String], slices: &[Slice]) -> Vec<String> {
    let named: BTreeSet<String> = slices
        .iter()
        .flat_map(|slice| slice.scenarios.iter().map(|name| fold(name)))
        .collect();
    if named.contains(Slice::EVERY_SCENARIO) {
        return Vec::new();
    }
    let is_free = |scenario: &&String| !named.contains(&fold(scenario));
    scenarios.iter().filter(is_free).cloned().collect()
}

/// Facts that the slices of a session rest on.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    pub state: &'k State,
    pub evidence: &'k [Stamped<Evidence>],
    /// A person's word on a task counts as it is: policy wants none signed.
    pub takes_words: bool,
}

/// Finds the proof of each scenario on `tree`.
pub fn coverage(
    scenarios: &[String],
    slices: &[Slice],
    known: Known<'_>,
    tree: Option<&Oid>,
) -> Vec<Covered> {
    // Each slice once below each name, in the order of slices.
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, slice) in slices.iter().enumerate() {
        for name in &slice.scenarios {
            let serving = by_name.entry(fold(name)).or_default();
            if serving.last() != Some(&at) {
                serving.push(at);
            }
        }
    }
    let proofs: Vec<Proof> = slices
        .iter()
        .map(|slice| proof(slice, known, tree))
        .collect();
    scenarios
        .iter()
        .map(|scenario| {
            let named = by_name.get(&fold(scenario)).into_iter().flatten();
            let slices: Vec<ServedBy> = named
                .chain(by_name.get(Slice::EVERY_SCENARIO).into_iter().flatten())
                .filter_map(|at| Some((slices.get(*at)?, proofs.get(*at)?)))
                .map(|(slice, proof)| ServedBy {
                    slice: slice.id.clone(),
                    proof: *proof,
                    verification: slice.verification.clone(),
                })
                .collect();
            let any = |proof: Proof| slices.iter().any(|slice| slice.proof == proof);
            // One slice that fails outweighs another that passes.
            let order = [
                Proof::Failed,
                Proof::Passed,
                Proof::Stale,
                Proof::Missing,
                Proof::Waived,
            ];
            Covered {
                scenario: scenario.clone(),
                proof: order
                    .into_iter()
                    .find(|proof| any(*proof))
                    .unwrap_or(Proof::Unserved),
                slices,
            }
        })
        .collect()
}

fn proof(slice: &Slice, known: Known<'_>, tree: Option<&Oid>) -> Proof {
    let own: Vec<_> = known
        .evidence
        .iter()
        .map(|evidence| &evidence.value)
        .filter(|e| e.task.as_ref() == Some(&slice.id) && e.argv == slice.verification)
        .collect();
    if known.state.build.waivers.contains_key(&slice.id) {
        return Proof::Waived;
    }
    if known.takes_words
        && let Some(word) = word_on(&slice.id, &slice.verification, known.state, tree)
    {
        return match word {
            Word::Skipped => Proof::Waived,
            Word::Looked => Proof::Passed,
        };
    }
    let counts = |e: &&&Evidence| Some(&e.tree) == tree && (e.proves() || !e.passed());
    match own.iter().rev().find(counts) {
        Some(evidence) if evidence.passed() => Proof::Passed,
        Some(_) => Proof::Failed,
        None if own.is_empty() => Proof::Missing,
        None => Proof::Stale,
    }
}

/// Blockers of the archive: scenarios without proof that are not in `waived`.
pub fn blockers(covered: &[Covered], waived: &[String]) -> Vec<Blocker> {
    let waived: HashSet<String> = waived.iter().map(|name| fold(name)).collect();
    covered
        .iter()
        .filter(|one| !one.proof.is_enough() && !waived.contains(&fold(&one.scenario)))
        .map(|one| {
            let name = &one.scenario;
            let (code, why) = match one.proof {
                Proof::Failed => (Code::ScenarioFailed, "a slice that serves it failed"),
                Proof::Stale => (Code::ScenarioStale, "its slices ran on other code"),
                Proof::Unserved => (
                    Code::ScenarioUnserved,
                    "no slice or task names it in its `scenarios`",
                ),
                _ => (Code::ScenarioUnproven, "its slices never ran"),
            };
            Blocker::new(
                code,
                format!("scenario `{name}` has no passing evidence: {why}"),
                command!(
                    "archive --waive {} --reason WHY",
                    loopx_base::shell_word(name)
                ),
            )
        })
        .collect()
}
