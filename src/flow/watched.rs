//! Leases of tasks as this clone watched them. A claim carries the clock of whoever made it, which may be hours off; so
//! a claim that was not made by this worktree ends once this clone has seen it unrenewed for its whole length by its
//! own clock (design 5, "Claim"). When it was seen first stands in the git directory, for every worktree; where that
//! is lost, it is watched anew.

use super::lease;
use loopx_base::id::OpId;
use loopx_git::Repo;
use loopx_rules::lease::{MAX_LEASE, Worktrees, ends, seconds_of};
use loopx_rules::op::{Body, Operation};
use loopx_rules::session::{Stamped, State};
use loopx_rules::task::event::{Claim, TaskEvent};
use loopx_rules::task::status::TaskFacts;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A file of more bytes is written anew, with the claims that still stand.
const LARGE: u64 = 64 << 10;

/// When this clone saw the claims of a session first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    first: HashMap<OpId, i64>,
    /// The worktrees of this clone: this one's own claims go by its own clock.
    worktrees: Worktrees,
}

fn file(repo: &Repo) -> PathBuf {
    repo.common_dir().join("loopx").join("watched")
}

impl Watched {
    /// Looks at the claims that stand in a session, and notes those that this clone has not seen before.
    pub(crate) fn of(repo: &Repo, state: &State, now: i64) -> Self {
        let claims: Vec<&Stamped<Claim>> =
            state.tasks.values().filter_map(TaskFacts::holder).collect();
        if claims.is_empty() {
            return Watched::default();
        }
        let worktrees = lease::worktrees(repo);
        let own = worktrees.here.as_ref();
        let text = std::fs::read_to_string(file(repo)).unwrap_or_default();
        let mut first = read(&text);
        first.retain(|op, _| claims.iter().any(|claim| claim.op == *op));
        // A clock that was ahead when it saw a claim says nothing once it is set right.
        let is_new = |claim: &&&Stamped<Claim>| {
            own != Some(&claim.value.owner) && first.get(&claim.op).is_none_or(|at| *at > now)
        };
        let new: Vec<OpId> = claims
            .iter()
            .filter(is_new)
            .map(|claim| claim.op.clone())
            .collect();
        first.extend(new.iter().map(|op| (op.clone(), now)));
        if !new.is_empty() {
            let new = new.into_iter().map(|op| (op, now));
            note(
                repo,
                &new.collect(),
                (text.len() as u64 > LARGE).then_some(&first),
            );
        }
        Watched { first, worktrees }
    }

    /// Whether this worktree made a claim.
    pub(crate) fn is_here(&self, claim: &Stamped<Claim>) -> bool {
        self.worktrees.here.as_ref() == Some(&claim.value.owner)
    }

    /// Whose a claim is, for people.
    pub(crate) fn whose(&self, claim: &Stamped<Claim>) -> String {
        let agent = claim.value.agent.as_deref();
        (self.worktrees).whose(&claim.value.owner, agent, &claim.signed.by)
    }

    /// The second at which a claim ends; one whose time cannot be read has ended.
    pub(crate) fn until(&self, claim: &Stamped<Claim>) -> i64 {
        match self.first.get(&claim.op) {
            Some(first) if !self.is_here(claim) => {
                first.saturating_add(i64::from(claim.value.seconds.min(MAX_LEASE)))
            }
            _ => ends(claim, claim.value.seconds),
        }
    }
}

/// Notes a claim that is made here: its clock is this clone's.
pub(super) fn made(repo: &Repo, op: &Operation) {
    if let Body::Task(TaskEvent::Claimed { .. }) = &op.body
        && let Some(at) = seconds_of(&op.at)
    {
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

/// What cannot be kept is watched anew.
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
