//! Scenario, slice, evidence: what `spec coverage` shows, and what holds an archive where policy asks for it.

use super::archive::Waivers;
use super::context::Context;
use super::delta;
use super::transaction::{Facts, Needs, gather, texts_here};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_rules::change_pack;
use loopx_rules::change_pack::Slice;
use loopx_rules::coverage;
use loopx_rules::coverage::{Covered, Known};
use loopx_rules::gate::ReadSections;
use loopx_rules::policy::{EvidenceRule, Policy};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::plan;
use loopx_rules::task::slices::slice;
use loopx_rules::texts::Texts;
use loopx_spec::{Delta, fold};

/// The code tree that the approved review is about.
fn reviewed_tree(state: &State) -> Option<&Oid> {
    state.verdict.as_ref().map(|verdict| &verdict.value.tree)
}

/// The slices, and what decisions inserted beside them.
fn served(texts: &Texts, state: &State) -> Vec<Slice> {
    let mut slices = change_pack::serving(texts).unwrap_or_default();
    let inserted = plan::inserted(texts, state).unwrap_or_default();
    slices.extend(inserted.iter().filter_map(slice));
    slices
}

/// Finds the proof of each scenario that the delta writes.
fn proofs(facts: &Facts<'_>, delta: &Delta, tree: Option<&Oid>) -> Vec<Covered> {
    let names = coverage::scenarios(delta);
    let known = Known {
        state: &facts.state,
        evidence: facts.view().evidence(),
        takes_words: !facts.policy.asks_signatures(),
    };
    let slices = served(&facts.texts, &facts.state);
    coverage::coverage(&names, &slices, known, tree)
}

/// The scenarios that the session's delta writes.
pub(super) fn names(facts: &Facts<'_>) -> Vec<String> {
    delta::read(&facts.texts).map_or(Vec::new(), |(delta, _)| coverage::scenarios(&delta))
}

/// The scenarios of a stored session that nothing proves on the code that was reviewed; a word proves none where words
/// are to be signed.
pub(super) fn unproven(state: &State, texts: &Texts, takes_words: bool) -> Vec<String> {
    let Some((delta, _)) = delta::read(texts) else {
        return Vec::new();
    };
    let names = coverage::scenarios(&delta);
    let known = Known {
        state,
        evidence: state.evidence.as_slice(),
        takes_words,
    };
    let tree = reviewed_tree(state);
    let covered = coverage::coverage(&names, &served(texts, state), known, tree);
    let open = covered.into_iter().filter(|one| !one.proof.is_enough());
    open.map(|one| one.scenario).collect()
}

/// Lists the blockers of an archive for want of proof, and the scenarios that are waived. Proof is asked for on the
/// code that was reviewed: nothing else was approved.
pub(super) fn judge(facts: &Facts<'_>, waivers: &Waivers) -> Result<(Vec<Blocker>, Vec<String>)> {
    let asked: Vec<String> = waivers.scenarios.iter().map(|name| fold(name)).collect();
    if facts.policy.archive.evidence == EvidenceRule::Off {
        return if asked.is_empty() {
            Ok((Vec::new(), Vec::new()))
        } else {
            Err(Failure::usage(
                Code::WaiverUnused,
                "nothing has to be waived: the policy asks for no evidence",
            )
            .help("leave --waive out; evidence = \"off\" stands below [archive] in loopx.toml"))
        };
    }
    let delta = delta::read(&facts.texts).map_or_else(Delta::default, |(delta, _)| delta);
    let covered = proofs(facts, &delta, reviewed_tree(&facts.state));
    let open = |key: &String| {
        let unproven = |one: &&Covered| !one.proof.is_enough() && fold(&one.scenario) == *key;
        covered.iter().find(unproven)
    };
    let mut waived = Vec::new();
    for (key, name) in asked.iter().zip(&waivers.scenarios) {
        let Some(one) = open(key) else {
            return Err(Failure::usage(
                Code::WaiverUnused,
                format!("no scenario `{name}` of the delta is without proof"),
            )
            .help(command!("spec coverage")));
        };
        if !waived.contains(&one.scenario) {
            waived.push(one.scenario.clone());
        }
    }
    if !waived.is_empty() {
        facts.require_person("a waiver")?;
    }
    if !waived.is_empty()
        && let Some(identity) = facts.identity
        && facts.policy.denies(&identity.author)
    {
        return Err(Failure::refused(
            Code::ApproverDenied,
            format!(
                "policy does not let {} waive (approve.deny in loopx.toml)",
                identity.author
            ),
        )
        .help("let a person archive it"));
    }
    Ok((coverage::blockers(&covered, &waived), waived))
}

/// Scenarios of the delta that no slice names, where archive will ask for their proof: the way to change
/// that ends with plan->build.
pub(super) fn unserved(policy: &Policy, texts: &Texts, delta: &Delta) -> Vec<String> {
    if policy.archive.evidence == EvidenceRule::Off {
        return Vec::new();
    }
    let slices = change_pack::slices_of(texts);
    coverage::unserved(&coverage::scenarios(delta), &slices.unwrap_or_default())
}

/// The scenarios of a session's delta with what proves each.
#[derive(Debug)]
pub(crate) struct Traced {
    pub id: SessionId,
    /// The code on which the scenarios are judged.
    pub tree: Option<Oid>,
    pub delta: Delta,
    pub covered: Vec<Covered>,
}

/// Scenario, slice and evidence of the session that is meant: on the reviewed code once it is done, on
/// the present code before.
pub(crate) fn show(ctx: &Context) -> Result<Traced> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let mut facts = gather(ctx, &snapshot, &session, None, Needs::Code, None)?;
    facts.texts = texts_here(ctx, &facts.state, &facts.policy)?;
    facts.read = ReadSections::default();
    let tree = match facts.state.stage {
        Stage::Done => reviewed_tree(&facts.state).cloned(),
        _ => facts.code.as_ref().map(|code| code.tree.clone()),
    };
    let delta = delta::read(&facts.texts).map_or_else(Delta::default, |(delta, _)| delta);
    let covered = proofs(&facts, &delta, tree.as_ref());
    Ok(Traced {
        id: facts.state.id,
        tree,
        delta,
        covered,
    })
}
