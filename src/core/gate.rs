//! Readiness, authorization, the evidence chain and the next command: conclusions, computed from facts
//! on every reading and never stored.
//!
//! Readiness says that every rule of a transition holds; authorization that a named person approved
//! exactly this content. One is never the other. The order of blockers is the reference's
//! (stage-runtime, sections 4 to 11).

use super::artifact::Artifact;
use super::failure::{Blocker, Failure};
use super::front::{Fault, FrontMatter};
use super::id::{Oid, Person};
use super::markdown;
use super::op::{CodeVerdict, Lane, LaneStatus, PlanLane, PlanVerdict, Target};
use super::pack::{self, Slice};
use super::policy::{Independence, Language, Policy};
use super::review::{self, Judgement};
use super::session::{Approval, State};
use super::stage::{ApprovalKey, Stage, Transition};
use serde::Serialize;
use std::collections::BTreeMap;

/// The code that the session is about, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub head: Option<Oid>,
    /// The content of the worktree as a tree; equal to HEAD's tree when nothing is uncommitted.
    pub tree: Oid,
    pub is_dirty: bool,
}

/// What the spec engine said of the delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaFacts {
    /// Domains that the delta names.
    pub domains: usize,
    /// Operations on requirements: added, modified, removed, renamed.
    pub operations: usize,
    /// What is wrong with it, each with a line.
    pub blockers: Vec<Blocker>,
}

/// Everything that a gate may look at.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub state: &'a State,
    pub texts: &'a BTreeMap<Artifact, String>,
    pub policy: &'a Policy,
    /// `None` where there is no worktree to look at.
    pub code: Option<&'a Code>,
    pub delta: &'a DeltaFacts,
}

impl View<'_> {
    fn text(&self, artifact: Artifact) -> Option<&str> {
        self.texts.get(&artifact).map(String::as_str)
    }

    /// Sections that must hold something and do not.
    fn empty_sections(&self, artifact: Artifact) -> Vec<&'static str> {
        let sections = markdown::sections(self.text(artifact).unwrap_or_default());
        artifact
            .required_sections()
            .iter()
            .copied()
            .filter(|title| !markdown::section(&sections, title).is_some_and(|s| s.filled))
            .collect()
    }

    /// Whether an artifact holds more than its template.
    pub fn is_filled(&self, artifact: Artifact) -> bool {
        self.text(artifact)
            .is_some_and(|text| !text.trim().is_empty())
            && self.empty_sections(artifact).is_empty()
    }

    fn slices(&self) -> Result<Vec<Slice>, Blocker> {
        pack::slices(self.text(Artifact::Slices))
    }
}

/// The artifacts that the gate of a transition judges, and that its approval therefore covers.
pub fn covered(transition: Transition) -> &'static [Artifact] {
    use Artifact as A;
    match transition {
        Transition::ClarifyToPlan => &[A::Intent, A::Spec],
        Transition::PlanToBuild => &[
            A::Intent,
            A::Spec,
            A::Plan,
            A::Architecture,
            A::DevelopmentPlan,
            A::TestPlan,
            A::Proposal,
            A::SpecDelta,
            A::Design,
            A::Tasks,
            A::Slices,
        ],
        Transition::BuildToReview => &[
            A::Intent,
            A::Spec,
            A::Plan,
            A::Architecture,
            A::DevelopmentPlan,
            A::TestPlan,
            A::Proposal,
            A::SpecDelta,
            A::Design,
            A::Tasks,
            A::Slices,
            A::ExecutionRecord,
        ],
        Transition::ReviewToDone => &[
            A::Intent,
            A::Spec,
            A::Plan,
            A::Architecture,
            A::DevelopmentPlan,
            A::TestPlan,
            A::Proposal,
            A::SpecDelta,
            A::Design,
            A::Tasks,
            A::Slices,
            A::ExecutionRecord,
            A::ReviewReport,
        ],
        Transition::ReviewToBuild | Transition::ReviewToPlan | Transition::ReviewToClarify => {
            &[A::ReviewReport]
        }
    }
}

/// Whether the gate of a transition also judges the code tree.
pub fn covers_code(transition: Transition) -> bool {
    matches!(
        transition,
        Transition::BuildToReview | Transition::ReviewToDone
    )
}

/// The blobs of the covered artifacts as they are now.
pub fn covered_files(state: &State, transition: Transition) -> BTreeMap<Artifact, Oid> {
    covered(transition)
        .iter()
        .filter_map(|a| Some((*a, state.artifacts.get(a)?.clone())))
        .collect()
}

/// What changed since an approval was given: artifact paths, and `the code` for the tree.
pub fn changed_since(approval: &Approval, view: View<'_>) -> Vec<String> {
    let now = covered_files(view.state, approval.transition);
    let mut changed: Vec<String> = covered(approval.transition)
        .iter()
        .filter(|a| approval.files.get(a) != now.get(a))
        .map(|a| a.path().to_owned())
        .collect();
    if covers_code(approval.transition)
        && let Some(code) = view.code
        && approval.code.as_ref() != Some(&code.tree)
    {
        changed.push("the code".into());
    }
    changed
}

