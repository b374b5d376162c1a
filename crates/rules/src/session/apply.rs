//! What one operation makes of a state. It checks only that the operation fits the state at all: what a
//! gate asks is not known here.

use super::{
    Approval, ApprovedBy, Audit, BuildBlock, BuildFacts, Ending, FOLD, LaneReport, MAX_TREES,
    OpConflict, PlanReview, Signed, Stamped, State, TAKEN_BACK_FOLD, TASK_FOLD, TakenBack,
    UnknownOp, Void, Waiver, Way, way,
};
use crate::artifact::Artifact;
use crate::finding::{Finding, Said, record_of};
use crate::gate::covered_files;
use crate::op::{
    Event, Evidence, FoundIn, LaneStatus, Operation, PlanVerdict, RequirementBase, ReviewFinding,
    Unknown, Verdict,
};
use crate::profile::ProfileName;
use crate::stage::{ApprovalKey, Stage, Transition};
use crate::task::amend::{Amended, Amendment};
use crate::words::Word;
use loopx_base::id::{Oid, OpId};
use std::collections::BTreeMap;

fn approved_by(op: &Operation) -> ApprovedBy {
    ApprovedBy {
        op: op.op.clone(),
        signed: signed(op),
        committer: op.committer.clone(),
        reason: op.reason.clone(),
    }
}

impl State {
    /// The state after one more operation, whose writer had seen all others. The caller has judged the
    /// gates; this checks only that the operation fits the state at all.
    pub fn apply(&mut self, op: &Operation) {
        let mut after = self.clone();
        after.take_writes(op);
        match after.try_apply(op, &mut Beside::default()) {
            Ok(()) => *self = after,
            Err(why) => self.conflicts.push(OpConflict {
                op: op.op.clone(),
                why,
                with: Vec::new(),
            }),
        }
        self.seq = self.seq.max(op.seq);
        self.last = op.op.clone();
        self.frontier.clear();
        self.touched = signed(op);
    }

    /// Everything but the artifacts, which are those that the writer of the operation left behind.
    pub(crate) fn try_apply(
        &mut self,
        op: &Operation,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        self.require_open(op)?;
        op.fold(self, beside)
    }

    /// Refuses what writes an artifact that is closed where the session is and where the operation leads: no command
    /// does, and an edit that was made apart from the move is held by it.
    fn require_open(&self, op: &Operation) -> Result<(), String> {
        if op.is_about_others() || op.is_beginning() || op.unknown().is_some() {
            return Ok(());
        }
        let to = match op.event().and_then(way) {
            Some(Way::To { stage, .. }) => stage,
            Some(Way::End) | None => self.stage,
        };
        let is_closed = |artifact: &&Artifact| {
            !artifact.is_derived()
                && !self.is_open(**artifact)
                && !self.is_open_in(**artifact, to)
                && !self.is_amended_by(op, **artifact)
        };
        match op.writes.keys().find(is_closed) {
            Some(artifact) => Err(format!("{artifact} is closed in stage {}", self.stage)),
            None => Ok(()),
        }
    }

    /// Whether an operation changes the approved list as an amendment does, or settles what two amendments made apart.
    fn is_amended_by(&self, op: &Operation, artifact: Artifact) -> bool {
        let amends = match (op.event(), op.said()) {
            (Some(Event::Approved { files, amends, .. }), _) => {
                let to = op.writes.get(&artifact).map(|write| write.to.as_ref());
                amends.is_some() && to == Some(files.get(&artifact))
            }
            (_, Some(Word::Resolved { .. })) => self.amended().nth(1).is_some(),
            _ => false,
        };
        amends && artifact == Artifact::TaskList && self.stage == Stage::Build
    }

    /// Keeps what only a newer program understands.
    pub(crate) fn keep_unknown(&mut self, op: &Operation, unknown: &Unknown) {
        self.unknown.push(UnknownOp {
            op: op.op.clone(),
            seq: op.seq,
            topic: unknown.topic.clone(),
            kind: unknown.kind.clone(),
            weight: op.weight,
            needs: unknown.needs,
            by: op.by.clone(),
        });
    }

