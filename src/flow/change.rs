//! `change`: a session's delta against its recorded bases and its target branch, tried without writing.
//!
//! Every verdict comes from [`delta::judge`] on the session's [`Ground`], which gate and archive use too:
//! what is clean here, archive takes, and what it refuses has the same ids. `overlap` tries pairs of sessions; `refresh` records new bases.

use super::act::{Act, Done, Needs, act, texts_here};
use super::context::Context;
use super::coverage;
use super::delta::{self, Judgement, Target, WHOLE};
use super::ground::{self, Ground};
use super::spec::blocker;
use crate::core::artifact::Artifact;
use crate::core::failure::{Blocker, Failure, Result};
use crate::core::gate::{self, View};
use crate::core::id::{Oid, SessionId};
use crate::core::op::{Event, RequirementBase};
use crate::core::policy::Policy;
use crate::core::session::State;
use crate::core::spec::{
    Action, Conflict, Finding, MarkerNames, OpKind, PlanOptions, Severity, block_of, fold,
    merge_spec, plan_domain,
};
use crate::core::stage::Stage;
use crate::git::merge::FileMerge;
use crate::store::{Session, Snapshot};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What archive would say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    Clean,
    /// Something is wrong with the delta, or it does not fit the specs.
    Refused,
    /// The delta and the target changed one thing in two ways.
    Conflict,
}

/// The verdict on one session's delta.
#[derive(Debug, Serialize)]
pub struct Judged {
    pub session: SessionId,
    pub stage: Stage,
    /// The branch that it was tried on.
    pub target: Option<String>,
    pub verdict: Word,
    pub operations: usize,
    /// What archive refuses.
    pub blockers: Vec<Blocker>,
    pub conflicts: Vec<Conflict>,
    /// What `--strict` refuses too.
    pub warnings: Vec<Finding>,
    /// Sessions that have to be archived first.
    pub waits_for: Vec<Blocker>,
    /// Scenarios that archive asks proof of and that no slice names.
    pub unserved: Vec<Blocker>,
}

/// A session with its unsaved edits, and what became of its delta.
struct Loaded {
    state: State,
    policy: Policy,
    texts: BTreeMap<Artifact, String>,
    ground: Ground,
    judgement: Judgement,
}

/// Reads a session as its author sees it: files that were edited here count, nothing is written.
fn load(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Loaded> {
    let state = session.state.clone();
    let policy = ctx.policy(&state)?;
    let texts = texts_here(ctx, &state, &policy)?;
    let ground = Ground::of(ctx, snapshot, &state, &texts)?;
    let judgement = ground.judge(ctx, &state, &policy, &texts)?;
    Ok(Loaded {
        state,
        policy,
        texts,
        ground,
        judgement,
    })
}

impl Loaded {
    fn judged(&self, ctx: &Context, snapshot: &Snapshot<'_>) -> Result<Judged> {
        let Loaded {
            state,
            policy,
            texts,
            judgement,
            ..
        } = self;
        let facts = &judgement.facts;
        let nobody = gate::Credentials::default();
        let mut blockers = gate::delta(View {
            state,
            texts,
            policy,
            code: None,
            delta: facts,
            credentials: &nobody,
        });
        if !texts.contains_key(&Artifact::SpecDelta) {
            blockers.push(Blocker::new(
                "spec_delta_missing",
                format!("session {} has no spec delta yet", state.id),
                format!("git loopx -s {} status", state.id),
            ));
        }
        let conflicts: Vec<Conflict> = judgement.verdict.conflicts().cloned().collect();
        let verdict = match (blockers.is_empty(), conflicts.is_empty()) {
            (false, _) => Word::Refused,
            (true, false) => Word::Conflict,
            (true, true) => Word::Clean,
        };
        Ok(Judged {
            session: state.id.clone(),
            stage: state.stage,
            target: delta::target_branch(ctx, state)?,
            verdict,
            operations: facts.operations,
            blockers,
            conflicts,
            warnings: self.warnings(),
            waits_for: ground::waits_for(snapshot, &judgement.delta, &[])?
                .iter()
                .filter(|finding| finding.severity != Severity::Error)
                .map(blocker)
                .collect(),
            unserved: coverage::unserved(policy, texts, &judgement.delta)
                .into_iter()
                .map(|scenario| {
                    Blocker::new(
                        "scenario_unserved",
                        format!("no slice names scenario `{scenario}` in its `scenarios`"),
                        format!("git loopx edit {}", Artifact::Slices),
                    )
                })
                .collect(),
        })
    }

    fn warnings(&self) -> Vec<Finding> {
        let judgement = &self.judgement;
        let all: Vec<&Finding> = if judgement.verdict.domains.is_empty() {
            judgement.delta.findings.iter().collect()
        } else {
            judgement.verdict.findings().collect()
        };
        all.into_iter()
            .filter(|finding| finding.severity == Severity::Warning)
            .cloned()
            .collect()
    }
}

/// The verdict on the session that is meant, or on every active one.
pub fn validate(ctx: &Context, all: bool) -> Result<(Vec<Judged>, Vec<Overlap>)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    if !all {
        let session = active(ctx, &snapshot)?;
        let judged = load(ctx, &snapshot, &session)?.judged(ctx, &snapshot)?;
        return Ok((vec![judged], Vec::new()));
    }
    let loaded = load_all(ctx, &snapshot)?;
    let judged = loaded
        .iter()
        .map(|one| one.judged(ctx, &snapshot))
        .collect::<Result<Vec<_>>>()?;
    Ok((judged, overlaps(ctx, &snapshot, &loaded)?))
}