/// The rules of a transition that do not hold, in the reference's order. Empty is ready.
pub fn blockers(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let mut blockers = conflicts(view);
    blockers.extend(match transition {
        Transition::ClarifyToPlan => clarify(view),
        Transition::PlanToBuild => plan(view),
        Transition::BuildToReview => {
            let mut found = review::record_blockers(view.text(Artifact::ExecutionRecord));
            found.extend(frozen(view));
            found.extend(build(view));
            found
        }
        Transition::ReviewToBuild | Transition::ReviewToPlan | Transition::ReviewToClarify => {
            rollback(view, transition)
        }
        Transition::ReviewToDone => done(view),
    });
    blockers
}

/// A conflict of the session holds every gate of it, and nothing else.
fn conflicts(view: View<'_>) -> Vec<Blocker> {
    view.state
        .conflicts
        .iter()
        .map(|conflict| {
            Blocker::new(
                "session_conflict",
                format!("operation {} did not fit: {}", conflict.op, conflict.why),
                "git loopx log",
            )
        })
        .collect()
}

fn field_fault(code: &str, artifact: Artifact, fault: &Fault) -> Blocker {
    Blocker::new(
        code,
        format!("{}:{}: {}", artifact.path(), fault.line, fault.message),
        format!("git loopx edit {}", artifact.path()),
    )
}

/// What is written wrongly in an artifact, each under the code of the gate that reads it. An artifact
/// with such a fault is not saved: a gate must never have to guess. Missing fields are no fault here;
/// the gates ask for them.
pub fn faults(artifact: Artifact, text: &str) -> Vec<Blocker> {
    let mut found = Vec::new();
    let mut check = |code: &str, read: Result<(), Fault>| {
        if let Err(fault) = read
            && !fault.missing
        {
            found.push(field_fault(code, artifact, &fault));
        }
    };
    if artifact == Artifact::Slices {
        return match pack::slices(Some(text)) {
            Err(blocker) if blocker.code != "vertical_slices_missing" => vec![blocker],
            _ => Vec::new(),
        };
    }
    if !artifact.path().ends_with(".md") {
        return found;
    }
    let front = match FrontMatter::parse(text) {
        Ok(front) => front,
        Err(fault) => {
            check("front_matter_invalid", Err(fault));
            return found;
        }
    };
    match artifact {
        Artifact::Spec => {
            check(
                "unresolved_ambiguity",
                front.count("unresolved_ambiguity_count").map(drop),
            );
            check(
                "clarify_current_round_required",
                front.count("current_round").map(drop),
            );
            check(
                "clarify_ambiguity_score_above_threshold",
                front.ratio("ambiguity_score").map(drop),
            );
            for (field, code) in [
                ("non_goals_resolved", "clarify_non_goals_unresolved"),
                (
                    "decision_boundaries_resolved",
                    "clarify_decision_boundaries_unresolved",
                ),
                ("pressure_pass_complete", "clarify_pressure_pass_incomplete"),
            ] {
                check(code, front.boolean(field).map(drop));
            }
        }
        Artifact::Plan => {
            check(
                "acceptance_criteria_unresolved",
                front.boolean("acceptance_criteria_testable").map(drop),
            );
            check(
                "verification_steps_unresolved",
                front.boolean("verification_steps_resolved").map(drop),
            );
            check("plan_scope_invalid", scope_patterns(text).map(drop));
        }
        Artifact::ExecutionRecord => {
            check("execution_record_invalid", review::scope(text).map(drop))
        }
        _ => {}
    }
    found
}

/// Reference stage-runtime, section 5: seven blockers in a fixed order, then empty sections.
pub fn clarify(view: View<'_>) -> Vec<Blocker> {
    let edit = "git loopx edit spec.md";
    let path = Artifact::Spec.path();
    let Some(text) = view.text(Artifact::Spec) else {
        return vec![Blocker::new(
            "unresolved_ambiguity",
            "spec.md is not there, so nothing is resolved",
            "git loopx put spec.md FILE",
        )];
    };
    let front = match FrontMatter::parse(text) {
        Ok(front) => front,
        Err(fault) => return vec![field_fault("unresolved_ambiguity", Artifact::Spec, &fault)],
    };
    let mut found = Vec::new();
    match front.count("unresolved_ambiguity_count") {
        Ok(0) => {}
        Ok(n) => found.push(Blocker::new(
            "unresolved_ambiguity",
            format!("{path}: {n} open question{}", if n == 1 { "" } else { "s" }),
            edit,
        )),
        Err(fault) => found.push(field_fault("unresolved_ambiguity", Artifact::Spec, &fault)),
    }
    let max = view.state.max_rounds();
    match front.count("current_round") {
        Ok(0) => found.push(Blocker::new(
            "clarify_current_round_required",
            format!("{path}: current_round is 0: no round of questions has been held"),
            edit,
        )),
        Ok(round) if round > max => found.push(Blocker::new(
            "clarify_max_rounds_exceeded",
            format!("{path}: round {round} of at most {max}"),
            "git loopx clarify --more 5 --reason WHY",
        )),
        Ok(_) => {}
        Err(fault) => found.push(field_fault(
            "clarify_current_round_required",
            Artifact::Spec,
            &fault,
        )),
    }
    let threshold = view.state.profile.threshold();
    let above = "clarify_ambiguity_score_above_threshold";
    match front.ratio("ambiguity_score") {
        Ok(score) if score > threshold => found.push(Blocker::new(
            above,
            format!("{path}: ambiguity {score}, at most {threshold} passes"),
            edit,
        )),
        Ok(_) => {}
        Err(fault) => found.push(field_fault(above, Artifact::Spec, &fault)),
    }
    for (field, code, what) in [
        (
            "non_goals_resolved",
            "clarify_non_goals_unresolved",
            "the non-goals",
        ),
        (
            "decision_boundaries_resolved",
            "clarify_decision_boundaries_unresolved",
            "the decision boundaries",
        ),
        (
            "pressure_pass_complete",
            "clarify_pressure_pass_incomplete",
            "the pressure pass",
        ),
    ] {
        match front.boolean(field) {
            Ok(true) => {}
            Ok(false) => found.push(Blocker::new(
                code,
                format!("{path}: {what} are not settled ({field}: false)")
                    .replace("pass are", "pass is"),
                edit,
            )),
            Err(fault) => found.push(field_fault(code, Artifact::Spec, &fault)),
        }
    }
    let empty = view.empty_sections(Artifact::Spec);
    if !empty.is_empty() {
        found.push(Blocker::new(
            "clarify_section_empty",
            format!(
                "{path}: nothing stands under `## {}`",
                empty.join("`, `## ")
            ),
            edit,
        ));
    }
    found
}

