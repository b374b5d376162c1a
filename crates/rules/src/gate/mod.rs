//! Readiness, authorization, the evidence chain and the next command: conclusions, computed from facts
//! on every reading and never stored.
//!
//! Readiness says that every rule of a transition holds; authorization that a named person approved
//! exactly this content. One is never the other. The order of blockers is the reference's
//! (stage-runtime, sections 4 to 11). One file per stage; `approval` judges what was approved,
//! `conclusions` says what follows.

mod approval;
mod build;
mod clarify;
mod conclusions;
mod context;
mod evidence;
mod findings;
mod intent;
mod opening;
mod plan;
mod proofs;
mod rejudged;
mod review;
mod standing;
mod taken;
mod tasks;

pub use super::next::next_action;
use crate::texts::Texts;
pub use approval::{
    changed_since, consumable, covered, covered_files, covers_code, distinct, not_approved,
    not_consumable, not_ready, of_amendment,
};
pub use build::{AuditItem, PersonsWord, Proof, amendments_lack, audit, known, last_failed};
pub use conclusions::{Claim, GateView, approval_statuses, evidence_chain, gates};
pub use evidence::{counted, runs_by};
pub use findings::{
    AnswerView, FindingView, findings, is_changed_since, may_leave, open_blockers, open_now,
};
pub use intent::not_cited;
use loopx_base::hint::{command, hint};
use loopx_base::shell_word;
pub use loopx_base::working_tree::{CodeFacts, FileState, Uncommitted, named};
pub use opening::{Unsigned, flaw, unsigned};
pub use plan::{contract_asked, delta, unserved};
pub use proofs::{PartKey, Proofs, Unproven};
pub use rejudged::{asking_nothing, lacking};
pub use review::{archive, judgement, reviewer, unproven, unproven_work, verdict_signature};
pub use standing::{Credentials, Weighed};
pub use taken::{Taken, taken};
pub(crate) use tasks::is_by_run;
pub use tasks::{
    BehindSkipped, behind_skipped, failed_since, is_apart, is_earned, is_review_stale, lead_of,
    list_help, open as open_tasks, retry, task_statuses,
};

use super::artifact::Artifact;
use super::change_pack::{self, Slice};
use super::checks::{self, Check, Source};
use super::contract::Contract;
use super::intent::Statement;
use super::manifest::Row;
use super::markdown;
use super::outline;
use super::policy::{Demand, FILE as POLICY_FILE, Policy};
use super::profile::{Profile, ProfileName};
use super::review as verdicts;
use super::session::{State, UnknownOp};
use super::stage::{Stage, Transition};
use loopx_base::failure::{Blocker, Code, Failure};
use loopx_base::id::SessionId;
use loopx_spec::front::{Fault, FrontMatter};
use loopx_spec::{check_domain, read_delta};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// Facts that the spec engine tells of the delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaFacts {
    /// Domains that the delta names.
    pub domains: usize,
    /// Operations on requirements: added, modified, removed, renamed.
    pub operations: usize,
    /// Names of the scenarios that the delta writes: slices and tasks can be made of them.
    pub scenarios: Vec<String>,
    /// Set when the delta says, with a reason, that no behaviour changes.
    pub is_unchanged: bool,
    /// Faults of the delta, each with a line.
    pub blockers: Vec<Blocker>,
    /// Slices that name a scenario that neither the delta nor the accepted specs have.
    pub strays: Vec<Blocker>,
}

