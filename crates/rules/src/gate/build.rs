//! The gate of build->review: lanes, delegations, and the completion audit.

use super::super::artifact::Artifact;
use super::super::brief;
use super::super::checks::{Check, Runs, Word, checks_due, checks_of, word_on};
use super::super::op::{Evidence, Lane, LaneStatus};
use super::super::policy::{FILE as POLICY_FILE, Policy};
use super::super::review;
use super::super::session::Stamped;
use super::super::stage::{ApprovalKey, Stage, Transition};
use super::super::task::conflict::{Conflict, Kind, conflicts};
use super::super::task::file::read_anyway;
use super::super::task::node::TaskId;
use super::super::task::plan;
use super::super::task::status::Status;
use super::approval::{missing, of_amendment};
use super::plan::delta;
use super::tasks::list_help;
use super::{View, covered, covered_files};
use loopx_base::failure::{Blocker, Code};
use loopx_base::first_words;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashSet;

/// Blockers of files that changed since plan->build was approved: a merge or a foreign commit may have done it.
pub(super) fn frozen(view: View<'_>) -> Vec<Blocker> {
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
        .filter(|a| !matches!(a, Artifact::Tasks | Artifact::TaskList))
        .filter(|a| approval.files.get(a) != now.get(a))
        .map(|a| a.path())
        .collect();
    let mut found = amended(view, approval.files.get(&Artifact::TaskList));
    if changed.is_empty() {
        return found;
    }
    found.insert(
        0,
        Blocker::new(
            Code::PlanApprovalStale,
            format!(
                "changed since the plan was approved: {}",
                changed.join(", ")
            ),
            command!("undo"),
        ),
    );
    found
}

/// The list of tasks is the plan's, or what amendments made of it that enough people approved.
fn amended(view: View<'_>, planned: Option<&Oid>) -> Vec<Blocker> {
    let path = Artifact::TaskList.path();
    if !view.state.is_list_approved(planned) {
        let note = if view.policy.lets_amend() {
            "(approves it as it is; `undo` takes a change back)"
        } else {
            "(there it is approved as it is; `undo` takes a change back)"
        };
        return vec![Blocker::new(
            Code::PlanApprovalStale,
            format!("changed since the plan was approved: {path}"),
            view.policy.amend_command().note(note),
        )];
    }
    // Two lists that were approved can come together to none: a cycle that neither had.
    if let Err(blocker) = plan::nodes(view.texts)
        && blocker.code == Code::TaskListInvalid
    {
        let help = list_help(view.state, view.policy, blocker.help.clone());
        return vec![Blocker::new(blocker.code, blocker.message, help)];
    }
    amendments_lack(view)
}

/// Blockers of the amendments that the list rests on, for the people that policy asks for and that they lack.
pub fn amendments_lack(view: View<'_>) -> Vec<Blocker> {
    let standing = view.state.standing_amendments();
    let missing = standing.flat_map(|one| missing(view, &one.approval));
    missing
        .map(|blocker| of_amendment(view.policy, blocker))
        .collect()
}

/// State of a slice's own verification on the present tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    Passed,
    Failed,
    /// Run on another tree.
    Stale,
    Missing,
    /// Word of a named person who waived the verification.
    Waived,
    /// Word of a named person who looked at the present code and said so: no command proves the check.
    Looked,
}

/// The line of the audit that asks for any check that passed.
const VERIFICATION: &str = "verification";
const APPROVED_PLAN: &str = "approved-plan";
/// Words in place of the command of a check that has none: somebody looks, and says so by a waiver.
const MANUAL: &str = "(a person has to look)";

/// Line of the completion audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditItem {
    pub id: String,
    pub proof: Proof,
    pub detail: String,
    /// Files that the newest run changed, so that it speaks of no tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The file of the policy, where it asks for this check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// Person whose word proves the check, where no command does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<PersonsWord>,
}

/// A person's word on a check, with the reason that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PersonsWord {
    pub by: String,
    pub reason: Option<String>,
}

impl PersonsWord {
    fn of<T>(said: &Stamped<T>) -> Self {
        PersonsWord {
            by: said.signed.by.to_string(),
            reason: said.reason.clone(),
        }
    }
}

