//! Pairs of open sessions that touch one requirement, and whether the second can still be archived once
//! the first was.

use super::{Judged, Loaded, Word, load_all};
use crate::flow::context::Context;
use crate::flow::delta;
use crate::flow::delta::{Judgement, Target, WHOLE};
use crate::flow::effective_target;
use crate::flow::file_merge::FileMerge;
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_rules::policy::Policy;
use loopx_spec::{Conflict, MarkerNames, fold, merge_spec};
use loopx_store::Snapshot;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Two open sessions that touch one requirement.
#[derive(Debug, Serialize)]
pub(crate) struct Overlap {
    pub sessions: [SessionId; 2],
    /// `domain` and `requirement` of what both touch; no requirement is the domain's purpose.
    pub shared: Vec<Shared>,
    /// The second depends on the first: it was written on top of it.
    pub depends: bool,
    /// The verdict: `unknown` where one of the two cannot be archived alone.
    pub verdict: Word,
    pub conflicts: Vec<Conflict>,
    /// The blockers that refuse one session once the other is in; of an unknown pair, those of a session refused alone.
    pub blockers: Vec<Blocker>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Shared {
    pub domain: String,
    pub requirement: Option<String>,
}

/// Lists the pairs of open sessions that touch one requirement, and the sessions that could be compared with none.
pub(crate) fn overlap(ctx: &Context) -> Result<(Vec<Overlap>, Vec<Judged>)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (loaded, refused) = load_all(ctx, &snapshot)?;
    Ok((overlaps(ctx, &snapshot, &loaded)?, refused))
}

pub(super) fn overlaps(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    loaded: &[Loaded],
) -> Result<Vec<Overlap>> {
    let mut by_place: BTreeMap<(String, String), (String, Vec<usize>)> = BTreeMap::new();
    for (at, one) in loaded.iter().enumerate() {
        for (domain, name) in touched(one) {
            let place = (domain, fold(&name));
            let (_, who) = by_place.entry(place).or_insert_with(|| (name, Vec::new()));
            if who.last() != Some(&at) {
                who.push(at);
            }
        }
    }
    let mut pairs: BTreeMap<(usize, usize), Vec<Shared>> = BTreeMap::new();
    for ((domain, _), (name, who)) in by_place {
        for (n, first) in who.iter().enumerate() {
            for second in &who[n + 1..] {
                pairs.entry((*first, *second)).or_default().push(Shared {
                    domain: domain.clone(),
                    requirement: (!name.is_empty()).then(|| name.clone()),
                });
            }
        }
    }
    pairs
        .into_iter()
        .map(|((first, second), shared)| {
            pair(ctx, snapshot, &loaded[first], &loaded[second], shared)
        })
        .collect()
}

/// Domains and names that a delta reads or writes: of a rename both names; of the purpose no name.
fn touched(one: &Loaded) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in &one.judgement.delta.domains {
        let Some(domain) = &part.domain else { continue };
        if part.purpose.is_some() {
            found.push((domain.clone(), WHOLE.to_owned()));
        }
        for name in part.touched().into_iter().map(|touched| touched.name) {
            found.push((domain.clone(), name));
        }
        for to in part.operations.iter().filter_map(|op| op.to.clone()) {
            found.push((domain.clone(), to));
        }
    }
    found
}