    /// What an event of the session makes of it.
    pub(crate) fn take_event(
        &mut self,
        op: &Operation,
        event: &Event,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        if let Event::Unarchived {
            archive,
            commit,
            target,
        } = event
        {
            self.unarchive(archive, commit, target);
            return Ok(());
        }
        let (claim, bases) = (op.claim(), op.bases());
        let is_apart = matches!(event, Event::Ran { .. }) && beside.missed(ENDING);
        let reopens = matches!(
            event,
            Event::Entered {
                transition: Transition::DoneToBuild,
                ..
            }
        );
        if reopens && matches!(self.ending, Some(Ending::Archived { .. })) {
            self.ending = None;
            self.fold = self.fold.min(TASK_FOLD);
        }
        if !self.is_active() && !is_apart {
            return Err("the session had ended".into());
        }
        match self.void_reason(event, beside) {
            Some((transition, why)) => self.void.push(Void {
                op: op.op.clone(),
                transition,
                by: op.by.clone(),
                why,
            }),
            None => self.step(op, event, beside)?,
        }
        if !self.is_active() && !is_apart {
            beside.knew(ENDING, op);
        }
        if let Some(claim) = claim
            && self.stage == Stage::Build
        {
            self.build.claim = Some(recorded(op, claim.clone()));
        }
        if !bases.is_empty() {
            let mut all: BTreeMap<(String, String), RequirementBase> = BTreeMap::new();
            for base in self.bases.drain(..).chain(bases.iter().cloned()) {
                all.insert((base.domain.clone(), base.requirement.clone()), base);
            }
            self.bases = all.into_values().collect();
        }
        Ok(())
    }

    /// The transition of an approval that counts for nothing, and why: it names another content than the session has without what was
    /// taken back, or with what was written apart. An honest one never does where nobody was apart.
    fn void_reason(&self, event: &Event, beside: &Beside<'_>) -> Option<(Transition, String)> {
        let Event::Approved {
            transition, files, ..
        } = event
        else {
            return None;
        };
        if beside.missed(BASE) && self.stage == transition.from() {
            let why =
                format!("{transition} was approved while somebody gave the session another base");
            return Some((*transition, why));
        }
        let here = covered_files(self, *transition);
        let differing: Vec<&str> = Artifact::ALL
            .iter()
            .filter(|artifact| files.get(artifact) != here.get(artifact))
            .map(|artifact| artifact.path())
            .collect();
        if differing.is_empty() || self.stage != transition.from() {
            return None;
        }
        let why = format!(
            "{transition} was approved with another {} than the session has: somebody took that back or changed it at the same time",
            differing.join(", ")
        );
        Some((*transition, why))
    }

    fn take_writes(&mut self, op: &Operation) {
        // The writes of an undo are for readers: what is left is what the replay gives.
        if op.is_about_others() {
            return;
        }
        for (artifact, write) in &op.writes {
            match &write.to {
                Some(blob) => self.artifacts.insert(*artifact, blob.clone()),
                None => self.artifacts.remove(artifact),
            };
            self.joins.remove(artifact);
        }
        for (path, write) in &op.others {
            match &write.to {
                Some(blob) => self.files.insert(path.clone(), vec![blob.clone()]),
                None => self.files.remove(path),
            };
        }
    }

