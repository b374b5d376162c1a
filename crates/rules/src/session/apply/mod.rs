//! Application of one operation to a state. It checks only that the operation fits the state at all: what a gate asks
//! is not known here. The steps of a build, the moves between stages and the reviews stand in modules of their own.

mod build;
mod reviews;
mod stages;

pub(crate) use build::keep_run;

use super::{
    Approval, Audit, BuildBlock, CLOSED, Ending, FOLD, LIMIT_FOLD, LaneReport, OpConflict,
    PlanReview, Signed, Stamped, State, TAKEN_BACK_FOLD, TASK_FOLD, TakenBack, UnknownOp, Void,
    Waiver, Way, way,
};
use crate::artifact::Artifact;
use crate::contract::Boundary;
use crate::gate::covered_files;
use crate::op::{Event, ImportedEnd, Operation, RequirementBase, ReviewFinding, Unknown};
use crate::stage::{Stage, Transition};
use crate::words::Word;
use loopx_base::id::{Oid, OpId};
use reviews::plan_words;
use stages::approved_by;
use std::collections::BTreeMap;

impl State {
    /// The state after one more operation, whose writer had seen all others. The caller has judged the
    /// gates; this checks only that the operation fits the state at all.
    pub fn apply(&mut self, op: &Operation) {
        let mut after = self.clone();
        after.take_writes(op);
        match after.try_apply(op, &mut Beside::default()) {
            Ok(()) => *self = after,
            Err(why) => self.hold(OpConflict {
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

    /// Adds a conflict. Whether an edit of what is closed is one, an older program judges otherwise.
    pub(crate) fn hold(&mut self, conflict: OpConflict) {
        if conflict.why.contains(CLOSED) {
            self.fold = self.fold.max(TASK_FOLD);
        }
        self.conflicts.push(conflict);
    }

    /// Applies an operation, but for the artifacts, which are those that the writer of the operation left behind.
    pub(crate) fn try_apply(
        &mut self,
        op: &Operation,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        self.require_open(op, beside)?;
        let stage = self.stage;
        op.fold(self, beside)?;
        if self.stage != stage {
            beside.moves.push((op.op.clone(), stage, self.stage));
        }
        if !op.is_about_others() && op.writes.keys().any(is_list) {
            beside.knew(LIST, op);
            self.relist();
        }
        Ok(())
    }

    /// Refuses what writes an artifact that is closed where the session is and where the operation leads: no command
    /// does, and an edit that was made apart from the move is held by it.
    fn require_open(&mut self, op: &Operation, beside: &Beside<'_>) -> Result<(), String> {
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
        let closed: Vec<Artifact> = op.writes.keys().filter(is_closed).copied().collect();
        // What clones made apart is settled wherever the session is: a conflict without an end holds every way on.
        if !closed.is_empty() && closed.iter().all(|one| beside.contested.contains(one)) {
            self.fold = self.fold.max(TASK_FOLD);
            return Ok(());
        }
        match closed.first() {
            Some(artifact) => Err(format!("{artifact} is closed in stage {}", self.stage)),
            // A new base would hide from whoever approved the delta what it undoes.
            None if !(op.bases().is_empty() || self.is_delta_open(op)) => {
                Err(format!("the delta is closed in stage {}", self.stage))
            }
            None => Ok(()),
        }
    }

    /// Tells whether the file that the delta stands in may be written here, or is written by this operation, which
    /// moves to where it may be.
    fn is_delta_open(&self, op: &Operation) -> bool {
        let own = if self.artifacts.contains_key(&Artifact::SpecDelta) {
            Artifact::SpecDelta
        } else {
            Artifact::Brief
        };
        self.is_open(own)
            || [Artifact::SpecDelta, Artifact::Brief]
                .iter()
                .any(|file| op.writes.contains_key(file))
    }

    /// Tells whether an operation changes the approved list as an amendment does, or settles what two amendments made
    /// apart.
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

    /// Applies an event of the session to the state.
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
            if self.fold == TAKEN_BACK_FOLD && self.out_of_scope.is_empty() {
                self.fold = LIMIT_FOLD;
            }
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
        match event {
            Event::Started { .. } => return Err("the session had been started".into()),
            // A note about a build that was undone is no conflict: there is nothing left to note.
            Event::Saved | Event::Refreshed | Event::Claimed | Event::Unarchived { .. } => {}
            Event::Bound { branch } => self.branch = Some(branch.clone()),
            Event::Unbound => {
                self.fold = self.fold.max(FOLD);
                self.branch = None;
            }
            Event::Rebased { base } => {
                beside.knew(BASE, op);
                self.rebase(base);
            }
            Event::Clarified { profile } => self.choose_profile(op, profile, beside)?,
            Event::Reprofiled { profile, stage, .. } => {
                self.reprofile(op, profile, *stage, beside);
            }
            Event::Approved {
                transition,
                content,
                files,
                code,
                completes,
                head: _,
                amends,
            } => {
                let approval = Approval {
                    transition: *transition,
                    armed: amends.is_none(),
                    content: content.clone(),
                    files: files.clone(),
                    code: code.clone(),
                    by: vec![approved_by(op)],
                };
                match amends {
                    Some(amendment) => self.amend(approval, *completes, amendment)?,
                    None => self.approve(op, approval, *completes)?,
                }
            }
            Event::Entered {
                transition,
                scope,
                out_of_scope,
                ..
            } => {
                self.require_stage(transition.from())?;
                let boundary = Boundary {
                    within: scope,
                    without: out_of_scope,
                };
                self.enter(op, *transition, boundary)?;
            }
            Event::Extended { stage, by } => self.raise_cap(*stage, *by)?,
            Event::Drafted => {
                self.require_stage(Stage::Plan)?;
                self.plan.iteration += 1;
            }
            Event::PlanReviewed {
                lane,
                verdict,
                findings,
                found,
                files,
            } => {
                let plain = findings.iter().map(|text| ReviewFinding::plain(text));
                let all: Vec<ReviewFinding> = plain.chain(found.iter().cloned()).collect();
                let review = PlanReview {
                    run: self.plan.run,
                    iteration: self.plan.iteration,
                    lane: *lane,
                    verdict: *verdict,
                    findings: all.iter().map(plan_words).collect(),
                    files: files.clone(),
                };
                self.review_plan(op, review, &all, beside)?;
            }
            Event::LaneReported {
                lane,
                status,
                summary,
                tree,
            } => {
                let report = LaneReport {
                    status: *status,
                    summary: summary.clone(),
                    tree: tree.clone(),
                };
                self.report(op, *lane, report, beside)?;
            }
            Event::Delegated { delegation } => self.delegate(op, delegation, beside)?,
            Event::Ran { evidence } => self.run(op, evidence, beside),
            Event::Waived { task } => {
                let waiver = recorded(op, Waiver {});
                self.build.waivers.insert(task.clone(), waiver);
            }
            Event::Audited {
                tree,
                blockers,
                no_deslop,
            } => {
                let (tree, blockers) = (tree.clone(), blockers.clone());
                self.audit(op, Audit { tree, blockers }, *no_deslop, beside)?;
            }
            Event::Blocked { cause, missing } => {
                let (cause, missing) = (*cause, missing.clone());
                self.block(op, BuildBlock { cause, missing });
            }
            Event::Resumed => self.resume(beside),
            Event::Reviewed { verdict } => self.review(op, verdict, beside)?,
            Event::Answered { answers, tree } => {
                self.answer_all(op, answers, tree.as_ref(), beside);
            }
            Event::Imported { ended, .. } => self.import(ended.as_ref())?,
            Event::Abandoned => {
                let reason = op.reason.clone();
                self.ending = Some(Ending::Abandoned { reason });
            }
            Event::Archived {
                commit,
                target,
                month,
            } => {
                self.require_stage(Stage::Done)?;
                self.ending = Some(archived(commit.as_ref(), target, month));
            }
        }
        Ok(())
    }

    fn require_stage(&self, stage: Stage) -> Result<(), String> {
        if self.stage == stage {
            return Ok(());
        }
        let here = self.stage;
        Err(format!("expected stage {stage}, the session was in {here}"))
    }

    /// Takes a session over from another tool, at its end or at the first stage: no gate opens by an import.
    fn import(&mut self, ended: Option<&ImportedEnd>) -> Result<(), String> {
        self.require_stage(Stage::Clarify)?;
        if let Some(end) = ended {
            self.stage = Stage::Done;
            self.ending = Some(archived(None, &end.target, &end.month));
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
}

fn archived(commit: Option<&Oid>, target: &str, month: &str) -> Ending {
    Ending::Archived {
        commit: commit.cloned(),
        target: target.to_owned(),
        month: month.to_owned(),
        taken_back: None,
    }
}

/// The commit that a session starts from.
const BASE: &str = "base";

/// The fact that the list of tasks was written.
const LIST: &str = "list";

/// Tells whether tasks stand in an artifact.
fn is_list(artifact: &Artifact) -> bool {
    matches!(artifact, Artifact::TaskList | Artifact::Slices)
}

/// The fact that a session ended.
const ENDING: &str = "ending";

/// Knowledge of the writer of an operation, for facts of which only one can stand: where two writers did not
/// know of each other, the fact that holds a gate does.
#[derive(Default)]
pub struct Beside<'a> {
    /// Operations that were not seen; nothing for one that saw all.
    pub(crate) unseen: Option<&'a dyn Fn(&OpId) -> bool>,
    /// Writers who wrote last, of the facts that do not say so themselves.
    pub(crate) writers: BTreeMap<String, OpId>,
    /// The moves of the session so far, from where to where.
    pub(crate) moves: Vec<(OpId, Stage, Stage)>,
    /// Artifacts that were apart for the writer of a resolution, where the operation is such.
    pub(crate) contested: Vec<Artifact>,
}

impl Beside<'_> {
    pub(crate) fn saw(&self, op: &OpId) -> bool {
        !self.unseen.is_some_and(|unseen| unseen(op))
    }

    /// The stage that the writer of an operation had the session in, where all that count give this one.
    pub(crate) fn stage(&self, now: Stage) -> Stage {
        let seen = self.moves.iter().rfind(|(op, ..)| self.saw(op));
        match (seen, self.moves.first()) {
            (Some((_, _, to)), _) => *to,
            (None, Some((_, from, _))) => *from,
            (None, None) => now,
        }
    }

    /// Tells whether the list was written without the knowledge of an operation's writer.
    pub(crate) fn missed_list(&self) -> bool {
        self.missed(LIST)
    }

    /// Tells whether somebody wrote a fact of whom the writer of an operation did not know.
    fn missed(&self, fact: &str) -> bool {
        let last = self.writers.get(fact);
        last.is_some_and(|last| !self.saw(last))
    }

    /// Tells whether somebody wrote of a task before of whom the writer of an operation did not know; from here on that
    /// operation counts among those that wrote of the task.
    pub(crate) fn missed_of(&mut self, task: &str, op: &Operation) -> bool {
        let prefix = format!("task {task} ");
        let before = self.writers.range(prefix.clone()..);
        let mut before = before.take_while(|(fact, _)| fact.starts_with(&prefix));
        let missed = before.any(|(_, writer)| !self.saw(writer));
        self.writers
            .insert(format!("{prefix}{}", op.op), op.op.clone());
        missed
    }

    /// Tells whether the writer of a fact had seen the last writing of it; from here on this operation is the last.
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