/// Words that say an input is not known yet.
const UNDECIDED: [&str; 5] = ["tbd", "unknown", "later", "to be decided", "待定"];

/// Reference stage-runtime, section 6, "Completion blockers" and "Change blockers".
pub fn plan(view: View<'_>) -> Vec<Blocker> {
    let state = view.state;
    let mut found = Vec::new();
    let current = |lane: PlanLane| {
        let review = state.plan_review(lane)?;
        let fresh = review.value.files == covered_files(state, Transition::PlanToBuild);
        Some((review.value.verdict, fresh))
    };
    match current(PlanLane::Architect) {
        Some((PlanVerdict::Approve, true)) => {}
        other => found.push(Blocker::new(
            "architect_review_incomplete",
            match other {
                None => "no architect has reviewed this draft".to_owned(),
                Some((PlanVerdict::Approve, false)) => {
                    "the plan changed since the architect's review".to_owned()
                }
                Some((verdict, _)) => format!("the architect answered `{verdict}`"),
            },
            match other {
                Some((PlanVerdict::Iterate | PlanVerdict::Reject, true)) => {
                    "git loopx edit plan.md"
                }
                _ => "git loopx plan --architect approve",
            },
        )),
    }
    match current(PlanLane::Critic) {
        Some((PlanVerdict::Approve, true)) => {}
        Some((PlanVerdict::Approve, false)) => found.push(Blocker::new(
            "critic_verdict_pending",
            "the plan changed since the critic's verdict",
            "git loopx plan --critic approve",
        )),
        Some((verdict, _)) => found.push(Blocker::new(
            format!("critic_verdict_{verdict}"),
            format!(
                "the critic answered `{verdict}` to draft {}",
                state.plan.iteration
            ),
            "git loopx plan",
        )),
        None => found.push(Blocker::new(
            "critic_verdict_none",
            "no critic has judged this draft",
            "git loopx plan --critic approve",
        )),
    }
    let documents = Artifact::PLAN_DOCUMENTS;
    let there = documents
        .iter()
        .filter(|a| view.text(**a).is_some())
        .count();
    if there < documents.len() {
        found.push(Blocker::new(
            if there == 0 {
                "plan_package_missing"
            } else {
                "plan_package_partial"
            },
            format!("{there} of {} plan documents are there", documents.len()),
            "git loopx checkout",
        ));
    }
    found.extend(plan_fields(view));
    for artifact in documents {
        let key = artifact.key();
        let edit = format!("git loopx edit {}", artifact.path());
        let Some(text) = view.text(artifact) else {
            found.push(Blocker::new(
                format!("missing_plan_artifact_{key}"),
                format!("{} is not there", artifact.path()),
                format!("git loopx put {} FILE", artifact.path()),
            ));
            continue;
        };
        let empty = view.empty_sections(artifact);
        if !empty.is_empty() {
            found.push(Blocker::new(
                format!("plan_artifact_empty_{key}"),
                format!(
                    "{}: nothing stands under `## {}`",
                    artifact.path(),
                    empty.join("`, `## ")
                ),
                edit.clone(),
            ));
        }
        if view.policy.artifacts.language == Language::Zh {
            let (cjk, latin) = markdown::letters(text);
            if !markdown::is_chinese(cjk, latin) {
                found.push(Blocker::new(
                    format!("plan_artifact_not_chinese_{key}"),
                    format!("{}: policy asks for Chinese, found {cjk} ideographs and {latin} Latin letters", artifact.path()),
                    edit,
                ));
            }
        }
    }
    found.extend(change_pack(view));
    found
}

