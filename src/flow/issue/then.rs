//! The backlog as it was: its records up to a moment, folded. Every clone that has the records sees the same.

use super::names;
use crate::flow::context::Context;
use crate::flow::when;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId};
use loopx_rules::issue::then::{until, up_to};
use loopx_rules::issue::{IssueId, Read, Texts, fold};
use loopx_rules::lease::{clock, seconds_of};
use loopx_rules::op::Operation;
use loopx_rules::when::Side;
use loopx_store::{Issues, Snapshot};
use std::collections::{BTreeSet, HashMap};

/// The number of characters below which the beginning of an id says nothing.
const SHORTEST: usize = 4;

/// A moment of the backlog.
#[derive(Clone, Debug)]
pub(crate) struct Then {
    pub second: i64,
    /// The record up to which its issue is read, where somebody named one.
    op: Option<(IssueId, OpId)>,
    /// The commit of the branch that somebody named: what it has counts, whatever clocks said.
    pub(super) commit: Option<Oid>,
}

impl Then {
    /// The moment that somebody means: a day (its end, or its begin), a time, an age, an operation, or a commit of the
    /// branch. A number is one of the log of the issue that is asked about.
    pub(super) fn of(
        ctx: &Context,
        snapshot: &Snapshot<'_>,
        (typed, side): (&str, Side),
        issue: Option<(&IssueId, &[Operation])>,
    ) -> Result<Self> {
        let typed = typed.trim();
        if let Some(number) = number(typed) {
            return match issue {
                Some((id, ops)) => numbered(id, ops, number),
                None => Err(when::unknown(typed)
                    .help(command!("issue log ID").note("(a number is one of an issue's log)"))),
            };
        }
        if let Some(second) = when::second(ctx, typed, side)? {
            return Ok(Then {
                second,
                op: None,
                commit: None,
            });
        }
        let found = match issue {
            Some((id, ops)) => named(id, ops, typed),
            None => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        if let Ok(commit) = ctx.repo.resolve_commit(typed)
            && ctx.repo.is_ancestor(&commit, snapshot.commit())?
            && let Some(second) = seconds_of(&ctx.repo.commit_info(&commit)?.at)
        {
            return Ok(Then {
                second,
                op: None,
                commit: Some(commit),
            });
        }
        for id in ids(snapshot)? {
            let ops = snapshot.issue_records(&id)?.unwrap_or_default();
            if let Some(found) = named(&id, &ops, typed) {
                return Ok(found);
            }
        }
        Err(when::unknown(typed).help(command!("issue list --at yesterday").note("(for one)")))
    }

    /// The backlog of the commit that was named.
    pub(super) fn place<'r>(&self, snapshot: &Snapshot<'r>) -> Result<Option<Snapshot<'r>>> {
        let commit = self.commit.clone();
        let at = commit.map(|commit| Snapshot::at(snapshot.repo(), commit, "the branch"));
        at.transpose()
    }

    /// The records of an issue up to this moment. `place` is that of [`Then::place`].
    pub(super) fn records(
        &self,
        place: Option<&Snapshot<'_>>,
        id: &IssueId,
        ops: &[Operation],
    ) -> Result<Vec<Operation>> {
        if let Some(place) = place {
            return Ok(place.issue_records(id)?.unwrap_or_default());
        }
        let of_op = self.op.as_ref().filter(|(of, _)| of == id);
        let known = of_op.and_then(|(_, op)| up_to(ops, op));
        Ok(known.unwrap_or_else(|| until(ops, self.second)))
    }

    /// The time of the moment, for people.
    pub(super) fn at(&self) -> String {
        clock(self.second)
    }

    /// The moment for people who typed it: the time; of a commit, which its place speaks for, the name.
    pub(super) fn named(&self, typed: &str) -> String {
        match self.commit {
            Some(_) => typed.to_owned(),
            None => self.at(),
        }
    }

    /// An issue as it was; refused where it was not there yet.
    pub(super) fn require(
        &self,
        snapshot: &Snapshot<'_>,
        (id, ops): (&IssueId, &[Operation]),
    ) -> Result<Read> {
        let place = self.place(snapshot)?;
        let Some(mut read) = fold(id, &self.records(place.as_ref(), id, ops)?) else {
            return Err(Failure::not_found(
                Code::IssueUnknown,
                format!("{id} did not exist at {}", self.at()),
            )
            .help(command!("issue log {id}")));
        };
        let issue = std::slice::from_mut(&mut read.issue);
        super::sessions::settle_at(snapshot, issue, Some(self.second))?;
        Ok(read)
    }
}

