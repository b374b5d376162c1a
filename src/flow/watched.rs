//! Leases of tasks and issues as this clone watched them. A claim carries the clock of whoever made it, which may be hours off; so
//! a claim that was not made by this worktree ends once this clone has seen it unrenewed for its whole length by its
//! own clock (design 5, "Claim"). When it was seen first stands in the git directory, for every worktree; where that
//! is lost, it is watched anew.

use super::lease;
use loopx_base::id::OpId;
use loopx_git::Repo;
use loopx_rules::issue::Issue;
use loopx_rules::issue::event::IssueEvent;
use loopx_rules::lease::{Lease, Leases, Worktrees, seconds_of};
use loopx_rules::op::{Body, Operation};
use loopx_rules::session::{Stamped, State};
use loopx_rules::task::event::TaskEvent;
use loopx_rules::task::status::TaskFacts;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A file of more bytes is written anew, with the claims that stand and the newest of the others.
const LARGE: u64 = 64 << 10;

/// Number of claims that stay beside those that are asked for: in another session their leases have ended, or still run.
/// A claim that was forgotten is watched anew.
const KEPT: usize = 1_000;

/// The claims of a session or of the backlog as this clone watched them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub leases: Leases,
    worktrees: Worktrees,
}

fn file(repo: &Repo) -> PathBuf {
    repo.common_dir().join("loopx").join("watched")
}

impl Watched {
    /// Claims by the clocks of those who made them, as of another moment than this one.
    pub(crate) fn then(repo: &Repo, now: i64) -> Self {
        let worktrees = lease::worktrees(repo);
        let here = worktrees.here.clone();
        Watched {
            leases: Leases {
                here,
                ..Leases::at(now)
            },
            worktrees,
        }
    }

    /// Looks at the claims that stand in a session, and notes those that this clone has not seen before.
    pub(crate) fn of(repo: &Repo, state: &State, now: i64) -> Self {
        let claims = state.tasks.values().filter_map(TaskFacts::holder);
        Self::among(repo, &claims.collect::<Vec<_>>(), now)
    }

    /// Looks at the claims of issues in the same way.
    pub(crate) fn of_issues<'i>(
        repo: &Repo,
        issues: impl IntoIterator<Item = &'i Issue>,
        now: i64,
    ) -> Self {
        let claims = issues.into_iter().filter_map(|one| one.claim.as_deref());
        Self::among(repo, &claims.collect::<Vec<_>>(), now)
    }

    fn among<L: Lease>(repo: &Repo, claims: &[&Stamped<L>], now: i64) -> Self {
        if claims.is_empty() {
            return Watched {
                leases: Leases::at(now),
                worktrees: Worktrees::default(),
            };
        }
        let worktrees = lease::worktrees(repo);
        let text = std::fs::read_to_string(file(repo)).unwrap_or_default();
        let mut first = read(&text);
        // A clock that was ahead when it saw a claim says nothing once it is set right.
        let is_new = |claim: &&&Stamped<L>| {
            worktrees.here.as_deref() != Some(claim.value.owner())
                && first.get(&claim.op).is_none_or(|at| *at > now)
        };
        let new: Vec<OpId> = claims
            .iter()
            .filter(is_new)
            .map(|claim| claim.op.clone())
            .collect();
        first.extend(new.iter().map(|op| (op.clone(), now)));
        let stand: HashSet<&OpId> = claims.iter().map(|claim| &claim.op).collect();
        if !new.is_empty() {
            let kept = (text.len() as u64 > LARGE).then(|| kept(&first, &stand));
            let new = new.into_iter().map(|op| (op, now));
            note(repo, &new.collect(), kept.as_ref());
        }
        first.retain(|op, _| stand.contains(op));
        let here = worktrees.here.clone();
        Watched {
            leases: Leases { first, here, now },
            worktrees,
        }
    }

    /// Test for a claim that this worktree made.
    pub(crate) fn is_here<L: Lease>(&self, claim: &Stamped<L>) -> bool {
        self.leases.is_here(claim)
    }

    /// The owner of a claim, for people.
    pub(crate) fn whose<L: Lease>(&self, claim: &Stamped<L>) -> String {
        let value = &claim.value;
        (self.worktrees).whose(value.owner(), value.agent(), &claim.signed.by)
    }

    /// The second at which a claim ends; one whose time cannot be read has ended.
    pub(crate) fn until<L: Lease>(&self, claim: &Stamped<L>) -> i64 {
        self.leases.until(claim)
    }
}

/// The claims that a file that is written anew keeps.
fn kept(first: &HashMap<OpId, i64>, stand: &HashSet<&OpId>) -> HashMap<OpId, i64> {
    let mut others: Vec<(&OpId, &i64)> = first.iter().collect();
    others.retain(|(op, _)| !stand.contains(op));
    others.sort_by_key(|(op, at)| std::cmp::Reverse((**at, *op)));
    others.truncate(KEPT);
    let mut kept = first.clone();
    let others: HashSet<&OpId> = others.into_iter().map(|(op, _)| op).collect();
    kept.retain(|op, _| stand.contains(op) || others.contains(op));
    kept
}

/// Notes a claim that is made here: its clock is this clone's.
pub(super) fn made(repo: &Repo, op: &Operation) {
    let is_claim = matches!(
        &op.body,
        Body::Task(TaskEvent::Claimed { .. }) | Body::Issue(IssueEvent::Claimed { .. })
    );
    if is_claim && let Some(at) = seconds_of(&op.at) {
        note(repo, &HashMap::from([(op.op.clone(), at)]), None);
    }
}

/// The earliest moment of each claim.
fn read(text: &str) -> HashMap<OpId, i64> {
    let line = |line: &str| {
        let (op, at) = line.split_once(' ')?;
        Some((OpId::parse(op).ok()?, at.parse().ok()?))
    };
    let mut first: HashMap<OpId, i64> = HashMap::new();
    for (op, at) in text.lines().filter_map(line) {
        let seen = first.entry(op).or_insert(at);
        *seen = at.min(*seen);
    }
    first
}

/// Writes down when claims were first seen; a claim that cannot be kept is watched anew.
fn note(repo: &Repo, new: &HashMap<OpId, i64>, instead: Option<&HashMap<OpId, i64>>) {
    let mut lines = String::new();
    for (op, at) in instead.unwrap_or(new) {
        let _ = writeln!(lines, "{op} {at}");
    }
    let file = file(repo);
    drop(match instead {
        Some(_) => repo.write_shared(&file, lines.as_bytes()),
        None => repo.append_shared(&file, lines.as_bytes()),
    });
}

#[cfg(test)]
mod tests {
    use super::{KEPT, kept};
    use loopx_base::id::OpId;
    use std::collections::{HashMap, HashSet};

    fn op(n: usize) -> OpId {
        OpId::parse(&format!("{n:026}")).expect("an id")
    }

    #[test]
    fn m15_a_claim_that_ended_is_not_forgotten_for_those_of_another_session() {
        let first: HashMap<OpId, i64> = (0..2_000).map(|n| (op(n), n as i64)).collect();
        let (oldest, ended) = (op(0), op(1_500));
        let kept = kept(&first, &HashSet::from([&oldest]));
        assert!(kept.contains_key(&oldest) && kept.contains_key(&ended));
        assert_eq!(kept.len(), KEPT + 1);
        assert!(!kept.contains_key(&op(1)));
    }
}
