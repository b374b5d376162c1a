//! Taking back what was done to an issue, and bringing it back. Nothing of the log goes away: a record says of others
//! that they do not count.

use super::change::shortened;
use super::{Plan, Step, Written, names, require_person, write};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{OpId, Person};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::{Issue, IssueId, fold, persons_word};
use loopx_rules::op::{Body, Operation};
use loopx_rules::words::Word;
use loopx_store::Snapshot;
use std::collections::BTreeSet;

/// Records that were taken back, or brought back, in words.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub words: Vec<String>,
    /// A comment that was written since: it stays.
    pub comment: Option<u64>,
}

impl Moved {
    fn of<'o>(records: impl Iterator<Item = &'o Operation>) -> Self {
        let words = |op: &Operation| match &op.body {
            Body::Issue(IssueEvent::Changed { changes }) => {
                let words: Vec<String> = changes.iter().map(Change::words).collect();
                shortened(&words)
            }
            _ => op.word().to_owned(),
        };
        Moved {
            words: records.map(words).collect(),
            comment: None,
        }
    }
}

/// Takes back what a person did last to an issue: who asks, or with a reason whoever it was.
pub(crate) fn undo(ctx: &Context, typed: &str, reason: Option<&String>) -> Result<Written<Moved>> {
    let me = ctx.repo.identity()?.author;
    around(ctx, typed, reason, "undo", |snapshot, id, ops| {
        let off = off(ops);
        let counts = |op: &&Operation| !off.contains(&op.op) && !op.is_passed_over();
        let last = ops
            .iter()
            .rev()
            .find(counts)
            .ok_or_else(|| nothing(id, "taken back"))?;
        require_own(id, last, &me, reason.is_some())?;
        let undone: Vec<&Operation> = ops
            .iter()
            .rev()
            .filter(|op| op.tx == last.tx && counts(op))
            .collect();
        require_unused(snapshot, id, ops, &undone)?;
        let word = Word::Undone {
            undone: undone.iter().map(|op| op.op.clone()).collect(),
        };
        let since = |op: &&Operation| matches!(op.body, Body::Note(_)) && op.seq > last.seq;
        let moved = Moved {
            comment: ops.iter().rev().find(since).map(|op| op.seq),
            ..Moved::of(undone.into_iter())
        };
        Ok((word, moved))
    })
}

/// Brings back what was taken back last.
pub(crate) fn redo(ctx: &Context, typed: &str, reason: Option<&String>) -> Result<Written<Moved>> {
    around(ctx, typed, reason, "redo", |_, id, ops| {
        let off = off(ops);
        let last = ops.iter().rev().find_map(|op| match op.said() {
            Some(Word::Undone { undone }) if undone.iter().all(|one| off.contains(one)) => {
                Some(undone)
            }
            _ => None,
        });
        let undone = last.ok_or_else(|| nothing(id, "brought back"))?;
        let again: Vec<OpId> = undone.iter().rev().cloned().collect();
        let words = again
            .iter()
            .filter_map(|id| ops.iter().find(|op| op.op == *id));
        let moved = Moved::of(words);
        Ok((Word::Redone { redone: again }, moved))
    })
}

fn around(
    ctx: &Context,
    typed: &str,
    reason: Option<&String>,
    verb: &str,
    decide: impl Fn(&Snapshot<'_>, &IssueId, &[Operation]) -> Result<(Word, Moved)>,
) -> Result<Written<Moved>> {
    write(ctx, |snapshot, _| {
        let id = names::resolve(snapshot, typed)?;
        let ops = snapshot
            .issue_records(&id)?
            .ok_or_else(|| names::unknown(typed))?;
        let (word, moved) = decide(snapshot, &id, &ops)?;
        if let Some(what) = persons_word(&id, &ops, &word) {
            require_person(ctx, what)?;
        }
        Ok(Plan {
            what: format!("{verb} {}", moved.words.join(", ")),
            reason: reason.cloned(),
            steps: vec![Step {
                before: Some(place(&id, &ops)?),
                id,
                body: word.into(),
                reason: None,
            }],
            value: moved,
        })
    })
}

/// Where the next record goes. An issue whose beginning was taken back has a log all the same.
fn place(id: &IssueId, ops: &[Operation]) -> Result<Issue> {
    let mut counted = ops.to_vec();
    counted.retain(|op| op.said().is_none());
    let mut issue = fold(id, &counted)
        .ok_or_else(|| names::unknown(id.as_str()))?
        .issue;
    issue.seq = ops.iter().map(|op| op.seq).max().unwrap_or(0);
    let named: BTreeSet<&OpId> = ops.iter().flat_map(|op| &op.after).collect();
    let newest = ops.iter().filter(|op| !named.contains(&op.op));
    issue.newest = newest.map(|op| op.op.clone()).collect();
    Ok(issue)
}

/// The records that do not count.
pub(super) fn off(ops: &[Operation]) -> BTreeSet<OpId> {
    let mut off = BTreeSet::new();
    for op in ops {
        match op.said() {
            Some(Word::Undone { undone }) => off.extend(undone.iter().cloned()),
            Some(Word::Redone { redone }) => off.retain(|op| !redone.contains(op)),
            _ => {}
        }
    }
    off
}

fn nothing(id: &IssueId, what: &str) -> Failure {
    Failure::nothing(
        Code::NothingToUndo,
        format!("{id}: there is nothing that could be {what}"),
    )
    .help(command!("issue log {id}"))
}

/// Refuses to take back what others rest on: the session that was started for an issue, and the beginning of an issue
/// that somebody else spoke of or that others name.
fn require_unused(
    snapshot: &Snapshot<'_>,
    id: &IssueId,
    ops: &[Operation],
    undone: &[&Operation],
) -> Result<()> {
    let refused = |what: String| Failure::refused(Code::IssueUsed, format!("{id}: {what}"));
    for op in undone {
        let Body::Issue(IssueEvent::Created { changes } | IssueEvent::Changed { changes }) =
            &op.body
        else {
            continue;
        };
        let session = changes.iter().find_map(|change| match change {
            Change::Session(one) => Some(&one.session),
            _ => None,
        });
        if let Some(session) = session {
            let what =
                format!("session {session} was started for it, and its end gives the issue back");
            return Err(refused(what).help(command!("abandon --reason WHY").session(session)));
        }
    }
    let is_begun = |op: &&&Operation| matches!(op.body, Body::Issue(IssueEvent::Created { .. }));
    let Some(begun) = undone.iter().find(is_begun) else {
        return Ok(());
    };
    let close = command!("issue close {id} --reason WHY");
    let is_comment =
        |op: &&Operation| matches!(op.body, Body::Note(_)) && op.by.email != begun.by.email;
    if let Some(comment) = ops.iter().find(is_comment) {
        return Err(refused(format!("{} said something of it", comment.by)).help(close));
    }
    let others = super::all(snapshot)?.issues;
    let names = |other: &&Issue| other.links.iter().any(|link| link.to == *id);
    if let Some(other) = others.iter().find(names) {
        return Err(refused(format!("{} names it", other.id)).help(close));
    }
    Ok(())
}

fn require_own(id: &IssueId, op: &Operation, me: &Person, has_reason: bool) -> Result<()> {
    if op.by.email == me.email || has_reason {
        return Ok(());
    }
    Err(Failure::usage(
        Code::ReasonRequired,
        format!(
            "`{}` of {id} is of {}: whoever takes back what somebody else did says why",
            op.word(),
            op.by
        ),
    )
    .help(command!("issue undo {id} --reason WHY")))
}