impl Proof {
    pub fn is_proven(self) -> bool {
        matches!(self, Proof::Passed | Proof::Waived | Proof::Looked)
    }
}

impl AuditItem {
    pub fn is_proven(&self) -> bool {
        self.proof.is_proven()
    }

    /// Tells whether the audit item is about one check.
    pub fn is_check(&self) -> bool {
        ![VERIFICATION, APPROVED_PLAN].contains(&self.id.as_str())
    }

    /// Tells whether the audit item says that nothing at all has passed on the present code.
    pub fn is_of_nothing(&self) -> bool {
        self.id == VERIFICATION
    }

    /// Tells whether a person's word proves the audit item, and no command.
    pub fn is_manual(&self) -> bool {
        self.is_check() && self.detail == MANUAL
    }

    /// Sentence about the proof of the audit item.
    pub(super) fn words(&self) -> String {
        match self.changed.as_slice() {
            [] => format!("{} {}", self.id, word(self.proof)),
            files => format!(
                "{} changed {} while it ran, so the run is no evidence",
                self.id,
                files.join(", ")
            ),
        }
    }

    /// Command that gets the proof of the check.
    pub fn help(&self, policy: &Policy) -> Hint {
        let run = match self.id.as_str() {
            VERIFICATION => policy.run_check(),
            id if self.is_manual() => {
                command!("build --waive {id} --reason WHY{}", policy.sign_flag())
            }
            id => policy.run_task(id),
        };
        match self.changed.first() {
            Some(file) => hint![format!("let git ignore {file}, or commit it, then: "), run],
            None => run,
        }
    }
}

/// Person's word on the task of a check, as a proof. Where policy wants words signed, a signed waiver is what counts.
fn word_on_task(view: View<'_>, check: &Check) -> Option<(Proof, PersonsWord)> {
    if view.policy.asks_signatures() || check.is_of_policy() {
        return None;
    }
    let tree = view.code.map(|code| &code.tree);
    let proof = match word_on(&check.id, &check.argv, view.state, tree)? {
        Word::Skipped => Proof::Waived,
        Word::Looked => Proof::Looked,
    };
    let facts = TaskId::parse(&check.id).and_then(|id| view.state.task(&id))?;
    Some((proof, PersonsWord::of(&facts.last)))
}

/// Audits one check on the present tree. A command that changed the code while it ran speaks of no tree: what passed
/// was neither the tree that it began with nor the one that it left.
fn audit_check(view: View<'_>, runs: &Runs<'_>, check: Check) -> AuditItem {
    let tree = view.code.map(|code| &code.tree);
    // Rework asks for proof that is younger than the verdict that sent it back, and so does a task that is done again.
    let task = TaskId::parse(&check.id).and_then(|id| view.state.task(&id));
    let fresh_after = view
        .state
        .build
        .fresh_after
        .max(task.map_or(0, |task| task.fresh_after));
    let own = runs.of_check(&check);
    let counts = |run: &&&Stamped<Evidence>| {
        Some(&run.value.tree) == tree
            && (run.value.proves() || !run.value.passed())
            && run.seq > fresh_after
    };
    let waiver = view.state.build.waivers.get(&check.id);
    let waived = waiver.map(|waiver| (Proof::Waived, PersonsWord::of(waiver)));
    let (proof, word) = waived.or_else(|| word_on_task(view, &check)).unzip();
    let proof = proof.unwrap_or_else(|| match own.iter().rev().find(counts) {
        Some(run) if run.value.passed() => Proof::Passed,
        Some(_) => Proof::Failed,
        None if own.is_empty() => Proof::Missing,
        None => Proof::Stale,
    });
    let changed = match own.last() {
        Some(run) if proof == Proof::Stale && run.value.passed() => run.value.changed.clone(),
        _ => Vec::new(),
    };
    AuditItem {
        proof,
        detail: if check.argv.is_empty() {
            MANUAL.to_owned()
        } else {
            check.argv.join(" ")
        },
        changed,
        source: check.is_of_policy().then_some(POLICY_FILE),
        word,
        id: check.id,
    }
}