    fn step(
        &mut self,
        op: &Operation,
        event: &Event,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        let at_stage = |state: &State, stage: Stage| {
            if state.stage == stage {
                Ok(())
            } else {
                Err(format!(
                    "expected stage {stage}, the session was in {}",
                    state.stage
                ))
            }
        };
        match event {
            Event::Started { .. } => return Err("the session had been started".into()),
            Event::Saved | Event::Refreshed => {}
            // A note about a build that was undone is no conflict: there is nothing left to note.
            Event::Claimed => {}
            Event::Blocked { cause, missing } => {
                if self.stage == Stage::Build {
                    let block = BuildBlock {
                        cause: *cause,
                        missing: missing.clone(),
                    };
                    self.build.blocked = Some(recorded(op, block));
                }
            }
            Event::Resumed => {
                let saw = |known: &Stamped<BuildBlock>| beside.saw(&known.op);
                if self.build.blocked.as_ref().is_none_or(saw) {
                    self.build.blocked = None;
                }
            }
            Event::Bound { branch } => self.branch = Some(branch.clone()),
            Event::Unbound => {
                self.fold = self.fold.max(FOLD);
                self.branch = None;
            }
            Event::Rebased { base } => {
                beside.knew(BASE, op);
                self.rebase(base);
            }
            Event::Clarified { profile } => {
                at_stage(self, Stage::Clarify)?;
                let knew = beside.knew("profile", op);
                if knew || *profile == ProfileName::deep() {
                    self.profile = profile.clone();
                }
            }
            Event::Reprofiled { profile, stage, .. } => {
                self.fold = self.fold.max(FOLD);
                beside.knew("profile", op);
                self.profile = profile.clone();
                self.move_to(*stage);
            }
            Event::Approved {
                transition,
                content,
                files,
                code,
                completes,
                head: _,
                amends: Some(amendment),
            } => {
                at_stage(self, Stage::Build)?;
                if *transition != Transition::PlanToBuild || *completes || code.is_some() {
                    return Err("an amendment is of the plan that was approved".into());
                }
                self.amend(op, content, files, amendment);
            }
            Event::Approved {
                transition,
                content,
                files,
                code,
                completes,
                head: _,
                amends: None,
            } => {
                at_stage(self, transition.from())?;
                self.approve(op, *transition, content, files, code.as_ref());
                if *completes {
                    self.enter(op, *transition, &[])?;
                }
            }
            Event::Entered {
                transition, scope, ..
            } => {
                at_stage(self, transition.from())?;
                self.enter(op, *transition, scope)?;
            }
            Event::Drafted => {
                at_stage(self, Stage::Plan)?;
                self.plan.iteration += 1;
            }
            Event::PlanReviewed {
                lane,
                verdict,
                findings,
                found,
                files,
            } => {
                at_stage(self, Stage::Plan)?;
                let plain = findings.iter().map(|text| ReviewFinding::plain(text));
                let all: Vec<ReviewFinding> = plain.chain(found.iter().cloned()).collect();
                self.find_all(op, (*lane).into(), self.plan.iteration, &all, None);
                let review = PlanReview {
                    run: self.plan.run,
                    iteration: self.plan.iteration,
                    lane: *lane,
                    verdict: *verdict,
                    findings: all.iter().map(plan_words).collect(),
                    files: files.clone(),
                };
                // Of two that did not know of each other the one that does not approve counts.
                let held = self.plan.reviews.iter().position(|known| {
                    *verdict == PlanVerdict::Approve
                        && known.value.verdict != PlanVerdict::Approve
                        && known.value.lane == *lane
                        && !beside.saw(&known.op)
                });
                let at = held.unwrap_or(self.plan.reviews.len());
                self.plan.reviews.insert(at, recorded(op, review));
            }
            Event::Extended { stage, by } => {
                let cap = match stage {
                    Stage::Clarify => &mut self.clarify.extra_rounds,
                    Stage::Plan => &mut self.plan.extra_iterations,
                    Stage::Build => &mut self.build.extra_iterations,
                    Stage::Review | Stage::Done => return Err("this stage has no cap".into()),
                };
                *cap = cap.saturating_add(*by);
            }
            Event::LaneReported {
                lane,
                status,
                summary,
                tree,
            } => {
                at_stage(self, Stage::Build)?;
                self.builds(op);
                let report = LaneReport {
                    status: *status,
                    summary: summary.clone(),
                    tree: tree.clone(),
                };
                let held = self.build.lanes.get(lane).is_some_and(|known| {
                    known.value.status != LaneStatus::Complete && !beside.saw(&known.op)
                });
                if !held {
                    self.build.lanes.insert(*lane, recorded(op, report));
                }
            }
            Event::Delegated { delegation } => {
                at_stage(self, Stage::Build)?;
                self.builds(op);
                let knew = beside.knew(&format!("delegation {}", delegation.id), op);
                match self
                    .build
                    .delegations
                    .iter_mut()
                    .find(|d| d.id == delegation.id)
                {
                    // Open for one of two is open.
                    Some(known) if !knew && known.is_open() => {}
                    Some(known) => *known = delegation.clone(),
                    None => self.build.delegations.push(delegation.clone()),
                }
            }
            Event::Ran { evidence } => {
                if self.stage == Stage::Build {
                    self.builds(op);
                }
                // A run that failed is replaced only by one that came after it.
                let held = self.evidence.iter().any(|known| {
                    evidence.is_rerun_of(&known.value)
                        && !known.value.passed()
                        && evidence.passed()
                        && !beside.saw(&known.op)
                });
                if !held {
                    self.fold = self.fold.max(match evidence.limit {
                        None => FOLD,
                        Some(_) => TASK_FOLD,
                    });
                    keep_run(&mut self.evidence, recorded(op, evidence.clone()));
                }
            }
            Event::Waived { task } => {
                self.build
                    .waivers
                    .insert(task.clone(), recorded(op, Waiver {}));
            }
            Event::Audited {
                tree,
                blockers,
                no_deslop,
            } => {
                at_stage(self, Stage::Build)?;
                self.builds(op);
                if self.build.is_new_audit(tree, blockers, *no_deslop) && self.build.audit.is_some()
                {
                    self.build.iteration += 1;
                }
                let knew = beside.knew("audit", op);
                let held = self
                    .build
                    .audit
                    .as_ref()
                    .is_some_and(|known| !knew && !known.blockers.is_empty());
                if !held {
                    self.build.no_deslop = *no_deslop;
                    self.build.audit = Some(Audit {
                        tree: tree.clone(),
                        blockers: blockers.clone(),
                    });
                }
            }
            Event::Reviewed { verdict } => {
                at_stage(self, Stage::Review)?;
                for key in [ApprovalKey::Rollback, ApprovalKey::Complete] {
                    self.approvals.remove(&key);
                }
                let (round, found) = (self.reviews, &verdict.findings);
                self.find_all(op, FoundIn::Review, round, found, Some(verdict));
                let held = self
                    .verdict
                    .as_ref()
                    .is_some_and(|known| !known.value.is_approval() && !beside.saw(&known.op));
                let is_of_other_base = verdict.is_approval() && beside.missed(BASE);
                if !held && !is_of_other_base {
                    self.verdict = Some(recorded(op, verdict.clone()));
                }
            }
            Event::Answered { answers, tree } => {
                for answer in answers {
                    let said = Said {
                        answer: answer.answer,
                        tree: tree.clone(),
                    };
                    self.answer(answer, recorded(op, said), |known| beside.saw(known));
                }
            }
            Event::Imported { ended, .. } => {
                at_stage(self, Stage::Clarify)?;
                // No gate opens by an import: what is not at its end begins at the first stage.
                if let Some(end) = ended {
                    self.stage = Stage::Done;
                    self.ending = Some(Ending::Archived {
                        commit: None,
                        target: end.target.clone(),
                        month: end.month.clone(),
                        taken_back: None,
                    });
                }
            }
            Event::Abandoned => {
                self.ending = Some(Ending::Abandoned {
                    reason: op.reason.clone(),
                })
            }
            Event::Archived {
                commit,
                target,
                month,
            } => {
                at_stage(self, Stage::Done)?;
                self.ending = Some(Ending::Archived {
                    commit: commit.clone(),
                    target: target.clone(),
                    month: month.clone(),
                    taken_back: None,
                });
            }
            Event::Unarchived { .. } => {}
        }
        Ok(())
    }

