//! The rules of a team about its issues: what one has to have before somebody begins it, and before a person's word resolves
//! it, and which status may follow which. Whoever refuses says how each is mended.

use super::hands::{Of, hands};
use super::{Issue, IssueId, Status};
use crate::lease::Leases;
use crate::policy::BacklogPolicy;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Person;
use loopx_base::vocabulary::vocabulary;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

vocabulary!(
    /// Need of an issue before somebody begins it.
    TakeNeed {
        Criteria = "criteria",
        Estimate = "estimate",
        Assignee = "assignee",
        Milestone = "milestone",
        Solution = "solution",
    }
);

vocabulary!(
    /// Need of an issue before a person's word resolves it.
    ResolveNeed {
        Criteria = "criteria",
        Comment = "comment",
        /// The archive of a session: nobody's word resolves it.
        Session = "session",
    }
);

/// Lack that keeps an issue that waits for nothing from being begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    Need(TakeNeed),
    /// Status that the issue has to get first.
    Step(Status),
    /// Limit of a label: as many with it are in hand as policy lets it have, this one among them.
    Room(String, IssueId),
    /// Limit of whoever asks: they have as many in hand as policy lets them have, this one among them.
    Hand(IssueId),
}

impl Serialize for Lack {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Lack::Need(need) => need.serialize(serializer),
            Lack::Step(status) => status.serialize(serializer),
            Lack::Room(..) | Lack::Hand(_) => self.words().serialize(serializer),
        }
    }
}

impl Lack {
    /// The words behind `lacks`.
    pub fn words(&self) -> Cow<'static, str> {
        match self {
            Lack::Need(TakeNeed::Criteria) => "criteria".into(),
            Lack::Need(TakeNeed::Estimate) => "an estimate".into(),
            Lack::Need(TakeNeed::Assignee) => "an assignee".into(),
            Lack::Need(TakeNeed::Milestone) => "a milestone".into(),
            Lack::Need(TakeNeed::Solution) => "a bound solution".into(),
            Lack::Step(status) => format!("status {status}").into(),
            Lack::Room(label, _) => format!("room for {label}").into(),
            Lack::Hand(_) => "room in hand".into(),
        }
    }

    /// Command that mends the lack, for an issue that whoever asks knows as `id`; nothing where policy knows no way.
    pub fn way(&self, issue: &Issue, id: &str) -> Option<Hint> {
        Some(match self {
            Lack::Need(TakeNeed::Criteria) => command!("issue edit {id} --criterion TEXT"),
            Lack::Need(TakeNeed::Estimate) => command!("issue edit {id} --estimate 4h"),
            Lack::Need(TakeNeed::Assignee) => command!("issue edit {id} --assignee @me"),
            Lack::Need(TakeNeed::Milestone) => command!("issue edit {id} --milestone NAME"),
            Lack::Need(TakeNeed::Solution) => to_status(issue, id, Status::Planned),
            Lack::Step(Status::InProgress) => return None,
            Lack::Step(status) => to_status(issue, id, *status),
            // What is in hand leads on to its end.
            Lack::Room(_, held) | Lack::Hand(held) => command!("issue show {held}"),
        })
    }
}

/// The command by which an issue gets a status.
fn to_status(issue: &Issue, id: &str, status: Status) -> Hint {
    match status {
        Status::Open => command!("issue edit {id} --status open"),
        Status::Planned if issue.bound.is_some() => command!("issue edit {id} --status planned"),
        Status::Planned if issue.solutions > 0 => command!("issue solution bind {id} s1"),
        Status::Planned => command!("issue solution add {id} HOW"),
        Status::Queued => command!("issue queue form {id}"),
        Status::InProgress => command!("issue take {id}"),
        Status::Resolved => command!("issue resolve {id} --reason WHY"),
        Status::Closed => command!("issue close {id} --reason WHY"),
    }
}

/// The rules of policy about what is begun, beside the issues that are in hand.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    needs: Vec<TakeNeed>,
    follows: Follows,
    /// The labels of which no more may be in hand, each with those that are.
    full: Vec<(String, Vec<IssueId>)>,
    /// The issues that whoever asks has in hand, where they may have no more.
    in_hand: Vec<IssueId>,
}

impl Rules {
    /// The rules for somebody who may begin something, where that is known.
    pub fn of(
        policy: &BacklogPolicy,
        issues: &[Issue],
        (me, leases): (Option<&Person>, &Leases),
    ) -> Self {
        let (mut full, mut in_hand) = (Vec::new(), Vec::new());
        for hand in hands(issues, policy, me, leases) {
            if !hand.is_over(1) {
                continue;
            }
            let held = hand.held.iter().map(|issue| issue.id.clone()).collect();
            match hand.of {
                Of::Label(label) => full.push((label, held)),
                Of::Person(person) if me.is_some_and(|me| me.is_same(&person)) => {
                    in_hand = held;
                }
                Of::Person(_) => {}
            }
        }
        Rules {
            needs: policy.take.clone(),
            follows: policy.follows.clone(),
            full,
            in_hand,
        }
    }

