//! The records of an issue as they were at a moment. What is given is whole: with a record come all that its writer knew,
//! so that the fold of it is what somebody could have seen.

use super::event::IssueEvent;
use super::fold::in_order;
use super::{IssueId, Status, fold};
use crate::causality::Causality;
use crate::lease::seconds_of;
use crate::op::{Body, Operation};
use loopx_base::id::OpId;
use std::collections::HashSet;

/// The records up to a second, by their dates. One whose writer knew a later one is later, whatever its clock said.
pub fn until(ops: &[Operation], second: i64) -> Vec<Operation> {
    let mut late: HashSet<&OpId> = HashSet::new();
    let mut found = Vec::new();
    for op in in_order(ops) {
        let is_late = seconds_of(&op.at).is_some_and(|at| at > second);
        if is_late || op.after.iter().any(|id| late.contains(id)) {
            late.insert(&op.op);
        } else {
            found.push(op.clone());
        }
    }
    found
}

/// A record with all that its writer knew; nothing where it is not among them.
pub fn up_to(ops: &[Operation], wanted: &OpId) -> Option<Vec<Operation>> {
    let sorted = in_order(ops);
    let cause = Causality::of(&sorted);
    let at = sorted.iter().position(|op| op.op == *wanted)?;
    let known = sorted.iter().enumerate();
    let known = known.filter(|(one, _)| *one == at || cause.saw(at, *one));
    Some(known.map(|(_, op)| (*op).clone()).collect())
}

/// How far an issue was since a second; `None` where it was not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub second: i64,
    pub status: Option<Status>,
}

/// The turns of an issue, oldest first: whenever another status came to be by its records.
pub fn turns(id: &IssueId, ops: &[Operation]) -> Vec<Turn> {
    let mut seconds: Vec<i64> = ops
        .iter()
        .filter(|op| is_turning(op))
        .filter_map(|op| seconds_of(&op.at))
        .collect();
    seconds.sort_unstable();
    seconds.dedup();
    let mut found: Vec<Turn> = Vec::new();
    for second in seconds {
        let status = fold(id, &until(ops, second)).map(|read| read.issue.status);
        if found.last().and_then(|last| last.status) != status {
            found.push(Turn { second, status });
        }
    }
    found
}

/// Whether a record can change how far an issue is.
fn is_turning(op: &Operation) -> bool {
    use super::event::Change;
    match &op.body {
        Body::Issue(IssueEvent::Changed { changes } | IssueEvent::Solution { changes }) => {
            let turns = |change: &Change| matches!(change, Change::Status(_) | Change::Fail(_));
            changes.iter().any(turns)
        }
        Body::Issue(_) => true,
        _ => op.said().is_some(),
    }
}
