//! The rules of a team about its issues: what one has to have before somebody begins it, and before a person's word resolves
//! it. Whoever refuses says how each is mended.

use super::{Issue, IssueId};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// Something that an issue has to have before somebody begins it.
    TakeNeed {
        Criteria = "criteria",
        Estimate = "estimate",
        Assignee = "assignee",
        Milestone = "milestone",
        Solution = "solution",
    }
);

vocabulary!(
    /// Something that an issue has to have before a person's word resolves it.
    ResolveNeed {
        Criteria = "criteria",
        Comment = "comment",
        /// The archive of a session: nobody's word resolves it.
        Session = "session",
    }
);

/// Needs of policy that an issue does not meet before somebody begins it.
pub fn lacking(issue: &Issue, needs: &[TakeNeed]) -> Vec<TakeNeed> {
    let has = |need: &TakeNeed| match need {
        TakeNeed::Criteria => !issue.criteria.is_empty(),
        TakeNeed::Estimate => issue.estimate.is_some(),
        TakeNeed::Assignee => issue.assignee.is_some(),
        TakeNeed::Milestone => issue.milestone.is_some(),
        TakeNeed::Solution => issue.bound.is_some(),
    };
    let mut lacks: Vec<TakeNeed> = needs.iter().filter(|need| !has(need)).copied().collect();
    once(&mut lacks);
    lacks
}

/// Leaves of values that stand there several times the first.
fn once<T: Copy + PartialEq>(all: &mut Vec<T>) {
    let mut known = Vec::new();
    all.retain(|one| {
        let is_new = !known.contains(one);
        known.push(*one);
        is_new
    });
}

/// A need as people name it, and the command that meets it.
pub fn met(id: &str, need: TakeNeed) -> (&'static str, Hint) {
    match need {
        TakeNeed::Criteria => ("criteria", command!("issue edit {id} --criterion TEXT")),
        TakeNeed::Estimate => ("an estimate", command!("issue edit {id} --estimate 4h")),
        TakeNeed::Assignee => ("an assignee", command!("issue edit {id} --assignee @me")),
        TakeNeed::Milestone => ("a milestone", command!("issue edit {id} --milestone NAME")),
        TakeNeed::Solution => ("a bound solution", command!("issue solution add {id} HOW")),
    }
}

/// Refuses to begin an issue that lacks what policy asks for.
pub fn require_takeable(issue: &Issue, needs: &[TakeNeed]) -> Result<()> {
    let id = &issue.id;
    let ways = lacking(issue, needs).into_iter().map(|need| {
        let (what, way) = met(id.as_str(), need);
        (what, need.as_str(), way)
    });
    refuse(id, "take", ways.collect())
}

/// Refuses a person's word that an issue is resolved where it lacks what policy asks for.
pub fn require_resolvable(issue: &Issue, needs: &[ResolveNeed]) -> Result<()> {
    let id = &issue.id;
    let has = |need: &ResolveNeed| match need {
        ResolveNeed::Criteria => !issue.criteria.is_empty(),
        ResolveNeed::Comment => issue.comments > 0,
        ResolveNeed::Session => false,
    };
    let mut lacks: Vec<ResolveNeed> = needs.iter().filter(|need| !has(need)).copied().collect();
    once(&mut lacks);
    let ways = lacks.into_iter().map(|need| {
        let (what, way) = match need {
            ResolveNeed::Criteria => ("criteria", command!("issue edit {id} --criterion TEXT")),
            ResolveNeed::Comment => ("a comment", command!("issue comment {id} TEXT")),
            ResolveNeed::Session => ("the archive of a session", command!("start --issue {id}")),
        };
        (what, need.as_str(), way)
    });
    refuse(id, "resolve", ways.collect())
}

fn refuse(id: &IssueId, key: &str, lacking: Vec<(&str, &str, Hint)>) -> Result<()> {
    let (message, help) = match lacking.as_slice() {
        [] => return Ok(()),
        [(what, word, way)] => (lacks(id, key, what, word), way.clone()),
        more => (
            format!(
                "{id} lacks {} things that [backlog] {key} of loopx.toml asks for",
                more.len()
            ),
            command!("issue show {id}"),
        ),
    };
    let blockers = lacking
        .into_iter()
        .map(|(what, word, way)| Blocker::new(Code::IssueLacks, lacks(id, key, what, word), way));
    Err(Failure::refused(Code::IssueLacks, message)
        .blockers(blockers.collect())
        .help(help))
}

fn lacks(id: &IssueId, key: &str, what: &str, word: &str) -> String {
    format!("{id} lacks {what}, which [backlog] {key} of loopx.toml asks for: `{word}`")
}