    /// The things that an issue lacks before somebody begins it.
    pub fn lacking(&self, issue: &Issue) -> Vec<Lack> {
        let mut lacks: Vec<Lack> = (lacking(issue, &self.needs).into_iter())
            .map(Lack::Need)
            .collect();
        let to = Status::InProgress;
        if !may_follow(&self.follows, issue.status, to) {
            let first = first_step(&self.follows, issue.status, to);
            lacks.push(Lack::Step(first.unwrap_or(to)));
        }
        let full = self.full.iter();
        let full =
            full.filter(|(label, held)| issue.labels.contains(label) && !held.contains(&issue.id));
        lacks.extend(
            full.filter_map(|(label, held)| Some(Lack::Room(label.clone(), held.first()?.clone()))),
        );
        if let Some(first) = self.in_hand.first()
            && !self.in_hand.contains(&issue.id)
        {
            lacks.push(Lack::Hand(first.clone()));
        }
        lacks
    }
}

type Follows = BTreeMap<Status, Vec<Status>>;

fn may_follow(follows: &Follows, from: Status, to: Status) -> bool {
    from == to || follows.get(&to).is_none_or(|after| after.contains(&from))
}

/// The first status of a shortest way from one to another; nothing where policy knows no way.
fn first_step(follows: &Follows, from: Status, to: Status) -> Option<Status> {
    // From its end: a shorter way is found first.
    let mut known = BTreeSet::from([to]);
    let mut left = VecDeque::from([to]);
    while let Some(next) = left.pop_front() {
        if from != next && may_follow(follows, from, next) {
            return Some(next);
        }
        let leads = |one: &Status| !one.is_final() && may_follow(follows, *one, next);
        left.extend(
            Status::ALL
                .into_iter()
                .filter(leads)
                .filter(|one| known.insert(*one)),
        );
    }
    None
}

/// Refuses a status that policy lets not follow the one that an issue has. Whoever settles what people wrote apart is asked
/// nothing.
pub fn require_step(issue: &Issue, to: Status, follows: &Follows) -> Result<()> {
    let from = issue.status;
    if may_follow(follows, from, to) || issue.apart_in("status").is_some() {
        return Ok(());
    }
    let id = &issue.id;
    let after = follows.get(&to).map_or(&[][..], Vec::as_slice);
    let after: Vec<&str> = after.iter().map(|status| status.as_str()).collect();
    let after = match after.as_slice() {
        [] => "nothing".to_owned(),
        words => words.join(" or "),
    };
    let message = format!(
        "{id} is {from}, and [backlog] follows of loopx.toml allows {to} only after {after}"
    );
    let way = match first_step(follows, from, to) {
        // An issue that has ended is opened, and becomes nothing else.
        Some(_) if from.is_final() && !may_follow(follows, from, issue.unbegun()) => None,
        Some(first) if from.is_final() && !first.is_final() => Some(command!("issue reopen {id}")),
        Some(first) => Some(to_status(issue, id.as_str(), first)),
        None => None,
    };
    let message = match way {
        Some(_) => message,
        None => format!("{message}; no status leads there"),
    };
    let way = way.unwrap_or_else(|| command!("issue show {id}"));
    Err(Failure::refused(Code::IssueNotNext, message).help(way))
}

/// Needs of policy that an issue does not meet before somebody begins it.
fn lacking(issue: &Issue, needs: &[TakeNeed]) -> Vec<TakeNeed> {
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

/// Refuses to begin an issue that lacks what policy asks for.
pub fn require_takeable(issue: &Issue, needs: &[TakeNeed]) -> Result<()> {
    let id = &issue.id;
    let lacks = lacking(issue, needs).into_iter().map(|need| {
        let lack = Lack::Need(need);
        let way = lack.way(issue, id.as_str());
        let way = way.unwrap_or_else(|| command!("issue show {id}"));
        (lack.words(), need.as_str(), way)
    });
    refuse(id, "take", lacks.collect())
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
        (Cow::from(what), need.as_str(), way)
    });
    refuse(id, "resolve", ways.collect())
}

fn refuse(id: &IssueId, key: &str, lacking: Vec<(Cow<'_, str>, &str, Hint)>) -> Result<()> {
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
        .map(|(what, word, way)| Blocker::new(Code::IssueLacks, lacks(id, key, &what, word), way));
    Err(Failure::refused(Code::IssueLacks, message)
        .blockers(blockers.collect())
        .help(help))
}

fn lacks(id: &IssueId, key: &str, what: &str, word: &str) -> String {
    format!("{id} lacks {what}, which [backlog] {key} of loopx.toml asks for: `{word}`")
}