fn plan_fields(view: View<'_>) -> Vec<Blocker> {
    let mut found = Vec::new();
    if let Some(text) = view.text(Artifact::Plan) {
        let fields = [
            (
                "acceptance_criteria_testable",
                "acceptance_criteria_unresolved",
                "the acceptance criteria are not said to be testable",
            ),
            (
                "verification_steps_resolved",
                "verification_steps_unresolved",
                "the verification steps are not settled",
            ),
        ];
        for (field, code, what) in fields {
            match FrontMatter::parse(text).and_then(|front| front.boolean(field)) {
                Ok(true) => {}
                Ok(false) => found.push(Blocker::new(
                    code,
                    format!("plan.md: {what} ({field}: false)"),
                    "git loopx edit plan.md",
                )),
                Err(fault) => found.push(field_fault(code, Artifact::Plan, &fault)),
            }
        }
        if let Err(fault) = scope_patterns(text) {
            found.push(field_fault("plan_scope_invalid", Artifact::Plan, &fault));
        }
    }
    let sections = markdown::sections(view.text(Artifact::Spec).unwrap_or_default());
    let inputs = markdown::section(&sections, "Execution inputs")
        .map(|s| s.items.as_slice())
        .unwrap_or_default();
    let undecided = inputs.iter().find(|item| {
        let lower = item.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .collect();
        let spaced = format!(" {} ", words.join(" "));
        UNDECIDED.iter().any(|word| {
            if word.is_ascii() {
                spaced.contains(&format!(" {word} "))
            } else {
                lower.contains(word)
            }
        })
    });
    if inputs.is_empty() || undecided.is_some() {
        found.push(Blocker::new(
            "execution_inputs_unresolved",
            match undecided {
                Some(item) => format!("spec.md: the execution input `{item}` is not decided"),
                None => "spec.md: no bullet stands under `## Execution inputs`".to_owned(),
            },
            "git loopx edit spec.md",
        ));
    }
    found
}

/// The declared scope of a plan: path patterns, empty for everything.
pub fn scope_patterns(plan: &str) -> Result<Vec<String>, Fault> {
    let front = FrontMatter::parse(plan)?;
    let scope = front.list("scope")?;
    super::policy::Globs::new(&scope).map_err(|failure| Fault {
        line: 1,
        field: Some("scope"),
        message: format!("scope: {}", failure.message),
        missing: false,
    })?;
    Ok(scope)
}

fn change_pack(view: View<'_>) -> Vec<Blocker> {
    let mut found = Vec::new();
    for artifact in Artifact::CHANGE_PACK {
        if view.text(artifact).is_none() {
            found.push(Blocker::new(
                format!("missing_change_artifact_{}", artifact.key()),
                format!("{} is not there", artifact.path()),
                format!("git loopx put {} FILE", artifact.path()),
            ));
        } else {
            let empty = view.empty_sections(artifact);
            if !empty.is_empty() {
                found.push(Blocker::new(
                    format!("change_artifact_empty_{}", artifact.key()),
                    format!(
                        "{}: nothing stands under `## {}`",
                        artifact.path(),
                        empty.join("`, `## ")
                    ),
                    format!("git loopx edit {}", artifact.path()),
                ));
            }
        }
    }
    found.extend(delta(view));
    if view.text(Artifact::Slices).is_some()
        && let Err(blocker) = view.slices()
    {
        found.push(blocker);
    }
    found
}

fn delta(view: View<'_>) -> Vec<Blocker> {
    let Some(text) = view.text(Artifact::SpecDelta) else {
        return Vec::new();
    };
    let edit = "git loopx edit change/spec-delta.md";
    let path = Artifact::SpecDelta.path();
    if text.trim().is_empty() {
        return vec![Blocker::new(
            "spec_delta_empty",
            format!("{path} is empty"),
            edit,
        )];
    }
    if !view.delta.blockers.is_empty() {
        return view.delta.blockers.clone();
    }
    if view.delta.operations == 0 {
        return vec![Blocker::new(
            "spec_delta_missing_requirements",
            format!("{path} adds, modifies, removes or renames no requirement"),
            edit,
        )];
    }
    Vec::new()
}

/// What plan->build approved must still be what is there: a merge or a foreign commit may have changed it.
fn frozen(view: View<'_>) -> Vec<Blocker> {
    let Some(approval) = view
        .state
        .approvals
        .get(&ApprovalKey::Build)
        .filter(|a| a.transition == Transition::PlanToBuild)
    else {
        return Vec::new();
    };
    let now = covered_files(view.state, Transition::PlanToBuild);
    let changed: Vec<&str> = covered(Transition::PlanToBuild)
        .iter()
        .filter(|a| **a != Artifact::Tasks && approval.files.get(a) != now.get(a))
        .map(|a| a.path())
        .collect();
    if changed.is_empty() {
        return Vec::new();
    }
    vec![Blocker::new(
        "plan_approval_stale",
        format!(
            "changed since the plan was approved: {}",
            changed.join(", ")
        ),
        "git loopx undo",
    )]
}

/// How a slice's own verification stands on the present tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    Passed,
    Failed,
    /// It ran, but on another tree.
    Stale,
    Missing,
    /// A named person waived it.
    Waived,
}

/// One line of the completion audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditItem {
    pub id: String,
    pub proof: Proof,
    pub detail: String,
}

