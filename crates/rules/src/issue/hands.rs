//! Issues in hand, and the limits that policy sets to how many of them a person or a label has at once.

use super::{Issue, Status};
use crate::lease::Leases;
use crate::policy::BacklogPolicy;
use loopx_base::id::Person;

/// The sign before the address of a person in the limits of policy; no label has it.
pub const PERSON: char = '@';

/// The person or the label that has a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    Person(Person),
    Label(String),
}

/// The issues in hand that count against a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Hand<'b> {
    pub of: Of,
    /// Number of issues that policy lets the person or the label have at most.
    pub most: u32,
    /// The key of policy that says so.
    pub key: &'static str,
    pub held: Vec<&'b Issue>,
}

impl Hand<'_> {
    /// Tells whether an issue that this person begins counts against the limit, and does not yet.
    pub fn would_get(&self, issue: &Issue, me: &Person) -> bool {
        let is_its = match &self.of {
            Of::Person(person) => person.is_same(me),
            Of::Label(label) => issue.labels.contains(label),
        };
        is_its && self.held.iter().all(|held| held.id != issue.id)
    }

    /// Tells whether so many more issues would be more than policy lets the person or the label have.
    pub fn is_over(&self, more: usize) -> bool {
        self.held.len() + more > self.most as usize
    }
}

/// The person who has an issue in hand: by a claim whose lease is running, else by a session that goes on.
fn holder<'i>(issue: &'i Issue, leases: &Leases) -> Option<&'i Person> {
    let claim = issue.claim.as_deref().filter(|claim| leases.runs(claim));
    let claimed = claim.map(|claim| &claim.signed.by);
    claimed.or(issue.running_by.as_deref())
}

/// Tells whether somebody is at an issue. A claim whose lease has ended is nobody's.
fn is_in_hand(issue: &Issue, leases: &Leases) -> bool {
    let is_said = issue.status == Status::InProgress && issue.claim.is_none();
    !issue.status.is_final()
        && (is_said || issue.running.is_some() || holder(issue, leases).is_some())
}

/// The limits that policy sets, each with what is in hand against it: that of each label, and of each person who has
/// something in hand, and of `me`.
pub fn hands<'b>(
    issues: &'b [Issue],
    policy: &BacklogPolicy,
    me: Option<&Person>,
    leases: &Leases,
) -> Vec<Hand<'b>> {
    if !policy.has_limits() {
        return Vec::new();
    }
    let all: Vec<&Issue> = issues
        .iter()
        .filter(|one| is_in_hand(one, leases))
        .collect();
    let mut people: Vec<(Vec<&Person>, Vec<&Issue>)> = Vec::new();
    people.extend(me.map(|me| (vec![me], Vec::new())));
    for issue in &all {
        let Some(person) = holder(issue, leases) else {
            continue;
        };
        // By the first name alone: what came along by another one is not asked, so that no order of issues decides.
        match people
            .iter_mut()
            .find(|(names, _)| names[0].is_same(person))
        {
            Some((names, held)) => {
                names.push(person);
                held.push(issue);
            }
            None => people.push((vec![person], vec![issue])),
        }
    }
    people.sort_by(|(a, _), (b, _)| a[0].email.cmp(&b[0].email));
    let people = people.into_iter().map(|(names, held)| Hand {
        of: Of::Person(names[0].clone()),
        most: policy.limit_of(&names).0,
        key: policy.limit_of(&names).1,
        held,
    });
    let labels = policy
        .limits
        .iter()
        .filter(|(of, _)| !of.starts_with(PERSON));
    let labels = labels.map(|(label, most)| Hand {
        of: Of::Label(label.clone()),
        most: *most,
        key: "limits",
        held: (all.iter().copied())
            .filter(|issue| issue.labels.contains(label))
            .collect(),
    });
    let hands = people.chain(labels).filter(|hand| hand.most > 0);
    hands.collect()
}

impl BacklogPolicy {
    /// Tells whether policy limits something in hand.
    pub fn has_limits(&self) -> bool {
        self.wip > 0 || self.limits.values().any(|most| *most > 0)
    }

    /// Tells whether policy asks more of an issue that somebody begins than that it waits for nothing.
    pub fn asks_of_begun(&self) -> bool {
        self.has_limits() || !self.take.is_empty() || !self.follows.is_empty()
    }

    /// The most issues that a person may have in hand, and the key that says so; 0 is no limit.
    /// People may go by several addresses.
    fn limit_of(&self, names: &[&Person]) -> (u32, &'static str) {
        let own = |of: &str| {
            let address = of.strip_prefix(PERSON);
            let is_it = |address: &str| {
                (names.iter()).any(|person| address.eq_ignore_ascii_case(&person.email))
            };
            address.is_some_and(is_it)
        };
        let own = self.limits.iter().find(|(of, _)| own(of));
        own.map_or((self.wip, "wip"), |(_, most)| (*most, "limits"))
    }
}