/// Tells whether the build answers for a check. Work of a later stage is asked for by the gate of that stage; a word
/// that somebody gave in an earlier stage was about what there was then, and stays.
fn is_due(view: View<'_>, check: &Check) -> bool {
    let was_looked_at = || {
        let id = TaskId::parse(&check.id);
        let status = id.map(|id| view.state.task_status(&id));
        let had_stage = view.profile().has_stage(check.stage);
        had_stage && check.argv.is_empty() && status == Some(Status::Completed)
    };
    match check.stage.cmp(&Stage::Build) {
        Ordering::Less => !was_looked_at(),
        Ordering::Equal => true,
        Ordering::Greater => false,
    }
}

/// The completion audit: the approved plan, the rework where there is one, every check by its own
/// verification, and at least one that passed on the present tree.
pub fn audit(view: View<'_>) -> Vec<AuditItem> {
    let approved = view.state.approvals.contains_key(&ApprovalKey::Build);
    let plan = view.profile().has_stage(Stage::Plan).then(|| AuditItem {
        id: APPROVED_PLAN.into(),
        proof: if approved {
            Proof::Passed
        } else {
            Proof::Missing
        },
        detail: "the plan was approved for build".into(),
        changed: Vec::new(),
        source: None,
        word: None,
    });
    let checks = checks_due(view.texts, view.state, view.policy_checks);
    let runs = Runs::of(view.evidence());
    let checked: Vec<AuditItem> = checks
        .into_iter()
        .filter(|check| is_due(view, check))
        .map(|check| audit_check(view, &runs, check))
        .collect();
    let has = |proof: Proof| checked.iter().any(|item| item.proof == proof);
    let is_word = |one: &AuditItem| matches!(one.proof, Proof::Waived | Proof::Looked);
    let all_by_word = !checked.is_empty() && checked.iter().all(is_word);
    let is_shown = has(Proof::Passed) || all_by_word || checked.is_empty() && any_run_shows(view);
    let verification = (!is_shown).then(|| AuditItem {
        id: VERIFICATION.into(),
        proof: if has(Proof::Stale) || has(Proof::Failed) {
            Proof::Stale
        } else {
            Proof::Missing
        },
        detail: "a command that passed on the present code".into(),
        changed: Vec::new(),
        source: None,
        word: None,
    });
    let mut items: Vec<AuditItem> = plan.into_iter().collect();
    items.extend(checked);
    items.extend(verification);
    items
}

/// The lines of the audit that are of checks of which anything is known: a run, a waiver, a record of their task, a
/// demand of policy. No other check has been run.
pub fn known(view: View<'_>) -> Vec<AuditItem> {
    let state = view.state;
    let ran = view.evidence().iter();
    let ran = ran.filter_map(|run| run.value.task.as_deref());
    let of_policy = view.policy_checks.iter().map(|check| check.id.as_str());
    let words = state.build.waivers.keys().map(String::as_str);
    let names = ran.chain(of_policy).chain(words);
    let mut names: HashSet<String> = names.map(str::to_ascii_lowercase).collect();
    names.extend(state.tasks.keys().cloned());
    if names.is_empty() {
        return Vec::new();
    }
    let is_meant = |id: &str| names.contains(&id.to_ascii_lowercase());
    let checks = checks_of(view.texts, state, view.policy_checks, &is_meant).into_iter();
    let runs = Runs::of(view.evidence());
    checks
        .map(|check| audit_check(view, &runs, check))
        .collect()
}

/// Tells whether any run that passed shows the code to work: in a profile whose files name no check, and where all that
/// had a check fell, by outcomes of decisions or with a task that failed or was skipped.
fn any_run_shows(view: View<'_>) -> bool {
    let of_checks = [Artifact::Brief, Artifact::TaskList, Artifact::Slices];
    let profile = view.profile();
    let tree = view.code.map(|code| &code.tree);
    let shows = |run: &Stamped<Evidence>| {
        Some(&run.value.tree) == tree
            && run.value.proves()
            && run.seq > view.state.build.fresh_after
    };
    let names_none = || !of_checks.iter().any(|file| profile.asks(*file));
    let is_enough = || names_none() || !plan::fallen(view.texts, view.state).is_empty();
    view.evidence().iter().any(shows) && is_enough()
}

