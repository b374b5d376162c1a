//! The records of an issue as they were at a moment. What is given is whole: with a record come all that its writer knew,
//! so that the fold of it is what somebody could have seen.

use super::event::IssueEvent;
use super::fold::{Walk, in_order};
use super::{IssueId, Status, fold};
use crate::causality::Causality;
use crate::lease::seconds_of;
use crate::op::{Body, Operation};
use loopx_base::id::OpId;
use std::collections::HashMap;

/// The records up to a second, by their dates. One whose writer knew a later one is later, whatever its clock said.
pub fn until(ops: &[Operation], second: i64) -> Vec<Operation> {
    let known = known_since(ops).into_iter();
    let known = known.filter(|(_, since)| *since <= Some(second));
    known.map(|(op, _)| op.clone()).collect()
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

/// The status of an issue since a second; `None` where it was not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub second: i64,
    pub status: Option<Status>,
}

/// The turns of an issue, oldest first: whenever another status came to be by its records.
pub fn turns(id: &IssueId, ops: &[Operation]) -> Vec<Turn> {
    walked(id, ops).0
}

/// The turns of an issue, and how many records were folded to find them.
pub(super) fn walked(id: &IssueId, ops: &[Operation]) -> (Vec<Turn>, usize) {
    let known = known_since(ops);
    let mut walk = Walk::of(id, ops);
    // Where the beginning was taken back, any record of somebody who did not know of it brings the issue back.
    let turning = known.iter();
    let turning = turning.filter(|(op, _)| walk.is_none() || is_turning(op));
    let mut seconds: Vec<i64> = turning.filter_map(|(_, second)| *second).collect();
    seconds.sort_unstable();
    seconds.dedup();
    // The records up to a second are mostly the first ones, too; of those that people wrote apart some are not.
    let mut sorted: Vec<Option<i64>> = known.iter().map(|(_, second)| *second).collect();
    sorted.sort_unstable();
    let mut latest = known.iter().map(|(_, second)| *second).collect::<Vec<_>>();
    for at in 1..latest.len() {
        latest[at] = latest[at].max(latest[at - 1]);
    }
    let mut apart = 0;
    let mut found: Vec<Turn> = Vec::new();
    for second in seconds {
        let count = sorted.partition_point(|one| *one <= Some(second));
        let are_first = count == 0 || latest[count - 1] <= Some(second);
        let status = match walk.as_mut().filter(|_| are_first) {
            Some(walk) => walk.status(count),
            None => {
                apart += count;
                fold(id, &until(ops, second)).map(|read| read.issue.status)
            }
        };
        if found.last().and_then(|last| last.status) != status {
            found.push(Turn { second, status });
        }
    }
    (found, apart + walk.map_or(0, |walk| walk.folded))
}

/// Records in the order in which they are folded, each with the second since which it counts: its own, or that of a later
/// one that its writer knew.
fn known_since(ops: &[Operation]) -> Vec<(&Operation, Option<i64>)> {
    let mut since: HashMap<&OpId, Option<i64>> = HashMap::new();
    let all = in_order(ops).into_iter();
    all.map(|op| {
        let named = op.after.iter().filter_map(|id| since.get(id).copied());
        let second = named.fold(seconds_of(&op.at), Option::max);
        since.insert(&op.op, second);
        (op, second)
    })
    .collect()
}

/// Tells whether a record can change the status of an issue.
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