/// The completion audit: the approved plan, the rework where there is one, every slice by its own
/// verification, and at least one passing run on the present tree.
pub fn audit(view: View<'_>) -> Vec<AuditItem> {
    let state = view.state;
    let tree = view.code.map(|code| &code.tree);
    let mut items = Vec::new();
    let approved = state.approvals.contains_key(&ApprovalKey::Build);
    items.push(AuditItem {
        id: "approved-plan".into(),
        proof: if approved {
            Proof::Passed
        } else {
            Proof::Missing
        },
        detail: "the plan was approved for build".into(),
    });
    // Rework asks for proof that is younger than the verdict that sent it back.
    let fresh = |seq: u64| seq > state.build.fresh_after;
    let on_tree: Vec<_> = state
        .evidence
        .iter()
        // A command that changed the code while it ran speaks of no tree: what passed was neither the
        // one it began with nor the one it left.
        .filter(|e| Some(&e.value.tree) == tree && (e.value.tree_kept || !e.value.passed()))
        .filter(|e| fresh(e.seq))
        .collect();
    for slice in view.slices().unwrap_or_default() {
        let own = |argv: &[String], task: Option<&String>| {
            task == Some(&slice.id) && argv == slice.verification
        };
        let ran = on_tree
            .iter()
            .find(|e| own(&e.value.argv, e.value.task.as_ref()));
        let proof = if state.build.waivers.contains_key(&slice.id) {
            Proof::Waived
        } else if let Some(evidence) = ran {
            if evidence.value.passed() {
                Proof::Passed
            } else {
                Proof::Failed
            }
        } else if state
            .evidence
            .iter()
            .any(|e| own(&e.value.argv, e.value.task.as_ref()))
        {
            Proof::Stale
        } else {
            Proof::Missing
        };
        items.push(AuditItem {
            id: slice.id.clone(),
            proof,
            detail: slice.verification.join(" "),
        });
    }
    let all_waived = items.len() > 1 && items[1..].iter().all(|item| item.proof == Proof::Waived);
    if !on_tree.iter().any(|e| e.value.passed()) && !all_waived {
        items.push(AuditItem {
            id: "verification".into(),
            proof: if state.evidence.is_empty() {
                Proof::Missing
            } else {
                Proof::Stale
            },
            detail: "a command that passed on the present code".into(),
        });
    }
    items
}

/// Reference stage-runtime, section 7: lanes, verification, architect, deslop, regression,
/// delegations, audit.
pub fn build(view: View<'_>) -> Vec<Blocker> {
    let state = view.state;
    let facts = &state.build;
    let tree = view.code.map(|code| &code.tree);
    let mut found = Vec::new();
    let required = |lane: Lane| view.policy.build.lanes.contains(&lane);
    let report =
        |lane: Lane, word: &str| format!("git loopx build --report {lane}={word} --reason SUMMARY");

    let execution = facts.lanes.get(&Lane::Execution).map(|r| r.value.status);
    match execution {
        Some(LaneStatus::Complete) => {}
        None if !required(Lane::Execution) => {}
        status => found.push(Blocker::new(
            "lane_incomplete_execution",
            match status {
                Some(status) => format!("the execution lane was reported `{status}`"),
                None => "the execution lane has not been reported".to_owned(),
            },
            report(Lane::Execution, "complete"),
        )),
    }
    let failing: Vec<String> = state
        .evidence
        .iter()
        .filter(|e| {
            Some(&e.value.tree) == tree && !e.value.passed() && e.value.what != "regression"
        })
        .map(|e| e.value.argv.join(" "))
        .collect();
    if let Some(first) = failing.first() {
        found.push(Blocker::new(
            "verification_failed",
            format!("`{first}` failed on the present code"),
            "git loopx run -- COMMAND",
        ));
    }
    for lane in [Lane::Architect, Lane::Deslop] {
        let reported = facts
            .lanes
            .get(&lane)
            .map(|r| (r.value.status, Some(&r.value.tree) == tree));
        let word = match (lane, reported) {
            (Lane::Deslop, _) if facts.no_deslop => continue,
            (_, Some((LaneStatus::Skipped, _))) if !required(lane) => continue,
            (Lane::Architect, Some((LaneStatus::Complete, true)))
            | (Lane::Deslop, Some((LaneStatus::Complete, _))) => {
                continue;
            }
            (_, None) if !required(lane) => continue,
            (_, None) | (_, Some((LaneStatus::Complete, false))) => "pending",
            (Lane::Architect, Some((LaneStatus::Incomplete, _))) => "iterate",
            (Lane::Architect, Some(_)) => "reject",
            (_, Some((status, _))) => status.as_str(),
        };
        found.push(Blocker::new(
            format!("{lane}_{word}"),
            match reported {
                None => format!("the {lane} lane has not been reported"),
                Some((LaneStatus::Complete, _)) => {
                    format!("the code changed since the {lane} lane was reported")
                }
                Some((status, _)) => format!("the {lane} lane was reported `{status}`"),
            },
            report(lane, "complete"),
        ));
    }
    let regression = state
        .evidence
        .iter()
        .rev()
        .find(|e| e.value.what == "regression" && Some(&e.value.tree) == tree);
    match regression {
        _ if facts.no_deslop => {}
        Some(evidence) if !evidence.value.passed() => found.push(Blocker::new(
            "regression_failed",
            format!(
                "`{}` failed on the present code",
                evidence.value.argv.join(" ")
            ),
            "git loopx run --kind regression -- COMMAND",
        )),
        None if view.policy.build.regression => found.push(Blocker::new(
            "regression_pending",
            "no regression run on the present code",
            "git loopx run --kind regression -- COMMAND",
        )),
        _ => {}
    }
    let base_is_clear = found.is_empty();
    let open: Vec<_> = facts.delegations.iter().filter(|d| d.is_open()).collect();
    for delegation in &open {
        found.push(Blocker::new(
            format!("delegation_active_{}", delegation.id),
            format!(
                "{} ({}) is {}",
                delegation.id, delegation.role, delegation.status
            ),
            format!("git loopx build --delegate {}=complete", delegation.id),
        ));
    }
    let items = audit(view);
    let missing: Vec<&AuditItem> = items
        .iter()
        .filter(|item| !matches!(item.proof, Proof::Passed | Proof::Waived))
        .collect();
    if base_is_clear && (!missing.is_empty() || !open.is_empty()) {
        let words: Vec<String> = missing
            .iter()
            .map(|item| format!("{} {}", item.id, word(item.proof)))
            .collect();
        let help = missing
            .iter()
            .find(|item| item.id != "verification" && item.id != "approved-plan")
            .map_or("git loopx run -- COMMAND".to_owned(), |item| {
                format!("git loopx run --task {}", item.id)
            });
        found.push(Blocker::new(
            "completion_audit_blocked",
            if words.is_empty() {
                "delegated work is still open".to_owned()
            } else {
                format!("completion_audit_missing_evidence: {}", words.join(", "))
            },
            help,
        ));
    }
    found
}