/// The command that ran last on the present code, where it failed; else nothing.
pub fn last_failed(view: View<'_>) -> Vec<String> {
    let tree = view.code.map(|code| &code.tree);
    let mut ran = view.state.evidence.iter().rev();
    let last = ran.find(|run| Some(&run.value.tree) == tree);
    let failed = last.filter(|run| !run.value.passed());
    failed.map_or_else(Vec::new, |run| run.value.argv.clone())
}

/// Blockers of the execution record for what it lacks, where the profile asks for one.
pub(super) fn record(view: View<'_>) -> Vec<Blocker> {
    let artifact = Artifact::ExecutionRecord;
    if view.profile().asks(artifact) {
        review::record_blockers(
            view.text(artifact),
            view.profile().sections_of(artifact),
            view.policy.artifacts.language,
        )
    } else {
        Vec::new()
    }
}

/// Tells whether the checks of policy show that the change works. Scenarios need a check of their own.
fn is_proven_by_policy(view: View<'_>) -> bool {
    let text = view.text(Artifact::Brief).unwrap_or_default();
    !view.policy_checks.is_empty() && !brief::has_delta(text)
}

/// Blockers of the brief, where the profile asks for one: such a profile has no gate of a plan before the build.
fn of_brief(view: View<'_>) -> Vec<Blocker> {
    let artifact = Artifact::Brief;
    if !view.profile().asks(artifact) {
        return Vec::new();
    }
    let edit = command!("edit {artifact}");
    let mut found = Vec::new();
    if view.text(artifact).is_none() {
        let code = Code::BriefMissing;
        found.push(Blocker::new(
            code,
            format!("{artifact} is not there"),
            &edit,
        ));
        return found;
    }
    let empty = view.empty_sections(artifact);
    if !empty.is_empty() {
        found.push(Blocker::new(
            Code::BriefEmpty,
            format!(
                "{artifact}: nothing stands under `## {}`",
                empty.join("`, `## ")
            ),
            &edit,
        ));
    }
    match view.slices() {
        Ok(checks) if checks.is_empty() && !is_proven_by_policy(view) => found.push(Blocker::new(
            Code::BriefCheckMissing,
            format!("{artifact} has no check: expected a command that shows that the change works"),
            view.policy.run_check(),
        )),
        Ok(_) => {}
        Err(blocker) => found.push(blocker),
    }
    found.extend(delta(view));
    found.extend(between_domains(view));
    found
}

/// Conflicts of domains that a plan would be held by, of a list that no plan is approved of.
fn between_domains(view: View<'_>) -> Vec<Blocker> {
    let list = view.text(Artifact::TaskList).map(read_anyway);
    let all = list.as_ref().map(conflicts).unwrap_or_default().into_iter();
    // A list that is none holds by itself.
    let open = all.filter(|one| one.kind == Kind::File && one.holds());
    let blocker =
        |one: Conflict| Blocker::new(Code::Finding("task_conflict_file"), one.words(), one.help);
    open.map(blocker).collect()
}

/// Reference stage-runtime, section 7: lanes, verification, architect, deslop, regression,
/// delegations, audit.
pub(super) fn build(view: View<'_>) -> Vec<Blocker> {
    let mut found = of_brief(view);
    found.extend(execution(view));
    let items = audit(view);
    if let Some(failed) = items.iter().find(|item| item.proof == Proof::Failed) {
        found.push(Blocker::new(
            Code::VerificationFailed,
            format!(
                "{}: `{}` failed on the present code",
                failed.id, failed.detail
            ),
            failed.help(view.policy),
        ));
    }
    found.extend(lane_report(view, Lane::Architect));
    found.extend(lane_report(view, Lane::Deslop));
    found.extend(regression(view));
    let base_is_clear = found.is_empty();
    let delegations = open_delegations(view);
    let missing: Vec<&AuditItem> = items.iter().filter(|item| !item.is_proven()).collect();
    let is_unproven = !missing.is_empty() || !delegations.is_empty();
    found.extend(delegations);
    if base_is_clear && is_unproven {
        found.push(unproven(view, &missing));
    }
    found
}