/// Facts that a gate may look at.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub state: &'a State,
    pub texts: &'a Texts,
    pub policy: &'a Policy,
    /// `None` where there is no worktree to look at.
    pub code: Option<&'a CodeFacts>,
    pub delta: &'a DeltaFacts,
    pub credentials: &'a Credentials,
    /// The checks of policy that the session has to pass: those whose paths it changes.
    pub policy_checks: &'a [Check],
    /// Profile that policy demands for what the session changes, where the session's own lacks something of it.
    pub demand: Option<&'a Demand>,
    /// Sessions besides this one that are bound to its branch.
    pub shared: &'a [SessionId],
    /// The commit that the session starts from is not here: nobody knows the policy.
    pub base_missing: Option<&'a Failure>,
    /// Context that the next stage has to read and does not find.
    pub context: &'a [Row],
    /// Numbered statements of the session's request.
    pub statements: &'a [Statement],
    pub read: &'a ReadSections,
    /// Token of the worktree that asks: a task of another one is not for this worktree to end.
    pub worktree: Option<&'a str>,
}

/// Sections and profile that were read once: several rules ask for them, and a text may be long.
#[derive(Clone, Debug, Default)]
pub struct ReadSections {
    empty: RefCell<BTreeMap<Artifact, Vec<String>>>,
    spec_boxes: OnceCell<Vec<markdown::Checkbox>>,
    profile: OnceCell<Profile>,
}

impl ReadSections {
    /// Sections before anything was read, of a session that is judged as one of this profile.
    pub fn of_profile(profile: Profile) -> Self {
        ReadSections {
            profile: OnceCell::from(profile),
            ..ReadSections::default()
        }
    }
}

impl<'a> View<'a> {
    /// Profile of the session. A profile that policy does not know any more holds every gate, and is read as the
    /// standard one.
    pub fn profile(&self) -> &'a Profile {
        let read: &'a ReadSections = self.read;
        read.profile.get_or_init(|| {
            let profiles = &self.policy.profiles;
            profiles.get(&self.state.profile).unwrap_or_else(|_| {
                let standard = profiles.get(&ProfileName::standard());
                standard.unwrap_or_else(|_| Profile::empty())
            })
        })
    }

    /// The rounds of clarify before somebody raises the cap.
    pub fn max_rounds(&self) -> u32 {
        let extra = self.state.clarify.extra_rounds;
        self.profile().rounds.saturating_add(extra)
    }

    fn text(&self, artifact: Artifact) -> Option<&str> {
        self.texts.get(&artifact).map(String::as_str)
    }

    /// Sections that must hold something and do not.
    fn empty_sections(&self, artifact: Artifact) -> Vec<String> {
        if let Some(known) = self.read.empty.borrow().get(&artifact) {
            return known.clone();
        }
        let empty = markdown::empty_sections(
            self.text(artifact).unwrap_or_default(),
            self.profile().sections_of(artifact),
            self.policy.artifacts.language,
        );
        let mut read = self.read.empty.borrow_mut();
        read.insert(artifact, empty.clone());
        empty
    }

    /// The boxes of the specification: what is open, and what is decided.
    fn spec_boxes(&self) -> &'a [markdown::Checkbox] {
        let read: &'a ReadSections = self.read;
        let text = || self.text(Artifact::Spec).unwrap_or_default();
        read.spec_boxes.get_or_init(|| markdown::boxes(text()))
    }

    /// Tells whether an artifact holds more than its template.
    pub fn is_filled(&self, artifact: Artifact) -> bool {
        self.text(artifact)
            .is_some_and(|text| !text.trim().is_empty())
            && self.empty_sections(artifact).is_empty()
    }

    /// Tells whether nobody wrote anything in an artifact, which has headings and comments alone, or an empty list.
    pub fn is_blank(&self, artifact: Artifact) -> bool {
        let text = self.text(artifact).unwrap_or_default();
        match artifact.path().rsplit_once('.') {
            Some((_, "md")) => markdown::is_blank(text),
            _ => matches!(text.trim(), "" | "[]"),
        }
    }

    /// The slices of the plan, or the checks of what stands in their place.
    pub fn slices(&self) -> Result<Vec<Slice>, Blocker> {
        let profile = self.profile();
        // What a heavier profile left, and nobody filled, asks for nothing.
        let is_left = |file: &Artifact| {
            let text = self.text(*file).map_or("", str::trim);
            !profile.asks(*file) && (text.is_empty() || text == "[]")
        };
        let mut files = change_pack::present(self.texts);
        files.retain(|file| !is_left(file));
        change_pack::slices_among(&files, self.texts)
    }
}

