//! The ways to do an issue, as its records give them: what was proposed, what somebody says of it, what is chosen and
//! what failed; and where the issue comes from.

use super::{Field, Folding};
use crate::issue::event::Change;
use crate::issue::solution::{Bound, Failed, Proposal, Rejected, Scored, Solution};
use crate::issue::{Source, Status};
use crate::op::Body;
use loopx_base::id::OpId;
use std::borrow::Cow;
use std::collections::HashSet;

impl Folding<'_> {
    /// Adds a solution. One that came from the same place with the same words is the one that came first: clones that
    /// take over a backlog apart have its solutions once.
    pub(super) fn proposed(&mut self, at: usize, proposal: &Proposal) {
        let op = &self.ops[at].op;
        let is_it = |(_, one): &&(usize, Proposal)| one.from == proposal.from && one == proposal;
        let first = match proposal.from {
            Some(_) => self.solutions.iter().find(is_it),
            None => None,
        };
        let first = first.map(|(first, _)| &self.ops[*first].op);
        if let Some(first) = first.filter(|first| *first != op) {
            self.same.insert(op.clone(), first.clone());
        }
        self.solutions.push((at, proposal.clone()));
    }

    /// A change that names the first of solutions that are one.
    pub(super) fn of_first<'c>(&self, change: &'c Change) -> Cow<'c, Change> {
        let first = |op: &OpId| self.same.get(op).cloned();
        let changed = match change {
            Change::Bind(Some(op)) => first(op).map(|op| Change::Bind(Some(op))),
            Change::Fail(op) => first(op).map(Change::Fail),
            Change::Score { solution, scores } => first(solution).map(|solution| Change::Score {
                solution,
                scores: *scores,
            }),
            Change::Reject { solution, rejected } => first(solution).map(|solution| {
                let rejected = *rejected;
                Change::Reject { solution, rejected }
            }),
            Change::Solution(proposal) => proposal.mends.as_ref().and_then(first).map(|op| {
                Change::Solution(Box::new(Proposal {
                    mends: Some(op),
                    ..(**proposal).clone()
                }))
            }),
            _ => None,
        };
        changed.map_or(Cow::Borrowed(change), Cow::Owned)
    }

    /// Work failed: it is in nobody's hands any more.
    pub(super) fn failed(&mut self, at: usize, solution: &OpId) {
        let op = self.ops[at];
        self.failures.push(Failed {
            solution: solution.clone(),
            by: op.by.clone(),
            at: op.at.clone(),
            reason: op.reason.clone(),
        });
        self.release(at);
    }

    /// The solutions in the order in which they came. One that somebody rejects and somebody else accepts apart is
    /// rejected.
    pub(super) fn solutions(&self) -> Vec<Solution> {
        let mut names = HashSet::new();
        let is_first = |(at, _): &&(usize, Proposal)| !self.same.contains_key(&self.ops[*at].op);
        let all = self.solutions.iter().filter(is_first);
        all.map(|(at, proposal)| {
            let op = self.ops[*at];
            let is_new = names.insert(&proposal.name);
            let mut proposal = proposal.clone();
            // Two that came apart by one name are told from each other.
            if !is_new {
                proposal.name = format!("{}-{}", proposal.name, op.op.short());
            }
            Solution {
                op: op.op.clone(),
                by: op.by.clone(),
                at: op.at.clone(),
                scored: self.scored(&op.op),
                rejected: self.rejected(&op.op),
                proposal,
            }
        })
        .collect()
    }

    fn scored(&self, solution: &OpId) -> Option<Scored> {
        let heads = self.fields.get(&Field::Score(solution.clone()))?;
        let (at, change) = heads.last()?;
        let Change::Score { scores, .. } = change else {
            return None;
        };
        let op = self.ops[*at];
        Some(Scored {
            scores: (*scores)?,
            by: op.by.clone(),
            at: op.at.clone(),
            reason: op.reason.clone(),
        })
    }

    fn rejected(&self, solution: &OpId) -> Option<Rejected> {
        let heads = self.fields.get(&Field::Rejected(solution.clone()))?;
        let is_it = |change: &Change| matches!(change, Change::Reject { rejected: true, .. });
        let (at, _) = heads.iter().rfind(|(_, change)| is_it(change))?;
        let op = self.ops[*at];
        Some(Rejected {
            by: op.by.clone(),
            at: op.at.clone(),
            reason: op.reason.clone(),
        })
    }

    /// The solution that is chosen, unless somebody took it back or rejected it.
    pub(super) fn bound(&self, solutions: &[Solution]) -> Option<Bound> {
        let Some(Change::Bind(Some(wanted))) = self.value(&Field::Bound) else {
            return None;
        };
        let found = solutions.iter().find(|one| one.op == *wanted)?;
        let failed = matches!(self.value(&Field::Failed), Some(Change::Fail(of)) if of == wanted);
        found.rejected.is_none().then(|| Bound {
            solution: found.op.clone(),
            name: found.proposal.name.clone(),
            tasks: found.proposal.tasks.len(),
            files: found.proposal.touched(),
            failed,
        })
    }

    /// Status of the issue once whoever had it gives it back: the status before somebody began.
    pub(super) fn given_back(&self) -> Status {
        match self.value(&Field::Bound) {
            Some(Change::Bind(Some(_))) if self.was_queued => Status::Queued,
            Some(Change::Bind(Some(_))) => Status::Planned,
            _ => Status::Open,
        }
    }

    /// Tells whether the record that gave the issue its last status began a session.
    pub(super) fn in_session(&self) -> bool {
        let heads = self.fields.get(&Field::Status);
        let last = heads.and_then(|heads| heads.last());
        last.is_some_and(|(at, _)| match &self.ops[*at].body {
            Body::Issue(event) => {
                let mut changes = event.changes().iter();
                changes.any(|change| matches!(change, Change::Session(_)))
            }
            _ => false,
        })
    }

    /// Source that the issue was taken over from.
    pub(super) fn source(&self) -> Option<Source> {
        match self.value(&Field::Source) {
            Some(Change::Source(source)) => Some(source.clone()),
            _ => None,
        }
    }
}
