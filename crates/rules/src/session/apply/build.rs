//! The steps of a build, applied to a state.

use super::{Beside, recorded};
use crate::op::{Delegation, Evidence, Lane, LaneStatus, Operation};
use crate::session::{Audit, BuildBlock, FOLD, LIMIT_FOLD, LaneReport, MAX_TREES, Stamped, State};
use crate::stage::Stage;

impl State {
    pub(super) fn report(
        &mut self,
        op: &Operation,
        lane: Lane,
        report: LaneReport,
        beside: &Beside<'_>,
    ) -> Result<(), String> {
        self.require_stage(Stage::Build)?;
        self.builds(op);
        let held = self.build.lanes.get(&lane).is_some_and(|known| {
            known.value.status != LaneStatus::Complete && !beside.saw(&known.op)
        });
        if !held {
            self.build.lanes.insert(lane, recorded(op, report));
        }
        Ok(())
    }

    pub(super) fn delegate(
        &mut self,
        op: &Operation,
        delegation: &Delegation,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        self.require_stage(Stage::Build)?;
        self.builds(op);
        let knew = beside.knew(&format!("delegation {}", delegation.id), op);
        let mut all = self.build.delegations.iter_mut();
        match all.find(|known| known.id == delegation.id) {
            // Open for one of two is open.
            Some(known) if !knew && known.is_open() => {}
            Some(known) => *known = delegation.clone(),
            None => self.build.delegations.push(delegation.clone()),
        }
        Ok(())
    }

    /// A check was run, in whatever stage.
    pub(super) fn run(&mut self, op: &Operation, evidence: &Evidence, beside: &Beside<'_>) {
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
                Some(_) => LIMIT_FOLD,
            });
            let gone = keep_run(&mut self.evidence, recorded(op, evidence.clone()));
            if !self.tasks.is_empty() {
                self.keep_passed(&gone);
            }
        }
    }

    /// Remembers the runs that passed and are named no more: somebody may have begun on them.
    fn keep_passed(&mut self, gone: &[Stamped<Evidence>]) {
        for run in gone.iter().filter(|run| run.value.proves()) {
            for name in run.value.task.iter().chain([&run.value.what]) {
                let first = self.passed.entry(name.to_lowercase()).or_insert(run.seq);
                *first = run.seq.min(*first);
            }
        }
    }

    pub(super) fn audit(
        &mut self,
        op: &Operation,
        audit: Audit,
        no_deslop: bool,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        self.require_stage(Stage::Build)?;
        self.builds(op);
        let build = &mut self.build;
        let is_new = build.is_new_audit(&audit.tree, &audit.blockers, no_deslop);
        if is_new && build.audit.is_some() {
            build.iteration += 1;
        }
        let knew = beside.knew("audit", op);
        let before = build.audit.as_ref();
        let held = before.is_some_and(|known| !knew && !known.blockers.is_empty());
        if !held {
            build.no_deslop = no_deslop;
            build.audit = Some(audit);
        }
        Ok(())
    }

    pub(super) fn block(&mut self, op: &Operation, block: BuildBlock) {
        if self.stage == Stage::Build {
            self.build.blocked = Some(recorded(op, block));
        }
    }

    /// Takes away the block that its writer knew of.
    pub(super) fn resume(&mut self, beside: &Beside<'_>) {
        let saw = |known: &Stamped<BuildBlock>| beside.saw(&known.op);
        if self.build.blocked.as_ref().is_none_or(saw) {
            self.build.blocked = None;
        }
    }

    /// Makes whoever takes a step of the build a builder: the build goes on.
    pub(super) fn builds(&mut self, op: &Operation) {
        self.build.blocked = None;
        for person in std::iter::once(&op.by).chain(&op.committer) {
            if !self.build.builders.contains(person) {
                self.build.builders.push(person.clone());
            }
        }
    }
}

/// Adds a run to a set of them: for each thing that was run there is one on each tree, of the newest trees. Gives those
/// that are named no more.
pub(crate) fn keep_run(
    known: &mut Vec<Stamped<Evidence>>,
    run: Stamped<Evidence>,
) -> Vec<Stamped<Evidence>> {
    let is_rerun = |one: &mut Stamped<Evidence>| run.value.is_rerun_of(&one.value);
    let mut gone: Vec<Stamped<Evidence>> = known.extract_if(.., is_rerun).collect();
    let is_like = |one: &Stamped<Evidence>| run.value.is_like(&one.value);
    if known.iter().filter(|one| is_like(one)).count() >= MAX_TREES
        && let Some(oldest) = known.iter().position(is_like)
    {
        gone.push(known.remove(oldest));
    }
    known.push(run);
    gone
}