/// The rules of a transition that do not hold, in the reference's order. Empty is ready.
pub fn blockers(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let mut blockers = conflicts(view);
    blockers.extend(match transition {
        Transition::ClarifyToPlan => clarify::clarify(view),
        Transition::PlanToBuild => {
            let mut found = plan::plan(view);
            found.extend(clashes(view));
            found
        }
        Transition::BuildToReview => {
            let mut found = build::record(view);
            found.extend(build::frozen(view));
            found.extend(build::build(view));
            found.extend(clashes(view));
            found
        }
        Transition::ReviewToBuild | Transition::ReviewToPlan | Transition::ReviewToClarify => {
            review::rollback(view, transition)
        }
        Transition::BuildToPlan | Transition::DoneToBuild => missing_stage(view, transition),
        Transition::ReviewToDone => review::done(view),
    });
    if !transition.is_rollback() {
        blockers.extend(tasks::open(view, transition.from()));
        blockers.extend(intent::uncovered(view, transition));
        blockers.extend(context::missing(view, transition));
        blockers.extend(demanded(view));
        let unsigned = view.credentials.unsigned.iter();
        blockers.extend(unsigned.map(Unsigned::blocker));
    }
    blockers
}

/// Causes that hold an approval for which nobody gives a reason: what the gate lacks, and what the plan leaves unserved.
pub fn wanting(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let mut found = blockers(view, transition);
    if transition == Transition::PlanToBuild {
        found.extend(unserved(view));
    }
    found
}

/// Checks of artifacts that have the name of a check of policy and other words: nobody could say which of the two a
/// run is of.
fn clashes(view: View<'_>) -> Vec<Blocker> {
    let of_policy = view.policy.all_checks();
    let found = checks::clashes(view.texts, view.state, &of_policy).into_iter();
    let words = |check: &Check| {
        let words = check.argv.iter().map(|word| shell_word(word));
        words.collect::<Vec<_>>().join(" ")
    };
    found
        .map(|(own, other)| {
            let artifact = match own.source {
                Source::Artifact(artifact) => artifact,
                Source::Policy => Artifact::TaskList,
            };
            let help = match (artifact, view.state.stage) {
                (Artifact::TaskList, _) => list_help(view.state, view.policy, command!("edit {artifact}")),
                (_, Stage::Build) => command!("plan --reason WHY"),
                _ => command!("edit {artifact}"),
            };
            let message = format!(
                "{artifact}: the check {} is `{}`, and [checks] of {POLICY_FILE} has `{}` under that name: give yours another one",
                own.id,
                words(&own),
                words(&other),
            );
            Blocker::new(Code::CheckNameTaken, message, help)
        })
        .collect()
}

/// A conflict of the session holds every gate of it, and nothing else.
pub fn conflicts(view: View<'_>) -> Vec<Blocker> {
    view.state
        .conflicts
        .iter()
        .map(|conflict| {
            Blocker::new(
                Code::SessionConflict,
                format!("operation {} did not fit: {}", conflict.op, conflict.why),
                command!("resolve"),
            )
        })
        .chain(view.state.contested().map(|(artifact, join)| {
            let people: Vec<&str> = join
                .sides
                .iter()
                .map(|side| side.by.name.as_str())
                .collect();
            Blocker::new(
                Code::SessionConflict,
                format!(
                    "{artifact} was changed in several clones at once, by {}",
                    people.join(" and ")
                ),
                command!("resolve"),
            )
        }))
        .chain(view.state.outputs_apart().map(|(path, versions)| {
            Blocker::new(
                Code::SessionConflict,
                format!("{path} has {} versions from several clones", versions.len()),
                command!("resolve"),
            )
        }))
        .chain(view.state.holding().map(unknown))
        .chain(profile(view))
        .chain(shared(view))
        .chain(view.base_missing.cloned().map(Blocker::from))
        .collect()
}