fn word(proof: Proof) -> &'static str {
    match proof {
        Proof::Passed => "passed",
        Proof::Failed => "failed",
        Proof::Stale => "has to run again",
        Proof::Missing => "has not run",
        Proof::Waived => "is waived",
    }
}

/// What the recorded verdict comes to now.
pub fn judgement(view: View<'_>) -> Option<Judgement> {
    let verdict = view.state.verdict.as_ref()?;
    let record = view.text(Artifact::ExecutionRecord);
    let mut evidence = review::record_blockers(record);
    evidence.extend(
        audit(view)
            .into_iter()
            .filter(|item| !matches!(item.proof, Proof::Passed | Proof::Waived))
            .map(|item| {
                Blocker::new(
                    "completion_audit_missing_evidence",
                    format!("{} {}", item.id, word(item.proof)),
                    format!("git loopx run --task {}", item.id),
                )
            }),
    );
    // A tree that moved on makes the verdict stale, which is a blocker of its own: it does not turn an
    // approval into a request for changes.
    let moved = view.code.is_none_or(|code| code.tree != verdict.value.tree);
    let evidence = if moved { Vec::new() } else { evidence };
    Some(review::judge(
        &verdict.value,
        &evidence,
        &review::scope_blockers(record),
    ))
}

fn rollback(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let to = transition.to();
    let code = match transition {
        Transition::ReviewToBuild => "review_build_fix_not_requested",
        Transition::ReviewToPlan => "review_plan_fix_not_requested",
        _ => "review_clarify_fix_not_requested",
    };
    let judgement = judgement(view);
    let target = judgement.as_ref().and_then(|j| j.target);
    if target.map(Target::transition) != Some(transition) {
        return vec![Blocker::new(
            code,
            match target {
                Some(target) => format!("the review asks for changes in {target}, not in {to}"),
                None if judgement.is_some() => {
                    format!("the review does not ask for changes in {to}")
                }
                None => "no verdict has been recorded".to_owned(),
            },
            match target {
                Some(target) => format!("git loopx approve --to {target}"),
                None => {
                    format!("git loopx review --verdict request-changes --target {to} --reason WHY")
                }
            },
        )];
    }
    let verdict = view.state.verdict.as_ref();
    if transition != Transition::ReviewToBuild && verdict.is_none_or(|v| v.reason.is_none()) {
        return vec![Blocker::new(
            "rollback_rationale_required",
            format!("going back to {to} needs a reason in the verdict"),
            format!("git loopx review --verdict request-changes --target {to} --reason WHY"),
        )];
    }
    Vec::new()
}

fn done(view: View<'_>) -> Vec<Blocker> {
    let state = view.state;
    let Some(verdict) = &state.verdict else {
        return vec![Blocker::new(
            "review_verdict_none",
            "no verdict has been recorded",
            "git loopx review --verdict approve",
        )];
    };
    let mut found = Vec::new();
    found.extend(review::scope_blockers(view.text(Artifact::ExecutionRecord)));
    let judgement = judgement(view);
    if let Some(judgement) = judgement.filter(|j| j.outcome != CodeVerdict::Approve) {
        let target = judgement.target.unwrap_or(Target::Build);
        let because = if judgement.because.is_empty() {
            String::new()
        } else {
            format!(" ({})", judgement.because.join("; "))
        };
        found.push(Blocker::new(
            "review_verdict_request-changes",
            format!("the review asks for changes in {target}{because}"),
            format!("git loopx approve --to {target}"),
        ));
    }
    if let Some(code) = view.code
        && code.tree != verdict.value.tree
    {
        found.push(Blocker::new(
            "review_stale",
            format!(
                "the code changed since {} reviewed it: tree {} then, {} now",
                verdict.signed.by.name,
                verdict.value.tree.short(),
                code.tree.short()
            ),
            "git loopx review --verdict approve",
        ));
    }
    if view.policy.review.independence == Independence::Require
        && !verdict.value.dependence.is_empty()
    {
        found.push(Blocker::new(
            "reviewer_not_independent",
            format!("{} took part in what was reviewed", verdict.signed.by),
            "ask somebody else to run: git loopx review --verdict approve",
        ));
    }
    found
}

/// What archive asks for besides the merge itself.
pub fn archive(view: View<'_>) -> Vec<Blocker> {
    let mut found = conflicts(view);
    if view.state.stage != Stage::Done {
        found.push(Blocker::new(
            "archive_requires_done_session",
            format!(
                "the session is in stage {}, expected done",
                view.state.stage
            ),
            next_action(view),
        ));
        return found;
    }
    found.extend(review::scope_blockers(view.text(Artifact::ExecutionRecord)));
    found.extend(delta(view));
    found
}

