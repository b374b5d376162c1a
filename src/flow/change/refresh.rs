//! New bases for a delta whose target branch moved on, and what its author has to look at because of that.

use crate::flow::context::Context;
use crate::flow::delta;
use crate::flow::delta::WHOLE;
use crate::flow::effective_target::Ground;
use crate::flow::transaction::{Act, Done, Needs, act};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::op::{Event, RequirementBase};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_spec::{Blocks, Delta, OpKind, fold};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// A requirement whose base was recorded anew because the target branch had changed it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moved {
    pub domain: String,
    /// Absent for the domain's purpose.
    pub requirement: Option<String>,
    pub old: Option<String>,
    pub new: Option<String>,
    /// Set when the delta replaces the requirement as a whole: what the target changed is undone unless it is taken
    /// over.
    pub replaced: bool,
}

/// The result of a refresh.
#[derive(Debug)]
pub(crate) struct Refreshed {
    pub target: String,
    pub commit: Option<Oid>,
    pub moved: Vec<Moved>,
}

/// Tells of each domain whether its purpose is replaced, and which requirements are, by folded name.
fn replaced_whole(delta: &Delta) -> HashMap<&str, (bool, HashSet<String>)> {
    let mut found = HashMap::new();
    for part in &delta.domains {
        let Some(domain) = part.domain.as_deref() else {
            continue;
        };
        let whole = part.operations.iter();
        let whole = whole.filter(|op| op.kind == OpKind::Modified && !op.patch);
        let names = whole.map(|op| fold(&op.name)).collect();
        // Of two parts of one domain the first counts.
        found
            .entry(domain)
            .or_insert((part.purpose.is_some(), names));
    }
    found
}

/// The pairs of a base as it was recorded, where it was, and as it stands now, where the two differ.
fn pairs<'a>(
    state: &'a State,
    delta: &Delta,
    new: &'a [RequirementBase],
) -> Vec<(Option<&'a RequirementBase>, &'a RequirementBase)> {
    let mut known: HashMap<(&str, &str), &RequirementBase> = HashMap::new();
    for base in &state.bases {
        let key = (base.domain.as_str(), base.requirement.as_str());
        known.entry(key).or_insert(base);
    }
    let unrecorded = delta::unrecorded(state, delta);
    new.iter()
        .filter_map(|base| {
            let key = (base.domain.as_str(), base.requirement.as_str());
            match known.get(&key) {
                Some(known) => (known.blob != base.blob).then_some((Some(*known), base)),
                None => {
                    let key = (base.domain.clone(), base.requirement.clone());
                    unrecorded.contains(&key).then_some((None, base))
                }
            }
        })
        .collect()
}

/// The requirements whose text on the target differs from the text that the delta was written against.
fn moved(repo: &Repo, state: &State, delta: &Delta, new: &[RequirementBase]) -> Result<Vec<Moved>> {
    let pairs = pairs(state, delta, new);
    // Each version of a spec is read once, however many requirements were written against it.
    let mut texts: HashMap<&Oid, String> = HashMap::new();
    for blob in pairs
        .iter()
        .flat_map(|(old, new)| old.iter().flat_map(|old| &old.blob).chain(&new.blob))
    {
        if !texts.contains_key(blob) {
            let read = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            texts.insert(blob, repo.with_blob(blob, read)?);
        }
    }
    let blocks: HashMap<&Oid, Blocks<'_>> = texts
        .iter()
        .map(|(blob, text)| (*blob, Blocks::read(text)))
        .collect();
    let block = |base: &RequirementBase| {
        let blob = base.blob.as_ref()?;
        blocks.get(blob)?.get(&base.requirement)
    };
    let whole = replaced_whole(delta);
    let mut moved = Vec::new();
    for (known, base) in pairs {
        let part = whole.get(base.domain.as_str());
        let purpose = part.is_some_and(|(purpose, _)| *purpose);
        if base.requirement == WHOLE && !purpose {
            continue;
        }
        let (old, new) = (known.and_then(block), block(base));
        if known.is_some() && old == new {
            continue;
        }
        let replaced = part.is_some_and(|(_, names)| names.contains(&base.requirement));
        moved.push(Moved {
            domain: base.domain.clone(),
            requirement: (base.requirement != WHOLE).then(|| base.requirement.clone()),
            old,
            new,
            replaced: replaced || base.requirement == WHOLE,
        });
    }
    Ok(moved)
}

/// Records what stands on the target branch now as the base of everything that the delta touches.
pub(crate) fn refresh(ctx: &Context) -> Result<Done<Refreshed>> {
    let store = ctx.store()?;
    // What stands on the target is read here, and judged once it is the base.
    act(ctx, Needs::Late, |facts| {
        let state = &facts.state;
        let file = brief::delta_file(&facts.texts).unwrap_or(Artifact::SpecDelta);
        if !state.is_open(file) {
            return Err(Failure::refused(
                Code::RefreshClosed,
                format!(
                    "the delta is closed in stage {}; a new base would hide from its reviewers what it undoes",
                    state.stage
                ),
            )
            .help(match state.stage {
                Stage::Done => command!("archive").note("(a conflict is resolved there, and `archive --continue` finishes)"),
                _ => command!("status"),
            }));
        }
        if let Some(missing) = &facts.base_missing {
            return Err(missing.clone());
        }
        let Some((delta, blockers)) = delta::read(&facts.texts) else {
            return Err(
                Failure::nothing(Code::DeltaMissing, "the session has no spec delta yet")
                    .help(command!("status")),
            );
        };
        if let Some(first) = blockers.first() {
            return Err(Failure::refused(Code::DeltaInvalid, first.message.clone())
                .help(first.help.clone()));
        }
        let mut fresh = state.clone();
        fresh.bases.clear();
        let ground = Ground::of(ctx, &store.snapshot()?, state, &facts.texts)?;
        let stands = &ground.target;
        let new: Vec<RequirementBase> =
            delta::missing_bases(ctx, &fresh, &facts.policy, stands, &delta)?;
        let moved = moved(&ctx.repo, state, &delta, &new)?;
        let target = delta::target_branch(ctx, state)?.unwrap_or_else(|| "HEAD".to_owned());
        if moved.is_empty() {
            return Err(Failure::nothing(
                Code::NothingMoved,
                format!("nothing that the delta touches changed on {target} since its base"),
            )
            .help(if delta.domains.is_empty() {
                command!("status")
            } else {
                command!("change diff")
            }));
        }
        let what = format!("refresh {} from {target}", counted(moved.len(), "base"));
        let refreshed = Refreshed {
            target,
            commit: delta::target_tip(ctx, state)?,
            moved,
        };
        let mut act = Act::new(Event::Refreshed, what, refreshed);
        act.bases = Some(new);
        Ok(act)
    })
}