fn active(ctx: &Context, snapshot: &Snapshot<'_>) -> Result<Session> {
    super::act::load_active(snapshot, &ctx.session_id(snapshot)?)
}

/// Every active session that has a delta.
fn load_all(ctx: &Context, snapshot: &Snapshot<'_>) -> Result<Vec<Loaded>> {
    let mut loaded = Vec::new();
    for (_, session) in snapshot.active()? {
        let one = load(ctx, snapshot, &session?)?;
        if one.state.is_active() && one.texts.contains_key(&Artifact::SpecDelta) {
            loaded.push(one);
        }
    }
    Ok(loaded)
}

// Overlap.

/// Two open sessions that touch one requirement.
#[derive(Debug, Serialize)]
pub struct Overlap {
    pub sessions: [SessionId; 2],
    /// `domain` and `requirement` of what both touch; no requirement is the domain's purpose.
    pub shared: Vec<Shared>,
    /// The second depends on the first: it was written on top of it.
    pub depends: bool,
    pub verdict: Word,
    pub conflicts: Vec<Conflict>,
    /// What the second is refused with once the first is in.
    pub blockers: Vec<Blocker>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shared {
    pub domain: String,
    pub requirement: Option<String>,
}

/// Every pair of open sessions that touch one requirement.
pub fn overlap(ctx: &Context) -> Result<Vec<Overlap>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    overlaps(ctx, &snapshot, &load_all(ctx, &snapshot)?)
}