/// Judges whether the second session can still be archived after the first. The first is the one that is depended on.
fn pair(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    first: &Loaded,
    second: &Loaded,
    shared: Vec<Shared>,
) -> Result<Overlap> {
    let builds_on = |one: &Loaded, other: &Loaded| one.ground.open.contains(&other.state.id);
    let (first, second) = if builds_on(first, second) {
        (second, first)
    } else {
        (first, second)
    };
    let mut overlap = Overlap {
        sessions: [first.state.id.clone(), second.state.id.clone()],
        shared,
        depends: builds_on(second, first),
        verdict: Word::Clean,
        conflicts: Vec::new(),
        blockers: Vec::new(),
    };
    let alone = [first, second]
        .into_iter()
        .filter_map(Loaded::refused_alone);
    overlap.blockers = alone.collect();
    if !overlap.blockers.is_empty() {
        overlap.verdict = Word::Unknown;
        return Ok(overlap);
    }
    let one_target =
        delta::target_branch(ctx, &first.state)? == delta::target_branch(ctx, &second.state)?;
    if one_target || overlap.depends {
        let mut after = second.after(ctx, snapshot, first)?;
        if after.is_clean() && !overlap.depends {
            after = first.after(ctx, snapshot, second)?;
        }
        overlap.conflicts = after.verdict.conflicts().cloned().collect();
        overlap.blockers = after.facts.blockers;
    } else {
        overlap.conflicts = meeting(ctx, snapshot, first, second, &overlap.shared)?;
    }
    if !overlap.conflicts.is_empty() {
        overlap.verdict = Word::Conflict;
    } else if !overlap.blockers.is_empty() {
        overlap.verdict = Word::Refused;
    }
    Ok(overlap)
}

impl Loaded {
    /// Says of a delta that archive refuses whatever else goes in, that it does.
    fn refused_alone(&self) -> Option<Blocker> {
        if self.judgement.is_clean() {
            return None;
        }
        let id = &self.state.id;
        let faults = self.judgement.facts.blockers.len();
        let fights = self.judgement.verdict.conflicts().count();
        let what = match faults {
            0 => counted(fights, "conflict"),
            _ => counted(faults, "error"),
        };
        Some(Blocker::new(
            Code::RefusedAlone,
            format!("{id} cannot be archived as it is: {what}"),
            command!("change validate").session(id),
        ))
    }

    /// The delta on what the first one makes of the specs, and on what both depend on.
    fn after(&self, ctx: &Context, snapshot: &Snapshot<'_>, first: &Loaded) -> Result<Judgement> {
        let mut target = first.ground.target.clone();
        effective_target::results(&first.judgement, &first.policy, &mut target);
        let mut more = self.ground.open.clone();
        more.retain(|id| *id != first.state.id && !first.ground.open.contains(id));
        effective_target::stack(ctx, snapshot, &mut target, &more)?;
        let around = (&self.ground.target, &target);
        delta::judge(ctx, &self.state, &self.policy, around, &self.texts)
    }
}

/// The conflicts that two sessions of different branches meet when their branches are merged, as the
/// merge driver would find them.
fn meeting(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    first: &Loaded,
    second: &Loaded,
    shared: &[Shared],
) -> Result<Vec<Conflict>> {
    let tips = (
        delta::target_tip(ctx, &first.state)?,
        delta::target_tip(ctx, &second.state)?,
    );
    let base = match tips {
        (Some(one), Some(other)) => ctx.repo.merge_base(&one, &other)?,
        _ => None,
    };
    let base = match base {
        Some(commit) => Some(ctx.repo.commit_info(&commit)?.tree),
        None => None,
    };
    let mut base = Target::of_tree(base);
    let mut common = first.ground.open.clone();
    common.retain(|id| second.ground.open.contains(id));
    effective_target::stack(ctx, snapshot, &mut base, &common)?;
    let side = |one: &Loaded| {
        let mut target = one.ground.target.clone();
        effective_target::results(&one.judgement, &one.policy, &mut target);
        target
    };
    let (ours, theirs) = (side(first), side(second));
    let names = MarkerNames {
        base: "base",
        ours: first.state.id.as_str(),
        theirs: second.state.id.as_str(),
    };
    let mut conflicts = Vec::new();
    let domains: BTreeSet<&str> = shared.iter().map(|shared| shared.domain.as_str()).collect();
    for domain in domains {
        let text = |target: &Target, policy: &Policy| -> Result<String> {
            let bytes = target.bytes(ctx, &delta::spec_path(policy, domain))?;
            Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
        };
        let merged = merge_spec(
            &text(&base, &first.policy)?,
            &text(&ours, &first.policy)?,
            &text(&theirs, &second.policy)?,
            &FileMerge,
            names,
        );
        conflicts.extend(merged.conflicts.into_iter().map(|conflict| Conflict {
            domain: domain.to_owned(),
            ..conflict
        }));
    }
    Ok(conflicts)
}