fn requires(view: View<'_>, lane: Lane) -> bool {
    view.policy.build.lanes.contains(&lane) && view.profile().lanes.contains(&lane)
}

/// The command by which a lane is reported complete.
fn report(lane: Lane) -> Hint {
    command!("build --report {lane}=complete")
}

fn execution(view: View<'_>) -> Option<Blocker> {
    let reported = view.state.build.lanes.get(&Lane::Execution);
    let text = match reported.map(|report| report.value.status) {
        Some(LaneStatus::Complete) => return None,
        None if !requires(view, Lane::Execution) => return None,
        Some(status) => format!("the execution lane was reported `{status}`"),
        None => "the execution lane has not been reported".to_owned(),
    };
    Some(Blocker::new(
        Code::LaneIncompleteExecution,
        text,
        report(Lane::Execution),
    ))
}

/// Blocker for what the lane of the architect or of the clean-up still owes.
fn lane_report(view: View<'_>, lane: Lane) -> Option<Blocker> {
    let facts = &view.state.build;
    let tree = view.code.map(|code| &code.tree);
    let reported = facts
        .lanes
        .get(&lane)
        .map(|r| (r.value.status, Some(&r.value.tree) == tree));
    let code = match (lane, reported) {
        (Lane::Deslop, _) if facts.no_deslop => return None,
        (_, Some((LaneStatus::Skipped, _)) | None) if !requires(view, lane) => return None,
        (Lane::Architect, Some((LaneStatus::Complete, true)))
        | (Lane::Deslop, Some((LaneStatus::Complete, _))) => return None,
        (Lane::Architect, None | Some((LaneStatus::Complete, false))) => Code::ArchitectPending,
        (Lane::Architect, Some((LaneStatus::Incomplete, _))) => Code::ArchitectIterate,
        (Lane::Architect, Some(_)) => Code::ArchitectReject,
        (_, None | Some((LaneStatus::Complete, false))) => Code::DeslopPending,
        (_, Some((LaneStatus::Incomplete, _))) => Code::DeslopIncomplete,
        (_, Some((LaneStatus::Failed, _))) => Code::DeslopFailed,
        (_, Some((LaneStatus::Blocked, _))) => Code::DeslopBlocked,
        (_, Some(_)) => Code::DeslopSkipped,
    };
    let text = match reported {
        None => format!("the {lane} lane has not been reported"),
        Some((LaneStatus::Complete, _)) => {
            format!("the code changed since the {lane} lane was reported")
        }
        Some((status, _)) => format!("the {lane} lane was reported `{status}`"),
    };
    Some(Blocker::new(code, text, report(lane)))
}

fn regression(view: View<'_>) -> Option<Blocker> {
    if view.state.build.no_deslop {
        return None;
    }
    let tree = view.code.map(|code| &code.tree);
    let run = view
        .evidence()
        .iter()
        .rev()
        .find(|e| e.value.what == "regression" && Some(&e.value.tree) == tree);
    let (code, text) = match run {
        Some(evidence) if !evidence.value.passed() => (
            Code::RegressionFailed,
            format!(
                "`{}` failed on the present code",
                evidence.value.argv.join(" ")
            ),
        ),
        None if view.policy.build.regression => (
            Code::RegressionPending,
            "no regression run on the present code".to_owned(),
        ),
        _ => return None,
    };
    Some(Blocker::new(code, text, view.policy.run_regression()))
}

fn open_delegations(view: View<'_>) -> Vec<Blocker> {
    let open = view.state.build.delegations.iter().filter(|d| d.is_open());
    open.map(|delegation| {
        Blocker::new(
            Code::DelegationActive,
            format!(
                "{} ({}) is {}",
                delegation.id, delegation.role, delegation.status
            ),
            command!("build --delegate {}=complete", delegation.id),
        )
        .about(delegation.id.as_str())
    })
    .collect()
}

