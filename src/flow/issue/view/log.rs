//! The log of an issue: its records in words, those that were taken back among them.

use crate::flow::context::Context;
use crate::flow::issue::endings::SessionEnd;
use crate::flow::issue::{endings, names, undo};
use loopx_base::failure::Result;
use loopx_base::id::{OpId, Person};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::{IssueId, fold};
use loopx_rules::lease::Worktrees;
use loopx_rules::op::{Body, Operation};
use loopx_rules::words::Word;
use serde::Serialize;

/// A record of an issue, as its log shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub seq: u64,
    pub op: OpId,
    pub at: String,
    pub by: Person,
    pub event: String,
    /// The changes of the record, in words.
    pub changes: Vec<String>,
    /// The text that the record gave the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Set when the record was taken back.
    pub undone: bool,
}

/// The log of an issue, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub id: IssueId,
    pub entries: Vec<Entry>,
    /// The ends of the sessions of the issue.
    pub ends: Vec<SessionEnd>,
    /// Set unless the beginning of the issue was taken back.
    pub is_there: bool,
}

/// The log of an issue.
pub(crate) fn log(ctx: &Context, typed: &str) -> Result<Log> {
    let snapshot = ctx.store()?.snapshot()?;
    let (id, ops) = names::logged(&snapshot, typed)?;
    let off = undo::off(&ops);
    let worktrees = crate::flow::lease::worktrees(&ctx.repo);
    let entries = ops.iter().map(|op| Entry {
        seq: op.seq,
        op: op.op.clone(),
        at: op.at.clone(),
        by: op.by.clone(),
        event: word(op),
        changes: words(op, &ops, &worktrees),
        description: described(op),
        reason: op.reason.clone(),
        undone: off.contains(&op.op),
    });
    let read = fold(&id, &ops);
    let ends = match &read {
        Some(read) => endings::ends(&snapshot, &read.issue)?,
        None => Vec::new(),
    };
    Ok(Log {
        is_there: read.is_some(),
        ends,
        entries: entries.collect(),
        id,
    })
}

fn word(op: &Operation) -> String {
    match &op.body {
        Body::Note(_) => "comment".to_owned(),
        _ => op.word().to_owned(),
    }
}

fn described(op: &Operation) -> Option<String> {
    let Body::Issue(event) = &op.body else {
        return None;
    };
    event.changes().iter().find_map(|change| match change {
        Change::Description(text) => Some(text.clone()),
        _ => None,
    })
}

fn words(op: &Operation, all: &[Operation], worktrees: &Worktrees) -> Vec<String> {
    let of = |ids: &[OpId]| {
        let named = ids
            .iter()
            .filter_map(|id| all.iter().find(|op| op.op == *id));
        named
            .map(|op| format!("@{} {}", op.seq, word(op)))
            .collect()
    };
    match &op.body {
        Body::Issue(event) => match event {
            IssueEvent::Claimed { claim, .. } => {
                vec![worktrees.whose(&claim.owner, claim.agent.as_deref(), &op.by)]
            }
            event => event.changes().iter().map(Change::words).collect(),
        },
        Body::Note(note) => vec![note.text().trim_end().to_owned()],
        Body::Log(Word::Undone { undone }) => of(undone),
        Body::Log(Word::Redone { redone }) => of(redone),
        _ => Vec::new(),
    }
}