/// A profile that the policy of the base does not have: nobody knows what it asks for.
fn profile(view: View<'_>) -> Option<Blocker> {
    let failure = view.policy.profiles.get(&view.state.profile).err()?;
    let profile = match view.policy.default_profile() {
        Ok(name) => name,
        Err(_) => ProfileName::standard(),
    };
    Some(Blocker::new(
        Code::ProfileUnknown,
        failure.message,
        command!("profile {profile} --reason WHY"),
    ))
}

/// The heavier profile that policy demands for a path that the session changes: without it the change does not land.
pub fn demanded(view: View<'_>) -> Option<Blocker> {
    let demand = view.demand?;
    Some(Blocker::new(
        Code::ProfileTooLight,
        demand.sentence(&view.state.profile),
        command!("profile {}", demand.profile),
    ))
}

/// A move to a stage that the session's profile has not.
fn missing_stage(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let to = transition.to();
    let own = view.profile();
    if own.has_stage(to) {
        return Vec::new();
    }
    let profiles = &view.policy.profiles;
    let is_fit = |name: &ProfileName| {
        profiles.get(name).is_ok_and(|one| {
            one.has_stage(to)
                && one.lacks(own).is_none()
                && view.policy.forbids(name, &one).is_none()
        })
    };
    let lightest = profiles.names().into_iter().find(is_fit);
    let heavier = lightest.unwrap_or_else(ProfileName::standard);
    vec![Blocker::new(
        Code::StageNotInProfile,
        format!("the profile {} has no stage {to}", view.state.profile),
        command!("profile {heavier} --reason WHY"),
    )]
}

/// Blocker of two sessions on one branch: the work on it is nobody's until one of them has it alone.
fn shared(view: View<'_>) -> Option<Blocker> {
    let branch = view.state.branch.as_ref()?;
    let others: Vec<&str> = view.shared.iter().map(SessionId::as_str).collect();
    let who = match others.as_slice() {
        [] => return None,
        [only] => format!("session {only} is"),
        several => format!("the sessions {} are", several.join(", ")),
    };
    Some(Blocker::new(
        Code::BranchShared,
        format!("{who} bound to the branch {branch} too"),
        hint![
            command!("use {} --branch {branch}", view.state.id),
            "  (the others let it go)"
        ],
    ))
}

/// Blocker of a record that only a newer program understands: it may close a gate, and nothing opens beside it.
fn unknown(op: &UnknownOp) -> Blocker {
    Blocker::new(
        Code::NewerProgramRequired,
        format!(
            "needs git loopx {}: `{}` (@{}) of {} is a record that this program does not understand",
            op.needs, op.kind, op.seq, op.by
        ),
        hint![
            "update git loopx, or take it back: ",
            command!("undo --only {} --reason WHY", op.op)
        ],
    )
}

pub(super) fn field_fault(code: Code, artifact: Artifact, fault: &Fault) -> Blocker {
    Blocker::new(
        code,
        format!("{}:{}: {}", artifact.path(), fault.line, fault.message),
        command!("edit {}", artifact.path()),
    )
}

fn unknown_field(artifact: Artifact, front: &FrontMatter) -> Option<Fault> {
    front.unknown(&artifact.known_fields()?)
}

