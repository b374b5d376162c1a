//! The delta of a session, requirement by requirement: its base, what the delta makes of it, what the target
//! has now, and what archive would write.

use super::{Word, active, load};
use crate::flow::context::Context;
use crate::flow::delta;
use crate::flow::delta::WHOLE;
use crate::flow::file_merge::FileMerge;
use crate::flow::spec::Applied;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_spec::{Action, Bases, Blocks, Conflict, DomainDelta, PlanOptions, fold, plan_domain};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A requirement that a delta touches: what the delta does to it, and what archive would do.
#[derive(Debug, Serialize)]
pub(crate) struct RequirementDiff {
    pub domain: String,
    pub path: String,
    /// Absent for the domain's purpose.
    pub requirement: Option<String>,
    pub renamed_to: Option<String>,
    /// The requirement as it was when the delta was written.
    pub base: Option<String>,
    /// The requirement as the delta has it.
    pub delta: Option<String>,
    /// The requirement as the target branch has it now.
    pub target: Option<String>,
    /// The requirement as archive would write it; absent also where there is a conflict.
    pub merged: Option<String>,
    /// Set when the target branch changed the requirement since the base.
    pub moved: bool,
    pub conflicts: Vec<Conflict>,
}

/// The session's delta, requirement by requirement.
pub(crate) fn diff(ctx: &Context) -> Result<(SessionId, Vec<RequirementDiff>)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let one = load(ctx, &snapshot, active(ctx, &snapshot)?)?;
    let judged = one.judged(&snapshot)?;
    if judged.verdict == Word::Refused {
        return Err(Failure::refused(
            Code::DeltaInvalid,
            format!("the delta of {} cannot be applied", one.state.id),
        )
        .blockers(judged.blockers)
        .help(command!("edit change/spec-delta.md")));
    }
    let stands = &one.ground.target;
    let bases = delta::all_bases(ctx, &one.state, &one.policy, stands, &one.judgement.delta)?;
    let by_domain = delta::by_domain(&bases);
    let delta = &one.judgement.delta;
    let mut found = Vec::new();
    for (part, applied) in delta.domains.iter().zip(&one.judgement.verdict.domains) {
        let domain = applied.outcome.domain.as_str();
        let path = delta::spec_path(&one.policy, domain);
        let blob = stands.stored(ctx, &path)?;
        let here = blob.as_ref().zip(applied.before.as_deref());
        let written = delta::written_against(ctx, &by_domain, domain, here)?;
        let options = PlanOptions {
            retire: delta.retire,
            target_file: &path,
            ..PlanOptions::default()
        };
        found.extend(of_domain(part, applied, &written, &options));
    }
    Ok((one.state.id, found))
}

/// The requirements that the delta touches in one domain.
fn of_domain(
    part: &DomainDelta,
    applied: &Applied,
    written: &Bases,
    options: &PlanOptions<'_>,
) -> Vec<RequirementDiff> {
    let domain = applied.outcome.domain.as_str();
    let was = written.default.as_deref();
    let target = applied.before.as_deref();
    // Where nothing came in between, what archive makes of the spec is what the delta means.
    let is_alone = target == was && written.per_requirement.is_empty();
    let plan = || plan_domain(domain, written, was, part, options, &FileMerge);
    let alone = (!is_alone).then(plan);
    let meant = after(&alone.as_ref().unwrap_or(&applied.outcome).action, was);
    let merged = if applied.outcome.conflicts.is_empty() {
        after(&applied.outcome.action, target)
    } else {
        None
    };
    let renames: BTreeMap<String, &str> = part
        .operations
        .iter()
        .filter_map(|op| Some((fold(&op.name), op.to.as_deref()?)))
        .collect();
    // Each text is read once, however many requirements the delta touches.
    let [was_blocks, target_blocks, meant_blocks, merged_blocks] =
        [was, target, meant, merged].map(|text| text.map(Blocks::read));
    let mut versions: HashMap<*const str, Blocks<'_>> = HashMap::new();
    for text in written.per_requirement.values() {
        let blocks = versions.entry(Rc::as_ptr(text));
        blocks.or_insert_with(|| Blocks::read(text));
    }
    let block = |blocks: &Option<Blocks<'_>>, name: &str| blocks.as_ref()?.get(name);
    let conflicts = ConflictsByPlace::read(&applied.outcome.conflicts);
    let of_one = |name: String| {
        let key = fold(&name);
        let to = renames.get(&key).copied();
        let now = to.unwrap_or(&name);
        let base = match written.per_requirement.get(&key) {
            Some(text) => versions
                .get(&Rc::as_ptr(text))
                .and_then(|blocks| blocks.get(&name)),
            None => block(&was_blocks, &name),
        };
        let here = block(&target_blocks, &name);
        let places = match name.as_str() {
            WHOLE => vec![None],
            _ => vec![Some(key), Some(fold(now))],
        };
        RequirementDiff {
            domain: domain.to_owned(),
            path: options.target_file.to_owned(),
            requirement: (name != WHOLE).then(|| name.clone()),
            renamed_to: to.map(str::to_owned),
            delta: block(&meant_blocks, now),
            merged: block(&merged_blocks, now),
            moved: base != here,
            conflicts: conflicts.at(&places),
            base,
            target: here,
        }
    };
    touched_names(part).into_iter().map(of_one).collect()
}

/// Each requirement that a delta names, once, and first the purpose where it has a new one.
fn touched_names(part: &DomainDelta) -> Vec<String> {
    let purpose = part.purpose.as_ref().map(|_| WHOLE.to_owned());
    let touched = part.touched().into_iter().map(|touched| touched.name);
    let mut names: Vec<String> = purpose.into_iter().collect();
    let mut seen: HashSet<String> = names.iter().cloned().collect();
    names.extend(touched.filter(|name| seen.insert(fold(name))));
    names
}

/// Conflicts by the requirement that they are about; those of no requirement are the purpose's.
struct ConflictsByPlace<'a> {
    all: &'a [Conflict],
    places: HashMap<Option<String>, Vec<usize>>,
}

impl<'a> ConflictsByPlace<'a> {
    fn read(all: &'a [Conflict]) -> Self {
        let mut places: HashMap<Option<String>, Vec<usize>> = HashMap::new();
        for (at, conflict) in all.iter().enumerate() {
            let about = conflict.requirement.as_deref().map(fold);
            places.entry(about).or_default().push(at);
        }
        Self { all, places }
    }

    /// The conflicts about any of these places, each once and in their order.
    fn at(&self, places: &[Option<String>]) -> Vec<Conflict> {
        let about = places.iter().flat_map(|place| self.places.get(place));
        let about: BTreeSet<usize> = about.flatten().copied().collect();
        about
            .into_iter()
            .filter_map(|at| self.all.get(at).cloned())
            .collect()
    }
}

/// The spec after an action on `before`.
fn after<'a>(action: &'a Action, before: Option<&'a str>) -> Option<&'a str> {
    match action {
        Action::Keep => before,
        Action::Write(text) => Some(text),
        Action::Retire => None,
    }
}
