//! The records of an issue that were taken back, and those that stay though somebody took them back.

use crate::causality::Causality;
use crate::issue::Overruled;
use crate::issue::event::IssueEvent;
use crate::op::{Body, Operation};
use crate::session::signed;
use crate::words::Word;
use loopx_base::id::OpId;
use std::collections::BTreeSet;

/// The records that somebody took back and nobody brought back since. Records stand in replay order; a word behind them
/// is that of somebody who knows them all.
pub(super) fn taken_back<'o>(
    ops: &[&'o Operation],
    cause: &Causality,
    word: Option<&'o Word>,
) -> BTreeSet<&'o OpId> {
    let said = ops.iter().enumerate();
    let said = said.filter_map(|(at, op)| Some((Some(at), op.said()?)));
    let mut off = BTreeSet::new();
    for (at, word) in said.chain(word.map(|word| (None, word))) {
        match word {
            Word::Undone { undone } => {
                let stays = at.is_some_and(|at| is_used_apart(ops, cause, at));
                off.extend(
                    undone
                        .iter()
                        .filter(|one| !stays || !is_beginning(ops, one)),
                );
            }
            Word::Redone { redone } => {
                for op in redone {
                    off.remove(op);
                }
            }
            _ => {}
        }
    }
    off
}

/// Tells whether somebody who knew nothing of the word at this place did something with the issue: whoever takes the
/// beginning of an issue back does not take that work away from them.
fn is_used_apart(ops: &[&Operation], cause: &Causality, at: usize) -> bool {
    users(ops, cause, at).next().is_some()
}

/// The places of what was done by somebody who knew nothing of the word at this place, which knew nothing of it either.
fn users<'o>(
    ops: &'o [&Operation],
    cause: &'o Causality,
    at: usize,
) -> impl Iterator<Item = usize> + 'o {
    let others = ops.iter().enumerate();
    let apart = others.filter(move |(other, op)| {
        *other != at && op.said().is_none() && !cause.saw(at, *other) && !cause.saw(*other, at)
    });
    apart.map(|(other, _)| other)
}

pub(super) fn is_beginning(ops: &[&Operation], id: &OpId) -> bool {
    let mut ops = ops.iter();
    let op = ops.find(|op| op.op == *id);
    op.is_some_and(|op| matches!(op.body, Body::Issue(IssueEvent::Created { .. })))
}

/// The last word that took the beginning of an issue back and does not count, because somebody used the issue meanwhile.
/// Nothing where somebody who knew of both has spoken of the issue since: they saw how it stands.
pub(super) fn overruled(ops: &[&Operation], cause: &Causality) -> Option<Overruled> {
    ops.iter().enumerate().rev().find_map(|(at, op)| {
        let Some(Word::Undone { undone }) = op.said() else {
            return None;
        };
        if !undone.iter().any(|one| is_beginning(ops, one)) {
            return None;
        }
        let users: Vec<usize> = users(ops, cause, at).collect();
        let used = *users.first()?;
        let knows =
            |one: usize| cause.saw(one, at) && users.iter().all(|used| cause.saw(one, *used));
        (!(0..ops.len()).any(knows)).then(|| Overruled {
            undone: signed(op),
            used: signed(ops[used]),
        })
    })
}
