//! The solutions that come with an issue that is taken over: the records that propose, reject and bind them.

use super::{Content, Step};
use loopx_base::id::OpId;
use loopx_rules::issue::IssueId;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::solution::{Proposal, Way};
use loopx_rules::op::{Body, Operation};

/// The records of the solutions of an issue, behind the one by which it begins: first each is proposed.
pub(super) fn steps(id: &IssueId, ways: &[Way]) -> Vec<Step> {
    let step = |reason: Option<&String>, body| Step {
        id: id.clone(),
        before: None,
        reason: reason.cloned(),
        body,
    };
    let mut steps: Vec<Step> = ways.iter().map(|way| step(None, proposed(way))).collect();
    for (place, way) in ways.iter().enumerate() {
        if way.rejected.is_some() {
            let rejects = move |solution| Change::Reject {
                solution,
                rejected: true,
            };
            steps.push(step(way.rejected.as_ref(), said_of(place, rejects)));
        } else if way.bound {
            steps.push(step(None, said_of(place, |op| Change::Bind(Some(op)))));
        }
    }
    steps
}

fn proposed(way: &Way) -> Content {
    let (proposal, mends) = (way.proposal.clone(), way.mends);
    Content::Behind(Box::new(move |before| {
        let mends = mends.and_then(|place| record_of(before, place));
        let proposal = Proposal {
            mends,
            ..proposal.clone()
        };
        solution(Change::Solution(Box::new(proposal)))
    }))
}

/// A word about the solution at a place.
fn said_of(place: usize, change: impl Fn(OpId) -> Change + 'static) -> Content {
    Content::Behind(Box::new(move |before| {
        let changes = record_of(before, place).map(&change).into_iter().collect();
        IssueEvent::Solution { changes }.into()
    }))
}

/// The record that proposes the solution at a place: the first record of the command begins the issue.
fn record_of(before: &[Operation], place: usize) -> Option<OpId> {
    before.get(place + 1).map(|op| op.op.clone())
}

fn solution(change: Change) -> Body {
    IssueEvent::Solution {
        changes: vec![change],
    }
    .into()
}