/// The audit, where nothing else is in its way.
fn unproven(view: View<'_>, missing: &[&AuditItem]) -> Blocker {
    let words: Vec<String> = missing.iter().map(|item| item.words()).collect();
    let help = missing
        .iter()
        .find(|item| item.is_check())
        .map_or(view.policy.run_check(), |item| item.help(view.policy));
    let text = if words.is_empty() {
        "delegated work is still open".to_owned()
    } else {
        format!(
            "checks without evidence for the present code: {}",
            first_words(&words)
        )
    };
    Blocker::new(Code::CompletionAuditBlocked, text, help)
}

pub(super) fn word(proof: Proof) -> &'static str {
    match proof {
        Proof::Passed => "passed",
        Proof::Failed => "failed",
        Proof::Stale => "has to run again",
        Proof::Missing => "has not run",
        Proof::Waived => "is waived",
        Proof::Looked => "was looked at",
    }
}

#[cfg(test)]
mod tests {
    use super::{AuditItem, Proof, audit, known};
    use crate::artifact::Artifact;
    use crate::checks::{Check, Source};
    use crate::gate::{CodeFacts, Credentials, DeltaFacts, ReadSections, View};
    use crate::op::{Event, Evidence, Operation};
    use crate::policy::Policy;
    use crate::replay::fold;
    use crate::replay_props::{evidence, id, op_id, operation, started};
    use crate::stage::Stage;
    use crate::task::event::TaskEvent;
    use crate::task::node::TaskId;
    use crate::texts::Texts;

    /// The lines that say anything are those of all, and of every other check nothing is known.
    #[test]
    fn the_known_lines_are_those_of_the_audit_and_no_other_check_was_run() {
        const COUNT: usize = 1_000;
        let line = |n: usize| {
            format!(
                r#"{{"id":"Task-{n}","title":"T","convergence":{{"criteria":["C"],"verification":{{"cmd":["true"]}}}}}}"#
            )
        };
        let lines: Vec<String> = (0..COUNT).map(line).collect();
        let texts: Texts = [(Artifact::TaskList, lines.join("\n"))].into();
        let run = |at: usize, task: &str, passed: bool| {
            let evidence = Evidence {
                task: Some(task.to_owned()),
                argv: vec!["true".to_owned()],
                ..evidence(passed, 0, 1)
            };
            operation(at, at as u64 + 1, Event::Ran { evidence }, None)
        };
        let task = TaskId::parse("TASK-7").expect("an id");
        let skipped = Operation {
            format: 2,
            reason: Some("for a reason".to_owned()),
            after: vec![op_id(2)],
            ..operation(3, 4, TaskEvent::Skipped { task }, None)
        };
        let ops: [Operation; 4] = [
            started(),
            run(1, "Task-3", true),
            run(2, "Task-5", false),
            skipped,
        ];
        let state = fold(&id(), &ops).expect("a state");
        let of_policy = [Check {
            id: "unit".to_owned(),
            argv: vec!["true".to_owned()],
            source: Source::Policy,
            stage: Stage::Build,
        }];
        let tree = state.evidence[0].value.tree.clone();
        let code = CodeFacts {
            head: None,
            tree,
            is_dirty: false,
            uncommitted: Vec::new(),
            reviewed: loopx_base::working_tree::ReviewedCode::default(),
        };
        let view = View {
            state: &state,
            texts: &texts,
            policy: &Policy::default(),
            code: Some(&code),
            delta: &DeltaFacts::default(),
            credentials: &Credentials::default(),
            policy_checks: &of_policy,
            demand: None,
            shared: &[],
            base_missing: None,
            context: &[],
            statements: &[],
            read: &ReadSections::default(),
            worktree: None,
        };
        let said = known(view);
        let names: Vec<&str> = said.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(names, ["Task-3", "Task-5", "Task-7", "unit"]);
        let (same, others): (Vec<AuditItem>, Vec<AuditItem>) = audit(view)
            .into_iter()
            .filter(AuditItem::is_check)
            .partition(|item| names.contains(&item.id.as_str()));
        assert_eq!(same, said);
        assert_eq!(others.len(), COUNT - 3);
        assert!(others.iter().all(|item| item.proof == Proof::Missing));
    }
}