    /// The archive of this commit was taken back. Another one, or a session that was opened again since, is not meant.
    fn unarchive(&mut self, archive: &Oid, commit: &Oid, target: &str) {
        if let Some(Ending::Archived {
            commit: Some(known),
            taken_back,
            ..
        }) = &mut self.ending
            && known == archive
        {
            *taken_back = Some(TakenBack {
                target: target.to_owned(),
                commit: commit.clone(),
            });
            self.fold = self.fold.max(TAKEN_BACK_FOLD);
        }
    }

    /// What is approved and not used yet, and what a review saw, was a change from another commit.
    fn rebase(&mut self, base: &Oid) {
        self.fold = self.fold.max(FOLD);
        self.rebased = true;
        self.base = Some(base.clone());
        if self.stage != Stage::Done {
            self.approvals.retain(|_, approval| !approval.armed);
        }
        if self.stage == Stage::Review {
            self.verdict = None;
        }
    }

    fn find_all(
        &mut self,
        op: &Operation,
        lane: FoundIn,
        round: u32,
        all: &[ReviewFinding],
        verdict: Option<&Verdict>,
    ) {
        for (nth, found) in (0..).zip(all) {
            let finding = Finding {
                nth,
                lane,
                round,
                found: found.clone(),
                tree: verdict.map(|verdict| verdict.tree.clone()),
                record: verdict.and_then(|verdict| record_of(&verdict.files)),
                answer: None,
            };
            self.find(recorded(op, finding));
        }
    }