/// Lists what is written wrongly in an artifact, each fault under the code of the gate that reads it. An artifact with
/// such a fault is not saved: a gate must never have to guess. Missing fields are no fault here; the gates ask for
/// them.
pub fn faults(artifact: Artifact, text: &str) -> Vec<Blocker> {
    if artifact == Artifact::Slices {
        return match change_pack::slices(Some(text)) {
            Err(blocker) if blocker.code != Code::VerticalSlicesMissing => vec![blocker],
            _ => Vec::new(),
        };
    }
    if !artifact.path().ends_with(".md") {
        return Vec::new();
    }
    let front = match FrontMatter::parse(text) {
        Ok(front) => front,
        Err(fault) => return written_wrongly(artifact, vec![(Code::FrontMatterInvalid, fault)]),
    };
    let mut found = written_wrongly(artifact, field_faults(artifact, text, &front));
    let domains = match artifact {
        Artifact::Spec => front.list("target_domains").unwrap_or_default(),
        Artifact::SpecDelta => named_domains(text),
        _ => Vec::new(),
    };
    found.extend(domain_faults(artifact, text, domains));
    found
}

/// A field that is not there is not written wrongly.
fn written_wrongly(artifact: Artifact, faults: Vec<(Code, Fault)>) -> Vec<Blocker> {
    let faults = faults.into_iter().filter(|(_, fault)| !fault.missing);
    faults
        .map(|(code, fault)| field_fault(code, artifact, &fault))
        .collect()
}

/// The faults of the fields that gates read, each under the code of its gate.
fn field_faults(artifact: Artifact, text: &str, front: &FrontMatter) -> Vec<(Code, Fault)> {
    let unknown = unknown_field(artifact, front).map_or(Ok(()), Err);
    let mut read = vec![(Code::FrontMatterInvalid, unknown)];
    match artifact {
        Artifact::Spec => read.extend([
            (
                Code::UnresolvedAmbiguity,
                front.count("unresolved_ambiguity_count").map(drop),
            ),
            (
                Code::ClarifyCurrentRoundRequired,
                front.count("current_round").map(drop),
            ),
            (
                Code::ClarifyAmbiguityScoreAboveThreshold,
                front.ratio("ambiguity_score").map(drop),
            ),
            (
                Code::ClarifyNonGoalsUnresolved,
                front.boolean("non_goals_resolved").map(drop),
            ),
            (
                Code::ClarifyDecisionBoundariesUnresolved,
                front.boolean("decision_boundaries_resolved").map(drop),
            ),
            (
                Code::ClarifyPressurePassIncomplete,
                front.boolean("pressure_pass_complete").map(drop),
            ),
        ]),
        Artifact::Plan => read.extend([
            (
                Code::AcceptanceCriteriaUnresolved,
                front.boolean("acceptance_criteria_testable").map(drop),
            ),
            (
                Code::VerificationStepsUnresolved,
                front.boolean("verification_steps_resolved").map(drop),
            ),
            (Code::PlanScopeInvalid, Contract::read(text).map(drop)),
            (Code::FrontMatterInvalid, outline::written(front).map(drop)),
        ]),
        Artifact::ExecutionRecord => read.push((
            Code::ExecutionRecordInvalid,
            verdicts::scope(text).map(drop),
        )),
        _ => {}
    }
    let faults = read.into_iter();
    faults
        .filter_map(|(code, read)| Some((code, read.err()?)))
        .collect()
}

/// The domains that a delta names.
fn named_domains(text: &str) -> Vec<String> {
    let delta = read_delta(text.as_bytes(), Artifact::SpecDelta.path());
    let named = delta.domains.into_iter().filter_map(|one| one.domain);
    named.collect()
}

/// Domains that no folder of specs can have: said where they are written, not when the plan is approved.
fn domain_faults(artifact: Artifact, text: &str, domains: Vec<String>) -> Vec<Blocker> {
    let faulty = domains
        .into_iter()
        .filter_map(|domain| Some((check_domain(&domain).err()?, domain)));
    faulty
        .map(|(why, domain)| {
            let line = text.lines().position(|line| line.contains(&domain));
            let place = line.map_or_else(String::new, |line| format!(":{}", line + 1));
            let message = format!("{artifact}{place}: {domain:?} cannot be a domain: {why}");
            Blocker::new(Code::BadDomain, message, command!("edit {artifact}"))
        })
        .collect()
}
