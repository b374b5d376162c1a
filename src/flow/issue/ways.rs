//! The solutions that come with an issue that is taken over: the records that propose, reject and bind them.

use super::{Content, Step};
use loopx_base::id::OpId;
use loopx_rules::issue::IssueId;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::solution::{Proposal, Way};
use loopx_rules::op::{Body, Operation};

/// The records of the solutions of an issue, behind so many of the same command about it: first each is proposed.
pub(super) fn steps(id: &IssueId, ways: &[Way], behind: usize) -> Vec<Step> {
    let step = |reason: Option<&String>, body| Step {
        id: id.clone(),
        before: None,
        reason: reason.cloned(),
        body,
    };
    let mut steps: Vec<Step> = ways
        .iter()
        .map(|way| step(None, proposed(way, behind)))
        .collect();
    for (place, way) in ways.iter().enumerate() {
        if way.rejected.is_some() {
            let rejects = move |solution| Change::Reject {
                solution,
                rejected: true,
            };
            steps.push(step(
                way.rejected.as_ref(),
                said_of(behind + place, rejects),
            ));
        } else if way.bound {
            steps.push(step(
                None,
                said_of(behind + place, |op| Change::Bind(Some(op))),
            ));
        }
    }
    steps
}

fn proposed(way: &Way, behind: usize) -> Content {
    let (proposal, mends) = (way.proposal.clone(), way.mends);
    Content::Behind(Box::new(move |before| {
        let mended = mends.and_then(|place| record_of(before, behind + place));
        let proposal = Proposal {
            mends: mended.or_else(|| proposal.mends.clone()),
            ..proposal.clone()
        };
        solution(Change::Solution(Box::new(proposal)))
    }))
}

/// A word about the solution whose record is at a place.
fn said_of(place: usize, change: impl Fn(OpId) -> Change + 'static) -> Content {
    Content::Behind(Box::new(move |before| {
        let changes = record_of(before, place).map(&change).into_iter().collect();
        IssueEvent::Solution { changes }.into()
    }))
}

/// The record at a place among those of the command.
fn record_of(before: &[Operation], place: usize) -> Option<OpId> {
    before.get(place).map(|op| op.op.clone())
}

fn solution(change: Change) -> Body {
    IssueEvent::Solution {
        changes: vec![change],
    }
    .into()
}