    fn builds(&mut self, op: &Operation) {
        self.build.blocked = None;
        for person in std::iter::once(&op.by).chain(&op.committer) {
            if !self.build.builders.contains(person) {
                self.build.builders.push(person.clone());
            }
        }
    }

    fn approve(
        &mut self,
        op: &Operation,
        transition: Transition,
        content: &Oid,
        files: &BTreeMap<Artifact, Oid>,
        code: Option<&Oid>,
    ) {
        let by = approved_by(op);
        let same = self.approvals.get_mut(&transition.key()).filter(|a| {
            a.armed
                && a.transition == transition
                && a.content == *content
                && a.code.as_ref() == code
        });
        if let Some(approval) = same {
            approval.by.push(by);
        } else {
            let approval = Approval {
                transition,
                armed: true,
                content: content.clone(),
                files: files.clone(),
                code: code.cloned(),
                by: vec![by],
            };
            self.approvals.insert(transition.key(), approval);
        }
    }

    /// The list of the plan is another one since.
    fn amend(
        &mut self,
        op: &Operation,
        content: &Oid,
        files: &BTreeMap<Artifact, Oid>,
        amendment: &Amendment,
    ) {
        let approval = Approval {
            transition: Transition::PlanToBuild,
            armed: false,
            content: content.clone(),
            files: files.clone(),
            code: None,
            by: vec![approved_by(op)],
        };
        self.fold = self.fold.max(TASK_FOLD);
        self.amendments.push(Amended {
            approval,
            amendment: amendment.clone(),
            settled: false,
        });
    }

    fn enter(
        &mut self,
        op: &Operation,
        transition: Transition,
        scope: &[String],
    ) -> Result<(), String> {
        if transition.is_approved() {
            let Some(approval) = self
                .approvals
                .get_mut(&transition.key())
                .filter(|a| a.armed && a.transition == transition)
            else {
                return Err(format!("{transition} was not approved"));
            };
            approval.armed = false;
        }
        self.fold = self.fold.max(FOLD);
        self.stage = transition.to();
        self.last_transition = Some(transition);
        let forget = |state: &mut State, keys: &[ApprovalKey]| {
            for key in keys {
                state.approvals.remove(key);
            }
        };
        match transition {
            Transition::ClarifyToPlan | Transition::ReviewToPlan | Transition::BuildToPlan => {
                forget(
                    self,
                    &[
                        ApprovalKey::Build,
                        ApprovalKey::Review,
                        ApprovalKey::Complete,
                    ],
                );
                self.begin_plan();
                for amended in &mut self.amendments {
                    amended.settled = true;
                }
            }
            Transition::PlanToBuild | Transition::ReviewToBuild | Transition::DoneToBuild => {
                forget(
                    self,
                    &[
                        ApprovalKey::Review,
                        ApprovalKey::Rollback,
                        ApprovalKey::Complete,
                    ],
                );
                let rework = transition != Transition::PlanToBuild;
                let earlier = std::mem::take(&mut self.build);
                self.build = BuildFacts {
                    iteration: 1,
                    rework,
                    fresh_after: match &self.verdict {
                        Some(verdict) if rework => verdict.seq,
                        _ => 0,
                    },
                    // Open delegations and builders outlive a rework: nobody closed them.
                    delegations: earlier.delegations,
                    builders: earlier.builders,
                    waivers: if rework {
                        earlier.waivers
                    } else {
                        BTreeMap::new()
                    },
                    ..BuildFacts::default()
                };
                self.builds(op);
                if !rework {
                    self.scope = scope.to_vec();
                }
            }
            Transition::BuildToReview => {
                forget(self, &[ApprovalKey::Rollback, ApprovalKey::Complete]);
                self.verdict = None;
                self.reviews += 1;
                self.build.claim = None;
                self.build.blocked = None;
            }
            Transition::ReviewToClarify => {
                forget(
                    self,
                    &[
                        ApprovalKey::Plan,
                        ApprovalKey::Build,
                        ApprovalKey::Review,
                        ApprovalKey::Complete,
                    ],
                );
            }
            Transition::ReviewToDone => {}
        }
        if transition.is_rollback() && transition.to() != Stage::Build {
            self.verdict = None;
        }
        Ok(())
    }