fn overlaps(ctx: &Context, snapshot: &Snapshot<'_>, loaded: &[Loaded]) -> Result<Vec<Overlap>> {
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

/// Whether the second can still be archived when the first was. Who is depended on is the first.
fn pair(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    first: &Loaded,
    second: &Loaded,
    shared: Vec<Shared>,
) -> Result<Overlap> {
    let builds_on = |one: &Loaded, other: &Loaded| one.ground.open.contains(&other.state.id);
    let (first, second) = match builds_on(first, second) {
        true => (second, first),
        false => (first, second),
    };
    let mut overlap = Overlap {
        sessions: [first.state.id.clone(), second.state.id.clone()],
        shared,
        depends: builds_on(second, first),
        verdict: Word::Clean,
        conflicts: Vec::new(),
        blockers: Vec::new(),
    };
    let one_target =
        delta::target_branch(ctx, &first.state)? == delta::target_branch(ctx, &second.state)?;
    if one_target || overlap.depends {
        let after = second.after(ctx, snapshot, first)?;
        overlap.conflicts = after.verdict.conflicts().cloned().collect();
        // What is wrong with it alone is not the other's doing.
        let alone = &second.judgement.facts.blockers;
        overlap.blockers = after.facts.blockers;
        overlap.blockers.retain(|blocker| !alone.contains(blocker));
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
    /// The delta on what the first one makes of the specs, and on what both depend on.
    fn after(&self, ctx: &Context, snapshot: &Snapshot<'_>, first: &Loaded) -> Result<Judgement> {
        let mut target = first.ground.target.clone();
        ground::results(&first.judgement, &first.policy, &mut target);
        let mut more = self.ground.open.clone();
        more.retain(|id| *id != first.state.id && !first.ground.open.contains(id));
        ground::stack(ctx, snapshot, &mut target, &more)?;
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
    ground::stack(ctx, snapshot, &mut base, &common)?;
    let side = |one: &Loaded| {
        let mut target = one.ground.target.clone();
        ground::results(&one.judgement, &one.policy, &mut target);
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

// Diff.

/// One requirement that a delta touches: what the delta does to it, and what archive would do.
#[derive(Debug, Serialize)]
pub struct RequirementDiff {
    pub domain: String,
    pub path: String,
    /// Absent for the domain's purpose.
    pub requirement: Option<String>,
    pub renamed_to: Option<String>,
    /// As it was when the delta was written.
    pub base: Option<String>,
    /// As the delta has it.
    pub delta: Option<String>,
    /// As the target branch has it now.
    pub target: Option<String>,
    /// As archive would write it; absent also where there is a conflict.
    pub merged: Option<String>,
    /// Whether the target branch changed it since the base.
    pub moved: bool,
    pub conflicts: Vec<Conflict>,
}

/// The session's delta, requirement by requirement.
pub fn diff(ctx: &Context) -> Result<(SessionId, Vec<RequirementDiff>)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let one = load(ctx, &snapshot, &active(ctx, &snapshot)?)?;
    let judged = one.judged(ctx, &snapshot)?;
    if judged.verdict == Word::Refused {
        return Err(Failure::refused(
            "delta_invalid",
            format!("the delta of {} cannot be applied", one.state.id),
        )
        .blockers(judged.blockers)
        .help("git loopx edit change/spec-delta.md"));
    }
    let stands = &one.ground.target;
    let bases = delta::all_bases(ctx, &one.state, &one.policy, stands, &one.judgement.delta)?;
    let by_domain = delta::by_domain(&bases);
    let mut found = Vec::new();
    for (part, applied) in one
        .judgement
        .delta
        .domains
        .iter()
        .zip(&one.judgement.verdict.domains)
    {
        let domain = applied.outcome.domain.as_str();
        let path = delta::spec_path(&one.policy, domain);
        let written = delta::written_against(ctx, &by_domain, domain)?;
        let options = PlanOptions {
            retire: one.judgement.delta.retire,
            target_file: &path,
            ..PlanOptions::default()
        };
        let was = written.default.as_deref();
        let alone = plan_domain(domain, &written, was, part, &options, &FileMerge);
        let meant = after(&alone.action, was);
        let target = applied.before.as_deref();
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
        let mut names: Vec<String> = Vec::new();
        if part.purpose.is_some() {
            names.push(WHOLE.to_owned());
        }
        for touched in part.touched() {
            if !names.iter().any(|name| fold(name) == fold(&touched.name)) {
                names.push(touched.name);
            }
        }
        for name in names {
            let key = fold(&name);
            let to = renames.get(&key).copied();
            let now = to.unwrap_or(&name);
            let base = written
                .per_requirement
                .get(&key)
                .map(String::as_str)
                .or(was)
                .and_then(|text| block_of(text, &name));
            let here = target.and_then(|text| block_of(text, &name));
            let matches =
                |conflict: &&Conflict| match (&conflict.requirement, name.as_str() == WHOLE) {
                    (Some(other), false) => fold(other) == key || fold(other) == fold(now),
                    (None, whole) => whole,
                    (Some(_), true) => false,
                };
            found.push(RequirementDiff {
                domain: domain.to_owned(),
                path: path.clone(),
                requirement: (name != WHOLE).then(|| name.clone()),
                renamed_to: to.map(str::to_owned),
                delta: meant.and_then(|text| block_of(text, now)),
                merged: merged.and_then(|text| block_of(text, now)),
                moved: base != here,
                conflicts: applied
                    .outcome
                    .conflicts
                    .iter()
                    .filter(matches)
                    .cloned()
                    .collect(),
                base,
                target: here,
            });
        }
    }
    Ok((one.state.id, found))
}

/// The spec after an action on `before`.
fn after<'a>(action: &'a Action, before: Option<&'a str>) -> Option<&'a str> {
    match action {
        Action::Keep => before,
        Action::Write(text) => Some(text),
        Action::Retire => None,
    }
}

// Refresh.

/// A requirement whose base was recorded anew because the target branch had changed it.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    pub domain: String,
    /// Absent for the domain's purpose.
    pub requirement: Option<String>,
    pub old: Option<String>,
    pub new: Option<String>,
    /// The delta replaces it as a whole: what the target changed is undone unless it is taken over.
    pub replaced: bool,
}

/// What a refresh came to.
#[derive(Debug)]
pub struct Refreshed {
    pub target: String,
    pub commit: Option<Oid>,
    pub moved: Vec<Moved>,
}

/// Records what stands on the target branch now as the base of everything that the delta touches.
pub fn refresh(ctx: &Context) -> Result<Done<Refreshed>> {
    let store = ctx.store()?;
    act(ctx, Needs::Stage, |facts| {
        let state = &facts.state;
        if !Artifact::SpecDelta.is_open_at(state.stage) {
            return Err(Failure::refused(
                "refresh_closed",
                format!(
                    "the delta is closed in stage {}; a new base would hide from its reviewers what it undoes",
                    state.stage
                ),
            )
            .help("git loopx archive  (a conflict is resolved there, and `archive --continue` finishes)"));
        }
        let Some((delta, blockers)) = delta::read(&facts.texts) else {
            return Err(
                Failure::nothing("delta_missing", "the session has no spec delta yet")
                    .help("git loopx status"),
            );
        };
        if let Some(first) = blockers.first() {
            return Err(
                Failure::refused("delta_invalid", first.message.clone()).help(first.help.clone())
            );
        }
        let mut fresh = state.clone();
        fresh.bases.clear();
        let ground = Ground::of(ctx, &store.snapshot()?, state, &facts.texts)?;
        let stands = &ground.target;
        let new: Vec<RequirementBase> =
            delta::missing_bases(ctx, &fresh, &facts.policy, stands, &delta)?;
        let text = |blob: Option<&Oid>| -> Result<Option<String>> {
            blob.map(|blob| Ok(String::from_utf8_lossy(&ctx.repo.read_blob(blob)?).into_owned()))
                .transpose()
        };
        let mut moved = Vec::new();
        for base in &new {
            let known = state
                .bases
                .iter()
                .find(|b| b.domain == base.domain && b.requirement == base.requirement);
            let Some(known) = known.filter(|known| known.blob != base.blob) else {
                continue;
            };
            let part = delta
                .domains
                .iter()
                .find(|part| part.domain.as_deref() == Some(base.domain.as_str()));
            let purpose = part.is_some_and(|part| part.purpose.is_some());
            if base.requirement == WHOLE && !purpose {
                continue;
            }
            let (old, new) = (text(known.blob.as_ref())?, text(base.blob.as_ref())?);
            let old = old.and_then(|text| block_of(&text, &base.requirement));
            let new = new.and_then(|text| block_of(&text, &base.requirement));
            if old == new {
                continue;
            }
            let replaced = part.is_some_and(|part| {
                part.operations.iter().any(|op| {
                    op.kind == OpKind::Modified && !op.patch && fold(&op.name) == base.requirement
                })
            });
            moved.push(Moved {
                domain: base.domain.clone(),
                requirement: (base.requirement != WHOLE).then(|| base.requirement.clone()),
                old,
                new,
                replaced: replaced || base.requirement == WHOLE,
            });
        }
        let target = delta::target_branch(ctx, state)?.unwrap_or_else(|| "HEAD".to_owned());
        if moved.is_empty() {
            return Err(Failure::nothing(
                "nothing_moved",
                format!("nothing that the delta touches changed on {target} since its base"),
            )
            .help("git loopx change diff"));
        }
        let n = moved.len();
        let what = format!(
            "refresh {n} base{} from {target}",
            if n == 1 { "" } else { "s" }
        );
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