/// An armed approval that can be consumed, or why not.
pub fn consumable<'a>(
    view: View<'a>,
    transition: Transition,
) -> Result<&'a Approval, Vec<Blocker>> {
    let approve = format!("git loopx approve --to {}", transition.to());
    let Some(approval) = view.state.armed(transition) else {
        return Err(vec![Blocker::new(
            "approved_transition_required",
            format!("{transition} has not been approved"),
            approve,
        )]);
    };
    let changed = changed_since(approval, view);
    if !changed.is_empty() {
        let who = approval
            .by
            .first()
            .map_or("somebody", |by| by.signed.by.name.as_str());
        return Err(vec![Blocker::new(
            "approval_stale",
            format!(
                "changed since {who} approved {transition}: {}",
                changed.join(", ")
            ),
            approve,
        )]);
    }
    let people = distinct(approval.by.iter().map(|by| &by.signed.by));
    let required = view.policy.required(transition);
    if people < required {
        return Err(vec![Blocker::new(
            "approvals_missing",
            format!("{people} of {required} people approved {transition}"),
            approve,
        )]);
    }
    // Not all that a gate looks at is content: a delegation may have been opened since, a critic may
    // have changed their mind, a run may have failed.
    let unmet = blockers(view, transition);
    if unmet.is_empty() {
        Ok(approval)
    } else {
        Err(unmet)
    }
}

/// The refusal of a gate that is not ready, under the code that belongs to its transition.
pub fn not_ready(transition: Transition, blockers: Vec<Blocker>) -> Failure {
    let has = |prefix: &str| blockers.iter().any(|b| b.code.starts_with(prefix));
    let code = match transition {
        Transition::ClarifyToPlan => "clarify_readiness_blocked",
        Transition::PlanToBuild if has("missing_plan_artifact") => "plan_package_incomplete",
        Transition::PlanToBuild => "plan_review_gate_blocked",
        Transition::BuildToReview if has("execution_record_") => "review_gate_blocked",
        Transition::BuildToReview => "build_review_gate_blocked",
        Transition::ReviewToDone
            if has("partial_scope") || has("completion_claim") || has("implemented_scope") =>
        {
            "review_done_scope_blocked"
        }
        Transition::ReviewToDone => "review_not_approved",
        Transition::ReviewToBuild | Transition::ReviewToPlan | Transition::ReviewToClarify => {
            blockers
                .first()
                .map_or("rollback_blocked", |b| match b.code.as_str() {
                    "rollback_rationale_required" => "rollback_rationale_required",
                    "review_build_fix_not_requested" => "review_build_fix_not_requested",
                    "review_plan_fix_not_requested" => "review_plan_fix_not_requested",
                    "review_clarify_fix_not_requested" => "review_clarify_fix_not_requested",
                    _ => "rollback_blocked",
                })
        }
    };
    let count = blockers.len();
    let help = blockers.first().map(|b| b.help.clone()).unwrap_or_default();
    Failure::refused(
        code,
        format!(
            "{transition} is not ready: {count} rule{} not met",
            if count == 1 { " is" } else { "s are" }
        ),
    )
    .blockers(blockers)
    .help(help)
}

/// The refusal of a command whose approval cannot be consumed; `unmet` is what [`consumable`] said.
pub fn not_consumable(view: View<'_>, transition: Transition, unmet: Vec<Blocker>) -> Failure {
    let code = unmet.first().map_or("", |b| b.code.as_str()).to_owned();
    let message = unmet.first().map_or(String::new(), |b| b.message.clone());
    match code.as_str() {
        "approved_transition_required" | "approval_stale" | "approvals_missing" => {
            let own = unmet.first().map_or(String::new(), |b| b.help.clone());
            let help = blockers(view, transition)
                .first()
                .map_or(own, |b| b.help.clone());
            Failure::refused(code, message).blockers(unmet).help(help)
        }
        _ => not_ready(transition, unmet),
    }
}

fn distinct<'a>(people: impl Iterator<Item = &'a Person>) -> usize {
    let mut known: Vec<&Person> = Vec::new();
    for person in people {
        if !known.iter().any(|k| k.is_same(person)) {
            known.push(person);
        }
    }
    known.len()
}

/// Whether a transition is ready, and whether somebody authorized it: shown apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateView {
    pub gate: &'static str,
    pub transition: Transition,
    pub ready: bool,
    pub blockers: Vec<Blocker>,
    pub authorized: bool,
    /// `not-requested`, `requested`, `approved`, `stale`.
    pub approval: &'static str,
    pub approved_by: Vec<String>,
}