/// A number of a log: `@3`, or `3`.
fn number(typed: &str) -> Option<u64> {
    match typed.strip_prefix('@') {
        Some(number) => number.parse().ok(),
        None => typed.parse().ok().filter(|_| typed.len() < SHORTEST),
    }
}

fn numbered(id: &IssueId, ops: &[Operation], number: u64) -> Result<Then> {
    let found: Vec<&Operation> = ops.iter().filter(|op| op.seq == number).collect();
    match found.as_slice() {
        [one] => Ok(of_op(id, one)),
        [] => Err(Failure::not_found(
            Code::PointUnknown,
            format!("{id} has no operation @{number}"),
        )
        .help(command!("issue log {id}"))),
        more => Err(Failure::usage(
            Code::PointAmbiguous,
            format!(
                "@{number} is the number of {} operations of {id}, from several clones: give the id of one",
                more.len()
            ),
        )
        .help(command!("issue log {id} --json"))),
    }
}

fn named(id: &IssueId, ops: &[Operation], typed: &str) -> Option<Then> {
    let typed = typed.trim_start_matches('@').to_lowercase();
    let is_it = |op: &&Operation| typed.len() >= SHORTEST && op.op.as_str().starts_with(&typed);
    let mut found = ops.iter().filter(is_it);
    let one = found.next()?;
    found.next().is_none().then(|| of_op(id, one))
}

fn of_op(id: &IssueId, op: &Operation) -> Then {
    Then {
        second: seconds_of(&op.at).unwrap_or(i64::MIN),
        op: Some((id.clone(), op.op.clone())),
        commit: None,
    }
}

/// The ids of all issues, each once.
fn ids(snapshot: &Snapshot<'_>) -> Result<BTreeSet<IssueId>> {
    let mut ids = BTreeSet::new();
    snapshot.issue_ids(|id| ids.extend(IssueId::parse(id)))?;
    Ok(ids)
}

/// All issues as they were, with their long texts and what had become of the sessions that were started for them.
pub(super) fn all(
    snapshot: &Snapshot<'_>,
    then: &Then,
) -> Result<(Issues, HashMap<IssueId, Texts>)> {
    let mut found = Issues::default();
    let mut texts = HashMap::new();
    let place = then.place(snapshot)?;
    for id in ids(snapshot)? {
        let records = snapshot.issue_records(&id);
        let records = records.and_then(|all| {
            let all = all.unwrap_or_default();
            then.records(place.as_ref(), &id, &all)
        });
        let records = match records {
            Ok(records) => records,
            Err(failure) => {
                found.damaged.push((id, failure));
                continue;
            }
        };
        match fold(&id, &records) {
            Some(read) => {
                texts.insert(id, read.texts);
                found.issues.push(read.issue);
            }
            // Its name is as long as it is now.
            None => found.withdrawn.push(id),
        }
    }
    super::sessions::settle_at(snapshot, &mut found.issues, Some(then.second))?;
    Ok((found, texts))
}

/// The records of the issue that somebody means, and the moment.
pub(super) fn meant(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    (typed, at): (&str, &str),
) -> Result<(IssueId, Vec<Operation>, Then)> {
    let (id, ops) = names::logged(snapshot, typed)?;
    let then = Then::of(ctx, snapshot, (at, Side::End), Some((&id, &ops)))?;
    Ok((id, ops, then))
}