    /// The plan is entered.
    pub(crate) fn begin_plan(&mut self) {
        self.plan.run += 1;
        self.plan.iteration = 1;
        self.plan.extra_iterations = 0;
    }

    /// Another profile goes on from `stage`: what was approved and not used was a step of the old one, and whoever
    /// goes back has the gates that are ahead then still before them.
    fn move_to(&mut self, stage: Stage) {
        let back = stage < self.stage;
        self.approvals.retain(|key, approval| {
            let is_ahead = back && approval.transition.to() > stage && *key != ApprovalKey::Plan;
            !approval.armed && !is_ahead
        });
        if back {
            self.verdict = None;
        }
        if stage != self.stage {
            match stage {
                Stage::Plan => self.begin_plan(),
                Stage::Build if self.build.iteration == 0 => self.build.iteration = 1,
                _ => {}
            }
        }
        self.stage = stage;
    }
}

/// A finding of a plan as it was typed.
fn plan_words(found: &ReviewFinding) -> String {
    if found.is_plain() {
        found.text.clone()
    } else {
        found.to_string()
    }
}

/// Adds a run to a set of them: for each thing that was run there is one on each tree, of the newest trees.
pub(crate) fn keep_run(known: &mut Vec<Stamped<Evidence>>, run: Stamped<Evidence>) {
    known.retain(|one| !run.value.is_rerun_of(&one.value));
    let is_like = |one: &Stamped<Evidence>| run.value.is_like(&one.value);
    if known.iter().filter(|one| is_like(one)).count() >= MAX_TREES
        && let Some(oldest) = known.iter().position(is_like)
    {
        known.remove(oldest);
    }
    known.push(run);
}

/// The commit that a session starts from.
const BASE: &str = "base";

/// The fact that a session ended.
const ENDING: &str = "ending";

/// What the writer of an operation had seen, for facts of which only one can stand: where two did not
/// know of each other, the one that holds a gate does.
#[derive(Default)]
pub struct Beside<'a> {
    /// Operations that were not seen; nothing for one that saw all.
    pub(crate) unseen: Option<&'a dyn Fn(&OpId) -> bool>,
    /// Who wrote last, of the facts that do not say so themselves.
    pub(crate) writers: BTreeMap<String, OpId>,
}

impl Beside<'_> {
    pub(crate) fn saw(&self, op: &OpId) -> bool {
        !self.unseen.is_some_and(|unseen| unseen(op))
    }

    /// Whether somebody wrote a fact of whom the writer of an operation did not know.
    fn missed(&self, fact: &str) -> bool {
        let last = self.writers.get(fact);
        last.is_some_and(|last| !self.saw(last))
    }

    /// Whether somebody wrote of a task before of whom the writer of an operation did not know; from here on it is
    /// one of those who did.
    pub(crate) fn missed_of(&mut self, task: &str, op: &Operation) -> bool {
        let prefix = format!("task {task} ");
        let before = self.writers.range(prefix.clone()..);
        let mut before = before.take_while(|(fact, _)| fact.starts_with(&prefix));
        let missed = before.any(|(_, writer)| !self.saw(writer));
        self.writers
            .insert(format!("{prefix}{}", op.op), op.op.clone());
        missed
    }

    /// Whether the writer of a fact had seen the one before; from here on it is the last.
    fn knew(&mut self, fact: &str, op: &Operation) -> bool {
        let before = self.writers.insert(fact.to_owned(), op.op.clone());
        before.is_none_or(|before| self.saw(&before))
    }
}

pub(crate) fn signed(op: &Operation) -> Signed {
    Signed {
        by: op.by.clone(),
        at: op.at.clone(),
    }
}

pub(crate) fn recorded<T>(op: &Operation, value: T) -> Stamped<T> {
    Stamped {
        op: op.op.clone(),
        seq: op.seq,
        signed: signed(op),
        reason: op.reason.clone(),
        value,
    }
}