/// The gates of a session that matter now: the way forward, and in review the way back.
pub fn gates(view: View<'_>) -> Vec<GateView> {
    let target = judgement(view).and_then(|j| j.target);
    let mut gates: Vec<(&'static str, Transition)> = vec![
        ("plan", Transition::ClarifyToPlan),
        ("build", Transition::PlanToBuild),
        ("review", Transition::BuildToReview),
        ("done", Transition::ReviewToDone),
    ];
    if view.state.stage == Stage::Review
        && let Some(target) = target
    {
        gates.push(("rollback", target.transition()));
    }
    let order = |stage: Stage| Stage::ALL.iter().position(|s| *s == stage);
    gates
        .into_iter()
        .map(|(gate, transition)| {
            let state = view.state;
            // A gate that was passed stays passed until a rollback; one that lies ahead is judged when it comes.
            let passed = order(transition.to()) <= order(state.stage) && !transition.is_rollback();
            let blockers = if passed {
                Vec::new()
            } else if transition.from() == state.stage {
                blockers(view, transition)
            } else {
                vec![Blocker::new(
                    "stage_not_reached",
                    format!("the session is in stage {}", state.stage),
                    String::new(),
                )]
            };
            let approval = state
                .approvals
                .get(&transition.key())
                .filter(|a| a.transition == transition || passed);
            let stale = approval.is_some_and(|a| a.armed && !changed_since(a, view).is_empty());
            let requested = transition.from() == state.stage
                && (target.map(Target::transition) == Some(transition)
                    || (transition == Transition::ReviewToDone && blockers.is_empty()));
            GateView {
                gate,
                transition,
                ready: blockers.is_empty(),
                authorized: approval.is_some() && !stale,
                approval: match approval {
                    Some(_) if stale => "stale",
                    Some(_) => "approved",
                    None if requested => "requested",
                    None => "not-requested",
                },
                approved_by: approval.map_or_else(Vec::new, |a| {
                    a.by.iter().map(|by| by.signed.by.to_string()).collect()
                }),
                blockers,
            }
        })
        .collect()
}

/// One claim of the evidence chain, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub claim: &'static str,
    pub basis: String,
}

/// What can be said of the session, in order.
pub fn evidence_chain(view: View<'_>) -> Vec<Claim> {
    let mut chain = Vec::new();
    for gate in gates(view) {
        let (ready, authorized) = match gate.gate {
            "plan" => ("clarify_ready_for_plan", "plan_authorized"),
            "build" => ("plan_ready_for_build", "build_authorized"),
            "review" => ("build_ready_for_review", "review_authorized"),
            "done" => ("review_approved", "done_authorized"),
            _ => continue,
        };
        if gate.ready {
            chain.push(Claim {
                claim: ready,
                basis: match gate.gate {
                    "done" => view.state.verdict.as_ref().map_or_else(String::new, |v| {
                        format!(
                            "verdict of {} on tree {}",
                            v.signed.by,
                            v.value.tree.short()
                        )
                    }),
                    _ => format!("every rule of {} holds", gate.transition),
                },
            });
        }
        if gate.authorized
            && let Some(approval) = view.state.approvals.get(&gate.transition.key())
        {
            chain.push(Claim {
                claim: authorized,
                basis: format!(
                    "{} approved content {}",
                    gate.approved_by.join(", "),
                    approval.content.short()
                ),
            });
        }
    }
    chain
}

/// The reset of the approvals, for views.
pub fn approval_statuses(view: View<'_>) -> BTreeMap<ApprovalKey, &'static str> {
    let state = view.state;
    let mut words: BTreeMap<ApprovalKey, &'static str> = ApprovalKey::ALL
        .into_iter()
        .map(|key| {
            let known = state.approvals.contains_key(&key);
            (key, if known { "approved" } else { "not-requested" })
        })
        .collect();
    // What is asked for now, or has to be asked for again, comes before what was used up earlier:
    // review->build shares its key with plan->build.
    for gate in gates(view) {
        if matches!(gate.approval, "requested" | "stale") {
            words.insert(gate.transition.key(), gate.approval);
        }
    }
    words
}

/// The command to type next. It works when typed.
pub fn next_action(view: View<'_>) -> String {
    let state = view.state;
    if !state.is_active() {
        return "git loopx list".into();
    }
    let forward = match state.stage {
        Stage::Clarify => Transition::ClarifyToPlan,
        Stage::Plan => Transition::PlanToBuild,
        Stage::Build => Transition::BuildToReview,
        Stage::Review => match judgement(view).and_then(|j| j.target) {
            Some(target) => target.transition(),
            None => Transition::ReviewToDone,
        },
        Stage::Done => return "git loopx archive".into(),
    };
    if consumable(view, forward).is_ok() {
        return match forward {
            Transition::ReviewToBuild => "git loopx build --from-review".into(),
            other => format!("git loopx {}", other.to()),
        };
    }
    let blockers = blockers(view, forward);
    let Some(first) = blockers.first() else {
        return format!("git loopx approve --to {}", forward.to());
    };
    if forward == Transition::PlanToBuild {
        return next_in_plan(view, &blockers);
    }
    first.help.clone()
}

/// In plan, documents come before reviews: a review of an empty plan helps nobody.
fn next_in_plan(view: View<'_>, blockers: &[Blocker]) -> String {
    let is_review =
        |b: &&Blocker| b.code.starts_with("architect_") || b.code.starts_with("critic_");
    let state = view.state;
    let iterate = state
        .plan_review(PlanLane::Critic)
        .is_some_and(|r| r.value.verdict != PlanVerdict::Approve);
    if iterate {
        return if state.plan.iteration >= state.max_plan_iterations() {
            "git loopx plan --more 5 --reason WHY".into()
        } else {
            "git loopx plan".into()
        };
    }
    blockers
        .iter()
        .find(|b| !is_review(b))
        .or(blockers.first())
        .map_or_else(String::new, |b| b.help.clone())
}
